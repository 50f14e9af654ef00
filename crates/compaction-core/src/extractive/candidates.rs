//! What a ledger leaves for the sections of a summary.

use super::Style;
use std::collections::{HashMap, HashSet};

use super::budget::MOST_UNITS;
use super::pool::{Origin, Pool, Rank};
use crate::ledger::cues::{goal_line, is_trivial};
use crate::ledger::labels::{COMMAND, FAILED, FOCUS, GO_ON, LATEST, LEFT_BRANCH, WORKING_ON};
use crate::ledger::subject::shown;
use crate::ledger::text::{clip, clip_middle, one_line, quote};
use crate::ledger::{ErrorRecord, Ledger, Note, NoteKind, Request, RequestWeight};
use crate::summary::{Section, SummaryKind};

/// UTF-16 units of the latest request where it is told again.
const LONGEST_REPEAT: usize = 80;
/// UTF-16 units of a short message of the person in a list of them.
const LONGEST_REPLY: usize = 80;
const SHORTEST_REPLY: usize = 44;
/// Requests, counted from the end, that matter as such.
const RECENT_REQUESTS: usize = 4;
/// Times that a command has to run before it counts as one of the project's commands.
const USUAL: u64 = 3;

/// Candidates, and lists of what is told in a word or two, the most wanted first.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) pool: Pool,
    /// Errors that nothing waits for.
    pub(super) resolved: Vec<String>,
    /// Short messages of the person, the newest first.
    pub(super) replies: Vec<Reply>,
    pub(super) paths: Vec<String>,
    pub(super) identifiers: Vec<String>,
}

/// A short message of the person.
#[derive(Debug)]
pub(super) struct Reply {
    /// Its first words, without quotation marks.
    pub(super) text: String,
    pub(super) whole: String,
}

impl Told {
    pub(super) fn of(ledger: &Ledger, kind: SummaryKind, style: &Style<'_>) -> Self {
        let mut pool = Pool::new(style.custom_instructions, style.citations);
        if let Some(focus) = style.custom_instructions.filter(|focus| !focus.trim().is_empty()) {
            pool.add(Section::Constraints, &format!("{FOCUS}{focus}"), Origin::at(ledger.messages), Rank::Must);
        }
        let mut telling = Telling { ledger, kind, pool };
        telling.requests();
        telling.notes();
        telling.deeds();
        telling.errors();
        telling.go_on();
        let name = |name: &crate::ledger::NameRecord| one_line(&name.name);
        Self {
            resolved: resolved(ledger),
            replies: telling.replies(style),
            paths: ledger.paths.iter().map(name).collect(),
            identifiers: ledger.identifiers.iter().map(name).collect(),
            pool: telling.pool,
        }
    }
}

struct Telling<'a> {
    ledger: &'a Ledger,
    kind: SummaryKind,
    pool: Pool,
}

impl<'a> Telling<'a> {
    fn requests(&mut self) {
        let asking: Vec<&Request> = self.ledger.requests.iter().filter(|request| is_asking(request)).collect();
        let older = asking.len().saturating_sub(RECENT_REQUESTS);
        let is_latest =
            |request: &Request| self.latest().is_some_and(|latest| one_line(&latest.text) == one_line(&request.text));
        let first = self.first_request();
        let mut items = Vec::new();
        for (number, request) in asking.iter().enumerate().filter(|(_, request)| !is_latest(request)) {
            let matters = request.weight == RequestWeight::Topic || number >= older;
            items.push((*request, if matters { Rank::Normal } else { Rank::Low }));
        }
        if let Some(first) = first {
            match self.kind {
                SummaryKind::TurnPrefix => {
                    items.retain(|(request, _)| request.position != first.position);
                    let text = clip_middle(&first.text, MOST_UNITS);
                    self.pool.add(Section::Goal, &text, origin(first), Rank::Must);
                }
                _ if is_latest(first) => {}
                _ => self.add_request(first, Rank::Must),
            }
        }
        for (request, rank) in items {
            self.add_request(request, rank);
        }
        if let Some(latest) = self.latest() {
            let line = one_line(&clip_middle(&latest.text, MOST_UNITS));
            self.pool.add(Section::Goal, &format!("{LATEST}{line}"), origin(latest), Rank::Must);
            if self.is_open() {
                let item = format!("{WORKING_ON}{}", goal_line(&latest.text));
                self.pool.add(Section::InProgress, &item, origin(latest), Rank::Normal);
            }
        }
    }

    /// A request as an item that is short at first.
    fn add_request(&mut self, request: &Request, rank: Rank) {
        let whole = one_line(&clip_middle(&request.text, MOST_UNITS));
        self.pool.add_cut(Section::Goal, &goal_line(&request.text), Some(whole), origin(request), rank);
    }

    /// The request that began it all.
    fn first_request(&self) -> Option<&'a Request> {
        let requests = &self.ledger.requests;
        requests.iter().find(|request| !is_trivial(&request.text)).or_else(|| requests.first())
    }

    /// The request that came last; the kept end of a turn tells its own.
    fn latest(&self) -> Option<&'a Request> {
        self.ledger.last_request().filter(|_| self.kind != SummaryKind::TurnPrefix)
    }

    /// Whether the latest request still waits for its answer's end.
    fn is_open(&self) -> bool {
        let Some(latest) = self.latest() else { return false };
        // What an earlier summary told as the latest is open if it said so.
        let is_told = |note: &Note| note.text.starts_with(WORKING_ON);
        match latest.position {
            0 => self.ledger.notes_of(NoteKind::Open).any(is_told),
            position => self.ledger.is_waiting || self.ledger.answered < position,
        }
    }

    fn notes(&mut self) {
        for note in &self.ledger.notes {
            let section = match note.kind {
                _ if note.text.starts_with(LEFT_BRANCH) => self.section_of_branch(note.kind),
                NoteKind::Constraint => Section::Constraints,
                NoteKind::Decision => Section::Decisions,
                NoteKind::Done => Section::Done,
                NoteKind::Open => Section::InProgress,
                NoteKind::Blocked => Section::Blocked,
                NoteKind::Step if self.kind == SummaryKind::TurnPrefix => continue,
                NoteKind::Step => Section::NextSteps,
                NoteKind::Fact | NoteKind::Answer => Section::CriticalContext,
            };
            let origin = Origin { position: note.position, times: note.times, sources: Some(&note.sources) };
            self.pool.add(section, &note.text, origin, if note.is_minor { Rank::Low } else { Rank::Normal });
        }
    }

    /// In the summary of a branch such items keep their sections, as all of it is about what was left.
    fn section_of_branch(&self, kind: NoteKind) -> Section {
        match kind {
            _ if self.kind != SummaryKind::Branch => Section::CriticalContext,
            NoteKind::Blocked => Section::Blocked,
            NoteKind::Step => Section::NextSteps,
            NoteKind::Open => Section::InProgress,
            _ => Section::Goal,
        }
    }

    fn deeds(&mut self) {
        for file in &self.ledger.files {
            let deeds = [("Read", file.read), ("Wrote", file.written), ("Edited", file.edited)];
            for (number, (deed, times)) in deeds.into_iter().enumerate().filter(|(_, (_, times))| *times > 0) {
                let rank = if number == 0 { Rank::Low } else { Rank::Normal };
                let origin = Origin { position: file.position, times, sources: Some(&file.sources) };
                self.pool.add(Section::Done, &format!("{deed} {}", quote(&shown(&file.path))), origin, rank);
            }
        }
        for command in self.ledger.commands.iter().filter(|command| command.succeeded > 0) {
            let deed = if command.is_call { "Called" } else { "Ran" };
            let name = quote(&shown(&command.command));
            let (position, times) = (command.position, command.succeeded);
            let origin = Origin { position, times, sources: Some(&command.sources) };
            self.pool.add(Section::Done, &format!("{deed} {name}"), origin, Rank::Low);
            if times >= USUAL {
                let item = format!("{COMMAND}{name}");
                self.pool.add(Section::CriticalContext, &item, Origin::at(position), Rank::Normal);
            }
        }
    }

    fn errors(&mut self) {
        for error in self.ledger.unresolved_errors() {
            let origin = Origin { position: error.position, times: error.times, sources: Some(&error.sources) };
            self.pool.add(Section::Blocked, &error_item(error), origin, Rank::Normal);
        }
    }

    /// What comes next where no answer said so: the request that is open or whose work failed.
    fn go_on(&mut self) {
        let Some(latest) = self.latest() else { return };
        let said = |note: &Note| !note.is_minor && note.position >= latest.position && note.position > 0;
        let has_failed = self.ledger.unresolved_errors().any(|error| error.position > latest.position);
        if self.ledger.notes_of(NoteKind::Step).any(said) || !has_failed && !self.is_open() {
            return;
        }
        let request = clip(&one_line(&clip_middle(&latest.text, MOST_UNITS)), LONGEST_REPEAT);
        self.pool.add(Section::NextSteps, &format!("{GO_ON}{request}"), Origin::at(u64::MAX), Rank::Normal);
    }

    /// Short messages of the person, the newest first.
    fn replies(&self, style: &Style<'_>) -> Vec<Reply> {
        let longest = usize::try_from(style.max_tokens / 60).unwrap_or(usize::MAX).clamp(SHORTEST_REPLY, LONGEST_REPLY);
        let first = self.first_request().map(|first| first.position);
        let latest = self.latest().map(|latest| latest.position);
        let is_told = |request: &&Request| {
            is_asking(request) || Some(request.position) == first || Some(request.position) == latest
        };
        let replies = self.ledger.requests.iter().rev().filter(|request| !is_told(request));
        let mut seen = HashSet::new();
        let texts = replies.map(|reply| one_line(&clip_middle(&reply.text, MOST_UNITS)));
        let texts = texts.map(|whole| Reply { text: clip(&whole, longest), whole });
        texts.filter(|reply| !reply.text.is_empty() && seen.insert(reply.text.clone())).collect()
    }
}

/// Errors that were dealt with, the newest first, but those of one command together: its name stands
/// before the first of them alone.
fn resolved(ledger: &Ledger) -> Vec<String> {
    let mut subjects: Vec<Option<&str>> = Vec::new();
    let mut by_subject: HashMap<Option<&str>, Vec<&ErrorRecord>> = HashMap::new();
    for error in ledger.errors.iter().rev().filter(|error| error.is_resolved) {
        let errors = by_subject.entry(error.subject.as_deref()).or_default();
        if errors.is_empty() {
            subjects.push(error.subject.as_deref());
        }
        errors.push(error);
    }
    let mut items = Vec::new();
    for errors in subjects.iter().filter_map(|subject| by_subject.get(subject)) {
        let told = |(number, error): (usize, &&ErrorRecord)| {
            if number == 0 { error_item(error) } else { error.line.clone() }
        };
        items.extend(errors.iter().enumerate().map(told));
    }
    items
}

fn is_asking(request: &Request) -> bool {
    request.weight != RequestWeight::Reply
}

fn origin(request: &Request) -> Origin<'_> {
    Origin { position: request.position, times: 1, sources: Some(&request.sources) }
}

fn error_item(error: &ErrorRecord) -> String {
    match &error.subject {
        Some(subject) => format!("{}{FAILED}{}", quote(subject), error.line),
        None => format!("The last request to the model{FAILED}{}", error.line),
    }
}
