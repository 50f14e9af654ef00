"""What the sessions in Python have in common."""

import os
import subprocess
import tempfile

HEADINGS = [
    "## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked",
    "## Key Decisions", "## Next Steps", "## Critical Context",
]
SUMMARY = {"text": "\n\n".join(f"{heading}\n- point" for heading in HEADINGS), "stopReason": "stop", "usage": None}
HOME = tempfile.TemporaryDirectory(prefix="compactd-habits-")
INITIALIZE = {
    "protocolVersion": 1, "clientInfo": {"name": "habits"}, "cwd": HOME.name, "agentDir": None,
    "capabilities": {"summarize": True, "hooks": ["sessionBeforeCompact"]},
}


def environment():
    return {"HOME": HOME.name, "PATH": "/usr/bin:/bin"}


def message(turn):
    return {"role": "user", "content": f"Turn {turn}: " + "a wish and its reason. " * 40, "timestamp": turn}


def compact(session_id):
    return {
        "sessionId": session_id, "summarizer": "host", "settings": {"keepRecentTokens": 300}, "customInstructions": None,
    }


def start():
    return subprocess.Popen(
        [os.environ["COMPACTD_BIN"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HOME.name, env=environment())
