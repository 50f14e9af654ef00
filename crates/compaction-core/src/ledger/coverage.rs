//! Whether a text says something in other words: one of its statements must have most of the terms.
//!
//! A statement is a line or a window over lines. Lines that only list names or files are skipped. Rare
//! terms of the conversation weigh more than common ones. Words are compared by their first characters,
//! so that endings do not matter, and paths part by part.

use super::Statement;
use super::statements::sentences;
use super::terms::{
    ByTerm, CAPITAL, DIGIT, DOT, HYPHEN, SEED, SIGN, SLASH, SMALL, Token, UNDERSCORE, hash_of_ascii, is_unspaced,
    mixed_ignoring_case, tokens, trimmed,
};
use super::text::{lines, may_be_unspaced, trim};
use crate::text::utf16_len;

/// Length of a window over lines in UTF-16 units, and the distance between the starts of two windows.
const WINDOW: usize = 420;
const STEP: usize = WINDOW / 2;
/// UTF-16 units of the longest line that is one statement.
const LONGEST_LINE: usize = 2 * WINDOW;
/// Leading characters of a word that are compared.
const BEGINNING: usize = 6;
/// Share of names in percent from which a line counts as a list of names.
const NAMES_PERCENT: usize = 60;
/// Factor for the weight of a name or a number.
const NAME: f32 = 2.0;
/// A term below this fraction of the greatest weight is ignored if there are enough statements to judge.
const COMMON: f32 = 0.25;
const FEW_STATEMENTS: usize = 32;
/// Most statements, spread over the conversation, in which terms are counted.
const MOST_COUNTED: usize = 400;
/// Blocks that list files.
const FILE_BLOCKS: [(&str, &str); 2] = [("<read-files>", "</read-files>"), ("<modified-files>", "</modified-files>")];

/// What a text should say: terms with their weights. Weights are 1, or [`NAME`] for names, until
/// [`weigh`] multiplies them by rarity.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    terms: Vec<(u64, f32)>,
}

impl Target {
    pub(super) fn of(text: &str) -> Self {
        let mut terms: Vec<(u64, f32)> = Vec::new();
        each_term(text, &mut |term| {
            terms.extend(term.hash.map(|hash| (hash, if term.is_name { NAME } else { 1.0 })));
        });
        terms.sort_unstable_by(|left, right| left.0.cmp(&right.0).then(right.1.total_cmp(&left.1)));
        terms.dedup_by_key(|(hash, _)| *hash);
        Self { terms }
    }

    /// The targets of a text: the text itself, or at most `most` sentences of a long one.
    pub(super) fn parts(text: &str, most: usize) -> Vec<Self> {
        if utf16_len(text) <= WINDOW {
            return vec![Self::of(text)];
        }
        sentences(text).take(most).map(Self::of).collect()
    }

    pub(super) fn weight(&self) -> f32 {
        self.terms.iter().map(|(_, weight)| weight).sum()
    }
}

/// Multiplies the weights of `targets` by how rare their terms are in the statements of a conversation.
pub(super) fn weigh<'a>(targets: impl Iterator<Item = &'a mut Target>, statements: &[Statement]) {
    let targets: Vec<&mut Target> = targets.collect();
    // For each term, how many statements have it and which was the last.
    let mut counts: ByTerm<(u32, usize)> = ByTerm::default();
    counts.extend(targets.iter().flat_map(|target| &target.terms).map(|(hash, _)| (*hash, (0, 0))));
    let step = statements.len().div_ceil(MOST_COUNTED).max(1);
    let counted = statements.len().div_ceil(step);
    for (number, statement) in (1..).zip(statements.iter().step_by(step)) {
        each_term(&statement.text, &mut |term| {
            if let Some((count, last)) = term.hash.and_then(|hash| counts.get_mut(&hash))
                && *last != number
            {
                *count += 1;
                *last = number;
            }
        });
    }
    let all = counted as f32 + 1.0;
    let rarity = |hash: &u64| (all / (counts.get(hash).map_or(0, |(count, _)| *count) as f32 + 0.5)).ln();
    let least = if counted < FEW_STATEMENTS { 0.0 } else { COMMON * all.ln() };
    for target in targets {
        target.terms.iter_mut().for_each(|(hash, weight)| *weight *= rarity(hash));
        target.terms.retain(|(_, weight)| *weight > least);
    }
}

/// The target terms in a text, and the windows and lines that contain them.
#[derive(Debug)]
pub(super) struct Coverage {
    /// UTF-16 units that were read.
    units: usize,
    lines: u32,
    by_term: ByTerm<Occurrences>,
    /// One bit for each hash of a term, by some of its bits. Most words of a text are not target terms.
    filter: Vec<u64>,
}

/// Number of bits of [`Coverage::filter`], as a power of two.
const FILTER_BITS: u32 = 15;

/// Where the bit of a hash is.
fn filter_bit(hash: u64) -> (usize, u64) {
    let bits = hash >> (64 - FILTER_BITS);
    ((bits / 64) as usize, 1 << (bits % 64))
}

/// The windows and lines that contain a term. Lines are marked with [`LINE`].
#[derive(Debug, Default)]
struct Occurrences {
    places: Vec<u32>,
    /// The number after the newest window and the newest line.
    next_window: u32,
    next_line: u32,
}

const LINE: u32 = 1 << 31;

impl Occurrences {
    /// Adds a window or line that was not added before. Both come in ascending order.
    fn add(&mut self, number: u32, is_line: bool) {
        let next = if is_line { &mut self.next_line } else { &mut self.next_window };
        if number >= *next {
            *next = number + 1;
            self.places.push(number | if is_line { LINE } else { 0 });
        }
    }
}

impl Coverage {
    /// An empty index of the terms of `targets`.
    pub(super) fn looking_for<'a>(targets: impl Iterator<Item = &'a Target>) -> Self {
        let mut by_term = ByTerm::default();
        let mut filter = vec![0; (1 << FILTER_BITS) / 64];
        for (hash, _) in targets.flat_map(|target| &target.terms) {
            let (word, bit) = filter_bit(*hash);
            filter[word] |= bit;
            by_term.entry(*hash).or_insert_with(Occurrences::default);
        }
        Self { units: 0, lines: 0, by_term, filter }
    }

    /// Adds `text`. Windows continue from the text before it.
    pub(super) fn read(&mut self, text: &str) {
        let mut sought = Vec::new();
        for line in lines_outside_lists(text) {
            sought.clear();
            let mut words = Words::default();
            each_term(line, &mut |term| {
                words.add(&term);
                let may_be = |hash: &u64| {
                    let (word, bit) = filter_bit(*hash);
                    self.filter[word] & bit != 0
                };
                sought.extend(term.hash.filter(may_be).map(|hash| (hash, term.at)));
            });
            if !words.are_list() {
                self.add(line, &sought);
            }
        }
    }

    /// Adds a line with the hashes and offsets of its terms that may be in a target.
    fn add(&mut self, line: &str, terms: &[(u64, usize)]) {
        let length = utf16_len(line);
        let own = (length <= LONGEST_LINE).then_some(self.lines);
        self.lines += u32::from(own.is_some());
        for (hash, at) in terms {
            let Some(occurrences) = self.by_term.get_mut(hash) else { continue };
            // Divisions are slow, and most lines have as many bytes as units.
            let at = if length == line.len() { *at } else { at * length / line.len().max(1) };
            let window = ((self.units + at) / STEP) as u32;
            // Windows overlap by half, so each term is in two of them.
            [window, window + 1].into_iter().for_each(|window| occurrences.add(window, false));
            own.into_iter().for_each(|line| occurrences.add(line, true));
        }
        self.units += length + 1;
    }

    /// Ends the current windows, since the next text is separate.
    pub(super) fn part(&mut self) {
        self.units += WINDOW;
    }

    fn windows(&self) -> u32 {
        (self.units / STEP) as u32 + 2
    }

    /// Whether one statement contains at least `part` (from 0 to 1) of the weight of `target`.
    pub(super) fn holds(&self, target: &Target, part: f32, sums: &mut Sums) -> bool {
        let whole = target.weight();
        let occurring = || target.terms.iter().filter_map(|(hash, weight)| Some((self.by_term.get(hash)?, weight)));
        // No statement can have more than all terms that occur anywhere.
        let most: f32 = occurring().filter(|(occurrences, _)| !occurrences.places.is_empty()).map(|(_, one)| one).sum();
        if whole <= 0.0 || most / whole < part {
            return part <= 0.0;
        }
        let windows = self.windows();
        sums.by_statement.resize((windows + self.lines) as usize, 0.0);
        let mut is_held = false;
        'terms: for (occurrences, weight) in occurring() {
            for place in &occurrences.places {
                let statement = if place & LINE == 0 { *place } else { windows + (place ^ LINE) };
                let sum = &mut sums.by_statement[statement as usize];
                if *sum == 0.0 {
                    sums.touched.push(statement);
                }
                *sum += weight;
                is_held = *sum / whole >= part;
                if is_held {
                    break 'terms;
                }
            }
        }
        sums.touched.drain(..).for_each(|statement| sums.by_statement[statement as usize] = 0.0);
        is_held
    }
}

/// Buffers that are reused from one target to the next.
#[derive(Debug, Default)]
pub(super) struct Sums {
    by_statement: Vec<f32>,
    touched: Vec<u32>,
}

/// Whether a line is only a list of names.
pub(super) fn is_bag(line: &str) -> bool {
    let mut words = Words::default();
    each_term(line, &mut |term| words.add(&term));
    words.are_list()
}

/// The number of words of a line, and of names among them.
#[derive(Debug, Default)]
struct Words {
    all: usize,
    names: usize,
}

impl Words {
    fn add(&mut self, term: &Term) {
        self.all += usize::from(!term.is_directory);
        self.names += usize::from(!term.is_directory && term.is_name && !term.is_number);
    }

    /// Whether the line is only a list of names.
    fn are_list(&self) -> bool {
        self.names * 100 >= self.all * NAMES_PERCENT
    }
}

/// The lines of a text without its lists of files.
fn lines_outside_lists(text: &str) -> impl Iterator<Item = &str> {
    let mut closing = None;
    lines(text).filter(move |line| {
        let tag = trim(line);
        let opened = FILE_BLOCKS.iter().find(|(open, _)| *open == tag).map(|(_, close)| *close);
        let is_inside = closing.is_some() || opened.is_some();
        closing = if closing == Some(tag) { None } else { opened.or(closing) };
        !is_inside
    })
}

/// A word, name or number of a text.
struct Term {
    /// Its hash; `None` for short words, which are ignored.
    hash: Option<u64>,
    is_name: bool,
    /// Whether it is a number, or a directory of a path. The path counts as one word, by its last part.
    is_number: bool,
    is_directory: bool,
    /// Its offset in bytes.
    at: usize,
}

fn each_term(text: &str, found: &mut impl FnMut(Term)) {
    tokens(text).for_each(|token| read_token(token, found));
}

fn read_token(token: Token<'_>, found: &mut impl FnMut(Term)) {
    let Token { text, at, is_ascii, kinds, inner } = token;
    if is_ascii && kinds & (HYPHEN | DOT | SLASH | SIGN | UNDERSCORE) == 0 {
        let is_name = kinds & DIGIT != 0 || inner & CAPITAL != 0 && kinds & SMALL != 0;
        let is_number = is_name && kinds & (SMALL | CAPITAL) == 0;
        let bytes = text.as_bytes();
        let hash = match is_name {
            true => Some(hash_of_ascii(bytes)),
            false if bytes.len() < 3 => None,
            false => {
                let singular = if bytes.len() > 3 { bytes.strip_suffix(b"s").unwrap_or(bytes) } else { bytes };
                Some(hash_of_ascii(&singular[..singular.len().min(BEGINNING)]))
            }
        };
        return found(Term { hash, is_name, is_number, is_directory: false, at });
    }
    let token = trimmed(text, |byte| matches!(byte, b'-' | b'.' | b'/' | b'@' | b'#' | b'_'));
    if token.is_empty() {
        return;
    }
    if !is_ascii && may_be_unspaced(token) && token.chars().any(is_unspaced) {
        let characters: Vec<char> = token.chars().collect();
        for pair in characters.windows(2) {
            found(Term {
                hash: Some(hash_of_others(pair.iter().copied())),
                is_name: false,
                is_number: false,
                is_directory: false,
                at,
            });
        }
        return;
    }
    if is_name(token) {
        let (directories, base) = token.rsplit_once('/').unwrap_or(("", token));
        for part in directories.split('/').filter(|part| part.len() >= 3) {
            found(Term { hash: Some(hash(part)), is_name: is_name(part), is_number: false, is_directory: true, at });
        }
        let is_number = !base.contains(char::is_alphabetic);
        return found(Term { hash: Some(hash(base)), is_name: true, is_number, is_directory: false, at });
    }
    for word in token.split(['-', '/', '@', '#']).filter(|word| !word.is_empty()) {
        let count = if is_ascii { word.len() } else { word.chars().count() };
        let singular = if count > 3 { word.strip_suffix('s').unwrap_or(word) } else { word };
        found(Term {
            hash: (count >= 3).then(|| hash(beginning(singular))),
            is_name: false,
            is_number: false,
            is_directory: false,
            at,
        });
    }
}

/// Whether a token is a name or a number: it has digits, marks or capitals inside.
fn is_name(token: &str) -> bool {
    let bytes = token.as_bytes();
    let inside = bytes.get(1..).unwrap_or_default();
    bytes.iter().any(u8::is_ascii_digit)
        || inside.iter().any(|byte| matches!(byte, b'_' | b'.'))
        || inside.iter().filter(|byte| **byte == b'/').count() > 1
        || inside.iter().any(u8::is_ascii_uppercase) && bytes.iter().any(u8::is_ascii_lowercase)
}

/// The first [`BEGINNING`] characters of a word.
fn beginning(word: &str) -> &str {
    word.char_indices().nth(BEGINNING).map_or(word, |(end, _)| &word[..end])
}

/// The hash of a word, ignoring case.
fn hash(word: &str) -> u64 {
    if word.is_ascii() { hash_of_ascii(word.as_bytes()) } else { hash_of_others(word.chars()) }
}

fn hash_of_others(characters: impl Iterator<Item = char>) -> u64 {
    characters.fold(SEED, mixed_ignoring_case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, sought: &str, is_told: bool) {
        let target = Target::of(sought);
        let mut coverage = Coverage::looking_for([&target].into_iter());
        coverage.read(text);
        assert_eq!(coverage.holds(&target, 0.6, &mut Sums::default()), is_told, "{sought:?} in {text:?}");
    }

    #[test]
    fn other_words_tell_the_same() {
        let request = "Please investigate why the lint job fails on CI for the checkpoint branch";
        check("1. The user asked to investigate why linting fails on CI (checkpoint branch, lint job).", request, true);
        check("1. The user asked for a review of the script.", request, false);
        check("- investigate the lint job\n- it fails on the CI\n- branch: checkpoint", request, true);
        let far = "and this line is about other things. ".repeat(40);
        check(&format!("investigate the lint job\n{far}\nfails CI, checkpoint branch"), request, false);
        check("パーサーのテストを追加してください。", "パーサーのテストを追加", true);
        check("パーサーを直す。", "データベースの移行を元に戻す", false);
        check("edited src/core/parser.rs for the port", "port parser.rs", true);
    }

    #[test]
    fn lists_of_names_state_nothing() {
        let sought = "move parse_line from src/lexer.rs to src/parser.rs";
        check("Names in use: parse_line, move_to, from_str, src/lexer.rs, src/parser.rs", sought, false);
        check("- parse_line\n- src/lexer.rs\n- src/parser.rs", sought, false);
        check("<read-files>\nmove parse_line from src/lexer.rs to src/parser.rs\n</read-files>", sought, false);
        check("</read-files>\nmove parse_line from src/lexer.rs to src/parser.rs", sought, true);
    }

    proptest::proptest! {
        #[test]
        fn any_text_tells_itself(text in "\\PC*|[a-zA-Z0-9_/.:é中日#-]{0,900}|([a-z]{1,9} |\n){0,300}") {
            let target = Target::of(&text);
            let mut coverage = Coverage::looking_for([&target].into_iter());
            coverage.read(&text);
            let holds = |part| coverage.holds(&target, part, &mut Sums::default());
            proptest::prop_assert!(!holds(1.01));
            let is_short = !text.contains(char::is_control) && utf16_len(&text) <= WINDOW;
            if is_short && !is_bag(&text) && target.weight() > 0.0 {
                proptest::prop_assert!(holds(0.999));
            }
        }
    }
}
