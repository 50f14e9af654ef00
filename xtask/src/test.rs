//! Everything that must hold before a change is done.

use std::path::Path;
use std::process::Command;

use crate::dependencies;
use crate::links::links;
use crate::modules;
use crate::protocol;
use crate::steps::{Steps, say};
use crate::test_output::{build_tests, run_tests};
use crate::workspace::{build_server, cargo, run};

/// Runs all checks and tests, and stops at the first step that fails.
///
/// # Errors
/// With the name of the step.
pub fn test() -> anyhow::Result<()> {
    let mut steps = Steps::default();
    steps.run("formatting", || run(&mut cargo(&["fmt", "--all", "--check"])))?;
    steps.run("links", links)?;
    steps.run("dependencies", dependencies::check)?;
    steps.run("modules", modules::check)?;
    steps.run("WebAssembly", check_web_assembly)?;
    let programs = steps.run("programs with tests, lints and documentation", build_tests)?;
    // Building the tests has built it, too: it takes no time here.
    let server = steps.run("the server", || build_server("dev"))?;
    let counts = steps.run("tests", || run_tests(programs, &server))?;
    steps.run("generated files", || protocol::check(&server))?;
    steps.list();
    say(&format!("\n{} passed, {} failed", counts.passed, counts.failed));
    Ok(())
}

/// Checks that the pure part is built for WebAssembly, where the toolchain has that target.
fn check_web_assembly() -> anyhow::Result<()> {
    const TARGET: &str = "wasm32-unknown-unknown";
    let library = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output()?;
    if !Path::new(String::from_utf8(library.stdout)?.trim()).is_dir() {
        say(&format!("skipped: the toolchain has no {TARGET}; `rustup target add {TARGET}` installs it"));
        return Ok(());
    }
    run(&mut cargo(&["check", "--package", "compaction-core", "--target", TARGET, "--locked"]))
}
