//! The ledger: what a conversation held that must not be lost, as data (docs/ledger.md).
//!
//! It is collected from messages in one pass (`collect`), merged from compaction to compaction,
//! stored in the entry beside the summary (`store`), and read back tolerantly (`read`). Summaries
//! are rendered from it ([`crate::extractive`]) and checked against it ([`LossReport`]). Prose is
//! never parsed back, but once: where an earlier compaction was made by a program without ledger.

mod actions;
mod brief;
mod claims;
mod collect;
pub(crate) mod commands;
pub(crate) mod cues;
mod doubts;
mod error_forms;
mod error_line;
mod error_words;
mod errors;
pub(crate) mod finder;
mod harvest;
mod known;
pub(crate) mod labels;
mod left_out;
mod loss;
mod measure;
mod names;
pub(crate) mod notes;
mod outcomes;
mod person;
mod plan;
mod read;
mod repair;
mod requests;
mod scan;
pub(crate) mod selection;
mod sentences;
mod speech;
pub(crate) mod statements;
mod steps;
mod store;
pub(crate) mod subject;
mod terms;
pub(crate) mod text;
mod told;
mod wishes;
mod withdrawals;

use crate::entry::{EntryId, FileLists};
use crate::text::cmp_utf16;

pub use brief::{Brief, brief};
pub use collect::Collector;
pub use error_line::error_line;
pub use left_out::LeftOut;
pub use loss::{Check, Clipped, LossReport, Suspicion};
pub use measure::Retention;
pub use notes::{Note, NoteKind};
pub use plan::LatestPlan;
pub use repair::{Repair, remove_retained_facts};
pub use statements::{Statement, Voice};

/// Version of the stored form.
pub const VERSION: u64 = 1;
/// Bytes of the stored form that a compaction should spend, unless somebody wants more.
pub const STORED_BYTES: usize = 24 * 1024;
/// Entries that an item names at most: the first that it comes from, and the latest ones.
pub const MOST_SOURCES: usize = 4;

/// What the compacted part of a conversation held.
///
/// Positions count messages from 1, over all compactions of the branch; 0 is what an earlier
/// summary told. Lists are in the order of positions unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Ledger {
    /// Messages that were read, those of earlier compactions included.
    pub messages: u64,
    /// Position of the last answer that was given to its end; 0 for none.
    pub answered: u64,
    /// Whether the newest answer waits for a tool.
    pub is_waiting: bool,
    /// What people asked, verbatim.
    pub requests: Vec<Request>,
    /// What was said, sentence by sentence.
    pub(crate) statements: Vec<Statement>,
    vocabulary: selection::SharedVocabulary,
    /// What was settled, is wanted or left to do, in sentences.
    pub notes: Vec<Note>,
    /// The newest plan.
    pub plan: LatestPlan,
    /// Files that tools read or changed.
    pub files: Vec<FileRecord>,
    /// Commands that ran.
    pub commands: Vec<CommandRecord>,
    /// What failed.
    pub errors: Vec<ErrorRecord>,
    /// Paths that were named, the most telling first.
    pub paths: Vec<NameRecord>,
    /// Symbols, hashes, tickets, addresses and the like, the most telling first.
    pub identifiers: Vec<NameRecord>,
    /// Entries that were asked to be kept.
    pub pinned: Vec<EntryId>,
    /// What earlier compactions knew and did not store.
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

    /// Adds an entry. Where there are too many, the oldest but one goes.
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
    /// The words, verbatim; of a very long one that is not the last, beginning and end.
    pub text: String,
    /// Which message it was.
    pub position: u64,
    /// What it does in the conversation.
    pub weight: RequestWeight,
    /// Where it comes from.
    pub sources: Sources,
}

/// What a message of a person does in a conversation, most telling first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RequestWeight {
    /// It begins a topic.
    Topic,
    /// It asks for work.
    Work,
    /// It confirms, refuses or comments.
    Reply,
}

/// A file that tools worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileRecord {
    /// The path as the tools were given it.
    pub path: String,
    /// Times that it was read.
    pub read: u64,
    /// Times that it was written whole.
    pub written: u64,
    /// Times that a part of it was changed.
    pub edited: u64,
    /// Position of the last touch.
    pub position: u64,
    /// Position of the last change; 0 for none that the messages show.
    pub changed_at: u64,
    /// Where that is known from.
    pub sources: Sources,
}

impl FileRecord {
    /// Whether tools changed it.
    pub fn is_modified(&self) -> bool {
        self.written > 0 || self.edited > 0
    }
}

/// A command, or a call of a tool that is neither about a file nor a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRecord {
    /// The command, without what only shapes its output.
    pub command: String,
    /// Whether it is a call of another tool.
    pub is_call: bool,
    /// Times that it succeeded.
    pub succeeded: u64,
    /// Times that it failed.
    pub failed: u64,
    /// How it ended last.
    pub outcome: Outcome,
    /// The line that told best why it failed last.
    pub last_error: Option<String>,
    /// Position of its last result, or of the call where there is none.
    pub position: u64,
    /// Where it ran.
    pub sources: Sources,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded.
    Succeeded,
    /// It failed.
    Failed,
    /// Its result had not come.
    Open,
}

/// Something that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorRecord {
    /// The path or command; `None` for a request to the model.
    pub subject: Option<String>,
    /// The line that tells best why.
    pub line: String,
    /// Whether the same succeeded since.
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
    /// Times that people, models and calls named it.
    pub times: u64,
    /// Position of the last time.
    pub position: u64,
    /// Who named it.
    pub places: Places,
    /// Where it was named first and last.
    pub sources: Sources,
}

/// Where a name was used.
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

    /// A letter for each, as stored.
    fn letters(self) -> String {
        Self::LETTERS.iter().filter(|(place, _)| self.has(*place)).map(|(_, letter)| letter).collect()
    }

    /// From letters; unknown ones are passed over.
    fn from_letters(letters: &str) -> Self {
        let known = Self::LETTERS.iter().filter(|(_, letter)| letters.contains(*letter));
        known.fold(Self::default(), |places, (place, _)| places.with(*place))
    }
}

impl Ledger {
    /// Whether nothing is told.
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

    /// The notes of one kind, in order.
    pub fn notes_of(&self, kind: NoteKind) -> impl DoubleEndedIterator<Item = &Note> {
        self.notes.iter().filter(move |note| note.kind == kind)
    }

    /// Those of them that nobody took back.
    pub fn standing(&self, kind: NoteKind) -> impl DoubleEndedIterator<Item = &Note> {
        self.notes_of(kind).filter(|note| !note.is_withdrawn)
    }

    /// The lists that a summary names, as [`crate::file_operations::FileOperations::lists`] gives them.
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

    /// The paths of the files in the order of their last touch.
    pub fn last_touched(&self) -> Vec<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }

    /// What a person asked last.
    pub fn last_request(&self) -> Option<&Request> {
        self.requests.last()
    }

    /// Errors that nothing resolved.
    pub fn unresolved_errors(&self) -> impl Iterator<Item = &ErrorRecord> {
        self.errors.iter().filter(|error| !error.is_resolved)
    }
}

#[cfg(test)]
mod tests;
