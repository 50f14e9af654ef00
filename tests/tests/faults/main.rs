//! What must hold when things go wrong, with real processes.

#![cfg(unix)]

mod disk;
mod handles;
mod kill;
mod others;
