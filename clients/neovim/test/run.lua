-- Drives the plugin as a person does, by keys, and prints what the buffers show after each step:
--   nvim --headless --clean -l test/run.lua
-- COMPACTD_BIN names the server.
local here = vim.fn.fnamemodify(debug.getinfo(1, "S").source:sub(2), ":p:h:h")
vim.opt.runtimepath:prepend(here)

local place = vim.fn.tempname()
vim.fn.mkdir(place, "p")
local file = place .. "/sample.jsonl"
assert(vim.uv.fs_copyfile(here .. "/../editors/sample.jsonl", file))
vim.g.compactd = {
  agent_dir = place,
  settings = {
    compaction = { keepRecentTokens = 100 },
    compactd = { summarizer = "slow", summarizers = { slow = { provider = "command", command = { "sh", here .. "/../editors/summarizer.sh" } } } },
  },
}

local compactd = require("compactd")
vim.cmd.runtime("plugin/compactd.lua")

local function text()
  return vim.api.nvim_buf_get_lines(0, 0, -1, false)
end

local function print_lines(name, lines)
  local shown = table.concat(lines, "\n"):gsub(vim.pesc(place), "/home/ada"):gsub(vim.pesc(vim.uv.os_gethostname()), "ada")
  io.stdout:write(("\n== %s\n%s\n==\n"):format(name, shown))
end

local function print_step(name)
  print_lines(name, text())
end

local function has(pattern, lines)
  for number, line in ipairs(lines or text()) do
    if line:find(pattern) then
      return number
    end
  end
  error(("no line has %q in:\n%s"):format(pattern, table.concat(lines or text(), "\n")))
end

local function lacks(pattern)
  assert(not pcall(has, pattern), ("a line has %q"):format(pattern))
end

local function press(keys)
  vim.api.nvim_feedkeys(vim.keycode(keys), "x", false)
  assert(compactd.wait(20000), "the server does not answer")
end

--- Goes to the line with this text.
local function to(pattern)
  vim.api.nvim_win_set_cursor(0, { has(pattern), 0 })
end

local function bytes()
  return vim.fn.getfsize(file)
end

local function run()
  local before = bytes()
  vim.cmd.edit(file)
  vim.cmd("Compactd")
  assert(compactd.wait(20000), "the server does not answer")
  print_step("the tree")
  has("^sample.jsonl: 24 entries, 2 branches$")
  has("^├─◦ 1a2b3c77 user       Print the JSON on one line%.$")
  has("◀ leaf$")
  assert(vim.api.nvim_win_get_cursor(0)[1] == has("◀ leaf"), "the cursor is at the leaf")

  press("d")
  print_step("d: the dry run")
  has("^%-%-%- context now: %d+ tokens$")
  has("^%-user       Add a %-%-json flag")
  has("^%+summary of 12 messages")
  has("^ user       Now write a test")
  assert(vim.bo.filetype == "diff" and bytes() == before, "a dry run changes nothing")
  press("q")

  local states = {}
  local tree_buffer = vim.api.nvim_get_current_buf()
  vim.api.nvim_buf_attach(tree_buffer, false, {
    on_lines = function()
      local line = vim.api.nvim_buf_get_lines(tree_buffer, 1, 2, false)[1]
      states[#states + 1] = line ~= states[#states] and line or nil
    end,
  })
  press("c")
  print_lines("c: what the second line says while it compacts", { states[1], states[2], states[3], "…", states[#states - 1], states[#states] })
  has("^compacting: %d+ tokens before$", states)
  assert(#states >= 5, "progress is told while the summary is written")
  has("^summarizing: [1-9]%d* tokens written$", states)
  print_step("the tree after it")
  has("^compacted %d+ tokens to %d+%. ")
  has("compaction .* ◀ leaf$")
  assert(bytes() > before, "the entry is in the file")

  to("compaction ")
  press("K")
  print_step("K: the summary")
  has("^## Goal$")
  has("total_cost")
  press("q")

  to("1a2b3cee")
  press("K")
  print_step("K: a tool call")
  has("^%[edit%]$")
  has("^path: src/report.py$")
  press("q")

  press("u")
  print_step("u: undone")
  has("^undone: compaction %x+; the leaf is %x+$")
  has("The README does not mention .* ◀ leaf$")
  has("^◦ %x+ compaction Add a %-%-json flag")

  to("One line breaks")
  press("s")
  print_step("s: at the other branch, with a summary of what was left")
  has("^at 1a2b3caa, the summary of what was left is %x+$")
  has("summary .* ◀ leaf$")

  to("Thanks%. What is left")
  press("<CR>")
  print_step("<CR>: at a message of the person, without a summary")
  has("^at 1a2b3d87; the text of the message is in the unnamed register$")
  assert(vim.fn.getreg('"') == "Thanks. What is left to do?", "the text comes back")
  has("all 13 tests pass. ◀ leaf$")

  -- Somebody else works on the session: nothing is changed, and the reason is told.
  local taken = vim.system({ vim.env.COMPACTD_BIN or "compactd" }, { stdin = true })
  taken:write('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"other"}}}\n')
  taken:write(vim.json.encode({ jsonrpc = "2.0", id = 2, method = "openSession", params = { path = file } }) .. "\n")
  vim.wait(2000, function()
    local line = vim.system({ "sh", "-c", "ls " .. place .. "/*.lock 2>/dev/null" }):wait().stdout
    return line ~= ""
  end, 20)
  vim.wait(500)
  local size = bytes()
  press("c")
  print_step("c: while another program writes the session")
  has("^failed to lock .*%(sessionLocked%)$")
  assert(bytes() == size, "nothing is changed")
  taken:kill(15)
  taken:wait(5000)

  press("q")
  lacks("sample.jsonl: ")
  compactd.open(place .. "/none.jsonl")
  assert(compactd.wait(20000))
  print_step("a file that is not there")
  has("^failed: .*%(sessionNotFound%)$")
end

local worked, failure = xpcall(run, debug.traceback)
require("compactd.server").stop()
vim.fn.delete(place, "rf")
if not worked then
  io.stderr:write(failure .. "\n")
  os.exit(1)
end
io.stdout:write("\nneovim: 1 passed, 0 failed\n")
