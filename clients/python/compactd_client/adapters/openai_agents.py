"""For the OpenAI Agents SDK: a session that is bounded, and an input filter that bounds long runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.run_config import CallModelData, ModelInputData

from ..bounded_history import BoundedHistory, Part, Stored, as_arguments, as_text, text_block, text_of

# Items that belong together: a model's reasoning must stay with the calls and texts that follow it.
Items = list[dict[str, Any]]


class CompactdSession:
    """A session of the SDK: it keeps all items, and gives those that fit the window of the model."""

    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, context_window: int, **options: Any) -> None:
        """The options are those of BoundedHistory; with `path` the session outlives this process."""
        self.session_id = session_id
        self.history: BoundedHistory[Items] = BoundedHistory(OpenAiCodec(), context_window, **options)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items that the model is to see, the latest `limit` of them."""
        items = flat(await asyncio.to_thread(self.history.messages))
        return items if limit is None else items[max(len(items) - limit, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items to the end."""
        await asyncio.to_thread(self.history.append, grouped(items))

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item."""
        last = await asyncio.to_thread(self.history.pop)
        if last is None:
            return None
        *others, item = last
        if others:
            await asyncio.to_thread(self.history.append, [others])
        return cast(TResponseInputItem, item)

    async def clear_session(self) -> None:
        """Begins anew."""
        await asyncio.to_thread(self.history.clear)

    def close(self) -> None:
        """Ends the server."""
        self.history.close()


class CompactdInputFilter:
    """For `RunConfig(call_model_input_filter=...)`: bounds the input of every call within a run."""

    def __init__(self, context_window: int, **options: Any) -> None:
        """The options are those of BoundedHistory."""
        self.history: BoundedHistory[Items] = BoundedHistory(OpenAiCodec(), context_window, **options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The input that the model is to see in place of this one."""
        fitted = await asyncio.to_thread(self.history.fit, grouped(data.model_data.input))
        return ModelInputData(input=flat(fitted), instructions=data.model_data.instructions)

    def close(self) -> None:
        """Ends the server."""
        self.history.close()


class OpenAiCodec:
    """Items of the Responses API, in the shape that a session stores and back."""

    def to_stored(self, message: Items) -> list[tuple[Stored, Part]]:
        """One stored message for items that belong together."""
        return [(self._stored(message), message)]

    def from_stored(self, stored: Stored, part: Part | None) -> Part:
        """A message of the person for a summary; for a shortened result the original with less text."""
        text = text_of(stored.get("content"))
        if part is not None and stored["role"] == "toolResult":
            return [{**part[0], "output": text}]
        return [{"role": "user", "content": text}]

    def join(self, parts: Sequence[Part]) -> Items:
        """The items."""
        return [item for part in parts for item in part]

    def _stored(self, items: Items) -> Stored:
        first = items[0]
        if is_result(first):
            output = first.get("output")
            content = [_block(block) for block in output] if isinstance(output, list) else [text_block(as_text(output))]
            return {"role": "toolResult", "toolCallId": first["call_id"], "toolName": "tool", "content": content, "isError": False}
        if not is_of_model(first):
            content = first.get("content", first)
            return {"role": "user", "content": [_block(one) for one in content] if isinstance(content, list) else [text_block(as_text(content))]}
        blocks = [block for item in items for block in _blocks(item)]
        calls = any(block["type"] == "toolCall" for block in blocks)
        return {"role": "assistant", "content": blocks, "stopReason": "toolUse" if calls else "stop"}


def grouped(items: Sequence[Any]) -> list[Items]:
    """Items that belong together in one list each."""
    groups: list[Items] = []
    for item in items:
        if groups and is_of_model(item) and is_of_model(groups[-1][-1]):
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def flat(groups: Sequence[Items]) -> list[TResponseInputItem]:
    """The items of all groups."""
    return [cast(TResponseInputItem, item) for group in groups for item in group]


def is_result(item: dict[str, Any]) -> bool:
    """Whether it is the result of a call that a tool of the host has answered."""
    return str(item.get("type", "")).endswith("_output") and "call_id" in item


def is_of_model(item: dict[str, Any]) -> bool:
    """Whether the model wrote it."""
    return item.get("role") == "assistant" or ("role" not in item and not is_result(item))


def _blocks(item: dict[str, Any]) -> list[dict[str, Any]]:
    if item.get("role") == "assistant":
        content = item.get("content")
        return [_block(one) for one in content] if isinstance(content, list) else [text_block(as_text(content))]
    if item.get("type") == "reasoning":
        return [{"type": "thinking", "thinking": "\n".join(str(one.get("text", "")) for one in item.get("summary") or [])}]
    if str(item.get("type", "")).endswith("_call") and "call_id" in item:
        arguments = as_arguments(item.get("arguments", item.get("action", item.get("input"))))
        return [{"type": "toolCall", "id": item["call_id"], "name": item.get("name", item["type"]), "arguments": arguments}]
    return [text_block(as_text(item))]


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, dict) and isinstance(block.get("text"), str):
        return text_block(block["text"])
    url = block.get("image_url") if isinstance(block, dict) else None
    if isinstance(url, str) and url.startswith("data:image/") and "," in url:
        head, data = url.split(",", 1)
        return {"type": "image", "data": data, "mimeType": head[5:].split(";")[0]}
    return text_block(as_text(block))
