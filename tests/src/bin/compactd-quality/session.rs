//! The sessions that are measured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use compactd_tests::generate::{CHARACTERS, Plan, realistic, working};
use compaction_core::entry::EntryId;
use compaction_core::json::RawObject;
use compaction_core::message::{Body, Message};
use compaction_core::preparation::PreparedMessage;

/// Turns of a generated session: some 600 messages.
const TURNS: usize = 150;

/// A session by name.
pub(crate) struct Subject {
    pub(crate) name: String,
    pub(crate) messages: Vec<PreparedMessage>,
}

/// The files given, or else the real session (where it is there) and generated ones, others with
/// another seed.
pub(crate) fn subjects(files: &[PathBuf], seed: u64) -> anyhow::Result<Vec<Subject>> {
    if !files.is_empty() {
        return files.iter().map(|file| read(file)).collect();
    }
    let mut subjects = Vec::new();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/large-session.jsonl");
    if corpus.exists() {
        subjects.push(read(&corpus)?);
    } else {
        use std::io::Write as _;
        writeln!(std::io::stderr(), "note: no real session at {}", corpus.display())?;
    }
    for (number, character) in (1..).zip(&CHARACTERS) {
        let text = working(character, TURNS, 1000 * seed + number);
        subjects.push(Subject { name: character.name.to_owned(), messages: messages(&text) });
    }
    let mut text = Vec::new();
    realistic(&Plan { compact_above_tokens: None, ..Plan::new(900_000, 1000 * seed + 3) }, &mut text)?;
    let messages = messages(&String::from_utf8(text)?);
    subjects.push(Subject { name: "word soup".to_owned(), messages });
    Ok(subjects)
}

fn read(path: &Path) -> anyhow::Result<Subject> {
    let text = std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Subject { name, messages: messages(&text) })
}

/// The messages in the order of the file; what is no message, and prompts, are passed over.
fn messages(text: &str) -> Vec<PreparedMessage> {
    let message = |(number, line): (usize, &str)| {
        let entry = RawObject::parse(line).ok()?;
        let message = Message::from_json(entry.get("message")?).ok()?;
        let id = entry.string("id").unwrap_or_else(|| format!("{number:08x}"));
        let is_told = !matches!(message.body(), Body::System(_));
        is_told.then(|| PreparedMessage { entry_id: EntryId::new(id), message: Arc::new(message) })
    };
    text.lines().enumerate().filter_map(message).collect()
}
