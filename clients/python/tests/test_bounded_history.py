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
    """Messages of OpenAI, as the server takes them."""

    format = "openai"

    def to_format(self, message: Any) -> tuple[dict[str, Any], Any]:
        """The message."""
        return message, None

    def from_format(self, message: dict[str, Any], whole: Any, is_shortened: bool) -> Any:
        """The message."""
        return message


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
        pair: list[dict[str, Any]] = [{"role": "user", "content": "go on"}, {"role": "assistant", "content": "yes"}]
        messages = [dict(message) for message in pair * 5]
        fitted = self.start().fit(messages)
        self.assertEqual([id(one) for one in fitted], [id(one) for one in messages])

    def test_a_conversation_that_was_changed_goes_on_from_there(self) -> None:
        history = self.start()
        history.fit(turns(1, 5))
        changed = [*turns(1, 3), {"role": "user", "content": "Something else."}]
        self.assertEqual(history.fit(changed), changed)
        self.assertEqual(history.fit(turns(1, 5)), turns(1, 5))

    def test_the_last_message_is_taken_back(self) -> None:
        history = self.start()
        history.append(turns(1, 2))
        question = {"role": "user", "content": "And now?"}
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
            self.start(1500).fit([{"role": "user", "content": "longer than the window " * 800}])
        self.assertEqual(raised.exception.context_window, 1500)
        self.assertGreater(raised.exception.tokens, 1500)


def turns(first: int, last: int) -> list[dict[str, Any]]:
    """Questions, what a tool read, and answers."""
    messages: list[dict[str, Any]] = []
    for number in range(first, last + 1):
        function = {"name": "read", "arguments": f'{{"number":{number}}}'}
        messages += [
            {"role": "user", "content": f"Step {number}: check src/part{number}.ts."},
            {"role": "assistant", "tool_calls": [{"id": f"call-{number}", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": f"call-{number}", "content": "line\n" * 60},
            {"role": "assistant", "content": f"Part {number} is right.", "refusal": None},
        ]
    return messages
