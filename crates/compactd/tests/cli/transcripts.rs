//! `import` and `export`: transcripts of other agents become sessions, and come back.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::{Place, SAMPLE};

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
fn import(place: &Place, arguments: &[&str]) -> Value {
    let arguments: Vec<&str> = ["import"].iter().chain(arguments).copied().chain(["--json"]).collect();
    read(&place.run(&arguments).ok())["sessions"][0].clone()
}

/// The data of the error that a command for programs ends with.
#[track_caller]
fn refused(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.run(arguments);
    assert_eq!(ran.code, Some(1), "{} {}", ran.stdout, ran.stderr);
    read(&ran.stdout)["error"]["data"].clone()
}

fn path_of(outcome: &Value) -> PathBuf {
    PathBuf::from(outcome["path"].as_str().expect("a path"))
}

#[test]
fn a_transcript_becomes_a_session_beside_those_of_its_directory_and_comes_back() {
    let place = Place::new();
    for (name, cwd) in [("claude-code", "--work-shop--"), ("codex", "--work-api--"), ("opencode", "--work-site--")] {
        let bytes = fixture(&format!("{name}.in"));
        let file = place.file(&format!("{name}.transcript"), &bytes);
        let outcome = import(&place, &[text(&file)]);
        let path = path_of(&outcome);
        assert_eq!((outcome["format"].as_str(), outcome["status"].as_str()), (Some(name), Some("imported")));
        assert_eq!(path.parent().and_then(Path::file_name).and_then(|name| name.to_str()), Some(cwd));
        assert_eq!(std::fs::read(&file).expect("readable"), bytes, "the source is not changed");
        assert_eq!(place.run(&["export", text(&path), "--format", "transcript"]).ok().into_bytes(), bytes);
        let checked = place.run(&["show", text(&path), "--json"]).ok();
        assert_eq!(read(&checked)["diagnostics"], Value::Null, "{checked}");
    }
}

#[test]
fn importing_twice_is_refused_and_an_update_adds_what_is_new() {
    let place = Place::new();
    let bytes = fixture("claude-code.in");
    let half = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(14).expect("lines").0 + 1;
    let file = place.file("5f0d6c0e.jsonl", &bytes[..half]);
    let first = import(&place, &[text(&file), "--update"]);
    assert_eq!((first["status"].as_str(), first["records"].as_u64()), (Some("imported"), Some(15)));
    let data = refused(&place, &["import", text(&file), "--json"]);
    assert_eq!((data["kind"].as_str(), &data["sessionId"]), (Some("alreadyImported"), &first["sessionId"]));
    assert!(place.run(&["import", text(&file)]).failed(1).contains("--update"));

    std::fs::write(&file, &bytes).expect("writable");
    let second = import(&place, &[text(&file), "--update"]);
    assert_eq!((second["status"].as_str(), &second["path"]), (Some("updated"), &first["path"]));
    let third = import(&place, &[text(&file), "--update"]);
    assert_eq!((third["status"].as_str(), third["entriesAdded"].as_u64()), (Some("unchanged"), Some(0)));
    let whole = place.run(&["export", text(&path_of(&first)), "--format", "transcript"]).ok();
    assert_eq!(whole.into_bytes(), bytes);

    let changed = String::from_utf8(bytes).expect("UTF-8").replacen("basket", "trolley", 1);
    std::fs::write(&file, changed).expect("writable");
    let before = std::fs::read(path_of(&first)).expect("readable");
    let data = refused(&place, &["import", text(&file), "--update", "--json"]);
    assert_eq!((data["kind"].as_str(), data["records"].as_u64()), (Some("transcriptChanged"), Some(15)));
    assert_eq!(std::fs::read(path_of(&first)).expect("readable"), before, "nothing was written");
}

/// A hook imports before each compaction of the agent: what comes later follows what was appended here.
#[test]
fn what_is_added_follows_a_compaction_that_was_made_here() {
    let place = Place::new();
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
    let file = place.file("growing.jsonl", lines[..30].concat().as_bytes());
    let session = path_of(&import(&place, &[text(&file)]));
    place.run(&["compact", text(&session), "--keep-recent", "2000"]).ok();
    std::fs::write(&file, lines.concat()).expect("writable");
    import(&place, &[text(&file), "--update"]);
    let exported = read(&place.run(&["export", text(&session), "--format", "anthropic"]).ok());
    let messages = exported["messages"].as_array().expect("a list");
    assert!(messages[0].to_string().contains("<summary>"), "{}", messages[0]);
    assert!(messages.last().expect("messages").to_string().contains("39: The quick"));
    let all = read(&place.run(&["export", text(&session), "--format", "openai", "--all"]).ok());
    assert_eq!(all["messages"].as_array().map(Vec::len), Some(40), "no compaction hides any of them");
}

#[test]
fn a_directory_is_imported_with_all_that_is_in_it() {
    let place = Place::new();
    let at = place.path().join("agents");
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
    let out = place.path().join("out");
    std::fs::create_dir(&out).expect("a directory");
    let arguments = ["import", text(&at), "--out", text(&out), "--json"];
    let report = read(&place.run(&arguments).ok());
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
    let again = read(&place.run(&arguments).ok());
    assert!(again["sessions"].as_array().expect("a list").iter().all(|session| session["status"] == "exists"));
}

#[test]
fn a_session_of_pi_is_copied_and_continued() {
    let place = Place::new();
    let lines: Vec<&[u8]> = SAMPLE.split_inclusive(|byte| *byte == b'\n').collect();
    let file = place.file("pi.jsonl", &lines[..20].concat());
    let out = place.path().join("copy.jsonl");
    let arguments = [text(&file), "--out", text(&out), "--update"];
    assert_eq!(import(&place, &arguments)["status"], "imported");
    assert_eq!(std::fs::read(&out).expect("readable"), lines[..20].concat());
    std::fs::write(&file, SAMPLE).expect("writable");
    let updated = import(&place, &arguments);
    assert_eq!(updated["entriesAdded"].as_u64(), Some(lines.len() as u64 - 20));
    assert_eq!(std::fs::read(&out).expect("readable"), SAMPLE);
    std::fs::write(&file, lines[..20].concat()).expect("writable");
    let data = refused(&place, &["import", text(&file), "--out", text(&out), "--update", "--json"]);
    assert_eq!(data["kind"], "transcriptChanged");
}

#[test]
fn what_is_no_transcript_is_refused_with_a_reason() {
    let place = Place::new();
    let file = place.file("notes.txt", b"Buy milk.\n");
    let data = refused(&place, &["import", text(&file), "--json"]);
    assert_eq!((data["kind"].as_str(), data["file"].as_str()), (Some("notATranscript"), file.to_str()));
    assert!(place.run(&["import", "none.jsonl"]).failed(1).contains("none.jsonl"));
    assert!(place.run(&["import", text(&file), "--format", "vi"]).failed(2).contains("claude-code"));
    // A forced format keeps every line and tells that it could read none.
    let forced = import(&place, &[text(&file), "--format", "codex", "--out", "forced.jsonl"]);
    assert_eq!((forced["records"].as_u64(), forced["unreadableRecords"].as_u64()), (Some(1), Some(1)));
    let exported = place.run(&["export", "forced.jsonl", "--format", "transcript"]).ok();
    assert_eq!(exported, "Buy milk.\n");
    let sample = place.file("work.jsonl", SAMPLE);
    let said = place.run(&["export", text(&sample), "--format", "transcript"]).failed(1);
    assert!(said.contains("was not imported"), "{said}");
    let taken = place.run(&["export", text(&sample), "--format", "openai", "--out", text(&file)]).failed(1);
    assert!(taken.contains("notes.txt"), "{taken}");
    assert_eq!(std::fs::read(&file).expect("readable"), b"Buy milk.\n");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_refused_without_waiting() {
    let place = Place::new();
    let pipe = place.path().join("pipe.jsonl");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    assert!(place.run(&["import", text(&pipe)]).failed(1).contains("not a regular file"));
    assert!(place.run(&["import", "/dev/zero"]).failed(1).contains("not a regular file"));
}
