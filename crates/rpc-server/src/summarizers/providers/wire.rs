//! What the languages of providers have in common.

use std::fmt::Debug;

use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::draft::Draft;
use super::failure::Failure;

/// How one provider wants to be asked, and how its answer reads. The answer is a stream of events
/// whose data is JSON.
pub(super) trait Wire: Send + Sync + Debug {
    /// Path and query of the method under the base address.
    fn path(&self) -> (String, Option<&'static str>);

    /// The header that carries the key, and what stands before the key in it.
    fn key_header(&self) -> (HeaderName, &'static str);

    /// Headers that the provider wants in every request.
    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        Vec::new()
    }

    /// The body of a request: no tools, no choice of one, no forced reasoning, nothing for a prompt
    /// cache (field bugs 62, 63, 65).
    fn body(&self, request: &SummaryRequest) -> Value;

    /// Whether an event of its own ends every answer. Where there is none, the reason for the end
    /// is the last thing that has to come.
    fn has_last_event(&self) -> bool;

    /// Reads one event into the draft; fails if it tells of an error.
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
