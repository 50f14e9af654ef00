//! The commands, run as people run them: real processes, a home and a temporary directory of their own.

#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/harness.rs"]
mod harness;
#[path = "cli/hook.rs"]
mod hook;
#[path = "cli/inspect.rs"]
mod inspect;
#[path = "cli/mcp.rs"]
mod mcp;
#[path = "cli/oddities.rs"]
mod oddities;
#[path = "cli/shell.rs"]
mod shell;
#[path = "cli/transcripts.rs"]
mod transcripts;
#[path = "cli/usage.rs"]
mod usage;
