//! The loss report: what the compacted part held and the new context lacks.

use std::collections::HashSet;

use super::finder::{Finder, Pattern};
use super::notes::{Note, NoteKind};
use super::scan::{NameKind, ending, scan};
use super::sentences::without_marker;
use super::text::one_line;
use super::{ErrorRecord, Ledger, NameRecord, Outcome, Places, Request};
use crate::json::Json;
use crate::message::{Block, Body, Content, Message};
use crate::preparation::PreparedMessage;
use crate::text::prefix_utf16;

/// UTF-16 units by which a request is known.
const REQUEST_UNITS: usize = 40;
/// UTF-16 units by which a line is known.
const LINE_UNITS: usize = 80;
/// Most items of a class that a context is expected to hold: the most telling ones.
const MOST_FILES: usize = 400;
const MOST_NAMED_PATHS: usize = 100;
const MOST_IDENTIFIERS: usize = 240;
const MOST_ERRORS: usize = 120;
const MOST_REQUESTS: usize = 240;
const MOST_CONSTRAINTS: usize = 80;
/// Paths of a summary that are looked for.
const MOST_CLAIMS: usize = 512;

/// What is checked.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    /// What was collected from the compacted part.
    pub ledger: &'a Ledger,
    /// The summary as it will be stored.
    pub summary: &'a str,
    /// The messages that it stands for.
    pub evicted: &'a [PreparedMessage],
    /// The summary before it.
    pub previous_summary: Option<&'a str>,
    /// The messages that stay.
    pub kept: &'a [PreparedMessage],
}

/// How much of what was held is still there, from 0 to 1; 1 where there was nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retention {
    /// Files that tools touched, and paths that were named again and again.
    pub files: f64,
    /// Symbols, hashes, tickets and the like.
    pub identifiers: f64,
    /// Lines of errors.
    pub errors: f64,
    /// First words of requests.
    pub requests: f64,
    /// Constraints and preferences.
    pub constraints: f64,
}

impl Retention {
    /// One figure: the mean, in which files, errors and requests count twice.
    pub fn score(&self) -> f64 {
        let twice = self.files + self.errors + self.requests;
        (2.0 * twice + self.identifiers + self.constraints) / 8.0
    }
}

/// What a summary says against what is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspicion {
    /// It says that a file was changed that was only read.
    NotModified {
        /// The file.
        path: String,
    },
    /// It says that a file was left as it is that was changed.
    Modified {
        /// The file.
        path: String,
    },
    /// It says that a command succeeded whose last run failed.
    Failed {
        /// The command.
        command: String,
    },
}

/// What the new context lacks, the most telling first.
#[derive(Debug, Clone, PartialEq)]
pub struct LossReport {
    /// Paths.
    pub files: Vec<String>,
    /// Identifiers.
    pub identifiers: Vec<String>,
    /// Errors.
    pub errors: Vec<ErrorRecord>,
    /// Requests.
    pub requests: Vec<Request>,
    /// Constraints and preferences.
    pub constraints: Vec<Note>,
    /// Paths in the summary that nothing supports.
    pub unsupported: Vec<String>,
    /// Statements of the summary that are the reverse of what is known.
    pub reversed: Vec<Suspicion>,
    /// How much is there without repair.
    pub retention: Retention,
    /// Whether what was asked last of all is among the missing requests; it is the first then.
    pub lacks_last_request: bool,
    expected: Counts,
}

/// Items of each class: files, identifiers, errors, requests, constraints.
type Counts = [usize; 5];

/// What a context is expected to hold.
struct Expected<'a> {
    files: Vec<&'a str>,
    identifiers: Vec<&'a NameRecord>,
    errors: Vec<&'a ErrorRecord>,
    requests: Vec<&'a Request>,
    constraints: Vec<&'a Note>,
}

impl LossReport {
    /// Compares the new context with what the compacted part held.
    pub fn of(check: &Check<'_>) -> Self {
        let expected = Expected::of(check.ledger);
        let lines = expected.lines();
        let mut finder = Finder::new(expected.patterns(&lines));
        finder.search(&one_line(check.summary));
        for prepared in check.kept {
            texts(&prepared.message, &mut |text| finder.search(&one_line(text)));
        }
        let mut report = expected.missing(&finder.found());
        let last = check.ledger.last_request();
        report.lacks_last_request = last.is_some() && report.requests.first() == last;
        report.unsupported = unsupported(check);
        report.reversed = reversed(check);
        report
    }

    /// The retention once `repaired` items of each class are there again.
    pub(super) fn retention_after(&self, repaired: Counts) -> Retention {
        let missing = self.missing();
        retention(self.expected, std::array::from_fn(|class| missing[class].saturating_sub(repaired[class])))
    }

    fn missing(&self) -> Counts {
        [self.files.len(), self.identifiers.len(), self.errors.len(), self.requests.len(), self.constraints.len()]
    }

    /// Whether nothing is missing or doubtful.
    pub fn is_clean(&self) -> bool {
        self.missing() == [0; 5] && self.unsupported.is_empty() && self.reversed.is_empty()
    }
}

fn retention(expected: Counts, missing: Counts) -> Retention {
    let ratio = |class: usize| match expected[class] {
        0 => 1.0,
        count => (count - missing[class].min(count)) as f64 / count as f64,
    };
    Retention { files: ratio(0), identifiers: ratio(1), errors: ratio(2), requests: ratio(3), constraints: ratio(4) }
}

impl<'a> Expected<'a> {
    fn of(ledger: &'a Ledger) -> Self {
        let touched = ledger.files.iter().rev().take(MOST_FILES).map(|file| file.path.as_str());
        let recurs = |name: &&NameRecord| name.times > 1 || name.places.has(Places::PERSON);
        let named = ledger.paths.iter().filter(recurs).take(MOST_NAMED_PATHS).map(|path| path.name.as_str());
        let mut errors: Vec<_> = ledger.errors.iter().rev().collect();
        errors.sort_by_key(|error| error.is_resolved);
        errors.truncate(MOST_ERRORS);
        Self {
            files: touched.chain(named).collect(),
            identifiers: ledger.identifiers.iter().filter(recurs).take(MOST_IDENTIFIERS).collect(),
            errors,
            requests: ledger.requests.iter().rev().take(MOST_REQUESTS).collect(),
            constraints: ledger.notes_of(NoteKind::Constraint).rev().take(MOST_CONSTRAINTS).collect(),
        }
    }

    /// What errors, requests and constraints are known by.
    fn lines(&self) -> Vec<String> {
        let errors = self.errors.iter().map(|error| fingerprint(without_place(&error.line), LINE_UNITS));
        let requests = self.requests.iter().map(|request| fingerprint(&request.text, REQUEST_UNITS));
        let constraints = self.constraints.iter().map(|note| fingerprint(&note.text, LINE_UNITS));
        errors.chain(requests).chain(constraints).collect()
    }

    fn patterns<'b>(&self, lines: &'b [String]) -> Vec<Pattern<'b>>
    where
        'a: 'b,
    {
        let word = |text: &'b str| Pattern { text, is_word: true };
        let files = self.files.iter().map(|path| word(path));
        let identifiers = self.identifiers.iter().map(|name| word(&name.name));
        let lines = lines.iter().map(|text| Pattern { text, is_word: false });
        files.chain(identifiers).chain(lines).collect()
    }

    fn missing(self, found: &[bool]) -> LossReport {
        let mut found = found.iter().copied();
        let expected =
            [self.files.len(), self.identifiers.len(), self.errors.len(), self.requests.len(), self.constraints.len()];
        let files = lacking(self.files, &mut found, str::to_owned);
        let identifiers = lacking(self.identifiers, &mut found, |name| name.name.clone());
        let errors = lacking(self.errors, &mut found, ErrorRecord::clone);
        let requests = lacking(self.requests, &mut found, Request::clone);
        let constraints = lacking(self.constraints, &mut found, Note::clone);
        let missing = [files.len(), identifiers.len(), errors.len(), requests.len(), constraints.len()];
        LossReport {
            files,
            identifiers,
            errors,
            requests,
            constraints,
            unsupported: Vec::new(),
            reversed: Vec::new(),
            lacks_last_request: false,
            retention: retention(expected, missing),
            expected,
        }
    }
}

fn lacking<T: ?Sized, U>(items: Vec<&T>, found: &mut impl Iterator<Item = bool>, own: impl Fn(&T) -> U) -> Vec<U> {
    // Zipping with the shared iterator second would take one flag too many.
    items.into_iter().filter(|_| !found.next().unwrap_or(true)).map(own).collect()
}

/// What a compiler said, without the place that it said it of: whoever quotes it may leave that out.
fn without_place(line: &str) -> &str {
    line.split(" --> ").next().unwrap_or(line)
}

/// The first units of a text on one line, without the mark of a cut.
pub(super) fn fingerprint(text: &str, units: usize) -> String {
    // Runs of white space shorten, so that some more is looked at than is taken.
    let line = one_line(prefix_utf16(text, 8 * units));
    let line = line.split('\u{2026}').next().unwrap_or_default();
    prefix_utf16(line, units).trim_end().to_owned()
}

/// Calls `read` with every text that a model sees of a message, arguments of calls included.
pub(super) fn texts(message: &Message, read: &mut impl FnMut(&str)) {
    let mut content = |content: &Content| match content {
        Content::Text(text) => read(text),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| block_texts(block, read)),
    };
    match message.body() {
        Body::User { content: own } | Body::Custom { content: own, .. } | Body::ToolResult { content: own, .. } => {
            content(own);
        }
        Body::System(system) => content(&system.content),
        Body::Assistant(assistant) => assistant.content.iter().for_each(|block| block_texts(block, read)),
        Body::BashExecution(bash) if !bash.exclude_from_context => {
            read(&bash.command);
            read(&bash.output);
        }
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => read(summary),
        Body::BashExecution(_) | Body::Other { .. } => {}
    }
}

fn block_texts(block: &Block, read: &mut impl FnMut(&str)) {
    match block {
        Block::Text(text) | Block::Thinking(text) => read(text),
        Block::ToolCall(call) => {
            let mut values: Vec<&Json<'static>> = call.arguments.iter().collect();
            while let Some(value) = values.pop() {
                match value {
                    Json::String(text) | Json::Deep(text) => read(text),
                    Json::Array(items) => values.extend(items),
                    Json::Object(members) => values.extend(members.iter().map(|(_, value)| value)),
                    _ => {}
                }
            }
        }
        Block::Image | Block::Other => {}
    }
}

/// Paths of the summary that nothing of what it was made from holds. Only what can be nothing but a
/// path is looked at: it has a file's ending or begins at a root.
fn unsupported(check: &Check<'_>) -> Vec<String> {
    let ledger = check.ledger;
    let files = ledger.files.iter().map(|file| file.path.as_str());
    let known: HashSet<&str> = files.chain(ledger.paths.iter().map(|path| path.name.as_str())).collect();
    let mut claimed: Vec<Pattern<'_>> = Vec::new();
    let mut seen = HashSet::new();
    for part in cut_parts(check.summary) {
        scan(part.text, |kind, name| {
            let is_doubtful = kind == NameKind::Path && is_certain(name) && !is_known(name, &known);
            if is_doubtful && claimed.len() < MOST_CLAIMS && seen.insert(name) {
                claimed.push(Pattern { text: name, is_word: !part.cuts(name) });
            }
        });
    }
    if claimed.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = claimed.iter().map(|pattern| pattern.text).collect();
    let mut finder = Finder::new(claimed);
    check.previous_summary.into_iter().for_each(|summary| finder.search(summary));
    for prepared in check.evicted.iter().chain(check.kept) {
        texts(&prepared.message, &mut |text| finder.search(text));
    }
    let notes = ledger.notes.iter().map(|note| note.text.as_str());
    let commands = ledger.commands.iter().map(|command| command.command.as_str());
    let told = notes.chain(commands).chain(ledger.errors.iter().map(|error| error.line.as_str()));
    told.chain(ledger.requests.iter().map(|request| request.text.as_str())).for_each(|text| finder.search(text));
    let found = finder.found();
    names.into_iter().zip(found).filter(|(_, is_found)| !is_found).map(|(name, _)| name.to_owned()).collect()
}

/// A part of a text in which the mark of a cut stands for what was left out.
struct CutPart<'a> {
    text: &'a str,
    follows_cut: bool,
    precedes_cut: bool,
}

fn cut_parts(text: &str) -> impl Iterator<Item = CutPart<'_>> {
    let mut parts = text.split('\u{2026}').enumerate().peekable();
    std::iter::from_fn(move || {
        let (number, text) = parts.next()?;
        Some(CutPart { text, follows_cut: number > 0, precedes_cut: parts.peek().is_some() })
    })
}

impl CutPart<'_> {
    /// Whether a name of this part lies at a cut, so that it may be the rest of a longer one.
    fn cuts(&self, name: &str) -> bool {
        self.follows_cut && self.text.trim_start().starts_with(name)
            || self.precedes_cut && self.text.trim_end().ends_with(name)
    }
}

fn is_certain(path: &str) -> bool {
    let is_rooted = path.starts_with(['/', '~', '.']) || path.as_bytes().get(1) == Some(&b':');
    let separators = path.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    ending(path).is_some() && separators > 0 || is_rooted && separators > 1
}

/// Whether a path, or what is left of it without leading directories, is known.
fn is_known(path: &str, known: &HashSet<&str>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]).filter(|end| end.contains('/'));
    known.contains(path) || ends.into_iter().any(|end| known.contains(end))
}

/// Statements about one file or command that are the reverse of what is known. Only items that begin
/// with the deed or say plainly that nothing was changed are judged.
fn reversed(check: &Check<'_>) -> Vec<Suspicion> {
    let ledger = check.ledger;
    check.summary.lines().filter_map(|line| reversed_line(line, ledger)).collect()
}

fn reversed_line(line: &str, ledger: &Ledger) -> Option<Suspicion> {
    const CHANGED: [&str; 8] =
        ["edited ", "modified ", "updated ", "changed ", "wrote ", "rewrote ", "created ", "refactored "];
    const UNCHANGED: [&str; 4] = ["unchanged", "not modified", "untouched", "only read"];
    const SUCCEEDED: [&str; 4] = [" passes", " passed", " succeeds", " succeeded"];
    let item = without_box(without_marker(line));
    let lower = item.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let name = super::text::quoted(item).next()?;
    let file = || ledger.files.iter().find(|file| file.path == name);
    if CHANGED.iter().any(|word| lower.starts_with(word)) {
        return file().filter(|file| !file.is_modified() && file.read > 0).map(|_| not_modified(name));
    }
    if says(&UNCHANGED) {
        return file().filter(|file| file.is_modified()).map(|_| Suspicion::Modified { path: name.to_owned() });
    }
    let is_negated = says(&["not ", "n't ", "never ", "until "]);
    let command = || ledger.commands.iter().find(|command| command.command == name);
    let failed = || command().filter(|command| command.outcome == Outcome::Failed && command.succeeded == 0);
    (says(&SUCCEEDED) && !is_negated).then(failed)?.map(|_| Suspicion::Failed { command: name.to_owned() })
}

/// An item without the box that tells whether it is done.
fn without_box(item: &str) -> &str {
    let rest = ["[x]", "[X]", "[ ]"].iter().find_map(|mark| item.strip_prefix(mark));
    rest.unwrap_or(item).trim_start_matches(|character: char| !character.is_alphabetic() && character != '`')
}

fn not_modified(path: &str) -> Suspicion {
    Suspicion::NotModified { path: path.to_owned() }
}
