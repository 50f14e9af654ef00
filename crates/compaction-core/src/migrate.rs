//! Migration of older session formats to the current one, line by line (docs/session-format.md, "Versions
//! and migration").
//!
//! Version 1 has no ids: entries follow each other, and a compaction names its first kept entry by a
//! line number. Version 2 has ids, but calls the role `custom` `hookMessage`. The result depends only
//! on the session's id and the preceding lines, so every open gives the same ids.

use std::collections::HashSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::entry::{EntryId, one_line};
use crate::hash;
use crate::json::{self, NotAnObject, RawObject};

/// The version that this program writes.
pub const CURRENT_VERSION: u32 = 3;

/// A migration in progress. It is fed the lines of one file in order.
#[derive(Debug, Clone)]
pub struct Migration {
    from: u32,
    session_id: String,
    /// The ids of the parsed lines of a version 1 file, starting with the header; `None` for lines that
    /// are not entries. `firstKeptEntryIndex` is an index into this list.
    lines: Vec<Option<EntryId>>,
    used: HashSet<EntryId>,
    last: Option<EntryId>,
}

/// The position of an entry in the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreePosition {
    /// The entry's id.
    pub id: EntryId,
    /// The entry before it; `None` for a root.
    pub parent_id: Option<EntryId>,
}

/// The stored position of an entry, before migration.
#[derive(Debug, Clone, Default)]
pub struct StoredPosition {
    /// The stored `id`, if it is a string.
    pub id: Option<EntryId>,
    /// The stored `parentId`. `None` if the member is missing or neither a string nor null.
    pub parent_id: Option<Option<EntryId>>,
}

impl Migration {
    /// The migration from `version`; `None` if files of that version need none. The header's line is
    /// already counted.
    pub fn new(version: u32, session_id: &str) -> Option<Self> {
        (version < CURRENT_VERSION).then(|| Self {
            from: version.max(1),
            session_id: session_id.to_owned(),
            lines: vec![None],
            used: HashSet::new(),
            last: None,
        })
    }

    /// The version that is migrated from.
    pub fn from_version(&self) -> u32 {
        self.from
    }

    /// The header's line in the current version. Other members are unchanged.
    pub fn header(&self, line: &str) -> Result<String, NotAnObject> {
        let mut object = RawObject::parse(line)?;
        object.set("version", CURRENT_VERSION.to_string());
        object.move_to_front(&["type", "version", "id", "timestamp", "cwd"]);
        Ok(one_line(object.to_json()))
    }

    /// Feeds the next entry and returns its position. `None` if it has no id although its version
    /// requires one.
    pub fn position(&mut self, stored: StoredPosition) -> Option<TreePosition> {
        if self.from >= 2 {
            return stored.id.map(|id| TreePosition { id, parent_id: stored.parent_id.flatten() });
        }
        let id = stored.id.filter(|id| !self.used.contains(id)).unwrap_or_else(|| self.next_id());
        let parent_id = stored.parent_id.unwrap_or_else(|| self.last.clone());
        self.used.insert(id.clone());
        self.lines.push(Some(id.clone()));
        self.last = Some(id.clone());
        Some(TreePosition { id, parent_id })
    }

    /// Feeds a parsed line that is not an entry. It counts for `firstKeptEntryIndex`.
    pub fn skip_line(&mut self) {
        if self.from < 2 {
            self.lines.push(None);
        }
    }

    /// The line of an entry in the current version: `type`, `id`, `parentId` and `timestamp` first,
    /// other members unchanged. `position` is the result of [`Migration::position`] for it.
    pub fn rewrite(&self, line: &str, position: &TreePosition) -> Result<String, NotAnObject> {
        let mut object = RawObject::parse(line)?;
        object.set("id", json::encode_string(position.id.as_str()));
        let parent = position.parent_id.as_ref();
        object.set("parentId", parent.map_or_else(|| "null".to_owned(), |id| json::encode_string(id.as_str())));
        if self.from < 2 {
            self.resolve_first_kept(&mut object, position);
        }
        rename_hook_message(&mut object);
        object.move_to_front(&["type", "id", "parentId", "timestamp"]);
        Ok(one_line(object.to_json()))
    }

    /// Counting up on a collision keeps the search short and deterministic.
    fn next_id(&self) -> EntryId {
        let mut number = id_number(&self.session_id, self.lines.len() as u64);
        loop {
            let id = EntryId::new(format!("{number:08x}"));
            if !self.used.contains(&id) {
                return id;
            }
            number = number.wrapping_add(1);
        }
    }

    /// Replaces `firstKeptEntryIndex` by `firstKeptEntryId`. An index without an entry, or after the
    /// compaction, is dropped.
    fn resolve_first_kept(&self, object: &mut RawObject<'_>, position: &TreePosition) {
        let Some(index) = object.get("firstKeptEntryIndex").map(str::to_owned) else {
            return;
        };
        object.remove("firstKeptEntryIndex");
        let own = self.lines.iter().rposition(|line| line.as_ref() == Some(&position.id));
        let index = index.parse::<usize>().ok().filter(|&index| Some(index) <= own);
        if let Some(Some(id)) = index.and_then(|index| self.lines.get(index)) {
            object.set("firstKeptEntryId", json::encode_string(id.as_str()));
        }
    }
}

/// Whether `hookMessage` may be a string of the message. An escape may hide its letters.
fn may_have_role(message: &str) -> bool {
    static MARKS: LazyLock<[Finder<'static>; 2]> = LazyLock::new(|| ["\"hookMessage\"", "\\u00"].map(Finder::new));
    MARKS.iter().any(|mark| mark.find(message.as_bytes()).is_some())
}

fn rename_hook_message(object: &mut RawObject<'_>) {
    if object.string("type").as_deref() != Some("message") {
        return;
    }
    // Hardly any message has this role, and the whole message would be parsed for it.
    let Some(text) = object.get("message").filter(|message| may_have_role(message)).map(str::to_owned) else {
        return;
    };
    if let Ok(mut message) = RawObject::parse(&text)
        && message.string("role").as_deref() == Some("hookMessage")
    {
        message.set("role", "\"custom\"");
        object.set("message", message.to_json());
    }
}

/// The hash of the session's id and the line number, folded to 32 bits. It must never change, because
/// clients store these ids.
fn id_number(session_id: &str, line: u64) -> u32 {
    let hash = hash::continued(hash::EMPTY, session_id.bytes().chain(line.to_le_bytes()));
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    /// Feeds `lines` and gives the migrated ones; a line that is not an entry is skipped.
    fn migrate(version: u32, lines: &[&str]) -> String {
        let mut migration = Migration::new(version, "s").unwrap();
        let mut out = String::new();
        for line in lines {
            let object = RawObject::parse(line).unwrap();
            if object.string("type").as_deref() == Some("session") {
                migration.skip_line();
                continue;
            }
            let parent_id = object.get("parentId").map(|_| object.string("parentId").map(EntryId::new));
            let stored = StoredPosition { id: object.string("id").map(EntryId::new), parent_id };
            let position = migration.position(stored).unwrap();
            out += &migration.rewrite(line, &position).unwrap();
            out.push('\n');
        }
        out
    }

    #[track_caller]
    fn check(version: u32, lines: &[&str], expected: Expect) {
        expected.assert_eq(&migrate(version, lines));
        assert_eq!(migrate(version, lines), migrate(version, lines));
    }

    #[test]
    fn version_one_is_chained_and_its_indexes_become_ids() {
        check(
            1,
            &[
                r#"{"type":"message","timestamp":"T","message":{"role":"user","content":"a"},"x":[1 ,2]}"#,
                r#"{"type":"compaction","timestamp":"T","summary":"s","firstKeptEntryIndex":1,"tokensBefore":9}"#,
                r#"{"type":"compaction","timestamp":"T","summary":"s","firstKeptEntryIndex":0}"#,
                r#"{"type":"compaction","timestamp":"T","summary":"s","firstKeptEntryIndex":99}"#,
                r#"{"type":"compaction","timestamp":"T","summary":"s","firstKeptEntryIndex":5}"#,
            ],
            expect![[r#"
                {"type":"message","id":"9d712daf","parentId":null,"timestamp":"T","message":{"role":"user","content":"a"},"x":[1 ,2]}
                {"type":"compaction","id":"5f33e431","parentId":"9d712daf","timestamp":"T","summary":"s","tokensBefore":9,"firstKeptEntryId":"9d712daf"}
                {"type":"compaction","id":"752deb5b","parentId":"5f33e431","timestamp":"T","summary":"s"}
                {"type":"compaction","id":"58bf9ea1","parentId":"752deb5b","timestamp":"T","summary":"s"}
                {"type":"compaction","id":"74a10a57","parentId":"58bf9ea1","timestamp":"T","summary":"s","firstKeptEntryId":"74a10a57"}
            "#]],
        );
    }

    #[test]
    fn a_second_header_counts_for_indexes_and_gets_no_id() {
        check(
            1,
            &[
                r#"{"type":"session","id":"again"}"#,
                r#"{"type":"message","message":{}}"#,
                r#"{"type":"compaction","firstKeptEntryIndex":1}"#,
                r#"{"type":"compaction","firstKeptEntryIndex":2}"#,
            ],
            expect![[r#"
                {"type":"message","id":"5f33e431","parentId":null,"message":{}}
                {"type":"compaction","id":"752deb5b","parentId":"5f33e431"}
                {"type":"compaction","id":"58bf9ea1","parentId":"752deb5b","firstKeptEntryId":"5f33e431"}
            "#]],
        );
    }

    #[test]
    fn hook_messages_become_custom_ones() {
        check(
            2,
            &[
                r#"{"message":{"content":"a", "role":"hookMessage"},"parentId":null,"id":"a","type":"message"}"#,
                r#"{"type":"custom","id":"b","parentId":"a","message":{"role":"hookMessage"}}"#,
                r#"{"type":"message","id":"c","parentId":"b","message":{"role":"\u0068ookMessage"}}"#,
                r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content": "hookMessage"}}"#,
            ],
            expect![[r#"
                {"type":"message","id":"a","parentId":null,"message":{"content":"a","role":"custom"}}
                {"type":"custom","id":"b","parentId":"a","message":{"role":"hookMessage"}}
                {"type":"message","id":"c","parentId":"b","message":{"role":"custom"}}
                {"type":"message","id":"d","parentId":"c","message":{"role":"user","content": "hookMessage"}}
            "#]],
        );
    }

    #[test]
    fn headers_get_the_version_and_keep_their_members() {
        let migration = Migration::new(1, "s").unwrap();
        let header = migration.header(r#"{"type":"session","id":"s","cwd":"/a","provider":"p"}"#).unwrap();
        assert_eq!(header, r#"{"type":"session","version":3,"id":"s","cwd":"/a","provider":"p"}"#);
        assert!(Migration::new(CURRENT_VERSION, "s").is_none());
    }

    #[test]
    fn ids_are_unique_whatever_ids_are_stored() {
        let mut migration = Migration::new(1, "s").unwrap();
        let taken = EntryId::new(format!("{:08x}", id_number("s", 2)));
        let first = migration.position(StoredPosition { id: Some(taken.clone()), parent_id: None }).unwrap();
        let second = migration.position(StoredPosition::default()).unwrap();
        assert_eq!(first.id, taken);
        assert_ne!(second.id, taken);
        assert_eq!(second.parent_id, Some(taken.clone()));
        assert_ne!(migration.position(StoredPosition { id: Some(taken.clone()), parent_id: None }).unwrap().id, taken);
    }
}
