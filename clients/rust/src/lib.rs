//! Rust client of compactd.
