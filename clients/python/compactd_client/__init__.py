"""Client of compactd: starts the program and speaks JSON-RPC with it over its pipes."""

from .aio import AsyncClient
from .binary import BinaryNotFound, find_binary
from .client import Client
from .errors import CompactdError, MessageTooLarge, NotificationsLost, ServerGone
from .handlers import AsyncHandlers, Handlers
from .notifications import Notification
from .pending import Pending

__all__ = [
    "AsyncClient",
    "AsyncHandlers",
    "BinaryNotFound",
    "Client",
    "CompactdError",
    "Handlers",
    "MessageTooLarge",
    "Notification",
    "NotificationsLost",
    "Pending",
    "ServerGone",
    "find_binary",
]
