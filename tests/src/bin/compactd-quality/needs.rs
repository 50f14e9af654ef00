//! What a session needs after its cut, by rules of its own: nothing here is shared with the code
//! that is measured, but the line by which an error is known and the lists of files.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt;

use compaction_core::file_operations::{FileOperations, FileTools};
use compaction_core::ledger::error_line;
use compaction_core::message::Body;
use compaction_core::preparation::PreparedMessage;
use regex_lite::Regex;

use crate::evidence::texts;
use crate::passes::cut;

/// A class of needs with the percentage that has to survive.
pub(crate) struct Class {
    pub(crate) name: &'static str,
    pub(crate) goal: Option<f64>,
}

pub(crate) const CLASSES: [Class; 6] = [
    Class { name: "modified files", goal: Some(100.0) },
    Class { name: "read files", goal: Some(100.0) },
    Class { name: "error lines", goal: None },
    Class { name: "requests", goal: Some(95.0) },
    Class { name: "recurring paths", goal: Some(90.0) },
    Class { name: "recurring identifiers", goal: Some(25.0) },
];

/// Identifiers that occur more often are on everybody's lips; the kept part has them anyway.
const MOST_OCCURRENCES: usize = 20;

/// What has to survive, literally, by class.
pub(crate) struct Needs([Vec<String>; CLASSES.len()]);

/// How much of a class survives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    kept: usize,
    of: usize,
}

impl Kept {
    pub(crate) fn percent(self) -> f64 {
        if self.of == 0 { 100.0 } else { 100.0 * self.kept as f64 / self.of as f64 }
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.kept, self.of)
    }
}

impl Needs {
    pub(crate) fn of(messages: &[PreparedMessage]) -> Self {
        let (evicted, kept) = messages.split_at(cut(messages));
        let mut files = FileOperations::default();
        evicted.iter().for_each(|prepared| files.add_message(&prepared.message, &FileTools::default()));
        let lists = files.lists();
        // What people, models and calls named, and what anything names afterwards.
        let (before, after) = (texts(evicted, false), texts(kept, true));
        Self([
            lists.modified_files,
            lists.read_files,
            errors(evicted),
            requests(evicted),
            recurring_paths(&before, &after),
            recurring_identifiers(&before, &after),
        ])
    }

    /// What of each class `context` holds.
    pub(crate) fn kept(&self, context: &str) -> [Kept; CLASSES.len()] {
        let context = normalised(context);
        std::array::from_fn(|class| {
            let kept = self.0[class].iter().filter(|need| context.contains(need.as_str())).count();
            Kept { kept, of: self.0[class].len() }
        })
    }

    /// What of each class `context` lacks.
    pub(crate) fn missing<'a>(&'a self, context: &str) -> impl Iterator<Item = (&'static str, Vec<&'a String>)> {
        let context = normalised(context);
        CLASSES.iter().zip(&self.0).filter_map(move |(class, needs)| {
            let missing: Vec<_> = needs.iter().filter(|need| !context.contains(need.as_str())).collect();
            (!missing.is_empty()).then_some((class.name, missing))
        })
    }
}

fn normalised(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn first(text: &str, characters: usize) -> String {
    normalised(text).chars().take(characters).collect::<String>().trim_end().to_owned()
}

fn unique(items: impl Iterator<Item = String>) -> Vec<String> {
    items.filter(|item| !item.is_empty()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The lines of results that failed, without those that only tell an exit code or that somebody
/// stopped the work.
fn errors(messages: &[PreparedMessage]) -> Vec<String> {
    let error = |prepared: &PreparedMessage| match prepared.message.body() {
        Body::ToolResult { content, is_error: true, .. } => Some(first(&error_line(&content.text("\n")), 80)),
        _ => None,
    };
    let says_nothing = |line: &String| {
        line.contains("exited with code") || line.ends_with(" aborted") || line == "no output" || line == "(no output)"
    };
    unique(messages.iter().filter_map(error).filter(|line| !says_nothing(line)))
}

fn requests(messages: &[PreparedMessage]) -> Vec<String> {
    let request = |prepared: &PreparedMessage| match prepared.message.body() {
        Body::User { content } => Some(first(&content.text("\n"), 40)),
        _ => None,
    };
    unique(messages.iter().filter_map(request))
}

fn recurring_paths(before: &str, after: &str) -> Vec<String> {
    // Slashes between words, and drives of Windows.
    let path = pattern(r"[A-Za-z]:(?:\\[A-Za-z0-9_.-]+)+|(?:[A-Za-z0-9_.~@-]+)?(?:/[A-Za-z0-9_.@-]+)+");
    let paths = |text: &str| -> HashSet<String> {
        path.find_iter(text).map(|found| found.as_str().trim_end_matches('.').to_owned()).collect()
    };
    let after = paths(after);
    unique(paths(before).into_iter().filter(|path| after.contains(path)))
}

fn recurring_identifiers(before: &str, after: &str) -> Vec<String> {
    let (before, after) = (identifiers(before), identifiers(after));
    let recurs =
        |(name, times): (String, usize)| (times <= MOST_OCCURRENCES && after.contains_key(&name)).then_some(name);
    unique(before.into_iter().filter_map(recurs))
}

/// Words of at least four characters with a capital or an underscore inside, or a digit beside
/// letters; tickets, and names of at least three words with hyphens.
fn identifiers(text: &str) -> BTreeMap<String, usize> {
    let shape = r"[A-Z]{2,}-[0-9]+|[a-z0-9]+(?:-[a-z0-9]+){2,}|[A-Za-z_$][A-Za-z0-9_$]*";
    let mut found = BTreeMap::new();
    for word in pattern(shape).find_iter(text).map(|found| found.as_str()).filter(|word| is_identifier(word)) {
        *found.entry(word.to_owned()).or_default() += 1;
    }
    found
}

fn is_identifier(word: &str) -> bool {
    let characters: Vec<char> = word.chars().collect();
    let has_hump = characters.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
    let has_digit = word.contains(|character: char| character.is_ascii_digit());
    let has_letter = word.contains(|character: char| character.is_ascii_alphabetic());
    word.len() >= 4 && has_letter && (has_hump || has_digit || word.trim_matches('_').contains(['_', '-']))
}

fn pattern(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is made here")
}
