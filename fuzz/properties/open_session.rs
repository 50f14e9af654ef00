// What must hold for any bytes of a session file. Included by the fuzz target and by the test that
// replays its seeds.

use std::sync::{Arc, Mutex};

use compaction_core::projection::Projection;
use session_store::{MemoryLog, NewEntry, Parent, Session, SessionOptions};

/// Opens `bytes` as a session, reads all of it, and appends if that is possible.
pub(crate) fn open_session(bytes: &[u8]) {
    let shared = Arc::new(Mutex::new(bytes.to_vec()));
    let open = || Session::open(Box::new(MemoryLog::shared(Arc::clone(&shared))), SessionOptions::default());
    let Ok(mut session) = open() else { return };
    read_all(&session);
    assert_eq!(*shared.lock().unwrap(), bytes, "reading writes nothing");
    if session.is_read_only() {
        return;
    }
    let was_current = session.migrated_from().is_none();
    let entry = session.append(NewEntry::new("custom", "{\"data\":1}"), Parent::Leaf).unwrap().entry;
    assert!(!was_current || shared.lock().unwrap().starts_with(bytes), "no byte is dropped");
    let again = open().unwrap();
    assert_eq!(again.leaf_id(), Some(entry.id()));
    assert_eq!(again.entry(entry.id()).unwrap().line(), entry.line());
    read_all(&again);
}

fn read_all(session: &Session) {
    for node in session.tree().unwrap() {
        session.branch_ids(Some(&compaction_core::entry::EntryId::new(node.id.as_str()))).unwrap();
    }
    Projection::of(session.branch(session.leaf_id()).unwrap()).unwrap();
    session.stats().unwrap();
    session.check().unwrap();
}
