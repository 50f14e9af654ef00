//! The account of a compaction: what the compacted part held, what of it the new context lacks, and
//! what is brought back (docs/ledger.md).

use std::sync::Arc;

use compaction_core::ledger::{self, Brief, Check, Ledger, LossReport, Retention};
use compaction_core::preparation::{Preparation, PreparedMessage};
use compaction_core::summary::{ShownFiles, append_shown_files};
use compaction_core::tokens::estimate_text;

use super::Order;
use super::balance::Balance;
use crate::convert;
use crate::redaction::Redactor;
use crate::wire;

/// Tokens of a summary that is short, whatever it stands for.
const SHORT_SUMMARY: u64 = 1000;

/// What is known of a compacted part and of a summary of it.
pub(super) struct Account {
    ledger: WrittenLedger,
    loss: LossReport,
    /// How much the context holds after the repair.
    retention: Retention,
    /// Messages that were compacted away, and their estimated tokens.
    messages: usize,
    tokens: u64,
}

/// The ledger of a part, and what is stored of it.
pub(super) struct WrittenLedger {
    ledger: Arc<Ledger>,
    stored: String,
}

impl WrittenLedger {
    /// Writes down the ledger of all that goes, within the bytes that the order allows. It takes milliseconds.
    pub(super) fn of(ledger: Arc<Ledger>, order: &Order) -> Self {
        Self { stored: ledger.to_json(order.settings.ledger_bytes()), ledger }
    }
}

/// A part that is compacted away, and what stays.
pub(super) struct Part<'a> {
    /// What goes.
    pub(super) preparation: &'a Preparation,
    /// What stays.
    pub(super) kept: &'a [PreparedMessage],
    /// Both in tokens.
    pub(super) balance: Balance,
    /// What was ordered.
    pub(super) order: &'a Order,
}

impl Account {
    /// Takes the account of a summary that is stored as it is given.
    pub(super) fn of_given(part: &Part<'_>, summary: &str) -> Self {
        let ledger = WrittenLedger::of(Arc::new(part.preparation.ledger()), part.order);
        let loss = part.loss(&ledger.ledger, summary);
        Self::new(part, ledger, loss)
    }

    /// Takes the account of a summary's text, with the ledger of all that goes, and completes the
    /// summary: with the facts that it lacks, as far as the settings allow, and with the lists of files,
    /// as far as they stay short. Where the window is known, both fit under its threshold. `part` holds
    /// no secrets any more, so that neither do the facts; what was cut from two texts is looked at once
    /// more by `redactor`. A text that was made from the ledger itself (`is_own`) lacks what had no room,
    /// so that nothing is added to it.
    pub(super) fn complete(
        part: &Part<'_>,
        ledger: WrittenLedger,
        text: &str,
        is_own: bool,
        redactor: Option<&Redactor>,
    ) -> (Self, String) {
        let files = part.preparation.file_operations.lists();
        let shown = ShownFiles::in_tokens(&files, &ledger.ledger.last_touched(), part.room_for_files(text));
        let with_files = |text: &str| append_shown_files(text, &shown);
        let loss = part.loss(&ledger.ledger, &with_files(text));
        let most = part.order.settings.repair_tokens().filter(|_| !is_own);
        let most = most.map(|most| most.min(most_facts(estimate_text(text))));
        let budget = most.map(|most| most.min(part.room_for_facts(text, &with_files(text))));
        let repair = budget.and_then(|budget| loss.repair(budget));
        let mut account = Self::new(part, ledger, loss);
        let Some(repair) = repair else {
            return (account, with_files(text));
        };
        let block = redactor.map_or_else(|| repair.block.clone(), |redactor| redacted(&repair.block, redactor));
        let summary = with_files(&format!("{}\n\n{block}", text.trim_end()));
        let is_whole = block == repair.block;
        account.retention =
            if is_whole { repair.retention } else { part.loss(&account.ledger.ledger, &summary).retention };
        (account, summary)
    }

    fn new(part: &Part<'_>, ledger: WrittenLedger, loss: LossReport) -> Self {
        Self {
            retention: loss.retention,
            messages: part.preparation.evicted().count(),
            tokens: part.preparation.evicted().map(|prepared| prepared.message.tokens()).sum(),
            ledger,
            loss,
        }
    }

    /// What is stored for the next compaction.
    pub(super) fn stored_ledger(&self) -> &str {
        &self.ledger.stored
    }

    /// The account as the client learns it.
    pub(super) fn told(&self, summary: &str) -> wire::CompactionAccount {
        let brief = ledger::brief(&Brief {
            messages: self.messages,
            tokens_before: self.tokens,
            tokens_after: estimate_text(summary),
            ledger: &self.ledger.ledger,
        });
        wire::CompactionAccount {
            brief,
            retention: convert::retention(&self.retention),
            retention_before_repair: convert::retention(&self.loss.retention),
            score: self.retention.score(),
            loss_report: convert::loss_report(&self.loss),
        }
    }
}

/// Tokens of facts behind a summary of `text` tokens: a tenth of it with their frame, as a good summary
/// has said the rest in other words; what a short one lacks may fill it up.
fn most_facts(text: u64) -> u64 {
    (text / 11).max(SHORT_SUMMARY.saturating_sub(text))
}

/// A block without secrets. Its lines are looked at one by one, as a secret that is cut off would
/// take the end of the block along.
fn redacted(block: &str, redactor: &Redactor) -> String {
    let lines: Vec<_> = block.lines().map(|line| redactor.redact(line).text).collect();
    lines.join("\n")
}

impl Part<'_> {
    /// Tokens that files and facts behind a summary may take together: half of what is left under the
    /// threshold, where that is known, since the next compaction would be due at once else.
    fn room_beside(&self, text: &str) -> u64 {
        let room = |threshold| self.balance.room_under(threshold, estimate_text(text)) / 2;
        self.order.threshold.map_or(u64::MAX, room)
    }

    /// Tokens that file blocks may take: no more than half of the room, and so few that the summary
    /// is not refused because of them.
    fn room_for_files(&self, text: &str) -> u64 {
        let taken = estimate_text(text).saturating_add(self.balance.pinned);
        let largest = self.order.largest_summary(self.balance.replaced).unwrap_or(u64::MAX);
        ShownFiles::most_tokens(self.preparation.settings.reserve_tokens)
            .min(largest.saturating_sub(taken))
            .min(self.room_beside(text) / 2)
    }

    /// Tokens that facts may take beside the files, so that the summary stays clearly smaller than
    /// what it replaces.
    fn room_for_facts(&self, text: &str, with_files: &str) -> u64 {
        let taken = estimate_text(with_files);
        let clearly_smaller = self.balance.gain().map_or(u64::MAX, |gain| gain - gain / 4).saturating_sub(taken);
        let files = taken.saturating_sub(estimate_text(text));
        clearly_smaller.min(self.room_beside(text).saturating_sub(files))
    }

    fn loss(&self, ledger: &Ledger, summary: &str) -> LossReport {
        let evicted: Vec<PreparedMessage> = self.preparation.evicted().cloned().collect();
        LossReport::of(&Check {
            ledger,
            summary,
            evicted: &evicted,
            previous_summary: self.preparation.previous_summary.as_deref(),
            kept: self.kept,
        })
    }
}
