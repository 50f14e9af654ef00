//! Proposals: answers that present a plan and leave the decision to the person.

use super::names::ending;
use super::statements::{prose, without_marker};
use super::text::{WordList, first_words, has_piece, normalised, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// The tag that Codex puts around a proposed plan.
const TAG: &str = "<proposed_plan>";
/// Words of the title of a plan.
const TITLES: &[&str] = listed!(SPACED, "proposals: titles");
const TITLES_UNSPACED: &[&str] = listed!(UNSPACED, "proposals: titles");
/// Longest title of a plan, in UTF-16 units.
const LONGEST_TITLE: usize = 100;
/// Words after which such a title says what the plan is for: `Plan for the printer`. Other words make it the title of
/// something else: `Plan comparison`.
static BEHIND: WordList = word_list!(SPACED, "proposals: behind");
/// Phrases with which an answer waits for approval.
static WAITING: WordList = word_list!("proposals: waiting");
/// Phrases that do so at the beginning or the end of a clause: `Once you approve, I begin`, but not `it merges once you
/// approve it on the server`.
static APPROVING: WordList = word_list!(SPACED, "proposals: approving");
/// Fewest items of lists in a plan.
const FEWEST_ITEMS: usize = 3;

/// Most files of one answer whose code is looked for.
const MOST_FILES: usize = 16;

/// The files whose code an answer shows in fences that name them: a language, a colon and a path. In conversations
/// without calls, these are the changes that it proposes.
pub(crate) fn files_of_code(answer: &str) -> Vec<&str> {
    shown_files(answer, false)
}

/// The same with the files that a heading above the code names, or a line before it that ends with a colon and names one
/// file. Other code than that of a change may stand there, too.
pub(crate) fn files_with_code(answer: &str) -> Vec<&str> {
    shown_files(answer, true)
}

fn shown_files(answer: &str, with_titles: bool) -> Vec<&str> {
    let mut files: Vec<&str> = Vec::new();
    let mut is_code = false;
    let (mut named, mut linked) = (None, None);
    for line in answer.lines().map(str::trim) {
        if files.len() == MOST_FILES {
            break;
        }
        if !line.starts_with("```") {
            // An export may leave out the code below such a heading.
            let told =
                linked.take_if(|_| !line.is_empty()).filter(|_| !line.starts_with('#') && !changes_nothing(line));
            files.extend(told.filter(|file| !files.contains(file)));
            linked = linked_file(line).filter(|_| with_titles && !is_code && line.starts_with('#')).or(linked);
            named = match titled_file(line).filter(|_| with_titles) {
                Some(file) if !is_code => Some(file),
                // Another heading begins something else.
                _ if !is_code && line.starts_with('#') => None,
                _ => named,
            };
            continue;
        }
        is_code = !is_code;
        let file = line.trim_start_matches('`').split_once(':').filter(|(language, path)| {
            let is_language = |one: char| one.is_ascii_alphanumeric() || matches!(one, '+' | '#' | '-');
            language.chars().all(is_language) && is_file(path)
        });
        let file = file.map(|(_, path)| path).or(named);
        if let Some(path) = file.filter(|path| is_code && !files.contains(path)) {
            files.push(path);
        }
    }
    files
}

fn is_file(path: &str) -> bool {
    !path.contains([' ', ':']) && ending(path).is_some()
}

/// The file of a line that is a link to it.
fn linked_file(line: &str) -> Option<&str> {
    let bare = line.trim_matches(['#', '*', '`', ':', ' ']);
    let (name, _) = bare.strip_prefix('[')?.split_once("](")?;
    Some(name.trim_matches('`')).filter(|name| is_file(name))
}

/// Words for nothing, which begin what is said of a file that stays as it is.
static NEGATIONS: WordList = word_list!("choices: negations");

fn changes_nothing(line: &str) -> bool {
    NEGATIONS.is_said(&first_words(line, NEGATED_WITHIN))
}

/// Number of first words of a sentence among which they stand.
const NEGATED_WITHIN: usize = 3;

/// The file that a heading or a line before code names: `### [main.py](file:///shop/main.py)`, `**main.py**`, or "In `main.py`:".
fn titled_file(line: &str) -> Option<&str> {
    let bare = line.trim_matches(['#', '*', '`', ':', '\u{ff1a}', ' ']);
    let is_heading = line.starts_with(['#', '*', '`']);
    let leads = || line.ends_with([':', '\u{ff1a}']);
    let mut quoted = line.split('`').skip(1).step_by(2).filter(|name| is_file(name));
    linked_file(line)
        .filter(|_| is_heading)
        .or_else(|| is_heading.then_some(bare).filter(|name| is_file(name)))
        .or_else(|| quoted.next().filter(|_| leads() && quoted.next().is_none()))
}

/// Whether an answer that changed nothing proposes a plan: it has the tag or the title of a plan, or says that it waits
/// for approval.
pub(crate) fn is_proposal(answer: &str) -> bool {
    if answer.contains(TAG) {
        return true;
    }
    let (mut is_titled, mut items) = (false, 0);
    let mut is_first = true;
    for line in prose(answer) {
        let text = without_marker(line);
        let bare = line.trim();
        // A copy of a screen has no marks of headings.
        let is_bare_title = is_first && bare.ends_with(char::is_alphanumeric);
        is_first &= bare.is_empty();
        let is_heading = bare.starts_with('#')
            || bare.starts_with("**") && bare.trim_end_matches(':').ends_with("**")
            || is_bare_title;
        if is_heading && utf16_len(bare) <= LONGEST_TITLE {
            is_titled |= is_title(bare);
        } else if text.len() < bare.len() {
            items += usize::from(is_titled);
        }
        if WAITING.is_said(bare) || bare.split(CLAUSE_ENDS).any(is_approving) {
            return true;
        }
    }
    is_titled && items >= FEWEST_ITEMS
}

/// Marks between clauses.
const CLAUSE_ENDS: [char; 9] = ['.', ',', ';', ':', '!', '(', ')', '\u{2014}', '\u{2013}'];

/// Whether a clause begins or ends with a phrase of [`APPROVING`].
fn is_approving(clause: &str) -> bool {
    let words = normalised(clause);
    let is_end = |phrase: &&str| words.trim_end().strip_suffix(phrase).is_some_and(|before| before.ends_with(' '));
    APPROVING.starts(&words) || APPROVING.words.iter().any(is_end)
}

/// Whether a heading is the title of a plan: its part before a colon or dash ends with such a title, or the title is
/// followed by what the plan is for.
fn is_title(heading: &str) -> bool {
    let heading = heading.trim_matches(['#', '*', ' ']);
    if has_piece(heading, TITLES_UNSPACED) {
        return true;
    }
    let words = normalised(heading.split([':', '\u{2014}', '\u{2013}']).next().unwrap_or_default());
    let words = words.trim_end();
    TITLES.iter().any(|title| {
        let mut places = words.match_indices(title).map(|(at, _)| (&words[..at], &words[at + title.len()..]));
        places.any(|(before, after)| {
            let is_behind = || after.starts_with(' ') && BEHIND.starts(&format!("{after} "));
            before.ends_with(' ') && (after.is_empty() || is_behind())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::{files_of_code, files_with_code, is_proposal};

    #[test]
    fn plans_that_are_proposed_are_known() {
        for answer in [
            "<proposed_plan>\nRename the parser.\n</proposed_plan>",
            "## Plan for the printer\n\n1. Read the blocks\n2. Print them\n3. Test it",
            "**Implementation plan:**\n- a b\n- c d\n- e f",
            "I would split the parser. No code was written yet.",
            "I split it into two modules once you approve.",
            "Once you approve, I split it into two modules.",
            "## Plan: two modules\n- a b\n- c d\n- e f",
            "## Plan zur Umstellung\n- a b\n- c d\n- e f",
            "Plan for the printer\n\nFiles\n- a b\n- c d\n- e f",
            "## \u{5b9e}\u{65bd}\u{8ba1}\u{5212}\n- a b\n- c d\n- e f",
        ] {
            assert!(is_proposal(answer), "{answer}");
        }
        for answer in [
            "The parser is done.\n\n## Changes\n- a b\n- c d\n- e f",
            "I changed the plan of the tests.\n- a b\n- c d\n- e f",
            "## Plan\nAll of it is done.",
            "The plan is done.\n- a b\n- c d\n- e f",
            "## Plan in docs/PLAN.md\n- a b\n- c d\n- e f",
            "**Plan comparison:**\n- free\n- for teams\n- for all",
            "The bot merges it once you approve it on the server.",
            "Done.",
        ] {
            assert!(!is_proposal(answer), "{answer}");
        }
    }

    #[test]
    fn code_in_a_fence_that_names_its_file_is_a_proposal() {
        let answer = "Two files:\n\n```python:shop/menu.py\nx = 1\n```\n\n```ts\na: b.ts\n```\n```rust:src/lib.rs\n```\n\
                      ```python:shop/menu.py\ny = 2\n```";
        assert_eq!(files_of_code(answer), ["shop/menu.py", "src/lib.rs"]);
        for (shown, file) in [
            ("### [menu.py](file:///shop/menu.py)\n\nAdd the prices.\n\n```python\nx = 1\n```", "menu.py"),
            (
                "### [menu.py](file:///shop/menu.py)\n\nAdd the prices.\n\n### [a.py](file:///a.py)\n\nNo changes here.",
                "menu.py",
            ),
            ("**shop/menu.py**\n```python\nx = 1\n```", "shop/menu.py"),
            ("In `menu.py`:\n\n```\nx = 1\n```", "menu.py"),
            ("\u{ff11}. `menu.py` に追加\u{ff1a}\n```\nx = 1\n```", "menu.py"),
        ] {
            assert_eq!(files_with_code(shown), [file]);
            assert!(files_of_code(shown).is_empty());
        }
        for none in [
            "### menu.py\nNo change.",
            "### menu.py\n\n### Run it\n```\nls\n```",
            "Move `a.py` to `b.py`:\n```\nmv\n```",
            "```python\nx = 1\n```",
            "```text: see menu.py\n```",
            "`python:menu.py`",
            "```json:1:2\n```",
        ] {
            assert!(files_with_code(none).is_empty(), "{none}");
        }
    }
}
