//! What compactions keep: the goals on generated sessions, models that drop, invent and reverse, and
//! how it is judged whether a text answers a question.

use std::process::{Command, Output};
use std::sync::Arc;

use compactd_tests::binary::binary;
use compactd_tests::generate::random::Random;
use compactd_tests::generate::{CHARACTERS, Character, working};
use compactd_tests::questions::{Question, Statements};
use compaction_core::entry::{Entry, EntryBody};
use compaction_core::extractive::{Style, forecast, render};
use compaction_core::file_operations::FileTools;
use compaction_core::ledger::{Check, Ledger, LossReport, remove_retained_facts};
use compaction_core::preparation::PreparedMessage;
use compaction_core::summary::{SummaryKind, append_file_blocks};

const TURNS: usize = 80;

#[test]
fn goals_are_reached() {
    let output =
        Command::new(env!("CARGO_BIN_EXE_compactd-quality")).args(["--only", "strings", "--check"]).output().unwrap();
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

/// Names are in the summary exactly if the report does not list them; what was said may be there in
/// other words.
fn check_report(report: &LossReport, ledger: &Ledger, summary: &str) {
    for file in &ledger.files {
        let is_lost = report.files.contains(&file.path);
        let name = file.path.rsplit(['/', '\\']).next().unwrap_or_default();
        assert!(is_lost || summary.contains(name), "{} is lost and not reported", file.path);
    }
    for error in &ledger.errors {
        let is_lost = report.errors.contains(error);
        let words: Vec<&str> = error.line.split_whitespace().collect();
        let found = words.iter().filter(|word| summary.contains(**word)).count();
        assert!(is_lost || 2 * found >= words.len(), "{} is lost and not reported", error.line);
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
        let style =
            Style { custom_instructions: None, max_tokens: 6000, citations: false, turn: None, with_turn: None };
        let good = render(&ledger, SummaryKind::History, &style);
        let own = forecast(&ledger, 6000, 16_384, kept);
        let invented = ["src/made/up.rs", "/nowhere/at/all.toml", "C:\\Made\\Up.cs"];
        for text in [careless(&good, &mut random, &invented), careless("## Goal", &mut random, &invented)] {
            let check = Check { ledger: &ledger, summary: &text, evicted, previous_summary: None, kept: &[] };
            let report = LossReport::of(&check);
            check_report(&report, &ledger, &text);
            assert_eq!(report.unsupported, invented, "{}", character.name);
            let repair = report.repair(6000, 6000).unwrap();
            let files = ledger.file_lists();
            let whole = format!("{text}\n\n{}", repair.block);
            let whole = append_file_blocks(&whole, &files.read_files, &files.modified_files);
            let repaired = LossReport::of(&Check { summary: &whole, kept, ..check });
            let (score, least) = (repaired.retention.score(), own.score());
            // Errors that were resolved do not come back.
            assert!(
                score + 0.01 >= least,
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

/// Whether `text` answers the question with these patterns, as JSON lists.
#[track_caller]
fn check_answer(text: &str, all: &str, not: &str, is_answered: bool) {
    let line = format!(r#"{{"session":"s","at":1,"kind":"recall","question":"?","all":{all},"not":{not}}}"#);
    let questions = Question::parse(&line).expect("the line is a question");
    assert_eq!(questions[0].is_answered(&Statements::of(text)), is_answered, "{all} without {not} in {text:?}");
}

#[test]
fn one_statement_answers_a_question() {
    check_answer("- The PORT is 8080.", r#"["port","8080"]"#, "[]", true);
    check_answer("- The PORT is 8080.", r#"["port","9090"]"#, "[]", false);
    check_answer("", r#"["port"]"#, "[]", false);
    // A statement may go over lines, blank ones included, but not over any distance.
    check_answer("The port:\n\n- 8080", r#"["port","8080"]"#, "[]", true);
    let near = "x".repeat(150);
    check_answer(&format!("port {near}\n{near} 8080"), r#"["port","8080"]"#, "[]", true);
    let far = "x".repeat(250);
    check_answer(&format!("port {far}\n{far} 8080"), r#"["port","8080"]"#, "[]", false);
    // A line is a statement, however long.
    check_answer(&format!("port {far} {far} 8080"), r#"["port","8080"]"#, "[]", true);
    // The second of three windows has both, where none of the lines does.
    let text = format!("{}\nport\n{}\n8080\n{far}", "a".repeat(300), "b".repeat(100));
    check_answer(&text, r#"["port","8080"]"#, "[]", true);
    // Windows count characters, not bytes.
    check_answer(
        &format!("port {}\n{} 8080", "\u{3042}".repeat(150), "\u{3042}".repeat(150)),
        r#"["port","8080"]"#,
        "[]",
        true,
    );
}

#[test]
fn a_statement_with_a_pattern_of_not_is_no_answer() {
    check_answer("The port is not 8080.", r#"["port","8080"]"#, r#"["not"]"#, false);
    let far = "x".repeat(1000);
    check_answer(&format!("The port is not 8080.\n{far}\nThe port is 8080."), r#"["port","8080"]"#, r#"["not"]"#, true);
}

#[test]
fn lists_of_names_answer_nothing() {
    for bag in ["- Names in use: port, 8080", "Paths in use: port/8080", "  - [x] Names in use: port 8080"] {
        check_answer(bag, r#"["port","8080"]"#, "[]", false);
        check_answer(&format!("port\n{bag}"), r#"["port","8080"]"#, "[]", false);
    }
    for block in ["<read-files>\nport-8080\n</read-files>", "<modified-files>\nport-8080"] {
        check_answer(block, r#"["port","8080"]"#, "[]", false);
        check_answer(&format!("port\n{block}"), r#"["port","8080"]"#, "[]", false);
    }
    check_answer("<read-files>\na\n</read-files>\nport 8080", r#"["port","8080"]"#, "[]", true);
    check_answer("We put Names in use: port 8080", r#"["port","8080"]"#, "[]", true);
}

#[test]
fn patterns_are_those_of_other_languages() {
    check_answer("cafe\u{301} Se\u{f1}or 12 ms", r#"["(?i)se\\u00f1or\\b", "\\d+\\W{0,4}ms$"]"#, "[]", true);
    check_answer("\u{7d50}\u{679c}\u{306f}8080", r#"["\u7d50\u679c"]"#, "[]", true);
}

#[test]
fn questions_that_cannot_be_asked_are_named() {
    let question = |all: &str| format!(r#"{{"session":"s","at":1,"kind":"recall","question":"?","all":{all}}}"#);
    let cases = [("[]", "line 2: `all` is empty"), (r#"["("]"#, r#"line 2: pattern "(""#)];
    for (all, expected) in cases {
        let text = format!("{}\n{}\n", question(r#"["a"]"#), question(all));
        let error = format!("{:#}", Question::parse(&text).unwrap_err());
        assert!(error.starts_with(expected), "{error}");
    }
    let questions = Question::parse(&format!("{0}\n\n{0}\n", question(r#"["a"]"#))).unwrap();
    assert_eq!(questions.iter().map(|question| question.id.as_str()).collect::<Vec<_>>(), ["s/1", "s/2"]);
}

/// Runs the measuring program with questions about one generated session.
fn ask(session: &str, questions: &str) -> Output {
    try_to_ask(session, questions).expect("the program runs")
}

fn try_to_ask(session: &str, questions: &str) -> anyhow::Result<Output> {
    let directory = tempfile::tempdir()?;
    std::fs::create_dir(directory.path().join("sessions"))?;
    std::fs::write(directory.path().join("sessions/generated.jsonl"), session)?;
    std::fs::write(directory.path().join("questions.jsonl"), questions)?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_compactd-quality"));
    command.args(["--only", "questions", "--set", "given", "--sizes", "24000", "--passes", "1,4", "--corpus"]);
    Ok(command.arg(directory.path()).arg("--compactd").arg(binary()?).output()?)
}

#[test]
fn summaries_of_the_built_server_are_asked() {
    let session = working(&CHARACTERS[0], TURNS, 5);
    let at = messages(&CHARACTERS[0], 5).len() / 2;
    let line =
        |all: &str| format!(r#"{{"session":"generated","at":{at},"kind":"recall","question":"?","all":["{all}"]}}"#);
    let output = ask(&session, &[line("^## Goal$"), line("no summary says this")].join("\n"));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let row = text.lines().find(|line| line.starts_with("| generated, given |")).expect("the session has a row");
    let cells: Vec<&str> = row.split(" | ").collect();
    assert_eq!(cells[2..7], ["2", "1", "1", "0", "0"], "{text}");

    let output = ask(&session, &line("a").replace("generated", "another"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("failed to find session another"), "{error}");
    let output = ask(&session, &line("a").replace(&format!("\"at\":{at}"), "\"at\":100000"));
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && error.contains("no place for a cut from message 100000 of"), "{error}");
}
