//! Contrasts: sentences that say how something is to be in contrast to another way: `now returns rows instead of a page`.
//! In a report of work that was kept, and in an order that was carried out, such a sentence tells a choice.

use std::sync::LazyLock;

use super::choices::stems;
use super::constraints::{begins_with_use, clauses, gives_task};
use super::cues::{is_guess, is_substantive};
use super::deciding::{is_advice, is_undecided};
use super::faults::tells_fault;
use super::finder::Phrases;
use super::problems::is_problem;
use super::requests::WORK;
use super::retractions::admits;
use super::text::{WordList, has_piece, normalised, quoted, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Words before an alternative that was not chosen.
static ALTERNATIVES: WordList = word_list!("stated: alternatives");
/// The same without the alternative, in an order.
static INSTEAD: WordList = word_list!("contrasts: instead");
/// Words for what holds if nothing else is said.
static DEFAULTS: WordList = word_list!("contrasts: by default");
/// First words of reports that something took the place of another thing.
static REPLACING: WordList = word_list!("contrasts: replacing");
/// Words for what was made and how it is now. Other sentences explain how something works, or what was wrong.
static MADE: WordList = word_list!("contrasts: made");
/// First words of sentences that think aloud.
static THINKING: WordList = word_list!("contrasts: thinking");
/// Words for going back to what was before.
static REVERTING: WordList = word_list!("contrasts: reverting");
/// First words of conditions.
static CONDITIONS: WordList = word_list!(SPACED, "stated: conditions");
/// First words of questions that ask for something.
static ASKING: WordList = word_list!(SPACED, "rules: asking");
/// First words of other questions.
static QUESTIONS: WordList = word_list!(SPACED, "stated: asking");
/// Words that order or want something.
static MODAL: WordList = word_list!("properties: modal");
static WANTING: WordList = word_list!(SPACED, "properties: wanting");
/// Words of an apology.
static SORRY: WordList = word_list!("corrections: sorry");

/// Finds a part of each phrase. Most sentences have none.
static MARKS: LazyLock<Phrases> = LazyLock::new(|| {
    let lists = [&ALTERNATIVES, &DEFAULTS, &REPLACING];
    Phrases::of(lists.iter().flat_map(|list| list.words.iter().chain(list.pieces)).copied())
});

/// Shortest and longest sentence that is read, in UTF-16 units.
const READ: std::ops::RangeInclusive<usize> = 10..=360;
/// Longest order, in UTF-16 units.
const LONGEST_ORDER: usize = 240;
/// Most words of an order that gives no alternative.
const MOST_WORDS: usize = 30;
/// Fewest common words of two sentences about the same thing.
const FEWEST_SHARED: usize = 2;

/// Whether a sentence of a final report says what was chosen, in contrast to something else.
pub(crate) fn tells_contrast(sentence: &str) -> bool {
    if !is_readable(sentence) || !MARKS.is_in(sentence) {
        return false;
    }
    let words = normalised(sentence);
    let contrasts = || ALTERNATIVES.is_said_in(sentence, &words) || DEFAULTS.is_said_in(sentence, &words);
    let is_told = REPLACING.begins(sentence) || contrasts() && MADE.is_said_in(sentence, &words);
    let is_open = || is_open(sentence, &words) || is_advice(sentence, &words) || THINKING.begins(sentence);
    is_told && !is_open() && !admits(sentence) && !is_problem(sentence)
}

/// The part of a commit's subject that says so: `feat(store): keep rows instead of pages`.
pub(crate) fn contrast_of_commit(subject: &str) -> Option<&str> {
    let own = subject.split_once(": ").filter(|(kind, _)| !kind.contains(' ')).map_or(subject, |(_, own)| own);
    if !is_readable(own) || !MARKS.is_in(own) {
        return None;
    }
    let words = normalised(own);
    let is_told = ALTERNATIVES.is_said_in(own, &words) || DEFAULTS.is_said_in(own, &words) || REPLACING.begins(own);
    is_told.then_some(own)
}

/// Whether a sentence of a person orders one way and not another one, or takes back an order of their own.
pub(crate) fn orders_contrast(sentence: &str) -> bool {
    if !READ.contains(&utf16_len(sentence)) || utf16_len(sentence) > LONGEST_ORDER || sentence.ends_with(':') {
        return false;
    }
    let words = normalised(sentence);
    let has = |list: &WordList<'_>| list.is_said_in(sentence, &words);
    let is_short = || words.split_whitespace().count() <= MOST_WORDS;
    let contrasts = has(&ALTERNATIVES) || is_short() && (has(&INSTEAD) || has(&DEFAULTS));
    let is_told = contrasts && orders(sentence, &words) || is_short() && takes_back(sentence);
    is_told
        && !is_bare_question(sentence)
        && !is_open(sentence, &words)
        && !tells_fault(sentence)
        && !is_problem(sentence)
}

/// Whether a sentence orders or wants something. Others tell how something is.
fn orders(sentence: &str, words: &str) -> bool {
    let begins = |clause: &str| WORK.begins(clause) || begins_with_use(clause) || ASKING.starts(&normalised(clause));
    gives_task(sentence)
        || clauses(sentence).any(begins)
        || MODAL.is_said_in(sentence, words)
        || WANTING.is_in(words)
        || has_piece(sentence, INSTEAD.pieces)
}

/// Whether a person says in one clause that they were wrong, and in another one how it should be.
fn takes_back(sentence: &str) -> bool {
    let is_sorry = |clause: &str| SORRY.is_said(clause);
    clauses(sentence).any(is_sorry) && clauses(sentence).any(|clause| !is_sorry(clause) && is_substantive(clause))
}

/// Whether a sentence asks and does not ask for work.
fn is_bare_question(sentence: &str) -> bool {
    let asks = |clause: &str| ASKING.starts(&normalised(clause));
    sentence.ends_with(['?', '\u{ff1f}']) && !clauses(sentence).any(asks)
        || QUESTIONS.starts(&normalised(sentence)) && !asks(sentence)
}

/// Whether nothing is decided yet.
fn is_open(sentence: &str, words: &str) -> bool {
    CONDITIONS.starts(words) || is_guess(words) || is_undecided(sentence, words)
}

fn is_readable(sentence: &str) -> bool {
    READ.contains(&utf16_len(sentence))
        && !sentence.ends_with([':', '?', '\u{ff1f}', '\u{ff1a}'])
        && !sentence.starts_with(['|', '#', '>'])
}

/// Whether a later choice decides what an earlier one decided otherwise.
pub(crate) fn overrules(later: &str, earlier: &str) -> bool {
    let words = normalised(later);
    let (new, old) = (stems(later), stems(earlier));
    let shared = new.iter().filter(|stem| old.contains(stem)).count();
    if takes_back(later) && shared > 0 {
        return true;
    }
    if REVERTING.is_said_in(later, &words) && shared >= FEWEST_SHARED {
        return true;
    }
    let are_defaults = || DEFAULTS.is_said_in(later, &words) && DEFAULTS.is_said(earlier);
    if shared > FEWEST_SHARED && shared * 2 >= new.len().min(old.len()) && are_defaults() {
        return true;
    }
    chooses_otherwise(later, earlier)
}

/// Whether a choice names what it rejects.
pub(crate) fn names_rejected(choice: &str) -> bool {
    rejected(choice).is_some()
}

/// Whether a later choice rejects what an earlier one took: `rows instead of pages`, and then `pages instead of rows`.
pub(crate) fn chooses_otherwise(later: &str, earlier: &str) -> bool {
    let Some(rejected) = rejected(later) else { return false };
    let chosen = before_rejected(earlier);
    match quoted(rejected).next() {
        Some(name) => chosen.contains(name),
        None => {
            let (rejected, chosen) = (stems(rejected), stems(chosen));
            rejected.len() >= FEWEST_SHARED && rejected.iter().all(|stem| chosen.contains(stem))
        }
    }
}

/// The part of a sentence about what was not chosen, up to the end of its clause.
fn rejected(sentence: &str) -> Option<&str> {
    if let Some((_, end)) = alternative_at(sentence) {
        return sentence[end..].split([',', ';', '(', '\u{ff0c}', '\u{3001}']).next();
    }
    // What was replaced is named first.
    let name = quoted(sentence).next().filter(|_| REPLACING.begins(sentence))?;
    let at = name.as_ptr() as usize - sentence.as_ptr() as usize;
    sentence.get(at.checked_sub(1)?..=at + name.len())
}

/// The part of a sentence before what was not chosen.
fn before_rejected(sentence: &str) -> &str {
    alternative_at(sentence).map_or(sentence, |(at, _)| &sentence[..at])
}

/// Where the words before what was not chosen begin and end.
fn alternative_at(sentence: &str) -> Option<(usize, usize)> {
    let lower = sentence.to_ascii_lowercase();
    let place = |phrase: &&str| lower.find(&format!(" {phrase} ")).map(|at| (at + 1, at + 1 + phrase.len()));
    // In languages without spaces, the alternative comes before such words or behind them.
    ALTERNATIVES.words.iter().filter_map(place).min().filter(|_| !has_piece(sentence, ALTERNATIVES.pieces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_tells_what_was_chosen() {
        for sentence in [
            "Reworked the import so that it now takes `POST` and returns rows instead of sending a redirect.",
            "The footer now uses `dim` rather than `muted`.",
            "Replaced the counter with a list of names.",
            "The menu is now closed by default.",
            "Das Menü ist jetzt standardmäßig geschlossen.",
            "Der Export schreibt jetzt Zeilen statt Seiten.",
            "Le menu est maintenant fermé par défaut.",
            "J'ai modifié l'export pour écrire des lignes au lieu de pages.",
            "Ahora el menú está cerrado por defecto.",
            "Implementé un filtro que te lleva a la lista en lugar de mostrar una página vacía.",
            "Agora o menu fica fechado por padrão.",
            "Ora il menu è chiuso per impostazione predefinita.",
            "Теперь экспорт пишет строки вместо страниц.",
            "De export schrijft nu rijen in plaats van pagina's.",
            "メニューはデフォルトで閉じるように変更しました。",
            "导出现在写入行，而不是页。",
            "이제 메뉴는 기본적으로 닫혀 있습니다.",
        ] {
            assert!(tells_contrast(sentence), "{sentence}");
        }
        for sentence in [
            "The call takes `rows` instead of `pages`.",
            "It failed because I used `GET` instead of `POST`.",
            "I'm now considering a list instead of a counter.",
            "I'm leaning towards a list now rather than a counter, to keep it simple.",
            "Estoy pensando en usar ahora una lista en vez de un contador.",
            "You could now use a list instead of a counter.",
            "Should the menu now be closed by default?",
            "If the file is missing, it now writes rows instead of pages.",
            "The menu is now closed.",
        ] {
            assert!(!tells_contrast(sentence), "{sentence}");
        }
    }

    #[test]
    fn the_subject_of_a_commit_tells_it_too() {
        for (subject, told) in [
            ("feat(store): keep rows instead of pages", Some("keep rows instead of pages")),
            (
                "Replaced `open_page()` with `open_rows()` in the tests",
                Some("Replaced `open_page()` with `open_rows()` in the tests"),
            ),
            ("fix: close the menu by default", Some("close the menu by default")),
            ("fix: the menu of the page", None),
        ] {
            assert_eq!(contrast_of_commit(subject), told, "{subject}");
        }
    }

    #[test]
    fn an_order_chooses_one_way() {
        for sentence in [
            "could you change it so that the export returns rows instead? That would be better.",
            "instead of a temporary file, can we use a pipe in the tests?",
            "The menu should be closed by default",
            "all of them are visible and only the hidden ones are marked, sorry, I mixed it up",
            "Que todos estén visibles y marcar los ocultos solamente, disculpa, me confundí",
            "Die Liste soll Zeilen statt Seiten zeigen",
            "la liste doit montrer des lignes au lieu de pages",
        ] {
            assert!(orders_contrast(sentence), "{sentence}");
        }
        for sentence in [
            "why does the export write pages instead of rows?",
            "the list has two rows instead of one",
            "aquí también hay una lista larga en vez de un filtro",
            "sorry, go on",
            "write the rows",
        ] {
            assert!(!orders_contrast(sentence), "{sentence}");
        }
    }

    #[test]
    fn a_later_choice_replaces_an_earlier_one() {
        for (later, earlier) in [
            ("Reverted it: all pupils are present by default now.", "Now all pupils are absent by default."),
            (
                "Replaced `open_pipe()` with `open_text()` in the tests",
                "The tests now use `open_pipe()` instead of a file.",
            ),
            ("The list now shows rows instead of large cards.", "The list now shows large cards instead of text."),
            ("mark the absent ones only, sorry, I mixed it up", "mark them as absent by default"),
        ] {
            assert!(overrules(later, earlier), "{later}");
        }
        for (later, earlier) in [
            ("The footer now uses `dim` instead of `muted`.", "The menu is now closed by default."),
            ("Replaced `open_pipe()` with `open_text()`", "The tests now use `run()` instead of `open_pipe()`."),
            ("The archive is now hidden by default.", "The menu is now closed by default."),
        ] {
            assert!(!overrules(later, earlier), "{later}");
        }
    }

    #[test]
    fn of_two_choices_between_the_same_things_the_later_one_holds() {
        let (rows, pages) = ("The user: use `rows` instead of `pages`", "The user: use `pages` rather than `rows`");
        assert!(chooses_otherwise(pages, rows) && chooses_otherwise(rows, pages));
        assert!(names_rejected(pages) && !names_rejected("The user: use `pages`"));
        assert!(!chooses_otherwise("The user: use `files` instead of `tables`", rows));
    }
}
