//! The pipes: frames in, frames out.
//!
//! The server's loop waits for input itself and parses what is short, so that a message wakes one
//! thread. Replies go through a queue that a plain thread empties; short ones pass it by, where the
//! pipe has room for them.

mod direct;
mod envelope;
mod frame;
mod linger;
mod outbound;
mod reader;
mod readiness;
mod source;

pub use envelope::{Answer, Call, Incoming, Part, RawId};
pub use frame::{Frame, FrameReader, Framing};
pub use outbound::{Cork, Outbound};
pub use reader::{Input, read_messages};
