//! Conversion between the message formats of model interfaces and the format of session files.
//!
//! [`read`] converts messages to the session format. The member `compactd` keeps what that format cannot
//! express; other readers of session files ignore it. [`write()`] converts back. A message that is written in
//! the format it came in, and was not changed since, comes back byte for byte. Any other message is written in
//! a form that the interface accepts. Unknown roles and parts are a [`FormatError`], so nothing is lost
//! silently.

mod ai_sdk;
mod anthropic;
mod gemini;
pub(crate) mod node;
mod openai;
mod original;
mod parts;
mod responses;

use std::sync::Arc;

use node::Node;
use original::Unit;
use parts::{CommonMessage, Ids};
use serde_json::value::RawValue;

use crate::json::{self, Json, RawObject};
use crate::message::Message;

pub use parts::Calls;
pub(crate) use parts::media_block;

/// A message format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// The format of session files.
    Pi,
    /// `messages` of OpenAI's chat completions and compatible servers.
    OpenAi,
    /// Items of OpenAI's `responses`.
    OpenAiResponses,
    /// `messages` of Anthropic.
    Anthropic,
    /// `contents` of Gemini.
    Gemini,
    /// Model messages of the AI SDK. Its UI messages can be read too.
    AiSdk,
}

/// The formats with their names, and the `api` and `provider` of answers in them.
const NAMES: [(Format, &str, &str, &str); 6] = [
    (Format::Pi, "pi", "", ""),
    (Format::OpenAi, "openai", "openai-completions", "openai"),
    (Format::OpenAiResponses, "openai-responses", "openai-responses", "openai"),
    (Format::Anthropic, "anthropic", "anthropic-messages", "anthropic"),
    (Format::Gemini, "gemini", "google-generative-ai", "google"),
    (Format::AiSdk, "ai-sdk", "ai-sdk", "ai-sdk"),
];

impl Format {
    /// Its name on the wire and in files.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find_map(|row| (row.1 == name).then_some(row.0))
    }

    /// The format of an interface, by the `api` of a stored answer.
    fn of_api(api: &str) -> Option<Self> {
        NAMES.iter().find_map(|row| (row.2 == api && !api.is_empty()).then_some(row.0))
    }

    fn api(self) -> &'static str {
        self.row().2
    }

    fn provider(self) -> &'static str {
        self.row().3
    }

    fn row(self) -> &'static (Self, &'static str, &'static str, &'static str) {
        NAMES.iter().find(|row| row.0 == self).unwrap_or(&NAMES[0])
    }

    /// Whether the interface takes instructions as a separate field and not as a message.
    fn has_separate_system(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini)
    }

    /// Whether that field also takes instructions that came between messages.
    fn takes_later_system(self) -> bool {
        self == Self::Anthropic
    }

    /// Reads the first message of `nodes`, or the first items if several make up one answer. Returns the number
    /// of items that were read, and their content.
    fn read_first(self, nodes: &[Node<'_>], calls: &mut Calls) -> Result<(usize, Vec<CommonMessage>), FormatError> {
        match self {
            Self::Pi => Ok((1, Vec::new())),
            Self::OpenAi => openai::read(&nodes[0], calls).map(|common| (1, common)),
            Self::OpenAiResponses => responses::read(nodes, calls),
            Self::Anthropic => anthropic::read(&nodes[0], calls).map(|common| (1, common)),
            Self::Gemini => gemini::read(&nodes[0], calls).map(|common| (1, common)),
            Self::AiSdk => ai_sdk::read(&nodes[0], calls).map(|common| (1, common)),
        }
    }

    fn write_all(self, common: &[CommonMessage], ids: &Ids) -> Vec<Json<'static>> {
        match self {
            Self::Pi => common.iter().map(CommonMessage::to_message).collect(),
            Self::OpenAi => openai::write(common, ids),
            Self::OpenAiResponses => responses::write(common, ids),
            Self::Anthropic => anthropic::write(common, ids),
            Self::Gemini => gemini::write(common, ids),
            Self::AiSdk => ai_sdk::write(common, ids),
        }
    }
}

/// Why a message could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("message {index}, {}: expected {expected}; found {found}", shown_path(.path))]
pub struct FormatError {
    /// Index of the message in the input.
    pub index: usize,
    /// Path inside the message; empty for the message itself.
    pub path: String,
    /// What was expected there.
    pub expected: String,
    /// A short description of what was found.
    pub found: String,
}

fn shown_path(path: &str) -> &str {
    if path.is_empty() { "the message itself" } else { path }
}

/// A message in the session format, read from another format.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The message.
    pub message: Message,
    /// Index of the message that it was read from; the first one if several make up one answer.
    pub source: usize,
}

/// The origin of a converted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    format: Format,
    /// Number of messages that the original became.
    parts: usize,
    /// Index of this one among them.
    part: usize,
}

/// Messages in the format of an interface.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The instructions, if the interface takes them as a separate field.
    pub system: Option<String>,
    /// The messages.
    pub messages: Vec<Box<RawValue>>,
}

impl Written {
    /// The same messages for a request. An answer that was stored as the interface returned it loses the members that a
    /// request must not have.
    pub fn for_request(mut self, format: Format) -> Self {
        if format == Format::Anthropic {
            for message in &mut self.messages {
                if let Some(Ok(stripped)) = anthropic::for_request(message.get()).map(json::raw_value) {
                    *message = stripped;
                }
            }
        }
        self
    }
}

/// Converts messages, each a JSON text, to the session format.
///
/// `calls` has the calls of earlier messages; the calls of these messages are added. `timestamp` is the time of the
/// results, in epoch milliseconds.
pub fn read(
    format: Format,
    messages: &[&str],
    calls: &mut Calls,
    timestamp: Option<i64>,
) -> Result<Vec<Converted>, FormatError> {
    if format == Format::Pi {
        return read_pi(messages);
    }
    let trees = messages.iter().enumerate().map(|(index, text)| parse(index, text));
    let trees: Vec<Json<'static>> = trees.collect::<Result<_, _>>()?;
    let nodes: Vec<Node<'_>> = trees.iter().enumerate().map(|(index, json)| Node::message(json, index)).collect();
    let mut converted = Vec::new();
    let mut at = 0;
    while at < nodes.len() {
        let (count, common) = format.read_first(&nodes[at..], calls)?;
        common.iter().for_each(|common| calls.record(common));
        let unit = Unit { format, originals: &trees[at..at + count], texts: &messages[at..at + count] };
        let stored = unit.stored(&common, timestamp);
        let stored = stored.map_err(|error| nodes[at].error(&format!("JSON that can be written again ({error})")))?;
        converted.extend(stored.into_iter().map(|message| Converted { message, source: at }));
        at += count;
    }
    Ok(converted)
}

fn read_pi(messages: &[&str]) -> Result<Vec<Converted>, FormatError> {
    let read = |(source, text): (usize, &&str)| {
        let tree = parse(source, text)?;
        let members = RawObject::parse(text).map_err(|_| FormatError {
            index: source,
            path: String::new(),
            expected: "an object with a string role".to_owned(),
            found: "nothing".to_owned(),
        })?;
        check_pi(&members, source)?;
        let message = Message::from_json(text);
        let message = message.map_err(|_| Node::message(&tree, source).error("an object with a string role"))?;
        Ok(Converted { message, source })
    };
    messages.iter().enumerate().map(read).collect()
}

fn parse(index: usize, text: &str) -> Result<Json<'static>, FormatError> {
    let problem = |found: String| FormatError {
        index,
        path: String::new(),
        expected: "a message: a JSON object".to_owned(),
        found,
    };
    match Json::parse(text) {
        Ok(tree @ Json::Object(_)) => Ok(tree.into_owned()),
        Ok(other) => Err(problem(Node::message(&other.into_owned(), index).error("").found)),
        Err(error) => Err(problem(error.to_string())),
    }
}

/// Converts messages to `format`.
///
/// The order does not change, so results must follow their calls as in [`crate::conversation::LlmContext`].
/// Messages that models do not see are left out.
pub fn write(format: Format, messages: &[Arc<Message>]) -> Written {
    let mut writing = Writing { format, runs: Vec::new(), system: Vec::new(), ids: Ids::default() };
    let mut at = 0;
    while at < messages.len() {
        at += match original::whole_unit(format, &messages[at..], writing.runs.is_empty()) {
            Some((count, texts)) => {
                writing.ids.keep(&messages[at..at + count]);
                writing.runs.push(Run::Original(texts));
                count
            }
            None => {
                writing.add(&messages[at]);
                1
            }
        };
    }
    writing.finish()
}

/// A message of the output.
#[derive(Debug, Clone)]
struct WrittenMessage {
    text: String,
    is_original: bool,
}

/// Messages that are written in one step.
enum Run {
    /// The originals.
    Original(Vec<String>),
    /// To be written from the common form.
    New(Vec<CommonMessage>),
}

struct Writing {
    format: Format,
    runs: Vec<Run>,
    system: Vec<String>,
    /// Ids in the originals.
    ids: Ids,
}

impl Writing {
    fn add(&mut self, message: &Message) {
        let common = match CommonMessage::of_message(message) {
            Some(CommonMessage::System(content)) if self.format.has_separate_system() => {
                self.system.push(content.to_text());
                return;
            }
            Some(common) => common,
            None => return,
        };
        match self.runs.last_mut() {
            Some(Run::New(run)) => run.push(common),
            _ => self.runs.push(Run::New(vec![common])),
        }
    }

    fn finish(self) -> Written {
        let mut written = Vec::new();
        for run in self.runs {
            let (texts, is_original) = match run {
                Run::Original(texts) => (texts, true),
                Run::New(common) => {
                    let written = self.format.write_all(&common, &self.ids);
                    (written.iter().map(Json::to_compact).collect(), false)
                }
            };
            written.extend(texts.into_iter().map(|text| WrittenMessage { text, is_original }));
        }
        if self.format == Format::Anthropic {
            written = anthropic::merged(written);
        }
        // The texts were encoded here, or they were JSON in the input.
        let messages = written.into_iter().filter_map(|written| json::raw_value(written.text).ok()).collect();
        let system: Vec<String> = self.system.into_iter().filter(|text| !text.is_empty()).collect();
        Written { system: (!system.is_empty()).then(|| system.join("\n\n")), messages }
    }
}

/// Maximum characters of a name in an error.
const SHOWN: usize = 60;
const ROLES: &str = "`user`, `assistant`, `toolResult`, `bashExecution`, `custom` or `system`; messages of another \
                     interface are taken with `format`, data that no model shall see as an entry of type `custom`";
const ANSWER_BLOCKS: &str =
    "`text`, `thinking`, `toolCall` or `image`; what models shall see of anything else goes into a text";
const BLOCKS: &str = "`text` or `image`; what models shall see of anything else goes into a text";

/// Checks that a message in the session format has a known role and only blocks that its role may have. Contexts
/// and summaries would ignore anything else. Stored messages are not checked.
///
/// `index` is the index of the message in the input, for the error.
pub fn check_pi(message: &RawObject<'_>, index: usize) -> Result<(), FormatError> {
    let problem = |path: String, expected: &str, found: &str| {
        let found: String = found.chars().take(SHOWN).collect();
        let found = if found.is_empty() { "nothing".to_owned() } else { format!("`{found}`") };
        FormatError { index, path, expected: expected.to_owned(), found }
    };
    let role = message.string("role").unwrap_or_default();
    let (kinds, expected): (&[&str], &str) = match role.as_str() {
        "assistant" => (&["text", "thinking", "toolCall", "image"], ANSWER_BLOCKS),
        "user" | "toolResult" | "custom" | "system" => (&["text", "image"], BLOCKS),
        "bashExecution" => return Ok(()),
        role => return Err(problem("role".to_owned(), ROLES, role)),
    };
    let content = message.get("content");
    if content.is_some_and(|content| !content.starts_with(['"', '[']) && content != "null") {
        return Err(problem("content".to_owned(), "a string or a list of blocks", "another value"));
    }
    let content = content.filter(|content| content.starts_with('['));
    let blocks: Vec<&RawValue> = content.and_then(|content| serde_json::from_str(content).ok()).unwrap_or_default();
    for (at, block) in blocks.iter().enumerate() {
        let kind = RawObject::parse(block.get()).ok().and_then(|block| block.string("type")).unwrap_or_default();
        if !kinds.contains(&kind.as_str()) {
            return Err(problem(format!("content[{at}].type"), expected, &kind));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
