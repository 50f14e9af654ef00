"""A running compactd, for asyncio."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import IO, Any, Self, cast

from .client import Client
from .errors import NotificationsLost, ServerGone
from .handlers import AsyncHandlers, Handlers, result_in_loop
from .notifications import Notification
from .protocol import AsyncCalls, InitializeResult


class AsyncClient(AsyncCalls):
    """Starts a server and talks with it, for the asyncio loop that runs when it is made.

    `request` is typed by the method. A task that is cancelled while it waits cancels its request on
    the server. Leaving the `async with` block shuts the server down.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        stderr: int | IO[Any] | None = None,
        handlers: AsyncHandlers | None = None,
        max_notifications: int = 65536,
        own_process_group: bool = False,
    ) -> None:
        """Starts `command`, by default the program that `find_binary` finds. The options are those of
        Client; a handler may be a coroutine function, and is cancelled when its answer is no longer
        wanted. Raises OSError if there is no such program.
        """
        self._loop = asyncio.get_running_loop()
        self._notifications = _Notifications(max_notifications)
        # Sending waits while the server does not read; one thread keeps the order of the calls.
        self._sender = ThreadPoolExecutor(1, "compactd sender")
        self._client = _LoopClient(
            self._call_soon,
            self._notifications,
            command,
            cwd=cwd,
            env=env,
            stderr=stderr,
            handlers=_in_loop(handlers or {}, self._loop),
            own_process_group=own_process_group,
        )

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return self._client.pid

    async def initialize(self, name: str, **options: Any) -> InitializeResult:
        """Says `initialize` for the program `name`; the options are those of Client.initialize."""
        return await asyncio.to_thread(self._client.initialize, name, **options)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Sends a notification."""
        await self._loop.run_in_executor(self._sender, self._client.notify, method, params)

    async def next_notification(self) -> Notification:
        """Waits for the next notification. All come here, in the order in which they were sent;
        those that the server sent before a reply are here when the reply is.

        Raises NotificationsLost in place of those that did not fit, and ServerGone after the last one.
        """
        return await self._notifications.get()

    async def shutdown(self, grace: float = 5.0) -> int:
        """Says `shutdown` and `exit`; kills a server that has not ended `grace` seconds later.

        Gives the exit code, or the negated number of the signal that ended the server.
        """
        code = await asyncio.to_thread(self._client.shutdown, grace)
        self._sender.shutdown(wait=False)
        return code

    def kill(self) -> None:
        """Ends the server at once."""
        self._client.kill()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.shutdown()

    async def _request(self, method: str, params: Any) -> Any:
        sending = self._loop.run_in_executor(self._sender, self._client._start, method, params)
        try:
            pending = await asyncio.shield(sending)
        except asyncio.CancelledError:
            sending.add_done_callback(_cancel_sent)
            raise
        reply: asyncio.Future[Any] = self._loop.create_future()
        pending.on_done(lambda done: self._call_soon(_settle, reply, done))
        try:
            return await reply
        except asyncio.CancelledError:
            pending.cancel()
            raise

    def _call_soon(self, function: Callable[..., None], *arguments: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:
            pass  # The loop is closed: nobody waits any more.


class _LoopClient(Client):
    """Passes notifications to a loop, from the thread that passes the replies: so their order stays."""

    def __init__(self, call_soon: Callable[..., None], queue: _Notifications, command: Any, **options: Any) -> None:
        self._call_soon, self._queue = call_soon, queue
        super().__init__(command, **options)

    def _receive_notification(self, method: str, params: Any) -> None:
        if method == "$/cancelRequest":
            super()._receive_notification(method, params)
        else:
            self._call_soon(self._queue.put, Notification(method, params))

    def _end(self) -> None:
        super()._end()
        self._call_soon(self._queue.close, self._gone)


class _Notifications:
    """Notifications that wait for a task; used in the loop alone."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[Notification] = deque()
        self._lost = 0
        self._closed: ServerGone | None = None
        self._changed = asyncio.Event()

    def put(self, notification: Notification) -> None:
        """Adds a notification, or counts it as lost. What follows a loss is lost, too, until it is told."""
        if len(self._items) < self._limit and not self._lost:
            self._items.append(notification)
        else:
            self._lost += 1
        self._changed.set()

    def close(self, reason: ServerGone) -> None:
        """Nothing more will come."""
        self._closed = reason
        self._changed.set()

    async def get(self) -> Notification:
        """The next one."""
        while not self._items and not self._lost:
            if self._closed is not None:
                raise self._closed
            self._changed.clear()
            await self._changed.wait()
        if self._items:
            return self._items.popleft()
        lost, self._lost = self._lost, 0
        raise NotificationsLost(lost)


def _cancel_sent(sent: asyncio.Future[Any]) -> None:
    """Cancels a request that was sent when nobody waited for it any more."""
    if not sent.cancelled() and sent.exception() is None:
        sent.result().cancel()


def _settle(reply: asyncio.Future[Any], done: Any) -> None:
    if reply.cancelled():
        done.exception()  # Whoever waited has gone; nothing is left to be told.
    elif (error := done.exception()) is not None:
        reply.set_exception(error)
    else:
        reply.set_result(done.result())


def _in_loop(handlers: AsyncHandlers, loop: asyncio.AbstractEventLoop) -> Handlers:
    """Handlers for threads that run those of the user in the loop."""
    wrapped = {name: _threaded(cast(Any, handler), loop) for name, handler in handlers.items() if callable(handler)}
    return cast(Handlers, wrapped)


def _threaded(handler: Callable[[Any], Any], loop: asyncio.AbstractEventLoop) -> Callable[[Any, threading.Event], Any]:
    async def call(params: Any) -> Any:
        result = handler(params)
        return await result if inspect.isawaitable(result) else result

    def answer(params: Any, cancelled: threading.Event) -> Any:
        return result_in_loop(call(params), loop, cancelled)

    return answer
