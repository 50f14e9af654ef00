-- The tree of a session as lines. The current path stays in the first column; what branches off is shown before it goes on.
local M = {}

-- What these entries keep is shown with others, or is nothing that a person reads.
local HIDDEN = {
  context_edit = true,
  custom = true,
  label = true,
  model_change = true,
  session_info = true,
  thinking_level_change = true,
  usage = true,
}
local NAMES = { toolResult = "result", bashExecution = "command", branch_summary = "summary", custom_message = "message" }

local function path_to(leaf, nodes)
  local path = {}
  while leaf and nodes[leaf] and not path[leaf] do
    path[leaf] = true
    leaf = nodes[leaf].parentId
  end
  return path
end

--- The nearest entry that is shown, from this one towards the root.
local function shown(id, nodes)
  while id and nodes[id] and HIDDEN[nodes[id].type] do
    id = nodes[id].parentId
  end
  return id
end

--- What an entry is, in a word.
function M.kind(node)
  local kind = node.role or node.type
  return NAMES[kind] or kind
end

--- What an entry says. Of a summary that is its goal; its headings tell a person nothing.
function M.preview(node)
  local goal, more = node.preview:gsub("^## Goal %- ", "")
  return more > 0 and goal:gsub(" ## .*", " …") or goal
end

local function value(member)
  return member ~= vim.NIL and member or nil
end

--- Rows `{ id, text }`, and the number of branches, of the result of `getTree`.
function M.rows(tree)
  local nodes, children, roots = {}, {}, {}
  for _, node in ipairs(tree.nodes) do
    nodes[node.id] = { id = node.id, type = node.type, role = value(node.role), parentId = value(node.parentId) }
    nodes[node.id].preview, nodes[node.id].label = node.preview, value(node.label)
  end
  for _, node in ipairs(tree.nodes) do
    local parent = shown(nodes[node.id].parentId, nodes)
    if not HIDDEN[node.type] then
      local siblings = parent and nodes[parent] and (children[parent] or {}) or roots
      siblings[#siblings + 1] = node.id
      if siblings ~= roots then
        children[parent] = siblings
      end
    end
  end
  local path, leaf = path_to(value(tree.leafId), nodes), shown(value(tree.leafId), nodes)
  local rows, branches = {}, 0
  -- Not by recursion: a path may have more entries than calls can be nested.
  local waiting = {}
  local function push(siblings, depth)
    local main = #siblings
    for position, id in ipairs(siblings) do
      main = path[id] and position or main
    end
    if siblings[main] then
      waiting[#waiting + 1] = { siblings[main], depth, false }
    end
    for position = #siblings, 1, -1 do
      if position ~= main then
        waiting[#waiting + 1] = { siblings[position], depth + 1, true }
      end
    end
  end
  push(roots, 0)
  while #waiting > 0 do
    local id, depth, first = unpack(table.remove(waiting))
    local node, below = nodes[id], children[id] or {}
    local line = first and (("│ "):rep(depth - 1) .. "├─") or ("│ "):rep(depth)
    -- What is not on the current path has an open circle.
    line = ("%s%s %s %-10s %s"):format(line, path[id] and "•" or "◦", id, M.kind(node), M.preview(node))
    line = line .. (node.label and (" [%s]"):format(node.label) or "") .. (id == leaf and " ◀ leaf" or "")
    rows[#rows + 1] = { id = id, text = line, node = node, on_path = path[id] == true }
    branches = branches + (#below == 0 and 1 or 0)
    push(below, depth)
  end
  return rows, branches
end

return M
