//! Finds files in patches: the format of Codex, unified diffs, and edits in the text of an answer.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::{FileAccess, FileUse};

const BEGIN: &str = "*** Begin Patch";
const HEADERS: [(&str, FileAccess); 4] = [
    ("*** Add File:", FileAccess::Write),
    ("*** Update File:", FileAccess::Edit),
    ("*** Delete File:", FileAccess::Delete),
    ("*** Move to:", FileAccess::Write),
];

/// Whether `text` is a patch in the format of Codex.
pub(super) fn is_marked(text: &str) -> bool {
    text.contains(BEGIN)
}

/// The files of a patch, each operation once.
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
    HEADERS.iter().find_map(|(header, access)| {
        line.strip_prefix(header).map(|path| FileUse { access: *access, path: path.trim().to_owned() })
    })
}

/// Reads pairs of `---` and `+++`. `/dev/null` means that there is no file.
fn in_unified_diff(text: &str, files: &mut Vec<FileUse>) {
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(old) = line.strip_prefix("--- ") else { continue };
        let Some(new) = lines.peek().and_then(|next| next.strip_prefix("+++ ")) else { continue };
        let (old, new) = (diff_path(old, "a/"), diff_path(new, "b/"));
        let file = match (old, new) {
            (None, Some(path)) => FileUse { access: FileAccess::Write, path },
            (Some(path), None) => FileUse { access: FileAccess::Delete, path },
            (Some(_), Some(path)) => FileUse { access: FileAccess::Edit, path },
            (None, None) => continue,
        };
        add(files, file);
    }
}

/// The path in the header of a diff, without its prefix and time.
fn diff_path(path: &str, side: &str) -> Option<String> {
    let path = path.split('\t').next().unwrap_or_default().trim();
    (path != "/dev/null").then(|| path.strip_prefix(side).unwrap_or(path).to_owned())
}

/// Files that aider reports as edited in the text of an answer: `Applied edit to FILE`.
pub fn reported_edits(text: &str) -> impl Iterator<Item = &str> {
    let has_some = APPLIED_MARK.find(text.as_bytes()).is_some();
    let lines = if has_some { text } else { "" }.lines();
    lines.filter_map(|line| {
        let line = line.trim().trim_start_matches('>').trim_start();
        line.strip_prefix(APPLIED).map(str::trim).filter(|path| !path.is_empty())
    })
}

/// Files of edits that aider reports as failed in the text of an answer, each with the line that says so.
pub fn failed_edits(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let has_some = UNMATCHED_MARK.find(text.as_bytes()).is_some();
    let lines = if has_some { text } else { "" }.lines();
    lines.filter_map(|line| {
        let line = line.trim().trim_start_matches(['#', '>', ' ']);
        line.split_once(UNMATCHED).map(|(_, path)| (path.trim(), line)).filter(|(path, _)| !path.is_empty())
    })
}

/// Whether a text is a diff without a header: all its lines have a mark, and one of them is added.
fn is_bare_diff(text: &str) -> bool {
    let mut lines = text.lines();
    lines.all(|line| line.is_empty() || line.starts_with([' ', '+', '-', '@']))
        && text.lines().any(|line| line.starts_with('+'))
}

/// The lines that a patch or the blocks of an edit add to files. Any other text is added as a whole.
pub fn added_lines(text: &str) -> Vec<&str> {
    match changes_in_text(text) {
        Some(changes) => changes.into_iter().flat_map(|change| change.added).map(str::trim).collect(),
        None => text.lines().map(str::trim).collect(),
    }
}

/// The lines that a patch or the blocks of an edit take out of files. Any other text takes out none.
pub fn removed_lines(text: &str) -> Vec<&str> {
    changes_in_text(text).into_iter().flatten().flat_map(|change| change.removed).map(str::trim).collect()
}

/// Whether a text is a diff in which unchanged lines have no mark: at least half of its lines are removed or added.
fn is_part_of_diff(text: &str) -> bool {
    let (mut all, mut added, mut marked) = (0, 0, 0);
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        all += 1;
        added += usize::from(line.starts_with('+'));
        marked += usize::from(line.starts_with(['+', '-']));
    }
    added > 0 && marked * 2 >= all
}

/// A change of a file in a text: the lines that it takes out and adds, without the space behind them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileChange<'t> {
    /// The file, if the text names it.
    pub path: Option<&'t str>,
    /// The lines that it takes out.
    pub removed: Vec<&'t str>,
    /// The lines that it adds.
    pub added: Vec<&'t str>,
}

/// The changes in a patch, a diff, or the blocks of an edit, file by file; `None` for any other text.
pub fn changes_in_text(text: &str) -> Option<Vec<FileChange<'_>>> {
    let has = |mark: &str| memchr::memmem::find(text.as_bytes(), mark.as_bytes()).is_some();
    if has(BEGIN) || text.starts_with("@@ ") || has("\n@@ ") || is_bare_diff(text) || is_part_of_diff(text) {
        return Some(in_patch(text));
    }
    (has(SEARCH) || has(REPLACE)).then(|| in_blocks(text))
}

fn in_patch(text: &str) -> Vec<FileChange<'_>> {
    let mut found = vec![FileChange::default()];
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let named = HEADERS.iter().find_map(|(header, _)| line.strip_prefix(header)).map(str::trim);
        let is_pair = line.starts_with("--- ") && lines.peek().is_some_and(|next| next.starts_with("+++ "));
        let new = if is_pair { lines.next().and_then(|next| next.strip_prefix("+++ ")) } else { None };
        let new = new.map(|path| path.split('\t').next().unwrap_or_default().trim());
        let path = named.or(new.map(|path| path.strip_prefix("b/").unwrap_or(path)));
        if let Some(path) = path {
            found.push(FileChange { path: Some(path), ..FileChange::default() });
        } else if let Some(file) = found.last_mut() {
            match line.split_at_checked(1) {
                // Half a header is no line of a file.
                Some(("+", added)) if !added.starts_with("++") => file.added.push(added.trim_end()),
                Some(("-", removed)) if !removed.starts_with("--") => file.removed.push(removed.trim_end()),
                _ => {}
            }
        }
    }
    found.retain(|file| !file.added.is_empty() || !file.removed.is_empty());
    found
}

fn in_blocks(text: &str) -> Vec<FileChange<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found: Vec<FileChange<'_>> = Vec::new();
    let mut path = None;
    // Whether the block is now removing or adding lines.
    let mut is_added = None;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with(SEARCH) {
            path = lines[at.saturating_sub(PATH_LINES)..at].iter().rev().find_map(|line| path_line(line)).or(path);
            if found.last().is_none_or(|last| last.path != path) {
                found.push(FileChange { path, ..FileChange::default() });
            }
            is_added = Some(false);
        } else if line.starts_with("=======") && is_added.is_some() {
            is_added = Some(true);
        } else if line.starts_with(REPLACE) {
            is_added = None;
        } else if let (Some(is_added), Some(file)) = (is_added, found.last_mut()) {
            if is_added { &mut file.added } else { &mut file.removed }.push(line.trim_end());
        }
    }
    found
}

/// Files of edits in the text of an answer, in the form of aider's models: a line with the path, and
/// below it, usually in a fence, a block with `<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`.
///
/// These are proposals. Many of them fail to match, so they count only if nothing else shows what was
/// done.
pub fn proposed_edits(text: &str) -> Vec<&str> {
    let mut paths: Vec<&str> = Vec::new();
    if SEARCH_MARK.find(text.as_bytes()).is_none() {
        return paths;
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut current = None;
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with(SEARCH)) {
        // Further blocks of the same file need no path.
        current = lines[at.saturating_sub(PATH_LINES)..at].iter().rev().find_map(|line| path_line(line)).or(current);
        let is_whole =
            lines[at..].iter().find(|next| next.starts_with(REPLACE) || **next != *line && next.starts_with(SEARCH));
        if let Some(path) =
            current.filter(|path| is_whole.is_some_and(|end| end.starts_with(REPLACE)) && !paths.contains(path))
        {
            paths.push(path);
        }
    }
    paths
}

const APPLIED: &str = "Applied edit to ";
const UNMATCHED: &str = "SEARCH block failed to exactly match lines in ";
const SEARCH: &str = "<<<<<<< SEARCH";
const REPLACE: &str = ">>>>>>> REPLACE";
/// Most texts are short and have none of these marks, and a search costs less than to prepare it.
static APPLIED_MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(APPLIED));
static UNMATCHED_MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(UNMATCHED));
static SEARCH_MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(SEARCH));
/// Number of lines above a block that may contain its path.
const PATH_LINES: usize = 3;

/// The path that makes up a line, without Markdown around it.
fn path_line(line: &str) -> Option<&str> {
    let path = line.trim().trim_start_matches(['#', '*', '`', ' ']).trim_end_matches(['*', '`', ':', ' ']);
    let is_path = path.contains(['.', '/', '\\']) && !path.contains([' ', '<', '>', '=', '(', '{', ';', '"']);
    (is_path && path.len() < 256 && !line.starts_with("```")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_patch_adds_is_new() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-old\n+ new\n same\n*** End Patch";
        assert_eq!(added_lines(patch), ["new"]);
        assert_eq!(added_lines("<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE"), ["new"]);
        assert_eq!(added_lines("one\n  two"), ["one", "two"]);
        assert_eq!(added_lines(" fn a() {\n-    old();\n+    new();\n }"), ["new();"]);
        assert_eq!(added_lines("    one();\n    two();"), ["one();", "two();"]);
        let text = "## Error: This SEARCH block failed to exactly match lines in a.rs\n<<<<<<< SEARCH";
        let failed = ("a.rs", "Error: This SEARCH block failed to exactly match lines in a.rs");
        assert_eq!(failed_edits(text).collect::<Vec<_>>(), [failed]);
    }

    #[test]
    fn the_changes_of_a_text_are_told_file_by_file() {
        let change = |path, removed: &[&'static str], added: &[&'static str]| FileChange {
            path,
            removed: removed.to_vec(),
            added: added.to_vec(),
        };
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-old\n+new\n*** Add File: b\n+one\n*** Delete File: c\n*** End Patch";
        let found = [change(Some("a"), &["old"], &["new"]), change(Some("b"), &[], &["one"])];
        assert_eq!(changes_in_text(patch).unwrap(), found);
        let diff = "--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-a\n+b\n same";
        assert_eq!(changes_in_text(diff).unwrap(), [change(Some("x.rs"), &["a"], &["b"])]);
        let blocks = "src/a.py\n```\n<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n```";
        assert_eq!(changes_in_text(blocks).unwrap(), [change(Some("src/a.py"), &["old"], &["new"])]);
        assert_eq!(changes_in_text("one\n  two"), None);
    }

    #[test]
    fn edits_in_a_text_have_their_path_above_them() {
        let block = "<<<<<<< SEARCH\na\n=======\nb\n>>>>>>> REPLACE\n";
        for (text, paths) in [
            (format!("Here it is.\n\nsrc/a.py\n```python\n{block}```\n"), vec!["src/a.py"]),
            (format!("**src\\b.ts**\n{block}\n{block}"), vec!["src\\b.ts"]),
            (format!("```\nMakefile.am\n{block}```\nand\n\n`c.md`:\n```\n{block}```"), vec!["Makefile.am", "c.md"]),
            (format!("I would write\n\n```\n{block}```"), vec![]),
            ("a.py\n<<<<<<< SEARCH\na\n=======\nb".to_owned(), vec![]),
            ("a.py\n```\nwhole file\n```".to_owned(), vec![]),
        ] {
            assert_eq!(proposed_edits(&text), paths, "{text}");
        }
    }
}
