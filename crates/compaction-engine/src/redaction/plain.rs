//! A text without the escapes of JSON, however often it was escaped, for rules to look at.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr_iter;

/// What a text says, and where that stands in it.
#[derive(Debug)]
pub(super) struct Plain<'t> {
    /// The text without escapes.
    pub(super) text: Cow<'t, str>,
    /// Where escapes were, in order: the byte after each in the plain text, and in the escaped one.
    after_escapes: Vec<(usize, usize)>,
}

impl<'t> Plain<'t> {
    /// Reads `text`. Backslashes before a letter that stands for white space, before a quote or before
    /// a slash are one escape with it; others stay, since they may be meant.
    pub(super) fn of(text: &'t str) -> Self {
        let mut plain = String::new();
        let (mut after_escapes, mut done, mut passed) = (Vec::new(), 0, 0);
        for backslash in memchr_iter(b'\\', text.as_bytes()) {
            if backslash < passed {
                continue;
            }
            let backslashes = text.as_bytes()[backslash..].iter().take_while(|byte| **byte == b'\\').count();
            passed = backslash + backslashes;
            let Some((character, end)) = escape(text, passed) else {
                continue;
            };
            plain.push_str(&text[done..backslash]);
            plain.push(character);
            after_escapes.push((plain.len(), end));
            done = end;
        }
        if after_escapes.is_empty() {
            return Self { text: Cow::Borrowed(text), after_escapes };
        }
        plain.push_str(&text[done..]);
        Self { text: Cow::Owned(plain), after_escapes }
    }

    /// Where a range of the plain text stands in the text. An escape is in it as a whole, or not at all.
    pub(super) fn to_escaped(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let before = self.after_escapes.partition_point(|(plain, _)| *plain <= at);
            match before.checked_sub(1).map(|index| self.after_escapes[index]) {
                Some((plain, escaped)) => escaped + (at - plain),
                None => at,
            }
        };
        place(range.start)..place(range.end)
    }
}

/// The character that the letter at `letter` stands for behind backslashes, and the end of the escape.
fn escape(text: &str, letter: usize) -> Option<(char, usize)> {
    let end = letter + 1;
    match text.as_bytes().get(letter)? {
        b'n' => Some(('\n', end)),
        b'r' => Some(('\r', end)),
        b't' => Some(('\t', end)),
        quote @ (b'"' | b'\'' | b'/') => Some((char::from(*quote), end)),
        b'u' => {
            let code = u32::from_str_radix(text.get(end..end + 4)?, 16).ok()?;
            let character = char::from_u32(code).filter(char::is_ascii)?;
            Some((character, end + 4))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, plain: &str, part: &str, escaped: &str) {
        let found = Plain::of(text);
        assert_eq!(found.text, plain);
        let start = plain.find(part).unwrap();
        assert_eq!(&text[found.to_escaped(&(start..start + part.len()))], escaped);
    }

    #[test]
    fn escapes_are_read_and_found_again() {
        check("a b", "a b", "b", "b");
        check(r"a\nb", "a\nb", "b", "b");
        check(r#"{\"k\":\"v\\\"w\"}"#, r#"{"k":"v"w"}"#, "v\"w", r#"v\\\"w"#);
        check(r"a\\\\nb\u0026c", "a\nb&c", "b&c", r"b\u0026c");
        check(r"C:\dir\x \ud83d\ude00 \u00zz end\", r"C:\dir\x \ud83d\ude00 \u00zz end\", "end\\", "end\\");
        check("ü\\tß", "ü\tß", "ß", "ß");
    }
}
