"""For the OpenAI Agents SDK: a session that is bounded, and an input filter that bounds long runs."""

from __future__ import annotations

from typing import Any, cast

from agents import Model, ModelSettings, ModelTracing, MultiProvider, get_current_trace
from agents.items import ItemHelpers, TResponseInputItem
from agents.memory import SessionSettings
from agents.run_config import CallModelData, ModelInputData

from ..bounded_history import BoundedHistory, Message, Summarize, Whole, in_thread, summary
from ..protocol import SummarizeParams, SummarizeResult


class CompactdSession:
    """A session of the SDK: it keeps all items, and gives those that fit the window of the model."""

    session_settings: SessionSettings | None = None

    def __init__(
        self, session_id: str, context_window: int, *, model: str | Model | None = None, **options: Any
    ) -> None:
        """`model` writes the summaries; without one the built-in summarizer does. A name is that of a model of
        MultiProvider. The other options are those of BoundedHistory; with `path` the session outlives this process."""
        self.session_id = session_id
        self.history = _history(context_window, model, options)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items that the model is to see, the latest `limit` of them."""
        items = await in_thread(self.history.messages)
        return items if limit is None else items[max(len(items) - limit, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items to the end."""
        await in_thread(self.history.append, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item."""
        return await in_thread(self.history.pop)

    async def clear_session(self) -> None:
        """Begins anew."""
        await in_thread(self.history.clear)

    def close(self) -> None:
        """Ends the server."""
        self.history.close()


class CompactdInputFilter:
    """For `RunConfig(call_model_input_filter=...)`: bounds the input of every call within a run."""

    def __init__(self, context_window: int, *, model: str | Model | None = None, **options: Any) -> None:
        """The options are those of CompactdSession."""
        self.history = _history(context_window, model, options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The input that the model is to see in place of this one."""
        fitted = await in_thread(self.history.fit, data.model_data.input)
        return ModelInputData(input=fitted, instructions=data.model_data.instructions)

    def close(self) -> None:
        """Ends the server."""
        self.history.close()


class OpenAiCodec:
    """Items of the Responses API: the server takes them as they are."""

    format = "openai-responses"

    def to_format(self, message: TResponseInputItem) -> tuple[Message, Whole | None]:
        """The item."""
        return cast(Message, message), None

    def from_format(self, message: Message, whole: Whole | None, is_shortened: bool) -> TResponseInputItem:
        """The item."""
        return cast(TResponseInputItem, message)


def _history(context_window: int, model: str | Model | None, options: Any) -> BoundedHistory[TResponseInputItem]:
    if model is not None:
        options = {"summarize": _writing(model), **options}
    return BoundedHistory(OpenAiCodec(), context_window, **options)


def _writing(model: str | Model) -> Summarize:
    """The model as one that writes summaries."""

    async def summarize(params: SummarizeParams) -> SummarizeResult:
        writer = MultiProvider().get_model(model) if isinstance(model, str) else model
        # A trace shows the request without its texts, because the run does not tell whether they may be shown.
        is_traced = get_current_trace() is not None
        response = await writer.get_response(
            params["systemPrompt"],
            params["prompt"],
            ModelSettings(max_tokens=params["maxTokens"]),
            tools=[],
            output_schema=None,
            handoffs=[],
            tracing=ModelTracing.ENABLED_WITHOUT_DATA if is_traced else ModelTracing.DISABLED,
            previous_response_id=None,
            conversation_id=None,
            prompt=None,
        )
        messages = [item for item in response.output if item.type == "message"]
        text = "".join(ItemHelpers.extract_text(message) or "" for message in messages)
        kinds = {part.type for message in messages for part in message.content}
        is_call = any(item.type.endswith("_call") for item in response.output)
        status: str | None = messages[-1].status if messages else None
        stop, usage = "refusal" if "refusal" in kinds else "tool call" if is_call else status, response.usage
        cached = usage.input_tokens_details.cached_tokens
        return summary(text, stop, usage.input_tokens, usage.output_tokens, cached)

    return summarize
