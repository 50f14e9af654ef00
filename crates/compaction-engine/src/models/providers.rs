//! Models of providers: Anthropic, OpenAI and compatible servers, Gemini, the clouds that offer these models, and
//! programs.
//!
//! The settings describe them ([`super::configuration`]). Each provider has its [`Interface`]; all of them share one
//! implementation of a request (`http_model`).

mod answer;
mod chat;
pub(super) mod command;
mod converse;
pub(super) mod failure;
mod gemini;
mod http;
mod http_model;
mod messages;
mod request;
mod responses;

use std::fmt::Debug;
use std::sync::Arc;

use compaction_core::prompts::SummaryRequest;
use hyper::header::{HeaderName, HeaderValue};
use serde_json::Value;

use super::configuration::{Access, Api, HttpConfiguration, ModelConfiguration};
pub use super::keys::{Environment, PrintedKeys};
use super::providers::answer::Draft;
use super::providers::request::Changeable;
use super::{Cache, ContinuedRequest, Model};
use crate::error::EngineError;
use command::CommandModel;
use failure::ReadError;
use http_model::HttpModel;

/// The model with this name in the merged settings. It opens and starts nothing before its first request.
/// `printed_keys` has the keys that programs printed.
///
/// A missing key fails the request, not this function, so that a chain of summarizers can continue.
///
/// # Errors
/// [`EngineError::InvalidSettings`] where a setting is wrong or missing.
pub(crate) fn model(name: &str, settings: &Value, printed_keys: &PrintedKeys) -> Result<Arc<dyn Model>, EngineError> {
    let configuration = ModelConfiguration::read(name, settings)?;
    model_of(&configuration, &Environment::of_process().with_printed_keys(printed_keys))
}

/// The model of a configuration, with keys from `environment`.
///
/// # Errors
/// [`EngineError::InvalidSettings`] where the model's name cannot be part of an address.
pub fn model_of(configuration: &ModelConfiguration, environment: &Environment) -> Result<Arc<dyn Model>, EngineError> {
    let ModelConfiguration { name, limits, access } = configuration;
    match access {
        Access::Command(command) => Ok(Arc::new(CommandModel::new(name, *limits, command, environment))),
        Access::Http(http) => {
            let uri = http.base_url.join(&http.path, http.query.as_deref()).ok_or_else(|| {
                let path = format!("compactd.summarizers.{name}.model");
                EngineError::invalid_setting(path, "the name of a model that can be a part of an address")
            })?;
            Ok(Arc::new(HttpModel::new(name, *limits, http, interface_of(http), uri, environment)))
        }
    }
}

fn interface_of(http: &HttpConfiguration) -> Box<dyn Interface> {
    let model = http.model.clone();
    match http.api {
        Api::Messages => Box::new(messages::Messages { model: Some(model) }),
        Api::VertexMessages => Box::new(messages::Messages { model: None }),
        Api::Chat => Box::new(chat::Chat { model, max_tokens_parameter: http.max_tokens_parameter }),
        Api::Responses => Box::new(responses::Responses { model }),
        Api::Gemini => Box::new(gemini::Gemini),
        Api::Converse => Box::new(converse::Converse),
    }
}

/// The interface of a provider: the form of its requests and answers. An answer is a list of events with JSON data,
/// or one object from a server that does not stream.
trait Interface: Send + Sync + Debug {
    /// Headers of every request.
    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        Vec::new()
    }

    /// The accepted content type.
    fn accepted(&self) -> &'static str {
        "text/event-stream"
    }

    /// The body of a request, without tools, forced reasoning or prompt caching (docs/field-reports.md, "Requests and
    /// summaries").
    fn body(&self, request: &SummaryRequest) -> Value;

    /// The interface whose conversations it can continue, by its name in pi's sessions; `None` if it can continue
    /// none.
    fn continues(&self) -> Option<&'static str> {
        None
    }

    /// The body of a request that continues a conversation: its prompt, tools and messages, then the instruction;
    /// `None` if the interface cannot.
    fn continued(&self, _: &ContinuedRequest) -> Option<RequestBody> {
        None
    }

    /// What the provider caches of such requests.
    fn cache(&self) -> Cache {
        Cache::EveryBeginning
    }

    /// The member that names the session for the cache of the provider's own server.
    fn session_member(&self) -> Option<&'static str> {
        None
    }

    /// What can be changed in a body that a server rejects.
    fn changeable(&self) -> &'static Changeable;

    /// Reads one event, or the whole answer, into the draft. Fails if it reports an error.
    fn read(&self, event: &Value, draft: &mut Draft) -> Result<(), ReadError>;
}

/// The body of a request.
#[derive(Debug, Clone)]
struct RequestBody {
    /// Its members.
    members: Value,
    /// Further members as JSON text, whose inner order has to stay.
    texts: Vec<(&'static str, Arc<str>)>,
}

impl From<Value> for RequestBody {
    fn from(members: Value) -> Self {
        Self { members, texts: Vec::new() }
    }
}

impl RequestBody {
    /// The body as JSON. Members of the settings take precedence over `texts`.
    fn to_json(&self) -> String {
        let mut json = self.members.to_string();
        for (name, text) in self.texts.iter().filter(|(name, _)| self.members.get(name).is_none()) {
            json.pop();
            let comma = if json.ends_with('{') { "" } else { "," };
            json.push_str(&format!("{comma}\"{name}\":{text}}}"));
        }
        json
    }
}

/// The first of these members that is a number.
fn number(object: &Value, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| object[*key].as_u64())
}

/// Whether the value is a non-empty list.
fn is_filled(list: &Value) -> bool {
    list.as_array().is_some_and(|list| !list.is_empty())
}
