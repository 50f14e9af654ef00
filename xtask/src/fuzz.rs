//! Random bytes for all that reads what it did not write, guided by the code that they reach.

use std::process::Command;

use anyhow::Context as _;

use crate::workspace::{root, run};

/// The targets of `fuzz/`.
const TARGETS: [&str; 5] = ["open_session", "tail_session", "frame_reader", "parse_entry", "read_transcript"];

/// Runs each target for `seconds` with `cargo fuzz`, whose inputs grow from `fuzz/seeds`.
///
/// The sanitizer that `cargo fuzz` switches on by default looks for faults of unsafe code, of which
/// there is none, and needs a nightly compiler; without it the one of the workspace will do, if it
/// is set to accept the flags that count coverage.
///
/// # Errors
/// When cargo-fuzz is missing, or a target finds an input that fails; its file is named then.
pub fn fuzz(seconds: u64) -> anyhow::Result<()> {
    for target in TARGETS {
        let fuzz = root().join("fuzz");
        let (corpus, seeds) = (fuzz.join("corpus").join(target), fuzz.join("seeds").join(target));
        std::fs::create_dir_all(&corpus)?;
        let mut command = Command::new("cargo");
        command.args(["fuzz", "run", "--sanitizer", "none", target]).args([&corpus, &seeds]);
        command.args(["--", "-max_len=4096", "-timeout=10", &format!("-max_total_time={seconds}")]);
        command.current_dir(root()).env("RUSTC_BOOTSTRAP", "1");
        run(&mut command).with_context(|| format!("failed to fuzz {target}; is cargo-fuzz installed?"))?;
    }
    Ok(())
}
