// Generated from the server's OpenRPC document by `cargo xtask protocol`. Do not edit.
//! Types of the protocol, the calls of [`Server`], [`Event`] and [`Hooks`].
//!
//! Members and values that a newer server adds never fail a call: unknown members are ignored, and unknown
//! values become `Other`. Objects whose members the caller chooses are [`Value`]s.

use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::answers::{RpcError, answered, parameters, unanswered};
use crate::{ClientError, Notification, Server};

/// Reads a member for which null and absence differ.
fn present<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}

/// What to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Nothing.
    #[serde(rename = "none")]
    None,
    /// Compact.
    #[serde(rename = "compact")]
    Compact,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl Action {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "none",
            Self::Compact => "compact",
            Self::Other(text) => text,
        }
    }
}

/// Parameters of `compact`. A longer sentence that has to be broken somewhere, with a sign that ends
/// comments: */ and a quote: """.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    /// The session.
    pub session_id: String,
    /// What | to do.
    pub action: Action,
    /// Anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub any: Option<Value>,
    /// How many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<i64>,
    /// Member `inline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline: Option<Value>,
    /// Member `messages`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Message>>,
    /// Member `ratio`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// Member `settings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<FreeObject>,
}

impl CompactParams {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(session_id: impl Into<String>, action: Action) -> Self {
        Self {
            session_id: session_id.into(),
            action,
            any: None,
            count: None,
            inline: None,
            messages: None,
            ratio: None,
            settings: None,
        }
    }
}

/// Done or started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CompactResult {
    /// Done.
    Tree(Box<Tree>),
    /// `NoParams`.
    NoParams(Box<NoParams>),
}

/// `FreeObject`.
pub type FreeObject = Value;

/// `Kind`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// `a`.
    #[serde(rename = "a")]
    A,
    /// `b`.
    #[serde(rename = "b")]
    B,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl Kind {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::A => "a",
            Self::B => "b",
            Self::Other(text) => text,
        }
    }
}

/// A message.
pub type Message = Value;

/// `NameOrNames`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NameOrNames {
    /// `Text`.
    Text(String),
    /// `List`.
    List(Vec<String>),
}

impl From<&str> for NameOrNames {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for NameOrNames {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// None.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NoParams {}

/// `Summary`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// What `<b>` \[is] \<b>.
    pub text: String,
    /// Member `type`.
    pub r#type: Kind,
    /// Member `by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<NameOrNames>,
    /// Member `counts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<BTreeMap<String, u64>>,
    /// Member `model`.
    #[serde(deserialize_with = "present", default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Option<Tree>>,
    /// Members that the protocol does not know.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

impl Summary {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(text: impl Into<String>, r#type: Kind) -> Self {
        Self { text: text.into(), r#type, by: None, counts: None, model: None, other: Map::new() }
    }
}

/// Refers to itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tree {
    /// Member `children`.
    pub children: Vec<Tree>,
    /// Member `$ref-like`.
    #[serde(rename = "$ref-like")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ref_like: Option<String>,
    /// A keyword of Python.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Member `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
}

impl Tree {
    /// Takes the required members; optional members are absent.
    #[must_use]
    pub fn new(children: Vec<Tree>) -> Self {
        Self { children, ref_like: None, from: None, kind: None }
    }
}

/// The kinds of errors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrorKind {
    /// not JSON
    #[serde(rename = "parseError")]
    ParseError,
    /// No session.
    #[serde(rename = "sessionNotFound")]
    SessionNotFound,
    /// A value that only a newer server has.
    #[serde(untagged)]
    Other(String),
}

impl ErrorKind {
    /// Its text in the protocol.
    pub fn as_str(&self) -> &str {
        match self {
            Self::ParseError => "parseError",
            Self::SessionNotFound => "sessionNotFound",
            Self::Other(text) => text,
        }
    }
}

impl ErrorKind {
    /// The code of errors of this kind; `None` for an unknown kind.
    pub fn code(&self) -> Option<i32> {
        Some(match self {
            Self::ParseError => -32700,
            Self::SessionNotFound => 1001,
            Self::Other(_) => return None,
        })
    }

    /// The kind of errors with this code.
    pub fn of_code(code: i32) -> Option<Self> {
        Some(match code {
            -32700 => Self::ParseError,
            1001 => Self::SessionNotFound,
            _ => return None,
        })
    }
}

/// One function for each method. They fail as [`Server::request`] does, and dropping a future cancels its request.
impl Server {
    /// Puts a summary in the place of the older part.
    ///
    /// # Errors
    /// [`ErrorKind::SessionNotFound`].
    pub async fn compact(&self, params: &CompactParams) -> Result<CompactResult, ClientError> {
        self.request("compact", params).await
    }

    /// The document.
    pub async fn rpc_discover(&self) -> Result<FreeObject, ClientError> {
        self.request("rpc.discover", &serde_json::json!({})).await
    }
}

/// A notification of the server, typed by its method.
#[derive(Debug, Clone)]
pub enum Event {
    /// The leaf moved.
    LeafChanged(Box<Tree>),
    /// An entry was written.
    EntryAppended(Box<Message>),
    /// A value that only a newer server has.
    Other(Notification),
}

impl TryFrom<Notification> for Event {
    type Error = ClientError;

    fn try_from(notification: Notification) -> Result<Self, ClientError> {
        Ok(match notification.method.as_str() {
            "leafChanged" => Self::LeafChanged(Box::new(notification.parse()?)),
            "entryAppended" => Self::EntryAppended(Box::new(notification.parse()?)),
            _ => Self::Other(notification),
        })
    }
}

/// Answers the requests of the server, typed by their method.
///
/// The capabilities of `initialize` say which methods the client answers. The other functions can be left out.
#[async_trait]
pub trait Hooks: Send + Sync {
    /// The client writes a summary.
    async fn summarize(&self, params: Tree) -> Result<Summary, RpcError> {
        drop(params);
        Err(unanswered("summarize"))
    }
}

/// Passes a request of the server to its hook.
pub(crate) async fn answer(hooks: &dyn Hooks, method: &str, params: &RawValue) -> Result<Value, RpcError> {
    match method {
        "summarize" => answered(&hooks.summarize(parameters(params)?).await?),
        _ => Err(unanswered(method)),
    }
}
