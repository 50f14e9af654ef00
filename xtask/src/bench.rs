//! Measurements, ours beside those of the published package.

use crate::workspace::{build_server, cargo, run};

/// Builds the server and the measuring program in release mode, and runs it with `arguments`:
/// `--quick`, `--full`, `--no-peer`, `--keep DIRECTORY`.
///
/// # Errors
/// When either cannot be built, or the measuring fails.
pub fn bench(arguments: &[&str]) -> anyhow::Result<()> {
    let server = build_server("release")?;
    let mut command = cargo(&["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-bench"]);
    run(command.arg("--").args(arguments).env("COMPACTD_BIN", server))
}
