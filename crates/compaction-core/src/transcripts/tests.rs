//! Each fixture is a transcript in the form of its agent, next to the entries that it becomes. `UPDATE_EXPECT=1`
//! rewrites the entries.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use expect_test::{expect, expect_file};

use super::*;
use crate::entry::{Entry, iso_timestamp, new_entry_line};
use crate::json::RawObject;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/transcripts")
}

fn names() -> Vec<String> {
    let entries = std::fs::read_dir(fixtures()).unwrap();
    let names = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.strip_suffix(".in").map(str::to_owned));
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

fn bytes_of(name: &str) -> Vec<u8> {
    std::fs::read(fixtures().join(format!("{name}.in"))).unwrap()
}

/// The files of a transcript that is a directory: each begins with a line that names it.
fn files_of(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let parts = text.split("=== ").skip(1).map(|part| part.split_once('\n').unwrap());
    parts.map(|(name, content)| (name.to_owned(), content.into())).collect()
}

fn source_of(name: &str, bytes: &[u8]) -> Source {
    if let Some(agent) = name.strip_suffix("-files").and_then(Agent::from_name) {
        let head = &files_of(bytes)[0].1;
        return Source { shape: Shape::Files, ..identify(agent, head, name, "/work") };
    }
    let named = name.strip_suffix("-unsigned").and_then(Agent::from_name);
    let agent = named.or_else(|| detect(bytes)).unwrap_or_else(|| panic!("{name} is detected"));
    identify(agent, bytes, name, "/work")
}

fn feed(import: &mut Import, source: &Source, bytes: &[u8]) -> Result<(), TranscriptError> {
    if source.shape == Shape::Files {
        for (name, content) in files_of(bytes) {
            import.file(&name, content)?;
        }
    } else {
        for chunk in bytes.chunks(97) {
            import.feed(chunk)?;
        }
    }
    import.end()
}

fn imported(source: &Source, bytes: &[u8], existing: Existing) -> (Vec<Imported>, Report, Imported) {
    let mut import = Import::new(source, 0, existing).unwrap();
    feed(&mut import, source, bytes).unwrap();
    (import.take(), import.report().clone(), import.mark())
}

fn line_of(entry: &Imported) -> String {
    let time = iso_timestamp(entry.timestamp);
    new_entry_line(entry.kind, &entry.id, entry.parent.as_ref(), &time, &entry.members).unwrap()
}

/// The bytes of the transcript in the entries.
fn original_of<'a>(entries: impl IntoIterator<Item = &'a Imported>) -> Vec<u8> {
    let originals = entries.into_iter().filter(|entry| entry.members.contains(RECORD_TYPE)).map(|entry| {
        let line = line_of(entry);
        let entry = RawObject::parse(&line).unwrap();
        original(entry.get("data").unwrap()).unwrap()
    });
    originals.collect::<Vec<_>>().concat()
}

#[test]
fn transcripts_become_the_entries_beside_them() {
    let names = names();
    assert!(names.len() >= 9, "{names:?}");
    for name in names {
        let bytes = bytes_of(&name);
        let source = source_of(&name, &bytes);
        let (entries, report, _) = imported(&source, &bytes, Existing::default());
        let mut out = format!("{source:?}\n{report:#?}\n");
        for entry in &entries {
            let line = line_of(entry);
            Entry::parse(&line).unwrap();
            // Another test covers the kept records.
            let is_record = entry.members.contains(RECORD_TYPE);
            let end = line.find("\"data\":").filter(|_| is_record).unwrap_or(line.len());
            out.push_str(&line[..end]);
            out.push('\n');
        }
        expect_file![fixtures().join(format!("{name}.out"))].assert_eq(&out);
    }
}

#[test]
fn every_transcript_comes_back_byte_for_byte() {
    for name in names() {
        let bytes = bytes_of(&name);
        let source = source_of(&name, &bytes);
        let (entries, ..) = imported(&source, &bytes, Existing::default());
        let whole = match source.shape {
            Shape::Files => files_of(&bytes).into_iter().flat_map(|(_, content)| content).collect(),
            _ => bytes,
        };
        assert_eq!(String::from_utf8_lossy(&original_of(&entries)), String::from_utf8_lossy(&whole), "{name}");
    }
}

#[test]
fn ids_are_unique_and_parents_come_first() {
    for name in names() {
        let bytes = bytes_of(&name);
        let (entries, _, mark) = imported(&source_of(&name, &bytes), &bytes, Existing::default());
        let mut ids = HashSet::new();
        for entry in entries.iter().chain([&mark]) {
            assert!(entry.parent.as_ref().is_none_or(|parent| ids.contains(parent.as_str())), "{name}: {entry:?}");
            assert!(ids.insert(entry.id.as_str().to_owned()), "{name}: {entry:?}");
        }
    }
}

/// The words of all messages by role, without rules of Markdown.
fn words_of(entries: &[Imported]) -> Vec<(String, String)> {
    let mut words = Vec::new();
    for entry in entries.iter().filter(|entry| entry.kind == "message") {
        let entry = Json::parse(&entry.members).unwrap();
        let message = entry.get("message").unwrap();
        let role = text_at(message, &["role"]).unwrap().to_owned();
        let text = claude_code::text_of(message.get("content").unwrap());
        words.extend(text.split_whitespace().filter(|word| *word != "---").map(|word| (role.clone(), word.to_owned())));
    }
    words
}

/// A transcript that is imported at each of its line ends has the same records as one that is imported once, each of
/// them once. The same applies if the last line is cut anywhere. Its messages have the same words.
#[test]
fn a_growing_transcript_is_continued() {
    let names = ["claude-code", "codex", "aider", "aider-formatted", "aider-outputs", "cursor-agent"];
    for name in names.into_iter().chain(["cursor-specstory", "cursor-specstory-early"]) {
        let bytes = bytes_of(name);
        let source = source_of(name, &bytes);
        let mut steps: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
        if source.shape != Shape::Text {
            let cut = steps[steps.len() / 2] + 9;
            steps.push(cut);
        }
        steps.push(bytes.len());
        steps.sort_unstable();
        let (mut existing, mut entries) = (Existing::default(), Vec::new());
        for end in steps.into_iter().filter(|end| *end > bytes.len() / 3) {
            let (new, _, mark) = imported(&source, &bytes[..end], existing.clone());
            let data = RawObject::parse(&mark.members).unwrap().get("data").unwrap().to_owned();
            existing.imports.push(earlier_import(&data).unwrap().0);
            existing.ids.extend(new.iter().chain([&mark]).map(|entry| entry.id.as_str().to_owned()));
            entries.extend(new.into_iter().chain([mark]));
        }
        let complete = entries.iter().filter(|entry| !entry.members.contains("\"partial\":true"));
        assert_eq!(String::from_utf8_lossy(&original_of(complete)), String::from_utf8_lossy(&bytes), "{name}");
        let ids: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids.len(), entries.len(), "{name}");
        let once = imported(&source, &bytes, Existing::default()).0;
        assert_eq!(words_of(&entries), words_of(&once), "{name}");
        let (again, ..) = imported(&source, &bytes, existing);
        assert_eq!(again, [], "{name}");
    }
}

/// Claude Code can write a result before its call. The messages are those of the lines in the order of their parents,
/// and the records keep the order of the file.
#[test]
fn a_line_before_its_parent_is_read_after_it() {
    let lines = String::from_utf8(bytes_of("claude-code-order")).unwrap();
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let ordered = [0, 1, 2, 4, 3, 8, 5, 6, 7, 9, 10].map(|at| lines[at]).concat();
    let written = lines[..11].concat();
    let source = source_of("claude-code-order", written.as_bytes());
    let (entries, report, _) = imported(&source, written.as_bytes(), Existing::default());
    let (expected, expected_report, _) = imported(&source, ordered.as_bytes(), Existing::default());
    assert_eq!(words_of(&entries), words_of(&expected));
    assert_eq!(report, expected_report);
    assert_eq!((report.missing_parents, report.branches), (0, 0));
    // An update finds the rest wherever an earlier import ended.
    for end in 1..lines.len() {
        let start = lines[..end].concat();
        let kept = kept_by_updates("claude-code-order", &[start.as_bytes(), lines.concat().as_bytes()]);
        assert_eq!(texts(&kept, |_| true).concat(), lines.concat(), "{end}");
    }
}

/// A line waits for a number of lines. After that it follows the line before it, as if it had no parent.
#[test]
fn a_line_whose_parent_comes_too_late_is_read() {
    let lines = String::from_utf8(bytes_of("claude-code-order")).unwrap();
    let lines: Vec<&str> = lines.split_inclusive('\n').collect();
    let title = "{\"type\":\"mode\",\"sessionId\":\"3a7c1e52-9b40-4c1d-8e6f-0d2b5a917c44\"}\n";
    let check = |between: usize, missing: u64| {
        let text = [&lines[..4].concat(), &title.repeat(between), lines[4]].concat();
        let source = source_of("claude-code-order", text.as_bytes());
        let (entries, report, _) = imported(&source, text.as_bytes(), Existing::default());
        assert_eq!((report.missing_parents, report.tool_calls, report.tool_results), (missing, 1, 1), "{between}");
        assert_eq!(original_of(&entries), text.as_bytes());
    };
    check(20, 0);
    check(40, 1);
    // One record may contain many lines.
    let lost = lines[3].trim_end().replace("a3", "lost");
    let many: String = (0..5_000).map(|at| lost.replace("\"r1\"", &format!("\"r{at}x\""))).collect();
    let text = format!("{}{many}\n", lines[0]);
    let (entries, report, _) =
        imported(&source_of("claude-code-order", text.as_bytes()), text.as_bytes(), Existing::default());
    assert_eq!((report.missing_parents, report.tool_results), (5_000, 5_000));
    assert_eq!(original_of(&entries), text.as_bytes());
}

/// An import may end inside a call. Its lines are then text. The words of the person and the model stay theirs.
#[test]
fn an_import_may_end_inside_a_call() {
    let names = [
        "cursor-specstory-early-tools",
        "cursor-specstory-tools",
        "cursor-specstory-agents",
        "cursor-specstory-parts",
        "opencode-shared",
        "opencode-thoughts",
        "gemini",
        "gemini-summary",
        "cline",
        "cline-environment",
        "copilot",
        "windsurf",
        "amp",
        "codex-screen",
        "codex-screen-calls",
        "codex-screen-bars",
        "copilot-chat",
        "codex-screen-unsigned",
        "codex-app",
        "cursor-dialogues",
        "claude-screen",
        "claude-screen-banner",
        "claude-screen-decisions",
        "claude-screen-early",
        "claude-screen-menus",
        "gemini-screen",
    ];
    for name in names {
        let bytes = bytes_of(name);
        let once = words_of(&imported(&source_of(name, &bytes), &bytes, Existing::default()).0);
        for (end, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').skip(9).step_by(10) {
            let entries = updated(name, &[&bytes[..end], &bytes]);
            assert_eq!(String::from_utf8_lossy(&original_of(&entries)), String::from_utf8_lossy(&bytes), "{name}");
            let mut counts = HashMap::<_, i64>::new();
            words_of(&entries).into_iter().for_each(|word| *counts.entry(word).or_default() += 1);
            for (role, word) in once.iter().filter(|(role, _)| role != "toolResult") {
                let count = counts.entry((role.clone(), word.clone())).or_default();
                *count -= 1;
                assert!(*count >= 0, "{name} at {end}: {word}");
            }
        }
    }
}

/// Notices of Copilot CLI, and messages of subagents.
const ONLY_RECORDS: [&str; 3] = ["Info", "(Completed)", "sidechain"];

/// A line without a mark, wherever it stands in a text for people, is in a message, or the report names its record. This
/// excludes aider's outputs and what [`ONLY_RECORDS`] lists.
#[test]
fn words_are_in_a_message_or_reported() {
    let mut lost = Vec::new();
    for (first, name) in names().into_iter().filter(|name| !name.ends_with("-files")).enumerate() {
        let bytes = bytes_of(&name);
        let source = source_of(&name, &bytes);
        if source.shape != Shape::Text || source.agent == Agent::Aider {
            continue;
        }
        let text = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        // Of three lines one is met. Over all texts, both are inserted before lines of each kind.
        let inserted = ["zwxq said it\n", "\nzwxq said it\n\n"].into_iter().cycle();
        for (at, inserted) in (first % 3..lines.len()).step_by(3).zip(inserted) {
            let text = [&lines[..at].concat(), inserted, &lines[at..].concat()].concat();
            let (entries, report, _) = imported(&source, text.as_bytes(), Existing::default());
            let before = lines[..at].iter().rev().find(|line| line.starts_with("### ") || line.starts_with("_**"));
            // The label of a result may have several lines.
            let is_label = lines[at].contains("] Result:");
            let is_aside = is_label || before.is_some_and(|line| ONLY_RECORDS.iter().any(|mark| line.contains(mark)));
            let is_kept = |entry: &&Imported| entry.members.contains(RECORD_TYPE);
            let is_said = entries.iter().any(|entry| !is_kept(&entry) && entry.members.contains("zwxq"));
            let mut records = entries.iter().filter(is_kept).filter(|entry| entry.members.contains("zwxq"));
            let number = records.next().and_then(|entry| Some(KeptRecord::read(&data_of(entry))?.number));
            if !is_said && !is_aside && !report.problems.iter().any(|(record, _)| Some(*record) == number) {
                lost.push(format!("{name} {at} {inserted:?} {}", lines[at]));
            }
        }
    }
    assert!(lost.is_empty(), "{}", lost.join(""));
}

/// Text that looks like the start of a part does not make reading the rest slower.
#[test]
fn marks_without_an_end_lose_nothing() {
    let opencode = "# T\n\n**Session ID:** ses_1\n\n---\n\n## Assistant\n\n";
    let gemini = "## MODEL \u{2728}\n\n";
    let amp = "---\nthreadId: T-1\n---\n\n## Assistant\n\n";
    let amp_calls = "**Tool Use:** `a`\n\n```json\n{}\n```\n\n".repeat(5_000);
    let details = ["<environment_details>\n".repeat(5_000), "</environment_details>".to_owned()].concat();
    let blank = "\n".repeat(400_000);
    let codex = "\u{203a} a\n\n\u{2022} Edited 2 files (+1 -0)\n";
    for (start, part) in [
        (opencode, "**Tool: a**\n\n**Output:**\n```\n```x\n\n"),
        (opencode, "```\n\ntext\n\n**Tool: a**\n\n**Output:**\n```\n```x\n\n"),
        (opencode, "**Tool: a**\n\n**Input:**\n```json\n{\n\n"),
        (opencode, "```\nTool: a\n\n**Output:**\n```\ntext\n```x\ntext\n```\n\n"),
        (opencode, "_Thinking:_\n\n"),
        ("**User:**\n\n<task>\n\n---\n\n**Assistant:**\n\n", "<read_file>\n<a_b>\n<path>\n</path>\n"),
        ("**User:**\n\n<task>\n\n---\n\n**Assistant:**\n\n", "<read_file>\n<content>\n</read_file>\n"),
        ("**User:**\n\n<task>\n", "[read_file for 'x\n"),
        ("# Copilot CLI Session\n\n<sub>1s</sub>\n\n### `a`\n\n", "<details>\n<summary>Arguments</summary>\n\n"),
        ("# Copilot CLI Session\n\n<sub>1s</sub>\n\n### `a`\n\n", "\n---\n\n<sub>1s</sub>\n"),
        (gemini, "**Tool Command**:\n```json\n{"),
        ("**User:**\n\n<task>\n", "<environment_details>\n"),
        ("**User:**\n\n<task>\n", "<environment_details></environment_details>x\n"),
        (&["**User:**\n\n<task>\n", &details, &blank].concat(), "x\n"),
        ("# Chat Conversation\n\n### User Input\n\n", "*User accepted the command `\n\n"),
        ("# Chat Conversation\n\n### User Input\n\n", "*User accepted the command `x`*x`*\n\n"),
        (amp, "## Assistant\n\n**Tool Use:** `a`\n\n```json\n{\n"),
        (amp, "**Tool Use:** `a`\n\n```json\n{}\n```\n"),
        (&[amp, &amp_calls, "## User\n\n"].concat(), "**Tool Result:** `a`\n\n```\n```x\n"),
        (&[amp, &amp_calls, "## User\n\n"].concat(), "**Tool Result:** `a`\n\n\n\n"),
        (codex, "  \u{2514} a (+1 -0)\n"),
        (codex, "\u{2022} Ran a\n  \u{2502} b\n"),
        ("\u{203a} a\n\n\u{2022} Explored\n", "  \u{2514} Read a, b\n"),
        (codex, "\u{2022} Ran a\n  \u{2514}"),
        ("\u{203a} a\n\n\u{2022} Explored\n  \u{2514} a\n", "      b\n"),
        ("> a\n\n\u{23fa} A(b)\n  \u{23bf} c\n", "  \u{23bf} with user message: \n"),
        ("> a\n\n\u{23fa} A(b)\n  \u{23bf} c\n\n\u{23fa} Search(", "a: \"b\", "),
        ("\u{2726} a\n\n> b\n\n", "\u{256d}\u{2500}\n\u{2502} \u{2714}  Shell a\n"),
        (gemini, "**Tool Response**:\n```json\n{\"name\":\"a\"}\n```"),
    ] {
        // With so many, reading the rest again for each of them would take minutes.
        let text = [start, &part.repeat(2_500)].concat();
        let source = source_of("marks", text.as_bytes());
        let (entries, ..) = imported(&source, text.as_bytes(), Existing::default());
        assert_eq!(original_of(&entries), text.as_bytes(), "{part:?}");
    }
}

#[test]
fn a_list_of_lines_is_read_like_the_lines() {
    for name in ["claude-code-blocks", "codex-early"] {
        let bytes = bytes_of(name);
        let lines = String::from_utf8(bytes.clone()).unwrap();
        let list = format!("[\n  {}\n]\n", lines.trim_end().replace('\n', ",\n  ")).into_bytes();
        let (entries, report, _) = imported(&source_of(name, &list), &list, Existing::default());
        assert_eq!(report.records - 1, lines.lines().count() as u64, "{name}");
        assert_eq!(words_of(&entries), words_of(&imported(&source_of(name, &bytes), &bytes, Existing::default()).0));
        assert_eq!(original_of(&entries), list, "{name}");
    }
}

#[test]
fn lines_that_name_no_parent_follow_each_other() {
    let lines = String::from_utf8(bytes_of("claude-code-blocks")).unwrap();
    let bare: String = lines.lines().map(|line| format!("{{{}\n", line.split_once(',').unwrap().1)).collect();
    assert!(!bare.contains("parentUuid") && lines.contains("parentUuid"));
    let (entries, report, _) = imported(&source_of("bare", bare.as_bytes()), bare.as_bytes(), Existing::default());
    assert_eq!((report.messages, report.branches), (4, 0));
    assert!(entries.windows(2).all(|pair| pair[1].parent.as_ref() == Some(&pair[0].id)));
}

#[test]
fn a_text_that_quotes_a_line_is_no_transcript() {
    let line = String::from_utf8(bytes_of("claude-code-blocks")).unwrap().lines().next().unwrap().to_owned();
    let text = format!("# Format\n\nEach line is an object:\n\n```json\n{line}\n```\n\nIts members are:\n\n- type\n");
    assert_eq!(detect(text.as_bytes()), None);
}

/// The data of the entry that ends an import.
fn data_of(mark: &Imported) -> String {
    RawObject::parse(&mark.members).unwrap().get("data").unwrap().to_owned()
}

/// The records that consecutive imports of one transcript keep; each import updates the session of all before. No id
/// comes twice.
fn kept_by_updates(name: &str, versions: &[&[u8]]) -> Vec<(Imported, KeptRecord)> {
    kept(&updated(name, versions))
}

/// The records among these entries.
fn kept(entries: &[Imported]) -> Vec<(Imported, KeptRecord)> {
    let records = entries.iter().filter(|entry| entry.members.contains(RECORD_TYPE));
    records.map(|entry| (entry.clone(), KeptRecord::read(&data_of(entry)).unwrap())).collect()
}

/// The entries of consecutive imports of one transcript; each import updates the session of all before. No id comes
/// twice.
fn updated(name: &str, versions: &[&[u8]]) -> Vec<Imported> {
    let source = source_of(name, versions[0]);
    let (mut existing, mut entries) = (Existing::default(), Vec::new());
    for version in versions {
        let (new, _, mark) = imported(&source, version, existing.clone());
        existing.imports.push(earlier_import(&data_of(&mark)).unwrap().0);
        let new: Vec<Imported> = new.into_iter().chain([mark]).collect();
        for entry in &new {
            assert!(existing.ids.insert(entry.id.as_str().to_owned()), "{entry:?}");
        }
        entries.extend(new);
        let (again, ..) = imported(&source, version, existing.clone());
        assert_eq!(again, []);
    }
    entries
}

fn texts(kept: &[(Imported, KeptRecord)], is_wanted: impl Fn(&KeptRecord) -> bool) -> Vec<String> {
    let wanted = kept.iter().filter(|(_, record)| is_wanted(record));
    let text =
        |record: &KeptRecord| String::from_utf8([record.before.clone(), record.content.clone()].concat()).unwrap();
    wanted.map(|(_, record)| text(record)).collect()
}

#[test]
fn a_line_that_is_completed_alone_is_an_update() {
    let bytes = bytes_of("claude-code");
    let ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
    // Torn in its last line, then without its line end, then complete.
    let kept = kept_by_updates("claude-code", &[&bytes[..ends[19] + 30], &bytes[..ends[20]], &bytes[..=ends[20]]]);
    let complete = texts(&kept, |record| !record.is_partial).concat();
    assert_eq!(complete.into_bytes(), &bytes[..=ends[20]]);
}

/// A text for people may be read while its last line is being written. The rest has the author of the whole line.
#[test]
fn a_text_that_was_torn_anywhere_is_continued() {
    for name in
        ["aider", "aider-formatted", "aider-outputs", "cursor", "cursor-specstory", "cursor-specstory-early", "gemini"]
    {
        let bytes = bytes_of(name);
        let letters = |entries: &[Imported]| {
            let mut letters = HashMap::<String, String>::new();
            words_of(entries).into_iter().for_each(|(role, word)| letters.entry(role).or_default().push_str(&word));
            letters
        };
        let once = letters(&imported(&source_of(name, &bytes), &bytes, Existing::default()).0);
        // Each place takes three imports. An odd step meets both halves of a two-byte letter and of a line break.
        for end in (80..bytes.len()).step_by(17) {
            let versions = [&bytes[..end], &bytes[..bytes.len().min(end + 1)], &bytes];
            let entries = updated(name, &versions);
            let whole: Vec<u8> = kept(&entries).iter().flat_map(|(_, record)| record.content.clone()).collect();
            assert_eq!(String::from_utf8_lossy(&whole), String::from_utf8_lossy(&bytes), "{name} at {end}");
            // The start of a line that names an author may be in the message before. An output whose first line was
            // torn is only in the records.
            let found = letters(&entries);
            for (role, text) in once.iter().filter(|(role, _)| *role != "toolResult") {
                let mut rest = found[role].chars();
                assert!(text.chars().all(|letter| rest.any(|found| found == letter)), "{name} at {end}: {found:?}");
            }
        }
    }
}

/// An earlier version kept the last lines in the record before them because no line there began a message.
#[test]
fn lines_that_an_earlier_version_cut_otherwise_are_not_kept_twice() {
    let bytes = bytes_of("cursor-specstory-early");
    let source = source_of("cursor-specstory-early", &bytes);
    let (entries, _, mark) = imported(&source, &bytes, Existing::default());
    let records: Vec<usize> = entries
        .iter()
        .enumerate()
        .filter_map(|(at, entry)| entry.members.contains(RECORD_TYPE).then_some(at))
        .collect();
    for kept in &records[1..] {
        let ids: HashSet<String> = entries[..*kept].iter().map(|entry| entry.id.as_str().to_owned()).collect();
        let imports = vec![earlier_import(&data_of(&mark)).unwrap().0];
        let existing = Existing { ids: ids.clone(), imports };
        assert_eq!(imported(&source, &bytes, existing.clone()).0, []);
        let longer = [&bytes[..], b"_**User**_\n\nAnd now?\n"].concat();
        let (new, ..) = imported(&source, &longer, existing);
        let lines: Vec<u8> = original_of(&new);
        assert_eq!(String::from_utf8_lossy(&lines), "_**User**_\n\nAnd now?\n");
        assert_eq!(new[0].parent.as_ref().map(EntryId::as_str), Some(entries[kept - 1].id.as_str()));
    }
}

/// Only a limited number of items is tried one by one. After that, one pass finds the others.
#[test]
fn an_answer_with_many_items_that_cannot_be_read_keeps_the_others() {
    let line = |payload: &str| {
        format!("{{\"timestamp\":\"2026-03-01T10:00:00Z\",\"type\":\"response_item\",\"payload\":{payload}}}\n")
    };
    let call = |rest: &str| line(&format!(r#"{{"type":"function_call","name":"shell","arguments":"{{}}"{rest}}}"#));
    let text = format!("{}{}", call("").repeat(2000), call(r#","call_id":"call_1""#));
    let source = source_of("codex", &bytes_of("codex"));
    let (entries, report, _) = imported(&source, text.as_bytes(), Existing::default());
    assert_eq!((report.messages, report.tool_calls, report.unreadable), (1, 1, 1));
    assert_eq!(original_of(&entries), text.as_bytes());
}

/// A text without words is left out. A block whose type only resembles a text is shown.
#[test]
fn a_block_of_an_unknown_type_becomes_text() {
    let line = r#"{"type":"assistant","uuid":"u1","sessionId":"s","timestamp":"2026-03-01T10:00:00Z","message":{"role":"assistant","id":"m","content":[{"type":"thinking_summary","summary":"The mole is dry."},{"type":"text"},{"type":"text","text":"Done."}]}}"#;
    let source = source_of("claude-code", &bytes_of("claude-code"));
    let (entries, ..) = imported(&source, format!("{line}\n").as_bytes(), Existing::default());
    let words: Vec<String> = words_of(&entries).into_iter().map(|(_, words)| words).collect();
    assert!(words.join(" ").contains("The mole is dry.") && words.join(" ").contains("Done."), "{words:?}");
}

/// What surrounds the list of a document changes with every message.
#[test]
fn a_growing_document_is_continued() {
    let message = |number: usize| {
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        format!(
            r#"{{"info":{{"id":"msg_{number}","role":"{role}","sessionID":"ses_1"}},"parts":[{{"type":"text","text":"{number}"}}]}}"#
        )
    };
    let document = |title: &str, updated: u64, messages: usize, rest: &str| {
        let messages: Vec<String> = (0..messages).map(message).collect();
        let info = format!(r#"{{"id":"ses_1","title":"{title}","time":{{"created":1,"updated":{updated}}}}}"#);
        format!(r#"{{"info":{info},"messages":[{}],"rest":{rest}}}"#, messages.join(","))
    };
    let versions = [
        document("New", 1, 2, "1"),
        document("New", 1, 2, "2"),
        document("New", 1, 2, "1"),
        document("Sums", 2, 4, "1"),
        document("Sums", 3, 4, "1"),
    ];
    let kept = kept_by_updates("opencode", &versions.each_ref().map(String::as_bytes));
    let messages = texts(&kept, |record| !record.is_partial && !record.is_again);
    assert_eq!(messages.len(), 4);
    assert!(
        messages[0].ends_with(&message(0))
            && messages[1..].concat() == (1..4).map(|at| format!(",{}", message(at))).collect::<String>()
    );
    let expected = [r#"],"rest":1}"#, r#"],"rest":2}"#, r#"],"rest":1}"#, r#"],"rest":1}"#];
    assert_eq!(texts(&kept, |record| record.is_partial), expected);
    let starts = texts(&kept, |record| record.is_again);
    assert_eq!(starts, [2, 3].map(|updated| document("Sums", updated, 0, "").split("],").next().unwrap().to_owned()));
    // New messages follow the messages before them, and not the end of the document.
    let third = kept.iter().find(|(_, record)| record.number == 3 && !record.is_partial).unwrap();
    let partial = kept.iter().find(|(_, record)| record.is_partial).unwrap();
    assert_eq!(third.0.parent, partial.0.parent);
}

#[test]
fn a_session_file_of_opencode_can_change() {
    let bytes = bytes_of("opencode-files");
    let source = source_of("opencode-files", &bytes);
    let (new, _, mark) = imported(&source, &bytes, Existing::default());
    let mut existing = Existing::default();
    existing.ids.extend(new.iter().chain([&mark]).map(|entry| entry.id.as_str().to_owned()));
    existing.imports.push(earlier_import(&data_of(&mark)).unwrap().0);
    let mut files = files_of(&bytes);
    assert!(files[0].0.starts_with("session/"));
    files[0].1.extend(b"\n");
    let mut import = Import::new(&source, 0, existing).unwrap();
    for (name, content) in &files {
        import.file(name, content.clone()).unwrap();
    }
    import.end().unwrap();
    let again: Vec<KeptRecord> = import
        .take()
        .iter()
        .filter(|entry| entry.kind == "custom")
        .filter_map(|entry| KeptRecord::read(&data_of(entry)))
        .collect();
    assert_eq!(again.len(), 1);
    assert!(again[0].is_again && again[0].is_file && again[0].content == files[0].1);
}

/// A list may have each element on its own line, have few lines, or be one line.
#[test]
fn a_document_is_not_taken_for_lines() {
    let event = |id: usize| format!(r#"{{"id":{id},"source":"user","action":"message","args":{{"content":"{id}"}}}}"#);
    let check = |start: &str, count: usize, end: &str| {
        let events: Vec<String> = (0..count).map(event).collect();
        for line_end in ["\n", ""] {
            let text = format!("{start}{line_end}{}{line_end}{end}\n", events.join(&format!(",{line_end}")));
            let source = identify(detect(text.as_bytes()).expect(&text), text.as_bytes(), "list", "/work");
            assert_eq!(source.shape, Shape::Document, "{text}");
            let (_, report, _) = imported(&source, text.as_bytes(), Existing::default());
            assert_eq!(report.messages, count as u64, "{text}");
        }
    };
    check("[", 1, "]");
    check("[", 2, "]");
    check("{\"trajectory\":[", 1, "]}");
    check("\u{feff}{\"trajectory\":[", 40, "]}");
    check("{\"events\":[", 2, "]}");
}

#[test]
fn a_byte_order_mark_is_kept_and_not_read() {
    for name in ["claude-code", "codex", "opencode", "openhands", "aider", "cursor-specstory"] {
        let bytes = ["\u{feff}".as_bytes(), &bytes_of(name)].concat();
        let source = source_of(name, &bytes);
        let (entries, report, _) = imported(&source, &bytes, Existing::default());
        let (_, expected, _) = imported(&source, &bytes_of(name), Existing::default());
        assert_eq!(String::from_utf8_lossy(&original_of(&entries)), String::from_utf8_lossy(&bytes), "{name}");
        assert_eq!(report, Report { bytes: bytes.len() as u64, ..expected }, "{name}");
    }
}

#[test]
fn lines_that_end_as_on_windows_are_read_like_others() {
    let names = names().into_iter().filter(|name| !name.ends_with("-files"));
    for name in names.filter(|name| source_of(name, &bytes_of(name)).shape != Shape::Document) {
        let bytes = String::from_utf8(bytes_of(&name)).unwrap().replace('\n', "\r\n").into_bytes();
        let source = source_of(&name, &bytes);
        let (entries, report, _) = imported(&source, &bytes, Existing::default());
        let (_, expected, _) = imported(&source, &bytes_of(&name), Existing::default());
        assert_eq!(String::from_utf8_lossy(&original_of(&entries)), String::from_utf8_lossy(&bytes), "{name}");
        assert_eq!(report, Report { bytes: bytes.len() as u64, ..expected }, "{name}");
    }
}

#[test]
fn an_empty_transcript_is_none() {
    for text in ["", "\n", "\u{feff}", "\r\n\r\n"] {
        assert_eq!(detect(text.as_bytes()), None);
        for agent in Agent::names().filter_map(Agent::from_name) {
            let source = identify(agent, text.as_bytes(), "t", "/work");
            let Some(mut import) = Import::new(&source, 0, Existing::default()) else { continue };
            feed(&mut import, &source, text.as_bytes()).unwrap();
            assert_eq!(original_of(&import.take()), text.as_bytes(), "{agent:?} {text:?}");
        }
    }
}

/// Transcripts of many directories have the same file name.
#[test]
fn transcripts_without_an_id_are_told_apart_by_their_directories() {
    for name in ["openhands", "cursor-agent", "cursor"] {
        let id = |directory: &str| {
            identify(source_of(name, &bytes_of(name)).agent, &bytes_of(name), "t", directory).session_id()
        };
        assert_eq!(id("/a"), id("/a"), "{name}");
        assert_ne!(id("/a"), id("/b"), "{name}");
    }
}

#[test]
fn another_transcript_is_not_taken_for_a_longer_one() {
    let bytes = bytes_of("claude-code");
    let source = source_of("claude-code", &bytes);
    let mut import = Import::new(&source, 0, Existing::default()).unwrap();
    feed(&mut import, &source, &bytes).unwrap();
    let mark = import.mark();
    let data = RawObject::parse(&mark.members).unwrap().get("data").unwrap().to_owned();
    let (earlier, tip) = earlier_import(&data).unwrap();
    assert_eq!(tip, mark.parent);
    let fails = |bytes: &[u8]| {
        let existing = Existing { imports: vec![earlier], ..Existing::default() };
        feed(&mut Import::new(&source, 0, existing).unwrap(), &source, bytes).unwrap_err().to_string()
    };
    let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
    expect!["one of the first 23 records is not what it was when they were imported"]
        .assert_eq(&fails(&String::from_utf8_lossy(&bytes).replacen("user", "User", 1).into_bytes()));
    expect!["it has 1 records, fewer than the 23 that were imported"]
        .assert_eq(&fails(bytes.split_inclusive(|byte| *byte == b'\n').next().unwrap()));
    assert_eq!(lines, 23);
}

#[test]
fn what_is_cut_off_is_kept_and_told() {
    let check = |name: &str, length: usize| {
        let bytes = bytes_of(name);
        let (entries, report, _) = imported(&source_of(name, &bytes), &bytes[..length], Existing::default());
        assert_eq!(original_of(&entries), &bytes[..length], "{name}");
        let found = report.problems.last().map(|(_, problem)| problem.as_str());
        assert_eq!(found, Some("the transcript ends before it is complete"), "{name}");
    };
    check("codex", 900);
    check("opencode", 3000);
    check("openhands", 3000);
}

/// A pasted image may be larger than the bytes that detection reads.
#[test]
fn a_first_value_that_goes_on_beyond_the_head_is_judged_by_its_start() {
    let long = "x".repeat(2 * HEAD_BYTES);
    let check = |text: &str, agent: Agent, shape: Shape, id: &str| {
        let text = text.replace("LONG", &long);
        let head = &text.as_bytes()[..HEAD_BYTES];
        assert_eq!(detect(head), Some(agent), "{}", &text[..80]);
        let source = identify(agent, head, "t", "/d");
        assert_eq!((source.shape, source.id.as_str()), (shape, id));
    };
    let claude = r#"{"parentUuid":null,"cwd":"/w","sessionId":"s1","type":"user","message":{"role":"user","content":"LONG"},"uuid":"1"}"#;
    check(claude, Agent::ClaudeCode, Shape::Lines, "s1");
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"x","snapshot":{},"isSnapshotUpdate":false}"#;
    check(&format!("{snapshot}\n{claude}\n"), Agent::ClaudeCode, Shape::Lines, "s1");
    check(&format!("\u{feff}{claude}\n"), Agent::ClaudeCode, Shape::Lines, "s1");
    let codex = r#"{"timestamp":"t","type":"session_meta","payload":{"id":"c1","cwd":"/w","instructions":"LONG"}}"#;
    check(codex, Agent::Codex, Shape::Lines, "c1");
    check(
        r#"{"role":"user","message":{"content":[{"type":"text","text":"LONG"}]}}"#,
        Agent::Cursor,
        Shape::Lines,
        "/d/t",
    );
    for space in ["", "\n  "] {
        let event = r#"{"id":0,"source":"user","action":"message","args":{"content":"LONG"}}"#;
        check(&format!("[{space}{event}{space}]"), Agent::OpenHands, Shape::Document, "/d/t");
        let opencode =
            r#"{"info":{"id":"ses_1"},SPACE"messages":[SPACE{"info":{"id":"msg_1"},"parts":[{"text":"LONG"}]}]}"#;
        check(&opencode.replace("SPACE", space), Agent::OpenCode, Shape::Document, "ses_1");
        let cursor = r#"{SPACE"composerId":"c1",SPACE"conversation":[SPACE{"bubbleId":"b1","type":1,"text":"LONG"}]}"#;
        check(&cursor.replace("SPACE", space), Agent::Cursor, Shape::Document, "c1");
    }
    for text in [
        r#"{"type":"user","message":{"content":"LONG"}}"#,
        r#"{"data":[{"id":"msg_1","text":"LONG"}]}"#,
        r#"{"a":{"type":"user","uuid":"1"},"b":"LONG"}"#,
        r#"["LONG"]"#,
        r#""LONG""#,
        "LONG",
        &"[".repeat(2 * HEAD_BYTES),
        &"{\"messages\":[".repeat(HEAD_BYTES / 8),
    ] {
        let text = text.replace("LONG", &long);
        assert_eq!(detect(&text.as_bytes()[..HEAD_BYTES]), None, "{}", &text[..40]);
    }
    // The end of a transcript that is still being written proves nothing.
    assert_eq!(detect(&claude.as_bytes()[..100]), None);
}

#[test]
fn what_is_no_transcript_is_not_detected() {
    for text in [
        "",
        "{}",
        "[]",
        "[1,2]",
        "hello\n",
        "{\"a\":1}\n{\"b\":2}\n",
        "SQLite format 3\0",
        "\u{0}\u{1}",
        "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
        "# Notes\n",
        "null",
        "{\"type\":\"user\"}",
        "# Codex\n\n\u{2022} Ran a\n  \u{2514} b\n\n\u{2022} Ran c\n  \u{2514} d\n",
        "It says:\n\n```\n\u{2022} Ran a\n  \u{2514} b\n\n\u{2022} Ran c\n  \u{2514} d\n```\n",
        "> a\n\n\u{2022} Ran a\n\n\u{2022} Ran c\n",
        "Do it\n\n\u{2022} Ran a\n  \u{2514} b\n",
    ] {
        assert_eq!(detect(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn a_history_of_aider_can_begin_inside_a_chat() {
    let history =
        format!("-*- mode: fundamental -*-\n{}# aider chat started at 2026-03-01 10:00:00\n", "> a\n".repeat(30));
    assert_eq!(detect(history.as_bytes()), Some(Agent::Aider));
    assert_eq!(detect(format!("{}# aider chat started at noon\n", "a\n".repeat(30)).as_bytes()), None);
}

#[test]
fn agents_are_found_by_their_names() {
    for name in Agent::names() {
        assert_eq!(Agent::from_name(name).map(Agent::name), Some(name));
    }
    assert_eq!(Agent::from_name("vi"), None);
}

proptest::proptest! {
    /// Every line is kept, whatever it contains, and nothing panics.
    #[test]
    fn broken_transcripts_are_kept_byte_for_byte(
        cuts in proptest::collection::vec((0_usize..4000, 0_usize..40, proptest::arbitrary::any::<u8>()), 0..6),
        pick in 0_usize..64,
    ) {
        let names: Vec<String> = names().into_iter().filter(|name| !name.ends_with("-files")).collect();
        let name = &names[pick % names.len()];
        let mut bytes = bytes_of(name);
        let source = source_of(name, &bytes);
        for (at, length, byte) in cuts {
            let at = at % bytes.len();
            let end = (at + length).min(bytes.len());
            bytes.splice(at..end, [byte]);
        }
        let (entries, ..) = imported(&source, &bytes, Existing::default());
        proptest::prop_assert_eq!(original_of(&entries), bytes);
    }
}

/// The first imports did not treat the start of a transcript separately: their digest has all of it.
#[test]
fn an_import_that_stored_one_digest_is_continued() {
    let bytes = bytes_of("codex");
    let source = source_of("codex", &bytes);
    let end = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(28).unwrap().0 + 1;
    let (new, _, mark) = imported(&source, &bytes[..end], Existing::default());
    let stored = r#"{"records":29,"digest":"b03cd2fe6baa75dc","unended":false,"tip":null}"#;
    let earlier = earlier_import(stored).unwrap().0;
    assert_ne!(Some(earlier.digest), earlier_import(&data_of(&mark)).map(|(mark, _)| mark.digest));
    let ids = new.iter().map(|entry| entry.id.as_str().to_owned()).collect();
    let (rest, ..) = imported(&source, &bytes, Existing { ids, imports: vec![earlier] });
    assert_eq!(original_of(new.iter().chain(&rest)), bytes);
}

#[test]
fn the_last_kept_line_is_read_where_a_transcript_begins_with_a_compaction() {
    let line = |number: u8, parent: &str, rest: &str| {
        format!(
            "{{\"parentUuid\":{parent},\"isSidechain\":false,\"sessionId\":\"5f0d6c0e-1111-4222-8333-944445555666\",\
             \"cwd\":\"/work\",\"version\":\"2.0.14\",\"uuid\":\"u{number}\",\
             \"timestamp\":\"2026-03-01T10:00:0{number}.000Z\",{rest}}}\n"
        )
    };
    let said = |text: &str| format!("\"type\":\"user\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}");
    let kept = "\"compactMetadata\":{\"preservedSegment\":{\"headUuid\":\"u3\",\"tailUuid\":\"u4\"}}";
    let text = [
        line(1, "null", &format!("\"type\":\"system\",\"subtype\":\"compact_boundary\",{kept}")),
        line(2, "\"u1\"", &format!("\"isCompactSummary\":true,{}", said("what was done"))),
        line(3, "null", &said("the first line that is kept")),
        line(4, "\"u3\"", &said("the last line that is kept")),
        line(5, "\"u4\"", &said("what came afterwards")),
    ]
    .concat();
    let source = source_of("claude-code", text.as_bytes());
    let (entries, report, _) = imported(&source, text.as_bytes(), Existing::default());
    assert_eq!((report.messages, report.compactions), (3, 1), "{entries:?}");
    let all: String =
        entries.iter().filter(|entry| entry.kind == "message").map(|entry| entry.members.as_str()).collect();
    assert!(all.contains("the last line that is kept"), "{all}");
}
