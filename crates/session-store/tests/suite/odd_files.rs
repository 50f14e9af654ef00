//! Files that lie where ours would, and that are none of ours.

use std::fs;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::common::{HEADER, Place, file, path_of, say, user};
use session_store::StoreError;

/// How long opening a session may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn place() -> Place {
    Place::file(file(&[&user("a", None, "1")]).as_bytes())
}

fn holder_path(place: &Place) -> PathBuf {
    place.path().with_file_name("s.jsonl.lock")
}

/// Opens, writes, is refused the lock and closes, while `make` has put something at the name of the
/// holder's file. Gives the place back, to look at what became of it.
fn exercise(make: impl FnOnce(&Place)) -> Place {
    let place = place();
    make(&place);
    let (sender, done) = mpsc::channel();
    let worker = thread::spawn(move || {
        let mut session = place.open().unwrap();
        say(&mut session, "2");
        let error = place.open().unwrap_err();
        assert!(matches!(error, StoreError::Locked { pid: None, host: None, .. }), "{error:?}");
        session.close().unwrap();
        drop(session);
        let session = place.open().unwrap();
        assert_eq!(session.branch_ids(session.leaf_id()).unwrap().len(), 2, "{}", path_of(&session));
        drop(session);
        let _ = sender.send(());
        place
    });
    let ended = done.recv_timeout(PATIENCE);
    assert!(ended != Err(mpsc::RecvTimeoutError::Timeout), "opening waits");
    worker.join().unwrap()
}

#[track_caller]
fn check_untouched(text: &[u8], make: impl FnOnce(&Place, &Path)) {
    let elsewhere = tempfile::tempdir().unwrap();
    let target = elsewhere.path().join("theirs");
    fs::write(&target, text).unwrap();
    let place = exercise(|place| make(place, &target));
    assert!(fs::read(&target).unwrap() == text, "the file is as it was");
    assert!(fs::symlink_metadata(holder_path(&place)).is_ok(), "so is its other name");
}

#[test]
fn links_at_the_holders_name_are_not_followed() {
    let session = file(&[&user("a", None, "1")]);
    for text in ["my thesis", "", &session, "{\"pid\":1,\"host\":\"gone\"}\n"] {
        check_untouched(text.as_bytes(), |place, target| symlink(target, holder_path(place)).unwrap());
        check_untouched(text.as_bytes(), |place, target| fs::hard_link(target, holder_path(place)).unwrap());
    }
    let place = exercise(|place| symlink(place.path(), holder_path(place)).unwrap());
    assert!(place.text().starts_with(HEADER), "the session does not lead to itself");
    let place = exercise(|place| symlink(place.path().with_file_name("none"), holder_path(place)).unwrap());
    assert!(!place.path().with_file_name("none").exists(), "nothing is made where a link leads");
}

#[test]
fn files_of_others_at_the_holders_name_stay() {
    let session = file(&[&user("b", None, "theirs")]);
    let almost =
        ["{\"pid\":1}\n", "{\"pid\":1,\"host\":\"h\",\"x\":1}\n", "[1,\"h\"]\n", "{\"pid\":1,\"host\":\"h\"}\n\n"];
    for text in ["my thesis", "", &session].into_iter().chain(almost) {
        let place = exercise(|place| fs::write(holder_path(place), text).unwrap());
        assert_eq!(fs::read_to_string(holder_path(&place)).unwrap(), text);
    }
    let large = exercise(|place| fs::File::create(holder_path(place)).unwrap().set_len(1 << 40).unwrap());
    assert_eq!(fs::metadata(holder_path(&large)).unwrap().len(), 1 << 40);
}

#[test]
fn a_pipe_at_the_holders_name_keeps_nobody_waiting() {
    let make = |place: &Place| {
        assert!(Command::new("mkfifo").arg(holder_path(place)).status().unwrap().success());
    };
    let place = exercise(make);
    assert!(fs::symlink_metadata(holder_path(&place)).unwrap().file_type().is_fifo());
}

#[test]
fn what_takes_the_place_of_a_holders_file_stays() {
    let place = place();
    let mut session = place.open().unwrap();
    fs::write(holder_path(&place), "my thesis").unwrap();
    session.close().unwrap();
    assert_eq!(fs::read_to_string(holder_path(&place)).unwrap(), "my thesis");
}

#[test]
fn the_file_of_a_holder_that_was_killed_is_taken_over() {
    let place = place();
    fs::write(holder_path(&place), format!("{{\"pid\":1,\"host\":\"{}\"}}\n", "gone".repeat(20))).unwrap();
    let mut session = place.open().unwrap();
    let error = place.open().unwrap_err();
    assert!(matches!(error, StoreError::Locked { pid: Some(pid), .. } if pid == std::process::id()), "{error:?}");
    session.close().unwrap();
    assert!(!holder_path(&place).exists());
}
