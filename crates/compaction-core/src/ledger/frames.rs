//! Frames: words before a part of an answer without which it would be misread. An option that nobody took reads like a
//! plan, and an item in a list of missing things like something that exists.

use super::bold::without_bold;
use super::choices::offered_texts;
use super::statements::{MOST_OF_ONE, Part};
use super::text::{WordList, normalised, one_line, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Most UTF-16 units of a heading or an introduction that is put before its items.
const LONGEST_HEADING: usize = 48;
/// Most bytes before the first sentence of an item.
const LONGEST_MARKER: usize = 12;
/// Bytes at the beginning of a line in which its marker must be.
const LONGEST_INDENT: usize = 64;
/// Starts an option of an answer.
pub(crate) const OPTION: &str = "Option: ";
/// Words of headings that change the meaning of their items: they are not true, not yet, no longer, or only perhaps.
static TURNING: WordList = word_list!("frames: turning");

/// Nouns of such options and hypotheses.
static LABELLED: WordList = word_list!(SPACED, "frames: labelled");
/// Longest label with its noun, in bytes.
const LONGEST_LABEL: usize = 32;

/// The words to put before each of the parts of `text`, if any.
pub(super) fn frames(text: &str, parts: &[Part<'_>]) -> Vec<Option<String>> {
    let options = offered_texts(text);
    let mut heading: Option<Heading<'_>> = None;
    let mut newest: Option<(&str, Option<String>)> = None;
    let mut line = Line::default();
    // The label of the option or hypothesis that the items and the code below it belong to.
    let mut labelled: Option<String> = None;
    let mut parents = Parents::default();
    let mut frames = Vec::with_capacity(parts.len());
    for part in parts.iter().take(MOST_OF_ONE) {
        let (Part::Sentence(own) | Part::Heading(own)) = *part else {
            frames.push(labelled.clone());
            continue;
        };
        let place = line.place(text, own);
        if !place.is_item && !place.is_row && place.is_first {
            labelled = label(own).map(|label| format!("{label}: "));
        }
        let parent = if place.is_first { parents.read(&place, own) } else { None };
        if matches!(part, Part::Heading(_)) {
            heading = Some(Heading { text: own, is_section: place.line.trim_start().starts_with('#') });
            frames.push(None);
            continue;
        }
        if !place.is_item && !place.is_row && heading.is_some_and(|heading| !heading.is_section) {
            heading = None;
        }
        let is_option = options.iter().any(|option| std::ptr::eq(option.as_ptr(), own.as_ptr()));
        let introduced = heading.filter(|_| place.is_item && place.is_first && !place.is_inner);
        // One heading may have many items.
        let turning = introduced.and_then(|heading| match &newest {
            Some((text, frame)) if std::ptr::eq(*text, heading.text) => frame.clone(),
            _ => newest.insert((heading.text, heading.turning())).1.clone(),
        });
        let frame = match turning {
            _ if is_option => Some(OPTION.to_owned()),
            None if parent.is_some() => parent,
            None if place.is_item && place.is_first => labelled.clone(),
            framed => framed,
        };
        frames.push(frame);
        if own.ends_with([':', '\u{ff1a}']) {
            heading = Some(Heading { text: own, is_section: false });
        }
    }
    frames
}

/// The noun and the label at the beginning of a line that names one of several options or hypotheses: `Scenario A: …`.
fn label(line: &str) -> Option<&str> {
    let line = line.trim_start_matches(|one: char| !one.is_alphanumeric());
    let end = line.find([':', '\u{ff1a}', '\u{2014}', '-', '.', ')']).unwrap_or(line.len()).min(LONGEST_LABEL);
    let start = line.get(..end)?.trim_end();
    let (noun, sign) = start.split_once(' ').or_else(|| {
        let at = start.find(|one: char| one.is_ascii_alphanumeric()).filter(|at| *at > 0)?;
        Some(start.split_at(at))
    })?;
    let is_sign = sign.len() == 1 && sign.bytes().all(|one| one.is_ascii_digit() || one.is_ascii_uppercase());
    (is_sign && end < line.len() && LABELLED.has(&noun.to_lowercase())).then_some(start)
}

/// The items of lists that the next item may be below, with the width of the space before each.
#[derive(Debug, Default)]
struct Parents<'a>(Vec<(usize, &'a str)>);

impl<'a> Parents<'a> {
    /// Reads the first sentence of a line. Returns the words to put before an item: those of the item above it, if they only
    /// name something, such as a year. Without them, the item would seem to be about something else.
    fn read(&mut self, place: &Place<'_>, own: &'a str) -> Option<String> {
        if !place.is_item {
            self.0.clear();
            return None;
        }
        let indent = place.line.len() - place.line.trim_start().len();
        while self.0.last().is_some_and(|(known, _)| *known >= indent) {
            self.0.pop();
        }
        let parent = self.0.last().map(|(_, text)| *text);
        self.0.push((indent, own));
        let bare = one_line(parent?);
        let bare = without_bold(&bare);
        let bare = bare.trim_matches(['*', ':', '\u{ff1a}', ' ']);
        let is_name = utf16_len(bare) <= LONGEST_PARENT
            && bare.split_whitespace().count() <= WORDS_OF_PARENT
            && !bare.ends_with(['.', '!', '?', '\u{3002}', '\u{ff01}', '\u{ff1f}']);
        is_name.then(|| format!("{bare}: "))
    }
}

/// Longest item that only names something, in UTF-16 units, and its most words.
const LONGEST_PARENT: usize = 32;
const WORDS_OF_PARENT: usize = 4;

/// A heading, or a sentence that introduces a list.
#[derive(Debug, Clone, Copy)]
struct Heading<'a> {
    text: &'a str,
    /// Whether it applies to all that follows, and not only to a list.
    is_section: bool,
}

impl Heading<'_> {
    /// Its words as they are put before an item, if they change the meaning of the item.
    fn turning(&self) -> Option<String> {
        let words = normalised(self.text);
        let turns = TURNING.is_said_in(self.text, &words);
        let bare = one_line(self.text);
        let bare = without_bold(&bare);
        let is_mark = |one: char| !one.is_alphanumeric() && one != '`';
        // Text in brackets says how long or how important, not what.
        let bare = bare.trim_start_matches(is_mark);
        let end = [" (", " ["].iter().filter_map(|open| bare.find(open)).min().unwrap_or(bare.len());
        let bare = bare[..end].trim_end_matches(is_mark);
        (turns && !bare.is_empty() && utf16_len(bare) <= LONGEST_HEADING).then(|| format!("{bare}: "))
    }
}

/// The place of a sentence.
struct Place<'a> {
    line: &'a str,
    /// Whether the line is an item of a list, possibly a nested one, or a row of a table.
    is_item: bool,
    is_inner: bool,
    is_row: bool,
    /// Whether the sentence is the first one of the line.
    is_first: bool,
}

/// The line of the newest sentence. The sentences of a line come one after the other.
#[derive(Debug, Default)]
struct Line {
    start: usize,
    end: usize,
}

impl Line {
    fn place<'a>(&mut self, text: &'a str, own: &str) -> Place<'a> {
        let at = own.as_ptr() as usize - text.as_ptr() as usize;
        if at < self.start || self.end <= at {
            self.start = memchr::memrchr(b'\n', &text.as_bytes()[..at]).map_or(0, |end| end + 1);
            self.end = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end);
        }
        // This is called for each sentence of a line, and a line may be long.
        let line = &text[self.start..text.floor_char_boundary(self.end.min(self.start + LONGEST_INDENT))];
        let bare = line.trim_start();
        let digits = bare.trim_start_matches(|one: char| one.is_ascii_digit());
        let is_numbered = digits.len() < bare.len() && (digits.starts_with(". ") || digits.starts_with(") "));
        let is_item = is_numbered || ["- ", "* ", "+ ", "\u{2022}"].iter().any(|mark| bare.starts_with(mark));
        let before = &text[self.start..at];
        let is_first = before.len() <= LONGEST_MARKER && !before.contains(char::is_alphabetic);
        Place { line, is_item, is_inner: line.len() > bare.len() + 1, is_row: bare.starts_with('|'), is_first }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::statements::parts;

    /// The parts of an answer with their frames.
    fn framed(text: &str) -> Vec<String> {
        let parts: Vec<Part<'_>> = parts(text).collect();
        let frames = frames(text, &parts);
        let text = |part: &Part<'_>| match part {
            Part::Sentence(own) | Part::Heading(own) | Part::Code(own) => (*own).to_owned(),
        };
        parts.iter().zip(frames).map(|(part, frame)| frame.unwrap_or_default() + &text(part)).collect()
    }

    #[test]
    fn items_whose_heading_turns_their_meaning_come_with_it() {
        let answer = "## Not covered\n- exports of tables\n- the menu. It is slow.\n\nDone today:\n- the parser\n\n\
                      What is missing:\n- tests\n  - of the menu\nThe rest works.\n- fast";
        assert_eq!(
            framed(answer),
            [
                "Not covered",
                "Not covered: exports of tables",
                "Not covered: the menu.",
                "It is slow.",
                "Done today:",
                "the parser",
                "What is missing:",
                "What is missing: tests",
                "tests: of the menu",
                "The rest works.",
                "fast"
            ]
        );
        assert_eq!(framed("## [!] Later (2 h) [x]\n- tests")[1], "Later: tests");
        assert_eq!(framed("Was fehlt:\n- Tests")[1], "Was fehlt: Tests");
        assert_eq!(framed("未完成：\n- 测试")[1], "未完成: 测试");
    }

    #[test]
    fn an_item_below_a_name_comes_with_it() {
        let answer = "The orders:\n- `2023`\n  - rows: 12\n  - pages: 3\n- **2024**:\n  - rows: 40\n\n- The shop has \
                      more pages now than before.\n  - and rows\n- one\n- two";
        let expected = [
            "The orders:",
            "`2023`",
            "`2023`: rows: 12",
            "`2023`: pages: 3",
            "2024**:",
            "2024: rows: 40",
            "The shop has more pages now than before.",
            "and rows",
            "one",
            "two",
        ];
        assert_eq!(framed(answer), expected);
    }

    #[test]
    fn options_that_an_answer_offers_say_so() {
        let answer = "Two ways:\n1. Use files. They are simple.\n2. Use a table\n\nWhich one?";
        let expected = ["Two ways:", "Option: Use files.", "They are simple.", "Option: Use a table", "Which one?"];
        assert_eq!(framed(answer), expected);
        assert_eq!(framed("Done:\n1. files\n2. tables\nAll is well.")[1], "files");
    }
}
