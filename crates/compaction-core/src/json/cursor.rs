//! A reader that goes through a JSON text once and builds nothing.

/// Maximum depth of nesting. Deeper texts are left to other readers.
const MAX_DEPTH: u32 = 64;

/// A position in a JSON text. Every method skips the value that it names, or returns `None` if the value is missing or
/// not plain: broken, nested too deeply, or with escapes in the name of a member.
///
/// Skipped text is checked: if a cursor reaches the end of a text, all readers of JSON accept the text. Only bytes that
/// are not UTF-8 are not noticed.
#[derive(Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    /// The start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether everything was skipped.
    pub fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    /// Distance of the next byte from the start.
    pub fn position(&self) -> usize {
        self.at
    }

    /// An object; `visit` skips the value of each member.
    pub fn members(&mut self, mut visit: impl FnMut(&'a [u8], &mut Self) -> Option<()>) -> Option<()> {
        self.byte(b'{')?;
        self.skip_white();
        if self.peek()? == b'}' {
            return self.byte(b'}');
        }
        loop {
            let name = self.name()?;
            visit(name, self)?;
            self.skip_white();
            match self.next()? {
                b',' => self.skip_white(),
                b'}' => return Some(()),
                _ => return None,
            }
        }
    }

    /// An array; `visit` skips each of its elements.
    pub fn elements(&mut self, mut visit: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.byte(b'[')?;
        self.skip_white();
        if self.peek()? == b']' {
            return self.byte(b']');
        }
        loop {
            visit(self)?;
            self.skip_white();
            match self.next()? {
                b',' => self.skip_white(),
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// The name of a member without quotes. Also skips the colon.
    fn name(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        let is_plain = self.string()?;
        let name = &self.bytes[start..self.at - 1];
        self.skip_white();
        self.byte(b':')?;
        self.skip_white();
        is_plain.then_some(name)
    }

    /// A value of any kind; returns its text.
    pub fn value(&mut self) -> Option<&'a [u8]> {
        let start = self.at;
        let mut nest = Nest::default();
        loop {
            if !self.begin(&mut nest)? {
                continue;
            }
            if self.finish(&mut nest)? {
                return Some(&self.bytes[start..self.at]);
            }
        }
    }

    /// Enters an array or object, or skips another value. Returns whether a value ended.
    fn begin(&mut self, nest: &mut Nest) -> Option<bool> {
        match self.peek()? {
            b'"' => self.string().map(|_| true),
            b'{' => self.open(nest, true, b'}'),
            b'[' => self.open(nest, false, b']'),
            b'-' | b'0'..=b'9' => self.number().map(|()| true),
            b't' => self.literal(b"true"),
            b'f' => self.literal(b"false"),
            b'n' => self.literal(b"null"),
            _ => None,
        }
    }

    fn open(&mut self, nest: &mut Nest, is_object: bool, end: u8) -> Option<bool> {
        self.at += 1;
        self.skip_white();
        if self.peek()? == end {
            self.at += 1;
            return Some(true);
        }
        nest.push(is_object)?;
        if is_object {
            self.skipped_name()?;
        }
        Some(false)
    }

    /// Skips what follows a value, up to the next value. Returns whether the outermost value ended.
    fn finish(&mut self, nest: &mut Nest) -> Option<bool> {
        while nest.depth > 0 {
            self.skip_white();
            match (self.next()?, nest.is_object()) {
                (b',', is_object) => {
                    self.skip_white();
                    if is_object {
                        self.skipped_name()?;
                    }
                    return Some(false);
                }
                (b'}', true) | (b']', false) => nest.pop(),
                _ => return None,
            }
        }
        Some(true)
    }

    /// The name of a member that is not needed, escaped or not.
    fn skipped_name(&mut self) -> Option<()> {
        self.string()?;
        self.skip_white();
        self.byte(b':')?;
        self.skip_white();
        Some(())
    }

    /// A string; returns whether it contains no escapes.
    fn string(&mut self) -> Option<bool> {
        self.byte(b'"')?;
        let mut is_plain = true;
        loop {
            self.at += distance_to_special(self.bytes.get(self.at..)?)?;
            match self.bytes[self.at] {
                b'"' => {
                    self.at += 1;
                    return Some(is_plain);
                }
                b'\\' => self.escape()?,
                _ => return None,
            }
            is_plain = false;
        }
    }

    fn escape(&mut self) -> Option<()> {
        match self.bytes.get(self.at + 1)? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
            b'u' => {
                let digits = self.bytes.get(self.at + 2..self.at + 6)?;
                digits.iter().all(u8::is_ascii_hexdigit).then_some(())?;
                self.at += 6;
            }
            _ => return None,
        }
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        if self.bytes.get(self.at) == Some(&b'-') {
            self.at += 1;
        }
        match self.next()? {
            b'0' => {}
            b'1'..=b'9' => drop(self.digits()),
            _ => return None,
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            (self.digits() > 0).then_some(())?;
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            (self.digits() > 0).then_some(())?;
        }
        Some(())
    }

    fn digits(&mut self) -> usize {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn literal(&mut self, word: &[u8]) -> Option<bool> {
        self.bytes[self.at..].starts_with(word).then_some(())?;
        self.at += word.len();
        Some(true)
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.next()? == wanted).then_some(())
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    /// The next byte, which stays the next one.
    pub fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// White space.
    pub fn skip_white(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }
}

/// Which open brackets are braces; the innermost is the lowest bit.
#[derive(Default)]
struct Nest {
    depth: u32,
    objects: u64,
}

impl Nest {
    fn push(&mut self, is_object: bool) -> Option<()> {
        (self.depth < MAX_DEPTH).then_some(())?;
        self.depth += 1;
        self.objects = self.objects << 1 | u64::from(is_object);
        Some(())
    }

    fn pop(&mut self) {
        self.depth -= 1;
        self.objects >>= 1;
    }

    fn is_object(&self) -> bool {
        self.objects & 1 == 1
    }
}

/// Distance to the first quote, backslash or control character, eight bytes at a time.
fn distance_to_special(bytes: &[u8]) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut words = bytes.chunks_exact(8);
    for (count, word) in words.by_ref().enumerate() {
        let word = u64::from_le_bytes(word.try_into().ok()?);
        let quote = word ^ (LOW * b'"' as u64);
        let backslash = word ^ (LOW * b'\\' as u64);
        // A byte borrows from the next one only if it is special itself, so the lowest marked byte is always correct.
        let special = quote.wrapping_sub(LOW) & !quote
            | backslash.wrapping_sub(LOW) & !backslash
            | word.wrapping_sub(LOW * 0x20) & !word;
        if special & HIGH != 0 {
            return Some(count * 8 + (special & HIGH).trailing_zeros() as usize / 8);
        }
    }
    let rest = words.remainder();
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..0x20);
    rest.iter().position(is_special).map(|at| bytes.len() - rest.len() + at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::value::RawValue;

    use super::*;
    use crate::json::read_value;

    /// Whether a cursor goes through the whole text. If it does, it is a value for the JSON reader too, the same one.
    fn is_plain(text: &str) -> bool {
        let mut cursor = Cursor::new(text.as_bytes());
        let is_plain = cursor.value().is_some() && cursor.is_at_end();
        if is_plain {
            let raw: &RawValue = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
            assert_eq!((raw.get(), read_value(text).unwrap().get()), (text, text));
        }
        is_plain
    }

    #[test]
    fn values_of_all_kinds_are_gone_through() {
        for text in [
            r#"{"a":[1,-0.5e+7,1e999,true,false,null,"","\ud83d \u00e9é\n\"\\"],"a" : { } }"#,
            "[ [] , [ {} ] ]",
            "\"\u{7f}\u{2028}\"",
            "0",
        ] {
            assert!(is_plain(text), "{text}");
        }
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(is_plain(&nested(MAX_DEPTH as usize)) && !is_plain(&nested(MAX_DEPTH as usize + 2)));
    }

    #[test]
    fn texts_that_are_not_json_are_refused() {
        for text in [
            "",
            " 1",
            "1 ",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "+1",
            "tru",
            "truex",
            "nul",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[1",
            "1]",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{a:1}",
            "{1:1}",
            "[1}",
            "{\"a\":1]",
            "\"",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u123\"",
            "\"\n\"",
            "\"a\tb\"",
            "\"\u{0}\"",
            "'a'",
        ] {
            assert!(!is_plain(text), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_gone_through_is_json(pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", " ", "\t", "\"", "\"\"", "\"a\"", "\\", "\\n", "\\u00", "e9", "é", "\n", "0", "7",
            "-", ".", "e", "+", "true", "null", "\"a\":", "[]", "{}", "long enough for a word",
        ]), 0..12)) {
            let text = pieces.concat();
            is_plain(&text);
            is_plain(&format!("[{text}]"));
            is_plain(&format!("\"{text}\""));
            is_plain(&format!("{{\"a\":{text}}}"));
        }
    }
}
