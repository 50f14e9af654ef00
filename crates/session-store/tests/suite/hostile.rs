//! Files that nobody meant to write.

use proptest::prelude::*;

use crate::common::{Place, file, say, user};
use compaction_core::projection::Projection;
use session_store::{Session, StoreError};

/// Does all that reads, and then appends if that is possible.
fn exercise(place: &Place) {
    let before = place.bytes();
    let session = place.open();
    assert_eq!(place.bytes(), before, "opening writes nothing");
    match session {
        Ok(session) => read_and_append(session, place, &before),
        Err(error) => assert!(matches!(error, StoreError::NotASession { .. }), "{error}"),
    }
}

fn read_and_append(mut session: Session, place: &Place, before: &[u8]) {
    let tree = session.tree().unwrap();
    assert_eq!(tree.len(), session.entry_count().unwrap());
    for node in &tree {
        let path = session.branch_ids(Some(&node.id)).unwrap();
        for other in tree.iter().take(20) {
            let is_on_branch = session.is_on_branch(&other.id, Some(&node.id)).unwrap();
            assert_eq!(is_on_branch, path.contains(&other.id), "{} on the path to {}", other.id, node.id);
        }
    }
    Projection::of(session.branch(session.leaf_id()).unwrap()).unwrap();
    session.stats().unwrap();
    session.check().unwrap();
    assert_eq!(place.bytes(), before, "reading writes nothing");
    if session.is_read_only() {
        return;
    }
    let migrated = session.migrated_from().is_some();
    let path = session.branch_ids(session.leaf_id()).unwrap();
    let new = say(&mut session, "new");
    assert!(migrated || place.bytes().starts_with(before), "no bytes are dropped");
    drop(session);
    let session = place.open().unwrap();
    assert_eq!(session.leaf_id(), Some(&new));
    // A torn line that was closed may be the parent that was missing before; nothing goes away.
    let new_path = session.branch_ids(Some(&new)).unwrap();
    assert!(new_path.ends_with(&[&path[..], &[new]].concat()), "{path:?} became {new_path:?}");
}

fn sample() -> String {
    file(&[
        &user("a", None, "é 😀"),
        r#"{"type":"label","id":"l","parentId":"a","timestamp":"T","targetId":"a","label":"x"}"#,
        r#"{"type":"compaction","id":"c","parentId":"l","timestamp":"T","summary":"s","firstKeptEntryId":"a","tokensBefore":1}"#,
        &user("b", Some("c"), "2"),
    ])
}

/// Every type of entry and every role.
fn full_sample() -> String {
    let entry = |place: usize, kind: &str, members: &str| {
        let parent = if place == 0 { "null".to_owned() } else { format!("\"e{}\"", place - 1) };
        format!(r#"{{"type":"{kind}","id":"e{place}","parentId":{parent},"timestamp":"T",{members}}}"#)
    };
    let entries = [
        ("message", r#""message":{"role":"system","content":"s"}"#),
        ("message", r#""message":{"role":"user","content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}"#),
        (
            "message",
            r#""message":{"role":"assistant","content":[{"type":"thinking","thinking":"h"},{"type":"toolCall","id":"t","name":"n","arguments":{}}],"stopReason":"toolUse"}"#,
        ),
        ("message", r#""message":{"role":"toolResult","toolCallId":"t","toolName":"n","content":[],"isError":false}"#),
        ("message", r#""message":{"role":"bashExecution","command":"c","output":"o","cancelled":false}"#),
        ("message", r#""message":{"role":"custom","customType":"k","content":"c"}"#),
        ("model_change", r#""provider":"p","modelId":"m""#),
        ("thinking_level_change", r#""thinkingLevel":"high""#),
        ("session_info", r#""name":"n""#),
        ("usage", r#""kind":"k","provider":"p","model":"m","usage":{"input":1}"#),
        ("label", r#""targetId":"e1","label":"l""#),
        ("custom", r#""customType":"compactd.navigation","data":{"fromId":"e3"}"#),
        ("custom_message", r#""customType":"k","content":"c","display":true"#),
        ("context_edit", r#""targetId":"e1","replacement":null"#),
        ("compaction", r#""summary":"s","firstKeptEntryId":"e2","tokensBefore":1"#),
        ("branch_summary", r#""fromId":"e4","summary":"b""#),
        ("of_the_future", r#""any":[1,{"\u0061":"\ud83d\ude00"}]"#),
    ];
    let lines: Vec<String> =
        entries.iter().enumerate().map(|(place, (kind, members))| entry(place, kind, members)).collect();
    file(&lines.iter().map(String::as_str).collect::<Vec<_>>())
}

/// All places, but a server for some prefixes alone.
fn places_of_prefix(bytes: &[u8]) -> impl Iterator<Item = Place> {
    let is_remote_too = bytes.ends_with(b"\n") || bytes.len().is_multiple_of(16);
    Place::all_fast(bytes).into_iter().filter(move |place| is_remote_too || !matches!(place, Place::Remote(..)))
}

#[test]
fn every_prefix_of_a_session_opens() {
    let text = sample();
    for end in 0..=text.len() {
        places_of_prefix(&text.as_bytes()[..end]).for_each(|place| exercise(&place));
    }
}

#[test]
fn every_prefix_of_a_session_of_every_entry_type_opens() {
    let text = full_sample();
    for end in 0..=text.len() {
        let places = Place::all_fast(&text.as_bytes()[..end]);
        // Files and servers cost calls: one where each line begins, and some between.
        let is_line_start = text.as_bytes()[..end].ends_with(b"\n");
        places
            .iter()
            .filter(|place| is_line_start || end % 32 == 0 || matches!(place, Place::Memory(_)))
            .for_each(exercise);
    }
}

#[test]
fn every_prefix_of_an_old_session_opens() {
    let text = sample().replace("\"version\":3,", "");
    for end in (0..=text.len()).step_by(3) {
        places_of_prefix(&text.as_bytes()[..end]).for_each(|place| exercise(&place));
    }
}

/// Lines as programs and accidents make them.
fn line() -> impl Strategy<Value = Vec<u8>> {
    let id = || prop::sample::select(vec!["null", "\"a\"", "\"b\"", "\"c\"", "\"d\"", "7", "\"\\ud800\"", "{}"]);
    let kind =
        prop::sample::select(vec!["message", "compaction", "label", "session", "session_info", "context_edit", "zz"]);
    let role = prop::sample::select(vec!["\"user\"", "\"assistant\"", "null", "\"hookMessage\"", "[]"]);
    let entry = (kind, id(), id(), id(), role).prop_map(|(kind, own, parent, target, role)| {
        format!(
            r#"{{"type":"{kind}","id":{own},"parentId":{parent},"targetId":{target},"firstKeptEntryId":{target},"firstKeptEntryIndex":2,"label":"l","message":{{"role":{role},"content":null}}}}"#
        )
        .into_bytes()
    });
    let cut =
        (entry.clone(), any::<prop::sample::Index>()).prop_map(|(entry, end)| entry[..end.index(entry.len())].to_vec());
    prop_oneof![6 => entry, 1 => cut, 1 => prop::collection::vec(any::<u8>(), 0..40), 1 => Just(b"\r".to_vec())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_open(version in 0..5u8, lines in prop::collection::vec(line(), 0..12), ends in any::<bool>()) {
        let header = format!(r#"{{"type":"session","version":{version},"id":"s","timestamp":"T","cwd":"/"}}"#);
        let mut bytes = [header.into_bytes()].into_iter().chain(lines).collect::<Vec<_>>().join(&b'\n');
        if ends {
            bytes.push(b'\n');
        }
        Place::all_fast(&bytes).iter().for_each(exercise);
    }

    #[test]
    fn any_bytes_open(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        Place::all_fast(&bytes).iter().for_each(exercise);
        let after_header = [file(&[]).as_bytes(), &bytes].concat();
        Place::all_fast(&after_header).iter().for_each(exercise);
    }
}
