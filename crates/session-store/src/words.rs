//! Words that lines must contain to say something about pins, or about the path before a compaction. They are searched
//! for in bytes, so that lines without them need not be parsed.

use compaction_core::entry::EntryKind;
use compaction_core::pins::PIN;
use memchr::memmem;

/// The member of a compaction's details that carries its state. A reader requires it without escapes.
const OWN_DETAILS: &str = "\"compactd\"";

/// Bytes before and after a place that decide whether it is one of the words.
pub(crate) const OVERLAP: usize = 64;

/// Whether the line of a compaction may carry the state of the path before it.
pub(crate) fn carries_state(line: &str) -> bool {
    memmem::find(line.as_bytes(), OWN_DETAILS.as_bytes()).is_some()
}

/// Whether a line in `text` may set the thinking level, or carry the state of the path before it. Misses words that are
/// written as escapes.
pub(crate) fn may_set_level(text: &[u8]) -> bool {
    let level = EntryKind::ThinkingLevelChange.name().unwrap_or_default();
    [level, OWN_DETAILS].iter().any(|word| memmem::find(text, word.as_bytes()).is_some())
}

/// Whether a line in `text` may be a pin.
pub(crate) fn may_pin(text: &[u8]) -> bool {
    memmem::find(text, PIN.as_bytes()).is_some() || has_escaped_letter(text)
}

/// Whether a line in `text` may be a pin, or a compaction that lists pins. A word in the first or last [`OVERLAP`] bytes
/// may be missed unless the text begins or ends there.
pub(crate) fn may_tell_of_pins(text: &[u8]) -> bool {
    may_pin(text) || memmem::find(text, OWN_DETAILS.as_bytes()).is_some()
}

/// Whether `text` may have a JSON escape of a character in [`PIN`]: a small letter or a full stop.
fn has_escaped_letter(text: &[u8]) -> bool {
    memmem::find_iter(text, b"\\u00").any(|at| {
        let is_letter = match text.get(at + 4..at + 6) {
            Some([b'6', b'1'..=b'9' | b'a'..=b'f' | b'A'..=b'F'] | [b'7', b'0'..=b'9' | b'a' | b'A']) => true,
            Some(digits) => digits.eq_ignore_ascii_case(b"2e"),
            None => false,
        };
        // Pairs of backslashes before it are characters of their own. Where the text begins with them, there may be more.
        let before = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
        is_letter && (before % 2 == 0 || before == at)
    })
}
