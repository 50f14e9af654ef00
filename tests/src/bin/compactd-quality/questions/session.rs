//! A session as entries that stand one behind the other, and the places where it may be cut.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, ensure};
use compaction_core::entry::{Entry, EntryId};
use compaction_core::json::{RawObject, encode_string};
use compaction_core::message::{Block, Body, Message};
use compaction_core::migrate::{Migration, StoredPosition};

/// A session in the current version of the format.
pub(crate) struct Session {
    header: String,
    entries: Vec<Entry>,
    /// Where in `entries` the messages are.
    messages: Vec<usize>,
}

impl Session {
    /// Reads a file, of an older version too.
    ///
    /// # Errors
    /// When it cannot be read, a line is no entry, or an entry does not follow the one before it.
    pub(crate) fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("failed to read {}", path.display()))
    }

    fn parse(text: &str) -> anyhow::Result<Self> {
        let (header, lines) = migrated(text)?;
        let mut entries: Vec<Entry> = Vec::new();
        for (number, line) in (2..).zip(&lines) {
            let entry = Entry::parse(line).with_context(|| format!("line {number}"))?;
            let parent = entry.header().parent_id.as_ref();
            ensure!(parent == entries.last().map(Entry::id), "line {number} does not follow the entry before it");
            entries.push(entry);
        }
        let is_message = |(index, entry): (usize, &Entry)| entry.message().is_some().then_some(index);
        let messages = entries.iter().enumerate().filter_map(is_message).collect();
        Ok(Self { header, entries, messages })
    }

    /// The messages before a cut.
    pub(crate) fn messages_before(&self, cut: usize) -> impl Iterator<Item = &Message> {
        self.messages(0..cut)
    }

    fn messages(&self, range: Range<usize>) -> impl Iterator<Item = &Message> {
        self.messages[range].iter().filter_map(|&index| self.entries[index].message()).map(AsRef::as_ref)
    }

    /// The first message from `at` on that can be the oldest kept one: it is no result, and no call
    /// before it waits for one that comes later.
    ///
    /// # Errors
    /// When there is none.
    pub(crate) fn cut_from(&self, at: usize) -> anyhow::Result<usize> {
        let is_legal = |cut: &usize| {
            let mut results = self.messages(*cut..self.messages.len()).filter_map(result);
            let waiting = self.waiting_at(*cut);
            !self.messages(*cut..*cut + 1).any(|message| result(message).is_some())
                && !results.any(|id| waiting.contains(id))
        };
        let count = self.messages.len();
        (at..count).find(is_legal).with_context(|| format!("no place for a cut from message {at} of {count} on"))
    }

    /// The calls before a cut that have no result there.
    fn waiting_at(&self, cut: usize) -> HashSet<&str> {
        self.messages_before(cut).fold(HashSet::new(), |mut waiting, message| {
            waiting.extend(calls(message));
            if let Some(id) = result(message) {
                waiting.remove(id);
            }
            waiting
        })
    }

    /// The entry of the message behind a cut.
    pub(crate) fn entry_after(&self, cut: usize) -> &EntryId {
        self.entries[self.messages[cut]].id()
    }

    /// The text of a file with all entries before a cut; with `None` with all entries.
    pub(crate) fn file_until(&self, cut: Option<usize>) -> String {
        self.header.clone() + "\n" + &self.lines(0, cut)
    }

    /// The lines of the entries between two cuts, to be written behind the entry `parent`.
    ///
    /// # Errors
    /// When a line cannot be changed.
    pub(crate) fn lines_behind(&self, parent: &str, from: usize, to: Option<usize>) -> anyhow::Result<String> {
        let lines = self.lines(self.messages[from], to);
        let Some((first, rest)) = lines.split_once('\n') else { return Ok(lines) };
        let mut first = RawObject::parse(first)?;
        first.set("parentId", encode_string(parent));
        Ok(first.to_json() + "\n" + rest)
    }

    fn lines(&self, from: usize, to: Option<usize>) -> String {
        let to = to.map_or(self.entries.len(), |cut| self.messages[cut]);
        self.entries[from..to].iter().fold(String::new(), |mut text, entry| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}", entry.line());
            text
        })
    }
}

fn calls(message: &Message) -> impl Iterator<Item = &str> {
    let blocks = match message.body() {
        Body::Assistant(assistant) => assistant.content.as_slice(),
        _ => &[],
    };
    blocks.iter().filter_map(|block| match block {
        Block::ToolCall(call) => Some(call.id.as_str()),
        _ => None,
    })
}

/// The call that a message is the result of.
fn result(message: &Message) -> Option<&str> {
    match message.body() {
        Body::ToolResult { tool_call_id, .. } => Some(tool_call_id),
        _ => None,
    }
}

/// The header and the lines of a file in the current version.
fn migrated(text: &str) -> anyhow::Result<(String, Vec<String>)> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let header = lines.next().context("the file is empty")?;
    let object = RawObject::parse(header).context("the header")?;
    let version = object.get("version").map_or(Ok(1), str::parse).context("the version")?;
    let id = object.string("id").context("the header has no id")?;
    let Some(mut migration) = Migration::new(version, &id) else {
        return Ok((header.to_owned(), lines.map(str::to_owned).collect()));
    };
    let mut rewrite = |line: &str| {
        let object = RawObject::parse(line)?;
        let parent_id = object.get("parentId").map(|_| object.string("parentId").map(EntryId::new));
        let stored = StoredPosition { id: object.string("id").map(EntryId::new), parent_id };
        let position = migration.position(stored).context("an entry has no id")?;
        anyhow::Ok(migration.rewrite(line, &position)?)
    };
    let lines = (2..).zip(lines).map(|(number, line)| rewrite(line).with_context(|| format!("line {number}")));
    let lines = lines.collect::<anyhow::Result<_>>()?;
    Ok((migration.header(header)?, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The session that the tests cut; `version` is that of its header, older ones have no ids.
    fn session(version: u32) -> Session {
        let call = |id: &str| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"toolCall","id":"{id}","name":"read","arguments":{{}}}}]}}"#
            )
        };
        let result = |id: &str| {
            format!(r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"read","content":[],"isError":false}}"#)
        };
        let person = r#"{"role":"user","content":"and then?"}"#.to_owned();
        // The person speaks while a call runs; the id of the first call comes again.
        let messages = [
            person.clone(),
            call("a"),
            person.clone(),
            result("a"),
            call("b"),
            result("b"),
            call("a"),
            result("a"),
            person,
        ];
        let mut text = format!(
            r#"{{"type":"session","version":{version},"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}}"#
        );
        for (number, message) in messages.iter().enumerate() {
            let parent = number.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"e{parent}\""));
            let place = if version < 2 { String::new() } else { format!(r#""id":"e{number}","parentId":{parent},"#) };
            let time = r#""timestamp":"2026-01-01T00:00:00.000Z""#;
            text += &format!("\n{{\"type\":\"message\",{place}{time},\"message\":{message}}}");
        }
        Session::parse(&text).expect("the session is made here")
    }

    #[test]
    fn a_cut_parts_no_call_from_its_result() {
        for version in [1, 3] {
            let cuts: Vec<usize> = (0..9).map(|at| session(version).cut_from(at).unwrap()).collect();
            assert_eq!(cuts, [0, 1, 4, 4, 4, 6, 6, 8, 8], "version {version}");
            let error = session(version).cut_from(9).unwrap_err().to_string();
            assert_eq!(error, "no place for a cut from message 9 of 9 on");
        }
    }

    #[test]
    fn entries_are_written_behind_another() {
        let session = session(3);
        let lines = session.lines_behind("other", 4, Some(6)).unwrap();
        let parents = |text: &str| -> Vec<String> {
            text.lines().map(|line| RawObject::parse(line).unwrap().string("parentId").unwrap_or_default()).collect()
        };
        assert_eq!(parents(&lines), ["other", "e4"]);
        assert_eq!(parents(&session.lines_behind("other", 8, None).unwrap()), ["other"]);
        assert_eq!(session.file_until(Some(4)).lines().count(), 5);
        assert_eq!(session.file_until(None).lines().count(), 10);
    }

    #[test]
    fn branches_are_refused() {
        let text = session(3).file_until(None).replace(r#""parentId":"e4""#, r#""parentId":"e3""#);
        let error = format!("{:#}", Session::parse(&text).err().expect("two entries follow one"));
        assert_eq!(error, "line 7 does not follow the entry before it");
    }
}
