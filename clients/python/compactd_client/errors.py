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
        data = error.get("data")
        if isinstance(data, dict) and data.get("reason") == TOO_LARGE and {"bytes", "limit"} <= data.keys():
            return MessageTooLarge(data["bytes"], data["limit"])
        return cls(error.get("code", -32603), str(error.get("message")), data)

    def to_json(self) -> dict[str, Any]:
        """The error as a reply holds it."""
        return {"code": self.code, "message": self.message, "data": self.data}


# The reason of a message over the limit of the server.
TOO_LARGE = "messageTooLarge"


class MessageTooLarge(CompactdError):
    """A message of `bytes` bytes is over the `limit` of the server, which did not read it. As a rule it was not even
    sent, because the result of `initialize` tells the limit."""

    def __init__(self, bytes: int, limit: int) -> None:
        data = {"kind": "invalidRequest", "reason": TOO_LARGE, "retryable": False, "bytes": bytes, "limit": limit}
        super().__init__(-32600, f"a message of {bytes} bytes is over the server's limit of {limit} bytes", data)
        self.bytes = bytes
        self.limit = limit


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
