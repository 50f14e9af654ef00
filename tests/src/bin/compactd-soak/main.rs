//! Faults for as long as one likes: `cargo xtask soak`.

use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use compactd_tests::faults::kill::kill_servers;

/// Runs after which the progress is printed.
const REPORT_EVERY: u64 = 100;

#[expect(clippy::print_stderr, reason = "a program tells its user why it failed")]
fn main() -> ExitCode {
    match soak() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

#[expect(clippy::print_stdout, reason = "a program reports to a terminal")]
fn soak() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let runs: u64 = arguments.next().map_or(Ok(1000), |runs| runs.parse()).context("the number of runs")?;
    let seed: u64 =
        arguments.next().map_or(Ok(u64::from(std::process::id())), |seed| seed.parse()).context("the seed")?;
    let started = Instant::now();
    println!("killing {runs} servers, seed {seed}");
    let mut done = 0;
    while done < runs {
        let part = REPORT_EVERY.min(runs - done);
        let tally = kill_servers(part, seed.wrapping_add(done))?;
        done += part;
        println!("{done:>6} killed after {:>4} s: {tally:?}", started.elapsed().as_secs());
    }
    Ok(())
}
