//! Statements that a summary contains word for word. They are stored as places in it instead of a second time.
//!
//! `"shown":{"hash":"…","bytes":12224,"groups":[[57,"person",0,["1a2b3c4d"],12034,118,2,70],…]}`: a group is a run of
//! consecutive statements of one message. It has the position, the voice, the number of the first statement, and the
//! entries; then the byte of the summary where the first one begins and its bytes; then, for each further one, the
//! bytes between the two and its own. The hash covers the first `bytes` bytes of the summary, up to the end of the last
//! of them.

use std::collections::HashSet;

use super::finder::{Finder, Pattern};
use super::selection::Beginnings;
use super::statements::LONGEST;
use super::store::{name_of, named, write_strings};
use super::{Sources, Statement, Voice};
use crate::entry::EntryId;
use crate::json::Json;

/// Most bytes of all statements that are read. Many places may name the same part of a summary.
const MOST_BYTES_OF_ALL: usize = 4 * 1024 * 1024;
/// Longest statement that is read, in bytes: a UTF-16 unit has at most three.
const MOST_BYTES: usize = 3 * LONGEST;
/// Bytes for the names of the members and the hash.
const FRAME: usize = 64;

/// The statements that a summary contains.
#[derive(Debug, Default)]
pub(super) struct Shown<'a> {
    /// The member, with a comma before it; empty if there are none.
    pub(super) member: String,
    /// Their number.
    pub(super) count: usize,
    /// The summary, unless there was no room for all of the places.
    pub(super) summary: Option<&'a str>,
}

/// A statement and where the summary says it.
struct Place<'a> {
    statement: &'a Statement,
    start: usize,
}

impl Place<'_> {
    fn end(&self) -> usize {
        self.start + self.statement.text.len()
    }

    /// Whether `next` is the next statement of the message and comes after this one in the summary.
    fn precedes(&self, next: &Self) -> bool {
        let (one, other) = (self.statement, next.statement);
        let is_next = one.position == other.position && one.voice == other.voice && one.number + 1 == other.number;
        is_next && self.end() <= next.start
    }
}

impl<'a> Shown<'a> {
    /// Those of `statements` that `summary` contains, in at most `max_bytes` bytes, the newest first.
    pub(super) fn of(statements: &[Statement], summary: &'a str, max_bytes: usize) -> Self {
        let places = places(statements, summary);
        let (mut groups, mut bytes, mut count, mut end) = (Vec::new(), FRAME, 0, 0);
        for group in places.chunk_by(Place::precedes).rev() {
            let text = group_text(group);
            bytes += text.len() + 1;
            if bytes > max_bytes {
                break;
            }
            groups.push(text);
            count += group.len();
            end = end.max(group.last().map_or(0, Place::end));
        }
        if groups.is_empty() {
            return Self::default();
        }
        groups.reverse();
        let hash = hash(&summary.as_bytes()[..end]);
        let member =
            format!(",\"shown\":{{\"hash\":\"{hash:016x}\",\"bytes\":{end},\"groups\":[{}]}}", groups.join(","));
        Self { member, count, summary: Some(summary).filter(|_| count == places.len()) }
    }
}

/// Where `summary` contains the statements, in order. Of several with the same words, the newest counts.
fn places<'a>(statements: &'a [Statement], summary: &str) -> Vec<Place<'a>> {
    let beginnings = Beginnings::in_texts(&[summary]);
    let mut seen = HashSet::new();
    let mut newest: Vec<&Statement> = statements.iter().rev().collect();
    newest.retain(|statement| beginnings.may_have(&statement.text) && seen.insert(statement.text.as_str()));
    newest.reverse();
    // Most statements that begin like a part of the summary are not in it. One search rules them out.
    let patterns = newest.iter().map(|statement| Pattern { text: &statement.text, is_word: false }).collect();
    let mut finder = Finder::new(patterns);
    finder.search(summary);
    let said =
        newest.into_iter().zip(finder.found()).filter(|(statement, is_said)| *is_said && !statement.text.is_empty());
    let mut from = 0;
    let place = |(statement, _): (&'a Statement, bool)| {
        // Statements are in the order of the conversation, except in the first sections.
        let text = statement.text.as_bytes();
        let behind = memchr::memmem::find(&summary.as_bytes()[from..], text).map(|at| from + at);
        from = behind.map_or(from, |start| start + text.len());
        let start = behind.or_else(|| memchr::memmem::find(summary.as_bytes(), text))?;
        Some(Place { statement, start })
    };
    said.filter_map(place).collect()
}

fn group_text(group: &[Place<'_>]) -> String {
    let Some(first) = group.first() else { return String::new() };
    let statement = first.statement;
    let voice = name_of(Voice::ALL, statement.voice);
    let mut text = format!("[{},\"{voice}\",{},", statement.position, statement.number);
    write_strings(statement.sources.ids().iter().map(|id| id.as_str()), &mut text);
    let mut end = 0;
    for place in group {
        text.push_str(&format!(",{},{}", place.start - end, place.statement.text.len()));
        end = place.end();
    }
    text.push(']');
    text
}

/// The statements at the places that a stored ledger names; `None` if `summary` is not the one that it was stored
/// beside.
pub(super) fn read(shown: &Json<'_>, summary: &str) -> Option<Vec<Statement>> {
    let bytes = summary.as_bytes().get(..number(shown.get("bytes")?)?)?;
    if shown.get("hash")?.as_str()? != format!("{:016x}", hash(bytes)) {
        return None;
    }
    let Json::Array(groups) = shown.get("groups")? else { return None };
    let (mut statements, mut room) = (Vec::new(), MOST_BYTES_OF_ALL);
    for group in groups {
        // A place outside the summary, or longer than a statement, ends its group.
        let _ = read_group(group, summary, &mut room, &mut statements);
    }
    Some(statements)
}

fn read_group(group: &Json<'_>, summary: &str, room: &mut usize, statements: &mut Vec<Statement>) -> Option<()> {
    let Json::Array(members) = group else { return None };
    let [position, voice, first, sources, places @ ..] = members.as_slice() else { return None };
    let voice = voice.as_str()?;
    let voice = named(Voice::ALL, voice)?;
    let position = number(position)? as u64;
    let first = number(first)? as u64;
    let mut entries = Sources::default();
    if let Json::Array(ids) = sources {
        ids.iter().filter_map(Json::as_str).for_each(|id| entries.add(&EntryId::new(id)));
    }
    let mut end = 0_usize;
    for (own, place) in (first..).zip(places.as_chunks::<2>().0) {
        let start = end.checked_add(number(&place[0])?)?;
        end = start.checked_add(number(&place[1])?)?;
        let text = summary.get(start..end).filter(|text| (1..=MOST_BYTES).contains(&text.len()))?.to_owned();
        // The record of a statement also takes room.
        *room = room.checked_sub(text.len() + size_of::<Statement>())?;
        statements.push(Statement { voice, text, number: own, position, sources: entries.clone() });
    }
    Some(())
}

fn number(json: &Json<'_>) -> Option<usize> {
    json.as_f64().filter(|number| (0.0..=f64::from(u32::MAX)).contains(number)).map(|number| number as usize)
}

/// A hash that stays the same in every version (FNV-1a, 64 bits).
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
