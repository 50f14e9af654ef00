//! What the settings say of a model behind a server.

use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::super::secret::Secret;
use super::members::Members;
use super::{Api, BaseUrl, HeaderText, HttpConfiguration, Provider, Timeouts, variable};
use crate::errors::RpcError;

/// Reads all of it.
pub(super) fn http(provider: Provider, members: &Members<'_>) -> Result<HttpConfiguration, RpcError> {
    let (own_server, key_variable) = own_server(provider);
    let base_url = members.text("baseUrl", BASE_URL)?.unwrap_or(own_server);
    let base_url = BaseUrl::parse(base_url).ok_or_else(|| members.wrong("baseUrl", BASE_URL))?;
    let api = members.word("api", &[("chat", Api::Chat), ("responses", Api::Responses)])?.unwrap_or(Api::Chat);
    let api = match provider {
        Provider::Anthropic => Api::Messages,
        Provider::Gemini => Api::Gemini,
        _ => api,
    };
    Ok(HttpConfiguration {
        api,
        model: model(api, members)?,
        is_own_server: BaseUrl::parse(own_server).is_some_and(|own| own.host() == base_url.host()),
        key_variable: key_variable_in(members, key_variable)?,
        headers: headers(&members.object("headers")?)?,
        timeouts: timeouts(members)?,
        extra_body: extra_body(members)?,
        max_tokens_parameter: max_tokens_parameter(members, &base_url)?,
        base_url,
    })
}

const BASE_URL: &str = "an http or https address without user, password and fragment";

fn own_server(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::Anthropic => ("https://api.anthropic.com", "ANTHROPIC_API_KEY"),
        Provider::Gemini => ("https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY"),
        Provider::OpenAi | Provider::Command => ("https://api.openai.com/v1", "OPENAI_API_KEY"),
    }
}

fn model(api: Api, members: &Members<'_>) -> Result<String, RpcError> {
    const NAME: &str = "the name of a model";
    let model = members.text("model", NAME)?.ok_or_else(|| members.wrong("model", NAME))?;
    // With Gemini the name becomes a part of the address.
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._/:@".contains(character);
    match api {
        Api::Gemini if !model.chars().all(is_plain) => Err(members.wrong("model", NAME)),
        _ => Ok(model.to_owned()),
    }
}

fn key_variable_in(members: &Members<'_>, default: &str) -> Result<Option<String>, RpcError> {
    const NAME: &str = "the name of an environment variable, or null";
    if members.has("apiKeyEnv") && members.value("apiKeyEnv").is_none() {
        return Ok(None);
    }
    let name = members.text("apiKeyEnv", NAME)?.unwrap_or(default);
    variable(name).map(|name| Some(name.to_owned())).ok_or_else(|| members.wrong("apiKeyEnv", NAME))
}

/// Headers that the protocol itself sets: another value would break it.
const OWN_HEADERS: [&str; 6] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"];

fn headers(members: &Members<'_>) -> Result<Vec<(HeaderName, HeaderText)>, RpcError> {
    let given = members.all().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| {
            let text = header_text(value).ok_or_else(|| {
                members.wrong(name, "a text, or {\"env\": the name of an environment variable, \"prefix\"?: text}")
            })?;
            let header = HeaderName::try_from(name.as_str()).ok();
            let header = header.filter(|header| !OWN_HEADERS.contains(&header.as_str()));
            header.map(|header| (header, text)).ok_or_else(|| members.wrong(name, "the name of a header of your own"))
        })
        .collect()
}

fn header_text(value: &Value) -> Option<HeaderText> {
    if let Some(text) = value.as_str() {
        let text = Secret::new(text);
        return text.header("").map(|_| HeaderText::Text(text));
    }
    let name = variable(value.get("env")?.as_str()?)?.to_owned();
    let prefix = value.get("prefix").map_or(Some(""), Value::as_str)?.to_owned();
    Secret::new("").header(&prefix).map(|_| HeaderText::Variable { name, prefix })
}

fn timeouts(members: &Members<'_>) -> Result<Timeouts, RpcError> {
    Ok(Timeouts {
        connect: members.milliseconds("connectTimeoutMs", 10_000)?,
        first_byte: members.milliseconds("firstByteTimeoutMs", 300_000)?,
        idle: members.milliseconds("idleTimeoutMs", 60_000)?,
    })
}

/// A summary is written without tools (field bug 63), and what is read is a stream of the model
/// that the settings name.
const OWN_MEMBERS: [&str; 8] =
    ["tools", "tool_choice", "toolConfig", "functions", "function_call", "stream", "model", "n"];

fn extra_body(members: &Members<'_>) -> Result<Map<String, Value>, RpcError> {
    let extra = members.object("extraBody")?;
    match OWN_MEMBERS.into_iter().find(|name| extra.has(name)) {
        Some(name) => Err(extra.wrong(name, "no such member: requests have no tools, one answer and a stream of it")),
        None => Ok(extra.all().map(|(name, value)| (name.clone(), value.clone())).collect()),
    }
}

/// OpenAI's own server wants `max_completion_tokens`; most others know the older name alone.
fn max_tokens_parameter(members: &Members<'_>, base_url: &BaseUrl) -> Result<&'static str, RpcError> {
    const NAMES: [(&str, &str); 2] = [("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")];
    let of_host = if base_url.host() == "api.openai.com" { "max_completion_tokens" } else { "max_tokens" };
    Ok(members.word("maxTokensParameter", &NAMES)?.unwrap_or(of_host))
}
