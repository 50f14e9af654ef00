//! What went over the pipes, for reports.

use std::fmt::Write as _;

/// Characters of one message that a report shows.
const SHOWN: usize = 700;

/// Lines in the order in which things happened.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    lines: Vec<String>,
    /// The same, whole and without the steps.
    pub(crate) exchanges: Vec<Exchanged>,
}

/// A message that went over the pipes.
#[derive(Debug, Clone)]
pub struct Exchanged {
    /// The name of the server.
    pub server: String,
    /// Whether the client sent it.
    pub is_sent: bool,
    /// Its text, with the framing that it was sent in.
    pub text: String,
}

impl Transcript {
    /// A step begins.
    pub(crate) fn step(&mut self, index: usize, source: &serde_json::Value) {
        self.lines.push(format!("# step {index}: {}", shorten(&source.to_string(), 300)));
    }

    /// Bytes went to a server.
    pub(crate) fn sent(&mut self, server: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.exchanges.push(Exchanged { server: server.to_owned(), is_sent: true, text });
        self.lines.push(format!(
            "{server} <- {}",
            shorten(&String::from_utf8_lossy(bytes).escape_debug().to_string(), SHOWN)
        ));
    }

    /// A message came from a server.
    pub(crate) fn received(&mut self, server: &str, text: &str) {
        self.exchanges.push(Exchanged { server: server.to_owned(), is_sent: false, text: text.to_owned() });
        self.lines.push(format!("{server} -> {}", shorten(text, SHOWN)));
    }

    /// The whole of it.
    pub(crate) fn text(&self) -> String {
        self.lines.iter().fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "    {line}");
            text
        })
    }
}

/// The start and the end of a long text.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let start: String = text.chars().take(limit * 3 / 4).collect();
    let end: String = text.chars().skip(count - limit / 4).collect();
    format!("{start} [… {} characters …] {end}", count - limit / 4 * 4)
}
