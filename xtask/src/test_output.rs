//! Runs the tests of the workspace and counts them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::compiler::lint_while_building;
use crate::queue::several_at_a_time;
use crate::steps::say;
use crate::workspace::{cargo, root};

/// Tests of one or several runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
}

/// A program with tests, as `cargo test --no-run` names it.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    /// The directory of its package, in which it runs.
    package: PathBuf,
    /// The source file that it begins with, for the reader of the output.
    source: String,
}

/// Programs that run at the same time. Each of them runs several tests at a time, and most tests wait more than they
/// compute.
const AT_ONCE: usize = 2;

/// Runs these programs with the server at `server`, then the examples in the documentation. Several programs run at
/// a time. The output of a program appears when the program ends; until then it is in a file that is named when the
/// program starts.
///
/// # Errors
/// When an example cannot be built, a test failed, or a program ended without the result of its tests: the
/// counts are in the message then.
pub(crate) fn run_tests(mut programs: Vec<Program>, server: &Path) -> anyhow::Result<Counts> {
    // Those of the tests' own package take longest.
    programs.sort_by_key(|program| !program.package.ends_with("tests"));
    let mut results = Vec::new();
    several_at_a_time(AT_ONCE, programs, |program| program.run(server), |result| results.push(result));
    let counts: Vec<Counts> = results.into_iter().collect::<anyhow::Result<_>>()?;
    let counts = counts.into_iter().fold(Counts::default(), Counts::and);
    let mut examples = cargo(&["test", "--workspace", "--no-fail-fast", "--locked", "--doc"]);
    lint_while_building(&mut examples)?;
    let counts = counts.and(run_and_count("examples in the documentation", "examples", &mut examples)?);
    if counts.failed == 0 { Ok(counts) } else { bail!("{} passed, {} failed", counts.passed, counts.failed) }
}

/// Builds the tests of the workspace with lints and documentation, and returns the programs.
///
/// # Errors
/// When something cannot be built, or a lint found something.
pub(crate) fn build_tests() -> anyhow::Result<Vec<Program>> {
    let arguments = ["test", "--workspace", "--locked", "--no-run", "--message-format", "json-render-diagnostics"];
    let mut command = cargo(&arguments);
    lint_while_building(&mut command)?;
    let built = command.stderr(Stdio::inherit()).output()?;
    ensure!(built.status.success(), "the tests cannot be built ({})", built.status);
    let mut programs = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        let (Some(path), true) = (message["executable"].as_str(), message["profile"]["test"] == true) else {
            continue;
        };
        let manifest = message["manifest_path"].as_str().with_context(|| format!("{path} has no manifest"))?;
        let package = Path::new(manifest).parent().context("a manifest lies in a directory")?.to_owned();
        let source = message["target"]["src_path"].as_str().unwrap_or(path).to_owned();
        programs.push(Program { path: path.into(), package, source });
    }
    ensure!(!programs.is_empty(), "cargo names no programs with tests");
    Ok(programs)
}

impl Program {
    fn run(&self, server: &Path) -> anyhow::Result<Counts> {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package).env("COMPACTD_BIN", server);
        let name = self.path.file_name().context("a program has a name")?.to_string_lossy();
        run_and_count(&self.source, &name, &mut command)
    }
}

/// Runs a program, passes on what it printed and counts its tests. Both streams go to one file: panics keep
/// their place, and a process that the program leaves behind with these streams is not waited for.
fn run_and_count(source: &str, name: &str, command: &mut Command) -> anyhow::Result<Counts> {
    let directory = root().join("target/test-output");
    std::fs::create_dir_all(&directory)?;
    let path = directory.join(format!("{name}.txt"));
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
    say(&format!("     Started {source} ({})", path.display()));
    let status = command.status().with_context(|| format!("failed to start {source}"))?;
    let printed = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
    say(&format!("       Ended {source}\n{printed}"));
    let (counts, fault) = outcome(status, &printed);
    if let Some(fault) = fault {
        say(&format!("      Failed {source}: {fault}"));
    }
    Ok(counts)
}

/// The tests that a program ran, and why it failed if it did. A program that failed without a failed test,
/// or ended without a result, counts as one.
fn outcome(status: ExitStatus, printed: &str) -> (Counts, Option<String>) {
    let mut counts = printed.lines().map(Counts::of_line).fold(Counts::default(), Counts::and);
    let fault = if !status.success() {
        Some(status.to_string())
    } else if !printed.lines().any(|line| line.starts_with(RESULT)) {
        Some(format!("{status}, without a result"))
    } else {
        None
    };
    if fault.is_some() {
        counts.failed = counts.failed.max(1);
    }
    (counts, fault)
}

/// What the last line of a program with tests begins with.
const RESULT: &str = "test result: ";

impl Counts {
    fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    /// The counts in a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
    fn of_line(line: &str) -> Self {
        let Some(rest) = line.strip_prefix(RESULT) else {
            return Self::default();
        };
        let number = |what: &str| {
            let before = rest.split(what).next().unwrap_or_default();
            before.split_whitespace().last().and_then(|number| number.parse().ok()).unwrap_or(0)
        };
        Self { passed: number(" passed"), failed: number(" failed") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_result_lines_count() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.10s";
        assert_eq!(Counts::of_line(line), Counts { passed: 12, failed: 3 });
        assert_eq!(Counts::of_line("test a ... ok"), Counts::default());
        assert_eq!(Counts::of_line("1 passed, 5 failed"), Counts::default());
    }
    #[cfg(unix)]
    #[test]
    fn a_program_that_was_killed_or_printed_no_result_failed() {
        use std::os::unix::process::ExitStatusExt as _;
        let ended = |raw, printed: &str| outcome(ExitStatus::from_raw(raw), printed);
        let good = "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\n";
        assert_eq!(ended(0, good), (Counts { passed: 2, failed: 0 }, None));
        for (raw, printed, says) in [(9, good, "signal: 9"), (101 << 8, "", "101"), (0, "", "without a result")] {
            let (counts, fault) = ended(raw, printed);
            assert_eq!(counts.failed, 1, "{raw} {printed}");
            assert!(fault.is_some_and(|fault| fault.contains(says)), "{raw} {printed}");
        }
    }
}
