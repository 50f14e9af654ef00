//! What compactions keep: the goals on generated sessions, and models that drop, invent and reverse.

use std::process::Command;
use std::sync::Arc;

use compactd_tests::generate::random::Random;
use compactd_tests::generate::{CHARACTERS, Character, working};
use compaction_core::entry::{Entry, EntryBody};
use compaction_core::extractive::{Style, forecast, render};
use compaction_core::file_operations::FileTools;
use compaction_core::ledger::{Check, Ledger, LossReport, remove_retained_facts};
use compaction_core::preparation::PreparedMessage;
use compaction_core::summary::{SummaryKind, append_file_blocks};

const TURNS: usize = 80;

#[test]
fn goals_are_reached() {
    let output = Command::new(env!("CARGO_BIN_EXE_compactd-quality")).arg("--check").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn messages(character: &Character, seed: u64) -> Vec<PreparedMessage> {
    let entries = working(character, TURNS, seed);
    let entries = entries.lines().skip(1).map(|line| Entry::parse(line).expect("the line is made here"));
    let prepared = |entry: Entry| match entry.body() {
        EntryBody::Message(message) => {
            Some(PreparedMessage { entry_id: entry.id().clone(), message: Arc::clone(message) })
        }
        _ => None,
    };
    entries.filter_map(prepared).collect()
}

/// The lines of a good summary of which a model loses one in three, with paths that it made up.
fn careless(summary: &str, random: &mut Random, invented: &[&str]) -> String {
    let keeps = |line: &&str| line.starts_with('#') || random.chance(667);
    let mut lines: Vec<&str> = summary.lines().filter(keeps).collect();
    let made_up: Vec<String> = invented.iter().map(|path| format!("- See {path}")).collect();
    lines.extend(made_up.iter().map(String::as_str));
    lines.join("\n")
}

/// Each item is told in the summary exactly if the report does not list it.
fn check_report(report: &LossReport, ledger: &Ledger, summary: &str) {
    for file in &ledger.files {
        let is_lost = report.files.contains(&file.path);
        assert!(is_lost || summary.contains(&file.path), "{} is lost and not reported", file.path);
    }
    for error in &ledger.errors {
        let start: String = error.line.chars().take(60).collect();
        let is_lost = report.errors.contains(error);
        assert!(is_lost || summary.contains(start.trim_end()), "{} is lost and not reported", error.line);
    }
    for name in &report.identifiers {
        let around = summary.split(name.as_str()).collect::<Vec<_>>();
        let is_word = |pair: &[&str]| !pair[0].ends_with(is_word) && !pair[1].starts_with(is_word);
        assert!(!around.windows(2).any(is_word), "{name} is reported and not lost");
    }
    for request in &report.requests {
        assert!(!summary.contains(&request.text), "{} is reported and not lost", request.text);
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

#[test]
fn what_careless_models_lose_is_found_and_comes_back() {
    for (seed, character) in (1..).zip(&CHARACTERS) {
        let mut random = Random::new(seed);
        let messages = messages(character, seed);
        let (evicted, kept) = messages.split_at(messages.len() * 4 / 5);
        let ledger = Ledger::collect(evicted, None, &FileTools::default());
        let style = Style { custom_instructions: None, max_tokens: 6000, citations: false };
        let good = render(&ledger, SummaryKind::History, &style);
        let own = forecast(&ledger, 6000, 16_384, kept);
        let invented = ["src/made/up.rs", "/nowhere/at/all.toml", "C:\\Made\\Up.cs"];
        for text in [careless(&good, &mut random, &invented), careless("## Goal", &mut random, &invented)] {
            let check = Check { ledger: &ledger, summary: &text, evicted, previous_summary: None, kept: &[] };
            let report = LossReport::of(&check);
            check_report(&report, &ledger, &text);
            assert_eq!(report.unsupported, invented, "{}", character.name);
            let repair = report.repair(6000).unwrap();
            let files = ledger.file_lists();
            let whole = format!("{text}\n\n{}", repair.block);
            let whole = append_file_blocks(&whole, &files.read_files, &files.modified_files);
            let repaired = LossReport::of(&Check { summary: &whole, kept, ..check });
            let (score, least) = (repaired.retention.score(), own.score());
            assert!(
                score >= least,
                "{}: {:?} after repair, {own:?} without a model",
                character.name,
                repaired.retention
            );
            assert!(repair.retention.score() > report.retention.score());
            let stripped = remove_retained_facts(&whole);
            assert!(!stripped.contains("retained-facts") && stripped.contains("<modified-files>"));
        }
    }
}
