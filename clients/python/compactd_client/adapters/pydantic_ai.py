"""For Pydantic AI: `Agent(..., capabilities=[ProcessHistory(CompactdHistory(context_window).process)])`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic_ai import RunContext
from pydantic_ai.direct import model_request
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    SystemPromptPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model

from ..bounded_history import (
    BoundedHistory,
    Message,
    Whole,
    as_text,
    in_thread,
    output_part,
    result_message,
    summary,
    text_of,
    text_part,
)
from ..protocol import SummarizeParams, SummarizeResult


class CompactdHistory:
    """Keeps the messages of an agent within the window of its model. One is for one conversation."""

    def __init__(
        self, context_window: int, *, model: str | Model | Literal[False] | None = None, **options: Any
    ) -> None:
        """`model` writes the summaries: by default the model of the run, with False none. The other options
        are those of BoundedHistory."""
        self._model = model
        self._run: RunContext[Any] | None = None
        options = options if model is False else {"summarize": self._summarize, **options}
        self.history: BoundedHistory[ModelMessage] = BoundedHistory(PydanticAiCodec(), context_window, **options)

    async def process(self, run: RunContext[Any], messages: list[ModelMessage]) -> list[ModelMessage]:
        """The messages that the model is to see in place of these. System prompts stay in front."""
        self._run = run
        return await in_thread(self.fit, messages)

    def fit(self, messages: Sequence[ModelMessage]) -> list[ModelMessage]:
        """As `process`, without asyncio."""
        system = [part for message in messages for part in message.parts if isinstance(part, SystemPromptPart)]
        return _joined(system, self.history.fit(_split(messages)))

    def close(self) -> None:
        """Ends the server."""
        self.history.close()

    async def _summarize(self, params: SummarizeParams) -> SummarizeResult:
        run = self._run
        model = self._model or (run and run.model)
        if not isinstance(model, str | Model):
            raise RuntimeError("no model is known before a run has begun")
        prompts = ModelRequest([SystemPromptPart(params["systemPrompt"]), UserPromptPart(params["prompt"])])
        response = await model_request(model, [prompts], model_settings={"max_tokens": params["maxTokens"]})
        usage = response.usage
        if run is not None:
            # Its tokens are paid as those of the run are.
            run.usage.incr(usage)
        return summary(
            response.text or "",
            response.finish_reason,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_tokens,
        )


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
    """Messages of Pydantic AI in the format of the AI SDK, whose parts are the closest to theirs."""

    format = "ai-sdk"

    def to_format(self, message: ModelMessage) -> tuple[Message, Whole]:
        """The message; requests have one part here."""
        (whole,) = ModelMessagesTypeAdapter.dump_python([message], mode="json")
        if message.kind == "response":
            return {"role": "assistant", "content": [_answer_part(part) for part in whole["parts"]]}, whole
        (part,) = whole["parts"]
        content, name = part.get("content"), part.get("tool_name")
        parts = [_part(one) for one in content] if isinstance(content, list) else [_part(content)]
        if name is None:
            return {"role": "user", "content": parts}, whole
        # A list has files, or it is a value of the tool.
        has_files = any(one["type"] == "file" for one in parts)
        output = [output_part(one) for one in parts] if has_files else as_text(content)
        is_error = part.get("outcome", "retried") != "success"
        return result_message(part["tool_call_id"], name, output, is_error), whole

    def from_format(self, message: Message, whole: Whole | None, is_shortened: bool) -> ModelMessage:
        """A request of the person for a summary; for a shortened result the original with less text."""
        if whole is None and message["role"] == "tool":
            (result,) = message["content"]
            return ModelRequest([ToolReturnPart(result["toolName"], text_of(message), result["toolCallId"])])
        if whole is None:
            return ModelRequest([UserPromptPart(text_of(message))])
        if is_shortened:
            whole = {**whole, "parts": [{**whole["parts"][0], "content": text_of(message)}]}
        return ModelMessagesTypeAdapter.validate_python([whole])[0]


def _answer_part(part: dict[str, Any]) -> Message:
    if part["part_kind"] == "tool-call":
        call = {"toolCallId": part["tool_call_id"], "toolName": part["tool_name"]}
        return {"type": "tool-call", **call, "input": _arguments(part.get("args"))}
    if part["part_kind"] == "thinking":
        return {"type": "reasoning", "text": part.get("content") or ""}
    return _part(part.get("content") or part)


def _arguments(args: Any) -> Any:
    try:
        return json.loads(args or "{}") if isinstance(args, str) else args
    except ValueError:
        return args


def _part(content: Any) -> Message:
    """A text, a file or its address, or something else, which is shown as JSON."""
    data = (content.get("data") or content.get("url")) if isinstance(content, dict) else None
    if data is None or "media_type" not in content:
        return text_part(content)
    return {"type": "file", "data": data, "mediaType": content["media_type"]}
