"""Fetching readings from the gauges."""

from __future__ import annotations

import json
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Callable

from .reading import BadPayload, Reading, parse_payload

log = logging.getLogger("tidebell.feed")

TIMEOUT_SECONDS = 8
ATTEMPTS = 3


class FeedDown(Exception):
    """A gauge gave no payload after all attempts."""

    def __init__(self, url: str, cause: Exception) -> None:
        super().__init__(f"no payload from {url} after {ATTEMPTS} attempts: {cause}")
        self.url = url
        self.cause = cause


class Feed:
    """Fetches payloads, again if a gauge does not answer."""

    def __init__(
        self,
        open_url: Callable[[str], bytes] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._open_url = open_url or _open_url
        self._sleep = sleep

    def fetch(self, url: str) -> list[Reading]:
        """Readings of the gauge behind `url`, oldest first."""
        body = self._fetch_body(url)
        try:
            payload = json.loads(body)
        except json.JSONDecodeError as error:
            raise BadPayload(f"{url} sent no JSON: {error}") from error
        if not isinstance(payload, dict):
            raise BadPayload(f"{url} sent {type(payload).__name__}, not an object")
        return parse_payload(payload)

    def _fetch_body(self, url: str) -> bytes:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._open_url(url)
            except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
                cause: Exception = error
                log.warning("attempt %d of %d: %s: %s", attempt, ATTEMPTS, url, error)
                if attempt < ATTEMPTS:
                    self._sleep(2.0**attempt)
        raise FeedDown(url, cause)


def _open_url(url: str) -> bytes:
    request = urllib.request.Request(url, headers={"Accept": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:
        return response.read()
