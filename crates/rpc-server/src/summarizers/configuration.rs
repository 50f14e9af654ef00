//! What the settings say of models: `compactd.summarizers.<name>`, an object for each.
//!
//! Keys are not among it: settings name the variable of the environment that holds one. Unknown
//! members are kept and ignored, as everywhere in the settings.

mod base_url;
mod members;

use std::time::Duration;

use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::ModelLimits;
use super::secret::Secret;
use crate::errors::RpcError;
pub use base_url::BaseUrl;
use members::Members;

/// Where the settings of summarizers stand.
const PATH: &str = "compactd.summarizers";

/// Summarizers that need no settings of their own, so that none are read here.
const WITHOUT_MODEL: [&str; 2] = ["extractive", "host"];

/// A model as the settings describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfiguration {
    /// The name by which it is chosen.
    pub name: String,
    /// What it reads and writes at most.
    pub limits: ModelLimits,
    /// How it is reached.
    pub access: Access,
}

/// How a model is reached.
#[derive(Debug, Clone, PartialEq)]
pub enum Access {
    /// By requests to a server.
    Http(HttpConfiguration),
    /// By running a program.
    Command(CommandConfiguration),
}

/// A model behind a server.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpConfiguration {
    /// What the server speaks.
    pub api: Api,
    /// The model's name there.
    pub model: String,
    /// Where the server is.
    pub base_url: BaseUrl,
    /// Whether that is the provider's own server, which takes no request without a key.
    pub is_own_server: bool,
    /// The variable that holds the key; `None` sends no key.
    pub key_variable: Option<String>,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderText)>,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// Members for the request's body, over those that are sent anyway; `null` takes one away.
    pub extra_body: Map<String, Value>,
    /// The member of a chat request that bounds the answer.
    pub max_tokens_parameter: &'static str,
}

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's messages.
    Messages,
    /// OpenAI's chat completions, and everything that is compatible with them.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Google's `streamGenerateContent`.
    Gemini,
}

/// The text of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderText {
    /// The text itself. It is shown by nothing, since people put keys there all the same.
    Text(Secret),
    /// What a variable of the environment holds, behind a prefix such as `Bearer `.
    Variable {
        /// The variable's name.
        name: String,
        /// What stands before its value.
        prefix: String,
    },
}

/// How long to wait for a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the connection, name lookup and TLS included.
    pub connect: Duration,
    /// For the first byte of the answer: a server may read a long prompt, and think, in silence.
    pub first_byte: Duration,
    /// For each further byte.
    pub idle: Duration,
}

/// A model behind a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandConfiguration {
    /// The program: a path, or a name to look up in `PATH`.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Variables beside those that it inherits.
    pub variables: Vec<(String, String)>,
}

/// Providers by their names in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Anthropic,
    OpenAi,
    Gemini,
    Command,
}

const PROVIDERS: [(&str, Provider); 4] = [
    ("anthropic", Provider::Anthropic),
    ("openai", Provider::OpenAi),
    ("gemini", Provider::Gemini),
    ("command", Provider::Command),
];

/// Names of models that the settings may choose: those of the providers, then those that the
/// settings define, without doubles.
pub fn model_names(settings: &Value) -> Vec<&str> {
    let defined = defined(settings).map(|(name, _)| name.as_str());
    let further = defined.filter(|name| PROVIDERS.iter().all(|(provider, _)| provider != name));
    PROVIDERS.iter().map(|(name, _)| *name).chain(further).collect()
}

/// Checks all that the settings say of models. Fails with `invalidSettings` at the first wrong value.
pub fn check(settings: &Value) -> Result<(), RpcError> {
    if settings["compactd"].get("summarizers").is_some_and(|value| !value.is_object()) {
        return Err(wrong(PATH, "an object"));
    }
    defined(settings).try_for_each(|(name, _)| ModelConfiguration::read(name, settings).map(|_| ()))
}

/// The models that the settings define.
fn defined(settings: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let all = settings["compactd"]["summarizers"].as_object();
    all.into_iter().flatten().filter(|(name, value)| !WITHOUT_MODEL.contains(&name.as_str()) && !value.is_null())
}

fn wrong(path: &str, expected: &str) -> RpcError {
    RpcError::InvalidSettings { path: path.to_owned(), expected: expected.to_owned(), file: None }
}

impl ModelConfiguration {
    /// What the merged settings say of the model with this name. Fails with `invalidSettings`, also
    /// if they say too little of it.
    pub fn read(name: &str, settings: &Value) -> Result<Self, RpcError> {
        let path = format!("{PATH}.{name}");
        let is_provider = PROVIDERS.iter().any(|(provider, _)| *provider == name);
        let members = match settings["compactd"]["summarizers"].get(name) {
            Some(Value::Object(object)) => Members::new(path, Some(object)),
            None | Some(Value::Null) if is_provider => Members::new(path, None),
            _ => return Err(wrong(&path, "an object that describes a model")),
        };
        let context_window = members.tokens("contextWindow")?;
        let limits = ModelLimits { context_window, max_output_tokens: members.tokens("maxOutputTokens")? };
        Ok(Self { name: name.to_owned(), limits, access: access(name, &members)? })
    }
}

fn access(name: &str, members: &Members<'_>) -> Result<Access, RpcError> {
    let of_name = PROVIDERS.iter().find(|(provider, _)| *provider == name).map(|(_, provider)| *provider);
    let provider = members.word("provider", &PROVIDERS)?.or(of_name);
    match provider {
        Some(Provider::Command) => command(members).map(Access::Command),
        Some(provider) => http(provider, members).map(Access::Http),
        None => Err(members.wrong("provider", "one of: anthropic, openai, gemini, command")),
    }
}

fn http(provider: Provider, members: &Members<'_>) -> Result<HttpConfiguration, RpcError> {
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

/// The name of an environment variable, if it can be one.
fn variable(name: &str) -> Option<&str> {
    (!name.is_empty() && !name.contains(['=', '\0'])).then_some(name)
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

fn command(members: &Members<'_>) -> Result<CommandConfiguration, RpcError> {
    let words = members.value("command").and_then(Value::as_array);
    let words: Option<Vec<&str>> = words.and_then(|words| words.iter().map(Value::as_str).collect());
    let is_plain = |words: &Vec<&str>| words.iter().all(|word| !word.contains('\0'));
    let words = words.filter(is_plain).unwrap_or_default();
    let (program, arguments) = words
        .split_first()
        .filter(|(program, _)| !program.is_empty())
        .ok_or_else(|| members.wrong("command", "a list of texts: a program and its arguments"))?;
    Ok(CommandConfiguration {
        program: (*program).to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        variables: variables(&members.object("env")?)?,
    })
}

fn variables(members: &Members<'_>) -> Result<Vec<(String, String)>, RpcError> {
    let given = members.all().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| {
            let text = value.as_str().filter(|text| !text.contains('\0'));
            let pair = variable(name).zip(text).map(|(name, text)| (name.to_owned(), text.to_owned()));
            pair.ok_or_else(|| members.wrong(name, "the text of an environment variable"))
        })
        .collect()
}

#[cfg(test)]
mod tests;
