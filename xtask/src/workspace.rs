//! The workspace: where it lies, and cargo within it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::compiler::lint_while_building;
use crate::steps::say;

/// Name of the program.
const PROGRAM: &str = "compactd";

/// The directory of the workspace.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(|| manifest.to_owned(), Path::to_owned)
}

/// A cargo command in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    // A failure of a program of ours is told in a line. Panics still show where they were.
    command.env("RUST_LIB_BACKTRACE", "0");
    remove_own_package(&mut command);
    command
}

/// Removes what `cargo run` says of this program from the environment of `command`. Build scripts that watch these
/// variables would run again there, and much would be compiled again after them.
pub(crate) fn remove_own_package(command: &mut Command) {
    for name in std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()) {
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
}

/// Runs a command whose output goes where ours goes.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("failed to start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

/// Runs a command that downloads something. If it fails, it is run again after a pause, three times in all.
///
/// # Errors
/// With the command and what it printed, when it cannot be started or fails each time.
pub(crate) fn download(command: &mut Command) -> anyhow::Result<()> {
    let mut tries = 1;
    loop {
        match output(command) {
            Ok(_) => return Ok(()),
            Err(error) if tries == 3 => return Err(error),
            Err(error) => say(&format!("try {tries} of 3: {error:#}")),
        }
        tries += 1;
        std::thread::sleep(Duration::from_secs(5));
    }
}

/// What a command prints.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        bail!("{command:?} ended with {}: {}", output.status, printed.concat());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The crate that has the program `compactd`.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Name of the package.
    pub(crate) package: String,
    /// Its `Cargo.toml`.
    pub(crate) manifest: PathBuf,
    /// Its version.
    pub(crate) version: String,
    /// Where Cargo builds.
    pub(crate) target_directory: PathBuf,
}

/// Finds the crate that has the program, wherever it lies in the workspace.
///
/// # Errors
/// When cargo cannot describe the workspace, or no crate has the program.
pub(crate) fn server() -> anyhow::Result<Server> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists packages")?;
    let is_program = |target: &Value| target["name"] == PROGRAM && target["kind"][0] == "bin";
    let has_program = |package: &&Value| package["targets"].as_array().is_some_and(|all| all.iter().any(is_program));
    let package = packages.iter().find(has_program).context("no package has the program compactd")?;
    let text = |value: &Value| value.as_str().map(str::to_owned).context("cargo metadata tells texts");
    Ok(Server {
        package: text(&package["name"])?,
        manifest: text(&package["manifest_path"])?.into(),
        version: text(&package["version"])?,
        target_directory: text(&metadata["target_directory"])?.into(),
    })
}

/// Builds the server in `profile` (`dev` or `release`) and returns the path of the program.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn build_server(profile: &str) -> anyhow::Result<PathBuf> {
    let Server { package, target_directory, .. } = server()?;
    if profile == "dev" {
        // As the tests build it, so that nothing is compiled twice. Cargo shares that for the whole workspace alone.
        let mut build = cargo(&["build", "--workspace", "--locked"]);
        lint_while_building(&mut build)?;
        run(&mut build)?;
    } else {
        run(&mut cargo(&["build", "--package", &package, "--bin", PROGRAM, "--profile", profile]))?;
    }
    let directory = if profile == "dev" { "debug" } else { profile };
    let binary = target_directory.join(directory).join(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX));
    if binary.is_file() { Ok(binary) } else { bail!("failed to find {} after building it", binary.display()) }
}

/// Installs the packages of a directory with a `package-lock.json`, unless they are there as it says.
///
/// # Errors
/// When npm fails.
pub(crate) fn npm_ci(directory: &Path) -> anyhow::Result<()> {
    let changed = |path: &str| directory.join(path).metadata().and_then(|file| file.modified()).ok();
    let installed = changed("node_modules/.package-lock.json");
    if installed.is_some() && changed("package-lock.json") <= installed {
        return Ok(());
    }
    download(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(directory))
}
