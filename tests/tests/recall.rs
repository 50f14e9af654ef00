//! Facts that were compacted away come back: the goals on real sessions, with fewer queries than
//! `compactd-recall` makes by itself.

use std::io::Write as _;
use std::process::Command;

#[test]
fn goals_are_reached() {
    let output = Command::new(env!("CARGO_BIN_EXE_compactd-recall")).args(["--check", "--most", "8"]).output().unwrap();
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{table}{}", String::from_utf8_lossy(&output.stderr));
    if table.starts_with("skipped") {
        // Without standard error nobody reads it.
        let _ = writeln!(std::io::stderr(), "{table}");
    }
}
