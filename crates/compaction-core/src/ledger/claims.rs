//! Claims of a summary that contradict the ledger, and names in a summary that appear in none of its sources.
//!
//! Only plain English claims about files, runs, commits and pushes are checked. A sentence that demands,
//! asks, doubts or states a condition claims nothing.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::commands::{core_command, is_lookup, purposes};
use super::finder::{Finder, Pattern, automaton};
use super::loss::{Check, Suspicion, base_name, texts};
use super::names::{NameKind, ending, scan};
use super::statements::{sentences, without_marker};
use super::terms::TextHashing;
use super::text::{WordList, quoted, word_list};
use super::{CommandRecord, FileRecord, Ledger, Outcome, Statement};
use crate::phrases::{PROGRAMS, SPACED, listed};

/// Words of sentences that claim nothing: demands, questions, conditions, plans.
static HEDGES: WordList = word_list!(SPACED, "claims: hedges");
/// Words that say that something was changed.
static CHANGED: WordList = word_list!(SPACED, "claims: changed");
/// Their forms after a negation.
static CHANGE: WordList = word_list!(SPACED, "claims: change");
/// Words that say that something was not changed, alone or before a form of [`CHANGE`].
static UNCHANGED: WordList = word_list!(SPACED, "claims: unchanged");
static DENIALS: WordList = word_list!(SPACED, "claims: denials");
/// Words that join a subject to its predicate.
static COPULAS: WordList = word_list!(SPACED, "claims: copulas");
/// Words between a subject and its predicate that do not affect the meaning.
static BESIDE: WordList = word_list!(SPACED, "claims: beside");
/// Words between a verb and its object that do not affect the meaning.
static ARTICLES: WordList = word_list!(SPACED, "claims: articles");
/// Subjects that do the work in a summary.
static WORKERS: WordList = word_list!(SPACED, "claims: workers");

/// Finds a part of the words that make a claim. Nearly all sentences have none.
static TELLING: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(listed!(SPACED, "claims: pieces"), true));

/// Claims of `summary` that contradict the ledger.
pub(super) fn reversed(summary: &str, ledger: &Ledger) -> Vec<Suspicion> {
    let mut found = Vec::new();
    for line in summary.lines() {
        let item = without_marker(line);
        if item.starts_with("[ ]") || item.starts_with('<') {
            continue;
        }
        for sentence in sentences(without_box(item)) {
            read_sentence(sentence, ledger, &mut |suspicion| {
                if !found.contains(&suspicion) {
                    found.push(suspicion);
                }
            });
        }
    }
    found
}

/// An item without its check box.
fn without_box(item: &str) -> &str {
    ["[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item)
}

fn read_sentence(sentence: &str, ledger: &Ledger, found: &mut impl FnMut(Suspicion)) {
    if !TELLING.is_match(sentence) {
        return;
    }
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let all: Vec<&str> = words(&lower);
    if all.iter().any(|word| HEDGES.has(word)) || lower.contains("do not ") || lower.contains("to be ") {
        return;
    }
    let fails = all.iter().any(|word| word.starts_with("fail"));
    for clause in clauses(&lower) {
        let words = words(clause);
        read_files(clause, &words, ledger, found);
        if !fails {
            read_runs(&words, ledger, found);
        }
    }
    let is_denied = all.iter().any(|word| DENIALS.has(word) || word.starts_with("no"));
    if !fails && !is_denied {
        read_command(sentence, &all, ledger, found);
    }
    if !is_denied {
        read_commits(&all, ledger, found);
    }
}

/// The parts of a sentence, each with its own subject.
fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let parts = sentence.split([';', ',']).flat_map(|part| part.split(" but "));
    parts.flat_map(|part| part.split(" while ")).flat_map(|part| part.split(" although "))
}

fn words(text: &str) -> Vec<&str> {
    let is_mark = |character: char| !character.is_alphanumeric() && !matches!(character, '/' | '\\' | '~');
    // A mark at the beginning of a name belongs to it.
    text.split_whitespace().map(|word| word.trim_matches(is_mark)).filter(|word| !word.is_empty()).collect()
}

/// The only file that a word can name.
fn file<'a>(word: &str, ledger: &'a Ledger) -> Option<&'a FileRecord> {
    if !word.contains(['.', '/', '\\']) {
        return None;
    }
    let is_named = |path: &str| {
        let path = path.to_lowercase();
        path == word || path.strip_suffix(word).is_some_and(|rest| rest.ends_with(['/', '\\']))
    };
    let mut files = ledger.files.iter().filter(|file| is_named(&file.path));
    files.next().filter(|_| files.next().is_none())
}

fn read_files(clause: &str, words: &[&str], ledger: &Ledger, found: &mut impl FnMut(Suspicion)) {
    for (at, word) in words.iter().enumerate() {
        if let Some(named) = file(word, ledger) {
            let is_set_off = is_set_off(clause, word);
            if let Some(is_changed) = claim_after(&words[at + 1..], is_set_off, ledger) {
                judge(named, is_changed, ledger, found);
            }
        }
        let before = &words[..at];
        let is_done = CHANGED.has(word) && before.iter().all(|word| WORKERS.has(word) || *word == "the");
        let is_denied = CHANGE.has(word) && before.last().is_some_and(|last| DENIALS.has(last));
        let is_none = matches!(*word, "changes" | "edits" | "modifications") && before.last() == Some(&"no");
        if is_done || is_denied || is_none {
            let articles =
                |word: &&&str| ARTICLES.has(word) || is_none && matches!(**word, "to" | "in" | "were" | "made");
            let objects = words[at + 1..].iter().skip_while(articles);
            let objects = objects.take_while(|word| **word == "and" || file(word, ledger).is_some());
            objects.filter_map(|word| file(word, ledger)).for_each(|named| judge(named, is_done, ledger, found));
        }
    }
}

/// Whether a mark such as a colon separates a name from the words about it.
fn is_set_off(clause: &str, name: &str) -> bool {
    let rest = clause.split_once(name).map_or("", |(_, rest)| rest);
    let rest = rest.trim_start_matches(['`', '*', '_', ' ']);
    rest.starts_with([':', '-', '(', '\u{2013}', '\u{2014}'])
}

/// Whether the words after a name say that it was changed; `None` if they say neither.
fn claim_after(words: &[&str], is_set_off: bool, ledger: &Ledger) -> Option<bool> {
    let (mut is_bound, mut is_denied, mut is_left, mut is_only) = (false, false, false, false);
    for (at, word) in words.iter().enumerate() {
        let word = *word;
        is_denied |= word != "no" && DENIALS.has(word);
        is_left |= word == "left";
        is_only |= word == "only";
        let is_by_other = words.get(at + 1).is_some_and(|next| *next == "by");
        match word {
            _ if UNCHANGED.has(word) => return (is_bound || is_set_off && at == 0).then_some(is_denied),
            "touched" if is_bound && is_denied => return Some(false),
            _ if CHANGED.has(word) => {
                return ((is_bound || is_set_off && at == 0) && !is_by_other).then_some(!is_denied);
            }
            "as" | "alone" if is_left => return Some(false),
            "read" if is_only && is_bound => return Some(false),
            _ if COPULAS.has(word) => is_bound = true,
            _ if BESIDE.has(word) || DENIALS.has(word) || file(word, ledger).is_some() => {}
            _ => return None,
        }
    }
    None
}

fn judge(file: &FileRecord, is_changed: bool, ledger: &Ledger, found: &mut impl FnMut(Suspicion)) {
    let path = file.path.clone();
    if !is_changed && file.is_modified() {
        return found(Suspicion::Modified { path });
    }
    // Commands can change files too.
    let name = base_name(&path);
    let is_named = |command: &&CommandRecord| command.command.contains(name) && !is_lookup(&command.command);
    if is_changed && !file.is_modified() && file.read > 0 && !ledger.commands.iter().any(|command| is_named(&command)) {
        found(Suspicion::NotModified { path });
    }
}

/// Kinds of runs: their names in summaries, and words in the purposes of their commands.
const RUNS: [(&[&str], &[&str]); 3] = [
    (&["test", "tests", "suite", "specs"], &["test", "jest", "rspec", "mocha", "phpunit", "tox"]),
    (&["build", "project", "code", "crate", "workspace"], &["build", "compile", "tsc", "make", "assemble"]),
    (&["lint", "linter", "linting", "clippy"], &["lint", "clippy", "ruff", "credo", "rubocop", "flake8"]),
];
const BEFORE_RUNS: &[&str] = listed!(SPACED, "claims: before runs");
const BEFORE_SUCCESS: &[&str] = listed!(SPACED, "claims: before success");
const BEHIND_SUCCESS: &[&str] = listed!(SPACED, "claims: behind success");
const SUCCEEDS: &[&str] = listed!(SPACED, "claims: succeeds");
const SUCCEEDED: &[&str] = listed!(SPACED, "claims: succeeded");

fn read_runs(words: &[&str], ledger: &Ledger, found: &mut impl FnMut(Suspicion)) {
    let is_in = |list: &[&str], word: &str| list.contains(&word);
    for (names, purposes) in RUNS {
        let Some(at) = words.iter().position(|word| is_in(names, word)) else { continue };
        let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
        if !words[..at].iter().all(|word| is_in(BEFORE_RUNS, word) || is_number(word)) {
            continue;
        }
        let Some(verb) = words[at + 1..].iter().position(|word| !is_in(BEFORE_SUCCESS, word)) else { continue };
        let verb = at + 1 + verb;
        let is_now = is_in(SUCCEEDS, words[verb]);
        let is_plain = words.get(verb + 1).is_none_or(|next| is_in(BEHIND_SUCCESS, next));
        if is_plain && (is_now || is_in(SUCCEEDED, words[verb])) {
            last_run(ledger, purposes)
                .filter(|last| is_reverse(last, is_now))
                .into_iter()
                .for_each(|last| failed(last, found));
        }
    }
}

/// The last command of a kind.
fn last_run<'a>(ledger: &'a Ledger, kinds: &[&str]) -> Option<&'a CommandRecord> {
    let is_of_kind = |command: &&CommandRecord| {
        let purposes = purposes(&command.command);
        purposes.iter().any(|purpose| kinds.iter().any(|kind| purpose.contains(kind)))
    };
    let ended = ledger.commands.iter().filter(|command| !command.is_call && command.outcome != Outcome::Open);
    ended.filter(is_of_kind).max_by_key(|command| command.position)
}

/// Whether a claimed success contradicts the outcome of a command. What "passes" must have passed in
/// its last run; what "passed" must have passed at least once.
fn is_reverse(command: &CommandRecord, is_now: bool) -> bool {
    command.outcome == Outcome::Failed && (is_now || command.succeeded == 0)
}

fn failed(command: &CommandRecord, found: &mut impl FnMut(Suspicion)) {
    found(Suspicion::Failed { command: command.command.clone() });
}

/// `` `make test` passes ``
fn read_command(sentence: &str, words: &[&str], ledger: &Ledger, found: &mut impl FnMut(Suspicion)) {
    let has = |list: &[&str]| words.iter().any(|word| list.contains(word));
    let (is_now, was) = (has(SUCCEEDS), has(SUCCEEDED));
    if !is_now && !was {
        return;
    }
    let named = |name: &str| {
        ledger.commands.iter().find(|command| command.command == name || command.command == core_command(name))
    };
    quoted(sentence)
        .filter_map(named)
        .filter(|command| is_reverse(command, is_now))
        .for_each(|command| failed(command, found));
}

fn read_commits(words: &[&str], ledger: &Ledger, found: &mut impl FnMut(Suspicion)) {
    const BEFORE: &[&str] = &["is", "are", "was", "were", "been", "i", "we", "and", "already", "now"];
    const WORK: &[&str] = &["changes", "everything", "work", "fix", "all", "commit", "commits", "branch", "code"];
    const PLACES: &[&str] =
        &["origin", "main", "master", "remote", "upstream", "github", "gitlab", "branch", "repository"];
    let is_claimed = |verb: &str| {
        let at = words.iter().position(|word| *word == verb)?;
        let is_done = at == 0 || BEFORE.contains(&words[at - 1]);
        let rest = &words[at + 1..];
        let is_to = rest.first().is_some_and(|next| next.starts_with("to") || next.starts_with("onto"));
        let is_place = rest.iter().take(3).any(|word| PLACES.contains(&word.split('/').next().unwrap_or_default()));
        let is_of_work = words[..at].iter().any(|word| WORK.contains(word));
        let is_known = if verb == "pushed" { is_place || is_of_work || words.contains(&"committed") } else { true };
        (is_done && is_known && (!is_to || is_place)).then_some(())
    };
    if is_claimed("committed").is_some() && !was_done(ledger, "commit") {
        found(Suspicion::NotCommitted);
    }
    if is_claimed("pushed").is_some() && !was_done(ledger, "push") {
        found(Suspicion::NotPushed);
    }
}

/// Whether something was committed or pushed, or nobody can know.
fn was_done(ledger: &Ledger, verb: &str) -> bool {
    let verb = automaton([verb], true);
    let by_command = |command: &CommandRecord| {
        (command.succeeded > 0 || command.outcome == Outcome::Open) && verb.is_match(&command.command)
    };
    let states = |one: &Statement| one.states() && verb.is_match(&one.text);
    let statements = || ledger.statements.iter().any(states);
    ledger.left_out.of("commands") > 0 || ledger.commands.iter().any(by_command) || statements()
}

/// Most names of a summary that are checked.
const MOST_CLAIMS: usize = 512;
/// Fewest digits of a number that is checked. Shorter numbers are everywhere.
const FEWEST_DIGITS: usize = 3;
/// Fewest characters of a hash.
const SHORTEST_HASH: usize = 7;
/// Units that may follow a number, in lower case.
const UNITS: &[&str] = listed!(PROGRAMS, "claims: units");
/// Words before approximate numbers.
static ABOUT: WordList = word_list!(SPACED, "claims: about");

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
    let read = |finder: &mut Finder<'_>, text: &str| match is_lower {
        _ if finder.is_done() => {}
        true => finder.search(&text.to_lowercase()),
        false => finder.search(text),
    };
    let ledger = check.ledger;
    check.previous_summary.into_iter().for_each(|text| read(&mut finder, text));
    // The ledger contains nearly all of them, and its texts need not be parsed.
    let notes = ledger.notes.iter().map(|note| &note.text);
    let own = notes.chain(ledger.commands.iter().map(|command| &command.command));
    let own = own.chain(ledger.errors.iter().map(|error| &error.line));
    let own = own.chain(ledger.requests.iter().map(|request| &request.text));
    let own = own.chain(ledger.statements.iter().map(|statement| &statement.text));
    let own = own.chain(ledger.plan.items.iter().map(|item| &item.text));
    // A call is shown with its arguments as JSON, where names have escapes.
    let own = own.chain(ledger.results.iter().map(|result| &result.target));
    own.for_each(|text| read(&mut finder, text));
    for prepared in check.evicted.iter().chain(check.kept) {
        // The body of a long message would be parsed for nothing.
        if finder.is_done() {
            break;
        }
        texts(&prepared.message, &mut |text| read(&mut finder, text));
    }
    finder.found()
}

/// The names of the summary that are not known already.
fn claims<'a>(check: &Check<'a>) -> Vec<Claim<'a>> {
    let ledger = check.ledger;
    let files = ledger.files.iter().map(|file| file.path.as_str());
    let names = ledger.paths.iter().chain(&ledger.identifiers).map(|record| record.name.as_str());
    let known: HashSet<&str, TextHashing> = files.chain(names).collect();
    let bases: HashSet<&str, TextHashing> = known.iter().map(|path| base_name(path)).collect();
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
            || ABOUT.has(last.to_lowercase().as_str());
        let is_joined = start > 0 && !matches!(bytes[start - 1], b' ' | b'(' | b'`' | b'*' | b':' | b'\n' | b'\t');
        let digits = number.trim_end_matches('0').bytes().filter(u8::is_ascii_digit).count();
        if is_unit && !is_about && !is_joined && digits >= FEWEST_DIGITS {
            found(number, number);
        }
        at = at.max(start + 1);
    }
}

/// A part of a text between two cuts.
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
    /// Whether a name is at a cut and so may be a piece of a longer name.
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
fn is_known(path: &str, known: &HashSet<&str, TextHashing>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]).filter(|end| end.contains('/'));
    known.contains(path) || ends.into_iter().any(|end| known.contains(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;

    /// A sentence, a ledger, and the contradictions between them.
    struct Case {
        says: String,
        ledger: Ledger,
        expected: Vec<String>,
        is_held_out: bool,
    }

    fn strings(json: Option<&Json<'_>>) -> Vec<String> {
        match json {
            Some(Json::Array(items)) => items.iter().filter_map(Json::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    fn case(line: &str) -> Case {
        let json = Json::parse(line).expect("the line is JSON");
        let mut ledger = Ledger::default();
        if let Some(Json::Object(files)) = json.get("files") {
            for (path, state) in files.iter() {
                let edited = u64::from(state.as_str() == Some("changed"));
                let (read, written, position, sources) = (1, 0, 1, Default::default());
                let changed_at = if written + edited > 0 { position } else { 0 };
                ledger.files.push(FileRecord {
                    path: path.to_string(),
                    read,
                    written,
                    edited,
                    position,
                    changed_at,
                    deleted_at: 0,
                    sources,
                });
            }
        }
        if let Some(Json::Array(commands)) = json.get("commands") {
            for (position, command) in (1..).zip(commands) {
                let Json::Array(parts) = command else { panic!("a command is a list") };
                let outcomes = strings(parts.get(1));
                let count = |outcome: &str| outcomes.iter().filter(|own| *own == outcome).count() as u64;
                let is_failed = outcomes.last().is_some_and(|last| last == "failed");
                ledger.commands.push(CommandRecord {
                    command: parts[0].as_str().expect("a command is a text").to_owned(),
                    is_call: false,
                    succeeded: count("succeeded"),
                    failed: count("failed"),
                    outcome: if is_failed { Outcome::Failed } else { Outcome::Succeeded },
                    last_error: None,
                    position,
                    sources: Default::default(),
                });
            }
        }
        Case {
            says: json.get("says").and_then(Json::as_str).expect("a case says something").to_owned(),
            ledger,
            expected: strings(json.get("expected")),
            is_held_out: json.get("heldOut").and_then(Json::as_bool).unwrap_or(false),
        }
    }

    fn described(suspicion: &Suspicion) -> String {
        match suspicion {
            Suspicion::NotModified { path } => format!("notModified {path}"),
            Suspicion::Modified { path } => format!("modified {path}"),
            Suspicion::Failed { command } => format!("failed {command}"),
            Suspicion::NotCommitted => "notCommitted".to_owned(),
            Suspicion::NotPushed => "notPushed".to_owned(),
        }
    }

    #[test]
    fn claims_that_are_reversed_are_found_and_true_ones_are_let_be() {
        let (mut reversed, mut found, mut held, mut held_found) = (0, 0, 0, 0);
        for case in include_str!("../../fixtures/reversed.jsonl").lines().map(case) {
            let suspicions: Vec<String> = super::reversed(&case.says, &case.ledger).iter().map(described).collect();
            let alarms: Vec<_> = suspicions.iter().filter(|suspicion| !case.expected.contains(suspicion)).collect();
            assert!(alarms.is_empty(), "{:?}: {alarms:?}", case.says);
            if case.expected.is_empty() {
                continue;
            }
            let is_found = suspicions.len() == case.expected.len();
            (reversed, found) = (reversed + 1, found + usize::from(is_found));
            if case.is_held_out {
                (held, held_found) = (held + 1, held_found + usize::from(is_found));
            } else if !is_found {
                eprintln!("not found: {:?} {suspicions:?}", case.says);
            }
        }
        eprintln!("{found} of {reversed} found, {held_found} of {held} that were held out");
        assert!(
            found * 100 >= reversed * 85 && held_found * 100 >= held * 80,
            "{found} of {reversed}, {held_found} of {held}"
        );
    }
}
