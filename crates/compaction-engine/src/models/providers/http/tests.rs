use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread::JoinHandle;

use hyper_util::client::proxy::matcher::Matcher;

use super::*;

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
fn a_proxy_of_the_socket_kind_is_told_the_host() {
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
