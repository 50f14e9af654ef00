//! What the body of an error says: a JSON envelope of some provider, a page, or nothing.

use std::time::Duration;

use serde_json::Value;

use super::retry_after::of_details;
use crate::redaction::Redactor;

/// What an error says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in super::super) struct Report {
    /// The provider's own message, on one line; empty if there is none.
    pub(in super::super) message: String,
    /// Its types and codes, joined by spaces.
    pub(in super::super) words: String,
    /// The HTTP status that it names.
    pub(in super::super) status: Option<u16>,
    /// How long it asks to wait.
    pub(in super::super) retry_after: Option<Duration>,
    /// Whether there was no body at all.
    pub(in super::super) is_empty: bool,
}

/// Most characters of a provider's message that are handed on.
const MAX_MESSAGE: usize = 600;
/// Most characters of a text that is no JSON.
const MAX_TEXT: usize = 200;

impl Report {
    /// Reads the body of an error.
    pub(super) fn from_body(body: &[u8], content_type: Option<&str>) -> Self {
        let text = String::from_utf8_lossy(body);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            return Self { is_empty: true, ..Self::default() };
        }
        // A gateway may send the error of a stream as an event, with the last event behind it.
        let data = text.split(['\n', '\r']).find_map(|line| line.strip_prefix("data:"));
        let json = data.filter(|_| !text.starts_with(['{', '['])).unwrap_or(text);
        let value = serde_json::from_str::<Value>(json.trim()).ok();
        let report = value.as_ref().and_then(|value| Self::from_value(value).or_else(|| Self::bare(value)));
        let report = report.filter(|report| !report.message.is_empty());
        report.unwrap_or_else(|| Self { message: of_page(text, content_type), ..Self::default() })
    }

    /// Reads the error in `value`, if it holds one: `{"error": {…}}`, `{"error": "text"}`, a list
    /// with one of these, or an error without an envelope.
    pub(in super::super) fn from_value(value: &Value) -> Option<Self> {
        let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
        let error = match &value["error"] {
            Value::Null if has_error_shape(value) => value,
            Value::Null => return None,
            error => error,
        };
        let message = message_of(error).or_else(|| message_of(value));
        let words = ["type", "code", "status"].into_iter().filter_map(|key| error[key].as_str());
        let words: Vec<String> = words.filter(|word| *word != "error").map(short).collect();
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

    /// Reads an error that is nothing but a message, which other values have too.
    fn bare(value: &Value) -> Option<Self> {
        let message = ["message", "Message"].iter().find_map(|key| value[*key].as_str())?;
        Some(Self { message: one_line(message, MAX_MESSAGE), ..Self::default() })
    }

    /// The report as one sentence.
    pub(in super::super) fn sentence(&self) -> String {
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
    value["type"] == "error" || value["object"] == "error" || value["detail"].is_string() || value["detail"].is_array()
}

/// The message of an error, with what the provider behind a gateway said.
fn message_of(error: &Value) -> Option<String> {
    let within = &error["message"]["detail"];
    let found = [error, &error["message"], &error["detail"], &error["detail"][0]["msg"], within, &within[0]["msg"]];
    let message = found.into_iter().find_map(Value::as_str)?;
    let message = match error["metadata"]["raw"].as_str() {
        Some(behind) => format!("{message}: {behind}"),
        None => message.to_owned(),
    };
    Some(one_line(&message, MAX_MESSAGE))
}

/// One sentence for a text that is no JSON: the title of a page, or its first words.
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

/// Where the title's text lies in a page in lower case.
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

/// A word or name that a provider gave, on one line and not too long.
pub(super) fn short(text: &str) -> String {
    one_line(text, 100)
}

/// `text` with white space and control characters collapsed, cut after `limit` characters. Secrets are
/// taken out before, since what is cut in two is not known any more.
pub(in super::super) fn one_line(text: &str, limit: usize) -> String {
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
