//! The subject of a call: the file, the command or the tool that it is about, as keys and items name it.

use crate::json::Json;
use crate::ledger::commands::{core_command, purposes};
use crate::ledger::text::{clip, clip_middle, one_line};
use crate::message::ToolCall;
use crate::text::utf16_len;
use crate::tools::{FileAccess, ToolAction};

/// The key of an action: the core of a command, otherwise the target.
pub(super) fn core_of(kind: ActionKind, target: &str) -> String {
    if kind == ActionKind::Run { core_command(target).to_owned() } else { target.to_owned() }
}

/// Longest command or error in an item, in UTF-16 units.
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

    /// The gerund of an action that did not succeed: `reading`.
    pub(in crate::ledger) fn gerund(self) -> &'static str {
        match self {
            ActionKind::Read => "reading",
            ActionKind::Write => "writing",
            ActionKind::Edit => "editing",
            ActionKind::Run => "running",
            ActionKind::Call => "calling",
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

/// A call in at most `units` UTF-16 units. If it is longer, only the texts among its arguments are shown: a fragment of
/// its JSON would say less.
pub(crate) fn shown_call(call: &str, units: usize) -> String {
    let Some((tool, arguments)) = call.split_once('(').filter(|_| utf16_len(call) > units) else {
        return clip_middle(call, units);
    };
    let mut texts = Vec::new();
    if let Ok(Json::Object(members)) = Json::parse(arguments.trim_end_matches(')')) {
        let own = members.iter().filter_map(|(_, value)| value.as_str());
        texts.extend(own.take(MOST_TEXTS).map(|text| clip(&one_line(text), LONGEST_ARGUMENT)));
    }
    let told = format!("{tool}({})", texts.join(", "));
    if texts.is_empty() { clip_middle(tool, units) } else { clip(&told, units) }
}

/// Most texts of a call that are shown.
const MOST_TEXTS: usize = 3;
/// Longest of these texts, in UTF-16 units.
const LONGEST_ARGUMENT: usize = 40;

/// A call of a tool whose arguments name no file, with the file that it means.
pub(super) fn call_of_file(tool: &str, file: Option<&str>) -> String {
    let tool = one_line(tool);
    file.map_or_else(|| tool.clone(), |file| format!("{tool}({})", one_line(file)))
}

/// The purposes of a successful action: the programs of a command, or the tool.
pub(super) fn purposes_of(kind: ActionKind, target: &str) -> Vec<String> {
    match kind {
        ActionKind::Run => purposes(target),
        ActionKind::Call => purposes(target.split('(').next().unwrap_or_default()),
        _ => Vec::new(),
    }
}

/// A target as it appears in items.
pub(crate) fn shown(target: &str) -> String {
    let line = if target.len() <= LONGEST_TEXT { one_line(target) } else { one_line(&clip(target, LONGEST_TEXT)) };
    if line.contains('`') { line.replace('`', "'") } else { line }
}
