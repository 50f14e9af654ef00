//! Fuzz target: see `properties/open_session.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/open_session.rs"]
mod property;

fuzz_target!(|bytes: &[u8]| property::open_session(bytes));
