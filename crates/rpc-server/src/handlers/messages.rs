//! `appendMessage`, `appendMessages`, `appendEntry`, `setLabel`, `pinEntry`, `getPins`; checks of the messages and
//! entries that clients send, and the formats of other interfaces in both directions.
//!
//! What clients append must be usable by readers of the session format. The existing content of a file is read in any
//! form (docs/session-format.md, "Messages").

use std::sync::{Arc, Mutex, PoisonError};

use compaction_core::conversation::LlmContext;
use compaction_core::entry::{Entry, EntryId, EntryKind, Role};
use compaction_core::formats::{self, Calls, Converted, Format, FormatError, Written};
use compaction_core::json::RawObject;
use compaction_core::message::Message;
use compaction_core::pins::{self, Pins, pin_members};
use compaction_core::projection::Projection;
use compaction_engine::session::SessionAccess;
use compaction_engine::{AppendOutcome, Engine};
use serde_json::value::RawValue;
use session_store::{NewEntry, Parent, Precondition};

use super::read::branch_end;
use crate::call::{CallContext, blocking};
use crate::convert;
use crate::errors::RpcError;
use crate::params::SHORT_BYTES;
use crate::wire::{self, AnyMessage, ContextFormat, MessageFormat, check_usage, *};

/// Appends a message at the leaf.
pub(crate) async fn append_message(
    call: CallContext,
    params: AppendMessageParams,
) -> Result<AppendMessageResult, RpcError> {
    let is_short = params.message.get().len() <= SHORT_BYTES && params.format.unwrap_or_default() == MessageFormat::Pi;
    let given = SubmittedMessages::one(params.message, params.format);
    let (appended, outcome) = append_given(&call, given, params.expected_leaf_id, is_short).await?;
    let mut ids = appended.ids;
    let leaf_id = ids.last().cloned().unwrap_or_default();
    if ids.len() == 1 {
        ids.clear();
    }
    let (context_usage, compaction) = (outcome.usage.map(convert::usage), outcome.compaction.map(convert::due));
    Ok(AppendMessageResult { entry_id: leaf_id.clone(), entry_ids: ids, leaf_id, context_usage, compaction })
}

/// Appends messages at the leaf, with one write.
pub(crate) async fn append_messages(
    call: CallContext,
    params: AppendMessagesParams,
) -> Result<AppendMessagesResult, RpcError> {
    if params.messages.is_empty() {
        return Err(RpcError::invalid_params("messages", "at least one message"));
    }
    let given = SubmittedMessages::list(params.messages, params.format)?;
    let (appended, outcome) = append_given(&call, given, params.expected_leaf_id, false).await?;
    Ok(AppendMessagesResult {
        leaf_id: appended.ids.last().cloned().unwrap_or_default(),
        entry_ids: appended.ids,
        sources: appended.sources,
        context_usage: outcome.usage.map(convert::usage),
        compaction: outcome.compaction.map(convert::due),
    })
}

/// The entries that the messages became, and the position of the message of each entry.
struct AppendedMessages {
    ids: Vec<String>,
    sources: Vec<u64>,
}

/// Appends messages, and begins the compaction that they make due.
async fn append_given(
    call: &CallContext,
    given: SubmittedMessages,
    expected_leaf_id: Option<String>,
    is_short: bool,
) -> Result<(AppendedMessages, AppendOutcome), RpcError> {
    // Wrong messages are refused before the call waits for its turn. Long messages are checked on a thread.
    let given = if is_short { given.checked()? } else { blocking(move || given.checked()).await? };
    let due = Arc::new(Mutex::new(None));
    let begun = Arc::clone(&due);
    let append = move |access: &mut SessionAccess<'_>| {
        let converted = given.into_stored(access)?;
        let sources = converted.iter().map(|converted| converted.source as u64).collect();
        let (mut new, condition) = (new_entries(converted), leaf_is(expected_leaf_id));
        let appended = access.append(|session| match new.len() {
            1 => session.append_if(new.remove(0), Parent::Leaf, &condition),
            _ => session.append_all(&new, Parent::Leaf, &condition),
        })?;
        let mut outcome = Engine::after_append(access, &appended.entry);
        *begun.lock().unwrap_or_else(PoisonError::into_inner) = outcome.begun.take();
        let ids = appended.entries().map(|entry| entry.id().to_string()).collect();
        Ok((AppendedMessages { ids, sources }, outcome))
    };
    let appended = if is_short { call.write_briefly(append).await } else { call.write(append).await };
    // A compaction that was announced must end, even if the disk has refused the message since.
    let due = due.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(due) = due {
        // Nothing waits for the task: a notification reports its end.
        drop(call.server.engine()?.start_compaction(due));
    }
    appended
}

/// Appends an entry that is not a message at the leaf.
pub(crate) async fn append_entry(call: CallContext, params: AppendEntryParams) -> Result<AppendedResult, RpcError> {
    let appended = call.write(move |access| {
        let entry = RawObject::parse(params.entry.get())
            .map_err(|_| RpcError::invalid_params("entry", "an object with a string type"))?;
        let kind = check_members(&entry)?;
        if kind == "context_edit" {
            check_edit(&entry, access)?;
        }
        let (new, condition) = (NewEntry::new(&kind, params.entry.get()), leaf_is(params.expected_leaf_id));
        Ok(appended(&access.append(|session| session.append_if(new, Parent::Leaf, &condition))?.entry))
    });
    appended.await
}

fn leaf_is(expected_leaf_id: Option<String>) -> Precondition {
    match expected_leaf_id {
        Some(leaf_id) => Precondition::LeafIs(Some(EntryId::new(leaf_id))),
        None => Precondition::None,
    }
}

/// The result for an appended entry, which is the leaf.
pub(crate) fn appended(entry: &compaction_core::entry::Entry) -> AppendedResult {
    AppendedResult { entry_id: entry.id().to_string(), leaf_id: entry.id().to_string() }
}

/// Fails unless the edit hides or rewrites an entry of the current branch that the model sees.
fn check_edit(edit: &RawObject<'_>, access: &SessionAccess<'_>) -> Result<(), RpcError> {
    check_replacement(edit)?;
    let target = EntryId::new(edit.string("targetId").unwrap_or_default());
    let view = access.view();
    let header = view.header(&target)?;
    let is_on_branch = view.read(|session| session.is_on_branch(&target, session.leaf_id()))?;
    let is_shown = header.kind == EntryKind::CustomMessage
        || matches!(header.role, Some(Role::User | Role::Assistant | Role::ToolResult));
    if is_on_branch && is_shown {
        return Ok(());
    }
    Err(RpcError::invalid_params(
        "entry.targetId",
        "an entry on the current branch: a user, assistant or toolResult message, or a custom_message",
    ))
}

/// Sets or clears the label of an entry.
pub(crate) async fn set_label(call: CallContext, params: SetLabelParams) -> Result<AppendedResult, RpcError> {
    call.write(move |access| {
        let target = EntryId::new(params.target_id);
        Ok(appended(&access.append(|session| session.set_label(&target, params.label.as_deref()))?.entry))
    })
    .await
}

/// Pins an entry, so that every compaction keeps it verbatim, or unpins it.
pub(crate) async fn pin(call: CallContext, params: PinEntryParams) -> Result<PinEntryResult, RpcError> {
    let max_tokens = call.server.settings_now().await?.pin_tokens();
    call.write(move |access| pin_in_turn(access, &params, max_tokens)).await
}

fn pin_in_turn(
    access: &mut SessionAccess<'_>,
    params: &PinEntryParams,
    max_tokens: u64,
) -> Result<PinEntryResult, RpcError> {
    access.check_writable()?;
    access.refresh()?;
    let id = EntryId::new(params.entry_id.as_str());
    let entry = access.view().read(|session| session.entry(&id))?;
    let mut pins = access.view().leaf_pins()?;
    if params.pinned != pins.contain(&id) {
        if params.pinned {
            check_pin(access, &entry, &pins, max_tokens)?;
        }
        let members = pin_members(&id, params.pinned);
        access.append(|session| session.append(NewEntry::new("custom", &members), Parent::Leaf))?;
        pins = access.view().leaf_pins()?;
    }
    Ok(PinEntryResult {
        entry_id: params.entry_id.clone(),
        pinned: pins.contain(&id),
        tokens: pins.tokens(),
        pins: list(&pins),
        max_tokens,
    })
}

/// Fails unless the entry is on the path, has text, and fits beside the other pins.
fn check_pin(access: &SessionAccess<'_>, entry: &Entry, pins: &Pins, max_tokens: u64) -> Result<(), RpcError> {
    let is_on_path = access.view().read(|session| session.is_on_branch(entry.id(), session.leaf_id()))?;
    let pinned = pins::PinnedEntry::of(entry, 0, None).filter(|_| is_on_path).ok_or_else(|| {
        let expected = "an entry on the path to the leaf that gives the model a message with text, and is neither a \
                        system message nor a compaction";
        RpcError::invalid_params("entryId", expected)
    })?;
    let tokens = pins.tokens();
    if tokens.saturating_add(pinned.tokens) > max_tokens {
        let pins = list(pins);
        return Err(RpcError::PinBudgetExceeded { tokens, max_tokens, entry_tokens: pinned.tokens, pins });
    }
    Ok(())
}

/// Returns the pinned entries of a branch.
pub(crate) async fn get_pins(call: CallContext, params: GetPinsParams) -> Result<GetPinsResult, RpcError> {
    let max_tokens = call.server.settings_now().await?.pin_tokens();
    call.read(move |view| {
        let leaf = branch_end(view, params.leaf_id)?;
        let pins = view.pins(leaf.as_ref())?;
        Ok(GetPinsResult { tokens: pins.tokens(), pins: list(&pins), max_tokens })
    })
    .await
}

fn list(pins: &Pins) -> Vec<wire::PinnedEntry> {
    let pinned = pins.entries().iter();
    pinned.map(|pinned| wire::PinnedEntry { entry_id: pinned.entry_id.to_string(), tokens: pinned.tokens }).collect()
}

/// Checks the member at a path. The error says what was expected.
type Check = fn(&str, &str) -> Result<(), RpcError>;

/// Roles that have content.
const ROLES_WITH_CONTENT: [&str; 5] = ["user", "assistant", "toolResult", "custom", "system"];

/// Checks the content and the time of a message; `path` names the message. Roles and types of blocks are checked
/// elsewhere.
pub(super) fn check_message(role: &str, members: &RawObject<'_>, path: &str) -> Result<(), RpcError> {
    if let Some(content) = members.get("content").filter(|_| ROLES_WITH_CONTENT.contains(&role)) {
        content_of(&format!("{path}.content"), content)?;
    }
    let time = members.get("timestamp");
    time.map_or(Ok(()), |time| epoch_milliseconds(&format!("{path}.timestamp"), time))
}

/// Checks the type and the members of a new entry. Returns the type.
pub(super) fn check_members(entry: &RawObject<'_>) -> Result<String, RpcError> {
    let kind = entry.string("type").ok_or_else(|| RpcError::invalid_params("entry.type", "a string"))?;
    let members: &[(&str, Check)] = match EntryKind::from_name(&kind) {
        EntryKind::ModelChange => &[("provider", string), ("modelId", string)],
        EntryKind::ThinkingLevelChange => &[("thinkingLevel", string)],
        EntryKind::Custom => &[("customType", string)],
        EntryKind::CustomMessage => &[("customType", string), ("content", content_of), ("display", boolean)],
        EntryKind::SessionInfo => &[("name", optional_string)],
        EntryKind::ContextEdit => &[("targetId", string)],
        EntryKind::Usage => &[("kind", string), ("provider", string), ("model", string), ("usage", usage)],
        _ => {
            let kinds =
                "model_change, thinking_level_change, custom, custom_message, session_info, context_edit or usage";
            return Err(RpcError::invalid_params("entry.type", kinds));
        }
    };
    for (member, check) in members {
        check(&format!("entry.{member}"), entry.get(member).unwrap_or(""))?;
    }
    Ok(kind)
}

/// Checks the content with which an edit replaces that of an entry.
pub(super) fn check_replacement(edit: &RawObject<'_>) -> Result<(), RpcError> {
    let replacement = edit.get("replacement").unwrap_or("");
    if replacement == "null" {
        return Ok(());
    }
    let object = RawObject::parse(replacement).ok();
    match object.as_ref().and_then(|object| object.get("content")).filter(|content| content.starts_with(['"', '['])) {
        Some(content) => content_of("entry.replacement.content", content),
        None => {
            Err(RpcError::invalid_params("entry.replacement", format!("null, or an object with content: {CONTENT}")))
        }
    }
}

const CONTENT: &str = "a string or a list of blocks";

fn content_of(path: &str, json: &str) -> Result<(), RpcError> {
    if json.starts_with('"') {
        return Ok(());
    }
    let blocks: Vec<&RawValue> = serde_json::from_str(json).map_err(|_| RpcError::invalid_params(path, CONTENT))?;
    let is_block = |block: &RawValue| RawObject::parse(block.get()).is_ok_and(|block| block.string("type").is_some());
    match blocks.iter().position(|block| !is_block(block)) {
        Some(wrong) => Err(RpcError::invalid_params(format!("{path}[{wrong}]"), "an object with a string type")),
        None => Ok(()),
    }
}

fn string(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "a string", json.starts_with('"'))
}

fn optional_string(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "a string", json.is_empty() || json == "null" || json.starts_with('"'))
}

fn boolean(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "true or false", matches!(json, "true" | "false"))
}

fn usage(path: &str, json: &str) -> Result<(), RpcError> {
    check_usage(json).map_err(|expected| RpcError::invalid_params(path, expected))
}

fn epoch_milliseconds(path: &str, json: &str) -> Result<(), RpcError> {
    expect(path, "epoch milliseconds", json.parse::<f64>().is_ok_and(f64::is_finite))
}

fn expect(path: &str, expected: &str, is_right: bool) -> Result<(), RpcError> {
    if is_right { Ok(()) } else { Err(RpcError::invalid_params(path, expected)) }
}

/// Maximum number of messages in one call.
pub(super) const MAX_MESSAGES: usize = 10_000;

/// Fails if a call brings too many messages.
pub(super) fn check_message_count(count: usize) -> Result<(), RpcError> {
    match count > MAX_MESSAGES {
        true => Err(RpcError::invalid_params("messages", format!("at most {MAX_MESSAGES} messages"))),
        false => Ok(()),
    }
}

/// The messages of a call, as they came.
#[derive(Debug)]
pub(super) struct SubmittedMessages {
    messages: Vec<AnyMessage>,
    format: Format,
    /// The name of the parameter, for errors: `message` or `messages`.
    path: &'static str,
    /// Number of messages of the call before these.
    before: usize,
}

impl SubmittedMessages {
    /// One message.
    pub(super) fn one(message: AnyMessage, format: Option<MessageFormat>) -> Self {
        Self { messages: vec![message], format: format.unwrap_or_default().into(), path: "message", before: 0 }
    }

    /// A list of messages.
    pub(super) fn list(messages: Vec<AnyMessage>, format: Option<MessageFormat>) -> Result<Self, RpcError> {
        check_message_count(messages.len())?;
        Ok(Self::after(0, messages, format.unwrap_or_default().into()))
    }

    /// The messages of a list after the first `before`.
    pub(super) fn after(before: usize, messages: Vec<AnyMessage>, format: Format) -> Self {
        Self { messages, format, path: "messages", before }
    }

    /// Reads the messages. Fails on parts that no context would show.
    pub(super) fn checked(self) -> Result<CheckedMessages, RpcError> {
        if self.format == Format::Pi {
            let mut given = self;
            let converted = given.stored()?;
            return Ok(CheckedMessages { given, converted, has_gaps: false });
        }
        let mut calls = Calls::default();
        let converted = self.convert(&mut calls)?;
        Ok(CheckedMessages { given: self, converted, has_gaps: calls.has_gaps() })
    }

    /// Reads the messages without the checks for storing them.
    pub(super) fn to_estimate(&self) -> Result<Vec<Arc<Message>>, RpcError> {
        if self.format == Format::Pi {
            let read = |(position, message): (usize, &AnyMessage)| {
                convert::read_message(message.clone(), &self.path_of(position)).map(Arc::new)
            };
            return self.messages.iter().enumerate().map(read).collect();
        }
        let converted = self.convert(&mut Calls::default())?;
        Ok(converted.into_iter().map(|converted| Arc::new(converted.message)).collect())
    }

    /// Converts the messages from their format.
    pub(super) fn convert(&self, calls: &mut Calls) -> Result<Vec<Converted>, RpcError> {
        let texts: Vec<&str> = self.messages.iter().map(AnyMessage::get).collect();
        formats::read(self.format, &texts, calls, Some(session_store::now()))
            .map_err(|error| self.located_error(&error))
    }

    /// The messages as they are stored. They are moved, not copied, because they may be large.
    fn stored(&mut self) -> Result<Vec<Converted>, RpcError> {
        let messages = std::mem::take(&mut self.messages);
        let check = |(source, message): (usize, AnyMessage)| {
            let path = self.path_of(source);
            let (message, is_checked) = convert::read_checked_message(message, &path)?;
            if is_checked {
                return Ok(Converted { message, source });
            }
            if matches!(message.role(), "compactionSummary" | "branchSummary") {
                let expected = "a stored role; summaries are entries of their own";
                return Err(RpcError::invalid_params(format!("{path}.role"), expected));
            }
            // Finds the mistake, or accepts an unusual form.
            let members = RawObject::parse(message.raw().get());
            let members = members.map_err(|_| RpcError::invalid_params(path.as_str(), "an object"))?;
            check_message(message.role(), &members, &path)?;
            formats::check_pi(&members, source).map_err(|error| self.located_error(&error))?;
            drop(members);
            Ok(Converted { message, source })
        };
        messages.into_iter().enumerate().map(check).collect()
    }

    fn path_of(&self, position: usize) -> String {
        if self.path == "message" { self.path.to_owned() } else { format!("{}[{}]", self.path, self.before + position) }
    }

    fn located_error(&self, error: &FormatError) -> RpcError {
        let path = self.path_of(error.index);
        let path = if error.path.is_empty() { path } else { format!("{path}.{}", error.path) };
        RpcError::invalid_params(path, format!("{}; found {}", error.expected, error.found))
    }
}

/// The messages of a call after reading.
#[derive(Debug)]
pub(super) struct CheckedMessages {
    given: SubmittedMessages,
    converted: Vec<Converted>,
    /// Whether a result names no tool, or a call that is not among the messages.
    has_gaps: bool,
}

impl CheckedMessages {
    /// The messages, for a new session.
    pub(super) fn into_messages(self) -> Vec<Converted> {
        self.converted
    }

    /// The messages, for an existing session. Results that name no tool, or no call, get it from the calls in the
    /// context.
    pub(super) fn into_stored(self, access: &SessionAccess<'_>) -> Result<Vec<Converted>, RpcError> {
        if !self.has_gaps {
            return Ok(self.converted);
        }
        let context = access.view().project_leaf()?;
        self.given.convert(&mut Calls::of(context.messages()))
    }
}

/// The entries for messages.
pub(super) fn new_entries(converted: Vec<Converted>) -> Vec<NewEntry<'static>> {
    converted.into_iter().map(|converted| NewEntry::message(Arc::new(converted.message))).collect()
}

/// The interface of the requested format. `None` for the formats of the server.
pub(super) fn interface_of(format: ContextFormat) -> Option<Format> {
    match format {
        ContextFormat::Agent | ContextFormat::Llm => None,
        ContextFormat::OpenAi => Some(Format::OpenAi),
        ContextFormat::OpenAiResponses => Some(Format::OpenAiResponses),
        ContextFormat::Anthropic => Some(Format::Anthropic),
        ContextFormat::Gemini => Some(Format::Gemini),
        ContextFormat::AiSdk => Some(Format::AiSdk),
    }
}

/// A context in the format of an interface, ready to be sent.
pub(super) fn context(projection: &Projection, format: Format) -> Written {
    formats::write(format, &LlmContext::with_system(projection).into_messages()).for_request(format)
}

/// A context in the format of a caller's messages. Messages that stay are returned as they were given.
pub(super) fn owned_context(projection: &Projection, format: Format) -> Written {
    match format {
        Format::Pi => {
            let messages: Vec<Arc<Message>> = projection.shared_messages().cloned().collect();
            formats::write(format, &messages)
        }
        _ => formats::write(format, &LlmContext::with_system(projection).into_messages()),
    }
}

/// The messages after the entries before `position`. `None` if the later entries change the earlier messages.
pub(super) fn context_since(projection: &Projection, position: usize, format: Format) -> Option<Written> {
    let whole = LlmContext::with_system(projection);
    let earlier = whole.until(position)?;
    let (before, mut after) = (formats::write(format, &earlier), context(projection, format));
    let before = before.for_request(format).messages;
    let is_same = after.messages.len() >= before.len()
        && before.iter().zip(&after.messages).all(|(before, after)| before.get() == after.get());
    if !is_same {
        return None;
    }
    after.messages.drain(..before.len());
    Some(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &str, path: Option<&str>) {
        let read = Message::from_json(message).expect("a message");
        let members = RawObject::parse(read.raw().get()).expect("an object");
        let checked = check_message(read.role(), &members, "message");
        let found = checked.err().map(|error| error.data()["path"].as_str().map(str::to_owned).unwrap_or_default());
        assert_eq!(found.as_deref(), path, "{message}");
        assert!(path.is_none() || !is_checked(message), "{message}");
    }

    fn is_checked(message: &str) -> bool {
        let message = RawValue::from_string(message.to_owned()).expect("the test writes JSON");
        Message::from_sent_checked(message).expect("a message").1
    }

    #[test]
    fn usual_messages_are_checked_in_the_pass_that_reads_them() {
        let call =
            r#"{"type":"text","text":"x"},{"type":"thinking","thinking":"t"},{"type":"toolCall","id":"c","name":"n"}"#;
        for (message, is_usual) in [
            (r#"{"role":"user","content":"text","timestamp":7}"#.to_owned(), true),
            (r#"{"role":"toolResult","content":[{"type":"image"},{"type":"text"}],"timestamp":7}"#.to_owned(), true),
            (format!(r#"{{"role":"assistant","content":[{call}],"timestamp":7}}"#), true),
            (format!(r#"{{"role":"user","content":[{call}],"timestamp":7}}"#), false),
            (r#"{"role":"user","content":[{"type":"never_seen"}],"timestamp":7}"#.to_owned(), false),
            (r#"{"role":"never_seen","content":"x","timestamp":7}"#.to_owned(), false),
            (r#"{"role":"compactionSummary","content":"x","timestamp":7}"#.to_owned(), false),
            (r#"{"role":"user","content":7,"timestamp":7}"#.to_owned(), false),
        ] {
            let members = RawObject::parse(&message).expect("an object");
            let passes = formats::check_pi(&members, 0).is_ok();
            assert_eq!(is_checked(&message), is_usual, "{message}");
            assert!(passes || !is_usual, "{message}");
        }
    }

    #[test]
    fn content_is_a_text_or_a_list_of_blocks() {
        for right in [
            r#""text""#,
            "null",
            "[]",
            r#"[{"type":"text","text":"x"},{"type":"never_seen","x":[{}]}]"#,
            r#"[{"t\u0079pe":"text"}]"#,
        ] {
            check(&format!("{{\"role\":\"user\",\"content\":{right}}}"), None);
        }
        for (wrong, path) in [
            ("5", "message.content"),
            ("{}", "message.content"),
            ("true", "message.content"),
            ("[5]", "message.content[0]"),
            (r#"[{"type":"text"},null]"#, "message.content[1]"),
            ("[{}]", "message.content[0]"),
            (r#"[{"type":5}]"#, "message.content[0]"),
            ("[[]]", "message.content[0]"),
        ] {
            for role in ROLES_WITH_CONTENT {
                check(&format!("{{\"role\":\"{role}\",\"content\":{wrong}}}"), Some(path));
            }
            check(&format!("{{\"role\":\"never_seen\",\"content\":{wrong}}}"), None);
        }
    }

    #[test]
    fn times_are_numbers() {
        for (time, path) in [
            ("5", None),
            ("1767225700000.5", None),
            ("\"zz\"", Some("message.timestamp")),
            ("null", Some("message.timestamp")),
            ("1e999", Some("message.timestamp")),
        ] {
            check(&format!("{{\"role\":\"bashExecution\",\"timestamp\":{time}}}"), path);
        }
        check(r#"{"role":"user"}"#, None);
    }
}
