//! What a call was about: a deed, and the path or command that it was done to.

use super::text::{clip, one_line};
use crate::message::ToolCall;
use crate::tools::{FileDeed, ToolAction};

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

    /// A deleted file counts as edited, as in the lists of files.
    pub(crate) fn of_file(deed: FileDeed) -> Self {
        match deed {
            FileDeed::Read => Deed::Read,
            FileDeed::Write => Deed::Write,
            FileDeed::Edit | FileDeed::Delete => Deed::Edit,
        }
    }

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

/// What a call that does `action` is known by: the first of its files, its command, else the call itself.
pub(crate) fn subject_of(call: &ToolCall, action: &ToolAction) -> Subject {
    match action {
        ToolAction::Files(files) if !files.is_empty() => (Deed::of_file(files[0].deed), files[0].path.clone()),
        ToolAction::Run { command, .. } => (Deed::Run, one_line(command)),
        _ => {
            let arguments = call.arguments.as_ref();
            let arguments = arguments.map(|arguments| clip(&one_line(&arguments.to_compact()), LONGEST_TEXT));
            (Deed::Call, format!("{}({})", one_line(&call.name), arguments.unwrap_or_default()))
        }
    }
}

/// A target as items name it.
pub(crate) fn shown(target: &str) -> String {
    one_line(&clip(target, LONGEST_TEXT)).replace('`', "'")
}
