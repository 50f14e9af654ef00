//! Sessions on disk and in memory.
//!
//! A [`Session`] is one open conversation tree: an index of its entries above a [`SessionLog`],
//! which holds the lines. [`SessionStore`] finds, makes and copies sessions; [`FileStore`] keeps
//! them as files in the format of the session spec, [`MemoryStore`] keeps them nowhere. This crate
//! asks no environment and no home directory: directories come in as arguments.

mod diagnostic;
mod error;
mod file;
mod fork;
mod header;
mod index;
mod locator;
mod log;
mod lossless;
mod memory;
mod new_ids;
mod search;
mod session;
mod store;

pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use error::StoreError;
pub use file::{FileLog, FileStore, OpenedFile, append_to_regular_file, read_regular_file, resolve_path};
pub use header::SessionHeader;
pub use index::labels::Label;
pub use locator::Locator;
pub use log::{
    Batch, ChangeNotice, Line, LogChange, LogError, OldLog, Rewrite, SessionLog, Span, SyncLog, rewrite_lines,
};
pub use memory::{MemoryLog, MemoryStore};
pub use new_ids::is_valid_session_id;
pub use search::{SearchHit, SearchHits, SearchQuery};
pub use session::append::{Appended, AppendedAll, ForeignChange, NewEntry, Parent, Precondition};
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
