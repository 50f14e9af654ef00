//! Properties: what a person says that the product or the work must be like, without a word of wishing or forbidding.
//! `the names should be global`, `in the same format as the others`, `one file for each test`, `set the limit to 4`.
//!
//! The table of each language has the words. A clause that reports, asks or only says what is left to do is none.

use super::constraints::{clauses, gives_task};
use super::cues::is_guess;
use super::problems::is_problem;
use super::requests::WORK;
use super::statements::is_code;
use super::text::{WordList, has_piece, may_be_unspaced, normalised, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Beginnings of clauses that leave something out or as it is.
static EXCLUDING: WordList = word_list!("properties: excluding");
/// Words for removing, and words behind them that leave nothing of it.
static REMOVING: WordList = word_list!(SPACED, "properties: removing");
static ENTIRELY: WordList = word_list!(SPACED, "properties: entirely");
/// Orders to leave something, and words for leaving it as it is.
static LEAVING: WordList = word_list!(SPACED, "properties: leaving");
static INTACT: WordList = word_list!(SPACED, "properties: intact");
/// Phrases that compare with what exists.
static COMPARING: WordList = word_list!("properties: comparing");
/// Words with which something has to be, and the verbs behind them that say what it is like.
static MODAL: WordList = word_list!("properties: modal");
static VERBS: WordList = word_list!(SPACED, "properties: verbs");
/// Such words with which a sentence may begin.
static MODAL_FIRST: WordList = word_list!(SPACED, "properties: modal first");
/// Words behind such a verb that only say that something is to be done.
static EMPTY: WordList = word_list!(SPACED, "properties: empty");
/// Words with which a person wants something to be so, and what follows them.
static WANTING: WordList = word_list!(SPACED, "properties: wanting");
static TO_BE: WordList = word_list!(SPACED, "properties: to be");
/// Words for one of something, and words for each of another thing behind them.
static ONE: WordList = word_list!(SPACED, "properties: one");
static FOR_EACH: WordList = word_list!(SPACED, "properties: for each");
/// Words that bound or set an amount.
static AMOUNTS: WordList = word_list!("properties: amounts");
static SETTING: WordList = word_list!("properties: setting");
/// Words behind which it is said how something is.
static BUT: WordList = word_list!("properties: but");
/// Words before such a word: of the one who speaks, or of a clause that only says which things are meant.
static OF_SELF: WordList = word_list!(SPACED, "properties: of self");
/// Phrases for each time that something is done, and for the only case in which something is so.
static OCCASIONS: WordList = word_list!("properties: occasions");
static ONLY: WordList = word_list!("properties: only");
/// Words that deny something.
static NEGATIONS: WordList = word_list!(SPACED, "stated: negations");
/// Words that say what happens or happened.
static HAPPENING: WordList = word_list!(SPACED, "constraints: happening");
/// In languages without spaces between words, polite questions that ask for another way.
const ASKING_INSTEAD: &[&str] = listed!(UNSPACED, "properties: asking instead");
/// In these languages, phrases of guesses.
const GUESSES: &[&str] = listed!(UNSPACED, "constraints: no contrasts");

/// Longest sentence that is told as a whole, and longest clause, in UTF-16 units.
const LONGEST: usize = 160;
/// Shortest sentence, in bytes.
const SHORTEST: usize = 10;
/// Number of first characters that show the script of a sentence.
const OTHER_SCRIPT: usize = 40;
/// Most clauses of a sentence that are read.
const MOST_CLAUSES: usize = 24;
/// Most words between such a word and its verb.
const MOST_BETWEEN: usize = 3;
/// Most words between such a word and a negation.
const MOST_BEFORE_NEGATION: usize = 1;
/// Most words between one thing and each of another one.
const MOST_TO_EACH: usize = 4;

/// The properties that a sentence of a person states: the sentence, or its clauses with them if it is long.
pub(super) fn properties(sentence: &str) -> Vec<&str> {
    let sentence = sentence.trim_matches(['\u{b7}', '-', '*', ' ']);
    // The question says what the answer is about. The decision has both.
    if sentence.starts_with('\u{2192}') {
        return Vec::new();
    }
    if sentence.len() < SHORTEST || is_code(sentence) || is_of_log(sentence) || tells_something_else(sentence) {
        return Vec::new();
    }
    let mut told = clauses(sentence).take(MOST_CLAUSES).filter(|clause| is_property(clause)).peekable();
    let fits = |text: &&str| utf16_len(text) <= LONGEST;
    // A person's words may follow a pasted line in another script.
    let is_pasted = told.peek().is_some_and(|told| may_be_unspaced(told)) && begins_in_another_script(sentence);
    match fits(&sentence) && !is_pasted {
        true => told.peek().map(|_| sentence).into_iter().collect(),
        false => told.filter(fits).collect(),
    }
}

/// Whether a sentence or one of its clauses says what something must be like.
pub(crate) fn has_property(sentence: &str) -> bool {
    clauses(sentence).take(MOST_CLAUSES).any(is_property)
}

/// Whether a clause of a sentence leaves something out, or has all of it removed. That holds for later work, too.
pub(crate) fn excludes(sentence: &str) -> bool {
    clauses(sentence).take(MOST_CLAUSES).map(normalised).any(|words| is_left_out(&words))
}

fn is_left_out(words: &str) -> bool {
    EXCLUDING.starts(words) || REMOVING.starts(words) && ENTIRELY.is_in(words)
}

fn begins_in_another_script(sentence: &str) -> bool {
    sentence.chars().take(OTHER_SCRIPT).all(|one| one.is_ascii())
}

/// Whether a line begins as one of a log does: `INFO:main: started`.
fn is_of_log(sentence: &str) -> bool {
    let first = sentence.split_whitespace().next().unwrap_or_default();
    let level = first.split([':', ']']).next().unwrap_or_default().trim_start_matches('[');
    level.len() < first.len() && level.len() > 2 && level.bytes().all(|byte| byte.is_ascii_uppercase())
}

/// Whether a sentence reports a problem, asks, or says how something is beside how it should be.
fn tells_something_else(sentence: &str) -> bool {
    let end = sentence.trim_end_matches(['.', '!', ' ', '"']);
    let asks = end.ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}']) && !has_piece(sentence, ASKING_INSTEAD);
    asks || tells_how_it_is(sentence) || has_piece(sentence, GUESSES)
}

/// Whether a word such as `but` stands in a sentence. Right behind a word such as `should`, it only joins two wishes.
fn tells_how_it_is(sentence: &str) -> bool {
    let words = normalised(sentence);
    let is_joint = |at: usize| words[..at].split_whitespace().next_back().is_some_and(|before| MODAL.has(before));
    BUT.found_in(&words).any(|(at, _)| !is_joint(at)) || has_piece(sentence, BUT.pieces)
}

/// Whether a clause of a person says what something must be like.
fn is_property(clause: &str) -> bool {
    let words = normalised(clause);
    let is_told = is_left_out(&words)
        || LEAVING.starts(&words) && INTACT.is_in(&words)
        || must_be(&words)
        || must_not(&words)
        || holds_for_occasions(clause, &words)
        || is_wanted(&words)
        || is_one_for_each(&words) && !gives_task(clause) && !WORK.starts(&words)
        || is_compared(clause, &words)
        || sets_amount(clause, &words)
        || says_in_script(clause);
    is_told && !is_guess(&words) && !is_problem(clause)
}

/// Whether a word such as `must` stands before a verb that says what something is like.
fn must_be(words: &str) -> bool {
    MODAL.found_in(words).any(|(at, modal)| {
        let before = words[..at].split_whitespace().next_back().unwrap_or_default();
        let behind: Vec<&str> = words[at + modal.len()..].split_whitespace().collect();
        let verb = behind.iter().take(MOST_BETWEEN + 1).position(|word| VERBS.has(word));
        let is_last = || behind.len() > 1 && behind.last().is_some_and(|last| VERBS.has(last));
        let says = verb.is_some_and(|verb| behind.get(verb + 1).is_some_and(|next| !EMPTY.has(next)));
        let is_first = before.is_empty() && MODAL_FIRST.has(modal);
        (is_first || !before.is_empty()) && !OF_SELF.has(before) && (says || is_last())
    })
}

/// Whether a word such as `should` stands before a negation: `the text should not leave its box`.
fn must_not(words: &str) -> bool {
    MODAL.found_in(words).any(|(at, modal)| {
        let before = words[..at].split_whitespace().next_back().unwrap_or_default();
        let mut behind = words[at + modal.len()..].split_whitespace();
        let is_denied = behind.by_ref().take(MOST_BEFORE_NEGATION + 1).any(|word| NEGATIONS.has(word));
        let mut is_empty = || behind.all(|word| EMPTY.has(word) || HAPPENING.has(word));
        !before.is_empty() && !OF_SELF.has(before) && is_denied && !is_empty()
    })
}

/// Whether a clause says what holds each time, or the only case in which something is so: `before each commit`, `only when
/// there is a picture`. What happens then is a report.
fn holds_for_occasions(clause: &str, words: &str) -> bool {
    (OCCASIONS.is_said_in(clause, words) || ONLY.is_said_in(clause, words)) && !HAPPENING.is_said_in(clause, words)
}

/// Whether a person wants something to be so: `I want it to be small`.
fn is_wanted(words: &str) -> bool {
    WANTING.found_in(words).any(|(at, wanting)| {
        let behind = &words[at + wanting.len()..];
        TO_BE.found_in(behind).any(|(at, phrase)| {
            let next = behind[at + phrase.len()..].split_whitespace().next().unwrap_or_default();
            !next.is_empty() && !EMPTY.has(next)
        })
    })
}

/// Whether there is to be one of something for each of another thing.
fn is_one_for_each(words: &str) -> bool {
    ONE.found_in(words).any(|(at, one)| {
        let behind = &words[at + one.len()..];
        FOR_EACH.found_in(behind).any(|(at, _)| (1..=MOST_TO_EACH).contains(&behind[..at].split_whitespace().count()))
    })
}

/// Whether an order or a wish compares with what exists.
fn is_compared(clause: &str, words: &str) -> bool {
    COMPARING.is_said_in(clause, words) && orders(clause, words)
}

/// Whether an order or a wish bounds an amount, or sets one.
fn sets_amount(clause: &str, words: &str) -> bool {
    clause.contains(|one: char| one.is_ascii_digit())
        && (SETTING.is_said_in(clause, words) || AMOUNTS.is_said_in(clause, words) && orders(clause, words))
}

fn orders(clause: &str, words: &str) -> bool {
    WORK.starts(words) || WORK.begins(clause) || MODAL.is_said_in(clause, words) || WANTING.is_in(words)
}

/// The same in languages without spaces between words.
fn says_in_script(clause: &str) -> bool {
    !clause.is_ascii()
        && (has_piece(clause, EXCLUDING.pieces) || has_piece(clause, MODAL.pieces) || has_piece(clause, ASKING_INSTEAD))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_something_must_be_like_is_a_property() {
        for told in [
            "These too should be global and stand on the path",
            "it must support two printers",
            "Tiene que estar todo en azul",
            "Deve essere tutto in una pagina",
            "exclude the old menu",
            "I forgot the plugin, remove that entirely",
            "leave it alone",
            "leave my pages untouched and remove yours",
            "deja mis páginas intactas",
            "Write the pages using the same format as the others.",
            "set the number of workers to 4",
            "the tests with one file for each shop",
            "and I still want this to be printable at home",
            "Die Liste soll sortiert sein",
            "Der Export muss zwei Formate unterstützen",
            "die Seite soll so aussehen wie die anderen",
            "La page doit être bleue",
            "El informe debe ser corto",
            "y que haya un archivo para cada prueba",
            "quiero que la página sea azul",
            "Il titolo deve essere in alto",
            "un file per ogni cliente",
            "O título precisa ser azul",
            "Заголовок должен быть синим",
            "De titel moet blauw zijn",
            "I'd like to look at all changes before each commit",
            "Der Text soll aber nicht über den Rand hinausgehen",
            "The names should not leave the box of the card",
            "el botón debe verse solo cuando hay datos",
            "кнопка активна только когда есть картинка",
            "Les prix sont visibles seulement si la caisse est ouverte",
            "只有在登录后才显示菜单",
            "ログインしている場合のみ表示してください",
            "把线程数设置为8个",
            "这个变量可以换成常量吗",
            "出力は同じ形式にする必要がある",
            "제목은 파란색이어야 한다",
        ] {
            assert_eq!(properties(told), [told], "{told}");
        }
    }

    #[test]
    fn a_task_a_report_and_a_question_are_no_properties() {
        for told in [
            "add a menu",
            "it only happens when the page was open before",
            "this should not happen",
            "the menu appears only when I reload it",
            "it should work but it does not",
            "The list should be sorted, but it is not",
            "this should be fixed",
            "should it be blue?",
            "I should be able to log in",
            "it needs to be done today",
            "at least 3 tests fail",
            "it looks like the others",
            "Der Fehler muss behoben werden",
            "El error debe ser corregido",
            "这应该是缓存的问题",
            "你能解释一下吗",
            "remove the menu",
            "move the orders into one folder for each town",
            "list the pages that should be left out",
            "das muss es jetzt auch nicht sein",
            "should be 8ab3c1",
            "INFO:shop.reader:it must be the old format",
            "\u{2192} leave it alone",
        ] {
            assert!(properties(told).is_empty(), "{told}");
        }
    }

    #[test]
    fn of_a_long_sentence_the_clause_is_told() {
        let long = "please go through the pages of the shop and look at what is there and write down what you see for the people \
            who come later, exclude the old menu, and then tell me what you think about all of the pages of the shop";
        assert_eq!(properties(long), ["exclude the old menu"]);
    }
}
