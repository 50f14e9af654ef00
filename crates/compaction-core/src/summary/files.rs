//! File blocks: lists of files after the text of a summary, and the selection of files if there are too many.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::is_section_heading;
use crate::entry::FileLists;
use crate::text::{tokens_to_units, utf16_len};

const BLOCKS: [FileBlock; 2] = [
    FileBlock { open: "<read-files>", close: "</read-files>" },
    FileBlock { open: "<modified-files>", close: "</modified-files>" },
];

struct FileBlock {
    open: &'static str,
    close: &'static str,
}

/// Appends a block for each list that is not empty: a blank line, `<read-files>`, one path per line,
/// `</read-files>`, and the same with `<modified-files>`. Shortened lists end with a line such as `(and
/// 123 more)`.
///
/// Line breaks and closing tags in a path are written as `\n`, `\r` and `<\/`, because they would end
/// the line or block. A path that looks like a tag, a heading or that last line gets the prefix `./`.
pub fn append_shown_files(text: &str, files: &ShownFiles<'_>) -> String {
    let mut out = text.trim_end().to_owned();
    for (block, list) in BLOCKS.iter().zip(files.lists()).filter(|(_, list)| !list.is_empty()) {
        out.push_str("\n\n");
        out.push_str(block.open);
        for line in list.lines() {
            out.push('\n');
            out.push_str(&line);
        }
        out.push('\n');
        out.push_str(block.close);
    }
    out
}

/// [`append_shown_files`] with all files.
pub fn append_file_blocks(text: &str, read_files: &[String], modified_files: &[String]) -> String {
    append_shown_files(text, &ShownFiles::all(read_files, modified_files))
}

/// Byte position of the file blocks at the end of `summary`.
pub(crate) fn start_of_file_blocks(summary: &str) -> usize {
    let mut end = summary.trim_end().len();
    for FileBlock { open, close } in BLOCKS.iter().rev() {
        let rest = &summary[..end];
        let inside = rest.strip_suffix(close).filter(|inside| inside.ends_with('\n'));
        let start = inside.and_then(|inside| inside.rfind(&format!("\n{open}\n")));
        end = start.map_or(end, |start| rest[..start].trim_end().len());
    }
    end
}

/// A path as a line of a block.
pub(super) fn one_line(path: &str) -> Cow<'_, str> {
    let is_no_path = |line: &str| is_structure(line) || is_more(line);
    if !path.contains(['\n', '\r']) && !path.contains("</") && !is_no_path(path) {
        return Cow::Borrowed(path);
    }
    let line = path.replace('\n', "\\n").replace('\r', "\\r").replace("</", "<\\/");
    Cow::Owned(if is_no_path(&line) { format!("./{line}") } else { line })
}

/// Whether a line starts a block or a section and is not a path.
fn is_structure(line: &str) -> bool {
    block_starting_with(line).is_some() || is_section_heading(line)
}

/// `text` without file blocks of any author; the same text if it has none.
///
/// A block without an end extends to the next blank line, known heading or block.
pub fn remove_file_blocks(text: &str) -> Cow<'_, str> {
    let (rest, _) = split_file_blocks(text);
    rest
}

/// `text` without its file blocks, and their files: read files, then modified files.
pub(super) fn split_file_blocks(text: &str) -> (Cow<'_, str>, [Vec<String>; 2]) {
    let mut files = [Vec::new(), Vec::new()];
    let is_tag = |block: &FileBlock| text.contains(block.open) || text.contains(block.close);
    if !BLOCKS.iter().any(is_tag) {
        return (Cow::Borrowed(text), files);
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut kept: Vec<&str> = Vec::with_capacity(lines.len());
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        match block_starting_with(line) {
            Some(index) => at = read_block(&lines, at, index, &mut files[index]),
            None if BLOCKS.iter().any(|block| line.trim_end() == block.close) => at += 1,
            None => {
                kept.push(line);
                at += 1;
            }
        }
    }
    if kept.len() == lines.len() {
        return (Cow::Borrowed(text), files);
    }
    files.iter_mut().for_each(deduplicate);
    (Cow::Owned(kept.join("\n").trim_end().to_owned()), files)
}

fn block_starting_with(line: &str) -> Option<usize> {
    let line = line.trim_end();
    let on_one_line = |block: &FileBlock| line.starts_with(block.open) && line.ends_with(block.close);
    BLOCKS.iter().position(|block| line == block.open || on_one_line(block))
}

/// Reads the block `index` that starts at line `start` into `files`; returns the line after it.
fn read_block(lines: &[&str], start: usize, index: usize, files: &mut Vec<String>) -> usize {
    let block = &BLOCKS[index];
    let first = lines[start].trim_end();
    if let Some(inside) = first.strip_prefix(block.open).and_then(|rest| rest.strip_suffix(block.close)) {
        push_file(inside, files);
        return start + 1;
    }
    let after = &lines[start + 1..];
    let limit = after.iter().position(|line| is_structure(line)).unwrap_or(after.len());
    let close = after[..limit].iter().position(|line| line.trim_end() == block.close);
    let blank = || after[..limit].iter().position(|line| line.trim().is_empty());
    let length = close.or_else(blank).unwrap_or(limit);
    after[..length].iter().for_each(|line| push_file(line, files));
    start + 1 + length + usize::from(close.is_some())
}

fn push_file(line: &str, files: &mut Vec<String>) {
    let path = line.trim();
    if !path.is_empty() && !is_more(path) {
        // Undoes the escape that kept the tag from ending the block.
        files.push(path.replace("<\\/", "</"));
    }
}

fn deduplicate(files: &mut Vec<String>) {
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.clone()));
}

/// Tokens that file blocks may always take.
const LEAST_TOKENS: u64 = 64;
/// Read files have at least the room divided by this.
const READ_PART: usize = 8;
/// UTF-16 units of the tags of both blocks and the blank lines before them.
const TAG_UNITS: usize = 2 * "\n\n<modified-files>\n</modified-files>".len();
/// UTF-16 units of the two lines that count further files.
const MORE_UNITS: usize = 2 * "\n(and 18446744073709551615 more)".len();

/// The files that a summary names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownFiles<'a> {
    read: ShownList<'a>,
    modified: ShownList<'a>,
}

/// The files of one list that a summary names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ShownList<'a> {
    files: Vec<&'a str>,
    /// Number of further files.
    more: usize,
}

impl<'a> ShownFiles<'a> {
    /// All files.
    pub fn all(read_files: &'a [String], modified_files: &'a [String]) -> Self {
        let list = |files: &'a [String]| ShownList { files: files.iter().map(String::as_str).collect(), more: 0 };
        Self { read: list(read_files), modified: list(modified_files) }
    }

    /// The files for a summary with a reserve of `reserve_tokens`. Their blocks take at most a tenth of
    /// the reserve, because a summary that grows with every file would not make a context smaller. If
    /// not all files fit, modified files take precedence over read files and recently touched ones over
    /// older ones. Each list keeps its order.
    ///
    /// `last_touched` has files in the order of their last touch. Files that are missing there count as
    /// older; among them the last of a list counts as the newest.
    pub fn within(lists: &'a FileLists, last_touched: &[&str], reserve_tokens: u64) -> Self {
        Self::in_tokens(lists, last_touched, Self::most_tokens(reserve_tokens))
    }

    /// Tokens that file blocks may take with a reserve of `reserve_tokens`: a tenth of it, and at least
    /// a few.
    pub fn most_tokens(reserve_tokens: u64) -> u64 {
        (reserve_tokens / 10).max(LEAST_TOKENS)
    }

    /// Like [`ShownFiles::within`], with at most `max_tokens`. There are no blocks at all if that is
    /// too little for them.
    pub fn in_tokens(lists: &'a FileLists, last_touched: &[&str], max_tokens: u64) -> Self {
        let most = tokens_to_units(max_tokens);
        if most < TAG_UNITS + MORE_UNITS {
            return Self { read: ShownList::default(), modified: ShownList::default() };
        }
        let most = most - TAG_UNITS;
        let all = Self::all(&lists.read_files, &lists.modified_files);
        if all.units() <= most {
            return all;
        }
        let touched: HashMap<&str, usize> = last_touched.iter().enumerate().map(|(at, path)| (*path, at)).collect();
        let mut left = most.saturating_sub(MORE_UNITS);
        // A list that only counts its files helps nobody, so the newest read files have a small part of the room.
        let mut part = left / READ_PART;
        let kept: usize = all.read.newest(&touched, &mut part).files.iter().map(|path| units(path)).sum();
        left -= kept;
        let modified = all.modified.newest(&touched, &mut left);
        left += kept;
        let read = all.read.newest(&touched, &mut left);
        Self { read, modified }
    }

    /// The read files, then the modified ones.
    pub(super) fn lists(&self) -> [&ShownList<'a>; 2] {
        [&self.read, &self.modified]
    }

    fn units(&self) -> usize {
        self.lists().iter().flat_map(|list| &list.files).map(|path| units(path)).sum()
    }
}

impl<'a> ShownList<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.files.is_empty() && self.more == 0
    }

    /// The lines of the block.
    pub(super) fn lines(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let more = (self.more > 0).then(|| Cow::Owned(format!("{MORE_BEFORE}{}{MORE_AFTER}", self.more)));
        self.files.iter().map(|path| one_line(path)).chain(more)
    }

    /// The most recently touched files that fit into the UTF-16 units `left`.
    fn newest(&self, touched: &HashMap<&str, usize>, left: &mut usize) -> Self {
        let mut newest: Vec<usize> = (0..self.files.len()).collect();
        newest.sort_by_key(|index| std::cmp::Reverse((touched.get(self.files[*index]), *index)));
        newest.retain(|index| match left.checked_sub(units(self.files[*index])) {
            Some(rest) => {
                *left = rest;
                true
            }
            None => false,
        });
        newest.sort_unstable();
        let files: Vec<&str> = newest.into_iter().map(|index| self.files[index]).collect();
        Self { more: self.files.len() - files.len(), files }
    }
}

const MORE_BEFORE: &str = "(and ";
const MORE_AFTER: &str = " more)";

/// Whether a line counts further files.
pub(super) fn is_more(line: &str) -> bool {
    let count = line.trim().strip_prefix(MORE_BEFORE).and_then(|rest| rest.strip_suffix(MORE_AFTER));
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// UTF-16 units of the line of a path.
fn units(path: &str) -> usize {
    utf16_len(&one_line(path)) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    use super::super::{SummaryDocument, append_file_blocks, append_shown_files, remove_file_blocks};
    use crate::tokens::estimate_text;

    fn lists(read: usize, modified: usize) -> FileLists {
        let names = |name: &str, count: usize| (0..count).map(|at| format!("{name}/{at:04}.rs")).collect();
        FileLists { read_files: names("read", read), modified_files: names("modified", modified), left_out: 0 }
    }

    fn shown(lists: &FileLists, last_touched: &[&str], reserve_tokens: u64) -> String {
        append_shown_files("S", &ShownFiles::within(lists, last_touched, reserve_tokens))
    }

    #[test]
    fn blocks_that_fit_are_whole() {
        // Lines of 13 or 17 units, and 72 for the tags: 1024 tokens.
        let lists = lists(303, 5);
        let whole = append_file_blocks("S", &lists.read_files, &lists.modified_files);
        for reserve in [10_240, 16_384, u64::MAX] {
            assert_eq!(shown(&lists, &[], reserve), whole);
        }
        assert_ne!(shown(&lists, &[], 10_239), whole);
    }

    #[test]
    fn modified_files_come_first_and_then_what_was_touched_last() {
        let lists = lists(1000, 3);
        let touched = ["modified/0001.rs", "read/0007.rs", "gone.rs", "read/0500.rs"];
        let text = shown(&lists, &touched, 0);
        let document = SummaryDocument::parse(&text);
        assert_eq!(document.files.modified_files, lists.modified_files);
        let read = &document.files.read_files;
        assert_eq!(read[..2], ["read/0007.rs", "read/0500.rs"]);
        // Of those without a known touch, the last ones.
        assert_eq!(read[2..], lists.read_files[1000 - read.len() + 2..]);
        assert!(text.contains(&format!("\n(and {} more)\n</read-files>", 1000 - read.len())), "{text}");
    }

    #[test]
    fn modified_files_that_are_too_many_leave_room_for_the_newest_others() {
        let text = shown(&lists(70, 10_000), &["modified/0004.rs"], 5120);
        let lines: Vec<&str> = text.lines().collect();
        let end = lines.iter().position(|line| *line == "</read-files>").unwrap();
        assert_eq!(lines[end - 2..=end], ["read/0069.rs", &format!("(and {} more)", 70 - (end - 4)), "</read-files>"]);
        assert_eq!(lines[end + 3], "modified/0004.rs");
        assert_eq!(lines[lines.len() - 3], "modified/9999.rs");
        assert_eq!(remove_file_blocks(&text), "S");
    }

    #[test]
    fn a_path_that_looks_like_the_last_line_is_distinguished() {
        let paths = ["(and 5 more)".to_owned(), "(and more)".to_owned()];
        let text = append_file_blocks("S", &paths, &[]);
        assert_eq!(text, "S\n\n<read-files>\n./(and 5 more)\n(and more)\n</read-files>");
        assert_eq!(SummaryDocument::parse(&text).files.read_files, ["./(and 5 more)", "(and more)"]);
    }

    proptest! {
        #[test]
        fn blocks_are_bounded_and_count_what_they_lack(
            read in proptest::collection::btree_set("[a-zé/\n]{1,60}|(and 1 more)", 0..60),
            modified in proptest::collection::btree_set("[A-Z/]{1,60}", 0..60),
            touched in proptest::collection::vec(any::<prop::sample::Index>(), 0..20),
            reserve in 0..2000u64,
        ) {
            let lists = FileLists { read_files: read.into_iter().collect(), modified_files: modified.into_iter().collect(), left_out: 0 };
            let all: Vec<&str> = lists.read_files.iter().chain(&lists.modified_files).map(String::as_str).collect();
            let touched: Vec<&str> = touched.iter().filter(|_| !all.is_empty()).map(|index| *index.get(&all)).collect();
            let files = ShownFiles::within(&lists, &touched, reserve);
            let text = append_shown_files("S", &files);
            prop_assert!(estimate_text(&text) <= 1 + ShownFiles::most_tokens(reserve));
            for (shown, all) in files.lists().into_iter().zip([&lists.read_files, &lists.modified_files]) {
                prop_assert_eq!(shown.files.len() + shown.more, all.len());
                prop_assert!(shown.files.is_sorted());
            }
        }

        #[test]
        fn blocks_never_take_more_than_they_may(
            read in proptest::collection::btree_set("[a-z/]{1,60}", 0..50),
            modified in proptest::collection::btree_set("[A-Z/]{1,60}", 0..50),
            max_tokens in 0..600u64,
        ) {
            let lists = FileLists { read_files: read.into_iter().collect(), modified_files: modified.into_iter().collect(), left_out: 0 };
            let text = append_shown_files("", &ShownFiles::in_tokens(&lists, &[], max_tokens));
            prop_assert!(estimate_text(&text) <= max_tokens, "{} tokens of {max_tokens}: {text}", estimate_text(&text));
        }
    }
}
