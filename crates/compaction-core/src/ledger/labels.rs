//! Words at the beginning or end of summary items.

/// Starts the item of the last request.
pub(crate) const LATEST: &str = "Latest request: ";
/// Starts the item of a later message that is no request by itself.
pub(crate) const AND_THEN: &str = "The user then wrote: ";
/// Starts the milestone of a commit.
pub(crate) const COMMITTED: &str = "Committed ";
/// Starts the next step while the latest request is open and no other step is known.
pub(crate) const GO_ON: &str = "Go on with: ";
/// Starts the item of a withdrawn constraint or decision.
pub(crate) const WITHDRAWN: &str = "No longer holds: ";
/// Starts an item about a goal on a branch that was left.
pub(crate) const LEFT_BRANCH: &str = "On a branch that was left: ";
/// Starts the item that records the caller's instructions, which are for one summary only.
pub(crate) const FOCUS: &str = "Focus asked for this summary: ";
/// Separates what failed from its error.
pub(crate) const FAILED: &str = " failed: ";
/// Start lists of names, which count as names and not as statements.
pub(crate) const IDENTIFIERS: &str = "Names in use: ";
pub(crate) const PATHS: &str = "Paths in use: ";
/// Starts an item of short messages of the person.
pub(crate) const REPLIES: &str = "The user also wrote: ";
/// Starts an item of resolved errors.
pub(crate) const RESOLVED: &str = "Errors that were dealt with: ";
/// Starts the item of a command that is used repeatedly.
pub(crate) const COMMAND: &str = "Command in use: ";

/// The note of commands that only looked something up.
pub(crate) const LOOKED_UP: &str = "Looked things up on the command line";
/// Ends the item of a call that has no result yet.
pub(crate) const NO_RESULT: &str = ": no result yet";
/// Starts the item of a request without a complete answer.
pub(crate) const WORKING_ON: &str = "Working on: ";
