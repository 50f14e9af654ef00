//! What went over the pipes, for reports.

use std::fmt::Write as _;

/// Characters of one message that a report shows.
const SHOWN: usize = 700;

/// What happened, in this order.
#[derive(Debug, Default)]
pub(crate) struct Transcript {
    /// Steps, each with the number of messages that went before it.
    steps: Vec<(usize, String)>,
    /// The messages.
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
        let text = format!("# step {index}: {}", shorten(&source.to_string(), 300));
        self.steps.push((self.exchanges.len(), text));
    }

    /// Bytes went to a server.
    pub(crate) fn sent(&mut self, server: &str, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes).into_owned();
        self.exchanges.push(Exchanged { server: server.to_owned(), is_sent: true, text });
    }

    /// A message came from a server.
    pub(crate) fn received(&mut self, server: &str, text: &str) {
        self.exchanges.push(Exchanged { server: server.to_owned(), is_sent: false, text: text.to_owned() });
    }

    /// The whole of it, with long messages shortened. Only a report needs it, and many messages are long.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let mut steps = self.steps.iter().peekable();
        for at in 0..=self.exchanges.len() {
            while let Some((_, step)) = steps.next_if(|(before, _)| *before == at) {
                let _ = writeln!(text, "    {step}");
            }
            if let Some(exchanged) = self.exchanges.get(at) {
                let _ = writeln!(text, "    {}", exchanged.shown());
            }
        }
        text
    }
}

impl Exchanged {
    fn shown(&self) -> String {
        let Self { server, is_sent, text } = self;
        if *is_sent {
            format!("{server} <- {}", shorten(&text.escape_debug().to_string(), SHOWN))
        } else {
            format!("{server} -> {}", shorten(text, SHOWN))
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_stand_before_what_they_send() {
        let mut transcript = Transcript::default();
        transcript.sent("main", b"{}\n");
        transcript.received("main", "{\"id\":1}");
        transcript.step(0, &serde_json::json!({ "call": "ping" }));
        transcript.step(1, &serde_json::json!({ "call": "exit" }));
        transcript.sent("other", "a".repeat(2 * SHOWN).as_bytes());
        transcript.step(2, &serde_json::json!({ "exit": 0 }));
        let text = transcript.text();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let starts = ["main <- {}\\n", "main -> {\"id\":1}", "# step 0: ", "# step 1: ", "other <- aaa", "# step 2: "];
        assert_eq!(lines.len(), starts.len(), "{text}");
        for (line, start) in lines.iter().zip(starts) {
            assert!(line.starts_with(start) && line.len() < SHOWN + 100, "{line}");
        }
    }
}
