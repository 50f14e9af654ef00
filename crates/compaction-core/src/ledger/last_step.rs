//! The last step: the newest calls of tools, why they were made, and their outcomes.

use std::collections::HashSet;

use super::actions::{ActionKind, shown, subject_of};
use super::commands::{clip_command, only_looks, without_preparation};
use super::conclusions::concluded_report;
use super::counts::counted_line;
use super::errors::{NO_OUTPUT, Worth, error_line, is_cause, is_trailer, lines_with_causes, worth};
use super::logs::{findings, without_prefixes};
use super::notes::{FAILED, OPEN_FILE, UNKNOWN};
use super::problems::is_unsolved;
use super::results::{SEPARATOR, without_frame};
use super::statements::sentences;
use super::steps::listed_steps;
use super::text::{WordList, clip, clip_middle, normalised, one_line, quote, word_list};
use crate::json::Json;
use crate::message::{Body, Message, ToolCall};
use crate::phrases::{HARNESSES, PROGRAMS, listed};
use crate::text::{prefix_utf16, utf16_len};
use crate::tools::{
    FileTools, ToolAction, added_lines, classify, has_failed, is_approval, is_interruption, is_refusal, printed_text,
    removed_lines,
};

/// Most calls of one message that are shown.
const MOST_CALLS: usize = 3;
/// Longest command or call, in UTF-16 units.
const LONGEST_TARGET: usize = 100;
/// Longest outcome of a call, in UTF-16 units.
const LONGEST_RESULT: usize = 160;
/// Longest purpose of a call, in UTF-16 units.
const LONGEST_PURPOSE: usize = 100;
/// A command is never cut to fewer UTF-16 units than this.
const SHORTEST_COMMAND: usize = 40;
/// Fewest UTF-16 units of a result that says something.
const SHORTEST_RESULT: usize = 24;
/// Longest output that counts as short, in bytes.
const LONGEST_READ: usize = 400;
/// Most lines of such an output.
const MOST_LINES: usize = 8;
/// Most UTF-16 units of all its lines.
const LONGEST_LINES: usize = 320;
/// Longest of its lines, in UTF-16 units.
const LONGEST_OF_LINES: usize = 100;
/// Number of last lines of an output that are read.
const LAST_LINES: usize = 12;
/// Arguments in which agents say why they make a call.
const PURPOSES: [&str; 4] = ["description", "explanation", "justification", "purpose"];
/// Longest path that is shown whole, in UTF-16 units.
const LONGEST_PATH: usize = 60;
/// Number of last parts of a longer path that are shown.
const PARTS: usize = 2;
/// Most values of a call that are shown.
const MOST_VALUES: usize = 3;
/// Longest value of a call, in UTF-16 units.
const LONGEST_VALUE: usize = 60;
/// Arguments with the text that an edit replaces.
const OLD_TEXTS: [&str; 5] = ["old_string", "old_str", "oldText", "old_text", "search"];
/// Arguments with the text that replaces it.
const NEW_TEXTS: [&str; 6] = ["new_string", "new_str", "newText", "new_text", "replace", "text"];
/// Arguments with a patch.
const PATCHES: [&str; 3] = ["patch", "input", "diff"];
/// UTF-16 units of an edit that are read.
const MOST_ADDED: usize = 20_000;
/// Fewest letters of an added line that says something.
const FEWEST_LETTERS: usize = 8;
/// Longest added line that is shown, in UTF-16 units.
const LONGEST_ADDED: usize = 80;
/// The outcome of a search without a match.
const NOTHING_FOUND: &str = ": nothing found";
/// Longest report of a sub-agent, in UTF-16 units.
const LONGEST_REPORT: usize = 320;
/// Longest verdict after a reason, in UTF-16 units.
const LONGEST_VERDICT: usize = 80;
/// Words in the names of tools that start a sub-agent.
static AGENTS: WordList = word_list!(HARNESSES, "last step: agents");
/// Parts of commands that show the log of a run that failed elsewhere.
const FAILED_LOGS: &[&str] = listed!(PROGRAMS, "last step: failed logs");
/// Parts of names of tools that only record thoughts.
const THINKING: [&str; 2] = ["think", "thought"];

/// The newest step of the model. It is not stored: a stored ledger is followed by newer messages with their own step.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastStep {
    /// The newest calls of one message; empty if nothing was done.
    pub(super) calls: Vec<Step>,
    /// Number of calls of that message before them.
    pub(super) earlier_calls: usize,
    /// Position of its last result, or of the call if there is none; 0 if there is no call.
    pub(crate) position: u64,
    /// Number of messages with calls after the newest words of the model.
    pub(crate) calls_since_words: u64,
    /// The steps that the model listed last in this turn; empty if it listed none.
    pub(crate) listed: Vec<String>,
    /// The position of that message.
    pub(crate) listed_at: u64,
    /// The call whose result shows what stops the work although the call succeeded, and the line that says so.
    pub(crate) shown_error: Option<(String, String)>,
    /// Why the newest answer broke off, if nothing followed it.
    pub(crate) broken_off: Option<String>,
    /// Commands that still run in the background.
    pub(crate) jobs: Vec<String>,
}

impl PartialEq for LastStep {
    /// The last step is not a fact of its own, so it does not affect equality of ledgers.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A call of the last step: the words before its command, the command (empty for a file), and the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Step {
    lead: String,
    command: String,
    came: String,
}

impl Step {
    /// The step in about `units` UTF-16 units. The command is cut before the outcome, which says more.
    fn told(&self, units: usize) -> String {
        let Self { lead, command, came } = self;
        let around = utf16_len(lead) + utf16_len(came);
        let command = match utf16_len(command) {
            0 => String::new(),
            _ => {
                quote(&clip_command(command, units.saturating_sub(around + 2).clamp(SHORTEST_COMMAND, LONGEST_TARGET)))
            }
        };
        let left = units.saturating_sub(utf16_len(lead) + utf16_len(&command));
        match utf16_len(came) {
            whole if whole <= left => format!("{lead}{command}{came}"),
            _ if left < SHORTEST_RESULT => format!("{lead}{command}"),
            _ => format!("{lead}{command}{}", clip_middle(came, left).replace("\u{2026} \u{2026}", "\u{2026}")),
        }
    }
}

impl LastStep {
    /// Whether nothing was done.
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// What was done and what came of it, on one line of about `units` UTF-16 units, the newest call in any case.
    /// If `is_blocked`, the error of its only call is among what blocks the work and is not said again.
    pub(crate) fn told(&self, units: usize, is_blocked: bool) -> String {
        let (mut told, mut left) = (Vec::new(), units);
        let is_only = self.calls.len() == 1 && self.earlier_calls == 0;
        // The count behind the error stands here alone.
        let is_told =
            |step: &Step| is_blocked && is_only && step.came.starts_with(FAILED) && !step.came.contains(" \u{2026} ");
        for step in self.calls.iter().rev() {
            let one = match is_told(step) {
                true => Step { came: " failed".to_owned(), ..step.clone() }.told(left),
                false => step.told(left),
            };
            if !told.is_empty() && utf16_len(&one) > left {
                break;
            }
            left = left.saturating_sub(utf16_len(&one) + 2);
            told.push(one);
        }
        match self.earlier_calls + self.calls.len() - told.len() {
            0 => {}
            1 => told.push("1 more call".to_owned()),
            more => told.push(format!("{more} more calls")),
        }
        told.reverse();
        told.join("; ")
    }
}

/// The messages of the newest step. They are parsed once all messages are known.
#[derive(Debug, Clone, Default)]
pub(super) struct NewestCalls<'a> {
    calls: Option<&'a Message>,
    results: Vec<&'a Message>,
    position: u64,
    since_words: u64,
    listed: Vec<String>,
    listed_at: u64,
}

impl<'a> NewestCalls<'a> {
    /// Records words of the model, with the steps that they list.
    pub(super) fn note_words(&mut self, text: &str, position: u64) {
        self.since_words = 0;
        let listed = listed_steps(text);
        if !listed.is_empty() {
            (self.listed, self.listed_at) = (listed, position);
        }
    }

    /// Records a message with calls of tools that do more than plan and think. `has_words` says whether the message
    /// also has words of the model.
    pub(super) fn note_calls(&mut self, message: &'a Message, position: u64, has_words: bool) {
        self.calls = Some(message);
        self.results.clear();
        self.position = position;
        self.since_words += u64::from(!has_words);
    }

    /// Records a result.
    pub(super) fn note_result(&mut self, message: &'a Message, position: u64) {
        if self.calls.is_some() {
            self.results.push(message);
            self.position = position;
        }
    }

    /// Records words of a person, which begin a new turn.
    pub(super) fn end_turn(&mut self) {
        *self = Self::default();
    }

    pub(super) fn finish(self, tools: &FileTools) -> LastStep {
        // A call that waits for its result is listed elsewhere.
        let none = LastStep { listed: self.listed, listed_at: self.listed_at, ..LastStep::default() };
        let Some(message) = self.calls.filter(|_| !self.results.is_empty()) else { return none };
        let results: Vec<_> = self.results.iter().map(|result| result.read_body()).collect();
        let result_of = |id: &str| {
            results.iter().find_map(|body| match &**body {
                Body::ToolResult { tool_call_id, content, is_error, .. } if tool_call_id == id => {
                    Some((content.text("\n"), *is_error))
                }
                _ => None,
            })
        };
        let body = message.read_body();
        let Body::Assistant(answer) = &*body else { return none };
        let telling = answer.tool_calls().filter(|call| tells(call, &classify(call, tools)));
        let calls: Vec<&ToolCall> = telling.collect();
        let first = calls.len().saturating_sub(MOST_CALLS);
        let told = calls[first..].iter().map(|call| {
            let result = result_of(&call.id);
            step(call, result.as_ref().map(|(text, is_error)| (text.as_ref(), *is_error)), tools)
        });
        let mut told: Vec<Step> = told.collect();
        told.dedup();
        let shown_error = calls.iter().rev().find_map(|call| {
            let action = classify(call, tools);
            let (text, _) =
                result_of(&call.id).filter(|(text, is_error)| !is_error && !has_failed(&action, text, *is_error))?;
            Some((shown_error(call, &action, &text)?, shown_target(call, &action)))
        });
        LastStep {
            calls: told,
            earlier_calls: first,
            position: self.position,
            calls_since_words: self.since_words,
            shown_error,
            ..none
        }
    }
}

/// Whether a call is a step of the work. A plan is shown as its tasks, and a thought changes nothing.
pub(super) fn tells(call: &ToolCall, action: &ToolAction) -> bool {
    !matches!(action, ToolAction::Plan(_) | ToolAction::Finish(_)) && !is_thought(&call.name)
}

/// Whether a tool only records thoughts, by its name.
pub(crate) fn is_thought(tool: &str) -> bool {
    let name = tool.to_lowercase();
    THINKING.iter().any(|part| name.contains(part))
}

/// A call with its purpose and its outcome.
fn step(call: &ToolCall, result: Option<(&str, bool)>, tools: &FileTools) -> Step {
    let action = classify(call, tools);
    let (kind, target) = subject_of(call, &action);
    let has_failed = result.is_some_and(|(output, is_error)| is_error || has_failed(&action, output, is_error));
    let came = result.and_then(|(output, _)| outcome(call, &action, output, has_failed)).unwrap_or_default();
    let adds = || if has_failed { String::new() } else { added(call) };
    let was_tried = has_failed && came != NOTHING_FOUND;
    let verb = |kind: ActionKind| if was_tried { kind.gerund().to_owned() } else { kind.past().to_lowercase() };
    let mut command = String::new();
    let lead = match &action {
        ToolAction::Ask(questions) => {
            format!("asked the user: {}", clip(&one_line(&questions.join(" ")), LONGEST_RESULT))
        }
        ToolAction::OpenFile(access) => format!("{} {OPEN_FILE}{}", verb(ActionKind::of_file(*access)), adds()),
        _ if kind == ActionKind::Edit => format!("{} {}{}", verb(kind), shortened_path(&target), adds()),
        _ if kind == ActionKind::Run => {
            let purpose = purpose(call).map(|purpose| format!("{purpose}: ")).unwrap_or_default();
            command = shown(without_preparation(&target, LONGEST_TARGET));
            format!("{purpose}{} ", verb(kind))
        }
        _ if kind == ActionKind::Call => {
            command = shown(&with_values(call));
            format!("{} ", verb(kind))
        }
        _ => format!("{} {}", verb(kind), shortened_path(&target)),
    };
    Step { lead, command, came }
}

/// A command or a call with its values.
fn shown_target(call: &ToolCall, action: &ToolAction) -> String {
    match subject_of(call, action) {
        (ActionKind::Run, target) => told(without_preparation(&target, LONGEST_TARGET)),
        (ActionKind::Call, _) => told(&with_values(call)),
        (_, path) => shortened_path(&path),
    }
}

fn told(target: &str) -> String {
    quote(&clip_command(&shown(target), LONGEST_TARGET))
}

/// A path, or its last parts if it is long.
fn shortened_path(path: &str) -> String {
    let end = path.rmatch_indices(['/', '\\']).nth(PARTS - 1).map_or(path, |(at, mark)| &path[at + mark.len()..]);
    told(if utf16_len(path) > LONGEST_PATH { end } else { path })
}

/// A call with the values of its arguments: `fetch(https://example.com, what it costs)`.
fn with_values(call: &ToolCall) -> String {
    let mut values = Vec::new();
    if let Some(Json::Object(members)) = &call.arguments {
        let texts = members.iter().filter_map(|(_, value)| value.as_str());
        values.extend(texts.filter(|text| !text.is_empty()).map(|text| clip(&one_line(text), LONGEST_VALUE)));
    }
    values.truncate(MOST_VALUES);
    format!("{}({})", one_line(&call.name), values.join(", "))
}

/// The first added line of an edit that says something.
fn added(call: &ToolCall) -> String {
    let Some(arguments) = &call.arguments else { return String::new() };
    let text = |names: &[&str]| names.iter().find_map(|name| arguments.get(name)?.as_str());
    // Some agents call a shell with the patch as its last word.
    let last_word = || match arguments.get("command")? {
        Json::Array(words) => words.last()?.as_str(),
        _ => None,
    };
    let new = text(&NEW_TEXTS).or_else(|| text(&PATCHES)).or_else(last_word);
    let old = text(&OLD_TEXTS).unwrap_or_default();
    let Some(new) = new.map(|new| prefix_utf16(new, MOST_ADDED)) else { return String::new() };
    let known: HashSet<&str> = old.lines().map(str::trim).chain(removed_lines(new)).collect();
    let letters = |line: &str| line.chars().filter(|one| one.is_alphabetic()).count();
    let mut lines = added_lines(new).into_iter().map(str::trim).filter(|line| !known.contains(line));
    let telling = lines.find(|line| letters(line) >= FEWEST_LETTERS);
    telling.map(|line| format!(", which adds {}", quote(&clip(&shown(line), LONGEST_ADDED)))).unwrap_or_default()
}

/// Why a call is made, if it says so.
fn purpose(call: &ToolCall) -> Option<String> {
    let arguments = call.arguments.as_ref()?;
    let said = PURPOSES.iter().find_map(|name| arguments.get(name)?.as_str())?.trim();
    let is_line = !said.is_empty() && !said.contains('\n') && utf16_len(said) <= LONGEST_PURPOSE;
    is_line.then(|| one_line(said.trim_end_matches('.')))
}

/// Beginnings of lines that programs and harnesses add to an output about something else, in lower case.
const NOTICES: &[&str] = &[
    "[notice]",
    "npm notice",
    "npm warn",
    "warning:",
    "hint:",
    "note:",
    "help:",
    "debugger attached",
    "waiting for the debugger to disconnect",
    "please report incorrect results",
    "use `mix credo",
];
/// How compilers mark such a line after its place.
const PLACED_NOTICES: [&str; 3] = [": note: ", ": hint: ", ": help: "];

/// Whether a program adds a line to its output about something else.
pub(super) fn is_notice(line: &str) -> bool {
    let line = line.trim_start();
    NOTICES.iter().any(|start| line.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start)))
        || memchr::memchr(b':', line.as_bytes()).is_some() && PLACED_NOTICES.iter().any(|mark| line.contains(mark))
}

/// Whether a call starts a sub-agent, which reports in words.
fn reports(call: &ToolCall) -> bool {
    starts_agent(&call.name)
}

/// Whether a tool starts a sub-agent, by its name.
pub(super) fn starts_agent(name: &str) -> bool {
    AGENTS.is_in(&normalised(&name.replace('_', " ")))
}

/// The first line that says what is wrong, in the output of a program that may not have reported its failure.
fn complaint(printed: &str) -> Option<String> {
    let mut lines = lines_with_causes(printed).filter(|line| line.len() <= LONGEST_READ && !is_notice(line));
    lines.find(|line| is_cause(line)).map(|line| clip(&one_line(line), LONGEST_RESULT))
}

/// What a successful call shows that stops the work: the reason in a log, or what a sub-agent could not do.
fn shown_error(call: &ToolCall, action: &ToolAction, output: &str) -> Option<String> {
    let printed = printed_text(output);
    let log = without_frame(&printed);
    let printed = without_prefixes(log);
    let printed = printed.as_ref();
    match action {
        ToolAction::Other if reports(call) => {
            let told = concluded_report(printed, LONGEST_REPORT)?;
            sentences(&told).find(|one| is_unsolved(one)).map(|one| clip(one, LONGEST_RESULT))
        }
        ToolAction::Other => {
            let mut last = printed.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES);
            last.find(|line| worth(line) == Worth::Cause).map(|line| clip(&one_line(line), LONGEST_RESULT))
        }
        // The log of another run, which failed by itself.
        ToolAction::Run { command, .. } if FAILED_LOGS.iter().any(|logs| command.contains(logs)) => {
            findings(log).or_else(|| complaint(printed))
        }
        _ => None,
    }
}

/// A short output line by line; `None` if it has too many lines.
fn few_lines(printed: &str) -> Option<String> {
    let lines: Vec<&str> =
        printed.lines().map(str::trim).filter(|line| !line.is_empty()).take(MOST_LINES + 1).collect();
    let told: Vec<String> = lines.iter().map(|line| clip(&one_line(line), LONGEST_OF_LINES)).collect();
    let told = told.join(SEPARATOR);
    (lines.len() <= MOST_LINES && utf16_len(&told) <= LONGEST_LINES).then_some(told)
}

/// The outcome of a call, as it is put after the call.
fn outcome(call: &ToolCall, action: &ToolAction, output: &str, has_failed: bool) -> Option<String> {
    let kind = subject_of(call, action).0;
    if has_failed && is_refusal(output) {
        let what = if is_interruption(output) { "interrupted" } else { "refused" };
        return Some(format!(" (the user {what} it)"));
    }
    if is_approval(output) {
        return Some(UNKNOWN.to_owned());
    }
    let printed = printed_text(output);
    let log = without_frame(&printed);
    let printed = without_prefixes(log);
    let printed = printed.as_ref();
    let is_look = matches!(action, ToolAction::Run { command, .. } if only_looks(command));
    let reason = if has_failed { error_line(printed) } else { String::new() };
    if has_failed && is_look && (reason == NO_OUTPUT || is_trailer(&reason)) {
        return Some(NOTHING_FOUND.to_owned());
    }
    if has_failed {
        let verdict = counted_line(printed).filter(|verdict| !reason.contains(verdict.as_str()));
        let verdict = verdict.map(|verdict| format!(" \u{2026} {}", clip_middle(&verdict, LONGEST_VERDICT)));
        return Some(format!("{FAILED}{}{}", clip(&reason, LONGEST_RESULT), verdict.unwrap_or_default()));
    }
    if kind.is_of_file() {
        return None;
    }
    let printed = printed.trim();
    let is_data = printed.starts_with(['{', '[', '<']);
    let short = one_line(prefix_utf16(printed, LONGEST_READ));
    if kind == ActionKind::Run
        && let Some(found) = findings(log)
    {
        let verdict =
            counted_line(printed).map(|verdict| format!(" \u{2026} {}", clip_middle(&verdict, LONGEST_VERDICT)));
        return Some(format!(": {found}{}", verdict.unwrap_or_default()));
    }
    if !printed.is_empty() && utf16_len(&short) <= LONGEST_RESULT && printed.len() <= LONGEST_READ {
        return (kind == ActionKind::Run || !is_data).then(|| format!(": {short}"));
    }
    // In a few lines with values, the last one says little without the others.
    let is_short = kind == ActionKind::Run && !is_data && !printed.is_empty() && printed.len() <= LONGEST_READ;
    if let Some(lines) = Some(printed).filter(|_| is_short && counted_line(printed).is_none()).and_then(few_lines) {
        return Some(format!(": {lines}"));
    }
    match action {
        _ if printed.is_empty() => Some(": no output".to_owned()),
        ToolAction::Ask(_) => Some(format!(": {}", clip(&short, LONGEST_RESULT))),
        ToolAction::Run { .. } if !is_look => {
            let last = || printed.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES);
            let verdict = || last().find(|line| line.to_lowercase().contains("success")).map(one_line);
            let is_told = |line: &&str| !is_trailer(line) && !is_notice(line);
            // A run that counts its errors is listed as a blocker with its first error.
            let line = counted_line(printed).or_else(verdict).or_else(|| complaint(printed));
            let line = line.or_else(|| last().find(is_told).map(one_line))?;
            Some(format!(": \u{2026} {}", clip_middle(&line, LONGEST_RESULT)))
        }
        ToolAction::Other if reports(call) => {
            let told = concluded_report(printed, LONGEST_REPORT);
            Some(format!(": {}", told.unwrap_or_else(|| clip(&short, LONGEST_RESULT))))
        }
        ToolAction::Run { .. } | ToolAction::Search | ToolAction::Other if !is_data => {
            // A log that another tool fetched has the important lines at its end.
            let mut last = printed.lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES);
            let is_log = matches!(action, ToolAction::Other);
            let cause = last.find(|line| is_log && worth(line) == Worth::Cause).map(one_line);
            let cause = cause.map(|line| format!(": \u{2026} {}", clip_middle(&line, LONGEST_RESULT)));
            Some(cause.unwrap_or_else(|| format!(": {}", clip(&short, LONGEST_RESULT))))
        }
        _ => counted_line(printed).map(|line| format!(": \u{2026} {line}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_of_a_step_is_cut_before_what_came_of_it() {
        let step = |command: &str, came: &str| Step {
            lead: "Read the settings: ran ".to_owned(),
            command: command.to_owned(),
            came: came.to_owned(),
        };
        let last = |calls: Vec<Step>, earlier_calls| LastStep { calls, earlier_calls, ..LastStep::default() };
        let command = "sqlite3 store.db \"select name, value, changed from settings order by name\"";
        let values = ": port=502; mode=false; polling=100; timeout=1000; cache=disabled";
        for (units, came, expected) in [
            (300, values, format!("Read the settings: ran `{command}`{values}")),
            (140, values, format!("Read the settings: ran `sqlite3 store.db \"select name, \u{2026} order by name\"`{values}")),
            (100, values, "Read the settings: ran `sqlite3 store.db \"select \u{2026} by name\"`: port=502; mode=false; \u{2026} ache=disabled".to_owned()),
            // A stub of a command says nothing.
            (80, values, "Read the settings: ran `sqlite3 store.db \"select \u{2026} by name\"`".to_owned()),
        ] {
            assert_eq!(last(vec![step(command, came)], 0).told(units, false), expected);
        }
        let two = last(vec![step("a", ": no output"), step("b", ": 7 rows")], 2);
        assert_eq!(
            two.told(120, false),
            "2 more calls; Read the settings: ran `a`: no output; Read the settings: ran `b`: 7 rows"
        );
        assert_eq!(two.told(40, false), "3 more calls; Read the settings: ran `b`: 7 rows");
    }
}
