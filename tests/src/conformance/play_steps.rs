//! What single steps do.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use super::bytes::bytes;
use super::play::Player;
use super::steps::{Answer, Bytes, Call, File, Notification, Request, Silence, Write};

impl Player<'_> {
    pub(super) fn call_step(&mut self, name: &str, call: &Call) -> anyhow::Result<()> {
        let id = self.new_id();
        self.send_request(name, id, &call.method, call.params.as_ref())?;
        let place = self.replied(name, &json!(id), &call.answer)?;
        let reply = self.server(name)?.messages[place].value.clone();
        self.note_initialize(name, &call.method, &reply)?;
        self.probe_after_error(name, &reply)
    }

    pub(super) fn reply_step(&mut self, name: &str, id: &Value, answer: &Answer) -> anyhow::Result<()> {
        let place = self.replied(name, id, answer)?;
        let reply = self.server(name)?.messages[place].value.clone();
        self.probe_after_error(name, &reply)
    }

    fn probe_after_error(&mut self, name: &str, reply: &Value) -> anyhow::Result<()> {
        if reply.get("error").is_some() { self.probe(name) } else { Ok(()) }
    }

    /// Waits for a reply and for what must come with it; returns the place of the reply.
    fn replied(&mut self, name: &str, id: &Value, answer: &Answer) -> anyhow::Result<usize> {
        let place = self.await_reply(name, id)?;
        let message = self.server(name)?.messages[place].clone();
        if answer.id_text.is_some() && answer.id_text != message.id_text {
            bail!("the id is {:?}, not {:?}", message.id_text, answer.id_text);
        }
        self.answer_matches(&message.value, answer)?;
        self.in_order(name, &answer.before, Some(place))?;
        self.in_order(name, &answer.notifications, None)?;
        Ok(place)
    }

    /// Claims a message for each pattern, each after the one before and all before `end`.
    fn in_order(&mut self, name: &str, patterns: &[Value], end: Option<usize>) -> anyhow::Result<()> {
        let mut last = None;
        for pattern in patterns {
            let place = self.await_pattern(name, pattern)?;
            if last.is_some_and(|last| place < last) {
                bail!("{pattern} came before the message that should precede it");
            }
            if end.is_some_and(|end| place > end) {
                bail!("{pattern} came after the reply");
            }
            last = Some(place);
        }
        Ok(())
    }

    /// The first message with the method of the pattern; it must fit the whole pattern.
    fn await_pattern(&mut self, name: &str, pattern: &Value) -> anyhow::Result<usize> {
        let method = pattern.get("method").context("a pattern of a message names its method")?.clone();
        let place = self.await_message(name, &format!("{method}"), |value| value.get("method") == Some(&method))?;
        let message = self.server(name)?.messages[place].value.clone();
        self.check(pattern, Some(&message))?;
        Ok(place)
    }

    pub(super) fn bytes_step(&mut self, name: &str, step: &Bytes) -> anyhow::Result<()> {
        let bytes = bytes(&step.bytes, self.framing, &self.variables)?;
        self.send_bytes(name, &bytes, step.chunk)
    }

    pub(super) fn batch_reply_step(&mut self, name: &str, pattern: &Value) -> anyhow::Result<()> {
        let place = self.await_message(name, "a reply to a batch", Value::is_array)?;
        let reply = self.server(name)?.messages[place].value.clone();
        let pattern = if pattern.is_array() { json!({ "$unordered": pattern }) } else { pattern.clone() };
        self.check(&pattern, Some(&reply))?;
        let failed = reply.as_array().is_some_and(|members| members.iter().any(|member| member.get("error").is_some()));
        if failed { self.probe(name) } else { Ok(()) }
    }

    pub(super) fn notification_step(&mut self, name: &str, expected: &Notification) -> anyhow::Result<()> {
        let params = expected.params.clone().unwrap_or_else(|| json!({}));
        self.await_pattern(
            name,
            &json!({ "method": expected.notification, "params": params, "id": { "$absent": true } }),
        )?;
        Ok(())
    }

    pub(super) fn request_step(&mut self, name: &str, expected: &Request) -> anyhow::Result<()> {
        let params = expected.params.clone().unwrap_or_else(|| json!({}));
        let pattern = json!({ "method": expected.request, "params": params, "id": { "$type": ["string", "number"] } });
        let place = self.await_pattern(name, &pattern)?;
        let id = self.server(name)?.messages[place].value["id"].clone();
        if let Some(kept) = &expected.keep_id {
            self.variables.insert(kept.clone(), id.clone());
        }
        if let Some(result) = &expected.answer {
            self.send_value(name, &json!({ "jsonrpc": "2.0", "id": id, "result": result }))?;
        }
        match &expected.answer_error {
            Some(error) => self.send_value(name, &json!({ "jsonrpc": "2.0", "id": id, "error": error })),
            None => Ok(()),
        }
    }

    pub(super) fn silence_step(&mut self, name: &str, step: &Silence) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_millis(step.silence);
        while self.receive(name, deadline)? {}
        let excepted = |value: &Value| {
            let method = value.get("method").and_then(Value::as_str);
            method.is_some_and(|method| step.except.iter().any(|excepted| excepted == method))
        };
        let loud = self.server(name)?.messages.iter().find(|message| !message.claimed && !excepted(&message.value));
        loud.map_or(Ok(()), |message| bail!("a message in a silence: {}", message.text))
    }

    pub(super) fn write_step(&mut self, step: &Write) -> anyhow::Result<()> {
        use std::io::Write as _;
        let bytes = bytes(&step.bytes, self.framing, &self.variables)?;
        let path = self.path(&step.write);
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create(true).append(step.append).truncate(!step.append).open(path)?;
        Ok(file.write_all(&bytes)?)
    }

    pub(super) fn file_step(&mut self, step: &File) -> anyhow::Result<()> {
        let path = self.path(&step.file);
        if let Some(exists) = step.exists
            && path.exists() != exists
        {
            bail!("{} exists: {}", path.display(), path.exists());
        }
        if let Some(pattern) = &step.lines {
            let lines = lines(&path)?;
            self.check(pattern, Some(&lines))?;
        }
        if let Some(pattern) = &step.text {
            let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
            self.check(pattern, Some(&Value::String(text)))?;
        }
        check_mode(&path, step.mode.as_deref())?;
        if step.unchanged { self.check_unchanged(&path) } else { Ok(()) }
    }

    fn check_unchanged(&self, path: &PathBuf) -> anyhow::Result<()> {
        let before = self.laid_out.get(path).with_context(|| format!("{} was not laid out", path.display()))?;
        if std::fs::read(path)? == *before { Ok(()) } else { bail!("{} was changed", path.display()) }
    }
}

fn check_mode(path: &PathBuf, mode: Option<&str>) -> anyhow::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let Some(mode) = mode else { return Ok(()) };
    let found = format!("{:04o}", std::fs::metadata(path)?.permissions().mode() & 0o7777);
    if found == mode { Ok(()) } else { bail!("{} has mode {found}, not {mode}", path.display()) }
}

/// The lines of a file as JSON, or as texts where they are no JSON.
fn lines(path: &PathBuf) -> anyhow::Result<Value> {
    let bytes = std::fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let text = text.strip_suffix('\n').map_or_else(|| text.clone() + "[no end of line]", str::to_owned);
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| Value::String(line.to_owned()));
    Ok(Value::Array(text.split('\n').map(read).collect()))
}
