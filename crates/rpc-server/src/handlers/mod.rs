//! What each method does: parameters in, store and core called, result out.

pub(crate) mod compact_messages;
pub(crate) mod compaction;
pub(crate) mod context;
pub(crate) mod entries;
pub(crate) mod fork;
mod formats;
pub(crate) mod lifecycle;
pub(crate) mod navigation;
mod new_entries;
pub(crate) mod pins;
pub(crate) mod recall;
pub(crate) mod search;
pub(crate) mod sessions;
pub(crate) mod status;
pub(crate) mod undo;
