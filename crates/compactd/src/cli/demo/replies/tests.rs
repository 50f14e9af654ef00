//! Replies and notifications on one line.

use expect_test::{Expect, expect};
use serde_json::json;
use serde_json::value::RawValue;

use super::*;

fn check(method: &str, result: Value, expected: Expect) {
    expected.assert_eq(&essentials(method, &result));
}

#[test]
fn results() {
    check(
        "initialize",
        json!({
            "protocolVersion": 1, "serverInfo": { "name": "compactd", "version": "0.1.0" },
            "capabilities": { "methods": ["a", "b"], "summarizers": ["extractive", "host"] },
        }),
        expect!["compactd 0.1.0, protocol 1, 2 methods, summarizers extractive, host"],
    );
    check(
        "openSession",
        json!({ "sessionId": "s1", "leafId": "0a1b2c3d", "entryCount": 388, "diagnostics": [] }),
        expect!["session s1, 388 entries, leaf 0a1b2c3d, 0 diagnostics"],
    );
    check(
        "openSession",
        json!({ "sessionId": "s1", "leafId": null, "diagnostics": [{}] }),
        expect!["session s1, leaf none, 1 diagnostic"],
    );
    check(
        "getContext",
        json!({
            "messages": [{ "role": "compactionSummary" }, { "role": "user" }, { "role": "assistant" }, { "role": "user" }],
            "tokens": { "tokens": 21806 },
        }),
        expect!["4 messages (1 summary, 2 user, 1 assistant), 21,806 tokens"],
    );
    check(
        "prepareCompaction",
        json!({ "preparation": {
            "messagesToSummarize": ["a", "b"], "turnPrefixMessages": ["c"], "firstKeptEntryId": "0a1b2c3d",
            "fileOps": { "read": ["x"], "written": ["y"], "edited": ["y", "z"] },
        }}),
        expect!["3 messages to summarise, kept from entry 0a1b2c3d, 1 file read, 3 written or edited"],
    );
    check(
        "getTree",
        json!({ "nodes": [{ "label": "done" }, {}, { "label": "a\u{1b}b" }] }),
        expect![[r#"3 nodes, labels "done", "a b""#]],
    );
    check(
        "navigateTree",
        json!({ "oldLeafId": "a", "leafId": "b", "summaryEntry": { "id": "b" } }),
        expect!["leaf a → b, branch summary b"],
    );
    check("navigateTree", json!({ "oldLeafId": "a", "leafId": null }), expect!["leaf a → none"]);
    check("shutdown", Value::Null, expect!["null"]);
}

fn note(method: &str, params: Value) -> Notification {
    let params = RawValue::from_string(params.to_string()).expect("it is JSON");
    Notification { method: method.to_owned(), params }
}

#[test]
fn notifications_of_one_kind_share_a_line() {
    let notifications = [
        note("compactionStart", json!({ "tokensBefore": 43552 })),
        note("compactionProgress", json!({ "phase": "summarizing", "request": 1, "requests": 2 })),
        note("compactionProgress", json!({ "phase": "committing", "request": 2, "requests": 2 })),
        note("entryAppended", json!({ "entry": { "type": "compaction", "id": "0a1b2c3d" } })),
        note("compactionEnd", json!({ "aborted": false })),
        note("leafChanged", json!({ "oldLeafId": null, "leafId": "b" })),
        note("compactionEnd", json!({ "aborted": false, "error": { "message": "no\nroom" } })),
    ];
    expect![[r#"
        compactionStart: 43,552 tokens
        compactionProgress × 2, the last: committing, request 2 of 2
        entryAppended: compaction 0a1b2c3d
        compactionEnd: done
        leafChanged: none → b
        compactionEnd: failed: no room"#]]
    .assert_eq(&notification_lines(&notifications).join("\n"));
}

#[test]
fn replies_of_another_shape_are_no_panic() {
    for method in ["initialize", "openSession", "getContext", "prepareCompaction", "compact", "getTree", "navigateTree"]
    {
        for result in [Value::Null, json!({}), json!([1]), json!({ "preparation": null })] {
            assert!(!essentials(method, &result).is_empty());
        }
    }
}
