//! Where a thought ends in the Markdown of opencode: it has a sign before it, and none after it.

use super::shared::{Piece, add_said, line_at};
use super::specstory::Fence;

/// Latin letters.
const LATIN: [std::ops::RangeInclusive<char>; 2] = ['A'..='\u{24f}', '\u{1e00}'..='\u{1eff}'];
/// Beginnings of paragraphs that belong to the words after them: fences, tables, headings, rules.
const BEFORE_WORDS: [&str; 4] = ["```", "|", "#", "---"];
/// A paragraph has another script if one of this number of its letters, or the first one, has.
const SHARE: usize = 3;

/// Adds a text. Below the sign of a thought, the thought comes first, and what the model said may follow.
pub(super) fn add_below(pieces: &mut Vec<Piece>, text: &str, is_thought: bool) {
    let text = text.trim_matches('\n');
    let end = if is_thought { end_of_thought(text) } else { 0 };
    add_said(pieces, &text[..end], true);
    add_said(pieces, &text[end..], false);
}

/// Where a thought at the start of a text ends. Words in another script than its first paragraph are the model's.
/// Without such words, only the first paragraph is certainly the thought, with the parts that have titles. Words that
/// are not hidden matter more than thoughts that are.
fn end_of_thought(text: &str) -> usize {
    let starts = paragraphs(text, true);
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts: Vec<&str> = starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect();
    let count = words_in_other_script(&parts).unwrap_or_else(|| parts_with_titles(&parts));
    starts.get(count).copied().unwrap_or(text.len())
}

/// The paragraph that begins words in another script than that of the first paragraph.
fn words_in_other_script(parts: &[&str]) -> Option<usize> {
    let first = parts.first().filter(|first| !is_in_other_script(first))?;
    let is_latin = first.contains(char::is_alphabetic);
    let mut words = parts.iter().position(|part| is_latin && is_in_other_script(part))?;
    while words > 1 && BEFORE_WORDS.iter().any(|start| parts[words - 1].starts_with(start)) {
        words -= 1;
    }
    Some(words)
}

fn is_in_other_script(part: &str) -> bool {
    let letters = || part.chars().filter(|one| one.is_alphabetic());
    let is_other = |one: &char| !LATIN.iter().any(|letters| letters.contains(one));
    let count = letters().filter(is_other).count();
    count > 0 && (count * SHARE >= letters().count() || letters().next().is_some_and(|first| is_other(&first)))
}

/// The number of paragraphs in the first part of a thought, and in further ones. A title begins each of these, and two
/// blank lines come before it. Without titles, it is one.
fn parts_with_titles(parts: &[&str]) -> usize {
    let is_title = |part: &str| {
        let line = part.trim();
        line.len() > 4 && line.starts_with("**") && line.ends_with("**") && !line.contains('\n')
    };
    let is_part = |at: usize| is_title(parts[at]) && (at == 0 || parts[at - 1].ends_with("\n\n\n"));
    let has_titles = parts.first().is_some_and(|first| is_title(first));
    (0..parts.len()).rfind(|at| has_titles && is_part(*at)).map_or(1, |title| title + 2)
}

/// Where the paragraphs of a text begin. A fence is part of its paragraph, unless one has no end.
fn paragraphs(text: &str, has_fences: bool) -> Vec<usize> {
    let (mut starts, mut fence) = (Vec::new(), Fence::default());
    let (mut at, mut is_behind_blank) = (0, true);
    while at < text.len() {
        let line = line_at(text, at);
        let is_blank = line.trim().is_empty();
        if is_behind_blank && !is_blank && !(has_fences && fence.is_open()) {
            starts.push(at);
        }
        fence.read(line);
        is_behind_blank = is_blank;
        at += line.len();
    }
    if has_fences && fence.is_open() { paragraphs(text, false) } else { starts }
}
