//! Counts of a test run, read from what `cargo test` prints.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use crate::steps::say;

/// Tests of one or several runs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tests that passed.
    pub(crate) passed: usize,
    /// Tests that failed.
    pub(crate) failed: usize,
}

/// Runs `command`, passes its output on, and counts its tests.
///
/// # Errors
/// When it cannot be started, fails, or a test failed: the counts are in the message then.
pub(crate) fn run_tests(command: &mut Command) -> anyhow::Result<Counts> {
    let mut child = command.stdout(Stdio::piped()).spawn().with_context(|| format!("failed to start {command:?}"))?;
    let output = child.stdout.take().context("standard output is piped")?;
    let mut counts = Counts::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        counts = counts.and(Counts::of_line(&line));
        say(&line);
    }
    let status = child.wait()?;
    if status.success() && counts.failed == 0 {
        return Ok(counts);
    }
    bail!("{} passed, {} failed ({status})", counts.passed, counts.failed)
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
