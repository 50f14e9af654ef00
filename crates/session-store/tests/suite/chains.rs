//! Entries that are appended together.

use crate::common::{Place, file, id, ids, path_of, say, user};
use session_store::{Appended, NewEntry, Parent, Precondition, Session, SessionOptions, StoreError};

fn append(session: &mut Session, own: &[&str], parent: Parent) -> Result<Appended, StoreError> {
    let new = |own: &&str| NewEntry { id: Some(id(own)), ..NewEntry::new("custom", "{\"customType\":\"t\"}") };
    session.append_all(&own.iter().map(new).collect::<Vec<_>>(), parent, &Precondition::None)
}

fn lines() -> String {
    file(&[&user("a", None, "1"), &user("b", Some("a"), "2")])
}

#[test]
fn a_chain_hangs_on_its_parent_and_its_end_is_the_leaf() {
    for place in Place::all(lines().as_bytes()) {
        let mut session = place.open().unwrap();
        let appended = append(&mut session, &["x", "y", "z"], Parent::At(Some(id("a")))).unwrap();
        assert_eq!(ids(&appended.entries().map(|entry| entry.id().clone()).collect::<Vec<_>>()), "x y z");
        assert_eq!((path_of(&session), appended.foreign), ("a x y z".to_owned(), None));
        say(&mut session, "on");
        session.close().unwrap();
        assert!(path_of(&place.open().unwrap()).starts_with("a x y z "));
        assert!(place.text().starts_with(&lines()));
    }
}

#[test]
fn a_chain_closes_a_torn_tail_and_reads_what_is_foreign() {
    for place in Place::all(format!("{}{{\"torn", lines()).as_bytes()) {
        let mut session = place.open().unwrap();
        append(&mut session, &["x", "y"], Parent::Leaf).unwrap();
        assert_eq!(path_of(&session), "a b x y");
        place.append_foreign(&format!("{}\n", user("f", Some("y"), "theirs")));
        let appended = append(&mut session, &["z"], Parent::Leaf).unwrap();
        assert_eq!(appended.foreign.unwrap().entry_ids, [id("f")]);
        session.close().unwrap();
        assert_eq!(path_of(&place.open().unwrap()), "a b x y f z");
    }
}

#[test]
fn a_chain_that_is_wrong_changes_nothing() {
    for place in Place::all(lines().as_bytes()) {
        let mut session = place.open().unwrap();
        for own in [&["x", "x"][..], &["x", "a"], &[]] {
            let error = append(&mut session, own, Parent::Leaf).unwrap_err();
            assert!(matches!(error, StoreError::InvalidEntry { .. }), "{error:?}");
        }
        append(&mut session, &["x"], Parent::At(Some(id("nobody")))).unwrap_err();
        let leaf_is = Precondition::LeafIs(Some(id("a")));
        let moved = session.append_all(&[NewEntry::new("custom", "{}")], Parent::Leaf, &leaf_is);
        assert!(matches!(moved, Err(StoreError::LeafMoved { .. })));
        assert_eq!((path_of(&session), place.text()), ("a b".to_owned(), lines()));
    }
}

#[test]
fn a_chain_follows_the_end_of_a_large_session() {
    let place = Place::file(lines().as_bytes());
    let log = session_store::FileLog::open(&place.path()).unwrap().log;
    let mut session =
        Session::open(Box::new(log), SessionOptions { whole_bytes: 0, ..SessionOptions::default() }).unwrap();
    let new = [NewEntry::new("custom", "{}"), NewEntry::new("custom", "{}")];
    let appended = session.append_all(&new, Parent::Leaf, &Precondition::None).unwrap();
    assert_eq!(session.entry_count(), None, "the end is all that was read");
    assert_eq!(session.leaf_id(), Some(appended.entry.id()));
    assert!(path_of(&session).starts_with("a b "));
}
