//! TLS with a certificate of the test. Trusted certificates come from the environment, so the test starts itself again
//! with `SSL_CERT_FILE`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use compaction_engine::models::FailureKind;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::json;

use super::harness::{ask, model, request};
use super::server::{Script, Server};

/// Marks the second process.
const TRUSTED: &str = "COMPACTD_TEST_TRUSTED";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models/tls").join(name)
}

fn server() -> Server {
    let certificate = CertificateDer::from_pem_file(file("certificate.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(file("key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(config.with_single_cert(vec![certificate], key).unwrap());
    let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
    let body = b"data: {\"choices\":[{\"delta\":{\"content\":\"safe\"},\"finish_reason\":\"stop\"}]}\n\n".to_vec();
    let script = Script { status: 200, headers, body, ..Script::default() };
    Server::start_over(script, move |stream| {
        StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream)
    })
}

#[test]
fn a_certificate_is_trusted_if_the_system_trusts_it() {
    let server = server();
    let address = server.address().replace("http:", "https:");
    let settings = json!({ "provider": "openai", "model": "m", "baseUrl": address });
    let (outcome, _) = ask(model("tested", &settings).as_ref(), &request());
    if std::env::var_os(TRUSTED).is_some() {
        assert_eq!(outcome.unwrap().text, "safe");
        return;
    }
    let error = outcome.unwrap_err();
    assert_eq!(error.kind, FailureKind::Connection);
    assert!(error.cause.contains("certificate"), "{error}");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "tls::a_certificate_is_trusted_if_the_system_trusts_it"]);
    let ended = again.env(TRUSTED, "1").env("SSL_CERT_FILE", file("certificate.pem")).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
}
