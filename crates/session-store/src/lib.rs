//! Sessions: the conversation trees of agents, kept line by line.
//!
//! A [`SessionStore`] makes, opens, lists, searches and copies sessions. [`FileStore`] keeps them as
//! files in the format of docs/session-format.md, [`MemoryStore`] keeps them nowhere. A [`Session`] is one
//! open tree: an index of its entries above a [`log::SessionLog`], which holds the lines.
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
//! // The leaf moves back to the first question. Nothing is taken away: the tree has two branches now.
//! session.navigate(Some(asked.id()), &Precondition::None)?;
//! let path = session.branch_ids(session.leaf_id())?;
//! assert_eq!((path.first(), path.len()), (Some(asked.id()), 2));
//! assert_eq!(session.entry_count(), Some(3));
//! # Ok::<(), session_store::StoreError>(())
//! ```
//!
//! A store of your own is an implementation of [`log::SessionLog`] for its lines and of
//! [`SessionStore`] to find them.
//!
//! This crate asks no environment and no home directory: directories come in as arguments.

mod diagnostic;
mod error;
mod file;
mod fork;
mod header;
mod index;
mod locator;
pub mod log;
mod lossless;
mod memory;
mod new_ids;
mod search;
mod session;
mod store;

pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use error::StoreError;
pub use file::{
    FileLog, FileStore, OpenedFile, append_to_regular_file, open_regular_file, read_regular_file, resolve_path,
};
pub use header::SessionHeader;
pub use index::labels::Label;
pub use locator::Locator;
pub use memory::{MemoryLog, MemoryStore};
pub use new_ids::{is_valid_session_id, now};
pub use search::{SearchHit, SearchHits, SearchQuery};
pub use session::append::{Appended, ForeignChange, NewEntry, Parent, Precondition};
pub use session::branch::{SessionBranch, TreeNode};
pub use session::context::{Context, Recalled};
pub use session::facts::{SessionStats, TokenTotals};
pub use session::syncs::PendingSync;
pub use session::undo::Undo;
pub use session::{Durability, Session, SessionOptions};
pub use store::{
    CreateOptions, Cursor, IsCancelled, ListOptions, OpenOptions, SearchOptions, SessionPage, SessionStore,
    SessionSummary,
};
