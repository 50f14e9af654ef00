//! The pure part of compactd: no I/O, no runtime, no clock.
//!
//! Entries and messages are read from text that is kept as it is ([`entry`], [`message`]); a
//! branch of them is projected to what the model sees ([`projection`]), weighed ([`tokens`]) and
//! cut ([`preparation`]); what is cut away becomes a summary.

pub mod entry;
pub mod json;
pub mod message;
pub mod projection;
pub mod system_state;
pub mod text;
pub mod tokens;
