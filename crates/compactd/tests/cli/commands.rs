//! `compact` and `tree` on the sample session.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use expect_test::expect;
use serde_json::{Value, json};

use crate::harness::{SAMPLE, Sandbox, masked, wait_for};

fn sample(sandbox: &Sandbox) -> String {
    sandbox.file("work.jsonl", SAMPLE).to_str().expect("UTF-8").to_owned()
}

fn names(report: &str) -> Vec<&str> {
    report
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter_map(|line| line.get(..11))
        .map(str::trim_end)
        .collect()
}

#[test]
fn a_dry_run_changes_nothing() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let report = sandbox.run(&["compact", &file, "--dry-run"]).ok();
    assert_eq!(names(&report), ["summarise", "keep", "read", "modified", "ask"]);
    assert!(report.ends_with("Nothing was changed: this was a dry run.\n"));
    assert_eq!(std::fs::read(&file).expect("readable"), SAMPLE);
    assert_eq!(sandbox.names(), ["work.jsonl"]);
}

/// A dry run asks no model, and fails as the compaction itself would if the summarizer lacks something.
#[test]
fn a_dry_run_checks_the_summarizer() {
    let check = |name: &str, model: Value, expected: &str| {
        let sandbox = Sandbox::new();
        let file = sample(&sandbox);
        std::fs::create_dir_all(sandbox.path().join(".pi/agent")).expect("the directory can be made");
        let settings = json!({ "retry": { "enabled": false }, "compactd": { "summarizers": { name: model } } });
        sandbox.file(".pi/agent/settings.json", settings.to_string().as_bytes());
        let failure = |options: &[&str]| {
            let arguments = [&["compact", &file, "--summarizer", name], options].concat();
            sandbox.run(&arguments).failed(1)
        };
        let planned = failure(&["--dry-run"]);
        assert!(planned.contains(expected), "{expected} in {planned}");
        assert_eq!(failure(&[]), planned);
        assert_eq!(std::fs::read(&file).expect("readable"), SAMPLE);
    };
    check("anthropic", json!({ "model": "claude-haiku-4-5" }), "ANTHROPIC_API_KEY holds no key");
    check("anthropic", json!({ "model": "claude-haiku-4-5", "apiKeyCommand": ["no-such-keys"] }), "no-such-keys");
    check("anthropic", json!({}), "compactd.summarizers.anthropic.model");
    check(
        "command",
        json!({ "command": ["no-such-program", "-m", "x"] }),
        "no-such-program: failed to start: No such file",
    );
    check("command", json!({ "command": ["./work.jsonl"] }), "work.jsonl: failed to start: Permission denied");
    check("command", json!({ "command": ["/"] }), "failed to start: Permission denied");
}

#[test]
fn a_dry_run_asks_no_model() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    std::fs::create_dir_all(sandbox.path().join(".pi/agent")).expect("the directory can be made");
    let command = json!({ "command": ["/bin/sh", "-c", format!("touch '{}/asked'", sandbox.path().display())] });
    let settings = json!({ "compactd": { "summarizer": ["anthropic", "command"], "summarizers": {
        "anthropic": { "model": "claude-haiku-4-5" }, "command": command,
    } } });
    sandbox.file(".pi/agent/settings.json", settings.to_string().as_bytes());
    // The first summarizer has no key; the second one would write.
    sandbox.run(&["compact", &file, "--dry-run"]).ok();
    assert_eq!(sandbox.names(), [".pi", "work.jsonl"]);
}

#[test]
fn a_compaction_adds_one_line_and_says_where() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let whole = sandbox.run(&["compact", &file]).ok();
    let (report, summary) = whole.split_once("any more.\n\n").expect("the report ends, and the summary follows");
    assert!(summary.starts_with("## Goal\n") && summary.contains("\n## Next Steps\n"), "{summary}");
    assert_eq!(
        names(report),
        ["tokens", "summarised", "kept", "read", "modified", "summary", "written by", "headings", "retains"]
    );
    let after = std::fs::read_to_string(&file).expect("readable");
    let added = after.as_bytes().strip_prefix(SAMPLE).expect("what was there is still there");
    let entry: Value = serde_json::from_slice(added).expect("one line was added");
    assert_eq!(entry["type"], "compaction");
    let summary_line = format!("entry {} (line {})", entry["id"].as_str().expect("an id"), after.lines().count());
    assert!(report.contains(&summary_line), "{summary_line} in\n{report}");
    assert_eq!(sandbox.names(), ["work.jsonl"], "the lock is gone");
    let kept = entry["firstKeptEntryId"].as_str().expect("an id");
    let line = 1 + after.lines().position(|line| line.contains(&format!("\"id\":\"{kept}\""))).expect("it exists");
    assert!(report.contains(&format!("{kept} (line {line})")), "{report}");
}

#[test]
fn the_report_for_programs_is_one_json_object() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let read = |output: String| serde_json::from_str::<Value>(&output).expect("JSON");
    let plan = read(sandbox.run(&["compact", &file, "--dry-run", "--json"]).ok());
    let done = read(sandbox.run(&["compact", &file, "--json"]).ok());
    assert_eq!(plan["tokensBefore"], done["tokensBefore"]);
    assert_eq!(plan["firstKeptEntryId"], done["firstKeptEntryId"]);
    assert!(done["tokensAfter"].as_u64() < done["tokensBefore"].as_u64());
    assert_eq!(done["line"], SAMPLE.iter().filter(|byte| **byte == b'\n').count() + 1);
}

#[test]
fn less_is_kept_if_asked() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let kept = |more: &[&str]| {
        let arguments = [&["compact", &file, "--dry-run", "--json"], more].concat();
        let plan: Value = serde_json::from_str(&sandbox.run(&arguments).ok()).expect("JSON");
        plan["tokensKept"].as_u64().expect("a number")
    };
    assert!(kept(&["--keep-recent", "5000"]) < kept(&[]));
}

#[test]
fn instructions_reach_the_summarizer() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    sandbox.run(&["compact", &file, "--instructions", "keep the numbers of the forecast"]).ok();
}

#[test]
fn a_second_compaction_says_that_there_is_nothing_to_do() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    sandbox.run(&["compact", &file]).ok();
    let before = std::fs::read(&file).expect("readable");
    let stderr = sandbox.run(&["compact", &file]).failed(3);
    expect![[r#"
        compactd: already compacted: nothing follows the last compaction (ID). Go on with the session first
    "#]]
    .assert_eq(&stderr.replace(&format!("({}", id_of_last_line(&before)), "(ID"));
    assert_eq!(std::fs::read(&file).expect("readable"), before);
}

#[test]
fn a_signal_ends_the_operation_and_then_the_command() {
    for (name, number) in [("TERM", 15), ("INT", 2), ("HUP", 1)] {
        let sandbox = Sandbox::with_a_slow_summarizer();
        let mut command = sandbox.command(&["compact", "work.jsonl"]);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts");
        wait_for("the summarizer", || sandbox.path().join("running").exists().then_some(()));
        let killed = Command::new("/bin/sh").args(["-c", &format!("kill -s {name} {}", child.id())]).status();
        assert!(killed.expect("there is a shell").success());
        let status = wait_for("the end", || child.try_wait().expect("it can be waited for"));
        assert_eq!(status.signal(), Some(number), "{name}");
        sandbox.check_that_the_session_is_free();
    }
}

fn id_of_last_line(file: &[u8]) -> String {
    let text = std::str::from_utf8(file).expect("UTF-8");
    let last: Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    last["id"].as_str().expect("an id").to_owned()
}

#[test]
fn the_tree_of_the_sample() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let drawn = sandbox.run(&["tree", &file]).ok();
    let marks = ["├─", "summary", "compaction", "[", "◀"];
    let marked = drawn.lines().filter(|line| marks.iter().any(|mark| line.contains(mark)));
    let shape: Vec<String> = marked.map(|line| masked(line, &sandbox).chars().take(46).collect()).collect();
    expect![[r#"
        • ID assistant  Done and committed. A level is
        ├─• ID assistant  The alerts remember nothing 
        │ • ID assistant  No, it does not: between `ma
        • ID summary    Never send the same alert twic
        • ID compaction Stop `tidebell` from texting t
        • ID assistant  The forecast is now off by 4 c
        • ID assistant  Two ways, both within the stan
        ├─• ID label      which display?
        │ • ID assistant  The status page works: `GET 
        • ID assistant  The test publishes a thousand 
        • ID label      ready to push ◀ leaf"#]]
    .assert_eq(&shape.join("\n"));
    assert!(drawn.lines().count() < 80, "{} lines", drawn.lines().count());
}

#[test]
fn the_tree_shows_a_new_compaction_as_the_leaf() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    sandbox.run(&["compact", &file]).ok();
    let drawn = sandbox.run(&["tree", &file]).ok();
    let last = drawn.lines().rev().nth(1).expect("a line, and what was folded");
    assert!(last.contains("compaction") && last.ends_with("◀ leaf"), "{last}");
}

#[test]
fn the_whole_tree_has_a_line_per_entry_and_nodes_for_programs() {
    let sandbox = Sandbox::new();
    let file = sample(&sandbox);
    let entries = SAMPLE.iter().filter(|byte| **byte == b'\n').count() - 1;
    assert_eq!(sandbox.run(&["tree", &file, "--all"]).ok().lines().count(), entries + 1);
    let tree: Value = serde_json::from_str(&sandbox.run(&["tree", &file, "--json"]).ok()).expect("JSON");
    assert_eq!(tree["nodes"].as_array().map(Vec::len), Some(entries));
    assert_eq!(std::fs::read(&file).expect("readable"), SAMPLE);
}
