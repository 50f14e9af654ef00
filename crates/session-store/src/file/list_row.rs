//! The row of a list for one file.

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
use crate::file::list::{CachedFile, FileContent, Resume, Stamp};
use crate::file::read;
use crate::file::read::LineReader;
use crate::header::FoundHeader;
use crate::index::HEADER_BYTES;
use crate::index::clean_name;
use crate::line::LineHeader;
use crate::line::{ListedLine, ListedMessage, lossy};
use crate::log::Line;
use crate::store::SessionSummary;

/// Maximum characters of the first message in a list.
const FIRST_MESSAGE_CHARACTERS: usize = 1000;

/// The latest date of JavaScript, in epoch milliseconds.
const LAST_DATE: f64 = 8.64e15;

/// Number of bytes at the end of the part that was read, which show whether a longer file is its continuation.
const MARK_BYTES: u64 = 256;

/// Reads the file at `path`, or only the part after `known`. Returns its facts and the number of bytes read; `None`
/// if it cannot be read.
pub(super) fn read(
    path: &Path,
    known: Option<&CachedFile>,
    filter: &Filter<'_>,
    reader: &mut LineReader,
) -> Option<(CachedFile, u64)> {
    let outcome = read_file(path, known, filter, reader);
    outcome.inspect_err(|error| tracing::debug!(%error, path = %path.display(), "left out of the list")).ok()
}

fn read_file(
    path: &Path,
    known: Option<&CachedFile>,
    filter: &Filter<'_>,
    reader: &mut LineReader,
) -> io::Result<(CachedFile, u64)> {
    let file = read::open(path, File::options().read(true))?;
    let now = SystemTime::now();
    let stamp = Stamp::of(&file.metadata()?);
    let mut scan = match known {
        Some(known) => Scan::resume(&file, known, &stamp)?,
        None => Scan::default(),
    };
    let (start, reader_limit) = (scan.end, reader.limits.max_line);
    if start == 0 && stamp.length > HEADER_BYTES as u64 {
        // A file that is not a session is read no further.
        let mut first = Scan::default();
        let hold = Cell::new(HEADER_BYTES);
        reader.visit(&file, 0..HEADER_BYTES as u64, &hold, |line| {
            let flow = first.add(path, line, filter);
            if matches!(first.content, Found::Nothing) { flow } else { ControlFlow::Break(()) }
        })?;
        if !matches!(first.content, Found::Session(_)) {
            let read = first.end;
            return Ok((CachedFile { stamp, is_settled: stamp.is_settled(now), content: first.finish(&file)? }, read));
        }
    }
    // Bytes that are appended meanwhile belong to another stamp.
    let hold = Cell::new(scan.hold(reader_limit));
    reader.visit(&file, start..stamp.length, &hold, |line| {
        let flow = scan.add(path, line, filter);
        hold.set(scan.hold(reader_limit));
        flow
    })?;
    let read = scan.end - start;
    Ok((CachedFile { stamp, is_settled: stamp.is_settled(now), content: scan.finish(&file)? }, read))
}

/// The state after the lines so far.
#[derive(Debug, Default)]
struct Scan {
    content: Found,
    /// The offset after the last line.
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
    /// Continues where `known` ended, if the file is the same with more at its end; otherwise starts again.
    fn resume(file: &File, known: &CachedFile, stamp: &Stamp) -> io::Result<Self> {
        let FileContent::Session { summary, resume: Some(resume) } = &known.content else {
            return Ok(Self::default());
        };
        if !stamp.may_continue(&known.stamp) || mark(file, resume.end)? != resume.mark {
            return Ok(Self::default());
        }
        let summary = SessionSummary::clone(summary);
        Ok(Self { content: Found::Session(Box::new(summary)), end: resume.end, is_open: false })
    }

    /// Maximum bytes of a line. Before a header is found, the file may contain anything.
    fn hold(&self, max_line: usize) -> usize {
        if matches!(self.content, Found::Session(_)) { max_line } else { HEADER_BYTES }
    }

    fn add(&mut self, path: &Path, line: Line<'_>, filter: &Filter<'_>) -> ControlFlow<()> {
        self.end = line.end();
        self.is_open = !line.is_terminated;
        if let Found::Session(summary) = &mut self.content {
            if !line.is_cut {
                add_line(summary, line.bytes);
            }
            return ControlFlow::Continue(());
        }
        if line.span.end() > HEADER_BYTES as u64 {
            self.content = Found::NoSession;
            return ControlFlow::Break(());
        }
        let Some(found) = begin(path, line.bytes, filter) else {
            return ControlFlow::Continue(());
        };
        self.content = found;
        if matches!(self.content, Found::Session(_)) { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn finish(self, file: &File) -> io::Result<FileContent> {
        Ok(match self.content {
            Found::Nothing | Found::NoSession => FileContent::NoSession,
            Found::Elsewhere(cwd) => FileContent::Elsewhere { cwd: cwd.into() },
            Found::Session(summary) => {
                let mark = || Ok::<_, io::Error>(Resume { end: self.end, mark: mark(file, self.end)? });
                let resume = if self.is_open { None } else { Some(mark()?) };
                FileContent::Session { summary: Arc::from(summary), resume }
            }
        })
    }
}

/// A hash of the last bytes before `end`.
fn mark(mut file: &File, end: u64) -> io::Result<u64> {
    let length = end.min(MARK_BYTES);
    file.seek(SeekFrom::Start(end - length))?;
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    Ok(hasher.finish())
}

/// The result of the first line that is a JSON object; `None` for other lines, which may precede the header.
fn begin(path: &Path, line: &[u8], filter: &Filter<'_>) -> Option<Found> {
    let text = lossy(line);
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

/// Adds an entry to the summary. Bodies are skipped, except that of the first message.
fn add_line(summary: &mut SessionSummary, line: &[u8]) {
    let added = ListedLine::of(line).and_then(|listed| add_listed(summary, &listed));
    if added.is_none() {
        add_slowly(summary, line);
    }
}

/// `None` if the line has to be read by the JSON reader.
fn add_listed(summary: &mut SessionSummary, listed: &ListedLine<'_>) -> Option<()> {
    match EntryKind::from_name(listed.kind.map_or(Some(""), name)?) {
        EntryKind::SessionInfo => summary.name = listed.name.and_then(decode).and_then(|name| clean_name(&name)),
        EntryKind::Message => {
            let message = listed.message.unwrap_or_default();
            let role = Role::from_name(message.role.map_or(Some(""), name)?);
            if role == Role::User && summary.first_message.is_empty() {
                return None;
            }
            summary.message_count += 1;
            if matches!(role, Role::User | Role::Assistant) {
                note_time(summary, time(listed, &message));
            }
        }
        _ => {}
    }
    Some(())
}

/// The text of a string without escapes; empty for other values. `None` if there are escapes.
fn name(json: &[u8]) -> Option<&str> {
    let Some(text) = json.strip_prefix(b"\"").and_then(|json| json.strip_suffix(b"\"")) else {
        return Some("");
    };
    (!text.contains(&b'\\')).then(|| std::str::from_utf8(text).unwrap_or_default())
}

fn decode(json: &[u8]) -> Option<String> {
    json::decode_string(&lossy(json))
}

fn time(listed: &ListedLine<'_>, message: &ListedMessage<'_>) -> Option<i64> {
    let stored = message.timestamp.and_then(|time| std::str::from_utf8(time).ok()).and_then(milliseconds);
    stored.or_else(|| epoch_milliseconds(&decode(listed.timestamp?)?))
}

/// A JSON number as an integer; `None` for other values, and for times beyond the dates of JavaScript, so that a
/// broken time does not put its session first forever.
fn milliseconds(json: &str) -> Option<i64> {
    // Numbers of up to 15 digits are exact in floating point.
    let is_short = json.len() <= 15 && json.bytes().all(|byte| byte.is_ascii_digit());
    if is_short {
        return json.parse().ok();
    }
    json.parse::<f64>().ok().filter(|time| time.abs() <= LAST_DATE).map(|time| time as i64)
}

fn note_time(summary: &mut SessionSummary, time: Option<i64>) {
    summary.modified = summary.modified.max(time.unwrap_or(i64::MIN));
}

/// Adds an entry with the JSON reader, which decides what a line is.
fn add_slowly(summary: &mut SessionSummary, line: &[u8]) {
    let text = lossy(line);
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
mod tests {
    //! The quick reader against the JSON reader.

    use super::*;
    use proptest::prelude::*;

    fn empty() -> SessionSummary {
        SessionSummary {
            locator: "s.jsonl".into(),
            session_id: "s".to_owned(),
            cwd: String::new(),
            name: None,
            parent_session: None,
            created: String::new(),
            modified: i64::MIN,
            message_count: 0,
            first_message: String::new(),
        }
    }

    /// Both readers must say the same of `line`; whether the quick one could read it.
    #[track_caller]
    fn check(line: &[u8]) -> bool {
        for first_message in ["", "earlier"] {
            let start = SessionSummary { first_message: first_message.to_owned(), ..empty() };
            let (mut quick, mut slow) = (start.clone(), start);
            add_line(&mut quick, line);
            add_slowly(&mut slow, line);
            assert_eq!(quick, slow, "{}", String::from_utf8_lossy(line));
        }
        ListedLine::of(line).is_some()
    }

    #[test]
    fn plain_lines_are_read_quickly() {
        for line in [
            r#"{"type":"message","id":"a","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"a \"b\" \\","timestamp":5}}"#,
            r#" { "type" : "message" , "message" : { "role" : "assistant" , "content" : [ { } , [ ] , -1.5e+3 , true , null ] } } "#,
            r#"{"type":"message","message":{"role":"assistant","timestamp":1.5e3}}"#,
            r#"{"type":"message","message":{"role":"assistant","timestamp":"7"},"timestamp":"2026-01-01T00:00:00.000Z"}"#,
            r#"{"type":"message","message":{"role":"assistant","timestamp":1},"message":{"role":"user"}}"#,
            r#"{"type":"message","message":{"role":"assistant","timestamp":1},"message":"text"}"#,
            r#"{"type":"message","message":{"content":[{"role":"user","timestamp":9}],"role":"assistant","timestamp":3}}"#,
            r#"{"type":"message"}"#,
            r#"{"type":"session_info","name":"a\r\nbé😀"}"#,
            r#"{"type":"session_info","name":"x","name":7}"#,
            r#"{"type":"session_info"}"#,
            r#"{"type":7,"x":"\ud800"}"#,
            "{}",
        ] {
            assert!(check(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_json_reader() {
        for line in [
            r#"{"t\u0079pe":"message","message":{"role":"user","content":"x","timestamp":5}}"#,
            r#"{"type":"message","message":{"r\u006fle":"assistant","timestamp":5}}"#,
            "{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"content\":\"a\tb\"}}",
            r#"{"type":"message","message":{"role":"assistant","content":"x"#,
            r#"{"type":"message","message":{"role":"assistant"}} x"#,
            r#"{"type":"message","message":{"role":"assistant","n":01}}"#,
            r#"{"type":"message","message":{"role":"assistant","n":1.}}"#,
            r#"{"type":"message","message":{"role":"assistant","n":[1 2]}}"#,
            r#"{"type":"message","message":{"role":"assistant","n":[1}}}"#,
            r#"{"type":"message","message":{"role":"assistant","n":"\x"}}"#,
            r#"{"type":"message","message":{"role":"assistant","n":"\u12g4"}}"#,
            r#"{"type":"message","message":{"role":"assistant","n":nul}}"#,
            r#"{"type":"message",}"#,
            "[]",
            "",
        ] {
            assert!(!check(line.as_bytes()), "{line}");
        }
        let deep = format!(r#"{{"type":"message","x":{}{}}}"#, "[".repeat(90_000), "]".repeat(90_000));
        assert!(!check(deep.as_bytes()));
        // The value of an escaped type and role is read there as well.
        for line in [
            r#"{"type":"m\u0065ssage","message":{"role":"assistant","timestamp":5}}"#,
            r#"{"type":"message","message":{"role":"\u0075ser","content":"x","timestamp":5}}"#,
        ] {
            check(line.as_bytes());
        }
    }

    /// Pieces of lines.
    const PIECES: &[&[u8]] = &[
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b" ",
        b"\"",
        b"\\",
        b"\"type\":\"message\"",
        b"\"type\":\"session_info\"",
        b",\"message\":{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":5}",
        b",\"message\":{\"role\":\"assistant\",\"timestamp\":1e400}",
        b"\"role\":\"assistant\"",
        b",\"name\":\"n\\u00e9 \\ud83d\"",
        b",\"timestamp\":\"2026-01-01T00:00:00.000Z\"",
        b"\"timestamp\":-12.5E3",
        b"\"a\":true",
        b"null",
        b"\xff\xc3",
        b"\x01",
        b"0",
        b"\\u00",
    ];

    /// Lines made of the pieces that matter, most of them nearly right.
    fn line() -> impl Strategy<Value = Vec<u8>> {
        let piece = proptest::sample::select(PIECES);
        let pieces = proptest::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat());
        let entry = pieces.clone().prop_map(|inner| [&b"{\"type\":\"message\""[..], &inner, b"}"].concat());
        let message = pieces.clone().prop_map(|inner| {
            [&b"{\"type\":\"message\",\"message\":{\"role\":\"assistant\",\"x\":"[..], &inner, b",\"timestamp\":3}}"]
                .concat()
        });
        prop_oneof![pieces, entry, message]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn both_readers_say_the_same(line in line()) {
            check(&line);
        }

        #[test]
        fn one_byte_may_be_anything(at in 0_usize..200, byte: u8) {
            let line = br#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"a \"b\" \\ \n"},[1.5e3,-0,true]],"timestamp":17000}}"#;
            let mut line = line.to_vec();
            let at = at % line.len();
            line[at] = byte;
            check(&line);
        }
    }
}
