//! Failures: what a provider's status, headers and body mean, how long to wait before a retry, and the sentence for a
//! person.

use std::time::{Duration, SystemTime};

use compaction_core::overflow::{ErrorClass, classify};
use hyper::StatusCode;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, LOCATION, RETRY_AFTER};
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::http::HttpError;
use crate::models::FailureKind;
use crate::models::configuration::ProviderId;
use crate::redaction::Redactor;

/// A failed request. The text may contain what the provider echoed; keys are removed when it becomes a `ModelError`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::models) struct Failure {
    /// What kind of failure it is.
    pub(super) kind: FailureKind,
    /// A sentence for a person.
    pub(super) text: String,
    /// The wait that the provider asked for.
    pub(super) retry_after: Option<Duration>,
}

impl Failure {
    /// A failure without a wait.
    pub(in crate::models) fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), retry_after: None }
    }

    /// The failure of an answer with a status other than 2xx. `provider` is the one behind the server, if
    /// it is known.
    pub(super) fn from_response(
        provider: Option<&ProviderId>,
        status: StatusCode,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Self {
        let content_type = text_of(headers, CONTENT_TYPE.as_str());
        let mut report = match encoding(headers) {
            Some(encoding) => Report { message: encoded(encoding), ..Report::default() },
            None => Report::from_body(body, content_type),
        };
        // Amazon names the kind of an error in a header, before data for its own clients.
        if let Some(word) = text_of(headers, "x-amzn-errortype").and_then(|text| text.split([':', ',']).next()) {
            report.words = format!("{} {}", report.words, short(word)).trim().to_owned();
        }
        let mut text = format!("HTTP {}: {}", status.as_u16(), report.sentence());
        if status.is_redirection() {
            let location = text_of(headers, LOCATION.as_str()).unwrap_or("nowhere");
            text = format!("HTTP {}: redirects are not followed (to {})", status.as_u16(), short(location));
        }
        let kind = kind_of(provider, Some(status.as_u16()), &report);
        Self { kind, text, retry_after: retry_after(headers).or(report.retry_after) }
    }

    /// The failure of an error within a stream, or of an answer with status 200 that contains only an error.
    fn from_report(provider: Option<&ProviderId>, report: &Report) -> Self {
        let mut kind = kind_of(provider, report.status, report);
        // An error of the request would come before the answer, or with a status or a type.
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

/// Why an event ends an answer.
#[derive(Debug)]
pub(super) enum ReadError {
    /// The answer cannot be read on.
    Failed(Failure),
    /// The event reports an error, whose kind depends on the provider.
    Reported(Report),
}

impl ReadError {
    /// The failure, if `provider` reported it.
    pub(super) fn into_failure(self, provider: Option<&ProviderId>) -> Failure {
        match self {
            Self::Failed(failure) => failure,
            Self::Reported(report) => Failure::from_report(provider, &report),
        }
    }
}

impl From<Failure> for ReadError {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Report> for ReadError {
    fn from(report: Report) -> Self {
        Self::Reported(report)
    }
}

/// The kind of a failure. Texts about rate limits, budgets and sizes take precedence over the status, because
/// providers disagree on statuses. The order of the texts is the core's.
fn kind_of(provider: Option<&ProviderId>, status: Option<u16>, report: &Report) -> FailureKind {
    let code = status.map(|status| status.to_string()).unwrap_or_default();
    let body = if report.is_empty { "(no body)" } else { "" };
    let text = format!("{code} {} {}{body}", report.words, report.message);
    match (status, classify(provider.map(|id| id.0.as_str()), &text)) {
        (Some(401), _) => FailureKind::Authentication,
        (Some(402), _) | (_, ErrorClass::Quota) => FailureKind::Quota,
        (_, ErrorClass::RateLimit) => FailureKind::RateLimited,
        (_, ErrorClass::Overflow) => FailureKind::Overflow,
        // Here "extra_forbidden" is about a member of the request.
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

/// Texts without a status. The core does not distinguish overloaded servers from failing ones.
fn of_overload(text: &str) -> FailureKind {
    match text.to_lowercase().contains("internal server error") {
        true => FailureKind::Server,
        false => FailureKind::Overloaded,
    }
}

/// The kind of a failure by the types and codes that providers use instead of a status.
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

/// The encoding of an answer that is not plain.
pub(super) fn encoding(headers: &HeaderMap) -> Option<&str> {
    let encoding = text_of(headers, CONTENT_ENCODING.as_str())?.trim();
    Some(encoding).filter(|encoding| !encoding.is_empty() && !encoding.eq_ignore_ascii_case("identity"))
}

/// The sentence about an answer in an encoding, which no request asks for.
pub(super) fn encoded(encoding: &str) -> String {
    format!("the answer has the content encoding {}, although it was to be plain", short(encoding))
}

/// The text of a header, if it is valid text.
fn text_of<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The content of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// The provider's own message, on one line; empty if there is none.
    pub(super) message: String,
    /// Its types and codes, joined by spaces.
    pub(super) words: String,
    /// The HTTP status that it names.
    pub(super) status: Option<u16>,
    /// The requested wait.
    pub(super) retry_after: Option<Duration>,
    /// Whether there was no body.
    pub(super) is_empty: bool,
}

/// Maximum characters of a provider's message.
const MAX_MESSAGE: usize = 600;
/// Maximum characters of a text that is not JSON.
const MAX_TEXT: usize = 200;

impl Report {
    /// Reads the body of an error.
    fn from_body(body: &[u8], content_type: Option<&str>) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Self { is_empty: true, ..Self::default() };
        }
        // A gateway may send the error of a stream as an event, followed by the last event.
        let data = text.split(['\n', '\r']).find_map(|line| line.strip_prefix("data:"));
        let json = data.filter(|_| !text.starts_with(['{', '['])).unwrap_or(text);
        let value = serde_json::from_str::<Value>(json.trim()).ok();
        let report = value.as_ref().and_then(|value| Self::from_value(value).or_else(|| Self::bare(value)));
        let report = report.filter(|report| !report.message.is_empty());
        report.unwrap_or_else(|| Self { message: of_page(text, content_type), ..Self::default() })
    }

    /// Reads the error in `value`: `{"error": {…}}`, `{"error": "text"}`, a list with one of these, or an error
    /// without an envelope.
    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = match &value["error"] {
            Value::Null if value["base_resp"]["status_code"].as_i64().is_some_and(|code| code != 0) => {
                &value["base_resp"]
            }
            Value::Null if has_error_shape(value) => value,
            Value::Null => return None,
            error => error,
        };
        let message = message_of(error).or_else(|| message_of(value));
        let words = ["type", "code", "status"].into_iter().filter_map(|key| error[key].as_str());
        let mut words: Vec<String> = words.filter(|word| *word != "error").map(short).collect();
        // MiniMax has its own numbers.
        words.extend(value["base_resp"]["status_code"].as_i64().map(|code| format!("base_resp {code}")));
        let codes = [&error["code"], &error["status"], &error["status_code"], &value["code"]]
            .into_iter()
            .filter_map(Value::as_u64);
        Some(Self {
            message: message.unwrap_or_default(),
            words: words.join(" "),
            status: codes.filter_map(|code| u16::try_from(code).ok()).find(|code| (400..600).contains(code)),
            retry_after: of_details(&error["details"]),
            is_empty: false,
        })
    }

    /// The error that an event of a stream reports.
    pub(super) fn of_event(event: &Value) -> Self {
        Self::from_value(event).unwrap_or_default()
    }

    /// Reads an error that is only a message, a member that other values have too.
    fn bare(value: &Value) -> Option<Self> {
        let message = ["message", "Message"].iter().find_map(|key| value[*key].as_str())?;
        Some(Self { message: one_line(message, MAX_MESSAGE), ..Self::default() })
    }

    /// The report as one sentence.
    pub(super) fn sentence(&self) -> String {
        match (self.message.as_str(), self.words.as_str()) {
            ("", "") if self.is_empty => "the answer has no body".to_owned(),
            ("", "") => "it gave no reason".to_owned(),
            ("", words) => words.to_owned(),
            (message, "") => message.to_owned(),
            (message, words) => format!("{message} ({words})"),
        }
    }
}

fn has_error_shape(value: &Value) -> bool {
    // Spark, DashScope, SiliconFlow: a code and a message instead of an answer. The code 0 means success.
    let has_code = || value["code"].as_i64().is_some_and(|code| code != 0) || value["code"].is_string();
    let is_coded = || has_code() && value["message"].is_string() && value["choices"].is_null();
    value["type"] == "error"
        || value["object"] == "error"
        || value["detail"].is_string()
        || value["detail"].is_array()
        || is_coded()
}

/// The message of an error, with that of the provider behind a gateway.
fn message_of(error: &Value) -> Option<String> {
    let within = &error["message"]["detail"];
    let found = [
        error,
        &error["message"],
        &error["status_msg"],
        &error["detail"],
        &error["detail"][0]["msg"],
        within,
        &within[0]["msg"],
    ];
    let message = found.into_iter().find_map(Value::as_str)?;
    let message = match error["metadata"]["raw"].as_str() {
        Some(behind) => format!("{message}: {behind}"),
        None => message.to_owned(),
    };
    Some(one_line(&message, MAX_MESSAGE))
}

/// A sentence for a text that is not JSON: the title of a page, or its first words.
fn of_page(text: &str, content_type: Option<&str>) -> String {
    let lower = text.to_ascii_lowercase();
    let is_page = lower.contains("<html") || lower.contains("<!doctype") || lower.contains("<title");
    let title = title_range(&lower).and_then(|range| text.get(range)).map(|title| one_line(title, MAX_TEXT));
    let words = match title.filter(|title| !title.is_empty()) {
        Some(title) => title,
        None if is_page => one_line(&without_markup(text), MAX_TEXT),
        None => one_line(text, MAX_TEXT),
    };
    let content_type = content_type.map_or("text", |name| name.split(';').next().unwrap_or_default().trim());
    match is_page {
        true => format!("a page instead of an answer: {words}"),
        false => format!("an answer of the type {} without a message: {words}", short(content_type)),
    }
}

/// The range of the title in a page in lower case.
fn title_range(lower: &str) -> Option<std::ops::Range<usize>> {
    let tag = lower.find("<title")?;
    let start = tag + lower[tag..].find('>')? + 1;
    let end = start + lower[start..].find('<')?;
    Some(start..end)
}

fn without_markup(page: &str) -> String {
    let mut is_markup = false;
    let shown = page.chars().filter_map(|character| {
        let was_markup = is_markup;
        is_markup = match character {
            '<' => true,
            '>' => false,
            _ => is_markup,
        };
        match (was_markup, is_markup) {
            (false, false) => Some(character),
            (true, false) => Some(' '),
            _ => None,
        }
    });
    shown.collect()
}

/// A provider's word or name on one line, shortened.
fn short(text: &str) -> String {
    one_line(text, 100)
}

/// `text` without secrets, with white space and control characters collapsed, cut after `limit` characters. Secrets
/// are removed first, because a cut secret is not recognised.
pub(super) fn one_line(text: &str, limit: usize) -> String {
    let text = &*Redactor::shared().redact(text).text;
    let is_gap = |character: char| character.is_whitespace() || character.is_control();
    let mut line = String::new();
    let mut characters = 0;
    for word in text.split(is_gap).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
            characters += 1;
        }
        for character in word.chars() {
            if characters >= limit {
                line.push('…');
                return line;
            }
            line.push(character);
            characters += 1;
        }
    }
    line
}

/// The longest accepted wait. Retries have a much lower limit.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads `retry-after-ms` (milliseconds) and `retry-after` (seconds or a date), the finer first.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let milliseconds = text_of(headers, "retry-after-ms").and_then(|text| seconds(text, 1000.0));
    milliseconds.or_else(|| {
        let text = text_of(headers, RETRY_AFTER.as_str())?;
        seconds(text, 1.0).or_else(|| until(text, SystemTime::now()))
    })
}

/// The `retryDelay` of Google's `RetryInfo`, such as `34.07s`.
fn of_details(details: &Value) -> Option<Duration> {
    let delays = details.as_array()?.iter().filter_map(|detail| detail["retryDelay"].as_str());
    delays.filter_map(|delay| seconds(delay.trim().strip_suffix('s')?, 1.0)).next()
}

/// A decimal number of units; `units` of them are a second.
fn seconds(text: &str, units: f64) -> Option<Duration> {
    let number = text.trim().parse::<f64>().ok().filter(|number| !number.is_nan())?;
    let seconds = (number / units).min(MAX_WAIT.as_secs_f64());
    Duration::try_from_secs_f64(seconds).ok()
}

/// The time from `now` to an HTTP date; zero if it has passed.
fn until(date: &str, now: SystemTime) -> Option<Duration> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let then = SystemTime::from(PARSER.parse_timestamp(date.trim()).ok()?);
    Some(then.duration_since(now).unwrap_or_default().min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &'static str, text: &str, expected: Option<Duration>) {
        let headers = HeaderMap::from_iter([(name.parse().unwrap(), text.parse().unwrap())]);
        assert_eq!(retry_after(&headers), expected, "{name}: {text}");
    }

    #[test]
    fn numbers_are_seconds_or_milliseconds() {
        check("retry-after", "7", Some(Duration::from_secs(7)));
        check("retry-after", " 1.5 ", Some(Duration::from_millis(1500)));
        check("retry-after", "0", Some(Duration::ZERO));
        check("retry-after-ms", "250", Some(Duration::from_millis(250)));
        for huge in ["99999999999999999999999999", "1e308", "inf"] {
            check("retry-after", huge, Some(MAX_WAIT));
        }
        for nonsense in ["", "soon", "-3", "NaN", "-inf", "Wed, 99 Foo 2015 07:28:00 GMT"] {
            check("retry-after", nonsense, None);
        }
    }

    #[test]
    fn dates_are_moments() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_420);
        assert_eq!(until("Wed, 21 Oct 2015 07:28:00 GMT", now), Some(Duration::from_secs(60)));
        assert_eq!(until("Wed, 21 Oct 2015 07:00:00 GMT", now), Some(Duration::ZERO));
        assert_eq!(until("Wed, 01 Jan 9000 00:00:00 GMT", now), Some(MAX_WAIT));
    }

    #[test]
    fn details_hold_a_delay() {
        let details =
            json!([{ "@type": "x" }, { "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s" }]);
        assert_eq!(of_details(&details), Some(Duration::from_millis(34_500)));
        assert_eq!(of_details(&json!([{ "retryDelay": "soon" }])), None);
        assert_eq!(of_details(&Value::Null), None);
    }
}
