//! Names: which paths and identifiers were used, how often and where, and which of them matter.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::notes::SourcePosition;
use super::scan::{NameKind, is_weak_path, scan};
use super::terms::TextHashing;
use super::text::quoted;
use super::{NameRecord, Places, Sources};
use crate::entry::EntryId;

/// Most names that are counted at once. Beyond that, the least important are forgotten.
const MOST_COUNTED: usize = 1 << 15;
/// Most names of each kind in a ledger.
const MOST_PATHS: usize = 600;
const MOST_IDENTIFIERS: usize = 1600;
/// Bytes of the longest name in backticks.
const LONGEST_QUOTED: usize = 80;

/// The names seen so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Names<'a> {
    seen: HashMap<(NameKind, &'a str), Seen<'a>, TextHashing>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen<'a> {
    times: u64,
    position: u64,
    places: Places,
    first: Option<&'a EntryId>,
    last: Option<&'a EntryId>,
    earlier: Option<&'a NameRecord>,
}

impl<'a> Names<'a> {
    /// Takes over names of an earlier ledger.
    pub(super) fn restore(&mut self, kind: NameKind, names: &'a [NameRecord]) {
        for name in names {
            let earlier = Some(name);
            let seen =
                Seen { times: name.times, position: name.position, places: name.places, earlier, ..Seen::default() };
            self.seen.insert((kind, &name.name), seen);
        }
    }

    /// Counts the names in `text`.
    pub(super) fn read(&mut self, text: &'a str, place: SourcePosition<'a>, places: Places) {
        scan(text, |kind, name| self.count(kind, name, place, places));
        self.prune();
    }

    /// Counts names in backticks that look like ordinary words.
    pub(super) fn read_quoted(&mut self, text: &'a str, place: SourcePosition<'a>, places: Places) {
        for name in quoted(text).filter(|name| is_quoted_name(name)) {
            let mut is_counted = false;
            scan(name, |_, part| is_counted |= part.len() == name.len());
            if !is_counted {
                self.count(NameKind::Identifier, name, place, places);
            }
        }
    }

    fn count(&mut self, kind: NameKind, name: &'a str, place: SourcePosition<'a>, places: Places) {
        let seen = self.seen.entry((kind, name)).or_default();
        seen.times = seen.times.saturating_add(1);
        seen.position = seen.position.max(place.position);
        seen.places = seen.places.with(places);
        seen.first = seen.first.or(place.entry);
        seen.last = place.entry.or(seen.last);
    }

    /// Marks the names that appear in error lines.
    pub(super) fn mark_errors<'b>(&mut self, lines: impl Iterator<Item = &'b str>) {
        let mut named: HashSet<&str, TextHashing> = HashSet::default();
        for line in lines {
            scan(line, |_, name| {
                named.insert(name);
            });
        }
        if named.is_empty() {
            return;
        }
        for (_, seen) in self.seen.iter_mut().filter(|((_, name), _)| named.contains(name)) {
            seen.places = seen.places.with(Places::ERROR);
        }
    }

    /// Drops half of the names if there are too many, so that the work stays bounded.
    fn prune(&mut self) {
        if self.seen.len() <= MOST_COUNTED {
            return;
        }
        let now = self.seen.values().map(|seen| seen.position).max().unwrap_or_default();
        let mut order: Vec<_> =
            self.seen.iter().map(|(name, seen)| (Reverse(score(name.1, seen, now)), *name)).collect();
        order.sort_unstable();
        for (_, name) in order.drain(MOST_COUNTED / 2..) {
            self.seen.remove(&name);
        }
    }

    /// Paths, then identifiers, the most important first. `messages` is the position of the newest
    /// message. Paths for which `is_known` holds are left out, since the files list has them.
    pub(super) fn finish(self, messages: u64, is_known: impl Fn(&str) -> bool) -> (Vec<NameRecord>, Vec<NameRecord>) {
        let mut order: Vec<_> =
            self.seen.iter().map(|(name, seen)| (Reverse(score(name.1, seen, messages)), *name)).collect();
        order.sort_unstable();
        let (mut paths, mut identifiers) = (Vec::new(), Vec::new());
        for (_, (kind, name)) in order {
            let (list, most) = match kind {
                NameKind::Path if is_known(name) => continue,
                NameKind::Path => (&mut paths, MOST_PATHS),
                NameKind::Identifier => (&mut identifiers, MOST_IDENTIFIERS),
            };
            if list.len() < most
                && let Some(seen) = self.seen.get(&(kind, name))
            {
                list.push(seen.record(name));
            }
        }
        (paths, identifiers)
    }
}

impl Seen<'_> {
    fn record(&self, name: &str) -> NameRecord {
        let mut sources = self.earlier.map(|earlier| earlier.sources.clone()).unwrap_or_default();
        if sources.ids().len() > 1 {
            sources = Sources::one(&sources.ids()[0]);
        }
        if sources.ids().is_empty() {
            self.first.into_iter().for_each(|id| sources.add(id));
        }
        self.last.into_iter().for_each(|id| sources.add(id));
        NameRecord { name: name.to_owned(), times: self.times, position: self.position, places: self.places, sources }
    }
}

/// How likely a name is to be needed again: by its frequency, its recency, where it was used, and how
/// little it looks like a word.
fn score(name: &str, seen: &Seen<'_>, now: u64) -> u32 {
    let recurrence = 2 * (seen.times.saturating_add(1)).ilog2().min(6);
    let age = now.saturating_sub(seen.position);
    let recency = 12 - (age + 1).ilog2().min(12);
    let by = |places, points| if seen.places.has(places) { points } else { 0 };
    let told = by(Places::PERSON, 4) + by(Places::ERROR, 3) + by(Places::EDIT, 4) + by(Places::ANSWER, 1);
    // A long name takes the room of several short ones.
    let room = u32::try_from(name.len() / 24).map_or(6, |length| length.min(6));
    let doubt = if is_weak_path(name) { 8 } else { 0 };
    (recurrence + recency + told + specificity(name)).saturating_sub(room + doubt)
}

fn specificity(name: &str) -> u32 {
    let has = |is_one: fn(&u8) -> bool| name.as_bytes().iter().any(is_one);
    let has_letters = has(u8::is_ascii_alphabetic);
    let mixes = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase);
    let signs = u32::from(has(u8::is_ascii_digit)) + u32::from(has(|byte| b"_/\\.-".contains(byte))) + u32::from(mixes);
    let length = u32::from(name.len() >= 8) + u32::from(name.len() >= 14);
    if has_letters { signs + length } else { length }
}

fn is_quoted_name(name: &str) -> bool {
    (3..=LONGEST_QUOTED).contains(&name.len())
        && name.contains(char::is_alphanumeric)
        && !name.contains(char::is_whitespace)
}
