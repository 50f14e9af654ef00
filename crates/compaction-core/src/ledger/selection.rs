//! Selection: which statements are worth their space.
//!
//! Statements are chosen greedily by their value for each unit of text: the weight of the terms that no
//! chosen statement has yet, times factors for the speaker and for recency. A term weighs more the
//! rarer it is in the conversation, and more if it is a name or a number or if a person used it. No
//! knowledge of a language or topic is needed.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::hash::BuildHasherDefault;
use std::sync::{Arc, OnceLock};

use super::Ledger;
use super::companions::{companions, has_bound, needed_in_messages};
use super::cues::{has_name, is_guess};
use super::notes::REFUTED;
use super::reasons::begins_with_pronoun;
use super::retractions::admits;
use super::statements::{Statement, Voice};
use super::terms::{
    ByTerm, CAPITAL, DIGIT, DOT, HYPHEN, HashedAlready, SEED, SIGN, SLASH, SMALL, TextHashing, Token, UNDERSCORE,
    hash_of_ascii, is_unspaced, mixed, mixed_ignoring_case, tokens, trimmed,
};
use super::text::{WordList, may_be_unspaced, normalised, word_list};
use crate::text::utf16_len;

/// UTF-16 units of the separator before a statement.
const JOINT: usize = 2;
/// UTF-16 units of the label before the first statement of a person's message.
const PERSON_LABEL: usize = 12;
/// UTF-16 units of the label of any other message.
const LABEL: usize = 4;
/// UTF-16 units that are added to the length of each statement before its value per unit is computed, so that fragments
/// do not win only because they are short.
const SHORTNESS: usize = 24;
/// Selection stops when fewer UTF-16 units than this are left.
const LEAST_ROOM: usize = 24;
/// Part of a term's weight that counts if a chosen statement already has the term.
const COVERED: f32 = 0.12;
/// The same for statements of a person, whose requests matter even in repeated words.
const COVERED_BY_PERSON: f32 = 0.35;
/// The value of a statement without any terms.
const LEAST_VALUE: f32 = 0.05;
/// Factor for names and numbers.
const NAME: f32 = 1.7;
/// Factor for terms that a person used: they show what the conversation is about.
const PERSONS_TERM: f32 = 3.0;
/// Factor for terms of the caller's focus.
const FOCUS: f32 = 8.0;

/// Average length of a statement that an earlier compaction did not store, as a fraction of the stored ones. The
/// statements left out were shorter.
const LEFT_OUT: f32 = 0.5;

/// Factor for sentences that introduce something.
const INTRODUCTION: f32 = 0.6;
/// Factor for sentences whose subject is in an earlier sentence.
const PRONOUN: f32 = 0.85;
/// Factor for what the work costs or saves.
const EFFORT: f32 = 0.3;
/// Factor for guesses during the work, which later remarks confirm or replace.
const GUESS: f32 = 0.6;
/// Factor for conditions with a bound: `below <0.85 | …`.
const BOUND: f32 = 1.4;
/// Factor for sentences with which the model takes back what it said. Without them, the next model believes the old one.
const ADMISSION: f32 = 3.0;
/// Longest short answer, in bytes. It makes no sense without its question.
const SHORT_ANSWER: usize = 60;

/// Words beside figures of what the work costs or saves.
static EFFORTS: WordList = word_list!("noise: effort");
/// The label of such a figure in many languages.
const RETURN: &str = "ROI: ";

/// How statements are chosen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a> {
    /// UTF-16 units that the chosen statements may take, including labels.
    pub(crate) units: usize,
    /// UTF-16 units of later statements that halve the value of a statement.
    pub(crate) half_life: usize,
    /// Text that the caller wants the selection to focus on.
    pub(crate) focus: Option<&'a str>,
    /// Most quotes of a message of a person that consists of pasted text.
    pub(crate) quotes: usize,
}

/// A statement that may be chosen.
struct Candidate<'a> {
    terms: &'a [(u32, f32)],
    /// The factor of its terms.
    factor: f32,
    /// Part of a term's weight that counts if the term is already covered.
    covered: f32,
    cost: usize,
}

impl Selection<'_> {
    /// The indexes of the chosen statements of `ledger`, in order. `others` are texts elsewhere in the
    /// summary: their terms count as covered, and a statement that is contained in one of them is left
    /// out.
    pub(crate) fn choose(&self, ledger: &Ledger, others: &[&str]) -> Vec<usize> {
        self.choose_among(ledger, others, &[]).into_iter().map(|(index, _)| index).collect()
    }

    /// As [`Self::choose`], each with the value that it added.
    pub(super) fn choose_weighed(&self, ledger: &Ledger, others: &[&str]) -> Vec<(usize, f32)> {
        self.choose_among(ledger, others, &[])
    }

    /// As [`Self::choose_weighed`], without the statements for which `left_out` is true. The list may be shorter than
    /// the statements.
    pub(crate) fn choose_among(&self, ledger: &Ledger, others: &[&str], left_out: &[bool]) -> Vec<(usize, f32)> {
        let statements = &ledger.statements;
        let vocabulary = ledger.vocabulary.of(statements);
        let mut is_covered = vec![false; vocabulary.counts.len()];
        for text in others {
            vocabulary.known(text, |term| is_covered[term as usize] = true);
        }
        let mut focus: HashSet<u32> = HashSet::new();
        vocabulary.known(self.focus.unwrap_or_default(), |term| {
            if vocabulary.is_telling(term) {
                focus.insert(term);
            }
        });
        let mut after = 0;
        // The statements that earlier compactions did not store were between the stored ones.
        let is_earlier = |statement: &Statement| statement.position < ledger.vocabulary.first;
        let earlier = statements.iter().filter(|one| is_earlier(one)).count().max(1);
        let said_for_each = 1.0 + LEFT_OUT * ledger.left_out.of("statements") as f32 / earlier as f32;
        let mut candidates: Vec<Candidate<'_>> = Vec::with_capacity(statements.len());
        for (index, statement) in statements.iter().enumerate().rev() {
            let terms = vocabulary.terms_of(index);
            let cost = vocabulary.statements[index].units + JOINT;
            let recency = self.half_life as f32 / (self.half_life as f32 + after as f32);
            let aged = if is_earlier(statement) { (cost as f32 * said_for_each) as usize } else { cost };
            after = aged.saturating_add(after);
            let is_wanted = !focus.is_empty() && terms.iter().any(|(term, _)| focus.contains(term));
            let content = vocabulary.statements[index].content;
            let factor = recency * weight_of(statements, index) * content * if is_wanted { FOCUS } else { 1.0 };
            let covered = if statement.voice == Voice::Person { COVERED_BY_PERSON } else { COVERED };
            candidates.push(Candidate { terms, factor, covered, cost });
        }
        candidates.reverse();
        let needed = companions(
            statements,
            vocabulary.needed_in_messages.get_or_init(|| needed_in_messages(statements)),
            left_out,
        );
        let pasted = if self.quotes == usize::MAX { HashSet::default() } else { pasted(ledger) };
        let choosing = Choosing {
            statements,
            candidates: &candidates,
            needed: &needed,
            pasted,
            quotes: self.quotes,
            others,
            beginnings: Beginnings::in_texts(others),
            left_out,
            left: self.units,
            is_covered,
            is_done: vec![false; statements.len()],
            has_label: HashSet::default(),
            texts: HashSet::default(),
            quoted: HashMap::new(),
            chosen: Vec::new(),
        };
        choosing.choose()
    }
}

/// Statements while they are chosen.
struct Choosing<'a> {
    statements: &'a [Statement],
    candidates: &'a [Candidate<'a>],
    /// For each statement, the one that it needs.
    needed: &'a [Option<u32>],
    /// The positions of messages that consist of pasted text, and the most quotes of one of them.
    pasted: HashSet<u64, TextHashing>,
    quotes: usize,
    /// Texts elsewhere in the summary.
    others: &'a [&'a str],
    beginnings: Beginnings,
    left_out: &'a [bool],
    left: usize,
    is_covered: Vec<bool>,
    /// Whether each statement was taken or is told elsewhere.
    is_done: Vec<bool>,
    has_label: HashSet<u64, TextHashing>,
    texts: HashSet<&'a str, TextHashing>,
    /// Number of quotes of each message that were taken.
    quoted: HashMap<u64, usize>,
    chosen: Vec<(usize, f32)>,
}

/// Most statements that are taken because of one.
const MOST_NEEDED: usize = 3;

impl Choosing<'_> {
    /// Takes the best candidate again and again. Values only fall while others are taken, so a stale
    /// value at the top of the heap is computed again.
    fn choose(mut self) -> Vec<(usize, f32)> {
        let may_take = |index: &usize| !self.left_out.get(*index).copied().unwrap_or_default();
        let all = self.candidates.iter().enumerate().filter(|(index, _)| may_take(index));
        let mut heap: BinaryHeap<Ranked> =
            all.map(|(index, one)| Ranked { worth: one.worth(&self.is_covered), index }).collect();
        // A question that the summary shows elsewhere needs its answer, too.
        for index in (0..self.statements.len()).rev().filter(|index| !may_take(index)) {
            if self.statements[index].voice == Voice::Person {
                self.take_needed(index);
            }
        }
        while let Some(top) = heap.pop() {
            if self.is_done[top.index] {
                continue;
            }
            let worth = self.candidates[top.index].worth(&self.is_covered);
            if heap.peek().is_some_and(|next| next.worth > worth) {
                heap.push(Ranked { worth, index: top.index });
                continue;
            }
            if self.take(top.index) {
                self.take_needed(top.index);
            } else if self.left < LEAST_ROOM {
                break;
            }
        }
        self.chosen.sort_unstable_by_key(|(index, _)| *index);
        self.chosen
    }

    /// Takes what the statement at `index` needs, and what that needs.
    fn take_needed(&mut self, mut index: usize) {
        for _ in 0..MOST_NEEDED {
            let Some(needed) = self.needed.get(index).copied().flatten() else { return };
            index = needed as usize;
            if self.is_done[index] || !self.take(index) {
                return;
            }
        }
    }

    /// Takes a statement if it has room; returns whether it is told now, here or elsewhere.
    fn take(&mut self, index: usize) -> bool {
        let (statement, candidate) = (&self.statements[index], &self.candidates[index]);
        let position = statement.position;
        let is_quote = statement.voice == Voice::Quote && self.pasted.contains(&position);
        if is_quote && self.quoted.get(&position).is_some_and(|taken| *taken >= self.quotes) {
            return false;
        }
        let label = if statement.voice == Voice::Person { PERSON_LABEL } else { LABEL };
        let cost = candidate.cost + if self.has_label.contains(&position) { 0 } else { label };
        if cost > self.left {
            return false;
        }
        let worth = candidate.worth(&self.is_covered);
        candidate.cover(&mut self.is_covered);
        self.is_done[index] = true;
        let text = statement.text.as_str();
        let is_elsewhere = || {
            let finder = memchr::memmem::Finder::new(text);
            self.others.iter().any(|other| other.len() >= text.len() && finder.find(other.as_bytes()).is_some())
        };
        if self.texts.contains(text) || self.beginnings.may_have(text) && is_elsewhere() {
            return true;
        }
        if is_quote {
            *self.quoted.entry(position).or_default() += 1;
        }
        self.left -= cost;
        self.has_label.insert(position);
        self.texts.insert(text);
        self.chosen.push((index, worth * (candidate.cost + SHORTNESS) as f32));
        true
    }
}

/// Fewest quotes of a message that consists of pasted text.
const FEWEST_PASTED: usize = 6;
/// Such a message has at least this many times as many quotes as other statements.
const PASTED_TIMES: usize = 2;

/// The positions of messages of people that consist of pasted text.
fn pasted(ledger: &Ledger) -> HashSet<u64, TextHashing> {
    let mut counts: HashMap<u64, (usize, usize), TextHashing> = HashMap::default();
    for one in ledger.statements.iter().filter(|one| matches!(one.voice, Voice::Quote | Voice::Person)) {
        let (quotes, others) = counts.entry(one.position).or_default();
        *if one.voice == Voice::Quote { quotes } else { others } += 1;
    }
    let is_asked = |position: &u64| ledger.requests.binary_search_by_key(position, |one| one.position).is_ok();
    let is_pasted = |(quotes, others): (usize, usize)| quotes >= FEWEST_PASTED && quotes >= PASTED_TIMES * others;
    let pasted = counts.into_iter().filter(|(position, counts)| is_pasted(*counts) && is_asked(position));
    pasted.map(|(position, _)| position).collect()
}

/// The runs of eight bytes in some texts: one bit for each hash. Most statements begin with none of them.
pub(super) struct Beginnings(Box<[u64]>);

/// Number of bits of such a hash. A summary has some 50,000 runs, so a tenth of the other statements is searched for in
/// vain.
const RUN_BITS: u32 = 19;

impl Beginnings {
    pub(super) fn in_texts(texts: &[&str]) -> Self {
        let mut bits = vec![0_u64; 1 << (RUN_BITS - u64::BITS.ilog2())].into_boxed_slice();
        for run in texts.iter().flat_map(|text| text.as_bytes().array_windows::<8>()) {
            let (word, bit) = Self::place(*run);
            bits[word] |= bit;
        }
        Self(bits)
    }

    pub(super) fn may_have(&self, text: &str) -> bool {
        text.as_bytes().first_chunk::<8>().is_none_or(|beginning| {
            let (word, bit) = Self::place(*beginning);
            self.0[word] & bit != 0
        })
    }

    /// The word of a run and its bit there.
    fn place(run: [u8; 8]) -> (usize, u64) {
        let hash = u64::from_le_bytes(run).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (u64::BITS - RUN_BITS);
        ((hash / 64) as usize, 1 << (hash % 64))
    }
}

/// The factor for the voice of a statement and its position in the message.
fn weight_of(statements: &[Statement], index: usize) -> f32 {
    let statement = &statements[index];
    let next = statements.get(index + 1);
    let is_last = next.is_none_or(|next| next.position != statement.position);
    let voice = match statement.voice {
        Voice::Person => 1.8,
        Voice::Report => 1.5,
        Voice::Remark => 1.0,
        Voice::Announcement => 0.45,
        Voice::Refuted => 0.3,
        Voice::Action => 0.7,
        Voice::Milestone => 1.1,
        Voice::Quote => 0.3,
        Voice::Document => 0.8,
        Voice::Summary => 1.6,
    };
    let place = match statement.number {
        0 => 1.3,
        1 => 1.1,
        _ if is_last => 1.15,
        _ => 1.0,
    };
    // A short answer makes no sense without its question.
    let answered = next.is_some_and(|next| next.voice == Voice::Person && next.text.len() <= SHORT_ANSWER);
    let answer = if answered && statement.is_of_model() { 1.5 } else { 1.0 };
    // An introduction to a list or code says little without it unless it names something, and a pronoun needs its noun.
    let alone = match statement.is_of_model() {
        true if statement.text.ends_with([':', '\u{ff1a}']) && !has_name(&statement.text) => INTRODUCTION,
        true if statement.number > 0 && begins_with_pronoun(&statement.text) => PRONOUN,
        _ => 1.0,
    };
    voice * place * answer * alone
}

/// The factor for what a statement of the model tells.
fn content(statement: &Statement) -> f32 {
    if !statement.is_of_model() && statement.voice != Voice::Action {
        return 1.0;
    }
    let text = statement.text.as_str();
    let has_digit = || text.contains(|one: char| one.is_ascii_digit());
    match statement.voice {
        _ if !text.contains('`') && has_digit() && (text.starts_with(RETURN) || EFFORTS.is_said(text)) => EFFORT,
        Voice::Remark if is_guess(&normalised(text)) => GUESS,
        _ if statement.is_of_model() && has_bound(text) => BOUND,
        Voice::Remark | Voice::Report if admits(text) => ADMISSION,
        _ => 1.0,
    }
}

impl Candidate<'_> {
    fn cover(&self, is_covered: &mut [bool]) {
        self.terms.iter().for_each(|(term, _)| is_covered[*term as usize] = true);
    }

    fn worth(&self, is_covered: &[bool]) -> f32 {
        let value =
            |(term, weight): &(u32, f32)| if is_covered[*term as usize] { self.covered * weight } else { *weight };
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
    /// By value, then the newest first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.worth.total_cmp(&other.worth).then(self.index.cmp(&other.index))
    }
}

/// The vocabulary of a ledger's statements, built when it is first needed. The summary, the stored form
/// and the loss report share it.
#[derive(Debug, Clone, Default)]
pub(super) struct SharedVocabulary {
    vocabulary: OnceLock<Arc<Vocabulary>>,
    /// Position of the first message that this compaction read.
    first: u64,
}

impl PartialEq for SharedVocabulary {
    /// It is derived from the statements, so it does not affect equality of ledgers.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl SharedVocabulary {
    /// The vocabulary of statements. Those from the position `first` on are new.
    pub(super) fn since(first: u64) -> Self {
        Self { vocabulary: OnceLock::new(), first }
    }

    fn of(&self, statements: &[Statement]) -> &Vocabulary {
        self.vocabulary.get_or_init(|| Arc::new(Vocabulary::of(statements)))
    }
}

/// The terms of all statements, their weights, and how many statements have each of them.
#[derive(Debug, Default)]
struct Vocabulary {
    numbers: ByTerm<u32>,
    counts: Vec<u32>,
    /// The terms of all statements with their weights, statement by statement.
    terms: Vec<(u32, f32)>,
    statements: Vec<StatementTerms>,
    /// For each statement, the one that it needs in its own message.
    needed_in_messages: OnceLock<Vec<Option<u32>>>,
}

/// The terms and length of a statement.
#[derive(Debug, Clone, Copy)]
struct StatementTerms {
    /// Where its terms end.
    end: usize,
    /// UTF-16 units of its text.
    units: usize,
    /// The factor for what it tells.
    content: f32,
}

impl Vocabulary {
    fn of(statements: &[Statement]) -> Self {
        // A statement has about this many terms, and as many new ones.
        let (terms, new) = (12 * statements.len(), 2 * statements.len());
        let mut all = Self {
            numbers: ByTerm::with_capacity_and_hasher(new, Default::default()),
            counts: Vec::with_capacity(new),
            terms: Vec::with_capacity(terms),
            statements: Vec::with_capacity(statements.len()),
            needed_in_messages: OnceLock::new(),
        };
        let mut names: Vec<bool> = Vec::with_capacity(terms);
        // For each term, whether a person used it, and the last statement with it.
        let mut is_persons: Vec<bool> = Vec::with_capacity(new);
        let mut last: Vec<usize> = Vec::with_capacity(new);
        for (index, statement) in (1..).zip(statements) {
            each_term(&statement.text, &mut |hash, is_name| {
                let number = *all.numbers.entry(hash).or_insert(last.len() as u32);
                if number as usize == last.len() {
                    last.push(0);
                    all.counts.push(0);
                    is_persons.push(false);
                }
                is_persons[number as usize] |= statement.voice == Voice::Person;
                let last = &mut last[number as usize];
                if *last != index {
                    *last = index;
                    all.counts[number as usize] += 1;
                    all.terms.push((number, 0.0));
                    names.push(is_name);
                }
            });
            let mark = if statement.voice == Voice::Refuted { utf16_len(REFUTED) } else { 0 };
            let (end, units) = (all.terms.len(), utf16_len(&statement.text) + mark);
            all.statements.push(StatementTerms { end, units, content: content(statement) });
        }
        let value = |(count, is_persons): (&u32, bool)| {
            rarity(*count, statements.len()) * if is_persons { PERSONS_TERM } else { 1.0 }
        };
        let values: Vec<f32> = all.counts.iter().zip(is_persons).map(value).collect();
        for ((number, weight), is_name) in all.terms.iter_mut().zip(names) {
            *weight = values[*number as usize] * if is_name { NAME } else { 1.0 };
        }
        all
    }

    fn terms_of(&self, index: usize) -> &[(u32, f32)] {
        let start = index.checked_sub(1).map_or(0, |before| self.statements[before].end);
        &self.terms[start..self.statements[index].end]
    }

    /// Calls `found` with the numbers of the terms of `text` that statements have.
    fn known(&self, text: &str, mut found: impl FnMut(u32)) {
        each_term(text, &mut |hash, _| {
            if let Some(number) = self.numbers.get(&hash) {
                found(*number);
            }
        });
    }

    /// Whether a term is in few enough statements to identify them.
    fn is_telling(&self, term: u32) -> bool {
        self.counts[term as usize] as usize * 10 <= self.statements.len().max(10)
    }
}

/// The weight of a term that is in `count` of `all` statements.
fn rarity(count: u32, all: usize) -> f32 {
    let rarity = ((all as f32 + 1.0) / (count as f32 + 0.5)).ln().max(0.0);
    // A term that is used once is often incidental; a term that recurs is part of the topic.
    let recurrence = if count > 1 { 1.25 } else { 1.0 };
    rarity.sqrt() * recurrence
}

/// Fewest newest statements that show what a conversation is about now; otherwise a quarter of all.
const FEWEST_NEWEST: usize = 8;
/// Statements among them that must have a term before it belongs to the topic.
const FEWEST_OF_TERM: u32 = 2;
/// Most terms of a request that count, so that long requests do not win only because they are long.
const MOST_TOPIC_TERMS: usize = 12;
/// Part of a term's weight that counts in a request if an earlier request already has the term.
const KNOWN_TERM: f32 = 0.4;

/// How much of the current topic each request introduced. A request is given by its position and its words.
pub(crate) fn topic_scores(ledger: &Ledger, requests: &[(u64, String)]) -> Vec<f32> {
    let statements = &ledger.statements;
    let vocabulary = ledger.vocabulary.of(statements);
    let start = statements.len() - statements.len().min((statements.len() / 4).max(FEWEST_NEWEST));
    // For each term, the number of newest statements with it, its weight, and its first position.
    let mut newest: Vec<(u32, f32, u64)> = vec![(0, 0.0, u64::MAX); vocabulary.counts.len()];
    for (index, statement) in statements.iter().enumerate() {
        for (term, weight) in vocabulary.terms_of(index) {
            let (count, known, first) = &mut newest[*term as usize];
            *count += u32::from(index >= start);
            *known = known.max(*weight);
            *first = statement.position.min(*first);
        }
    }
    let score = |(position, text): &(u64, String)| {
        let mut seen: HashSet<u32, TextHashing> = HashSet::default();
        let mut weights: Vec<f32> = Vec::new();
        vocabulary.known(text, |term| {
            let (count, weight, first) = newest[term as usize];
            if count >= FEWEST_OF_TERM && seen.insert(term) {
                weights.push(weight * if first < *position { KNOWN_TERM } else { 1.0 });
            }
        });
        weights.sort_by(|one, other| other.total_cmp(one));
        weights.iter().take(MOST_TOPIC_TERMS).sum()
    };
    requests.iter().map(score).collect()
}

/// The hashes of the terms of a text.
#[derive(Debug, Default)]
pub(crate) struct Terms {
    pub(crate) all: HashSet<u64, BuildHasherDefault<HashedAlready>>,
    /// Those that are names or numbers.
    pub(crate) names: HashSet<u64, BuildHasherDefault<HashedAlready>>,
}

/// The terms of `text`.
pub(crate) fn terms(text: &str) -> Terms {
    let mut terms = Terms::default();
    each_term(text, &mut |hash, is_name| {
        terms.all.insert(hash);
        if is_name {
            terms.names.insert(hash);
        }
    });
    terms
}

/// Calls `found` with the hash of each term of `text`, and whether it is a name or a number.
fn each_term(text: &str, found: &mut impl FnMut(u64, bool)) {
    for Token { text, is_ascii, kinds, inner, .. } in tokens(text) {
        if is_ascii && kinds & (HYPHEN | DOT | SLASH | SIGN) == 0 {
            let has_inner_capital = inner & CAPITAL != 0 && kinds & SMALL != 0;
            let is_name = kinds & DIGIT != 0 && text.len() > 1 || inner & UNDERSCORE != 0 || has_inner_capital;
            if is_name || text.len() >= 3 {
                found(hash_of_ascii(text.as_bytes()), is_name);
            }
            continue;
        }
        let token = trimmed(text, |byte| matches!(byte, b'-' | b'.' | b'/' | b'@' | b'#'));
        if token.is_empty() {
            continue;
        }
        if is_ascii {
            let name = is_name(token);
            if name || token.len() >= 3 {
                found(hash_of_ascii(token.as_bytes()), name);
            }
            continue;
        }
        if !may_be_unspaced(token) || !token.chars().any(is_unspaced) {
            if token.chars().count() >= 3 {
                found(token.chars().fold(SEED, mixed_ignoring_case), is_name(token));
            }
            continue;
        }
        let characters: Vec<u64> = token.chars().flat_map(char::to_lowercase).map(u64::from).collect();
        characters.windows(2).for_each(|pair| found(mixed(mixed(SEED, pair[0]), pair[1]), false));
    }
}

/// Whether a token is a name or a number: it has digits, marks or capitals inside.
fn is_name(token: &str) -> bool {
    let bytes = token.as_bytes();
    let (mut has_digit, mut has_mark, mut has_capital, mut has_small) = (false, false, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        has_digit |= byte.is_ascii_digit();
        has_small |= byte.is_ascii_lowercase();
        has_mark |= at > 0 && matches!(byte, b'_' | b'/' | b'.' | b'#' | b'@');
        has_capital |= at > 0 && byte.is_ascii_uppercase();
    }
    has_digit && bytes.len() > 1 || has_mark || has_capital && has_small
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sources;

    #[test]
    fn what_was_not_stored_ages_what_came_before_it() {
        let texts =
            ["`shelf.rs`, `store.rs`, `lamp.rs` and `hall.rs` hold it", "The lamp of the hall burns for the readers"];
        let statement = |(at, text): (u64, &str)| Statement {
            voice: Voice::Remark,
            text: text.to_owned(),
            number: 2,
            position: at,
            sources: Sources::default(),
        };
        let chosen = |left_out: u64| {
            let mut ledger = Ledger { vocabulary: SharedVocabulary::since(3), ..Ledger::default() };
            ledger.statements = (1..).zip(texts).map(statement).collect();
            ledger.left_out.add("statements", left_out);
            let selection = Selection { units: 70, half_life: 400, focus: None, quotes: usize::MAX };
            selection.choose(&ledger, &[])
        };
        assert_eq!((chosen(0), chosen(100)), (vec![0], vec![1]));
        assert_eq!(chosen(u64::MAX), [1]);
    }

    #[test]
    fn sentences_that_need_others_weigh_less() {
        let texts =
            ["All is well.", "The parts are:", "It is slow.", "The store is slow.", "The parts of `a.rs`:", "End."];
        let statements: Vec<Statement> = (0..)
            .zip(texts)
            .map(|(number, text)| Statement {
                voice: Voice::Report,
                text: text.to_owned(),
                number: number + 2,
                position: 1,
                sources: Sources::default(),
            })
            .collect();
        let weights: Vec<f32> = (0..5).map(|index| weight_of(&statements, index)).collect();
        assert!(weights[1] < weights[2] && weights[2] < weights[3], "{weights:?}");
        assert!(weights[4] >= weights[3], "it names something: {weights:?}");
    }

    #[test]
    fn figures_of_effort_and_guesses_weigh_less_and_bounds_more() {
        let of = |voice: Voice, text: &str| {
            let sources = Sources::default();
            content(&Statement { voice, text: text.to_owned(), number: 1, position: 1, sources })
        };
        for text in [
            "Estimated time: 5 minutes",
            "Tempo estimado: ~5-10 minutos",
            "Zeitersparnis: 3 Stunden",
            "推定時間：3時間",
        ] {
            assert!(of(Voice::Report, text) < 1.0, "{text}");
        }
        assert_eq!(of(Voice::Report, "The estimated time is in `eta` of 3 rows."), 1.0, "it names code");
        assert_eq!(of(Voice::Person, "Show the estimated time in 2 rows."), 1.0, "a person asks for it");
        assert!(of(Voice::Remark, "It might be the lamp.") < 1.0);
        assert_eq!(of(Voice::Report, "It might be the lamp."), 1.0, "an answer may only know that");
        for text in ["Light <0.85 | change the lamp", "if it is > 90 %", "size >= 3 is too much"] {
            assert!(of(Voice::Report, text) > 1.0, "{text}");
        }
        for text in ["a -> 3", "60s => 200s", "1 << 4", "a <b> tag"] {
            assert_eq!(of(Voice::Report, text), 1.0, "{text}");
        }
    }

    #[test]
    fn a_question_comes_with_its_answer() {
        let said = [
            (Voice::Person, "Does the importer write into the shelf?", 1),
            (Voice::Report, "No, the importer writes into the hall.", 2),
            (Voice::Report, "`shelf.rs`, `store.rs`, `lamp.rs` and `hall.rs` hold readers", 2),
        ];
        let statement = |(number, (voice, text, position)): (u64, (Voice, &str, u64))| Statement {
            voice,
            text: text.to_owned(),
            number,
            position,
            sources: Sources::default(),
        };
        let ledger = Ledger { statements: (0..).zip(said).map(statement).collect(), ..Ledger::default() };
        let selection = Selection { units: 110, half_life: 400, focus: None, quotes: usize::MAX };
        assert_eq!(selection.choose(&ledger, &[]), [0, 1]);
        // The question may be shown elsewhere.
        let chosen = selection.choose_among(&ledger, &[], &[true, false, false]);
        assert!(chosen.iter().any(|(index, _)| *index == 1), "{chosen:?}");
    }
}
