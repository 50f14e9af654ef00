//! Makes connections: name lookup, proxy, TLS.
//!
//! Proxies are those of the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`, `NO_PROXY`), as
//! curl reads them; servers on this very machine are never asked through one.

mod lookup;

use std::error::Error;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use hyper::Uri;
use hyper::header::HeaderValue;
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::{SocksV5, Tunnel};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::net::TcpStream;
use tower_service::Service;

use super::{HttpError, with_sources};
use lookup::Lookup;

/// A connection to a server or to a proxy.
pub(super) type Stream = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A connection, and how requests on it look.
pub(super) struct Connected {
    /// The connection.
    pub(super) stream: Stream,
    /// Whether a proxy reads the requests, which then name the whole address.
    pub(super) is_read_by_proxy: bool,
    /// What the proxy wants to see in each request.
    pub(super) proxy_authorization: Option<HeaderValue>,
}

/// Makes connections.
#[derive(Debug, Default)]
pub(super) struct Connector {
    /// Read from the environment when the first connection is made.
    proxies: OnceLock<Matcher>,
    /// Loaded when the first connection with TLS is made: reading the system's certificates
    /// takes milliseconds.
    tls: OnceLock<ClientConfig>,
}

impl Connector {
    /// A connector that takes its proxies from `proxies`, not from the environment.
    #[cfg(test)]
    pub(super) fn through(proxies: Matcher) -> Self {
        Self { proxies: OnceLock::from(proxies), tls: OnceLock::new() }
    }

    /// Connects to the host of `uri`.
    pub(super) async fn connect(&self, uri: &Uri) -> Result<Connected, HttpError> {
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

    /// Connects by `connector`, with TLS if the address wants it.
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

    /// TLS that trusts whom the system trusts, so that the certificates of a company or of an own
    /// server need no second place.
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

/// The address with its port: the connector through a proxy takes that of TLS where there is none.
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
