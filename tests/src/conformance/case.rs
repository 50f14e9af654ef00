//! Reads the case files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context as _;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use super::steps::Step;

/// A file of cases.
#[derive(Debug, Clone)]
pub struct Topic {
    /// Name of the file without its ending.
    pub name: String,
    /// What the cases are about.
    pub about: String,
    /// The cases, in file order.
    pub cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicFile {
    about: String,
    cases: Vec<Case>,
}

/// A conversation with a server, and what must come of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// What is tested, in words.
    pub name: String,
    /// The framings in which it is played.
    #[serde(default)]
    pub framing: Framings,
    /// Arguments of the program.
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment of the program, beside the hermetic one.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Optional parts of the server without which the case is skipped: `summarizer:NAME`, `hook:NAME`, `method:NAME`.
    #[serde(default)]
    pub requires: Vec<String>,
    /// Whether a first step initializes the server, or members for its parameters.
    #[serde(default)]
    pub initialize: Initialize,
    /// Files to lay out, by path under the case's directory.
    #[serde(default)]
    pub files: BTreeMap<String, Contents>,
    /// Names of sessions under `sessions/` that are laid out as `NAME.jsonl` and opened.
    #[serde(default)]
    pub open: Vec<String>,
    /// Size in bytes over which no file can grow: writes beyond it fail.
    #[serde(default)]
    pub file_size_limit: Option<u64>,
    /// Whether a trivial call follows every expected error, to see that the server still answers.
    #[serde(default = "yes")]
    pub probe: bool,
    /// What happens.
    pub steps: Vec<Step>,
}

fn yes() -> bool {
    true
}

impl Case {
    /// Whether a server of these abilities has all that the case needs.
    pub fn is_for(&self, abilities: &[String]) -> bool {
        self.requires.iter().all(|wanted| abilities.contains(wanted))
    }
}

/// How messages are delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Framing {
    /// One JSON text per line.
    Lines,
    /// `Content-Length` headers.
    Headers,
}

impl Framing {
    /// The name that case files use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::Headers => "headers",
        }
    }

    /// A message with what delimits it.
    pub(crate) fn frame(self, body: &[u8]) -> Vec<u8> {
        match self {
            Self::Lines => [body, b"\n"].concat(),
            Self::Headers => [format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes(), body].concat(),
        }
    }
}

/// The framings in which a case is played.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Framings {
    /// Both, one after the other.
    #[default]
    Both,
    /// Lines alone.
    Lines,
    /// Headers alone.
    Headers,
}

impl Framings {
    pub(crate) fn all(self) -> Vec<Framing> {
        match self {
            Self::Both => vec![Framing::Lines, Framing::Headers],
            Self::Lines => vec![Framing::Lines],
            Self::Headers => vec![Framing::Headers],
        }
    }
}

/// How a case begins.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Initialize {
    /// With `initialize`, or without.
    Usual(bool),
    /// With `initialize` and these members over the usual ones.
    With(serde_json::Map<String, Value>),
}

impl Default for Initialize {
    fn default() -> Self {
        Self::Usual(true)
    }
}

/// What a file holds at the start.
#[derive(Debug, Clone)]
pub enum Contents {
    /// Lines: objects are written as compact JSON, strings as they are; each is ended by LF.
    Lines(Vec<Box<RawValue>>),
    /// Exact bytes, a copy of a file beside the cases, or what is no regular file.
    Special(Special),
}

impl<'de> Deserialize<'de> for Contents {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // Raw, since the members of a line keep their order.
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        let contents = match raw.get().starts_with('[') {
            true => serde_json::from_str(raw.get()).map(Self::Lines),
            false => serde_json::from_str(raw.get()).map(Self::Special),
        };
        contents.map_err(D::Error::custom)
    }
}

/// Contents that are not lines.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Special {
    /// Exact bytes.
    Bytes(Value),
    /// Path under `tests/conformance`.
    Copy(String),
    /// A link to this path.
    Link(String),
    /// A pipe with a name, which nobody else opens.
    Pipe {},
}

/// Reads every topic under `directory`, by name.
///
/// # Errors
/// When a file cannot be read or does not hold cases.
pub fn load(directory: &Path) -> anyhow::Result<Vec<Topic>> {
    let mut paths = Vec::new();
    for item in std::fs::read_dir(directory).with_context(|| format!("failed to list {}", directory.display()))? {
        paths.push(item?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    paths.iter().filter(|path| path.file_stem().is_some_and(|stem| stem != "codes")).map(|path| topic(path)).collect()
}

fn topic(path: &Path) -> anyhow::Result<Topic> {
    let text = std::fs::read_to_string(path)?;
    let file: TopicFile =
        serde_json::from_str(&text).with_context(|| format!("failed to read the cases of {}", path.display()))?;
    let name = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(Topic { name, about: file.about, cases: file.cases })
}
