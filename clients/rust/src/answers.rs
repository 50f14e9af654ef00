//! Requests of the server, and the errors that both sides answer with.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use crate::MessageTooLarge;
use crate::protocol::{self, ErrorKind, Hooks};
use crate::transport::Pending;

/// Answers the requests of the server as they came; [`Hooks`] has a typed function for each of them.
#[async_trait]
pub trait Answers: Send + Sync {
    /// Answers one request of the server; dropped when the server cancels the request, or ends.
    ///
    /// # Errors
    /// The error that the server gets instead of a result; it fails the server's operation.
    async fn answer(&self, method: &str, params: &RawValue) -> Result<Value, RpcError>;
}

/// An error as JSON-RPC carries it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// Its number; the protocol lists them.
    pub code: i32,
    /// What a person reads.
    pub message: String,
    /// `kind`, and the ids and numbers needed to act.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub data: Option<Value>,
}

impl RpcError {
    /// An error without data, as an answer to the server.
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// What kind of error it is: by `data.kind`, else by its code.
    pub fn kind(&self) -> Option<ErrorKind> {
        let named = self.member("kind").and_then(|kind| ErrorKind::deserialize(kind).ok());
        named.or_else(|| ErrorKind::of_code(self.code))
    }

    /// Tells errors of one kind apart, from `data.reason`.
    pub fn reason(&self) -> Option<&str> {
        self.member("reason")?.as_str()
    }

    /// Whether the same call, sent again later, may succeed, from `data.retryable`.
    pub fn is_retryable(&self) -> bool {
        self.member("retryable").and_then(Value::as_bool).unwrap_or(false)
    }

    fn member(&self, name: &str) -> Option<&Value> {
        self.data.as_ref()?.get(name)
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind();
        let kind = kind.as_ref().map_or("no kind", ErrorKind::as_str);
        write!(formatter, "{} ({kind}, {})", self.message, self.code)
    }
}

/// Lets typed hooks answer.
pub(crate) struct Hooked<H>(pub(crate) H);

#[async_trait]
impl<H: Hooks> Answers for Hooked<H> {
    async fn answer(&self, method: &str, params: &RawValue) -> Result<Value, RpcError> {
        protocol::answer(&self.0, method, params).await
    }
}

/// The refusal of a request that the client has no function for.
pub(crate) fn unanswered(method: &str) -> RpcError {
    let message = format!("client does not answer {method}");
    RpcError { code: -32601, message, data: kind("methodNotFound") }
}

/// Reads the parameters of a hook.
pub(crate) fn parameters<P: DeserializeOwned>(params: &RawValue) -> Result<P, RpcError> {
    serde_json::from_str(params.get()).map_err(|error| {
        let message = format!("client cannot read the parameters: {error}");
        RpcError { code: -32602, message, data: kind("invalidParams") }
    })
}

/// Writes the result of a hook.
pub(crate) fn answered<R: Serialize>(result: &R) -> Result<Value, RpcError> {
    serde_json::to_value(result)
        .map_err(|error| RpcError::new(-32603, format!("client cannot write its answer: {error}")))
}

/// The requests of the server that are being answered.
pub(crate) struct Answering {
    answers: Option<Arc<dyn Answers>>,
    outgoing: mpsc::WeakSender<String>,
    pending: Pending,
    running: Arc<Mutex<HashMap<String, AbortHandle>>>,
}

impl Answering {
    /// Answers through `answers`; without it every request is refused as unknown. `pending` knows the limit of a message.
    pub(crate) fn new(answers: Option<Arc<dyn Answers>>, outgoing: mpsc::WeakSender<String>, pending: Pending) -> Self {
        Self { answers, outgoing, pending, running: Arc::default() }
    }

    /// Starts to answer a request; the reply goes out when the answer is there.
    pub(crate) fn start(&self, id: &RawValue, method: &str, params: &RawValue) {
        let (id, method, params) = (id.get().to_owned(), method.to_owned(), params.to_owned());
        let (answers, outgoing, running) = (self.answers.clone(), self.outgoing.clone(), Arc::clone(&self.running));
        let (key, pending) = (id.clone(), self.pending.clone());
        // The entry is made before the task can remove it: the lock is held while the task starts.
        let mut entries = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let task = tokio::spawn(async move {
            let outcome = answer(answers, &method, &params).await;
            let entry = running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&id);
            // Whoever takes the entry replies; a cancellation may have been first.
            if entry.is_some() {
                let text = reply(&id, outcome);
                let refused = pending.check(text.len() as u64).err();
                send(&outgoing, refused.map_or(text, |refused| reply(&id, Err(too_large(refused))))).await;
            }
        });
        entries.insert(key, task.abort_handle());
    }

    /// Ends the answer to a request that the server cancelled, and says so to the server.
    pub(crate) fn cancel(&self, params: &RawValue) {
        let Some(id) = cancelled_id(params) else { return };
        let task = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&id);
        let Some(task) = task else { return };
        task.abort();
        let error = RpcError { code: -32800, message: "request was cancelled".into(), data: kind("requestCancelled") };
        let (outgoing, text) = (self.outgoing.clone(), reply(&id, Err(error)));
        tokio::spawn(async move { send(&outgoing, text).await });
    }

    /// Ends all answers: nobody is left to read them.
    pub(crate) fn end(&self) {
        let tasks = std::mem::take(&mut *self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
        tasks.values().for_each(AbortHandle::abort);
    }
}

async fn answer(answers: Option<Arc<dyn Answers>>, method: &str, params: &RawValue) -> Result<Value, RpcError> {
    match answers {
        Some(answers) => answers.answer(method, params).await,
        None => Err(unanswered(method)),
    }
}

/// A server that is gone needs no answer, so a closed channel is not an error here.
async fn send(outgoing: &mpsc::WeakSender<String>, text: String) {
    if let Some(outgoing) = outgoing.upgrade() {
        let _gone = outgoing.send(text).await;
    }
}

fn reply(id: &str, outcome: Result<Value, RpcError>) -> String {
    let body = match outcome {
        Ok(result) => format!("\"result\":{result}"),
        Err(error) => format!("\"error\":{}", json!(error)),
    };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},{body}}}")
}

/// In the place of an answer that the server would not read.
fn too_large(refused: MessageTooLarge) -> RpcError {
    RpcError::new(-32603, format!("client cannot send its answer: {refused}"))
}

fn kind(name: &str) -> Option<Value> {
    Some(json!({ "kind": name }))
}

fn cancelled_id(params: &RawValue) -> Option<String> {
    let params: Value = serde_json::from_str(params.get()).ok()?;
    to_raw_value(params.get("id")?).ok().map(|raw| raw.get().to_owned())
}
