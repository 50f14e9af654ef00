//! Finds the program that a client starts.

use std::path::{Path, PathBuf};

use crate::ClientError;

/// The path of the program: what `COMPACTD_BIN` names, else `compactd` beside the running program, on the path, or
/// where `cargo install` puts programs.
///
/// # Errors
/// [`ClientError::NoBinary`] if there is none; it says what to do.
pub fn find_binary() -> Result<PathBuf, ClientError> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(named) = variable("COMPACTD_BIN") {
        return Ok(named.into());
    }
    let executable = std::env::current_exe().unwrap_or_default();
    let beside = executable.parent().map(Path::to_owned);
    let path = variable("PATH").unwrap_or_default();
    let cargo_home = variable("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let directories = beside.into_iter().chain(std::env::split_paths(&path));
    let directories = directories.chain(cargo_home.map(|home| home.join("bin")));
    find_in(directories).ok_or_else(|| {
        ClientError::NoBinary(format!(
            "no program compactd was found: COMPACTD_BIN is not set, and there is none beside {}, on the path, or \
             where cargo installs. Install it by `cargo install compactd`, or set COMPACTD_BIN to its path",
            executable.display()
        ))
    })
}

fn find_in(directories: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let name = format!("compactd{}", std::env::consts::EXE_SUFFIX);
    directories.map(|directory| directory.join(&name)).find(|program| is_program(program))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}
