//! A model behind a server: one request, and the events of its answer.

use std::sync::OnceLock;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use hyper::Uri;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use serde_json::{Map, Value};

use super::super::configuration::{HeaderText, HttpConfiguration};
use super::super::model::{Answer, FailureKind, Model, ModelError, ModelLimits, OnDelta};
use super::super::secret::{Scrubber, Secret};
use super::super::{Occasion, configuration::Timeouts};
use super::Environment;
use super::draft::Draft;
use super::events::Events;
use super::failure::{Failure, Report};
use super::http::{Exchange, HttpClient};
use super::wire::Wire;

/// Most bytes of the body of an error.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// A model behind a server.
#[derive(Debug)]
pub(super) struct HttpModel {
    name: String,
    limits: ModelLimits,
    wire: Box<dyn Wire>,
    uri: Uri,
    headers: HeaderMap,
    extra_body: Map<String, Value>,
    /// What is wrong with the key: told when the model is asked, so that a chain can go on.
    key_problem: Option<String>,
    /// The variable that should hold a key and does not, although the server may want none.
    missing_key: Option<String>,
    scrubber: Scrubber,
    timeouts: Timeouts,
    client: OnceLock<HttpClient>,
}

impl HttpModel {
    /// The model that `configuration` describes; opens and looks up nothing.
    pub(super) fn new(
        name: &str,
        limits: ModelLimits,
        configuration: &HttpConfiguration,
        wire: Box<dyn Wire>,
        uri: Uri,
        environment: &Environment,
    ) -> Self {
        let mut model = Self {
            name: name.to_owned(),
            limits,
            headers: common_headers(wire.as_ref()),
            wire,
            uri,
            extra_body: configuration.extra_body.clone(),
            key_problem: None,
            missing_key: None,
            scrubber: Scrubber::default(),
            timeouts: configuration.timeouts,
            client: OnceLock::new(),
        };
        let mut secrets = Vec::new();
        model.add_headers(configuration, environment, &mut secrets);
        model.add_key(configuration, environment, &mut secrets);
        model.scrubber = Scrubber::new(secrets);
        model
    }

    fn add_key(&mut self, configuration: &HttpConfiguration, environment: &Environment, secrets: &mut Vec<Secret>) {
        let (header, prefix) = self.wire.key_header();
        let Some(variable) = &configuration.key_variable else {
            return;
        };
        // A header of the settings takes the place of the key.
        if self.headers.contains_key(&header) {
            return;
        }
        match environment.secret(variable) {
            Some(key) => {
                match key.header(prefix) {
                    Some(value) => drop(self.headers.insert(header, value)),
                    None => self.key_problem = Some(format!("the key in {variable} cannot be sent in a header")),
                }
                secrets.push(key);
            }
            None if configuration.is_own_server => {
                self.key_problem = Some(format!("the environment variable {variable} holds no key"));
            }
            None => self.missing_key = Some(variable.clone()),
        }
    }

    fn add_headers(&mut self, configuration: &HttpConfiguration, environment: &Environment, secrets: &mut Vec<Secret>) {
        for (header, text) in &configuration.headers {
            let (secret, prefix) = match text {
                HeaderText::Text(text) => (Some(text.clone()), ""),
                HeaderText::Variable { name, prefix } => (environment.secret(name), prefix.as_str()),
            };
            if let HeaderText::Variable { name, .. } = text
                && secret.is_none()
            {
                self.missing_key = Some(name.clone());
            }
            if let Some(value) = secret.as_ref().and_then(|secret| secret.header(prefix)) {
                self.headers.insert(header.clone(), value);
            }
            if matches!(text, HeaderText::Variable { .. }) || sounds_secret(header) {
                secrets.extend(secret);
            }
        }
    }

    async fn ask(&self, request: &SummaryRequest, on_delta: OnDelta<'_>) -> Result<Answer, Failure> {
        if let Some(problem) = &self.key_problem {
            return Err(Failure::new(FailureKind::Authentication, problem.as_str()));
        }
        let mut body = self.wire.body(request);
        merge(&mut body, &self.extra_body);
        let client = self.client.get_or_init(|| HttpClient::new(self.timeouts));
        let exchange = client.post(&self.uri, self.headers.clone(), body.to_string().into_bytes()).await?;
        if !exchange.status.is_success() {
            let (status, headers) = (exchange.status, exchange.headers.clone());
            let body = exchange.text(MAX_ERROR_BYTES).await;
            return Err(Failure::from_response(&self.name, status, &headers, &body));
        }
        if !may_be_stream(&exchange.headers) {
            return Err(self.not_a_stream(exchange).await);
        }
        self.read(exchange, on_delta).await
    }

    async fn read(&self, exchange: Exchange, on_delta: OnDelta<'_>) -> Result<Answer, Failure> {
        let mut events = Events::new(exchange);
        let mut draft = Draft::default();
        while !draft.is_done() {
            let data = match events.next().await {
                Ok(Some(data)) => data,
                // At most what the answer cost was still to come.
                Ok(None) | Err(_) if draft.has_stopped() && !self.wire.has_last_event() => break,
                Ok(None) => return Err(Failure::new(FailureKind::Connection, "the answer broke off before its end")),
                Err(error) => return Err(error.into()),
            };
            let told = draft.text().len();
            self.read_event(&data, &mut draft)?;
            if draft.text().len() > told {
                on_delta(&draft.text()[told..]);
            }
        }
        let unsaid = || Failure::new(FailureKind::Connection, "the answer ended without a reason for its end");
        draft.into_answer().ok_or_else(unsaid)
    }

    fn read_event(&self, data: &str, draft: &mut Draft) -> Result<(), Failure> {
        if data.trim() == "[DONE]" {
            draft.finish();
            return Ok(());
        }
        let event = serde_json::from_str::<Value>(data).map_err(|error| {
            Failure::new(FailureKind::Server, format!("an event of the answer is no JSON: {error}"))
        })?;
        self.wire.read(&event, draft)
    }

    /// An answer of 200 that is no stream: an error in disguise, or a server that does not stream.
    async fn not_a_stream(&self, exchange: Exchange) -> Failure {
        let headers = exchange.headers.clone();
        let status = exchange.status;
        let body = exchange.text(MAX_ERROR_BYTES).await;
        let report = serde_json::from_slice::<Value>(&body).ok().and_then(|value| Report::from_value(&value));
        match report {
            Some(report) => Failure::from_report(&self.name, &report),
            None => {
                let failure = Failure::from_response(&self.name, status, &headers, &body);
                Failure::new(FailureKind::Refused, format!("the answer is no stream of events: {}", failure.text))
            }
        }
    }

    /// The failure as others may see it: with the model's name, without keys.
    fn told(&self, failure: Failure) -> ModelError {
        let mut cause = format!("{}: {}", self.name, failure.text);
        if let (FailureKind::Authentication, Some(variable)) = (failure.kind, &self.missing_key) {
            cause = format!("{cause}; no key was sent, since the environment variable {variable} holds none");
        }
        ModelError { cause: self.scrubber.scrub(&cause), kind: failure.kind, retry_after: failure.retry_after }
    }
}

#[async_trait]
impl Model for HttpModel {
    fn limits(&self) -> ModelLimits {
        self.limits
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        _: &Occasion,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        self.ask(request, on_delta).await.map_err(|failure| self.told(failure))
    }
}

fn common_headers(wire: &dyn Wire) -> HeaderMap {
    const AGENT: &str = concat!("compactd/", env!("CARGO_PKG_VERSION"));
    let mut headers: HeaderMap = wire.headers().into_iter().collect();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers
}

/// Whether what stands in a header is likely a key, also where the settings hold its text.
fn sounds_secret(header: &HeaderName) -> bool {
    ["auth", "key", "token", "secret"].iter().any(|word| header.as_str().contains(word))
}

/// Servers that stream do not always say so; those that say they send something else do.
fn may_be_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    !content_type.is_some_and(|name| name.starts_with("application/json") || name.starts_with("text/html"))
}

/// Puts `over` over `base`: objects merge, `null` takes a member away, other values replace. The
/// settings are no deeper than the parser of JSON allows, which bounds the recursion.
fn merge(base: &mut Value, over: &Map<String, Value>) {
    let Value::Object(base) = base else {
        return;
    };
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (_, Value::Null) => drop(base.remove(key)),
            (Some(inner @ Value::Object(_)), Value::Object(value)) => merge(inner, value),
            _ => drop(base.insert(key.clone(), value.clone())),
        }
    }
}
