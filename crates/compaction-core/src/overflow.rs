//! Classifies the error texts of providers: is the context too large, or is it something else?
//!
//! Providers have no common code for a context that is too large, so a table of their texts decides.
//! Rate limits also speak of too many tokens, so they are recognised first (docs/triggers.md,
//! "Overflow").

mod pattern;
mod table;

use pattern::{Number, matches_any, plain};

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
    let names_size = matches_any(text, table::OVERFLOW) || pattern::names_size(text);
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

/// The output must leave at least one part in this many of the limit for the input; otherwise no
/// context is small enough.
const LEAST_SHARE: u64 = 8;
/// A smaller number is not the limit of a model.
const LEAST_LIMIT: u64 = 256;

/// Sizes of a request, in tokens, as an error text names them. `None` for sizes that the text does not
/// name, or names in bytes or characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// The provider's limit: its window or its longest prompt.
    pub limit: Option<u64>,
    /// Tokens of input.
    pub input: Option<u64>,
    /// Tokens of requested output.
    pub output: Option<u64>,
    /// Input and output together, or a number of which the text says only that it is the request.
    pub total: Option<u64>,
}

impl Reported {
    /// Reads an error text.
    pub fn of(error_message: &str) -> Self {
        Self::of_plain(&plain(error_message))
    }

    /// Reads a text that is normalised already.
    fn of_plain(text: &str) -> Self {
        let mut found = pattern::sum(text).map_or_else(Self::default, |sum| Self {
            input: Some(sum.input),
            output: Some(sum.output),
            ..Self::default()
        });
        let has_sum = found.input.is_some();
        let mut inputs: Option<u64> = None;
        for number in pattern::numbers(text).filter(|number| !number.is_followed_by(table::OTHER_UNITS)) {
            if number.is_followed_by(table::INPUT_COUNTS) {
                inputs = Some(inputs.unwrap_or(0).saturating_add(number.value));
            } else if number.is_followed_by(table::OUTPUT_COUNTS) || number.follows(table::BEFORE_OUTPUT) {
                found.output.get_or_insert(number.value);
            } else if is_limit(&number) {
                found.limit.get_or_insert(number.value);
            } else if number.follows(table::BEFORE_INPUT) && !has_sum {
                found.input.get_or_insert(number.value);
            } else if number.follows(table::BEFORE_TOTAL) {
                found.total.get_or_insert(number.value);
            }
        }
        found.input = inputs.or(found.input);
        if let (None, Some(total), Some(output)) = (found.input, found.total, found.output) {
            found.input = total.checked_sub(output);
        }
        found.limit = found.limit.filter(|limit| *limit >= LEAST_LIMIT);
        found
    }

    /// Tokens that the requested output leaves for the input, if the limit is known.
    pub fn room(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.output.unwrap_or(0)))
    }

    /// Whether a smaller context would be accepted. It would not if the output takes nearly all of the
    /// limit.
    pub fn is_curable(&self) -> bool {
        match (self.limit, self.room()) {
            (Some(limit), Some(room)) => room >= limit / LEAST_SHARE,
            _ => true,
        }
    }

    /// Tokens that the provider counted for the request: its input, or the total if the text does not
    /// separate them.
    pub fn counted(&self) -> Option<u64> {
        self.input.or(self.total)
    }
}

fn is_limit(number: &Number<'_>) -> bool {
    number.follows(table::BEFORE_LIMIT)
        || number.is_followed_by(table::AFTER_LIMIT)
        || number.follows(&[" is"]) && number.is_near(table::NAMED_LIMIT)
        || number.follows(&[">"]) && number.follows_number_before(">")
}

/// The status of an error text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    /// The code, if the text names one.
    code: Option<u16>,
    /// Whether the text says that the answer had no body.
    is_bodyless: bool,
}

const INTRODUCTIONS: [&str; 14] = [
    "status code: ",
    "status code ",
    "status: ",
    "status ",
    "error code: ",
    "http/1.1 ",
    "http ",
    "\"status\":",
    "\"code\":",
    "\"message\":\"",
    "error: ",
    "exception - ",
    "http/2 ",
    "failed: ",
];

/// Forms of status 413 in parentheses. Other numbers in parentheses are counts.
const IN_PARENTHESES: [&str; 2] = ["(413)", "[413]"];

impl Status {
    /// Reads `text`, which is in lower case.
    fn of(text: &str) -> Self {
        let at_start = text.trim_start().trim_start_matches("error:").trim_start();
        let introduced = || {
            INTRODUCTIONS.iter().find_map(|introduction| {
                text.match_indices(introduction).find_map(|(at, found)| code_at(text[at + found.len()..].trim_start()))
            })
        };
        let in_parentheses = || IN_PARENTHESES.iter().any(|status| text.contains(status)).then_some(413);
        Self {
            code: code_at(at_start).or_else(introduced).or_else(in_parentheses),
            is_bodyless: text.contains("(no body)"),
        }
    }
}

/// The status code at the start of `text`: three digits from 400 to 599 that are not part of another
/// number or word.
fn code_at(text: &str) -> Option<u16> {
    let digits = text.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let is_whole = !text[3..].starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_'))
        && !is_separated_number(&text[3..]);
    digits.parse().ok().filter(|code| is_whole && (400..600).contains(code))
}

fn is_separated_number(after: &str) -> bool {
    let mut characters = after.chars();
    matches!(characters.next(), Some(',' | '.')) && characters.next().is_some_and(|next| next.is_ascii_digit())
}

#[cfg(test)]
mod tests;
