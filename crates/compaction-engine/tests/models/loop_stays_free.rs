//! The server's loop serves other tasks while an answer is checked and repaired.

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

/// A model whose first answer is long and has no headings.
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

/// The longest time without a turn for another task, and the total time.
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

/// Writes a summary that needs a repair. Returns how long the loop was blocked, and the total time.
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
    // A busy machine may delay any thread once. Work on the loop blocks it every time.
    let tries: Vec<(Duration, Duration)> = (0..5).map(|_| repaired()).collect();
    assert!(tries.iter().any(|(longest, all)| *longest * 8 < *all), "the loop was held for {tries:?}");
}
