//! The pipes: frames in, frames out.
//!
//! The server's loop waits for input itself and parses short messages, so that a message wakes one thread. Replies go
//! through a queue that a plain thread empties. Short replies bypass the queue when the pipe has room for them.

mod envelope;
mod frame;
mod outbound;
mod reader;

pub use envelope::{Answer, Call, Incoming, Part, RawId};
pub use frame::{Frame, FrameReader, Framing};
pub use outbound::{Cork, Outbound};
pub use reader::{Input, read_messages};
