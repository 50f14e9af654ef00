//! What was done and still applies: the milestones that no later one replaced, and the files whose changes were not
//! undone.

use std::collections::{HashMap, HashSet};

use super::Builder;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::actions::shown;
use crate::ledger::closed_requests::{
    answered_item, comes_back, has_question, is_settled_by_answer, objected_item, objection, only_proposes,
    proposed_item, rejects, shows, tells_failure, with_files, worked_on_item,
};
use crate::ledger::commands::purposes;
use crate::ledger::cues::is_substantive;
use crate::ledger::noise::unproved_push;
use crate::ledger::notes::{
    ALL_CHANGES, AMENDED, ANSWER, ANSWERED_BY, BROUGHT_BACK, CLAIMED_PUSH, COMMITTED, DECIDED, DELETED, FINISHED,
    INSTEAD_OF, KEPT_CHANGES, MERGED, MOVED_BACK, NEVER_PUSHED, OBJECTED_TO_ANSWER, ON_SERVER, ONLY_PROPOSED, PUSHED,
    PUSHED_NEW, PUSHED_TAG, RESET_TO, REVERT, SET_ASIDE, STILL_ASIDE, THREW_AWAY, TOOK_BACK, UNDID, UNPUSHED,
    WORKED_ON, tells_work,
};
use crate::ledger::problems::own_words;
use crate::ledger::reasons::says_impossible;
use crate::ledger::repository::{is_named, renaming};
use crate::ledger::text::{clip, clip_middle, clip_sentences, quoted};
use crate::ledger::{FileRecord, Ledger, Note, NoteKind, Outcome, Statement, Voice};
use crate::summary::Section;
use crate::text::utf16_len;

/// Number of newest milestones about undone changes and new names that are compared with files.
const MOST_COMPARED: usize = 64;

/// Most commits that are listed one by one.
const MOST_COMMITS: usize = 12;
/// Most undone commits that are named.
const MOST_UNDONE: usize = 3;
/// Longest subject of a commit, in UTF-16 units.
const LONGEST_SUBJECT: usize = 80;

/// Percentage of a summary that finished work may take, and that of a short summary.
const WORK_PERCENT: usize = 8;
const SHORT_WORK_PERCENT: usize = 3;
/// Most UTF-16 units that it takes.
const MOST_WORK: usize = 1200;
/// UTF-16 units of a summary that is not short.
pub(in crate::extractive) const LONG_SUMMARY: usize = 8192;
/// Fewest and most UTF-16 units of the item of one request. If all have no room, they are shortened before one is left out.
const ITEM_UNITS: (usize, usize) = (100, 200);
/// Answered questions may take the room of a summary divided by this before the statements.
const ANSWERED_PART: usize = 32;
/// The same in a quiet conversation.
const QUIET_PART: usize = 16;
/// A conversation with fewer milestones is quiet.
const FEW_MILESTONES: usize = 4;
/// Most answered questions that are listed in a quiet conversation.
const MOST_ANSWERED: usize = 8;
/// Part of a shortened item for the words of its request, in percent.
const REQUEST_PERCENT: usize = 40;

/// What later milestones say about the files of a ledger.
#[derive(Debug, Default)]
pub(super) struct FileStates<'a> {
    /// Positions of the commits that were not undone, in order.
    committed: Vec<u64>,
    /// Positions at which changes were undone, with the names of their files; an empty list means all files.
    taken_back: Vec<(u64, Vec<&'a str>)>,
    /// Positions of renamings with the old and the new name, in order.
    renamed: Vec<(u64, &'a str, &'a str)>,
}

impl<'a> FileStates<'a> {
    /// `standing` are the milestones of the ledger that no later one replaced.
    pub(super) fn of(ledger: &'a Ledger, standing: &[&'a Statement]) -> Self {
        let committed = standing.iter().filter(|one| one.text.starts_with(COMMITTED)).map(|one| one.position).collect();
        let took_back = |one: &&'a Statement| {
            let files = match one.text.strip_prefix(TOOK_BACK) {
                Some(ALL_CHANGES) => Vec::new(),
                Some(files) => quoted(files).collect(),
                None if [RESET_TO, SET_ASIDE, THREW_AWAY].iter().any(|start| one.text.starts_with(start)) => Vec::new(),
                None => return None,
            };
            Some((one.position, files))
        };
        let renamed = |one: &'a Statement| renaming(&one.text).map(|(old, new)| (one.position, old, new));
        let mut taken_back: Vec<_> = standing.iter().rev().filter_map(took_back).take(MOST_COMPARED).collect();
        let mut renamed: Vec<_> = milestones(ledger).rev().filter_map(renamed).take(MOST_COMPARED).collect();
        taken_back.reverse();
        renamed.reverse();
        Self { committed, taken_back, renamed }
    }

    /// Whether what was done at `position` was undone later, before a commit kept it. `is_meant` says whether a list of
    /// file names includes it.
    fn is_taken_back(&self, position: u64, is_meant: impl Fn(&[&str]) -> bool) -> bool {
        let first = self.taken_back.iter().find(|(at, files)| *at > position && is_meant(files));
        let is_kept = |at: u64| self.committed.iter().any(|commit| (position..=at).contains(commit));
        first.is_some_and(|(at, _)| !is_kept(*at))
    }

    /// Whether the last changes of a file were undone.
    pub(super) fn is_file_taken_back(&self, file: &FileRecord) -> bool {
        let is_meant = |files: &[&str]| files.is_empty() || files.iter().any(|name| is_named(&file.path, name));
        file.changed_at > 0 && self.is_taken_back(file.changed_at, is_meant)
    }

    /// The current name of a file.
    pub(super) fn name(&self, file: &FileRecord) -> String {
        let mut name = file.path.clone();
        for (_, old, new) in self.renamed.iter().filter(|(at, ..)| *at >= file.position) {
            let old = old.trim_start_matches("./");
            if let Some(rest) = name.strip_suffix(old).filter(|rest| rest.is_empty() || rest.ends_with('/')) {
                name = if new.starts_with('/') { (*new).to_owned() } else { format!("{rest}{new}") };
            }
        }
        name
    }
}

/// Whether a note is the item of an answered request.
pub(super) fn is_answered_item(note: &Note) -> bool {
    [ANSWER, FINISHED, ONLY_PROPOSED, WORKED_ON].iter().any(|start| note.text.starts_with(start))
        && note.text.contains(ANSWERED_BY)
}

/// The item of an answered request in at most `units` UTF-16 units, with the words of the request and the outcome cut.
fn shortened(item: &str, units: usize) -> String {
    if utf16_len(item) <= units || item.contains(OBJECTED_TO_ANSWER) {
        return item.to_owned();
    }
    let Some((request, outcome)) = item.split_once(ANSWERED_BY) else { return clip(item, units) };
    let request = clip_middle(request, units * REQUEST_PERCENT / 100);
    let left = units.saturating_sub(utf16_len(&request) + ANSWERED_BY.len());
    format!("{request}{ANSWERED_BY}{}", clip_sentences(outcome, left))
}

impl<'a> Builder<'a> {
    /// Whether a note is the item of a request whose changes were all undone.
    pub(super) fn is_undone(&self, note: &Note) -> bool {
        let is_taken_back = || self.states.is_taken_back(note.position, |files| files.is_empty());
        tells_work(&note.text) && (self.undone.has(note.position) || is_taken_back())
            || self.is_refuted(note)
            || self.is_still_reported(note)
    }

    /// Whether a note is the item of a report of a problem of which the newest request says that it is still there.
    fn is_still_reported(&self, note: &Note) -> bool {
        self.unsolved.iter().any(|request| note.text.contains(request))
    }

    /// Whether a note contains an answer that something is not possible, although a command that had failed for the
    /// same request later ran to its end.
    fn is_refuted(&self, note: &Note) -> bool {
        let said = note.text.rsplit_once(ANSWERED_BY).map(|(_, said)| said);
        if !said.is_some_and(says_impossible) {
            return false;
        }
        let ledger = self.with_turn;
        let before = ledger.requests.partition_point(|request| request.position < note.position);
        let asked_at = before.checked_sub(1).map_or(0, |at| ledger.requests[at].position);
        let of_turn = ledger.errors.iter().filter(|error| (asked_at..note.position).contains(&error.position));
        let has_run = |subject: &str| {
            let later = ledger.commands.iter().filter(|run| run.position > note.position);
            later.filter(|run| run.outcome == Outcome::Succeeded).any(|run| shown(&run.command) == subject)
        };
        of_turn.filter_map(|error| error.subject.as_deref()).any(has_run)
    }

    /// Whether a decision was made for a commit that was undone. A decision in a person's own words stays.
    pub(super) fn is_decision_undone(&self, note: &Note) -> bool {
        !note.text.starts_with(DECIDED) && self.undone.has(note.position)
    }

    /// The commits that were taken back, in one item, and the number of commits that are older than the newest
    /// [`MOST_COMMITS`] ones. The line of a merge stands for the commits of its branch.
    pub(super) fn commits(&mut self, mut standing: Vec<&'a Statement>) -> Vec<&'a Statement> {
        let merged = |one: &&Statement| Some((one.text.strip_prefix(MERGED)?.to_owned(), one.position));
        let merged: Vec<(String, u64)> = standing.iter().rev().filter_map(merged).take(MOST_COMPARED).collect();
        for (branch, end) in merged {
            let own = |one: &&'a Statement| {
                let one: &'a Statement = one;
                Some(Commit::of(&one.text)?.branch).filter(|_| one.position < end)
            };
            let start = standing.iter().find(|one| own(one) == Some(branch.as_str())).map(|one| one.position);
            // Sub-agents and some programs tell no branch.
            let is_in_it = |one: &&'a Statement, start: u64| {
                own(one).is_some_and(|name| name == branch || name.is_empty() && one.position > start)
            };
            standing.retain(|one| start.is_none_or(|start| !is_in_it(one, start)));
        }
        let is_commit = |one: &&&Statement| one.text.starts_with(COMMITTED);
        let older = standing.iter().filter(is_commit).count().saturating_sub(MOST_COMMITS);
        let undone: Vec<&Statement> = standing.iter().copied().filter(|one| one.text.starts_with(UNDID)).collect();
        if let Some(newest) = undone.last().filter(|_| undone.len() > 1) {
            let subjects = undone.iter().rev().take(MOST_UNDONE);
            let subjects = subjects.filter_map(|one| Some(clip(named_commit(&one.text, UNDID)?.1, LONGEST_SUBJECT)));
            let more = if undone.len() > MOST_UNDONE { "; \u{2026}" } else { "" };
            let item = format!("Took back {} commits: {}{more}", undone.len(), subjects.collect::<Vec<_>>().join("; "));
            self.pool.add(Section::Done, &item, Origin::at(newest.position), Rank::Normal);
        }
        let mut left = older;
        let mut last = None;
        let mut kept = Vec::with_capacity(standing.len());
        for one in standing {
            if left > 0 && one.text.starts_with(COMMITTED) {
                left -= 1;
                last = Some(one);
            } else if undone.len() < 2 || !one.text.starts_with(UNDID) {
                kept.push(one);
            }
        }
        if let Some(last) = last {
            let item = format!("{older} earlier commits, the last of them: {}", last.text);
            self.pool.add(Section::Done, &item, Origin::at(last.position), Rank::Low);
        }
        kept
    }

    /// What the repository still lacks: the commits after the last push of their branch, in one item, and changes in a
    /// stash. Without any push, nobody expects one.
    pub(super) fn unpushed(&mut self) {
        if !self.tells_state {
            return;
        }
        let standing = self.standing.clone();
        if let Some(aside) = standing.iter().rev().find(|one| one.text == SET_ASIDE) {
            self.pool.add(Section::InProgress, STILL_ASIDE, Origin::at(aside.position), Rank::Normal);
        }
        if let Some(claim) = unproved_push(self.with_turn) {
            let item = format!("{CLAIMED_PUSH}{}", clip(&claim.text, LONGEST_SUBJECT));
            self.pool.add(Section::InProgress, &item, Origin::of(claim.position, &claim.sources), Rank::Normal);
        }
        let pushes: Vec<(u64, &str)> =
            standing.iter().filter_map(|one| Some((one.position, pushed_branch(&one.text)?))).collect();
        let is_behind = |one: &&&Statement, branch: &str| {
            let mut own = pushes.iter().rev().filter(|(_, pushed)| branch.is_empty() || *pushed == branch);
            own.next().is_some_and(|(at, _)| *at < one.position)
        };
        let commits = standing.iter().filter(|one| Commit::of(&one.text).is_some_and(|own| is_behind(one, own.branch)));
        let commits: Vec<&Statement> = commits.copied().collect();
        if let Some(newest) = commits.last() {
            let item = format!("{UNPUSHED}{}", named_commits(&commits));
            self.pool.add(Section::InProgress, &item, Origin::at(newest.position), Rank::Normal);
        }
    }

    /// The commits of a conversation that pushed nothing.
    pub(super) fn never_pushed(&self) -> Option<String> {
        if self.standing.iter().any(|one| one.text.starts_with(PUSHED) || pushed_branch(&one.text).is_some()) {
            return None;
        }
        let commits = self.standing.iter().copied().filter(|one| Commit::of(&one.text).is_some());
        let commits: Vec<&Statement> = commits.collect();
        (!commits.is_empty()).then(|| format!("{NEVER_PUSHED}{}", named_commits(&commits)))
    }

    /// The items of finished work and of answered questions, each as long as its share of the room allows, with its rank.
    /// Finished work comes first. Items without a share are listed only if there is room.
    pub(super) fn answered_items(&self) -> HashMap<&'a str, (String, Rank)> {
        let own = || self.ledger.notes_of(NoteKind::Done).rev().filter(|note| is_answered_item(note));
        let own = || own().filter(|note| !self.is_undone(note));
        let percent = if self.units >= LONG_SUMMARY { WORK_PERCENT } else { SHORT_WORK_PERCENT };
        let mut items = HashMap::new();
        let work: Vec<&'a Note> = own().filter(|note| tells_work(&note.text)).collect();
        self.share_room(&work, (self.units * percent / 100).min(MOST_WORK), Rank::Normal, &mut items);
        // Without commits and runs of tests, only they show what was done.
        let is_quiet = self.standing.len() + work.len() < FEW_MILESTONES;
        let (part, most) = if is_quiet { (QUIET_PART, MOST_ANSWERED) } else { (ANSWERED_PART, usize::MAX) };
        let answers: Vec<&'a Note> = own().filter(|note| !tells_work(&note.text)).collect();
        let (newest, older) = answers.split_at(answers.len().min(most));
        self.share_room(newest, self.units / part, Rank::Low, &mut items);
        self.share_room(older, 0, Rank::Low, &mut items);
        items
    }

    /// Adds the items of some notes, the newest first, that share `room` UTF-16 units.
    fn share_room(&self, notes: &[&'a Note], room: usize, rank: Rank, items: &mut HashMap<&'a str, (String, Rank)>) {
        let (least, most) = ITEM_UNITS;
        let units = (room / notes.len().max(1)).clamp(least, most);
        let mut left = room;
        for note in notes {
            let item = shortened(&note.text, units);
            let cost = utf16_len(&item);
            let has_room = cost <= left;
            left = if has_room { left - cost } else { 0 };
            items.insert(note.text.as_str(), (item, if has_room { rank } else { Rank::Least }));
        }
    }

    /// The last request of a history before the request of a turn, if it was answered.
    pub(super) fn answered_before_turn(&mut self) {
        let ledger = self.ledger;
        let Some(request) = ledger.requests.iter().rev().find(|request| request.asks_for_work()) else { return };
        let is_named = is_settled_by_answer(&request.text) && is_substantive(&own_words(&request.text));
        if !self.is_answered(request) || !is_named {
            return;
        }
        // What the person showed after the request has the newer answer.
        let since = ledger.requests.iter().rev().take_while(|one| one.position > request.position);
        if since.filter(|one| one.position < ledger.answered).any(|one| shows(&one.text)) {
            return;
        }
        if self.turn_request.is_some_and(|turn| rejects(turn, &ledger.newest_answer.text)) {
            return;
        }
        let has_failed = |reply: &str| tells_failure(reply) && !has_question(&request.text);
        let reply = ledger.reply.as_deref().unwrap_or_default();
        if has_failed(reply) {
            return;
        }
        let has_changed =
            ledger.changed_at() > request.position || self.standing.iter().any(|one| one.position > request.position);
        if has_changed && self.turn_request.is_some_and(|turn| comes_back(turn, &request.text, reply)) {
            return;
        }
        let objection = self.turn_request.and_then(|turn| objection(turn, &ledger.newest_answer.text));
        let no_calls = ledger.last_step.position < request.position;
        let is_proposed = !has_changed
            && !has_question(&request.text)
            && only_proposes(&ledger.newest_answer.text, ledger.changed_at() > 0 && no_calls);
        let changed = ledger.changed_since(request.position);
        let worked_on = || worked_on_item(&request.text, &changed);
        let item = match objection.filter(|_| has_changed) {
            None if reply.is_empty() => worked_on().filter(|_| !is_proposed && !has_question(&request.text)),
            Some(_) if reply.is_empty() => None,
            Some(objection) => Some(objected_item(&request.text, reply, has_changed, &objection)),
            None if is_proposed => Some(proposed_item(&request.text, reply)),
            None => Some(answered_item(&request.text, &with_files(reply, &changed), has_changed)),
        };
        let Some(item) = item else { return };
        let told = ledger.statements.iter().rev().find(|one| one.position == ledger.answered);
        let origin = told.map_or(Origin::at(ledger.answered), |told| Origin::of(ledger.answered, &told.sources));
        self.pool.add(Section::Done, &item, origin, Rank::Low);
    }
}

/// The turns whose commits were undone later: by the program that made them, by a commit that reverts them, or because
/// the branch was moved back and its changes discarded.
#[derive(Debug, Default)]
pub(super) struct UndoneTurns {
    /// Positions of the request and of the commit of each turn.
    turns: Vec<(u64, u64)>,
}

impl UndoneTurns {
    pub(super) fn of(ledger: &Ledger) -> Self {
        let newest: Vec<&Statement> = milestones(ledger).rev().take(MOST_MILESTONES).collect();
        let mut commits: Vec<(u64, Commit<'_>)> = Vec::new();
        let mut undone = Vec::new();
        for one in newest.into_iter().rev() {
            let text = one.text.as_str();
            let at = if let Some((hash, _)) = named_commit(text, UNDID) {
                commits.iter().rposition(|(_, commit)| are_one(commit.hash, hash)).map(|at| at..at + 1)
            } else if let Some((hash, subject)) = named_commit(text, RESET_TO) {
                let is_it = |commit: &Commit<'_>| are_one(commit.hash, hash) || commit.subject == subject;
                let kept = commits.iter().rposition(|(_, commit)| is_it(commit));
                Some(kept.map_or(0, |kept| kept + 1)..commits.len())
            } else {
                let commit = Commit::of(text);
                let reverted =
                    commit.as_ref().and_then(|commit| commit.subject.strip_prefix(REVERT)?.strip_suffix('"'));
                let reverted = reverted.and_then(|old| commits.iter().rposition(|(_, commit)| commit.subject == old));
                commits.extend(commit.map(|commit| (one.position, commit)));
                reverted.map(|at| at..at + 1)
            };
            if let Some(range) = at {
                undone.extend(commits.drain(range).map(|(position, _)| position));
            }
        }
        let request_of = |position: u64| {
            let after = ledger.requests.partition_point(|request| request.position <= position);
            after.checked_sub(1).map_or(0, |at| ledger.requests[at].position)
        };
        Self { turns: undone.into_iter().map(|position| (request_of(position), position)).collect() }
    }

    /// Whether a message at `position` led to such a commit.
    pub(super) fn has(&self, position: u64) -> bool {
        position > 0 && self.turns.iter().any(|(from, to)| (*from..=*to).contains(&position))
    }
}

/// Number of newest milestones that are compared. Each one that moves a branch back looks at all before it.
pub(in crate::extractive) const MOST_MILESTONES: usize = 2048;

/// The milestones that no later one replaces, in order: the last run of each purpose, the last push of each branch, and
/// commits. A commit is dropped if it was amended, squashed, replaced by a push, or deleted with a branch that was
/// neither pushed nor merged.
pub(in crate::extractive) fn standing_milestones<'a>(
    milestones: impl Iterator<Item = &'a Statement>,
) -> Vec<&'a Statement> {
    let mut standing: Vec<Option<&Statement>> = Vec::new();
    let mut by_purpose: HashMap<String, usize> = HashMap::new();
    // The indexes of commits, by their branch and by the beginning of their hash.
    let mut of_branch: HashMap<&str, Vec<usize>> = HashMap::new();
    let mut of_hash: HashMap<&str, Vec<usize>> = HashMap::new();
    let beginning = |hash: &'a str| hash.get(..HASH_BEGINNING).unwrap_or(hash);
    // Branches whose commits are also elsewhere, and the index of the stashed changes.
    let mut elsewhere: HashSet<&str> = HashSet::new();
    let mut set_aside: Vec<usize> = Vec::new();
    let milestones: Vec<&Statement> = milestones.collect();
    for statement in milestones.into_iter().rev().take(MOST_MILESTONES).rev() {
        let text = statement.text.as_str();
        if let Some(to) = text.strip_prefix(MOVED_BACK).and_then(|to| to.strip_suffix(KEPT_CHANGES)) {
            squash_since(to, &mut standing);
        } else if let Some(name) = text.strip_prefix(DELETED) {
            let (name, is_on_server) = name.strip_suffix(ON_SERVER).map_or((name, false), |name| (name, true));
            if is_on_server {
                by_purpose.remove(&format!("{PUSHED}{name}")).into_iter().for_each(|at| standing[at] = None);
            } else if !elsewhere.contains(name) {
                for at in of_branch.remove(name).unwrap_or_default() {
                    standing[at] = None;
                }
            }
            continue;
        } else if text == BROUGHT_BACK || text == THREW_AWAY {
            if let Some(at) = set_aside.pop() {
                standing[at] = None;
            }
            if text == BROUGHT_BACK {
                continue;
            }
        }
        elsewhere.extend(pushed_branch(text).or_else(|| text.strip_prefix(MERGED)));
        if let Some((hash, subject)) = named_commit(text, RESET_TO) {
            take_back_since(hash, subject, &mut standing);
        } else if let Some((hash, _)) = named_commit(text, UNDID) {
            let is_it = |commit: Commit<'_>| are_one(commit.hash, hash);
            for at in of_hash.get_mut(beginning(hash)).into_iter().flatten() {
                standing[*at].take_if(|one| Commit::of(&one.text).is_some_and(is_it));
            }
        }
        let commit = Commit::of(text);
        let command = text.strip_prefix('`').and_then(|rest| rest.split_once('`'));
        let purpose = match (&commit, command) {
            (Some(commit), _) => format!("{} {}", commit.branch, commit.subject),
            (None, Some((command, _))) => purposes(command).pop().unwrap_or_default(),
            (None, None) => pushed_branch(text).map_or_else(|| text.to_owned(), |branch| format!("{PUSHED}{branch}")),
        };
        let reverted = commit.as_ref().and_then(|commit| commit.subject.strip_prefix(REVERT)?.strip_suffix('"'));
        if let Some(subject) = reverted {
            let is_it = |one: &mut &Statement| Commit::of(&one.text).is_some_and(|commit| commit.subject == subject);
            standing.iter_mut().rev().find_map(|one| one.take_if(is_it));
        }
        if let Some(commit) = commit.as_ref().filter(|commit| commit.is_amended) {
            let commits = of_branch.entry(commit.branch).or_default();
            while commits.pop().is_some_and(|at| standing[at].take().is_none()) {}
        }
        if let Some((_, old)) = text.split_once(INSTEAD_OF).filter(|_| text.starts_with(PUSHED)) {
            let is_old = |commit: Commit<'_>| are_one(commit.hash, old);
            let alike = of_hash.get_mut(beginning(old)).into_iter().flatten();
            for at in alike {
                standing[*at].take_if(|one| Commit::of(&one.text).is_some_and(is_old));
            }
        }
        if purpose.is_empty() {
            continue;
        }
        if text == SET_ASIDE {
            set_aside.push(standing.len());
            standing.push(Some(statement));
            continue;
        }
        if let Some(commit) = commit {
            // It includes the changes that a soft reset kept.
            standing.iter_mut().rev().take(MOST_COMPARED).for_each(|one| {
                one.take_if(|one| one.text.starts_with(MOVED_BACK));
            });
            of_branch.entry(commit.branch).or_default().push(standing.len());
            of_hash.entry(beginning(commit.hash)).or_default().push(standing.len());
        }
        if let Some(replaced) = by_purpose.insert(purpose, standing.len()) {
            standing[replaced] = None;
        }
        standing.push(Some(statement));
    }
    standing.into_iter().flatten().collect()
}

/// The milestones of a ledger, in order.
pub(super) fn milestones(ledger: &Ledger) -> impl DoubleEndedIterator<Item = &Statement> {
    ledger.statements.iter().filter(|one| one.voice == Voice::Milestone)
}

/// The newest hashes of commits, and the number of others.
fn named_commits(commits: &[&Statement]) -> String {
    let hashes = commits.iter().rev().take(MOST_UNDONE).filter_map(|one| Some(Commit::of(&one.text)?.hash));
    let more = commits.len().saturating_sub(MOST_UNDONE);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    hashes.collect::<Vec<_>>().join(", ") + &more
}

/// The hash and the subject after the beginning of a milestone.
fn named_commit<'a>(milestone: &'a str, start: &str) -> Option<(&'a str, &'a str)> {
    milestone.strip_prefix(start)?.split_once(": ")
}

/// Whether two hashes, possibly shortened, are the same commit.
fn are_one(one: &str, other: &str) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Removes the commits of the latest branch after the one with `hash`, or with `subject` after a rebase. If that commit
/// is too old to be among the milestones, all commits came after it. Runs on removed commits no longer count.
fn take_back_since<'a>(hash: &str, subject: &str, standing: &mut [Option<&'a Statement>]) {
    let commit = |one: &Option<&'a Statement>| one.and_then(|one| Commit::of(&one.text));
    let Some(branch) = standing.iter().rev().find_map(commit).map(|latest| latest.branch.to_owned()) else { return };
    let is_hash = |commit: &Commit<'_>| are_one(commit.hash, hash);
    let kept = standing.iter().rposition(|one| commit(one).is_some_and(|commit| is_hash(&commit)));
    let is_subject = |one: &Option<&'a Statement>| commit(one).is_some_and(|commit| commit.subject == subject);
    let kept = kept.or_else(|| standing.iter().rposition(is_subject));
    for one in &mut standing[kept.map_or(0, |kept| kept + 1)..] {
        one.take_if(|one| Commit::of(&one.text).map_or(one.text.starts_with('`'), |commit| commit.branch == branch));
    }
}

/// Removes the commits of the latest branch after `to`. The files kept their changes, so the next commit contains them.
fn squash_since(to: &str, standing: &mut [Option<&Statement>]) {
    fn commit<'a>(one: &Option<&'a Statement>) -> Option<Commit<'a>> {
        one.and_then(|one| Commit::of(&one.text))
    }
    let Some(branch) = standing.iter().rev().find_map(commit).map(|latest| latest.branch.to_owned()) else { return };
    let is_own = |one: &Option<&Statement>| commit(one).is_some_and(|commit| commit.branch == branch);
    let count = match to.trim_start_matches("HEAD").trim_start_matches('@').split_at_checked(1) {
        Some(("~", "")) => 1,
        Some(("~", number)) => number.parse().unwrap_or(0),
        Some(("^", more)) if more.bytes().all(|byte| byte == b'^') => 1 + more.len(),
        // The commits after the one with this hash.
        _ => {
            let is_to = |one: &Option<&Statement>| commit(one).is_some_and(|commit| are_one(commit.hash, to));
            let kept = standing.iter().rposition(is_to).map_or(0, |at| at + 1);
            standing[kept..].iter().filter(|one| is_own(one)).count()
        }
    };
    for one in standing.iter_mut().rev().filter(|one| is_own(one)).take(count) {
        *one = None;
    }
}

/// Number of letters of a hash that every shortened form keeps.
const HASH_BEGINNING: usize = 4;

/// A commit as its milestone names it.
struct Commit<'a> {
    hash: &'a str,
    /// Empty if the program did not name it.
    branch: &'a str,
    subject: &'a str,
    /// Whether it replaced the one before it.
    is_amended: bool,
}

impl<'a> Commit<'a> {
    fn of(milestone: &'a str) -> Option<Self> {
        let (place, subject) = milestone.strip_prefix(COMMITTED)?.split_once(": ")?;
        let (hash, branch) = place.split_once(" on ").unwrap_or((place, ""));
        let bare = subject.strip_suffix(AMENDED);
        Some(Self { hash, branch, subject: bare.unwrap_or(subject), is_amended: bare.is_some() })
    }
}

/// The last commit of a push and its branch, if the milestone says nothing else.
pub(super) fn pushed_commit(milestone: &str) -> Option<(&str, &str)> {
    let (hash, branch) = milestone.strip_prefix(PUSHED)?.split_once(" to ")?;
    (!branch.contains(' ')).then_some((hash, branch))
}

/// Whether a milestone is the commit with `hash`.
pub(super) fn is_commit_of(milestone: &str, hash: &str) -> bool {
    Commit::of(milestone).is_some_and(|commit| are_one(commit.hash, hash))
}

/// The branch in the milestone of a push.
fn pushed_branch(milestone: &str) -> Option<&str> {
    let named = milestone.strip_prefix(PUSHED_NEW).or_else(|| milestone.strip_prefix(PUSHED_TAG));
    let named = named.or_else(|| Some(milestone.strip_prefix(PUSHED)?.split_once(" to ")?.1));
    named?.split(' ').next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_item_keeps_both_of_its_parts() {
        let item =
            format!("Done: {} -> {}", "port the printer of the shop ".repeat(3), "It prints all menus. ".repeat(9));
        let short = shortened(&item, 110);
        assert!(
            utf16_len(&short) <= 110 && short.starts_with("Done: port") && short.contains("-> It prints all"),
            "{short}"
        );
        assert_eq!(shortened("Done: it -> all of it", 110), "Done: it -> all of it");
    }
}
