//! The deterministic summarizer: it fills the summary format from the conversation itself, without
//! a model, a key or a network (docs/summaries.md, "The extractive summary").
//!
//! The messages are collected into a ledger ([`crate::ledger`]). The ledger provides candidates for the sections
//! (`candidates`) and lists of names. Those that fit the token budget are then chosen (`budget`). Every item is one
//! line, so no text of the conversation can break the format.

mod assignments;
mod budget;
mod candidates;
mod checks;
mod pool;
mod resets;

use crate::ledger::{Check, Collector, Ledger, LossReport, Retention, text};
use crate::message::{Body, Message};
use crate::projection::PreparedMessage;
use crate::summary::{Section, ShownFiles, SummaryKind, append_shown_files};
use crate::tools::FileTools;

use candidates::Candidates;
use pool::{Origin, Pool, Rank};

/// The input of a summary.
#[derive(Debug, Clone, Copy)]
pub struct ExtractiveInput<'a> {
    /// What the summary replaces.
    pub kind: SummaryKind,
    /// The messages, oldest first, with the entries that they come from.
    pub messages: &'a [PreparedMessage],
    /// The ledger of the previous compaction.
    pub previous_ledger: Option<&'a Ledger>,
    /// The previous summary as it was stored. It is parsed if there is no ledger.
    pub previous_summary: Option<&'a str>,
    /// The tools that identify file operations.
    pub tools: &'a FileTools,
    /// How the summary is written.
    pub style: Style<'a>,
}

/// How a summary is written.
#[derive(Debug, Clone, Copy)]
pub struct Style<'a> {
    /// The caller's instructions. They are recorded, and items that match their words are preferred.
    pub custom_instructions: Option<&'a str>,
    /// Most tokens of the summary, by [`crate::tokens::estimate_text`]. Smaller values count as
    /// [`MINIMUM_TOKENS`].
    pub max_tokens: u64,
    /// Whether items end with the entry that they come from, such as `[entry 1a2b3c4d]`.
    pub citations: bool,
    /// The beginning of the split turn that follows the messages: the current work. Its request may answer a question
    /// at the end of the messages.
    pub turn: Option<&'a Turn>,
    /// The ledger of a history together with the turn that follows it, if a history comes before a split turn. The
    /// summary of the history then states the work at the end of the turn, and the summary of the turn does not.
    pub with_turn: Option<&'a Ledger>,
}

/// The caller cancelled the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("summarise the conversation: cancelled")]
pub struct Cancelled;

/// Smallest token budget of a summary: room for all headings and the latest request.
pub const MINIMUM_TOKENS: u64 = 256;

/// The summary of `input` in at most `max_tokens` tokens, with all headings of its kind in order.
///
/// The same input gives the same text. The last request may be cut but is never left out. If any
/// message has text that models see, so has the summary. `is_cancelled` is asked before each message.
/// The caller adds the file blocks.
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

/// The summary of a ledger.
pub fn render(ledger: &Ledger, kind: SummaryKind, style: &Style<'_>) -> String {
    render_messages(ledger, &[], kind, style)
}

/// The summary of a ledger that was collected from `messages`. If the ledger has nothing for a summary,
/// the newest messages are quoted.
pub fn render_messages(ledger: &Ledger, messages: &[PreparedMessage], kind: SummaryKind, style: &Style<'_>) -> String {
    let mut candidates = Candidates::of(ledger, kind, style);
    if ledger.statements.is_empty() && !budget::has_any(&candidates, kind) {
        report_anything(messages, &mut candidates.pool);
    }
    budget::choose(ledger, candidates, kind, style)
}

/// The summary of the beginning of a split turn without a history before it. The sections of a history state the work,
/// and the context of the turn has the rest. Below 2,048 UTF-16 units, there is only the context. The result is
/// complete; [`crate::summary::join_split_turn`] leaves it as it is.
pub fn render_turn(ledger: &Ledger, messages: &[PreparedMessage], style: &Style<'_>) -> String {
    let units = style.max_tokens.saturating_mul(budget::UNITS_PER_TOKEN as u64);
    if units < candidates::ROOM_FOR_TWO as u64 {
        return render_messages(ledger, messages, SummaryKind::TurnPrefix, style);
    }
    let mut candidates = Candidates::of_turn(ledger, style);
    if ledger.statements.is_empty() && !budget::has_any(&candidates, SummaryKind::History) {
        report_anything(messages, &mut candidates.pool);
    }
    budget::choose_of_turn(ledger, candidates, style)
}

/// The beginning of a split turn.
#[derive(Debug, Clone)]
pub struct Turn {
    /// Its request, in the words of the person; empty if it continues the request before it.
    pub(crate) request: String,
    /// What was done for it in the replaced messages.
    pub(crate) ledger: Ledger,
}

impl Turn {
    /// The turn that begins with `messages`; `None` if none begins there. If a person's words do not begin it, it
    /// continues the request before it.
    pub fn of(messages: &[PreparedMessage], tools: &FileTools) -> Option<Self> {
        let request = match messages.first().filter(|first| first.message.starts_turn())?.message.body() {
            Body::User { content } => crate::ledger::person_words(&content.text("\n")),
            _ => String::new(),
        };
        Some(Self { request, ledger: Ledger::collect(messages, None, tools) })
    }
}

/// How much of `ledger` an extractive summary of `max_tokens` would keep. Any summary that is repaired
/// within that budget keeps at least as much. `kept` are the messages that stay. `reserve_tokens`
/// limits the file lists after the summary.
pub fn forecast(ledger: &Ledger, max_tokens: u64, reserve_tokens: u64, kept: &[PreparedMessage]) -> Retention {
    let style = Style { custom_instructions: None, max_tokens, citations: false, turn: None, with_turn: None };
    let text = render(ledger, SummaryKind::History, &style);
    let lists = ledger.file_lists();
    let summary = append_shown_files(&text, &ShownFiles::within(&lists, &ledger.last_touched(), reserve_tokens));
    let check = Check { ledger, summary: &summary, evicted: &[], previous_summary: None, kept };
    LossReport::of(&check).retention
}

/// Most messages that are quoted if nothing else is known.
const MOST_MESSAGES: usize = 8;

/// Adds what the newest messages with text say, for messages without any usual facts, such as results
/// whose calls were cut away. Without any text, adds the number of messages.
fn report_anything(messages: &[PreparedMessage], pool: &mut Pool) {
    let is_hidden =
        |message: &Message| matches!(&*message.read_body(), Body::BashExecution(bash) if bash.exclude_from_context);
    let visible = messages.iter().enumerate().rev().filter(|(_, prepared)| !is_hidden(&prepared.message));
    let ends = visible.map(|(index, prepared)| {
        (index as u64 + 1, text::first_and_last_sentence(&prepared.message.read_body().display_text()))
    });
    for (position, sentences) in ends.filter(|(_, sentences)| !sentences.is_empty()).take(MOST_MESSAGES) {
        pool.add(Section::CriticalContext, &sentences, Origin::at(position), Rank::Normal);
    }
    if pool.is_empty() {
        let (count, noun) = (messages.len(), if messages.len() == 1 { "message" } else { "messages" });
        let item = format!("Nothing that models see was in {count} {noun}");
        pool.add(Section::Done, &item, Origin::at(u64::MAX), Rank::Must);
    }
}

#[cfg(test)]
mod tests;
