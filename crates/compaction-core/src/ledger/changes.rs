//! What the newest changes of each file added and replaced, unless later changes undid it: names of definitions,
//! replaced values with their new ones, and the most informative of the other lines.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::actions::{ABOUT, REPLACED, begins_with, shown};
use super::definitions::{Language, LineRank, defined, is_bare, is_comment, is_unfinished};
use super::names::ending;
use super::results::ShownResult;
use super::terms::TextHashing;
use super::text::{clip, one_line, quote};
use crate::json::Json;
use crate::message::{Body, Message, blocks_text};
use crate::text::{prefix_utf16, utf16_len};
use crate::tools::{FileChange, changes_in_text};

/// Number of newest changes that are read.
const MOST_CALLS: usize = 64;
/// Most parts that are kept for one file.
const MOST_OF_FILE: usize = 24;
/// Most lines of one change that are read.
const MOST_LINES: usize = 160;
/// UTF-16 units of a change that are read.
const MOST_READ: usize = 6_000;
/// Most files that are listed.
const MOST_FILES: usize = 256;
/// Most files that one call changes.
const MOST_OF_CALL: usize = 32;
/// Most texts of one object in the arguments of a call.
const MOST_TEXTS: usize = 16;
/// Levels of the arguments of a call that are searched for texts.
const DEEPEST: usize = 6;
/// Most lines of a change that are compared with those that they may replace.
const MOST_COMPARED: usize = 24;
/// Longest line that is compared, in bytes.
const LONGEST_COMPARED: usize = 400;
/// A line replaces another one if their common ends are at least this percentage of the longer one.
const SAME_PERCENT: usize = 35;
/// Longest side of a replacement, in UTF-16 units.
const LONGEST_SIDE: usize = 60;
/// Longest text that is shown before a replacement, in UTF-16 units.
const LONGEST_BEFORE: usize = 16;
/// Longest line that is quoted, in UTF-16 units.
const LONGEST_LINE: usize = 80;
/// Longest description of one file, in UTF-16 units.
const LONGEST: usize = 300;
/// Most UTF-16 units for the names of definitions.
const LONGEST_NAMES: usize = 160;
/// Most other lines of one file.
const MOST_OTHER: usize = 2;
/// Shortest line that says something, in bytes.
const SHORTEST_LINE: usize = 4;
/// Comes before the names of definitions.
const ADDS: &str = "adds ";
/// Comes before the number of names that are left out.
const AND_MORE: &str = " and ";
/// Comes before a line that was removed.
const TAKES_OUT: &str = "takes out ";
/// Comes before a line that says what is left to do.
const LEFT_OPEN: &str = "left open: ";
/// Comes between what was there and what replaces it.
const BECAME: &str = " \u{2192} ";
const SEPARATOR: &str = "; ";

/// A change of a file that succeeded.
#[derive(Debug, Clone)]
struct Change<'a> {
    /// The first file that it names, as items show it.
    path: String,
    /// The answer that contains it.
    message: &'a Message,
    /// The id of the call; `None` for blocks in the text of the answer.
    call: Option<String>,
    /// Whether it replaced all that was in the file before.
    is_whole: bool,
}

/// The newest changes, with the messages that contain them.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes<'a> {
    newest: VecDeque<Change<'a>>,
    /// Changes from earlier compactions.
    earlier: Vec<ShownResult>,
}

impl<'a> Changes<'a> {
    pub(super) fn restore(&mut self, earlier: &[ShownResult]) {
        self.earlier = earlier.to_vec();
    }

    /// Adds what an earlier summary says about a file.
    pub(super) fn note_earlier(&mut self, path: &str, text: &str) {
        self.earlier.push(ShownResult::restored(path, text));
    }

    /// Records that `message` changed the file `path`: in the call with the id `call`, or in a block of its text.
    /// `is_whole` says that the change wrote or deleted the whole file.
    pub(super) fn note(&mut self, path: &str, message: &'a Message, call: Option<&str>, is_whole: bool) {
        if self.newest.len() >= MOST_CALLS {
            self.newest.pop_front();
        }
        self.newest.push_back(Change { path: shown(path), message, call: call.map(str::to_owned), is_whole });
    }

    /// Forgets the changes of a deleted file, or of all files in a deleted directory.
    pub(super) fn forget(&mut self, path: &str) {
        let path = shown(path.trim_end_matches(['/', '\\']));
        let is_gone = |one: &str| {
            let rest = one.strip_prefix(path.as_str());
            rest.is_some_and(|rest| rest.starts_with(['/', '\\'])) || are_one(one, &path)
        };
        self.newest.retain(|change| !is_gone(&change.path));
        self.earlier.retain(|one| !is_gone(&one.target));
    }

    /// What is left of the changes, one item per file, ordered by each file's last change.
    pub(super) fn finish(self) -> Vec<ShownResult> {
        let mut all = self.earlier;
        let mut files: Vec<(String, Vec<Fragment>)> = Vec::new();
        // One message may have many calls, so it is parsed once.
        let mut newest: Option<(&Message, Cow<'_, Body>)> = None;
        for change in &self.newest {
            let known = newest.take().filter(|(message, _)| std::ptr::eq(*message, change.message));
            let (_, body) = newest.insert(known.unwrap_or_else(|| (change.message, change.message.read_body())));
            for file in change.read(body) {
                let path = file.path.as_deref().map_or_else(|| change.path.clone(), shown);
                let known = files.iter().position(|(known, _)| are_one(known, &path));
                let mut fragments = known.map(|at| files.remove(at).1).unwrap_or_default();
                let new = file.fragments(Some(&path));
                if change.is_whole {
                    fragments.clear();
                    all.retain(|known| !are_one(&known.target, &path));
                }
                fragments.retain(|one| !file.takes_out(&one.line));
                fragments.retain(|one| new.iter().all(|new| new.text != one.text));
                fragments.extend(new);
                let excess = fragments.len().saturating_sub(MOST_OF_FILE);
                fragments.drain(..excess);
                for known in all.iter_mut().filter(|known| are_one(&known.target, &path)) {
                    known.text = file.without_removed_names(&known.text, Language::of(&path));
                }
                files.push((path, fragments));
                let excess = files.len().saturating_sub(MOST_FILES);
                files.drain(..excess);
            }
        }
        for (path, fragments) in files {
            let mut text = told(&fragments);
            if let Some(at) = all.iter().position(|known| are_one(&known.target, &path)) {
                let known = all.remove(at).text;
                let older = parts_of(&known).into_iter().filter(|one| !text.contains(one.as_str()));
                let older = older.collect::<Vec<_>>().join(SEPARATOR);
                let room = LONGEST.saturating_sub(utf16_len(&text) + SEPARATOR.len());
                if room >= LONGEST_LINE && !older.is_empty() {
                    text = joined(&[text, clip(&older, room)]);
                }
            }
            if !text.is_empty() {
                all.push(ShownResult { target: path, text });
            }
        }
        all
    }
}

impl Change<'_> {
    /// What the change did to each file, from the body of its message.
    fn read(&self, body: &Body) -> Vec<ReadChange> {
        let Body::Assistant(answer) = body else { return Vec::new() };
        let mut found = Vec::new();
        match &self.call {
            Some(id) => {
                let call = answer.tool_calls().find(|call| call.id == *id);
                if let Some(arguments) = call.and_then(|call| call.arguments.as_ref()) {
                    in_arguments(arguments, DEEPEST, &mut found);
                }
            }
            None => {
                let text = blocks_text(&answer.content, "\n");
                let own = changes_in_text(prefix_utf16(&text, MOST_READ)).into_iter().flatten();
                found.extend(
                    own.filter(|one| one.path.is_some_and(|path| shown(path) == self.path)).map(ReadChange::of),
                );
            }
        }
        found.truncate(MOST_OF_CALL);
        found
    }
}

/// Reads the changes in the arguments of a call: replaced texts with their new ones, whole texts, and patches.
fn in_arguments(value: &Json<'_>, depth: usize, found: &mut Vec<ReadChange>) {
    let text = |value: &Json<'_>| value.as_str().map(|text| prefix_utf16(text, MOST_READ).to_owned());
    match value {
        Json::Object(members) if depth > 0 => {
            let is_old = |name: &str| begins_with(name, REPLACED);
            let is_about = |name: &str, text: &str| begins_with(name, ABOUT) && !text.contains('\n');
            let old = members.iter().filter(|(name, _)| is_old(name)).filter_map(|(_, value)| text(value));
            let old: Vec<String> = old.filter(|text| text.contains('\n') || !is_path(text)).collect();
            let mut texts = 0;
            for (name, value) in members {
                if found.len() >= MOST_OF_CALL || texts >= MOST_TEXTS {
                    return;
                }
                texts += usize::from(value.as_str().is_some());
                match text(value) {
                    Some(_) if is_old(name) => {}
                    Some(new) if is_about(name, &new) || old.is_empty() && !new.contains('\n') && is_path(&new) => {}
                    Some(new) => found.extend(in_text(&new, &old)),
                    None => in_arguments(value, depth - 1, found),
                }
            }
        }
        Json::Array(items) if depth > 0 => items.iter().take(MOST_OF_CALL).for_each(|item| match text(item) {
            Some(text) if text.contains('\n') => found.extend(in_text(&text, &[])),
            Some(_) => {}
            None => in_arguments(item, depth - 1, found),
        }),
        Json::String(_) => found.extend(text(value).iter().flat_map(|text| in_text(text, &[]))),
        _ => {}
    }
}

/// Whether a text is the name of a file.
fn is_path(text: &str) -> bool {
    !text.contains(char::is_whitespace) && ending(text).is_some()
}

fn in_text(text: &str, old: &[String]) -> Vec<ReadChange> {
    // A text that replaces another one is not a diff.
    if let Some(marked) = changes_in_text(text).filter(|_| old.is_empty()) {
        return marked.into_iter().map(ReadChange::of).collect();
    }
    let removed = old.iter().flat_map(|text| text.lines()).take(MOST_LINES);
    vec![ReadChange::between(None, removed, text.lines().take(MOST_LINES))]
}

/// The lines of a change, without the space around them and without unchanged lines.
#[derive(Debug, Default)]
struct ReadChange {
    path: Option<String>,
    removed: Vec<String>,
    added: Vec<String>,
}

impl ReadChange {
    fn of(change: FileChange<'_>) -> Self {
        let FileChange { path, removed, added } = change;
        Self::between(path, removed.into_iter().take(MOST_LINES), added.into_iter().take(MOST_LINES))
    }

    fn between<'t>(
        path: Option<&str>,
        removed: impl Iterator<Item = &'t str>,
        added: impl Iterator<Item = &'t str>,
    ) -> Self {
        let is_long = |line: &&str| line.len() >= SHORTEST_LINE;
        let removed: Vec<&str> = removed.map(str::trim).filter(is_long).collect();
        let mut added: Vec<&str> = added.map(str::trim).filter(is_long).collect();
        let mut counts: HashMap<&str, usize, TextHashing> = HashMap::default();
        added.iter().for_each(|line| *counts.entry(line).or_default() += 1);
        let mut stays: HashMap<&str, usize, TextHashing> = HashMap::default();
        let mut gone = removed;
        gone.retain(|line| match counts.get_mut(line).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                *stays.entry(line).or_default() += 1;
                false
            }
            None => true,
        });
        added.retain(|line| match stays.get_mut(line).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                false
            }
            None => true,
        });
        let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
        Self { path: path.map(str::to_owned), removed: owned(gone), added: owned(added) }
    }

    fn takes_out(&self, line: &str) -> bool {
        self.removed.iter().any(|one| one == line)
    }

    /// The earlier description of a file, without the names that the change removes.
    fn without_removed_names(&self, told: &str, language: Language) -> String {
        let names =
            |lines: &[String]| -> HashSet<String> { lines.iter().filter_map(|line| defined(line, language)).collect() };
        let mut gone = names(&self.removed);
        // A definition that only changed is still there.
        for name in names(&self.added) {
            gone.remove(&name);
        }
        if gone.is_empty() {
            return told.to_owned();
        }
        let mut parts = parts_of(told);
        for part in &mut parts {
            if let Some(names) = part.strip_prefix(ADDS) {
                let name = |told: &'_ str| told.split(AND_MORE).next().map(str::len).unwrap_or_default();
                let left = names.split(", ").filter(|told| !gone.contains(&told[..name(told)]));
                let left = left.collect::<Vec<_>>().join(", ");
                *part = if left.is_empty() { left } else { format!("{ADDS}{left}") };
            }
        }
        joined(&parts)
    }

    /// What the change did, in the order of its lines.
    fn fragments(&self, path: Option<&str>) -> Vec<Fragment> {
        let mut found = Vec::new();
        let mut is_paired = vec![false; self.removed.len()];
        let few = self.removed.len() <= MOST_COMPARED && self.added.len() <= MOST_COMPARED;
        let mut others: Vec<(LineRank, usize)> = Vec::new();
        let language = Language::of(path.unwrap_or_default());
        let telling = |line: &str| language == Language::Prose || !is_comment(line);
        let mut is_fenced = false;
        for line in self.added.iter().filter(|line| language != Language::Prose && is_unfinished(line)) {
            let text = format!("{LEFT_OPEN}{}", quote(&clip(&one_line(line), LONGEST_LINE)));
            found.push(Fragment { kind: FragmentKind::Unfinished, text, line: line.clone() });
        }
        let unfinished = found.len();
        for (at, line) in self.added.iter().enumerate().filter(|(_, line)| telling(line)) {
            is_fenced ^= line.starts_with("```");
            let mut olds = self.removed.iter().enumerate().filter(|(old, _)| few && !is_paired[*old]);
            let pair = olds.find_map(|(old, text)| Some((old, replacement(text, line)?)));
            if let Some((old, text)) = pair {
                is_paired[old] = true;
                // Changed words in prose and changed imports are not worth an item.
                if LineRank::of(line) == LineRank::Import && !text.contains(|one: char| one.is_ascii_digit())
                    || language == Language::Prose && !text.contains(|one: char| one.is_ascii_digit())
                {
                    continue;
                }
                found.push(Fragment { kind: FragmentKind::Replaced, text, line: line.clone() });
                continue;
            }
            match defined(line, language).filter(|_| !is_fenced) {
                Some(name) => found.push(Fragment { kind: FragmentKind::Defined, text: name, line: line.clone() }),
                None => others.push((LineRank::of(line), at)),
            }
        }
        // A few lines of a long text do not represent the others.
        if found.len() == unfinished && self.added.len() <= MOST_COMPARED {
            others.sort();
            let is_telling = |(rank, at): &&(LineRank, usize)| {
                *rank < LineRank::Import && (language == Language::Prose || !is_bare(&self.added[*at]))
            };
            let telling = others.iter().filter(is_telling).take(MOST_OTHER);
            let telling = telling.map(|(_, at)| &self.added[*at]);
            found.extend(telling.map(|line| Fragment {
                kind: FragmentKind::Line,
                text: quote(&clip(&one_line(line), LONGEST_LINE)),
                line: line.clone(),
            }));
        }
        if self.added.is_empty()
            && let Some(line) = self.removed.iter().find(|line| telling(line) && LineRank::of(line) < LineRank::Import)
        {
            let text = format!("{TAKES_OUT}{}", quote(&clip(&one_line(line), LONGEST_LINE)));
            found.push(Fragment { kind: FragmentKind::Line, text, line: String::new() });
        }
        found
    }
}

/// Whether two paths are the same file, where one may be relative to a directory above it.
fn are_one(one: &str, other: &str) -> bool {
    let (long, short) = if one.len() < other.len() { (other, one) } else { (one, other) };
    let short = std::iter::successors(Some(short), |short| short.strip_prefix("./")).last().unwrap_or(short);
    // Two relative paths are of two files: `package.json`, `packages/a/package.json`.
    let is_absolute = || long.starts_with('/') || long.get(1..2) == Some(":");
    long.strip_suffix(short).is_some_and(|rest| {
        rest.is_empty() || rest == "./" || is_absolute() && short.contains(['/', '\\']) && rest.ends_with(['/', '\\'])
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FragmentKind {
    Unfinished,
    Defined,
    Replaced,
    Line,
}

/// A part of a change that may be shown.
#[derive(Debug)]
struct Fragment {
    kind: FragmentKind,
    text: String,
    /// The line that it shows. A change that removes this line removes this part.
    line: String,
}

/// The parts of a file's changes, the newest first: names, then values, then other lines.
fn told(fragments: &[Fragment]) -> String {
    let of = |kind: FragmentKind| fragments.iter().rev().filter(move |one| one.kind == kind);
    let mut parts: Vec<String> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    let (mut units, mut more) = (ADDS.len(), 0);
    let mut seen = HashSet::new();
    for one in of(FragmentKind::Defined).filter(|one| seen.insert(one.text.as_str())) {
        let cost = utf16_len(&one.text) + 2;
        if units + cost <= LONGEST_NAMES && more == 0 {
            units += cost;
            names.push(&one.text);
        } else {
            more += 1;
        }
    }
    if !names.is_empty() {
        names.reverse();
        let more = if more > 0 { format!("{AND_MORE}{more} more") } else { String::new() };
        parts.push(format!("{ADDS}{}{more}", names.join(", ")));
    }
    let mut left = LONGEST.saturating_sub(parts.iter().map(|part| utf16_len(part)).sum());
    let lines = of(FragmentKind::Line).take(MOST_OTHER);
    // Nobody could guess a number or a string.
    let is_value = |one: &&Fragment| one.text.contains(|one: char| one.is_ascii_digit() || one == '"');
    let values = of(FragmentKind::Replaced).filter(is_value);
    let unfinished = of(FragmentKind::Unfinished).take(MOST_OTHER);
    for one in unfinished.chain(values).chain(of(FragmentKind::Replaced).filter(|one| !is_value(one))).chain(lines) {
        let cost = utf16_len(&one.text) + SEPARATOR.len();
        if cost <= left && !parts.contains(&one.text) {
            left -= cost;
            parts.push(one.text.clone());
        }
    }
    parts.join(SEPARATOR)
}

/// The parts of a file's description. A separator inside quoted code does not count.
fn parts_of(text: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in text.split(SEPARATOR) {
        match parts.last_mut().filter(|last| last.matches('`').count() % 2 == 1) {
            Some(last) => {
                last.push_str(SEPARATOR);
                last.push_str(piece);
            }
            None => parts.push(piece.to_owned()),
        }
    }
    parts
}

fn joined(texts: &[String]) -> String {
    texts.iter().filter(|text| !text.is_empty()).map(String::as_str).collect::<Vec<_>>().join(SEPARATOR)
}

/// How a line replaces a similar one: what differs, with the word before it. `None` if the lines are not similar.
fn replacement(old: &str, new: &str) -> Option<String> {
    if old.len() > LONGEST_COMPARED || new.len() > LONGEST_COMPARED {
        return None;
    }
    let same_start: usize =
        old.chars().zip(new.chars()).take_while(|(one, other)| one == other).map(|(one, _)| one.len_utf8()).sum();
    let (old_rest, new_rest) = (&old[same_start..], &new[same_start..]);
    let same_end: usize = old_rest
        .chars()
        .rev()
        .zip(new_rest.chars().rev())
        .take_while(|(one, other)| one == other)
        .map(|(one, _)| one.len_utf8())
        .sum();
    if (same_start + same_end) * 100 < old.len().max(new.len()) * SAME_PERCENT {
        return None;
    }
    // Half a word says nothing, and a value needs the word before it.
    let start = word_start(old, same_start);
    let before = old[..start].trim_end_matches(|one: char| !one.is_alphanumeric());
    let before = word_start(old, before.len());
    let start = if start - before <= LONGEST_BEFORE { before } else { start };
    let end = |text: &str| word_end(text, text.len() - same_end);
    let sides = [&old[start..end(old)], &new[start..end(new)]].map(|side| one_line(side.trim()));
    let says = |side: &String| side.contains(char::is_alphanumeric) && utf16_len(side) <= LONGEST_SIDE;
    let [old, new] = [0, 1].map(|at: usize| sides[at].trim_end_matches([',', ';']));
    let is_same = old.eq_ignore_ascii_case(new);
    (!is_same && sides.iter().all(says)).then(|| sides.map(|side| quote(&side)).join(BECAME))
}

fn is_of_word(one: char) -> bool {
    one.is_alphanumeric() || matches!(one, '_' | '.' | '-' | '$' | '"' | '\'' | '@' | '/' | '\\' | '[' | ']' | '%')
}

/// Where the word at or right before `at` begins.
fn word_start(text: &str, at: usize) -> usize {
    at - text[..at].chars().rev().take_while(|one| is_of_word(*one)).map(char::len_utf8).sum::<usize>()
}

/// Where the word at or right after `at` ends.
fn word_end(text: &str, at: usize) -> usize {
    at + text[at..].chars().take_while(|one| is_of_word(*one)).map(char::len_utf8).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_value_is_told_with_the_old_one() {
        let old = "motion = (float) Math.min(1.0, pd / 0.5 + yd / 8.0 + pdd / 8.0);";
        let new = "motion = (float) Math.min(1.0, pd / 0.12 + yd / 15.0 + pdd / 15.0);";
        let told = "`pd / 0.5 + yd / 8.0 + pdd / 8.0` \u{2192} `pd / 0.12 + yd / 15.0 + pdd / 15.0`";
        assert_eq!(replacement(old, new).as_deref(), Some(told));
        assert_eq!(
            replacement("\"version\": \"2.1.9\",", "\"version\": \"2.1.10\",").as_deref(),
            Some("`\"version\": \"2.1.9\"` \u{2192} `\"version\": \"2.1.10\"`")
        );
        assert_eq!(
            replacement("let größe = 3;", "let größe = 4;").as_deref(),
            Some("`größe = 3` \u{2192} `größe = 4`")
        );
        assert_eq!(replacement("a line of its own", "something else entirely"), None);
    }

    #[test]
    fn what_is_left_to_do_in_the_code_is_told() {
        let added = ["def rows(table):", "# TODO: read the type of the column", "return []"];
        let change = ReadChange::between(None, std::iter::empty(), added.into_iter());
        assert_eq!(
            told(&change.fragments(Some("a.py"))),
            "adds rows(); left open: `# TODO: read the type of the column`"
        );
    }

    #[test]
    fn what_a_later_change_takes_out_is_not_told() {
        let first = ReadChange::between(None, ["limit = 3"].into_iter(), ["limit = 4", "def read(path):"].into_iter());
        let mut fragments = first.fragments(None);
        assert_eq!(told(&fragments), "adds read(); `limit = 3` \u{2192} `limit = 4`");
        let second = ReadChange::between(None, ["def read(path):"].into_iter(), ["def load(path):"].into_iter());
        fragments.retain(|one| !second.takes_out(&one.line));
        fragments.extend(second.fragments(None));
        assert_eq!(told(&fragments), "`limit = 3` \u{2192} `limit = 4`; `def read` \u{2192} `def load`");
    }

    #[test]
    fn a_name_that_is_gone_is_told_no_more_in_a_later_compaction() {
        let before = "adds load(), read() and 2 more; `for (let i = 0; i < 3; i++)` \u{2192} `for (;;)`";
        let taken = |removed: &str, added: &'static [&'static str]| {
            let change = ReadChange::between(None, [removed].into_iter(), added.iter().copied());
            change.without_removed_names(before, Language::Code)
        };
        let rest = "`for (let i = 0; i < 3; i++)` \u{2192} `for (;;)`";
        assert_eq!(taken("def load(path):", &[]), format!("adds read() and 2 more; {rest}"));
        assert_eq!(taken("def read(path):", &[]), format!("adds load(); {rest}"));
        assert_eq!(taken("def read(path):", &["def read(path, limit):"]), before);
        assert_eq!(taken("return load(path)", &[]), before);
    }

    #[test]
    fn paths_of_one_file_are_known() {
        assert!(are_one("src/a.rs", "/home/dev/shop/src/a.rs") && are_one("./src/a.rs", "src/a.rs"));
        assert!(are_one("src\\a.rs", "C:\\shop\\src\\a.rs"));
        for other in ["packages/a/package.json", "/home/dev/shop/package.json"] {
            assert!(!are_one("package.json", other), "{other}");
        }
    }
}
