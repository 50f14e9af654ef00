//! Suites and examples of the clients in other languages.

use crate::toolchain::{build_typescript, client, command, has, run};

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

#[test]
fn typescript_example() {
    if has("npm") {
        check(&run(command(&build_typescript(), "node", &["dist/examples/session.js"])));
    }
}

#[test]
fn typescript_suite() {
    if has("npm") {
        let output = run(command(
            &build_typescript(),
            "node",
            &["--test", "dist/test/client.test.js", "dist/test/bounded-history.test.js"],
        ));
        assert!(output.contains("# fail 0") && !output.contains("# pass 0"), "{output}");
    }
}

#[test]
fn python_example() {
    if has("python3") {
        let mut example = command(&client("python"), "python3", &["examples/session.py"]);
        example.env("PYTHONPATH", ".");
        check(&run(example));
    }
}

#[test]
fn python_suite() {
    if has("python3") {
        let output = run(command(&client("python"), "python3", &["-W", "error", "-m", "unittest"]));
        assert!(output.contains("\nOK") && !output.contains("Ran 0 tests"), "{output}");
    }
}
