//! How much well-known models write at most, for settings that do not say it.
//!
//! The table is data with a date (`known_models.json`): what providers state of their models, by the
//! names that families have in common. A model that is not in it has no limit that is known, and one
//! that has grown since says so itself when it refuses or cuts off an answer.

use std::sync::LazyLock;

use serde::Deserialize;

#[derive(Deserialize)]
struct Table {
    models: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    max_output_tokens: u64,
}

static TABLE: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    // A test reads it: the text is part of the program.
    serde_json::from_str::<Table>(include_str!("known_models.json")).map(|table| table.models).unwrap_or_default()
});

/// Most output tokens of a model, by the longest name of the table that its own holds between
/// borders of words. Gateways put their own names before that of a model.
pub(super) fn max_output_tokens(model: &str) -> Option<u64> {
    let model = model.to_ascii_lowercase();
    let known = TABLE.iter().filter(|entry| holds(&model, &entry.name));
    known.max_by_key(|entry| entry.name.len()).map(|entry| entry.max_output_tokens)
}

/// Whether `model` holds `name`, neither within a word nor before the rest of a number.
fn holds(model: &str, name: &str) -> bool {
    model.match_indices(name).any(|(at, _)| {
        let (before, after) = (&model[..at], &model[at + name.len()..]);
        let is_number = |text: &str| text.starts_with('.') && text[1..].starts_with(|next: char| next.is_ascii_digit());
        !before.ends_with(|last: char| last.is_ascii_alphanumeric() || last == '-')
            && !after.starts_with(|next: char| next.is_ascii_alphanumeric())
            && !is_number(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(model: &str, expected: Option<u64>) {
        assert_eq!(max_output_tokens(model), expected, "{model}");
    }

    #[test]
    fn models_are_known_by_their_families() {
        assert!(TABLE.len() > 40);
        check("claude-3-haiku-20240307", Some(4096));
        check("claude-opus-4-1@20250805", Some(32_000));
        check("anthropic/claude-sonnet-4.5", Some(64_000));
        check("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(64_000));
        check("gpt-4o-mini", Some(16_384));
        check("gpt-4", Some(4096));
        check("gpt-4.1-nano", Some(32_768));
        check("openai/gpt-5.1-chat-latest", Some(16_384));
        check("models/gemini-2.5-flash", Some(65_536));
        check("us.amazon.nova-pro-v1:0", Some(10_000));
    }

    #[test]
    fn other_models_have_no_limit() {
        for unknown in
            ["qwen3:8b", "gpt-4.9", "my-gpt-4", "gpt-45", "llama3.1", "o10", "claude-sonnet-9", "gpt-test", ""]
        {
            check(unknown, None);
        }
    }
}
