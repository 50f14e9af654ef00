//! Classifies the error texts of providers: is the context too large, or is it something else?
//!
//! Providers have no common code for a context that is too large, so a table of their texts decides.
//! Rate limits also speak of too many tokens, so they are recognised first (docs/triggers.md,
//! "Overflow").

mod pattern;
mod plain;
mod reported;
mod sentence;
mod status;
mod table;

use pattern::matches_any;
use plain::plain;
pub use reported::Reported;
use status::Status;

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The context is larger than the model's window: compact and try again.
    Overflow,
    /// Too many requests or tokens per time: wait and try again.
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

/// Whether the error says that the context is too large for the model and a smaller one would be
/// accepted. `provider` is the provider's id in messages; a few texts count only for some providers.
pub fn is_overflow(provider: Option<&str>, error_message: &str) -> bool {
    classify(provider, error_message) == ErrorClass::Overflow
}

/// The class of an error. `provider` is the provider's id in messages.
///
/// Input and output that are too large together are an overflow if a smaller context would be accepted.
/// If the output alone fills the window, they are something else.
pub fn classify(provider: Option<&str>, error_message: &str) -> ErrorClass {
    let text = plain(error_message);
    let status = Status::of(&text);
    match class_of_size(provider, &text, status) {
        Ok(numbers) if numbers.is_curable() => ErrorClass::Overflow,
        Ok(_) => ErrorClass::Other,
        Err(class) => class.unwrap_or_else(|| classify_rest(&text, status)),
    }
}

/// The numbers of an error about a request that is too large for the model, because of its context or
/// its output. `None` for any other error.
pub fn refused_size(provider: Option<&str>, error_message: &str) -> Option<Reported> {
    let text = plain(error_message);
    class_of_size(provider, &text, Status::of(&text)).ok()
}

/// The numbers of a text about a request that is too large. Otherwise the class of a rate limit or
/// quota, if the text is about one.
fn class_of_size(provider: Option<&str>, text: &str, status: Status) -> Result<Reported, Option<ErrorClass>> {
    if status.code == Some(429) && !matches_any(text, table::QUOTA)
        || matches_any(text, table::RATE_LIMIT) && !table::is_hard_quota(text)
    {
        return Err(Some(ErrorClass::RateLimit));
    }
    if status.code == Some(402) || matches_any(text, table::QUOTA) {
        return Err(Some(ErrorClass::Quota));
    }
    let names_size = matches_any(text, table::OVERFLOW) || sentence::names_size(text);
    let is_overflow = names_size && !is_about_output_alone(text);
    match is_overflow || is_too_large_by_status(text, status) || is_provider_overflow(provider, text, status) {
        true => Ok(Reported::of_plain(text)),
        false => Err(None),
    }
}

/// Whether the text has the status of a request that is too large, and says anything else. A bare
/// status may come from a proxy.
fn is_too_large_by_status(text: &str, status: Status) -> bool {
    let has_other_cause = table::OTHER_THINGS.iter().any(|thing| text.contains(thing));
    status.code == Some(413) && !status.is_bodyless && !has_other_cause
}

/// Rejections that mention no size, from providers that reject large contexts in this way.
fn is_provider_overflow(provider: Option<&str>, text: &str, status: Status) -> bool {
    let provider = provider.unwrap_or_default().to_lowercase();
    let rules = table::PROVIDER_OVERFLOW.iter().filter(|rule| rule.provider == provider);
    let applies = |rule: &table::ProviderRule| {
        let needs_no_body = !rule.with_body && !status.is_bodyless;
        status.code.is_some_and(|code| rule.codes.contains(&code)) && !needs_no_body || matches_any(text, rule.texts)
    };
    rules.into_iter().any(applies)
}

/// Whether the text complains about the requested output and does not mention the input. A smaller
/// context would be refused too (docs/field-reports.md, "Overflow texts").
fn is_about_output_alone(text: &str) -> bool {
    let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let input_words = || table::INTRODUCTIONS.iter().fold(text.to_owned(), |text, words| text.replace(words, ""));
    has(table::OUTPUT_PARAMETERS) && !table::INPUT_WORDS.iter().any(|word| input_words().contains(word))
}

fn classify_rest(text: &str, status: Status) -> ErrorClass {
    if matches!(status.code, Some(401 | 403)) || matches_any(text, table::AUTHENTICATION) {
        return ErrorClass::Authentication;
    }
    let is_failing = status.code.is_some_and(|code| (500..600).contains(&code));
    if is_failing || matches_any(text, table::OVERLOADED) {
        return ErrorClass::Overloaded;
    }
    ErrorClass::Other
}

#[cfg(test)]
mod tests;
