//! Labels and the session's name.

use std::collections::HashMap;

use compaction_core::entry::EntryId;
use compaction_core::json;

use crate::error::StoreError;
use crate::session::Session;
use crate::session::append::{Appended, NewEntry, Parent};

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

impl Session {
    /// The label of an entry. Reads the whole of a large session.
    pub fn label(&self, id: &EntryId) -> Result<Option<&Label>, StoreError> {
        Ok(self.index()?.labels.get(id))
    }

    /// The session's name, if it has one. Reads the whole of a large session.
    pub fn name(&self) -> Result<Option<&str>, StoreError> {
        Ok(self.index()?.name.as_deref())
    }

    /// Sets the label of `target_id`, or clears it with `None` or an empty text, by an entry at the
    /// leaf. Fails with `EntryNotFound` and as [`Session::append`] does.
    pub fn set_label(&mut self, target_id: &EntryId, label: Option<&str>) -> Result<Appended, StoreError> {
        self.refresh_quietly()?;
        self.slot(target_id)?;
        self.append(NewEntry::new("label", &Self::label_members(target_id, label)), Parent::Leaf)
    }

    /// The members of the `label` entry that [`Session::set_label`] appends, for those who append it
    /// with others.
    pub fn label_members(target_id: &EntryId, label: Option<&str>) -> String {
        let label = label.filter(|label| !label.is_empty());
        let label = label.map_or_else(String::new, |label| format!(",\"label\":{}", json::encode_string(label)));
        format!("{{\"targetId\":{}{label}}}", json::encode_string(target_id.as_str()))
    }

    /// Names the session, or takes its name away with an empty one, by an entry at the leaf. Line
    /// breaks become spaces. Fails as [`Session::append`] does.
    pub fn set_name(&mut self, name: &str) -> Result<Appended, StoreError> {
        let members = format!("{{\"name\":{}}}", json::encode_string(&clean_name(name).unwrap_or_default()));
        self.append(NewEntry::new("session_info", &members), Parent::Leaf)
    }
}

/// A name on one line: each run of CR and LF becomes a space (docs/session-format.md, "Labels and
/// names"). An empty one is none.
pub(crate) fn clean_name(name: &str) -> Option<String> {
    let parts = name.split(['\r', '\n']).filter(|part| !part.is_empty());
    let name = parts.collect::<Vec<_>>().join(" ").trim().to_owned();
    (!name.is_empty()).then_some(name)
}
