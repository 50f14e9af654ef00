//! Words with a role in withdrawals, one table for each language, in lower case and without
//! punctuation. If phrases overlap, the longest one counts.

mod scripts;
mod spaced;

use std::collections::HashMap;
use std::sync::LazyLock;

/// The role of a phrase in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cue {
    /// Verbs that choose something.
    Use,
    /// Verbs that change something.
    Change,
    /// Verbs that bring something in.
    Add,
    /// It changes to something else.
    Switch,
    /// It replaces something by something else.
    Replace,
    /// The terms before it are replaced by those after it.
    Becomes,
    /// It gives something up.
    Drop,
    /// It permits.
    Permit,
    /// It says that something is forbidden.
    Forbid,
    /// It says that something holds.
    Hold,
    /// It says that something is needed.
    Need,
    /// It negates.
    Not,
    /// It negates only the terms after it, if there are any.
    LateNot,
    /// It says that something no longer holds.
    NoMore,
    /// It says so together with a negation.
    More,
    /// Comes before the replaced terms; or after them.
    Instead,
    InsteadBefore,
    /// Comes before a purpose or place; or after it.
    For,
    ForBefore,
    /// The origin and the target of a change.
    From,
    To,
    /// It joins two things.
    And,
    /// It adds something.
    Also,
    /// A condition.
    Condition,
    /// It leaves out a part.
    Limit,
    /// What follows is a reason or a time.
    Tail,
    /// It refers to something named before.
    Pronoun,
}

/// A part of a sentence.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    Cue(Cue),
    Term(String),
    Break,
}

/// The phrases of a language.
pub(super) struct Table {
    cues: &'static [(Cue, &'static [&'static str])],
    /// Words without a meaning of their own.
    fillers: &'static [&'static str],
}

/// The prepared table of a language.
pub(super) struct Language {
    /// Phrases by their first word; in scripts without spaces, by their first character.
    phrases: HashMap<String, Vec<Phrase>>,
    /// Whether it has no spaces between words.
    pub(super) is_unspaced: bool,
    /// Whether its verbs come last.
    pub(super) is_verb_last: bool,
}

struct Phrase {
    words: Vec<&'static str>,
    cue: Option<Cue>,
}

static SPACED: LazyLock<Vec<Language>> = LazyLock::new(|| spaced::TABLES.iter().map(Language::spaced).collect());
static CHINESE: LazyLock<Language> = LazyLock::new(|| Language::unspaced(&scripts::CHINESE, false));
static JAPANESE: LazyLock<Language> = LazyLock::new(|| Language::unspaced(&scripts::JAPANESE, true));

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
    /// The language that knows most words of a sentence.
    pub(super) fn of(sentence: &str) -> &'static Self {
        let has = |low: char, high: char| sentence.chars().any(|character| (low..=high).contains(&character));
        if has('\u{3040}', '\u{30ff}') {
            return &JAPANESE;
        }
        if has('\u{4e00}', '\u{9fff}') {
            return &CHINESE;
        }
        let words = spaced_words(sentence);
        let known = |language: &Language| {
            let is_known = |at: usize| words[at].as_deref().is_some() && language.phrase(&words[at..]).is_some();
            (0..words.len()).filter(|at| is_known(*at)).count()
        };
        let counts = SPACED.iter().map(|language| (known(language), language));
        // Among equals, the first.
        let best = counts.reduce(|best, other| if other.0 > best.0 { other } else { best });
        best.map_or(&CHINESE, |(_, language)| language)
    }

    fn spaced(table: &Table) -> Self {
        let mut language = Self { phrases: HashMap::new(), is_unspaced: false, is_verb_last: false };
        language.fill(table, |phrase| phrase.split(' ').collect(), |words| words[0].to_owned());
        language
    }

    fn unspaced(table: &Table, is_verb_last: bool) -> Self {
        let mut language = Self { phrases: HashMap::new(), is_unspaced: true, is_verb_last };
        language.fill(table, |phrase| vec![phrase], |words| words[0].chars().take(1).collect());
        language
    }

    fn fill(
        &mut self,
        table: &Table,
        words: impl Fn(&'static str) -> Vec<&'static str>,
        key: impl Fn(&[&'static str]) -> String,
    ) {
        let cues = table.cues.iter().flat_map(|(cue, phrases)| phrases.iter().map(|phrase| (Some(*cue), *phrase)));
        for (cue, phrase) in cues.chain(table.fillers.iter().map(|phrase| (None, *phrase))) {
            let words = words(phrase);
            self.phrases.entry(key(&words)).or_default().push(Phrase { words, cue });
        }
        for phrases in self.phrases.values_mut() {
            phrases
                .sort_by_key(|phrase| std::cmp::Reverse(phrase.words.iter().map(|word| word.len() + 1).sum::<usize>()));
        }
    }

    /// The longest phrase with which `words` begin.
    fn phrase(&self, words: &[Option<String>]) -> Option<&Phrase> {
        let first = words.first()?.as_deref()?;
        let begins = |phrase: &&Phrase| {
            phrase.words.len() <= words.len()
                && phrase.words.iter().zip(words).all(|(own, word)| word.as_deref() == Some(*own))
        };
        self.phrases.get(first)?.iter().find(begins)
    }

    /// The parts of a sentence.
    pub(super) fn words(&self, sentence: &str) -> Vec<Word> {
        if self.is_unspaced { self.script_words(sentence) } else { self.read(&spaced_words(sentence)) }
    }

    fn read(&self, words: &[Option<String>]) -> Vec<Word> {
        let mut read = Vec::new();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            let Some(word) = word else {
                read.push(Word::Break);
                at += 1;
                continue;
            };
            match self.phrase(&words[at..]) {
                Some(phrase) => {
                    read.extend(phrase.cue.map(Word::Cue));
                    at += phrase.words.len();
                }
                None => {
                    read.push(Word::Term(word.clone()));
                    at += 1;
                }
            }
        }
        read
    }

    fn script_words(&self, sentence: &str) -> Vec<Word> {
        let lower = sentence.to_lowercase();
        let mut read = Vec::new();
        let mut term = String::new();
        let mut rest = lower.as_str();
        while let Some(character) = rest.chars().next() {
            let known = self.phrases.get(character.encode_utf8(&mut [0; 4]) as &str);
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

fn end_term(term: &mut String, read: &mut Vec<Word>) {
    let own = std::mem::take(term);
    let own = own.trim_end_matches(['.', '/']);
    if own.contains(char::is_alphanumeric) {
        read.push(Word::Term(own.to_owned()));
    }
}

/// The words of a sentence, in lower case; `None` between clauses.
fn spaced_words(sentence: &str) -> Vec<Option<String>> {
    let mut words = Vec::new();
    for part in sentence.split_whitespace() {
        let is_edge = |character: char| MARKS.contains(&character) || QUOTES.contains(&character);
        let bare = part.trim_start_matches(is_edge);
        if part[..part.len() - bare.len()].contains(MARKS) || part == "-" {
            words.push(None);
        }
        let core = bare.trim_end_matches(|character| is_edge(character) || character == '.');
        let ends = bare[core.len()..].contains(|character| character == '.' || MARKS.contains(&character));
        let core = if core.len() > 1 { core.trim_end_matches('/') } else { core };
        let word = core.to_lowercase().replace('\u{2019}', "'");
        let elided = ELIDED.iter().find(|elided| word.starts_with(**elided));
        let (before, word) = elided.map_or(("", word.as_str()), |elided| word.split_at(elided.len()));
        words.extend(
            [before, word]
                .into_iter()
                .filter(|word| word.contains(char::is_alphanumeric))
                .map(|word| Some(word.to_owned())),
        );
        if ends {
            words.push(None);
        }
    }
    words
}
