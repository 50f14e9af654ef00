//! The table of error texts. A new text is a new row here and a line in the test fixture.

use super::pattern::Pattern;

/// Limits on requests or tokens in a span of time. These come first: they speak of tokens too.
pub(super) const RATE_LIMIT: &[Pattern] = &[
    &["rate limit"],
    &["rate_limit"],
    &["ratelimit"],
    &["rate-limit"],
    &["too many requests"],
    &["throttl"],
    &["slow down"],
    &["too many tokens", "please wait"],
    &["too many tokens", "try again"],
    &["tokens per min"],
    &["per minute"],
    &["per-minute"],
    &["perminute"],
    &["per second"],
    &["per day"],
    &["(tpm)"],
    &["(rpm)"],
    &["resource_exhausted"],
    &["resource exhausted"],
    &["resource has been exhausted"],
    &["concurrency limit"],
];

/// Budgets and balances that are used up.
pub(super) const QUOTA: &[Pattern] = &[
    &["insufficient_quota"],
    &["insufficient quota"],
    &["insufficient balance"],
    &["insufficient credit"],
    &["insufficient_credit"],
    &["insufficient funds"],
    &["credit balance", "too low"],
    &["out of credits"],
    &["quota exceeded"],
    &["quota_exceeded"],
    &["exceeded", "quota"],
    &["usage limit"],
    &["spending limit"],
    &["billing"],
    &["payment required"],
];

/// Whether the text names a budget of money beside words of a rate limit, so that waiting is no use.
pub(super) fn is_hard_quota(text: &str) -> bool {
    ["insufficient_quota", "credit balance", "insufficient balance"].iter().any(|word| text.contains(word))
}

/// Texts that mean a context too large, whoever sends them.
pub(super) const OVERFLOW: &[Pattern] = &[
    // Codes that mean nothing else.
    &["context_length_exceeded"],
    &["context_window_exceeded"],
    &["contextwindowexceeded"],
    &["context_window_exceeds"],
    &["max_prompt_tokens_exceeded"],
    &["request_too_large"],
    &["exceed_context_size"],
    // Anthropic; also Ollama and z.ai, which leave out "is".
    &["prompt is too long"],
    &["prompt too long"],
    &["input length and", "exceed context limit"],
    // Amazon Bedrock.
    &["input is too long for"],
    &["too many input tokens"],
    // OpenAI, vLLM, and the many that answer like them.
    &["exceeds the context window"],
    &["exceeds", "context window"],
    &["context window exceed"],
    &["context window is full"],
    &["maximum context length is #"],
    &["exceed", "maximum context length"],
    &["exceed", "max context length"],
    &["longer than", "context length"],
    &["greater than", "context length"],
    &["larger than", "context length"],
    &["too large for", "context length"],
    &["context length exceeded"],
    &["context length", "exceeded"],
    &["longest supported context"],
    &["exceeds the maximum number of tokens"],
    // Google.
    &["input token count", "exceeds the maximum"],
    &["input token count", "exceeds the limit"],
    // xAI.
    &["maximum prompt length is #"],
    // Groq.
    &["reduce the length of the messages"],
    &["reduce the length of the input prompt"],
    &["reduce your prompt"],
    // GitHub Copilot.
    &["prompt token count of #", "exceeds the limit of #"],
    // llama.cpp and DS4.
    &["exceeds the available context size"],
    &["prompt has #", "context size is #"],
    // Kimi, LiteLLM's check before the call.
    &["exceeded model token limit"],
    &["requested token count exceeds"],
    // Poolside, DashScope.
    &["exceeds the maximum allowed input length"],
    &["range of input length should be"],
    &["input length", "exceeds", "maximum"],
    // z.ai.
    &["tokens in request more than max tokens allowed"],
    &["prompt exceeds max length"],
    &["exceeds max", "tokens allowed"],
    &["token limit exceeded"],
    &["too many tokens", "context"],
    &["too many tokens in", "prompt"],
    &["too many tokens in", "request"],
];

/// The provider or its servers cannot answer now.
pub(super) const OVERLOADED: &[Pattern] = &[
    &["overloaded"],
    &["service unavailable"],
    &["service_unavailable"],
    &["serviceunavailable"],
    &["temporarily unavailable"],
    &["bad gateway"],
    &["gateway timeout"],
    &["internal server error"],
    &["at capacity"],
    &["no capacity"],
];

/// The key or the account is refused.
pub(super) const AUTHENTICATION: &[Pattern] = &[
    &["incorrect api key"],
    &["invalid api key"],
    &["invalid x-api-key"],
    &["invalid_api_key"],
    &["api key not valid"],
    &["no api key"],
    &["missing api key"],
    &["authentication_error"],
    &["authentication failed"],
    &["permission_error"],
    &["permission denied"],
    &["unauthorized"],
    &["unauthenticated"],
    &["forbidden"],
    &["token", "expired"],
];

/// A rejection that means overflow with one provider only.
pub(super) struct ProviderRule {
    /// The provider's id.
    pub(super) provider: &'static str,
    /// The status codes.
    pub(super) codes: &'static [u16],
    /// Whether they mean it also where the answer had a body.
    pub(super) with_body: bool,
    /// Texts that mean it whatever the code.
    pub(super) texts: &'static [Pattern],
}

pub(super) const PROVIDER_OVERFLOW: &[ProviderRule] = &[
    ProviderRule { provider: "cerebras", codes: &[400, 413], with_body: false, texts: &[] },
    // Copilot's gateway answers a body that it will not take with a text that names no size.
    ProviderRule { provider: "github-copilot", codes: &[413], with_body: true, texts: &[] },
    ProviderRule { provider: "zai", codes: &[], with_body: false, texts: &[&["\"code\":\"1261\""]] },
];

/// What follows a count of input tokens.
pub(super) const INPUT_COUNTS: &[&str] = &[
    "of text input",
    "of tool input",
    "of image input",
    "of input",
    "in the messages",
    "in the functions",
    "in your prompt",
    "in the prompt",
    "input tokens",
    "tokens from the input",
    "tokens of input",
];

/// What follows a count of output tokens.
pub(super) const OUTPUT_COUNTS: &[&str] = &[
    "in the output",
    "in the completion",
    "for the completion",
    "output tokens",
    "tokens for the completion",
    "tokens in the completion",
];

/// Names of the parameter that bounds the output.
pub(super) const OUTPUT_PARAMETERS: &[&str] =
    &["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "maxtokens"];

/// Words for what goes in. `message` alone is none: every JSON error has one.
pub(super) const INPUT_WORDS: &[&str] = &["input", "prompt", "messages", "in the request", "you requested"];
