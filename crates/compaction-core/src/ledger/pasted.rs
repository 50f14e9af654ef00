//! Pasted passages: help texts, output of programs and licences in a message of a person. They are recognised by their
//! layout or by the phrases of licences, and count as quotes.

use std::ops::Range;
use std::sync::LazyLock;

use super::errors::{KIND_OF_ERROR, is_frame};
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

/// Whether a line has the prompt of PowerShell: `PS C:\\work> `.
fn has_prompt(line: &str) -> bool {
    behind_prompt(line).is_some()
}

/// What is typed behind such a prompt, perhaps nothing. An environment may stand before it: `(venv) PS C:\\work> `.
fn behind_prompt(line: &str) -> Option<&str> {
    let is_environment = |before: &str| before.is_empty() || before.starts_with('(') && before.ends_with(") ");
    let (_, rest) = line.split_once("PS ").filter(|(before, _)| is_environment(before))?;
    let (path, typed) = rest.split_once('>')?;
    (path.get(1..3) == Some(":\\")).then(|| typed.trim())
}

/// Whether PowerShell prints a line when it starts.
fn is_banner(line: &str) -> bool {
    let is_name = line == "Windows PowerShell" || line.starts_with("PowerShell ") && line.ends_with(char::is_numeric);
    is_name || line.starts_with("Copyright (C) ") || line.contains("https://aka.ms/")
}

/// Fewest words of a line right behind an error that are those of a person. Others are the end of a wrapped line.
const FEWEST_WORDS: usize = 3;

/// The words of a person behind the text of a terminal of PowerShell with an error, perhaps none: the paragraphs behind
/// the error and the last prompt. `None` if a message is no such text, or begins with other words.
pub(crate) fn behind_terminal(message: &str) -> Option<String> {
    let lines: Vec<&str> = message.trim_end().lines().map(str::trim).collect();
    let first = lines.iter().position(|line| has_prompt(line))?;
    if lines[..first].iter().any(|line| is_prose(line) && !line.is_empty() && !is_banner(line)) {
        return None;
    }
    let kind = lines.iter().rposition(|line| line.starts_with(KIND_OF_ERROR))?;
    let frames = lines[kind..].iter().take_while(|line| is_frame(line)).count();
    let mut start = kind + frames;
    let prompt = lines.iter().rposition(|line| has_prompt(line)).filter(|at| *at > kind);
    if let Some(at) = prompt {
        // What follows a command is its output.
        if behind_prompt(lines[at]).is_some_and(|typed| !typed.is_empty()) {
            return Some(String::new());
        }
        start = at + 1;
    }
    let mut own = Vec::new();
    for (number, part) in lines[start..].split(|line| line.is_empty()).enumerate() {
        let is_wrapped = |line: &&&str| number == 0 && prompt.is_none() && line.split(' ').count() < FEWEST_WORDS;
        let part: Vec<&str> = part.iter().skip_while(is_wrapped).copied().collect();
        if part.iter().all(|line| is_prose(line)) {
            own.extend(part);
        }
    }
    Some(own.join(" "))
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
    fn the_words_behind_an_error_of_powershell_are_the_persons() {
        let error = "PS C:\\shop> Start-Service web\nStart-Service : No service 'web'.\nAt line:1 char:3\n+ Start-Service web\n\
                     + ~~~\n    + CategoryInfo          : ObjectNotFound: (web:String) [Start-Service]\n";
        let behind = |text: &str| behind_terminal(text);
        assert_eq!(
            behind(&format!("{error}\nWhy is that?\n\nMake it start.\n")).as_deref(),
            Some("Why is that? Make it start.")
        );
        assert_eq!(behind(&format!("{error}please make it start")).as_deref(), Some("please make it start"));
        assert_eq!(behind(&format!("{error}\nPS C:\\shop> node app.js\n\nServer is listening")).as_deref(), Some(""));
        assert_eq!(behind(&format!("(venv) {error}\nPS C:\\shop>\n\nfix it")).as_deref(), Some("fix it"));
        assert_eq!(behind(&format!("Please make it start after a reboot. I get this:\n\n{error}")), None);
        assert_eq!(behind("PS C:\\shop> node app.js\n\nServer is listening on port 3000"), None);
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
