//! Sessions on disk and in memory.
//!
//! A [`Session`] is one open conversation tree: an index of its entries above a [`SessionLog`],
//! which holds the lines. [`SessionStore`] finds, makes and copies sessions; [`FileStore`] keeps
//! them as files in the format of the session spec, [`MemoryStore`] keeps them nowhere. This crate
//! asks no environment and no home directory: directories come in as arguments.

mod cache;
mod diagnostic;
mod entries_by_id;
mod error;
mod file_log;
mod file_store;
mod fork;
mod group_sync;
mod header;
mod holder_file;
mod identity;
mod ids;
mod index;
mod line;
mod lines;
mod list;
mod locator;
mod lock;
mod log;
mod lossless;
mod memory_log;
mod memory_store;
mod paths;
mod regular_file;
mod replace;
mod rewriting;
mod search;
mod session;
mod store;

pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use error::StoreError;
pub use file_log::{FileLog, OpenedFile};
pub use file_store::FileStore;
pub use group_sync::{PendingSync, SyncLog};
pub use header::SessionHeader;
pub use ids::is_valid_session_id;
pub use locator::Locator;
pub use log::{Batch, ChangeNotice, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, rewrite_lines};
pub use memory_log::MemoryLog;
pub use memory_store::MemoryStore;
pub use paths::resolve as resolve_path;
pub use regular_file::{append_to_regular_file, read_regular_file};
pub use search::{SearchHit, SearchHits, SearchQuery};
pub use session::append::{Appended, ForeignChange, NewEntry, Parent, Precondition};
pub use session::append_all::AppendedAll;
pub use session::branch::SessionBranch;
pub use session::context::Context;
pub use session::labels::Label;
pub use session::recall::Recalled;
pub use session::stats::{SessionStats, TokenTotals};
pub use session::tree::TreeNode;
pub use session::undo::Undo;
pub use session::{Session, SessionOptions};
pub use store::{
    CreateOptions, Cursor, Durability, IsCancelled, ListOptions, OpenOptions, SearchOptions, SessionPage, SessionStore,
    SessionSummary,
};
