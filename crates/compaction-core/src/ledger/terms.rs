//! Terms: the words, names and numbers that are compared between statements.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};
use std::sync::LazyLock;

/// A value for each term, by its hash.
pub(super) type ByTerm<T> = HashMap<u64, T, BuildHasherDefault<HashedAlready>>;

/// A hasher that returns its input, since terms are already hashes.
#[derive(Debug, Default)]
pub(crate) struct HashedAlready(u64);

impl Hasher for HashedAlready {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| mixed(hash, (*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        // The upper bits of a product are better mixed, and tables use the lower ones.
        self.0 ^ (self.0 >> 32)
    }
}

/// The initial hash of a term.
pub(super) const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// Bits that lower-case letters have and capitals do not. Setting them keeps all other characters of
/// terms distinct.
const LOWER: u64 = 0x2020_2020_2020_2020;

/// What a hash of a term is multiplied by for each character.
const FACTOR: u64 = 0x517C_C1B7_2722_0A95;

/// The hash of a term with one more character. Two terms with the same hash count as one, which
/// slightly lowers the value of a statement.
pub(super) fn mixed(hash: u64, character: u64) -> u64 {
    (hash.rotate_left(5) ^ character).wrapping_mul(FACTOR)
}

/// [`mixed`] with a character in lower case.
pub(super) fn mixed_ignoring_case(hash: u64, character: char) -> u64 {
    match character {
        // Most letters are small already, and the general conversion is slower.
        '\0'..='\u{7F}' => mixed(hash, character.to_ascii_lowercase().into()),
        '\u{DF}'..='\u{F6}' | '\u{F8}'..='\u{FF}' | '\u{430}'..='\u{45F}' | '\u{4E00}'..='\u{9FFF}' => {
            mixed(hash, character.into())
        }
        _ => character.to_lowercase().map(u64::from).fold(hash, mixed),
    }
}

/// The hash of a token of ASCII characters, ignoring case.
pub(super) fn hash_of_ascii(token: &[u8]) -> u64 {
    let (chunks, rest) = token.as_chunks::<8>();
    let hash = chunks.iter().fold(SEED, |hash, chunk| mixed(hash, u64::from_le_bytes(*chunk) | LOWER));
    mixed(hash, last_bytes(rest) | LOWER & !(u64::MAX << (8 * rest.len())))
}

/// Up to seven bytes as a number, the first one lowest.
fn last_bytes(bytes: &[u8]) -> u64 {
    let shift = 8 * bytes.len();
    match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>(), bytes) {
        // The bytes in the middle are in both halves.
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << (shift - 32)
        }
        (_, _, [first, .., last]) => u64::from(*first) | u64::from(bytes[1]) << 8 | u64::from(*last) << (shift - 8),
        (_, _, [one]) => u64::from(*one),
        (_, _, []) => 0,
    }
}

/// Number of small ASCII letters in a row from `at` on. Eight bytes are examined at once, because most words consist of
/// nothing else.
pub(super) fn small_letters(bytes: &[u8], at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    let mut end = at;
    while let Some(chunk) = bytes.get(end..).and_then(|rest| rest.first_chunk::<8>()) {
        let chunk = u64::from_le_bytes(*chunk);
        // The sums set the upper bit of each byte from `a` on, and of each byte after `z`.
        let low = chunk & !HIGH;
        let is_small = (low + (0x80 - 0x61) * ONES) & !(low + (0x80 - 0x7B) * ONES) & !chunk & HIGH;
        let others = is_small ^ HIGH;
        if others != 0 {
            return end + (others.trailing_zeros() / 8) as usize - at;
        }
        end += 8;
    }
    end += bytes.get(end..).unwrap_or_default().iter().take_while(|byte| byte.is_ascii_lowercase()).count();
    end - at
}

/// Builds a hasher for short texts, which is several times faster than that of the standard library. Two random numbers
/// enter each step and the whole product counts, so nobody can choose texts that collide.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextHashing {
    start: u64,
    factor: u64,
}

impl Default for TextHashing {
    fn default() -> Self {
        static RANDOM: LazyLock<TextHashing> = LazyLock::new(|| {
            let random = RandomState::new();
            TextHashing { start: random.hash_one(SEED), factor: random.hash_one(FACTOR) | 1 }
        });
        *RANDOM
    }
}

impl BuildHasher for TextHashing {
    type Hasher = TextHasher;

    fn build_hasher(&self) -> TextHasher {
        TextHasher { hash: self.start, factor: self.factor }
    }
}

/// See [`TextHashing`].
#[derive(Debug)]
pub(super) struct TextHasher {
    hash: u64,
    factor: u64,
}

impl TextHasher {
    fn add(&mut self, word: u64) {
        let product = u128::from(self.hash ^ word) * u128::from(self.factor);
        self.hash = (product ^ (product >> 64)) as u64;
    }
}

impl Hasher for TextHasher {
    fn write(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        chunks.iter().for_each(|chunk| self.add(u64::from_le_bytes(*chunk)));
        if !rest.is_empty() {
            self.add(rest.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte)));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.add(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn write_usize(&mut self, value: usize) {
        self.add(value as u64);
    }

    fn finish(&self) -> u64 {
        self.hash
    }
}

/// Kinds of ASCII characters in tokens.
pub(super) const SMALL: u8 = 1;
pub(super) const CAPITAL: u8 = 2;
pub(super) const DIGIT: u8 = 4;
pub(super) const UNDERSCORE: u8 = 8;
pub(super) const DOT: u8 = 16;
pub(super) const SLASH: u8 = 32;
pub(super) const HYPHEN: u8 = 64;
/// Other signs, such as `#` and `@`.
pub(super) const SIGN: u8 = 128;

/// The kind of each ASCII character that is part of a token; 0 for all other bytes.
const KINDS: [u8; 256] = kinds(&[("_", UNDERSCORE), (".", DOT), ("/", SLASH), ("-", HYPHEN), ("#@", SIGN)]);

/// A kind for each byte: those of ASCII letters and digits, and of `signs`; 0 for all others.
pub(super) const fn kinds(signs: &[(&str, u8)]) -> [u8; 256] {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        kinds[byte] = match byte as u8 {
            b'a'..=b'z' => SMALL,
            b'A'..=b'Z' => CAPITAL,
            b'0'..=b'9' => DIGIT,
            _ => 0,
        };
        byte += 1;
    }
    let mut at = 0;
    while at < signs.len() {
        let (mut own, kind) = (signs[at].0.as_bytes(), signs[at].1);
        while let [sign, rest @ ..] = own {
            kinds[*sign as usize] = kind;
            own = rest;
        }
        at += 1;
    }
    kinds
}

/// A run of letters, digits and marks inside names.
#[derive(Debug, Clone, Copy)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    /// Its offset in bytes.
    pub(super) at: usize,
    pub(super) is_ascii: bool,
    /// The kinds of its ASCII characters, and of those after the first one.
    pub(super) kinds: u8,
    pub(super) inner: u8,
}

/// The tokens of `text`.
pub(super) fn tokens(text: &str) -> impl Iterator<Item = Token<'_>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let byte = *bytes.get(at)?;
            let first = KINDS[byte as usize];
            if first == 0 && byte.is_ascii() {
                at += 1;
                continue;
            }
            let start = at;
            let (mut is_ascii, mut inner) = (true, 0);
            if first != 0 {
                let small = small_letters(bytes, at + 1);
                inner = if small > 0 { SMALL } else { 0 };
                at += 1 + small;
            }
            loop {
                while let Some(kind) = bytes.get(at).map(|byte| KINDS[*byte as usize]).filter(|kind| *kind != 0) {
                    inner |= kind;
                    at += 1;
                }
                let Some(width) = bytes.get(at).and_then(|byte| letter_width(text, *byte, at)) else { break };
                is_ascii = false;
                at += width;
            }
            if at > start {
                return Some(Token { text: &text[start..at], at: start, is_ascii, kinds: first | inner, inner });
            }
            at += character_width(byte);
        }
    })
}

/// Number of bytes of the character at `at`, if it is a letter or digit outside ASCII.
fn letter_width(text: &str, byte: u8, at: usize) -> Option<usize> {
    if byte.is_ascii() {
        return None;
    }
    text[at..].chars().next().filter(|character| is_letter(*character)).map(char::len_utf8)
}

/// As [`char::is_alphanumeric`] for characters outside ASCII, but faster for the most common ones.
pub(super) fn is_letter(character: char) -> bool {
    match character {
        '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{24F}' => true,
        '\u{400}'..='\u{481}' | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' => true,
        '\u{2010}'..='\u{206F}' | '\u{2190}'..='\u{245F}' | '\u{2500}'..='\u{2775}' => false,
        _ => character.is_alphanumeric(),
    }
}

fn character_width(byte: u8) -> usize {
    match byte {
        0..0xC0 => 1,
        0xC0..0xE0 => 2,
        0xE0..0xF0 => 3,
        _ => 4,
    }
}

/// `token` without the ASCII marks at its ends for which `is_mark` is true.
pub(super) fn trimmed(token: &str, is_mark: fn(u8) -> bool) -> &str {
    let bytes = token.as_bytes();
    let start = bytes.iter().position(|byte| !is_mark(*byte)).unwrap_or(bytes.len());
    let end = bytes.iter().rposition(|byte| !is_mark(*byte)).map_or(start, |last| last + 1);
    &token[start..end]
}

/// Whether a character belongs to a script without spaces between words.
pub(crate) fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9D}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, usize, bool)> {
        tokens(text).map(|token| (token.text, token.at, token.is_ascii)).collect()
    }

    #[test]
    fn tokens_are_runs_of_letters_digits_and_marks_of_names() {
        assert_eq!(
            found("a b_c, é-1\u{3000}パーサーを。(x/y.rs)"),
            [("a", 0, true), ("b_c", 2, true), ("é-1", 7, false), ("パーサーを", 14, false), ("x/y.rs", 33, true),]
        );
        assert!(found("").is_empty() && found("\u{3000}\u{2026} !").is_empty());
        assert_eq!(trimmed("--a-b..", |byte| matches!(byte, b'-' | b'.')), "a-b");
        assert_eq!(trimmed("--", |byte| byte == b'-'), "");
    }

    #[test]
    fn letters_are_those_of_the_standard_library() {
        let differing = ('\u{80}'..=char::MAX).find(|character| is_letter(*character) != character.is_alphanumeric());
        assert_eq!(differing, None);
    }

    #[test]
    fn letters_are_mixed_in_lower_case() {
        let lower = |one: char| one.to_lowercase().map(u64::from).fold(SEED, mixed);
        assert_eq!(('\0'..=char::MAX).find(|one| mixed_ignoring_case(SEED, *one) != lower(*one)), None);
    }

    #[test]
    fn case_makes_no_other_term_and_everything_else_does() {
        assert_eq!(hash_of_ascii(b"Config.RS"), hash_of_ascii(b"config.rs"));
        let characters = b"abcxyz0123456789_-./#@";
        let mut hashes: Vec<u64> = characters.iter().map(|byte| hash_of_ascii(&[*byte])).collect();
        hashes.extend([b"ab" as &[u8], b"ba", b"abcdefgh", b"abcdefghi", b"abcdefgh0"].map(hash_of_ascii));
        let count = hashes.len();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), count);
    }

    proptest::proptest! {
        #[test]
        fn letters_are_counted_and_bytes_are_read(text in "[a-zA-Z@`{\\[é0]{0,20}|[a-z]{0,40}", at in 0..6_usize) {
            let bytes = text.as_bytes();
            let small = bytes.iter().skip(at).take_while(|byte| byte.is_ascii_lowercase()).count();
            proptest::prop_assert_eq!(small_letters(bytes, at), small);
            let few = &bytes[..bytes.len().min(7)];
            proptest::prop_assert_eq!(last_bytes(few), few.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte)));
        }

        #[test]
        fn tokens_are_what_splitting_gives(text in "\\PC*|[a-zA-Z0-9_/.:é中日#@ -]{0,90}") {
            let is_part = |character: char| character.is_alphanumeric() || "_-./#@".contains(character);
            let split: Vec<&str> =
                text.split(|character| !is_part(character)).filter(|token| !token.is_empty()).collect();
            proptest::prop_assert_eq!(tokens(&text).map(|token| token.text).collect::<Vec<_>>(), split);
        }
    }
}
