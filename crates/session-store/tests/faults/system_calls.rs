//! System calls that fail, one after the other: `strace` makes the k-th call of a kind fail in a process
//! of its own. What was acknowledged stays, nothing half-written shows, memory agrees with the file.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use session_store::{
    CreateOptions, Durability, FileStore, Locator, NewEntry, OpenOptions, Parent, Session, SessionStore, StoreError,
};

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"T","cwd":"/"}"#;

/// Set for the process whose calls fail: what it does, and the directory that it does it in.
const WORK: &str = "COMPACTD_TEST_FAULTS";
/// A call of one kind is made to fail this often at most; there are fewer of each.
const MOST_CALLS: usize = 40;

/// Calls that fail, how, and whether only on the session file itself: others make them as well.
const FAULTS: [(&str, &str, bool); 9] = [
    ("fsync,fdatasync", "EIO", false),
    ("rename,renameat,renameat2", "EIO", false),
    ("link,linkat", "EIO", false),
    ("unlink,unlinkat", "EIO", false),
    ("ftruncate", "EIO", false),
    ("flock", "ENOLCK", false),
    ("write", "ENOSPC", true),
    ("pread64", "EIO", true),
    ("statx,newfstatat,fstat", "EIO", true),
];

#[test]
fn no_system_call_that_fails_loses_or_tears_anything() {
    if let Ok(work) = std::env::var(WORK) {
        let (work, directory) = work.split_once(' ').unwrap();
        return act(work, Path::new(directory));
    }
    if Command::new("strace").args(["-qq", "true"]).output().is_ok_and(|output| output.status.success()) {
        let work = ["append", "create", "fork", "migrate"];
        let failed = work.map(|work| FAULTS.iter().map(|fault| check(work, *fault)).sum::<usize>());
        assert!(failed.iter().all(|failed| *failed >= 5), "calls that failed: {failed:?}");
    } else {
        let _nobody_to_tell = writeln!(std::io::stderr(), "skipped: there is no strace that may trace");
    }
}

/// Does `work` again and again, each time with a later call failing, until none fails; how many did.
fn check(work: &str, (calls, error, is_of_file): (&str, &str, bool)) -> usize {
    for number in 1..=MOST_CALLS {
        let directory = tempfile::tempdir().unwrap();
        let directory = directory.path().canonicalize().unwrap();
        let before = prepare(work, &directory);
        let log = directory.join("strace.log");
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(&log).args(["-e", "signal=none", "-e", &format!("trace={calls}")]);
        command.args(["-e", &format!("inject={calls}:error={error}:when={number}")]);
        if is_of_file {
            command.arg("-P").arg(session_file(&directory));
        }
        command.arg(std::env::current_exe().unwrap());
        command.args(["--exact", "system_calls::no_system_call_that_fails_loses_or_tears_anything", "--nocapture"]);
        let output = command.env(WORK, format!("{work} {}", directory.display())).output().unwrap();
        let said = format!("{work}, {calls} {number}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{said}");
        assert_nothing_lost(&directory, before, &said);
        if !fs::read_to_string(&log).unwrap().contains("(INJECTED)") {
            return number - 1;
        }
    }
    panic!("{work} makes more than {MOST_CALLS} calls of {calls}");
}

fn session_file(directory: &Path) -> PathBuf {
    directory.join("s.jsonl")
}

/// Entries that are there before.
fn prepare(work: &str, directory: &Path) -> usize {
    let message = r#"{"type":"message","timestamp":"T","message":{"role":"user","content":"old"}}"#;
    let text = match work {
        "create" => return 0,
        "migrate" => format!("{}\n{message}\n{message}\n", r#"{"type":"session","id":"s","timestamp":"T","cwd":"/"}"#),
        _ => format!("{HEADER}\n{}\n{}\n", user("a", "null"), user("b", "\"a\"")),
    };
    fs::write(session_file(directory), text).unwrap();
    2
}

fn user(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"T","message":{{"role":"user","content":"x"}}}}"#
    )
}

/// The work of the process whose calls fail. It may be refused, but must know what became of it.
fn act(work: &str, directory: &Path) {
    let store = FileStore::new(directory, Durability::Always);
    let path = session_file(directory);
    let session = match work {
        "create" => store.create(&CreateOptions { locator: Some(Locator::from(&path)), ..CreateOptions::default() }),
        "fork" => store.open(&Locator::from(&path), &OpenOptions::default()).and_then(|source| {
            let leaf = source.leaf_id().cloned();
            let fork = store.fork(&source, leaf.as_ref());
            let is_alone = sessions(directory).len() == 1;
            assert!(fork.is_ok() || is_alone, "a fork that failed is not there: {fork:?}");
            fork
        }),
        _ => store.open(&Locator::from(&path), &OpenOptions::default()),
    };
    if work == "create" {
        assert_eq!(session.is_ok(), !sessions(directory).is_empty(), "{session:?}");
    }
    if let Ok(mut session) = session {
        let acknowledged = append_thrice(&mut session);
        fs::write(directory.join("acknowledged"), acknowledged.join("\n")).unwrap();
        assert_agrees(&session);
    }
}

fn append_thrice(session: &mut Session) -> Vec<String> {
    let appended = |number: usize| {
        let members = format!(r#"{{"message":{{"role":"user","content":"new {number}"}}}}"#);
        match session.append(NewEntry::new("message", &members), Parent::Leaf) {
            Ok(appended) => Some(appended.entry.id().to_string()),
            Err(StoreError::WriteFailed { .. } | StoreError::Io { .. } | StoreError::SessionNotFound { .. }) => None,
            Err(StoreError::ReadOnly { .. }) => None,
            Err(error) => panic!("{error:?}"),
        }
    };
    (0..3).filter_map(appended).collect()
}

/// What the session holds is what a new reader finds in its file.
fn assert_agrees(session: &Session) {
    let read = reader(session.locator().unwrap().as_path());
    let ids = |session: &Session| session.branch_ids(session.leaf_id()).unwrap();
    assert_eq!(ids(session), ids(&read));
    assert_eq!(session.entry_count(), read.entry_count());
}

fn reader(path: &Path) -> Session {
    let options = OpenOptions { read_only: true, ..OpenOptions::default() };
    let open = || FileStore::new("/nonexistent", Durability::None).open(&Locator::from(&path), &options);
    // The one call that fails may be the reader's.
    open().or_else(|_| open()).unwrap()
}

fn sessions(directory: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

fn assert_nothing_lost(directory: &Path, before: usize, said: &str) {
    let acknowledged = fs::read_to_string(directory.join("acknowledged")).unwrap_or_default();
    let acknowledged: Vec<&str> = acknowledged.lines().collect();
    let mut holders = 0;
    for path in sessions(directory) {
        let session = reader(&path);
        assert_eq!(session.diagnostics(), &[][..], "{said}: {}", path.display());
        let ids = session.branch_ids(session.leaf_id()).unwrap();
        let found = acknowledged.iter().filter(|id| ids.iter().any(|known| known.as_str() == **id)).count();
        holders += usize::from(found == acknowledged.len());
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(HEADER.get(..18).unwrap()) && text.ends_with('\n'), "{said}: {text}");
        assert!(ids.len() >= before, "{said}: {text}");
    }
    assert!(acknowledged.is_empty() || holders > 0, "{said}: {acknowledged:?} are gone");
}
