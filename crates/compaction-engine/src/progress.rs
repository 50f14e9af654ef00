//! Progress events of a running operation, with the text of the summary as it arrives.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use compaction_core::text::utf16_len;
use serde_json::Value;

use crate::host::{Event, Host, OperationKind, OperationPhase, OperationProgress};
use crate::models::{RequestContext, sum_usage};
use crate::redaction::{RedactedStream, Redactor};

/// Text is gathered for this long, so that a fast model does not flood the host with events.
const GATHER: Duration = Duration::from_millis(40);

/// Reports the progress of one operation to the host.
#[derive(Debug)]
pub(crate) struct Progress {
    host: Arc<dyn Host>,
    operation: OperationKind,
    context: RequestContext,
    is_wanted: bool,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    request: u32,
    requests: u32,
    /// The usage of all answers.
    usage: Option<Value>,
    /// UTF-16 units of the answer so far.
    units: usize,
    /// Text that was not sent yet. A line is sent only when no secret can continue after it.
    pending: RedactedStream,
    last_sent: Instant,
}

impl Progress {
    /// Progress of an operation that is expected to make `requests` requests.
    pub(crate) fn new(
        host: &Arc<dyn Host>,
        operation: OperationKind,
        context: &RequestContext,
        requests: u32,
        redactor: Option<Arc<Redactor>>,
    ) -> Self {
        Self {
            host: Arc::clone(host),
            operation,
            context: context.clone(),
            is_wanted: host.wants_progress(),
            state: Mutex::new(State {
                request: 0,
                requests,
                usage: None,
                units: 0,
                pending: RedactedStream::new(redactor),
                last_sent: Instant::now(),
            }),
        }
    }

    /// Raises the number of expected requests.
    pub(crate) fn add_requests(&self, more: u32) {
        let mut state = self.lock();
        state.requests = state.requests.saturating_add(more);
    }

    /// Number of requests that were begun.
    pub(crate) fn requests_begun(&self) -> u32 {
        self.lock().request
    }

    /// Adds the usage of an answer, even if the answer is rejected.
    pub(crate) fn spent(&self, usage: Option<Value>) {
        let mut state = self.lock();
        state.usage = sum_usage(state.usage.take(), usage);
    }

    /// The usage of all answers so far.
    pub(crate) fn usage(&self) -> Option<Value> {
        self.lock().usage.clone()
    }

    /// Begins the next request.
    pub(crate) fn begin_request(&self) {
        let mut state = self.lock();
        state.request = state.request.saturating_add(1);
        state.requests = state.requests.max(state.request);
        state.units = 0;
        state.pending.clear();
        self.notify(&mut state, OperationPhase::Summarizing, None);
    }

    /// Adds a piece of the answer. It is sent a little later, or together with the next one, so that no queue builds
    /// up for a host that does not read.
    pub(crate) fn delta(&self, text: &str) {
        if !self.is_wanted || text.is_empty() {
            return;
        }
        let mut state = self.lock();
        state.units += utf16_len(text);
        state.pending.push(text);
        if state.last_sent.elapsed() >= GATHER && self.host.has_room() {
            let delta = state.pending.take(false);
            if !delta.is_empty() {
                self.notify(&mut state, OperationPhase::Summarizing, Some(delta));
            }
        }
    }

    /// Ends the answer and sends the rest of its text.
    pub(crate) fn end_request(&self) {
        let mut state = self.lock();
        let delta = state.pending.take(true);
        if !delta.is_empty() {
            self.notify(&mut state, OperationPhase::Summarizing, Some(delta));
        }
    }

    /// Reports that the operation waits before a retry.
    pub(crate) fn waiting(&self) {
        self.notify(&mut self.lock(), OperationPhase::Waiting, None);
    }

    /// Reports that the entry is being written.
    pub(crate) fn committing(&self) {
        let mut state = self.lock();
        state.request = state.requests;
        state.units = 0;
        self.notify(&mut state, OperationPhase::Committing, None);
    }

    fn notify(&self, state: &mut State, phase: OperationPhase, delta: Option<String>) {
        if !self.is_wanted {
            return;
        }
        state.last_sent = Instant::now();
        let RequestContext { session_id, operation_id } = self.context.clone();
        let progress = OperationProgress {
            operation: self.operation,
            session_id,
            operation_id,
            phase,
            request: state.request.max(1),
            requests: state.requests,
            output_tokens: state.units.div_ceil(4) as u64,
            delta,
        };
        self.host.notify(Event::Progress(progress));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
