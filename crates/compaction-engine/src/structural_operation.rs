//! The common sequence of an operation that writes a summary: it claims a session, asks the host, has the summary
//! written, commits it, and ends.
//!
//! Compactions and navigations are such operations. Claiming and committing hold the session's lock. Between them the
//! session is free, and appends continue.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use compaction_core::file_operations::FileOperations;
use compaction_core::json::RawObject;
use compaction_core::tokens::estimate_text;
use futures_util::FutureExt as _;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::engine::Engine;
use crate::error::{EngineError, SummarizerFailure};
use crate::host::{Decision, GivenText, OperationKind};
use crate::models::{RequestContext, RequestReport, sum_usage};
use crate::redaction::{Redactions, Redactor, add_counts};
use crate::session::{OpenSession, OperationGuard, SessionAccess, change};
use crate::settings::Settings;
use crate::summarizers::Progress;
use crate::summarizers::{Chain, JobContext, Summarizer, SummaryJob, SummaryText};
use crate::tables::build_ahead;

/// The work that commits an operation while the session is locked.
pub(crate) type Commit<T> = Box<dyn FnOnce(&mut SessionAccess<'_>) -> Result<T, EngineError> + Send>;

/// An operation that has claimed its session.
#[async_trait]
pub(crate) trait Operation: Sized + Send {
    /// Its kind.
    const KIND: OperationKind;

    /// The type of the request.
    type Request;

    /// Its result.
    type Done: Clone + Send + Sync + 'static;

    /// Plans the operation that `request` asks for and notifies the host of its start.
    fn prepare(
        access: &mut SessionAccess<'_>,
        request: Self::Request,
        settings: &Settings,
        chain: &Chain,
        operation_id: &str,
    ) -> Result<Self, EngineError>;

    /// Asks the host's hook and applies its answer. Returns the result if nothing is left to write.
    async fn ask(&mut self, run: &SummaryOperation) -> Result<Option<Self::Done>, EngineError>;

    /// Writes the summary and returns the work that commits it, after the entries of other programs were read.
    async fn write(&mut self, run: &SummaryOperation) -> Result<Commit<Self::Done>, EngineError>;

    /// Records the outcome while the session is still claimed.
    async fn note(&mut self, _run: &SummaryOperation, _outcome: &Result<Self::Done, EngineError>) {}

    /// Notifies the host of the end and returns the outcome for the caller. The session is free, so that the host may
    /// start the next operation at once.
    fn end(
        self,
        engine: &Engine,
        ended: EndedClaim,
        outcome: Result<Self::Done, EngineError>,
    ) -> Result<Self::Done, EngineError>;
}

/// An operation that has claimed its session and waits to be run.
#[derive(Debug)]
#[must_use = "a begun operation must be run, because its start event needs an end event"]
pub struct Begun<O> {
    guard: OperationGuard,
    chain: Chain,
    settings: Settings,
    operation: O,
}

impl<O> Begun<O> {
    /// The id of the operation.
    pub fn operation_id(&self) -> &str {
        &self.guard.id
    }

    /// Cancels the operation. When it is run, it ends at once unless everything is already done.
    pub fn cancel(&self) {
        self.guard.cancel.cancel();
    }

    /// The session.
    pub(crate) fn session(&self) -> &Arc<OpenSession> {
        &self.guard.session
    }
}

/// A claim that has ended.
#[derive(Debug)]
pub(crate) struct EndedClaim {
    /// The id of the operation.
    pub(crate) operation_id: String,
    /// Whether the operation was cancelled and has no result.
    pub(crate) is_aborted: bool,
}

/// Claims a session and prepares an operation on it. Cancelling `parent` cancels the operation.
pub(crate) fn begin<O: Operation>(
    access: &mut SessionAccess<'_>,
    request: O::Request,
    settings: Settings,
    chain: Chain,
    parent: &CancellationToken,
) -> Result<Begun<O>, EngineError> {
    let guard = access.claim(parent)?;
    build_ahead();
    let operation = O::prepare(access, request, &settings, &chain, &guard.id)?;
    Ok(Begun { guard, chain, settings, operation })
}

/// Runs an operation to its end and notifies the host in every case. The second value is whether the operation was
/// cancelled.
pub(crate) async fn run<O: Operation>(engine: &Arc<Engine>, begun: Begun<O>) -> (Result<O::Done, EngineError>, bool) {
    let Begun { guard, chain, settings, mut operation } = begun;
    let (operation_id, cancel) = (guard.id.clone(), guard.cancel.clone());
    let run = SummaryOperation::new(engine, O::KIND, guard, chain, &settings);
    let working = AssertUnwindSafe(work(&run, &mut operation)).catch_unwind();
    let panicked = |_| Err(EngineError::internal(format!("the {} panicked", O::KIND.name())));
    let outcome = working.await.unwrap_or_else(panicked);
    operation.note(&run, &outcome).await;
    drop(run);
    let is_cancelled = cancel.is_cancelled();
    let is_aborted = is_cancelled && outcome.is_err();
    (operation.end(engine, EndedClaim { operation_id, is_aborted }, outcome), is_cancelled)
}

async fn work<O: Operation>(run: &SummaryOperation, operation: &mut O) -> Result<O::Done, EngineError> {
    if let Some(done) = operation.ask(run).await? {
        return Ok(done);
    }
    let commit = operation.write(run).await?;
    let cancel = run.guard.cancel.clone();
    let committing = move |access: &mut SessionAccess<'_>| match cancel.is_cancelled() {
        true => Err(EngineError::Cancelled),
        false => access.refresh().and_then(|()| commit(access)),
    };
    run.in_turn(committing).await
}

/// A running operation: its summarizers, its deadline and its claim.
pub(crate) struct SummaryOperation {
    /// The engine.
    pub(crate) engine: Arc<Engine>,
    /// The claim on the session.
    pub(crate) guard: OperationGuard,
    /// The summarizers; the next one is asked if one fails.
    pub(crate) chain: Chain,
    /// Removes secrets, unless the settings disable it.
    pub(crate) redactor: Option<Arc<Redactor>>,
    kind: OperationKind,
    deadline: Instant,
    time: Duration,
}

/// Finished summaries, one for each job.
pub(crate) struct WrittenSummaries {
    /// Their texts, in the order of the jobs.
    pub(crate) texts: Vec<String>,
    /// Name of the summarizer that wrote them.
    pub(crate) summarizer: String,
    /// The summarizers that failed before it.
    pub(crate) failures: Vec<SummarizerFailure>,
    /// Requests that were made, failed ones included.
    pub(crate) attempts: u32,
    /// The requests to models, one report for each summary.
    pub(crate) requests: Vec<RequestReport>,
    /// The usage of all requests as JSON, those of failed summarizers included.
    pub(crate) usage: Option<String>,
    /// Secrets that were removed while the summaries were written.
    pub(crate) redactions: Redactions,
}

impl WrittenSummaries {
    fn new(
        summarizer: &str,
        summaries: Vec<SummaryText>,
        failures: Vec<SummarizerFailure>,
        failed_usage: Option<Value>,
    ) -> Self {
        let failed: u32 = failures.iter().map(|failure| failure.attempts).sum();
        let usages = summaries.iter().map(|summary| summary.usage.clone());
        let mut redactions = Redactions::new();
        summaries.iter().for_each(|summary| add_counts(&mut redactions, &summary.redactions));
        Self {
            summarizer: summarizer.to_owned(),
            failures,
            attempts: summaries.iter().map(|summary| summary.attempts).sum::<u32>() + failed,
            requests: summaries.iter().filter_map(|summary| summary.request.clone()).collect(),
            usage: usages.fold(failed_usage, sum_usage).map(|usage| usage.to_string()),
            redactions,
            texts: summaries.into_iter().map(|summary| summary.text).collect(),
        }
    }
}

impl SummaryOperation {
    /// The operation of a claim.
    pub(crate) fn new(
        engine: &Arc<Engine>,
        kind: OperationKind,
        guard: OperationGuard,
        chain: Chain,
        settings: &Settings,
    ) -> Self {
        let time = settings.deadline();
        // The first redactor of a process takes a while to make. That time does not count.
        let redactor = settings.redaction().redactor();
        let deadline = Instant::now() + time;
        Self { engine: Arc::clone(engine), guard, chain, redactor, kind, deadline, time }
    }

    /// Writes the summaries of `jobs` by the first summarizer of the chain that succeeds. Jobs run one after the
    /// other, because some model servers take one request at a time.
    pub(crate) async fn summarize(&self, jobs: &[SummaryJob]) -> Result<WrittenSummaries, EngineError> {
        let context = RequestContext { session_id: self.guard.session.id.clone(), operation_id: self.guard.id.clone() };
        let requests = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let of_jobs = jobs.first().and_then(|job| job.redactor.clone());
        let redactor = of_jobs.or_else(|| self.redactor.clone());
        let progress = Arc::new(Progress::new(&self.engine.host, self.kind, &context, requests, redactor));
        let cancel = self.guard.cancel.clone();
        let job_context = JobContext { context, cancel, deadline: self.deadline, progress };
        let mut failures = Vec::new();
        let mut last = None;
        for summarizer in &self.chain {
            let (requests, failed_usage) = (job_context.progress.requests_begun(), job_context.progress.usage());
            match self.summarize_by(&**summarizer, jobs, &job_context).await {
                Ok(summaries) => {
                    job_context.progress.committing();
                    return Ok(WrittenSummaries::new(summarizer.name(), summaries, failures, failed_usage));
                }
                Err(EngineError::Cancelled) => return Err(EngineError::Cancelled),
                Err(error) => {
                    let requests = job_context.progress.requests_begun() - requests;
                    let error = error.with_attempts(requests);
                    failures.push(failure(summarizer.name(), &error, requests));
                    last = Some(error);
                }
            }
        }
        Err(match last {
            Some(error) if failures.len() == 1 => error,
            last => {
                let retryable = last.is_some_and(|error| error.is_retryable());
                EngineError::EverySummarizerFailed { failures, retryable }
            }
        })
    }

    async fn summarize_by(
        &self,
        summarizer: &dyn Summarizer,
        jobs: &[SummaryJob],
        job_context: &JobContext,
    ) -> Result<Vec<SummaryText>, EngineError> {
        if summarizer.is_local() {
            return self.summarize_here(summarizer, jobs, job_context).await;
        }
        let mut summaries = Vec::new();
        for job in jobs {
            let summary = self.in_time(summarizer.summarize(job.clone(), job_context)).await?;
            checked(&summary.text)?;
            summaries.push(summary);
        }
        Ok(summaries)
    }

    /// As [`Self::summarize_by`], for a local summarizer. It has no deadline, because it is the fallback when the
    /// deadline has passed. The beginning of a turn is written first, so that the history gets the room that it
    /// leaves, and no more.
    async fn summarize_here(
        &self,
        summarizer: &dyn Summarizer,
        jobs: &[SummaryJob],
        job_context: &JobContext,
    ) -> Result<Vec<SummaryText>, EngineError> {
        let mut summaries = Vec::new();
        // If both together may not take their given tokens, each gets its share of them.
        let given: u64 = jobs.iter().map(|job| job.local_tokens).fold(0, u64::saturating_add);
        let most = jobs.first().map_or(0, SummaryJob::most_local_tokens);
        let share = |tokens: u64| (u128::from(tokens) * u128::from(most.min(given)) / u128::from(given.max(1))) as u64;
        let (mut room, mut written) = (0u64, 0);
        for job in jobs.iter().rev() {
            room = room.saturating_add(share(job.local_tokens));
            let room = room.min(job.most_local_tokens());
            let job = SummaryJob { local_tokens: room.saturating_sub(written), ..job.clone() };
            let summary = self.unless_cancelled(summarizer.summarize(job, job_context)).await?;
            checked(&summary.text)?;
            written += estimate_text(&summary.text);
            summaries.push(summary);
        }
        summaries.reverse();
        Ok(summaries)
    }

    /// Runs `work`. Drops it and fails with [`EngineError::Cancelled`] when the operation is cancelled, and with
    /// [`EngineError::DeadlinePassed`] when its deadline passes.
    pub(crate) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        let passed = || EngineError::DeadlinePassed { milliseconds: self.time.as_millis(), attempts: 0 };
        let limited = async { tokio::time::timeout_at(self.deadline, work).await.unwrap_or_else(|_| Err(passed())) };
        self.unless_cancelled(limited).await
    }

    /// Runs `work`. Drops it and fails with [`EngineError::Cancelled`] when the operation is cancelled.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        self.guard.unless_cancelled(work).await
    }

    /// Does `work` with the session locked, unless the operation is cancelled before.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SessionAccess<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let session = Arc::clone(&self.guard.session);
        let turn = self.unless_cancelled(async { Ok(session.write().await) }).await?;
        change(Arc::clone(&self.engine), session, turn, work).await
    }

    /// The decision of the hook, within the hook timeout of the settings.
    pub(crate) async fn decision<T, A>(&self, ask: impl FnOnce(Duration) -> A) -> Result<T, EngineError>
    where
        A: Future<Output = Result<Decision<T>, EngineError>>,
    {
        let asking = async {
            let limit = self.engine.settings_now().await?.hook_timeout();
            ask(limit).await
        };
        match self.in_time(asking).await? {
            Decision::Cancel => Err(EngineError::CancelledByHook),
            Decision::Go(given) => Ok(given),
        }
    }
}

/// Fails like an operation whose summarizers all fail, if all of them are known to fail without a request.
///
/// # Errors
/// The error of the only summarizer, or [`EngineError::EverySummarizerFailed`].
pub fn check_summarizers(chain: &Chain) -> Result<(), EngineError> {
    let failures: Option<Vec<_>> =
        chain.iter().map(|summarizer| Some((summarizer, summarizer.known_failure()?))).collect();
    match failures.unwrap_or_default() {
        failures if failures.is_empty() => Ok(()),
        mut failures if failures.len() == 1 => Err(failures.remove(0).1),
        failures => {
            let retryable = failures.last().is_some_and(|(_, error)| error.is_retryable());
            let failures = failures.iter().map(|(summarizer, error)| failure(summarizer.name(), error, 1)).collect();
            Err(EngineError::EverySummarizerFailed { failures, retryable })
        }
    }
}

/// The failure of a summarizer that made at least `requests` requests.
fn failure(summarizer: &str, error: &EngineError, requests: u32) -> SummarizerFailure {
    SummarizerFailure {
        summarizer: summarizer.to_owned(),
        kind: error.kind(),
        cause: error.to_string(),
        attempts: error.attempts().unwrap_or(1).max(requests),
    }
}

/// Rejects an empty summary, which must never replace messages.
pub(crate) fn checked(summary: &str) -> Result<(), EngineError> {
    match summary.trim().is_empty() {
        true => Err(EngineError::SummaryRejected { reason: "it is empty".to_owned() }),
        false => Ok(()),
    }
}

impl GivenText {
    /// Rejects a summary that is empty or has wrong details.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        checked(&self.summary)?;
        self.details(&FileOperations::default(), "{}").map(|_| ())
    }

    /// The `details` of its entry.
    pub(crate) fn details(&self, operations: &FileOperations, own: &str) -> Result<String, EngineError> {
        details(operations, own, self.details.as_deref())
    }

    /// The usage of the summary as JSON.
    pub(crate) fn usage(&self) -> Option<String> {
        self.usage.as_ref().map(|usage| usage.get().to_owned())
    }
}

/// The `details` of a summary entry as JSON: file lists, the project's own members, and the caller's members as they
/// were written. Files without room in the lists are counted. The caller's members replace ours, except file lists
/// that are not lists, because later summaries read them.
pub(crate) fn details(operations: &FileOperations, own: &str, given: Option<&RawValue>) -> Result<String, EngineError> {
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
    let given = given.map_err(|_| EngineError::invalid_argument("summary.details", "an object"))?.unwrap_or_default();
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
        let whole = details(&operations, own, None).unwrap();
        assert_eq!(RawObject::parse(&whole).unwrap().get("compactd"), Some(own));
        operations.add_lists(&FileLists { read_files: paths(MAX_LISTED_FILES + 3), ..FileLists::default() });
        let bounded = details(&operations, own, None).unwrap();
        let value: Value = serde_json::from_str(&bounded).unwrap();
        assert_eq!(value["readFiles"].as_array().unwrap().len(), MAX_LISTED_FILES);
        assert_eq!(value["compactd"], json!({ "summarizer": "extractive", "filesLeftOut": 3 }));
        let read = FileLists::from_details(&bounded);
        assert_eq!((read.left_out, read.read_files), (3, paths(MAX_LISTED_FILES + 3).split_off(3)));
    }
}
