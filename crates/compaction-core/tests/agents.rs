//! File lists of real sessions of several agents against what their transcripts say, which is read here by other means:
//! each agent's own names, and lines of commands without quotes, loops and the like.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(clippy::print_stderr, reason = "a test that skips says so")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use compaction_core::entry::EntryId;
use compaction_core::file_operations::{FileOperations, FileTools};
use compaction_core::ledger::Ledger;
use compaction_core::message::Message;
use compaction_core::preparation::PreparedMessage;
use serde_json::{Value, json};

/// Read and modified files.
#[derive(Debug, Default)]
struct Files {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

/// One session file: its name and its messages.
struct Transcript {
    name: String,
    messages: Vec<Value>,
}

fn transcripts() -> Vec<Transcript> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/sessions");
    let Ok(entries) = std::fs::read_dir(&directory) else {
        eprintln!("skipped: no sessions at {}", directory.display());
        return Vec::new();
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    paths.sort();
    let message = |line: &str| serde_json::from_str::<Value>(line).unwrap().get("message").cloned();
    let transcript = |path: &std::path::PathBuf| Transcript {
        name: path.file_stem().unwrap().to_string_lossy().into_owned(),
        messages: std::fs::read_to_string(path).unwrap().lines().filter_map(message).collect(),
    };
    paths.iter().map(transcript).collect()
}

fn prepared(transcript: &Transcript) -> Vec<PreparedMessage> {
    let message = |message: &Value| PreparedMessage {
        entry_id: EntryId::new("e"),
        message: Arc::new(Message::from_json(&message.to_string()).unwrap()),
    };
    transcript.messages.iter().map(message).collect()
}

fn found(messages: &[PreparedMessage]) -> Files {
    let mut operations = FileOperations::default();
    messages.iter().for_each(|prepared| operations.add_message(&prepared.message, &FileTools::default()));
    let modified = operations.written().into_iter().chain(operations.edited());
    let modified = modified.map(str::to_owned).collect();
    Files { read: operations.read().into_iter().map(str::to_owned).collect(), modified }
}

/// What the transcript says: calls with their results, by each agent's own names.
fn expected(transcript: &Transcript) -> Files {
    let mut files = Files::default();
    let mut results: BTreeMap<&str, (String, bool)> = BTreeMap::new();
    for message in transcript.messages.iter().filter(|message| message["role"] == "toolResult") {
        let parts = message["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
        let result = (parts.collect::<String>(), message["isError"] == true);
        results.entry(message["toolCallId"].as_str().unwrap()).or_insert(result);
    }
    for message in transcript.messages.iter().filter(|message| message["role"] == "assistant") {
        for block in message["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "toolCall") {
            let (result, is_error) = results.get(block["id"].as_str().unwrap()).cloned().unwrap_or_default();
            let (name, arguments) = (block["name"].as_str().unwrap(), &block["arguments"]);
            add_call(name, arguments, (&result, is_error), &mut files);
        }
    }
    // A file that one tool names from the root and another from the working directory is one file.
    let whole = files.modified.clone();
    files.modified.retain(|path| !whole.iter().any(|whole| path.contains('/') && whole.ends_with(&format!("/{path}"))));
    files
}

fn add_call(name: &str, arguments: &Value, (result, is_error): (&str, bool), files: &mut Files) {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let shown = || result.split("[File: ").nth(1).and_then(|rest| rest.split(" (").next()).unwrap().to_owned();
    let is_fine = !is_error && !result.starts_with("File does not exist");
    let (read, modified) = match name {
        "Read" if is_fine => (Some(text("file_path")), None),
        "Write" | "Edit" | "MultiEdit" if is_fine => (None, Some(text("file_path"))),
        "read_file" => (Some(text("target_file")), None),
        "write" | "search_replace" => (None, Some(text("file_path"))),
        "str_replace_editor" if result.contains("OBSERVATION:\nERROR") => (None, None),
        "str_replace_editor" if text("command") != "view" => (None, Some(text("path"))),
        "str_replace_editor" if result.contains("`cat -n`") => (Some(text("path")), None),
        "open" => (Some(text("path")), None),
        "create" => (None, Some(text("filename"))),
        "edit" if arguments.get("path").is_some() => (None, Some(text("path"))),
        "edit" => (None, Some(shown())),
        _ => (None, None),
    };
    files.read.extend(read);
    files.modified.extend(modified);
    match name {
        "Bash" | "run_terminal_cmd" => add_command(&text("command"), result, files),
        "shell" => add_shell(arguments["command"].as_array().unwrap().last().unwrap().as_str().unwrap(), result, files),
        _ => {}
    }
}

fn add_shell(command: &str, result: &str, files: &mut Files) {
    let headers = ["*** Update File: ", "*** Add File: ", "*** Delete File: "];
    let patched = command.lines().filter_map(|line| headers.iter().find_map(|header| line.strip_prefix(header)));
    if result.contains("\"exit_code\":0") {
        files.modified.extend(patched.map(str::to_owned));
    }
    add_command(command, result, files);
}

/// The plainest command lines: one program, one file at the end.
fn add_command(command: &str, result: &str, files: &mut Files) {
    if command.contains("*** Begin Patch") {
        return;
    }
    let mut directory = String::new();
    for step in command.split("<<").next().unwrap().replace("\\\n", "").split("&&").flat_map(|steps| steps.split(';')) {
        let source = step.split('|').next().unwrap().replace("2>/dev/null", "").replace("2>&1", "");
        let ends_in_reader =
            step.split('|').skip(1).all(|next| next.trim().starts_with("sed -n") || next.trim().starts_with("head"));
        let step = source.trim();
        let last = step.rsplit_once(' ').map_or("", |(_, last)| last);
        let last = step
            .strip_suffix(['"', '\''])
            .and_then(|rest| rest.rsplit_once(['"', '\'']))
            .map_or(last, |(_, last)| last);
        let path =
            if last.starts_with('/') || directory.is_empty() { last.to_owned() } else { format!("{directory}/{last}") };
        let prints = ["cat ", "sed -n ", "head ", "tail ", "nl -ba "].iter().any(|start| step.starts_with(start));
        let is_path = last.contains(['.', '/']) && !last.contains(['*', '$']) && !last.starts_with('-');
        if let Some(to) = step.strip_prefix("cd ") {
            directory = to.trim_matches('"').to_owned();
        } else if step.starts_with("cat >") || step.starts_with("sed -i") {
            files.modified.insert(path);
        } else if prints && is_path && ends_in_reader && !step.contains('>') && !result.contains("No such file") {
            files.read.insert(path);
        }
    }
}

#[test]
fn file_lists_agree_with_the_transcripts_of_every_agent() {
    let (mut right, mut wrong, mut lacking) = ([0, 0], [0, 0], [0, 0]);
    let mut shown = String::new();
    for transcript in transcripts() {
        let (is, should_be) = (found(&prepared(&transcript)), expected(&transcript));
        for (at, (is, should_be)) in
            [(&is.read, &should_be.read), (&is.modified, &should_be.modified)].into_iter().enumerate()
        {
            right[at] += is.intersection(should_be).count();
            wrong[at] += is.difference(should_be).count();
            lacking[at] += should_be.difference(is).count();
            let what = ["read", "modified"][at];
            shown += &format!("{} {what}: {} expected\n", transcript.name, should_be.len());
            is.difference(should_be).for_each(|path| shown += &format!("  not expected: {path}\n"));
            should_be.difference(is).for_each(|path| shown += &format!("  lacking: {path}\n"));
        }
    }
    eprintln!("{shown}right {right:?}, wrong {wrong:?}, lacking {lacking:?} (read, modified)");
    for at in 0..2 {
        assert!(wrong[at] * 50 <= right[at] && lacking[at] * 50 <= right[at], "{shown}");
    }
}

#[test]
fn the_ledger_names_the_same_files() {
    for transcript in transcripts() {
        let messages = prepared(&transcript);
        let mut operations = FileOperations::default();
        messages.iter().for_each(|prepared| operations.add_message(&prepared.message, &FileTools::default()));
        let ledger = Ledger::collect(&messages, None, &FileTools::default());
        assert_eq!(ledger.file_lists(), operations.lists(), "{}", transcript.name);
    }
}

/// The ledger of calls with their results.
fn ledger_of(calls: &[(&str, Value, &str)]) -> Ledger {
    let mut messages = Vec::new();
    for (at, (name, arguments, result)) in calls.iter().enumerate() {
        let call = json!({ "type": "toolCall", "id": at.to_string(), "name": name, "arguments": arguments });
        messages.push(json!({ "role": "assistant", "content": [call] }));
        messages
            .push(json!({ "role": "toolResult", "toolCallId": at.to_string(), "content": result, "isError": false }));
    }
    let messages = prepared(&Transcript { name: String::new(), messages });
    Ledger::collect(&messages, None, &FileTools::default())
}

#[test]
fn commands_patches_and_failures_are_recognised_for_every_agent() {
    let shell = |line: &str| json!({ "command": ["bash", "-lc", line] });
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/a.ts\n@@\n-a\n+b\n*** Add File: src/b.ts\n+b\n*** End Patch\nEOF";
    let ledger = ledger_of(&[
        ("shell", shell("npm test"), r#"{"output":"x\nTypeError: a is not a function\n","metadata":{"exit_code":1}}"#),
        (
            "shell",
            shell(patch),
            r#"{"output":"Success. Updated the following files:\nM src/a.ts\n","metadata":{"exit_code":0}}"#,
        ),
        (
            "exec_command",
            json!({ "cmd": "make" }),
            "Wall time: 1 s\nProcess exited with code 2\nOutput:\nerror: no rule",
        ),
        ("exec_command", json!({ "cmd": "make" }), "Wall time: 1 s\nProcess exited with code 0\nOutput:\nerror: 0"),
        ("str_replace_editor", json!({ "command": "create", "path": "c.py" }), "OBSERVATION:\nERROR:\nInvalid `path`."),
        (
            "execute_bash",
            json!({ "command": "python c.py" }),
            "x\n[The command completed with exit code 1.]\n[Command finished with exit code 1]",
        ),
    ]);
    let files: Vec<_> = ledger.files.iter().map(|file| (file.path.as_str(), file.edited, file.written)).collect();
    assert_eq!(files, [("src/a.ts", 1, 0), ("src/b.ts", 0, 1)]);
    let commands: Vec<_> =
        ledger.commands.iter().map(|one| (one.command.as_str(), one.succeeded, one.failed)).collect();
    assert_eq!(commands, [("npm test", 0, 1), ("make", 1, 1), ("python c.py", 0, 1)]);
    let errors: Vec<_> = ledger
        .errors
        .iter()
        .map(|error| (error.subject.as_deref().unwrap(), error.line.as_str(), error.is_resolved))
        .collect();
    assert_eq!(
        errors,
        [
            ("npm test", "TypeError: a is not a function", false),
            ("make", "error: no rule", true),
            ("c.py", "ERROR: Invalid `path`.", false),
            ("python c.py", "x", false),
        ]
    );
}
