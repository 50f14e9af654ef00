// What must hold for any transcript that is imported. Included by the fuzz target and by the test that
// replays its seeds.

use compaction_core::entry::{Entry, iso_timestamp, new_entry_line};
use compaction_core::json::RawObject;
use compaction_core::transcripts::{Agent, Existing, Import, RECORD_TYPE, detect, identify, original};

/// Imports `bytes` as a transcript of every agent: entries can be read, and hold all bytes.
pub(crate) fn read_transcript(bytes: &[u8]) {
    let _ = detect(bytes);
    for agent in Agent::names().filter_map(Agent::from_name) {
        let source = identify(agent, bytes, "seed", "/work");
        let Some(mut import) = Import::new(&source, 0, Existing::default()) else { continue };
        for piece in bytes.chunks(61) {
            import.feed(piece).expect("records are short");
        }
        import.end().expect("nothing was imported before");
        let mut kept = Vec::new();
        for entry in import.take() {
            let time = iso_timestamp(entry.timestamp);
            let line = new_entry_line(entry.kind, &entry.id, entry.parent.as_ref(), &time, &entry.members);
            let line = line.expect("members are an object");
            Entry::parse(&line).expect("an entry can be read");
            let members = RawObject::parse(&line).expect("a line is an object");
            if members.string("customType").is_some_and(|kind| kind == RECORD_TYPE) {
                kept.extend(members.get("data").and_then(original).expect("a record can be read"));
            }
        }
        assert_eq!(kept, bytes, "every byte is kept");
    }
}
