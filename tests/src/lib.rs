//! What the tests share.

pub mod binary;
pub mod conformance;
pub mod generate;
