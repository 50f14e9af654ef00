//! Questions about sessions, and which of them a text answers.
//!
//! A text answers a question if one of its statements matches all patterns of `all` and none of
//! `not`, whatever the case. Patterns tell that an answer can be there, not that it reads well.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;

/// Characters of a window over all lines.
const WINDOW: usize = 420;
/// Characters from the start of a window to that of the next.
const STEP: usize = WINDOW / 2;

/// Starts of lines that list names and state nothing.
const BAGS_OF_NAMES: [&str; 2] = ["Names in use", "Paths in use"];
/// Blocks that list files and state nothing.
const FILE_BLOCKS: [&str; 2] = ["read-files", "modified-files"];

/// A question about a session.
#[derive(Debug)]
pub struct Question {
    /// Names the question: its own `id`, or the session with the number of the question in it.
    pub id: String,
    /// The session: the name of its file without the extension.
    pub session: String,
    /// How many `message` entries are compacted away before it is asked.
    pub at: usize,
    /// What it is about: `continuation`, `decision`, `artifact` or `recall`.
    pub kind: String,
    /// What a person would ask.
    pub question: String,
    all: Vec<Regex>,
    not: Vec<Regex>,
}

#[derive(Deserialize)]
struct Line {
    id: Option<String>,
    session: String,
    at: usize,
    kind: String,
    question: String,
    all: Vec<String>,
    #[serde(default)]
    not: Vec<String>,
}

impl Question {
    /// Reads a file of questions, one JSON object a line.
    ///
    /// # Errors
    /// When the file cannot be read, or with the number of a line that is no question or holds a
    /// pattern that cannot be used.
    pub fn read(path: &Path) -> anyhow::Result<Vec<Self>> {
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        Self::parse(&text).with_context(|| format!("failed to read {}", path.display()))
    }

    /// Reads questions from text, one JSON object a line; blank lines are passed over.
    ///
    /// # Errors
    /// With the number of a line that is no question or holds a pattern that cannot be used.
    pub fn parse(text: &str) -> anyhow::Result<Vec<Self>> {
        let mut counts = BTreeMap::new();
        let mut questions = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let mut read = || Self::from_line(serde_json::from_str(line)?, &mut counts);
            questions.push(read().with_context(|| format!("line {number}"))?);
        }
        Ok(questions)
    }

    fn from_line(line: Line, counts: &mut BTreeMap<String, usize>) -> anyhow::Result<Self> {
        anyhow::ensure!(!line.all.is_empty(), "`all` is empty: every statement would answer the question");
        let count = counts.entry(line.session.clone()).or_default();
        *count += 1;
        Ok(Self {
            id: line.id.unwrap_or_else(|| format!("{}/{count}", line.session)),
            session: line.session,
            at: line.at,
            kind: line.kind,
            question: line.question,
            all: patterns(&line.all)?,
            not: patterns(&line.not)?,
        })
    }

    /// Whether one of the statements answers the question.
    pub fn is_answered(&self, statements: &Statements) -> bool {
        statements.0.iter().any(|statement| {
            self.all.iter().all(|pattern| pattern.is_match(statement))
                && !self.not.iter().any(|pattern| pattern.is_match(statement))
        })
    }
}

fn patterns(patterns: &[String]) -> anyhow::Result<Vec<Regex>> {
    let pattern = |pattern: &String| {
        RegexBuilder::new(pattern).case_insensitive(true).build().with_context(|| format!("pattern {pattern:?}"))
    };
    patterns.iter().map(pattern).collect()
}

/// What a text states: each line, and windows over all lines.
#[derive(Debug)]
pub struct Statements(Vec<String>);

impl Statements {
    /// The statements of a text. Blank lines, bags of names and blocks of files state nothing.
    pub fn of(text: &str) -> Self {
        let text = without_file_blocks(text);
        let lines: Vec<&str> =
            text.lines().filter(|line| !line.trim().is_empty() && !starts_with_any(line, &BAGS_OF_NAMES)).collect();
        let mut statements = windows(&lines.join("\n"));
        statements.extend(lines.into_iter().map(str::to_owned));
        Self(statements)
    }
}

/// Whether a line begins with one of `starts` behind the marks of a list.
pub fn starts_with_any(line: &str, starts: &[&str]) -> bool {
    let line = line.trim_start_matches(|character: char| character.is_whitespace() || "-*[]".contains(character));
    let line = line.strip_prefix("x] ").unwrap_or(line);
    starts.iter().any(|start| line.starts_with(start))
}

/// A text without its blocks of files; a block that is cut off goes to the end of the text.
pub fn without_file_blocks(text: &str) -> String {
    FILE_BLOCKS.iter().fold(text.to_owned(), |text, name| {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        let mut kept = String::with_capacity(text.len());
        let mut rest = text.as_str();
        while let Some((before, inside)) = rest.split_once(&open) {
            kept.push_str(before);
            rest = inside.split_once(&close).map_or("", |(_, after)| after);
        }
        kept + rest
    })
}

fn windows(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let window = |start: usize| characters[start..characters.len().min(start + WINDOW)].iter().collect();
    (0..characters.len()).step_by(STEP).map(window).collect()
}
