//! `import` and `export`: transcripts of other agents become sessions, and come back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use compaction_core::entry;
use compaction_core::transcripts::{self, Agent, Existing, Import};
use serde_json::{Value, json};
use session_store::FileLog;
use session_store::log::SessionLog as _;

use crate::harness::{Finished, SAMPLE, Sandbox};

fn fixture(name: &str) -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../compaction-core/fixtures/transcripts");
    std::fs::read(fixtures.join(name)).expect("the fixture is there")
}

fn read(output: &str) -> Value {
    serde_json::from_str(output).expect("one JSON object")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Imports a file that must be imported; with its part of the report.
#[track_caller]
fn import(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["import"].iter().chain(arguments).copied().chain(["--json"]).collect();
    read(&sandbox.run(&arguments).ok())["sessions"][0].clone()
}

/// The data of the error that a command for programs ends with.
#[track_caller]
fn refused(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    let finished = sandbox.run(arguments);
    assert_eq!(finished.code, Some(1), "{} {}", finished.stdout, finished.stderr);
    read(&finished.stdout)["error"]["data"].clone()
}

fn path_of(outcome: &Value) -> PathBuf {
    PathBuf::from(outcome["path"].as_str().expect("a path"))
}

#[test]
fn a_transcript_becomes_a_session_beside_those_of_its_directory_and_comes_back() {
    let sandbox = Sandbox::new();
    for (name, cwd) in [("claude-code", "--work-shop--"), ("codex", "--work-api--"), ("opencode", "--work-site--")] {
        let bytes = fixture(&format!("{name}.in"));
        let file = sandbox.file(&format!("{name}.transcript"), &bytes);
        let outcome = import(&sandbox, &[text(&file)]);
        let path = path_of(&outcome);
        assert_eq!((outcome["format"].as_str(), outcome["status"].as_str()), (Some(name), Some("imported")));
        assert_eq!(path.parent().and_then(Path::file_name).and_then(|name| name.to_str()), Some(cwd));
        assert_eq!(std::fs::read(&file).expect("readable"), bytes, "the source is not changed");
        assert_eq!(sandbox.run(&["export", text(&path), "--format", "transcript"]).ok().into_bytes(), bytes);
        let checked = sandbox.run(&["show", text(&path), "--json"]).ok();
        assert_eq!(read(&checked)["diagnostics"], Value::Null, "{checked}");
    }
}

#[test]
fn importing_twice_is_refused_and_an_update_adds_what_is_new() {
    let sandbox = Sandbox::new();
    let bytes = fixture("claude-code.in");
    let half = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(14).expect("lines").0 + 1;
    let file = sandbox.file("5f0d6c0e.jsonl", &bytes[..half]);
    let first = import(&sandbox, &[text(&file), "--update"]);
    assert_eq!((first["status"].as_str(), first["records"].as_u64()), (Some("imported"), Some(15)));
    let data = refused(&sandbox, &["import", text(&file), "--json"]);
    assert_eq!((data["kind"].as_str(), &data["sessionId"]), (Some("alreadyImported"), &first["sessionId"]));
    assert!(sandbox.run(&["import", text(&file)]).failed(1).contains("--update"));

    std::fs::write(&file, &bytes).expect("writable");
    let second = import(&sandbox, &[text(&file), "--update"]);
    assert_eq!((second["status"].as_str(), &second["path"]), (Some("updated"), &first["path"]));
    let third = import(&sandbox, &[text(&file), "--update"]);
    assert_eq!((third["status"].as_str(), third["entriesAdded"].as_u64()), (Some("unchanged"), Some(0)));
    let whole = sandbox.run(&["export", text(&path_of(&first)), "--format", "transcript"]).ok();
    assert_eq!(whole.into_bytes(), bytes);

    let changed = String::from_utf8(bytes).expect("UTF-8").replacen("basket", "trolley", 1);
    std::fs::write(&file, changed).expect("writable");
    let before = std::fs::read(path_of(&first)).expect("readable");
    let data = refused(&sandbox, &["import", text(&file), "--update", "--json"]);
    assert_eq!((data["kind"].as_str(), data["records"].as_u64()), (Some("transcriptChanged"), Some(15)));
    assert_eq!(std::fs::read(path_of(&first)).expect("readable"), before, "nothing was written");
}

/// A hook imports before each compaction of the agent: what comes later follows what was appended here.
#[test]
fn what_is_added_follows_a_compaction_that_was_made_here() {
    let sandbox = Sandbox::new();
    let line = |number: usize| {
        let words = "The quick brown fox jumps over the lazy dog. ".repeat(60);
        let (kind, parent) =
            if number.is_multiple_of(2) { ("user", number.wrapping_sub(1)) } else { ("assistant", number - 1) };
        let content = json!([{ "type": "text", "text": format!("{number}: {words}") }]);
        let parent = if number == 0 { Value::Null } else { json!(format!("u{parent}")) };
        json!({
            "type": kind, "uuid": format!("u{number}"), "parentUuid": parent, "sessionId": "s", "cwd": "/work",
            "timestamp": format!("2026-03-01T10:{:02}:00.000Z", number), "isSidechain": false,
            "message": { "role": kind, "id": format!("m{number}"), "content": content }
        })
        .to_string()
            + "\n"
    };
    let lines: Vec<String> = (0..40).map(line).collect();
    let file = sandbox.file("growing.jsonl", lines[..30].concat().as_bytes());
    let session = path_of(&import(&sandbox, &[text(&file)]));
    sandbox.run(&["compact", text(&session), "--keep-recent", "2000"]).ok();
    std::fs::write(&file, lines.concat()).expect("writable");
    import(&sandbox, &[text(&file), "--update"]);
    let exported = read(&sandbox.run(&["export", text(&session), "--format", "anthropic"]).ok());
    let messages = exported["messages"].as_array().expect("a list");
    assert!(messages[0].to_string().contains("<summary>"), "{}", messages[0]);
    assert!(messages.last().expect("messages").to_string().contains("39: The quick"));
    let all = read(&sandbox.run(&["export", text(&session), "--format", "openai", "--all"]).ok());
    assert_eq!(all["messages"].as_array().map(Vec::len), Some(40), "no compaction hides any of them");
}

/// A list of events, as OpenHands exports it.
fn events(count: usize) -> String {
    let words = "The quick brown fox jumps over the lazy dog. ".repeat(60);
    let event = |number: usize| {
        let source = if number.is_multiple_of(2) { "user" } else { "agent" };
        json!({
            "id": number, "timestamp": format!("2026-03-01T10:{number:02}:00"), "source": source,
            "action": "message", "args": { "content": format!("{number}: {words}") }
        })
        .to_string()
    };
    format!("[{}]", (0..count).map(event).collect::<Vec<_>>().join(", "))
}

/// The text of the last message that a model reads, and whether there is a summary.
fn context(sandbox: &Sandbox, session: &Path) -> (String, bool) {
    let exported = read(&sandbox.run(&["export", text(session), "--format", "anthropic"]).ok());
    let messages = exported["messages"].as_array().expect("a list");
    (messages.last().expect("messages").to_string(), messages[0].to_string().contains("<summary>"))
}

/// The end of a list is an entry too, which new events do not follow.
#[test]
fn a_compaction_of_a_list_stays_in_force_and_can_be_undone() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("trajectory.json", events(30).as_bytes());
    let session = path_of(&import(&sandbox, &[text(&file)]));
    sandbox.run(&["compact", text(&session), "--keep-recent", "2000"]).ok();
    for count in [40, 45] {
        std::fs::write(&file, events(count)).expect("writable");
        assert_eq!(import(&sandbox, &[text(&file), "--update"])["status"], "updated");
        let (last, is_compacted) = context(&sandbox, &session);
        assert!(is_compacted && last.contains(&format!("{}: The quick", count - 1)), "{last}");
    }
    // The undo copies the records of the updates. What comes later follows the copies.
    sandbox.run(&["undo", text(&session)]).ok();
    std::fs::write(&file, events(50)).expect("writable");
    assert_eq!(import(&sandbox, &[text(&file), "--update"])["status"], "updated");
    let (last, is_compacted) = context(&sandbox, &session);
    assert!(!is_compacted && last.contains("49: The quick"), "{last}");
    assert_eq!(import(&sandbox, &[text(&file), "--update"])["status"], "unchanged");
    let all = read(&sandbox.run(&["export", text(&session), "--format", "openai"]).ok());
    assert_eq!(all["messages"].as_array().map(Vec::len), Some(50));
    let whole = sandbox.run(&["export", text(&session), "--format", "transcript"]).ok();
    assert!(whole == events(50), "every record comes once");
}

/// The start and the end of a document change while nothing else does.
#[test]
fn a_document_whose_frame_changes_comes_back_as_it_is_now() {
    let sandbox = Sandbox::new();
    let text_of = |name: &str, end: u64| {
        let list = r#"{"bubbleId":"b1","type":1,"text":"Hello"},{"bubbleId":"b2","type":2,"text":"Hi"}"#;
        format!(r#"{{"composerId":"c1","name":"{name}","conversation":[{list}],"lastUpdatedAt":{end}}}"#)
    };
    let file = sandbox.file("chat.json", text_of("New", 1).as_bytes());
    let session = path_of(&import(&sandbox, &[text(&file)]));
    for (name, end) in [("New", 2), ("New", 1), ("Greeting", 1), ("Farewell", 3), ("Greeting", 1)] {
        std::fs::write(&file, text_of(name, end)).expect("writable");
        assert_eq!(import(&sandbox, &[text(&file), "--update"])["status"], "updated", "{name} {end}");
        let whole = sandbox.run(&["export", text(&session), "--format", "transcript"]).ok();
        assert_eq!(whole, text_of(name, end));
        assert_eq!(import(&sandbox, &[text(&file), "--update"])["status"], "unchanged", "{name} {end}");
    }
    let listed = sandbox.run(&["list", "--json"]).ok();
    assert!(listed.contains("\"name\":\"Greeting\""), "{listed}");
}

/// Claude Code runs the hooks of parallel tool calls at the same time.
#[test]
fn imports_at_the_same_time_leave_a_whole_session() {
    let sandbox = Sandbox::new();
    let bytes = fixture("claude-code.in").repeat(20);
    for round in 0..6 {
        let file = sandbox.file(&format!("{round:08}-0000-4000-8000-000000000000.jsonl"), &bytes);
        let start = || {
            let mut command = sandbox.command(&["import", text(&file), "--update", "--json"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts")
        };
        let running: Vec<_> = (0..4).map(|_| start()).collect();
        let finished = running.into_iter().map(|child| Finished::new(&child.wait_with_output().expect("it ends")));
        let paths: Vec<PathBuf> = finished.map(|finished| path_of(&read(&finished.ok())["sessions"][0])).collect();
        let session = &paths[0];
        assert!(paths.iter().all(|path| path == session));
        let whole = sandbox.run(&["export", text(session), "--format", "transcript"]).ok();
        assert_eq!(whole.into_bytes(), bytes);
    }
}

#[test]
fn transcripts_of_the_same_name_in_two_directories_are_two_sessions() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("runs");
    for (name, count) in [("a", 2), ("b", 3)] {
        std::fs::create_dir_all(at.join(name)).expect("a directory");
        std::fs::write(at.join(name).join("trajectory.json"), events(count)).expect("writable");
    }
    let report = read(&sandbox.run(&["import", text(&at), "--json"]).ok());
    let statuses: Vec<&Value> =
        report["sessions"].as_array().expect("a list").iter().map(|session| &session["status"]).collect();
    assert_eq!(statuses, ["imported", "imported"]);
    // Another way to the same file leads to the same session.
    let around = at.join("a/../b/trajectory.json");
    assert_eq!(refused(&sandbox, &["import", text(&around), "--json"])["kind"], "alreadyImported");
}

/// An import that is interrupted leaves a part of the session, whose last line may be cut off.
#[test]
fn an_interrupted_import_is_completed_by_the_next_one() {
    let sandbox = Sandbox::new();
    let bytes = fixture("claude-code.in");
    let file = sandbox.file("5f0d6c0e.jsonl", &bytes);
    let session = path_of(&import(&sandbox, &[text(&file)]));
    let whole = std::fs::read_to_string(&session).expect("readable");
    let ends: Vec<usize> = whole.match_indices('\n').map(|(end, _)| end + 1).collect();
    let messages = || read(&sandbox.run(&["show", text(&session), "--json"]).stdout)["messages"].clone();
    let expected = messages();
    for end in [ends[0], ends[0] + 1, ends[5], ends[5] + 40, ends[20] - 3, ends[ends.len() - 2], whole.len() - 30] {
        std::fs::write(&session, &whole[..end]).expect("writable");
        let outcome = import(&sandbox, &[text(&file)]);
        assert_eq!((outcome["status"].as_str(), path_of(&outcome)), (Some("imported"), session.clone()), "{end}");
        let exported = sandbox.run(&["export", text(&session), "--format", "transcript"]);
        assert_eq!((exported.code, exported.stdout.as_bytes()), (Some(0), &bytes[..]), "{end}");
        // A cut-off line stays in the file, and is reported.
        let is_torn = !ends.contains(&end);
        let first = exported.stderr.lines().next().unwrap_or_default();
        let tells = first.ends_with("is broken") || first.ends_with("is no JSON object");
        assert_eq!((tells, first.is_empty()), (is_torn, !is_torn), "{end}: {first}");
        assert_eq!(messages(), expected, "{end}");
        assert_eq!(refused(&sandbox, &["import", text(&file), "--json"])["kind"], "alreadyImported");
    }
}

/// What is in the way may be another conversation.
#[test]
fn a_session_file_of_another_transcript_is_not_taken_for_that_of_this_one() {
    let sandbox = Sandbox::new();
    let [claude, codex] = ["claude-code", "codex"].map(|name| sandbox.file(name, &fixture(&format!("{name}.in"))));
    import(&sandbox, &[text(&claude), "--out", "out.jsonl"]);
    let data = refused(&sandbox, &["import", text(&codex), "--out", "out.jsonl", "--json"]);
    assert_eq!(data["kind"], "otherSession");
}

#[test]
fn a_directory_goes_into_a_new_directory() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("agents");
    std::fs::create_dir(&at).expect("a directory");
    for name in ["claude-code", "codex"] {
        std::fs::write(at.join(format!("{name}.jsonl")), fixture(&format!("{name}.in"))).expect("writable");
    }
    std::fs::write(at.join("notes.md"), "# Notes\n").expect("writable");
    let report = sandbox.run(&["import", text(&at), "--out", "archive/all"]).ok();
    let notes = format!("; 1 other file passed over:\n  {}\n", text(&at.join("notes.md")));
    assert!(report.ends_with(&notes), "{report}");
    assert_eq!(std::fs::read_dir(sandbox.path().join("archive/all")).expect("a directory").count(), 2);
    let again = read(&sandbox.run(&["import", text(&at), "--out", "archive/all", "--json"]).ok());
    assert_eq!(again["skippedFiles"], json!([at.join("notes.md")]));
    // A name that ends as those of directories do is one, also for one transcript.
    let outcome = import(&sandbox, &[text(&at.join("codex.jsonl")), "--out", "one/"]);
    assert_eq!(path_of(&outcome).parent(), Some(&*sandbox.path().join("one")));
}

/// Writes `content` as a list of events, and the session that an earlier version made of it. Returns both files.
fn earlier_session(at: &Path, content: &str) -> (PathBuf, PathBuf) {
    let directory = at.join("a");
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("trajectory.json");
    std::fs::write(&file, content).expect("writable");
    let source = transcripts::identify(Agent::OpenHands, content.as_bytes(), "trajectory", text(&directory));
    let earlier = transcripts::earlier_sources(&source, "trajectory", text(&directory)).remove(0);
    let mut reader = Import::new(&earlier, 0, Existing::default()).expect("a list");
    reader.feed(content.as_bytes()).and_then(|()| reader.end()).expect("a list of events");
    let header = json!({ "type": "session", "version": 3, "id": earlier.session_id(), "cwd": "/work",
        "timestamp": "2026-03-01T10:00:00.000Z" });
    let mut lines = format!("{header}\n");
    for entry in reader.take().into_iter().chain([reader.mark()]) {
        let time = entry::iso_timestamp(entry.timestamp);
        let line = entry::new_entry_line(entry.kind, &entry.id, entry.parent.as_ref(), &time, &entry.members);
        lines.push_str(&format!("{}\n", line.expect("members")));
    }
    let sessions = at.join("sessions");
    std::fs::create_dir(&sessions).expect("a directory");
    let session = sessions.join("old.jsonl");
    std::fs::write(&session, lines).expect("writable");
    (file, session)
}

/// Earlier versions derived the session id from the name of the file alone.
#[test]
fn a_session_with_an_id_of_an_earlier_version_is_continued() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().canonicalize().expect("a directory");
    let (file, session) = earlier_session(&at, &events(3).replace("lazy", "a"));
    let sessions = at.join("sessions");
    std::fs::create_dir_all(at.join("b")).expect("a directory");
    std::fs::write(at.join("b/trajectory.json"), events(3).replace("lazy", "b")).expect("writable");
    let id = std::fs::read_to_string(&session).expect("readable");
    let id = read(id.lines().next().expect("a header"))["id"].clone();

    std::fs::write(&file, events(5).replace("lazy", "a")).expect("writable");
    let update = |file: &Path| import(&sandbox, &[text(file), "--out", text(&sessions), "--update"]);
    let outcome = update(&file);
    assert_eq!((outcome["status"].as_str(), &outcome["sessionId"]), (Some("updated"), &id));
    assert_eq!(path_of(&outcome), session);
    assert_eq!(update(&file)["status"], "unchanged");
    let whole = sandbox.run(&["export", text(&session), "--format", "transcript"]).ok();
    assert_eq!(whole, events(5).replace("lazy", "a"));
    // The other file has the same name, but is another conversation.
    let other = update(&at.join("b/trajectory.json"));
    assert_eq!((other["status"].as_str(), other["records"].as_u64()), (Some("imported"), Some(4)));
    assert_eq!(std::fs::read_dir(&sessions).expect("readable").count(), 2);
}

/// Nothing is left that the next update would take for the session of the transcript.
#[test]
fn an_update_of_a_session_of_an_earlier_version_that_fails_can_be_repeated() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().canonicalize().expect("a directory");
    // These events have no time, so they get that of the file.
    let undated = |count: usize| events(count).replace("timestamp", "at");
    let (file, session) = earlier_session(&at, &undated(3));
    let sessions = at.join("sessions");
    std::fs::write(&file, undated(5)).expect("writable");
    let arguments = [text(&file), "--out", text(&sessions), "--update"];
    let mut locked = FileLog::open(&session).expect("no other program has it");
    let data = refused(&sandbox, &[&["import"], &arguments[..], &["--json"]].concat());
    assert_eq!(data["kind"], "storeFailed");
    assert_eq!(std::fs::read_dir(&sessions).expect("readable").filter(is_session).count(), 1);
    locked.log.release();
    let outcome = import(&sandbox, &arguments);
    assert_eq!((outcome["status"].as_str(), path_of(&outcome)), (Some("updated"), session.clone()));
    let lines = std::fs::read_to_string(&session).expect("readable");
    let last = read(lines.lines().last().expect("entries"));
    assert!(!last["timestamp"].as_str().expect("a time").starts_with("1970"), "{last}");
}

fn is_session(file: &std::io::Result<std::fs::DirEntry>) -> bool {
    file.as_ref().is_ok_and(|file| file.path().extension().is_some_and(|extension| extension == "jsonl"))
}

#[test]
fn the_whole_branch_has_the_messages_of_extensions() {
    let sandbox = Sandbox::new();
    let mut lines = String::from_utf8(SAMPLE.to_vec()).expect("UTF-8");
    let last: Value = lines.lines().last().map(read).expect("lines");
    let note = json!({
        "type": "custom_message", "id": "abcdef01", "parentId": last["id"], "timestamp": last["timestamp"],
        "customType": "note", "content": "Mind the tide.", "display": true, "details": { "n": 1 }
    });
    lines.push_str(&format!("{note}\n"));
    let file = sandbox.file("work.jsonl", lines.as_bytes());
    for arguments in
        [&["export", text(&file), "--format", "openai"][..], &["export", text(&file), "--format", "openai", "--all"]]
    {
        let exported = sandbox.run(arguments).ok();
        assert!(exported.contains("Mind the tide."), "{arguments:?}");
    }
}

#[test]
fn the_whole_branch_has_a_message_longer_than_a_server_takes_from_other_programs() {
    let sandbox = Sandbox::new();
    let long = json!({
        "type": "message", "id": "abcdef01", "parentId": null, "timestamp": "2025-01-01T00:00:01.000Z",
        "message": { "role": "user", "content": "x".repeat(68_000_000) }
    });
    let header =
        json!({ "type": "session", "version": 3, "id": "long", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/" });
    let file = sandbox.file("long.jsonl", format!("{header}\n{long}\n").as_bytes());
    let exported = read(&sandbox.run(&["export", text(&file), "--format", "openai", "--all"]).ok());
    assert_eq!(exported["messages"][0]["content"].as_str().map(str::len), Some(68_000_000));
}

#[test]
fn a_file_beside_the_storage_of_opencode_stops_nothing() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("agents");
    std::fs::create_dir_all(at.join("message")).expect("a directory");
    std::fs::write(at.join("session"), "x").expect("writable");
    std::fs::write(at.join("codex.jsonl"), fixture("codex.in")).expect("writable");
    // Numbered files are not always events.
    std::fs::write(at.join("1.json"), fixture("opencode.in")).expect("writable");
    let report = read(&sandbox.run(&["import", text(&at), "--json"]).ok());
    let formats: Vec<&Value> =
        report["sessions"].as_array().expect("a list").iter().map(|session| &session["format"]).collect();
    assert_eq!((formats, &report["skipped"]), (vec![&json!("opencode"), &json!("codex")], &json!(1)));
}

#[test]
fn an_export_that_fails_leaves_no_file() {
    let sandbox = Sandbox::new();
    let session = sandbox.file("work.jsonl", SAMPLE);
    let out = sandbox.path().join("out.txt");
    sandbox.run(&["export", text(&session), "--format", "transcript", "--out", text(&out)]).failed(1);
    assert!(!out.exists());
}

#[test]
fn a_directory_is_imported_with_all_that_is_in_it() {
    let sandbox = Sandbox::new();
    let at = sandbox.path().join("agents");
    let write = |name: &str, bytes: &[u8]| {
        let path = at.join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        std::fs::write(path, bytes).expect("writable");
    };
    write("claude/a.jsonl", &fixture("claude-code.in"));
    write("codex/2026/rollout.jsonl", &fixture("codex.in"));
    write(".aider.chat.history.md", &fixture("aider.in"));
    write("README.md", b"# Notes\n");
    write("settings.json", b"{}");
    for (root, name) in [("openhands/conversation-1", "openhands-files.in"), ("storage", "opencode-files.in")] {
        let content = String::from_utf8(fixture(name)).expect("UTF-8");
        for part in content.split("=== ").skip(1) {
            let (file, content) = part.split_once('\n').expect("a name");
            write(&format!("{root}/{file}"), content.as_bytes());
        }
    }
    let out = sandbox.path().join("out");
    std::fs::create_dir(&out).expect("a directory");
    let arguments = ["import", text(&at), "--out", text(&out), "--json"];
    let report = read(&sandbox.run(&arguments).ok());
    let sessions = report["sessions"].as_array().expect("a list");
    let mut formats: Vec<(&str, &str)> = sessions
        .iter()
        .map(|session| (session["format"].as_str().expect("a format"), session["status"].as_str().expect("a status")))
        .collect();
    formats.sort_unstable();
    let agents = ["aider", "claude-code", "codex", "opencode", "openhands"].map(|agent| (agent, "imported"));
    assert_eq!(formats, agents);
    assert_eq!(report["skipped"], 2);
    assert_eq!(std::fs::read_dir(&out).expect("readable").count(), 5);
    let again = read(&sandbox.run(&arguments).ok());
    assert!(again["sessions"].as_array().expect("a list").iter().all(|session| session["status"] == "exists"));
}

/// File names may hold any bytes; the protocol takes only UTF-8.
#[cfg(target_os = "linux")]
#[test]
fn a_name_that_is_not_utf_8_fails_and_stops_no_other_import() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let sandbox = Sandbox::new();
    let at = sandbox.path().join("agents");
    std::fs::create_dir(&at).expect("a directory");
    let odd = at.join(OsStr::from_bytes(b"b\xff.jsonl"));
    for path in [&at.join("a.jsonl"), &odd, &at.join(OsStr::from_bytes(b"notes\xff.txt"))] {
        std::fs::write(path, fixture("claude-code.in")).expect("writable");
    }
    std::fs::write(at.join("c.jsonl"), fixture("codex.in")).expect("writable");
    let finished = sandbox.run(&["import", text(&at), "--json"]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let report = read(&finished.stdout)["error"]["data"].clone();
    let outcomes = report["sessions"].as_array().expect("a list").iter();
    let outcomes: Vec<_> = outcomes.map(|outcome| outcome["status"].as_str().expect("a status")).collect();
    assert_eq!(outcomes, ["imported", "failed", "imported"], "{report}");
    let failed = &report["sessions"][1];
    assert_eq!(failed["source"].as_str(), Some(format!("{}/b\u{fffd}.jsonl", text(&at)).as_str()));
    assert!(
        failed["error"]["message"].as_str().is_some_and(|text| text.contains("only file names in UTF-8")),
        "{failed}"
    );
    assert_eq!(report["skippedFiles"], json!([format!("{}/notes\u{fffd}.txt", text(&at))]));

    let run = |command: &mut Command| {
        let output = command.output().expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains("only file names in UTF-8"), "{stderr}");
    };
    run(sandbox.command(&["import"]).arg(&odd));
    run(sandbox.command(&["import", text(&at.join("c.jsonl")), "--out"]).arg(&odd));
}

#[test]
fn a_session_of_pi_is_copied_and_continued() {
    let sandbox = Sandbox::new();
    let lines: Vec<&[u8]> = SAMPLE.split_inclusive(|byte| *byte == b'\n').collect();
    let file = sandbox.file("pi.jsonl", &lines[..20].concat());
    let out = sandbox.path().join("copy.jsonl");
    let arguments = [text(&file), "--out", text(&out), "--update"];
    assert_eq!(import(&sandbox, &arguments)["status"], "imported");
    assert_eq!(std::fs::read(&out).expect("readable"), lines[..20].concat());
    std::fs::write(&file, SAMPLE).expect("writable");
    let updated = import(&sandbox, &arguments);
    assert_eq!(updated["entriesAdded"].as_u64(), Some(lines.len() as u64 - 20));
    assert_eq!(std::fs::read(&out).expect("readable"), SAMPLE);
    std::fs::write(&file, lines[..20].concat()).expect("writable");
    let data = refused(&sandbox, &["import", text(&file), "--out", text(&out), "--update", "--json"]);
    assert_eq!(data["kind"], "transcriptChanged");
}

#[test]
fn a_copy_that_cannot_be_written_names_the_file_that_was_written() {
    let sandbox = Sandbox::new();
    sandbox.file("pi.jsonl", SAMPLE);
    let mut shell = Command::new("bash");
    let script = "ulimit -f 8 && exec \"$0\" import pi.jsonl --out copy.jsonl";
    shell.args(["-c", script, env!("CARGO_BIN_EXE_compactd")]).current_dir(sandbox.path()).env("HOME", sandbox.path());
    let said = Finished::new(&shell.output().expect("bash runs")).failed(1);
    assert!(said.contains("copy.jsonl: File too large"), "{said}");
    assert_eq!(sandbox.names(), ["pi.jsonl"]);
}

/// pi may be writing a line while its session is imported.
#[test]
fn a_session_of_pi_with_an_incomplete_line_is_continued() {
    let sandbox = Sandbox::new();
    let lines: Vec<&[u8]> = SAMPLE.split_inclusive(|byte| *byte == b'\n').collect();
    let torn = [&lines[..20].concat(), &lines[20][..30]].concat();
    let file = sandbox.file("pi.jsonl", &torn);
    let out = sandbox.path().join("copy.jsonl");
    let arguments = [text(&file), "--out", text(&out), "--update"];
    assert_eq!(import(&sandbox, &arguments)["status"], "imported");
    assert_eq!(std::fs::read(&out).expect("readable"), lines[..20].concat());
    // A line without its line end is complete if it can be read.
    let unended = [&lines[..20].concat(), lines[20].trim_ascii_end()].concat();
    std::fs::write(&file, &unended).expect("writable");
    assert_eq!(import(&sandbox, &arguments)["entriesAdded"], 1);
    assert_eq!(import(&sandbox, &arguments)["status"], "unchanged");
    // A line that is no text is copied too.
    let broken = [&lines[..30].concat(), &b"{\xff}\n"[..], &lines[30..].concat()].concat();
    std::fs::write(&file, &broken).expect("writable");
    assert_eq!(import(&sandbox, &arguments)["entriesAdded"], lines.len() - 20);
    assert_eq!(std::fs::read(&out).expect("readable"), broken);
    // An older version copied incomplete lines.
    std::fs::write(&out, &broken[..broken.len() - 40]).expect("writable");
    assert_eq!(import(&sandbox, &arguments)["entriesAdded"], 1);
    assert_eq!(std::fs::read(&out).expect("readable"), broken);
}

#[test]
fn what_is_no_transcript_is_refused_with_a_reason() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("notes.txt", b"Buy milk.\n");
    let data = refused(&sandbox, &["import", text(&file), "--json"]);
    assert_eq!((data["kind"].as_str(), data["file"].as_str()), (Some("notATranscript"), file.to_str()));
    assert!(sandbox.run(&["import", "none.jsonl"]).failed(1).contains("none.jsonl"));
    assert!(sandbox.run(&["import", text(&file), "--format", "vi"]).failed(2).contains("claude-code"));
    let sample = sandbox.file("work.jsonl", SAMPLE);
    let said = sandbox.run(&["export", text(&sample), "--format", "transcript"]).failed(1);
    assert!(said.contains("was not imported"), "{said}");
    let taken = sandbox.run(&["export", text(&sample), "--format", "openai", "--out", text(&file)]).failed(1);
    assert!(taken.contains("notes.txt"), "{taken}");
    assert_eq!(std::fs::read(&file).expect("readable"), b"Buy milk.\n");
}

/// An import that finds nobody speaking would look like one that worked.
#[test]
fn a_file_without_messages_is_refused_unless_it_is_an_empty_conversation() {
    let sandbox = Sandbox::new();
    // aider's own words have no mark.
    let formats: Vec<&str> = Agent::names().filter(|name| !["pi", "aider"].contains(name)).collect();
    for (name, content) in
        [("notes.txt", "Buy milk.\n"), ("list.json", r#"[{"type":"task","ts":1}]"#), ("deep.json", "[[[[")]
    {
        let file = sandbox.file(name, content.as_bytes());
        for format in &formats {
            let arguments = ["import", text(&file), "--format", format, "--out", "forced.jsonl", "--json"];
            let data = refused(&sandbox, &arguments);
            assert_eq!((data["kind"].as_str(), data["format"].as_str()), (Some("noMessages"), Some(*format)), "{name}");
            assert!(!sandbox.path().join("forced.jsonl").exists(), "{format}: nothing is left behind");
        }
    }
    // Nobody has said anything yet.
    let meta = r#"{"timestamp":"2026-03-01T10:00:00Z","type":"session_meta","payload":{"id":"019a","cwd":"/work","originator":"codex_cli_rs"}}"#;
    for (name, format, content) in [("a.jsonl", "codex", meta), ("b.json", "cline", "[\n]\n"), ("c.md", "windsurf", "")]
    {
        let file = sandbox.file(name, content.as_bytes());
        let outcome = import(&sandbox, &[text(&file), "--format", format]);
        assert_eq!((outcome["status"].as_str(), outcome["messages"].as_u64()), (Some("imported"), Some(0)), "{name}");
    }
    // In a directory, such a file stops nothing.
    sandbox.file("chats.md", b"");
    let report = sandbox.run(&["import", text(sandbox.path()), "--format", "cline", "--json", "--out", "out/"]);
    assert_eq!(report.code, Some(0), "{} {}", report.stdout, report.stderr);
}

/// Sends `content` to an import of standard input.
fn import_of_input(sandbox: &Sandbox, content: &[u8], more: &[&str]) -> Finished {
    let arguments = [&["import", "-", "--json"], more].concat();
    let mut command = sandbox.command(&arguments);
    let input = sandbox.file("input", content);
    command.stdin(std::fs::File::open(input).expect("readable"));
    Finished::new(&command.output().expect("the program runs"))
}

#[test]
fn standard_input_is_imported() {
    let sandbox = Sandbox::new();
    let bytes = fixture("claude-code.in");
    let half = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(14).expect("lines").0 + 1;
    let first = read(&import_of_input(&sandbox, &bytes[..half], &[]).ok())["sessions"][0].clone();
    assert_eq!((first["status"].as_str(), first["source"].as_str()), (Some("imported"), Some("standard input")));
    // The conversation has the id that it has in a file.
    let file = sandbox.file("x.jsonl", &bytes);
    let second = import(&sandbox, &[text(&file), "--update"]);
    assert_eq!((second["status"].as_str(), &second["path"]), (Some("updated"), &first["path"]));
    // A conversation that names no id is told from others by its words.
    let ids: Vec<Value> = ["windsurf", "cline-history", "cline"]
        .map(|name| {
            let done = import_of_input(&sandbox, &fixture(&format!("{name}.in")), &[]).ok();
            let outcome = read(&done)["sessions"][0].clone();
            let exported = sandbox.run(&["export", text(&path_of(&outcome)), "--format", "transcript"]).ok();
            assert_eq!(exported.into_bytes(), fixture(&format!("{name}.in")));
            outcome["sessionId"].clone()
        })
        .into();
    assert!(ids[0] != ids[1] && ids[1] != ids[2]);
    let again = import_of_input(&sandbox, &fixture("windsurf.in"), &[]);
    assert_eq!(read(&again.stdout)["error"]["data"]["kind"], "alreadyImported");
    let copied = read(&import_of_input(&sandbox, SAMPLE, &[]).ok());
    assert_eq!(copied["sessions"][0]["format"], "pi");
    let data = read(&import_of_input(&sandbox, b"Buy milk.\n", &[]).stdout)["error"]["data"].clone();
    assert_eq!((data["kind"].as_str(), data["file"].as_str()), (Some("notATranscript"), Some("standard input")));
}

/// The page names the same way out.
#[test]
fn databases_and_other_encodings_are_refused_with_advice() {
    let sandbox = Sandbox::new();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/transcripts.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for (name, start, advice) in [
        ("opencode.db", &b"SQLite format 3\0"[..], "opencode export SESSION"),
        ("rollout.jsonl.zst", b"\x28\xb5\x2f\xfd\x04", "zstd --decompress"),
        ("old.jsonl.gz", b"\x1f\x8b\x08", "gunzip --keep"),
        ("export.jsonl", b"\xff\xfe{\0", "iconv -f UTF-16"),
    ] {
        let file = sandbox.file(name, start);
        let said = sandbox.run(&["import", text(&file)]).failed(1);
        assert!(said.contains(advice) && page.contains(advice), "{said}");
        let data = refused(&sandbox, &["import", text(&file), "--format", "codex", "--json"]);
        assert_eq!(data["kind"], "transcriptNotReadable");
    }
}

/// What failed is not always the file of the command.
#[test]
fn an_error_names_the_file_that_it_is_about() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path().join("all")).expect("a directory can be made");
    let marked = [b"\xef\xbb\xbf", SAMPLE].concat();
    let file = sandbox.file("all/marked.jsonl", &marked);
    let data = refused(&sandbox, &["import", "all", "--format", "pi", "--json"]);
    let said = data["sessions"][0]["error"]["message"].as_str().expect("a message").to_owned();
    assert!(said.starts_with(&format!("{} is not a session file", text(&file))), "{said}");
    let chat = sandbox.file("chat.md", &fixture("windsurf.in"));
    let said = sandbox.run(&["import", text(&chat), "--out", "chat.md/x.jsonl"]).failed(1);
    assert!(said.contains("the session could not be made") && said.contains("chat.md/x.jsonl"), "{said}");
}

#[test]
fn pipes_and_devices_are_refused_without_waiting() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.path().join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    assert!(sandbox.run(&["import", text(&pipe)]).failed(1).contains("not a regular file"));
    assert!(sandbox.run(&["import", "/dev/zero"]).failed(1).contains("not a regular file"));
}

#[test]
fn what_cannot_be_read_leaves_no_session_behind() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("notes.txt", b"no session at all\n");
    for _ in 0..2 {
        let finished = sandbox.run(&["import", text(&file), "--format", "pi", "--json"]);
        assert_eq!(finished.code, Some(1), "{} {}", finished.stdout, finished.stderr);
        assert_ne!(read(&finished.stdout)["error"]["data"]["kind"], "alreadyImported");
    }
    assert_eq!(sandbox.run(&["list", "--all"]).code, Some(3), "there is no session");
}
