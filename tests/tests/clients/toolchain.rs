//! Runs the programs of other languages: bounded, with the output at hand.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime};

use compactd_tests::binary::binary;

/// Longest run of any of the programs, a build on a busy machine included.
const BOUND: Duration = Duration::from_secs(300);

/// The directory `name` of the clients.
pub(crate) fn client(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../clients").join(name)
}

/// Whether the program can be run. Where it cannot, the test is skipped and says so, but not in CI.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must hear that one did not run")]
pub(crate) fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || std::env::var_os("CI").is_none(), "CI needs {program}");
    if !found {
        eprintln!("skipped: there is no {program}");
    }
    found
}

/// A command in the directory of a client, with the built server in its environment.
pub(crate) fn command(directory: &Path, program: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    let server = binary().expect("the server is built");
    command.current_dir(directory).args(arguments).env("COMPACTD_BIN", server).env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

/// Installs and compiles the TypeScript client, once for all tests.
pub(crate) fn build_typescript() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let build = || {
        let directory = client("typescript");
        if !is_installed(&directory) {
            run(command(&directory, "npm", &["ci", "--no-audit", "--no-fund"]));
        }
        run(command(&directory, "npm", &["run", "build"]));
        directory
    };
    BUILT.get_or_init(build).clone()
}

/// Runs a command and gives what it printed.
///
/// # Panics
/// If it fails, or takes longer than the bound.
pub(crate) fn run(mut command: Command) -> String {
    let output = tempfile::NamedTempFile::new().expect("there is room for a temporary file");
    // A file, not a pipe: nobody has to read it while the program runs.
    let writer = || Stdio::from(File::options().append(true).open(output.path()).expect("the file was just made"));
    let child = command.stdin(Stdio::null()).stdout(writer()).stderr(writer()).spawn();
    let status = wait(child.unwrap_or_else(|error| panic!("{command:?} does not start: {error}")));
    let text = String::from_utf8_lossy(&std::fs::read(output.path()).expect("the file is there")).into_owned();
    assert!(status.is_some_and(|status| status.success()), "{command:?} ended with {status:?}:\n{text}");
    text
}

/// The status; none if it had to be killed.
fn wait(mut child: std::process::Child) -> Option<ExitStatus> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("a child can be waited for") {
            return Some(status);
        }
        if started.elapsed() > BOUND {
            child.kill().and_then(|()| child.wait()).expect("a child can be killed");
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether what npm installed last is what the lock file says now.
fn is_installed(directory: &Path) -> bool {
    let changed = |path: &str| directory.join(path).metadata().and_then(|file| file.modified());
    let installed = changed("node_modules/.package-lock.json").unwrap_or(SystemTime::UNIX_EPOCH);
    changed("package-lock.json").is_ok_and(|wanted| wanted <= installed)
}
