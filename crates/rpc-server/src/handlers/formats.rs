//! Messages in the shapes of other interfaces, on their way in and out.

use std::sync::Arc;

use compaction_core::conversation::LlmContext;
use compaction_core::formats::{self, Calls, Converted, Format, FormatError, Written};
use compaction_core::json::RawObject;
use compaction_core::message::Message;
use compaction_core::projection::Projection;
use compaction_engine::context::project;

use super::new_entries;
use crate::convert;
use crate::errors::RpcError;
use crate::session::SessionAccess;
use crate::wire::{AnyMessage, ContextFormat, MessageFormat};

/// Messages that a call may bring.
const MAX_MESSAGES: usize = 10_000;

/// Messages of a call, as they came.
#[derive(Debug)]
pub(super) struct Given {
    messages: Vec<AnyMessage>,
    format: Format,
    /// Where the parameter is, for errors: `message` or `messages`.
    path: &'static str,
}

impl Given {
    /// One message.
    pub(super) fn one(message: AnyMessage, format: Option<MessageFormat>) -> Self {
        Self { messages: vec![message], format: format_of(format), path: "message" }
    }

    /// A list of messages.
    pub(super) fn list(messages: Vec<AnyMessage>, format: Option<MessageFormat>) -> Result<Self, RpcError> {
        if messages.len() > MAX_MESSAGES {
            return Err(RpcError::invalid_params("messages", format!("at most {MAX_MESSAGES} messages")));
        }
        Ok(Self { messages, format: format_of(format), path: "messages" })
    }

    /// Reads the messages. Fails on what a context would not show.
    pub(super) fn checked(self) -> Result<Checked, RpcError> {
        if self.format == Format::Pi {
            let mut given = self;
            let converted = given.stored()?;
            return Ok(Checked { given, converted, has_gaps: false });
        }
        let mut calls = Calls::default();
        let converted = self.convert(&mut calls)?;
        Ok(Checked { given: self, converted, has_gaps: calls.has_gaps() })
    }

    /// The same without the checks of what is stored, for those who only look at the messages.
    pub(super) fn to_weigh(&self) -> Result<Vec<Arc<Message>>, RpcError> {
        if self.format == Format::Pi {
            let read = |(position, message): (usize, &AnyMessage)| {
                convert::read_message(message.clone(), &self.path_of(position)).map(Arc::new)
            };
            return self.messages.iter().enumerate().map(read).collect();
        }
        let converted = self.convert(&mut Calls::default())?;
        Ok(converted.into_iter().map(|converted| Arc::new(converted.message)).collect())
    }

    fn convert(&self, calls: &mut Calls) -> Result<Vec<Converted>, RpcError> {
        let texts: Vec<&str> = self.messages.iter().map(AnyMessage::get).collect();
        formats::read(self.format, &texts, calls, Some(session_store::now())).map_err(|error| self.wrong(&error))
    }

    /// The messages as they are stored. They may be large, so that they are not held twice.
    fn stored(&mut self) -> Result<Vec<Converted>, RpcError> {
        let messages = std::mem::take(&mut self.messages);
        let check = |(source, message): (usize, AnyMessage)| {
            let path = self.path_of(source);
            let message = convert::read_message(message, &path)?;
            if matches!(message.role(), "compactionSummary" | "branchSummary") {
                let expected = "a stored role; summaries are entries of their own";
                return Err(RpcError::invalid_params(format!("{path}.role"), expected));
            }
            // Read once for both checks: the text may be long.
            let members = RawObject::parse(message.raw().get());
            let members = members.map_err(|_| RpcError::invalid_params(path.as_str(), "an object"))?;
            new_entries::check_message(message.role(), &members, &path)?;
            formats::check_pi(&members, source).map_err(|error| self.wrong(&error))?;
            drop(members);
            Ok(Converted { message, source })
        };
        messages.into_iter().enumerate().map(check).collect()
    }

    fn path_of(&self, position: usize) -> String {
        if self.path == "message" { self.path.to_owned() } else { format!("{}[{position}]", self.path) }
    }

    fn wrong(&self, error: &FormatError) -> RpcError {
        let path = self.path_of(error.index);
        let path = if error.path.is_empty() { path } else { format!("{path}.{}", error.path) };
        RpcError::invalid_params(path, format!("{}; found {}", error.expected, error.found))
    }
}

/// Messages of a call that were read.
#[derive(Debug)]
pub(super) struct Checked {
    given: Given,
    converted: Vec<Converted>,
    /// Whether results among them name no tool, or no call, that is among them too.
    has_gaps: bool,
}

impl Checked {
    /// The messages of ours, for a session of their own.
    pub(super) fn into_messages(self) -> Vec<Converted> {
        self.converted
    }

    /// The messages of ours that are to be stored in a session. Results that name no tool, or no call,
    /// get it from the calls in its context.
    pub(super) fn into_stored(self, access: &SessionAccess<'_>) -> Result<Vec<Converted>, RpcError> {
        if !self.has_gaps {
            return Ok(self.converted);
        }
        let context = project(access.session(), access.open(), access.session().leaf_id())?;
        self.given.convert(&mut Calls::of(context.messages()))
    }
}

/// A shape, as the core knows it.
pub(super) fn format_of(format: Option<MessageFormat>) -> Format {
    match format.unwrap_or_default() {
        MessageFormat::Pi => Format::Pi,
        MessageFormat::OpenAi => Format::OpenAi,
        MessageFormat::OpenAiResponses => Format::OpenAiResponses,
        MessageFormat::Anthropic => Format::Anthropic,
        MessageFormat::Gemini => Format::Gemini,
        MessageFormat::AiSdk => Format::AiSdk,
    }
}

/// The shape that a context is wanted in, if it is that of an interface.
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

/// A context in the shape of an interface, ready to be sent.
pub(super) fn context(projection: &Projection, format: Format) -> Written {
    formats::write(format, &LlmContext::with_system(projection).into_messages()).for_request(format)
}

/// A context in the shape of messages that a caller owns: what stays comes back as it was given.
pub(super) fn owned_context(projection: &Projection, format: Format) -> Written {
    match format {
        Format::Pi => {
            let messages: Vec<Arc<Message>> = projection.shared_messages().cloned().collect();
            formats::write(format, &messages)
        }
        _ => formats::write(format, &LlmContext::with_system(projection).into_messages()),
    }
}

/// What follows the entries before `position`; `None` where they look otherwise without what follows.
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
