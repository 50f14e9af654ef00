"""Wording and sending alerts."""

from datetime import datetime, timezone

import pytest

from tidebell.alerts import Alerts, Gateway, TextMessage, word
from tidebell.reading import Reading
from tidebell.rules import Severity, Verdict

AT = datetime(2026, 3, 2, 4, 26, tzinfo=timezone.utc)


def verdict(severity=Severity.ADVICE, rising=True, level=312):
    return Verdict("holmsund", severity, Reading(AT, "HS-02", level), rising)


class Modem:
    def __init__(self, status=202):
        self.status = status
        self.bodies = []

    def __call__(self, url, body):
        self.bodies.append(body)
        return self.status


def alerts(modem):
    return Alerts(Gateway("http://modem", modem), {"holmsund": "+47 555 0102"})


def test_an_advice_is_sent():
    modem = Modem()
    assert alerts(modem).handle(verdict())
    assert b"has passed the advice level, 312 cm at 04:26 UTC" in modem.bodies[0]


def test_an_alarm_is_worded_in_capitals():
    assert "HAS PASSED THE ALARM LEVEL" in word(verdict(Severity.ALARM, level=357))


def test_falling_water_sends_nothing():
    modem = Modem()
    assert not alerts(modem).handle(verdict(rising=False))
    assert modem.bodies == []


def test_a_gateway_that_refuses_is_an_error():
    with pytest.raises(RuntimeError, match="gateway answered 503"):
        alerts(Modem(503)).handle(verdict())


def test_messages_fit_into_one_text():
    with pytest.raises(ValueError, match="160 fit"):
        TextMessage("+47 555 0102", "x" * 161)
