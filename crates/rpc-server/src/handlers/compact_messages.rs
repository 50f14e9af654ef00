//! `compactMessages`, and `compact` without writing: the same operation, on a session in memory that one
//! call has for itself.

use std::pin::pin;
use std::sync::Arc;

use compaction_core::conversation;
use compaction_core::entry::EntryId;
use compaction_core::formats::{self, Calls, Converted, Format, FormatError};
use compaction_core::json::{self, RawObject};
use compaction_core::message::{Block, Body, Content, Message};
use compaction_engine::context::project;
use compaction_engine::host::Compaction;
use compaction_engine::session::AgentModel;
use compaction_engine::summarizers::Chain;
use compaction_engine::{CompactionRequest, Settings};
use serde_json::value::RawValue;
use session_store::{CreateOptions, MemoryStore, NewEntry, Parent, Precondition, Session, SessionStore};

use super::compaction::{ended_compaction, settings_of_call};
use super::entries::message_members;
use super::formats::{format_of, owned_context};
use crate::call::{CallContext, blocking};
use crate::convert;
use crate::errors::RpcError;
use crate::session::{OpenSession, StoreErrors as _};
use crate::wire::*;

/// Messages that a call may bring.
const MAX_MESSAGES: usize = 10_000;
/// What the messages of a call with `previous` begin with.
const SUMMARY: &str = "the summary of the call that gave `previous`, as its `messages` hold it";

/// Compacts messages that the caller owns.
pub(crate) async fn compact_messages(
    call: CallContext,
    params: CompactMessagesParams,
) -> Result<CompactMessagesResult, RpcError> {
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let chain = chain(&call, params.summarizer.as_ref(), &settings)?;
    let format = format_of(params.format);
    let (messages, previous) = (params.messages, params.previous);
    let cwd = call.server.configuration()?.cwd.display().to_string();
    let owned = blocking(move || Owned::of(messages, format, previous.as_ref(), cwd)).await?;
    let Owned { session, led_by, ids, sources } = owned;
    let mut request = CompactionRequest::default();
    request.custom_instructions = params.instructions;
    request.force = params.force;
    let open = Arc::new(OpenSession::private(session));
    open.auto_compaction.set(params.model.map(AgentModel::from));
    let compaction = run(&call, &open, request, &settings, chain).await?;
    let wanted = call.server.configuration()?.wanted;
    let slot = Arc::clone(&open.slot).read_owned().await;
    blocking(move || {
        let session = open.opened(slot.as_ref())?;
        let projection = project(session, &open, session.leaf_id())?;
        let written = owned_context(&projection, format);
        let kept = ids.iter().position(|id| *id == compaction.first_kept_entry_id);
        let kept_from = kept.and_then(|kept| sources.get(kept)).map_or(0, |source| source + led_by.len());
        Ok(CompactMessagesResult {
            messages: led_by.into_iter().chain(written.messages.into_iter().map(AnyMessage::from)).collect(),
            system: written.system,
            kept_from: kept_from as u64,
            previous: Previous::of(&compaction).to_wire()?,
            report: wanted.compaction(&compaction),
        })
    })
    .await
}

/// Serves `compact` with `commit: false`: compacts a copy of the branch.
pub(crate) async fn compact_copy(call: CallContext, params: CompactParams) -> Result<CompactResult, RpcError> {
    if params.wait == Some(false) {
        return Err(RpcError::invalid_params(
            "wait",
            "true, or nothing, with `commit: false`: there is no entry to wait for",
        ));
    }
    let settings = settings_of_call(&call, params.settings.as_ref()).await?;
    let chain = chain(&call, params.summarizer.as_ref(), &settings)?;
    let copying = call.write(|access| {
        access.refresh()?;
        let copy = MemoryStore.fork(access.session(), access.session().leaf_id());
        let copy = copy.map_err(|error| access.open().store_error(&error))?;
        Ok((copy, access.open().auto_compaction.effective_model()))
    });
    let (copy, model) = copying.await?;
    let open = Arc::new(OpenSession::private(copy));
    open.auto_compaction.set(model);
    let compaction = run(&call, &open, params.into(), &settings, chain).await?;
    Ok(CompactResult::Done(Box::new(call.server.configuration()?.wanted.compaction(&compaction))))
}

/// The summarizers that a call names, or else the settings.
fn chain(call: &CallContext, named: Option<&SummarizerChoice>, settings: &Settings) -> Result<Chain, RpcError> {
    Ok(call.server.engine()?.summarizers(named.map(SummarizerChoice::names).as_deref(), settings)?)
}

/// Compacts a session that this call has for itself.
async fn run(
    call: &CallContext,
    open: &Arc<OpenSession>,
    request: CompactionRequest,
    settings: &Settings,
    chain: Chain,
) -> Result<Arc<Compaction>, RpcError> {
    let engine = Arc::clone(call.server.engine()?);
    let guard = Arc::clone(&open.slot).write_owned().await;
    let turn = (Arc::clone(open), guard);
    let begun = engine.begin_compaction(turn, request, settings, chain, call.cancel.clone()).await?;
    if call.was_aborted() {
        begun.cancel();
    }
    let mut running = pin!(ended_compaction(engine.start_compaction(begun)));
    // No list of sessions holds this one, so that a server that ends cannot end its operation by that.
    tokio::select! {
        biased;
        ended = &mut running => ended,
        () = call.server.closing.cancelled() => {
            open.abort_operation();
            running.await
        }
    }
}

/// Messages of a caller, in a session of their own.
struct Owned {
    session: Session,
    /// Instructions that stand before everything else; they stay as they are.
    led_by: Vec<AnyMessage>,
    /// Entries of the other messages, and the positions of these.
    ids: Vec<EntryId>,
    sources: Vec<usize>,
}

impl Owned {
    fn of(
        mut messages: Vec<AnyMessage>,
        format: Format,
        previous: Option<&FreeObject>,
        cwd: String,
    ) -> Result<Self, RpcError> {
        if messages.is_empty() || messages.len() > MAX_MESSAGES {
            return Err(RpcError::invalid_params("messages", format!("1 to {MAX_MESSAGES} messages")));
        }
        let led = messages.iter().take_while(|message| is_instruction(message)).count();
        let others = messages.split_off(led);
        let previous = previous.map(Previous::read).transpose()?;
        let mut converted = converted(&others, format, messages.len(), previous.is_some())?;
        if let Some(previous) = &previous {
            take_summary(&mut converted, &previous.summary)?;
        }
        let options = CreateOptions { cwd, ..CreateOptions::default() };
        let create = || {
            let mut session = MemoryStore.create(&options)?;
            let earlier = previous.as_ref().map(|previous| previous.entries(&session.new_entry_id()));
            let messages = message_members(&converted);
            let messages = messages.iter().map(|members| NewEntry::new("message", members));
            let mut new: Vec<NewEntry<'_>> = earlier.iter().flat_map(Earlier::as_new).collect();
            let before = new.len();
            new.extend(messages);
            if new.is_empty() {
                return Ok((session, Vec::new()));
            }
            let appended = session.append_all(&new, Parent::Leaf, &Precondition::None)?;
            let ids = appended.entries().skip(before).map(|entry| entry.id().clone()).collect();
            Ok((session, ids))
        };
        let created: Result<_, session_store::StoreError> = create();
        let (session, ids) = created.map_err(|error| RpcError::from_store(&error, ""))?;
        Ok(Self { session, led_by: messages, ids, sources: converted.iter().map(|one| one.source).collect() })
    }
}

fn is_instruction(message: &AnyMessage) -> bool {
    let role = RawObject::parse(message.get()).ok().and_then(|message| message.string("role"));
    matches!(role.as_deref(), Some("system" | "developer"))
}

fn converted(
    messages: &[AnyMessage],
    format: Format,
    led: usize,
    may_begin_with_summary: bool,
) -> Result<Vec<Converted>, RpcError> {
    let texts: Vec<&str> = messages.iter().map(AnyMessage::get).collect();
    let wrong = |error: FormatError| {
        let path = format!("messages[{}]", error.index + led);
        let path = if error.path.is_empty() { path } else { format!("{path}.{}", error.path) };
        RpcError::invalid_params(path, format!("{}; found {}", error.expected, error.found))
    };
    // The summary of a compaction is no message that could be stored, but one that we gave.
    if let Some((first, rest)) = texts.split_first().filter(|_| format == Format::Pi && may_begin_with_summary) {
        let first = RawValue::from_string((*first).to_owned());
        let first = first.map_err(|error| RpcError::Internal { message: error.to_string() })?;
        let first = convert::read_message(first, &format!("messages[{led}]"))?;
        let rest = formats::read(format, rest, &mut Calls::default(), None);
        let rest = rest.map_err(|error| wrong(FormatError { index: error.index + 1, ..error }))?;
        let rest = rest.into_iter().map(|one| Converted { source: one.source + 1, ..one });
        return Ok(std::iter::once(Converted { message: first, source: 0 }).chain(rest).collect());
    }
    formats::read(format, &texts, &mut Calls::default(), Some(session_store::now())).map_err(wrong)
}

/// Takes the summary, which the messages begin with, out of them: it stands in an entry of its own.
fn take_summary(converted: &mut Vec<Converted>, summary: &str) -> Result<(), RpcError> {
    let missing = || RpcError::invalid_params("messages", SUMMARY);
    let first = converted.first_mut().ok_or_else(missing)?;
    let shown = Arc::new(Message::compaction_summary(summary, 0, None));
    let shown = conversation::llm_message(&shown).map(|shown| shown.display_text().into_owned()).unwrap_or_default();
    let is_summary = |text: &str| text == shown;
    let rest = match first.message.body() {
        Body::CompactionSummary { summary: given, .. } if given == summary => None,
        Body::User { content: Content::Text(text) } if is_summary(text) => None,
        Body::User { content: Content::Blocks(blocks) } => {
            let found = blocks.iter().position(|block| matches!(block, Block::Text(text) if is_summary(text)));
            let found = found.ok_or_else(missing)?;
            (blocks.len() > 1).then(|| without_block(&first.message, found)).flatten()
        }
        _ => return Err(missing()),
    };
    match rest {
        Some(rest) => first.message = rest,
        None => {
            converted.remove(0);
        }
    }
    Ok(())
}

/// A message without one of its blocks: what the person said beside the summary.
fn without_block(message: &Message, position: usize) -> Option<Message> {
    let stored = RawObject::parse(message.raw().get()).ok()?;
    let mut blocks: Vec<&RawValue> = serde_json::from_str(stored.get("content")?).ok()?;
    blocks.remove(position);
    let content = serde_json::value::to_raw_value(&blocks).ok()?;
    Some(message.with_content(&content))
}

/// The last compaction of messages, as the next call needs it.
struct Previous {
    summary: String,
    tokens_before: u64,
    details: String,
}

impl Previous {
    fn of(compaction: &Compaction) -> Self {
        let details = compaction.details.get().to_owned();
        Self { summary: compaction.summary.clone(), tokens_before: compaction.tokens_before, details }
    }

    fn read(previous: &FreeObject) -> Result<Self, RpcError> {
        let wrong = || RpcError::invalid_params("previous", "what an earlier call gave as `previous`");
        let members = RawObject::parse(previous.get()).map_err(|_| wrong())?;
        let details = members.get("details").filter(|details| details.starts_with('{')).ok_or_else(wrong)?;
        Ok(Self {
            summary: members.string("summary").ok_or_else(wrong)?,
            tokens_before: members.get("tokensBefore").and_then(|tokens| tokens.parse().ok()).ok_or_else(wrong)?,
            details: details.to_owned(),
        })
    }

    fn to_wire(&self) -> Result<FreeObject, RpcError> {
        let previous = RawValue::from_string(format!("{{{}}}", self.members().join(",")));
        previous.map(FreeObject::from).map_err(|error| RpcError::Internal { message: error.to_string() })
    }

    fn members(&self) -> Vec<String> {
        vec![
            member("summary", &json::encode_string(&self.summary)),
            member("tokensBefore", &self.tokens_before.to_string()),
            member("details", &self.details),
        ]
    }

    /// The entries that stand for it: a compaction that keeps nothing but `anchor`, an entry before it that
    /// no model sees.
    fn entries(&self, anchor: &EntryId) -> Earlier {
        let mut members = self.members();
        members.push(member("firstKeptEntryId", &json::encode_string(anchor.as_str())));
        Earlier { anchor: anchor.clone(), compaction: format!("{{{}}}", members.join(",")) }
    }
}

struct Earlier {
    anchor: EntryId,
    compaction: String,
}

impl Earlier {
    fn as_new(&self) -> [NewEntry<'_>; 2] {
        let anchor = NewEntry::new("custom", "{\"customType\":\"compactd.messages\"}");
        [NewEntry { id: Some(self.anchor.clone()), ..anchor }, NewEntry::new("compaction", &self.compaction)]
    }
}

fn member(key: &str, value: &str) -> String {
    format!("{}:{value}", json::encode_string(key))
}
