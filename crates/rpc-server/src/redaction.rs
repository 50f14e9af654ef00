//! Secrets are taken out of what goes to a summarizer and of what comes back, since a summary
//! lives longer and travels further than the conversation that it is made from.
//!
//! Secrets are known by their form: what issuers document (`rules`), and values that are
//! assigned to names like `password`. What has no form is not found. Nothing is stored changed
//! but the summary itself: entries keep what they hold.

mod check;
mod rules;
mod settings;
mod texts;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, OnceLock};

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;

use rules::{Check, RULES};
pub use settings::{ExtraRule, RedactionSettings, WrongRedaction};
pub use texts::RedactedTexts;

/// Replacing one secret can free another that it touched. Texts that would need more rounds than
/// this are made for it.
const MOST_ROUNDS: usize = 8;
const MARK: &str = "[redacted:";

/// Finds secrets in texts and puts marks in their place.
#[derive(Debug)]
pub struct Redactor {
    rules: Vec<Compiled>,
    /// Finds the keywords of all rules at once.
    keywords: Option<AhoCorasick>,
    /// The rule that each keyword belongs to.
    rule_of_keyword: Vec<usize>,
}

#[derive(Debug)]
struct Compiled {
    name: Cow<'static, str>,
    pattern: Cow<'static, str>,
    needs_keyword: bool,
    check: Check,
    /// Made when a text first holds one of the keywords.
    regex: OnceLock<Option<Regex>>,
}

/// A text without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text, with `[redacted:<rule>]` where secrets stood.
    pub text: Cow<'t, str>,
    /// How many secrets were found, by rule.
    pub counts: BTreeMap<String, u32>,
}

impl Redactor {
    /// The one with the bundled rules, made once.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Redactor>> = LazyLock::new(|| Arc::new(Redactor::new(&[], &[])));
        Arc::clone(&SHARED)
    }

    /// One with the bundled rules but those that `disabled` names, and with `extra` ones.
    pub fn new(disabled: &[String], extra: &[ExtraRule]) -> Self {
        let bundled = RULES.iter().filter(|rule| !disabled.iter().any(|name| name == rule.name));
        let mut rules: Vec<Compiled> = Vec::new();
        let (mut keywords, mut rule_of_keyword) = (Vec::<&str>::new(), Vec::new());
        for rule in bundled {
            keywords.extend(rule.keywords);
            rule_of_keyword.resize(keywords.len(), rules.len());
            rules.push(Compiled::new(Cow::Borrowed(rule.name), Cow::Borrowed(rule.pattern), true, rule.check));
        }
        for ExtraRule { name, pattern } in extra {
            rules.push(Compiled::new(Cow::Owned(name.clone()), Cow::Owned(pattern.clone()), false, Check::None));
        }
        let automaton =
            AhoCorasick::builder().ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA)).build(keywords);
        Self { rules, keywords: automaton.ok(), rule_of_keyword }
    }

    /// `text` with marks in the place of secrets. Redacting a second time changes nothing more; the
    /// time is in proportion to the text.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        let mut redacted = Redacted { text: Cow::Borrowed(text), counts: BTreeMap::new() };
        for _ in 0..MOST_ROUNDS {
            let found = self.find(&redacted.text);
            if found.is_empty() {
                break;
            }
            redacted.text = Cow::Owned(self.replace(&redacted.text, &found));
            for (rule, _) in found {
                *redacted.counts.entry(self.rules[rule].name.to_string()).or_default() += 1;
            }
        }
        redacted
    }

    /// Secrets with their rules, in the order of the text, none overlapping another.
    fn find(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let marks = marks(text);
        let is_free = |range: &Range<usize>| {
            let at = marks.partition_point(|mark| mark.end <= range.start);
            marks.get(at).is_none_or(|mark| mark.start >= range.end)
        };
        let mut found = Vec::new();
        for rule in self.candidates(text) {
            let secrets = self.rules[rule].find(text).into_iter().filter(is_free);
            found.extend(secrets.map(|range| (rule, range)));
        }
        found.sort_by_key(|(rule, range)| (range.start, *rule));
        found.dedup_by(|(_, later), (_, earlier)| {
            let overlaps = later.start < earlier.end;
            if overlaps {
                earlier.end = earlier.end.max(later.end);
            }
            overlaps
        });
        found
    }

    /// Rules of which `text` holds a keyword, and those that have none.
    fn candidates(&self, text: &str) -> Vec<usize> {
        let mut is_candidate: Vec<bool> = self.rules.iter().map(|rule| !rule.needs_keyword).collect();
        if let Some(keywords) = &self.keywords {
            for found in keywords.find_overlapping_iter(text) {
                is_candidate[self.rule_of_keyword[found.pattern().as_usize()]] = true;
            }
        }
        (0..self.rules.len()).filter(|rule| is_candidate[*rule]).collect()
    }

    fn replace(&self, text: &str, found: &[(usize, Range<usize>)]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (rule, range) in found {
            out.push_str(&text[done..range.start]);
            out.push_str(MARK);
            out.push_str(&self.rules[*rule].name);
            out.push(']');
            done = range.end;
        }
        out.push_str(&text[done..]);
        out
    }
}

impl Compiled {
    fn new(name: Cow<'static, str>, pattern: Cow<'static, str>, needs_keyword: bool, check: Check) -> Self {
        Self { name, pattern, needs_keyword, check, regex: OnceLock::new() }
    }

    /// Where the rule's secrets stand in `text`.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        // Bundled patterns are compiled by a test, those of the settings when they are read.
        let Some(regex) = self.regex.get_or_init(|| Regex::new(&self.pattern).ok()) else {
            return Vec::new();
        };
        let ranges = regex.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(0)));
        let secrets = ranges.map(|found| found.range()).filter(|range| !range.is_empty());
        secrets.filter(|range| self.check.passes(text, range.start, range.end)).collect()
    }
}

/// Where marks stand in `text`.
fn marks(text: &str) -> Vec<Range<usize>> {
    let mark = |(at, _): (usize, &str)| {
        let name = at + MARK.len();
        let length = text[name..].find(|character| !is_name_part(character))?;
        text[name + length..].starts_with(']').then_some(at..name + length + 1)
    };
    text.match_indices(MARK).filter_map(mark).collect()
}

fn is_name_part(character: char) -> bool {
    character.is_ascii_lowercase() || character.is_ascii_digit() || character == '-'
}

#[cfg(test)]
mod tests;
