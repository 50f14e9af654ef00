//! What holds for a session over every kind of log.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::{HEADER, Place, file, id, ids, oddities, path_of, say, user};
use compaction_core::projection::Projection;
use session_store::DiagnosticKind::{self, *};
use session_store::log::{Batch, LogChange};
use session_store::{NewEntry, Parent, Precondition, StoreError};

#[test]
fn entries_come_back_as_they_were_written() {
    for place in Place::all(file(&[]).as_bytes()) {
        let mut session = place.open().unwrap();
        assert_eq!((session.leaf_id(), session.entry_count().unwrap()), (None, 0));
        let first = say(&mut session, "one");
        let second = say(&mut session, "two");
        assert_eq!(path_of(&session), format!("{first} {second}"));
        drop(session);
        let session = place.open().unwrap();
        assert_eq!(path_of(&session), format!("{first} {second}"));
        assert_eq!(session.entry(&second).unwrap().header().parent_id, Some(first.clone()));
        assert_eq!(
            ids(&session.entries(Some(&first), None).unwrap().iter().map(|e| e.id().clone()).collect::<Vec<_>>()),
            second.as_str()
        );
        assert_eq!(session.entries(None, Some(1)).unwrap()[0].id(), &first);
        assert!(matches!(session.entry(&id("nope")), Err(StoreError::EntryNotFound { .. })));
        assert_eq!(oddities(&session), []);
    }
}

#[test]
fn lines_are_carried_through_byte_for_byte() {
    let odd = r#"{ "message" : {"role":"future","x":[1 , 2]},"zz":"\u00e9\/","timestamp":"t","type":"message","id":"a","parentId":null}"#;
    for place in Place::all(file(&[odd, r#"{"type":"novel","id":"b","parentId":"a","timestamp":"t"}"#]).as_bytes()) {
        let mut session = place.open().unwrap();
        say(&mut session, "x");
        assert_eq!(session.entry(&id("a")).unwrap().raw().get(), odd);
        assert!(place.text().contains(odd));
        assert_eq!(session.tree().unwrap()[1].kind_name, "novel");
    }
}

#[test]
fn appends_go_below_their_parent_and_the_leaf_follows() {
    let lines = [user("a", None, "1"), user("b", Some("a"), "2"), user("c", Some("b"), "3")];
    for place in Place::all(file(&lines.each_ref().map(String::as_str)).as_bytes()) {
        let mut session = place.open().unwrap();
        let members = r#"{"customType":"x","type":"evil","id":"evil","parentId":"evil"}"#;
        let entry = session.append(NewEntry::new("custom", members), Parent::At(Some(id("a")))).unwrap().entry;
        assert_eq!((entry.kind_name(), entry.header().parent_id.clone()), ("custom", Some(id("a"))));
        assert_eq!(path_of(&session), format!("a {}", entry.id()));
        assert_eq!(session.common_ancestor(Some(&id("c")), session.leaf_id()).unwrap(), Some(id("a")));
        assert_eq!(session.common_ancestor(Some(&id("c")), None).unwrap(), None);
        assert!(session.is_on_branch(&id("b"), Some(&id("c"))).unwrap());
        assert!(!session.is_on_branch(&id("b"), session.leaf_id()).unwrap());
        let missing = session.append(NewEntry::new("custom", "{}"), Parent::At(Some(id("zz"))));
        assert!(matches!(missing, Err(StoreError::EntryNotFound { .. })));
        let broken = session.append(NewEntry::new("custom", "[]"), Parent::Leaf);
        assert!(matches!(broken, Err(StoreError::InvalidEntry { .. })));
    }
}

#[test]
fn given_ids_and_timestamps_are_kept_and_taken_ids_refused() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let mut session = place.open().unwrap();
        let own = session.new_entry_id();
        let members = format!(r#"{{"summary":"s","firstKeptEntryId":"{own}","tokensBefore":7}}"#);
        let new = NewEntry { id: Some(own.clone()), timestamp: Some(5), ..NewEntry::new("compaction", &members) };
        let entry = session.append(new.clone(), Parent::Leaf).unwrap().entry;
        assert_eq!((entry.id(), entry.timestamp()), (&own, "1970-01-01T00:00:00.005Z"));
        assert!(matches!(session.append(new, Parent::Leaf), Err(StoreError::InvalidEntry { .. })));
    }
}

#[test]
fn new_ids_of_one_chain_differ() {
    // Among so many short ids, about four pairs are equal by chance.
    const ENTRIES: usize = 200_000;
    let mut session = Place::memory(file(&[]).as_bytes()).open().unwrap();
    let new = vec![NewEntry::new("custom", "{}"); ENTRIES];
    let appended = session.append_all(&new, Parent::Leaf, &Precondition::None).unwrap();
    let ids: HashSet<_> = appended.entries().map(|entry| entry.id()).collect();
    assert_eq!(ids.len(), ENTRIES);
    let twice = NewEntry { id: Some(id("same")), ..NewEntry::new("custom", "{}") };
    let error = session.append_all(&[twice.clone(), twice], Parent::Leaf, &Precondition::None).unwrap_err();
    assert!(error.to_string().contains("the id same is there twice"), "{error}");
}

#[test]
fn navigation_outlives_the_session() {
    let lines = [user("a", None, "1"), user("b", Some("a"), "2")];
    for place in Place::all(file(&lines.each_ref().map(String::as_str)).as_bytes()) {
        let mut session = place.open().unwrap();
        let moved = session.navigate(Some(&id("a")), &Precondition::None).unwrap().entry;
        assert!(moved.raw().get().ends_with(r#""customType":"compactd.navigation","data":{"fromId":"b"}}"#));
        drop(session);
        let mut session = place.open().unwrap();
        assert_eq!(path_of(&session), format!("a {}", moved.id()));
        let root = session.navigate(None, &Precondition::None).unwrap().entry;
        assert_eq!(root.header().parent_id, None);
        drop(session);
        assert_eq!(path_of(&place.open().unwrap()), root.id().as_str());
    }
}

#[test]
fn preconditions_are_decided_after_foreign_entries() {
    let lines = [user("a", None, "1"), user("b", Some("a"), "2")];
    for place in Place::all(file(&lines.each_ref().map(String::as_str)).as_bytes()) {
        let mut session = place.open().unwrap();
        place.append_foreign(&format!("{}\n", user("c", Some("b"), "foreign")));
        let before = place.bytes();
        let expected = Precondition::LeafIs(Some(id("b")));
        let error = session.append_if(NewEntry::new("custom", "{}"), Parent::Leaf, &expected).unwrap_err();
        assert!(matches!(&error, StoreError::LeafMoved { actual, .. } if *actual == Some(id("c"))), "{error}");
        assert_eq!(place.bytes(), before);
        assert_eq!(session.take_foreign().unwrap().entry_ids, [id("c")]);
        let on_path = Precondition::OnPath(Some(id("a")));
        session.append_if(NewEntry::new("custom", "{}"), Parent::Leaf, &on_path).unwrap();
        let gone = Precondition::OnPath(Some(id("zz")));
        assert!(session.append_if(NewEntry::new("custom", "{}"), Parent::Leaf, &gone).is_err());
    }
}

#[test]
fn foreign_entries_are_read_before_an_append_and_reported() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let mut session = place.open().unwrap();
        place.append_foreign(&format!("{}\n{}\n", user("b", Some("a"), "2"), user("c", Some("b"), "3")));
        let appended = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap();
        let foreign = appended.foreign.unwrap();
        assert_eq!((ids(&foreign.entry_ids), foreign.leaf_id), ("b c".to_owned(), Some(id("c"))));
        assert_eq!(appended.entry.header().parent_id, Some(id("c")));
        assert_eq!(session.refresh().unwrap(), None);
    }
}

#[test]
fn a_foreign_branch_does_not_take_the_leaf_along() {
    let lines = [user("a", None, "1"), user("b", Some("a"), "2")];
    for place in Place::all(file(&lines.each_ref().map(String::as_str)).as_bytes()) {
        let mut session = place.open().unwrap();
        place.append_foreign(&format!("{}\n", user("x", Some("a"), "other")));
        let foreign = session.refresh().unwrap().unwrap();
        assert_eq!((ids(&foreign.entry_ids), foreign.leaf_id), ("x".to_owned(), Some(id("b"))));
        assert_eq!(path_of(&session), "a b");
    }
}

#[test]
fn half_a_foreign_line_is_waited_for() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let mut session = place.open().unwrap();
        let line = format!("{}\n", user("b", Some("a"), "2"));
        place.append_foreign(&line[..30]);
        assert_eq!(session.refresh().unwrap(), None);
        assert_eq!(oddities(&session), [(TornLastLine, Some(3))]);
        place.append_foreign(&line[30..]);
        assert_eq!(session.refresh().unwrap().unwrap().entry_ids, [id("b")]);
        assert_eq!(oddities(&session), []);
    }
}

#[test]
fn a_session_that_was_rewritten_is_read_again() {
    let old = file(&[&user("a", None, "1"), &user("b", Some("a"), "2")]);
    for place in Place::all(old.as_bytes()) {
        let mut session = place.open().unwrap();
        place.overwrite(&file(&[&user("z", None, "new")]));
        let foreign = session.refresh().unwrap().unwrap();
        assert_eq!((ids(&foreign.entry_ids), foreign.leaf_id), ("z".to_owned(), Some(id("z"))));
        say(&mut session, "goes on");
        place.overwrite("now something else\n");
        assert!(matches!(session.refresh(), Err(StoreError::NotASession { .. })));
        assert!(session.append(NewEntry::new("custom", "{}"), Parent::Leaf).is_err());
        assert_eq!(place.bytes(), b"now something else\n");
    }
}

#[test]
fn a_torn_tail_is_closed_before_the_first_append() {
    for torn in [r#"{"type":"message","id":"b","parentId":"a","message":{"role":"us"#, "garbage", "{\"type\":\"x\""] {
        let bytes = file(&[&user("a", None, "1")]) + torn;
        for place in Place::all(bytes.as_bytes()) {
            let mut session = place.open().unwrap();
            assert_eq!((path_of(&session).as_str(), oddities(&session)), ("a", vec![(TornLastLine, Some(3))]));
            assert_eq!(place.text(), bytes, "opening writes nothing");
            let new = say(&mut session, "2");
            assert!(place.text().starts_with(&format!("{bytes}\n{{\"type\":\"message\",\"id\":\"{new}\"")));
            assert_eq!(oddities(&session), [(BrokenLine, Some(3))]);
            drop(session);
            let session = place.open().unwrap();
            assert_eq!(path_of(&session), format!("a {new}"));
            assert_eq!(oddities(&session), [(BrokenLine, Some(3))]);
        }
    }
}

#[test]
fn a_whole_last_line_without_its_end_counts() {
    let bytes = format!("{}{}", file(&[]), user("a", None, "1"));
    for place in Place::all(bytes.as_bytes()) {
        let mut session = place.open().unwrap();
        assert_eq!((path_of(&session).as_str(), oddities(&session)), ("a", vec![]));
        let second = say(&mut session, "2");
        place.append_foreign("broken\n");
        assert_eq!(session.refresh().unwrap(), None);
        assert_eq!(oddities(&session), [(BrokenLine, Some(4))]);
        assert_eq!(path_of(&session), format!("a {second}"));
        drop(session);
        assert_eq!(oddities(&place.open().unwrap()), [(BrokenLine, Some(4))]);
    }
}

#[track_caller]
fn check_odd(lines: &[&str], expected: &[(DiagnosticKind, usize)], path: &str) {
    for place in Place::all(file(lines).as_bytes()) {
        let session = place.open().unwrap();
        let expected: Vec<_> = expected.iter().map(|&(kind, line)| (kind, Some(line))).collect();
        assert_eq!(oddities(&session), expected);
        assert_eq!(path_of(&session), path);
        session.tree().unwrap();
        session.stats().unwrap();
        session.check().unwrap();
        Projection::of(session.branch(session.leaf_id()).unwrap()).unwrap();
        assert_eq!(place.text(), file(lines));
    }
}

#[test]
fn odd_lines_are_reported_and_reading_continues() {
    let [a, b, c] = [user("a", None, "1"), user("b", Some("a"), "2"), user("c", Some("b"), "3")];
    check_odd(&[&a, "no json", &b], &[(BrokenLine, 3)], "a b");
    check_odd(&[&a, "", "  ", &b], &[], "a b");
    check_odd(&[&a, &c], &[(MissingParent, 3)], "c");
    check_odd(&[&b, &a], &[], "a");
    check_odd(&[&a, HEADER, &b], &[(SecondHeader, 3)], "a b");
    check_odd(&[&a, r#"{"type":"custom","parentId":"a"}"#, &b], &[(MissingId, 3)], "a b");
    check_odd(&[&a, r#"{"id":"x"}"#, "[1]", "7", &b], &[(BrokenLine, 3), (BrokenLine, 4), (BrokenLine, 5)], "a b");
    check_odd(&[&a, r#"{"type":"custom","id":"x"}"#], &[(MissingParent, 3)], "x");
    check_odd(&[&a, &b, &user("a", Some("b"), "again")], &[(DuplicateId, 4), (Cycle, 3)], "b a");
    check_odd(&[&user("a", Some("a"), "self")], &[(Cycle, 2)], "a");
    check_odd(&[&user("a", Some("b"), "1"), &b, &c], &[(Cycle, 2)], "a b c");
    check_odd(&[&a, &user("a", None, "again"), &b], &[(DuplicateId, 3)], "a b");
    check_odd(&[&a, &b.replace("parentId\":\"a\"", "parentId\":null"), &c], &[], "b c");
    let crlf = format!("{a}\r");
    check_odd(&[&crlf, &b], &[], "a b");
}

#[test]
fn a_broken_body_keeps_its_place_and_is_left_out_of_the_context() {
    let broken = r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"user","content":"#;
    let cut = r#"{"type":"compaction","id":"c","parentId":"b","timestamp":"t","summary":"#;
    let lines = [&*user("a", None, "1"), broken, cut, &user("d", Some("c"), "4")];
    for place in Place::all(file(&lines).as_bytes()) {
        let session = place.open().unwrap();
        assert_eq!(path_of(&session), "a b c d");
        assert!(matches!(session.entry(&id("b")), Err(StoreError::BrokenEntry { line: 3, .. })));
        let mut branch = session.branch(session.leaf_id()).unwrap();
        let projection = Projection::of(&mut branch).unwrap();
        assert_eq!(projection.messages().count(), 2);
        let mut lines: Vec<_> = branch.diagnostics().iter().map(|odd| (odd.kind, odd.line)).collect();
        lines.sort();
        assert_eq!(lines, [(BrokenLine, Some(3)), (BrokenLine, Some(4))]);
        assert_eq!(session.branch_entries(session.leaf_id()).unwrap().len(), 4);
        assert_eq!(session.stats().unwrap().broken_entries, 2);
    }
}

#[test]
fn a_broken_line_does_not_push_aside_a_whole_entry() {
    let broken = r#"{"type":"message","id":"a","parentId":null,"message":"#;
    let place_all = |lines: &[&str]| Place::all(file(lines).as_bytes());
    for place in place_all(&[&user("a", None, "1"), broken]) {
        let session = place.open().unwrap();
        assert_eq!(oddities(&session), [(BrokenLine, Some(3))]);
        assert!(session.entry(&id("a")).is_ok());
    }
    for place in place_all(&[broken, &user("a", None, "written again")]) {
        let session = place.open().unwrap();
        assert_eq!(oddities(&session), [(BrokenLine, Some(2)), (DuplicateId, Some(3))]);
        assert!(session.entry(&id("a")).is_ok());
    }
}

#[test]
fn a_context_says_where_its_branch_was_cut() {
    for place in Place::all(file(&[&user("b", Some("a"), "2"), &user("c", Some("b"), "3")]).as_bytes()) {
        let session = place.open().unwrap();
        let mut branch = session.branch(session.leaf_id()).unwrap();
        assert_eq!(Projection::of(&mut branch).unwrap().messages().count(), 2);
        let [cut] = branch.diagnostics() else { panic!("{:?}", branch.diagnostics()) };
        assert_eq!((cut.kind, cut.line), (MissingParent, Some(2)));
        assert!(cut.message.contains("has the parent a"), "{}", cut.message);
    }
}

#[test]
fn invalid_utf8_is_reported_and_its_bytes_stay() {
    let mut bytes = file(&[]).into_bytes();
    bytes.extend_from_slice(user("a", None, "x?y").replace('?', "\u{1}").as_bytes());
    let at = bytes.iter().position(|&byte| byte == 1).unwrap();
    bytes[at] = 0xff;
    bytes.push(b'\n');
    for place in Place::all(&bytes) {
        let mut session = place.open().unwrap();
        assert_eq!(oddities(&session), [(InvalidUtf8, Some(2))]);
        assert!(session.entry(&id("a")).unwrap().raw().get().contains("x\u{fffd}y"));
        say(&mut session, "2");
        assert!(place.bytes().starts_with(&bytes));
    }
}

#[test]
fn labels_and_names_are_the_last_ones_of_the_file() {
    let lines = [
        &*user("a", None, "1"),
        r#"{"type":"label","id":"l1","parentId":"a","timestamp":"T1","targetId":"a","label":"old"}"#,
        r#"{"type":"session_info","id":"n1","parentId":"l1","timestamp":"T","name":" my name "}"#,
        r#"{"type":"label","id":"l2","parentId":null,"timestamp":"T2","targetId":"a","label":"new"}"#,
    ];
    for place in Place::all(file(&lines).as_bytes()) {
        let mut session = place.open().unwrap();
        let label = session.label(&id("a")).unwrap().unwrap();
        assert_eq!((label.text.as_str(), label.timestamp.as_str()), ("new", "T2"));
        assert_eq!(session.name().unwrap(), Some("my name"));
        session.set_name("two\r\n lines ").unwrap();
        session.set_label(&id("a"), Some("x")).unwrap();
        assert_eq!(
            (session.name().unwrap(), session.tree().unwrap()[0].label.as_deref()),
            (Some("two  lines"), Some("x"))
        );
        session.set_label(&id("a"), None).unwrap();
        session.set_name("").unwrap();
        assert!(matches!(session.set_label(&id("zz"), Some("x")), Err(StoreError::EntryNotFound { .. })));
        drop(session);
        let session = place.open().unwrap();
        assert_eq!((session.label(&id("a")).unwrap(), session.name().unwrap()), (None, None));
    }
}

#[test]
fn a_tree_is_flat_and_its_children_are_in_order_of_time() {
    let at = |line: String, time: &str| line.replace("00:00:01.000Z", time);
    let lines = [
        at(user("a", None, "root"), "00:00:01.000Z"),
        at(user("late", Some("a"), "x"), "00:00:09.000Z"),
        at(user("early", Some("a"), "y"), "00:00:02.000Z"),
        at(user("same", Some("a"), "z"), "00:00:02.000Z"),
        at(user("orphan", Some("gone"), "o"), "00:00:02.000Z"),
    ];
    for place in Place::all(file(&lines.each_ref().map(String::as_str)).as_bytes()) {
        let tree = place.open().unwrap().tree().unwrap();
        let order: Vec<_> = tree.iter().map(|node| node.id.clone()).collect();
        assert_eq!(ids(&order), "a late early same orphan");
        assert_eq!(ids(&tree[0].children), "early same late");
        assert_eq!((tree[4].parent_id.clone(), tree[4].preview.as_str()), (Some(id("gone")), "o"));
    }
}

#[test]
fn depth_has_no_limit() {
    let mut text = file(&[&user("0", None, "x")]);
    for n in 1..20_000 {
        text += &user(&n.to_string(), Some(&(n - 1).to_string()), "x");
        text.push('\n');
    }
    for place in Place::all_fast(text.as_bytes()) {
        let session = place.open().unwrap();
        assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), 20_000);
        assert_eq!(session.tree().unwrap().len(), 20_000);
    }
}

#[test]
fn stats_count_every_branch_once_and_summaries_too() {
    let usage = r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"total":0.5}}"#;
    let assistant = format!(
        r#"{{"type":"message","id":"b","parentId":"a","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"t","name":"read","arguments":{{}}}}],"usage":{usage}}}}}"#
    );
    let compaction = format!(
        r#"{{"type":"compaction","id":"c","parentId":"b","summary":"s","firstKeptEntryId":"b","usage":{usage}}}"#
    );
    let summary =
        format!(r#"{{"type":"branch_summary","id":"d","parentId":"a","fromId":"c","summary":"s","usage":{usage}}}"#);
    let other = format!(r#"{{"type":"usage","id":"e","parentId":"d","kind":"x","usage":{usage}}}"#);
    let lines = [&*user("a", None, "1"), &assistant, &compaction, &summary, &other];
    for place in Place::all(file(&lines).as_bytes()) {
        let stats = place.open().unwrap().stats().unwrap();
        assert_eq!((stats.user_messages, stats.assistant_messages, stats.tool_calls), (1, 1, 1));
        assert_eq!((stats.compactions, stats.branch_summaries, stats.total_entries), (1, 1, 5));
        assert_eq!((stats.tokens.total, stats.tokens.cache_write, stats.cost), (40, 16, 2.0));
    }
}

#[test]
fn checking_finds_compactions_that_keep_nothing_they_name() {
    let lines = [
        &*user("a", None, "1"),
        r#"{"type":"compaction","id":"c","parentId":"a","timestamp":"t","summary":"s","firstKeptEntryId":"zz"}"#,
        r#"{"type":"compaction","id":"d","parentId":"c","timestamp":"t","summary":"s","firstKeptEntryId":"d"}"#,
        "broken",
    ];
    for place in Place::all(file(&lines).as_bytes()) {
        let found = place.open().unwrap().check().unwrap();
        let kinds: Vec<_> = found.iter().map(|odd| (odd.kind, odd.line)).collect();
        assert_eq!(kinds, [(UnknownFirstKept, Some(3)), (BrokenLine, Some(5))]);
    }
}

#[test]
fn checking_knows_which_entries_are_on_the_branch_of_a_compaction() {
    let compaction = |id: &str, parent: &str, first: &str| {
        format!(
            r#"{{"type":"compaction","id":"{id}","parentId":"{parent}","timestamp":"t","summary":"s","firstKeptEntryId":"{first}"}}"#
        )
    };
    // Two branches below `a`, a parent that comes later, and a second root.
    let lines = [
        user("a", None, "1"),
        user("b", Some("a"), "2"),
        user("x", Some("a"), "other branch"),
        compaction("c", "b", "a"),
        compaction("d", "c", "x"),
        user("late", Some("later"), "3"),
        compaction("e", "late", "later"),
        user("later", Some("x"), "4"),
        compaction("f", "later", "late"),
        user("root", None, "5"),
        compaction("g", "root", "a"),
        compaction("h", "d", "d"),
    ];
    let cycle = [user("k", Some("l"), "6"), user("l", Some("k"), "7"), compaction("m", "l", "k")];
    for (lines, cycles) in [(lines.to_vec(), 0), ([&lines[..], &cycle].concat(), 1)] {
        for place in Place::all(file(&lines.iter().map(String::as_str).collect::<Vec<_>>()).as_bytes()) {
            let found = place.open().unwrap().check().unwrap();
            let unknown: Vec<_> =
                found.iter().filter(|odd| odd.kind == UnknownFirstKept).filter_map(|odd| odd.line).collect();
            assert_eq!(unknown, [6, 10, 12]);
            assert_eq!(found.iter().filter(|odd| odd.kind == Cycle).count(), cycles);
        }
    }
}

#[test]
fn newer_versions_are_read_and_not_written() {
    for version in ["4", "99.5", "\"x\"", "1e30"] {
        let text = file(&[&user("a", None, "1")]).replace("\"version\":3", &format!("\"version\":{version}"));
        for place in Place::all(text.as_bytes()) {
            let mut session = place.open().unwrap();
            assert_eq!((oddities(&session), path_of(&session).as_str()), (vec![(NewerVersion, Some(1))], "a"));
            assert!(session.is_read_only());
            let refused = session.append(NewEntry::new("custom", "{}"), Parent::Leaf);
            assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
            assert_eq!(place.text(), text);
        }
    }
}

#[test]
fn what_is_no_session_is_refused_and_left_untouched() {
    for text in
        ["", "x", "{}\n", "[]\n{}\n", "{\"type\":\"session\"}\n", &format!("{}\n{HEADER}\n", user("a", None, "1"))]
    {
        for place in Place::all(text.as_bytes()) {
            assert!(matches!(place.open(), Err(StoreError::NotASession { .. })), "{text}");
            assert_eq!(place.text(), text);
        }
    }
}

#[test]
fn a_closed_session_is_read_on_and_not_written() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let mut session = place.open().unwrap();
        session.close().unwrap();
        session.close().unwrap();
        assert_eq!(session.entry(&id("a")).unwrap().id(), &id("a"));
        let refused = session.append(NewEntry::new("custom", "{}"), Parent::Leaf);
        assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
        say(&mut place.open().unwrap(), "another may write");
    }
}

#[test]
fn entries_are_parsed_once_while_they_are_used() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let session = place.open().unwrap();
        assert!(Arc::ptr_eq(&session.entry(&id("a")).unwrap(), &session.entry(&id("a")).unwrap()));
    }
}

#[test]
fn logs_tell_what_others_did() {
    for place in Place::all(b"one\ntwo") {
        let mut log = place.log().unwrap();
        assert_eq!(log.refresh().unwrap(), LogChange::Unchanged);
        let span = log.append(Batch { lines: "three", expected_end: 7, sync: true }).unwrap();
        assert_eq!(place.bytes(), b"one\ntwo\nthree\n");
        assert_eq!((span.offset, log.read(span).unwrap()), (8, b"three".to_vec()));
        assert_eq!(log.refresh().unwrap(), LogChange::Unchanged);
        place.append_foreign("four\n");
        assert_eq!(log.refresh().unwrap(), LogChange::Grown);
        place.overwrite("short\n");
        assert_eq!(log.refresh().unwrap(), LogChange::Replaced);
        assert!(log.read(span).is_err());
    }
}
