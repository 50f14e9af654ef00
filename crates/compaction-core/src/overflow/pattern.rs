//! Normalises error texts and matches them with patterns.

use super::table;

/// A row of the table. A text matches if it holds all fragments in this order, in lower case. `#` in a
/// fragment stands for a number, with or without separators.
pub(super) type Pattern = &'static [&'static str];

/// Whether `text`, in lower case, matches one of `patterns`.
pub(super) fn matches_any(text: &str, patterns: &[Pattern]) -> bool {
    patterns.iter().any(|pattern| matches(text, pattern))
}

fn matches(text: &str, pattern: Pattern) -> bool {
    let mut rest = text;
    pattern.iter().all(|fragment| match end_of(rest, fragment) {
        Some(end) => {
            rest = &rest[end..];
            true
        }
        None => false,
    })
}

/// Where the first occurrence of `fragment` ends in `text`.
fn end_of(text: &str, fragment: &str) -> Option<usize> {
    let Some((before, after)) = fragment.split_once('#') else {
        return text.find(fragment).map(|at| at + fragment.len());
    };
    text.match_indices(before).find_map(|(at, _)| {
        let number = at + before.len();
        let length = number_length(&text[number..]);
        let end = number + length;
        (length > 0 && text[end..].starts_with(after)).then_some(end + after.len())
    })
}

/// Length in bytes of the number at the start of `text`, including commas, dots, underscores,
/// apostrophes and spaces between groups of digits.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    while end > 0 {
        let group = match text[end..].bytes().next() {
            Some(b',' | b'.' | b'_') => digits(end + 1),
            Some(b' ' | b'\'') if digits(end + 1) == 3 => 3,
            _ => 0,
        };
        if group == 0 {
            break;
        }
        end += 1 + group;
    }
    end
}

/// A number in a text and its surroundings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Number<'a> {
    /// Its value; `u64::MAX` if it has too many digits.
    pub(super) value: u64,
    before: &'a str,
    after: &'a str,
}

/// Characters that may separate a number from its words.
const BETWEEN: &[char] = &[' ', '(', ')', '`', '\'', '"', ':', '=', '*'];
/// Maximum distance in bytes of words that describe a number.
const NEAR: usize = 100;

impl Number<'_> {
    /// Whether one of `words` directly precedes it.
    pub(super) fn follows(&self, words: &[&str]) -> bool {
        let before = self.before.trim_end_matches(BETWEEN);
        words.iter().any(|word| before.ends_with(word.trim_end_matches(BETWEEN)))
    }

    /// Whether one of `words` directly follows it.
    pub(super) fn is_followed_by(&self, words: &[&str]) -> bool {
        let after = self.after.trim_start_matches(BETWEEN);
        words.iter().any(|word| after.starts_with(word))
    }

    /// Whether `words` precede it within a short distance.
    pub(super) fn is_near(&self, words: &str) -> bool {
        self.before.rfind(words).is_some_and(|at| self.before.len() - at <= NEAR)
    }

    /// Whether `sign` precedes it, and a number or its unit precedes the sign.
    pub(super) fn follows_number_before(&self, sign: &str) -> bool {
        let rest = self.before.trim_end_matches(BETWEEN).strip_suffix(sign).unwrap_or_default();
        let rest = rest.trim_end_matches(BETWEEN);
        let rest = rest.strip_suffix("tokens").unwrap_or(rest).trim_end_matches(BETWEEN);
        rest.ends_with(|last: char| last.is_ascii_digit())
    }
}

/// The two sides of a sum that is over a limit.
pub(super) struct Sum {
    pub(super) input: u64,
    pub(super) output: u64,
}

/// The sum in `input + output > limit`, even if the plus sign was lost.
pub(super) fn sum(text: &str) -> Option<Sum> {
    let numbers: Vec<Number<'_>> = numbers(text).collect();
    numbers.windows(2).find_map(|pair| {
        let between = &text[text.len() - pair[0].after.len()..pair[1].before.len()];
        let is_sum = matches!(between.trim(), "" | "+");
        let rest = pair[1].after.trim_start();
        let is_over = rest.starts_with('>') || rest.starts_with("is greater than") || rest.starts_with("exceeds");
        (is_sum && is_over).then_some(Sum { input: pair[0].value, output: pair[1].value })
    })
}

/// Every number in `text`, in order.
pub(super) fn numbers(text: &str) -> impl Iterator<Item = Number<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|character: char| character.is_ascii_digit())?;
        let end = start + number_length(&text[start..]);
        at = end;
        let digits: String = text[start..end].chars().filter(char::is_ascii_digit).collect();
        Some(Number { value: digits.parse().unwrap_or(u64::MAX), before: &text[..start], after: &text[end..] })
    })
}

/// `text` in lower case, with plain quotation marks and single spaces, without the escapes of nested
/// JSON and the white space of indented JSON.
pub(super) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().flat_map(char::to_lowercase).peekable();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.peek().copied() } else { None };
        match (character, escaped) {
            ('\\', Some('n' | 'r' | 't')) => {
                characters.next();
                push_space(&mut out);
            }
            ('\\', Some('u')) => out.push('\\'),
            ('\\', _) => {}
            ('\u{2018}' | '\u{2019}', _) => out.push('\''),
            ('\u{201c}' | '\u{201d}', _) => out.push('"'),
            _ if character.is_whitespace() => push_space(&mut out),
            _ => push(&mut out, character),
        }
    }
    out
}

fn push_space(out: &mut String) {
    if !out.ends_with(' ') && !out.ends_with("\":") {
        out.push(' ');
    }
}

fn push(out: &mut String, character: char) {
    if character == ':' && out.ends_with("\" ") {
        out.pop();
    }
    out.push(character);
}

/// Ends of sentences and of members of a JSON object.
const ENDS: [&str; 8] = [". ", "; ", "! ", "? ", "\",", "',", "\":\"", " | "];

/// Whether a sentence of `text`, in lower case, says that a context is larger than a model's window.
pub(super) fn names_size(text: &str) -> bool {
    let mut sentences = vec![text];
    for end in ENDS {
        sentences = sentences.into_iter().flat_map(|sentence| sentence.split(end)).collect();
    }
    sentences.into_iter().any(says_too_large)
}

fn says_too_large(sentence: &str) -> bool {
    let introduction = table::INTRODUCTIONS.iter().find_map(|words| sentence.split_once(words));
    let sentence = introduction.map_or(sentence, |(_, rest)| rest);
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    let is_of_window = has(table::WINDOW) || has(table::CONVERSATION) && has(table::OF_MODELS);
    let is_about_output = has(table::OUTPUT_PARAMETERS) && !has(table::INPUT_WORDS);
    has(table::EXCESS) && is_of_window && !is_about_output && !has(table::OTHER_THINGS)
}
