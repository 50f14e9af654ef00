//! Whole sessions through JSON-RPC libraries of others; see `tests/habits`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use compactd_tests::binary::binary;

/// Longer than any session takes, on a busy machine too, and than an installation.
const BOUND: Duration = Duration::from_secs(240);

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("habits")
}

/// Runs a program to its end within the bound; its output, or why there is none.
fn run(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = tempfile::NamedTempFile::new().expect("there is room for a temporary file");
    let writer = || Stdio::from(std::fs::File::options().append(true).open(output.path()).expect("it was just made"));
    let mut command = Command::new(program);
    command.args(arguments).current_dir(directory()).stdin(Stdio::null()).stdout(writer()).stderr(writer());
    command.env("COMPACTD_BIN", binary().expect("the server is built")).env("PYTHONDONTWRITEBYTECODE", "1");
    let mut child = command.spawn().map_err(|error| format!("{program:?}: {error}"))?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            break status;
        }
        if started.elapsed() > BOUND {
            child.kill().and_then(|()| child.wait()).expect("a child can be killed");
            return Err(format!("{program:?} {arguments:?} did not end"));
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = String::from_utf8_lossy(&std::fs::read(output.path()).expect("the file is there")).into_owned();
    if status.success() { Ok(text) } else { Err(format!("{program:?} {arguments:?} ended with {status}:\n{text}")) }
}

/// What a session needs. Where it cannot be installed, the test is skipped and says so, but not in CI.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must hear that one did not run")]
fn installed<T>(made: &Result<T, String>) -> Option<&T> {
    if let Err(why) = made {
        assert!(std::env::var_os("CI").is_none(), "CI needs it: {why}");
        eprintln!("skipped: {why}");
    }
    made.as_ref().ok()
}

/// The Python with the libraries, in a virtual environment of the target directory.
fn python() -> &'static Result<PathBuf, String> {
    static PYTHON: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("habits-venv");
        let python = home.join("bin/python");
        if run(&python, &["-c", "import pygls.client, pylsp_jsonrpc.endpoint"]).is_err() {
            let home = home.to_str().ok_or("the target directory has a name of Unicode")?;
            run(Path::new("python3"), &["-m", "venv", home])?;
            run(&python, &["-m", "pip", "install", "--quiet", "-r", "requirements.txt"])?;
        }
        Ok(python)
    })
}

fn node() -> Result<PathBuf, String> {
    if !directory().join("node_modules/vscode-jsonrpc").exists() {
        run(Path::new("npm"), &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])?;
    }
    Ok(PathBuf::from("node"))
}

/// Plays a session, which says `ok` at its end.
#[track_caller]
fn check(program: &Path, script: &str) {
    let output = run(program, &[script]).unwrap_or_else(|why| panic!("{why}"));
    assert!(output.trim_end().ends_with("ok"), "{output}");
}

#[test]
fn vscode_jsonrpc() {
    if let Some(node) = installed(&node()) {
        check(node, "vscode_jsonrpc.mjs");
    }
}

#[test]
fn python_lsp_jsonrpc() {
    if let Some(python) = installed(python()) {
        check(python, "lsp_jsonrpc.py");
    }
}

#[test]
fn pygls() {
    if let Some(python) = installed(python()) {
        check(python, "pygls_client.py");
    }
}
