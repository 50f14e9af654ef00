//! Words with a role in withdrawals, one table per language (`*.txt`), in lower case and without punctuation. If
//! phrases overlap, the longest one counts. A new language is a new table in [`TABLES`].

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::terms::TextHashing;
use crate::phrases::{List, Table, built};

/// Defines [`Cue`], and the function that finds each cue by the name of its list in the tables.
macro_rules! cues {
    ($($(#[$doc:meta])* $cue:ident $(= $list:literal)?,)*) => {
        /// The role of a phrase in a sentence.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Cue {
            $($(#[$doc])* $cue,)*
        }

        /// The cue of the phrases in a list; `None` for words that are ignored.
        fn cue(list: &str) -> Option<Cue> {
            match list {
                $($($list => Some(Cue::$cue),)?)*
                _ => None,
            }
        }
    };
}

cues! {
    /// Verbs that choose something.
    Use = "use",
    /// Verbs that change something.
    Change = "change",
    /// Verbs that introduce something.
    Add = "add",
    /// It switches to something else.
    Switch = "switch",
    /// It replaces something with something else.
    Replace = "replace",
    /// The terms before it are replaced by those after it.
    Becomes = "becomes",
    /// It gives something up.
    Drop = "drop",
    /// It permits.
    Permit = "permit",
    /// It says that something is forbidden.
    Forbid = "forbid",
    /// It says that something applies.
    Hold = "hold",
    /// It says that something is needed.
    Need = "need",
    /// It negates.
    Not = "not",
    /// It negates only the terms after it, if there are any.
    LateNot,
    /// It says that something no longer applies.
    NoMore = "no more",
    /// It does so together with a negation.
    More = "more",
    /// Comes before the replaced terms; or after them.
    Instead = "instead",
    InsteadBefore = "instead before",
    /// Comes before a purpose or place; or after it.
    For = "for",
    ForBefore = "for before",
    /// The origin and the target of a change.
    From = "from",
    To = "to",
    /// It joins two things.
    And = "and",
    /// It adds something.
    Also = "also",
    /// A condition.
    Condition = "condition",
    /// It leaves out a part.
    Limit = "limit",
    /// What follows is a reason or a time.
    Tail = "tail",
    /// It refers to something named before.
    Pronoun = "pronoun",
}

/// A part of a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    Cue(Cue),
    Term(String),
    Break,
}

/// The tables of languages with spaces between words. If several languages match a sentence equally well, the first
/// one counts.
const TABLES: [Table; 6] = [
    built!("ledger/withdrawals/english.txt"),
    built!("ledger/withdrawals/german.txt"),
    built!("ledger/withdrawals/french.txt"),
    built!("ledger/withdrawals/spanish.txt"),
    built!("ledger/withdrawals/portuguese.txt"),
    built!("ledger/withdrawals/russian.txt"),
];
/// Tables of languages without spaces between words. Phrases are searched for as pieces of text.
const CHINESE_TABLE: Table = built!("ledger/withdrawals/chinese.txt");
const JAPANESE_TABLE: Table = built!("ledger/withdrawals/japanese.txt");

/// A prepared table, of a language without spaces or of all languages with spaces.
struct Phrases {
    /// Phrases by their first word; in scripts without spaces, by their first character.
    by_start: HashMap<&'static str, Vec<Phrase>, TextHashing>,
}

struct Phrase {
    words: Vec<&'static str>,
    cue: Option<Cue>,
    /// Its row in [`TABLES`].
    language: usize,
}

/// A language of a sentence.
#[derive(Clone, Copy)]
pub(super) enum Language {
    /// A row of [`TABLES`].
    Spaced(usize),
    Chinese,
    Japanese,
}

/// The words of a sentence, in lower case; `None` between clauses.
type Words<'a> = Vec<Option<Cow<'a, str>>>;

/// A sentence and its language.
pub(super) struct Sentence<'a> {
    text: &'a str,
    pub(super) language: Language,
    /// Empty in languages without spaces.
    words: Words<'a>,
}

static SPACED: LazyLock<Phrases> =
    LazyLock::new(|| Phrases::of(&TABLES, |phrase| phrase.split(' ').collect(), |words| words[0]));

/// Builds the table of languages with spaces between words, which is the largest.
pub(in super::super) fn build_tables() {
    LazyLock::force(&SPACED);
}

static CHINESE: LazyLock<Phrases> = LazyLock::new(|| Phrases::unspaced(CHINESE_TABLE));
static JAPANESE: LazyLock<Phrases> = LazyLock::new(|| Phrases::unspaced(JAPANESE_TABLE));

/// Marks between clauses.
const MARKS: &[char] = &[
    ',', ';', ':', '!', '?', '(', ')', '\u{2014}', '\u{2013}', '\u{2026}', '\u{3001}', '\u{3002}', '\u{ff0c}',
    '\u{ff1b}', '\u{ff1a}', '\u{ff01}', '\u{ff1f}', '\u{ff08}', '\u{ff09}',
];
/// Marks around words.
const QUOTES: &[char] = &[
    '`', '"', '\'', '*', '[', ']', '{', '}', '<', '>', '\u{ab}', '\u{bb}', '\u{201c}', '\u{201d}', '\u{201e}',
    '\u{2018}', '\u{300c}', '\u{300d}', '\u{bf}', '\u{a1}',
];
/// Words that lose their vowel before another.
const ELIDED: &[&str] = &["l'", "d'", "n'", "j'", "c'", "s'", "m'", "t'", "qu'"];

impl Language {
    /// Whether it has no spaces between words.
    pub(super) fn is_unspaced(self) -> bool {
        !matches!(self, Self::Spaced(_))
    }

    /// Whether its verbs come last.
    pub(super) fn is_verb_last(self) -> bool {
        matches!(self, Self::Japanese)
    }
}

impl<'a> Sentence<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let has = |low: char, high: char| text.chars().any(|character| (low..=high).contains(&character));
        // All characters of both scripts begin with such bytes.
        let is_wide = text.bytes().any(|byte| byte >= 0xE3);
        let language = match is_wide {
            true if has('\u{3040}', '\u{30ff}') => Language::Japanese,
            true if has('\u{4e00}', '\u{9fff}') => Language::Chinese,
            _ => {
                let words = spaced_words(text);
                return Self { text, language: Language::Spaced(SPACED.most_known(&words)), words };
            }
        };
        Self { text, language, words: Vec::new() }
    }

    /// Whether any word of the sentence may withdraw, permit or choose something.
    pub(super) fn may_act(&self) -> bool {
        let acts = |phrase: &Phrase| phrase.cue.is_some_and(Cue::acts);
        let mut words = self.words.iter().flatten();
        self.language.is_unspaced()
            || words.any(|word| SPACED.by_start.get(&**word).is_some_and(|phrases| phrases.iter().any(acts)))
    }

    /// The parts of the sentence.
    pub(super) fn parts(&self) -> Vec<Word> {
        match self.language {
            Language::Spaced(language) => SPACED.read(&self.words, language),
            Language::Chinese => CHINESE.read_script(self.text),
            Language::Japanese => JAPANESE.read_script(self.text),
        }
    }
}

impl Cue {
    /// Whether this cue can affect earlier sentences. A sentence without one cannot.
    fn acts(self) -> bool {
        use Cue::{Becomes, Drop, Instead, InsteadBefore, NoMore, Not, Permit, Replace, Switch, Use};
        let acting = [Use, Switch, Replace, Becomes, Drop, Permit, Not, NoMore, Instead, InsteadBefore];
        acting.contains(&self)
    }
}

impl Phrases {
    fn unspaced(table: Table) -> Self {
        let first = |phrase: &'static str| phrase.chars().next().map_or(0, char::len_utf8);
        Self::of(&[table], |phrase| vec![phrase], |words| &words[0][..first(words[0])])
    }

    fn of(
        tables: &[Table],
        words: fn(&'static str) -> Vec<&'static str>,
        start: impl Fn(&[&'static str]) -> &'static str,
    ) -> Self {
        let mut by_start: HashMap<&'static str, Vec<Phrase>, TextHashing> = HashMap::default();
        for (language, table) in tables.iter().enumerate() {
            for List { name, phrases, .. } in *table {
                for words in phrases.iter().copied().map(words) {
                    by_start.entry(start(&words)).or_default().push(Phrase { words, cue: cue(name), language });
                }
            }
        }
        for phrases in by_start.values_mut() {
            phrases
                .sort_by_key(|phrase| std::cmp::Reverse(phrase.words.iter().map(|word| word.len() + 1).sum::<usize>()));
        }
        Self { by_start }
    }

    /// The index of the language that knows most words; of several, the first.
    fn most_known(&self, words: &[Option<Cow<'_, str>>]) -> usize {
        let mut counts = [0; TABLES.len()];
        for at in 0..words.len() {
            let mut known = 0_u8;
            for phrase in words[at].as_deref().and_then(|first| self.by_start.get(first)).into_iter().flatten() {
                if known & 1 << phrase.language == 0 && phrase.begins(&words[at..]) {
                    known |= 1 << phrase.language;
                    counts[phrase.language] += 1;
                }
            }
        }
        let most = counts.iter().max().copied().unwrap_or(0);
        counts.iter().position(|count| *count == most).unwrap_or(0)
    }

    /// The longest phrase of a language that `words` begin with.
    fn phrase(&self, words: &[Option<Cow<'_, str>>], language: usize) -> Option<&Phrase> {
        let first = words.first()?.as_deref()?;
        self.by_start.get(first)?.iter().find(|phrase| phrase.language == language && phrase.begins(words))
    }

    fn read(&self, words: &[Option<Cow<'_, str>>], language: usize) -> Vec<Word> {
        let mut read = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let Some(word) = word else {
                read.push(Word::Break);
                at += 1;
                continue;
            };
            match self.phrase(&words[at..], language) {
                Some(phrase) => {
                    read.extend(phrase.cue.map(Word::Cue));
                    at += phrase.words.len();
                }
                None => {
                    read.push(Word::Term(word.clone().into_owned()));
                    at += 1;
                }
            }
        }
        read
    }

    fn read_script(&self, sentence: &str) -> Vec<Word> {
        let lower = sentence.to_lowercase();
        let mut read = Vec::new();
        let mut term = String::new();
        let mut rest = lower.as_str();
        while let Some(character) = rest.chars().next() {
            let known = self.by_start.get(character.encode_utf8(&mut [0; 4]) as &str);
            let known = known.and_then(|phrases| phrases.iter().find(|phrase| rest.starts_with(phrase.words[0])));
            let is_joined = term.is_empty() || term.is_ascii() == character.is_ascii();
            if let Some(phrase) = known {
                end_term(&mut term, &mut read);
                read.extend(phrase.cue.map(Word::Cue));
                rest = &rest[phrase.words[0].len()..];
                continue;
            }
            let is_mark = MARKS.contains(&character);
            if is_mark || !is_joined || character.is_whitespace() || QUOTES.contains(&character) {
                end_term(&mut term, &mut read);
            }
            if is_mark {
                read.push(Word::Break);
            } else if !character.is_whitespace() && !QUOTES.contains(&character) {
                term.push(character);
            }
            rest = &rest[character.len_utf8()..];
        }
        end_term(&mut term, &mut read);
        read
    }
}

impl Phrase {
    fn begins(&self, words: &[Option<Cow<'_, str>>]) -> bool {
        self.words.len() <= words.len() && self.words.iter().zip(words).all(|(own, word)| word.as_deref() == Some(*own))
    }
}

fn end_term(term: &mut String, read: &mut Vec<Word>) {
    let own = std::mem::take(term);
    let own = own.trim_end_matches(['.', '/']);
    if own.contains(char::is_alphanumeric) {
        read.push(Word::Term(own.to_owned()));
    }
}

fn spaced_words<'a>(sentence: &'a str) -> Words<'a> {
    let mut words = Vec::new();
    for part in sentence.split_whitespace() {
        let is_edge = |character: char| MARKS.contains(&character) || QUOTES.contains(&character);
        let bare = part.trim_start_matches(is_edge);
        if part.len() > bare.len() && part[..part.len() - bare.len()].contains(MARKS) || part == "-" {
            words.push(None);
        }
        let core = bare.trim_end_matches(|character| is_edge(character) || character == '.');
        let behind = &bare[core.len()..];
        let ends = behind.contains(|character| character == '.' || MARKS.contains(&character));
        let core = if core.len() > 1 { core.trim_end_matches('/') } else { core };
        let is_lower = core.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        let mut push = |word: Cow<'a, str>| {
            if word.contains(char::is_alphanumeric) {
                words.push(Some(word));
            }
        };
        if is_lower && !core.contains('\'') {
            push(Cow::Borrowed(core));
        } else {
            let word = core.to_lowercase().replace('\u{2019}', "'");
            let elided = ELIDED.iter().find(|elided| word.starts_with(**elided));
            let (before, word) = elided.map_or(("", word.as_str()), |elided| word.split_at(elided.len()));
            [before, word].into_iter().for_each(|word| push(Cow::Owned(word.to_owned())));
        }
        if ends {
            words.push(None);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_of_the_tables_has_a_role() {
        for List { name, .. } in TABLES.into_iter().chain([CHINESE_TABLE, JAPANESE_TABLE]).flatten() {
            assert!(cue(name).is_some() || *name == "fillers", "{name}");
        }
    }
}
