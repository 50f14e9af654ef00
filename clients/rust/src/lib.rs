//! Rust client of compactd.
//!
//! [`Server`] starts the program as a child and talks JSON-RPC with it over its pipes. It has a function for each
//! method, typed by [`protocol`], and gives notifications as [`protocol::Event`]s in one ordered queue. The requests
//! of the server go to [`protocol::Hooks`]. `RawServer` (Unix) writes and reads the bytes themselves, for tests and
//! benchmarks.
//!
//! ```no_run
//! use compactd_client::protocol::{ClientInfo, CreateSessionParams, InitializeParams};
//! use compactd_client::{ClientError, Server};
//!
//! # async fn walk() -> Result<(), ClientError> {
//! let server = Server::start()?;
//! server.initialize(&InitializeParams::new(1, ClientInfo::new("example"))).await?;
//! let session = server.create_session(&CreateSessionParams::default()).await?;
//! println!("the session {} is in {:?}", session.session_id, session.path);
//! server.shutdown().await?;
//! # Ok(())
//! # }
//! ```

mod answers;
mod error;
mod framing;
mod notifications;
mod options;
mod process;
pub mod protocol;
#[cfg(unix)]
mod raw;
mod server;
mod transport;

pub use answers::{Answers, RpcError};
pub use error::{ClientError, MessageTooLarge};
pub use framing::{FrameReader, Framing, FramingError};
pub use notifications::Notification;
pub use options::{Direction, Options, Tap};
pub use process::find_binary;
#[cfg(unix)]
pub use raw::{RawError, RawServer};
pub use server::Server;

/// The example of the README compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
