//! The parts of the messages that cases send and receive, each with the schema that it must fit.

use std::collections::{BTreeMap, HashSet};
use std::io::Write as _;
use std::path::Path;

use compactd_client::{FrameReader, Framing as Reading};
use serde_json::{Value, json};

use super::case::Framing;
use super::transcript::Exchanged;

/// Codes of errors after which parameters need not fit their schema: the request or its settings are invalid, or the
/// server did not read the parameters.
const UNREAD: [i64; 6] = [-32700, -32600, -32601, -32602, -32002, 1201];
/// Codes of errors that reject an answer of the client.
const WRONG_ANSWER: [i64; 3] = [1104, 1105, 1107];

/// Notifications of the client. If they have an id, the server answers, but there is no schema for the answer.
const NOTIFICATIONS: [&str; 2] = ["exit", "$/cancelRequest"];

/// A value with the schema that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The case that it is from.
    pub case: String,
    /// Name of the schema without `.json`: `ping.result`, `compactionEnd.notification`, `error`.
    pub schema: String,
    /// The parameters, the result, or the error.
    pub value: Value,
}

/// Writes frames as lines of JSON; equal ones of several cases once.
///
/// # Errors
/// When the disk does not take it.
pub fn write_frames(frames: &[Frame], path: &Path) -> anyhow::Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    let mut written = HashSet::new();
    for frame in frames {
        // The members of a line behind its case. Values are long, so they are written out once.
        let rest = format!("\"schema\":{},\"value\":{}}}", json!(frame.schema), frame.value);
        if !written.contains(&rest) {
            writeln!(file, "{{\"case\":{},{rest}", json!(frame.case))?;
            written.insert(rest);
        }
    }
    Ok(file.flush()?)
}

/// The frames of a play. Left out are requests whose reply says that they are wrong or that have no reply, and
/// answers of the client in plays where the server says that one was wrong.
pub(super) fn frames(case: &str, framing: Framing, exchanges: &[Exchanged]) -> Vec<Frame> {
    let mut servers: BTreeMap<&str, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    let mut sent: BTreeMap<&str, FrameReader> = BTreeMap::new();
    for exchanged in exchanges {
        let (ours, theirs) = servers.entry(&exchanged.server).or_default();
        if exchanged.is_sent {
            let reader = sent.entry(&exchanged.server).or_insert_with(|| FrameReader::new(reading(framing)));
            reader.push(exchanged.text.as_bytes());
            while let Some(frame) = reader.next_frame() {
                // Some cases send invalid JSON; there is nothing to validate.
                ours.extend(frame.ok().into_iter().flat_map(|frame| messages(&frame)));
            }
        } else {
            theirs.extend(messages(exchanged.text.as_bytes()));
        }
    }
    let frames = servers.values().flat_map(|(ours, theirs)| {
        let refuses = theirs.iter().any(|message| WRONG_ANSWER.iter().any(|code| tells(message, *code)));
        let mut frames = of_server(theirs, ours, refuses);
        frames.extend(of_client(ours, theirs));
        frames
    });
    frames.map(|(schema, value)| Frame { case: case.to_owned(), schema, value }).collect()
}

fn reading(framing: Framing) -> Reading {
    match framing {
        Framing::Lines => Reading::Lines,
        Framing::Headers => Reading::Headers,
    }
}

/// The messages of a frame, which may be a batch.
fn messages(text: &[u8]) -> Vec<Value> {
    match serde_json::from_slice(text) {
        Ok(Value::Array(members)) => members,
        Ok(single) => vec![single],
        Err(_) => Vec::new(),
    }
}

/// Notifications and errors of the server, its requests, and what the client answered them.
fn of_server(theirs: &[Value], ours: &[Value], refuses: bool) -> Vec<(String, Value)> {
    let mut frames = Vec::new();
    for message in theirs {
        frames.extend(message.get("error").map(|error| ("error".to_owned(), error.clone())));
        let Some(method) = message["method"].as_str().filter(|method| !method.starts_with("$/")) else { continue };
        let Some(id) = message.get("id") else {
            frames.push((format!("{method}.notification"), message["params"].clone()));
            continue;
        };
        frames.push((format!("{method}.params"), message["params"].clone()));
        let answer = ours.iter().find(|answer| answer.get("id") == Some(id) && answer.get("method").is_none());
        let result = answer.and_then(|answer| answer.get("result")).filter(|_| !refuses);
        frames.extend(result.map(|result| (format!("{method}.result"), result.clone())));
    }
    frames
}

/// Requests of the client and their results.
fn of_client(ours: &[Value], theirs: &[Value]) -> Vec<(String, Value)> {
    let mut replies: Vec<&Value> = theirs.iter().filter(|message| message.get("method").is_none()).collect();
    let mut frames = Vec::new();
    for request in ours {
        let (Some(method), Some(id)) = (request["method"].as_str(), request.get("id")) else { continue };
        if NOTIFICATIONS.contains(&method) {
            continue;
        }
        let Some(at) = replies.iter().position(|reply| reply.get("id") == Some(id)) else { continue };
        let reply = replies.remove(at);
        let code = reply.pointer("/error/code").and_then(Value::as_i64);
        if code.is_none_or(|code| !UNREAD.contains(&code)) {
            frames.push((format!("{method}.params"), parameters(request)));
        }
        frames.extend(reply.get("result").map(|result| (format!("{method}.result"), result.clone())));
    }
    frames
}

/// `null`, `[]` and `[null]` count as no parameters.
fn parameters(request: &Value) -> Value {
    match request.get("params") {
        None => json!({}),
        Some(params) if [json!(null), json!([]), json!([null])].contains(params) => json!({}),
        Some(params) => params.clone(),
    }
}

/// Whether a message holds an error with this code anywhere, as replies and ends of operations do.
fn tells(message: &Value, code: i64) -> bool {
    match message {
        Value::Object(members) => {
            (members.get("code").and_then(Value::as_i64) == Some(code) && members.contains_key("data"))
                || members.values().any(|member| tells(member, code))
        }
        Value::Array(items) => items.iter().any(|item| tells(item, code)),
        _ => false,
    }
}
