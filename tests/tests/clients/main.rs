//! The clients against the built server: their examples, their own suites, and the Rust client.

mod examples;
mod rust;
