//! Prices and output limits of well-known models.
//!
//! Both tables are dated and name their sources. `prices.json` holds list prices; gateways and contracts may charge
//! others. `known_models.json` holds output limits by model family, for settings that give none. A model that is in
//! neither table has no known price and no known limit.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Price {
    /// Of input.
    input: f64,
    /// Of input from a cache.
    cached_input: f64,
    /// Of input that is written to a cache; the price of input where there is none.
    cache_write: Option<f64>,
    /// Of output.
    output: f64,
}

#[derive(Deserialize)]
struct Table<T> {
    models: Vec<T>,
}

#[derive(Deserialize)]
struct PricedModel {
    name: String,
    #[serde(flatten)]
    price: Price,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LimitedModel {
    name: String,
    max_output_tokens: u64,
}

static PRICES: LazyLock<Vec<PricedModel>> = LazyLock::new(|| read_table(include_str!("prices.json")));
static LIMITS: LazyLock<Vec<LimitedModel>> = LazyLock::new(|| read_table(include_str!("known_models.json")));

/// The rows of a bundled table. Tests check that both tables can be read.
fn read_table<T: DeserializeOwned>(text: &str) -> Vec<T> {
    serde_json::from_str::<Table<T>>(text).map(|table| table.models).unwrap_or_default()
}

const MILLION: f64 = 1_000_000.0;

impl Price {
    /// The price of a model. A gateway's prefix and a date may surround its name; another version or size is another
    /// model.
    pub(crate) fn of(model: &str) -> Option<Self> {
        let model = model.to_ascii_lowercase();
        let is_row = |entry: &&PricedModel| {
            model.match_indices(&entry.name).any(|(at, _)| {
                let is_inner = |last: char| last.is_ascii_alphanumeric() || last == '-';
                !model[..at].ends_with(is_inner) && is_date(&model[at + entry.name.len()..])
            })
        };
        PRICES.iter().find(is_row).map(|entry| entry.price)
    }

    /// The price of uncached input.
    pub(crate) fn input(&self, tokens: u64) -> f64 {
        tokens as f64 * self.input / MILLION
    }

    /// The price of cached input.
    pub(crate) fn cached(&self, tokens: u64) -> f64 {
        tokens as f64 * self.cached_input / MILLION
    }

    /// The price of cached input as a part of that of uncached input.
    pub(crate) fn cached_part(&self) -> f64 {
        self.cached_input / self.input
    }

    /// The price of requests with this usage; `None` where input or output is missing.
    pub(crate) fn of_usage(&self, usage: &Value) -> Option<f64> {
        let tokens = |member: &str| usage.get(member).and_then(Value::as_u64);
        let output = tokens("output")? as f64 * self.output / MILLION;
        let written = tokens("cacheWrite").unwrap_or(0) as f64 * self.cache_write.unwrap_or(self.input) / MILLION;
        Some(self.input(tokens("input")?) + self.cached(tokens("cacheRead").unwrap_or(0)) + written + output)
    }
}

/// Whether only a date, `latest`, or the version of an interface follows a name.
fn is_date(rest: &str) -> bool {
    let mut words = rest.split(['-', '@', ':']);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let is_year = |word: &str| word == "latest" || word.len() >= 4 && is_number(word);
    words.next() == Some("")
        && words.next().is_none_or(is_year)
        && words.all(|word| is_number(word) || matches!(word, "v1" | "v2"))
}

/// Maximum output tokens of a model, by the longest matching name of the table. The name must not be part of a longer
/// word; gateways put prefixes before it.
pub(super) fn max_output_tokens(model: &str) -> Option<u64> {
    let model = model.to_ascii_lowercase();
    let known = LIMITS.iter().filter(|entry| holds(&model, &entry.name));
    known.max_by_key(|entry| entry.name.len()).map(|entry| entry.max_output_tokens)
}

/// Whether `model` contains `name`, not within a word and not before the rest of a number.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn prices_are_known_by_families() {
        assert!(PRICES.len() > 15);
        let check = |model: &str, expected: Option<f64>| {
            assert_eq!(Price::of(model).map(|price| price.input), expected, "{model}");
        };
        check("claude-sonnet-4-5-20250929", Some(3.0));
        check("anthropic/claude-opus-4.1", Some(15.0));
        check("claude-opus-4-20250514", Some(15.0));
        check("claude-opus-4-5", Some(5.0));
        check("gpt-5-mini-2025-08-07", Some(0.25));
        check("gpt-5.1", Some(1.25));
        check("us.anthropic.claude-haiku-4-5-20251001-v1:0", Some(1.0));
        check("claude-sonnet-4-5@20250929", Some(3.0));
        check("claude-3-5-haiku-latest", Some(0.8));
        check("gpt-5", Some(1.25));
        check("claude-opus-4-9", None);
        check("gpt-5-pro", None);
        check("my-gpt-5", None);
        check("gpt-5-", None);
        check("qwen3:8b", None);
        check("gpt-5.9", None);
    }

    #[test]
    fn a_usage_costs_the_sum_of_its_parts() {
        let price = Price::of("claude-sonnet-4-5").unwrap();
        let usage = json!({ "input": 1000, "cacheRead": 150_000, "cacheWrite": 2000, "output": 3000 });
        let cost = price.of_usage(&usage).unwrap();
        assert!((cost - (0.003 + 0.045 + 0.0075 + 0.045)).abs() < 1e-9, "{cost}");
        assert_eq!(price.of_usage(&json!({})), None);
        assert!((price.cached_part() - 0.1).abs() < 1e-9);
    }

    fn check(model: &str, expected: Option<u64>) {
        assert_eq!(max_output_tokens(model), expected, "{model}");
    }

    #[test]
    fn models_are_known_by_their_families() {
        assert!(LIMITS.len() > 40);
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
