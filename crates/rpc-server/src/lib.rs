//! The wire of compactd.
