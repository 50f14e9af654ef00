//! Bans that belong to one request: `only draft the plan, don't change anything`. Nothing says that they hold beyond it.

use super::constraints::{FORBIDDING, clauses, holds_for_good};
use super::rules::holds_from_now_on;
use super::text::{WordList, normalised, word_list};
use crate::phrases::SPACED;

/// Phrases that forbid any deed at all.
static ANY_DEED: WordList = word_list!("bans: any deed");
/// What may stand behind such a phrase without making it narrower.
static EVERYWHERE: WordList = word_list!(SPACED, "bans: everywhere");
/// Words that only point at what was named before.
static POINTING: WordList = word_list!(SPACED, "bans: pointing");
/// Words of a ban that holds under a condition.
static CONDITIONS: WordList = word_list!(SPACED, "bans: conditions");

/// First words of an order that limits the answer, and words for the answer behind them.
static ONLY: WordList = word_list!(SPACED, "bans: only");
static GIVING: WordList = word_list!(SPACED, "bans: giving");

/// Most words of an order that limits the answer.
const MOST_OF_ANSWER: usize = 14;

/// Whether a demand only says what the answer is to contain: `only the prompt, give me the exact text`.
pub(crate) fn limits_answer(demand: &str) -> bool {
    let words = normalised(demand);
    words.split_whitespace().count() <= MOST_OF_ANSWER
        && (ONLY.starts(&words) && GIVING.is_in(&words) || GIVING.starts(&words) && ONLY.is_in(&words))
        && is_unbounded(demand)
}

/// Most words of a clause that forbids something without naming it.
const MOST_WORDS: usize = 5;

/// Whether a demand forbids any deed at all, as one does while something is planned, and does not say for how long.
pub(crate) fn forbids_any_deed(demand: &str) -> bool {
    match ANY_DEED.pieces.iter().find(|piece| demand.contains(**piece)) {
        Some(piece) => is_unbounded(&demand.replacen(piece, "", 1)),
        None => is_unbounded(demand) && clauses(demand).any(is_any_deed),
    }
}

/// Whether a demand forbids something that it only points at: `sync them, just don't remove them`.
pub(crate) fn forbids_pointing(demand: &str) -> bool {
    is_unbounded(demand) && clauses(demand).last().is_some_and(points)
}

fn is_unbounded(demand: &str) -> bool {
    !holds_for_good(demand) && !holds_from_now_on(demand) && !CONDITIONS.is_in(&normalised(demand))
}

fn is_any_deed(clause: &str) -> bool {
    let words = normalised(clause);
    ANY_DEED.found_in(&words).any(|(at, phrase)| {
        let behind = &words[at + phrase.len()..];
        behind.trim().is_empty() || EVERYWHERE.starts(behind)
    })
}

fn points(clause: &str) -> bool {
    let words = normalised(clause);
    let count = words.split_whitespace().count();
    let is_pointing = || words.split_whitespace().any(|word| POINTING.has(word));
    (2..=MOST_WORDS).contains(&count) && FORBIDDING.is_in(&words) && is_pointing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_answer_is_to_contain_belongs_to_its_request() {
        for demand in [
            "only the prompt, give me the exact text",
            "just give me the command",
            "SOLO EL PROMPT, dame el texto exacto",
            "dame solo el comando",
            "nur den Befehl, bitte",
            "donne-moi seulement la liste",
            "me dê apenas o texto",
            "dammi solo il comando",
            "только код",
            "geef me alleen de lijst",
        ] {
            assert!(limits_answer(demand), "{demand}");
        }
        for demand in [
            "always give me only the command",
            "only use tabs",
            "give me the list of all files",
            "when it is done, tell me only yes",
        ] {
            assert!(!limits_answer(demand), "{demand}");
        }
    }

    #[test]
    fn a_ban_on_any_deed_belongs_to_its_request() {
        for demand in [
            "please write the plan but don't take any actions in the codebase.",
            "DO NOT try to execute anything",
            "only look at it, do not change anything yet",
            "Plane nur, noch nichts ändern",
            "propose un plan, ne modifie rien",
            "solo dime el plan, no cambies nada",
            "só me diga o plano, não altere nada",
            "dimmi il piano, non modificare niente",
            "составь план, ничего не меняй",
            "maak een plan, verander niets",
            "先给方案，不要修改任何代码",
            "計画だけ、まだ何も変更しないで",
            "계획만, 아무것도 변경하지 마",
        ] {
            assert!(forbids_any_deed(demand), "{demand}");
        }
        for demand in [
            "don't change anything in the menu",
            "never change anything",
            "don't change anything without asking me",
            "from now on do not run anything",
            "no cambies nada del menú",
        ] {
            assert!(!forbids_any_deed(demand), "{demand}");
        }
    }

    #[test]
    fn a_ban_that_only_points_belongs_to_its_request() {
        for demand in ["yes copy the pages, just don't delete them.", "don't touch it", "nicht diese"] {
            assert!(forbids_pointing(demand), "{demand}");
        }
        for demand in ["don't touch the menu", "never touch it", "don't delete them without a copy of all pages"] {
            assert!(!forbids_pointing(demand), "{demand}");
        }
    }
}
