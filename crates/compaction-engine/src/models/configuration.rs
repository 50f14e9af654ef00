//! The settings of models: one object in `compactd.summarizers.<name>` for each model.
//!
//! Settings never hold keys. They name the environment variable that holds a key, or the program that prints it.
//! Unknown members are kept and ignored, as everywhere in the settings. Errors name a wrong member by its path.

mod http;

use std::time::Duration;

use hyper::Uri;
use hyper::header::HeaderName;
use serde_json::{Map, Value};

use super::ModelLimits;
use super::keys::Secret;
use super::known_models;
use crate::error::EngineError;
use http::http;

/// The path of the settings of summarizers.
const PATH: &str = "compactd.summarizers";

/// Summarizers without settings of a model.
const WITHOUT_MODEL: [&str; 2] = ["extractive", "host"];

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
    /// The provider's name in the answers of this server's conversations; `None` if unknown.
    pub(crate) conversation_provider: Option<String>,
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

/// The source of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// No key is sent.
    None,
    /// An environment variable holds it.
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
    /// A header that holds only the key.
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

/// Providers by their names in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Provider {
    Anthropic,
    OpenAi,
    Gemini,
    Azure,
    Bedrock,
    Vertex,
    Command,
}

const PROVIDERS: [(&str, Provider); 7] = [
    ("anthropic", Provider::Anthropic),
    ("openai", Provider::OpenAi),
    ("gemini", Provider::Gemini),
    ("azure", Provider::Azure),
    ("bedrock", Provider::Bedrock),
    ("vertex", Provider::Vertex),
    ("command", Provider::Command),
];

/// Names of models that the settings may choose: the providers, then the models that the settings define, without
/// duplicates.
pub(crate) fn model_names(settings: &Value) -> Vec<&str> {
    let defined = defined(settings).map(|(name, _)| name.as_str());
    let further = defined.filter(|name| PROVIDERS.iter().all(|(provider, _)| provider != name));
    PROVIDERS.iter().map(|(name, _)| *name).chain(further).collect()
}

/// Checks the settings of all models.
///
/// # Errors
/// [`EngineError::InvalidSettings`] at the first wrong value.
pub(crate) fn check(settings: &Value) -> Result<(), EngineError> {
    if settings["compactd"].get("summarizers").is_some_and(|value| !value.is_object()) {
        return Err(EngineError::invalid_setting(PATH, "an object"));
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
        let is_provider = PROVIDERS.iter().any(|(provider, _)| *provider == name);
        let members = match settings["compactd"]["summarizers"].get(name) {
            Some(Value::Object(object)) => Members::new(path, Some(object)),
            None | Some(Value::Null) if is_provider => Members::new(path, None),
            _ => return Err(EngineError::invalid_setting(path, "an object that describes a model")),
        };
        let context_window = members.tokens("contextWindow")?;
        let max_output_tokens = members.tokens("maxOutputTokens")?;
        let access = access(name, &members)?;
        let known = || match &access {
            Access::Http(http) => known_models::max_output_tokens(&http.model),
            Access::Command(_) => None,
        };
        let limits = ModelLimits { context_window, max_output_tokens: max_output_tokens.or_else(known) };
        Ok(Self { name: name.to_owned(), limits, access })
    }
}

fn access(name: &str, members: &Members<'_>) -> Result<Access, EngineError> {
    let of_name = PROVIDERS.iter().find(|(provider, _)| *provider == name).map(|(_, provider)| *provider);
    let provider = members.word("provider", &PROVIDERS)?.or(of_name);
    match provider {
        Some(Provider::Command) => command(members).map(Access::Command),
        Some(provider) => http(provider, members).map(|http| Access::Http(Box::new(http))),
        None => {
            let names: Vec<&str> = PROVIDERS.iter().map(|(name, _)| *name).collect();
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

#[cfg(test)]
mod tests;
