//! What the newest changes of each file since the last commit added and replaced, as far as later changes left it: names
//! of new definitions, values with those that they replace, what is left to do, and the lines of small changes.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::actions::{REPLACED, begins_with, is_about, shown};
use super::definitions::{Language, LineRank, defined, is_bare, is_clipped, is_comment, is_unfinished};
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
/// Most files that are told, most files that one call changes, and most texts of one object among its arguments.
const MOST_FILES: usize = 16;
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
/// Most UTF-16 units of the names of definitions, and most lines of a file that are told: those that say what is
/// left to do, and others.
const LONGEST_NAMES: usize = 160;
const MOST_LINES_TOLD: usize = 2;
/// Fewest bytes of a line that says something.
const SHORTEST_LINE: usize = 4;
/// Start the names of definitions, and the lines that say what is left to do.
const ADDS: &str = "adds ";
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

    /// Forgets all changes: a commit has them.
    pub(super) fn forget_all(&mut self) {
        *self = Self::default();
    }

    /// Forgets what was done to a file, or to the files of a directory, that is gone.
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
                all.retain(|known| !are_one(&known.target, &path));
                if change.is_whole {
                    fragments.clear();
                }
                let new = file.fragments(&path, &fragments);
                fragments.retain(|one| !file.takes_out(&one.line) && new.iter().all(|new| new.text != one.text));
                fragments.extend(new);
                let excess = fragments.len().saturating_sub(MOST_OF_FILE);
                fragments.drain(..excess);
                files.push((path, fragments));
                let excess = files.len().saturating_sub(MOST_FILES);
                files.drain(..excess);
            }
        }
        let items = files.into_iter().map(|(path, fragments)| ShownResult { target: path, text: told(&fragments) });
        all.extend(items.filter(|item| !item.text.is_empty()));
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
            let old = members.iter().filter(|(name, _)| is_old(name)).filter_map(|(_, value)| text(value));
            let old: Vec<String> = old.collect();
            let mut texts = 0;
            for (name, value) in members {
                if found.len() >= MOST_OF_CALL || texts >= MOST_TEXTS {
                    return;
                }
                texts += usize::from(value.as_str().is_some());
                match text(value) {
                    Some(_) if is_old(name) => {}
                    Some(new) if is_about(name, &new) => {}
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

fn in_text(text: &str, old: &[String]) -> Vec<ReadChange> {
    // A text that replaces another one is not a diff.
    if let Some(marked) = changes_in_text(text).filter(|_| old.is_empty()) {
        return marked.into_iter().map(ReadChange::of).collect();
    }
    let removed = old.iter().flat_map(|text| text.lines()).take(MOST_LINES);
    vec![ReadChange::between(None, removed, text.lines().take(MOST_LINES))]
}

/// The lines of a change without those that stay. The added ones keep the space before them.
#[derive(Debug, Default)]
struct ReadChange {
    path: Option<String>,
    removed: Vec<String>,
    added: Vec<String>,
    /// Whether the transcript leaves out some of the old lines, or some of all lines.
    is_old_clipped: bool,
    is_clipped: bool,
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
        let is_old_clipped = removed.iter().any(|line| is_clipped(line));
        let mut added: Vec<&str> = added.map(str::trim_end).filter(|line| is_long(&line.trim_start())).collect();
        let mut counts: HashMap<&str, usize, TextHashing> = HashMap::default();
        let is_clipped = is_old_clipped || added.iter().any(|line| is_clipped(line.trim_start()));
        added.iter().for_each(|line| *counts.entry(line.trim_start()).or_default() += 1);
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
        added.retain(|line| match stays.get_mut(line.trim_start()).filter(|count| **count > 0) {
            Some(count) => {
                *count -= 1;
                false
            }
            None => true,
        });
        let owned = |lines: Vec<&str>| lines.into_iter().map(str::to_owned).collect();
        let (removed, added) = (owned(gone), owned(added));
        Self { path: path.map(str::to_owned), removed, added, is_old_clipped, is_clipped }
    }

    fn takes_out(&self, line: &str) -> bool {
        self.removed.iter().any(|one| one == line)
    }

    /// Whether an old line has a name. What replaces it is no new definition.
    fn had(&self, name: &str) -> bool {
        self.removed.iter().any(|line| has_word(line, name.trim_end_matches("()")))
    }

    /// What the change did, in the order of its lines. `known` is what the changes of the file before it did.
    fn fragments(&self, path: &str, known: &[Fragment]) -> Vec<Fragment> {
        let mut found = Vec::new();
        let mut is_paired = vec![false; self.removed.len()];
        let few = !self.is_clipped && self.removed.len() <= MOST_COMPARED && self.added.len() <= MOST_COMPARED;
        let language = Language::of(path);
        let is_code = language == Language::Code;
        // What is defined within another definition is a part of it.
        let mut others: Vec<&str> = Vec::new();
        let depth = |line: &str| line.len() - line.trim_start().len();
        let outermost = self.added.iter().filter(|line| is_code && defined(line.trim_start()).is_some());
        let outermost = outermost.map(|line| depth(line)).min().unwrap_or_default();
        for added in &self.added {
            let line = added.trim_start();
            if is_code && is_unfinished(line) {
                let text = format!("{LEFT_OPEN}{}", quote(&clip(&one_line(line), LONGEST_LINE)));
                found.push(Fragment::new(FragmentKind::Unfinished, text, line));
            }
            if language != Language::Prose && is_comment(line) {
                continue;
            }
            let name = defined(line).filter(|_| is_code);
            let is_own = |one: &Fragment| one.kind == FragmentKind::Defined && Some(&one.text) == name.as_ref();
            if known.iter().any(is_own) {
                found.extend(name.map(|name| Fragment::new(FragmentKind::Defined, name, line)));
                continue;
            }
            let mut olds = self.removed.iter().enumerate().filter(|(old, _)| few && !is_paired[*old]);
            if let Some((at, _)) = olds.find(|(_, old)| are_alike(old, line)) {
                is_paired[at] = true;
                // What earlier changes made of the same line counts as one change.
                let old = known.iter().find(|one| one.kind == FragmentKind::Replaced && one.line == self.removed[at]);
                let old = old.map_or(&self.removed[at], |one| &one.old);
                if let Some(text) = replacement(old, line, language) {
                    let old = old.clone();
                    found.push(Fragment { old, ..Fragment::new(FragmentKind::Replaced, text, line) });
                } else {
                    // What has another name now is another definition.
                    let renamed = name.filter(|name| !self.had(name));
                    found.extend(renamed.map(|name| Fragment::new(FragmentKind::Defined, name, line)));
                }
            } else if let Some(name) = name {
                let is_new = depth(added) == outermost && !self.is_old_clipped && !self.had(&name);
                found.extend(is_new.then(|| Fragment::new(FragmentKind::Defined, name, line)));
            } else {
                others.push(line);
            }
        }
        // A few lines of a long text say nothing about the others.
        if is_code && found.is_empty() && !self.is_clipped && others.len() <= MOST_LINES_TOLD {
            let is_telling = |line: &&str| {
                LineRank::of(line) < LineRank::Import && !is_bare(line) && utf16_len(line) <= LONGEST_LINE
            };
            let telling = others.into_iter().filter(is_telling);
            found.extend(telling.map(|line| Fragment::new(FragmentKind::Line, quote(&one_line(line)), line)));
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
    /// The line that it replaces, for a value.
    old: String,
}

impl Fragment {
    fn new(kind: FragmentKind, text: String, line: &str) -> Self {
        Self { kind, text, line: line.to_owned(), old: String::new() }
    }
}

/// The parts of a file's changes, the newest ones first: names, then what is left to do, then values, then other lines.
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
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        parts.push(format!("{ADDS}{}{more}", names.join(", ")));
    }
    let mut left = LONGEST.saturating_sub(parts.iter().map(|part| utf16_len(part)).sum());
    let unfinished = of(FragmentKind::Unfinished).take(MOST_LINES_TOLD);
    let lines = of(FragmentKind::Line).take(MOST_LINES_TOLD);
    for one in unfinished.chain(of(FragmentKind::Replaced)).chain(lines) {
        let cost = utf16_len(&one.text) + SEPARATOR.len();
        if cost <= left && !parts.contains(&one.text) {
            left -= cost;
            parts.push(one.text.clone());
        }
    }
    parts.join(SEPARATOR)
}

/// Bytes at the start and at the end that two lines have in common.
fn same_ends(old: &str, new: &str) -> (usize, usize) {
    let count = |(one, other): (char, char)| (one == other).then(|| one.len_utf8());
    let start: usize = old.chars().zip(new.chars()).map_while(count).sum();
    let end: usize = old[start..].chars().rev().zip(new[start..].chars().rev()).map_while(count).sum();
    (start, end)
}

/// Whether two lines are so alike that one replaces the other.
fn are_alike(old: &str, new: &str) -> bool {
    if old.len() > LONGEST_COMPARED || new.len() > LONGEST_COMPARED {
        return false;
    }
    let (start, end) = same_ends(old, new);
    (start + end) * 100 >= old.len().max(new.len()) * SAME_PERCENT
}

/// Whether a text has another one in it, and not as a part of a longer word.
fn has_word(text: &str, own: &str) -> bool {
    let is_end = |one: Option<char>| one.is_none_or(|one| !one.is_alphanumeric() && one != '_');
    text.match_indices(own)
        .any(|(at, _)| is_end(text[..at].chars().next_back()) && is_end(text[at + own.len()..].chars().next()))
}

/// Whether a text closes all quotation marks and brackets that it opens.
fn is_whole(text: &str) -> bool {
    let count = |mark: char| text.matches(mark).count();
    ['"', '\'', '`'].iter().all(|mark| count(*mark) % 2 == 0)
        && [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>')].iter().all(|(open, close)| count(*open) == count(*close))
}

/// The value of a line that another one has in its place, if both are whole, with a word before it. In a text other than
/// code, both are numbers: of other words nobody needs to know.
fn replacement(old: &str, new: &str, language: Language) -> Option<String> {
    let (same_start, same_end) = same_ends(old, new);
    let start = word_start(old, same_start);
    let end = |text: &str| word_end(text, text.len() - same_end);
    let [before, after] = [old, new].map(|text| text[start..end(text)].trim_matches([' ', ',', ';']));
    let is_number = |side: &str| side.contains(|one: char| one.is_ascii_digit());
    let is_text = |side: &str| side.contains(['"', '\'']);
    // A number or a text is a value that nobody could guess.
    let is_told = is_number(after) && (is_number(before) || language == Language::Styles)
        || is_text(before) && is_text(after) && language == Language::Code;
    // Who only adds or takes away something around a value does not replace it. Half a text is no value.
    let is_within = || has_word(after, before) || has_word(before, after);
    let is_import = || LineRank::of(new) == LineRank::Import && !is_number(after);
    if !is_told || is_within() || is_import() || !is_whole(before) || !is_whole(after) {
        return None;
    }
    // A value needs the word before it.
    let word = old[..start].trim_end_matches(|one: char| !one.is_alphanumeric());
    let word = word_start(old, word.len());
    let has_word = start - word <= LONGEST_BEFORE && is_whole(&old[word..end(old)]) && is_whole(&new[word..end(new)]);
    let start = if has_word { word } else { start };
    let sides = [old, new].map(|text| one_line(text[start..end(text)].trim()));
    let says = |side: &String| side.contains(char::is_alphabetic) && utf16_len(side) <= LONGEST_SIDE;
    let [old, new] = [0, 1].map(|at: usize| sides[at].trim_end_matches([',', ';']));
    let is_same = old.eq_ignore_ascii_case(new);
    (!is_same && sides.iter().all(says)).then(|| [old, new].map(quote).join(BECAME))
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

    fn change(removed: &[&'static str], added: &[&'static str]) -> ReadChange {
        ReadChange::between(None, removed.iter().copied(), added.iter().copied())
    }

    #[test]
    fn a_replaced_value_is_told_with_the_old_one() {
        let told = |old: &str, new: &str, language| replacement(old, new, language);
        let old = "motion = (float) Math.min(1.0, pd / 0.5 + yd / 8.0 + pdd / 8.0);";
        let new = "motion = (float) Math.min(1.0, pd / 0.12 + yd / 15.0 + pdd / 15.0);";
        let both = "`pd / 0.5 + yd / 8.0 + pdd / 8.0` \u{2192} `pd / 0.12 + yd / 15.0 + pdd / 15.0`";
        assert_eq!(told(old, new, Language::Code).as_deref(), Some(both));
        assert_eq!(
            told("\"version\": \"2.1.9\",", "\"version\": \"2.1.10\",", Language::Code).as_deref(),
            Some("`\"version\": \"2.1.9\"` \u{2192} `\"version\": \"2.1.10\"`")
        );
        assert_eq!(
            told("let größe = 3;", "let größe = 4;", Language::Code).as_deref(),
            Some("`größe = 3` \u{2192} `größe = 4`")
        );
        assert_eq!(
            told("gap: var(--wide);", "gap: 8px;", Language::Styles).as_deref(),
            Some("`gap: var(--wide)` \u{2192} `gap: 8px`")
        );
        for (old, new) in [
            ("ThreadPool(workers)", "ThreadPool(workers=workers)"),
            ("private Long fieldConfigId;", "private Long repositoryMethodId;"),
            ("padding: 8px; z-index: 1", "padding: 8px"),
            ("import a from '../app'", "import a from '@/app'"),
            ("className=\"md flex\"", "className=\"lg flex\""),
            ("min(1.0, 2.0", "max(1.0, 3.0"),
        ] {
            assert_eq!(told(old, new, Language::Code), None, "{old}");
        }
        assert_eq!(told("## 1.0 - first", "## 1.0 - 2023-11-15", Language::Prose), None);
    }

    #[test]
    fn what_is_left_to_do_in_the_code_is_told() {
        let added = change(&[], &["def rows(table):", "    # TODO: read the type of the column", "    return []"]);
        assert_eq!(
            told(&added.fragments("a.py", &[])),
            "adds rows(); left open: `# TODO: read the type of the column`"
        );
    }

    #[test]
    fn what_a_later_change_takes_out_is_not_told() {
        let first = change(&["limit = 3"], &["limit = 4", "def read(path):"]);
        let mut fragments = first.fragments("a.py", &[]);
        assert_eq!(told(&fragments), "adds read(); `limit = 3` \u{2192} `limit = 4`");
        let second = change(&["limit = 4", "def read(path):"], &["limit = 5", "def read(path, most):"]);
        let new = second.fragments("a.py", &fragments);
        fragments.retain(|one| !second.takes_out(&one.line));
        fragments.extend(new);
        assert_eq!(told(&fragments), "adds read(); `limit = 3` \u{2192} `limit = 5`");
        let back = change(&["limit = 5", "def read(path, most):"], &["limit = 3"]);
        assert!(back.fragments("a.py", &fragments).is_empty());
    }

    #[test]
    fn only_what_is_new_as_a_whole_is_told() {
        let outer = change(&[], &["def retry(most):", "    def decorate(call):", "        return call"]);
        assert_eq!(told(&outer.fragments("a.py", &[])), "adds retry()");
        // A definition that only changed is not new, nor is one whose old text nobody knows.
        assert!(change(&["def read(path):"], &["def read(path, most):"]).fragments("a.py", &[]).is_empty());
        assert!(change(&["...[truncated]"], &["def read(path):"]).fragments("a.py", &[]).is_empty());
        assert!(change(&[], &["[14 lines, not in the export]"]).fragments("a.py", &[]).is_empty());
        assert!(change(&[], &["## Usage", "Run it."]).fragments("a.md", &[]).is_empty());
        let small = change(&["show();"], &["const isShown = kind === wanted;"]);
        assert_eq!(told(&small.fragments("a.ts", &[])), "`const isShown = kind === wanted;`");
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
