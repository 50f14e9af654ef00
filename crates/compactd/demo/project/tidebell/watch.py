"""The loop: fetch, keep, judge, alert."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from .alerts import Alerts, Gateway
from .config import Config
from .feed import Feed, FeedDown
from .reading import BadPayload
from .rules import Rules
from .store import Store

log = logging.getLogger("tidebell.watch")


class Watch:
    """Watches all harbours of a configuration."""

    def __init__(self, config: Config, store: Store, feed: Feed, gateway: Gateway) -> None:
        self._config = config
        self._store = store
        self._feed = feed
        self._alerts = Alerts(gateway, {name: harbour.phone for name, harbour in config.harbours.items()})
        self._rules = {name: Rules(name, harbour.levels) for name, harbour in config.harbours.items()}

    def run(self, sleep: Callable[[float], None] = time.sleep) -> None:
        """Goes round for ever."""
        while True:
            self.round()
            sleep(self._config.interval_seconds)

    def round(self) -> int:
        """One round over all harbours. Returns how many messages were sent."""
        return sum(self._watch_harbour(name) for name in self._config.harbours)

    def _watch_harbour(self, name: str) -> int:
        harbour = self._config.harbours[name]
        try:
            readings = self._feed.fetch(harbour.url)
        except FeedDown as error:
            log.error("%s: %s", name, error)
            return 0
        except BadPayload as error:
            log.error("%s: bad payload: %s", name, error)
            return 0
        self._store.add(readings)
        sent = 0
        for reading in readings:
            verdict = self._rules[name].judge(reading)
            if verdict is not None and self._alerts.handle(verdict):
                sent += 1
        return sent
