//! Whether a server has read the whole request. Some shorten what is larger than their window and answer
//! with success: the summary would be one of the end of the conversation, and nobody would know.

use compaction_core::trigger::is_part;
use serde_json::Value;

use crate::summarizers::{Answer, FailureKind, ModelError};

/// Members of a usage that together are what was read.
const INPUTS: [&str; 3] = ["input", "cacheRead", "cacheWrite"];

/// The error for an answer to a part of a request of at least `least` tokens, with the tokens that were
/// read; `None` where its usage may be that of the whole, or says nothing.
pub(super) fn missing(least: u64, answer: &Answer) -> Option<(ModelError, u64)> {
    let usage = answer.usage.as_ref()?;
    let read: u64 = INPUTS.iter().filter_map(|member| usage.get(member).and_then(Value::as_u64)).sum();
    let cause = format!(
        "the server read {read} tokens of a request that has at least {least}: it shortens what is larger than its \
         window; set the server's window (num_ctx with Ollama) and contextWindow to the same number"
    );
    is_part(read, least).then_some((ModelError { cause, kind: FailureKind::Overflow, retry_after: None }, read))
}

/// Tokens of the requests to make instead, where a server has read `read` of up to `sent`.
pub(super) fn smaller(sent: u64, read: u64) -> u64 {
    (sent / 2).min(read - read / 8)
}

#[cfg(test)]
mod tests {
    use compaction_core::text::least_tokens;
    use serde_json::json;

    use super::*;
    use crate::summarizers::StopReason;

    #[test]
    fn a_usage_below_the_least_is_of_a_part() {
        let least = least_tokens("Write notes.") + least_tokens(&"some plain words of a person ".repeat(2000));
        let check = |usage: Option<Value>, expected: Option<u64>| {
            let answer = Answer { text: String::new(), stop: StopReason::Stop, usage };
            let found = missing(least, &answer);
            assert_eq!(found.as_ref().map(|(_, read)| *read), expected);
            if let Some((error, read)) = found {
                assert!(error.cause.contains(&read.to_string()) && error.cause.contains("12003"), "{}", error.cause);
            }
        };
        check(None, None);
        check(Some(json!({ "input": 14_000 })), None);
        check(Some(json!({ "input": 4096 })), Some(4096));
        check(Some(json!({ "input": 96, "cacheRead": 12_000 })), None);
        check(Some(json!({ "input": 12 })), None);
        check(Some(json!({})), None);
        assert_eq!((smaller(20_000, 4096), smaller(3000, 4096)), (3584, 1500));
    }
}
