//! Problems that people and models report in words: what does not work, and what was not achieved.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::constraints::is_constraint;
use super::errors::{Worth, error_line, worth};
use super::statements::{is_prose, sentences};
use super::text::{clip, has_any, may_be_unspaced, normalised, one_line};
use crate::text::utf16_len;

/// UTF-16 units of a reported sentence and of a pasted error.
const LONGEST_SENTENCE: usize = 140;
const LONGEST_ERROR: usize = 120;
/// UTF-16 units of a sentence that says little by itself.
const SHORT_SENTENCE: usize = 32;
/// Most sentences of a message that are searched.
const MOST_SENTENCES: usize = 60;

/// Phrases that say that something does not work, in languages with spaces between words.
const PROBLEMS: &[&str] = &[
    "doesn't work",
    "does not work",
    "don't work",
    "do not work",
    "didn't work",
    "did not work",
    "not working",
    "isn't working",
    "no longer work",
    "no longer works",
    "no longer show",
    "no longer shows",
    "no longer load",
    "no longer loads",
    "no longer start",
    "no longer starts",
    "broken",
    "broke",
    "fails",
    "failed",
    "failing",
    "crashes",
    "crashed",
    "crashing",
    "still not",
    "still doesn't",
    "still don't",
    "still get",
    "still getting",
    "still see",
    "still have the",
    "still the same",
    "still wrong",
    "sound the same",
    "look the same",
    "looks the same",
    "sounds the same",
    "same error",
    "same problem",
    "same issue",
    "this error",
    "these errors",
    "an error when",
    "error when",
    "get an error",
    "got an error",
    "getting an error",
    "is wrong",
    "are wrong",
    "not correct",
    "isn't correct",
    "is incorrect",
    "no good",
    "hangs",
    "is stuck",
    "gets stuck",
    "doesn't show",
    "does not show",
    "don't show",
    "not showing",
    "doesn't load",
    "doesn't open",
    "doesn't start",
    "is missing",
    "are missing",
    "why am i not",
    "why do i not",
    "funktioniert nicht",
    "funktionieren nicht",
    "geht nicht",
    "gehen nicht",
    "klappt nicht",
    "läuft nicht",
    "startet nicht",
    "lädt nicht",
    "kaputt",
    "schlägt fehl",
    "schlagen fehl",
    "fehlgeschlagen",
    "stürzt ab",
    "immer noch nicht",
    "immer noch der",
    "immer noch die",
    "gleiche fehler",
    "gleichen fehler",
    "diesen fehler",
    "dieser fehler",
    "ist falsch",
    "stimmt nicht",
    "ne marche pas",
    "ne marche plus",
    "marche pas",
    "marche plus",
    "fonctionne pas",
    "fonctionnent pas",
    "fonctionne plus",
    "cassé",
    "cassée",
    "cassés",
    "cassées",
    "est hs",
    "sont hs",
    "en panne",
    "toujours pas",
    "toujours ce message",
    "toujours l'erreur",
    "toujours une erreur",
    "même erreur",
    "même problème",
    "cette erreur",
    "j'ai une erreur",
    "échoue",
    "échouent",
    "plante",
    "s'affiche pas",
    "s'affiche plus",
    "pourri",
    "mauvaise",
    "mauvaises",
    "pas bon",
    "pas bonne",
    "no funciona",
    "no se borra",
    "no se guarda",
    "no se muestra",
    "no se ve",
    "no se actualiza",
    "no se abre",
    "no se carga",
    "no aparece",
    "no hace nada",
    "no funcionan",
    "no funcionó",
    "no anda",
    "roto",
    "rota",
    "rotos",
    "rotas",
    "falla",
    "fallan",
    "falló",
    "sigue sin",
    "mismo error",
    "este error",
    "un error al",
    "da error",
    "no veo",
    "no aparece",
    "no aparecen",
    "no carga",
    "no se ve",
    "está mal",
    "não funciona",
    "não funcionam",
    "não funcionou",
    "não está funcionando",
    "quebrado",
    "quebrada",
    "quebrou",
    "falhou",
    "falhando",
    "mesmo erro",
    "este erro",
    "esse erro",
    "um erro no",
    "um erro na",
    "deu erro",
    "dá erro",
    "não aparece",
    "não carrega",
    "está errado",
    "non funziona",
    "non funzionano",
    "non va",
    "rotto",
    "rotta",
    "fallisce",
    "fallito",
    "stesso errore",
    "questo errore",
    "dà errore",
    "non si vede",
    "non appare",
    "è sbagliato",
    "не работает",
    "не работают",
    "не запускается",
    "не открывается",
    "не получилось",
    "не получается",
    "не помогло",
    "не появились",
    "не появляется",
    "не вижу",
    "сломался",
    "сломалась",
    "сломалось",
    "сломано",
    "падает",
    "упал",
    "та же ошибка",
    "эта ошибка",
    "вижу ошибку",
    "все еще нет",
    "всё ещё нет",
    "опять",
];
/// The same in languages without.
const PROBLEMS_UNSPACED: &[&str] = &[
    "不行",
    "报错",
    "出错",
    "一样的错误",
    "同样的错误",
    "失败",
    "不能用",
    "没有生效",
    "不生效",
    "有问题",
    "不对",
    "不工作",
    "坏了",
    "没反应",
    "卡在",
    "卡住",
    "还是一样",
    "不显示",
    "打不开",
    "启动不了",
    "動かない",
    "動きません",
    "動作しない",
    "エラーが",
    "エラーに",
    "失敗",
    "おかしい",
    "表示されない",
    "表示されません",
    "壊れ",
    "うまくいかない",
    "直っていない",
    "変わらない",
    "落ちる",
    "안 돼",
    "안돼",
    "안 됩니다",
    "작동하지",
    "동작하지",
    "에러가",
    "오류가",
    "실패",
    "깨졌",
    "표시되지",
    "여전히",
];
/// Phrases by which a model says that something is still open.
const UNSOLVED: &[&str] = &[
    "still fails",
    "still failing",
    "still fail",
    "still having",
    "still broken",
    "still not",
    "still getting",
    "remains unresolved",
    "remain unresolved",
    "remains open",
    "not resolved",
    "unresolved",
    "was unable to",
    "i couldn't verify",
    "i could not verify",
    "could not be resolved",
    "schlägt weiterhin fehl",
    "immer noch nicht",
    "ungelöst",
    "nicht gelöst",
    "échoue encore",
    "échoue toujours",
    "toujours pas",
    "n'ai pas pu",
    "non résolu",
    "sigue fallando",
    "todavía falla",
    "no he podido",
    "no pude",
    "sin resolver",
    "continua falhando",
    "ainda falha",
    "não consegui",
    "não resolvido",
    "fallisce ancora",
    "non sono riuscito",
    "irrisolto",
    "по прежнему",
    "всё ещё не",
    "все еще не",
    "не удалось",
    "не решено",
];
const UNSOLVED_UNSPACED: &[&str] = &[
    "仍然失败",
    "仍然报错",
    "仍未",
    "还是失败",
    "无法解决",
    "未解决",
    "まだ失敗",
    "未解決",
    "解決していません",
    "여전히 실패",
    "해결되지",
];
/// How servers and systems say that somebody may not do something. A person has to provide what is missing.
const DENIALS: &[&str] = &[
    "unauthorized",
    "403 forbidden",
    "invalid api key",
    "invalid token",
    "permission denied",
    "access denied",
    "authentication failed",
    "not authenticated",
    "token expired",
    "expired token",
    "bad credentials",
    "invalid credentials",
    "insufficient permissions",
    "quota exceeded",
];
/// First words of orders to build what deals with errors.
const ORDERS: &[&str] = &[
    "add",
    "show",
    "display",
    "print",
    "log",
    "return",
    "throw",
    "raise",
    "handle",
    "retry",
    "skip",
    "list",
    "create",
    "implement",
    "write",
    "make",
    "report",
    "zeige",
    "ajoute",
    "affiche",
    "muestra",
    "mostra",
    "adiciona",
    "добавь",
    "покажи",
];
/// Words that make what follows a condition, in the middle of a sentence or only at its beginning.
const CONDITIONS: &[&str] = &["if", "unless", "wenn", "falls", "если"];
const FIRST_CONDITIONS: &[&str] = &["si", "se", "caso", "quand", "when", "wenn", "if", "falls", "если"];
const CONDITIONS_UNSPACED: &[&str] = &["如果", "もし", "たら", "만약"];

/// Words behind which a past failure only says which thing is meant: `the test that failed`.
const RELATIVES: &[&str] = &[
    "that",
    "which",
    "that's",
    "who",
    "der",
    "die",
    "das",
    "den",
    "que",
    "qui",
    "che",
    "который",
    "которая",
    "которые",
    "что",
];
/// Words between such a word and the failure.
const AUXILIARIES: &[&str] =
    &["has", "have", "had", "just", "ist", "sind", "a", "ont", "ha", "han", "è", "sono", "tinha"];
/// Words for a past failure.
const FAILED_ONCE: &[&str] = &[
    "failed",
    "crashed",
    "broke",
    "fehlgeschlagen",
    "falló",
    "fallaron",
    "falhou",
    "falharam",
    "quebrou",
    "fallito",
    "fallita",
    "упал",
    "сломался",
];
/// The same in languages without spaces, with the sign that joins them to the thing that is meant.
const FAILED_ONCE_UNSPACED: &[&str] = &["失败的", "出错的", "报错的", "失敗した", "失敗している", "실패한"];

/// The words of at least [`FEWEST_PHRASES`] of [`PROBLEMS`]. Others may be about the thing that does not work.
static WORDS_OF_PROBLEMS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    PROBLEMS.iter().flat_map(|phrase| phrase.split(' ')).for_each(|word| *counts.entry(word).or_default() += 1);
    let forms = PROBLEMS.iter().filter(|phrase| !phrase.contains(' ')).copied();
    counts.iter().filter(|(_, count)| **count >= FEWEST_PHRASES).map(|(word, _)| *word).chain(forms).collect()
});
const FEWEST_PHRASES: usize = 2;

/// Whether a word in lower case is one with which problems are told.
pub(super) fn is_word_of_problem(word: &str) -> bool {
    WORDS_OF_PROBLEMS.contains(word)
}

/// What a person's message says does not work: the sentence, and the error that the message pastes.
pub(crate) fn reported(message: &str) -> Option<String> {
    let mut all = sentences(message).take(MOST_SENTENCES);
    let sentence = all.find(|sentence| is_problem(sentence)).map(|sentence| {
        // A short sentence says little without the one behind it.
        let next = all.next().filter(|next| utf16_len(sentence) < SHORT_SENTENCE && is_prose(next));
        let whole = next.map_or(one_line(sentence), |next| format!("{} {}", one_line(sentence), one_line(next)));
        clip(problem_part(&whole), LONGEST_SENTENCE)
    });
    let error = pasted_error(message);
    match (sentence, error) {
        (Some(sentence), Some(error)) if sentence.contains(&error) => Some(sentence),
        (Some(sentence), Some(error)) => Some(format!("{} ({error})", sentence.trim_end_matches([':', ' ']))),
        (sentence, error) => sentence.or(error),
    }
}

/// A long sentence up to the end of the clause with the problem. What follows is often an order.
fn problem_part(sentence: &str) -> &str {
    if utf16_len(sentence) <= LONGEST_SENTENCE {
        return sentence;
    }
    let mut end = 0;
    for clause in sentence.split_inclusive([',', ';', '\u{ff0c}', '\u{3001}']) {
        end += clause.len();
        if is_problem_of(clause) {
            return sentence[..end].trim_end_matches([',', ';', '\u{ff0c}', '\u{3001}', ' ']);
        }
    }
    sentence
}

/// Whether a sentence of a person says that something does not work.
fn is_problem(sentence: &str) -> bool {
    let is_said = |clause: &str| !is_constraint(clause.trim()) && is_problem_of(clause);
    is_prose(sentence) && sentence.split([',', ';', '\u{ff0c}', '\u{3001}']).any(is_said)
}

/// Whether a part of a sentence says so.
fn is_problem_of(sentence: &str) -> bool {
    if may_be_unspaced(sentence) && PROBLEMS_UNSPACED.iter().any(|phrase| sentence.contains(phrase)) {
        let is_named = FAILED_ONCE_UNSPACED.iter().any(|phrase| sentence.contains(phrase));
        return !is_named && !CONDITIONS_UNSPACED.iter().any(|word| sentence.contains(word));
    }
    let words = normalised(sentence);
    // In Russian, the last word says that something is not there.
    if words.ends_with(" нет ") && words.split_whitespace().count() > 1 {
        return true;
    }
    let first = words.split_whitespace().next().unwrap_or_default();
    !ORDERS.contains(&first) && says(&words, PROBLEMS)
}

/// Whether `normalised` text has one of `phrases` and no condition before it.
fn says(words: &str, phrases: &[&str]) -> bool {
    let first = words.split_whitespace().next().unwrap_or_default();
    if FIRST_CONDITIONS.contains(&first) {
        return false;
    }
    // Most texts have none of the phrases as words.
    has_any(words, phrases)
        && phrases.iter().any(|phrase| {
            let mut places = words.match_indices(phrase).map(|(at, _)| (&words[..at], &words[at + phrase.len()..]));
            places.any(|(before, after)| {
                let is_word = before.ends_with(' ') && after.starts_with(' ');
                is_word
                    && !before.split_whitespace().any(|word| CONDITIONS.contains(&word))
                    && !(FAILED_ONCE.contains(phrase) && is_relative(before))
            })
        })
}

/// Whether the words before a failure only say which thing is meant.
fn is_relative(before: &str) -> bool {
    let mut words = before.split_whitespace().rev().skip_while(|word| AUXILIARIES.contains(word));
    words.next().is_some_and(|word| RELATIVES.contains(&word))
}

/// The line that explains best what a message pastes, if that is an error.
pub(crate) fn pasted_error(message: &str) -> Option<String> {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    let pasted: Vec<&str> = lines.filter(|line| !is_prose(line) || worth(line) == Worth::Cause).collect();
    if !pasted.iter().any(|line| worth(line.trim_matches(['"', '\'', '`'])) == Worth::Cause) {
        return None;
    }
    let error = error_line(&pasted.join("\n"));
    Some(clip(&one_line(&error), LONGEST_ERROR))
}

/// Whether a sentence of a model says that a server or system denies something.
pub(crate) fn is_denied(sentence: &str) -> bool {
    says(&normalised(sentence), DENIALS)
}

/// Whether a sentence of a model says that something is not achieved.
pub(crate) fn is_unsolved(sentence: &str) -> bool {
    if may_be_unspaced(sentence) && UNSOLVED_UNSPACED.iter().any(|phrase| sentence.contains(phrase)) {
        return true;
    }
    says(&normalised(sentence), UNSOLVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_work_is_known_in_many_languages() {
        for message in [
            "The export button doesn't work on Safari",
            "der Import schlägt fehl seit gestern",
            "le formulaire est cassé",
            "la tabla no aparece en la página",
            "o relatório não carrega",
            "la ricerca non funziona",
            "таблиц нет",
            "после запуска сервер падает",
            "改了以后还是不行",
            "保存ボタンが動かない",
            "로그인이 작동하지 않아요",
        ] {
            assert_eq!(reported(message).as_deref(), Some(message));
        }
        for message in [
            "Add a test for the parser",
            "If the upload fails, try again later",
            "Never leave the build broken",
            "si falla, avísame",
            "add error handling to the loader",
            "Show an error when the list doesn't work",
            "run only the test that failed",
            "führe nur den Test aus, der fehlgeschlagen ist",
            "corrige el error y ejecuta solo la prueba que falló",
            "corrija e rode somente o teste que falhou",
            "只运行失败的测试",
            "失敗したテストだけ実行して",
            "ok, weiter",
        ] {
            assert_eq!(reported(message), None, "{message}");
        }
    }

    #[test]
    fn an_order_behind_a_problem_is_no_part_of_it() {
        let order = "fix that first, then write down what was done so far and go on with the list of files and the printer \
                     until both of them work on all systems";
        assert_eq!(reported(&format!("the tree is broken, {order}")).as_deref(), Some("the tree is broken"));
    }

    #[test]
    fn an_error_that_is_pasted_is_a_problem() {
        let message = "npm run dev\n> vite\nTypeError: store.open is not a function\n    at main (src/app.ts:3:7)";
        assert_eq!(reported(message).as_deref(), Some("TypeError: store.open is not a function"));
        assert_eq!(
            reported("now it hangs:\n\nError: timeout of 5000ms exceeded").as_deref(),
            Some("now it hangs: Error: timeout of 5000ms exceeded")
        );
    }

    #[test]
    fn what_a_model_could_not_do_is_known() {
        assert!(is_unsolved("The second test still fails on Windows."));
        assert!(is_denied("The server answers 401 Unauthorized."));
        assert!(!is_unsolved("The test failed because of a typo, which I fixed."));
        assert!(!is_unsolved("Nothing is left to do."));
    }
}
