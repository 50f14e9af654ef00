//! Putting a whole file in the place of another, or where none is, at once or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

/// Writes a file beside `path` by `write` and waits for the disk. It has a name that no listing
/// takes for a session, and mode 0600.
pub(crate) fn write_beside(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let file = tempfile::Builder::new().prefix(".compactd-").suffix(".tmp").tempfile_in(directory_of(path))?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    write(&mut out)?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Moves `file` to `path`, where no file may be; fails with `AlreadyExists` if there is one.
pub(crate) fn create_exclusively(file: NamedTempFile, path: &Path) -> io::Result<File> {
    let file = file.persist_noclobber(path).map_err(|error| error.error)?;
    sync_directory(path)?;
    Ok(file)
}

/// Keeps the file at `path` under its name and `suffix`, then moves `file` in its place.
pub(crate) fn replace(file: NamedTempFile, path: &Path, suffix: &str) -> io::Result<File> {
    fs::set_permissions(file.path(), fs::metadata(path)?.permissions())?;
    keep_backup(path, suffix)?;
    let file = file.persist(path).map_err(|error| error.error)?;
    sync_directory(path)?;
    Ok(file)
}

/// Waits until the names in the directory of `path` are on the disk.
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory_of(path))?.sync_all() } else { Ok(()) }
}

/// A backup of an earlier time is never written over.
fn keep_backup(path: &Path, suffix: &str) -> io::Result<()> {
    for number in 0.. {
        let backup = backup_path(path, suffix, number);
        match fs::hard_link(path, &backup) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(_) => match copy_exclusively(path, &backup) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => return outcome,
            },
            Ok(()) => return Ok(()),
        }
    }
    Ok(())
}

fn backup_path(path: &Path, suffix: &str, number: usize) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    if number > 0 {
        name.push(format!(".{number}"));
    }
    PathBuf::from(name)
}

/// For file systems without hard links.
fn copy_exclusively(from: &Path, to: &Path) -> io::Result<()> {
    let mut source = File::open(from)?;
    let copied = write_beside(to, |out| io::copy(&mut source, out).map(|_| ()))?;
    create_exclusively(copied, to).map(|_| ())
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
