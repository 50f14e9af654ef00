vim.api.nvim_create_user_command("Compactd", function(command)
  require("compactd").open(command.args ~= "" and command.args or vim.api.nvim_buf_get_name(0))
end, { nargs = "?", complete = "file", desc = "Show the tree of a session file" })
