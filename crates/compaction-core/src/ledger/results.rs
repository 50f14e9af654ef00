//! What the newest calls showed, one line each. Summaries of conversations with few words have room for it. A stored
//! ledger keeps those that fit after its other lists; recall finds the results themselves.

use std::collections::VecDeque;

use super::actions::shown;
use super::errors::{is_cause, says_what_lacks};
use super::last_step::is_notice;
use super::logs::{findings, without_prefixes};
use super::text::{clip, one_line};
use crate::message::{Body, Message};
use crate::phrases::{HARNESSES, listed};
use crate::tools::printed_text;

/// Number of newest calls that are shown.
const MOST_CALLS: usize = 24;
/// Longest call, in UTF-16 units.
const LONGEST_CALL: usize = 80;
/// Longest line of output, in UTF-16 units.
const LONGEST_LINE: usize = 120;
/// Longest output of a call, in UTF-16 units.
const LONGEST: usize = 240;
/// Most lines of an output: the first ones and the last one.
const MOST_LINES: usize = 3;
/// Longest stored target, in UTF-16 units. It may be the path of a file.
const LONGEST_TARGET: usize = 240;
/// Longest stored text, in UTF-16 units.
const LONGEST_STORED: usize = 320;
/// Fewest bytes of an output without a digit that says more than that the call is done.
const FEWEST_BYTES: usize = 16;
/// Number of bytes of statements that leave no room in a summary of usual size.
pub(super) const TALKATIVE: usize = 80_000;
/// Most lines of an output that are searched for a failure.
const MOST_JUDGED: usize = 200;
/// Verbs of commands that print a text.
const PRINTING: [&str; 4] = ["echo ", "printf ", "Write-Host ", "Write-Output "];
/// Fewest bytes of such a text.
const FEWEST_PRINTED: usize = 4;
/// Separates lines of output.
pub(super) const SEPARATOR: &str = " | ";

/// Beginnings of lines that harnesses add to the end of an output, in lower case.
const FRAMES: &[&str] = listed!(HARNESSES, "results: frames");
/// The same for lines that tools of browsers add anywhere.
const OF_BROWSERS: &[&str] = listed!(HARNESSES, "results: of browsers");
/// Longest prompt of a shell, in bytes.
const LONGEST_PROMPT: usize = 100;
/// Most words of a prompt.
const PROMPT_WORDS: usize = 4;

/// The output of a command, without the lines that a harness adds at its end and without shell prompts at both ends.
pub(super) fn without_frame(output: &str) -> &str {
    let mut bare = output;
    loop {
        let text = bare.trim_end();
        let start = memchr::memrchr(b'\n', text.as_bytes()).map_or(0, |at| at + 1);
        let last = &text[start..];
        let is_frame =
            FRAMES.iter().any(|frame| last.get(..frame.len()).is_some_and(|own| own.eq_ignore_ascii_case(frame)));
        if text.is_empty() || !is_frame && !is_prompt(last) {
            break;
        }
        bare = &text[..start];
    }
    let text = bare.trim_start();
    let first = text.lines().next().unwrap_or_default();
    if is_prompt(first) { &text[first.len()..] } else { bare }
}

/// Whether the tool of a browser adds a line to its output: `[computer:screenshot] Screenshot size: 800x454`.
fn is_of_browser(line: &str) -> bool {
    let line = line.trim();
    let own = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")).map_or(line, |(_, own)| own);
    OF_BROWSERS.iter().any(|start| own.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start)))
}

/// Whether an output is a table with only one name in it, such as the listing of a directory.
fn is_lone_name(told: &[&str]) -> bool {
    let is_cell = |line: &str| line.starts_with('|') && line.ends_with('|');
    let words = |line: &str| line.split('|').filter(|cell| cell.contains(char::is_alphanumeric)).count();
    told.len() <= 2 && told.iter().all(|line| is_cell(line.trim()) && words(line) == 1)
}

/// Whether a line is only the prompt of a shell: `(venv) dev@host project %`.
fn is_prompt(line: &str) -> bool {
    let line = line.trim();
    let is_login = |word: &str| word.split_once('@').is_some_and(|(user, host)| !user.is_empty() && !host.is_empty());
    line.len() <= LONGEST_PROMPT
        && line.ends_with(['%', '$', '#'])
        && line.split_whitespace().take(2).any(is_login)
        && line.split_whitespace().count() <= PROMPT_WORDS
}

/// What a call showed, or what a file's changes did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownResult {
    /// The command, the call or the path.
    pub(crate) target: String,
    /// The lines that it printed, or what it changed, cut.
    pub(crate) text: String,
}

impl ShownResult {
    /// A stored one. Any program may have stored it.
    pub(super) fn restored(target: &str, text: &str) -> Self {
        Self { target: clip(&shown(target), LONGEST_TARGET), text: clip(&one_line(text), LONGEST_STORED) }
    }
}

/// The newest calls, with the messages that contain their results.
#[derive(Debug, Clone, Default)]
pub(super) struct Results<'a> {
    newest: VecDeque<Call<'a>>,
    /// Results from earlier compactions.
    earlier: Vec<ShownResult>,
}

#[derive(Debug, Clone)]
struct Call<'a> {
    target: String,
    /// The command line, if it prints texts of its own.
    printing: Option<String>,
    /// The result.
    message: &'a Message,
}

impl<'a> Results<'a> {
    pub(super) fn restore(&mut self, earlier: &[ShownResult]) {
        self.earlier = earlier.to_vec();
    }

    /// Records a result that arrived.
    pub(super) fn note_output(&mut self, target: &str, message: &'a Message) {
        let printing = PRINTING.iter().any(|verb| target.contains(verb)).then(|| target.to_owned());
        let target = shown(target);
        // The newest result of a call replaces the earlier ones.
        self.newest.retain(|known| known.target != target);
        if self.newest.len() >= MOST_CALLS {
            self.newest.pop_front();
        }
        self.newest.push_back(Call { target, printing, message });
    }

    /// What the newest calls showed, in order, without those that showed nothing.
    pub(super) fn finish(self) -> Vec<ShownResult> {
        let results = self
            .newest
            .into_iter()
            .map(|call| ShownResult { text: call.text(), target: clip(&call.target, LONGEST_CALL) });
        let mut newest: Vec<ShownResult> = results.filter(|result| !result.text.is_empty()).collect();
        let is_newer = |known: &ShownResult| newest.iter().any(|one| one.target == known.target);
        let mut all: Vec<ShownResult> = self.earlier.into_iter().filter(|known| !is_newer(known)).collect();
        all.append(&mut newest);
        all.split_off(all.len().saturating_sub(MOST_CALLS))
    }
}

impl Call<'_> {
    fn text(&self) -> String {
        match &*self.message.read_body() {
            Body::ToolResult { content, .. } => {
                telling(without_frame(&printed_text(&content.text("\n"))), self.printing.as_deref())
            }
            _ => String::new(),
        }
    }
}

/// The findings of a compiler or linter, or else the first lines and the last line of an output. A line between them that
/// tells a failure takes the place of one of them. Remarks in brackets or parentheses are left out, and so are texts that
/// the command line itself has; the first line of a long listing counts its blocks.
fn telling(output: &str, printing: Option<&str>) -> String {
    if let Some(found) = findings(output) {
        return clip(&found, LONGEST);
    }
    let output = without_prefixes(output);
    let output = output.as_ref();
    let is_telling = |line: &&str| {
        let line = line.trim();
        let is_remark = line.starts_with('[') && line.ends_with(']') && line.contains("...");
        let is_aside = line.starts_with('(') && line.ends_with(')');
        let is_count = line.strip_prefix("total ").is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()));
        line.contains(char::is_alphanumeric)
            && !printing.is_some_and(|command| line.len() >= FEWEST_PRINTED && command.contains(line))
            && !is_remark
            && !is_aside
            && !is_count
            && !is_notice(line)
            && !is_of_browser(line)
    };
    let mut lines = output.lines().filter(is_telling);
    let mut told: Vec<&str> = lines.by_ref().take(MOST_LINES - 1).collect();
    let tells_failure = |line: &&str| is_cause(line.trim()) || says_what_lacks(line.trim());
    let last = lines.next_back();
    if !told.iter().chain(&last).any(tells_failure)
        && let Some(failure) = lines.take(MOST_JUDGED).find(tells_failure)
        && let Some(place) = told.last_mut()
    {
        *place = failure;
    }
    told.extend(last);
    if !told.is_empty() && is_lone_name(&told) {
        return String::new();
    }
    let told: Vec<String> = told.into_iter().map(|line| clip(&one_line(line), LONGEST_LINE)).collect();
    let told = clip(&told.join(SEPARATOR), LONGEST);
    let is_bare = told.len() < FEWEST_BYTES && !told.contains(|character: char| character.is_ascii_digit());
    if is_bare { String::new() } else { told }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_the_command_prints_itself_tell_nothing() {
        let command = "echo 'Testing the kiln...' && kiln a && kiln b && echo \"=== Done ===\"";
        let output = "Testing the kiln...\nok\nok\nThe kiln does not exist\nok\n=== Done ===";
        assert_eq!(telling(output, Some(command)), "ok | The kiln does not exist | ok");
        assert_eq!(telling(output, None), "Testing the kiln... | The kiln does not exist | === Done ===");
        assert_eq!(telling("error: one\nok\nerror: two\n3 rows", None), "error: one | ok | 3 rows");
    }

    #[test]
    fn frames_and_prompts_are_no_output() {
        for (output, expected) in [
            (
                "3 passed\n[Current working directory: /w]\n[Python interpreter: /p]\n[The command completed with exit code 1.]",
                "3 passed",
            ),
            ("(venv) dev@host shop % \n\nPackage not found\n", "Package not found"),
            ("Shell cwd was reset to /w", ""),
            ("dev@host is the user\n100 %", "dev@host is the user\n100 %"),
            ("", ""),
        ] {
            assert_eq!(without_frame(output).trim(), expected);
        }
    }
}
