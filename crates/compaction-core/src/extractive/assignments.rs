//! Assignments: values in code that later code replaces. Beside `cache_size = 4`, an older `cache_size = 2` misleads.

use std::collections::HashMap;

use crate::ledger::{Statement, Voice};

/// Most assignments that are read from one statement.
const MOST: usize = 8;
/// Shortest name without an underscore. Shorter ones mean different things in different places.
const SHORTEST_NAME: usize = 8;
/// Bytes of a value that are compared.
const COMPARED: usize = 24;
/// The mark between a name and its value.
const SETS: &str = " = ";

/// Whether later code gives another value to a name that a statement sets; empty if none does.
pub(super) fn replaced(statements: &[Statement]) -> Vec<bool> {
    let mut newest: HashMap<&str, (u64, String)> = HashMap::new();
    let mut replaced = Vec::new();
    for (index, one) in statements.iter().enumerate().rev() {
        if one.voice != Voice::Quote && !(one.is_of_model() && one.text.contains('`')) {
            continue;
        }
        for (name, value) in assignments(&one.text) {
            match newest.get(name) {
                Some((position, known)) if *position > one.position && kind(known) == kind(&value) => {
                    if *known != value {
                        replaced.resize(statements.len(), false);
                        replaced[index] = true;
                    }
                }
                Some(_) => {}
                None => {
                    newest.insert(name, (one.position, value));
                }
            }
        }
    }
    replaced
}

/// The names that a text sets to a value that is written out, with the first characters of that value.
fn assignments(text: &str) -> impl Iterator<Item = (&str, String)> {
    memchr::memmem::find_iter(text.as_bytes(), SETS).take(MOST).filter_map(|at| {
        let before = &text[..at];
        let is_of_name = |one: char| one.is_ascii_alphanumeric() || one == '_';
        let name = &before[before.trim_end_matches(is_of_name).len()..];
        let value = text[at + SETS.len()..].trim_start();
        let is_name = name.contains('_') || name.len() >= SHORTEST_NAME;
        let is_free = !before[..before.len() - name.len()].ends_with('.');
        let is_literal = value.starts_with(|one: char| one.is_ascii_digit() || matches!(one, '"' | '\'' | '{' | '['));
        let end = value.floor_char_boundary(COMPARED);
        let value: String = value[..end].split_whitespace().collect();
        (is_name && is_free && is_literal && name.starts_with(char::is_alphabetic)).then_some((name, value))
    })
}

/// What a value begins with: a digit counts as any digit.
fn kind(value: &str) -> Option<char> {
    value.chars().next().map(|first| if first.is_ascii_digit() { '0' } else { first })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sources;

    fn said(voice: Voice, position: u64, text: &str) -> Statement {
        Statement { voice, text: text.to_owned(), number: 0, position, sources: Sources::default() }
    }

    #[test]
    fn a_value_that_later_code_replaces_is_left_out() {
        let statements = [
            said(Voice::Quote, 3, "# rows of the cache cache_size = 20 # at most"),
            said(Voice::Report, 3, "For large shops: `cache_size = 80`"),
            said(Voice::Quote, 5, "user_name = \"anna\" total = 3"),
            said(Voice::Quote, 7, "cache_size = 12"),
            said(Voice::Quote, 9, "user_name = read() total = 4 cache_size = 12"),
        ];
        assert_eq!(replaced(&statements), [true, true, false, false, false]);
        assert!(replaced(&statements[3..]).is_empty());
    }
}
