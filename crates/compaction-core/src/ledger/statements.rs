//! Statements: the sentences of a conversation.
//!
//! Summaries are made from them. [`super::selection`] decides which of them are worth their space, both
//! in a summary and in the stored form.

use super::Sources;
use super::cues::is_announcement;
use super::notes::SourcePosition;
use super::sentences::{Part, is_prose, parts};
use super::text::{clip_middle, one_line};
use crate::text::{prefix_utf16, utf16_len};

/// UTF-16 units of the longest statement.
pub(super) const LONGEST: usize = 420;
/// UTF-16 units of the longest message of a person that becomes one statement.
const LONGEST_MESSAGE: usize = 420;
/// Most UTF-16 units of quoted code.
const LONGEST_QUOTE: usize = 240;
/// Most bytes of all statements while messages are read.
const MOST_BYTES: usize = 4 * 1024 * 1024;
/// Most statements of one message.
const MOST_OF_ONE: usize = 160;

/// Who made a statement, and what kind it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Voice {
    /// A person asked or answered.
    Person,
    /// The model said it at the end of its work.
    Report,
    /// The model said it during its work.
    Remark,
    /// The model announced what it would do.
    Announcement,
    /// It comes from a call or its result.
    Action,
    /// The result of a call shows that something was finished: a commit, a push, a run of tests.
    Milestone,
    /// It is code or pasted text: a log, a trace, data.
    Quote,
    /// It comes from an earlier summary.
    Summary,
}

impl Voice {
    /// Every voice with its name as stored.
    pub(super) const ALL: [(Self, &'static str); 8] = [
        (Self::Person, "person"),
        (Self::Report, "report"),
        (Self::Remark, "remark"),
        (Self::Announcement, "announcement"),
        (Self::Action, "deed"),
        (Self::Milestone, "milestone"),
        (Self::Quote, "quote"),
        (Self::Summary, "summary"),
    ];
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
    /// The entry that holds it.
    pub sources: Sources,
}

impl Statement {
    /// Whether the model made it.
    pub(crate) fn is_of_model(&self) -> bool {
        matches!(self.voice, Voice::Report | Voice::Remark | Voice::Announcement)
    }
}

/// The statements collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Statements {
    list: Vec<Statement>,
    /// Where the statements of the model's newest message begin.
    newest: usize,
    bytes: usize,
}

impl Statements {
    pub(super) fn restore(&mut self, statements: &[Statement]) {
        self.list = statements.to_vec();
        self.bytes = self.list.iter().map(|statement| statement.text.len()).sum();
        self.newest = self.list.len();
    }

    /// Adds what a person said.
    pub(super) fn add_person(&mut self, place: SourcePosition<'_>, text: &str) {
        self.end_turn();
        let line = one_line(text);
        if line.is_empty() {
            return;
        }
        if utf16_len(&line) <= LONGEST_MESSAGE {
            self.push(Voice::Person, line, 0, place);
            return;
        }
        self.add_parts(place, text, |sentence| if is_prose(sentence) { Voice::Person } else { Voice::Quote });
    }

    /// Adds an answer of the model.
    pub(super) fn add_model(&mut self, place: SourcePosition<'_>, text: &str, is_final: bool) {
        self.newest = self.list.len();
        let voice = |sentence: &str| match is_announcement(sentence) {
            true => Voice::Announcement,
            false if is_final => Voice::Report,
            false => Voice::Remark,
        };
        self.add_parts(place, text, voice);
    }

    /// Adds a line of a call, a result or an earlier summary.
    pub(super) fn add_line(&mut self, voice: Voice, place: SourcePosition<'_>, text: &str) {
        let line = clip_middle(&one_line(text), LONGEST);
        if !line.is_empty() {
            self.push(voice, line, 0, place);
        }
    }

    /// Makes the last message of the model before a person speaks a report.
    fn end_turn(&mut self) {
        for statement in self.list.iter_mut().skip(self.newest).filter(|statement| statement.voice == Voice::Remark) {
            statement.voice = Voice::Report;
        }
        self.newest = self.list.len();
    }

    fn add_parts(&mut self, place: SourcePosition<'_>, text: &str, voice: impl Fn(&str) -> Voice) {
        let mut number = 0;
        for part in parts(text).take(MOST_OF_ONE) {
            let (own, line) = match part {
                Part::Said(sentence) | Part::Heading(sentence) => {
                    let line = one_line(sentence);
                    let line = if line.contains('*') { line.replace("**", "") } else { line };
                    match (voice(&line), &part) {
                        // A heading says what follows and little by itself.
                        (Voice::Report | Voice::Remark, Part::Heading(_)) => (Voice::Announcement, line),
                        (voice, _) => (voice, line),
                    }
                }
                Part::Code(code) => (Voice::Quote, clip_middle(&one_line(code), LONGEST_QUOTE)),
            };
            if !line.contains(char::is_alphanumeric) {
                continue;
            }
            let pieces = if own == Voice::Person { pieces(&line) } else { vec![clip_middle(&line, LONGEST)] };
            for piece in pieces {
                self.push(own, piece, number, place);
                number += 1;
            }
        }
    }

    fn push(&mut self, voice: Voice, text: String, number: u64, place: SourcePosition<'_>) {
        self.bytes += text.len();
        // A conversation with this much text is summarised from its end.
        if self.bytes > MOST_BYTES {
            let half = self.list.len() / 2;
            self.bytes -= self.list.drain(..half).map(|statement| statement.text.len()).sum::<usize>();
            self.newest = self.newest.saturating_sub(half);
        }
        self.list.push(Statement { voice, text, number, position: place.position, sources: place.sources() });
    }

    pub(super) fn finish(self) -> Vec<Statement> {
        self.list
    }
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
