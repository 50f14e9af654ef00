//! Programs of other languages that tests run: bounded, with their packages, and with the server at hand.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Context as _;

use crate::binary::binary;

/// Longest run of any program, a build or an installation on a busy machine included.
const BOUND: Duration = Duration::from_secs(300);

/// A command in `directory`, with the built server in its environment.
///
/// # Errors
/// When the server is not built.
pub fn command(directory: &Path, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> anyhow::Result<Command> {
    let mut command = Command::new(program);
    command.current_dir(directory).args(arguments);
    command.env("COMPACTD_BIN", binary()?).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// Runs a command and gives all that it printed.
///
/// # Errors
/// When it does not start, fails, or takes longer than five minutes; with what it printed.
pub fn run(mut command: Command) -> anyhow::Result<String> {
    let output = tempfile::NamedTempFile::new()?;
    // A file, not a pipe: nobody has to read it while the program runs.
    let writer = || -> anyhow::Result<Stdio> { Ok(File::options().append(true).open(output.path())?.into()) };
    let child = command.stdin(Stdio::null()).stdout(writer()?).stderr(writer()?).spawn();
    let status = wait(child.with_context(|| format!("failed to start {command:?}"))?)?;
    let text = String::from_utf8_lossy(&std::fs::read(output.path())?).into_owned();
    anyhow::ensure!(status.is_some_and(|status| status.success()), "{command:?} ended with {status:?}:\n{text}");
    Ok(text)
}

/// The status; none if it had to be killed.
fn wait(mut child: std::process::Child) -> anyhow::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > BOUND {
            child.kill().and_then(|()| child.wait())?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a test needs. Where it is missing, the test is skipped and says so, but not in CI.
///
/// # Panics
/// In CI, if it is missing.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must hear that one did not run")]
pub fn available<T>(found: anyhow::Result<T>) -> Option<T> {
    match found {
        Ok(found) => Some(found),
        Err(why) => {
            assert!(std::env::var_os("CI").is_none(), "CI needs it: {why:#}");
            eprintln!("skipped: {why:#}");
            None
        }
    }
}

/// Sees that a program can be run.
///
/// # Errors
/// When it cannot.
pub fn find(program: &str) -> anyhow::Result<()> {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    anyhow::ensure!(found, "there is no {program}");
    Ok(())
}

/// Installs what the `package-lock.json` of a directory names, unless it is there.
///
/// # Errors
/// When npm cannot.
pub fn install_npm(directory: &Path) -> anyhow::Result<()> {
    let changed = |path: &str| directory.join(path).metadata().and_then(|file| file.modified());
    let installed = changed("node_modules/.package-lock.json").unwrap_or(SystemTime::UNIX_EPOCH);
    if changed("package-lock.json").is_ok_and(|wanted| wanted <= installed) {
        return Ok(());
    }
    run(command(directory, "npm", &["ci", "--no-audit", "--no-fund", "--ignore-scripts"])?).map(drop)
}

/// The Python of a virtual environment in `environment` that has what the `requirements.txt` of a directory names.
///
/// # Errors
/// When pip cannot install it.
pub fn install_python(directory: &Path, environment: &Path) -> anyhow::Result<PathBuf> {
    let (python, marker) = (environment.join("bin/python"), environment.join("installed.txt"));
    let packages = std::fs::read_to_string(directory.join("requirements.txt"))?;
    // An environment does not survive the Python that made it.
    let wanted = format!("{packages}{}", run(command(directory, "python3", &["--version"])?)?);
    if !python.exists() || std::fs::read_to_string(&marker).ok().as_ref() != Some(&wanted) {
        let environment = environment.to_str().context("the target directory has a name of Unicode")?;
        run(command(directory, "python3", &["-m", "venv", "--clear", environment])?)?;
        run(command(directory, &python, &["-m", "pip", "install", "--quiet", "-r", "requirements.txt"])?)?;
        std::fs::write(&marker, &wanted)?;
    }
    Ok(python)
}
