//! What the tests share.

pub mod generate;
