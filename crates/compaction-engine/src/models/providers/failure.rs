//! Failures: what a provider's status, headers and body mean, and how a person is told.

mod body;
mod retry_after;

use std::time::Duration;

use compaction_core::overflow::{ErrorClass, classify};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, LOCATION};

use super::super::model::FailureKind;
use super::http::HttpError;
pub(super) use body::{Report, one_line};
use retry_after::retry_after;

/// Why there is no answer. The text may still hold what the provider echoed: whoever makes a
/// `ModelError` of it takes keys out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    /// What kind of failure it is.
    pub(super) kind: FailureKind,
    /// A sentence for a person.
    pub(super) text: String,
    /// How long the provider asked to wait.
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    /// A failure that says nothing of waiting.
    pub(super) fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), retry_after: None }
    }

    /// What an answer with a status other than 2xx means. `model` is the name under which the
    /// settings know the model.
    pub(super) fn from_response(model: &str, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Self {
        let content_type = text_of(headers, CONTENT_TYPE.as_str());
        let mut report = Report::from_body(body, content_type);
        // Amazon names the kind of an error in a header, behind it what is of use to its own clients.
        if let Some(word) = text_of(headers, "x-amzn-errortype").and_then(|text| text.split([':', ',']).next()) {
            report.words = format!("{} {}", report.words, body::short(word)).trim().to_owned();
        }
        let mut text = format!("HTTP {}: {}", status.as_u16(), report.sentence());
        if status.is_redirection() {
            let location = text_of(headers, LOCATION.as_str()).unwrap_or("nowhere");
            text = format!("HTTP {}: redirects are not followed (to {})", status.as_u16(), body::short(location));
        }
        let kind = kind_of(model, Some(status.as_u16()), &report);
        Self { kind, text, retry_after: retry_after(headers).or(report.retry_after) }
    }

    /// What an error inside a stream means, or an answer of 200 that holds nothing but one.
    pub(super) fn from_report(model: &str, report: &Report) -> Self {
        let mut kind = kind_of(model, report.status, report);
        // What is wrong with a request is said before the answer, or by a status or a type.
        if kind == FailureKind::Refused && report.status.is_none() && report.words.is_empty() {
            kind = FailureKind::Server;
        }
        let text = format!("the provider failed while answering: {}", report.sentence());
        Self { kind, text, retry_after: report.retry_after }
    }
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        let kind = match error {
            HttpError::Connect(_) | HttpError::Broken(_) => FailureKind::Connection,
            HttpError::TimedOut { .. } => FailureKind::TimedOut,
            HttpError::TooLarge { .. } => FailureKind::Refused,
        };
        Self::new(kind, error.to_string())
    }
}

/// The kind of a failure. What the text says of rate limits, budgets and sizes goes before the
/// status, because providers do not agree on statuses; the order of the texts is the core's.
fn kind_of(model: &str, status: Option<u16>, report: &Report) -> FailureKind {
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let body = if report.is_empty { "(no body)" } else { "" };
    let text = format!("{code} {} {}{body}", report.words, report.message);
    match (status, classify(Some(model), &text)) {
        (Some(401), _) => FailureKind::Authentication,
        (Some(402), _) | (_, ErrorClass::Quota) => FailureKind::Quota,
        (_, ErrorClass::RateLimit) => FailureKind::RateLimited,
        (_, ErrorClass::Overflow) => FailureKind::Overflow,
        // What is "extra_forbidden" then is a member of the request.
        (Some(422), ErrorClass::Authentication) => FailureKind::Refused,
        (_, ErrorClass::Authentication) => FailureKind::Authentication,
        (Some(408 | 504), _) => FailureKind::TimedOut,
        (Some(503 | 529), _) => FailureKind::Overloaded,
        (Some(500..), _) => FailureKind::Server,
        (_, ErrorClass::Overloaded) => of_overload(&text),
        (Some(409 | 425), _) => FailureKind::Server,
        (_, ErrorClass::Other) => of_words(&report.words),
    }
}

/// Texts without a status of their own: the core does not part the overloaded from the failing.
fn of_overload(text: &str) -> FailureKind {
    match text.to_lowercase().contains("internal server error") {
        true => FailureKind::Server,
        false => FailureKind::Overloaded,
    }
}

/// Types and codes of errors that providers use in place of a status.
fn of_words(words: &str) -> FailureKind {
    let has = |known: &[&str]| words.to_lowercase().split_whitespace().any(|word| known.contains(&word));
    const SERVER: [&str; 9] = [
        "api_error",
        "server_error",
        "internal",
        "internal_error",
        "internal_server_error",
        "unknown",
        "internalserverexception",
        "modelerrorexception",
        "modelstreamerrorexception",
    ];
    const TIMED_OUT: [&str; 6] = [
        "timeout_error",
        "deadline_exceeded",
        "timeout",
        "request_timeout",
        "vector_store_timeout",
        "modeltimeoutexception",
    ];
    if has(&SERVER) {
        FailureKind::Server
    } else if has(&TIMED_OUT) {
        FailureKind::TimedOut
    } else if has(&["billing_error"]) {
        FailureKind::Quota
    } else if has(&["unavailable", "overloaded_error", "serviceunavailableexception", "modelnotreadyexception"]) {
        FailureKind::Overloaded
    } else {
        FailureKind::Refused
    }
}

/// A header's text, if it is there and is text.
fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
