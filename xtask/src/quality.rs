//! What compactions keep, measured on sessions.

use crate::workspace::{build_server, cargo, run};

/// Builds the server and the measuring program in release mode, and runs it with `arguments`: files,
/// `--only`, `--check`, `--check-questions` and the others of the usage.
///
/// # Errors
/// When either cannot be built, a file cannot be read, or with a check a goal is missed.
pub fn quality(arguments: &[&str]) -> anyhow::Result<()> {
    let server = build_server("release")?;
    let program = &["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-quality"];
    run(cargo(program).arg("--").args(arguments).env("COMPACTD_BIN", server))
}

/// Runs the program that measures what `recall` gives back, with `arguments`: `--most N`, `--seed N`,
/// `--missing`, `--check`.
///
/// # Errors
/// When it or the server cannot be built, a file cannot be read, or with `--check` a goal is missed.
pub fn recall(arguments: &[&str]) -> anyhow::Result<()> {
    let server = build_server("release")?;
    let program = &["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-recall"];
    run(cargo(program).env("COMPACTD_BIN", server).arg("--").args(arguments))
}
