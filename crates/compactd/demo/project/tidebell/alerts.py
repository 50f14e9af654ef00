"""Wording alerts and handing them to the text message gateway."""

from __future__ import annotations

import json
import logging
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass

from .rules import Severity, Verdict

log = logging.getLogger("tidebell.alerts")

WORDS = {
    Severity.ADVICE: "has passed the advice level",
    Severity.ALARM: "HAS PASSED THE ALARM LEVEL",
}


@dataclass(frozen=True)
class TextMessage:
    """What goes to a phone."""

    phone: str
    text: str

    def __post_init__(self) -> None:
        if len(self.text) > 160:
            raise ValueError(f"message has {len(self.text)} characters, 160 fit")


class Gateway:
    """The modem in the harbour office, behind a small HTTP service."""

    def __init__(self, url: str, post: Callable[[str, bytes], int] | None = None) -> None:
        self.url = url
        self._post = post or _post

    def send(self, message: TextMessage) -> None:
        body = json.dumps({"to": message.phone, "text": message.text}).encode()
        status = self._post(self.url, body)
        if status != 202:
            raise RuntimeError(f"gateway answered {status} for {message.phone}")


class Alerts:
    """Sends a text message for each verdict that is worth one."""

    def __init__(self, gateway: Gateway, phones: dict[str, str]) -> None:
        self._gateway = gateway
        self._phones = phones

    def handle(self, verdict: Verdict) -> bool:
        """Whether a message was sent."""
        if not verdict.worth_a_message:
            return False
        message = TextMessage(self._phones[verdict.harbour], word(verdict))
        self._gateway.send(message)
        log.info("sent to %s: %s", message.phone, message.text)
        return True


def word(verdict: Verdict) -> str:
    """The text of an alert: harbour, what happened, level and local time."""
    reading = verdict.reading
    clock = reading.at.strftime("%H:%M UTC")
    return f"{verdict.harbour.title()}: water {WORDS[verdict.severity]}, {reading.level_cm} cm at {clock}."


def _post(url: str, body: bytes) -> int:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.status
