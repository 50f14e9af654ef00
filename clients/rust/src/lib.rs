//! Rust client of compactd.
//!
//! [`Server`] starts the program as a child and talks JSON-RPC with it over its pipes: requests
//! through a jsonrpsee client, notifications in one ordered queue, requests of the server through
//! [`Answers`]. `RawServer` (Unix) writes and reads the bytes themselves, for tests and benchmarks.
//!
//! ```no_run
//! use compactd_client::{ClientError, Server};
//! use serde_json::{Value, json};
//!
//! # async fn walk() -> Result<(), ClientError> {
//! let server = Server::spawn(std::process::Command::new("compactd"))?;
//! let hello = json!({"protocolVersion": 1, "clientInfo": {"name": "example"}});
//! let _: Value = server.request("initialize", &hello).await?;
//! let session: Value = server.request("createSession", &json!({"ephemeral": true})).await?;
//! server.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod answers;
mod error;
mod framing;
mod incoming;
mod notifications;
mod options;
mod process;
#[cfg(unix)]
mod raw;
mod requests;
mod server;
mod transport;

pub use answers::{Answers, RpcError};
pub use error::ClientError;
pub use framing::{FrameReader, Framing, FramingError};
pub use notifications::Notification;
pub use options::{Direction, Options, Tap};
#[cfg(unix)]
pub use raw::{RawError, RawServer};
pub use server::Server;

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
