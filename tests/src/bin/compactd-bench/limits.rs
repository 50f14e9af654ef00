//! What the machine allows: two processes that only send lines to and fro, nothing else.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;

use crate::times::{Times, timed};

/// What makes this program give back every line that it reads.
pub(crate) const ARGUMENT: &str = "--echo";

/// Gives back every line of standard input.
pub(crate) fn echo_here() -> anyhow::Result<()> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        output.write_all(&line)?;
        output.flush()?;
        line.clear();
    }
    Ok(())
}

/// The median of `rounds` round trips of a line of `bytes` bytes between this process and another.
pub(crate) fn round_trip(bytes: usize, rounds: usize) -> anyhow::Result<Duration> {
    let mut command = Command::new(std::env::current_exe()?);
    let mut child = command.arg(ARGUMENT).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().context("standard input is piped")?;
    let mut output = BufReader::new(child.stdout.take().context("standard output is piped")?);
    let line = "x".repeat(bytes.saturating_sub(1)) + "\n";
    let mut back = String::new();
    let times = Times::of(rounds, || {
        timed(|| {
            back.clear();
            input.write_all(line.as_bytes())?;
            Ok(output.read_line(&mut back)?)
        })
    })?;
    drop(input);
    child.wait()?;
    Ok(times.median())
}
