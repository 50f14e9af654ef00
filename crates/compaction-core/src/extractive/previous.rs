//! What earlier summaries told: merged item by item.

use super::actions::Actions;
use super::pool::{Pool, Rank};
use super::text::quoted;
use crate::summary::{Section, Sections, SummaryDocument};

/// Starts the item of the request that came last.
pub(super) const LATEST: &str = "Latest request: ";
/// Starts the item of a request that was not answered to its end.
pub(super) const WORKING_ON: &str = "Working on: ";
/// The step that is always next while the latest request is open.
pub(super) const GO_ON: &str = "Go on with the latest request";
/// Starts the item that records the caller's instructions; they are for one summary.
pub(super) const FOCUS: &str = "Focus asked for this summary: ";
/// Starts an item of names.
pub(super) const NAMES: &str = "Names in use: ";
/// Ends the item of a call whose result has not come.
pub(super) const NO_RESULT: &str = ": no result yet";
/// Stands between what failed and its error.
pub(super) const FAILED: &str = "failed: ";

/// Adds the items of a summary of what came before the messages.
pub(super) fn add(summary: &str, pool: &mut Pool) {
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
}

fn add_item(section: Section, item: &str, rank: Rank, pool: &mut Pool) {
    if item.starts_with(FOCUS) || item == GO_ON {
        return;
    }
    let item = item.strip_prefix(LATEST).unwrap_or(item);
    pool.add(settled_section(section), item, 0, rank);
}

/// Where the items of a turn's context belong, once the turn is history.
fn settled_section(section: Section) -> Section {
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
            let item =
                if heading.is_empty() || line.is_empty() { line.to_owned() } else { format!("{heading}: {line}") };
            pool.add(Section::CriticalContext, item, position, Rank::Normal);
        }
    }
}

/// Adds the summary of a branch that was left: what was found there stands, what was wanted there
/// is told as such, since it is no longer what is worked on.
pub(super) fn add_branch(position: usize, summary: &str, pool: &mut Pool) {
    let document = SummaryDocument::parse(summary);
    for section in Section::ALL {
        for item in &document.body[section] {
            match section {
                Section::Goal | Section::InProgress | Section::NextSteps | Section::Blocked => {
                    let item = item.strip_prefix(LATEST).unwrap_or(item);
                    let text = format!("On a branch that was left: {item}");
                    pool.add(Section::CriticalContext, text, position, Rank::Normal);
                }
                _ => pool.add(settled_section(section), item, position, Rank::Normal),
            }
        }
    }
    add_other(&document.body, position, pool);
}

/// Brings items of earlier summaries up to date with what the messages did since: work that was
/// finished moves to Done, errors whose command or file succeeded go.
pub(super) fn settle(actions: &Actions<'_>, has_finished_turn: bool, pool: &mut Pool) {
    let (changed, done) = (actions.names_changed(), actions.names_done());
    let is_finished = |item: &str| match item.strip_prefix(WORKING_ON) {
        Some(_) => has_finished_turn,
        None => {
            let mut names = quoted(item).peekable();
            names.peek().is_some() && names.all(|name| changed.contains(name))
        }
    };
    for item in pool.take(Section::InProgress, |item| item.position == 0 && is_finished(&item.text)) {
        let text = item.text.strip_prefix(WORKING_ON).unwrap_or(&item.text);
        let text = text.strip_suffix(NO_RESULT).unwrap_or(text);
        pool.add_counted(Section::Done, text, 0, Rank::Normal, 0);
    }
    let is_resolved = |item: &str| quoted(item).next().is_some_and(|name| done.contains(name));
    pool.take(Section::Blocked, |item| item.position == 0 && is_resolved(&item.text));
}
