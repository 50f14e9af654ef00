//! Conversations without secrets: what summaries and facts are made from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::{Arc, Mutex, PoisonError};

use compaction_core::entry::FileLists;
use compaction_core::file_operations::FileOperations;
use compaction_core::json::{Json, raw_value};
use compaction_core::message::Message;
use compaction_core::preparation::{Preparation, PreparedMessage};

use super::Redactor;

/// Threads that look through one conversation.
const MAX_THREADS: usize = 4;

/// Bytes for which a thread is worth its start.
const SHARE_BYTES: usize = 1 << 16;

/// How many secrets were found, by rule.
type Counts = BTreeMap<String, u32>;

impl Redactor {
    /// What is compacted away, as a summarizer may see it, and how many secrets were taken out. The same
    /// entries and numbers, with other texts where some held secrets.
    pub fn preparation(&self, preparation: &Preparation) -> (Preparation, Counts) {
        let mut safe = preparation.clone();
        let mut counts = self.messages(&mut safe.messages_to_summarize);
        add(&mut counts, self.messages(&mut safe.turn_prefix_messages));
        if let Some(summary) = &mut safe.previous_summary {
            let redacted = self.redact(summary);
            add(&mut counts, redacted.counts);
            *summary = redacted.text.into_owned();
        }
        // What an earlier version stored may hold some.
        let details = safe.previous_details.as_ref().and_then(|details| self.json(details.get()));
        if let Some((details, _)) = details.and_then(|(json, counts)| Some((raw_value(json).ok()?, counts))) {
            safe.previous_details = Some(details);
        }
        safe.file_operations = self.file_operations(safe.file_operations);
        (safe, counts)
    }

    /// Takes secrets out of messages; returns how many.
    pub fn messages(&self, messages: &mut [PreparedMessage]) -> Counts {
        let bytes: usize = messages.iter().map(bytes_of).sum();
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        self.shared_out(messages, bytes.div_ceil(threads).max(SHARE_BYTES))
    }

    /// As [`Redactor::messages`], by a thread for each `share` of bytes.
    fn shared_out(&self, messages: &mut [PreparedMessage], share: usize) -> Counts {
        let mut first = 0;
        let mut is_within = |message: &PreparedMessage| {
            first += bytes_of(message);
            first <= share
        };
        let count = messages.iter().take_while(|message| is_within(message)).count().max(1);
        if count >= messages.len() {
            return self.one_by_one(messages);
        }
        let (here, there) = messages.split_at_mut(count);
        let there = Mutex::new(there);
        let rest = || self.shared_out(&mut there.lock().unwrap_or_else(PoisonError::into_inner), share);
        std::thread::scope(|scope| {
            let other = std::thread::Builder::new().spawn_scoped(scope, rest);
            let mut counts = self.one_by_one(here);
            let found = match other {
                Ok(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                // There may be no room for another thread.
                Err(_) => rest(),
            };
            add(&mut counts, found);
            counts
        })
    }

    fn one_by_one(&self, messages: &mut [PreparedMessage]) -> Counts {
        let mut counts = Counts::new();
        for prepared in messages {
            if let Some((message, found)) = self.message(&prepared.message) {
                prepared.message = Arc::new(message);
                add(&mut counts, found);
            }
        }
        counts
    }

    /// Touched files; where a path holds a secret, the order of the touches is lost.
    pub fn file_operations(&self, operations: FileOperations) -> FileOperations {
        let mut lists = operations.lists();
        let FileLists { read_files, modified_files, .. } = &mut lists;
        let mut has_secrets = false;
        for path in read_files.iter_mut().chain(modified_files) {
            if let Cow::Owned(redacted) = self.redact(path).text {
                *path = redacted;
                has_secrets = true;
            }
        }
        if !has_secrets {
            return operations;
        }
        let mut safe = FileOperations::default();
        safe.add_lists(&lists);
        safe
    }

    /// The message without secrets; `None` if it holds none.
    fn message(&self, message: &Message) -> Option<(Message, Counts)> {
        let (json, counts) = self.json(message.raw().get())?;
        Some((Message::from_raw(raw_value(json).ok()?), counts))
    }

    /// JSON without secrets; `None` if it holds none. Texts are redacted one by one, since a mark must
    /// not reach from one into the next; then all of it, for values that only their neighbours tell of.
    fn json(&self, json: &str) -> Option<(String, Counts)> {
        let found = self.redact(json);
        if found.counts.is_empty() {
            return None;
        }
        let mut tree = Json::parse(json).ok()?.into_owned();
        self.texts(None, &mut tree);
        let texts = tree.to_compact();
        let all = self.redact(&texts).text;
        let whole = Json::parse(&all).is_ok().then(|| all.into_owned());
        Some((whole.unwrap_or(texts), found.counts))
    }

    /// Redacts the texts in `json`, which stands in the member `name`.
    fn texts(&self, name: Option<&str>, json: &mut Json<'static>) {
        match json {
            Json::String(text) => {
                if let Some(redacted) = self.member(name, text) {
                    *text = Cow::Owned(redacted);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.texts(None, item)),
            Json::Object(members) => {
                members.iter_mut().for_each(|(name, value)| self.texts(Some(&name.clone()), value))
            }
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Deep(_) => {}
        }
    }

    /// The text of a member without secrets, which its name may tell of; `None` if it holds none.
    fn member(&self, name: Option<&str>, text: &str) -> Option<String> {
        if let Some(name) = name {
            let (before, after) = (format!("{name}=\""), "\"");
            let named = format!("{before}{text}{after}");
            let redacted = self.redact(&named).text;
            if let Some(text) = redacted.strip_prefix(&before).and_then(|text| text.strip_suffix(after)) {
                return (redacted != named).then(|| text.to_owned());
            }
        }
        match self.redact(text).text {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }
}

fn bytes_of(prepared: &PreparedMessage) -> usize {
    prepared.message.raw().get().len()
}

fn add(counts: &mut Counts, more: Counts) {
    for (rule, count) in more {
        *counts.entry(rule).or_default() += count;
    }
}

#[cfg(test)]
mod tests {
    use compaction_core::entry::EntryId;
    use serde_json::json;

    use super::super::samples::{self, Sample};
    use super::*;

    #[test]
    fn several_threads_find_what_one_finds() {
        let texts = |n: usize| format!("nothing here {n}, and\nDB_PASSWORD=tr0ub4dor+3{n}");
        let prepared = |n: usize| {
            let json = json!({ "role": "user", "content": texts(n) }).to_string();
            let message = Arc::new(Message::from_json(&json).unwrap());
            PreparedMessage { entry_id: EntryId::new(format!("{n}")), message }
        };
        let redactor = Redactor::shared();
        let mut alone: Vec<_> = (0..40).map(prepared).collect();
        let found = redactor.one_by_one(&mut alone);
        assert_eq!(found, Counts::from([("password".to_owned(), 40)]));
        for share in [1, 500, 1500, 1 << 20] {
            let mut shared: Vec<_> = (0..40).map(prepared).collect();
            assert_eq!(redactor.shared_out(&mut shared, share), found);
            let raw = |messages: &[PreparedMessage]| -> Vec<String> {
                messages.iter().map(|prepared| prepared.message.raw().get().to_owned()).collect()
            };
            assert_eq!(raw(&shared), raw(&alone));
        }
        assert_eq!(redactor.messages(&mut []), Counts::new());
    }

    /// The message as a member of each kind of conversation that holds `text`.
    fn messages(text: &str) -> Vec<(&'static str, serde_json::Value)> {
        let block = json!([{ "type": "text", "text": text }]);
        let call = |arguments: serde_json::Value| json!({ "role": "assistant", "content": [{ "type": "toolCall", "id": "c", "name": "write", "arguments": arguments }] });
        vec![
            ("user text", json!({ "role": "user", "content": text })),
            ("assistant text", json!({ "role": "assistant", "content": block })),
            ("arguments", call(json!({ "path": "a", "content": text }))),
            (
                "arguments in JSON",
                call(json!({ "body": json!({ "inner": json!({ "text": text }).to_string() }).to_string() })),
            ),
            ("tool result", json!({ "role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": block })),
            ("bash", json!({ "role": "bashExecution", "command": text, "output": text, "exitCode": 0 })),
            ("summary", json!({ "role": "compactionSummary", "summary": text, "tokensBefore": 1 })),
        ]
    }

    #[test]
    fn messages_of_all_kinds_tell_no_secret() {
        let samples: Vec<Sample> = samples::secrets().into_iter().chain(samples::later_secrets()).collect();
        let mut missed = Vec::new();
        let mut looked = 0;
        for sample in &samples {
            for (place, message) in messages(&sample.text) {
                let raw = raw_value(message.to_string()).unwrap();
                let mut prepared =
                    [PreparedMessage { entry_id: EntryId::new("e"), message: Arc::new(Message::from_raw(raw)) }];
                Redactor::shared().messages(&mut prepared);
                let plain = prepared[0].message.raw().get();
                looked += 1;
                let left = (0..4).find_map(|escapes| sample.left_in(plain, escapes).into_iter().next());
                missed.extend(left.map(|left| format!("{place}: {left:?} is left: {plain}")));
            }
        }
        assert!(missed.len() * 20 <= looked, "{} of {looked}:\n{}", missed.len(), missed.join("\n"));
    }

    #[test]
    fn harmless_messages_stay_as_they_are() {
        for sample in samples::harmless().into_iter().chain(samples::later_harmless()) {
            for (place, message) in messages(&sample.text) {
                let message = Message::from_raw(raw_value(message.to_string()).unwrap());
                assert!(Redactor::shared().message(&message).is_none(), "{place}: {}", sample.text);
            }
        }
    }

    #[test]
    fn a_member_tells_of_its_value_by_its_name() {
        let redact = |json: &str| Redactor::shared().json(json).map(|(json, _)| json);
        let password = format!("hunter{}xyz", 2);
        let redacted = r#"{"password":"[redacted:password]"}"#;
        assert_eq!(redact(&format!(r#"{{"password":"{password}"}}"#)).as_deref(), Some(redacted));
        let pair = redact(&format!(r#"{{"name":"DB_PASSWORD","value":"{password}"}}"#)).unwrap();
        assert!(!pair.contains(&password), "{pair}");
        assert_eq!(redact(r#"{"password":"string"}"#), None);
    }
}
