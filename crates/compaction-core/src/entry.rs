//! Entries: the lines of a session file (docs/session-format.md, "Lines").

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use memchr::memchr2;
use serde_json::value::RawValue;

use crate::json::{self, Json, NotAnObject, RawObject};
use crate::message::{Message, Usage};

/// The id of an entry, unique within its session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Accepts any text. Only a session knows whether an entry has this id.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self(id.into())
    }

    /// The text of the id.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::borrow::Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// An enum of stored names. Each variant is one name; `Other` is any unknown name.
macro_rules! stored_names {
    ($(#[$attribute:meta])* $type:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$doc])* $variant,)*
            /// A name that this version does not know.
            Other,
        }

        impl $type {
            /// The variant for a stored name.
            pub fn from_name(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Other,
                }
            }

            /// The stored name; `None` if it is unknown.
            pub fn name(self) -> Option<&'static str> {
                match self {
                    $(Self::$variant => Some($name),)*
                    Self::Other => None,
                }
            }
        }
    };
}

stored_names! {
    /// The type of an entry. An entry of an unknown type stays in the chain and contributes nothing to a context.
    EntryKind {
        /// A message of the conversation.
        Message = "message",
        /// A summary that replaces everything before its first kept entry.
        Compaction = "compaction",
        /// A summary of an abandoned branch.
        BranchSummary = "branch_summary",
        /// An extension's message, part of the context.
        CustomMessage = "custom_message",
        /// An extension's data, never part of the context.
        Custom = "custom",
        /// Hides or rewrites an earlier entry for the model.
        ContextEdit = "context_edit",
        /// Sets or clears the label of an entry.
        Label = "label",
        /// Changes the model from here on.
        ModelChange = "model_change",
        /// Changes the thinking level from here on.
        ThinkingLevelChange = "thinking_level_change",
        /// The session's name.
        SessionInfo = "session_info",
        /// Usage that belongs to no message.
        Usage = "usage",
    }
}

stored_names! {
    /// The role of a message, as far as its header shows it.
    #[expect(missing_docs, reason = "the names are those of the format")]
    Role {
        User = "user",
        Assistant = "assistant",
        ToolResult = "toolResult",
        BashExecution = "bashExecution",
        Custom = "custom",
        System = "system",
    }
}

/// The part of an entry that the tree needs. It can be read without the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryHeader {
    /// The entry's id.
    pub id: EntryId,
    /// The entry before it on its branch; `None` for a root.
    pub parent_id: Option<EntryId>,
    /// The entry's type.
    pub kind: EntryKind,
    /// The role of its message, for messages.
    pub role: Option<Role>,
}

/// Approximate bytes of a plain message's line, without the message.
const PLAIN_BYTES: usize = 128;

/// One entry: its unchanged line, and a view of it.
#[derive(Debug, Clone)]
pub struct Entry {
    line: Line,
    /// The line as a raw value, created on demand.
    raw: OnceLock<Box<RawValue>>,
    header: EntryHeader,
    kind_name: Cow<'static, str>,
    timestamp: Box<str>,
    body: EntryBody,
}

// A context may have a million entries, each with a message beside it.
const _: () = assert!(size_of::<Entry>() <= 192);

/// The line of an entry, without the text of its message if the message has it unchanged.
#[derive(Debug, Clone)]
enum Line {
    /// The line is built from the message and the members before it.
    Plain,
    /// The line without its message, and the byte where the message belongs.
    Around(Box<str>, usize),
    /// The whole line.
    Whole(Box<str>),
}

impl Line {
    /// Stores `line`, whose members are `object`.
    fn of(line: &str, object: &RawObject<'_>, body: &EntryBody) -> Self {
        let text = match body {
            EntryBody::Message(message) => object.get("message").filter(|text| message.raw().get() == *text),
            _ => None,
        };
        // The members are parts of the line.
        let split = text.and_then(|text| {
            let at = text.as_ptr().addr().checked_sub(line.as_ptr().addr())?;
            let after = line.get(at..)?.strip_prefix(text)?;
            Some((line.get(..at)?, after))
        });
        match split {
            Some((before, after)) => Self::Around([before, after].concat().into(), before.len()),
            None => Self::Whole(line.into()),
        }
    }
}

/// The content of an entry, by type.
#[derive(Debug, Clone)]
pub enum EntryBody {
    /// A message of the conversation.
    Message(Arc<Message>),
    /// A compaction.
    Compaction(Box<Compaction>),
    /// A branch summary.
    BranchSummary(Box<BranchSummary>),
    /// An extension's message in the form for a context.
    CustomMessage(Arc<Message>),
    /// An extension's data.
    Custom {
        /// The extension's name for its kind.
        custom_type: String,
        /// The data.
        data: Option<Box<RawValue>>,
    },
    /// An edit of an earlier entry for the model.
    ContextEdit {
        /// The entry that is edited.
        target_id: EntryId,
        /// What the model sees instead.
        replacement: Replacement,
    },
    /// A label set or cleared.
    Label {
        /// The labelled entry.
        target_id: EntryId,
        /// The label; `None` clears it.
        label: Option<String>,
    },
    /// Another model.
    ModelChange {
        /// Provider of the model.
        provider: String,
        /// Id of the model.
        model_id: String,
    },
    /// Another thinking level.
    ThinkingLevelChange {
        /// The level.
        thinking_level: String,
    },
    /// The session's name; `None` or empty clears it.
    SessionInfo {
        /// The name.
        name: Option<String>,
    },
    /// Usage that belongs to no message.
    Usage(Option<Usage>),
    /// A type that this version does not know.
    Other,
}

/// The replacement in a context edit.
#[derive(Debug, Clone)]
pub enum Replacement {
    /// Nothing: the entry is hidden.
    Hidden,
    /// This content.
    Content(Box<RawValue>),
    /// The stored edit is broken and changes nothing.
    Invalid,
}

/// A compaction: a summary that replaces the entries before it.
#[derive(Debug, Clone)]
pub struct Compaction {
    /// The summary's text.
    pub summary: String,
    /// The oldest entry that is kept. The compaction's own id keeps nothing.
    pub first_kept_entry_id: Option<EntryId>,
    /// Tokens of the context that was compacted.
    pub tokens_before: u64,
    /// Files named in `details`.
    pub files: FileLists,
    /// Whether later summaries carry the files on (docs/preparation.md, "File operations"): lists of a
    /// hook only if this program wrote the entry, because then they are complete.
    pub carries_files: bool,
    /// The whole `details`.
    pub details: Option<Box<RawValue>>,
    /// What the summary cost.
    pub usage: Option<Usage>,
    /// Whether a hook or a client gave the summary.
    pub from_hook: bool,
    /// The prompt and tools at the compaction.
    pub system_message: Option<Arc<Message>>,
}

/// A summary of an abandoned branch.
#[derive(Debug, Clone)]
pub struct BranchSummary {
    /// The summary's text.
    pub summary: String,
    /// The abandoned leaf; `root` if there was none.
    pub from_id: String,
    /// Files named in `details`.
    pub files: FileLists,
    /// Whether later summaries carry the files on (docs/preparation.md, "File operations"): lists of a
    /// hook only if this program wrote the entry, because then they are complete.
    pub carries_files: bool,
    /// What the summary cost.
    pub usage: Option<Usage>,
    /// Whether a hook or a client gave the summary.
    pub from_hook: bool,
}

/// Paths that a summary names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileLists {
    /// Files that were read and not changed.
    pub read_files: Vec<String>,
    /// Files that were written or edited.
    pub modified_files: Vec<String>,
    /// Number of files that did not fit, including files that were dropped and came back.
    pub left_out: u64,
}

impl FileLists {
    /// Reads `readFiles` and `modifiedFiles`, and `compactd.filesLeftOut`. Anything but lists of
    /// strings is ignored, because other programs store their own details (docs/field-reports.md,
    /// "Opening and reading").
    pub fn from_details(details: &str) -> Self {
        // Details may be large, so only the needed members are parsed.
        let details = RawObject::parse(details).unwrap_or_default();
        let list = |key: &str| match details.get(key).and_then(|list| Json::parse(list).ok()) {
            Some(Json::Array(items)) => items.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => Vec::new(),
        };
        let own = details.get("compactd").and_then(|own| RawObject::parse(own).ok());
        let left_out = own.and_then(|own| own.get("filesLeftOut")?.parse().ok()).unwrap_or(0);
        Self { read_files: list("readFiles"), modified_files: list("modifiedFiles"), left_out }
    }
}

/// Why a line is not an entry.
#[derive(Debug, thiserror::Error)]
pub enum EntryError {
    /// The line is not a JSON object.
    #[error("not a JSON object")]
    NotAnObject(#[source] serde_json::Error),
    /// The line is longer than the limit.
    #[error("it has {bytes} bytes, more than {limit}")]
    TooLong {
        /// Its bytes.
        bytes: u64,
        /// Bytes that a line may have.
        limit: usize,
    },
    /// The line has more values than the limit.
    #[error("it has {values} values or more, and at most {} are read", json::MAX_VALUES)]
    TooManyValues {
        /// Number of values that were counted.
        values: usize,
    },
    /// A required member is missing or has the wrong type.
    #[error("{member} is missing or not a string")]
    Member {
        /// Name of the member.
        member: &'static str,
    },
}

impl Entry {
    /// Reads one line of a session, without its line end.
    ///
    /// Fails if the line is not a JSON object or has no string `type` and `id`. Other missing or
    /// malformed members are read as absent.
    pub fn parse(line: &str) -> Result<Self, EntryError> {
        Self::parse_plain(line).map_or_else(|| Self::parse_members(line), Ok)
    }

    fn parse_members(line: &str) -> Result<Self, EntryError> {
        let object = RawObject::parse(line).map_err(EntryError::NotAnObject)?;
        let member = |member| object.string(member).ok_or(EntryError::Member { member });
        let kind_name = member("type")?;
        let id = EntryId::new(member("id")?);
        let timestamp = object.string("timestamp").unwrap_or_default();
        let kind = EntryKind::from_name(&kind_name);
        let body = read_body(kind, &object, epoch_milliseconds(&timestamp));
        let role = match &body {
            EntryBody::Message(message) => Some(Role::from_name(message.role())),
            _ => None,
        };
        let parent_id = object.string("parentId").map(EntryId::new);
        let header = EntryHeader { id, parent_id, kind, role };
        let (line, timestamp) = (Line::of(line, &object, &body), timestamp.into_boxed_str());
        let kind_name = kind.name().map_or(Cow::Owned(kind_name), Cow::Borrowed);
        Ok(Self { line, raw: OnceLock::new(), header, kind_name, timestamp, body })
    }

    /// A new entry for a message, equal to what [`Entry::parse`] returns for its line. `None` if the line would not
    /// have the usual form, or the message needs the time of the entry.
    pub fn of_message(
        id: &EntryId,
        parent_id: Option<&EntryId>,
        timestamp: &str,
        message: Arc<Message>,
    ) -> Option<Self> {
        let is_plain =
            |text: &str| text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
        let names = [Some(id.as_str()), parent_id.map(EntryId::as_str), Some(timestamp)];
        let is_usual = names.into_iter().flatten().all(is_plain) && !has_line_breaks(message.raw().get());
        (is_usual && message.timestamp().is_some())
            .then(|| Self::with_message(Line::Plain, id.clone(), parent_id.cloned(), timestamp, message))
    }

    /// Reads the line of a plain message. Behind the name `message` there is only one value and the
    /// closing brace, so there are no other members.
    fn parse_plain(line: &str) -> Option<Self> {
        let plain = PlainLine::split(line.as_bytes())?;
        // The part before the message is ASCII, so the message starts at a character boundary.
        let text = line.get(line.len() - plain.rest.len()..)?.strip_suffix('}')?;
        let timestamp = plain.timestamp.as_str();
        let message = Arc::new(Message::of_entry_text(text, || epoch_milliseconds(timestamp)).ok()?);
        // The parsed message may lack surrounding white space or have a repaired timestamp.
        let line = if message.raw().get() == text { Line::Plain } else { Line::Whole(line.into()) };
        let id = |text: PlainText<'_>| EntryId::new(text.as_str());
        Some(Self::with_message(line, id(plain.id), plain.parent_id.map(id), timestamp, message))
    }

    fn with_message(
        line: Line,
        id: EntryId,
        parent_id: Option<EntryId>,
        timestamp: &str,
        message: Arc<Message>,
    ) -> Self {
        let role = Some(Role::from_name(message.role()));
        Self {
            line,
            raw: OnceLock::new(),
            header: EntryHeader { id, parent_id, kind: EntryKind::Message, role },
            kind_name: Cow::Borrowed("message"),
            timestamp: timestamp.into(),
            body: EntryBody::Message(message),
        }
    }

    /// The line as stored.
    pub fn line(&self) -> Cow<'_, str> {
        match &self.line {
            Line::Plain => Cow::Owned(self.plain_line(self.message_text())),
            Line::Around(line, at) => Cow::Owned([&line[..*at], self.message_text(), &line[*at..]].concat()),
            Line::Whole(line) => Cow::Borrowed(line),
        }
    }

    /// Approximate bytes of the line.
    pub fn approximate_length(&self) -> usize {
        match &self.line {
            Line::Plain => self.message_text().len() + PLAIN_BYTES,
            Line::Around(line, _) => self.message_text().len() + line.len(),
            Line::Whole(line) => line.len(),
        }
    }

    /// The text of a message of the conversation.
    fn message_text(&self) -> &str {
        match &self.body {
            EntryBody::Message(message) => message.raw().get(),
            _ => "",
        }
    }

    /// The line with the parts that [`PlainLine`] split.
    fn plain_line(&self, message: &str) -> String {
        let EntryHeader { id, parent_id, .. } = &self.header;
        let (quote, parent) = parent_id.as_ref().map_or(("", "null"), |id| ("\"", id.as_str()));
        let parts = [
            r#"{"type":"message","id":""#,
            id.as_str(),
            r#"","parentId":"#,
            quote,
            parent,
            quote,
            r#","timestamp":""#,
            &self.timestamp,
            r#"","message":"#,
            message,
            "}",
        ];
        parts.concat()
    }

    /// The line as stored, as a raw JSON value.
    pub fn raw(&self) -> &RawValue {
        self.raw.get_or_init(|| {
            json::raw_value(self.line().into_owned()).expect("the line was split into the members of an object")
        })
    }

    /// Id, parent and type.
    pub fn header(&self) -> &EntryHeader {
        &self.header
    }

    /// The entry's id.
    pub fn id(&self) -> &EntryId {
        &self.header.id
    }

    /// The entry's type.
    pub fn kind(&self) -> EntryKind {
        self.header.kind
    }

    /// The stored `type`, even if it is unknown.
    pub fn kind_name(&self) -> &str {
        &self.kind_name
    }

    /// The stored timestamp: ISO 8601 if the writer followed the format.
    pub fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// The timestamp in epoch milliseconds; `None` if it is not a date.
    pub fn epoch_milliseconds(&self) -> Option<i64> {
        epoch_milliseconds(&self.timestamp)
    }

    /// The content of the entry.
    pub fn body(&self) -> &EntryBody {
        &self.body
    }

    /// The message of a `message` entry.
    pub fn message(&self) -> Option<&Arc<Message>> {
        match &self.body {
            EntryBody::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The compaction of a `compaction` entry.
    pub fn compaction(&self) -> Option<&Compaction> {
        match &self.body {
            EntryBody::Compaction(compaction) => Some(compaction),
            _ => None,
        }
    }

    /// The messages that the entry contributes to a context, before edits (docs/projection.md, "What an
    /// entry gives"). A compaction contributes its prompt, if it has one, and its summary.
    pub fn context_messages(&self) -> Vec<Arc<Message>> {
        match &self.body {
            EntryBody::Message(message) if !message.is_readable() => Vec::new(),
            EntryBody::Message(message) | EntryBody::CustomMessage(message) => vec![Arc::clone(message)],
            EntryBody::BranchSummary(branch) if !branch.summary.is_empty() => {
                vec![Arc::new(Message::branch_summary(&branch.summary, &branch.from_id, self.epoch_milliseconds()))]
            }
            EntryBody::Compaction(compaction) => {
                let time = self.epoch_milliseconds();
                let summary = Message::compaction_summary(&compaction.summary, compaction.tokens_before, time);
                let system = compaction.system_message.iter().filter(|message| message.is_readable());
                system.cloned().chain([Arc::new(summary)]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the entry contributes messages to a context, before edits.
    pub fn has_context_messages(&self) -> bool {
        match &self.body {
            EntryBody::Message(message) => message.is_readable(),
            EntryBody::CustomMessage(_) | EntryBody::Compaction(_) => true,
            EntryBody::BranchSummary(branch) => !branch.summary.is_empty(),
            _ => false,
        }
    }
}

/// Builds the line of a new entry: `type`, `id`, `parentId` and `timestamp` first, then `members`
/// in their order (docs/session-format.md, "Lines").
///
/// `members` must be a JSON object. Members with these four names are replaced.
pub fn new_entry_line(
    kind: &str,
    id: &EntryId,
    parent_id: Option<&EntryId>,
    timestamp: &str,
    members: &str,
) -> Result<String, NotAnObject> {
    let object = RawObject::parse(members)?;
    let mut line = String::with_capacity(members.len() + HEADER_CAPACITY);
    line.push_str("{\"type\":");
    json::write_string(kind, &mut line);
    line.push_str(",\"id\":");
    json::write_string(id.as_str(), &mut line);
    line.push_str(",\"parentId\":");
    match parent_id {
        Some(id) => json::write_string(id.as_str(), &mut line),
        None => line.push_str("null"),
    }
    line.push_str(",\"timestamp\":");
    json::write_string(timestamp, &mut line);
    for (name, value) in object.iter().filter(|(name, _)| !matches!(*name, "type" | "id" | "parentId" | "timestamp")) {
        line.push(',');
        json::write_string(name, &mut line);
        line.push(':');
        line.push_str(value);
    }
    line.push('}');
    Ok(one_line(line))
}

/// Bytes that a new line needs besides its members, if ids are no longer than UUIDs.
const HEADER_CAPACITY: usize = 192;

/// Replaces line breaks in a JSON text by spaces. Line breaks in strings are always escaped, so only
/// white space between tokens changes.
pub fn one_line(json: String) -> String {
    if has_line_breaks(&json) { json.replace(['\n', '\r'], " ") } else { json }
}

fn has_line_breaks(json: &str) -> bool {
    memchr2(b'\n', b'\r', json.as_bytes()).is_some()
}

/// Epoch milliseconds of an ISO 8601 time; `None` for other text.
pub fn epoch_milliseconds(timestamp: &str) -> Option<i64> {
    timestamp.parse::<jiff::Timestamp>().ok().map(|time| time.as_millisecond())
}

/// ISO 8601 in UTC with milliseconds, the form of stored timestamps. A time before the year -9999 or after 9999 becomes
/// the first or the last time of that range, so that it sorts correctly.
pub fn iso_timestamp(epoch_milliseconds: i64) -> String {
    let (first, last) = (jiff::Timestamp::MIN, jiff::Timestamp::MAX);
    let within = epoch_milliseconds.clamp(first.as_millisecond(), last.as_millisecond());
    let time = jiff::Timestamp::from_millisecond(within).unwrap_or(last);
    format!("{time:.3}")
}

fn read_body(kind: EntryKind, object: &RawObject<'_>, time: Option<i64>) -> EntryBody {
    let string = |key: &str| object.string(key).unwrap_or_default();
    let id = |key: &str| object.string(key).map(EntryId::new);
    let usage = |key: &str| Usage::from_json(&Json::parse(object.get(key)?).ok()?);
    let raw = |key: &str| object.raw(key);
    let present = |key: &str| raw(key).filter(|value| value.get() != "null");
    let is_true = |key: &str| object.get(key) == Some("true");
    let details = || object.get("details");
    let files = || details().map(FileLists::from_details).unwrap_or_default();
    let carries_files = || !is_true("fromHook") || details().is_some_and(is_written_here);
    match kind {
        EntryKind::Message => match raw("message") {
            Some(message) => EntryBody::Message(Arc::new(Message::of_entry(message, || time))),
            None => EntryBody::Other,
        },
        EntryKind::CustomMessage => EntryBody::CustomMessage(Arc::new(Message::custom(object, time))),
        EntryKind::Compaction => EntryBody::Compaction(Box::new(Compaction {
            summary: string("summary"),
            first_kept_entry_id: id("firstKeptEntryId"),
            tokens_before: object.get("tokensBefore").and_then(|n| n.parse::<f64>().ok()).map_or(0, |n| n as u64),
            files: files(),
            carries_files: carries_files(),
            details: present("details"),
            usage: usage("usage"),
            from_hook: is_true("fromHook"),
            system_message: present("systemMessage").map(|message| Arc::new(Message::from_raw(message))),
        })),
        EntryKind::BranchSummary => EntryBody::BranchSummary(Box::new(BranchSummary {
            summary: string("summary"),
            from_id: string("fromId"),
            files: files(),
            carries_files: carries_files(),
            usage: usage("usage"),
            from_hook: is_true("fromHook"),
        })),
        EntryKind::Custom => EntryBody::Custom { custom_type: string("customType"), data: raw("data") },
        EntryKind::ContextEdit => match id("targetId") {
            Some(target_id) => EntryBody::ContextEdit { target_id, replacement: read_replacement(object) },
            None => EntryBody::Other,
        },
        EntryKind::Label => match id("targetId") {
            Some(target_id) => {
                EntryBody::Label { target_id, label: object.string("label").filter(|label| !label.is_empty()) }
            }
            None => EntryBody::Other,
        },
        EntryKind::ModelChange => EntryBody::ModelChange { provider: string("provider"), model_id: string("modelId") },
        EntryKind::ThinkingLevelChange => EntryBody::ThinkingLevelChange { thinking_level: string("thinkingLevel") },
        EntryKind::SessionInfo => EntryBody::SessionInfo { name: object.string("name") },
        EntryKind::Usage => EntryBody::Usage(usage("usage")),
        EntryKind::Other => EntryBody::Other,
    }
}

/// Whether `details` belong to a summary that this program wrote.
fn is_written_here(details: &str) -> bool {
    let own = RawObject::parse(details).ok().and_then(|details| details.get("compactd").map(str::to_owned));
    own.is_some_and(|own| RawObject::parse(&own).is_ok_and(|own| own.string("summarizer").is_some()))
}

fn read_replacement(object: &RawObject<'_>) -> Replacement {
    let Some(replacement) = object.get("replacement") else {
        return Replacement::Invalid;
    };
    if replacement == "null" {
        return Replacement::Hidden;
    }
    let content = RawObject::parse(replacement).ok().and_then(|object| {
        let content = object.get("content")?;
        let is_content = content.starts_with(['"', '[']);
        is_content.then(|| json::raw_value(content.to_owned()).ok())?
    });
    content.map_or(Replacement::Invalid, Replacement::Content)
}

/// The line of a message entry up to its message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainLine<'a> {
    /// The entry's id.
    pub id: PlainText<'a>,
    /// The entry before it; `None` for a root.
    pub parent_id: Option<PlainText<'a>>,
    /// The stored timestamp.
    pub timestamp: PlainText<'a>,
    /// The rest of the line after the name `message` and its colon.
    pub rest: &'a [u8],
}

impl<'a> PlainLine<'a> {
    /// Splits a line that begins with `type`, `id`, `parentId`, `timestamp` and `message`, in this
    /// order, without white space and escapes before the message. `None` for other lines.
    ///
    /// The rest is not checked. Later members may have the same names and would take precedence.
    pub fn split(line: &'a [u8]) -> Option<Self> {
        let (id, rest) = PlainText::read(line.strip_prefix(br#"{"type":"message","id":""#)?)?;
        let rest = rest.strip_prefix(br#","parentId":"#)?;
        let (parent_id, rest) = match rest.strip_prefix(b"null") {
            Some(rest) => (None, rest),
            None => PlainText::read(rest.strip_prefix(b"\"")?).map(|(id, rest)| (Some(id), rest))?,
        };
        let (timestamp, rest) = PlainText::read(rest.strip_prefix(br#","timestamp":""#)?)?;
        let rest = rest.strip_prefix(br#","message":"#)?;
        Some(Self { id, parent_id, timestamp, rest })
    }
}

/// A string of printable ASCII that is stored without escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainText<'a>(&'a [u8]);

impl<'a> PlainText<'a> {
    /// Reads a string after its opening quote. Returns it and the bytes after its closing quote. `None` if it has other
    /// characters, or escapes.
    pub fn read(bytes: &'a [u8]) -> Option<(Self, &'a [u8])> {
        let end = bytes.iter().position(|byte| !IS_PLAIN[usize::from(*byte)])?;
        (bytes[end] == b'"').then(|| (Self(&bytes[..end]), &bytes[end + 1..]))
    }

    /// The bytes of the string.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    /// The string. Checks the bytes again.
    pub fn as_str(self) -> &'a str {
        std::str::from_utf8(self.0).unwrap_or_default()
    }
}

/// Whether a byte is printable ASCII and neither a quote nor a backslash.
const IS_PLAIN: [bool; 256] = {
    let (mut plain, mut byte) = ([false; 256], b' ');
    while byte <= b'~' {
        plain[byte as usize] = byte != b'"' && byte != b'\\';
        byte += 1;
    }
    plain
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_the_entry_that_its_line_is_read_as() {
        let time = "2025-11-20T23:33:01.544Z";
        let check = |id: &str, parent: Option<&str>, message: &str, is_usual: bool| {
            let (id, parent) = (EntryId::new(id), parent.map(EntryId::new));
            let message = Arc::new(Message::from_json(message).unwrap());
            let made = Entry::of_message(&id, parent.as_ref(), time, message);
            assert_eq!(made.is_some(), is_usual, "{id} {parent:?}");
            let Some(made) = made else { return };
            let read = Entry::parse(&made.line()).unwrap();
            assert_eq!((read.line(), read.header(), read.timestamp()), (made.line(), made.header(), made.timestamp()));
            let (read, made) = (read.message().unwrap(), made.message().unwrap());
            assert_eq!(
                (read.raw().get(), read.timestamp(), read.body()),
                (made.raw().get(), made.timestamp(), made.body())
            );
        };
        check("a1", None, r#"{"role":"user","content":"x","timestamp":7}"#, true);
        check(
            "a1",
            Some("b 2"),
            r#"{"role":"toolResult","toolCallId":"c","content":null,"timestamp":1.5,"x":[{}]}"#,
            true,
        );
        check("a1", Some("b2"), r#"{"role":"assistant","content":[{"type":"text","text":"\n"}],"timestamp":7}"#, true);
        check("a1", None, r#"{"role":"user","content":"x"}"#, false);
        check("a1", None, "{\"role\":\"user\",\n\"content\":\"x\",\"timestamp\":7}", false);
        check("a\"1", None, r#"{"role":"user","content":"x","timestamp":7}"#, false);
        check("a1", Some("é"), r#"{"role":"user","content":"x","timestamp":7}"#, false);
    }

    #[test]
    fn timestamps_have_milliseconds_and_come_back() {
        assert_eq!(iso_timestamp(1_763_681_581_544), "2025-11-20T23:33:01.544Z");
        assert_eq!(iso_timestamp(1_763_681_581_000), "2025-11-20T23:33:01.000Z");
        assert_eq!(iso_timestamp(253_402_300_800_000), "9999-12-30T22:00:00.999Z", "the last one that can be written");
        assert_eq!(epoch_milliseconds("2025-11-20T23:33:01.544Z"), Some(1_763_681_581_544));
        assert_eq!(epoch_milliseconds("yesterday"), None);
    }

    #[test]
    fn a_line_is_carried_through_byte_for_byte() {
        let line = r#"{"x" : [1 , 2],"timestamp":"t","type":"future","id":"a","parentId":null}"#;
        let entry = Entry::parse(line).unwrap();
        assert_eq!(entry.raw().get(), line);
        for (line, holds_message) in [
            (
                r#"{"type":"message", "id":"a","parentId":null,"timestamp":"t" ,"message":{"role":"user","content":"é","timestamp":1}}"#,
                false,
            ),
            (
                r#"{"message":{"role":"user","content":"x","timestamp":1},"type":"message","id":"a","more":{"role":"é"}}"#,
                false,
            ),
            (r#"{"type":"message","id":"a","message": {"role":"user","content":"x","timestamp":1}}"#, false),
            // The time of the entry replaces that of the message.
            (
                r#"{"type":"message","id":"a","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x","timestamp":"soon"}}"#,
                true,
            ),
        ] {
            let entry = Entry::parse(line).unwrap();
            assert_eq!((&*entry.line(), entry.raw().get(), entry.approximate_length()), (line, line, line.len()));
            assert_eq!(matches!(entry.line, Line::Whole(_)), holds_message, "{line}");
        }
        assert_eq!((entry.kind(), entry.kind_name()), (EntryKind::Other, "future"));
    }

    #[test]
    fn files_of_a_hook_are_carried_on_where_this_program_wrote_them() {
        let check = |members: &str, expected: bool| {
            for kind in ["compaction", "branch_summary"] {
                let line = format!(r#"{{"type":"{kind}","id":"a","parentId":null,"timestamp":"t"{members}}}"#);
                let carries = match Entry::parse(&line).unwrap().body() {
                    EntryBody::Compaction(compaction) => compaction.carries_files,
                    EntryBody::BranchSummary(branch) => branch.carries_files,
                    _ => panic!("{line}"),
                };
                assert_eq!(carries, expected, "{line}");
            }
        };
        check("", true);
        check(r#","details":{"readFiles":["a"]}"#, true);
        check(r#","fromHook":false,"details":{"compactd":5}"#, true);
        check(r#","fromHook":true"#, false);
        check(r#","fromHook":true,"details":{"readFiles":["a"]}"#, false);
        check(r#","fromHook":true,"details":{"compactd":{}}"#, false);
        check(r#","fromHook":true,"details":{"compactd":"summarizer"}"#, false);
        check(r#","fromHook":true,"details":{"compactd":{"summarizer":"hook"},"readFiles":["a"]}"#, true);
    }

    #[test]
    fn own_lines_put_the_header_first_and_stay_on_one_line() {
        let id = EntryId::new("00000001");
        let line = new_entry_line("custom", &id, None, "T", "{\"data\":\n{\"a\":1},\"id\":\"evil\"}").unwrap();
        assert_eq!(
            line,
            r#"{"type":"custom","id":"00000001","parentId":null,"timestamp":"T","data": {"a":1}}"#.replace(": {", ":{")
        );
    }

    #[test]
    fn whatever_is_read_can_be_sent_on() {
        let deep = format!(r#"{{"type":"custom","id":"a","data":{}{}}}"#, "[".repeat(5000), "]".repeat(5000));
        for line in [
            r#"{"\ud83d":1,"type":"custom","id":"a","data":{"\udc00":"\ud800"}}"#,
            r#"{"type":"message","id":"a","message":{"role":"user","content":"\ud83d","x":1e999}}"#,
            r#"{"type":"custom_message","id":"a","customType":"\ud83d","content":[{"\ud83d":1e999}],"details":{"\ud83d":0}}"#,
            r#" {"type":"compaction","id":"a","id":"b","summary":"\ud800","systemMessage":{"role":"system"}} "#,
            &deep,
        ] {
            let entry = Entry::parse(line).unwrap();
            assert_eq!(entry.raw().get().trim(), line.trim());
            for message in entry.context_messages() {
                assert!(serde_json::from_str::<&RawValue>(message.raw().get()).is_ok());
            }
        }
    }

    #[test]
    fn plain_messages_are_read_as_all_lines_are() {
        let start = r#"{"type":"message","id":"a","parentId":null,"timestamp":"T","message":"#;
        let parented = start.replace("null", "\"b\"");
        let rests = [
            (r#"{"role":"user","content":"x"}}"#, true),
            (r#" {"role":"assistant","content":[{"type":"text","text":"\ud83d"}]} }"#, true),
            ("7}", true),
            ("null}", true),
            (r#"{"role":"user"},"id":"c"}"#, false),
            (r#"{"role":"user"},"message":{"role":"system"}}"#, false),
            (r#"{"role":"user"}"#, false),
            (r#"{"role":"user"}}}"#, false),
            ("}", false),
        ];
        for (line, is_plain) in rests.iter().flat_map(|(rest, is_plain)| {
            [(format!("{start}{rest}"), is_plain), (format!("{parented}{rest}"), is_plain)]
        }) {
            let plain = Entry::parse_plain(&line);
            assert_eq!(plain.is_some(), *is_plain, "{line}");
            let shown = |entry: &Entry| {
                let message = entry.message().map(|message| message.raw().get().to_owned());
                (entry.header().clone(), entry.kind_name().to_owned(), entry.timestamp().to_owned(), message)
            };
            let whole = Entry::parse_members(&line).ok();
            assert_eq!(plain.as_ref().map(shown), whole.as_ref().filter(|_| *is_plain).map(shown), "{line}");
        }
    }

    #[test]
    fn broken_bodies_are_read_as_absent() {
        for line in [
            r#"{"type":"message","id":"a"}"#,
            r#"{"type":"message","id":"a","message":7}"#,
            r#"{"type":"message","id":"a","message":{"role":"assistant","content":{"no":1},"usage":[]}}"#,
            r#"{"type":"compaction","id":"a","summary":4,"tokensBefore":"x","details":[1]}"#,
            r#"{"type":"context_edit","id":"a","targetId":"b","replacement":{"content":4}}"#,
            r#"{"type":"custom_message","id":"a","content":null}"#,
        ] {
            let entry = Entry::parse(line).unwrap();
            assert_eq!(entry.raw().get(), line);
            let _ = entry.context_messages();
        }
    }
}
