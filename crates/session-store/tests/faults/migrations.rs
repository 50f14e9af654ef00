//! Programs that write to a session while it is rewritten in the current version.

use std::collections::HashSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use session_store::{
    CreateOptions, DiagnosticKind, Durability, FileStore, Locator, NewEntry, OpenOptions, Parent, Session, SessionStore,
};

/// Set for the process that is traced: the directory that it works in.
const DIRECTORY: &str = "COMPACTD_TEST_MIGRATIONS";
const HEADER: &str = r#"{"type":"session","id":"old","timestamp":"T","cwd":"/"}"#;
const RENAMES: &str = "rename,renameat,renameat2";

fn old_message(text: &str) -> String {
    format!("{{\"type\":\"message\",\"timestamp\":\"T\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n")
}

fn write_old_session(path: &Path) {
    fs::write(path, format!("{HEADER}\n{}{}", old_message("one"), old_message("two"))).unwrap();
}

fn open(path: &Path) -> Session {
    FileStore::new("/nonexistent", Durability::Checkpoint).open(&Locator::from(&path), &OpenOptions::default()).unwrap()
}

/// Starts this test again in a process whose calls are injected; `None` where nothing can be traced.
fn start(test: &str, directory: &Path, injected: &[&str]) -> Option<Child> {
    if !Command::new("strace").args(["-qq", "true"]).output().is_ok_and(|output| output.status.success()) {
        let _nobody_to_tell = writeln!(std::io::stderr(), "skipped: there is no strace that may trace");
        return None;
    }
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "signal=none"]);
    command.args(["-e", &format!("trace=flock,fsync,fdatasync,{RENAMES}")]);
    for injected in injected {
        command.args(["-e", &format!("inject={injected}")]);
    }
    command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
    // Its results are not results of this run; its failures are still reported.
    Some(command.env(DIRECTORY, directory).stdout(Stdio::null()).spawn().unwrap())
}

#[test]
fn two_servers_without_locks_lose_nothing_when_both_rewrite() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        make_without_locks(Path::new(&directory));
        return (0..12).for_each(|number| rewrite_twice(&Path::new(&directory).join(format!("{number}.jsonl"))));
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "migrations::two_servers_without_locks_lose_nothing_when_both_rewrite";
    let slow = format!("{RENAMES}:delay_enter=20000");
    if let Some(mut child) = start(test, directory.path(), &["flock:error=ENOLCK", &slow]) {
        assert!(child.wait().unwrap().success());
        let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let odd: Vec<_> = names.filter(|name| !name.to_string_lossy().contains(".jsonl")).collect();
        assert!(odd.is_empty(), "{odd:?}");
    }
}

/// What is made where there are no locks says so.
fn make_without_locks(directory: &Path) {
    let store = FileStore::new(directory, Durability::None);
    let made = store.create(&CreateOptions {
        locator: Some(Locator::from(&directory.join("made.jsonl"))),
        ..CreateOptions::default()
    });
    let made = made.unwrap();
    for session in [&store.fork(&made, None).unwrap(), &made] {
        let kinds: Vec<_> = session.diagnostics().iter().map(|diagnostic| diagnostic.kind).collect();
        assert_eq!(kinds, [DiagnosticKind::LockUnavailable], "{:?}", session.locator());
    }
}

fn rewrite_twice(path: &Path) {
    write_old_session(path);
    let (start, sessions) = (Barrier::new(2), [open(path), open(path)]);
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let writers = sessions.map(|mut session| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                let append = |_| session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap().entry;
                (0..3).map(append).map(|entry| entry.id().to_string()).collect::<Vec<_>>()
            })
        });
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let text = fs::read_to_string(path).unwrap();
    let named = |id: &String| text.matches(&format!("\"id\":\"{id}\"")).count();
    assert!(acknowledged.iter().all(|id| named(id) == 1), "{acknowledged:?} in {text}");
    assert_eq!((acknowledged.iter().collect::<HashSet<_>>().len(), text.lines().count()), (6, 9), "{text}");
    assert!(!path.with_extension("jsonl.rewriting").exists());
}

#[test]
fn without_durability_nothing_is_waited_for() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        return [Durability::None, Durability::Checkpoint].into_iter().for_each(|durability| {
            let store = FileStore::new(&directory, durability);
            let path = Path::new(&directory).join(format!("{durability:?}.jsonl"));
            let made = store.create(&CreateOptions { locator: Some(Locator::from(&path)), ..CreateOptions::default() });
            let mut fork = made.and_then(|made| store.fork(&made, None)).unwrap();
            fork.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap();
            fork.close().unwrap();
        });
    }
    let directory = tempfile::tempdir().unwrap();
    let test = "migrations::without_durability_nothing_is_waited_for";
    // The first call that waits fails: with `Checkpoint` that is the next one.
    let Some(mut child) = start(test, directory.path(), &["fsync,fdatasync:error=EIO"]) else { return };
    assert!(!child.wait().unwrap().success());
    let names = fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name());
    let sessions = names.filter(|name| name.to_string_lossy().ends_with(".jsonl")).count();
    assert_eq!(sessions, 2, "what waits is not made");
}

#[test]
fn a_line_that_is_written_right_before_the_rename_is_taken_along() {
    if let Ok(directory) = std::env::var(DIRECTORY) {
        return rewrite_slowly(&Path::new(&directory).join("s.jsonl"));
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s.jsonl");
    write_old_session(&path);
    let test = "migrations::a_line_that_is_written_right_before_the_rename_is_taken_along";
    let Some(mut child) = start(test, directory.path(), &[&format!("{RENAMES}:delay_enter=2000000")]) else { return };
    let (backup, started) = (directory.path().join("s.jsonl.v1.bak"), Instant::now());
    while !backup.exists() && started.elapsed() < Duration::from_secs(60) {
        std::thread::sleep(Duration::from_millis(5));
    }
    // The rename is on its way and is held up; it takes nothing of this into account.
    std::thread::sleep(Duration::from_millis(300));
    let mut file = fs::File::options().append(true).open(&path).unwrap();
    file.write_all(format!("{}torn", old_message("theirs")).as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(backup).unwrap().contains("theirs"), "it was written before the rename");
}

fn rewrite_slowly(path: &Path) {
    let mut session = open(path);
    let appended = session.append(NewEntry::new("custom", "{}"), Parent::Leaf).unwrap();
    let foreign = appended.foreign.expect("what another program wrote is reported");
    assert_eq!(foreign.entry_ids.len(), 1);
    assert_eq!(appended.entry.header().parent_id.as_ref(), Some(&foreign.entry_ids[0]));
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains("theirs") && text.contains("\ntorn\n"), "{text}");
    drop(session);
    let session = open(path);
    let ids = session.branch_ids(session.leaf_id()).unwrap();
    assert_eq!((ids.len(), &ids[2]), (4, &foreign.entry_ids[0]));
}
