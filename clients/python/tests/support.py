"""Servers and sessions for the tests."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Sequence
from typing import Any, NoReturn

from compactd_client import Client

# Settings with which the conversation below can be compacted.
SMALL = {"keepRecentTokens": 100}

# A summary that a model could have written.
HEADINGS = ["## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress"]
HEADINGS += ["### Blocked", "## Key Decisions", "## Next Steps", "## Critical Context"]
SUMMARY = "\n\n".join(f"{heading}\n- (none)" for heading in HEADINGS)

# A host that handles Ctrl-C and goes on; its argument tells whether its server has a process group of its own.
HOST = """
import os, signal, sys
from compactd_client import Client
signal.signal(signal.SIGINT, lambda *_: print("Ctrl-C"))
own_process_group = sys.argv[1] == "True"
client = Client([os.environ.get("COMPACTD_BIN", "compactd")], own_process_group=own_process_group)
client.initialize("host", agent_dir=os.getcwd())
print("ready")
sys.stdin.readline()
if own_process_group:
    client.request("listSessions", {}, 20)
    print("server there")
else:
    client.wait()
    print("server gone")
client.shutdown()
"""


def start(case: unittest.TestCase, arguments: Sequence[str] = (), **options: Any) -> Client:
    """A client of the built server, with a home of its own, that ends with the test. The test is
    skipped if its model is to write summaries and the server never asks for that."""
    home = tempfile.TemporaryDirectory()
    case.addCleanup(home.cleanup)
    env = {"PATH": os.environ.get("PATH", ""), "HOME": home.name}
    command = [os.environ.get("COMPACTD_BIN", "compactd"), *arguments]
    client = Client(command, env=env, cwd=home.name, stderr=subprocess.DEVNULL, **options)
    case.addCleanup(client.shutdown)
    writes: Any = {"compactd": {"summarizer": ["host", "extractive"]}}
    initialized = client.initialize("test", agent_dir=home.name, cwd=home.name, default_settings=writes, timeout=20)
    summarizers = initialized["capabilities"]["summarizers"]
    if "summarize" in options.get("handlers", {}) and "host" not in summarizers:
        case.skipTest("this server has no summarizer named host")
    return client


def scripted(case: unittest.TestCase, script: str, **options: Any) -> Client:
    """A server that is a small script."""
    client = Client([sys.executable, "-u", "-c", script], **options)
    case.addCleanup(client.wait)
    case.addCleanup(client.kill)
    return client


def conversation(client: Client) -> str:
    """The id of a new session with some messages that are worth a compaction."""
    session_id = client.request("createSession", {})["sessionId"]
    for number in range(6):
        message = user(f"message {number} " * 40)
        client.request("appendMessage", {"sessionId": session_id, "message": message})
    return session_id


def user(content: str) -> dict[str, Any]:
    """A message of the person."""
    return {"role": "user", "content": content, "timestamp": 1_700_000_000_000}


def hanging(params: Any, cancelled: threading.Event) -> NoReturn:
    """A handler that answers nothing until it is told to stop."""
    cancelled.wait(20)
    raise RuntimeError("not wanted")
