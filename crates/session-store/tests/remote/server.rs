//! The side that keeps the sessions.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard};

use session_store::log::{ChangeNotice, LogError, Span};

/// Sessions by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Server {
    sessions: Mutex<BTreeMap<String, Stored>>,
}

/// One session.
#[derive(Default)]
pub(super) struct Stored {
    pub(super) bytes: Vec<u8>,
    /// Counts how often the session was rewritten.
    pub(super) generation: u64,
    /// Who may write.
    lease: Option<u64>,
    watchers: Vec<(u64, ChangeNotice)>,
}

impl fmt::Debug for Stored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Stored").field("bytes", &self.bytes.len()).field("lease", &self.lease).finish()
    }
}

/// What a session is at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) generation: u64,
    pub(super) length: u64,
}

impl Server {
    /// The bytes of a session.
    pub(crate) fn bytes(&self, address: &str) -> Vec<u8> {
        self.lock()[address].bytes.clone()
    }

    /// What another client does that appends to a session, with or without a lease.
    pub(crate) fn append_foreign(&self, address: &str, more: &str) {
        let mut sessions = self.lock();
        let stored = sessions.get_mut(address).unwrap();
        stored.bytes.extend_from_slice(more.as_bytes());
        stored.tell_others(None);
    }

    /// What a server does that crashed before a write reached its disk.
    pub(crate) fn forget_behind(&self, address: &str, length: usize) {
        self.lock().get_mut(address).unwrap().bytes.truncate(length);
    }

    /// What another client does that puts a session in the place of one.
    pub(crate) fn put(&self, address: &str, bytes: &[u8]) {
        let mut sessions = self.lock();
        let stored = sessions.entry(address.to_owned()).or_default();
        stored.bytes = bytes.to_vec();
        stored.generation += 1;
        stored.tell_others(None);
    }

    /// What another client does that takes the right to write, as the holder was not heard of for long.
    pub(crate) fn take_lease(&self, address: &str) {
        self.lock().get_mut(address).unwrap().lease = Some(u64::MAX);
    }

    pub(crate) fn free_lease(&self, address: &str, client: u64) {
        if let Some(stored) = self.lock().get_mut(address) {
            stored.lease.take_if(|holder| *holder == client);
            stored.watchers.retain(|(watcher, _)| *watcher != client);
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Stored>> {
        self.sessions.lock().unwrap()
    }
}

impl Stored {
    pub(super) fn version(&self) -> Version {
        Version { generation: self.generation, length: self.bytes.len() as u64 }
    }

    /// Gives the lease to `client`, unless another one has it.
    pub(super) fn lease(&mut self, client: u64) -> bool {
        *self.lease.get_or_insert(client) == client
    }

    pub(super) fn watch(&mut self, client: u64, notice: ChangeNotice) {
        self.watchers.push((client, notice));
    }

    pub(super) fn read(&self, span: Span) -> Option<Vec<u8>> {
        self.bytes.get(span.offset as usize..span.end() as usize).map(<[u8]>::to_vec)
    }

    pub(super) fn append(&mut self, client: u64, seen: Version, lines: &str) -> Result<Span, LogError> {
        self.check(client, seen)?;
        if self.bytes.last().is_some_and(|&last| last != b'\n') {
            self.bytes.push(b'\n');
        }
        let span = Span { offset: self.bytes.len() as u64, length: lines.len() as u64 };
        self.bytes.extend_from_slice(lines.as_bytes());
        self.bytes.push(b'\n');
        self.tell_others(Some(client));
        Ok(span)
    }

    pub(super) fn cut(&mut self, client: u64, seen: Version, length: u64) -> Result<(), LogError> {
        self.check(client, seen)?;
        self.bytes.truncate(length as usize);
        self.tell_others(Some(client));
        Ok(())
    }

    pub(super) fn replace(&mut self, client: u64, seen: Version, bytes: Vec<u8>) -> Result<Vec<u8>, LogError> {
        self.check(client, seen)?;
        self.generation += 1;
        self.tell_others(Some(client));
        Ok(std::mem::replace(&mut self.bytes, bytes))
    }

    fn check(&self, client: u64, seen: Version) -> Result<(), LogError> {
        if self.lease != Some(client) {
            return Err(LogError::LeaseLost("another client has taken the lease".to_owned()));
        }
        if self.generation != seen.generation {
            return Err(LogError::Replaced);
        }
        if self.bytes.len() as u64 != seen.length {
            return Err(LogError::Moved);
        }
        Ok(())
    }

    fn tell_others(&self, client: Option<u64>) {
        self.watchers.iter().filter(|(watcher, _)| Some(*watcher) != client).for_each(|(_, notice)| notice());
    }
}
