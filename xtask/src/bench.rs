//! Measurements of the server as a client sees it.

use crate::workspace::{build_server, cargo, run};

/// Builds the server and the measuring program in release mode, and runs it.
///
/// # Errors
/// When either cannot be built, or the measuring fails.
pub fn bench(is_quick: bool) -> anyhow::Result<()> {
    let server = build_server("release")?;
    let arguments = ["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-bench"];
    let mut command = cargo(&arguments);
    command.args(is_quick.then_some(["--", "--quick"]).into_iter().flatten());
    run(command.env("COMPACTD_BIN", server))
}
