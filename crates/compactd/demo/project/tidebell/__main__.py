"""The command line."""

from __future__ import annotations

import argparse
import csv
import logging
import sys
from datetime import datetime, timezone
from pathlib import Path

from . import config as configuration
from .alerts import Gateway
from .feed import Feed
from .forecast import fit, next_high_water
from .reading import Reading
from .store import Store
from .watch import Watch


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="tidebell")
    parser.add_argument("--config", type=Path, default=Path("harbours.toml"))
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("watch")
    backfill = commands.add_parser("backfill")
    backfill.add_argument("harbour")
    backfill.add_argument("file", type=Path)
    forecast = commands.add_parser("forecast")
    forecast.add_argument("harbour")
    forecast.add_argument("--hours", type=int, default=24)
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    config = configuration.load(options.config)
    store = Store(config.database)
    match options.command:
        case "watch":
            Watch(config, store, Feed(), Gateway(config.gateway)).run()
        case "backfill":
            return _backfill(config, store, options.harbour, options.file)
        case "forecast":
            return _forecast(config, store, options.harbour, options.hours)
    return 0


def _backfill(config: configuration.Config, store: Store, harbour: str, path: Path) -> int:
    gauge = config.harbours[harbour].gauge
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            reading = Reading(datetime.fromisoformat(row["time"]), gauge, int(row["level_cm"]), row["quality"])
            store.add([reading])
    return 0


def _forecast(config: configuration.Config, store: Store, harbour: str, hours: int) -> int:
    now = datetime.now(timezone.utc)
    readings = store.last_days(config.harbours[harbour].gauge, 30, now)
    moment, level = next_high_water(fit(readings), now, hours)
    print(f"{harbour}: {level:.0f} cm at {moment:%Y-%m-%d %H:%M} UTC")
    return 0


if __name__ == "__main__":
    sys.exit(main())
