//! What each method does: it takes parameters, calls the engine or the store, and returns the result.

pub(crate) mod lifecycle;
pub(crate) mod messages;
pub(crate) mod operations;
pub(crate) mod read;
pub(crate) mod sessions;
