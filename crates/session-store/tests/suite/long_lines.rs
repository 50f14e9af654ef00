//! Lines that are longer than lines may be, and more oddities than are reported.

use crate::common::{HEADER, Place, file, id, oddities, say, user};
use session_store::{DiagnosticKind, NewEntry, Parent, Session, SessionOptions, StoreError};

const MAX_LINE: usize = 300;

fn open(place: &Place) -> Session {
    place.open_with(SessionOptions { max_line_bytes: MAX_LINE, ..SessionOptions::default() }).unwrap()
}

#[test]
fn a_long_line_keeps_its_place_and_nothing_of_its_body() {
    let long = user("b", Some("a"), &"x".repeat(MAX_LINE));
    let text = file(&[&user("a", None, "1"), &long, &user("c", Some("b"), "3")]);
    for place in Place::all(text.as_bytes()) {
        let session = open(&place);
        assert_eq!(session.branch_ids(session.leaf_id()).unwrap(), [id("a"), id("b"), id("c")]);
        assert_eq!(oddities(&session), [(DiagnosticKind::BrokenLine, Some(3))]);
        let message = &session.diagnostics()[0].message;
        assert!(message.contains(&long.len().to_string()) && message.contains("300"), "{message}");
        let error = session.entry(&id("b")).unwrap_err();
        assert!(matches!(error, StoreError::BrokenEntry { line: 3, .. }), "{error:?}");
        assert_eq!(session.check().unwrap(), session.diagnostics());
        assert_eq!(session.context(session.leaf_id()).unwrap().diagnostics.len(), 1);
    }
}

#[test]
fn what_would_be_too_long_is_not_appended() {
    for place in Place::all(file(&[&user("a", None, "1")]).as_bytes()) {
        let mut session = open(&place);
        let before = place.bytes();
        let members = format!(r#"{{"message":{{"role":"user","content":"{}"}}}}"#, "x".repeat(MAX_LINE));
        let error = session.append(NewEntry::new("message", &members), Parent::Leaf).unwrap_err();
        assert!(matches!(&error, StoreError::InvalidEntry { reason } if reason.contains("300")), "{error:?}");
        assert_eq!(place.bytes(), before);
        say(&mut session, "short");
    }
}

#[test]
fn a_migration_keeps_a_long_line_byte_for_byte() {
    let long = [user("b", Some("a"), &"x".repeat(MAX_LINE)).as_bytes(), b"\xff"].concat();
    let header = HEADER.replace("\"version\":3", "\"version\":2");
    let (first, last) = (user("a", None, "1"), user("c", Some("b"), "3"));
    let text = [header.as_bytes(), first.as_bytes(), &long, last.as_bytes()];
    for place in Place::all(&[&text.join(&b'\n')[..], b"\n"].concat()) {
        let mut session = open(&place);
        say(&mut session, "4");
        let bytes = place.bytes();
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        assert_eq!((lines.len(), lines[2]), (6, &long[..]));
        assert!(lines[0].windows(11).any(|part| part == b"\"version\":3"), "the rest is of the current version");
        assert_eq!(open(&Place::memory(&bytes)).entry_count(), Some(4));
    }
}

#[test]
fn of_many_diagnostics_the_first_are_listed_and_the_rest_counted() {
    let text = format!("{}{}{}\n", file(&[]), "x\n".repeat(2500), user("a", None, "1"));
    for place in Place::all(text.as_bytes()) {
        let session = open(&place);
        let check = |found: &[session_store::Diagnostic]| {
            assert_eq!(found.len(), 1001);
            let rest: Vec<_> = found.iter().filter(|listed| listed.line.is_none()).collect();
            assert_eq!(rest.len(), 1);
            assert_eq!(rest[0].message, "1500 more of this kind are not listed");
        };
        check(session.diagnostics());
        check(&session.check().unwrap());
    }
}

#[test]
fn threads_that_meet_long_lines_do_not_wait_for_each_other() {
    // Two threads read such a file. Each meets a line for which its buffer grows to the size of a segment. The first
    // one reads its lines slowly, and the second has more lines before than are taken until the first one is done.
    let sizes = [471_859, 629_145, 1_520_435, 2_726_297, 5_872_025, 10_909_287];
    let lines = |prefix: &str, units: [&str; 2]| {
        let line = |(number, size): (usize, &usize)| {
            let unit = units[usize::from(number > 3)];
            let line = user(&format!("{prefix}{number}"), None, "@");
            let line = line.replace('@', &unit.repeat((size - line.len()) / unit.len()));
            let padding = " ".repeat(size - 1 - line.len());
            line + &padding
        };
        sizes.iter().enumerate().map(line).collect::<Vec<_>>().join("\n")
    };
    let (slow, fast) = (lines("slow", ["\\u0000", "x"]), lines("fast", ["x", "x"]));
    let last = user("last", None, &"x".repeat(200));
    let text = format!("{HEADER}\n{slow}{}{fast}\n{last}\n", "\n".repeat(66_555));
    let place = Place::file(text.as_bytes());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let session = place.open_with(SessionOptions { whole_bytes: 0, ..SessionOptions::default() }).unwrap();
        sender.send(session.tree().unwrap().len()).unwrap();
    });
    let entries = receiver.recv_timeout(std::time::Duration::from_secs(60)).expect("the file is read to its end");
    assert_eq!(entries, 13);
}
