//! Causes: the first error in the output of a failed check, such as `AssertionError: …`. It is shown beside the counts
//! and names of what failed.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::finder::automaton;
use super::text::{clip, one_line};

/// Comes before each line of an error in the output of pytest.
pub(super) const MARGIN: &str = "E  ";
/// A line with none of these texts is not an error.
const MARKS: [&str; 6] = ["Error", "Exception", "error[", "assertion ", "assert ", "Failure"];
static MARKED: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(MARKS, false));
/// Most UTF-16 units of an error.
const LONGEST_CAUSE: usize = 120;
/// Most words before the name of an error: `Uncaught`, or `FAILED tests/a.py::test_b -`.
const WORDS_BEFORE: usize = 3;

/// The error that a line of an output prints; `None` if it prints none.
pub(super) fn cause(line: &str) -> Option<String> {
    if !MARKED.is_match(line) {
        return None;
    }
    let line = line.trim();
    let is_of_pytest = line.starts_with(MARGIN);
    let line = if is_of_pytest { line[1..].trim_start() } else { line };
    let is_assertion = is_of_pytest && line.starts_with("assert ")
        || line.starts_with("assertion ") && line.contains(" failed")
        || line.strip_prefix("error[").is_some_and(|rest| rest.contains("]: "));
    let start = if is_assertion { Some(0) } else { start_of_error(line) };
    let text = one_line(&line[start?..]);
    Some(clip(&text, LONGEST_CAUSE))
}

/// Where the name of an error with its message begins: `Uncaught TypeError: x is not a function`.
fn start_of_error(line: &str) -> Option<usize> {
    let mut at = 0;
    for word in line.split(' ').take(WORDS_BEFORE + 1) {
        let behind = line[at + word.len()..].trim_start();
        let name = word.strip_suffix(':');
        let is_named = |name: &str| {
            let own = name.rsplit(['.', ':']).next().unwrap_or_default();
            let is_kind = ["Error", "Exception", "Failure"].iter().any(|end| own.ends_with(end));
            is_kind && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':'))
        };
        // Node puts a code between the name and the message.
        let has_code = || behind.starts_with('[') && behind.contains("]: ");
        if name.is_some_and(is_named) && !behind.is_empty() || is_named(word) && has_code() {
            return Some(at);
        }
        at += word.len() + 1;
        if at >= line.len() {
            break;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::cause;

    #[test]
    fn errors_of_many_languages_are_known() {
        for (line, expected) in [
            ("E       AssertionError: assert 1 == 2", "AssertionError: assert 1 == 2"),
            ("E       assert [1] == [2]", "assert [1] == [2]"),
            ("TypeError: next is not a function", "TypeError: next is not a function"),
            ("Uncaught TypeError: next is not a function", "TypeError: next is not a function"),
            ("AssertionError [ERR_ASSERTION]: 1 == 2", "AssertionError [ERR_ASSERTION]: 1 == 2"),
            ("FAILED tests/a.py::test_b - ValueError: no block", "ValueError: no block"),
            ("error[E0308]: mismatched types", "error[E0308]: mismatched types"),
            ("assertion `left == right` failed: of blocks", "assertion `left == right` failed: of blocks"),
            ("java.lang.IllegalStateException: no block", "java.lang.IllegalStateException: no block"),
            ("sqlite3.OperationalError: no such table: shop", "sqlite3.OperationalError: no such table: shop"),
        ] {
            assert_eq!(cause(line).as_deref(), Some(expected), "{line}");
        }
        for line in [
            "raise ValueError(\"no block\")",
            "test result: FAILED. 3 passed; 1 failed",
            "the ErrorBoundary: renders",
            "from errors import ParseError",
            "assert shop.open()",
            "ParseError:",
            "",
        ] {
            assert_eq!(cause(line), None, "{line}");
        }
    }
}
