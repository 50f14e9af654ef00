//! Sessions of older versions.

use std::fs;
use std::path::PathBuf;

use crate::common::{Place, id, path_of, say};
use session_store::{DiagnosticKind, Durability, FileStore, OpenOptions, Session, SessionStore};

const V1: &str = r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w","provider":"p"}
{"type":"message","timestamp":"T1","message":{"role":"user","content":"1"}}
broken
{"type":"message","timestamp":"T2","message":{"role":"hookMessage","customType":"x","content":"2"},"zz":[1 , 2]}
{"type":"compaction","timestamp":"T3","summary":"s","firstKeptEntryIndex":2,"tokensBefore":7}
"#;

const V2: &str = r#"{"type":"session","version":2,"id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"a","parentId":null,"timestamp":"T1","message":{"role":"hookMessage","content":"1"}}
{"message":{"role":"user","content":"2"},"id":"b","type":"message","parentId":"a","timestamp":"T2"}
"#;

fn lines(session: &Session) -> Vec<String> {
    let entries = session.entries(None, None).unwrap();
    entries.iter().map(|entry| entry.raw().get().to_owned()).collect()
}

#[test]
fn old_sessions_are_seen_in_the_current_version_and_not_touched() {
    for (text, version, count) in [(V1, 1, 3), (V2, 2, 2)] {
        for place in Place::all(text.as_bytes()) {
            let session = place.open().unwrap();
            assert_eq!((session.migrated_from(), session.entry_count().unwrap()), (Some(version), count));
            assert_eq!(session.header().version, 3);
            assert!(session.header().raw.get().starts_with(r#"{"type":"session","version":3,"id":"old""#));
            assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), count);
            assert!(lines(&session).iter().all(|line| !line.contains("hookMessage") && !line.contains("Index")));
            let seen = lines(&session);
            drop(session);
            assert_eq!(place.text(), text);
            assert_eq!(lines(&place.open().unwrap()), seen);
        }
    }
}

#[test]
fn the_kept_boundary_counts_parsed_lines_with_the_header() {
    for place in Place::all(V1.as_bytes()) {
        let session = place.open().unwrap();
        let entries = session.entries(None, None).unwrap();
        let compaction = entries[2].compaction().unwrap();
        assert_eq!(compaction.first_kept_entry_id.as_ref(), Some(entries[1].id()));
        assert_eq!(entries[1].message().unwrap().role(), "custom");
        assert!(entries[1].raw().get().ends_with(r#","zz":[1 , 2]}"#));
    }
}

#[test]
fn the_first_append_rewrites_the_file_under_the_same_ids() {
    for (text, version) in [(V1, 1), (V2, 2)] {
        for place in Place::all(text.trim_end().as_bytes()) {
            let mut session = place.open().unwrap();
            let seen = lines(&session);
            let path = path_of(&session);
            let new = say(&mut session, "new");
            assert_eq!(session.migrated_from(), Some(version));
            assert_eq!(path_of(&session), format!("{path} {new}"));
            assert_eq!(lines(&session)[..seen.len()], seen);
            drop(session);
            let session = place.open().unwrap();
            assert_eq!((session.migrated_from(), path_of(&session)), (None, format!("{path} {new}")));
            assert_eq!(lines(&session)[..seen.len()], seen);
            assert_eq!(place.text().contains("\nbroken\n"), version == 1, "no bytes are dropped");
            let Place::File(directory) = &place else { continue };
            let backup = directory.path().join(format!("s.jsonl.v{version}.bak"));
            assert_eq!(fs::read_to_string(backup).unwrap(), text.trim_end());
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "session, lock and backup");
        }
    }
}

#[test]
fn a_migrated_file_stays_locked_and_keeps_its_mode() {
    let place = Place::file(V1.as_bytes());
    let mut session = place.open().unwrap();
    say(&mut session, "1");
    assert!(matches!(place.open(), Err(session_store::StoreError::Locked { .. })));
    say(&mut session, "2");
    assert_eq!(place.text().lines().count(), 7);
}

#[test]
fn a_backup_is_never_written_over() {
    let place = Place::file(V1.as_bytes());
    let backup = place.path().with_file_name("s.jsonl.v1.bak");
    fs::write(&backup, "precious").unwrap();
    say(&mut place.open().unwrap(), "1");
    assert_eq!(fs::read_to_string(&backup).unwrap(), "precious");
    assert_eq!(fs::read_to_string(place.path().with_file_name("s.jsonl.v1.bak.1")).unwrap(), V1);
}

#[test]
fn foreign_lines_of_an_old_session_are_migrated_too() {
    for place in Place::all(V1.as_bytes()) {
        let mut session = place.open().unwrap();
        let leaf = session.leaf_id().unwrap().clone();
        place.append_foreign(
            "{\"type\":\"message\",\"timestamp\":\"T4\",\"message\":{\"role\":\"user\",\"content\":\"f\"}}\n",
        );
        let new = say(&mut session, "new");
        assert_eq!(session.entry_count().unwrap(), 5);
        assert!(session.is_on_branch(&leaf, Some(&new)).unwrap());
        drop(session);
        assert_eq!(place.open().unwrap().branch_ids(Some(&new)).unwrap().len(), 5);
    }
}

#[test]
fn old_lines_under_a_current_header_are_reported_by_their_line() {
    let text = V1.replacen("\"type\":\"session\",", "\"type\":\"session\",\"version\":3,", 1);
    for place in Place::all(text.as_bytes()) {
        let session = place.open().unwrap();
        assert_eq!((session.entry_count().unwrap(), session.leaf_id()), (0, None));
        let missing = session.diagnostics().iter().filter(|odd| odd.kind == DiagnosticKind::MissingId);
        assert_eq!(missing.map(|odd| odd.line).collect::<Vec<_>>(), [Some(2), Some(4), Some(5)]);
    }
}

#[test]
fn forks_of_old_sessions_are_of_the_current_version() {
    for (text, version) in [(V1, 1), (V2, 2)] {
        let place = Place::file(text.as_bytes());
        let store = FileStore::new("/nonexistent", Durability::Checkpoint);
        let source = store.open(&place.locator(), &OpenOptions::default()).unwrap();
        let fork = store.fork(&source, source.leaf_id()).unwrap();
        assert_eq!((source.migrated_from(), fork.migrated_from()), (Some(version), None));
        assert_eq!(lines(&fork), lines(&source));
        assert_eq!((place.text().as_str(), fork.diagnostics()), (text, &[][..]));
    }
}

#[test]
fn bytes_that_are_no_text_are_rewritten_as_they_are() {
    let (before, after) = V1.split_at(V1.find("\"content\":\"1").unwrap() + 11);
    let bytes = [before.as_bytes(), b"caf\xe9 ", after.as_bytes()].concat();
    for place in Place::all(&bytes) {
        let mut session = place.open().unwrap();
        let path = path_of(&session);
        let new = say(&mut session, "new");
        drop(session);
        let written = place.bytes();
        assert!(written.windows(6).any(|bytes| bytes == b"caf\xe9 1"), "{}", String::from_utf8_lossy(&written));
        assert_eq!(path_of(&place.open().unwrap()), format!("{path} {new}"));
    }
}

#[test]
fn a_migrated_file_keeps_its_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
    let place = Place::file(V1.as_bytes());
    if chown(place.path(), Some(65534), Some(65534)).is_err() {
        eprintln!("skipped: this user cannot give files away");
        return;
    }
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o640)).unwrap();
    say(&mut place.open().unwrap(), "new");
    let metadata = fs::metadata(place.path()).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.mode() & 0o777), (65534, 65534, 0o640));
    assert!(place.text().contains("\"version\":3"));
}

fn corpus() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/large-session.jsonl"));
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}

#[test]
fn a_real_old_session_migrates() {
    let Some(path) = corpus() else { return };
    let bytes = fs::read(path).unwrap();
    for place in Place::all(&bytes) {
        let mut session = place.open().unwrap();
        assert_eq!((session.entry_count().unwrap(), session.diagnostics()), (1018, &[][..]));
        let path = session.branch_ids(session.leaf_id()).unwrap();
        assert_eq!(path.len(), 1018);
        assert_eq!(path[..2], [id("2f622527"), id("ad4199a9")], "ids never change from release to release");
        let entry = session.entry(&path[837]).unwrap();
        assert!(entry.raw().get().contains("Also wrap the onSelect callback:"));
        assert_eq!(entry.header().parent_id.as_ref(), Some(&path[836]));
        let seen = lines(&session);
        say(&mut session, "new");
        drop(session);
        let session = place.open().unwrap();
        assert_eq!(session.branch_ids(session.leaf_id()).unwrap()[..1018], path);
        assert_eq!(lines(&session)[..1018], seen);
    }
}
