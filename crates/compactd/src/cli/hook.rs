//! `hook`: the hooks of Claude Code. It archives a conversation as a session before Claude Code compacts it and before
//! a tool reads the archive, and says after a compaction where the session is.

use std::io::{Read as _, Write};
use std::path::Path;
use std::process::Stdio;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::process::Command;

use super::failure::Failure;
use super::terminal::{one_line, thousands};

/// Maximum bytes of the input of a hook. Claude Code sends some hundred.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// The input of a hook. Claude Code adds members that differ by event and version.
#[derive(Debug, Deserialize)]
struct Input {
    hook_event_name: String,
    transcript_path: Option<String>,
    /// Why a session started.
    source: Option<String>,
}

/// Reads the input of a hook from standard input, and does what its event asks for.
///
/// Nothing goes to `output` before a compaction: Claude Code would take it as an instruction for the summary. A failure
/// blocks neither the compaction nor the tool, because its exit code is 1.
pub(super) async fn run(output: &mut dyn Write) -> Result<(), Failure> {
    let input = read_input()?;
    match (input.hook_event_name.as_str(), input.source.as_deref()) {
        // The tools read the archive. Claude Code writes the compaction to its transcript after the session start.
        ("PreCompact" | "PreToolUse", _) => archive(&input).await.map(|_| ()),
        ("SessionStart", Some("compact")) => {
            let session = archive(&input).await?;
            let specific = json!({ "hookEventName": "SessionStart", "additionalContext": reminder(&session) });
            writeln!(output, "{}", json!({ "hookSpecificOutput": specific })).map_err(Failure::Output)
        }
        _ => Ok(()),
    }
}

fn read_input() -> Result<Input, Failure> {
    let mut text = Vec::new();
    let read = std::io::stdin().lock().take(MAX_INPUT_BYTES + 1).read_to_end(&mut text);
    let read = read.map_err(|source| Failure::System { doing: "read standard input", source })?;
    if read as u64 > MAX_INPUT_BYTES {
        let limit = thousands(MAX_INPUT_BYTES);
        return Err(Failure::Refused(format!("the input of the hook has more than {limit} bytes")));
    }
    serde_json::from_slice(&text)
        .map_err(|error| Failure::Refused(format!("standard input is not the JSON of a Claude Code hook: {error}")))
}

/// Imports the transcript into its session, or adds the new part. Returns the path of the session file.
async fn archive(input: &Input) -> Result<String, Failure> {
    let transcript = input.transcript_path.as_deref().unwrap_or_default();
    if transcript.is_empty() {
        let event = one_line(&input.hook_event_name);
        return Err(Failure::Refused(format!("the input of the hook {event} names no transcript_path")));
    }
    let refused = |cause: &str| Failure::Refused(format!("{} was not archived: {cause}", one_line(transcript)));
    // Its transcripts would be imported.
    if Path::new(transcript).is_dir() {
        return Err(refused("it is a directory"));
    }
    let system = |doing| move |source| Failure::System { doing, source };
    let program = std::env::current_exe().map_err(system("find this program"))?;
    let mut import = Command::new(program);
    import
        .args(["import", "--format", "claude-code", "--update", "--json", "--", transcript])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let finished = import.output().await.map_err(system("start the import"))?;
    let result: Value = serde_json::from_slice(&finished.stdout).unwrap_or_default();
    let error = &result["error"]["message"];
    match result["sessions"][0]["path"].as_str() {
        Some(path) if finished.status.success() => Ok(path.to_owned()),
        _ => {
            let stderr = String::from_utf8_lossy(&finished.stderr);
            Err(refused(&one_line(error.as_str().unwrap_or(&stderr))))
        }
    }
}

/// The text for the model after a compaction.
fn reminder(session: &str) -> String {
    format!(
        "This conversation was compacted. compactd keeps all of it, also what the summary left out, in the session \
         {session}. If something from before is missing (a decision, an error text, the content of a file, what the \
         user asked for), call the tool `recall` of the MCP server compactd with this path as `session` and with words \
         that the conversation used. If it finds nothing, call `search` with the same `session`."
    )
}
