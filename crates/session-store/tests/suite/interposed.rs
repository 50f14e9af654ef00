//! A log in a file where something comes in between, and what must hold then.

use std::cell::Cell;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::common::{Place, file, id, path_of, say, user};
use session_store::log::{Batch, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog};
use session_store::{FileLog, Locator, NewEntry, Parent, Session, SessionOptions, StoreError};

type Act = Box<dyn FnMut() + Send + Sync>;

/// A log in a file that does something of another program's before an append, and whose reads fail
/// if they begin before a given offset.
struct Interposed {
    log: FileLog,
    before_append: Act,
    unreadable: Arc<AtomicU64>,
}

impl std::fmt::Debug for Interposed {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.log.fmt(formatter)
    }
}

impl Interposed {
    fn check(&self, offset: u64) -> io::Result<()> {
        let is_unreadable = offset < self.unreadable.load(Ordering::Relaxed);
        if is_unreadable { Err(io::Error::other("a broken disk")) } else { Ok(()) }
    }
}

impl SessionLog for Interposed {
    fn locator(&self) -> Option<&Locator> {
        self.log.locator()
    }

    fn is_quick(&self) -> bool {
        self.log.is_quick()
    }

    fn length(&self) -> u64 {
        self.log.length()
    }

    fn scan(
        &self,
        offset: u64,
        hold: &Cell<usize>,
        visit: &mut dyn FnMut(Line<'_>) -> ControlFlow<()>,
    ) -> io::Result<()> {
        self.check(offset)?;
        self.log.scan(offset, hold, visit)
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        self.check(span.offset)?;
        self.log.read(span)
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        self.log.refresh()
    }

    fn refresh_to_append(&mut self) -> io::Result<LogChange> {
        self.log.refresh_to_append()
    }

    fn append(&mut self, batch: Batch<'_>) -> Result<Span, LogError> {
        (self.before_append)();
        self.log.append(batch)
    }

    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.log.replace_all(backup_suffix, hold, rewrite)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.log.sync()
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        self.log.sync_beside()
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        self.log.cut(end, length)
    }

    fn release(&mut self) {
        self.log.release();
    }
}

/// Opens the session at `place`; `act` is done right before each write, with the number of writes before.
fn open(place: &Place, act: impl FnMut(usize) + Send + Sync + 'static) -> (Session, Arc<AtomicU64>) {
    open_with(place, SessionOptions::default(), act)
}

fn open_with(
    place: &Place,
    options: SessionOptions,
    mut act: impl FnMut(usize) + Send + Sync + 'static,
) -> (Session, Arc<AtomicU64>) {
    let unreadable = Arc::new(AtomicU64::new(0));
    let log = FileLog::open(&place.path()).unwrap().log;
    let mut number = 0;
    let before_append = Box::new(move || {
        act(number);
        number += 1;
    });
    let log = Interposed { log, before_append, unreadable: Arc::clone(&unreadable) };
    (Session::open(Box::new(log), options).unwrap(), unreadable)
}

fn place(lines: &[&str]) -> Place {
    Place::file(file(lines).as_bytes())
}

/// Puts a file with these lines in the place of the one at `path`.
fn replace(path: &Path, lines: &[&str]) {
    let new = path.with_file_name("new");
    fs::write(&new, file(lines)).unwrap();
    fs::rename(new, path).unwrap();
}

#[test]
fn a_line_is_not_lost_with_a_file_that_was_replaced_right_before_the_write() {
    let a = user("a", None, "1");
    let place = place(&[&a]);
    let (path, kept) = (place.path(), place.path().with_file_name("kept"));
    fs::hard_link(&path, &kept).unwrap();
    let (mut session, _) = open(&place, {
        let (path, a) = (path.clone(), a.clone());
        move |number| {
            if number == 0 {
                replace(&path, &[&a, &user("b", Some("a"), "theirs")]);
            }
        }
    });
    let own = say(&mut session, "ours");
    assert_eq!(path_of(&session), format!("a b {own}"));
    assert_eq!(fs::read_to_string(&kept).unwrap(), file(&[&a]), "nothing is left in the old file");
    say(&mut session, "more");
    drop(session);
    let session = place.open().unwrap();
    assert_eq!((session.entry_count().unwrap(), session.diagnostics()), (4, &[][..]));
}

#[test]
fn a_file_that_is_gone_right_before_the_write_takes_no_entry() {
    let place = place(&[&user("a", None, "1")]);
    let path = place.path();
    let (mut session, _) = open(&place, move |_| fs::remove_file(&path).unwrap());
    let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
    assert!(matches!(error, StoreError::SessionNotFound { .. }), "{error:?}");
    assert_eq!(path_of(&session), "a");
}

#[test]
fn a_file_that_is_replaced_again_and_again_takes_no_entry() {
    let a = user("a", None, "1");
    let place = place(&[&a]);
    let tries = Arc::new(AtomicUsize::new(0));
    let (mut session, _) = open(&place, {
        let (path, tries) = (place.path(), Arc::clone(&tries));
        move |number| {
            tries.store(number + 1, Ordering::Relaxed);
            replace(&path, &[&a]);
        }
    });
    let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
    assert!(matches!(error, StoreError::WriteFailed { .. }), "{error:?}");
    assert!((2..20).contains(&tries.load(Ordering::Relaxed)), "{tries:?}");
    assert_eq!((place.text(), path_of(&session)), (file(&[&user("a", None, "1")]), "a".to_owned()));
}

#[test]
fn an_entry_whose_surroundings_cannot_be_read_back_is_not_there_twice() {
    for torn in ["{\"type\":\"mes", ""] {
        let place = place(&[&user("a", None, "1")]);
        place.append_foreign(torn);
        let before = place.text();
        let path = place.path();
        let (mut session, unreadable) = open(&place, {
            let is_whole = torn.is_empty();
            // Foreign lines make it read as well.
            move |number| {
                if is_whole && number == 0 {
                    append(&path, &user("f", Some("a"), "theirs"));
                }
            }
        });
        unreadable.store(u64::MAX, Ordering::Relaxed);
        let outcome = session.append(NewEntry { id: Some(id("own")), ..NewEntry::new("custom", "{}") }, Parent::Leaf);
        unreadable.store(0, Ordering::Relaxed);
        let count = |place: &Place| place.text().matches("\"own\"").count();
        assert_eq!(count(&place), usize::from(outcome.is_ok()), "{outcome:?}");
        let error = outcome.unwrap_err();
        assert!(matches!(error, StoreError::WriteFailed { .. }), "{error:?}");
        assert!(place.text().starts_with(&before));
        let again = NewEntry { id: Some(id("own")), ..NewEntry::new("custom", "{}") };
        session.append(again, Parent::Leaf).unwrap();
        assert_eq!((count(&place), session.leaf_id()), (1, Some(&id("own"))));
        let leaf = if torn.is_empty() { "a f own" } else { "a own" };
        assert_eq!(path_of(&session), leaf);
    }
}

fn append(path: &Path, line: &str) {
    use std::io::Write as _;
    fs::File::options().append(true).open(path).unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
}

#[test]
fn what_is_read_ends_where_the_log_was_looked_at() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let log = place.log_to_read().unwrap();
        place.append_foreign(&format!("{}\n{{\"torn", user("b", Some("a"), "2")));
        let mut session = Session::open(log, SessionOptions::default()).unwrap();
        assert_eq!((path_of(&session), session.diagnostics()), ("a".to_owned(), &[][..]));
        assert_eq!((session.entries(None, None).unwrap().len(), session.check().unwrap()), (1, vec![]));
        let foreign = session.refresh().unwrap().unwrap();
        assert_eq!((foreign.entry_ids, path_of(&session)), (vec![id("b")], "a b".to_owned()));
    }
}

/// A program that rewrites the file in place, later than our last write.
fn rewrite(place: &Place, from: &str, to: &str) {
    let text = place.text().replace(from, to);
    let modified = fs::metadata(place.path()).unwrap().modified().unwrap();
    fs::write(place.path(), text).unwrap();
    let later = modified + std::time::Duration::from_secs(1);
    fs::File::options().append(true).open(place.path()).unwrap().set_modified(later).unwrap();
}

#[test]
fn a_file_that_was_rewritten_to_the_same_length_is_read_again() {
    let place = place(&[&user("a", None, "1"), &user("bb", Some("a"), "2")]);
    let mut session = place.open().unwrap();
    rewrite(&place, "nothing", "nothing");
    assert_eq!(session.refresh().unwrap(), None, "only its time has changed");
    rewrite(&place, &user("bb", Some("a"), "2"), &user("cc", Some("a"), "3"));
    let own = say(&mut session, "ours");
    assert_eq!(path_of(&session), format!("a cc {own}"));
    assert_eq!(session.refresh().unwrap(), None, "our own writes are known");
}

#[test]
fn the_name_of_another_holder_stays_when_a_replaced_file_is_closed() {
    let lines = [user("a", None, "1")];
    let place = place(&[&lines[0]]);
    let first = place.open().unwrap();
    replace(&place.path(), &[&lines[0]]);
    let second = place.open().unwrap();
    drop(first);
    let error = place.open().unwrap_err();
    assert!(matches!(error, StoreError::Locked { pid: Some(_), .. }), "{error:?}");
    drop(second);
    assert_eq!(fs::read_dir(place.path().parent().unwrap()).unwrap().count(), 1, "the last one takes its name away");
}

#[test]
fn a_session_that_was_cut_is_outdated() {
    let lines = [user("a", None, "1"), user("b", Some("a"), "2")];
    let both = file(&[&lines[0], &lines[1]]);
    for place in Place::all(both.as_bytes()) {
        let mut session = place.open().unwrap();
        assert!(!session.is_outdated());
        place.append_foreign(&format!("{}\n", user("c", Some("b"), "3")));
        assert!(!session.is_outdated(), "it grew");
        place.overwrite(&file(&[&lines[0]]));
        assert!(session.is_outdated(), "it was cut");
        session.refresh().unwrap();
        assert_eq!((session.is_outdated(), path_of(&session)), (false, "a".to_owned()));
        place.overwrite("");
        for _ in 0..2 {
            assert!(session.is_outdated(), "what is there is no session");
            assert!(matches!(session.refresh(), Err(StoreError::NotASession { .. })));
        }
        place.overwrite(&file(&[&lines[0]]));
        session.refresh().unwrap();
        assert!(!session.is_outdated(), "it is there again");
        let Place::File(_) = &place else { continue };
        replace(&place.path(), &[&lines[1]]);
        assert!(!session.is_outdated(), "the old one is still there");
        assert_eq!(session.entries(None, None).unwrap().len(), 1);
    }
}

/// The first entries of a long session may name pins. Only a compaction in the context that lists them saves the search.
#[test]
fn pins_that_a_compaction_lists_take_no_more_than_the_context() {
    let check = |details: &str, is_near: bool| {
        let mut lines: Vec<String> = vec![user("00000000", None, "the first")];
        let parent = |number: usize| format!("{:08x}", number - 1);
        lines.extend((1..3000).map(|number| user(&format!("{number:08x}"), Some(&parent(number)), &"x".repeat(200))));
        let details = details.replace("LEAF", &parent(3000));
        lines.push(format!(
            r#"{{"type":"compaction","id":"c","parentId":"{}","timestamp":"T","summary":"s","firstKeptEntryId":"00000bb5","tokensBefore":1,"details":{details}}}"#,
            parent(3000)
        ));
        lines.push(
            r#"{"type":"thinking_level_change","id":"l","parentId":"c","timestamp":"T","thinkingLevel":"high"}"#
                .to_owned(),
        );
        lines.push(
            r#"{"type":"model_change","id":"m","parentId":"l","timestamp":"T","provider":"p","modelId":"m"}"#
                .to_owned(),
        );
        let text = file(&lines.iter().map(String::as_str).collect::<Vec<_>>());
        let options = SessionOptions { whole_bytes: 1 << 10, ..SessionOptions::default() };
        let (session, unreadable) = open_with(&Place::file(text.as_bytes()), options, |_| {});
        unreadable.store(1 << 18, Ordering::Relaxed);
        let pins = session.pins(session.leaf_id());
        assert_eq!(pins.as_ref().is_ok_and(|pins| pins.ids().is_empty()), is_near, "{details}: {pins:?}");
        unreadable.store(0, Ordering::Relaxed);
        assert_eq!(session.pins(session.leaf_id()).unwrap().ids(), []);
    };
    check(r#"{"compactd":{"pins":[],"state":{"leafId":"LEAF","model":null,"thinkingLevel":"off"}}}"#, true);
    check(r#"{"compactd":{"state":{"leafId":"LEAF","model":null,"thinkingLevel":"off"}}}"#, false);
    check("{}", false);
}
