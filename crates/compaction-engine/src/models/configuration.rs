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
    Http(Box<HttpConfiguration>),
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
    /// The method's path under that address.
    pub path: String,
    /// Its query.
    pub query: Option<String>,
    /// Whether that is the provider's own server, which takes no request without a key.
    pub is_own_server: bool,
    /// The provider's name in the answers of conversations that this server had; `None` if none is known.
    pub conversation_provider: Option<String>,
    /// Where the key comes from.
    pub key: KeySource,
    /// The header that carries it.
    pub key_header: KeyHeader,
    /// Further headers.
    pub headers: Vec<(HeaderName, HeaderText)>,
    /// How long to wait.
    pub timeouts: Timeouts,
    /// Members for the request's body, over those that are sent anyway; `null` takes one away.
    pub extra_body: Map<String, Value>,
    /// The member of a chat request that bounds the answer.
    pub max_tokens_parameter: &'static str,
}

/// Where a key comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// None is sent.
    None,
    /// A variable of the environment holds it.
    Variable(String),
    /// A program prints it.
    Command(KeyCommand),
}

/// A program that prints a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCommand {
    /// The program and its arguments.
    pub command: CommandConfiguration,
    /// How long it may take.
    pub timeout: Duration,
    /// How long its key is good; `None` until a server refuses it.
    pub lifetime: Option<Duration>,
}

/// The header that carries a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    /// `authorization`, behind `Bearer `.
    Bearer,
    /// One that holds the key alone.
    Plain(&'static str),
}

/// What a server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's messages.
    Messages,
    /// The same on Google's Vertex AI, where the address names the model.
    VertexMessages,
    /// OpenAI's chat completions, and everything that is compatible with them.
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

/// Names of models that the settings may choose: those of the providers, then those that the
/// settings define, without doubles.
pub fn model_names(settings: &Value) -> Vec<&str> {
    let defined = defined(settings).map(|(name, _)| name.as_str());
    let further = defined.filter(|name| PROVIDERS.iter().all(|(provider, _)| provider != name));
    PROVIDERS.iter().map(|(name, _)| *name).chain(further).collect()
}

/// Checks all that the settings say of models. Fails with [`EngineError::InvalidSettings`] at the first wrong value.
pub fn check(settings: &Value) -> Result<(), EngineError> {
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
    /// What the merged settings say of the model with this name. Fails with [`EngineError::InvalidSettings`], also
    /// if they say too little of it.
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

/// The name of an environment variable, if it can be one.
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

/// An object of the settings and the path to it.
struct Members<'a> {
    path: String,
    object: Option<&'a Map<String, Value>>,
}

impl<'a> Members<'a> {
    /// The members of `object`, which stands at `path`; none is an empty one.
    fn new(path: String, object: Option<&'a Map<String, Value>>) -> Self {
        Self { path, object }
    }

    /// The error that says what is expected of a member.
    fn wrong(&self, key: &str, expected: impl Into<String>) -> EngineError {
        EngineError::invalid_setting(format!("{}.{key}", self.path), expected)
    }

    /// Whether a member is there, `null` included.
    fn has(&self, key: &str) -> bool {
        self.object.is_some_and(|object| object.contains_key(key))
    }

    /// A member; `null` is as good as none, so that a layer of settings can take one back.
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.object?.get(key).filter(|value| !value.is_null())
    }

    /// A text that says something.
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

    /// An object; empty where there is none.
    fn object(&self, key: &str) -> Result<Members<'a>, EngineError> {
        let path = format!("{}.{key}", self.path);
        match self.value(key) {
            None => Ok(Members { path, object: None }),
            Some(Value::Object(object)) => Ok(Members { path, object: Some(object) }),
            Some(_) => Err(self.wrong(key, "an object")),
        }
    }

    /// The members as they are.
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
pub struct BaseUrl {
    uri: Uri,
}

impl BaseUrl {
    /// Reads an address; `None` if it is none, or holds a user or a password: those would show in
    /// errors.
    pub fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.parse().ok()?;
        let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
        let authority = uri.authority()?.as_str();
        let is_plain = !authority.contains('@') && uri.host().is_some_and(|host| !host.is_empty());
        (is_web && is_plain && !text.contains('#')).then_some(Self { uri })
    }

    /// Name or address of the host, in lower case.
    pub fn host(&self) -> String {
        self.uri.host().unwrap_or_default().to_lowercase()
    }

    /// Whether the path ends in `segment`, such as `/v1`.
    pub fn ends_with(&self, segment: &str) -> bool {
        self.path().ends_with(segment)
    }

    /// The address of `path` under this one, with `query` beside the query of this one.
    pub fn join(&self, path: &str, query: Option<&str>) -> Option<Uri> {
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
