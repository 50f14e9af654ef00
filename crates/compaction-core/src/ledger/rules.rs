//! Rules: messages of a person that only say how the work is to be done.

use super::constraints::{gives_task, is_constraint};
use super::problems::reported;
use super::statements::sentences;
use super::text::{WordList, first_words, has_piece, normalised, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Words of demands that hold for long, forbid, or refuse what was done.
static LASTING: WordList = word_list!(SPACED, "constraints: lasting");
const LASTING_UNSPACED: &[&str] = listed!(UNSPACED, "constraints: lasting");
static ANSWERS: WordList = word_list!(SPACED, "constraints: answers");
static FROM_NOW_ON: WordList = word_list!(SPACED, "constraints: from now on");
/// Words of reports that something is still so.
static PERSISTING: WordList = word_list!(SPACED, "closed requests: persisting");
/// Most UTF-16 units of a message that only sets rules, and the words among which each of its sentences says so.
const LONGEST_RULE: usize = 200;
const RULE_WORDS: usize = 4;

/// Whether a message of a person only sets rules or corrects how the work is done. It asks for nothing by itself: the
/// request before it goes on.
pub(crate) fn only_sets_rules(message: &str) -> bool {
    let persists = || PERSISTING.is_in(&normalised(message));
    if utf16_len(message) > LONGEST_RULE || persists() || reported(message).is_some() {
        return false;
    }
    let is_rule = |sentence: &str| {
        let words = first_words(sentence, RULE_WORDS);
        let says_so = LASTING.is_in(&words) || ANSWERS.is_in(&words) || FROM_NOW_ON.starts(&words);
        let is_wide = has_piece(sentence, LASTING_UNSPACED);
        is_constraint(sentence) && (says_so || is_wide) && !gives_task(sentence)
    };
    let mut all = sentences(message).peekable();
    all.peek().is_some() && all.all(is_rule)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_rules_alone_asks_for_nothing() {
        for rules in [
            "always use pnpm here",
            "Plus always use \"pnpm ...\", not \"npm\"!",
            "no, use tabs",
            "don't touch `vendor`. Never push to main.",
            "from now on write the notes in French",
            "Ab jetzt bitte alle Texte auf Deutsch.",
            "nein, keine Tabs verwenden",
            "Désormais écris les messages en anglais.",
            "Nunca modifiques el archivo `pagos.cfg`.",
            "Nunca altere o arquivo `folha.cfg`, por favor.",
            "D'ora in poi scrivi i commenti in inglese.",
            "Никогда не меняй этот файл.",
            "今后请用英文写注释。",
            "今後は英語で書いてください。",
            "앞으로 주석은 영어로 써 줘.",
        ] {
            assert!(only_sets_rules(rules), "{rules}");
        }
        for request in [
            "Make sure the tests pass",
            "add a menu, and never use tabs",
            "don't change the menu, fix the page",
            "always use pnpm here. Now port the parser.",
            "no, the export still never ends",
            "the title should be blue",
            "should we never use tabs?",
            "",
        ] {
            assert!(!only_sets_rules(request), "{request}");
        }
    }
}
