//! File blocks: lists of files behind the text of a summary.

use std::borrow::Cow;
use std::collections::HashSet;

use super::headings::is_section_heading;
use super::shown_files::{ShownFiles, is_more};

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
