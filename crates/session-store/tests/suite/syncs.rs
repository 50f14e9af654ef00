//! Waiting for the disk in company, and disks that fail.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;

use crate::common::{Place, file, id, path_of, reads_of_inner_log, say, user};
use session_store::log::{Batch, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog};
use session_store::{Durability, FileLog, Locator, NewEntry, Parent, PendingSync, Session, SessionOptions, StoreError};

/// What happens to the disk under a log.
#[derive(Debug, Default)]
struct Disk {
    fails: AtomicBool,
    fails_to_cut: AtomicBool,
    is_slow: AtomicBool,
    syncs: AtomicUsize,
}

impl Disk {
    fn sync(&self) -> io::Result<()> {
        self.syncs.fetch_add(1, Ordering::SeqCst);
        if self.is_slow.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        if self.fails.load(Ordering::SeqCst) { Err(io::Error::other("the disk is gone")) } else { Ok(()) }
    }
}

/// A file on such a disk.
#[derive(Debug)]
struct DiskLog(FileLog, Arc<Disk>);

impl SessionLog for DiskLog {
    fn locator(&self) -> Option<&Locator> {
        self.0.locator()
    }

    reads_of_inner_log!();

    fn append(&mut self, batch: Batch<'_>) -> Result<Span, LogError> {
        assert!(!batch.sync, "the sync is left for later");
        self.0.append(batch)
    }

    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        self.0.replace_all(backup_suffix, hold, rewrite)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.1.sync()
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        let disk = Arc::clone(&self.1);
        Ok(Box::new(move || disk.sync()))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        if self.1.fails_to_cut.load(Ordering::SeqCst) {
            return Err(LogError::Io(io::Error::other("the file cannot be cut")));
        }
        self.0.cut(end, length)
    }

    fn release(&mut self) {
        self.0.release();
    }
}

fn open(place: &Place, disk: &Arc<Disk>) -> Session {
    let log = DiskLog(FileLog::open(&place.path()).unwrap().log, Arc::clone(disk));
    let options = SessionOptions { durability: Durability::Always, ..SessionOptions::default() };
    let mut session = Session::open(Box::new(log), options).unwrap();
    session.defer_syncs();
    session
}

fn place() -> Place {
    Place::file(file(&[&user("a", None, "1")]).as_bytes())
}

fn append(session: &mut Session, own: &str) -> PendingSync {
    let new = NewEntry { id: Some(id(own)), ..NewEntry::new("custom", "{}") };
    session.append(new, Parent::Leaf).unwrap();
    session.take_pending_sync().expect("every append waits for the disk")
}

#[test]
fn callers_at_once_share_syncs() {
    let (place, disk) = (place(), Arc::new(Disk::default()));
    disk.is_slow.store(true, Ordering::SeqCst);
    let session = Mutex::new(open(&place, &disk));
    let start = Barrier::new(16);
    std::thread::scope(|scope| {
        for caller in 0..16 {
            let (session, start) = (&session, &start);
            scope.spawn(move || {
                start.wait();
                for n in 0..10 {
                    let pending = append(&mut session.lock().unwrap(), &format!("{caller}-{n}"));
                    pending.wait().unwrap();
                }
            });
        }
    });
    let syncs = disk.syncs.load(Ordering::SeqCst);
    assert!((10..=80).contains(&syncs), "{syncs} syncs for 160 appends of 16 callers");
    assert_eq!(session.into_inner().unwrap().entry_count(), Some(161));
}

#[test]
fn those_that_wait_are_answered_in_order() {
    let (place, disk) = (place(), Arc::new(Disk::default()));
    disk.is_slow.store(true, Ordering::SeqCst);
    let mut session = open(&place, &disk);
    let (sender, answered) = mpsc::channel();
    for n in 0..50 {
        let sender = sender.clone();
        append(&mut session, &n.to_string()).then(move |outcome| sender.send((n, outcome.is_ok())).unwrap());
    }
    drop((sender, session));
    assert!(answered.iter().eq((0..50).map(|n| (n, true))));
}

#[test]
fn a_session_that_is_closed_answers_those_that_wait() {
    let (place, disk) = (place(), Arc::new(Disk::default()));
    let mut session = open(&place, &disk);
    let pending = append(&mut session, "b");
    session.close().unwrap();
    place.open().expect("nothing holds the lock any more");
    pending.wait().unwrap();
}

#[test]
fn what_could_not_be_synced_is_taken_back() {
    let (place, disk) = (place(), Arc::new(Disk::default()));
    let mut session = open(&place, &disk);
    append(&mut session, "b").wait().unwrap();
    let before = place.bytes();
    disk.fails.store(true, Ordering::SeqCst);
    let (first, second) = (append(&mut session, "c"), append(&mut session, "d"));
    assert_eq!(path_of(&session), "a b c d");
    first.wait().unwrap_err();
    // After a failure nothing is known of the disk, however well the next sync ends.
    disk.fails.store(false, Ordering::SeqCst);
    second.wait().unwrap_err();
    append(&mut session, "e").wait().unwrap();
    assert_eq!(path_of(&session), "a b e");
    assert!(place.bytes().starts_with(&before));
    assert_eq!(place.text().lines().count(), 4);
    assert_eq!(session.take_foreign(), None, "the append has reported what changed");
}

#[test]
fn the_leaf_is_back_where_it_was() {
    let lines = [user("a", None, "1"), user("b", Some("a"), "2"), user("x", Some("a"), "other branch")];
    let place = Place::file(file(&lines.each_ref().map(String::as_str)).as_bytes());
    let disk = Arc::new(Disk::default());
    let mut session = open(&place, &disk);
    session.append(NewEntry::new("custom", "{}"), Parent::At(Some(id("b")))).unwrap();
    session.take_pending_sync().unwrap().wait().unwrap();
    let (leaf, before) = (session.leaf_id().cloned(), place.bytes());
    disk.fails.store(true, Ordering::SeqCst);
    let foreign = user("y", Some("x"), "elsewhere");
    place.append_foreign(&format!("{foreign}\n"));
    append(&mut session, "c").wait().unwrap_err();
    assert!(session.take_back_unsynced().unwrap());
    assert_eq!((session.leaf_id().cloned(), session.take_foreign().unwrap().leaf_id), (leaf.clone(), leaf));
    assert_eq!(place.bytes(), [&before[..], foreign.as_bytes(), b"\n"].concat());
    assert!(!session.take_back_unsynced().unwrap(), "once");
}

#[test]
fn lines_of_others_are_never_cut_off() {
    for tail in ["\n", ""] {
        let (place, disk) = (place(), Arc::new(Disk::default()));
        let mut session = open(&place, &disk);
        disk.fails.store(true, Ordering::SeqCst);
        let pending = append(&mut session, "b");
        place.append_foreign(&format!("{}{tail}", user("f", Some("b"), "theirs")));
        let before = place.bytes();
        pending.wait().unwrap_err();
        disk.fails.store(false, Ordering::SeqCst);
        append(&mut session, "c").wait().unwrap();
        assert!(place.bytes().starts_with(&before));
        assert_eq!(path_of(&session), "a b f c");
    }
}

#[test]
fn nothing_is_written_while_the_file_cannot_be_cut() {
    let (place, disk) = (place(), Arc::new(Disk::default()));
    let mut session = open(&place, &disk);
    disk.fails.store(true, Ordering::SeqCst);
    disk.fails_to_cut.store(true, Ordering::SeqCst);
    append(&mut session, "b").wait().unwrap_err();
    disk.fails.store(false, Ordering::SeqCst);
    let before = place.bytes();
    for _ in 0..2 {
        let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
        assert!(matches!(error, StoreError::WriteFailed { .. }), "{error:?}");
        assert_eq!(place.bytes(), before);
    }
    disk.fails_to_cut.store(false, Ordering::SeqCst);
    append(&mut session, "c").wait().unwrap();
    assert_eq!(path_of(&session), "a c");
    assert_eq!(place.text().lines().count(), 3);
}

#[test]
fn an_append_of_the_store_alone_is_on_the_disk_when_it_returns() {
    let place = place();
    let options = SessionOptions { durability: Durability::Always, ..SessionOptions::default() };
    let mut session = Session::open(Box::new(FileLog::open(&place.path()).unwrap().log), options).unwrap();
    say(&mut session, "2");
    assert!(session.take_pending_sync().is_none());
}
