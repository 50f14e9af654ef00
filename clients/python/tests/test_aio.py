"""The client for asyncio against the built server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import unittest
from typing import Any

from compactd_client import AsyncClient, CompactdError, MessageTooLarge, NotificationsLost, ServerGone
from compactd_client.aio import _Notifications
from compactd_client.notifications import Notification

from .support import SMALL, SUMMARY, user


class AsyncClientTest(unittest.IsolatedAsyncioTestCase):
    """Calls, notifications, handlers and cancellation."""

    async def start(self, **options: Any) -> AsyncClient:
        """A client of the built server with a home of its own, that ends with the test."""
        home = tempfile.TemporaryDirectory()
        self.addCleanup(home.cleanup)
        env = {"PATH": os.environ.get("PATH", ""), "HOME": home.name}
        command = [os.environ.get("COMPACTD_BIN", "compactd")]
        client = AsyncClient(command, env=env, cwd=home.name, stderr=subprocess.DEVNULL, **options)
        self.addAsyncCleanup(client.shutdown)
        await client.initialize("test", agent_dir=home.name, cwd=home.name, timeout=20)
        return client

    async def conversation(self, client: AsyncClient) -> str:
        """The id of a new session with some messages that are worth a compaction."""
        session_id = (await client.request("createSession", {}))["sessionId"]
        messages = [user(f"message {number} " * 40) for number in range(6)]
        await asyncio.gather(
            *(client.request("appendMessage", {"sessionId": session_id, "message": message}) for message in messages)
        )
        return session_id

    async def test_calls_at_once_take_effect_in_their_order(self) -> None:
        client = await self.start()
        session_id = await self.conversation(client)
        context = await client.request("getContext", {"sessionId": session_id})
        self.assertEqual([message["content"][:9] for message in context["messages"]], [f"message {n}" for n in range(6)])

    async def test_notifications_come_before_the_reply(self) -> None:
        client = await self.start()
        session_id = await self.conversation(client)
        await client.request("compact", {"sessionId": session_id, "settings": SMALL})
        names: list[str] = []
        while not names or names[-1] != "compactionEnd":
            names.append((await asyncio.wait_for(client.next_notification(), 1)).method)
        self.assertIn("compactionStart", names)

    async def test_a_message_over_the_limit_fails_at_once(self) -> None:
        client = await self.start()
        with self.assertRaises(MessageTooLarge) as caught:
            await asyncio.wait_for(client.request("estimateTokens", {"text": "x" * (64 << 20)}), 20)
        self.assertEqual((caught.exception.limit, caught.exception.bytes - caught.exception.limit), (64 << 20, 71))
        self.assertEqual(await client.request("estimateTokens", {"text": "12345678"}), {"tokens": 2})

    async def test_errors_of_the_server_are_raised(self) -> None:
        client = await self.start()
        with self.assertRaises(CompactdError) as caught:
            await client.request("getTree", {"sessionId": "none"})
        self.assertEqual(caught.exception.kind, "sessionNotFound")

    async def test_a_coroutine_writes_summaries(self) -> None:
        async def summarize(params: Any) -> Any:
            await asyncio.sleep(0)
            return {"text": SUMMARY, "stopReason": "stop"}

        client = await self.start(handlers={"summarize": summarize})
        session_id = await self.conversation(client)
        result = await client.request("compact", {"sessionId": session_id, "settings": SMALL, "summarizer": "host"})
        self.assertIn("## Key Decisions", str(result.get("summary")))

    async def test_a_cancelled_task_cancels_its_request_and_its_handler(self) -> None:
        asked, cancelled = asyncio.Event(), asyncio.Event()

        async def summarize(_: Any) -> Any:
            asked.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                cancelled.set()
                raise

        client = await self.start(handlers={"summarize": summarize})
        session_id = await self.conversation(client)
        params: Any = {"sessionId": session_id, "settings": SMALL, "summarizer": "host"}
        task = asyncio.create_task(client.request("compact", params))
        await asyncio.wait_for(asked.wait(), 20)
        task.cancel()
        await asyncio.wait_for(cancelled.wait(), 20)
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertFalse((await client.request("abortCompaction", {"sessionId": session_id}))["aborted"])

    async def test_a_server_that_ends_ends_what_waits(self) -> None:
        client = await self.start()
        waiting = asyncio.create_task(client.next_notification())
        client.kill()
        with self.assertRaises(ServerGone):
            await asyncio.wait_for(waiting, 20)
        with self.assertRaises(ServerGone):
            await client.request("listSessions", {})

    async def test_lost_notifications_are_told_in_their_place(self) -> None:
        queue = _Notifications(2)
        for number in range(4):
            queue.put(Notification("n", number))
        self.assertEqual([(await queue.get()).params for _ in range(2)], [0, 1])
        with self.assertRaises(NotificationsLost) as caught:
            await queue.get()
        self.assertEqual(caught.exception.count, 2)
        queue.put(Notification("n", 4))
        self.assertEqual((await queue.get()).params, 4)
