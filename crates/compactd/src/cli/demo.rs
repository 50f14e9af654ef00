//! `compactd demo`: a sample session walked through a real server, so that a person sees in half a
//! minute what compactd does.

mod closing;
mod replies;
mod sample;
mod step;

use std::io::Write;
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::arguments::DemoOptions;
use super::connection::{Connection, initialize_params};
use super::failure::Failure;
use super::terminal::Terminal;
use super::text::thousands;
use super::tree::Outline;
use closing::Outcome;
use step::{Step, print};

/// The label in the sample session to which the demo navigates.
const OTHER_BRANCH: &str = "status page";

/// Runs the command and writes the exchange to `output`.
pub(super) async fn run(options: &DemoOptions, terminal: Terminal, output: &mut dyn Write) -> Result<(), Failure> {
    let home = TempDir::with_prefix("compactd-demo-");
    let home = home.map_err(|source| Failure::System { doing: "make a temporary directory", source })?;
    let file = home.path().join("session.jsonl");
    std::fs::write(&file, sample::SESSION).map_err(|source| Failure::File { path: file.clone(), source })?;
    write!(output, "{}", introduction(terminal)).map_err(Failure::Output)?;
    let mut walk = Walk { connection: Connection::start(&file)?, full: options.full, terminal, output, steps: 0 };
    let outcome = walk.through(home.path(), &file).await?;
    let text = std::fs::read(&file).map_err(|source| Failure::File { path: file.clone(), source })?;
    write!(output, "{}", closing::text(&outcome, &text, terminal)?).map_err(Failure::Output)
}

fn introduction(terminal: Terminal) -> String {
    let title = terminal.bold("compactd demo: a coding agent's session meets its context window");
    let (request, reply, notification) =
        (terminal.cyan("→ request"), terminal.green("← reply"), terminal.yellow("~ notification"));
    format!(
        "{title}\nThis program talks to itself over JSON-RPC, as an editor would: {request}, {reply}, {notification}\n\n"
    )
}

/// The walk, with what every step needs.
struct Walk<'a> {
    connection: Connection,
    full: bool,
    terminal: Terminal,
    output: &'a mut dyn Write,
    steps: usize,
}

impl Walk<'_> {
    async fn through(&mut self, home: &Path, file: &Path) -> Result<Outcome, Failure> {
        // Settings and sessions of the person who watches stay out of it.
        let hello = initialize_params(json!({ "cwd": home, "agentDir": home }));
        self.step("initialize", "a host says hello", hello, |_| {
            "It is up: no configuration, no key, no network.".to_owned()
        })
        .await?;
        let open = json!({ "path": file });
        let opened = self.step("openSession", "a session of four days of work", open, |_| OPENED.to_owned()).await?;
        let session = json!({ "sessionId": opened["sessionId"] });
        let before = self.step("getContext", "what the model sees", session.clone(), context_before).await?;
        let dry = with(&session, json!({ "include": [] }));
        let prepared = self.step("prepareCompaction", "a dry run", dry, planned).await?;
        let compacted = self.step("compact", "now for real", session.clone(), compacted).await?;
        let after = self.step("getContext", "what the model sees now", session.clone(), context_after).await?;
        let tree = self.step("getTree", "where else could we go?", session.clone(), branches).await?;
        let navigate = with(&session, json!({ "targetId": target(&tree)?, "summarize": true }));
        let navigated = self.step("navigateTree", "to the other branch, not empty-handed", navigate, left).await?;
        let elsewhere = self.step("getContext", "another branch, its own context", session, context_elsewhere).await?;
        self.shut_down().await?;
        Ok(Outcome { before, prepared, compacted, after, navigated, elsewhere })
    }

    /// Makes one call and prints the exchange; `meaning` says of the result what it means.
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
        self.steps += 1;
        let frames = self.connection.take_frames();
        let meaning = meaning(&result);
        let step = Step { number: self.steps, method, purpose, params, result, notifications, frames, took, meaning };
        print(&step, self.full, self.terminal, self.output).map_err(Failure::Output)?;
        Ok(step.result)
    }

    async fn shut_down(&mut self) -> Result<(), Failure> {
        let started = Instant::now();
        let ended_well = self.connection.shutdown().await?;
        self.steps += 1;
        let meaning =
            if ended_well { "The server has ended with code 0." } else { "The server has ended, but not with 0." };
        let step = Step {
            number: self.steps,
            method: "shutdown",
            purpose: "and the notification exit",
            params: json!({}),
            result: Value::Null,
            notifications: Vec::new(),
            frames: self.connection.take_frames(),
            took: started.elapsed(),
            meaning: meaning.to_owned(),
        };
        print(&step, self.full, self.terminal, self.output).map_err(Failure::Output)
    }
}

const OPENED: &str =
    "The file is ours to write now, and unchanged. Its tree is known, its messages are read when needed.";

fn context_before(context: &Value) -> String {
    let tokens = replies::tokens(context);
    format!("All of this is sent with every request: {} tokens, each time.", thousands(tokens))
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
    format!("Nothing was lost: {branches} branches. We go to the one labelled \"{OTHER_BRANCH}\".")
}

fn left(_: &Value) -> String {
    "What was learned on the branch that we leave comes along as a summary.".to_owned()
}

fn context_elsewhere(_: &Value) -> String {
    "The compaction belongs to the other branch: this one is whole, and ends with the summary.".to_owned()
}

/// The entry with the label to which the demo navigates.
fn target(tree: &Value) -> Result<String, Failure> {
    let outline = Outline::read(tree, false);
    let node = outline.labelled(OTHER_BRANCH);
    node.map(|node| node.id.clone()).ok_or_else(|| Failure::Refused(format!("no entry is labelled {OTHER_BRANCH:?}")))
}

fn with(params: &Value, more: Value) -> Value {
    let mut params = params.clone();
    if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
        params.extend(more);
    }
    params
}
