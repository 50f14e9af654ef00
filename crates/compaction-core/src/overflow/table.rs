//! The table of error texts. A new text is a new row here, and a line in a fixture: `error-texts-field.jsonl` has those
//! that people reported, `error-texts-other.jsonl` those that only look like an overflow, `error-texts.jsonl` the rest.

use super::Pattern;

/// Limits on requests or tokens per time. They are checked first, because they mention tokens too.
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
    &["rate of input tokens"],
    &["usage increase rate"],
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
    &["more credits"],
];

/// Whether the text names an exhausted budget beside words of a rate limit. Waiting does not help then.
pub(super) fn is_hard_quota(text: &str) -> bool {
    ["insufficient_quota", "credit balance", "insufficient balance"].iter().any(|word| text.contains(word))
}

/// Texts of any provider that mean that a context is too large.
pub(super) const OVERFLOW: &[Pattern] = &[
    // Codes that mean nothing else.
    &["tokens_limit_reached"],
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
    &["input token count", "only supports up to"],
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
    // Cohere.
    &["too many tokens", "size limit exceeded"],
    &["too many tokens in", "prompt"],
    &["too many tokens in", "request"],
    // LM Studio.
    &["reached context length"],
    &["when context the overflows"],
    // SambaNova.
    &["maximum context length of", "will take # tokens"],
    // Hugging Face.
    &["inputs` tokens + `max_new_tokens` must be <"],
    // TabbyAPI.
    &["request length # + # is greater than"],
    // Limits of bytes: HTTP, gateways, Google, Amazon.
    &["request entity too large"],
    &["entity too large"],
    &["payload too large"],
    &["content too large"],
    &["request too large"],
    &["request body too large"],
    &["request body is too large"],
    &["maximum request body size"],
    &["payload size exceeds"],
    &["malformed input request: expected maxlength"],
    &["'body' failed to satisfy constraint", "length less than or equal to"],
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

/// A rejection that means overflow for one provider only.
pub(super) struct ProviderRule {
    /// The provider's id.
    pub(super) provider: &'static str,
    /// The status codes.
    pub(super) codes: &'static [u16],
    /// Whether they count even if the response had a body.
    pub(super) with_body: bool,
    /// Texts that mean it whatever the code.
    pub(super) texts: &'static [Pattern],
}

pub(super) const PROVIDER_OVERFLOW: &[ProviderRule] = &[
    ProviderRule { provider: "cerebras", codes: &[400, 413], with_body: false, texts: &[] },
    // Copilot's gateway rejects large bodies with a text that names no size.
    ProviderRule { provider: "github-copilot", codes: &[413], with_body: true, texts: &[] },
    ProviderRule { provider: "zai", codes: &[], with_body: false, texts: &[&["\"code\":\"1261\""]] },
];

/// Words after a count of input tokens.
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
    "inputs` tokens",
    "tokens from the input",
    "tokens of input",
];

/// Words after a count of output tokens.
pub(super) const OUTPUT_COUNTS: &[&str] = &[
    "in the output",
    "in the completion",
    "for the completion",
    "output tokens",
    "max_new_tokens",
    "tokens for the completion",
    "tokens in the completion",
];

/// Words before a count of output tokens.
pub(super) const BEFORE_OUTPUT: &[&str] =
    &["(max_tokens", "max_tokens is too large", "max_completion_tokens' is too large"];

/// Words before a count of input tokens.
pub(super) const BEFORE_INPUT: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "input token count",
    "input token count is",
    "token count of",
    "prompt contains",
    "prompt has",
    "request contains",
    "request (",
    "the input (",
    "input length",
    "prompt (length",
    "prompt length",
    "prompt_tokens",
    "keep the first",
    "resulted in",
    "tokens. given",
];

/// Words before a count of all tokens of a request.
pub(super) const BEFORE_TOTAL: &[&str] = &[
    "you requested about",
    "you requested a total of",
    "you requested",
    "requested",
    "requested tokens",
    "current length is",
    "received",
    "max_total_tokens",
    "will take",
    "number of tokens",
];

/// Words before a limit.
pub(super) const BEFORE_LIMIT: &[&str] = &[
    "context length is",
    "context length of",
    "context length of only",
    "context length",
    "context size is",
    "context size of",
    "context size",
    "context window is",
    "context window of",
    "context window",
    "token limit",
    "tokens allowed",
    "prompt length is",
    "exceeds the limit of",
    "exceed the limit of",
    "while limit is",
    "input length should be [1,",
    "maximum input length",
    "allowed input length of",
    "allowed input length",
    "allowed length",
    "allowed token size",
    "model length of",
    "must be <",
    "must have less than",
    "max_seq_len",
    "max_model_len",
    "n_ctx",
    "cannot exceed",
    "only supports up to",
    "max size",
    "sequence length",
];

/// Words after a limit.
pub(super) const AFTER_LIMIT: &[&str] = &["maximum context length"];

/// Words before a limit, with the name of a model in between.
pub(super) const NAMED_LIMIT: &str = "maximum context length of";

/// Units of numbers that do not count tokens.
pub(super) const OTHER_UNITS: &[&str] =
    &["bytes", "byte", "kb", "mb", "gb", "characters", "chars", "pixels", "ms", "seconds"];

/// Names of the parameter that limits the output.
pub(super) const OUTPUT_PARAMETERS: &[&str] =
    &["max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "maxoutputtokens", "maxtokens"];

/// Words for the input. `message` alone is not one of them: every JSON error has one.
pub(super) const INPUT_WORDS: &[&str] = &["input", "prompt", "messages", "in the request", "you requested"];

/// Words that say that there is too much of something.
pub(super) const EXCESS: &[&str] = &[
    "exceed",
    "too long",
    "too large",
    "too big",
    "too many",
    "longer than",
    "larger than",
    "greater than",
    "bigger than",
    "more than",
    "must be less than",
    "must be smaller than",
    "must have less than",
    "must be <",
    "less than or equal to",
    "over the limit",
    "above the limit",
    "ran out of",
    "run out of",
    "overflow",
    "not fit",
    "not enough",
    "is full",
];

/// Words for the window of a model or its whole content.
pub(super) const WINDOW: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "context limit",
    "context_length",
    "context_window",
    "context overflow",
    "max_seq_len",
    "max_model_len",
    "model length",
    "sequence length",
    "maximum prompt",
    "prompt length",
    "prompt size",
    "prompt limit",
    "input length",
    "input size",
    "input limit",
    "input token",
    "prompt token",
    "prompt_tokens",
    "token limit",
    "tokens limit",
    "token count",
    "number of tokens",
    "tokens in request",
    "n_ctx",
];

/// Words for the content of a conversation. They mean the window together with [`OF_MODELS`].
pub(super) const CONVERSATION: &[&str] = &["prompt", "conversation", "messages", "message", "input"];
/// Words that distinguish the limit of a model from other limits.
pub(super) const OF_MODELS: &[&str] = &["token", "model", "context"];

/// Words for other things that are too large, which no smaller context cures. Such errors name the
/// thing in the same sentence.
pub(super) const OTHER_THINGS: &[&str] = &[
    "image",
    "pixel",
    "audio",
    "video",
    "pdf",
    "file",
    "string too long",
    "array too long",
    "string should have",
    "tool_calls",
    "response exceed",
    "response (",
    "output token",
    "function",
    "embedding",
    "call stack",
    "redirect",
    "memory",
    "timeout",
    "timed out",
    "deadline",
    "stop sequence",
    "budget_tokens",
    // Lower bounds: the value is too small.
    "must be greater than or equal",
    "should be greater than or equal",
];

/// Introductions by which frameworks mark any error of a request. They do not refer to the input.
pub(super) const INTRODUCTIONS: &[&str] = &["input validation error", "validation error", ": input should be"];
