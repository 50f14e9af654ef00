//! Facts from summaries without a ledger. They are parsed once, item by item, and stored as data from
//! then on.

use super::actions::ActionKind;
use super::collect::Collector;
use super::notes::{
    ANNOUNCED, ANSWER_LEFT, ANSWERED_WAITING, AT_FIRST, BEGUN_BEFORE, BROKEN_OFF, CAUSE, CHANGED, CHECKED_WITH,
    CHOICE_OF_USER, COMMAND, COMMANDS, COMMIT_LEFT, DONE, DONE_WITH, FILES_LEFT, FOCUS, FOR_LATER, FOR_THE_USER, GO_ON,
    IDENTIFIERS, IDLE, IN_BACKGROUND, LAST_STEP, LATEST, LEFT_BRANCH, LISTED_STEPS, NEVER_PUSHED, NO_RESULT,
    NOT_ANSWERED, NOT_RUN, NOTHING_LEFT, NoteKind, OLD_PLAN, OPEN_PARTS, PARTLY_DONE, PATHS, PROPOSED, RECOMMENDED,
    REPLIES, RESOLVED, SAID_LAST, SEND_AGAIN, SHOWN, STOPPED, SourcePosition, TAKEN_BACK, THE_GOAL, THEN, TO_FIX,
    TO_RUN, UNPUSHED, WITHOUT_ANSWER, WORKING_ON, split_times,
};
use super::statements::LONGEST;
use super::text::clip_middle;
use super::{Places, Request, RequestWeight, Statement, Voice};
use crate::summary::{Section, Sections, SummaryDocument};
use crate::text::base_name;

/// Whether every summary generates such an item anew.
fn is_regenerated(item: &str) -> bool {
    let starts = [
        FOCUS,
        GO_ON,
        ANNOUNCED,
        LAST_STEP,
        BROKEN_OFF,
        COMMANDS,
        LISTED_STEPS,
        UNPUSHED,
        NEVER_PUSHED,
        SHOWN,
        IN_BACKGROUND,
        IDENTIFIERS,
        PATHS,
        CHECKED_WITH,
        REPLIES,
        RESOLVED,
        COMMAND,
        OPEN_PARTS,
        FOR_LATER,
        FILES_LEFT,
        SEND_AGAIN,
        CAUSE,
        NOT_RUN,
        TO_FIX,
        TO_RUN,
        NOTHING_LEFT,
        WITHOUT_ANSWER,
        BEGUN_BEFORE,
        THE_GOAL,
        PROPOSED,
        ANSWER_LEFT,
        COMMIT_LEFT,
    ];
    starts.iter().any(|start| item.starts_with(start))
}

/// What was said or named at the time of an earlier summary. It is no state any more, but the words count.
fn outdated_words(item: &str) -> Option<&str> {
    let named = [ANNOUNCED, CAUSE, CHOICE_OF_USER, FOR_THE_USER, LISTED_STEPS, OLD_PLAN, RECOMMENDED]
        .iter()
        .find_map(|start| item.strip_prefix(start));
    let said = || [SAID_LAST, IDLE].iter().find_map(|start| item.strip_prefix(start)?.split_once(": "));
    named.or_else(|| Some(said()?.1))
}

/// An item without its citation of an entry.
fn uncited(item: &str) -> &str {
    let cited = item.strip_suffix(']').and_then(|item| item.rsplit_once(" [entry "));
    cited.map_or(item, |(item, _)| item)
}

/// Adds the items of the summary that precedes the messages.
pub(super) fn add_earlier(summary: &str, collector: &mut Collector<'_>) {
    let document = SummaryDocument::parse(&super::remove_retained_facts(summary));
    let mut latest = None;
    for part in std::iter::once(&document.body).chain(&document.turn_contexts) {
        for section in Section::ALL {
            let items = || part[section].iter().map(|item| uncited(item));
            for words in items().filter_map(outdated_words) {
                collector.statements.add_line(Voice::Summary, SourcePosition::EARLIER, words);
            }
            for item in items().filter(|item| !is_regenerated(item) && outdated_words(item).is_none()) {
                match item.strip_prefix(LATEST) {
                    Some(request) => {
                        let bare =
                            [DONE_WITH, ANSWERED_WAITING, STOPPED].iter().find_map(|mark| request.strip_suffix(mark));
                        latest = Some(bare.unwrap_or(request).to_owned());
                    }
                    None => {
                        let past = item.strip_prefix(AT_FIRST).or_else(|| item.strip_prefix(THEN));
                        let bare = past.and_then(|past| {
                            [DONE, DONE_WITH, PARTLY_DONE, NOT_ANSWERED, TAKEN_BACK]
                                .iter()
                                .find_map(|mark| past.strip_suffix(mark))
                        });
                        let item = bare.or(past).unwrap_or(item);
                        if !add_changes(item, &document.files.modified_files, collector) {
                            add_item(section.in_history(), item, SourcePosition::EARLIER, collector);
                        }
                    }
                }
            }
        }
        add_other(part, SourcePosition::EARLIER, collector);
    }
    latest.into_iter().for_each(|request| push_request(&request, collector));
    document
        .files
        .read_files
        .iter()
        .for_each(|path| collector.note_file(ActionKind::Read, path, SourcePosition::EARLIER));
    document
        .files
        .modified_files
        .iter()
        .for_each(|path| collector.note_file(ActionKind::Edit, path, SourcePosition::EARLIER));
    collector.names.read(summary, SourcePosition::EARLIER, Places::SUMMARY);
}

/// The statements in the items of a summary, for a ledger that was stored beside a different text.
pub(super) fn statements(summary: &str) -> Vec<Statement> {
    let document = SummaryDocument::parse(&super::remove_retained_facts(summary));
    let parts = std::iter::once(&document.body).chain(&document.turn_contexts);
    let items = parts.flat_map(|part| [Section::CriticalContext, Section::SuffixContext].map(|section| &part[section]));
    let items = items.flatten().map(|item| uncited(item)).filter(|item| !is_regenerated(item));
    let statement = |text: &str| Statement {
        voice: Voice::Summary,
        text: clip_middle(text, LONGEST),
        number: 0,
        position: 0,
        sources: Default::default(),
    };
    items.map(statement).collect()
}

fn add_item(section: Section, item: &str, place: SourcePosition<'static>, collector: &mut Collector<'_>) {
    let kind = match section {
        Section::Goal | Section::OriginalRequest => return push_request(item, collector),
        Section::Done | Section::EarlyProgress if add_action(item, place, collector) => return,
        Section::Blocked if add_error(item, place, collector) => return,
        Section::Done | Section::EarlyProgress => NoteKind::Done,
        Section::Blocked => NoteKind::Blocked,
        Section::Constraints => NoteKind::Constraint,
        Section::InProgress => NoteKind::Open,
        Section::Decisions => NoteKind::Decision,
        Section::NextSteps => NoteKind::Step,
        Section::CriticalContext | Section::SuffixContext => {
            return collector.statements.add_line(Voice::Summary, place, item);
        }
    };
    collector.notes.add(kind, item, place, false);
}

fn push_request(text: &str, collector: &mut Collector<'_>) {
    collector.statements.add_line(Voice::Person, SourcePosition::EARLIER, text);
    let weight = RequestWeight::Topic;
    collector.dialogue.push_request(Request {
        text: text.to_owned(),
        position: 0,
        weight,
        is_answered: false,
        sources: Default::default(),
    });
}

/// ``Edited `a` (2 times)``, ``Ran `make` (files changed since)``
fn add_action(item: &str, place: SourcePosition<'static>, collector: &mut Collector<'_>) -> bool {
    let (text, times) = split_times(item);
    let text = text.split_once("` (").map_or(text, |(start, _)| &text[..=start.len()]);
    let Some((kind, target)) = ActionKind::ALL.into_iter().find_map(|kind| {
        let target = text.strip_prefix(kind.past())?.strip_prefix(" `")?.strip_suffix('`')?;
        (!target.contains('`')).then(|| (kind, target.to_owned()))
    }) else {
        return false;
    };
    collector.note_success((kind, target), times.unwrap_or(1), place);
    true
}

/// ``Changed `a.rs`, `b.rs`: adds run()``. A name becomes the path of a `modified` file if only one file has that name.
fn add_changes(item: &str, modified: &[String], collector: &mut Collector<'_>) -> bool {
    let Some((names, text)) = item.strip_prefix(CHANGED).and_then(|rest| rest.split_once("`: ")) else { return false };
    if !names.starts_with('`') || names.contains(' ') && !names.contains("`, ") {
        return false;
    }
    for name in names.split(", ").map(|name| name.trim_matches('`')) {
        let mut own = modified.iter().filter(|path| base_name(path) == name);
        let path = own.next().filter(|_| own.next().is_none());
        collector.note_changes(path.map_or(name, String::as_str), text);
    }
    true
}

/// `` `make` failed: no rule ``
fn add_error(item: &str, place: SourcePosition<'static>, collector: &mut Collector<'_>) -> bool {
    let Some((subject, line)) = item.strip_prefix('`').and_then(|rest| rest.split_once("` failed: ")) else {
        return false;
    };
    collector.errors.add(Some(super::commands::core_command(subject)), line, place, false);
    true
}

fn add_other(sections: &Sections, place: SourcePosition<'_>, collector: &mut Collector<'_>) {
    for other in &sections.other {
        let heading = other.heading.trim_start_matches('#').trim();
        for line in other.text.lines() {
            let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
            if !line.contains(char::is_alphanumeric) {
                continue;
            }
            let item = if heading.is_empty() { line.to_owned() } else { format!("{heading}: {line}") };
            collector.statements.add_line(Voice::Summary, place, &item);
        }
    }
}

/// Adds the summary of an abandoned branch. Its findings stay valid. Its goals are marked as such because nobody works
/// on them any more.
pub(super) fn add_branch<'a>(summary: &str, place: SourcePosition<'a>, collector: &mut Collector<'a>) {
    let document = SummaryDocument::parse(summary);
    for part in std::iter::once(&document.body).chain(&document.turn_contexts) {
        for section in Section::ALL {
            for item in part[section].iter().map(|item| uncited(item)).filter(|item| !is_regenerated(item)) {
                add_item_of_branch(section.in_history(), item, place, collector);
            }
        }
        add_other(part, place, collector);
    }
    document.files.read_files.iter().for_each(|path| collector.note_file(ActionKind::Read, path, place));
    document.files.modified_files.iter().for_each(|path| collector.note_file(ActionKind::Edit, path, place));
    collector.names.read(summary, place, Places::SUMMARY);
}

fn add_item_of_branch(section: Section, item: &str, place: SourcePosition<'_>, collector: &mut Collector<'_>) {
    let kind = match section {
        Section::Constraints => NoteKind::Constraint,
        Section::Done | Section::EarlyProgress => NoteKind::Done,
        Section::Decisions => NoteKind::Decision,
        Section::CriticalContext | Section::SuffixContext => NoteKind::Fact,
        _ => {
            let item = item.strip_prefix(LATEST).unwrap_or(item);
            let item = item.strip_prefix(WORKING_ON).unwrap_or(item).trim_end_matches(NO_RESULT);
            let item = format!("{LEFT_BRANCH}{}", item.strip_prefix(LEFT_BRANCH).unwrap_or(item));
            return collector.notes.add(branch_kind(section), &item, place, false);
        }
    };
    collector.notes.add(kind, item, place, false);
}

/// What an item of an abandoned branch becomes. A goal becomes a fact, because nobody works on it any more. The other
/// kinds stay, so that the summary of a branch can list them under their headings.
fn branch_kind(section: Section) -> NoteKind {
    match section {
        Section::Blocked => NoteKind::Blocked,
        Section::NextSteps => NoteKind::Step,
        Section::InProgress => NoteKind::Open,
        _ => NoteKind::Fact,
    }
}
