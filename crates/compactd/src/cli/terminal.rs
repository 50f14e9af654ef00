//! What the commands know of the terminal: colours, width, and text that is safe to show.

use std::io::IsTerminal;

/// Columns where the output is no terminal.
const PIPE_COLUMNS: usize = 120;
/// Narrower terminals get lines that wrap.
const LEAST_COLUMNS: usize = 40;

/// How text is shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    colours: bool,
    columns: usize,
}

impl Terminal {
    /// The terminal behind standard output; `NO_COLOR` and `TERM=dumb` are respected.
    pub(super) fn of_stdout() -> Self {
        let stdout = std::io::stdout();
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let colours = stdout.is_terminal() && !is_set("NO_COLOR") && !is_dumb;
        let size = rustix::termios::tcgetwinsize(&stdout).ok().map(|size| usize::from(size.ws_col));
        let columns = size.filter(|columns| *columns > 0).unwrap_or(PIPE_COLUMNS).max(LEAST_COLUMNS);
        Self { colours, columns }
    }

    /// A terminal without colours.
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

/// Text from a session on one line: control characters, which could steer the terminal, and line
/// ends become spaces; runs of spaces become one.
pub(super) fn one_line(text: &str) -> String {
    let shown = |character: char| if character.is_control() || is_steering(character) { ' ' } else { character };
    let spaced: String = text.chars().map(shown).collect();
    spaced.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Cuts text to at most `columns` columns; what was cut shows as an ellipsis.
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

/// Columns that a text takes.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Marks that turn the direction of text around, so that it reads as something else.
fn is_steering(character: char) -> bool {
    matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}')
}

/// Columns of a character, near enough for cutting: marks take none, East Asian and picture
/// characters two.
fn columns_of(character: char) -> usize {
    match u32::from(character) {
        0x0300..=0x036f | 0x200b..=0x200d | 0xfe00..=0xfe0f => 0,
        0x1100..=0x115f | 0x2e80..=0xa4cf | 0xac00..=0xd7a3 | 0xf900..=0xfaff | 0xfe30..=0xfe6f => 2,
        0xff00..=0xff60 | 0xffe0..=0xffe6 | 0x1f300..=0x1faff | 0x20000..=0x3fffd => 2,
        _ => 1,
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
}
