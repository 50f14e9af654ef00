//! What compactions and branch summaries have in common while they run.

use std::sync::Arc;
use std::time::Duration;

use compaction_core::file_operations::FileOperations;
use compaction_core::json::RawObject;
use compaction_core::tokens::estimate_text;
use serde_json::{Value, json};
use tokio::sync::OwnedRwLockWriteGuard;
use tokio::time::Instant;

use crate::call::CallContext;
use crate::errors::RpcError;
use crate::progress::Progress;
use crate::redaction::Redactor;
use crate::server::Server;
use crate::session::{OpenSession, OperationGuard, Slot};
use crate::settings::Settings;
use crate::summarizers::{Chain, Occasion, Redactions, Summarizer, SummaryJob, SummaryText};
use crate::wire::{FreeObject, SummarizerFailure, Usage};

/// A summary operation that runs: who writes, until when, and how the client hears of it.
pub(crate) struct SummaryOperation {
    /// The server.
    pub(crate) server: Arc<Server>,
    /// The claim on the session.
    pub(crate) guard: OperationGuard,
    /// The session's id.
    pub(crate) session_id: String,
    /// Who writes; the next one where one fails.
    pub(crate) chain: Chain,
    /// Takes secrets out of what is told, unless the settings say otherwise.
    pub(crate) redactor: Option<Arc<Redactor>>,
    /// Name of the progress notification.
    progress: &'static str,
    deadline: Instant,
    time: Duration,
}

/// Summaries that were written, one for each job.
pub(crate) struct WrittenSummaries {
    /// In the order of the jobs.
    pub(crate) summaries: Vec<SummaryText>,
    /// Name of the summarizer that wrote them.
    pub(crate) summarizer: String,
    /// Those that were asked before it, and why they did not.
    pub(crate) failures: Vec<SummarizerFailure>,
    /// What these cost.
    pub(crate) failed_usage: Option<Value>,
}

impl SummaryOperation {
    /// The operation that `call` has claimed a session for. It is cancelled from the start if the
    /// call was aborted while it waited for its turn.
    pub(crate) fn begun(
        call: &CallContext,
        session_id: &str,
        guard: OperationGuard,
        chain: Chain,
        progress: &'static str,
        settings: &Settings,
    ) -> Self {
        if call.was_aborted() {
            guard.cancel.cancel();
        }
        Self::of_server(&call.server, session_id, guard, chain, progress, settings)
    }

    /// An operation that the server began by itself.
    pub(crate) fn of_server(
        server: &Arc<Server>,
        session_id: &str,
        guard: OperationGuard,
        chain: Chain,
        progress: &'static str,
        settings: &Settings,
    ) -> Self {
        let time = settings.deadline();
        // Made once in the life of the server, which is no time of this operation.
        let redactor = settings.redaction().redactor();
        let deadline = Instant::now() + time;
        let (server, session_id) = (Arc::clone(server), session_id.to_owned());
        Self { server, guard, session_id, chain, redactor, progress, deadline, time }
    }

    /// Writes the summaries of `jobs` by the first summarizer of the chain that can, in order: one
    /// after the other, because some servers of models take one request at a time.
    pub(crate) async fn summarize(&self, jobs: &[SummaryJob]) -> Result<WrittenSummaries, RpcError> {
        let progress = Progress::new(
            &self.server,
            self.progress,
            &self.session_id,
            &self.guard.id,
            u32::try_from(jobs.len()).unwrap_or(u32::MAX),
        );
        let progress = match &self.redactor {
            Some(redactor) => progress.without_secrets(Arc::clone(redactor)),
            None => progress,
        };
        let occasion = self.occasion(Arc::new(progress));
        let mut failures = Vec::new();
        let mut last = None;
        for summarizer in &self.chain {
            let (requests, failed_usage) = (occasion.progress.requests_begun(), occasion.progress.usage());
            match self.summarize_by(&**summarizer, jobs, &occasion).await {
                Ok(summaries) => {
                    occasion.progress.committing();
                    return Ok(WrittenSummaries {
                        summaries,
                        summarizer: summarizer.name().to_owned(),
                        failures,
                        failed_usage,
                    });
                }
                Err(RpcError::Cancelled) => return Err(RpcError::Cancelled),
                Err(error) => {
                    let requests = occasion.progress.requests_begun() - requests;
                    let error = error.with_attempts(requests);
                    failures.push(failure(summarizer.name(), &error, requests));
                    last = Some(error);
                }
            }
        }
        Err(match last {
            Some(error) if failures.len() == 1 => error,
            last => {
                let retryable = last.is_some_and(|error| error.data()["retryable"] == true);
                RpcError::EverySummarizerFailed { failures, retryable }
            }
        })
    }

    async fn summarize_by(
        &self,
        summarizer: &dyn Summarizer,
        jobs: &[SummaryJob],
        occasion: &Occasion,
    ) -> Result<Vec<SummaryText>, RpcError> {
        if summarizer.is_local() {
            return self.summarize_here(summarizer, jobs, occasion).await;
        }
        let mut summaries = Vec::new();
        for job in jobs {
            let summary = self.in_time(summarizer.summarize(job.clone(), occasion)).await?;
            checked(&summary.text)?;
            summaries.push(summary);
        }
        Ok(summaries)
    }

    /// As [`Self::summarize_by`], by what works here: it needs no time from others, and is the way out when theirs
    /// is over. The beginning of a turn is told first, so that the history takes the room that it leaves.
    async fn summarize_here(
        &self,
        summarizer: &dyn Summarizer,
        jobs: &[SummaryJob],
        occasion: &Occasion,
    ) -> Result<Vec<SummaryText>, RpcError> {
        let mut summaries = Vec::new();
        let mut left = 0;
        for job in jobs.iter().rev() {
            let room = job.local_tokens.saturating_add(left);
            let job = SummaryJob { local_tokens: room, ..job.clone() };
            let summary = self.unless_cancelled(summarizer.summarize(job, occasion)).await?;
            checked(&summary.text)?;
            left = room.saturating_sub(estimate_text(&summary.text));
            summaries.push(summary);
        }
        summaries.reverse();
        Ok(summaries)
    }

    /// Runs `work`, or drops it and fails with `requestCancelled` when the operation is cancelled,
    /// with `summarizerFailed` when its time is over.
    pub(crate) async fn in_time<T>(&self, work: impl Future<Output = Result<T, RpcError>>) -> Result<T, RpcError> {
        let passed = || RpcError::DeadlinePassed { milliseconds: self.time.as_millis(), attempts: 0 };
        let limited = async { tokio::time::timeout_at(self.deadline, work).await.unwrap_or_else(|_| Err(passed())) };
        self.unless_cancelled(limited).await
    }

    /// Runs `work`, or drops it and fails with `requestCancelled` when the operation is cancelled.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, RpcError>>,
    ) -> Result<T, RpcError> {
        self.guard.unless_cancelled(work).await
    }

    /// Waits for the turn to change the session.
    pub(crate) async fn session_turn(&self) -> Result<(Arc<OpenSession>, OwnedRwLockWriteGuard<Slot>), RpcError> {
        let not_open = || RpcError::SessionNotOpen { session_id: self.session_id.clone() };
        let session = self.server.sessions.get(&self.session_id).ok_or_else(not_open)?;
        let slot = Arc::clone(&session.slot);
        let guard = self.unless_cancelled(async { Ok(slot.write_owned().await) }).await?;
        Ok((session, guard))
    }

    fn occasion(&self, progress: Arc<Progress>) -> Occasion {
        Occasion {
            server: Arc::clone(&self.server),
            session_id: self.session_id.clone(),
            operation_id: self.guard.id.clone(),
            cancel: self.guard.cancel.clone(),
            deadline: self.deadline,
            progress,
        }
    }
}

/// Why a summarizer did not write, after at least so many `requests`.
fn failure(summarizer: &str, error: &RpcError, requests: u32) -> SummarizerFailure {
    let attempts = error.data()["attempts"].as_u64().and_then(|attempts| u32::try_from(attempts).ok());
    SummarizerFailure {
        summarizer: summarizer.to_owned(),
        kind: error.kind().to_owned(),
        cause: error.to_string(),
        attempts: attempts.unwrap_or(1).max(requests),
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

/// Adds the secrets that were taken out on the way to summaries.
pub(crate) fn add_redactions(redactions: &mut Redactions, summaries: &[SummaryText]) {
    for (rule, count) in summaries.iter().flat_map(|summary| &summary.redactions) {
        *redactions.entry(rule.clone()).or_default() += count;
    }
}

/// The `details` of a summary entry as JSON: files, what the project adds, what the client gave, as
/// it was written. Files that the lists have no room for are counted. The client's own members win, but for lists of files that are none, which later
/// summaries build on.
pub(crate) fn details(
    operations: &FileOperations,
    own: &str,
    given: Option<&FreeObject>,
    path: &str,
) -> Result<String, RpcError> {
    let files = operations.stored_lists();
    let mut details = RawObject::default();
    match RawObject::parse(own) {
        Ok(mut own) if files.left_out > 0 => {
            own.set("filesLeftOut", files.left_out.to_string());
            details.set("compactd", own.to_json());
        }
        _ => details.set("compactd", own),
    }
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

/// The usage that a client gave, as it was written.
pub(crate) fn usage(given: Option<&Usage>) -> Option<String> {
    given.map(|usage| usage.get().to_owned())
}

#[cfg(test)]
mod tests {
    use compaction_core::entry::FileLists;
    use compaction_core::file_operations::MAX_LISTED_FILES;

    use super::*;

    #[test]
    fn details_count_the_files_that_they_leave_out() {
        let mut operations = FileOperations::default();
        let paths = |count: usize| (0..count).map(|number| format!("src/{number:05}.rs")).collect::<Vec<_>>();
        let own = r#"{"summarizer":"extractive"}"#;
        operations.add_lists(&FileLists { read_files: paths(MAX_LISTED_FILES), ..FileLists::default() });
        let whole = details(&operations, own, None, "details").unwrap();
        assert_eq!(RawObject::parse(&whole).unwrap().get("compactd"), Some(own));
        operations.add_lists(&FileLists { read_files: paths(MAX_LISTED_FILES + 3), ..FileLists::default() });
        let bounded = details(&operations, own, None, "details").unwrap();
        let value: Value = serde_json::from_str(&bounded).unwrap();
        assert_eq!(value["readFiles"].as_array().unwrap().len(), MAX_LISTED_FILES);
        assert_eq!(value["compactd"], json!({ "summarizer": "extractive", "filesLeftOut": 3 }));
        let read = FileLists::from_details(&bounded);
        assert_eq!((read.left_out, read.read_files), (3, paths(MAX_LISTED_FILES + 3).split_off(3)));
    }
}
