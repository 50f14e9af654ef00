//! The deterministic summarizer: it fills the summary format from the conversation itself, without
//! a model, a key or a network (docs/summaries.md, "The extractive summary").
//!
//! The messages are collected into a ledger ([`crate::ledger`]), which leaves candidates for the
//! sections (`candidates`) and lists of names; what fits the budget of tokens is then chosen
//! (`budget`). Nothing that was said or printed can bend the format: an item is one line.

mod budget;
mod candidates;
mod digest;
mod lengthen;
mod packed;
mod pool;

use crate::file_operations::FileTools;
use crate::ledger::{Check, Collector, Ledger, LossReport, Retention, text};
use crate::message::{Body, Message};
use crate::preparation::PreparedMessage;
use crate::summary::{Section, ShownFiles, SummaryKind, append_shown_files};

use candidates::Told;
use pool::{Origin, Pool, Rank};

/// What is summarised.
#[derive(Debug, Clone, Copy)]
pub struct ExtractiveInput<'a> {
    /// What the summary stands for.
    pub kind: SummaryKind,
    /// The messages, oldest first, with the entries that they come from.
    pub messages: &'a [PreparedMessage],
    /// The ledger of the previous compaction.
    pub previous_ledger: Option<&'a Ledger>,
    /// The previous summary as it was stored; it is read where there is no ledger.
    pub previous_summary: Option<&'a str>,
    /// The tools by which file operations are known.
    pub tools: &'a FileTools,
    /// How the summary is written.
    pub style: Style<'a>,
}

/// How a summary is written.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    /// The caller's instructions: they are recorded, and what matches their words is preferred.
    pub custom_instructions: Option<&'a str>,
    /// Most tokens of the summary, by [`crate::tokens::estimate_text`]; at least [`MINIMUM_TOKENS`]
    /// are used.
    pub max_tokens: u64,
    /// Whether items end with the entry that they come from, such as `[entry 1a2b3c4d]`.
    pub citations: bool,
}

/// The caller cancelled the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("summarise the conversation: cancelled")]
pub struct Cancelled;

/// Fewest tokens that a summary can be asked for: room for all headings and the latest request.
pub const MINIMUM_TOKENS: u64 = 256;

/// The summary of `input`, at most `max_tokens` tokens long, with all headings of its kind in their
/// order; fewer than [`MINIMUM_TOKENS`] count as these.
///
/// The same input gives the same text. The request that came last is never left out, only cut,
/// and where any message has text that models see, so has the summary. `is_cancelled` is asked
/// before each message. File blocks are for the caller to add.
pub fn summarize(input: &ExtractiveInput<'_>, is_cancelled: &dyn Fn() -> bool) -> Result<String, Cancelled> {
    let mut collector = Collector::new(input.previous_ledger, input.previous_summary, input.tools);
    for prepared in input.messages {
        if is_cancelled() {
            return Err(Cancelled);
        }
        collector.read(prepared);
    }
    Ok(render_messages(&collector.finish(), input.messages, input.kind, &input.style))
}

/// The summary of what a ledger holds.
pub fn render(ledger: &Ledger, kind: SummaryKind, style: &Style<'_>) -> String {
    render_messages(ledger, &[], kind, style)
}

/// The summary of what a ledger holds, which was collected of `messages`: they are told of where the ledger
/// knows nothing that a summary tells.
pub fn render_messages(ledger: &Ledger, messages: &[PreparedMessage], kind: SummaryKind, style: &Style<'_>) -> String {
    let mut told = Told::of(ledger, kind, style);
    if ledger.statements.is_empty() && !budget::has_any(&told, kind) {
        report_anything(messages, &mut told.pool);
    }
    budget::choose(ledger, told, kind, style)
}

/// How much of what `ledger` holds a summary of `max_tokens` would keep by itself: the least that
/// any summary keeps once it is repaired within that budget. `kept` are the messages that stay.
/// `reserve_tokens` bound the lists of files behind it.
pub fn forecast(ledger: &Ledger, max_tokens: u64, reserve_tokens: u64, kept: &[PreparedMessage]) -> Retention {
    let style = Style { custom_instructions: None, max_tokens, citations: false };
    let text = render(ledger, SummaryKind::History, &style);
    let lists = ledger.file_lists();
    let summary = append_shown_files(&text, &ShownFiles::within(&lists, &ledger.last_touched(), reserve_tokens));
    let check = Check { ledger, summary: &summary, evicted: &[], previous_summary: None, kept };
    LossReport::of(&check).retention
}

/// Messages of which something is told where nothing else is known.
const MOST_TOLD: usize = 8;

/// What the newest messages with text say, where no message told anything by the usual signs: for
/// example results whose calls were cut away. Without any text, how many messages there were.
fn report_anything(messages: &[PreparedMessage], pool: &mut Pool) {
    let is_hidden =
        |message: &Message| matches!(message.body(), Body::BashExecution(bash) if bash.exclude_from_context);
    let told = messages.iter().enumerate().rev().filter(|(_, prepared)| !is_hidden(&prepared.message));
    let told = told.map(|(index, prepared)| (index as u64 + 1, text::gist(&prepared.message.display_text())));
    for (position, gist) in told.filter(|(_, gist)| !gist.is_empty()).take(MOST_TOLD) {
        pool.add(Section::CriticalContext, &gist, Origin::at(position), Rank::Normal);
    }
    if pool.is_empty() {
        let (count, noun) = (messages.len(), if messages.len() == 1 { "message" } else { "messages" });
        let item = format!("Nothing that models see was in {count} {noun}");
        pool.add(Section::Done, &item, Origin::at(u64::MAX), Rank::Must);
    }
}

#[cfg(test)]
mod tests;
