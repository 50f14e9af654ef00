//! The published package of the agent whose session format this is: its answers and its times are
//! compared with ours.
//!
//! The package needs others that were not published with it, so that `interop/package.json` names
//! the nearest versions that were. What is compared loads none of them but `pi-ai`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use serde_json::Value;

/// The name of the package.
pub const NAME: &str = "@earendil-works/pi-coding-agent";

/// Where it is installed, and where the program lies that asks it.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("interop")
}

/// The version that is locked.
///
/// # Errors
/// When the lock file cannot be read or does not name the package.
pub fn version() -> anyhow::Result<String> {
    let lock = read(&directory().join("package-lock.json"))?;
    let package = &lock["packages"][format!("node_modules/{NAME}")];
    Ok(package["version"].as_str().with_context(|| format!("the lock file does not name {NAME}"))?.to_owned())
}

/// Installs the package as it is locked, where that has not been done yet. Downloads about 30 MB.
///
/// # Errors
/// Without npm, and without network where the package is in no cache.
pub fn install() -> anyhow::Result<()> {
    // Tests run side by side, and one installation serves them all.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _turn = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_installed()? {
        return Ok(());
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(directory());
    let output = npm.output().context("failed to start npm")?;
    let log = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "npm ended with {}: {}", output.status, log.trim());
    ensure!(is_installed()?, "npm has not installed what is locked: {}", log.trim());
    Ok(())
}

/// Whether what is installed is what is locked. npm writes its own list when all is in place, and
/// takes it away first when it begins anew.
fn is_installed() -> anyhow::Result<bool> {
    let locked = read(&directory().join("package-lock.json"))?;
    let Ok(installed) = read(&directory().join("node_modules/.package-lock.json")) else {
        return Ok(false);
    };
    let package = format!("node_modules/{NAME}");
    let installed = installed["packages"].as_object().context("npm's list of what it installed has no packages")?;
    let is_locked = |(place, package): (&String, &Value)| locked["packages"][place]["version"] == package["version"];
    Ok(installed.contains_key(&package) && installed.iter().all(is_locked))
}

fn read(file: &Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_json::from_str(&text).with_context(|| format!("failed to read {} as JSON", file.display()))
}
