//! Lines that are not all UTF-8, as texts that can be rewritten without a loss.

use std::collections::HashSet;
use std::str::Utf8Chunk;

/// Characters for private use, which stand for bytes that are no part of any character.
const FIRST: u32 = 0xF_0000;
const LAST: u32 = 0x10_FFFD;
/// How many of them are needed: one for each byte that is not ASCII.
const BLOCK: u32 = 0x80;

/// The text of a line. Each byte that is not UTF-8 is a character that does not occur in the line.
#[derive(Debug)]
pub(crate) struct LosslessText {
    text: String,
    /// The character for the byte 0x80, if there are such bytes.
    base: Option<u32>,
}

impl LosslessText {
    /// The text of `bytes`. In a line that holds nearly all characters for private use, bytes that are
    /// not UTF-8 become U+FFFD.
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let bytes = match String::from_utf8(bytes) {
            Ok(text) => return Self { text, base: None },
            Err(error) => error.into_bytes(),
        };
        let Some(base) = unused_block(&bytes) else {
            return Self { text: String::from_utf8_lossy(&bytes).into_owned(), base: None };
        };
        let mut text = String::with_capacity(bytes.len());
        for chunk in bytes.utf8_chunks() {
            text.push_str(chunk.valid());
            let stand_in = |byte: &u8| char::from_u32(base + u32::from(*byte) - BLOCK);
            text.extend(chunk.invalid().iter().filter_map(stand_in));
        }
        Self { text, base: Some(base) }
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The bytes of a text that was made of this one.
    pub(crate) fn bytes_of(&self, text: String) -> Vec<u8> {
        let Some(base) = self.base else {
            return text.into_bytes();
        };
        let mut bytes = Vec::with_capacity(text.len());
        for character in text.chars() {
            match u32::from(character).checked_sub(base).filter(|byte| *byte < BLOCK) {
                Some(byte) => bytes.push((byte + BLOCK) as u8),
                None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        bytes
    }
}

/// The first block of characters for private use none of which occurs in `bytes`.
fn unused_block(bytes: &[u8]) -> Option<u32> {
    let characters = bytes.utf8_chunks().flat_map(|chunk: Utf8Chunk<'_>| chunk.valid().chars());
    let used: HashSet<u32> =
        characters.filter_map(|character| Some(u32::from(character).checked_sub(FIRST)? / BLOCK)).collect();
    let blocks = (LAST - FIRST) / BLOCK;
    (0..blocks).find(|block| !used.contains(block)).map(|block| FIRST + block * BLOCK)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_character_that_stands_for_a_byte_is_none_of_the_line() {
        let line = "\u{f0069} and \u{f0100}".as_bytes();
        let text = LosslessText::new([line, b"caf\xe9"].concat());
        assert_eq!(text.as_str(), "\u{f0069} and \u{f0100}caf\u{f00e9}");
        assert_eq!(text.bytes_of(format!("[{}]", text.as_str())), [b"[", line, b"caf\xe9]"].concat());
    }

    proptest! {
        #[test]
        fn every_byte_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..40), more in ".*") {
            let text = LosslessText::new([&bytes, more.as_bytes()].concat());
            prop_assert_eq!(text.bytes_of(text.as_str().to_owned()), [&bytes, more.as_bytes()].concat());
        }
    }
}
