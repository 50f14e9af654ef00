//! Triggers: whether a context should be compacted now (compaction spec, Triggers).

mod attempt;
mod gauge;
mod limits;
mod overflowing;
mod recovery;
mod subject;

use crate::entry::EntryId;
use crate::message::Message;
use crate::projection::Projection;
use crate::settings::CompactionSettings;

pub use attempt::{attempt, is_unfinished, last_answer};
pub use gauge::Gauge;
pub use limits::EffectiveLimits;
use overflowing::{Overflow, overflow_of};
use subject::Subject;

/// The model that the next request goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerModel<'a> {
    /// Provider of the model.
    pub provider: &'a str,
    /// Id of the model.
    pub id: &'a str,
    /// Its window in tokens; 0 where it is not known.
    pub context_window: u64,
}

/// What the decision is made from.
#[derive(Debug, Clone, Copy)]
pub struct TriggerInput<'a> {
    /// The context at the leaf.
    pub projection: &'a Projection,
    /// The model of the next request.
    pub model: TriggerModel<'a>,
    /// The settings for that model.
    pub settings: CompactionSettings,
    /// The message that has just come: an assistant message asks as after a run; another message,
    /// or none, asks as before a prompt, about the context's last assistant message.
    pub message: Option<&'a Message>,
    /// The answer whose overflow was to be compacted away last, if that failed. What succeeded is
    /// found on the branch.
    pub failed_recovery: Option<&'a EntryId>,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerAction {
    /// Nothing.
    None,
    /// Compact.
    Compact,
}

/// Why to compact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerReason {
    /// The context has grown over the threshold.
    Threshold,
    /// A provider refused the context, or cut it.
    Overflow,
}

/// The decision, with its numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TriggerDecision {
    /// What to do.
    pub action: TriggerAction,
    /// Why, if there is something to do.
    pub reason: Option<TriggerReason>,
    /// Whether the request has to be made again after the compaction: the answer that overflowed
    /// was not finished.
    pub will_retry: bool,
    /// Tokens of the context.
    pub context_tokens: u64,
    /// More tokens than this are too many.
    pub threshold: u64,
    /// The settings as they fit the window.
    pub limits: EffectiveLimits,
    /// The guard that kept a trigger from acting, in camelCase: `disabled`, `unknownWindow`,
    /// `otherModel`, `olderThanCompaction`, `aborted`, `overflowRecoveryTried`, `outputTooLarge`,
    /// `alreadyCompacted`.
    pub skipped: Option<&'static str>,
    /// What a person is told where the guard is `overflowRecoveryTried`.
    pub advice: Option<&'static str>,
}

/// Decides whether to compact. Pure: it changes nothing and looks at no clock.
pub fn check_compaction(input: &TriggerInput<'_>) -> TriggerDecision {
    let subject = Subject::of(input);
    let limits = EffectiveLimits::for_window(input.model.context_window, &input.settings);
    let none = TriggerDecision {
        action: TriggerAction::None,
        reason: None,
        will_retry: false,
        context_tokens: subject.context_tokens,
        threshold: limits.threshold,
        limits,
        skipped: None,
        advice: None,
    };
    decide(input, &subject, none)
}

/// The guards, in the order of the spec.
fn decide(input: &TriggerInput<'_>, subject: &Subject<'_>, none: TriggerDecision) -> TriggerDecision {
    let skip = |why| TriggerDecision { skipped: Some(why), ..none };
    if !input.settings.enabled {
        return skip("disabled");
    }
    if input.model.context_window == 0 {
        return skip("unknownWindow");
    }
    let skipped = match judge_overflow(input, subject, &none) {
        Judgement::Compact { will_retry } => return compact(TriggerReason::Overflow, will_retry, none),
        Judgement::Stop(why) => return skip(why),
        Judgement::Tried(advice) => return TriggerDecision { advice: Some(advice), ..skip("overflowRecoveryTried") },
        Judgement::Ignored(why) => Some(why),
        Judgement::NoOverflow => None,
    };
    let decision = judge_threshold(subject, none);
    TriggerDecision { skipped: decision.skipped.or(skipped), ..decision }
}

fn compact(reason: TriggerReason, will_retry: bool, none: TriggerDecision) -> TriggerDecision {
    TriggerDecision { action: TriggerAction::Compact, reason: Some(reason), will_retry, ..none }
}

enum Judgement {
    /// It overflowed: compact.
    Compact { will_retry: bool },
    /// A guard forbids any trigger.
    Stop(&'static str),
    /// A second recovery would do what the first one did.
    Tried(&'static str),
    /// A guard forbids to look at the message; the context may still be over the threshold.
    Ignored(&'static str),
    /// The message did not overflow.
    NoOverflow,
}

fn judge_overflow(input: &TriggerInput<'_>, subject: &Subject<'_>, none: &TriggerDecision) -> Judgement {
    let Some(message) = subject.message else {
        return Judgement::NoOverflow;
    };
    let overflow = overflow_of(message, input.model.context_window, none.threshold);
    if overflow.is_some() && !is_from_model(message, &input.model) {
        return Judgement::Ignored("otherModel");
    }
    if subject.is_stale {
        return Judgement::Ignored("olderThanCompaction");
    }
    if subject.is_after_run && has_stop_reason(message, "aborted") {
        return Judgement::Stop("aborted");
    }
    let will_retry = match overflow {
        None => return Judgement::NoOverflow,
        Some(Overflow::OutputTooLarge) => return Judgement::Ignored("outputTooLarge"),
        Some(Overflow::Unfinished) => true,
        Some(Overflow::Finished) => false,
    };
    recovery::advice(input, message, none.threshold).map_or(Judgement::Compact { will_retry }, Judgement::Tried)
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

/// A message that names no model may be from any.
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

#[cfg(test)]
mod tests;
