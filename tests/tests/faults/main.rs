//! What must hold when things go wrong, with real processes.

#![cfg(unix)]

mod kill;
