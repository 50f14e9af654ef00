//! The wire of compactd: framing, dispatch, methods, notifications and the command line.

pub mod cli;
pub mod wire;
