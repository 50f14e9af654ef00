//! Faults: sentences of a person that say what is wrong or what went wrong, and lines of an output. They demand and
//! decide nothing, even where they have a word of a demand: `I deleted rows that I shouldn't have`.

use super::constraints::{LASTING, clauses, holds_for_good};
use super::errors::is_place;
use super::text::{WordList, has_piece, normalised, word_list};
use crate::phrases::SPACED;

/// Phrases with which a person tells a mistake.
static MISTAKES: WordList = word_list!("faults: mistakes");
/// Phrases that say that there is a problem.
static EXISTING: WordList = word_list!("faults: problems");
/// Words for what a thing is or does, words before the thing, and words that make the clause a wish.
static STATING: WordList = word_list!(SPACED, "faults: stating");
static THINGS: WordList = word_list!(SPACED, "faults: things");
static WISHING: WordList = word_list!(SPACED, "faults: wishing");
/// Words before what should be there.
static INSTEAD: WordList = word_list!(SPACED, "faults: instead");

/// First words of the lines with which programs report.
const LEVELS: [&str; 6] = ["error:", "errors:", "fatal:", "warning:", "exception:", "panic:"];
/// Most words of a line that are read.
const MOST_WORDS: usize = 40;

/// Whether a sentence of a person only says what is wrong or what went wrong, or is a line of an output.
pub(super) fn tells_fault(sentence: &str) -> bool {
    if is_output(sentence) {
        return true;
    }
    if has_piece(sentence, MISTAKES.pieces) || has_piece(sentence, EXISTING.pieces) {
        return !has_piece(sentence, LASTING.pieces) || ends_with_problem(sentence);
    }
    let words = normalised(sentence);
    let is_told = MISTAKES.is_in(&words) || EXISTING.is_in(&words) || describes(sentence);
    is_told && !holds_for_good(sentence)
}

/// Whether the last words of a sentence in a language without spaces are such a phrase.
fn ends_with_problem(sentence: &str) -> bool {
    let end = sentence.trim_end_matches(|one: char| !one.is_alphanumeric());
    EXISTING.pieces.iter().any(|piece| end.ends_with(piece))
}

/// Whether a line has the shape of an output: `build: 12: error: no such name`.
fn is_output(line: &str) -> bool {
    let mut before = "";
    for word in line.split_whitespace().take(MOST_WORDS) {
        let is_level = LEVELS.contains(&word.to_lowercase().as_str());
        // `if you see an error: stop` is prose.
        let is_prose = before.chars().all(|one| one.is_alphabetic() && one < '\u{2e80}') && !before.is_empty();
        if is_level && !is_prose {
            return true;
        }
        before = word;
    }
    is_place(line.split_whitespace().next().unwrap_or_default())
}

/// Whether a clause says how a thing is, and what should be there: `the list has two rows instead of one`.
fn describes(sentence: &str) -> bool {
    let clauses: Vec<String> = clauses(sentence).map(normalised).collect();
    let Some(at) = clauses.iter().position(|clause| INSTEAD.is_in(clause)) else { return false };
    // What should be there may stand behind a comma.
    let told = if INSTEAD.starts(&clauses[at]) { at.saturating_sub(1) } else { at };
    let clause = &clauses[told];
    let end = INSTEAD.found_in(clause).next().map_or(clause.len(), |(end, _)| end);
    THINGS.starts(clause)
        && STATING.is_in(&format!("{} ", &clause[..end]))
        && !clauses.iter().any(|one| WISHING.is_in(one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_and_what_a_program_prints_is_a_fault() {
        for told in [
            "I've made a mistake and removed pages i shouldn't have.",
            "i should not have merged that",
            "The date in the list has the icon below it, instead of beside it.",
            "The page shows all orders instead of the open ones",
            "Da habe ich einen Fehler gemacht und nicht gewartet.",
            "Die Seite zeigt alle Zeilen statt der offenen",
            "Je n'aurais pas dû supprimer la page",
            "La page affiche tout au lieu de la première ligne",
            "No debería haber borrado la tabla",
            "La página muestra todo en lugar de la primera fila",
            "Não devia ter apagado a tabela",
            "Non avrei dovuto cancellare la pagina",
            "Мне не стоило удалять таблицу",
            "Er is een probleem, het menu sluit niet",
            "ボタンを押しても何も起きない問題がある。",
            "메뉴가 닫히지 않는 문제가 있습니다",
            "shop: 12 行: local: 関数の中でのみ使用できます error: Recipe failed",
            "src/menu.rs:12:4: do not use this here",
        ] {
            assert!(tells_fault(told), "{told}");
        }
        for told in [
            "use the store instead of the cache",
            "The list should be sorted by name instead of by date",
            "The page must not have a menu",
            "If you see an error: stop and never retry",
            "I made a mistake, from now on always ask first",
            "The list shows the date, please show the name instead of it",
            "問題がある場合は必ず確認してください",
        ] {
            assert!(!tells_fault(told), "{told}");
        }
    }
}
