//! The wire of compactd: framing, dispatch, methods and notifications.
//!
//! A frame comes in by [`transport`], becomes a call in [`dispatch`], lines up for its session
//! (`ticket`), is served by a handler ([`call`]), and goes out again by [`transport`].

mod arrivals;
pub mod call;
pub mod client_calls;
mod client_host;
mod convert;
pub mod dispatch;
pub mod errors;
mod handlers;
mod lean;
pub mod methods;
mod named;
mod notifications;
pub mod openrpc;
mod params;
mod paths;
mod pending_operations;
pub mod run;
mod scope;
pub mod server;
pub mod session;
pub mod sessions;
mod ticket;
pub mod transport;
mod unknown;
pub mod wire;
