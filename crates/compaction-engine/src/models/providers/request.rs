//! The parts of a request that depend on the server: the messages of a conversation that it continues, and members that
//! the server rejects.
//!
//! Messages are written as text, with the members of arguments and schemas in their stored order, because a provider's
//! cache depends on the exact text. The shapes are those of pi, whose session format this is; other hosts probably send
//! the same. Servers that offer a provider's interface may not know all of its members, or know them by other names.
//! Only the text of the refusal says which member is rejected.

use std::borrow::Cow;

use compaction_core::conversation::Prefix;
use compaction_core::json::{Json, encode_string};
use compaction_core::message::Message;
use serde_json::{Map, Value, json};

/// The text of a tool result with only images.
pub(super) const ONLY_IMAGES: &str = "(see attached image)";
/// The text before the images of tool results, where results are plain texts.
const IMAGES_OF_RESULTS: &str = "Attached image(s) from tool result:";

/// A message of the conversation.
pub(super) enum PrefixMessage<'m> {
    /// A user message.
    User(Vec<Part<'m>>),
    /// An answer of the model.
    Answer(Vec<Part<'m>>),
    /// A tool result.
    Result {
        /// The call that it answers.
        call_id: Cow<'m, str>,
        /// Texts and images.
        parts: Vec<Part<'m>>,
        /// Whether it failed.
        is_error: bool,
    },
}

/// A part of a message.
pub(super) enum Part<'m> {
    /// Text.
    Text(Cow<'m, str>),
    /// An image.
    Image {
        /// Its type.
        mime_type: Cow<'m, str>,
        /// Its bytes in base64.
        data: Cow<'m, str>,
    },
    /// Thinking.
    Thinking {
        /// The readable text.
        text: Cow<'m, str>,
        /// The provider's signature.
        signature: Option<Cow<'m, str>>,
        /// Whether the thinking is only in the signature.
        is_redacted: bool,
    },
    /// A call of a tool.
    Call {
        /// Its id.
        id: Cow<'m, str>,
        /// The tool.
        name: Cow<'m, str>,
        /// Its arguments as a JSON object.
        arguments: String,
    },
}

/// The messages of a conversation, without unknown roles and unknown types of parts.
pub(super) fn prefix_messages(prefix: &Prefix) -> impl Iterator<Item = PrefixMessage<'_>> {
    prefix.messages.iter().filter_map(|message| read(message))
}

fn read(message: &Message) -> Option<PrefixMessage<'_>> {
    let mut json = Json::parse(message.raw().get()).ok()?;
    let parts = parts(json.take("content"));
    match message.role() {
        "user" => Some(PrefixMessage::User(parts)),
        "assistant" => Some(PrefixMessage::Answer(parts)),
        "toolResult" => {
            let is_error = json.get("isError").and_then(Json::as_bool).unwrap_or(false);
            Some(PrefixMessage::Result { call_id: text(&mut json, "toolCallId").unwrap_or_default(), parts, is_error })
        }
        _ => None,
    }
}

fn parts(content: Option<Json<'_>>) -> Vec<Part<'_>> {
    match content {
        Some(Json::String(text)) => vec![Part::Text(text)],
        Some(Json::Array(blocks)) => blocks.into_iter().filter_map(part).collect(),
        _ => Vec::new(),
    }
}

fn part(mut block: Json<'_>) -> Option<Part<'_>> {
    match block.get("type")?.as_str()? {
        "text" => Some(Part::Text(text(&mut block, "text")?)),
        "image" => Some(Part::Image { mime_type: text(&mut block, "mimeType")?, data: text(&mut block, "data")? }),
        "thinking" => Some(Part::Thinking {
            is_redacted: block.get("redacted").and_then(Json::as_bool).unwrap_or(false),
            signature: text(&mut block, "thinkingSignature").filter(|signature| !signature.trim().is_empty()),
            text: text(&mut block, "thinking").unwrap_or_default(),
        }),
        "toolCall" => Some(Part::Call {
            id: text(&mut block, "id")?,
            name: text(&mut block, "name")?,
            arguments: object_or_empty(block.get("arguments")),
        }),
        _ => None,
    }
}

fn text<'m>(json: &mut Json<'m>, key: &str) -> Option<Cow<'m, str>> {
    match json.take(key) {
        Some(Json::String(text)) => Some(text),
        _ => None,
    }
}

/// An object as compact JSON; an empty object for any other value.
pub(super) fn object_or_empty(json: Option<&Json<'_>>) -> String {
    match json {
        Some(json @ (Json::Object(_) | Json::Deep(_))) => json.to_compact(),
        _ => "{}".to_owned(),
    }
}

/// An interface in which tool results are plain texts.
pub(super) trait TextResults {
    /// A user message; `None` if it would be empty.
    fn user(&self, parts: &[Part<'_>]) -> Option<String>;

    /// The messages of an answer.
    fn answer(&self, parts: &[Part<'_>], out: &mut Vec<String>);

    /// The message of a result.
    fn result(&self, call_id: &str, text: &str) -> String;
}

/// The messages of a conversation for such an interface. Results directly follow their calls, so the images of an
/// answer's results go into a user message after all of them.
pub(super) fn with_text_results(prefix: &Prefix, language: &impl TextResults, out: &mut Vec<String>) {
    let mut images = Vec::new();
    for message in prefix_messages(prefix) {
        if !matches!(message, PrefixMessage::Result { .. }) {
            out.extend(images_of_results(&mut images, language));
        }
        match message {
            PrefixMessage::User(parts) => out.extend(language.user(&parts)),
            PrefixMessage::Answer(parts) => language.answer(&parts, out),
            PrefixMessage::Result { call_id, parts, .. } => {
                let text = joined(&parts, "\n");
                let text = if text.is_empty() && has_image(&parts) { ONLY_IMAGES } else { &text };
                out.push(language.result(&call_id, text));
                images.extend(parts.into_iter().filter(|part| matches!(part, Part::Image { .. })));
            }
        }
    }
    out.extend(images_of_results(&mut images, language));
}

fn images_of_results(images: &mut Vec<Part<'_>>, language: &impl TextResults) -> Option<String> {
    if images.is_empty() {
        return None;
    }
    let introduction = Part::Text(Cow::Borrowed(IMAGES_OF_RESULTS));
    language.user(&[introduction].into_iter().chain(images.drain(..)).collect::<Vec<_>>())
}

/// The texts among parts, joined by `separator`.
pub(super) fn joined(parts: &[Part<'_>], separator: &str) -> String {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_ref()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(separator)
}

/// Whether there is an image among parts.
pub(super) fn has_image(parts: &[Part<'_>]) -> bool {
    parts.iter().any(|part| matches!(part, Part::Image { .. }))
}

/// An image as a data URL, as a JSON string.
pub(super) fn data_url(mime_type: &str, data: &str) -> String {
    encode_string(&format!("data:{mime_type};base64,{data}"))
}

/// A tool of the conversation: its name and description as JSON strings, and the schema of its arguments.
pub(super) struct Tool<'m> {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Option<&'m Json<'static>>,
}

/// The tools of a conversation as a JSON list, each written by `write`, without tools that have no name; `None` if
/// there are none.
pub(super) fn tool_list(prefix: &Prefix, write: impl Fn(&Tool<'_>) -> String) -> Option<String> {
    let tools = prefix.system.iter().flat_map(|system| &system.tools);
    let tools = tools.filter_map(|tool| {
        let text = |key| tool.get(key).and_then(Json::as_str);
        Some(write(&Tool {
            name: encode_string(text("name")?),
            description: encode_string(text("description").unwrap_or_default()),
            parameters: tool.get("parameters"),
        }))
    });
    let tools: Vec<String> = tools.collect();
    (!tools.is_empty()).then(|| list(&tools))
}

/// A JSON list.
pub(super) fn list(items: &[String]) -> String {
    format!("[{}]", items.join(","))
}

/// The system prompt of a conversation; empty if there is none.
pub(super) fn system_text(prefix: &Prefix) -> &str {
    prefix.system.as_ref().map_or("", |system| system.text.as_str())
}

/// The possible changes to a request.
#[derive(Debug)]
pub(super) struct Changeable {
    /// Optional members: each by its name, and the words for it in refusals.
    pub(super) optional: &'static [(&'static str, &'static [&'static str])],
    /// The limit of the answer.
    pub(super) limit: Limit,
    /// Moves the system prompt into the first message; `false` if that is impossible.
    pub(super) merge_system: fn(&mut Value) -> bool,
}

/// The member that limits the answer.
#[derive(Debug)]
pub(super) struct Limit {
    /// The object that contains it; `None` for the body itself.
    pub(super) within: Option<&'static str>,
    /// Its possible names.
    pub(super) names: &'static [&'static str],
    /// Further words for it in refusals.
    pub(super) words: &'static [&'static str],
    /// Whether a request may omit it.
    pub(super) is_optional: bool,
}

/// A change that a server needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    /// Omit this member.
    Without(&'static str),
    /// Rename the limit of the answer.
    Named(&'static str),
    /// Lower the limit of the answer.
    AtMost(u64),
    /// Omit the limit of the answer.
    Unlimited,
    /// Put the system prompt before the first message.
    SystemInMessage,
}

/// Smaller numbers in a refusal are not limits of answers.
const SMALLEST_LIMIT: u64 = 256;

impl Change {
    /// Applies the change to a body.
    pub(super) fn apply(&self, body: &mut Value, changeable: &Changeable) {
        match self {
            Self::Without(name) => drop(body.as_object_mut().and_then(|body| body.remove(*name))),
            Self::Named(name) => {
                if let Some(limit) = changeable.limit.take(body)
                    && let Some(holder) = changeable.limit.holder(body)
                {
                    holder.insert((*name).to_owned(), json!(limit));
                }
            }
            Self::AtMost(most) => {
                if let Some((name, limit)) = changeable.limit.find(body)
                    && limit > *most
                    && let Some(holder) = changeable.limit.holder(body)
                {
                    holder.insert(name.to_owned(), json!(most));
                }
            }
            Self::Unlimited => drop(changeable.limit.take(body)),
            Self::SystemInMessage => drop((changeable.merge_system)(body)),
        }
    }
}

impl Limit {
    fn holder<'b>(&self, body: &'b mut Value) -> Option<&'b mut Map<String, Value>> {
        match self.within {
            Some(name) => body[name].as_object_mut(),
            None => body.as_object_mut(),
        }
    }

    fn find(&self, body: &Value) -> Option<(&'static str, u64)> {
        let holder = self.within.map_or(body, |name| &body[name]);
        self.names.iter().find_map(|name| Some((*name, holder[*name].as_u64()?)))
    }

    fn take(&self, body: &mut Value) -> Option<u64> {
        let (name, limit) = self.find(body)?;
        self.holder(body)?.remove(name);
        Some(limit)
    }
}

/// The change that a refusal suggests. `text` is the refusal, `body` the request, `given` the members of the
/// settings, and `made` the earlier changes. Each kind of change is made once.
pub(super) fn change(
    text: &str,
    body: &Value,
    changeable: &Changeable,
    given: &Map<String, Value>,
    made: &[Change],
) -> Option<Change> {
    let text = text.to_lowercase();
    let optional = changeable.optional.iter().find(|(name, words)| {
        let is_ours = !body[*name].is_null() && !given.contains_key(*name);
        is_ours && words.iter().any(|word| names(&text, word))
    });
    if let Some((name, _)) = optional {
        return Some(Change::Without(name));
    }
    let is_new =
        |change: &Change| !made.iter().any(|before| std::mem::discriminant(before) == std::mem::discriminant(change));
    change_of_limit(&text, body, &changeable.limit, &is_new).or_else(|| {
        let change = Change::SystemInMessage;
        let is_about_system = SYSTEM_WORDS.iter().any(|words| words.iter().all(|word| text.contains(word)));
        let can_merge = || (changeable.merge_system)(&mut body.clone());
        (is_about_system && is_new(&change) && can_merge()).then_some(change)
    })
}

/// Words of refusals of a system prompt.
const SYSTEM_WORDS: [&[&str]; 6] = [
    &["system", "role", "support"],
    &["system role"],
    &["system message", "support"],
    &["system prompt", "support"],
    &["system instruction", "not"],
    &["developer instruction", "not"],
];

/// Words of refusals of a value that is too small.
const TOO_SMALL: [&str; 4] = ["at least", "greater than", "must be positive", "too small"];

fn change_of_limit(text: &str, body: &Value, limit: &Limit, is_new: &dyn Fn(&Change) -> bool) -> Option<Change> {
    let (name, asked) = limit.find(body)?;
    let is_meant = limit.names.iter().chain(limit.words).any(|word| names(text, word));
    if !is_meant {
        return None;
    }
    let other = limit.names.iter().find(|other| **other != name).map(|other| Change::Named(other));
    let other = other.filter(is_new);
    // A refusal that mentions the other name suggests it.
    if let Some(Change::Named(other_name)) = &other
        && names(text, other_name)
    {
        return other;
    }
    let lower = largest_below(text, asked).map(Change::AtMost).filter(is_new);
    // Renaming does not help a value that is too small.
    if lower.is_none() && TOO_SMALL.iter().any(|word| text.contains(word)) {
        return None;
    }
    let unlimited = || Some(Change::Unlimited).filter(|change| limit.is_optional && is_new(change));
    lower.or(other).or_else(unlimited)
}

/// Whether a text mentions a member as a whole word, because `max_tokens` is a part of other names.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let is_inner = |character: char| character.is_ascii_alphanumeric() || character == '_';
        !text[..at].ends_with(is_inner) && !text[at + word.len()..].starts_with(is_inner)
    })
}

/// The largest number in a text below `limit`; one less if the text calls it exclusive.
fn largest_below(text: &str, limit: u64) -> Option<u64> {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | ',');
    let words = text.split(|character: char| !is_part(character));
    let numbers = words.filter_map(|word| {
        // Punctuation may follow, and commas may separate thousands.
        let word = word.trim_end_matches(['.', ',']);
        let is_number = word.starts_with(|first: char| first.is_ascii_digit())
            && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b',');
        is_number.then(|| word.replace(',', "").parse::<u64>().ok()).flatten()
    });
    let exclusive = |number: u64| text.contains(&format!("{number} (exclusive)"));
    let numbers =
        numbers.filter(|number| (SMALLEST_LIMIT..limit).contains(number) || *number == limit && exclusive(*number));
    numbers.map(|number| if exclusive(number) { number - 1 } else { number }).max()
}

/// Puts the system prompt before the first message and removes its old member. Both texts are named by JSON pointers.
/// Returns `false`, with the body unchanged, if one of them is missing.
pub(super) fn prepend_system(body: &mut Value, member: &str, system: &str, prompt: &str) -> bool {
    let texts = body.pointer(system).and_then(Value::as_str).zip(body.pointer(prompt).and_then(Value::as_str));
    let Some(merged) = texts.map(|(system, prompt)| format!("{system}\n\n{prompt}")) else {
        return false;
    };
    if let Some(prompt) = body.pointer_mut(prompt) {
        *prompt = Value::String(merged);
    }
    body.as_object_mut().is_some_and(|body| body.remove(member).is_some())
}

/// For interfaces whose system prompt cannot be moved.
pub(super) fn keep_system(_: &mut Value) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAT: Changeable = Changeable {
        optional: &[("stream_options", &["stream_options", "include_usage"])],
        limit: Limit { within: None, names: &["max_tokens", "max_completion_tokens"], words: &[], is_optional: true },
        merge_system: |body| body["messages"].is_array(),
    };

    fn check(text: &str, made: &[Change], expected: Option<Change>) {
        let mut body = json!({ "messages": [], "max_tokens": 13_107, "stream_options": { "include_usage": true } });
        made.iter().for_each(|change| change.apply(&mut body, &CHAT));
        assert_eq!(change(text, &body, &CHAT, &Map::new(), made), expected, "{text}");
    }

    #[test]
    fn a_refusal_that_names_a_member_changes_it() {
        let without = Change::Without("stream_options");
        check("unknown field `stream_options`", &[], Some(without.clone()));
        check("unknown field `stream_options`", &[without], None);
        let other = Change::Named("max_completion_tokens");
        check("'max_tokens' is not supported. Use 'max_completion_tokens'.", &[], Some(other.clone()));
        check("Unrecognized argument: max_completion_tokens", std::slice::from_ref(&other), Some(Change::Unlimited));
        check("[\"body\",\"max_tokens\"] Extra inputs are not permitted", &[], Some(other.clone()));
        check(
            "max_tokens is too large: 13107. At most 4,096 are supported, gpt-9000.",
            &[],
            Some(Change::AtMost(4096)),
        );
        check("max_tokens: from 1 (inclusive) to 8193 (exclusive)", &[], Some(Change::AtMost(8192)));
        check("System role not supported", &[], Some(Change::SystemInMessage));
        check("System role not supported", &[Change::SystemInMessage], None);
        for nothing in [
            "max_tokens must be at least 1",
            "max_tokens_to_sample is wrong",
            "the model is wrong",
            "the system is down",
            "",
        ] {
            check(nothing, &[], None);
        }
    }

    #[test]
    fn what_the_settings_gave_stays() {
        let body = json!({ "stream_options": {} });
        let given = body.as_object().unwrap();
        assert_eq!(change("stream_options", &body, &CHAT, given, &[]), None);
    }

    #[test]
    fn changes_change_the_body() {
        let mut body = json!({ "max_tokens": 500, "stream_options": {}, "a": 1 });
        for change in [
            Change::Without("stream_options"),
            Change::AtMost(900),
            Change::AtMost(400),
            Change::Named("max_completion_tokens"),
            Change::AtMost(300),
        ] {
            change.apply(&mut body, &CHAT);
        }
        assert_eq!(body, json!({ "max_completion_tokens": 300, "a": 1 }));
        Change::Unlimited.apply(&mut body, &CHAT);
        assert_eq!(body, json!({ "a": 1 }));
    }
}
