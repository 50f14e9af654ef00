//! Selection: which statements are worth their room.
//!
//! Statements are taken greedily by what they add for each unit of text: the weight of the terms
//! that no chosen statement has told yet, multiplied by who speaks and how recent it is. A term
//! weighs more the rarer it is in the conversation, and more where it is a name or a number. So no
//! language and no topic has to be known.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use memchr::memmem;

use super::statements::{Statement, Voice};
use crate::text::utf16_len;

/// UTF-16 units that a statement costs beside its words: what parts it from the one before it.
const JOINT: usize = 2;
/// UTF-16 units that the first statement of a message of a person costs, and that of another one.
const PERSON_LABEL: usize = 12;
const LABEL: usize = 4;
/// UTF-16 units that are added to each statement when what it tells is set against its room, so that
/// fragments do not win by being short.
const SHORTNESS: usize = 20;
/// UTF-16 units in which no statement is looked for any more.
const LEAST_ROOM: usize = 24;
/// Part of a term's weight that counts where the term was told before, and the same in what a person
/// said: their wishes are told even in words that were used before.
const TOLD: f32 = 0.12;
const TOLD_BY_PERSON: f32 = 0.35;
/// What a statement is worth without any term.
const LEAST_VALUE: f32 = 0.05;
/// By how much what the caller wants to be told of weighs more.
const FOCUS: f32 = 8.0;

/// Bytes of an answer that says nothing without what it answers.
const SHORT_ANSWER: usize = 60;

/// How statements are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a> {
    /// UTF-16 units that the chosen ones may take, labels of their messages included.
    pub(crate) units: usize,
    /// UTF-16 units of later statements after which one counts half.
    pub(crate) half_life: usize,
    /// What the caller wants to be told of.
    pub(crate) focus: Option<&'a str>,
}

/// A statement with what selection knows of it.
struct Candidate {
    terms: Vec<(u32, f32)>,
    /// What its terms are multiplied by.
    factor: f32,
    /// Part of a term's weight that counts where the term was told before.
    told: f32,
    cost: usize,
}

impl Selection<'_> {
    /// The indexes of the chosen statements, in their order. `told` are texts that stand elsewhere in
    /// the summary: their terms count as told, and a statement that one of them holds is left out.
    pub(crate) fn choose(&self, statements: &[Statement], told: &[&str]) -> Vec<usize> {
        self.choose_weighed(statements, told).into_iter().map(|(index, _)| index).collect()
    }

    /// As [`Self::choose`], each with how much it told that no other had told before.
    pub(super) fn choose_weighed(&self, statements: &[Statement], told: &[&str]) -> Vec<(usize, f32)> {
        let mut vocabulary = Vocabulary::default();
        let terms: Vec<Vec<Term>> = statements.iter().map(|statement| vocabulary.read(&statement.text)).collect();
        let mut is_told = vec![false; vocabulary.count()];
        for text in told {
            vocabulary.known(text).for_each(|term| is_told[term as usize] = true);
        }
        let focus: HashSet<u32> = vocabulary.known(self.focus.unwrap_or_default()).collect();
        let mut after = 0;
        let mut candidates: Vec<Candidate> = Vec::with_capacity(statements.len());
        for (index, (statement, terms)) in statements.iter().zip(&terms).enumerate().rev() {
            let cost = utf16_len(&statement.text) + JOINT;
            let recency = self.half_life as f32 / (self.half_life + after) as f32;
            after += cost;
            let is_wanted = terms.iter().any(|term| focus.contains(&term.number) && vocabulary.is_telling(term));
            let factor = recency * weight_of(statements, index) * if is_wanted { FOCUS } else { 1.0 };
            let terms = terms.iter().map(|term| (term.number, vocabulary.weight(term))).collect();
            let told = if statement.voice == Voice::Person { TOLD_BY_PERSON } else { TOLD };
            candidates.push(Candidate { terms, factor, told, cost });
        }
        candidates.reverse();
        self.take(statements, &candidates, told, is_told)
    }

    /// Takes the best one for its room again and again. Worth only falls while others are taken, so
    /// that a stale figure at the top is looked at again.
    fn take(
        &self,
        statements: &[Statement],
        candidates: &[Candidate],
        told: &[&str],
        mut is_told: Vec<bool>,
    ) -> Vec<(usize, f32)> {
        let mut heap: BinaryHeap<Ranked> =
            candidates.iter().enumerate().map(|(index, one)| Ranked { worth: one.worth(&is_told), index }).collect();
        let mut has_label: HashSet<u64> = HashSet::new();
        let mut said: HashSet<&str> = HashSet::new();
        let mut chosen = Vec::new();
        let mut left = self.units;
        while let Some(top) = heap.pop() {
            let candidate = &candidates[top.index];
            let worth = candidate.worth(&is_told);
            if heap.peek().is_some_and(|next| next.worth > worth) {
                heap.push(Ranked { worth, index: top.index });
                continue;
            }
            let position = statements[top.index].position;
            let label = if statements[top.index].voice == Voice::Person { PERSON_LABEL } else { LABEL };
            let cost = candidate.cost + if has_label.contains(&position) { 0 } else { label };
            if cost > left {
                if left < LEAST_ROOM {
                    break;
                }
                continue;
            }
            let text = statements[top.index].text.as_str();
            let finder = memmem::Finder::new(text);
            if said.contains(text) || told.iter().any(|told| finder.find(told.as_bytes()).is_some()) {
                candidate.tell(&mut is_told);
                continue;
            }
            left -= cost;
            has_label.insert(position);
            said.insert(text);
            candidate.tell(&mut is_told);
            chosen.push((top.index, worth * (candidate.cost + SHORTNESS) as f32));
        }
        chosen.sort_unstable_by_key(|(index, _)| *index);
        chosen
    }
}

/// What the voice of a statement and its place in the message make of it.
fn weight_of(statements: &[Statement], index: usize) -> f32 {
    let statement = &statements[index];
    let next = statements.get(index + 1);
    let is_last = next.is_none_or(|next| next.position != statement.position);
    let voice = match statement.voice {
        Voice::Person => 2.4,
        Voice::Report => 1.5,
        Voice::Remark => 1.0,
        Voice::Announcement => 0.45,
        Voice::Deed => 0.7,
        Voice::Milestone => 1.1,
        Voice::Quote => 0.3,
        Voice::Summary => 1.6,
    };
    let place = match statement.number {
        0 => 1.3,
        1 => 1.1,
        _ if is_last => 1.15,
        _ => 1.0,
    };
    // A short answer says nothing without what it answers.
    let answered = next.is_some_and(|next| next.voice == Voice::Person && next.text.len() <= SHORT_ANSWER);
    voice * place * if answered && statement.is_of_model() { 1.5 } else { 1.0 }
}

impl Candidate {
    fn tell(&self, is_told: &mut [bool]) {
        self.terms.iter().for_each(|(term, _)| is_told[*term as usize] = true);
    }

    fn worth(&self, is_told: &[bool]) -> f32 {
        let value = |(term, weight): &(u32, f32)| if is_told[*term as usize] { self.told * weight } else { *weight };
        self.factor * (LEAST_VALUE + self.terms.iter().map(value).sum::<f32>()) / (self.cost + SHORTNESS) as f32
    }
}

struct Ranked {
    worth: f32,
    index: usize,
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    /// By worth, then the newest first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.worth.total_cmp(&other.worth).then(self.index.cmp(&other.index))
    }
}

/// A hash that is taken as it is: the terms are hashed already.
#[derive(Debug, Default)]
pub(super) struct Taken(u64);

impl Hasher for Taken {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| mixed(hash, (*byte).into()));
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// A term of a statement.
#[derive(Debug, Clone, Copy)]
struct Term {
    number: u32,
    is_name: bool,
}

/// The terms of all statements, and in how many of them each one stands.
#[derive(Debug, Default)]
struct Vocabulary {
    numbers: HashMap<u64, u32, BuildHasherDefault<Taken>>,
    counts: Vec<u32>,
    statements: u32,
}

impl Vocabulary {
    fn count(&self) -> usize {
        self.counts.len()
    }

    fn read(&mut self, text: &str) -> Vec<Term> {
        self.statements += 1;
        let mut terms: Vec<Term> = Vec::new();
        each_term(text, &mut |hash, is_name| {
            let next = self.counts.len() as u32;
            let number = *self.numbers.entry(hash).or_insert(next);
            if number == next {
                self.counts.push(0);
            }
            if !terms.iter().any(|term| term.number == number) {
                self.counts[number as usize] += 1;
                terms.push(Term { number, is_name });
            }
        });
        terms
    }

    /// The numbers of those terms of `text` that statements have.
    fn known(&self, text: &str) -> impl Iterator<Item = u32> {
        let mut numbers = Vec::new();
        each_term(text, &mut |hash, _| numbers.extend(self.numbers.get(&hash)));
        numbers.into_iter()
    }

    /// Whether a term stands in few enough statements to tell them from others.
    fn is_telling(&self, term: &Term) -> bool {
        self.counts[term.number as usize] * 10 <= self.statements.max(10)
    }

    fn weight(&self, term: &Term) -> f32 {
        let count = self.counts[term.number as usize] as f32;
        let rarity = ((self.statements as f32 + 1.0) / (count + 0.5)).ln().max(0.0);
        // What is said once is often by the way; what comes back is what it is about.
        let recurrence = if count > 1.0 { 1.25 } else { 1.0 };
        rarity.sqrt() * recurrence * if term.is_name { 1.7 } else { 1.0 }
    }
}

/// Calls `found` with the hash of each term of `text`, and whether it is a name or a number.
fn each_term(text: &str, found: &mut impl FnMut(u64, bool)) {
    let is_part =
        |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.' | '/' | '#' | '@');
    for token in text.split(|character: char| !is_part(character)) {
        let token = token.trim_matches(['-', '.', '/', '@', '#']);
        if token.is_empty() {
            continue;
        }
        if token.is_ascii() {
            let name = is_name(token);
            if name || token.len() >= 3 {
                found(token.bytes().fold(SEED, |hash, byte| mixed(hash, byte.to_ascii_lowercase().into())), name);
            }
            continue;
        }
        let folded = token.chars().flat_map(char::to_lowercase).map(u64::from);
        if !token.chars().any(is_unspaced) {
            if token.chars().count() >= 3 {
                found(folded.fold(SEED, mixed), is_name(token));
            }
            continue;
        }
        let characters: Vec<u64> = folded.collect();
        characters.windows(2).for_each(|pair| found(mixed(mixed(SEED, pair[0]), pair[1]), false));
    }
}

/// Where the hash of a term starts.
pub(super) const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of a term with one more character. Terms that share one by chance count as one, which costs
/// a statement a little of its worth.
pub(super) fn mixed(hash: u64, character: u64) -> u64 {
    (hash.rotate_left(5) ^ character).wrapping_mul(0x517C_C1B7_2722_0A95)
}

/// Whether a token is a name or a number: it has digits, marks or capitals inside.
fn is_name(token: &str) -> bool {
    let bytes = token.as_bytes();
    let inside = bytes.get(1..).unwrap_or_default();
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    has_digit && (bytes.len() > 1)
        || inside.iter().any(|byte| matches!(byte, b'_' | b'/' | b'.' | b'#' | b'@'))
        || inside.iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase)
}

/// Characters of scripts that put no spaces between words.
pub(super) fn is_unspaced(character: char) -> bool {
    matches!(character, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9D}')
}
