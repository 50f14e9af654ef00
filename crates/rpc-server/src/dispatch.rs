//! From messages to calls: ids, batches, cancellation, limits and panics.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use jsonrpsee::core::server::{MethodCallback, Methods};
use jsonrpsee::types::{Id, Params};
use jsonrpsee::{ConnectionId, Extensions, MethodResponse, RpcModule};
use tokio_util::sync::CancellationToken;

use crate::call::CallContext;
use crate::call::{RoutingParams, Ticket};
use crate::errors::RpcError;
use crate::methods::{self, Scope};
use crate::server::Server;
use crate::transport::{Call, Incoming, Outbound, Part, RawId};
use crate::unknown;
use crate::wire::{CancelParams, NoParams};

/// Maximum number of requests that run or wait.
const MAX_REQUESTS: usize = 1024;
/// Maximum number of bytes of their parameters.
const MAX_REQUEST_BYTES: usize = 256 * 1024 * 1024;

/// Time that running requests get to end before a `shutdown`.
const OPERATIONS_END: Duration = Duration::from_secs(5);

/// Serves messages with the registered methods.
#[derive(Debug)]
pub struct Dispatcher {
    server: Arc<Server>,
    outbound: Outbound,
    methods: Methods,
    running: Arc<Running>,
}

/// A message's effect on the server's loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Nothing.
    None,
    /// The client sent `exit`. It is a notification; if it comes as a request, it is answered.
    Exit,
}

#[derive(Debug, Default)]
struct Running {
    /// Requests that can be cancelled. If a client uses an id twice at once, the id names both.
    by_id: Mutex<HashMap<RawId, Vec<Arc<CancellationToken>>>>,
    count: AtomicUsize,
    bytes: AtomicUsize,
    ended: tokio::sync::Notify,
}

impl Dispatcher {
    /// A dispatcher for all methods.
    pub fn new(server: Arc<Server>, outbound: Outbound) -> anyhow::Result<Self> {
        let mut module = RpcModule::new(());
        methods::register(&mut module)?;
        Ok(Self { server, outbound, methods: module.into(), running: Arc::default() })
    }

    /// Starts the calls of a message in the order of arrival. Waits only for calls that all later calls depend on.
    pub async fn accept(&self, incoming: Incoming) -> Signal {
        match incoming {
            Incoming::Single(part) => self.accept_part(part, &Reply::Single(self.outbound.clone())).await,
            Incoming::Batch(parts) => {
                let batch = Arc::new(Batch::new(self.outbound.clone(), parts.len()));
                let mut signal = Signal::None;
                for part in parts {
                    let accepted = self.accept_part(part, &Reply::Batch(Arc::clone(&batch))).await;
                    signal = if accepted == Signal::Exit { accepted } else { signal };
                }
                signal
            }
        }
    }

    /// Number of requests that run or wait.
    pub fn running(&self) -> usize {
        self.running.count.load(Ordering::Acquire)
    }

    /// Waits until no request runs or waits.
    pub async fn idle(&self) {
        loop {
            let ended = self.running.ended.notified();
            if self.running() == 0 {
                return;
            }
            ended.await;
        }
    }

    async fn accept_part(&self, part: Part, reply: &Reply) -> Signal {
        match part {
            Part::Call(call) if call.method == "exit" => {
                reply.send(call.id.as_ref().map(|id| result_reply(id, "null")));
                return Signal::Exit;
            }
            Part::Call(call) if call.method == "$/cancelRequest" => self.cancel(&call, reply),
            Part::Call(call) => self.start(call, reply.clone()).await,
            Part::Invalid(id, error) => reply.send(Some(error_reply(id.as_ref(), &error))),
            Part::Empty(id) if self.server.client_calls.answer_nothing(&id) => reply.send(None),
            Part::Empty(id) => {
                reply.send(Some(error_reply(Some(&id), &RpcError::invalid_request("method is missing"))));
            }
            Part::Answer(answer) => {
                let id = answer.id.clone();
                if !self.server.client_calls.answer(answer) {
                    tracing::debug!(
                        id = id.as_ref().map_or("null", RawId::get),
                        "an answer to no request was passed over"
                    );
                }
                reply.send(None);
            }
        }
        Signal::None
    }

    fn cancel(&self, call: &Call, reply: &Reply) {
        let outcome = call.params.read::<CancelParams>();
        let cancelled = outcome.map(|params| self.running.cancel(params.id.0.get()));
        let Some(id) = &call.id else {
            return reply.send(None);
        };
        reply.send(Some(match cancelled {
            Ok(()) => result_reply(id, "null"),
            Err(error) => error_reply(Some(id), &error),
        }));
    }

    async fn start(&self, call: Call, reply: Reply) {
        let id = call.id.clone();
        // A call that will be refused must not end anything.
        if call.method == "shutdown"
            && self.check_lifecycle("shutdown").is_ok()
            && call.params.read::<NoParams>().is_ok()
        {
            self.end_operations().await;
        }
        match self.prepare(call, matches!(reply, Reply::Batch(_))) {
            Err(error) => reply.send(id.map(|id| error_reply(Some(&id), &error))),
            Ok((scope, future)) => {
                let outbound = self.outbound.clone();
                let task = tokio::spawn(async move {
                    reply.send(future.await);
                    outbound.flush();
                });
                if scope == Scope::Barrier {
                    // The task has turned a panic into a reply.
                    let _ = task.await;
                }
            }
        }
    }

    /// Ends everything that runs before `shutdown` is served, so that its reply is the last one.
    async fn end_operations(&self) {
        // Operations that have not begun end as soon as they begin.
        self.server.closing.cancel();
        self.server.abort_operations();
        let ending = async {
            self.idle().await;
            self.server.operations_ended().await;
        };
        if tokio::time::timeout(OPERATIONS_END, ending).await.is_err() {
            tracing::warn!(running = self.running(), "requests did not end before the shutdown");
        }
    }

    /// Checks a call and queues it.
    fn prepare(
        &self,
        call: Call,
        is_in_batch: bool,
    ) -> Result<(Scope, impl Future<Output = Option<String>> + Send + 'static + use<>), RpcError> {
        self.check_lifecycle(&call.method)?;
        let Some(((method, scope), MethodCallback::Async(callback))) =
            methods::find(&call.method).zip(self.methods.method(&call.method).cloned())
        else {
            let nearest = unknown::nearest(&call.method, methods::METHODS.iter().map(|(name, _)| *name));
            return Err(RpcError::MethodNotFound { method: call.method, nearest });
        };
        let (routing, bytes) = (RoutingParams::of(&call.params), call.params.bytes());
        // A `shutdown` has ended everything that ran, so it must not be refused any more.
        if call.method != "shutdown" {
            self.running.check_room(bytes)?;
        }
        let admission = Running::admit(&self.running, call.id.clone(), bytes, &self.server.end);
        let pending = routing.operation(&call.method, &self.server);
        let target = routing.target(&call.method, &self.server);
        let ticket = Ticket::take(&self.server, scope, routing.session_id, target);
        let (server, cancel, id) = (Arc::clone(&self.server), admission.cancel.as_ref().clone(), call.id.clone());
        let context = CallContext::new(server, method, cancel, ticket, pending, is_in_batch, id, call.params);
        let mut extensions = Extensions::new();
        extensions.insert(context.clone());
        let outbound = self.outbound.clone();
        let serve = async move {
            outbound.ready().await;
            let id = admission.id.clone();
            let response = callback(Id::Number(0), Params::new(None), ConnectionId(0), usize::MAX, extensions);
            let response = AssertUnwindSafe(response).catch_unwind().await;
            drop(admission);
            let id = id?;
            Some(match response {
                Ok(response) => context.take_reply().unwrap_or_else(|| reply_from(&id, &response)),
                Err(_) => error_reply(Some(&id), &RpcError::internal("the handler panicked")),
            })
        };
        Ok((scope, serve))
    }

    fn check_lifecycle(&self, method: &str) -> Result<(), RpcError> {
        if self.server.is_shut_down() {
            return Err(RpcError::invalid_request("the server was shut down; only exit may follow"));
        }
        if self.server.configuration().is_err() && !matches!(method, "initialize" | "rpc.discover" | "ping") {
            return Err(RpcError::NotInitialized);
        }
        Ok(())
    }
}

/// A request that was admitted. Dropping it makes room for another one.
struct Admission {
    running: Arc<Running>,
    id: Option<RawId>,
    bytes: usize,
    cancel: Arc<CancellationToken>,
}

impl Running {
    /// Fails if there is no room for a request with parameters of `bytes` bytes.
    fn check_room(&self, bytes: usize) -> Result<(), RpcError> {
        let waiting = self.count.load(Ordering::Acquire);
        let held = self.bytes.load(Ordering::Acquire).saturating_add(bytes);
        match waiting >= MAX_REQUESTS || (waiting > 0 && held > MAX_REQUEST_BYTES) {
            true => Err(RpcError::ServerBusy { waiting, limit: MAX_REQUESTS }),
            false => Ok(()),
        }
    }

    fn admit(running: &Arc<Self>, id: Option<RawId>, bytes: usize, end: &CancellationToken) -> Admission {
        running.count.fetch_add(1, Ordering::AcqRel);
        running.bytes.fetch_add(bytes, Ordering::AcqRel);
        let cancel = Arc::new(end.child_token());
        if let Some(id) = &id {
            running.lock().entry(id.clone()).or_default().push(Arc::clone(&cancel));
        }
        Admission { running: Arc::clone(running), id, bytes, cancel }
    }

    fn cancel(&self, id: &str) {
        let tokens = RawId::parse(id).and_then(|id| self.lock().get(&id).cloned());
        for token in tokens.into_iter().flatten() {
            token.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RawId, Vec<Arc<CancellationToken>>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            let mut by_id = self.running.lock();
            if by_id.get_mut(id).is_some_and(|tokens| {
                tokens.retain(|token| !Arc::ptr_eq(token, &self.cancel));
                tokens.is_empty()
            }) {
                by_id.remove(id);
            }
        }
        self.running.bytes.fetch_sub(self.bytes, Ordering::AcqRel);
        self.running.count.fetch_sub(1, Ordering::AcqRel);
        self.running.ended.notify_waiters();
    }
}

/// The destination of a reply.
#[derive(Debug, Clone)]
enum Reply {
    Single(Outbound),
    Batch(Arc<Batch>),
}

impl Reply {
    /// Sends a reply, if there is one.
    fn send(&self, reply: Option<String>) {
        match self {
            Reply::Single(outbound) => {
                if let Some(reply) = reply {
                    outbound.push(reply);
                }
            }
            Reply::Batch(batch) => batch.add(reply),
        }
    }
}

/// The replies to a batch. They are sent together when the last part is done.
#[derive(Debug)]
struct Batch {
    outbound: Outbound,
    state: Mutex<BatchState>,
}

#[derive(Debug)]
struct BatchState {
    missing: usize,
    replies: Vec<String>,
    /// Number of bytes of the replies.
    held: usize,
}

impl Batch {
    fn new(outbound: Outbound, parts: usize) -> Self {
        Self { outbound, state: Mutex::new(BatchState { missing: parts, replies: Vec::new(), held: 0 }) }
    }

    fn add(&self, reply: Option<String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = reply.as_ref().map_or(0, String::len);
        self.outbound.hold(bytes);
        state.held += bytes;
        state.replies.extend(reply);
        state.missing -= 1;
        if state.missing == 0 && !state.replies.is_empty() {
            let replies = std::mem::take(&mut state.replies);
            self.outbound.push_held(format!("[{}]", replies.join(",")), state.held);
        }
    }
}

fn result_reply(id: &RawId, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{result}}}", id.get())
}

fn error_reply(id: Option<&RawId>, error: &RpcError) -> String {
    let id = id.map_or("null", RawId::get);
    let body = serde_json::to_string(&error.to_body()).expect("an error of texts and numbers can be written");
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{body}}}")
}

/// The registry supports only some ids, so it answers under id 0. This function puts the client's own id in its place,
/// exactly as it was written.
fn reply_from(id: &RawId, response: &MethodResponse) -> String {
    const START: &str = "{\"jsonrpc\":\"2.0\",\"id\":0,";
    let json = response.as_ref();
    match json.strip_prefix(START) {
        Some(rest) => format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{rest}", id.get()),
        None => error_reply(Some(id), &RpcError::internal(format!("unexpected reply form: {json}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_can_be_cancelled_after_another_with_its_id_has_ended() {
        let (running, end) = (Arc::new(Running::default()), CancellationToken::new());
        let [first, second] = [(); 2].map(|()| Running::admit(&running, RawId::parse("7"), 0, &end));
        drop(first);
        running.cancel("7");
        assert!(second.cancel.is_cancelled());
        drop(second);
        assert!(running.lock().is_empty());
    }
}
