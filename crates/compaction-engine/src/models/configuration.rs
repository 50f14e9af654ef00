//! The settings of models: one object in `compactd.summarizers.<name>` for each model.
//!
//! Settings never contain keys. They name the environment variable with the key, or the program that prints it. Unknown
//! members are kept and ignored, as everywhere in the settings. Errors name a wrong member by its path.

use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::ModelLimits;
use super::keys::Secret;
use crate::error::EngineError;
use crate::models;

/// The path of the settings of summarizers.
const PATH: &str = "compactd.summarizers";

/// Summarizers without settings of a model.
pub(crate) const WITHOUT_MODEL: [&str; 2] = ["extractive", "host"];

/// The configuration of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfiguration {
    /// The name of its summarizer.
    pub name: String,
    /// Its token limits.
    pub limits: ModelLimits,
    /// The way to reach it.
    pub(crate) access: Access,
}

/// The way to reach a model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Access {
    /// By requests to a server.
    Http(Box<HttpConfiguration>),
    /// By running a program.
    Command(CommandConfiguration),
}

/// A model behind a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HttpConfiguration {
    /// The interface of the server.
    pub(crate) api: Api,
    /// The model's name on the server.
    pub(crate) model: String,
    /// The server's base address.
    pub(crate) base_url: BaseUrl,
    /// The path of the method under that address.
    pub(crate) path: String,
    /// The query of the method.
    pub(crate) query: Option<String>,
    /// Whether the server is the provider's own, which rejects requests without a key.
    pub(crate) is_own_server: bool,
    /// The provider behind the server, whose rules for error texts count; `None` if unknown.
    pub(crate) provider: Option<ProviderId>,
    /// The provider whose conversations the server may continue; `None` if it may continue none.
    pub(crate) conversation_provider: Option<ProviderId>,
    /// The source of the key.
    pub(crate) key: KeySource,
    /// The header of the key.
    pub(crate) key_header: KeyHeader,
    /// Further headers.
    pub(crate) headers: Vec<(HeaderName, HeaderText)>,
    /// The timeouts.
    pub(crate) timeouts: Timeouts,
    /// Members that are merged into the request's body; `null` removes one.
    pub(crate) extra_body: Map<String, Value>,
    /// The member of a chat request that limits the answer.
    pub(crate) max_tokens_parameter: &'static str,
}

/// A provider by its name in the answers of sessions. The name of a summarizer says nothing about the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ProviderId(pub(crate) String);

/// The source of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// No key is sent.
    None,
    /// An environment variable contains it.
    Variable(String),
    /// A program prints it.
    Command(KeyCommand),
}

/// A program that prints a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeyCommand {
    /// The program and its arguments.
    pub(crate) command: CommandConfiguration,
    /// Its timeout.
    pub(crate) timeout: Duration,
    /// The lifetime of a key; `None` if it is valid until a server rejects it.
    pub(crate) lifetime: Option<Duration>,
}

/// The header of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyHeader {
    /// `authorization`, after `Bearer `.
    Bearer,
    /// A header with only the key.
    Plain(&'static str),
}

/// The interface of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// Anthropic's messages.
    Messages,
    /// Anthropic's messages on Google's Vertex AI, where the address names the model.
    VertexMessages,
    /// OpenAI's chat completions and compatible interfaces.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Google's `streamGenerateContent`.
    Gemini,
    /// `ConverseStream` of Amazon Bedrock.
    Converse,
}

/// The text of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HeaderText {
    /// A literal text. It is never shown, because people put keys there nevertheless.
    Text(Secret),
    /// The value of an environment variable, after a prefix such as `Bearer `.
    Variable {
        /// The variable's name.
        name: String,
        /// The prefix of its value.
        prefix: String,
    },
}

/// Timeouts of requests to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// For the connection, including name look-up and TLS.
    pub(crate) connect: Duration,
    /// For the first byte of the answer. A server may read a long prompt and think before it.
    pub(crate) first_byte: Duration,
    /// For each further byte.
    pub(crate) idle: Duration,
}

/// A model behind a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandConfiguration {
    /// The program: a path, or a name in `PATH`.
    pub(crate) program: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// Further environment variables.
    pub(crate) variables: Vec<(String, String)>,
}

/// A row of [`PROVIDERS`], or a program.
#[derive(Clone, Copy)]
enum Kind {
    Http(&'static Provider),
    Command,
}

/// The providers and programs by their names in the settings.
fn kinds() -> impl Iterator<Item = (&'static str, Kind)> {
    PROVIDERS.iter().map(|provider| (provider.name, Kind::Http(provider))).chain([("command", Kind::Command)])
}

/// Names of models that the settings may choose: the providers, then the models that the settings define, without
/// duplicates.
pub(crate) fn model_names(settings: &Value) -> Vec<&str> {
    let defined = defined(settings).map(|(name, _)| name.as_str());
    let further = defined.filter(|name| kinds().all(|(kind, _)| kind != *name));
    kinds().map(|(name, _)| name).chain(further).collect()
}

/// Checks the settings of all models.
///
/// # Errors
/// [`EngineError::InvalidSettings`] at the first wrong value.
pub(crate) fn check(settings: &Value) -> Result<(), EngineError> {
    let all = settings["compactd"].get("summarizers");
    if all.is_some_and(|value| !value.is_object()) {
        return Err(EngineError::invalid_setting(PATH, "an object"));
    }
    for name in WITHOUT_MODEL {
        let value = all.and_then(|all| all.get(name));
        if value.is_some_and(|value| !(value.is_object() || value.is_null())) {
            return Err(EngineError::invalid_setting(format!("{PATH}.{name}"), "an object, or null"));
        }
    }
    defined(settings).try_for_each(|(name, _)| ModelConfiguration::read(name, settings).map(|_| ()))
}

/// The models that the settings define.
fn defined(settings: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let all = settings["compactd"]["summarizers"].as_object();
    all.into_iter().flatten().filter(|(name, value)| !WITHOUT_MODEL.contains(&name.as_str()) && !value.is_null())
}

impl ModelConfiguration {
    /// The model with this name in the merged settings.
    ///
    /// # Errors
    /// [`EngineError::InvalidSettings`] where a setting is wrong or missing.
    pub fn read(name: &str, settings: &Value) -> Result<Self, EngineError> {
        let path = format!("{PATH}.{name}");
        let is_provider = kinds().any(|(kind, _)| kind == name);
        let members = match settings["compactd"]["summarizers"].get(name) {
            Some(Value::Object(object)) => Members::new(path, Some(object)),
            None | Some(Value::Null) if is_provider => Members::new(path, None),
            _ => return Err(EngineError::invalid_setting(path, "an object that describes a model")),
        };
        let context_window = members.tokens("contextWindow")?;
        let max_output_tokens = members.tokens("maxOutputTokens")?;
        let access = access(name, &members)?;
        members.check_types()?;
        let known = || match &access {
            Access::Http(http) => models::max_output_tokens(&http.model),
            Access::Command(_) => None,
        };
        let limits = ModelLimits { context_window, max_output_tokens: max_output_tokens.or_else(known) };
        Ok(Self { name: name.to_owned(), limits, access })
    }
}

fn access(name: &str, members: &Members<'_>) -> Result<Access, EngineError> {
    let of_name = kinds().find_map(|(kind_name, kind)| (kind_name == name).then_some(kind));
    let kinds: Vec<(&str, Kind)> = kinds().collect();
    match members.word("provider", &kinds)?.or(of_name) {
        Some(Kind::Command) => command(members).map(Access::Command),
        Some(Kind::Http(provider)) => http(provider, members).map(|http| Access::Http(Box::new(http))),
        None => {
            let names: Vec<&str> = kinds.iter().map(|(name, _)| *name).collect();
            Err(members.wrong("provider", format!("one of: {}", names.join(", "))))
        }
    }
}

fn command(members: &Members<'_>) -> Result<CommandConfiguration, EngineError> {
    let command = program(members, "command")?;
    Ok(CommandConfiguration { variables: variables(&members.object("env")?)?, ..command })
}

/// The program and its arguments in the member `key`.
fn program(members: &Members<'_>, key: &str) -> Result<CommandConfiguration, EngineError> {
    let words = members.value(key).and_then(Value::as_array);
    let words: Option<Vec<&str>> = words.and_then(|words| words.iter().map(Value::as_str).collect());
    let is_plain = |words: &Vec<&str>| words.iter().all(|word| !word.contains('\0'));
    let words = words.filter(is_plain).unwrap_or_default();
    let (program, arguments) = words
        .split_first()
        .filter(|(program, _)| !program.is_empty())
        .ok_or_else(|| members.wrong(key, "a list of texts: a program and its arguments"))?;
    Ok(CommandConfiguration {
        program: (*program).to_owned(),
        arguments: arguments.iter().map(|argument| (*argument).to_owned()).collect(),
        variables: Vec::new(),
    })
}

/// `name`, if it is a valid name of an environment variable.
fn variable(name: &str) -> Option<&str> {
    (!name.is_empty() && !name.contains(['=', '\0'])).then_some(name)
}

fn variables(members: &Members<'_>) -> Result<Vec<(String, String)>, EngineError> {
    let given = members.all().filter(|(_, value)| !value.is_null());
    given
        .map(|(name, value)| {
            let text = value.as_str().filter(|text| !text.contains('\0'));
            let pair = variable(name).zip(text).map(|(name, text)| (name.to_owned(), text.to_owned()));
            pair.ok_or_else(|| members.wrong(name, "the text of an environment variable"))
        })
        .collect()
}

/// An object of the settings and its path.
struct Members<'a> {
    path: String,
    object: Option<&'a Map<String, Value>>,
}

impl<'a> Members<'a> {
    /// The members of `object` at `path`; `None` is an empty object.
    fn new(path: String, object: Option<&'a Map<String, Value>>) -> Self {
        Self { path, object }
    }

    /// Checks the types of all known members. A provider reads only some of them, but a wrong one is a mistake anyway.
    fn check_types(&self) -> Result<(), EngineError> {
        const TEXTS: [&str; 9] = [
            "model",
            "baseUrl",
            "api",
            "apiVersion",
            "region",
            "project",
            "auth",
            "conversationProvider",
            "maxTokensParameter",
        ];
        let wrong = TEXTS.iter().find(|key| self.value(key).is_some_and(|value| !value.is_string()));
        wrong.map_or(Ok(()), |key| Err(self.wrong(key, "a text")))?;
        for key in ["apiKeyTimeoutMs", "apiKeyLifetimeMs", "connectTimeoutMs", "firstByteTimeoutMs", "idleTimeoutMs"] {
            self.milliseconds(key, 1)?;
        }
        for key in ["headers", "extraBody", "env"] {
            self.object(key)?;
        }
        let is_list = |value: &Value| value.as_array().is_some_and(|words| words.iter().all(Value::is_string));
        let wrong = ["command", "apiKeyCommand"].into_iter().find(|key| !self.value(key).is_none_or(is_list));
        wrong.map_or(Ok(()), |key| Err(self.wrong(key, "a list of texts")))?;
        match self.value("apiKeyEnv") {
            Some(value) if !value.is_string() => Err(self.wrong("apiKeyEnv", "a text, or null")),
            _ => Ok(()),
        }
    }

    /// The error for a wrong member.
    fn wrong(&self, key: &str, expected: impl Into<String>) -> EngineError {
        EngineError::invalid_setting(format!("{}.{key}", self.path), expected)
    }

    /// Whether a member is set, even to `null`.
    fn has(&self, key: &str) -> bool {
        self.object.is_some_and(|object| object.contains_key(key))
    }

    /// The value of a member. `null` counts as absent, so that a layer can unset a member.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.object?.get(key).filter(|value| !value.is_null())
    }

    /// A non-empty text.
    fn text(&self, key: &str, expected: &str) -> Result<Option<&'a str>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
        text.map(Some).ok_or_else(|| self.wrong(key, expected))
    }

    /// One of a few words.
    fn word<T: Copy>(&self, key: &str, words: &[(&str, T)]) -> Result<Option<T>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let found = words.iter().find(|(word, _)| value.as_str() == Some(word));
        let names: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| self.wrong(key, format!("one of: {}", names.join(", "))))
    }

    /// A number of tokens, at least one.
    fn tokens(&self, key: &str) -> Result<Option<u64>, EngineError> {
        self.positive(key, "a whole number of tokens, 1 or more")
    }

    /// A span of time in milliseconds, at least one.
    fn milliseconds(&self, key: &str, default: u64) -> Result<Duration, EngineError> {
        let given = self.positive(key, "a whole number of milliseconds, 1 or more")?;
        Ok(Duration::from_millis(given.unwrap_or(default)))
    }

    /// An object; empty where it is absent.
    fn object(&self, key: &str) -> Result<Members<'a>, EngineError> {
        let path = format!("{}.{key}", self.path);
        match self.value(key) {
            None => Ok(Members { path, object: None }),
            Some(Value::Object(object)) => Ok(Members { path, object: Some(object) }),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }

    /// All members.
    fn all(&self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        self.object.into_iter().flatten()
    }

    fn positive(&self, key: &str, expected: &str) -> Result<Option<u64>, EngineError> {
        let Some(value) = self.value(key) else {
            return Ok(None);
        };
        let number = value.as_u64().filter(|number| *number > 0);
        number.map(Some).ok_or_else(|| self.wrong(key, expected))
    }
}

/// An `http` or `https` address without user, password and fragment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BaseUrl {
    uri: Uri,
}

impl BaseUrl {
    /// Parses an address; `None` if it is invalid, or has a user or a password, which errors would show.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority()?.as_str();
        let is_plain = !authority.contains('@') && uri.host().is_some_and(|host| !host.is_empty());
        (is_web && is_plain && !text.contains('#')).then_some(Self { uri })
    }

    /// Name or address of the host, in lower case.
    pub(crate) fn host(&self) -> String {
        self.uri.host().unwrap_or_default().to_lowercase()
    }

    /// Whether the path ends in `segment`, such as `/v1`.
    pub(crate) fn ends_with(&self, segment: &str) -> bool {
        self.path().ends_with(segment)
    }

    /// The address of `path` under this one, with both queries.
    pub(crate) fn join(&self, path: &str, query: Option<&str>) -> Option<Uri> {
        let scheme = self.uri.scheme_str()?;
        let queries: Vec<&str> = self.uri.query().into_iter().chain(query).collect();
        let question = if queries.is_empty() { "" } else { "?" };
        let authority = self.uri.authority()?;
        format!("{scheme}://{authority}{}{path}{question}{}", self.path(), queries.join("&")).parse().ok()
    }

    fn path(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }
}

/// Facts about a provider. Settings take precedence.
struct Provider {
    /// Its name in the settings.
    name: &'static str,
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
static PROVIDERS: [Provider; 6] = [
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
fn http(provider: &Provider, members: &Members<'_>) -> Result<HttpConfiguration, EngineError> {
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
        provider: conversation_provider.clone().or_else(|| provider_of_address(&base_url)),
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
fn provider_of_address(base_url: &BaseUrl) -> Option<ProviderId> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(summarizers: &Value) -> Value {
        json!({ "compactd": { "summarizers": summarizers } })
    }

    fn http_of(name: &str, summarizer: &Value) -> HttpConfiguration {
        match ModelConfiguration::read(name, &settings(&json!({ name: summarizer }))).unwrap().access {
            Access::Http(http) => *http,
            Access::Command(_) => panic!("{name} is a command"),
        }
    }

    fn path_of(error: EngineError) -> String {
        match error {
            EngineError::InvalidSettings { path, .. } => path,
            error => panic!("{error}"),
        }
    }

    #[test]
    fn providers_need_a_model_alone() {
        for (name, api, host, key) in [
            ("anthropic", Api::Messages, "api.anthropic.com", "ANTHROPIC_API_KEY"),
            ("openai", Api::Chat, "api.openai.com", "OPENAI_API_KEY"),
            ("gemini", Api::Gemini, "generativelanguage.googleapis.com", "GEMINI_API_KEY"),
        ] {
            let http = http_of(name, &json!({ "model": "m" }));
            assert_eq!((http.api, http.base_url.host().as_str()), (api, host));
            assert_eq!(http.key, KeySource::Variable(key.to_owned()));
            assert!(http.is_own_server);
        }
    }

    #[test]
    fn several_models_can_have_one_provider() {
        let ollama = json!({ "provider": "openai", "model": "qwen3", "baseUrl": "http://localhost:11434/v1",
            "apiKeyEnv": null, "contextWindow": 32768, "unknown": 1 });
        let all = settings(&json!({ "ollama": ollama, "openai": { "model": "m", "api": "responses" } }));
        assert_eq!(
            model_names(&all),
            ["anthropic", "openai", "gemini", "azure", "bedrock", "vertex", "command", "ollama"]
        );
        check(&all).unwrap();
        let read = ModelConfiguration::read("ollama", &all).unwrap();
        assert_eq!(read.limits, ModelLimits { context_window: Some(32_768), max_output_tokens: None });
        let http = http_of("ollama", &ollama);
        assert_eq!((http.key, http.is_own_server, http.max_tokens_parameter), (KeySource::None, false, "max_tokens"));
        assert_eq!(http_of("openai", &json!({ "model": "m" })).max_tokens_parameter, "max_completion_tokens");
    }

    #[test]
    fn a_provider_is_known_by_its_server_or_by_the_settings() {
        let provider = |name: &str, summarizer: Value| {
            let mut summarizer = summarizer;
            (summarizer["provider"], summarizer["model"]) = (json!("openai"), json!("m"));
            http_of(name, &summarizer).provider.map(|id| id.0)
        };
        let local = "http://localhost:11434/v1";
        assert_eq!(provider("zai", json!({ "baseUrl": local })), None);
        assert_eq!(provider("mine", json!({ "baseUrl": "https://api.z.ai/v1" })).as_deref(), Some("zai"));
        assert_eq!(provider("mine", json!({ "baseUrl": "https://xyz.ai/v1" })), None);
        assert_eq!(provider("zai", json!({})).as_deref(), Some("openai"));
        let given = json!({ "baseUrl": local, "conversationProvider": "zai" });
        assert_eq!(provider("mine", given).as_deref(), Some("zai"));
    }

    #[test]
    fn a_command_is_a_program_with_arguments() {
        let all =
            settings(&json!({ "mine": { "provider": "command", "command": ["llm", "-m", "x"], "env": { "A": "b" } } }));
        let Access::Command(command) = ModelConfiguration::read("mine", &all).unwrap().access else {
            panic!("it is no command");
        };
        assert_eq!((command.program.as_str(), command.arguments.len()), ("llm", 2));
        assert_eq!(command.variables, [("A".to_owned(), "b".to_owned())]);
    }

    #[test]
    fn mistakes_are_named_by_their_path() {
        for (name, summarizer, path) in [
            ("mine", json!(1), ""),
            ("mine", json!({}), ".provider"),
            ("mine", json!({ "provider": "nobody" }), ".provider"),
            ("anthropic", json!({}), ".model"),
            ("anthropic", json!({ "model": " " }), ".model"),
            ("gemini", json!({ "model": "a b" }), ".model"),
            ("openai", json!({ "model": "m", "baseUrl": "localhost" }), ".baseUrl"),
            ("openai", json!({ "model": "m", "baseUrl": "http://user:word@host" }), ".baseUrl"),
            ("openai", json!({ "model": "m", "api": "other" }), ".api"),
            ("openai", json!({ "model": "m", "apiKeyEnv": 5 }), ".apiKeyEnv"),
            ("openai", json!({ "model": "m", "apiKeyEnv": "A=B" }), ".apiKeyEnv"),
            ("openai", json!({ "model": "m", "headers": [] }), ".headers"),
            ("openai", json!({ "model": "m", "headers": { "a b": "x" } }), ".headers.a b"),
            ("openai", json!({ "model": "m", "headers": { "x-a": 1 } }), ".headers.x-a"),
            ("openai", json!({ "model": "m", "headers": { "x-a": "two\nlines" } }), ".headers.x-a"),
            ("openai", json!({ "model": "m", "headers": { "Host": "x" } }), ".headers.Host"),
            ("openai", json!({ "model": "m", "headers": { "x-a": { "env": "A", "prefix": 1 } } }), ".headers.x-a"),
            ("openai", json!({ "model": "m", "idleTimeoutMs": 0 }), ".idleTimeoutMs"),
            ("openai", json!({ "model": "m", "contextWindow": -1 }), ".contextWindow"),
            ("openai", json!({ "model": "m", "maxOutputTokens": "many" }), ".maxOutputTokens"),
            ("openai", json!({ "model": "m", "maxTokensParameter": "tokens" }), ".maxTokensParameter"),
            ("openai", json!({ "model": "m", "extraBody": { "tools": [] } }), ".extraBody.tools"),
            ("openai", json!({ "model": "m", "apiKeyCommand": "gcloud" }), ".apiKeyCommand"),
            ("openai", json!({ "model": "m", "apiKeyCommand": [] }), ".apiKeyCommand"),
            ("openai", json!({ "model": "m", "apiKeyCommand": ["a"], "apiKeyEnv": "A" }), ".apiKeyCommand"),
            ("openai", json!({ "model": "m", "apiKeyCommand": ["a"], "apiKeyTimeoutMs": 0 }), ".apiKeyTimeoutMs"),
            ("openai", json!({ "model": "m", "apiKeyCommand": ["a"], "apiKeyLifetimeMs": "1h" }), ".apiKeyLifetimeMs"),
            ("openai", json!({ "model": "m", "auth": "basic" }), ".auth"),
            ("azure", json!({ "model": "m" }), ".baseUrl"),
            ("azure", json!({ "model": "a b", "baseUrl": "https://h" }), ".model"),
            ("azure", json!({ "model": "m", "baseUrl": "https://h", "apiVersion": "1&x=2" }), ".apiVersion"),
            ("bedrock", json!({ "model": "m" }), ".region"),
            ("bedrock", json!({ "model": "m", "region": "a/b" }), ".region"),
            ("bedrock", json!({ "model": "m", "region": "r", "api": "chat" }), ".api"),
            ("vertex", json!({ "model": "m" }), ".project"),
            ("vertex", json!({ "model": "m", "project": "a?b" }), ".project"),
            ("command", json!({}), ".command"),
            ("command", json!({ "command": "llm" }), ".command"),
            ("command", json!({ "command": [] }), ".command"),
            ("command", json!({ "command": ["a\u{0}b"] }), ".command"),
            ("command", json!({ "command": ["llm"], "env": { "A": 1 } }), ".env.A"),
        ] {
            let wrong = path_of(check(&settings(&json!({ name: summarizer }))).unwrap_err());
            assert_eq!(wrong, format!("compactd.summarizers.{name}{path}"), "{summarizer}");
        }
        assert_eq!(path_of(check(&settings(&json!([]))).unwrap_err()), "compactd.summarizers");
    }

    #[test]
    fn clouds_have_addresses_of_their_own() {
        let check = |name: &str, summarizer: Value, host: &str, path: &str, key: KeySource, header: KeyHeader| {
            let http = http_of(name, &summarizer);
            assert_eq!((http.base_url.host().as_str(), http.path.as_str()), (host, path), "{summarizer}");
            assert_eq!((http.key, http.key_header, http.is_own_server), (key, header, true), "{summarizer}");
        };
        let variable = |name: &str| KeySource::Variable(name.to_owned());
        let (bearer, of_azure) = (KeyHeader::Bearer, KeyHeader::Plain("api-key"));
        let bedrock = json!({ "model": "amazon.nova-pro-v1:0", "region": "eu-west-1" });
        let path = "/model/amazon.nova-pro-v1%3A0/converse-stream";
        let key = variable("AWS_BEARER_TOKEN_BEDROCK");
        check("bedrock", bedrock, "bedrock-runtime.eu-west-1.amazonaws.com", path, key, bearer);
        let azure = json!({ "model": "d", "baseUrl": "https://n.openai.azure.com" });
        let key = variable("AZURE_OPENAI_API_KEY");
        check("azure", azure, "n.openai.azure.com", "/openai/v1/chat/completions", key, of_azure);
        for (region, host, location) in [
            (Value::Null, "aiplatform.googleapis.com", "global"),
            (json!("us-east5"), "us-east5-aiplatform.googleapis.com", "us-east5"),
            (json!("eu"), "aiplatform.eu.rep.googleapis.com", "eu"),
        ] {
            let vertex = json!({ "model": "claude@1", "project": "p", "region": region });
            let path =
                format!("/v1/projects/p/locations/{location}/publishers/anthropic/models/claude@1:streamRawPredict");
            check("vertex", vertex, host, &path, variable("GOOGLE_OAUTH_ACCESS_TOKEN"), bearer);
        }
    }

    #[test]
    fn a_program_may_print_the_key() {
        let http =
            http_of("anthropic", &json!({ "model": "m", "apiKeyCommand": ["op", "read", "x"], "apiKeyLifetimeMs": 5 }));
        let KeySource::Command(command) = http.key else { panic!("it is no program") };
        assert_eq!((command.command.program.as_str(), command.command.arguments.len()), ("op", 2));
        assert_eq!((command.timeout, command.lifetime), (Duration::from_secs(30), Some(Duration::from_millis(5))));
        assert_eq!(http.key_header, KeyHeader::Plain("x-api-key"));
    }

    #[test]
    fn texts_of_headers_are_shown_by_nothing() {
        let headers = json!({ "x-a": "sentinel-1", "authorization": { "env": "TOKEN", "prefix": "Bearer " } });
        let http = http_of("openai", &json!({ "model": "m", "headers": headers }));
        assert_eq!(http.headers.len(), 2);
        assert!(!format!("{http:?}").contains("sentinel"));
    }

    #[test]
    fn addresses_are_web_addresses_without_a_user() {
        for wrong in
            ["", "localhost", "localhost:1", "ftp://host/", "http://", "http://a:b@host/", "https://h/#x", "/v1"]
        {
            assert_eq!(BaseUrl::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn paths_are_joined_with_one_slash() {
        for (base, joined) in [
            ("http://host", "http://host/chat?a=1"),
            ("http://host:8080/", "http://host:8080/chat?a=1"),
            ("https://[::1]/v1/", "https://[::1]/v1/chat?a=1"),
            ("https://host/v1?v=2", "https://host/v1/chat?v=2&a=1"),
        ] {
            assert_eq!(BaseUrl::parse(base).unwrap().join("/chat", Some("a=1")).unwrap().to_string(), joined);
        }
    }
}
