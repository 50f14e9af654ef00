//! Refused calls: what a person did not let the model do, and what they said then, until the same is done after all.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::actions::ActionKind;
use super::commands::{is_goal, purposes};
use super::notes::{AND_SAID, DECLINED, NoteKind, NoteList, SourcePosition};
use super::statements::sentences;
use super::text::{clip, one_line};

/// Most refused calls that are told: the newest ones.
const MOST: usize = 6;
/// Longest call in a decision, in UTF-16 units.
const LONGEST_CALL: usize = 120;
/// Longest words of a person in one, in UTF-16 units.
const LONGEST_SAID: usize = 200;

/// A call that a person refused.
#[derive(Debug, Clone)]
struct RefusedCall<'a> {
    /// The call as it is told.
    shown: String,
    /// The usual goals of work that it had, such as a push.
    goals: Vec<String>,
    /// The decision; `None` if an earlier compaction has stored it.
    told: Option<(String, SourcePosition<'a>)>,
}

/// The refused calls that were not made since.
#[derive(Debug, Default, Clone)]
pub(super) struct RefusedCalls<'a> {
    list: Vec<RefusedCall<'a>>,
    has_changed: bool,
}

impl<'a> RefusedCalls<'a> {
    /// Restores them from the decisions of an earlier ledger.
    pub(super) fn restore<'d>(&mut self, decisions: impl Iterator<Item = &'d str>) {
        let told = decisions.filter_map(|text| text.strip_prefix(DECLINED)?.split_once('`'));
        self.list.extend(told.map(|(call, _)| RefusedCall { shown: call.to_owned(), goals: goals(call), told: None }));
    }

    /// Records that a person refused a call, and what they `said`.
    pub(super) fn add(&mut self, kind: ActionKind, call: &str, said: Option<&str>, place: SourcePosition<'a>) {
        let shown = told_call(kind, call);
        let goals = goals(&shown);
        // Who only asks something has decided nothing.
        let only_asks = |said: &str| sentences(said).all(|one| one.ends_with(['?', '\u{ff1f}']));
        if said.is_some_and(|said| !said.trim().is_empty() && only_asks(said)) {
            return;
        }
        let said = said.map(|said| format!("{AND_SAID}{}", clip(&one_line(said), LONGEST_SAID)));
        let told = format!("{DECLINED}{shown}`{}", said.unwrap_or_default());
        self.drop(|one| one.shown == shown);
        self.list.push(RefusedCall { shown, goals, told: Some((told, place)) });
        if self.list.len() > MOST {
            self.list.remove(0);
        }
        self.has_changed = true;
    }

    /// Records that a call, which has some purposes, was made. A call for the same goal counts, too.
    pub(super) fn end(&mut self, kind: ActionKind, call: &str, purposes: &[String]) {
        if self.list.is_empty() {
            return;
        }
        let shown = told_call(kind, call);
        // A plain push is not the forced one that the person refused.
        let is_for = |one: &RefusedCall<'_>| {
            !one.goals.is_empty()
                && one.goals.iter().all(|goal| purposes.contains(goal))
                && (!is_forced(&one.shown) || is_forced(&shown))
        };
        self.drop(|one| one.shown == shown || is_for(one));
    }

    fn drop(&mut self, is_over: impl Fn(&RefusedCall<'a>) -> bool) {
        let before = self.list.len();
        self.list.retain(|one| !is_over(one));
        self.has_changed |= self.list.len() < before;
    }

    /// Adds the decisions, and removes those of earlier ledgers that are over.
    pub(super) fn report(&mut self, notes: &mut NoteList) {
        if !self.has_changed {
            return;
        }
        let is_left = |text: &str| {
            let call = text.strip_prefix(DECLINED).and_then(|rest| rest.split_once('`')).map(|(call, _)| call);
            call.is_some_and(|call| self.list.iter().any(|one| one.told.is_none() && one.shown == call))
        };
        notes.take(NoteKind::Decision, |note| note.text.starts_with(DECLINED) && !is_left(&note.text));
        for (text, place) in self.list.iter().filter_map(|one| one.told.as_ref()) {
            notes.add(NoteKind::Decision, text, *place, false);
        }
    }
}

/// A call as it is told: the file that it was to change, or the command without the message of a commit.
fn told_call(kind: ActionKind, call: &str) -> String {
    if kind.is_of_file() {
        return clip(&format!("change of {call}"), LONGEST_CALL);
    }
    let message = COMMIT.find(call.as_bytes()).and_then(|at| Some(at + call[at..].find(" -m ")?));
    clip(&call[..message.unwrap_or(call.len())], LONGEST_CALL)
}

/// Options with which a command does what it refuses otherwise.
const FORCING: &[&str] = &["--force", "-f", "--force-with-lease", "--hard", "--no-verify", "-D"];

/// Whether a command has one of them, or pushes a branch with a plus, which forces it, too.
fn is_forced(command: &str) -> bool {
    let is_force = |word: &str| FORCING.contains(&word.split('=').next().unwrap_or(word)) || word.starts_with('+');
    command.split_whitespace().any(is_force)
}

/// Finds commands that have such a message.
static COMMIT: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("git commit "));

/// The usual goals of work of a command.
fn goals(command: &str) -> Vec<String> {
    purposes(command).into_iter().filter(|purpose| is_goal(purpose)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(calls: &RefusedCalls<'_>) -> Vec<String> {
        calls.list.iter().filter_map(|one| Some(one.told.as_ref()?.0.clone())).collect()
    }

    #[test]
    fn a_refused_call_is_told_until_it_is_made() {
        let mut calls = RefusedCalls::default();
        let place = SourcePosition { position: 7, entry: None };
        calls.add(ActionKind::Run, "git push", Some("first the tests"), place);
        calls.add(ActionKind::Run, "rm old.txt && git push origin main", Some("not that file. Why is it old?"), place);
        calls.add(ActionKind::Edit, "src/store.rs", Some("not there"), place);
        assert_eq!(
            told(&calls),
            [
                "The user refused `git push` and said: first the tests",
                "The user refused `rm old.txt && git push origin main` and said: not that file. Why is it old?",
                "The user refused `change of src/store.rs` and said: not there"
            ]
        );
        for asked in ["what do the tests say?", "Warum? Was ändert das?", "为什么？"] {
            calls.add(ActionKind::Run, "git rebase main", Some(asked), place);
        }
        assert_eq!(told(&calls).len(), 3, "a question decides nothing");
        calls.end(ActionKind::Run, "cargo test", &purposes("cargo test"));
        assert_eq!(told(&calls).len(), 3);
        calls.end(ActionKind::Run, "git push -u origin fix", &purposes("git push -u origin fix"));
        calls.end(ActionKind::Write, "src/store.rs", &[]);
        assert_eq!(told(&calls).len(), 0);
    }

    #[test]
    fn a_plain_call_does_not_stand_for_a_forced_one() {
        let mut calls = RefusedCalls::default();
        let place = SourcePosition { position: 7, entry: None };
        calls.add(ActionKind::Run, "git push --force origin main", Some("never force it"), place);
        calls.end(ActionKind::Run, "git push", &purposes("git push"));
        assert_eq!(told(&calls).len(), 1);
        let forced = "git push --force-with-lease origin main";
        calls.end(ActionKind::Run, forced, &purposes(forced));
        assert_eq!(told(&calls).len(), 0);
    }

    #[test]
    fn a_stored_refusal_is_over_when_the_call_was_made() {
        let mut notes = NoteList::default();
        let place = SourcePosition { position: 3, entry: None };
        for call in ["git push", "rm old.txt"] {
            notes.add(NoteKind::Decision, &format!("{DECLINED}{call}` and said: wait"), place, false);
        }
        let stored = notes.clone().finish();
        let mut calls = RefusedCalls::default();
        calls.restore(stored.iter().map(|note| note.text.as_str()));
        calls.end(ActionKind::Run, "git push", &purposes("git push"));
        calls.report(&mut notes);
        let left: Vec<String> = notes.finish().into_iter().map(|note| note.text).collect();
        assert_eq!(left, ["The user refused `rm old.txt` and said: wait"]);
    }
}
