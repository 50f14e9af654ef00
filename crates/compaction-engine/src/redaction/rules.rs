//! Redaction rules: their form, those that the settings disable or add (`compactd.redaction`), and the search for them.
//!
//! Building an automaton for hundreds of keywords takes longer than searching a conversation. Instead, one table rules
//! out nearly every position as the beginning of a keyword. A keyword such as `token` is common in conversations,
//! nearly always without a secret. For each keyword, one automaton rules out matches of all its rules. It reads a
//! simplified text, because the first conversation of a process waits until it is built. The pattern of a single rule
//! is compiled only if the automaton matches: it decides, and its groups are then needed.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError};

use regex::RegexBuilder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::util::syntax;
use regex_automata::{Anchored, Input, MatchKind, PatternSet};
use serde::Deserialize as _;
use serde::de::value::StrDeserializer;
use serde_json::Value;

use super::check::Check;
use super::{Redactor, is_name_part};
use crate::error::EngineError;

/// Maximum bytes of a compiled pattern of the settings.
const PATTERN_BYTES: usize = 1 << 20;
const MAX_EXTRA_RULES: usize = 64;
/// Rules of earlier versions, and the rules that replaced them.
const RENAMED: &[(&str, &str)] = &[("elevenlabs-key", "secret-key")];

/// The settings of redaction (`compactd.redaction: {enabled, rules: {disable, extra}}`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionSettings {
    /// Whether secrets are redacted.
    pub enabled: bool,
    /// Names of disabled bundled rules.
    pub disabled: Vec<String>,
    /// Further rules.
    pub extra: Vec<ExtraRule>,
}

/// A rule of the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraRule {
    /// Its name: lower-case letters, digits and hyphens.
    pub name: String,
    /// A regular expression. Its first group is the secret; without a group, the whole match.
    pub pattern: String,
}

impl Default for RedactionSettings {
    fn default() -> Self {
        Self { enabled: true, disabled: Vec::new(), extra: Vec::new() }
    }
}

impl RedactionSettings {
    /// Reads the object; null is the default.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] at the first wrong value.
    pub fn read(value: &Value) -> Result<Self, EngineError> {
        let is_object = |value: &Value| value.is_object() || value.is_null();
        if !is_object(value) {
            return Err(wrong("", "an object"));
        }
        let rules = &value["rules"];
        if !is_object(rules) {
            return Err(wrong("rules", "an object"));
        }
        let enabled = match &value["enabled"] {
            Value::Null => true,
            Value::Bool(enabled) => *enabled,
            _ => return Err(wrong("enabled", "true or false")),
        };
        Ok(Self { enabled, disabled: read_names(&rules["disable"])?, extra: read_extra(&rules["extra"])? })
    }

    /// The redactor for these settings; `None` where redaction is disabled.
    pub fn redactor(&self) -> Option<Arc<Redactor>> {
        let is_plain = self.disabled.is_empty() && self.extra.is_empty();
        match self.enabled {
            false => None,
            true if is_plain => Some(Redactor::shared()),
            true => Some(Arc::new(Redactor::new(&self.disabled, &self.extra))),
        }
    }
}

/// The error of a wrong value at `path` in `compactd.redaction`.
fn wrong(path: &str, expected: &str) -> EngineError {
    EngineError::invalid_setting(format!("compactd.redaction.{path}").trim_end_matches('.'), expected)
}

fn list<'v>(value: &'v Value, path: &str, expected: &str) -> Result<&'v [Value], EngineError> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(wrong(path, expected)),
    }
}

fn read_names(value: &Value) -> Result<Vec<String>, EngineError> {
    let names = list(value, "rules.disable", "a list of names of rules")?.iter().enumerate();
    let known = |name: &&str| rules().iter().any(|rule| rule.name == *name);
    let read = |(index, name): (usize, &Value)| match name.as_str().map(current_name).filter(known) {
        Some(name) => Ok(name.to_owned()),
        None => {
            let mut names: Vec<&str> = rules().iter().map(|rule| rule.name).collect();
            names.sort_unstable();
            names.dedup();
            let expected = format!("the name of a rule: {}", names.join(", "));
            Err(wrong(&format!("rules.disable.{index}"), &expected))
        }
    };
    names.map(read).collect()
}

/// The name that a rule has now.
fn current_name(name: &str) -> &str {
    RENAMED.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

fn read_extra(value: &Value) -> Result<Vec<ExtraRule>, EngineError> {
    let what = format!("a list of at most {MAX_EXTRA_RULES} rules: {{name, pattern}}");
    let rules = list(value, "rules.extra", &what)?;
    if rules.len() > MAX_EXTRA_RULES {
        return Err(wrong("rules.extra", &what));
    }
    rules.iter().enumerate().map(|(index, rule)| read_rule(index, rule)).collect()
}

fn read_rule(index: usize, rule: &Value) -> Result<ExtraRule, EngineError> {
    let wrong = |key: &str, expected: String| wrong(&format!("rules.extra.{index}.{key}"), &expected);
    let is_name = |name: &&str| (1..=64).contains(&name.len()) && name.chars().all(is_name_part);
    let name = rule["name"].as_str().filter(is_name);
    let name = name.ok_or_else(|| wrong("name", "lower-case letters, digits and hyphens, 64 at most".to_owned()))?;
    let pattern = rule["pattern"].as_str().ok_or_else(|| wrong("pattern", "a regular expression".to_owned()))?;
    let compiled = RegexBuilder::new(pattern).size_limit(PATTERN_BYTES).build();
    compiled.map_err(|error| wrong("pattern", format!("a regular expression: {error}")))?;
    Ok(ExtraRule { name: name.to_owned(), pattern: pattern.to_owned() })
}

/// A rule: how one kind of secret is recognised.
#[derive(Debug, Clone)]
pub(super) struct Rule {
    /// The name of the rule in marks, counts and settings.
    pub(super) name: &'static str,
    /// Words at which the pattern is tried, in any case. A text without them costs nothing.
    pub(super) keywords: Vec<&'static str>,
    /// Number of bytes before a keyword at which the match may begin.
    pub(super) before: Vec<usize>,
    /// The pattern. The first of its groups that matches is the secret; without groups, the whole match.
    pub(super) pattern: Cow<'static, str>,
    /// A further condition.
    pub(super) check: Check,
    /// Whether few conversations have one of its keywords.
    is_rare: bool,
}

/// All bundled rules. If matches overlap, the mark has the name of the one that begins first.
pub(super) fn rules() -> &'static [Rule] {
    static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| read_table(include_str!("rules.txt")));
    &RULES
}

/// The rules of a table, whose first lines say how it is written.
fn read_table(table: &'static str) -> Vec<Rule> {
    let (mut rules, mut parts): (Vec<Rule>, Vec<(&str, String)>) = Default::default();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(pattern) = line.strip_prefix("    ") {
            rules.last_mut().expect("a pattern follows its rule").pattern += with_parts(pattern, &parts);
        } else if let Some((name, part)) = line.split_once(" = ") {
            parts.push((name, with_parts(part, &parts).into_owned()));
        } else {
            rules.push(read_head(line, rules.last()));
        }
    }
    rules
}

/// A pattern with `parts` in place of their names.
fn with_parts(pattern: &'static str, parts: &[(&str, String)]) -> Cow<'static, str> {
    // They are defined after the rules that need none of them.
    if parts.is_empty() {
        return Cow::Borrowed(pattern);
    }
    let (mut whole, mut rest) = (String::new(), pattern);
    while let Some((before, behind)) = rest.split_once('{') {
        let part_of = |name| parts.iter().find(|(known, _)| *known == name).map(|(_, part)| part.as_str());
        let named = behind.split_once('}').and_then(|(name, behind)| Some((part_of(name)?, behind)));
        let (part, behind) = named.unwrap_or(("{", behind));
        whole.extend([before, part]);
        rest = behind;
    }
    Cow::Owned(whole + rest)
}

/// The rule that a line begins, without its pattern. `previous` is the rule before it.
fn read_head(line: &'static str, previous: Option<&Rule>) -> Rule {
    let (words, keywords) = line.split_once('`').unwrap_or((line, ""));
    let keywords = match keywords {
        "" => previous.expect("the first rule has keywords").keywords.clone(),
        keywords => keywords.split('`').step_by(2).collect(),
    };
    let mut words = words.split_ascii_whitespace();
    let name = words.next().expect("a rule has a name");
    let mut rule =
        Rule { name, keywords, before: Vec::new(), pattern: Cow::Borrowed(""), check: Check::Issued, is_rare: false };
    for word in words {
        match word.parse() {
            Ok(bytes) => rule.before.push(bytes),
            Err(_) if word == "rare" => rule.is_rare = true,
            Err(_) => {
                let check = StrDeserializer::<serde::de::value::Error>::new(word);
                rule.check = Check::deserialize(check).expect("the condition of a rule has a name of `Check`");
            }
        }
    }
    if rule.before.is_empty() {
        rule.before.push(0);
    }
    rule
}

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

    /// Builds the automaton, if the rules are for values with names, which most conversations have. Issued tokens are rare.
    pub(super) fn build_if_common(&self) {
        let first = self.first();
        if !first.is_rare && !matches!(first.check, Check::PrivateKey | Check::Issued) {
            self.automaton.get_or_init(|| self.compiled());
        }
    }

    /// Whether the check of one of the rules passes wherever its pattern matches.
    pub(super) fn has_free_rule(&self) -> bool {
        self.rules.iter().any(|(_, rule)| rule.check.may_always_pass())
    }

    /// Indexes of the rules.
    pub(super) fn rules(&self) -> impl Iterator<Item = usize> {
        self.rules.iter().map(|(index, _)| *index)
    }

    /// Whether its keywords are words for passwords.
    pub(super) fn names_passwords(&self) -> bool {
        self.first().check == Check::NamedPassword
    }

    /// Whether its matches depend on more than the text near the keyword.
    pub(super) fn is_unbounded(&self) -> bool {
        self.first().check == Check::PrivateKey
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
        let SearchState { cache, matched, folded } = state.get_or_insert_with(|| SearchState::new(automaton));
        matched.clear();
        let near = &from_start[..from_start.floor_char_boundary(check.reach())];
        let near = if check == Check::Issued { near.as_bytes() } else { fold(near, folded) };
        let input = Input::new(near).anchored(Anchored::Yes);
        match automaton.try_which_overlapping_matches(cache, &input, matched) {
            Ok(()) if matched.is_empty() => Matching::None,
            Ok(()) => Matching::Rules(matched),
            // An automaton for characters knows the ends of words in ASCII texts alone.
            Err(_) => Matching::Unknown,
        }
    }

    fn first(&self) -> &'static Rule {
        self.rules[0].1
    }

    /// The automaton for all patterns. A test compiles those of the bundled rules.
    fn compiled(&self) -> Option<DFA> {
        let is_folded = self.first().check != Check::Issued;
        let pattern = |pattern| if is_folded { folded_pattern(pattern) } else { pattern };
        let patterns: Vec<String> = self.rules.iter().map(|(_, rule)| pattern(anchored(&rule.pattern))).collect();
        let settings = DFA::config()
            .match_kind(MatchKind::All)
            .unicode_word_boundary(true)
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true);
        let mut builder = DFA::builder();
        if is_folded {
            builder.syntax(syntax::Config::new().unicode(false).utf8(false));
            builder.thompson(thompson::Config::new().utf8(false));
        }
        builder.configure(settings).build_many(&patterns).ok()
    }
}

/// Replaces each non-ASCII character in a folded text.
const WIDE: u8 = 0xff;

/// Writes `text` with small letters and with one byte for each character.
fn fold<'f>(text: &str, folded: &'f mut Vec<u8>) -> &'f [u8] {
    folded.clear();
    folded.extend_from_slice(text.as_bytes());
    folded.make_ascii_lowercase();
    if !text.is_ascii() {
        let mut length = 0;
        for at in 0..folded.len() {
            let byte = folded[at];
            folded[length] = if byte.is_ascii() { byte } else { WIDE };
            // Only the first byte of a character counts.
            length += usize::from(byte & 0xc0 != 0x80);
        }
        folded.truncate(length);
    }
    folded
}

/// The pattern for folded texts. It matches wherever `pattern` matches the text itself, and in few other places: it
/// ignores case, treats all non-ASCII characters alike, and has no word boundaries. An automaton for it takes a
/// fraction of the time to build, because its letters are not classes and its classes are not sequences of bytes.
fn folded_pattern(pattern: String) -> String {
    let mut folded = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        match character {
            '\\' => match rest.next() {
                Some('b') => {}
                escaped => folded.extend(Some('\\').into_iter().chain(escaped)),
            },
            _ if character.is_ascii() => folded.push(character.to_ascii_lowercase()),
            _ => folded.push_str(r"\xff"),
        }
    }
    folded.replace("(?i-u:", "(?:").replace("(?i:", "(?:")
}

/// Bytes before and after a keyword that decide whether its rules match, unless a match grows beyond them.
const SEEN_BEFORE: usize = 128 + Check::LONGEST_REACH;
/// Places of a group that are remembered.
const FAILURES: usize = 4;

/// The last places at which the rules of a group matched nothing. A text that repeats itself is looked at once.
#[derive(Debug, Clone, Default)]
pub(super) struct Failures {
    /// The text that decides about a place, and the position up to which the same text decides the same.
    places: [Option<(Range<usize>, usize)>; FAILURES],
    next: usize,
}

impl Failures {
    /// Whether the text around `keyword` is that around one of the places.
    pub(super) fn contain(&self, text: &str, keyword: usize) -> bool {
        let Some(around) = seen_around(text, keyword) else { return false };
        let bytes = text.as_bytes();
        // Most texts differ right after the keyword.
        let probe = keyword..keyword + 16;
        self.places.iter().flatten().any(|(place, is_valid_until)| {
            let start = place.start + SEEN_BEFORE;
            keyword < *is_valid_until
                && bytes[start..start + 16] == bytes[probe.clone()]
                && bytes[place.clone()] == bytes[around.clone()]
        })
    }

    /// Remembers a place. From `is_valid_until` on, the rules may match the same text.
    pub(super) fn add(&mut self, text: &str, keyword: usize, is_valid_until: usize) {
        self.places[self.next] = seen_around(text, keyword).map(|around| (around, is_valid_until));
        self.next = (self.next + 1) % FAILURES;
    }
}

/// The range of text that decides about the keyword; `None` near the ends of the text.
fn seen_around(text: &str, keyword: usize) -> Option<Range<usize>> {
    let end = keyword + Check::LONGEST_REACH + 4;
    (end <= text.len()).then_some(keyword.checked_sub(SEEN_BEFORE)?..end)
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

/// The memory of a search with one automaton.
#[derive(Debug)]
pub(super) struct SearchState {
    cache: Cache,
    matched: PatternSet,
    /// The folded text.
    folded: Vec<u8>,
}

impl SearchState {
    fn new(automaton: &DFA) -> Self {
        Self { cache: automaton.create_cache(), matched: PatternSet::new(automaton.pattern_len()), folded: Vec::new() }
    }
}

/// The states of searches between texts. Each text takes those of all groups, so threads do not wait for each other at
/// every keyword.
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

/// Bytes of a keyword that the table looks at.
const PROBED: usize = 3;

/// Bits of a byte that the table looks at. Both cases of a letter have the same.
const BITS: usize = 5;

/// The number of a place in the table, which the probed bytes of a text determine.
const PLACES: usize = 1 << (PROBED * BITS);

/// Bytes of a text that are looked up together.
const BLOCK: usize = size_of::<u64>();

/// Keywords that are found before they are sorted and visited.
const SORTED_AT_ONCE: usize = 16;

/// Keywords, found without regard to the case of ASCII letters.
#[derive(Debug)]
pub(super) struct Keywords {
    words: Vec<Word>,
    /// For each place, the index of its group. The first group is empty: no keyword begins like that.
    places: Box<[u16; PLACES]>,
    /// The words that begin alike.
    groups: Vec<Vec<usize>>,
}

/// One of the keywords, and its numbers in the list, where it may be several times.
#[derive(Debug)]
struct Word {
    text: String,
    numbers: Vec<usize>,
    /// Its first bytes, which letters they are, and where they are.
    head: u64,
    letters: u64,
    mask: u64,
}

/// A keyword in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hit {
    /// Number of the keyword.
    pub(super) keyword: usize,
    /// Its first byte.
    pub(super) start: usize,
}

/// A word in a text.
#[derive(Debug, Clone, Copy)]
struct Found {
    word: usize,
    start: usize,
    end: usize,
}

impl Word {
    /// A word in lower case.
    fn new(text: String, number: usize) -> Self {
        let head = first_bytes(text.as_bytes());
        let of_bytes = |of_byte: fn(u8) -> u8| u64::from_le_bytes(head.to_le_bytes().map(of_byte));
        let letters = of_bytes(|byte| if byte.is_ascii_lowercase() { 0x20 } else { 0 });
        let mask = of_bytes(|byte| if byte == 0 { 0 } else { 0xff });
        Self { text, numbers: vec![number], head, letters, mask }
    }

    /// Whether `text`, which begins with the bytes `head`, begins with this word in any case.
    fn is_start_of(&self, head: u64, text: &[u8]) -> bool {
        let is_rest = || {
            let rest = &self.text.as_bytes()[BLOCK..];
            text.get(BLOCK..self.text.len()).is_some_and(|text| text.eq_ignore_ascii_case(rest))
        };
        (head | self.letters) & self.mask == self.head && (self.text.len() <= BLOCK || is_rest())
    }
}

/// The first bytes of a text, filled with zeros if it is shorter.
fn first_bytes(text: &[u8]) -> u64 {
    let bytes = text.first_chunk().copied().unwrap_or_else(|| {
        let mut bytes = [0; BLOCK];
        bytes[..text.len()].copy_from_slice(text);
        bytes
    });
    u64::from_le_bytes(bytes)
}

impl Keywords {
    pub(super) fn new<'k>(keywords: impl IntoIterator<Item = &'k str>) -> Self {
        let mut words: Vec<Word> = Vec::new();
        for (number, keyword) in keywords.into_iter().enumerate() {
            let text = keyword.to_ascii_lowercase();
            match words.iter_mut().find(|word| word.text == text) {
                Some(word) => word.numbers.push(number),
                None => words.push(Word::new(text, number)),
            }
        }
        let mut keywords = Self { words: Vec::new(), places: Box::new([0; PLACES]), groups: vec![Vec::new()] };
        for (index, word) in words.iter().enumerate() {
            let probed = &word.text.as_bytes()[..word.text.len().min(PROBED)];
            // A shorter word has a place for each continuation.
            let open = (PROBED - probed.len()) * BITS;
            let first = (probed.iter().fold(0, next_place) as usize % PLACES) << open;
            keywords.add(first..first + (1 << open), index);
        }
        Self { words, ..keywords }
    }

    /// Bytes of the longest keyword.
    pub(super) fn longest(&self) -> usize {
        self.words.iter().map(|word| word.text.len()).max().unwrap_or_default()
    }

    /// Adds a word at places. Places with the same words share a group.
    fn add(&mut self, places: Range<usize>, word: usize) {
        let mut extended: Vec<(u16, u16)> = Vec::new();
        for place in &mut self.places[places] {
            let known = extended.iter().find(|(before, _)| before == place);
            let group = known.map(|(_, after)| *after).unwrap_or_else(|| {
                let words = self.groups[usize::from(*place)].iter().copied().chain([word]).collect();
                self.groups.push(words);
                let after = u16::try_from(self.groups.len() - 1).expect("there are fewer groups than places");
                extended.push((*place, after));
                after
            });
            *place = group;
        }
    }

    /// Visits all keywords in `text`, including overlapping ones, in the order of their ends, longer ones first.
    pub(super) fn find(&self, text: &str, mut visit: impl FnMut(Hit)) {
        let bytes = text.as_bytes();
        let (blocks, rest) = bytes.as_chunks::<BLOCK>();
        let (mut found, mut place) = (Vec::new(), 0);
        for (number, block) in blocks.iter().enumerate() {
            place = place << (BLOCK * BITS) | packed(*block);
            let places: [u64; BLOCK] = std::array::from_fn(|at| place >> ((BLOCK - 1 - at) * BITS));
            let groups = places.map(|place| self.places[place as usize % PLACES]);
            if groups == [0; BLOCK] {
                continue;
            }
            for (at, group) in groups.into_iter().enumerate().filter(|(_, group)| *group != 0) {
                self.look(group, bytes, number * BLOCK + at, &mut found, &mut visit);
            }
        }
        // After the text, zeros replace the bytes that a short word at its end lacks.
        for (at, byte) in rest.iter().chain(&[0; PROBED - 1]).enumerate() {
            place = next_place(place, byte);
            let group = self.places[place as usize % PLACES];
            if group != 0 {
                self.look(group, bytes, blocks.len() * BLOCK + at, &mut found, &mut visit);
            }
        }
        self.visit_until(bytes.len(), &mut found, &mut visit);
    }

    /// Finds the words of `group` that begin where its probed bytes do; the last of these is the one `at`.
    #[inline(never)]
    fn look(&self, group: u16, text: &[u8], at: usize, found: &mut Vec<Found>, visit: &mut impl FnMut(Hit)) {
        let Some((start, from_start)) = (at + 1).checked_sub(PROBED).and_then(|at| Some((at, text.get(at..)?))) else {
            return;
        };
        let head = first_bytes(from_start);
        for &word in &self.groups[usize::from(group)] {
            if self.words[word].is_start_of(head, from_start) {
                if found.len() >= SORTED_AT_ONCE {
                    self.visit_until(start, found, visit);
                }
                found.push(Found { word, start, end: start + self.words[word].text.len() });
            }
        }
    }

    /// Visits the keywords that end at `end` or before. Those that are found later end later.
    fn visit_until(&self, end: usize, found: &mut Vec<Found>, visit: &mut impl FnMut(Hit)) {
        found.sort_unstable_by_key(|found| (found.end, Reverse(found.end - found.start)));
        let count = found.partition_point(|found| found.end <= end);
        for Found { word, start, .. } in found.drain(..count) {
            self.words[word].numbers.iter().for_each(|&keyword| visit(Hit { keyword, start }));
        }
    }
}

/// The place of a text that is one byte longer, in the low bits.
fn next_place(place: u64, byte: &u8) -> u64 {
    place << BITS | u64::from(*byte) & ((1 << BITS) - 1)
}

/// The places of the bytes of a block, one after the other.
fn packed(block: [u8; BLOCK]) -> u64 {
    let bytes = u64::from_be_bytes(block);
    let pairs = bytes & 0x001f_001f_001f_001f | bytes >> 3 & 0x03e0_03e0_03e0_03e0;
    let fours = pairs & 0x0000_03ff_0000_03ff | pairs >> 6 & 0x000f_fc00_000f_fc00;
    fours & 0xf_ffff | fours >> 12 & 0xff_fff0_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use aho_corasick::AhoCorasick;
    use proptest::prelude::*;
    use regex::Regex;

    use crate::redaction::samples;

    #[test]
    fn a_group_misses_no_match_of_its_patterns_and_tells_few_others() {
        let redactor = Redactor::shared();
        let redactor = &redactor.forms;
        let whole = |rule: usize| Regex::new(&anchored(&redactor.rules[rule].pattern)).unwrap();
        let patterns: Vec<Regex> = (0..redactor.rules.len()).map(whole).collect();
        let mut states = redactor.states.take(redactor.groups.len());
        let (mut trials, mut matches, mut told) = (0, 0, 0);
        let samples = [samples::secrets(), samples::later_secrets(), samples::public_rules(), samples::harmless()];
        let texts = samples.iter().flatten().map(|sample| sample.text.clone());
        // Characters of several bytes, and capitals.
        let wide = samples.iter().flatten().map(|sample| sample.text.replace(['o', '3'], "\u{f6}\u{3c3}"));
        let upper = samples.iter().flatten().map(|sample| sample.text.to_uppercase());
        for text in texts.chain(wide).chain(upper) {
            redactor.keywords.find(&text, |hit| {
                let number = redactor.trials[hit.keyword];
                let group = &redactor.groups[number];
                for start in group.starts(hit.start) {
                    let Some(near) = text.get(start..) else { continue };
                    let near = &near[..near.floor_char_boundary(group.first().check.reach())];
                    let matching = group.matching(&text, start, &mut states[number]);
                    if matches!(matching, Matching::Unknown) || group.first().check == Check::Issued {
                        continue;
                    }
                    for (place, rule) in group.rules().enumerate() {
                        let is_match = patterns[rule].is_match(near);
                        let is_told = matching.contains(place);
                        assert!(is_told || !is_match, "{} at {near}", redactor.rules[rule].name);
                        trials += 1;
                        matches += usize::from(is_match);
                        told += usize::from(is_told);
                    }
                }
            });
        }
        assert!(trials > 1000 && matches > 50, "{matches} of {trials}");
        assert!(told * 10 <= matches * 11, "{told} of {trials} are told, {matches} match");
    }

    #[test]
    fn every_group_has_an_automaton() {
        let redactor = Redactor::new(&[], &[]);
        let members: usize = redactor.forms.groups.iter().map(|group| group.rules().count()).sum();
        assert_eq!(members, redactor.forms.rules.len());
        assert!(redactor.forms.groups.iter().all(|group| group.compiled().is_some()));
        assert!(redactor.forms.groups.iter().any(|group| group.rules().count() > 3));
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

    const WORDS: [&str; 12] =
        ["pw", "pwd", "password", "word", "токен", "sk-", "sk-ant-", "TOKEN", "ken", "://", "key", "pwd"];

    /// The matches of the usual automaton, in its order.
    fn expected(text: &str) -> Vec<(usize, usize)> {
        let automaton = AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).unwrap();
        automaton.find_overlapping_iter(text).map(|hit| (hit.pattern().as_usize(), hit.start())).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        #[test]
        fn keywords_are_found_as_by_an_automaton(pieces in prop::collection::vec(prop::sample::select(vec![
            "p", "w", "d", "pass", "PASS", "word", "Word", "to", "ken", "ТОКЕН", "токен", "то", "sk-", "ant", "-", ":", "//", "ke",
            "Y", " ", "x",
        ]), 0..12)) {
            for text in [pieces.concat(), pieces.concat().repeat(40)] {
                let mut hits: Vec<(usize, usize)> = Vec::new();
                Keywords::new(WORDS).find(&text, |hit| hits.push((hit.keyword, hit.start)));
                prop_assert_eq!(hits, expected(&text));
            }
        }
    }
}
