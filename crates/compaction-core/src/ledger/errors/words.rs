//! Words of errors: lower-case, as compilers, test runners, shells and runtimes
//! print them. A new tool is a new phrase in the table of programs, and an output in the table of tests of [`super::error_line`].

use crate::phrases::{PROGRAMS, listed};

/// Lines below an output that say how a command ended.
pub(super) const TRAILERS: &[&str] = listed!(PROGRAMS, "errors: trailers");
/// Words with which programs say that something failed.
pub(super) const FAILURE_WORDS: &[&str] = listed!(PROGRAMS, "errors: failure words");
/// Phrases with the same meaning.
pub(super) const FAILURE_PHRASES: &[&str] = listed!(PROGRAMS, "errors: failure phrases");
/// Reasons in the words of operating systems and shells. The name of what failed comes first.
pub(super) const SYSTEM_CAUSES: &[&str] = listed!(PROGRAMS, "errors: system causes");
/// Beginnings of lines that give a reason.
pub(super) const CAUSE_STARTS: &[&str] = listed!(PROGRAMS, "errors: cause starts");
/// Phrases that look like a reason but only say that something failed.
pub(super) const VERDICTS: &[&str] = listed!(PROGRAMS, "errors: verdicts");
/// Beginnings of lines that only say that something failed.
pub(super) const VERDICT_STARTS: &[&str] = listed!(PROGRAMS, "errors: verdict starts");
/// Beginnings of lines that report progress, success or advice.
pub(super) const NOISE_STARTS: &[&str] = listed!(PROGRAMS, "errors: noise starts");
/// Ends of lines that report success.
pub(super) const NOISE_ENDS: &[&str] = listed!(PROGRAMS, "errors: noise ends");
/// Beginnings of lines about work in progress, unless they also say why it failed.
pub(super) const PROGRESS_STARTS: &[&str] = listed!(PROGRAMS, "errors: progress starts");
