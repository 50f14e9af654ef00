"""A session through pygls, which writes every member, null ones as well."""

import asyncio
import os

from pygls.client import JsonRPCClient
from pygls.exceptions import JsonRpcException

from common import HOME, INITIALIZE, SUMMARY, compact, environment, message


async def session():
    client = JsonRPCClient()
    hooks, ends = [], []
    patient, asked = asyncio.Event(), asyncio.Event()

    @client.feature("sessionBeforeCompact")
    def before(params):
        hooks.append(params)

    @client.feature("summarize")
    async def summarize(_params):
        if patient.is_set():
            asked.set()
            await asyncio.sleep(20)
        return SUMMARY

    @client.feature("compactionEnd")
    def ended(params):
        ends.append(params)

    await client.start_io(os.environ["COMPACTD_BIN"], cwd=HOME.name, env=environment())
    call = client.protocol.send_request_async
    assert await call("ping", None) is None
    await call("initialize", INITIALIZE)
    await call("listSessions", None)
    session_id = (await call("createSession", None)).sessionId
    for turn in range(8):
        await call("appendMessage", {"sessionId": session_id, "message": message(turn), "expectedLeafId": None})
    done = await call("compact", compact(session_id))
    assert done.summarizer == "host" and len(hooks) == 1 and len(ends) == 1
    await call("appendMessage", {"sessionId": session_id, "message": {"role": "user", "content": "More. " * 600}})
    patient.set()
    running = asyncio.ensure_future(call("compact", compact(session_id), msg_id="to-cancel"))
    await asyncio.wait_for(asked.wait(), 20)
    client.protocol.notify("$/cancelRequest", {"id": "to-cancel"})
    try:
        await asyncio.wait_for(running, 20)
        raise AssertionError("it was cancelled")
    except JsonRpcException as error:
        assert error.code == -32800, error
    assert ends[1].aborted
    assert await call("shutdown", None) is None
    client.protocol.notify("exit", None)
    await asyncio.wait_for(client._server.wait(), 20)
    assert client._server.returncode == 0
    await client.stop()


asyncio.run(asyncio.wait_for(session(), 60))
print("ok")
