//! Sessions: the conversation trees of agents, stored line by line.
//!
//! A [`SessionStore`] creates, opens, lists, searches and forks sessions. [`FileStore`] stores them in files
//! (docs/session-format.md), [`MemoryStore`] only in memory. A [`Session`] is one open tree: an index of its entries
//! above a [`log::SessionLog`], which holds the lines.
//!
//! ```
//! use session_store::{CreateOptions, MemoryStore, NewEntry, Parent, Precondition, SessionStore};
//!
//! let mut session = MemoryStore.create(&CreateOptions { cwd: "/work".to_owned(), ..CreateOptions::default() })?;
//! let question = r#"{"message":{"role":"user","content":"What does this crate do?"}}"#;
//! let asked = session.append(NewEntry::new("message", question), Parent::Leaf)?.entry;
//! let other = r#"{"message":{"role":"user","content":"And what does it not do?"}}"#;
//! session.append(NewEntry::new("message", other), Parent::Leaf)?;
//!
//! // The leaf moves back to the first question. Nothing is removed: the tree has two branches now.
//! session.navigate(Some(asked.id()), &Precondition::None)?;
//! let path = session.branch_ids(session.leaf_id())?;
//! assert_eq!((path.first(), path.len()), (Some(asked.id()), 2));
//! assert_eq!(session.entry_count(), Some(3)); // Two messages and the navigation.
//! # Ok::<(), session_store::StoreError>(())
//! ```
//!
//! To write another store, implement [`log::SessionLog`] for its lines and [`SessionStore`] to find them.
//! `tests/remote/client.rs` is a complete one, with retries and leases.
//!
//! This crate reads no environment variables and no home directory. Callers pass directories as arguments.

mod error;
mod file;
mod header;
mod index;
mod line;
pub mod log;
mod search;
mod session;
mod store;
mod words;

pub use error::{Diagnostic, DiagnosticKind, StoreError};
pub use file::{
    FileLog, FileStore, OpenedFile, append_to_regular_file, open_regular_file, read_regular_file, resolve_path,
};
pub use header::{SessionHeader, is_valid_session_id, new_uuid, now};
pub use index::Label;
pub use log::Locator;
pub use search::{SearchHit, SearchHits, SearchQuery};
pub use session::append::{Appended, ForeignChange, NewEntry, Parent, Precondition};
pub use session::branch::Undo;
pub use session::branch::{Context, Recalled, SessionBranch};
pub use session::entries::check_memory;
pub use session::inspect::{SessionStats, TokenTotals, TreeNode};
pub use session::syncs::PendingSync;
pub use session::{Durability, Session, SessionOptions};
pub use store::{
    CreateOptions, Cursor, IsCancelled, ListOptions, MemoryLog, MemoryStore, OpenOptions, SearchOptions, SessionPage,
    SessionStore, SessionSummary,
};
