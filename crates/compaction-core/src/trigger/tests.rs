//! Decisions about contexts; and a gauge, which agrees with the projection after any appended entry.

use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::entry::Entry;
use crate::tokens::{context_tokens, known_context_tokens};

const MODEL: TriggerModel<'static> =
    TriggerModel { provider: "p", id: "m", context_window: 100_000, max_output_tokens: None, room: None };

/// A session that grows line by line. Each entry follows the previous one and is one second later.
#[derive(Default)]
struct Session(Vec<Arc<Entry>>);

impl Session {
    fn entry(mut self, kind: &str, members: &str) -> Self {
        let number = self.0.len();
        let parent = number.checked_sub(1).map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
        let line = format!(
            "{{\"type\":\"{kind}\",\"id\":\"{number}\",\"parentId\":{parent},\"timestamp\":\"2025-01-01T00:00:{number:02}.000Z\",{members}}}"
        );
        self.0.push(Arc::new(Entry::parse(&line).expect("the line is made here")));
        self
    }

    fn message(self, message: &str) -> Self {
        self.entry("message", &format!("\"message\":{message}"))
    }

    fn user(self, tokens: usize) -> Self {
        self.message(&format!("{{\"role\":\"user\",\"content\":\"{}\"}}", "x".repeat(tokens * 4)))
    }

    fn compaction(self, first_kept: &str) -> Self {
        self.entry("compaction", &format!("\"summary\":\"s\",\"firstKeptEntryId\":\"{first_kept}\",\"tokensBefore\":9"))
    }

    fn projection(&self) -> Projection {
        match Projection::of(self.0.as_slice()) {
            Ok(projection) => projection,
        }
    }
}

/// An assistant message of model `m`, at the second `second` of the session.
fn answer(stop_reason: &str, usage: &str, more: &str, second: i64) -> String {
    let timestamp = 1_735_689_600_000 + second * 1000;
    format!(
        "{{\"role\":\"assistant\",\"content\":[],\"provider\":\"p\",\"model\":\"m\",\"usage\":{{{usage}}},\
         \"stopReason\":\"{stop_reason}\",\"timestamp\":{timestamp}{more}}}"
    )
}

fn error(text: &str) -> String {
    answer("error", "", &format!(",\"errorMessage\":\"{text}\""), 50)
}

const OVERFLOW_TEXT: &str = "prompt is too long: 2 tokens > 1 maximum";

fn input<'a>(projection: &'a Projection, message: Option<&'a Message>) -> TriggerInput<'a> {
    let settings = CompactionSettings::default();
    TriggerInput { projection, model: MODEL, settings, message, failed_recovery: None, clipped_recovery: None }
}

fn show(decision: &TriggerDecision) -> String {
    format!(
        "{:?} retry={} tokens={} threshold={} skipped={:?}",
        decision.reason, decision.will_retry, decision.context_tokens, decision.threshold, decision.skipped
    )
}

/// Asks as after a run that ended with `message`.
fn check_after(session: &Session, message: &str, change: impl FnOnce(&mut TriggerInput<'_>), expected: Expect) {
    let projection = session.projection();
    let message = Message::from_json(message).expect("the message is made here");
    let mut input = input(&projection, Some(&message));
    change(&mut input);
    expected.assert_eq(&show(&check_compaction(&input)));
}

/// Asks as before a prompt.
fn check_before(session: &Session, change: impl FnOnce(&mut TriggerInput<'_>), expected: Expect) {
    let projection = session.projection();
    let mut input = input(&projection, None);
    change(&mut input);
    expected.assert_eq(&show(&check_compaction(&input)));
}

fn as_it_is(_: &mut TriggerInput<'_>) {}

#[test]
fn the_threshold_is_strict() {
    let at = |tokens: u64| answer("stop", &format!("\"totalTokens\":{tokens}"), "", 50);
    let session = Session::default().user(1);
    check_after(&session, &at(83_616), as_it_is, expect!["None retry=false tokens=83616 threshold=83616 skipped=None"]);
    check_after(
        &session,
        &at(83_617),
        as_it_is,
        expect!["Some(Threshold) retry=false tokens=83617 threshold=83616 skipped=None"],
    );
}

#[test]
fn tool_results_after_the_answer_count() {
    // The loop must stop between turns. The message is the stored one.
    let call = answer("toolUse", "\"totalTokens\":80000", "", 1);
    let session = Session::default().user(1).message(&call).user(3_700);
    let expected = || expect!["Some(Threshold) retry=false tokens=83700 threshold=83616 skipped=None"];
    check_after(&session, &call, as_it_is, expected());
    check_before(&session, as_it_is, expected());
}

#[test]
fn a_prompt_that_is_not_stored_yet_counts() {
    let session = Session::default().user(1).message(&answer("stop", "\"totalTokens\":83616", "", 1));
    check_after(
        &session,
        r#"{"role":"user","content":"abcd","timestamp":1735689660000}"#,
        as_it_is,
        expect!["Some(Threshold) retry=false tokens=83617 threshold=83616 skipped=None"],
    );
}

#[test]
fn disabled_means_nothing_at_all() {
    // Also on overflow.
    let session = Session::default().user(90_000);
    check_after(
        &session,
        &error(OVERFLOW_TEXT),
        |input| input.settings.enabled = false,
        expect![[r#"None retry=false tokens=90000 threshold=83616 skipped=Some("disabled")"#]],
    );
}

#[test]
fn an_overflow_error_is_retried() {
    // docs/triggers.md, "Guards".
    let session = Session::default().user(1);
    check_after(
        &session,
        &error(OVERFLOW_TEXT),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=1 threshold=83616 skipped=None"],
    );
}

#[test]
fn a_completed_answer_is_not_asked_for_again() {
    // docs/triggers.md, "Guards".
    let session = Session::default().user(1);
    let over = "\"input\":1,\"cacheRead\":100000,\"output\":5";
    let finished = || expect!["Some(Overflow) retry=false tokens=100006 threshold=83616 skipped=None"];
    // An answer with tool calls is no exception: its calls would run twice.
    for stop_reason in ["stop", "toolUse", "refusal"] {
        check_after(&session, &answer(stop_reason, over, "", 50), as_it_is, finished());
    }
    let unnamed = answer("stop", over, "", 50).replace(r#""stopReason":"stop","#, "");
    check_after(&session, &unnamed, as_it_is, finished());
    check_after(
        &session,
        &answer("length", over, "", 50),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=100006 threshold=83616 skipped=None"],
    );
}

#[test]
fn a_length_stop_without_output_in_a_full_window_is_an_overflow() {
    // docs/triggers.md, "Overflow".
    let session = Session::default().user(1);
    check_after(
        &session,
        &answer("length", "\"input\":99000,\"output\":0", "", 50),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=99000 threshold=83616 skipped=None"],
    );
    check_after(
        &session,
        &answer("length", "\"input\":50000,\"output\":0", "", 50),
        as_it_is,
        expect!["None retry=false tokens=50000 threshold=83616 skipped=None"],
    );
}

#[test]
fn another_models_overflow_is_ignored() {
    // The threshold still counts.
    let small = Session::default().user(1);
    let large = Session::default().user(90_000);
    let other = |input: &mut TriggerInput<'_>| input.model.id = "other";
    let expected = expect![[r#"None retry=false tokens=1 threshold=83616 skipped=Some("otherModel")"#]];
    check_after(&small, &error(OVERFLOW_TEXT), other, expected);
    let expected = expect![[r#"Some(Threshold) retry=false tokens=90000 threshold=83616 skipped=Some("otherModel")"#]];
    check_after(&large, &error(OVERFLOW_TEXT), other, expected);
}

#[test]
fn a_message_older_than_the_compaction_is_ignored() {
    // It was kept, and its usage describes the earlier context.
    let old = answer("stop", "\"totalTokens\":95000,\"input\":150000", "", 1);
    let session = Session::default().user(1).message(&old).compaction("1").user(10);
    let expected = || expect![[r#"None retry=false tokens=11 threshold=83616 skipped=Some("olderThanCompaction")"#]];
    check_after(&session, &old, as_it_is, expected());
    check_before(&session, as_it_is, expected());
    // Time decides for a message that is on no branch. The same millisecond counts as older.
    let stray = |second| answer("stop", "\"totalTokens\":95000", ",\"errorMessage\":\"x\"", second);
    check_after(&session, &stray(2), as_it_is, expected());
    check_after(
        &session,
        &stray(3),
        as_it_is,
        expect!["Some(Threshold) retry=false tokens=95000 threshold=83616 skipped=None"],
    );
}

#[test]
fn a_context_that_is_just_compacted_is_left_alone() {
    let session = Session::default().user(1).user(95_000).compaction("1");
    check_before(
        &session,
        as_it_is,
        expect![[r#"None retry=false tokens=95001 threshold=83616 skipped=Some("alreadyCompacted")"#]],
    );
    check_before(
        &session.user(1),
        as_it_is,
        expect!["Some(Threshold) retry=false tokens=95002 threshold=83616 skipped=None"],
    );
}

#[test]
fn an_aborted_answer_counts_before_a_prompt_only() {
    // docs/triggers.md, "Guards".
    let aborted = answer("aborted", "", "", 2);
    let session =
        Session::default().user(1).message(&answer("toolUse", "\"totalTokens\":90000", "", 1)).message(&aborted);
    check_after(
        &session,
        &aborted,
        as_it_is,
        expect![[r#"None retry=false tokens=90000 threshold=83616 skipped=Some("aborted")"#]],
    );
    check_before(&session, as_it_is, expect!["Some(Threshold) retry=false tokens=90000 threshold=83616 skipped=None"]);
}

#[test]
fn errors_without_usage_are_judged_by_the_last_trusted_usage() {
    // A rate limit is not an overflow, but the context is over the threshold.
    let session = Session::default().user(1).message(&answer("stop", "\"totalTokens\":83000", "", 1)).user(700);
    check_after(
        &session,
        &error("429 too many tokens, please wait"),
        as_it_is,
        expect!["Some(Threshold) retry=false tokens=83700 threshold=83616 skipped=None"],
    );
}

#[test]
fn usage_of_zero_is_no_usage() {
    // docs/triggers.md, "Threshold".
    let zero = answer("stop", "\"input\":0,\"output\":0,\"totalTokens\":0", "", 1);
    check_after(
        &Session::default().user(84_000).message(&zero),
        &zero,
        as_it_is,
        expect!["Some(Threshold) retry=false tokens=84000 threshold=83616 skipped=None"],
    );
}

#[test]
fn a_request_refused_for_its_output_is_not_compacted() {
    // docs/triggers.md, "Overflow".
    let text = "maximum context length is 100000 tokens. However, you requested about 120000 tokens \
                (20000 of text input, 100000 in the output)";
    check_after(
        &Session::default().user(1),
        &error(text),
        as_it_is,
        expect![[r#"None retry=false tokens=1 threshold=83616 skipped=Some("outputTooLarge")"#]],
    );
    check_after(
        &Session::default().user(1),
        &error(&text.replace("(20000", "(95000")),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=1 threshold=83616 skipped=None"],
    );
}

#[test]
fn what_a_provider_names_goes_before_the_window() {
    let session = Session::default().user(45_000);
    let refused = "input length and max_tokens exceed context limit: 45100 + 20000 > 64000";
    check_after(
        &session,
        &error(refused),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=45000 threshold=27616 skipped=None"],
    );
    // One number for the whole request: the part beyond the context is not room.
    let refused = "maximum context length is 64000 tokens. However, you requested 65000 tokens";
    check_after(
        &session,
        &error(refused),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=45000 threshold=27616 skipped=None"],
    );
    // Without numbers the room is smaller than the context, so half of the context is kept.
    check_after(
        &session,
        &error("Input is too long for requested model."),
        as_it_is,
        expect!["Some(Overflow) retry=true tokens=45000 threshold=16875 skipped=None"],
    );
    let known = |input: &mut TriggerInput<'_>| input.model.room = Some(44_000);
    check_before(&session, known, expect!["Some(Threshold) retry=false tokens=45000 threshold=27616 skipped=None"]);
}

#[test]
fn an_answer_that_was_cut_before_its_length_is_asked_for_once_more() {
    let session = Session::default().user(1);
    let cut = answer("length", "\"input\":50000,\"output\":900", "", 50);
    let writes = |most| move |input: &mut TriggerInput<'_>| input.model.max_output_tokens = Some(most);
    check_after(
        &session,
        &cut,
        writes(8000),
        expect!["Some(Overflow) retry=true tokens=50900 threshold=83616 skipped=None"],
    );
    check_after(&session, &cut, writes(900), expect!["None retry=false tokens=50900 threshold=83616 skipped=None"]);
}

/// docs/triggers.md, "Overflow".
#[test]
fn an_answer_to_a_part_of_the_context_shows_what_is_read() {
    let words = "plain words of a person ".repeat(4000);
    let session = Session::default().message(&format!("{{\"role\":\"user\",\"content\":\"{words}\"}}"));
    let read = |tokens: u64| {
        answer("stop", &format!("\"input\":{tokens},\"output\":5,\"totalTokens\":{}", tokens + 5), "", 50)
    };
    check_after(
        &session,
        &read(8192),
        as_it_is,
        expect!["Some(Overflow) retry=false tokens=8197 threshold=6144 skipped=None"],
    );
    // Counts of a whole prompt, and counts without the cached part.
    for tokens in [18_000, 300] {
        let projection = session.projection();
        let message = Message::from_json(&read(tokens)).expect("the message is made here");
        let decision = check_compaction(&input(&projection, Some(&message)));
        assert_eq!((decision.reason, decision.has_overflowed), (None, false), "{tokens}");
    }
}

#[test]
fn a_window_that_is_not_known_triggers_nothing() {
    check_before(
        &Session::default().user(90_000),
        |input| input.model.context_window = 0,
        expect![[r#"None retry=false tokens=90000 threshold=0 skipped=Some("unknownWindow")"#]],
    );
}

#[test]
fn an_empty_context_needs_nothing() {
    check_before(&Session::default(), as_it_is, expect!["None retry=false tokens=0 threshold=83616 skipped=None"]);
}

/// docs/triggers.md, "Threshold".
#[test]
fn limits_fit_small_windows() {
    let table = |windows: &[u64], threshold_percent| -> String {
        let line = |window: &u64| {
            let limits = EffectiveLimits::for_window(
                *window,
                &CompactionSettings { threshold_percent, ..CompactionSettings::default() },
            );
            format!(
                "{window}: reserve {} keep {} threshold {}{}\n",
                limits.reserve_tokens,
                limits.keep_recent_tokens,
                limits.threshold,
                if limits.is_scaled { " scaled" } else { "" }
            )
        };
        windows.iter().map(line).collect()
    };
    expect![[r#"
        1000000: reserve 16384 keep 20000 threshold 983616
        200000: reserve 16384 keep 20000 threshold 183616
        56159: reserve 16384 keep 20000 threshold 39775
        56157: reserve 16384 keep 19999 threshold 39773 scaled
        36385: reserve 16384 keep 5170 threshold 20001 scaled
        36384: reserve 9096 keep 15009 threshold 27288 scaled
        16384: reserve 4096 keep 6759 threshold 12288 scaled
        4096: reserve 1024 keep 1689 threshold 3072 scaled
        1: reserve 0 keep 1 threshold 1 scaled
        0: reserve 0 keep 0 threshold 0 scaled
    "#]]
    .assert_eq(&table(&[1_000_000, 200_000, 56_159, 56_157, 36_385, 36_384, 16_384, 4096, 1, 0], None));
    expect![[r#"
        18446744073709551615: reserve 16384 keep 20000 threshold 9223372036854775807
        1000000: reserve 16384 keep 20000 threshold 500000
        200001: reserve 16384 keep 20000 threshold 100000
        32768: reserve 5461 keep 9012 threshold 16384 scaled
        99: reserve 16 keep 27 threshold 49 scaled
        1: reserve 0 keep 1 threshold 1 scaled
        0: reserve 0 keep 0 threshold 0 scaled
    "#]]
    .assert_eq(&table(&[u64::MAX, 1_000_000, 200_001, 32_768, 99, 1, 0], Some(50)));
    expect![[r#"
        200000: reserve 16384 keep 20000 threshold 183616
        16384: reserve 4096 keep 6759 threshold 12288 scaled
    "#]]
    .assert_eq(&table(&[200_000, 16_384], Some(100)));
    expect![[r#"
        200000: reserve 666 keep 1101 threshold 2000 scaled
        50: reserve 0 keep 1 threshold 1 scaled
    "#]]
    .assert_eq(&table(&[200_000, 50], Some(1)));
}

proptest! {
    #[test]
    fn limits_always_leave_room(
        window in 8u64..=u64::MAX,
        reserve_tokens in any::<u64>(),
        keep_recent_tokens in any::<u64>(),
        threshold_percent in proptest::option::of(1u64..=100),
    ) {
        let settings = CompactionSettings { enabled: true, reserve_tokens, keep_recent_tokens, threshold_percent };
        let limits = EffectiveLimits::for_window(window, &settings);
        let part = u128::from(window) * u128::from(threshold_percent.unwrap_or(100)) / 100;
        prop_assert!(limits.threshold > 0 && limits.threshold <= window - limits.reserve_tokens);
        prop_assert!(u128::from(limits.threshold) <= part.max(1));
        if threshold_percent.is_none() {
            prop_assert_eq!(limits.threshold, window - limits.reserve_tokens);
        }
        prop_assert!(limits.reserve_tokens <= reserve_tokens && limits.keep_recent_tokens <= keep_recent_tokens);
        // The result of a compaction is under the threshold.
        let summary = u128::from(limits.reserve_tokens) * 4 / 5;
        prop_assert!(summary + u128::from(limits.keep_recent_tokens) <= u128::from(limits.threshold));
    }
}

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
    // The id is reused, so the later result belongs to another attempt.
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
    // A compaction precedes the entries that it kept, and an edit contributes no message.
    check(&session().says(&[&calling("toolUse", &["a"]), &result("a")]).compaction("1"), true);
    check(&session().says(&[&calling("length", &[])]).hides("1"), false);
}

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

/// Checks the decision for `overflowing`: a compaction, or the advice to the person. It must be the same before and
/// after the message is stored.
fn check_recovery(session: impl Fn() -> Session, overflowing: &str, failed: Option<&str>, expected: &str) {
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
        let found = match decision.reason {
            Some(_) => format!("compact, retry={}", decision.will_retry),
            None => {
                assert_eq!(decision.skipped, Some("overflowRecoveryTried"));
                decision.advice.unwrap_or_default().split(": ").next().unwrap_or_default().to_owned()
            }
        };
        assert_eq!(found, expected, "stored: {}, given: {}", session.0.len(), given.is_some());
    }
}

const STILL: &str = "the context is still too large for the model after one compaction";
const CUT_AGAIN: &str = "the answer was cut off once more after one compaction, since the window was full";
const FAILED: &str = "the context is too large for the model and compacting it did not succeed";

#[test]
fn an_overflow_after_a_recovery_is_reported() {
    let recovered = |reason: &'static str| move || Session::default().user(1).compaction_for(reason);
    let over = answer("toolUse", "\"input\":100001,\"output\":5", "", 50);
    for reason in ["overflow", "manual"] {
        check_recovery(recovered(reason), &error(OVERFLOW_TEXT), None, STILL);
        check_recovery(recovered(reason), &answer("length", CUT, "", 50), None, CUT_AGAIN);
        check_recovery(recovered(reason), &over, None, STILL);
    }
    // A compaction for the threshold is not a recovery.
    check_recovery(recovered("threshold"), &error(OVERFLOW_TEXT), None, "compact, retry=true");
    check_recovery(recovered("threshold"), &answer("length", CUT, "", 50), None, "compact, retry=true");
    check_recovery(recovered("threshold"), &over, None, "compact, retry=false");
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
        check_recovery(session, &error(OVERFLOW_TEXT), None, STILL);
        check_recovery(session, &answer("length", CUT, "", 50), None, CUT_AGAIN);
    }
}

#[test]
fn a_new_request_or_an_answer_that_came_through_gives_another_try() {
    let check = |session: &dyn Fn() -> Session| {
        check_recovery(session, &error(OVERFLOW_TEXT), None, "compact, retry=true");
        check_recovery(session, &answer("length", CUT, "", 50), None, "compact, retry=true");
    };
    check(&|| Session::default().user(1).compaction_for("overflow").user(1));
    for fitting in [
        answer("stop", "\"input\":5000", "", 50),
        answer("toolUse", "\"input\":5000", "", 50),
        answer("length", "\"input\":5000,\"output\":4000", "", 50),
        // Another model may accept a context that is too large for this one.
        answer("stop", "\"input\":150000", "", 50).replace(r#""model":"m""#, r#""model":"large""#),
    ] {
        check(&|| Session::default().user(1).compaction_for("overflow").message(&fitting));
    }
}

#[test]
fn a_recovery_that_failed_was_tried() {
    let session = || Session::default().user(1).message(&error(OVERFLOW_TEXT));
    check_recovery(session, &error(OVERFLOW_TEXT), None, "compact, retry=true");
    check_recovery(session, &error(OVERFLOW_TEXT), Some("1"), FAILED);
    check_recovery(session, &answer("length", CUT, "", 50), Some("1"), FAILED);
    check_recovery(|| session().user(1), &error(OVERFLOW_TEXT), Some("1"), "compact, retry=true");
    let fitting = answer("stop", "\"input\":5000", "", 50);
    check_recovery(|| session().message(&fitting), &error(OVERFLOW_TEXT), Some("1"), "compact, retry=true");
    // The answer is on another branch, or no longer in the context.
    check_recovery(session, &error(OVERFLOW_TEXT), Some("elsewhere"), "compact, retry=true");
}

/// One step of a history.
#[derive(Debug, Clone)]
enum Step {
    Message(String),
    Entry(&'static str, String),
    /// Continues from the entry this many before the leaf.
    Branch(usize),
}

/// Tokens around the thresholds of the window of 1000.
fn usage() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        (0u64..1400).prop_map(|input| format!("\"input\":{input},\"output\":0")),
        (700u64..800).prop_map(|total| format!("\"totalTokens\":{total}")),
    ]
}

fn assistant() -> impl Strategy<Value = Step> {
    let stop = prop::sample::select(vec!["stop", "toolUse", "length", "error", "aborted"]);
    let more = prop_oneof![4 => Just(String::new()), 1 => Just(format!(",\"errorMessage\":\"{OVERFLOW_TEXT}\""))];
    let model = prop::sample::select(vec!["m", "other"]);
    (stop, usage(), more, model).prop_map(|(stop, usage, more, model)| {
        Step::Message(answer(stop, &usage, &more, 50).replace(r#""model":"m""#, &format!(r#""model":"{model}""#)))
    })
}

fn other_message() -> impl Strategy<Value = Step> {
    let role = prop::sample::select(vec![
        r#""role":"user""#,
        r#""role":"toolResult","toolCallId":"a","toolName":"t""#,
        r#""role":"system""#,
    ]);
    (role, 0usize..800).prop_map(|(role, length)| {
        Step::Message(format!("{{{role},\"content\":\"{}\",\"timestamp\":1}}", "x".repeat(length)))
    })
}

fn other_entry() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0usize..200).prop_map(|length| {
            let content = "x".repeat(length);
            Step::Entry("custom_message", format!("\"customType\":\"c\",\"content\":\"{content}\",\"display\":true"))
        }),
        Just(Step::Entry("custom", "\"customType\":\"c\"".to_owned())),
        Just(Step::Entry("label", "\"targetId\":\"0\",\"label\":\"l\"".to_owned())),
        Just(Step::Entry("branch_summary", "\"fromId\":\"0\",\"summary\":\"ssssssss\"".to_owned())),
    ]
}

/// Entries that change earlier or later ones.
fn upheaval() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0usize..30).prop_map(|kept| {
            Step::Entry(
                "compaction",
                format!("\"summary\":\"ssss\",\"firstKeptEntryId\":\"{kept}\",\"tokensBefore\":9"),
            )
        }),
        (0usize..60).prop_map(|target| {
            Step::Entry("context_edit", format!("\"targetId\":\"{target}\",\"replacement\":null"))
        }),
        (0usize..4).prop_map(|entries| {
            let data = format!("{{\"fromId\":\"0\",\"undoneEntryId\":\"0\",\"entries\":{entries}}}");
            Step::Entry("custom", format!("\"customType\":\"compactd.undo\",\"data\":{data}"))
        }),
        (1usize..6).prop_map(Step::Branch),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![6 => assistant(), 8 => other_message(), 3 => other_entry(), 2 => upheaval()];
    prop::collection::vec(step, 1..40)
}

impl Session {
    fn step(self, step: &Step) -> Self {
        match step {
            Step::Message(message) => self.message(message),
            Step::Entry(kind, members) => self.entry(kind, members),
            // The path to an earlier entry. Ids are the numbers of positions.
            Step::Branch(back) => Self(self.0[..self.0.len().saturating_sub(*back)].to_vec()),
        }
    }
}

/// The projection and the gauge must agree on the same context.
fn compare(gauge: &Gauge, projection: &Projection, message: Option<&Message>) -> Result<(), TestCaseError> {
    prop_assert_eq!(gauge.known_tokens(), known_context_tokens(projection));
    let model = TriggerModel { context_window: 1000, ..MODEL };
    let message = message.filter(|message| message.as_assistant().is_some());
    for enabled in [true, false] {
        let settings = CompactionSettings { enabled, ..CompactionSettings::default() };
        let decision = check_compaction(&TriggerInput { model, settings, ..input(projection, message) });
        if !gauge.may_be_due(&model, &settings) {
            prop_assert_eq!((decision.reason, decision.advice), (None, None));
        }
        // A context over the threshold is never missed, and one below it is not checked without need.
        let is_over = enabled && context_tokens(projection).tokens > decision.threshold;
        prop_assert!(!is_over || gauge.may_be_due(&model, &settings));
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_gauge_says_what_the_projection_says(steps in steps()) {
        let mut session = Session::default();
        let mut gauge: Option<Gauge> = None;
        let mut followed = 0;
        for step in &steps {
            session = session.step(step);
            let Some(last) = session.0.last().filter(|_| !matches!(step, Step::Branch(_))) else {
                continue;
            };
            let projection = session.projection();
            gauge = gauge.and_then(|gauge| gauge.followed_by(last));
            if let Some(gauge) = &gauge {
                followed += 1;
                prop_assert_eq!(gauge.leaf_id(), last.id());
                compare(gauge, &projection, last.message().map(Arc::as_ref))?;
            }
            gauge = gauge.or_else(|| Gauge::of(&projection));
            if let Some(gauge) = &gauge {
                compare(gauge, &projection, None)?;
            }
        }
        let is_plain = |step: &Step| match step {
            Step::Message(message) => !message.contains(r#""role":"system""#),
            Step::Entry(kind, members) => *kind != "compaction" && *kind != "context_edit" && !members.contains("undo"),
            Step::Branch(_) => false,
        };
        // Plain entries alone never need a new projection.
        prop_assert!(!steps.iter().all(is_plain) || followed + 1 == steps.len());
    }
}

#[test]
fn a_gauge_follows_its_own_leaf_alone() {
    let session = Session::default().user(10).message(&answer("stop", "\"totalTokens\":500", "", 1));
    let gauge = Gauge::of(&session.projection()).expect("the context is not empty");
    assert_eq!(gauge.known_tokens(), Some(500));
    let next = session.user(7);
    let grown = gauge.clone().followed_by(&next.0[2]).expect("it follows");
    assert_eq!((grown.known_tokens(), grown.leaf_id().as_str()), (Some(507), "2"));
    assert!(grown.followed_by(&next.0[2]).is_none(), "it is there already");
    assert!(gauge.followed_by(&next.0[1]).is_none(), "it is an earlier entry");
    assert!(Gauge::of(&Session::default().projection()).is_none());
}
