//! Events in the outputs of aider: calls with their results, refusals, and errors of the model's turn.
//!
//! An output begins with a mark, `> `, and ends with two spaces. Its first line shows its kind. The outputs after a
//! command, a failed edit or an error belong to it, up to the next output of another kind.

use std::collections::HashSet;

use crate::tools::failed_edits;

const MARK: &str = "> ";
/// The element around a thought of the model, before a number in hexadecimal digits.
const THOUGHT: &str = "thinking-content-";
/// Choices that aider shows after its questions.
const YES_OR_NO: &str = "(Y)es/(N)o";
/// Maximum bytes of all choices of a question.
const MAX_CHOICES: usize = 80;
/// Answers that refuse.
const REFUSALS: [&str; 7] = ["n", "no", "d", "don't", "s", "skip", "false"];
/// Answers that aider gives itself after the person has chosen for a whole group.
const FOR_A_GROUP: [&str; 2] = ["all", "skip"];
const RUNS: &str = "Run shell command";
const ADDS: &str = "Add ";
const ADDS_FILE: &str = "Add file to the chat?";
const CREATES_FILE: &str = "Create new file?";
const TO_CHAT: &str = " to the chat";
const TO_READ_ONLY: &str = " to read-only files.";
/// The question whether a file that does not exist is to be created, and what is before its path.
const NO_MATCH: &str = "No files matched '";
const TO_CREATE: &str = "Do you want to create ";
/// Questions about aider itself, such as those at its start. Their answers say nothing about the work.
const OF_PROGRAM: [&str; 11] = [
    "Open documentation url for more info",
    "Open URL for more info",
    "Would you like to see what's new in this version",
    "Login to OpenRouter or create a free account",
    "Allow collection of anonymous analytics",
    "No git repo found, create one to track aider's changes",
    "Run pip install",
    "Open a GitHub Issue pre-filled with the above error",
    "Fix these permissions",
    "Proceed anyway",
    "Try to proceed anyway",
];
/// Notices of a file that does not exist, that aider cannot read, and that it cannot create.
const NOT_FOUND: &str = "No matches found for: ";
const NOT_READ: &str = "Unable to read ";
const NOT_CREATED: &str = "Error creating file ";
const LISTS: &str = "/ls";
/// Notices of files that the person took out of the chat.
const DROPPED: (&str, &str) = ("Removed ", " from the chat");
const DROPPED_ALL: &str = "Dropping all files from the chat session";
/// Questions whether the model may fix what a check found, and the name of the check.
const FIXES: [(&str, &str); 3] =
    [("Attempt to fix lint errors", "lint"), ("Attempt to fix test errors", "test"), ("Fix lint errors in ", "lint")];
/// First line of the findings of a linter.
const LINT: &str = "# Fix any errors below";
/// The line with the linter's command.
const LINT_COMMAND: &str = "## Running: ";
const UNDO: &str = "/undo";
/// Begins the line about a commit that `/undo` undid.
const REMOVED: &str = "Removed: ";
/// The command with the same effect.
const RESET: &str = "git reset --hard HEAD~1";
/// Notices of an answer whose edits aider cannot read or apply.
const FAILED_EDITS: [&str; 4] =
    ["The LLM did not conform to the edit format", "Malformed ", "Exception while updating files", "Failed to apply"];
/// End the notices of a file that a list of ignored files names.
const OF_IGNORED: [&str; 2] = [" that matches gitignore spec.", " that matches aiderignore spec."];
/// Notices of a file that aider does not add to the chat, before and after its name.
const NOT_ADDED: [(&str, &str); 4] = [
    ("Skipping ", OF_IGNORED[0]),
    ("Skipping ", OF_IGNORED[1]),
    ("Can't add ", " which is in gitignore"),
    ("Cannot add ", " as it's not part of the repository"),
];
/// The same for a file outside of the directory, whose name is behind the second text.
const OUTSIDE: (&str, &str) = ("Can not add ", ", which is not within ");
/// The notice of a command to aider that an error ended: the command, and the reason.
const INCOMPLETE: &str = "Unable to complete ";
/// The commands that add files to the chat.
const ADDING: [&str; 3] = ["add", "read", "read-only"];
/// Notices of one edit that was not made, before and after the name of the file.
const UNDONE_EDITS: [(&str, &str); 6] = [
    ("Skipping edits to ", OF_IGNORED[0]),
    ("Skipping edits to ", OF_IGNORED[1]),
    ("Skipping edits to ", ""),
    ("Failed to apply edit to ", ""),
    ("Did not apply edit to ", " (--dry-run)"),
    ("Unable to create ", ", skipping edits."),
];
/// The notice of a file that aider could not write: the name is between the first two, and the reason follows the last one.
const UNWRITTEN: (&str, &str, &str) = ("Unable to write file ", " after ", " attempts: ");
/// The notice of a file that aider cannot read comes after its name.
const UNREAD: &str = ": unable to read: ";
/// What aider cannot do with git. The lines after the notice are what git printed.
const FAILED_COMMIT: &str = "Unable to commit: ";
const FAILED_ADD: &str = "Unable to add ";
/// How aider says that a request to the model failed, besides the names of errors.
const ERRORS: [&str; 3] = ["Traceback (most recent call last)", "Empty response received from LLM", "Error code: "];
/// How aider says that it does not know the command of a message, and does not send the message.
const NO_COMMAND: [&str; 3] = ["Invalid command: ", "Ambiguous command: ", "Chat mode \""];
const TOKEN_LIMIT: &str = " has hit a token limit!";
const TOO_OFTEN: &str = " reflections allowed, stopping.";
const RETRIES: [&str; 2] = ["Retrying in ", "Retry in "];
const INTERRUPT: &str = "^C";
/// How aider counts the tokens of an answer.
const TOKENS: &str = "Tokens: ";
const SEARCH: &str = "<<<<<<< SEARCH";

/// What an output reports.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A call with one argument, or none, and its result.
    Call { name: &'static str, argument: Option<(&'static str, String)>, result: String, is_error: bool },
    /// The end of the model's turn with an error, or because the person stopped it.
    Failure { reason: &'static str, text: String },
}

impl Event {
    fn call(name: &'static str, key: &'static str, value: &str, result: &str, is_error: bool) -> Self {
        Self::Call { name, argument: Some((key, value.to_owned())), result: result.to_owned(), is_error }
    }

    fn run(command: &str, result: &str, is_error: bool) -> Self {
        Self::call("run", "command", command, result, is_error)
    }

    /// A question that the person refused. The answer alone is a letter.
    fn refused(question: &str, answer: &str) -> Self {
        let answer = match answer.to_lowercase().chars().next() {
            Some('d') => "no, and don't ask again",
            Some('s') => "no, skip all",
            _ => "no",
        };
        Self::call("ask_user", "question", question, &format!("{question} {answer}"), false)
    }
}

/// What outputs belong to.
#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// A command.
    Run(String),
    /// A command of git that aider ran by itself and that failed.
    Git(String),
    Undo,
    /// The list of the files in the chat.
    List,
    Lint,
    Edit,
    Error,
    Interrupt,
}

#[derive(Debug)]
struct Open {
    what: What,
    /// Whether an import ended inside it. The rest becomes a call of its own.
    is_continued: bool,
}

impl Open {
    fn new(what: What) -> Self {
        Self { what, is_continued: false }
    }
}

/// Reads the outputs between messages.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    open: Option<Open>,
    /// What the last message ended with, if an import may have ended inside it.
    unended: Option<What>,
    /// The last output that is not an event by itself. A question after it is about it.
    subject: String,
    /// The commands in aider's last question.
    allowed: HashSet<String>,
    /// The file that the person lets aider create, until an output says what came of it.
    creating: Option<String>,
    /// The person's last message, if it is a command to aider.
    command: String,
    /// Whether a call already contains a linter's findings. aider may commit before it asks what to do about them.
    has_lint: bool,
}

impl Outputs {
    /// Takes a message of the person. It can be a command to aider.
    pub(super) fn note_user(&mut self, text: &str) {
        let text = text.trim();
        let what = match text {
            UNDO => Some(What::Undo),
            LISTS => Some(What::List),
            _ => run_in(text).map(What::Run),
        };
        self.creating = None;
        self.command.clear();
        self.command.push_str(if text.starts_with('/') { text } else { "" });
        self.open = what.map(Open::new);
        self.has_lint = false;
    }

    /// Begins a message.
    pub(super) fn begin(&mut self) {
        self.unended = None;
    }

    /// Ends the open event without further outputs.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.close("", &mut events);
        events
    }

    /// Ends an import. The next one reads the rest.
    pub(super) fn flush(&mut self) {
        let continued = self.unended.take().map(|what| Open { what, is_continued: true });
        self.open = self.open.take().or(continued);
    }

    /// Reads the outputs between two messages. Without `has_ends`, each line is one.
    pub(super) fn read(&mut self, text: &str, has_ends: bool) -> Vec<Event> {
        let mut events = Vec::new();
        // Where the outputs of the open event begin, and where the last other output begins.
        let (mut start, mut other) = (0, 0);
        let mut at = 0;
        for output in outputs(text, has_ends) {
            let before = at;
            at += output.len();
            let shown = unmarked(output);
            let notice = if output.starts_with(MARK) { shown.lines().next().unwrap_or_default() } else { "" };
            let notice = notice.trim();
            let first = output.lines().next().unwrap_or_default();
            let is_line = first.ends_with("  ") || !shown.contains('\n');
            let is_run = matches!(self.open, Some(Open { what: What::Run(_) | What::Undo, .. }));
            let question = question(&shown).filter(|(question, choices, _)| !is_run || is_known(question, choices));
            let command = notice
                .strip_prefix("Running ")
                .filter(|command| is_line && (self.open.is_none() || !is_run || self.allowed.contains(*command)));
            let aside = if other > start && !is_run { other } else { before };
            let mut tell = |outputs: &mut Self, end: usize, events: &mut Vec<Event>| {
                outputs.close(&text[start..end], events);
                (start, other) = (at, at);
            };
            let created =
                if is_line { self.created(notice, &shown).or_else(|| self.incomplete(notice, &shown)) } else { None };
            if let Some(event) = created.or_else(|| reported(notice, &shown, is_line)) {
                tell(self, before, &mut events);
                events.push(event);
            } else if let Some(command) = command {
                tell(self, before, &mut events);
                self.open = Some(Open::new(What::Run(command.to_owned())));
            } else if let Some((asked, choices, answer)) = question {
                let is_refused = REFUSALS.contains(&answer.to_lowercase().as_str());
                let is_mending = FIXES.iter().any(|(start, _)| asked.starts_with(start));
                let is_in_lint = matches!(self.open, Some(Open { what: What::Lint, .. }));
                let has_subject = [RUNS, ADDS_FILE, CREATES_FILE].iter().any(|start| asked.starts_with(start));
                if is_in_lint && is_mending && is_refused {
                    // The result ends with what the person refused.
                    tell(self, at, &mut events);
                } else {
                    tell(self, if has_subject { aside } else { before }, &mut events);
                    events.extend(self.answered(asked, choices, answer, is_refused, is_run));
                }
                self.subject.clear();
                continue;
            } else if output.starts_with("> Add ") || (notice.starts_with(TOKENS) && !is_run) {
                tell(self, before, &mut events);
            } else if let Some(what) = begun(notice, &shown, is_run) {
                let is_same = self.open.as_ref().is_some_and(|open| open.what == what && what != What::Lint);
                // An error may come before the line that says that aider tries again.
                let is_behind = self.open.is_none() && RETRIES.iter().any(|start| notice.starts_with(start));
                if !is_same {
                    self.close(&text[start..before], &mut events);
                    start = if is_behind { other } else { before };
                    self.open = Some(Open::new(what));
                }
            } else {
                other = before;
                self.subject.clear();
                self.subject.push_str(&shown);
            }
        }
        self.unended = self.open.as_ref().map(|open| open.what.clone());
        self.close(&text[start..], &mut events);
        events
    }

    /// What came of a file that the person let aider create.
    fn created(&mut self, notice: &str, shown: &str) -> Option<Event> {
        if let Some((path, _)) = notice.strip_prefix(NOT_CREATED).and_then(|rest| rest.split_once(": ")) {
            self.creating = None;
            return Some(Event::call("write", "path", path, shown, true));
        }
        let is_added = notice.starts_with("Added ") && notice.ends_with(TO_CHAT);
        let path = self.creating.take_if(|_| is_added)?;
        // aider creates it without contents.
        Some(Event::call("write", "path", &path, shown, false))
    }

    /// A command of the person to aider that an error ended. The notice may name the file in quotes.
    fn incomplete(&self, notice: &str, shown: &str) -> Option<Event> {
        let (name, reason) = notice.strip_prefix(INCOMPLETE)?.split_once(": ")?;
        let argument = self.command.split_once(char::is_whitespace)?.1.trim();
        let quoted = reason.strip_suffix('\'').and_then(|reason| Some(reason.rsplit_once('\'')?.1));
        Some(match ADDING.contains(&name) {
            true => Event::call("read", "path", quoted.unwrap_or(argument), shown, true),
            false => Event::run(self.command.trim(), shown, true),
        })
    }

    /// The event in the answer to a question. `had_run` means that the outputs before it are those of a command.
    fn answered(&mut self, asked: &str, choices: &str, answer: &str, is_refused: bool, had_run: bool) -> Option<Event> {
        let shown = || format!("{asked} {choices} {answer}").replace("  ", " ");
        let subject = std::mem::take(&mut self.subject);
        if asked.starts_with(RUNS) {
            let is_command = |line: &&str| !line.is_empty() && !line.starts_with('#');
            let commands: Vec<&str> = subject.lines().map(str::trim).filter(is_command).collect();
            self.allowed = commands.iter().map(|command| (*command).to_owned()).collect();
            return is_refused.then(|| Event::run(&commands.join("\n"), &shown(), true));
        }
        let missing = asked.split_once(TO_CREATE).filter(|_| asked.starts_with(NO_MATCH));
        if let Some((_, path)) = missing {
            let path = path.trim_end_matches('?');
            self.creating = (!is_refused).then(|| path.to_owned());
            // The words behind a command are often no file, so this is only a look for one.
            let name = asked[NO_MATCH.len()..].split('\'').next().unwrap_or(path);
            return is_refused.then(|| Event::call("find", "pattern", name, &shown(), true));
        }
        if OF_PROGRAM.iter().any(|start| starts_in_any_case(asked, start)) {
            return None;
        }
        let named = asked.strip_prefix(ADDS).and_then(|rest| rest.strip_suffix('?')?.strip_suffix(TO_CHAT));
        if asked == CREATES_FILE && !subject.trim().is_empty() {
            let path = subject.trim();
            let asked = format!("{} {path}?", CREATES_FILE.trim_end_matches('?'));
            // aider creates the empty file at once.
            return Some(match is_refused {
                true => Event::refused(&asked, answer),
                false => Event::call("write", "path", path, &shown(), false),
            });
        }
        let file = if asked == ADDS_FILE { Some(subject.trim()) } else { named };
        let is_path = |path: &&str| !path.is_empty() && !path.contains(char::is_whitespace);
        if let Some(path) = file.filter(is_path) {
            let asked = format!("{ADDS}{path}{TO_CHAT}?");
            return Some(match is_refused {
                true => Event::refused(&asked, answer),
                false => Event::call("read", "path", path, &shown(), false),
            });
        }
        let check = FIXES.iter().find(|(start, _)| asked.starts_with(start)).map(|(_, check)| *check);
        if let Some(check) = check.filter(|check| !(had_run || self.has_lint && *check == "lint")) {
            return Some(Event::run(check, format!("{subject}\n{}", shown()).trim(), true));
        }
        self.has_lint &= check.is_none();
        let is_told = is_refused && !asked.starts_with(ADDS);
        is_told.then(|| Event::refused(asked, answer))
    }

    /// Ends the open event. `text` contains its outputs.
    fn close(&mut self, text: &str, events: &mut Vec<Event>) {
        let Some(Open { what, is_continued }) = self.open.take() else { return };
        let output = unmarked(text);
        if output.is_empty() && (is_continued || !matches!(what, What::Run(_))) {
            return;
        }
        match what {
            What::Run(command) => events.push(Event::run(&command, &output, false)),
            What::Git(command) => events.push(Event::run(&command, &output, true)),
            What::Undo => {
                let is_removed = output.lines().any(|line| line.starts_with(REMOVED));
                events.push(Event::run(RESET, &output, !is_removed && !is_continued));
            }
            What::List => {
                events.push(Event::Call { name: "ls", argument: None, result: output, is_error: false });
            }
            What::Lint => {
                self.has_lint = true;
                let command = output.lines().find_map(|line| line.strip_prefix(LINT_COMMAND));
                events.push(Event::run(command.map_or("lint", str::trim), &output, true));
            }
            What::Edit => events.extend(edits(&output)),
            What::Error => events.push(Event::Failure { reason: "error", text: output }),
            What::Interrupt => events.push(Event::Failure { reason: "aborted", text: output }),
        }
    }
}

/// The command that a person asks aider to run in a message.
fn run_in(message: &str) -> Option<String> {
    let command = ["/run ", "/test ", "!"].iter().find_map(|start| message.strip_prefix(start));
    let command = command.map(|command| command.trim().to_owned());
    let git = || message.strip_prefix("/git ").map(|rest| format!("git {}", rest.trim()));
    command.or_else(git).filter(|command| !command.is_empty() && !command.contains('\n'))
}

/// The outputs in a text. aider marks the first line of each.
fn outputs(text: &str, has_ends: bool) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let (mut length, mut is_ended) = (0, false);
        for line in rest.split_inclusive('\n') {
            let ends = !has_ends || line.trim_end_matches('\n').ends_with("  ");
            if length > 0 && line.starts_with(MARK) && (is_ended || ends) {
                break;
            }
            is_ended = ends || (is_ended && line.trim().is_empty());
            length += line.len();
        }
        at += length;
        Some(&rest[..length])
    })
}

/// Outputs without their marks and ends. The mark of pytest before a line is followed by more spaces.
fn unmarked(output: &str) -> String {
    let without = |line: &str| {
        let rest = line.strip_prefix(MARK).filter(|rest| rest.trim().is_empty() || !rest.starts_with(' '));
        let rest = if line == ">" { "" } else { rest.unwrap_or(line) };
        rest.trim_end().to_owned()
    };
    let lines: Vec<String> = output.lines().map(without).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// What one output reports: a file of the chat, an edit, or a commit.
fn reported(notice: &str, shown: &str, is_line: bool) -> Option<Event> {
    let added = || {
        let path = notice.strip_prefix("Added ")?;
        path.strip_suffix(TO_CHAT).or_else(|| path.strip_suffix(TO_READ_ONLY))
    };
    if let Some(path) = added().filter(|_| is_line) {
        return Some(Event::call("read", "path", path, shown, false));
    }
    if let Some(path) = notice.strip_prefix("Applied edit to ").filter(|_| is_line) {
        return Some(Event::call("edit", "path", path, shown, false));
    }
    // A command that stands in a line of another one is no file.
    let of_file = |start: &str| notice.strip_prefix(start).filter(|path| is_line && !is_command(path));
    if let Some(name) = of_file(NOT_FOUND) {
        return Some(Event::call("find", "pattern", name, shown, true));
    }
    if let Some(path) = of_file(NOT_READ) {
        return Some(Event::call("read", "path", path, shown, true));
    }
    let dropped = notice.strip_prefix(DROPPED.0).and_then(|rest| rest.strip_suffix(DROPPED.1));
    if let Some(path) = dropped.filter(|_| is_line) {
        return Some(Event::call("drop", "file", path, shown, false));
    }
    if notice.starts_with(DROPPED_ALL) {
        return Some(Event::Call { name: "drop", argument: None, result: shown.to_owned(), is_error: false });
    }
    if let Some((path, _)) = notice.split_once(UNREAD).filter(|_| is_line) {
        return Some(Event::call("read", "path", path, shown, true));
    }
    let undone = |(start, end): &(&str, &str)| notice.strip_prefix(start)?.strip_suffix(end);
    if let Some(path) = UNDONE_EDITS.iter().find_map(undone).or_else(|| unwritten(notice)).filter(|_| is_line) {
        return Some(Event::call("edit", "path", path, shown, true));
    }
    let outside = || Some(notice.strip_prefix(OUTSIDE.0)?.split_once(OUTSIDE.1)?.0);
    if let Some(path) = NOT_ADDED.iter().find_map(undone).or_else(outside).filter(|_| is_line) {
        return Some(Event::call("read", "path", path, shown, true));
    }
    let is_commit = notice.strip_prefix("Commit ").is_some_and(begins_with_hash);
    is_commit.then(|| Event::run("git commit", shown, false))
}

/// Whether a word is the name of a command to aider: `/read-only`.
fn is_command(word: &str) -> bool {
    word.strip_prefix('/').is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
}

/// The file that aider could not write.
fn unwritten(notice: &str) -> Option<&str> {
    let (start, after, attempts) = UNWRITTEN;
    let (file, _) = notice.strip_prefix(start)?.split_once(attempts)?;
    Some(file.rsplit_once(after)?.0)
}

fn begins_with_hash(text: &str) -> bool {
    let hash = text.trim_start().split_once(' ').map_or("", |(hash, _)| hash);
    hash.len() >= 7 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The event that an output begins. While a command runs, its own outputs may look like some of these.
fn begun(notice: &str, shown: &str, is_run: bool) -> Option<What> {
    if notice.starts_with(INTERRUPT) {
        return Some(What::Interrupt);
    }
    if notice.starts_with(LINT) {
        return Some(What::Lint);
    }
    if notice.starts_with(FAILED_COMMIT) {
        return Some(What::Git("git commit".to_owned()));
    }
    let added = notice.strip_prefix(FAILED_ADD).and_then(|rest| rest.split_once(": "));
    if let Some((path, _)) = added.filter(|_| !is_run) {
        return Some(What::Git(format!("git add {path}")));
    }
    let is_malformed = FAILED_EDITS.iter().any(|start| notice.starts_with(start));
    if is_malformed || (!is_run && failed_edits(shown).next().is_some()) {
        return Some(What::Edit);
    }
    let is_removed = notice.strip_prefix(REMOVED).is_some_and(begins_with_hash);
    if is_removed && !is_run {
        return Some(What::Undo);
    }
    let name = notice.split_once(':').map_or(notice, |(name, _)| name);
    let is_name =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_'));
    let is_provider = name.starts_with("litellm.");
    let is_error = is_provider || name.ends_with("Error") || name.ends_with("Exception");
    let is_stated = ERRORS.iter().chain(&RETRIES).chain(&NO_COMMAND).any(|start| notice.starts_with(start))
        || notice.ends_with(TOKEN_LIMIT)
        || notice.ends_with(TOO_OFTEN);
    (is_name && is_error && (is_provider || !is_run) || is_stated && !is_run).then_some(What::Error)
}

/// The edits that failed, each with aider's message about it.
fn edits(output: &str) -> Vec<Event> {
    let mut starts = Vec::new();
    let mut at = 0;
    for line in output.split_inclusive('\n') {
        starts.extend(failed_edits(line).next().map(|(path, _)| (at, path)));
        at += line.len();
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at).chain([output.len()]);
    let part = |(start, end): (usize, usize)| output[start..end].trim_start_matches(['#', ' ']).trim_end();
    let events: Vec<Event> = starts
        .iter()
        .zip(ends)
        .map(|((start, path), end)| Event::call("edit", "path", path, part((*start, end)), true))
        .collect();
    if !events.is_empty() {
        return events;
    }
    // The file is named above the block, before or after the fence.
    let mut before = [""; 2];
    let mut path = None;
    for line in output.lines() {
        if line.starts_with(SEARCH) {
            let is_path = |line: &&&str| !line.is_empty() && !line.starts_with("```") && !line.contains(' ');
            path = before.iter().rev().find(is_path).map(|path| ("path", (*path).to_owned()));
            break;
        }
        before = [before[1], line.trim()];
    }
    vec![Event::Call { name: "edit", argument: path, result: output.to_owned(), is_error: true }]
}

/// A question, its choices, and the answer: `Edit the files? (Y)es/(N)o [Yes]: n`, `Edit the files? n`.
fn question(shown: &str) -> Option<(&str, &str, &str)> {
    let line = shown.lines().next_back()?.trim_end();
    let (asked, rest) = line.rsplit_once("? ")?;
    let asked = &line[..=asked.len()];
    let (choices, answer) = rest.trim().rsplit_once(' ').unwrap_or(("", rest.trim()));
    let are_choices = choices.len() <= MAX_CHOICES && (choices.is_empty() || choices.starts_with(['(', '[']));
    let is_answer = |answer: &str| {
        let answer = answer.to_lowercase();
        REFUSALS.contains(&answer.as_str()) || matches!(answer.as_str(), "y" | "yes" | "a" | "all" | "true")
    };
    (are_choices && is_answer(answer)).then_some((asked, choices, answer))
}

/// Whether a text starts with some ASCII text in any case.
fn starts_in_any_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start))
}

/// Whether a question is one of aider's, even if a command may have asked it.
fn is_known(question: &str, choices: &str) -> bool {
    let known = [RUNS, ADDS].into_iter().chain(FIXES.iter().map(|(start, _)| *start));
    choices.contains(YES_OR_NO) || known.into_iter().any(|start| question.starts_with(start))
}

/// Whether a message is the choice for a group of questions, which aider repeats as if the person had typed it.
pub(super) fn repeats_choice(message: &str) -> bool {
    message.contains(YES_OR_NO) && message.rsplit(' ').next().is_some_and(|last| FOR_A_GROUP.contains(&last))
}

/// The words after a command to aider, such as `/ask`. aider shows them again as a message of their own.
pub(super) fn words_behind_command(message: &str) -> Option<&str> {
    let (command, words) = message.strip_prefix('/')?.split_once(char::is_whitespace)?;
    let is_command = !command.is_empty() && command.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    Some(words.trim()).filter(|words| is_command && !words.is_empty())
}

/// The parts of what the model said, and whether each is a thought. A thought without an end goes up to the end of the
/// text: the model broke off. Without a beginning, it begins with the text, because an import may end inside it.
pub(super) fn thoughts_and_words(text: &str) -> Vec<(&str, bool)> {
    let mut parts = Vec::new();
    let mut add = |part: &mut std::ops::Range<usize>, end: usize, is_thought: bool| {
        let words = text[part.start..end].trim_matches('\n');
        if !words.trim().is_empty() {
            parts.push((words, is_thought));
        }
        part.start = part.end;
    };
    let (mut part, mut is_thought) = (0..0, false);
    for line in text.split_inclusive('\n') {
        let start = part.end;
        part.end += line.len();
        let is_end = is_thought_tag(line, "</");
        if is_end || !is_thought && is_thought_tag(line, "<") {
            add(&mut part, start, is_end);
            is_thought = !is_end;
        }
    }
    let end = part.end;
    add(&mut part, end, is_thought);
    parts
}

/// Whether a line is only the beginning or the end of the element around a thought.
fn is_thought_tag(line: &str, start: &str) -> bool {
    let number = line.trim().strip_prefix(start).and_then(|rest| rest.strip_prefix(THOUGHT));
    let number = number.and_then(|number| number.strip_suffix('>'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_hexdigit()))
}
