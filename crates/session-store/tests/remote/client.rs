//! The side that uses them.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{self, AtomicU64};
use std::sync::{Arc, Mutex};

use compaction_core::entry::{EntryBody, EntryId};
use compaction_core::message::Body;
use session_store::log::{
    Batch, ChangeNotice, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog, rewrite_lines,
};
use session_store::{
    CreateOptions, Cursor, Durability, IsCancelled, ListOptions, Locator, MemoryLog, OpenOptions, SearchHits,
    SearchOptions, SearchQuery, Session, SessionOptions, SessionPage, SessionStore, SessionSummary, StoreError,
};

use super::server::{Server, Stored, Version};
use super::{Fate, Network};

/// How often a call is tried.
const TRIES: usize = 4;

/// Bytes that are read at once at least.
const READ_AHEAD: u64 = 1 << 18;

const SCHEME: &str = "remote://";

/// A connection to a server.
#[derive(Debug, Clone)]
struct Connection {
    server: Arc<Server>,
    network: Arc<Network>,
}

/// What came of a call, and whether an earlier try of it may have taken place.
struct Answer<T> {
    value: T,
    was_lost: bool,
}

impl Connection {
    /// Calls the server, again where the connection breaks. `request` may take place more than once.
    fn call<T>(&self, request: impl Fn(&mut BTreeMap<String, Stored>) -> T) -> io::Result<Answer<T>> {
        let mut was_lost = false;
        for _ in 0..TRIES {
            match self.network.fate() {
                Fate::RequestIsLost => {}
                Fate::AnswerIsLost => {
                    request(&mut self.server.lock());
                    was_lost = true;
                }
                Fate::Arrives => return Ok(Answer { value: request(&mut self.server.lock()), was_lost }),
            }
        }
        let kind = if was_lost { io::ErrorKind::TimedOut } else { io::ErrorKind::ConnectionReset };
        Err(io::Error::new(kind, "the connection is lost"))
    }

    fn call_for<T>(&self, address: &str, request: impl Fn(&mut Stored) -> T) -> io::Result<Answer<T>> {
        let answer = self.call(|sessions| sessions.get_mut(address).map(&request))?;
        let value = answer.value.ok_or(io::ErrorKind::NotFound)?;
        Ok(Answer { value, was_lost: answer.was_lost })
    }
}

/// The log of one session on a server.
#[derive(Debug)]
pub(crate) struct RemoteLog {
    connection: Connection,
    locator: Locator,
    address: String,
    client: u64,
    seen: Version,
    is_writable: bool,
    /// What was read last, and where it begins.
    window: Mutex<(u64, Vec<u8>)>,
}

impl RemoteLog {
    fn open(connection: &Connection, locator: &Locator, read_only: bool) -> Result<Self, StoreError> {
        static CLIENTS: AtomicU64 = AtomicU64::new(1);
        let (client, address) = (CLIENTS.fetch_add(1, atomic::Ordering::SeqCst), locator.to_string());
        let opened =
            connection.call_for(&address, |stored| (read_only || stored.lease(client)).then(|| stored.version()));
        // A lease whose holder is not heard of ends by itself.
        let opened = opened.inspect_err(|_| connection.server.free_lease(&address, client));
        let opened = opened.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => StoreError::SessionNotFound { locator: locator.clone() },
            _ => StoreError::Io { action: "open", locator: Some(locator.clone()), source },
        });
        let locked = || StoreError::Locked { locator: locator.clone(), pid: None, host: Some("server".to_owned()) };
        let seen = opened?.value.ok_or_else(locked)?;
        let (connection, window) = (connection.clone(), Mutex::new((0, Vec::new())));
        Ok(Self { connection, locator: locator.clone(), address, client, seen, is_writable: !read_only, window })
    }

    fn change_to(&self, found: Version) -> LogChange {
        match found.length.cmp(&self.seen.length) {
            _ if found.generation != self.seen.generation => LogChange::Replaced,
            Ordering::Less => LogChange::Replaced,
            Ordering::Equal => LogChange::Unchanged,
            Ordering::Greater => LogChange::Grown,
        }
    }

    /// Changes the session on the server. `took_place` tells, where an answer was lost, whether the lost
    /// try is the reason for which a further one is refused.
    fn change<T>(
        &self,
        request: impl Fn(&mut Stored) -> Result<T, LogError>,
        took_place: impl Fn(&Stored) -> Option<T>,
    ) -> Result<T, LogError> {
        if !self.is_writable {
            return Err(LogError::Io(io::ErrorKind::PermissionDenied.into()));
        }
        let answer = self.connection.call_for(&self.address, &request);
        let answer = answer.map_err(|error| match error.kind() {
            io::ErrorKind::TimedOut => LogError::Unconfirmed(error),
            _ => LogError::Io(error),
        })?;
        match answer.value {
            Err(LogError::Moved | LogError::Replaced) if answer.was_lost => {
                let found = self
                    .connection
                    .call_for(&self.address, |stored| took_place(stored))
                    .map_err(LogError::Unconfirmed)?;
                found.value.ok_or(LogError::Moved)
            }
            outcome => outcome,
        }
    }
}

impl SessionLog for RemoteLog {
    fn locator(&self) -> Option<&Locator> {
        Some(&self.locator)
    }

    fn length(&self) -> u64 {
        self.seen.length
    }

    fn read(&self, span: Span) -> io::Result<Vec<u8>> {
        if span.end() > self.seen.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut window = self.window.lock().unwrap();
        let (start, bytes) = &*window;
        if span.offset < *start || span.end() > start + bytes.len() as u64 {
            // Logs are read from their ends, too, so that what lies before is taken along.
            let first = span.offset.saturating_sub(READ_AHEAD / 2);
            let length = (span.end() - first).max(READ_AHEAD).min(self.seen.length - first);
            let generation = self.seen.generation;
            let read = self.connection.call_for(&self.address, |stored| {
                (stored.generation == generation).then(|| stored.read(Span { offset: first, length })).flatten()
            });
            *window = (first, read?.value.ok_or(io::ErrorKind::UnexpectedEof)?);
        }
        let (start, bytes) = &*window;
        let from = (span.offset - start) as usize;
        Ok(bytes[from..from + span.length as usize].to_vec())
    }

    fn look(&self) -> io::Result<LogChange> {
        let found = self.connection.call_for(&self.address, |stored| stored.version())?.value;
        Ok(self.change_to(found))
    }

    fn refresh(&mut self) -> io::Result<LogChange> {
        let found = self.connection.call_for(&self.address, |stored| stored.version())?.value;
        let change = self.change_to(found);
        self.seen = found;
        if change != LogChange::Unchanged {
            *self.window.get_mut().unwrap() = (0, Vec::new());
        }
        Ok(change)
    }

    fn notify_changes(&mut self, notice: ChangeNotice) -> bool {
        let (client, notice) = (self.client, Arc::new(notice));
        let asked = self.connection.call_for(&self.address, |stored| {
            let notice = Arc::clone(&notice);
            stored.watch(client, Box::new(move || notice()));
        });
        asked.is_ok()
    }

    fn append(&mut self, Batch { lines, expected_end, .. }: Batch<'_>) -> Result<Span, LogError> {
        let (client, expected) = (self.client, Version { length: expected_end, ..self.seen });
        let request = |stored: &mut Stored| stored.append(client, expected, lines).map(|span| (span, stored.version()));
        // What an earlier try wrote lies where it was to be written, behind a line end that it added.
        let took_place = |stored: &Stored| {
            let is_there = |offset: &u64| {
                let span = Span { offset: *offset, length: lines.len() as u64 };
                stored.read(span).is_some_and(|found| found == lines.as_bytes())
            };
            let offset = [expected_end, expected_end + 1].into_iter().find(is_there)?;
            let span = Span { offset, length: lines.len() as u64 };
            let version = Version { generation: expected.generation, length: span.end() + 1 };
            Some((span, version))
        };
        let (span, version) = self.change(request, took_place)?;
        self.seen = version;
        Ok(span)
    }

    fn replace_all(
        &mut self,
        backup_suffix: &str,
        hold: usize,
        rewrite: &mut Rewrite<'_>,
    ) -> Result<Option<OldLog>, LogError> {
        let mut bytes = Vec::new();
        rewrite_lines(self, hold, rewrite, &mut bytes)?;
        let (client, seen) = (self.client, self.seen);
        let request = |stored: &mut Stored| {
            let old = stored.replace(client, seen, bytes.clone())?;
            Ok((Some(old), stored.version()))
        };
        let took_place = |stored: &Stored| (stored.bytes == bytes).then(|| (None, stored.version()));
        let (old, version) = self.change(request, took_place)?;
        if let Some(old) = old {
            self.connection.server.put(&format!("{}{backup_suffix}", self.address), &old);
        }
        self.seen = version;
        *self.window.get_mut().unwrap() = (0, Vec::new());
        Ok(None)
    }

    fn sync(&mut self) -> io::Result<()> {
        // The server answers once what was written is safe.
        Ok(())
    }

    fn sync_beside(&self) -> io::Result<SyncLog> {
        Ok(Box::new(|| Ok(())))
    }

    fn cut(&mut self, end: u64, length: u64) -> Result<(), LogError> {
        let (client, expected) = (self.client, Version { length: end, ..self.seen });
        let request = |stored: &mut Stored| stored.cut(client, expected, length);
        self.change(request, |stored| (stored.version().length == length).then_some(()))?;
        self.seen.length = length;
        *self.window.get_mut().unwrap() = (0, Vec::new());
        Ok(())
    }

    fn release(&mut self) {
        if std::mem::take(&mut self.is_writable) {
            self.connection.server.free_lease(&self.address, self.client);
        }
    }
}

impl Drop for RemoteLog {
    fn drop(&mut self) {
        self.release();
    }
}

/// The sessions on a server.
#[derive(Debug, Clone)]
pub(crate) struct RemoteStore {
    connection: Connection,
}

impl RemoteStore {
    /// The store on `server`, behind `network`.
    pub(crate) fn new(server: Arc<Server>, network: Arc<Network>) -> Self {
        Self { connection: Connection { server, network } }
    }

    /// Opens the log of a session.
    pub(crate) fn log(&self, locator: &Locator, read_only: bool) -> Result<RemoteLog, StoreError> {
        RemoteLog::open(&self.connection, locator, read_only)
    }

    fn create_from(&self, locator: &Locator, text: &[u8]) -> Result<Session, StoreError> {
        let exists = |sessions: &mut BTreeMap<String, Stored>| match sessions.get(&locator.to_string()) {
            Some(stored) => stored.bytes != text,
            None => {
                sessions.entry(locator.to_string()).or_default().bytes = text.to_vec();
                false
            }
        };
        match self.connection.call(exists) {
            Ok(Answer { value: false, .. }) => self.open(locator, &OpenOptions::default()),
            Ok(_) => Err(StoreError::AlreadyExists { locator: locator.clone() }),
            Err(source) => Err(StoreError::WriteFailed { locator: Some(locator.clone()), source }),
        }
    }

    /// All sessions, as they are now.
    fn all(&self) -> Result<Vec<(Locator, Session)>, StoreError> {
        let read = |sessions: &mut BTreeMap<String, Stored>| -> Vec<(String, Vec<u8>)> {
            sessions.iter().map(|(address, stored)| (address.clone(), stored.bytes.clone())).collect()
        };
        let failed = |source| StoreError::Io { action: "list", locator: Some(Locator::from(SCHEME)), source };
        let read = self.connection.call(read).map_err(failed)?.value;
        let opened = read.into_iter().filter_map(|(address, bytes)| {
            let session = Session::open(Box::new(MemoryLog::new(bytes)), SessionOptions::default()).ok()?;
            Some((Locator::from(&address), session))
        });
        Ok(opened.collect())
    }
}

impl SessionStore for RemoteStore {
    fn locate(&self, text: &str) -> Result<Locator, StoreError> {
        if text.starts_with(SCHEME) {
            return Ok(Locator::from(text));
        }
        let expected = format!("an address that begins with {SCHEME}");
        Err(StoreError::InvalidLocator { text: text.to_owned(), expected })
    }

    fn canonical(&self, locator: &Locator) -> Option<Locator> {
        let found = self.connection.call_for(&locator.to_string(), |_| ());
        found.is_ok().then(|| locator.clone())
    }

    fn create(&self, options: &CreateOptions) -> Result<Session, StoreError> {
        let header = options.header()?;
        let locator = options.locator.clone().unwrap_or_else(|| Locator::from(&format!("{SCHEME}{}", header.id)));
        let mut session = self.create_from(&locator, format!("{}\n", header.raw.get()).as_bytes())?;
        if let Some(name) = &options.name {
            session.set_name(name)?;
        }
        Ok(session)
    }

    fn discard(&self, session: Session) {
        if let Some(locator) = session.locator() {
            let address = locator.to_string();
            // Nobody is notified of what is left behind a network that is down.
            let _removed = self.connection.call(|sessions| drop(sessions.remove(&address)));
        }
    }

    fn open(&self, locator: &Locator, options: &OpenOptions) -> Result<Session, StoreError> {
        let header = CreateOptions { cwd: options.cwd.clone(), ..CreateOptions::default() }.header()?;
        let session_options = SessionOptions {
            read_only: options.read_only.then(|| "it was opened for reading".to_owned()),
            durability: Durability::Always,
            header_if_empty: Some(header),
            ..SessionOptions::default()
        };
        Session::open(Box::new(self.log(locator, options.read_only)?), session_options)
    }

    fn list_unless(&self, options: &ListOptions, _is_cancelled: &IsCancelled<'_>) -> Result<SessionPage, StoreError> {
        let mut sessions = Vec::new();
        for (locator, session) in self.all()? {
            if options.all || session.header().cwd == options.cwd {
                sessions.push(summary(locator, &session)?);
            }
        }
        let place = |summary: &SessionSummary| (-summary.modified, summary.locator.clone());
        sessions.sort_by_key(place);
        if let Some(cursor) = &options.cursor {
            sessions.retain(|summary| place(summary) > (-cursor.modified, cursor.locator.clone()));
        }
        let rest = sessions.split_off(options.limit.unwrap_or(usize::MAX).min(sessions.len()));
        let last = sessions.last().filter(|_| !rest.is_empty());
        let next = last.map(|last| Cursor { modified: last.modified, locator: last.locator.clone() });
        Ok(SessionPage { sessions, next })
    }

    fn search(
        &self,
        query: &SearchQuery,
        options: &SearchOptions,
        is_cancelled: &IsCancelled<'_>,
    ) -> Result<SearchHits, StoreError> {
        let mut parts = Vec::new();
        for (locator, session) in self.all()?.into_iter().filter(|(locator, _)| !options.skipped.contains(locator)) {
            let mut found = session.search(query, options.limit, &|| is_cancelled())?;
            found.hits.iter_mut().for_each(|hit| hit.locator = Some(locator.clone()));
            parts.push(found);
        }
        Ok(SearchHits::merge(parts, options.limit))
    }

    fn fork(&self, source: &Session, leaf: Option<&EntryId>) -> Result<Session, StoreError> {
        let text = source.fork_text(leaf)?;
        let session = Session::open(Box::new(MemoryLog::new(text.clone())), SessionOptions::default())?;
        self.create_from(&Locator::from(&format!("{SCHEME}{}", session.header().id)), &text)
    }
}

fn summary(locator: Locator, session: &Session) -> Result<SessionSummary, StoreError> {
    let (mut message_count, mut first_message, mut modified) = (0, String::new(), 0);
    for entry in session.entries(None, None)? {
        let EntryBody::Message(message) = entry.body() else { continue };
        message_count += 1;
        modified = entry.epoch_milliseconds().unwrap_or_default().max(modified);
        if let (Body::User { content }, true) = (message.body(), first_message.is_empty()) {
            first_message = content.text(" ").into_owned();
        }
    }
    let header = session.header();
    Ok(SessionSummary {
        locator,
        session_id: header.id.clone(),
        cwd: header.cwd.clone(),
        name: session.name()?.map(str::to_owned),
        parent_session: header.parent_session.clone(),
        created: header.timestamp.clone(),
        modified,
        message_count,
        first_message,
    })
}
