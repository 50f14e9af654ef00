//! The chores of compactd, as functions, so that a test can call them too.

pub mod codegen;
mod compiler;
mod dependencies;
mod fuzz;
mod hosts;
mod links;
mod measure;
mod models;
mod modules;
mod package;
pub mod protocol;
mod queue;
mod steps;
mod test;
mod test_output;
mod usage;
mod workspace;

pub use compiler::{compile, is_compiler_call};
pub use fuzz::fuzz;
pub use hosts::hosts;
pub use links::links;
pub use measure::{bench, quality, recall, soak};
pub use models::models;
pub use package::package;
pub use protocol::protocol;
pub use test::test;
pub use usage::{check as check_options, is_help, of_chore as usage_of};
pub use workspace::root;
