"""Histories that a library keeps, against the built server."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import re
import tempfile
import threading
import unittest
from collections.abc import Sequence
from typing import Any

from compactd_client.bounded_history import BoundedHistory, ContextTooLarge, in_thread, summary

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

    def start(self, context_window: int = 4000, settings_file: Any = None, **options: Any) -> BoundedHistory[Any]:
        """A history with a server of its own, that ends with the test."""
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home.name, "PI_CODING_AGENT_DIR": home.name}
        if settings_file is not None:
            with open(os.path.join(home.name, "settings.json"), "w") as file:
                json.dump(settings_file, file)
        command = [os.environ.get("COMPACTD_BIN", "compactd")]
        options = {"settings": SMALL, **options}
        history = BoundedHistory(PlainCodec(), context_window, command=command, env=env, **options)
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
        told = f"the context has {raised.exception.tokens} tokens, and the window 1500: nothing is left to compact"
        self.assertEqual(str(raised.exception), told)

    def test_the_model_of_the_host_writes_the_summaries_within_its_window(self) -> None:
        asked: list[Any] = []
        ends: list[dict[str, Any]] = []

        def write(params: Any) -> Any:
            asked.append((params, CALLER.get(), threading.current_thread()))
            return summary(written(params), "stop", 100, 20, 30)

        CALLER.set("one")
        fitted = self.start(summarize=write, on_compaction=ends.append).fit(turns(1, 60))
        self.assertIn("As the model says", str(fitted[0]))
        for params, caller, thread in asked:
            self.assertEqual(caller, "one")
            self.assertIsNot(thread, threading.current_thread())
            texts = params["systemPrompt"] + params["prompt"]
            self.assertLessEqual(len(texts) // 4 + params["maxTokens"], 4000)
        result = ends[-1]["result"]
        self.assertEqual(result["summarizer"], "host")
        each = {name: count / result["attempts"] for name, count in result["usage"].items()}
        self.assertEqual((each["input"], each["cacheRead"], each["totalTokens"]), (70, 30, 120))

    def test_a_coroutine_writes_them_in_the_loop_that_waits(self) -> None:
        loops: list[Any] = []

        async def write(params: Any) -> Any:
            await asyncio.sleep(0)
            loops.append((asyncio.get_running_loop(), CALLER.get()))
            return summary(written(params), "stop", 0, 0)

        history = self.start(summarize=write)

        async def fit() -> Any:
            CALLER.set("two")
            fitted = await in_thread(history.fit, turns(1, 60))
            self.assertEqual(set(loops), {(asyncio.get_running_loop(), "two")})
            return fitted

        self.assertIn("As the model says", str(asyncio.run(fit())[0]))
        # Without a loop that waits it has one of its own.
        loops.clear()
        self.assertIn("As the model says", str(history.fit(turns(1, 120))[0]))
        self.assertTrue(loops)

    def test_where_the_model_fails_the_built_in_summarizer_writes(self) -> None:
        def fail(params: Any) -> Any:
            raise OSError("no network")

        for write, kind in (
            (fail, "summarizerFailed"),
            (lambda params: summary("I cannot do that.", "stop", 1, 1), "summaryRejected"),
            (lambda params: summary(written(params), "MAX_TOKENS", 1, 1), "summaryRejected"),
            (lambda params: summary(written(params), "content_filter", 1, 1), "summarizerFailed"),
        ):
            ends: list[dict[str, Any]] = []
            fitted = self.start(summarize=write, on_compaction=ends.append).fit(turns(1, 60))
            self.assertIn("## Goal", str(fitted[0]))
            self.assertNotIn("As the model says", str(fitted[0]))
            result = ends[-1]["result"]
            self.assertEqual((result["summarizer"], result["failures"][0]["kind"]), ("extractive", kind))

    def test_only_a_whole_answer_is_a_summary(self) -> None:
        for stop in (None, "", "stop", "STOP", "end_turn", "stop_sequence", "completed", "COMPLETE", "eos_token"):
            self.assertEqual(summary("text", stop, 0, 0)["stopReason"], "stop")
        for stop in ("length", "MAX_TOKENS", "max_output_tokens", "incomplete"):
            self.assertEqual(summary("text", stop, 0, 0)["stopReason"], "length")
        for stop in ("content_filter", "SAFETY", "error", "refusal", "aborted", "tool_calls", "tool_use", "other"):
            with self.assertRaisesRegex(RuntimeError, stop):
                summary("text", stop, 0, 0)

    def test_settings_choose_before_the_model_is_asked(self) -> None:
        asked: list[Any] = []
        extractive = {"compactd": {"summarizer": "extractive"}}
        for options in ({"settings_file": extractive}, {"settings": {**SMALL, **extractive}}):
            fitted = self.start(summarize=asked.append, **options).fit(turns(1, 60))
            self.assertIn("## Goal", str(fitted[0]))
        self.assertEqual(asked, [])

    def test_a_compaction_that_is_aborted_cancels_the_model(self) -> None:
        model = Hanging()
        history = self.start(summarize=model.write)
        client, session_id = history.client, history.session_id

        def abort() -> None:
            client.request("abortCompaction", {"sessionId": session_id})

        async def fit() -> None:
            fitting = asyncio.ensure_future(in_thread(history.fit, turns(1, 60)))
            await asyncio.to_thread(model.begun.wait, 20)
            await asyncio.to_thread(abort)
            with self.assertRaises(ContextTooLarge):
                await fitting

        asyncio.run(fit())
        self.assertTrue(model.cancelled.wait(20))

    def test_a_loop_that_ends_cancels_the_model(self) -> None:
        model = Hanging()
        history = self.start(summarize=model.write)

        async def fit() -> None:
            fitting = asyncio.ensure_future(in_thread(history.fit, turns(1, 60)))
            await asyncio.to_thread(model.begun.wait, 20)
            fitting.cancel()

        asyncio.run(fit())
        self.assertTrue(model.cancelled.is_set())
        self.assertIn("## Goal", str(history.fit(turns(1, 60))[0]))


class Hanging:
    """A model that answers nothing, and tells when it is cancelled."""

    def __init__(self) -> None:
        self.begun, self.cancelled = threading.Event(), threading.Event()

    async def write(self, params: Any) -> Any:
        """Waits to be cancelled."""
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise


CALLER = contextvars.ContextVar("caller", default="")


def written(params: Any) -> str:
    """A summary with the headings for which the last part of the prompt asks."""
    _, _, task = params["prompt"].rpartition("</")
    return "\n\n".join(f"{heading}\n- As the model says." for heading in re.findall("^##+ .*", task, re.MULTILINE))


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
