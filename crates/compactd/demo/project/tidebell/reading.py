"""One measurement of one gauge."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone


class BadPayload(ValueError):
    """A gauge said something that is no reading; the message names the member."""


@dataclass(frozen=True, order=True)
class Reading:
    """Water level of a gauge at a moment."""

    at: datetime
    gauge: str
    level_cm: int
    quality: str = "good"

    @property
    def usable(self) -> bool:
        return self.quality in ("good", "estimated")


def parse_payload(payload: dict) -> list[Reading]:
    """Reads what a gauge sends: `{"gauge": "HS-02", "values": [{"t": ..., "cm": ..., "q": ...}]}`."""
    gauge = _member(payload, "gauge", str)
    values = _member(payload, "values", list)
    readings = [_parse_value(gauge, value, position) for position, value in enumerate(values)]
    return sorted(readings)


def _parse_value(gauge: str, value: object, position: int) -> Reading:
    if not isinstance(value, dict):
        raise BadPayload(f"values[{position}] is {type(value).__name__}, not an object")
    moment = _member(value, "t", str)
    level = _member(value, "cm", int)
    quality = value.get("q", "good")
    return Reading(at=_parse_time(moment), gauge=gauge, level_cm=level, quality=quality)


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadPayload(f"time {text!r} is not ISO 8601") from error
    if moment.tzinfo is None:
        raise BadPayload(f"time {text!r} has no offset")
    return moment.astimezone(timezone.utc)


def _member(payload: dict, name: str, expected: type):
    if name not in payload:
        raise BadPayload(f"member {name!r} is missing")
    value = payload[name]
    if not isinstance(value, expected) or isinstance(value, bool):
        raise BadPayload(f"member {name!r} is {type(value).__name__}, not {expected.__name__}")
    return value
