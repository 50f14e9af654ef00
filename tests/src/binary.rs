//! Finds the binary under test.

use std::path::PathBuf;

use anyhow::Context as _;

/// `$COMPACTD_BIN`, or `compactd` in the target directory of the running test.
///
/// # Errors
/// When neither exists.
pub fn binary() -> anyhow::Result<PathBuf> {
    if let Some(path) = std::env::var_os("COMPACTD_BIN") {
        let path = PathBuf::from(path);
        return path.canonicalize().with_context(|| format!("failed to find $COMPACTD_BIN at {}", path.display()));
    }
    let test = std::env::current_exe().context("failed to find the running test")?;
    let name = format!("compactd{}", std::env::consts::EXE_SUFFIX);
    let found = test.ancestors().skip(1).map(|directory| directory.join(&name)).find(|path| path.is_file());
    found.context("failed to find compactd: build it with `cargo build -p compactd` or set COMPACTD_BIN")
}
