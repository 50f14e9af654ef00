//! What holds for every store that can find its sessions again, and what a network adds.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::{HEADER, Place, file, id, path_of, say, user};
use crate::remote::{Network, RemoteStore, Server};
use session_store::{
    CreateOptions, Durability, FileStore, ListOptions, Locator, NewEntry, OpenOptions, Parent, Precondition,
    SearchOptions, SearchQuery, SessionStore, StoreError,
};

const ADDRESS: &str = "remote://s";

/// Runs `check` over a store of files, and over one across a network that loses every seventh call; each
/// comes with the text that names a place for a session called `s`.
fn over_every_store(check: impl Fn(&dyn SessionStore, &str)) {
    let directory = tempfile::tempdir().unwrap();
    let files = FileStore::new(directory.path(), Durability::Checkpoint).with_base(directory.path(), None);
    check(&files, "s.jsonl");
    let network = Network::new(Duration::from_millis(20), 7);
    check(&RemoteStore::new(Arc::default(), Arc::clone(&network)), ADDRESS);
    let (calls, lost) = network.calls();
    assert!(calls >= 7 && lost == calls / 7, "{lost} of {calls} calls were lost");
}

fn of(cwd: &str) -> CreateOptions {
    CreateOptions { cwd: cwd.to_owned(), ..CreateOptions::default() }
}

#[test]
fn what_could_not_be_begun_is_removed() {
    over_every_store(|store, place| {
        let options = CreateOptions { locator: Some(store.locate(place).unwrap()), ..of("/w") };
        for text in ["first", "second"] {
            let mut session = store.create(&options).unwrap();
            say(&mut session, text);
            store.discard(session);
            assert_eq!(store.canonical(options.locator.as_ref().unwrap()), None);
            assert_eq!(store.list(&ListOptions { all: true, ..ListOptions::default() }).unwrap().sessions, []);
        }
    });
}

#[test]
fn what_was_created_is_found_listed_and_searched() {
    over_every_store(|store, place| {
        let locator = store.locate(place).unwrap();
        assert_eq!(store.canonical(&locator), None);
        assert!(matches!(store.open(&locator, &OpenOptions::default()), Err(StoreError::SessionNotFound { .. })));
        let named = CreateOptions { locator: Some(locator.clone()), name: Some("named".to_owned()), ..of("/w") };
        let mut session = store.create(&named).unwrap();
        let own = session.locator().unwrap().clone();
        assert_eq!((store.canonical(&locator), store.is_same(&own, &own)), (Some(own.clone()), true));
        assert!(matches!(store.create(&named), Err(StoreError::AlreadyExists { .. })));
        assert!(matches!(store.open(&locator, &OpenOptions::default()), Err(StoreError::Locked { .. })));
        say(&mut session, "a needle");
        session.close().unwrap();

        let mut others: Vec<_> = (0..3).map(|_| store.create(&of("/w")).unwrap()).collect();
        others.push(store.create(&of("/elsewhere")).unwrap());
        for other in &mut others {
            // The order of a list is that of messages.
            std::thread::sleep(Duration::from_millis(2));
            say(other, "hay");
        }
        let newest = others[2].locator().cloned();
        assert_eq!(store.most_recent("/w", None).unwrap(), newest);
        assert_eq!(store.most_recent("/nowhere", None).unwrap(), None);

        let mut found = Vec::new();
        let mut options = ListOptions { cwd: "/w".to_owned(), limit: Some(2), ..ListOptions::default() };
        loop {
            let page = store.list(&options).unwrap();
            found.extend(page.sessions.into_iter().map(|summary| summary.session_id));
            options.cursor = page.next;
            if options.cursor.is_none() {
                break;
            }
        }
        // The file that was named lies outside of the directory of its working directory.
        let expected: Vec<_> = others[..3].iter().rev().map(|other| other.header().id.clone()).collect();
        assert_eq!(found[..3], expected);
        let all = store.list(&ListOptions { all: true, ..ListOptions::default() }).unwrap();
        assert!(all.sessions.len() >= 4);

        let query = SearchQuery::parse("hay").unwrap();
        let skipped = HashSet::from([newest.unwrap()]);
        let found = store.search(&query, &SearchOptions { limit: 9, skipped, ..SearchOptions::default() }, &|| false);
        let found: HashSet<_> = found.unwrap().hits.into_iter().map(|hit| hit.locator.unwrap()).collect();
        let expected = [0, 1, 3].map(|other: usize| others[other].locator().unwrap().clone());
        assert_eq!(found, HashSet::from(expected));
    });
}

#[test]
fn forks_and_checks_are_the_stores_own() {
    over_every_store(|store, place| {
        let locator = store.locate(place).unwrap();
        let mut session = store.create(&CreateOptions { locator: Some(locator.clone()), ..of("/w") }).unwrap();
        let first = say(&mut session, "1");
        say(&mut session, "2");
        let mut fork = store.fork(&session, Some(&first)).unwrap();
        assert_eq!(
            (path_of(&fork), fork.header().parent_session.clone()),
            (first.to_string(), Some(session.locator().unwrap().to_string()))
        );
        let own = say(&mut fork, "3");
        let locator_of_fork = fork.locator().unwrap().clone();
        drop(fork);
        let fork = store.open(&locator_of_fork, &OpenOptions { read_only: true, ..OpenOptions::default() }).unwrap();
        assert_eq!(path_of(&fork), format!("{first} {own}"));
        assert_eq!(store.check(&locator).unwrap(), []);
        assert!(matches!(store.fork(&session, Some(&id("none"))), Err(StoreError::EntryNotFound { .. })));
    });
}

#[test]
fn texts_that_a_store_does_not_take_are_refused() {
    let remote = RemoteStore::new(Arc::default(), Network::new(Duration::ZERO, 0));
    let error = remote.locate("s.jsonl").unwrap_err();
    assert_eq!(error.to_string(), "find a session: \"s.jsonl\" is not an address that begins with remote://");
    let files = FileStore::new("/nonexistent", Durability::None);
    assert!(matches!(files.locate("a\0b"), Err(StoreError::InvalidLocator { .. })));
    let long = files.locate(&"x".repeat(5000)).unwrap();
    assert!(matches!(files.open(&long, &OpenOptions::default()), Err(StoreError::InvalidLocator { .. })));
}

/// A server with one session, a network without losses, and the store.
fn quiet() -> (Arc<Server>, Arc<Network>, RemoteStore) {
    let (server, network) = (Arc::new(Server::default()), Network::new(Duration::ZERO, 0));
    server.put(ADDRESS, file(&[&user("a", None, "1")]).as_bytes());
    (Arc::clone(&server), Arc::clone(&network), RemoteStore::new(server, network))
}

#[test]
fn lost_calls_write_every_entry_once() {
    let (server, _, _) = quiet();
    for loses_every in 1..6 {
        let network = Network::new(Duration::ZERO, loses_every);
        let store = RemoteStore::new(Arc::clone(&server), network);
        let Ok(mut session) = store.open(&Locator::from(ADDRESS), &OpenOptions::default()) else {
            assert_eq!(loses_every, 1, "a connection that loses some calls is good enough");
            continue;
        };
        for number in 0..20 {
            say(&mut session, &format!("{loses_every}-{number}"));
        }
        let chain = [NewEntry::new("custom", "{}"), NewEntry::new("custom", "{}")];
        session.append_all(&chain, Parent::Leaf, &Precondition::None).unwrap();
        let text = String::from_utf8(server.bytes(ADDRESS)).unwrap();
        for number in 0..20 {
            assert_eq!(text.matches(&format!("\"{loses_every}-{number}\"")).count(), 1);
        }
        let path = path_of(&session);
        drop(session);
        let session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
        assert_eq!((path_of(&session), session.check().unwrap()), (path, vec![]));
    }
}

#[test]
fn what_others_write_between_a_look_and_an_append_is_read_first() {
    let (server, network, store) = quiet();
    let mut session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
    // Written while the call of the append is on its way, behind the look.
    network.set_delay(Duration::from_millis(100));
    let other = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        server.append_foreign(ADDRESS, &format!("{}\n", user("b", Some("a"), "theirs")));
    });
    let leaf = Precondition::LeafIs(Some(id("a")));
    let error = session.append_if(NewEntry::new("custom", "{}"), Parent::Leaf, &leaf).unwrap_err();
    other.join().unwrap();
    assert!(matches!(&error, StoreError::LeafMoved { actual, .. } if *actual == Some(id("b"))), "{error:?}");
    assert_eq!(session.take_foreign().unwrap().entry_ids, [id("b")]);
}

#[test]
fn a_lease_that_is_lost_leaves_a_session_to_read() {
    let (server, _, store) = quiet();
    let locator = Locator::from(ADDRESS);
    let mut session = store.open(&locator, &OpenOptions::default()).unwrap();
    let own = say(&mut session, "mine");
    let before = server.bytes(ADDRESS);
    server.take_lease(ADDRESS);
    let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
    assert_eq!(error.to_string(), "write remote://s: another client has taken the lease");
    assert!(matches!(error, StoreError::LeaseLost { .. }));
    assert_eq!((server.bytes(ADDRESS), session.is_read_only()), (before, true));
    let error = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }));
    server.append_foreign(ADDRESS, &format!("{}\n", user("b", Some(own.as_str()), "theirs")));
    assert_eq!(session.refresh().unwrap().unwrap().entry_ids, [id("b")]);
    session.close().unwrap();
}

#[test]
fn a_network_that_is_down_fails_and_comes_back() {
    let (server, network, store) = quiet();
    let locator = Locator::from(ADDRESS);
    let mut session = store.open(&locator, &OpenOptions::default()).unwrap();
    network.set_down(true);
    let before = server.bytes(ADDRESS);
    assert!(matches!(session.append(NewEntry::new("custom", "{}"), Parent::Leaf), Err(StoreError::Io { .. })));
    assert!(matches!(store.list(&ListOptions::default()), Err(StoreError::Io { .. })));
    assert!(matches!(store.open(&locator, &OpenOptions::default()), Err(StoreError::Io { .. })));
    assert_eq!((server.bytes(ADDRESS), path_of(&session)), (before, "a".to_owned()));
    network.set_down(false);
    let own = say(&mut session, "again");
    assert_eq!(path_of(&session), format!("a {own}"));
}

#[test]
fn an_answer_that_never_comes_is_no_promise() {
    let (server, network, store) = quiet();
    let mut session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
    // The look arrives. The append does too, and nothing comes back any more.
    network.lose_answers_from_now(1);
    let error = session.append(NewEntry::new("custom", r#"{"data":"once"}"#), Parent::Leaf).unwrap_err();
    assert!(matches!(error, StoreError::WriteUnconfirmed { .. }), "{error:?}");
    assert_eq!(session.leaf_id(), Some(&id("a")));
    network.set_down(false);
    // It was written, so that the next append hangs on it.
    let appended = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap();
    assert_eq!(appended.foreign.unwrap().entry_ids.len(), 1);
    assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), 3);
    assert_eq!(String::from_utf8(server.bytes(ADDRESS)).unwrap().matches("once").count(), 1);
}

#[test]
fn a_write_that_was_lost_behind_an_open_last_line_is_made_again() {
    let (server, network, store) = quiet();
    let before = file(&[&user("a", None, "1")]);
    let before = before.trim_end();
    server.put(ADDRESS, before.as_bytes());
    let mut session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
    session.refresh().unwrap();
    network.lose_answers_from_now(1);
    let error = session.append(NewEntry::new("custom", r#"{"data":"once"}"#), Parent::Leaf).unwrap_err();
    assert!(matches!(error, StoreError::WriteUnconfirmed { .. }), "{error:?}");
    server.forget_behind(ADDRESS, before.len());
    network.set_down(false);
    session.append(NewEntry::new("custom", r#"{"data":"twice"}"#), Parent::Leaf).unwrap();
    assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), 2);
    let bytes = String::from_utf8(server.bytes(ADDRESS)).unwrap();
    assert_eq!((bytes.matches("once").count(), bytes.matches("twice").count()), (0, 1));
}

#[test]
fn foreign_changes_are_reported_where_the_store_can() {
    let (server, _, store) = quiet();
    let mut session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
    let notices = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&notices);
    assert!(session.notify_changes(Box::new(move || {
        count.fetch_add(1, Ordering::SeqCst);
    })));
    say(&mut session, "mine");
    assert_eq!(notices.load(Ordering::SeqCst), 0, "nobody is notified of its own changes");
    server.append_foreign(ADDRESS, &format!("{}\n", user("b", Some("a"), "theirs")));
    assert_eq!((notices.load(Ordering::SeqCst), session.refresh().unwrap().unwrap().entry_ids), (1, vec![id("b")]));
    let place = Place::file(format!("{HEADER}\n").as_bytes());
    assert!(!place.open().unwrap().notify_changes(Box::new(|| ())), "files have to be asked");
}

#[test]
fn a_slow_log_is_never_settled_and_is_not_asked() {
    let (_, network, store) = quiet();
    let mut session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
    let (before, _) = network.calls();
    assert!(!session.is_settled());
    assert_eq!(network.calls().0, before);
    assert!(Place::memory(file(&[]).as_bytes()).open().unwrap().is_settled());
}

#[test]
fn a_large_session_is_opened_by_few_calls() {
    let (server, network, store) = quiet();
    let lines: Vec<String> = (0..40_000)
        .map(|number: u32| {
            let parent = number.checked_sub(1).map(|parent| format!("{parent:08x}"));
            user(&format!("{number:08x}"), parent.as_deref(), "lorem ipsum dolor sit amet")
        })
        .collect();
    server.put(ADDRESS, file(&lines.iter().map(String::as_str).collect::<Vec<_>>()).as_bytes());
    let (before, _) = network.calls();
    let mut session = store.open(&Locator::from(ADDRESS), &OpenOptions::default()).unwrap();
    say(&mut session, "on");
    let (opened, _) = network.calls();
    assert!(opened - before <= 8, "{} calls to open {} bytes and append", opened - before, server.bytes(ADDRESS).len());
    assert_eq!(session.entries(None, None).unwrap().len(), 40_001);
    let (read, _) = network.calls();
    let bytes = server.bytes(ADDRESS).len();
    assert!(read - opened <= 4 * (bytes >> 17), "{} calls to read {bytes} bytes", read - opened);
}
