//! Runs the program in a sandbox, and masks what differs from run to run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tempfile::TempDir;

/// The sample session, as it is shipped.
pub(crate) const SAMPLE: &[u8] = include_bytes!("../../demo/session.jsonl");
/// No command takes this long, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A temporary directory that is the working, home and temporary directory of its commands.
pub(crate) struct Sandbox {
    directory: TempDir,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { directory: TempDir::new().expect("a temporary directory") }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into it.
    pub(crate) fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, content).expect("the file can be written");
        path
    }

    /// The program with these arguments, without the environment of this test.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_compactd"));
        command.args(arguments).env_clear().current_dir(self.path());
        command.env("HOME", self.path()).env("TMPDIR", self.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end, or kills it when it takes too long.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.command(arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
        let pid = child.id();
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(child.wait_with_output()));
        match ended.recv_timeout(DEADLINE) {
            Ok(output) => Finished::new(&output.expect("the output can be read")),
            Err(_) => panic!("{arguments:?} (process {pid}) did not end"),
        }
    }

    /// A directory with the sample and a summarizer that takes a minute and says that it runs by making a file with the id
    /// of its process.
    pub(crate) fn with_a_slow_summarizer() -> Self {
        let sandbox = Self::new();
        sandbox.file("work.jsonl", SAMPLE);
        std::fs::create_dir_all(sandbox.path().join(".pi/agent")).expect("directories can be made");
        let script = format!("echo $$ > '{}'; exec sleep 60", sandbox.path().join("running").display());
        let settings = json!({ "compactd": {
            "summarizer": "command", "summarizers": { "command": { "command": ["/bin/sh", "-c", script] } },
        } });
        sandbox.file(".pi/agent/settings.json", settings.to_string().as_bytes());
        sandbox
    }

    /// Checks that no lock is left beside the sample, and that it is unchanged.
    pub(crate) fn check_that_the_session_is_free(&self) {
        wait_for("the lock to go", || self.names().iter().all(|name| !name.contains("lock")).then_some(()));
        assert_eq!(std::fs::read(self.path().join("work.jsonl")).expect("readable"), SAMPLE);
    }

    /// The names of its files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path()).expect("the directory can be read");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<String> = entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Finished {
    pub(crate) fn new(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is UTF-8");
        Self { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }

    /// The output of a command that must have worked, with nothing on standard error.
    #[track_caller]
    pub(crate) fn ok(self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (Some(0), ""), "{}", self.stdout);
        self.stdout
    }

    /// The standard error of a command that must have failed, with no output.
    #[track_caller]
    pub(crate) fn failed(self, code: i32) -> String {
        assert_eq!((self.code, self.stdout.as_str()), (Some(code), ""), "{}", self.stderr);
        self.stderr
    }
}

/// Waits until something is there.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "{what}: nothing within {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Replaces what differs from run to run: entry ids by ID, times by TIME, the path of the sandbox by SANDBOX.
pub(crate) fn masked(text: &str, sandbox: &Sandbox) -> String {
    let text = text.replace(&sandbox.path().display().to_string(), "SANDBOX");
    let mut masked = String::new();
    let mut words = text.split_inclusive([' ', '\n']).peekable();
    while let Some(word) = words.next() {
        let unit = words.peek().map(|next| next.trim_end());
        let is_time = word.trim_end().parse::<f64>().is_ok() && matches!(unit, Some("ms" | "s"));
        if is_time {
            let unit = words.next().unwrap_or_default();
            masked += &format!("TIME{}", &unit[unit.trim_end().len()..]);
        } else {
            masked += &masked_word(word);
        }
    }
    masked
}

fn masked_word(word: &str) -> String {
    let bare = word.trim_end().trim_end_matches([',', ':', ')']);
    let is_id = bare.len() == 8 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { word.replacen(bare, "ID", 1) } else { word.to_owned() }
}
