"""What commands print that does not follow from the files: logs, measurements, failures of tests."""

from __future__ import annotations

import math


def night_log() -> str:
    """The night on which the water danced around the advice level of Holmsund."""
    lines = []
    for number in range(27):
        minute = 4 * number + (number * 7) % 3
        level = 310 + (number * 5) % 3
        clock = f"{2 + minute // 60:02d}:{minute % 60:02d}"
        lines.append(
            f"Feb 15 {clock}:09 harbour-box python3.11[811]: 2026-02-15 {clock}:09,204 INFO tidebell.alerts sent to "
            f"+47 555 0102: Holmsund: water has passed the advice level, {level} cm at {clock} UTC."
        )
    return "\n".join(lines)


def night_readings() -> str:
    """The readings of that night, as the database gives them."""
    lines = ["time                  level_cm  quality"]
    for step in range(60):
        minute = 2 * step
        level = 309 + round(1.4 * math.sin(step * 1.9) + 0.9 * math.sin(step * 0.11))
        lines.append(f"2026-02-15 {2 + minute // 60:02d}:{minute % 60:02d}:00Z  {level:8d}  good")
    return "\n".join(lines)


def gauge_csv(rows: int = 48) -> str:
    """The head of a file that a harbour office exported."""
    lines = ["time,level_cm,quality"]
    for step in range(rows):
        level = round(182 + 94 * math.cos(step / 31.0) + 30 * math.sin(step / 28.6))
        quality = "suspect" if step % 17 == 11 else "good"
        lines.append(f"2025-11-{1 + step * 10 // 1440:02d}T{step * 10 // 60 % 24:02d}:{step * 10 % 60:02d}:00+00:00,{level},{quality}")
    return "\n".join(lines)


def profile(add_seconds: float, calls: int) -> str:
    """What `cProfile` says about a backfill."""
    rows = [
        (calls, add_seconds * 0.81, add_seconds * 0.93, "{method 'execute' of 'sqlite3.Connection' objects}"),
        (calls, add_seconds * 0.05, add_seconds, "store.py:48(add)"),
        (157680, 0.214, 0.391, "csv.py:114(__next__)"),
        (157680, 0.188, 0.188, "{built-in method fromisoformat}"),
        (157680, 0.152, 0.152, "{method 'timestamp' of 'datetime.datetime' objects}"),
        (1, 0.121, add_seconds + 0.9, "__main__.py:51(_backfill)"),
        (1, 0.000, add_seconds + 1.0, "__main__.py:22(main)"),
    ]
    head = f"         {calls * 6 + 1204} function calls in {add_seconds + 1.0:.3f} seconds\n\n   Ordered by: cumulative time\n\n"
    head += "   ncalls  tottime  cumtime filename:lineno(function)\n"
    ordered = sorted(rows, key=lambda row: -row[2])
    return head + "\n".join(f"{n:9d} {own:8.3f} {all_:8.3f} {where}" for n, own, all_, where in ordered)


def residuals(spring_error: float) -> str:
    """How far the forecast was off, day by day over two weeks around the spring tide."""
    lines = ["date        observed_cm  predicted_cm  error_cm"]
    for day in range(14):
        observed = round(268 + 38 * math.cos((day - 6) * math.tau / 14.77))
        near_spring = math.exp(-((day - 6) ** 2) / 7)
        error = round(spring_error * near_spring + 2 * math.sin(day))
        lines.append(f"2026-02-{1 + day:02d}  {observed:11d}  {observed - error:12d}  {error:8d}")
    return "\n".join(lines)


def gaps() -> str:
    """Holes in the readings of Holmsund."""
    lines = ["from                  to                    minutes"]
    for number in range(22):
        day, hour = 20 + number // 3, (5 * number) % 24
        month, day = ("01", day) if day <= 31 else ("02", day - 31)
        minutes = 40 + (number * 37) % 300
        end = hour * 60 + minutes
        lines.append(
            f"2026-{month}-{day:02d} {hour:02d}:00:00Z  2026-{month}-{day + end // 1440:02d} {end // 60 % 24:02d}:{end % 60:02d}:00Z  {minutes:7d}"
        )
    return "\n".join(lines)


def payload_v2(values: int = 40) -> str:
    """What a gauge with the new firmware sends."""
    rows = [
        f'    {{"time": "2026-02-17T{8 + step // 30:02d}:{step * 2 % 60:02d}:00Z", "m": {1.82 + 0.011 * step:.3f}, "flag": {4 if step % 13 == 7 else 0}}}'
        for step in range(values)
    ]
    return '{\n  "format": 2,\n  "station": "SK-01",\n  "unit": "m",\n  "samples": [\n' + ",\n".join(rows) + "\n  ]\n}"


def bad_payload_log() -> str:
    """The box, while it did not understand the new firmware."""
    lines = []
    for number in range(18):
        clock = f"{6 + number * 2 // 60:02d}:{number * 2 % 60:02d}"
        lines.append(
            f"Feb 17 {clock}:11 harbour-box python3.11[811]: 2026-02-17 {clock}:11,031 ERROR tidebell.watch skarvik: bad "
            "payload: member 'gauge' is missing"
        )
    return "\n".join(lines)


FALLING_FAILURE = """\
____________ test_falling_water_is_not_rising ____________

    def test_falling_water_is_not_rising():
>       assert judge(Levels(310, 355), 360, 320, 200) == [
            (Severity.ALARM, True),
            (Severity.ADVICE, False),
            (Severity.CALM, False),
        ]
E       AttributeError: 'Rules' object has no attribute '_state'

tidebell/rules.py:81: AttributeError"""

SENT_FAILURE = """\
____________ test_a_newer_schema_is_refused ____________

tmp_path = PosixPath('/home/ines/.cache/pytest/pytest-41/test_a_newer_schema_is_refused0')

>       with pytest.raises(RuntimeError, match="schema 9"):
E       Failed: DID NOT RAISE <class 'RuntimeError'>

tests/test_store.py:49: Failed"""

SINGULAR_FAILURE = """\
____________ test_gaps_do_not_break_the_fit ____________

    def test_gaps_do_not_break_the_fit():
>       fitted = fit(with_gaps(readings(30)))

tidebell/forecast.py:47: in fit
    solution = _solve(_normal_matrix(rows), _right_side(rows, levels))
tidebell/forecast.py:96: in _solve
    factor = matrix[row][column] / matrix[column][column]
E   ZeroDivisionError: float division by zero

tidebell/forecast.py:96: ZeroDivisionError"""

METRES_FAILURE = """\
____________ test_metres_become_centimetres ____________

    def test_metres_become_centimetres():
        [reading] = parse_payload(second_format({"time": "2026-02-17T08:00:00Z", "m": 1.82, "flag": 0}))
>       assert reading.level_cm == 182
E       assert 181 == 182
E        +  where 181 = Reading(at=datetime.datetime(2026, 2, 17, 8, 0, tzinfo=datetime.timezone.utc), gauge='SK-01', level_cm=181, quality='good').level_cm

tests/test_reading.py:74: AssertionError"""

WATCH_FAILURE = """\
____________ test_a_modem_without_signal_does_not_end_the_round ____________

    def test_a_modem_without_signal_does_not_end_the_round(tmp_path):
>       assert watch(tmp_path, 503).round() == 0

tidebell/watch.py:41: in round
    return sum(self._watch_harbour(name) for name in self._config.harbours)
tidebell/alerts.py:81: in _send
    self._gateway.send(message)
E   tidebell.alerts.GatewayDown: gateway answered 503 for +47 555 0102

tidebell/alerts.py:50: GatewayDown"""

STREAM_FAILURE = """\
____________ test_a_slow_listener_is_dropped ____________

    def test_a_slow_listener_is_dropped():
        hub = Hub(capacity=2)
        listener = hub.listen()
        for number in range(5):
            hub.publish(event(number))
>       assert hub.listeners == 0
E       assert 1 == 0
E        +  where 1 = <tidebell.events.Hub object at 0x7f2c41b0d950>.listeners

tests/test_events.py:38: AssertionError"""

SSH_TIMEOUT = "ssh: connect to host harbour-gw port 22: Connection timed out"

LOCK_RACE = """\
worker 1: sent advice to holmsund at 02:10:00.114
worker 2: sent advice to holmsund at 02:10:00.116
worker 1: lock file /srv/tidebell/locks/holmsund.advice written at 02:10:00.121
worker 2: lock file /srv/tidebell/locks/holmsund.advice written at 02:10:00.122
Traceback (most recent call last):
  File "scratch/race.py", line 31, in <module>
    assert len(sent) == 1, f"{len(sent)} messages for one verdict"
AssertionError: 2 messages for one verdict"""
