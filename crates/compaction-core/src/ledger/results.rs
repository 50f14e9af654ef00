//! What the newest calls showed or changed, a line for each. Summaries of conversations in which little is said have room
//! for it. A stored ledger has those that its other lists leave room for; recall finds the results themselves.

use std::collections::VecDeque;

use super::actions::{added_by, shown};
use super::last_step::is_notice;
use super::text::{clip, one_line};
use crate::message::{Body, Message};
use crate::tools::printed_text;

/// Most calls that are told: the newest ones.
const MOST_CALLS: usize = 48;
/// Most UTF-16 units of the call, of a line that it printed or added, and of all these lines.
const LONGEST_CALL: usize = 80;
const LONGEST_LINE: usize = 120;
const LONGEST: usize = 240;
/// Most lines: the first ones and the last one of an output, the first ones of a change.
const MOST_LINES: usize = 3;
/// UTF-16 units of a change that are read.
const MOST_READ: usize = 4_000;
/// Fewest bytes of an output without a digit that says more than that the call is done.
const FEWEST_BYTES: usize = 16;
/// Fewest bytes of statements that leave no room in any summary of usual size.
pub(super) const TALKATIVE: usize = 80_000;
const SEPARATOR: &str = " | ";

/// What a call showed or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownResult {
    /// The command, the call or the path.
    pub(crate) target: String,
    /// Whether the call changed a file.
    pub(crate) is_change: bool,
    /// The lines that it printed or added, cut.
    pub(crate) text: String,
}

impl ShownResult {
    /// A stored one. Any program may have stored it.
    pub(super) fn restored(target: &str, text: &str, is_change: bool) -> Self {
        Self { target: clip(&shown(target), LONGEST_CALL), text: clip(&one_line(text), LONGEST), is_change }
    }
}

/// The newest calls, with the messages that hold what they showed.
#[derive(Debug, Clone, Default)]
pub(super) struct Results<'a> {
    newest: VecDeque<Call<'a>>,
    /// Those of earlier compactions.
    earlier: Vec<ShownResult>,
}

#[derive(Debug, Clone)]
struct Call<'a> {
    target: String,
    /// The result, or the answer with the call that changed a file.
    message: &'a Message,
    /// The id of the call that changed a file.
    change: Option<String>,
}

impl<'a> Results<'a> {
    pub(super) fn restore(&mut self, earlier: &[ShownResult]) {
        self.earlier = earlier.to_vec();
    }

    /// Records a result that arrived.
    pub(super) fn note_output(&mut self, target: &str, message: &'a Message) {
        self.note(Call { target: shown(target), message, change: None });
    }

    /// Records that the call `id` in `message` changed the file `path`.
    pub(super) fn note_change(&mut self, path: &str, message: &'a Message, id: &str) {
        self.note(Call { target: shown(path), message, change: Some(id.to_owned()) });
    }

    fn note(&mut self, call: Call<'a>) {
        // The same call shows the newest state.
        self.newest.retain(|known| known.target != call.target || known.change.is_some());
        if self.newest.len() >= MOST_CALLS {
            self.newest.pop_front();
        }
        self.newest.push_back(call);
    }

    /// What the newest calls showed, in order, without those that showed nothing.
    pub(super) fn finish(self) -> Vec<ShownResult> {
        let results = self.newest.into_iter().map(|call| ShownResult {
            text: call.text(),
            target: clip(&call.target, LONGEST_CALL),
            is_change: call.change.is_some(),
        });
        let mut newest: Vec<ShownResult> = results.filter(|result| !result.text.is_empty()).collect();
        let is_newer = |known: &ShownResult| newest.iter().any(|one| one.target == known.target && !known.is_change);
        let mut all: Vec<ShownResult> = self.earlier.into_iter().filter(|known| !is_newer(known)).collect();
        all.append(&mut newest);
        all.split_off(all.len().saturating_sub(MOST_CALLS))
    }
}

impl Call<'_> {
    fn text(&self) -> String {
        match (&*self.message.read_body(), &self.change) {
            (Body::Assistant(answer), Some(id)) => {
                let call = answer.tool_calls().find(|call| call.id == *id);
                let mut added: Vec<String> = Vec::new();
                if let Some(arguments) = call.and_then(|call| call.arguments.as_ref()) {
                    added_by(arguments, MOST_READ, &mut |line| {
                        if added.len() < MOST_LINES {
                            added.push(clip(&one_line(line), LONGEST_LINE));
                        }
                    });
                }
                clip(&added.join(SEPARATOR), LONGEST)
            }
            (Body::ToolResult { content, .. }, None) => telling(&printed_text(&content.text("\n"))),
            _ => String::new(),
        }
    }
}

/// The first lines and the last one of an output. Remarks in brackets or parentheses are not part of it, and the first line of a long
/// listing counts its blocks.
fn telling(output: &str) -> String {
    let is_telling = |line: &&str| {
        let line = line.trim();
        let is_remark = line.starts_with('[') && line.ends_with(']') && line.contains("...");
        let is_aside = line.starts_with('(') && line.ends_with(')');
        let is_count = line.strip_prefix("total ").is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
        line.contains(char::is_alphanumeric) && !is_remark && !is_aside && !is_count && !is_notice(line)
    };
    let mut lines = output.lines().filter(is_telling);
    let mut told: Vec<&str> = lines.by_ref().take(MOST_LINES - 1).collect();
    told.extend(lines.next_back());
    let told: Vec<String> = told.into_iter().map(|line| clip(&one_line(line), LONGEST_LINE)).collect();
    let told = clip(&told.join(SEPARATOR), LONGEST);
    let is_bare = told.len() < FEWEST_BYTES && !told.contains(|character: char| character.is_ascii_digit());
    if is_bare { String::new() } else { told }
}
