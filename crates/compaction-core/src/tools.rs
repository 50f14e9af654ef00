//! Tools of coding agents: what a call does, its files, command or plan, and whether its result reports
//! a failure.
//!
//! One table (`tools/table.txt`) serves both the file lists of a compaction and the ledger. Its rows
//! are names. Everything else is code: patches (`patch`), command lines (`shell`), plans (`plan`),
//! results (`outcome`).
//!
//! These files count as read or modified:
//!
//! - a file that a call names, according to the table or [`FileTools`];
//! - a file in a patch; deleted and moved files count as modified;
//! - a file that aider reports as edited in the text of an answer; an edit that only appears in a text
//!   counts if the conversation has no tool call at all;
//! - a file that a command line prints completely or partly (`cat`, `head`, `sed -n`, `nl`), if the
//!   output goes to the reader, because some agents have no other way to read. A search (`grep`) does
//!   not count;
//! - a file that a command line clearly writes text into (`cat > FILE <<EOF`, `echo … > FILE`, `tee`,
//!   `sed -i`). Output of programs (`make > log`), `cp`, `mv` and `rm` do not count: their arguments
//!   are more often patterns, variables and directories. Command lines of a tool named exactly `bash`
//!   do not count either: it belongs to the format's own agent, whose lists have no such files.

mod arguments;
mod outcome;
mod patch;
mod plan;
mod shell;
mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use arguments::Arguments;
use table::{Kind, table};

pub use outcome::{failed, files_done, has_failed, printed_text};
pub use patch::{proposed_edits, reported_edits};
pub use plan::{Plan, PlanItem, PlanStatus};

use crate::file_operations::FileTools;
use crate::json::Json;
use crate::message::ToolCall;

/// The command tool of the format's own agent. That agent counts no files of command lines, and the
/// lists of its sessions must not depend on who compacts them.
const OWN_RUN: &str = "bash";
/// Maximum depth of wrapped calls.
const DEEPEST_WRAP: usize = 2;

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileDeed {
    /// The file is read.
    Read,
    /// The whole file is written.
    Write,
    /// Part of the file is changed.
    Edit,
    /// The file is deleted or moved away.
    Delete,
}

/// A file and the operation on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// The operation.
    pub deed: FileDeed,
    /// The path as the call spells it.
    pub path: String,
}

/// What a tool call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    /// Reads or changes at least one file.
    Files(Vec<FileUse>),
    /// Reads or changes the file that the agent has open. [`files_done`] finds out which.
    OpenFile(FileDeed),
    /// Runs a command line.
    Run {
        /// The command line, without the shell that runs it.
        command: String,
        /// Files that it clearly reads or writes.
        files: Vec<FileUse>,
    },
    /// Writes a plan.
    Plan(Plan),
    /// Asks the person these questions.
    Ask(Vec<String>),
    /// Ends the task with this text.
    Finish(String),
    /// Looks something up and changes nothing.
    Search,
    /// Anything else.
    Other,
}

impl ToolAction {
    /// The files of the call.
    pub fn files(&self) -> &[FileUse] {
        match self {
            ToolAction::Files(files) | ToolAction::Run { files, .. } => files,
            _ => &[],
        }
    }

    /// Whether the purpose of the call is to change files. Command lines do not count, even if they
    /// change files.
    pub fn changes_files(&self) -> bool {
        match self {
            ToolAction::Files(files) => files.iter().any(|file| file.deed != FileDeed::Read),
            ToolAction::OpenFile(deed) => *deed != FileDeed::Read,
            _ => false,
        }
    }
}

/// Whether an argument of this name holds a path, according to `tools` or the table.
pub fn names_path(argument: &str, tools: &FileTools) -> bool {
    let by_table = || table().arguments("path").iter().any(|name| table::is_written_as(argument, name));
    tools.path_arguments.iter().any(|name| name == argument) || by_table()
}

/// What `call` does. `tools` takes precedence over the table.
pub fn classify(call: &ToolCall, tools: &FileTools) -> ToolAction {
    let arguments = call.arguments.as_ref().map(unpacked);
    let arguments = Arguments::of(arguments.as_deref());
    match listed(&call.name, tools) {
        Some(deed) => match arguments.listed_path(tools).map_or_else(|| arguments.paths(), |path| vec![path]) {
            paths if paths.is_empty() => by_table(&call.name, &arguments, DEEPEST_WRAP),
            paths => ToolAction::Files(uses(deed, paths)),
        },
        None => by_table(&call.name, &arguments, DEEPEST_WRAP),
    }
}

/// Whether `tools` itself names the tool and the file of `call`. Such a call counts even if it fails,
/// as the format's own agent does it for its own tools.
pub fn is_listed(call: &ToolCall, tools: &FileTools) -> bool {
    listed(&call.name, tools).is_some() && Arguments::of(call.arguments.as_ref()).listed_path(tools).is_some()
}

/// The plan that `call` contains, whatever else it does; `None` if it has none.
pub fn plan_items(call: &ToolCall) -> Option<Plan> {
    let arguments = call.arguments.as_ref().map(unpacked)?;
    match by_table(&call.name, &Arguments::of(Some(&arguments)), DEEPEST_WRAP) {
        ToolAction::Plan(plan) => Some(plan),
        // Cline puts its plan into an argument of any call.
        _ => arguments.get("task_progress")?.as_str().map(Plan::of_text),
    }
    .filter(|plan| !plan.items.is_empty())
}

/// If a name is in two lists, modifying takes precedence over reading.
fn listed(name: &str, tools: &FileTools) -> Option<FileDeed> {
    let lists = [(&tools.edit, FileDeed::Edit), (&tools.write, FileDeed::Write), (&tools.read, FileDeed::Read)];
    lists.into_iter().find_map(|(names, deed)| names.iter().any(|listed| listed == name).then_some(deed))
}

fn by_table(name: &str, arguments: &Arguments<'_>, depth: usize) -> ToolAction {
    match table().tool(name) {
        Some(Kind::Files(deed)) => match arguments.paths() {
            paths if paths.is_empty() && table::has_server(name) => ToolAction::Other,
            paths if paths.is_empty() => ToolAction::OpenFile(deed),
            paths => ToolAction::Files(uses(deed, paths)),
        },
        Some(Kind::Move) => moved(arguments),
        Some(Kind::Patch) => patched(arguments),
        Some(Kind::Verb) => verb(arguments).unwrap_or(ToolAction::Other),
        Some(Kind::Run) if name == OWN_RUN => run(arguments).map(without_files).unwrap_or(ToolAction::Other),
        Some(Kind::Run) => run(arguments).or_else(|| run_code(arguments)).unwrap_or(ToolAction::Other),
        Some(Kind::Plan) => ToolAction::Plan(Plan::of_list(arguments)),
        Some(Kind::PlanItem) => ToolAction::Plan(Plan::of_item(arguments)),
        Some(Kind::Ask) => ToolAction::Ask(plan::questions(arguments)),
        Some(Kind::Finish) => ToolAction::Finish(arguments.text("finish").unwrap_or_default().to_owned()),
        Some(Kind::Search) => ToolAction::Search,
        Some(Kind::Wrap) => wrapped(arguments, depth),
        Some(Kind::Other) => ToolAction::Other,
        None => unknown(arguments),
    }
}

/// A tool that is not in the table. A verb with a file, a patch or a command line shows what it does.
fn unknown(arguments: &Arguments<'_>) -> ToolAction {
    verb(arguments).or_else(|| marked_patch(arguments)).or_else(|| run(arguments)).unwrap_or(ToolAction::Other)
}

fn moved(arguments: &Arguments<'_>) -> ToolAction {
    let ends = [("from", FileDeed::Delete), ("to", FileDeed::Write)];
    let ends = ends.into_iter().filter_map(|(name, deed)| Some((arguments.text(name)?, deed)));
    let files: Vec<FileUse> = ends.map(|(path, deed)| FileUse { deed, path: path.to_owned() }).collect();
    if files.is_empty() { ToolAction::Other } else { ToolAction::Files(files) }
}

fn patched(arguments: &Arguments<'_>) -> ToolAction {
    let text = arguments.whole_text().or_else(|| arguments.text("patch"));
    let mut files = text.map(patch::files).unwrap_or_default();
    if files.is_empty() {
        files = uses(FileDeed::Edit, arguments.paths());
    }
    if files.is_empty() { ToolAction::Other } else { ToolAction::Files(files) }
}

fn marked_patch(arguments: &Arguments<'_>) -> Option<ToolAction> {
    let text = arguments.whole_text().or_else(|| arguments.text("patch"))?;
    let files = if patch::is_marked(text) { patch::files(text) } else { Vec::new() };
    (!files.is_empty()).then_some(ToolAction::Files(files))
}

fn verb(arguments: &Arguments<'_>) -> Option<ToolAction> {
    let deed = arguments.texts("verb").find_map(|word| table().verb(word))?;
    let paths = arguments.paths();
    (!paths.is_empty()).then(|| ToolAction::Files(uses(deed, paths)))
}

fn run(arguments: &Arguments<'_>) -> Option<ToolAction> {
    let command = arguments.command()?;
    let files = shell::files(&command);
    Some(match !files.is_empty() && shell::is_patch(&command) {
        true => ToolAction::Files(files),
        false => ToolAction::Run { command, files },
    })
}

fn without_files(action: ToolAction) -> ToolAction {
    match action {
        ToolAction::Run { command, .. } => ToolAction::Run { command, files: Vec::new() },
        other => other,
    }
}

/// Code for an interpreter is not parsed for files.
fn run_code(arguments: &Arguments<'_>) -> Option<ToolAction> {
    arguments.text("code").map(|code| ToolAction::Run { command: code.to_owned(), files: Vec::new() })
}

fn wrapped(arguments: &Arguments<'_>, depth: usize) -> ToolAction {
    let inner = arguments.value("arguments").map(unpacked);
    match arguments.text("wrapped").filter(|_| depth > 0) {
        Some(name) => by_table(name, &Arguments::of(inner.as_deref()), depth - 1),
        None => ToolAction::Other,
    }
}

/// Arguments may be stored as the text of their object, also in a member `params` as Cursor does. Any
/// other text is an argument itself.
fn unpacked<'a>(arguments: &'a Json<'static>) -> Cow<'a, Json<'static>> {
    let inner = arguments.get("params").unwrap_or(arguments);
    let object = inner.as_str().filter(|text| text.trim_start().starts_with('{'));
    match object.and_then(|text| Json::parse(text).ok()) {
        Some(object) => Cow::Owned(object.into_owned()),
        None if inner.as_object().is_some() => Cow::Borrowed(inner),
        None => Cow::Borrowed(arguments),
    }
}

fn uses(deed: FileDeed, paths: Vec<String>) -> Vec<FileUse> {
    paths.into_iter().map(|path| FileUse { deed, path }).collect()
}
