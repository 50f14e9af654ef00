//! Errors of the store, and diagnostics: problems in a session that do not stop it from being read.

use std::collections::{HashMap, HashSet};
use std::io;

use compaction_core::entry::{EntryError, EntryId};

use crate::log::Locator;

/// An error of the store. Messages complete the phrase "failed to …".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no session at this locator.
    #[error("find a session at {locator}")]
    SessionNotFound {
        /// The locator that was asked for.
        locator: Locator,
    },
    /// The session has no entry with this id.
    #[error("find entry {id}")]
    EntryNotFound {
        /// The id that was asked for.
        id: EntryId,
    },
    /// The header of this entry's line can be read, its body cannot.
    #[error("read entry {id} in line {line}")]
    BrokenEntry {
        /// The entry.
        id: EntryId,
        /// Its line, counted from 1.
        line: usize,
        /// What is wrong with it.
        source: EntryError,
    },
    /// Another process has the session open for writing.
    #[error("lock {locator}: it is open in {}", holder(*pid, host.as_deref()))]
    Locked {
        /// The session's place.
        locator: Locator,
        /// The process id of the holder, if it is known.
        pid: Option<u32>,
        /// The machine of the holder, if it is known.
        host: Option<String>,
    },
    /// The file or address is not a session. It was not changed.
    #[error("read {locator} as a session: {reason}")]
    NotASession {
        /// The place.
        locator: Locator,
        /// Why it is not a session.
        reason: String,
    },
    /// A write failed and was undone; nothing was changed.
    #[error("write {}", shown(locator.as_ref()))]
    WriteFailed {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
        /// What the system said.
        source: io::Error,
    },
    /// The leaf is not the one that the caller expected. Nothing was written.
    #[error("write at leaf {}: the leaf is {}", id_or_root(expected.as_ref()), id_or_root(actual.as_ref()))]
    LeafMoved {
        /// The leaf that the caller expected.
        expected: Option<EntryId>,
        /// The leaf.
        actual: Option<EntryId>,
    },
    /// The session is read-only.
    #[error("write {}: {reason}", shown(locator.as_ref()))]
    ReadOnly {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
        /// Why it cannot be written.
        reason: String,
    },
    /// A session id that breaks the rules for ids (docs/session-format.md, "Ids").
    #[error("use the session id {id:?}: only letters, digits and inner '.', '_', '-' are allowed")]
    InvalidSessionId {
        /// The id.
        id: String,
    },
    /// The members of a new entry are not a JSON object, or its id is taken.
    #[error("write an entry: {reason}")]
    InvalidEntry {
        /// What is wrong.
        reason: String,
    },
    /// Something exists at the locator of the new session. It was not changed.
    #[error("create {locator}: it exists")]
    AlreadyExists {
        /// The place.
        locator: Locator,
    },
    /// The text is not a locator of this store.
    #[error("find a session: {text:?} is not {expected}")]
    InvalidLocator {
        /// The start of the text.
        text: String,
        /// What the store accepts, and what is wrong with the text.
        expected: String,
    },
    /// Another writer holds the lease now. Nothing was written. The session can still be read, or opened again for
    /// writing.
    #[error("write {}: {reason}", shown(locator.as_ref()))]
    LeaseLost {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
        /// What is known of the other writer.
        reason: String,
    },
    /// The connection to the store broke during a write, and it is not known whether the write took place. The next
    /// read of the session shows it.
    #[error("write {}: whether it took place is not known before the session is read again", shown(locator.as_ref()))]
    WriteUnconfirmed {
        /// The session's place; `None` for a session in memory.
        locator: Option<Locator>,
        /// What broke the connection.
        source: io::Error,
    },
    /// Another session of the directory has the id that was chosen for a new one. Nothing was written.
    #[error("create a session with the id {id}: {locator} has it")]
    SessionIdTaken {
        /// The id.
        id: String,
        /// The session with this id.
        locator: Locator,
    },
    /// The entries need more memory than there is.
    #[error("hold {entries} entries: their {bytes} bytes leave too little memory for the next ones")]
    OutOfMemory {
        /// Number of entries in memory.
        entries: usize,
        /// Their bytes, about.
        bytes: u64,
    },
    /// An operation other than a write failed.
    #[error("{action} {}", shown(locator.as_ref()))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The session's place, or one that holds sessions; `None` for a session in memory.
        locator: Option<Locator>,
        /// What the system said.
        source: io::Error,
    },
}

/// Whether an error from looking up a path says that it leads to no file: nothing is there, a part of it is not a
/// directory, or its links form a loop.
pub(crate) fn leads_nowhere(error: &io::Error) -> bool {
    let is_loop = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_loop || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

impl StoreError {
    /// The error for `source`. An interface that only has errors of the system may have wrapped an error of the store
    /// in it. `locator` is `None` for a session in memory.
    pub(crate) fn io(action: &'static str, locator: Option<impl Into<Locator>>, source: io::Error) -> Self {
        let source = match source.downcast::<Self>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        match locator.map(Into::into) {
            Some(locator) if leads_nowhere(&source) => Self::SessionNotFound { locator },
            locator => Self::Io { action, locator, source },
        }
    }

    pub(crate) fn write(locator: Option<impl Into<Locator>>, source: io::Error) -> Self {
        Self::WriteFailed { locator: locator.map(Into::into), source }
    }
}

fn shown(locator: Option<&Locator>) -> String {
    locator.map_or_else(|| "a session in memory".to_owned(), Locator::to_string)
}

fn holder(pid: Option<u32>, host: Option<&str>) -> String {
    let process = pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"));
    host.map_or_else(|| process.clone(), |host| format!("{process} on {host}"))
}

fn id_or_root(id: Option<&EntryId>) -> &str {
    id.map_or("root", EntryId::as_str)
}

/// Number of diagnostics of one kind that are listed. Further ones are counted.
const MAX_OF_KIND: usize = 1000;

/// A problem in a session. No bytes are dropped because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What it is.
    pub kind: DiagnosticKind,
    /// The line of the file, counted from 1, if one line is the cause.
    pub line: Option<usize>,
    /// A message for people, with ids.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn new(kind: DiagnosticKind, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { kind, line, message: message.into() }
    }

    /// Whether the problem concerns the file and not its lines.
    pub(crate) fn concerns_file(&self) -> bool {
        matches!(self.kind, DiagnosticKind::UnwritableFile | DiagnosticKind::LockUnavailable)
    }
}

/// Diagnostics in the order of their discovery, each kind once per line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    seen: HashSet<(DiagnosticKind, Option<usize>)>,
    /// Number of diagnostics of each kind, listed or not.
    counts: HashMap<DiagnosticKind, usize>,
}

impl Diagnostics {
    pub(crate) fn add(&mut self, diagnostic: Diagnostic) {
        let count = self.counts.entry(diagnostic.kind).or_default();
        let is_new = !self.seen.contains(&(diagnostic.kind, diagnostic.line));
        *count += usize::from(is_new);
        if is_new && *count <= MAX_OF_KIND {
            self.seen.insert((diagnostic.kind, diagnostic.line));
            self.list.push(diagnostic);
        }
    }

    /// Counts a diagnostic whose kind is full. Returns `false` if the kind is not full, so that the caller adds it.
    pub(crate) fn count_only(&mut self, kind: DiagnosticKind, line: usize) -> bool {
        let count = self.counts.entry(kind).or_default();
        let is_full = *count >= MAX_OF_KIND;
        *count += usize::from(is_full && !self.seen.contains(&(kind, Some(line))));
        is_full
    }

    /// States how many diagnostics of each kind are not listed. Call this once many were added.
    pub(crate) fn count_unlisted(&mut self) {
        for (&kind, &count) in &self.counts {
            let is_rest = |listed: &Diagnostic| listed.kind == kind && listed.line.is_none();
            let listed = self.list.iter().filter(|listed| listed.kind == kind && !is_rest(listed)).count();
            let message = format!("{} more of this kind are not listed", count.saturating_sub(listed));
            match self.list.iter_mut().find(|listed| is_rest(listed)) {
                Some(rest) if count > MAX_OF_KIND => rest.message = message,
                None if count > MAX_OF_KIND => self.list.push(Diagnostic::new(kind, None, message)),
                _ => {}
            }
        }
    }

    /// Drops `count` diagnostics of a kind, listed or not. The listed ones among them are on lines that `is_over`
    /// accepts.
    pub(crate) fn remove(&mut self, kind: DiagnosticKind, count: usize, is_over: impl Fn(usize) -> bool) {
        if let Some(kept) = self.counts.get_mut(&kind) {
            *kept = kept.saturating_sub(count);
        }
        // `count_unlisted` recounts how many are not listed.
        let is_over = |of: DiagnosticKind, line: Option<usize>| of == kind && line.is_none_or(&is_over);
        self.list.retain(|listed| !is_over(listed.kind, listed.line));
        self.seen.retain(|(of, line)| !is_over(*of, *line));
    }

    /// Drops all diagnostics of a kind.
    pub(crate) fn remove_kind(&mut self, kind: DiagnosticKind) {
        if self.list.iter().any(|diagnostic| diagnostic.kind == kind) {
            self.list.retain(|diagnostic| diagnostic.kind != kind);
            self.seen.retain(|(seen, _)| *seen != kind);
            self.counts.remove(&kind);
        }
    }

    pub(crate) fn as_slice(&self) -> &[Diagnostic] {
        &self.list
    }
}

macro_rules! diagnostic_kinds {
    ($($variant:ident $name:literal $doc:literal),* $(,)?) => {
        /// Kinds of diagnostics.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum DiagnosticKind {
            $(#[doc = $doc] $variant,)*
        }

        impl DiagnosticKind {
            /// The kind's name on the wire.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

diagnostic_kinds! {
    BrokenLine "brokenLine" "A line, or the body of its entry, is broken JSON.",
    TornLastLine "tornLastLine" "The last line has no end and is broken: a write was cut off.",
    InvalidUtf8 "invalidUtf8" "A line holds bytes that are not UTF-8; they are read as U+FFFD.",
    MissingId "missingId" "An entry has no id, so that nothing can refer to it.",
    DuplicateId "duplicateId" "Two entries have one id; the later one counts.",
    MissingParent "missingParent" "An entry names no parent, or one that is not in the file; its branch ends there.",
    Cycle "cycle" "Entries are their own ancestors; a branch ends where it would repeat.",
    SecondHeader "secondHeader" "A header that is not the first line.",
    NewerVersion "newerVersion" "The file is of a newer version and is read-only.",
    UnknownFirstKept "unknownFirstKept" "A compaction names a first kept entry that is not on its branch.",
    EmptySummary "emptySummary" "A compaction has no summary; nothing in the context stands for what it removed.",
    UnwritableFile "unwritableFile" "The file cannot be written and is read-only.",
    LockUnavailable "lockUnavailable" "The file system has no locks; other writers are not kept out.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_is_counted_until_it_is_removed() {
        let mut diagnostics = Diagnostics::default();
        let kind = DiagnosticKind::MissingParent;
        let shown = |diagnostics: &Diagnostics| {
            let rest = diagnostics.as_slice().iter().find(|listed| listed.line.is_none());
            (diagnostics.as_slice().len(), rest.map(|rest| rest.message.clone()))
        };
        for line in 1..=MAX_OF_KIND + 200 {
            if !diagnostics.count_only(kind, line) {
                diagnostics.add(Diagnostic::new(kind, Some(line), ""));
            }
        }
        diagnostics.count_unlisted();
        assert_eq!(shown(&diagnostics), (1001, Some("200 more of this kind are not listed".to_owned())));
        // One line stays: its problem is another one.
        diagnostics.remove(kind, MAX_OF_KIND + 199, |line| line != 7);
        diagnostics.count_unlisted();
        assert_eq!(shown(&diagnostics), (1, None));
        diagnostics.add(Diagnostic::new(kind, Some(1), ""));
        assert_eq!(shown(&diagnostics), (2, None));
    }
}
