//! A session over each kind of log, and lines to fill it with.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::remote::{Network, RemoteStore, Server};
use compaction_core::entry::EntryId;
use session_store::log::SessionLog;
use session_store::{
    DiagnosticKind, FileLog, Locator, MemoryLog, NewEntry, Parent, Session, SessionOptions, StoreError,
};

/// A header of the current version.
pub(crate) const HEADER: &str =
    r#"{"type":"session","version":3,"id":"s-1","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;

/// Where the bytes of a session lie.
#[derive(Debug)]
pub(crate) enum Place {
    /// In a file of its own directory.
    File(tempfile::TempDir),
    /// In memory.
    Memory(Arc<Mutex<Vec<u8>>>),
    /// On a server across a network that is slow and breaks.
    Remote(Arc<Server>, Duration),
}

/// The address of the session on a server.
const ADDRESS: &str = "remote://s";

/// What a call of a server costs.
const DELAY: Duration = Duration::from_millis(20);

/// Every so many calls one is lost.
const LOSES_EVERY: usize = 7;

impl Place {
    /// One place of each kind, holding `bytes`.
    pub(crate) fn all(bytes: &[u8]) -> [Self; 3] {
        [Self::file(bytes), Self::memory(bytes), Self::remote(bytes, DELAY)]
    }

    /// The same where calls of the server take no time, for cases by the thousand.
    pub(crate) fn all_fast(bytes: &[u8]) -> [Self; 3] {
        [Self::file(bytes), Self::memory(bytes), Self::remote(bytes, Duration::ZERO)]
    }

    fn remote(bytes: &[u8], delay: Duration) -> Self {
        let server = Server::default();
        server.put(ADDRESS, bytes);
        Self::Remote(Arc::new(server), delay)
    }

    pub(crate) fn file(bytes: &[u8]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("s.jsonl"), bytes).unwrap();
        Self::File(directory)
    }

    pub(crate) fn memory(bytes: &[u8]) -> Self {
        Self::Memory(Arc::new(Mutex::new(bytes.to_vec())))
    }

    pub(crate) fn path(&self) -> PathBuf {
        match self {
            Self::File(directory) => directory.path().join("s.jsonl"),
            Self::Memory(_) | Self::Remote(..) => panic!("only files have a path"),
        }
    }

    pub(crate) fn locator(&self) -> Locator {
        Locator::from(self.path())
    }

    pub(crate) fn open(&self) -> Result<Session, StoreError> {
        self.open_with(SessionOptions::default())
    }

    pub(crate) fn open_with(&self, options: SessionOptions) -> Result<Session, StoreError> {
        Session::open(self.log()?, options)
    }

    /// The log, for writing.
    pub(crate) fn log(&self) -> Result<Box<dyn SessionLog>, StoreError> {
        Ok(match self {
            Self::File(_) => {
                let opened = FileLog::open(&self.path())?;
                assert_eq!(opened.diagnostics, []);
                Box::new(opened.log)
            }
            Self::Memory(bytes) => Box::new(MemoryLog::shared(Arc::clone(bytes))),
            Self::Remote(server, delay) => Box::new(remote(server, *delay).log(&Locator::from(ADDRESS), false)?),
        })
    }

    /// The log, for reading.
    pub(crate) fn log_to_read(&self) -> Result<Box<dyn SessionLog>, StoreError> {
        Ok(match self {
            Self::File(_) => Box::new(FileLog::open_read_only(&self.path())?),
            Self::Memory(_) => self.log()?,
            Self::Remote(server, delay) => Box::new(remote(server, *delay).log(&Locator::from(ADDRESS), true)?),
        })
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::File(_) => fs::read(self.path()).unwrap(),
            Self::Memory(bytes) => bytes.lock().unwrap().clone(),
            Self::Remote(server, _) => server.bytes(ADDRESS),
        }
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.bytes()).unwrap()
    }

    /// What a program without locks does.
    pub(crate) fn append_foreign(&self, more: &str) {
        match self {
            Self::File(_) => {
                let mut file = fs::File::options().append(true).open(self.path()).unwrap();
                file.write_all(more.as_bytes()).unwrap();
            }
            Self::Memory(bytes) => bytes.lock().unwrap().extend_from_slice(more.as_bytes()),
            Self::Remote(server, _) => server.append_foreign(ADDRESS, more),
        }
    }

    /// What a program does that rewrites a session in place.
    pub(crate) fn overwrite(&self, all: &str) {
        match self {
            Self::File(_) => fs::write(self.path(), all).unwrap(),
            Self::Memory(bytes) => *bytes.lock().unwrap() = all.as_bytes().to_vec(),
            Self::Remote(server, _) => server.put(ADDRESS, all.as_bytes()),
        }
    }
}

fn remote(server: &Arc<Server>, delay: Duration) -> RemoteStore {
    RemoteStore::new(Arc::clone(server), Network::new(delay, LOSES_EVERY))
}

/// A file of the header and `lines`, each ended by LF.
pub(crate) fn file(lines: &[&str]) -> String {
    std::iter::once(&HEADER).chain(lines).map(|line| format!("{line}\n")).collect()
}

/// A user message.
pub(crate) fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

pub(crate) fn id(id: &str) -> EntryId {
    EntryId::new(id)
}

/// Appends a user message at the leaf.
pub(crate) fn say(session: &mut Session, text: &str) -> EntryId {
    let members = format!(r#"{{"message":{{"role":"user","content":"{text}"}}}}"#);
    let appended = session.append(NewEntry::new("message", &members), Parent::Leaf);
    appended.unwrap_or_else(|error| panic!("failed to {error}: {error:?}")).entry.id().clone()
}

/// Kinds and lines of what was odd, sorted.
pub(crate) fn oddities(session: &Session) -> Vec<(DiagnosticKind, Option<usize>)> {
    let mut kinds: Vec<_> = session.diagnostics().iter().map(|odd| (odd.kind, odd.line)).collect();
    kinds.sort();
    kinds
}

/// The ids of the path to the leaf, joined by spaces.
pub(crate) fn path_of(session: &Session) -> String {
    ids(&session.branch_ids(session.leaf_id()).unwrap())
}

pub(crate) fn ids(ids: &[EntryId]) -> String {
    ids.iter().map(EntryId::as_str).collect::<Vec<_>>().join(" ")
}

/// Reading, in an implementation of `SessionLog` by the log in the first field.
macro_rules! reads_of_inner_log {
    () => {
        fn is_quick(&self) -> bool {
            self.0.is_quick()
        }

        fn length(&self) -> u64 {
            self.0.length()
        }

        fn scan(
            &self,
            offset: u64,
            hold: &std::cell::Cell<usize>,
            visit: &mut dyn FnMut(session_store::log::Line<'_>) -> std::ops::ControlFlow<()>,
        ) -> std::io::Result<()> {
            self.0.scan(offset, hold, visit)
        }

        fn read(&self, span: Span) -> std::io::Result<Vec<u8>> {
            self.0.read(span)
        }

        fn refresh(&mut self) -> std::io::Result<session_store::log::LogChange> {
            self.0.refresh()
        }
    };
}
pub(crate) use reads_of_inner_log;
