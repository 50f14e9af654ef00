//! Servers that are killed, in the size of a test; `cargo xtask soak` takes longer.

use compactd_tests::faults::kill::kill_servers;

#[test]
fn nothing_acknowledged_is_lost_when_servers_are_killed() {
    let seed = std::process::id().into();
    let tally = kill_servers(30, seed).unwrap_or_else(|error| panic!("seed {seed}: {error:#}"));
    assert_eq!(tally.runs, 30);
    assert!(tally.acknowledged > 0, "{tally:?}");
}
