//! Counts and totals of a session.

use std::ops::ControlFlow;

use compaction_core::entry::{Entry, EntryBody};
use compaction_core::message::{Body, Message, Usage};
use compaction_core::undo::Mark;

use crate::error::StoreError;
use crate::session::Session;

/// Counts and totals over all branches of a session, each entry once.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionStats {
    /// Messages of a person.
    pub user_messages: u64,
    /// Answers of a model.
    pub assistant_messages: u64,
    /// Calls of tools.
    pub tool_calls: u64,
    /// Results of tools.
    pub tool_results: u64,
    /// Messages of every role.
    pub total_messages: u64,
    /// Compactions.
    pub compactions: u64,
    /// Branch summaries.
    pub branch_summaries: u64,
    /// Entries of every type.
    pub total_entries: u64,
    /// Entries whose body cannot be read; their usage is in no total.
    pub broken_entries: u64,
    /// Tokens that were paid for: answers, summaries and usage entries.
    pub tokens: TokenTotals,
    /// Cost in the currency of the price list.
    pub cost: f64,
}

/// Totals of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenTotals {
    /// Input tokens that came from no cache.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
    /// The sum of the four.
    pub total: u64,
}

impl Session {
    /// Counts the entries of all branches. Reads every body once and keeps none.
    pub fn stats(&self) -> Result<SessionStats, StoreError> {
        let mut stats = SessionStats::default();
        // Copies that undoing a compaction made were paid for once, where their originals are.
        // All of them are one write of one time, of which the end may be missing.
        let mut copies: usize = 0;
        let mut time = String::new();
        let index = self.index()?;
        self.for_each_entry(|entry| {
            let is_in_write = copies > 0;
            copies = copies.saturating_sub(1);
            match entry {
                Ok(entry) if is_in_write && entry.timestamp() == time => stats.add_copy(entry),
                Ok(entry) => {
                    let mark = Mark::of(entry).filter(|mark| index.slot(mark.undone_entry_id.as_str()).is_some());
                    copies = mark.map_or(0, |mark| mark.entries);
                    entry.timestamp().clone_into(&mut time);
                    stats.add_entry(entry);
                }
                Err(_) => stats.broken_entries += 1,
            }
            ControlFlow::Continue(())
        })?;
        stats.total_entries = self.index()?.len() as u64;
        Ok(stats)
    }
}

impl SessionStats {
    fn add_copy(&mut self, entry: &Entry) {
        let (tokens, cost) = (self.tokens, self.cost);
        self.add_entry(entry);
        (self.tokens, self.cost) = (tokens, cost);
    }

    fn add_entry(&mut self, entry: &Entry) {
        match entry.body() {
            EntryBody::Message(message) => self.add_message(message),
            EntryBody::Compaction(compaction) => {
                self.compactions += 1;
                self.add_usage(compaction.usage.as_ref());
            }
            EntryBody::BranchSummary(branch) => {
                self.branch_summaries += 1;
                self.add_usage(branch.usage.as_ref());
            }
            EntryBody::Usage(usage) => self.add_usage(usage.as_ref()),
            _ => {}
        }
    }

    fn add_message(&mut self, message: &Message) {
        self.total_messages += 1;
        self.tool_calls += message.tool_calls().count() as u64;
        match message.body() {
            Body::User { .. } => self.user_messages += 1,
            Body::ToolResult { .. } => self.tool_results += 1,
            Body::Assistant(assistant) => {
                self.assistant_messages += 1;
                self.add_usage(assistant.usage.as_ref());
            }
            _ => {}
        }
    }

    fn add_usage(&mut self, usage: Option<&Usage>) {
        let Some(usage) = usage else { return };
        let TokenTotals { input, output, cache_read, cache_write, total } = &mut self.tokens;
        for (sum, count) in [
            (input, usage.input),
            (output, usage.output),
            (cache_read, usage.cache_read),
            (cache_write, usage.cache_write),
        ] {
            *sum = sum.saturating_add(count);
            *total = total.saturating_add(count);
        }
        self.cost += usage.cost;
    }
}
