//! The peer: the published package in a Node process.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::Context as _;
use compactd_tests::published_package;
use compaction_core::json::Json;

use super::branches::{Way, WayFacts};
use super::facts::{self, Facts};
use super::requests::FOCUS;

/// What to ask of a session: at which leaves with how many tokens to keep, and which ways in
/// the tree. Entries are positions in the file; no position means the leaf of the file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions {
    pub(crate) cases: Vec<(Option<usize>, u64)>,
    pub(crate) ways: Vec<Way>,
}

/// The peer's answers.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) ids: Vec<String>,
    pub(crate) leaf: Option<usize>,
    pub(crate) cases: Vec<anyhow::Result<Facts>>,
    pub(crate) ways: Vec<anyhow::Result<WayFacts>>,
}

#[derive(Debug)]
pub(crate) struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Peer {
    /// Starts the peer, whose package must be installed.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mut node = Command::new("node");
        node.arg(published_package::directory().join("peer.mjs")).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = node.spawn().context("failed to start node")?;
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().context("stdout was piped above")?);
        Ok(Self { child, input, output })
    }

    /// Asks about the session in `file`, which the peer may rewrite.
    pub(crate) fn ask(&mut self, file: &Path, questions: &Questions) -> anyhow::Result<Answers> {
        let line = self.exchange(&request(file, questions))?;
        let json = Json::parse(&line).with_context(|| format!("answer of the peer: {line}"))?;
        facts::refuse_error(&json)?;
        let id = |id: &Json<'_>| id.as_str().unwrap_or_default().to_owned();
        Ok(Answers {
            ids: facts::array(&json, "ids")?.iter().map(id).collect(),
            leaf: facts::member(&json, "leaf")?.as_f64().map(|position| position as usize),
            cases: facts::array(&json, "cases")?.iter().map(Facts::read).collect(),
            ways: facts::array(&json, "ways")?.iter().map(WayFacts::read).collect(),
        })
    }

    fn exchange(&mut self, request: &str) -> anyhow::Result<String> {
        let input = self.input.as_mut().context("the peer's input is open until it is dropped")?;
        writeln!(input, "{request}").and_then(|()| input.flush()).context("failed to ask the peer")?;
        let mut line = String::new();
        self.output.read_line(&mut line).context("failed to read the peer's answer")?;
        anyhow::ensure!(!line.is_empty(), "the peer ended without an answer");
        Ok(line)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input is what ends the peer.
        self.input = None;
        let _ = self.child.wait();
    }
}

fn request(file: &Path, questions: &Questions) -> String {
    let leaf = |leaf: &Option<usize>| leaf.map_or_else(|| "null".to_owned(), |leaf| leaf.to_string());
    let focus = compaction_core::json::encode_string(FOCUS);
    let case = |(at, keep): &(Option<usize>, u64)| {
        format!("{{\"leaf\":{},\"keepRecentTokens\":{keep},\"focus\":{focus}}}", leaf(at))
    };
    let cases: Vec<String> = questions.cases.iter().map(case).collect();
    // No budget is 0 there.
    let way = |way: &Way| format!("[{},{},{}]", way.from, way.to, way.budget.unwrap_or(0));
    let ways: Vec<String> = questions.ways.iter().map(way).collect();
    let file = compaction_core::json::encode_string(&file.to_string_lossy());
    format!("{{\"file\":{file},\"cases\":[{}],\"ways\":[{}]}}", cases.join(","), ways.join(","))
}
