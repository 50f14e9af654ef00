"""Conversations that a library keeps, and that always fit the window of its model."""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar, cast

from .client import Client
from .errors import CompactdError
from .handlers import Handlers, result_in_loop
from .notifications import Notification
from .protocol import SummarizeParams, SummarizeResult

M = TypeVar("M")
Result = TypeVar("Result")
# A message in the format of a codec, and a message of a library as JSON.
Message = dict[str, Any]
Whole = Any
# A model that answers the server's `summarize`. A coroutine runs in the loop of the caller of `in_thread`.
Summarize: TypeAlias = Callable[[SummarizeParams], SummarizeResult | Coroutine[Any, Any, SummarizeResult]]


class Codec(Protocol[M]):
    """Messages of a library as messages of a format that the server takes."""

    # The name of the format that is the closest to the library's own, such as "openai".
    format: str

    def to_format(self, message: M) -> tuple[Message, Whole | None]:
        """The message in this format, and the whole message as JSON if the format cannot say it all."""

    def from_format(self, message: Message, whole: Whole | None, is_shortened: bool) -> M:
        """A message for one in this format. It is a summary if there is no whole message although
        `to_format` gives one; of a result that is shortened only the `message` has the text to show."""


class ContextTooLarge(Exception):
    """The context does not fit the window, although all was done that could be done."""

    def __init__(self, tokens: int, context_window: int) -> None:
        super().__init__(f"the context has {tokens} tokens, and the window {context_window}: nothing is left to compact")
        self.tokens = tokens
        self.context_window = context_window


@dataclass
class Known:
    """A message of the library that the session has, and the last of its entries."""

    digest: str
    entry_id: str


# Members of a sent message: what tells it from others, and the message of the library.
DIGEST = "compactdDigest"
WHOLE = "compactdMessage"
# Maximum messages of one call.
AT_ONCE = 10_000
# The loop that waits for the call, if `in_thread` makes it.
LOOP: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("compactd_loop", default=None)


class BoundedHistory(Generic[M]):
    """Older messages give way to a summary, tool results that are too large are shortened, and the
    session keeps them all. Every method may be called from any thread; calls wait for each other.

    The server is started by the first call; `close`, or leaving a `with` block, ends it.
    """

    def __init__(
        self,
        codec: Codec[M],
        context_window: int,
        *,
        settings: dict[str, Any] | None = None,
        summarize: Summarize | None = None,
        path: str | None = None,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        on_compaction: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """`context_window` are the tokens of the model's window; what the library sends besides messages
        must fit the reserve of the `settings`, which are those of compactd. `summarize` asks a model with
        this window for a summary. It is asked unless the settings or a settings file choose a summarizer.
        If it raises, or writes no summary, the built-in summarizer does. It runs in a thread of its own
        with the context variables of the call that waits for it. `path` is a session file,
        which is made if there is none; without one the session is kept in memory. `command` and `env`
        are those of Client. `on_compaction` hears of every compaction.
        """
        self._codec = codec
        self._context_window = context_window
        self._settings = settings
        self._summarize = summarize
        self._variables = copy_context()
        self._path = path
        self._command = command
        self._env = env
        self._on_compaction = on_compaction or (lambda end: None)
        self._client: Client | None = None
        self._session_id = ""
        self._known: list[Known] = []
        self._given: list[str] = []
        self._ended: set[str] = set()
        self._changed = threading.Condition()
        self._lock = threading.RLock()

    @property
    def client(self) -> Client:
        """The server; `recall`, for example, gives back what was compacted away."""
        with self._lock:
            return self._open()

    @property
    def session_id(self) -> str:
        """Id of the session on the server."""
        with self._lock:
            self._open()
            return self._session_id

    def fit(self, messages: Sequence[M]) -> list[M]:
        """The messages that the model is to see in place of these: all of them while they fit, else a
        summary and the latest.

        Takes either the whole conversation or what it gave last with what came since. One that was
        changed somewhere before its end goes on as a new branch from there. Raises ContextTooLarge,
        and CompactdError if the server refuses something.
        """
        with self._lock:
            self._open()
            digests = [self._digest(message) for message in messages]
            self._append(messages[self._new_from(digests) :])
            at_hand: dict[str, list[M]] = {}
            for digest, message in zip(digests, messages, strict=True):
                at_hand.setdefault(digest, []).append(message)
            return self._context(at_hand)

    def append(self, messages: Sequence[M]) -> None:
        """Adds messages to the end."""
        with self._lock:
            self._open()
            self._append(messages)

    def messages(self) -> list[M]:
        """The messages that the model is to see now."""
        with self._lock:
            self._open()
            return self._context({})

    def pop(self) -> M | None:
        """Takes the last message from the current branch; None if there is none."""
        with self._lock:
            self._open()
            if not self._known:
                return None
            *kept, last = self._known
            message = self._message(last)
            self._append([self._message(one) for one in kept[self._go_back(len(kept)) :]])
            return message

    def clear(self) -> None:
        """Begins anew. The session keeps what it had, on a branch of its own."""
        with self._lock:
            self._open()
            if self._known:
                self._go_back(0)

    def close(self) -> None:
        """Ends the server."""
        with self._lock:
            client, self._client = self._client, None
            if client is not None:
                client.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> Client:
        self._variables = copy_context()
        if self._client is not None:
            return self._client
        handlers: Handlers = {} if self._summarize is None else {"summarize": self._answer}
        client = Client(self._command, env=self._env, handlers=handlers, on_notification=self._hear)
        try:
            self._open_session(client)
        except BaseException:
            client.kill()
            raise
        self._client = client
        self._learn()
        return client

    def _open_session(self, client: Client) -> None:
        defaults = {"summarizer": ["host", "extractive"], "summarize": {"contextWindow": self._context_window}}
        own = None if self._summarize is None else {"compactd": defaults}
        client.initialize("compactd-client", settings=self._settings, default_settings=own)
        auto: Any = {"model": {"provider": "host", "id": "model", "contextWindow": self._context_window}}
        if self._path is None:
            session = client.request("createSession", {"ephemeral": True, "autoCompaction": auto})
        else:
            try:
                session = client.request("openSession", {"path": self._path, "autoCompaction": auto})
            except CompactdError as error:
                if error.kind != "sessionNotFound":
                    raise
                session = client.request("createSession", {"path": self._path, "autoCompaction": auto})
        self._session_id = session["sessionId"]

    def _answer(self, params: SummarizeParams, cancelled: threading.Event) -> SummarizeResult:
        assert self._summarize is not None, "the server asks only if it was offered"
        # The server may ask twice at once, and a context is entered once.
        return self._variables.copy().run(_answered, self._summarize, params, cancelled)

    def _new_from(self, digests: list[str]) -> int:
        """The position of the first message that the session does not have."""
        if self._given and digests[: len(self._given)] == self._given:
            return len(self._given)
        for index, known in enumerate(self._known):
            if index >= len(digests) or known.digest != digests[index]:
                return self._go_back(index)
        return len(self._known)

    def _go_back(self, count: int) -> int:
        """Goes back to where the session had this many messages, or fewer. Gives how many it has then."""
        # Messages of one entry go together.
        while 0 < count < len(self._known) and self._known[count - 1].entry_id == self._known[count].entry_id:
            count -= 1
        target = self._known[max(count - 1, 0)].entry_id
        self.client.request("navigateTree", {"sessionId": self._session_id, "targetId": target})
        # Who goes to a message of the person is placed before it.
        self._learn()
        if len(self._known) > count:
            raise ValueError("the first message was changed, which only works for one of the user")
        return len(self._known)

    def _append(self, messages: Sequence[M]) -> None:
        for first in range(0, len(messages), AT_ONCE):
            sent = [self._sent(message) for message in messages[first : first + AT_ONCE]]
            params: Any = {"sessionId": self._session_id, "format": self._codec.format, "messages": sent}
            done = self.client.request("appendMessages", params)
            last = 0
            for index, message in enumerate(sent):
                # A message may become several entries, and several messages one.
                while done["sources"][last + 1 : last + 2] and done["sources"][last + 1] <= index:
                    last += 1
                self._known.append(Known(message[DIGEST], done["entryIds"][last]))
            compaction = done.get("compaction")
            if compaction is not None and compaction.get("operationId"):
                self._await_end(str(compaction["operationId"]))

    def _sent(self, message: M) -> Message:
        sent, whole = self._codec.to_format(message)
        own = {} if whole is None else {WHOLE: whole}
        return {**sent, **own, DIGEST: _digest(sent)}

    def _learn(self) -> None:
        """Learns what the session has. Originals of converted messages are stored in the first entry of each."""
        self._known, self._given = [], []
        for entry in self.client.request("getBranch", {"sessionId": self._session_id})["entries"]:
            mark = (entry.get("message") or {}).get("compactd") or {}
            if mark.get("part", 0) > 0 and self._known:
                self._known[-1].entry_id = entry["id"]
            for original in mark.get("original", mark.get("linked", [])):
                if DIGEST in original:
                    self._known.append(Known(original[DIGEST], entry["id"]))

    def _message(self, known: Known) -> M:
        """A message that the session has."""
        params: Any = {"sessionId": self._session_id, "leafId": known.entry_id, "format": self._codec.format}
        messages = self.client.request("getContext", params)["messages"]
        return self._received(next(one for one in reversed(messages) if one.get(DIGEST) == known.digest), {})

    def _hear(self, notification: Notification) -> None:
        if notification.method == "compactionEnd":
            with self._changed:
                self._ended.add(notification.params["operationId"])
                self._changed.notify_all()
            self._on_compaction(notification.params)

    def _await_end(self, operation_id: str) -> None:
        """Waits for the end of a compaction. Whether it failed shows in the size of the context."""
        client = self.client
        with self._changed:
            while operation_id not in self._ended:
                if not self._changed.wait(1.0):
                    client.request("getContextUsage", {"sessionId": self._session_id, "model": {"contextWindow": 1}})
            self._ended.discard(operation_id)

    def _context(self, at_hand: dict[str, list[M]]) -> list[M]:
        """The context; a message that the caller has at hand is given back as the very same."""
        params: Any = {"sessionId": self._session_id, "format": self._codec.format}
        context = self.client.request("getContext", params)
        tokens = context["tokens"]["tokens"]
        if tokens > self._context_window:
            raise ContextTooLarge(tokens, self._context_window)
        # From the end: there the context and the conversation are the same, also where messages are alike.
        received = [self._received(message, at_hand) for message in reversed(context["messages"])]
        received.reverse()
        self._given = [self._digest(message) for message in received]
        return received

    def _received(self, received: Mapping[str, Any], at_hand: dict[str, list[M]]) -> M:
        message = dict(received)
        digest, whole = message.pop(DIGEST, None), message.pop(WHOLE, None)
        # A result that was shortened keeps its other members.
        is_shortened = digest is not None and digest != _digest(message)
        if not is_shortened and at_hand.get(str(digest)):
            return at_hand[str(digest)].pop()
        return self._codec.from_format(message, whole, is_shortened)

    def _digest(self, message: M) -> str:
        """Tells messages apart by what is in their format: a library may add ids later."""
        return _digest(self._codec.to_format(message)[0])


async def in_thread(function: Callable[..., Result], *arguments: Any) -> Result:
    """Calls a method of a history in a thread. Meanwhile a coroutine function `summarize` runs in this loop."""
    return await asyncio.to_thread(_for_loop, asyncio.get_running_loop(), function, *arguments)


def _for_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., Result], *arguments: Any) -> Result:
    LOOP.set(loop)
    return function(*arguments)


def _answered(summarize: Summarize, params: SummarizeParams, cancelled: threading.Event) -> SummarizeResult:
    result, loop = summarize(params), LOOP.get()
    if not isinstance(result, Coroutine):
        return result
    # What a model keeps open belongs to the loop of its caller, unless that has ended.
    return result_in_loop(result, loop, cancelled) if loop and loop.is_running() else asyncio.run(result)


# Why models stop, in the words of providers, in lower case: at the end of the answer, or at their limit.
WHOLE_ANSWER = {"stop", "stop_sequence", "end_turn", "complete", "completed", "eos", "eos_token"}
CUT_OFF = {"length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded", "incomplete"}


def summary(text: str, stop: str | None, input: int, output: int, read: int = 0, written: int = 0) -> SummarizeResult:
    """The answer of a model: its text, why it stopped in the words of its provider, and the tokens of its input, of its
    output, and those of the input that were `read` from a cache or `written` to it; zeros if they are unknown.

    Raises RuntimeError if the model stopped for a reason for which the text is not the whole answer, such as a filter.
    """
    reason = (stop or "stop").lower()
    if reason not in WHOLE_ANSWER | CUT_OFF:
        raise RuntimeError(f"the model did not finish its answer: {stop}")
    usage = {"input": max(input - read - written, 0), "output": output, "cacheRead": read, "cacheWrite": written}
    known = {"usage": {**usage, "totalTokens": input + output}} if input + output > 0 else {}
    return cast(SummarizeResult, {"text": text, "stopReason": "length" if reason in CUT_OFF else "stop", **known})


def _digest(message: Message) -> str:
    return hashlib.sha256(json.dumps(message, sort_keys=True).encode()).hexdigest()


def as_text(value: Any) -> str:
    """A value as a text that a model can read."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def text_part(value: Any) -> Message:
    """A part of the format "ai-sdk" that shows a value."""
    return {"type": "text", "text": as_text(value)}


def result_message(call_id: str, name: str, output: str | list[Message], is_error: bool = False) -> Message:
    """A message of the format "ai-sdk" with the result of a tool: a text, or parts of an output."""
    kind = "content" if isinstance(output, list) else "error-text" if is_error else "text"
    result = {"type": "tool-result", "toolCallId": call_id, "toolName": name, "output": {"type": kind, "value": output}}
    return {"role": "tool", "content": [result]}


def output_part(part: Message) -> Message:
    """A part of a message, a text or a file, as a part of a tool's output."""
    if part["type"] != "file":
        return text_part(part["text"])
    is_address = part["data"].startswith(("http:", "https:"))
    return {"type": "file-url", "url": part["data"]} if is_address else {**part, "type": "media"}


def text_of(message: Message) -> str:
    """The text of a summary or of a shortened result in the format "ai-sdk"."""
    content = message["content"]
    if isinstance(content, str):
        return content
    values = [part["output"]["value"] if part["type"] == "tool-result" else part for part in content]
    parts = [part for value in values for part in (value if isinstance(value, list) else [value])]
    return "\n".join(part if isinstance(part, str) else str(part.get("text", f"[{part['type']}]")) for part in parts)
