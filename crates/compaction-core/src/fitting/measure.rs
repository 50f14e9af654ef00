//! A conservative measure of text, and cuts by it.
//!
//! The estimate in `tokens`, a quarter of a token per UTF-16 unit, fits prose in Latin letters and is
//! too low for everything else: code has about three characters per token, Chinese one or less. Whether
//! a request fits is therefore judged by this measure, which is never lower than the estimate and close
//! to real tokenizers.

use std::borrow::Cow;

use crate::text::utf16_len;

/// Weights are counted in quarters of a token.
pub(super) const WEIGHT_PER_TOKEN: u64 = 4;

/// Weights of ASCII characters.
const LETTER: u8 = 1;
/// Digits, capitals and punctuation: tokenizers split numbers, hashes, base64 and operators finely, so
/// two of these count as one token.
const SPLIT_FINELY: u8 = 2;
/// Two bytes in UTF-8: other alphabets.
const TWO_BYTES: u8 = 3;
/// Three bytes: most other scripts, including Chinese, Japanese and Korean.
const THREE_BYTES: u8 = 5;
/// Four bytes: emoji and rare scripts.
const FOUR_BYTES: u8 = 12;

/// The weight of each byte. The first byte carries the weight of a character.
const WEIGHTS: [u8; 256] = weights();

const fn weights() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b' ' | b'\n' | b'\r' | b'\t' => LETTER,
            0..=0x7F => SPLIT_FINELY,
            0x80..=0xBF => 0,
            0xC0..=0xDF => TWO_BYTES,
            0xE0..=0xEF => THREE_BYTES,
            0xF0..=0xFF => FOUR_BYTES,
        };
        byte += 1;
    }
    table
}

/// Tokens of `text` by the careful measure, rounded up; never below the estimate of
/// [`crate::tokens::estimate_text`].
pub fn careful_tokens(text: &str) -> u64 {
    weight(text).div_ceil(WEIGHT_PER_TOKEN)
}

/// The weight of `text`. The weight of a concatenation is the sum of the weights.
pub(super) fn weight(text: &str) -> u64 {
    text.bytes().map(|byte| u64::from(WEIGHTS[usize::from(byte)])).sum()
}

/// Upper bound for the weight of an omission mark.
pub(super) const MARK_WEIGHT: u64 = 96;

/// `text` with its middle left out so that it weighs at most `room`. The cut follows lines unless they
/// are too long. A mark says how much is missing.
pub(super) fn cut_middle(text: &str, room: u64) -> Cow<'_, str> {
    if weight(text) <= room {
        return Cow::Borrowed(text);
    }
    let Some(kept) = room.checked_sub(MARK_WEIGHT) else {
        return Cow::Borrowed(prefix(text, room));
    };
    let head = whole_lines_before(prefix(text, kept - kept / 2));
    let tail = whole_lines_after(suffix(text, kept / 2));
    let left_out = utf16_len(&text[head.len()..text.len() - tail.len()]);
    Cow::Owned(format!("{head}\n\n[{left_out} characters left out here]\n\n{tail}"))
}

/// The longest prefix of `text` that weighs at most `room`.
fn prefix(text: &str, room: u64) -> &str {
    let mut sum = 0;
    for (at, byte) in text.bytes().enumerate() {
        sum += u64::from(WEIGHTS[usize::from(byte)]);
        if sum > room {
            return &text[..at];
        }
    }
    text
}

/// The longest suffix of `text` that weighs at most `room`.
fn suffix(text: &str, room: u64) -> &str {
    let mut sum = 0;
    for (at, character) in text.char_indices().rev() {
        sum += u64::from(WEIGHTS[usize::from(text.as_bytes()[at])]);
        if sum > room {
            return &text[at + character.len_utf8()..];
        }
    }
    text
}

/// `head` up to the end of its last whole line, unless that removes more than half of it.
fn whole_lines_before(head: &str) -> &str {
    head.rfind('\n').filter(|end| *end >= head.len() / 2).map_or(head, |end| &head[..end])
}

/// `tail` from the start of its first whole line, unless that removes more than half of it.
fn whole_lines_after(tail: &str) -> &str {
    tail.find('\n').filter(|end| *end <= tail.len() / 2).map_or(tail, |end| &tail[end + 1..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tokens::estimate_text;

    #[test]
    fn text_that_tokenizers_split_finely_weighs_more() {
        let check = |text: &str, tokens| assert_eq!(careful_tokens(text), tokens, "{text}");
        check("", 0);
        check("plain words of a person in letters", 9);
        check("let mut x = a[1] + 42;", 8);
        check("0123456789abcdef", 7);
        check("QmFzZTY0", 4);
        check("\u{43f}\u{440}\u{438}\u{432}\u{435}\u{442}", 5);
        check("\u{6f22}\u{5b57}\u{6f22}\u{5b57}", 5);
        check("\u{1f600}", 3);
    }

    #[test]
    fn the_middle_is_cut_along_lines() {
        let text: String = (10..60).map(|number| format!("line {number}\n")).collect();
        let cut = cut_middle(&text, 300);
        assert!(cut.starts_with("line 10\nline 11\n") && cut.ends_with("line 58\nline 59\n"), "{cut}");
        for line in cut.lines().filter(|line| !line.is_empty() && !line.starts_with('[')) {
            assert!(text.contains(&format!("{line}\n")), "{line}");
        }
        assert!(cut.contains(" characters left out here]"));
    }

    proptest! {
        #[test]
        fn the_measure_is_never_below_the_estimate(text in "\\PC*|[\\x00-\\u{10FFFF}]*|[a-z ]*") {
            prop_assert!(careful_tokens(&text) >= estimate_text(&text));
        }

        #[test]
        fn a_cut_text_fits(text in "([a-zA-Z0-9<{\n]|\u{e9}|\u{20ac}|\u{1f600}){0,300}", room in 0u64..600) {
            let cut = cut_middle(&text, room);
            prop_assert!(weight(&cut) <= room);
            prop_assert_eq!(cut == text, weight(&text) <= room);
        }

        #[test]
        fn marks_are_light(left_out in any::<u64>()) {
            let mark = format!("\n\n[{left_out} characters left out here]\n\n");
            prop_assert!(weight(&mark) <= MARK_WEIGHT);
        }
    }
}
