// What must hold for any line that is read as an entry. Included by the fuzz target and by the test
// that replays its seeds.

use compaction_core::entry::Entry;
use compaction_core::json::{Json, RawObject};

/// Reads `bytes` as an entry, and looks at all of it.
pub(crate) fn parse_entry(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let _ = Json::parse(&text);
    if let Ok(object) = RawObject::parse(&text) {
        let written = object.to_json();
        let again = RawObject::parse(&written).expect("what was written can be read");
        assert_eq!(again.to_json(), written);
    }
    if let Ok(entry) = Entry::parse(&text) {
        assert_eq!(entry.line(), text, "an entry keeps its line");
        let again = Entry::parse(&entry.line()).expect("an entry can be read again");
        assert_eq!(format!("{again:?}"), format!("{entry:?}"));
    }
}
