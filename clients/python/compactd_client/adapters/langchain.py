"""For LangChain: `create_agent(..., middleware=[CompactdMiddleware(context_window)])`."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from ..bounded_history import BoundedHistory, Part, Stored, as_arguments, as_text, text_block, text_of


class CompactdMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Keeps the messages of an agent within the window of its model.

    The state then has those that the model sees; `history.client` has them all. One middleware is for
    one conversation at a time.
    """

    def __init__(self, context_window: int, **options: Any) -> None:
        """The options are those of BoundedHistory."""
        super().__init__()
        self.history: BoundedHistory[BaseMessage] = BoundedHistory(LangChainCodec(), context_window, **options)

    def before_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Replaces the messages of the state where they do not fit."""
        messages = state["messages"]
        fitted = self.fit(messages)
        if [id(message) for message in fitted] == [id(message) for message in messages]:
            return None
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *fitted]}

    async def abefore_model(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """The same, without holding up the loop."""
        return await asyncio.to_thread(self.before_model, state, runtime)

    def fit(self, messages: Sequence[AnyMessage]) -> list[BaseMessage]:
        """The messages that the model is to see in place of these. Those of the system stay in front."""
        system = [message for message in messages if isinstance(message, SystemMessage)]
        others = [message for message in messages if not isinstance(message, SystemMessage)]
        return [*system, *self.history.fit(others)]

    def close(self) -> None:
        """Ends the server."""
        self.history.close()


class LangChainCodec:
    """Messages of LangChain, in the shape that a session stores and back."""

    def to_stored(self, message: BaseMessage) -> list[tuple[Stored, Part]]:
        """One stored message."""
        return [(self._stored(message), message_to_dict(message))]

    def from_stored(self, stored: Stored, part: Part | None) -> Part:
        """A message of the person for a summary; for a shortened result the original with less text."""
        text = text_of(stored.get("content"))
        if part is not None:
            return {**part, "data": {**part["data"], "content": text}}
        # A name of its own, so that the graph takes it for the same message the next time.
        name = hashlib.sha256(text.encode()).hexdigest()[:32]
        return message_to_dict(HumanMessage(text, id=f"compactd-{name}"))

    def join(self, parts: Sequence[Part]) -> BaseMessage:
        """The message."""
        return messages_from_dict(list(parts))[0]

    def _stored(self, message: BaseMessage) -> Stored:
        content = [_block(block) for block in _blocks(message.content)]
        if isinstance(message, ToolMessage):
            error = message.status == "error"
            ids = {"toolCallId": message.tool_call_id, "toolName": message.name or "tool"}
            return {"role": "toolResult", **ids, "content": content, "isError": error}
        if not isinstance(message, AIMessage):
            return {"role": "user", "content": content}
        calls: list[dict[str, Any]] = [
            {"type": "toolCall", "id": call["id"], "name": call["name"], "arguments": as_arguments(call["args"])}
            for call in message.tool_calls
        ]
        return {"role": "assistant", "content": content + calls, "stopReason": "toolUse" if calls else "stop"}


def _blocks(content: Any) -> list[Any]:
    blocks = [content] if isinstance(content, str) else list(content)
    # Calls come from `tool_calls`, in whichever way the provider shows them.
    return [block for block in blocks if block != "" and not (isinstance(block, dict) and block.get("type") in CALLS)]


CALLS = ("tool_use", "tool_call", "function_call")


def _block(block: Any) -> dict[str, Any]:
    if isinstance(block, dict):
        if block.get("type") == "text":
            return text_block(str(block.get("text", "")))
        if block.get("type") in ("reasoning", "thinking"):
            return {"type": "thinking", "thinking": as_text(block.get("reasoning") or block.get("thinking") or "")}
        if block.get("type") == "image" and "base64" in block:
            return {"type": "image", "data": block["base64"], "mimeType": block.get("mime_type", "image/png")}
    return text_block(as_text(block))
