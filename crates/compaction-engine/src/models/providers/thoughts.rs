//! Keeps thinking in tags out of what is told while a model writes: models of one's own begin with it
//! where the server does not know their format. What the summary is decides [`summary_of`] in the end,
//! which sees the whole text.
//!
//! [`summary_of`]: super::super::answer_text::summary_of

use super::super::answer_text::{may_open_thinking, opened_thinking};

/// White space before the tag that is waited through.
const MAX_HELD: usize = 1024;

/// Takes thinking from the beginning of a text that comes in pieces.
#[derive(Debug, Default)]
pub(super) struct Thoughts {
    place: Place,
    /// At the beginning: what may become the opening tag. While thinking: the last bytes, which may be
    /// the first of the closing tag.
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Beginning,
    /// Until this closing tag.
    Thinking(&'static str),
    /// Right behind the thinking, where blank lines follow.
    Behind,
    Text,
}

impl Thoughts {
    /// What of the next piece is text.
    pub(super) fn without(&mut self, piece: &str) -> String {
        if self.place == Place::Text {
            return piece.to_owned();
        }
        let mut rest = std::mem::take(&mut self.held) + piece;
        if self.place == Place::Beginning {
            let start = rest.len() - rest.trim_start().len();
            let lower = rest[start..].to_ascii_lowercase();
            if may_open_thinking(&lower) && rest.len() < MAX_HELD {
                self.held = rest;
                return String::new();
            }
            let Some((open, close)) = opened_thinking(&lower) else {
                self.place = Place::Text;
                return rest;
            };
            rest.drain(..start + open);
            self.place = Place::Thinking(close);
        }
        if let Place::Thinking(close) = self.place {
            let lower = rest.to_ascii_lowercase();
            let Some(end) = lower.find(close) else {
                self.held = rest[possible_tag(&lower, close)..].to_owned();
                return String::new();
            };
            rest.drain(..end + close.len());
            self.place = Place::Behind;
        }
        let text = rest.trim_start().to_owned();
        if !text.is_empty() {
            self.place = Place::Text;
        }
        text
    }

    /// What was held back at the end of the text and is text after all.
    pub(super) fn rest(&mut self) -> String {
        match self.place {
            Place::Beginning => std::mem::take(&mut self.held),
            _ => String::new(),
        }
    }
}

/// Where the closing tag may have begun at the end of `text`.
fn possible_tag(text: &str, close: &str) -> usize {
    let lengths = (1..close.len()).rev().filter(|length| close.is_char_boundary(*length));
    let start = lengths.map(|length| &close[..length]).find(|start| text.ends_with(start));
    text.len() - start.map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        for size in 1..=text.len() {
            let mut thoughts = Thoughts::default();
            let mut pieces: Vec<String> = Vec::new();
            for character in text.chars() {
                match pieces.last_mut().filter(|piece| piece.len() < size) {
                    Some(piece) => piece.push(character),
                    None => pieces.push(character.to_string()),
                }
            }
            let mut found: String = pieces.iter().map(|piece| thoughts.without(piece)).collect();
            found.push_str(&thoughts.rest());
            assert_eq!(found, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn only_thinking_at_the_beginning_is_none_of_the_text() {
        check("## Goal", "## Goal");
        check("<think>a < b </thin </think>\n\n## Goal\n<think>x</think>", "## Goal\n<think>x</think>");
        check("\n <think></think>ü", "ü");
        check("<think>never done", "");
        check("<thinking>a</think></thinking>b", "b");
        check("[THINK]a[/Think]b", "b");
        check("◁think▷ü◁/think▷b", "b");
        check("<thinks>", "<thinks>");
        check(" <thi", " <thi");
        check("  ", "  ");
        check(&" ".repeat(MAX_HELD * 2), &" ".repeat(MAX_HELD * 2));
    }
}
