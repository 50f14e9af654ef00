//! Telling secrets from what has their form.

use super::rules::Check;

/// Words that stand where a secret would.
const PLACEHOLDERS: [&str; 17] = [
    "xxxx",
    "****",
    "....",
    "0000000",
    "1234567",
    "your",
    "example",
    "placeholder",
    "changeme",
    "password",
    "redacted",
    "dummy",
    "sample",
    "process.env",
    "environ",
    "getenv",
    "secrets.",
];

impl Check {
    /// Whether the piece of `text` from `start` to `end` passes.
    pub(super) fn passes(self, text: &str, start: usize, end: usize) -> bool {
        let secret = &text[start..end];
        let is_value = || !is_placeholder(secret);
        let is_no_code = || !starts_call(&text[end..]) && !secret.starts_with(['/', '~', '.', '-']);
        match self {
            Self::None => true,
            Self::Whole => is_whole(text, start, end),
            Self::HoldsData => longest_run(secret, is_base64) >= 24,
            Self::NoPlaceholder => is_value(),
            Self::Password => is_value() && is_no_code() && is_mixed(secret, 1),
            Self::Random => {
                let is_long = longest_run(secret, char::is_alphanumeric) >= 12;
                is_value() && is_no_code() && is_long && is_mixed(secret, 2) && entropy(secret) >= 3.0
            }
        }
    }
}

/// Whether no letter, digit or underscore touches the piece. The letter of an escape (`\n`) is a
/// line break to whoever wrote it.
fn is_whole(text: &str, start: usize, end: usize) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut before = text[..start].chars().rev();
    let touches = match before.next() {
        Some('n' | 'r' | 't') if before.next() == Some('\\') => false,
        previous => previous.is_some_and(is_word),
    };
    !touches && !text[end..].starts_with(is_word)
}

fn is_placeholder(secret: &str) -> bool {
    let text = secret.to_ascii_lowercase();
    text.starts_with(['$', '%', '{', '<', '*']) || PLACEHOLDERS.iter().any(|word| text.contains(word))
}

fn starts_call(after: &str) -> bool {
    after.starts_with(['(', '[', '{', '<'])
}

/// Whether there are letters and at least `digits` digits.
fn is_mixed(secret: &str, digits: usize) -> bool {
    secret.contains(|character: char| character.is_ascii_alphabetic())
        && secret.bytes().filter(u8::is_ascii_digit).count() >= digits
}

fn is_base64(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=')
}

fn longest_run(text: &str, is_part: fn(char) -> bool) -> usize {
    text.split(|character| !is_part(character)).map(str::len).max().unwrap_or(0)
}

/// Bits of information that each byte holds, by how often each occurs.
fn entropy(secret: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in secret.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let share = |count: &u32| f64::from(*count) / secret.len() as f64;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}
