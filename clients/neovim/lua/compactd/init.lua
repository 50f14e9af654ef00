-- compactd in Neovim: the tree of a session in a buffer, and what can be done with it.
local server = require("compactd.server")
local tree = require("compactd.tree")

local M = {}

local KEYS = "<CR> go   s go with a summary   c compact   d dry run   u undo   K show   r refresh   q close"
local HEAD = 4

-- What is shown, by buffer.
local views = {}
-- Requests that have not been answered.
local open_requests = 0

local function tell(view, status)
  view.status = status
  if vim.api.nvim_buf_is_valid(view.buffer) then
    vim.bo[view.buffer].modifiable = true
    vim.api.nvim_buf_set_lines(view.buffer, 1, 2, false, { status })
    vim.bo[view.buffer].modifiable = false
    vim.cmd.redraw()
  end
end

--- Sends a request for a view. A failure is told in its buffer; `done(result)` is called without one, and
--- `finally()` in any case.
local function ask(view, method, params, done, finally)
  open_requests = open_requests + 1
  params.sessionId = params.path == nil and view.session_id or nil
  server.request(method, params, function(failure, result)
    open_requests = open_requests - 1
    if failure then
      local message = failure.message:find("^failed") and failure.message or "failed: " .. failure.message
      tell(view, ("%s (%s)"):format(message, (failure.data or {}).kind or failure.code))
    else
      done(result)
    end
    if finally then
      finally()
    end
  end)
end

local function counted(number, one, many)
  return ("%d %s"):format(number, number == 1 and one or many)
end

local function show(view, result)
  local rows, branches = tree.rows(result)
  view.rows = rows
  local name = vim.fn.fnamemodify(view.path, ":t")
  local head = ("%s: %s, %s"):format(name, counted(#rows, "entry", "entries"), counted(branches, "branch", "branches"))
  local lines = { head, view.status, KEYS, "" }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = row.text
  end
  vim.bo[view.buffer].modifiable = true
  vim.api.nvim_buf_set_lines(view.buffer, 0, -1, false, lines)
  vim.bo[view.buffer].modifiable = false
end

local function refresh(view, done)
  ask(view, "getTree", {}, function(result)
    if vim.api.nvim_buf_is_valid(view.buffer) then
      show(view, result)
      if done then
        done(result)
      end
    end
  end)
end

local PHASES = { waiting = "the model failed; it is asked again soon", committing = "writing the summary" }
local STATUS = {
  compactionStart = function(params)
    return ("compacting: %d tokens before"):format(params.tokensBefore)
  end,
  branchSummaryStart = function(params)
    return ("summarising the branch that is left: %d tokens"):format(params.estimatedTokens)
  end,
  compactionProgress = function(params)
    if params.phase ~= "summarizing" then
      return PHASES[params.phase] or params.phase
    end
    local request = params.requests > 1 and ("request %d of %d, "):format(params.request, params.requests) or ""
    return ("summarizing: %s%d tokens written"):format(request, params.outputTokens)
  end,
}
STATUS.branchSummaryProgress = STATUS.compactionProgress

local function hear(view, method, params)
  local status = STATUS[method]
  if status then
    tell(view, status(params))
  elseif method == "sessionChanged" then
    refresh(view)
  end
end

--- Opens the session for reading, which leaves the file to the agent that works on it.
local function open_for_reading(view, done)
  ask(view, "openSession", { path = view.path, readOnly = true }, done)
end

--- Does one change: the session is open for writing for just as long.
local function change(view, method, params, done)
  ask(view, "openSession", { path = view.path }, function()
    ask(view, method, params, function(result)
      tell(view, done(result))
    end, function()
      ask(view, "closeSession", {}, function()
        open_for_reading(view, function()
          refresh(view)
        end)
      end)
    end)
  end)
end

local function row_at_cursor(view)
  return view.rows[vim.api.nvim_win_get_cursor(0)[1] - HEAD]
end

--- A window with text beside the tree.
local function show_text(name, filetype, lines)
  vim.cmd("botright vnew")
  local buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].buftype, vim.bo[buffer].bufhidden, vim.bo[buffer].filetype = "nofile", "wipe", filetype
  vim.bo[buffer].modifiable = false
  vim.api.nvim_buf_set_name(buffer, ("compactd://%s/%d"):format(name, buffer))
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer })
end

--- Moves to the entry under the cursor, with a summary of the branch that is left or without.
local function go(view, summarize)
  local row = row_at_cursor(view)
  if not row then
    return
  end
  change(view, "navigateTree", { targetId = row.id, summarize = summarize }, function(result)
    local text = type(result.editorText) == "string" and result.editorText or nil
    if text then
      vim.fn.setreg('"', text)
    end
    local summary = type(result.summaryEntry) == "table" and result.summaryEntry or nil
    return ("at %s%s%s"):format(
      row.id,
      summary and (", the summary of what was left is %s"):format(summary.id) or "",
      text and "; the text of the message is in the unnamed register" or ""
    )
  end)
end

--- Compacts; `instructions` say what the summary looks at.
function M.compact(instructions)
  local view = views[vim.api.nvim_get_current_buf()]
  change(view, "compact", { customInstructions = instructions }, function(result)
    return ("compacted %d tokens to %d. %s"):format(result.tokensBefore, result.tokensAfter, result.brief)
  end)
end

--- The lines of a diff from the context now to the context that a compaction would leave.
local function diff(result, rows)
  local plan = result.preparation
  local before, after, kept = {}, {}, false
  for _, row in ipairs(rows) do
    if row.on_path then
      kept = kept or row.id == plan.firstKeptEntryId
      local line = ("%-10s %s"):format(tree.kind(row.node), tree.preview(row.node))
      table.insert(kept and after or before, line)
    end
  end
  local count = #plan.messagesToSummarize + #plan.turnPrefixMessages
  local lines = {
    ("--- context now: %d tokens"):format(plan.tokensBefore),
    ("+++ context after a compaction that keeps %s and what follows"):format(plan.firstKeptEntryId),
    ("@@ -1,%d +1,%d @@"):format(#before + #after, #after + 1),
  }
  for _, line in ipairs(before) do
    lines[#lines + 1] = "-" .. line
  end
  lines[#lines + 1] = ("+summary of %d messages; by itself it keeps %d %% of their requests, files and decisions"):format(
    count,
    math.floor(result.forecast.score * 100 + 0.5)
  )
  for _, line in ipairs(after) do
    lines[#lines + 1] = " " .. line
  end
  return lines
end

--- Shows what a compaction would do; changes nothing.
function M.dry_run()
  local view = views[vim.api.nvim_get_current_buf()]
  ask(view, "prepareCompaction", { include = { "forecast" } }, function(result)
    if type(result.preparation) ~= "table" then
      tell(view, ("nothing to compact: %s"):format(result.reason))
    else
      show_text("dry run", "diff", diff(result, view.rows))
    end
  end)
end

--- Brings back the context from before the last compaction.
function M.undo()
  change(views[vim.api.nvim_get_current_buf()], "undoCompaction", {}, function(result)
    return ("undone: compaction %s; the leaf is %s"):format(result.undoneEntryId, result.leafId)
  end)
end

--- A block of a message: its text, or what a tool is called with.
local function block_text(block)
  if block.type == "toolCall" then
    local lines = { ("[%s]"):format(block.name) }
    for name, value in vim.spairs(block.arguments) do
      lines[#lines + 1] = ("%s: %s"):format(name, type(value) == "string" and value or vim.json.encode(value))
    end
    return table.concat(lines, "\n")
  end
  return block.text or block.thinking or ("[%s]"):format(block.type)
end

--- Shows the entry under the cursor whole.
function M.show_entry()
  local view = views[vim.api.nvim_get_current_buf()]
  local row = row_at_cursor(view)
  if not row then
    return
  end
  ask(view, "getEntry", { entryId = row.id }, function(result)
    local entry = result.entry
    local content = type(entry.summary) == "string" and entry.summary
      or type(entry.message) == "table" and entry.message.content
      or vim.json.encode(entry)
    if type(content) == "table" then
      content = table.concat(vim.tbl_map(block_text, content), "\n\n")
    end
    show_text(entry.id, "markdown", vim.split(content, "\n"))
  end)
end

local function set_keys(view)
  local function map(key, action)
    vim.keymap.set("n", key, action, { buffer = view.buffer, nowait = true })
  end
  map("<CR>", function()
    go(view, false)
  end)
  map("s", function()
    go(view, true)
  end)
  map("c", function()
    M.compact()
  end)
  map("d", M.dry_run)
  map("u", M.undo)
  map("K", M.show_entry)
  map("r", function()
    refresh(view)
  end)
  map("q", "<Cmd>bwipeout<CR>")
end

--- Shows the tree of the session file at `path` in the current window.
function M.open(path)
  path = vim.fn.fnamemodify(path, ":p")
  for shown, view in pairs(views) do
    if view.path == path then
      return vim.api.nvim_win_set_buf(0, shown)
    end
  end
  local buffer = vim.api.nvim_create_buf(true, true)
  local view = { buffer = buffer, path = path, rows = {}, status = "ready" }
  views[buffer] = view
  open_for_reading(view, function(result)
    view.session_id = result.sessionId
    server.listen(result.sessionId, function(method, params)
      hear(view, method, params)
    end)
    refresh(view, function()
      vim.api.nvim_win_set_cursor(0, { math.min(HEAD + #view.rows, vim.api.nvim_buf_line_count(buffer)), 0 })
    end)
  end)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { path, "opening", KEYS, "" })
  vim.bo[buffer].modifiable, vim.bo[buffer].filetype, vim.bo[buffer].bufhidden = false, "compactd", "wipe"
  vim.api.nvim_buf_set_name(buffer, ("compactd://%s#%d"):format(path, buffer))
  vim.api.nvim_win_set_buf(0, buffer)
  vim.wo.wrap, vim.wo.cursorline = false, true
  set_keys(view)
  vim.api.nvim_create_autocmd("BufWipeout", {
    buffer = buffer,
    callback = function()
      views[buffer] = nil
      if view.session_id then
        server.listen(view.session_id, nil)
        server.request("closeSession", { sessionId = view.session_id }, function() end)
      end
    end,
  })
  vim.api.nvim_create_autocmd("VimLeavePre", { once = true, callback = server.stop })
end

--- Waits until the server has answered all that it was asked, for scripts. Gives whether it has.
function M.wait(milliseconds)
  return vim.wait(milliseconds or 10000, function()
    return open_requests == 0
  end, 5)
end

return M
