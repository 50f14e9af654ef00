//! `compactd import FILE|DIR`: sessions of the transcripts of other agents (docs/transcripts.md).
//!
//! The server creates the session, so ids and paths follow the same settings as always. The store appends the entries,
//! because no call of the protocol sets parents, ids and times.

mod sources;

use std::io::{self, BufRead as _, Read, Seek as _, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, UNIX_EPOCH};

use compaction_core::entry::{Entry, EntryId};
use compaction_core::json::RawObject;
use compaction_core::transcripts::{
    self, Agent, Existing, HEAD_BYTES, IMPORT_TYPE, Import, Imported, Report, Shape, Source, TranscriptError,
    earlier_import, is_imported,
};
use serde_json::{Value, json};
use session_store::log::{Batch, LogError, SessionLog as _, Span};
use session_store::{
    Durability, FileLog, FileStore, Locator, NewEntry, OpenOptions, Parent, Precondition, Session, SessionStore as _,
    StoreError, open_regular_file,
};

use self::sources::{Transcript, transcript_at, transcripts_in};
use super::arguments::ImportOptions;
use super::connection::{self, Connection, utf8};
use super::failure::Failure;
use super::terminal::{Terminal, count, one_line};

/// Bytes of one read.
const CHUNK: usize = 256 << 10;
/// Bytes of entries in one write.
const BATCH: usize = 4 << 20;
/// Number of unreadable records that the text report describes.
const SHOWN_PROBLEMS: usize = 3;
/// Maximum number of files that were passed over and that the text report names.
const SHOWN_FILES: usize = 10;
/// The same for the report as JSON.
const NAMED_FILES: usize = 100;
/// Files with transcripts of agents in a form that is not read: what they are, their first bytes, and what to do.
const CONTAINERS: [(&str, &[u8], &str); 5] = [
    (
        "an SQLite database",
        b"SQLite format 3\0",
        "For opencode, import what `opencode export SESSION` prints; for Cursor, a chat that Cursor exported as Markdown",
    ),
    ("zstd data", b"\x28\xb5\x2f\xfd", "Import what `zstd --decompress FILE` writes"),
    ("gzip data", b"\x1f\x8b", "Import what `gunzip --keep FILE` writes"),
    ("text in UTF-16", b"\xff\xfe", "Import what `iconv -f UTF-16 -t UTF-8 FILE` writes"),
    ("text in UTF-16", b"\xfe\xff", "Import what `iconv -f UTF-16 -t UTF-8 FILE` writes"),
];
/// Maximum bytes of a file, for a transcript of many files.
const MAX_FILE: u64 = 192 << 20;

/// How long an import waits for a lock.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(20);

/// Runs the command and writes its report to `output`.
pub(super) async fn run(options: &ImportOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let input = connection::Source::of(&options.path, false)?;
    let copy = Some(input.path().to_owned()).filter(|_| input.is_standard_input());
    let path = if copy.is_some() { input.name() } else { input.path() }.to_owned();
    let metadata = std::fs::metadata(input.path()).map_err(|source| Failure::File { path: path.clone(), source })?;
    if let Some(out) = &options.out {
        utf8(&std::path::absolute(out).map_err(|source| Failure::File { path: out.clone(), source })?)?;
    }
    let (found, others) = match metadata.is_dir() {
        _ if copy.is_some() => (vec![Transcript { path: path.clone(), copy, files: None }], Vec::new()),
        true => transcripts_in(&path)?,
        false => (vec![transcript_at(&path)], Vec::new()),
    };
    if let Some(out) = options.out.as_ref().filter(|out| is_new_directory(out, &found, &path)) {
        std::fs::create_dir_all(out).map_err(|source| Failure::File { path: out.clone(), source })?;
    }
    let connection = Connection::start(&path, json!({})).await?;
    let outcome = import_all(&connection, &found, options, metadata.is_dir()).await;
    // A killed server leaves its locks behind, so it is shut down after a failure too.
    let ended = connection.shutdown().await;
    let outcomes = outcome?;
    // Those that were read come first: one of them may be a transcript all the same.
    let read =
        outcomes.iter().filter(|outcome| outcome["status"] == "skipped").map(|outcome| outcome["source"].clone());
    let passed_over: Vec<Value> = read.chain(others.iter().map(|path| json!(path.to_string_lossy()))).collect();
    let sessions: Vec<&Value> = outcomes.iter().filter(|outcome| outcome["status"] != "skipped").collect();
    let failed = outcomes.iter().filter(|outcome| outcome["status"] == "failed").count();
    let failure = |data| {
        let text = format!("{failed} of {} transcripts could not be imported", sessions.len());
        Failure::Transcript { text, data }
    };
    let text = if options.json {
        let named = &passed_over[..passed_over.len().min(NAMED_FILES)];
        let report = json!({ "sessions": sessions, "skipped": passed_over.len(), "skippedFiles": named });
        if failed > 0 {
            return Err(failure(report));
        }
        report.to_string()
    } else {
        let mut parts: Vec<String> = sessions.iter().map(|outcome| described(outcome, terminal)).collect();
        if metadata.is_dir() {
            let transcripts = count(sessions.len() as u64, "transcript");
            parts.push(format!("{transcripts}; {}", described_files(&passed_over)));
        }
        parts.join("\n")
    };
    writeln!(output, "{text}").map_err(Failure::Output)?;
    ended?;
    if failed > 0 { Err(failure(Value::Null)) } else { Ok(()) }
}

/// Imports each transcript. In a directory, a failure does not stop the other imports.
async fn import_all(
    connection: &Connection,
    found: &[Transcript],
    options: &ImportOptions,
    is_directory: bool,
) -> Result<Vec<Value>, Failure> {
    let mut outcomes = Vec::new();
    for transcript in found {
        match import_one(connection, transcript, options).await {
            Ok(outcome) => outcomes.push(outcome),
            Err(failure) if is_directory => outcomes.push(outcome_of(&failure, transcript)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(outcomes)
}

/// Whether `out` does not exist yet and has to be a directory: its name says so, or the source is a directory that is
/// not one transcript itself.
fn is_new_directory(out: &Path, found: &[Transcript], source: &Path) -> bool {
    let is_named_so = out.as_os_str().to_string_lossy().ends_with(std::path::is_separator);
    let is_one = matches!(found, [transcript] if transcript.path == source);
    !found.is_empty() && (is_named_so || !is_one) && out.symlink_metadata().is_err()
}

/// The number of files that were passed over, and the names of some.
fn described_files(files: &[Value]) -> String {
    let name = |file: &Value| format!("\n  {}", one_line(file.as_str().unwrap_or_default()));
    let names: String = files.iter().take(SHOWN_FILES).map(name).collect();
    let more = files.len().saturating_sub(SHOWN_FILES);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    let colon = if files.is_empty() { "" } else { ":" };
    format!("{} passed over{colon}{names}{more}", count(files.len() as u64, "other file"))
}

/// The directory of a file. Every path to it gives the same directory, because conversations without an id have it in
/// theirs.
fn directory_of(path: &Path) -> PathBuf {
    // That of standard input is the present one.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let directory = path.parent().unwrap_or(Path::new("/"));
    directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
}

/// The failure of one transcript in the report about a directory.
fn outcome_of(failure: &Failure, transcript: &Transcript) -> Value {
    let error = failure.to_json()["error"].clone();
    let status = match error["data"]["kind"].as_str() {
        Some("notATranscript" | "noMessages") => "skipped",
        Some("alreadyImported") => "exists",
        _ => "failed",
    };
    json!({ "source": transcript.path.to_string_lossy(), "status": status, "error": error })
}

/// Imports one transcript. Returns its part of the report.
async fn import_one(
    connection: &Connection,
    transcript: &Transcript,
    options: &ImportOptions,
) -> Result<Value, Failure> {
    utf8(&transcript.path)?;
    let first = transcript.content();
    let failed = |source| Failure::File { path: first.to_owned(), source };
    let mut file = open_regular_file(first).map_err(failed)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
    if let Some(failure) = unread_container(&head, &transcript.path) {
        return Err(failure);
    }
    let known = transcript.files.as_ref().map(|(agent, _)| *agent).or(options.format);
    let agent = known.or_else(|| transcripts::detect(&head)).ok_or_else(|| not_a_transcript(&transcript.path))?;
    let name = match transcript.copy {
        // Standard input has no name, so its start is used instead.
        Some(_) => transcripts::digest_of(&head),
        None => transcript.path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let directory = directory_of(&transcript.path).to_string_lossy().into_owned();
    let mut source = transcripts::identify(agent, &head, &name, &directory);
    if transcript.files.is_some() {
        source.shape = Shape::Files;
    }
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let time = modified.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    let mut id = if agent == Agent::Pi { source.id.clone() } else { source.session_id() };
    // Two imports at once would each create the session.
    let _lock = lock_of(&directory_of(&transcript.path));
    // A transcript that cannot be read leaves no session behind.
    let report = if agent == Agent::Pi { Some(report_of(connection, first, &transcript.path).await?) } else { None };
    let mut target = target(connection, transcript, &source, &id, options).await?;
    file.rewind().map_err(failed)?;
    let (report, added) = match report {
        Some(report) => (report, copy(file, &target, transcript)?),
        None if target.is_new && options.update => {
            let earlier = transcripts::earlier_sources(&source, &name, &directory);
            let updated = update_earlier(connection, &target, &earlier, &file, transcript, time).await;
            if updated.is_err() {
                // It is still empty. If it stayed, the next update would not look for the earlier session.
                let _removed = std::fs::remove_file(&target.path);
            }
            match updated? {
                Some((earlier, written)) => {
                    (id, target) = earlier;
                    written
                }
                None => write_session(&target, &source, &file, transcript, time)?,
            }
        }
        None => write_session(&target, &source, &file, transcript, time)?,
    };
    let status = if target.is_new || target.is_unfinished {
        "imported"
    } else if added > 0 {
        "updated"
    } else {
        "unchanged"
    };
    let problem = |(record, message): &(u64, String)| json!({ "record": record, "message": message });
    Ok(json!({
        "source": transcript.path,
        "status": status,
        "format": agent.name(),
        "sessionId": id,
        "path": target.path,
        "records": report.records,
        "bytes": report.bytes,
        "messages": report.messages,
        "toolCalls": report.tool_calls,
        "toolResults": report.tool_results,
        "compactions": report.compactions,
        "branches": report.branches,
        "sidechainRecords": report.sidechains,
        "unreadableRecords": report.unreadable,
        "unknownKinds": report.unknown,
        "missingParents": report.missing_parents,
        "problems": report.problems.iter().map(problem).collect::<Vec<_>>(),
        "entriesAdded": added,
    }))
}

/// The session file of an import.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    /// Whether it is still empty.
    is_new: bool,
    /// Whether it has only a part of the transcript, because an import was interrupted.
    is_unfinished: bool,
}

/// Creates the session, or finds the session of an earlier import.
async fn target(
    connection: &Connection,
    transcript: &Transcript,
    source: &Source,
    id: &str,
    options: &ImportOptions,
) -> Result<Target, Failure> {
    let mut params = json!({ "sessionId": id });
    if let Some(cwd) = source.cwd.as_ref().filter(|cwd| Path::new(cwd).is_absolute()) {
        params["cwd"] = json!(cwd);
    }
    let absolute =
        |out: &PathBuf| std::path::absolute(out).map_err(|source| Failure::File { path: out.clone(), source });
    match options.out.as_ref().map(absolute).transpose()? {
        Some(out) if out.is_dir() => params["sessionDir"] = json!(out),
        Some(out) if out.symlink_metadata().is_ok() => return existing(out, transcript, id, options),
        Some(out) => params["path"] = json!(out),
        None => {}
    }
    match connection.call("createSession", &params).await {
        Ok(session) => {
            connection.call("closeSession", &json!({ "sessionId": id })).await?;
            let path = PathBuf::from(session["path"].as_str().unwrap_or_default());
            Ok(Target { path, is_new: true, is_unfinished: false })
        }
        Err(Failure::Answered { data, .. }) if data["kind"] == "sessionIdInUse" && data["path"].is_string() => {
            existing(PathBuf::from(data["path"].as_str().unwrap_or_default()), transcript, id, options)
        }
        Err(failure) => Err(failure),
    }
}

/// Updates the session that an earlier version made of the transcript, beside the new session of `target`, which is then
/// removed. Earlier versions gave other ids to conversations that name none. Returns nothing if there is no such session,
/// or if it is of another conversation.
async fn update_earlier(
    connection: &Connection,
    target: &Target,
    earlier: &[Source],
    file: &std::fs::File,
    transcript: &Transcript,
    time: i64,
) -> Result<Option<((String, Target), (Report, u64))>, Failure> {
    let mut params = json!({ "sessionDir": target.path.parent(), "all": true });
    while !earlier.is_empty() {
        let page = connection.call("listSessions", &params).await?;
        for session in page["sessions"].as_array().into_iter().flatten() {
            let (id, path) = (session["sessionId"].as_str().unwrap_or_default(), session["path"].as_str());
            let Some(source) = earlier.iter().find(|source| source.session_id() == id) else { continue };
            let path = PathBuf::from(path.unwrap_or_default());
            let found = Target { path, is_new: false, is_unfinished: false };
            let mut file = file;
            file.rewind().map_err(|source| Failure::File { path: transcript.path.clone(), source })?;
            match write_session(&found, source, file, transcript, time) {
                Ok(written) => {
                    // It is still empty.
                    let _removed = std::fs::remove_file(&target.path);
                    return Ok(Some(((id.to_owned(), found), written)));
                }
                Err(Failure::Transcript { data, .. })
                    if ["transcriptChanged", "transcriptShrunk"].iter().any(|kind| data["kind"] == *kind) => {}
                Err(failure) => return Err(failure),
            }
        }
        match page["nextCursor"].as_str() {
            Some(cursor) => params["cursor"] = json!(cursor),
            None => break,
        }
    }
    let mut file = file;
    file.rewind().map_err(|source| Failure::File { path: transcript.path.clone(), source })?;
    Ok(None)
}

/// Accepts an existing session with `--update`, or to continue where an interrupted import ended.
fn existing(path: PathBuf, transcript: &Transcript, id: &str, options: &ImportOptions) -> Result<Target, Failure> {
    if options.update {
        return Ok(Target { path, is_new: false, is_unfinished: false });
    }
    let (is_new, is_unfinished) = what_is_missing(&path, transcript, id)?;
    if is_new || is_unfinished {
        return Ok(Target { path, is_new, is_unfinished });
    }
    let text = format!("{} exists; --update adds what is new to it", shown(&path));
    let data = json!({ "kind": "alreadyImported", "file": transcript.path, "sessionId": id, "path": path });
    Err(Failure::Transcript { text: format!("{}: {text}", shown(&transcript.path)), data })
}

/// Whether an existing session has no entries, and whether it has entries of an import but not the one that ends it.
fn what_is_missing(path: &Path, transcript: &Transcript, id: &str) -> Result<(bool, bool), Failure> {
    let failed = |error: StoreError| failure_of_store(path, &error);
    if path.canonicalize().is_ok_and(|path| transcript.path.canonicalize().is_ok_and(|source| source == path)) {
        return Ok((false, false));
    }
    let options = OpenOptions { read_only: true, ..OpenOptions::default() };
    let store = FileStore::new(PathBuf::new(), Durability::None);
    let session = store.open(&Locator::from(path.to_owned()), &options).map_err(failed)?;
    check_id(&session, id, transcript)?;
    let ends_import =
        |id: &EntryId| is_imported(id) && session.entry(id).is_ok_and(|entry| import_of(&entry).is_some());
    if session.leaf_id().is_some_and(ends_import) {
        // Most sessions end so. The store reads only their end.
        return Ok((false, false));
    }
    let (mut is_empty, mut is_unfinished) = (true, false);
    let visit = |entry: Result<&Entry, &StoreError>| {
        is_empty = false;
        let Some(entry) = entry.ok().filter(|entry| is_imported(entry.id())) else { return ControlFlow::Continue(()) };
        is_unfinished = import_of(entry).is_none();
        if is_unfinished { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    session.for_each_entry(visit).map_err(failed)?;
    Ok((is_empty, is_unfinished))
}

/// Writes the session and syncs it. Returns the counts and the number of added entries.
fn write_session(
    target: &Target,
    source: &Source,
    file: &std::fs::File,
    transcript: &Transcript,
    time: i64,
) -> Result<(Report, u64), Failure> {
    let failed = |error: StoreError| failure_of_store(&transcript.path, &error);
    // One sync at the end is enough. Each branch would cause its own.
    let store = FileStore::new(PathBuf::new(), Durability::None);
    let locator = Locator::from(target.path.clone());
    let mut session = waiting_for_lock(|| store.open(&locator, &OpenOptions::default())).map_err(failed)?;
    // Another import may have filled the session before this one locked it.
    let was_empty = target.is_new && session.leaf_id().is_none();
    let written = check_id(&session, &source.session_id(), transcript)
        .and_then(|()| write(&mut session, source, file, transcript, time))
        .and_then(|written| session.sync().map(|()| written).map_err(failed));
    if written.is_err() && was_empty {
        // The lock is held, so nobody else has written to the session.
        let _removed = std::fs::remove_file(&target.path);
    }
    session.close().map_err(failed)?;
    written
}

/// Waits for other imports of transcripts in this directory, and keeps them out. Returns nothing where directories cannot
/// be locked, or if the wait takes too long.
fn lock_of(directory: &Path) -> Option<std::fs::File> {
    let directory = std::fs::File::open(directory).ok()?;
    let started = Instant::now();
    loop {
        match directory.try_lock() {
            Ok(()) => return Some(directory),
            Err(std::fs::TryLockError::WouldBlock) if started.elapsed() < LOCK_WAIT => std::thread::sleep(LOCK_POLL),
            Err(_) => return None,
        }
    }
}

/// Opens a session, after the import that has locked it. An agent that calls several tools at once imports its
/// transcript several times.
fn waiting_for_lock<T>(open: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let started = Instant::now();
    loop {
        match open() {
            Err(StoreError::Locked { .. }) if started.elapsed() < LOCK_WAIT => std::thread::sleep(LOCK_POLL),
            outcome => return outcome,
        }
    }
}

fn check_id(session: &Session, id: &str, transcript: &Transcript) -> Result<(), Failure> {
    let found = &session.header().id;
    if found == id {
        return Ok(());
    }
    let text = format!("{}: the session file holds {}, not {id}", shown(&transcript.path), one_line(found));
    let data = json!({ "kind": "otherSession", "file": transcript.path, "sessionId": id, "found": found });
    Err(Failure::Transcript { text, data })
}

/// Writes the missing entries. Returns the counts and the number of added entries.
fn write(
    session: &mut Session,
    source: &Source,
    file: &std::fs::File,
    transcript: &Transcript,
    time: i64,
) -> Result<(Report, u64), Failure> {
    let (existing, tip, copies) = existing_entries(session, transcript)?;
    let is_update = !existing.imports.is_empty();
    let mut import = Import::new(source, time, existing).ok_or_else(|| not_a_transcript(&transcript.path))?;
    let mut writer = Writer { session, transcript, tip, copies, batch: Vec::new(), bytes: 0, added: 0 };
    let failed = |error| failure_of_transcript(&transcript.path, source, &error);
    match &transcript.files {
        Some((_, files)) => {
            for (name, path) in files {
                let content = session_store::read_regular_file(path, MAX_FILE);
                let content = content.map_err(|source| Failure::File { path: path.clone(), source })?;
                import.file(name, content).map_err(failed)?;
                writer.take(&mut import)?;
            }
        }
        None => {
            let mut reader = io::BufReader::with_capacity(CHUNK, file);
            loop {
                let chunk = reader.fill_buf();
                let chunk = chunk.map_err(|source| Failure::File { path: transcript.path.clone(), source })?;
                if chunk.is_empty() {
                    break;
                }
                import.feed(chunk).map_err(failed)?;
                let length = chunk.len();
                reader.consume(length);
                writer.take(&mut import)?;
            }
        }
    }
    import.end().map_err(failed)?;
    writer.take(&mut import)?;
    let has_speaker = import.report().messages > import.report().guessed;
    if !is_update && !has_speaker && !is_empty_conversation(file, source, import.report()) {
        return Err(no_messages(&transcript.path, source));
    }
    if writer.has_entries() || !is_update {
        writer.push(import.mark());
    }
    writer.flush()?;
    Ok((import.report().clone(), writer.added))
}

/// Whether a transcript without messages is a conversation in which nobody has said anything: an empty file, or one in
/// the agent's form in which everything was understood.
fn is_empty_conversation(mut file: &std::fs::File, source: &Source, report: &Report) -> bool {
    if source.shape == Shape::Files {
        return true;
    }
    let mut head = Vec::new();
    let read = file.rewind().and_then(|()| file.take(HEAD_BYTES as u64).read_to_end(&mut head));
    let is_understood = report.unreadable == 0 && report.unknown.is_empty();
    let words = head.split(u8::is_ascii_whitespace).flatten().take(3).copied().collect::<Vec<u8>>();
    let is_bare = [&b""[..], b"[]", b"{}"].contains(&&words[..]);
    read.is_ok() && (is_bare || (is_understood && transcripts::detect(&head) == Some(source.agent)))
}

/// Reads the ids and imports of the session. Also returns the last entry of the last import, and the copies of the
/// entry that ended this import. An undo makes such copies.
fn existing_entries(
    session: &Session,
    transcript: &Transcript,
) -> Result<(Existing, Option<EntryId>, Vec<EntryId>), Failure> {
    let (mut existing, mut tip) = (Existing::default(), None);
    let mut copies: Vec<EntryId> = Vec::new();
    let visit = |entry: Result<&Entry, &StoreError>| {
        if let Ok(entry) = entry {
            existing.ids.insert(entry.id().as_str().to_owned());
            match import_of(entry) {
                Some((earlier, end)) if is_imported(entry.id()) => {
                    existing.imports.push(earlier);
                    tip = end;
                    copies.clear();
                }
                Some((_, end)) if end == tip => copies.push(entry.id().clone()),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    };
    session.for_each_entry(visit).map_err(|error| failure_of_store(&transcript.path, &error))?;
    Ok((existing, tip, copies))
}

fn import_of(entry: &Entry) -> Option<(transcripts::Earlier, Option<EntryId>)> {
    let line = entry.line();
    if entry.kind_name() != "custom" || !line.contains(IMPORT_TYPE) {
        return None;
    }
    let entry = RawObject::parse(&line).ok()?;
    entry.string("customType").filter(|kind| kind == IMPORT_TYPE)?;
    earlier_import(entry.get("data")?)
}

/// Appends entries in large writes.
struct Writer<'a> {
    session: &'a mut Session,
    transcript: &'a Transcript,
    /// The last entry of the previous import.
    tip: Option<EntryId>,
    /// Copies of the entry that ended the previous import.
    copies: Vec<EntryId>,
    batch: Vec<Imported>,
    bytes: usize,
    added: u64,
}

impl Writer<'_> {
    fn has_entries(&self) -> bool {
        self.added > 0 || !self.batch.is_empty()
    }

    fn push(&mut self, entry: Imported) {
        self.bytes += entry.members.len();
        self.batch.push(entry);
    }

    fn take(&mut self, import: &mut Import) -> Result<(), Failure> {
        for entry in import.take() {
            self.push(entry);
            // Another conversation may have the name of this one. Nothing of it is written.
            if self.bytes >= BATCH && import.is_checked() {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the entries. One write has a run of entries in which each is the parent of the next.
    fn flush(&mut self) -> Result<(), Failure> {
        let batch = std::mem::take(&mut self.batch);
        self.bytes = 0;
        for run in batch.chunk_by(|one, next| next.parent.as_ref() == Some(&one.id)) {
            let entries: Vec<NewEntry<'_>> = run
                .iter()
                .map(|entry| NewEntry {
                    id: Some(entry.id.clone()),
                    timestamp: Some(entry.timestamp),
                    ..NewEntry::new(entry.kind, &entry.members)
                })
                .collect();
            let appended = self
                .parent_of(&run[0])
                .and_then(|parent| self.session.append_all(&entries, Parent::At(parent), &Precondition::None));
            appended.map_err(|error| failure_of_store(&self.transcript.path, &error))?;
            self.added += run.len() as u64;
        }
        Ok(())
    }

    /// The parent of a run. A run that continues the previous import follows the entries that were appended since,
    /// such as a compaction, also where they are a copy of it.
    fn parent_of(&mut self, first: &Imported) -> Result<Option<EntryId>, StoreError> {
        if let Some(tip) = self.tip.take_if(|tip| first.parent.as_ref() == Some(tip))
            && let Some(leaf) = self.session.leaf_id()
        {
            for place in self.copies.iter().rev().chain([&tip]) {
                if self.session.is_on_branch(place, Some(leaf))? {
                    return Ok(Some(leaf.clone()));
                }
            }
        }
        Ok(first.parent.clone())
    }
}

/// Counts the contents of a session file of pi. Errors give it the name `name`.
async fn report_of(connection: &Connection, path: &Path, name: &Path) -> Result<Report, Failure> {
    let params = json!({ "path": path, "readOnly": true });
    let session = connection.call_for_file(name, "openSession", &params).await?;
    let id = json!({ "sessionId": session["sessionId"] });
    let stats = connection.call("getSessionStats", &id).await;
    let checked = connection.call("checkSession", &id).await;
    connection.call("closeSession", &id).await?;
    let (stats, checked) = (stats?, checked?);
    let number = |key: &str| stats[key].as_u64().unwrap_or_default();
    let diagnostics = checked["diagnostics"].as_array().map_or(&[][..], Vec::as_slice);
    let problem = |diagnostic: &Value| {
        let message = diagnostic["message"].as_str().unwrap_or_default().to_owned();
        (diagnostic["line"].as_u64().unwrap_or_default(), message)
    };
    Ok(Report {
        records: number("entryCount") + 1,
        messages: number("messageCount"),
        tool_calls: number("toolCalls"),
        tool_results: number("toolResults"),
        compactions: number("compactions"),
        unreadable: diagnostics.len() as u64,
        problems: diagnostics.iter().map(problem).collect(),
        ..Report::default()
    })
}

/// Copies the missing lines of a session file of pi, byte for byte. Returns the number of added lines.
fn copy(mut file: std::fs::File, target: &Target, transcript: &Transcript) -> Result<u64, Failure> {
    let failed = |source| Failure::File { path: transcript.path.clone(), source };
    let failed_store = |error: StoreError| failure_of_store(&transcript.path, &error);
    // The lock comes first. No other program writes between the comparison and the append.
    let mut log = waiting_for_lock(|| FileLog::open(&target.path)).map_err(failed_store)?.log;
    let added = if target.is_new && lines_of(&log).map_err(failed)? == 1 {
        // The created file has a header of its own, so the copy replaces it.
        let copied = copy_whole(&mut file, target, transcript);
        if copied.is_err() {
            // The lock is held, so nobody else has written to the session.
            let _removed = std::fs::remove_file(&target.path);
        }
        copied
    } else {
        continue_copy(file, &mut log, target, transcript)
    };
    log.release();
    added
}

/// Replaces the file of `target` by the lines of `file`. Returns their number.
fn copy_whole(file: &mut std::fs::File, target: &Target, transcript: &Transcript) -> Result<u64, Failure> {
    let failed = |source| Failure::File { path: transcript.path.clone(), source };
    let unwritten = |source| Failure::File { path: target.path.clone(), source };
    let directory = target.path.parent().unwrap_or(Path::new("/"));
    let mut beside = tempfile::NamedTempFile::new_in(directory).map_err(unwritten)?;
    let mut reader = io::BufReader::with_capacity(CHUNK, file);
    let (mut lines, mut line) = (0, Vec::new());
    while let Some(complete) = next_line(&mut reader, &mut line).map_err(failed)? {
        beside.write_all(complete).and_then(|()| beside.write_all(b"\n")).map_err(unwritten)?;
        lines += 1;
    }
    beside.as_file().sync_all().map_err(unwritten)?;
    beside.persist(&target.path).map_err(|error| unwritten(error.error))?;
    Ok(lines)
}

/// Appends the lines of `file` after those of `log`. Returns their number.
fn continue_copy(
    file: std::fs::File,
    log: &mut FileLog,
    target: &Target,
    transcript: &Transcript,
) -> Result<u64, Failure> {
    let failed = |source| Failure::File { path: transcript.path.clone(), source };
    let unwritten = |source| Failure::File { path: target.path.clone(), source };
    let failed_log = |error: LogError| unwritten(io::Error::other(error));
    let mut reader = io::BufReader::with_capacity(CHUNK, file);
    let Some(end) = start_of_rest(&mut reader, log).map_err(failed)? else {
        let text = format!("{}: the session at {} is no start of it", shown(&transcript.path), shown(&target.path));
        let data = json!({ "kind": "transcriptChanged", "file": transcript.path, "path": target.path });
        return Err(Failure::Transcript { text, data });
    };
    let mut line = Vec::new();
    let (mut is_text, mut lines) = (true, 0);
    reader.seek(SeekFrom::Start(end)).map_err(failed)?;
    while let Some(complete) = next_line(&mut reader, &mut line).map_err(failed)? {
        is_text &= std::str::from_utf8(complete).is_ok();
        lines += 1;
    }
    if !is_text {
        // A log appends text only.
        reader.rewind().map_err(failed)?;
        return copy_whole(reader.get_mut(), target, transcript).map(|_| lines);
    }
    if end < log.length() {
        // The transcript has the bytes of the incomplete line.
        log.cut(log.length(), end).map_err(failed_log)?;
    }
    reader.seek(SeekFrom::Start(end)).map_err(failed)?;
    let mut added = 0;
    while let Some(Ok(complete)) = next_line(&mut reader, &mut line).map_err(failed)?.map(std::str::from_utf8) {
        let batch = Batch { lines: complete, expected_end: log.length(), sync: false };
        log.append(batch).map_err(failed_log)?;
        added += 1;
    }
    log.sync().map_err(unwritten)?;
    Ok(added)
}

/// The next line of a session file, without its line end. A last line without a line end counts if it is complete.
fn next_line<'a>(reader: &mut impl io::BufRead, line: &'a mut Vec<u8>) -> io::Result<Option<&'a [u8]>> {
    line.clear();
    reader.read_until(b'\n', line)?;
    let is_object = |line: &[u8]| std::str::from_utf8(line).is_ok_and(|line| RawObject::parse(line).is_ok());
    match line.strip_suffix(b"\n") {
        Some(complete) => Ok(Some(complete)),
        None => Ok(Some(&line[..]).filter(|line| is_object(line))),
    }
}

/// Where the lines of `whole` begin that are not in `log`. `None` if `whole` does not begin with the lines of `log`.
fn start_of_rest(whole: &mut impl Read, log: &FileLog) -> io::Result<Option<u64>> {
    let (mut offset, mut end) = (0, 0);
    let mut found = Vec::new();
    while offset < log.length() {
        let length = (log.length() - offset).min(CHUNK as u64);
        let expected = log.read(Span { offset, length })?;
        found.clear();
        whole.by_ref().take(length).read_to_end(&mut found)?;
        if let Some(at) = memchr::memrchr(b'\n', &expected) {
            end = offset + at as u64 + 1;
        }
        offset += length;
        // The copy ends its last line, also if the transcript does not.
        let is_last_end = offset == log.length() && expected.strip_suffix(b"\n") == Some(&found);
        if found != expected && !is_last_end {
            return Ok(None);
        }
    }
    Ok(Some(end))
}

fn lines_of(log: &FileLog) -> io::Result<usize> {
    let mut lines = 0;
    let mut offset = 0;
    while offset < log.length() {
        let length = (log.length() - offset).min(CHUNK as u64);
        lines += memchr::memchr_iter(b'\n', &log.read(Span { offset, length })?).count();
        offset += length;
    }
    Ok(lines)
}

/// The failure for a file that may contain transcripts in a form that is not read.
fn unread_container(head: &[u8], path: &Path) -> Option<Failure> {
    let (container, advice) =
        CONTAINERS.iter().find(|(_, start, _)| head.starts_with(start)).map(|found| (found.0, found.2))?;
    let text = format!("{}: {container}, which is not read. {advice}", shown(path));
    Some(Failure::Transcript {
        text,
        data: json!({ "kind": "transcriptNotReadable", "file": path, "container": container }),
    })
}

fn not_a_transcript(path: &Path) -> Failure {
    let names = Agent::names().collect::<Vec<_>>();
    let text = format!(
        "{}: no transcript that compactd knows by its first bytes; --format names one of {}",
        shown(path),
        names.join(", ")
    );
    Failure::Transcript { text, data: json!({ "kind": "notATranscript", "file": path, "formats": names }) }
}

fn no_messages(path: &Path, source: &Source) -> Failure {
    let format = source.agent.name();
    let text = format!("{}: no message was found in it as a transcript of the format {format}", shown(path));
    Failure::Transcript { text, data: json!({ "kind": "noMessages", "file": path, "format": format }) }
}

fn failure_of_transcript(path: &Path, source: &Source, error: &TranscriptError) -> Failure {
    let record = if source.shape == Shape::Lines || source.shape == Shape::Text { "line" } else { "record" };
    let mut data = match error {
        TranscriptError::TooLong { record, limit } => {
            json!({ "kind": "recordTooLong", "record": record, "limit": limit })
        }
        TranscriptError::Changed { records } => json!({ "kind": "transcriptChanged", "records": records }),
        TranscriptError::Shrunk { records, found } => {
            json!({ "kind": "transcriptShrunk", "records": records, "found": found })
        }
    };
    data["file"] = json!(path);
    let text = format!("{}: {}. Nothing was added", shown(path), error.to_string().replace("record", record));
    Failure::Transcript { text, data }
}

fn failure_of_store(path: &Path, error: &StoreError) -> Failure {
    let mut text = format!("{}: failed to {error}", shown(path));
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    Failure::Transcript { text, data: json!({ "kind": "storeFailed", "file": path }) }
}

fn shown(path: &Path) -> String {
    one_line(&path.display().to_string())
}

/// One part of the report as text.
fn described(outcome: &Value, terminal: Terminal) -> String {
    let text = |key: &str| one_line(outcome[key].as_str().unwrap_or_default());
    let number = |key: &str| outcome[key].as_u64().unwrap_or_default();
    let title = format!("{} {}", text("status"), text("source"));
    if let Some(message) = outcome["error"]["message"].as_str() {
        return format!("{}\n  {}", terminal.bold(&title), one_line(message));
    }
    let mut lines = vec![terminal.bold(&title), format!("  {}", text("path"))];
    lines.push(format!(
        "  {}: {}, {}, {}",
        text("format"),
        count(number("messages"), "message"),
        count(number("toolCalls"), "tool call"),
        count(number("toolResults"), "tool result"),
    ));
    lines.push(format!(
        "  {} kept, {} added",
        count(number("records"), "record"),
        count(number("entriesAdded"), "entry")
    ));
    let more = [
        ("compactions", "compaction"),
        ("branches", "branch"),
        ("sidechainRecords", "subagent record"),
        ("missingParents", "unknown parent"),
    ];
    let more = more.iter().map(|(key, noun)| (number(key), noun)).filter(|(number, _)| *number > 0);
    let more: Vec<String> = more.map(|(number, noun)| count(number, noun)).collect();
    if !more.is_empty() {
        lines.push(format!("  {}", more.join(", ")));
    }
    if let Some(kinds) = outcome["unknownKinds"].as_object().filter(|kinds| !kinds.is_empty()) {
        let kinds: Vec<String> = kinds.iter().map(|(kind, times)| format!("{} ({times})", one_line(kind))).collect();
        lines.push(format!("  kept without being understood: {}", kinds.join(", ")));
    }
    let problems = outcome["problems"].as_array().map_or(&[][..], Vec::as_slice);
    if number("unreadableRecords") > 0 {
        let problem = |problem: &Value| {
            let message = one_line(problem["message"].as_str().unwrap_or_default());
            format!("record {}: {message}", problem["record"])
        };
        let shown: Vec<String> = problems.iter().take(SHOWN_PROBLEMS).map(problem).collect();
        let records = count(number("unreadableRecords"), "unreadable record");
        lines.push(format!("  {records} kept unchanged: {}", shown.join("; ")));
    }
    lines.join("\n")
}
