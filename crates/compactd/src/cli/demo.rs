//! `demo`: a sample session, driven through a real server. It shows in half a minute what compactd does.

mod exchange;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::arguments::DemoOptions;
use super::connection::{Connection, initialize_params, length, utf8, with_members};
use super::failure::Failure;
use super::inspect::Outline;
use super::terminal::{Terminal, change, count, cut, one_line, thousands};
use exchange::{Exchange, context_tokens, print};

/// The sample session. `demo/README.md` describes how it is made.
const SAMPLE: &[u8] = include_bytes!("../../demo/session.jsonl");
/// The label in the sample session to which the demo navigates.
const OTHER_BRANCH: &str = "status page";
/// Columns of the name at the start of a closing line.
const NAME_COLUMNS: usize = 10;
/// Number of summary lines that the demo shows.
const SUMMARY_LINES: usize = 8;

/// Runs the demo and writes the exchange to `output`.
pub(super) async fn run(options: &DemoOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let home = TempDir::with_prefix("compactd-demo-");
    let home = home.map_err(|source| Failure::System { doing: "create a temporary directory", source })?;
    let file = home.path().join("session.jsonl");
    std::fs::write(&file, SAMPLE).map_err(|source| Failure::File { path: file.clone(), source })?;
    write!(output, "{}", introduction(terminal)).map_err(Failure::Output)?;
    let connection = Connection::recording(&file)?;
    let mut demo = Demo { connection, show_frames: options.full, terminal, output, steps: 0 };
    let outcome = demo.run(home.path(), &file).await?;
    let text = std::fs::read(&file).map_err(|source| Failure::File { path: file.clone(), source })?;
    write!(output, "{}", closing(&outcome, &text, terminal)?).map_err(Failure::Output)
}

fn introduction(terminal: Terminal) -> String {
    let title = terminal.bold("compactd demo: a coding agent's session is compacted");
    let (request, reply, notification) =
        (terminal.cyan("→ request"), terminal.green("← reply"), terminal.yellow("~ notification"));
    format!(
        "{title}\nThis program calls its own server over JSON-RPC, as an editor would: {request}, {reply}, {notification}\n\n"
    )
}

/// A running demo.
struct Demo<'a> {
    connection: Connection,
    show_frames: bool,
    terminal: Terminal,
    output: &'a mut dyn Write,
    steps: usize,
}

/// The results that the closing text needs.
#[derive(Debug)]
struct Outcome {
    before: Value,
    prepared: Value,
    compacted: Value,
    after: Value,
    navigated: Value,
    elsewhere: Value,
}

impl Demo<'_> {
    async fn run(&mut self, home: &Path, file: &Path) -> Result<Outcome, Failure> {
        // The demo ignores the settings and the sessions of the person who runs it.
        let hello = initialize_params(json!({ "cwd": utf8(home)?, "agentDir": utf8(home)? }));
        self.step("initialize", "the handshake", hello, |_| {
            "The server runs. It needs no configuration, no key and no network.".to_owned()
        })
        .await?;
        let open = json!({ "path": utf8(file)? });
        let opened = self.step("openSession", "a session of four days of work", open, |_| OPENED.to_owned()).await?;
        let session = json!({ "sessionId": opened["sessionId"] });
        let before = self.step("getContext", "what the model sees", session.clone(), context_before).await?;
        let dry = with_members(session.clone(), json!({ "include": [] }));
        let prepared = self.step("prepareCompaction", "a dry run", dry, planned).await?;
        let compacted = self.step("compact", "the compaction itself", session.clone(), compacted).await?;
        let after = self.step("getContext", "what the model sees now", session.clone(), context_after).await?;
        let tree = self.step("getTree", "the branches of the session", session.clone(), branches).await?;
        let navigate = with_members(session.clone(), json!({ "targetId": target(&tree)?, "summarize": true }));
        let navigated =
            self.step("navigateTree", "to the other branch, with a summary of this one", navigate, left).await?;
        let elsewhere = self.step("getContext", "another branch, its own context", session, context_elsewhere).await?;
        self.shut_down().await?;
        Ok(Outcome { before, prepared, compacted, after, navigated, elsewhere })
    }

    /// Makes one call and prints the exchange. `meaning` explains the result.
    async fn step(
        &mut self,
        method: &'static str,
        purpose: &'static str,
        params: Value,
        meaning: impl Fn(&Value) -> String,
    ) -> Result<Value, Failure> {
        let started = Instant::now();
        let mut notifications = Vec::new();
        let watch = |notification: &compactd_client::Notification| notifications.push(notification.clone());
        let result = self.connection.call_watching(method, &params, watch).await?;
        let took = started.elapsed();
        let meaning = meaning(&result);
        self.print(Exchange { method, purpose, params, result, notifications, took, meaning, ..Exchange::default() })
    }

    async fn shut_down(&mut self) -> Result<(), Failure> {
        let started = Instant::now();
        let ended_well = self.connection.shutdown().await?;
        let meaning =
            if ended_well { "The server has ended with code 0." } else { "The server has ended, but not with 0." };
        self.print(Exchange {
            method: "shutdown",
            purpose: "and the notification exit",
            params: json!({}),
            took: started.elapsed(),
            meaning: meaning.to_owned(),
            ..Exchange::default()
        })?;
        Ok(())
    }

    /// Numbers and prints the exchange. Returns its result.
    fn print(&mut self, exchange: Exchange) -> Result<Value, Failure> {
        self.steps += 1;
        let exchange = Exchange { number: self.steps, frames: self.connection.take_frames(), ..exchange };
        print(&exchange, self.show_frames, self.terminal, self.output).map_err(Failure::Output)?;
        Ok(exchange.result)
    }
}

const OPENED: &str =
    "The session is open and its file unchanged. Its tree is read; messages are read when they are needed.";

fn context_before(context: &Value) -> String {
    format!("All of this is sent with every request: {} tokens, each time.", thousands(context_tokens(context)))
}

fn planned(prepared: &Value) -> String {
    let keep = prepared["preparation"]["settings"]["keepRecentTokens"].as_u64().unwrap_or_default();
    format!(
        "The oldest part would become a summary, the last {} tokens would stay. Nothing is changed.",
        thousands(keep)
    )
}

fn compacted(result: &Value) -> String {
    let name = result["summarizer"].as_str().unwrap_or("a summarizer");
    format!("One line was added to the file. The {name} summarizer wrote it from the conversation alone.")
}

fn context_after(_: &Value) -> String {
    "First the summary, then what was kept, word for word.".to_owned()
}

fn branches(tree: &Value) -> String {
    let branches = Outline::read(tree, false).ends();
    format!("The session has {branches} branches. The next step goes to the one with the label \"{OTHER_BRANCH}\".")
}

fn left(_: &Value) -> String {
    "A summary of the branch that was left is added to the other one.".to_owned()
}

fn context_elsewhere(_: &Value) -> String {
    "The compaction is on the branch that was left. This one has all its messages and ends with the summary.".to_owned()
}

/// The id of the entry to which the demo navigates.
fn target(tree: &Value) -> Result<String, Failure> {
    let outline = Outline::read(tree, false);
    let node = outline.labelled(OTHER_BRANCH);
    node.map(|node| node.id.clone()).ok_or_else(|| Failure::Refused(format!("no entry is labelled {OTHER_BRANCH:?}")))
}

/// The closing text: a few numbers, each checked against `file`, the session file afterwards.
///
/// # Errors
/// The file does not begin with the bytes of the sample.
fn closing(outcome: &Outcome, file: &[u8], terminal: Terminal) -> Result<String, Failure> {
    let added = file.strip_prefix(SAMPLE);
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
    Ok(text + &format!("{}\n", terminal.bold(NEXT)))
}

const NEXT: &str = "Next: compactd tree FILE, compactd compact FILE --dry-run, or compactd as a server.";

fn tokens(outcome: &Outcome) -> String {
    let (before, after) = (context_tokens(&outcome.before), context_tokens(&outcome.after));
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

/// The headings of a summary with the number of their items.
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
    let elsewhere = thousands(context_tokens(&outcome.elsewhere));
    format!("a summary of {} tokens was added; this context has {elsewhere}", thousands(units.div_ceil(4)))
}

fn on_disk(added: &[u8]) -> String {
    let lines = added.iter().filter(|byte| **byte == b'\n').count() as u64;
    let bytes = thousands(SAMPLE.len() as u64);
    format!("{} added; the {bytes} bytes that were there are unchanged", count(lines, "line"))
}

/// The first lines of the summary.
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

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use expect_test::expect;

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
        let file = [SAMPLE, b"{}\n{}\n"].concat();
        let text = closing(&outcome(), &file, Terminal::plain(100)).expect("the file was added to");
        let bytes = thousands(SAMPLE.len() as u64);
        expect![[r#"
            What happened
              tokens     43,552 → 21,806, 49 % less
              kept       the last 70 messages, word for word, from entry 0a1b2c3d
              files      1 file remembered as read, 2 as modified
              summary    Goal 2, Done 1, Blocked 1, Next Steps 2
              branch     a summary of 401 tokens was added; this context has 38,000
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
            Next: compactd tree FILE, compactd compact FILE --dry-run, or compactd as a server.
        "#]]
        .assert_eq(&text.replace(&bytes, "BYTES"));
    }

    #[test]
    fn a_file_that_was_rewritten_is_a_failure() {
        let mut file = SAMPLE.to_vec();
        file[100] ^= 1;
        assert!(closing(&outcome(), &file, Terminal::plain(100)).is_err());
    }

    fn lines() -> Vec<Value> {
        let text = std::str::from_utf8(SAMPLE).expect("the sample is UTF-8");
        text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
    }

    #[test]
    fn it_is_a_session_of_version_3_that_ends_with_a_line_end() {
        assert_eq!(SAMPLE.last(), Some(&b'\n'));
        let header = &lines()[0];
        assert_eq!((header["type"].as_str(), header["version"].as_u64()), (Some("session"), Some(3)));
    }

    #[test]
    fn every_entry_hangs_on_one_before_it() {
        let mut known = HashSet::new();
        for entry in &lines()[1..] {
            let parent = &entry["parentId"];
            assert!(parent.is_null() || known.contains(parent.as_str().expect("an id")), "{entry}");
            assert!(known.insert(entry["id"].as_str().expect("an id").to_owned()), "{entry}");
        }
        assert!((300..=400).contains(&known.len()), "{} entries", known.len());
    }

    #[test]
    fn every_result_has_its_call() {
        let mut calls = HashMap::new();
        for entry in &lines()[1..] {
            for block in entry["message"]["content"].as_array().into_iter().flatten() {
                if block["type"] == "toolCall" {
                    calls.insert(block["id"].clone().to_string(), block["name"].clone());
                }
            }
            let message = &entry["message"];
            if message["role"] == "toolResult" {
                assert_eq!(calls.remove(&message["toolCallId"].to_string()), Some(message["toolName"].clone()));
            }
        }
        assert_eq!(calls.len(), 0, "calls without results");
    }

    #[test]
    fn it_has_what_the_demo_and_a_reader_look_for() {
        let lines = lines();
        let has = |name: &str, value: &str| lines.iter().any(|line| line[name] == value);
        for entry_type in ["compaction", "branch_summary", "label", "model_change", "custom_message", "session_info"] {
            assert!(has("type", entry_type), "{entry_type}");
        }
        assert!(has("label", OTHER_BRANCH));
        let parents: Vec<&str> = lines.iter().filter_map(|line| line["parentId"].as_str()).collect();
        let unique: HashSet<&&str> = parents.iter().collect();
        assert!(parents.len() - unique.len() >= 2, "two forks");
    }

    #[test]
    fn it_reads_like_work_and_names_no_real_place() {
        let text = std::str::from_utf8(SAMPLE).expect("the sample is UTF-8").to_lowercase();
        for word in ["lorem", "ipsum", "placeholder", "foobar", "todo", "{{", "xxxx", "/tmp", "/root", "sk-ant"] {
            assert!(!text.contains(word), "{word}");
        }
    }

    #[test]
    fn times_go_forward_and_messages_carry_them() {
        let lines = lines();
        let times: Vec<&str> = lines.iter().filter_map(|line| line["timestamp"].as_str()).collect();
        assert!(times.is_sorted());
        let messages = lines.iter().filter(|line| line["type"] == "message");
        assert!(messages.clone().all(|line| line["message"]["timestamp"].is_u64()));
    }
}
