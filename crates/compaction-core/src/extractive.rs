//! The deterministic summarizer: it fills the summary format from the conversation itself, without
//! a model, a key or a network (compaction spec, Summarizers).
//!
//! The messages are read once, in order, and leave candidates for the sections (`pool`): what
//! people and models said (`speech`, by the words of `cues`), what tools did (`actions`, to a
//! `subject`), and what earlier summaries told (`previous`). What fits the budget of tokens is then
//! chosen (`budget`). Nothing that was said or printed can bend the format: an item is one line.

mod actions;
mod budget;
mod commands;
mod cues;
mod pool;
mod previous;
mod requests;
mod speech;
mod steps;
mod subject;
mod text;

use crate::message::{Body, Message, blocks_text};
use crate::preparation::PreparedMessage;
use crate::summary::{Section, SummaryKind};

use actions::Actions;
use pool::{Pool, Rank};
use speech::Speech;

/// What is summarised.
#[derive(Debug, Clone, Copy)]
pub struct ExtractiveInput<'a> {
    /// What the summary stands for.
    pub kind: SummaryKind,
    /// The messages, oldest first, with the entries that they come from.
    pub messages: &'a [PreparedMessage],
    /// The summary to merge with, as it was stored.
    pub previous_summary: Option<&'a str>,
    /// The caller's instructions: they are recorded, and what matches their words is preferred.
    pub custom_instructions: Option<&'a str>,
    /// Most tokens of the summary, by [`crate::tokens::estimate_text`]; at least [`MINIMUM_TOKENS`]
    /// are used.
    pub max_tokens: u64,
}

/// The caller cancelled the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("summarise the conversation: cancelled")]
pub struct Cancelled;

/// Fewest tokens that a summary can be asked for: room for all headings and the latest request.
pub const MINIMUM_TOKENS: u64 = 256;

/// The summary of `input`, at most `input.max_tokens` tokens long, with all headings of its kind
/// in their order; fewer than [`MINIMUM_TOKENS`] count as these.
///
/// The same input gives the same text. The request that came last is never left out, only cut,
/// and where any message has text that models see, so has the summary. `is_cancelled` is asked
/// before each message. File blocks are for the caller to add.
pub fn summarize(input: &ExtractiveInput<'_>, is_cancelled: &dyn Fn() -> bool) -> Result<String, Cancelled> {
    let mut reader = Reader::new(input);
    for (position, prepared) in input.messages.iter().enumerate() {
        if is_cancelled() {
            return Err(Cancelled);
        }
        reader.read(position + 1, &prepared.message);
    }
    let pool = reader.finish(input);
    Ok(budget::choose(pool, input.kind, input.max_tokens))
}

/// Reads messages into candidates. Positions count from 1; 0 is what earlier summaries told.
struct Reader<'a> {
    kind: SummaryKind,
    pool: Pool,
    speech: Speech<'a>,
    actions: Actions<'a>,
}

impl<'a> Reader<'a> {
    fn new(input: &ExtractiveInput<'a>) -> Self {
        let pool = Pool::new(input.custom_instructions);
        let mut reader = Self { kind: input.kind, pool, speech: Speech::default(), actions: Actions::default() };
        if let Some(previous) = input.previous_summary {
            reader.read_summary(previous);
        }
        if let Some(focus) = input.custom_instructions.filter(|focus| !focus.trim().is_empty()) {
            let item = format!("{}{focus}", previous::FOCUS);
            reader.pool.add(Section::Constraints, item, input.messages.len(), Rank::Must);
        }
        reader
    }

    fn read(&mut self, position: usize, message: &'a Message) {
        match message.body() {
            Body::User { content } => self.speech.hear_person(position, content.text("\n"), &mut self.pool),
            Body::Custom { content, .. } => self.speech.hear_extension(position, content.text("\n"), &mut self.pool),
            Body::Assistant(assistant) => {
                let text = blocks_text(&assistant.content, "\n");
                self.speech.hear_model(position, text, assistant.stop_reason.as_deref(), &mut self.pool);
                message.tool_calls().for_each(|call| self.actions.begin(position, call));
                self.actions.note_failure(position, assistant);
            }
            Body::ToolResult { tool_call_id, content, is_error, .. } => {
                self.actions.end(position, tool_call_id, &content.text("\n"), *is_error);
            }
            Body::BashExecution(bash) if !bash.exclude_from_context => self.actions.note_command(position, bash),
            Body::CompactionSummary { summary, .. } => self.read_summary(summary),
            Body::BranchSummary { summary, .. } => {
                previous::add_branch(self.kind, position, summary, &mut self.pool);
            }
            Body::BashExecution(_) | Body::System(_) | Body::Other { .. } => {}
        }
    }

    fn read_summary(&mut self, summary: &str) {
        if let Some(latest) = previous::add(summary, &mut self.pool) {
            self.speech.recall_request(latest);
        }
    }

    fn finish(self, input: &ExtractiveInput<'_>) -> Pool {
        let Self { kind, mut pool, speech, actions } = self;
        previous::settle(&actions, speech.has_finished_turn(), &mut pool);
        actions.report(&mut pool);
        speech.report(kind, &mut pool);
        if !budget::has_any(&pool, kind) {
            report_anything(input.messages, &mut pool);
        }
        pool
    }
}

/// Messages of which something is told where nothing else is known.
const MOST_TOLD: usize = 8;

/// What the newest messages with text say, where no message told anything by the usual signs: for
/// example results whose calls were cut away. Without any text, how many messages there were.
fn report_anything(messages: &[PreparedMessage], pool: &mut Pool) {
    let is_hidden =
        |message: &Message| matches!(message.body(), Body::BashExecution(bash) if bash.exclude_from_context);
    let told = messages.iter().map(|prepared| &prepared.message).enumerate();
    let told = told.rev().filter(|(_, message)| !is_hidden(message));
    let told = told.map(|(index, message)| (index + 1, text::gist(&message.display_text())));
    for (position, gist) in told.filter(|(_, gist)| !gist.is_empty()).take(MOST_TOLD) {
        pool.add(Section::CriticalContext, gist, position, Rank::Normal);
    }
    if pool.is_empty() {
        let (count, noun) = (messages.len(), if messages.len() == 1 { "message" } else { "messages" });
        let item = format!("Nothing that models see was in {count} {noun}");
        pool.add(Section::Done, item, count, Rank::Must);
    }
}

#[cfg(test)]
mod tests;
