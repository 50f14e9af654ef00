//! The wire of compactd: framing, dispatch, methods, notifications and the command line.
//!
//! A frame comes in by [`transport`], becomes a call in [`dispatch`], lines up for its session
//! (`ticket`), is served by a handler ([`call`]), and goes out again by [`transport`].

mod arrivals;
mod auto_compaction;
mod breaker;
pub mod call;
pub mod cli;
pub mod client_calls;
mod compactor;
mod convert;
pub mod dispatch;
pub mod errors;
mod handlers;
mod hooks;
mod lean;
pub mod log;
pub mod methods;
mod named;
mod navigator;
pub mod openrpc;
mod operation;
mod params;
mod pending_operations;
pub mod progress;
pub mod redaction;
pub mod run;
pub mod server;
pub mod session;
pub mod sessions;
pub mod settings;
pub mod summarizers;
mod ticket;
pub mod transport;
mod unknown;
pub mod wire;
