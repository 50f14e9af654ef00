//! What a summary is made of.

use compactd_tests::questions::{starts_with_any, without_file_blocks};
use compaction_core::text::utf16_len;
use compaction_core::tokens::estimate_text;

/// Starts of lines that list names, or log a deed.
const NAMES_AND_DEEDS: [&str; 9] = [
    "Names in use",
    "Paths in use",
    "Command in use",
    "Looked things up",
    "Read `",
    "Ran `",
    "Edited `",
    "Wrote `",
    "Called `",
];

/// UTF-16 units of the text without the blocks of files, and those of them that are names and deeds.
pub(crate) fn names_and_deeds(summary: &str) -> (usize, usize) {
    let text = without_file_blocks(summary);
    let units = |line: &str| utf16_len(line) + 1;
    let is_counted = |line: &&str| starts_with_any(line, &NAMES_AND_DEEDS);
    (text.lines().map(units).sum(), text.lines().filter(is_counted).map(units).sum())
}

/// Tokens of the facts that were added behind the text.
pub(crate) fn repair_tokens(summary: &str) -> u64 {
    let (open, close) = ("<retained-facts>", "</retained-facts>");
    let block = summary.find(open).map_or("", |start| {
        let block = &summary[start..];
        block.find(close).map_or(block, |end| &block[..end + close.len()])
    });
    estimate_text(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_deeds_are_told_from_statements() {
        let summary = "## Goal\n- Fix it\n- [x] Ran `make`\n- Names in use: a, b\nRan out of time\n\n<read-files>\na\n</read-files>";
        assert_eq!(names_and_deeds(summary), (72, 38));
        assert_eq!(names_and_deeds(""), (0, 0));
    }

    #[test]
    fn added_facts_are_measured() {
        assert_eq!(repair_tokens("## Goal\n- x\n\n<retained-facts>\nsome\n</retained-facts>\n\n<read-files>\n"), 10);
        assert_eq!(repair_tokens("## Goal\n- x"), 0);
    }
}
