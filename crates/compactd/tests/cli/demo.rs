//! The whole demo.

use expect_test::expect;
use serde_json::Value;

use crate::harness::Sandbox;

/// The titles of the steps and the names of their notifications.
fn skeleton(output: &str) -> String {
    let name = |line: &str| match line.get(..3).map(str::trim) {
        Some("→") => None,
        _ => Some(line.split([':', ' ']).find(|word| !word.is_empty()).unwrap_or_default().to_owned()),
    };
    let mut names = String::new();
    for line in output.lines() {
        if line.starts_with(|first: char| first.is_ascii_digit()) {
            names += &format!("{line}\n");
        } else if let Some(rest) = line.strip_prefix(" ~ ") {
            names += &format!("  ~ {}\n", name(rest).unwrap_or_default());
        }
    }
    names
}

#[test]
fn it_shows_each_step_and_ends_well() {
    let output = Sandbox::new().run(&["demo"]).ok();
    expect![[r#"
        1. initialize: the handshake
        2. openSession: a session of four days of work
        3. getContext: what the model sees
        4. prepareCompaction: a dry run
        5. compact: the compaction itself
          ~ compactionStart
          ~ compactionProgress
          ~ entryAppended
          ~ compactionEnd
        6. getContext: what the model sees now
        7. getTree: the branches of the session
        8. navigateTree: to the other branch, with a summary of this one
          ~ branchSummaryStart
          ~ branchSummaryProgress
          ~ entryAppended
          ~ leafChanged
          ~ branchSummaryEnd
        9. getContext: another branch, its own context
        10. shutdown: and the notification exit
    "#]]
    .assert_eq(&skeleton(&output));
    assert!(output.contains("What happened"));
    assert!(output.contains("bytes that were there are unchanged"));
}

#[test]
fn it_is_read_in_half_a_minute() {
    let output = Sandbox::new().run(&["demo"]).ok();
    assert!(output.lines().count() <= 80, "{} lines", output.lines().count());
    assert!(output.lines().all(|line| line.chars().count() <= 120));
    assert!(!output.contains('\u{1b}'), "no colours without a terminal");
}

#[test]
fn the_compaction_makes_the_context_much_smaller() {
    let output = Sandbox::new().run(&["demo"]).ok();
    let line = output.lines().find(|line| line.trim_start().starts_with("tokens")).expect("the closing names tokens");
    let numbers: Vec<u64> = line.replace(',', "").split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let before = numbers[0];
    let percent = *numbers.last().expect("a percentage");
    assert!((45_000..65_000).contains(&before), "{line}");
    assert!(line.ends_with("% less") && (40..75).contains(&percent), "{line}");
}

#[test]
fn in_full_every_message_is_whole() {
    let output = Sandbox::new().run(&["demo", "--full"]).ok();
    let arrows = [" → ", " ← "];
    let messages: Vec<&str> =
        output.lines().filter_map(|line| arrows.iter().find_map(|arrow| line.strip_prefix(arrow))).collect();
    let read =
        |message: &&str| serde_json::from_str::<Value>(message).unwrap_or_else(|error| panic!("{error}: {message}"));
    let messages: Vec<Value> = messages.iter().map(read).collect();
    assert!(messages.iter().all(|message| message["jsonrpc"] == "2.0"));
    let replies = messages.iter().filter(|message| message.get("result").is_some()).count();
    assert_eq!(replies, 10);
    assert!(messages.iter().any(|message| message["method"] == "exit"));
}

#[test]
fn it_leaves_nothing_behind_and_ignores_settings() {
    let sandbox = Sandbox::new();
    std::fs::create_dir_all(sandbox.path().join(".pi/agent")).expect("a directory");
    sandbox.file(
        ".pi/agent/settings.json",
        br#"{"compaction": {"keepRecentTokens": 1}, "compactd": {"summarizer": "oracle"}}"#,
    );
    let output = sandbox.run(&["demo"]).ok();
    assert!(output.contains("last 20,000 tokens"), "{output}");
    assert_eq!(sandbox.names(), [".pi"]);
}

#[test]
fn the_sample_is_what_its_script_writes() {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/demo");
    let script =
        std::process::Command::new("python3").args(["-B", "generate.py", "--check"]).current_dir(directory).status();
    match script {
        Ok(status) => assert!(status.success(), "run python3 demo/generate.py"),
        Err(error) => eprintln!("skipped: no python3 here ({error})"),
    }
}
