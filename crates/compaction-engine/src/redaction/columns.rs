//! Passwords in tables: the cells below the word for a password.

use std::ops::Range;
use std::sync::LazyLock;

use memchr::memchr2;
use regex::Regex;

use super::check;

/// The rule of these passwords, which is also that of values after names.
pub(super) const RULE: &str = "password";

/// Maximum bytes of the head of a table, and of the name of one of its columns.
const MAX_HEAD: usize = 512;
const MAX_NAME: usize = 32;

/// Words for a password in the name of a column.
static NAMES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = "(?i-u:password|passwd|pwd|passwort|mot de passe|senha)|(?i:contraseña|пароль)|密码";
    Regex::new(pattern).expect("the pattern is valid")
});

/// Whether a text may have one of [`NAMES`] in letters that the keywords of passwords do not have: with a long s, or with
/// Cyrillic capitals. All others have one of these keywords.
pub(super) fn may_name_beyond_keywords(text: &str) -> bool {
    memchr2(0xc5, 0xd0, text.as_bytes()).is_some()
}

/// What ends a text in JSON, and with it the last row of a table.
const ENDS: [&str; 4] = ["\"}", "\"]", "\",\"", "\", \""];

/// The passwords in the tables of `text`. The time is proportional to its length.
pub(super) fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut done = 0;
    for name in NAMES.find_iter(text) {
        let at = name.start();
        if at < done {
            continue;
        }
        let before = &text[done..at];
        let before = before.rfind('\n').map_or(before, |end| &before[end + 1..]);
        // The head may be the beginning of a text in JSON.
        let before = before.rsplit_once("\":").map_or(before, |(_, value)| {
            let value = value.trim_start();
            value.strip_prefix('"').unwrap_or(value)
        });
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
        done = match Column::read(&text[at - before.len()..end], before.len()) {
            Some(column) => column.cells(text, text.len().min(end + 1), &mut found),
            None => end,
        };
    }
    found
}

/// A column of a table.
struct Column {
    separator: char,
    /// Number of separators on each line.
    separators: usize,
    /// Number of separators before the cell.
    before: usize,
}

impl Column {
    /// The column whose name is at the byte `at` of the head of a table.
    fn read(head: &str, at: usize) -> Option<Self> {
        let is_name = |cell: &str| {
            let name =
                cell.trim_matches(|character: char| character.is_whitespace() || matches!(character, '"' | '*' | '`'));
            name.len() <= MAX_NAME
                && name
                    .chars()
                    .all(|character| character.is_alphanumeric() || matches!(character, '_' | ' ' | '-' | '#'))
        };
        if head.len() > MAX_HEAD {
            return None;
        }
        let separator = ['|', '\t', ';', ','].into_iter().find(|separator| head.contains(*separator))?;
        // A sentence has spaces after its commas. A statement or an argument ends with its separator.
        let is_prose = matches!(separator, ',' | ';')
            && (head.contains(&format!("{separator} ")) || head.trim_end().ends_with(separator));
        let is_head = head.split(separator).all(is_name) && !is_prose;
        let count = |text: &str| text.matches(separator).count();
        is_head.then(|| Self { separator, separators: count(head), before: count(&head[..at]) })
    }

    /// Adds the passwords of this column in the rows from `start` on, and returns where these end.
    fn cells(&self, text: &str, start: usize, found: &mut Vec<Range<usize>>) -> usize {
        let mut at = start;
        for line in text[start..].split_inclusive('\n') {
            let is_rule = line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b'+' | b':' | b' ' | b'\r' | b'\n'));
            let rows = ENDS.iter().map(|end| line.split_once(end).map_or(line, |(row, _)| row));
            let row = rows.chain([line]).find(|row| row.matches(self.separator).count() == self.separators);
            if line.trim().is_empty() || !is_rule && row.is_none() {
                break;
            }
            let cell = row.and_then(|row| row.split(self.separator).nth(self.before)).filter(|_| !is_rule);
            if let Some(value) =
                cell.map(|cell| cell.trim().trim_matches('"')).filter(|cell| check::is_password_cell(cell))
            {
                let first = at + (value.as_ptr() as usize - line.as_ptr() as usize);
                found.push(first..first + value.len());
            }
            at += line.len();
        }
        at
    }
}
