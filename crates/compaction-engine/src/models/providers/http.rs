//! Requests over HTTP/1.1, each on a connection of its own.
//!
//! Nothing runs beside the future that asks: it drives the connection itself, so that dropping it
//! closes the connection at once. A summary takes seconds, so that a connection kept for the next
//! one would save little and might have died meanwhile.

mod connect;

use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, StatusCode, Uri};
use tokio::time::timeout;

use super::super::configuration::Timeouts;
use connect::{Connected, Connector};

/// Makes requests.
#[derive(Debug)]
pub(super) struct HttpClient {
    connector: Connector,
    timeouts: Timeouts,
}

/// An answer whose body is still to come.
pub(super) struct Exchange {
    /// The status.
    pub(super) status: StatusCode,
    /// The headers.
    pub(super) headers: HeaderMap,
    body: Incoming,
    connection: Option<Connection>,
    timeouts: Timeouts,
    has_begun: bool,
}

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// No connection was made.
    #[error("failed to connect: {0}")]
    Connect(String),
    /// It broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// Something did not come in time.
    #[error("{what} took more than {} ms", .limit.as_millis())]
    TimedOut {
        /// What did not come.
        what: &'static str,
        /// How long it was waited for.
        limit: Duration,
    },
    /// One event of a stream is larger than any that is sent in earnest.
    #[error("an event of the answer has more than {limit} bytes")]
    TooLarge {
        /// The largest that is read.
        limit: usize,
    },
}

type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

impl HttpClient {
    /// A client; nothing is looked up or opened before the first request.
    pub(super) fn new(timeouts: Timeouts) -> Self {
        Self { connector: Connector::default(), timeouts }
    }

    /// Posts `body` and waits for the head of the answer. Redirects are not followed: a key must not
    /// go to another host than the settings name.
    pub(super) async fn post(&self, uri: &Uri, headers: HeaderMap, body: Vec<u8>) -> Result<Exchange, HttpError> {
        let connecting = self.connector.connect(uri);
        let connected = in_time("connecting", self.timeouts.connect, connecting).await??;
        let request = request(uri, headers, body, &connected)?;
        let sending = self.send(connected, request);
        in_time("the beginning of the answer", self.timeouts.first_byte, sending).await?
    }

    async fn send(&self, connected: Connected, request: Request<Full<Bytes>>) -> Result<Exchange, HttpError> {
        let (mut sender, connection) = http1::handshake(connected.stream).await.map_err(broken)?;
        let mut connection: Option<Connection> = Some(Box::pin(connection));
        let mut sending = pin!(sender.send_request(request));
        let response = std::future::poll_fn(|context| {
            drive(&mut connection, context);
            sending.as_mut().poll(context)
        });
        let (head, body) = response.await.map_err(broken)?.into_parts();
        let (status, headers, timeouts) = (head.status, head.headers, self.timeouts);
        Ok(Exchange { status, headers, body, connection, timeouts, has_begun: false })
    }
}

impl Exchange {
    /// The next bytes of the body, as they come; `None` at its end.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        // A server may send the head at once and think before the first byte of the answer.
        let (what, limit) = match self.has_begun {
            false => ("the beginning of the answer", self.timeouts.first_byte),
            true => ("the next part of the answer", self.timeouts.idle),
        };
        loop {
            let frame = std::future::poll_fn(|context| self.poll_frame(context));
            let Some(frame) = in_time(what, limit, frame).await? else {
                return Ok(None);
            };
            self.has_begun = true;
            if let Ok(data) = frame.map_err(broken)?.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// The body, or its first `limit` bytes: what more comes is not read. A body that breaks off, or
    /// is not there in time, is as good as it came.
    pub(super) async fn text(mut self, limit: usize) -> Vec<u8> {
        let limit_of_time = self.timeouts.idle;
        let mut text = Vec::new();
        let reading = async {
            while text.len() < limit
                && let Ok(Some(chunk)) = self.chunk().await
            {
                text.extend_from_slice(&chunk);
            }
        };
        // Late or not, what has come is in `text`.
        let _ = timeout(limit_of_time, reading).await;
        text.truncate(limit);
        text
    }

    fn poll_frame(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, hyper::Error>>> {
        drive(&mut self.connection, context);
        Pin::new(&mut self.body).poll_frame(context)
    }
}

/// Lets the connection work. How it ends is told by the request or the body that it serves.
fn drive(connection: &mut Option<Connection>, context: &mut Context<'_>) {
    if let Some(running) = connection
        && running.as_mut().poll(context).is_ready()
    {
        *connection = None;
    }
}

fn request(
    uri: &Uri,
    mut headers: HeaderMap,
    body: Vec<u8>,
    connected: &Connected,
) -> Result<Request<Full<Bytes>>, HttpError> {
    let wrong = |error: &dyn std::fmt::Display| HttpError::Connect(error.to_string());
    let authority = uri.authority().map(hyper::http::uri::Authority::as_str).unwrap_or_default();
    headers.insert(HOST, HeaderValue::from_str(authority).map_err(|error| wrong(&error))?);
    if let Some(authorization) = &connected.proxy_authorization {
        headers.insert(PROXY_AUTHORIZATION, authorization.clone());
    }
    let target = match connected.is_read_by_proxy {
        true => uri.clone(),
        false => {
            let path = uri.path_and_query().map_or("/", hyper::http::uri::PathAndQuery::as_str);
            path.parse().map_err(|error: hyper::http::uri::InvalidUri| wrong(&error))?
        }
    };
    let mut request = Request::post(target).body(Full::from(body)).map_err(|error| wrong(&error))?;
    *request.headers_mut() = headers;
    Ok(request)
}

async fn in_time<T>(what: &'static str, limit: Duration, work: impl Future<Output = T>) -> Result<T, HttpError> {
    timeout(limit, work).await.map_err(|_| HttpError::TimedOut { what, limit })
}

#[expect(clippy::needless_pass_by_value, reason = "the signature is that of map_err")]
fn broken(error: hyper::Error) -> HttpError {
    HttpError::Broken(with_sources(&error))
}

/// An error and what caused it, each said once.
fn with_sources(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests;
