//! Sentences of prose, in scripts with spaces and without.

/// Marks that end a sentence in any position.
const WIDE_ENDS: [&str; 6] = ["\u{3002}", "\u{ff01}", "\u{ff1f}", "\u{ff61}", "\u{61f}", "\u{964}"];
/// Closing marks that may follow them.
const CLOSERS: [char; 7] = ['\u{300d}', '\u{300f}', '\u{201d}', '\u{2019}', '\u{ff09}', ')', '"'];
/// Abbreviations that end no sentence.
const ABBREVIATIONS: &[&str] = &[
    "e.g",
    "i.e",
    "eg",
    "vs",
    "cf",
    "approx",
    "incl",
    "excl",
    "resp",
    "z.b",
    "d.h",
    "u.a",
    "bzw",
    "ca",
    "vgl",
    "evtl",
    "p.ex",
    "ex",
    "\u{442}.\u{435}",
    "\u{43d}\u{430}\u{43f}\u{440}",
];
/// Abbreviations of titles, which are written with a capital.
const TITLES: &[&str] = &["Mr", "Mrs", "Ms", "Dr", "Prof", "Sr", "Sra", "Mme"];
/// Abbreviations that end a sentence only if another one begins.
const LAST_ABBREVIATIONS: &[&str] = &["etc", "usw", "a.m", "p.m", "al"];
/// Words that are abbreviations only before a number.
const BEFORE_NUMBERS: &[&str] = &["no", "nr", "num", "fig", "figs", "sec", "ver", "vol", "ch", "eq", "p", "pp", "art"];
/// Bytes of the longest line that is a heading because of its colon.
const LONGEST_TITLE: usize = 40;
/// Bytes of the longest abbreviation.
const LONGEST_ABBREVIATION: usize = 12;

/// The sentences of `text`, without code between fences, headings and list markers.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| Sentences { rest: without_marker(line) })
}

/// A part of a text.
pub(crate) enum Part<'a> {
    /// A sentence.
    Said(&'a str),
    /// A heading.
    Heading(&'a str),
    /// Code between fences.
    Code(&'a str),
}

/// The sentences of `text` and the code between them, in their order.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    Parts { rest: text, line: Sentences { rest: "" } }
}

struct Parts<'a> {
    rest: &'a str,
    line: Sentences<'a>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        loop {
            if let Some(sentence) = self.line.next() {
                return Some(Part::Said(sentence));
            }
            if self.rest.is_empty() {
                return None;
            }
            let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
            self.rest = rest;
            if !line.trim_start().starts_with("```") {
                let text = without_marker(line);
                if is_heading(line, text) {
                    return Some(Part::Heading(text));
                }
                self.line = Sentences { rest: text };
                continue;
            }
            let is_fence = |line: &str| line.trim_start().starts_with("```");
            let mut end = 0;
            let close = rest.split_inclusive('\n').find(|line| {
                let is_close = is_fence(line);
                end += if is_close { 0 } else { line.len() };
                is_close
            });
            let (code, after) = rest.split_at(end);
            self.rest = close.map_or("", |close| &after[close.len()..]);
            if !code.trim().is_empty() {
                return Some(Part::Code(code));
            }
        }
    }
}

/// Whether a line whose text is `text` is a heading: marked as one, or short, with a colon at its end.
fn is_heading(line: &str, text: &str) -> bool {
    let ends_with_colon = || text.trim_end_matches('*').ends_with([':', '\u{ff1a}']);
    !text.is_empty() && (line.trim_start().starts_with('#') || text.len() <= LONGEST_TITLE && ends_with_colon())
}

/// Whether a sentence consists of words and not of code, data or log lines.
pub(crate) fn is_prose(sentence: &str) -> bool {
    let (mut marks, mut letters, mut all) = (0usize, 0usize, 0usize);
    for character in sentence.chars() {
        all += 1;
        match character {
            _ if character.is_alphabetic() || character == ' ' => letters += 1,
            '{' | '}' | '=' | '<' | '>' | '|' | '[' | ']' | '\\' | '_' | '*' | ';' | '\u{2500}'..='\u{259f}' => {
                marks += 1
            }
            _ => {}
        }
    }
    let longest = sentence.split_whitespace().map(str::len).max().unwrap_or(0);
    let is_unspaced = sentence.chars().any(|character| ('\u{2E80}'..='\u{FFDC}').contains(&character));
    let starts_plain = !sentence.starts_with(['{', '}', '[', '"', '<', '|', '\u{2502}', '+', '$', '>', '(', '\'']);
    letters * 100 >= all * 78 && marks * 25 <= all && starts_plain && (is_unspaced || longest <= 48)
}

/// The lines of `text` without code between fences.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !in_code && !is_fence
    })
}

/// A line without the marks of headings, quotes and lists at its beginning.
pub(crate) fn without_marker(line: &str) -> &str {
    let line = line.trim().trim_start_matches(['#', '>', '*', '-', '+', ' ']);
    let digits = line.trim_start_matches(|character: char| character.is_ascii_digit());
    match digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") ")) {
        Some(rest) if digits.len() < line.len() => rest.trim_start(),
        _ => line,
    }
}

struct Sentences<'a> {
    rest: &'a str,
}

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = self.rest.trim_start();
        if self.rest.is_empty() {
            return None;
        }
        let (sentence, rest) = self.rest.split_at(end(self.rest));
        self.rest = rest;
        Some(sentence)
    }
}

/// Bytes of the first sentence of `text`.
fn end(text: &str) -> usize {
    let bytes = text.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'.' | b'!' | b'?' if !matches!(bytes.get(at + 1), Some(b' ' | b'\t')) => {}
            b'.' if is_abbreviation(&text[..at], text[at + 1..].trim_start()) => {}
            b'.' | b'!' | b'?' => return at + 1,
            // The first bytes of the wide marks.
            0xD8 | 0xE0 | 0xE3 | 0xEF => {
                if let Some(mark) = WIDE_ENDS.iter().find(|mark| text[at..].starts_with(**mark)) {
                    let rest = &text[at + mark.len()..];
                    return text.len() - rest.trim_start_matches(CLOSERS).len();
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Whether a full stop between `before` and `after` belongs to the word before it.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let longest = before.char_indices().rev().take_while(|(at, _)| before.len() - at <= LONGEST_ABBREVIATION);
    let is_part = |(_, character): &(usize, char)| character.is_alphanumeric() || *character == '.';
    let start = longest.take_while(is_part).last().map_or(before.len(), |(at, _)| at);
    let word = &before[start..];
    let is_in = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    let next = after.chars().next();
    TITLES.contains(&word)
        || is_in(ABBREVIATIONS)
        || is_in(BEFORE_NUMBERS) && next.is_some_and(|next| next.is_ascii_digit())
        || is_in(LAST_ABBREVIATIONS) && !next.is_some_and(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_people_end_them() {
        for (text, expected) in [
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"] as &[&str]),
            ("Port 48213 is reserved; do not use it. Ever.", &["Port 48213 is reserved; do not use it.", "Ever."]),
            ("Don't touch e.g. foo.rs. It is owned by Ann.", &["Don't touch e.g. foo.rs.", "It is owned by Ann."]),
            ("Only main, i.e. never a branch!", &["Only main, i.e. never a branch!"]),
            ("Keep logs, traces, etc. out of it.", &["Keep logs, traces, etc. out of it."]),
            ("No logs, etc. Use traces.", &["No logs, etc.", "Use traces."]),
            ("Use A vs. B, cf. C, approx. 5 of fig. 2.", &["Use A vs. B, cf. C, approx. 5 of fig. 2."]),
            ("See no. 5. The answer is no. Use it.", &["See no. 5.", "The answer is no.", "Use it."]),
            ("Ask Dr. Who. It takes 5 ms. Mr. X waits.", &["Ask Dr. Who.", "It takes 5 ms.", "Mr. X waits."]),
            ("Version 1.5 must stay; 2.0 is out. Ok", &["Version 1.5 must stay; 2.0 is out.", "Ok"]),
            ("Nutze z.B. UTC. Danke.", &["Nutze z.B. UTC.", "Danke."]),
            ("(E.g. this one.) And that", &["(E.g. this one.) And that"]),
            ("不要修改它。请先测试！好吗？好", &["不要修改它。", "请先测试！", "好吗？", "好"]),
            ("「絶対に。」次へ", &["「絶対に。」", "次へ"]),
            ("# 1. A heading. Text", &["A heading.", "Text"]),
            ("a\n```\ncode. code\n```\nb. c", &["a", "b.", "c"]),
            (" . ", &["."]),
        ] {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn words_are_told_from_logs_and_code() {
        for prose in [
            "please make the button blue, and add a test",
            "I think the error message is a red herring.",
            "Vérifie que le sitemap est bien généré lors du build (import du package si besoin).",
            "请先测试！",
        ] {
            assert!(is_prose(prose), "{prose}");
        }
        for pasted in [
            "[02/26/25 23:13:29] DEBUG Overriding num_results=5 with n=4 cli.py:297",
            "\"snippet\": \"Aug 23, 2023\",",
            "│ 235 │ │ skipkeys=skipkeys, ensure_ascii=ensure_ascii, │",
            "at AppInner (App.tsx:141:27)",
            "const x = { a: 1 };",
        ] {
            assert!(!is_prose(pasted), "{pasted}");
        }
    }

    #[test]
    fn code_is_a_part_of_its_own() {
        let told = |text| {
            let part = |part| match part {
                Part::Said(sentence) => format!("s:{sentence}"),
                Part::Heading(text) => format!("h:{text}"),
                Part::Code(code) => format!("c:{}", code.trim_end()),
            };
            parts(text).map(part).collect::<Vec<_>>()
        };
        assert_eq!(told("One. Two\n```sh\nmake\nls\n```\n- Three"), ["s:One.", "s:Two", "c:make\nls", "s:Three"]);
        assert_eq!(told("```\nopen"), ["c:open"]);
        assert_eq!(
            told("## Results. All of them\n**Next:**\n- a: b."),
            ["h:Results. All of them", "h:Next:**", "s:a: b."]
        );
        assert!(told("```\n```").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_space_is_lost(line in "[^\\p{C}\\p{Z}#>*`+0-9-]([ -_a-zé中。！？؟.]|e\\.g\\. |\\. ){0,40}") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(sentences(&line).map(bare).collect::<String>(), bare(&line));
        }
    }
}
