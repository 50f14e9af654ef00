//! `compactd import FILE|DIR`: sessions of the transcripts of other agents (docs/transcripts.md).
//!
//! The server creates the session, so ids and paths follow the same settings as always. The store appends the entries,
//! because no call of the protocol sets parents, ids and times.

mod sources;

use std::io::{self, BufRead as _, Read, Seek as _, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use compaction_core::entry::{Entry, EntryId};
use compaction_core::json::RawObject;
use compaction_core::transcripts::{
    self, Agent, Existing, HEAD_BYTES, IMPORT_TYPE, Import, Imported, Report, Shape, Source, TranscriptError,
    earlier_import,
};
use serde_json::{Value, json};
use session_store::log::{Batch, SessionLog as _};
use session_store::{
    Durability, FileLog, FileStore, Locator, NewEntry, OpenOptions, Parent, Precondition, Session, SessionStore as _,
    StoreError, open_regular_file,
};

use self::sources::{Transcript, transcript_at, transcripts_in};
use super::arguments::ImportOptions;
use super::connection::Connection;
use super::failure::Failure;
use super::terminal::{Terminal, count, one_line};

/// Bytes of one read.
const CHUNK: usize = 256 << 10;
/// Bytes of entries in one write.
const BATCH: usize = 4 << 20;
/// Number of unreadable records that the text report describes.
const SHOWN_PROBLEMS: usize = 3;
/// Maximum bytes of a file, for a transcript of many files.
const MAX_FILE: u64 = 192 << 20;

/// Runs the command and writes its report to `output`.
pub(super) async fn run(options: &ImportOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let path = std::path::absolute(&options.path);
    let path = path.map_err(|source| Failure::File { path: options.path.clone(), source })?;
    let metadata = std::fs::metadata(&path).map_err(|source| Failure::File { path: path.clone(), source })?;
    let (found, skipped) = if metadata.is_dir() { transcripts_in(&path)? } else { (vec![transcript_at(&path)], 0) };
    let connection = Connection::start(&options.path, json!({})).await?;
    let outcome = import_all(&connection, &found, options, metadata.is_dir()).await;
    // A killed server leaves its locks behind, so it is shut down after a failure too.
    let ended = connection.shutdown().await;
    let outcomes = outcome?;
    let skipped = skipped + outcomes.iter().filter(|outcome| outcome["status"] == "skipped").count();
    let sessions: Vec<&Value> = outcomes.iter().filter(|outcome| outcome["status"] != "skipped").collect();
    let failed = outcomes.iter().filter(|outcome| outcome["status"] == "failed").count();
    let failure = |data| {
        let text = format!("{failed} of {} transcripts could not be imported", sessions.len());
        Failure::Transcript { text, data }
    };
    let text = if options.json {
        let report = json!({ "sessions": sessions, "skipped": skipped });
        if failed > 0 {
            return Err(failure(report));
        }
        report.to_string()
    } else {
        let mut parts: Vec<String> = sessions.iter().map(|outcome| described(outcome, terminal)).collect();
        if metadata.is_dir() {
            let transcripts = count(sessions.len() as u64, "transcript");
            parts.push(format!("{transcripts}; {} passed over", count(skipped as u64, "other file")));
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

/// The failure of one transcript in the report about a directory.
fn outcome_of(failure: &Failure, transcript: &Transcript) -> Value {
    let error = failure.to_json()["error"].clone();
    let status = match error["data"]["kind"].as_str() {
        Some("notATranscript") => "skipped",
        Some("alreadyImported") => "exists",
        _ => "failed",
    };
    json!({ "source": transcript.path, "status": status, "error": error })
}

/// Imports one transcript. Returns its part of the report.
async fn import_one(
    connection: &Connection,
    transcript: &Transcript,
    options: &ImportOptions,
) -> Result<Value, Failure> {
    let first = transcript.files.as_ref().and_then(|(_, files)| files.first()).map_or(&transcript.path, |file| &file.1);
    let failed = |source| Failure::File { path: first.clone(), source };
    let mut file = open_regular_file(first).map_err(failed)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(failed)?;
    let known = transcript.files.as_ref().map(|(agent, _)| *agent).or(options.format);
    let agent = known.or_else(|| transcripts::detect(&head)).ok_or_else(|| not_a_transcript(&transcript.path))?;
    let name = transcript.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let directory = transcript.path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    let mut source = transcripts::identify(agent, &head, &name, &directory);
    if transcript.files.is_some() {
        source.shape = Shape::Files;
    }
    let modified = file.metadata().and_then(|metadata| metadata.modified()).ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let time = modified.map_or(0, |time| i64::try_from(time.as_millis()).unwrap_or(i64::MAX));
    let id = if agent == Agent::Pi { source.id.clone() } else { source.session_id() };
    let target = target(connection, transcript, &source, &id, options).await?;
    file.rewind().map_err(failed)?;
    let written = match agent {
        Agent::Pi => match report_of(connection, &transcript.path).await {
            Ok(report) => copy(file, &target, transcript).map(|added| (report, added)),
            Err(failure) => Err(failure),
        },
        _ => write_session(&target, &source, &file, transcript, time),
    };
    if written.is_err() && target.is_new {
        // This import created the session, so the file holds nothing else.
        let _removed = std::fs::remove_file(&target.path);
    }
    let (report, added) = written?;
    let status = if target.is_new {
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
    is_new: bool,
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
    let out = options.out.as_ref().map(std::path::absolute).transpose();
    match out.map_err(|source| Failure::File { path: transcript.path.clone(), source })? {
        Some(out) if out.is_dir() => params["sessionDir"] = json!(out),
        Some(out) if out.symlink_metadata().is_ok() => return existing(out, transcript, id, options),
        Some(out) => params["path"] = json!(out),
        None => {}
    }
    match connection.call("createSession", &params).await {
        Ok(session) => {
            connection.call("closeSession", &json!({ "sessionId": id })).await?;
            let path = PathBuf::from(session["path"].as_str().unwrap_or_default());
            Ok(Target { path, is_new: true })
        }
        Err(Failure::Answered { data, .. }) if data["kind"] == "sessionIdInUse" && data["path"].is_string() => {
            existing(PathBuf::from(data["path"].as_str().unwrap_or_default()), transcript, id, options)
        }
        Err(failure) => Err(failure),
    }
}

/// Accepts an existing session with `--update` only.
fn existing(path: PathBuf, transcript: &Transcript, id: &str, options: &ImportOptions) -> Result<Target, Failure> {
    if options.update {
        return Ok(Target { path, is_new: false });
    }
    let text = format!("{} exists; --update adds what is new to it", shown(&path));
    let data = json!({ "kind": "alreadyImported", "file": transcript.path, "sessionId": id, "path": path });
    Err(Failure::Transcript { text: format!("{}: {text}", shown(&transcript.path)), data })
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
    let mut session = store.open(&Locator::from(target.path.clone()), &OpenOptions::default()).map_err(failed)?;
    let written = check_id(&session, &source.session_id(), transcript)
        .and_then(|()| write(&mut session, source, file, transcript, time))
        .and_then(|written| session.sync().map(|()| written).map_err(failed));
    session.close().map_err(failed)?;
    written
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
    let (existing, tip) = existing_entries(session, transcript)?;
    let is_update = !existing.imports.is_empty();
    let mut import = Import::new(source, time, existing).ok_or_else(|| not_a_transcript(&transcript.path))?;
    let mut writer = Writer { session, transcript, tip, batch: Vec::new(), bytes: 0, added: 0 };
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
    if writer.has_entries() || !is_update {
        writer.push(import.mark());
    }
    writer.flush()?;
    Ok((import.report().clone(), writer.added))
}

/// Reads the ids and imports of the session. Also returns the last entry of the last import.
fn existing_entries(session: &Session, transcript: &Transcript) -> Result<(Existing, Option<EntryId>), Failure> {
    let (mut existing, mut tip) = (Existing::default(), None);
    let visit = |entry: Result<&Entry, &StoreError>| {
        if let Ok(entry) = entry {
            existing.ids.insert(entry.id().as_str().to_owned());
            if let Some((earlier, end)) = import_of(entry) {
                existing.imports.push(earlier);
                tip = end;
            }
        }
        ControlFlow::Continue(())
    };
    session.for_each_entry(visit).map_err(|error| failure_of_store(&transcript.path, &error))?;
    Ok((existing, tip))
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
            if self.bytes >= BATCH {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes the entries. One write holds a run of entries in which each is the parent of the next.
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
    /// such as a compaction.
    fn parent_of(&mut self, first: &Imported) -> Result<Option<EntryId>, StoreError> {
        if let Some(tip) = self.tip.take_if(|tip| first.parent.as_ref() == Some(tip))
            && let Some(leaf) = self.session.leaf_id()
            && self.session.is_on_branch(&tip, Some(leaf))?
        {
            return Ok(Some(leaf.clone()));
        }
        Ok(first.parent.clone())
    }
}

/// Counts the contents of a session file of pi.
async fn report_of(connection: &Connection, path: &Path) -> Result<Report, Failure> {
    let session = connection.call("openSession", &json!({ "path": path, "readOnly": true })).await?;
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
    if target.is_new {
        // The created file has a header of its own, so the copy replaces it.
        let directory = target.path.parent().unwrap_or(Path::new("/"));
        let mut beside = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        io::copy(&mut file, &mut beside).map_err(failed)?;
        beside.as_file().sync_all().map_err(failed)?;
        beside.persist(&target.path).map_err(|error| failed(error.error))?;
        return lines_of(&target.path).map_err(failed);
    }
    let failed_store = |error: StoreError| failure_of_store(&transcript.path, &error);
    // The lock comes first. No other program writes between the comparison and the append.
    let mut log = FileLog::open(&target.path).map_err(failed_store)?.log;
    let held = open_regular_file(&target.path).map_err(failed)?;
    let mut reader = io::BufReader::with_capacity(CHUNK, file);
    if !begins_with(&mut reader, held).map_err(failed)? {
        let text = format!("{}: the session at {} is no start of it", shown(&transcript.path), shown(&target.path));
        let data = json!({ "kind": "transcriptChanged", "file": transcript.path, "path": target.path });
        return Err(Failure::Transcript { text, data });
    }
    let (mut added, mut line) = (0, String::new());
    while reader.read_line(&mut line).map_err(failed)? > 0 {
        // A line without a line end is incomplete.
        let Some(complete) = line.strip_suffix('\n') else { break };
        let batch = Batch { lines: complete, expected_end: log.length(), sync: false };
        log.append(batch).map_err(|error| failed(io::Error::other(error)))?;
        added += 1;
        line.clear();
    }
    log.sync().map_err(failed)?;
    log.release();
    Ok(added)
}

/// Whether `whole` begins with the contents of `start`. Consumes these bytes.
fn begins_with(whole: &mut impl Read, start: std::fs::File) -> io::Result<bool> {
    let mut start = io::BufReader::with_capacity(CHUNK, start);
    let mut found = Vec::new();
    loop {
        let expected = start.fill_buf()?;
        if expected.is_empty() {
            return Ok(true);
        }
        found.resize(expected.len(), 0);
        match whole.read_exact(&mut found) {
            Ok(()) if found == expected => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error),
            _ => return Ok(false),
        }
        let length = expected.len();
        start.consume(length);
    }
}

fn lines_of(path: &Path) -> io::Result<u64> {
    let mut reader = io::BufReader::with_capacity(CHUNK, open_regular_file(path)?);
    let mut lines = 0;
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(lines);
        }
        lines += memchr::memchr_iter(b'\n', chunk).count() as u64;
        let length = chunk.len();
        reader.consume(length);
    }
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
        lines.push(format!("  {records} kept as they are: {}", shown.join("; ")));
    }
    lines.join("\n")
}
