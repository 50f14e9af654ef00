//! What was odd about a session and was gone on from.

use std::collections::{HashMap, HashSet};

/// Diagnostics of one kind that are kept; further ones are counted.
const MAX_OF_KIND: usize = 1000;

/// Something odd in a session. No bytes are dropped because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// What it is.
    pub kind: DiagnosticKind,
    /// The line of the file, counted from 1, where one line is at fault.
    pub line: Option<usize>,
    /// What a person needs to know, with ids.
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn new(kind: DiagnosticKind, line: Option<usize>, message: impl Into<String>) -> Self {
        Self { kind, line, message: message.into() }
    }

    /// Whether it is about the file, whatever its lines are.
    pub(crate) fn concerns_file(&self) -> bool {
        matches!(self.kind, DiagnosticKind::UnwritableFile | DiagnosticKind::LockUnavailable)
    }
}

/// Diagnostics in the order in which they were come across, each kind once per line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diagnostics {
    list: Vec<Diagnostic>,
    seen: HashSet<(DiagnosticKind, Option<usize>)>,
    /// How many of each kind there are.
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

    /// Counts a diagnostic of which no more are kept; `false` if it is to be added.
    pub(crate) fn count_only(&mut self, kind: DiagnosticKind, line: usize) -> bool {
        let count = self.counts.entry(kind).or_default();
        let is_full = *count >= MAX_OF_KIND;
        *count += usize::from(is_full && !self.seen.contains(&(kind, Some(line))));
        is_full
    }

    /// States how many diagnostics of each kind are not listed. Call this once many were added.
    pub(crate) fn settle(&mut self) {
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
        // `settle` states anew how many are not listed.
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
    NewerVersion "newerVersion" "The file is of a newer version and is open for reading alone.",
    UnknownFirstKept "unknownFirstKept" "A compaction names a first kept entry that is not on its branch.",
    UnwritableFile "unwritableFile" "The file cannot be written and is open for reading alone.",
    LockUnavailable "lockUnavailable" "The file system has no locks; other writers are not kept out.",
}
