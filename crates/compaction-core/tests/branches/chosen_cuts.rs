//! Cuts that a caller chose: which ones are accepted, and what they guarantee.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::{branch, entry, leaf, project};
use crate::promises::{conversation, lines, settings};
use compaction_core::cut_point;
use compaction_core::entry::{Entry, EntryId};
use compaction_core::preparation::{Preparation, PreparedMessage};
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn check(text: &str, first_kept: &str, expected: Expect) {
    let branch = branch(text);
    let chosen = EntryId::new(first_kept);
    let preparation = Preparation::at(&project(&branch), leaf(&branch), &chosen, settings(1), &Default::default());
    let ids = |messages: &[PreparedMessage]| {
        messages.iter().map(|prepared| prepared.entry_id.to_string()).collect::<Vec<_>>().join(" ")
    };
    let actual = match preparation {
        Err(error) => error.to_string(),
        Ok(preparation) => format!(
            "keeps from {}; history: {}; turn prefix: {}",
            preparation.first_kept_entry_id,
            ids(&preparation.messages_to_summarize),
            ids(&preparation.turn_prefix_messages)
        ),
    };
    expected.assert_eq(&actual);
}

const WORK: &str = "user 5\nassistant 5 calls a\nresult a 5\nassistant 5\nlevel high\nuser 5\nassistant 5";

#[test]
fn a_caller_may_cut_where_any_cut_may_be() {
    check(WORK, "5", expect!["keeps from 5; history: 0 1 2 3; turn prefix: "]);
    check(WORK, "3", expect!["keeps from 3; history: ; turn prefix: 0 1 2"]);
    check(WORK, "6", expect!["keeps from 6; history: 0 1 2 3; turn prefix: 5"]);
    // An entry without a message may stand for the message after it.
    check(WORK, "4", expect!["keeps from 4; history: ; turn prefix: 0 1 2 3"]);
}

#[test]
fn what_is_no_cut_is_refused() {
    check(WORK, "2", expect!["keep from 2: the kept entries cannot begin with a tool result"]);
    check(WORK, "x", expect!["keep from x: it is not among the entries that follow the last compaction's summary"]);
    check(
        WORK,
        "0",
        expect![
            "compact: all of the 6 messages since the last compaction (31 tokens of context) fall into the 1 recent tokens that are kept"
        ],
    );
    check(
        "user 1\nassistant 1 calls a\nuser 2\nresult a 1\nuser 3",
        "2",
        expect!["keep from 2: a tool call before it has its result at or after it"],
    );
    check(
        "user 1\nassistant 1 calls a b\nresult b 2\nlabel\nuser 3",
        "3",
        expect!["keep from 3: the result of tool call a before it has not arrived"],
    );
    check("user 1\nsystem 2\nuser 3", "1", expect!["keep from 1: the kept entries cannot begin with a system message"]);
}

#[test]
fn a_writer_of_summaries_may_cut_before_a_call_that_waits() {
    let branch = branch("user 1\nassistant 1 calls a b\nresult b 2\nlabel\nuser 3");
    let check = |first_kept: &str, expected: Option<&str>| {
        let call = cut_point::pending_before(&branch, &EntryId::new(first_kept));
        assert_eq!(call.map(|call| call.call_id).as_deref(), expected, "{first_kept}");
    };
    for (first_kept, expected) in [("0", None), ("1", None), ("2", Some("a")), ("4", Some("a")), ("x", None)] {
        check(first_kept, expected);
    }
}

#[test]
fn a_result_that_came_meanwhile_is_noticed() {
    // Prepared at entry 4, where no call was pending.
    let entries = branch("user 1\nassistant 1 calls a b\nuser 2\nassistant 1 calls c\nresult c 2\nresult a 2");
    let check = |first_kept: &str, leaf: &str, expected: Option<&str>| {
        let (first_kept, leaf) = (EntryId::new(first_kept), EntryId::new(leaf));
        let call = cut_point::answered_since(project(&entries).entries(), &first_kept, &leaf);
        assert_eq!(call.as_deref(), expected, "{first_kept} {leaf}");
    };
    for (first_kept, leaf, expected) in [
        ("2", "4", Some("a")),
        ("3", "4", Some("a")),
        ("1", "4", None),
        ("2", "5", None),
        ("4", "3", Some("a")),
        ("3", "3", Some("a")),
        ("x", "4", None),
        ("2", "x", None),
    ] {
        check(first_kept, leaf, expected);
    }
}

#[test]
fn a_second_cut_follows_the_first() {
    let text = "user 5\nassistant 5\nuser 5\nassistant 5\ncompaction keeps 2\nuser 5\nassistant 5";
    check(text, "1", expect!["keep from 1: it is not among the entries that follow the last compaction's summary"]);
    check(text, "4", expect!["keep from 4: it is not among the entries that follow the last compaction's summary"]);
    check(text, "3", expect!["keeps from 3; history: ; turn prefix: 2"]);
    check(
        "user 5\ncompaction keeps 0",
        "0",
        expect!["compact again: nothing that the model sees follows compaction 1"],
    );
}

proptest! {
    #[test]
    fn a_chosen_cut_loses_nothing_and_parts_nothing(lines in lines(), chosen in 0..40usize) {
        let mut entries = branch(&lines.join("\n"));
        let before = project(&entries);
        let chosen = EntryId::new(chosen.to_string());
        let preparation = Preparation::at(&before, leaf(&entries), &chosen, settings(1), &Default::default());
        let Ok(preparation) = preparation else { return Ok(()) };
        prop_assert_eq!(&preparation.first_kept_entry_id, &chosen);
        let orphans = |entries: &[Arc<Entry>]| -> HashSet<String> {
            project(entries).diagnostics().iter().map(|diagnostic| format!("{diagnostic:?}")).collect()
        };
        let was = orphans(&entries);
        let summarised = preparation.messages_to_summarize.iter().chain(&preparation.turn_prefix_messages);
        let mut accounted: Vec<String> =
            summarised.map(|prepared| prepared.message.raw().get().to_owned()).collect();
        entries.push(Arc::new(entry(entries.len(), &format!("compaction keeps {chosen}"))));
        accounted.extend(conversation(&project(&entries)));
        prop_assert_eq!(accounted, conversation(&before));
        prop_assert!(orphans(&entries).is_subset(&was));
    }

    #[test]
    fn the_cut_that_the_budget_gives_may_be_chosen(lines in lines(), keep in 0u64..200) {
        let entries = branch(&lines.join("\n"));
        let context = project(&entries);
        let Ok(found) = Preparation::of(&context, leaf(&entries), settings(keep), &Default::default()) else {
            return Ok(());
        };
        let chosen = &found.first_kept_entry_id;
        let again = Preparation::at(&context, leaf(&entries), chosen, settings(keep), &Default::default());
        prop_assert_eq!(format!("{found:?}"), format!("{:?}", again.expect("the cut is valid")));
    }
}
