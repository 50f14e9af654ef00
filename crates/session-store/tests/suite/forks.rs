//! Forks.

use std::fs;
use std::sync::Arc;

use crate::common::{Place, file, id, ids, path_of, say, user};
use session_store::{
    CreateOptions, Durability, FileStore, MemoryStore, OpenOptions, Session, SessionStore, StoreError,
};

fn store() -> FileStore {
    FileStore::new("/nonexistent", Durability::Checkpoint)
}

/// Labels in the chain, before the kept boundary, as the boundary, and at the end; one label of
/// another branch; one that was cleared.
fn labelled() -> String {
    let label = |id: &str, parent: &str, target: &str, label: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"{parent}","timestamp":"T-{id}","targetId":"{target}"{label}}}"#
        )
    };
    file(&[
        &user("a", None, "1"),
        &label("l1", "a", "a", r#","label":"first","extra":1"#),
        &user("b", Some("l1"), "2"),
        &label("l2", "b", "b", r#","label":"kept""#),
        &label("l3", "l2", "b", r#","label":"kept2""#),
        &user("c", Some("l3"), "3"),
        r#"{"type":"compaction","id":"k","parentId":"c","timestamp":"T","summary":"s","firstKeptEntryId":"l2","tokensBefore":1,"x": {"y" : 1}}"#,
        &user("off", Some("a"), "other branch"),
        &label("l4", "off", "c", r#","label":"from off""#),
        &label("l5", "off", "off", r#","label":"left behind""#),
        &label("l6", "k", "a", ""),
        r#"{"type":"branch_summary","id":"s","parentId":"l6","timestamp":"T","fromId":"l3","summary":"z"}"#,
        &label("l7", "s", "l1", r#","label":"of a label""#),
    ])
}

#[test]
fn labels_leave_the_chain_and_are_set_again_at_its_end() {
    let place = Place::file(labelled().as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let fork = store().fork(&source, source.leaf_id()).unwrap();
    let text = fs::read_to_string(fork.locator().unwrap().as_path()).unwrap();
    let expected = [
        user("a", None, "1"),
        user("b", Some("a"), "2"),
        user("c", Some("b"), "3"),
        r#"{"type":"compaction","id":"k","parentId":"c","timestamp":"T","summary":"s","firstKeptEntryId":"c","tokensBefore":1,"x":{"y" : 1}}"#.to_owned(),
        r#"{"type":"branch_summary","id":"s","parentId":"k","timestamp":"T","fromId":"c","summary":"z"}"#.to_owned(),
        r#"{"type":"label","id":"l7","parentId":"s","timestamp":"T-l7","targetId":"b","label":"of a label"}"#.to_owned(),
        r#"{"type":"label","id":"l3","parentId":"l7","timestamp":"T-l3","targetId":"b","label":"kept2"}"#.to_owned(),
        r#"{"type":"label","id":"l4","parentId":"l3","timestamp":"T-l4","targetId":"c","label":"from off"}"#.to_owned(),
    ];
    assert_eq!(text.lines().skip(1).collect::<Vec<_>>(), expected);
    assert_eq!(
        fork.label(&id("b")).unwrap().map(|label| label.text.as_str()),
        Some("kept2"),
        "not what a label was given"
    );
    assert_eq!(fork.diagnostics(), []);
    assert_eq!(place.text(), labelled());
}

#[test]
fn a_fork_is_a_session_of_its_own() {
    let place = Place::file(file(&[&user("a", None, "1"), &user("b", Some("a"), "2")]).as_bytes());
    let mut source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let mut fork = store().fork(&source, Some(&id("a"))).unwrap();
    let source_path = source.locator().unwrap().as_path().to_owned();
    assert_eq!(fork.header().parent_session.as_deref(), source_path.to_str());
    assert_eq!((fork.header().cwd.as_str(), fork.header().version), ("/w", 3));
    assert_ne!(fork.header().id, source.header().id);
    assert_eq!(fork.locator().unwrap().as_path().parent(), source_path.parent());
    say(&mut fork, "in the fork");
    say(&mut source, "in the source");
    assert_eq!((fork.entry_count().unwrap(), source.entry_count().unwrap()), (2, 3));
    assert!(!place.text().contains("in the fork"));
    assert_eq!(source.branch_ids(source.leaf_id()).unwrap()[..2], [id("a"), id("b")]);
}

#[test]
fn forks_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::file(file(&[]).as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let fork = store().fork(&source, None).unwrap();
    assert_eq!((fork.entry_count().unwrap(), fork.leaf_id()), (0, None));
    assert_eq!(fs::metadata(fork.locator().unwrap().as_path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_fork_is_complete_or_absent() {
    let broken = r#"{"type":"message","id":"b","parentId":"l","timestamp":"t","message":{"role":"#;
    let label = r#"{"type":"label","id":"l","parentId":"a","timestamp":"t","targetId":"a","label":"x"}"#;
    let place = Place::file(file(&[&user("a", None, "1"), label, broken, &user("c", Some("b"), "3")]).as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let error = store().fork(&source, Some(&id("c"))).unwrap_err();
    assert!(matches!(error, StoreError::BrokenEntry { line: 4, .. }), "{error:?}");
    assert!(matches!(store().fork(&source, Some(&id("zz"))), Err(StoreError::EntryNotFound { .. })));
    drop(source);
    assert_eq!(fs::read_dir(place.path().parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_broken_line_that_keeps_its_parent_is_copied_as_it_is() {
    let broken = r#"{"type":"message","id":"b","parentId":"a","timestamp":"t","message":{"role":"#;
    let place = Place::file(file(&[&user("a", None, "1"), broken, &user("c", Some("b"), "3")]).as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let fork = store().fork(&source, Some(&id("c"))).unwrap();
    assert_eq!(path_of(&fork), "a b c");
    assert!(fs::read_to_string(fork.locator().unwrap().as_path()).unwrap().contains(&format!("\n{broken}\n")));
}

#[test]
fn a_cut_branch_forks_to_a_cut_branch() {
    let place = Place::file(file(&[&user("b", Some("gone"), "2"), &user("c", Some("b"), "3")]).as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let fork = store().fork(&source, Some(&id("c"))).unwrap();
    assert_eq!((path_of(&fork).as_str(), fork.diagnostics().len()), ("b c", 1));
}

#[test]
fn forks_of_cycles_end() {
    let place = Place::file(file(&[&user("a", Some("b"), "1"), &user("b", Some("a"), "2")]).as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    assert_eq!(path_of(&store().fork(&source, Some(&id("b"))).unwrap()), "a b");
}

#[test]
fn sessions_in_memory_fork_in_memory() {
    let create = || MemoryStore.create(&CreateOptions { cwd: "/w".to_owned(), ..CreateOptions::default() }).unwrap();
    let stores: [Arc<dyn SessionStore>; 2] = [Arc::new(MemoryStore), Arc::new(store())];
    for store in stores {
        let mut source: Session = create();
        let first = say(&mut source, "1");
        say(&mut source, "2");
        let mut fork = store.fork(&source, Some(&first)).unwrap();
        assert_eq!((fork.locator(), path_of(&fork)), (None, first.to_string()));
        assert_eq!(fork.header().parent_session, None);
        say(&mut fork, "3");
        assert_eq!((fork.entry_count().unwrap(), source.entry_count().unwrap()), (2, 2));
    }
}

#[test]
fn an_id_in_a_text_is_no_reference() {
    let label = r#"{"type":"label","id":"l1","parentId":"a","timestamp":"t","targetId":"a","label":"x"}"#;
    let message = user("b", Some("l1"), "parentId l1 \\\"l1\\\"");
    let place = Place::file(file(&[&user("a", None, "1"), label, &message]).as_bytes());
    let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let fork = store().fork(&source, Some(&id("b"))).unwrap();
    let entry = fork.entry(&id("b")).unwrap();
    assert_eq!(entry.raw().get(), message.replace("\"parentId\":\"l1\"", "\"parentId\":\"a\""));
    assert_eq!(ids(&fork.branch_ids(fork.leaf_id()).unwrap()), "a b l1");
}

#[test]
fn a_fork_keeps_the_bytes_of_its_lines() {
    let label = r#"{"type":"label","id":"l","parentId":"a","timestamp":"T","targetId":"a","label":"x"}"#;
    let of = |lines: &[String]| {
        let bytes: Vec<Vec<u8>> = lines.iter().map(|line| [line.as_bytes(), b"\n"].concat()).collect();
        let bytes = bytes.concat();
        bytes.split(|byte| *byte == b'#').collect::<Vec<_>>().join(&0xe9)
    };
    let kept = [user("a", None, "caf#") + "\r", "  ".to_owned() + &user("b", Some("a"), "2") + " \r"];
    let moved = [label.to_owned(), user("c", Some("l"), "th#")];
    for (lines, expected) in [
        (kept.to_vec(), of(&kept)),
        (
            [&kept[..1], &moved].concat(),
            of(&[
                kept[0].clone(),
                user("c", Some("a"), "th#"),
                label.replace("\"parentId\":\"a\"", "\"parentId\":\"c\""),
            ]),
        ),
    ] {
        let bytes = [file(&[]).into_bytes(), of(&lines)].concat();
        let [place, memory, _] = Place::all_fast(&bytes);
        let source = store().open(&place.locator(), &OpenOptions::default()).unwrap();
        let leaf = source.entries(None, None).unwrap().last().unwrap().id().clone();
        let fork = store().fork(&source, Some(&leaf)).unwrap();
        let written = fs::read(fork.locator().unwrap().as_path()).unwrap();
        let start = written.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        assert_eq!(String::from_utf8_lossy(&written[start..]), String::from_utf8_lossy(&expected));
        assert_eq!(written[start..], expected);
        let in_memory = MemoryStore.fork(&memory.open().unwrap(), Some(&leaf)).unwrap();
        assert_eq!(path_of(&in_memory), path_of(&fork));
    }
}

#[test]
fn a_session_of_a_newer_version_is_not_forked() {
    let newer = file(&[&user("a", None, "1")]).replace("\"version\":3", "\"version\":99");
    for place in Place::all(newer.as_bytes()) {
        let source = place.open().unwrap();
        for fork in [store().fork(&source, Some(&id("a"))), store().fork(&source, None)] {
            assert!(matches!(fork, Err(StoreError::ReadOnly { .. })), "{fork:?}");
        }
        let Place::File(directory) = &place else { continue };
        drop(source);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }
}
