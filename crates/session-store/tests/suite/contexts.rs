//! A remembered context is the one that a fresh reading gives.

use compaction_core::entry::EntryId;
use compaction_core::projection::Projection;
use proptest::prelude::*;
use session_store::{CreateOptions, MemoryStore, NewEntry, Parent, Session, SessionStore};

fn shown(projection: &Projection) -> String {
    let messages: Vec<&str> = projection.messages().map(|message| message.raw().get()).collect();
    let settings = (projection.model(), projection.thinking_level(), projection.diagnostics());
    format!("{messages:?} {settings:?}")
}

fn check(session: &Session, leaf: Option<&EntryId>) {
    let remembered = session.context(leaf).expect("the session is readable").projection;
    let fresh = Projection::of(session.branch(leaf).expect("the leaf is there")).expect("the session is readable");
    assert_eq!(shown(&remembered), shown(&fresh));
}

fn append(session: &mut Session, action: usize, target: usize) {
    let ids: Vec<EntryId> = session.branch_ids(session.leaf_id()).expect("the leaf is there");
    let target = ids.get(target % ids.len().max(1)).map_or("none", EntryId::as_str);
    let (kind, members) = match action {
        0 => ("message", r#"{"message":{"role":"user","content":"hello"}}"#.to_owned()),
        1 => (
            "message",
            r#"{"message":{"role":"assistant","provider":"p","model":"m","content":[{"type":"toolCall","id":"c","name":"n","arguments":{}}]}}"#
                .to_owned(),
        ),
        2 => ("message", r#"{"message":{"role":"toolResult","toolCallId":"c","content":"r"}}"#.to_owned()),
        3 => ("thinking_level_change", r#"{"thinkingLevel":"high"}"#.to_owned()),
        4 => ("context_edit", format!(r#"{{"targetId":"{target}","replacement":null}}"#)),
        _ => ("compaction", format!(r#"{{"summary":"s","firstKeptEntryId":"{target}","tokensBefore":1}}"#)),
    };
    session.append(NewEntry::new(kind, &members), Parent::Leaf).expect("memory can be written");
}

proptest! {
    #[test]
    fn asking_after_every_change_gives_what_a_fresh_reading_gives(
        actions in proptest::collection::vec((0usize..8, any::<usize>(), any::<bool>()), 1..40),
    ) {
        let mut session = MemoryStore.create(&CreateOptions::default()).expect("memory can be written");
        for (action, target, asks) in actions {
            match action {
                6 | 7 => {
                    let ids = session.branch_ids(session.leaf_id()).expect("the leaf is there");
                    let target = ids.get(target % ids.len().max(1)).cloned();
                    session.navigate(target.as_ref(), &session_store::Precondition::None).expect("memory can be written");
                }
                action => append(&mut session, action, target),
            }
            if asks {
                check(&session, session.leaf_id());
            }
        }
        check(&session, session.leaf_id());
    }
}
