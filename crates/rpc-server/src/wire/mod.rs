//! The wire types, defined once: OpenRPC, JSON Schemas and client types are generated from them.
//!
//! Names and shapes are those of protocol/README.md. Doc comments become descriptions in
//! the generated documents, so they speak to the people who write clients.

mod compaction;
mod entries;
mod hooks;
mod json;
mod lifecycle;
mod navigation;
mod notifications;
mod pins;
mod recall;
mod search;
mod sessions;
mod summary_requests;
mod undo;

pub use compaction::*;
pub use entries::*;
pub use hooks::*;
pub use json::*;
pub use lifecycle::*;
pub use navigation::*;
pub use notifications::*;
pub use pins::*;
pub use recall::*;
pub use search::*;
pub use sessions::*;
pub use summary_requests::*;
pub use undo::*;
