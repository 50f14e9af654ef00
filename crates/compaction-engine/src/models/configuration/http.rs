//! The settings of a model behind a server, and the address of its method.

use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::{
    Api, BaseUrl, HeaderText, HttpConfiguration, KeyCommand, KeyHeader, KeySource, Members, ProviderId, Timeouts,
    program, variable,
};
use crate::error::EngineError;
use crate::models::keys::Secret;

/// What is known of a provider. Settings take precedence.
pub(super) struct Provider {
    /// Its name in the settings.
    pub(super) name: &'static str,
    /// Its interfaces by their names in the member `api`. The first is the default. Where there is only one, that
    /// member is not read.
    apis: &'static [(&'static str, Api)],
    /// The address of its own server.
    own_address: fn(&Members<'_>) -> Result<String, EngineError>,
    /// The address of the method for an interface and a model.
    target: fn(Api, &BaseUrl, &str, &Members<'_>) -> Result<Target, EngineError>,
    /// The domains of its own servers.
    domains: &'static [&'static str],
    /// Its name in the answers of its own server, if they have one.
    conversation_provider: Option<&'static str>,
    /// Whether the address contains the model's name, so that only some characters are allowed.
    has_model_in_address: bool,
    /// Whether all its servers need `max_completion_tokens`.
    has_completion_tokens: bool,
    /// The environment variable of the key.
    key_variable: &'static str,
    /// The header of the key, and of a key that a program prints.
    key_header: KeyHeader,
    program_header: KeyHeader,
}

impl Provider {
    /// A provider with the usual values of the other members.
    const fn new(
        name: &'static str,
        key_variable: &'static str,
        domains: &'static [&'static str],
        own_address: fn(&Members<'_>) -> Result<String, EngineError>,
    ) -> Self {
        Self {
            name,
            apis: &[("chat", Api::Chat), ("responses", Api::Responses)],
            own_address,
            target: target_of_api,
            domains,
            conversation_provider: None,
            has_model_in_address: true,
            has_completion_tokens: false,
            key_variable,
            key_header: KeyHeader::Bearer,
            program_header: KeyHeader::Bearer,
        }
    }
}

/// The providers, in the order in which errors name them.
pub(super) static PROVIDERS: [Provider; 6] = [
    Provider {
        apis: &[("messages", Api::Messages)],
        conversation_provider: Some("anthropic"),
        has_model_in_address: false,
        key_header: KeyHeader::Plain("x-api-key"),
        program_header: KeyHeader::Plain("x-api-key"),
        ..Provider::new("anthropic", "ANTHROPIC_API_KEY", &["api.anthropic.com"], |_| {
            Ok("https://api.anthropic.com".to_owned())
        })
    },
    Provider {
        conversation_provider: Some("openai"),
        has_model_in_address: false,
        ..Provider::new("openai", "OPENAI_API_KEY", &["api.openai.com"], |_| Ok("https://api.openai.com/v1".to_owned()))
    },
    Provider {
        apis: &[("gemini", Api::Gemini)],
        key_header: KeyHeader::Plain("x-goog-api-key"),
        program_header: KeyHeader::Plain("x-goog-api-key"),
        ..Provider::new("gemini", "GEMINI_API_KEY", &["generativelanguage.googleapis.com"], |_| {
            Ok("https://generativelanguage.googleapis.com/v1beta".to_owned())
        })
    },
    Provider {
        target: azure,
        has_completion_tokens: true,
        // A program prints an Entra token, which is a bearer's.
        key_header: KeyHeader::Plain("api-key"),
        ..Provider::new("azure", "AZURE_OPENAI_API_KEY", AZURE_DOMAINS, |members| {
            Err(members.wrong("baseUrl", "the address of the resource: https://NAME.openai.azure.com"))
        })
    },
    Provider {
        apis: &[("converse", Api::Converse), ("messages", Api::Messages)],
        target: bedrock,
        ..Provider::new("bedrock", "AWS_BEARER_TOKEN_BEDROCK", &["amazonaws.com", "api.aws"], |members| {
            let region = place_name(members, "region")?;
            let region = region.ok_or_else(|| members.wrong("region", "the name of a region, or a baseUrl"))?;
            Ok(format!("https://bedrock-runtime.{region}.amazonaws.com"))
        })
    },
    Provider {
        apis: &[("messages", Api::VertexMessages)],
        target: vertex,
        ..Provider::new("vertex", "GOOGLE_OAUTH_ACCESS_TOKEN", &["googleapis.com"], |members| {
            Ok(match place_name(members, "region")?.unwrap_or(GLOBAL) {
                GLOBAL => "https://aiplatform.googleapis.com".to_owned(),
                // The two multi-regions have their own servers.
                region @ ("us" | "eu") => format!("https://aiplatform.{region}.rep.googleapis.com"),
                region => format!("https://{region}-aiplatform.googleapis.com"),
            })
        })
    },
];

const AZURE_DOMAINS: &[&str] = &["openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"];

/// Reads the configuration of a model behind a server.
pub(super) fn http(provider: &Provider, members: &Members<'_>) -> Result<HttpConfiguration, EngineError> {
    let api = api(provider, members)?;
    let model = model(provider, members)?;
    let base_url = base_url(provider, members)?;
    let Target { path, query } = (provider.target)(api, &base_url, model, members)?;
    let key = key_source(provider, members)?;
    let conversation_provider = conversation_provider(provider, &base_url, members)?;
    Ok(HttpConfiguration {
        api,
        model: model.to_owned(),
        path,
        query,
        is_own_server: is_own_server(provider, &base_url),
        provider: conversation_provider.clone().or_else(|| provider_of_host(&base_url)),
        conversation_provider,
        key_header: key_header(provider, &key, members)?,
        key,
        headers: headers(&members.object("headers")?)?,
        timeouts: timeouts(members)?,
        extra_body: extra_body(members)?,
        max_tokens_parameter: max_tokens_parameter(provider, members, &base_url)?,
        base_url,
    })
}

fn api(provider: &Provider, members: &Members<'_>) -> Result<Api, EngineError> {
    match provider.apis {
        [(_, api)] => Ok(*api),
        apis => Ok(members.word("api", apis)?.unwrap_or(apis[0].1)),
    }
}

const BASE_URL: &str = "an http or https address without user, password and fragment";

/// The address that the settings give, or the provider's own.
fn base_url(provider: &Provider, members: &Members<'_>) -> Result<BaseUrl, EngineError> {
    match members.text("baseUrl", BASE_URL)? {
        Some(given) => BaseUrl::parse(given),
        None => BaseUrl::parse(&(provider.own_address)(members)?),
    }
    .ok_or_else(|| members.wrong("baseUrl", BASE_URL))
}

fn is_own_server(provider: &Provider, base_url: &BaseUrl) -> bool {
    let host = base_url.host();
    provider.domains.iter().any(|domain| is_in_domain(&host, domain))
}

fn is_in_domain(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The provider behind a server that has rules for error texts (`compaction_core::overflow`).
fn provider_of_host(base_url: &BaseUrl) -> Option<ProviderId> {
    const DOMAINS: [(&str, &str); 3] =
        [("cerebras.ai", "cerebras"), ("githubcopilot.com", "github-copilot"), ("z.ai", "zai")];
    let host = base_url.host();
    let known = DOMAINS.iter().find(|(domain, _)| is_in_domain(&host, domain));
    known.map(|(_, id)| ProviderId((*id).to_owned()))
}

/// The provider's name in the answers of this server: from the settings, or known for the provider's own server.
fn conversation_provider(
    provider: &Provider,
    base_url: &BaseUrl,
    members: &Members<'_>,
) -> Result<Option<ProviderId>, EngineError> {
    const NAME: &str = "the provider's name in the answers of conversations that this server had";
    if let Some(given) = members.text("conversationProvider", NAME)? {
        return Ok(Some(ProviderId(given.to_owned())));
    }
    let own = provider.conversation_provider.filter(|_| is_own_server(provider, base_url));
    Ok(own.map(|id| ProviderId(id.to_owned())))
}

fn model<'a>(provider: &Provider, members: &Members<'a>) -> Result<&'a str, EngineError> {
    const NAME: &str = "the name of a model";
    let model = members.text("model", NAME)?.ok_or_else(|| members.wrong("model", NAME))?;
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-._/:@".contains(character);
    match provider.has_model_in_address && !model.chars().all(is_plain) {
        true => Err(members.wrong("model", NAME)),
        false => Ok(model),
    }
}

/// The environment variable or the program of the key.
fn key_source(provider: &Provider, members: &Members<'_>) -> Result<KeySource, EngineError> {
    const NAME: &str = "the name of an environment variable, or null";
    if members.value("apiKeyCommand").is_some() {
        if members.value("apiKeyEnv").is_some() {
            return Err(members.wrong("apiKeyCommand", "no such member beside apiKeyEnv: a key has one source"));
        }
        let command = program(members, "apiKeyCommand")?;
        let timeout = members.milliseconds("apiKeyTimeoutMs", 30_000)?;
        let lifetime = members.value("apiKeyLifetimeMs").map(|_| members.milliseconds("apiKeyLifetimeMs", 1));
        return Ok(KeySource::Command(KeyCommand { command, timeout, lifetime: lifetime.transpose()? }));
    }
    if members.has("apiKeyEnv") && members.value("apiKeyEnv").is_none() {
        return Ok(KeySource::None);
    }
    let name = members.text("apiKeyEnv", NAME)?.unwrap_or(provider.key_variable);
    let source = variable(name).map(|name| KeySource::Variable(name.to_owned()));
    source.ok_or_else(|| members.wrong("apiKeyEnv", NAME))
}

fn key_header(provider: &Provider, key: &KeySource, members: &Members<'_>) -> Result<KeyHeader, EngineError> {
    let default = if matches!(key, KeySource::Command(_)) { provider.program_header } else { provider.key_header };
    Ok(members.word("auth", &[("key", provider.key_header), ("bearer", KeyHeader::Bearer)])?.unwrap_or(default))
}

/// Headers that the protocol sets. Another value would break it.
const OWN_HEADERS: [&str; 6] =
    ["host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"];

fn headers(members: &Members<'_>) -> Result<Vec<(HeaderName, HeaderText)>, EngineError> {
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

fn timeouts(members: &Members<'_>) -> Result<Timeouts, EngineError> {
    Ok(Timeouts {
        connect: members.milliseconds("connectTimeoutMs", 10_000)?,
        first_byte: members.milliseconds("firstByteTimeoutMs", 300_000)?,
        idle: members.milliseconds("idleTimeoutMs", 60_000)?,
    })
}

/// Members that a request sets itself. A summary is written without tools (docs/field-reports.md, "Requests and
/// summaries"), and the answer is one stream of the configured model.
const OWN_MEMBERS: [&str; 8] =
    ["tools", "tool_choice", "toolConfig", "functions", "function_call", "stream", "model", "n"];

fn extra_body(members: &Members<'_>) -> Result<Map<String, Value>, EngineError> {
    let extra = members.object("extraBody")?;
    match OWN_MEMBERS.into_iter().find(|name| extra.has(name)) {
        Some(name) => Err(extra.wrong(name, "no such member: requests have no tools, one answer and a stream of it")),
        None => Ok(extra.all().map(|(name, value)| (name.clone(), value.clone())).collect()),
    }
}

/// OpenAI's own server and Azure need `max_completion_tokens`; most others know only the older name.
fn max_tokens_parameter(
    provider: &Provider,
    members: &Members<'_>,
    base_url: &BaseUrl,
) -> Result<&'static str, EngineError> {
    const NAMES: [(&str, &str); 2] = [("max_tokens", "max_tokens"), ("max_completion_tokens", "max_completion_tokens")];
    let is_newer = provider.has_completion_tokens || base_url.host() == "api.openai.com";
    let of_host = if is_newer { "max_completion_tokens" } else { "max_tokens" };
    Ok(members.word("maxTokensParameter", &NAMES)?.unwrap_or(of_host))
}

/// The name of Vertex AI's global location.
const GLOBAL: &str = "global";

/// Path and query under the base address.
struct Target {
    path: String,
    /// It is added to the query of the base address.
    query: Option<String>,
}

fn plain(path: &str) -> Result<Target, EngineError> {
    Ok(Target { path: path.to_owned(), query: None })
}

/// The address of the method for `api` at servers that have the usual addresses.
fn target_of_api(api: Api, base_url: &BaseUrl, model: &str, _: &Members<'_>) -> Result<Target, EngineError> {
    match api {
        Api::Converse => plain(&format!("/model/{}/converse-stream", encoded(model))),
        // The base addresses of gateways often contain the version.
        Api::Messages | Api::VertexMessages if base_url.ends_with("/v1") => plain("/messages"),
        Api::Messages | Api::VertexMessages => plain("/v1/messages"),
        Api::Chat => plain("/chat/completions"),
        Api::Responses => plain("/responses"),
        Api::Gemini => {
            let folder = if model.contains('/') { "" } else { "models/" };
            let path = format!("/{folder}{model}:streamGenerateContent");
            Ok(Target { path, query: Some("alt=sse".to_owned()) })
        }
    }
}

fn bedrock(api: Api, base_url: &BaseUrl, model: &str, members: &Members<'_>) -> Result<Target, EngineError> {
    match api {
        Api::Messages => plain("/anthropic/v1/messages"),
        api => target_of_api(api, base_url, model, members),
    }
}

/// Azure's methods. Without a dated version, the body names the deployment; with one, the path does.
fn azure(api: Api, base_url: &BaseUrl, model: &str, members: &Members<'_>) -> Result<Target, EngineError> {
    let method = if api == Api::Responses { "/responses" } else { "/chat/completions" };
    let root = if base_url.ends_with("/openai") { "" } else { "/openai" };
    let Some(version) = members.text("apiVersion", VERSION)? else {
        let path = match base_url.ends_with("/openai/v1") {
            true => method.to_owned(),
            false => format!("{root}/v1{method}"),
        };
        return Ok(Target { path, query: None });
    };
    if !version.chars().all(|character| character.is_ascii_alphanumeric() || "-.".contains(character)) {
        return Err(members.wrong("apiVersion", VERSION));
    }
    let path = match api {
        Api::Responses => format!("{root}{method}"),
        _ if base_url.ends_with(&format!("/deployments/{model}")) => method.to_owned(),
        _ => format!("{root}/deployments/{}{method}", encoded(model)),
    };
    Ok(Target { path, query: Some(format!("api-version={version}")) })
}

const VERSION: &str = "a version of Azure's interface, such as 2024-10-21";

fn vertex(_: Api, _: &BaseUrl, model: &str, members: &Members<'_>) -> Result<Target, EngineError> {
    let project = place_name(members, "project")?;
    let project = project.ok_or_else(|| members.wrong("project", "the id of a project of Google Cloud"))?;
    let region = place_name(members, "region")?.unwrap_or(GLOBAL);
    let path = format!(
        "/v1/projects/{project}/locations/{region}/publishers/anthropic/models/{}:streamRawPredict",
        model.replace('/', "%2F")
    );
    Ok(Target { path, query: None })
}

/// The name of a region or project, which the address contains.
fn place_name<'a>(members: &Members<'a>, key: &str) -> Result<Option<&'a str>, EngineError> {
    const NAME: &str = "a name of letters, digits and hyphens";
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-:.".contains(character);
    match members.text(key, NAME)? {
        Some(name) if !name.chars().all(is_plain) => Err(members.wrong(key, NAME)),
        name => Ok(name),
    }
}

/// A model's name as one path segment. Bedrock's names contain colons and slashes.
fn encoded(model: &str) -> String {
    model.replace(':', "%3A").replace('/', "%2F").replace('@', "%40")
}
