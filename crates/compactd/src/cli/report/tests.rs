//! Reports of replies.

use expect_test::{Expect, expect};

use super::*;

fn session() -> Value {
    json!({ "sessionId": "s", "entryCount": 388, "diagnostics": [] })
}

fn prepared() -> Value {
    json!({
        "preparation": {
            "firstKeptEntryId": "0a1b2c3d",
            "messagesToSummarize": ["1", "2", "3"],
            "turnPrefixMessages": ["4", "5"],
            "isSplitTurn": true,
            "tokensBefore": 43552,
            "previousSummary": "## Goal",
            "fileOps": { "read": ["a.md", "b.rs"], "written": ["b.rs"], "edited": ["c.rs"] },
        },
        "requests": [{ "estimatedTokens": 21000 }, { "estimatedTokens": 1500 }],
    })
}

fn context(messages: usize) -> Value {
    json!({ "messages": vec![json!({ "role": "user", "content": "x" }); messages] })
}

fn plan() -> Plan {
    let plan = Plan::new(&session(), &prepared(), &context(10), Path::new("work.jsonl"));
    Plan { kept_tokens: 20310, first_kept_line: Some(231), ..plan }
}

fn check(report: &str, expected: Expect) {
    expected.assert_eq(report);
}

#[test]
fn a_dry_run_says_what_would_happen() {
    check(
        &planned(&plan(), Terminal::plain(100)),
        expect![[r#"
            A compaction of work.jsonl (388 entries) would
              summarise   5 messages, 2 of them the start of a turn that is cut, and the previous summary, about
                          23,242 tokens
              keep        4 messages, 20,310 tokens, from entry 0a1b2c3d (line 231)
              read        1 file: a.md
              modified    2 files: b.rs, c.rs
              ask         2 requests to the summarizer, 22,500 tokens in all
            Nothing was changed: this was a dry run.
        "#]],
    );
}

#[test]
fn a_compaction_says_what_it_did() {
    let modified: Vec<String> = (0..9).map(|number| format!("src/file{number}.rs")).collect();
    let result = json!({
        "entryId": "deadbeef", "line": 390, "firstKeptEntryId": "0a1b2c3d", "tokensBefore": 43552, "tokensAfter": 21806,
        "summary": "## Goal\n- x\n\n## Next Steps\n1. y\n", "summarizer": "anthropic", "attempts": 2,
        "retention": { "files": 1.0, "requests": 0.985, "errors": 1, "identifiers": 0.5, "constraints": 0 },
        "details": { "readFiles": ["evil\u{1b}[31m\n.md"], "modifiedFiles": modified },
    });
    check(
        &compacted(&plan(), &result, Duration::from_millis(34), Terminal::plain(100)),
        expect![[r#"
            Compacted work.jsonl in 34 ms
              tokens      43,552 before, 21,806 after (49 % less)
              summarised  5 messages, 2 of them the start of a turn that is cut, and the previous summary
              kept        4 messages, from entry 0a1b2c3d (line 231)
              read        1 file: evil [31m .md
              modified    9 files: src/file0.rs, src/file1.rs, src/file2.rs, src/file3.rs, src/file4… and 3 more
              summary     entry deadbeef (line 390)
              written by  anthropic, 2 requests
              headings    Goal, Next Steps
              holds on to files 100 %, requests 98 %, errors 100 %, identifiers 50 %, constraints 0 %
            The summarised entries are still in the file; only the model does not see them any more.
        "#]],
    );
}

#[test]
fn kept_messages_are_the_last_ones() {
    let numbered: Vec<Value> = (0..10).map(|number| json!({ "role": "user", "content": number })).collect();
    let context = json!({ "messages": numbered });
    let plan = Plan::new(&session(), &prepared(), &context, Path::new("work.jsonl"));
    assert_eq!(plan.kept_messages(&context), &numbered[6..]);
    let prepared = prepared();
    assert_eq!(last_evicted(&prepared), Some("5"));
    let following = json!({ "messages": &numbered[6..], "delta": true });
    let plan = Plan::new(&session(), &prepared, &following, Path::new("work.jsonl"));
    assert_eq!(plan.kept_messages(&following), &numbered[6..]);
    assert_eq!(
        last_evicted(&json!({ "preparation": { "messagesToSummarize": ["1"], "turnPrefixMessages": [] } })),
        Some("1")
    );
    assert_eq!(last_evicted(&json!({})), None);
}

#[test]
fn replies_without_the_expected_members_are_no_panic() {
    let empty = json!({});
    let plan = Plan::new(&empty, &empty, &empty, Path::new("work.jsonl"));
    assert!(plan.kept_messages(&empty).is_empty());
    assert!(planned(&plan, Terminal::plain(40)).contains("0 messages"));
    assert!(compacted(&plan, &empty, Duration::ZERO, Terminal::plain(40)).contains("Compacted"));
}

#[test]
fn diagnostics_of_the_file_are_reported_and_bounded() {
    let many: Vec<Value> =
        (0..8).map(|line| json!({ "kind": "brokenLine", "line": line, "message": "not JSON" })).collect();
    let lines = diagnostics(&json!({ "diagnostics": many }), &json!({}));
    assert_eq!(lines.len(), SHOWN_FILES + 1);
    assert_eq!(lines[0], "line 0: not JSON");
    assert_eq!(lines[SHOWN_FILES], "and 2 more");
}
