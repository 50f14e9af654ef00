//! The steps of a case.

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// One step, and the server that it speaks to.
#[derive(Debug, Clone)]
pub struct Step {
    /// Which server; the first one is `main`, another is started when it is first named.
    pub server: String,
    /// What is done or expected.
    pub action: Action,
    /// The step as written, for reports.
    pub source: Value,
}

/// What a step does or expects.
#[derive(Debug, Clone)]
pub enum Action {
    /// Sends a request and waits for its reply.
    Call(Call),
    /// Sends a message, whole, and waits for nothing.
    Send(Send),
    /// Sends bytes as they are.
    Bytes(Bytes),
    /// Waits for the reply to an id.
    Reply(Reply),
    /// Waits for a reply to a batch.
    BatchReply(BatchReply),
    /// Waits for a notification.
    Notification(Notification),
    /// Waits for a request of the server, and answers it.
    Request(Request),
    /// Sees that nothing more arrives.
    Silence(Silence),
    /// Closes the server's input.
    CloseInput(CloseInput),
    /// Sends a signal.
    Signal(Signal),
    /// Waits for the end of the process.
    Exit(Exit),
    /// Looks at a file.
    File(File),
    /// Changes a file as another program would.
    Write(Write),
    /// Removes a file.
    Remove(Remove),
    /// Keeps a value under a name.
    Let(Let),
}

/// A request and its reply.
#[derive(Debug, Clone)]
pub struct Call {
    /// The method.
    pub method: String,
    /// Its parameters; none by default.
    pub params: Option<Value>,
    /// What the reply is like.
    pub answer: Answer,
}

/// What a reply is like, and what comes with it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Answer {
    /// Pattern of the result.
    #[serde(default, deserialize_with = "present")]
    pub result: Option<Value>,
    /// Pattern of the error.
    pub error: Option<Value>,
    /// Patterns of the reply, of which one must fit.
    pub either: Option<Vec<Value>>,
    /// Exact text of the id.
    pub id_text: Option<String>,
    /// Patterns of messages that must arrive before the reply, in this order.
    #[serde(default)]
    pub before: Vec<Value>,
    /// Patterns of messages that must arrive before or after the reply, in this order.
    #[serde(default)]
    pub notifications: Vec<Value>,
}

/// A message to send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    /// The message, or a list of messages for a batch.
    pub send: Value,
}

/// Bytes to send.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bytes {
    /// The bytes.
    pub bytes: Value,
    /// Size in bytes of the pieces in which they are written.
    pub chunk: Option<usize>,
}

/// An expected reply.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Its id; null for errors that have none.
    pub id: Value,
    /// What it is like.
    pub answer: Answer,
}

/// An expected reply to a batch.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BatchReply {
    /// Patterns of its members, in any order; or a pattern of the whole list.
    pub batch_reply: Value,
}

/// An expected notification.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Notification {
    /// Its method.
    pub notification: String,
    /// Pattern of its parameters.
    pub params: Option<Value>,
}

/// An expected request of the server.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Request {
    /// Its method.
    pub request: String,
    /// Pattern of its parameters.
    pub params: Option<Value>,
    /// The result to send.
    #[serde(default, deserialize_with = "present")]
    pub answer: Option<Value>,
    /// The error to send.
    pub answer_error: Option<Value>,
    /// The name under which its id is kept.
    pub keep_id: Option<String>,
}

/// A wait in which nothing may arrive.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Silence {
    /// Milliseconds.
    pub silence: u64,
    /// Methods whose messages do not count.
    #[serde(default)]
    pub except: Vec<String>,
}

/// The end of the server's input.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CloseInput {
    /// Always true.
    pub close_input: bool,
}

/// A signal.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// `TERM`, `INT` or `KILL`.
    pub signal: String,
}

/// The end of the process.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exit {
    /// Its exit code, or null after a signal that kills.
    pub exit: Option<i32>,
}

/// A look at a file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// Its path, under the case's directory if it is relative.
    pub file: String,
    /// Patterns of its lines, each read as JSON; those that are no JSON are strings.
    pub lines: Option<Value>,
    /// Pattern of its text.
    pub text: Option<Value>,
    /// Whether it holds what was laid out.
    #[serde(default)]
    pub unchanged: bool,
    /// Whether it is there.
    pub exists: Option<bool>,
    /// Permission bits, in octal.
    pub mode: Option<String>,
}

/// A change that another program makes.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Path of the file.
    pub write: String,
    /// Its new bytes.
    pub bytes: Value,
    /// Whether they are added at its end.
    #[serde(default)]
    pub append: bool,
}

/// A file to remove.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Remove {
    /// Its path.
    pub remove: String,
}

/// A value to keep.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Let {
    /// The name.
    #[serde(rename = "let")]
    pub name: String,
    /// The value.
    pub value: Value,
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = Map::<String, Value>::deserialize(deserializer)?;
        let source = Value::Object(members.clone());
        let server = match members.remove("server") {
            Some(Value::String(name)) => name,
            Some(other) => return Err(D::Error::custom(format!("a server has a name, not {other}"))),
            None => "main".to_owned(),
        };
        let action = action(members).map_err(|error| D::Error::custom(format!("{error} in step {source}")))?;
        Ok(Self { server, action, source })
    }
}

fn action(mut members: Map<String, Value>) -> Result<Action, serde_json::Error> {
    if let Some(method) = members.remove("call") {
        return call(method, members);
    }
    if let Some(id) = members.remove("reply") {
        return Ok(Action::Reply(Reply { id, answer: from_members(members)? }));
    }
    let kind = KINDS.iter().find(|(name, _)| members.contains_key(*name));
    kind.map_or_else(|| Err(serde_json::Error::custom("an unknown kind of step")), |(_, read)| read(members))
}

fn call(method: Value, mut members: Map<String, Value>) -> Result<Action, serde_json::Error> {
    let (method, params) = (serde_json::from_value(method)?, members.remove("params"));
    Ok(Action::Call(Call { method, params, answer: from_members(members)? }))
}

type Read = fn(Map<String, Value>) -> Result<Action, serde_json::Error>;

const KINDS: &[(&str, Read)] = &[
    ("send", |members| from_members(members).map(Action::Send)),
    ("batchReply", |members| from_members(members).map(Action::BatchReply)),
    ("notification", |members| from_members(members).map(Action::Notification)),
    ("request", |members| from_members(members).map(Action::Request)),
    ("silence", |members| from_members(members).map(Action::Silence)),
    ("closeInput", |members| from_members(members).map(Action::CloseInput)),
    ("signal", |members| from_members(members).map(Action::Signal)),
    ("exit", |members| from_members(members).map(Action::Exit)),
    ("file", |members| from_members(members).map(Action::File)),
    ("remove", |members| from_members(members).map(Action::Remove)),
    ("let", |members| from_members(members).map(Action::Let)),
    ("write", |members| from_members(members).map(Action::Write)),
    // Last, because `write` has bytes too.
    ("bytes", |members| from_members(members).map(Action::Bytes)),
];

fn from_members<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, serde_json::Error> {
    serde_json::from_value(Value::Object(members))
}

/// A member that is there, even if it is null.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
