//! Faults for longer than a test may take.

use crate::workspace::{build_server, cargo, run};

/// Builds the server and the killing program in release mode, and kills `runs` servers. Then the server gets
/// the largest message that it takes, in little memory.
///
/// # Errors
/// When either cannot be built, anything was lost, or the message was not taken.
pub fn soak(runs: u64) -> anyhow::Result<()> {
    let server = build_server("release")?;
    let runs = runs.to_string();
    let arguments =
        ["run", "--quiet", "--release", "--package", "compactd-tests", "--bin", "compactd-soak", "--", &runs];
    run(cargo(&arguments).env("COMPACTD_BIN", &server))?;
    let large = ["test", "--release", "--package", "compactd-tests", "--test", "memory", "a_large_message"];
    run(cargo(&large).env("COMPACTD_BIN", server).env("MESSAGE_MEGABYTES", "57"))
}
