//! Paths between entries, and the tree of all.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryBody, EntryHeader, EntryId, EntryKind, epoch_milliseconds};
use compaction_core::message::{Body, Message, blocks_text};
use compaction_core::projection::Branch;

use crate::diagnostic::{Diagnostic, DiagnosticKind};
use crate::error::StoreError;
use crate::index::{Index, Record};
use crate::session::Session;
use crate::session::known::Slot;

/// What is odd about one path is told up to this many times.
const MAX_DIAGNOSTICS: usize = 1000;

/// A path, seen from its leaf, that reads headers from the index and bodies when they are asked
/// for. It ends at a missing parent and where it would repeat, and says so.
///
/// Project `&mut branch` to keep the diagnostics.
#[derive(Debug)]
pub struct SessionBranch<'a> {
    session: &'a Session,
    walk: Walk<'a>,
    /// Places of the entries that were walked over, the leaf first.
    walked: Vec<Slot>,
    diagnostics: Vec<Diagnostic>,
    /// Whether a broken body came up where only the end of the session is known. If an entry further
    /// up has the same id, that one counts.
    is_doubtful: bool,
}

impl SessionBranch<'_> {
    /// What was odd about the part of the path that was read so far.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    fn record_at(&mut self, depth: usize) -> Result<Option<Record>, StoreError> {
        while self.walked.len() <= depth {
            match self.walk.step()? {
                Some(slot) => self.walked.push(slot),
                None => {
                    self.report_end()?;
                    return Ok(None);
                }
            }
        }
        self.session.record(self.walked[depth]).map(Some)
    }

    fn report_end(&mut self) -> Result<(), StoreError> {
        if let Some(diagnostic) = self.walk.end()? {
            self.report(diagnostic);
        }
        Ok(())
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS && !self.diagnostics.contains(&diagnostic) {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Whether only the whole index tells what lies on the path.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    fn report_broken(&mut self, id: &EntryId, line: usize) {
        let message = format!("the body of entry {id} is broken; the context does without it");
        self.report(Diagnostic::new(DiagnosticKind::BrokenLine, Some(line), message));
    }
}

impl Branch for SessionBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        let Some(record) = self.record_at(depth)? else {
            return Ok(None);
        };
        let mut header = record.header();
        // A compaction that cannot be read must not hide what lies before it.
        if header.kind == EntryKind::Compaction && self.entry(depth)?.kind() != EntryKind::Compaction {
            header.kind = EntryKind::Other;
        }
        Ok(Some(header))
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        let record = self.session.record(self.walked[depth])?;
        match self.session.entry_of(&record) {
            Err(StoreError::BrokenEntry { id, line, .. }) => {
                self.is_doubtful |= record.line.is_none();
                self.report_broken(&id, line);
                self.session.stand_in(&record).map(Arc::new)
            }
            outcome => outcome,
        }
    }
}

impl Branch for &mut SessionBranch<'_> {
    type Error = StoreError;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, StoreError> {
        (**self).header(depth)
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, StoreError> {
        (**self).entry(depth)
    }
}

impl Session {
    /// The path from `leaf` to its root; `None` is the empty path before the first entry. The leaf
    /// of the session is [`Session::leaf_id`].
    ///
    /// Fails with `EntryNotFound`.
    pub fn branch(&self, leaf: Option<&EntryId>) -> Result<SessionBranch<'_>, StoreError> {
        Ok(SessionBranch {
            session: self,
            walk: self.walk(leaf)?,
            walked: Vec::new(),
            diagnostics: Vec::new(),
            is_doubtful: false,
        })
    }

    /// The entries of the path to `leaf`, root first; broken ones as in [`Session::entries`].
    pub fn branch_entries(&self, leaf: Option<&EntryId>) -> Result<Vec<Arc<Entry>>, StoreError> {
        self.branch_slots(leaf)?.into_iter().map(|slot| self.entry_or_header(&self.record(slot)?)).collect()
    }

    /// The ids of the path to `leaf`, root first. Reads no bodies.
    pub fn branch_ids(&self, leaf: Option<&EntryId>) -> Result<Vec<EntryId>, StoreError> {
        let slots = self.branch_slots(leaf)?;
        slots.into_iter().map(|slot| self.record(slot).map(|record| record.id)).collect()
    }

    /// Whether `id` lies on the path to `leaf`, the leaf included. Fails with `EntryNotFound` for
    /// the leaf.
    pub fn is_on_branch(&self, id: &EntryId, leaf: Option<&EntryId>) -> Result<bool, StoreError> {
        let Some(wanted) = self.find(id)? else {
            return Ok(false);
        };
        let wanted = self.offset(wanted)?;
        let mut walk = self.walk(leaf)?;
        while let Some(slot) = walk.step()? {
            let offset = self.offset(slot)?;
            if offset == wanted {
                return Ok(true);
            }
            if offset < wanted && self.is_ordered() {
                // It lies behind all that is still to come.
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Whether every entry lies behind its parent. At the end of a session all do.
    fn is_ordered(&self) -> bool {
        self.known.get().is_none_or(Index::is_ordered)
    }

    /// The deepest entry that lies on the paths to both leaves; `None` if they share nothing. Fails
    /// with `EntryNotFound`.
    pub fn common_ancestor(&self, a: Option<&EntryId>, b: Option<&EntryId>) -> Result<Option<EntryId>, StoreError> {
        let mut path = HashSet::new();
        for slot in self.branch_slots(a)? {
            path.insert(self.offset(slot)?);
        }
        let mut walk = self.walk(b)?;
        while let Some(slot) = walk.step()? {
            if path.contains(&self.offset(slot)?) {
                return Ok(Some(self.record(slot)?.id));
            }
        }
        Ok(None)
    }

    /// Places of the path to `leaf`, root first.
    pub(crate) fn branch_slots(&self, leaf: Option<&EntryId>) -> Result<Vec<Slot>, StoreError> {
        let mut slots = Vec::new();
        let mut walk = self.walk(leaf)?;
        while let Some(slot) = walk.step()? {
            slots.push(slot);
        }
        slots.reverse();
        Ok(slots)
    }

    fn walk(&self, leaf: Option<&EntryId>) -> Result<Walk<'_>, StoreError> {
        let first = leaf.map(|leaf| self.slot(leaf)).transpose()?;
        Ok(Walk { session: self, first, last: None, steps: 0, repeats: false, seen: HashSet::new() })
    }

    fn offset(&self, slot: Slot) -> Result<u64, StoreError> {
        match slot {
            Slot::Whole(slot) => Ok(self.index()?.offset(slot)),
            Slot::Tail(_) => Ok(self.record(slot)?.span.offset),
        }
    }
}

/// Walks from a leaf to the root, over each entry once. No more of the session is read than the
/// steps need.
#[derive(Debug)]
struct Walk<'a> {
    session: &'a Session,
    first: Option<Slot>,
    last: Option<Slot>,
    steps: usize,
    /// Whether the walk has come back to where it was.
    repeats: bool,
    /// Kept only where the file has cycles.
    seen: HashSet<usize>,
}

impl Walk<'_> {
    /// The next entry; `None` at the end of the path.
    fn step(&mut self) -> Result<Option<Slot>, StoreError> {
        let next = match self.last {
            Some(last) => self.session.parent(last)?,
            None => self.first,
        };
        let Some(slot) = next.filter(|_| !self.repeats) else {
            return Ok(None);
        };
        self.repeats = self.has_seen(slot)?;
        if self.repeats {
            return Ok(None);
        }
        self.last = Some(slot);
        self.steps += 1;
        Ok(Some(slot))
    }

    /// Notes the entry where the file has cycles. The end of a session has none.
    fn has_seen(&mut self, slot: Slot) -> Result<bool, StoreError> {
        let Slot::Whole(slot) = slot else {
            return Ok(false);
        };
        let index = self.session.index()?;
        if !index.has_cycle {
            return Ok(false);
        }
        if let (Some(Slot::Tail(_)), Some(first)) = (self.last, self.first) {
            let mut next = index.slot(self.session.record(first)?.id.as_str());
            for _ in 0..self.steps {
                self.seen.extend(next);
                next = next.and_then(|slot| index.parent_slot(slot));
            }
        }
        Ok(!self.seen.insert(slot))
    }

    /// Why the path ended where it did, if that is not at a root.
    fn end(&self) -> Result<Option<Diagnostic>, StoreError> {
        let Some(record) = self.last.map(|last| self.session.record(last)).transpose()? else {
            return Ok(None);
        };
        let Some(parent_id) = &record.parent_id else {
            return Ok(None);
        };
        let (kind, what) = if self.repeats {
            (DiagnosticKind::Cycle, "is its own ancestor; its branch ends where it would repeat".to_owned())
        } else {
            let what = format!("has the parent {parent_id}, which is not in the file; what came before is lost to it");
            (DiagnosticKind::MissingParent, what)
        };
        let line = self.session.line_number(&record)?;
        Ok(Some(Diagnostic::new(kind, Some(line), format!("entry {} {what}", record.id))))
    }
}

/// Characters of a preview at most.
const PREVIEW_CHARACTERS: usize = 120;

/// One entry in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// The entry's id.
    pub id: EntryId,
    /// The parent as stored, also where no entry has that id.
    pub parent_id: Option<EntryId>,
    /// The stored type.
    pub kind_name: String,
    /// The stored role, for messages.
    pub role: Option<String>,
    /// What it says, on one line of at most 120 characters.
    pub preview: String,
    /// Its label.
    pub label: Option<String>,
    /// The stored timestamp.
    pub timestamp: String,
    /// Ids of its children, the oldest timestamp first, equal ones in file order.
    pub children: Vec<EntryId>,
}

impl Session {
    /// All entries in file order. Reads every body for its preview; one that is broken has none.
    pub fn tree(&self) -> Result<Vec<TreeNode>, StoreError> {
        let index = self.index()?;
        let mut nodes = Vec::with_capacity(index.len());
        for record in index.current() {
            let entry = self.entry_or_header(&record)?;
            nodes.push(TreeNode {
                label: index.labels.get(&record.id).map(|label| label.text.clone()),
                id: record.id,
                parent_id: record.parent_id,
                kind_name: entry.kind_name().to_owned(),
                role: entry.message().map(|message| message.role().to_owned()),
                preview: preview(&entry),
                timestamp: entry.timestamp().to_owned(),
                children: Vec::new(),
            });
        }
        link_children(&mut nodes);
        Ok(nodes)
    }
}

/// Fills in the children. A time that cannot be read counts as the oldest.
fn link_children(nodes: &mut [TreeNode]) {
    let places: HashMap<EntryId, usize> = nodes.iter().enumerate().map(|(at, node)| (node.id.clone(), at)).collect();
    let times: Vec<Option<i64>> = nodes.iter().map(|node| epoch_milliseconds(&node.timestamp)).collect();
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|&at| times[at]);
    for at in order {
        let parent = nodes[at].parent_id.as_ref().and_then(|id| places.get(id)).copied();
        if let Some(parent) = parent {
            let id = nodes[at].id.clone();
            nodes[parent].children.push(id);
        }
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

/// At most `limit` characters of `text` on one line, runs of white space and control characters
/// taken as one space.
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
