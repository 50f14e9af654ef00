//! Paths that clients give.

use std::path::{Component, Path, PathBuf};

use crate::errors::RpcError;

/// Fails with `invalidParams` for a path that no system takes.
pub(crate) fn check_path(member: &str, path: &str) -> Result<(), RpcError> {
    match path.contains('\0') {
        true => Err(RpcError::invalid_params(member, "a path without a NUL")),
        false => Ok(()),
    }
}

/// A path with a leading `~` replaced by the home directory.
pub(crate) fn expand_home(path: &str) -> PathBuf {
    let rest = if path == "~" { Some("") } else { path.strip_prefix("~/") };
    match rest.zip(std::env::home_dir()) {
        Some((rest, home)) => home.join(rest),
        None => PathBuf::from(path),
    }
}

/// A path without `.` and `..`, so that one directory has one name. Links are not followed: the
/// path may not exist yet.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}
