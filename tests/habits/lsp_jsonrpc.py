"""A session through python-lsp-jsonrpc, whose handlers answer null where they return nothing."""

import itertools
import threading

from pylsp_jsonrpc.endpoint import Endpoint
from pylsp_jsonrpc.exceptions import JsonRpcException
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

from common import INITIALIZE, SUMMARY, compact, message, start

server = start()
hooks = []
ends = []
cancelled = threading.Event()
patient = threading.Event()


def summarize(_params):
    def answer():
        if patient.is_set():
            cancelled.wait(20)
        return SUMMARY

    return answer


def ended(params):
    ends.append(params)
    if params["aborted"]:
        cancelled.set()


dispatcher = {"sessionBeforeCompact": hooks.append, "summarize": summarize, "compactionEnd": ended}
for quiet in ["entryAppended", "compactionStart", "compactionProgress"]:
    dispatcher[quiet] = lambda _params: None
numbers = itertools.count(1)
ids = []


def next_id():
    ids.append(next(numbers))
    return ids[-1]


endpoint = Endpoint(dispatcher, JsonRpcStreamWriter(server.stdin).write, id_generator=next_id)
reader = JsonRpcStreamReader(server.stdout)
threading.Thread(target=reader.listen, args=(endpoint.consume,), daemon=True).start()


def call(method, params=None):
    return endpoint.request(method, params).result(20)


call("ping")
assert call("initialize", INITIALIZE)["diagnostics"] == []
assert call("listSessions", []) == {"sessions": []}
session_id = call("createSession")["sessionId"]
for turn in range(8):
    call("appendMessage", {"sessionId": session_id, "message": message(turn), "expectedLeafId": None})
done = call("compact", compact(session_id))
assert done["summarizer"] == "host" and len(hooks) == 1 and len(ends) == 1
call("appendMessage", {"sessionId": session_id, "message": {"role": "user", "content": "More. " * 600}})
patient.set()
running = endpoint.request("compact", compact(session_id))
while len(hooks) < 2:
    threading.Event().wait(0.02)
# The library's own cancel() ends its reader when the reply comes.
endpoint.notify("$/cancelRequest", {"id": ids[-1]})
try:
    running.result(20)
    raise AssertionError("it was cancelled")
except JsonRpcException as error:
    assert error.code == -32800, error
assert cancelled.wait(20) and ends[1]["aborted"]
assert call("shutdown") is None
endpoint.notify("exit")
assert server.wait(20) == 0
print("ok")
