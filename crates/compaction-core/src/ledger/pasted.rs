//! Pasted passages: help texts, output of programs and licences in a message of a person. They are recognised by their
//! layout or by the phrases of licences, and count as quotes.

use std::ops::Range;
use std::sync::LazyLock;

use super::finder::Phrases;
use super::statements::{is_prose, without_marker};
use crate::phrases::{PROGRAMS, listed};

/// Fewest lines with marks of pasted text in a passage.
const FEWEST_MARKED: usize = 6;
/// Most lines without marks between two of them.
const MOST_BETWEEN: usize = 2;
/// Columns from which a line is indented like documentation.
const DEEP: usize = 4;
/// Columns from which a line is indented like a list of options.
const SHALLOW: usize = 2;
/// Longest text that is searched, in bytes. A longer one is a pasted file.
const LONGEST: usize = 200_000;
/// Phrases of licences, in lower case.
const LEGAL: &[&str] = listed!(PROGRAMS, "pasted: licences");
/// Fewest of them in a licence.
const FEWEST_LEGAL: usize = 2;

/// The pasted passages of a person's message, in order, as ranges of bytes that begin and end with lines.
pub(super) fn passages(text: &str) -> Vec<Range<usize>> {
    // Text between fences is already a quote, and a passage must not split it.
    let has = |mark: &[u8]| memchr::memmem::find(text.as_bytes(), mark).is_some();
    if text.len() > LONGEST || !has(b"\n") || has(b"```") {
        return Vec::new();
    }
    let mut found = laid_out(text);
    found.extend(legal(text));
    found.sort_by_key(|range| range.start);
    found.dedup_by(|next, known| {
        let overlaps = next.start < known.end;
        if overlaps {
            known.end = known.end.max(next.end);
        }
        overlaps
    });
    found
}

/// The lines of a text with their ranges.
fn lines(text: &str) -> impl Iterator<Item = (Range<usize>, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start..*at, line.trim_end()))
    })
}

/// Passages with the layout of documentation or of a list of options. The line right before one is its title.
fn laid_out(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    // The passage with its number of marked lines and of items.
    let mut open: Option<(Range<usize>, usize, usize)> = None;
    let (mut between, mut title) = (0, None);
    let mut close = |open: &mut Option<(Range<usize>, usize, usize)>| {
        // A list of tasks has long items.
        let is_layout = |(_, marked, items): &(_, usize, usize)| *marked >= FEWEST_MARKED && items * 3 < *marked;
        found.extend(open.take().filter(is_layout).map(|(range, ..)| range));
    };
    for (range, line) in lines(text) {
        if line.is_empty() {
            continue;
        }
        // Code is a quote by itself, and the text beside it may be a demand.
        if is_marked(line) && is_prose(line.trim_start()) {
            let (known, marked, _) = open.get_or_insert_with(|| (title.take().unwrap_or(range.start)..range.end, 0, 0));
            known.end = range.end;
            *marked += 1;
            between = 0;
            continue;
        }
        if let Some((_, _, items)) = open.as_mut().filter(|_| without_marker(line).len() < line.trim_start().len()) {
            *items += 1;
            continue;
        }
        between += 1;
        if between > MOST_BETWEEN {
            close(&mut open);
        }
        title = Some(range.start);
    }
    close(&mut open);
    found
}

/// Whether a line has a layout that people do not type.
fn is_marked(line: &str) -> bool {
    // Most lines are not indented.
    if matches!(line.as_bytes().first(), Some(b'!'..=b'~')) {
        return false;
    }
    let bare = line.trim_start();
    let indent =
        line.chars().take_while(|one| one.is_whitespace()).map(|one| if one == '\t' { DEEP } else { 1 }).sum::<usize>();
    let is_option =
        || bare.starts_with('-') && bare[1..].starts_with(|one: char| one.is_ascii_alphanumeric() || one == '-');
    let has_columns = || bare.contains("  ");
    let is_item = || without_marker(line).len() < bare.len();
    indent >= DEEP && !is_item() || indent >= SHALLOW && (is_option() || has_columns())
}

/// The passage from the first phrase of a licence to the end of the paragraph with the last one.
fn legal(text: &str) -> Option<Range<usize>> {
    static FINDER: LazyLock<Phrases> = LazyLock::new(|| Phrases::of(LEGAL.iter().copied()));
    let mut seen = Vec::new();
    let mut is_new = |(_, phrase): &(usize, &'static str)| {
        !seen.contains(phrase) && {
            seen.push(*phrase);
            true
        }
    };
    let places: Vec<usize> = FINDER.found_in(text).filter(|found| is_new(found)).map(|(place, _)| place).collect();
    let (first, last) = (places.iter().min()?, places.iter().max()?);
    let start = text[..*first].rfind('\n').map_or(0, |at| at + 1);
    let end = text[*last..].find("\n\n").map_or(text.len(), |at| last + at + 1);
    // Demands that only name such phrases may be between them.
    let is_whole = lines(&text[start..end]).filter(|(_, line)| line.trim().is_empty()).count() < places.len();
    (is_whole && places.len() >= FEWEST_LEGAL).then_some(start..end)
}

/// Most lines of a person behind what they pasted from a terminal.
const MOST_BEHIND: usize = 3;

/// Whether a line has the prompt of PowerShell: `PS C:\\work> `.
fn has_prompt(line: &str) -> bool {
    let prompt = line.split_once("PS ").filter(|(before, _)| before.is_empty() || before.ends_with(' '));
    prompt.and_then(|(_, rest)| rest.split_once('>')).is_some_and(|(path, _)| path.get(1..3) == Some(":\\"))
}

/// The words of a person behind the text of a terminal of PowerShell, perhaps none: the last lines, after a blank one.
/// `None` if a message is no such text.
pub(crate) fn behind_terminal(message: &str) -> Option<String> {
    let lines: Vec<&str> = message.trim_end().lines().map(str::trim).collect();
    let prompt = lines.iter().rposition(|line| has_prompt(line))?;
    let behind = &lines[prompt + 1..];
    let start = behind.iter().rposition(|line| line.is_empty()).map_or(behind.len(), |at| at + 1);
    let own = &behind[start..];
    let is_own = own.len() <= MOST_BEHIND && own.iter().all(|line| is_prose(line));
    Some(if is_own { own.join(" ") } else { String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pasted(text: &str) -> Vec<&str> {
        passages(text).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn help_texts_and_licences_are_pasted() {
        let page = "pool(how, *, wait=False)\n    Create a pool of workers.\n\n    The pool is closed at the end of the \
                    block.\n\n    Args:\n        how: Name of the method.\n        wait: Whether to wait for it.\n    \
                    Returns:\n        A pool that can be called.\n";
        let text = format!("look at this\n\nHelp on function pool:\n\n{page}\nnow use it for the export\n");
        let found = pasted(&text);
        assert_eq!(found, [page]);
        let options = "usage: shop [options]\n  -h, --help     show this help and exit\n  -v, --version  show the version\n  \
                       build          build the shop\n  run            run the shop\n  test           test the shop\n  clean          \
                       remove what was built\n";
        assert_eq!(pasted(&format!("Add a command to this:\n\n{options}")), [options]);
        let licence = "Copyright (c) 2020 Ada\n\nPermission is hereby granted, free of charge.\nThe above copyright notice \
                       stays.\n";
        assert_eq!(pasted(&format!("Use this licence:\n\n{licence}\nand add it to the package.")), [licence]);
    }

    #[test]
    fn what_a_person_types_is_not_pasted() {
        for text in [
            "Do these things:\n- port the parser\n    - its tests\n    - its manual\n    - its errors\n    - its cache\n    - its log\n    - its menu\n",
            "Port the parser.\n\nThen write the manual,\nwith a part about errors.\n\nThen release it.",
            "The licence must be copyright (c) Ada.\nAdd it.",
            "1. The parser:\n     it reads all of the files\n     and it never fails\n2. The manual:\n     it has a part about errors\n     and one about the cache\n3. The log:\n     it is short\n     and it has dates\n",
            "Use this:\n```\n    the first line of it\n    the second line of it\n    the third line of it\n    one more line of it\n    one more of them\n    and the last one\n```\n",
            "one line",
            "",
        ] {
            assert_eq!(pasted(text), [""; 0], "{text}");
        }
    }
}
