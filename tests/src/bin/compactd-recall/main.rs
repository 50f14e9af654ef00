//! Measures what `recall` gives back: queries are made from what was compacted away of real sessions,
//! and asked of the server with its own limits. Prints one table.

mod plain;
mod queries;
mod session;

use std::collections::HashSet;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use compactd_tests::agent::Sidecar;
use compactd_tests::generate::random::Random;
use regex_lite::Regex;
use serde_json::{Value, json};

use crate::plain::Plain;
use crate::queries::{Goal, Query};
use crate::session::{Question, Subject};

/// Queries that are made of the facts, and of the changes, of one session at most.
const MADE_EACH: usize = 75;
/// What the server gives back where nothing is said, for those who compare.
const DEFAULT_TOKENS: u64 = 2000;
/// Passages among which a change must be.
const FIRST: usize = 5;
/// Shares that must be reached of each kind, in hundredths. Of facts and questions together, as many as are
/// made where nothing is said, that is 93.
const LEAST: [f64; 3] = [96.0, 72.0, 80.0];

#[derive(Debug, Clone, Copy)]
struct Options {
    is_checked: bool,
    is_listing: bool,
    seed: u64,
    most: usize,
}

/// How often what was asked for came back.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    asked: usize,
    answered: usize,
    plainly_answered: usize,
}

/// Counts by kind: facts, questions, changes.
type Counts = [Count; 3];
const KINDS: [&str; 3] = ["facts", "questions", "changes"];

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::read(std::env::args().skip(1))?;
    let mut out = std::io::stdout().lock();
    let Some(shared) = session::shared() else {
        writeln!(out, "skipped: the real sessions are not here")?;
        return Ok(ExitCode::SUCCESS);
    };
    let home = tempfile::tempdir()?;
    let mut server = Sidecar::start(home.path(), &json!({ "compaction": { "enabled": false } }))?;
    let questions = session::questions(&shared)?;
    writeln!(out, "| session | {} | a call |", KINDS.map(|kind| format!("{kind} (plain BM25)")).join(" | "))?;
    writeln!(out, "|---|{}---|", "---|".repeat(KINDS.len()))?;
    // Rules are tuned on every second session, and checked on the others.
    let mut halves = [Counts::default(); 2];
    let mut slowest = Duration::ZERO;
    for (number, file) in session::files(&shared)?.iter().enumerate() {
        let subject = Subject::open(&mut server, file, home.path(), &questions)?;
        let (counts, mean) = measure(&mut server, &subject, options, &mut out)?;
        slowest = slowest.max(mean);
        add(&mut halves[number % 2], &counts);
        writeln!(out, "| {} | {} | {:.1} ms |", subject.name, row(&counts), mean.as_secs_f64() * 1000.0)?;
    }
    let mut all = halves[0];
    add(&mut all, &halves[1]);
    for (name, counts) in [("tuned on", halves[0]), ("not tuned on", halves[1]), ("all", all)] {
        writeln!(out, "| **{name}** | {} | |", row(&counts))?;
    }
    server.shut_down()?;
    let answered =
        Count { asked: all[0].asked + all[1].asked, answered: all[0].answered + all[1].answered, plainly_answered: 0 };
    let is_reached = all.iter().zip(LEAST).all(|(count, least)| count.share() >= least);
    let shares = KINDS.iter().zip(&all).zip(LEAST);
    let shares = shares.map(|((kind, count), least)| format!("{kind} {:.1} % (goal {least})", count.share()));
    writeln!(out, "\nfacts and questions together: {:.1} % of {}", answered.share(), answered.asked)?;
    writeln!(out, "{}", shares.collect::<Vec<_>>().join(", "))?;
    Ok(if options.is_checked && !is_reached { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self { is_checked: false, is_listing: false, seed: 0, most: MADE_EACH };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.is_checked = true,
                "--missing" => options.is_listing = true,
                "--seed" => options.seed = arguments.next().context("--seed needs a number")?.parse()?,
                "--most" => options.most = arguments.next().context("--most needs a number")?.parse()?,
                other => anyhow::bail!("unknown argument {other}: there are --check, --missing, --most N and --seed N"),
            }
        }
        Ok(options)
    }
}

impl Count {
    fn share(&self) -> f64 {
        100.0 * self.answered as f64 / self.asked.max(1) as f64
    }
}

fn add(sum: &mut Counts, counts: &Counts) {
    for (sum, count) in sum.iter_mut().zip(counts) {
        sum.asked += count.asked;
        sum.answered += count.answered;
        sum.plainly_answered += count.plainly_answered;
    }
}

fn row(counts: &Counts) -> String {
    let cell = |count: &Count| {
        if count.asked == 0 {
            "–".to_owned()
        } else {
            format!("{}/{} ({})", count.answered, count.asked, count.plainly_answered)
        }
    };
    counts.each_ref().map(cell).join(" | ")
}

fn measure(
    server: &mut Sidecar,
    subject: &Subject,
    options: Options,
    out: &mut impl std::io::Write,
) -> anyhow::Result<(Counts, Duration)> {
    let mut random = Random::new(options.seed ^ 0x7ec4_11ed);
    let plain = Plain::new(&subject.evicted);
    let kinds = [
        queries::facts(subject, options.most, &mut random),
        queries::questions(subject),
        queries::changes(subject, options.most, &mut random),
    ];
    let mut counts = Counts::default();
    let mut spent = Duration::ZERO;
    for (count, queries) in counts.iter_mut().zip(&kinds) {
        for query in queries {
            let asked = Instant::now();
            let result = server.call("recall", &json!({ "sessionId": subject.id, "query": query.text }))?;
            spent += asked.elapsed();
            anyhow::ensure!(
                result["tokens"].as_u64().is_some_and(|tokens| tokens <= DEFAULT_TOKENS),
                "too much came back"
            );
            let is_answered = is_answered(&result, query)?;
            let is_plainly_answered = is_plainly_answered(&plain, subject, query)?;
            count.asked += 1;
            count.answered += usize::from(is_answered);
            count.plainly_answered += usize::from(is_plainly_answered);
            if options.is_listing && !is_answered {
                writeln!(out, "{} {:?} -> {}", if is_plainly_answered { "-" } else { " " }, query.text, query.goal)?;
            }
        }
    }
    let asked: usize = counts.iter().map(|count| count.asked).sum();
    Ok((counts, spent / asked.max(1) as u32))
}

/// The pieces of text that a result gives, with entry and, of calls, content block.
fn pieces(result: &Value) -> Vec<(String, Option<u64>, String)> {
    let mut pieces = Vec::new();
    for entry in result["entries"].as_array().into_iter().flatten() {
        let id = entry["entryId"].as_str().unwrap_or_default();
        let units: Vec<u16> = entry["text"].as_str().unwrap_or_default().encode_utf16().collect();
        for passage in entry["passages"].as_array().into_iter().flatten() {
            let number = |name: &str| passage[name].as_u64().unwrap_or_default() as usize;
            let (start, end, offset) = (number("start"), number("end"), number("offset"));
            let text = String::from_utf16_lossy(&units[offset..offset + end - start]);
            let block = passage["block"].as_u64().filter(|_| passage["part"] == "toolCall");
            pieces.push((id.to_owned(), block, text));
        }
    }
    pieces
}

fn is_answered(result: &Value, query: &Query) -> anyhow::Result<bool> {
    let texts = || result["entries"].as_array().into_iter().flatten().filter_map(|entry| entry["text"].as_str());
    Ok(match &query.goal {
        Goal::Fact(fact) => texts().any(|text| text.contains(fact.as_str())),
        Goal::Patterns(question) => {
            let patterns = Patterns::of(question)?;
            pieces(result).iter().any(|(_, _, text)| patterns.match_all(text))
        }
        Goal::Changes(calls) => {
            let pieces = pieces(result).into_iter().take(FIRST);
            let mut found: HashSet<(String, u64)> = pieces.filter_map(|(id, block, _)| Some((id, block?))).collect();
            found.retain(|call| calls.contains(call));
            !found.is_empty()
        }
    })
}

fn is_plainly_answered(plain: &Plain, subject: &Subject, query: &Query) -> anyhow::Result<bool> {
    let answers = plain.ask(&query.text, DEFAULT_TOKENS);
    Ok(match &query.goal {
        Goal::Fact(fact) => answers.iter().any(|answer| answer.text.contains(fact.as_str())),
        Goal::Patterns(question) => {
            let patterns = Patterns::of(question)?;
            answers.iter().any(|answer| patterns.match_all(answer.text))
        }
        Goal::Changes(calls) => {
            let ids: HashSet<&str> = calls.iter().map(|(id, _)| id.as_str()).collect();
            answers.iter().take(FIRST).any(|answer| ids.contains(subject.evicted[answer.entry].id.as_str()))
        }
    })
}

/// Patterns, whatever the case.
struct Patterns {
    all: Vec<Regex>,
    not: Vec<Regex>,
}

impl Patterns {
    fn of(question: &Question) -> anyhow::Result<Self> {
        let read = |pattern: &String| Regex::new(&format!("(?i){pattern}")).context("a pattern cannot be read");
        let all = question.all.iter().map(read).collect::<Result<_, _>>()?;
        let not = question.not.iter().flatten().map(read).collect::<Result<_, _>>()?;
        Ok(Self { all, not })
    }

    fn match_all(&self, text: &str) -> bool {
        self.all.iter().all(|pattern| pattern.is_match(text)) && !self.not.iter().any(|pattern| pattern.is_match(text))
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Goal::Fact(fact) => write!(formatter, "{fact}"),
            Goal::Patterns(question) => write!(formatter, "{:?}", question.all),
            Goal::Changes(calls) => write!(formatter, "{} changes", calls.len()),
        }
    }
}
