//! Tools of coding agents: what a call does, its files, command or plan, and whether its result reports
//! a failure.
//!
//! One table (`tools/table.txt`) serves both the file lists of a compaction and the ledger. Its rows
//! are names. Everything else is code: patches (`patch`), command lines (`shell`), results (`outcome`), and plans and
//! questions in this file.
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

mod outcome;
mod patch;
mod refusals;
mod shell;
mod table;

use std::borrow::Cow;

use table::{Kind, is_written_as, table};

use crate::json::Json;
use crate::message::ToolCall;

pub use outcome::{failed, files_done, has_failed, printed_text, unapplied};
pub(crate) use outcome::{files_of_run, printed_and_failed, running};
pub use patch::{
    FileChange, added_lines, changes_in_text, failed_edits, proposed_edits, removed_lines, reported_edits,
};
pub(crate) use refusals::{ignored_by, is_approval, is_interruption, is_refusal};
pub(crate) use shell::words_of_steps;

/// The command tool of the format's own agent. That agent counts no files of command lines, and the
/// lists of its sessions must not depend on the program that compacts them.
const OWN_RUN: &str = "bash";
/// Maximum depth of wrapped calls.
const DEEPEST_WRAP: usize = 2;

/// Names of tools and arguments that identify file operations. They take precedence over the table. Names must
/// match exactly, and a matching call counts even if it failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileTools {
    /// Tools that read a file.
    pub read: Vec<String>,
    /// Tools that write a whole file.
    pub write: Vec<String>,
    /// Tools that change part of a file.
    pub edit: Vec<String>,
    /// Arguments with the path. The first one with a string counts.
    pub path_arguments: Vec<String>,
}

impl Default for FileTools {
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self { read: one("read"), write: one("write"), edit: one("edit"), path_arguments: one("path") }
    }
}

/// An operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileAccess {
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
    pub access: FileAccess,
    /// The path as the call spells it.
    pub path: String,
}

/// Values that a program writes for a path that it does not know.
const NO_PATHS: [&str; 2] = ["undefined", "null"];

/// What a tool call does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolAction {
    /// Reads or changes at least one file.
    Files(Vec<FileUse>),
    /// Reads or changes the file that the agent has open. [`files_done`] finds out which.
    OpenFile(FileAccess),
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
            ToolAction::Files(files) => files.iter().any(|file| file.access != FileAccess::Read),
            ToolAction::OpenFile(access) => *access != FileAccess::Read,
            _ => false,
        }
    }
}

/// Whether a tool of this name changes files, whatever its arguments.
pub fn edits_files(name: &str) -> bool {
    by_table(name, &Arguments::of(None), DEEPEST_WRAP).changes_files()
}

/// Whether an argument of this name contains a path, according to `tools` or the table.
pub fn names_path(argument: &str, tools: &FileTools) -> bool {
    let by_table = || table().arguments("path").iter().any(|name| table::is_written_as(argument, name));
    tools.path_arguments.iter().any(|name| name == argument) || by_table()
}

/// What `call` does. `tools` takes precedence over the table. The result from the table is stored with the call,
/// because reading command lines is slow and every preparation classifies all calls of the context.
pub fn classify(call: &ToolCall, tools: &FileTools) -> ToolAction {
    listed(&call.name, tools).and_then(|access| by_list(call, access, tools)).unwrap_or_else(|| {
        call.action.get_or_derive(|| {
            let arguments = call.arguments.as_ref().map(unpacked);
            by_table(&call.name, &Arguments::of(arguments.as_deref()), DEEPEST_WRAP)
        })
    })
}

/// What a call of a tool that `tools` names does; `None` if it has no paths.
fn by_list(call: &ToolCall, access: FileAccess, tools: &FileTools) -> Option<ToolAction> {
    let arguments = call.arguments.as_ref().map(unpacked);
    let arguments = Arguments::of(arguments.as_deref());
    let paths = arguments.listed_path(tools).map_or_else(|| arguments.paths(), |path| vec![path]);
    (!paths.is_empty()).then(|| ToolAction::Files(uses(access, paths)))
}

/// Whether `tools` itself names the tool and the file of `call`. Such a call counts even if it fails, as in the
/// format's own agent.
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

/// The text of a plan that `call` presents in Markdown, with more than its tasks: it has a heading or sentences of its
/// own. `None` if the call shows no plan or only a list.
pub fn plan_text(call: &ToolCall) -> Option<String> {
    if !matches!(table().tool(&call.name), Some(Kind::Plan)) {
        return None;
    }
    let arguments = call.arguments.as_ref().map(unpacked)?;
    let text = Arguments::of(Some(&arguments)).texts("plan").find(|text| !text.starts_with(['[', '{']))?;
    let is_item = |line: &&str| list_item_text(line.trim()).is_some();
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.clone().any(|line| !is_item(&line)).then(|| text.to_owned()).filter(|_| lines.count() > 1)
}

/// The text with which `call` ends the task; `None` for other calls, and without a text.
pub(crate) fn finish_text(call: &ToolCall) -> Option<String> {
    if !matches!(table().tool(&call.name), Some(Kind::Finish)) {
        return None;
    }
    let arguments = call.arguments.as_ref().map(unpacked)?;
    Arguments::of(Some(&arguments)).text("finish").map(str::to_owned)
}

/// The texts that a call writes, each as a whole, with their paths, if the only file of the call is wanted by its path.
pub(crate) fn written_texts(
    call: &ToolCall,
    tools: &FileTools,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<(String, String)> {
    let action = classify(call, tools);
    // Most files are not wanted, and their texts are long.
    let [file] = action.files() else { return Vec::new() };
    let arguments = call.arguments.as_ref().filter(|_| is_wanted(&file.path)).map(unpacked);
    let Some(arguments) = arguments else { return Vec::new() };
    let members = arguments.as_object().unwrap_or_default();
    let texts = members.iter().filter_map(|(_, value)| value.as_str());
    let Some(text) = texts.chain(arguments.as_str()).max_by_key(|text| text.len()) else { return Vec::new() };
    match changes_in_text(text) {
        Some(changes) => {
            let new = changes.into_iter().filter(|change| change.removed.is_empty());
            new.filter_map(|change| Some((change.path?.to_owned(), change.added.join("\n")))).collect()
        }
        None if file.access == FileAccess::Write => vec![(file.path.clone(), text.to_owned())],
        None => Vec::new(),
    }
}

/// If a name is in two lists, modifying takes precedence over reading.
fn listed(name: &str, tools: &FileTools) -> Option<FileAccess> {
    let lists = [(&tools.edit, FileAccess::Edit), (&tools.write, FileAccess::Write), (&tools.read, FileAccess::Read)];
    lists.into_iter().find_map(|(names, access)| names.iter().any(|listed| listed == name).then_some(access))
}

/// Whether a tool of this name asks the person, so that its result is their answer, or shows a plan, so that its result
/// may be the one that they approved.
pub(crate) fn asks_person(name: &str) -> bool {
    matches!(table().tool(name), Some(Kind::Ask | Kind::Plan))
}

/// Builds the table of tools, which is otherwise built where it is first needed.
pub fn build_table() {
    table();
}

fn by_table(name: &str, arguments: &Arguments<'_>, depth: usize) -> ToolAction {
    match table().tool(name) {
        Some(Kind::Files(access)) => match arguments.paths() {
            paths if paths.is_empty() && table::has_server(name) => ToolAction::Other,
            paths if paths.is_empty() => ToolAction::OpenFile(access),
            paths => ToolAction::Files(uses(access, paths)),
        },
        Some(Kind::Move) => moved(arguments),
        Some(Kind::Patch) => patched(arguments),
        Some(Kind::Verb) => verb(arguments).unwrap_or(ToolAction::Other),
        Some(Kind::Run) if name == OWN_RUN => run(arguments).map(without_files).unwrap_or(ToolAction::Other),
        Some(Kind::Run) => run(arguments).or_else(|| run_code(arguments)).unwrap_or(ToolAction::Other),
        Some(Kind::Plan) => ToolAction::Plan(Plan::of_list(arguments)),
        Some(Kind::PlanItem) => ToolAction::Plan(Plan::of_item(arguments)),
        Some(Kind::Ask) => ToolAction::Ask(questions(arguments)),
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
    let ends = [("from", FileAccess::Delete), ("to", FileAccess::Write)];
    let ends = ends.into_iter().filter_map(|(name, access)| Some((arguments.text(name)?, access)));
    let files: Vec<FileUse> = ends.map(|(path, access)| FileUse { access, path: path.to_owned() }).collect();
    if files.is_empty() { ToolAction::Other } else { ToolAction::Files(files) }
}

fn patched(arguments: &Arguments<'_>) -> ToolAction {
    let text = arguments.whole_text().or_else(|| arguments.text("patch"));
    let mut files = text.map(patch::files).unwrap_or_default();
    if files.is_empty() {
        files = uses(FileAccess::Edit, arguments.paths());
    }
    if files.is_empty() { ToolAction::Other } else { ToolAction::Files(files) }
}

fn marked_patch(arguments: &Arguments<'_>) -> Option<ToolAction> {
    let text = arguments.whole_text().or_else(|| arguments.text("patch"))?;
    let files = if patch::is_marked(text) { patch::files(text) } else { Vec::new() };
    (!files.is_empty()).then_some(ToolAction::Files(files))
}

fn verb(arguments: &Arguments<'_>) -> Option<ToolAction> {
    let access = arguments.texts("verb").find_map(|word| table().verb(word))?;
    let paths = arguments.paths();
    (!paths.is_empty()).then(|| ToolAction::Files(uses(access, paths)))
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

fn uses(access: FileAccess, paths: Vec<String>) -> Vec<FileUse> {
    paths.into_iter().map(|path| FileUse { access, path }).collect()
}

/// Maximum number of files of one call.
const MOST_FILES: usize = 500;

/// The arguments of a call.
#[derive(Debug, Clone, Copy)]
struct Arguments<'a>(Option<&'a Json<'static>>);

impl<'a> Arguments<'a> {
    fn of(arguments: Option<&'a Json<'static>>) -> Self {
        Self(arguments)
    }

    /// The arguments if they are one text, as for tools with their own grammar.
    fn whole_text(&self) -> Option<&'a str> {
        self.0?.as_str()
    }

    /// The first argument for `what`.
    fn value(&self, what: &str) -> Option<&'a Json<'static>> {
        self.values(what).next()
    }

    fn values(&self, what: &str) -> impl Iterator<Item = &'a Json<'static>> {
        let members = self.0.and_then(Json::as_object).unwrap_or_default();
        table()
            .arguments(what)
            .iter()
            .filter_map(move |name| members.iter().find(|(key, _)| is_written_as(key, name)).map(|(_, value)| value))
    }

    /// The arguments for `what` that are non-empty texts.
    fn texts(&self, what: &str) -> impl Iterator<Item = &'a str> {
        self.values(what).filter_map(Json::as_str).filter(|text| !text.trim().is_empty())
    }

    /// The first argument for `what` that is a non-empty text.
    fn text(&self, what: &str) -> Option<&'a str> {
        self.texts(what).next()
    }

    /// Whether the member with exactly this name is `true`.
    fn flag(&self, name: &str) -> bool {
        self.0.and_then(|arguments| arguments.get(name)?.as_bool()).unwrap_or(false)
    }

    /// The path in the arguments that `tools` names. The names must match exactly.
    fn listed_path(&self, tools: &FileTools) -> Option<String> {
        let arguments = self.0?;
        let mut paths = tools.path_arguments.iter().filter_map(|name| arguments.get(name)?.as_str());
        paths.next().filter(|path| !path.is_empty()).map(str::to_owned)
    }

    /// All files in the arguments, each once. Patterns are not files.
    fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        let mut add = |path: &str| {
            let path = path.strip_prefix("file://").unwrap_or(path).trim();
            let is_file = !path.is_empty() && !NO_PATHS.contains(&path) && !path.contains(['*', '\n']);
            if is_file && paths.len() < MOST_FILES && !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        };
        self.text("path").into_iter().for_each(&mut add);
        let items = |what| self.values(what).filter_map(items).flatten();
        items("paths").filter_map(Json::as_str).for_each(&mut add);
        items("parts").filter_map(|part| Arguments(Some(part)).text("path")).for_each(&mut add);
        if paths.is_empty() {
            // Older calls of Roo have their files in a text with tags.
            let tagged = self.0.and_then(|arguments| arguments.get("args")?.as_str()).unwrap_or_default();
            tagged.split("<path>").skip(1).filter_map(|rest| rest.split("</path>").next()).for_each(|path| {
                paths.push(path.trim().to_owned());
            });
        }
        paths
    }

    /// The command line, without the shell that runs it.
    fn command(&self) -> Option<String> {
        self.values("command").find_map(|value| match value {
            Json::String(text) if !text.trim().is_empty() => Some(text.to_string()),
            Json::Array(words) => {
                let words: Option<Vec<&str>> = words.iter().map(Json::as_str).collect();
                shell::joined(&words?)
            }
            _ => None,
        })
    }
}

fn items<'a>(value: &'a Json<'static>) -> Option<&'a [Json<'static>]> {
    match value {
        Json::Array(items) => Some(items),
        _ => None,
    }
}

/// Maximum number of items that are read.
const MOST_ITEMS: usize = 500;

/// A list of tasks that a call writes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// The items, in order.
    pub items: Vec<PlanItem>,
    /// Whether the items are merged into the earlier list by id; otherwise they replace it.
    pub merges: bool,
}

/// One task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanItem {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The task; empty if the call gives only the state of an earlier task.
    pub text: String,
    /// Its state.
    pub status: PlanStatus,
    /// Whether the call or the result gives the state. Otherwise `status` is that of a new task.
    pub is_stated: bool,
}

/// The state of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// Begun.
    InProgress,
    /// Done.
    Completed,
    /// Given up.
    Cancelled,
}

impl Plan {
    fn of_list(arguments: &Arguments<'_>) -> Self {
        let merges = arguments.flag("merge");
        let items = match arguments.value("plan") {
            Some(Json::Array(items)) => items.iter().filter_map(item).take(MOST_ITEMS).collect(),
            Some(Json::String(text)) => match Json::parse(text) {
                Ok(Json::Array(items)) => items.into_iter().filter_map(|value| item(&value.into_owned())).collect(),
                _ => Self::of_text(text).items,
            },
            _ => Vec::new(),
        };
        Self { items, merges }
    }

    /// Reads one item of a list that the agent keeps by ids.
    fn of_item(arguments: &Arguments<'_>) -> Self {
        let text = arguments.text("plan-item").unwrap_or_default().trim().to_owned();
        let id = arguments.value("item-id").and_then(id_text);
        let stated = arguments.text("status").and_then(|word| table().status(word));
        let (status, is_stated) = (stated.unwrap_or(PlanStatus::Pending), stated.is_some());
        let is_empty = text.is_empty() && id.is_none();
        let items = if is_empty { Vec::new() } else { vec![PlanItem { id, text, status, is_stated }] };
        Self { items, merges: true }
    }

    /// Reads the list of tasks that a result shows, as JSON or with a mark before each task. At least half of its lines
    /// are tasks with a state.
    pub fn of_result(text: &str) -> Option<Self> {
        let text = text.trim();
        let items: Vec<PlanItem> = match text.starts_with(['[', '{']).then(|| Json::parse(text).ok()).flatten() {
            Some(Json::Array(items)) => items.into_iter().filter_map(stated_item).take(MOST_ITEMS).collect(),
            Some(json) => {
                let json = json.into_owned();
                match Arguments(Some(&json)).value("plan").and_then(items) {
                    Some(items) => items.iter().cloned().filter_map(stated_item).take(MOST_ITEMS).collect(),
                    None => stated_item(json.get("task").cloned().unwrap_or(json)).into_iter().collect(),
                }
            }
            None => {
                let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
                let marked: Vec<PlanItem> = lines().filter_map(marked_item).take(MOST_ITEMS).collect();
                match titled_item(text) {
                    Some(item) => vec![item],
                    None if marked.len() * 2 < lines().count() => Vec::new(),
                    None => marked,
                }
            }
        };
        // One task with an id is a part of a list that is kept by ids.
        let merges = items.len() == 1 && items.iter().all(|item| item.id.is_some());
        (items.len() > 1 || merges).then_some(Self { items, merges })
    }

    /// Reads an item of a list with the mark of its state before it: `⏳ x (running)`. An item without letters is none. Words in
    /// brackets at the end of an open task repeat its state.
    pub fn marked(item: &str) -> Option<PlanItem> {
        let (_, status) = MARKS.iter().find(|(marks, _)| item.starts_with(*marks))?;
        let text = item.trim_start_matches(|one: char| !one.is_alphanumeric()).trim();
        let state = text.strip_suffix(')').and_then(|text| text.rsplit_once(" ("));
        let is_state = |words: &str| !words.contains(['.', '/', '_', '`']);
        let bare = state.filter(|(_, words)| *status != PlanStatus::Completed && is_state(words)).map(|(bare, _)| bare);
        let text = bare.unwrap_or(text);
        text.contains(char::is_alphabetic).then(|| new_item(text, *status))
    }

    /// Reads a list in Markdown: its checkboxes, or its list items if there are none.
    pub fn of_text(text: &str) -> Self {
        let lines = || text.lines().map(str::trim).filter_map(list_item_text).take(MOST_ITEMS);
        let boxes: Vec<PlanItem> = lines().filter_map(checkbox_item).collect();
        let points = || lines().filter(|point| !point.is_empty()).map(|point| new_item(point, PlanStatus::Pending));
        Self { items: if boxes.is_empty() { points().collect() } else { boxes }, merges: false }
    }
}

/// The questions of a call.
fn questions(arguments: &Arguments<'_>) -> Vec<String> {
    match arguments.value("questions") {
        Some(Json::Array(items)) => {
            let text = |item: &Json<'static>| match item {
                Json::String(text) => Some(text.to_string()),
                item => Arguments::of(Some(item)).text("question").map(str::to_owned),
            };
            items.iter().filter_map(text).collect()
        }
        _ => arguments.text("questions").map(str::to_owned).into_iter().collect(),
    }
}

fn item(value: &Json<'static>) -> Option<PlanItem> {
    if let Some(text) = value.as_str() {
        return checkbox_item(text.trim())
            .or_else(|| list_item_text(text.trim()).and_then(checkbox_item))
            .or_else(|| (!text.trim().is_empty()).then(|| new_item(text.trim(), PlanStatus::Pending)));
    }
    let arguments = Arguments::of(Some(value));
    let text = arguments.text("item").unwrap_or_default().trim().to_owned();
    let id = arguments.value("item-id").and_then(id_text);
    let is_done = arguments.flag("completed") || arguments.flag("done");
    let stated = arguments.text("status").and_then(|word| table().status(word));
    let status = stated.unwrap_or(if is_done { PlanStatus::Completed } else { PlanStatus::Pending });
    let is_stated = stated.is_some() || is_done;
    (!text.is_empty() || id.is_some()).then_some(PlanItem { id, text, status, is_stated })
}

/// A task in JSON that has a state.
fn stated_item(value: Json<'_>) -> Option<PlanItem> {
    let value = value.into_owned();
    Arguments(Some(&value)).text("status").and_then(|word| table().status(word))?;
    item(&value).filter(|item| !item.text.is_empty())
}

/// Marks of tasks and their states.
const MARKS: [(&[char], PlanStatus); 3] = [
    (&['\u{2612}', '\u{2611}', '\u{2714}', '\u{2713}', '\u{2705}', '\u{25fc}'], PlanStatus::Completed),
    (
        &['\u{2610}', '\u{25fb}', '\u{25a1}', '\u{25cb}', '\u{2b1c}', '\u{1f512}', '\u{23f8}', '\u{1f51c}'],
        PlanStatus::Pending,
    ),
    (&['\u{25d0}', '\u{25b6}', '\u{23f3}', '\u{25fe}', '\u{1f504}', '\u{1f6a7}'], PlanStatus::InProgress),
];

/// Reads a line of a printed list: `☒ x`, `- [~] x`, `1. [completed] x`, `#2 [pending] x`.
fn marked_item(line: &str) -> Option<PlanItem> {
    let id =
        line.strip_prefix('#').and_then(|rest| rest.split_once(' ')).map(|(id, _)| id.trim_end_matches([':', '.']));
    let id = id.filter(|id| is_number(id)).map(str::to_owned);
    let line = line.trim_start_matches(['\u{23bf}', '\u{2514}', '#', ' ', '\u{a0}']);
    let bare = line.trim_start_matches(|character: char| character.is_ascii_digit()).trim_start();
    let line = if bare.starts_with('[') { bare } else { list_item_text(line).unwrap_or(line) };
    if let Some(item) = checkbox_item(line) {
        let text = if id.is_some() { without_blockers(&item.text).to_owned() } else { item.text };
        return Some(PlanItem { id, text, ..item });
    }
    let (_, status) = MARKS.iter().find(|(marks, _)| line.starts_with(*marks))?;
    let text = line.trim_start_matches(|character: char| !character.is_alphanumeric()).trim();
    (!text.is_empty()).then(|| new_item(text, *status))
}

/// A task of a printed list without the tasks that block it.
fn without_blockers(text: &str) -> &str {
    text.rsplit_once(" [blocked by #").filter(|(_, rest)| rest.ends_with(']')).map_or(text, |(text, _)| text)
}

/// Reads one task that is printed with its lines: `Task #2: x`, and below it `Status: pending`.
fn titled_item(text: &str) -> Option<PlanItem> {
    let mut lines = text.lines().map(str::trim);
    let (id, text) = lines.next()?.strip_prefix("Task #")?.split_once(": ")?;
    let status = lines.find_map(|line| table().status(line.strip_prefix("Status:")?.trim()))?;
    let is_one = is_number(id) && !text.trim().is_empty();
    is_one.then(|| PlanItem { id: Some(id.to_owned()), ..new_item(text.trim(), status) })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The id that a result gives to the task that its call created: `Task #3 created successfully`, `{"task":{"id":3}}`.
/// The task's own words may follow and are not searched.
pub fn created_id(result: &str) -> Option<String> {
    let result = result.trim();
    if result.starts_with('{') {
        let json = Json::parse(result).ok()?.into_owned();
        let inner = json.get("task").or_else(|| json.get("data")).filter(|inner| matches!(inner, Json::Object(_)));
        let id_of = |json: &Json<'static>| Arguments(Some(json)).value("item-id").and_then(id_text);
        return inner.and_then(id_of).or_else(|| id_of(&json));
    }
    let line = result.lines().next()?;
    let line = line.split_once(": ").filter(|(_, text)| !text.starts_with(is_id)).map_or(line, |(start, _)| start);
    let mut words = line.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', '.', ':', '"', '\'', '`']));
    while let Some(word) = words.next() {
        let named = match word.strip_prefix('#') {
            Some(id) => Some(id),
            None if ["task", "id", "todo"].iter().any(|name| word.eq_ignore_ascii_case(name)) => {
                let mut ahead = words.clone();
                ahead.next().map(|next| next.trim_start_matches('#'))
            }
            None => None,
        };
        // A word without a digit is not an id.
        if let Some(id) = named.filter(|id| id.starts_with(is_id) && id.contains(|one: char| one.is_ascii_digit())) {
            return Some(id.to_owned());
        }
    }
    None
}

fn is_id(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '#'
}

fn id_text(id: &Json<'static>) -> Option<String> {
    match id {
        Json::String(text) => Some(text.trim().trim_start_matches('#').to_owned()).filter(|id| !id.is_empty()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn new_item(text: &str, status: PlanStatus) -> PlanItem {
    PlanItem { id: None, text: text.to_owned(), status, is_stated: true }
}

/// The text of a list item: `- x`, `* x`, `3. x`, or a checkbox without a marker.
fn list_item_text(line: &str) -> Option<&str> {
    let behind_number = || {
        let rest = line.trim_start_matches(|character: char| character.is_ascii_digit());
        (rest.len() < line.len()).then(|| rest.strip_prefix(". ").or_else(|| rest.strip_prefix(") "))).flatten()
    };
    let behind_mark = ["- ", "* ", "+ ", "• "].into_iter().find_map(|mark| line.strip_prefix(mark));
    behind_mark.or_else(behind_number).map(str::trim).or_else(|| line.starts_with('[').then_some(line))
}

/// Reads an item with a checkbox: `[x] y`.
fn checkbox_item(point: &str) -> Option<PlanItem> {
    let (mark, text) = point.strip_prefix('[')?.split_once(']')?;
    let status = match mark.trim() {
        "" => PlanStatus::Pending,
        "x" | "X" | "✓" | "✔" => PlanStatus::Completed,
        "-" | "~" | "/" | ">" | "*" | "•" => PlanStatus::InProgress,
        word => table().status(word)?,
    };
    let text = text.trim();
    (!text.is_empty()).then(|| new_item(text, status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;
    use serde_json::json;
    use std::collections::BTreeMap;

    /// Compares the result of `of` for each case with the expected one, and reports all differences at once.
    fn check(name: &str, text: &str, of: impl Fn(&Value) -> Vec<(Value, Value)>) {
        let mut wrong = Vec::new();
        for line in text.lines() {
            let case: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
            let differing = of(&case).into_iter().filter(|(is, should_be)| is != should_be);
            wrong.extend(differing.map(|(is, should_be)| format!("{line}\n  is        {is}\n  should be {should_be}")));
        }
        assert!(!text.is_empty() && wrong.is_empty(), "{name}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
    }

    fn call(case: &Value) -> ToolCall {
        let arguments =
            case.get("arguments").map(|arguments| Json::parse(&arguments.to_string()).unwrap().into_owned());
        ToolCall::new("1".to_owned(), case["name"].as_str().unwrap().to_owned(), arguments)
    }

    fn name_of(access: FileAccess) -> String {
        format!("{access:?}").to_lowercase()
    }

    fn of_files(files: &[FileUse]) -> BTreeMap<String, Vec<String>> {
        let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
        files.iter().for_each(|file| shown.entry(name_of(file.access)).or_default().push(file.path.clone()));
        shown
    }

    fn shown(action: &ToolAction) -> Value {
        match action {
            ToolAction::Files(files) => json!(of_files(files)),
            ToolAction::OpenFile(open) => json!({ "open": name_of(*open) }),
            ToolAction::Run { command, files } => {
                let mut value = json!(of_files(files));
                value["run"] = json!(command);
                value
            }
            ToolAction::Plan(plan) => json!({ "plan": plan.items.len() }),
            ToolAction::Ask(questions) => json!({ "ask": questions }),
            ToolAction::Finish(text) => json!({ "finish": text }),
            ToolAction::Search => json!("search"),
            ToolAction::Other => json!("other"),
        }
    }

    #[test]
    fn calls_do_what_the_table_says() {
        check("tool-calls.jsonl", include_str!("../fixtures/tool-calls.jsonl"), |case| {
            vec![(shown(&classify(&call(case), &FileTools::default())), case["is"].clone())]
        });
    }

    #[test]
    fn results_tell_whether_the_call_failed_and_which_files_count() {
        check("tool-results.jsonl", include_str!("../fixtures/tool-results.jsonl"), |case| {
            let (result, is_error) = (case["result"].as_str().unwrap(), case["isError"] == true);
            let failure = case.get("failed").map(|should_be| (json!(failed(result, is_error)), should_be.clone()));
            let files = case.get("files").map(|should_be| {
                let action = classify(&call(case), &FileTools::default());
                (
                    json!(of_files(&files_done(
                        &action,
                        result,
                        || has_failed(&action, result, is_error),
                        || Box::new(["r.py", "/w/src/k.ts"].into_iter())
                    ))),
                    should_be.clone(),
                )
            });
            failure.into_iter().chain(files).collect()
        });
    }

    #[test]
    fn lists_of_things_to_do_are_read() {
        check("tool-plans.jsonl", include_str!("../fixtures/tool-plans.jsonl"), |case| {
            let plan = plan_items(&call(case));
            let items = plan.as_ref().map(|plan| {
                let item = |item: &PlanItem| json!([item.id, item.text, format!("{:?}", item.status)]);
                plan.items.iter().map(item).collect::<Vec<_>>()
            });
            let merges = plan.is_some_and(|plan| plan.merges);
            vec![(json!(items), case["items"].clone()), (json!(merges), json!(case["merges"] == true))]
        });
    }

    #[test]
    fn lists_that_results_show_are_read() {
        use PlanStatus::{Completed, InProgress, Pending};
        let all = [Completed, InProgress, Pending];
        for text in [
            "Todos:\n\u{2612} parse it\n\u{25d0} print it\n\u{2610} test it",
            "- [x] parse it\n- [~] print it\n- [ ] test it",
            "1. [completed] parse it\n2. [in_progress] print it\n3. [pending] test it",
            "#1 [completed] parse it\n#2 [in_progress] print it\n#3 [pending] test it",
            r#"[{"content":"parse it","status":"completed"},{"content":"print it","status":"in_progress"},
                {"content":"test it","status":"pending"}]"#,
            r#"{"todos":[{"content":"parse it","status":"done"},{"content":"print it","status":"in progress"},
                {"content":"test it","status":"todo"}]}"#,
        ] {
            let items = Plan::of_result(text).map(|plan| plan.items).unwrap_or_default();
            let items: Vec<_> = items.into_iter().map(|item| PlanItem { id: None, ..item }).collect();
            let expected = ["parse it", "print it", "test it"].into_iter().zip(all);
            assert_eq!(items, expected.map(|(text, status)| new_item(text, status)).collect::<Vec<_>>(), "{text}");
        }
        for text in ["Todos have been modified", "- one\n- two", "[1, 2]", "a\nb\nc\n[x] d\n[ ] e\nf", "[x] only one"] {
            assert_eq!(Plan::of_result(text), None, "{text}");
        }
    }

    #[test]
    fn one_task_and_the_id_of_a_new_one_are_read() {
        for text in [
            "#2 [in_progress] print it [blocked by #1]",
            "Task #2: print it\nStatus: in_progress\nDescription: all of it",
            r#"{"task":{"id":2,"subject":"print it","status":"in_progress"}}"#,
            r#"{"id":"2","subject":"print it","status":"in_progress"}"#,
        ] {
            let item = PlanItem { id: Some("2".to_owned()), ..new_item("print it", PlanStatus::InProgress) };
            assert_eq!(Plan::of_result(text), Some(Plan { items: vec![item], merges: true }), "{text}");
        }
        for (result, id) in [
            ("Task #3 created successfully: close issue #12", Some("3")),
            ("Created task 3: port the parser", Some("3")),
            ("Task created with id: 3", Some("3")),
            ("Todo created (id: t-3)", Some("t-3")),
            ("Task created: #3", Some("3")),
            (r#"{"success":true,"task":{"id":"3","subject":"a"}}"#, Some("3")),
            (r#"{"taskId":3}"#, Some("3")),
            ("{\"task_id\":\"#3\"}", Some("3")),
            (r#"{"data":{"id":"a1b2"}}"#, Some("a1b2")),
            ("Task created successfully: port the parser", None),
            ("Task created successfully", None),
            ("{}", None),
            ("", None),
        ] {
            assert_eq!(created_id(result).as_deref(), id, "{result}");
        }
    }

    proptest! {
        #[test]
        fn no_command_line_is_too_odd(
            command in r#"([a-z '"\\$`()<>|&;\#\n*{}=-]|<<E|cat |sed -i ){0,40}"#,
            patch in r"(\*\*\* (Add|Update) File:|--- |\+\+\+ |[a\n\t/ ]){0,20}",
        ) {
            let arguments = json!({ "command": ["bash", "-lc", command], "patch": patch });
            for name in ["shell", "apply_patch", "unknown"] {
                let files = classify(&call(&json!({ "name": name, "arguments": arguments })), &FileTools::default());
                prop_assert!(files.files().iter().all(|file| !file.path.is_empty()));
            }
            let _ = (failed(&command, false), plan_items(&call(&json!({ "name": "todo", "arguments": { "todos": command } }))));
        }
    }

    #[test]
    fn settings_come_before_the_table() {
        let own = |name: &str| vec![name.to_owned()];
        let tools = FileTools {
            read: own("fetch"),
            write: own("edit"),
            edit: Vec::new(),
            path_arguments: vec!["where".to_owned(), "path".to_owned()],
        };
        for (case, is) in [
            (json!({"name": "fetch", "arguments": {"where": "a"}}), json!({"read": ["a"]})),
            (json!({"name": "fetch", "arguments": {"file_path": "a"}}), json!({"read": ["a"]})),
            (json!({"name": "Fetch", "arguments": {"where": "a"}}), json!("other")),
            (json!({"name": "edit", "arguments": {"path": "a"}}), json!({"write": ["a"]})),
            (json!({"name": "Read", "arguments": {"where": "a", "path": "b"}}), json!({"read": ["b"]})),
        ] {
            assert_eq!(shown(&classify(&call(&case), &tools)), is, "{case}");
        }
    }
}
