"""Readings on disk."""

from datetime import datetime, timedelta, timezone

import pytest

from tidebell.reading import Reading
from tidebell.store import Store

START = datetime(2026, 3, 2, tzinfo=timezone.utc)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "tidebell.db")
    yield store
    store.close()


def readings(count, gauge="HS-02"):
    return [Reading(START + timedelta(minutes=2 * i), gauge, 200 + i) for i in range(count)]


def test_what_was_added_comes_back(store):
    assert store.add(readings(3)) == 3
    assert list(store.since("HS-02", START - timedelta(seconds=1))) == readings(3)


def test_the_same_reading_twice_is_one(store):
    store.add(readings(3))
    assert store.add(readings(4)) == 1


def test_the_latest_is_per_gauge(store):
    store.add(readings(3) + readings(5, "SK-01"))
    assert store.latest("HS-02").level_cm == 202
    assert store.latest("SK-01").level_cm == 204
    assert store.latest("NA-07") is None


def test_old_readings_can_be_forgotten(store):
    store.add(readings(10))
    assert store.forget_before(START + timedelta(minutes=10)) == 5
    assert store.latest("HS-02").level_cm == 209


def test_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "tidebell.db"
    store = Store(path)
    store._connection.execute("update meta set value = '9' where name = 'schema'")
    store.close()
    with pytest.raises(RuntimeError, match="schema 9"):
        Store(path)
