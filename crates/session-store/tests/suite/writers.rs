//! Several writers, and writes that fail.

use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{HEADER, Place, file, id, oddities, path_of, reads_of_inner_log, say, user};
use session_store::log::{Batch, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog};
use session_store::{
    Durability, FileLog, FileStore, Locator, MemoryLog, NewEntry, OpenOptions, Parent, Session, SessionOptions,
    SessionStore, StoreError,
};

fn store() -> FileStore {
    FileStore::new("/nonexistent", Durability::Checkpoint)
}

fn file_place(lines: &[&str]) -> Place {
    Place::file(file(lines).as_bytes())
}

#[test]
fn a_second_writer_learns_who_holds_the_session() {
    let place = file_place(&[&user("a", None, "1")]);
    let first = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    let error = store().open(&place.locator(), &OpenOptions::default()).unwrap_err();
    let StoreError::Locked { pid, host, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*pid, Some(std::process::id()));
    assert!(host.as_ref().is_some_and(|host| !host.is_empty()));
    let reader = store().open(&place.locator(), &OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
    assert!(reader.is_read_only() && path_of(&reader) == "a");
    drop(first);
    store().open(&place.locator(), &OpenOptions::default()).unwrap();
}

#[test]
fn closing_frees_the_lock_and_leaves_nothing_behind() {
    let place = file_place(&[]);
    let mut first = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    assert_eq!(names(&place), ["s.jsonl", "s.jsonl.lock"]);
    first.close().unwrap();
    assert_eq!(names(&place), ["s.jsonl"]);
    let second = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    drop(second);
    assert_eq!(names(&place), ["s.jsonl"]);
}

#[test]
fn a_stale_or_broken_name_of_a_holder_is_harmless() {
    let place = file_place(&[]);
    let holder = place.path().with_file_name("s.jsonl.lock");
    fs::write(&holder, "{\"pid\":1,\"host\":\"gone\"}").unwrap();
    let _first = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    for text in ["", "[", "{\"pid\":\"x\"}"] {
        fs::write(&holder, text).unwrap();
        let error = store().open(&place.locator(), &OpenOptions::default()).unwrap_err();
        assert!(matches!(error, StoreError::Locked { pid: None, host: None, .. }), "{error:?}");
    }
}

fn names(place: &Place) -> Vec<String> {
    let directory = place.path().parent().unwrap().to_owned();
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_session_that_is_gone_is_not_written() {
    let place = file_place(&[&user("a", None, "1")]);
    let mut session = place.open().unwrap();
    fs::remove_file(place.path()).unwrap();
    let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound { .. }), "{error:?}");
    assert_eq!(path_of(&session), "a");
}

#[test]
fn a_session_that_was_put_in_the_place_of_the_old_one_is_locked_and_read() {
    let place = file_place(&[&user("a", None, "1")]);
    let mut session = place.open().unwrap();
    let new = place.path().with_file_name("new");
    fs::write(&new, file(&[&user("a", None, "1"), &user("b", Some("a"), "2")])).unwrap();
    fs::rename(&new, place.path()).unwrap();
    let foreign = session.refresh().unwrap().unwrap();
    assert_eq!((foreign.entry_ids, foreign.leaf_id), (vec![id("b")], Some(id("b"))));
    say(&mut session, "3");
    assert!(matches!(place.open(), Err(StoreError::Locked { .. })));
    assert_eq!(place.text().lines().count(), 4);
}

/// A log whose writes fail while the switch is on, as a full disk lets them.
#[derive(Debug)]
struct FailingLog(MemoryLog, Arc<AtomicBool>);

impl FailingLog {
    fn check(&self) -> io::Result<()> {
        if self.1.load(Ordering::Relaxed) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl SessionLog for FailingLog {
    fn locator(&self) -> Option<&Locator> {
        None
    }

    reads_of_inner_log!();

    fn append(&mut self, batch: Batch<'_>) -> Result<Span, LogError> {
        self.check()?;
        self.0.append(batch)
    }

    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.check()?;
        self.0.replace_all(backup_suffix, hold, rewrite)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.check()
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        let fails = Arc::clone(&self.1);
        Ok(Box::new(move || if fails.load(Ordering::Relaxed) { Err(io::Error::other("no disk")) } else { Ok(()) }))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        self.0.cut(end, length)
    }

    fn release(&mut self) {
        self.0.release();
    }
}

#[test]
fn a_failed_write_changes_nothing() {
    for header in [HEADER.to_owned(), HEADER.replace("\"version\":3,", "")] {
        let text = format!("{header}\n{}\n", user("a", None, "1"));
        let bytes = Arc::new(Mutex::new(text.clone().into_bytes()));
        let fails = Arc::new(AtomicBool::new(true));
        let log = FailingLog(MemoryLog::shared(Arc::clone(&bytes)), Arc::clone(&fails));
        let mut session = Session::open(Box::new(log), SessionOptions::default()).unwrap();
        for _ in 0..2 {
            let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
            assert!(matches!(error, StoreError::WriteFailed { .. }), "{error:?}");
            assert_eq!((path_of(&session).as_str(), session.entry_count().unwrap()), ("a", 1));
            assert_eq!(*bytes.lock().unwrap(), text.as_bytes());
        }
        fails.store(false, Ordering::Relaxed);
        let entry = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap().entry;
        assert_eq!(entry.header().parent_id, Some(id("a")));
    }
}

/// Set for the child process of the next test: the file that it writes to.
const LIMITED: &str = "SESSION_STORE_TEST_LIMITED";

/// Runs this test again in a process whose files may not pass 1024 bytes, so that the system cuts
/// a write short.
#[test]
fn a_short_write_is_taken_back() {
    if let Some(path) = std::env::var_os(LIMITED) {
        return write_until_the_limit(Path::new(&path));
    }
    let place = file_place(&[&user("a", None, "1")]);
    let own = std::env::current_exe().unwrap();
    let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" --exact writers::a_short_write_is_taken_back --nocapture";
    let output = Command::new("bash").args(["-c", script]).arg(own).env(LIMITED, place.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "the child ran the test");
    let session = place.open().unwrap();
    assert_eq!((path_of(&session), session.diagnostics()), ("a after".to_owned(), &[][..]));
}

fn write_until_the_limit(path: &Path) {
    let before = fs::read(path).unwrap();
    let mut session = store().open(&Locator::from(&path), &OpenOptions::default()).unwrap();
    let large = format!(r#"{{"data":"{}"}}"#, "x".repeat(2000));
    let error = session.append(NewEntry::new("custom", &large), Parent::Leaf).unwrap_err();
    let StoreError::WriteFailed { source, .. } = &error else { panic!("{error:?}") };
    assert!(source.to_string().contains("of 2"), "a part was written: {source}");
    assert_eq!(fs::read(path).unwrap(), before);
    assert_eq!(path_of(&session), "a");
    let after = NewEntry { id: Some(id("after")), ..NewEntry::new("custom", "{}") };
    session.append(after, Parent::Leaf).unwrap();
}

#[test]
fn a_file_that_cannot_be_written_is_read() {
    use std::os::unix::fs::PermissionsExt;
    let place = file_place(&[&user("a", None, "1")]);
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o400)).unwrap();
    if fs::File::options().append(true).open(place.path()).is_ok() {
        eprintln!("skipped: this user may write everything");
        return;
    }
    let mut session = store().open(&place.locator(), &OpenOptions::default()).unwrap();
    assert_eq!(session.diagnostics()[0].kind, session_store::DiagnosticKind::UnwritableFile);
    let refused = session.append(NewEntry::new("custom", "{}"), Parent::Leaf);
    assert!(matches!(refused, Err(StoreError::ReadOnly { .. })));
}

#[test]
fn a_line_is_not_glued_to_what_another_program_began_meanwhile() {
    let place = file_place(&[&user("a", None, "1")]);
    let mut log = FileLog::open(&place.path()).unwrap().log;
    assert_eq!(log.refresh().unwrap(), LogChange::Unchanged);
    place.append_foreign("{\"torn");
    let span = log.append(Batch { lines: "{}", expected_end: log.length(), sync: false }).unwrap();
    let text = fs::read_to_string(place.path()).unwrap();
    assert!(text.ends_with("\n{\"torn\n{}\n"), "{text}");
    assert_eq!(span.end() + 1, text.len() as u64);
    assert_eq!(log.refresh().unwrap(), LogChange::Unchanged);
}

#[test]
fn two_programs_that_append_in_turn_lose_nothing() {
    let place = file_place(&[&user("a", None, "1")]);
    let mut session = place.open().unwrap();
    for n in 0..20 {
        let leaf = session.leaf_id().unwrap().clone();
        place.append_foreign(&format!("{}\n", user(&format!("f{n}"), Some(leaf.as_str()), "foreign")));
        say(&mut session, "own");
    }
    assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), 41);
    drop(session);
    let session = place.open().unwrap();
    assert_eq!((session.entry_count().unwrap(), session.diagnostics()), (41, &[][..]));
}

#[test]
fn a_whole_last_line_that_another_program_continues_is_read_again() {
    let text = file(&[&user("a", None, "1"), &user("b", Some("a"), "2")]);
    for place in Place::all(text.trim_end().as_bytes()) {
        let mut session = place.open().unwrap();
        assert_eq!(path_of(&session), "a b");
        place.append_foreign(&format!("{}\n", user("c", Some("b"), "3")));
        session.refresh().unwrap();
        let own = say(&mut session, "4");
        let seen = path_of(&session);
        assert_eq!(seen, format!("a b {}", own.as_str()));
        drop(session);
        let again = place.open().unwrap();
        assert_eq!((path_of(&again), oddities(&again).len()), (seen, 1));
    }
}
