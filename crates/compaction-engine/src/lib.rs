//! What a compaction is, apart from any wire.
//!
//! An [`Engine`] compacts open sessions on behalf of a [`Host`]: it decides when a compaction is due, prepares
//! it, has the summary written by a chain of [`summarizers`], takes account of what it lacks, and commits it as one
//! entry. It does the same for the summary of a branch that a navigation leaves. The host is told of everything by
//! [`Event`]s, and is asked before an operation and for a summary, if it wants to be.
//!
//! # A list of messages, without a server and without a file
//!
//! ```
//! use std::sync::Arc;
//!
//! use compaction_core::message::Message;
//! use compaction_engine::context::project;
//! use compaction_engine::{CompactionRequest, Engine, OpenSession, Settings};
//! use serde_json::json;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let said = [
//!     ("user", "Rename the function `parse` in src/reader.rs to `read_frame`. Never touch the tests."),
//!     ("assistant", "It is renamed, and its three callers are changed. All tests pass."),
//!     ("user", "Now write a sentence about it into CHANGES.md."),
//! ];
//! let messages = said.map(|(role, text)| Message::from_json(&json!({ "role": role, "content": text }).to_string()));
//! let messages = messages.into_iter().collect::<Result<Vec<_>, _>>()?;
//!
//! let settings = Settings::default().with(&json!({ "compaction": { "keepRecentTokens": 10 } }))?;
//! let engine = Arc::new(Engine::without_host(&settings));
//! let session = Arc::new(OpenSession::of_messages(&messages)?);
//! let compaction = engine.compact(&session, CompactionRequest::default()).await?;
//! assert_eq!(compaction.summarizer, "extractive");
//! assert!(compaction.summary.contains("Never touch the tests."));
//!
//! // What the model sees from now on: the summary, and the last request as it was.
//! let slot = session.slot.read().await;
//! let opened = session.opened(slot.as_ref())?;
//! let context = project(opened, &session, opened.leaf_id())?;
//! assert_eq!(context.shared_messages().count(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Modules
//!
//! - [`session`]: an open session, and the one operation that may run on it.
//! - [`context`]: what the model sees of a branch.
//! - [`settings`]: the layers of settings.
//! - [`summarizers`]: who writes summaries.
//! - [`models`]: how the models of providers are asked.
//! - [`redaction`]: secrets, which summarizers do not see.
//! - [`host`]: what a host is told and asked.
//! - [`threads`]: the bound on work at a time.

mod auto_compaction;
mod compactor;
pub mod context;
mod engine;
mod error;
pub mod host;
pub mod models;
mod navigator;
mod operation;
mod operations;
mod progress;
pub mod redaction;
pub mod session;
pub mod settings;
pub mod summarizers;
pub mod threads;

pub use auto_compaction::{AppendOutcome, DueCompaction, WindowUsage};
pub use compactor::{BegunCompaction, CompactionOperation, CompactionRequest, Preview};
pub use engine::Engine;
pub use error::{EngineError, ErrorKind, SummarizerFailure};
pub use host::{Event, Host};
pub use navigator::{BegunNavigation, NavigationOperation, NavigationRequest, Route};
pub use operation::Begun;
pub use operations::SessionTurn;
pub use session::OpenSession;
pub use settings::Settings;
