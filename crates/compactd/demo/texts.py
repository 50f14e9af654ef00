"""Files that the story writes, and summaries that it holds."""

LOCKFILE = '''\
"""When a harbour was last texted, as one small file per harbour and severity."""

from __future__ import annotations

import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

from .rules import Severity

QUIET = timedelta(minutes=30)


class LockFiles:
    """Files `<harbour>.<severity>` whose time of change is the time of the last message."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def may_send(self, harbour: str, severity: Severity, now: datetime) -> bool:
        """Whether the last message is long enough ago."""
        try:
            changed = os.stat(self._path(harbour, severity)).st_mtime
        except FileNotFoundError:
            return True
        return now - datetime.fromtimestamp(changed, timezone.utc) >= QUIET

    def sent(self, harbour: str, severity: Severity, now: datetime) -> None:
        """Remembers a message."""
        path = self._path(harbour, severity)
        path.touch()
        os.utime(path, (now.timestamp(), now.timestamp()))

    def _path(self, harbour: str, severity: Severity) -> Path:
        return self._directory / f"{harbour}.{severity.name.lower()}"
'''

TEST_LOCKFILE = '''\
"""Quiet times kept in files."""

from datetime import datetime, timedelta, timezone

from tidebell.lockfile import LockFiles
from tidebell.rules import Severity

NOW = datetime(2026, 2, 16, 2, 10, tzinfo=timezone.utc)


def test_the_first_message_may_be_sent(tmp_path):
    assert LockFiles(tmp_path).may_send("holmsund", Severity.ADVICE, NOW)


def test_a_second_message_has_to_wait(tmp_path):
    locks = LockFiles(tmp_path)
    locks.sent("holmsund", Severity.ADVICE, NOW)
    assert not locks.may_send("holmsund", Severity.ADVICE, NOW + timedelta(minutes=29))
    assert locks.may_send("holmsund", Severity.ADVICE, NOW + timedelta(minutes=30))


def test_an_alarm_does_not_wait_for_an_advice(tmp_path):
    locks = LockFiles(tmp_path)
    locks.sent("holmsund", Severity.ADVICE, NOW)
    assert locks.may_send("holmsund", Severity.ALARM, NOW)
'''

SENT_METHODS = '''\
    def claim(self, harbour: str, severity: int, now: datetime, quiet: timedelta) -> bool:
        """Whether a message may be sent now; if so, it counts as sent. One statement, so that two workers cannot both win."""
        cursor = self._connection.execute(
            "insert into sent (harbour, severity, at) values (?, ?, ?) "
            "on conflict (harbour, severity) do update set at = excluded.at where excluded.at - sent.at >= ?",
            (harbour, severity, int(now.timestamp()), int(quiet.total_seconds())),
        )
        return cursor.rowcount == 1

    def release(self, harbour: str, severity: int) -> None:
        """Takes a claim back, because the message did not leave."""
        self._connection.execute("delete from sent where harbour = ? and severity = ?", (harbour, severity))

    def forget_before('''

HYSTERESIS_TESTS = '''

def test_water_that_dances_around_a_level_is_one_verdict():
    dance = [309, 310, 309, 311, 308, 310, 307, 312]
    assert judge(Levels(310, 355), *dance) == [(Severity.ADVICE, True)]


def test_the_margin_is_where_a_level_is_left():
    assert judge(Levels(310, 355), 310, 302) == [(Severity.ADVICE, True)]
    assert judge(Levels(310, 355), 310, 301) == [(Severity.ADVICE, True), (Severity.CALM, False)]


def test_an_alarm_falls_back_to_advice_first():
    assert judge(Levels(310, 355), 356, 346) == [(Severity.ALARM, True), (Severity.ADVICE, False)]
'''

QUIET_TESTS = '''

def test_the_same_alert_is_quiet_for_half_an_hour(store):
    modem = Modem()
    sender = alerts(modem, store)
    assert sender.handle(verdict(at=AT))
    assert not sender.handle(verdict(at=AT + timedelta(minutes=29)))
    assert sender.handle(verdict(at=AT + timedelta(minutes=30)))
    assert len(modem.bodies) == 2


def test_a_restart_does_not_forget(tmp_path):
    modem = Modem()
    for _ in range(2):
        store = Store(tmp_path / "restart.db")
        alerts(modem, store).handle(verdict())
        store.close()
    assert len(modem.bodies) == 1


def test_an_alarm_does_not_wait_for_an_advice(store):
    modem = Modem()
    sender = alerts(modem, store)
    assert sender.handle(verdict())
    assert sender.handle(verdict(Severity.ALARM, level=357))


def test_a_message_that_did_not_leave_is_not_counted(store):
    with pytest.raises(RuntimeError):
        alerts(Modem(503), store).handle(verdict())
    assert alerts(Modem(), store).handle(verdict())
'''

FIRST_SUMMARY = """\
## Goal
- Stop `tidebell` from texting the harbour master of Holmsund 27 times in one night.
- Never send the same alert twice within 30 minutes, not even after a restart.

## Constraints & Preferences
- Standard library alone, Python 3.11.
- Never touch `deploy/` without asking.
- Run `python3.11 -m pytest -v` before saying that something is done.
- The quiet time belongs into the database, not into files.

## Progress
### Done
- [x] Hysteresis in `tidebell/rules.py`: `Levels.margin` of 8 cm, a level is left only below `level - margin`
- [x] `Store.claim` and `Store.release` in `tidebell/store.py`, table `sent`, schema 4
- [x] `Alerts` in `tidebell/alerts.py` asks `Store.claim` before it sends
- [x] `AttributeError: 'Rules' object has no attribute '_state'` fixed: the attribute is `_severity`

### In Progress
- (none)

### Blocked
- (none)

## Key Decisions
- **Hysteresis instead of averaging**: an alarm must not come later because of a mean over ten minutes
- **One upsert as the claim**: two workers cannot both win, which lock files could not promise

## Next Steps
1. Ask Aud whether one text per tide is what she wants

## Critical Context
- The claim: `insert into sent … on conflict (harbour, severity) do update set at = excluded.at where …`
- Gauge of Holmsund: HS-02, advice 310 cm, alarm 355 cm

<read-files>
README.md
harbours.toml
tidebell/feed.py
tidebell/reading.py
</read-files>

<modified-files>
tests/test_alerts.py
tests/test_rules.py
tests/test_store.py
tidebell/alerts.py
tidebell/config.py
tidebell/rules.py
tidebell/store.py
tidebell/watch.py
</modified-files>"""

FIRST_DETAILS = {
    "readFiles": ["README.md", "harbours.toml", "tidebell/feed.py", "tidebell/reading.py"],
    "modifiedFiles": [
        "tests/test_alerts.py",
        "tests/test_rules.py",
        "tests/test_store.py",
        "tidebell/alerts.py",
        "tidebell/config.py",
        "tidebell/rules.py",
        "tidebell/store.py",
        "tidebell/watch.py",
    ],
}

LOCK_SUMMARY = """\
## Goal
- Never send the same alert twice within 30 minutes, not even after a restart.

## Constraints & Preferences
- Standard library alone, Python 3.11.

## Progress
### Done
- [x] Tried `tidebell/lockfile.py`: one file per harbour and severity, its mtime is the time of the last message

### In Progress
- (none)

### Blocked
- `AssertionError: 2 messages for one verdict` with two workers: between looking and writing both may send

## Key Decisions
- **No lock files**: the check and the write are two steps, and the box runs two workers during an update

## Next Steps
1. Keep the time of the last message in SQLite, where looking and writing are one statement

<modified-files>
tests/test_lockfile.py
tidebell/lockfile.py
</modified-files>"""

LOCK_DETAILS = {"readFiles": [], "modifiedFiles": ["tests/test_lockfile.py", "tidebell/lockfile.py"]}

TEST_WATCH = '''\
"""One round over the harbours."""

from tidebell import config
from tidebell.alerts import Gateway
from tidebell.feed import Feed
from tidebell.store import Store
from tidebell.watch import Watch

HARBOUR = {"gauge": "HS-02", "url": "http://gauge", "advice": 310, "alarm": 355, "phone": "+47 555 0102"}
BODY = b'{"gauge": "HS-02", "values": [{"t": "2026-02-18T06:00:00Z", "cm": 312}]}'


def watch(tmp_path, status, harbours=("holmsund", "skarvik")):
    document = {"gateway": "http://modem", "harbours": {name: HARBOUR for name in harbours}}
    feed = Feed(lambda url: BODY, lambda seconds: None)
    gateway = Gateway("http://modem", lambda url, body: status)
    return Watch(config.parse(document), Store(tmp_path / "tidebell.db"), feed, gateway)


def test_every_harbour_is_texted(tmp_path):
    assert watch(tmp_path, 202).round() == 2


def test_a_modem_without_signal_does_not_end_the_round(tmp_path):
    assert watch(tmp_path, 503).round() == 0


def test_readings_are_kept_even_if_no_message_leaves(tmp_path):
    watched = watch(tmp_path, 503)
    watched.round()
    assert watched._store.latest("HS-02").level_cm == 312
'''

STATUS = '''\
"""A status page: the newest reading of every harbour, as JSON over HTTP."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from .config import Config
from .store import Store


class StatusServer:
    """Answers `GET /status.json`; displays ask for it every ten seconds."""

    def __init__(self, config: Config, store_path: str, port: int = 8620) -> None:
        self._config = config
        self._store_path = store_path
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, name="status", daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def document(self) -> dict:
        """What the page says. A connection of its own, since SQLite's belong to their threads."""
        store = Store(self._store_path)
        try:
            return {name: self._harbour(store, name) for name in self._config.harbours}
        finally:
            store.close()

    def _harbour(self, store: Store, name: str) -> dict:
        harbour = self._config.harbours[name]
        latest = store.latest(harbour.gauge)
        if latest is None:
            return {"level_cm": None, "severity": "unknown"}
        severity = harbour.levels.severity(latest.level_cm)
        return {"level_cm": latest.level_cm, "at": latest.at.isoformat(), "severity": severity.name.lower()}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        page = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if self.path != "/status.json":
                    self.send_error(404)
                    return
                body = json.dumps(page.document()).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Cache-Control", "no-store")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                """Every display asks every ten seconds; the log is for other things."""

        return Handler
'''

TEST_STATUS = '''\
"""The status page."""

from datetime import datetime, timezone

from tidebell import config
from tidebell.reading import Reading
from tidebell.status import StatusServer
from tidebell.store import Store

AT = datetime(2026, 2, 18, 6, 0, tzinfo=timezone.utc)
DOCUMENT = {
    "gateway": "http://modem",
    "harbours": {"holmsund": {"gauge": "HS-02", "url": "http://gauge", "advice": 310, "alarm": 355, "phone": "+47 555 0102"}},
}


def page(tmp_path, *readings):
    path = tmp_path / "tidebell.db"
    store = Store(path)
    store.add(readings)
    store.close()
    return StatusServer(config.parse(DOCUMENT), str(path), port=0).document()


def test_a_harbour_without_readings_is_unknown(tmp_path):
    assert page(tmp_path) == {"holmsund": {"level_cm": None, "severity": "unknown"}}


def test_the_newest_reading_counts(tmp_path):
    document = page(tmp_path, Reading(AT, "HS-02", 312))
    assert document["holmsund"]["severity"] == "advice"
    assert document["holmsund"]["level_cm"] == 312
'''

EVENTS = '''\
"""Pushing what happens to the displays in the harbour offices, as server-sent events."""

from __future__ import annotations

import json
import queue
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Comments keep proxies from closing a quiet stream.
HEARTBEAT_SECONDS = 15


@dataclass(frozen=True)
class Event:
    """Something that a display shows."""

    number: int
    harbour: str
    level_cm: int
    severity: str

    def frame(self) -> bytes:
        data = json.dumps({"harbour": self.harbour, "level_cm": self.level_cm, "severity": self.severity})
        return f"id: {self.number}\\nevent: level\\ndata: {data}\\n\\n".encode()


class Hub:
    """Hands every event to every listener."""

    def __init__(self, capacity: int = 64) -> None:
        self._capacity = capacity
        self._lock = threading.Lock()
        self._queues: list[queue.Queue[Event]] = []

    @property
    def listeners(self) -> int:
        with self._lock:
            return len(self._queues)

    def listen(self) -> queue.Queue[Event]:
        listener: queue.Queue[Event] = queue.Queue(self._capacity)
        with self._lock:
            self._queues.append(listener)
        return listener

    def leave(self, listener: queue.Queue[Event]) -> None:
        with self._lock:
            if listener in self._queues:
                self._queues.remove(listener)

    def publish(self, event: Event) -> None:
        """Never waits: watching the water matters more than a display."""
        with self._lock:
            listeners = list(self._queues)
        for listener in listeners:
            try:
                listener.put_nowait(event)
            except queue.Full:
                pass


def serve(hub: Hub, port: int = 8620) -> ThreadingHTTPServer:
    """A server for `GET /events`, started on a thread of its own."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/events":
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            listener = hub.listen()
            try:
                self._stream(listener)
            except (BrokenPipeError, ConnectionResetError):
                pass
            finally:
                hub.leave(listener)

        def _stream(self, listener: queue.Queue[Event]) -> None:
            while True:
                try:
                    self.wfile.write(listener.get(timeout=HEARTBEAT_SECONDS).frame())
                except queue.Empty:
                    self.wfile.write(b": still here\\n\\n")
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            """The log is for the water."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, name="events", daemon=True).start()
    return server
'''

TEST_EVENTS = '''\
"""Events for the displays."""

import urllib.request

from tidebell.events import Event, Hub, serve


def event(number=1, level=312):
    return Event(number, "holmsund", level, "advice")


def test_a_frame_is_a_server_sent_event():
    assert event().frame() == (
        b'id: 1\\nevent: level\\ndata: {"harbour": "holmsund", "level_cm": 312, "severity": "advice"}\\n\\n'
    )


def test_every_listener_gets_every_event():
    hub = Hub()
    first, second = hub.listen(), hub.listen()
    hub.publish(event())
    assert first.get_nowait() == second.get_nowait() == event()


def test_a_listener_that_left_gets_nothing():
    hub = Hub()
    listener = hub.listen()
    hub.leave(listener)
    hub.publish(event())
    assert listener.empty()


def test_a_slow_listener_is_dropped():
    hub = Hub(capacity=2)
    listener = hub.listen()
    for number in range(5):
        hub.publish(event(number))
    assert hub.listeners == 0
    assert listener.get_nowait() == event(0)


def test_a_display_reads_the_stream():
    hub = Hub()
    server = serve(hub, port=0)
    port = server.server_address[1]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/events", timeout=5) as stream:
        while hub.listeners == 0:
            pass
        hub.publish(event())
        assert stream.readline() == b"id: 1\\n"
    server.shutdown()
'''

SECOND_FORMAT = '''\
def parse_payload(payload: dict) -> list[Reading]:
    """Reads what a gauge sends, in the format of its firmware.

    First: `{"gauge": "HS-02", "values": [{"t": ..., "cm": ..., "q": ...}]}`.
    Second: `{"format": 2, "station": "HS-02", "unit": "m", "samples": [{"time": ..., "m": ..., "flag": ...}]}`.
    """
    if payload.get("format", 1) == 2:
        return _parse_second(payload)
    gauge = _member(payload, "gauge", str)
    values = _member(payload, "values", list)
    readings = [_parse_value(gauge, value, position) for position, value in enumerate(values)]
    return sorted(readings)


def _parse_second(payload: dict) -> list[Reading]:
    gauge = _member(payload, "station", str)
    unit = _member(payload, "unit", str)
    if unit != "m":
        raise BadPayload(f"unit {unit!r} is not known")
    samples = _member(payload, "samples", list)
    return sorted(_parse_sample(gauge, sample, position) for position, sample in enumerate(samples))


def _parse_sample(gauge: str, sample: object, position: int) -> Reading:
    if not isinstance(sample, dict):
        raise BadPayload(f"samples[{position}] is {type(sample).__name__}, not an object")
    moment = _member(sample, "time", str)
    metres = _member(sample, "m", float)
    quality = "suspect" if _member(sample, "flag", int) & SUSPECT_FLAG else "good"
    return Reading(at=_parse_time(moment), gauge=gauge, level_cm=int(metres * 100), quality=quality)
'''

SECOND_FORMAT_TESTS = '''

def second_format(*samples, unit="m"):
    return {"format": 2, "station": "SK-01", "unit": unit, "samples": list(samples)}


def test_metres_become_centimetres():
    [reading] = parse_payload(second_format({"time": "2026-02-17T08:00:00Z", "m": 1.82, "flag": 0}))
    assert reading.level_cm == 182
    assert reading.gauge == "SK-01"


def test_the_third_bit_is_suspect():
    [reading] = parse_payload(second_format({"time": "2026-02-17T08:00:00Z", "m": 1.82, "flag": 4}))
    assert not reading.usable


def test_another_unit_is_refused():
    with pytest.raises(BadPayload, match="unit 'ft' is not known"):
        parse_payload(second_format(unit="ft"))


@pytest.mark.parametrize("missing", ["time", "m", "flag"])
def test_a_missing_member_of_a_sample_is_named(missing):
    sample = {"time": "2026-02-17T08:00:00Z", "m": 1.82, "flag": 0}
    del sample[missing]
    with pytest.raises(BadPayload, match=f"'{missing}' is missing"):
        parse_payload(second_format(sample))
'''

FORECAST_TESTS = '''

def with_gaps(readings):
    """Three quarters of every third day are missing, as during the storms of January."""
    return [reading for reading in readings if not (reading.at.day % 3 == 0 and reading.at.hour < 18)]


def test_gaps_do_not_break_the_fit():
    fitted = fit(with_gaps(readings(30)))
    assert fitted.parts["M2"][0] == pytest.approx(95, abs=1)


def test_one_day_alone_cannot_part_the_constituents():
    with pytest.raises(TooShort, match="1.0 days"):
        fit(readings(1))


def test_the_spring_tide_is_not_missed():
    fitted = fit(readings(30))
    spring = max((START + timedelta(hours=h) for h in range(24 * 30)), key=lambda at: tide((at - START).total_seconds() / 3600))
    assert fitted.level_at(spring) == pytest.approx(tide((spring - START).total_seconds() / 3600), abs=3)
'''

FIT_BEFORE = '''\
    if len(readings) < 2 * len(CONSTITUENTS) + 1:
        raise ValueError(f"{len(readings)} readings are too few for {len(CONSTITUENTS)} constituents")
    origin = readings[0].at
'''

FIT_AFTER = '''\
    readings = [reading for reading in readings if reading.usable]
    if len(readings) < 2 * len(CONSTITUENTS) + 1:
        raise ValueError(f"{len(readings)} readings are too few for {len(CONSTITUENTS)} constituents")
    days = (readings[-1].at - readings[0].at).total_seconds() / 86400
    if days < SHORTEST_DAYS:
        raise TooShort(f"{days:.1f} days of readings cannot part constituents that need {SHORTEST_DAYS}")
    origin = readings[0].at
'''
