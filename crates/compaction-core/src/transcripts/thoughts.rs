//! Where a thought ends in the Markdown of opencode: it has a sign before it, and none after it.

use super::shared::{Piece, add_said, line_at};
use super::specstory::Fence;
use crate::phrases::FUNCTION_WORDS;

/// Latin letters.
const LATIN: [std::ops::RangeInclusive<char>; 2] = ['A'..='\u{24f}', '\u{1e00}'..='\u{1eff}'];
/// Beginnings of paragraphs that belong to the words after them: fences, tables, headings, rules.
const BEFORE_WORDS: [&str; 4] = ["```", "|", "#", "---"];
/// Beginnings of paragraphs that are words to the person: headings, tables, rules, labels in bold type.
const LABELS: [&str; 4] = ["#", "|", "---", "**"];
/// Beginnings of lists and fences, which belong to the paragraph before.
const PARTS: [&str; 4] = ["- ", "* ", "1. ", "```"];
/// Beginnings of paragraphs that a model says only to itself.
const TO_ITSELF: [&str; 9] =
    ["Let me ", "Let's ", "I need to ", "I should ", "Now I ", "Now let", "Wait", "Actually", "Hmm"];
const TO_THE_PERSON: &str = "Let me know";
/// How a model speaks of the person, but not to them.
const PERSON: [&str; 10] = [
    "The user wants",
    "The user ask",
    "The user is ask",
    "The user said",
    "the user wants",
    "the user ask",
    "the user said",
    "tell the user",
    "ask the user",
    "have the user",
];
/// Most words of a paragraph that are read to know its language.
const MOST_WORDS: usize = 64;
/// A paragraph has another script if one of this number of its letters, or the first one, has.
const SHARE: usize = 3;

/// Adds a text. Below the sign of a thought, the thought comes first, and what the model said may follow. `is_before_call`
/// says that a call follows the text.
pub(super) fn add_below(pieces: &mut Vec<Piece>, text: &str, is_thought: bool, is_before_call: bool) {
    let text = text.trim_matches('\n');
    let end = if is_thought { end_of_thought(text, is_before_call) } else { 0 };
    add_said(pieces, &text[..end], true);
    add_said(pieces, &text[end..], false);
}

/// Where a thought at the start of a text ends. Words in another script or language than its first paragraph are the
/// model's. Without such words, only the parts that have titles are certainly the thought, or else the paragraphs up to
/// the last one in which the model speaks to itself. Before a call, most exports have no words to the person: there, all
/// paragraphs are the thought up to two blank lines, or to one that a label begins.
fn end_of_thought(text: &str, is_before_call: bool) -> usize {
    let starts = paragraphs(text, true);
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let parts: Vec<&str> = starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect();
    let count = words_in_other_script(&parts).or_else(|| words_in_other_language(&parts)).unwrap_or_else(|| {
        let titled = parts_with_titles(&parts);
        if titled > 1 || has_title(&parts) { titled } else { thinking(&parts, is_before_call) }
    });
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

/// The paragraph that begins words in another language than English, after a thought in English: most models think in
/// English. The most frequent words of a language show it.
fn words_in_other_language(parts: &[&str]) -> Option<usize> {
    let first = parts.first().filter(|first| is_english(first))?;
    let mut words = parts.iter().position(|part| *part != *first && is_in_other_language(part))?;
    while words > 1 && BEFORE_WORDS.iter().any(|start| parts[words - 1].starts_with(start)) {
        words -= 1;
    }
    let is_lead = words > 1 && parts[words].starts_with('#') && is_lead_in_other_language(parts[words - 1]);
    Some(if is_lead { words - 1 } else { words })
}

/// Whether a paragraph is only a short line that leads to what follows, and has no English word.
fn is_lead_in_other_language(part: &str) -> bool {
    let line = part.trim();
    let [english, ..] = function_words(line);
    let is_foreign = line.contains(|one: char| one.is_alphabetic() && !one.is_ascii());
    !line.contains('\n') && line.ends_with(':') && english == 0 && (is_foreign || is_in_other_language(line))
}

fn is_english(part: &str) -> bool {
    let [english, others @ ..] = function_words(part);
    english > 0 && others.into_iter().all(|count| count <= english)
}

/// Whether words of another language are more than one, and more than the English ones.
fn is_in_other_language(part: &str) -> bool {
    let [english, others @ ..] = function_words(part);
    others.into_iter().any(|count| count > 1 && count > english)
}

/// The number of function words of each language in a paragraph that is no fence.
fn function_words(part: &str) -> [usize; FUNCTION_WORDS.len()] {
    let words = part.split(|one: char| !one.is_alphanumeric() && one != '\'').filter(|word| !word.is_empty());
    let limit = if part.starts_with("```") { 0 } else { MOST_WORDS };
    let words: Vec<String> = words.take(limit).map(str::to_lowercase).collect();
    FUNCTION_WORDS.map(|language| words.iter().filter(|word| language.contains(&word.as_str())).count())
}

/// The number of paragraphs of a thought without titles.
fn thinking(parts: &[&str], is_before_call: bool) -> usize {
    let is_end =
        |at: usize| parts[at - 1].ends_with("\n\n\n") || LABELS.iter().any(|start| parts[at].starts_with(start));
    let end = (1..parts.len()).find(|at| is_end(*at)).unwrap_or(parts.len());
    if is_before_call || end == 0 || parts[end - 1].ends_with("\n\n\n") {
        return end;
    }
    let is_part = |part: &str| PARTS.iter().any(|start| part.starts_with(start));
    let begun = parts[..end].iter().skip(1).take_while(|part| is_to_itself(part) || is_part(part)).count();
    let begun = (1..=begun).rfind(|at| is_to_itself(parts[*at])).map_or(1, |last| last + 1);
    let of_person = (begun..end).rfind(|at| PERSON.iter().any(|name| parts[*at].contains(name)));
    of_person.map_or(begun, |last| last + 1)
}

/// Whether a paragraph is what the model says to itself.
fn is_to_itself(part: &str) -> bool {
    let is_begun = TO_ITSELF.iter().any(|start| part.starts_with(start)) && !part.starts_with(TO_THE_PERSON);
    is_begun || PERSON.iter().any(|name| part.contains(name))
}

fn has_title(parts: &[&str]) -> bool {
    parts.first().is_some_and(|first| is_title(first))
}

fn is_title(part: &str) -> bool {
    let line = part.trim();
    line.len() > 4 && line.starts_with("**") && line.ends_with("**") && !line.contains('\n')
}

/// The number of paragraphs in the first part of a thought, and in further ones. A title begins each of these, and two
/// blank lines come before it. Without titles, it is one.
fn parts_with_titles(parts: &[&str]) -> usize {
    let is_part = |at: usize| is_title(parts[at]) && (at == 0 || parts[at - 1].ends_with("\n\n\n"));
    (0..parts.len()).rfind(|at| has_title(parts) && is_part(*at)).map_or(1, |title| title + 2)
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
