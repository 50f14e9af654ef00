//! Searches against a reading of every entry.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::MemoryLog;
use crate::session::SessionOptions;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

fn session(lines: &[String]) -> Session {
    let text: String = [HEADER.to_owned()].iter().chain(lines).map(|line| format!("{line}\n")).collect();
    let log = MemoryLog::shared(Arc::new(Mutex::new(text.into_bytes())));
    Session::open(Box::new(log), SessionOptions::default()).unwrap()
}

/// An entry whose text is the JSON string `text`, in one of the places that texts have.
fn line(number: usize, place: usize, text: &str) -> String {
    let body = match place {
        0 => format!(r#""type":"message","message":{{"role":"user","content":{text}}}"#),
        1 => format!(
            r#""type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"t","arguments":{{"k":[{{"n":{text}}}]}}}}]}}"#
        ),
        2 => format!(r#""type":"message","message":{{"role":"bashExecution","command":"c","output":{text}}}"#),
        3 => format!(
            r#""type":"message","message":{{"role":"toolResult","toolCallId":"c","content":[{{"text":{text},"type":"text"}}]}}"#
        ),
        4 => format!(r#""type":"compaction","summary":{text},"firstKeptEntryId":"x","tokensBefore":1"#),
        5 => format!(r#""type":"branch_summary","fromId":"x","summary":{text}"#),
        6 => format!(r#""type":"custom_message","customType":"c","content":{text},"display":true"#),
        _ => format!(r#""type":"custom","customType":"c","data":{text}"#),
    };
    format!(r#"{{"id":"e{number}","parentId":null,"timestamp":"2026-01-01T00:00:00.{number:03}Z",{body}}}"#)
}

/// Ids of all entries whose text contains `terms`, by reading each; the newest first.
fn naive(session: &Session, terms: &[&str]) -> Vec<String> {
    let lower = |text: &str| text.chars().map(fold).collect::<String>();
    let mut found = Vec::new();
    session
        .for_each_entry(|entry| {
            let entry = entry.unwrap();
            let text = lower(&text_of(entry));
            if terms.iter().all(|term| text.contains(&lower(term))) {
                found.push(entry.id().to_string());
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    found.reverse();
    found
}

fn search(session: &Session, query: &str, limit: usize) -> SearchHits {
    session.search(&SearchQuery::parse(query).unwrap(), limit, &|| false).unwrap()
}

fn ids(hits: &SearchHits) -> Vec<String> {
    hits.hits.iter().map(|hit| hit.entry_id.to_string()).collect()
}

const LETTERS: &[char] =
    &['a', 'B', 'k', 'K', '\u{212a}', 'i', 'İ', 'é', 'É', 'ß', '日', '語', ' ', '"', '\\', '/', '\n', '\t', '😀', 'z'];

/// A text as JSON, each character written in one of the ways that JSON has.
fn written(letters: &[(char, u8)]) -> String {
    let mut out = "\"".to_owned();
    for (letter, way) in letters {
        match (way, letter) {
            (0, _) => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04x}")),
            (1, _) => letter.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out += &format!("\\u{unit:04X}")),
            (2, '/') => out += "\\/",
            (_, '"') => out += "\\\"",
            _ => out += serde_json::to_string(&letter.to_string()).unwrap().trim_matches('"'),
        }
    }
    out + "\""
}

fn text() -> impl Strategy<Value = Vec<(char, u8)>> {
    proptest::collection::vec((proptest::sample::select(LETTERS), 0_u8..40), 0..12)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn searches_find_what_reading_finds(
        texts in proptest::collection::vec((0_usize..8, text()), 1..6),
        from in 0_usize..12,
        length in 1_usize..5,
        phrase: bool,
    ) {
        let lines: Vec<String> =
            texts.iter().enumerate().map(|(number, (place, text))| line(number, *place, &written(text))).collect();
        let session = session(&lines);
        let asked: String = texts[0].1.iter().map(|(letter, _)| letter).skip(from).take(length).collect();
        let asked = asked.replace('"', "");
        let query = if phrase { format!("\"{asked}\"") } else { asked.clone() };
        let terms: Vec<&str> = if phrase { vec![&asked] } else { asked.split_whitespace().collect() };
        match SearchQuery::parse(&query) {
            Some(_) => prop_assert_eq!(ids(&search(&session, &query, 50)), naive(&session, &terms), "{} in {:?}", query, lines),
            None => prop_assert!(asked.trim().is_empty()),
        }
    }
}

#[track_caller]
fn check(text: &str, query: &str, expected: Option<&str>) {
    let session = session(&[line(0, 0, &serde_json::to_string(text).unwrap())]);
    let hits = search(&session, query, 5).hits;
    assert_eq!(hits.first().map(|hit| hit.preview.as_str()), expected, "{query} in {text}");
}

#[test]
fn words_and_phrases() {
    check("Fix the parser\nin src/a.rs", "PARSER fix", Some("Fix the parser in src/a.rs"));
    check("Fix the parser", "fix lexer", None);
    check("Fix the parser", "\"the parser\"", Some("Fix the parser"));
    check("Fix the parser", "\"parser the\"", None);
    check("Fix the parser", "  \"the PAR", Some("Fix the parser"));
    check("say \"hi\"", "y\"", None);
    check("say\"hi\"", "y\"h", Some("say\"hi\""));
    check("C:\\dir\\a/b", "c:\\DIR\\a/b", Some("C:\\dir\\a/b"));
    check("Ünïcode ÄÖ", "äö ünï", Some("Ünïcode ÄÖ"));
    check("日本語", "本", Some("日本語"));
    for nothing in ["", "  ", "\"\"", "\" \" \""] {
        assert!(SearchQuery::parse(nothing).is_none(), "{nothing}");
    }
}

#[test]
fn previews_show_the_first_match() {
    let long = format!("{} needle {}", "before ".repeat(100), "after ".repeat(100));
    let session = session(&[line(0, 0, &format!("\"{long}\""))]);
    let preview = search(&session, "NEEDLE", 1).hits.remove(0).preview;
    assert!(preview.starts_with('…') && preview.ends_with('…') && preview.contains(" needle after"), "{preview}");
    assert!(preview.chars().count() <= 122, "{preview}");
}

#[test]
fn the_newest_come_first_and_the_rest_is_reported() {
    let lines: Vec<String> = (0..500).map(|number| line(number, 0, "\"the same\"")).collect();
    let session = session(&lines);
    let hits = search(&session, "same", 3);
    assert_eq!((ids(&hits).join(" ").as_str(), hits.is_truncated), ("e499 e498 e497", true));
    assert!(!search(&session, "same", 500).is_truncated);
    assert!(search(&session, "same", 499).is_truncated);
    assert_eq!(search(&session, "other", 3), SearchHits::default());
}

#[test]
fn a_line_that_another_one_replaced_is_no_hit() {
    let lines = [line(1, 0, "\"old and shared\""), line(2, 0, "\"x\""), line(1, 0, "\"new and shared\"")];
    let session = session(&lines);
    assert_eq!(ids(&search(&session, "old", 5)), [""; 0]);
    assert_eq!(ids(&search(&session, "new", 5)), ["e1"]);
    assert_eq!(ids(&search(&session, "shared", 5)), ["e1"]);
}

#[test]
fn a_search_that_is_cancelled_ends() {
    let lines: Vec<String> = (0..50).map(|number| line(number, 0, "\"x\"")).collect();
    let session = session(&lines);
    let asked = std::cell::Cell::new(0);
    let is_cancelled = || asked.replace(asked.get() + 1) >= 3;
    let hits = session.search(&SearchQuery::parse("x").unwrap(), 50, &is_cancelled).unwrap();
    assert!(hits.is_truncated && hits.hits.is_empty());
}

#[test]
fn a_search_that_is_cancelled_ends_while_the_index_is_built() {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#;
    let mut text = format!("{header}\n");
    (0..20_000).for_each(|number| text += &format!("{}\n", line(number, 0, "\"x and y\"")));
    let options = SessionOptions { whole_bytes: 0, ..SessionOptions::default() };
    let session = Session::open(Box::new(MemoryLog::new(text.into_bytes())), options).unwrap();
    let asked = std::cell::Cell::new(0);
    // The search asks for each line, and the index after it.
    let is_cancelled = || asked.replace(asked.get() + 1) >= 20_100;
    let hits = session.search(&SearchQuery::parse("\"x and\"").unwrap(), 50, &is_cancelled).unwrap();
    assert!(hits.is_truncated && hits.hits.is_empty());
    assert!((20_100..20_200).contains(&asked.get()), "{}", asked.get());
    assert_eq!(session.index_memory(), None, "the index is not there");
    assert_eq!(search(&session, "x", 50).hits.len(), 50);
    assert!(session.index_memory().is_some());
}

fn ranked(session: &Session, sentence: &str, limit: usize) -> SearchHits {
    let query = SearchQuery::parse(sentence).unwrap().loosened().unwrap();
    session.search(&query, limit, &|| false).unwrap()
}

#[test]
fn a_sentence_ranks_what_has_the_most_of_it() {
    let texts = ["the retry of uploads", "uploads fail at the gateway", "weather", "a gateway timeout of uploads"];
    let lines: Vec<String> =
        texts.iter().enumerate().map(|(number, text)| line(number, number, &format!("\"{text}\""))).collect();
    let session = session(&lines);
    let hits = ranked(&session, "why do uploads hit a gateway timeout", 50);
    assert_eq!(ids(&hits), ["e3", "e1", "e0"]);
    assert!(hits.hits.is_sorted_by(|a, b| a.score > b.score) && !hits.is_truncated);
    assert_eq!(hits.hits[0].preview, "a gateway timeout of uploads");
    let best = ranked(&session, "why do uploads hit a gateway timeout", 1);
    assert_eq!((ids(&best).join(" ").as_str(), best.is_truncated), ("e3", true));
}

#[test]
fn what_does_not_rank() {
    for query in ["two words", "\"a phrase\" and some words", "word"] {
        assert!(SearchQuery::parse(query).unwrap().loosened().is_none(), "{query}");
    }
    assert!(SearchQuery::parse("設定ファイル").unwrap().loosened().is_some());
}

#[test]
fn of_replaced_lines_the_last_one_ranks() {
    let lines = [line(1, 0, "\"old gateway timeout\""), line(2, 0, "\"x\""), line(1, 0, "\"new gateway\"")];
    let hits = ranked(&session(&lines), "old gateway timeout limit", 5);
    assert_eq!((ids(&hits).join(" ").as_str(), hits.hits[0].preview.as_str()), ("e1", "new gateway"));
}

#[test]
fn files_with_half_of_the_words_are_worth_it() {
    let query = SearchQuery::parse("why do uploads hit the gateway").unwrap().loosened().unwrap();
    let is_worth_it = |lines: &[&str]| {
        let mut seen = query.seen();
        lines.iter().any(|line| query.is_worth_it(line.as_bytes(), &mut seen))
    };
    assert!(is_worth_it(&["uploads", "Gateway"]) && is_worth_it(&["\\u0061"]));
    assert!(!is_worth_it(&["uploads", "why the do"]));
}

#[test]
fn escapes_of_colours_hide_nothing() {
    let may_match = |line: &str| SearchQuery::parse("red").unwrap().may_match(line.as_bytes());
    assert!(!may_match(r#"{"text":"\u001b[31mgreen\u001b[0m \u0007"}"#));
    assert!(may_match(r#"{"text":"\u001b[31mr\u0065d\u001b[0m"}"#));
    assert!(may_match(r#"{"text":"\u212a"}"#), "any other character may be a letter in another case");
    assert!(may_match(r#"{"text":"\u00"#), "the escape was cut off");
}
