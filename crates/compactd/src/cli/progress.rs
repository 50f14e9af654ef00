//! The bar that shows how far a compaction is; on standard error, and only if that is a terminal.

use std::time::Duration;

use compactd_client::Notification;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;

use super::terminal::one_line;
use super::text::thousands;

/// How often the bar moves while a model says nothing.
const TICK: Duration = Duration::from_millis(120);

/// The bar.
#[derive(Debug)]
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows the bar, if there is a terminal.
    pub(super) fn start() -> Self {
        let bar = ProgressBar::new(1);
        let style = ProgressStyle::with_template("{spinner} {wide_msg} [{bar:24}] {elapsed}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        bar.enable_steady_tick(TICK);
        Self(bar)
    }

    /// Moves the bar if the notification is about a compaction.
    pub(super) fn follow(&self, notification: &Notification) {
        let Ok(params) = serde_json::from_str::<Value>(notification.params.get()) else { return };
        match notification.method.as_str() {
            "compactionStart" => self.0.set_message(starting(&params)),
            "compactionProgress" => self.advance(&params),
            _ => {}
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }

    fn advance(&self, params: &Value) {
        let (done, all) = position(params);
        self.0.set_length(all);
        self.0.set_position(done);
        self.0.set_message(running(params));
    }
}

/// Requests that are done, and all of them, the writing of the entry counted as one.
fn position(params: &Value) -> (u64, u64) {
    let requests = params["requests"].as_u64().unwrap_or(1);
    let request = params["request"].as_u64().unwrap_or(1);
    match params["phase"].as_str() {
        Some("committing") => (requests, requests.saturating_add(1)),
        _ => (request.saturating_sub(1), requests.saturating_add(1)),
    }
}

fn starting(params: &Value) -> String {
    let tokens = params["tokensBefore"].as_u64().unwrap_or_default();
    format!("compacting {} tokens", thousands(tokens))
}

fn running(params: &Value) -> String {
    match params["phase"].as_str() {
        Some("committing") => "writing the compaction".to_owned(),
        Some("summarizing") => {
            let number = |name: &str| thousands(params[name].as_u64().unwrap_or_default());
            let (request, requests, tokens) = (number("request"), number("requests"), number("outputTokens"));
            format!("summarising, request {request} of {requests}, {tokens} tokens so far")
        }
        other => one_line(other.unwrap_or("compacting")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_bar_counts_requests_and_the_writing() {
        let check = |params: Value, at: (u64, u64), text: &str| {
            assert_eq!(position(&params), at);
            assert_eq!(running(&params), text);
        };
        check(
            json!({"phase": "summarizing", "request": 1, "requests": 2, "outputTokens": 0}),
            (0, 3),
            "summarising, request 1 of 2, 0 tokens so far",
        );
        check(
            json!({"phase": "summarizing", "request": 2, "requests": 2, "outputTokens": 1250}),
            (1, 3),
            "summarising, request 2 of 2, 1,250 tokens so far",
        );
        check(json!({"phase": "committing", "request": 2, "requests": 2}), (2, 3), "writing the compaction");
        check(json!({}), (0, 2), "compacting");
    }

    #[test]
    fn a_bar_without_a_terminal_swallows_everything() {
        let progress = Progress::start();
        let params = serde_json::value::RawValue::from_string("[]".to_owned()).expect("it is JSON");
        progress.follow(&Notification { method: "compactionProgress".to_owned(), params });
        progress.finish();
    }
}
