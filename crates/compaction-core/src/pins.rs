//! Pins: entries that every compaction keeps verbatim.
//!
//! A pin is a `custom` entry on the branch. It belongs to the branch, survives a restart, and other
//! programs ignore it. A compaction writes the pinned entries that it evicts after its summary, always
//! from the entries themselves, never from an earlier copy.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::entry::{Entry, EntryBody, EntryHeader, EntryId, EntryKind, Replacement, Role};
use crate::entry_text::message_text;
use crate::json::{self, Json};
use crate::message::Body;
use crate::projection::{Branch, PathState};
use crate::summary::start_of_file_blocks;
use crate::text::estimate_text;

/// Custom type of entries that pin or unpin an entry.
pub const PIN: &str = "compactd.pin";

const OPEN: &str = "<pinned-entries>";
const CLOSE: &str = "</pinned-entries>";

/// A pinned entry in the form for a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedEntry {
    /// The entry.
    pub entry_id: EntryId,
    /// Its distance from the leaf, in entries.
    pub depth: usize,
    /// Role of its message in a context.
    pub role: String,
    /// Its text with the last edit applied; empty if the edit hides it.
    pub text: String,
    /// Estimated tokens in a summary.
    pub tokens: u64,
}

/// The pinned entries of a branch, root first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pins {
    entries: Vec<PinnedEntry>,
}

impl Pins {
    /// Finds the pinned entries of `branch`. The last pin or unpin of an entry on the branch counts.
    /// Reads headers up to a compaction that lists earlier pins, then on to the pinned entries, and the
    /// bodies of pins, edits and pinned entries.
    pub fn of<B: Branch>(branch: B) -> Result<Self, B::Error> {
        Self::of_long(branch, usize::MAX, || Ok(true))
    }

    /// As [`Pins::of`], for a branch that is slow to read beyond its last `near` entries. If these do not list the
    /// earlier pins, the rest is read only if `may_have_pins` returns true for the whole branch.
    pub fn of_long<B: Branch>(
        mut branch: B,
        near: usize,
        may_have_pins: impl FnOnce() -> Result<bool, B::Error>,
    ) -> Result<Self, B::Error> {
        let mut search = Search::default();
        let mut entries = Vec::new();
        let mut depth = 0;
        let mut may_have_pins = Some(may_have_pins);
        while !search.is_over() {
            if depth >= near
                && !search.has_earlier_pins
                && let Some(may_have_pins) = may_have_pins.take()
                && !may_have_pins()?
            {
                break;
            }
            let Some(header) = branch.header(depth)? else { break };
            if search.wants(&header) {
                search.record(&*branch.entry(depth)?);
            } else if search.open.remove(&header.id) && may_be_pinned(&header) {
                let entry = branch.entry(depth)?;
                entries.extend(PinnedEntry::of(&entry, depth, search.edits.get(&header.id)));
            }
            depth += 1;
        }
        entries.reverse();
        Ok(Self { entries })
    }

    /// The ids of the pinned entries, root first.
    pub fn ids(&self) -> Vec<EntryId> {
        self.entries.iter().map(|pinned| pinned.entry_id.clone()).collect()
    }

    /// The pinned entries, root first.
    pub fn entries(&self) -> &[PinnedEntry] {
        &self.entries
    }

    /// Whether an entry is pinned.
    pub fn contain(&self, id: &EntryId) -> bool {
        self.entries.iter().any(|pinned| pinned.entry_id == *id)
    }

    /// Estimated tokens of all pinned entries in a summary.
    pub fn tokens(&self) -> u64 {
        self.entries.iter().map(|pinned| pinned.tokens).sum()
    }

    /// The pinned entries that a compaction evicts if it keeps the entries from `first_kept_depth` on;
    /// all of them with `None`.
    pub fn evicted(&self, first_kept_depth: Option<usize>) -> impl Iterator<Item = &PinnedEntry> {
        let is_evicted = move |pinned: &&PinnedEntry| first_kept_depth.is_none_or(|depth| pinned.depth > depth);
        self.entries.iter().filter(is_evicted)
    }
}

impl PinnedEntry {
    /// `entry` in the form for a summary. `None` if it cannot be pinned: it contributes no message of
    /// the conversation, or one without text.
    pub fn of(entry: &Entry, depth: usize, edit: Option<&Replacement>) -> Option<Self> {
        let message = entry.context_messages().pop().filter(|_| may_be_pinned(entry.header()))?;
        if matches!(message.body(), Body::BashExecution(bash) if bash.exclude_from_context) {
            return None;
        }
        let original = message_text(&message);
        if original.trim().is_empty() {
            return None;
        }
        let text = match edit {
            Some(Replacement::Hidden) => String::new(),
            Some(Replacement::Content(content)) => message_text(&message.with_content(content)),
            Some(Replacement::Invalid) | None => original,
        };
        let mut pinned = Self { entry_id: entry.id().clone(), depth, role: message.role().to_owned(), text, tokens: 0 };
        pinned.tokens = estimate_text(&pinned.shown());
        Some(pinned)
    }

    /// A line with id and role, and the text below it. Only a closing tag inside the text is changed,
    /// to `<\/pinned-entries`, so that it cannot end the block.
    fn shown(&self) -> String {
        if self.text.is_empty() {
            return String::new();
        }
        format!("[{} {}]\n{}", self.entry_id, self.role, self.shown_text())
    }

    fn shown_text(&self) -> String {
        self.text.replace("</pinned-entries", "<\\/pinned-entries")
    }

    /// Whether `summary` contains the whole text verbatim.
    pub fn is_in(&self, summary: &str) -> bool {
        summary.contains(&self.text) || summary.contains(&self.shown_text())
    }
}

/// The members of the `custom` entry that pins or unpins an entry.
pub fn pin_members(entry_id: &EntryId, pinned: bool) -> String {
    let id = json::encode_string(entry_id.as_str());
    format!("{{\"customType\":\"{PIN}\",\"data\":{{\"entryId\":{id},\"pinned\":{pinned}}}}}")
}

/// Adds a block with `pinned` after the text of `summary` and before its file blocks. Returns the
/// same text if there are no pinned entries.
pub fn add_pinned_entries<'a>(summary: &str, pinned: impl IntoIterator<Item = &'a PinnedEntry>) -> String {
    let shown: Vec<String> = pinned.into_iter().map(PinnedEntry::shown).filter(|shown| !shown.is_empty()).collect();
    if shown.is_empty() {
        return summary.to_owned();
    }
    let (text, files) = summary.split_at(start_of_file_blocks(summary));
    let (text, files) = (text.trim_end(), files.trim_start());
    let gap = if files.is_empty() { "" } else { "\n\n" };
    format!("{text}\n\n{OPEN}\n{}\n{CLOSE}{gap}{files}", shown.join("\n\n"))
}

/// `text` without blocks of pinned entries of any author; the same text if it has no such block. If a tag is
/// unmatched, only the tag is removed.
pub fn remove_pinned_entries(text: &str) -> Cow<'_, str> {
    without_blocks(text, |_| true)
}

/// As [`remove_pinned_entries`], for the text of a model, which invents its blocks. A block with a heading surrounds
/// the summary itself, so only its tags are removed.
pub fn remove_made_up_pins(text: &str) -> Cow<'_, str> {
    without_blocks(text, |block| !block.iter().any(|line| line.starts_with("## ")))
}

fn without_blocks(text: &str, is_removed: impl Fn(&[&str]) -> bool) -> Cow<'_, str> {
    let is_tag = |line: &str| matches!(line.trim_end(), OPEN | CLOSE);
    if !text.lines().any(is_tag) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().collect();
    let last_close = lines.iter().rposition(|line| line.trim_end() == CLOSE);
    let mut kept: Vec<&str> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.trim_end() == OPEN && last_close.is_some_and(|close| close > at) {
            let length = lines[at..].iter().position(|line| line.trim_end() == CLOSE).unwrap_or_default();
            let block = &lines[at..at + length];
            if !is_removed(block) {
                kept.extend(block.iter().filter(|line| !is_tag(line)));
            }
            at += length + 1;
            continue;
        }
        // One of the two blank lines around a removed block is dropped.
        let is_gap = line.is_empty() && at > 0 && lines[at - 1].trim_end() == CLOSE && kept.last() == Some(&"");
        if !is_gap && !is_tag(line) {
            kept.push(line);
        }
        at += 1;
    }
    Cow::Owned(kept.join("\n").trim_end().to_owned())
}

fn may_be_pinned(header: &EntryHeader) -> bool {
    match header.kind {
        EntryKind::CustomMessage | EntryKind::BranchSummary => true,
        EntryKind::Message => !matches!(header.role, Some(Role::System | Role::Other) | None),
        _ => false,
    }
}

/// State of the walk from the leaf.
#[derive(Debug, Default)]
struct Search {
    /// The last pin or unpin of each entry.
    pinned: HashMap<EntryId, bool>,
    /// Pinned entries that the walk has not reached.
    open: HashSet<EntryId>,
    /// The last edit of each entry.
    edits: HashMap<EntryId, Replacement>,
    /// Whether a compaction has listed the earlier pins, so that older pins no longer count.
    has_earlier_pins: bool,
}

impl Search {
    fn is_over(&self) -> bool {
        self.has_earlier_pins && self.open.is_empty()
    }

    /// Whether the entry's body may concern pins.
    fn wants(&self, header: &EntryHeader) -> bool {
        match header.kind {
            EntryKind::ContextEdit => true,
            EntryKind::Custom | EntryKind::Compaction => !self.has_earlier_pins,
            _ => false,
        }
    }

    /// Records an entry unless a later one takes precedence.
    fn record(&mut self, entry: &Entry) {
        match entry.body() {
            EntryBody::Custom { custom_type, data: Some(data) } if custom_type == PIN => {
                let Ok(data) = Json::parse(data.get()) else { return };
                let is_pinned = data.get("pinned").and_then(Json::as_bool);
                if let (Some(id), Some(is_pinned)) = (data.get("entryId").and_then(Json::as_str), is_pinned) {
                    self.record_pin(EntryId::new(id), is_pinned);
                }
            }
            EntryBody::ContextEdit { target_id, replacement } => {
                self.edits.entry(target_id.clone()).or_insert_with(|| replacement.clone());
            }
            EntryBody::Compaction(_) => {
                if let Some(pinned) = PathState::before(entry).and_then(|state| state.pinned) {
                    pinned.into_iter().for_each(|id| self.record_pin(id, true));
                    self.has_earlier_pins = true;
                }
            }
            _ => {}
        }
    }

    fn record_pin(&mut self, id: EntryId, is_pinned: bool) {
        if !self.pinned.contains_key(&id) {
            if is_pinned {
                self.open.insert(id.clone());
            }
            self.pinned.insert(id, is_pinned);
        }
    }
}
