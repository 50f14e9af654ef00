//! Outcomes: the statements that calls and results make, such as commits, pushes, pull requests, test results
//! and sentences in arguments.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::Voice;
use super::actions::Subject;
use super::commands::{
    clip_command, core_command, is_check, is_goal, looks_up, purposes, without_filter, without_quoted,
};
use super::counts::{Counted, counted};
use super::errors::{NO_OUTPUT, error_line, is_cause, is_frame};
use super::failing::failed_test;
use super::last_step::{is_notice, starts_agent};
use super::notes::{AMENDED, COMMITTED, INSTEAD_OF, PUSHED, PUSHED_NEW, RESET_TO, UNDID};
use super::repository::effects;
use super::statements::sentences;
use super::text::{WordList, as_line, clip_middle, has_piece, normalised, one_line, unspaced, word_list};
use crate::json::Json;
use crate::message::ToolCall;
use crate::phrases::{HARNESSES, PROGRAMS, SPACED, listed};
use crate::text::{columns, prefix_utf16, suffix_utf16, utf16_len};
use crate::tools::ToolAction;

/// Longest result that is used whole, in UTF-16 units.
const SHORT_RESULT: usize = 240;
/// Longest item behind a line that introduces it, in UTF-16 units.
const LONGEST_ITEM: usize = 120;
/// UTF-16 units at the end of a result that are searched for a line about its outcome.
const END_UNITS: usize = 4000;
/// UTF-16 units at the beginning of a result that are searched for a commit.
const START_UNITS: usize = 2000;
/// Most UTF-16 units of a command in its outcome.
const COMMAND_UNITS: usize = 80;
/// Fewest words of an argument that counts as prose.
const FEWEST_WORDS: usize = 5;
/// Most sentences of one call that are read.
const MOST_SENTENCES: usize = 12;
/// Number of last lines of an output that may give the reason for a failure.
const LAST_LINES: usize = 3;
/// Longest line that may, in bytes.
const LONGEST_LINE: usize = 400;
/// Arguments that contain text to write or search for, not sentences for a reader.
static NO_SENTENCES: WordList = word_list!(PROGRAMS, "outcomes: no sentences");
/// Parts of names of tools that create or change something on a server.
const MAKING: &[&str] = listed!(PROGRAMS, "outcomes: making");
/// Members that name the created thing.
const MADE_NAMES: &[&str] = listed!(PROGRAMS, "outcomes: made names");
/// Most branches of one push.
const MOST_PUSHED: usize = 4;
/// Ends the item of a push whose output has more lines than the screen shows.
const CUT: &str = " (the screen cut the rest of the output)";
/// Begins the line in which a program reports its commit.
const COMMIT: &str = "Commit ";
/// Begins the line in which it undoes a commit.
const REMOVED: &str = "Removed: ";
/// Finds either of them.
static REPORTED: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| [COMMIT, REMOVED].map(Finder::new));
/// Begins the line in which git says where a branch was moved to.
const HEAD_IS_NOW: &str = "HEAD is now at ";
const MADE_KEYS: &[&str] = &["identifier", "key", "number"];
/// Longest result that is parsed as JSON, in bytes.
const LONGEST_JSON: usize = 200_000;
/// Options of commands whose values are sentences.
const SENTENCE_OPTIONS: &[&str] = listed!(PROGRAMS, "outcomes: sentence options");

/// What a call achieved.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// What lines of its output state.
    pub(super) statements: Vec<(Voice, String)>,
    /// The line that reports failures if nothing else does: a pipe has the exit code of its last program.
    pub(super) failure: Option<String>,
}

/// The outcomes of a call, from the text that it printed. `has_failed` is what its exit code or its agent says, if
/// known.
pub(super) fn outcomes(action: &ToolAction, (_, target): &Subject, output: &str, has_failed: Option<bool>) -> Outcomes {
    let is_failed = has_failed == Some(true);
    let statements = match action {
        ToolAction::Run { command, .. } => {
            let saved = saved(command, output);
            let (before, after) = if is_failed { Default::default() } else { effects(command, output) };
            let milestones = |lines: Vec<String>| lines.into_iter().map(|line| (Voice::Milestone, line));
            if !saved.is_empty() {
                let statements = milestones(before).chain(saved).chain(milestones(after)).collect();
                return Outcomes { statements, failure: None };
            }
            let is_piped = without_filter(command.trim()).len() < command.trim().len();
            let is_told = has_failed.is_some() && !is_piped;
            let mut outcomes = of_command((command, target), output, is_failed, is_told);
            outcomes.statements.splice(0..0, milestones(before).chain(milestones(after)));
            return outcomes;
        }
        ToolAction::Other if !is_failed && starts_agent(target.split('(').next().unwrap_or_default()) => {
            let commits = commits_in_report(target, output).into_iter().map(|commit| (Voice::Milestone, commit));
            commits.chain(of_call(target, output)).collect()
        }
        ToolAction::Other if !is_failed => of_call(target, output).into_iter().collect(),
        _ if !is_failed && action.changes_files() => {
            reported_commits(output).map(|commit| (Voice::Milestone, commit)).collect()
        }
        _ => Vec::new(),
    };
    Outcomes { statements, failure: None }
}

/// The commit and the push of a command.
fn saved(command: &str, output: &str) -> Vec<(Voice, String)> {
    let commit = || committed(output).or_else(|| reported_commits(output).next());
    let commit = || commit().map(|commit| if is_amending(command) { commit + AMENDED } else { commit });
    if let Some(moved) = moved_back(command, output) {
        return vec![(Voice::Milestone, moved)];
    }
    let commits = ["commit", "git revert", "git reset"].iter().any(|verb| command.contains(verb));
    let commit = commits.then(commit).flatten();
    // Most outputs have none, and a search line by line is several times slower.
    if memchr::memmem::find(output.as_bytes(), b" -> ").is_none() {
        return commit.into_iter().map(|line| (Voice::Milestone, line)).collect();
    }
    // A fetch prints the same lines, but not the target.
    let has_pushed = command.contains("push") || output.lines().any(|line| line.starts_with("To "));
    let push = if has_pushed { pushed(output) } else { Vec::new() };
    commit.into_iter().chain(push).map(|line| (Voice::Milestone, line)).collect()
}

/// Whether a command replaces the last commit of its branch.
fn is_amending(command: &str) -> bool {
    command.split_whitespace().any(|word| word == "--amend")
}

/// The commits that a program makes or undoes by itself, as aider does: `Commit 1a2b3c4 subject`, `Removed: 1a2b3c4
/// subject`.
pub(super) fn reported_commits(text: &str) -> impl Iterator<Item = String> {
    let has_some = REPORTED.iter().any(|mark| mark.find(text.as_bytes()).is_some());
    let lines = if has_some { text } else { "" }.lines();
    lines.filter_map(|line| {
        let line = line.trim().trim_start_matches('>').trim_start();
        let (start, named) = match line.strip_prefix(REMOVED) {
            Some(named) => (UNDID, named),
            None => (COMMITTED, line.strip_prefix(COMMIT)?),
        };
        let (hash, subject) = named.trim().split_once(' ')?;
        (is_hash(hash) && !subject.trim().is_empty()).then(|| format!("{start}{hash}: {}", one_line(subject)))
    })
}

/// How sub-agents report a commit, anywhere in a line, in lower case.
const TELLING_COMMIT: [&str; 6] =
    ["committed as ", "committed in ", "committed: ", "commit: ", "commit hash: ", "commit sha: "];
/// How they report it at the beginning of a line.
const BEGINNING_COMMIT: &str = "commit ";
/// Most lines of a report that are read.
const MOST_LINES: usize = 400;
/// Subject of a commit without one.
const BY_AGENT: &str = "reported by a sub-agent";
/// What a harness appends to the last line of a report.
const BEHIND_REPORT: &str = " agentId:";
/// The argument that says what the sub-agent is for.
const DESCRIPTION: &str = "\"description\":\"";

/// The commits that a sub-agent reports, each once: `Committed as `1a2b3c4``, `[main 1a2b3c4] subject`. `call` is its
/// call.
fn commits_in_report(call: &str, report: &str) -> Vec<String> {
    let purpose = call.split_once(DESCRIPTION).and_then(|(_, rest)| rest.split('"').next());
    let purpose = purpose.filter(|purpose| !purpose.trim().is_empty()).unwrap_or(BY_AGENT);
    let mut commits: Vec<(String, String)> = Vec::new();
    for line in report.lines().take(MOST_LINES).filter(|line| line.len() <= LONGEST_LINE) {
        let line = line.split(BEHIND_REPORT).next().unwrap_or(line);
        let printed = line.find('[').and_then(|at| committed(line[at..].trim_end_matches('`'))).and_then(|commit| {
            let hash = commit.strip_prefix(COMMITTED)?.split(' ').next()?.to_owned();
            Some((hash, commit))
        });
        let Some((hash, commit)) = printed.or_else(|| commit_in_words(line, purpose)) else { continue };
        if !commits.iter().any(|(known, _)| known.starts_with(&hash) || hash.starts_with(known.as_str())) {
            commits.push((hash, commit));
        }
    }
    commits.into_iter().map(|(_, commit)| commit).collect()
}

/// The hash of a commit that a line reports in words, and the text of its item.
fn commit_in_words(line: &str, purpose: &str) -> Option<(String, String)> {
    let line = line.trim_start_matches(['-', '*', ' ']);
    let lower = line.to_ascii_lowercase();
    let found = TELLING_COMMIT.iter().find_map(|mark| Some(lower.find(mark)? + mark.len()));
    let from = found.or_else(|| lower.starts_with(BEGINNING_COMMIT).then_some(BEGINNING_COMMIT.len()))?;
    let rest = line[from..].trim_start_matches(['`', '*', '(', ' ']);
    let hash = rest.split(|one: char| !one.is_ascii_alphanumeric()).next().filter(|hash| is_commit_hash(hash))?;
    let mut rest = rest[hash.len()..].trim_start_matches(['`', '*', ')']).trim_start();
    let mut place = String::new();
    if let Some(on) = rest.strip_prefix("on ") {
        let (branch, behind) = on.trim_start_matches('`').split_once(['`', ' ']).unwrap_or((on.trim_matches('`'), ""));
        place = format!(" on {}", branch.trim_end_matches(['.', ',']));
        rest = behind.trim_start();
    }
    // A mark introduces the subject.
    let subject = rest.trim_start_matches(['\u{2014}', '\u{2013}', '-', ':', '(', '"', '`', ' ']);
    let has_subject = subject.len() < rest.len() && subject.split_whitespace().nth(1).is_some();
    // A text that only names a commit, such as a review, need not have made it.
    if !has_subject && !lower[..from].ends_with("committed as ") && !lower[..from].ends_with("committed in ") {
        return None;
    }
    let subject = if has_subject { subject.trim_end_matches(['"', '`', ')', '.', ' ']) } else { purpose };
    Some((hash.to_owned(), format!("{COMMITTED}{hash}{place}: {}", clip_middle(&one_line(subject), SHORT_RESULT))))
}

/// Whether a word is a hash and not a number or an ordinary word.
fn is_commit_hash(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',', ';']);
    is_hash(word)
        && word.contains(|one: char| one.is_ascii_digit())
        && word.contains(|one: char| one.is_ascii_alphabetic())
}

/// How commands name commits of other repositories.
const REMOTES: &[&str] = &["origin/", "upstream/", "FETCH_HEAD", "@{u"];

/// The commit to which a command moved its branch back: `HEAD is now at 1a2b3c4 subject`.
fn moved_back(command: &str, output: &str) -> Option<String> {
    // Another repository may already have pushed or merged its commits.
    let is_to_remote = REMOTES.iter().any(|remote| command.contains(remote));
    let moves = command.contains("git reset") && command.contains("--hard") && !is_to_remote;
    let mut lines = if moves { output } else { "" }.lines().rev();
    let (hash, subject) = lines.find_map(|line| line.trim().strip_prefix(HEAD_IS_NOW)?.split_once(' '))?;
    is_hash(hash).then(|| format!("{RESET_TO}{hash}: {}", one_line(subject)))
}

/// Whether a text is the hash of a commit, perhaps shortened.
pub(super) fn is_hash(text: &str) -> bool {
    (7..=40).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The outcomes of a command, which items show as `target`. `is_told` means that an exit code says whether it failed.
fn of_command((command, target): (&str, &str), output: &str, has_failed: bool, is_told: bool) -> Outcomes {
    let one = |voice, text| Outcomes { statements: vec![(voice, text)], failure: None };
    let shown = || shown_command(target);
    if let Some(address) = opened(command, output) {
        return one(Voice::Milestone, format!("`{}` gave {address}", shown()));
    }
    let does = purposes(command).iter().any(|purpose| !looks_up(purpose));
    // A script may succeed although a program that it ran failed.
    // A program that fetches a page may want to see that it is denied.
    let fetches = || purposes(command).iter().any(|purpose| purpose.split(' ').any(|word| FETCHING.contains(&word)));
    let stopped = || failed_end(output).or_else(|| if is_told || fetches() { None } else { denied(output) });
    if let Some(line) = Some(()).filter(|()| does && !has_failed).and_then(|()| stopped()) {
        return Outcomes { statements: Vec::new(), failure: Some(line) };
    }
    if let Some(Counted { line, has_failures, are_errors }) = Some(()).filter(|()| does).and_then(|()| counted(output))
    {
        // Plugins of pytest may count only their own checks: `FAILED tests/test_a.py`, `6 passed`.
        let named = failed_test(output).filter(|_| !has_failures && !is_told && is_check(command));
        let (has_failures, are_errors) = (has_failures || named.is_some(), are_errors || named.is_some());
        let line = match named {
            Some(named) => format!("{} ({line})", one_line(&clip_middle(named, SHORT_RESULT))),
            None => line,
        };
        // A failure is recorded but is not a milestone.
        let voice = if has_failures || has_failed { Voice::Action } else { Voice::Milestone };
        let outcomes = one(voice, format!("`{}`: {}", shown(), with_first_item(&line, output)));
        return Outcomes { failure: (are_errors && !has_failed && !is_told).then_some(line), ..outcomes };
    }
    // The line is listed as an error and needs no statement.
    let failure = if !has_failed && !is_told && does { last_cause(output) } else { None };
    // The exit code of a list is that of its last command.
    let is_hidden = || !has_failed && does && (!is_told || is_list(command));
    let failure = failure.or_else(|| if is_hidden() { echoed_failure(command, output) } else { None });
    let failure = failure.or_else(|| if is_hidden() { failed_goal(command, output) } else { None });
    if failure.is_some() {
        return Outcomes { statements: Vec::new(), failure };
    }
    let told = without_notices(output);
    let output = told.as_ref();
    let is_short = !has_failed && utf16_len(output.trim()) <= SHORT_RESULT && output.contains(char::is_whitespace);
    let is_stated = is_short && output.trim().lines().count() <= 3 && words(output) >= FEWEST_WORDS - 1 && does;
    match is_stated {
        true => one(Voice::Action, format!("`{}`: {}", shown(), one_line(output))),
        false => Outcomes::default(),
    }
}

/// A line of an output with the line behind it, if it introduces that: `10 issues:`.
fn with_first_item<'a>(line: &'a str, output: &str) -> Cow<'a, str> {
    if !line.ends_with([':', '\u{ff1a}']) {
        return Cow::Borrowed(line);
    }
    let behind = output.lines().skip_while(|own| !one_line(own).contains(line)).skip(1);
    let item = behind.map(str::trim).find(|own| !own.is_empty());
    item.map_or(Cow::Borrowed(line), |item| {
        Cow::Owned(format!("{line} {}", one_line(&clip_middle(item, LONGEST_ITEM))))
    })
}

/// A short output without the lines that programs add about something else.
fn without_notices(output: &str) -> Cow<'_, str> {
    if output.len() > LONGEST_LINE * LAST_LINES || !output.lines().any(is_notice) {
        return Cow::Borrowed(output);
    }
    let lines: Vec<&str> = output.lines().filter(|line| !is_notice(line)).collect();
    Cow::Owned(lines.join("\n"))
}

/// A command as it appears in the statement of its outcome.
pub(crate) fn shown_command(command: &str) -> String {
    clip_command(&as_line(core_command(command)), COMMAND_UNITS).replace('`', "'")
}

/// Beginnings of lines in which a program that runs others says that one of them failed, in lower case.
const RUNNER_VERDICTS: &[&str] = listed!(PROGRAMS, "outcomes: runner verdicts");
/// Names at the beginning of such lines: ` ELIFECYCLE  Command failed with exit code 1.`
const RUNNER_MARKS: &[&str] = &["ELIFECYCLE", "ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL"];
/// Number of last lines of an output that may be such lines.
const VERDICT_LINES: usize = 12;

/// The reason for a failure at the end of an output.
fn last_cause(output: &str) -> Option<String> {
    let is_verdict = |line: &str| {
        let lower = prefix_utf16(line, SHORT_RESULT).to_lowercase();
        RUNNER_VERDICTS.iter().any(|start| lower.starts_with(start))
            || RUNNER_MARKS.iter().any(|mark| line.trim_start().starts_with(mark))
    };
    let end = || suffix_utf16(output, END_UNITS).lines().rev().map(str::trim).filter(|line| !line.is_empty());
    if end().take(VERDICT_LINES).any(is_verdict) {
        return Some(error_line(output)).filter(|line| line != NO_OUTPUT);
    }
    let line = end().take(LAST_LINES).find(|line| line.len() < LONGEST_LINE && is_cause(line))?;
    Some(one_line(&clip_middle(line, SHORT_RESULT)))
}

/// Whether a command goes on after one of its steps failed.
fn is_list(command: &str) -> bool {
    let command = without_quoted(command.trim().trim_end_matches(';'));
    command.contains([';', '\n']) || command.contains("||")
}

/// How commands print an exit code.
const EXIT_CODES: [&str; 2] = ["$?", "PIPESTATUS"];
/// Programs that print it.
const PRINTING: [&str; 2] = ["echo ", "printf "];
/// Longest line with such a code, in UTF-16 units.
const LONGEST_CODE: usize = 32;

/// The line that explains a failure whose exit code the command itself prints at the end: `make; echo EXIT $?`.
fn echoed_failure(command: &str, output: &str) -> Option<String> {
    // A code that is only compared is not in the output.
    let is_printed = |at: usize| {
        let own = command[..at].rsplit([';', '\n', '&', '|']).next().unwrap_or_default().trim_start();
        PRINTING.iter().any(|program| own.starts_with(program))
    };
    if !EXIT_CODES.iter().flat_map(|code| command.match_indices(code)).any(|(at, _)| is_printed(at)) {
        return None;
    }
    let (before, last) = output.trim_end().rsplit_once('\n').unwrap_or(("", output.trim_end()));
    let code: u8 = last.rsplit(|one: char| !one.is_ascii_digit()).next()?.parse().ok()?;
    if code == 0 || utf16_len(last) > LONGEST_CODE {
        return None;
    }
    Some(error_line(before)).filter(|line| line != NO_OUTPUT).or_else(|| Some(one_line(last)))
}

/// Words with which the last lines of an output say that a task failed.
static FAILED_TASKS: WordList = word_list!("outcomes: failed");
/// Words that turn them into their opposite.
static NEGATIONS: WordList = word_list!(SPACED, "outcomes: not failed");
/// Longest of these lines, in UTF-16 units.
const LONGEST_VERDICT: usize = 120;

/// The last line of the output of a test, a build or a similar goal, if it says that the goal failed.
fn failed_goal(command: &str, output: &str) -> Option<String> {
    if !purposes(command).iter().any(|purpose| is_goal(purpose)) {
        return None;
    }
    let mut lines =
        suffix_utf16(output, END_UNITS).lines().rev().map(str::trim).filter(|line| !line.is_empty()).take(LAST_LINES);
    let is_none = |words: &str, at: usize, phrase: &str| {
        NEGATIONS.is_in(&words[..at]) || words[at + phrase.len()..].trim_start().starts_with("0 ")
    };
    let fails = |line: &&str| {
        let words = normalised(line);
        let said = || FAILED_TASKS.found_in(&words).any(|(at, phrase)| !is_none(&words, at, phrase));
        utf16_len(line) <= LONGEST_VERDICT && (has_piece(line, FAILED_TASKS.pieces) || said())
    };
    lines.find(fails).map(one_line)
}

/// Beginnings of last lines in which a program says that it reached no server, in lower case.
const FAILED_ENDS: &[&str] = listed!(PROGRAMS, "outcomes: failed ends");

/// Beginnings of lines after an output in which a harness reports how the command ended, in lower case.
const STATUS_LINES: &[&str] = listed!(HARNESSES, "outcomes: status lines");

/// The last line of an output, if a program says there that it reached no server.
fn failed_end(output: &str) -> Option<String> {
    let lower = |line: &str| prefix_utf16(line, SHORT_RESULT).to_lowercase();
    let is_status = |line: &str| STATUS_LINES.iter().any(|start| lower(line).starts_with(start));
    let mut lines = suffix_utf16(output, END_UNITS).lines().rev().map(str::trim);
    let last = lines.find(|line| !line.is_empty() && !is_status(line))?;
    let lower = lower(last);
    FAILED_ENDS.iter().any(|start| lower.starts_with(start)).then(|| one_line(&clip_middle(last, SHORT_RESULT)))
}

/// What a program prints that may not do what it is for, in lower case.
const DENIED: &[&str] = listed!(PROGRAMS, "outcomes: denied");
/// Programs that fetch a page and print it.
const FETCHING: [&str; 2] = ["curl", "wget"];
/// Most lines of such an output. In a longer one, the words may be about anything.
const MOST_DENIED: usize = 3;

/// The line of a short output in which a program says that it has no access.
fn denied(output: &str) -> Option<String> {
    let lines = prefix_utf16(output, START_UNITS).lines().map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty() && !is_frame(line)).take(MOST_DENIED + 1).collect();
    let found = lines.iter().find(|line| says_denied(line)).filter(|_| lines.len() <= MOST_DENIED)?;
    Some(one_line(&clip_middle(found, SHORT_RESULT)))
}

/// Whether a program says in a line that it has no access.
pub(super) fn says_denied(line: &str) -> bool {
    let lower = line.to_lowercase();
    DENIED.iter().any(|words| lower.contains(words))
}

/// `[main 1a2b3c4] subject` as git reports a commit.
fn committed(output: &str) -> Option<String> {
    prefix_utf16(output, START_UNITS).lines().chain(suffix_utf16(output, START_UNITS).lines()).find_map(|line| {
        let (place, subject) = line.trim().strip_prefix('[')?.split_once("] ")?;
        let (branch, hash) = place.rsplit_once(' ')?;
        let branch = branch.strip_suffix(" (root-commit)").unwrap_or(branch);
        is_hash(hash).then(|| format!("{COMMITTED}{hash} on {branch}: {}", one_line(subject)))
    })
}

/// `1a2b3c4..5d6e7f8  main -> main` as git reports a push.
fn pushed(output: &str) -> Vec<String> {
    let cut = if is_cut(output) { CUT } else { "" };
    let branches = output.lines().filter(|line| line.contains(" -> ")).filter_map(|line| {
        let line = line.trim().trim_start_matches(['+', '*', ' ']);
        let range = || line.split_once(' ').filter(|(range, _)| range.contains(".."));
        let (from, names) = line.split_once("] ").or_else(range)?;
        let (_, branch) = names.trim().split_once(" -> ")?;
        let branch = branch.split_whitespace().next()?;
        let is_new = from.starts_with("[new branch");
        let hash = from.rsplit("..").next().filter(|hash| is_hash(hash));
        // Three dots mean that the push replaced what was there.
        let replaced = from.split_once("...").map(|(old, _)| old).filter(|old| is_hash(old));
        match hash {
            Some(hash) => {
                let instead = replaced.map(|old| format!("{INSTEAD_OF}{old}")).unwrap_or_default();
                Some(format!("{PUSHED}{hash} to {branch}{instead}"))
            }
            None => is_new.then(|| format!("{PUSHED_NEW}{branch}{cut}")),
        }
    });
    branches.take(MOST_PUSHED).collect()
}

/// Whether a screen left out lines of an output: `… +7 lines (ctrl+o to expand)`.
fn is_cut(output: &str) -> bool {
    let count = |line: &'_ str| -> bool {
        let rest = line.trim().strip_prefix('\u{2026}').map_or("", |rest| rest.trim_start());
        rest.strip_prefix('+').is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    output.lines().rev().take(LAST_LINES).any(count)
}

/// The address of something that a command created on a server.
fn opened<'a>(command: &str, output: &'a str) -> Option<&'a str> {
    if !["create", "comment", "merge"].iter().any(|verb| command.contains(verb)) {
        return None;
    }
    let address = |line: &'a str| line.trim().starts_with("https://").then(|| line.trim());
    output.lines().rev().take(10).find_map(address).filter(|address| !address.contains(char::is_whitespace))
}

/// A short result of another tool with the tool's name, or the name of the thing that it created.
fn of_call(target: &str, output: &str) -> Option<(Voice, String)> {
    let name = target.split('(').next().unwrap_or(target);
    let output = output.trim();
    if let Some(made) = made(name, output) {
        return Some((Voice::Milestone, format!("`{name}` made {made}")));
    }
    let is_stated = utf16_len(output) <= SHORT_RESULT && words(output) >= FEWEST_WORDS - 1;
    let is_stated = is_stated && !output.starts_with(['{', '[', '<']);
    is_stated.then(|| (Voice::Action, format!("`{name}`: {}", one_line(output))))
}

/// The names of the thing that a tool created, from its result.
fn made(name: &str, output: &str) -> Option<String> {
    let name = name.to_lowercase();
    if !MAKING.iter().any(|verb| name.contains(verb)) || !output.starts_with(['{', '[']) {
        return None;
    }
    let json = Json::parse(Some(output).filter(|output| output.len() <= LONGEST_JSON)?).ok()?;
    let object = match &json {
        Json::Array(items) => items.first()?,
        object => object,
    };
    let value = |name: &&str| match object.get(name) {
        Some(Json::String(text)) if !text.is_empty() && text.len() <= 200 => Some(text.to_string()),
        Some(Json::Number(number)) => Some(number.to_string()),
        _ => None,
    };
    // A key that people use replaces that of the database.
    let has_key = MADE_KEYS.iter().any(|name| value(name).is_some());
    let values: Vec<String> = MADE_NAMES.iter().filter(|name| !has_key || **name != "id").filter_map(value).collect();
    (!values.is_empty()).then(|| one_line(&values.join(", ")))
}

/// The sentences of a call: questions, a closing report, and prose in its arguments or in the options
/// of its command.
pub(super) fn sentences_of(call: &ToolCall, action: &ToolAction) -> Vec<(Voice, String)> {
    let mut out = Vec::new();
    let voice = match action {
        ToolAction::Run { command, .. } => {
            options(command, &mut out);
            Voice::Action
        }
        ToolAction::Other => {
            call.arguments.iter().for_each(|arguments| prose(arguments, 0, &mut out));
            Voice::Action
        }
        ToolAction::Ask(questions) => {
            out.extend(questions.iter().map(|question| one_line(question)));
            Voice::Report
        }
        ToolAction::Finish(report) => {
            out.extend(sentences(report).map(one_line));
            Voice::Report
        }
        _ => return Vec::new(),
    };
    out.truncate(MOST_SENTENCES);
    out.into_iter().map(|sentence| (voice, sentence)).collect()
}

fn prose(value: &Json<'_>, depth: usize, out: &mut Vec<String>) {
    if depth > 6 || out.len() >= MOST_SENTENCES {
        return;
    }
    match value {
        Json::Object(members) => {
            let prose_members = members.iter().filter(|(name, _)| !NO_SENTENCES.has(name.to_lowercase().as_str()));
            prose_members.for_each(|(_, value)| prose(value, depth + 1, out));
        }
        Json::Array(items) => items.iter().for_each(|item| prose(item, depth + 1, out)),
        Json::String(text) if is_prose(text) => {
            out.extend(sentences(text).map(one_line).filter(|line| words(line) >= 3));
        }
        _ => {}
    }
}

/// Whether a text consists of words and not of code.
fn is_prose(text: &str) -> bool {
    let marks =
        text.bytes().filter(|byte| matches!(byte, b'{' | b'}' | b';' | b'=' | b'<' | b'>' | b'$' | b'\\')).count();
    marks * 24 <= text.len() && words(text) >= FEWEST_WORDS
}

/// The number of words, or at least [`FEWEST_WORDS`]. A character of a script without spaces counts half a word.
fn words(text: &str) -> usize {
    text.split_whitespace().filter(|word| word.contains(char::is_alphabetic)).take(FEWEST_WORDS).count()
        + unspaced(text) / 2
}

/// Adds the values of options such as `-m`, including here documents.
fn options(command: &str, out: &mut Vec<String>) {
    let mut rest = command;
    while let Some((at, option)) = first_option(rest) {
        rest = rest[at + option.len()..].trim_start_matches([' ', '=']);
        let (value, after) = match rest.chars().next() {
            Some(mark @ ('"' | '\'')) => quoted(&rest[1..], mark),
            _ => continue,
        };
        rest = after;
        let value = here_document(value);
        let lines = value.lines().filter(|line| !line.contains("Co-Authored-By") && !line.contains("Generated with"));
        let lines = without_breaks(lines);
        out.extend(lines.iter().flat_map(|line| sentences(line)).map(one_line).filter(|line| words(line) >= 3));
    }
}

/// The lines of a message, with those as one that only its width broke.
fn without_breaks<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut joined: Vec<String> = Vec::new();
    // The columns of the line before.
    let mut filled = 0;
    for line in lines.map(str::trim) {
        match joined.last_mut().filter(|before| continues(before, filled, line)) {
            Some(before) => {
                before.push(' ');
                before.push_str(line);
            }
            None => joined.push(line.to_owned()),
        }
        filled = columns(line);
    }
    joined
}

/// Whether a line continues the one before, which fills some columns: it begins with a small letter, or the other one is
/// long and ends no sentence.
fn continues(before: &str, filled: usize, line: &str) -> bool {
    let is_item = line.starts_with(['-', '*', '+', '#', '\u{2022}'])
        || line.trim_start_matches(|one: char| one.is_ascii_digit()).starts_with([')', '.']);
    let is_wide = filled >= WRAPPED && !before.ends_with(SENTENCE_ENDS);
    !before.is_empty()
        && !before.ends_with([':', '\u{ff1a}'])
        && !is_item
        && (line.starts_with(char::is_lowercase) || is_wide && !line.is_empty())
}

/// Fewest columns of a line of a message that its width broke.
const WRAPPED: usize = 55;
const SENTENCE_ENDS: [char; 6] = ['.', '!', '?', '\u{3002}', '\u{ff01}', '\u{ff1f}'];

fn first_option(text: &str) -> Option<(usize, &'static str)> {
    memchr::memchr_iter(b'-', text.as_bytes())
        .filter(|at| text[..*at].ends_with(char::is_whitespace) || *at == 0)
        .find_map(|at| {
            let is_here =
                |option: &&&str| text[at..].strip_prefix(**option).is_some_and(|rest| rest.starts_with([' ', '=']));
            SENTENCE_OPTIONS.iter().find(is_here).map(|option| (at, *option))
        })
}

/// The text up to the closing mark, and what follows it.
fn quoted(text: &str, mark: char) -> (&str, &str) {
    // A here document may contain the mark. Its own last line ends it.
    if let Some(end) = text.starts_with("$(cat <<").then(|| text.find("\n)")).flatten() {
        return (&text[..end], text[end + 2..].trim_start_matches(mark));
    }
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            '\\' if !escaped => escaped = true,
            _ if character == mark && !escaped => return (&text[..at], &text[at + 1..]),
            _ => escaped = false,
        }
    }
    (text, "")
}

/// The content of a here document; any other text unchanged.
fn here_document(value: &str) -> &str {
    let Some(rest) = value.strip_prefix("$(cat <<") else { return value };
    let (_, body) = rest.split_once('\n').unwrap_or(("", rest));
    let body = body.trim_end();
    body.rsplit_once('\n').map_or(body, |(body, _)| body)
}

#[cfg(test)]
mod tests {
    use super::super::actions::ActionKind;
    use super::*;

    #[test]
    fn a_line_that_introduces_a_list_has_its_first_item() {
        let output = "Ready (10 issues):\n\n  1. paint the hall\n  2. lamps\n";
        assert_eq!(with_first_item("Ready (10 issues):", output), "Ready (10 issues): 1. paint the hall");
        assert_eq!(with_first_item("10 issues", "10 issues\nin all"), "10 issues");
        assert_eq!(with_first_item("none:", "none:\n"), "none:");
        assert_eq!(without_notices("2 rows\nWaiting for the debugger to disconnect...\n"), "2 rows");
    }

    #[test]
    fn results_tell_what_came_of_a_command() {
        for (command, output, expected) in [
            (
                "git commit -m x",
                "[main 1a2b3c4] fix: the parser\n 1 file changed",
                Some("Committed 1a2b3c4 on main: fix: the parser"),
            ),
            ("git push", "To host:a/b.git\n   1a2b3c4..5d6e7f8  dev -> dev", Some("Pushed 5d6e7f8 to dev")),
            ("git push -u origin x", " * [new branch]      x -> x", Some("Pushed the new branch x")),
            (
                "gh pr create --fill",
                "Creating\nhttps://host/a/b/pull/12",
                Some("`gh pr create --fill` gave https://host/a/b/pull/12"),
            ),
            ("mix test", "...\nFinished\n12 tests, 0 failures\n", Some("`mix test`: 12 tests, 0 failures")),
            (
                "pytest -q",
                "FAILED a.py\n=== 1 failed, 3 passed in 0.1s ===",
                Some("`pytest -q`: 1 failed, 3 passed in 0.1s"),
            ),
            ("make check", "a.rs:12 - Failed to load\nerrors: 0", Some("`make check`: errors: 0")),
            ("git fetch && ls", "From host:a/b\n   1a2b3c4..5d6e7f8  dev -> origin/dev\na\nb\n", None),
            ("ls", "a\nb\nc", None),
            ("bd close x", "closed x: all of it is done", Some("`bd close x`: closed x: all of it is done")),
        ] {
            let action = ToolAction::Run { command: command.to_owned(), files: Vec::new() };
            let outcomes = outcomes(&action, &(ActionKind::Run, command.to_owned()), output, None);
            let line = outcomes.statements.into_iter().next().map(|(_, line)| line);
            assert_eq!(line.as_deref(), expected, "{command}");
        }
    }

    #[test]
    fn a_run_without_an_exit_code_fails_by_its_last_lines() {
        let failure = |command: &str, output: &str, has_failed| {
            let action = ToolAction::Run { command: command.to_owned(), files: Vec::new() };
            outcomes(&action, &(ActionKind::Run, command.to_owned()), output, has_failed).failure
        };
        let tests = "== 1 failed, 3 passed in 0.1s ==";
        assert_eq!(failure("pytest", tests, None).as_deref(), Some("1 failed, 3 passed in 0.1s"));
        assert_eq!(failure("pytest", tests, Some(false)), None, "an exit code says it");
        assert!(failure("pytest | tail -3", tests, Some(false)).is_some(), "the exit code is that of `tail`");
        let plugin = "FAILED tests/test_a.py\n\nResults (0.2s):\n       6 passed";
        assert_eq!(failure("pytest -v", plugin, None).as_deref(), Some("FAILED tests/test_a.py (6 passed)"));
        let status = format!("== 13 failed, 67 passed in \n17s ==\n{}", "a line of the manual\n".repeat(2000));
        let told = failure("python status.py", &status, None);
        assert_eq!(told.as_deref(), Some("13 failed, 67 passed in"), "a script prints more behind it");
        assert_eq!(failure("grep -c x a.log", "3 errors", None), None, "it only looks");
        assert_eq!(failure("bd ready", "Ready work (10 issues)", None), None, "findings are no failures");
        assert_eq!(failure("ruff check --fix", "Found 3 errors (3 fixed, 0 remaining).", None), None);
        let runner = "src/a.ts(3,7): error TS2345: no such type\nnpm error code 2\nnpm error path /home/a\nnpm error workspace b";
        let ended = failure("npm run check 2>&1 | grep error", runner, Some(false));
        assert_eq!(ended.as_deref(), Some("src/a.ts(3,7): error TS2345: no such type"));
        let ended = failure("python run.py", "Reading\nKeyError: 'name'\n", None);
        assert_eq!(ended.as_deref(), Some("KeyError: 'name'"));
        assert_eq!(failure("python run.py", "KeyError: 'name'\na\nb\nDone", None), None);
    }

    #[test]
    fn a_command_may_commit_and_push() {
        let output = "[dev 5d6e7f8] fix: the parser\n 1 file changed\nTo host:a/b.git\n + 1a2b3c4...5d6e7f8 dev -> dev \
                      (forced update)";
        let lines: Vec<String> =
            saved("git commit --amend --no-edit && git push -f", output).into_iter().map(|(_, line)| line).collect();
        let expected =
            ["Committed 5d6e7f8 on dev: fix: the parser (amended)", "Pushed 5d6e7f8 to dev instead of 1a2b3c4"];
        assert_eq!(lines, expected);
        let reported = "Applied edit to a.rs\n> Commit 1a2b3c4 fix: the parser\nCommit to it";
        assert_eq!(reported_commits(reported).collect::<Vec<_>>(), ["Committed 1a2b3c4: fix: the parser"]);
        let by_aider = saved("git commit", "Commit 1a2b3c4 fix: the parser");
        assert_eq!(by_aider, [(Voice::Milestone, "Committed 1a2b3c4: fix: the parser".to_owned())]);
        let removed: Vec<String> = reported_commits("Removed: 1a2b3c4 fix: the parser\nNow at:  9f8e7d6").collect();
        assert_eq!(removed, ["Took back the commit 1a2b3c4: fix: the parser"]);
        let undone = saved("git reset --hard HEAD~1", "Removed: 1a2b3c4 fix: the parser\nNow at:  9f8e7d6 docs: it");
        assert_eq!(undone, [(Voice::Milestone, "Took back the commit 1a2b3c4: fix: the parser".to_owned())]);
        let moved = saved("git reset --hard HEAD~2", "HEAD is now at 9f8e7d6 docs: the manual");
        assert_eq!(moved, [(Voice::Milestone, "Reset the branch to 9f8e7d6: docs: the manual".to_owned())]);
        assert!(saved("git checkout 9f8e7d6", "HEAD is now at 9f8e7d6 docs: the manual").is_empty());
    }

    #[test]
    fn a_sub_agent_reports_its_commits() {
        let report = "**Status:** done\n- Committed as `1a2b3c4` \u{2014} feat: read the table\n5. Committed: `[main 5d6e7f8] \
                      docs: the manual`\nCommit: 1a2b3c4d\nCommit `9f8e7d6`.\nThe base commit 7a7a7a7 is older\nCommit messages \
                      are short\nCommitted 1234567 rows\nAll tests pass. Committed as `4c5d6e7` on `dev` agentId: a1b2c3d4e5f6";
        let call = "Task({\"description\":\"Task 3: Read the table\",\"prompt\":\"Do it\"})";
        let expected = [
            "Committed 1a2b3c4: feat: read the table",
            "Committed 5d6e7f8 on main: docs: the manual",
            "Committed 4c5d6e7 on dev: Task 3: Read the table",
        ];
        assert_eq!(commits_in_report(call, report), expected);
    }

    #[test]
    fn options_hold_sentences() {
        let mut out = Vec::new();
        options(
            "git commit -m \"$(cat <<'EOF'\nfeat: add a \"tail\" adapter\n\nIt follows live files.\nEOF\n)\" && git push",
            &mut out,
        );
        options("bd close a.3 --reason=\"Implemented all of it\"", &mut out);
        options("python -m pytest tests", &mut out);
        assert_eq!(out, ["feat: add a \"tail\" adapter", "It follows live files.", "Implemented all of it"]);
        out.clear();
        options(
            "git commit -m 'fix: close the lid\n\nThe lid stayed open, because the hinge of the new\nkiln is longer \
             than that of the one that we had in the shop of\nBerlin. It is hot:\n- The lid closes\n  by itself now\n- The \
             hinge is short\nThe hinge is new\nThe lid is new'",
            &mut out,
        );
        let expected = [
            "fix: close the lid",
            "The lid stayed open, because the hinge of the new kiln is longer than that of the one that we had in the \
             shop of Berlin.",
            "It is hot:",
            "The lid closes by itself now",
            "The hinge is short",
            "The hinge is new",
            "The lid is new",
        ];
        assert_eq!(out, expected);
    }
}
