//! Rules with the same keywords, which are tried together.
//!
//! A keyword such as `token` is common in conversations, nearly always without a secret. One automaton then tells for
//! all rules of the keyword that none matches. The pattern of a rule is compiled by itself only where it matches,
//! because its groups are then needed.

use std::sync::{Mutex, OnceLock, PoisonError};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Anchored, Input, MatchKind, PatternSet};

use super::check::Check;
use super::rules::Rule;

/// Maximum bytes of the states that an automaton keeps.
const CACHE_BYTES: usize = 1 << 18;
/// Maximum number of idle states that are kept for each group.
const MAX_IDLE: usize = 4;

/// Rules that are tried at the same keywords.
#[derive(Debug)]
pub(super) struct Group {
    /// The rules with their indexes.
    rules: Vec<(usize, &'static Rule)>,
    /// Compiled when a text first contains one of the keywords.
    automaton: OnceLock<Option<DFA>>,
}

impl Group {
    /// The group of one rule.
    pub(super) fn new(index: usize, rule: &'static Rule) -> Self {
        Self { rules: vec![(index, rule)], automaton: OnceLock::new() }
    }

    /// Adds a rule if it is tried at the same places as the others. Returns whether it is.
    pub(super) fn add(&mut self, index: usize, rule: &'static Rule) -> bool {
        let first = self.first();
        let is_value = |rule: &Rule| !matches!(rule.check, Check::PrivateKey | Check::Issued);
        let is_alike = rule.keywords == first.keywords && rule.before == first.before;
        let is_added = is_alike && is_value(rule) && is_value(first);
        if is_added {
            self.rules.push((index, rule));
        }
        is_added
    }

    /// Indexes of the rules.
    pub(super) fn rules(&self) -> impl Iterator<Item = usize> {
        self.rules.iter().map(|(index, _)| *index)
    }

    /// The places at which a match may begin whose keyword begins at `keyword`.
    pub(super) fn starts(&self, keyword: usize) -> impl Iterator<Item = usize> {
        self.first().before.iter().filter_map(move |before| keyword.checked_sub(*before))
    }

    /// The rules that match at `start`, as far as the reach of their check shows.
    pub(super) fn matching<'s>(&self, text: &str, start: usize, state: &'s mut Option<SearchState>) -> Matching<'s> {
        let check = self.first().check;
        match check {
            Check::PrivateKey => return Matching::Unknown,
            Check::Issued if begins_within_word(text, start) => return Matching::None,
            _ => {}
        }
        let Some(from_start) = text.get(start..) else { return Matching::None };
        let Some(automaton) = self.automaton.get_or_init(|| self.compiled()) else { return Matching::Unknown };
        let SearchState { cache, matched } = state.get_or_insert_with(|| SearchState::new(automaton));
        matched.clear();
        let near = &from_start[..from_start.floor_char_boundary(check.reach())];
        let input = Input::new(near).anchored(Anchored::Yes);
        match automaton.try_which_overlapping_matches(cache, &input, matched) {
            Ok(()) if matched.is_empty() => Matching::None,
            Ok(()) => Matching::Rules(matched),
            // An automaton knows the ends of words in ASCII texts alone.
            Err(_) => Matching::Unknown,
        }
    }

    fn first(&self) -> &'static Rule {
        self.rules[0].1
    }

    /// The automaton for all patterns. A test compiles those of the bundled rules.
    fn compiled(&self) -> Option<DFA> {
        let patterns: Vec<String> = self.rules.iter().map(|(_, rule)| anchored(rule.pattern)).collect();
        let settings = DFA::config()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        DFA::builder().configure(settings).build_many(&patterns).ok()
    }
}

/// The rules of a group that match at a place.
#[derive(Debug)]
pub(super) enum Matching<'s> {
    None,
    /// Each of them may.
    Unknown,
    Rules(&'s PatternSet),
}

impl Matching<'_> {
    /// Whether the rule at `place` in the group may match.
    pub(super) fn contains(&self, place: usize) -> bool {
        match self {
            Self::None => false,
            Self::Unknown => true,
            Self::Rules(matched) => matched.iter().any(|matched| matched.as_usize() == place),
        }
    }
}

/// `pattern` at the beginning of a text.
pub(super) fn anchored(pattern: &str) -> String {
    format!("^(?:{pattern})")
}

/// Whether a letter, digit or underscore precedes `start`.
fn begins_within_word(text: &str, start: usize) -> bool {
    text.get(..start)
        .is_none_or(|before| before.ends_with(|character: char| character.is_alphanumeric() || character == '_'))
}

/// What the search with one automaton needs and keeps.
#[derive(Debug)]
pub(super) struct SearchState {
    cache: Cache,
    matched: PatternSet,
}

impl SearchState {
    fn new(automaton: &DFA) -> Self {
        Self { cache: automaton.create_cache(), matched: PatternSet::new(automaton.pattern_len()) }
    }
}

/// The states of searches between texts. Each text takes those of all groups, so that threads do not wait for each
/// other at every keyword.
#[derive(Debug, Default)]
pub(super) struct SearchStates {
    idle: Mutex<Vec<Vec<Option<SearchState>>>>,
}

impl SearchStates {
    /// States for `groups` groups, with what an earlier text has left there.
    pub(super) fn take(&self, groups: usize) -> Vec<Option<SearchState>> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| std::iter::repeat_with(|| None).take(groups).collect())
    }

    /// Keeps the states for the next text.
    pub(super) fn give_back(&self, states: Vec<Option<SearchState>>) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(states);
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::super::{Redactor, samples};
    use super::*;

    #[test]
    fn a_group_tells_what_each_of_its_patterns_tells() {
        let redactor = Redactor::new(&[], &[]);
        let whole = |rule: usize| Regex::new(&anchored(&redactor.rules[rule].pattern)).unwrap();
        let patterns: Vec<Regex> = (0..redactor.rules.len()).map(whole).collect();
        let mut states = redactor.states.take(redactor.groups.len());
        let (mut trials, mut matches) = (0, 0);
        for sample in samples::secrets().into_iter().chain(samples::later_secrets()) {
            redactor.keywords.find(&sample.text, |hit| {
                let number = redactor.trials[hit.keyword];
                let group = &redactor.groups[number];
                for start in group.starts(hit.start) {
                    let Some(near) = sample.text.get(start..) else { continue };
                    let near = &near[..near.floor_char_boundary(group.first().check.reach())];
                    let matching = group.matching(&sample.text, start, &mut states[number]);
                    if matches!(matching, Matching::Unknown) || group.first().check == Check::Issued {
                        continue;
                    }
                    for (place, rule) in group.rules().enumerate() {
                        let is_match = patterns[rule].is_match(near);
                        assert_eq!(matching.contains(place), is_match, "{} at {near}", redactor.rules[rule].name);
                        trials += 1;
                        matches += usize::from(is_match);
                    }
                }
            });
        }
        assert!(trials > 1000 && matches > 50, "{matches} of {trials}");
    }

    #[test]
    fn every_group_has_an_automaton() {
        let redactor = Redactor::new(&[], &[]);
        let members: usize = redactor.groups.iter().map(|group| group.rules().count()).sum();
        assert_eq!(members, redactor.rules.len());
        assert!(redactor.groups.iter().all(|group| group.compiled().is_some()));
        assert!(redactor.groups.iter().any(|group| group.rules().count() > 3));
    }

    #[test]
    fn states_are_used_again_and_bounded() {
        let states = SearchStates::default();
        for _ in 0..2 * MAX_IDLE {
            states.give_back(states.take(3));
        }
        assert_eq!(states.idle.lock().unwrap().len(), 1);
        let taken: Vec<_> = (0..2 * MAX_IDLE).map(|_| states.take(3)).collect();
        taken.into_iter().for_each(|taken| states.give_back(taken));
        assert_eq!(states.idle.lock().unwrap().len(), MAX_IDLE);
    }
}
