"""Fitting and predicting."""

import math
from datetime import datetime, timedelta, timezone

import pytest

from tidebell.forecast import CONSTITUENTS, fit, next_high_water
from tidebell.reading import Reading

START = datetime(2026, 3, 2, tzinfo=timezone.utc)


def tide(hours):
    return 180 + 95 * math.cos(math.radians(CONSTITUENTS["M2"] * hours)) + 31 * math.sin(math.radians(CONSTITUENTS["S2"] * hours))


def readings(days, minutes=10):
    count = days * 24 * 60 // minutes
    moments = [START + timedelta(minutes=minutes * i) for i in range(count)]
    return [Reading(at, "HS-02", round(tide((at - START).total_seconds() / 3600))) for at in moments]


def test_a_pure_tide_is_found_again():
    fitted = fit(readings(30))
    assert fitted.mean == pytest.approx(180, abs=0.5)
    assert fitted.parts["M2"][0] == pytest.approx(95, abs=0.5)
    assert fitted.parts["S2"][1] == pytest.approx(31, abs=0.5)


def test_the_prediction_follows_the_tide():
    fitted = fit(readings(30))
    later = START + timedelta(days=33, hours=7)
    assert fitted.level_at(later) == pytest.approx(tide(33 * 24 + 7), abs=2)


def test_the_next_high_water_is_the_highest():
    moment, level = next_high_water(fit(readings(30)), START + timedelta(days=30))
    assert level > 250
    assert START + timedelta(days=30) <= moment <= START + timedelta(days=31)


def test_too_few_readings_are_refused():
    with pytest.raises(ValueError, match="too few"):
        fit(readings(30)[:10])
