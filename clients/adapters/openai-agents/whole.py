"""Items of the Responses API with all that they can have, through a session file and back. `cargo xtask hosts` runs it."""

import asyncio
import tempfile
from typing import Any

from compactd_client.adapters.openai_agents import CompactdSession

ITEMS: list[Any] = [
    {"role": "user", "content": "see"},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "this"},
            {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"},
            {"type": "input_file", "file_id": "file-1"},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "c2ln"},
    {"type": "function_call", "id": "fc_1", "call_id": "call-1", "name": "shot", "arguments": '{"of": "page"}', "status": "completed"},
    {"type": "function_call", "id": "fc_2", "call_id": "call-2", "name": "f", "arguments": "not JSON", "status": "completed"},
    {"type": "function_call_output", "call_id": "call-1", "output": [{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]},
    {"type": "function_call_output", "call_id": "call-2", "output": "no"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "done", "annotations": [], "logprobs": []}],
    },
]


async def main() -> None:
    """All come back, in this process and in another one, and are taken back one by one."""
    with tempfile.TemporaryDirectory() as directory:
        first = CompactdSession("one", 200_000, path=f"{directory}/session.jsonl")
        await first.add_items(ITEMS)
        assert await first.get_items() == ITEMS, await first.get_items()
        assert await first.get_items(2) == ITEMS[-2:]
        first.close()
        second = CompactdSession("one", 200_000, path=f"{directory}/session.jsonl")
        assert await second.get_items() == ITEMS
        # Reasoning and its calls are one entry of the session.
        for count in (8, 7):
            assert await second.pop_item() == ITEMS[count]
            assert await second.get_items() == ITEMS[:count], await second.get_items()
        await second.clear_session()
        assert await second.get_items() == [] and await second.pop_item() is None
        await second.add_items(ITEMS[:4])
        assert await second.pop_item() == ITEMS[3]
        assert await second.get_items() == ITEMS[:3]
        second.close()


async def shortened() -> None:
    """A result that is too large is shortened, and keeps the rest."""
    settings = {"compaction": {"reserveTokens": 1000, "keepRecentTokens": 500}}
    session = CompactdSession("two", 4000, settings=settings)
    call = {"type": "function_call", "call_id": "call-1", "name": "read", "arguments": "{}"}
    result = {"type": "function_call_output", "id": "fco_1", "call_id": "call-1", "output": "a line\n" * 9000}
    await session.add_items([{"role": "user", "content": "Read."}, call, result])
    *_, last = await session.get_items()
    assert len(last["output"]) < 12_000 and {**last, "output": ""} == {**result, "output": ""}, last
    session.close()


asyncio.run(main())
asyncio.run(shortened())
print("openai-agents: images, reasoning, calls and results come back whole")
