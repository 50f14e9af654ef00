//! Measuring: how much of what is expected texts hold, item by item.

use super::coverage::{Coverage, Sums, Target};
use super::finder::{Finder, Pattern};
use super::match_key::MatchKey;

/// Classes of items.
pub(super) const CLASSES: usize = 6;

/// Part of the weighted terms of a line that one statement of a text must have to tell it in other words.
const SAID: f32 = 0.6;
/// The same of a statement of the conversation, which may be told with less detail.
const STATED: f32 = 0.5;
/// Part of a long text whose sentences must be told, so that it counts as told in part.
const PART: f32 = 0.25;

/// What an item is.
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
    /// How much each class counts in the score, in the order of the classes. What was asked and said
    /// counts most, lists of names nearly nothing.
    const SCORES: [f64; CLASSES] = [0.5, 0.25, 1.0, 3.0, 1.0, 4.0];
}

/// How much of what was held is still there, from 0 to 1; 1 where there was nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Retention {
    /// Files that tools touched, and paths that were named again and again.
    pub files: f64,
    /// Symbols, hashes, tickets and the like.
    pub identifiers: f64,
    /// Lines of errors; those that were resolved weigh little.
    pub errors: f64,
    /// Requests, those included that earlier compactions forgot; one that is told in part counts half.
    pub requests: f64,
    /// Constraints and preferences; likewise.
    pub constraints: f64,
    /// What was said: the part, by weight, of the most informative statements that is told.
    pub statements: f64,
    /// How much each class counts in the score.
    counts: [f64; CLASSES],
}

impl Retention {
    /// One figure: the weighted mean of the classes that have something to keep. Statements count 4,
    /// requests 3, errors and constraints 1, files 0.5, identifiers 0.25; errors that were resolved
    /// count less where no other ones are.
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

/// What a text is expected to hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Item {
    pub(super) class: Class,
    pub(super) weight: f64,
    /// What it is known by literally.
    pub(super) key: Option<MatchKey>,
    /// What of it is told in other words: sentence by sentence.
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
        let most = if self.class == Class::Statement { STATED } else { SAID };
        let all: f32 = self.targets.iter().map(Target::weight).sum();
        let is_covered = |target: &&Target| coverage.share(target, sums) >= most;
        let covered: f32 = self.targets.iter().filter(is_covered).map(Target::weight).sum();
        match () {
            () if all > 0.0 && covered >= SAID * all => State::There,
            () if has_first || all > 0.0 && covered >= PART * all => State::Part,
            () => State::Missing,
        }
    }
}

/// How much of each of `items` texts hold: `told` is what they state, and `search` looks through each of
/// them on one line.
pub(super) fn states<'a>(
    items: impl Iterator<Item = &'a Item> + Clone,
    coverage: &Coverage,
    search: impl FnOnce(&mut Finder<'a>),
) -> Vec<State> {
    let mut finder = Finder::new(items.clone().flat_map(Item::patterns).collect());
    search(&mut finder);
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

    /// Adds what nothing can hold any more.
    pub(super) fn add_forgotten(&mut self, class: Class, weight: f64) {
        self.expected[class as usize] += weight;
    }

    /// Takes an item whose state was `before` to be in `state`.
    pub(super) fn change(&mut self, item: &Item, before: State, state: State) {
        let more = state.part() - before.part();
        self.held[item.class as usize] += item.weight * more.max(0.0);
    }

    pub(super) fn retention(&self) -> Retention {
        let figure = |class: Class| {
            let (held, expected) = (self.held[class as usize], self.expected[class as usize]);
            // Sums in another order differ in their last digits.
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
