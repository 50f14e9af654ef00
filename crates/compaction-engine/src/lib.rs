//! What a compaction is, apart from any wire.

mod auto_compaction;
mod breaker;
mod compactor;
mod context;
mod engine;
mod error;
mod host;
pub mod models;
mod navigator;
mod operation;
mod operations;
mod progress;
pub mod redaction;
mod session;
pub mod settings;
pub mod summarizers;
pub mod threads;

pub use auto_compaction::{AppendOutcome, DueCompaction, WindowUsage};
pub use compactor::{BegunCompaction, CompactionRequest, Fitted, jobs, kept, prompt_texts};
pub use context::{chosen_cut, pins_of, project};
pub use engine::Engine;
pub use error::{EngineError, ErrorKind, SummarizerFailure};
pub use host::*;
pub use navigator::{BegunNavigation, NavigationRequest, Route};
pub use operations::SessionTurn;
pub use progress::Progress;
pub use session::{AgentModel, AutoCompaction, OpenSession, OperationGuard, SessionAccess, Slot, Turn, change};
pub use settings::{Settings, SettingsLayers};
