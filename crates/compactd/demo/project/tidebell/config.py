"""The configuration: `harbours.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from .rules import Levels


class BadConfig(ValueError):
    """The configuration is wrong; the message names the place."""


@dataclass(frozen=True)
class Harbour:
    """A harbour, its gauge and whom to text."""

    gauge: str
    url: str
    levels: Levels
    phone: str


@dataclass(frozen=True)
class Config:
    """All of it."""

    database: Path
    interval_seconds: int
    gateway: str
    harbours: dict[str, Harbour]


def load(path: Path) -> Config:
    """Reads the file."""
    with path.open("rb") as file:
        return parse(tomllib.load(file))


def parse(document: dict) -> Config:
    """Reads a parsed document."""
    try:
        harbours = {name: _harbour(name, table) for name, table in document["harbours"].items()}
        return Config(
            database=Path(document.get("database", "tidebell.db")),
            interval_seconds=int(document.get("interval_seconds", 120)),
            gateway=document["gateway"],
            harbours=harbours,
        )
    except KeyError as error:
        raise BadConfig(f"{error.args[0]} is missing") from error


def _harbour(name: str, table: dict) -> Harbour:
    for member in ("gauge", "url", "advice", "alarm", "phone"):
        if member not in table:
            raise BadConfig(f"harbours.{name}.{member} is missing")
    try:
        levels = Levels(advice=table["advice"], alarm=table["alarm"])
    except ValueError as error:
        raise BadConfig(f"harbours.{name}: {error}") from error
    return Harbour(gauge=table["gauge"], url=table["url"], levels=levels, phone=table["phone"])
