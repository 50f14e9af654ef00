//! Measurement: how much of each expected item a text contains.

use super::coverage::{Coverage, Sums, Target};
use super::finder::{Finder, Pattern};
use super::text::one_line;
use crate::text::{prefix_utf16, utf16_len};

/// Classes of items.
pub(super) const CLASSES: usize = 6;

/// Part of the weighted terms of a line that one statement must have to count as a paraphrase.
const LINE_PART: f32 = 0.6;
/// The same for a statement of the conversation, which may be paraphrased with less detail.
const STATEMENT_PART: f32 = 0.5;
/// Part of a long text that must be present for it to count as partly there.
const LEAST_PART: f32 = 0.25;

/// The class of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    File,
    Identifier,
    Error,
    Request,
    Constraint,
    Statement,
}

impl Class {
    /// Weights of the classes in the score, in the order of the classes. Requests and statements count
    /// most, lists of names nearly nothing.
    const SCORES: [f64; CLASSES] = [0.5, 0.25, 1.0, 3.0, 1.0, 4.0];
}

/// How much of each class is still there, from 0 to 1; 1 if there was nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Retention {
    /// Files that tools touched, and paths that were named repeatedly.
    pub files: f64,
    /// Symbols, hashes, tickets and the like.
    pub identifiers: f64,
    /// Error lines. Resolved errors weigh little.
    pub errors: f64,
    /// Requests, including those that earlier compactions forgot. One that is partly there counts half.
    pub requests: f64,
    /// Constraints and preferences, measured in the same way.
    pub constraints: f64,
    /// The most informative statements: the part, by weight, that is there.
    pub statements: f64,
    /// The weight of each class in the score.
    counts: [f64; CLASSES],
}

impl Retention {
    /// The weighted mean of the classes that have items. Statements count 4, requests 3, errors and
    /// constraints 1, files 0.5, identifiers 0.25; if all errors are resolved, they count less.
    pub fn score(&self) -> f64 {
        let figures = [self.files, self.identifiers, self.errors, self.requests, self.constraints, self.statements];
        let all: f64 = self.counts.iter().sum();
        let held: f64 = figures.iter().zip(self.counts).map(|(figure, count)| figure * count).sum();
        if all > 0.0 { held / all } else { 1.0 }
    }
}

/// How much of an item is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Missing,
    Part,
    There,
}

impl State {
    fn part(self) -> f64 {
        match self {
            Self::Missing => 0.0,
            Self::Part => 0.5,
            Self::There => 1.0,
        }
    }
}

/// Something that a text should contain.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) class: Class,
    pub(super) weight: f64,
    /// The texts that identify it literally.
    pub(super) key: Option<MatchKey>,
    /// The targets for paraphrases, sentence by sentence.
    pub(super) targets: Vec<Target>,
}

impl Item {
    fn is_name(&self) -> bool {
        matches!(self.class, Class::File | Class::Identifier)
    }

    fn patterns(&self) -> impl Iterator<Item = Pattern<'_>> {
        let pattern = |text| Pattern { text, is_word: self.is_name() };
        self.key.iter().flat_map(|key| std::iter::once(&key.first).chain(&key.rest)).map(move |text| pattern(text))
    }

    /// The state, given which of its patterns were found.
    fn state(&self, found: &mut impl Iterator<Item = bool>, coverage: &Coverage, sums: &mut Sums) -> State {
        let has_first = self.key.is_some() && found.next().unwrap_or(false);
        let rest = self.key.as_ref().map_or(0, |key| key.rest.len());
        let has_rest = found.take(rest).filter(|is_there| !is_there).count() == 0;
        if has_first && has_rest {
            return State::There;
        }
        let most = if self.class == Class::Statement { STATEMENT_PART } else { LINE_PART };
        let all: f32 = self.targets.iter().map(Target::weight).sum();
        let is_covered = |target: &&Target| coverage.holds(target, most, sums);
        let covered: f32 = self.targets.iter().filter(is_covered).map(Target::weight).sum();
        match () {
            () if all > 0.0 && covered >= LINE_PART * all => State::There,
            () if has_first || all > 0.0 && covered >= LEAST_PART * all => State::Part,
            () => State::Missing,
        }
    }
}

/// The finder of the texts that identify `items` literally. It searches texts on one line.
pub(super) fn finder_of<'a>(items: impl Iterator<Item = &'a Item>) -> Finder<'a> {
    Finder::new(items.flat_map(Item::patterns).collect())
}

/// The state of each of `items`. `coverage` has the terms of the texts, and `finder`, built from these items, the
/// patterns that were found in them.
pub(super) fn states<'a>(items: impl Iterator<Item = &'a Item>, coverage: &Coverage, finder: Finder<'_>) -> Vec<State> {
    let mut found = finder.found().into_iter();
    let mut sums = Sums::default();
    items.map(|item| item.state(&mut found, coverage, &mut sums)).collect()
}

/// Sums over items.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Tally {
    expected: [f64; CLASSES],
    held: [f64; CLASSES],
}

impl Tally {
    pub(super) fn add(&mut self, item: &Item, state: State) {
        self.expected[item.class as usize] += item.weight;
        self.held[item.class as usize] += item.weight * state.part();
    }

    /// Adds an item that was forgotten and can no longer be there.
    pub(super) fn add_forgotten(&mut self, class: Class, weight: f64) {
        self.expected[class as usize] += weight;
    }

    /// Changes the state of an item from `before` to `state`, if that is better.
    pub(super) fn change(&mut self, item: &Item, before: State, state: State) {
        let more = state.part() - before.part();
        self.held[item.class as usize] += item.weight * more.max(0.0);
    }

    pub(super) fn retention(&self) -> Retention {
        let figure = |class: Class| {
            let (held, expected) = (self.held[class as usize], self.expected[class as usize]);
            // The order of a sum affects its last digits, so they are rounded away.
            if expected > 0.0 { (held / expected * 1e9).round() / 1e9 } else { 1.0 }
        };
        Retention {
            files: figure(Class::File),
            identifiers: figure(Class::Identifier),
            errors: figure(Class::Error),
            requests: figure(Class::Request),
            constraints: figure(Class::Constraint),
            statements: figure(Class::Statement),
            counts: std::array::from_fn(|class| Class::SCORES[class] * self.expected[class].min(1.0)),
        }
    }
}

/// Marks a cut.
const CUT: char = '\u{2026}';

/// The texts that identify a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MatchKey {
    /// Its first words; without them it is missing.
    pub(super) first: String,
    /// Texts that must also be present if the line is whole; empty if the first words are all of it.
    pub(super) rest: Vec<String>,
}

impl MatchKey {
    /// The key of an error. Its first words are enough, and the position that a compiler names is
    /// ignored.
    pub(super) fn error(line: &str, units: usize) -> Self {
        let line = line.split(" --> ").next().unwrap_or(line);
        Self { first: fingerprint(line, units), rest: Vec::new() }
    }

    /// The key of a request or note. If it was cut before it was stored, its pieces are searched for.
    pub(super) fn text(text: &str, units: usize) -> Self {
        let line = one_line(text);
        let is_short = utf16_len(&line) <= units && !line.contains(CUT);
        let pieces = line.split(CUT).map(str::trim).filter(|piece| !piece.is_empty());
        let rest = if is_short { Vec::new() } else { pieces.map(str::to_owned).collect() };
        Self { first: fingerprint(text, units), rest }
    }
}

/// The first units of a text on one line, up to the first cut.
pub(super) fn fingerprint(text: &str, units: usize) -> String {
    // Runs of white space become shorter, so more text is read than needed.
    let line = one_line(prefix_utf16(text, 8 * units));
    let line = line.split(CUT).next().unwrap_or_default();
    prefix_utf16(line, units).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_whole_with_all_of_its_words() {
        let long = "first words, and a wish at the end";
        for (text, searched, expected) in [
            (long, long, (true, false)),
            (long, "x first words, and a wish at the end y", (true, false)),
            (long, "first words, and a w\u{2026}", (true, true)),
            (long, "other words", (false, false)),
            ("first words\u{2026} and the end", "first words in between and the end", (true, false)),
            ("first words\u{2026} and the end", "first words in between", (true, true)),
            ("short", "short", (true, false)),
        ] {
            let key = MatchKey::text(text, 11);
            let has_first = searched.contains(&key.first);
            let has_rest = key.rest.iter().all(|piece| searched.contains(piece));
            assert_eq!((has_first, has_first && !has_rest), expected, "{text} in {searched}");
        }
        assert_eq!(MatchKey::error("error: a --> src/a.rs:1", 80).first, "error: a");
    }
}
