//! `compactd export SESSION --format NAME`: the messages of a session in the shape of a model interface.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use compaction_core::entry::Entry;
use compaction_core::json::RawObject;
use compaction_core::transcripts::{KeptRecord, RECORD_TYPE, is_imported};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use session_store::{Durability, FileStore, Locator, OpenOptions, Session, SessionStore as _, StoreError};

use super::arguments::{ExportFormat, ExportOptions};
use super::connection::{Connection, Source, diagnostic_lines, warn};
use super::failure::Failure;

/// Messages of one call of `appendMessages`.
const AT_ONCE: usize = 1000;
/// Bytes of messages of one call of `appendMessages`.
const BYTES_AT_ONCE: usize = 8 << 20;

/// Runs the command and writes the messages to `output` or to the named file.
pub(super) async fn run(options: &ExportOptions, output: &mut dyn Write) -> Result<(), Failure> {
    let source = Source::of(&options.file, false)?;
    let name = match options.format {
        ExportFormat::OpenAi => "openai",
        ExportFormat::OpenAiResponses => "openai-responses",
        ExportFormat::Anthropic => "anthropic",
        ExportFormat::Gemini => "gemini",
        ExportFormat::AiSdk => "ai-sdk",
        ExportFormat::Transcript => return with_output(options, output, |out| write_transcript(source.path(), out)),
    };
    let (connection, session) = source.open(true).await?;
    let found = messages(&connection, &session, name, options).await;
    // A killed server leaves its lock behind, so it is shut down after a failure too.
    let ended = connection.shutdown().await;
    let exported = found?;
    with_output(options, output, |out| {
        let written = serde_json::to_writer(&mut *out, &exported).map_err(std::io::Error::from);
        written.and_then(|()| writeln!(out)).map_err(Failure::Output)
    })?;
    ended.map(|_| ())
}

/// The output. Each message keeps the text that the server wrote.
#[derive(Debug, Serialize, Deserialize)]
struct Exported {
    #[serde(default)]
    format: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    messages: Vec<Box<RawValue>>,
}

/// The entries of a branch.
#[derive(Debug, Deserialize)]
struct Branch {
    entries: Vec<BranchEntry>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct BranchEntry {
    #[serde(rename = "type")]
    kind: String,
    message: Option<Box<RawValue>>,
    custom_type: Option<Box<RawValue>>,
    content: Option<Box<RawValue>>,
}

/// The message that a `custom_message` entry adds to the context.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct CustomMessage {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    custom_type: Option<Box<RawValue>>,
    content: Option<Box<RawValue>>,
}

impl BranchEntry {
    fn into_message(self) -> Option<Box<RawValue>> {
        match self.kind.as_str() {
            "message" => self.message,
            "custom_message" => {
                let Self { custom_type, content, .. } = self;
                serde_json::value::to_raw_value(&CustomMessage { role: "custom", custom_type, content }).ok()
            }
            _ => None,
        }
    }
}

/// Parameters of `appendMessages`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Batch<'a> {
    session_id: &'a Value,
    messages: &'a [Box<RawValue>],
}

/// Writes to a new file, or to `output`.
fn with_output(
    options: &ExportOptions,
    output: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(path) = &options.out else { return write(output) };
    let failed = |source| Failure::File { path: path.clone(), source };
    let file = std::fs::File::options().write(true).create_new(true).open(path).map_err(failed)?;
    let mut file = std::io::BufWriter::new(file);
    let written = write(&mut file).and_then(|()| file.flush().map_err(failed));
    if written.is_err() {
        // An incomplete file would be in the way of the next try.
        let _removed = std::fs::remove_file(path);
    }
    written
}

/// Reads the messages in the format.
async fn messages(
    connection: &Connection,
    session: &Value,
    format: &str,
    options: &ExportOptions,
) -> Result<Exported, Failure> {
    let id = &session["sessionId"];
    let mut params = json!({ "sessionId": id, "format": format });
    if let Some(leaf) = options.leaf.as_ref().filter(|_| !options.all) {
        params["leafId"] = json!(leaf);
    }
    if options.all {
        params["sessionId"] = whole_branch(connection, id, options.leaf.as_deref()).await?;
    }
    let context: Exported = connection.call_for("getContext", &params).await?;
    Ok(Exported { format: format.to_owned(), ..context })
}

/// Creates a session in memory with all messages of a branch and without its compactions. Returns its id.
async fn whole_branch(connection: &Connection, id: &Value, leaf: Option<&str>) -> Result<Value, Failure> {
    let mut params = json!({ "sessionId": id });
    if let Some(leaf) = leaf {
        params["leafId"] = json!(leaf);
    }
    let branch: Branch = connection.call_for("getBranch", &params).await?;
    let whole = connection.call("createSession", &json!({ "ephemeral": true })).await?["sessionId"].clone();
    let (mut batch, mut bytes) = (Vec::new(), 0);
    for message in branch.entries.into_iter().filter_map(BranchEntry::into_message) {
        bytes += message.get().len();
        batch.push(message);
        if batch.len() == AT_ONCE || bytes > BYTES_AT_ONCE {
            append(connection, &whole, &batch).await?;
            (batch, bytes) = (Vec::new(), 0);
        }
    }
    append(connection, &whole, &batch).await?;
    Ok(whole)
}

async fn append(connection: &Connection, session: &Value, messages: &[Box<RawValue>]) -> Result<(), Failure> {
    if messages.is_empty() {
        return Ok(());
    }
    let batch = Batch { session_id: session, messages };
    connection.call_for::<IgnoredAny>("appendMessages", &batch).await.map(|_| ())
}

/// Writes the transcript that a session was imported from.
fn write_transcript(path: &Path, output: &mut dyn Write) -> Result<(), Failure> {
    let failed = |error: &StoreError| Failure::Refused(format!("{}: failed to {error}", path.display()));
    let store = FileStore::new(PathBuf::new(), Durability::None);
    let options = OpenOptions { read_only: true, ..OpenOptions::default() };
    let session = store.open(&Locator::from(&path.to_owned()), &options).map_err(|error| failed(&error))?;
    let told = session.diagnostics().iter().map(|found| json!({ "line": found.line, "message": found.message }));
    warn(diagnostic_lines(&told.collect::<Vec<_>>()));
    let mut before = None;
    each_record(&session, path, "\"again\":true", |record| {
        if record.is_again {
            before = Some(record.before);
        }
        Ok(())
    })?;
    // A partial record appears again once it is complete. Only the last record can still be partial.
    let (mut has_records, mut partial) = (false, None);
    each_record(&session, path, RECORD_TYPE, |record| {
        has_records = true;
        if record.is_file {
            let text = "the transcript was many files; `compactd show` and `getEntries` give them one by one";
            return Err(Failure::Refused(format!("{}: {text}", path.display())));
        }
        if record.is_again {
            return Ok(());
        }
        if record.is_partial {
            partial = Some([record.before, record.content].concat());
            return Ok(());
        }
        let new_start = if record.number == 1 { before.take() } else { None };
        let bytes = [new_start.unwrap_or(record.before), record.content].concat();
        partial = None;
        output.write_all(&bytes).map_err(Failure::Output)
    })?;
    if !has_records {
        return Err(Failure::Refused(format!("{}: the session was not imported from a transcript", path.display())));
    }
    output.write_all(&partial.unwrap_or_default()).map_err(Failure::Output)
}

/// Visits the records that imports have added and whose lines contain `text`. Copies of them, which an undo makes, are
/// not visited.
fn each_record(
    session: &Session,
    path: &Path,
    text: &str,
    mut visit: impl FnMut(KeptRecord) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let failed = |error: &StoreError| Failure::Refused(format!("{}: failed to {error}", path.display()));
    let mut outcome = Ok(());
    let visit = |entry: Result<&Entry, &StoreError>| {
        outcome = match entry {
            Ok(entry) => record_of(entry, text).map_or(Ok(()), &mut visit),
            Err(error) => Err(failed(error)),
        };
        if outcome.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    session.for_each_entry(visit).map_err(|error| failed(&error))?;
    outcome
}

fn record_of(entry: &Entry, text: &str) -> Option<KeptRecord> {
    let line = entry.line();
    if entry.kind_name() != "custom" || !is_imported(entry.id()) || !line.contains(text) {
        return None;
    }
    let entry = RawObject::parse(&line).ok()?;
    entry.string("customType").filter(|kind| kind == RECORD_TYPE)?;
    KeptRecord::read(entry.get("data")?)
}
