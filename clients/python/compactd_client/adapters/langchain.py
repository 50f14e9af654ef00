"""For LangChain: `create_agent(..., middleware=[CompactdMiddleware(context_window)])`."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
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
from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime

from ..bounded_history import (
    LOOP,
    BoundedHistory,
    Message,
    Whole,
    in_thread,
    output_part,
    result_message,
    summary,
    text_of,
    text_part,
)
from ..protocol import SummarizeParams, SummarizeResult


class CompactdMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Keeps the messages of an agent within the window of its model.

    The state then has those that the model sees; `history.client` has them all. One middleware is for
    one conversation at a time.
    """

    def __init__(
        self, context_window: int, *, model: str | BaseChatModel | Literal[False] | None = None, **options: Any
    ) -> None:
        """`model` writes the summaries: by default the model of the agent, with False none. The other options
        are those of BoundedHistory."""
        super().__init__()
        self._model = init_chat_model(model) if isinstance(model, str) else model
        self._model_of_agent: BaseChatModel | None = None
        options = options if model is False else {"summarize": self._summarize, **options}
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
        return await in_thread(self.before_model, state, runtime)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Learns the model of the agent, which no other hook is told."""
        self._model_of_agent = request.model
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The same."""
        self._model_of_agent = request.model
        return await handler(request)

    def fit(self, messages: Sequence[AnyMessage]) -> list[BaseMessage]:
        """The messages that the model is to see in place of these. Those of the system stay in front."""
        system = [message for message in messages if isinstance(message, SystemMessage)]
        others = [message for message in messages if not isinstance(message, SystemMessage)]
        return [*system, *self.history.fit(others)]

    def close(self) -> None:
        """Ends the server."""
        self.history.close()

    def _summarize(self, params: SummarizeParams) -> Any:
        model = self._model or self._model_of_agent
        if model is None:
            raise RuntimeError("no model is known before the agent has called its own")
        request = ([SystemMessage(params["systemPrompt"]), HumanMessage(params["prompt"])], SUMMARY)
        limit = _limit(model, params["maxTokens"])
        # A client of a provider for asyncio belongs to its loop.
        if LOOP.get() is None:
            return _result(model.invoke(*request, **limit))
        return _awaited(model.ainvoke(*request, **limit))


# As LangChain's own summaries: callbacks hear of the request, and the stream of messages does not show it.
SUMMARY: RunnableConfig = {"metadata": {"lc_source": "summarization"}, "tags": [TAG_NOSTREAM]}


def _limit(model: BaseChatModel, tokens: int) -> dict[str, Any]:
    """The argument that limits the answer, for models that know it: the others refuse it, and limit themselves."""
    if "max_tokens" not in getattr(type(model), "model_fields", {}):
        return {}
    profile: Any = getattr(model, "profile", None) or {}
    return {"max_tokens": min(tokens, profile.get("max_output_tokens") or tokens)}


async def _awaited(answer: Awaitable[AIMessage]) -> SummarizeResult:
    return _result(await answer)


def _result(answer: AIMessage) -> SummarizeResult:
    usage: Any = answer.usage_metadata or {}
    details = usage.get("input_token_details") or {}
    return summary(
        str(answer.text),
        _stop(answer),
        usage.get("input_tokens", 0),
        usage.get("output_tokens", 0),
        details.get("cache_read", 0),
        details.get("cache_creation", 0),
    )


# The members with the reason in the answers of providers.
REASONS = ("finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason", "status")


def _stop(answer: AIMessage) -> str | None:
    """Why the model stopped, in the words of its provider; None if it does not say."""
    parts = [part for part in answer.content if isinstance(part, dict)]
    if answer.additional_kwargs.get("refusal") or any(part.get("type") == "refusal" for part in parts):
        return "refusal"
    if answer.tool_calls:
        return "tool_calls"
    metadata = answer.response_metadata
    reason = (metadata.get("incomplete_details") or {}).get("reason")
    return reason or next((str(metadata[name]) for name in REASONS if metadata.get(name)), None)


class LangChainCodec:
    """Messages of LangChain in the format of the AI SDK, which has all that their standard blocks can say."""

    format = "ai-sdk"

    def to_format(self, message: BaseMessage) -> tuple[Message, Whole]:
        """The message with its standard blocks as parts."""
        whole = message_to_dict(message)
        if isinstance(message, ToolMessage):
            is_error = message.status == "error"
            is_text = is_error or isinstance(message.content, str)
            output = str(message.text) if is_text else [output_part(_part(block)) for block in message.content_blocks]
            return result_message(message.tool_call_id, message.name or "tool", output, is_error), whole
        # Calls come from `tool_calls`, in whichever way the provider shows them.
        parts = [_part(block) for block in message.content_blocks if block["type"] not in CALLS]
        if not isinstance(message, AIMessage):
            return {"role": "user", "content": parts}, whole
        parts += [
            {"type": "tool-call", "toolCallId": call["id"], "toolName": call["name"], "input": call["args"]}
            for call in message.tool_calls
        ]
        return {"role": "assistant", "content": parts}, whole

    def from_format(self, message: Message, whole: Whole | None, is_shortened: bool) -> BaseMessage:
        """A message of the person for a summary; for a shortened result the original with less text."""
        if whole is not None:
            (restored,) = messages_from_dict([whole])
            return restored.model_copy(update={"content": text_of(message)}) if is_shortened else restored
        if message["role"] == "tool":
            (result,) = message["content"]
            return ToolMessage(text_of(message), tool_call_id=result["toolCallId"], name=result["toolName"])
        # A name of its own, so that the graph takes it for the same message the next time.
        text = text_of(message)
        return HumanMessage(text, id=f"compactd-{hashlib.sha256(text.encode()).hexdigest()[:32]}")


# The last one is how Anthropic shows a call.
CALLS = ("tool_call", "invalid_tool_call", "tool_use")


def _part(block: Any) -> Message:
    kind, data = block["type"], block.get("base64") or block.get("url")
    if kind == "text":
        return text_part(block.get("text", ""))
    if kind == "reasoning":
        return {"type": "reasoning", "text": block.get("reasoning", "")}
    if kind in ("image", "audio", "video", "file") and data:
        default = "image/png" if kind == "image" else "application/octet-stream"
        return {"type": "file", "data": data, "mediaType": block.get("mime_type") or default}
    return text_part(block.get("value", block))
