//! What belongs to an attempt, and whether work was left.

use super::*;

fn calling(stop_reason: &str, ids: &[&str]) -> String {
    let call = |id: &&str| format!(r#"{{"type":"toolCall","id":"{id}","name":"read","arguments":{{}}}}"#);
    let calls = ids.iter().map(call).collect::<Vec<_>>().join(",");
    answer(stop_reason, "", "", 1).replace(r#""content":[]"#, &format!(r#""content":[{calls}]"#))
}

fn result(id: &str) -> String {
    format!(r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"read","content":[],"isError":false}}"#)
}

impl Session {
    fn says(self, messages: &[&str]) -> Self {
        messages.iter().fold(self, |session, message| session.message(message))
    }

    fn hides(self, target: &str) -> Self {
        self.entry("context_edit", &format!(r#""targetId":"{target}","replacement":null"#))
    }
}

#[test]
fn an_attempt_is_an_answer_with_the_results_of_its_calls() {
    let check = |messages: &[&str], expected: &[&str]| {
        let projection = Session::default().user(1).says(messages).projection();
        let found: Vec<String> =
            attempt(&projection, &EntryId::new("1")).iter().map(|id| id.as_str().to_owned()).collect();
        assert_eq!(found, expected, "{messages:?}");
    };
    let cut = calling("length", &["a", "b"]);
    let user = r#"{"role":"user","content":"go on"}"#;
    check(&[&cut], &["1"]);
    check(&[&cut, &result("a"), &result("c"), &result("b")], &["1", "2", "4"]);
    check(&[&cut, user, &result("b")], &["1", "3"]);
    // The id is used again: the later result is not of this attempt.
    check(&[&cut, &result("b"), &calling("toolUse", &["a"]), &result("a")], &["1", "2"]);
    check(&[], &[]);
}

#[test]
fn the_last_answer_is_the_last_one_that_is_seen() {
    let check = |session: &Session, expected: Option<&str>| {
        let projection = session.projection();
        assert_eq!(last_answer(&projection).map(EntryId::as_str), expected);
    };
    check(&Session::default().user(1), None);
    let session = Session::default().user(1).says(&[&calling("stop", &[]), &calling("length", &["a"]), &result("a")]);
    check(&session, Some("2"));
    check(&session.hides("2"), Some("1"));
}

/// docs/triggers.md, "Recovery".
#[test]
fn work_is_unfinished_after_a_result_and_after_a_cut() {
    let check = |session: &Session, expected: bool| {
        let projection = session.projection();
        let last = projection.messages().last().map(|message| message.raw().get().to_owned());
        assert_eq!(is_unfinished(&projection), expected, "{last:?}");
    };
    let session = || Session::default().user(1);
    check(&Session::default(), false);
    check(&session(), false);
    check(&session().says(&[&calling("stop", &[])]), false);
    check(&session().says(&[&calling("error", &[])]), false);
    check(&session().says(&[&calling("toolUse", &["a"])]), false);
    check(&session().says(&[&calling("length", &["a"])]), true);
    check(&session().says(&[&calling("toolUse", &["a"]), &result("a")]), true);
    check(&session().says(&[&calling("toolUse", &["a"]), &result("a")]).user(1), false);
    // A compaction stands before what it kept, and an edit hides without a word of its own.
    check(&session().says(&[&calling("toolUse", &["a"]), &result("a")]).compaction("1"), true);
    check(&session().says(&[&calling("length", &[])]).hides("1"), false);
}
