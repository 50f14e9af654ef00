//! Names: which paths and identifiers a conversation uses, how often and where, and which of them matter.
//!
//! Names are found in text of any language, in one pass over the bytes. Only the shape decides what is a
//! name, never a list of words: path separators, capitals inside a word, underscores, digits beside
//! letters, hyphens.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use super::notes::SourcePosition;
use super::terms::{
    CAPITAL, DIGIT, DOT, HYPHEN, SIGN, SLASH, SMALL, TextHashing, UNDERSCORE, kinds, small_letters, trimmed,
};
use super::text::quoted;
use super::{NameRecord, Places, Sources};
use crate::entry::EntryId;
use crate::phrases::{PROGRAMS, listed};
use crate::text::base_name;

/// Most names that are counted at once. Beyond that, the least important are forgotten.
const MOST_COUNTED: usize = 1 << 15;
/// Most names of each kind in a ledger.
const MOST_PATHS: usize = 600;
const MOST_IDENTIFIERS: usize = 1600;
/// Longest name in backticks, in bytes.
const LONGEST_QUOTED: usize = 80;

/// The names seen so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Names<'a> {
    paths: HashMap<Box<str>, Seen<'a>, TextHashing>,
    identifiers: HashMap<Box<str>, Seen<'a>, TextHashing>,
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
    /// Restores the names of an earlier ledger.
    pub(super) fn restore(&mut self, kind: NameKind, names: &'a [NameRecord]) {
        for name in names {
            let earlier = Some(name);
            let seen =
                Seen { times: name.times, position: name.position, places: name.places, earlier, ..Seen::default() };
            self.of_kind(kind).insert(name.name.as_str().into(), seen);
        }
    }

    fn of_kind(&mut self, kind: NameKind) -> &mut HashMap<Box<str>, Seen<'a>, TextHashing> {
        match kind {
            NameKind::Path => &mut self.paths,
            NameKind::Identifier => &mut self.identifiers,
        }
    }

    fn iter(&self) -> impl Iterator<Item = (NameKind, &str, &Seen<'a>)> {
        let paths = self.paths.iter().map(|(name, seen)| (NameKind::Path, &**name, seen));
        paths.chain(self.identifiers.iter().map(|(name, seen)| (NameKind::Identifier, &**name, seen)))
    }

    /// The names in order, the most important first. `now` is the position of the newest message.
    fn in_order(&self, now: u64) -> Vec<(NameKind, &str, &Seen<'a>)> {
        let mut order: Vec<_> = self.iter().map(|named| (Reverse(score(named.1, named.2, now)), named)).collect();
        order.sort_unstable_by_key(|(score, (kind, name, _))| (*score, *kind, *name));
        order.into_iter().map(|(_, named)| named).collect()
    }

    /// Counts the names in `text`.
    pub(super) fn read(&mut self, text: &str, place: SourcePosition<'a>, places: Places) {
        scan(text, |kind, name| self.count(kind, name, place, places));
        self.prune();
    }

    /// Counts names in backticks that look like ordinary words.
    pub(super) fn read_quoted(&mut self, text: &str, place: SourcePosition<'a>, places: Places) {
        for name in quoted(text).filter(|name| is_quoted_name(name)) {
            let mut is_counted = false;
            scan(name, |_, part| is_counted |= part.len() == name.len());
            if !is_counted {
                self.count(NameKind::Identifier, name, place, places);
            }
        }
    }

    fn count(&mut self, kind: NameKind, name: &str, place: SourcePosition<'a>, places: Places) {
        let names = self.of_kind(kind);
        let seen = match names.get_mut(name) {
            Some(seen) => seen,
            None => names.entry(name.into()).or_default(),
        };
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
        let all = self.paths.iter_mut().chain(&mut self.identifiers);
        for (_, seen) in all.filter(|(name, _)| named.contains(&***name)) {
            seen.places = seen.places.with(Places::ERROR);
        }
    }

    /// Drops half of the names if there are too many. This bounds the work.
    fn prune(&mut self) {
        if self.paths.len() + self.identifiers.len() <= MOST_COUNTED {
            return;
        }
        let now = self.iter().map(|(_, _, seen)| seen.position).max().unwrap_or_default();
        let mut kept = Self::default();
        for (kind, name, seen) in self.in_order(now).into_iter().take(MOST_COUNTED / 2) {
            kept.of_kind(kind).insert(name.into(), *seen);
        }
        *self = kept;
    }

    /// Paths, then identifiers, the most important first. `messages` is the position of the newest
    /// message. Paths for which `is_known` holds are left out, since the files list has them.
    pub(super) fn finish(self, messages: u64, is_known: impl Fn(&str) -> bool) -> (Vec<NameRecord>, Vec<NameRecord>) {
        let (mut paths, mut identifiers) = (Vec::new(), Vec::new());
        for (kind, name, seen) in self.in_order(messages) {
            let (list, most) = match kind {
                NameKind::Path if is_known(name) => continue,
                NameKind::Path => (&mut paths, MOST_PATHS),
                NameKind::Identifier => (&mut identifiers, MOST_IDENTIFIERS),
            };
            if list.len() < most {
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
    let used = by(Places::PERSON, 4) + by(Places::ERROR, 3) + by(Places::EDIT, 4) + by(Places::ANSWER, 1);
    // A long name takes as much room as several short ones.
    let room = u32::try_from(name.len() / 24).map_or(6, |length| length.min(6));
    let doubt = if is_weak_path(name) { 8 } else { 0 };
    (recurrence + recency + used + specificity(name)).saturating_sub(room + doubt)
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

/// Whether a name is of no use for continuing the work: a length in a style sheet, a colour of one digit, a number or a
/// capitalised word that neither a person nor an error used, the name of a generated file with a hash or a time in it,
/// a path that leads out of the work, words between slashes, a placeholder, or a range of commits.
pub(crate) fn is_noise(name: &NameRecord) -> bool {
    let text = name.name.as_str();
    let bytes = text.as_bytes();
    let is_stressed = [Places::PERSON, Places::ERROR].into_iter().any(|place| name.places.has(place));
    let unit = text.trim_start_matches(|one: char| one.is_ascii_digit());
    let is_length = unit.len() < text.len() && UNITS.contains(&unit);
    let is_colour =
        matches!(bytes.len(), 3 | 6 | 8) && bytes.iter().all(|byte| *byte == bytes[0]) && bytes[0].is_ascii_hexdigit();
    let is_number = || bytes.iter().all(u8::is_ascii_digit);
    let is_year = || is_number() && bytes.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    let is_word = || bytes.iter().all(u8::is_ascii_uppercase);
    is_length
        || is_colour
        || is_year()
        || !is_stressed && (is_number() || is_word())
        || is_generated(text)
        || is_elsewhere(text)
        || are_words(name)
        || is_placeholder(text)
}

/// Placeholders for a path.
const PLACEHOLDERS: [&str; 3] = ["/path/to", "path/to/", "..."];

/// Whether a path stands for another one, such as `/path/to/menu.rs`, or is a range of commits: `HEAD..origin/main`.
fn is_placeholder(path: &str) -> bool {
    let is_range = || {
        let (first, rest) = path.split_once("..").unwrap_or_default();
        first.ends_with(|one: char| one.is_ascii_alphanumeric())
            && rest.starts_with(|one: char| one.is_ascii_alphanumeric())
    };
    PLACEHOLDERS.iter().any(|one| path.contains(one)) || is_range()
}

/// Parts of paths to installed packages.
const INSTALLED: &[&str] = listed!(PROGRAMS, "names: installed packages");
/// Directories of devices, processes and programs.
const OF_SYSTEM: [&str; 5] = ["/dev/", "/proc/", "/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Whether a path is one of an installed package or of the system.
fn is_elsewhere(path: &str) -> bool {
    let parts = || path.split(['/', '\\']);
    let is_of_system = |directory: &&str| path.starts_with(*directory) || path == directory.trim_end_matches('/');
    parts().nth(1).is_some() && (parts().any(|part| INSTALLED.contains(&part)) || OF_SYSTEM.iter().any(is_of_system))
}

/// Whether what looks like a path is a list: `GET/POST`, `.ts/.tsx`, or two words that only a model wrote, in prose.
fn are_words(name: &NameRecord) -> bool {
    let path = name.name.as_str();
    let Some((first, rest)) = path.split_once('/').filter(|(first, _)| !first.is_empty()) else { return false };
    let all = |is_one: fn(&str) -> bool| is_one(first) && rest.split('/').all(is_one);
    let is_letter = |one: char| one.is_alphabetic() || one == '-';
    let is_prose = |part: &str| !part.is_empty() && part.chars().all(is_letter);
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let are_prose = || is_prose(first) && rest.split('/').all(is_prose);
    let is_capital = |part: &str| part.starts_with(|one: char| one.is_ascii_uppercase());
    let is_said = || ![Places::EDIT, Places::CALL, Places::ERROR].into_iter().any(|place| name.places.has(place));
    // Two words that nothing but prose has are an alternative.
    let are_two = || !rest.contains('/') && name.places.has(Places::ANSWER);
    all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_uppercase()))
        || all(|part| part.len() > 1 && part.starts_with('.') && !part.starts_with(".."))
        || is_said() && (name.places == Places::ANSWER || are_two()) && !DIRECTORIES.contains(&first) && are_prose()
        || is_said() && are_prose() && all(is_capital)
        || is_said() && rest.split('/').all(is_number)
}

/// Usual names of directories.
const DIRECTORIES: &[&str] = listed!(PROGRAMS, "names: directories");

/// Units of style sheets and of times.
const UNITS: &[&str] = listed!(PROGRAMS, "names: units");
/// Fewest characters of a hash in the name of a file.
const SHORTEST_HASH: usize = 8;

/// Digits of a time in milliseconds since 1970, from 2001 to 2033.
const DIGITS_OF_TIME: usize = 13;

/// Whether the name of a file contains a hash or a time: `main.1608a09b.js`, `chunk-5F3A9C21.css`,
/// `screenshot-1788095503961-0.jpg`.
fn is_generated(name: &str) -> bool {
    let file = base_name(name);
    let is_hash = |part: &str| {
        let has = |is_one: fn(&u8) -> bool| part.bytes().any(|byte| is_one(&byte));
        part.len() >= SHORTEST_HASH
            && part.bytes().all(|byte| byte.is_ascii_hexdigit())
            && has(u8::is_ascii_digit)
            && has(u8::is_ascii_alphabetic)
    };
    let is_time = |part: &str| {
        part.len() == DIGITS_OF_TIME && part.starts_with('1') && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    // The parts before the ending. A name that is only a hash is that of a commit.
    let parts = || file.split(['.', '-', '_']);
    file.contains('.') && parts().count() >= 3 && parts().any(|part| is_hash(part) || is_time(part))
}

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum NameKind {
    /// A path or the name of a file.
    Path,
    /// Anything else that has to be spelled exactly: a symbol, hash, ticket, version, address.
    Identifier,
}

/// Longest run of characters that is examined, in bytes.
const LONGEST_RUN: usize = 400;
/// Longest path, in bytes.
const LONGEST_PATH: usize = 260;
/// Longest identifier, in bytes.
const LONGEST_IDENTIFIER: usize = 96;
/// Endings that make a word with a dot the name of a file. Endings that are just as common as members of objects, such
/// as `console.log`, are left out.
const FILE_ENDINGS: &[&str] = listed!(PROGRAMS, "names: endings of files");

/// Longest of them, in bytes.
const LONGEST_ENDING: usize = 7;

/// The kind of each byte in a name; 0 if it ends a name.
const MARKS: [u8; 256] = {
    let mut marks = kinds(&[("_", UNDERSCORE), ("/\\", SLASH), (".", DOT), ("-", HYPHEN), ("@~:+$#%", SIGN)]);
    // The first byte of a letter in an alphabet with spaces between words. Longer characters are punctuation, or belong
    // to a script whose words are written directly beside names.
    let mut byte = 0xC3;
    while byte <= 0xDF {
        marks[byte] = SMALL;
        byte += 1;
    }
    marks
};

/// Calls `found` with every path and identifier of `text`, in order.
pub(crate) fn scan<'a>(text: &'a str, mut found: impl FnMut(NameKind, &'a str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let first = MARKS[*byte as usize];
        if first == 0 {
            at += 1;
            continue;
        }
        let start = at;
        at += width(*byte);
        // Small letters change nothing.
        at += small_letters(bytes, at);
        let mut inner = 0;
        while let Some(byte) = bytes.get(at) {
            let mark = MARKS[*byte as usize];
            if mark == 0 {
                break;
            }
            inner |= mark;
            at += width(*byte);
        }
        if (first | inner) & SLASH != 0
            && bytes.get(at).is_some_and(|byte| *byte >= FIRST_OF_LONG)
            && let Some(path) = path_in_other_letters(text, start, at)
        {
            found(NameKind::Path, path);
            at = start + path.len();
            continue;
        }
        // A word of lower-case letters, perhaps with a capital at its beginning, is by far the most common case and
        // never a name.
        let is_word = first & !(SMALL | CAPITAL) == 0 && inner & !SMALL == 0;
        if !is_word && at - start <= LONGEST_RUN {
            let is_tag = (first | inner) & SLASH != 0 && is_closing_tag(bytes, start, at);
            read_run(&text[start + usize::from(is_tag)..at], &mut found);
        }
        at += 1;
    }
}

/// The first byte of the shortest characters that [`MARKS`] leaves out.
const FIRST_OF_LONG: u8 = 0xE0;
/// Quotes that may be around a path.
const QUOTES: [(char, char); 7] = [
    ('`', '`'),
    ('"', '"'),
    ('\'', '\''),
    ('\u{201c}', '\u{201d}'),
    ('\u{2018}', '\u{2019}'),
    ('\u{300c}', '\u{300d}'),
    ('\u{300e}', '\u{300f}'),
];

/// The path from `start` on that has letters of a script without spaces between words. `end` is where the first of them
/// begins. In quotes, it ends at the quote; else behind the first file ending, if no other word may have begun before it.
/// The letters may as well be the words behind a path.
fn path_in_other_letters(text: &str, start: usize, end: usize) -> Option<&str> {
    let before = text[..start].chars().next_back();
    let run = &text[start..end];
    if run.starts_with(['/', '\\']) && before.is_some_and(char::is_alphanumeric) || whole_name(run).is_some() {
        return None;
    }
    let is_part = |one: char| one.is_alphanumeric() || one.is_ascii() && MARKS[one as usize] != 0;
    let rest = &text[end..];
    let mut parts = rest.char_indices().take_while(|(at, _)| *at <= LONGEST_PATH);
    let length = parts.find(|(_, one)| !is_part(*one)).map_or(rest.len(), |(at, _)| at);
    let whole = text.get(start..end + length).filter(|whole| whole.len() <= LONGEST_PATH)?;
    let is_quoted = match (before, rest[length..].chars().next()) {
        (Some(before), Some(behind)) => QUOTES.contains(&(before, behind)),
        (before, behind) => before.is_none() && behind.is_none(),
    };
    let separators = whole.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    let whole_file = whole_name(whole).filter(|_| is_quoted);
    let file = || {
        let mut files = ends_in_letters(whole, end - start).filter_map(|end| whole_name(&whole[..end]));
        files.next().filter(|file| !begins_word_inside(&file[end - start..]))
    };
    let directory = || Some(whole).filter(|_| is_quoted && (separators > 1 || is_drive(whole)));
    let found = whole_file.or_else(file).or_else(directory)?;
    let is_break = |part: &str| {
        part.strip_prefix(['n', 'r', 't']).is_some_and(|rest| !rest.starts_with(|one: char| one.is_ascii()))
    };
    path(found).filter(|_| !has_escaped_letters(found) && !found.split('\\').skip(1).any(is_break))
}

/// Where a text may end before a letter that is not ASCII, behind one that is, from `from` on.
fn ends_in_letters(text: &str, from: usize) -> impl Iterator<Item = usize> {
    let ends = text.char_indices().skip_while(move |(at, _)| *at <= from);
    let ends = ends.filter(|(at, one)| !one.is_ascii() && text.as_bytes()[at - 1].is_ascii()).map(|(at, _)| at);
    ends.chain([text.len()])
}

/// A text up to its file ending, without a line and column; `None` if it has none.
fn whole_name(text: &str) -> Option<&str> {
    let drive = if is_drive(text) { 2 } else { 0 };
    let end = text[drive..].find(':').map_or(text.len(), |colon| drive + colon);
    let name = text[..end].trim_end_matches(['.', '-']);
    ending(name).map(|_| name)
}

/// Whether a letter of ASCII directly follows another one, as in the words `目录下的main.rs`.
fn begins_word_inside(text: &str) -> bool {
    let mut before = None;
    text.chars().any(|one| {
        let is_behind = before.replace(one).is_some_and(|before: char| !before.is_ascii());
        is_behind && one.is_ascii_alphabetic()
    })
}

/// The names of files in `text`, in order.
pub(crate) fn file_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    scan(text, |kind, name| names.extend(Some(name).filter(|name| kind == NameKind::Path && ending(name).is_some())));
    names
}

/// Bytes of the character that starts with `byte` and may be part of a name.
fn width(byte: u8) -> usize {
    1 + usize::from(byte >> 7)
}

/// Whether a run is the slash and the name of `</name>`, which is not a path.
fn is_closing_tag(bytes: &[u8], start: usize, end: usize) -> bool {
    let is_between = start > 0 && bytes[start - 1] == b'<' && bytes.get(end) == Some(&b'>');
    is_between && bytes[start] == b'/' && !bytes[start + 1..end].contains(&b'/')
}

fn read_run<'a>(run: &'a str, found: &mut impl FnMut(NameKind, &'a str)) {
    let bytes = run.as_bytes();
    let is_end = |byte: &&u8| matches!(byte, b'.' | b':' | b'-' | b'#' | b'%' | b'+' | b'~' | b'@' | b'$');
    let is_start = |byte: &&u8| matches!(byte, b'-' | b':' | b'#' | b'%' | b'+');
    if is_counted_option(run) {
        return;
    }
    let end = bytes.len() - bytes.iter().rev().take_while(is_end).count();
    let start = bytes[..end].iter().take_while(is_start).count();
    let run = &run[start..end];
    let marks = run.bytes().fold(0, |marks, byte| marks | MARKS[byte as usize]);
    if marks & !(SMALL | CAPITAL | DIGIT | UNDERSCORE) == 0 {
        // The run has no separators.
        if marks & !SMALL != 0 && is_identifier(run) {
            found(NameKind::Identifier, run);
        } else if marks & !SMALL != 0 && !run.is_ascii() {
            read_parts(run, found);
        }
        return;
    }
    if marks & SLASH != 0 {
        if has_escaped_letters(run) {
            return;
        }
        if let Some(address) = address(run) {
            return found(NameKind::Identifier, address);
        }
        if let Some(path) = path(run) {
            return found(NameKind::Path, path);
        }
    } else if marks & DOT != 0
        && let Some(file) = file_name(run)
    {
        return found(NameKind::Path, file);
    }
    if marks & DOT != 0 && marks & DIGIT != 0 && is_version(run) {
        return found(NameKind::Identifier, run);
    }
    // Words of lower-case letters between dots or colons are not names.
    if marks & (CAPITAL | DIGIT | UNDERSCORE | HYPHEN) != 0 {
        read_parts(run, found);
    }
}

/// Reads the words of a run.
fn read_parts<'a>(run: &'a str, found: &mut impl FnMut(NameKind, &'a str)) {
    if run.is_ascii() {
        let is_end = |byte: &u8| MARKS[*byte as usize] & (SMALL | CAPITAL | DIGIT | UNDERSCORE | HYPHEN) == 0;
        let (mut start, mut is_fraction) = (0, false);
        for part in run.as_bytes().split(is_end) {
            let end = start + part.len();
            let is_number = !part.is_empty() && part.iter().all(u8::is_ascii_digit);
            if !(is_fraction && is_number) {
                read_part(trimmed(&run[start..end], |byte| byte == b'-'), found);
            }
            // A number behind a number and a point.
            is_fraction = is_number && !is_fraction && run.as_bytes().get(end) == Some(&b'.');
            start = end + 1;
        }
        return;
    }
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == '-';
    for part in run.split(|character| !is_part(character)) {
        read_part(part.trim_matches('-'), found);
    }
}

/// `scheme://host…`
fn address(run: &str) -> Option<&str> {
    let is_scheme_end = |at: &usize| run.as_bytes()[*at..].starts_with(b"://");
    let at = memchr::memchr_iter(b':', run.as_bytes()).find(is_scheme_end)?;
    let scheme = run[..at].rsplit(|character: char| !character.is_ascii_alphanumeric()).next()?;
    let address = run[at - scheme.len()..].trim_end_matches('/');
    (!scheme.is_empty() && address.len() > scheme.len() + 3 && address.len() <= LONGEST_PATH).then_some(address)
}

/// The path in a run with separators, without a line and column at its end.
fn path(run: &str) -> Option<&str> {
    let run = if run.starts_with("//") { run.trim_start_matches('/') } else { run };
    let drive = if is_drive(run) { 2 } else { 0 };
    let end = run[drive..].find(':').map_or(run.len(), |colon| drive + colon);
    let path = run[..end].trim_end_matches(['/', '\\', '.', '-']);
    if !(4..=LONGEST_PATH).contains(&path.len()) {
        return None;
    }
    let (mut slashes, mut backslashes) = (0, 0);
    for byte in path.bytes() {
        slashes += usize::from(byte == b'/');
        backslashes += usize::from(byte == b'\\');
    }
    let is_windows = slashes == 0;
    let has_letters = |part: &str| part.chars().filter(|one| one.is_alphabetic()).nth(1).is_some();
    let has_substance = || path.split(['/', '\\']).any(has_letters);
    let starts_well = || drive > 0 || path.starts_with("\\\\") || !path.starts_with('\\');
    let is_mixed = drive == 0 && slashes > 0 && backslashes > 0;
    let is_plausible = || !is_windows || starts_well() && (drive > 0 || backslashes >= 2 || ending(path).is_some());
    let is_no_variable = || drive > 0 || !path.trim_start_matches(['/', '\\']).starts_with('$');
    (slashes + backslashes > 0
        && !is_mixed
        && !is_escaped(path)
        && !is_media_type(path)
        && has_substance()
        && is_plausible()
        && is_no_variable())
    .then_some(path)
}

/// Whether a run has an escape of a URL, such as `%3C`, or of a text, such as `\n`. File names have none. `%04d`
/// formats a number.
fn is_escaped(run: &str) -> bool {
    let is_break = |part: &[u8]| matches!(part, b"r" | b"n" | b"t");
    if run.as_bytes().split(|byte| *byte == b'\\').skip(1).any(is_break) {
        return true;
    }
    let is_escape =
        |bytes: &[u8; 3]| bytes[0] == b'%' && bytes[1] >= b'2' && bytes[1..].iter().all(u8::is_ascii_hexdigit);
    run.as_bytes().array_windows().any(is_escape)
}

/// Whether a run has escaped letters, such as `\xe7` or `\u00e7`: it is a word in another alphabet.
fn has_escaped_letters(run: &str) -> bool {
    // Directories may be called `x86` or `x64`.
    let is_hex = |rest: &[u8], count: usize| rest.len() >= count && rest[..count].iter().all(u8::is_ascii_hexdigit);
    let is_high = |rest: &[u8]| rest.first().is_some_and(|first| !first.is_ascii_digit() || *first > b'7');
    let is_letter = |part: &[u8]| match part {
        [b'x', rest @ ..] => is_hex(rest, 2) && is_high(rest) && rest != b"86",
        [b'u', rest @ ..] => is_hex(rest, 4),
        _ => false,
    };
    run.as_bytes().split(|byte| *byte == b'\\').skip(1).any(is_letter)
}

/// The registered kinds of media, as in `image/png`.
const MEDIA: &[&str] = listed!(PROGRAMS, "names: kinds of media");

fn is_media_type(path: &str) -> bool {
    let kind = path.split_once('/').filter(|(_, rest)| !rest.contains('/') && ending(rest).is_none());
    kind.is_some_and(|(kind, _)| MEDIA.contains(&kind))
}

/// Whether a path could also be two words with a slash between them, or a slash command.
pub(super) fn is_weak_path(path: &str) -> bool {
    let separators = path.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    separators == 1 && ending(path).is_none() && !path.starts_with(['~', '.', '@'])
}

fn is_drive(run: &str) -> bool {
    matches!(run.as_bytes(), [letter, b':', b'/' | b'\\', ..] if letter.is_ascii_alphabetic())
}

/// The ending of a file's name, if it is a known one.
pub(crate) fn ending(name: &str) -> Option<&str> {
    let bytes = name.as_bytes();
    let dot = bytes.iter().rev().take(LONGEST_ENDING + 1).position(|byte| *byte == b'.')?;
    let (stem, ending) = (&name[..name.len() - dot - 1], &name[name.len() - dot..]);
    (!stem.is_empty() && FILE_ENDINGS.binary_search(&ending).is_ok()).then_some(ending)
}

fn file_name(run: &str) -> Option<&str> {
    let name = run.split(':').next()?.trim_start_matches(['@', '~', '$']);
    (ending(name).is_some() && (4..=LONGEST_IDENTIFIER).contains(&name.len())).then_some(name)
}

/// `1.2.3`, `v0.4.1-rc.2`, `10.0.0.7`
fn is_version(run: &str) -> bool {
    let digits = run.strip_prefix('v').unwrap_or(run);
    let mut parts = digits.split('.');
    let is_number = |part: Option<&str>| part.is_some_and(|part| part.parse::<u32>().is_ok());
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some_and(starts_with_digit) && run.len() <= 32
}

fn starts_with_digit(part: &str) -> bool {
    part.starts_with(|character: char| character.is_ascii_digit())
}

fn read_part<'a>(part: &'a str, found: &mut impl FnMut(NameKind, &'a str)) {
    if !part.contains('-') {
        if is_identifier(part) {
            found(NameKind::Identifier, part);
        }
        return;
    }
    if is_hyphenated_name(part) {
        return found(NameKind::Identifier, part);
    }
    for word in part.split('-').filter(|word| is_identifier(word)) {
        found(NameKind::Identifier, word);
    }
}

/// Whether a run is an option with a number, such as `-A10` of `grep`.
fn is_counted_option(run: &str) -> bool {
    let option = run.strip_prefix('-').map(str::as_bytes).unwrap_or_default();
    let [letter, number @ ..] = option else { return false };
    letter.is_ascii_alphabetic() && !number.is_empty() && number.iter().all(u8::is_ascii_digit)
}

/// `user-message-selector`, `PROJ-123`, a UUID; not `well-known`.
fn is_hyphenated_name(part: &str) -> bool {
    if !(6..=LONGEST_IDENTIFIER).contains(&part.len()) {
        return false;
    }
    let (mut marks, mut hyphens, mut shortest, mut length) = (0, 0, usize::MAX, 0);
    for byte in part.bytes() {
        if byte == b'-' {
            hyphens += 1;
            shortest = shortest.min(length);
            length = 0;
        } else {
            marks |= if byte.is_ascii() { MARKS[byte as usize] } else { 0 };
            length += 1;
        }
    }
    marks & (SMALL | CAPITAL) != 0 && (marks & DIGIT != 0 || hyphens >= 2 && shortest.min(length) >= 2)
}

/// Whether a word is an identifier: it has capitals or underscores inside, digits beside letters or
/// only capitals, or is a number of at least four digits.
pub(super) fn is_identifier(word: &str) -> bool {
    let bytes = word.as_bytes();
    if !(3..=LONGEST_IDENTIFIER).contains(&bytes.len()) {
        return false;
    }
    // Nearly all words have only small letters after the first one, and are not identifiers.
    if bytes[0].is_ascii_alphabetic() && small_letters(bytes, 1) + 1 == bytes.len() {
        return false;
    }
    let (mut upper, mut lower, mut digits, mut has_hump) = (0, 0, 0, false);
    // The marks of the two bytes before.
    let mut before = [0_u8; 2];
    for byte in bytes {
        let mark = if byte.is_ascii() { MARKS[*byte as usize] } else { return false };
        upper += usize::from(mark == CAPITAL);
        lower += usize::from(mark == SMALL);
        digits += usize::from(mark == DIGIT);
        // `eT` in `setTheme`; `MLE` in `HTMLElement` ends with a small letter.
        has_hump |=
            before[1] == SMALL && mark == CAPITAL || bytes.len() >= 5 && before == [CAPITAL, CAPITAL] && mark == SMALL;
        before = [before[1], mark];
    }
    let letters = upper + lower;
    if letters == 0 {
        return digits == bytes.len() && (4..=12).contains(&digits);
    }
    let has_underscore = || word.trim_matches('_').contains('_');
    let is_shouted = upper == letters && letters >= 4;
    has_hump || digits > 0 || is_shouted || has_underscore()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut names = Vec::new();
        scan(text, |kind, name| {
            names.push(format!("{}{name}", if kind == NameKind::Path { "path " } else { "" }));
        });
        names
    }

    #[test]
    fn endings_are_sorted() {
        assert!(FILE_ENDINGS.is_sorted(), "{FILE_ENDINGS:?}");
        assert_eq!(FILE_ENDINGS.iter().map(|ending| ending.len()).max(), Some(LONGEST_ENDING));
    }

    #[test]
    fn paths_and_identifiers_are_known_by_their_shape() {
        for (text, expected) in [
            ("Fix src/parser.rs:12:5, please.", &["path src/parser.rs"][..]),
            ("see ../theme/theme.js and ~/.pi/agent/", &["path ../theme/theme.js", "path ~/.pi/agent"]),
            ("C:\\Users\\ada\\Main.cs:40 failed", &["path C:\\Users\\ada\\Main.cs"]),
            ("im Ordner docs/übersicht.md steht's", &["path docs/übersicht.md"]),
            ("修复src/main.rs中的错误", &["path src/main.rs"]),
            ("打开D:\\work\\12张菜单\\index.html看看", &["path D:\\work\\12张菜单\\index.html"]),
            ("见docs/菜单备份.html和docs/说明.md。", &["path docs/菜单备份.html", "path docs/说明.md"]),
            ("docs/手順書.mdを開く", &["path docs/手順書.md"]),
            ("docs/설명.md:12를 고쳐", &["path docs/설명.md"]),
            ("在src/目录下的main.rs里，src/api目录下", &["path main.rs", "path src/api"]),
            ("src/a.rs和src/b.rs", &["path src/a.rs", "path src/b.rs"]),
            ("`src/目录/main.rs` “C:\\菜单\\价格” 功率/速度", &["path src/目录/main.rs", "path C:\\菜单\\价格"]),
            ("菜单/说明.md 和 AI/聊天", &[]),
            ("path src\\n菜单.md", &[]),
            ("исправь файл cmd/server/main.go!", &["path cmd/server/main.go"]),
            ("README.md, then theme.ts.", &["path README.md", "path theme.ts"]),
            ("https://example.org/a/b. Next", &["https://example.org/a/b"]),
            ("setCustomBgFn(snake_case, XMLHttpRequest)", &["setCustomBgFn", "snake_case", "XMLHttpRequest"]),
            ("error[E0308] TS2345 ENOENT", &["E0308", "TS2345", "ENOENT"]),
            ("PROJ-123 user-message-selector well-known", &["PROJ-123", "user-message-selector"]),
            ("550e8400-e29b-41d4-a716-446655440000", &["550e8400-e29b-41d4-a716-446655440000"]),
            ("#b5bd68 port 4711 v1.2.3 at 10.0.0.7", &["b5bd68", "4711", "v1.2.3", "10.0.0.7"]),
            ("std::collections::HashMap", &["HashMap"]),
            ("grep -A10 sum", &[]),
            ("[2.4357677,48.7792649],[2.4362605,48.7774179]", &[]),
            ("A plain sentence, isn't it? Yes... 12/05 and 1/2.", &[]),
            ("@scope/package-name", &["path @scope/package-name"]),
            ("\\d+\\w a\\b \\n\\nType /\\x1b/", &["nType", "x1b"]),
            ("//// ---- .... ::", &[]),
            ("src='/%3E%3C/svg%3E' is image/png or text/html", &[]),
            ("Se\\xe7\\xe3o and Request\\r\\n\\r\\n", &[]),
            ("out/frame_%04d.png", &["path out/frame_%04d.png"]),
            ("image/logo.png and text/a/b", &["path image/logo.png", "path text/a/b"]),
            ("<div></div></userName> </usr/lib/x.h>", &["userName", "path /usr/lib/x.h"]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn names_that_help_nobody_are_known() {
        let record = |name: &str, places| NameRecord {
            name: name.to_owned(),
            times: 1,
            position: 1,
            places,
            sources: Sources::default(),
        };
        for name in [
            "12px",
            "75rem",
            "300ms",
            "000000",
            "fff",
            "2026",
            "8412",
            "DEBUG",
            "main.1608a09b.js",
            "assets/KaTeX_Main-Regular.1608a09b.woff",
            "IMG-4F7739DC537C.jpeg",
            "/tmp/shots/screenshot-1788095503961-0.jpg",
            "/dev/null",
            "/usr/bin",
            "/usr/bin/env",
            "3\\venv\\Lib\\site-packages\\django\\db\\models\\query.py",
            "/srv/shop/node_modules/x/index.js",
            "GET/POST/PATCH",
            ".ts/.tsx/.js",
            "DD/MM/YYYY",
            "reads/validates",
            "reads/keeps/writes",
            "menus/non-food",
            "connexion/état",
            "PORT-3/4/5",
            "/path/to/menu.rs",
            "/api/...",
            "HEAD..origin/main",
        ] {
            assert!(is_noise(&record(name, Places::ANSWER)), "{name}");
        }
        assert!(!is_noise(&record("src/parser", Places::ANSWER)));
        for name in
            ["reads/validates", "devices/null", ".github/workflows", "../.env", "api/v1", "/api/GET", "Makefile"]
        {
            assert!(!is_noise(&record(name, Places::ANSWER.with(Places::CALL))), "{name}");
        }
        for name in [
            "b5bd68",
            "1a2b3c4",
            "useState",
            "E0308",
            "v1.2.3",
            "load_rows",
            "README.md",
            "a-b.test.ts",
            "4k",
            "20260101120000_add_users.up.sql",
        ] {
            assert!(!is_noise(&record(name, Places::ANSWER)), "{name}");
        }
        for name in ["Right/Wrong/Unknown", "REST/GraphQL"] {
            assert!(is_noise(&record(name, Places::ANSWER.with(Places::PERSON))), "{name}");
            assert!(!is_noise(&record(name, Places::ANSWER.with(Places::EDIT))), "{name}");
        }
        assert!(is_noise(&record("menus/dishes", Places::ANSWER.with(Places::PERSON))));
        for name in ["menus/dishes", "menus/dishes/soups"] {
            assert!(!is_noise(&record(name, Places::PERSON)), "{name}");
            assert!(!is_noise(&record(name, Places::ANSWER.with(Places::CALL))), "{name}");
        }
        for name in ["5433", "ENOENT", "PATCH"] {
            assert!(!is_noise(&record(name, Places::ANSWER.with(Places::PERSON))), "{name}");
            assert!(!is_noise(&record(name, Places::ERROR)), "{name}");
        }
    }

    #[test]
    fn a_huge_run_is_passed_over() {
        let text = format!("aB1 {} cD2", "x_1/".repeat(1 << 20));
        assert_eq!(names(&text), ["aB1", "cD2"]);
    }

    proptest::proptest! {
        #[test]
        fn names_are_parts_of_the_text(text in "\\PC*|[a-zA-Z0-9_/\\\\.:é中-]{0,60}") {
            scan(&text, |_, name| assert!(text.contains(name) && name.len() >= 3));
        }
    }
}
