//! Sessions whose first part is compacted away, and what that part says.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use compactd_tests::agent::Sidecar;
use compaction_core::entry::Entry;
use compaction_core::entry_text::EntryText;
use serde::Deserialize;
use serde_json::{Value, json};

/// A session on a server, compacted once.
pub(crate) struct Subject {
    pub(crate) name: String,
    /// The server's id of it.
    pub(crate) id: String,
    /// What was compacted away, oldest first.
    pub(crate) evicted: Vec<Evicted>,
    /// Questions about it that were written from the transcript.
    pub(crate) questions: Vec<Question>,
}

/// An entry that was compacted away.
pub(crate) struct Evicted {
    pub(crate) id: String,
    pub(crate) whole: EntryText,
    pub(crate) json: Value,
}

/// A question, and patterns that its answer matches.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) session: String,
    pub(crate) at: usize,
    pub(crate) question: String,
    pub(crate) all: Vec<String>,
    #[serde(default)]
    pub(crate) not: Option<Vec<String>>,
}

/// The directory of real data beside the project, if it is there.
pub(crate) fn shared() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?.join("../shared");
    root.join("corpus/sessions").is_dir().then_some(root)
}

/// The session files, in the order of their names.
pub(crate) fn files(shared: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let listed = fs::read_dir(shared.join("corpus/sessions"))?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = listed.into_iter().map(|file| file.path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.push(shared.join("corpus/large-session.jsonl"));
    files.sort();
    Ok(files)
}

/// The questions about all sessions.
pub(crate) fn questions(shared: &Path) -> anyhow::Result<Vec<Question>> {
    let text = fs::read_to_string(shared.join("data/questions.jsonl"))?;
    text.lines().map(|line| serde_json::from_str(line).context("a question cannot be read")).collect()
}

impl Subject {
    /// Opens a copy of a session in `home` and compacts it: where its questions say, else after four
    /// fifths of its messages.
    pub(crate) fn open(server: &mut Sidecar, file: &Path, home: &Path, questions: &[Question]) -> anyhow::Result<Self> {
        let name = file.file_stem().and_then(|stem| stem.to_str()).context("a session has a name")?.to_owned();
        let copy = home.join(format!("{name}.jsonl"));
        fs::write(&copy, fs::read(file)?)?;
        let opened = server.call("openSession", &json!({ "path": copy }))?;
        let id = opened["sessionId"].as_str().context("a session has an id")?.to_owned();
        let branch = server.call("getBranch", &json!({ "sessionId": id }))?;
        let entries = branch["entries"].as_array().context("a branch has entries")?;
        let messages: Vec<&Value> = entries.iter().filter(|entry| entry["type"] == "message").collect();
        let questions: Vec<Question> = questions.iter().filter(|question| question.session == name).cloned().collect();
        let wanted = questions.first().map_or(messages.len() * 4 / 5, |question| question.at);
        let cut = cut(&messages, wanted).with_context(|| format!("{name} has no cut"))?;
        let summary = json!({ "summary": "## Goal\nGo on.", "firstKeptEntryId": messages[cut]["id"] });
        server.call("compact", &json!({ "sessionId": id, "summary": summary }))?;
        let evicted = messages[..cut].iter().filter(|entry| entry["message"]["role"] != "system");
        let evicted = evicted.map(|entry| Evicted::of(entry)).collect::<anyhow::Result<Vec<_>>>()?;
        Ok(Self { name, id, evicted, questions })
    }
}

impl Evicted {
    fn of(json: &Value) -> anyhow::Result<Self> {
        let entry = Entry::parse(&json.to_string())?;
        Ok(Self { id: entry.id().to_string(), whole: EntryText::of(&entry), json: json.clone() })
    }
}

/// The first place from `wanted` on where no call waits for its result.
fn cut(messages: &[&Value], wanted: usize) -> Option<usize> {
    let mut waiting: HashSet<&str> = HashSet::new();
    for (at, entry) in messages.iter().enumerate() {
        let message = &entry["message"];
        if message["role"] == "user" {
            // What a person broke off is answered by nobody.
            waiting.clear();
        }
        if at >= wanted && waiting.is_empty() && message["role"] != "toolResult" {
            return Some(at);
        }
        if let Some(answered) = message["toolCallId"].as_str() {
            waiting.remove(answered);
        }
        let blocks = message["content"].as_array().into_iter().flatten();
        let calls = blocks.filter(|block| block["type"] == "toolCall").filter_map(|block| block["id"].as_str());
        waiting.extend(calls);
    }
    None
}
