//! Sessions of any size whose messages are as large as those of real sessions, for benchmarks and
//! for tests of large files.

use std::collections::BTreeMap;
use std::io::{self, Write};

use compaction_core::entry::iso_timestamp;
use serde::Deserialize;

use super::json::{self, Members};
use super::random::Random;

const START: i64 = 1_763_681_581_000;
const KEPT_TOKENS: u64 = 20_000;
const LINE_WIDTH: usize = 80;

/// What realistic session to make.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Size that the file reaches; it is passed by one turn at most.
    pub bytes: u64,
    /// The same seed gives the same file.
    pub seed: u64,
    /// Estimated tokens of context at which a compaction is written; `None` for a session without.
    pub compact_above_tokens: Option<u64>,
}

impl Plan {
    /// A session of `bytes` bytes that was compacted as often as a window of 200,000 tokens needs.
    pub fn new(bytes: u64, seed: u64) -> Self {
        Self { bytes, seed, compact_above_tokens: Some(180_000) }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Realistic {
    /// Size of the file.
    pub bytes: u64,
    /// Entries, the header not counted.
    pub entries: u64,
    /// Compactions among them.
    pub compactions: u64,
    /// The last entry.
    pub leaf_id: String,
}

/// Writes a realistic session to `out`, one line at a time. Fails where `out` fails.
pub fn realistic(plan: &Plan, out: &mut impl Write) -> io::Result<Realistic> {
    let mut scribe = Scribe::new(plan, out);
    let id = format!("realistic-{:016x}", plan.seed);
    let header = Members::new().text("type", "session").with("version", "3").text("id", &id);
    scribe.line(&header.text("timestamp", &iso_timestamp(START)).text("cwd", "/project").compact())?;
    while scribe.written.bytes < plan.bytes {
        scribe.turn()?;
        if plan.compact_above_tokens.is_some_and(|limit| scribe.context_tokens > limit) {
            scribe.compaction()?;
        }
    }
    Ok(scribe.written)
}

#[derive(Debug, Deserialize)]
struct Sizes {
    quantiles: BTreeMap<String, Vec<f64>>,
    shapes: BTreeMap<String, usize>,
    tools: BTreeMap<String, usize>,
}

impl Sizes {
    fn read() -> Self {
        serde_json::from_str(include_str!("../../data/block-sizes.json")).expect("the file is part of the project")
    }

    /// A size of `kind`, between two quantiles on a logarithmic scale, as sizes spread.
    fn sample(&self, kind: &str, random: &mut Random) -> usize {
        let quantiles = &self.quantiles[kind];
        let place = random.fraction() * (quantiles.len() - 1) as f64;
        let (low, high) = (quantiles[place as usize].max(1.0), quantiles[place as usize + 1].max(1.0));
        (low * (high / low).powf(place.fract())) as usize
    }

    fn pick<'a>(weights: &'a BTreeMap<String, usize>, random: &mut Random) -> &'a str {
        let weighted: Vec<(usize, &str)> = weights.iter().map(|(name, weight)| (*weight, name.as_str())).collect();
        random.weighted(&weighted)
    }
}

struct Scribe<'a, W> {
    out: &'a mut W,
    random: Random,
    sizes: Sizes,
    soup: String,
    written: Realistic,
    context_tokens: u64,
    /// The newest entries where a cut may be, with the tokens of context before each.
    cuts: Vec<(String, u64)>,
    calls: u64,
}

impl<'a, W: Write> Scribe<'a, W> {
    fn new(plan: &Plan, out: &'a mut W) -> Self {
        let mut random = Random::new(plan.seed);
        let written = Realistic { bytes: 0, entries: 0, compactions: 0, leaf_id: String::new() };
        let soup = soup(&mut random);
        Self { out, random, sizes: Sizes::read(), soup, written, context_tokens: 0, cuts: Vec::new(), calls: 0 }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        self.written.bytes += line.len() as u64 + 1;
        self.out.write_all(line.as_bytes())?;
        self.out.write_all(b"\n")
    }

    fn entry(&mut self, kind: &str, members: Members) -> io::Result<String> {
        let id = format!("{:08x}", self.written.entries ^ 0x5a00_0000);
        let parent = match self.written.leaf_id.as_str() {
            "" => "null".to_owned(),
            leaf => json::plain_string(leaf),
        };
        let head = Members::new().text("type", kind).text("id", &id).with("parentId", parent);
        let line = head.text("timestamp", &iso_timestamp(self.time())).and(members).compact();
        self.written.entries += 1;
        self.written.leaf_id = id.clone();
        self.line(&line)?;
        Ok(id)
    }

    fn time(&self) -> i64 {
        START + self.written.entries as i64 * 4000
    }

    fn message(&mut self, role: &str, members: Members, units: usize) -> io::Result<()> {
        let before = self.context_tokens;
        self.context_tokens += units.div_ceil(4) as u64;
        let message = Members::new().text("role", role).and(members).with("timestamp", self.time().to_string());
        let id = self.entry("message", Members::new().with("message", message.compact()))?;
        if role != "toolResult" {
            self.cuts.push((id, before));
        }
        Ok(())
    }

    /// A message of the person with the answers to it. People change the thinking level about as
    /// often as they speak: 103 times beside 88 messages in the session that the sizes come from.
    fn turn(&mut self) -> io::Result<()> {
        if self.written.entries == 0 || self.random.below(2) == 0 {
            let level = ["off", "low", "medium", "high"][self.random.below(4)];
            self.entry("thinking_level_change", Members::new().text("thinkingLevel", level))?;
        }
        let (text, units) = self.text_block("user.text");
        self.message("user", Members::new().with("content", json::array(&[text])), units)?;
        for _ in 0..self.sizes.sample("assistantPerTurn", &mut self.random) {
            self.answer()?;
        }
        Ok(())
    }

    fn answer(&mut self) -> io::Result<()> {
        let shape = Sizes::pick(&self.sizes.shapes, &mut self.random).to_owned();
        let mut blocks = Vec::new();
        let mut calls = Vec::new();
        let mut total = 0;
        for kind in shape.chars() {
            let (block, units) = match kind {
                'T' => self.text_block("assistant.text"),
                _ => self.tool_call(&mut calls),
            };
            blocks.push(block);
            total += units;
        }
        let members = Members::new().with("content", json::array(&blocks)).text("api", "anthropic-messages");
        let members = members.text("provider", "anthropic").text("model", "claude-opus-4-5");
        let reason = if calls.is_empty() { "stop" } else { "toolUse" };
        let members = members.with("usage", self.usage(total)).text("stopReason", reason);
        self.message("assistant", members, total)?;
        calls.into_iter().try_for_each(|(id, tool)| self.result(&id, &tool))
    }

    fn usage(&self, units: usize) -> String {
        let (input, output) = (self.context_tokens, units.div_ceil(4) as u64);
        let cost = r#"{"input":0.0001,"output":0.0002,"cacheRead":0.01,"cacheWrite":0,"total":0.0103}"#;
        let members = Members::new().with("input", "12").with("output", output.to_string());
        let members = members.with("cacheRead", input.to_string()).with("cacheWrite", "0");
        members.with("totalTokens", (12 + input + output).to_string()).with("cost", cost).compact()
    }

    fn tool_call(&mut self, calls: &mut Vec<(String, String)>) -> (String, usize) {
        let tool = Sizes::pick(&self.sizes.tools, &mut self.random).to_owned();
        self.calls += 1;
        let id = format!("toolu_{:024}", self.calls);
        let size = self.sizes.sample(&format!("args.{tool}"), &mut self.random);
        let text = self.text(size);
        let path = format!("src/module_{}/file_{}.rs", self.random.below(9), self.random.below(30));
        let arguments = match tool.as_str() {
            "bash" => Members::new().with("command", text),
            "read" => Members::new().text("path", &path),
            "write" => Members::new().text("path", &path).with("content", text),
            _ => Members::new().text("path", &path).with("oldText", "\"old\"").with("newText", text),
        };
        let block = Members::new().text("type", "toolCall").text("id", &id).text("name", &tool);
        calls.push((id, tool));
        (block.with("arguments", arguments.compact()).compact(), size)
    }

    fn result(&mut self, id: &str, tool: &str) -> io::Result<()> {
        let (block, units) = self.text_block(&format!("toolResult.{tool}.text"));
        let members = Members::new().text("toolCallId", id).text("toolName", tool);
        let members = members.with("content", json::array(&[block]));
        let details = (tool == "edit").then(|| {
            let size = self.sizes.sample("details.edit", &mut self.random);
            Members::new().with("diff", self.text(size)).compact()
        });
        let members = members.maybe(details.is_some(), "details", || details.unwrap_or_default());
        self.message("toolResult", members.with("isError", "false"), units)
    }

    /// Keeps the newest entries from a place where no call is parted from its result: between turns
    /// or before an answer.
    fn compaction(&mut self) -> io::Result<()> {
        let limit = self.context_tokens.saturating_sub(KEPT_TOKENS);
        let kept = self.cuts.iter().rposition(|(_, before)| *before <= limit).unwrap_or(0);
        let (first_kept, before) = self.cuts[kept].clone();
        let summary = self.text(6000);
        let members = Members::new().with("summary", summary).text("firstKeptEntryId", &first_kept);
        let members = members.with("tokensBefore", self.context_tokens.to_string());
        self.entry("compaction", members.with("details", r#"{"readFiles":[],"modifiedFiles":[]}"#))?;
        self.written.compactions += 1;
        self.cuts.drain(..kept);
        self.cuts.iter_mut().for_each(|(_, tokens)| *tokens = *tokens - before + 1500);
        self.context_tokens = self.context_tokens - before + 1500;
        Ok(())
    }

    fn text_block(&mut self, kind: &str) -> (String, usize) {
        let size = self.sizes.sample(kind, &mut self.random);
        (Members::new().text("type", "text").with("text", self.text(size)).compact(), size)
    }

    /// About `size` characters in lines, as a JSON string.
    fn text(&mut self, size: usize) -> String {
        let mut out = String::with_capacity(size + size / LINE_WIDTH + 3);
        out.push('"');
        while out.len() < size {
            let width = LINE_WIDTH.min(size - out.len() + 1);
            let start = self.random.below(self.soup.len() - LINE_WIDTH);
            out.push_str(&self.soup[start..start + width]);
            out.push_str("\\n");
        }
        out.push('"');
        out
    }
}

/// Words that lines are taken from; ASCII without anything that JSON escapes.
fn soup(random: &mut Random) -> String {
    const WORDS: [&str; 20] = [
        "let",
        "fn",
        "session",
        "entry",
        "self",
        "the",
        "returns",
        "error",
        "if",
        "match",
        "=>",
        "();",
        "{",
        "}",
        "0x1f",
        "token",
        "compaction",
        "files",
        "and",
        "so",
    ];
    (0..8000).map(|_| *random.pick(&WORDS)).collect::<Vec<_>>().join(" ")
}
