"""When the water is worth a text message."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from .reading import Reading


class Severity(IntEnum):
    """How bad it is; larger is worse."""

    CALM = 0
    ADVICE = 1
    ALARM = 2


@dataclass(frozen=True)
class Levels:
    """Levels of a harbour, in centimetres above chart datum."""

    advice: int
    alarm: int

    def __post_init__(self) -> None:
        if self.alarm <= self.advice:
            raise ValueError(f"alarm level {self.alarm} must be above advice level {self.advice}")

    def severity(self, level_cm: int) -> Severity:
        if level_cm >= self.alarm:
            return Severity.ALARM
        if level_cm >= self.advice:
            return Severity.ADVICE
        return Severity.CALM


@dataclass(frozen=True)
class Verdict:
    """What a reading means for a harbour."""

    harbour: str
    severity: Severity
    reading: Reading
    rising: bool

    @property
    def worth_a_message(self) -> bool:
        return self.rising and self.severity > Severity.CALM


class Rules:
    """Judges the readings of one harbour, one after the other."""

    def __init__(self, harbour: str, levels: Levels) -> None:
        self.harbour = harbour
        self.levels = levels
        self._severity = Severity.CALM

    def judge(self, reading: Reading) -> Verdict | None:
        """A verdict if the severity changed, else nothing. Unusable readings change nothing."""
        if not reading.usable:
            return None
        severity = self.levels.severity(reading.level_cm)
        if severity == self._severity:
            return None
        rising = severity > self._severity
        self._severity = severity
        return Verdict(self.harbour, severity, reading, rising)
