"""The client against the built server, and against scripts that misbehave."""

from __future__ import annotations

import signal
import threading
import unittest
from typing import Any, NoReturn

from compactd_client import Client, CompactdError, Handlers, Notification, NotificationsLost, ServerGone
from compactd_client.notifications import NotificationQueue
from compactd_client.protocol import ERROR_CODES

from .support import SMALL, conversation, hanging, scripted, start, user

WAIT = 20.0


def drain(client: Client) -> list[Notification]:
    """The notifications that have come."""
    found = []
    try:
        while True:
            found.append(client.next_notification(0))
    except TimeoutError:
        return found


class ServerTest(unittest.TestCase):
    """With the built server."""

    def test_errors_have_code_kind_and_data(self) -> None:
        client = start(self)
        session_id = client.request("createSession", {"ephemeral": True}, WAIT)["sessionId"]
        with self.assertRaises(CompactdError) as raised:
            client.request("getEntry", {"sessionId": session_id, "entryId": "00000000"}, WAIT)
        error = raised.exception
        self.assertEqual((error.code, error.kind), (ERROR_CODES["entryNotFound"], "entryNotFound"))
        self.assertEqual(error.data["entryId"], "00000000")
        with self.assertRaises(CompactdError) as raised:
            client.request("openSession", {"path": 1}, WAIT)  # type: ignore[call-overload]
        self.assertEqual(raised.exception.kind, "invalidParams")

    def test_cancel_ends_the_request_and_ours(self) -> None:
        asked, told = threading.Event(), threading.Event()

        def summarize(params: Any, cancelled: threading.Event) -> Any:
            asked.set()
            cancelled.wait(WAIT)
            told.set()
            raise RuntimeError("not wanted")

        client = start(self, handlers={"summarize": summarize})
        session_id = conversation(client)
        compaction = client.start("compact", {"sessionId": session_id, "settings": SMALL, "summarizer": "host"})
        self.assertTrue(asked.wait(WAIT))
        compaction.cancel()
        with self.assertRaises(CompactdError) as raised:
            compaction.result(WAIT)
        self.assertEqual(raised.exception.kind, "requestCancelled")
        self.assertTrue(told.wait(WAIT))

    def test_a_time_out_cancels(self) -> None:
        client = start(self, handlers={"summarize": hanging})
        session_id = conversation(client)
        with self.assertRaises(TimeoutError):
            client.request("compact", {"sessionId": session_id, "settings": SMALL, "summarizer": "host"}, 0.5)
        methods = []
        while "compactionEnd" not in methods:
            methods.append(client.next_notification(WAIT).method)

    def test_our_own_model_writes_the_summary(self) -> None:
        headings = ["## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress"]
        headings += ["### Blocked", "## Key Decisions", "## Next Steps", "## Critical Context"]
        prompts = []

        def summarize(params: Any, cancelled: threading.Event) -> Any:
            prompts.append(params["prompt"])
            return {"text": "\n\n".join(f"{heading}\n- (none)" for heading in headings), "stopReason": "stop"}

        client = start(self, handlers={"summarize": summarize})
        session_id = conversation(client)
        params: Any = {"sessionId": session_id, "settings": SMALL, "summarizer": "host"}
        result = client.request("compact", params, WAIT)
        assert "summary" in result
        self.assertIn("## Goal", result["summary"])
        self.assertIn("message 0", prompts[0])

    def test_notifications_come_in_order_and_before_the_reply(self) -> None:
        client = start(self)
        session_id = conversation(client)
        drain(client)
        client.request("compact", {"sessionId": session_id, "settings": SMALL}, WAIT)
        methods = [found.method for found in drain(client) if found.method != "compactionProgress"]
        self.assertEqual(methods, ["compactionStart", "entryAppended", "compactionEnd"])

    def test_a_listener_gets_them_all(self) -> None:
        found: list[str] = []
        ended = threading.Event()

        def listen(notification: Notification) -> None:
            found.append(notification.method)
            if notification.method == "compactionEnd":
                ended.set()

        client = start(self, on_notification=listen)
        client.request("compact", {"sessionId": conversation(client), "settings": SMALL}, WAIT)
        self.assertTrue(ended.wait(WAIT))
        self.assertEqual(found[:6], ["entryAppended"] * 6)

    def test_text_comes_back_as_it_went(self) -> None:
        message = user('line\u2028and\u2029paragraph, \U0001f600, \u00e9, \0, "quotes" and \\ \r\n')
        self.check_round_trip(message)

    def test_a_message_of_eight_megabytes_passes(self) -> None:
        self.check_round_trip(user("0123456789abcde\u00e9" * (1 << 19)))

    def check_round_trip(self, message: dict[str, Any]) -> None:
        client = start(self)
        session_id = client.request("createSession", {}, WAIT)["sessionId"]
        params: Any = {"sessionId": session_id, "message": message}
        entry_id = client.request("appendMessage", params, WAIT)["entryId"]
        entry = client.request("getEntry", {"sessionId": session_id, "entryId": entry_id}, WAIT)["entry"]
        self.assertEqual(entry["message"], message)

    def test_two_requests_run_at_once(self) -> None:
        finish = threading.Event()

        def summarize(params: Any, cancelled: threading.Event) -> Any:
            finish.wait(WAIT)
            raise CompactdError(1, "no model")

        client = start(self, handlers={"summarize": summarize})
        session_id = conversation(client)
        slow = client.start("compact", {"sessionId": session_id, "settings": SMALL, "summarizer": "host"})
        self.assertEqual(client.request("estimateTokens", {"text": "12345678"}, WAIT), {"tokens": 2})
        self.assertFalse(slow.done())
        finish.set()
        with self.assertRaises(CompactdError) as raised:
            slow.result(WAIT)
        self.assertEqual(raised.exception.kind, "summarizerFailed")

    def test_a_server_that_dies_fails_all_that_wait(self) -> None:
        client = start(self, handlers={"summarize": hanging})
        session_id = conversation(client)
        slow = client.start("compact", {"sessionId": session_id, "settings": SMALL, "summarizer": "host"})
        client.kill()
        with self.assertRaises(ServerGone) as raised:
            slow.result(WAIT)
        self.assertEqual(raised.exception.returncode, -signal.SIGKILL)
        with self.assertRaises(ServerGone):
            client.request("getTree", {"sessionId": session_id}, WAIT)
        self.assertEqual(client.wait(), -signal.SIGKILL)

    def test_shutdown_ends_with_code_0(self) -> None:
        self.assertEqual(start(self).shutdown(), 0)


class ScriptTest(unittest.TestCase):
    """With scripts in place of the server."""

    def test_noise_unknown_ids_and_unknown_notifications_do_no_harm(self) -> None:
        script = r"""
print('\n  \nlog line\n{"jsonrpc":"2.0","id":99,"result":1}\n[]')
print('{"jsonrpc":"2.0","method":"fromTheFuture","params":{}}')
input()
print('{"jsonrpc":"2.0","id":1,"result":null}')
"""
        strays: list[bytes] = []
        client = scripted(self, script, on_stray=strays.append)
        self.assertIsNone(client.request("shutdown", {}, WAIT))
        self.assertEqual(client.next_notification(WAIT).method, "fromTheFuture")
        self.assertEqual(strays, [b"log line\n", b'{"jsonrpc":"2.0","id":99,"result":1}\n', b"[]\n"])

    def test_a_reply_that_is_too_deep_fails_its_request(self) -> None:
        script = """
input()
print('{"jsonrpc":"2.0","id":1,"result":' + '[' * 100000 + ']' * 100000 + '}')
input()
print('{"jsonrpc":"2.0","id":2,"result":null}')
"""
        client = scripted(self, script)
        with self.assertRaisesRegex(CompactdError, "too deeply"):
            client.request("shutdown", {}, WAIT)
        self.assertIsNone(client.request("shutdown", {}, WAIT))

    def test_a_server_that_does_not_end_is_killed(self) -> None:
        client = scripted(self, "import time\ntime.sleep(60)")
        self.assertEqual(client.shutdown(grace=0.2), -signal.SIGKILL)

    def test_a_program_that_is_not_there_is_told(self) -> None:
        with self.assertRaises(OSError):
            Client(["no-such-program-here"])

    def test_what_json_cannot_say_is_refused_and_nothing_is_sent(self) -> None:
        client = scripted(self, "input()\nprint('{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":null}')")
        for bad in (float("nan"), "\ud800"):
            with self.assertRaises(ValueError):
                client.request("estimateTokens", {"text": bad}, WAIT)  # type: ignore[call-overload]
        self.assertIsNone(client.request("shutdown", {}, WAIT))


    def test_requests_of_the_server_are_answered_refused_and_cancelled(self) -> None:
        asks: list[dict[str, Any]] = [
            {"id": "s1", "method": "summarize", "params": {"prompt": "p"}},
            {"id": 2, "method": "sessionBeforeFork", "params": {}},
            {"id": 3, "method": "sessionBeforeTree", "params": {}},
            {"id": 4, "method": "get", "params": {}},
            {"method": "$/cancelRequest", "params": {"id": 2}},
        ]

        def refuse(params: Any, cancelled: threading.Event) -> NoReturn:
            raise CompactdError(7, "no", {"kind": "mine"})

        def summarize(params: Any, cancelled: threading.Event) -> Any:
            return {"text": params["prompt"], "stopReason": "stop"}

        handlers: Handlers = {
            "summarize": summarize,
            "sessionBeforeFork": hanging,
            "sessionBeforeTree": refuse,
        }
        client = scripted(self, echo(asks), handlers=handlers)
        heard = [client.next_notification(WAIT).params for _ in range(4)]
        replies = {reply["id"]: reply.get("result") or reply["error"] for reply in heard}
        self.assertEqual(replies["s1"], {"text": "p", "stopReason": "stop"})
        self.assertEqual(replies[2]["code"], -32800)
        self.assertEqual(replies[3], {"code": 7, "message": "no", "data": {"kind": "mine"}})
        self.assertEqual(replies[4]["code"], -32601)

    def test_cancel_sends_the_id_of_its_request(self) -> None:
        client = scripted(self, echo([]))
        pending = client.start("shutdown", {})
        pending.cancel()
        self.assertEqual(client.next_notification(WAIT).params["method"], "shutdown")
        self.assertEqual(client.next_notification(WAIT).params["params"], {"id": pending.request_id})


def echo(asks: list[dict[str, Any]]) -> str:
    """A server that sends `asks` and tells what it hears."""
    return f"""
import json, sys
def send(message): print(json.dumps({{"jsonrpc": "2.0", **message}}))
for ask in {asks!r}: send(ask)
for line in sys.stdin: send({{"method": "heard", "params": json.loads(line)}})
"""


class QueueTest(unittest.TestCase):
    """The queue of notifications."""

    def test_says_what_was_lost_in_its_place(self) -> None:
        queue = NotificationQueue(2)
        for number in range(4):
            queue.put(Notification("n", number))
        self.assertEqual([queue.get(0).params, queue.get(0).params], [0, 1])
        with self.assertRaises(NotificationsLost) as raised:
            queue.get(0)
        self.assertEqual(raised.exception.count, 2)
        queue.put(Notification("n", 4))
        self.assertEqual(queue.get(0).params, 4)


if __name__ == "__main__":
    unittest.main()
