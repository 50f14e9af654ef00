//! Notes: sentences of the conversation that matter, without duplicates, and the words with which items
//! of a summary begin or end.

use std::collections::HashMap;

use super::Sources;
use super::rejections::removed_object;
use super::rules::{Lifting, beside, waits};
use super::terms::TextHashing;
use super::text::{clip_middle, normalised, one_line};
use super::withdrawals::withdrawal;
use crate::entry::EntryId;

stored_by_name! {
    /// What a note is about.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum NoteKind {
        /// A rule that a person set for the conversation.
        Constraint = "constraints",
        /// A decision, with its reason if one was given.
        Decision = "decisions",
        /// Work that is finished.
        Done = "done",
        /// Work that has begun.
        Open = "open",
        /// Something that blocks work.
        Blocked = "blocked",
        /// A next step.
        Step = "steps",
        /// A finding, or anything that fits no other kind.
        Fact = "facts",
    }
}

impl NoteKind {
    /// Most notes of the kind that are kept: the newest ones.
    fn most(self) -> usize {
        match self {
            Self::Constraint | Self::Decision => 200,
            Self::Fact | Self::Done => 120,
            Self::Open | Self::Blocked | Self::Step => 48,
        }
    }
}

/// One sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// The sentence, on one line.
    pub text: String,
    /// Whether it is among the first to be left out.
    pub is_minor: bool,
    /// Whether a person withdrew it later.
    pub is_withdrawn: bool,
    /// Times that it was stated or happened.
    pub times: u64,
    /// Position of the last time.
    pub position: u64,
    /// The entries that contain it.
    pub sources: Sources,
}

/// The notes collected so far.
#[derive(Debug, Default, Clone)]
pub(super) struct NoteList {
    list: Vec<Note>,
    by_key: HashMap<(NoteKind, String), usize, TextHashing>,
    /// Number of notes of each kind.
    counts: HashMap<NoteKind, usize>,
}

/// The message that a statement or note comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SourcePosition<'a> {
    pub(crate) position: u64,
    pub(crate) entry: Option<&'a EntryId>,
}

impl SourcePosition<'_> {
    /// The position of an earlier summary.
    pub(crate) const EARLIER: SourcePosition<'static> = SourcePosition { position: 0, entry: None };

    pub(super) fn sources(&self) -> Sources {
        self.entry.map(Sources::one).unwrap_or_default()
    }
}

impl NoteList {
    /// Restores the notes of an earlier ledger.
    pub(super) fn restore(&mut self, notes: &[Note]) {
        for note in notes {
            self.by_key.insert((note.kind, key(&note.text)), self.list.len());
            *self.counts.entry(note.kind).or_default() += 1;
            self.list.push(note.clone());
        }
    }

    /// Adds a sentence. If it is already there, the two become one note with the newer position.
    pub(super) fn add(&mut self, kind: NoteKind, text: &str, place: SourcePosition<'_>, is_minor: bool) {
        self.add_times(kind, text, place, is_minor, None);
    }

    /// Adds something that happened `times` times. With `None`, the number is read from the end of the
    /// text.
    pub(super) fn add_times(
        &mut self,
        kind: NoteKind,
        text: &str,
        place: SourcePosition<'_>,
        is_minor: bool,
        times: Option<u64>,
    ) {
        let line = one_line(text);
        let (line, stated) = split_times(&line);
        let times = times.or(stated);
        let key = key(line);
        if key.is_empty() {
            return;
        }
        if let Some(known) = self.by_key.get(&(kind, key.clone())).and_then(|index| self.list.get_mut(*index)) {
            // A repeated constraint applies again.
            known.is_withdrawn &= place.position < known.position;
            known.position = known.position.max(place.position);
            known.is_minor &= is_minor;
            known.times = known.times.saturating_add(times.unwrap_or(0));
            place.entry.into_iter().for_each(|id| known.sources.add(id));
            return;
        }
        self.by_key.insert((kind, key), self.list.len());
        let (text, times) = (line.to_owned(), times.unwrap_or(1));
        let (position, sources) = (place.position, place.sources());
        self.list.push(Note { kind, text, is_minor, is_withdrawn: false, times, position, sources });
        let count = self.counts.entry(kind).or_default();
        *count += 1;
        if *count > 2 * kind.most() {
            self.drop_oldest();
        }
    }

    /// Removes the notes of a kind that begin with `start`.
    pub(super) fn remove(&mut self, kind: NoteKind, start: &str) {
        let is_gone = |note: &Note| note.kind == kind && note.text.starts_with(start);
        if self.list.iter().any(is_gone) {
            self.list.retain(|note| !is_gone(note));
            self.index();
        }
    }

    /// Drops what [`NoteList::finish`] would leave out, so that searches of the notes take bounded time.
    fn drop_oldest(&mut self) {
        self.list = std::mem::take(self).finish();
        self.index();
    }

    /// Rebuilds the index and the counts of the notes.
    fn index(&mut self) {
        self.by_key.clear();
        self.counts.clear();
        for (index, note) in self.list.iter().enumerate() {
            self.by_key.insert((note.kind, key(&note.text)), index);
            *self.counts.entry(note.kind).or_default() += 1;
        }
    }

    /// Marks the constraints and decisions that a person's sentence withdraws. It must be called before
    /// the sentence itself is added. The marked notes keep their sources.
    pub(super) fn withdraw(&mut self, sentence: &str, place: SourcePosition<'_>) {
        let can_end =
            |note: &Note| matches!(note.kind, NoteKind::Constraint | NoteKind::Decision) && !note.is_withdrawn;
        if !self.list.iter().any(can_end) {
            return;
        }
        let Some(withdrawal) = withdrawal(sentence) else { return };
        for note in self.list.iter_mut().filter(|note| can_end(note) && withdrawal.ends(&note.text)) {
            if note.position < place.position && withdrawal.narrows(&note.text) {
                let rule = note.text.split(LATER).next().unwrap_or_default();
                note.text = beside(rule, sentence);
                place.entry.into_iter().for_each(|id| note.sources.add(id));
                continue;
            }
            note.is_withdrawn = true;
            note.position = note.position.max(place.position);
            place.entry.into_iter().for_each(|id| note.sources.add(id));
        }
    }

    /// Marks the bans on starting the work that the person lifts at `place`.
    pub(super) fn end_waiting(&mut self, place: SourcePosition<'_>) {
        let is_ended = |note: &Note| note.kind == NoteKind::Constraint && !note.is_withdrawn && waits(&note.text);
        for note in self.list.iter_mut().filter(|note| is_ended(note)) {
            note.is_withdrawn = true;
            note.position = note.position.max(place.position);
            place.entry.into_iter().for_each(|id| note.sources.add(id));
        }
    }

    /// Adds a person's sentence to the rules that it may lift, and to the rules and decisions that it narrows.
    pub(super) fn lift(&mut self, sentence: &str, place: SourcePosition<'_>) {
        let may_end = |note: &Note| {
            matches!(note.kind, NoteKind::Constraint | NoteKind::Decision)
                && !note.is_withdrawn
                && note.position < place.position
        };
        if !self.list.iter().any(may_end) {
            return;
        }
        let (lifting, overruling) = (Lifting::of(sentence), Lifting::overruling(sentence));
        let ordering = Lifting::ordering(sentence);
        self.reverse(sentence, place);
        let Some(later) = lifting.as_ref().or(overruling.as_ref()).or(ordering.as_ref()) else { return };
        for note in self.list.iter_mut().filter(|note| may_end(note)) {
            let rule = note.text.split(LATER).next().unwrap_or_default();
            let is_rule = note.kind == NoteKind::Constraint;
            let is_lifted = is_rule
                && (lifting.as_ref().is_some_and(|lifting| lifting.may_lift(rule))
                    || ordering.as_ref().is_some_and(|ordering| ordering.orders(rule)));
            if is_lifted || overruling.as_ref().is_some_and(|overruling| overruling.overrules(rule)) {
                note.text = later.beside(rule);
                place.entry.into_iter().for_each(|id| note.sources.add(id));
            }
        }
    }

    /// Adds an order of a person to remove something to the decisions that made or kept it.
    fn reverse(&mut self, sentence: &str, place: SourcePosition<'_>) {
        let Some(object) = removed_object(sentence) else { return };
        let may_end = |note: &Note| note.kind == NoteKind::Decision && !note.is_withdrawn;
        for note in self.list.iter_mut().filter(|note| may_end(note) && note.position < place.position) {
            let rule = note.text.split(LATER).next().unwrap_or_default();
            if object.is_in(rule) {
                note.text = beside(rule, sentence);
                place.entry.into_iter().for_each(|id| note.sources.add(id));
            }
        }
    }

    /// Adds a person's sentence about what is no longer needed to the rules and decisions that want it.
    pub(super) fn dispense(&mut self, sentence: &str, place: SourcePosition<'_>) {
        let Some(dispensing) = Lifting::dispensing(sentence) else { return };
        for note in self.list.iter_mut().filter(|note| !note.is_withdrawn && note.position < place.position) {
            let is_decision = note.kind == NoteKind::Decision && note.text.starts_with(OF_PERSON);
            let rule = note.text.split(LATER).next().unwrap_or_default();
            if (is_decision || note.kind == NoteKind::Constraint) && dispensing.dispenses_with(rule) {
                note.text = dispensing.beside(rule);
                place.entry.into_iter().for_each(|id| note.sources.add(id));
            }
        }
    }

    /// Makes the notes of `kind` for which `is_told` holds minor, because others tell them.
    pub(super) fn make_minor(&mut self, kind: NoteKind, is_told: impl Fn(&Note) -> bool) {
        self.list.iter_mut().filter(|note| note.kind == kind && is_told(note)).for_each(|note| note.is_minor = true);
    }

    /// Whether there is a note of `kind` for which `is_wanted` holds.
    pub(super) fn has(&self, kind: NoteKind, is_wanted: impl Fn(&Note) -> bool) -> bool {
        self.counts.get(&kind).is_some_and(|count| *count > 0)
            && self.list.iter().any(|note| note.kind == kind && is_wanted(note))
    }

    /// Removes and returns the notes of `kind` for which `is_wanted` holds.
    pub(super) fn take(&mut self, kind: NoteKind, is_wanted: impl Fn(&Note) -> bool) -> Vec<Note> {
        let list = std::mem::take(&mut self.list);
        let (taken, left): (Vec<_>, Vec<_>) = list.into_iter().partition(|note| note.kind == kind && is_wanted(note));
        self.list = left;
        *self.counts.entry(kind).or_default() -= taken.len();
        self.by_key = self.list.iter().enumerate().map(|(index, note)| ((note.kind, key(&note.text)), index)).collect();
        taken
    }

    /// The notes in order, limited to the newest of each kind.
    pub(super) fn finish(mut self) -> Vec<Note> {
        self.list.sort_by_key(|note| note.position);
        let mut seen: HashMap<NoteKind, usize> = HashMap::new();
        let mut kept: Vec<Note> = self.list.into_iter().rev().collect();
        kept.retain(|note| {
            let seen = seen.entry(note.kind).or_default();
            *seen += 1;
            *seen <= note.kind.most()
        });
        kept.reverse();
        kept
    }
}

/// The key of a sentence; equal sentences have the same key. A text without words, such as an emoji, is its own key.
pub(crate) fn key(line: &str) -> String {
    let words = normalised(line);
    if words.trim().is_empty() { line.to_owned() } else { words }
}

/// Splits `… (3 times)`.
pub(crate) fn split_times(line: &str) -> (&str, Option<u64>) {
    let split = || {
        let (text, count) = line.strip_suffix(" times)")?.rsplit_once(" (")?;
        Some((text, count.parse().ok()?))
    };
    split().map_or((line, None), |(text, count)| (text, Some(count)))
}

/// Starts the decisions of a person.
pub(crate) const OF_PERSON: &str = "The user ";
/// Starts the item of the last request.
pub(crate) const LATEST: &str = "Latest request: ";
/// Starts the item of the first request, if the topic has changed since.
pub(crate) const AT_FIRST: &str = "At first: ";
/// Starts the item of the request that began what the newest statements are about, if it is answered.
pub(crate) const THEN: &str = "Then: ";
/// Starts the error of an output that a person pasted.
pub(crate) const PASTED: &str = "(pasted output) ";
/// Ends the item of the latest request if no part of it is open.
pub(crate) const DONE_WITH: &str = " (answered)";
/// Ends the item of a latest request whose answer says that the model stopped before the end.
pub(crate) const STOPPED: &str = " (not finished, waits for the user)";
/// Ends the item of an earlier request with a part that was left for later and not begun.
pub(crate) const PARTLY_DONE: &str = " (done but for its last part)";
/// Starts the part of a request that is to follow the rest of it.
pub(crate) const FOR_LATER: &str = "For later, as the user said, and not begun as far as is seen: ";
/// Ends the item of a latest request that is answered and leaves something to the user.
pub(crate) const ANSWERED_WAITING: &str = " (answered, waits for the user)";
/// Ends the item of an earlier request for which files changed and whose answer was accepted.
pub(crate) const DONE: &str = " (done)";
/// Ends the item of a request before the latest one after which the model said and did nothing.
pub(crate) const NOT_ANSWERED: &str = " (not answered)";
/// Starts these requests in Next Steps.
pub(crate) const WITHOUT_ANSWER: &str = "Not answered yet: ";
/// Begins a request that was begun before the newest one and has no complete answer.
pub(crate) const BEGUN_BEFORE: &str = "Begun before it, and not answered yet: ";
/// Ends the item of an earlier request whose work was undone.
pub(crate) const TAKEN_BACK: &str = " (taken back)";
/// Starts the item of a later message that is not a request by itself.
pub(crate) const AND_THEN: &str = "The user then wrote: ";
/// Starts the milestone of a commit.
pub(crate) const COMMITTED: &str = "Committed ";
/// Ends the milestone of a commit that replaced the one before it.
pub(crate) const AMENDED: &str = " (amended)";
/// Start the milestone of a push, and of the first push of a branch.
pub(crate) const PUSHED: &str = "Pushed ";
pub(crate) const PUSHED_NEW: &str = "Pushed the new branch ";
/// Starts a command that still runs in the background.
pub(crate) const IN_BACKGROUND: &str = "Runs in the background, its end was not seen: ";
/// Starts the commits after the last push.
pub(crate) const UNPUSHED: &str = "Committed after the last push: ";
/// Starts the commits of a conversation in which nothing was pushed.
pub(crate) const NEVER_PUSHED: &str = "Not pushed, as far as is seen: ";
/// Starts the item of a push that the model claims.
pub(crate) const CLAIMED_PUSH: &str = "No push was seen, although the assistant said: ";
/// Precedes the commit that a push replaced on the server.
pub(crate) const INSTEAD_OF: &str = " instead of ";
/// Starts the milestone of a branch that was moved back to an older commit, which discarded the later changes.
pub(crate) const RESET_TO: &str = "Reset the branch to ";
/// Starts the milestone of a branch that was moved back while the files kept the changes.
pub(crate) const MOVED_BACK: &str = "Moved the branch back to ";
/// Ends that milestone.
pub(crate) const KEPT_CHANGES: &str = " and kept the changes";
/// Starts the milestone of files whose changes were discarded.
pub(crate) const TOOK_BACK: &str = "Took back the changes of ";
/// Stands for all of these files.
pub(crate) const ALL_CHANGES: &str = "all files that were not committed";
/// The milestone of changes that were stashed.
pub(crate) const SET_ASIDE: &str = "Set aside the changes that were not committed";
/// The milestone of stashed changes that were restored.
pub(crate) const BROUGHT_BACK: &str = "Brought back the changes that were set aside";
/// The milestone of stashed changes that were dropped.
pub(crate) const THREW_AWAY: &str = "Threw away the changes that were set aside";
/// Starts the milestone of a branch or tag that was deleted.
pub(crate) const DELETED: &str = "Deleted ";
/// Ends it if that was on a server.
pub(crate) const ON_SERVER: &str = " on the server";
/// Starts the milestone of a merge.
pub(crate) const MERGED: &str = "Merged ";
/// Start the milestone of a conflict in which one version of a file was kept.
pub(crate) const KEPT_VERSION: &str = "Resolved the conflict in ";
pub(crate) const OF_VERSION: &str = " with the version of ";
/// The item of changes that a stash still keeps.
pub(crate) const STILL_ASIDE: &str = "Changes that were set aside with `git stash` were not brought back";
/// Starts the milestone of the push of a tag.
pub(crate) const PUSHED_TAG: &str = "Pushed the new tag ";
/// Starts the milestone of a renamed file.
pub(crate) const RENAMED: &str = "Renamed ";
/// Separates the old name from the new one.
pub(crate) const RENAMED_TO: &str = " to ";
/// Starts the milestone of a commit that a program undid.
pub(crate) const UNDID: &str = "Took back the commit ";
/// Starts the subject of a commit that reverts another one.
pub(crate) const REVERT: &str = "Revert \"";
/// Follows a claim of the model that the person refuted.
pub(crate) const REFUTED: &str = " (then the user reported a problem)";
/// Follows the outcome of a run that is older than the newest change of a file.
pub(crate) const CHANGED_SINCE: &str = "files changed since";
/// Starts the open request in Next Steps, and the request before a turn that no words of a person begin.
pub(crate) const GO_ON: &str = "Go on with: ";
/// Starts the parts of that request for which nothing was said or done yet.
pub(crate) const OPEN_PARTS: &str = "The rest of the latest request, for which nothing is seen yet: ";
/// Starts the files that are left.
pub(crate) const FILES_LEFT: &str = "Not changed yet, unlike files of the same kind: ";
/// Starts what failed and is sent again.
pub(crate) const SEND_AGAIN: &str = "Send again: ";
/// Starts the cause that the model named and did nothing about yet.
pub(crate) const CAUSE: &str = "The cause, as last found: ";
/// Starts the file that was written like others that were run, and was not run.
pub(crate) const NOT_RUN: &str = "Written and not run yet: ";
/// Start the step of a run that failed, and of one that came before the newest change of a file.
pub(crate) const TO_FIX: &str = "Fix the failure of ";
pub(crate) const TO_RUN: &str = "Run again: ";
/// The item of an answered latest request.
pub(crate) const IDLE: &str = "Nothing is in progress";
/// The next step after an answered latest request.
pub(crate) const NOTHING_LEFT: &str = "Nothing is left of the latest request";
/// Starts what an answer tells the person to do.
pub(crate) const FOR_THE_USER: &str = "Waiting for the user: ";
/// Says that nothing ran after the last change of code.
pub(crate) const NOTHING_RUN: &str = "nothing was run since the last change";
/// Starts the options between which an answer lets the person choose.
pub(crate) const CHOICE_OF_USER: &str = "Waiting: the user chooses between: ";
/// Starts the step of an answer that offers options.
pub(crate) const OFFERED: &str = "The assistant offered: ";
/// Starts an order of a person for one way of several that was carried out.
pub(crate) const WANTED: &str = "The user wanted, and it was made so: ";
/// Starts the decision of a person who took one of them.
pub(crate) const CHOSE: &str = "The user chose: ";
/// Starts what a person decided in their own words, and what they answered to a question of a tool.
pub(crate) const DECIDED: &str = "The user: ";
pub(crate) const ANSWERED: &str = "The user answered: ";
/// Start the decision of a person who only agreed to what the model asked or advised, or only refused it.
pub(crate) const AGREED: &str = "The user agreed to: ";
pub(crate) const REFUSED: &str = "The user refused: ";
/// Starts the decision of a person who set something right in a few words, and comes before the request behind which they
/// did so.
pub(crate) const CORRECTED: &str = "The user corrected: ";
pub(crate) const SAID_AFTER: &str = ", said after: ";
/// Starts the questions that a person left to the model, and what the model said then.
pub(crate) const LEFT_TO: &str = "The user left to the assistant: ";
pub(crate) const IT_CHOSE: &str = " \u{2013} it then said: ";
/// Start the decision of a person who refused a call, and what they said then.
pub(crate) const DECLINED: &str = "The user refused `";
pub(crate) const AND_SAID: &str = " and said: ";
/// Start what a person did not want of what the model made or proposed, and what they found to break a principle.
pub(crate) const REJECTED: &str = "The user rejected: ";
/// Starts an order to remove something that the model made. It must not be built again.
pub(crate) const ORDERED: &str = "The user ordered: ";
pub(crate) const OBJECTED: &str = "The user objected: ";
/// Starts the decision of a person who had the tool undo the work for a request.
pub(crate) const UNDID_WORK: &str = "The user undid what was done for: ";
/// Comes before the request after it.
pub(crate) const ASKED_THEN: &str = " \u{2013} and asked then: ";
/// Comes between the words of a person who rejected something and the request that it was done for.
pub(crate) const SAID_OF: &str = ", said of what was done for: ";
/// A request in such a decision.
pub(crate) fn undone(request: &str) -> String {
    clip_middle(&one_line(request), LONGEST_UNDONE)
}
/// Most UTF-16 units of it.
const LONGEST_UNDONE: usize = 120;
/// Starts a decision with the words of a person to a question.
pub(crate) const ANSWERED_WITH: &str = "The user answered \"";
/// The decision of a person who answered a question of the model in a few words.
pub(crate) fn answered_to(words: &str, question: &str) -> String {
    format!("{ANSWERED_WITH}{words}\" to: {question}")
}
/// The words and the question of such a decision.
pub(crate) fn answered_with(decision: &str) -> Option<(&str, &str)> {
    decision.strip_prefix(ANSWERED_WITH)?.split_once("\" to: ")
}
/// Starts the decision of an answer for one of its own options.
pub(crate) const TOOK: &str = "The assistant chose: ";
/// Comes between a rule and what the person said about it later, which may end it.
pub(crate) const LATER: &str = " (later: \"";
/// Starts the item of a withdrawn constraint or decision.
pub(crate) const WITHDRAWN: &str = "No longer holds: ";
/// Starts an item about a goal on a branch that was left.
pub(crate) const LEFT_BRANCH: &str = "On a branch that was left: ";
/// Starts the item that records the caller's instructions, which are for one summary only.
pub(crate) const FOCUS: &str = "Focus asked for this summary: ";
/// Starts what blocks the work among the progress of a turn.
pub(crate) const BLOCKED: &str = "Blocked: ";
/// Starts a task that is in progress among what was done in a turn.
pub(crate) const STILL_OPEN: &str = "Not finished: ";
/// Separates what failed from its error.
pub(crate) const FAILED: &str = " failed: ";
/// Start lists of names, which count as names and not as statements.
pub(crate) const IDENTIFIERS: &str = "Names in use: ";
/// Comes before a call and what it showed.
pub(crate) const SHOWED: &str = "Result of ";
/// Comes before a file and what changed in it.
pub(crate) const CHANGED: &str = "Changed ";
pub(crate) const PATHS: &str = "Paths in use: ";
/// Starts an item of short messages of the person.
pub(crate) const REPLIES: &str = "The user also wrote: ";
/// Starts an item of resolved errors.
pub(crate) const RESOLVED: &str = "Errors that were dealt with: ";
/// Starts the item of a command that is used repeatedly.
pub(crate) const COMMAND: &str = "Command in use: ";
/// Starts the item of the commands that check the work.
pub(crate) const CHECKED_WITH: &str = "Built and tested with: ";

/// The note of commands that only looked something up.
pub(crate) const LOOKED_UP: &str = "Looked things up on the command line";
/// Ends the item of a call that has no result yet.
pub(crate) const NO_RESULT: &str = ": no result yet";
/// The outcome of a command whose result says nothing about it.
pub(crate) const UNKNOWN: &str = ": result not known";
/// Starts the milestones in the item of a request without a complete answer.
pub(crate) const SO_FAR: &str = "done so far: ";
/// Starts the item of a request without a complete answer.
pub(crate) const WORKING_ON: &str = "Working on: ";
/// The step of a plan that nobody approved yet.
pub(crate) const PROPOSED: &str = "The plan that the assistant proposed waits for the approval of the user";
/// Starts the step of a request whose work is made and checked.
pub(crate) const ANSWER_LEFT: &str = "Only the answer to the user seems to be left of the latest request: ";
/// The same if its change is not committed, in a conversation that commits its work.
pub(crate) const COMMIT_LEFT: &str = "Commit the last change; then only the answer to the user seems to be left: ";
/// Replaces the request of a turn whose goal is stated above.
pub(crate) const THE_GOAL: &str = "The goal above is the request of this turn";
/// Names the latest request where its words are not repeated.
pub(crate) const THE_LATEST: &str = "the latest request";
/// Names what stands in its place behind a complete answer: a word such as `continue`.
pub(crate) const LATEST_WORDS: &str = "the latest words of the user";
/// Starts the steps that the model listed in the turn that goes on, from the first one of which nothing is seen yet.
pub(crate) const LISTED_STEPS: &str = "Left of the steps that the assistant listed, as far as is seen: ";
/// Starts the open tasks of a plan that is older than the newest requests.
pub(crate) const OLD_PLAN: &str = "From a plan that was not updated since: ";
/// Starts the item of the newest calls of tools and their outcomes.
pub(crate) const LAST_STEP: &str = "Last step: ";
/// Begins the item for an answer that broke off.
pub(crate) const BROKEN_OFF: &str = "The newest answer of the assistant broke off: ";
/// Why it did if the person stopped it.
pub(crate) const STOPPED_BY_PERSON: &str = "the user stopped it";
/// Names the file of a call that names none.
pub(crate) const OPEN_FILE: &str = "the open file";
/// Starts the item of the newest words of the model.
pub(crate) const SAID_LAST: &str = "The assistant said last";
/// Starts what the model concluded for a request.
pub(crate) const CONCLUDED: &str = "the assistant concluded: ";
/// Starts what the model answered to a question.
pub(crate) const ANSWERED_SO: &str = "the assistant answered: ";
/// Starts what it said right before that.
pub(crate) const SAID_BEFORE: &str = "before it, the assistant said: ";
/// Starts what a result shows that stops the work, and separates it from its call.
pub(crate) const SHOWN: &str = "The last step shows: ";
/// Ends the item of a request for which nothing was done.
pub(crate) const NOTHING_YET: &str = "nothing was done for it yet";
/// Starts what a complete answer to the latest request says first.
pub(crate) const ANSWER: &str = "Answered: ";
/// The same for a request for work whose answer only shows what could be done.
pub(crate) const ONLY_PROPOSED: &str = "Proposed: ";
/// Stands before the files for which an answer shows code, in the item of its request.
pub(crate) const CODE_FOR: &str = "code for ";
/// Starts a file whose code an answer shows, in a conversation that changes no file.
pub(crate) const SHOWN_CODE: &str = "Proposed in the answers, as code: ";
/// Starts the item of a request for which files were changed and whose answer is complete.
pub(crate) const FINISHED: &str = "Done: ";
/// The same for a request whose answer tells no outcome. Its files changed.
pub(crate) const WORKED_ON: &str = "Worked on: ";

/// Whether an item tells a request for which something was done.
pub(crate) fn tells_work(item: &str) -> bool {
    [FINISHED, WORKED_ON].iter().any(|start| item.starts_with(start))
}

/// Comes between a request and the beginning of its answer.
pub(crate) const ANSWERED_BY: &str = " -> ";
/// Comes before the person's objection to that answer.
pub(crate) const OBJECTED_TO_ANSWER: &str = "; the user objected: ";
/// Starts what a complete answer announces at its end.
pub(crate) const ANNOUNCED: &str = "The assistant announced: ";
/// Starts what a complete answer recommends at its end.
pub(crate) const RECOMMENDED: &str = "The last answer recommends: ";
/// Starts the commands that a complete answer gives.
pub(crate) const COMMANDS: &str = "Commands that the last answer gives: ";
