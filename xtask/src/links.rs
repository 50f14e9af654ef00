//! Whether the documentation hangs together: links, citations in comments, and numbers of decisions.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::steps::say;
use crate::workspace::root;

/// Directories that hold nothing of ours.
const SKIPPED: [&str; 4] = ["target", "node_modules", "__pycache__", "testdata"];

/// Checks every Markdown page and every comment of a Rust file in the workspace.
///
/// - The target of a relative link exists, with the heading that it names.
/// - A test or case that a link to a `.rs` or `.json` file names occurs in that file.
/// - A page of `docs` or `protocol/README.md` that a comment cites exists, with the heading that is cited in quotes.
/// - Decisions are numbered from 1 without a hole.
///
/// # Errors
/// With everything that is wrong, a line each.
pub fn links() -> anyhow::Result<()> {
    let root = root();
    let root = root.as_path();
    let mut files = Vec::new();
    collect(root, &mut files)?;
    let mut pages = Pages { root, texts: HashMap::new() };
    let mut wrong = Vec::new();
    let mut count = 0;
    for file in &files {
        let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
        let found = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => links_of(&text).into_iter().map(|link| pages.check_link(file, &link)).collect(),
            _ => citations(&text).into_iter().map(|citation| pages.check_citation(&citation)).collect::<Vec<_>>(),
        };
        count += found.len();
        let name = file.strip_prefix(root).unwrap_or(file).display();
        wrong.extend(found.into_iter().filter_map(Result::err).map(|why| format!("{name}: {why}")));
    }
    wrong.extend(misnumbered(&root.join("docs/decisions"))?);
    if wrong.is_empty() {
        say(&format!("{count} links and citations lead somewhere"));
        return Ok(());
    }
    bail!("{}", wrong.join("\n"))
}

/// Markdown and Rust files below `directory`, in an order of their own.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = fs::read_dir(directory).with_context(|| format!("failed to list {}", directory.display()))?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = entry.file_type()?;
        if kind.is_dir() && !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) {
            collect(&entry.path(), files)?;
        } else if kind.is_file() && (name.ends_with(".md") || name.ends_with(".rs")) {
            files.push(entry.path());
        }
    }
    Ok(())
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    text: String,
    target: String,
}

/// The relative links of a page, outside of code.
fn links_of(page: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut is_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("](") {
            let Some((target, after)) = after.split_once(')') else { break };
            let text = before.rsplit_once('[').map_or("", |(_, text)| text);
            let is_in_code = line[..line.len() - after.len()].matches('`').count() % 2 == 1;
            if !is_in_code && !target.contains("://") && !target.starts_with("mailto:") {
                links.push(Link { text: text.to_owned(), target: target.to_owned() });
            }
            rest = after;
        }
    }
    links
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Citation {
    page: String,
    heading: Option<String>,
}

/// The pages of `docs`, and the contract of the protocol, as comments of a Rust file cite them.
fn citations(source: &str) -> Vec<Citation> {
    let mut comments = String::new();
    for line in source.lines() {
        match line.split_once("//") {
            // A comment goes on in the next line.
            Some((_, comment)) => {
                comments.push(' ');
                comments.push_str(comment.trim_start_matches(['/', '!']).trim());
            }
            None => comments.push('\n'),
        }
    }
    let mut citations = Vec::new();
    let found = ["docs/", "protocol/README.md"].into_iter().flat_map(|start| comments.match_indices(start));
    for (at, _) in found {
        let rest = &comments[at..];
        let end = rest.find(|next: char| !next.is_ascii_alphanumeric() && !"/-_.".contains(next));
        let path = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
        if path.ends_with(".md") {
            let heading = rest[path.len()..].strip_prefix(", \"").and_then(|quoted| quoted.split_once('"'));
            let heading = heading.map(|(heading, _)| heading.to_owned());
            citations.push(Citation { page: path.to_owned(), heading });
        }
    }
    citations
}

/// Files that were read.
struct Pages<'a> {
    root: &'a Path,
    texts: HashMap<PathBuf, Option<String>>,
}

impl Pages<'_> {
    fn text(&mut self, path: &Path) -> Option<&str> {
        let read = || fs::read_to_string(path).ok();
        self.texts.entry(path.to_owned()).or_insert_with(read).as_deref()
    }

    fn check_link(&mut self, from: &Path, link: &Link) -> Result<(), String> {
        let (path, anchor) = match link.target.split_once('#') {
            Some((path, anchor)) => (path, Some(anchor)),
            None => (link.target.as_str(), None),
        };
        let target = match path {
            "" => from.to_owned(),
            path => normalised(&from.parent().unwrap_or(self.root).join(path)),
        };
        if !target.exists() {
            return Err(format!("{} does not exist", link.target));
        }
        if let Some(anchor) = anchor {
            let text = self.text(&target).unwrap_or_default();
            return match headings(text).any(|heading| slug(heading) == anchor) {
                true => Ok(()),
                false => Err(format!("{} has no such heading", link.target)),
            };
        }
        let is_code = matches!(target.extension().and_then(|extension| extension.to_str()), Some("rs" | "json"));
        let named = link.text.trim_matches('`');
        if !is_code || is_name_of(named, &target) {
            return Ok(());
        }
        match self.text(&target).is_some_and(|text| text.contains(named)) {
            true => Ok(()),
            false => Err(format!("{} does not hold {named}", link.target)),
        }
    }

    fn check_citation(&mut self, citation: &Citation) -> Result<(), String> {
        let path = self.root.join(&citation.page);
        let Some(text) = self.text(&path) else {
            return Err(format!("{} is cited and does not exist", citation.page));
        };
        match &citation.heading {
            Some(heading) if !headings(text).any(|found| found == heading) => {
                Err(format!("{} is cited by the heading \"{heading}\", which it does not have", citation.page))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a link's text only names its file.
fn is_name_of(text: &str, target: &Path) -> bool {
    target.to_string_lossy().ends_with(text) || target.file_stem().is_some_and(|stem| *stem == *text)
}

fn headings(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim())
}

/// The anchor of a heading, as the sites that show Markdown make it.
fn slug(heading: &str) -> String {
    let kept = heading.chars().filter(|character| character.is_alphanumeric() || " -_".contains(*character));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

/// `path` without `..` and `.`.
fn normalised(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

/// Decisions whose number is not the next one, or not that of their title.
fn misnumbered(directory: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(directory)? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let mut wrong = Vec::new();
    for (number, name) in (1..).zip(&names) {
        let text = fs::read_to_string(directory.join(name))?;
        if !name.starts_with(&format!("{number:04}-")) || !text.starts_with(&format!("# {number}. ")) {
            wrong.push(format!("docs/decisions/{name}: the decision here is number {number}"));
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_outside_of_code() {
        let link = |text: &str, target: &str| Link { text: text.to_owned(), target: target.to_owned() };
        let page =
            "[a](b.md#c), [`d`](../e.rs)\n```\n[f](g.md)\n```\n[h](https://example.org/i) and [j](#k), but `[](l)`";
        assert_eq!(links_of(page), [link("a", "b.md#c"), link("`d`", "../e.rs"), link("j", "#k")]);
    }

    #[test]
    fn citations_go_on_in_the_next_line() {
        let citation =
            |page: &str, heading: Option<&str>| Citation { page: page.to_owned(), heading: heading.map(str::to_owned) };
        // Written so that these are no citations themselves.
        let source = "//! One (D/a.md,\n//! \"Of two words\").\nlet x = \"D/none.md\";\n/// See D/b/c-1.md.\n";
        let source = source.replace("D/", "docs/");
        assert_eq!(citations(&source), [citation("docs/a.md", Some("Of two words")), citation("docs/b/c-1.md", None)]);
    }

    #[test]
    fn headings_become_anchors() {
        assert_eq!(slug("Messages for a model"), "messages-for-a-model");
        assert_eq!(slug("`compact`: what, and why?"), "compact-what-and-why");
    }

    #[test]
    fn what_leads_nowhere_is_named() {
        let root = root();
        let mut pages = Pages { root: &root, texts: HashMap::new() };
        let mut check = |text: &str, target: &str| {
            let link = Link { text: text.to_owned(), target: target.to_owned() };
            pages.check_link(&root.join("docs/README.md"), &link).is_ok()
        };
        assert!(check("x", "README.md") && check("links", "../xtask/src/links.rs"));
        assert!(check("`what_leads_nowhere_is_named`", "../xtask/src/links.rs"));
        let absent = ["`no_such", "_test`"].concat();
        assert!(!check("x", "none.md") && !check(&absent, "../xtask/src/links.rs"));
        assert!(check("x", "#how-compactd-works") && !check("x", "README.md#nowhere"));
    }
}
