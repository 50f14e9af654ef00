//! What is left out for clients that do not want it: bodies of appended entries, ledgers of compactions.

use std::sync::Arc;

use compaction_core::entry::Entry;
use compaction_core::json::{self, RawObject};

use crate::server::Server;
use crate::wire;

/// Members of an entry that every client gets, as their order is in files.
const ALWAYS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// An entry as `entryAppended` tells of it.
pub(crate) fn announced(server: &Server, entry: &Arc<Entry>) -> wire::Entry {
    let is_whole = server.configuration().map_or(true, |configuration| configuration.wants_entry_bodies);
    let header = (!is_whole).then(|| header(entry.raw().get())).flatten();
    header.map_or_else(|| entry.into(), Into::into)
}

fn header(entry: &str) -> Option<Box<serde_json::value::RawValue>> {
    let members = RawObject::parse(entry).ok()?;
    let kept = ALWAYS.iter().filter_map(|name| Some(format!("{}:{}", json::encode_string(name), members.get(name)?)));
    json::raw_value(format!("{{{}}}", kept.collect::<Vec<_>>().join(","))).ok()
}

/// The details of a compaction as its result tells of them.
pub(crate) fn details(server: &Server, details: String) -> String {
    let is_whole = server.configuration().map_or(true, |configuration| configuration.wants_ledgers);
    if is_whole { details } else { without_ledger(&details).unwrap_or(details) }
}

fn without_ledger(details: &str) -> Option<String> {
    let mut details = RawObject::parse(details).ok()?;
    let own = details.get("compactd")?.to_owned();
    let mut own = RawObject::parse(&own).ok()?;
    own.remove("ledger");
    details.set("compactd", own.to_json());
    Some(details.to_json())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_what_stands_in_every_entry() {
        let entry = r#"{"type":"message","id":"a","parentId":null,"timestamp":"t","message":{"id":"b"}}"#;
        let header = header(entry).expect("the entry is an object");
        assert_eq!(header.get(), r#"{"type":"message","id":"a","parentId":null,"timestamp":"t"}"#);
    }

    #[test]
    fn details_keep_all_but_the_ledger() {
        let details = r#"{"readFiles":["ledger"],"compactd":{"reason":"manual","ledger":{"a":[1]}}}"#;
        let lean = r#"{"readFiles":["ledger"],"compactd":{"reason":"manual"}}"#;
        assert_eq!(without_ledger(details).as_deref(), Some(lean));
        assert_eq!(without_ledger(r#"{"x":1}"#), None);
    }
}
