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
    steps.run("lints", || {
        run(&mut cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "--deny", "warnings"]))
    })?;
    steps.run("documentation", document)?;
    steps.run("links", links)?;
    steps.run("dependencies", dependencies::check)?;
    steps.run("modules", modules::check)?;
    steps.run("WebAssembly", check_web_assembly)?;
    let programs = steps.run("the programs with tests", build_tests)?;
    // Building the tests has built it, too: it takes no time here.
    let server = steps.run("the server", || build_server("dev"))?;
    let counts = steps.run("tests", || run_tests(programs, &server))?;
    steps.run("generated files", || protocol::check(&server))?;
    steps.list();
    say(&format!("\n{} passed, {} failed", counts.passed, counts.failed));
    Ok(())
}

/// Builds the documentation. `cargo doc` needs the members of the workspace checked. With the compiler and the arguments of
/// the lints, it takes those that the step before has checked.
fn document() -> anyhow::Result<()> {
    let mut command = cargo(&["doc", "--workspace", "--no-deps", "--locked"]);
    command.env("RUSTDOCFLAGS", "--deny warnings");
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output()?;
    let driver = Path::new(String::from_utf8(sysroot.stdout)?.trim()).join("bin").join(LINT_DRIVER);
    // Without the driver, the members are checked again.
    if driver.is_file() {
        command.env("RUSTC_WORKSPACE_WRAPPER", driver).env("CLIPPY_ARGS", LINT_ARGUMENTS);
    }
    run(&mut command)
}

/// The compiler that `cargo clippy` uses for the members of the workspace.
const LINT_DRIVER: &str = if cfg!(windows) { "clippy-driver.exe" } else { "clippy-driver" };
/// The arguments `--deny warnings` in the form in which `cargo clippy` passes them to it.
const LINT_ARGUMENTS: &str = "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__";

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
