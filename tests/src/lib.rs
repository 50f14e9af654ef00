//! What the tests share.

pub mod agent;
pub mod binary;
pub mod conformance;
pub mod examples;
#[cfg(unix)]
pub mod faults;
pub mod generate;
pub mod programs;
pub mod published_package;
pub mod questions;
mod server;
