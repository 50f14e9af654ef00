//! How long a provider asks to wait before the next request.

use std::time::{Duration, SystemTime};

use hyper::header::{HeaderMap, RETRY_AFTER};
use jiff::fmt::rfc2822::DateTimeParser;
use serde_json::Value;

use super::text_of;

/// The longest wait that is believed. Whoever retries has a limit of its own, much below this one.
const MAX_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

/// Reads `retry-after-ms` (milliseconds) and `retry-after` (seconds or a date), the finer first.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let milliseconds = text_of(headers, "retry-after-ms").and_then(|text| seconds(text, 1000.0));
    milliseconds.or_else(|| {
        let text = text_of(headers, RETRY_AFTER.as_str())?;
        seconds(text, 1.0).or_else(|| until(text, SystemTime::now()))
    })
}

/// The `retryDelay` of Google's `RetryInfo`, such as `34.07s`.
pub(super) fn of_details(details: &Value) -> Option<Duration> {
    let delays = details.as_array()?.iter().filter_map(|detail| detail["retryDelay"].as_str());
    delays.filter_map(|delay| seconds(delay.trim().strip_suffix('s')?, 1.0)).next()
}

/// A decimal number of units, of which a second has `units`.
fn seconds(text: &str, units: f64) -> Option<Duration> {
    let number = text.trim().parse::<f64>().ok().filter(|number| !number.is_nan())?;
    let seconds = (number / units).min(MAX_WAIT.as_secs_f64());
    Duration::try_from_secs_f64(seconds).ok()
}

/// The time from `now` to a date of HTTP; none at all if it has passed.
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
