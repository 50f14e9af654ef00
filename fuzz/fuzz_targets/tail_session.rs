//! Fuzz target: see `properties/tail_session.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/tail_session.rs"]
mod property;

fuzz_target!(|bytes: &[u8]| property::tail_session(bytes));
