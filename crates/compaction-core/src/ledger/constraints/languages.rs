//! The tables of languages with spaces between words, in lower case and without punctuation. A new
//! language is a new row of [`LANGUAGES`], and lines in the table of tests.

use super::english::ENGLISH;
use super::french::FRENCH;
use super::german::GERMAN;
use super::italian::ITALIAN;
use super::portuguese::PORTUGUESE;
use super::russian::RUSSIAN;
use super::spanish::SPANISH;

/// Words of a language that make a constraint.
#[derive(Debug)]
pub(super) struct Language {
    /// Words that make one in any position.
    pub(super) anywhere: &'static [&'static str],
    /// Words that make one at the beginning of a sentence or after a semicolon.
    pub(super) starts: &'static [&'static str],
    /// Verbs that are an order at the beginning of a clause, and words that make the order a limit.
    pub(super) commands: &'static [&'static str],
    pub(super) limits: &'static [&'static str],
    /// Verbs that are an order at the end of a clause, and words that make the clause a report.
    pub(super) infinitives: &'static [&'static str],
    pub(super) subjects: &'static [&'static str],
    /// Negations with the verb forms with which they forbid.
    pub(super) negations: &'static [Negation],
    /// Words of sentences that report and do not ask.
    pub(super) reports: &'static [&'static str],
}

/// A negation at the beginning of a clause, and the verbs that make it an order.
#[derive(Debug)]
pub(super) struct Negation {
    pub(super) words: &'static [&'static str],
    /// Words before it, and between it and the verb, that are ignored.
    pub(super) skipped: &'static [&'static str],
    pub(super) between: &'static [&'static str],
    /// Beginnings of the verbs; if empty, any verb.
    pub(super) stems: &'static [&'static str],
    pub(super) endings: &'static [&'static str],
    pub(super) except: &'static [&'static str],
}

pub(super) const NONE: Language = Language {
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

/// Polite words before an order. English has its own rows.
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
