"""Readings on disk: one SQLite file."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .reading import Reading

SCHEMA_VERSION = 3

SCHEMA = """
create table if not exists readings (
    gauge    text    not null,
    at       integer not null,
    level_cm integer not null,
    quality  text    not null,
    primary key (gauge, at)
) without rowid;
create table if not exists meta (
    name  text primary key,
    value text not null
);
"""


class Store:
    """All readings of all gauges."""

    def __init__(self, path: Path | str) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("pragma journal_mode = wal")
        self._connection.execute("pragma synchronous = normal")
        self._connection.executescript(SCHEMA)
        self._check_version()

    def close(self) -> None:
        self._connection.close()

    def add(self, readings: Iterable[Reading]) -> int:
        """Keeps readings; one that is there already is left as it is. Returns how many were new."""
        new = 0
        for reading in readings:
            cursor = self._connection.execute(
                "insert or ignore into readings (gauge, at, level_cm, quality) values (?, ?, ?, ?)",
                (reading.gauge, int(reading.at.timestamp()), reading.level_cm, reading.quality),
            )
            new += cursor.rowcount
        return new

    def latest(self, gauge: str) -> Reading | None:
        """The newest reading of a gauge."""
        row = self._connection.execute(
            "select gauge, at, level_cm, quality from readings where gauge = ? order by at desc limit 1",
            (gauge,),
        ).fetchone()
        return _reading(row) if row else None

    def since(self, gauge: str, moment: datetime) -> Iterator[Reading]:
        """Readings of a gauge after a moment, oldest first."""
        rows = self._connection.execute(
            "select gauge, at, level_cm, quality from readings where gauge = ? and at > ? order by at",
            (gauge, int(moment.timestamp())),
        )
        return (_reading(row) for row in rows)

    def forget_before(self, moment: datetime) -> int:
        """Drops old readings. Returns how many there were."""
        cursor = self._connection.execute("delete from readings where at < ?", (int(moment.timestamp()),))
        return cursor.rowcount

    def last_days(self, gauge: str, days: int, now: datetime) -> list[Reading]:
        return list(self.since(gauge, now - timedelta(days=days)))

    def _check_version(self) -> None:
        row = self._connection.execute("select value from meta where name = 'schema'").fetchone()
        if row is None:
            self._connection.execute("insert into meta values ('schema', ?)", (str(SCHEMA_VERSION),))
        elif int(row[0]) > SCHEMA_VERSION:
            raise RuntimeError(f"database has schema {row[0]}, this tidebell knows {SCHEMA_VERSION}")


def _reading(row: tuple) -> Reading:
    gauge, at, level_cm, quality = row
    return Reading(at=datetime.fromtimestamp(at, timezone.utc), gauge=gauge, level_cm=level_cm, quality=quality)
