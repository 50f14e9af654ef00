//! What each method does: it takes parameters, calls the engine or the store, and returns the result.

pub(crate) mod append;
pub(crate) mod branches;
pub(crate) mod compaction;
pub(crate) mod lifecycle;
mod messages;
pub(crate) mod read;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod subscriptions;
