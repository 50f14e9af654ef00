//! Models of providers: Anthropic, OpenAI and all that speak like it, Gemini, the clouds that have
//! these models too, and programs.
//!
//! The settings describe them ([`super::configuration`]); keys come from the environment, or from a
//! program that prints them. The languages of the providers are `wire`s over one way of asking
//! (`http_model`).

mod changes;
mod chat;
mod command;
mod conversation;
mod converse;
mod draft;
mod environment;
mod events;
mod failure;
mod gemini;
mod http;
mod http_model;
mod messages;
mod printed_keys;
mod responses;
mod thoughts;
mod wire;

use std::sync::Arc;

use super::configuration::{Access, Api, HttpConfiguration, ModelConfiguration};
use super::model::Model;
use crate::errors::RpcError;
use crate::settings::Settings;
use command::CommandModel;
pub use environment::Environment;
use http_model::HttpModel;
pub use printed_keys::PrintedKeys;
use wire::Wire;

/// The model that the settings know by this name. Nothing is opened or started before it is asked.
///
/// Fails with `invalidSettings` if the settings say nothing of it, or too little. A missing key
/// fails the request, so that a chain of summarizers can go on. Keys that programs print are kept in
/// `printed_keys`.
pub fn model(name: &str, settings: &Settings, printed_keys: &PrintedKeys) -> Result<Arc<dyn Model>, RpcError> {
    let configuration = ModelConfiguration::read(name, settings.as_json())?;
    model_of(&configuration, &Environment::of_process().with_printed_keys(printed_keys))
}

/// The model of a configuration, with keys from `environment`.
pub fn model_of(configuration: &ModelConfiguration, environment: &Environment) -> Result<Arc<dyn Model>, RpcError> {
    let ModelConfiguration { name, limits, access } = configuration;
    match access {
        Access::Command(command) => Ok(Arc::new(CommandModel::new(name, *limits, command, environment))),
        Access::Http(http) => {
            let uri =
                http.base_url.join(&http.path, http.query.as_deref()).ok_or_else(|| RpcError::InvalidSettings {
                    path: format!("compactd.summarizers.{name}.model"),
                    expected: "the name of a model that can be a part of an address".to_owned(),
                    file: None,
                })?;
            Ok(Arc::new(HttpModel::new(name, *limits, http, wire_of(name, http), uri, environment)))
        }
    }
}

fn wire_of(name: &str, http: &HttpConfiguration) -> Box<dyn Wire> {
    let (name, model) = (name.to_owned(), http.model.clone());
    match http.api {
        Api::Messages => Box::new(messages::Messages { name, model: Some(model) }),
        Api::VertexMessages => Box::new(messages::Messages { name, model: None }),
        Api::Chat => Box::new(chat::Chat { name, model, max_tokens_parameter: http.max_tokens_parameter }),
        Api::Responses => Box::new(responses::Responses { name, model }),
        Api::Gemini => Box::new(gemini::Gemini { name }),
        Api::Converse => Box::new(converse::Converse { name }),
    }
}
