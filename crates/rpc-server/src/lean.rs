//! What is left out for clients that do not want it: bodies of appended entries, ledgers of compactions.

use std::sync::Arc;

use compaction_core::entry::Entry;
use compaction_core::json::{self, RawObject};
use compaction_engine::host::Compaction;
use serde_json::value::RawValue;

use crate::convert;
use crate::wire::{self, ClientCapabilities};

/// Members of an entry that every client gets, as their order is in files.
const ALWAYS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// What the client wants to be told in full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Whole entries in `entryAppended`.
    entry_bodies: bool,
    /// Ledgers in the results of compactions.
    ledgers: bool,
}

impl Wanted {
    /// What a client says that it wants.
    pub(crate) fn of(client: &ClientCapabilities) -> Self {
        Self { entry_bodies: client.entry_bodies.unwrap_or(true), ledgers: client.ledgers.unwrap_or(true) }
    }

    /// An entry as `entryAppended` tells of it.
    pub(crate) fn announced(self, entry: &Arc<Entry>) -> wire::Entry {
        let header = (!self.entry_bodies).then(|| header(entry.raw().get())).flatten();
        header.map_or_else(|| entry.into(), Into::into)
    }

    /// A compaction that is done, as its result and `compactionEnd` tell of it.
    pub(crate) fn compaction(self, compaction: &Compaction) -> wire::CompactionResult {
        let told = convert::compaction(compaction);
        match (!self.ledgers).then(|| without_ledger(compaction.details.get())).flatten() {
            Some(details) => wire::CompactionResult { details: details.as_ref().into(), ..told },
            None => told,
        }
    }
}

fn header(entry: &str) -> Option<Box<RawValue>> {
    let members = RawObject::parse(entry).ok()?;
    let kept = ALWAYS.iter().filter_map(|name| Some(format!("{}:{}", json::encode_string(name), members.get(name)?)));
    json::raw_value(format!("{{{}}}", kept.collect::<Vec<_>>().join(","))).ok()
}

fn without_ledger(details: &str) -> Option<Box<RawValue>> {
    let mut details = RawObject::parse(details).ok()?;
    let own = details.get("compactd")?.to_owned();
    let mut own = RawObject::parse(&own).ok()?;
    own.remove("ledger");
    details.set("compactd", own.to_json());
    json::raw_value(details.to_json()).ok()
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
        assert_eq!(without_ledger(details).as_deref().map(RawValue::get), Some(lean));
        assert!(without_ledger(r#"{"x":1}"#).is_none());
    }
}
