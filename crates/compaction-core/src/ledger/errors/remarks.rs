//! Remarks about errors: what a model calls expected or harmless.

use super::super::text::{WordList, may_be_unspaced, normalised};

/// Phrases about an error that was expected, that does no harm or that was there before, in languages with spaces
/// between words.
static EXCUSES: WordList<'static> = WordList::new(&[
    "as expected",
    "is expected",
    "are expected",
    "was expected",
    "were expected",
    "expected failure",
    "expected failures",
    "expected error",
    "expected to fail",
    "expected behavior",
    "expected behaviour",
    "as intended",
    "is intentional",
    "are intentional",
    "pre existing",
    "preexisting",
    "unrelated to",
    "not related to",
    "harmless",
    "can be ignored",
    "can ignore",
    "safe to ignore",
    "safely ignore",
    "false positive",
    "false alarm",
    "wie erwartet",
    "ist erwartet",
    "war zu erwarten",
    "wie beabsichtigt",
    "erwarteter fehler",
    "harmlos",
    "ignoriert werden",
    "bestand schon vorher",
    "hat nichts mit",
    "comme prévu",
    "comme attendu",
    "est attendu",
    "est attendue",
    "sont attendues",
    "c'est normal",
    "sans gravité",
    "peut être ignoré",
    "peut être ignorée",
    "préexistant",
    "préexistante",
    "sans rapport",
    "como se esperaba",
    "como era de esperar",
    "es esperado",
    "es lo esperado",
    "es normal",
    "se puede ignorar",
    "preexistente",
    "no está relacionado",
    "inofensivo",
    "como esperado",
    "era esperado",
    "é esperado",
    "é normal",
    "pode ser ignorado",
    "pré existente",
    "não está relacionado",
    "come previsto",
    "come atteso",
    "è previsto",
    "è normale",
    "si può ignorare",
    "può essere ignorato",
    "preesistente",
    "innocuo",
    "как и ожидалось",
    "как ожидалось",
    "это ожидаемо",
    "ожидаемая ошибка",
    "это нормально",
    "можно игнорировать",
    "не связано с",
    "не связана с",
    "не критично",
]);
/// The same in languages without.
const EXCUSES_UNSPACED: &[&str] = &[
    "符合预期",
    "如预期",
    "预期的",
    "预期内",
    "意料之中",
    "可以忽略",
    "可忽略",
    "想定通り",
    "想定どおり",
    "期待通り",
    "期待どおり",
    "予想通り",
    "想定内",
    "無視して",
    "無関係",
    "예상대로",
    "예상된",
    "무시해도",
    "무관",
];
/// Words of a negation.
const NEGATIONS: &[&str] = &[
    "not", "isn't", "wasn't", "doesn't", "don't", "didn't", "aren't", "never", "nicht", "kein", "pas", "no", "não",
    "non", "не",
];
/// Words for what works. What works as expected is no error.
const WORKING: &[&str] = &[
    "work",
    "works",
    "working",
    "worked",
    "pass",
    "passes",
    "behave",
    "behaves",
    "funktioniert",
    "klappt",
    "fonctionne",
    "marche",
    "funciona",
    "funziona",
    "работает",
];
/// Words behind which a sentence tells of something else.
const CONTRASTS: &[&str] = &[" but ", " however ", " aber ", " mais ", " pero ", " mas ", " ma ", " но "];
/// Words before a phrase among which a negation takes it back.
const NEGATED_WITHIN: usize = 4;

/// Whether a text calls an error expected or harmless.
pub(super) fn excuses(text: &str) -> bool {
    if may_be_unspaced(text) && EXCUSES_UNSPACED.iter().any(|phrase| text.contains(phrase)) {
        return true;
    }
    // Most texts have none of the phrases, and a sentence has none that the whole has not.
    EXCUSES.is_in(&normalised(text)) && text.split(['.', '!', '?', ';', '\n']).any(excuses_in_sentence)
}

fn excuses_in_sentence(sentence: &str) -> bool {
    let words = normalised(sentence);
    EXCUSES.words.iter().any(|phrase| {
        let mut places = words.match_indices(phrase);
        places.any(|(at, _)| {
            let before = &words[..at];
            let is_word = before.ends_with(' ') && words[at + phrase.len()..].starts_with(' ');
            let mut near = before.split_whitespace().rev().take(NEGATED_WITHIN);
            let after = &words[at + phrase.len()..];
            is_word
                && !near.any(|word| NEGATIONS.contains(&word) || WORKING.contains(&word))
                && !CONTRASTS.iter().any(|word| after.contains(word))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_expected_is_known_in_many_languages() {
        for text in [
            "The second call raises `KeyError`, which is expected for an empty store.",
            "Two lint warnings are pre-existing.",
            "Der Test bricht wie erwartet ab.",
            "L'échec est attendu à ce stade.",
            "El fallo es normal aquí.",
            "Тест падает, как и ожидалось.",
            "测试失败，符合预期。",
            "想定通り失敗しました。",
        ] {
            assert!(excuses(text), "{text}");
        }
        for text in [
            "It does not work as expected.",
            "TypeError: expected str",
            "Das lief nicht wie erwartet.",
            "It failed.",
            "Parsing works as expected now, but the build fails.",
            "One lint warning is pre-existing, but the new test fails.",
        ] {
            assert!(!excuses(text), "{text}");
        }
    }
}
