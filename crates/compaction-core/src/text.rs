//! Text measured and cut in UTF-16 units, the unit of every size in the session format.

/// Number of UTF-16 units of `text`: one for each character, two for those outside the basic plane.
///
/// Sizes are counted this way so that figures agree with what other readers of the format compute
/// (compaction spec, head of the page).
pub fn utf16_len(text: &str) -> usize {
    // Every character has exactly one byte that is not a continuation byte, and exactly the
    // characters that need a surrogate pair start with a byte of 0xF0 or above.
    text.as_bytes().iter().map(|&byte| usize::from((byte as i8) >= -0x40) + usize::from(byte >= 0xF0)).sum()
}

/// The longest prefix of `text` that has at most `units` UTF-16 units and ends on a character boundary.
pub fn prefix_utf16(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    let mut seen = 0;
    for (offset, character) in text.char_indices() {
        seen += character.len_utf16();
        if seen > units {
            return &text[..offset];
        }
    }
    text
}

/// The longest suffix of `text` that has at most `units` UTF-16 units and starts on a character boundary.
pub fn suffix_utf16(text: &str, units: usize) -> &str {
    if text.len() <= units {
        return text;
    }
    let mut seen = 0;
    for (offset, character) in text.char_indices().rev() {
        seen += character.len_utf16();
        if seen > units {
            return &text[offset + character.len_utf8()..];
        }
    }
    text
}

/// Orders two strings by their UTF-16 units, the order in which file lists are sorted.
///
/// It differs from the order of `str` only where a character outside the basic plane meets one
/// between U+E000 and U+FFFF.
pub fn cmp_utf16(left: &str, right: &str) -> std::cmp::Ordering {
    left.encode_utf16().cmp(right.encode_utf16())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn length_is_that_of_the_encoding(text in "\\PC*|[\\x00-\\u{10FFFF}]*") {
            prop_assert_eq!(utf16_len(&text), text.encode_utf16().count());
        }

        #[test]
        fn prefix_and_suffix_are_the_longest_that_fit(text in "[a-c\u{e9}\u{20ac}\u{1f600}]{0,12}", units in 0usize..16) {
            for cut in [prefix_utf16(&text, units), suffix_utf16(&text, units)] {
                prop_assert!(utf16_len(cut) <= units);
                prop_assert!(cut.len() == text.len() || utf16_len(cut) + 2 > units);
            }
            prop_assert!(text.starts_with(prefix_utf16(&text, units)));
            prop_assert!(text.ends_with(suffix_utf16(&text, units)));
        }
    }
}
