"""The queue of lines that wait for the pipe: in order, bounded, and with a deadline for those who add to it."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import IO


class Outbox:
    """Between the callers, who wait no longer than they want to, and a server, which may not read.

    One thread takes the lines and writes them, so that each comes whole and in its order.
    """

    def __init__(self, limit: int) -> None:
        """A queue that has room while fewer than `limit` bytes wait, the line being written aside."""
        self._limit = limit
        self._lines: deque[bytes] = deque()
        self._size = 0
        self._closed = False
        self._changed = Condition()

    def put(self, line: bytes, timeout: float | None = None) -> None:
        """Adds a line once there is room. Raises TimeoutError, and adds nothing, if there is none
        within `timeout` seconds. A queue that is closed takes nothing: the server was told to go."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or self._size < self._limit, timeout):
                raise TimeoutError(f"no room for the message within {timeout} seconds")
            self._add(line)

    def put_at_once(self, line: bytes) -> None:
        """Adds a line, room or not: for those that relieve the server, as cancellations and replies."""
        with self._changed:
            self._add(line)

    def take(self) -> bytes | None:
        """Waits for the next line; None after the last one."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._closed)
            if not self._lines:
                return None
            line = self._lines.popleft()
            self._size -= len(line)
            self._changed.notify_all()
            return line

    def close(self) -> None:
        """No line comes after those that are there."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def abandon(self) -> None:
        """Drops what waits: nobody reads it any more."""
        with self._changed:
            self._lines.clear()
            self._size = 0
        self.close()

    def write_to(self, pipe: IO[bytes]) -> None:
        """Writes the lines until the last one, then closes the pipe. Raises OSError if nobody reads it."""
        with pipe:
            while (line := self.take()) is not None:
                pipe.write(line)
                pipe.flush()

    def _add(self, line: bytes) -> None:
        if self._closed:
            return
        self._lines.append(line)
        self._size += len(line)
        self._changed.notify_all()
