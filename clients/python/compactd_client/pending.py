"""A request that is under way."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Pending(Generic[Result]):
    """Waits for the result of a request, or cancels it."""

    def __init__(self, request_id: int, size: int, cancel: Callable[[], None]) -> None:
        """A request whose message has `size` bytes."""
        self.request_id = request_id
        self.size = size
        self._future: Future[Result] = Future()
        self._cancel = cancel

    def result(self, timeout: float | None = None) -> Result:
        """Waits for the result, or raises what the request failed with.

        After `timeout` seconds the request is cancelled and TimeoutError is raised.
        """
        try:
            return self._future.result(timeout)
        except TimeoutError:
            if self._future.done():
                raise
            self.cancel()
            raise TimeoutError("no answer in time") from None

    def cancel(self) -> None:
        """Asks the server to cancel. The result tells what came of it: the request may have been
        done before, else it fails with the kind `requestCancelled`."""
        if not self._future.done():
            self._cancel()

    def done(self) -> bool:
        """Whether the reply has come."""
        return self._future.done()

    def on_done(self, listener: Callable[[Future[Result]], None]) -> None:
        """Calls the listener when the reply has come, in the thread that has it, or at once."""
        self._future.add_done_callback(listener)

    def resolve(self, result: Result) -> None:
        """For the client: the result has come."""
        self._future.set_result(result)

    def reject(self, error: Exception) -> None:
        """For the client: the request has failed."""
        self._future.set_exception(error)
