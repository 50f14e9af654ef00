//! What compactions keep, measured on sessions.

use crate::workspace::{cargo, run};

/// Runs the measuring program with `arguments`: files, `--budget-tokens N`, `--missing`, `--check`.
///
/// # Errors
/// When it cannot be built, a file cannot be read, or with `--check` a goal is missed.
pub fn quality(arguments: &[&str]) -> anyhow::Result<()> {
    let program = &["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-quality"];
    run(cargo(program).arg("--").args(arguments))
}
