//! The wire of compactd: framing, dispatch, methods and notifications.
//!
//! [`transport`] reads a frame, [`dispatch`] turns it into a call and queues the call for its session (`ticket`), a
//! handler serves the call ([`call`]), and [`transport`] writes the reply.

mod arrivals;
pub mod call;
pub mod client;
mod convert;
pub mod dispatch;
pub mod errors;
mod handlers;
pub mod methods;
mod params;
mod reply;
pub mod run;
pub mod server;
pub mod transport;
mod unknown;
pub mod wire;
