//! What the cases reach.

use std::collections::BTreeSet;

use serde_json::Value;

use super::case::{Initialize, Topic};
use super::steps::{Action, Answer, Step};

/// Methods that cases call and error codes that they expect.
#[derive(Debug, Default)]
pub struct Coverage {
    /// Methods with a case that expects a result (for notifications: that are sent).
    pub answered: BTreeSet<String>,
    /// Methods with a case that expects an error.
    pub refused: BTreeSet<String>,
    /// Methods with a case that sends a cancellation for them.
    pub cancelled: BTreeSet<String>,
    /// Notifications and requests of the server that some case expects.
    pub received: BTreeSet<String>,
    /// Error codes that some case expects.
    pub codes: BTreeSet<i64>,
}

/// What all of `topics` reach with a server of these abilities.
pub fn coverage(topics: &[Topic], abilities: &[String]) -> Coverage {
    let mut coverage = Coverage::default();
    let cases = topics.iter().flat_map(|topic| &topic.cases);
    for case in cases.filter(|case| case.is_for(abilities)) {
        if !matches!(case.initialize, Initialize::Usual(false)) {
            coverage.answered.insert("initialize".to_owned());
        }
        if !case.open.is_empty() {
            coverage.answered.insert("openSession".to_owned());
        }
        case.steps.iter().for_each(|step| coverage.step(step));
        coverage.cancellations(&case.steps);
    }
    coverage
}

impl Coverage {
    fn step(&mut self, step: &Step) {
        match &step.action {
            Action::Call(call) => self.answer(&call.method, &call.answer),
            Action::Send(send) => self.sent(&send.send),
            Action::Notification(expected) => drop(self.received.insert(expected.notification.clone())),
            Action::Request(expected) => drop(self.received.insert(expected.request.clone())),
            Action::Reply(reply) => self.codes(reply.answer.error.as_ref()),
            _ => {}
        }
        self.nested(&step.source);
    }

    fn answer(&mut self, method: &str, answer: &Answer) {
        let methods = if answer.error.is_some() { &mut self.refused } else { &mut self.answered };
        methods.insert(method.to_owned());
        self.codes(answer.error.as_ref());
        for pattern in answer.before.iter().chain(&answer.notifications) {
            self.received.extend(pattern.get("method").and_then(Value::as_str).map(str::to_owned));
        }
    }

    fn sent(&mut self, message: &Value) {
        for message in message.as_array().map_or(std::slice::from_ref(message), Vec::as_slice) {
            if message.get("id").is_none() {
                self.answered.extend(message.get("method").and_then(Value::as_str).map(str::to_owned));
            }
        }
    }

    fn codes(&mut self, pattern: Option<&Value>) {
        self.codes.extend(pattern.and_then(|pattern| pattern.get("code")).and_then(Value::as_i64));
    }

    /// Codes within the patterns of batches and notifications.
    fn nested(&mut self, source: &Value) {
        let params = if source.get("notification").is_some() { "params" } else { "before" };
        for member in ["batchReply", "either", "before", "notifications", params] {
            self.anywhere(source.get(member).unwrap_or(&Value::Null));
        }
    }

    fn anywhere(&mut self, pattern: &Value) {
        self.codes(pattern.get("error"));
        let items = pattern.as_array().into_iter().flatten();
        items
            .chain(pattern.as_object().into_iter().flat_map(|members| members.values()))
            .for_each(|inner| self.anywhere(inner));
    }

    /// Requests whose id some step of the same case cancels.
    fn cancellations(&mut self, steps: &[Step]) {
        let messages: Vec<&Value> = steps.iter().flat_map(|step| sent_messages(&step.source)).collect();
        let cancelled: Vec<&Value> = messages
            .iter()
            .filter(|message| message.get("method").and_then(Value::as_str) == Some("$/cancelRequest"))
            .filter_map(|message| message.pointer("/params/id"))
            .collect();
        let of_cancelled =
            messages.iter().filter(|message| message.get("id").is_some_and(|id| cancelled.contains(&id)));
        self.cancelled.extend(of_cancelled.filter_map(|message| message["method"].as_str()).map(str::to_owned));
    }
}

/// The messages that a step sends, batches and frames within bytes included.
fn sent_messages(source: &Value) -> Vec<&Value> {
    match source {
        Value::Object(members) if members.contains_key("method") && members.contains_key("jsonrpc") => vec![source],
        Value::Object(members) => members.values().flat_map(sent_messages).collect(),
        Value::Array(items) => items.iter().flat_map(sent_messages).collect(),
        _ => Vec::new(),
    }
}
