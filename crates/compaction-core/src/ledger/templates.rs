//! Templates: long texts that an agent's command sends in the name of a person. They say who the model is, what its
//! task is and how to do it in many steps.

use std::ops::Range;

use super::statements::sentences;
use super::text::{WordList, normalised, word_list};
use crate::text::utf16_len;

/// Beginnings of such texts, which say who the model is.
static ROLES: WordList = word_list!("templates: roles");
/// Beginnings of the sentence with the task.
static TASKS: WordList = word_list!("templates: tasks");
/// Most words of such beginnings.
const MOST_WORDS: usize = 5;
/// Fewest UTF-16 units of a template.
const SHORTEST: usize = 800;
/// Number of first sentences or lines in which the task or title may be.
const TOLD_WITHIN: usize = 8;

/// Phrases of prompts that say how an agent works and reports.
static PROCEDURE: WordList = word_list!("templates: procedure");
/// Fewest different phrases of a prompt that is recognised by its form.
const FEWEST_PHRASES: usize = 3;
/// Fewest headings of such a prompt.
const FEWEST_HEADINGS: usize = 3;

/// The heading at the beginning of a text.
pub(super) fn heading(text: &str) -> Option<&str> {
    heading_of(text.trim_start().lines().next()?)
}

fn heading_of(line: &str) -> Option<&str> {
    let words = line.trim_start_matches('#');
    let is_heading = words.len() < line.len() && words.starts_with(' ') && words.contains(char::is_alphanumeric);
    is_heading.then(|| words.trim())
}

/// The title of a prompt: its first heading among its first lines, or its first line.
pub(super) fn title(prompt: &str) -> Option<&str> {
    let mut lines = prompt.lines().map(str::trim).filter(|line| !line.is_empty()).take(TOLD_WITHIN);
    let first = lines.clone().next()?;
    lines.find_map(heading_of).or(Some(first))
}

/// The range of a text after its first line.
pub(super) fn after_heading(text: &str) -> Range<usize> {
    let start = text.len() - text.trim_start().len();
    let end = text[start..].find('\n').map_or(text.len(), |end| start + end);
    end..text.len()
}

/// Whether a text looks like a prompt that says how an agent works: it is long, begins with a heading, has others, and
/// says what to report. A specification or a plan says what to build.
pub(crate) fn is_procedure(text: &str) -> bool {
    if heading(text).is_none() || utf16_len(text) < SHORTEST {
        return false;
    }
    let headings = text.lines().filter(|line| heading_of(line).is_some());
    if headings.take(FEWEST_HEADINGS).count() < FEWEST_HEADINGS {
        return false;
    }
    let words = normalised(text);
    let mut found: Vec<&str> = PROCEDURE.found_in(&words).map(|(_, phrase)| phrase).collect();
    found.extend(PROCEDURE.pieces.iter().filter(|piece| text.contains(**piece)));
    found.sort_unstable();
    found.dedup();
    found.len() >= FEWEST_PHRASES
}

/// A short description of a template: the title of a procedure, or the sentence with the task. `None` for other texts.
pub(crate) fn task(text: &str) -> Option<&str> {
    if is_procedure(text) {
        return heading(text);
    }
    let text = text.trim_start();
    let first = sentences(text).next()?;
    if !ROLES.begins_in(first, MOST_WORDS) || utf16_len(text) < SHORTEST {
        return None;
    }
    sentences(text).take(TOLD_WITHIN).find(|sentence| TASKS.begins_in(sentence, MOST_WORDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_told_by_its_task() {
        let steps = "- Read the next file and write down what it is for.\n".repeat(20);
        for (start, expected) in [
            ("You are an agent for shops. Your task is to write `SHOP.md`.", Some("Your task is to write `SHOP.md`.")),
            (
                "Du bist ein Agent. Deine Aufgabe ist es, die Seite zu prüfen.",
                Some("Deine Aufgabe ist es, die Seite zu prüfen."),
            ),
            ("你是一个助手。你的任务是检查页面。", Some("你的任务是检查页面。")),
            ("Your task is to write `SHOP.md`.", None),
            ("You are right. Add a menu.", None),
        ] {
            assert_eq!(task(&format!("{start}\n\n{steps}")), expected, "{start}");
            assert_eq!(task(start), None, "a person types as much");
        }
    }
}
