//! The pipes: frames in, frames out, each on a thread of its own.
//!
//! A blocking read cannot be cancelled and costs an extra thread hop when a runtime does it, so one
//! plain thread reads and parses, one plain thread writes, and bounded queues connect them to the
//! server's loop. Short replies pass the writing thread by, where the pipe has room for them.

mod direct;
mod envelope;
mod frame;
mod outbound;
mod reader;

pub use envelope::{Answer, Call, Incoming, Part, RawId};
pub use frame::{Frame, FrameReader, Framing};
pub use outbound::{Cork, Outbound};
pub use reader::{Input, spawn_reader};
