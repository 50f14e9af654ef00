//! The subject of a call: an action and its path or command.

use super::text::{clip, one_line};
use crate::message::ToolCall;
use crate::tools::{FileAccess, ToolAction};

/// UTF-16 units of a command or an error in an item.
pub(crate) const LONGEST_TEXT: usize = 240;

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ActionKind {
    Read,
    Write,
    Edit,
    Run,
    Call,
}

impl ActionKind {
    pub(crate) const ALL: [ActionKind; 5] =
        [ActionKind::Read, ActionKind::Write, ActionKind::Edit, ActionKind::Run, ActionKind::Call];

    /// A deleted file counts as edited, as in the lists of files.
    pub(crate) fn of_file(access: FileAccess) -> Self {
        match access {
            FileAccess::Read => ActionKind::Read,
            FileAccess::Write => ActionKind::Write,
            FileAccess::Edit | FileAccess::Delete => ActionKind::Edit,
        }
    }

    pub(crate) fn is_of_file(self) -> bool {
        matches!(self, ActionKind::Read | ActionKind::Write | ActionKind::Edit)
    }

    /// The past tense of the action, which is the first word of an item.
    pub(crate) fn past(self) -> &'static str {
        match self {
            ActionKind::Read => "Read",
            ActionKind::Write => "Wrote",
            ActionKind::Edit => "Edited",
            ActionKind::Run => "Ran",
            ActionKind::Call => "Called",
        }
    }
}

/// An action and its target: a path, a command or a call.
pub(crate) type Subject = (ActionKind, String);

/// The subject of a call that does `action`: its first file, its command, or else the call itself.
pub(crate) fn subject_of(call: &ToolCall, action: &ToolAction) -> Subject {
    match action {
        ToolAction::Files(files) if !files.is_empty() => (ActionKind::of_file(files[0].access), files[0].path.clone()),
        ToolAction::Run { command, .. } => (ActionKind::Run, one_line(command)),
        _ => {
            let arguments = call.arguments.as_ref();
            let arguments = arguments.map(|arguments| clip(&one_line(&arguments.to_compact()), LONGEST_TEXT));
            (ActionKind::Call, format!("{}({})", one_line(&call.name), arguments.unwrap_or_default()))
        }
    }
}

/// A target as it appears in items.
pub(crate) fn shown(target: &str) -> String {
    let line = if target.len() <= LONGEST_TEXT { one_line(target) } else { one_line(&clip(target, LONGEST_TEXT)) };
    if line.contains('`') { line.replace('`', "'") } else { line }
}
