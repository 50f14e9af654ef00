//! The same answers as the published peer package, on random sessions of every entry type and shape.
//!
//! Each seed gives a session; the peer and this project are asked about it at several leaves. What must
//! differ by the rules in `docs` is listed in [`rules::Rule`]: each rule turns the peer's answer (or the
//! file that one side reads) into what those rules want, no more, and each must have been needed at least
//! once. `INTEROP_SEEDS` sets the number of seeds, `INTEROP_FIRST_SEED` the first one.

mod answer;
mod branches;
mod check;
mod expected;
mod facts;
mod files;
mod model;
mod ours;
mod peer;
mod requests;
mod rules;
mod server;
mod written;

use std::io::Write as _;
use std::path::Path;

use check::Check;
use compactd_tests::published_package;
use rules::Rule;

/// So many sessions need every rule at least once.
const SEEDS: u64 = 200;

#[test]
fn answers_are_those_of_the_published_peer() -> anyhow::Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let mut check = Check::start()?;
    let seeds = number("INTEROP_SEEDS", SEEDS);
    for_each_seed(seeds, |seed| check.seed(seed))?;
    if seeds >= SEEDS {
        let stale: Vec<&Rule> = Rule::ALL.iter().filter(|rule| !check.seen.contains(rule)).collect();
        assert!(stale.is_empty(), "these differences never showed, is the rule still true? {stale:?}");
    }
    Ok(())
}

#[test]
fn the_published_peer_reads_every_file_that_we_wrote() -> anyhow::Result<()> {
    if is_skipped()? {
        return Ok(());
    }
    let mut check = Check::start()?;
    for_each_seed(number("INTEROP_SEEDS", SEEDS) / 5, |seed| written::seed(&mut check, seed))
}

#[test]
fn a_real_session_gives_the_same_answers() -> anyhow::Result<()> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/large-session.jsonl");
    let Ok(text) = std::fs::read_to_string(&file) else {
        writeln!(std::io::stderr(), "skipped: there is no {}", file.display())?;
        return Ok(());
    };
    if is_skipped()? {
        return Ok(());
    }
    Check::start()?.session_of_version_1(&text)
}

/// Whether the peer is missing; a failure where checks must be complete.
fn is_skipped() -> anyhow::Result<bool> {
    let Err(error) = published_package::install() else {
        return Ok(false);
    };
    anyhow::ensure!(std::env::var_os("CI").is_none(), "failed to install the peer package: {error:#}");
    writeln!(std::io::stderr(), "skipped: the peer package cannot be installed here: {error:#}")?;
    Ok(true)
}

/// Runs `check` for each seed and fails with the first few failures.
fn for_each_seed(seeds: u64, mut check: impl FnMut(u64) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let first = number("INTEROP_FIRST_SEED", 0);
    let failures = (first..first + seeds).filter_map(|seed| {
        let error = check(seed).err()?;
        Some(format!("seed {seed}: {error:#}"))
    });
    let failures: Vec<String> = failures.take(number("INTEROP_FAILURES", 5) as usize).collect();
    anyhow::ensure!(failures.is_empty(), "{}", failures.join("\n\n"));
    Ok(())
}

fn number(variable: &str, default: u64) -> u64 {
    std::env::var(variable).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}
