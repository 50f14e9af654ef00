"""Conversations that a library keeps, and that always fit the window of its model."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar, cast

from .client import Client
from .errors import CompactdError
from .notifications import Notification

M = TypeVar("M")
# A message as a session stores it, and a message of a library as JSON.
Stored = dict[str, Any]
Part = Any


class Codec(Protocol[M]):
    """Messages of a library, in the shape that a session stores and back."""

    def to_stored(self, message: M) -> Sequence[tuple[Stored, Part]]:
        """What a session stores of a message: one stored message or several, each with the part of
        the message that it stands for, as JSON. Parts are kept beside what is stored."""

    def from_stored(self, stored: Stored, part: Part | None) -> Part:
        """A part for what has no original, such as a summary, or another content than it, such as a
        tool result that was shortened."""

    def join(self, parts: Sequence[Part]) -> M:
        """One message for parts that follow each other."""


class ContextTooLarge(Exception):
    """The context does not fit the window, although all was done that could be done."""

    def __init__(self, tokens: int, context_window: int) -> None:
        super().__init__(f"the context has {tokens} tokens, and the window {context_window}: nothing is left to compact")
        self.tokens = tokens
        self.context_window = context_window


@dataclass
class Known:
    """A message of the library that the session has."""

    group: int
    digest: str
    entry_id: str
    role: str
    parts: list[Part]


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
        path: str | None = None,
        command: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        on_compaction: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        """`context_window` are the tokens of the model's window; what the library sends besides messages
        must fit the reserve of the `settings`, which are those of compactd. `path` is a session file,
        which is made if there is none; without one the session is kept in memory. `command` and `env`
        are those of Client. `on_compaction` hears of every compaction.
        """
        self._codec = codec
        self._context_window = context_window
        self._settings = settings
        self._path = path
        self._command = command
        self._env = env
        self._on_compaction = on_compaction or (lambda end: None)
        self._client: Client | None = None
        self._session_id = ""
        self._known: list[Known] = []
        self._given: list[str] = []
        self._groups = 0
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
            for index in range(self._new_from(digests), len(messages)):
                self._append(messages[index], digests[index])
            at_hand: dict[str, list[M]] = {}
            for digest, message in zip(digests, messages, strict=True):
                at_hand.setdefault(digest, []).append(message)
            return self._context(at_hand)

    def append(self, messages: Sequence[M]) -> None:
        """Adds messages to the end."""
        with self._lock:
            self._open()
            for message in messages:
                self._append(message, self._digest(message))

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
            last = self._known[-1]
            kept = self._known[:-1]
            count = self._go_back(len(kept))
            for one in kept[count:]:
                self._append(self._codec.join(one.parts), one.digest)
            return self._codec.join(last.parts)

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
        if self._client is not None:
            return self._client
        client = Client(self._command, env=self._env, on_notification=self._hear)
        try:
            self._open_session(client)
        except BaseException:
            client.kill()
            raise
        self._client = client
        return client

    def _open_session(self, client: Client) -> None:
        client.initialize("compactd-client", settings=self._settings)
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
        self._known, self._given = [], []
        for entry in client.request("getBranch", {"sessionId": self._session_id})["entries"]:
            self._learn(entry["id"], entry.get("message") or {})

    def _new_from(self, digests: list[str]) -> int:
        """The position of the first message that the session does not have."""
        if self._given and digests[: len(self._given)] == self._given:
            return len(self._given)
        for index, known in enumerate(self._known):
            if index >= len(digests) or known.digest != digests[index]:
                return self._go_back(index)
        return len(self._known)

    def _go_back(self, count: int) -> int:
        """Goes back to where the session had this many messages. Gives how many it has then."""
        # Who goes to a message of the person is placed before it.
        while count > 0 and self._known[count - 1].role == "user":
            count -= 1
        target = self._known[max(count - 1, 0)]
        if count == 0 and target.role != "user":
            raise ValueError("the first message was changed, which only works for one of the user")
        self.client.request("navigateTree", {"sessionId": self._session_id, "targetId": target.entry_id})
        del self._known[count:]
        self._given = []
        return count

    def _append(self, message: M, digest: str) -> None:
        group = self._groups
        stored_parts = self._codec.to_stored(message)
        for stored, part in stored_parts:
            origin = {"group": group, "digest": digest, "parts": len(stored_parts), "part": part}
            whole = {"timestamp": time.time_ns() // 1_000_000, **stored, "origin": origin}
            done = self.client.request("appendMessage", {"sessionId": self._session_id, "message": whole})
            self._learn(done["entryId"], whole)
            compaction = done.get("compaction")
            if compaction is not None and compaction.get("operationId"):
                self._await_end(str(compaction["operationId"]))

    def _learn(self, entry_id: str, stored: Mapping[str, Any]) -> None:
        origin = stored.get("origin")
        if not isinstance(origin, dict):
            return
        last = self._known[-1] if self._known else None
        if last is not None and last.group == origin["group"]:
            last.entry_id = entry_id
            last.parts.append(origin["part"])
        else:
            self._known.append(
                Known(origin["group"], origin["digest"], entry_id, str(stored["role"]), [origin["part"]])
            )
        self._groups = max(self._groups, origin["group"] + 1)

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
        params: Any = {"sessionId": self._session_id, "format": "llm"}
        context = self.client.request("getContext", params)
        tokens = context["tokens"]["tokens"]
        if tokens > self._context_window:
            raise ContextTooLarge(tokens, self._context_window)
        # From the end: there the context and the conversation are the same, also where messages are alike.
        restored = [self._restore(some, at_hand) for some in reversed(_by_group(context["messages"]))]
        restored.reverse()
        self._given = [self._digest(message) for message in restored]
        return restored

    def _restore(self, some: list[Stored], at_hand: dict[str, list[M]]) -> M:
        origin = some[0].get("origin")
        whole = [self._is_whole(stored) for stored in some]
        if origin is not None and all(whole) and len(some) == origin["parts"] and at_hand.get(origin["digest"]):
            return at_hand[origin["digest"]].pop()
        parts = [
            stored["origin"]["part"] if same else self._codec.from_stored(stored, (stored.get("origin") or {}).get("part"))
            for stored, same in zip(some, whole, strict=True)
        ]
        return self._codec.join(parts)

    def _is_whole(self, stored: Stored) -> bool:
        """Whether the context has all of a message: tool results that are too large are shortened."""
        origin = stored.get("origin")
        if origin is None:
            return False
        message = self._codec.join([origin["part"]])
        ((first, _), *others) = self._codec.to_stored(message)
        return not others and _as_json(first.get("content")) == _as_json(stored.get("content"))

    def _digest(self, message: M) -> str:
        """Tells messages apart by what a session stores of them."""
        stored = [one for one, _ in self._codec.to_stored(message)]
        return hashlib.sha256(_as_json(stored).encode()).hexdigest()


def _by_group(context: Sequence[Mapping[str, Any]]) -> list[list[Stored]]:
    groups: list[list[Stored]] = []
    last: Any = None
    for stored in context:
        origin = stored.get("origin")
        group = origin["group"] if isinstance(origin, dict) else None
        if group is not None and group == last:
            groups[-1].append(dict(stored))
        else:
            groups.append([dict(stored)])
        last = group
    return groups


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def text_block(text: str) -> dict[str, Any]:
    """A block of text, as a session stores it."""
    return {"type": "text", "text": text}


def text_of(content: Any) -> str:
    """What can be read of the content of a stored message."""
    if isinstance(content, str):
        return content
    blocks = cast("list[dict[str, Any]]", content or [])
    return "\n".join(str(block["text"]) if block["type"] == "text" else f"[{block['type']}]" for block in blocks)


def as_text(value: Any) -> str:
    """A value as a text that a model can read."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def as_arguments(value: Any) -> dict[str, Any]:
    """Arguments of a tool call, which a library may keep as a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value or "{}")
        except ValueError:
            pass
    return value if isinstance(value, dict) else {"input": value}



