//! Help, version and wrong usage.

use expect_test::expect;

use crate::harness::Sandbox;

#[test]
fn help_names_every_command_and_option() {
    let help = Sandbox::new().run(&["--help"]).ok();
    let named = [
        "demo",
        "compact",
        "tree",
        "mcp",
        "completions",
        "man",
        "--framing",
        "--max-message-bytes",
        "--log-file",
        "--log-level",
        "Exit codes:",
    ];
    for name in named {
        assert!(help.contains(name), "{name} in\n{help}");
    }
}

#[test]
fn every_command_has_help() {
    for command in crate::shell::COMMANDS {
        let help = Sandbox::new().run(&[command, "--help"]).ok();
        assert!(help.contains(&format!("Usage: compactd {command}")), "{help}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    let version = Sandbox::new().run(&["--version"]).ok();
    assert_eq!(version, format!("compactd {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_ends_with_2_and_a_hint() {
    let check = |arguments: &[&str], hint: &str| {
        let stderr = Sandbox::new().run(arguments).failed(2);
        assert!(stderr.contains(hint), "{hint} in\n{stderr}");
    };
    check(&["comapct"], "'compact'");
    check(&["compact"], "<FILE>");
    check(&["compact", "a.jsonl", "--keep-recent", "many"], "'many'");
    check(&["tree", "a.jsonl", "b.jsonl"], "'b.jsonl'");
    check(&["--framing", "morse"], "headers");
    check(&["--max-message-bytes", "0"], "at least 1");
    check(&["search", "words", "--limit", "0"], "'0'");
    check(&["recall", "a.jsonl", "words", "--max-tokens", "0"], "'0'");
    check(&["search", " "], "at least one word");
    check(&["recall", "a.jsonl", ""], "at least one word");
    check(&["man", "nope"], "there are demo, compact,");
    check(&["show", "a.jsonl", "summary", "0a1b2c3d"], "show FILE entry 0a1b2c3d");
}

#[test]
fn a_summarizer_that_does_not_exist_is_refused_with_those_that_do() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("work.jsonl", crate::harness::SAMPLE);
    let stderr = sandbox.run(&["compact", file.to_str().expect("UTF-8"), "--summarizer", "oracle"]).failed(1);
    assert!(stderr.contains("summarizer") && stderr.contains("extractive"), "{stderr}");
    assert_eq!(std::fs::read(&file).expect("readable"), crate::harness::SAMPLE);
}

/// A sandbox with the sample session and these settings.
fn with_settings(settings: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("work.jsonl", crate::harness::SAMPLE);
    std::fs::create_dir_all(sandbox.path().join(".pi/agent")).expect("directories can be made");
    sandbox.file(".pi/agent/settings.json", settings.as_bytes());
    sandbox
}

#[test]
fn settings_that_are_passed_over_are_told() {
    let check = |settings: &str, hint: &str| {
        let sandbox = with_settings(settings);
        let commands = [
            &["compact", "work.jsonl", "--dry-run"][..],
            &["show", "work.jsonl", "--json"],
            &["list", "--all", "--json"],
        ];
        for arguments in commands {
            let finished = sandbox.run(arguments);
            assert_eq!(finished.code, Some(0), "{arguments:?}");
            assert_eq!(finished.stderr.matches(hint).count(), 1, "{arguments:?}: {}", finished.stderr);
        }
    };
    check(r#"{"compaction":{"keepRecentTokens":5000},}"#, "trailing comma");
    check(r#"{"compaction":{"keepRecentToken":5000}}"#, "did you mean keepRecentTokens?");
}

#[test]
fn a_summarizer_that_failed_is_named_with_its_cause() {
    let sandbox = with_settings(
        r#"{"retry":{"enabled":false},"compactd":{"summarizer":["command","extractive"],"summarizers":{"command":{"command":["false"]}}}}"#,
    );
    let report = sandbox.run(&["compact", "work.jsonl"]).ok();
    assert!(report.contains("\n  written by  extractive"), "{report}");
    assert!(report.contains("\n  failed      command: "), "{report}");
}

#[test]
fn help_of_compact() {
    let help = Sandbox::new().run(&["compact", "-h"]).ok();
    expect![[r#"
        Compact a session file, or say what would happen

        Usage: compactd compact [OPTIONS] <FILE>

        Arguments:
          <FILE>  The session file, or - for standard input with --dry-run

        Options:
              --dry-run               Say what would be done and change nothing
              --instructions <TEXT>   What the summary should pay attention to
              --summarizer <NAME>     The summarizer, instead of the configured one; extractive needs no model
              --keep-recent <TOKENS>  Tokens of recent context that stay as they are
              --json                  Print the result as one JSON object
          -h, --help                  Print help

        Examples:
          compactd compact session.jsonl --dry-run
          compactd compact session.jsonl --instructions 'keep every API name'
          compactd compact session.jsonl --keep-recent 8000 --summarizer extractive
    "#]]
    .assert_eq(&help);
}
