-- The server: one process for this Neovim, started by the first request.
local M = {}

local connection
-- Functions that hear notifications, by the id of their session.
local listeners = {}

local function program(config)
  local command = config.command or vim.env.COMPACTD_BIN or "compactd"
  local path = vim.fn.exepath(command)
  if path == "" then
    error(
      ("compactd: there is no program %s. Install it by `npm install --global compactd-client`, "):format(command)
        .. "`pip install compactd-client` or `cargo install compactd`, or set vim.g.compactd = { command = \"/its/path\" }.",
      0
    )
  end
  return path
end

local function start()
  local config = vim.g.compactd or {}
  local dispatchers = {
    notification = function(method, params)
      local listener = params and listeners[params.sessionId]
      if listener then
        listener(method, params)
      end
    end,
    on_exit = function(code, signal)
      connection = nil
      if code ~= 0 then
        vim.notify(("compactd: the server ended with code %d, signal %d"):format(code, signal), vim.log.levels.ERROR)
      end
    end,
  }
  connection = vim.lsp.rpc.start({ program(config) }, dispatchers)
  connection.request("initialize", {
    protocolVersion = 1,
    clientInfo = { name = "neovim", version = tostring(vim.version()) },
    processId = vim.fn.getpid(),
    cwd = vim.fn.getcwd(),
    settings = config.settings,
    agentDir = config.agent_dir,
  }, function(failure)
    if failure then
      vim.notify("compactd: " .. failure.message, vim.log.levels.ERROR)
    end
  end)
end

--- Sends a request. `done(failure, result)` is called with what the server answers.
function M.request(method, params, done)
  if not connection or connection.is_closing() then
    start()
  end
  if vim.tbl_isempty(params) then
    params = vim.empty_dict()
  end
  if not connection.request(method, params, done) then
    done({ message = "the server has ended" })
  end
end

--- Calls `listener(method, params)` for every notification about this session; nil ends it.
function M.listen(session_id, listener)
  listeners[session_id] = listener
end

--- Ends the server, and waits a second at most until it has.
function M.stop()
  if not connection then
    return
  end
  local gone = false
  connection.request("shutdown", vim.empty_dict(), function()
    connection.notify("exit", vim.empty_dict())
    gone = true
  end)
  vim.wait(1000, function()
    return gone
  end, 10)
end

return M
