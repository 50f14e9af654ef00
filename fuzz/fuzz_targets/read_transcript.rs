//! Fuzz target: see `properties/read_transcript.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/read_transcript.rs"]
mod property;

fuzz_target!(|bytes: &[u8]| property::read_transcript(bytes));
