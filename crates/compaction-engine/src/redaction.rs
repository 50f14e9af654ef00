//! Removes secrets from what goes to a summarizer and from what comes back, because a summary lives longer and
//! travels further than its conversation.
//!
//! Secrets are recognised by their form: the formats that issuers document, values assigned to names like `password`
//! (`rules.txt`), values that look random near words for a key (`drawn`), and cells below the word for a password in a
//! table (`columns`). A hash or a UUID without a word for a key beside it is not found. Only summaries are changed;
//! entries keep their text. Rules read a text without its JSON escapes, however often it was escaped.

mod check;
mod columns;
mod drawn;
mod keys;
mod rules;
mod texts;
mod values;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, OnceLock};

use memchr::memchr2_iter;
use regex::{Captures, Regex};
use tokio_util::sync::CancellationToken;

use crate::error::EngineError;
use crate::redaction::rules::Keywords;
use crate::redaction::rules::{Failures, Group, Hit, Matching, SearchStates, anchored};
use check::{Check, Found};
use rules::rules;
pub use rules::{ExtraRule, RedactionSettings};
pub(crate) use texts::{RedactedStream, RedactedTexts};
use values::Values;

/// Replacing one secret can expose another one next to it. Only crafted texts need more rounds than this.
const MAX_ROUNDS: usize = 8;
/// Bytes after which a long text looks again whether it is cancelled.
const LOOK_BYTES: usize = 1 << 16;
/// Bytes of a text that are searched for escapes at once.
const PART_BYTES: usize = 256;
const MARK: &str = "[redacted:";
/// Bytes of marks that a text may have beyond its own.
const MARK_BYTES: usize = 1 << 20;

/// Replaces secrets in texts with marks.
#[derive(Debug)]
pub struct Redactor {
    forms: Arc<Forms>,
    values: Values,
    /// Cores that are left to other work.
    spared_cores: usize,
}

/// The rules of a redactor, which recognise secrets by their form.
#[derive(Debug)]
struct Forms {
    rules: Vec<Compiled>,
    /// The keywords of all rules.
    keywords: Keywords,
    /// The rules with the same keywords.
    groups: Vec<Group>,
    /// The group of each keyword.
    trials: Vec<usize>,
    /// The rule for private keys, if it is enabled.
    private_keys: Option<usize>,
    /// The rule for keys that look drawn, if it is enabled.
    drawn_keys: Option<usize>,
    /// The rule for passwords, if it is enabled.
    passwords: Option<usize>,
    states: SearchStates,
}

#[derive(Debug)]
struct Compiled {
    name: Cow<'static, str>,
    pattern: Cow<'static, str>,
    /// Whether the rule is tried only at keywords, so that it costs nothing elsewhere.
    needs_keyword: bool,
    check: Check,
    /// Compiled when a text first contains a match.
    regex: OnceLock<Option<Regex>>,
}

/// Number of removed secrets, by the name of the rule.
pub type Redactions = BTreeMap<String, u32>;

/// Adds `more` to `counts`, rule by rule.
pub(crate) fn add_counts(counts: &mut Redactions, more: &Redactions) {
    for (rule, count) in more {
        *counts.entry(rule.clone()).or_default() += count;
    }
}

/// A text without secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted<'t> {
    /// The text with `[redacted:<rule>]` in place of secrets.
    pub text: Cow<'t, str>,
    /// Number of removed secrets, by rule.
    pub counts: Redactions,
}

impl Redactor {
    /// The redactor with the bundled rules, made once.
    pub fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Redactor>> = LazyLock::new(|| Arc::new(Redactor::new(&[], &[])));
        Arc::clone(&SHARED)
    }

    /// Builds the tables that most conversations need. Otherwise each is built on first use.
    pub(crate) fn build_tables(&self) {
        self.forms.groups.iter().for_each(Group::build_if_common);
    }

    /// A redactor with the bundled rules, without those that `disabled` names, and with the `extra` rules.
    pub fn new(disabled: &[String], extra: &[ExtraRule]) -> Self {
        let mut compiled: Vec<Compiled> = Vec::new();
        let (mut keywords, mut trials) = (Vec::new(), Vec::new());
        let mut groups: Vec<Group> = Vec::new();
        for rule in rules().iter().filter(|rule| !disabled.iter().any(|name| name == rule.name)) {
            let is_added = groups.last_mut().is_some_and(|group| group.add(compiled.len(), rule));
            if !is_added {
                keywords.extend(rule.keywords.iter().copied());
                trials.extend(rule.keywords.iter().map(|_| groups.len()));
                groups.push(Group::new(compiled.len(), rule));
            }
            compiled.push(Compiled::new(Cow::Borrowed(rule.name), Cow::Borrowed(&*rule.pattern), true, rule.check));
        }
        for ExtraRule { name, pattern } in extra {
            compiled.push(Compiled::new(Cow::Owned(name.clone()), Cow::Owned(pattern.clone()), false, Check::None));
        }
        let private_keys = compiled.iter().position(|rule| rule.check == Check::PrivateKey);
        let drawn_keys = compiled.iter().rposition(|rule| rule.name == drawn::RULE);
        let passwords = compiled.iter().rposition(|rule| rule.name == columns::RULE);
        let keywords = Keywords::new(keywords);
        let states = SearchStates::default();
        let forms = Forms { rules: compiled, keywords, groups, trials, private_keys, drawn_keys, passwords, states };
        Self { forms: Arc::new(forms), values: Values::Ignored, spared_cores: 0 }
    }

    fn with(&self, values: Values) -> Self {
        Self { forms: Arc::clone(&self.forms), values, spared_cores: self.spared_cores }
    }

    /// The same redactor, which leaves one core for other work if there are several.
    pub(crate) fn sparing_a_core(&self) -> Self {
        Self { spared_cores: 1, ..self.with(Values::Ignored) }
    }

    /// Removes the secrets of one operation. `remove` removes the secrets of all its texts with the redactor that it gets.
    /// If rules find secrets, `remove` is called a second time. Its redactor then also seeks their values in every text.
    /// Returns the last redactor, for texts that the operation makes later, and the numbers of removed secrets by rule.
    ///
    /// # Errors
    /// Those of `remove`.
    pub(crate) fn of_operation(
        &self,
        mut remove: impl FnMut(&Self) -> Result<Redactions, EngineError>,
    ) -> Result<(Arc<Self>, Redactions), EngineError> {
        let remembering = self.with(Values::Remembered(Mutex::default()));
        let mut counts = remove(&remembering)?;
        let seeking = self.with(remembering.values.sought().unwrap_or_default());
        if matches!(seeking.values, Values::Sought(_)) {
            add_counts(&mut counts, &remove(&seeking)?);
        }
        Ok((Arc::new(seeking), counts))
    }

    /// `text` with marks in place of secrets. Redacting the result again changes nothing. The time is proportional to
    /// the length of the text.
    pub fn redact<'t>(&self, text: &'t str) -> Redacted<'t> {
        self.redact_until(text, None)
    }

    /// As [`Redactor::redact`]. The result may still have secrets once `cancel` is cancelled, which is looked at every
    /// [`LOOK_BYTES`] bytes.
    fn redact_until<'t>(&self, text: &'t str, cancel: Option<&CancellationToken>) -> Redacted<'t> {
        let mut redacted = Redacted { text: Cow::Borrowed(text), counts: BTreeMap::new() };
        for _ in 0..MAX_ROUNDS {
            let found = self.find(&redacted.text, cancel);
            if found.is_empty() {
                break;
            }
            redacted.text = Cow::Owned(self.replace(&redacted.text, &found));
            for (rule, _) in found {
                *redacted.counts.entry(self.forms.rules[rule].name.to_string()).or_default() += 1;
            }
        }
        redacted
    }

    /// The secrets with their rules, in the order of the text and without overlaps.
    fn find(&self, text: &str, cancel: Option<&CancellationToken>) -> Vec<(usize, Range<usize>)> {
        let plain = Plain::of(text);
        let (mut found, has_passwords) = self.forms.find_at_keywords(&plain.text, 0..plain.text.len(), cancel);
        found.extend(self.find_beyond_keywords(&plain.text, cancel));
        found.extend(self.find_in_columns(&plain.text, has_passwords));
        if found.is_empty() {
            return found;
        }
        let marks = marks(&plain.text);
        found.retain(|(_, range)| {
            let at = marks.partition_point(|mark| mark.end <= range.start);
            marks.get(at).is_none_or(|mark| mark.start >= range.end)
        });
        self.values.remember(&plain.text, &found);
        found.sort_by_key(|(rule, range)| (range.start, *rule));
        found.dedup_by(|(_, later), (_, earlier)| {
            let overlaps = later.start < earlier.end;
            if overlaps {
                earlier.end = earlier.end.max(later.end);
            }
            overlaps
        });
        for (_, range) in &mut found {
            *range = plain.to_escaped(range);
        }
        self.bound_marks(text.len(), &mut found);
        found
    }

    /// What is found without a keyword in a text without escapes: by rules of the settings, by the form of keys, and by
    /// value.
    fn find_beyond_keywords(&self, text: &str, cancel: Option<&CancellationToken>) -> Vec<(usize, Range<usize>)> {
        let (mut found, forms) = (Vec::new(), &self.forms);
        for (rule, compiled) in forms.rules.iter().enumerate().filter(|(_, rule)| !rule.needs_keyword) {
            found.extend(compiled.find(text).into_iter().map(|range| (rule, range)));
        }
        if let Some(rule) = forms.private_keys {
            found.extend(keys::unmarked(text).into_iter().map(|range| (rule, range)));
        }
        if let Some(rule) = forms.drawn_keys {
            found.extend(drawn::keys(text).into_iter().map(|range| (rule, range)));
        }
        if let Values::Sought(values) = &self.values {
            values.find(text, cancel, &mut found);
        }
        found
    }

    /// What stands below a word for a password in the tables of a text without escapes, if it has such words.
    fn find_in_columns(&self, text: &str, has_passwords: bool) -> Vec<(usize, Range<usize>)> {
        let rule = self.forms.passwords.filter(|_| has_passwords);
        rule.map_or_else(Vec::new, |rule| columns::passwords(text).into_iter().map(|range| (rule, range)).collect())
    }

    /// Joins secrets that stand closer to each other than a mark is long, if the marks would take far more room than a
    /// text of `length` bytes. Only a rule of the settings that matches single characters and a crafted text need that.
    fn bound_marks(&self, length: usize, found: &mut Vec<(usize, Range<usize>)>) {
        let mark = |rule: usize| MARK.len() + self.forms.rules[rule].name.len() + 1;
        let marks: usize = found.iter().map(|(rule, _)| mark(*rule)).sum();
        if marks <= length.saturating_add(MARK_BYTES) {
            return;
        }
        found.dedup_by(|(_, later), (rule, earlier)| {
            let is_close = later.start < earlier.end + mark(*rule);
            if is_close {
                earlier.end = later.end;
            }
            is_close
        });
    }

    /// The mark for a secret of this rule.
    fn mark(&self, rule: usize) -> String {
        format!("{MARK}{}]", self.forms.rules[rule].name)
    }

    fn replace(&self, text: &str, found: &[(usize, Range<usize>)]) -> String {
        let mut out = String::with_capacity(text.len());
        let mut done = 0;
        for (rule, range) in found {
            out.push_str(&text[done..range.start]);
            out.push_str(&self.mark(*rule));
            done = range.end;
        }
        out.push_str(&text[done..]);
        out
    }
}

impl Forms {
    /// The matches of the bundled rules in a text without escapes at the keywords that begin in `part`, and whether there
    /// may be a word for a password. Both ends of `part` are boundaries of characters.
    fn find_at_keywords(
        &self,
        text: &str,
        part: Range<usize>,
        cancel: Option<&CancellationToken>,
    ) -> (Vec<(usize, Range<usize>)>, bool) {
        let mut found = Vec::new();
        let searched = &text[part.start..text.ceil_char_boundary(part.end.saturating_add(self.keywords.longest()))];
        // Those of the last groups are words for passwords, unless the settings disable them.
        let mut has_passwords =
            columns::may_name_beyond_keywords(searched) || !self.groups.iter().rev().any(Group::names_passwords);
        // After a match, a rule is not tried again before the end of the match.
        let mut done = vec![0; self.rules.len()];
        let mut failures: Vec<Option<Box<Failures>>> = vec![None; self.groups.len()];
        let mut states = self.states.take(self.groups.len());
        let (mut is_cancelled, mut next_look) = (false, 0);
        self.keywords.find(searched, |hit| {
            let hit = Hit { start: part.start + hit.start, ..hit };
            if hit.start >= part.end {
                return;
            }
            if hit.start >= next_look {
                next_look = hit.start + LOOK_BYTES;
                is_cancelled = cancel.is_some_and(CancellationToken::is_cancelled);
            }
            let number = self.trials[hit.keyword];
            let (group, state) = (&self.groups[number], &mut states[number]);
            has_passwords |= group.names_passwords();
            let is_known_to_fail = |failures: &Failures| failures.contain(text, hit.start);
            if is_cancelled || failures[number].as_deref().is_some_and(is_known_to_fail) {
                return;
            }
            let found_before = found.len();
            // Rules that were not tried here are tried after their last match.
            let mut is_valid_until = if group.is_unbounded() { 0 } else { usize::MAX };
            for start in group.starts(hit.start) {
                let is_tried = |rule: usize| start >= done[rule];
                let skipped = group.rules().filter(|rule| !is_tried(*rule)).map(|rule| done[rule]);
                is_valid_until = skipped.fold(is_valid_until, usize::min);
                let may_pass = |rule: usize| is_tried(rule) && self.rules[rule].check.may_pass(text, hit.start);
                if !group.has_free_rule() && !group.rules().any(may_pass) {
                    continue;
                }
                let matching = group.matching(text, start, state);
                if matches!(matching, Matching::None) {
                    continue;
                }
                for (place, rule) in group.rules().enumerate() {
                    let may_pass = self.rules[rule].check.may_pass(text, hit.start);
                    if start < done[rule] || !may_pass || !matching.contains(place) {
                        continue;
                    }
                    let mut has_grown = false;
                    let secret = self.rules[rule].find_at(text, start, hit.start, &mut has_grown);
                    if has_grown {
                        // More text than is remembered for a place has decided.
                        is_valid_until = 0;
                    }
                    if let Some(range) = secret {
                        done[rule] = range.end;
                        found.push((rule, range));
                    }
                }
            }
            if found.len() == found_before && is_valid_until > hit.start {
                failures[number].get_or_insert_default().add(text, hit.start, is_valid_until);
            }
        });
        self.states.give_back(states);
        (found, has_passwords)
    }
}

impl Compiled {
    fn new(name: Cow<'static, str>, pattern: Cow<'static, str>, needs_keyword: bool, check: Check) -> Self {
        Self { name, pattern, needs_keyword, check, regex: OnceLock::new() }
    }

    /// The secret whose match begins at `start`, near the keyword. `has_grown` says that the match needed more text than
    /// is usually looked at.
    fn find_at(&self, text: &str, start: usize, keyword: usize, has_grown: &mut bool) -> Option<Range<usize>> {
        if self.check == Check::PrivateKey {
            return keys::block(text, keyword);
        }
        // A test compiles all bundled patterns.
        let regex = self.regex.get_or_init(|| Regex::new(&anchored(&self.pattern)).ok()).as_ref()?;
        let text_from_start = text.get(start..)?;
        let mut reach = self.check.reach();
        loop {
            let near = &text_from_start[..text_from_start.floor_char_boundary(reach)];
            let captures = regex.captures(near)?;
            let secret = secret_of(&captures)?;
            let found = Found { text, keyword, secret: start + secret.start..start + secret.end };
            let is_cut =
                near.len() < text_from_start.len() && captures.get(0).is_some_and(|all| all.end() == near.len());
            if !self.check.passes(&found, is_cut) {
                return None;
            }
            if !is_cut {
                return Some(found.secret);
            }
            // A match that reaches the end of the visible part is tried again with a larger part.
            reach *= 8;
            *has_grown = true;
        }
    }

    /// The secrets that a rule of the settings finds in `text`.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        // Patterns of the settings were compiled when the settings were read.
        let Some(regex) = self.regex.get_or_init(|| Regex::new(&self.pattern).ok()) else {
            return Vec::new();
        };
        regex.captures_iter(text).filter_map(|found| secret_of(&found)).collect()
    }
}

/// The part of a match that is the secret.
fn secret_of(found: &Captures<'_>) -> Option<Range<usize>> {
    let group = found.iter().skip(1).flatten().next();
    let range = group.or_else(|| found.get(0))?.range();
    (!range.is_empty()).then_some(range)
}

/// The marks in `text`.
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

/// A text without JSON escapes, with the positions of the escapes.
#[derive(Debug)]
struct Plain<'t> {
    /// The text without escapes.
    text: Cow<'t, str>,
    /// The escapes, in order: the byte after each in the plain text and in the escaped text.
    after_escapes: Vec<(usize, usize)>,
}

impl<'t> Plain<'t> {
    /// Reads `text`. Backslashes before a letter for white space, a quote or a slash form one escape with it. Other
    /// backslashes stay, because they may be meant. Entities of HTML are read as well, and the quotes and colons of
    /// other scripts and two more forms of letters as those of ASCII, so that no rule has to know them.
    fn of(text: &'t str) -> Self {
        let mut reading =
            Reading { text, plain: Self { text: Cow::Borrowed(text), after_escapes: Vec::new() }, done: 0, looked: 0 };
        // Most parts of a text are ASCII even where others are not.
        for (number, part) in text.as_bytes().chunks(PART_BYTES).enumerate() {
            let start = number * PART_BYTES;
            if part.is_ascii() {
                memchr2_iter(b'\\', b'&', part).for_each(|at| reading.look(start + at));
            } else {
                let is_start = |byte: &u8| matches!(byte, b'\\' | b'&' | 0xc2 | 0xc5 | 0xe2 | 0xe3 | 0xef);
                let starts = part.iter().enumerate().filter(|(_, byte)| is_start(byte));
                starts.for_each(|(at, _)| reading.look(start + at));
            }
        }
        reading.finish()
    }

    /// Maps a range of the plain text to the escaped text. An escape is in the range as a whole or not at all.
    fn to_escaped(&self, range: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let before = self.after_escapes.partition_point(|(plain, _)| *plain <= at);
            match before.checked_sub(1).map(|index| self.after_escapes[index]) {
                Some((plain, escaped)) => escaped + (at - plain),
                None => at,
            }
        };
        place(range.start)..place(range.end)
    }
}

/// A text that is being read without its escapes.
#[derive(Debug)]
struct Reading<'t> {
    text: &'t str,
    plain: Plain<'t>,
    /// The end of the text that was read.
    done: usize,
    /// The end of the text that was examined.
    looked: usize,
}

impl<'t> Reading<'t> {
    /// Reads the escape that may begin at `at`.
    fn look(&mut self, at: usize) {
        if at < self.looked {
            return;
        }
        let text = self.text;
        let read = match text.as_bytes()[at] {
            b'\\' => {
                let backslashes = text.as_bytes()[at..].iter().take_while(|byte| **byte == b'\\').count();
                self.looked = at + backslashes;
                escape(text, self.looked)
            }
            b'&' => entity(&text[at..]).map(|(character, length)| (character, at + length)),
            _ => ascii_form(&text[at..]).map(|(character, length)| (character, at + length)),
        };
        let Some((character, end)) = read else { return };
        // Between two letters it is an apostrophe, or a sign of a password.
        let is_inner = || text[..at].ends_with(char::is_alphanumeric) && text[end..].starts_with(char::is_alphanumeric);
        if matches!(character, '"' | '\'') && text.as_bytes()[at] != b'\\' && is_inner() {
            return;
        }
        let plain = match &mut self.plain.text {
            Cow::Owned(plain) => plain,
            borrowed => {
                *borrowed = Cow::Owned(String::with_capacity(text.len()));
                borrowed.to_mut()
            }
        };
        let (before, after) = (&text[self.done..at], &text[end..]);
        let is_space = |character: char| matches!(character, ' ' | '\u{a0}' | '\u{202f}');
        // The quotes of French have spaces inside. These belong to the quotes.
        let closes =
            text[at..].starts_with('\u{bb}') && after.chars().next().is_none_or(|next| !next.is_alphanumeric());
        plain.push_str(if closes { before.trim_end_matches(is_space) } else { before });
        plain.push(character);
        let after = if text[at..].starts_with('\u{ab}') { after.trim_start_matches(is_space) } else { after };
        let end = text.len() - after.len();
        self.plain.after_escapes.push((plain.len(), end));
        (self.done, self.looked) = (end, end);
    }

    fn finish(mut self) -> Plain<'t> {
        if let Cow::Owned(plain) = &mut self.plain.text {
            plain.push_str(&self.text[self.done..]);
        }
        self.plain
    }
}

/// The character of the entity at the start of `text`, and its length.
fn entity(text: &str) -> Option<(char, usize)> {
    const ENTITIES: [(&str, char); 12] = [
        ("&quot;", '"'),
        ("&#34;", '"'),
        ("&#x22;", '"'),
        ("&apos;", '\''),
        ("&#39;", '\''),
        ("&#x27;", '\''),
        ("&lt;", '<'),
        ("&gt;", '>'),
        ("&amp;", '&'),
        ("&#10;", '\n'),
        ("&#xa;", '\n'),
        ("&nbsp;", ' '),
    ];
    let (entity, character) = ENTITIES.iter().find(|(entity, _)| text.starts_with(entity))?;
    Some((*character, entity.len()))
}

/// The ASCII form of the quote, colon, sign or letter at the start of `text`, and its length.
fn ascii_form(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    let ascii = match first {
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{300c}'..='\u{300f}' | '\u{ff02}' => '"',
        '\u{2018}'..='\u{201b}' | '\u{2039}' | '\u{203a}' => '\'',
        '\u{ff1a}' => ':',
        '\u{ff1d}' => '=',
        // The letters beyond ASCII whose case is that of letters of ASCII: the long s and the sign of Kelvin.
        '\u{17f}' => 's',
        '\u{212a}' => 'K',
        _ => return None,
    };
    Some((ascii, first.len_utf8()))
}

/// The character for the letter at `letter` after backslashes, and the end of the escape.
fn escape(text: &str, letter: usize) -> Option<(char, usize)> {
    let end = letter + 1;
    match text.as_bytes().get(letter)? {
        b'n' => Some(('\n', end)),
        b'r' => Some(('\r', end)),
        b't' => Some(('\t', end)),
        quote @ (b'"' | b'\'' | b'/') => Some((char::from(*quote), end)),
        b'u' => {
            let code = u32::from_str_radix(text.get(end..end + 4)?, 16).ok()?;
            // Half of a pair stays as it is. No name of a secret and no mark around a value needs one.
            Some((char::from_u32(code)?, end + 4))
        }
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod samples;
#[cfg(test)]
mod tests;
