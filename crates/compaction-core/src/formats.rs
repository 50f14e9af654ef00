//! Messages in the shapes of model interfaces, read into our own and written back.
//!
//! [`read`] turns messages of one shape into our own. What our members cannot hold stays beside them, in
//! the member `compactd`, which other readers of the format pass over. [`write()`] gives them back: a message
//! that came in the wanted shape and was not changed since comes back as it was, text for text; all
//! others are written so that the interface takes them. Nothing is dropped in silence: a role or a part
//! that is not known is a [`FormatError`].

mod ai_sdk;
mod anthropic;
mod gemini;
mod node;
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

/// A shape of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Our own, that of the session file.
    Pi,
    /// `messages` of OpenAI's chat completions, and of all that speaks like it.
    OpenAi,
    /// Items of OpenAI's `responses`.
    OpenAiResponses,
    /// `messages` of Anthropic.
    Anthropic,
    /// `contents` of Gemini.
    Gemini,
    /// Model messages of the AI SDK; its UI messages are read too.
    AiSdk,
}

/// Names of the shapes, with `api` and `provider` of answers that came in them.
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

    /// The shape with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        NAMES.iter().find_map(|row| (row.1 == name).then_some(row.0))
    }

    /// The shape of answers of an interface, as our own messages name it.
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

    /// Whether instructions are no message of the interface but stand beside the messages.
    fn has_separate_system(self) -> bool {
        matches!(self, Self::Anthropic | Self::Gemini)
    }

    /// Reads the message at the start of `nodes`, or as many of them as make up one answer; gives how many
    /// were read, and what they say.
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
    /// Position of the message among those that were given.
    pub index: usize,
    /// Path inside the message; empty for the message itself.
    pub path: String,
    /// What would have been understood.
    pub expected: String,
    /// What stood there, shortly.
    pub found: String,
}

fn shown_path(path: &str) -> &str {
    if path.is_empty() { "the message itself" } else { path }
}

/// A message of ours that was read from another shape.
#[derive(Debug, Clone)]
pub struct Converted {
    /// The message.
    pub message: Message,
    /// Position of the message that it was read from; of the first one, where several make up one answer.
    pub source: usize,
}

/// Where a message came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mark {
    format: Format,
    /// How many of our messages the original became.
    parts: usize,
    /// Which of them this one is, counted from 0.
    part: usize,
}

/// Messages in the shape of an interface.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The instructions, for interfaces that take them beside the messages.
    pub system: Option<String>,
    /// The messages.
    pub messages: Vec<Box<RawValue>>,
}

impl Written {
    /// The messages as a request of the interface takes them: of answers that were kept whole, with usage
    /// and all, what a request may hold.
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

/// Reads messages of the shape `format`, each a JSON text.
///
/// `calls` are the calls that were made before them, and knows of theirs afterwards. `timestamp`, in
/// epoch milliseconds, is the time that ours get.
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
        common.iter().for_each(|common| calls.note(common));
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

/// Writes messages in the shape `format`.
///
/// They are written in the order given; calls and results must stand where models take them, as
/// [`crate::conversation::LlmContext`] puts them. Messages that no model sees are left out.
pub fn write(format: Format, messages: &[Arc<Message>]) -> Written {
    let mut writing = Writing { format, runs: Vec::new(), system: Vec::new(), ids: Ids::default() };
    let mut at = 0;
    while at < messages.len() {
        at += match original::whole_unit(format, &messages[at..]) {
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

/// One message that is written.
#[derive(Debug, Clone)]
struct WrittenMessage {
    text: String,
    is_original: bool,
}

/// Messages that are written together.
enum Run {
    /// As they came.
    Original(Vec<String>),
    /// To be written from the common form.
    New(Vec<CommonMessage>),
}

struct Writing {
    format: Format,
    runs: Vec<Run>,
    system: Vec<String>,
    /// Ids in what is given back as it came.
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
        // The texts were written here or were JSON when they came.
        let messages = written.into_iter().filter_map(|written| json::raw_value(written.text).ok()).collect();
        let system: Vec<String> = self.system.into_iter().filter(|text| !text.is_empty()).collect();
        Written { system: (!system.is_empty()).then(|| system.join("\n\n")), messages }
    }
}

/// Characters of a name that an error repeats.
const SHOWN: usize = 60;
const ROLES: &str = "`user`, `assistant`, `toolResult`, `bashExecution`, `custom` or `system`; messages of another \
                     interface are taken with `format`, data that no model shall see as an entry of type `custom`";
const ANSWER_BLOCKS: &str =
    "`text`, `thinking`, `toolCall` or `image`; what models shall see of anything else goes into a text";
const BLOCKS: &str = "`text` or `image`; what models shall see of anything else goes into a text";

/// Checks that a message says nothing that contexts and summaries would pass over: its role is known,
/// and so is each block, at a place where it is read. What a file holds already is not asked.
///
/// `index` is the position of the message among those that were given; the error names it.
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
