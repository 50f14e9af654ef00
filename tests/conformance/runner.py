"""Plays the conformance cases, as the README beside it says: python3 runner.py [TEXT]

COMPACTD_BIN names the program. With TEXT only the cases play whose file/name contains it.
"""

import itertools
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
CODES = json.loads((HERE / "codes.json").read_text())
PATIENCE = 20
ABSENT = object()


class Failed(Exception):
    """Something is not as the case says."""


def need(fits, why):
    if not fits:
        raise Failed(why() if callable(why) else why)


def compact(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:  # Half a surrogate pair.
        return json.dumps(value, separators=(",", ":")).encode()


def fill(value, kept):
    if isinstance(value, str):
        whole = re.fullmatch(r"\$\{([^}]*)\}", value)
        if whole and whole[1] in kept:
            return kept[whole[1]]
        return re.sub(r"\$\{([^}]*)\}", lambda found: text_of(kept.get(found[1], found[0])), value)
    if isinstance(value, list):
        return [fill(item, kept) for item in value]
    if isinstance(value, dict) and "$repeat" in value:
        repeated, times = fill(value["$repeat"], kept), value["times"]
        return repeated * times if isinstance(repeated, str) else [repeated] * times
    if isinstance(value, dict):
        return {name: fill(member, kept) for name, member in value.items()}
    return value


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value)


def same(one, other):
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return one == other


def type_of(value):
    names = {bool: "boolean", str: "string", list: "array", dict: "object", type(None): "null"}
    return names.get(type(value), "number")


def length_of(value):
    return len(value.encode("utf-16-le", "surrogatepass")) // 2 if isinstance(value, str) else len(value)


def has_own_items(patterns, items, kept):
    """Whether each pattern fits an item of its own."""
    if not patterns:
        return True
    for at, item in enumerate(items):
        trial = dict(kept)
        if matches(patterns[0], item, trial) and has_own_items(patterns[1:], items[:at] + items[at + 1 :], trial):
            kept.update(trial)
            return True
    return False


def holds(operator, wanted, value, kept):
    match operator:
        case "$any":
            return value is not ABSENT
        case "$absent":
            return (value is ABSENT) == wanted
        case "$capture":
            kept[wanted] = value
            return value is not ABSENT
        case "$not":
            return not matches(wanted, value, dict(kept))
        case "$oneOf":
            return any(matches(pattern, value, kept) for pattern in wanted)
    if value is ABSENT:
        return False
    match operator:
        case "$type":
            names = wanted if isinstance(wanted, list) else [wanted]
            is_whole = type_of(value) == "number" and value == int(value)
            return type_of(value) in names or ("integer" in names and is_whole)
        case "$pattern":
            return isinstance(value, str) and re.search(wanted, value) is not None
        case "$contains":
            texts = wanted if isinstance(wanted, list) else [wanted]
            return isinstance(value, str) and all(text in value for text in texts)
        case "$length":
            return matches(wanted, length_of(value), kept)
        case "$min":
            return type_of(value) == "number" and value >= wanted
        case "$max":
            return type_of(value) == "number" and value <= wanted
        case "$is":
            return matches(wanted, value, kept)
        case "$equal":
            return same(wanted, value)
        case "$keys":
            return isinstance(value, dict) and sorted(value) == wanted
        case "$each":
            return isinstance(value, list) and all(matches(wanted, item, kept) for item in value)
        case "$includes" | "$unordered":
            is_whole = operator == "$includes" or len(wanted) == len(value)
            return isinstance(value, list) and is_whole and has_own_items(wanted, value, kept)
    raise Failed(f"there is no operator {operator}")


def matches(pattern, value, kept):
    if isinstance(pattern, dict) and pattern and all(name.startswith("$") for name in pattern):
        return all(holds(operator, wanted, value, kept) for operator, wanted in pattern.items())
    if isinstance(pattern, dict):
        return isinstance(value, dict) and all(
            matches(member, value.get(name, ABSENT), kept) for name, member in pattern.items()
        )
    if isinstance(pattern, list):
        return isinstance(value, list) and len(value) == len(pattern) and all(
            matches(wanted, item, kept) for wanted, item in zip(pattern, value)
        )
    return same(pattern, value)


def id_text(text):
    """The exact text of the id of a message."""
    decoder, at = json.JSONDecoder(), 1
    space = re.compile(r"[\s,:]*")
    while True:
        at = space.match(text, at).end()
        if text[at] == "}":
            return None
        name, at = decoder.raw_decode(text, at)
        start = space.match(text, at).end()
        _, at = decoder.raw_decode(text, start)
        if name == "id":
            return text[start:at]


class Message:
    def __init__(self, text):
        self.value = json.loads(text)
        self.text = text
        self.taken = False
        for single in self.value if isinstance(self.value, list) else [self.value]:
            check_message(single)

    def method(self):
        return self.value.get("method") if isinstance(self.value, dict) else None


def check_message(value):
    need(value.get("jsonrpc") == "2.0", lambda: f"no JSON-RPC 2.0: {value}")
    kinds = ("method" in value) + ("result" in value) + ("error" in value)
    need(kinds == 1 and ("method" in value or "id" in value), lambda: f"neither request nor reply: {value}")
    if "error" in value:
        error = value["error"]
        data = error.get("data", {})
        is_known = str(error["code"]) in CODES and data.get("kind") == CODES[str(error["code"])]
        is_named = re.fullmatch("[A-Za-z0-9]+", data.get("reason", "")) and isinstance(data.get("retryable"), bool)
        need(is_known and is_named and error.get("message"), lambda: f"no error of the protocol: {error}")


class Server:
    """A process of the program, and the messages that came from it."""

    def __init__(self, case, framing, directory, kept):
        environment = {"HOME": f"{directory}/home", "TMPDIR": f"{directory}/tmp", "PATH": os.environ["PATH"]}
        environment.update(fill(case.get("env", {}), kept))
        limit = case.get("fileSizeLimit")

        def limited():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        self.process = subprocess.Popen(
            [os.environ["COMPACTD_BIN"], *fill(case.get("args", []), kept)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=f"{directory}/project", env=environment, preexec_fn=limited if limit else None,
        )
        self.framing, self.messages, self.arrived = framing, [], queue.Queue()
        self.is_initialized = self.has_ended = False
        self.unsent = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.write, daemon=True).start()

    def read(self):
        try:
            while (text := self.read_frame()) is not None:
                self.arrived.put(Message(text))
            self.arrived.put(None)
        except (Failed, ValueError) as error:
            self.arrived.put(Failed(f"the output is no sequence of messages: {error!r}"))

    def read_frame(self):
        line = self.process.stdout.readline()
        if not line:
            return None
        if self.framing == "lines":
            need(line.endswith(b"\n"), "the last line has no end")
            return line.decode()
        header = re.fullmatch(rb"Content-Length: ([0-9]+)\r\n", line)
        need(header and self.process.stdout.readline() == b"\r\n", f"no header: {line}")
        body = self.process.stdout.read(int(header[1]))
        need(len(body) == int(header[1]), "the last message is cut off")
        return body.decode()

    def write(self):
        while (piece := self.unsent.get()) is not None:
            try:
                self.process.stdin.write(piece)
                self.process.stdin.flush()
            except OSError:
                return
        try:
            self.process.stdin.close()
        except OSError:
            pass  # It has ended before it read all.

    def send(self, data):
        self.unsent.put(data)

    def receive(self, seconds):
        """One more message; none if nothing came in time or nothing will come."""
        try:
            message = self.arrived.get(timeout=max(seconds, 0))
        except queue.Empty:
            return None
        if message is None:
            self.arrived.put(None)
        elif isinstance(message, Failed):
            raise message
        else:
            self.messages.append(message)
        return message

    def take(self, fits, what, start=0):
        """The place of the first message that no step has taken and that fits."""
        deadline, at = time.monotonic() + PATIENCE, start
        while True:
            for place in range(at, len(self.messages)):
                if not self.messages[place].taken and fits(self.messages[place]):
                    self.messages[place].taken = True
                    return place
            at = max(len(self.messages), start)
            need(self.receive(deadline - time.monotonic()) is not None, lambda: f"{what} did not come")


class Play:
    """A case in one framing."""

    def __init__(self, case, framing):
        self.case, self.framing, self.ids = case, framing, itertools.count(1000)
        self.directory = os.path.realpath(tempfile.mkdtemp(prefix="conformance-"))
        self.kept, self.servers, self.laid_out = {"dir": self.directory}, {}, {}

    def run(self):
        try:
            for name in ["home", "project", "tmp", "agent"]:
                os.mkdir(self.path(name))
            for path, contents in self.case.get("files", {}).items():
                self.lay_out(self.path(path), contents)
            for name in self.case.get("open", []):
                self.lay_out(self.path(f"{name}.jsonl"), {"copy": f"sessions/{name}.jsonl"})
            self.server("main")
            for number, step in enumerate(self.case["steps"]):
                try:
                    self.step(step)
                except Failed as error:
                    raise Failed(f"step {number} {json.dumps(step)[:300]}: {error}") from None
            self.finish()
        finally:
            for server in self.servers.values():
                server.process.kill()
                server.process.wait()
                server.unsent.put(None)
            shutil.rmtree(self.directory, ignore_errors=True)

    def path(self, path):
        return Path(self.directory, fill(path, self.kept))

    def lay_out(self, path, contents):
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(contents, dict) and "link" in contents:
            return path.symlink_to(self.path(contents["link"]))
        if isinstance(contents, dict) and "pipe" in contents:
            return os.mkfifo(path)
        if isinstance(contents, list):
            lines = (fill(line, self.kept) if isinstance(line, str) else line for line in contents)
            encoded = (line.encode() if isinstance(line, str) else compact(fill(line, self.kept)) for line in lines)
            data = b"".join(line + b"\n" for line in encoded)
        elif "copy" in contents:
            data = (HERE / contents["copy"]).read_bytes()
        else:
            data = self.bytes(contents["bytes"])
        path.write_bytes(data)
        self.laid_out[path] = data

    def bytes(self, value):
        if isinstance(value, str):
            return fill(value, self.kept).encode() if isinstance(fill(value, self.kept), str) else compact(fill(value, self.kept))
        if isinstance(value, list):
            return b"".join(map(self.bytes, value))
        if "hex" in value:
            return bytes.fromhex(value["hex"])
        if "repeat" in value:
            return self.bytes(value["repeat"]) * value["times"]
        if "json" in value:
            return compact(fill(value["json"], self.kept))
        if "line" in value:
            return compact(fill(value["line"], self.kept)) + b"\n"
        return self.frame(self.bytes(value["frame"]))

    def frame(self, body):
        return body + b"\n" if self.framing == "lines" else b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def server(self, name):
        if name not in self.servers:
            self.servers[name] = server = Server(self.case, self.framing, self.directory, self.kept)
            self.kept[f"pid:{name}"] = server.process.pid
            usual = self.case.get("initialize", True)
            if usual is not False:
                params = {"protocolVersion": 1, "clientInfo": {"name": "runner"}, "cwd": "${dir}/project"}
                params |= {"agentDir": "${dir}/agent"} | (usual if isinstance(usual, dict) else {})
                self.well(server, "initialize", params)
                for session in self.case.get("open", []) if name == "main" else []:
                    self.well(server, "openSession", {"path": f"{self.directory}/{session}.jsonl"})
        return self.servers[name]

    def send(self, server, value):
        server.send(self.frame(compact(fill(value, self.kept))))

    def request(self, server, method, params=ABSENT):
        number = next(self.ids)
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        self.send(server, message if params is ABSENT else message | {"params": params})
        return number

    def reply(self, server, number, method=None):
        def fits(message):
            is_reply = isinstance(message.value, dict) and "method" not in message.value
            return is_reply and "id" in message.value and same(message.value["id"], number)

        place = server.take(fits, f"the reply to {number}")
        server.is_initialized |= method == "initialize" and "result" in server.messages[place].value
        return place

    def well(self, server, method, params):
        place = self.reply(server, self.request(server, method, params), method)
        value = server.messages[place].value
        need("result" in value, lambda: f"{method} fails: {value}")

    def fit(self, pattern, value):
        shown = lambda: f"does not fit {json.dumps(pattern)[:1500]}: {json.dumps(value)[:1500]}"
        need(matches(fill(pattern, self.kept), value, self.kept), shown)

    def answer(self, server, place, step):
        message = server.messages[place]
        for name in ["result", "error"]:
            if name in step:
                need(name in message.value, lambda: f"no {name}: {message.text[:1500]}")
                self.fit(step[name], message.value[name])
        if "either" in step:
            self.fit({"$oneOf": step["either"]}, message.value)
        if "idText" in step:
            need(id_text(message.text) == step["idText"], lambda: f"another id: {message.text[:300]}")
        for name in ["before", "notifications"]:
            start = 0
            for pattern in step.get(name, []):
                is_next = lambda other, method=pattern["method"]: other.method() == method
                start = server.take(is_next, f"{pattern['method']} of {name}", start)
                self.fit(pattern, server.messages[start].value)
                need(name != "before" or start < place, f"{pattern['method']} came after the reply")
                start += 1
        if "error" in step and self.case.get("probe", True):
            method, params = ("estimateTokens", {"text": "12345"}) if server.is_initialized else ("rpc.discover", {})
            self.well(server, method, params)

    def step(self, step):
        server = self.server(step.get("server", "main"))
        match step:
            case {"call": method}:
                number = self.request(server, method, step.get("params", ABSENT))
                self.answer(server, self.reply(server, number, method), step)
            case {"send": message}:
                self.send(server, message)
            case {"bytes": data} if "write" not in step:
                data = self.bytes(data)
                size = step.get("chunk", len(data)) or 1
                for at in range(0, len(data), size):
                    server.send(data[at : at + size])
                    time.sleep(0.002 if "chunk" in step else 0)
            case {"reply": number}:
                self.answer(server, self.reply(server, fill(number, self.kept)), step)
            case {"batchReply": patterns}:
                place = server.take(lambda message: isinstance(message.value, list), "the reply to a batch")
                wanted = {"$unordered": patterns} if isinstance(patterns, list) else patterns
                self.fit(wanted, server.messages[place].value)
            case {"notification": method}:
                is_it = lambda message: message.method() == method and "id" not in message.value
                place = server.take(is_it, f"the notification {method}")
                if "params" in step:
                    self.fit(step["params"], server.messages[place].value.get("params", ABSENT))
            case {"request": method}:
                is_it = lambda message: message.method() == method and "id" in message.value
                value = server.messages[server.take(is_it, f"the request {method}")].value
                if "params" in step:
                    self.fit(step["params"], value.get("params", ABSENT))
                if "keepId" in step:
                    self.kept[step["keepId"]] = value["id"]
                for name, member in [("answer", "result"), ("answerError", "error")]:
                    if name in step:
                        self.send(server, {"jsonrpc": "2.0", "id": value["id"], member: step[name]})
            case {"silence": milliseconds}:
                deadline = time.monotonic() + milliseconds / 1000
                while server.receive(deadline - time.monotonic()) is not None:
                    pass
                loud = [m.text[:300] for m in server.messages if not m.taken and m.method() not in step.get("except", [])]
                need(not loud, f"no silence: {loud}")
            case {"closeInput": True}:
                server.unsent.put(None)
            case {"signal": name}:
                server.process.send_signal(getattr(signal, f"SIG{name}"))
            case {"exit": code}:
                self.exit(server, code)
            case {"file": path}:
                self.look(self.path(path), step)
            case {"write": path}:
                with open(self.path(path), "ab" if step.get("append") else "wb") as file:
                    file.write(self.bytes(step["bytes"]))
            case {"remove": path}:
                self.path(path).unlink()
            case {"let": name}:
                self.kept[name] = fill(step["value"], self.kept)
            case _:
                raise Failed("there is no such step")

    def exit(self, server, code):
        try:
            found = server.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed("the process did not end") from None
        server.has_ended = True
        need((None if found < 0 else found) == code, f"it ended with {found}, not with {code}")

    def look(self, path, step):
        if "exists" in step:
            need(path.exists() == step["exists"], f"exists: {not step['exists']}")
        if "mode" in step:
            need(path.stat().st_mode & 0o7777 == int(str(step["mode"]), 8), f"mode {path.stat().st_mode:o}")
        if step.get("unchanged"):
            need(path.read_bytes() == self.laid_out[path], "it was changed")
        if "text" in step:
            self.fit(step["text"], path.read_bytes().decode(errors="replace"))
        if "lines" in step:
            *lines, rest = path.read_bytes().split(b"\n")
            lines = [as_json(line) for line in lines]
            if rest:
                lines.append(rest.decode(errors="replace") + "[no end of line]")
            self.fit(step["lines"], lines)

    def finish(self):
        for server in self.servers.values():
            if not server.has_ended:
                server.unsent.put(None)
                self.exit(server, 0)
            while server.receive(PATIENCE) is not None:
                pass
            left = [m.text[:300] for m in server.messages if not m.taken and (m.method() is None or "id" in m.value)]
            need(not left, f"left over: {left}")
            for name in ["compaction", "branchSummary"]:
                ids = {
                    end: sorted(m.value["params"]["operationId"] for m in server.messages if m.method() == name + end)
                    for end in ["Start", "End"]
                }
                need(ids["Start"] == ids["End"], f"{name}: {ids}")


def as_json(line):
    try:
        return json.loads(line)
    except ValueError:
        return line.decode(errors="replace")


def abilities():
    """What `initialize` lists, as `requires` names it."""
    play = Play({"steps": []}, "lines")
    found = []
    play.finish = lambda: found.append(play.servers["main"].messages[0].value["result"]["capabilities"])
    play.run()
    lists = [("method", "methods"), ("summarizer", "summarizers"), ("hook", "hooks")]
    return {f"{prefix}:{name}" for prefix, member in lists for name in found[0][member]}


def main(wanted=""):
    known = abilities()
    plays = []
    skipped = 0
    for file in sorted(HERE.glob("*.json")):
        for case in json.loads(file.read_text()).get("cases", []) if file.name != "codes.json" else []:
            title = f"{file.stem}/{case['name']}"
            # The other runner plays each case in both framings.
            either = case.get("framing", "both") == "both"
            framing = ("lines", "headers")[len(plays) % 2] if either else case["framing"]
            if wanted in title and set(case.get("requires", [])) <= known:
                plays.append((title, case, framing))
            elif wanted in title:
                skipped += 1

    def run(play):
        title, case, framing = play
        try:
            Play(case, framing).run()
            return True
        except Exception as error:  # Whatever it is, the other cases go on.
            print(f"{title} ({framing}): {error if isinstance(error, Failed) else repr(error)}", flush=True)
            return False

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(run, plays))
    print(f"{sum(outcomes)} passed, {len(outcomes) - sum(outcomes)} failed, {skipped} cases skipped")
    return all(outcomes) and len(outcomes) > 0


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
