//! The words with which a sentence in each language demands something (`*.txt`), in lower case and without punctuation.
//! A new language is a new table in [`LANGUAGE_TABLES`] or [`SCRIPT_TABLES`].

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::ledger::terms::TextHashing;
use crate::ledger::text::{has_any, normalised, starts_with_any};
use crate::phrases::{Table, built};

/// Whether a part of a sentence is an order in one of `languages`.
pub(super) fn orders(sentence: &str, languages: Languages) -> bool {
    let begins = |part: &str, of: Languages| each_of(of).any(|language| starts_with_any(part, &language.starts));
    let is_order = |part: &str, of: Languages| each_of(of).any(|language| language.orders(part));
    sentence.split(';').any(|part| {
        let whole = Clause::of(part);
        let mut clauses = part.split(',').map(Clause::of);
        begins(whole.words(), languages & whole.languages)
            || each_of(languages & whole.languages).any(|language| language.enumerates(whole.words()))
            || match part.contains(',') {
                false => is_order(whole.words(), languages & whole.languages),
                true => clauses.any(|clause| is_order(clause.words(), languages & clause.languages)),
            }
    })
}

/// The tables of a set of languages.
fn each_of(languages: Languages) -> impl Iterator<Item = &'static Language> {
    LANGUAGES.iter().enumerate().filter(move |(index, _)| languages & 1 << index != 0).map(|(_, language)| language)
}

/// Polite words before an order, of all languages.
fn polite() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().flat_map(|language| language.polite.iter().copied())
}

/// A part of a sentence between marks.
struct Clause {
    /// The normalised text.
    text: String,
    /// Where it begins after polite words.
    start: usize,
    /// The languages in which it may be an order, by its first and last word.
    languages: Languages,
}

impl Clause {
    fn of(text: &str) -> Self {
        let mut text = normalised(text);
        if memchr::memchr(b'\'', text.as_bytes()).is_some() {
            // The elided form is one word with the verb.
            text = text.replace(" n'", " ne ");
        }
        let mut start = 0;
        let mut first = Roles::default();
        while let Some(word) = text[start..].split_whitespace().next() {
            first = roles(word);
            if !first.is_polite {
                break;
            }
            let rest = text[start..].trim_start();
            let behind = |polite: &str| rest.strip_prefix(polite).filter(|rest| rest.starts_with(' ')).map(str::len);
            let Some(left) = polite().find_map(behind) else { break };
            start = text.len() - left;
            first = Roles::default();
        }
        let last = text[start..].split_whitespace().next_back().map(roles).unwrap_or_default();
        Self { languages: first.begins | last.ends, text, start }
    }

    fn words(&self) -> &str {
        &self.text[self.start..]
    }
}

/// The tables of languages with spaces between words.
const LANGUAGE_TABLES: [Table; 12] = [
    built!("ledger/constraints/english.txt"),
    built!("ledger/constraints/german.txt"),
    built!("ledger/constraints/french.txt"),
    built!("ledger/constraints/spanish.txt"),
    built!("ledger/constraints/portuguese.txt"),
    built!("ledger/constraints/italian.txt"),
    built!("ledger/constraints/russian.txt"),
    built!("ledger/constraints/arabic.txt"),
    built!("ledger/constraints/dutch.txt"),
    built!("ledger/constraints/turkish.txt"),
    built!("ledger/constraints/vietnamese.txt"),
    built!("ledger/constraints/polish.txt"),
];

const _: () = assert!(LANGUAGE_TABLES.len() <= Languages::BITS as usize);

static LANGUAGES: LazyLock<[Language; 12]> = LazyLock::new(|| LANGUAGE_TABLES.map(|table| read(table, Language::list)));

/// The tables of languages without spaces between words, or with long endings. Cues are searched for as pieces of text.
const SCRIPT_TABLES: [Table; 3] = [
    built!("ledger/constraints/chinese.txt"),
    built!("ledger/constraints/japanese.txt"),
    built!("ledger/constraints/korean.txt"),
];

pub(super) static SCRIPTS: LazyLock<[Script; 3]> =
    LazyLock::new(|| SCRIPT_TABLES.map(|table| read(table, Script::list)));

type Words = Vec<&'static str>;

/// Words of a language that make a constraint.
#[derive(Debug, Default)]
struct Language {
    /// Polite words before an order.
    polite: Words,
    /// Words that make a constraint in any position.
    anywhere: Words,
    /// Words that make a constraint at the beginning of a sentence or after a semicolon.
    starts: Words,
    /// Verbs that are an order at the beginning of a clause, and words that make the order a limit.
    commands: Words,
    limits: Words,
    /// Verbs that are an order at the end of a clause, and words that make the clause a report.
    infinitives: Words,
    subjects: Words,
    /// Negations with the verb forms with which they forbid.
    negations: Vec<Negation>,
    /// Words of sentences that report and do not ask.
    reports: Words,
    /// Phrases that contain words of `anywhere` but only describe something, and demand nothing.
    described: Words,
}

/// A negation at the beginning of a clause, and the verbs that make it an order.
#[derive(Debug, Default)]
struct Negation {
    words: Words,
    /// Words before it, and between it and the verb, that are skipped.
    skipped: Words,
    between: Words,
    /// Beginnings of the verbs; if empty, any verb.
    stems: Words,
    endings: Words,
    except: Words,
}

/// The cues of a language without spaces.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// Pieces that make a sentence a constraint.
    cues: Words,
    /// Pieces that stress an order, and pieces that ask. One of each, in this order, makes a constraint.
    stresses: Words,
    requests: Words,
    /// Ends of constraints, without the full stop.
    ends: Words,
    /// Pieces of sentences that only report or ask.
    reports: Words,
}

/// The words of a table in its lists, by their names.
fn read<T: Default>(table: Table, list: for<'t> fn(&'t mut T, &str) -> Option<&'t mut Words>) -> T {
    let mut read = T::default();
    for one in table {
        if let Some(list) = list(&mut read, one.name) {
            list.extend(one.phrases);
        }
    }
    read
}

impl Language {
    /// The list with a name in the table. Lists of negations follow `[negation]`, which begins a new one.
    fn list(&mut self, name: &str) -> Option<&mut Words> {
        Some(match name {
            "polite" => &mut self.polite,
            "anywhere" => &mut self.anywhere,
            "starts" => &mut self.starts,
            "commands" => &mut self.commands,
            "limits" => &mut self.limits,
            "infinitives" => &mut self.infinitives,
            "subjects" => &mut self.subjects,
            "reports" => &mut self.reports,
            "described" => &mut self.described,
            "negation" => {
                self.negations.push(Negation::default());
                return self.negations.last_mut().map(|negation| &mut negation.words);
            }
            _ => return self.negations.last_mut().and_then(|negation| negation.list(name)),
        })
    }

    /// Whether the last word of a part of a sentence is an order and the first one limits it, whatever is between them:
    /// `hiçbir tablo, görünüm veya dizin ekleme`.
    fn enumerates(&self, part: &str) -> bool {
        self.ends_with_order(part) && starts_with_any(part, &self.limits)
    }

    fn ends_with_order(&self, part: &str) -> bool {
        let is_last = || part.split_whitespace().next_back().is_some_and(|last| self.infinitives.contains(&last));
        !self.infinitives.is_empty() && is_last() && !has_any(part, &self.subjects)
    }

    /// Whether a part of a sentence is an order with a limit.
    fn orders(&self, clause: &str) -> bool {
        let is_order = starts_with_any(clause, &self.commands) || self.ends_with_order(clause);
        is_order && has_any(clause, &self.limits) || self.negations.iter().any(|negation| negation.begins(clause))
    }
}

impl Negation {
    fn list(&mut self, name: &str) -> Option<&mut Words> {
        Some(match name {
            "skipped" => &mut self.skipped,
            "between" => &mut self.between,
            "stems" => &mut self.stems,
            "endings" => &mut self.endings,
            "except" => &mut self.except,
            _ => return None,
        })
    }

    /// Whether a clause begins with a negation and an imperative verb.
    fn begins(&self, clause: &str) -> bool {
        let mut words = clause.split_whitespace().skip_while(|word| self.skipped.contains(word));
        let is_first = words.next().is_some_and(|first| self.words.contains(&first));
        let verb = words.find(|word| !self.between.contains(word));
        is_first && verb.is_some_and(|verb| self.is_form(verb) && !self.except.contains(&verb))
    }

    fn is_form(&self, verb: &str) -> bool {
        let ends = |rest: &str| self.endings.contains(&rest);
        match self.stems.as_slice() {
            [] => self.endings.iter().any(|ending| verb.len() > ending.len() && verb.ends_with(ending)),
            stems => stems.iter().any(|stem| verb.strip_prefix(stem).is_some_and(ends)),
        }
    }
}

impl Script {
    fn list(&mut self, name: &str) -> Option<&mut Words> {
        Some(match name {
            "cues" => &mut self.cues,
            "stresses" => &mut self.stresses,
            "requests" => &mut self.requests,
            "ends" => &mut self.ends,
            "reports" => &mut self.reports,
            _ => return None,
        })
    }

    pub(super) fn asks(&self, sentence: &str) -> bool {
        let has = |pieces: &[&str]| pieces.iter().any(|piece| sentence.contains(piece));
        let text = sentence.trim_end_matches(|character: char| !character.is_alphanumeric());
        // A name in other letters may follow the full stop.
        let first = text.split_once(". ").map_or(text, |(first, _)| first);
        let ends = self.ends.iter().any(|end| text.ends_with(end) || first.ends_with(end));
        (has(&self.cues) || ends || self.stresses_a_request(sentence)) && !has(&self.reports)
    }

    fn stresses_a_request(&self, sentence: &str) -> bool {
        let behind = |stress: &&str| sentence.split_once(*stress).map(|(_, behind)| behind);
        let asks = |behind: &str| self.requests.iter().any(|request| behind.contains(request));
        self.stresses.iter().filter_map(behind).any(asks)
    }
}

/// A set of languages: one bit for each row of [`LANGUAGES`].
pub(super) type Languages = u16;

/// The languages in which a sentence demands or reports.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Signals {
    /// Languages in which it has words that make a constraint.
    pub(super) demands: Languages,
    /// Languages in which it has words that only report.
    pub(super) reports: Languages,
}

/// What a word can do at either end of a clause.
#[derive(Debug, Clone, Copy, Default)]
struct Roles {
    /// Languages in which an order may begin with it.
    begins: Languages,
    /// Languages in which an order may end with it.
    ends: Languages,
    /// Whether polite words begin with it.
    is_polite: bool,
}

/// A phrase of a language, and what it does.
struct Phrase {
    words: &'static str,
    language: usize,
    deed: Deed,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Demands,
    Reports,
    Describes,
}

type ByWord<T> = HashMap<&'static str, T, TextHashing>;

/// The phrases by their first word.
static PHRASES: LazyLock<ByWord<Vec<Phrase>>> = LazyLock::new(|| {
    let mut phrases: ByWord<Vec<Phrase>> = HashMap::default();
    for (language, table) in LANGUAGES.iter().enumerate() {
        let lists =
            [(&table.anywhere, Deed::Demands), (&table.reports, Deed::Reports), (&table.described, Deed::Describes)];
        for (list, deed) in lists {
            for words in list {
                phrases.entry(first_word(words)).or_default().push(Phrase { words, language, deed });
            }
        }
    }
    phrases
});

/// Builds the tables of all languages.
pub(in crate::ledger) fn build_tables() {
    LazyLock::force(&PHRASES);
    LazyLock::force(&ROLES);
}

static ROLES: LazyLock<ByWord<Roles>> = LazyLock::new(|| {
    let mut roles: ByWord<Roles> = HashMap::default();
    for (language, table) in LANGUAGES.iter().enumerate() {
        let negations = table.negations.iter().flat_map(|negation| negation.words.iter().chain(&negation.skipped));
        for words in table.starts.iter().chain(&table.commands).chain(negations) {
            roles.entry(first_word(words)).or_default().begins |= 1 << language;
        }
        for word in &table.infinitives {
            roles.entry(word).or_default().ends |= 1 << language;
        }
    }
    for words in polite() {
        roles.entry(first_word(words)).or_default().is_polite = true;
    }
    roles
});

fn first_word(words: &'static str) -> &'static str {
    words.split(' ').next().unwrap_or(words)
}

/// What a word can do at either end of a clause.
fn roles(word: &str) -> Roles {
    ROLES.get(word).copied().unwrap_or_default()
}

/// The languages in which `normalised` text demands or reports.
pub(super) fn signals(normalised: &str) -> Signals {
    let mut signals = Signals::default();
    let mut rest = normalised.trim_start();
    while let Some(end) = memchr::memchr(b' ', rest.as_bytes()) {
        let is_there = |phrase: &&Phrase| rest.strip_prefix(phrase.words).is_some_and(|behind| behind.starts_with(' '));
        let found = || PHRASES.get(&rest[..end]).into_iter().flatten().filter(is_there);
        // A longer phrase decides what the shorter one inside it means.
        let described = found().filter(|phrase| phrase.deed == Deed::Describes).map(|phrase| phrase.words.len()).max();
        let described = described.unwrap_or(0);
        for phrase in found().filter(|phrase| phrase.words.len() > described) {
            match phrase.deed {
                Deed::Demands => signals.demands |= 1 << phrase.language,
                Deed::Reports => signals.reports |= 1 << phrase.language,
                Deed::Describes => {}
            }
        }
        rest = &rest[described.max(end) + 1..];
    }
    signals
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phrases::List;

    #[test]
    fn cues_of_scripts_have_wide_characters() {
        for script in SCRIPTS.iter() {
            for cue in script.cues.iter().chain(&script.stresses).chain(&script.ends) {
                assert!(cue.bytes().any(|byte| byte >= 0xE3), "{cue}");
            }
        }
    }

    #[test]
    fn every_list_of_the_tables_is_known() {
        for table in LANGUAGE_TABLES {
            let mut language = Language::default();
            for List { name, .. } in table {
                assert!(language.list(name).is_some(), "{name}");
            }
        }
        for List { name, .. } in SCRIPT_TABLES.into_iter().flatten() {
            assert!(Script::default().list(name).is_some(), "{name}");
        }
    }
}
