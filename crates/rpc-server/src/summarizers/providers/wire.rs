//! What the languages of providers have in common.

use std::fmt::Debug;
use std::sync::Arc;

use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::super::{Cache, ContinuedRequest};
use super::changes::Changeable;
use super::draft::Draft;
use super::failure::Failure;

/// How one provider wants to be asked, and how its answer reads. The answer is a list of events
/// whose data is JSON, or the one object that a server sends which does not stream.
pub(super) trait Wire: Send + Sync + Debug {
    /// Headers that the provider wants in every request.
    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        Vec::new()
    }

    /// The type of answer that is asked for.
    fn accepted(&self) -> &'static str {
        "text/event-stream"
    }

    /// The body of a request: no tools, no choice of one, no forced reasoning, nothing for a prompt
    /// cache (docs/field-reports.md, "Requests and summaries").
    fn body(&self, request: &SummaryRequest) -> Value;

    /// The interface whose conversations it can continue, as pi's sessions name it; `None` if it can
    /// continue none.
    fn continues(&self) -> Option<&'static str> {
        None
    }

    /// The body of a request that continues a conversation: its prompt, tools and messages, then the
    /// instruction. `None` if this language cannot.
    fn continued(&self, _: &ContinuedRequest) -> Option<RequestBody> {
        None
    }

    /// What of such requests the provider keeps.
    fn cache(&self) -> Cache {
        Cache::EveryBeginning
    }

    /// The member by which the provider's own server finds the cache of a session.
    fn session_member(&self) -> Option<&'static str> {
        None
    }

    /// What of the body can be changed for a server that refuses it.
    fn changeable(&self) -> &'static Changeable;

    /// Reads one event, or the whole answer, into the draft; fails if it tells of an error.
    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), Failure>;
}

/// The body of a request.
#[derive(Debug, Clone)]
pub(super) struct RequestBody {
    /// Its members.
    pub(super) members: Value,
    /// Further members, by name and text: what has to be sent with its own members in their own order.
    pub(super) texts: Vec<(&'static str, Arc<str>)>,
}

impl From<Value> for RequestBody {
    fn from(members: Value) -> Self {
        Self { members, texts: Vec::new() }
    }
}

impl RequestBody {
    /// Its text. Members of the settings go before those that stand here as texts.
    pub(super) fn to_json(&self) -> String {
        let mut json = self.members.to_string();
        for (name, text) in self.texts.iter().filter(|(name, _)| self.members.get(name).is_none()) {
            json.pop();
            let comma = if json.ends_with('{') { "" } else { "," };
            json.push_str(&format!("{comma}\"{name}\":{text}}}"));
        }
        json
    }
}

/// The first of some members that is a number.
pub(super) fn number(object: &Value, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| object[*key].as_u64())
}

/// Whether a list is there and holds something.
pub(super) fn is_filled(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}
