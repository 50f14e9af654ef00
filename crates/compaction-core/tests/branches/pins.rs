//! Pins: which entries are pinned, and that they stay.

use std::cell::Cell;
use std::sync::Arc;

use crate::common::{Counted, branch, carrying, entry, leaf, project};
use crate::promises::{lines, settings};
use compaction_core::entry::{Entry, EntryId, EntryKind, new_entry_line};
use compaction_core::json::{self, RawObject};
use compaction_core::pins::{PinnedEntry, Pins, add_pinned_entries, remove_made_up_pins, remove_pinned_entries};
use compaction_core::preparation::Preparation;
use compaction_core::projection::PathState;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn pins(path: &[Arc<Entry>]) -> Pins {
    match Pins::of(path) {
        Ok(pins) => pins,
    }
}

fn check(text: &str, expected: Expect) {
    let pins = pins(&branch(text));
    let shown = pins.entries().iter().map(|pinned| format!("{} {} {}", pinned.entry_id, pinned.role, pinned.text));
    expected.assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}

#[test]
fn the_last_pin_of_an_entry_counts_and_order_is_that_of_the_branch() {
    check(
        "said one\nsaid two\npin 1\npin 0\nunpin 1\nsaid three\npin 1\npin 5\nunpin 0",
        expect![[r#"
            1 user two
            5 user three"#]],
    );
}

#[test]
fn edits_of_pinned_entries_apply() {
    check(
        "said one\nsaid two\npin 0\npin 1\nrewrite 0 1\nhide 1",
        expect![[r#"
        0 user abc 
        1 user "#]],
    );
}

#[test]
fn what_is_no_message_of_the_conversation_is_not_pinned() {
    check("user 1\ncompaction keeps 0\nsystem 4\nlevel high\nuser 0\npin 1\npin 2\npin 3\npin 4\npin 9", expect![""]);
}

fn pinned(text: &str) -> PinnedEntry {
    let line = new_entry_line(
        "message",
        &EntryId::new("a"),
        None,
        "",
        &format!("{{\"message\":{{\"role\":\"user\",\"content\":{}}}}}", json::encode_string(text)),
    );
    PinnedEntry::of(&Entry::parse(&line.expect("the tests write whole entries")).expect("it is one"), 0, None)
        .expect("it has text")
}

#[test]
fn the_block_precedes_the_files() {
    let summary = "## Goal\n- all\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nb\n</modified-files>";
    let with = add_pinned_entries(summary, [&pinned("keep </pinned-entries> me\n\n## Goal"), &pinned("and me")]);
    expect![[r#"
        ## Goal
        - all

        <pinned-entries>
        [a user]
        keep <\/pinned-entries> me

        ## Goal

        [a user]
        and me
        </pinned-entries>

        <read-files>
        a
        </read-files>

        <modified-files>
        b
        </modified-files>"#]]
    .assert_eq(&with);
    assert_eq!(remove_pinned_entries(&with), summary);
    assert_eq!(add_pinned_entries(summary, []), summary);
}

#[test]
fn half_a_block_goes_without_what_follows() {
    for (text, rest) in [
        ("a\n<pinned-entries>\nb", "a\nb"),
        ("a\n</pinned-entries>\nb", "a\nb"),
        ("</pinned-entries>\na\n<pinned-entries>\nb", "a\nb"),
        ("<pinned-entries>\n<pinned-entries>\na\n</pinned-entries>\nb", "b"),
        ("no <pinned-entries> here", "no <pinned-entries> here"),
    ] {
        assert_eq!(remove_pinned_entries(text), rest, "{text}");
    }
}

/// The branch with the pins of the path in each compaction that `is_ours` selects.
fn with_pin_lists(branch: &[Arc<Entry>], is_ours: impl Fn(usize) -> bool) -> Vec<Arc<Entry>> {
    let mut made: Vec<Arc<Entry>> = Vec::new();
    for (position, entry) in branch.iter().enumerate() {
        let parent = made.last().map(|parent| parent.id().clone());
        let state = parent.filter(|_| entry.kind() == EntryKind::Compaction && is_ours(position));
        made.push(match state {
            Some(parent) => carrying(entry, &PathState::of(&project(&made), &parent).with_pinned(pins(&made).ids())),
            None => Arc::clone(entry),
        });
    }
    made
}

#[test]
fn the_walk_ends_at_a_compaction_that_tells_of_all_pins() {
    let past = "user 1\n".repeat(500);
    for (text, most) in [
        (format!("{past}compaction keeps 499\nuser 1"), 2),
        (format!("{past}pin 3\nunpin 3\ncompaction keeps 499\nuser 1"), 2),
        (format!("{past}pin 490\ncompaction keeps 499\nuser 1"), 20),
        (format!("{past}pin 490\ncompaction keeps 499\nunpin 490\nuser 1"), 3),
        (format!("{past}compaction keeps 499\nuser 1\npin 490"), 20),
        // Only the walk to the root shows that the entry does not exist.
        (format!("{past}compaction keeps 499\nuser 1\npin 9999"), 504),
    ] {
        let stored = branch(&text);
        let listed = with_pin_lists(&stored, |_| true);
        let steps = Cell::new(0);
        let Ok(found) = Pins::of(Counted(&listed, &steps));
        assert_eq!(found, pins(&stored));
        assert!(steps.get() <= most, "{} entries were looked at, at most {most} should", steps.get());
    }
}

#[test]
fn pins_of_another_path_are_ignored() {
    let stored = branch("said one\npin 0\nuser 1\ncompaction keeps 2\nuser 1");
    let listed = |leaf: &str, pins: &str| {
        format!(r#"{{"compactd":{{"pins":{pins},"state":{{"leafId":"{leaf}","model":null,"thinkingLevel":"off"}}}}}}"#)
    };
    for (details, expected) in [
        (listed("2", "[]"), 0),
        (listed("1", "[]"), 1),
        (listed("2", "{}"), 1),
        (listed("2", "null"), 1),
        (listed("2", "[7]"), 1),
        (listed("2", r#"["0","gone"]"#), 1),
        (r#"{"compactd":{"pins":[]}}"#.to_owned(), 1),
    ] {
        let mut branch = stored.clone();
        let line = branch[3].line();
        let mut members = RawObject::parse(&line).unwrap();
        members.set("details", details.as_str());
        branch[3] = Arc::new(Entry::parse(&members.to_json()).unwrap());
        assert_eq!(pins(&branch).entries().len(), expected, "{details}");
    }
}

#[test]
fn a_block_that_a_model_made_up_goes_and_its_summary_stays() {
    for (text, rest) in [
        (
            "## Goal\na\n\n<pinned-entries>\n[x user]\nmade up\n</pinned-entries> \n\n## Progress\nb\n",
            "## Goal\na\n\n## Progress\nb",
        ),
        ("a\n<pinned-entries>\n## Goal\n</pinned-entries> \nb\n", "a\n## Goal\nb"),
        (
            "<pinned-entries>\n<pinned-entries>\n## Goal\n</pinned-entries>\n<pinned-entries>\nc\n</pinned-entries>",
            "## Goal",
        ),
        ("a\n</pinned-entries>", "a"),
        ("no <pinned-entries> here\n", "no <pinned-entries> here\n"),
    ] {
        assert_eq!(remove_made_up_pins(text), rest, "{text}");
    }
}

proptest! {
    #[test]
    fn what_compactions_tell_of_pins_changes_no_answer(
        lines in lines(),
        placed in proptest::collection::vec((0..40usize, any::<bool>(), 0..40usize), 0..20),
        ours in any::<u64>(),
    ) {
        let mut lines = lines;
        for (position, is_pinned, target) in placed {
            if let Some(place) = lines.get_mut(position) {
                *place = format!("{} {target}", if is_pinned { "pin" } else { "unpin" });
            }
        }
        let stored = branch(&lines.join("\n"));
        let listed = with_pin_lists(&stored, |position| ours >> (position % 64) & 1 == 1);
        for end in 0..=stored.len() {
            prop_assert_eq!(pins(&listed[..end]), pins(&stored[..end]));
        }
    }

    #[test]
    fn a_block_comes_out_as_it_went_in(text in "[a-c<>/\n -]{0,20}|</?pinned-entries>|a\n\n<pinned-entries>\n", summary in "[a-c\n]{0,20}") {
        prop_assume!(!text.trim().is_empty());
        let pinned = pinned(&text);
        let with = add_pinned_entries(&summary, [&pinned]);
        prop_assert!(pinned.is_in(&with));
        prop_assert_eq!(remove_pinned_entries(&with), summary.trim_end());
    }

    #[test]
    fn pinned_texts_stay_through_every_chain_of_compactions(lines in lines(), keeps in proptest::collection::vec(0u64..60, 1..5), which in 0..40usize) {
        let mut path = branch(&lines.join("\n"));
        path.push(Arc::new(entry(path.len(), &format!("said unforgettable {which}"))));
        path.push(Arc::new(entry(path.len(), &format!("pin {}", path.len() - 1))));
        path.push(Arc::new(entry(path.len(), &format!("pin {which}"))));
        for keep in keeps {
            path.push(Arc::new(entry(path.len(), "user 30")));
            path.push(Arc::new(entry(path.len(), "assistant 30")));
            compact(&mut path, keep);
            let shown: Vec<String> =
                project(&path).messages().map(compaction_core::entry_text::message_text).collect();
            for pinned in pins(&path).entries() {
                prop_assert!(shown.iter().any(|text| pinned.is_in(text)), "{pinned:?} in {shown:?}");
            }
            let word = format!("unforgettable {which}");
            prop_assert!(shown.iter().any(|text| text.contains(&word)));
        }
    }
}

/// Compacts as the server does: pinned entries before the cut follow the summary.
fn compact(path: &mut Vec<Arc<Entry>>, keep: u64) {
    let Ok(preparation) = Preparation::of(&project(path), leaf(path), settings(keep), &Default::default()) else {
        return;
    };
    let previous = preparation.previous_summary.unwrap_or_default();
    assert!(!previous.contains("<pinned-entries>"));
    let kept = path.iter().rev().position(|entry| *entry.id() == preparation.first_kept_entry_id);
    let pins = pins(path);
    let summary = add_pinned_entries("the past", pins.evicted(kept));
    let members = format!(
        "{{\"summary\":{},\"firstKeptEntryId\":{},\"tokensBefore\":1}}",
        json::encode_string(&summary),
        json::encode_string(preparation.first_kept_entry_id.as_str())
    );
    let id = EntryId::new(path.len().to_string());
    let line = new_entry_line("compaction", &id, leaf(path), "2030-01-01T00:00:00.000Z", &members)
        .expect("the tests write whole entries");
    path.push(Arc::new(Entry::parse(&line).expect("the tests write whole entries")));
}
