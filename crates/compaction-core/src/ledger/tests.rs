use std::collections::HashSet;
use std::sync::Arc;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::extractive::{self, Style};
use crate::json::encode_string;
use crate::message::Message;
use crate::projection::PreparedMessage;
use crate::summary::{SummaryKind, append_file_blocks};
use crate::tools::FileTools;

fn message(json: &str) -> Message {
    Message::from_json(json).expect("the message is made here")
}

fn user(text: &str) -> Message {
    message(&format!("{{\"role\":\"user\",\"content\":{}}}", encode_string(text)))
}

fn says(text: &str) -> Message {
    let text = encode_string(text);
    message(&format!(
        "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"text\",\"text\":{text}}}],\"stopReason\":\"stop\"}}"
    ))
}

fn calls(id: &str, name: &str, arguments: &str) -> Message {
    message(&format!(
        "{{\"role\":\"assistant\",\"content\":[{{\"type\":\"toolCall\",\"id\":\"{id}\",\"name\":\"{name}\",\
         \"arguments\":{arguments}}}],\"stopReason\":\"toolUse\"}}"
    ))
}

fn runs(id: &str, command: &str) -> Message {
    calls(id, "bash", &format!("{{\"command\":{}}}", encode_string(command)))
}

fn returns(id: &str, text: &str, is_error: bool) -> Message {
    message(&format!(
        "{{\"role\":\"toolResult\",\"toolCallId\":\"{id}\",\"toolName\":\"t\",\"content\":{},\"isError\":{is_error}}}",
        encode_string(text)
    ))
}

fn prepared(messages: Vec<Message>) -> Vec<PreparedMessage> {
    let number = |(position, message)| PreparedMessage {
        entry_id: EntryId::new(format!("{:08x}", position + 1)),
        message: Arc::new(message),
    };
    messages.into_iter().enumerate().map(number).collect()
}

fn collect(messages: &[PreparedMessage]) -> Ledger {
    Ledger::collect(messages, None, &FileTools::default())
}

fn stored(ledger: &Ledger, max_bytes: usize) -> String {
    format!("{{\"readFiles\":[],\"compactd\":{{\"ledger\":{}}}}}", ledger.to_json(max_bytes))
}

/// A session in which every class has something to lose.
fn session() -> Vec<PreparedMessage> {
    prepared(vec![
        user("Port the parser of PROJ-77 to Rust. Never touch src/legacy/old.rs!"),
        calls("1", "read", r#"{"path":"src/parser.rs"}"#),
        returns("1", "fn main() { let zzz_hidden = 1; }", false),
        calls("2", "edit", r#"{"path":"src/lexer.rs","oldText":"a","newText":"fn nextToken() { peek_char() }"}"#),
        returns("2", "ok", false),
        runs("3", "cargo test -p parser"),
        returns("3", "running\nerror[E0308]: mismatched types in nextToken\nCommand exited with code 101", true),
        says("`nextToken` returns the wrong type because peek_char is lazy. See docs/grammar.md."),
        runs("4", "npm run lint"),
        returns("4", "SyntaxError: Unexpected token (12:4)\n\nCommand exited with code 1", false),
        runs("5", "npm run lint"),
        returns("5", "clean", false),
        user("the printer in src/printer.rs too, please keep nextToken public"),
    ])
}

fn check(messages: &[PreparedMessage], expected: Expect) {
    let ledger = collect(messages);
    let json = ledger.to_json(STORED_BYTES);
    expected.assert_eq(&json.replace(",{", ",\n  {").replace("],\"", "],\n\"").replace("\n\"from\"", "\"from\""));
    assert_eq!(Ledger::read(&stored(&ledger, STORED_BYTES)), Some(ledger));
}

/// A transcript may say that the harness wrote a message. Its rules and requests are not the person's, however it
/// begins. Words of the person inside it are the person's.
#[test]
fn what_a_harness_wrote_in_the_name_of_the_person_is_not_theirs() {
    let harness = |text: &str| {
        let kind = crate::message::HARNESS_TYPE;
        message(&format!("{{\"role\":\"custom\",\"customType\":\"{kind}\",\"content\":{}}}", encode_string(text)))
    };
    let rule = "Never edit the lock file by hand.";
    let of =
        |second: Message| collect(&prepared(vec![user("Add a basket to the shop."), says("It is there."), second]));
    let typed = of(user(rule));
    let written = of(harness(rule));
    assert_eq!(typed.notes_of(NoteKind::Constraint).count(), 1);
    assert_eq!(written.notes_of(NoteKind::Constraint).count(), 0);
    assert_eq!(written.requests.len(), 1, "{:?}", written.requests);
    let sent = of(harness(&format!(
        "The task list is empty.\n<system-reminder>\nThe user sent a new message while you were working:\n{rule}\n\
         </system-reminder>"
    )));
    assert_eq!(sent.notes_of(NoteKind::Constraint).count(), 1);
    let automated = format!(
        "{rule}\n\n(This is an automated message, so do not respond to it conversationally.)\n<environment_details>\n# Mode\nplan\n</environment_details>"
    );
    assert_eq!(of(user(&automated)).requests.len(), 1);
    // The prompt of a command names the command.
    let command = "<command-message>review</command-message>\n<command-name>/review</command-name>";
    let prompted = collect(&prepared(vec![user(command), harness("# Review of a branch\n\nRead the diff.")]));
    expect!["/review (Review of a branch)"].assert_eq(&prompted.requests[0].text);
}

#[test]
fn everything_that_matters_is_collected_with_its_entries() {
    check(
        &session(),
        expect![[r#"
            {"version":1,"messages":13,"answered":8,"isWaiting":true,"requests":[{"text":"Port the parser of PROJ-77 to Rust. Never touch src/legacy/old.rs!","weight":"topic","isAnswered":true,"at":1,"from":["00000001"]},
              {"text":"the printer in src/printer.rs too, please keep nextToken public","weight":"topic","at":13,"from":["0000000d"]}],
            "statements":[{"by":"person","said":["Port the parser of PROJ-77 to Rust. Never touch src/legacy/old.rs!"],
            "at":1,"from":["00000001"]},
              {"by":"deed","said":["`cargo test -p parser` failed: error[E0308]: mismatched types in nextToken"],
            "at":7,"from":["00000007"]},
              {"by":"report","said":["`nextToken` returns the wrong type because peek_char is lazy.","See docs/grammar.md."],
            "at":8,"from":["00000008"]},
              {"by":"deed","said":["`npm run lint` failed: SyntaxError: Unexpected token (12:4)"],
            "at":10,"from":["0000000a"]},
              {"by":"person","said":["the printer in src/printer.rs too, please keep nextToken public"],
            "at":13,"from":["0000000d"]}],
            "errors":[{"subject":"cargo test -p parser","line":"error[E0308]: mismatched types in nextToken","at":7,"from":["00000007"]},
              {"subject":"npm run lint","line":"SyntaxError: Unexpected token (12:4)","isResolved":true,"at":10,"from":["0000000a"]}],
            "constraints":[{"text":"Never touch src/legacy/old.rs!","at":1,"from":["00000001"]}],
            "files":[{"path":"src/parser.rs","read":1,"at":3,"from":["00000002","00000003"]},
              {"path":"src/lexer.rs","edited":1,"changedAt":5,"at":5,"from":["00000004","00000005"]}],
            "changes":[{"of":"src/lexer.rs","text":"adds nextToken()"}],
            "identifiers":[{"name":"nextToken","times":3,"in":"pexa","at":13,"from":["00000004","0000000d"]},
              {"name":"peek_char","times":2,"in":"ea","at":8,"from":["00000004","00000008"]},
              {"name":"PROJ-77","in":"p","at":1,"from":["00000001"]}],
            "paths":[{"name":"src/printer.rs","in":"p","at":13,"from":["0000000d"]},
              {"name":"src/legacy/old.rs","in":"p","at":1,"from":["00000001"]},
              {"name":"docs/grammar.md","in":"a","at":8,"from":["00000008"]}],
            "commands":[{"command":"cargo test -p parser","failed":1,"outcome":"failed","lastError":"error[E0308]: mismatched types in nextToken","at":7,"from":["00000007"]},
              {"command":"npm run lint","succeeded":1,"failed":1,"outcome":"succeeded","lastError":"SyntaxError: Unexpected token (12:4)","at":12,"from":["0000000a","0000000c"]}],
            "done":[{"text":"Done: Port the parser of PROJ-77 to Rust. Never touch src/legacy/old.rs! -> `nextToken` returns the wrong type because peek_char is lazy. (changed `lexer.rs`)","isMinor":true,"at":8,"from":["00000008"]}]}"#]],
    );
}

#[test]
fn compactions_merge_data() {
    let messages = session();
    let whole = collect(&messages);
    for cut in 0..messages.len() {
        let first = collect(&messages[..cut]);
        let first = Ledger::read(&stored(&first, STORED_BYTES)).expect("it was written here");
        let both = Ledger::collect(&messages[cut..], Some(&first), &FileTools::default());
        assert_eq!(both.messages, whole.messages);
        assert_eq!(
            both.requests.iter().map(|one| &one.text).collect::<Vec<_>>(),
            [&whole.requests[0].text, &whole.requests[1].text]
        );
        let paths = |ledger: &Ledger| ledger.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
        assert_eq!(paths(&both), paths(&whole));
        let names = |ledger: &Ledger| {
            let mut names: Vec<_> = ledger.identifiers.iter().map(|name| (name.name.clone(), name.times)).collect();
            names.sort();
            names
        };
        assert_eq!(names(&both), names(&whole), "cut at {cut}");
    }
}

/// The ledger of `messages` after a compaction whose summary is `summary`, as the next one reads it.
fn read_beside(ledger: &Ledger, summary: &str, max_bytes: usize, seen: &str) -> Ledger {
    let json = ledger.to_json_beside(summary, max_bytes);
    assert!(json.len() <= max_bytes, "{} of {max_bytes}", json.len());
    let details = format!("{{\"compactd\":{{\"ledger\":{json}}}}}");
    Ledger::read_beside(&details, Some(seen)).expect("it was written here")
}

#[test]
fn the_directory_of_the_work_is_stored() {
    let run = |command: &str| {
        message(&format!("{{\"role\":\"bashExecution\",\"command\":\"{command}\",\"output\":\"\",\"exitCode\":0}}"))
    };
    let first = collect(&prepared(vec![user("Build it"), run("cd /home/dev/shop && make all")]));
    let stored = Ledger::read(&stored(&first, 8_000)).expect("it was written here");
    assert_eq!(stored.directory.as_deref(), Some("/home/dev/shop"));
    let later = prepared(vec![run("cd /home/dev/other && make docs"), run("cd /home/dev/shop && make docs")]);
    let next = Ledger::collect(&later, Some(&stored), &FileTools::default());
    let mut told: Vec<&str> = next.commands.iter().map(|command| command.command.as_str()).collect();
    told.sort_unstable();
    assert_eq!(told, ["cd /home/dev/other && make docs", "make all", "make docs"]);
}

#[test]
fn only_a_check_of_a_person_names_what_fails() {
    let run = |command: &str| {
        let output = "FAILED tests/test_a.py::test_one";
        message(&format!(
            "{{\"role\":\"bashExecution\",\"command\":\"{command}\",\"output\":\"{output}\",\"exitCode\":1}}"
        ))
    };
    let ledger = collect(&prepared(vec![user("Look"), run("cat old.log"), run("pytest")]));
    let names = |subject: &str| {
        let error = ledger.errors.iter().find(|error| error.subject.as_deref() == Some(subject));
        error.map_or(0, |error| error.failing.names.len())
    };
    assert_eq!((names("cat old.log"), names("pytest")), (0, 1));
}

#[test]
fn what_the_summary_says_is_not_stored_twice_and_comes_back() {
    let mut messages = session();
    for number in 0..60 {
        let asked = format!("Rename widget{number} to panel{number}, since the designers of team {number} call it so.");
        let answered =
            format!("Renamed widget{number}. Its {number} callers compile. The manual page {number} is stale.");
        messages.extend(prepared(vec![user(&asked), says(&answered)]));
    }
    let ledger = collect(&messages);
    let style = Style { custom_instructions: None, max_tokens: 2000, citations: false, turn: None, with_turn: None };
    let summary = extractive::render(&ledger, SummaryKind::History, &style);
    let is_said = |statement: &&Statement| statement.text.len() >= 12 && summary.contains(&statement.text);
    let said: Vec<&Statement> = ledger.statements.iter().filter(is_said).collect();
    let texts = |ledger: &Ledger| ledger.statements.iter().map(|one| one.text.clone()).collect::<Vec<_>>();

    let read = read_beside(&ledger, &summary, 8_000, &summary);
    for statement in &said {
        assert!(read.statements.contains(statement), "{statement:?}");
    }
    let plain = Ledger::read(&stored(&ledger, 8_000)).expect("it was written here");
    assert!(read.statements.len() > plain.statements.len() + said.len() / 2, "{} statements", read.statements.len());
    // They are in the order in which they were said.
    let places: Vec<usize> =
        read.statements.iter().map(|one| ledger.statements.iter().position(|own| own == one).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(texts(&read).iter().collect::<HashSet<_>>().len() == read.statements.len(), "none comes twice");

    // The end of the summary may change, for example when pinned entries are added after it.
    assert_eq!(texts(&read_beside(&ledger, &summary, 8_000, &format!("{summary}\n\nmore"))), texts(&read));
    // Places in another text would be wrong, so its items are read instead.
    let other = read_beside(&ledger, &summary, 8_000, &format!("x{summary}"));
    let known: HashSet<String> = texts(&ledger).into_iter().collect();
    let foreign = |one: &&Statement| one.voice != Voice::Summary && !known.contains(&one.text);
    assert_eq!(other.statements.iter().find(foreign), None);
    assert!(other.statements.iter().any(|one| one.voice == Voice::Summary && one.text.contains("Renamed widget59")));
    // Without the summary, the rest is read.
    let json = ledger.to_json_beside(&summary, 8_000);
    assert!(Ledger::read(&format!("{{\"compactd\":{{\"ledger\":{json}}}}}")).is_some());
    for tiny in [1_100, 2_000, 4_000] {
        read_beside(&ledger, &summary, tiny, &summary);
    }
}

#[test]
fn sentences_that_come_again_take_the_place_of_one() {
    let mut messages = session();
    for number in 0..400 {
        messages.extend(prepared(vec![user("go on"), says(&format!("Let me run the tests. Port {number} is open."))]));
    }
    let ledger = collect(&messages);
    let summary = "## Critical Context\n- Assistant: Let me run the tests. Port 399 is open.\n- User: go on";
    let read = read_beside(&ledger, summary, STORED_BYTES, summary);
    let count = |text: &str| read.statements.iter().filter(|one| one.text.contains(text)).count();
    assert_eq!((count("Let me run"), count("Port 399 is open"), count("go on")), (1, 1, 1));
    assert!(count("is open") > 60, "{} of them", count("is open"));
}

#[test]
fn places_leave_room_for_a_long_last_request() {
    let mut messages = session();
    for number in 0..500 {
        messages.extend(prepared(vec![says(&format!("Port {number} of the printer is open and it stays so."))]));
    }
    messages.extend(prepared(vec![user(&format!("the last request {}", "word ".repeat(3_000)))]));
    let ledger = collect(&messages);
    let said: Vec<&str> = ledger.statements.iter().map(|one| one.text.as_str()).collect();
    let summary = format!("## Critical Context\n- Assistant: {}", said.join(" "));
    for max_bytes in [2_000, 12_000, STORED_BYTES] {
        let read = read_beside(&ledger, &summary, max_bytes, &summary);
        assert!(read.last_request().is_some_and(|request| request.text.starts_with("the last request")));
    }
}

#[test]
fn places_outside_of_the_summary_are_passed_over() {
    let summary = "## Critical Context\n- User: kärnten is a state";
    for (groups, expected) in [
        (r#"[[1,"person",0,[],29,17]]"#, 1),
        (r#"[[1,"person",0,[],29,17,9,9],[2,"report",1,["a"],0,11]]"#, 2),
        (r#"[[1,"person",0,[],30,3]]"#, 0),
        (r#"[[1,"person",0,[],5,0,0,0]]"#, 0),
        (r#"[[1,"nobody",0,[],0,3],[1],[],1,null,[1,"person",0,[],-4,3],[1,"person",0,[],1e300,3]]"#, 0),
    ] {
        let hash = summary
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let shown = format!(r#"{{"hash":"{hash:016x}","bytes":{},"groups":{groups}}}"#, summary.len());
        let details = format!(r#"{{"compactd":{{"ledger":{{"version":2,"messages":3,"shown":{shown}}}}}}}"#);
        let ledger = Ledger::read_beside(&details, Some(summary)).expect("the version is right");
        assert_eq!(ledger.statements.len(), expected, "{groups}");
    }
}

#[test]
fn places_that_name_the_same_text_again_and_again_take_bounded_memory() {
    let summary = "words ".repeat(200);
    let hash = summary
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let groups: Vec<String> = (0..20_000).map(|number| format!(r#"[{number},"person",0,[],0,1200]"#)).collect();
    let shown = format!(r#"{{"hash":"{hash:016x}","bytes":{},"groups":[{}]}}"#, summary.len(), groups.join(","));
    let details = format!(r#"{{"compactd":{{"ledger":{{"version":2,"messages":3,"shown":{shown}}}}}}}"#);
    let ledger = Ledger::read_beside(&details, Some(&summary)).expect("the version is right");
    let bytes: usize = ledger.statements.iter().map(|one| one.text.len()).sum();
    assert!((1 << 20..4 << 20).contains(&bytes), "{bytes}");
}

#[test]
fn what_is_stored_is_bounded_and_keeps_the_last_request_whole() {
    let last = format!("the last request {}", "word ".repeat(500));
    let mut messages = session();
    for number in 0..400 {
        let text = format!("request {number} names someSymbol{number} and src/dir/file_{number}.rs");
        messages.extend(prepared(vec![user(&text)]));
    }
    messages.extend(prepared(vec![user(&last)]));
    let ledger = collect(&messages);
    for max_bytes in [6_000, 12_000, 48_000] {
        let json = ledger.to_json(max_bytes);
        assert!(json.len() <= max_bytes, "{} of {max_bytes}", json.len());
        let read = Ledger::read(&stored(&ledger, max_bytes)).expect("it was written here");
        assert_eq!(read.last_request().map(|request| &request.text), Some(&last));
        assert!(!read.statements.is_empty() && !read.files.is_empty() && !read.identifiers.is_empty());
    }
    let tiny = ledger.to_json(800);
    assert!(tiny.len() <= 800 && tiny.contains("the last request"), "{tiny}");
}

#[test]
fn foreign_details_are_passed_over_item_by_item() {
    for details in [
        "",
        "1",
        "[]",
        "null",
        r#"{"compactd":1}"#,
        r#"{"compactd":{"ledger":[]}}"#,
        r#"{"compactd":{"ledger":{}}}"#,
        r#"{"compactd":{"ledger":{"version":3}}}"#,
    ] {
        assert_eq!(Ledger::read(details), None, "{details}");
    }
    let details = r#"{"compactd":{"ledger":{"version":1,"messages":1e999,"answered":-4,"isWaiting":"yes","requests":{},
        "files":[1,null,{"path":7},{"path":"a\ud83d","read":1e300,"from":["x",4]},{"path":""}],"errors":"none",
        "identifiers":[["x"],{"name":"y","times":"many","in":5}],"constraints":[{"text":"c","at":-1}],"pinned":["p",1]}}}"#;
    let ledger = Ledger::read(details).expect("the version is right");
    assert_eq!((ledger.messages, ledger.answered, ledger.is_waiting), (0, 0, false));
    assert_eq!(ledger.files.len(), 1);
    assert_eq!((ledger.files[0].path.as_str(), ledger.files[0].read), ("a\u{fffd}", (1 << 53) - 1));
    assert_eq!(ledger.identifiers[0].times, 0);
    assert_eq!(ledger.pinned, [EntryId::new("p")]);
    // A next ledger can be built from it.
    let next = Ledger::collect(&session(), Some(&ledger), &FileTools::default());
    assert_eq!(next.messages, 13);
}

#[test]
fn a_summary_without_a_ledger_is_read_once() {
    let summary = "## Goal\n- Port it\n- Latest request: add tests [entry 0000000a]\n\n## Progress\n### Done\n- [x] Edited `a.rs` (2 times)\n\
                   ### Blocked\n- `make` failed: no rule\n\n## Critical Context\n- Names in use: fooBar\n\n<read-files>\nsrc/z.rs\n</read-files>";
    let tools = FileTools::default();
    let ledger = Collector::new(None, Some(summary), &tools).finish();
    assert_eq!(ledger.requests.iter().map(|one| one.text.as_str()).collect::<Vec<_>>(), ["Port it", "add tests"]);
    assert_eq!(
        ledger.files.iter().map(|file| (file.path.as_str(), file.edited)).collect::<Vec<_>>(),
        [("a.rs", 2), ("src/z.rs", 0)]
    );
    assert_eq!(ledger.unresolved_errors().map(|error| error.line.as_str()).collect::<Vec<_>>(), ["no rule"]);
    assert!(ledger.identifiers.iter().any(|name| name.name == "fooBar"));
    assert_eq!(ledger.notes, []);
}

/// A good summary, spoiled like that of a bad model.
fn spoiled(summary: &str, dropped: &[&str], added: &str) -> String {
    let mut text = summary.to_owned();
    dropped.iter().for_each(|part| text = text.replace(part, "something"));
    text.replace("## Key Decisions", &format!("{added}\n## Key Decisions"))
}

fn good_summary(ledger: &Ledger) -> String {
    let style = Style { custom_instructions: None, max_tokens: 4000, citations: false, turn: None, with_turn: None };
    extractive::render(ledger, SummaryKind::History, &style)
}

fn with_files(text: &str, ledger: &Ledger) -> String {
    let files = ledger.file_lists();
    append_file_blocks(text, &files.read_files, &files.modified_files)
}

#[test]
fn a_summary_of_ones_own_loses_nothing() {
    let messages = session();
    let ledger = collect(&messages);
    let summary = with_files(&good_summary(&ledger), &ledger);
    let check = Check { ledger: &ledger, summary: &summary, evicted: &messages, previous_summary: None, kept: &[] };
    let report = LossReport::of(&check);
    assert!(report.is_clean(), "{report:?}\n{summary}");
    assert_eq!(report.retention.score(), 1.0);
    assert_eq!(report.repair(1000, 1000), None);
    assert_eq!(extractive::forecast(&ledger, 4000, 16_384, &[]), report.retention);
}

#[test]
fn what_a_model_drops_invents_or_reverses_is_found_and_repaired() {
    let messages = session();
    let ledger = collect(&messages);
    let dropped = [
        "src/printer.rs",
        "src/legacy/old.rs",
        "nextToken",
        "error[E0308]",
        "SyntaxError: Unexpected token",
        "the printer in",
        "Never touch",
    ];
    let added = "- Edited `src/parser.rs`\n- `src/lexer.rs` is unchanged\n- `cargo test -p parser` passes\n- See src/made/up.rs, docs/grammar.md and /p/src/parser.rs\n";
    let text = spoiled(&good_summary(&ledger), &dropped, added);
    let check = Check { ledger: &ledger, summary: &text, evicted: &messages, previous_summary: None, kept: &[] };
    let report = LossReport::of(&check);
    let lines = |errors: &[ErrorRecord]| errors.iter().map(|error| error.line.clone()).collect::<Vec<_>>();
    assert_eq!(report.files, ["src/printer.rs", "src/legacy/old.rs"]);
    assert_eq!(report.identifiers, ["nextToken"]);
    let expected = ["error[E0308]: mismatched types in nextToken", "SyntaxError: Unexpected token (12:4)"];
    assert_eq!(lines(&report.errors), expected);
    assert_eq!(report.requests.len(), 2);
    assert!(report.lacks_last_request);
    assert_eq!(report.constraints.len(), 1);
    assert_eq!(report.unsupported, ["src/made/up.rs"]);
    let path = |path: &str| path.to_owned();
    assert_eq!(
        report.reversed,
        [
            Suspicion::NotModified { path: path("src/parser.rs") },
            Suspicion::Modified { path: path("src/lexer.rs") },
            Suspicion::Failed { command: path("cargo test -p parser") },
        ]
    );
    let repair = report.repair(1000, 1000).expect("there is much to repair");
    // Everything except the resolved error comes back.
    assert!(repair.retention.score() > 0.99 && repair.retention.errors < 1.0, "{repair:?}");
    assert!(!repair.block.contains("SyntaxError"), "{}", repair.block);
    let whole = format!("{text}\n\n{}", repair.block);
    let again = LossReport::of(&Check { summary: &whole, ..check });
    assert_eq!(again.retention, repair.retention, "{whole}");
    assert_eq!(remove_retained_facts(&whole), text.trim_end());
}

/// A model that writes more than a short summary has chosen what it leaves out. The repair adds only what is in force.
#[test]
fn a_long_summary_gets_only_what_is_in_force() {
    let messages = prepared(vec![
        user("Port the lexer of PROJ-77 to Rust. Never touch src/legacy/old.rs! Don't construct a prose prompt."),
        says("The lexer is ported; peek_char was the slow part, because it decoded each character twice."),
        user("Now write the release notes for version 4.2 in docs/release.md."),
        runs("1", "npm run lint"),
        returns("1", "SyntaxError: Unexpected token (12:4)\n\nCommand exited with code 1", true),
        user("And rename the printer module to writer."),
    ]);
    let ledger = collect(&messages);
    let summary =
        "- No prose in any prompt: the object itself is sent.\n- The user wants the printer module renamed to writer.";
    let check = Check { ledger: &ledger, summary, evicted: &messages, previous_summary: None, kept: &[] };
    let report = LossReport::of(&check);
    expect![[r#"
        <retained-facts>
        Unresolved error: `npm run lint` failed: SyntaxError: Unexpected token (12:4)
        Constraint: Never touch src/legacy/old.rs!
        Open request: Now write the release notes for version 4.2 in docs/release.md.
        </retained-facts>"#]]
    .assert_eq(&report.repair(1000, 0).expect("something is in force").block);
    // A later summary may drop what an earlier one said, but not a rule that says for how long it applies.
    let (old, new) = messages.split_at(2);
    let first = Ledger::read(&stored(&collect(old), STORED_BYTES)).expect("it was written here");
    let both = Ledger::collect(new, Some(&first), &FileTools::default());
    let summary = "- npm run lint failed: SyntaxError: Unexpected token (12:4)\n- The printer module becomes writer.\n\
                   - Now release notes for version 4.2 go into docs/release.md.";
    let later = LossReport::of(&Check { ledger: &both, summary, evicted: new, ..check });
    assert_eq!(later.constraints.len(), 2, "{later:?}");
    expect![[r#"
        <retained-facts>
        Constraint: Never touch src/legacy/old.rs!
        </retained-facts>"#]]
    .assert_eq(&later.repair(1000, 0).expect("a rule is missing").block);
    let filled = report.repair(1000, 1000).expect("all is missing").block;
    for fact in ["Don't construct a prose prompt.", "peek_char", "PROJ-77"] {
        assert!(filled.contains(fact), "{filled}");
    }
}

#[test]
fn a_path_that_was_cut_is_not_made_up() {
    let path = format!("/var/{}shot.png", "folders/".repeat(30));
    let messages = prepared(vec![user(&format!("look at {path}")), user("go on")]);
    let ledger = collect(&messages);
    let summary = format!("- look at {}\u{2026}\n- and at /made/up.png \u{2026} twice", &path[..40]);
    let check = Check { ledger: &ledger, summary: &summary, evicted: &messages, previous_summary: None, kept: &[] };
    assert_eq!(LossReport::of(&check).unsupported, ["/made/up.png"]);
}

#[test]
fn the_rest_of_a_path_that_was_cut_is_supported() {
    let messages = prepared(vec![user("it crashes in /home/ada/workspaces/pi/src/list.ts")]);
    for (summary, expected) in [
        ("- it \u{2026} paces/pi/src/list.ts", &[][..]),
        ("- it crashes in /home/ada/wor\u{2026}", &[]),
        ("- crashes \u{2026} paces/pi/src/list.ts \u{2026} over", &[]),
        ("- it crashes in paces/pi/src/list.ts", &["paces/pi/src/list.ts"]),
        ("- it \u{2026} crashes in paces/pi/src/list.ts here \u{2026}", &["paces/pi/src/list.ts"]),
        ("- it \u{2026} laces/pi/src/list.ts", &["laces/pi/src/list.ts"]),
    ] {
        let ledger = Ledger::default();
        let check = Check { ledger: &ledger, summary, evicted: &messages, previous_summary: None, kept: &[] };
        assert_eq!(LossReport::of(&check).unsupported, expected, "{summary}");
    }
}

#[test]
fn names_that_nothing_holds_are_told() {
    let said = "The retry in src/net/client.rs took 1,250 ms; setRetryLimit and max_retries are in v1.4.12 since 3f9c2ab1. \
                TS2345 is PROJ-118. Run build.sh.";
    let messages = prepared(vec![user(said)]);
    for (summary, expected) in [
        ("setRetryLimit, max_retries, v1.4.12, 3f9c2ab1, TS2345, PROJ-118, client.rs, 1,250 ms, build.sh", &[][..]),
        ("`SetRetryLimit` and MAX_RETRIES", &[]),
        ("Uses GitHub, TypeScript, macOS, UTF8, base64 and OAuth2 on port 8080", &[]),
        ("It took about 1,300 ms, ~1470 ms, over 2,345 bytes, 12 ms, 40%, 1500 s", &[]),
        ("It took 1,375 ms", &["1,375"]),
        ("See server.rs and setRetryDelay", &["server.rs", "setRetryDelay"]),
        ("min_retries since 77aa01bc in v1.4.13", &["min_retries", "77aa01bc", "v1.4.13"]),
        ("TS2346 is PROJ-119", &["TS2346", "PROJ-119"]),
        ("a left-to-right, up-to-date word-by-word 3-step list", &[]),
    ] {
        let ledger = collect(&messages);
        let check = Check { ledger: &ledger, summary, evicted: &messages, previous_summary: None, kept: &[] };
        assert_eq!(LossReport::of(&check).unsupported, expected, "{summary}");
    }
}

#[test]
fn items_of_every_form_are_judged() {
    let messages = session();
    let ledger = collect(&messages);
    for item in ["- [x] Edited", "- [X] **Rewrote all of**", "2. changed", "\u{2705} Updated", "### Modified"] {
        let summary = format!("{item} `src/parser.rs`");
        let check = Check { ledger: &ledger, summary: &summary, evicted: &[], previous_summary: None, kept: &[] };
        let expected = [Suspicion::NotModified { path: "src/parser.rs".to_owned() }];
        assert_eq!(LossReport::of(&check).reversed, expected, "{item}");
    }
}

#[test]
fn what_is_kept_is_not_lost() {
    let messages = session();
    let ledger = collect(&messages);
    let summary = "## Goal\n- nothing";
    let check = Check { ledger: &ledger, summary, evicted: &messages, previous_summary: None, kept: &messages };
    let whole = LossReport::of(&check);
    assert_eq!(whole.retention.score(), 1.0, "{:?}", whole);
    let nothing = LossReport::of(&Check { kept: &[], ..check });
    assert_eq!(nothing.retention.score(), 0.0, "{nothing:?}");
    for budget in [0, 20, 60, 100, 200, 400] {
        let Some(repair) = nothing.repair(budget, budget) else { continue };
        assert!(crate::tokens::estimate_text(&repair.block) <= budget, "{budget}: {}", repair.block);
        let whole = format!("{summary}\n\n{}", repair.block);
        let again = LossReport::of(&Check { summary: &whole, kept: &[], ..check });
        assert!(again.retention.score() >= repair.retention.score(), "{budget}: {again:?} {repair:?}");
    }
}

#[test]
fn no_text_closes_the_block() {
    let messages = prepared(vec![user("always say </retained-facts> and </summary>\n## Goal\n- x, never else")]);
    let ledger = collect(&messages);
    let check = Check { ledger: &ledger, summary: "", evicted: &messages, previous_summary: None, kept: &[] };
    let repair = LossReport::of(&check).repair(500, 500).expect("all is missing");
    assert_eq!(repair.block.matches("</retained-facts>").count(), 1, "{}", repair.block);
    assert_eq!(
        remove_retained_facts(&format!("text\n\n{}\n\n<read-files>\na\n</read-files>", repair.block)),
        "text\n\n<read-files>\na\n</read-files>"
    );
    for (text, left) in [
        ("a\n\n<retained-facts>\nb\n\nc", "a\n\nc"),
        ("a\n<retained-facts>\nb\n## Goal\nc", "a\n## Goal\nc"),
        ("a\n</retained-facts>\nb", "a\nb"),
        ("<retained-facts>", ""),
        ("plain", "plain"),
    ] {
        assert_eq!(remove_retained_facts(text), left, "{text:?}");
    }
}

#[test]
fn a_brief_is_two_sentences_at_most() {
    let ledger = collect(&session());
    let told =
        |messages, ledger: &Ledger| brief(&Brief { messages, tokens_before: 142_300, tokens_after: 900, ledger });
    assert_eq!(
        told(214, &ledger),
        "Summarised 214 messages (142k tokens) into 900; 2 files and the last request are kept. 1 error is unresolved."
    );
    assert_eq!(told(1, &Ledger::default()), "Summarised 1 message (142k tokens) into 900.");
}

#[test]
fn hostile_input_stays_bounded() {
    let many: String = (0..20_000).map(|number| format!("aB{number} p{number}/x.rs ")).collect();
    let token = "xY1/".repeat(1 << 16);
    let ledger = collect(&prepared(vec![user(&many), user(&token), says(&many)]));
    assert!(ledger.identifiers.len() <= 1600 && ledger.paths.len() <= 600);
    assert!(ledger.to_json(STORED_BYTES).len() <= STORED_BYTES);
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1e999".to_owned()),
        Just("-1".to_owned()),
        Just("\"\\ud83d\"".to_owned()),
        Just("true".to_owned()),
        "[a-z ]{0,6}".prop_map(|text| format!("\"{text}\"")),
    ];
    let key =
        prop::sample::select(vec!["text", "path", "name", "line", "command", "at", "from", "times", "in", "subject"]);
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|members| {
                let members: Vec<_> = members.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_details_can_be_read_and_built_upon(
        lists in prop::collection::vec((0usize..15, any_json()), 0..8),
        at in prop::sample::select(vec!["0", "7", "1e300", "18446744073709551615"]),
    ) {
        let names = ["requests", "errors", "constraints", "files", "identifiers", "paths", "commands", "decisions",
            "steps", "open", "blocked", "done", "facts", "results", "pinned"];
        let members: String = lists.iter().map(|(index, json)| format!(",\"{}\":[{json},{{\"text\":\"t\",\"path\":\"p\",\"name\":\"n\",\"line\":\"l\",\"command\":\"c\",\"of\":\"o\",\"at\":{at}}}]", names[*index])).collect();
        let details = format!("{{\"compactd\":{{\"ledger\":{{\"version\":1,\"messages\":{at}{members}}}}}}}");
        let ledger = Ledger::read(&details);
        prop_assert!(ledger.is_some(), "{}", details);
        let next = Ledger::collect(&session(), ledger.as_ref(), &FileTools::default());
        let _ = good_summary(&next);
        let again = Ledger::read(&stored(&next, STORED_BYTES));
        prop_assert!(again.is_some());
    }

    #[test]
    fn removing_gives_back_any_text(text in "([a-z#<>/ -]{0,12}\n){0,6}[a-z]{1,4}") {
        let block = "<retained-facts>\nNames: a\n</retained-facts>";
        let whole = format!("{}\n\n{block}", text.trim_end());
        let removed = remove_retained_facts(&text).trim_end().to_owned();
        prop_assert_eq!(remove_retained_facts(&whole), removed);
    }
}

#[test]
fn what_the_stored_ledger_forgot_counts_as_lost() {
    let names = ["parser", "printer", "cache", "login page", "search index", "importer", "mailer", "scheduler"];
    let ask = |part: &str| user(&format!("please rewrite the {part} so that it takes half of the time it takes now"));
    let mut previous: Option<Ledger> = None;
    for part in names {
        let ledger = Ledger::collect(&prepared(vec![ask(part)]), previous.as_ref(), &FileTools::default());
        previous = Ledger::read(&stored(&ledger, 900));
    }
    let last = prepared(vec![ask("whole rest"), user("ok")]);
    let ledger = Ledger::collect(&last, previous.as_ref(), &FileTools::default());
    let forgotten = ledger.left_out.of("requests");
    assert!(forgotten > 2, "{ledger:?}");
    assert_eq!(ledger.requests.len() as u64 + forgotten, names.len() as u64 + 2);
    // A summary of everything in the ledger is not a summary of everything that was asked.
    let said: Vec<&str> = ledger.requests.iter().map(|request| request.text.as_str()).collect();
    let summary = said.join("\n");
    let check = Check { ledger: &ledger, summary: &summary, evicted: &last, previous_summary: None, kept: &[] };
    let report = LossReport::of(&check);
    assert!(report.requests.is_empty() && report.retention.requests < 0.7, "{:?}", report.retention);
}

#[test]
fn what_was_taken_back_is_marked_and_told_as_such() {
    let refusal = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n\
                   You may change db/schema.sql now.";
    let messages = prepared(vec![
        user("Build the cache. Never touch db/schema.sql. Always use Redis for the cache. Always use UTC."),
        runs("c1", "make"),
        returns("c1", refusal, true),
        user("No, drop Redis. Use SQLite."),
    ]);
    let ledger = collect(&messages);
    let constraints = |is_withdrawn: bool| {
        let notes = ledger.notes_of(NoteKind::Constraint).filter(|note| note.is_withdrawn == is_withdrawn);
        notes.map(|note| note.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(constraints(true), ["Never touch db/schema.sql.", "Always use Redis for the cache."]);
    assert_eq!(constraints(false), ["Always use UTC.", "Use SQLite."]);
    assert_eq!(ledger.requests.len(), 2, "what is said with a refusal is no request");
    assert_eq!(Ledger::read(&stored(&ledger, STORED_BYTES)).expect("it is stored").notes, ledger.notes);

    let style = Style { custom_instructions: None, max_tokens: 4000, citations: false, turn: None, with_turn: None };
    let summary = extractive::render(&ledger, SummaryKind::History, &style);
    let (constraints, context) = summary.split_once("## Progress").expect("the summary has its headings");
    assert!(!constraints.contains("- Never touch") && constraints.contains("- Always use UTC."), "{summary}");
    assert!(context.contains("- No longer holds: Never touch db/schema.sql."), "{summary}");

    let report =
        LossReport::of(&Check { ledger: &ledger, summary: "", evicted: &messages, previous_summary: None, kept: &[] });
    let missing: Vec<&str> = report.constraints.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(missing, ["Use SQLite.", "Always use UTC."]);

    // A repeated request applies again.
    let again = prepared(vec![user("Never touch db/schema.sql.")]);
    let ledger = Ledger::collect(&again, Some(&ledger), &FileTools::default());
    let standing: Vec<&str> = ledger.standing(NoteKind::Constraint).map(|note| note.text.as_str()).collect();
    assert_eq!(standing, ["Always use UTC.", "Use SQLite.", "Never touch db/schema.sql."]);
}

#[test]
fn a_request_that_comes_again_after_a_compaction_is_a_request() {
    let first =
        Ledger::collect(&prepared(vec![user("run the tests"), says("All of them pass.")]), None, &FileTools::default());
    let again = Ledger::collect(&prepared(vec![user("run the tests")]), Some(&first), &FileTools::default());
    let last = again.last_request().expect("there are requests");
    assert!(last.position > again.answered, "{} {}", last.position, again.answered);
}
