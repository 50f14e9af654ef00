//! What the server is built from.

use std::collections::BTreeSet;

use anyhow::bail;

use crate::steps::say;
use crate::workspace::{cargo, output, run};

/// Packages that the server must stay under, its own included.
const LIMIT: usize = 200;

/// Counts the packages of the server, and asks `cargo deny` where it is installed.
///
/// # Errors
/// When there are too many, or one breaks the rules of `deny.toml`.
pub(crate) fn check() -> anyhow::Result<()> {
    let arguments = ["tree", "--package", "compactd", "--edges", "normal", "--prefix", "none", "--locked"];
    let count = packages(&output(&mut cargo(&arguments))?).len();
    say(&format!("the server is built from {count} packages; the limit is {LIMIT}"));
    if count >= LIMIT {
        bail!("{count} packages are too many; the server must stay under {LIMIT}");
    }
    check_rules()
}

fn check_rules() -> anyhow::Result<()> {
    if output(&mut cargo(&["deny", "--version"])).is_ok() {
        return run(&mut cargo(&["deny", "check"]));
    }
    say("cargo-deny is not installed: deny.toml was not checked");
    Ok(())
}

/// Names and versions; a package that comes again is marked by `(*)`.
fn packages(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().map(|line| line.split(" (").next().unwrap_or(line).trim());
    lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_counts_once() {
        let tree =
            "server v0.1.0 (/path)\nserde v1.0.1\nserde v1.0.1 (*)\nderive v1.0.1 (proc-macro)\nserde v2.0.0\n\n";
        assert_eq!(packages(tree).len(), 4);
    }
}
