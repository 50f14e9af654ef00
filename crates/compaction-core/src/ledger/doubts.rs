//! What is doubtful in a summary: names that nothing supports.

use std::collections::HashSet;

use super::finder::{Finder, Pattern};
use super::loss::{Check, texts};
use super::scan::{NameKind, ending, scan};

/// Paths of a summary that are looked for.
const MOST_CLAIMS: usize = 512;

/// Paths of the summary that nothing of what it was made from holds. Only what can be nothing but a
/// path is looked at: it has a file's ending or begins at a root.
pub(super) fn unsupported(check: &Check<'_>) -> Vec<String> {
    let ledger = check.ledger;
    let files = ledger.files.iter().map(|file| file.path.as_str());
    let known: HashSet<&str> = files.chain(ledger.paths.iter().map(|path| path.name.as_str())).collect();
    let mut claimed: Vec<Pattern<'_>> = Vec::new();
    let mut seen = HashSet::new();
    for part in cut_parts(check.summary) {
        scan(part.text, |kind, name| {
            let is_doubtful = kind == NameKind::Path && is_certain(name) && !is_known(name, &known);
            if is_doubtful && claimed.len() < MOST_CLAIMS && seen.insert(name) {
                claimed.push(Pattern { text: name, is_word: !part.cuts(name) });
            }
        });
    }
    if claimed.is_empty() {
        return Vec::new();
    }
    let names: Vec<&str> = claimed.iter().map(|pattern| pattern.text).collect();
    let mut finder = Finder::new(claimed);
    check.previous_summary.into_iter().for_each(|summary| finder.search(summary));
    for prepared in check.evicted.iter().chain(check.kept) {
        texts(&prepared.message, &mut |text| finder.search(text));
    }
    let notes = ledger.notes.iter().map(|note| note.text.as_str());
    let commands = ledger.commands.iter().map(|command| command.command.as_str());
    let told = notes.chain(commands).chain(ledger.errors.iter().map(|error| error.line.as_str()));
    told.chain(ledger.requests.iter().map(|request| request.text.as_str())).for_each(|text| finder.search(text));
    let found = finder.found();
    names.into_iter().zip(found).filter(|(_, is_found)| !is_found).map(|(name, _)| name.to_owned()).collect()
}

/// A part of a text in which the mark of a cut stands for what was left out.
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
    /// Whether a name of this part lies at a cut, so that it may be the rest of a longer one.
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

/// Whether a path, or what is left of it without leading directories, is known.
fn is_known(path: &str, known: &HashSet<&str>) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| &path[at + 1..]).filter(|end| end.contains('/'));
    known.contains(path) || ends.into_iter().any(|end| known.contains(end))
}
