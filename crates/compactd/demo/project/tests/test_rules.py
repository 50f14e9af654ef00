"""Verdicts over readings."""

from datetime import datetime, timedelta, timezone

import pytest

from tidebell.reading import Reading
from tidebell.rules import Levels, Rules, Severity

START = datetime(2026, 3, 2, tzinfo=timezone.utc)


def judge(levels, *centimetres, quality="good"):
    rules = Rules("holmsund", levels)
    readings = [Reading(START + timedelta(minutes=2 * i), "HS-02", cm, quality) for i, cm in enumerate(centimetres)]
    verdicts = (rules.judge(reading) for reading in readings)
    return [(verdict.severity, verdict.rising) for verdict in verdicts if verdict]


def test_calm_water_gives_no_verdict():
    assert judge(Levels(310, 355), 200, 250, 309) == []


def test_rising_water_gives_one_verdict_per_level():
    assert judge(Levels(310, 355), 300, 310, 340, 355, 360) == [(Severity.ADVICE, True), (Severity.ALARM, True)]


def test_falling_water_is_not_rising():
    assert judge(Levels(310, 355), 360, 320, 200) == [
        (Severity.ALARM, True),
        (Severity.ADVICE, False),
        (Severity.CALM, False),
    ]


def test_a_jump_over_both_levels_is_one_alarm():
    assert judge(Levels(310, 355), 200, 400) == [(Severity.ALARM, True)]


def test_suspect_readings_change_nothing():
    assert judge(Levels(310, 355), 400, 200, quality="suspect") == []


@pytest.mark.parametrize("advice, alarm", [(355, 310), (310, 310)])
def test_levels_in_the_wrong_order_are_refused(advice, alarm):
    with pytest.raises(ValueError, match="must be above"):
        Levels(advice, alarm)
