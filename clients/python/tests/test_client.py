"""The client against the built server, and against scripts that misbehave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, NoReturn
from unittest import mock

from compactd_client import (
    Client,
    CompactdError,
    Handlers,
    MessageTooLarge,
    Notification,
    NotificationsLost,
    ServerGone,
)
from compactd_client.notifications import NotificationQueue
from compactd_client.outbox import Outbox
from compactd_client.protocol import ERROR_CODES

from .support import HOST, SMALL, SUMMARY, conversation, hanging, scripted, start, user

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
        compaction = client.start("compact", {"sessionId": session_id, "settings": SMALL})
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
        prompts = []

        def summarize(params: Any, cancelled: threading.Event) -> Any:
            prompts.append(params["prompt"])
            return {"text": SUMMARY, "stopReason": "stop"}

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

    def test_a_message_over_the_limit_fails_at_once(self) -> None:
        client = start(self, arguments=["--max-message-bytes", "4096"])
        with self.assertRaises(MessageTooLarge) as raised:
            client.request("estimateTokens", {"text": "\u00e9" * 2500}, WAIT)
        error = raised.exception
        self.assertEqual((error.bytes, error.limit, error.kind), (5071, 4096, "invalidRequest"))
        self.assertIn("5071 bytes is over the server's limit of 4096 bytes", str(error))
        with self.assertRaises(MessageTooLarge):
            client.notify("n", {"text": "x" * 5000})
        # The id before was 2; this message has exactly 4096 bytes.
        self.assertEqual(client.request("estimateTokens", {"text": "x" * 4025}, WAIT), {"tokens": 1007})

    def test_a_message_over_the_limit_before_initialize_is_refused_by_the_server(self) -> None:
        client = Client([os.environ.get("COMPACTD_BIN", "compactd"), "--max-message-bytes", "4096"])
        self.addCleanup(client.shutdown)
        waiting = client.start("estimateTokens", {"text": "x" * 6000})
        with self.assertRaises(MessageTooLarge) as raised:
            client.request("estimateTokens", {"text": "x" * 5000}, WAIT)
        self.assertEqual((raised.exception.bytes, raised.exception.limit), (5071, 4096))
        with self.assertRaises(MessageTooLarge) as raised:
            waiting.result(WAIT)
        self.assertEqual(raised.exception.bytes, 6071)

    def test_an_answer_over_the_limit_fails_the_operation(self) -> None:
        def summarize(params: Any, cancelled: threading.Event) -> Any:
            return {"text": "x" * 5000, "stopReason": "stop"}

        client = start(self, handlers={"summarize": summarize}, arguments=["--max-message-bytes", "4096"])
        params: Any = {"sessionId": conversation(client), "settings": SMALL, "summarizer": "host"}
        with self.assertRaises(CompactdError) as raised:
            client.request("compact", params, WAIT)
        self.assertEqual(raised.exception.kind, "summarizerFailed")
        self.assertIn("over the server's limit of 4096 bytes", str(raised.exception))

    def test_shutdown_ends_with_code_0(self) -> None:
        self.assertEqual(start(self).shutdown(), 0)

    def test_a_handler_that_is_none_is_no_handler(self) -> None:
        handlers: Any = {"sessionBeforeCompact": None, "summarize": None}
        client = start(self, handlers=handlers)
        params: Any = {"sessionId": conversation(client), "settings": SMALL}
        self.assertIn("summary", client.request("compact", params, WAIT))

    @unittest.skipIf(sys.platform == "win32", "signals to process groups")
    def test_ctrl_c_spares_a_server_with_its_own_process_group(self) -> None:
        self.check_ctrl_c(False, "server gone")
        self.check_ctrl_c(True, "server there")

    def check_ctrl_c(self, own_process_group: bool, expected: str) -> None:
        with run_host(self, own_process_group) as host:
            assert host.stdout is not None and host.stdin is not None
            self.assertEqual(host.stdout.readline(), "ready\n")
            os.killpg(host.pid, signal.SIGINT)
            self.assertEqual(host.stdout.readline(), "Ctrl-C\n")
            host.stdin.write("go on\n")
            host.stdin.flush()
            self.assertEqual(host.communicate(timeout=WAIT)[0], f"{expected}\n")

    @unittest.skipIf(sys.platform == "win32", "process groups")
    def test_a_server_with_its_own_process_group_does_not_outlive_the_host(self) -> None:
        with run_host(self, True) as host:
            assert host.stdout is not None
            self.assertEqual(host.stdout.readline(), "ready\n")
            host.kill()
            # The server holds the same standard error, so its end is the end of both.
            self.assertEqual(host.communicate(timeout=WAIT), ("", ""))


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

    def test_a_refusal_that_belongs_to_no_request_for_certain_is_logged(self) -> None:
        script = r"""
input()
print('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"not JSON"}}')
print('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"data":{"reason":"messageTooLarge","bytes":9,"limit":8}}}')
print('{"jsonrpc":"2.0","id":1,"result":null}')
"""
        client = scripted(self, script)
        with self.assertLogs("compactd_client", "WARNING") as logged:
            self.assertIsNone(client.request("shutdown", {}, WAIT))
        self.assertEqual(len(logged.output), 2)
        self.assertIn('"message":"not JSON"', logged.output[0])

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

    def test_what_a_handler_gives_that_json_cannot_say_is_refused(self) -> None:
        def summarize(params: Any, cancelled: threading.Event) -> Any:
            return {"text": {1, 2}}

        client = scripted(self, echo([{"id": 1, "method": "summarize"}]), handlers={"summarize": summarize})
        self.assertEqual(client.next_notification(WAIT).params["error"]["code"], -32603)

    def test_a_server_that_does_not_read_holds_up_nobody(self) -> None:
        client = scripted(self, "import time\ntime.sleep(60)")
        large = within(lambda: client.start("estimateTokens", {"text": LARGE}))
        for text in (LARGE, "short"):
            with self.assertRaises(TimeoutError):
                within(lambda: client.request("estimateTokens", {"text": text}, 0.1))
        within(large.cancel)
        within(lambda: client.notify("n", {}))
        within(client.kill)
        with self.assertRaises(ServerGone):
            large.result(WAIT)

    def test_a_request_that_found_no_room_is_not_sent(self) -> None:
        client = scripted(self, READ_ON_SIGNAL + echo([]), max_unsent_bytes=1)
        self.assertEqual(client.next_notification(WAIT).method, "ready")
        large = client.start("estimateTokens", {"text": LARGE})
        client.start("listSessions", {})
        with self.assertRaises(TimeoutError):
            within(lambda: client.request("continueSession", {}, 0.1))
        within(large.cancel)
        os.kill(client.pid, signal.SIGUSR1)
        client.start("shutdown", {})
        heard = [client.next_notification(WAIT).params["method"] for _ in range(4)]
        self.assertEqual(heard, ["estimateTokens", "listSessions", "$/cancelRequest", "shutdown"])

    def test_what_waited_for_the_pipe_comes_whole_and_in_order(self) -> None:
        client = scripted(self, READ_ON_SIGNAL + echo([]))
        self.assertEqual(client.next_notification(WAIT).method, "ready")
        sizes = [200_000, 1, 70_000, 0, 65_536, 3]
        pending = [client.start("estimateTokens", {"text": "x" * size}) for size in sizes]
        os.kill(client.pid, signal.SIGUSR1)
        heard = [client.next_notification(WAIT).params for _ in sizes]
        self.assertEqual([(message["id"], len(message["params"]["text"])) for message in heard],
                         [(handle.request_id, size) for handle, size in zip(pending, sizes)])

    def test_many_threads_write_whole_lines(self) -> None:
        client = scripted(self, echo([]))
        threads = [threading.Thread(target=client.notify, args=("n", {"text": f"{n}" * 50_000})) for n in range(20)]
        for thread in threads:
            thread.start()
        heard = {client.next_notification(WAIT).params["params"]["text"] for _ in threads}
        self.assertEqual(heard, {f"{n}" * 50_000 for n in range(20)})

    def test_closing_sends_what_was_asked_before(self) -> None:
        script = """
import json, sys
methods = []
for line in sys.stdin:
    methods.append(json.loads(line)["method"])
    if methods[-1] == "shutdown": print('{"jsonrpc":"2.0","id":1,"result":null}')
print(json.dumps({"jsonrpc": "2.0", "method": "heard", "params": methods}))
"""
        client = scripted(self, script)
        for _ in range(5):
            client.notify("n", {"text": LARGE})
        self.assertEqual(within(client.shutdown), 0)
        self.assertEqual(client.next_notification(WAIT).params, ["n"] * 5 + ["shutdown", "exit"])

    def test_a_server_that_closes_its_input_fails_all_that_wait(self) -> None:
        script = "import os, time\nos.close(0)\n" + READY + "\ntime.sleep(60)"
        with mock.patch("compactd_client.client.REST_SECONDS", 0.1):
            client = scripted(self, script)
            self.assertEqual(client.next_notification(WAIT).method, "ready")
            with self.assertRaises(ServerGone):
                client.request("shutdown", {}, WAIT)

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


# More than a pipe holds.
LARGE = "x" * 2_000_000
# Says that the script has started.
READY = """print('{"jsonrpc":"2.0","method":"ready"}')"""
# A script that reads nothing before it gets a signal.
READ_ON_SIGNAL = f"""
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
{READY}
signal.sigwait([signal.SIGUSR1])
"""


def within(call: Callable[[], Any]) -> Any:
    """What the call gives or raises. A call that does not end in time is a failure."""
    outcome: Future[Any] = Future()

    def run() -> None:
        try:
            outcome.set_result(call())
        except Exception as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not wait([outcome], WAIT).done:
        raise AssertionError("the call does not end")
    return outcome.result()


def run_host(case: unittest.TestCase, own_process_group: bool) -> subprocess.Popen[str]:
    """A host with a server, in a process group of its own as if a terminal had started it."""
    home = tempfile.TemporaryDirectory()
    case.addCleanup(home.cleanup)
    pipe = subprocess.PIPE
    command = [sys.executable, "-u", "-c", HOST, str(own_process_group)]
    env = {**os.environ, "HOME": home.name, "PYTHONPATH": os.getcwd()}
    return subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=env, cwd=home.name, start_new_session=True
    )


def echo(asks: list[dict[str, Any]]) -> str:
    """A server that sends `asks` and tells what it hears."""
    return f"""
import json, sys
def send(message): print(json.dumps({{"jsonrpc": "2.0", **message}}))
for ask in {asks!r}: send(ask)
for line in sys.stdin: send({{"method": "heard", "params": json.loads(line)}})
"""


class OutboxTest(unittest.TestCase):
    """The queue of lines."""

    def test_has_room_up_to_its_limit(self) -> None:
        outbox = Outbox(5)
        outbox.put(b"1234")
        outbox.put(b"5678")
        with self.assertRaises(TimeoutError):
            outbox.put(b"no room", 0)
        outbox.put_at_once(b"urgent")
        self.assertEqual([outbox.take(), outbox.take()], [b"1234", b"5678"])
        with self.assertRaises(TimeoutError):
            outbox.put(b"no room", 0)
        self.assertEqual(outbox.take(), b"urgent")

    def test_ends_after_the_last_line(self) -> None:
        outbox = Outbox(5)
        outbox.put(b"1")
        outbox.close()
        outbox.put(b"2")
        self.assertEqual([outbox.take(), outbox.take()], [b"1", None])

    def test_lets_those_go_who_wait_for_room(self) -> None:
        outbox = Outbox(1)
        outbox.put(b"1")
        waiting = threading.Thread(target=outbox.put, args=(b"2",))
        waiting.start()
        outbox.abandon()
        waiting.join(WAIT)
        self.assertFalse(waiting.is_alive())
        self.assertIsNone(outbox.take())


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
