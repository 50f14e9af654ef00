//! The table of error texts (`table.txt`).

use crate::phrases::{Table, listed, table};

const TEXTS: [Table; 1] = [table!("table.txt")];

/// Limits on requests or tokens per time. They are checked first, because they mention tokens too.
pub(super) const RATE_LIMIT: &[&str] = listed!(TEXTS, "rate limits");

/// Budgets and balances that are used up.
pub(super) const QUOTA: &[&str] = listed!(TEXTS, "quotas");

/// Whether the text names an exhausted budget beside words of a rate limit. Waiting does not help then.
pub(super) fn is_hard_quota(text: &str) -> bool {
    ["insufficient_quota", "credit balance", "insufficient balance"].iter().any(|word| text.contains(word))
}

/// Texts of any provider that mean that a context is too large.
pub(super) const OVERFLOW: &[&str] = listed!(TEXTS, "overflow");

/// The provider or its servers cannot answer now.
pub(super) const OVERLOADED: &[&str] = listed!(TEXTS, "overloaded");

/// The key or the account is refused.
pub(super) const AUTHENTICATION: &[&str] = listed!(TEXTS, "authentication");

/// A rejection that means overflow for one provider only.
pub(super) struct ProviderRule {
    /// The provider's id.
    pub(super) provider: &'static str,
    /// The status codes.
    pub(super) codes: &'static [u16],
    /// Whether they count even if the response had a body.
    pub(super) with_body: bool,
    /// Texts that mean it whatever the code.
    pub(super) texts: &'static [&'static str],
}

pub(super) const PROVIDER_OVERFLOW: &[ProviderRule] = &[
    ProviderRule { provider: "cerebras", codes: &[400, 413], with_body: false, texts: &[] },
    // Copilot's gateway rejects large bodies with a text that names no size.
    ProviderRule { provider: "github-copilot", codes: &[413], with_body: true, texts: &[] },
    ProviderRule { provider: "zai", codes: &[], with_body: false, texts: &["\"code\":\"1261\""] },
];

/// Words after a count of input tokens.
pub(super) const INPUT_COUNTS: &[&str] = listed!(TEXTS, "input counts");

/// Words after a count of output tokens.
pub(super) const OUTPUT_COUNTS: &[&str] = listed!(TEXTS, "output counts");

/// Words before a count of output tokens.
pub(super) const BEFORE_OUTPUT: &[&str] = listed!(TEXTS, "before output");

/// Words before a count of input tokens.
pub(super) const BEFORE_INPUT: &[&str] = listed!(TEXTS, "before input");

/// Words before a count of all tokens of a request.
pub(super) const BEFORE_TOTAL: &[&str] = listed!(TEXTS, "before total");

/// Words before a limit.
pub(super) const BEFORE_LIMIT: &[&str] = listed!(TEXTS, "before limit");

/// Words after a limit.
pub(super) const AFTER_LIMIT: &[&str] = listed!(TEXTS, "after limit");

/// Words before a limit, with the name of a model in between.
pub(super) const NAMED_LIMIT: &str = "maximum context length of";

/// Units of numbers that do not count tokens.
pub(super) const OTHER_UNITS: &[&str] = listed!(TEXTS, "other units");

/// Names of the parameter that limits the output.
pub(super) const OUTPUT_PARAMETERS: &[&str] = listed!(TEXTS, "output parameters");

/// Words for the input. `message` alone is not one of them: every JSON error has one.
pub(super) const INPUT_WORDS: &[&str] = listed!(TEXTS, "input words");

/// Words that say that there is too much of something.
pub(super) const EXCESS: &[&str] = listed!(TEXTS, "excess");

/// Words for the window of a model or its whole content.
pub(super) const WINDOW: &[&str] = listed!(TEXTS, "window");

/// Words for the content of a conversation. They mean the window together with [`OF_MODELS`].
pub(super) const CONVERSATION: &[&str] = listed!(TEXTS, "conversation");
/// Words that distinguish the limit of a model from other limits.
pub(super) const OF_MODELS: &[&str] = listed!(TEXTS, "of models");

/// Words for other things that are too large, which no smaller context cures. Such errors name the
/// thing in the same sentence.
pub(super) const OTHER_THINGS: &[&str] = listed!(TEXTS, "other things");

/// Introductions by which frameworks mark any error of a request. They do not refer to the input.
pub(super) const INTRODUCTIONS: &[&str] = listed!(TEXTS, "introductions");
