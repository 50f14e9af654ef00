//! What the languages of providers have in common.

use std::fmt::Debug;

use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

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

    /// What of the body can be changed for a server that refuses it.
    fn changeable(&self) -> &'static Changeable;

    /// Reads one event, or the whole answer, into the draft; fails if it tells of an error.
    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), Failure>;
}

/// The first of some members that is a number.
pub(super) fn number(object: &Value, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| object[*key].as_u64())
}

/// Whether a list is there and holds something.
pub(super) fn is_filled(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}
