//! The workspace: where it lies, and cargo within it.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

/// The directory of the workspace.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().map_or_else(|| manifest.to_owned(), Path::to_owned)
}

/// A cargo command in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root());
    command
}

/// Runs a command whose output goes where ours goes.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("failed to start {command:?}"))?;
    if status.success() { Ok(()) } else { bail!("{command:?} ended with {status}") }
}

/// What a command prints.
///
/// # Errors
/// When it cannot be started or fails.
pub(crate) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} ended with {}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Builds the server in `profile` (`dev` or `release`) and returns the path of the program.
///
/// # Errors
/// When it cannot be built.
pub(crate) fn build_server(profile: &str) -> anyhow::Result<PathBuf> {
    run(&mut cargo(&["build", "--package", "compactd", "--profile", profile]))?;
    let directory = if profile == "dev" { "debug" } else { profile };
    let binary = target_directory()?.join(directory).join(format!("compactd{}", std::env::consts::EXE_SUFFIX));
    if binary.is_file() { Ok(binary) } else { bail!("failed to find {} after building it", binary.display()) }
}

fn target_directory() -> anyhow::Result<PathBuf> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text)?;
    Ok(metadata["target_directory"].as_str().context("cargo metadata names no target directory")?.into())
}
