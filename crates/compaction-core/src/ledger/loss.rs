//! The loss report: what the compacted part held and the new context lacks.

use super::doubts::{reversed, unsupported};
use super::finder::{Finder, Pattern};
use super::known::Known;
use super::notes::{Note, NoteKind};
use super::text::one_line;
use super::{ErrorRecord, Ledger, NameRecord, Places, Request, Sources};
use crate::json::Json;
use crate::message::{Block, Body, Content, Message};
use crate::preparation::PreparedMessage;

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
    /// Requests; one of which only the first words are there counts half.
    pub requests: f64,
    /// Constraints and preferences; likewise.
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
    /// Requests and constraints of which only the first words are there.
    pub clipped: Vec<Clipped>,
    /// Paths in the summary that nothing supports.
    pub unsupported: Vec<String>,
    /// Statements of the summary that are the reverse of what is known.
    pub reversed: Vec<Suspicion>,
    /// How much is there without repair.
    pub retention: Retention,
    /// Whether what was asked last of all is among the missing requests; it is the first then.
    pub lacks_last_request: bool,
    expected: Counts,
    /// How many of each class are clipped.
    pub(super) half: Counts,
}

/// Words of which only the first are there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clipped {
    /// All of them.
    pub text: String,
    /// Where they come from.
    pub sources: Sources,
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
        let known = expected.known();
        let mut finder = Finder::new(expected.patterns(&known));
        finder.search(&one_line(check.summary));
        for prepared in check.kept {
            texts(&prepared.message, &mut |text| finder.search(&one_line(text)));
        }
        let mut report = expected.missing(&finder.found(), &known);
        let last = check.ledger.last_request();
        report.lacks_last_request = last.is_some() && report.requests.first() == last;
        report.unsupported = unsupported(check);
        report.reversed = reversed(check);
        report
    }

    /// The retention once `repaired` items of each class are there again, and `half` of each not whole.
    pub(super) fn retention_after(&self, repaired: Counts, half: Counts) -> Retention {
        let missing = self.missing();
        let missing = std::array::from_fn(|class| missing[class].saturating_sub(repaired[class]));
        retention(self.expected, missing, half)
    }

    fn missing(&self) -> Counts {
        [self.files.len(), self.identifiers.len(), self.errors.len(), self.requests.len(), self.constraints.len()]
    }

    /// Whether nothing is missing or doubtful.
    pub fn is_clean(&self) -> bool {
        self.missing() == [0; 5] && self.clipped.is_empty() && self.unsupported.is_empty() && self.reversed.is_empty()
    }
}

fn retention(expected: Counts, missing: Counts, half: Counts) -> Retention {
    let ratio = |class: usize| match expected[class] {
        0 => 1.0,
        count => (count - missing[class].min(count)) as f64 / count as f64 - half[class] as f64 / (2 * count) as f64,
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
            constraints: ledger.standing(NoteKind::Constraint).rev().take(MOST_CONSTRAINTS).collect(),
        }
    }

    /// What errors, requests and constraints are known by.
    fn known(&self) -> Vec<Known> {
        let errors = self.errors.iter().map(|error| Known::error(&error.line, LINE_UNITS));
        let requests = self.requests.iter().map(|request| Known::said(&request.text, REQUEST_UNITS));
        let constraints = self.constraints.iter().map(|note| Known::said(&note.text, LINE_UNITS));
        errors.chain(requests).chain(constraints).collect()
    }

    fn patterns<'b>(&self, known: &'b [Known]) -> Vec<Pattern<'b>>
    where
        'a: 'b,
    {
        let word = |text: &'b str| Pattern { text, is_word: true };
        let files = self.files.iter().map(|path| word(path));
        let identifiers = self.identifiers.iter().map(|name| word(&name.name));
        let line = |text: &'b str| Pattern { text, is_word: false };
        let first = known.iter().map(|known| line(&known.first));
        let rest = known.iter().flat_map(|known| &known.rest).map(|text| line(text));
        files.chain(identifiers).chain(first).chain(rest).collect()
    }

    fn missing(self, found: &[bool], known: &[Known]) -> LossReport {
        let names = self.files.len() + self.identifiers.len();
        let (found, rest) = found.split_at((names + known.len()).min(found.len()));
        let first = found.get(names..).unwrap_or_default();
        let is_clipped = super::known::clipped(known, first, rest);
        let (clipped, half) = self.clipped(&is_clipped);
        let found = &mut found.iter().copied();
        let expected =
            [self.files.len(), self.identifiers.len(), self.errors.len(), self.requests.len(), self.constraints.len()];
        let files = lacking(self.files, found, str::to_owned);
        let identifiers = lacking(self.identifiers, found, |name| name.name.clone());
        let errors = lacking(self.errors, found, ErrorRecord::clone);
        let requests = lacking(self.requests, found, Request::clone);
        let constraints = lacking(self.constraints, found, Note::clone);
        let missing = [files.len(), identifiers.len(), errors.len(), requests.len(), constraints.len()];
        LossReport {
            files,
            identifiers,
            errors,
            requests,
            constraints,
            clipped,
            unsupported: Vec::new(),
            reversed: Vec::new(),
            lacks_last_request: false,
            retention: retention(expected, missing, half),
            expected,
            half,
        }
    }

    /// What is clipped, given for each error, request and constraint in order, and how much of each
    /// class.
    fn clipped(&self, is_clipped: &[bool]) -> (Vec<Clipped>, Counts) {
        let mut is_clipped = is_clipped.iter().skip(self.errors.len()).copied();
        let item = |text: &str, sources: &Sources| Clipped { text: text.to_owned(), sources: sources.clone() };
        let mut is_next = || is_clipped.next().unwrap_or(false);
        let requests = self.requests.iter().filter(|_| is_next()).map(|request| item(&request.text, &request.sources));
        let mut clipped: Vec<Clipped> = requests.collect();
        let requests = clipped.len();
        let constraints = self.constraints.iter().filter(|_| is_next()).map(|note| item(&note.text, &note.sources));
        clipped.extend(constraints);
        let half = [0, 0, 0, requests, clipped.len() - requests];
        (clipped, half)
    }
}

fn lacking<T: ?Sized, U>(items: Vec<&T>, found: &mut impl Iterator<Item = bool>, own: impl Fn(&T) -> U) -> Vec<U> {
    // Zipping with the shared iterator second would take one flag too many.
    items.into_iter().filter(|_| !found.next().unwrap_or(true)).map(own).collect()
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
