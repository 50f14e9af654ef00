//! Tools of coding agents: what a call does, to which files, with which command or list of things to do, and whether
//! its result tells of a failure.
//!
//! One table (`tools/table.txt`) serves the file lists of a compaction and the ledger alike. Its rows are names; what is
//! more than a name stands in code here: patches (`patch`), command lines (`shell`), lists of things to do (`plan`),
//! results (`outcome`).
//!
//! What counts as a file that was read or modified:
//!
//! - a file that a call names, by the table or by [`FileTools`];
//! - a file in a patch; a deleted or moved one counts as modified, since the work changed it;
//! - a file that aider tells to have edited in the text of an answer; an edit that merely stands in a text counts where
//!   a conversation holds no call of a tool at all, so that nothing else can tell;
//! - a file that a command line prints as a whole or in part (`cat`, `head`, `sed -n`, `nl`), as some agents have no other
//!   way to read, if its output goes to the reader. A search (`grep`) reads no file;
//! - a file that a command line evidently writes text into (`cat > FILE <<EOF`, `echo … > FILE`, `tee`, `sed -i`). Where
//!   programs write their output (`make > log`), and what `cp`, `mv` and `rm` do, is not told: patterns, variables and
//!   directories stand there more often than files that matter. Nor do the command lines of a tool named exactly `bash`
//!   tell files: it is that of the format's own agent, whose lists hold none of them.

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
pub use patch::{edits_proposed, edits_told};
pub use plan::{Plan, PlanItem, PlanStatus};

use crate::file_operations::FileTools;
use crate::json::Json;
use crate::message::ToolCall;

/// The command tool of the format's own agent. That agent counts no files of command lines, and the file lists of its
/// sessions are the same whoever compacts them.
const OWN_RUN: &str = "bash";
/// Calls within calls that are followed.
const DEEPEST_WRAP: usize = 2;

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileDeed {
    /// It is read.
    Read,
    /// It is written as a whole.
    Write,
    /// A part of it is changed.
    Edit,
    /// It is deleted, or moved elsewhere.
    Delete,
}

/// A file and what is done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUse {
    /// What is done.
    pub deed: FileDeed,
    /// The path, as the call spells it.
    pub path: String,
}

/// What a call of a tool does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    /// Reads or changes files, at least one.
    Files(Vec<FileUse>),
    /// Reads or changes the file that the agent has open; [`files_done`] tells which.
    OpenFile(FileDeed),
    /// Runs a command line.
    Run {
        /// The command line, without the shell that runs it.
        command: String,
        /// Files that it evidently reads or writes.
        files: Vec<FileUse>,
    },
    /// Writes down what is to be done.
    Plan(Plan),
    /// Asks the person; the questions.
    Ask(Vec<String>),
    /// Ends the task; what is said about it.
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

    /// Whether the call is there to change files. A command line is not, even if it does.
    pub fn changes_files(&self) -> bool {
        match self {
            ToolAction::Files(files) => files.iter().any(|file| file.deed != FileDeed::Read),
            ToolAction::OpenFile(deed) => *deed != FileDeed::Read,
            _ => false,
        }
    }
}

/// Whether an argument of this name holds a path, by `tools` or the table.
pub fn names_path(argument: &str, tools: &FileTools) -> bool {
    let by_table = || table().arguments("path").iter().any(|name| table::is_written_as(argument, name));
    tools.path_arguments.iter().any(|name| name == argument) || by_table()
}

/// What `call` does. `tools` is asked before the table.
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

/// Whether `tools` itself names the tool and the file of `call`. Such a call counts whatever comes of it: that is the rule
/// of the format's own agent for its own tools.
pub fn is_listed(call: &ToolCall, tools: &FileTools) -> bool {
    listed(&call.name, tools).is_some() && Arguments::of(call.arguments.as_ref()).listed_path(tools).is_some()
}

/// The list of things to do that `call` writes down, whatever else it does; `None` where it has none.
pub fn plan_items(call: &ToolCall) -> Option<Plan> {
    let arguments = call.arguments.as_ref().map(unpacked)?;
    match by_table(&call.name, &Arguments::of(Some(&arguments)), DEEPEST_WRAP) {
        ToolAction::Plan(plan) => Some(plan),
        // Cline's list travels in an argument of any call.
        _ => arguments.get("task_progress")?.as_str().map(Plan::of_text),
    }
    .filter(|plan| !plan.items.is_empty())
}

/// Modifying counts before reading, where a name stands in two lists.
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

/// A tool that the table does not know: a verb with a file, a patch and a command line show what it does.
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

/// Code for an interpreter names its files in a language that is not read here.
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

/// Arguments that are kept as the text of their object are read, also where they stand in a member `params`, as in
/// Cursor's store. Any other text is an argument of its own.
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
