//! Words that tell a decision from a sentence that only weighs or describes something.

use super::text::{has_any, starts_with_any};

/// Words of sentences that leave a choice open.
const UNDECIDED: &[&str] = &[
    "either",
    "whether",
    "undecided",
    "to be decided",
    "tbd",
    "confirm",
    "pending",
    "entweder",
    "offene",
    "soit",
    "à confirmer",
    "ya sea",
    "por confirmar",
    "seja",
    "a confirmar",
    "da confermare",
    "либо",
    "уточнить",
];
const UNDECIDED_UNSPACED: &[&str] = &["要么", "要麼", "是否", "待定", "未定", "検討"];
/// Words of sentences that advise, offer or suppose.
const ADVISING: &[&str] = &[
    "would",
    "could",
    "should",
    "might",
    "i'd",
    "you",
    "your",
    "recommend",
    "recommended",
    "suggest",
    "consider",
    "optional",
    "optionally",
    "if",
    "w\u{fc}rde",
    "w\u{fc}rden",
    "k\u{f6}nnte",
    "k\u{f6}nnten",
    "sollte",
    "sollten",
    "empfehle",
    "wenn",
    "falls",
    "pourrait",
    "pourrais",
    "devrait",
    "devriez",
    "recommande",
    "sugg\u{e8}re",
    "conseille",
    "podr\u{ed}a",
    "podr\u{ed}amos",
    "deber\u{ed}a",
    "recomiendo",
    "sugiero",
    "poderia",
    "poder\u{ed}amos",
    "deveria",
    "recomendo",
    "sugiro",
    "potrebbe",
    "dovrebbe",
    "consiglio",
    "можно",
    "следует",
    "рекомендую",
    "советую",
    "если",
];
const ADVISING_UNSPACED: &[&str] =
    &["建议", "建議", "推荐", "推薦", "如果", "おすすめ", "お勧め", "推奨", "かもしれ", "といい", "べき", "추천"];
/// Words for the one who decides, and verb forms that name them.
const AGENTS: &[&str] = &[
    "i",
    "we",
    "i'll",
    "we'll",
    "i've",
    "we've",
    "i'm",
    "we're",
    "let's",
    "let me",
    "ich",
    "wir",
    "je",
    "j'ai",
    "j'utilise",
    "nous",
    "on utilise",
    "on garde",
    "on prend",
    "on passe",
    "on va",
    "uso",
    "usamos",
    "usar\u{e9}",
    "usaremos",
    "utilizo",
    "utilizamos",
    "voy",
    "vamos",
    "us\u{e9}",
    "usei",
    "usarei",
    "utilizei",
    "vou",
    "usiamo",
    "user\u{f2}",
    "ho usato",
    "ho scelto",
    "ho tenuto",
    "abbiamo",
    "я",
    "мы",
];
/// Verbs that begin a sentence about what was chosen.
const CHOSEN: &[&str] = &["use", "using", "used", "keep", "keeping", "kept", "switched", "replaced", "went with"];

/// Whether a sentence leaves open what it speaks of. `words` are its normalised words.
pub(super) fn is_undecided(sentence: &str, words: &str) -> bool {
    has_any(words, UNDECIDED) || !sentence.is_ascii() && UNDECIDED_UNSPACED.iter().any(|piece| sentence.contains(piece))
}

/// Whether a sentence only advises or offers.
pub(super) fn is_advice(sentence: &str, words: &str) -> bool {
    has_any(words, ADVISING) || !sentence.is_ascii() && ADVISING_UNSPACED.iter().any(|piece| sentence.contains(piece))
}

/// Whether somebody who decides is named, or the sentence begins with what was done. Others describe.
pub(super) fn has_agent(words: &str) -> bool {
    has_any(words, AGENTS) || starts_with_any(words, CHOSEN)
}
