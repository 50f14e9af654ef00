"""Coroutines whose loop ends before them."""

from __future__ import annotations

import asyncio
import threading
import unittest
from collections.abc import Callable

from compactd_client.handlers import result_in_loop


class ResultInLoopTest(unittest.TestCase):
    """Who waits for a coroutine hears of the end of its loop."""

    def test_a_loop_that_stops_ends_the_wait(self) -> None:
        self.assertEqual(self.told(lambda loop: None), "the loop stopped before the answer")

    def test_a_loop_that_is_closed_ends_the_wait(self) -> None:
        self.assertEqual(self.told(lambda loop: loop.close()), "the loop was closed before the answer")

    def test_a_loop_that_goes_on_finishes_the_coroutine(self) -> None:
        def run_on(loop: asyncio.AbstractEventLoop) -> None:
            loop.run_until_complete(asyncio.sleep(0.5))

        self.assertEqual(self.told(run_on, 0.2), "done")

    def told(self, then: Callable[[asyncio.AbstractEventLoop], None], seconds: float = 60) -> str:
        """What comes of a coroutine whose loop stops while it runs, and then does something else."""
        loop, begun, told = asyncio.new_event_loop(), asyncio.Event(), list[str]()
        self.addCleanup(loop.close)
        # A task that never ends is told when it is dropped.
        loop.set_exception_handler(lambda *_: None)

        async def work() -> str:
            begun.set()
            await asyncio.sleep(seconds)
            return "done"

        def wait() -> None:
            try:
                told.append(result_in_loop(work(), loop, threading.Event()))
            except RuntimeError as error:
                told.append(str(error))

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        loop.run_until_complete(begun.wait())
        then(loop)
        thread.join(20)
        return told[0] if told else "nothing"
