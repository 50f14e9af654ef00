//! Large sessions, which are opened by their end, against the same sessions opened wholly.

use std::fmt::Write as _;

use compaction_core::entry::EntryId;
use compaction_core::pins::Pins;
use compaction_core::projection::Projection;
use proptest::prelude::*;
use session_store::{DiagnosticKind, NewEntry, Parent, Precondition, Session, SessionOptions, StoreError};

use crate::common::{HEADER, Place, file, id, ids, path_of, say, user};

/// Opens a session wholly only if it has at most `whole_bytes`.
fn open(place: &Place, whole_bytes: u64) -> Result<Session, StoreError> {
    place.open_with(SessionOptions { whole_bytes, ..SessionOptions::default() })
}

/// What can be asked of a session without the whole of it.
fn context(session: &Session) -> String {
    let mut branch = session.branch(session.leaf_id()).unwrap();
    let projection = Projection::of(&mut branch).unwrap();
    let mut shown = format!("leaf {:?}\n", session.leaf_id());
    for entry in projection.entries() {
        writeln!(shown, "{} {} {}", entry.depth, entry.entry.line(), entry.messages.len()).unwrap();
    }
    let (level, model) = (projection.thinking_level(), projection.model());
    writeln!(shown, "{level} {model:?} {:?} {:?}", projection.diagnostics(), branch.diagnostics()).unwrap();
    writeln!(shown, "{:?}", session.pins(session.leaf_id()).unwrap()).unwrap();
    shown
}

/// What needs the whole of a session, but for what is only found in bodies.
fn rest(session: &Session) -> String {
    let mut shown = format!("{:?}\n{:?}\n", session.name().unwrap(), session.check().unwrap());
    for node in session.tree().unwrap() {
        let label = session.label(&node.id).unwrap();
        let path = ids(&session.branch_ids(Some(&node.id)).unwrap());
        writeln!(shown, "{node:?} {label:?} {path} {:?}", session.entry_header(&node.id).unwrap()).unwrap();
    }
    writeln!(shown, "{:?} {:?}", session.entry_count(), session.stats().unwrap()).unwrap();
    shown
}

/// Opens `bytes` by the end and wholly and compares what they tell, before and after both grow by
/// the foreign lines `more`.
fn check_alike(bytes: &[u8], more: &str) {
    for (small, large) in Place::all_fast(bytes).into_iter().zip(Place::all_fast(bytes)) {
        let (whole, tail) = (open(&small, u64::MAX), open(&large, 0));
        let (mut whole, mut tail) = match (whole, tail) {
            (Ok(whole), Ok(tail)) => (whole, tail),
            (Err(whole), Err(tail)) => {
                assert_eq!(whole.to_string().split(':').next_back(), tail.to_string().split(':').next_back());
                continue;
            }
            (whole, tail) => panic!("{:?} and {:?}", whole.map(|_| ()), tail.map(|_| ())),
        };
        assert_eq!(context(&tail), context(&whole));
        small.append_foreign(more);
        large.append_foreign(more);
        assert_eq!(tail.refresh().unwrap(), whole.refresh().unwrap());
        assert_eq!(context(&tail), context(&whole));
        assert_eq!(rest(&tail), rest(&whole));
        assert_eq!(context(&tail), context(&whole));
        if !tail.is_read_only() {
            grow_alike(&mut tail, &mut whole);
        }
    }
}

fn grow_alike(tail: &mut Session, whole: &mut Session) {
    let own = Some(whole.new_entry_id());
    for session in [&mut *tail, &mut *whole] {
        let new = NewEntry { id: own.clone(), timestamp: Some(7), ..NewEntry::new("custom", "{}") };
        session.append(new, Parent::Leaf).unwrap();
    }
    assert_eq!((context(tail), rest(tail)), (context(whole), rest(whole)));
}

/// A chain of `count` messages, with a compaction that keeps the last `kept` before the last ten.
fn chain(count: usize, kept: usize) -> Vec<String> {
    let entry = |n: usize| format!("{n:08x}");
    let parent = |n: usize| n.checked_sub(1).map_or("null".to_owned(), |n| format!("\"{}\"", entry(n)));
    let line = |n: usize| {
        let (own, parent) = (entry(n), parent(n));
        if n + 10 == count {
            let first = entry(n.saturating_sub(kept));
            return format!(
                r#"{{"type":"compaction","id":"{own}","parentId":{parent},"timestamp":"T","summary":"s","firstKeptEntryId":"{first}","tokensBefore":1}}"#
            );
        }
        let text = "lorem ipsum ".repeat(20);
        let answer = r#","provider":"p","model":"m","content":[]"#;
        let message = match n % 2 {
            0 => format!(r#"{{"role":"user","content":"{text}"}}"#),
            _ => format!(r#"{{"role":"assistant"{answer}}}"#),
        };
        format!(r#"{{"type":"message","id":"{own}","parentId":{parent},"timestamp":"T","message":{message}}}"#)
    };
    (0..count).map(line).collect()
}

/// A chain whose thinking level is set just before its last ten entries.
fn settled_chain(count: usize) -> Vec<String> {
    let mut lines = chain(count, 3);
    let at = count - 9;
    lines[at] = format!(
        r#"{{"type":"thinking_level_change","id":"{at:08x}","parentId":"{:08x}","timestamp":"T","thinkingLevel":"high"}}"#,
        at - 1
    );
    lines
}

fn text(lines: &[String]) -> String {
    file(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The line of a pin.
fn pin(id: &str, parent: &str, pinned: &str, padding: usize) -> String {
    format!(
        r#"{{"type":"custom","id":"{id}","parentId":"{parent}","timestamp":"T","x":"{}","customType":"compactd.pin","data":{{"entryId":"{pinned}","pinned":true}}}}"#,
        "x".repeat(padding)
    )
}

#[test]
fn pins_far_from_the_end_are_found_without_an_index_where_there_are_none() {
    let lines = chain(6000, 3);
    let place = &Place::all_fast(text(&lines).as_bytes())[0];
    let mut session = open(place, 1 << 10).unwrap();
    assert_eq!(session.pins(session.leaf_id()).unwrap().ids(), []);
    assert_eq!(session.entry_count(), None);
    place.append_foreign(&(pin("p1", "0000176f", "0000176e", 0) + "\n"));
    session.refresh().unwrap();
    assert_eq!(session.pins(session.leaf_id()).unwrap().ids(), [id("0000176e")]);
    // A word across two parts of the search.
    let before = text(&lines[..2]);
    for shift in 0..10 {
        let start = before.len() + pin("p2", "00000001", "00000000", 0).find("compactd").unwrap();
        let mut lines = lines.clone();
        lines[2] = lines[2].replace("00000001", "p2");
        lines.insert(2, pin("p2", "00000001", "00000000", (1 << 20) - shift - start));
        let place = &Place::all_fast(text(&lines).as_bytes())[0];
        let session = open(place, 1 << 10).unwrap();
        assert_eq!(session.pins(session.leaf_id()).unwrap().ids(), [id("00000000")], "{shift}");
    }
}

#[test]
fn the_first_context_of_a_large_session_needs_its_end_alone() {
    for place in Place::all(text(&settled_chain(5000)).as_bytes()) {
        let mut session = open(&place, 1 << 10).unwrap();
        assert_eq!((session.entry_count(), session.header().id.as_str()), (None, "s-1"));
        context(&session);
        let leaf = session.leaf_id().unwrap().clone();
        assert!(session.is_on_branch(&id("00001380"), Some(&leaf)).unwrap());
        assert_eq!(session.entry(&leaf).unwrap().id(), &leaf);
        say(&mut session, "more");
        assert_eq!(session.entries(Some(&leaf), None).unwrap().len(), 1);
        context(&session);
        assert_eq!(session.entry_count(), None, "nothing needed the whole index");
        assert_eq!(session.tree().unwrap().len(), 5001);
        assert_eq!((session.entry_count(), session.diagnostics()), (Some(5001), &[][..]));
        say(&mut session, "and more");
        assert_eq!(session.entry_count(), Some(5002));
        assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), 5002);
    }
}

#[test]
fn a_level_is_found_wherever_it_was_set() {
    let level = |at: usize, kind: &str| {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |before| format!("\"{before:08x}\""));
        format!(r#"{{"type":"{kind}","id":"{at:08x}","parentId":{parent},"timestamp":"T","thinkingLevel":"high"}}"#)
    };
    let words = |at: usize| user(&format!("{at:08x}"), Some(&format!("{:08x}", at - 1)), "thinking_level_change");
    let text_with = |at: usize, line: String, padding: usize| {
        let mut lines = chain(300, 3);
        for padded in &mut lines[20..90] {
            *padded = padded.replace("lorem ", &"lorem ".repeat(padding));
        }
        lines[at] = line;
        text(&lines)
    };
    for (at, kinds) in [(0, 0..1), (1, 1..2), (150, 0..2), (280, 1..2)] {
        for kind in &["thinking_level_change", r"thinking\u005flevel_change"][kinds] {
            check_alike(text_with(at, level(at, kind), 1).as_bytes(), "");
        }
    }
    // More than a tail holds.
    for (at, line) in [(1, level(1, "thinking_level_change")), (200, words(200))] {
        let text = text_with(at, line, 1100);
        let [whole, tail] = [u64::MAX, 0].map(|whole_bytes| {
            let session = open(&Place::all_fast(text.as_bytes())[0], whole_bytes).unwrap();
            assert_eq!(session.entry_count().is_some(), whole_bytes > 0);
            context(&session)
        });
        assert_eq!(tail, whole);
        assert_eq!(whole.contains("\nhigh "), at == 1);
    }
}

#[test]
fn far_ancestors_are_found() {
    let mut lines = settled_chain(300);
    lines.push(user("far", Some("00000003"), "from the beginning"));
    check_alike(text(&lines).as_bytes(), &format!("{}\n", user("further", Some("00000001"), "x")));
    for place in Place::all(text(&lines).as_bytes()) {
        let session = open(&place, 0).unwrap();
        assert_eq!(path_of(&session), "00000000 00000001 00000002 00000003 far");
        assert!(!session.is_on_branch(&id("00000004"), session.leaf_id()).unwrap());
        assert_eq!(session.common_ancestor(session.leaf_id(), Some(&id("000000f0"))).unwrap(), Some(id("00000003")));
    }
}

#[test]
fn foreign_lines_of_another_branch_cost_what_is_new() {
    let parent = |number: usize| number.checked_sub(1).map(|before| format!("{before:08x}"));
    let padding = "x".repeat(10_000);
    let chain = (0..600).map(|number| user(&format!("{number:08x}"), parent(number).as_deref(), &padding));
    let lines: Vec<String> = chain.collect();
    let text = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    for place in Place::all(text.as_bytes()) {
        let mut session = open(&place, 0).unwrap();
        for number in 0..3 {
            let own = say(&mut session, "ours");
            place.append_foreign(&format!("{}\n", user(&format!("f{number}"), Some("00000256"), "theirs")));
            let foreign = session.refresh().unwrap().unwrap();
            assert_eq!((foreign.entry_ids, foreign.leaf_id), (vec![id(&format!("f{number}"))], Some(own)));
        }
        assert_eq!(session.entry_count(), None, "no more of the session is read for that");
    }
}

#[test]
fn a_long_line_at_the_end_is_broken_however_the_session_is_opened() {
    let options = |whole_bytes| SessionOptions { whole_bytes, max_line_bytes: 600, ..SessionOptions::default() };
    let long = user("long", Some("0000012b"), &"x".repeat(600));
    for after in [None, Some(user("next", Some("long"), "x"))] {
        let lines = [settled_chain(300), vec![long.clone()], after.into_iter().collect()].concat();
        for (small, large) in
            Place::all_fast(text(&lines).as_bytes()).into_iter().zip(Place::all_fast(text(&lines).as_bytes()))
        {
            let (mut whole, mut tail) =
                (small.open_with(options(u64::MAX)).unwrap(), large.open_with(options(0)).unwrap());
            assert_eq!((context(&tail), rest(&tail)), (context(&whole), rest(&whole)));
            let more = long.replace("\"long\"", "\"more\"") + "\n";
            small.append_foreign(&more);
            large.append_foreign(&more);
            assert_eq!(tail.refresh().unwrap(), whole.refresh().unwrap());
            assert_eq!((context(&tail), rest(&tail)), (context(&whole), rest(&whole)));
        }
    }
}

#[test]
fn new_ids_are_unique_where_not_all_are_known() {
    for place in Place::all(text(&settled_chain(2000)).as_bytes()) {
        let mut session = open(&place, 0).unwrap();
        assert_eq!(session.new_entry_id().as_str().len(), 36);
        assert_eq!(say(&mut session, "x").as_str().len(), 36);
        let given = session.new_entry_id();
        let new = NewEntry { id: Some(given), ..NewEntry::new("custom", "{}") };
        session.append(new.clone(), Parent::Leaf).unwrap();
        assert!(matches!(session.append(new, Parent::Leaf), Err(StoreError::InvalidEntry { .. })));
        assert_eq!(session.entry_count(), None);
        let taken = NewEntry { id: Some(id("00000002")), ..NewEntry::new("custom", "{}") };
        assert!(matches!(session.append(taken, Parent::Leaf), Err(StoreError::InvalidEntry { .. })));
        assert!(session.entry_count().is_some(), "a short id is looked up");
        assert_eq!(say(&mut session, "x").as_str().len(), 8);
    }
}

#[test]
fn diagnostics_near_the_end_are_reported_at_opening() {
    let odd = |lines: &[&str]| {
        let text = text(&settled_chain(1000)) + &lines.join("\n");
        let place = &Place::memory(text.as_bytes());
        let session = open(place, 0).unwrap();
        session.diagnostics().iter().map(|odd| (odd.kind, odd.line)).collect::<Vec<_>>()
    };
    let next = user("next", Some("000003e7"), "x");
    assert_eq!(odd(&[&next, ""]), []);
    assert_eq!(odd(&[&next, "{\"type\":\"mess"]), [(DiagnosticKind::TornLastLine, Some(1003))]);
    assert_eq!(odd(&["broken", &next, ""]), [(DiagnosticKind::BrokenLine, Some(1002))]);
    assert_eq!(odd(&[HEADER, &next, ""]), [(DiagnosticKind::SecondHeader, Some(1002))]);
    let again = user("000003e7", Some("000003e6"), "again");
    assert_eq!(odd(&[&again, ""]), [(DiagnosticKind::DuplicateId, Some(1002))]);
}

#[test]
fn a_leaf_whose_body_is_broken_is_none() {
    // Such a line is plain up to its role, and no scan of headers looks further.
    let broken = r#"{"type":"message","id":"b","parentId":"0000001d","timestamp":"T","message":{"role":"user",]}}"#;
    let torn = "{\"type\":\"mess";
    check_alike((text(&settled_chain(30)) + broken + "\n" + torn).as_bytes(), "");
    let twice = broken.replace("\"b\"", "\"0000001d\"");
    check_alike((text(&settled_chain(30)) + &twice + "\n").as_bytes(), "");
}

#[test]
fn broken_entries_of_the_end_are_numbered_in_any_order() {
    let broken = |own: &str, parent: &str| user(own, Some(parent), "x").replace("\"x\"", "x");
    let mut lines = settled_chain(2000);
    for (own, parent) in [("b1", "000007cf"), ("b2", "b1"), ("b3", "b2")] {
        lines.extend([broken(own, parent), String::new()]);
    }
    lines.push(user("leaf", Some("b3"), "x"));
    for place in Place::all(text(&lines).as_bytes()) {
        let session = open(&place, 0).unwrap();
        let line = |own: &str| match session.entry(&id(own)) {
            Err(StoreError::BrokenEntry { line, .. }) => line,
            outcome => panic!("{outcome:?}"),
        };
        assert_eq!(["b2", "b3", "b1", "b1", "b3"].map(line), [2004, 2006, 2002, 2002, 2006]);
        assert_eq!(session.entry_count(), None, "the whole index is not needed for that");
    }
}

#[test]
fn foreign_entries_are_reported_where_only_the_end_is_known() {
    for place in Place::all(text(&settled_chain(1000)).as_bytes()) {
        let mut session = open(&place, 0).unwrap();
        place.append_foreign(&format!("{}\n", user("f", Some("000003e7"), "foreign")));
        let condition = Precondition::LeafIs(Some(id("000003e7")));
        let error = session.append_if(NewEntry::new("custom", "{}"), Parent::Leaf, &condition).unwrap_err();
        assert!(matches!(error, StoreError::LeafMoved { .. }));
        assert_eq!(session.take_foreign().unwrap().entry_ids, [id("f")]);
        place.append_foreign("{\"type\":\"cust");
        say(&mut session, "behind a torn line");
        assert_eq!(session.diagnostics()[0].kind, DiagnosticKind::BrokenLine);
        assert!(path_of(&session).contains("000003e7 f "));
    }
}

#[test]
fn a_session_that_is_rewritten_is_read_again() {
    for place in Place::all(text(&settled_chain(1000)).as_bytes()) {
        let mut session = open(&place, 0).unwrap();
        let mut lines = settled_chain(900);
        place.overwrite(&text(&lines));
        let change = session.refresh().unwrap().unwrap();
        assert_eq!((change.entry_ids.len(), change.leaf_id), (0, Some(id("00000383"))));
        lines.push(user("f", Some("00000383"), "x"));
        assert_eq!(session.entry_count(), Some(900));
        place.append_foreign(&format!("{}\n", lines[900]));
        assert_eq!(session.refresh().unwrap().unwrap().entry_ids, [id("f")]);
    }
}

#[test]
fn a_session_that_shrinks_under_its_reader_is_an_error_and_no_lie() {
    let place = Place::file(text(&settled_chain(2000)).as_bytes());
    let session = open(&place, 0).unwrap();
    place.overwrite(&text(&settled_chain(500)));
    assert!(matches!(session.tree(), Err(StoreError::Io { .. })));
    assert!(matches!(session.entry(&id("00000001")), Err(StoreError::Io { .. })));
}

#[test]
fn every_prefix_of_a_session_is_alike() {
    let text = text(&settled_chain(14)[9..]);
    for end in (HEADER.len()..=text.len()).step_by(7).chain([text.len() - 1, text.len()]) {
        check_alike(&text.as_bytes()[..end], "");
    }
}

/// Lines of one small tree, by programs that keep to no form.
fn line() -> impl Strategy<Value = String> {
    let id = || prop::sample::select(vec!["null", "\"a\"", "\"b\"", "\"0000000c\"", "\"\\u0061\"", "7"]);
    let kind = prop::sample::select(vec!["message", "message", "message", "compaction", "label", "session_info", "zz"]);
    let role = prop::sample::select(vec!["\"user\"", "\"assistant\"", "null"]);
    let more = prop::sample::select(vec![
        "",
        "",
        "",
        r#","id":"b""#,
        r#" , "parentId":null"#,
        r#","message":{"role":"system"}"#,
        r#","x":{},"type":"label""#,
        r#","i\u0064":"a""#,
        ",]",
        r#","x":"},","y":{}"#,
    ]);
    (kind, id(), id(), id(), role, more.clone(), more).prop_map(|(kind, own, parent, target, role, inner, outer)| {
        format!(
            r#"{{"type":"{kind}","id":{own},"parentId":{parent},"timestamp":"T","message":{{"role":{role},"content":null{inner}}},"targetId":{target},"label":"l","firstKeptEntryId":{target}{outer}}}"#
        )
        .replace(r#","targetId":null,"label":"l","firstKeptEntryId":null"#, "")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_alike(lines in prop::collection::vec(line(), 0..10), more in prop::collection::vec(line(), 0..4)) {
        let more: String = more.iter().map(|line| format!("{line}\n")).collect();
        check_alike(text(&lines).as_bytes(), &more);
    }

    #[test]
    fn trees_are_alike(parents in prop::collection::vec(any::<prop::sample::Index>(), 1..60), more in 0..4usize) {
        let lines: Vec<String> = parents.iter().enumerate().map(|(at, parent)| {
            let parent = (at > 0).then(|| format!("{:08x}", parent.index(at)));
            user(&format!("{at:08x}"), parent.as_deref(), "x")
        }).collect();
        let more = more.min(lines.len());
        let (known, more) = lines.split_at(lines.len() - more);
        let more: String = more.iter().map(|line| format!("{line}\n")).collect();
        check_alike(text(known).as_bytes(), &more);
    }

    #[test]
    fn any_bytes_are_alike(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        check_alike(&[text(&chain(12, 2)).as_bytes(), &bytes].concat(), "");
    }
}

#[test]
fn an_id_that_is_nowhere_is_not_found() {
    for place in Place::all(text(&settled_chain(1000)).as_bytes()) {
        let session = open(&place, 0).unwrap();
        assert!(matches!(session.branch(Some(&EntryId::new("none"))), Err(StoreError::EntryNotFound { .. })));
    }
}

/// Model, thinking level and pins of the path to `leaf` by a walk over all its entries in memory.
fn by_full_walk(session: &Session, leaf: Option<&EntryId>) -> String {
    let path = session.branch_entries(leaf).unwrap();
    let projection = Projection::of(path.as_slice()).unwrap();
    told(&projection, &Pins::of(path.as_slice()).unwrap())
}

fn told(projection: &Projection, pins: &Pins) -> String {
    let entries: Vec<_> = projection.entries().iter().map(|entry| (entry.depth, entry.entry.id().as_str())).collect();
    let (level, model, odd) = (projection.thinking_level(), projection.model(), projection.diagnostics());
    format!("{level} {model:?} {odd:?} {pins:?} {entries:?}")
}

/// Checks what each path of a session tells against a full walk, opened by its end and wholly.
fn check_paths(bytes: &[u8], more: &str) {
    for whole_bytes in [0, u64::MAX] {
        let place = Place::memory(bytes);
        let mut session = open(&place, whole_bytes).unwrap();
        // A second session knows all; it must not decide what the first one reads.
        let compare = |session: &Session| {
            let all = open(&place, u64::MAX).unwrap();
            let leaf = session.leaf_id();
            let told_first = told(&session.context(leaf).unwrap().projection, &session.pins(leaf).unwrap());
            assert_eq!(told_first, by_full_walk(&all, leaf));
            let again = open(&place, whole_bytes).unwrap();
            let pins_first = again.pins(leaf).unwrap();
            assert_eq!(told(&again.context(leaf).unwrap().projection, &pins_first), by_full_walk(&all, leaf));
            for node in all.tree().unwrap() {
                let leaf = Some(&node.id);
                let told = told(&session.context(leaf).unwrap().projection, &session.pins(leaf).unwrap());
                assert_eq!(told, by_full_walk(&all, leaf), "{}", node.id);
            }
        };
        compare(&session);
        place.append_foreign(more);
        session.refresh().unwrap();
        compare(&session);
        if session.tree().is_ok_and(|tree| !tree.is_empty()) {
            let pin = r#"{"customType":"compactd.pin","data":{"entryId":"00000000","pinned":true}}"#;
            session.append(NewEntry::new("custom", pin), Parent::Leaf).unwrap();
            compare(&session);
        }
    }
}

/// The line of entry `at` of a tree whose entries set models, levels and pins, as several programs write them.
fn telling_line(at: usize, (parent, kind, target, form): (usize, usize, usize, usize)) -> String {
    let name = |n: usize| format!("{n:08x}");
    let parent = match parent {
        _ if at == 0 => "null".to_owned(),
        0 => format!("\"{}\"", name(target)),
        1 => "\"nowhere\"".to_owned(),
        _ => format!("\"{}\"", name(at - 1)),
    };
    let target = name(target);
    let target = if form == 9 { "nowhere" } else { &target };
    let level = ["high", "low", "o\\u0066f"][form % 3];
    let state = format!(
        r#"{{"compactd":{{"summarizer":"x","pins":["{target}"],"state":{{"leafId":{parent},"model":{{"provider":"p","modelId":"s"}},"thinkingLevel":"{level}"}}}}}}"#
    );
    let compaction = |details: &str| {
        let members = format!(r#""summary":"s \"compactd\"","firstKeptEntryId":"{target}","tokensBefore":1"#);
        ("compaction", format!("{members}{details}"))
    };
    let (kind, members) = match kind {
        0 => (
            ["thinking_level_change", r"\u0074hinking_level_change"][form % 2],
            format!(r#""thinkingLevel":"{level}""#),
        ),
        1 => ("model_change", format!(r#""provider":"p","modelId":"{level}""#)),
        2 | 3 => {
            let word =
                ["compactd.pin", r"compactd.\u0070in", r"c\u006Fmpactd\u002Epin", "compactd.transcript", r"\\u0070"]
                    [form % 5];
            let data = format!(r#"{{"entryId":"{target}","pinned":{}}}"#, form < 7);
            (["custom", r"cust\u006fm"][form % 2], format!(r#""customType":"{word}","data":{data}"#))
        }
        4 => compaction(""),
        5 => compaction(r#","details":{"readFiles":["compactd"]}"#),
        6 if form % 3 > 0 => compaction(&format!(r#","det\u0061ils":{state}"#)),
        6 => compaction(&format!(r#","details":{}"#, state.replace("\"compactd\"", r#""\u0063ompactd""#))),
        7 => ("context_edit", format!(r#""targetId":"{target}","replacement":null"#)),
        8 => ("message", r#""message":{"role":"assistant","content":[],"provider":"q","model":"a"}"#.to_owned()),
        9 => ("message", r#""message":{"role":"assistant","content":[]}"#.to_owned()),
        _ => ("message", format!(r#""message":{{"role":"user","content":"words {at}"}}"#)),
    };
    format!(r#"{{"type":"{kind}","id":"{}","parentId":{parent},"timestamp":"T",{members}}}"#, name(at))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn models_levels_and_pins_are_those_of_a_full_walk(
        drawn in prop::collection::vec((0..16usize, 0..14usize, 0..24usize, 0..10usize), 1..24),
        more in 0..4usize,
    ) {
        let lines: Vec<String> = drawn.into_iter().enumerate().map(|(at, drawn)| telling_line(at, drawn)).collect();
        let (known, more) = lines.split_at(lines.len() - more.min(lines.len()));
        let more: String = more.iter().map(|line| format!("{line}\n")).collect();
        check_paths(text(known).as_bytes(), &more);
    }
}

#[test]
fn bodies_that_cannot_concern_pins_are_not_read() {
    let record = |own: usize| {
        format!(
            r#"{{"type":"custom","id":"{own:08x}","parentId":"{:08x}","timestamp":"T","customType":"compactd.transcript","data":{{"json":{{"text":"\u001b \\u0070in"}}}}}}"#,
            own - 1
        )
    };
    let mut lines = chain(6000, 3);
    for own in (10..5000).step_by(3) {
        lines[own] = record(own);
    }
    let session = open(&Place::memory(text(&lines).as_bytes()), 1 << 10).unwrap();
    assert_eq!(session.pins(session.leaf_id()).unwrap().ids(), []);
    assert_eq!(session.entry_count(), None, "no index is needed to see that there are none");
}

#[test]
fn an_escaped_word_across_two_parts_of_the_search_is_found() {
    let before = text(&chain(6000, 3)[..2]);
    for shift in 0..20 {
        let pinning = |padding: usize| pin("p2", "00000001", "00000000", padding).replace("compactd", r"compact\u0064");
        let start = before.len() + pinning(0).find(r"\u0064").unwrap();
        let mut lines = chain(6000, 3);
        lines[2] = lines[2].replace("00000001", "p2");
        lines.insert(2, pinning((1 << 20) - shift - start));
        let session = open(&Place::memory(text(&lines).as_bytes()), 1 << 10).unwrap();
        assert_eq!(session.pins(session.leaf_id()).unwrap().ids(), [id("00000000")], "{shift}");
    }
}

#[test]
fn a_context_that_grows_within_a_cycle_repeats_no_entry() {
    let lines = [user("a", Some("b"), "x"), user("b", Some("a"), "y")];
    for place in Place::all_fast(text(&lines).as_bytes()) {
        let session = open(&place, u64::MAX).unwrap();
        for leaf in [id("a"), id("b"), id("a")] {
            assert_eq!(session.context(Some(&leaf)).unwrap().projection.entries().len(), 2, "{leaf}");
        }
    }
}
