//! One recovery for one request of a person (docs/triggers.md, "Guards").

use super::*;

const CUT: &str = "\"input\":99000,\"output\":0";

impl Session {
    fn compaction_for(self, reason: &str) -> Self {
        let details = format!("{{\"compactd\":{{\"reason\":\"{reason}\"}}}}");
        self.entry(
            "compaction",
            &format!("\"summary\":\"s\",\"firstKeptEntryId\":\"0\",\"tokensBefore\":9,\"details\":{details}"),
        )
    }
}

/// Whether the overflow of `overflowing` is answered by a compaction, or what a person is told; the
/// same must be said before the message is stored and after that.
fn check(session: impl Fn() -> Session, overflowing: &str, failed: Option<&str>, expected: &str) {
    let message = Message::from_json(overflowing).expect("the message is made here");
    let failed = failed.map(EntryId::new);
    for (session, given) in [
        (session(), Some(&message)),
        (session().message(overflowing), Some(&message)),
        (session().message(overflowing), None),
    ] {
        let projection = session.projection();
        let decision =
            check_compaction(&TriggerInput { failed_recovery: failed.as_ref(), ..input(&projection, given) });
        let said = match decision.action {
            TriggerAction::Compact => format!("compact, retry={}", decision.will_retry),
            TriggerAction::None => {
                assert_eq!(decision.skipped, Some("overflowRecoveryTried"));
                decision.advice.unwrap_or_default().split(": ").next().unwrap_or_default().to_owned()
            }
        };
        assert_eq!(said, expected, "stored: {}, given: {}", session.0.len(), given.is_some());
    }
}

const STILL: &str = "the context is still too large for the model after one compaction";
const CUT_AGAIN: &str = "the answer was cut off once more after one compaction, since the window was full";
const FAILED: &str = "the context is too large for the model and compacting it did not succeed";

#[test]
fn an_overflow_after_a_recovery_is_told_of() {
    let recovered = |reason: &'static str| move || Session::default().user(1).compaction_for(reason);
    let over = answer("toolUse", "\"input\":100001,\"output\":5", "", 50);
    for reason in ["overflow", "manual"] {
        check(recovered(reason), &error(OVERFLOW_TEXT), None, STILL);
        check(recovered(reason), &answer("length", CUT, "", 50), None, CUT_AGAIN);
        check(recovered(reason), &over, None, STILL);
    }
    // What was compacted for the threshold was no answer to an overflow.
    check(recovered("threshold"), &error(OVERFLOW_TEXT), None, "compact, retry=true");
    check(recovered("threshold"), &answer("length", CUT, "", 50), None, "compact, retry=true");
    check(recovered("threshold"), &over, None, "compact, retry=false");
}

#[test]
fn several_failures_in_a_row_are_one() {
    let failures = [
        error(OVERFLOW_TEXT),
        answer("length", CUT, "", 50),
        answer("stop", "\"input\":100001,\"output\":5", "", 50),
        answer("aborted", "", "", 50),
        error("500 internal error"),
    ];
    for failure in &failures {
        let session = || Session::default().user(1).compaction_for("overflow").message(failure);
        check(session, &error(OVERFLOW_TEXT), None, STILL);
        check(session, &answer("length", CUT, "", 50), None, CUT_AGAIN);
    }
}

#[test]
fn a_new_request_or_an_answer_that_came_through_gives_another_try() {
    let check = |session: &dyn Fn() -> Session| {
        check(session, &error(OVERFLOW_TEXT), None, "compact, retry=true");
        check(session, &answer("length", CUT, "", 50), None, "compact, retry=true");
    };
    check(&|| Session::default().user(1).compaction_for("overflow").user(1));
    for fitting in [
        answer("stop", "\"input\":5000", "", 50),
        answer("toolUse", "\"input\":5000", "", 50),
        answer("length", "\"input\":5000,\"output\":4000", "", 50),
        // What one model finds too much another one may have answered.
        answer("stop", "\"input\":150000", "", 50).replace(r#""model":"m""#, r#""model":"large""#),
    ] {
        check(&|| Session::default().user(1).compaction_for("overflow").message(&fitting));
    }
}

#[test]
fn a_recovery_that_failed_was_tried() {
    let session = || Session::default().user(1).message(&error(OVERFLOW_TEXT));
    check(session, &error(OVERFLOW_TEXT), None, "compact, retry=true");
    check(session, &error(OVERFLOW_TEXT), Some("1"), FAILED);
    check(session, &answer("length", CUT, "", 50), Some("1"), FAILED);
    check(|| session().user(1), &error(OVERFLOW_TEXT), Some("1"), "compact, retry=true");
    let fitting = answer("stop", "\"input\":5000", "", 50);
    check(|| session().message(&fitting), &error(OVERFLOW_TEXT), Some("1"), "compact, retry=true");
    // It is on no branch that is left, or in no context that was compacted since.
    check(session, &error(OVERFLOW_TEXT), Some("elsewhere"), "compact, retry=true");
}
