//! Regular files alone, opened without waiting.
//!
//! A project or an archive can bring along links, pipes and devices under any name. Opening a pipe waits
//! for its other end, reading a device may never end, and files of `/proc` do things when they are
//! written to. So whatever is not a regular file on a file system is refused.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::Path;

/// Why a path was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("it is a directory")]
    Directory,
    #[error("it is a link")]
    Link,
    #[error("it is not a regular file")]
    Special,
    #[error("it is a file of the system, like those in /proc")]
    System,
}

impl Refusal {
    /// Why `error` came from [`open`] or [`open_itself`], if it is a refusal.
    pub(crate) fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refusal)
    }
}

/// Opens the regular file that `path` leads to, as `options` say. Fails with a [`Refusal`] for anything
/// else, which is not opened.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // A device may do something when it is opened, so the path is looked at before.
    check(&fs::metadata(path)?)?;
    open_checked(path, options, 0)
}

/// As [`open`], but a link is refused too.
pub(crate) fn open_itself(path: &Path, options: &OpenOptions) -> io::Result<File> {
    check(&fs::symlink_metadata(path)?)?;
    open_checked(path, options, no_follow())
}

/// Opens the regular file that `path` leads to for reading, without waiting. Fails with `InvalidInput` for
/// what is no regular file, which is not opened.
pub fn open_regular_file(path: &Path) -> io::Result<File> {
    open(path, File::options().read(true))
}

/// The bytes of the regular file that `path` leads to. Nothing is read beyond the length that the file
/// had when it was opened.
///
/// Fails with `FileTooLarge` if that is more than `limit`, and with `InvalidInput` for what is no
/// regular file, which is not opened.
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open(path, File::options().read(true))?;
    let length = file.metadata()?.len();
    if length > limit {
        let message = format!("it has {length} bytes, more than {limit}");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    let mut bytes = Vec::new();
    file.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens the regular file at `path` to write behind its end, or makes it. A link is refused, as what it
/// leads to may hold something else. Fails with `InvalidInput` for what is no regular file.
pub fn append_to_regular_file(path: &Path) -> io::Result<File> {
    match File::options().append(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open_itself(path, File::options().append(true)),
        outcome => outcome,
    }
}

/// Opens what was a regular file a moment ago, and looks at what was opened.
fn open_checked(path: &Path, options: &OpenOptions, flags: i32) -> io::Result<File> {
    let mut options = options.clone();
    set_flags(&mut options, flags);
    let file = options.open(path)?;
    check(&file.metadata()?)?;
    if is_of_the_system(&file) { Err(Refusal::System.into()) } else { Ok(file) }
}

fn check(metadata: &Metadata) -> Result<(), Refusal> {
    match metadata {
        metadata if metadata.is_file() => Ok(()),
        metadata if metadata.is_dir() => Err(Refusal::Directory),
        metadata if metadata.is_symlink() => Err(Refusal::Link),
        _ => Err(Refusal::Special),
    }
}

/// What a regular file does not notice and a pipe does not wait with.
#[cfg(unix)]
fn set_flags(options: &mut OpenOptions, flags: i32) {
    use rustix::fs::OFlags;
    use std::os::unix::fs::OpenOptionsExt;
    options.custom_flags(flags | (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
}

#[cfg(not(unix))]
fn set_flags(_options: &mut OpenOptions, _flags: i32) {}

#[cfg(unix)]
fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

#[cfg(not(unix))]
fn no_follow() -> i32 {
    0
}

/// File systems that show the state of the system as regular files: proc, sysfs, debugfs, tracefs,
/// cgroup, cgroup2, securityfs, configfs, bpf, efivarfs, selinuxfs (`linux/magic.h`).
#[cfg(target_os = "linux")]
const OF_THE_SYSTEM: [u64; 11] = [
    0x9fa0,
    0x6265_6572,
    0x6462_6720,
    0x7472_6163,
    0x0027_e0eb,
    0x6367_7270,
    0x7363_6673,
    0x6265_6570,
    0xcafe_4a11,
    0xde5e_81e4,
    0xf97c_ff8c,
];

#[cfg(target_os = "linux")]
fn is_of_the_system(file: &File) -> bool {
    // Some machines keep the number in 32 bits with a sign.
    rustix::fs::fstatfs(file).is_ok_and(|found| OF_THE_SYSTEM.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn is_of_the_system(_file: &File) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    #[test]
    fn only_regular_files_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("file"), "four").unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink("/dev/zero", at("device")).unwrap();
        symlink("/proc/self/status", at("status")).unwrap();
        assert!(Command::new("mkfifo").arg(at("pipe")).status().unwrap().success());
        let read = |name: &str| read_regular_file(&at(name), 4).map_err(|error| Refusal::of(&error));
        assert_eq!(read("file"), Ok(b"four".to_vec()));
        assert_eq!(read("link"), Ok(b"four".to_vec()));
        assert_eq!(read("device"), Err(Some(Refusal::Special)));
        assert_eq!(read("pipe"), Err(Some(Refusal::Special)));
        assert_eq!(read("status"), Err(Some(Refusal::System)));
        assert_eq!(read("."), Err(Some(Refusal::Directory)));
        assert_eq!(read("none"), Err(None));
        assert!(open_itself(&at("file"), File::options().read(true)).is_ok());
        let error = open_itself(&at("link"), File::options().read(true)).unwrap_err();
        assert_eq!(Refusal::of(&error), Some(Refusal::Link));
        assert_eq!(Refusal::of(&append_to_regular_file(&at("link")).unwrap_err()), Some(Refusal::Link));
        assert_eq!(Refusal::of(&append_to_regular_file(&at("pipe")).unwrap_err()), Some(Refusal::Special));
        for _ in 0..2 {
            append_to_regular_file(&at("log")).unwrap().write_all(b"line\n").unwrap();
        }
        assert_eq!(read_regular_file(&at("log"), 10).unwrap(), b"line\nline\n");
        fs::write(at("file"), "fives").unwrap();
        let error = read_regular_file(&at("file"), 4).unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (io::ErrorKind::FileTooLarge, "it has 5 bytes, more than 4")
        );
    }
}
