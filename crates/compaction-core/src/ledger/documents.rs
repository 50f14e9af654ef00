//! Documents of the work that the model writes into files: plans, specifications, records of decisions. What they say is
//! often said nowhere else, and the next model works from it.

use super::statements::Part;
use super::text::{WordList, has_piece, word_list};
use crate::message::ToolCall;
use crate::text::base_name;
use crate::tools::{FileTools, written_texts};

/// Words in the path or the title of such a document.
static KINDS: WordList = word_list!("documents: kinds");
/// Headings of what was decided.
static DECISIONS: WordList = word_list!("documents: decisions");
/// Endings of files with prose.
const ENDINGS: [&str; 5] = ["md", "mdx", "markdown", "adoc", "rst"];
/// Names of files that describe a project to everybody.
const PUBLIC: [&str; 5] = ["readme", "changelog", "contributing", "license", "security"];
/// Most words of a heading of decisions.
const MOST_WORDS: usize = 4;

/// A document that a call writes.
#[derive(Debug, Clone)]
pub(super) struct Document {
    /// The name of its file.
    pub(super) name: String,
    pub(super) text: String,
}

/// The documents of the work that a call writes, each as a whole.
pub(super) fn documents(call: &ToolCall, tools: &FileTools) -> Vec<Document> {
    let written = written_texts(call, tools, is_prose).into_iter().filter(|(path, text)| is_of_work(path, text));
    written.map(|(path, text)| Document { name: base_name(&path).to_owned(), text }).collect()
}

/// Whether a file is a document of the work: prose whose path or title names its kind.
fn is_of_work(path: &str, text: &str) -> bool {
    let title = || text.lines().map(str::trim).find(|line| !line.is_empty()).filter(|line| line.starts_with('#'));
    is_prose(path) && (names_kind(path) || title().is_some_and(names_kind))
}

/// Whether a path is that of prose for the people of the project.
fn is_prose(path: &str) -> bool {
    let Some((stem, ending)) = base_name(path).rsplit_once('.') else { return false };
    ENDINGS.contains(&ending.to_lowercase().as_str()) && !PUBLIC.contains(&stem.to_lowercase().as_str())
}

fn names_kind(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut words = lower.split(|one: char| !one.is_alphanumeric());
    words.any(|word| KINDS.has(word)) || has_piece(text, KINDS.pieces)
}

/// The first sentence below each heading of decisions.
pub(super) fn decisions<'a>(parts: &[Part<'a>]) -> Vec<&'a str> {
    let mut is_below = false;
    let told = parts.iter().filter_map(|part| match *part {
        Part::Heading(heading) => {
            is_below = is_about_decisions(heading);
            None
        }
        Part::Sentence(sentence) => std::mem::take(&mut is_below).then_some(sentence),
        Part::Code(_) => None,
    });
    told.collect()
}

fn is_about_decisions(heading: &str) -> bool {
    let lower = heading.to_lowercase();
    let mut words = lower.split(|one: char| !one.is_alphabetic()).filter(|word| !word.is_empty());
    heading.split_whitespace().count() <= MOST_WORDS
        && (words.any(|word| DECISIONS.has(word)) || has_piece(heading, DECISIONS.pieces))
}

#[cfg(test)]
mod tests {
    use super::super::statements::parts;
    use super::*;

    #[test]
    fn documents_of_the_work_are_known_by_their_paths_and_titles() {
        for (path, text) in [
            ("docs/adr/0004-menu.md", "# Menu"),
            ("docs/specs/core/overview.md", "Text"),
            (".kiro/specs/shop/design.md", "Text"),
            ("notes/menu-plan.md", ""),
            ("menu.md", "# Umsetzungsplan\n\nText"),
            ("menu.md", "# 商店设计方案"),
            ("docs/task_list.mdx", "Text"),
        ] {
            assert!(is_of_work(path, text), "{path}: {text}");
        }
        for (path, text) in [
            ("README.md", "# Design of the shop"),
            ("docs/menu.md", "# How to add a menu"),
            ("src/plan.rs", "# Plan"),
            ("plan", "# Plan"),
            ("docs/explain.md", "Text about the plan"),
        ] {
            assert!(!is_of_work(path, text), "{path}: {text}");
        }
    }

    #[test]
    fn the_sentence_below_a_heading_of_decisions_is_one() {
        let text = "# Menu\n\nOne list.\n\n#### **2. Decision**\n\nWe keep one list. It is short.\n\n## Why\n\nIt is fast.\n\n\
                    ### Решение\n\n- Две страницы\n- Одна база\n\n## Decision table of the shop and its pages\n\nNone.";
        let parts: Vec<Part<'_>> = parts(text).collect();
        assert_eq!(decisions(&parts), ["We keep one list.", "Две страницы"]);
    }
}
