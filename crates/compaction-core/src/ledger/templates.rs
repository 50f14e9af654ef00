//! Templates: long texts that a command of an agent sends in the name of a person. They say who the model is, what its
//! task is and how to do it in many steps.

use super::statements::sentences;
use super::text::{WordList, first_words, starts_with_piece, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Beginnings of such texts, which say who the model is.
static ROLES: WordList = word_list!(SPACED, "templates: roles");
const ROLES_UNSPACED: &[&str] = listed!(UNSPACED, "templates: roles");
/// Beginnings of the sentence with the task.
static TASKS: WordList = word_list!(SPACED, "templates: tasks");
const TASKS_UNSPACED: &[&str] = listed!(UNSPACED, "templates: tasks");
/// Most words of such beginnings.
const MOST_WORDS: usize = 5;
/// Fewest UTF-16 units of such a text, and the sentences among which the task stands.
const SHORTEST: usize = 800;
const TOLD_WITHIN: usize = 8;

/// The sentence with the task of a template; `None` for other texts.
pub(crate) fn task(text: &str) -> Option<&str> {
    let begins = |sentence: &str, spaced: &WordList<'_>, unspaced: &[&str]| {
        spaced.starts(&first_words(sentence, MOST_WORDS)) || starts_with_piece(sentence, unspaced)
    };
    let text = text.trim_start();
    let first = sentences(text).next()?;
    if !begins(first, &ROLES, ROLES_UNSPACED) || utf16_len(text) < SHORTEST {
        return None;
    }
    sentences(text).take(TOLD_WITHIN).find(|sentence| begins(sentence, &TASKS, TASKS_UNSPACED))
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
