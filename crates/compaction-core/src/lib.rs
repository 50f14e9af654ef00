//! The pure part of compactd: no I/O, no runtime, no clock.
//!
//! Entries and messages are views of stored text, which is never changed ([`entry`], [`message`]). A
//! branch of entries is projected to what the model sees ([`projection`]), measured ([`tokens`]) and
//! cut ([`preparation`]). A summary replaces what precedes the cut. The pages in `docs` hold the
//! rules.

pub mod clipping;
pub mod conversation;
pub mod cut_point;
pub mod entry;
pub mod entry_text;
pub mod extractive;
pub mod file_operations;
pub mod fitting;
pub mod formats;
mod hash;
pub mod json;
pub mod ledger;
pub mod message;
pub mod migrate;
pub mod overflow;
mod phrases;
pub mod pins;
pub mod preparation;
pub mod projection;
pub mod prompts;
pub mod recall;
pub mod settings;
pub mod summary;
pub mod text;
pub mod tokens;
pub mod tools;
pub mod transcripts;
pub mod trigger;
pub mod undo;
