//! How the text of a table is read. The build script reads the tables of this crate with it, and the compiler those of
//! other crates. So it knows nothing of the crate.
//!
//! The compiler interprets these functions, and most of that time goes into calls. So they loop over bytes and
//! positions, and split texts only to keep a phrase.

/// The first list of a text, as its name and the text of its phrases, and the text after it.
pub const fn next_list(text: &str) -> (Option<(&str, &str)>, &str) {
    let bytes = text.as_bytes();
    let start = list_from(bytes, 0);
    if start == bytes.len() {
        return (None, "");
    }
    let (bracket, end) = (find(bytes, start, b']', b']'), list_from(bytes, start + 1));
    (Some((part(text, start + 1, bracket), part(text, bracket + 1, end))), text.split_at(end).1)
}

/// The first `N` phrases of all lists of a table, and the number of all phrases.
pub const fn phrases<const N: usize>(table: &'static str) -> ([&'static str; N], usize) {
    let (mut phrases, mut count) = ([""; N], 0);
    let (mut list, mut others) = next_list(table);
    while let Some((_, of_list)) = list {
        let (mut start, mut end, mut rest) = next(of_list.as_bytes(), 0);
        while start < end {
            if count < N {
                phrases[count] = part(of_list, start, end);
            }
            count += 1;
            (start, end, rest) = next(of_list.as_bytes(), rest);
        }
        (list, others) = next_list(others);
    }
    (phrases, count)
}

/// The number of the phrases in the text of a list.
pub const fn count(of_list: &str) -> usize {
    let (mut start, mut end, mut rest) = next(of_list.as_bytes(), 0);
    let mut count = 0;
    while start < end {
        count += 1;
        (start, end, rest) = next(of_list.as_bytes(), rest);
    }
    count
}

/// Where the first phrase at or after a position in the text of a list starts and ends, and the position after it. At
/// the end of the text, the phrase is empty.
pub const fn next(text: &[u8], mut at: usize) -> (usize, usize, usize) {
    let length = text.len();
    while at < length {
        if text[at] == b'#' {
            at = find(text, at, b'\n', b'\n') + 1;
            continue;
        }
        let mut start = at;
        while start < length && matches!(text[start], b' ' | b'\t' | b'\n' | b'\r') {
            start += 1;
        }
        if start < length && text[start] == b'`' {
            let end = find(text, start + 1, b'`', b'`');
            return (start + 1, end, end + 1);
        }
        let behind = find(text, at, b',', b'\n');
        let mut end = behind;
        while start < end && matches!(text[end - 1], b' ' | b'\t' | b'\r') {
            end -= 1;
        }
        if start < end {
            return (start, end, behind + 1);
        }
        at = behind + 1;
    }
    (length, length, length)
}

/// The position of the first bracket that begins a line, at a position or after it; otherwise that of the end.
const fn list_from(text: &[u8], mut at: usize) -> usize {
    let length = text.len();
    while at < length && !(text[at] == b'[' && (at == 0 || text[at - 1] == b'\n')) {
        at += 1;
    }
    at
}

/// The position of the first of two bytes, at a position or after it; otherwise that of the end.
const fn find(text: &[u8], mut at: usize, one: u8, other: u8) -> usize {
    let length = text.len();
    while at < length && text[at] != one && text[at] != other {
        at += 1;
    }
    at
}

/// The text between two positions.
const fn part(text: &str, start: usize, end: usize) -> &str {
    text.split_at(end).0.split_at(start).1
}

/// A hash of a name; few names share one.
pub const fn key(name: &[u8]) -> u64 {
    let (length, mut key, mut at) = (name.len(), 0, 0_usize);
    while at < length {
        key = (key ^ name[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    key
}

/// Whether two names are the same.
pub const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while one.len() == other.len() && at < one.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && one.len() == other.len()
}
