//! What both sides are asked about a session, in a form that can be compared.

use compaction_core::json::{self, Json};

use super::requests::Request;

/// The answers at one leaf. Messages are canonical JSON text, entries positions in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) context: Vec<String>,
    pub(crate) thinking_level: String,
    pub(crate) model: String,
    /// Tokens, usage tokens, trailing tokens.
    pub(crate) tokens: [u64; 3],
    pub(crate) estimates: Vec<u64>,
    pub(crate) llm: Vec<String>,
    /// Each message of the context as a summarizer reads it.
    pub(crate) texts: Vec<String>,
    pub(crate) preparation: Option<Preparation>,
    pub(crate) requests: Vec<Request>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Preparation {
    pub(crate) first_kept: usize,
    pub(crate) is_split_turn: bool,
    pub(crate) history: Vec<String>,
    pub(crate) turn_prefix: Vec<String>,
    pub(crate) tokens_before: u64,
    pub(crate) previous_summary: Option<String>,
    pub(crate) files: Files,
}

/// Sorted lists of paths, each as JSON text since the peer lets anything into them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Files {
    pub(crate) read: Vec<String>,
    pub(crate) written: Vec<String>,
    pub(crate) edited: Vec<String>,
}

impl Files {
    /// Adds other lists behind these.
    pub(crate) fn extend(&mut self, others: &Files) {
        self.read.extend(others.read.iter().cloned());
        self.written.extend(others.written.iter().cloned());
        self.edited.extend(others.edited.iter().cloned());
    }
}

/// Where a navigation meets and what it leaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Navigation {
    pub(crate) common_ancestor: Option<usize>,
    pub(crate) entries: Vec<usize>,
}

/// Compact JSON with sorted members, so that equal values have equal texts.
pub(crate) fn canonical(value: &Json<'_>) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        Json::Object(members) => {
            let mut members: Vec<String> = members
                .iter()
                .map(|(key, value)| format!("{}:{}", json::encode_string(key), canonical(value)))
                .collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
        other => other.to_compact(),
    }
}

impl Answer {
    /// The first difference, in a few lines; `None` if there is none.
    pub(crate) fn difference(&self, expected: &Answer) -> Option<String> {
        list("context", &self.context, &expected.context)
            .or_else(|| list("estimates", &self.estimates, &expected.estimates))
            .or_else(|| value("thinking level", &self.thinking_level, &expected.thinking_level))
            .or_else(|| value("model", &self.model, &expected.model))
            .or_else(|| value("tokens", &self.tokens, &expected.tokens))
            .or_else(|| list("llm", &self.llm, &expected.llm))
            .or_else(|| list("texts", &self.texts, &expected.texts))
            .or_else(|| match (&self.preparation, &expected.preparation) {
                (Some(ours), Some(expected)) => ours.difference(expected),
                (ours, expected) => value("preparation", ours, expected),
            })
            .or_else(|| list("requests", &self.requests, &expected.requests))
    }
}

impl Preparation {
    pub(crate) fn difference(&self, expected: &Preparation) -> Option<String> {
        value("first kept entry", &self.first_kept, &expected.first_kept)
            .or_else(|| value("split turn", &self.is_split_turn, &expected.is_split_turn))
            .or_else(|| list("history", &self.history, &expected.history))
            .or_else(|| list("turn prefix", &self.turn_prefix, &expected.turn_prefix))
            .or_else(|| value("tokens before", &self.tokens_before, &expected.tokens_before))
            .or_else(|| value("previous summary", &self.previous_summary, &expected.previous_summary))
            .or_else(|| value("files", &self.files, &expected.files))
    }
}

pub(crate) fn value<T: PartialEq + std::fmt::Debug>(name: &str, ours: &T, expected: &T) -> Option<String> {
    (ours != expected).then(|| format!("{name}\n    ours     {}\n    expected {}", short(ours), short(expected)))
}

pub(crate) fn list<T: PartialEq + std::fmt::Debug>(name: &str, ours: &[T], expected: &[T]) -> Option<String> {
    let at = (0..ours.len().max(expected.len())).find(|at| ours.get(*at) != expected.get(*at))?;
    let (ours_length, expected_length) = (ours.len(), expected.len());
    value(&format!("{name}[{at}] of {ours_length}, expected {expected_length}"), &ours.get(at), &expected.get(at))
}

fn short(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}").chars().take(1500).collect()
}
