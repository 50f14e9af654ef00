//! Sessions on disk and in memory.
