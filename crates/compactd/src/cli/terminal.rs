//! Text for a terminal: colours, widths, line breaks, numbers, and session text made safe to show.

use std::io::IsTerminal;
use std::time::Duration;

use console::strip_ansi_codes;
use serde_json::Value;

/// Columns of a line if the output is not a terminal.
const PIPE_COLUMNS: usize = 120;
/// Minimum columns of a line. A narrower terminal wraps it.
const LEAST_COLUMNS: usize = 40;

/// The colours and the width of the output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    colours: bool,
    columns: usize,
}

impl Terminal {
    /// The terminal of standard output. `NO_COLOR` and `TERM=dumb` turn colours off.
    pub(super) fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = stdout.is_terminal() && !is_set("NO_COLOR") && !is_dumb;
        let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
        let columns = size.filter(|columns| *columns > 0).unwrap_or(PIPE_COLUMNS).max(LEAST_COLUMNS);
        Self { colours, columns }
    }

    /// An output without colours.
    pub(super) fn plain(columns: usize) -> Self {
        Self { colours: false, columns }
    }

    /// Columns of a line.
    pub(super) fn columns(self) -> usize {
        self.columns
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(super) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}

/// Session text on one line. Line ends, and control characters that could steer the terminal, become spaces. A run of
/// spaces becomes one space.
pub(super) fn one_line(text: &str) -> String {
    if is_plain(text) && !text.contains("  ") {
        return text.trim_matches(' ').to_owned();
    }
    let safe = |character: char| if character.is_control() || is_direction_mark(character) { ' ' } else { character };
    let spaced: String = text.chars().map(safe).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Session text with its lines, safe as in [`one_line`]. The indent of each line stays; a tab becomes four spaces.
pub(super) fn safe_lines(text: Option<&str>) -> String {
    let line = |line: &str| {
        let bare = line.trim_start_matches(' ');
        format!("{}{}", &line[..line.len() - bare.len()], one_line(bare))
    };
    text.unwrap_or_default().replace('\t', "    ").lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A text member of a JSON object on one line; empty if it has none.
pub(super) fn line_of_member(object: &Value, name: &str) -> String {
    one_line(object[name].as_str().unwrap_or_default())
}

/// Cuts text to at most `columns` columns. An ellipsis marks the cut.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.chars().map(columns_of).sum::<usize>() <= columns {
        return text.to_owned();
    }
    let mut left = columns.saturating_sub(1);
    let fits = |character: &char| {
        let fits = columns_of(*character) <= left;
        left = left.saturating_sub(columns_of(*character));
        fits
    };
    let start: String = text.chars().take_while(fits).collect();
    if columns == 0 { String::new() } else { format!("{}…", start.trim_end()) }
}

/// Whether a text consists of printable ASCII characters, as nearly all words do. Each takes one column.
fn is_plain(text: &str) -> bool {
    // The loop is compiled to vector instructions.
    text.bytes().fold(true, |is_plain, byte| is_plain & matches!(byte, b' '..=b'~'))
}

/// The columns of a text.
pub(super) fn width(text: &str) -> usize {
    if is_plain(text) {
        return text.len();
    }
    text.chars().map(columns_of).sum()
}

/// Whether the character changes the direction of text, so that the text looks different from what it is.
fn is_direction_mark(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// The columns of a character, precise enough for cuts: 0 for combining marks, 2 for East Asian characters and
/// pictures, 1 for others.
fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}

/// Breaks `text` at words so that no line passes `columns`. Later lines begin with `indent` spaces; the caller has
/// indented the first line. A word longer than a line gets a separate line.
pub(super) fn wrapped(text: &str, indent: usize, columns: usize) -> String {
    let mut lines = String::new();
    let mut column = indent;
    let is_text_plain = is_plain(text);
    for (position, word) in text.split(' ').enumerate() {
        let columns_of_word = if is_text_plain || is_plain(word) { word.len() } else { width(&strip_ansi_codes(word)) };
        match position {
            0 => {}
            _ if column + 1 + columns_of_word > columns => {
                lines.push('\n');
                lines.extend(std::iter::repeat_n(' ', indent));
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

/// Breaks each line of `text` at words. The indent and the list mark of a line stay.
pub(super) fn wrapped_lines(text: &str, columns: usize) -> String {
    let line = |line: &str| {
        let bare = line.trim_start_matches([' ', '-', '*', '#']);
        let start = &line[..line.len() - bare.len()];
        // A very long start must not be repeated on every line.
        format!("{start}{}", wrapped(bare, width(start).min(columns / 2), columns))
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A number with thousands separators: `43,552`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with its noun: `1 file`, `2 files`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let ending = match (number, noun) {
        (1, _) => noun.to_owned(),
        (_, "entry") => "entries".to_owned(),
        (_, "summary") => "summaries".to_owned(),
        (_, "branch") => "branches".to_owned(),
        _ => format!("{noun}s"),
    };
    format!("{} {ending}", thousands(number))
}

/// The change from `before` to `after`: `50 % less`.
pub(super) fn change(before: u64, after: u64) -> String {
    if before == 0 || after == before {
        return "as before".to_owned();
    }
    let percent = u128::from(before.abs_diff(after)) * 100 / u128::from(before);
    format!("{percent} % {}", if after < before { "less" } else { "more" })
}

/// A duration for people: `0.4 ms`, `35 ms`, `1.2 s`.
pub(super) fn time(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1e3;
    match milliseconds {
        ..10.0 => format!("{milliseconds:.1} ms"),
        10.0..1000.0 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.1} s", milliseconds / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_session_cannot_steer_the_terminal() {
        let check = |text: &str, expected: &str| assert_eq!(one_line(text), expected);
        check("two\nlines\r\n and  more", "two lines and more");
        check("\u{1b}[31mred\u{1b}[0m\u{7}", "[31mred [0m");
        check("name\u{202e}txt.exe", "name txt.exe");
        check("\u{9b}2J", "2J");
        check("Größe 12 µm", "Größe 12 µm");
    }

    #[test]
    fn text_is_cut_to_its_columns() {
        let check = |text: &str, columns: usize, expected: &str| {
            assert_eq!(cut(text, columns), expected);
            assert!(width(&cut(text, columns)) <= columns);
        };
        check("holmsund", 8, "holmsund");
        check("holmsund", 7, "holmsu…");
        check("two words", 5, "two…");
        check("水位計水位計", 7, "水位計…");
        check("水位計水位計", 6, "水位…");
        check("🌊🌊🌊", 6, "🌊🌊🌊");
        check("abc", 1, "…");
        check("abc", 0, "");
    }

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

    #[test]
    fn numbers_are_grouped() {
        let numbers = [0, 7, 999, 1000, 43552, 1_000_000, u64::MAX].map(thousands);
        assert_eq!(numbers, ["0", "7", "999", "1,000", "43,552", "1,000,000", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(count(1, "entry"), "1 entry");
        assert_eq!(count(0, "entry"), "0 entries");
        assert_eq!(count(1200, "file"), "1,200 files");
    }

    #[test]
    fn changes_are_relative_to_before() {
        assert_eq!(change(200, 50), "75 % less");
        assert_eq!(change(50, 75), "50 % more");
        assert_eq!(change(50, 50), "as before");
        assert_eq!(change(0, 50), "as before");
        assert_eq!(change(u64::MAX, 0), "100 % less");
    }

    #[test]
    fn times_have_few_digits() {
        let times = [0.0004, 0.0042, 0.0351, 1.24].map(|seconds| time(Duration::from_secs_f64(seconds)));
        assert_eq!(times, ["0.4 ms", "4.2 ms", "35 ms", "1.2 s"]);
    }
}
