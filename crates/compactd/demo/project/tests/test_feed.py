"""Fetching, with gauges that do not answer."""

import urllib.error

import pytest

from tidebell.feed import Feed, FeedDown
from tidebell.reading import BadPayload

BODY = b'{"gauge": "HS-02", "values": [{"t": "2026-03-02T00:00:00Z", "cm": 205}]}'


class Gauge:
    def __init__(self, *answers):
        self.answers = list(answers)
        self.slept = []

    def open_url(self, url):
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def feed(self):
        return Feed(self.open_url, self.slept.append)


def test_a_gauge_that_answers():
    assert Gauge(BODY).feed().fetch("http://gauge")[0].level_cm == 205


def test_a_gauge_is_asked_again():
    gauge = Gauge(urllib.error.URLError("no route"), TimeoutError(), BODY)
    assert len(gauge.feed().fetch("http://gauge")) == 1
    assert gauge.slept == [2.0, 4.0]


def test_a_gauge_that_stays_silent_is_an_error():
    with pytest.raises(FeedDown, match="after 3 attempts"):
        Gauge(*[TimeoutError("timed out")] * 3).feed().fetch("http://gauge")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"null"])
def test_a_body_that_is_no_payload_is_named(body):
    with pytest.raises(BadPayload, match="http://gauge sent"):
        Gauge(body).feed().fetch("http://gauge")
