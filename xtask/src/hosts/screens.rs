//! What a person sees in the editors: their tests print it, and `docs/editors.md` shows it.
//!
//! A test prints each screen between a line `== NAME` and a line `==`.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::guide::shape;

/// Set to anything, this variable writes the page in place of comparing it.
const UPDATE: &str = "UPDATE_SCREENS";

/// Compares what a test printed with the section of the page under this title. Numbers and ids may differ.
///
/// # Errors
/// When the page shows something else.
pub(crate) fn check(page: &Path, title: &str, printed: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(page).with_context(|| format!("failed to read {}", page.display()))?;
    let (start, end) = section(&text, title).with_context(|| format!("{} has no section {title}", page.display()))?;
    let screens = markdown(printed);
    if shape(&text[start..end]) == shape(&screens) {
        return Ok(());
    }
    ensure!(
        std::env::var_os(UPDATE).is_some(),
        "{} shows something else than {title}; with {UPDATE}=1 this writes it. Now it is:\n{screens}",
        page.display()
    );
    Ok(std::fs::write(page, format!("{}{screens}{}", &text[..start], &text[end..]))?)
}

/// Where the text of a section begins and ends.
fn section(page: &str, title: &str) -> Option<(usize, usize)> {
    let heading = format!("\n## {title}\n");
    let start = page.find(&heading)? + heading.len();
    let end = page[start..].find("\n## ").map_or(page.len(), |length| start + length);
    Some((start, end))
}

/// The screens as blocks with headings. Several lines in a row that an earlier screen has shown are one `…`.
fn markdown(printed: &str) -> String {
    let mut markdown = String::new();
    let mut seen: Vec<&str> = Vec::new();
    let mut lines = printed.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix("== ") else { continue };
        let screen: Vec<&str> = lines.by_ref().take_while(|line| *line != "==").collect();
        markdown.push_str(&format!("\n### {name}\n\n```text\n{}```\n", shortened(&screen, &seen)));
        seen.extend(screen);
    }
    markdown
}

/// Lines in a row that are worth a `…`.
const MIN_SEEN: usize = 3;

fn shortened(screen: &[&str], seen: &[&str]) -> String {
    let mut text = String::new();
    for run in screen.chunk_by(|one, next| seen.contains(one) == seen.contains(next)) {
        let is_seen = run.len() >= MIN_SEEN && run.iter().all(|line| seen.contains(line));
        let shown: &[&str] = if is_seen { &["…"] } else { run };
        shown.iter().for_each(|line| text.push_str(&format!("{}\n", line.trim_end())));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screens_are_blocks_without_what_was_shown() {
        let printed = "noise\n\n== one\na\nb\nc\n==\nnoise\n== two\na\nb\nc\nd\n==\n";
        assert_eq!(markdown(printed), "\n### one\n\n```text\na\nb\nc\n```\n\n### two\n\n```text\n…\nd\n```\n");
    }

    #[test]
    fn a_section_ends_with_the_next() {
        let page = "# Page\n\n## One\nx\n\n## Two\ny\n";
        assert_eq!(section(page, "One").map(|(start, end)| &page[start..end]), Some("x\n"));
        assert_eq!(section(page, "Two").map(|(start, end)| &page[start..end]), Some("y\n"));
        assert_eq!(section(page, "Three"), None);
    }
}
