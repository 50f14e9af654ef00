"""What can go wrong for a caller."""

from __future__ import annotations

from typing import Any


class CompactdError(Exception):
    """The server refused a request; or, raised by a handler, the client refuses one of the server.

    `code` is the number of the error, `data` holds the ids and numbers needed to act.
    """

    def __init__(self, code: int, message: str, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data: dict[str, Any] = data if isinstance(data, dict) else {}

    @property
    def kind(self) -> str | None:
        """Name of the error, as `entryNotFound`; `protocol.ERROR_CODES` lists them."""
        kind = self.data.get("kind")
        return kind if isinstance(kind, str) else None

    @classmethod
    def from_json(cls, error: Any) -> CompactdError:
        """The error in a reply."""
        if not isinstance(error, dict):
            return cls(-32603, f"the server sent an error that is none: {error!r}")
        return cls(error.get("code", -32603), str(error.get("message")), error.get("data"))

    def to_json(self) -> dict[str, Any]:
        """The error as a reply holds it."""
        return {"code": self.code, "message": self.message, "data": self.data}


class ServerGone(Exception):
    """The server has ended. `returncode` is its exit code, or the negated number of a signal."""

    def __init__(self, returncode: int | None) -> None:
        super().__init__(f"the server has ended with code {returncode}")
        self.returncode = returncode


class NotificationsLost(Exception):
    """At this place of the order, `count` notifications did not fit the queue."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} notifications were lost because nobody read them")
        self.count = count
