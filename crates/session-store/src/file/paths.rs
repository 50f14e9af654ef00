//! Where sessions lie (docs/session-format.md, "Where sessions lie").

use std::fs;
use std::path::{Component, Path, PathBuf};

/// The directory of the sessions of `cwd`. Different working directories can share one, so that
/// only a session's header says where it belongs.
pub(crate) fn directory(agent_dir: &Path, cwd: &str) -> PathBuf {
    agent_dir.join("sessions").join(directory_name(cwd))
}

/// Without the first `/` or `\`, and with `-` for every `/`, `\` and `:`.
fn directory_name(cwd: &str) -> String {
    let name = cwd.strip_prefix(['/', '\\']).unwrap_or(cwd);
    format!("--{}--", name.replace(['/', '\\', ':'], "-"))
}

/// The name of a session's file: the ISO timestamp with `-` for every `:` and `.`, and the id.
pub(crate) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

/// Whether two working directories are one, also where one of them is reached by a symbolic link
/// or, on Windows, is spelt in another case (docs/session-format.md, "Where sessions lie").
pub(crate) fn is_same_directory(a: &str, b: &str) -> bool {
    let canonical = |path: &str| fs::canonicalize(path).ok();
    a == b
        || (cfg!(windows) && a.eq_ignore_ascii_case(b))
        || canonical(a).is_some_and(|a| canonical(b).is_some_and(|b| a == b))
}

/// The absolute path that `text` means where `~` stands for `home` and relative paths start from `base`. It
/// has no `.` and no `..`, so that one directory has one name. Links are not followed: the path may not
/// exist yet.
pub fn resolve(text: &str, base: &Path, home: Option<&Path>) -> PathBuf {
    let rest = if text == "~" { Some("") } else { text.strip_prefix("~/") };
    let path = match rest.zip(home) {
        Some((rest, home)) => base.join(home.join(rest)),
        None => base.join(text),
    };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_absolute_and_plain() {
        let (base, home) = (Path::new("/base"), Path::new("/home/me"));
        for (text, path) in [
            ("a.jsonl", "/base/a.jsonl"),
            ("./a/../b", "/base/b"),
            ("../../..", "/"),
            ("/x//y/./z", "/x/y/z"),
            ("~", "/home/me"),
            ("~/a", "/home/me/a"),
            ("~you", "/base/~you"),
        ] {
            assert_eq!(resolve(text, base, Some(home)), Path::new(path), "{text}");
        }
        assert_eq!(resolve("~/a", base, None), Path::new("/base/~/a"));
    }

    #[test]
    fn names_follow_the_format() {
        let agent_dir = Path::new("agent");
        for (cwd, name) in [
            ("/home/a/b.c", "--home-a-b.c--"),
            ("C:\\Users\\a", "--C--Users-a--"),
            ("\\\\host\\share", "---host-share--"),
            ("/", "----"),
            ("/a-b/c", "--a-b-c--"),
        ] {
            assert_eq!(directory(agent_dir, cwd), agent_dir.join("sessions").join(name), "{cwd}");
        }
        assert_eq!(file_name("2025-11-20T23:33:01.544Z", "x"), "2025-11-20T23-33-01-544Z_x.jsonl");
    }
}
