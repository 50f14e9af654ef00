//! Lines with which servers and browsers report a failure in what a person pastes: a status of 400 or more in an access log,
//! a refusal with its reason, an error in JSON.

use std::sync::LazyLock;

use super::finder::Phrases;

/// Methods of requests to servers.
const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
/// Reasons that servers give for a failure, as they write them.
const REASONS: [&str; 11] = [
    "Forbidden",
    "Unauthorized",
    "Not Found",
    "Bad Request",
    "Internal Server Error",
    "Bad Gateway",
    "Service Unavailable",
    "Gateway Timeout",
    "Method Not Allowed",
    "Unprocessable Entity",
    "Too Many Requests",
];
/// Levels of lines in logs that report a failure or a doubt.
const LEVELS: [&str; 6] = ["WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "SEVERE"];
/// Number of first words of a line among which its level stands.
const LEVEL_WITHIN: usize = 8;
/// What stands before the status of a failure in a message, and in an object of JSON.
const IN_MESSAGES: &str = "failed with status code ";
const IN_JSON: [&str; 2] = ["\"statusCode\":", "\"status\":"];
/// The beginnings of JSON texts that are errors, with the first mark of what the error says.
const JSON_ERRORS: [&str; 4] = ["{\"error\":\"", "{\"error\": \"", "{\"error\":{", "{\"error\": {"];
/// Most words between the address of a request and its status.
const STATUS_WITHIN: usize = 2;
/// Most bytes of a line that are read.
const LONGEST: usize = 600;
/// What browsers ask for by themselves.
const ASKED_BY_BROWSERS: [&str; 3] = ["/favicon.ico", ".map", "/robots.txt"];

/// What a line needs for a failure. Most texts have none of it.
static SIGNS: LazyLock<Phrases> = LazyLock::new(|| {
    let words =
        ["get ", "post ", "put ", "patch ", "delete ", "head ", "options ", "status", "{\"error", "warn", "error"];
    Phrases::of(words.into_iter().chain(["critical", "fatal", "severe"]))
});

/// The part of the first line of a `message` that reports the failure of a server. One of an answer with its reason comes
/// before a bare status.
pub(super) fn failure(message: &str) -> Option<&str> {
    // Most messages have no sign at all.
    if !SIGNS.is_in(message) {
        return None;
    }
    let lines = || message.lines().map(str::trim).filter(|line| SIGNS.is_in(line)).map(beginning);
    lines().find_map(refused).or_else(|| lines().find_map(in_json)).or_else(|| lines().find_map(of_request))
}

fn beginning(line: &str) -> &str {
    line.get(..LONGEST).unwrap_or_else(|| crate::text::prefix_utf16(line, LONGEST / 3))
}

/// The reason of a refusal in a line of a log: `WARNING log Forbidden (token missing): /orders`.
fn refused(line: &str) -> Option<&str> {
    let level = |word: &str| LEVELS.contains(&word.trim_matches(['[', ']', ':', '(', ')', '|']));
    if !line.split_whitespace().take(LEVEL_WITHIN).any(level) && !line.contains("WARNING") {
        return None;
    }
    REASONS.iter().find_map(|reason| line.find(reason)).map(|at| &line[at..])
}

/// An error in JSON, or the status of an answer in words.
fn in_json(line: &str) -> Option<&str> {
    let has_status = |before: &str| {
        let rest = line.split_once(before)?.1.trim_start();
        rest.get(..3).filter(|digits| is_status(digits))
    };
    let is_object = || line.starts_with('{') && IN_JSON.iter().any(|before| has_status(before).is_some());
    let is_error = JSON_ERRORS.iter().any(|start| line.starts_with(start));
    (is_error || is_object() || has_status(IN_MESSAGES).is_some()).then_some(line)
}

/// A request with the status of a failure: `"POST /orders HTTP/1.1" 403 2519`, `GET https://shop.example/a 404 (Not Found)`.
fn of_request(line: &str) -> Option<&str> {
    METHODS.iter().find_map(|method| {
        let at = line.find(method)?;
        let mut words = line[at + method.len()..].split_whitespace();
        let address = words.next()?.trim_matches('"');
        let is_address = address.starts_with('/') || address.contains("://");
        let is_aside = ASKED_BY_BROWSERS.iter().any(|end| address.ends_with(end));
        let mut numbers = words.take(STATUS_WITHIN).map(|word| word.trim_matches('"'));
        let has_status = numbers.find(|word| word.bytes().all(|byte| byte.is_ascii_digit())).is_some_and(is_status);
        (is_address && !is_aside && has_status).then(|| &line[at..])
    })
}

fn is_status(word: &str) -> bool {
    word.len() == 3 && word.starts_with(['4', '5']) && word.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_servers_are_known_in_pasted_lines() {
        for (line, expected) in [
            (
                "12:25 WARNING 12:25,374 shop.csrf log Forbidden (token missing): /orders/7",
                Some("Forbidden (token missing): /orders/7"),
            ),
            (
                "10.0.0.7 - - [01/Oct/2025:13:12:25] \"POST /orders/7 HTTP/1.1\" 403 2519",
                Some("POST /orders/7 HTTP/1.1\" 403 2519"),
            ),
            ("GET https://shop.example/menu 404 (Not Found)", Some("GET https://shop.example/menu 404 (Not Found)")),
            ("POST /api/orders 500 in 12ms", Some("POST /api/orders 500 in 12ms")),
            ("{\"error\":\"no such order\"}", Some("{\"error\":\"no such order\"}")),
            ("Request failed with status code 502", Some("Request failed with status code 502")),
            ("\"GET /orders HTTP/1.1\" 200 512", None),
            ("GET /favicon.ico 404 in 3ms", None),
            ("please GET /orders for the 404 customers of the shop today", None),
            ("add a page for status code 404 errors, and one for Forbidden", None),
            ("{\"error\": null, \"status\": 200}", None),
        ] {
            assert_eq!(failure(line), expected, "{line}");
        }
    }
}
