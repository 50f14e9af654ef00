//! Lists and searches over random sessions, whole and damaged, against a plain reading of each line.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use compactd_tests::generate::{self, random::Random};
use compaction_core::entry::{Entry, EntryBody, epoch_milliseconds};
use compaction_core::json::Json;
use compaction_core::message::{Block, Body, Content};
use session_store::{
    Durability, FileStore, ListOptions, Locator, OpenOptions, SearchOptions, SearchQuery, SessionStore,
};

const SESSIONS: u64 = 300;

/// Each query opens most of the sessions.
const SEARCHED: u64 = 60;
const QUERIES: usize = 20;

/// What a list must say of a session.
#[derive(Debug, PartialEq)]
struct Facts {
    modified: i64,
    messages: usize,
    name: Option<String>,
    first_message: String,
}

/// Random sessions; every third one is cut or has bytes that are not its own.
fn write_sessions(directory: &Path, sessions: u64) {
    for seed in 0..sessions {
        let mut bytes = generate::session(seed).text.into_bytes();
        let mut random = Random::new(seed ^ 0x5eed);
        match seed % 6 {
            1 => bytes.truncate(random.below(bytes.len())),
            4 => (0..5).for_each(|_| {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }),
            _ => {}
        }
        fs::write(directory.join(format!("{seed}.jsonl")), bytes).expect("the directory can be written");
    }
}

fn store(directory: &Path) -> FileStore {
    FileStore::new(directory, Durability::default())
}

#[test]
fn lists_say_what_a_plain_reading_says() {
    let directory = tempfile::tempdir().unwrap();
    write_sessions(directory.path(), SESSIONS);
    let options =
        ListOptions { session_dir: Some(Locator::from(&directory.path())), all: true, ..ListOptions::default() };
    let listed = store(directory.path()).list(&options).unwrap().sessions;
    let listed: BTreeMap<PathBuf, Facts> = listed
        .into_iter()
        .map(|summary| {
            let (modified, messages) = (summary.modified, summary.message_count);
            (
                summary.locator.as_path().to_owned(),
                Facts { modified, messages, name: summary.name, first_message: summary.first_message },
            )
        })
        .collect();
    let mut named = 0;
    for seed in 0..SESSIONS {
        let path = fs::canonicalize(directory.path().join(format!("{seed}.jsonl"))).unwrap();
        let expected = facts(&fs::read(&path).unwrap());
        named += usize::from(expected.as_ref().is_some_and(|facts| facts.name.is_some()));
        assert_eq!(listed.get(&path), expected.as_ref(), "seed {seed}");
    }
    assert!(listed.len() > 250 && named > 20, "{} {named}", listed.len());
}

fn facts(bytes: &[u8]) -> Option<Facts> {
    let text: Vec<_> = bytes.split(|byte| *byte == b'\n').map(String::from_utf8_lossy).collect();
    let mut lines = text.iter().filter_map(|line| Json::parse(line).ok()).filter(|json| json.as_object().is_some());
    let header = lines.next()?;
    let is_header = header.get("type").and_then(Json::as_str) == Some("session");
    header.get("id").and_then(Json::as_str).filter(|_| is_header)?;
    let created = header.get("timestamp").and_then(Json::as_str).and_then(epoch_milliseconds);
    let mut facts = Facts { modified: created.unwrap_or(0), messages: 0, name: None, first_message: String::new() };
    for entry in lines {
        match entry.get("type").and_then(Json::as_str) {
            Some("message") => facts.add_message(&entry),
            Some("session_info") => facts.name = entry.get("name").and_then(Json::as_str).and_then(on_one_line),
            _ => {}
        }
    }
    Some(facts)
}

fn on_one_line(name: &str) -> Option<String> {
    let parts: Vec<&str> = name.split(['\r', '\n']).filter(|part| !part.is_empty()).collect();
    Some(parts.join(" ").trim().to_owned()).filter(|name| !name.is_empty())
}

impl Facts {
    fn add_message(&mut self, entry: &Json<'_>) {
        self.messages += 1;
        let Some(message) = entry.get("message") else { return };
        let role = message.get("role").and_then(Json::as_str);
        if matches!(role, Some("user" | "assistant")) {
            let stored = message.get("timestamp").and_then(Json::as_f64).filter(|time| time.abs() <= 8.64e15);
            let time = stored.map(|time| time as i64).or_else(|| epoch_milliseconds(entry.get("timestamp")?.as_str()?));
            self.modified = self.modified.max(time.unwrap_or(i64::MIN));
        }
        if role == Some("user") && self.first_message.is_empty() {
            self.first_message = first_text(message.get("content")).chars().take(1000).collect();
        }
    }
}

fn first_text(content: Option<&Json<'_>>) -> String {
    match content {
        Some(Json::String(text)) => text.to_string(),
        Some(Json::Array(blocks)) => {
            let texts = blocks.iter().filter(|block| block.get("type").and_then(Json::as_str) == Some("text"));
            texts.map(|block| block.get("text").and_then(Json::as_str).unwrap_or("")).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}

#[test]
fn searches_find_what_a_plain_reading_finds() {
    let directory = tempfile::tempdir().unwrap();
    write_sessions(directory.path(), SEARCHED);
    let texts = texts(directory.path());
    let mut random = Random::new(7);
    let mut found = 0;
    for _ in 0..QUERIES {
        let (.., text) = &texts[random.below(texts.len())];
        let words: Vec<&str> = text.split_whitespace().filter(|word| !word.starts_with('"')).collect();
        if words.is_empty() {
            continue;
        }
        let query = [words[random.below(words.len())], words[random.below(words.len())]].join(" ").to_uppercase();
        found += check_search(directory.path(), &texts, &query);
    }
    assert!(found > 40, "{found}");
}

fn check_search(directory: &Path, texts: &[(String, String, String)], query: &str) -> usize {
    let words: Vec<String> = query.split_whitespace().map(lower).collect();
    if words.iter().any(|word| word.starts_with('"')) {
        return 0;
    }
    let matching = texts.iter().filter(|(.., text)| words.iter().all(|word| text.contains(word)));
    let mut expected: Vec<(&str, &str)> = matching.map(|(session, id, _)| (&**session, &**id)).collect();
    expected.sort_unstable();
    let parsed = SearchQuery::parse(query).expect("it has words");
    let options =
        SearchOptions { session_dir: Some(Locator::from(directory)), limit: 100_000, ..SearchOptions::default() };
    let hits = store(directory).search(&parsed, &options, &|| false).expect("the directory can be read");
    assert!(hits.hits.iter().all(|hit| !hit.preview.is_empty()), "{query}");
    let mut hits: Vec<(&str, &str)> =
        hits.hits.iter().map(|hit| (hit.session_id.as_str(), hit.entry_id.as_str())).collect();
    hits.sort_unstable();
    assert_eq!(hits, expected, "{query}");
    hits.len()
}

/// Session, id and text in lower case of every entry that has text.
fn texts(directory: &Path) -> Vec<(String, String, String)> {
    let mut texts = Vec::new();
    for seed in 0..SEARCHED {
        let options = OpenOptions { read_only: true, ..OpenOptions::default() };
        let Ok(session) = store(directory).open(&Locator::from(&directory.join(format!("{seed}.jsonl"))), &options)
        else {
            continue;
        };
        session
            .for_each_entry(|entry| {
                if let Ok(entry) = entry {
                    let text = lower(&parts(entry).join("\n"));
                    texts.push((session.header().id.clone(), entry.id().to_string(), text));
                }
                ControlFlow::Continue(())
            })
            .expect("the file can be read");
    }
    texts
}

/// One character at a time, and only where lower case is one character of the same kind.
fn lower(text: &str) -> String {
    let fold = |character: char| match character.to_lowercase().collect::<Vec<_>>()[..] {
        [folded] if character.is_ascii() == folded.is_ascii() => folded,
        _ => character,
    };
    text.chars().map(fold).collect()
}

fn parts(entry: &Entry) -> Vec<String> {
    match entry.body() {
        EntryBody::Message(message) | EntryBody::CustomMessage(message) => match message.body() {
            Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => blocks(content),
            Body::Assistant(assistant) => {
                let error = assistant.error_message.iter().cloned();
                assistant.content.iter().flat_map(block).chain(error).collect()
            }
            Body::BashExecution(execution) => vec![execution.command.clone(), execution.output.clone()],
            Body::System(system) => {
                let sections = system.sections.iter().filter_map(|(_, section)| section.clone());
                blocks(&system.content).into_iter().chain(sections).collect()
            }
            _ => Vec::new(),
        },
        EntryBody::Compaction(compaction) => vec![compaction.summary.clone()],
        EntryBody::BranchSummary(branch) => vec![branch.summary.clone()],
        _ => Vec::new(),
    }
}

fn blocks(content: &Content) -> Vec<String> {
    match content {
        Content::Text(text) => vec![text.clone()],
        Content::Blocks(blocks) => blocks.iter().flat_map(block).collect(),
    }
}

fn block(block: &Block) -> Vec<String> {
    match block {
        Block::Text(text) | Block::Thinking(text) => vec![text.clone()],
        Block::ToolCall(call) => {
            let mut parts = vec![call.name.clone()];
            call.arguments.iter().for_each(|arguments| add_texts(arguments, &mut parts));
            parts
        }
        _ => Vec::new(),
    }
}

fn add_texts(value: &Json<'_>, parts: &mut Vec<String>) {
    match value {
        Json::String(text) | Json::Deep(text) => parts.push(text.to_string()),
        Json::Array(items) => items.iter().for_each(|item| add_texts(item, parts)),
        Json::Object(members) => members.iter().for_each(|(name, value)| {
            parts.push(name.to_string());
            add_texts(value, parts);
        }),
        _ => {}
    }
}
