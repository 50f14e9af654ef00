"""The queue of notifications: in order, bounded, and honest about what it lost."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Any, NamedTuple

from .errors import NotificationsLost


class Notification(NamedTuple):
    """A notification of the server; `protocol` has the types of the parameters."""

    method: str
    params: Any


class NotificationQueue:
    """Between the reader of the pipe, which must never wait, and a caller, who may be slow.

    The reader also carries the replies, so a full queue must not stop it: it loses notifications,
    and says how many in their place.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._items: deque[Notification | NotificationsLost] = deque()
        self._changed = Condition()
        self._closed: Exception | None = None

    def put(self, notification: Notification) -> None:
        """Adds a notification, or counts it as lost."""
        with self._changed:
            if len(self._items) < self._limit:
                self._items.append(notification)
            else:
                self._items.append(NotificationsLost(self._take_lost() + 1))
            self._changed.notify()

    def close(self, reason: Exception) -> None:
        """Nothing more will come."""
        with self._changed:
            self._closed = reason
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> Notification:
        """The next one. Raises TimeoutError after `timeout` seconds, NotificationsLost in place of
        those that were lost, and ServerGone after the last one."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._items or self._closed, timeout):
                raise TimeoutError(f"no notification within {timeout} seconds")
            if not self._items:
                raise self._closed or RuntimeError("closed without a reason")
            item = self._items.popleft()
        if isinstance(item, NotificationsLost):
            raise item
        return item

    def _take_lost(self) -> int:
        """Takes the count of a loss that stands last, if one does."""
        last = self._items[-1] if self._items else None
        if not isinstance(last, NotificationsLost):
            return 0
        self._items.pop()
        return last.count
