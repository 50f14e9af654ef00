//! Fuzz target: see `properties/frame_reader.rs`.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../properties/frame_reader.rs"]
mod property;

fuzz_target!(|bytes: &[u8]| property::frame_reader(bytes));
