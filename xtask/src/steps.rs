//! Steps with names and times.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// Steps that were done.
#[derive(Debug, Default)]
pub(crate) struct Steps(Vec<(&'static str, Duration)>);

impl Steps {
    /// Does one step. Its failure carries its name, and ends the chore.
    pub(crate) fn run<T>(&mut self, name: &'static str, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<T> {
        say(&format!("\n== {name}"));
        let started = Instant::now();
        let result = work().with_context(|| format!("step failed: {name}"))?;
        self.0.push((name, started.elapsed()));
        Ok(result)
    }

    /// Takes note of a step that was done elsewhere.
    pub(crate) fn add(&mut self, name: &'static str, time: Duration) {
        self.0.push((name, time));
    }

    /// Prints the steps with their times.
    pub(crate) fn list(&self) {
        say("\nSteps:");
        for (name, time) in &self.0 {
            say(&format!("  {:>7.1} s  {name}", time.as_secs_f64()));
        }
    }
}

/// Tells the user something.
#[expect(clippy::print_stdout, reason = "a chore reports to a terminal")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}
