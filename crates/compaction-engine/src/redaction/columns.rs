//! Passwords in tables: what stands below the word for a password in rows of cells.

use std::ops::Range;

use memchr::memmem;

use super::check;

/// The rule of these passwords, which is that of values behind names.
pub(super) const RULE: &str = "password";

/// Maximum bytes of the head of a table, and of the name of one of its columns.
const MAX_HEAD: usize = 512;
const MAX_NAME: usize = 32;

/// The passwords in the tables of `text`. The time is proportional to its length.
pub(super) fn passwords(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for name in ["password", "PASSWORD"] {
        let mut done = 0;
        for at in memmem::find_iter(text.as_bytes(), name) {
            if at < done {
                continue;
            }
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
            done = match Column::read(&text[start..end], at - start) {
                Some(column) => column.cells(text, end, &mut found),
                None => end,
            };
        }
    }
    found
}

/// A column of a table.
struct Column {
    separator: char,
    /// Number of separators on each line, and of those before the cell.
    separators: usize,
    before: usize,
}

impl Column {
    /// The column whose name is at the byte `at` of the head of a table.
    fn read(head: &str, at: usize) -> Option<Self> {
        let is_name = |cell: &str| {
            let name =
                cell.trim_matches(|character: char| character.is_whitespace() || matches!(character, '"' | '*' | '`'));
            name.len() <= MAX_NAME
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b' ' | b'-' | b'#'))
        };
        if head.len() > MAX_HEAD {
            return None;
        }
        // A sentence has spaces behind its commas.
        let separator = ['|', '\t', ','].into_iter().find(|separator| head.contains(*separator))?;
        let is_head = head.split(separator).all(is_name) && !(separator == ',' && head.contains(' '));
        let count = |text: &str| text.matches(separator).count();
        is_head.then(|| Self { separator, separators: count(head), before: count(&head[..at]) })
    }

    /// Adds the passwords of this column in the rows from `start` on, and returns where these end.
    fn cells(&self, text: &str, start: usize, found: &mut Vec<Range<usize>>) -> usize {
        let mut at = start;
        for line in text[start..].split_inclusive('\n') {
            let is_rule = line.bytes().all(|byte| matches!(byte, b'|' | b'-' | b'+' | b':' | b' ' | b'\r' | b'\n'));
            if !is_rule && line.matches(self.separator).count() != self.separators {
                break;
            }
            let cell = line.split(self.separator).nth(self.before).filter(|_| !is_rule);
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
