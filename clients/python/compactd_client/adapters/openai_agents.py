"""For the OpenAI Agents SDK: a session that is bounded, and an input filter that bounds long runs."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from agents.items import TResponseInputItem
from agents.memory import SessionSettings
from agents.run_config import CallModelData, ModelInputData

from ..bounded_history import BoundedHistory, Message, Whole


class CompactdSession:
    """A session of the SDK: it keeps all items, and gives those that fit the window of the model."""

    session_settings: SessionSettings | None = None

    def __init__(self, session_id: str, context_window: int, **options: Any) -> None:
        """The options are those of BoundedHistory; with `path` the session outlives this process."""
        self.session_id = session_id
        self.history: BoundedHistory[TResponseInputItem] = BoundedHistory(OpenAiCodec(), context_window, **options)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items that the model is to see, the latest `limit` of them."""
        items = await asyncio.to_thread(self.history.messages)
        return items if limit is None else items[max(len(items) - limit, 0) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Adds items to the end."""
        await asyncio.to_thread(self.history.append, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Takes the last item."""
        return await asyncio.to_thread(self.history.pop)

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
        self.history: BoundedHistory[TResponseInputItem] = BoundedHistory(OpenAiCodec(), context_window, **options)

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """The input that the model is to see in place of this one."""
        fitted = await asyncio.to_thread(self.history.fit, data.model_data.input)
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
