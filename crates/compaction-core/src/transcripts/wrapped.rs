//! Lines that a screen broke in text with wide letters, such as Chinese and Japanese. Such text has no spaces, so a screen
//! breaks it anywhere, also inside of Latin words. A line that is filled to the last column shows that it was broken.

use super::shared::line_at;
use crate::text::{columns, columns_of};

/// Number of filled lines that show the width of a screen.
const FILLED_LINES: usize = 2;
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', ':', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{ff1a}'];
/// Pictures, which take two columns in every script.
const PICTURES: std::ops::RangeInclusive<char> = '\u{1f300}'..='\u{1faff}';
/// Beginnings of lines that continue no line.
const ITEMS: [&str; 6] = ["- ", "* ", "+ ", "#", "|", "\u{2502}"];

/// The columns of the lines of an author on a screen. Only lines with wide letters count.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Width {
    columns: usize,
    /// Number of lines that are as long, or one column shorter: a wide letter needs two.
    filled: usize,
}

impl Width {
    /// Reads the lines of a text.
    pub(super) fn note(&mut self, text: &str) {
        for line in text.lines().filter(|line| line.contains(is_wide) && !line.contains('\u{2502}')) {
            let columns = columns(line.trim_end());
            if columns > self.columns + 1 {
                (self.columns, self.filled) = (columns, 1);
            } else if columns + 1 >= self.columns {
                (self.columns, self.filled) = (self.columns.max(columns), self.filled + 1);
            }
        }
    }

    /// The columns, if several lines show them.
    pub(super) fn columns(self) -> Option<usize> {
        (self.filled >= FILLED_LINES).then_some(self.columns)
    }
}

/// Whether a letter or a sign of a script with wide letters takes two columns.
fn is_wide(letter: char) -> bool {
    columns_of(letter) == 2 && !PICTURES.contains(&letter)
}

/// A text without the breaks that the width of the screen shows. `before` columns precede the first line, and lines that
/// continue another have `indentation`.
pub(super) fn joined(text: &str, width: Option<usize>, before: usize, indentation: usize) -> String {
    let Some(width) = width else { return text.to_owned() };
    let (mut joined, mut at, mut columns_before) = (String::with_capacity(text.len()), 0, before);
    while at < text.len() {
        let line = line_at(text, at);
        at += line.len();
        let next = line_at(text, at);
        let bare = line.trim_end_matches(['\n', '\r']);
        match joint(bare, next.trim_end(), columns_before, width, indentation) {
            Some(joint) => {
                joined.push_str(bare.trim_end());
                joined.push_str(joint);
                // The indentation of the next line is left out, and its columns still count.
                columns_before = indentation;
                at += indentation;
            }
            None => {
                joined.push_str(line);
                columns_before = 0;
            }
        }
    }
    joined
}

/// What joins a line to the next one, if the screen broke them: nothing, or the space at which it broke them.
fn joint(line: &str, next: &str, before: usize, width: usize, indentation: usize) -> Option<&'static str> {
    let words = next.get(indentation..).filter(|_| next[..indentation].trim().is_empty())?;
    let is_behind_space = words.starts_with(' ');
    let words = words.strip_prefix(' ').unwrap_or(words);
    let first = words.chars().next().filter(|first| !first.is_whitespace())?;
    let is_item = ITEMS.iter().any(|item| words.starts_with(item)) || is_numbered(words);
    // A break after a sentence does no harm.
    if is_item || line.trim_end().ends_with(SENTENCE_ENDS) || !line.contains(is_wide) && !words.contains(is_wide) {
        return None;
    }
    let filled = before + columns(line.trim_end());
    let word = words.split(' ').next().unwrap_or_default();
    if is_behind_space {
        return (filled + 1 + columns(word) > width).then_some("");
    }
    if filled == width || filled + 1 == width && is_wide(first) {
        return Some("");
    }
    let is_at_space = line.strip_suffix(' ').is_some_and(|line| line.ends_with(|last: char| !last.is_whitespace()));
    (is_at_space && filled < width && filled + 1 + columns(word) > width).then_some(" ")
}

/// Whether words begin with a number of a list.
fn is_numbered(words: &str) -> bool {
    let rest = words.trim_start_matches(|one: char| one.is_ascii_digit());
    rest.len() < words.len() && rest.starts_with(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lines_that_are_filled_are_joined() {
        let cases = [
            // The last column is filled, inside of a Latin word.
            (
                "\u{7a91}\u{306e}\u{6e29}\u{5ea6}kil\n  n_state\u{3067}\u{3059}",
                "\u{7a91}\u{306e}\u{6e29}\u{5ea6}kiln_state\u{3067}\u{3059}",
            ),
            // A wide letter had no place in the last column.
            (
                "\u{7a91}\u{306e}\u{6e29}\u{5ea6}ki\n  \u{3067}\u{3059}",
                "\u{7a91}\u{306e}\u{6e29}\u{5ea6}ki\u{3067}\u{3059}",
            ),
            // It has a space, and the next word had no place.
            ("\u{7a91}\u{306e}just \n  fire\u{3067}\u{3059}", "\u{7a91}\u{306e}just fire\u{3067}\u{3059}"),
            // The space is in the next line.
            (
                "\u{7a91}\u{306e}\u{6e29}just\n   fire\u{3067}\u{3059}",
                "\u{7a91}\u{306e}\u{6e29}just fire\u{3067}\u{3059}",
            ),
            // There was place.
            ("\u{7a91}\u{306e}kiln\n  is\u{3067}\u{3059}", "\u{7a91}\u{306e}kiln\n  is\u{3067}\u{3059}"),
            // An item of a list, another indentation, and no wide letters.
            ("\u{7a91}\u{306e}\u{6e29}\u{5ea6}kil\n  - \u{7a91}", "\u{7a91}\u{306e}\u{6e29}\u{5ea6}kil\n  - \u{7a91}"),
            ("\u{7a91}\u{306e}\u{6e29}\u{5ea6}kil\n    n", "\u{7a91}\u{306e}\u{6e29}\u{5ea6}kil\n    n"),
            ("the kiln is\n  hot", "the kiln is\n  hot"),
        ];
        for (text, expected) in cases {
            assert_eq!(joined(text, Some(11), 0, 2), expected);
        }
        assert_eq!(joined(cases[0].0, None, 0, 2), cases[0].0);
    }

    #[test]
    fn several_filled_lines_show_the_width() {
        let mut width = Width::default();
        width.note("\u{7a91}\u{306e}\u{6e29}\u{5ea6}kil");
        assert_eq!(width.columns(), None);
        width.note("\u{7a91}\u{306e}\n\u{7a91}\u{306e}\u{6e29}\u{5ea6}\u{306e}\nthe kiln is very hot now");
        assert_eq!(width.columns(), Some(11));
    }
}
