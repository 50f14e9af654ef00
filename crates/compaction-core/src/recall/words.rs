//! Splits text into words and compares them.
//!
//! A word is a run of letters, digits and underscores. Identifiers such as `readFile`, `FOO_BAR` and
//! `v2` yield the whole word and its parts. Scripts without spaces yield pairs of adjacent characters.

use std::borrow::Cow;
use std::ops::Range;

/// Bytes of a word that form its key.
const KEY_BYTES: usize = 4;
/// Minimum number of shared letters of two forms of a word, and maximum length of their endings.
const SHARED_LETTERS: usize = 4;
const LONGEST_ENDING: usize = 3;

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// A run of letters, digits and underscores.
    Whole(&'a str),
    /// A part of the preceding run.
    Part(&'a str),
    /// Two characters of a script without spaces; `None` for the second if a character is alone.
    Pair(char, Option<char>),
}

/// Classes of bytes.
const NONE: u8 = 0;
const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 3;
const UNDERSCORE: u8 = 4;
const WIDE: u8 = 5;

const CLASSES: [u8; 256] = {
    let mut classes = [NONE; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            0x80.. => WIDE,
            _ => NONE,
        };
        byte += 1;
    }
    classes
};

/// Visits each word of `text` with its start in bytes. With `is_json` a backslash and the letter after
/// it are one escaped character.
pub(super) fn for_each_word<'a>(text: &'a str, is_json: bool, mut visit: impl FnMut(usize, Word<'a>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match CLASSES[bytes[at] as usize] {
            NONE => {
                let is_escape = is_json && bytes[at] == b'\\';
                at += if is_escape && bytes.get(at + 1).is_some_and(u8::is_ascii) { 2 } else { 1 };
            }
            WIDE => at = wide_run(text, at, &mut visit),
            _ => {
                let (end, has_parts, is_wide) = ascii_run(bytes, at);
                if is_wide {
                    at = wide_run(text, at, &mut visit);
                    continue;
                }
                visit(at, Word::Whole(&text[at..end]));
                // Line breaks stay escaped if a tool answers in JSON.
                if !is_json
                    && matches!(bytes[at], b'n' | b't' | b'r')
                    && at > 0
                    && bytes[at - 1] == b'\\'
                    && end > at + 1
                {
                    visit(at + 1, Word::Whole(&text[at + 1..end]));
                }
                if has_parts {
                    ascii_parts(text, at, end, &mut visit);
                }
                at = end;
            }
        }
    }
}

/// The end of a run of ASCII, whether it has parts, and whether it continues beyond ASCII.
fn ascii_run(bytes: &[u8], start: usize) -> (usize, bool, bool) {
    let mut last = CLASSES[bytes[start] as usize];
    let mut has_parts = last == UNDERSCORE;
    let mut end = start + 1;
    while let Some(byte) = bytes.get(end) {
        let class = CLASSES[*byte as usize];
        match class {
            NONE => break,
            WIDE => return (end, has_parts, true),
            _ => {}
        }
        has_parts |= class != last && !(last == UPPER && class == LOWER && end == start + 1);
        last = class;
        end += 1;
    }
    (end, has_parts, false)
}

/// Reads a run with any letters. Returns its end.
fn wide_run<'a>(text: &'a str, start: usize, visit: &mut impl FnMut(usize, Word<'a>)) -> usize {
    let mut end = start;
    let mut characters = text[start..].char_indices().map(|(at, character)| (start + at, character)).peekable();
    let mut has_parts = false;
    let mut last = None;
    while let Some((at, character)) =
        characters.next_if(|(_, character)| is_letter(*character) && !has_no_word_borders(*character))
    {
        has_parts |= character == '_' || last.is_some_and(|last| is_border(last, character) && at > start);
        last = Some(character);
        end = at + character.len_utf8();
    }
    if end > start {
        visit(start, Word::Whole(&text[start..end]));
        if has_parts {
            parts(text, start, end, visit);
        }
        return end;
    }
    let mut previous = None;
    while let Some((at, character)) = characters.next_if(|(_, character)| has_no_word_borders(*character)) {
        if let Some((before, first)) = previous {
            visit(before, Word::Pair(first, Some(character)));
        }
        end = at + character.len_utf8();
        previous = Some((at, character));
    }
    match previous {
        Some((at, character)) => visit(at, Word::Pair(character, None)),
        None => end = start + text[start..].chars().next().map_or(1, char::len_utf8),
    }
    end
}

/// Visits the parts of a run, which underscores, digits and capital letters separate.
fn parts<'a>(text: &'a str, start: usize, end: usize, visit: &mut impl FnMut(usize, Word<'a>)) {
    let mut from = start;
    let mut characters = text[start..end].char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let here = start + at + character.len_utf8();
        if character == '_' {
            from = here;
        } else if next.is_none_or(|next| next == '_' || is_border(character, next))
            || is_last_capital(text, here, character)
        {
            if from < here && (from, here) != (start, end) {
                visit(from, Word::Part(&text[from..here]));
            }
            from = here;
        }
    }
}

/// Visits the parts of a run of ASCII.
fn ascii_parts<'a>(text: &'a str, start: usize, end: usize, visit: &mut impl FnMut(usize, Word<'a>)) {
    let class = |at: usize| CLASSES[text.as_bytes()[at] as usize];
    let mut from = start;
    let mut last = class(start);
    for at in start + 1..=end {
        let here = if at < end { class(at) } else { UNDERSCORE };
        // A capital letter begins a word or ends a run of capitals.
        let is_inside = match (last, here) {
            (UPPER, LOWER) => {
                from + 1 >= at || {
                    visit_part(text, from..at - 1, start..end, visit);
                    from = at - 1;
                    true
                }
            }
            _ => last == here,
        };
        if !is_inside {
            if last != UNDERSCORE {
                visit_part(text, from..at, start..end, visit);
            }
            from = at;
        }
        if here == UNDERSCORE {
            from = at + 1;
        }
        last = here;
    }
}

fn visit_part<'a>(text: &'a str, part: Range<usize>, run: Range<usize>, visit: &mut impl FnMut(usize, Word<'a>)) {
    if part != run && !part.is_empty() {
        visit(part.start, Word::Part(&text[part]));
    }
}

fn is_border(last: char, next: char) -> bool {
    (last.is_lowercase() && next.is_uppercase()) || last.is_numeric() != next.is_numeric()
}

/// Whether a capital letter ends a run of capitals before a word: the `L` of `HTMLParser`.
fn is_last_capital(text: &str, end: usize, character: char) -> bool {
    let mut following = text[end..].chars();
    character.is_uppercase()
        && following.next().is_some_and(char::is_uppercase)
        && following.next().is_some_and(char::is_lowercase)
}

fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Whether a character belongs to a script without spaces, or to one whose words carry endings that are
/// words elsewhere.
pub(super) fn has_no_word_borders(character: char) -> bool {
    matches!(
        character,
        '\u{e00}'..='\u{eff}'          // Thai, Lao
        | '\u{1000}'..='\u{109f}'      // Myanmar
        | '\u{1100}'..='\u{11ff}'      // Hangul
        | '\u{1780}'..='\u{17ff}'      // Khmer
        | '\u{3005}'..='\u{3007}'      // marks of repetition
        | '\u{3041}'..='\u{30fa}'      // kana
        | '\u{30fc}'..='\u{30ff}'
        | '\u{3130}'..='\u{318f}'      // Hangul
        | '\u{3400}'..='\u{4dbf}'      // Han
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'      // Hangul
        | '\u{f900}'..='\u{faff}'      // Han
        | '\u{ff66}'..='\u{ff9f}'      // kana of half width
        | '\u{20000}'..='\u{323af}'    // Han
    )
}

/// Whether a character is hiragana, in which Japanese writes endings and particles.
pub(super) fn is_hiragana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309f}')
}

/// `text` in lower case.
pub(super) fn fold(text: &str) -> Cow<'_, str> {
    if !text.is_ascii() {
        return Cow::Owned(text.to_lowercase());
    }
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// A folded word without a plural ending.
pub(super) fn singular(word: &str) -> Cow<'_, str> {
    let without = |ending: usize| &word[..word.len() - ending];
    match word {
        _ if word.len() < 3 || !word.ends_with('s') || word.bytes().any(|byte| byte.is_ascii_digit()) => {
            Cow::Borrowed(word)
        }
        _ if word.len() > 4 && word.ends_with("ies") => Cow::Owned(format!("{}y", without(3))),
        _ if ["sses", "xes", "ches", "shes", "zzes"].iter().any(|ending| word.ends_with(ending)) => {
            Cow::Borrowed(without(2))
        }
        _ if ["ss", "us", "is"].iter().any(|ending| word.ends_with(ending)) => Cow::Borrowed(word),
        _ => Cow::Borrowed(without(1)),
    }
}

/// Whether two folded words are probably forms of one word: they share their beginning and differ in a
/// short ending. If they share few letters, one of them must have almost no ending.
pub(super) fn are_forms(left: &str, right: &str) -> bool {
    let (mut shared, mut bytes) = (0, 0);
    for (character, other) in left.chars().zip(right.chars()) {
        if character != other {
            break;
        }
        shared += 1;
        bytes += character.len_utf8();
    }
    let endings = [&left[bytes..], &right[bytes..]].map(|ending| ending.chars().count());
    let [shorter, longer] = [endings[0].min(endings[1]), endings[0].max(endings[1])];
    let is_alike = shared > SHARED_LETTERS || (shared == SHARED_LETTERS && shorter <= 1);
    is_alike
        && longer <= LONGEST_ENDING
        && shared >= longer
        && right.chars().all(char::is_alphabetic)
        && left.chars().all(char::is_alphabetic)
}

/// A key that is equal for equal words, ignoring the case of ASCII letters, and rarely for others.
pub(super) fn key(word: &str) -> u32 {
    let bytes = word.as_bytes();
    let mut key = [0; KEY_BYTES];
    let length = bytes.len().min(KEY_BYTES);
    key[..length].copy_from_slice(&bytes[..length]);
    // Sets the bit that makes ASCII letters lower-case. Words are compared in full later.
    u32::from_le_bytes(key) | (0x2020_2020 >> (8 * (KEY_BYTES - length) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, is_json: bool, expected: &str) {
        let mut seen = Vec::new();
        for_each_word(text, is_json, |at, word| {
            seen.push(match word {
                Word::Whole(word) => {
                    assert!(text[at..].starts_with(word));
                    word.to_owned()
                }
                Word::Part(part) => {
                    assert!(text[at..].starts_with(part));
                    format!("+{part}")
                }
                Word::Pair(first, second) => {
                    assert!(text[at..].starts_with(first));
                    std::iter::once(first).chain(second).collect()
                }
            });
        });
        assert_eq!(seen.join(" "), expected, "{text}");
    }

    #[test]
    fn words_and_their_parts() {
        check("Read the file.", false, "Read the file");
        check("readFile(FOO_BAR)", false, "readFile +read +File FOO_BAR +FOO +BAR");
        check("HTMLParser v2 x86_64", false, "HTMLParser +HTML +Parser v2 +v +2 x86_64 +x +86 +64");
        check("src/a.rs:12 1.5.2", false, "src a rs 12 1 5 2");
        check("Größe läuftNicht ПриветМир", false, "Größe läuftNicht +läuft +Nicht ПриветМир +Привет +Мир");
        check("__init__", false, "__init__ +init");
        check("a—b “c”…", false, "a b c");
    }

    #[test]
    fn escapes_of_json_are_no_letters() {
        check(r#"{"a":"x\nread\\to"}"#, true, "a x read to");
        check(r"x\nread C:\new", false, "x nread read C new ew");
    }

    #[test]
    fn scripts_without_spaces_are_read_in_pairs() {
        check("設定ファイルを", false, "設定 定フ ファ ァイ イル ルを を");
        check("PRを見る a木b", false, "PR を見 見る る a 木 b");
        check("한국어", false, "한국 국어 어");
    }

    #[test]
    fn forms_of_a_word() {
        for (word, one) in [
            ("files", "file"),
            ("entries", "entry"),
            ("classes", "class"),
            ("status", "status"),
            ("pass", "pass"),
            ("as", "as"),
            ("prs", "pr"),
            ("boxes", "box"),
            ("t1s", "t1s"),
        ] {
            assert_eq!(singular(word), one);
        }
        assert!(are_forms("change", "changing") && are_forms("strip", "stripped") && are_forms("добавил", "добавить"));
        assert!(!are_forms("format", "formidable") && !are_forms("test1", "test2") && !are_forms("the", "then"));
        assert!(are_forms("parse", "parsing") && are_forms("test", "tested") && !are_forms("change", "chance"));
    }

    #[test]
    fn equal_words_have_one_key() {
        assert_eq!(key("Parser"), key("parsing"));
        assert_eq!(key("ID"), key("id"));
        assert_ne!(key("id"), key("idea"));
    }

    proptest::proptest! {
        #[test]
        fn parts_of_ascii_are_those_of_any_text(run in "[a-cA-C0-1_]{1,12}") {
            let (mut plain, mut quick) = (Vec::new(), Vec::new());
            parts(&run, 0, run.len(), &mut |at, word| plain.push((at, word)));
            ascii_parts(&run, 0, run.len(), &mut |at, word| quick.push((at, word)));
            proptest::prop_assert_eq!(plain, quick);
        }
    }
}
