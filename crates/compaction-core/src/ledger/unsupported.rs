//! Names in a summary that none of its sources supports.

use std::collections::HashSet;

use super::finder::{Finder, Pattern};
use super::loss::{Check, base_name, texts};
use super::scan::{NameKind, ending, scan};

/// Most names of a summary that are checked.
const MOST_CLAIMS: usize = 512;
/// Fewest digits of a number that is checked. Shorter numbers are everywhere.
const FEWEST_DIGITS: usize = 3;
/// Fewest characters of a hash.
const SHORTEST_HASH: usize = 7;
/// Units of numbers, in lower case.
const UNITS: &[&str] = &[
    "%", "ms", "s", "sec", "secs", "second", "seconds", "min", "mins", "minutes", "h", "hours", "days", "b", "kb",
    "mb", "gb", "kib", "mib", "gib", "bytes", "tokens", "lines", "px", "fps", "rows", "files", "tests", "messages",
];
/// Words before approximate numbers.
const ABOUT: &[&str] = &[
    "about",
    "around",
    "approximately",
    "approx",
    "roughly",
    "nearly",
    "almost",
    "over",
    "under",
    "than",
    "ca",
    "circa",
];

/// A name of the summary that must appear in one of its sources.
struct Claim<'a> {
    name: &'a str,
    /// The text to search for: the name, or the digits of a number.
    sought: String,
    is_word: bool,
    /// Whether case is ignored.
    is_loose: bool,
}

/// Names of the summary that appear in none of its sources: the compacted messages, the previous
/// summary, the kept messages and the ledger.
///
/// Only texts that are certainly names are checked: paths with a file ending or from a root, file
/// names, identifiers with an underscore or a capital after lower-case letters, tickets, error codes,
/// hashes, versions of three parts, and numbers of at least three digits with a unit.
pub(super) fn unsupported(check: &Check<'_>) -> Vec<String> {
    let claims = claims(check);
    if claims.is_empty() {
        return Vec::new();
    }
    let pattern = |claim: &'_ Claim<'_>| (claim.sought.clone(), claim.is_word);
    let exact: Vec<(String, bool)> = claims.iter().map(pattern).collect();
    let found = search(check, &exact, false);
    let left: Vec<&Claim<'_>> =
        claims.iter().zip(found).filter(|(_, is_found)| !is_found).map(|(claim, _)| claim).collect();
    let loose: Vec<(String, bool)> =
        left.iter().filter(|claim| claim.is_loose).map(|claim| (claim.sought.to_lowercase(), claim.is_word)).collect();
    let mut found = if loose.is_empty() { Vec::new() } else { search(check, &loose, true) }.into_iter();
    let is_unsupported = |claim: &&&Claim<'_>| !(claim.is_loose && found.next().unwrap_or(false));
    left.iter().filter(is_unsupported).map(|claim| claim.name.to_owned()).collect()
}

/// Which of `sought` appear in the sources of the summary, compared in lower case if `is_lower`.
fn search(check: &Check<'_>, sought: &[(String, bool)], is_lower: bool) -> Vec<bool> {
    let patterns = sought.iter().map(|(text, is_word)| Pattern { text, is_word: *is_word }).collect();
    let mut finder = Finder::new(patterns);
    let mut read = |text: &str| match is_lower {
        _ if finder.is_done() => {}
        true => finder.search(&text.to_lowercase()),
        false => finder.search(text),
    };
    let ledger = check.ledger;
    check.previous_summary.into_iter().for_each(&mut read);
    for prepared in check.evicted.iter().chain(check.kept) {
        texts(&prepared.message, &mut read);
    }
    let notes = ledger.notes.iter().map(|note| &note.text);
    let told = notes.chain(ledger.commands.iter().map(|command| &command.command));
    let told = told.chain(ledger.errors.iter().map(|error| &error.line));
    let told = told.chain(ledger.requests.iter().map(|request| &request.text));
    let told = told.chain(ledger.statements.iter().map(|statement| &statement.text));
    let told = told.chain(ledger.plan.items.iter().map(|item| &item.text));
    told.for_each(|text| read(text));
    finder.found()
}

/// The names of the summary that are not known already.
fn claims<'a>(check: &Check<'a>) -> Vec<Claim<'a>> {
    let ledger = check.ledger;
    let files = ledger.files.iter().map(|file| file.path.as_str());
    let names = ledger.paths.iter().chain(&ledger.identifiers).map(|record| record.name.as_str());
    let known: HashSet<&str> = files.chain(names).collect();
    let bases: HashSet<&str> = known.iter().map(|path| base_name(path)).collect();
    let mut claims: Vec<Claim<'a>> = Vec::new();
    let mut seen = HashSet::new();
    for part in cut_parts(check.summary) {
        let mut add = |name: &'a str, sought: &str, is_word: bool, is_loose: bool| {
            if claims.len() < MOST_CLAIMS && seen.insert(name) {
                claims.push(Claim { name, sought: sought.to_owned(), is_word: is_word && !part.cuts(name), is_loose });
            }
        };
        scan(part.text, |kind, name| match kind {
            NameKind::Path if is_certain(name) && !is_known(name, &known) => add(name, name, true, false),
            NameKind::Path if is_bare_file(name) && !bases.contains(name) => add(name, name, true, true),
            NameKind::Identifier if is_exact(name) && !known.contains(name) => add(name, name, false, true),
            _ => {}
        });
        numbers(part.text, |shown, digits| add(shown, digits, false, false));
    }
    claims
}

/// `name.ending`
fn is_bare_file(name: &str) -> bool {
    !name.contains(['/', '\\']) && ending(name).is_some() && name.len() > 4 && name.is_ascii()
}

/// Whether an identifier is specific enough to be checked. Product names and words with a number are
/// not.
fn is_exact(name: &str) -> bool {
    let bytes = name.as_bytes();
    let count = |is_one: fn(&u8) -> bool| bytes.iter().filter(|byte| is_one(byte)).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let is_hash = bytes.len() >= SHORTEST_HASH && bytes.iter().all(u8::is_ascii_hexdigit) && digits > 1 && letters > 1;
    let is_version = !name.contains(['/', '-']) && name.split('.').count() >= 3 && digits >= 3;
    let code = name.trim_start_matches(|character: char| character.is_ascii_uppercase() || character == '-');
    let is_code = code.len() >= 3 && code.bytes().all(|byte| byte.is_ascii_digit()) && name.len() > code.len();
    let has_underscore = name.trim_matches('_').contains('_') && letters > 3 && !name.contains('-');
    let small = bytes.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    let has_hump = small >= 2
        && bytes.get(small..).is_some_and(|rest| {
            rest.first().is_some_and(u8::is_ascii_uppercase) && rest.get(1).is_some_and(u8::is_ascii_lowercase)
        });
    let is_plain = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    is_hash || is_version || is_code || (has_underscore || has_hump) && is_plain
}

/// Calls `found` with each exact number that has a unit, and with its digits.
fn numbers<'a>(text: &'a str, mut found: impl FnMut(&'a str, &str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_digit() {
            at += 1;
            continue;
        }
        let start = at;
        while bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b',')) {
            at += 1;
        }
        let number = text[start..at].trim_end_matches(['.', ',']);
        let rest = text[start + number.len()..].trim_start_matches(' ');
        let unit = rest.split(|character: char| !character.is_ascii_alphabetic() && character != '%').next();
        let unit = unit.unwrap_or_default();
        let is_unit = UNITS.contains(&unit.to_ascii_lowercase().as_str());
        let before = text[..start].trim_end();
        let last = before.rsplit(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
        let is_about = before.ends_with(['~', '\u{2248}', '<', '>', '+', '\u{2264}', '\u{2265}', '-', '\u{2013}'])
            || ABOUT.contains(&last.to_lowercase().as_str());
        let is_joined = start > 0 && !matches!(bytes[start - 1], b' ' | b'(' | b'`' | b'*' | b':' | b'\n' | b'\t');
        let digits = number.trim_end_matches('0').bytes().filter(u8::is_ascii_digit).count();
        if is_unit && !is_about && !is_joined && digits >= FEWEST_DIGITS {
            found(number, number);
        }
        at = at.max(start + 1);
    }
}

/// A part of a text between marks of cuts.
struct CutPart<'a> {
    text: &'a str,
    follows_cut: bool,
    precedes_cut: bool,
}

fn cut_parts(text: &str) -> impl Iterator<Item = CutPart<'_>> {
    let mut parts = text.split('\u{2026}').enumerate().peekable();
    std::iter::from_fn(move || {
        let (number, text) = parts.next()?;
        Some(CutPart { text, follows_cut: number > 0, precedes_cut: parts.peek().is_some() })
    })
}

impl CutPart<'_> {
    /// Whether a name is at a cut, so that it may be a piece of a longer name.
    fn cuts(&self, name: &str) -> bool {
        self.follows_cut && self.text.trim_start().starts_with(name)
            || self.precedes_cut && self.text.trim_end().ends_with(name)
    }
}

fn is_certain(path: &str) -> bool {
    let is_rooted = path.starts_with(['/', '~', '.']) || path.as_bytes().get(1) == Some(&b':');
    let separators = path.bytes().filter(|byte| matches!(byte, b'/' | b'\\')).count();
    ending(path).is_some() && separators > 0 || is_rooted && separators > 1
}

/// Whether a path, or its end without leading directories, is known.
fn is_known(path: &str, known: &HashSet<&str>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]).filter(|end| end.contains('/'));
    known.contains(path) || ends.into_iter().any(|end| known.contains(end))
}
