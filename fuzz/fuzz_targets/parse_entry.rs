//! Fuzz target: see `properties/parse_entry.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/parse_entry.rs"]
mod property;

fuzz_target!(|bytes: &[u8]| property::parse_entry(bytes));
