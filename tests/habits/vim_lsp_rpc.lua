-- A session through vim.lsp.rpc of Neovim, which keeps errors of cancelled requests to itself.
-- nvim --headless --clean -l vim_lsp_rpc.lua
local HEADINGS = {
  "## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress", "### Blocked",
  "## Key Decisions", "## Next Steps", "## Critical Context",
}
local SUMMARY = { text = table.concat(HEADINGS, "\n- point\n\n") .. "\n- point", stopReason = "stop", usage = vim.NIL }

local home = vim.fn.tempname()
vim.fn.mkdir(home, "p")
local hooks, ends, patient, cancelled, asked, exit_code = 0, {}, false, false, nil, nil

local function wait(what, done)
  assert(vim.wait(20000, done, 5), what .. " did not happen")
end

local connection = vim.lsp.rpc.start({ vim.env.COMPACTD_BIN }, {
  notification = function(method, params)
    if method == "compactionEnd" then
      ends[#ends + 1] = params
    elseif method == "$/cancelRequest" then
      coroutine.resume(asked)
    end
  end,
  server_request = function(method)
    if method == "sessionBeforeCompact" then
      hooks = hooks + 1
      return vim.NIL
    end
    if patient then
      -- The library runs handlers in coroutines: one that yields answers when it is resumed.
      asked = coroutine.running()
      coroutine.yield()
      cancelled = true
      return nil, vim.lsp.rpc.rpc_response_error(vim.lsp.protocol.ErrorCodes.RequestCancelled)
    end
    return SUMMARY
  end,
  on_exit = function(code) exit_code = code end,
}, { cwd = home, env = { HOME = home } })

local function call(method, params)
  local answered, failure, result
  connection.request(method, params, function(...)
    answered, failure, result = true, ...
  end)
  wait(method, function() return answered end)
  assert(not failure, vim.inspect(failure))
  return result
end

call("ping", vim.NIL)
local hello = call("initialize", {
  protocolVersion = 1, clientInfo = { name = "vim.lsp.rpc" }, cwd = home, agentDir = home, settings = vim.NIL,
  capabilities = { summarize = true, hooks = { "sessionBeforeCompact" } },
})
assert(vim.tbl_isempty(hello.diagnostics))
call("listSessions", nil)
-- An empty table is an empty list to Lua, and counts as no parameters.
local session = call("createSession", {}).sessionId
for turn = 1, 8 do
  local message = { role = "user", content = ("Turn %d: "):format(turn) .. ("a wish and its reason. "):rep(40), timestamp = turn }
  call("appendMessage", { sessionId = session, message = message, expectedLeafId = vim.NIL })
end
local compact = {
  sessionId = session, summarizer = "host", settings = { keepRecentTokens = 300 }, customInstructions = vim.NIL,
}
local done = call("compact", compact)
assert(done.summarizer == "host" and hooks == 1 and #ends == 1, vim.inspect(done))
call("appendMessage", { sessionId = session, message = { role = "user", content = ("More. "):rep(600) } })

patient = true
local called = false
local _, id = connection.request("compact", compact, function() called = true end)
wait("the request for a summary", function() return asked ~= nil end)
connection.notify("$/cancelRequest", { id = id })
wait("the end of the compaction", function() return #ends == 2 and cancelled end)
assert(ends[2].aborted)
assert(call("ping") == nil)
assert(not called, "the library does not report errors with code -32800")
call("shutdown", vim.NIL)
connection.notify("exit", vim.NIL)
wait("the end of the server", function() return exit_code ~= nil end)
assert(exit_code == 0, exit_code)
vim.fn.delete(home, "rf")
print("ok")
