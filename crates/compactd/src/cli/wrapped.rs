//! Long text on narrow terminals: lines break at words.

use console::strip_ansi_codes;

use super::terminal::width;

/// `text` with line ends where a word would pass column `columns`; lines after the first begin with `indent`
/// spaces, which the first has already. A word that is longer than a line has a line of its own.
pub(super) fn wrapped(text: &str, indent: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    for (position, word) in text.split(' ').enumerate() {
        let columns_of_word = width(&strip_ansi_codes(word));
        match position {
            0 => {}
            _ if column + 1 + columns_of_word > columns => {
                lines += &format!("\n{}", " ".repeat(indent));
                column = indent;
            }
            _ => {
                lines.push(' ');
                column += 1;
            }
        }
        lines += word;
        column += columns_of_word;
    }
    lines
}

/// The same for a text of several lines, each of which keeps its own indent and the mark of its list item.
pub(super) fn wrapped_lines(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        let bare = line.trim_start_matches([' ', '-', '*', '#']);
        let start = &line[..line.len() - bare.len()];
        // A start that is longer than the line is not repeated before every word.
        format!("{start}{}", wrapped(bare, width(start).min(columns / 2), columns))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_at_words() {
        assert_eq!(wrapped("one two three four", 2, 12), "one two\n  three four");
        assert_eq!(wrapped("a verylongwordthatfitsnowhere b", 0, 8), "a\nverylongwordthatfitsnowhere\nb");
        assert_eq!(wrapped("水位計 水位計 水位計", 0, 13), "水位計 水位計\n水位計");
        assert_eq!(wrapped("\u{1b}[32mgreen\u{1b}[0m red", 0, 9), "\u{1b}[32mgreen\u{1b}[0m red");
        assert_eq!(wrapped("", 4, 10), "");
    }

    #[test]
    fn lists_keep_their_shape() {
        assert_eq!(
            wrapped_lines("## Goal\n- one two three\n  - four five", 11),
            "## Goal\n- one two\n  three\n  - four\n    five"
        );
    }
}
