//! Results of calls that a person refused or interrupted.

use crate::phrases::{HARNESSES, listed};

/// Texts of refused calls, in lower case.
const REFUSALS: &[&str] = listed!(HARNESSES, "refusals: refused");
/// The same of calls that a person ended while they ran.
const INTERRUPTIONS: &[&str] = listed!(HARNESSES, "refusals: interrupted");
/// Each of both has one of these words.
const REFUSAL_WORDS: &[&str] = &["user", "aborted", "(y)es/(n)o", "skipping edits", "tell claude", "should claude"];
/// Leading bytes of a result that are searched for a refusal.
const REFUSAL_BYTES: usize = 400;

/// What the results of calls say that a tool refused because of a list of files, in lower case, and the name of that list.
const LISTS_OF_IGNORED: [(&str, &str); 2] =
    [("that matches gitignore spec", "gitignore"), ("that matches aiderignore spec", "aiderignore")];

/// The list of ignored files because of which a tool did not make an edit.
pub(crate) fn ignored_by(text: &str) -> Option<&'static str> {
    let start = start_of_refusal(text);
    let mut lists = LISTS_OF_IGNORED.iter().filter(|_| start.starts_with("skipping edits to "));
    lists.find(|(words, _)| start.contains(words)).map(|(_, list)| *list)
}

/// Whether a result says that a person refused or interrupted the call.
pub(crate) fn is_refusal(text: &str) -> bool {
    let start = start_of_refusal(text);
    if ignored_by(&start).is_some() {
        return false;
    }
    if ["cancelled", "canceled", "rejected", "denied", "skipped"].contains(&start.trim_end_matches('.')) {
        return true;
    }
    let has_one = |phrases: &[&str]| phrases.iter().any(|phrase| start.contains(phrase));
    has_one(REFUSAL_WORDS) && (has_one(REFUSALS) || has_one(INTERRUPTIONS))
}

/// Whole results that only say that a person let a call run, in lower case.
const APPROVALS: &[&str] = listed!(HARNESSES, "results: approvals");

/// Whether a result only says that a person let the call run. Nobody knows what came of it.
pub(crate) fn is_approval(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', '*']);
    APPROVALS.iter().any(|approval| text.eq_ignore_ascii_case(approval))
}

/// Whether a refusal only interrupts the call, and says nothing about what it was to do.
pub(crate) fn is_interruption(refusal: &str) -> bool {
    let start = start_of_refusal(refusal);
    let has_one = |phrases: &[&str]| phrases.iter().any(|phrase| start.contains(phrase));
    has_one(INTERRUPTIONS) && !has_one(REFUSALS)
}

fn start_of_refusal(text: &str) -> String {
    let mut end = text.len().min(REFUSAL_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_on_a_list_of_ignored_files_is_refused_by_the_tool() {
        let cases = [
            ("Skipping edits to out/menu.js that matches gitignore spec.", Some("gitignore"), false),
            ("Skipping edits to out/menu.js that matches aiderignore spec.", Some("aiderignore"), false),
            ("Skipping edits to out/menu.js", None, true),
            ("The page has a path that matches gitignore spec.", None, false),
        ];
        for (text, list, refuses) in cases {
            assert_eq!((ignored_by(text), is_refusal(text)), (list, refuses), "{text}");
        }
    }

    #[test]
    fn every_refusal_and_interruption_is_known_as_what_it_is() {
        assert!(REFUSALS.iter().all(|refusal| is_refusal(refusal) && !is_interruption(refusal)));
        assert!(INTERRUPTIONS.iter().all(|refusal| is_refusal(refusal) && is_interruption(refusal)));
    }
}
