//! Making and opening files.

use std::fs;
use std::path::Path;

use crate::common::{HEADER, Place, file, oddities, path_of, say, user};
use session_store::{
    CreateOptions, Durability, FileStore, Locator, NewEntry, OpenOptions, Parent, SessionStore, StoreError,
};

fn options(cwd: &str) -> CreateOptions {
    CreateOptions { cwd: cwd.to_owned(), ..CreateOptions::default() }
}

#[test]
fn a_new_session_is_a_file_at_once() {
    let agent_dir = tempfile::tempdir().unwrap();
    let store = FileStore::new(agent_dir.path(), Durability::Checkpoint);
    let session =
        store.create(&CreateOptions { name: Some("my\nname".to_owned()), ..options("/home/me/x.y") }).unwrap();
    let path = session.locator().unwrap().as_path();
    let canonical = fs::canonicalize(agent_dir.path()).unwrap();
    assert_eq!(path.parent().unwrap(), canonical.join("sessions/--home-me-x.y--"));
    let header = session.header();
    let stamp = header.timestamp.replace([':', '.'], "-");
    assert_eq!(path.file_name().unwrap().to_str(), Some(&*format!("{stamp}_{}.jsonl", header.id)));
    assert_eq!((header.id.len(), &header.id[14..15]), (36, "7"));
    let text = fs::read_to_string(path).unwrap();
    let first = format!(
        r#"{{"type":"session","version":3,"id":"{}","timestamp":"{}","cwd":"/home/me/x.y"}}"#,
        header.id, header.timestamp
    );
    assert_eq!(text.lines().next(), Some(&*first));
    assert_eq!((text.lines().count(), session.name().unwrap()), (2, Some("my name")));
}

#[test]
fn new_files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let agent_dir = tempfile::tempdir().unwrap();
    let session = FileStore::new(agent_dir.path(), Durability::Always).create(&options("/w")).unwrap();
    assert_eq!(fs::metadata(session.locator().unwrap().as_path()).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_exists_is_never_created_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("deep/s.jsonl");
    let store = FileStore::new("/nonexistent", Durability::None);
    let create = CreateOptions { locator: Some(Locator::from(&path)), id: Some("my.id".to_owned()), ..options("/w") };
    let session = store.create(&create).unwrap();
    assert_eq!(session.header().id, "my.id");
    drop(session);
    let before = fs::read(&path).unwrap();
    assert!(matches!(store.create(&create), Err(StoreError::AlreadyExists { .. })));
    assert_eq!(fs::read(&path).unwrap(), before);
    let bad = CreateOptions { id: Some("../x".to_owned()), locator: None, ..create };
    assert!(matches!(store.create(&bad), Err(StoreError::InvalidSessionId { .. })));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn an_empty_file_becomes_a_session_at_the_first_write() {
    let place = Place::file(b"");
    let store = FileStore::new("/nonexistent", Durability::Checkpoint);
    let open = OpenOptions { cwd: "/w".to_owned(), ..OpenOptions::default() };
    let mut session = store.open(&place.locator(), &open).unwrap();
    assert_eq!((place.text().as_str(), session.entry_count().unwrap()), ("", 0));
    let id = session.header().id.clone();
    say(&mut session, "1");
    say(&mut session, "2");
    let path = path_of(&session);
    drop(session);
    let session = store.open(&place.locator(), &open).unwrap();
    assert_eq!((session.header().id.clone(), path_of(&session)), (id, path));
    assert_eq!((session.header().cwd.as_str(), oddities(&session)), ("/w", vec![]));
}

#[test]
fn the_header_of_another_program_is_taken_over() {
    let place = Place::file(b"");
    let store = FileStore::new("/nonexistent", Durability::Checkpoint);
    let mut session = store.open(&place.locator(), &OpenOptions::default()).unwrap();
    place.append_foreign(&file(&[&user("a", None, "1")]));
    say(&mut session, "2");
    assert_eq!(session.header().id, "s-1");
    assert_eq!(place.text().matches("\"type\":\"session\"").count(), 1);

    let place = Place::file(b"");
    let mut session = store.open(&place.locator(), &OpenOptions::default()).unwrap();
    place.append_foreign("no session\n{}\n");
    for _ in 0..2 {
        assert!(session.append(NewEntry::new("custom", "{}"), Parent::Leaf).is_err());
        assert_eq!(place.text(), "no session\n{}\n");
    }
}

#[test]
fn what_is_no_session_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let store = FileStore::new("/nonexistent", Durability::Checkpoint);
    let text = directory.path().join("x.jsonl");
    fs::write(&text, "my thesis").unwrap();
    for read_only in [false, true] {
        let open = OpenOptions { read_only, ..OpenOptions::default() };
        let is_refused =
            |path: &Path| matches!(store.open(&Locator::from(&path), &open), Err(StoreError::NotASession { .. }));
        assert!(is_refused(&text) && is_refused(directory.path()));
        let missing = store.open(&Locator::from(&directory.path().join("none")), &open);
        assert!(matches!(missing, Err(StoreError::SessionNotFound { .. })));
    }
    assert_eq!(fs::read_to_string(&text).unwrap(), "my thesis");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn a_path_is_checked_without_a_lock() {
    let place = Place::file(format!("{HEADER}\nbroken\n").as_bytes());
    let _writer = place.open().unwrap();
    let found = FileStore::new("/nonexistent", Durability::Checkpoint).check(&place.locator()).unwrap();
    assert_eq!(found.iter().map(|odd| odd.line).collect::<Vec<_>>(), [Some(2)]);
}

#[test]
fn links_lead_to_one_session() {
    let place = Place::file(file(&[&user("a", None, "1")]).as_bytes());
    let link = place.path().with_file_name("link.jsonl");
    std::os::unix::fs::symlink(place.path(), &link).unwrap();
    let store = FileStore::new("/nonexistent", Durability::Checkpoint);
    let mut session = store.open(&Locator::from(&link), &OpenOptions::default()).unwrap();
    assert_eq!(session.locator().unwrap().as_path(), fs::canonicalize(place.path()).unwrap());
    assert!(matches!(place.open(), Err(StoreError::Locked { .. })));
    say(&mut session, "2");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(place.text().lines().count(), 3);
}
