"""Histories that a library keeps, against the built server."""

from __future__ import annotations

import os
import tempfile
import unittest
from collections.abc import Sequence
from typing import Any

from compactd_client.bounded_history import BoundedHistory, ContextTooLarge

SMALL = {"compaction": {"reserveTokens": 1000, "keepRecentTokens": 500}}


class PlainCodec:
    """Messages that are stored as they are, and lists of them that are stored one by one."""

    def to_stored(self, message: Any) -> Sequence[tuple[dict[str, Any], Any]]:
        """The messages of a list."""
        return [(one, one) for one in message]

    def from_stored(self, stored: dict[str, Any], part: Any) -> Any:
        """A summary, or a shortened message."""
        return {name: value for name, value in stored.items() if name != "origin"}

    def join(self, parts: Sequence[Any]) -> Any:
        """The list."""
        return list(parts)


class BoundedHistoryTest(unittest.TestCase):
    """What fits, what gives way, what comes back."""

    def start(self, context_window: int = 4000, **options: Any) -> BoundedHistory[Any]:
        """A history with a server of its own, that ends with the test."""
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home.name}
        command = [os.environ.get("COMPACTD_BIN", "compactd")]
        history = BoundedHistory(PlainCodec(), context_window, settings=SMALL, command=command, env=env, **options)
        self.addCleanup(history.close)
        return history

    def test_what_fits_is_the_very_same(self) -> None:
        messages = turns(1, 4)
        fitted = self.start().fit(messages)
        self.assertEqual([id(one) for one in fitted], [id(one) for one in messages])

    def test_a_long_conversation_gives_way_to_a_summary_and_its_latest_messages(self) -> None:
        ends: list[dict[str, Any]] = []
        messages = turns(1, 60)
        fitted = self.start(on_compaction=ends.append).fit(messages)
        self.assertIn("## Goal", str(fitted[0]))
        self.assertEqual([id(one) for one in fitted[1:]], [id(one) for one in messages[1 - len(fitted) :]])
        self.assertTrue(ends and all("error" not in end for end in ends))

    def test_the_whole_conversation_and_what_was_given_go_on_the_same_way(self) -> None:
        whole, given = self.start(), self.start()
        whole.fit(turns(1, 60))
        first = given.fit(turns(1, 60))
        self.assertEqual(whole.fit(turns(1, 80))[1:], given.fit([*first, *turns(61, 80)])[1:])

    def test_messages_that_are_alike_stay_apart(self) -> None:
        pair: list[dict[str, Any]] = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": [text("yes")]}]
        messages = [[dict(message)] for message in pair * 5]
        fitted = self.start().fit(messages)
        self.assertEqual([id(one) for one in fitted], [id(one) for one in messages])

    def test_a_conversation_that_was_changed_goes_on_from_there(self) -> None:
        history = self.start()
        history.fit(turns(1, 5))
        changed = [*turns(1, 3), [{"role": "user", "content": "Something else."}]]
        self.assertEqual(history.fit(changed), changed)
        self.assertEqual(history.fit(turns(1, 5)), turns(1, 5))

    def test_the_last_message_is_taken_back(self) -> None:
        history = self.start()
        history.append(turns(1, 2))
        question = [{"role": "user", "content": "And now?"}]
        history.append([question])
        self.assertEqual(history.pop(), question)
        self.assertEqual(history.messages(), turns(1, 2))
        self.assertEqual(history.pop(), turns(1, 2)[-1])
        self.assertEqual(history.messages(), turns(1, 2)[:-1])
        history.clear()
        self.assertEqual((history.messages(), history.pop()), ([], None))

    def test_a_session_file_goes_on_after_a_restart(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "session.jsonl")
            with self.start(path=path) as first:
                before = first.fit(turns(1, 60))
            with self.start(path=path) as second:
                self.assertEqual(second.messages(), before)
                self.assertEqual(second.fit(turns(1, 61)), [*before, *turns(61, 61)])

    def test_what_can_never_fit_is_told_with_both_numbers(self) -> None:
        with self.assertRaises(ContextTooLarge) as raised:
            self.start(1500).fit([[{"role": "user", "content": "longer than the window " * 800}]])
        self.assertEqual(raised.exception.context_window, 1500)
        self.assertGreater(raised.exception.tokens, 1500)


def text(value: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": value}


def turns(first: int, last: int) -> list[list[dict[str, Any]]]:
    """Questions, what a tool read, and answers."""
    messages: list[list[dict[str, Any]]] = []
    for number in range(first, last + 1):
        call = {"type": "toolCall", "id": f"call-{number}", "name": "read", "arguments": {"number": number}}
        result = {"toolCallId": f"call-{number}", "toolName": "read", "content": [text("line\n" * 60)], "isError": False}
        messages += [
            [{"role": "user", "content": f"Step {number}: check src/part{number}.ts."}],
            [{"role": "assistant", "content": [call], "stopReason": "toolUse"}, {"role": "toolResult", **result}],
            [{"role": "assistant", "content": [text(f"Part {number} is right.")], "stopReason": "stop"}],
        ]
    return messages
