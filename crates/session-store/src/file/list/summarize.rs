//! One file: what a list says of it.

use std::cell::Cell;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use compaction_core::entry::{EntryKind, Role, epoch_milliseconds};
use compaction_core::json::{self, RawObject};
use compaction_core::message::{Body, Message};

use crate::file::list::Filter;
use crate::file::list::list_cache::{KnownFile, Resume, Stamp, What};
use crate::file::list::reading::LineReader;
use crate::file::list::shallow::{Glance, MessageGlance};
use crate::file::regular;
use crate::header::FoundHeader;
use crate::index::HEADER_BYTES;
use crate::index::labels::clean_name;
use crate::index::line::LineHeader;
use crate::log::Line;
use crate::store::SessionSummary;

/// Characters of the first message that a list holds at most.
const FIRST_MESSAGE_CHARACTERS: usize = 1000;

/// The last time that a date of JavaScript can hold, in epoch milliseconds.
const LAST_DATE: f64 = 8.64e15;

/// Bytes before the end of what was read that tell whether a longer file is its continuation.
const MARK_BYTES: u64 = 256;

/// Reads the file at `path`, or only what it has gained since it was `known`. Gives what is known of
/// it now and how many bytes were read; `None` if it cannot be read.
pub(super) fn read(
    path: &Path,
    known: Option<&KnownFile>,
    filter: &Filter<'_>,
    reader: &mut LineReader,
) -> Option<(KnownFile, u64)> {
    let outcome = read_file(path, known, filter, reader);
    outcome.inspect_err(|error| tracing::debug!(%error, path = %path.display(), "left out of the list")).ok()
}

fn read_file(
    path: &Path,
    known: Option<&KnownFile>,
    filter: &Filter<'_>,
    reader: &mut LineReader,
) -> io::Result<(KnownFile, u64)> {
    let file = regular::open(path, File::options().read(true))?;
    let now = SystemTime::now();
    let stamp = Stamp::of(&file.metadata()?);
    let mut scan = match known {
        Some(known) => Scan::resume(&file, known, &stamp)?,
        None => Scan::default(),
    };
    let (start, reader_limit) = (scan.end, reader.limits.max_line);
    if start == 0 && stamp.length > HEADER_BYTES as u64 {
        // Of what is no session nothing more is read.
        let mut first = Scan::default();
        let hold = Cell::new(HEADER_BYTES);
        reader.visit(&file, 0..HEADER_BYTES as u64, &hold, |line| {
            let flow = first.add(path, line, filter);
            if matches!(first.what, Found::Nothing) { flow } else { ControlFlow::Break(()) }
        })?;
        if !matches!(first.what, Found::Session(_)) {
            let read = first.end;
            return Ok((KnownFile { stamp, is_settled: stamp.is_settled(now), what: first.finish(&file)? }, read));
        }
    }
    // What is appended meanwhile belongs to another stamp.
    let hold = Cell::new(scan.hold(reader_limit));
    reader.visit(&file, start..stamp.length, &hold, |line| {
        let flow = scan.add(path, line, filter);
        hold.set(scan.hold(reader_limit));
        flow
    })?;
    let read = scan.end - start;
    Ok((KnownFile { stamp, is_settled: stamp.is_settled(now), what: scan.finish(&file)? }, read))
}

/// What the lines so far tell.
#[derive(Debug, Default)]
struct Scan {
    what: Found,
    /// The offset behind the last line.
    end: u64,
    /// Whether the last line has no LF, so that it may get longer.
    is_open: bool,
}

#[derive(Debug, Default)]
enum Found {
    #[default]
    Nothing,
    NoSession,
    Elsewhere(String),
    Session(Box<SessionSummary>),
}

impl Scan {
    /// Goes on where `known` ended, if the file is the same with more at its end; else begins anew.
    fn resume(file: &File, known: &KnownFile, stamp: &Stamp) -> io::Result<Self> {
        let What::Session { summary, resume: Some(resume) } = &known.what else {
            return Ok(Self::default());
        };
        if !stamp.may_continue(&known.stamp) || mark(file, resume.end)? != resume.mark {
            return Ok(Self::default());
        }
        let summary = SessionSummary::clone(summary);
        Ok(Self { what: Found::Session(Box::new(summary)), end: resume.end, is_open: false })
    }

    /// Bytes of a line that are held. Where no header is found yet, the file may be anything.
    fn hold(&self, max_line: usize) -> usize {
        if matches!(self.what, Found::Session(_)) { max_line } else { HEADER_BYTES }
    }

    fn add(&mut self, path: &Path, line: Line<'_>, filter: &Filter<'_>) -> ControlFlow<()> {
        self.end = line.end();
        self.is_open = !line.is_terminated;
        if let Found::Session(summary) = &mut self.what {
            if !line.is_cut {
                add_line(summary, line.bytes);
            }
            return ControlFlow::Continue(());
        }
        if line.span.end() > HEADER_BYTES as u64 {
            self.what = Found::NoSession;
            return ControlFlow::Break(());
        }
        let Some(found) = begin(path, line.bytes, filter) else {
            return ControlFlow::Continue(());
        };
        self.what = found;
        if matches!(self.what, Found::Session(_)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn finish(self, file: &File) -> io::Result<What> {
        Ok(match self.what {
            Found::Nothing | Found::NoSession => What::NoSession,
            Found::Elsewhere(cwd) => What::Elsewhere { cwd: cwd.into() },
            Found::Session(summary) => {
                let mark = || Ok::<_, io::Error>(Resume { end: self.end, mark: mark(file, self.end)? });
                let resume = if self.is_open { None } else { Some(mark()?) };
                What::Session { summary: Arc::from(summary), resume }
            }
        })
    }
}

/// What tells the bytes before `end` from others.
fn mark(mut file: &File, end: u64) -> io::Result<u64> {
    let length = end.min(MARK_BYTES);
    file.seek(SeekFrom::Start(end - length))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(hasher.finish())
}

/// What the first line that is a JSON object says; `None` for a line that is none, which the header
/// may follow.
fn begin(path: &Path, line: &[u8], filter: &Filter<'_>) -> Option<Found> {
    let text = String::from_utf8_lossy(line);
    LineHeader::read(&text)?;
    let Ok(FoundHeader { header, .. }) = FoundHeader::read(&text) else {
        return Some(Found::NoSession);
    };
    if !filter.accepts(&header.cwd) {
        return Some(Found::Elsewhere(header.cwd));
    }
    Some(Found::Session(Box::new(SessionSummary {
        locator: path.into(),
        session_id: header.id,
        cwd: header.cwd,
        name: None,
        parent_session: header.parent_session,
        modified: epoch_milliseconds(&header.timestamp).unwrap_or(0),
        created: header.timestamp,
        message_count: 0,
        first_message: String::new(),
    })))
}

/// Adds what an entry says of the session. Bodies are passed over, but for the first message.
fn add_line(summary: &mut SessionSummary, line: &[u8]) {
    let added = Glance::of(line).and_then(|glance| add_glance(summary, &glance));
    if added.is_none() {
        add_slowly(summary, line);
    }
}

/// `None` if the line has to be read by the JSON reader.
fn add_glance(summary: &mut SessionSummary, glance: &Glance<'_>) -> Option<()> {
    match EntryKind::from_name(glance.kind.map_or(Some(""), name)?) {
        EntryKind::SessionInfo => summary.name = glance.name.and_then(decode).and_then(|name| clean_name(&name)),
        EntryKind::Message => {
            let message = glance.message.unwrap_or_default();
            let role = Role::from_name(message.role.map_or(Some(""), name)?);
            if role == Role::User && summary.first_message.is_empty() {
                return None;
            }
            summary.message_count += 1;
            if matches!(role, Role::User | Role::Assistant) {
                note_time(summary, time(glance, &message));
            }
        }
        _ => {}
    }
    Some(())
}

/// The text of a string without escapes, empty for what is no string. `None` if there are escapes.
fn name(json: &[u8]) -> Option<&str> {
    let Some(text) = json.strip_prefix(b"\"").and_then(|json| json.strip_suffix(b"\"")) else {
        return Some("");
    };
    (!text.contains(&b'\\')).then(|| std::str::from_utf8(text).unwrap_or_default())
}

fn decode(json: &[u8]) -> Option<String> {
    json::decode_string(&String::from_utf8_lossy(json))
}

fn time(glance: &Glance<'_>, message: &MessageGlance<'_>) -> Option<i64> {
    let stored = message.timestamp.and_then(|time| std::str::from_utf8(time).ok()).and_then(milliseconds);
    stored.or_else(|| epoch_milliseconds(&decode(glance.timestamp?)?))
}

/// A JSON number as an integer; `None` for other values, and for what lies beyond the dates that
/// JavaScript knows, so that no broken time puts its session first for ever.
fn milliseconds(json: &str) -> Option<i64> {
    // Numbers of up to 15 digits are the same in floating point.
    let is_short = json.len() <= 15 && json.bytes().all(|byte| byte.is_ascii_digit());
    if is_short {
        return json.parse().ok();
    }
    json.parse::<f64>().ok().filter(|time| time.abs() <= LAST_DATE).map(|time| time as i64)
}

fn note_time(summary: &mut SessionSummary, time: Option<i64>) {
    summary.modified = summary.modified.max(time.unwrap_or(i64::MIN));
}

/// Adds what an entry says by the JSON reader, which decides what a line is.
fn add_slowly(summary: &mut SessionSummary, line: &[u8]) {
    let text = String::from_utf8_lossy(line);
    let Ok(object) = RawObject::parse(&text) else {
        return;
    };
    if json::check_value_count(&text).is_err() {
        return;
    }
    match object.string("type").as_deref().map(EntryKind::from_name) {
        Some(EntryKind::SessionInfo) => {
            summary.name = object.string("name").and_then(|name| clean_name(&name));
        }
        Some(EntryKind::Message) => add_message(summary, &object),
        _ => {}
    }
}

fn add_message(summary: &mut SessionSummary, entry: &RawObject<'_>) {
    summary.message_count += 1;
    let Some(Ok(message)) = entry.get("message").map(RawObject::parse) else {
        return;
    };
    let role = message.string("role").map(|role| Role::from_name(&role));
    if matches!(role, Some(Role::User | Role::Assistant)) {
        let stored = message.get("timestamp").and_then(milliseconds);
        note_time(summary, stored.or_else(|| epoch_milliseconds(&entry.string("timestamp")?)));
    }
    if role == Some(Role::User) && summary.first_message.is_empty() {
        summary.first_message = first_message(&message);
    }
}

fn first_message(message: &RawObject<'_>) -> String {
    let raw = json::raw_value(message.to_json());
    let text = raw.map(|raw| match Message::from_raw(raw).body() {
        Body::User { content } => content.text(" ").into_owned(),
        _ => String::new(),
    });
    text.unwrap_or_default().chars().take(FIRST_MESSAGE_CHARACTERS).collect()
}

#[cfg(test)]
mod tests;
