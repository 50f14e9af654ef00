//! Undoing compactions: what is written, and what counts if only a part of it was.

use crate::common::{HEADER, Place, file, id, path_of, say, user};
use session_store::{NewEntry, Parent, Precondition, Session, SessionOptions, StoreError};

fn compaction(id: &str, parent: &str, kept: &str) -> String {
    format!(
        r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","summary":"S","firstKeptEntryId":"{kept}","tokensBefore":1}}"#
    )
}

fn lines() -> String {
    let entries = [
        user("a", None, "1"),
        compaction("b", "a", "a"),
        user("c", Some("b"), "2"),
        user("d", Some("c"), "3"),
        user("e", Some("d"), "4"),
    ];
    file(&entries.each_ref().map(String::as_str))
}

fn undo(session: &mut Session) -> Vec<String> {
    let plan = session.plan_undo(None).unwrap().expect("there is a compaction");
    let appended = session.undo(&plan).unwrap();
    appended.entries().map(|entry| entry.id().to_string()).collect()
}

/// The texts that the model sees.
fn seen(session: &Session) -> String {
    let context = session.context(session.leaf_id()).unwrap();
    context.projection.messages().map(compaction_core::entry_text::message_text).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_new_branch_has_all_and_the_old_one_stays() {
    for place in Place::all(lines().as_bytes()) {
        let mut session = place.open().unwrap();
        assert_eq!(seen(&session), "S 1 2 3 4");
        let ids = undo(&mut session);
        assert_eq!((seen(&session), path_of(&session)), ("1 2 3 4".to_owned(), format!("a {}", ids.join(" "))));
        assert!(place.text().starts_with(&lines()));
        assert!(session.plan_undo(None).unwrap().is_none());
        say(&mut session, "5");
        session.close().unwrap();
        assert_eq!(seen(&place.open().unwrap()), "1 2 3 4 5");
    }
}

#[test]
fn an_undo_that_was_cut_short_anywhere_has_not_been() {
    let place = Place::file(lines().as_bytes());
    let mut session = place.open().unwrap();
    undo(&mut session);
    session.close().unwrap();
    let (whole, before) = (place.text(), lines().len());
    for end in before..=whole.len() {
        let place = Place::memory(&whole.as_bytes()[..end]);
        let mut session = place.open().unwrap();
        // Without its LF the last line is whole as well.
        let is_whole = end + 1 >= whole.len();
        assert_eq!(seen(&session), if is_whole { "1 2 3 4" } else { "S 1 2 3 4" }, "{end} of {}", whole.len());
        say(&mut session, "5");
        let expected = if is_whole { "1 2 3 4 5" } else { "S 1 2 3 4 5" };
        assert_eq!((seen(&session), seen(&place.open().unwrap())), (expected.to_owned(), expected.to_owned()));
    }
}

#[test]
fn the_end_of_a_large_session_knows_it_too() {
    let place = Place::file(lines().as_bytes());
    let mut session = place.open().unwrap();
    undo(&mut session);
    session.close().unwrap();
    let text = place.text();
    let cut = text.trim_end().rfind('\n').unwrap() + 1;
    for (end, expected) in [(cut, "S 1 2 3 4"), (text.len(), "1 2 3 4")] {
        let log = session_store::MemoryLog::new(&text.as_bytes()[..end]);
        let options = SessionOptions { whole_bytes: 0, ..SessionOptions::default() };
        assert_eq!(seen(&Session::open(Box::new(log), options).unwrap()), expected);
    }
}

/// A session in which a compaction was undone, the branch left after the first copy, and what came
/// after it undone again up to an earlier compaction.
fn undone_within_copies() -> (Place, usize) {
    let entries = [
        user("a", None, "1"),
        compaction("b", "a", "a"),
        user("c", Some("b"), "2"),
        compaction("d", "c", "c"),
        user("e", Some("d"), "3"),
        user("f", Some("e"), "4"),
        user("g", Some("f"), "5"),
    ];
    let place = Place::memory(file(&entries.each_ref().map(String::as_str)).as_bytes());
    let mut session = place.open().unwrap();
    let copies = undo(&mut session);
    session.append(NewEntry::new("custom", "{}"), Parent::At(Some(id(&copies[1])))).unwrap();
    say(&mut session, "6");
    let before = place.bytes().len();
    undo(&mut session);
    assert_eq!(seen(&session), "1 2 3 6");
    (place, before)
}

#[test]
fn a_copied_mark_of_a_branch_that_left_its_copies_is_no_interruption() {
    let (place, before) = undone_within_copies();
    let whole = place.text();
    for (end, _) in whole.match_indices('\n').filter(|(end, _)| *end >= before) {
        let place = Place::memory(&whole.as_bytes()[..=end]);
        let expected = if end + 1 == whole.len() { "1 2 3 6" } else { "S 1 2 3 6" };
        assert_eq!(seen(&place.open().unwrap()), expected, "{end} of {}", whole.len());
        // The same where the end alone is read.
        let log = session_store::MemoryLog::new(&whole.as_bytes()[..=end]);
        let options = SessionOptions { whole_bytes: 0, ..SessionOptions::default() };
        assert_eq!(seen(&Session::open(Box::new(log), options).unwrap()), expected, "{end} of {}", whole.len());
    }
}

#[test]
fn what_follows_an_undo_that_was_cut_short_is_paid_for() {
    let usage = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:09.000Z","message":{{"role":"assistant","content":[],"usage":{{"input":7}}}}}}"#
        )
    };
    let place = Place::file(lines().as_bytes());
    let mut session = place.open().unwrap();
    let copies = undo(&mut session);
    session.close().unwrap();
    let whole = place.text();
    let cut = whole.trim_end().rfind('\n').unwrap() + 1;
    for (end, parent) in [(whole.len(), &*copies[3]), (cut, "e")] {
        let place = Place::memory(&whole.as_bytes()[..end]);
        place.append_foreign(&format!("{}\n", usage("z", parent)));
        assert_eq!(place.open().unwrap().stats().unwrap().tokens.input, 7, "{end}");
    }
}

#[test]
fn moving_into_the_copies_at_once_is_no_interruption() {
    let place = Place::memory(lines().as_bytes());
    let mut session = place.open().unwrap();
    let ids = undo(&mut session);
    let time = session.entry(&id(&ids[1])).unwrap().epoch_milliseconds();
    let mark = NewEntry { timestamp: time, ..NewEntry::new("custom", "{}") };
    session.append(mark, Parent::At(Some(id(&ids[1])))).unwrap();
    assert_eq!(seen(&place.open().unwrap()), "1 2");
}

#[test]
fn a_plan_is_for_its_leaf() {
    for place in Place::all(lines().as_bytes()) {
        let mut session = place.open().unwrap();
        let plan = session.plan_undo(Some(&id("b"))).unwrap().unwrap();
        assert!(session.plan_undo(Some(&id("c"))).unwrap().is_none());
        session.append_if(NewEntry::new("custom", "{}"), Parent::Leaf, &Precondition::None).unwrap();
        assert!(matches!(session.undo(&plan), Err(StoreError::LeafMoved { .. })));
    }
}

#[test]
fn an_empty_session_has_nothing_to_undo() {
    for place in Place::all(format!("{HEADER}\n").as_bytes()) {
        assert!(place.open().unwrap().plan_undo(None).unwrap().is_none());
    }
}
