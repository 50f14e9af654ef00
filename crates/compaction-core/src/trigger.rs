//! Triggers: decides whether a context should be compacted now (docs/triggers.md).

mod context;
mod overflow;

use std::collections::HashSet;

use context::Subject;
use overflow::{Overflow, Overflowed, overflow_of};

use crate::entry::EntryId;
use crate::message::Message;
use crate::overflow::Reported;
use crate::projection::Projection;
use crate::settings::{CompactionSettings, EffectiveLimits};

pub use context::Gauge;
pub use overflow::{is_part, read_tokens, unreported_tokens};

/// The model of the next request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerModel<'a> {
    /// Provider of the model.
    pub provider: &'a str,
    /// Id of the model.
    pub id: &'a str,
    /// Its window in tokens; 0 if unknown.
    pub context_window: u64,
    /// The longest answer that is requested, in tokens, if known.
    pub max_output_tokens: Option<u64>,
    /// Tokens of input that its provider accepts, if an earlier error or answer has shown it.
    pub room: Option<u64>,
}

impl TriggerModel<'_> {
    /// The window that a context has to fit: that of the model, or less if the provider has shown that
    /// it accepts less.
    pub fn effective_window(&self) -> u64 {
        self.room.map_or(self.context_window, |room| room.min(self.context_window))
    }
}

/// Input of the decision.
#[derive(Debug, Clone, Copy)]
pub struct TriggerInput<'a> {
    /// The context at the leaf.
    pub projection: &'a Projection,
    /// The model of the next request.
    pub model: TriggerModel<'a>,
    /// The settings for that model.
    pub settings: CompactionSettings,
    /// The message that has just arrived. An assistant message asks as after a run. Any other message,
    /// or none, asks as before a prompt, about the last assistant message of the context.
    pub message: Option<&'a Message>,
    /// The answer of the last overflow recovery, if that recovery failed. Successful recoveries are
    /// found on the branch.
    pub failed_recovery: Option<&'a EntryId>,
    /// The answer of the last overflow recovery, if that recovery only shortened tool results.
    pub clipped_recovery: Option<&'a EntryId>,
}

/// Why to compact. A new reason also needs [`Gauge::may_be_due`](Gauge::may_be_due), which decides whether
/// anybody asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerReason {
    /// The context has grown over the threshold.
    Threshold,
    /// A provider refused the context or truncated it.
    Overflow,
}

/// The decision, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerDecision {
    /// Why to compact; `None` if there is nothing to do.
    pub reason: Option<TriggerReason>,
    /// Whether the request has to be made again after the compaction, because the answer that
    /// overflowed was not finished.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// Compact above this number of tokens.
    pub threshold: u64,
    /// The settings, fitted to the window.
    pub limits: EffectiveLimits,
    /// The guard that stopped a trigger, in camelCase: `disabled`, `unknownWindow`, `otherModel`,
    /// `olderThanCompaction`, `aborted`, `overflowRecoveryTried`, `outputTooLarge`, `alreadyCompacted`.
    pub skipped: Option<&'static str>,
    /// Advice for the person if the guard is `overflowRecoveryTried`.
    pub advice: Option<&'static str>,
    /// Whether the judged message overflowed, whatever the decision.
    pub has_overflowed: bool,
    /// Sizes that the provider named for the refused request.
    pub reported: Reported,
    /// Tokens of input that the provider accepts according to this message; see [`TriggerModel::room`].
    pub room: Option<u64>,
}

/// Decides whether to compact. It is pure: it changes nothing and uses no clock.
pub fn check_compaction(input: &TriggerInput<'_>) -> TriggerDecision {
    let subject = Subject::of(input);
    let limits = EffectiveLimits::for_window(input.model.effective_window(), &input.settings);
    let none = TriggerDecision {
        reason: None,
        will_retry: false,
        context_tokens: subject.context_tokens,
        threshold: limits.threshold,
        limits,
        skipped: None,
        advice: None,
        has_overflowed: false,
        reported: Reported::default(),
        room: None,
    };
    decide(input, &subject, none)
}

/// The guards, in their order (docs/triggers.md, "Guards").
fn decide(input: &TriggerInput<'_>, subject: &Subject<'_>, none: TriggerDecision) -> TriggerDecision {
    let overflowed = overflow(input, subject, &none);
    let none = none.with_overflow(input, subject, overflowed);
    let skip = |why| TriggerDecision { skipped: Some(why), ..none };
    if !input.settings.enabled {
        return skip("disabled");
    }
    if input.model.context_window == 0 {
        return skip("unknownWindow");
    }
    let skipped = match judge_overflow(input, subject, overflowed, &none) {
        Judgement::Compact { will_retry } => return compact(TriggerReason::Overflow, will_retry, none),
        Judgement::Stop(why) => return skip(why),
        Judgement::Tried(advice) => return TriggerDecision { advice: Some(advice), ..skip("overflowRecoveryTried") },
        Judgement::Ignored(why) => Some(why),
        Judgement::NoOverflow => None,
    };
    let decision = judge_threshold(subject, none);
    TriggerDecision { skipped: decision.skipped.or(skipped), ..decision }
}

/// How the judged message overflowed, if it did.
fn overflow(input: &TriggerInput<'_>, subject: &Subject<'_>, none: &TriggerDecision) -> Option<Overflowed> {
    let message = subject.message?;
    overflow_of(message, &input.model, none.threshold)
        .or_else(|| overflow::by_usage(input.projection, message, subject.depth))
}

/// Divisor of the context after a refusal without numbers. The provider accepts less than it got, and
/// the difference is unknown, so half of the context is kept.
const UNKNOWN_SHARE: u64 = 2;
/// Refusals of fewer tokens say nothing about the window.
const LEAST_WINDOW: u64 = 256;

impl TriggerDecision {
    /// The same decision for callers that consider only the size of the context. An overflow is no
    /// reason for them.
    pub fn by_threshold(self) -> Self {
        match self.reason {
            Some(TriggerReason::Overflow) if self.context_tokens > self.threshold => {
                compact(TriggerReason::Threshold, false, self)
            }
            Some(TriggerReason::Overflow) => Self { reason: None, will_retry: false, ..self },
            _ => self,
        }
    }

    /// Adds what an overflow shows about the room of the provider.
    fn with_overflow(
        self,
        input: &TriggerInput<'_>,
        subject: &Subject<'_>,
        overflowed: Option<Overflowed>,
    ) -> TriggerDecision {
        let is_own = |message| is_from_model(message, &input.model);
        let Some(overflowed) = overflowed.filter(|_| subject.message.is_some_and(is_own) && !subject.is_stale) else {
            let reported = overflowed.map(|overflowed| overflowed.reported).unwrap_or_default();
            return TriggerDecision { has_overflowed: overflowed.is_some(), reported, ..self };
        };
        let reported = overflowed.reported;
        let implied = self.implied_room(overflowed);
        let room = self.named_room(reported).filter(|_| reported.is_curable()).or(implied);
        let target = room
            .map(|room| if reported.limit.is_some() || !overflowed.is_refused { room } else { room / UNKNOWN_SHARE });
        let window = target.unwrap_or(u64::MAX).min(input.model.effective_window());
        let limits = EffectiveLimits::for_window(window, &input.settings);
        Self { has_overflowed: true, reported, room, limits, threshold: limits.threshold, ..self }
    }

    /// The room that a provider names: its limit minus the requested output. If it names one number for
    /// the whole request, the part of it beyond the context is output, prompt and tools.
    fn named_room(&self, reported: Reported) -> Option<u64> {
        let limit = reported.limit?;
        let beside = match (reported.input, reported.total) {
            (None, Some(total)) => total.saturating_sub(self.context_tokens),
            _ => return reported.room(),
        };
        let whole = Reported { output: Some(beside), ..reported };
        if whole.is_curable() { whole.room() } else { Some(limit) }
    }

    /// The room according to a refusal without a limit, or to an answer to a part of the context: at
    /// most the size of that request. Nothing is learned if the context was too large for the settings
    /// anyway.
    fn implied_room(&self, overflowed: Overflowed) -> Option<u64> {
        match overflowed.is_refused {
            false => overflowed.reported.limit,
            true if overflowed.reported.limit.is_some() || overflowed.kind == Overflow::OutputTooLarge => None,
            true => Some(overflowed.reported.input.unwrap_or(self.context_tokens))
                .filter(|tokens| (LEAST_WINDOW..=self.threshold).contains(tokens)),
        }
    }
}

fn compact(reason: TriggerReason, will_retry: bool, none: TriggerDecision) -> TriggerDecision {
    TriggerDecision { reason: Some(reason), will_retry, ..none }
}

enum Judgement {
    /// It overflowed: compact.
    Compact { will_retry: bool },
    /// A guard forbids any trigger.
    Stop(&'static str),
    /// A second recovery would repeat the first one.
    Tried(&'static str),
    /// A guard excludes the message. The context may still be over the threshold.
    Ignored(&'static str),
    /// The message did not overflow.
    NoOverflow,
}

fn judge_overflow(
    input: &TriggerInput<'_>,
    subject: &Subject<'_>,
    overflowed: Option<Overflowed>,
    none: &TriggerDecision,
) -> Judgement {
    let Some(message) = subject.message else {
        return Judgement::NoOverflow;
    };
    if overflowed.is_some() && !is_from_model(message, &input.model) {
        return Judgement::Ignored("otherModel");
    }
    if subject.is_stale {
        return Judgement::Ignored("olderThanCompaction");
    }
    if subject.is_after_run && has_stop_reason(message, "aborted") {
        return Judgement::Stop("aborted");
    }
    let will_retry = match overflowed.map(|overflowed| overflowed.kind) {
        None => return Judgement::NoOverflow,
        Some(Overflow::OutputTooLarge) => return Judgement::Ignored("outputTooLarge"),
        Some(Overflow::Unfinished) => true,
        Some(Overflow::Finished) => false,
    };
    overflow::advice(input, message, none.threshold).map_or(Judgement::Compact { will_retry }, Judgement::Tried)
}

fn judge_threshold(subject: &Subject<'_>, none: TriggerDecision) -> TriggerDecision {
    if none.context_tokens <= none.threshold {
        return none;
    }
    if !subject.follows_compaction {
        return TriggerDecision { skipped: Some("alreadyCompacted"), ..none };
    }
    compact(TriggerReason::Threshold, false, none)
}

/// A message that names no model may come from any.
fn is_from_model(message: &Message, model: &TriggerModel<'_>) -> bool {
    let Some(assistant) = message.as_assistant() else {
        return false;
    };
    assistant.provider.as_deref().is_none_or(|provider| provider == model.provider)
        && assistant.model.as_deref().is_none_or(|id| id == model.id)
}

fn has_stop_reason(message: &Message, reason: &str) -> bool {
    message.as_assistant().is_some_and(|assistant| assistant.stop_reason.as_deref() == Some(reason))
}

/// The entry of the last answer in the context.
pub fn last_answer(projection: &Projection) -> Option<&EntryId> {
    let mut entries = projection.entries().iter().rev();
    let answer = entries.find(|projected| projected.messages.iter().any(|message| message.as_assistant().is_some()));
    answer.map(|projected| projected.entry.id())
}

/// The entries of a failed attempt, in order: its answer and the results of its calls. The next request
/// must have all of them or none (docs/field-reports.md, "Cuts and pairs"). Empty if the answer is not
/// in the context.
///
/// Call ids may be reused, so results after a later call with the same id do not count.
pub fn attempt(projection: &Projection, answer: &EntryId) -> Vec<EntryId> {
    let mut entries = projection.entries().iter().skip_while(|projected| projected.entry.id() != answer);
    let Some(first) = entries.next() else {
        return Vec::new();
    };
    let mut open: HashSet<&str> = first.messages.iter().flat_map(|message| message.tool_call_ids()).collect();
    let mut found = vec![answer.clone()];
    for projected in entries {
        for message in &projected.messages {
            for id in message.tool_call_ids() {
                open.remove(id);
            }
            if message.answered_call_id().is_some_and(|id| open.contains(id)) {
                found.push(projected.entry.id().clone());
            }
        }
    }
    found
}

/// Whether the agent has unfinished work: the last message is a tool result that no answer has seen, or
/// an answer that was cut off (docs/triggers.md, "Recovery").
pub fn is_unfinished(projection: &Projection) -> bool {
    let is_open = |message: &Message| message.role() == "toolResult" || has_stop_reason(message, "length");
    projection.messages().last().is_some_and(is_open)
}

#[cfg(test)]
mod tests;
