//! Words by which items of summaries begin and end.

/// Starts the item of the request that came last.
pub(crate) const LATEST: &str = "Latest request: ";
/// Starts the item of a later message that asks for nothing by itself.
pub(crate) const AND_THEN: &str = "The user then wrote: ";
/// Starts the milestone of a commit.
pub(crate) const COMMITTED: &str = "Committed ";
/// Starts the step that is next while the latest request is open and no other step is known.
pub(crate) const GO_ON: &str = "Go on with: ";
/// Starts the item of a constraint or decision that was taken back.
pub(crate) const WITHDRAWN: &str = "No longer holds: ";
/// Starts an item of what was wanted on a branch that was left.
pub(crate) const LEFT_BRANCH: &str = "On a branch that was left: ";
/// Starts the item that records the caller's instructions; they are for one summary.
pub(crate) const FOCUS: &str = "Focus asked for this summary: ";
/// Stands between what failed and its error.
pub(crate) const FAILED: &str = " failed: ";
/// Starts items of names; what they hold is counted as names.
pub(crate) const IDENTIFIERS: &str = "Names in use: ";
pub(crate) const PATHS: &str = "Paths in use: ";
/// Starts an item of short messages of the person.
pub(crate) const REPLIES: &str = "The user also wrote: ";
/// Starts an item of errors that nothing waits for.
pub(crate) const RESOLVED: &str = "Errors that were dealt with: ";
/// Starts the item of a command that is used again and again.
pub(crate) const COMMAND: &str = "Command in use: ";

/// The note of commands that only looked something up.
pub(crate) const LOOKED_UP: &str = "Looked things up on the command line";
/// Ends the item of a call whose result has not come.
pub(crate) const NO_RESULT: &str = ": no result yet";
/// Starts the item of a request that was not answered to its end.
pub(crate) const WORKING_ON: &str = "Working on: ";
