//! Compacts the context of LLM agents, independent of any protocol.
//!
//! An [`Engine`] compacts open sessions on behalf of a [`Host`]. It decides when a compaction is due, prepares it, asks
//! a chain of [`summarizers`] for the summary, checks what the summary lacks, and commits it as one entry. It also
//! writes the summary of a branch that a navigation abandons. The host receives an [`Event`] for every step. It can
//! cancel or change operations, and it can write summaries with its own model.
//!
//! # Compact a list of messages, without a server or a file
//!
//! ```
//! use std::sync::Arc;
//!
//! use compaction_engine::compaction_core::message::Message;
//! use compaction_engine::{CompactionRequest, Engine, OpenSession, Settings};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let messages = [
//!     ("user", "Rename the function `parse` in src/reader.rs to `read_frame`. Never touch the tests."),
//!     ("assistant", "It is renamed, and its three callers are changed. All tests pass."),
//!     ("user", "Now write a sentence about it into CHANGES.md."),
//! ]
//! .map(|(role, text)| Message::from_json(&json!({ "role": role, "content": text }).to_string()));
//! let messages = messages.into_iter().collect::<Result<Vec<_>, _>>()?;
//!
//! let settings = Settings::default().with(&json!({ "compaction": { "keepRecentTokens": 10 } }))?;
//! let engine = Arc::new(Engine::without_host(&settings));
//! let session = Arc::new(OpenSession::of_messages(&messages)?);
//! let compaction = engine.compact(&session, CompactionRequest::default()).await?;
//! assert_eq!(compaction.summarizer, "extractive");
//! assert!(compaction.summary.contains("Never touch the tests."));
//!
//! // The model now sees the summary and the last request, unchanged.
//! assert_eq!(session.context().await?.shared_messages().count(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! Most programs need only the items at the root. The modules have what a server needs, or a host with its own models:
//!
//! - [`host`]: events, and the questions that a host can answer.
//! - [`session`]: open sessions, their content, their turns, and the claim of one structural operation.
//! - [`settings`]: settings and their layers.
//! - [`summarizers`]: summarizers and the jobs that they get.
//! - [`models`]: models of providers and programs.
//! - [`redaction`]: removal of secrets.
//! - [`threads`]: limits of concurrent work.
//!
//! `compaction_core` and `session_store` are re-exported, because their types appear in this interface.

mod auto_compaction;
mod compactor;
mod engine;
mod error;
pub mod host;
pub mod models;
mod navigator;
mod operations;
pub mod redaction;
pub mod session;
pub mod settings;
mod structural_operation;
pub mod summarizers;
mod tables;
pub mod threads;

pub use compaction_core;
pub use session_store;
pub use tokio_util::sync::CancellationToken;

pub use auto_compaction::{AppendOutcome, DueCompaction, WindowUsage};
pub use compactor::{BegunCompaction, CompactionOperation, CompactionRequest, Preview};
pub use engine::Engine;
pub use error::{EngineError, ErrorKind, SummarizerFailure};
pub use host::{Event, Host};
pub use navigator::{BegunNavigation, NavigationOperation, NavigationRequest, Route};
pub use operations::SessionTurn;
pub use session::OpenSession;
pub use settings::Settings;
pub use structural_operation::{Begun, check_summarizers};
pub use tables::{build_ahead, build_if_near};
