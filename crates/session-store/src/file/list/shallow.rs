//! A line as far as a list needs it: its type, and role and time of its message.
//!
//! The reader goes through the whole line, so that a broken line is not counted and a member deep in
//! a message is not taken for one of the message; but it builds nothing and decodes nothing. It
//! accepts a line only where the meaning is plain. All others, with escapes in names, control characters or
//! unusual depth, are left to the JSON reader, which is slower and has the last word.

/// Levels of nesting that are followed here.
const MAX_DEPTH: u32 = 64;

/// What a line says; values are JSON texts.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Glance<'a> {
    pub(super) kind: Option<&'a [u8]>,
    pub(super) timestamp: Option<&'a [u8]>,
    pub(super) name: Option<&'a [u8]>,
    /// `None` where it is missing or no object.
    pub(super) message: Option<MessageGlance<'a>>,
}

/// What the message of a line says.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageGlance<'a> {
    pub(super) role: Option<&'a [u8]>,
    pub(super) timestamp: Option<&'a [u8]>,
}

impl<'a> Glance<'a> {
    /// Reads a line. `None` says that the JSON reader has to look at it.
    pub(super) fn of(line: &'a [u8]) -> Option<Self> {
        let mut glance = Self::default();
        let mut cursor = Cursor { bytes: line, at: 0 };
        cursor.skip_white();
        cursor.members(|name, cursor| {
            match name {
                b"type" => glance.kind = Some(cursor.value()?),
                b"timestamp" => glance.timestamp = Some(cursor.value()?),
                b"name" => glance.name = Some(cursor.value()?),
                b"message" => glance.message = cursor.message()?,
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        cursor.skip_white();
        (cursor.at == line.len()).then_some(glance)
    }
}

/// A place in a JSON text. Every method steps over what it names, or gives `None` where that is not
/// there or not plain.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn message(&mut self) -> Option<Option<MessageGlance<'a>>> {
        if self.peek()? != b'{' {
            return self.value().map(|_| None);
        }
        let mut message = MessageGlance::default();
        self.members(|name, cursor| {
            match name {
                b"role" => message.role = Some(cursor.value()?),
                b"timestamp" => message.timestamp = Some(cursor.value()?),
                _ => drop(cursor.value()?),
            }
            Some(())
        })?;
        Some(Some(message))
    }

    /// An object; `visit` steps over the value of each member.
    fn members(&mut self, mut visit: impl FnMut(&'a [u8], &mut Self) -> Option<()>) -> Option<()> {
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

    /// The name of a member, without quotes, and the colon behind it.
    fn name(&mut self) -> Option<&'a [u8]> {
        let start = self.at + 1;
        let is_plain = self.string()?;
        let name = &self.bytes[start..self.at - 1];
        self.skip_white();
        self.byte(b':')?;
        self.skip_white();
        is_plain.then_some(name)
    }

    /// A value of any kind; its text.
    fn value(&mut self) -> Option<&'a [u8]> {
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

    /// Steps into a list or an object, or over another value; whether a value ended.
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

    /// Steps over what follows a value, up to the next one; whether the outermost value ended.
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

    /// A name that does not matter, escaped or not.
    fn skipped_name(&mut self) -> Option<()> {
        self.string()?;
        self.skip_white();
        self.byte(b':')?;
        self.skip_white();
        Some(())
    }

    /// A string; whether it holds no escapes.
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

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_white(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }
}

/// Which of the open brackets are braces, the innermost in the lowest bit.
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
        // A byte borrows from the one above it only if it is special itself, so that the lowest
        // marked byte is always a true one.
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
