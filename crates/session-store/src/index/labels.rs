//! The labels of entries, and names on one line.

use std::collections::HashMap;

use compaction_core::entry::EntryId;

/// A label as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The label's text.
    pub text: String,
    /// When it was set, as stored.
    pub timestamp: String,
    /// Place of the entry that set it.
    pub(crate) slot: usize,
}

/// The labels of a session: of several for one entry the last one in the file counts, whatever
/// branch it lies on.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    by_target: HashMap<EntryId, Label>,
}

impl Labels {
    /// Sets or clears the label of `target_id`.
    pub(crate) fn set(&mut self, target_id: EntryId, label: Option<String>, timestamp: String, slot: usize) {
        match label {
            Some(text) => self.by_target.insert(target_id, Label { text, timestamp, slot }),
            None => self.by_target.remove(&target_id),
        };
    }

    pub(crate) fn get(&self, target_id: &EntryId) -> Option<&Label> {
        self.by_target.get(target_id)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&EntryId, &Label)> {
        self.by_target.iter()
    }
}

/// A name on one line: each run of CR and LF becomes a space (docs/session-format.md, "Labels and
/// names"). An empty one is none.
pub(crate) fn clean_name(name: &str) -> Option<String> {
    let parts = name.split(['\r', '\n']).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join(" ").trim().to_owned();
    (!name.is_empty()).then_some(name)
}
