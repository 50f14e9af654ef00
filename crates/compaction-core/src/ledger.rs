//! The ledger: the facts of a conversation that must not be lost, as data (docs/ledger.md).
//!
//! It is collected from messages in one pass (`collect`), merged from compaction to compaction, stored
//! in the entry beside the summary (`store`), and read back tolerantly. Summaries are rendered
//! from it ([`crate::extractive`]) and checked against it ([`LossReport`]). Prose is parsed only once:
//! when an earlier compaction comes from a program that stores no ledger.

/// Makes an enum whose values are stored by their names.
macro_rules! stored_by_name {
    ($(#[$attribute:meta])* pub enum $type:ident { $($(#[$doc:meta])* $value:ident = $name:literal,)* }) => {
        $(#[$attribute])*
        pub enum $type {
            $($(#[$doc])* $value,)*
        }

        impl $type {
            /// Each value with its name as stored.
            pub(in crate::ledger) const ALL: &[(Self, &'static str)] = &[$((Self::$value, $name)),*];
        }
    };
}

pub(crate) mod actions;
pub(crate) mod answers;
pub(crate) mod bans;
pub(crate) mod bold;
mod call_marks;
mod causes;
mod changes;
pub(crate) mod choices;
mod claims;
pub(crate) mod closed_requests;
mod collect;
pub(crate) mod commands;
mod companions;
pub(crate) mod completed;
pub(crate) mod conclusions;
pub(crate) mod constraints;
pub(crate) mod contrasts;
mod corrections;
pub(crate) mod counts;
mod coverage;
pub(crate) mod cues;
mod deciding;
mod decision_tables;
mod definitions;
mod delegations;
mod documents;
mod earlier_summary;
pub(crate) mod errors;
mod failing;
mod faults;
pub(crate) mod finder;
pub(crate) mod frames;
pub(crate) mod last_step;
pub(crate) mod limits;
pub(crate) mod logs;
mod loss;
mod measure;
pub(crate) mod names;
pub(crate) mod noise;
pub(crate) mod notes;
pub(crate) mod outcomes;
pub(crate) mod pasted;
mod person;
pub(crate) mod problems;
pub(crate) mod properties;
pub(crate) mod proposals;
pub(crate) mod reasons;
mod refusals;
pub(crate) mod refutations;
mod rejections;
mod replies;
pub(crate) mod repository;
pub(crate) mod requests;
pub(crate) mod results;
pub(crate) mod resuming;
mod retractions;
pub(crate) mod rules;
mod rulings;
pub(crate) mod selection;
mod server_logs;
mod shown;
pub(crate) mod slash;
mod standing;
pub(crate) mod stated;
pub(crate) mod statements;
pub(crate) mod steps;
mod store;
mod superseded;
mod tasks;
pub(crate) mod templates;
pub(crate) mod terms;
pub(crate) mod text;
mod under_way;
mod undoing;
mod withdrawals;
mod working;

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

pub use collect::Collector;
pub use errors::error_line;
pub use failing::Failing;
pub(crate) use last_step::LastStep;
pub use loss::{Check, Clipped, FalseClaims, LossReport, Repair, Suspicion, remove_retained_facts};
pub use measure::Retention;
pub(crate) use names::{file_names, is_noise, scan};
pub use notes::{Note, NoteKind};
pub(crate) use person::only_describes_environment;
pub(crate) use requests::NewestAnswer;
pub use statements::{Statement, Voice};
pub use steps::LatestPlan;

use crate::entry::{EntryId, FileLists};
use crate::text::cmp_utf16;

/// Version of the stored form.
pub const VERSION: u64 = 1;
/// Version of the stored form of a ledger that needs the summary beside it.
pub const VERSION_BESIDE: u64 = 2;
/// Default limit of the stored form, in bytes.
pub const STORED_BYTES: usize = 24 * 1024;
/// Most source entries that an item keeps: the first one and the latest ones.
pub const MOST_SOURCES: usize = 4;

/// What the compacted part of a conversation contained.
///
/// Positions count messages from 1, over all compactions of the branch; 0 means an earlier
/// summary. Lists are ordered by position unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// Messages that were read, including those of earlier compactions.
    pub messages: u64,
    /// Position of the last complete answer; 0 if there is none.
    pub answered: u64,
    /// Whether the newest answer waits for a tool.
    pub is_waiting: bool,
    /// What people asked, verbatim.
    pub requests: Vec<Request>,
    /// What the conversation stated, one sentence each.
    pub(crate) statements: Vec<Statement>,
    vocabulary: selection::SharedVocabulary,
    /// The newest answer, if this compaction read one.
    pub(crate) newest_answer: NewestAnswer,
    /// What the newest complete answer to the open request says first.
    pub(crate) reply: Option<String>,
    /// The newest calls of tools after the last words of a person, if this compaction read some.
    pub(crate) last_step: LastStep,
    /// Sentences about decisions, constraints and remaining work.
    pub notes: Vec<Note>,
    /// The newest plan.
    pub plan: LatestPlan,
    /// Files that tools read or changed.
    pub files: Vec<FileRecord>,
    /// Output of the newest calls.
    pub(crate) results: Vec<results::ShownResult>,
    /// What the newest changes did to each file, ordered by each file's last change.
    pub(crate) changes: Vec<results::ShownResult>,
    /// Commands that ran.
    pub commands: Vec<CommandRecord>,
    /// The directory in which commands run, if one changed into it.
    pub(crate) directory: Option<String>,
    /// What failed.
    pub errors: Vec<ErrorRecord>,
    /// Paths that were named, the most important first.
    pub paths: Vec<NameRecord>,
    /// Symbols, hashes, tickets, addresses and the like, the most important first.
    pub identifiers: Vec<NameRecord>,
    /// Entries that somebody asked to keep.
    pub pinned: Vec<EntryId>,
    /// Counts of what earlier compactions knew but did not store.
    pub left_out: LeftOut,
}

/// The entries that an item comes from: the first and the latest ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sources(Vec<EntryId>);

impl Sources {
    /// One entry.
    pub fn one(id: &EntryId) -> Self {
        let mut sources = Self::default();
        sources.add(id);
        sources
    }

    /// Adds an entry. Beyond [`MOST_SOURCES`], the second-oldest is dropped.
    pub fn add(&mut self, id: &EntryId) {
        if id.as_str().is_empty() || self.0.contains(id) {
            return;
        }
        if self.0.len() >= MOST_SOURCES {
            self.0.remove(1);
        }
        self.0.push(id.clone());
    }

    /// The entries.
    pub fn ids(&self) -> &[EntryId] {
        &self.0
    }
}

/// What a person asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The words, verbatim. A very long request that is not the last keeps its beginning and end.
    pub text: String,
    /// Which message it was.
    pub position: u64,
    /// Its role in the conversation.
    pub weight: RequestWeight,
    /// Whether a complete answer came before the next request, and that answer neither refuses this one nor asks to go
    /// on.
    pub is_answered: bool,
    /// Where it comes from.
    pub sources: Sources,
}

impl Request {
    /// Whether it asks for something and can be understood alone.
    pub(crate) fn asks_for_work(&self) -> bool {
        (self.is_own() || self.weight == RequestWeight::Command) && cues::is_substantive(&self.text)
    }

    /// Whether it asks for something in the person's own words.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.weight, RequestWeight::Topic | RequestWeight::Work)
    }
}

stored_by_name! {
    /// The role of a person's message in a conversation, most important first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    pub enum RequestWeight {
        /// It begins a topic.
        Topic = "topic",
        /// It asks for work.
        Work = "work",
        /// It is a command to the agent, with the title of the prompt that the agent sent for it.
        Command = "command",
        /// It answers a question of the model, and the request before it continues.
        Answer = "answer",
        /// It confirms, refuses or comments.
        Reply = "reply",
    }
}

/// A file that tools worked on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileRecord {
    /// The path as it was passed to the tools.
    pub path: String,
    /// Times that it was read.
    pub read: u64,
    /// Times that it was written as a whole.
    pub written: u64,
    /// Times that a part of it was changed.
    pub edited: u64,
    /// Position of the last touch.
    pub position: u64,
    /// Position of the last change; 0 if the messages show none.
    pub changed_at: u64,
    /// Position of its deletion; 0 if it was not deleted, or written again since.
    pub deleted_at: u64,
    /// The entries that show this.
    pub sources: Sources,
}

impl FileRecord {
    /// Whether tools changed it.
    pub fn is_modified(&self) -> bool {
        self.written > 0 || self.edited > 0
    }

    /// Whether it was only written as a whole and deleted later, so that nothing is left of it. A file that was read or
    /// edited may have been there before, and its deletion is a change.
    pub(crate) fn is_gone(&self) -> bool {
        self.written > 0 && self.read + self.edited == 0 && self.deleted_at > 0
    }
}

/// A command, or a call of a tool that handles neither files nor commands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandRecord {
    /// The command without the parts that only shape its output.
    pub command: String,
    /// Whether it is a call of some other tool.
    pub is_call: bool,
    /// Times that it succeeded.
    pub succeeded: u64,
    /// Times that it failed.
    pub failed: u64,
    /// How it ended the last time.
    pub outcome: Outcome,
    /// The line that best explains its last failure.
    pub last_error: Option<String>,
    /// Position of its last result, or of the call if there is none.
    pub position: u64,
    /// Where it ran.
    pub sources: Sources,
}

stored_by_name! {
    /// How a command ended.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Outcome {
        /// It succeeded.
        Succeeded = "succeeded",
        /// It failed.
        Failed = "failed",
        /// Its result had not arrived.
        #[default]
        Open = "open",
    }
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorRecord {
    /// The path or command; `None` for a request to the model.
    pub subject: Option<String>,
    /// The line that best explains it.
    pub line: String,
    /// The tests that failed, or the places that a compiler or linter complains about, the last time.
    pub failing: Failing,
    /// Whether it no longer blocks the work, for one of the reasons in docs/ledger.md ("Facts").
    pub is_resolved: bool,
    /// Times that it happened.
    pub times: u64,
    /// Position of the last time.
    pub position: u64,
    /// Where it happened.
    pub sources: Sources,
}

/// A name that has to be spelled exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRecord {
    /// The name.
    pub name: String,
    /// Times that people, models and calls used it.
    pub times: u64,
    /// Position of the last time.
    pub position: u64,
    /// Where it was used.
    pub places: Places,
    /// The first and the latest entries that name it.
    pub sources: Sources,
}

/// The kinds of text in which a name was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Places(u8);

impl Places {
    /// A message of a person.
    pub const PERSON: Self = Self(1);
    /// What was written into a file.
    pub const EDIT: Self = Self(2);
    /// The line of an error.
    pub const ERROR: Self = Self(4);
    /// The text of an answer.
    pub const ANSWER: Self = Self(8);
    /// Another argument of a call.
    pub const CALL: Self = Self(16);
    /// An earlier summary.
    pub const SUMMARY: Self = Self(32);

    const LETTERS: [(Self, char); 6] = [
        (Self::PERSON, 'p'),
        (Self::EDIT, 'e'),
        (Self::ERROR, 'x'),
        (Self::ANSWER, 'a'),
        (Self::CALL, 'c'),
        (Self::SUMMARY, 's'),
    ];

    /// Whether all of `places` are among these.
    pub fn has(self, places: Self) -> bool {
        self.0 & places.0 == places.0
    }

    /// These and `places`.
    #[must_use]
    pub fn with(self, places: Self) -> Self {
        Self(self.0 | places.0)
    }

    /// One letter for each, as stored.
    fn letters(self) -> String {
        Self::LETTERS.iter().filter(|(place, _)| self.has(*place)).map(|(_, letter)| letter).collect()
    }

    /// Reads letters; unknown ones are ignored.
    fn from_letters(letters: &str) -> Self {
        let known = Self::LETTERS.iter().filter(|(_, letter)| letters.contains(*letter));
        known.fold(Self::default(), |places, (place, _)| places.with(*place))
    }
}

/// Builds the tables of words that most conversations need. It takes about a millisecond, once in a process. Without it,
/// each is built where it is first needed.
pub fn build_tables() {
    for automaton in [&cues::CHOOSING_PIECES, &counts::COUNTED_WORDS, &repository::COMMANDS] {
        LazyLock::force(automaton);
    }
    for phrases in [&stated::MARKS, &errors::CAUSES, &reasons::SWITCHING_PIECES] {
        LazyLock::force(phrases);
    }
    withdrawals::build_tables();
    constraints::build_tables();
}

/// The words of a person in a user message, without what a harness added, and with wrapped lines joined; empty if the harness
/// wrote all of it.
pub(crate) fn person_words(text: &str) -> String {
    statements::with_joined_lines(person::words(text)).into_owned()
}

/// Endings of pages of text.
const PAGES: [&str; 8] = [".md", ".mdx", ".mdc", ".txt", ".rst", ".adoc", ".gitignore", ".gitattributes"];
/// Names of files with such an ending that a build reads.
const BUILD_FILES: [&str; 2] = ["CMakeLists.txt", "requirements"];
/// The name of a value that a release changes and no check depends on.
const VERSION_VALUE: &str = "version";

impl Ledger {
    /// Whether it contains no facts.
    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
            && self.statements.is_empty()
            && self.notes.is_empty()
            && self.files.is_empty()
            && self.commands.is_empty()
            && self.errors.is_empty()
            && self.paths.is_empty()
            && self.identifiers.is_empty()
    }

    /// The statements of the conversation, in order.
    pub fn statements(&self) -> &[Statement] {
        &self.statements
    }

    /// The notes of one kind, in order.
    pub fn notes_of(&self, kind: NoteKind) -> impl DoubleEndedIterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.kind == kind)
    }

    /// The notes of one kind that nobody withdrew, in order.
    pub fn standing(&self, kind: NoteKind) -> impl DoubleEndedIterator<Item = &Note> {
        self.notes_of(kind).filter(|note| !note.is_withdrawn)
    }

    /// The file lists for a summary, in the same form as
    /// [`crate::file_operations::FileOperations::lists`].
    pub fn file_lists(&self) -> FileLists {
        let mut lists = FileLists::default();
        for file in &self.files {
            let list = if file.is_modified() { &mut lists.modified_files } else { &mut lists.read_files };
            list.push(file.path.clone());
        }
        lists.read_files.sort_by(|left, right| cmp_utf16(left, right));
        lists.modified_files.sort_by(|left, right| cmp_utf16(left, right));
        lists
    }

    /// `lists` without the files that were written here and deleted again, and without those whose edits all failed.
    pub fn without_deleted(&self, mut lists: FileLists) -> FileLists {
        let gone: HashSet<&str> =
            self.files.iter().filter(|file| file.is_gone()).map(|file| file.path.as_str()).collect();
        let modified: HashSet<&str> =
            self.files.iter().filter(|file| file.is_modified()).map(|file| file.path.as_str()).collect();
        let failed: HashSet<&str> = self.errors.iter().filter_map(|error| error.subject.as_deref()).collect();
        let has_failed = |path: &str| !modified.contains(path) && failed.contains(actions::shown(path).as_str());
        lists.modified_files.retain(|path| !gone.contains(path.as_str()) && !has_failed(path));
        lists
    }

    /// The paths of the files in the order of their last touch.
    pub fn last_touched(&self) -> Vec<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }

    /// The paths of the files that changed after a message, the newest first.
    pub(crate) fn changed_since(&self, position: u64) -> Vec<&str> {
        changed_since(self.files.iter(), position)
    }

    /// Position of the newest change of a file; 0 if there is none.
    pub(crate) fn changed_at(&self) -> u64 {
        self.files.iter().map(|file| file.changed_at).max().unwrap_or_default()
    }

    /// Like [`Self::changed_at`], but only for files that a check may read. A page of documentation breaks no test.
    pub(crate) fn code_changed_at(&self) -> u64 {
        let code = self.files.iter().filter(|file| !self.is_page(file));
        code.map(|file| file.changed_at).max().unwrap_or_default()
    }

    /// Whether the changes of a file break and repair no check: it is a page of documentation, or only its version
    /// changed.
    pub(crate) fn is_page(&self, file: &FileRecord) -> bool {
        let path = file.path.as_str();
        let is_text = PAGES.iter().any(|ending| path.ends_with(ending));
        let is_built = || BUILD_FILES.iter().any(|start| crate::text::base_name(path).starts_with(start));
        let own = || self.changes.iter().filter(|one| one.target == actions::shown(path));
        let is_version = |change: &results::ShownResult| {
            let mut values = change.text.split("; ").peekable();
            let is_bump = |value: &str| value.contains(" \u{2192} ") && value.to_lowercase().contains(VERSION_VALUE);
            values.peek().is_some() && values.all(is_bump)
        };
        is_text && !is_built() || file.written == 0 && own().next().is_some() && own().all(is_version)
    }

    /// The person's last request.
    pub fn last_request(&self) -> Option<&Request> {
        self.requests.last()
    }

    /// Position of the person's last request; 0 if there is none.
    pub(crate) fn asked_at(&self) -> u64 {
        self.last_request().map_or(0, |request| request.position)
    }

    /// Whether a person said something after the message at `start` and not after the one at `end`.
    pub(crate) fn has_request_between(&self, start: u64, end: u64) -> bool {
        let after = self.requests.partition_point(|request| request.position <= start);
        self.requests.get(after).is_some_and(|request| request.position <= end)
    }

    /// Errors that are still unresolved.
    pub fn unresolved_errors(&self) -> impl Iterator<Item = &ErrorRecord> {
        self.errors.iter().filter(|error| !error.is_resolved)
    }
}

/// The paths of those of some files that changed after a message, the newest first.
fn changed_since<'f>(files: impl Iterator<Item = &'f FileRecord>, position: u64) -> Vec<&'f str> {
    let mut changed: Vec<&FileRecord> = files.filter(|file| file.changed_at > position).collect();
    changed.sort_by(|left, right| (right.changed_at, &left.path).cmp(&(left.changed_at, &right.path)));
    changed.into_iter().map(|file| file.path.as_str()).collect()
}

/// How many items of each list, by its stored name, the compactions of the branch did not store.
/// Statements count sentence by sentence. Only requests that ask for something count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LeftOut(BTreeMap<&'static str, u64>);

impl LeftOut {
    /// How many items of a list were left out.
    pub fn of(&self, list: &str) -> u64 {
        self.0.get(list).copied().unwrap_or_default()
    }

    fn add(&mut self, list: &'static str, count: u64) {
        if count > 0 {
            let known = self.0.entry(list).or_default();
            *known = known.saturating_add(count);
        }
    }
}

/// The figures of a compaction.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// Messages that were summarised.
    pub messages: usize,
    /// Their estimated tokens.
    pub tokens_before: u64,
    /// Estimated tokens of the summary.
    pub tokens_after: u64,
    /// What was collected from them.
    pub ledger: &'a Ledger,
}

/// One or two sentences about a compaction, in plain text: how much smaller it became, what is kept,
/// and what still fails.
pub fn brief(brief: &Brief<'_>) -> String {
    let messages = counted(brief.messages, "message");
    let (before, after) = (tokens(brief.tokens_before), tokens(brief.tokens_after));
    let mut text = format!("Summarised {messages} ({before} tokens) into {after}");
    let files = brief.ledger.files.len();
    match (files, brief.ledger.requests.is_empty()) {
        (0, true) => {}
        (0, false) => text.push_str("; the last request is kept"),
        (files, true) => text.push_str(&format!("; {} kept", are(files, "file"))),
        (files, false) => text.push_str(&format!("; {} and the last request are kept", counted(files, "file"))),
    }
    text.push('.');
    let unresolved = brief.ledger.unresolved_errors().count();
    if unresolved > 0 {
        text.push_str(&format!(" {} unresolved.", are(unresolved, "error")));
    }
    text
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn are(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}

/// A number of tokens in short form: `900`, `5k`, `1.2M`.
fn tokens(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}k", (tokens + 500) / 1000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests;
