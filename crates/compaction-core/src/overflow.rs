//! What a provider's error text means: is the context too large, or is it something else?
//!
//! Providers have no common code for a context that is too large, so a table of their texts
//! decides. Texts of rate limits speak of too many tokens as well and are told apart first
//! (compaction spec, Triggers; field bugs 87 to 91).

mod pattern;
mod plain;
mod status;
mod table;

use pattern::matches_any;
use plain::plain;
use status::Status;

/// What an error means for whoever got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The context is larger than the model's window: compact and try again.
    Overflow,
    /// Too many requests or tokens in a span of time: wait and try again.
    RateLimit,
    /// A budget is used up: no retry helps.
    Quota,
    /// The key or the account is refused: no retry helps.
    Authentication,
    /// The provider is overloaded or failing: wait and try again.
    Overloaded,
    /// Something else.
    Other,
}

impl ErrorClass {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(self, ErrorClass::RateLimit | ErrorClass::Overloaded)
    }

    /// The class's name for a client.
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Overflow => "overflow",
            ErrorClass::RateLimit => "rateLimit",
            ErrorClass::Quota => "quota",
            ErrorClass::Authentication => "authentication",
            ErrorClass::Overloaded => "overloaded",
            ErrorClass::Other => "other",
        }
    }
}

/// Whether the error says that the context is too large for the model. `provider` is the
/// provider's id as messages name it; a few texts mean it with some providers only.
pub fn is_overflow(provider: Option<&str>, error_message: &str) -> bool {
    classify(provider, error_message) == ErrorClass::Overflow
}

/// What the error means. `provider` is the provider's id as messages name it.
pub fn classify(provider: Option<&str>, error_message: &str) -> ErrorClass {
    let text = plain(error_message);
    let status = Status::of(&text);
    if status.code == Some(429) && !matches_any(&text, table::QUOTA)
        || matches_any(&text, table::RATE_LIMIT) && !table::is_hard_quota(&text)
    {
        return ErrorClass::RateLimit;
    }
    if matches_any(&text, table::QUOTA) {
        return ErrorClass::Quota;
    }
    let is_overflow = matches_any(&text, table::OVERFLOW) && !is_about_output_alone(&text);
    if is_overflow || is_provider_overflow(provider, &text, status) {
        return ErrorClass::Overflow;
    }
    classify_rest(&text, status)
}

/// Rejections that say nothing of a size, from providers that reject large contexts that way.
fn is_provider_overflow(provider: Option<&str>, text: &str, status: Status) -> bool {
    let provider = provider.unwrap_or_default().to_lowercase();
    let rules = table::PROVIDER_OVERFLOW.iter().filter(|rule| rule.provider == provider);
    let applies = |rule: &table::ProviderRule| {
        let needs_no_body = !rule.with_body && !status.is_bodyless;
        status.code.is_some_and(|code| rule.codes.contains(&code)) && !needs_no_body || matches_any(text, rule.texts)
    };
    rules.into_iter().any(applies)
}

/// Whether the text complains of the output that was asked for and says nothing of the input, so that
/// a smaller context would be refused alike (field bug 90).
fn is_about_output_alone(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    has(table::OUTPUT_PARAMETERS) && !has(table::INPUT_WORDS)
}

fn classify_rest(text: &str, status: Status) -> ErrorClass {
    if matches!(status.code, Some(401 | 403)) || matches_any(text, table::AUTHENTICATION) {
        return ErrorClass::Authentication;
    }
    if matches!(status.code, Some(402)) {
        return ErrorClass::Quota;
    }
    let is_failing = status.code.is_some_and(|code| (500..600).contains(&code));
    if is_failing || matches_any(text, table::OVERLOADED) {
        return ErrorClass::Overloaded;
    }
    ErrorClass::Other
}

/// Tokens of input that an overflow text reports for the request, where it tells them from the
/// output that was asked for: a request may be refused for the output alone, and then compacting
/// helps nothing (field bug 90).
pub fn reported_input_tokens(error_message: &str) -> Option<u64> {
    let text = plain(error_message);
    let counted = pattern::counts_before(&text, table::INPUT_COUNTS);
    let names_parameter = table::OUTPUT_PARAMETERS.iter().any(|parameter| text.contains(parameter));
    let speaks_of_output = names_parameter || pattern::counts_before(&text, table::OUTPUT_COUNTS).next().is_some();
    let mut total = None;
    for count in counted {
        total = Some(total.unwrap_or(0u64).saturating_add(count));
    }
    total.filter(|_| speaks_of_output).or_else(|| pattern::summed_input(&text))
}

#[cfg(test)]
mod tests;
