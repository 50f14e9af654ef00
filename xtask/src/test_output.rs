//! Runs the tests of the workspace and counts them.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;

use anyhow::{Context as _, anyhow, bail, ensure};
use serde_json::Value;

use crate::steps::say;
use crate::workspace::cargo;

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
struct Program {
    path: PathBuf,
    /// The directory of its package, in which it runs.
    package: PathBuf,
    /// The source file that it begins with, for the reader of the output.
    source: String,
}

/// Builds and runs all tests of the workspace with the server at `server`, then the examples in the
/// documentation. Two programs run at a time, since many tests wait more than they compute. The output
/// of a program appears when the program ends.
///
/// # Errors
/// When something cannot be built, or a test failed: the counts are in the message then.
pub(crate) fn run_tests(server: &Path) -> anyhow::Result<Counts> {
    let mut queue: VecDeque<Program> = programs()?.into();
    // Those of the tests' own package take longest.
    queue.make_contiguous().sort_by_key(|program| !program.package.ends_with("tests"));
    let queue = Mutex::new(queue);
    let next = || queue.lock().map_or(None, |mut queue| queue.pop_front());
    let work = || {
        let mut counts = Counts::default();
        while let Some(program) = next() {
            counts = counts.and(program.run(server)?);
        }
        anyhow::Ok(counts)
    };
    let counts = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_fold(Counts::default(), |all, worker| {
            let counts = worker.join().map_err(|_| anyhow!("a thread that ran tests ended early"))??;
            anyhow::Ok(all.and(counts))
        })
    })?;
    let examples = cargo(&["test", "--workspace", "--no-fail-fast", "--locked", "--doc"]).output()?;
    let counts = counts.and(reported("examples in the documentation", &examples));
    if counts.failed == 0 { Ok(counts) } else { bail!("{} passed, {} failed", counts.passed, counts.failed) }
}

/// Programs that run at the same time.
const AT_ONCE: usize = 2;

/// Builds the tests of the workspace and returns the programs.
fn programs() -> anyhow::Result<Vec<Program>> {
    let arguments = ["test", "--workspace", "--locked", "--no-run", "--message-format", "json-render-diagnostics"];
    let built = cargo(&arguments).stderr(Stdio::inherit()).output()?;
    ensure!(built.status.success(), "the tests cannot be built ({})", built.status);
    let mut programs = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        let message: Value = serde_json::from_str(line)?;
        let (path, manifest) = (message["executable"].as_str(), message["manifest_path"].as_str());
        if let (Some(path), Some(manifest), Some(true)) = (path, manifest, message["profile"]["test"].as_bool()) {
            let package = Path::new(manifest).parent().context("a manifest lies in a directory")?.to_owned();
            let source = message["target"]["src_path"].as_str().unwrap_or(path).to_owned();
            programs.push(Program { path: path.into(), package, source });
        }
    }
    Ok(programs)
}

impl Program {
    fn run(&self, server: &Path) -> anyhow::Result<Counts> {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.package).env("CARGO_MANIFEST_DIR", &self.package).env("COMPACTD_BIN", server);
        let output = command.output().with_context(|| format!("failed to start {}", self.path.display()))?;
        Ok(reported(&self.source, &output))
    }
}

/// Passes on what a run printed and counts its tests. A run that failed without a failed test counts as
/// one.
fn reported(name: &str, output: &Output) -> Counts {
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut counts = printed.lines().map(Counts::of_line).fold(Counts::default(), Counts::and);
    if !output.status.success() {
        counts.failed = counts.failed.max(1);
    }
    say(&format!("     Running {name}\n{}{printed}", String::from_utf8_lossy(&output.stderr)));
    counts
}

impl Counts {
    fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    /// The counts in a line such as `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
    fn of_line(line: &str) -> Self {
        let Some(rest) = line.strip_prefix("test result: ") else {
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
}
