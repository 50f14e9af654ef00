//! An HTTP server that answers by a script, in pieces.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use serde_json::Value;

/// How an answer is sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Script {
    /// The status code.
    pub(super) status: u16,
    /// Further headers, besides those that delimit the body.
    pub(super) headers: Vec<(String, String)>,
    /// The body.
    pub(super) body: Vec<u8>,
    /// Bytes per piece; 0 sends the body whole.
    pub(super) piece: usize,
    /// How long the server waits after each piece.
    pub(super) pause: Duration,
    /// How the answer ends.
    pub(super) end: End,
}

/// How an answer ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum End {
    /// With the last, empty chunk.
    #[default]
    Chunk,
    /// By closing the connection. Nothing else delimits the body.
    Close,
    /// By closing the connection before the announced end.
    Drop,
    /// Not at all. The server waits until the client leaves.
    Stall,
    /// Before the head.
    Mute,
}

/// A request as it arrived.
#[derive(Debug)]
pub(super) struct Asked {
    /// Method, target and version.
    pub(super) line: String,
    /// Headers, with names in lower case.
    pub(super) headers: Vec<(String, String)>,
    /// The body.
    pub(super) body: Value,
    /// Its text.
    pub(super) text: String,
}

impl Asked {
    /// A header's text.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, text)| text.as_str())
    }
}

/// An event at a server.
#[derive(Debug)]
pub(super) enum ServerEvent {
    /// A request arrived.
    Asked(Asked),
    /// The client closed the connection while the server waited.
    ClientLeft,
}

/// A server that answers every request by its script.
pub(super) struct Server {
    port: u16,
    events: Receiver<ServerEvent>,
}

impl Server {
    /// Starts a server. It ends with the process of the test.
    pub(super) fn start(script: Script) -> Self {
        Self::start_several(vec![script])
    }

    /// Starts a server with a script for each request. The last script serves all further requests.
    pub(super) fn start_several(scripts: Vec<Script>) -> Self {
        Self::start_scripts(scripts, |stream| stream)
    }

    /// Starts a server whose connections are wrapped.
    pub(super) fn start_over<S: Read + Write>(script: Script, wrap: impl Fn(TcpStream) -> S + Send + 'static) -> Self {
        Self::start_scripts(vec![script], wrap)
    }

    /// Starts a server at this port. The path of a request selects its script.
    pub(super) fn start_at(port: u16, script: fn(&str) -> Script) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Ok(asked) = read_request(&mut stream) else { continue };
                // The connection ends with the answer.
                let _ = write_answer(&mut stream, &Script { end: End::Close, ..script(&asked.line) });
                let _ = sender.send(ServerEvent::Asked(asked));
            }
        });
        Self { port, events }
    }

    fn start_scripts<S: Read + Write>(scripts: Vec<Script>, wrap: impl Fn(TcpStream) -> S + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, events) = channel();
        std::thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                let script = &scripts[number.min(scripts.len() - 1)];
                // A client that leaves early is part of some scripts.
                let stream = stream.unwrap();
                stream.set_nodelay(true).unwrap();
                let _ = serve(&mut wrap(stream), script, &sender);
            }
        });
        Self { port, events }
    }

    /// Address of the server.
    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The next event.
    pub(super) fn next_event(&self) -> ServerEvent {
        self.events.recv_timeout(Duration::from_secs(20)).unwrap()
    }

    /// Whether no further request arrived.
    pub(super) fn is_silent(&self) -> bool {
        !self.events.try_iter().any(|event| matches!(event, ServerEvent::Asked(_)))
    }

    /// The next request.
    pub(super) fn asked(&self) -> Asked {
        match self.next_event() {
            ServerEvent::Asked(asked) => asked,
            ServerEvent::ClientLeft => panic!("no request"),
        }
    }
}

fn serve(stream: &mut (impl Read + Write), script: &Script, sender: &Sender<ServerEvent>) -> std::io::Result<()> {
    let _ = sender.send(ServerEvent::Asked(read_request(stream)?));
    let written = match script.end {
        End::Mute => Ok(()),
        _ => write_answer(stream, script),
    };
    if matches!(script.end, End::Stall | End::Mute) {
        // A client that leaves before it has read everything resets the connection.
        let is_gone = written.is_err() || !matches!(stream.read(&mut [0]), Ok(1..));
        let _ = is_gone.then(|| sender.send(ServerEvent::ClientLeft));
    }
    written
}

fn read_request(stream: &mut impl Read) -> std::io::Result<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, text)) = header.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_lowercase(), text.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, length)| length.parse());
    let mut body = vec![0; length.and_then(Result::ok).unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let text = String::from_utf8_lossy(&body).into_owned();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    Ok(Asked { line: line.trim_end().to_owned(), headers, body, text })
}

fn write_answer(stream: &mut impl Write, script: &Script) -> std::io::Result<()> {
    let is_chunked = script.end != End::Close;
    let delimiter = if is_chunked { "transfer-encoding: chunked" } else { "connection: close" };
    let mut head = format!("HTTP/1.1 {} Scripted\r\n{delimiter}\r\n", script.status);
    for (name, text) in &script.headers {
        head.push_str(&format!("{name}: {text}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    let piece = if script.piece == 0 { script.body.len().max(1) } else { script.piece };
    for bytes in script.body.chunks(piece) {
        let mut sent = bytes.to_vec();
        if is_chunked {
            sent = format!("{:x}\r\n", bytes.len()).into_bytes();
            sent.extend_from_slice(bytes);
            sent.extend_from_slice(b"\r\n");
        }
        stream.write_all(&sent)?;
        std::thread::sleep(script.pause);
    }
    match script.end {
        End::Chunk => stream.write_all(b"0\r\n\r\n"),
        _ => Ok(()),
    }
}
