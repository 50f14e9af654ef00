//! Measures and cuts text in UTF-16 units, the unit of every size in the session format.

/// Number of UTF-16 units of `text`: one for each character, two for those outside the basic plane.
///
/// Other readers of the format count the same way, so the figures agree (docs/projection.md, "Tokens").
pub fn utf16_len(text: &str) -> usize {
    // Every character has exactly one byte that is not a continuation byte. Characters that need a
    // surrogate pair are exactly those that start with a byte of 0xF0 or above.
    let units = |&byte: &u8| u8::from((byte as i8) >= -0x40) + u8::from(byte >= 0xF0);
    // Sums in a byte are several times faster than wider ones. A chunk of this size cannot overflow
    // one.
    text.as_bytes().chunks(127).map(|bytes| usize::from(bytes.iter().map(units).sum::<u8>())).sum()
}

/// The last part of a path, with either kind of separator.
pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// UTF-16 units per token in an estimate.
pub(crate) const UNITS_PER_TOKEN: u64 = 4;

/// Estimated tokens of a plain text: UTF-16 units divided by 4, rounded up.
pub fn estimate_text(text: &str) -> u64 {
    units_to_tokens(utf16_len(text))
}

/// Estimated tokens of a text with this many UTF-16 units.
pub(crate) fn units_to_tokens(units: usize) -> u64 {
    (units as u64).div_ceil(UNITS_PER_TOKEN)
}

/// UTF-16 units of the longest text with at most this many estimated tokens.
pub(crate) fn tokens_to_units(tokens: u64) -> usize {
    usize::try_from(tokens.saturating_mul(UNITS_PER_TOKEN)).unwrap_or(usize::MAX)
}

/// The longest prefix of `text` that has at most `units` UTF-16 units and ends on a character boundary.
pub fn prefix_utf16(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    // A character takes at least as many bytes as units, so this many bytes are surely within.
    let mut start = 0;
    let mut seen = 0;
    while units - seen >= LEAST_SKIPPED && text.len() - start > units - seen {
        let end = text.floor_char_boundary(start + units - seen);
        seen += utf16_len(&text[start..end]);
        start = end;
    }
    for (offset, character) in text[start..].char_indices() {
        seen += character.len_utf16();
        if seen > units {
            return &text[..start + offset];
        }
    }
    text
}

/// Units that are counted at once rather than character by character.
const LEAST_SKIPPED: usize = 32;

/// The longest suffix of `text` that has at most `units` UTF-16 units and starts on a character boundary.
pub fn suffix_utf16(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    let mut end = text.len();
    let mut seen = 0;
    while units - seen >= LEAST_SKIPPED && end > units - seen {
        let start = text.ceil_char_boundary(end - (units - seen));
        seen += utf16_len(&text[start..end]);
        end = start;
    }
    for (offset, character) in text[..end].char_indices().rev() {
        seen += character.len_utf16();
        if seen > units {
            return &text[offset + character.len_utf8()..];
        }
    }
    text
}

/// A lower bound for the tokens that any tokenizer makes of `text`: one for each word, each three
/// digits, and each group of other signs. Four Chinese, Japanese or Korean characters count as one.
/// Real counts can be several times higher.
pub fn least_tokens(text: &str) -> u64 {
    let (mut tokens, mut wide) = (0u64, 0u64);
    let mut before = CharacterClass::Space;
    let mut length = 0;
    for character in text.chars() {
        let sign = CharacterClass::of(character);
        if sign == CharacterClass::Wide {
            wide += 1;
        }
        length = if sign == before { length + 1 } else { 0 };
        // A sign before a word is part of the word.
        let is_alone = sign != before && !(before == CharacterClass::Other && sign == CharacterClass::Letter);
        tokens += u64::from(match sign {
            CharacterClass::Space | CharacterClass::Wide => false,
            CharacterClass::Digit => length % 3 == 0,
            CharacterClass::Letter | CharacterClass::Other => is_alone,
        });
        before = sign;
    }
    tokens + wide / 4
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Space,
    Letter,
    Digit,
    /// Characters of scripts without spaces between words.
    Wide,
    Other,
}

impl CharacterClass {
    fn of(character: char) -> Self {
        match character {
            'a'..='z' | 'A'..='Z' | '\'' | '\u{2019}' => Self::Letter,
            '0'..='9' => Self::Digit,
            '\u{2E80}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}' => Self::Wide,
            _ if character.is_whitespace() => Self::Space,
            _ if character.is_alphabetic() => Self::Letter,
            _ => Self::Other,
        }
    }
}

/// Compares two strings by their UTF-16 units, the order of file lists.
///
/// It differs from the order of `str` only when a character outside the basic plane is compared with
/// one between U+E000 and U+FFFF.
pub fn cmp_utf16(left: &str, right: &str) -> std::cmp::Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

/// Columns of a terminal that `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(columns_of).sum() }
}

/// Columns of a terminal that a character takes: two for those of scripts without spaces, Hangul and pictures.
pub(crate) fn columns_of(one: char) -> usize {
    match one {
        '\u{1100}'..='\u{115f}' | '\u{2e80}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' => 2,
        '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{ffe0}'..='\u{ffe6}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        '\u{300}'..='\u{36f}' | '\u{200b}'..='\u{200f}' | '\u{fe00}'..='\u{fe0f}' => 0,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_least_tokens_are_fewer_than_any_tokenizer_makes() {
        let check = |text: &str, tokens| assert_eq!(least_tokens(text), tokens, "{text}");
        check("", 0);
        check("plain words of a person's letters", 6);
        check("let mut x = a[1] + 42;", 11);
        check("====================", 1);
        check("1234567", 3);
        check("\u{6f22}\u{5b57}\u{6f22}\u{5b57}\u{6f22}", 1);
        check("   \n\n   ", 0);
    }

    proptest! {
        #[test]
        fn length_is_that_of_the_encoding(text in "\\PC*|[\\x00-\\u{10FFFF}]*") {
            prop_assert_eq!(utf16_len(&text), text.encode_utf16().count());
        }

        #[test]
        fn prefix_and_suffix_are_the_longest_that_fit(text in "[a-c\u{e9}\u{20ac}\u{1f600}]{0,12}|[a-c\u{e9}\u{20ac}\u{1f600}]{0,160}|[a-c]{90,120}", units in prop_oneof![0usize..16, 30usize..130]) {
            for cut in [prefix_utf16(&text, units), suffix_utf16(&text, units)] {
                prop_assert!(utf16_len(cut) <= units);
                prop_assert!(cut.len() == text.len() || utf16_len(cut) + 2 > units);
            }
            prop_assert!(text.starts_with(prefix_utf16(&text, units)));
            prop_assert!(text.ends_with(suffix_utf16(&text, units)));
        }
    }
}
