"""Who writes the summaries of a session and of a filter of the OpenAI Agents SDK. `cargo xtask hosts` runs it."""

import asyncio
import re
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputRefusal, ResponseOutputText

from compactd_client.adapters.openai_agents import CompactdInputFilter, CompactdSession

WINDOW = 6000
SETTINGS = {"compaction": {"reserveTokens": 2000, "keepRecentTokens": 1500}}


class Scripted(Model):
    """Answers at length, and writes summaries that say so, or fails at it."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.asked: list[Any] = []

    async def get_response(self, system_instructions: Any, input: Any, model_settings: Any, **options: Any) -> ModelResponse:
        text, status, usage = "Nothing is wrong with it. " * 60, "completed", Usage()
        if "handover notes" in str(system_instructions):
            self.asked.append((model_settings.max_tokens, options["tools"], asyncio.get_running_loop()))
            if self.says == "fails":
                raise OSError("no network")
            headings = re.findall("^##+ .*", input.rpartition("</")[2], re.MULTILINE)
            text = "".join(f"{heading}\n- The {self.says} model says so.\n" for heading in headings)
            status = "incomplete" if self.says == "cut" else "completed"
            usage = Usage(requests=1, input_tokens=len(input) // 4, output_tokens=10)
        content: Any = [ResponseOutputText(type="output_text", text=text, annotations=[])]
        if self.says == "refuses":
            content.append(ResponseOutputRefusal(type="refusal", refusal="I cannot go on."))
        message = ResponseOutputMessage(id="m", type="message", role="assistant", status=status, content=content)
        return ModelResponse(output=[message], usage=usage, response_id=None)

    def stream_response(self, *args: Any, **options: Any) -> Any:
        raise NotImplementedError


async def run(own: Scripted, **options: Any) -> tuple[str, list[Any]]:
    """Runs some turns with a session. Gives the first item at the end, and what ended."""
    ends: list[Any] = []
    session = CompactdSession("one", WINDOW, on_compaction=ends.append, **{"settings": SETTINGS, **options})
    agent = Agent(name="checker", instructions="You check files.", model=own)
    for turn in range(30):
        await Runner.run(agent, f"Check part {turn}.", session=session, run_config=RunConfig(tracing_disabled=True))
    items = await session.get_items()
    await asyncio.to_thread(session.close)
    return str(items[0]), ends


async def check_session() -> None:
    """The model that is named writes in the loop of the run; the built-in summarizer where it does not."""
    own, other = Scripted("own"), Scripted("other")
    first, ends = await run(own, model=other)
    assert "The other model says so." in first and own.asked == [], first
    result = ends[-1]["result"]
    assert result["summarizer"] == "host" and result["usage"]["input"] > 0, result
    for most, tools, loop in other.asked:
        assert 0 < most <= 1600 and tools == [] and loop is asyncio.get_running_loop(), other.asked
    for says, kind in (("fails", "summarizerFailed"), ("cut", "summaryRejected"), ("refuses", "summarizerFailed")):
        first, ends = await run(own, model=Scripted(says))
        result = ends[-1]["result"]
        assert result["summarizer"] == "extractive" and result["failures"][0]["kind"] == kind, result
        assert "## Goal" in first and "model says so" not in first, first
    unasked = Scripted("unasked")
    chosen = {**SETTINGS, "compactd": {"summarizer": "extractive"}}
    for options in ({}, {"model": unasked, "settings": chosen}):
        first, _ = await run(unasked, **options)
        assert "## Goal" in first and unasked.asked == [], first


def check_filter() -> None:
    """The same within a run without asyncio around it. The request for a summary does not come to the filter."""
    own, calls = Scripted("own"), 0
    bounded = CompactdInputFilter(WINDOW, model=own, settings=SETTINGS)

    async def counted(data: Any) -> Any:
        nonlocal calls
        calls += 1
        shown = await bounded(data)
        last.append(shown.input)
        return shown

    last: list[Any] = []
    agent = Agent(name="checker", model=own)
    items: Any = []
    for turn in range(30):
        items = [*items, {"role": "user", "content": f"Check part {turn}."}]
        items = Runner.run_sync(agent, items, run_config=RunConfig(call_model_input_filter=counted, tracing_disabled=True)).to_input_list()
    assert "The own model says so." in str(last[-1][0]) and own.asked, last[-1][0]
    assert calls == 30, calls
    bounded.close()


asyncio.run(check_session())
check_filter()
print("openai-agents: the model that is named writes the summaries")
