//! Sessions as files: everything that knows paths, links, locks of the system, and network file systems.

mod file_log;
mod file_store;
mod list;
mod lock;
mod read;
mod summarize;

pub use file_log::{FileLog, OpenedFile};
pub use file_store::FileStore;
pub use list::resolve as resolve_path;
pub use read::{append_to_regular_file, open_regular_file, read_regular_file};
