//! Faults for longer than a test may take.

use crate::workspace::{build_server, cargo, run};

/// Builds the server and the killing program in release mode, and kills `runs` servers.
///
/// # Errors
/// When either cannot be built, or anything was lost.
pub fn soak(runs: &str) -> anyhow::Result<()> {
    let server = build_server("release")?;
    let arguments =
        ["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-soak", "--", runs];
    run(cargo(&arguments).env("COMPACTD_BIN", server))
}
