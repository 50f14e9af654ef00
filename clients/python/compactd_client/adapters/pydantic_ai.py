"""For Pydantic AI: `Agent(..., capabilities=[ProcessHistory(CompactdHistory(context_window).process)])`."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    SystemPromptPart,
)

from ..bounded_history import BoundedHistory, Part, Stored, as_arguments, as_text, text_block, text_of


class CompactdHistory:
    """Keeps the messages of an agent within the window of its model. One is for one conversation."""

    def __init__(self, context_window: int, **options: Any) -> None:
        """The options are those of BoundedHistory."""
        self.history: BoundedHistory[ModelMessage] = BoundedHistory(PydanticAiCodec(), context_window, **options)

    async def process(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        """The messages that the model is to see in place of these. System prompts stay in front."""
        return await asyncio.to_thread(self.fit, messages)

    def fit(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """As `process`, without asyncio."""
        system = [part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)]
        return _joined(system, self.history.fit(_split(messages)))

    def close(self) -> None:
        """Ends the server."""
        self.history.close()


def _split(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Each part of a request as a request, without system prompts. The library itself makes one request of
    those that follow each other, so that their borders tell nothing."""
    single: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelRequest):
            parts = [part for part in message.parts if not isinstance(part, SystemPromptPart)]
            single.extend(replace(message, parts=[part]) for part in parts)
        else:
            single.append(message)
    return single


def _joined(system: Sequence[ModelRequestPart], messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Requests that follow each other as one, with the system prompts in front."""
    joined: list[ModelMessage] = [ModelRequest(parts=list(system))] if system else []
    for message in messages:
        last = joined[-1] if joined else None
        if isinstance(message, ModelRequest) and isinstance(last, ModelRequest):
            # Instructions are those of the later one.
            joined[-1] = replace(message, parts=[*last.parts, *message.parts])
        else:
            joined.append(message)
    return joined


class PydanticAiCodec:
    """Messages of Pydantic AI, in the shape that a session stores and back."""

    def to_stored(self, message: ModelMessage) -> list[tuple[Stored, Part]]:
        """One stored message; requests have one part here."""
        (whole,) = ModelMessagesTypeAdapter.dump_python([message], mode="json")
        stored = _answer(whole["parts"]) if message.kind == "response" else _request(whole["parts"][0])
        return [(stored, whole)]

    def from_stored(self, stored: Stored, part: Part | None) -> Part:
        """A request of the person for a summary; for a shortened result the original with less text."""
        text = text_of(stored.get("content"))
        if part is not None:
            return {**part, "parts": [{**part["parts"][0], "content": text}]}
        return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}

    def join(self, parts: Sequence[Part]) -> ModelMessage:
        """The message."""
        return ModelMessagesTypeAdapter.validate_python([parts[0]])[0]


def _answer(parts: Sequence[dict[str, Any]]) -> Stored:
    blocks = [_answer_block(part) for part in parts]
    calls = any(block["type"] == "toolCall" for block in blocks)
    return {"role": "assistant", "content": blocks, "stopReason": "toolUse" if calls else "stop"}


def _answer_block(part: dict[str, Any]) -> dict[str, Any]:
    if part["part_kind"] == "tool-call":
        arguments = as_arguments(part.get("args") or {})
        return {"type": "toolCall", "id": part["tool_call_id"], "name": part["tool_name"], "arguments": arguments}
    if part["part_kind"] == "thinking":
        return {"type": "thinking", "thinking": part.get("content") or ""}
    return text_block(as_text(part.get("content", part)))


def _request(part: dict[str, Any]) -> Stored:
    content, name = part.get("content"), part.get("tool_name")
    if part["part_kind"] in ("tool-return", "retry-prompt") and name is not None:
        error = part["part_kind"] == "retry-prompt"
        blocks = [text_block(as_text(content))]
        return {"role": "toolResult", "toolCallId": part["tool_call_id"], "toolName": name, "content": blocks, "isError": error}
    blocks = [_block(block) for block in content] if isinstance(content, list) else [text_block(as_text(content))]
    return {"role": "user", "content": blocks}


def _block(block: Any) -> dict[str, Any]:
    image = isinstance(block, dict) and block.get("kind") == "binary" and str(block.get("media_type", "")).startswith("image/")
    if image:
        return {"type": "image", "data": block["data"], "mimeType": block["media_type"]}
    return text_block(as_text(block))
