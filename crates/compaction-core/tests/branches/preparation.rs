//! Cuts and refusals, as a table (docs/cut-points.md; docs/preparation.md, "Refusals").

use crate::common::{branch, leaf, project};
use crate::promises::settings;
use compaction_core::preparation::{Preparation, PreparedMessage};
use expect_test::{Expect, expect};

fn check(keep_recent_tokens: u64, text: &str, expected: Expect) {
    let branch = branch(text);
    let preparation =
        Preparation::of(&project(&branch), leaf(&branch), settings(keep_recent_tokens), &Default::default());
    let ids = |messages: &[PreparedMessage]| {
        messages.iter().map(|prepared| prepared.entry_id.to_string()).collect::<Vec<_>>().join(" ")
    };
    let actual = match preparation {
        Err(refusal) => refusal.to_string(),
        Ok(preparation) => format!(
            "keeps from {}; history: {}; turn prefix: {}; previous: {}; before: {}",
            preparation.first_kept_entry_id,
            ids(&preparation.messages_to_summarize),
            ids(&preparation.turn_prefix_messages),
            preparation.previous_summary.as_deref().unwrap_or("-"),
            preparation.tokens_before,
        ),
    };
    expected.assert_eq(&actual);
}

#[test]
fn the_cut_is_the_first_candidate_at_or_after_the_budget() {
    let turns = "user 5\nassistant 5\nuser 5\nassistant 5";
    check(10, turns, expect!["keeps from 2; history: 0 1; turn prefix: ; previous: -; before: 20"]);
    check(11, turns, expect!["keeps from 1; history: ; turn prefix: 0; previous: -; before: 20"]);
    check(5, turns, expect!["keeps from 3; history: 0 1; turn prefix: 2; previous: -; before: 20"]);
    check(
        20,
        turns,
        expect![
            "compact: all of the 4 messages since the last compaction (20 tokens of context) fall into the 20 recent tokens that are kept"
        ],
    );
    check(0, turns, expect!["keeps from 3; history: 0 1; turn prefix: 2; previous: -; before: 20"]);
    check(
        9,
        "",
        expect![
            "compact: all of the 0 messages since the last compaction (0 tokens of context) fall into the 9 recent tokens that are kept"
        ],
    );
}

#[test]
fn results_stay_with_their_calls() {
    // Trailing results over the budget keep the call that they answer.
    check(
        5,
        "user 2\nassistant 2 calls a\nresult a 50",
        expect!["keeps from 1; history: ; turn prefix: 0; previous: -; before: 55"],
    );
    // A message between a call and its result is not a cut point.
    let steered = "user 2\nassistant 2 calls a\nuser 9\nresult a 3\nassistant 4";
    check(10, steered, expect!["keeps from 4; history: 0 1; turn prefix: 2 3; previous: -; before: 21"]);
    let parallel = "user 2\nassistant 1 calls a b\nresult a 1\nbash 9\nresult b 1\nuser 3";
    check(9, parallel, expect!["keeps from 5; history: 0 1 2 3 4; turn prefix: ; previous: -; before: 18"]);
}

#[test]
fn a_pending_call_stays() {
    // A result that arrives later must find its call.
    let steered = "user 2\nassistant 2 calls a\nuser 9";
    check(1, steered, expect!["keeps from 1; history: ; turn prefix: 0; previous: -; before: 14"]);
    let parallel = "user 2\nassistant 1 calls a b\nresult a 1\nbash 9\nlabel";
    check(1, parallel, expect!["keeps from 1; history: ; turn prefix: 0; previous: -; before: 14"]);
    let hidden_result = "user 2\nassistant 1 calls a\nresult a 1\nhide 2\nuser 9";
    check(1, hidden_result, expect!["keeps from 2; history: ; turn prefix: 0 1; previous: -; before: 13"]);
    // Calls of answers that failed, were aborted, were followed by another answer or are hidden get no result.
    for over in [
        "user 2\naborted 2 calls a\nuser 9",
        "user 2\nassistant 2 calls a\nuser 9\nassistant 1\nuser 9",
        "user 2\nassistant 2 calls a\nuser 9\nerror\nuser 9",
        "user 2\nassistant 2 calls a\nuser 9\naborted 1 calls b\nuser 9",
        "user 2\nassistant 2 calls a\nhide 1\nuser 9",
        "user 2\nassistant 2 calls a\nrewrite 1 3\nuser 9",
    ] {
        let branch = branch(over);
        let preparation = Preparation::of(&project(&branch), leaf(&branch), settings(1), &Default::default());
        let evicted = preparation.expect("all but the last message can go").evicted().count();
        assert_eq!(evicted + 1, project(&branch).messages().count(), "{over}");
    }
}

#[test]
fn nothing_is_summarised_after_a_pending_call() {
    let text =
        "user 5\nassistant 5 calls a\nresult a 5\nassistant 5 calls b c\ncompaction keeps 3\nresult c 50\nuser 9";
    check(
        1,
        text,
        expect![
            "compact: the result of tool call b has not arrived, so everything from entry 3 on has to stay, and there is nothing to summarise before it"
        ],
    );
    // Without that call there would be no cut either.
    check(
        100,
        "assistant 5 calls a\nuser 9",
        expect![
            "compact: all of the 2 messages since the last compaction (15 tokens of context) fall into the 100 recent tokens that are kept"
        ],
    );
}

#[test]
fn a_second_compaction_starts_at_what_the_first_one_kept() {
    // The first compaction kept entries 2 and 3, which must not vanish.
    let text = "user 5\nassistant 5\nuser 5\nassistant 5\ncompaction keeps 2\nuser 5\nassistant 5";
    check(10, text, expect!["keeps from 5; history: 2 3; turn prefix: ; previous: the past; before: 22"]);
    check(15, text, expect!["keeps from 3; history: ; turn prefix: 2; previous: the past; before: 22"]);
    // A compaction that keeps nothing names itself.
    check(
        5,
        "user 5\ncompaction keeps 1\nuser 6\nassistant 5",
        expect!["keeps from 3; history: ; turn prefix: 2; previous: the past; before: 13"],
    );
}

#[test]
fn metadata_after_a_compaction_does_not_make_it_compactable() {
    // The following entries contribute no message.
    let text = "user 5\nassistant 5\ncompaction keeps 1\nlabel\nlevel high";
    check(1, text, expect!["compact again: nothing that the model sees follows compaction 2"]);
}

#[test]
fn metadata_before_the_cut_stays_with_it() {
    let text = "user 5\nassistant 5\nlevel high\nlabel\nuser 5\nassistant 5";
    check(10, text, expect!["keeps from 2; history: ; turn prefix: 0 1; previous: -; before: 20"]);
}

#[test]
fn every_visible_entry_counts_against_the_budget() {
    // Custom messages and branch summaries are kept context, too.
    check(
        10,
        "user 5\nassistant 5\nuser 1\ncustom 5\nbranch 5",
        expect!["keeps from 3; history: 0 1 2; turn prefix: ; previous: -; before: 21"],
    );
}

#[test]
fn prompts_are_neither_summarised_nor_cut_points() {
    check(
        5,
        "system 9\nuser 5\nassistant 5\nsystem 2\nuser 5",
        expect!["keeps from 4; history: 1 2; turn prefix: ; previous: -; before: 27"],
    );
}

#[test]
fn hidden_entries_are_not_summarised() {
    check(
        5,
        "user 5\nassistant 5\nhide 1\nuser 5",
        expect!["keeps from 1; history: ; turn prefix: 0; previous: -; before: 10"],
    );
    check(
        5,
        "user 5\nassistant 5\nrewrite 1 1\nuser 5",
        expect!["keeps from 2; history: ; turn prefix: 0 1; previous: -; before: 11"],
    );
}

#[test]
fn an_abandoned_attempt_does_not_keep_the_input_that_failed() {
    check(
        5,
        "user 5\nassistant 5\nuser 50\nerror\nhide 3",
        expect!["keeps from 3; history: 0 1; turn prefix: 2; previous: -; before: 60"],
    );
    check(
        5,
        "user 5\nassistant 5\nuser 50\nlabel",
        expect!["keeps from 2; history: 0 1; turn prefix: ; previous: -; before: 60"],
    );
}

#[test]
fn usage_counts_only_if_it_is_newer_than_compaction_and_edits() {
    check(
        5,
        "user 5\nusage 900\nuser 8",
        expect!["keeps from 2; history: 0 1; turn prefix: ; previous: -; before: 908"],
    );
    // Usage from before a compaction or an edit is outdated.
    check(
        5,
        "user 5\nusage 900\nhide 0\nuser 8",
        expect!["keeps from 2; history: 1; turn prefix: ; previous: -; before: 8"],
    );
    check(
        5,
        "user 5\nusage 900\ncompaction keeps 1\nuser 8",
        expect!["keeps from 3; history: 1; turn prefix: ; previous: the past; before: 10"],
    );
    // Usage of failed answers is not trusted.
    check(
        5,
        "user 5\nusage 900\nerror\nuser 8",
        expect!["keeps from 3; history: 0 1 2; turn prefix: ; previous: -; before: 908"],
    );
}
