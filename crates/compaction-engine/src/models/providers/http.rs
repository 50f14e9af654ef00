//! Requests over HTTP/1.1, each on its own connection.
//!
//! The future that makes a request also drives its connection, so that dropping the future closes the connection at
//! once. A summary takes seconds: keeping a connection for the next one would save little, and it might have died
//! meanwhile.
//!
//! Proxies come from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), as curl reads them.
//! Servers on this machine are never asked through a proxy.
//!
//! Only a few name look-ups run at once. The system's look-up blocks a thread until the name server answers or times
//! out, and cannot be cancelled. The same thread pool reads and writes sessions, so silent name servers must never
//! occupy all of it.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::{Pin, pin};
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::vec::IntoIter;

use futures_util::future::BoxFuture;
use http_body_util::Full;
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{HOST, HeaderMap, HeaderValue, PROXY_AUTHORIZATION};
use hyper::{Request, StatusCode, Uri};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::Name;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tower_service::Service;

use crate::models::configuration::Timeouts;
use crate::threads::LOOKUPS;

/// Makes requests.
#[derive(Debug)]
pub(super) struct HttpClient {
    connector: Connector,
    timeouts: Timeouts,
}

/// An answer whose body has not been read.
pub(super) struct Exchange {
    /// The status.
    pub(super) status: StatusCode,
    /// The headers.
    pub(super) headers: HeaderMap,
    body: Incoming,
    connection: Option<Connection>,
    timeouts: Timeouts,
    has_begun: bool,
    turn: Turn,
}

/// Why an exchange failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    /// The connection could not be made.
    #[error("failed to connect: {0}")]
    Connect(String),
    /// It broke.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// A part of the exchange did not arrive in time.
    #[error("{what} took more than {} ms", .limit.as_millis())]
    TimedOut {
        /// The missing part.
        what: &'static str,
        /// The timeout.
        limit: Duration,
    },
    /// An event of a stream is too large.
    #[error("an event of the answer has more than {limit} bytes")]
    TooLarge {
        /// The limit in bytes.
        limit: usize,
    },
}

type Connection = Pin<Box<dyn Future<Output = Result<(), hyper::Error>> + Send>>;

impl HttpClient {
    /// A client. It looks up and opens nothing before the first request.
    pub(super) fn new(timeouts: Timeouts) -> Self {
        Self { connector: Connector::default(), timeouts }
    }

    /// Posts `body` and waits for the head of the answer. Redirects are not followed, because a key must only go to
    /// the host that the settings name.
    pub(super) async fn post(&self, uri: &Uri, headers: HeaderMap, body: Vec<u8>) -> Result<Exchange, HttpError> {
        let connecting = self.connector.connect(uri);
        let connected = in_time("connecting", self.timeouts.connect, connecting).await??;
        let request = request(uri, headers, body, &connected)?;
        let sending = self.send(connected, request);
        in_time("the beginning of the answer", self.timeouts.first_byte, sending).await?
    }

    async fn send(&self, connected: Connected, request: Request<Full<Bytes>>) -> Result<Exchange, HttpError> {
        let (mut sender, connection) = http1::Builder::new()
            .read_buf_exact_size(Some(MAX_READ_BYTES))
            .handshake(connected.stream)
            .await
            .map_err(broken)?;
        let mut connection: Option<Connection> = Some(Box::pin(connection));
        let mut sending = pin!(sender.send_request(request));
        let mut turn = Turn::begin();
        // A server may send any number of interim answers before the answer itself.
        let response = loop {
            let part = std::future::poll_fn(|context| {
                drive(&mut connection, context);
                match sending.as_mut().poll(context) {
                    Poll::Ready(response) => Poll::Ready(Some(response)),
                    Poll::Pending if turn.is_over() => Poll::Ready(None),
                    Poll::Pending => Poll::Pending,
                }
            });
            match part.await {
                Some(response) => break response,
                None => turn.pass().await,
            }
        };
        let (head, body) = response.map_err(broken)?.into_parts();
        let (status, headers, timeouts) = (head.status, head.headers, self.timeouts);
        Ok(Exchange { status, headers, body, connection, timeouts, has_begun: false, turn })
    }
}

impl Exchange {
    /// The next bytes of the body; `None` at its end. Other tasks run even if bytes always arrive.
    pub(super) async fn chunk(&mut self) -> Result<Option<Bytes>, HttpError> {
        self.turn.pass_if_over().await;
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

    /// The body, or its first `limit` bytes. If the body breaks off or is late, the part that arrived.
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
        // After a timeout, `text` has the part that arrived.
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

/// Maximum bytes of one read, and of the head of an answer. A task reads a fixed number of times before the runtime
/// stops it, so larger reads would block the loop for longer.
const MAX_READ_BYTES: usize = 32 * 1024;
/// How long an answer is read before other tasks run. Parts that have already arrived are never waited for.
const TURN: Duration = Duration::from_millis(5);
/// How long other tasks run.
const PAUSE: Duration = Duration::from_millis(1);

/// The turn of a task that reads an answer.
pub(super) struct Turn(Instant);

impl Turn {
    /// A turn that begins now.
    pub(super) fn begin() -> Self {
        Self(Instant::now())
    }

    /// Lets other tasks run if the turn is over.
    pub(super) async fn pass_if_over(&mut self) {
        if self.is_over() {
            self.pass().await;
        }
    }

    fn is_over(&self) -> bool {
        self.0.elapsed() >= TURN
    }

    /// Lets other tasks run. Yielding is not enough: the connection wakes this task at once, and the loop checks input
    /// and signals only once in 61 polls.
    async fn pass(&mut self) {
        tokio::time::sleep(PAUSE).await;
        self.0 = Instant::now();
    }
}

/// Polls the connection. The request or the body reports how it ends.
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

/// An error with its causes, without repetitions.
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

/// A connection to a server or to a proxy.
type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection, and the form of requests on it.
struct Connected {
    /// The connection.
    stream: Stream,
    /// Whether a proxy reads the requests. They then contain the whole address.
    is_read_by_proxy: bool,
    /// The proxy's authorization for each request.
    proxy_authorization: Option<HeaderValue>,
}

/// Makes connections.
#[derive(Debug, Default)]
struct Connector {
    /// Read from the environment when the first connection is made.
    proxies: OnceLock<Matcher>,
    /// Loaded for the first TLS connection, because reading the system's certificates takes milliseconds.
    tls: OnceLock<ClientConfig>,
}

impl Connector {
    /// A connector with these proxies instead of those of the environment.
    #[cfg(test)]
    fn through(proxies: Matcher) -> Self {
        Self { proxies: OnceLock::from(proxies), tls: OnceLock::new() }
    }

    /// Connects to the host of `uri`.
    async fn connect(&self, uri: &Uri) -> Result<Connected, HttpError> {
        let mut http = HttpConnector::new_with_resolver(Lookup);
        http.enforce_http(false);
        http.set_nodelay(true);
        let proxies = self.proxies.get_or_init(Matcher::from_env);
        let proxy = proxies.intercept(uri).filter(|_| !is_this_machine(uri.host().unwrap_or_default()));
        let Some(proxy) = proxy else {
            let stream = self.secured(uri, http).await?;
            return Ok(Connected { stream, is_read_by_proxy: false, proxy_authorization: None });
        };
        self.connect_by(&proxy, uri, http).await.map_err(|error| match error {
            HttpError::Connect(reason) => {
                HttpError::Connect(format!("by the proxy {}: {reason}", proxy.uri().host().unwrap_or_default()))
            }
            error => error,
        })
    }

    async fn connect_by(
        &self,
        proxy: &Intercept,
        uri: &Uri,
        http: HttpConnector<Lookup>,
    ) -> Result<Connected, HttpError> {
        let is_secure = uri.scheme_str() == Some("https");
        let at_proxy = proxy.uri().clone();
        let stream = match at_proxy.scheme_str() {
            Some("socks5" | "socks5h") => {
                let mut socks = SocksV5::new(at_proxy, http);
                if let Some((user, password)) = proxy.raw_auth() {
                    socks = socks.with_auth(user.to_owned(), password.to_owned());
                }
                self.secured(&with_port(uri), socks).await?
            }
            Some("http") if is_secure => {
                let mut tunnel = Tunnel::new(at_proxy, http);
                if let Some(authorization) = proxy.basic_auth() {
                    tunnel = tunnel.with_auth(authorization.clone());
                }
                self.secured(uri, tunnel).await?
            }
            Some("http") => {
                let stream = self.secured(&at_proxy, http).await?;
                let proxy_authorization = proxy.basic_auth().cloned();
                return Ok(Connected { stream, is_read_by_proxy: true, proxy_authorization });
            }
            other => {
                let scheme = other.unwrap_or_default();
                return Err(HttpError::Connect(format!("proxies of the kind {scheme} are not supported")));
            }
        };
        Ok(Connected { stream, is_read_by_proxy: false, proxy_authorization: None })
    }

    /// Connects by `connector`, with TLS for an `https` address.
    async fn secured<C>(&self, uri: &Uri, mut connector: C) -> Result<Stream, HttpError>
    where
        C: Service<Uri, Response = TokioIo<TcpStream>>,
        C::Error: Into<Box<dyn Error + Send + Sync>>,
        HttpsConnector<C>: Service<Uri, Response = Stream, Error = Box<dyn Error + Send + Sync>>,
    {
        if uri.scheme_str() != Some("https") {
            return dial(&mut connector, uri).await.map(MaybeHttpsStream::Http);
        }
        let builder = HttpsConnectorBuilder::new().with_tls_config(self.tls().await?);
        dial(&mut builder.https_only().enable_http1().wrap_connector(connector), uri).await
    }

    /// TLS with the system's certificates, so that the certificates of a company or of an own server need no second
    /// place.
    async fn tls(&self) -> Result<ClientConfig, HttpError> {
        if let Some(tls) = self.tls.get() {
            return Ok(tls.clone());
        }
        let loaded = tokio::task::spawn_blocking(with_system_roots).await;
        let loaded = loaded.map_err(|error| HttpError::Connect(error.to_string()))??;
        Ok(self.tls.get_or_init(|| loaded).clone())
    }
}

fn with_system_roots() -> Result<ClientConfig, HttpError> {
    let roots = client().and_then(|client| {
        client.with_native_roots().map_err(|error| HttpError::Connect(format!("no certificates to trust: {error}")))
    });
    Ok(roots?.with_no_client_auth())
}

async fn dial<C: Service<Uri>>(connector: &mut C, uri: &Uri) -> Result<C::Response, HttpError>
where
    C::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let refused = |error: C::Error| HttpError::Connect(with_sources(error.into().as_ref()));
    std::future::poll_fn(|context| connector.poll_ready(context)).await.map_err(refused)?;
    connector.call(uri.clone()).await.map_err(refused)
}

fn client() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, HttpError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    builder.map_err(|error| HttpError::Connect(error.to_string()))
}

/// The address with its port. Without one, the proxy connector would use the TLS port.
fn with_port(uri: &Uri) -> Uri {
    let host = uri.host().unwrap_or_default();
    let named = match uri.scheme_str() {
        Some("http") if uri.port().is_none() => format!("http://{host}:80/").parse().ok(),
        _ => None,
    };
    named.unwrap_or_else(|| uri.clone())
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Look-ups that run.
static RUNNING: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(LOOKUPS)));

/// Looks up the addresses of a host.
#[derive(Debug, Clone, Copy)]
struct Lookup;

impl Service<Name> for Lookup {
    type Response = IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Self::Response>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        // The port of the address is set later.
        let look_up = move || (name.as_str(), 0).to_socket_addrs();
        Box::pin(limited(Arc::clone(&RUNNING), look_up))
    }
}

/// Runs `work` on a worker thread once `running` has room. The room is released when the work ends, even if nobody
/// waits for it any more.
async fn limited<T: Send + 'static>(
    running: Arc<Semaphore>,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let room = running.acquire_owned().await.map_err(io::Error::other)?;
    let work = move || {
        let _room = room;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::sync::mpsc;
    use std::thread::JoinHandle;

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn work_that_nobody_waits_for_takes_its_room_until_it_ends() {
        let running = Arc::new(Semaphore::new(1));
        let (answer, silence) = mpsc::channel::<()>();
        let silent = limited(Arc::clone(&running), move || silence.recv().map_err(io::Error::other));
        assert!(Box::pin(silent).as_mut().now_or_never().is_none(), "the name server is silent");
        let second = limited(Arc::clone(&running), || Ok(2));
        let mut second = Box::pin(second);
        assert!(second.as_mut().now_or_never().is_none());
        // The pool itself keeps working.
        assert_eq!(tokio::task::spawn_blocking(|| 3).await.unwrap(), 3);
        assert!(second.as_mut().now_or_never().is_none());
        answer.send(()).unwrap();
        assert_eq!(second.await.unwrap(), 2);
    }

    #[tokio::test]
    async fn names_have_addresses() {
        let name: Name = "localhost".parse().unwrap();
        let mut addresses = Lookup.call(name).await.unwrap();
        assert!(addresses.all(|address| address.ip().is_loopback()));
    }

    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

    /// Serves one connection: hears the head of a request and says `answer`.
    fn listen(answer: &'static [u8]) -> (u16, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut heard = Vec::new();
            let mut byte = [0];
            while !heard.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
                heard.extend_from_slice(&byte);
            }
            stream.write_all(answer).unwrap();
            String::from_utf8(heard).unwrap()
        });
        (port, serving)
    }

    fn post(proxy: &str, uri: &str) -> Result<StatusCode, HttpError> {
        let second = Duration::from_secs(10);
        let timeouts = Timeouts { connect: second, first_byte: second, idle: second };
        let connector = Connector::through(Matcher::builder().all(proxy.to_owned()).build());
        let client = HttpClient { connector, timeouts };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let uri = uri.parse().unwrap();
        runtime.block_on(client.post(&uri, HeaderMap::new(), b"{}".to_vec())).map(|exchange| exchange.status)
    }

    #[test]
    fn a_proxy_is_asked_for_the_whole_address() {
        let (port, serving) = listen(ANSWER);
        let status = post(&format!("http://user:word@127.0.0.1:{port}"), "http://models.example/v1/chat?a=1").unwrap();
        assert_eq!(status, StatusCode::OK);
        let heard = serving.join().unwrap();
        assert!(heard.starts_with("POST http://models.example/v1/chat?a=1 HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("host: models.example\r\n"), "{heard}");
        assert!(heard.contains("proxy-authorization: Basic dXNlcjp3b3Jk\r\n"), "{heard}");
    }

    #[test]
    fn a_proxy_gives_a_tunnel_for_tls() {
        let (port, serving) = listen(b"HTTP/1.1 403 Forbidden\r\n\r\n");
        let error = post(&format!("http://user:word@127.0.0.1:{port}"), "https://models.example/v1").unwrap_err();
        let shown = error.to_string();
        assert!(shown.starts_with("failed to connect: by the proxy 127.0.0.1: "), "{shown}");
        let heard = serving.join().unwrap();
        assert!(heard.starts_with("CONNECT models.example:443 HTTP/1.1\r\n"), "{heard}");
        assert!(heard.contains("Proxy-Authorization: Basic dXNlcjp3b3Jk\r\n"), "{heard}");
    }

    #[test]
    fn this_machine_is_asked_directly() {
        let (port, serving) = listen(ANSWER);
        let status = post("http://127.0.0.1:9", &format!("http://127.0.0.1:{port}/v1")).unwrap();
        assert_eq!(status, StatusCode::OK);
        assert!(serving.join().unwrap().starts_with("POST /v1 HTTP/1.1\r\n"));
    }

    #[test]
    fn proxies_of_other_kinds_are_refused() {
        let error = post("socks4://127.0.0.1:9", "http://models.example/").unwrap_err();
        assert_eq!(
            error.to_string(),
            "failed to connect: by the proxy 127.0.0.1: proxies of the kind socks4 are not supported"
        );
    }

    #[test]
    fn a_socks_proxy_gets_the_host_name() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut methods = [0; 3];
            stream.read_exact(&mut methods).unwrap();
            stream.write_all(&[5, 0]).unwrap();
            let mut target = [0; 5 + 14 + 2];
            stream.read_exact(&mut target).unwrap();
            stream.write_all(&[5, 0, 0, 1, 127, 0, 0, 1, 0, 80]).unwrap();
            let mut request = [0; 17];
            stream.read_exact(&mut request).unwrap();
            stream.write_all(ANSWER).unwrap();
            (target, request)
        });
        let status = post(&format!("socks5h://127.0.0.1:{port}"), "http://models.example/v1").unwrap();
        assert_eq!(status, StatusCode::OK);
        let (target, request) = serving.join().unwrap();
        assert_eq!(target[..], *b"\x05\x01\x00\x03\x0emodels.example\x00\x50");
        assert_eq!(request, *b"POST /v1 HTTP/1.1");
    }
}
