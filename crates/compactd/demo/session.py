"""A session under construction: entries, and the files, clock and usage that they are about."""

from __future__ import annotations

import difflib
import json
import random
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

CWD = "/home/ines/src/tidebell"
# Tokens of the agent's own prompt and tools, which usage counts and estimates do not see.
PROMPT_TOKENS = 3150
PRICES = {"claude-sonnet-4-5": (3.0, 15.0), "claude-opus-4-5": (5.0, 25.0)}


class Session:
    """Tells a story entry by entry; every method that adds one returns its id."""

    def __init__(self, project: Path) -> None:
        paths = sorted(path for path in project.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        self.files = {str(path.relative_to(project)): path.read_text(encoding="utf-8") for path in paths}
        self.committed = dict(self.files)
        self.entries: list[dict] = []
        self.by_id: dict[str, dict] = {}
        self.leaf: str | None = None
        self.model = ("anthropic", "claude-sonnet-4-5")
        self._random = random.Random(20260216)
        self._now = datetime(2026, 2, 16, 8, 12, 5, 417000, tzinfo=timezone.utc)
        self._start = self._now
        self._saved: dict[str, tuple[dict, dict]] = {}
        self._calls = 0

    def text(self) -> str:
        header = {
            "type": "session",
            "version": 3,
            "id": "019c6576-3f39-7c52-9d1e-5b7c0ae4d210",
            "timestamp": _iso(self._start),
            "cwd": CWD,
        }
        return "".join(_json(line) + "\n" for line in [header, *self.entries])

    # Turns

    def user(self, text: str) -> str:
        self._pass(60, 420)
        return self._message({"role": "user", "content": [{"type": "text", "text": text}]})

    def say(self, text: str, thinking: str | None = None) -> str:
        return self._assistant(_blocks(thinking, text), "stop")

    def fail(self, error: str) -> str:
        return self._assistant([], "error", error)

    def shell(self, command: str, output: str, code: int = 0) -> str:
        """A command that the person ran herself."""
        self._pass(20, 60)
        return self._message(
            {"role": "bashExecution", "command": command, "output": output, "exitCode": code, "cancelled": False, "truncated": False}
        )

    def read(self, *paths: str, say: str = "", thinking: str | None = None) -> str:
        return self._use([("read", {"path": path}, self.files[path], False, None) for path in paths], say, thinking)

    def edit(self, path: str, old: str, new: str, say: str = "", thinking: str | None = None) -> str:
        before = self.files[path]
        assert before.count(old) == 1, f"{path} holds {before.count(old)} times: {old}"
        self.files[path] = before.replace(old, new)
        self._compiles(path)
        details = {"diff": _diff(path, before, self.files[path])}
        result = f"Replaced 1 occurrence in {path}."
        return self._use([("edit", {"path": path, "oldText": old, "newText": new}, result, False, details)], say, thinking)

    def edit_fails(self, path: str, old: str, new: str, say: str = "") -> str:
        assert old not in self.files[path]
        error = f"Could not find the exact text in {path}. The old text must match exactly including all whitespace."
        return self._use([("edit", {"path": path, "oldText": old, "newText": new}, error, True, None)], say)

    def write(self, path: str, content: str, say: str = "", thinking: str | None = None) -> str:
        self.files[path] = content
        self._compiles(path)
        result = f"Wrote {len(content.encode())} bytes to {path}."
        return self._use([("write", {"path": path, "content": content}, result, False, None)], say, thinking)

    def bash(self, command: str, output: str, code: int = 0, say: str = "", thinking: str | None = None) -> str:
        if code:
            output = f"{output}\n\nCommand exited with code {code}".lstrip("\n")
        return self._use([("bash", {"command": command}, output or "(no output)", code != 0, None)], say, thinking)

    # Commands whose output follows from the files

    def grep(self, pattern: str, say: str = "") -> str:
        lines = [
            f"{path}:{number}:{line}"
            for path, content in sorted(self.files.items())
            for number, line in enumerate(content.splitlines(), 1)
            if re.search(pattern, line)
        ]
        return self.bash(f"grep -rnE '{pattern}' .", "\n".join(lines), 0 if lines else 1, say)

    def git_diff(self, say: str = "") -> str:
        paths = sorted(path for path in self.files if self.files[path] != self.committed.get(path, ""))
        diffs = (_diff(path, self.committed.get(path, ""), self.files[path]) for path in paths)
        return self.bash("git diff", "\n".join(diffs), say=say)

    def git_commit(self, message: str, say: str = "") -> str:
        paths = [path for path in self.files if self.files[path] != self.committed.get(path)]
        diffs = [_diff(path, self.committed.get(path, ""), self.files[path]).splitlines()[2:] for path in paths]
        plus = sum(line.startswith("+") for diff in diffs for line in diff)
        minus = sum(line.startswith("-") for diff in diffs for line in diff)
        commit = f"{self._random.getrandbits(28):07x}"
        created = "".join(f"\n create mode 100644 {path}" for path in paths if path not in self.committed)
        self.committed = dict(self.files)
        files = "1 file" if len(paths) == 1 else f"{len(paths)} files"
        output = f"[main {commit}] {message}\n {files} changed, {plus} insertions(+), {minus} deletions(-){created}"
        return self.bash(f"git commit -qam '{message}' && git show --stat HEAD | tail -4", output, say=say)

    def pytest(self, say: str = "", failed: dict[str, str] | None = None, only: str | None = None) -> str:
        """A verbose run; `failed` maps test names to what pytest prints about them."""
        failed = failed or {}
        tests = [
            f"{path}::{name}"
            for path, content in sorted(self.files.items())
            if path.startswith("tests/") and (only is None or path == only)
            for name in re.findall(r"^def (test_\w+)", content, re.M)
        ]
        assert all(any(test.endswith(f"::{name}") for test in tests) for name in failed), failed
        lines = []
        for number, test in enumerate(tests, 1):
            word = "FAILED" if test.split("::")[1] in failed else "PASSED"
            lines.append(f"{test} {word}".ljust(96) + f"[{100 * number // len(tests):3d}%]")
        text = f"============ test session starts ============\nplatform linux -- Python 3.11.9, pytest-8.3.4\nrootdir: {CWD}\n"
        text += f"configfile: pyproject.toml\ncollected {len(tests)} items\n\n" + "\n".join(lines) + "\n"
        seconds = 0.31 + 0.011 * len(tests)
        if failed:
            text += "\n================= FAILURES ==================\n" + "\n".join(failed.values())
            text += "\n========== short test summary info ==========\n"
            text += "\n".join(f"FAILED {test}" for test in tests if test.split("::")[1] in failed)
            text += f"\n{len(failed)} failed, {len(tests) - len(failed)} passed in {seconds:.2f}s"
        else:
            text += f"\n============ {len(tests)} passed in {seconds:.2f}s ============"
        return self.bash(f"python3.11 -m pytest -v {only or ''}".rstrip(), text, 1 if failed else 0, say)

    # Other entries

    def change_model(self, provider: str, model: str) -> str:
        self.model = (provider, model)
        return self._add({"type": "model_change", "provider": provider, "modelId": model})

    def thinking_level(self, level: str) -> str:
        return self._add({"type": "thinking_level_change", "thinkingLevel": level})

    def name(self, name: str) -> str:
        return self._add({"type": "session_info", "name": name})

    def label(self, target: str, label: str) -> str:
        return self._add({"type": "label", "targetId": target, "label": label})

    def remind(self, text: str) -> str:
        """What an extension put into the context."""
        return self._add({"type": "custom_message", "customType": "house-rules", "content": text, "display": True})

    def bookmark(self, data: dict) -> str:
        """What an extension keeps for itself."""
        return self._add({"type": "custom", "customType": "git-bookmark", "data": data})

    def compaction(self, summary: str, first_kept: str, details: dict) -> str:
        tokens = self.context_tokens() + PROMPT_TOKENS
        self._pass(25, 40)
        entry = {"type": "compaction", "summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": tokens}
        return self._add({**entry, "details": details})

    def branch_summary(self, summary: str, from_id: str, details: dict) -> str:
        self._pass(20, 30)
        return self._add({"type": "branch_summary", "fromId": from_id, "summary": summary, "details": details})

    def save(self, name: str) -> None:
        """Remembers the files, so that another branch starts with them."""
        self._saved[name] = (dict(self.files), dict(self.committed))

    def back_to(self, leaf: str, name: str) -> None:
        """Goes to another entry of the tree, with the files as they were saved."""
        self.leaf = leaf
        self.files, self.committed = (dict(files) for files in self._saved[name])

    def context_tokens(self) -> int:
        """Estimated tokens of what the model sees at the leaf."""
        path = self._path()
        last = max((i for i, entry in enumerate(path) if entry["type"] == "compaction"), default=None)
        if last is None:
            return sum(_estimate(entry) for entry in path)
        kept = next(i for i, entry in enumerate(path) if entry["id"] == path[last]["firstKeptEntryId"])
        return _estimate(path[last]) + sum(_estimate(entry) for entry in path[kept:last] + path[last + 1 :])

    # Making entries

    def _use(self, calls: list[tuple], say: str, thinking: str | None = None) -> str:
        blocks = _blocks(thinking, say)
        ids = []
        for tool, arguments, *_ in calls:
            self._calls += 1
            ids.append(f"toolu_{self._calls:04d}{self._random.getrandbits(48):012x}")
            blocks.append({"type": "toolCall", "id": ids[-1], "name": tool, "arguments": arguments})
        answer = self._assistant(blocks, "toolUse")
        for call_id, (tool, _, result, is_error, details) in zip(ids, calls):
            self._pass(0, 3)
            content = [{"type": "text", "text": result}]
            message = {"role": "toolResult", "toolCallId": call_id, "toolName": tool, "content": content}
            message |= {"details": details} if details else {}
            self._message({**message, "isError": is_error})
        return answer

    def _assistant(self, blocks: list[dict], stop: str, error: str | None = None) -> str:
        self._pass(4, 24)
        provider, model = self.model
        message = {"role": "assistant", "content": blocks, "api": "anthropic-messages", "provider": provider, "model": model}
        usage = self._usage(blocks, model) if error is None else _usage(0, 0, 0, (0.0, 0.0))
        message |= {"usage": usage, "stopReason": stop}
        return self._message(message | ({"errorMessage": error} if error else {}))

    def _usage(self, blocks: list[dict], model: str) -> dict:
        """The context up to the last answer comes from the cache, what came since then is new."""
        whole = self.context_tokens() + PROMPT_TOKENS
        fresh = 0
        for entry in reversed(self._path()):
            if entry["type"] == "compaction" or entry.get("message", {}).get("role") == "assistant":
                break
            fresh += _estimate(entry)
        fresh = max(fresh, 3)
        output = _estimate({"type": "message", "message": {"role": "assistant", "content": blocks}})
        return _usage(fresh, output, whole - fresh, PRICES[model])

    def _message(self, message: dict) -> str:
        milliseconds = round(self._now.timestamp() * 1000)
        return self._add({"type": "message", "message": {**message, "timestamp": milliseconds}})

    def _add(self, body: dict) -> str:
        self._now += timedelta(milliseconds=3 + self._random.randrange(40))
        kind = body.pop("type")
        entry_id = f"{self._random.getrandbits(32):08x}"
        assert entry_id not in self.by_id
        entry = {"type": kind, "id": entry_id, "parentId": self.leaf, "timestamp": _iso(self._now), **body}
        self.entries.append(entry)
        self.by_id[entry_id] = entry
        self.leaf = entry_id
        return entry_id

    def _path(self) -> list[dict]:
        path = []
        at = self.leaf
        while at is not None:
            path.append(self.by_id[at])
            at = self.by_id[at]["parentId"]
        return path[::-1]

    def _pass(self, least: int, most: int) -> None:
        self._now += timedelta(milliseconds=1000 * least + self._random.randrange(1000 * (most - least) + 1))

    def _compiles(self, path: str) -> None:
        if path.endswith(".py"):
            compile(self.files[path], path, "exec")


def _blocks(thinking: str | None, text: str) -> list[dict]:
    blocks = [{"type": "thinking", "thinking": thinking}] if thinking else []
    return blocks + ([{"type": "text", "text": text}] if text else [])


def _usage(fresh: int, output: int, cached: int, prices: tuple[float, float]) -> dict:
    price_in, price_out = prices
    cost = {
        "input": round(fresh * price_in / 1e6, 6),
        "output": round(output * price_out / 1e6, 6),
        "cacheRead": round(cached * price_in / 1e7, 6),
        "cacheWrite": 0,
    }
    cost["total"] = round(sum(cost.values()), 6)
    total = fresh + output + cached
    return {"input": fresh, "output": output, "cacheRead": cached, "cacheWrite": 0, "totalTokens": total, "cost": cost}


def _estimate(entry: dict) -> int:
    """Tokens as compactd estimates them: UTF-16 units divided by 4, rounded up."""
    return -(-len(_visible(entry).encode("utf-16-le")) // 2 // 4)


def _visible(entry: dict) -> str:
    match entry["type"]:
        case "compaction" | "branch_summary":
            return entry["summary"]
        case "custom_message":
            return entry["content"]
        case "message":
            message = entry["message"]
            if message["role"] == "bashExecution":
                return message["command"] + message["output"]
            return "".join(_block_text(block) for block in message["content"])
        case _:
            return ""


def _block_text(block: dict) -> str:
    if block["type"] == "toolCall":
        return block["name"] + _json(block["arguments"])
    return block.get("text") or block.get("thinking") or ""


def _diff(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", n=2, lineterm="")
    return "\n".join(lines)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _iso(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
