//! A short description of a compaction for user interfaces.

use super::Ledger;

/// The figures of a compaction.
#[derive(Debug, Clone, Copy)]
pub struct Brief<'a> {
    /// Messages that were summarised.
    pub messages: usize,
    /// Their estimated tokens.
    pub tokens_before: u64,
    /// Estimated tokens of the summary.
    pub tokens_after: u64,
    /// What was collected from them.
    pub ledger: &'a Ledger,
}

/// One or two sentences about a compaction, in plain text: how much smaller it became, what is kept,
/// and what still fails.
pub fn brief(brief: &Brief<'_>) -> String {
    let messages = counted(brief.messages, "message");
    let (before, after) = (tokens(brief.tokens_before), tokens(brief.tokens_after));
    let mut text = format!("Summarised {messages} ({before} tokens) into {after}");
    let files = brief.ledger.files.len();
    match (files, brief.ledger.requests.is_empty()) {
        (0, true) => {}
        (0, false) => text.push_str("; the last request is kept"),
        (files, true) => text.push_str(&format!("; {} kept", are(files, "file"))),
        (files, false) => text.push_str(&format!("; {} and the last request are kept", counted(files, "file"))),
    }
    text.push('.');
    let unresolved = brief.ledger.unresolved_errors().count();
    if unresolved > 0 {
        text.push_str(&format!(" {} unresolved.", are(unresolved, "error")));
    }
    text
}

fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn are(count: usize, noun: &str) -> String {
    format!("{} {}", counted(count, noun), if count == 1 { "is" } else { "are" })
}

/// A number of tokens in short form: `900`, `5k`, `1.2M`.
fn tokens(tokens: u64) -> String {
    match tokens {
        0..1000 => tokens.to_string(),
        1000..1_000_000 => format!("{}k", (tokens + 500) / 1000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}
