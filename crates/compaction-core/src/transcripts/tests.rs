//! Each fixture is a transcript in the shape of its agent, with the entries that it becomes beside it.
//! `UPDATE_EXPECT=1` writes the entries anew.

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
    identify(detect(bytes).unwrap_or_else(|| panic!("{name} is detected")), bytes, name, "/work")
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

/// The bytes of the transcript that the entries keep.
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
            // What is kept has a test of its own.
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

/// A transcript that is imported at every line end on its way has the same records as one that is imported once, and
/// each of them once; so it does when the last line is cut anywhere.
#[test]
fn a_growing_transcript_is_continued() {
    for name in ["claude-code", "codex", "aider", "cursor-agent"] {
        let bytes = bytes_of(name);
        let source = source_of(name, &bytes);
        let mut steps: Vec<usize> =
            bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at).collect();
        if name != "aider" {
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
            entries.extend(new);
        }
        let complete = entries.iter().filter(|entry| !entry.members.contains("\"partial\":true"));
        assert_eq!(String::from_utf8_lossy(&original_of(complete)), String::from_utf8_lossy(&bytes), "{name}");
        let ids: HashSet<&str> = entries.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids.len(), entries.len(), "{name}");
        let (again, ..) = imported(&source, &bytes, existing);
        assert_eq!(again, [], "{name}");
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
    ] {
        assert_eq!(detect(text.as_bytes()), None, "{text:?}");
    }
}

#[test]
fn agents_are_found_by_their_names() {
    for name in Agent::names() {
        assert_eq!(Agent::from_name(name).map(Agent::name), Some(name));
    }
    assert_eq!(Agent::from_name("vi"), None);
}

proptest::proptest! {
    /// Whatever the lines hold, each of them is kept, and nothing panics.
    #[test]
    fn broken_transcripts_are_kept_byte_for_byte(
        cuts in proptest::collection::vec((0_usize..4000, 0_usize..40, proptest::arbitrary::any::<u8>()), 0..6),
        pick in 0_usize..20,
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
