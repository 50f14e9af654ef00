"""Client of compactd: starts the program and speaks JSON-RPC with it over its pipes."""

from .client import Client
from .errors import CompactdError, NotificationsLost, ServerGone
from .handlers import Handlers
from .notifications import Notification
from .pending import Pending

__all__ = [
    "Client",
    "CompactdError",
    "Handlers",
    "Notification",
    "NotificationsLost",
    "Pending",
    "ServerGone",
]
