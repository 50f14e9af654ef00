//! The commands, run as people run them: real processes, a home and a temporary directory of their own.

#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/demo.rs"]
mod demo;
#[path = "cli/harness.rs"]
mod harness;
#[path = "cli/looking.rs"]
mod looking;
#[path = "cli/oddities.rs"]
mod oddities;
#[path = "cli/transcripts.rs"]
mod transcripts;
#[path = "cli/usage.rs"]
mod usage;
