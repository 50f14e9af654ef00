//! Information about a session: totals, problems, labels, its name, the tree of all entries.

use std::ops::ControlFlow;

use compaction_core::entry::{Entry, EntryBody, EntryError, EntryId, epoch_milliseconds};
use compaction_core::json;
use compaction_core::message::{Body, Message, Usage, blocks_text};
use compaction_core::undo::Mark;

use crate::error::{Diagnostic, DiagnosticKind, StoreError};
use crate::index::{Index, Label, Record, clean_name, too_long};
use crate::session::Session;
use crate::session::append::{Appended, NewEntry, Parent};

/// Counts and totals over all branches of a session, each entry once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionStats {
    /// Messages of users.
    pub user_messages: u64,
    /// Messages of assistants.
    pub assistant_messages: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// Tool results.
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    /// Compactions.
    pub compactions: u64,
    /// Branch summaries.
    pub branch_summaries: u64,
    /// Entries of every type.
    pub total_entries: u64,
    /// Entries with an unreadable body. Their usage is not included in the totals.
    pub broken_entries: u64,
    /// Tokens of answers, summaries and usage entries.
    pub tokens: TokenTotals,
    /// Cost in the currency of the price list.
    pub cost: f64,
}

/// Totals of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenTotals {
    /// Input tokens that did not come from a cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// The sum of the four.
    pub total: u64,
}

impl Session {
    /// Counts the entries of all branches. Reads every body once and keeps none.
    pub fn stats(&self) -> Result<SessionStats, StoreError> {
        let mut stats = SessionStats::default();
        // The originals of copies that an undo made were already counted. The copies follow the mark of the undo and
        // have its timestamp. Some may be missing if the write was cut off.
        let mut copies: usize = 0;
        let mut time = String::new();
        let index = self.index()?;
        self.for_each_entry(|entry| {
            let is_in_write = copies > 0;
            copies = copies.saturating_sub(1);
            match entry {
                Ok(entry) if is_in_write && entry.timestamp() == time => stats.add_copy(entry),
                Ok(entry) => {
                    let mark = Mark::of(entry).filter(|mark| index.slot(mark.undone_entry_id.as_str()).is_some());
                    copies = mark.map_or(0, |mark| mark.entries);
                    entry.timestamp().clone_into(&mut time);
                    stats.add_entry(entry);
                }
                Err(_) => stats.broken_entries += 1,
            }
            ControlFlow::Continue(())
        })?;
        stats.total_entries = self.index()?.len() as u64;
        Ok(stats)
    }
}

impl SessionStats {
    fn add_copy(&mut self, entry: &Entry) {
        let (tokens, cost) = (self.tokens, self.cost);
        self.add_entry(entry);
        (self.tokens, self.cost) = (tokens, cost);
    }

    fn add_entry(&mut self, entry: &Entry) {
        match entry.body() {
            EntryBody::Message(message) => self.add_message(message),
            EntryBody::Compaction(compaction) => {
                self.compactions += 1;
                self.add_usage(compaction.usage.as_ref());
            }
            EntryBody::BranchSummary(branch) => {
                self.branch_summaries += 1;
                self.add_usage(branch.usage.as_ref());
            }
            EntryBody::Usage(usage) => self.add_usage(usage.as_ref()),
            _ => {}
        }
    }

    fn add_message(&mut self, message: &Message) {
        self.total_messages += 1;
        self.tool_calls += message.tool_calls().count() as u64;
        match message.body() {
            Body::User { .. } => self.user_messages += 1,
            Body::ToolResult { .. } => self.tool_results += 1,
            Body::Assistant(assistant) => {
                self.assistant_messages += 1;
                self.add_usage(assistant.usage.as_ref());
            }
            _ => {}
        }
    }

    fn add_usage(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let TokenTotals { input, output, cache_read, cache_write, total } = &mut self.tokens;
        for (sum, count) in [
            (input, usage.input),
            (output, usage.output),
            (cache_read, usage.cache_read),
            (cache_write, usage.cache_write),
        ] {
            *sum = sum.saturating_add(count);
            *total = total.saturating_add(count);
        }
        self.cost += usage.cost;
    }
}

impl Session {
    /// Reads every body and returns all problems, by line. Changes nothing.
    pub fn check(&self) -> Result<Vec<Diagnostic>, StoreError> {
        let index = self.index()?;
        let mut found = index.diagnostics.clone();
        // Each compaction would walk its path to its first kept entry. With this, all of them take one walk of the tree.
        let ancestry = (!index.has_cycle).then(|| Ancestry::of(index));
        // An entry that a later one of its id replaces may be broken, too.
        for slot in 0..index.record_count() {
            let record = index.record(slot);
            self.check_encoding(&record)?.into_iter().for_each(|diagnostic| found.add(diagnostic));
            let diagnostic = match self.parse(&record) {
                Ok(_) if index.is_superseded(slot) => None,
                Ok(entry) => {
                    check_summary(&record, &entry).into_iter().for_each(|diagnostic| found.add(diagnostic));
                    self.check_first_kept(&record, &entry, ancestry.as_ref())?
                }
                Err(StoreError::BrokenEntry { id, line, source }) => {
                    let message = match source {
                        EntryError::TooLong { bytes, limit } => too_long(bytes, limit),
                        EntryError::TooManyValues { .. } => format!("the body of entry {id} is not read: {source}"),
                        _ => format!("the body of entry {id} is broken"),
                    };
                    Some(Diagnostic::new(DiagnosticKind::BrokenLine, Some(line), message))
                }
                Err(error) => return Err(error),
            };
            diagnostic.into_iter().for_each(|diagnostic| found.add(diagnostic));
        }
        found.count_unlisted();
        let mut found = found.as_slice().to_vec();
        found.sort_by(|a, b| (a.line, a.kind, &a.message).cmp(&(b.line, b.kind, &b.message)));
        found.dedup_by(|a, b| (a.line, a.kind) == (b.line, b.kind));
        Ok(found)
    }

    fn check_encoding(&self, record: &Record) -> Result<Option<Diagnostic>, StoreError> {
        if self.check_length(record).is_err() {
            return Ok(None);
        }
        let bytes = self.log.read(record.span).map_err(|source| self.read_error(source))?;
        let message = "the line holds bytes that are not UTF-8";
        let diagnostic = || Diagnostic::new(DiagnosticKind::InvalidUtf8, record.line, message);
        Ok(std::str::from_utf8(&bytes).is_err().then(diagnostic))
    }

    fn check_first_kept(
        &self,
        record: &Record,
        entry: &Entry,
        ancestry: Option<&Ancestry>,
    ) -> Result<Option<Diagnostic>, StoreError> {
        let Some(compaction) = entry.compaction() else {
            return Ok(None);
        };
        let named = compaction.first_kept_entry_id.as_ref();
        let index = self.index()?;
        let is_on_branch = |id: &EntryId| match ancestry {
            Some(ancestry) => index
                .slot(id.as_str())
                .zip(index.slot(record.id.as_str()))
                .is_some_and(|(ancestor, slot)| ancestry.is_on_path(ancestor, slot)),
            None => self.is_on_branch(id, Some(&record.id)).unwrap_or(false),
        };
        let is_known = named.is_some_and(is_on_branch);
        let shown = named.map_or("none", EntryId::as_str);
        let message = format!("compaction {} keeps nothing: its first kept entry is {shown}", record.id);
        let diagnostic = Diagnostic::new(DiagnosticKind::UnknownFirstKept, record.line, message);
        Ok((!is_known).then_some(diagnostic))
    }
}

/// A compaction without a summary: what it removed is only in the file.
fn check_summary(record: &Record, entry: &Entry) -> Option<Diagnostic> {
    let is_empty = entry.compaction()?.summary.trim().is_empty();
    let message = || format!("compaction {} has no summary", record.id);
    is_empty.then(|| Diagnostic::new(DiagnosticKind::EmptySummary, record.line, message()))
}

/// The tree of all entries as intervals: the intervals of an entry's descendants are inside its own.
struct Ancestry {
    /// By slot, how many entries a walk of the tree has entered when it enters and when it leaves the entry.
    intervals: Vec<(u32, u32)>,
}

impl Ancestry {
    /// The tree of an index without cycles.
    fn of(index: &Index) -> Self {
        let count = index.record_count();
        // Children as linked lists by slot, since most entries have one.
        let (mut first_child, mut next_sibling) = (vec![None; count], vec![None; count]);
        let mut roots = Vec::new();
        for (slot, sibling) in next_sibling.iter_mut().enumerate() {
            match index.parent_slot(slot) {
                Some(parent) => *sibling = first_child[parent].replace(slot),
                None => roots.push(slot),
            }
        }
        let mut intervals = vec![(0, 0); count];
        let mut entered = 0;
        for root in roots {
            let mut path = vec![root];
            entered += 1;
            intervals[root].0 = entered;
            while let Some(&slot) = path.last() {
                if let Some(child) = first_child[slot].take() {
                    first_child[slot] = next_sibling[child];
                    entered += 1;
                    intervals[child].0 = entered;
                    path.push(child);
                } else {
                    intervals[slot].1 = entered;
                    path.pop();
                }
            }
        }
        Self { intervals }
    }

    /// Whether `ancestor` is on the path to `slot`, including its end.
    fn is_on_path(&self, ancestor: usize, slot: usize) -> bool {
        let ((first, last), (at, _)) = (self.intervals[ancestor], self.intervals[slot]);
        (first..=last).contains(&at)
    }
}

impl Session {
    /// The label of an entry. Reads the whole of a large session.
    pub fn label(&self, id: &EntryId) -> Result<Option<&Label>, StoreError> {
        Ok(self.index()?.labels.get(id))
    }

    /// The session's name, if it has one. Reads the whole of a large session.
    pub fn name(&self) -> Result<Option<&str>, StoreError> {
        Ok(self.index()?.name.as_deref())
    }

    /// Sets the label of `target_id`, or clears it with `None` or an empty text. Appends an entry at the leaf. Fails
    /// with `EntryNotFound` and as [`Session::append`] does.
    pub fn set_label(&mut self, target_id: &EntryId, label: Option<&str>) -> Result<Appended, StoreError> {
        self.refresh_quietly()?;
        self.slot(target_id)?;
        self.append(NewEntry::new("label", &Self::label_members(target_id, label)), Parent::Leaf)
    }

    /// The members of the `label` entry that [`Session::set_label`] appends, for callers that append it with other
    /// entries.
    pub fn label_members(target_id: &EntryId, label: Option<&str>) -> String {
        let label = label.filter(|label| !label.is_empty());
        let label = label.map_or_else(String::new, |label| format!(",\"label\":{}", json::encode_string(label)));
        format!("{{\"targetId\":{}{label}}}", json::encode_string(target_id.as_str()))
    }

    /// Sets the name of the session, or removes it with an empty one. Appends an entry at the leaf. Line breaks
    /// become spaces. Fails as [`Session::append`] does.
    pub fn set_name(&mut self, name: &str) -> Result<Appended, StoreError> {
        let members = format!("{{\"name\":{}}}", json::encode_string(&clean_name(name).unwrap_or_default()));
        self.append(NewEntry::new("session_info", &members), Parent::Leaf)
    }
}

/// Maximum characters of a preview.
const PREVIEW_CHARACTERS: usize = 120;

/// One entry in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// The entry's id.
    pub id: EntryId,
    /// The stored parent, even if no entry has this id.
    pub parent_id: Option<EntryId>,
    /// The stored type.
    pub kind_name: String,
    /// The stored role, for messages.
    pub role: Option<String>,
    /// Its text on one line of at most 120 characters.
    pub preview: String,
    /// Its label.
    pub label: Option<String>,
    /// The stored timestamp.
    pub timestamp: String,
    /// Ids of its children, the oldest timestamp first, and equal ones in file order.
    pub children: Vec<EntryId>,
}

impl Session {
    /// All entries in file order. Reads every body for its preview; a broken one has none.
    pub fn tree(&self) -> Result<Vec<TreeNode>, StoreError> {
        self.tree_nodes()?.collect()
    }

    /// The same entries. Each body is read when its node is asked for.
    pub fn tree_nodes(&self) -> Result<impl Iterator<Item = Result<TreeNode, StoreError>>, StoreError> {
        let index = self.index()?;
        let children = Children::of(index);
        Ok(index.current_from(0).map(move |slot| {
            let record = index.record(slot);
            let entry = self.entry_or_header(&record)?;
            Ok(TreeNode {
                label: index.labels.get(&record.id).map(|label| label.text.clone()),
                kind_name: entry.kind_name().to_owned(),
                role: entry.message().map(|message| message.role().to_owned()),
                preview: preview(&entry),
                timestamp: entry.timestamp().to_owned(),
                children: self.children(index, &children, slot)?,
                id: record.id,
                parent_id: record.parent_id,
            })
        }))
    }

    /// The ids of the children, oldest first. An unreadable time counts as the oldest.
    fn children(&self, index: &Index, children: &Children, slot: usize) -> Result<Vec<EntryId>, StoreError> {
        let mut found: Vec<(Option<i64>, usize)> = children.of_slot(slot).map(|child| (None, child)).collect();
        if found.len() > 1 {
            for (time, child) in &mut found {
                *time = epoch_milliseconds(self.entry_or_header(&index.record(*child))?.timestamp());
            }
            found.sort_by_key(|(time, _)| *time);
        }
        Ok(found.into_iter().map(|(_, child)| index.id(child)).collect())
    }
}

/// The children of the current entries by slot, as linked lists in file order, since most entries have one.
struct Children {
    first: Vec<u32>,
    next: Vec<u32>,
}

impl Children {
    /// The end of a list. No index has so many slots.
    const NONE: u32 = u32::MAX;

    fn of(index: &Index) -> Self {
        let count = index.record_count();
        let mut children = Self { first: vec![Self::NONE; count], next: vec![Self::NONE; count] };
        for slot in (0..count).rev().filter(|slot| !index.is_superseded(*slot)) {
            if let (Some(parent), Ok(child)) = (index.parent_slot(slot), u32::try_from(slot)) {
                children.next[slot] = std::mem::replace(&mut children.first[parent], child);
            }
        }
        children
    }

    fn of_slot(&self, slot: usize) -> impl Iterator<Item = usize> {
        let some = |slot: u32| (slot != Self::NONE).then_some(slot as usize);
        std::iter::successors(some(self.first[slot]), move |child| some(self.next[*child]))
    }
}

fn preview(entry: &Entry) -> String {
    let text = match entry.body() {
        EntryBody::Message(message) | EntryBody::CustomMessage(message) => message_text(message),
        EntryBody::Compaction(compaction) => compaction.summary.clone(),
        EntryBody::BranchSummary(branch) => branch.summary.clone(),
        EntryBody::Custom { custom_type, .. } => custom_type.clone(),
        EntryBody::Label { label, .. } => label.clone().unwrap_or_default(),
        EntryBody::ModelChange { provider, model_id } => format!("{provider}/{model_id}"),
        EntryBody::ThinkingLevelChange { thinking_level } => thinking_level.clone(),
        EntryBody::SessionInfo { name } => name.clone().unwrap_or_default(),
        EntryBody::ContextEdit { target_id, .. } => target_id.to_string(),
        EntryBody::Usage(_) | EntryBody::Other => String::new(),
    };
    one_line(&text, PREVIEW_CHARACTERS)
}

fn message_text(message: &Message) -> String {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => {
            content.text(" ").into_owned()
        }
        Body::Assistant(assistant) => {
            let text = blocks_text(&assistant.content, " ");
            let calls = message.tool_calls().map(|call| format!("[{}]", call.name));
            [text.into_owned()].into_iter().filter(|text| !text.is_empty()).chain(calls).collect::<Vec<_>>().join(" ")
        }
        Body::BashExecution(execution) => format!("$ {}", execution.command),
        Body::System(system) => system.content.text(" ").into_owned(),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => summary.clone(),
        Body::Other { .. } => String::new(),
    }
}

/// At most `limit` characters of `text` on one line. A run of white space and control characters becomes one space.
pub(crate) fn one_line(text: &str, limit: usize) -> String {
    let is_break = |character: char| character.is_whitespace() || character.is_control();
    let mut out = String::new();
    let mut count = 0;
    for word in text.split(is_break).filter(|word| !word.is_empty()) {
        if count > 0 {
            out.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count >= limit {
                out.push('…');
                return out;
            }
            out.push(character);
            count += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previews_are_short_and_on_one_line() {
        assert_eq!(one_line("  a\n\tb\u{1b} c ", 10), "a b c");
        assert_eq!(one_line("äöü xyz", 5), "äöü x…");
        assert_eq!(one_line("abc", 3), "abc");
        assert_eq!(one_line(&"x".repeat(1 << 20), 5), "xxxxx…");
    }
}
