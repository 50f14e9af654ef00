//! Hosts with reserved outputs, wrong windows and servers that shorten prompts: none is stuck, and none
//! sees the server compact again and again for one request. `SESSIONS` says how many work; 300 take five
//! minutes with an unoptimised server.

use std::collections::BTreeMap;
use std::io::Write as _;

use compactd_tests::agent::Sidecar;
use compactd_tests::agent::host::{Host, Profile, Run, Server};
use compactd_tests::generate::random::Random;
use serde_json::json;

#[test]
fn no_host_is_stuck_and_none_loops() -> anyhow::Result<()> {
    let sessions = std::env::var("SESSIONS").ok().and_then(|sessions| sessions.parse().ok()).unwrap_or(8);
    let home = tempfile::tempdir()?;
    let mut sidecar = Sidecar::start(home.path(), &json!({ "compactd": { "durability": "none" } }))?;
    let mut random = Random::new(300);
    let mut tallies: BTreeMap<Server, (u64, Run)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for seed in 0..sessions {
        let profile = Profile::any(&mut random);
        let run = Host::new(&mut sidecar, profile.clone(), seed)?.work()?;
        if run.is_stuck() || run.loops() {
            wrong.push(format!("{seed}: {profile:?} {run:?}"));
        }
        let (count, sum) = tallies.entry(profile.server).or_default();
        *count += 1;
        add(sum, &run);
    }
    let mut table = std::io::stderr();
    for (server, (count, run)) in &tallies {
        writeln!(table, "{server:?}: {count} sessions, {run:?}")?;
    }
    sidecar.shut_down()?;
    assert!(wrong.is_empty(), "{} of {sessions} hosts:\n{}", wrong.len(), wrong.join("\n"));
    Ok(())
}

fn add(sum: &mut Run, run: &Run) {
    sum.answered += run.answered;
    sum.refused += run.refused;
    sum.truncated += run.truncated;
    sum.clipped += run.clipped;
    sum.longest_silence = sum.longest_silence.max(run.longest_silence);
    sum.most_operations = sum.most_operations.max(run.most_operations);
    for (name, count) in &run.operations {
        *sum.operations.entry(name.clone()).or_default() += count;
    }
    for (name, count) in &run.let_be {
        *sum.let_be.entry(name.clone()).or_default() += count;
    }
}
