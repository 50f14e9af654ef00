//! Where an entry stands in its file.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;

/// Line of the entry in the file, counted from 1; `None` if the file has no such entry, as for
/// those of old versions, whose ids are not written yet.
pub(super) fn line_of(path: &Path, entry_id: &str) -> Option<u64> {
    let mut reader = BufReader::new(File::open(path).ok()?);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.read_until(b'\n', &mut line).ok()? == 0 {
            return None;
        }
        if number > 1 && has_id(&line, entry_id) {
            return Some(number);
        }
    }
    None
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

fn has_id(line: &[u8], entry_id: &str) -> bool {
    // Most lines can be told apart without reading them as JSON.
    let may_hold = memchr::memmem::find(line, entry_id.as_bytes()).is_some();
    may_hold && serde_json::from_slice::<Identified>(line).is_ok_and(|entry| entry.id == entry_id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_the_one_with_the_id_itself() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let text = concat!(
            r#"{"type":"session","id":"aaaa"}"#,
            "\n\nnot json aaaa\n",
            r#"{"type":"label","targetId":"aaaa","id":"bbbb"}"#,
            "\n",
            r#"{"type":"message","message":{"id":"cccc"},"id":"aaaa"}"#
        );
        std::fs::write(file.path(), text).expect("it can be written");
        assert_eq!(line_of(file.path(), "aaaa"), Some(5));
        assert_eq!(line_of(file.path(), "bbbb"), Some(4));
        assert_eq!(line_of(file.path(), "cccc"), None);
        assert_eq!(line_of(Path::new("no/such/file"), "aaaa"), None);
    }
}
