"""Payloads of gauges."""

from datetime import datetime, timezone

import pytest

from tidebell.reading import BadPayload, Reading, parse_payload


def payload(*values):
    return {"gauge": "HS-02", "values": list(values)}


def test_a_payload_gives_readings_oldest_first():
    readings = parse_payload(payload({"t": "2026-03-02T01:02:00+01:00", "cm": 212}, {"t": "2026-03-02T00:00:00Z", "cm": 205}))
    assert readings == [
        Reading(datetime(2026, 3, 2, 0, 0, tzinfo=timezone.utc), "HS-02", 205),
        Reading(datetime(2026, 3, 2, 0, 2, tzinfo=timezone.utc), "HS-02", 212),
    ]


def test_an_empty_payload_gives_nothing():
    assert parse_payload(payload()) == []


@pytest.mark.parametrize("value", [None, 7, "212", [], True])
def test_a_value_that_is_no_object_is_named(value):
    with pytest.raises(BadPayload, match=r"values\[0\] is"):
        parse_payload(payload(value))


@pytest.mark.parametrize("missing", ["t", "cm"])
def test_a_missing_member_is_named(missing):
    value = {"t": "2026-03-02T00:00:00Z", "cm": 205}
    del value[missing]
    with pytest.raises(BadPayload, match=f"'{missing}' is missing"):
        parse_payload(payload(value))


def test_a_time_without_offset_is_refused():
    with pytest.raises(BadPayload, match="has no offset"):
        parse_payload(payload({"t": "2026-03-02T00:00:00", "cm": 205}))


def test_a_boolean_is_no_level():
    with pytest.raises(BadPayload, match="'cm' is bool"):
        parse_payload(payload({"t": "2026-03-02T00:00:00Z", "cm": True}))


def test_suspect_readings_are_kept_and_not_usable():
    [reading] = parse_payload(payload({"t": "2026-03-02T00:00:00Z", "cm": 999, "q": "suspect"}))
    assert reading.level_cm == 999
    assert not reading.usable
