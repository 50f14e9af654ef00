"""Who writes the summaries of an agent of Pydantic AI. `cargo xtask hosts` runs it."""

import asyncio
import re
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from compactd_client.adapters.pydantic_ai import CompactdHistory

WINDOW = 6000
SETTINGS = {"compaction": {"reserveTokens": 2000, "keepRecentTokens": 1500}}


class Scripted:
    """Answers at length, and writes summaries that say so, or fails at it."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.asked: list[Any] = []
        self.model = FunctionModel(self.answer)

    async def answer(self, messages: list[ModelMessage], info: Any) -> ModelResponse:
        prompts = [str(getattr(part, "content", "")) for message in messages for part in message.parts]
        usage = RequestUsage(input_tokens=sum(len(prompt) for prompt in prompts) // 4, output_tokens=10)
        if "handover notes" not in prompts[0]:
            return ModelResponse([TextPart("Nothing is wrong with it. " * 60)], usage=usage)
        self.asked.append((info.model_settings, info.function_tools, asyncio.get_running_loop(), usage))
        if self.says == "fails":
            raise OSError("no network")
        headings = re.findall("^##+ .*", prompts[1].rpartition("</")[2], re.MULTILINE)
        text = "".join(f"{heading}\n- The {self.says} model says so.\n" for heading in headings)
        reason: Any = {"cut": "length", "filtered": "content_filter"}.get(self.says, "stop")
        return ModelResponse([TextPart(text)], usage=usage, finish_reason=reason)


async def run(own: Scripted, **options: Any) -> tuple[str, list[Any], int]:
    """Runs some turns. Gives the first message at the end, what ended, and the output tokens of all runs."""
    ends: list[Any] = []
    compactd = CompactdHistory(WINDOW, on_compaction=ends.append, **{"settings": SETTINGS, **options})
    agent = Agent(own.model, capabilities=[ProcessHistory(compactd.process)])
    messages, tokens = None, 0
    for turn in range(30):
        result = await agent.run(f"Check part {turn}.", message_history=messages)
        messages, tokens = result.all_messages(), tokens + result.usage.output_tokens
    await asyncio.to_thread(compactd.close)
    return str(messages[0] if messages else ""), ends, tokens


async def check_models() -> None:
    """By default the model of the run writes, in its loop, else the one that is named; none with False."""
    own, other = Scripted("own"), Scripted("other")
    first, ends, tokens = await run(own)
    assert "The own model says so." in first, first
    assert ends[-1]["result"]["summarizer"] == "host" and ends[-1]["result"]["usage"]["input"] > 0, ends[-1]
    for settings, tools, loop, _ in own.asked:
        assert 0 < settings["max_tokens"] <= 1600 and tools == [] and loop is asyncio.get_running_loop(), own.asked
    assert tokens == 10 * (30 + len(own.asked)), "the usage of the runs has the tokens of the summaries"
    own.asked.clear()
    first, _, _ = await run(own, model=other.model)
    assert "The other model says so." in first and own.asked == [], first
    first, ends, tokens = await run(own, model=False)
    assert "model says so" not in first and own.asked == [] and ends[-1]["result"]["summarizer"] == "extractive"
    assert tokens == 10 * 30, tokens


async def check_failures() -> None:
    """The built-in summarizer writes where the model does not, and where the settings name it."""
    for says, kind in (("fails", "summarizerFailed"), ("cut", "summaryRejected"), ("filtered", "summarizerFailed")):
        first, ends, _ = await run(Scripted("own"), model=Scripted(says).model)
        assert "## Goal" in first and "model says so" not in first, first
        result = ends[-1]["result"]
        assert result["summarizer"] == "extractive" and result["failures"][0]["kind"] == kind, result
    own = Scripted("own")
    first, _, _ = await run(own, settings={**SETTINGS, "compactd": {"summarizer": "extractive"}})
    assert "## Goal" in first and own.asked == [], first


def check_sync() -> None:
    """Runs without asyncio around them, and messages that are fitted outside of a run."""
    own = Scripted("own")
    compactd = CompactdHistory(WINDOW, settings=SETTINGS)
    agent = Agent(own.model, capabilities=[ProcessHistory(compactd.process)])
    messages: Any = None
    for turn in range(30):
        messages = agent.run_sync(f"Check part {turn}.", message_history=messages).all_messages()
    assert "The own model says so." in str(messages[0]), messages[0]
    own.asked.clear()
    fitted = compactd.fit(messages * 2)
    assert "The own model says so." in str(fitted[0]) and own.asked, fitted[0]
    compactd.close()


asyncio.run(check_models())
asyncio.run(check_failures())
check_sync()
print("pydantic-ai: the model of the run writes the summaries, or who was chosen")
