//! Model and thinking level that compactions carry agree with a walk to the root.

use std::cell::Cell;
use std::convert::Infallible;
use std::sync::Arc;

use crate::common::{Counted, branch, carrying, project};
use crate::promises::lines;
use compaction_core::entry::{Entry, EntryHeader, EntryKind};
use compaction_core::json::RawObject;
use compaction_core::projection::{Branch, PathState, Projection};
use proptest::prelude::*;

/// The branch with the state of the path in each compaction that `is_ours` selects.
fn with_states(branch: &[Arc<Entry>], is_ours: impl Fn(usize) -> bool) -> Vec<Arc<Entry>> {
    let mut made: Vec<Arc<Entry>> = Vec::new();
    for (position, entry) in branch.iter().enumerate() {
        let parent = made.last().map(|parent| parent.id().clone());
        let state = parent.filter(|_| entry.kind() == EntryKind::Compaction && is_ours(position));
        made.push(match state {
            Some(parent) => carrying(entry, &PathState::of(&project(&made), &parent)),
            None => Arc::clone(entry),
        });
    }
    made
}

fn shown(projection: &Projection) -> (Vec<String>, &str, Option<&compaction_core::projection::ModelName>) {
    let messages = projection.messages().map(|message| message.raw().get().to_owned()).collect();
    (messages, projection.thinking_level(), projection.model())
}

#[test]
fn the_walk_ends_at_what_a_compaction_kept() {
    let text = format!("level high\nuser 1\n{}compaction keeps 500\nuser 1", "assistant 1\n".repeat(500));
    let stored = branch(&text);
    let ours = with_states(&stored, |_| true);
    let steps = Cell::new(0);
    let projection = Projection::of(Counted(&ours, &steps)).unwrap();
    assert_eq!(shown(&projection), shown(&project(&stored)));
    assert_eq!(projection.thinking_level(), "high");
    assert!(steps.get() < 10, "{} entries were looked at", steps.get());
}

#[test]
fn a_state_of_another_path_is_ignored() {
    let stored = branch("level high\nuser 1\nuser 1\ncompaction keeps 2\nuser 1");
    let state = |leaf: &str, level: &str| {
        format!(r#"{{"compactd":{{"state":{{"leafId":"{leaf}","model":null,"thinkingLevel":{level}}}}}}}"#)
    };
    for (details, expected) in [
        (state("2", "\"low\""), "low"),
        (state("1", "\"low\""), "high"),
        (state("2", "7"), "high"),
        (r#"{"compactd":{"state":{"leafId":"2","thinkingLevel":"low"}}}"#.to_owned(), "high"),
        (r#"{"compactd":{"state":[]}}"#.to_owned(), "high"),
        (r#"{"compactd":7}"#.to_owned(), "high"),
        (r#"["compactd"]"#.to_owned(), "high"),
    ] {
        let mut branch = stored.clone();
        let line = branch[3].line();
        let mut members = RawObject::parse(&line).unwrap();
        members.set("details", details.as_str());
        branch[3] = Arc::new(Entry::parse(&members.to_json()).unwrap());
        assert_eq!(project(&branch).thinking_level(), expected, "{details}");
    }
}

/// Counts the bodies that are read.
struct Bodies<'a>(&'a [Arc<Entry>], &'a Cell<usize>);

impl Branch for Bodies<'_> {
    type Error = Infallible;

    fn header(&mut self, depth: usize) -> Result<Option<EntryHeader>, Infallible> {
        self.0.header(depth)
    }

    fn entry(&mut self, depth: usize) -> Result<Arc<Entry>, Infallible> {
        self.1.set(self.1.get() + 1);
        self.0.entry(depth)
    }
}

#[test]
fn a_first_kept_entry_that_is_nowhere_does_not_make_the_walk_read_the_whole_path() {
    let past = format!("level high\nmodel p/m\n{}", "user 1\n".repeat(5000));
    for (kept, expected, most) in [(4900, 104, 110), (2, 5002, 5010), (9999, 2, 1100)] {
        let path = branch(&format!("{past}compaction keeps {kept}\nuser 1"));
        let bodies = Cell::new(0);
        let projection = Projection::of(Bodies(&path, &bodies)).unwrap();
        assert_eq!((projection.entries().len(), projection.thinking_level()), (expected, "high"), "{kept}");
        assert!(bodies.get() <= most, "{} bodies were read for {kept}, at most {most} should", bodies.get());
        let depths: Vec<usize> = projection.entries()[1..].iter().map(|entry| entry.depth).rev().collect();
        assert!(depths.is_sorted());
    }
}

proptest! {
    #[test]
    fn carried_states_change_no_answer(
        lines in lines(),
        settings in proptest::collection::vec((0..40usize, prop_oneof![
            "level (high|low|off)", "model (a|b)/[mn]"
        ]), 0..6),
        ours in any::<u64>(),
    ) {
        let mut lines = lines;
        for (position, line) in settings {
            if let Some(place) = lines.get_mut(position) {
                *place = line;
            }
        }
        let stored = branch(&lines.join("\n"));
        let carrying = with_states(&stored, |position| ours >> (position % 64) & 1 == 1);
        for end in 0..=stored.len() {
            let (carrying, stored) = (project(&carrying[..end]), project(&stored[..end]));
            prop_assert_eq!(shown(&carrying), shown(&stored));
        }
    }
}
