//! Suites and examples of the clients in other languages.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use compactd_tests::programs::{available, command, find, install_npm, run};

/// What both examples tell of their walk.
const STEPS: &[&str] = &[
    "compactd ",
    "created ",
    "appended 16 messages",
    "compacted ",
    "## Goal",
    "the model now sees ",
    "summary of the branch that was left: entry ",
    "branch_summary",
];

/// Checks that the steps come in this order.
fn check(output: &str) {
    let mut rest = output;
    for step in STEPS {
        let (_, after) = rest.split_once(step).unwrap_or_else(|| panic!("no {step:?} at its place in:\n{output}"));
        rest = after;
    }
    check_shrinks(output);
}

/// Checks that the example shows what a compaction is for: "compacted 1000 tokens to 300".
fn check_shrinks(output: &str) {
    let line = output.lines().find(|line| line.starts_with("compacted ")).expect("it is among the steps");
    let numbers: Vec<u32> = line.split([' ', ';']).filter_map(|word| word.parse().ok()).collect();
    let [before, after] = numbers[..] else { panic!("no two numbers of tokens in {line:?}") };
    assert!(after < before / 2, "{line}");
}

/// The directory `name` of the clients.
fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(name)
}

/// Installs and compiles the TypeScript client, once for all tests.
fn typescript() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let directory = client("typescript");
        install_npm(&directory).expect("npm installs what the lock file names");
        output(&directory, "npm", &["run", "build"]);
        directory
    };
    BUILT.get_or_init(build).clone()
}

/// What a program prints, which must succeed.
#[track_caller]
fn output(directory: &Path, program: &str, arguments: &[&str]) -> String {
    let mut command = command(directory, program, arguments).expect("the server is built");
    command.env("PYTHONPATH", ".");
    run(command).unwrap_or_else(|why| panic!("{why:#}"))
}

#[test]
fn typescript_example() {
    if available(find("npm")).is_some() {
        check(&output(&typescript(), "node", &["dist/examples/session.js"]));
    }
}

#[test]
fn typescript_suite() {
    if available(find("npm")).is_some() {
        let suites =
            ["--test", "dist/test/client.test.js", "dist/test/bounded-history.test.js", "dist/test/opencode.test.js"];
        let output = output(&typescript(), "node", &suites);
        assert!(output.contains("# fail 0") && !output.contains("# pass 0"), "{output}");
    }
}

#[test]
fn python_example() {
    if available(find("python3")).is_some() {
        check(&output(&client("python"), "python3", &["examples/session.py"]));
    }
}

#[test]
fn python_suite() {
    if available(find("python3")).is_some() {
        let output = output(&client("python"), "python3", &["-W", "error", "-m", "unittest"]);
        assert!(output.contains("\nOK") && !output.contains("Ran 0 tests"), "{output}");
    }
}
