"""Requests of the server, and the answers of the client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias, TypedDict, TypeVar, cast

from .errors import CompactdError, MessageTooLarge
from .protocol import (
    CancelResult,
    SessionBeforeCompact,
    SessionBeforeCompactResult,
    SessionBeforeFork,
    SessionBeforeTree,
    SessionBeforeTreeResult,
    SummarizeParams,
    SummarizeResult,
)


class Handlers(TypedDict, total=False):
    """What a client may answer; `Client.initialize` tells the server which of them are there.

    A handler runs in a thread of its own and gets, beside the parameters, an event that is set when
    the server no longer wants the answer. To refuse a request it raises; the server's operation
    then fails with nothing changed.
    """

    summarize: Callable[[SummarizeParams, threading.Event], SummarizeResult]
    sessionBeforeCompact: Callable[[SessionBeforeCompact, threading.Event], SessionBeforeCompactResult]
    sessionBeforeTree: Callable[[SessionBeforeTree, threading.Event], SessionBeforeTreeResult]
    sessionBeforeFork: Callable[[SessionBeforeFork, threading.Event], CancelResult]


class AsyncHandlers(TypedDict, total=False):
    """The same for AsyncClient: functions or coroutine functions, which run in its loop.

    One whose answer is no longer wanted is cancelled. To refuse a request it raises.
    """

    summarize: Callable[[SummarizeParams], SummarizeResult | Awaitable[SummarizeResult]]
    sessionBeforeCompact: Callable[
        [SessionBeforeCompact], SessionBeforeCompactResult | Awaitable[SessionBeforeCompactResult]
    ]
    sessionBeforeTree: Callable[[SessionBeforeTree], SessionBeforeTreeResult | Awaitable[SessionBeforeTreeResult]]
    sessionBeforeFork: Callable[[SessionBeforeFork], CancelResult | Awaitable[CancelResult]]


AnyHandler: TypeAlias = Callable[[Any, threading.Event], Any]
Result = TypeVar("Result")
# How many turns of waiting a loop may stand still, as it does between two runs of it.
MOST_STOPPED = 20


class Answering:
    """The requests of the server that are being answered."""

    def __init__(self, handlers: Handlers, send: Callable[[dict[str, Any]], None]) -> None:
        self._handlers = cast("dict[str, AnyHandler]", handlers)
        self._send = send
        self._running: dict[Any, threading.Event] = {}

    @property
    def names(self) -> list[str]:
        """The names that are answered: those for which there is something to call."""
        return [name for name in Handlers.__annotations__ if self._find(name) is not None]

    def start(self, request_id: Any, method: str, params: Any) -> None:
        """Answers a request, in a thread of its own."""
        cancelled = self._running.setdefault(request_id, threading.Event())
        arguments = (request_id, method, params, cancelled)
        threading.Thread(target=self._answer, args=arguments, name=f"compactd {method}", daemon=True).start()

    def cancel(self, params: Any) -> None:
        """Tells a handler that its answer is no longer wanted; it may answer all the same."""
        cancelled = self._running.get(params.get("id")) if isinstance(params, dict) else None
        if cancelled is not None:
            cancelled.set()

    def cancel_all(self) -> None:
        """Tells all handlers that the server is gone."""
        for cancelled in list(self._running.values()):
            cancelled.set()

    def _answer(self, request_id: Any, method: str, params: Any, cancelled: threading.Event) -> None:
        try:
            outcome = {"result": self._run(method, params, cancelled)}
        except Exception as error:  # Whatever a handler raises, the server must hear of it.
            outcome = {"error": refusal(error, cancelled).to_json()}
        self._running.pop(request_id, None)
        try:
            self._send({"jsonrpc": "2.0", "id": request_id, **outcome})
        except (TypeError, ValueError, RecursionError, MessageTooLarge) as error:  # JSON cannot say it, or not so much.
            self._send({"jsonrpc": "2.0", "id": request_id, "error": refusal(error, cancelled).to_json()})

    def _run(self, method: str, params: Any, cancelled: threading.Event) -> Any:
        handler = self._find(method)
        if handler is None:
            data = {"kind": "methodNotFound", "method": method}
            raise CompactdError(-32601, f"the client does not answer {method}", data)
        result = handler(params, cancelled)
        return {} if result is None else result

    def _find(self, name: str) -> AnyHandler | None:
        handler = self._handlers.get(name) if name in Handlers.__annotations__ else None
        return handler if callable(handler) else None


def refusal(error: Exception, cancelled: threading.Event) -> CompactdError:
    """What a handler raised, as the server gets it."""
    if cancelled.is_set():
        return CompactdError(-32800, "the request was cancelled", {"kind": "requestCancelled"})
    if isinstance(error, CompactdError):
        return error
    return CompactdError(-32603, f"{type(error).__name__}: {error}", {"kind": "internalError"})


def result_in_loop(
    work: Coroutine[Any, Any, Result], loop: asyncio.AbstractEventLoop, cancelled: threading.Event
) -> Result:
    """Waits for a coroutine that runs in the loop of another thread. The event cancels it. Raises RuntimeError if the
    loop ends before it, because nothing would ever finish it."""
    future = asyncio.run_coroutine_threadsafe(work, loop)
    # Either the answer comes, or the server no longer wants it.
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    stopped = 0
    while not done.wait(0.05):
        stopped = 0 if loop.is_running() else stopped + 1
        if loop.is_closed():
            raise RuntimeError("the loop was closed before the answer")
        if cancelled.is_set() or stopped == MOST_STOPPED:
            future.cancel()
        if stopped == MOST_STOPPED:
            raise RuntimeError("the loop stopped before the answer")
    return future.result()
