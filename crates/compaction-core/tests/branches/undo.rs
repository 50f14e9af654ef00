//! Undoing compactions restores the context and keeps later entries.

use std::collections::HashMap;
use std::sync::Arc;

use crate::common::{branch, entry, project};
use crate::promises::lines;
use compaction_core::entry::{Entry, EntryId, EntryKind, new_entry_line};
use compaction_core::json::RawObject;
use compaction_core::projection::Projection;
use compaction_core::{tokens, undo};
use proptest::prelude::*;

const LATER: &str = "2030-01-01T00:00:00.000Z";

/// The path after undoing its compaction at `position`.
fn undone(path: &[Arc<Entry>], position: usize) -> Vec<Arc<Entry>> {
    let (before, after) = (&path[..position], &path[position + 1..]);
    let mut new_ids: HashMap<EntryId, EntryId> =
        after.iter().map(|entry| (entry.id().clone(), EntryId::new(format!("n{}", entry.id())))).collect();
    let mark_id = EntryId::new("mark");
    new_ids.insert(path[position].id().clone(), mark_id.clone());
    let mark = undo::Mark {
        from_id: path[path.len() - 1].id().clone(),
        undone_entry_id: path[position].id().clone(),
        entries: after.len(),
    };
    let mut result = before.to_vec();
    push(&mut result, "custom", &mark_id, &mark.members());
    assert_eq!(undo::Mark::of(&result[position]), Some(mark));
    for entry in after {
        let members = undo::copied_members(entry, &new_ids).expect("the tests write whole entries");
        push(&mut result, entry.kind_name(), &new_ids[entry.id()], &members);
    }
    result
}

fn push(path: &mut Vec<Arc<Entry>>, kind: &str, id: &EntryId, members: &str) {
    let parent = path.last().map(|entry| entry.id().clone());
    let line = new_entry_line(kind, id, parent.as_ref(), LATER, members).expect("the tests write whole entries");
    path.push(Arc::new(Entry::parse(&line).expect("the tests write whole entries")));
}

/// The path without the compaction at `position`, with unchanged ids.
fn without(path: &[Arc<Entry>], position: usize) -> Vec<Arc<Entry>> {
    let mut path = path.to_vec();
    path.remove(position);
    path
}

/// Messages without their times, because messages of extensions and summaries have the time of their entry.
fn shown(projection: &Projection) -> Vec<String> {
    let messages = projection.messages().map(|message| {
        let mut object = RawObject::parse(message.raw().get()).expect("the tests write whole entries");
        object.remove("timestamp");
        object.to_json()
    });
    messages.collect()
}

fn members(entry: &Entry) -> Vec<(String, String)> {
    let line = entry.line();
    let object = RawObject::parse(&line).expect("the tests write whole entries");
    let own = |name: &str| !matches!(name, "id" | "parentId" | "timestamp");
    object.iter().filter(|(name, _)| own(name)).map(|(name, json)| (name.to_owned(), json.to_owned())).collect()
}

/// The position of the compaction to undo on a path (root first): the one with this id, or the last
/// one. `None` if the path has no such compaction.
fn find_compaction(path: &[Arc<Entry>], id: Option<&EntryId>) -> Option<usize> {
    let is_wanted = |entry: &Arc<Entry>| entry.kind() == EntryKind::Compaction && id.is_none_or(|id| id == entry.id());
    path.iter().rposition(is_wanted)
}

proptest! {
    #[test]
    fn the_context_is_that_of_the_path_without_the_compaction(lines in lines()) {
        let path = branch(&lines.join("\n"));
        let Some(position) = find_compaction(&path, None) else { return Ok(()) };
        prop_assert_eq!(shown(&project(&undone(&path, position))), shown(&project(&without(&path, position))));
    }

    #[test]
    fn copies_differ_in_ids_alone(lines in lines(), which in 0..40usize) {
        let path = branch(&lines.join("\n"));
        let chosen = EntryId::new(which.to_string());
        let Some(position) = find_compaction(&path, Some(&chosen)) else { return Ok(()) };
        let result = undone(&path, position);
        prop_assert!(result.iter().zip(&path[..position]).all(|(a, b)| a.line() == b.line()), "what came before stays");
        for (copy, original) in result[position + 1..].iter().zip(&path[position + 1..]) {
            let names_another = members(copy) != members(original);
            prop_assert!(!names_another || matches!(copy.kind_name(), "context_edit" | "compaction" | "label"));
        }
    }

    #[test]
    fn usage_of_copies_is_not_trusted(lines in lines()) {
        let path = branch(&lines.join("\n"));
        let Some(position) = find_compaction(&path, None) else { return Ok(()) };
        let counted = tokens::context_tokens(&project(&undone(&path, position)));
        let estimated = tokens::context_tokens(&project(&path[..position]));
        prop_assert!(counted.usage_tokens == 0 || counted.usage_tokens == estimated.usage_tokens);
    }
}

#[test]
fn usage_is_trusted_after_copies_that_the_branch_left() {
    let whole = undone(&branch("user 1\ncompaction keeps 0\nuser 2\nassistant 2\nuser 3\nuser 4\nuser 5"), 1);
    // The branch continues after this many copies.
    let check = |copies: usize, expected: u64| {
        let mut path = whole[..2 + copies].to_vec();
        let newest = undo::CopiedDepths::of(&project(&path)).newest();
        assert_eq!(newest, Some(0), "all of {copies} are copies");
        for (position, line) in ["user 6", "usage 900", "user 7"].into_iter().enumerate() {
            path.push(Arc::new(entry(whole.len() + position, line)));
        }
        let projection = project(&path);
        assert_eq!(undo::CopiedDepths::of(&projection).newest(), Some(3), "{copies}");
        assert_eq!(tokens::context_tokens(&projection).usage_tokens, expected, "{copies}");
    };
    for copies in 0..=5 {
        check(copies, 900);
    }
}

#[test]
fn a_copied_mark_tells_of_more_copies_than_there_are() {
    let whole = undone(&branch("user 1\ncompaction keeps 0\nuser 2\ncompaction keeps 2\nuser 3\nuser 4\nuser 5"), 3);
    let mut path = whole[..5].to_vec();
    for (position, line) in ["user 6", "usage 900"].into_iter().enumerate() {
        path.push(Arc::new(entry(whole.len() + position, line)));
    }
    let mut again = undone(&path, 1);
    assert_eq!(undo::CopiedDepths::of(&project(&again)).newest(), Some(0));
    assert_eq!(tokens::context_tokens(&project(&again)).usage_tokens, 0);
    again.push(Arc::new(entry(20, "usage 800")));
    assert_eq!(undo::CopiedDepths::of(&project(&again)).newest(), Some(1));
    assert_eq!(tokens::context_tokens(&project(&again)).usage_tokens, 800);
}

#[test]
fn copies_name_copies() {
    let path =
        branch("user 1\ncompaction keeps 0\nuser 2\nhide 2\nrewrite 0 3\npin 2\ncompaction keeps 2\nunpin 6\nuser 9");
    let result = undone(&path, 1);
    let named: Vec<String> = result[2..].iter().map(|entry| entry.line().into_owned()).collect();
    for (position, name) in [
        (1, "\"targetId\":\"n2\""),
        (2, "\"targetId\":\"0\""),
        (3, "\"entryId\":\"n2\""),
        (4, "\"firstKeptEntryId\":\"n2\""),
        (5, "\"entryId\":\"n6\""),
    ] {
        assert!(named[position].contains(name), "{}", named[position]);
    }
}
