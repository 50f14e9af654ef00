//! `getContext`, `getContextUsage`, `estimateTokens`, `serializeConversation`.

use std::sync::Arc;

use compaction_core::conversation::{self, LlmContext};
use compaction_core::entry::{EntryBody, EntryId};
use compaction_core::formats::Written;
use compaction_core::message::Message;
use compaction_core::projection::{ProjectedEntry, Projection};
use compaction_core::tokens;
use compaction_engine::WindowUsage;
use compaction_engine::context::project;

use super::entries::branch_end;
use super::formats::{self, Given};
use crate::call::{CallContext, blocking};
use crate::convert;
use crate::errors::RpcError;
use crate::session::StoreErrors as _;
use crate::wire::*;

/// Gives what the model sees.
pub(crate) async fn get_context(call: CallContext, params: GetContextParams) -> Result<GetContextResult, RpcError> {
    call.read(move |session, open| {
        let leaf = branch_end(session, open, params.leaf_id)?;
        let context = session.context(leaf.as_ref()).map_err(|error| open.store_error(&error))?;
        let projection = &context.projection;
        let after = params.after.map(EntryId::new);
        let format = params.format.unwrap_or_default();
        let later = |after: &EntryId| messages_from(projection, position_after(projection, after)?, format);
        let delta = after.as_ref().map(later);
        let is_delta = delta.as_ref().map(Option::is_some);
        let shown = delta.flatten().unwrap_or_else(|| whole_context(projection, format));
        let found = projection.diagnostics().iter().map(convert::projection_diagnostic);
        Ok(GetContextResult {
            messages: shown.messages,
            system: shown.system,
            leaf_id: convert::id(leaf.as_ref()),
            thinking_level: projection.thinking_level().to_owned(),
            model: convert::model(projection),
            tokens: convert::tokens(tokens::context_tokens(projection)),
            delta: is_delta,
            diagnostics: context.diagnostics.iter().map(convert::diagnostic).chain(found).collect(),
        })
    })
    .await
}

/// A context, or a part of one, as it is sent.
struct Shown {
    messages: Vec<AnyMessage>,
    system: Option<String>,
}

impl From<Vec<Arc<Message>>> for Shown {
    fn from(messages: Vec<Arc<Message>>) -> Self {
        Self { messages: messages.iter().map(AnyMessage::from).collect(), system: None }
    }
}

impl From<Written> for Shown {
    fn from(written: Written) -> Self {
        Self { messages: written.messages.into_iter().map(AnyMessage::from).collect(), system: written.system }
    }
}

fn whole_context(projection: &Projection, format: ContextFormat) -> Shown {
    if let Some(interface) = formats::interface_of(format) {
        return formats::context(projection, interface).into();
    }
    match format {
        ContextFormat::Agent => projection.shared_messages().cloned().collect::<Vec<_>>().into(),
        _ => conversation::llm_context(projection).into(),
    }
}

/// Messages of the entries from `position` on; `None` where these change what was given for the entries
/// before.
fn messages_from(projection: &Projection, position: usize, format: ContextFormat) -> Option<Shown> {
    if let Some(interface) = formats::interface_of(format) {
        return formats::context_since(projection, position, interface).map(Shown::from);
    }
    match format {
        ContextFormat::Agent => {
            let later = projection.entries()[position..].iter().flat_map(|entry| &entry.messages);
            Some(later.cloned().collect::<Vec<_>>().into())
        }
        _ => LlmContext::of(projection).since(position).map(Shown::from),
    }
}

/// The position in the context that follows entry `after`, if the context up to that entry is the
/// one that its branch had: no compaction after it, and no edit after it of anything before.
fn position_after(projection: &Projection, after: &EntryId) -> Option<usize> {
    let entries = projection.entries();
    let found = entries.iter().find(|projected| projected.entry.id() == after)?;
    let compaction = projection.compaction();
    if compaction.is_some_and(|compaction| compaction.depth < found.depth) {
        return None;
    }
    let is_later = |projected: &ProjectedEntry| projected.depth < found.depth;
    let position = entries.iter().position(is_later).unwrap_or(entries.len());
    let (earlier, later) = entries.split_at(position);
    let is_rewritten = |edit: &ProjectedEntry| match edit.entry.body() {
        EntryBody::ContextEdit { target_id, .. } => earlier.iter().any(|projected| projected.entry.id() == target_id),
        _ => false,
    };
    (!later.iter().any(is_rewritten)).then_some(position)
}

/// Tells how full a window is.
pub(crate) async fn get_usage(call: CallContext, params: GetContextUsageParams) -> Result<ContextUsage, RpcError> {
    let context_window = params.model.context_window;
    if context_window == 0 {
        return Err(RpcError::invalid_params("model.contextWindow", "a number of tokens above 0"));
    }
    call.read(move |session, open| {
        let projection = project(session, open, session.leaf_id())?;
        let tokens = tokens::known_context_tokens(&projection);
        Ok(convert::usage(WindowUsage { tokens, context_window }))
    })
    .await
}

/// Estimates the tokens of messages or of a text.
pub(crate) async fn estimate_tokens(
    _: CallContext,
    params: EstimateTokensParams,
) -> Result<EstimateTokensResult, RpcError> {
    blocking(move || {
        let tokens = match (&params.messages, &params.text) {
            (Some(messages), _) => {
                let messages = Given::list(messages.clone(), params.format)?.to_weigh()?;
                tokens::estimate_messages(messages.iter().map(Arc::as_ref))
            }
            (None, Some(text)) => tokens::estimate_text(text),
            (None, None) => {
                return Err(RpcError::invalid_params("messages", "a list of messages, or a text in `text`"));
            }
        };
        Ok(EstimateTokensResult { tokens })
    })
    .await
}

/// Gives messages as the text that a summarizer reads.
pub(crate) async fn serialize(
    call: CallContext,
    params: SerializeConversationParams,
) -> Result<SerializeConversationResult, RpcError> {
    let thinking = call.server.settings_now().await?.thinking();
    blocking(move || {
        let messages = convert::read_messages(&params.messages, "messages")?;
        let text = conversation::serialize_conversation(messages.iter().map(Arc::as_ref), thinking);
        Ok(SerializeConversationResult { text })
    })
    .await
}
