//! While an answer is checked and repaired, the server's loop serves others.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use compaction_engine::Settings;
use compaction_engine::models::{Answer, Model, ModelError, ModelLimits, OnDelta, RequestContext, StopReason};
use compaction_engine::summarizers::{ModelSummarizer, Summarizer};
use serde_json::json;

use super::engine::{SUMMARY, job};
use super::harness::{job_context, run};

/// Answers without headings first, at length.
#[derive(Debug)]
struct Forgetful {
    prompts: Mutex<Vec<String>>,
}

#[async_trait]
impl Model for Forgetful {
    fn limits(&self) -> ModelLimits {
        ModelLimits { context_window: Some(100_000), max_output_tokens: None }
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        _: &RequestContext,
        _: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let mut prompts = self.prompts.lock().unwrap();
        let text =
            if prompts.is_empty() { "Nothing of use was said here. ".repeat(20_000) } else { SUMMARY.to_owned() };
        prompts.push(request.prompt.clone());
        Ok(Answer { text, stop: StopReason::Stop, usage: None })
    }
}

/// The longest time for which no other task had a turn, and how long all took.
async fn longest_hold(work: impl Future<Output = ()>) -> (Duration, Duration) {
    let longest = Arc::new(Mutex::new(Duration::ZERO));
    let watched = Arc::clone(&longest);
    let start = Instant::now();
    let ticking = tokio::spawn(async move {
        loop {
            let before = Instant::now();
            tokio::task::yield_now().await;
            let mut longest = watched.lock().unwrap();
            *longest = longest.max(before.elapsed());
        }
    });
    work.await;
    ticking.abort();
    let longest = *longest.lock().unwrap();
    (longest, start.elapsed())
}

/// Has a summary written that needs a repair; how long the loop was held, and how long all took.
fn repaired() -> (Duration, Duration) {
    let settings = Settings::default().with(&json!({ "compactd": { "redaction": { "enabled": true } } })).unwrap();
    let model = Arc::new(Forgetful { prompts: Mutex::default() });
    let modelled = ModelSummarizer::new("tested", Arc::clone(&model) as Arc<dyn Model>, &settings);
    let text = "We talked about the weather in some detail, and then of peace. ".repeat(4000);
    let times = run(longest_hold(async {
        let written = modelled.summarize(job(&text), &job_context()).await.unwrap();
        assert_eq!((written.text.as_str(), written.attempts), (SUMMARY, 2));
    }));
    assert!(model.prompts.lock().unwrap()[1].contains("Nothing of use was said here."));
    times
}

#[test]
fn a_repair_runs_off_the_loop() {
    // A busy machine may keep any thread from running for a while; work on the loop holds it each time.
    let tries: Vec<(Duration, Duration)> = (0..5).map(|_| repaired()).collect();
    assert!(tries.iter().any(|(longest, all)| *longest * 8 < *all), "the loop was held for {tries:?}");
}
