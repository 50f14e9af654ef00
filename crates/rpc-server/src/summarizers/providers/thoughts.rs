//! Thinking that a server leaves in the text: `<think>…</think>` before everything else, as models
//! of one's own write it where the server does not know their format.

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";
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
    Thinking,
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
            let start = rest.trim_start();
            if OPEN.starts_with(start) && rest.len() < MAX_HELD {
                self.held = rest;
                return String::new();
            }
            let Some(thinking) = start.strip_prefix(OPEN) else {
                self.place = Place::Text;
                return rest;
            };
            rest = thinking.to_owned();
            self.place = Place::Thinking;
        }
        if self.place == Place::Thinking {
            let Some(end) = rest.find(CLOSE) else {
                self.held = rest[possible_tag(&rest)..].to_owned();
                return String::new();
            };
            rest.drain(..end + CLOSE.len());
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
fn possible_tag(text: &str) -> usize {
    let starts = (1..CLOSE.len()).rev().find(|length| text.ends_with(&CLOSE[..*length]));
    text.len() - starts.unwrap_or(0)
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
        check("<thinking>", "<thinking>");
        check(" <thi", " <thi");
        check("  ", "  ");
        check(&" ".repeat(MAX_HELD * 2), &" ".repeat(MAX_HELD * 2));
    }
}
