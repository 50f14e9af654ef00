//! Searches through sessions, open or not.

use std::collections::HashSet;
use std::fs;

use session_store::{Durability, FileStore, Locator, SearchHits, SearchOptions, SearchQuery, SessionStore};

use crate::common::{HEADER, Place, file, user};

fn shown(hits: &SearchHits) -> String {
    let line = |hit: &session_store::SearchHit| {
        let evicted = if hit.is_evicted { " evicted" } else { "" };
        format!("{}/{}{evicted}: {}", hit.session_id, hit.entry_id, hit.preview)
    };
    hits.hits.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn check(text: &str, query: &str, expected: &str) {
    for place in Place::all(text.as_bytes()) {
        let session = place.open().unwrap();
        let hits = session.search(&SearchQuery::parse(query).unwrap(), 10, &|| false).unwrap();
        assert_eq!(shown(&hits), expected);
        assert_eq!(
            hits.hits.first().and_then(|hit| hit.locator.as_ref()),
            session.locator().filter(|_| !hits.hits.is_empty())
        );
    }
}

fn compaction(id: &str, parent: &str, first_kept: &str) -> String {
    format!(
        r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","summary":"a word of it","firstKeptEntryId":"{first_kept}","tokensBefore":9}}"#
    )
}

#[test]
fn hits_tell_what_the_model_does_not_see() {
    let lines = [
        user("a", None, "word one"),
        user("b", Some("a"), "word two"),
        user("x", Some("a"), "word aside"),
        compaction("c", "b", "b"),
        user("d", Some("c"), "word three"),
        r#"{"type":"custom","id":"e","parentId":"d","timestamp":"T","customType":"word"}"#.to_owned(),
        r#"{"type":"context_edit","id":"f","parentId":"e","timestamp":"T","targetId":"d","replacement":null}"#
            .to_owned(),
        "{\"word".to_owned(),
    ];
    let text = file(&lines.each_ref().map(String::as_str));
    let expected = "s-1/c: a word of it\ns-1/d evicted: word three\ns-1/x evicted: word aside\ns-1/b: word two\ns-1/a evicted: word one";
    check(&text, "word", expected);
    check(&text, "word nothing", "");
}

#[test]
fn older_versions_are_searched_by_the_ids_that_they_have_when_open() {
    let v1 = r#"{"type":"session","id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let entry =
        r#"{"type":"message","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"caf\u00e9"}}"#;
    let text = format!("{v1}\n{entry}\n");
    for place in Place::all(text.as_bytes()) {
        let session = place.open().unwrap();
        let hits = session.search(&SearchQuery::parse("CAFÉ").unwrap(), 10, &|| false).unwrap().hits;
        assert_eq!(hits.len(), 1);
        assert_eq!(session.entry(&hits[0].entry_id).unwrap().id(), session.leaf_id().unwrap());
    }
}

#[test]
fn all_files_are_searched_but_for_those_that_are_open() {
    let agent = tempfile::tempdir().unwrap();
    let directory = agent.path().join("sessions/--w--");
    fs::create_dir_all(&directory).unwrap();
    for number in 0..9 {
        let entry = user("a", None, &format!("word {number}")).replace("00:00:01", &format!("00:00:0{number}"));
        let text = format!("{}\n{entry}\n", HEADER.replace("s-1", &format!("s{number}")));
        fs::write(directory.join(format!("{number}.jsonl")), text).unwrap();
    }
    fs::write(directory.join("none.jsonl"), "word\n").unwrap();
    fs::write(directory.join("none.txt"), "word\n").unwrap();
    let store = FileStore::new(agent.path(), Durability::Checkpoint);
    let skipped = HashSet::from([Locator::from(fs::canonicalize(directory.join("7.jsonl")).unwrap())]);
    let query = SearchQuery::parse("word").unwrap();
    let options = SearchOptions { session_dir: None, skipped, limit: 3 };
    let hits = store.search(&query, &options, &|| false).unwrap();
    assert_eq!((shown(&hits).as_str(), hits.is_truncated), ("s8/a: word 8\ns6/a: word 6\ns5/a: word 5", true));
    let in_directory =
        SearchOptions { session_dir: Some(Locator::from(&directory)), limit: 8, skipped: options.skipped.clone() };
    let flat = store.search(&query, &in_directory, &|| false).unwrap();
    assert_eq!((flat.hits.len(), flat.is_truncated), (8, false));
    let cancelled = store.search(&query, &options, &|| true).unwrap();
    assert_eq!(cancelled, SearchHits { hits: Vec::new(), is_truncated: true });
    let nothing = store.search(&SearchQuery::parse("absent").unwrap(), &options, &|| false).unwrap();
    assert_eq!(nothing, SearchHits::default());
}
