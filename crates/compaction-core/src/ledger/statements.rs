//! Statements: the sentences of a conversation, in scripts with spaces between words and without.
//!
//! Summaries are made from them. [`super::selection`] decides which of them are worth their space, both
//! in a summary and in the stored form.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use super::Sources;
use super::bold::without_bold;
use super::cues::is_announcement;
use super::notes::SourcePosition;
use super::retractions::Retraction;
use super::terms::is_unspaced;
use super::text::{WordList, as_line, clip_middle, count, lines, may_be_unspaced, trim, trim_start, word_list};
use crate::phrases::{SPACED, listed};
use crate::text::{columns, columns_of, prefix_utf16, utf16_len};

/// Longest statement, in UTF-16 units.
pub(super) const LONGEST: usize = 420;
/// Longest message of a person that becomes one statement, in UTF-16 units.
const LONGEST_MESSAGE: usize = 420;
/// Longest quote of code, in UTF-16 units.
const LONGEST_QUOTE: usize = 240;
/// Bytes at each end of long code that are read for a quote.
const CODE_BYTES: usize = 512;
/// Most bytes of all statements while messages are read.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Most statements of one message.
pub(super) const MOST_OF_ONE: usize = 160;

/// Fewest marks of code in a line of code.
const FEWEST_MARKS: usize = 2;
/// Most marks of one word that count.
const MOST_MARKS: usize = 3;
/// Longest word of prose, in bytes.
const LONGEST_WORD: usize = 48;

stored_by_name! {
    /// Who made a statement, and what kind it is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum Voice {
        /// A person asked or answered.
        Person = "person",
        /// The model said it at the end of its work.
        Report = "report",
        /// The model said it during its work.
        Remark = "remark",
        /// The model announced what it would do, or made a claim in an answer that the person refused.
        Announcement = "announcement",
        /// The model claimed that something works, and the person's next words reported a problem with it.
        Refuted = "refuted",
        /// It comes from a call or its result.
        Action = "deed",
        /// The result of a call shows that something was finished: a commit, a push, a run of tests.
        Milestone = "milestone",
        /// It is code or pasted text: a log, a trace, data.
        Quote = "quote",
        /// The model wrote it into a document, such as a plan or a specification.
        Document = "document",
        /// It comes from an earlier summary.
        Summary = "summary",
    }
}

/// One sentence of a conversation, or a short message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// Who made it.
    pub voice: Voice,
    /// The words, on one line.
    pub text: String,
    /// Its number in the message, from 0.
    pub number: u64,
    /// Position of the message.
    pub position: u64,
    /// The entry that contains it.
    pub sources: Sources,
}

impl Statement {
    /// Whether the model made it.
    pub(crate) fn is_of_model(&self) -> bool {
        matches!(self.voice, Voice::Report | Voice::Remark | Voice::Announcement | Voice::Refuted)
    }

    /// Whether it states something that nobody refuted.
    pub(crate) fn states(&self) -> bool {
        !matches!(self.voice, Voice::Announcement | Voice::Refuted)
    }
}

/// The statements collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Statements {
    list: Vec<Statement>,
    /// Index of the first statement of the model's newest message.
    newest: usize,
    bytes: usize,
}

impl Statements {
    pub(super) fn restore(&mut self, statements: &[Statement]) {
        self.list = statements.to_vec();
        self.bytes = self.list.iter().map(|statement| statement.text.len()).sum();
        self.newest = self.list.len();
    }

    /// Adds what a person said. `pasted` has the ranges that are quoted text, in order.
    pub(super) fn add_person(&mut self, place: SourcePosition<'_>, text: &str, pasted: Vec<Range<usize>>) {
        self.end_turn();
        let line = as_line(text);
        if line.is_empty() {
            return;
        }
        if utf16_len(&line) <= LONGEST_MESSAGE {
            self.push(Voice::Person, line.into_owned(), 0, place);
            return;
        }
        let voice = |sentence: &str| if is_prose(sentence) { Voice::Person } else { Voice::Quote };
        let (mut number, mut at) = (0, 0);
        for passage in pasted {
            number = self.add_parts(place, parts(&text[at..passage.start]), (&[], number), voice);
            at = passage.end;
            number = self.add_parts(place, parts(&text[passage]), (&[], number), |_| Voice::Quote);
        }
        self.add_parts(place, parts(&text[at..]), (&[], number), voice);
    }

    /// Adds a text that no participant of the conversation wrote.
    pub(super) fn add_quoted(&mut self, place: SourcePosition<'_>, text: &str) {
        self.add_parts(place, parts(text), (&[], 0), |_| Voice::Quote);
    }

    /// Adds what the model wrote into a document, instead of what it wrote there before. Each statement begins with the
    /// `name` of the document.
    pub(super) fn add_document(&mut self, place: SourcePosition<'_>, name: &str, parts: &[Part<'_>]) {
        let frame = format!("{name}: ");
        let is_earlier = |one: &Statement| one.voice == Voice::Document && one.text.starts_with(&frame);
        if self.list.iter().any(is_earlier) {
            let before = self.list[..self.newest].iter().filter(|one| is_earlier(one)).count();
            self.newest -= before;
            self.list.retain(|one| !is_earlier(one));
            self.bytes = self.list.iter().map(|one| one.text.len()).sum();
        }
        let told: Vec<Part<'_>> = parts.iter().copied().filter(|part| matches!(part, Part::Sentence(_))).collect();
        let frames = vec![Some(frame); told.len()];
        self.add_parts(place, told.into_iter(), (&frames, 0), |_| Voice::Document);
    }

    /// Adds an answer of the model. `frames` has the words to put before each of its parts.
    pub(super) fn add_model(
        &mut self,
        place: SourcePosition<'_>,
        parts: &[Part<'_>],
        frames: &[Option<String>],
        is_final: bool,
    ) {
        self.newest = self.list.len();
        let voice = |sentence: &str| match is_announcement(sentence) {
            _ if is_code(sentence) => Voice::Quote,
            true => Voice::Announcement,
            false if is_final => Voice::Report,
            false => Voice::Remark,
        };
        self.add_parts(place, parts.iter().copied(), (frames, 0), voice);
    }

    /// Adds a line of a call, a result or an earlier summary.
    pub(super) fn add_line(&mut self, voice: Voice, place: SourcePosition<'_>, text: &str) {
        let line = clip_middle(&as_line(text), LONGEST);
        if !line.is_empty() {
            self.push(voice, line, 0, place);
        }
    }

    /// Records that a person found claims in the messages from `first` to `last` to be untrue. `refuted` gives the new
    /// voice of such a claim.
    pub(super) fn refute(&mut self, (first, last): (u64, u64), refuted: impl Fn(&str) -> Option<Voice>) {
        let start = self.list.partition_point(|one| one.position < first);
        for one in self.list[start..].iter_mut().take_while(|one| one.position <= last) {
            // In languages with the verb at the end, what works may look like what the model will do.
            let may_claim = || one.voice == Voice::Announcement && may_be_unspaced(&one.text);
            if (matches!(one.voice, Voice::Report | Voice::Remark) || may_claim())
                && let Some(voice) = refuted(&one.text)
            {
                one.voice = voice;
            }
        }
    }

    /// Removes what the model takes back. Returns the positions of the messages that a retraction quotes.
    pub(super) fn retract(&mut self, retractions: &[Retraction]) -> HashSet<u64> {
        let mut quoted = HashSet::new();
        self.drop_newest(|one| {
            if retractions.iter().any(|retraction| retraction.quotes_from(&one.text)) {
                quoted.insert(one.position);
            }
            retractions.iter().any(|retraction| retraction.takes_back(&one.text))
        });
        quoted
    }

    /// Removes those of the model among the newest statements for which `is_gone` holds.
    pub(super) fn drop_newest(&mut self, mut is_gone: impl FnMut(&Statement) -> bool) {
        let start = self.list.len().saturating_sub(MOST_COMPARED);
        let mut is_gone = |one: &Statement| one.is_of_model() && is_gone(one);
        let (mut at, mut before_newest) = (start, 0);
        let kept: Vec<Statement> = self
            .list
            .drain(start..)
            .filter(|one| {
                let is_gone = is_gone(one);
                if is_gone {
                    self.bytes -= one.text.len();
                    before_newest += usize::from(at < self.newest);
                }
                at += 1;
                !is_gone
            })
            .collect();
        self.list.extend(kept);
        self.newest -= before_newest;
    }

    /// Removes lines of a call at `position` whose work was never done.
    pub(super) fn take_back(&mut self, position: u64, lines: &[String]) {
        let start = self.list.partition_point(|one| one.position < position);
        if self.list.len() - start > MOST_COMPARED {
            return;
        }
        let lines: HashSet<String> = lines.iter().map(|line| clip_middle(&as_line(line), LONGEST)).collect();
        let is_gone = |one: &Statement| {
            one.position == position && one.voice == Voice::Action && lines.contains(one.text.as_str())
        };
        let before = self.list[start..self.newest.max(start)].iter().filter(|one| is_gone(one)).count();
        let kept: Vec<Statement> = self.list.drain(start..).filter(|one| !is_gone(one)).collect();
        self.newest -= before;
        self.list.extend(kept);
    }

    /// Turns the last message of the model before a person speaks into a report.
    fn end_turn(&mut self) {
        for statement in self.list.iter_mut().skip(self.newest).filter(|statement| statement.voice == Voice::Remark) {
            statement.voice = Voice::Report;
        }
        self.newest = self.list.len();
    }

    /// Adds the parts of a message. `number` is that of the first statement; returns the next one.
    fn add_parts<'a>(
        &mut self,
        place: SourcePosition<'_>,
        parts: impl Iterator<Item = Part<'a>>,
        (frames, mut number): (&[Option<String>], u64),
        voice: impl Fn(&str) -> Voice,
    ) -> u64 {
        for (at, part) in parts.take(MOST_OF_ONE).enumerate() {
            let (own, line) = match part {
                Part::Sentence(sentence) | Part::Heading(sentence) => {
                    let mut line = as_line(without_edges(sentence));
                    if memchr::memchr(b'*', line.as_bytes()).is_some() {
                        line = Cow::Owned(without_bold(&line).into_owned());
                    }
                    match (voice(&line), part) {
                        // A heading introduces what follows and says little by itself.
                        (Voice::Report | Voice::Remark, Part::Heading(_)) => (Voice::Announcement, line),
                        (voice, _) => (voice, line),
                    }
                }
                Part::Code(code) => (Voice::Quote, Cow::Owned(quoted_code(code))),
            };
            if !line.contains(char::is_alphanumeric) {
                continue;
            }
            if own != Voice::Person {
                let line = match frames.get(at) {
                    Some(Some(frame)) => Cow::Owned(format!("{frame}{line}")),
                    _ => line,
                };
                self.push(own, clip_middle(&line, LONGEST), number, place);
                number += 1;
                continue;
            }
            for piece in pieces(&line) {
                self.push(own, piece, number, place);
                number += 1;
            }
        }
        number
    }

    fn push(&mut self, voice: Voice, text: String, number: u64, place: SourcePosition<'_>) {
        self.bytes += text.len();
        // A conversation with so much text is summarised from its end.
        if self.bytes > MOST_BYTES {
            let half = self.list.len() / 2;
            self.bytes -= self.list.drain(..half).map(|statement| statement.text.len()).sum::<usize>();
            self.newest = self.newest.saturating_sub(half);
        }
        self.list.push(Statement { voice, text, number, position: place.position, sources: place.sources() });
    }

    /// The statements so far, in order.
    pub(super) fn list(&self) -> &[Statement] {
        &self.list
    }

    pub(super) fn finish(self) -> Vec<Statement> {
        self.list
    }
}

/// Code on one line, in at most [`LONGEST_QUOTE`] UTF-16 units. Of long code, only the lines at both ends are read.
fn quoted_code(code: &str) -> String {
    let ends = || {
        let head = code.get(..code.floor_char_boundary(CODE_BYTES))?;
        let tail = code.get(code.ceil_char_boundary(code.len() - CODE_BYTES)..)?;
        let (head, tail) = (&head[..=head.rfind('\n')?], &tail[tail.find('\n')?..]);
        let is_enough = |end: &str| utf16_len(&as_line(end)) > LONGEST_QUOTE;
        (is_enough(head) && is_enough(tail)).then(|| format!("{head}{tail}"))
    };
    let ends = if code.len() > 3 * CODE_BYTES { ends() } else { None };
    clip_middle(&as_line(ends.as_deref().unwrap_or(code)), LONGEST_QUOTE)
}

/// A line in pieces of at most [`LONGEST`] UTF-16 units, split between words where possible.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = line.trim();
    while !rest.is_empty() {
        let most = prefix_utf16(rest, LONGEST);
        let end = if most.len() == rest.len() { most.len() } else { most.rfind(' ').map_or(most.len(), |at| at + 1) };
        let (piece, after) = rest.split_at(end);
        pieces.push(piece.trim_end().to_owned());
        rest = after;
    }
    pieces
}

/// Most statements that are searched for the removed lines of a call.
const MOST_COMPARED: usize = 512;
/// Marks that end a sentence in any position.
const WIDE_ENDS: [&str; 6] = ["\u{3002}", "\u{ff01}", "\u{ff1f}", "\u{ff61}", "\u{61f}", "\u{964}"];
/// Closing marks that may follow them.
const CLOSERS: [char; 7] = ['\u{300d}', '\u{300f}', '\u{201d}', '\u{2019}', '\u{ff09}', ')', '"'];
/// Abbreviations that do not end a sentence.
const ABBREVIATIONS: &[&str] = listed!(SPACED, "statements: abbreviations");
/// Abbreviations of titles, which are written with a capital.
const TITLES: &[&str] = &["Mr", "Mrs", "Ms", "Dr", "Prof", "Sr", "Sra", "Mme"];
/// Abbreviations that end a sentence only if another one begins.
const LAST_ABBREVIATIONS: &[&str] = listed!(SPACED, "statements: last abbreviations");
/// Words that are abbreviations only before a number.
const BEFORE_NUMBERS: &[&str] = listed!(SPACED, "statements: before numbers");
/// Longest line that is a heading because of its colon, in bytes.
const LONGEST_TITLE: usize = 40;
/// Longest abbreviation, in bytes.
const LONGEST_ABBREVIATION: usize = 12;

/// The sentences of `text`, without code between fences, headings and list markers.
pub(crate) fn sentences(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| Sentences::of(without_marker(line)))
}

/// Fewest UTF-8 bytes, and fewest spaces, of a line that may have been wrapped.
const SHORTEST_WRAPPED: usize = 40;
const FEWEST_SPACES: usize = 4;

/// `text` with the lines of a paragraph joined, as a copy of a screen has them: lines that end where the first word of the
/// next line had no room, if the text has a [width](is_wrapped_at); and a long line that ends within a sentence, before one
/// that begins in lower case. Between two wide characters nothing takes the place of the break. Code between fences is left
/// as it is.
pub(super) fn with_joined_lines(text: Cow<'_, str>) -> Cow<'_, str> {
    let longest = longest_line(&text);
    let width = longest.filter(|width| is_wrapped_at(&text, *width));
    let mut breaks = Vec::new();
    let (mut end, mut is_code, mut before) = (0, false, "");
    for whole in text.split_inclusive('\n') {
        // The lines of a quote continue each other.
        let line = whole.trim_start().strip_prefix(QUOTE_BAR).filter(|_| before.trim_start().starts_with(QUOTE_BAR));
        let (mark, line) = line.map_or((0, whole), |line| (whole.len() - line.len(), line));
        let is_wrapped = !is_code
            && (width.is_some_and(|width| continues(before, line) && fills(before, line, width))
                || is_long_before_lower_case(before.trim(), line.trim())
                || is_long_with_open_end(before.trim(), line.trim())
                || longest.is_some_and(|longest| is_long_before_wide(before, line, longest)));
        if is_wrapped {
            breaks.push(joint(before, end, mark, line));
        }
        is_code ^= is_fence(whole.trim());
        (end, before) = (end + whole.len(), whole);
    }
    if breaks.is_empty() {
        return text;
    }
    let (mut joined, mut from) = (String::with_capacity(text.len()), 0);
    for (joint, is_wide) in breaks {
        joined.push_str(&text[from..joint.start]);
        if !is_wide {
            joined.extend(std::iter::repeat_n(' ', joint.len()));
        }
        from = joint.end;
    }
    Cow::Owned(joined + &text[from..])
}

/// What stands between two lines that are joined, of which the first one ends at `end` with its break, and the other one
/// begins `mark` bytes behind that; and whether it is between wide characters, so that nothing takes its place.
fn joint(before: &str, end: usize, mark: usize, line: &str) -> (Range<usize>, bool) {
    let (left, right) = (before.trim_end(), line.trim_start());
    let is_wide = |one: Option<char>| one.is_some_and(|one| columns_of(one) > 1);
    if is_wide(left.chars().next_back()) && is_wide(right.chars().next()) {
        return (end - (before.len() - left.len())..end + mark + (line.len() - right.len()), true);
    }
    (end - 1..end + mark, false)
}

/// How a terminal shows the mark of a quote.
const QUOTE_BAR: char = '\u{258e}';

/// Marks at the end of a line that end no sentence.
const WITHIN: [char; 10] = [',', '/', '-', ')', '`', '+', '&', '\u{2192}', '\u{2013}', '\u{2014}'];

/// Whether a long line ends within a sentence, before one that begins in lower case.
fn is_long_before_lower_case(before: &str, line: &str) -> bool {
    before.len() >= SHORTEST_WRAPPED
        && memchr::memchr_iter(b' ', before.as_bytes()).nth(FEWEST_SPACES - 1).is_some()
        && before.ends_with(|last: char| last.is_alphanumeric() || WITHIN.contains(&last))
        && !before.starts_with(['#', '|'])
        && line.starts_with(char::is_lowercase)
        && without_marker(line).len() == line.len()
}

/// Words that stand before another one of the same sentence.
static OPEN_ENDS: WordList = word_list!(SPACED, "statements: open ends");

/// Whether a long line ends with such a word, before a line of text.
fn is_long_with_open_end(before: &str, line: &str) -> bool {
    let last = || before.rsplit(' ').next().unwrap_or_default();
    before.len() >= SHORTEST_WRAPPED
        && before.ends_with(char::is_alphabetic)
        && memchr::memchr_iter(b' ', before.as_bytes()).nth(FEWEST_SPACES - 1).is_some()
        && !before.starts_with(['#', '|'])
        && line.starts_with(|first: char| first.is_alphanumeric() || first == '`' || OPENERS.contains(&first))
        && !is_fence(line)
        && without_marker(line).len() == line.len()
        && OPEN_ENDS.has(last())
}

/// Columns that a text may have been wrapped at. A terminal may be wider, but then most paragraphs take one line.
const WIDTHS: std::ops::RangeInclusive<usize> = 50..=140;
/// Fewest lines of a text that was wrapped that have no room for the next word, and their percentage among lines that
/// another one continues.
const FEWEST_FULL: usize = 2;
const FULL: usize = 75;
/// Marks outside of ASCII with which a line of text may begin.
const OPENERS: [char; 9] =
    ['\u{bf}', '\u{a1}', '\u{ab}', '\u{2018}', '\u{201c}', '\u{201e}', '\u{300c}', '\u{300e}', '\u{ff08}'];
/// Marks at the end of a sentence.
const ENDS: [char; 7] = ['.', '!', '?', ':', '\u{3002}', '\u{ff01}', '\u{ff1f}'];

/// The columns of the longest line of `text`. `None` if it is not as wide as a terminal may be.
fn longest_line(text: &str) -> Option<usize> {
    let mut width = 0;
    for (line, _) in spoken_lines(text) {
        // Four bytes are at least one column.
        if line.len() > WIDTHS.end() * 4 {
            return None;
        }
        width = width.max(columns(line.trim_end()));
    }
    WIDTHS.contains(&width).then_some(width)
}

/// Whether most lines of a text that another line may continue have no room for its first word.
fn is_wrapped_at(text: &str, width: usize) -> bool {
    let (mut count, mut full, mut ends) = (0, 0, 0);
    for (line, next) in spoken_lines(text) {
        let Some(next) = next.filter(|next| continues(line, next)) else { continue };
        if fills(line, next, width) || !ends_wide_sentence(line) {
            count += 1;
        }
        if fills(line, next, width) {
            full += 1;
            // Lines of a list without marks end where their sentences do.
            ends += usize::from(line.trim_end().ends_with(ENDS));
        }
    }
    full >= FEWEST_FULL && ends * 2 <= full && full * 100 >= count * FULL
}

/// Fewest columns of a line with wide characters that was surely wrapped if it ends within a sentence.
const LONG_WIDE: usize = 72;
/// The same if the next word had no room on a screen of usual width.
const SHORT_WIDE: usize = 56;
const SCREEN: usize = 80;

/// Whether a character begins a name in the script of programs.
fn starts_name(first: char) -> bool {
    first.is_ascii_alphabetic() || first == '_'
}

/// Whether a long line of a script without spaces ends without any mark, and the next line begins with such a character, or
/// with a name behind one, and ends its sentence.
fn is_long_before_wide(before: &str, line: &str, longest: usize) -> bool {
    let (own, next) = (before.trim_end(), line.trim());
    let is_wide = |one: char| columns_of(one) > 1 && one.is_alphanumeric();
    // A word that had no room on a usual screen leaves a shorter line. The word may be a name in other characters.
    let first = next.split_whitespace().next().unwrap_or_default();
    let had_no_room = || columns(own) >= SHORT_WIDE && columns(own) + 1 + columns(first) > SCREEN;
    let is_long = columns(own) >= LONG_WIDE && next.starts_with(is_wide);
    let goes_on = next.starts_with(is_wide) || own.ends_with(is_wide) && next.starts_with(starts_name);
    goes_on
        && own.ends_with(|last: char| last.is_alphanumeric())
        && own.contains(is_wide)
        && next.contains(['\u{3002}', '\u{ff01}', '\u{ff1f}'])
        && (is_long || had_no_room())
        && fills(own, next, longest)
        && !own.trim_start().starts_with(|first: char| matches!(first, '#' | '|') || is_drawing(first))
}

/// The lines of a text outside of fences, each with the line behind it.
fn spoken_lines(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut behind = text.lines().skip(1);
    let mut is_code = false;
    text.lines().map(move |line| (line, behind.next())).filter(move |(line, _)| {
        let is_fence = is_fence(line.trim());
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Whether `next` may continue the paragraph or the list item of `line`.
fn continues(line: &str, next: &str) -> bool {
    let (line, next) = (line.trim(), next.trim());
    let is_text = |first: char| first.is_alphanumeric() || "('\"`_/.~@$".contains(first) || OPENERS.contains(&first);
    let is_drawn = |line: &str| line.starts_with(|first: char| first == '|' || is_drawing(first));
    // A list of paths or hashes has no spaces.
    let has_words = || {
        memchr::memchr_iter(b' ', line.as_bytes()).nth(FEWEST_SPACES - 1).is_some()
            || line.chars().next_back().is_some_and(|last| columns_of(last) > 1)
    };
    next.starts_with(is_text)
        && !line.starts_with('#')
        && !is_drawn(line)
        && !is_fence(line)
        && !is_fence(next)
        && without_marker(next).len() == next.len()
        && has_words()
}

/// Whether a character draws a frame or a bar.
fn is_drawing(one: char) -> bool {
    ('\u{2500}'..='\u{259f}').contains(&one)
}

/// Whether a line of a text that is `width` columns wide has no room for the first word of the `next` line.
fn fills(line: &str, next: &str, width: usize) -> bool {
    let (line, next) = (line.trim_end(), next.trim());
    let first = next.chars().next().map_or(0, columns_of);
    let whole = 1 + columns(next.split(char::is_whitespace).next().unwrap_or_default());
    let own = columns(line);
    // Scripts without spaces are wrapped after any character.
    if own + if first > 1 { first } else { whole } > width {
        return true;
    }
    // A program that wraps at spaces leaves more room in them.
    first > 1
        && own + whole > width
        && own * 2 >= width
        && memchr::memchr_iter(b' ', line.trim_start().as_bytes()).nth(FEWEST_SPACES_OF_WIDE - 1).is_some()
        && !line.ends_with(ENDS)
}

/// Fewest spaces of a line with wide characters that was wrapped at a space.
const FEWEST_SPACES_OF_WIDE: usize = 2;

/// Whether a line ends with a sentence of a script without spaces. Its paragraph ends there, too.
fn ends_wide_sentence(line: &str) -> bool {
    line.trim_end().ends_with(['\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{ff1a}'])
}

/// A part of a text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// A sentence.
    Sentence(&'a str),
    /// A heading.
    Heading(&'a str),
    /// Code between fences.
    Code(&'a str),
}

/// The sentences of `text` and the code between them, in their order.
pub(crate) fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    Parts { rest: text, line: Sentences::of("") }
}

impl<'a> Part<'a> {
    /// Its sentences. A heading may have several.
    pub(crate) fn sentences(&self) -> impl Iterator<Item = &'a str> {
        let (sentence, heading) = match *self {
            Self::Sentence(sentence) => (Some(sentence), ""),
            Self::Heading(text) => (None, text),
            Self::Code(_) => (None, ""),
        };
        sentence.into_iter().chain(Sentences::of(heading))
    }
}

struct Parts<'a> {
    rest: &'a str,
    line: Sentences<'a>,
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        loop {
            if let Some(sentence) = self.line.next() {
                return Some(Part::Sentence(sentence));
            }
            if self.rest.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', self.rest.as_bytes());
            let (line, rest) = end.map_or((self.rest, ""), |end| (&self.rest[..end], &self.rest[end + 1..]));
            self.rest = rest;
            if !is_fence(line) {
                let text = without_marker(line);
                if is_heading(line, text) {
                    return Some(Part::Heading(text));
                }
                self.line = Sentences::of(text);
                continue;
            }
            let (code, behind) = code(rest);
            self.rest = behind;
            if !code.trim().is_empty() {
                return Some(Part::Code(code));
            }
        }
    }
}

/// Whether a line is a heading: marked as one, or short, with a colon at its end. `text` is the line without its marks.
fn is_heading(line: &str, text: &str) -> bool {
    let ends_with_colon = || text.trim_end_matches('*').ends_with([':', '\u{ff1a}']);
    !text.is_empty() && (trim_start(line).starts_with('#') || text.len() <= LONGEST_TITLE && ends_with_colon())
}

/// Whether a sentence consists of words and not of code, data or log lines.
pub(crate) fn is_prose(sentence: &str) -> bool {
    let mut letters = count(sentence, |byte| byte.is_ascii_alphabetic() || byte == b' ');
    let mut marks = count(sentence, |byte| matches!(byte, b';'..=b'>' | b'['..=b']' | b'{'..=b'}' | b'_' | b'*'));
    let all = count(sentence, |byte| !(0x80..0xC0).contains(&byte));
    let mut is_unspaced = false;
    let mut rest = if all < sentence.len() { sentence } else { "" };
    while let Some(at) = rest.bytes().position(|byte| !byte.is_ascii()) {
        let Some(character) = rest[at..].chars().next() else { break };
        match character {
            '\u{2500}'..='\u{259f}' => marks += 1,
            _ => letters += usize::from(is_alphabetic(character)),
        }
        is_unspaced |= ('\u{2E80}'..='\u{FFDC}').contains(&character);
        rest = &rest[at + character.len_utf8()..];
    }
    let starts_plain = !sentence.starts_with(['{', '}', '[', '"', '<', '|', '\u{2502}', '+', '$', '>', '(', '\'']);
    letters * 100 >= all * 78 && marks * 25 <= all && starts_plain && (is_unspaced || has_short_words(sentence))
}

/// Whether each word has at most [`LONGEST_WORD`] bytes.
fn has_short_words(sentence: &str) -> bool {
    // Most sentences have a space within this many bytes of any place.
    let bytes = sentence.as_bytes();
    let mut at = 0;
    while bytes.len() - at > LONGEST_WORD {
        match memchr::memrchr(b' ', &bytes[at..=at + LONGEST_WORD]) {
            Some(space) => at += space + 1,
            None => return sentence.split_whitespace().all(|word| word.len() <= LONGEST_WORD),
        }
    }
    true
}

/// As [`char::is_alphabetic`] for characters outside ASCII, but faster for the most common ones.
fn is_alphabetic(character: char) -> bool {
    match character {
        '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{24F}' | '\u{4E00}'..='\u{9FFF}' => true,
        '\u{2010}'..='\u{206F}' | '\u{2190}'..='\u{245F}' | '\u{2500}'..='\u{2775}' => false,
        _ => character.is_alphabetic(),
    }
}

/// Whether a sentence of a model is a line of code that stands outside of any fence. Code between
/// backticks belongs to the sentence around it. Words that stand without spaces between them cannot be
/// counted, so a sentence that has any is none.
pub(super) fn is_code(sentence: &str) -> bool {
    // Most sentences have too few marks.
    let is_mark = |byte: u8| matches!(byte, b'=' | b'{' | b'}' | b'_' | b';' | b'(' | b'[');
    if count(sentence, is_mark) < FEWEST_MARKS {
        return false;
    }
    if may_be_unspaced(sentence) && sentence.split('`').step_by(2).any(|part| part.contains(is_unspaced)) {
        return false;
    }
    let (mut marks, mut words) = (0, 0);
    for word in sentence.split('`').step_by(2).flat_map(str::split_ascii_whitespace) {
        let bytes = word.as_bytes();
        let is_inner = |at: usize| at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
        let own = bytes.iter().enumerate().filter(|(at, byte)| match byte {
            b'=' | b'{' | b'}' | b'_' => true,
            b';' => at + 1 == bytes.len(),
            b'(' | b'[' => is_inner(*at),
            _ => false,
        });
        match own.count() {
            0 => words += usize::from(word.contains(char::is_alphabetic)),
            own => marks += own.min(MOST_MARKS),
        }
    }
    marks >= FEWEST_MARKS && marks >= words
}

/// The cells of a row of a table without the marks at its ends.
fn without_edges(line: &str) -> &str {
    let cells = || line.strip_prefix('|')?.strip_suffix('|');
    cells().map_or(line, str::trim)
}

/// The lines of `text` without code between fences.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = lines(text);
    std::iter::from_fn(move || {
        loop {
            let line = rest.next()?;
            if !is_fence(line) {
                return Some(line);
            }
            rest = lines(code(rest.text()).1);
        }
    })
}

/// The lines of `text` up to a fence, and those after it.
fn code(text: &str) -> (&str, &str) {
    let bytes = text.as_bytes();
    for fence in memchr::memmem::find_iter(bytes, "```") {
        let start = memchr::memrchr(b'\n', &bytes[..fence]).map_or(0, |end| end + 1);
        if text[start..fence].trim_start().is_empty() {
            let end = memchr::memchr(b'\n', &bytes[fence..]).map_or(text.len(), |end| fence + end + 1);
            return (&text[..start], &text[end..]);
        }
    }
    (text, "")
}

/// Whether a line begins or ends code.
pub(super) fn is_fence(line: &str) -> bool {
    trim_start(line).starts_with("```")
}

/// A line without the marks of headings, quotes and lists at its beginning.
pub(crate) fn without_marker(line: &str) -> &str {
    let line = trim_start(trim(line).trim_start_matches(QUOTE_BAR));
    let marks = line.bytes().take_while(|byte| matches!(byte, b'#' | b'>' | b'*' | b'-' | b'+' | b' ')).count();
    // A glob or the name of an argument may begin with the last of these marks.
    let is_name = |rest: &str| rest.starts_with(|one: char| one.is_ascii_lowercase() || matches!(one, '/' | '_'));
    let marks = if line[..marks].ends_with("**") && is_name(&line[marks..]) { marks - 2 } else { marks };
    let line = &line[marks..];
    let digits = &line[line.bytes().take_while(u8::is_ascii_digit).count()..];
    match digits.strip_prefix(". ").or_else(|| digits.strip_prefix(") ")) {
        Some(rest) if digits.len() < line.len() => trim_start(rest),
        _ => line,
    }
}

struct Sentences<'a> {
    rest: &'a str,
    /// Whether it may have [`WIDE_ENDS`].
    is_wide: bool,
}

impl<'a> Sentences<'a> {
    /// The sentences of a line.
    fn of(line: &'a str) -> Self {
        // The first bytes of the wide marks. The loop is compiled to vector instructions.
        let is_first = |byte: u8| matches!(byte, 0xD8 | 0xE0 | 0xE3 | 0xEF);
        let is_wide = line.bytes().fold(false, |is_wide, byte| is_wide | is_first(byte));
        Self { rest: line, is_wide }
    }

    /// Bytes of the first sentence.
    fn end(&self) -> usize {
        let text = self.rest;
        let bytes = text.as_bytes();
        let is_end = |at: usize| {
            matches!(bytes.get(at + 1), Some(b' ' | b'\t'))
                && !(bytes[at] == b'.' && is_abbreviation(&text[..at], text[at + 1..].trim_start()))
                && !(bytes[at] == b'.' && is_lone_ellipsis(&text[..at], &text[at + 1..]))
        };
        // The number of the next item belongs to it.
        let end = |at: usize| match number_of_item(&text[..at]).filter(|_| bytes[at] == b'.') {
            Some(start) => (start > 0).then_some(start),
            None => Some(at + 1),
        };
        if !self.is_wide {
            let mut ends = memchr::memchr3_iter(b'.', b'!', b'?', bytes).filter(|at| is_end(*at));
            return ends.find_map(end).unwrap_or(text.len());
        }
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'.' | b'!' | b'?' if is_end(at) => {
                    if let Some(end) = end(at) {
                        return end;
                    }
                }
                // The first bytes of the wide marks.
                0xD8 | 0xE0 | 0xE3 | 0xEF => {
                    if let Some(mark) = WIDE_ENDS.iter().find(|mark| text[at..].starts_with(**mark)) {
                        let rest = &text[at + mark.len()..];
                        return text.len() - rest.trim_start_matches(CLOSERS).len();
                    }
                }
                _ => {}
            }
        }
        text.len()
    }
}

impl<'a> Iterator for Sentences<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.rest = trim_start(self.rest);
        if self.rest.is_empty() {
            return None;
        }
        let (sentence, rest) = self.rest.split_at(self.end());
        self.rest = rest;
        Some(sentence)
    }
}

/// Whether the full stop between `before` and `after` is the last one of a word of three, within a sentence: `a literal ...
/// where`.
fn is_lone_ellipsis(before: &str, after: &str) -> bool {
    before.ends_with(" ..") && after.trim_start().starts_with(char::is_lowercase)
}

/// Whether a full stop between `before` and `after` belongs to the word before it.
fn is_abbreviation(before: &str, after: &str) -> bool {
    let longest = before.char_indices().rev().take_while(|(at, _)| before.len() - at <= LONGEST_ABBREVIATION);
    let is_part = |(_, character): &(usize, char)| character.is_alphanumeric() || *character == '.';
    let start = longest.take_while(is_part).last().map_or(before.len(), |(at, _)| at);
    let word = &before[start..];
    let is_in = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(word));
    let next = after.chars().next();
    TITLES.contains(&word)
        || is_in(ABBREVIATIONS)
        || is_in(BEFORE_NUMBERS) && next.is_some_and(|next| next.is_ascii_digit())
        || is_in(LAST_ABBREVIATIONS) && !next.is_some_and(char::is_uppercase)
}

/// Most digits of the number of an item.
const DIGITS_OF_ITEM: usize = 2;

/// Where the number before a full stop begins, if it is that of the next item of a list within a line, or of the item that
/// begins the text: `1. keep the file, 2. write the manual`.
fn number_of_item(before: &str) -> Option<usize> {
    let digits = before.bytes().rev().take_while(u8::is_ascii_digit).take(DIGITS_OF_ITEM + 1).count();
    let rest = &before[..before.len() - digits];
    let is_next = rest.ends_with(' ') && rest.trim_end().ends_with([',', ';', ':']);
    ((1..=DIGITS_OF_ITEM).contains(&digits) && (rest.is_empty() || is_next)).then_some(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrapped_lines_of_a_paragraph_are_joined() {
        let joined = |text: &str| with_joined_lines(text.into()).into_owned();
        let wrapped =
            "The registry has several projects, and the one that is\n  meant here is the shop. It has\nno tests yet.";
        assert_eq!(joined(wrapped), wrapped.replacen('\n', " ", 1), "the second line is short");
        for left in [
            "The registry has several projects, and this is its end.\nit goes on here",
            "The registry has several projects, and they are these:\nshop and blog",
            "The registry has several projects, and the one that is\n- meant here is the shop",
            "The registry has several projects, and the one that is\nShop is meant",
            "```\nthe registry has several projects and the one that is\nmeant here\n```",
            "| the registry | has several projects | and the one that is\nmeant here |",
        ] {
            assert_eq!(joined(left), left);
        }
        let asked =
            "导出的时候如果不走 order_store 的锁，最后是怎么在不同的 worker 之间选择最终写入的行\n数呢，它就不会丢吗？";
        assert_eq!(joined(asked), asked.replace('\n', ""));
        for left in [
            "导出的时候没有价格显示，菜单的颜色也不对\n请修改一下，好吗？",
            "导出的时候如果不走 order_store 的锁，最后是怎么在不同的 worker 之间选择最终写入的行\n请修改",
        ] {
            assert_eq!(joined(left), left);
        }
        let way = "The whole of it works: a proposal \u{2192} the gate \u{2192} a review \u{2192}\na row in the table";
        assert_eq!(joined(way), way.replace('\n', " "));
        let quote = "It says:\n\u{258e} No order is closed and none is marked without an explicit action of\n\u{258e} a person.";
        let line = "No order is closed and none is marked without an explicit action of     a person.";
        assert_eq!(joined(quote), format!("It says:\n\u{258e} {line}"), "positions stay");
    }

    #[test]
    fn a_line_that_ends_with_an_article_or_the_like_is_joined() {
        let joined = |text: &str| with_joined_lines(text.into()).into_owned();
        for text in [
            "Shall the menu be printed on paper, or should I send the whole file to\nSHOP (print@example.org)?",
            "Soll die Speisekarte auf Papier gedruckt werden, oder nur die\nPreise?",
            "Le menu est imprimé sur du papier, ou bien on envoie les\nPrix ?",
        ] {
            assert_eq!(joined(text), text.replace('\n', " "));
        }
        for left in [
            "Shall the menu be printed on paper, or should I send the whole file to\n- SHOP",
            "Shall the menu be printed on paper, or should I send the whole file to\n\nSHOP",
            "Shall the menu be printed on paper, or should I log in\nSHOP",
            "Send it to\nSHOP",
        ] {
            assert_eq!(joined(left), left);
        }
    }

    #[test]
    fn the_number_of_an_item_within_a_line_begins_it() {
        for (line, expected) in [
            (
                "keep the file, 2. write the manual. It is short.",
                &["keep the file, ", "2. write the manual.", "It is short."] as &[&str],
            ),
            ("It is in 3. The rest is not.", &["It is in 3.", "The rest is not."]),
            ("It came in 2024. The rest is older.", &["It came in 2024.", "The rest is older."]),
        ] {
            let found: Vec<&str> = Sentences::of(line).collect();
            assert_eq!(found, expected, "{line}");
        }
    }

    #[test]
    fn lines_without_room_for_the_next_word_are_joined() {
        let joined = |text: &str| with_joined_lines(text.into()).into_owned();
        let wrapped = [
            "Please connect the API to the client. We don't need authentication, since\nthis is a proof of concept. What I want \
             is a dummy page a user can open. Once\nThe event is created, the list shows it.\n\nThanks",
            "- The first item of the list is long, and it goes on in the next line of\n  GitHub's own page.\n- The second \
             one is as long as the first one, and it goes on, too, for\n  Example in this line.",
            "今日はとても長い文を書いて、画面の端で折り返している\nことを確かめ、次の行も同じ幅で折り返すのです。そして\nもう一行。",
            "现在 order_store 的写入只在主库 primary 上进行，因为从库\n的延迟太大，而且 cache 层也没有失效的机制。所以 export 之前\n\
             必须先等主库的 commit 完成。",
        ];
        for text in wrapped {
            let joint = if text.is_ascii() { " " } else { "" };
            let expected: Vec<String> = text.split("\n\n").map(|paragraph| paragraph.replace('\n', joint)).collect();
            let expected = expected.join("\n\n").replace(" - The second", "\n- The second");
            assert_eq!(joined(text), expected);
        }
        for left in [
            "Add a page for the orders\nAdd a page for the customers and their addresses, too\nRemove the old page",
            "2026-01-01 10:00:00 INFO started the worker of the queue number one\n2026-01-01 10:00:01 INFO stopped\n\
             2026-01-01 10:00:02 WARN the queue is empty and nothing is left",
            "The code of the new parser is below, and it reads all of the rows in\n```rust\nfn main() {}\n```\nThe code of \
             the old parser is gone, and all of its rows are read by\nThe new one",
            "https://shop.example/orders/2026/first-page-of-all-orders\nhttps://shop.example/orders/2026/second-page-of-all\n\
             https://shop.example/orders/2026/third-page-of-all-orders",
            "添加了订单 export 的页面 page\n添加了客户 import 的页面以及他们所有的地址和电话号码\n修改了菜单 menu 的颜色 color\n删除了旧的页面",
            "\u{2022} The first of the items takes all of the room that a line of it has\n\u{2022} The second of the items \
             takes all of the room that a line of it has\n\u{2022} The third of the items takes the room of a line",
            "One line of a paragraph that is far too long to have been wrapped by any terminal, since it goes on and on and \
             on until it has more columns than that\nAnother line",
        ] {
            assert_eq!(joined(left), left);
        }
    }

    #[test]
    fn a_name_without_room_continues_a_line_of_wide_characters() {
        let joined = |text: &str| with_joined_lines(text.into()).into_owned();
        let name = "_menu_items_of_the_page";
        let line = "根据以上的分析已经有了清楚的结论。现在来确认一下目前最关键的";
        assert_eq!(joined(&format!("{line}\n{name} 相关的设置。")), format!("{line} {name} 相关的设置。"));
        for left in
            ["请看一下这个函数的结果为什么会不一致\n另外再写一个测试。".to_owned(), format!("{line}\nmenu 相关的设置")]
        {
            assert_eq!(joined(&left), left);
        }
    }

    #[test]
    fn sentences_end_where_people_end_them() {
        for (text, expected) in [
            ("One. Two! Three? Four", &["One.", "Two!", "Three?", "Four"] as &[&str]),
            ("Port 48213 is reserved; do not use it. Ever.", &["Port 48213 is reserved; do not use it.", "Ever."]),
            ("Don't touch e.g. foo.rs. It is owned by Ann.", &["Don't touch e.g. foo.rs.", "It is owned by Ann."]),
            ("Only main, i.e. never a branch!", &["Only main, i.e. never a branch!"]),
            ("Keep logs, traces, etc. out of it.", &["Keep logs, traces, etc. out of it."]),
            ("No logs, etc. Use traces.", &["No logs, etc.", "Use traces."]),
            ("Use A vs. B, cf. C, approx. 5 of fig. 2.", &["Use A vs. B, cf. C, approx. 5 of fig. 2."]),
            ("See no. 5. The answer is no. Use it.", &["See no. 5.", "The answer is no.", "Use it."]),
            ("Ask Dr. Who. It takes 5 ms. Mr. X waits.", &["Ask Dr. Who.", "It takes 5 ms.", "Mr. X waits."]),
            ("Version 1.5 must stay; 2.0 is out. Ok", &["Version 1.5 must stay; 2.0 is out.", "Ok"]),
            ("Nutze z.B. UTC. Danke.", &["Nutze z.B. UTC.", "Danke."]),
            ("(E.g. this one.) And that", &["(E.g. this one.) And that"]),
            ("不要修改它。请先测试！好吗？好", &["不要修改它。", "请先测试！", "好吗？", "好"]),
            ("「絶対に。」次へ", &["「絶対に。」", "次へ"]),
            ("# 1. A heading. Text", &["A heading.", "Text"]),
            ("a\n```\ncode. code\n```\nb. c", &["a", "b.", "c"]),
            (" . ", &["."]),
        ] {
            assert_eq!(sentences(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn letters_are_those_of_the_standard_library() {
        let differing = ('\u{80}'..=char::MAX).find(|one| is_alphabetic(*one) != one.is_alphabetic());
        assert_eq!(differing, None);
    }

    #[test]
    fn words_are_distinguished_from_logs_and_code() {
        for prose in [
            "please make the button blue, and add a test",
            "I think the error message is a red herring.",
            "Vérifie que le sitemap est bien généré lors du build (import du package si besoin).",
            "请先测试！",
        ] {
            assert!(is_prose(prose), "{prose}");
        }
        for pasted in [
            "[02/26/25 23:13:29] DEBUG Overriding num_results=5 with n=4 cli.py:297",
            "\"snippet\": \"Aug 23, 2023\",",
            "│ 235 │ │ skipkeys=skipkeys, ensure_ascii=ensure_ascii, │",
            "at AppInner (App.tsx:141:27)",
            "const x = { a: 1 };",
        ] {
            assert!(!is_prose(pasted), "{pasted}");
        }
    }

    #[test]
    fn code_of_a_model_is_known_without_fences() {
        for code in ["io = from_coder.io;", "def create(self, main_model=None):", "return use_kwargs.update(update)"] {
            assert!(is_code(code), "{code}");
        }
        for words in [
            "修改了parse_header和read_body两个函数",
            "已将MAX_SIZE=5写入配置",
            "`mdLink`: `#81a2be` (blue)",
            "Call `open(path)` before read_all(), or the test fails.",
            "TypeError: Coder.__init__() got an unexpected keyword argument 'pretty'",
            "Set MAX_SIZE=5 in the file.",
            "20 passed in 6.41s",
        ] {
            assert!(!is_code(words), "{words}");
        }
    }

    #[test]
    fn rows_of_tables_lose_their_edges() {
        assert_eq!(without_edges("| Total | 3 h |"), "Total | 3 h");
        assert_eq!(without_edges("| open"), "| open");
        assert_eq!(without_edges("|"), "|");
    }

    #[test]
    fn code_is_a_part_of_its_own() {
        let split = |text| {
            let part = |part| match part {
                Part::Sentence(sentence) => format!("s:{sentence}"),
                Part::Heading(text) => format!("h:{text}"),
                Part::Code(code) => format!("c:{}", code.trim_end()),
            };
            parts(text).map(part).collect::<Vec<_>>()
        };
        assert_eq!(split("One. Two\n```sh\nmake\nls\n```\n- Three"), ["s:One.", "s:Two", "c:make\nls", "s:Three"]);
        assert_eq!(split("```\nopen"), ["c:open"]);
        assert_eq!(
            split("## Results. All of them\n**Next:**\n- a: b."),
            ["h:Results. All of them", "h:Next:**", "s:a: b."]
        );
        assert!(split("```\n```").is_empty());
    }

    proptest::proptest! {
        #[test]
        fn nothing_but_space_is_lost(line in "[^\\p{C}\\p{Z}#>*`+0-9-]([ -_a-zé中。！？؟.]|e\\.g\\. |\\. ){0,40}") {
            let bare = |text: &str| text.split_whitespace().collect::<String>();
            proptest::prop_assert_eq!(sentences(&line).map(bare).collect::<String>(), bare(&line));
        }
    }
}
