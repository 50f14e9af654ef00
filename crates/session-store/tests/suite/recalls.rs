//! Recall of evicted entries.

use std::cell::Cell;

use crate::common::{Place, file, id, ids, user};
use compaction_core::entry::EntryId;
use compaction_core::file_operations::FileTools;
use compaction_core::recall::RecallQuery;
use session_store::{MemoryLog, Recalled, Session, SessionOptions, StoreError};

fn lines() -> String {
    let entries = [
        user("a", None, "the parser is old"),
        user("b", Some("a"), "a new parser, a parser"),
        r#"{"type":"message","id":"c","parentId":"b","timestamp":"","message":{"role":"user","content":"parser"#.to_owned(),
        user("d", Some("c"), "elsewhere"),
        r#"{"type":"context_edit","id":"e","parentId":"d","timestamp":"","targetId":"a","replacement":null}"#.to_owned(),
        r#"{"type":"context_edit","id":"f","parentId":"e","timestamp":"","targetId":"a","replacement":{"content":"x"}}"#.to_owned(),
        user("g", Some("f"), "the parser that is kept"),
        r#"{"type":"compaction","id":"h","parentId":"g","timestamp":"","summary":"parser","firstKeptEntryId":"g","tokensBefore":1}"#.to_owned(),
        user("i", Some("h"), "what about the parser?"),
        user("j", Some("a"), "a parser on another branch"),
        user("k", Some("i"), "on"),
    ];
    file(&entries.each_ref().map(String::as_str))
}

fn recall(session: &Session, leaf: Option<&EntryId>, query: &RecallQuery) -> Result<Recalled, StoreError> {
    let found = session.recall(leaf, query, &FileTools::default(), &|| false)?;
    Ok(found.expect("nobody cancels it"))
}

fn recalled(session: &Session, question: &str) -> String {
    let query = RecallQuery::parse(question).unwrap();
    let found = recall(session, session.leaf_id(), &query).unwrap();
    ids(&found.passages.iter().map(|passage| found.entry_ids[passage.document].clone()).collect::<Vec<_>>())
}

#[test]
fn only_what_was_evicted_from_the_path_answers() {
    for place in Place::all(lines().as_bytes()) {
        let session = place.open().unwrap();
        assert_eq!(recalled(&session, "Parser"), "b a");
        assert_eq!(recalled(&session, "elsewhere"), "d");
        assert_eq!(recalled(&session, "kept"), "");
        let query = RecallQuery::parse("parser").unwrap();
        // Before the compaction, only the text that an edit replaced is not in the context.
        assert_eq!(recall(&session, Some(&id("g")), &query).unwrap().entry_ids, [id("a")]);
        assert_eq!(recall(&session, None, &query).unwrap(), Recalled::default());
        recall(&session, Some(&id("nobody")), &query).unwrap_err();
    }
}

#[test]
fn what_was_opened_by_its_end_answers_alike() {
    let text = lines().lines().filter(|line| line.ends_with('}')).map(|line| format!("{line}\n")).collect::<String>();
    let text = text.replace(r#""parentId":"c""#, r#""parentId":"b""#);
    let options = SessionOptions { whole_bytes: 0, ..SessionOptions::default() };
    let session = Session::open(Box::new(MemoryLog::new(text)), options).unwrap();
    assert_eq!((session.entry_count(), recalled(&session, "parser").as_str()), (None, "b a"));
}

#[test]
fn a_recall_can_be_cancelled_at_every_entry() {
    let place = Place::memory(lines().as_bytes());
    let session = place.open().unwrap();
    let query = RecallQuery::parse("parser").unwrap();
    let asked = Cell::new(0);
    for last in 1..4 {
        asked.set(0);
        let is_cancelled = || asked.replace(asked.get() + 1) == last;
        assert_eq!(session.recall(session.leaf_id(), &query, &FileTools::default(), &is_cancelled).unwrap(), None);
        assert_eq!(asked.get(), last + 1);
    }
}
