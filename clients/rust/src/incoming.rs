//! Sorts what the server sends: replies for jsonrpsee, notifications, requests, and stray lines.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::answers::Answering;
use crate::notifications::{Notification, Queue};
use crate::requests::Awaited;

/// Where the messages of the server go.
pub(crate) struct Incoming {
    pub(crate) awaited: Awaited,
    pub(crate) notifications: Arc<Queue>,
    pub(crate) answering: Answering,
    /// Messages that are neither reply nor notification nor request, blank lines aside.
    pub(crate) strays: Arc<AtomicU64>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl Incoming {
    /// Deals with a message, and returns it if it is a reply that somebody waits for.
    ///
    /// jsonrpsee must not see anything else: it ends at the first message that it does not expect.
    pub(crate) fn sort(&self, message: Vec<u8>) -> Option<String> {
        if message.iter().all(u8::is_ascii_whitespace) {
            return None;
        }
        let text = String::from_utf8(message);
        let Some(is_reply) = text.as_deref().ok().and_then(|text| self.is_reply(text)) else {
            self.strays.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        text.ok().filter(|_| is_reply)
    }

    /// Says that nothing more will come, and why; nobody is left to want our answers.
    pub(crate) fn close(&self, reason: String) {
        self.notifications.close(reason);
        self.answering.end();
    }

    /// Whether the message is a reply; anything else is dealt with. `None` if it is a stray.
    fn is_reply(&self, text: &str) -> Option<bool> {
        let envelope: Envelope<'_> = serde_json::from_str(text).ok()?;
        let params = envelope.params.unwrap_or(RawValue::NULL);
        match (envelope.method, envelope.id) {
            (Some(method), Some(id)) => self.answering.start(id, &method, params),
            (Some(method), None) => self.notify(method.into_owned(), params),
            (None, Some(id)) => return id.get().parse().ok().filter(|id| self.awaited.take(*id)).map(|_| true),
            (None, None) => return None,
        }
        Some(false)
    }

    fn notify(&self, method: String, params: &RawValue) {
        if method == "$/cancelRequest" {
            self.answering.cancel(params);
        }
        self.notifications.push(Notification { method, params: params.to_owned() });
    }
}
