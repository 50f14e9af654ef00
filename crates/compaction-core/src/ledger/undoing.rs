//! Undoing: messages in which a person orders to undo what was just done, or says that they undid it.

use super::problems::is_conditional;
use super::text::{WordList, normalised, starts_with_piece, word_list};
use crate::phrases::SPACED;
use crate::text::prefix_utf16;

/// Beginnings of clauses that order to undo what was just done.
static UNDO_ORDERS: WordList = word_list!("closed requests: undo orders");
/// Verbs that are such an order alone or before one of [`UNDONE_THINGS`].
static UNDO_VERBS: WordList = word_list!(SPACED, "closed requests: undo verbs");
static UNDONE_THINGS: WordList = word_list!(SPACED, "closed requests: undone things");
/// What a person says who undid all changes.
static UNDID: WordList = word_list!("closed requests: undid");
/// Verbs with which they say so, and the words for all changes behind them.
static UNDID_VERBS: WordList = word_list!(SPACED, "closed requests: undid verbs");
static UNDID_THINGS: WordList = word_list!(SPACED, "closed requests: undid things");
/// Words before such an order.
static UNDO_FILLERS: WordList = word_list!(SPACED, "rules: fillers");
/// Number of first clauses of a message that may be such an order.
const UNDO_WITHIN: usize = 3;
/// Leading UTF-16 units of a message that are searched.
const WITHIN: usize = 240;

/// Whether a message orders to undo what was just done: `revert that`. `Revert the colours of the page` asks for work.
pub(super) fn orders_undo(message: &str) -> bool {
    let start = prefix_utf16(message.trim_start(), WITHIN);
    let marks = [',', '.', '!', '?', ';', ':', '\n', '\u{2014}', '\u{ff0c}', '\u{3002}', '\u{3001}', '\u{ff01}'];
    let orders = |clause: &str| {
        let words = normalised(clause);
        let own = words.split_whitespace().skip_while(|word| UNDO_FILLERS.has(word)).collect::<Vec<_>>().join(" ");
        let own = format!(" {own} ");
        let verb = || UNDO_VERBS.found_in(&own).find(|(at, _)| *at <= 1).map(|(at, verb)| &own[at + verb.len()..]);
        let is_thing = |rest: &str| rest.trim().is_empty() || UNDONE_THINGS.starts(rest);
        starts_with_piece(clause.trim(), UNDO_ORDERS.pieces) || UNDO_ORDERS.starts(&own) || verb().is_some_and(is_thing)
    };
    let is_question = || message.trim_end().ends_with(['?', '\u{ff1f}']);
    start.split(marks).take(UNDO_WITHIN).any(orders) && !is_question()
}

/// Whether a person says in the first sentences of a message that they undid all that was changed: `I reverted everything`.
/// `I reverted it` may be about the last change alone.
pub(super) fn tells_undoing(message: &str) -> bool {
    let start = prefix_utf16(message.trim_start(), WITHIN);
    let marks = [',', '.', '!', '?', ';', ':', '\n', '\u{ff0c}', '\u{3002}', '\u{3001}', '\u{ff01}', '\u{ff1f}'];
    start.split_inclusive(marks).any(|clause| {
        let words = normalised(clause);
        let has_verb = || UNDID_VERBS.found_in(&words).any(|(at, verb)| UNDID_THINGS.starts(&words[at + verb.len()..]));
        !clause.ends_with(['?', '\u{ff1f}'])
            && (UNDID.is_said_in(clause, &words) || has_verb())
            && !is_conditional(clause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_to_undo_names_nothing_else() {
        for message in ["revert that", "ok, undo it please", "mach das rückgängig", "撤销", "roll it back, it crashes"]
        {
            assert!(orders_undo(message), "{message}");
        }
        for message in ["revert the colours of the page", "can you undo it?", "the undo of the editor is broken"] {
            assert!(!orders_undo(message), "{message}");
        }
    }

    #[test]
    fn a_person_tells_that_they_undid_everything() {
        for message in ["I reverted everything", "元に戻しました。別の方法でお願いします"] {
            assert!(tells_undoing(message), "{message}");
        }
        for message in
            ["I reverted it", "should I have reverted everything?", "if I reverted everything, it would start"]
        {
            assert!(!tells_undoing(message), "{message}");
        }
    }
}
