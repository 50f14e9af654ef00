//! A model behind a server: its requests, and the events of their answers.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use hyper::{StatusCode, Uri};
use serde_json::{Map, Value};

use super::answer::{BROKEN_OFF, Draft};
use super::answer::{Body, Event, Events};
use super::failure::{Failure, encoded, encoding};
use super::http::{Exchange, HttpClient};
use super::request::{Change, change};
use super::{Environment, Interface, RequestBody};
use crate::models::configuration::{HeaderText, HttpConfiguration, KeyCommand, KeyHeader, KeySource, ProviderId};
use crate::models::keys::{self, PrintedKey, PrintedKeys, Scrubber, Secret};
use crate::models::{
    Answer, ContinuedRequest, Continues, FailureKind, Model, ModelError, ModelLimits, OnDelta, RequestContext,
};
use crate::threads::blocking;

/// Maximum bytes of an error's body that are read.
const MAX_ERROR_BYTES: usize = 64 * 1024;
/// Maximum number of changes to a request whose members a server rejects.
const MAX_CHANGES: usize = 4;
/// Members of `extraBody` that control thinking.
const THINKING_MEMBERS: [&str; 2] = ["thinking", "output_config"];
/// The members of a request for a stream.
const STREAM_MEMBERS: [&str; 2] = ["stream", "stream_options"];

/// A model behind a server.
#[derive(Debug)]
pub(super) struct HttpModel {
    name: String,
    limits: ModelLimits,
    interface: Arc<dyn Interface>,
    uri: Uri,
    headers: HeaderMap,
    configuration: HttpConfiguration,
    /// The program that prints the key, and the keys that it printed.
    key_command: Option<(KeyCommand, PrintedKeys)>,
    /// The problem with the key. It is reported when the model is asked, so that a chain can continue.
    key_problem: Option<String>,
    /// The environment variable that is missing its key, although the server may need none.
    missing_key: Option<String>,
    /// Secrets of the headers.
    secrets: Vec<Secret>,
    /// Changes that the server needed for earlier requests.
    changes: Mutex<Vec<Change>>,
    client: OnceLock<HttpClient>,
}

/// The input of a request.
#[derive(Clone, Copy)]
enum RequestInput<'a> {
    Prompt(&'a SummaryRequest),
    /// The body, made once because it may be long.
    Continued(&'a RequestBody),
}

/// An answer with a status other than 2xx.
struct Refusal {
    failure: Failure,
    status: StatusCode,
    /// The body, which names the problem.
    body: String,
}

impl HttpModel {
    /// The model that `configuration` describes. This function opens, runs and looks up nothing.
    pub(super) fn new(
        name: &str,
        limits: ModelLimits,
        configuration: &HttpConfiguration,
        interface: Box<dyn Interface>,
        uri: Uri,
        environment: &Environment,
    ) -> Self {
        let mut model = Self {
            name: name.to_owned(),
            limits,
            headers: common_headers(interface.as_ref()),
            interface: Arc::from(interface),
            uri,
            configuration: configuration.clone(),
            key_command: None,
            key_problem: None,
            missing_key: None,
            secrets: Vec::new(),
            changes: Mutex::default(),
            client: OnceLock::new(),
        };
        model.add_headers(configuration, environment);
        model.add_key(configuration, environment);
        model
    }

    fn add_key(&mut self, configuration: &HttpConfiguration, environment: &Environment) {
        // A header of the settings replaces the key.
        if self.headers.contains_key(header_of(self.configuration.key_header).0) {
            return;
        }
        match &configuration.key {
            KeySource::None => {}
            KeySource::Command(command) => {
                self.key_command = Some((command.clone(), environment.printed_keys.clone()));
                self.secrets.extend(environment.secrets());
            }
            KeySource::Variable(variable) => match environment.secret(variable) {
                Some(key) => {
                    let mut headers = std::mem::take(&mut self.headers);
                    if !put_key(&mut headers, self.configuration.key_header, &key) {
                        self.key_problem = Some(format!("the key in {variable} cannot be sent in a header"));
                    }
                    self.headers = headers;
                    self.secrets.push(key);
                }
                None if configuration.is_own_server => {
                    self.key_problem = Some(format!("the environment variable {variable} holds no key"));
                }
                None => self.missing_key = Some(variable.clone()),
            },
        }
    }

    fn add_headers(&mut self, configuration: &HttpConfiguration, environment: &Environment) {
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
                self.secrets.extend(secret);
            }
        }
    }

    /// Makes the request. If a printed key is rejected, the program prints a new one once. A member that the server
    /// does not know is left out or renamed. `key` gets the printed key, so that errors can be cleaned of it.
    async fn ask(
        &self,
        input: RequestInput<'_>,
        on_delta: OnDelta<'_>,
        key: &mut Option<PrintedKey>,
    ) -> Result<Answer, Failure> {
        if let Some(problem) = &self.key_problem {
            return Err(Failure::new(FailureKind::Authentication, problem.as_str()));
        }
        if let Some((command, keys)) = &self.key_command {
            *key = Some(keys.get(command).await?);
        }
        let mut changes_left = MAX_CHANGES;
        let mut is_streamed = true;
        loop {
            let mut body = self.body(input);
            if !is_streamed {
                let remove = |name: &&str| drop(body.members.as_object_mut().and_then(|body| body.remove(*name)));
                STREAM_MEMBERS.iter().for_each(remove);
            }
            let exchange = self.post(&body, key.as_ref()).await?;
            if exchange.status.is_success() {
                let mut draft = Draft::default();
                match self.read(exchange, &mut draft, on_delta).await {
                    Ok(()) => return draft.into_answer(),
                    // Some servers begin a stream before they check the request, and then only close it. Without a
                    // stream they report the problem.
                    Err(failure)
                        if is_streamed && draft.is_untouched() && self.may_be_whole(&failure, &body.members) =>
                    {
                        is_streamed = false;
                        continue;
                    }
                    Err(failure) => return Err(failure),
                }
            }
            let refusal = self.refusal(exchange).await;
            if let (Some((command, keys)), Some(printed)) = (&self.key_command, &key)
                && refusal.is_about_key()
            {
                keys.forget(command, printed);
                if printed.is_remembered {
                    *key = Some(keys.get(command).await?);
                    continue;
                }
            }
            if changes_left == 0 || !self.learn(&refusal, &body.members) {
                return Err(refusal.failure);
            }
            changes_left -= 1;
        }
    }

    fn body(&self, input: RequestInput<'_>) -> RequestBody {
        let mut body = match input {
            RequestInput::Prompt(request) => self.interface.body(request).into(),
            RequestInput::Continued(body) => body.clone(),
        };
        merge(&mut body.members, &self.configuration.extra_body);
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        changes.iter().for_each(|change| change.apply(&mut body.members, self.interface.changeable()));
        body
    }

    async fn post(&self, body: &RequestBody, key: Option<&PrintedKey>) -> Result<Exchange, Failure> {
        let mut headers = self.headers.clone();
        if let Some(key) = key
            && !put_key(&mut headers, self.configuration.key_header, &key.secret)
        {
            let text = "the key that the program of apiKeyCommand printed cannot be sent in a header";
            return Err(Failure::new(FailureKind::Authentication, text));
        }
        let client = self.client.get_or_init(|| HttpClient::new(self.configuration.timeouts));
        Ok(client.post(&self.uri, headers, body.to_json().into_bytes()).await?)
    }

    async fn refusal(&self, exchange: Exchange) -> Refusal {
        let (status, headers) = (exchange.status, exchange.headers.clone());
        let body = exchange.text(MAX_ERROR_BYTES).await;
        let failure = Failure::from_response(self.provider(), status, &headers, &body);
        Refusal { failure, status, body: String::from_utf8_lossy(&body).into_owned() }
    }

    /// Learns a change from a refusal; `false` if the refusal suggests none.
    fn learn(&self, refusal: &Refusal, body: &Value) -> bool {
        let is_about_request = matches!(refusal.status, StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY);
        // "extra_forbidden" is about a member, and reads like a rejected key.
        let is_final = !matches!(refusal.failure.kind, FailureKind::Refused | FailureKind::Authentication);
        if !is_about_request || is_final {
            return false;
        }
        let mut changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let change = change(&refusal.body, body, self.interface.changeable(), &self.configuration.extra_body, &changes);
        let is_found = change.is_some();
        changes.extend(change);
        is_found
    }

    /// Whether a request without a stream makes sense after a stream that ended before it began.
    fn may_be_whole(&self, failure: &Failure, body: &Value) -> bool {
        let is_optional = self.interface.changeable().optional.iter().any(|(name, _)| *name == "stream");
        failure.kind == FailureKind::Connection && is_optional && body["stream"] == true
    }

    async fn read(&self, exchange: Exchange, draft: &mut Draft, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        let headers = exchange.headers.clone();
        if let Some(encoding) = encoding(&headers) {
            return Err(Failure::new(FailureKind::Refused, encoded(encoding)));
        }
        let mut events = match Body::open(exchange).await? {
            Body::Events(events) => events,
            Body::Other(first, exchange) => {
                let mut body = first;
                body.extend(exchange.text(MAX_ERROR_BYTES).await);
                if body.is_empty() {
                    return Err(Failure::new(FailureKind::Connection, BROKEN_OFF));
                }
                let failure = Failure::from_response(self.provider(), StatusCode::OK, &headers, &body);
                let text = format!("the answer is no stream of events: {}", failure.text);
                return Err(Failure::new(FailureKind::Refused, text));
            }
        };
        self.read_events(&mut events, draft, on_delta).await?;
        let sent = draft.text().len();
        draft.close();
        if draft.text().len() > sent {
            on_delta(&draft.text()[sent..]);
        }
        match draft.is_untouched() {
            true => Err(Failure::new(FailureKind::Connection, BROKEN_OFF)),
            false => Ok(()),
        }
    }

    async fn read_events(&self, events: &mut Events, draft: &mut Draft, on_delta: OnDelta<'_>) -> Result<(), Failure> {
        while !draft.is_done {
            let sent = draft.text().len();
            match events.next().await {
                Ok(Some(Event::Done)) => draft.is_done = true,
                Ok(Some(Event::Data(event))) => match draft.touched(|draft| self.interface.read(&event, draft)) {
                    Ok(()) => {}
                    // An error after the end does not change the answer.
                    Err(_) if draft.is_whole() => return Ok(()),
                    Err(error) => return Err(error.into_failure(self.provider())),
                },
                Ok(None) => return Ok(()),
                // At most the usage was still to come.
                Err(_) if draft.has_stopped() => return Ok(()),
                Err(failure) => return Err(failure),
            }
            if draft.text().len() > sent {
                on_delta(&draft.text()[sent..]);
            }
        }
        Ok(())
    }

    fn provider(&self) -> Option<&ProviderId> {
        self.configuration.provider.as_ref()
    }

    fn model_error(&self, failure: &Failure, key: Option<PrintedKey>) -> ModelError {
        let mut cause = format!("{}: {}", self.name, failure.text);
        if let (FailureKind::Authentication, Some(variable)) = (failure.kind, &self.missing_key) {
            cause = format!("{cause}; no key was sent, since the environment variable {variable} holds none");
        }
        let secrets = self.secrets.iter().cloned().chain(key.map(|key| key.secret));
        let cause = Scrubber::new(secrets).scrub(&cause);
        ModelError { cause, kind: failure.kind, retry_after: failure.retry_after }
    }
}

impl Refusal {
    fn is_about_key(&self) -> bool {
        matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }
}

#[async_trait]
impl Model for HttpModel {
    fn limits(&self) -> ModelLimits {
        self.limits
    }

    fn known_failure(&self) -> Option<ModelError> {
        let failure = match (&self.key_problem, &self.key_command) {
            (Some(problem), _) => Failure::new(FailureKind::Authentication, problem.as_str()),
            (None, Some((command, _))) => keys::known_failure(command)?,
            (None, None) => return None,
        };
        Some(self.model_error(&failure, None))
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        _: &RequestContext,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let mut key = None;
        let outcome = self.ask(RequestInput::Prompt(request), on_delta, &mut key).await;
        outcome.map_err(|failure| self.model_error(&failure, key))
    }

    fn model_name(&self) -> Option<&str> {
        Some(&self.configuration.model)
    }

    fn continues(&self) -> Option<Continues> {
        self.interface.continues().map(|interface| Continues::OfModel {
            interface,
            provider: self.configuration.conversation_provider.as_ref().map(|id| id.0.clone()),
            model: self.configuration.model.clone(),
            sets_thinking: THINKING_MEMBERS.iter().any(|name| self.configuration.extra_body.contains_key(*name)),
            cache: self.interface.cache(),
        })
    }

    async fn continue_conversation(
        &self,
        request: &ContinuedRequest,
        context: &RequestContext,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let mut key = None;
        // Writing a long conversation takes a while.
        let (interface, request) = (Arc::clone(&self.interface), request.clone());
        let writing = blocking(move || Ok(interface.continued(&request))).await;
        let Ok(Some(mut body)) = writing else {
            let failure = Failure::new(FailureKind::Refused, "the provider's language continues no conversations");
            return Err(self.model_error(&failure, key));
        };
        if let Some(member) = self.interface.session_member().filter(|_| self.configuration.is_own_server) {
            body.members[member] = Value::from(context.session_id.as_str());
        }
        let outcome = self.ask(RequestInput::Continued(&body), on_delta, &mut key).await;
        outcome.map_err(|failure| self.model_error(&failure, key))
    }
}

fn common_headers(interface: &dyn Interface) -> HeaderMap {
    const AGENT: &str = concat!("compactd/", env!("CARGO_PKG_VERSION"));
    let mut headers: HeaderMap = interface.headers().into_iter().collect();
    headers.insert(ACCEPT, HeaderValue::from_static(interface.accepted()));
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
    headers
}

/// Whether a header probably contains a key, even if the settings give its text.
fn sounds_secret(header: &HeaderName) -> bool {
    ["auth", "key", "token", "secret"].iter().any(|word| header.as_str().contains(word))
}

/// The header of the key, and the prefix of the key in it.
fn header_of(header: KeyHeader) -> (HeaderName, &'static str) {
    match header {
        KeyHeader::Bearer => (AUTHORIZATION, "Bearer "),
        KeyHeader::Plain(name) => (HeaderName::from_static(name), ""),
    }
}

/// Adds the key to the headers; `false` if no header can contain it.
fn put_key(headers: &mut HeaderMap, header: KeyHeader, key: &Secret) -> bool {
    let (name, prefix) = header_of(header);
    let value = key.header(prefix);
    let is_sent = value.is_some();
    headers.extend(value.map(|value| (name, value)));
    is_sent
}

/// Merges `over` into `base`: objects merge, `null` removes a member, other values replace. The JSON parser limits
/// the depth of the settings, which bounds the recursion.
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
