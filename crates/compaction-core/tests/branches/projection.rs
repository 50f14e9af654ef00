//! What the model sees, as a table (docs/projection.md).

use std::sync::Arc;

use crate::common::{branch, project};
use compaction_core::conversation::llm_context;
use compaction_core::entry::Entry;
use compaction_core::projection::{Projection, ProjectionDiagnostic};
use expect_test::{Expect, expect};

fn check(text: &str, expected: Expect) {
    let branch = branch(text);
    let projection = project(&branch);
    let mut lines: Vec<String> = projection
        .entries()
        .iter()
        .flat_map(|projected| {
            let name = |message: &std::sync::Arc<compaction_core::message::Message>| {
                format!("{}:{} {}", projected.entry.id(), message.role(), message.tokens())
            };
            projected.messages.iter().map(name).collect::<Vec<_>>()
        })
        .collect();
    let model = projection.model().map_or("none".to_owned(), |model| format!("{}/{}", model.provider, model.model_id));
    lines.push(format!("model {model}, level {}", projection.thinking_level()));
    let llm: Vec<String> = llm_context(&projection).iter().map(|message| message.role().to_owned()).collect();
    lines.push(format!("llm: {}", llm.join(" ")));
    lines.extend(projection.diagnostics().iter().map(|diagnostic| format!("{diagnostic:?}")));
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn without_a_compaction_everything_is_seen() {
    check(
        "system 3\nuser 1\nlabel\nassistant 2\ncustom 1\nbranch 1\nbranch 0",
        expect![[r#"
        0:system 3
        1:user 1
        3:assistant 2
        4:custom 1
        5:branchSummary 1
        model none, level off
        llm: user assistant user user"#]],
    );
}

#[test]
fn the_latest_compaction_wins() {
    check(
        "level high\nmodel p/m\nuser 1\ncompaction keeps 2\nuser 2\nsystem 9\nuser 3\ncompaction keeps 4\nuser 4",
        expect![[r#"
            7:compactionSummary 2
            4:user 2
            6:user 3
            8:user 4
            model p/m, level high
            llm: user user user user"#]],
    );
    // An older compaction in the kept range adds nothing.
    check(
        "user 1\nuser 2\ncompaction keeps 1\nuser 3\ncompaction keeps 1\nuser 4",
        expect![[r#"
        4:compactionSummary 2
        1:user 2
        3:user 3
        5:user 4
        model none, level off
        llm: user user user user"#]],
    );
}

#[test]
fn a_compaction_may_keep_nothing() {
    check(
        "user 1\ncompaction keeps 1\nuser 2",
        expect![[r#"
        1:compactionSummary 2
        2:user 2
        model none, level off
        llm: user user"#]],
    );
    check(
        "user 1\ncompaction keeps elsewhere\nuser 2",
        expect![[r#"
        1:compactionSummary 2
        2:user 2
        model none, level off
        llm: user user
        UnknownFirstKept { compaction_id: EntryId("1"), first_kept_entry_id: Some(EntryId("elsewhere")) }"#]],
    );
}

#[test]
fn the_last_edit_of_an_entry_applies() {
    check(
        "user 1\nuser 2\nhide 0\nrewrite 0 7\nrewrite 1 3\nhide 1",
        expect![[r#"
        0:user 7
        model none, level off
        llm: user"#]],
    );
    // An edit before the compaction that is not kept has no effect on kept entries.
    check(
        "user 1\nhide 2\nuser 5\ncompaction keeps 2",
        expect![[r#"
        3:compactionSummary 2
        2:user 5
        model none, level off
        llm: user user"#]],
    );
}

#[test]
fn a_result_without_its_call_is_left_out_for_models() {
    // The call was compacted away.
    check(
        "assistant 1 calls a\ncompaction keeps 1\nresult a 1\nassistant 1 calls b",
        expect![[r#"
        1:compactionSummary 2
        2:toolResult 1
        3:assistant 2
        model none, level off
        llm: user assistant
        OrphanToolResult { entry_id: EntryId("2"), tool_call_id: "a" }"#]],
    );
}

#[test]
fn an_empty_branch_is_an_empty_context() {
    check(
        "",
        expect![[r#"
        model none, level off
        llm: "#]],
    );
}

/// A branch of entries with these members, root first, a second apart.
fn lines(members: &[&str]) -> Vec<Arc<Entry>> {
    let line = |(position, members): (usize, &&str)| {
        let parent = position.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let time = format!("2026-01-01T00:00:0{position}.000Z");
        format!("{{\"id\":\"{position}\",\"parentId\":{parent},\"timestamp\":\"{time}\",{members}}}")
    };
    let lines = members.iter().enumerate().map(line);
    lines.map(|line| Arc::new(Entry::parse(&line).unwrap_or_else(|error| panic!("{line}: {error}")))).collect()
}

#[test]
fn unreadable_messages_are_left_out_and_reported() {
    let branch = lines(&[
        r#""type":"message","message":null"#,
        r#""type":"message","message":"text""#,
        r#""type":"message","message":[1]"#,
        r#""type":"message","message":{"content":"no role"}"#,
        r#""type":"message","message":{"role":7,"content":"no role"}"#,
        r#""type":"message","message":{"role":"user","content":5}"#,
    ]);
    let reported = |projection: &Projection| {
        let entry_id = |diagnostic: &ProjectionDiagnostic| match diagnostic {
            ProjectionDiagnostic::UnreadableMessage { entry_id } => entry_id.to_string(),
            other => panic!("{other:?}"),
        };
        projection.diagnostics().iter().map(entry_id).collect::<Vec<_>>()
    };
    let projection = project(&branch);
    let roles: Vec<&str> = projection.messages().map(|message| message.role()).collect();
    assert_eq!((roles, reported(&projection)), (vec!["user"], ["0", "1", "2", "3", "4"].map(str::to_owned).to_vec()));
    let grown = project(&branch[..1]).followed_by(Arc::clone(&branch[1])).expect("a message changes nothing before");
    assert_eq!((grown.messages().count(), reported(&grown)), (0, ["0", "1"].map(str::to_owned).to_vec()));
}

#[test]
fn messages_for_models_have_the_time_of_their_entry_where_they_lack_one() {
    let branch = lines(&[
        r#""type":"message","message":{"role":"bashExecution","command":"ls","output":"","cancelled":false}"#,
        r#""type":"message","message":{"role":"custom","content":"text","timestamp":null}"#,
        r#""type":"message","message":{"role":"user","content":"text","timestamp":"zz"}"#,
        r#""type":"message","message":{"role":"user","content":"text","timestamp":7}"#,
        r#""type":"context_edit","targetId":"2","replacement":{"content":"new"}"#,
    ]);
    let projection = project(&branch);
    let start = 1_767_225_600_000_i64;
    let times: Vec<_> = llm_context(&projection).iter().map(|message| message.timestamp()).collect();
    assert_eq!(times, [Some(start), Some(start + 1000), Some(start + 2000), Some(7)]);
    for message in projection.messages().chain(llm_context(&projection).iter().map(Arc::as_ref)) {
        let text = message.raw().get();
        assert!(!text.contains("\"timestamp\":null") && !text.contains("zz"), "{text}");
    }
}

#[test]
fn an_answer_without_a_model_leaves_the_model_as_it_was() {
    let change = r#""type":"model_change","provider":"p","modelId":"m""#;
    let model = |lines_of_branch: &[&str]| project(&lines(lines_of_branch)).model().map(|model| model.model_id.clone());
    for nameless in [
        r#""type":"message","message":{"role":"assistant","content":[]}"#,
        r#""type":"message","message":{"role":"assistant","content":[],"provider":"q"}"#,
        r#""type":"message","message":{"role":"assistant","content":[],"provider":"","model":""}"#,
    ] {
        assert_eq!(model(&[nameless]), None);
        assert_eq!(model(&[change, nameless]).as_deref(), Some("m"));
        let grown = project(&lines(&[change])).followed_by(Arc::clone(&lines(&[change, nameless])[1]));
        assert_eq!(grown.as_ref().and_then(Projection::model).map(|model| model.model_id.as_str()), Some("m"));
    }
}
