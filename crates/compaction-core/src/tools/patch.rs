//! Files in patches: the format of Codex, unified diffs, and edits that stand in an answer's text.

use super::{FileDeed, FileUse};

const BEGIN: &str = "*** Begin Patch";
const HEADERS: [(&str, FileDeed); 4] = [
    ("*** Add File:", FileDeed::Write),
    ("*** Update File:", FileDeed::Edit),
    ("*** Delete File:", FileDeed::Delete),
    ("*** Move to:", FileDeed::Write),
];

/// Whether `text` holds a patch in the format of Codex.
pub(super) fn is_marked(text: &str) -> bool {
    text.contains(BEGIN)
}

/// The files of a patch, each deed once.
pub(super) fn files(text: &str) -> Vec<FileUse> {
    let mut files: Vec<FileUse> = Vec::new();
    let headers = text.lines().filter_map(header);
    headers.for_each(|file| add(&mut files, file));
    if files.is_empty() {
        in_unified_diff(text, &mut files);
    }
    files
}

fn add(files: &mut Vec<FileUse>, file: FileUse) {
    if !file.path.is_empty() && !files.contains(&file) {
        files.push(file);
    }
}

fn header(line: &str) -> Option<FileUse> {
    HEADERS.iter().find_map(|(header, deed)| {
        line.strip_prefix(header).map(|path| FileUse { deed: *deed, path: path.trim().to_owned() })
    })
}

/// Pairs of `---` and `+++`; `/dev/null` stands for a file that is not there.
fn in_unified_diff(text: &str, files: &mut Vec<FileUse>) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(old) = line.strip_prefix("--- ") else { continue };
        let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ ")) else { continue };
        let (old, new) = (diff_path(old, "a/"), diff_path(new, "b/"));
        let file = match (old, new) {
            (None, Some(path)) => FileUse { deed: FileDeed::Write, path },
            (Some(path), None) => FileUse { deed: FileDeed::Delete, path },
            (Some(_), Some(path)) => FileUse { deed: FileDeed::Edit, path },
            (None, None) => continue,
        };
        add(files, file);
    }
}

/// The path of a diff's header, without side and time.
fn diff_path(path: &str, side: &str) -> Option<String> {
    let path = path.split('\t').next().unwrap_or_default().trim();
    (path != "/dev/null").then(|| path.strip_prefix(side).unwrap_or(path).to_owned())
}

/// Files that aider says it has edited, in the text of an answer: `Applied edit to FILE`.
///
/// The edits themselves stand in the text too (blocks between `<<<<<<< SEARCH` and `>>>>>>> REPLACE`), but they are
/// proposals: many of them fail to match, and then nothing was changed.
pub fn edits_told(text: &str) -> impl Iterator<Item = &str> {
    let has_some = text.contains(APPLIED);
    let lines = text.lines().filter(move |_| has_some);
    lines.filter_map(|line| {
        let line = line.trim().trim_start_matches('>').trim_start();
        line.strip_prefix(APPLIED).map(str::trim).filter(|path| !path.is_empty())
    })
}

const APPLIED: &str = "Applied edit to ";
