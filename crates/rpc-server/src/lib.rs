//! The wire of compactd: framing, dispatch, methods and notifications.
//!
//! [`transport`] reads a frame, [`dispatch`] turns it into a [`call`] and queues it for its session, a handler serves it,
//! and [`transport`] writes the reply.

mod arrivals;
pub mod call;
pub mod client_host;
mod convert;
pub mod dispatch;
pub mod errors;

mod handlers {
    //! What each method does: it takes parameters, calls the engine or the store, and returns the result.

    pub(crate) mod branches;
    pub(crate) mod compaction;
    pub(crate) mod lifecycle;
    pub(crate) mod messages;
    pub(crate) mod read;
    pub(crate) mod sessions;
}

pub mod methods;
mod params;
mod reply;
pub mod run;
pub mod server;

pub mod transport {
    //! The pipes: frames in, frames out.
    //!
    //! The server's loop waits for input itself and parses short messages, so that a message wakes one thread. Replies go
    //! through a queue that a plain thread empties. Short replies bypass the queue when the pipe has room for them.

    mod frame;
    mod outbound;
    mod reader;

    pub use frame::{Answer, Call, Frame, FrameReader, Framing, Incoming, Part, RawId};
    pub use outbound::{Closing, Cork, Outbound};
    pub use reader::{Input, read_messages};
}

mod unknown;

pub mod wire {
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
}
