//! Triggers: decides whether a context should be compacted now (docs/triggers.md).
//!
//! A [`Gauge`] follows appended entries, so a check after each message costs the message and not the context
//! (docs/session-format.md, "Opening").
//!
//! A provider may refuse the context, or truncate it silently: Ollama and other servers read only a part of a context
//! that is larger than their window, and answer with success. Both are detected from an assistant message, and one
//! recovery is allowed for each request of a person (docs/triggers.md, "Overflow", "Guards").

use std::collections::HashSet;
use std::sync::Arc;

use crate::entry::{Entry, EntryBody, EntryId, EntryKind, Role};
use crate::json::RawObject;
use crate::message::{Assistant, Block, Body, Content, Message, Usage};
use crate::overflow::{Reported, refused_size};
use crate::projection::{ProjectedEntry, Projection};
use crate::settings::{CompactionSettings, EffectiveLimits};
use crate::text::least_tokens;
use crate::tokens::{self, ContextTokens, trusted_usage};
use crate::undo::Mark;

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
    /// The message that has just arrived, if there is one. An assistant message is judged itself, as after a run.
    /// Otherwise the last answer of the context is judged, as before a prompt.
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
    overflow_of(message, &input.model, none.threshold).or_else(|| by_usage(input.projection, message, subject.depth))
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

    /// The room that an overflow shows although no error names a limit. A provider that answered a part of the context
    /// has room for what it read. A provider that refused the context has room for less than that context. A refusal
    /// above the threshold shows nothing, because such a context was too large for the settings anyway.
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
    advice(input, message, none.threshold).map_or(Judgement::Compact { will_retry }, Judgement::Tried)
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

/// Whether a person has asked for something since the last answer. The next request is then a new one, and nobody
/// waits for the request of that answer any more.
pub fn is_asked_anew(projection: &Projection) -> bool {
    let after = |is_asked, message: &Message| message.starts_turn() || is_asked && message.as_assistant().is_none();
    projection.messages().fold(false, after)
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

/// The judged message and its context.
struct Subject<'a> {
    /// The assistant message, if there is one.
    message: Option<&'a Message>,
    /// The depth of its entry, if it is in the context.
    depth: Option<usize>,
    /// Whether it was given as the message that has just arrived.
    is_after_run: bool,
    /// Whether it is older than the last compaction.
    is_stale: bool,
    /// Tokens of the context, including the message if it is not stored yet.
    context_tokens: u64,
    /// Whether an entry with a message follows the last compaction, or there is no compaction.
    follows_compaction: bool,
}

impl<'a> Subject<'a> {
    /// Finds the subject of `input`.
    fn of(input: &TriggerInput<'a>) -> Self {
        let projection = input.projection;
        let given = input.message.filter(|message| message.as_assistant().is_some());
        let stored = input.message.and_then(|message| find(projection, message));
        let last = || last_assistant(projection);
        let (message, position) = match given {
            Some(message) => (Some(message), stored),
            None => last().map_or((None, None), |(message, entry)| (Some(message), Some(entry))),
        };
        let is_new = input.message.is_some() && stored.is_none();
        let is_stale = message.is_some_and(|message| is_older_than_compaction(projection, message, position));
        let pending = input.message.filter(|_| is_new && !(given.is_some() && is_stale));
        Self {
            message,
            depth: position.map(|entry| entry.depth),
            is_after_run: given.is_some(),
            is_stale,
            context_tokens: context_tokens(projection, pending),
            follows_compaction: follows_compaction(projection) || pending.is_some(),
        }
    }
}

/// Tokens of the context with `pending`, a message that is not stored yet, at its end.
fn context_tokens(projection: &Projection, pending: Option<&Message>) -> u64 {
    let stored = || tokens::context_tokens(projection).tokens;
    match pending {
        Some(message) => tokens::trusted_usage(message).unwrap_or_else(|| stored().saturating_add(message.tokens())),
        None => stored(),
    }
}

/// The entry of the context with `message`. Clients may send a message that is already stored.
fn find<'a>(projection: &'a Projection, message: &Message) -> Option<&'a ProjectedEntry> {
    let is_same = |stored: &Message| {
        stored.timestamp() == message.timestamp()
            && stored.tokens() == message.tokens()
            && stored.body() == message.body()
    };
    projection.entries().iter().rev().find(|entry| entry.messages.iter().any(|stored| is_same(stored)))
}

fn last_assistant(projection: &Projection) -> Option<(&Message, &ProjectedEntry)> {
    let messages = projection
        .entries()
        .iter()
        .rev()
        .flat_map(|entry| entry.messages.iter().rev().map(move |message| (message.as_ref(), entry)));
    messages.into_iter().find(|(message, _)| matches!(message.body(), Body::Assistant(_)))
}

/// Compares by position on the branch if the message has one, else by time. A message of the same
/// millisecond counts as older than the compaction.
fn is_older_than_compaction(projection: &Projection, message: &Message, position: Option<&ProjectedEntry>) -> bool {
    let Some(compaction) = projection.compaction() else {
        return false;
    };
    if let Some(position) = position {
        return position.depth > compaction.depth;
    }
    match (message.timestamp(), compaction.entry.epoch_milliseconds()) {
        (Some(message), Some(compaction)) => message <= compaction,
        _ => false,
    }
}

fn follows_compaction(projection: &Projection) -> bool {
    projection.compaction().is_none_or(|compaction| {
        let follows = |entry: &ProjectedEntry| {
            entry.depth < compaction.depth && !entry.messages.is_empty() && entry.entry.kind() != EntryKind::Compaction
        };
        projection.entries().iter().any(follows)
    })
}

/// The size of a context, without its projection.
///
/// It starts from a projection and follows the entries that are appended to its leaf. If an entry
/// changes earlier ones, it gives up, and a new projection is needed.
#[derive(Debug, Clone)]
pub struct Gauge {
    leaf_id: EntryId,
    tokens: ContextTokens,
    /// Whether the numbers describe the present context.
    is_known: bool,
    last_answer: Option<Arc<Message>>,
    /// Estimated tokens of all messages, regardless of reported usage.
    estimated: u64,
    /// Whether the provider may have read only a part of the context for the last answer.
    may_be_truncated: bool,
    /// Targets of context edits. A target may be appended later than its edit.
    edited: Arc<HashSet<EntryId>>,
}

impl Gauge {
    /// The gauge of a context. `None` if the context is empty, or if copies of an undo are still being
    /// appended.
    pub fn of(projection: &Projection) -> Option<Self> {
        let entries = projection.entries();
        let leaf = entries.iter().find(|projected| projected.depth == 0)?;
        // Entries after an undo mark are copies. They count differently until all of them are there.
        if entries.iter().any(|projected| Mark::of(&projected.entry).is_some_and(|mark| projected.depth < mark.entries))
        {
            return None;
        }
        let edited = entries.iter().filter_map(|projected| match projected.entry.body() {
            EntryBody::ContextEdit { target_id, .. } => Some(target_id.clone()),
            _ => None,
        });
        let answers = projection.shared_messages().filter(|message| message.as_assistant().is_some());
        let last_answer = answers.last().cloned();
        let estimated = projection.messages().map(Message::tokens).sum();
        let read = projection.messages().last().and_then(read_tokens);
        Some(Self {
            leaf_id: leaf.entry.id().clone(),
            tokens: tokens::context_tokens(projection),
            is_known: tokens::known_context_tokens(projection).is_some(),
            may_be_truncated: read.is_some_and(|read| may_be_part(read, estimated)),
            last_answer,
            estimated,
            edited: Arc::new(edited.collect()),
        })
    }

    /// The gauge after one more entry at the leaf. `None` if the effect of the entry is unknown.
    pub fn followed_by(mut self, entry: &Entry) -> Option<Self> {
        let follows = entry.header().parent_id.as_ref() == Some(&self.leaf_id);
        let changes_the_past = matches!(entry.kind(), EntryKind::Compaction | EntryKind::ContextEdit);
        if !follows || changes_the_past || self.edited.contains(entry.id()) || Mark::of(entry).is_some() {
            return None;
        }
        for message in entry.context_messages() {
            self.add(message)?;
        }
        self.leaf_id = entry.id().clone();
        Some(self)
    }

    /// Applies the rule of [`tokens::context_tokens`] to a message at the end.
    fn add(&mut self, message: Arc<Message>) -> Option<()> {
        let ContextTokens { usage_tokens, trailing_tokens, .. } = self.tokens;
        let is_estimated = usage_tokens == 0;
        self.tokens = match tokens::trusted_usage(&message) {
            Some(usage) => ContextTokens { tokens: usage, usage_tokens: usage, trailing_tokens: 0 },
            // Without usage, the prompt is the result of all system messages.
            None if is_estimated && matches!(message.body(), Body::System(_)) => return None,
            None => {
                let trailing_tokens = trailing_tokens + message.tokens();
                ContextTokens { tokens: usage_tokens.saturating_add(trailing_tokens), usage_tokens, trailing_tokens }
            }
        };
        self.is_known |= message.is_success();
        let tokens = message.tokens();
        // Later messages say nothing new about an answer, and checking costs the whole context.
        self.may_be_truncated = read_tokens(&message).is_some_and(|read| may_be_part(read, self.estimated));
        if message.as_assistant().is_some() {
            self.last_answer = Some(message);
        }
        self.estimated = self.estimated.saturating_add(tokens);
        Some(())
    }

    /// The leaf of the context.
    pub fn leaf_id(&self) -> &EntryId {
        &self.leaf_id
    }

    /// Tokens of the context, if known: see [`tokens::known_context_tokens`].
    pub fn known_tokens(&self) -> Option<u64> {
        self.is_known.then_some(self.tokens.tokens)
    }

    /// Whether [`check_compaction`] could ask for a compaction after an answer or result at the
    /// leaf. If so, it has to be called.
    pub fn may_be_due(&self, model: &TriggerModel<'_>, settings: &CompactionSettings) -> bool {
        let threshold = EffectiveLimits::for_window(model.effective_window(), settings).threshold;
        let overflowed = |answer: &Arc<Message>| overflow_of(answer, model, threshold).is_some();
        let is_over = self.tokens.tokens > threshold || self.may_be_truncated;
        settings.enabled && is_over || self.last_answer.as_ref().is_some_and(overflowed)
    }
}

/// How a message overflowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Overflow {
    /// The answer is complete and must not be requested again (docs/triggers.md, "Guards").
    Finished,
    /// The answer is missing or cut off.
    Unfinished,
    /// The provider refused the request because of its output, not because of its context.
    OutputTooLarge,
}

/// An overflow, with the numbers that the provider named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Overflowed {
    kind: Overflow,
    /// The numbers in the error text; empty without an error.
    reported: Reported,
    /// Whether an error showed it, not the usage of an answer.
    is_refused: bool,
}

impl Overflowed {
    fn by_usage(kind: Overflow) -> Self {
        Self { kind, reported: Reported::default(), is_refused: false }
    }
}

/// How `message` overflowed the window of `model`, if it did. A request whose output alone fills the
/// limit was refused because of its output (docs/triggers.md, "Overflow"), unless its input is more
/// than `threshold` tokens by the provider's own count.
fn overflow_of(message: &Message, model: &TriggerModel<'_>, threshold: u64) -> Option<Overflowed> {
    let assistant = message.as_assistant()?;
    match assistant.stop_reason.as_deref() {
        Some("aborted") => None,
        Some("error") => overflow_of_error(assistant, threshold),
        Some("length") if is_cut_early(assistant, model) => Some(Overflowed::by_usage(Overflow::Unfinished)),
        stop_reason => {
            let window = model.context_window;
            let exceeds = assistant.usage.as_ref().is_some_and(|usage| input_tokens(usage) > window);
            // This includes answers with tool calls: if they were hidden, their calls would be made
            // twice.
            let kind = if stop_reason == Some("length") { Overflow::Unfinished } else { Overflow::Finished };
            exceeds.then_some(Overflowed::by_usage(kind))
        }
    }
}

fn overflow_of_error(assistant: &Assistant, threshold: u64) -> Option<Overflowed> {
    let error = assistant.error_message.as_deref()?;
    let reported = refused_size(assistant.provider.as_deref(), error)?;
    let is_large = reported.input.is_some_and(|input| input > threshold);
    let kind = if reported.is_curable() || is_large { Overflow::Unfinished } else { Overflow::OutputTooLarge };
    Some(Overflowed { kind, reported, is_refused: true })
}

/// Whether an answer was cut off early: the window was full (99 % or more, because providers add a few
/// tokens), or the answer has fewer tokens than the model can write. A smaller context may help, so it is
/// tried once.
fn is_cut_early(assistant: &Assistant, model: &TriggerModel<'_>) -> bool {
    let Some(usage) = assistant.usage.as_ref() else {
        return false;
    };
    let (window, used) = (model.context_window, input_tokens(usage).saturating_add(usage.output));
    let is_short = model.max_output_tokens.is_some_and(|most| usage.output < most);
    used > 0 && (used >= window - window / 100 || is_short)
}

/// Input tokens of an answer, as its provider counted them.
fn input_tokens(usage: &Usage) -> u64 {
    usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write)
}

/// Smaller counts are not whole prompts: some gateways report only the uncached part.
const LEAST_INPUT: u64 = 512;

/// The overflow that the usage of `message` shows: its provider counted clearly fewer tokens than the
/// context before it must have. That count is taken as the provider's limit. `depth` is the depth of
/// the message's entry, if it is in the context.
fn by_usage(projection: &Projection, message: &Message, depth: Option<usize>) -> Option<Overflowed> {
    let read = read_tokens(message)?;
    let before = || {
        let entries = projection.entries().iter().filter(move |entry| depth.is_none_or(|depth| entry.depth > depth));
        let messages = entries.flat_map(|entry| &entry.messages);
        messages.filter(|earlier| earlier.as_assistant().is_none() || earlier.is_success())
    };
    let estimated: u64 = before().map(|earlier| earlier.tokens()).sum();
    // Computing the lower bound reads the whole text.
    if !may_be_part(read, estimated) {
        return None;
    }
    let least: u64 = before().map(|earlier| least_tokens_of(earlier)).sum();
    let reported = Reported { limit: Some(read), input: Some(least), ..Reported::default() };
    is_part(read, least).then_some(Overflowed { kind: Overflow::Finished, reported, is_refused: false })
}

/// Whether `read` tokens may be only a part of a context of `estimated` tokens.
fn may_be_part(read: u64, estimated: u64) -> bool {
    read < estimated / 5 * 4
}

/// Whether `read` tokens, as a provider counted them, are clearly fewer than `least`, the lower bound
/// for a text. Then it read only a part of the text. Counts of a few hundred say nothing, because some
/// gateways report only the uncached part.
pub fn is_part(read: u64, least: u64) -> bool {
    (LEAST_INPUT..least / 5 * 4).contains(&read)
}

/// Tokens that the provider read for an answer. `None` if it does not report them, or too few for a
/// whole prompt.
pub fn read_tokens(message: &Message) -> Option<u64> {
    let total = trusted_usage(message)?;
    let usage = message.as_assistant()?.usage?;
    let read = input_tokens(&usage).max(total.saturating_sub(usage.output));
    (read >= LEAST_INPUT).then_some(read)
}

/// Tokens of the context that an answer without usage came through for. `None` for any other message, and where
/// `context`, the size of the context with the answer, is unknown.
pub fn unreported_tokens(message: &Message, context: Option<u64>) -> Option<u64> {
    let is_unreported = message.is_success() && trusted_usage(message).is_none();
    context.filter(|_| is_unreported).map(|context| context.saturating_sub(message.tokens()))
}

/// The lower bound for the texts of a message, which every model is shown.
fn least_tokens_of(message: &Message) -> u64 {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => match content {
            Content::Text(text) => least_tokens(text),
            Content::Blocks(blocks) => of_blocks(blocks),
        },
        Body::Assistant(assistant) => of_blocks(&assistant.content),
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => least_tokens(summary),
        Body::BashExecution(_) | Body::System(_) | Body::Other { .. } => 0,
    }
}

fn of_blocks(blocks: &[Block]) -> u64 {
    blocks.iter().filter_map(Block::as_text).map(least_tokens).sum()
}

const STILL_TOO_LARGE: &str = "the context is still too large for the model after one compaction: \
     reduce the context or pick a model with a larger window";
/// A cut answer is not a refused context, and the advice says which it was (docs/triggers.md,
/// "Guards").
const STILL_CUT_OFF: &str = "the answer was cut off once more after one compaction, since the window was full: \
     reduce the context or pick a model with a larger window";
const NOT_COMPACTED: &str = "the context is too large for the model and compacting it did not succeed: \
     reduce the context or pick a model with a larger window";

/// The advice for a person if `message` overflowed although a recovery was tried since the last user
/// message. `None` if none was tried. An answer that came through since then proves that the recovery
/// helped, so the next overflow is a new one.
fn advice(input: &TriggerInput<'_>, message: &Message, threshold: u64) -> Option<&'static str> {
    let is_last = |tried: &ProjectedEntry| !is_over(input, tried.depth, threshold);
    let compaction = input.projection.compaction().filter(|compaction| !is_for_threshold(compaction));
    let clipped = input.clipped_recovery.and_then(|answer| entry_with(input.projection, answer));
    if compaction.is_some_and(is_last) || clipped.is_some_and(is_last) {
        return Some(if has_stop_reason(message, "length") { STILL_CUT_OFF } else { STILL_TOO_LARGE });
    }
    let failed = input.failed_recovery.and_then(|answer| entry_with(input.projection, answer));
    failed.is_some_and(is_last).then_some(NOT_COMPACTED)
}

fn entry_with<'a>(projection: &'a Projection, id: &EntryId) -> Option<&'a ProjectedEntry> {
    projection.entries().iter().rev().find(|projected| projected.entry.id() == id)
}

/// Whether, after the entry at `depth`, a person asked again or a request came through.
fn is_over(input: &TriggerInput<'_>, depth: usize, threshold: u64) -> bool {
    let mut later = input.projection.entries().iter().filter(|projected| projected.depth < depth);
    later.any(|projected| {
        projected.entry.header().role == Some(Role::User)
            || projected.messages.iter().any(|message| went_through(input, message, threshold))
    })
}

/// Whether `message` is an answer to a context that fitted. An answer that overflowed is not, whatever
/// its stop reason: it is what the recovery was for.
fn went_through(input: &TriggerInput<'_>, message: &Message, threshold: u64) -> bool {
    // An answer may have been aborted before the model saw anything.
    let is_answer = message.is_success();
    let overflowed = || overflow_of(message, &input.model, threshold).is_some();
    is_answer && !(is_from_model(message, &input.model) && overflowed())
}

/// Whether the entry says that the threshold caused it. Such a compaction was not a recovery.
fn is_for_threshold(compaction: &ProjectedEntry) -> bool {
    let details = compaction.entry.compaction().and_then(|compaction| compaction.details.as_ref());
    let own = details.and_then(|details| RawObject::parse(details.get()).ok()?.get("compactd").map(str::to_owned));
    let reason = own.and_then(|own| RawObject::parse(&own).ok()?.string("reason"));
    reason.as_deref() == Some("threshold")
}

#[cfg(test)]
mod tests;
