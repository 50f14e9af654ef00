//! The end of the demo: a few numbers, each checked against the file.

use serde_json::Value;

use super::{replies, sample};
use crate::cli::failure::Failure;
use crate::cli::terminal::{Terminal, cut, one_line};
use crate::cli::text::{change, count, thousands};

/// Columns for the word at the start of a line.
const NAME_COLUMNS: usize = 10;
/// Lines of the summary that are shown, so that the demo stays short.
const SUMMARY_LINES: usize = 8;

/// What the calls gave.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) before: Value,
    pub(super) prepared: Value,
    pub(super) compacted: Value,
    pub(super) after: Value,
    pub(super) navigated: Value,
    pub(super) elsewhere: Value,
}

/// The closing text; `file` is the session file afterwards.
///
/// # Errors
/// If the file does not begin with the bytes that it had, which would be the end of every promise.
pub(super) fn text(outcome: &Outcome, file: &[u8], terminal: Terminal) -> Result<String, Failure> {
    let added = file.strip_prefix(sample::SESSION);
    let added =
        added.ok_or_else(|| Failure::Refused("the session file was rewritten, not only added to".to_owned()))?;
    let lines = [
        ("tokens", tokens(outcome)),
        ("kept", kept(outcome)),
        ("files", files(&outcome.compacted)),
        ("summary", sections(outcome.compacted["summary"].as_str().unwrap_or_default())),
        ("branch", branch(outcome)),
        ("on disk", on_disk(added)),
    ];
    let mut text = format!("{}\n", terminal.bold("What happened"));
    for (name, value) in lines {
        let value = cut(&value, terminal.columns().saturating_sub(NAME_COLUMNS + 3));
        text += &format!("  {} {value}\n", terminal.cyan(&format!("{name:<NAME_COLUMNS$}")));
    }
    text += &excerpt(outcome, terminal);
    Ok(text + &format!("{}\n", terminal.bold(YOURS)))
}

const YOURS: &str = "Now yours: compactd tree FILE, compactd compact FILE --dry-run, or compactd as a server.";

fn tokens(outcome: &Outcome) -> String {
    let (before, after) = (replies::tokens(&outcome.before), replies::tokens(&outcome.after));
    format!("{} → {}, {}", thousands(before), thousands(after), change(before, after))
}

fn kept(outcome: &Outcome) -> String {
    let messages = length(&outcome.after["messages"]).saturating_sub(1);
    let first = one_line(outcome.prepared["preparation"]["firstKeptEntryId"].as_str().unwrap_or_default());
    format!("the last {}, word for word, from entry {first}", count(messages, "message"))
}

fn files(compacted: &Value) -> String {
    let details = &compacted["details"];
    let (read, modified) = (length(&details["readFiles"]), length(&details["modifiedFiles"]));
    format!("{} remembered as read, {} as modified", count(read, "file"), thousands(modified))
}

/// The headings of a summary, each with the number of its items.
fn sections(summary: &str) -> String {
    let mut sections: Vec<(String, u64)> = Vec::new();
    for line in summary.lines() {
        let is_item =
            line.starts_with("- ") || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        match (line.strip_prefix("### ").or(line.strip_prefix("## ")), sections.last_mut()) {
            (Some(heading), _) => sections.push((one_line(heading), 0)),
            (None, Some(section)) if is_item => section.1 += 1,
            _ => {}
        }
    }
    let shown = sections.iter().filter(|(_, items)| *items > 0).map(|(heading, items)| format!("{heading} {items}"));
    shown.collect::<Vec<_>>().join(", ")
}

fn branch(outcome: &Outcome) -> String {
    let entry = &outcome.navigated["summaryEntry"];
    let units = entry["summary"].as_str().unwrap_or_default().encode_utf16().count() as u64;
    let elsewhere = thousands(replies::tokens(&outcome.elsewhere));
    format!("a summary of {} tokens came along; this context has {elsewhere}", thousands(units.div_ceil(4)))
}

fn on_disk(added: &[u8]) -> String {
    let lines = added.iter().filter(|byte| **byte == b'\n').count() as u64;
    let bytes = thousands(sample::SESSION.len() as u64);
    format!("{} added; the {bytes} bytes that were there are unchanged", count(lines, "line"))
}

/// The first item of each section that a reader would look for.
fn excerpt(outcome: &Outcome, terminal: Terminal) -> String {
    let summary = outcome.compacted["summary"].as_str().unwrap_or_default();
    let columns = terminal.columns().saturating_sub(4);
    let lines: Vec<&str> = summary.lines().filter(|line| !line.trim().is_empty()).collect();
    let shown = lines.iter().take(SUMMARY_LINES).map(|line| cut(&one_line(line), columns));
    let more = lines.len().saturating_sub(SUMMARY_LINES);
    let rest =
        (more > 0).then(|| format!("… {}; compactd show FILE summary shows all", count(more as u64, "more line")));
    shown.chain(rest).map(|line| format!("  {}\n", terminal.dim(&format!("│ {line}")))).collect()
}

fn length(value: &Value) -> u64 {
    value.as_array().map_or(0, Vec::len) as u64
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn outcome() -> Outcome {
        let context = |messages: usize, tokens: u64| json!({ "messages": vec![json!({}); messages], "tokens": { "tokens": tokens } });
        let summary = "## Goal\n- one\n- two\n\n## Progress\n### Done\n- [x] a\n### Blocked\n- ssh fails\n\n## Next Steps\n1. b\n2. c\n";
        Outcome {
            before: context(150, 43552),
            prepared: json!({ "preparation": { "firstKeptEntryId": "0a1b2c3d" } }),
            compacted: json!({ "summary": summary, "details": { "readFiles": ["x"], "modifiedFiles": ["y", "z"] } }),
            after: context(71, 21806),
            navigated: json!({ "summaryEntry": { "summary": "x".repeat(1601) } }),
            elsewhere: context(120, 38000),
        }
    }

    #[test]
    fn the_numbers_come_from_the_replies_and_the_file() {
        let file = [sample::SESSION, b"{}\n{}\n"].concat();
        let text = text(&outcome(), &file, Terminal::plain(100)).expect("the file was added to");
        let bytes = thousands(sample::SESSION.len() as u64);
        expect![[r#"
            What happened
              tokens     43,552 → 21,806, 49 % less
              kept       the last 70 messages, word for word, from entry 0a1b2c3d
              files      1 file remembered as read, 2 as modified
              summary    Goal 2, Done 1, Blocked 1, Next Steps 2
              branch     a summary of 401 tokens came along; this context has 38,000
              on disk    2 lines added; the BYTES bytes that were there are unchanged
              │ ## Goal
              │ - one
              │ - two
              │ ## Progress
              │ ### Done
              │ - [x] a
              │ ### Blocked
              │ - ssh fails
              │ … 3 more lines; compactd show FILE summary shows all
            Now yours: compactd tree FILE, compactd compact FILE --dry-run, or compactd as a server.
        "#]]
        .assert_eq(&text.replace(&bytes, "BYTES"));
    }

    #[test]
    fn a_file_that_was_rewritten_is_a_failure() {
        let mut file = sample::SESSION.to_vec();
        file[100] ^= 1;
        assert!(text(&outcome(), &file, Terminal::plain(100)).is_err());
    }
}
