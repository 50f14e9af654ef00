"""A session through pylspclient, which cannot answer null, and whose reader waits for its handlers."""

import threading

from pylspclient import JsonRpcEndpoint, LspEndpoint
from pylspclient.lsp_errors import ResponseError

from common import INITIALIZE, SUMMARY, compact, message, start

server = start()
hooks = []
answers = [None]
ends = []
patient, asked, released = threading.Event(), threading.Event(), threading.Event()


def summarize(_params):
    if patient.is_set():
        asked.set()
        assert released.wait(20)
    return SUMMARY


def before(params):
    hooks.append(params)
    return answers[-1]


methods = {"sessionBeforeCompact": before, "summarize": summarize}
notifications = {"compactionEnd": ends.append}
for quiet in ["entryAppended", "compactionStart", "compactionProgress"]:
    notifications[quiet] = lambda _params: None
endpoint = LspEndpoint(JsonRpcEndpoint(server.stdin, server.stdout), methods, notifications, timeout=20)
endpoint.daemon = True
endpoint.start()
call = endpoint.call_method

assert call("ping") is None
assert call("initialize", **INITIALIZE)["diagnostics"] == []
assert call("listSessions", cwd=None) == {"sessions": []}
session_id = call("createSession")["sessionId"]
for turn in range(8):
    call("appendMessage", sessionId=session_id, message=message(turn), expectedLeafId=None)
# The library leaves out what is false for Python, so that None and {} are no answer at all.
try:
    call("compact", **compact(session_id))
    raise AssertionError("the hook has not answered")
except ResponseError as error:
    assert int(error.code) == 1107, error
answers.append({"cancel": False})
done = call("compact", **compact(session_id))
assert done["summarizer"] == "host" and len(hooks) == 2 and ends[-1]["result"] == done
call("appendMessage", sessionId=session_id, message={"role": "user", "content": "More. " * 600})

patient.set()
errors = []


def run():
    try:
        call("compact", **compact(session_id))
    except ResponseError as error:
        errors.append(int(error.code))


running = threading.Thread(target=run)
running.start()
assert asked.wait(20)
endpoint.send_notification("$/cancelRequest", id=endpoint.next_id - 1)
# The reader waits in `summarize`, so the cancellation of that request stays unread; the late answer does no harm.
released.set()
running.join(20)
assert errors == [-32800], errors
assert ends[-1]["aborted"]
assert call("shutdown") is None
endpoint.stop()
endpoint.send_notification("exit")
assert server.wait(20) == 0
print("ok")
