//! Whether the score of a summary tells good ones from bad ones, on real sessions where they are at hand.

#![expect(clippy::print_stderr, reason = "the figures are for people, and a test that is skipped says so")]

use std::path::Path;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryBody};
use compaction_core::extractive::{Style, render};
use compaction_core::file_operations::FileTools;
use compaction_core::ledger::{Check, Ledger, LossReport, Statement, Voice};
use compaction_core::preparation::PreparedMessage;
use compaction_core::summary::{SummaryKind, append_file_blocks};
use serde::Deserialize;

const SESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/corpus/sessions");

/// What a model wrote when it compacted a session.
#[derive(Deserialize)]
struct Written {
    /// The number of messages before it.
    at: usize,
    text: String,
}

/// A session up to a place, and what a model wrote there.
struct Case {
    name: String,
    messages: Vec<PreparedMessage>,
    ledger: Ledger,
    written: String,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(SESSIONS).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Some(name) = path.to_str().and_then(|path| path.strip_suffix(".llm-summaries.json")) else { continue };
        let summaries: Vec<Written> = serde_json::from_str(&text(&path)).expect("summaries are a list");
        let all = messages(Path::new(&format!("{name}.jsonl")));
        for written in summaries {
            let messages = all[..written.at].to_vec();
            let ledger = Ledger::collect(&messages, None, &FileTools::default());
            let name = name.rsplit('/').next().unwrap_or(name).to_owned();
            cases.push(Case { name, messages, ledger, written: written.text });
        }
    }
    if cases.is_empty() {
        eprintln!("skipped: there are no sessions with summaries in {SESSIONS}");
    }
    cases
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).expect("the corpus can be read")
}

fn messages(path: &Path) -> Vec<PreparedMessage> {
    let text = text(path);
    let entries = text.lines().skip(1).map(|line| Entry::parse(line).expect("the corpus is well-formed"));
    let prepared = |entry: Entry| match entry.body() {
        EntryBody::Message(message) => {
            Some(PreparedMessage { entry_id: entry.id().clone(), message: Arc::clone(message) })
        }
        _ => None,
    };
    entries.filter_map(prepared).collect()
}

impl Case {
    fn report(&self, summary: &str) -> LossReport {
        let check = Check { ledger: &self.ledger, summary, evicted: &self.messages, previous_summary: None, kept: &[] };
        LossReport::of(&check)
    }

    fn score(&self, what: &str, summary: &str) -> f64 {
        let report = self.report(summary);
        let score = report.retention.score();
        eprintln!("{:<16}{what:<24}{:>7} bytes {score:.3} {:?}", self.name, summary.len(), report.retention);
        score
    }

    /// Every name that the session used, in one line.
    fn bag_of_names(&self) -> String {
        let names = self.ledger.identifiers.iter().chain(&self.ledger.paths).map(|record| record.name.as_str());
        format!("## Critical Context\n- Names in use: {}", names.collect::<Vec<_>>().join(", "))
    }

    fn list_of_files(&self) -> String {
        let lists = self.ledger.file_lists();
        append_file_blocks("## Goal\n- (none)", &lists.read_files, &lists.modified_files)
    }

    /// What was said, each statement clipped, the newest in `bytes`.
    fn clipped_talk(&self, bytes: usize) -> String {
        let is_talk =
            |statement: &&Statement| !matches!(statement.voice, Voice::Quote | Voice::Action | Voice::Milestone);
        let mut left = bytes;
        let mut lines: Vec<String> = Vec::new();
        for statement in self.ledger.statements().iter().rev().filter(is_talk) {
            let line: String = statement.text.chars().take(400).collect();
            let Some(rest) = left.checked_sub(line.len() + 1) else { break };
            left = rest;
            lines.push(line);
        }
        lines.reverse();
        lines.join("\n")
    }
}

#[test]
fn a_good_summary_scores_above_lists_and_above_half_of_itself() {
    for case in cases() {
        let good = case.score("a model", &case.written);
        let half: Vec<&str> = case.written.lines().step_by(2).collect();
        let style = Style {
            custom_instructions: None,
            max_tokens: case.written.len() as u64 / 4,
            citations: false,
            turn: None,
            with_turn: None,
        };
        let own = render(&case.ledger, SummaryKind::History, &style);
        assert!(good > case.score("names", &case.bag_of_names()) + 0.2, "{}", case.name);
        assert!(good > case.score("files", &case.list_of_files()) + 0.2, "{}", case.name);
        assert!(good > case.score("half of the lines", &half.join("\n")) + 0.02, "{}", case.name);
        assert!(case.score("extractive", &own) > 0.2, "{}", case.name);
        case.score("clipped talk", &case.clipped_talk(case.written.len()));
    }
}

#[test]
fn little_is_added_to_a_good_summary() {
    for case in cases() {
        let report = case.report(&case.written);
        let Some(repair) = report.repair(case.written.len() as u64 / 40, 0) else { continue };
        eprintln!("{}\n{}", case.name, repair.block);
        assert!(repair.block.len() * 9 <= case.written.len(), "{}: {}", case.name, repair.block);
        assert!(!repair.block.contains("Resolved"), "{}", repair.block);
    }
}

#[test]
fn what_a_model_says_is_not_doubted() {
    for case in cases() {
        let report = case.report(&case.written);
        // The harness of the agent put the path of its own transcript behind the summary.
        let doubted: Vec<&String> = report.unsupported.iter().filter(|name| !name.ends_with(".jsonl")).collect();
        assert!(doubted.is_empty() && report.reversed.is_empty(), "{}: {doubted:?} {:?}", case.name, report.reversed);
    }
}

#[test]
fn what_our_own_summary_says_is_not_doubted() {
    for path in std::fs::read_dir(SESSIONS).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        let messages = messages(&path);
        let ledger = Ledger::collect(&messages, None, &FileTools::default());
        let style =
            Style { custom_instructions: None, max_tokens: 6000, citations: false, turn: None, with_turn: None };
        let written = render(&ledger, SummaryKind::History, &style);
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let case = Case { name, messages, ledger, written };
        let report = case.report(&case.written);
        eprintln!("{}: {:?} {:?}", case.name, report.unsupported, report.reversed);
        assert!(report.reversed.len() <= 1 && report.unsupported.len() <= 1, "{}", case.name);
    }
}
