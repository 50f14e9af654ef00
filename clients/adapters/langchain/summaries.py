"""Who writes the summaries of an agent of LangChain. `cargo xtask hosts` runs it."""

import asyncio
import re
import threading
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import get_usage_metadata_callback
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from compactd_client.adapters.langchain import CompactdMiddleware

WINDOW = 6000
SETTINGS = {"compaction": {"reserveTokens": 2000, "keepRecentTokens": 1500}}


class Scripted(BaseChatModel):
    """Answers at length, and writes summaries that say who did: `says` is its way to do so."""

    says: str
    max_tokens: int = 9000
    asked: list[Any] = []

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        return self._answer(messages, options, None)

    async def _agenerate(self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any) -> ChatResult:
        return self._answer(messages, options, asyncio.get_running_loop())

    def _answer(self, messages: Any, options: Any, loop: Any) -> ChatResult:
        metadata: dict[str, Any] = {"model_name": self.says}
        if isinstance(messages[0], SystemMessage):
            self.asked.append((options, loop, threading.current_thread()))
            if self.says == "fails":
                raise OSError("no network")
            headings = re.findall("^##+ .*", messages[1].text.rpartition("</")[2], re.MULTILINE)
            text = "".join(f"{heading}\n- The {self.says} model says so.\n" for heading in headings)
            if self.says == "chatty":
                text = "I cannot do that."
            metadata["finish_reason"] = {"cut": "length", "filtered": "SAFETY"}.get(self.says, "stop")
        else:
            text = "Nothing is wrong with it. " * 60
        tokens = sum(len(message.text) for message in messages) // 4
        usage: Any = {"input_tokens": tokens, "output_tokens": 10, "total_tokens": tokens + 10}
        message = AIMessage(text, response_metadata=metadata, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])

    @property
    def _llm_type(self) -> str:
        return "scripted"


def scripted(says: str) -> Scripted:
    return Scripted(says=says, asked=[])


def run(agent_model: Scripted, **options: Any) -> tuple[str, list[Any], set[str]]:
    """Runs some turns. Gives the first message at the end, what ended, and whose tokens were counted."""
    ends: list[Any] = []
    compactd = CompactdMiddleware(WINDOW, on_compaction=ends.append, **{"settings": SETTINGS, **options})
    agent = create_agent(agent_model, [], middleware=[compactd])
    messages: list[Any] = []
    with get_usage_metadata_callback() as counted:
        for turn in range(30):
            messages = agent.invoke({"messages": [*messages, ("user", f"Check part {turn}.")]})["messages"]
    compactd.close()
    return messages[0].text, ends, set(counted.usage_metadata)


def check_models() -> None:
    """By default the model of the agent writes, else the one that is named; none with False."""
    own, other = scripted("own"), scripted("other")
    first, ends, counted = run(own)
    assert "The own model says so." in first, first
    assert ends[-1]["result"]["summarizer"] == "host" and ends[-1]["result"]["usage"]["input"] > 0, ends[-1]
    # At most 80 % of the reserve, and never in the thread of the agent.
    assert all(0 < options["max_tokens"] <= 1600 for options, _, _ in own.asked), own.asked
    assert all(thread is not threading.current_thread() for _, _, thread in own.asked)
    own.asked.clear()
    first, _, counted = run(own, model=other)
    assert "The other model says so." in first and own.asked == [], first
    assert counted == {"own", "other"}, f"callbacks hear of the request: {counted}"
    first, ends, _ = run(own, model=False)
    assert "model says so" not in first and own.asked == [] and ends[-1]["result"]["summarizer"] == "extractive"


def check_failures() -> None:
    """The built-in summarizer writes where the model does not, and where the settings name it."""
    failed, rejected = "summarizerFailed", "summaryRejected"
    for says, kind in (("fails", failed), ("chatty", rejected), ("cut", rejected), ("filtered", failed)):
        first, ends, _ = run(scripted("own"), model=scripted(says))
        assert "## Goal" in first and "model says so" not in first, first
        result = ends[-1]["result"]
        assert result["summarizer"] == "extractive" and result["failures"][0]["kind"] == kind, result
    own = scripted("own")
    first, _, _ = run(own, settings={**SETTINGS, "compactd": {"summarizer": "extractive"}})
    assert "## Goal" in first and own.asked == [], first


async def check_async() -> None:
    """In the loop of the agent, which goes on meanwhile; what is streamed does not show the summary."""
    own, ticks, shown = scripted("own"), 0, []

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.create_task(tick())
    compactd = CompactdMiddleware(WINDOW, settings=SETTINGS)
    agent = create_agent(own, [], middleware=[compactd])
    state: Any = {"messages": []}
    for turn in range(30):
        sent = {"messages": [*state["messages"], ("user", f"Check part {turn}.")]}
        async for mode, one in agent.astream(sent, stream_mode=["messages", "values"]):
            if mode == "messages":
                shown.append(one[0].text)
            else:
                state = one
    ticking.cancel()
    assert "The own model says so." in state["messages"][0].text, state["messages"][0]
    assert own.asked and all(loop is asyncio.get_running_loop() for _, loop, _ in own.asked)
    assert shown and not any(text.startswith("## ") for text in shown), "the stream shows a summary"
    assert ticks > 50, ticks
    await asyncio.to_thread(compactd.close)


check_models()
check_failures()
asyncio.run(check_async())
print("langchain: the model of the agent writes the summaries, or who was chosen")
