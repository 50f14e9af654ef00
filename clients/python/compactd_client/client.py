"""A running compactd."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from .binary import find_binary
from .errors import TOO_LARGE, CompactdError, MessageTooLarge, NotificationsLost, ServerGone
from .handlers import Answering, Handlers
from .notifications import Notification, NotificationQueue
from .outbox import Outbox
from .pending import Pending
from .protocol import Calls, InitializeParams, InitializeResult

# Seconds that a server has to end after it has closed its output or its input.
REST_SECONDS = 5.0
# Where output that nobody waits for is reported.
LOG = logging.getLogger("compactd_client")
# The start of a reply, as the server writes it.
REPLY_ID = re.compile(rb'\{"jsonrpc":"2\.0","id":(\d+),')

Argument = TypeVar("Argument")


class Client(Calls):
    """Starts a server and talks with it. Every method may be called from any thread.

    `request` waits, `start` gives a handle that waits or cancels; both are typed by the method.
    Leaving the `with` block shuts the server down.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stderr: int | IO[Any] | None = None,
        handlers: Handlers | None = None,
        on_notification: Callable[[Notification], None] | None = None,
        on_stray: Callable[[bytes], None] | None = None,
        max_notifications: int = 65536,
        max_unsent_bytes: int = 16 << 20,
        own_process_group: bool = False,
    ) -> None:
        """Starts `command`, by default the program that `find_binary` finds. Raises OSError if there is
        no such program.

        `stderr` is that of subprocess. `on_notification` is called for each notification in order,
        in a thread of its own; without it they wait for `next_notification`. `on_stray` gets output
        that is no protocol, and replies that nobody waits for; it is called by the reader and must
        not wait. By default they are warnings of the logger `compactd_client`. While
        `max_unsent_bytes` wait for a server that does not read, `start` and `notify` wait, too, and
        `request` until its time-out.

        `own_process_group` starts the server in a process group of its own, so that Ctrl-C in a
        terminal does not end it together with this process. It ends with its input all the same,
        however this process ends.
        """
        command = [find_binary(env)] if command is None else command
        pipe = subprocess.PIPE
        group = process_group() if own_process_group else {}
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=stderr, cwd=cwd, env=env, **group)
        self._outbox = Outbox(max_unsent_bytes)
        self._answering = Answering(handlers or {}, self._send_at_once)
        self._notifications = NotificationQueue(max_notifications)
        self._on_stray = on_stray or log_stray
        self._pending: dict[int, Pending[Any]] = {}
        self._next_id = 1
        self._gone: ServerGone | None = None
        # The request `initialize`, and what its result says of the bytes of a message.
        self._initialize: Pending[Any] | None = None
        self._max_message_bytes: int | None = None
        # Guards the five above.
        self._lock = threading.Lock()
        self._reader = self._spawn(self._read)
        self._spawn(self._write)
        if on_notification is not None:
            self._spawn(self._deliver, on_notification)

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._process.pid

    def initialize(
        self,
        name: str,
        *,
        version: str | None = None,
        cwd: str | None = None,
        agent_dir: str | None = None,
        session_dir: str | None = None,
        settings: dict[str, Any] | None = None,
        default_settings: dict[str, Any] | None = None,
        progress: bool | None = None,
        summarize_modes: Sequence[str] = (),
        timeout: float | None = None,
    ) -> InitializeResult:
        """Says `initialize` for the program `name`, with the capabilities that follow from the handlers.

        A handler of `summarize` that can continue the conversation itself is announced by
        `summarize_modes=["continue"]`.
        """
        names = self._answering.names
        hooks = [name for name in names if name != "summarize"]
        params: InitializeParams = {
            "protocolVersion": 1,
            "clientInfo": {"name": name, "version": version},
            "processId": os.getpid(),
            "cwd": cwd,
            "agentDir": agent_dir,
            "sessionDir": session_dir,
            "settings": settings,
            "defaultSettings": default_settings,
            "capabilities": {
                "summarize": "summarize" in names,
                "summarizeModes": list(summarize_modes),
                "hooks": hooks,
                "progress": progress,
            },
        }
        return self.request("initialize", params, timeout)

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Sends a notification. Raises MessageTooLarge if the server would not read it."""
        self._outbox.put(self._encode({"jsonrpc": "2.0", "method": method, "params": params}))

    def next_notification(self, timeout: float | None = None) -> Notification:
        """Waits for the next notification. All come here, in the order in which they were sent;
        those that the server sent before a reply are here when the reply is.

        Raises TimeoutError after `timeout` seconds, NotificationsLost in place of those that did not
        fit the queue, and ServerGone after the last one.
        """
        return self._notifications.get(timeout)

    def shutdown(self, grace: float = 5.0) -> int:
        """Says `shutdown` and `exit`; kills a server that has not ended `grace` seconds later.

        Gives the exit code, or the negated number of the signal that ended the server.
        """
        timer = threading.Timer(grace, self.kill)
        timer.start()
        try:
            self.request("shutdown", {})
        except (CompactdError, ServerGone):
            pass  # A server that is gone or refuses is ended all the same; its code tells.
        self.notify("exit", {})
        self._outbox.close()
        try:
            return self.wait()
        finally:
            timer.cancel()

    def wait(self) -> int:
        """Waits until the server has ended and its output is read. Gives its exit code.

        What the server started may hold its output open: that is waited for a few seconds."""
        code = self._process.wait()
        self._reader.join(REST_SECONDS)
        return code

    def kill(self) -> None:
        """Ends the server at once."""
        self._process.kill()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.shutdown()

    def _request(self, method: str, params: Any, timeout: float | None) -> Any:
        if timeout is None:
            return self._start(method, params).result()
        deadline = time.monotonic() + timeout
        pending = self._start(method, params, timeout)
        return pending.result(max(0.0, deadline - time.monotonic()))

    def _start(self, method: str, params: Any, timeout: float | None = None) -> Pending[Any]:
        """Sends a request; `timeout` is that of waiting for room."""
        with self._lock:
            request_id = self._next_id
            self._next_id += 1
        line = self._encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        pending: Pending[Any] = Pending(request_id, message_size(line), lambda: self._cancel(request_id))
        with self._lock:
            if self._gone is not None:
                raise self._gone
            self._pending[request_id] = pending
            if method == "initialize":
                self._initialize = pending
        try:
            self._outbox.put(line, timeout)
        except BaseException:
            with self._lock:
                self._pending.pop(request_id, None)
            raise
        return pending

    def _cancel(self, request_id: int) -> None:
        self._send_at_once({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": request_id}})

    def _send_at_once(self, message: dict[str, Any]) -> None:
        self._outbox.put_at_once(self._encode(message))

    def _encode(self, message: Mapping[str, Any]) -> bytes:
        """The line of a message. Raises MessageTooLarge for one that the server would not read."""
        line, limit = encode(message), self._max_message_bytes
        if limit is not None and message_size(line) > limit:
            raise MessageTooLarge(message_size(line), limit)
        return line

    def _write(self) -> None:
        pipe = self._process.stdin
        assert pipe is not None, "the input was asked to be piped"
        try:
            self._outbox.write_to(pipe)
        except OSError:
            # The server no longer reads. Replies to what it has read may still be on their way.
            self._wait_or_kill()
            self._reader.join(REST_SECONDS)
            self._end()

    def _read(self) -> None:
        pipe = self._process.stdout
        assert pipe is not None, "the output was asked to be piped"
        with pipe:
            # Lines of bytes end at LF alone, so that U+2028 in a text is none.
            for line in pipe:
                self._receive(line)
        self._end()

    def _receive(self, line: bytes) -> None:
        if not line.strip():
            return
        message = decode(line)
        method, request_id = message.get("method"), message.get("id")
        if isinstance(method, str) and request_id is not None:
            self._answering.start(request_id, method, message.get("params"))
        elif isinstance(method, str):
            self._receive_notification(method, message.get("params"))
        elif not self._settle(self._refused(message) if request_id is None else request_id, message):
            guard(self._on_stray, line)

    def _receive_notification(self, method: str, params: Any) -> None:
        if method == "$/cancelRequest":
            self._answering.cancel(params)
            return
        self._notifications.put(Notification(method, params))

    def _refused(self, message: dict[str, Any]) -> int | None:
        """The id of the request that the server refused unread, for which its error has none. A message of that length
        is never answered, so a request of that length is certainly refused."""
        error = message.get("error")
        data = error.get("data") if isinstance(error, dict) else None
        if not isinstance(data, dict) or data.get("reason") != TOO_LARGE:
            return None
        with self._lock:
            return next((key for key, waiting in self._pending.items() if waiting.size == data.get("bytes")), None)

    def _settle(self, request_id: Any, message: dict[str, Any]) -> bool:
        with self._lock:
            pending = self._pending.pop(request_id, None) if isinstance(request_id, int) else None
            if pending is not None and pending is self._initialize:
                self._max_message_bytes = max_message_bytes(message.get("result"))
        if pending is None:
            return False
        if "error" in message:
            pending.reject(CompactdError.from_json(message["error"]))
        else:
            pending.resolve(message.get("result"))
        return True

    def _end(self) -> None:
        returncode = self._wait_or_kill()
        with self._lock:
            if self._gone is not None:
                return
            self._gone = gone = ServerGone(returncode)
            left, self._pending = list(self._pending.values()), {}
        for pending in left:
            pending.reject(gone)
        self._answering.cancel_all()
        self._notifications.close(gone)
        self._outbox.abandon()

    def _wait_or_kill(self) -> int:
        try:
            return self._process.wait(REST_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            return self._process.wait()

    def _deliver(self, listener: Callable[[Notification], None]) -> None:
        while True:
            try:
                notification = self._notifications.get()
            except ServerGone:
                return
            except NotificationsLost as lost:
                notification = Notification("$/notificationsLost", {"count": lost.count})
            guard(listener, notification)

    def _spawn(self, target: Callable[..., None], *arguments: Any) -> threading.Thread:
        thread = threading.Thread(target=target, args=arguments, name=f"compactd {self.pid}", daemon=True)
        thread.start()
        return thread


def process_group() -> dict[str, Any]:
    """What subprocess wants, for a process group that the signals of a terminal do not reach."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def guard(listener: Callable[[Argument], None], argument: Argument) -> None:
    """Calls a listener of the user, who must not end our thread; what it raises is reported as
    Python reports what a thread raises."""
    try:
        listener(argument)
    except Exception:
        threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


def encode(message: Mapping[str, Any]) -> bytes:
    """The line of a message. Raises ValueError for what JSON cannot say."""
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode() + b"\n"


def message_size(line: bytes) -> int:
    """Bytes of the message of a line, as the server counts them."""
    return len(line) - 1


def max_message_bytes(initialized: Any) -> int | None:
    """What the result of `initialize` says of the bytes of a message; older servers say nothing."""
    limit = initialized.get("maxMessageBytes") if isinstance(initialized, dict) else None
    return limit if isinstance(limit, int) else None


def log_stray(line: bytes) -> None:
    """Reports output that nobody waits for, so that a refusal does not go unseen."""
    LOG.warning("the server sent what nobody waits for: %s", line[:500].decode(errors="replace").rstrip())


def decode(line: bytes) -> dict[str, Any]:
    """The message of a line; empty if it is none."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    except RecursionError:
        return too_deep(line)
    return message if isinstance(message, dict) else {}


def too_deep(line: bytes) -> dict[str, Any]:
    """In place of a reply that Python's JSON reader gives up on, so that its request does not wait
    for ever. The server writes the id near the start."""
    found = REPLY_ID.match(line)
    error = {"code": -32603, "message": "the reply is nested too deeply for Python's JSON reader"}
    return {"id": int(found[1]), "error": error} if found else {}
