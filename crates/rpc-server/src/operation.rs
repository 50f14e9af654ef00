//! What compactions and branch summaries have in common while they run.

use std::sync::Arc;

use compaction_core::json::RawObject;
use serde_json::{Value, json};
use tokio::sync::OwnedRwLockWriteGuard;

use crate::call::CallContext;
use crate::errors::RpcError;
use crate::server::Server;
use crate::session::{OpenSession, OperationGuard, Slot};
use crate::summarizers::{Occasion, Summarizer, SummaryJob, SummaryText};
use crate::wire::{FreeObject, OperationPhase, OperationProgress};

/// A summary operation that runs: who writes, and how the client hears of it.
pub(crate) struct SummaryOperation {
    /// The server.
    pub(crate) server: Arc<Server>,
    /// The claim on the session.
    pub(crate) guard: OperationGuard,
    /// The session's id.
    pub(crate) session_id: String,
    /// Who writes.
    pub(crate) summarizer: Arc<dyn Summarizer>,
    /// Name of the progress notification.
    pub(crate) progress: &'static str,
}

impl SummaryOperation {
    /// The operation that `call` has claimed a session for. It is cancelled from the start if the
    /// call was aborted while it waited for its turn.
    pub(crate) fn begun(
        call: &CallContext,
        session_id: &str,
        guard: OperationGuard,
        summarizer: Arc<dyn Summarizer>,
        progress: &'static str,
    ) -> Self {
        if call.was_aborted() {
            guard.cancel.cancel();
        }
        let server = Arc::clone(&call.server);
        Self { server, guard, session_id: session_id.to_owned(), summarizer, progress }
    }

    /// Writes the summaries of `jobs` in order, telling the client before each. One after the
    /// other, because some servers of models take one request at a time.
    pub(crate) async fn summarize(&self, jobs: Vec<SummaryJob>) -> Result<Vec<SummaryText>, RpcError> {
        let requests = jobs.len() as u32;
        let occasion = self.occasion();
        let mut summaries = Vec::new();
        for (position, job) in jobs.into_iter().enumerate() {
            self.tell(OperationPhase::Summarizing, position as u32 + 1, requests);
            let writing = self.summarizer.summarize(job, &occasion);
            let summary = self.unless_cancelled(writing).await?;
            checked(&summary.text)?;
            summaries.push(summary);
        }
        self.tell(OperationPhase::Committing, requests, requests);
        Ok(summaries)
    }

    /// Runs `work`, or drops it and fails with `requestCancelled` when the operation is cancelled.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, RpcError>>,
    ) -> Result<T, RpcError> {
        tokio::select! {
            biased;
            () = self.guard.cancel.cancelled() => Err(RpcError::Cancelled),
            outcome = work => outcome,
        }
    }

    /// Waits for the turn to change the session.
    pub(crate) async fn session_turn(&self) -> Result<(Arc<OpenSession>, OwnedRwLockWriteGuard<Slot>), RpcError> {
        let not_open = || RpcError::SessionNotOpen { session_id: self.session_id.clone() };
        let session = self.server.sessions.get(&self.session_id).ok_or_else(not_open)?;
        let slot = Arc::clone(&session.slot);
        let guard = self.unless_cancelled(async { Ok(slot.write_owned().await) }).await?;
        Ok((session, guard))
    }

    fn occasion(&self) -> Occasion {
        Occasion {
            server: Arc::clone(&self.server),
            session_id: self.session_id.clone(),
            operation_id: self.guard.id.clone(),
            cancel: self.guard.cancel.clone(),
        }
    }

    fn tell(&self, phase: OperationPhase, request: u32, requests: u32) {
        let wants_progress = self.server.configuration().is_ok_and(|configuration| configuration.wants_progress);
        if !wants_progress {
            return;
        }
        let progress = OperationProgress {
            session_id: self.session_id.clone(),
            operation_id: self.guard.id.clone(),
            phase,
            request,
            requests,
            output_tokens: 0,
            delta: None,
        };
        self.server.notify(self.progress, &progress);
    }
}

/// A summary that says nothing must never stand in the place of what was said.
pub(crate) fn checked(summary: &str) -> Result<(), RpcError> {
    match summary.trim().is_empty() {
        true => Err(RpcError::SummaryRejected { reason: "it is empty".to_owned() }),
        false => Ok(()),
    }
}

/// What two requests cost together: numbers are added, at any depth.
pub(crate) fn sum_usage(first: Option<Value>, second: Option<Value>) -> Option<Value> {
    let (Some(first), Some(second)) = (&first, &second) else {
        return first.or(second);
    };
    Some(match (first, second) {
        (Value::Object(left), Value::Object(right)) => {
            let mut sum = left.clone();
            for (key, value) in right {
                let added = sum_usage(sum.remove(key), Some(value.clone()));
                sum.insert(key.clone(), added.unwrap_or_default());
            }
            Value::Object(sum)
        }
        (left, right) => match (left.as_u64(), right.as_u64(), left.as_f64(), right.as_f64()) {
            (Some(left), Some(right), ..) => json!(left.saturating_add(right)),
            (_, _, Some(left), Some(right)) => json!(left + right),
            _ => right.clone(),
        },
    })
}

/// The `details` of a summary entry as JSON: files, what the project adds, what the client gave, as
/// it was written. The client's own members win, but for lists of files that are none, which later
/// summaries build on.
pub(crate) fn details(
    files: &compaction_core::entry::FileLists,
    own: &Value,
    given: Option<&FreeObject>,
    path: &str,
) -> Result<String, RpcError> {
    let mut details = RawObject::default();
    details.set("compactd", own.to_string());
    let given = given.map(|given| RawObject::parse(given.get())).transpose();
    let given = given.map_err(|_| RpcError::invalid_params(path, "an object"))?.unwrap_or_default();
    let members: Vec<(String, String)> = given.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    for (key, value) in &members {
        details.set(key, value.as_str());
    }
    for (key, paths) in [("readFiles", &files.read_files), ("modifiedFiles", &files.modified_files)] {
        if !details.get(key).is_some_and(|list| list.starts_with('[')) {
            details.set(key, json!(paths).to_string());
        }
    }
    Ok(details.to_json())
}

/// The usage that a client gave; must be an object.
pub(crate) fn usage(given: Option<&FreeObject>, path: &str) -> Result<Option<String>, RpcError> {
    let Some(usage) = given else {
        return Ok(None);
    };
    match usage.get().starts_with('{') {
        true => Ok(Some(usage.get().to_owned())),
        false => Err(RpcError::invalid_params(path, "an object")),
    }
}
