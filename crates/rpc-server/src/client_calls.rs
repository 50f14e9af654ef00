//! Requests from the server to its client: summaries by the host's own model, and hooks
//! (protocol/README.md, "Requests of the server").

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use compaction_core::json::RawObject;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::transport::{Answer, Outbound, RawId};

/// Why a request to the client has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientCallError {
    /// The client answered with an error.
    #[error("the client answered with an error: {message}")]
    Refused {
        /// Its message, or the whole error where it has none.
        message: String,
    },
    /// The client sent an answer that says nothing.
    #[error("the client answered without a result and without an error")]
    Empty,
    /// The client did not answer in time.
    #[error("the client did not answer within {milliseconds} ms")]
    TimedOut {
        /// How long it had.
        milliseconds: u128,
    },
}

type Outcome = Result<Box<RawValue>, ClientCallError>;

/// Requests that wait for the client.
#[derive(Debug, Default)]
pub struct ClientCalls {
    waiting: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
    last: AtomicU64,
}

impl ClientCalls {
    /// Asks the client and waits for its answer. Dropping the future, or running out of time, tells
    /// the client by `$/cancelRequest` that nobody waits any more.
    pub async fn ask<P: Serialize>(
        &self,
        outbound: &Outbound,
        method: &str,
        params: &P,
        limit: Duration,
    ) -> Result<Box<RawValue>, ClientCallError> {
        let params = serde_json::to_string(params).map_err(|error| refused(error.to_string()))?;
        let id = format!("\"compactd-{}\"", self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let (sender, receiver) = oneshot::channel();
        self.lock().insert(id.clone(), sender);
        let waiting = Waiting { calls: self, outbound, id: &id };
        outbound.push(format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"));
        let answer = tokio::time::timeout(limit, receiver).await;
        match answer {
            Err(_) => Err(ClientCallError::TimedOut { milliseconds: limit.as_millis() }),
            Ok(Err(_)) => Err(refused("the request was dropped".to_owned())),
            Ok(Ok(outcome)) => {
                waiting.answered();
                outcome
            }
        }
    }

    /// Hands an answer of the client to whoever waits for it; whether somebody does.
    pub fn answer(&self, answer: Answer) -> bool {
        let outcome = answer.outcome.map_err(|error| refused(message_of(&error)));
        answer.id.is_some_and(|id| self.end(&id, outcome))
    }

    /// The same for an answer that has neither a result nor an error.
    pub fn answer_nothing(&self, id: &RawId) -> bool {
        self.end(id, Err(ClientCallError::Empty))
    }

    fn end(&self, id: &RawId, outcome: Outcome) -> bool {
        let waiting = self.lock().remove(id.get());
        waiting.is_some_and(|waiting| waiting.send(outcome).is_ok())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, oneshot::Sender<Outcome>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that is on its way; if it ends without an answer, the client is told.
struct Waiting<'a> {
    calls: &'a ClientCalls,
    outbound: &'a Outbound,
    id: &'a str,
}

impl Waiting<'_> {
    /// The answer is here, and nothing waits under the id any more.
    fn answered(self) {}
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.calls.lock().remove(self.id).is_some() {
            let id = self.id;
            self.outbound
                .push(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"$/cancelRequest\",\"params\":{{\"id\":{id}}}}}"));
        }
    }
}

fn refused(message: String) -> ClientCallError {
    ClientCallError::Refused { message }
}

fn message_of(error: &RawValue) -> String {
    let message = RawObject::parse(error.get()).ok().and_then(|members| members.string("message"));
    message.unwrap_or_else(|| error.get().to_owned())
}
