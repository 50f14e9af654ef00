//! Texts, blocks and arguments.

use super::json::{self, Members};
use super::random::Random;

const WORDS: [&str; 24] = [
    "the",
    "parser",
    "fails",
    "on",
    "line",
    "src/main.rs",
    "cargo test",
    "because",
    "of",
    "a",
    "missing",
    "comma",
    "please",
    "fix",
    "it",
    "and",
    "never",
    "touch",
    "tests/",
    "value",
    "`x = 1`",
    "don't",
    "(see #12)",
    "100%",
];
const PIECES: [&str; 18] = [
    "é",
    "straße",
    "日本語のテキスト",
    "😀",
    "👩‍👩‍👧",
    "𝒳𝒴",
    "\n",
    "\n\n",
    "\t",
    "\"quoted\"",
    "C:\\path\\file",
    "\u{1}",
    "\u{7f}",
    "\u{2028}",
    "</conversation>",
    "</summary>",
    "```",
    "\u{ffff}",
];
const PATHS: [&str; 14] = [
    "src/main.rs",
    "src/lib.rs",
    "README.md",
    "a.txt",
    "b.txt",
    "docs/ä.md",
    "docs/😀.md",
    "docs/\u{ff5e}.md",
    "Cargo.toml",
    "/etc/hosts",
    "with space.txt",
    "Z.txt",
    "_.txt",
    "10.txt",
];

/// What makes a session harder than usual: things that JavaScript itself cannot hold, or that it
/// holds in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Oddities {
    pub(super) numbers: bool,
    pub(super) keys: bool,
    pub(super) half_surrogates: bool,
}

/// Makes the contents of messages.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) random: Random,
    pub(super) odd: Oddities,
}

impl Writer {
    /// A text of about `units` UTF-16 units, as a JSON string.
    pub(super) fn text(&mut self, units: usize) -> String {
        let text = self.plain_text(units);
        let literal = json::string(&mut self.random, &text);
        if self.odd.half_surrogates && self.random.chance(100) {
            return self.with_half_surrogate(&literal);
        }
        literal
    }

    /// A text of usual length.
    pub(super) fn some_text(&mut self) -> String {
        let units = self.random.weighted(&[(2, 8), (5, 60), (5, 200), (3, 600), (1, 1600)]);
        let units = self.random.between(1, units);
        self.text(units)
    }

    fn with_half_surrogate(&mut self, literal: &str) -> String {
        let half = self.random.pick(&["\\ud83d", "\\uDE00", "\\ud83d\\ud83d"]);
        if self.random.chance(500) {
            format!("\"{half}{}", &literal[1..])
        } else {
            format!("{}{half}\"", &literal[..literal.len() - 1])
        }
    }

    pub(super) fn plain_text(&mut self, units: usize) -> String {
        if self.random.chance(30) {
            return "😀".repeat(units / 2);
        }
        let piece_per_thousand = *self.random.pick(&[0, 0, 50, 300]);
        let mut out = String::new();
        let mut length = 0;
        while length < units {
            let words = if self.random.chance(piece_per_thousand) { &PIECES[..] } else { &WORDS[..] };
            let word = self.random.pick(words);
            length += word.encode_utf16().count() + 1;
            out.push_str(word);
            out.push(' ');
        }
        out.pop();
        out
    }

    /// Content that people, tools and extensions write: a string, or text and images.
    pub(super) fn content(&mut self) -> String {
        match self.random.below(20) {
            0..6 => self.some_text(),
            6 => "\"\"".to_owned(),
            7 => "[]".to_owned(),
            _ => self.blocks(),
        }
    }

    /// A list of text and image blocks.
    pub(super) fn blocks(&mut self) -> String {
        let count = self.random.weighted(&[(8, 1), (2, 2), (1, 4)]);
        let blocks: Vec<String> = (0..count).map(|_| self.block()).collect();
        json::array(&blocks)
    }

    fn block(&mut self) -> String {
        match self.random.below(24) {
            0 => Members::new().text("type", "image").text("data", "iVBORw0KGgo=").text("mimeType", "image/png"),
            1 => Members::new().text("type", "audio").text("data", "AAAA").with("seconds", "1.50"),
            2 => Members::new().text("type", "text").text("text", ""),
            _ => Members::new().text("type", "text").with("text", self.some_text()),
        }
        .finish(&mut self.random)
    }

    pub(super) fn text_block(&mut self) -> String {
        let text = self.some_text();
        let signed = self.random.chance(50);
        let block = Members::new().text("type", "text").with("text", text);
        block.maybe(signed, "textSignature", || "\"sig\"".to_owned()).finish(&mut self.random)
    }

    pub(super) fn thinking_block(&mut self) -> String {
        let text = self.some_text();
        let block = Members::new().text("type", "thinking").with("thinking", text);
        block.text("thinkingSignature", "c2lnbmF0dXJl").finish(&mut self.random)
    }

    pub(super) fn tool_call(&mut self, id: &str, name: &str) -> String {
        let arguments = self.arguments(name);
        let block = Members::new().text("type", "toolCall").text("id", id).text("name", name);
        block.with("arguments", arguments).finish(&mut self.random)
    }

    pub(super) fn arguments(&mut self, name: &str) -> String {
        let mut members = Members::new();
        if name == "bash" {
            members = members.with("command", self.some_text());
        } else if !self.random.chance(40) {
            members = members.with("path", self.path_argument());
        }
        for position in 0..self.random.weighted(&[(4, 0), (3, 1), (2, 3)]) {
            let key = self.key(position);
            members = members.with(&key, self.value(0));
        }
        members.finish(&mut self.random)
    }

    fn path_argument(&mut self) -> String {
        match self.random.below(30) {
            0 => "7".to_owned(),
            1 => "null".to_owned(),
            2 => "\"\"".to_owned(),
            3 => "[\"a.txt\"]".to_owned(),
            _ => self.path(),
        }
    }

    /// A path, as a JSON string.
    pub(super) fn path(&mut self) -> String {
        let path = *self.random.pick(&PATHS);
        json::string(&mut self.random, path)
    }

    fn key(&mut self, position: usize) -> String {
        if self.odd.keys && self.random.chance(300) {
            return (*self.random.pick(&["2", "10", "0", "01", "-1", "4294967294", "4294967295"])).to_owned();
        }
        let names = ["edits", "offset", "limit", "oldText", "neu", "schlüssel", "a b", "__proto", "😀", "path2"];
        format!("{}{position}", self.random.pick(&names))
    }

    /// Any JSON value, nested up to a few levels.
    pub(super) fn value(&mut self, depth: usize) -> String {
        match self.random.below(if depth < 4 { 10 } else { 7 }) {
            0 => "null".to_owned(),
            1 => "true".to_owned(),
            2 => "false".to_owned(),
            3 | 4 => json::number(&mut self.random, self.odd.numbers),
            5 | 6 => self.some_text(),
            7 => {
                let items: Vec<String> = (0..self.random.below(4)).map(|_| self.value(depth + 1)).collect();
                json::array(&items)
            }
            8 => self.deep_value(),
            _ => {
                let mut members = Members::new();
                for position in 0..self.random.below(4) {
                    let key = self.key(position);
                    members = members.with(&key, self.value(depth + 1));
                }
                members.finish(&mut self.random)
            }
        }
    }

    fn deep_value(&mut self) -> String {
        let depth = self.random.weighted(&[(20, 3), (1, 100)]);
        format!("{}{}{}", "[".repeat(depth), self.random.below(10), "]".repeat(depth))
    }
}
