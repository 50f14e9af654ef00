//! Redaction of conversations, of texts that are written piece by piece, and of texts that will be cut.

use std::borrow::Cow;
use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use compaction_core::conversation::Redact;
use compaction_core::entry::FileLists;
use compaction_core::file_operations::FileOperations;
use compaction_core::json::{Json, raw_value};
use compaction_core::message::Message;
use compaction_core::preparation::{Preparation, PreparedMessage};
use tokio_util::sync::CancellationToken;

use super::values::Values;
use super::{Plain, Redacted, Redactions, Redactor, add_counts, keys};
use crate::error::EngineError;

/// Maximum number of threads for one conversation.
const MAX_THREADS: usize = 4;

/// Number of threads for one conversation. Asking the system takes a dozen calls.
static THREADS: LazyLock<usize> =
    LazyLock::new(|| std::thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS));

/// Minimum bytes for which starting a thread pays off.
const SHARE_BYTES: usize = 1 << 16;

impl Redactor {
    /// Removes secrets from a preparation, for summarizers; returns their number. Entries and numbers stay the same.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] once `cancel` is cancelled. Some texts then still have their secrets.
    pub fn preparation(
        &self,
        preparation: &mut Preparation,
        cancel: &CancellationToken,
    ) -> Result<Redactions, EngineError> {
        let mut counts = self.messages(&mut preparation.messages_to_summarize, cancel)?;
        add_counts(&mut counts, &self.messages(&mut preparation.turn_prefix_messages, cancel)?);
        add_counts(&mut counts, &self.text(&mut preparation.previous_summary));
        // Details that an earlier version stored may contain secrets.
        let details = preparation.previous_details.as_ref().and_then(|details| self.json(details.get(), Some(cancel)));
        if let Some((details, _)) = details.and_then(|(json, counts)| Some((raw_value(json).ok()?, counts))) {
            preparation.previous_details = Some(details);
        }
        preparation.file_operations = self.file_operations(std::mem::take(&mut preparation.file_operations));
        if cancel.is_cancelled() {
            return Err(EngineError::Cancelled);
        }
        Ok(counts)
    }

    /// Removes secrets from a text, if there is one; returns their number.
    pub(crate) fn text(&self, text: &mut Option<String>) -> Redactions {
        let Some(text) = text else { return Redactions::new() };
        let Redacted { text: changed, counts } = self.redact(text);
        if let Cow::Owned(changed) = changed {
            *text = changed;
        }
        counts
    }

    /// As [`Redactor::text`], for a text whose parts were redacted before, so that it hardly ever has secrets. Several
    /// threads look for one in a long text. They leave a core to other work if it `spares_core`.
    pub(crate) fn long_text(&self, text: &mut String, spares_core: bool) -> Redactions {
        let threads = self.threads_for(text.len(), usize::from(spares_core));
        if threads > 1 && self.is_clean(text, threads) {
            return Redactions::new();
        }
        let Redacted { text: changed, counts } = self.redact(text);
        if let Cow::Owned(changed) = changed {
            *text = changed;
        }
        counts
    }

    /// Whether [`Redactor::find`] finds nothing in `text`, looked for by `threads` threads.
    fn is_clean(&self, text: &str, threads: usize) -> bool {
        let plain = Plain::of(text).text;
        let ends = (1..=plain.len().div_ceil(SHARE_BYTES)).map(|end| plain.floor_char_boundary(end * SHARE_BYTES));
        let parts = ends.scan(0, |start, end| Some(std::mem::replace(start, end)..end));
        // What takes longest comes first.
        let left = Mutex::new(std::iter::once(None).chain(parts.map(Some)));
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let (has_passwords, is_clean) = (AtomicBool::new(false), AtomicBool::new(true));
        let one_by_one = || {
            while let Some(part) = next().filter(|_| is_clean.load(Ordering::Relaxed)) {
                let found = match part {
                    None => self.find_beyond_keywords(&plain, None),
                    Some(part) => {
                        let (found, names_passwords) = self.forms.find_at_keywords(&plain, part, None);
                        has_passwords.fetch_or(names_passwords, Ordering::Relaxed);
                        found
                    }
                };
                is_clean.fetch_and(found.is_empty(), Ordering::Relaxed);
            }
        };
        std::thread::scope(|scope| {
            // The system may refuse another thread.
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, one_by_one).ok();
            (1..threads).map_while(spawn).for_each(drop);
            one_by_one();
        });
        is_clean.into_inner() && self.find_in_columns(&plain, has_passwords.into_inner()).is_empty()
    }

    /// Number of threads for texts of so many bytes beside other work on `spared_cores`.
    fn threads_for(&self, bytes: usize, spared_cores: usize) -> usize {
        bytes.div_ceil(SHARE_BYTES).min(THREADS.saturating_sub(spared_cores).max(1))
    }

    /// Removes secrets from messages; returns their number. A redactor that seeks values takes messages that its rules
    /// have seen, and passes over those without any of the values. It looks at `cancel` between messages and within long ones,
    /// because it holds a worker thread even if nobody waits for it any more.
    ///
    /// # Errors
    /// [`EngineError::Cancelled`] once `cancel` is cancelled. Some messages then still have their secrets.
    pub fn messages(
        &self,
        messages: &mut [PreparedMessage],
        cancel: &CancellationToken,
    ) -> Result<Redactions, EngineError> {
        let bytes: usize = messages.iter().map(bytes_of).sum();
        let counts = self.on_threads(messages, self.threads_for(bytes, self.spared_cores), cancel);
        if cancel.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(counts) }
    }

    /// As [`Redactor::messages`], on at most `threads` threads.
    fn on_threads(&self, messages: &mut [PreparedMessage], threads: usize, cancel: &CancellationToken) -> Redactions {
        // Each thread takes the next message once it is done with one: what a thread has to build first and how long
        // messages are cannot be known before.
        let left = Mutex::new(messages.iter_mut());
        let next = || left.lock().unwrap_or_else(PoisonError::into_inner).next();
        let one_by_one = || {
            let mut counts = Redactions::new();
            while let Some(prepared) = next().filter(|_| !cancel.is_cancelled()) {
                if let Some((message, found)) = self.message(&prepared.message, Some(cancel)) {
                    prepared.message = Arc::new(message);
                    add_counts(&mut counts, &found);
                }
            }
            counts
        };
        std::thread::scope(|scope| {
            // The system may refuse another thread.
            let spawn = |_| std::thread::Builder::new().spawn_scoped(scope, one_by_one).ok();
            let others: Vec<_> = (1..threads).map_while(spawn).collect();
            let mut counts = one_by_one();
            for other in others {
                let found = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                add_counts(&mut counts, &found);
            }
            counts
        })
    }

    /// The file operations without secrets. If a path contains a secret, their order is lost.
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

    /// The message without secrets; `None` if it contains none.
    fn message(&self, message: &Message, cancel: Option<&CancellationToken>) -> Option<(Message, Redactions)> {
        let raw = message.raw().get();
        if let Values::Sought(values) = &self.values
            && !values.is_in(&Plain::of(raw).text, cancel)
        {
            return None;
        }
        let (json, counts) = self.json(raw, cancel)?;
        Some((Message::from_raw(raw_value(json).ok()?), counts))
    }

    /// JSON without secrets; `None` if it contains none. Each text is redacted alone, because a mark must not reach
    /// from one text into the next. Then the whole is redacted, for values that only their neighbours reveal.
    fn json(&self, json: &str, cancel: Option<&CancellationToken>) -> Option<(String, Redactions)> {
        let found = self.redact_until(json, cancel);
        if found.counts.is_empty() {
            return None;
        }
        let mut tree = Json::parse(json).ok()?.into_owned();
        self.texts(None, &mut tree, cancel);
        let texts = tree.to_compact();
        let all = self.redact_until(&texts, cancel).text;
        let whole = Json::parse(&all).is_ok().then(|| all.into_owned());
        Some((whole.unwrap_or(texts), found.counts))
    }

    /// Redacts the texts in `json`, the value of the member `name`.
    fn texts(&self, name: Option<&str>, json: &mut Json<'static>, cancel: Option<&CancellationToken>) {
        match json {
            Json::String(text) => {
                if let Some(redacted) = self.member(name, text, cancel) {
                    *text = Cow::Owned(redacted);
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.texts(None, item, cancel)),
            Json::Object(members) => members.iter_mut().for_each(|(name, value)| self.texts(Some(name), value, cancel)),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::Deep(_) => {}
        }
    }

    /// The text of a member without secrets, which its name may reveal; `None` if it contains none.
    fn member(&self, name: Option<&str>, text: &str, cancel: Option<&CancellationToken>) -> Option<String> {
        if let Some(name) = name {
            let (before, after) = (format!("{name}=\""), "\"");
            let named = format!("{before}{text}{after}");
            let redacted = self.redact_until(&named, cancel).text;
            if let Some(text) = redacted.strip_prefix(&before).and_then(|text| text.strip_suffix(after)) {
                return (redacted != named).then(|| text.to_owned());
            }
        }
        match self.redact_until(text, cancel).text {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        }
    }
}

fn bytes_of(prepared: &PreparedMessage) -> usize {
    prepared.message.raw().get().len()
}

/// Number of lines that are held back, because a secret may be on the line after its name.
const HELD_LINES: usize = 2;
/// Texts without a line break are released by words from this number of bytes on.
const LONG_LINE: usize = 4096;
/// Bytes of such a text that are held back.
const HELD_BYTES: usize = 1024;
/// Bytes of released text that are kept, because it may contain the name of the next secret.
const CONTEXT: usize = 1024;

/// Redacts a text that arrives in pieces. A piece is released once no secret can continue after it.
#[derive(Debug)]
pub(crate) struct RedactedStream {
    /// Without it, every piece is released at once.
    redactor: Option<Arc<Redactor>>,
    /// The end of the released text, and the text that is held back.
    text: String,
    /// Released bytes of `text`.
    released: usize,
    /// The length of `text` at which it is scanned again.
    next_scan: usize,
}

impl RedactedStream {
    /// An empty text.
    pub(crate) fn new(redactor: Option<Arc<Redactor>>) -> Self {
        Self { redactor, text: String::new(), released: 0, next_scan: 0 }
    }

    /// Adds a piece.
    pub(crate) fn push(&mut self, piece: &str) {
        self.text.push_str(piece);
    }

    /// Starts the next text.
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        (self.released, self.next_scan) = (0, 0);
    }

    /// Takes the text that can be released, without secrets; at the end, all that is left.
    pub(crate) fn take(&mut self, is_end: bool) -> String {
        let Some(redactor) = self.redactor.clone() else {
            return std::mem::take(&mut self.text);
        };
        if !is_end && self.text.len() < self.next_scan {
            return String::new();
        }
        let mut until = if is_end { self.text.len() } else { self.settled() };
        if until <= self.released {
            return String::new();
        }
        let found = redactor.find(&self.text, None);
        if !is_end {
            let goes_on = |range: &std::ops::Range<usize>| range.start < until && range.end > until.saturating_sub(1);
            if let Some((_, range)) = found.iter().find(|(_, range)| goes_on(range)) {
                until = self.text[..range.start].rfind('\n').map_or(range.start, |at| at + 1).max(self.released);
            }
        }
        if until <= self.released {
            // A long secret is not scanned again with each of its words.
            self.next_scan = self.text.len() + self.text.len() / 4;
            return String::new();
        }
        let mut out = String::new();
        let mut done = self.released;
        for (rule, range) in found.iter().filter(|(_, range)| range.end > self.released && range.start < until) {
            out.push_str(&self.text[done..range.start.max(done)]);
            out.push_str(&redactor.mark(*rule));
            done = range.end;
        }
        out.push_str(self.text.get(done..until).unwrap_or_default());
        self.forget(until);
        redactor.redact(&out).text.into_owned()
    }

    /// The end of the complete lines that enough further lines follow. Lines of encoded data wait longer, because they
    /// are a key if the last line of one follows.
    fn settled(&self) -> usize {
        let pending = &self.text[self.released..];
        match pending.rmatch_indices('\n').nth(HELD_LINES) {
            Some((at, _)) => {
                let end = self.released + at + 1;
                keys::pending_lines(&self.text, end).unwrap_or(end)
            }
            None if pending.len() > LONG_LINE && !pending.contains('\n') => {
                let end = self.text.floor_char_boundary(self.text.len() - HELD_BYTES);
                self.text[..end].rfind(' ').unwrap_or(0)
            }
            None => 0,
        }
    }

    fn forget(&mut self, until: usize) {
        let start = self.text.floor_char_boundary(until.saturating_sub(CONTEXT));
        self.text.drain(..start);
        self.released = until - start;
        self.next_scan = 0;
    }
}

/// Redacts the texts of one summary, caches the results, and counts the secrets.
#[derive(Debug)]
pub(crate) struct RedactedTexts {
    redactor: Arc<Redactor>,
    hashers: [RandomState; 2],
    cache: Mutex<Cache>,
}

#[derive(Debug, Default)]
struct Cache {
    /// The redacted forms of texts; `None` for a text without secrets. The texts themselves would take as much memory
    /// as the conversation, so they are known by two random hashes.
    texts: HashMap<[u64; 2], Option<String>>,
    counts: Redactions,
}

impl RedactedTexts {
    /// An empty cache.
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, hashers: [RandomState::new(), RandomState::new()], cache: Mutex::default() }
    }

    /// Takes the number of secrets since the last call, by rule.
    pub(crate) fn take_counts(&self) -> Redactions {
        std::mem::take(&mut self.lock().counts)
    }

    fn lock(&self) -> MutexGuard<'_, Cache> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Redact for RedactedTexts {
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let key = self.hashers.each_ref().map(|hasher| hasher.hash_one(text));
        let mut cache = self.lock();
        if let Some(redacted) = cache.texts.get(&key) {
            return redacted.clone().map_or(Cow::Borrowed(text), Cow::Owned);
        }
        let redacted = self.redactor.redact(text);
        add_counts(&mut cache.counts, &redacted.counts);
        let changed = if let Cow::Owned(changed) = &redacted.text { Some(changed.clone()) } else { None };
        cache.texts.insert(key, changed);
        redacted.text
    }
}

#[cfg(test)]
mod tests {
    use compaction_core::entry::EntryId;
    use serde_json::json;

    use super::*;
    use crate::error::ErrorKind;
    use crate::redaction::samples;
    use crate::redaction::samples::Sample;

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
        let never = CancellationToken::new();
        let found = redactor.on_threads(&mut alone, 1, &never);
        assert_eq!(found, Redactions::from([("password".to_owned(), 40)]));
        for threads in [2, 3, 8, 64] {
            let mut shared: Vec<_> = (0..40).map(prepared).collect();
            assert_eq!(redactor.on_threads(&mut shared, threads, &never), found);
            let raw = |messages: &[PreparedMessage]| -> Vec<String> {
                messages.iter().map(|prepared| prepared.message.raw().get().to_owned()).collect()
            };
            assert_eq!(raw(&shared), raw(&alone));
        }
        assert_eq!(redactor.messages(&mut [], &never).unwrap(), Redactions::new());
        // Texts that were not looked at are never handed on.
        never.cancel();
        let mut left: Vec<_> = (0..40).map(prepared).collect();
        assert_eq!(redactor.on_threads(&mut left, 2, &never), Redactions::new());
        assert_eq!(redactor.messages(&mut left, &never).unwrap_err().kind(), ErrorKind::Cancelled);
    }

    #[test]
    fn several_threads_miss_nothing_in_a_long_text() {
        let redactor = Redactor::shared();
        let filler = "A line of a long text, \u{2026} without anything.\n".repeat(SHARE_BYTES / 40);
        let check = |sample: &str, is_clean: bool| {
            // It stands behind the beginning, across the end of a part, and at the end.
            for at in [0, SHARE_BYTES - sample.len() / 2, filler.len()] {
                let (before, after) = filler.split_at(filler.floor_char_boundary(at));
                let text = format!("{before}\n{sample}\n{after}");
                let found = redactor.redact(&text);
                assert_eq!(found.counts.is_empty(), is_clean, "{sample}");
                for threads in [1, 3] {
                    assert_eq!(redactor.is_clean(&text, threads), is_clean, "{sample}");
                }
                let mut redacted = text.clone();
                assert_eq!(redactor.long_text(&mut redacted, false), found.counts);
                assert_eq!(redacted, found.text);
            }
        };
        let table = "| user | password |\n| --- | --- |\n| ann | tr0ub4dor+3 |";
        let secrets = samples::secrets();
        secrets.iter().step_by(40).map(|sample| &*sample.text).chain([table]).for_each(|text| check(text, false));
        samples::harmless().iter().step_by(80).for_each(|sample| check(&sample.text, true));
        let values = Values::Remembered(Mutex::default());
        let remembering = redactor.with(values);
        remembering.redact("DB_PASSWORD=tr0ub4dor+3");
        let seeking = redactor.with(remembering.values.sought().unwrap());
        let text = format!("{filler}\nIt is tr0ub4dor+3.");
        assert!(!seeking.is_clean(&text, 2) && redactor.is_clean(&text, 2));
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
    fn messages_of_all_kinds_reveal_no_secret() {
        let samples: Vec<Sample> =
            [samples::secrets(), samples::later_secrets(), samples::public_secrets()].into_iter().flatten().collect();
        let mut missed = Vec::new();
        let mut looked = 0;
        for sample in &samples {
            for (place, message) in messages(&sample.text) {
                let raw = raw_value(message.to_string()).unwrap();
                let mut prepared =
                    [PreparedMessage { entry_id: EntryId::new("e"), message: Arc::new(Message::from_raw(raw)) }];
                Redactor::shared().messages(&mut prepared, &CancellationToken::new()).unwrap();
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
                assert!(Redactor::shared().message(&message, None).is_none(), "{place}: {}", sample.text);
            }
        }
    }

    #[test]
    fn a_member_tells_of_its_value_by_its_name() {
        let redact = |json: &str| Redactor::shared().json(json, None).map(|(json, _)| json);
        let password = format!("hunter{}xyz", 2);
        let redacted = r#"{"password":"[redacted:password]"}"#;
        assert_eq!(redact(&format!(r#"{{"password":"{password}"}}"#)).as_deref(), Some(redacted));
        let pair = redact(&format!(r#"{{"name":"DB_PASSWORD","value":"{password}"}}"#)).unwrap();
        assert!(!pair.contains(&password), "{pair}");
        assert_eq!(redact(r#"{"password":"string"}"#), None);
    }

    /// The part of `text` that is sent if it is written in pieces of so many characters.
    fn sent(text: &str, size: usize) -> String {
        let mut stream = RedactedStream::new(Some(Redactor::shared()));
        let characters: Vec<char> = text.chars().collect();
        let mut sent = String::new();
        for piece in characters.chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            sent.push_str(&stream.take(false));
        }
        sent + &stream.take(true)
    }

    #[test]
    fn pieces_reveal_no_secret() {
        let samples: Vec<_> = samples::secrets().into_iter().chain(samples::later_secrets()).collect();
        for size in [1, 7, 64] {
            let missed: Vec<_> = samples
                .iter()
                .map(|sample| (sample, sent(&format!("before\n{}\nafter\n\nand\nmore\nlines\n", sample.text), size)))
                .filter_map(|(sample, sent)| sample.left_in(&sent, 0).first().map(|left| format!("{left:?}: {sent:?}")))
                .collect();
            assert!(missed.len() * 20 <= samples.len(), "{}:\n{}", missed.len(), missed.join("\n"));
        }
    }

    #[test]
    fn lines_of_a_key_wait_for_its_last_line() {
        let lines: Vec<String> = (10..40).map(|number| format!("{}{number}", "Ab1/".repeat(16))).collect();
        let text = |last: &str| format!("before\n{}\n{last}\nafter\n\nand\nmore\nlines\n", lines.join("\n"));
        for size in [1, 37, 1000] {
            let sent_key = sent(&text(&format!("-----{} RSA PRIVATE KEY-----", "END")), size);
            assert_eq!(sent_key, "before\n[redacted:private-key]\nafter\n\nand\nmore\nlines\n", "by {size}");
            assert_eq!(sent(&text("No key."), size), text("No key."), "by {size}");
        }
        let listed: Vec<String> = lines.iter().zip(8..).map(|(line, row)| format!("k.pem:{row}:{line}\n")).collect();
        let listed = format!("before\n{}k.pem:38:-----{} RSA PRIVATE KEY-----\nafter\n", listed.concat(), "END");
        assert_eq!(sent(&listed, 37), "before\nk.pem:8:[redacted:private-key]\nafter\n");
        let mut stream = RedactedStream::new(Some(Redactor::shared()));
        stream.push(&text("No key."));
        assert!(stream.take(false).contains(&lines[29]), "they wait no longer than that");
    }

    #[test]
    fn text_without_secrets_is_sent_unchanged() {
        for sample in samples::harmless() {
            let text = format!("before\n{}\nafter\n\nand\nmore\nlines", sample.text);
            assert_eq!(sent(&text, 5), text);
        }
        let long = "word ".repeat(5000);
        assert_eq!(sent(&long, 100), long);
    }

    #[test]
    fn lines_are_sent_before_the_end() {
        let mut stream = RedactedStream::new(Some(Redactor::shared()));
        stream.push("one\ntwo\nthree\nfo");
        assert_eq!(stream.take(false), "one\n");
        stream.push("ur\n");
        assert_eq!(stream.take(false), "two\n");
        assert_eq!(stream.take(true), "three\nfour\n");
    }
}
