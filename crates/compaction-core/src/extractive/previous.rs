//! What earlier summaries told: merged item by item.

use super::actions::Actions;
use super::commands::core_command;
use super::pool::{Pool, Rank};
use super::text::quoted;
use crate::summary::{Section, Sections, SummaryDocument, SummaryKind};

/// Starts the item of the request that came last.
pub(super) const LATEST: &str = "Latest request: ";
/// Starts the item of a request that was not answered to its end.
pub(super) const WORKING_ON: &str = "Working on: ";
/// Starts the step that is next while the latest request is open and no other step is known.
pub(super) const GO_ON: &str = "Go on with: ";
/// Starts an item of what was wanted on a branch that was left.
const LEFT_BRANCH: &str = "On a branch that was left: ";
/// Starts the item that records the caller's instructions; they are for one summary.
pub(super) const FOCUS: &str = "Focus asked for this summary: ";
/// Starts the item of what an answer came to.
pub(super) const ANSWER: &str = "Answer: ";
/// Starts an item of names.
pub(super) const NAMES: &str = "Names in use: ";
/// Ends the item of a call whose result has not come.
pub(super) const NO_RESULT: &str = ": no result yet";
/// Stands between what failed and its error.
pub(super) const FAILED: &str = "failed: ";

/// Adds the items of a summary of what came before the messages.
///
/// Returns the request that came last in it.
pub(super) fn add(summary: &str, pool: &mut Pool) -> Option<String> {
    let document = SummaryDocument::parse(summary);
    for section in Section::ALL {
        for (number, item) in document.body[section].iter().enumerate() {
            // The first goal is the request that began the session.
            let rank = if number == 0 && section == Section::Goal { Rank::Must } else { Rank::Normal };
            add_item(section, item, rank, pool);
        }
    }
    add_other(&document.body, 0, pool);
    for context in &document.turn_contexts {
        for section in Section::ALL {
            context[section].iter().for_each(|item| add_item(section, item, Rank::Normal, pool));
        }
        add_other(context, 0, pool);
    }
    document.body[Section::Goal].iter().rev().find_map(|item| item.strip_prefix(LATEST)).map(str::to_owned)
}

fn add_item(section: Section, item: &str, rank: Rank, pool: &mut Pool) {
    if is_of_its_time(item) {
        return;
    }
    let item = item.strip_prefix(LATEST).unwrap_or(item);
    pool.add(settled_section(section), item, 0, rank);
}

/// Whether an item was made for its own summary alone.
fn is_of_its_time(item: &str) -> bool {
    item.starts_with(FOCUS) || item.starts_with(GO_ON)
}

/// Where the items of a turn's context belong, once the turn is history.
pub(super) fn settled_section(section: Section) -> Section {
    match section {
        Section::OriginalRequest => Section::Goal,
        Section::EarlyProgress => Section::Done,
        Section::SuffixContext => Section::CriticalContext,
        section => section,
    }
}

fn add_other(sections: &Sections, position: usize, pool: &mut Pool) {
    for other in &sections.other {
        let heading = other.heading.trim_start_matches('#').trim();
        for line in other.text.lines() {
            let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
            if !line.contains(char::is_alphanumeric) {
                continue;
            }
            let item = if heading.is_empty() { line.to_owned() } else { format!("{heading}: {line}") };
            pool.add(Section::CriticalContext, item, position, Rank::Normal);
        }
    }
}

/// Adds the summary of a branch that was left: what was found there stands, what was wanted there
/// is told as such, since it is no longer what is worked on.
///
/// In the summary of a branch such items keep their sections, as all of it is about what was left.
pub(super) fn add_branch(kind: SummaryKind, position: usize, summary: &str, pool: &mut Pool) {
    let document = SummaryDocument::parse(summary);
    for part in std::iter::once(&document.body).chain(&document.turn_contexts) {
        for section in Section::ALL {
            for item in part[section].iter().filter(|item| !is_of_its_time(item)) {
                add_item_of_branch(kind, position, settled_section(section), item, pool);
            }
        }
        add_other(part, position, pool);
    }
}

fn add_item_of_branch(kind: SummaryKind, position: usize, section: Section, item: &str, pool: &mut Pool) {
    if !matches!(section, Section::Goal | Section::InProgress | Section::NextSteps | Section::Blocked) {
        return pool.add(section, item, position, Rank::Normal);
    }
    let item = item.strip_prefix(LATEST).unwrap_or(item);
    let item = item.strip_prefix(LEFT_BRANCH).unwrap_or(item);
    let place = if kind == SummaryKind::Branch { section } else { Section::CriticalContext };
    pool.add(place, format!("{LEFT_BRANCH}{item}"), position, Rank::Normal);
}

/// Brings items of earlier summaries up to date with what the messages did since: work that was
/// finished moves to Done, errors whose command or file succeeded go.
pub(super) fn settle(actions: &Actions<'_>, has_finished_turn: bool, pool: &mut Pool) {
    let (changed, done) = (actions.names_changed(), actions.names_done());
    let is_finished = |item: &str| match item.strip_prefix(WORKING_ON) {
        Some(_) => has_finished_turn,
        None => {
            let mut names = quoted(item).peekable();
            names.peek().is_some() && names.all(|name| changed.contains(name) || changed.contains(core_command(name)))
        }
    };
    for item in pool.take(Section::InProgress, |item| item.position == 0 && is_finished(&item.text)) {
        let text = item.text.strip_prefix(WORKING_ON).unwrap_or(&item.text);
        let text = text.strip_suffix(NO_RESULT).unwrap_or(text);
        pool.add_counted(Section::Done, text, 0, Rank::Normal, 0);
    }
    let is_resolved =
        |item: &str| quoted(item).next().is_some_and(|name| done.contains(name) || done.contains(core_command(name)));
    pool.take(Section::Blocked, |item| item.position == 0 && is_resolved(&item.text));
}
