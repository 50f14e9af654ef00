//! The wire types, defined once. OpenRPC, JSON Schemas and client types are generated from them.
//!
//! Names and shapes are those of protocol/README.md. Doc comments become descriptions in the generated documents, so
//! they address authors of clients.

mod client;
mod compaction;
mod entries;
mod json;
mod lifecycle;
mod sessions;

pub use client::*;
pub use compaction::*;
pub use entries::*;
pub use json::*;
pub use lifecycle::*;
pub use sessions::*;
