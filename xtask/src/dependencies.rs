//! What the server is built from.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{bail, ensure};

use crate::steps::say;
use crate::workspace::{cargo, output, run};

/// Packages that the server must stay under, its own included.
const LIMIT: usize = 200;

/// Counts the packages of the server, compares their features with those that the tests are built with, and asks
/// `cargo deny` where it is installed.
///
/// # Errors
/// When there are too many, one has other features, or one breaks the rules of `deny.toml`.
pub(crate) fn check() -> anyhow::Result<()> {
    let arguments = ["tree", "--package", "compactd", "--edges", "normal", "--prefix", "none", "--locked"];
    let count = packages(&output(&mut cargo(&arguments))?).len();
    say(&format!("the server is built from {count} packages; the limit is {LIMIT}"));
    if count >= LIMIT {
        bail!("{count} packages are too many; the server must stay under {LIMIT}");
    }
    check_features()?;
    check_rules()
}

/// Checks that the tests ask no feature of a package of the server that the server does not ask, too. All that depends on
/// such a package would be compiled twice.
fn check_features() -> anyhow::Result<()> {
    let tree = |arguments: &[&str]| {
        let usual = ["tree", "--prefix", "none", "--format", "{p} [{f}]", "--locked"];
        anyhow::Ok(features(&output(&mut cargo(&[&usual, arguments].concat()))?))
    };
    let server = tree(&["--package", "compactd", "--edges", "normal,build"])?;
    let tests = tree(&["--workspace", "--edges", "normal,build,dev"])?;
    let further = |(package, features): (&String, &BTreeSet<String>)| {
        let further: Vec<_> = tests.get(package)?.difference(features).cloned().collect();
        (!further.is_empty()).then(|| format!("{package} with {}", further.join(", ")))
    };
    let further: Vec<String> = server.iter().filter_map(further).collect();
    ensure!(
        further.is_empty(),
        "the tests need packages of the server with further features, so these would be compiled twice; name the \
         features in Cargo.toml or in crates/compactd/Cargo.toml: {}",
        further.join("; ")
    );
    Ok(())
}

/// Packages with their features, of lines such as `name v1.0.0 (/path) [one,two] (*)`.
fn features(tree: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut all = BTreeMap::<String, BTreeSet<String>>::new();
    for line in tree.lines() {
        let Some((package, rest)) = line.rsplit_once(" [") else { continue };
        let listed = rest.split(']').next().unwrap_or_default();
        let features = listed.split(',').filter(|feature| !feature.is_empty()).map(str::to_owned);
        all.entry(package.to_owned()).or_default().extend(features);
    }
    all
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
    fn features_of_a_package_are_those_of_all_its_lines() {
        let all = features("server v0.1.0 (/path) []\nserde v1.0.1 [alloc,std]\nserde v1.0.1 [derive] (*)\n\n");
        let listed: Vec<&str> = all["serde v1.0.1"].iter().map(String::as_str).collect();
        assert_eq!((listed, all["server v0.1.0 (/path)"].len()), (vec!["alloc", "derive", "std"], 0));
    }

    #[test]
    fn a_package_counts_once() {
        let tree =
            "server v0.1.0 (/path)\nserde v1.0.1\nserde v1.0.1 (*)\nderive v1.0.1 (proc-macro)\nserde v2.0.0\n\n";
        assert_eq!(packages(tree).len(), 4);
    }
}
