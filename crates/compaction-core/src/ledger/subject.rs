//! What a call was about: a deed, and the path or command that it was done to.

use super::text::{clip, one_line};
use crate::file_operations::{FileTools, path_of};
use crate::json::Json;
use crate::message::ToolCall;

const READ_TOOLS: &[&str] = &["read", "read_file", "view", "open", "cat"];
const WRITE_TOOLS: &[&str] = &["write", "write_file", "create", "create_file"];
const EDIT_TOOLS: &[&str] = &["edit", "edit_file", "multi_edit", "multiedit", "str_replace", "apply_patch", "patch"];
const PATH_ARGUMENTS: &[&str] = &["path", "file_path", "filePath", "file", "filename", "notebook_path"];
const COMMAND_ARGUMENTS: &[&str] = &["command", "cmd", "script"];
/// UTF-16 units of a command or an error in an item.
pub(crate) const LONGEST_TEXT: usize = 240;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Deed {
    Read,
    Write,
    Edit,
    Run,
    Call,
}

impl Deed {
    pub(crate) const ALL: [Deed; 5] = [Deed::Read, Deed::Write, Deed::Edit, Deed::Run, Deed::Call];

    pub(crate) fn is_of_file(self) -> bool {
        matches!(self, Deed::Read | Deed::Write | Deed::Edit)
    }

    /// The deed as the first word of an item.
    pub(crate) fn past(self) -> &'static str {
        match self {
            Deed::Read => "Read",
            Deed::Write => "Wrote",
            Deed::Edit => "Edited",
            Deed::Run => "Ran",
            Deed::Call => "Called",
        }
    }
}

/// A deed and what it was done to: a path, a command, or a call.
pub(crate) type Subject = (Deed, String);

/// Reads a call. Files are known by `tools` first, then by usual names of tools; other tools count
/// as commands if they have one, else as what they are.
pub(crate) fn subject_of(call: &ToolCall, tools: &FileTools) -> Subject {
    let arguments = call.arguments.as_ref();
    let listed = [(&tools.read, Deed::Read), (&tools.write, Deed::Write), (&tools.edit, Deed::Edit)];
    if let Some((_, deed)) = listed.into_iter().rev().find(|(names, _)| names.contains(&call.name))
        && let Some(path) = path_of(call, tools)
    {
        return (deed, path.to_owned());
    }
    let argument = |names: &[&str]| {
        let value = |name: &&str| arguments.and_then(|arguments| arguments.get(name)).and_then(Json::as_str);
        names.iter().find_map(value).filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let name = call.name.to_lowercase();
    let deed_of_file = [(READ_TOOLS, Deed::Read), (WRITE_TOOLS, Deed::Write), (EDIT_TOOLS, Deed::Edit)];
    let file_deed = deed_of_file.into_iter().find_map(|(tools, deed)| tools.contains(&name.as_str()).then_some(deed));
    if let (Some(deed), Some(path)) = (file_deed, argument(PATH_ARGUMENTS)) {
        return (deed, path);
    }
    if let Some(command) = argument(COMMAND_ARGUMENTS) {
        return (Deed::Run, one_line(&command));
    }
    let arguments = arguments.map(|arguments| clip(&one_line(&arguments.to_compact()), LONGEST_TEXT));
    (Deed::Call, format!("{}({})", one_line(&call.name), arguments.unwrap_or_default()))
}

/// A target as items name it.
pub(crate) fn shown(target: &str) -> String {
    one_line(&clip(target, LONGEST_TEXT)).replace('`', "'")
}
