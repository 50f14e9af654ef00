//! Questions: their terms, and the weights of the terms.
//!
//! Function words are ignored: articles, pronouns, prepositions, auxiliary verbs and interrogatives. Each language
//! has one list, in lower case.

use std::collections::{BTreeSet, HashMap};

use super::words::{Word, are_forms, fold, for_each_word, is_hiragana, key, singular};
use crate::phrases::FUNCTION_WORDS;

/// Maximum number of terms of a question; the first ones count.
const MAX_TERMS: usize = 128;
/// Bits of the hash that rules out most words of a text.
const SLOT_BITS: u32 = 15;

/// Minimum number of words of a sentence, or of character pairs in scripts without spaces.
const SENTENCE: usize = 3;

/// Weights of an identifier as a whole and of its parts.
const IDENTIFIER: f64 = 1.5;
const PART_OF_IDENTIFIER: f64 = 0.4;
/// Strength of an occurrence: a whole word, a part of an identifier, another form of the word.
const WHOLE: u8 = 100;
const PART: u8 = 60;
const FORM: u8 = 50;

/// A question, as case-insensitive terms.
#[derive(Debug, Clone)]
pub struct RecallQuery {
    /// The weight of each term.
    pub(super) weights: Vec<f64>,
    words: Vec<QueryWord>,
    /// For each hash of a key the index of its group, counted from 1; 0 if no word has it.
    slots: Vec<u16>,
    /// Words with the same hash of a key.
    groups: Vec<Vec<u16>>,
    pairs: HashMap<(char, Option<char>), u16>,
    /// Names in the question that may be files, each with its term.
    pub(super) files: Vec<(String, u16)>,
    /// The words that count, as written in the question.
    significant: Vec<String>,
    is_sentence: bool,
}

/// A word of the question.
#[derive(Debug, Clone)]
struct QueryWord {
    folded: String,
    singular: String,
    term: u16,
    /// The whole name that ends with the word, if only that name should match.
    name: Option<String>,
    may_inflect: bool,
}

/// An occurrence of a term in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Bytes before it in its text.
    pub(super) at: usize,
    pub(super) length: u16,
    pub(super) term: u16,
    /// Strength in hundredths.
    pub(super) strength: u8,
}

impl RecallQuery {
    /// Reads a question; `None` if it has no word. Quotes, brackets and punctuation around words are
    /// ignored, and so are function words if other words are left.
    pub fn parse(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().map(trimmed).filter(|word| !word.is_empty()).collect();
        let folded: Vec<String> = words.iter().map(|word| fold(word).replace('’', "'")).collect();
        let are_ignored = are_function_words(&folded.iter().map(String::as_str).collect::<Vec<_>>());
        let significant: Vec<&str> =
            words.iter().zip(are_ignored).filter(|(_, is_ignored)| !is_ignored).map(|(word, _)| *word).collect();
        let mut query = Self::empty();
        significant.iter().for_each(|word| query.add(word, true));
        let counted = if query.weights.is_empty() { &words } else { &significant };
        if query.weights.is_empty() {
            words.iter().for_each(|word| query.add(word, false));
        }
        query.significant = counted.iter().map(|word| (*word).to_owned()).collect();
        query.is_sentence = words.len() >= SENTENCE || query.pairs.len() >= SENTENCE;
        query.index();
        (!query.weights.is_empty()).then_some(query)
    }

    /// The words that count, as written in the question, without punctuation around them.
    pub fn significant_words(&self) -> impl Iterator<Item = &str> {
        self.significant.iter().map(String::as_str)
    }

    /// Whether it has three words or more.
    pub fn is_sentence(&self) -> bool {
        self.is_sentence
    }

    fn empty() -> Self {
        Self {
            weights: Vec::new(),
            words: Vec::new(),
            slots: vec![0; 1 << SLOT_BITS],
            groups: Vec::new(),
            pairs: HashMap::new(),
            files: Vec::new(),
            significant: Vec::new(),
            is_sentence: false,
        }
    }

    /// Adds a word of the question with its parts.
    fn add(&mut self, word: &str, skips_grammar: bool) {
        let (mut wholes, mut parts, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for_each_word(word, false, |_, found| match found {
            Word::Whole(whole) => wholes.push(whole),
            Word::Part(part) => parts.push(part),
            Word::Pair(first, second) => pairs.push((first, second)),
        });
        let is_name = word.chars().any(|character| {
            matches!(character, '.' | '/' | '\\' | ':' | '@' | '#' | '=' | '$') || character.is_ascii_digit()
        });
        let has_marks =
            word.chars().any(|character| !character.is_alphanumeric() && !matches!(character, '_' | '\'' | '’'));
        // `front-end` is a name and also two words.
        let part_weight = if is_name { PART_OF_IDENTIFIER } else { 1.0 };
        if has_marks && let Some(last) = wholes.last().filter(|_| pairs.is_empty()) {
            let term = self.add_word(last, Some(fold(word).into_owned()), if is_name { IDENTIFIER } else { 1.0 });
            self.record_file(word, term);
            wholes.iter().for_each(|whole| {
                self.add_word(whole, None, part_weight);
            });
        } else {
            for whole in wholes {
                let is_identifier = !parts.is_empty() || whole.bytes().any(|byte| byte.is_ascii_digit());
                let term = self.add_word(whole, None, if is_identifier { IDENTIFIER } else { 1.0 });
                self.record_file(whole, term);
            }
        }
        parts.iter().for_each(|part| {
            self.add_word(part, None, PART_OF_IDENTIFIER);
        });
        let is_grammar = |(first, second): &(char, Option<char>)| is_hiragana(*first) && second.is_none_or(is_hiragana);
        let has_content = pairs.iter().any(|pair| !is_grammar(pair));
        // A single character is a term only if its run has no other character.
        let alone = pairs.len() == 1;
        for pair in pairs.into_iter().filter(|pair| pair.1.is_some() || alone) {
            if !(skips_grammar && is_grammar(&pair) && (has_content || !self.weights.is_empty())) {
                self.add_pair(pair);
            }
        }
    }

    /// Returns the term of a word, creating it if needed.
    fn add_word(&mut self, word: &str, name: Option<String>, weight: f64) -> Option<u16> {
        let folded = fold(word).into_owned();
        let known =
            self.words.iter().find(|known| known.folded == folded && known.name == name).map(|known| known.term);
        let term = known.or_else(|| self.new_term(weight))?;
        if known.is_some() {
            let before = &mut self.weights[usize::from(term)];
            *before = before.max(weight);
            return Some(term);
        }
        let may_inflect = folded.chars().all(char::is_alphabetic);
        self.words.push(QueryWord { singular: singular(&folded).into_owned(), folded, term, name, may_inflect });
        Some(term)
    }

    fn add_pair(&mut self, pair: (char, Option<char>)) {
        if !self.pairs.contains_key(&pair)
            && let Some(term) = self.new_term(1.0)
        {
            self.pairs.insert(pair, term);
        }
    }

    fn new_term(&mut self, weight: f64) -> Option<u16> {
        let term = u16::try_from(self.weights.len()).ok().filter(|term| usize::from(*term) < MAX_TERMS)?;
        self.weights.push(weight);
        Some(term)
    }

    fn record_file(&mut self, name: &str, term: Option<u16>) {
        let is_long = name.chars().count() >= 4;
        if let Some(term) = term.filter(|_| is_long) {
            self.files.push((name.to_owned(), term));
        }
    }

    /// Builds the lookup tables.
    fn index(&mut self) {
        for (at, word) in self.words.iter().enumerate() {
            let plural = format!("{}s", word.folded);
            let keys = [word.folded.as_str(), &word.singular, &plural].map(key);
            for slot in keys.into_iter().map(slot).collect::<BTreeSet<_>>() {
                if self.slots[slot] == 0 {
                    self.groups.push(Vec::new());
                    self.slots[slot] = self.groups.len() as u16;
                }
                self.groups[usize::from(self.slots[slot]) - 1].push(at as u16);
            }
        }
    }

    /// Candidates for `word`, which is lower-case unless it is ASCII.
    fn candidates(&self, word: &str) -> &[u16] {
        match self.slots[slot(key(word))] {
            0 => &[],
            group => &self.groups[usize::from(group) - 1],
        }
    }

    /// Collects the occurrences of terms in `text`, in order.
    pub(super) fn collect(&self, text: &str, range: std::ops::Range<usize>, is_json: bool, hits: &mut Vec<Hit>) {
        let base = range.start;
        for_each_word(&text[range], is_json, |at, word| match word {
            Word::Whole(word) => self.look_up(text, base + at, word, true, hits),
            Word::Part(word) => self.look_up(text, base + at, word, false, hits),
            Word::Pair(first, second) => self.look_up_pair(base + at, first, second, hits),
        });
    }

    fn look_up(&self, text: &str, at: usize, word: &str, is_whole: bool, hits: &mut Vec<Hit>) {
        let candidates = self.candidates(word);
        if word.is_ascii() && candidates.is_empty() {
            return;
        }
        let folded = fold(word);
        let candidates = if word.is_ascii() { candidates } else { self.candidates(&folded) };
        for candidate in candidates {
            let query_word = &self.words[usize::from(*candidate)];
            let Some(strength) = query_word.strength(text, at + word.len(), &folded, is_whole) else { continue };
            let length = query_word.name.as_ref().map_or(word.len(), String::len);
            let start = (at + word.len()).saturating_sub(length);
            hits.push(Hit {
                at: start,
                length: length.min(usize::from(u16::MAX)) as u16,
                term: query_word.term,
                strength,
            });
        }
    }

    fn look_up_pair(&self, at: usize, first: char, second: Option<char>, hits: &mut Vec<Hit>) {
        let mut add = |pair: (char, Option<char>)| {
            if let Some(term) = self.pairs.get(&pair) {
                let length = pair.0.len_utf8() + pair.1.map_or(0, char::len_utf8);
                hits.push(Hit { at, length: length as u16, term: *term, strength: WHOLE });
            }
        };
        if !self.pairs.is_empty() {
            add((first, second));
            if second.is_some() {
                add((first, None));
            }
        }
    }
}

impl QueryWord {
    /// The strength of a folded word that ends at `end`; `None` if it is another word.
    fn strength(&self, text: &str, end: usize, folded: &str, is_whole: bool) -> Option<u8> {
        if let Some(name) = &self.name {
            return (is_whole && folded == self.folded && ends_with_name(&text[..end], name)).then_some(WHOLE);
        }
        if folded == self.folded || singular(folded) == self.singular {
            return Some(if is_whole { WHOLE } else { PART });
        }
        (self.may_inflect && are_forms(folded, &self.folded)).then_some(FORM)
    }
}

/// Whether `text` ends with a folded name at a word boundary. Slashes, backslashes and the double
/// backslashes of JSON are equal.
fn ends_with_name(text: &str, name: &str) -> bool {
    let mut rest = text;
    for query_word in name.chars().rev() {
        let Some(found) = rest.chars().next_back() else { return false };
        let is_slash = |character| matches!(character, '/' | '\\');
        let is_same = found == query_word
            || found.to_lowercase().eq(std::iter::once(query_word))
            || (is_slash(found) && is_slash(query_word));
        if !is_same {
            return false;
        }
        rest = &rest[..rest.len() - found.len_utf8()];
        if found == '\\' && rest.ends_with('\\') {
            rest = &rest[..rest.len() - 1];
        }
    }
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    !(name.starts_with(is_word) && rest.ends_with(is_word))
}

/// A word without the punctuation around it.
fn trimmed(word: &str) -> &str {
    let quotes = |character: char| {
        matches!(character, '"' | '\'' | '`' | '(' | '[' | '{' | '<' | '“' | '„' | '«' | '¿' | '¡' | '*' | '「' | '『')
    };
    let ends = |character: char| {
        matches!(
            character,
            '"' | '\''
                | '`'
                | ')'
                | ']'
                | '}'
                | '>'
                | '”'
                | '“'
                | '»'
                | '.'
                | ','
                | ';'
                | ':'
                | '?'
                | '!'
                | '…'
                | '*'
                | '/'
                | '\\'
                | '、'
                | '。'
                | '？'
                | '！'
                | '」'
                | '』'
        )
    };
    word.trim_start_matches(quotes).trim_end_matches(ends)
}

fn slot(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> (32 - SLOT_BITS)) as usize
}

/// For each word, whether it is a function word in the most likely languages of the question.
pub(super) fn are_function_words(words: &[&str]) -> Vec<bool> {
    let counts = FUNCTION_WORDS.map(|language| words.iter().filter(|word| language.contains(word)).count());
    let most = counts.iter().copied().max().unwrap_or_default();
    let likely: Vec<&[&str]> = FUNCTION_WORDS
        .into_iter()
        .zip(counts)
        .filter(|(_, count)| *count == most)
        .map(|(language, _)| language)
        .collect();
    words.iter().map(|word| likely.iter().any(|language| language.contains(word))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, significant: &str) {
        let words: Vec<&str> = question.split(' ').collect();
        let are_ignored = are_function_words(&words);
        let left: Vec<&str> =
            words.iter().zip(are_ignored).filter(|(_, is_ignored)| !is_ignored).map(|(word, _)| *word).collect();
        assert_eq!(left.join(" "), significant, "{question}");
    }

    #[test]
    fn function_words_are_ignored() {
        check("what did we change in the parser", "change parser");
        check("why did the process die", "process die");
        check("warum ist die migration von hand", "migration hand");
        check("pourquoi est-ce que les liens ne sont pas corrects", "liens corrects");
        check("por qué falla la prueba", "falla prueba");
        check("onde está o ficheiro", "ficheiro");
        check("dove sono i test", "test");
        check("где лежит файл", "лежит файл");
        check("waarom werkt het niet", "werkt");
    }
}
