//! The tables of the languages that part their words: lower-case, without punctuation. A new
//! language is a new row of [`LANGUAGES`], and lines in the table of tests.

mod english;
mod french;
mod german;
mod italian;
mod portuguese;
mod russian;
mod spanish;

use english::ENGLISH;
use french::FRENCH;
use german::GERMAN;
use italian::ITALIAN;
use portuguese::PORTUGUESE;
use russian::RUSSIAN;
use spanish::SPANISH;

/// Words by which a language tells a constraint.
#[derive(Debug)]
pub(super) struct Language {
    /// Words that make one, wherever they stand.
    pub(super) anywhere: &'static [&'static str],
    /// Words that make one where a sentence, or its part behind a semicolon, begins with them.
    pub(super) starts: &'static [&'static str],
    /// Verbs that ask for something where a clause begins with them, and what makes that a limit.
    pub(super) commands: &'static [&'static str],
    pub(super) limits: &'static [&'static str],
    /// Verbs that ask for something where a clause ends with them, and words with which it tells.
    pub(super) infinitives: &'static [&'static str],
    pub(super) subjects: &'static [&'static str],
    /// Words of denial with the forms of verbs by which they forbid.
    pub(super) negations: &'static [Negation],
    /// Words of sentences that report instead of asking for something.
    pub(super) reports: &'static [&'static str],
}

/// A word of denial at the beginning of a clause, and the verbs that make it an order.
#[derive(Debug)]
pub(super) struct Negation {
    pub(super) words: &'static [&'static str],
    /// Words before it, and between it and the verb, that change nothing.
    pub(super) skipped: &'static [&'static str],
    pub(super) between: &'static [&'static str],
    /// Beginnings of the verbs; without any, every verb is meant.
    pub(super) stems: &'static [&'static str],
    pub(super) endings: &'static [&'static str],
    pub(super) except: &'static [&'static str],
}

const NONE: Language = Language {
    anywhere: &[],
    starts: &[],
    commands: &[],
    limits: &[],
    infinitives: &[],
    subjects: &[],
    negations: &[],
    reports: &[],
};

pub(super) const LANGUAGES: [Language; 8] = [ENGLISH, GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, RUSSIAN, ARABIC];

/// What may stand before an order and takes nothing from it. English has its own rows.
pub(super) const POLITE: &[&str] = &[
    "bitte",
    "wichtig",
    "achtung",
    "und",
    "aber",
    "also",
    "außerdem",
    "regel",
    "s'il te plaît",
    "s'il vous plaît",
    "stp",
    "svp",
    "important",
    "attention",
    "et",
    "mais",
    "règle",
    "por favor",
    "importante",
    "atención",
    "atenção",
    "regla",
    "regra",
    "y",
    "e",
    "pero",
    "mas",
    "per favore",
    "ma",
    "regola",
    "пожалуйста",
    "важно",
    "внимание",
    "и",
    "но",
    "только",
    "من فضلك",
    "و",
];

const ARABIC: Language = Language {
    anywhere: &[
        "ممنوع",
        "يمنع",
        "يجب ألا",
        "يجب أن",
        "لا يجوز",
        "لا تحذف",
        "لا تعدل",
        "لا تعدّل",
        "لا تغير",
        "لا تغيّر",
        "لا تستخدم",
        "لا تلمس",
        "لا تضف",
        "لا تكتب",
        "لا تنشر",
        "لا تمس",
        "لا تقم",
        "تأكد من",
        "استخدم دائما",
        "استخدم دائمًا",
    ],
    reports: &["لماذا"],
    ..NONE
};
