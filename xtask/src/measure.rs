//! Chores that build the server and a measuring program in release mode, and run it.

use std::process::Command;

use crate::workspace::{build_server, cargo, run};

/// Measures the server, beside the published package. `arguments`: `--quick`, `--full`, `--no-peer`, `--keep DIRECTORY`.
///
/// # Errors
/// When the programs cannot be built, or the measuring fails.
pub fn bench(arguments: &[&str]) -> anyhow::Result<()> {
    run(&mut program("compactd-bench", arguments)?)
}

/// Measures what compactions keep of sessions. `arguments`: files, `--only`, `--check`, `--check-questions` and the
/// others of the usage.
///
/// # Errors
/// When the programs cannot be built, a file cannot be read, or with a check a goal is missed.
pub fn quality(arguments: &[&str]) -> anyhow::Result<()> {
    run(&mut program("compactd-quality", arguments)?)
}

/// Measures what `recall` gives back. `arguments`: `--most N`, `--seed N`, `--missing`, `--check`.
///
/// # Errors
/// When the programs cannot be built, a file cannot be read, or with `--check` a goal is missed.
pub fn recall(arguments: &[&str]) -> anyhow::Result<()> {
    run(&mut program("compactd-recall", arguments)?)
}

/// Kills `runs` servers, for longer than a test may take. Then two tests run at full length: the server gets the largest
/// message that it takes, in little memory, and an agent works for 2,000 turns.
///
/// # Errors
/// When the programs cannot be built, anything was lost, or a test failed.
pub fn soak(runs: u64) -> anyhow::Result<()> {
    run(&mut program("compactd-soak", &[&runs.to_string()])?)?;
    let large = ["test", "--release", "--package", "compactd-tests", "--test", "memory", "a_large_message"];
    let server = build_server("release")?;
    run(cargo(&large).env("COMPACTD_BIN", &server).env("MESSAGE_MEGABYTES", "57"))?;
    let long = ["test", "--release", "--package", "compactd-tests", "--test", "agent_run", "hundreds_of_turns"];
    run(cargo(&long).env("COMPACTD_BIN", server).env("TURNS", "2000"))
}

fn program(name: &str, arguments: &[&str]) -> anyhow::Result<Command> {
    let server = build_server("release")?;
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", name, "--"]);
    command.args(arguments).env("COMPACTD_BIN", server);
    Ok(command)
}
