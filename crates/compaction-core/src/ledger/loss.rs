//! The loss report: what was in the compacted part and is missing from the new context, and its repair.

use std::borrow::Cow;
use std::collections::HashMap;

use super::claims::{reversed, unsupported};
use super::constraints::says_how_long;
use super::coverage::{Coverage, Sums, Target, is_bag, weigh};
use super::measure::{Class, Item, MatchKey, Retention, State, Tally, finder_of, states};
use super::names::is_weak_path;
use super::notes::{Note, NoteKind};
use super::selection::Selection;
use super::text::{clip, clip_middle, one_line, quote, read_one_line};
use super::{ErrorRecord, Ledger, NameRecord, Places, Request, RequestWeight, Sources, Statement, Voice};
use crate::json::Json;
use crate::message::{Block, Body, Content, Message};
use crate::projection::PreparedMessage;
use crate::summary::is_section_heading;
use crate::text::{prefix_utf16, utf16_len};

/// Leading UTF-16 units that identify a request.
const REQUEST_UNITS: usize = 40;
/// Leading UTF-16 units that identify a line.
const LINE_UNITS: usize = 80;
/// Most files that a context should contain; the most important count. The same for the other classes below.
const MOST_FILES: usize = 400;
const MOST_NAMED_PATHS: usize = 100;
const MOST_IDENTIFIERS: usize = 240;
const MOST_ERRORS: usize = 120;
const MOST_REQUESTS: usize = 240;
const MOST_CONSTRAINTS: usize = 80;
/// Total UTF-16 units of the statements that a context should contain: the most informative ones.
const STATEMENT_UNITS: usize = 8000;
/// Leading UTF-16 units of each kept text that are searched for paraphrases.
const KEPT_UNITS: usize = 3000;
/// Most requests that are open at once, with the last one.
const MOST_OPEN: usize = 3;
/// Part of the weighted terms of a line that one statement must have to be similar. A short rule that a model rewords
/// keeps about half of its words.
const SIMILAR_PART: f32 = 0.34;
/// Most sentences of a long request that are searched for.
const MOST_SENTENCES: usize = 60;
/// Weight of the last request. Items without a weight of their own weigh 1.
const LAST: f64 = 3.0;
/// Weight of a request that only confirms or comments.
const REPLY: f64 = 0.2;
/// Weight of a resolved error.
const RESOLVED: f64 = 0.05;

/// What is checked.
#[derive(Debug, Clone, Copy)]
pub struct Check<'a> {
    /// The ledger of the compacted part.
    pub ledger: &'a Ledger,
    /// The summary as it will be stored.
    pub summary: &'a str,
    /// The messages that it replaces.
    pub evicted: &'a [PreparedMessage],
    /// The summary before it.
    pub previous_summary: Option<&'a str>,
    /// The messages that stay.
    pub kept: &'a [PreparedMessage],
}

/// A claim of a summary that contradicts the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Suspicion {
    /// It says that a file was changed, but the file was only read.
    NotModified {
        /// The file.
        path: String,
    },
    /// It says that a file was not changed, but it was.
    Modified {
        /// The file.
        path: String,
    },
    /// It says that a command succeeded, but its last run failed.
    Failed {
        /// The command.
        command: String,
    },
    /// It says that something was committed, but nothing was.
    NotCommitted,
    /// It says that something was pushed, but nothing was.
    NotPushed,
}

/// What the new context lacks, the most important first.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LossReport {
    /// Paths.
    pub files: Vec<String>,
    /// Identifiers.
    pub identifiers: Vec<String>,
    /// Errors.
    pub errors: Vec<ErrorRecord>,
    /// Requests.
    pub requests: Vec<Request>,
    /// Constraints and preferences.
    pub constraints: Vec<Note>,
    /// Most informative statements that are missing.
    pub statements: Vec<Statement>,
    /// Requests and constraints that are only partly there.
    pub clipped: Vec<Clipped>,
    /// Names in the summary that appear in none of its sources.
    pub unsupported: Vec<String>,
    /// Claims of the summary that contradict the ledger.
    pub reversed: Vec<Suspicion>,
    /// The retention without repair.
    pub retention: Retention,
    /// Whether the last request is missing. It is then the first of `requests`.
    pub lacks_last_request: bool,
    /// Position of the oldest request that is still open; no later one is answered.
    open_since: u64,
    /// Position of the last message before the messages that the summary replaces.
    new_after: u64,
    tally: Tally,
    /// Items that are missing as a whole or in part.
    lacking: Vec<Lacking>,
}

/// An item that is missing as a whole or in part.
#[derive(Debug, Clone, PartialEq)]
struct Lacking {
    item: Item,
    state: State,
    /// Whether the context has something similar to a request or constraint: too little to count, but it may say the
    /// same in other words.
    has_similar: bool,
}

/// A text that is only partly there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clipped {
    /// The whole text.
    pub text: String,
    /// The entries that it comes from.
    pub sources: Sources,
}

/// False claims of a summary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FalseClaims {
    unsupported: Vec<String>,
    reversed: Vec<Suspicion>,
}

impl FalseClaims {
    /// Looks for names without a source and for claims that contradict the ledger. This reads all messages.
    pub fn of(check: &Check<'_>) -> Self {
        Self { unsupported: unsupported(check), reversed: reversed(check.summary, check.ledger) }
    }
}

impl LossReport {
    /// Compares the new context with the compacted part itself, not only with what a stored ledger
    /// still has. What earlier compactions forgot counts as lost.
    pub fn of(check: &Check<'_>) -> Self {
        Self::of_lacking(check).with_claims(FalseClaims::of(check))
    }

    /// As [`LossReport::of`], with the false claims of the summary, which can be searched for at the same time.
    #[must_use]
    pub fn with_claims(self, claims: FalseClaims) -> Self {
        Self { unsupported: claims.unsupported, reversed: claims.reversed, ..self }
    }

    /// As [`LossReport::of`], without the false claims of the summary.
    pub fn of_lacking(check: &Check<'_>) -> Self {
        let ledger = check.ledger;
        let expected = expected(ledger);
        let mut coverage = Coverage::looking_for(expected.iter().flat_map(|(item, _)| &item.targets));
        let mut finder = finder_of(expected.iter().map(|(item, _)| item));
        let mut line = String::new();
        let mut search = |text: &str| {
            if !finder.is_done() {
                read_one_line(text, &mut line);
                finder.search(&line);
            }
        };
        coverage.read(check.summary);
        coverage.part();
        search(check.summary);
        // Long messages are parsed whenever they are read.
        check.kept.iter().for_each(|prepared| {
            texts(&prepared.message, &mut |text| {
                coverage.read(prefix_utf16(text, KEPT_UNITS));
                search(text);
            });
        });
        let states = states(expected.iter().map(|(item, _)| item), &coverage, finder);
        let mut tally = Tally::default();
        expected.iter().zip(&states).for_each(|((item, _), state)| tally.add(item, *state));
        tally.add_forgotten(Class::Request, ledger.left_out.of("requests") as f64);
        tally.add_forgotten(Class::Constraint, ledger.left_out.of("constraints") as f64);
        tally.add_forgotten(Class::Error, ledger.left_out.of("errors") as f64 * RESOLVED);
        let mut report = Self {
            retention: tally.retention(),
            open_since: open_since(&ledger.requests),
            new_after: ledger.messages.saturating_sub(check.evicted.len() as u64),
            tally,
            ..Self::default()
        };
        let mut sums = Sums::default();
        for ((item, source), state) in expected.into_iter().zip(states) {
            match state {
                State::Missing => report.add_missing(source),
                State::Part => report.clipped.extend(source.clipped()),
                State::There => continue,
            }
            let is_asked = matches!(item.class, Class::Constraint | Class::Request);
            let mut is_near = |target: &Target| coverage.holds(target, SIMILAR_PART, &mut sums);
            let has_similar = is_asked && item.targets.iter().any(&mut is_near);
            report.lacking.push(Lacking { item, state, has_similar });
        }
        report.lacks_last_request = ledger.last_request().is_some_and(|last| report.requests.first() == Some(last));
        report
    }

    fn add_missing(&mut self, source: Source<'_>) {
        match source {
            Source::File(path) => self.files.push(path.to_owned()),
            Source::Identifier(name) => self.identifiers.push(name.name.clone()),
            Source::Error(error) => self.errors.push(error.clone()),
            Source::Request(request) => self.requests.push(request.clone()),
            Source::Constraint(note) => self.constraints.push(note.clone()),
            Source::Statement(statement) => self.statements.push(statement.clone()),
        }
    }

    /// The retention with `added` appended to the summary.
    pub(super) fn retention_with(&self, added: &str) -> Retention {
        let states = states_in(added, self.lacking.iter().map(|lacking| &lacking.item));
        let mut tally = self.tally;
        for (lacking, state) in self.lacking.iter().zip(states) {
            tally.change(&lacking.item, lacking.state, state);
        }
        tally.retention()
    }

    /// For each missing item of a class, in order, whether `lines` contain it.
    pub(super) fn covered_by(&self, lines: &[String], class: Class) -> Vec<bool> {
        let states = states_in(&lines.join("\n"), self.missing(class).map(|lacking| &lacking.item));
        states.into_iter().map(|state| state == State::There).collect()
    }

    /// The items of a class that are missing as a whole, in the order of the class's list.
    fn missing(&self, class: Class) -> impl Iterator<Item = &Lacking> + Clone {
        self.lacking.iter().filter(move |lacking| lacking.item.class == class && lacking.state == State::Missing)
    }

    /// Whether nothing is missing or doubtful.
    pub fn is_clean(&self) -> bool {
        self.lacking.is_empty() && self.unsupported.is_empty() && self.reversed.is_empty()
    }
}

/// Position of the oldest open request: the newest requests without an answer, at most [`MOST_OPEN`] in the person's
/// own words. Work that continued through more requests has left the older ones behind.
fn open_since(requests: &[Request]) -> u64 {
    let open = requests.iter().rev().take_while(|request| !request.is_answered).filter(|request| request.is_own());
    open.take(MOST_OPEN).last().map_or(u64::MAX, |request| request.position)
}

/// How much of each of `items` one text contains.
fn states_in<'a>(text: &str, items: impl Iterator<Item = &'a Item> + Clone) -> Vec<State> {
    let mut coverage = Coverage::looking_for(items.clone().flat_map(|item| &item.targets));
    // The windows over lines depend on the text before, which will be different in the end.
    text.lines().for_each(|line| {
        coverage.read(line);
        coverage.part();
    });
    let mut finder = finder_of(items.clone());
    finder.search(&one_line(text));
    states(items, &coverage, finder)
}

/// Where an item comes from.
#[derive(Clone, Copy)]
enum Source<'a> {
    File(&'a str),
    Identifier(&'a NameRecord),
    Error(&'a ErrorRecord),
    Request(&'a Request),
    Constraint(&'a Note),
    Statement(&'a Statement),
}

impl Source<'_> {
    fn clipped(self) -> Option<Clipped> {
        let (text, sources) = match self {
            Self::Request(request) => (&request.text, &request.sources),
            Self::Constraint(note) => (&note.text, &note.sources),
            _ => return None,
        };
        Some(Clipped { text: text.clone(), sources: sources.clone() })
    }
}

/// What a context should contain, class by class, the most important first.
fn expected(ledger: &Ledger) -> Vec<(Item, Source<'_>)> {
    let mut all: Vec<(Item, Source<'_>)> = Vec::new();
    let name = |class, name: &str| Item {
        class,
        weight: 1.0,
        key: Some(MatchKey { first: name.to_owned(), rest: Vec::new() }),
        targets: Vec::new(),
    };
    let touched = ledger.files.iter().rev().take(MOST_FILES).map(|file| file.path.as_str());
    let recurs = |name: &&NameRecord| name.times > 1 || name.places.has(Places::PERSON);
    let named = ledger.paths.iter().filter(|path| !is_weak_path(&path.name)).filter(recurs);
    let named = named.take(MOST_NAMED_PATHS).map(|path| path.name.as_str());
    let paths: Vec<&str> = touched.chain(named).collect();
    let mut bases: HashMap<&str, usize> = HashMap::new();
    paths.iter().for_each(|path| *bases.entry(base_name(path)).or_default() += 1);
    // The base name is enough for a file if no other file has it.
    let shortest = |path: &'_ str| if bases[base_name(path)] == 1 { base_name(path) } else { path }.to_owned();
    all.extend(paths.iter().map(|path| (name(Class::File, &shortest(path)), Source::File(path))));
    let identifiers = ledger.identifiers.iter().filter(recurs).take(MOST_IDENTIFIERS);
    all.extend(identifiers.map(|record| (name(Class::Identifier, &record.name), Source::Identifier(record))));
    let mut errors: Vec<_> = ledger.errors.iter().rev().collect();
    errors.sort_by_key(|error| error.is_resolved);
    all.extend(errors.into_iter().take(MOST_ERRORS).map(|error| {
        let weight = if error.is_resolved { RESOLVED } else { 1.0 };
        let key = Some(MatchKey::error(&error.line, LINE_UNITS));
        let targets = vec![Target::of(&error.line)];
        (Item { class: Class::Error, weight, key, targets }, Source::Error(error))
    }));
    let last = ledger.last_request();
    all.extend(ledger.requests.iter().rev().take(MOST_REQUESTS).map(|request| {
        let weight = match request.weight {
            RequestWeight::Answer | RequestWeight::Reply => REPLY,
            _ if Some(request) == last => LAST,
            _ => 1.0,
        };
        let key = Some(MatchKey::text(&request.text, REQUEST_UNITS));
        let targets = Target::parts(&request.text, MOST_SENTENCES);
        (Item { class: Class::Request, weight, key, targets }, Source::Request(request))
    }));
    all.extend(ledger.standing(NoteKind::Constraint).rev().take(MOST_CONSTRAINTS).map(|note| {
        let key = Some(MatchKey::text(&note.text, LINE_UNITS));
        let targets = vec![Target::of(&note.text)];
        (Item { class: Class::Constraint, weight: 1.0, key, targets }, Source::Constraint(note))
    }));
    all.extend(statements(ledger).into_iter().map(|(statement, weight)| {
        let targets = vec![Target::of(&statement.text)];
        (Item { class: Class::Statement, weight, key: None, targets }, Source::Statement(statement))
    }));
    weigh(all.iter_mut().flat_map(|(item, _)| &mut item.targets), &ledger.statements);
    all
}

/// The last part of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(path)
}

/// The most informative statements with their weights, relative to the most informative one.
fn statements(ledger: &Ledger) -> Vec<(&Statement, f64)> {
    let selection = Selection { units: STATEMENT_UNITS, half_life: STATEMENT_UNITS, focus: None, quotes: usize::MAX };
    let mut chosen = selection.choose_weighed(ledger, &[]);
    chosen.sort_by(|left, right| right.1.total_cmp(&left.1));
    let most = chosen.first().map_or(1.0, |(_, weight)| f64::from(*weight)).max(f64::MIN_POSITIVE);
    let chosen = chosen.into_iter().map(|(index, weight)| (&ledger.statements[index], f64::from(weight) / most));
    chosen.filter(|(statement, _)| !is_bag(&statement.text)).collect()
}

/// Calls `read` with every text of a message that a model sees, including arguments of calls.
pub(super) fn texts(message: &Message, read: &mut impl FnMut(&str)) {
    let mut content = |content: &Content| match content {
        Content::Text(text) => read(text),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| block_texts(block, read)),
    };
    match &*message.read_body() {
        Body::User { content: own } | Body::Custom { content: own, .. } | Body::ToolResult { content: own, .. } => {
            content(own);
        }
        Body::System(system) => content(&system.content),
        Body::Assistant(assistant) => assistant.content.iter().for_each(|block| block_texts(block, read)),
        Body::BashExecution(bash) if !bash.exclude_from_context => {
            read(&bash.command);
            read(&bash.output);
        }
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => read(summary),
        Body::BashExecution(_) | Body::Other { .. } => {}
    }
}

fn block_texts(block: &Block, read: &mut impl FnMut(&str)) {
    match block {
        Block::Text(text) | Block::Thinking(text) => read(text),
        Block::ToolCall(call) => {
            let mut values: Vec<&Json<'static>> = call.arguments.iter().collect();
            while let Some(value) = values.pop() {
                match value {
                    Json::String(text) | Json::Deep(text) => read(text),
                    Json::Array(items) => values.extend(items),
                    Json::Object(members) => values.extend(members.iter().map(|(_, value)| value)),
                    _ => {}
                }
            }
        }
        Block::Image | Block::Other => {}
    }
}

const OPEN: &str = "<retained-facts>";
const CLOSE: &str = "</retained-facts>";
/// UTF-16 units of a token in an estimate.
const UNITS_PER_TOKEN: u64 = 4;
/// Longest last request in a line, in UTF-16 units.
const LAST_REQUEST: usize = 4000;
/// Longest other request, in UTF-16 units.
const REQUEST: usize = 160;
/// Longest other text, in UTF-16 units.
const LINE: usize = 400;
/// Longest clipped text that is repeated whole, in UTF-16 units.
const LONGEST_RESTORED: usize = 600;
/// UTF-16 units to which cut lines are extended, step by step.
const STEPS: [usize; 3] = [300, 600, LAST_REQUEST];
/// Percentage of the remaining room that statements may take.
const STATEMENTS_PERCENT: usize = 60;
/// Most names that are listed.
const MOST_NAMES: usize = 12;

/// A block with the facts that a summary lacks.
#[derive(Debug, Clone, PartialEq)]
pub struct Repair {
    /// The block with its tags. It belongs after the summary's text and before the file blocks.
    pub block: String,
    /// The retention of the context with the block.
    pub retention: Retention,
}

impl LossReport {
    /// The block with the missing facts in at most `budget_tokens`; `None` if nothing is missing or
    /// nothing fits. First comes what is in force: the last request, open errors of the replaced
    /// messages, constraints that say for how long or, in the replaced messages, to what they apply, and open
    /// requests. Constraints and requests are left out if the context has something similar. What else an earlier
    /// summary covered was left out on purpose. The rest fills a short summary only, up to
    /// `filling_tokens` with the lines before it: other constraints, statements, files, earlier requests and a few
    /// names. A model that writes more has chosen what it leaves out. Resolved errors are left out, since the next
    /// model does not need them.
    pub fn repair(&self, budget_tokens: u64, filling_tokens: u64) -> Option<Repair> {
        let tags = OPEN.len() + CLOSE.len() + 2;
        let units = |tokens: u64| {
            let units = usize::try_from(tokens.saturating_mul(UNITS_PER_TOKEN)).unwrap_or(usize::MAX);
            units.saturating_sub(tags)
        };
        let most = units(budget_tokens);
        let mut writer = Writer { left: most, lines: Vec::new(), cut: Vec::new() };
        let last = self.requests.first().filter(|_| self.lacks_last_request);
        writer.items("Latest request", last.map(|request| request_line(request, LAST_REQUEST)));
        let is_new = |position: u64| position > self.new_after;
        let (new_errors, old_errors): (Vec<&ErrorRecord>, Vec<&ErrorRecord>) =
            self.errors.iter().filter(|error| !error.is_resolved).partition(|error| is_new(error.position));
        writer.items("Unresolved error", new_errors.into_iter().map(error_line));
        let constraints = self.constraints.iter().zip(self.missing(Class::Constraint));
        let (in_force, other_constraints): (Vec<_>, Vec<_>) = constraints
            .partition(|(note, lacking)| !lacking.has_similar && says_how_long(&note.text, is_new(note.position)));
        let constraint_line = |(note, _): (&Note, &Lacking)| FactLine::cut(&note.text, LINE);
        writer.items("Constraint", in_force.into_iter().map(constraint_line));
        let earlier = || self.requests.iter().zip(self.missing(Class::Request)).skip(usize::from(last.is_some()));
        let open = earlier().filter(|(request, lacking)| {
            request.is_own() && request.position >= self.open_since && !lacking.has_similar
        });
        writer.items("Open request", open.map(|(request, _)| request_line(request, REQUEST)));
        let filling = units(filling_tokens.min(budget_tokens)).saturating_sub(most - writer.left);
        if filling == 0 {
            writer.lengthen();
        }
        writer.left = filling;
        writer.items("Unresolved error", old_errors.into_iter().map(error_line));
        writer.items("Constraint", other_constraints.into_iter().map(constraint_line));
        self.write_statements(&mut writer);
        writer.list("Files", self.files.iter().map(|path| one_line(path)));
        let covered = self.covered_by(&writer.lines, Class::Request).into_iter().skip(usize::from(last.is_some()));
        let others = earlier().zip(covered).filter(|(_, is_covered)| !is_covered);
        writer.items("Earlier request", others.map(|((request, _), _)| request_line(request, REQUEST)));
        let restored = self.clipped.iter().map(|clipped| FactLine::cut(&clipped.text, LONGEST_RESTORED));
        writer.items("In full", restored.filter(|item| item.whole.is_none()));
        writer.list("Names", self.identifiers.iter().take(MOST_NAMES).map(|name| one_line(name)));
        writer.lengthen();
        if writer.lines.is_empty() {
            return None;
        }
        let lines = writer.lines.join("\n");
        Some(Repair { retention: self.retention_with(&lines), block: format!("{OPEN}\n{lines}\n{CLOSE}") })
    }

    /// Writes the most informative statements that the lines so far do not cover.
    fn write_statements(&self, writer: &mut Writer) {
        let covered = self.covered_by(&writer.lines, Class::Statement);
        let kept = writer.left - writer.left / 100 * STATEMENTS_PERCENT;
        writer.left -= kept;
        for (statement, _) in self.statements.iter().zip(covered).filter(|(_, is_covered)| !is_covered) {
            writer.items(speaker(statement), [FactLine { text: one_line(&statement.text), whole: None }]);
        }
        writer.left += kept;
    }
}

/// The label of whoever made a statement.
fn speaker(statement: &Statement) -> &'static str {
    match statement.voice {
        Voice::Person => "User",
        Voice::Report | Voice::Remark | Voice::Announcement | Voice::Refuted => "Assistant",
        Voice::Action | Voice::Milestone => "Work",
        Voice::Quote => "Quoted",
        Voice::Document => "Written in",
        Voice::Summary => "Earlier",
    }
}

/// A line to write.
struct FactLine {
    text: String,
    /// The whole text, if `text` was cut.
    whole: Option<String>,
}

impl FactLine {
    /// A line of at most `units`. A longer text keeps its beginning and end.
    fn cut(text: &str, units: usize) -> Self {
        let whole = one_line(text);
        let text = clip_middle(&whole, units);
        Self { whole: (text != whole).then_some(whole), text }
    }
}

fn request_line(request: &Request, units: usize) -> FactLine {
    FactLine::cut(&request.text, units)
}

fn error_line(error: &ErrorRecord) -> FactLine {
    let line = one_line(&error.line);
    let text = match &error.subject {
        Some(subject) => format!("{} failed: {line}", quote(&clip(subject, LINE / 2))),
        None => line,
    };
    FactLine { text, whole: None }
}

/// A line with a cut text.
struct Cut {
    line: usize,
    label: String,
    whole: String,
}

struct Writer {
    /// UTF-16 units that are still free.
    left: usize,
    lines: Vec<String>,
    cut: Vec<Cut>,
}

impl Writer {
    /// Writes a line for each item that fits.
    fn items(&mut self, label: &str, items: impl IntoIterator<Item = FactLine>) {
        for item in items {
            let line = format!("{label}: {}", item.text);
            let cost = utf16_len(&line) + 1;
            if cost <= self.left {
                if let Some(whole) = item.whole {
                    self.cut.push(Cut { line: self.lines.len(), label: label.to_owned(), whole });
                }
                self.left -= cost;
                self.lines.push(line);
            }
        }
    }

    /// Extends cut lines as far as there is room: all of them by one step before any by the next.
    fn lengthen(&mut self) {
        for most in STEPS {
            self.cut.retain(|cut| {
                let text = clip_middle(&cut.whole, most);
                let (line, is_whole) = (format!("{}: {text}", cut.label), text == cut.whole);
                let more = utf16_len(&line).saturating_sub(utf16_len(&self.lines[cut.line]));
                let fits = more <= self.left;
                if fits && more > 0 {
                    self.left -= more;
                    self.lines[cut.line] = line;
                }
                !(fits && is_whole)
            });
        }
    }

    /// Writes one line with as many items as fit.
    fn list(&mut self, label: &str, items: impl Iterator<Item = String>) {
        let mut line = String::new();
        let mut count = 0;
        for item in items {
            let cost = utf16_len(&item) + 2 + if count == 0 { label.len() + 1 } else { 0 };
            if cost <= self.left {
                self.left -= cost;
                line.push_str(if count == 0 { " " } else { ", " });
                line.push_str(&item);
                count += 1;
            }
        }
        if count > 0 {
            self.lines.push(format!("{label}:{line}"));
        }
    }
}

/// `text` without blocks of retained facts, no matter who wrote them; the same text if it has none.
///
/// A block without an end tag ends before the next blank line or heading of the format.
pub fn remove_retained_facts(text: &str) -> Cow<'_, str> {
    if !text.contains(OPEN) && !text.contains(CLOSE) {
        return Cow::Borrowed(text);
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut kept: Vec<&str> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        match line.trim_end() {
            OPEN => {
                at = end_of_block(&lines, at + 1);
                // The blank line before a block belongs to the block.
                if kept.last().is_some_and(|line| line.trim().is_empty()) {
                    kept.pop();
                }
            }
            CLOSE => at += 1,
            _ => {
                kept.push(line);
                at += 1;
            }
        }
    }
    if kept.len() == lines.len() { Cow::Borrowed(text) } else { Cow::Owned(kept.join("\n").trim_end().to_owned()) }
}

/// The line after the block whose first line is `start`.
fn end_of_block(lines: &[&str], start: usize) -> usize {
    let rest = &lines[start..];
    let limit = rest.iter().position(|line| is_section_heading(line)).unwrap_or(rest.len());
    let close = rest[..limit].iter().position(|line| line.trim_end() == CLOSE);
    let blank = || rest[..limit].iter().position(|line| line.trim().is_empty());
    start + close.map(|length| length + 1).or_else(blank).unwrap_or(limit)
}
