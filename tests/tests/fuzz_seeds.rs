//! The seeds of the fuzz targets, replayed without a fuzzer.

use std::fs;

#[path = "../../fuzz/properties/frame_reader.rs"]
mod frame_reader;
#[expect(clippy::unwrap_used, reason = "a property fails by a panic")]
#[path = "../../fuzz/properties/open_session.rs"]
mod open_session;
#[path = "../../fuzz/properties/parse_entry.rs"]
mod parse_entry;
#[path = "../../fuzz/properties/read_transcript.rs"]
mod read_transcript;

#[expect(clippy::unwrap_used, reason = "a property fails by a panic")]
#[path = "../../fuzz/properties/tail_session.rs"]
mod tail_session;

/// Replays the seeds of one target, and some of their prefixes.
fn check(target: &str, property: fn(&[u8])) {
    let directory = xtask::root().join("fuzz/seeds").join(target);
    let mut paths: Vec<_> = fs::read_dir(directory)
        .expect("the seeds are there")
        .map(|entry| entry.expect("a name can be read").path())
        .collect();
    paths.sort();
    assert!(paths.len() > 3, "a target has seeds");
    for path in paths {
        let bytes = fs::read(&path).expect("a seed can be read");
        property(&bytes);
        for end in (0..bytes.len()).step_by(bytes.len() / 30 + 1) {
            property(&bytes[..end]);
        }
    }
}

#[test]
fn sessions_open_whatever_they_hold() {
    check("open_session", open_session::open_session);
}

#[test]
fn the_end_of_a_session_tells_what_the_whole_tells() {
    check("tail_session", tail_session::tail_session);
}

#[test]
fn frames_do_not_depend_on_how_bytes_arrive() {
    check("frame_reader", frame_reader::frame_reader);
}

#[test]
fn entries_keep_their_lines() {
    check("parse_entry", parse_entry::parse_entry);
}

#[test]
fn transcripts_are_kept_byte_for_byte() {
    check("read_transcript", read_transcript::read_transcript);
}
