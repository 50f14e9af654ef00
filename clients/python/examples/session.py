"""A walk: creates a session, appends messages, compacts it, and goes back to an earlier place with a
summary of what is left behind.

The program is the one that `find_binary` finds; the session goes into a temporary directory.
"""

from __future__ import annotations

import tempfile
import time
from typing import Any

from compactd_client import Client, Notification

QUESTIONS = [
    "Please add a --json flag to the report command. It must keep the old output as the default.",
    "Where is the output written?",
    "Use the same field names as the web page does.",
    "Now write a test for the new flag.",
]
# What the model read each time before it answered. Such results are most of what fills a context.
SOURCE = "\n".join(f"  print(row.field{number}, {{ width: 12 }});" for number in range(40))


def main() -> None:
    """Walks."""
    with tempfile.TemporaryDirectory() as directory, Client(on_notification=show) as client:
        server = client.initialize("example", agent_dir=directory, cwd=directory)["serverInfo"]
        print(f"{server['name']} {server['version']}, process {client.pid}")
        session = client.request("createSession", {"name": "example"})
        print(f"created {session.get('path')}")
        ids = append_all(client, session["sessionId"])
        compact(client, session["sessionId"])
        go_back(client, session["sessionId"], ids)


def append_all(client: Client, session_id: str) -> list[str]:
    """Appends a small conversation and gives the ids of its entries."""
    ids = []
    for message in [message for number, question in enumerate(QUESTIONS) for message in turn(number, question)]:
        ids.append(client.request("appendMessage", {"sessionId": session_id, "message": message})["entryId"])
    print(f"appended {len(ids)} messages")
    return ids


def compact(client: Client, session_id: str) -> None:
    """Compacts. The conversation is short, so only a little of it is kept as it is."""
    result = client.request("compact", {"sessionId": session_id, "settings": {"keepRecentTokens": 100}})
    assert "summary" in result, "the server answers when the compaction is done"
    print(f"compacted {result['tokensBefore']} tokens to {result['tokensAfter']}; the summary begins:")
    print(indent(result["summary"].splitlines()[:6]))
    context = client.request("getContext", {"sessionId": session_id, "format": "llm"})
    print(f"the model now sees {len(context['messages'])} messages")


def go_back(client: Client, session_id: str, ids: list[str]) -> None:
    """Goes back to the first answer and takes a summary of the rest along."""
    result = client.request("navigateTree", {"sessionId": session_id, "targetId": ids[3], "summarize": True})
    entry = result.get("summaryEntry")
    assert isinstance(entry, dict), "the branch that is left has messages"
    print(f"summary of the branch that was left: entry {entry['id']}")
    nodes = client.request("getTree", {"sessionId": session_id})["nodes"]
    lines = [f"{n['id']} <- {n.get('parentId') or 'root'}  {n['type']}  {n['preview'][:60]}" for n in nodes]
    print(indent(lines))


def show(notification: Notification) -> None:
    """Tells what the server does meanwhile."""
    if notification.method in ("compactionStart", "leafChanged"):
        print(f"  ({notification.method})")


def turn(number: int, question: str) -> list[dict[str, Any]]:
    """A question, a file that the model reads, and its answer."""
    call = {"type": "toolCall", "id": f"call-{number}", "name": "read", "arguments": {"path": "src/report.ts"}}
    text = f'Done with this: "{question}" I changed src/report.ts and ran the tests; all of them pass.'
    return [user(question), assistant(call), tool_result(call, SOURCE), assistant({"type": "text", "text": text})]


def user(content: str) -> dict[str, Any]:
    """A message of the person."""
    return {"role": "user", "content": content, "timestamp": now()}


def assistant(block: dict[str, Any]) -> dict[str, Any]:
    """A message of the model."""
    return {
        "role": "assistant",
        "content": [block],
        "api": "example",
        "provider": "example",
        "model": "example-1",
        "usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0},
        "stopReason": "toolUse" if block["type"] == "toolCall" else "stop",
        "timestamp": now(),
    }


def tool_result(call: dict[str, Any], text: str) -> dict[str, Any]:
    """What a tool gave to the model."""
    return {
        "role": "toolResult",
        "toolCallId": call["id"],
        "toolName": call["name"],
        "content": [{"type": "text", "text": text}],
        "isError": False,
        "timestamp": now(),
    }


def now() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def indent(lines: list[str]) -> str:
    """Lines under what they belong to."""
    return "\n".join(f"    {line}" for line in lines)


if __name__ == "__main__":
    main()
