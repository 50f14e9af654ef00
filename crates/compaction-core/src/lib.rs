//! The pure part of compactd: no I/O, no runtime, no clock.
//!
//! Entries and messages are views of stored text, which is never changed ([`entry`], [`message`]). A
//! branch of entries is projected to what the model sees ([`projection`]), measured ([`tokens`]) and
//! cut ([`preparation`]). A summary replaces what precedes the cut. The pages in `docs` state the
//! rules.
//!
//! # Summarise a list of messages
//!
//! ```
//! use std::sync::Arc;
//!
//! use compaction_core::entry::EntryId;
//! use compaction_core::extractive::{Style, render_messages};
//! use compaction_core::ledger::Ledger;
//! use compaction_core::message::Message;
//! use compaction_core::preparation::PreparedMessage;
//! use compaction_core::summary::SummaryKind;
//! use compaction_core::tools::FileTools;
//!
//! let messages = [
//!     r#"{"role":"user","content":"Rename `parse` in src/reader.rs to `read_frame`. Never touch the tests."}"#,
//!     r#"{"role":"assistant","content":[{"type":"text","text":"It is renamed, and its three callers are changed."}]}"#,
//! ];
//! let mut prepared = Vec::new();
//! for (position, json) in messages.into_iter().enumerate() {
//!     let message = Arc::new(Message::from_json(json)?);
//!     prepared.push(PreparedMessage { entry_id: EntryId::new(format!("{position:08x}")), message });
//! }
//!
//! // The ledger contains the facts that the summary must not lose; a later compaction starts from it.
//! let ledger = Ledger::collect(&prepared, None, &FileTools::default());
//! let style = Style { custom_instructions: None, max_tokens: 1000, citations: false, turn: None, with_turn: None };
//! let summary = render_messages(&ledger, &prepared, SummaryKind::History, &style);
//! assert!(summary.contains("Never touch the tests."));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The crate `compaction_engine` adds models, checks and events to this. Cut points are here, in [`cut_point`].

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
#[doc(hidden)]
pub mod phrases;
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
