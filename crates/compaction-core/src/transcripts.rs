//! Reads transcripts of other agents into session entries (docs/transcripts.md).
//!
//! [`detect`] finds the agent from the first bytes of a transcript. [`identify`] finds the conversation. An
//! [`Import`] takes the bytes in pieces and returns entries. A `custom` entry keeps every record of the transcript (a
//! line, an element of a document, or a file), and [`original`] returns the bytes of the record. The messages of a
//! record follow it. Records that this version does not understand are kept too.

mod aider;
mod amp;
mod claude_code;
mod claude_screen;
mod cline;
mod codex;
mod codex_app;
mod copilot;
mod copilot_chat;
mod cursor;
mod cursor_dialogue;
mod gemini_screen;
mod markdown;
mod opencode;
mod openhands;
mod records;
mod screen;
mod shared;
mod specstory;
#[cfg(test)]
mod tests;
mod thoughts;
mod tree;
mod windsurf;
mod wrapped;

use std::collections::{BTreeMap, HashSet, VecDeque};

use uuid::Uuid;

use crate::entry::EntryId;
use crate::hash;
use crate::json::{self, Json};
use records::{Cut, Cutter, LISTS, Record, without_mark};
use tree::{Tree, count_at, text_at, time_of};

pub use records::{KeptRecord, original};

/// `customType` of the entries that keep records.
pub const RECORD_TYPE: &str = "compactd.transcript";
/// `customType` of the entry that ends an import.
pub const IMPORT_TYPE: &str = "compactd.import";
/// Number of bytes at the start of a transcript that [`detect`] and [`identify`] read.
pub const HEAD_BYTES: usize = 1 << 20;
/// Maximum bytes of a record.
const MAX_RECORD: usize = 192 << 20;
/// Beginning of the names of files that describe a session of opencode. opencode rewrites them with every message.
const SESSION_FILES: &str = "session/";
/// Digits of an imported entry's id. Other entries have eight, so the ids never collide.
const ID_DIGITS: usize = 12;
/// Number of records that detection reads.
const FIRST_RECORDS: usize = 64;
/// Namespace of session ids (UUIDv5).
const NAMESPACE: Uuid = Uuid::from_u128(0x7d0c_5f3e_94a1_4b6b_8f27_31c2_e0a8_5d49);

/// An agent whose transcripts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Agent {
    /// Claude Code: lines of JSON.
    ClaudeCode,
    /// Codex: lines of JSON, a rollout.
    Codex,
    /// opencode: the document of `opencode export`, or the files of its storage.
    OpenCode,
    /// OpenHands: a trajectory, or a directory of events.
    OpenHands,
    /// aider: the chat history, in Markdown.
    Aider,
    /// Cursor: an exported chat in Markdown or JSON, or an agent's transcript.
    Cursor,
    /// Gemini CLI: a chat that it shared, in Markdown.
    Gemini,
    /// Cline or Roo: an exported task, in Markdown, or the messages of its storage, in JSON.
    Cline,
    /// Copilot: a session that its CLI shared, in Markdown, or a chat copied from VS Code.
    Copilot,
    /// Windsurf or Antigravity: a conversation that it saved, in Markdown.
    Windsurf,
    /// Amp: a thread that it exported, in Markdown.
    Amp,
    /// A copy of the screen of Codex.
    CodexScreen,
    /// A copy of the screen of Claude Code.
    ClaudeScreen,
    /// A copy of the screen of Gemini CLI.
    GeminiScreen,
    /// pi: a session file, in the same format as ours.
    Pi,
}

/// Agents and their names.
const AGENTS: [(Agent, &str); 15] = [
    (Agent::ClaudeCode, "claude-code"),
    (Agent::Codex, "codex"),
    (Agent::OpenCode, "opencode"),
    (Agent::OpenHands, "openhands"),
    (Agent::Aider, "aider"),
    (Agent::Cursor, "cursor"),
    (Agent::Gemini, "gemini"),
    (Agent::Cline, "cline"),
    (Agent::Copilot, "copilot"),
    (Agent::Windsurf, "windsurf"),
    (Agent::Amp, "amp"),
    (Agent::CodexScreen, "codex-screen"),
    (Agent::ClaudeScreen, "claude-screen"),
    (Agent::GeminiScreen, "gemini-screen"),
    (Agent::Pi, "pi"),
];

impl Agent {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        AGENTS.iter().find_map(|(agent, name)| (*agent == self).then_some(*name)).unwrap_or_default()
    }

    /// The agent with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        AGENTS.iter().find_map(|(agent, known)| (*known == name).then_some(*agent))
    }

    /// The names of all agents.
    pub fn names() -> impl Iterator<Item = &'static str> {
        AGENTS.iter().map(|(_, name)| *name)
    }
}

/// The physical form of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Lines of JSON.
    Lines,
    /// One JSON document.
    Document,
    /// Text for people.
    Text,
    /// A directory of files.
    Files,
}

/// The conversation of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The agent that wrote it.
    pub agent: Agent,
    /// Its physical form.
    pub shape: Shape,
    /// The agent's own id for the conversation.
    pub id: String,
    /// The working directory that the transcript names.
    pub cwd: Option<String>,
    /// Start of the conversation in epoch milliseconds.
    pub time: Option<i64>,
}

impl Source {
    /// The id of the session for this conversation. Every import gives the same id.
    pub fn session_id(&self) -> String {
        self.uuid().to_string()
    }

    fn uuid(&self) -> Uuid {
        // All Markdown exports have the name of Cursor in their ids. Stored sessions have these ids.
        let agent = if self.is_exported() { Agent::Cursor } else { self.agent };
        Uuid::new_v5(&NAMESPACE, format!("{}/{}", agent.name(), self.id).as_bytes())
    }

    /// Whether another program exported the conversation as Markdown.
    fn is_exported(&self) -> bool {
        self.shape == Shape::Text && self.agent != Agent::Aider
    }
}

/// The JSON objects among the first records of a transcript.
struct Head {
    values: Vec<Json<'static>>,
    /// The document without the elements of its list.
    document: Option<Json<'static>>,
    /// Whether the document is a list.
    is_list: bool,
    shape: Shape,
    /// Number of records, without blank ones.
    records: usize,
}

impl Head {
    fn of(head: &[u8]) -> Self {
        // The first value may continue after the head. If the whole transcript ends there, an incomplete value proves
        // nothing: its id may still be missing.
        let is_cut_off = |record: &Record| record.is_partial && head.len() >= HEAD_BYTES;
        let start_of = |record: &Record| if is_cut_off(record) { start_of(&record.content) } else { None };
        let lines = first_records(head, Cut::Lines);
        let mut values: Vec<Json<'static>> = lines.iter().filter_map(object_of).collect();
        let elements = first_records(head, Cut::Elements);
        let complete = elements.iter().filter(|record| !record.is_partial);
        let in_lists: Vec<Json<'static>> = complete.filter_map(object_of).collect();
        let mut filled = lines.iter().filter(|line| !line.content.trim_ascii().is_empty());
        let records = filled.clone().count();
        let cut_off = lines.last().and_then(start_of).filter(|value| value.as_object().is_some());
        let first_line =
            filled.next().and_then(|line| object_of(line).or_else(|| cut_off.clone().filter(|_| is_cut_off(line))));
        let begins_with_object = first_line.is_some_and(|value| !has_lists(&value));
        // A document may have one element on each line, and its last element is then a complete line.
        if begins_with_object || values.len() > in_lists.len() {
            values.extend(cut_off);
            return Self { values, document: None, is_list: false, shape: Shape::Lines, records };
        }
        let records = elements.len();
        if let Some(start) = elements.first().and_then(start_of) {
            let is_list = matches!(start, Json::Array(_));
            let list = if is_list { Some(&start) } else { LISTS.iter().find_map(|name| start.get(name)) };
            let values = if let Some(Json::Array(items)) = list { items.clone() } else { Vec::new() };
            let document = Some(start).filter(|_| !is_list);
            return Self { values, document, is_list, shape: Shape::Document, records };
        }
        let values = in_lists;
        let first = elements.into_iter().next().filter(|record| !record.is_partial);
        let document = first.and_then(|record| String::from_utf8(without_mark(&record.before).to_vec()).ok());
        let is_list = document.as_ref().is_some_and(|before| before.trim() == "[");
        // The text before the first element is a complete object once its list and the object are closed.
        let document = document.or_else(|| std::str::from_utf8(without_mark(head)).ok().map(str::to_owned));
        let closed = |text: &String| [format!("{text}]}}"), text.clone()].iter().find_map(|text| parse(text));
        Self { values, document: document.as_ref().and_then(closed), is_list, shape: Shape::Document, records }
    }

    /// The document, if there is one, and the records.
    fn all(&self) -> impl Iterator<Item = &Json<'static>> {
        self.document.iter().chain(&self.values)
    }
}

/// The first records of a transcript, and its end if it has no more.
fn first_records(head: &[u8], cut: Cut) -> Vec<Record> {
    let mut cutter = Cutter::new(cut);
    cutter.feed(head);
    let mut records: Vec<Record> = std::iter::from_fn(|| cutter.next()).take(FIRST_RECORDS).collect();
    if records.len() < FIRST_RECORDS {
        records.extend(cutter.end(false));
    }
    records
}

fn parse(text: &str) -> Option<Json<'static>> {
    Json::parse(text).ok().map(Json::into_owned)
}

/// The value at the beginning of `bytes`, even if it is incomplete.
fn start_of(bytes: &[u8]) -> Option<Json<'static>> {
    let text = without_mark(bytes).utf8_chunks().next()?.valid();
    Json::parse_start(text).ok()
}

fn object_of(record: &Record) -> Option<Json<'static>> {
    parse(record.text()?).filter(|json| matches!(json, Json::Object(_)))
}

fn has_lists(value: &Json<'_>) -> bool {
    LISTS.iter().any(|name| matches!(value.get(name), Some(Json::Array(_))))
}

/// Finds the agent that wrote a transcript. `head` is the start of the transcript, [`HEAD_BYTES`] at most.
pub fn detect(head: &[u8]) -> Option<Agent> {
    let text = String::from_utf8_lossy(&head[..head.len().min(HEAD_BYTES)]);
    if let Some(agent) = markdown::detect(&text) {
        return Some(agent);
    }
    let head = Head::of(head);
    if let Some(document) = &head.document
        && !head.is_list
    {
        let found = [
            (opencode::is_document(document), Agent::OpenCode),
            (openhands::is_document(document) || openhands::is_event(document), Agent::OpenHands),
            (cursor::is_document(document), Agent::Cursor),
        ];
        if let Some((_, agent)) = found.into_iter().find(|(is_found, _)| *is_found) {
            return Some(agent);
        }
    }
    // A text for people may quote lines of a transcript.
    if head.values.len() * 2 < head.records {
        return None;
    }
    head.values.iter().find_map(|value| {
        let found = [
            (is_pi(value), Agent::Pi),
            (codex::is_line(value), Agent::Codex),
            (openhands::is_event(value), Agent::OpenHands),
            (head.is_list && cline::is_message(value), Agent::Cline),
            (claude_code::is_line(value), Agent::ClaudeCode),
            (cursor::is_message(value), Agent::Cursor),
            (opencode::is_message(value), Agent::OpenCode),
        ];
        found.into_iter().find_map(|(is_found, agent)| is_found.then_some(agent))
    })
}

fn is_pi(value: &Json<'_>) -> bool {
    text_at(value, &["type"]) == Some("session") && value.get("id").is_some() && value.get("cwd").is_some()
}

/// Finds the conversation of a transcript that begins with `head`.
///
/// `name` is the file name without its extension. Some agents name the conversation only there. `directory` is the
/// directory of the file. Some agents keep the transcript in the working directory. A conversation without an id gets
/// the path as its id.
pub fn identify(agent: Agent, head: &[u8], name: &str, directory: &str) -> Source {
    let mut source = Source { agent, shape: Shape::Text, id: String::new(), cwd: None, time: None };
    match identifier(agent, head) {
        Some(identify_record) => {
            let head = Head::of(head);
            source.shape = match agent {
                Agent::ClaudeCode | Agent::Codex if !head.is_list => Shape::Lines,
                Agent::Pi => Shape::Lines,
                Agent::OpenCode | Agent::Cline => Shape::Document,
                _ => head.shape,
            };
            for value in head.all() {
                let (id, cwd, time) = identify_record(value);
                source.id = if source.id.is_empty() { id.unwrap_or_default() } else { source.id };
                source.cwd = source.cwd.or(cwd);
                source.time = source.time.or(time);
            }
        }
        None if agent == Agent::Aider => {
            markdown::identify_aider(&String::from_utf8_lossy(head), directory, &mut source);
        }
        None => markdown::identify_export(&String::from_utf8_lossy(head), &mut source),
    }
    let has_file_id = agent == Agent::ClaudeCode && source.shape != Shape::Text;
    let is_named_by_file = has_file_id && (Uuid::parse_str(name).is_ok() || name.starts_with("agent-"));
    if is_named_by_file {
        source.id = name.to_owned();
    } else if source.id.is_empty() {
        // Many agents give all transcripts the same file name.
        source.id = format!("{directory}/{name}");
    }
    source
}

/// Finds the id of the conversation, its working directory and its start in a record of JSON.
type IdentifyRecord = fn(&Json<'_>) -> (Option<String>, Option<String>, Option<i64>);

/// The function for the records of a transcript that begins with `head`; `None` if it is Markdown.
fn identifier(agent: Agent, head: &[u8]) -> Option<IdentifyRecord> {
    let unless_exported = |identify: IdentifyRecord| {
        let is_exported = markdown::detect(&String::from_utf8_lossy(head)).is_some();
        (!is_exported).then_some(identify)
    };
    match agent {
        Agent::ClaudeCode => unless_exported(claude_code::identify),
        Agent::Codex => unless_exported(codex::identify),
        Agent::OpenCode => unless_exported(opencode::identify),
        Agent::OpenHands => Some(openhands::identify),
        Agent::Aider => None,
        Agent::Cursor => unless_exported(cursor::identify),
        Agent::Cline => Some(cline::identify as IdentifyRecord).filter(|_| Head::of(head).is_list),
        Agent::Gemini
        | Agent::Copilot
        | Agent::Windsurf
        | Agent::Amp
        | Agent::CodexScreen
        | Agent::ClaudeScreen
        | Agent::GeminiScreen => None,
        Agent::Pi => Some(identify_pi),
    }
}

fn identify_pi(value: &Json<'_>) -> (Option<String>, Option<String>, Option<i64>) {
    let text = |name: &str| text_at(value, &[name]).map(str::to_owned);
    (text("id"), text("cwd"), time_of(value.get("timestamp")))
}

/// A name for a transcript that has none, from its start: 16 hexadecimal digits.
pub fn digest_of(head: &[u8]) -> String {
    format!("{:016x}", Digest::of(&[head]))
}

/// The conversation with each id that earlier versions gave it. They took an id from the path of the file: of every
/// Markdown export, and of transcripts of OpenHands and Cursor. `name` and `directory` are those of [`identify`].
pub fn earlier_sources(source: &Source, name: &str, directory: &str) -> Vec<Source> {
    if !matches!(source.agent, Agent::OpenHands | Agent::Cursor) && !source.is_exported() {
        return Vec::new();
    }
    let ids = [format!("{directory}/{name}"), name.to_owned()].into_iter().filter(|id| *id != source.id);
    ids.map(|id| Source { id, ..source.clone() }).collect()
}

/// A session entry that an import produced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its id. Every import gives the same id.
    pub id: EntryId,
    /// Its parent; `None` for a root.
    pub parent: Option<EntryId>,
    /// Its type.
    pub kind: &'static str,
    /// Its members, a JSON object.
    pub members: String,
    /// Its time in epoch milliseconds.
    pub timestamp: i64,
}

/// Whether an entry has an id that an import gave it. Copies of such an entry have other ids.
pub fn is_imported(id: &EntryId) -> bool {
    id.as_str().len() == ID_DIGITS && id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The title in the start of a transcript.
fn title_of(start: &Record) -> Option<String> {
    let document = if start.file.is_some() { parse(start.text()?) } else { start.document() }?;
    let titles = [&["info", "title"][..], &["title"], &["name"]];
    titles.iter().find_map(|path| text_at(&document, path)).map(str::to_owned)
}

/// Counts of an import.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Records: lines, elements of a document, or files.
    pub records: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Messages.
    pub messages: u64,
    /// Calls of tools in them.
    pub tool_calls: u64,
    /// Messages that are results of tools.
    pub tool_results: u64,
    /// Compactions of the agent.
    pub compactions: u64,
    /// Branches: the conversation continued from an earlier entry.
    pub branches: u64,
    /// Records of subagents inside the transcript of their parent.
    pub sidechains: u64,
    /// Records that could not be parsed. They are kept.
    pub unreadable: u64,
    /// Messages whose author no sign shows.
    pub guessed: u64,
    /// Records of unknown kinds, by kind. They are kept.
    pub unknown: BTreeMap<String, u64>,
    /// Records whose parent is missing from the transcript. They follow the previous record.
    pub missing_parents: u64,
    /// Record numbers and reasons of the first records that could not be parsed.
    pub problems: Vec<(u64, String)>,
}

/// An earlier import, read from the entry that ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Earlier {
    /// Number of complete records of the transcript.
    pub records: u64,
    /// Digest of their contents.
    pub digest: u64,
    /// Whether the last record had no line end yet.
    pub is_unended: bool,
    /// Bytes of the last line, if the transcript is text for people and the line had no line end yet. It may have been
    /// written in part.
    pub line: Option<usize>,
    /// Digest of the start of the transcript, which is not part of the records' digest. Agents write the time of the
    /// last change there.
    pub start: Option<u64>,
    /// Digest of the title in this start.
    pub title: Option<u64>,
    /// Digest of the end of the transcript, if it was not complete.
    pub partial: Option<u64>,
}

/// The imported contents of a session that is being updated.
#[derive(Debug, Clone, Default)]
pub struct Existing {
    /// Ids of its entries.
    pub ids: HashSet<String>,
    /// Earlier imports into it, oldest first.
    pub imports: Vec<Earlier>,
}

/// Why a transcript cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TranscriptError {
    /// A record exceeds the maximum length of a session line.
    #[error("record {record} has more than {limit} bytes")]
    TooLong {
        /// The record, counted from 1.
        record: u64,
        /// Maximum bytes of a record.
        limit: usize,
    },
    /// The transcript does not begin with the records that were imported before.
    #[error("one of the first {records} records is not what it was when they were imported")]
    Changed {
        /// Records that were imported.
        records: u64,
    },
    /// The transcript has fewer records than were imported.
    #[error("it has {found} records, fewer than the {records} that were imported")]
    Shrunk {
        /// Records that were imported.
        records: u64,
        /// Records that it has.
        found: u64,
    },
}

/// Reads the records of one agent.
trait Reader: std::fmt::Debug + Send {
    /// Takes the next record, keeps it, and adds the messages that are complete.
    fn read(&mut self, record: Record, tree: &mut Tree);

    /// Adds the message that is still waiting for records.
    fn flush(&mut self, tree: &mut Tree);
}

/// Turns a transcript into entries.
#[derive(Debug)]
pub struct Import {
    reader: Box<dyn Reader>,
    cutter: Cutter,
    tree: Tree,
    earlier: VecDeque<Earlier>,
    /// The most recent earlier import.
    last: Option<Earlier>,
    digest: Digest,
    /// The digest of everything, which the earliest imports stored.
    whole: Digest,
    start: Option<u64>,
    title: Option<u64>,
    partial: Option<u64>,
    /// The start of the transcript, if it differs from the earlier import.
    changed_start: Option<Record>,
    /// Number of complete records so far.
    records: u64,
    is_unended: bool,
    /// Bytes of the last line of a text.
    line: Option<usize>,
    is_text: bool,
}

impl Import {
    /// Starts an import of `source`. Records before the first timestamp get `time`, in epoch milliseconds.
    /// `existing` describes the session that is updated.
    ///
    /// Returns `None` for [`Agent::Pi`], whose files are sessions.
    pub fn new(source: &Source, time: i64, existing: Existing) -> Option<Self> {
        let reader: Box<dyn Reader> = match (source.agent, source.shape) {
            _ if source.is_exported() => Box::new(markdown::Markdown::exported(source.agent)),
            (Agent::ClaudeCode, _) => Box::new(claude_code::ClaudeCode::new(&source.id)),
            (Agent::Codex, _) => Box::new(codex::Codex::default()),
            (Agent::OpenCode, _) => Box::new(opencode::OpenCode::default()),
            (Agent::OpenHands, _) => Box::new(openhands::OpenHands::default()),
            (Agent::Aider, _) => Box::new(markdown::Markdown::aider()),
            (Agent::Cursor, _) => Box::new(cursor::Cursor),
            (Agent::Cline, Shape::Document) => Box::new(cline::History::default()),
            (Agent::Pi, _) => return None,
            (
                Agent::Cline
                | Agent::Gemini
                | Agent::Copilot
                | Agent::Windsurf
                | Agent::Amp
                | Agent::CodexScreen
                | Agent::ClaudeScreen
                | Agent::GeminiScreen,
                _,
            ) => Box::new(markdown::Markdown::exported(source.agent)),
        };
        let cut = if source.shape == Shape::Document { Cut::Elements } else { Cut::Lines };
        let mut tree = Tree::new(source.uuid(), existing.ids, source.time.unwrap_or(time));
        tree.replays = !existing.imports.is_empty();
        Some(Self {
            reader,
            cutter: Cutter::new(cut),
            tree,
            last: existing.imports.last().copied(),
            earlier: existing.imports.into(),
            digest: Digest::default(),
            whole: Digest::default(),
            start: None,
            title: None,
            partial: None,
            changed_start: None,
            records: 0,
            is_unended: false,
            line: None,
            is_text: source.shape == Shape::Text,
        })
    }

    /// Takes the next bytes of the transcript.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), TranscriptError> {
        self.cutter.feed(bytes);
        while let Some(record) = self.cutter.next() {
            self.record(record)?;
        }
        if self.cutter.pending() > MAX_RECORD {
            return Err(TranscriptError::TooLong { record: self.records + 1, limit: MAX_RECORD });
        }
        Ok(())
    }

    /// Takes the next file of a transcript that consists of many files.
    pub fn file(&mut self, name: &str, content: Vec<u8>) -> Result<(), TranscriptError> {
        let number = self.records + 1;
        self.record(Record { number, lines: 1, file: Some(name.to_owned()), content, ..Record::default() })
    }

    /// Ends the transcript. Fails if the transcript has fewer records than an earlier import.
    pub fn end(&mut self) -> Result<(), TranscriptError> {
        let rest = self.cutter.end(self.is_text);
        let partial = match rest {
            Some(record) if !record.is_partial => {
                self.record(record)?;
                None
            }
            rest => rest,
        };
        self.reader.flush(&mut self.tree);
        if let Some(last) = self.last.filter(|last| self.records < last.records) {
            return Err(TranscriptError::Shrunk { records: last.records, found: self.records });
        }
        if let Some(start) = self.changed_start.take() {
            self.tree.keep_aside(&start);
            let is_renamed = self.last.is_some_and(|last| last.title != self.title);
            if let Some(title) = title_of(&start).filter(|_| is_renamed) {
                self.tree.add_name_aside(&title);
            }
        }
        if let Some(record) = partial {
            self.partial(&record);
        }
        Ok(())
    }

    /// Keeps the incomplete end of a transcript, unless the earlier import kept the same end.
    fn partial(&mut self, record: &Record) {
        self.count(record);
        let digest = Digest::of(&[&record.number.to_le_bytes(), &record.before, &record.content]);
        self.partial = Some(digest);
        self.tree.begin(record.number);
        if self.last.and_then(|last| last.partial) != Some(digest) {
            self.tree.keep_aside(record);
        }
        if self.cutter.is_torn() {
            self.tree.problem("the transcript ends before it is complete");
        }
    }

    fn count(&mut self, record: &Record) {
        self.tree.report.bytes += (record.before.len() + record.content.len() + record.end.len()) as u64;
        self.tree.report.records += 1;
    }

    fn record(&mut self, record: Record) -> Result<(), TranscriptError> {
        self.count(&record);
        self.records = record.number;
        self.line = Some(record.content.len()).filter(|_| self.is_text && record.end.is_empty());
        let (digests, number, length) = ((self.digest, self.whole), record.number, record.content.len());
        let is_part =
            |earlier: &mut Earlier| earlier.records == number && earlier.line.is_some_and(|line| line < length);
        let mut rest = None;
        while let Some(earlier) = self.earlier.pop_front_if(is_part) {
            self.part(&record, rest.get_or_insert_with(|| record.clone()), earlier)?;
            (self.digest, self.whole) = digests;
        }
        self.add_to_digest(&record);
        let record = rest.unwrap_or(record);
        self.is_unended = record.end.is_empty() && record.file.is_none() && self.cutter.cuts_lines();
        let end = record.end.clone();
        self.reader.read(record, &mut self.tree);
        while let Some(earlier) = self.earlier.pop_front_if(|earlier| earlier.records <= self.records) {
            self.end_earlier(earlier, &end)?;
        }
        Ok(())
    }

    /// Repeats an earlier import that read only the start of `line`. `rest` is the part of the line that no repeated
    /// import has read so far; afterwards it is shorter.
    fn part(&mut self, line: &Record, rest: &mut Record, earlier: Earlier) -> Result<(), TranscriptError> {
        let length = earlier.line.unwrap_or_default();
        self.add_to_digest(&Record { content: line.content[..length].to_vec(), ..line.clone() });
        let read = line.content.len() - rest.content.len();
        if read < length {
            let content = rest.content.drain(..length - read).collect();
            let part = Record { content, end: Vec::new(), ..rest.clone() };
            rest.is_rest = true;
            rest.before.clear();
            self.reader.read(part, &mut self.tree);
        }
        self.end_earlier(earlier, &[])
    }

    /// Adds a record to the digest. The digest leaves out what agents change later: the start of a document, and the
    /// session's own file.
    fn add_to_digest(&mut self, record: &Record) {
        self.whole.add(&record.before);
        self.whole.add(&record.content);
        let is_session = record.file.as_ref().is_some_and(|file| file.starts_with(SESSION_FILES));
        if is_session || record.number == 1 {
            let content: &[u8] = if is_session { &record.content } else { &[] };
            let start = Some(Digest::of(&[&record.before, content]));
            self.start = start;
            self.title = title_of(record).map(|title| Digest::of(&[title.as_bytes()]));
            if self.last.is_some_and(|last| last.start.is_some_and(|last| Some(last) != start)) {
                let content = content.to_vec();
                let end = Vec::new();
                self.changed_start = Some(Record { is_again: true, content, end, ..record.clone() });
            }
        } else {
            self.digest.add(&record.before);
        }
        if !is_session {
            self.digest.add(&record.content);
        }
    }

    /// Repeats the end of an earlier import at this record, so that all entries get the same ids again.
    fn end_earlier(&mut self, earlier: Earlier, end: &[u8]) -> Result<(), TranscriptError> {
        self.reader.flush(&mut self.tree);
        // Imports that did not treat the start separately included it in their digest.
        let digest = if earlier.start.is_some() { self.digest } else { self.whole };
        if earlier.records == self.records && earlier.digest != digest.0 {
            return Err(TranscriptError::Changed { records: earlier.records });
        }
        self.tree.replays = !self.earlier.is_empty();
        if earlier.is_unended && !end.is_empty() && self.earlier.is_empty() {
            let number = self.records;
            self.tree.keep_end(&Record { number, lines: 1, end: end.to_vec(), ..Record::default() });
        }
        Ok(())
    }

    /// Takes the new entries since the last call. Entries that the session already has are left out.
    pub fn take(&mut self) -> Vec<Imported> {
        self.tree.take()
    }

    /// Whether everything that earlier imports read has been found again. Until then, it may be another conversation.
    pub fn is_checked(&self) -> bool {
        self.earlier.is_empty()
    }

    /// The counts so far.
    pub fn report(&self) -> &Report {
        &self.tree.report
    }

    /// The entry that ends this import. The next import reads it with [`earlier_import`].
    pub fn mark(&mut self) -> Imported {
        let tip = self.tree.tip().map_or_else(|| "null".to_owned(), |id| json::encode_string(id.as_str()));
        let digests = [("start", self.start), ("title", self.title), ("partial", self.partial)];
        let digests = digests.map(|(name, digest)| digest.map(|digest| format!(",\"{name}\":\"{digest:016x}\"")));
        let line = self.line.map(|line| format!(",\"line\":{line}"));
        let members = format!(
            "{{\"customType\":\"{IMPORT_TYPE}\",\"data\":{{\"records\":{},\"digest\":\"{:016x}\",\"unended\":{},\
             \"tip\":{tip}{}}}}}",
            self.records,
            self.digest.0,
            self.is_unended,
            digests.into_iter().chain([line]).flatten().collect::<String>(),
        );
        self.tree.mark(&members)
    }
}

/// Reads the entry that ended an import. Returns the import and its last entry. `data` is the member `data`.
pub fn earlier_import(data: &str) -> Option<(Earlier, Option<EntryId>)> {
    let data = Json::parse(data).ok()?;
    let digest = |name: &str| u64::from_str_radix(text_at(&data, &[name])?, 16).ok();
    let earlier = Earlier {
        records: count_at(&data, &["records"]),
        digest: digest("digest")?,
        is_unended: data.get("unended").and_then(Json::as_bool)?,
        line: data.get("line").map(|_| count_at(&data, &["line"]) as usize),
        start: digest("start"),
        title: digest("title"),
        partial: digest("partial"),
    };
    Some((earlier, text_at(&data, &["tip"]).map(EntryId::new)))
}

/// A digest of the records so far. Sessions store it.
#[derive(Debug, Clone, Copy)]
struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(hash::EMPTY)
    }
}

impl Digest {
    fn of(parts: &[&[u8]]) -> u64 {
        let mut digest = Self::default();
        parts.iter().for_each(|part| digest.add(part));
        digest.0
    }

    fn add(&mut self, bytes: &[u8]) {
        // The length separates the records: the same bytes cut elsewhere give another digest.
        let length = (bytes.len() as u64).to_le_bytes();
        self.0 = hash::continued(self.0, length.iter().chain(bytes).copied());
    }
}
