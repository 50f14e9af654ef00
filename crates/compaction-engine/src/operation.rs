//! What compactions and branch summaries have in common while they run.

use std::sync::Arc;
use std::time::Duration;

use compaction_core::file_operations::FileOperations;
use compaction_core::json::RawObject;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::engine::Engine;
use crate::error::{EngineError, SummarizerFailure};
use crate::host::OperationKind;
use crate::models::RequestContext;
use crate::progress::Progress;
use crate::redaction::{Redactions, Redactor};
use crate::session::{OperationGuard, SessionAccess, change};
use crate::settings::Settings;
use crate::summarizers::{Chain, Occasion, Summarizer, SummaryJob, SummaryText};

/// A summary operation that runs: who writes, until when, and how the host hears of it.
pub(crate) struct SummaryOperation {
    /// The engine.
    pub(crate) engine: Arc<Engine>,
    /// The claim on the session.
    pub(crate) guard: OperationGuard,
    /// Who writes; the next one where one fails.
    pub(crate) chain: Chain,
    /// Takes secrets out of what is told, unless the settings say otherwise.
    pub(crate) redactor: Option<Arc<Redactor>>,
    kind: OperationKind,
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
    /// The operation that `guard` claims a session for.
    pub(crate) fn new(
        engine: &Arc<Engine>,
        kind: OperationKind,
        guard: OperationGuard,
        chain: Chain,
        settings: &Settings,
    ) -> Self {
        let time = settings.deadline();
        // Made once in the life of the process, which is no time of this operation.
        let redactor = settings.redaction().redactor();
        let deadline = Instant::now() + time;
        Self { engine: Arc::clone(engine), guard, chain, redactor, kind, deadline, time }
    }

    /// Writes the summaries of `jobs` by the first summarizer of the chain that can, in order: one
    /// after the other, because some servers of models take one request at a time.
    pub(crate) async fn summarize(&self, jobs: &[SummaryJob]) -> Result<WrittenSummaries, EngineError> {
        let context = RequestContext { session_id: self.guard.session.id.clone(), operation_id: self.guard.id.clone() };
        let requests = u32::try_from(jobs.len()).unwrap_or(u32::MAX);
        let progress = Progress::new(&self.engine.host, self.kind, &context, requests);
        let progress = match &self.redactor {
            Some(redactor) => progress.without_secrets(Arc::clone(redactor)),
            None => progress,
        };
        let occasion = self.occasion(context, Arc::new(progress));
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
                Err(EngineError::Cancelled) => return Err(EngineError::Cancelled),
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
                let retryable = last.is_some_and(|error| error.is_retryable());
                EngineError::EverySummarizerFailed { failures, retryable }
            }
        })
    }

    async fn summarize_by(
        &self,
        summarizer: &dyn Summarizer,
        jobs: &[SummaryJob],
        occasion: &Occasion,
    ) -> Result<Vec<SummaryText>, EngineError> {
        let mut summaries = Vec::new();
        for job in jobs {
            let writing = summarizer.summarize(job.clone(), occasion);
            // What works here needs no time from others, and is the way out when theirs is over.
            let summary = match summarizer.is_local() {
                true => self.unless_cancelled(writing).await?,
                false => self.in_time(writing).await?,
            };
            checked(&summary.text)?;
            summaries.push(summary);
        }
        Ok(summaries)
    }

    /// Runs `work`, or drops it and fails with [`EngineError::Cancelled`] when the operation is
    /// cancelled, with [`EngineError::DeadlinePassed`] when its time is over.
    pub(crate) async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        let passed = || EngineError::DeadlinePassed { milliseconds: self.time.as_millis(), attempts: 0 };
        let limited = async { tokio::time::timeout_at(self.deadline, work).await.unwrap_or_else(|_| Err(passed())) };
        self.unless_cancelled(limited).await
    }

    /// Runs `work`, or drops it and fails with [`EngineError::Cancelled`] when the operation is
    /// cancelled.
    pub(crate) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T, EngineError>>,
    ) -> Result<T, EngineError> {
        self.guard.unless_cancelled(work).await
    }

    /// Does `work` in a turn of the session, unless the operation is cancelled before.
    pub(crate) async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SessionAccess<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let session = Arc::clone(&self.guard.session);
        let slot = Arc::clone(&session.slot);
        let turn = self.unless_cancelled(async { Ok(slot.write_owned().await) }).await?;
        change(Arc::clone(&self.engine), session, turn, work).await
    }

    /// The same for the work that commits: it is not begun once the operation is cancelled.
    pub(crate) async fn commit<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SessionAccess<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let cancel = self.guard.cancel.clone();
        let work = move |access: &mut SessionAccess<'_>| match cancel.is_cancelled() {
            true => Err(EngineError::Cancelled),
            false => work(access),
        };
        self.in_turn(work).await
    }

    fn occasion(&self, context: RequestContext, progress: Arc<Progress>) -> Occasion {
        Occasion { context, cancel: self.guard.cancel.clone(), deadline: self.deadline, progress }
    }
}

/// Why a summarizer did not write, after at least so many `requests`.
fn failure(summarizer: &str, error: &EngineError, requests: u32) -> SummarizerFailure {
    SummarizerFailure {
        summarizer: summarizer.to_owned(),
        kind: error.kind(),
        cause: error.to_string(),
        attempts: error.attempts().unwrap_or(1).max(requests),
    }
}

/// A summary that says nothing must never stand in the place of what was said.
pub(crate) fn checked(summary: &str) -> Result<(), EngineError> {
    match summary.trim().is_empty() {
        true => Err(EngineError::SummaryRejected { reason: "it is empty".to_owned() }),
        false => Ok(()),
    }
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
    given: Option<&RawValue>,
    path: &str,
) -> Result<String, EngineError> {
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
    let given = given.map_err(|_| EngineError::invalid_argument(path, "an object"))?.unwrap_or_default();
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
pub(crate) fn usage(given: Option<&RawValue>) -> Option<String> {
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
