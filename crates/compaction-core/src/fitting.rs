//! Requests that fit the summarizer's window (docs/summaries.md, "Requests that fit").
//!
//! If everything fits, nothing is changed. Otherwise, in this order: thinking is dropped; tool results,
//! arguments and command outputs shrink; the conversation is split over several requests, each of which
//! updates the answer to the one before. A message that is too large for any request is cut in its
//! middle, and so is a summary that would leave no room for messages.
//!
//! The estimate in `tokens`, a quarter of a token per UTF-16 unit, fits prose in Latin letters and is too low for
//! everything else: code has about three characters per token, Chinese one or less. A stricter
//! measure therefore decides whether a request fits. It is never below the estimate and is close to real tokenizers.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::conversation::{Detail, Redact, Thinking, serialize_body};
use crate::message::{Block, Body, Message};
use crate::prompts::{OutputLimits, PromptTexts, RequestKind, SummaryRequest, Wording, escape_tags};
use crate::text::utf16_len;

/// Input of the planning.
#[derive(Debug, Clone)]
pub struct PlanInput<'a> {
    /// What the requests ask for.
    pub kind: RequestKind,
    /// The messages, oldest first.
    pub messages: &'a [Arc<Message>],
    /// The summary to update, for histories only.
    pub previous_summary: Option<&'a str>,
    /// The messages after `messages`, for the history before a split turn: the beginning of the turn. They are shown
    /// if there is room.
    pub turn: &'a [Arc<Message>],
    /// The caller's instructions.
    pub custom_instructions: Option<&'a str>,
    /// Whether they replace the default instructions for a branch.
    pub replace_instructions: bool,
    /// The prompts.
    pub texts: &'a PromptTexts,
    /// Limits for the answers.
    pub limits: OutputLimits,
    /// Whether thinking is included if there is room for it.
    pub thinking: Thinking,
    /// The summarizer's window in tokens. If it is unknown, there is one request with everything.
    pub context_window: Option<u64>,
    /// Maximum tokens of system prompt and prompt together, by the careful measure, in addition to the
    /// limit of the window. After a provider refuses a plan as too large, half of
    /// [`RequestPlan::largest_input_tokens`] is a limit for the next one.
    pub input_limit: Option<u64>,
    /// Removes secrets from texts before they are cut, because half a secret is not recognised.
    pub redact: Option<Arc<dyn Redact>>,
}

/// No request is possible: the fixed parts leave no room for the conversation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "fit a summary request into the model's window: its instructions take {instruction_tokens} tokens of the \
     {input_tokens} that a prompt may have; a window of at least {needed_window} tokens is needed"
)]
pub struct TooSmallWindow {
    /// The window, if it is known.
    pub context_window: Option<u64>,
    /// Maximum tokens of a prompt.
    pub input_tokens: u64,
    /// Tokens of system prompt and instructions.
    pub instruction_tokens: u64,
    /// Tokens of the smallest sufficient window.
    pub needed_window: u64,
}

/// What was changed to make the requests fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fitting {
    /// Requested thinking was left out.
    pub dropped_thinking: bool,
    /// Tool results, arguments and command outputs were cut to this many UTF-16 units.
    pub shrunk_to_units: Option<usize>,
    /// Number of messages that were cut in their middle.
    pub cut_messages: usize,
    /// The previous summary was cut in its middle.
    pub cut_previous_summary: bool,
    /// The window lowered the maximum answer to this many tokens.
    pub lowered_max_tokens: Option<u64>,
}

/// Requests that fit, in order of execution. Each text is built on demand, so a long conversation is not stored twice.
/// The first request, if planning or [`RequestPlan::estimated_tokens`] built it, is kept until it is taken.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    wording: Wording,
    budget: Budget,
    model_max_tokens: Option<u64>,
    /// The summary that the first request updates.
    previous: Option<String>,
    messages: Vec<Arc<Message>>,
    detail: Detail,
    redact: Option<Arc<dyn Redact>>,
    /// The conversation, one part for each request.
    parts: Vec<Part>,
    fitting: Fitting,
    /// The first request, if it was made to plan or to estimate it.
    first: Arc<Mutex<Option<SummaryRequest>>>,
}

/// The messages of one request, by their places in the conversation.
#[derive(Debug, Clone)]
struct Part {
    messages: Range<usize>,
    /// A message heavier than this is cut.
    room: u64,
}

impl RequestPlan {
    /// Plans requests. Takes time proportional to the text and terminates for any input.
    ///
    /// There are at most 2 x ⌈tokens of the conversation / room⌉ + 1 requests. The room is what the
    /// window leaves beside instructions, answer and summary so far: about a third of it.
    pub fn of(input: &PlanInput<'_>) -> Result<Self, TooSmallWindow> {
        let planner = Planner::of(input);
        match planner.single_detail() {
            Some((detail, text)) => Ok(planner.single(detail, text)),
            None => planner.folded(),
        }
    }

    /// Number of requests, at least one.
    pub fn requests(&self) -> usize {
        self.parts.len()
    }

    /// What was changed to make them fit.
    pub fn fitting(&self) -> &Fitting {
        &self.fitting
    }

    /// Maximum output tokens of each request.
    pub fn max_tokens(&self) -> u64 {
        self.budget.max_tokens
    }

    /// The text of the turn that follows a history, as its requests show it. It is redacted, escaped and cut.
    pub fn current_turn(&self) -> Option<&str> {
        self.wording.current_turn.as_deref()
    }

    /// Estimated tokens of all requests together, without the answers that the later ones update.
    pub fn estimated_tokens(&self) -> u64 {
        let later = (1..self.parts.len()).filter_map(|index| self.request(index, None));
        let later = later.map(|request| request.estimated_tokens).fold(0, u64::saturating_add);
        let first = self.request(0, None);
        let tokens = first.as_ref().map_or(0, |request| request.estimated_tokens);
        *self.held_first() = first;
        later.saturating_add(tokens)
    }

    fn held_first(&self) -> MutexGuard<'_, Option<SummaryRequest>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The request at `index`; `None` after the last one. `summary_so_far` is the answer to the
    /// previous request; the first request ignores it.
    ///
    /// An answer that exceeds its room is cut in its middle, so every request fits whatever the model
    /// answered.
    ///
    /// The last request allows the model's maximum output, if it is known. Thinking counts as output
    /// too, so a lower limit would cut summaries off.
    pub fn request(&self, index: usize, summary_so_far: Option<&str>) -> Option<SummaryRequest> {
        if index == 0
            && let Some(held) = self.held_first().take()
        {
            return Some(held);
        }
        let part = self.parts.get(index)?;
        Some(self.request_of(index, summary_so_far, |prompt| self.write_text(part, prompt)))
    }

    /// The request at `index`, where `conversation` writes the text of its part.
    fn request_of(
        &self,
        index: usize,
        summary_so_far: Option<&str>,
        conversation: impl FnOnce(&mut String),
    ) -> SummaryRequest {
        let previous = self.previous(index, summary_so_far);
        let request = self.wording.request_of(conversation, previous.as_deref(), self.budget.max_tokens);
        let is_bounded_by_model = self.model_max_tokens.is_some() && index + 1 == self.parts.len();
        let max_tokens = if is_bounded_by_model { self.largest_answer(&request) } else { request.max_tokens };
        SummaryRequest { max_tokens, ..request }
    }

    /// The repair request at `index`, after an answer that lacks headings. If not everything fits,
    /// previous summary, answer and conversation are cut in their middles, in this order and to no less
    /// than half of the remaining room. `None` after the last request, and
    /// if the wording alone does not fit the window.
    pub fn repair(
        &self,
        index: usize,
        summary_so_far: Option<&str>,
        answer: &str,
        missing_headings: &[&str],
    ) -> Option<SummaryRequest> {
        let conversation = self.text(self.parts.get(index)?);
        let redact = self.redact.as_deref();
        let previous = self.previous(index, summary_so_far);
        let request = |conversation: &str, previous: Option<&str>, answer: &str| {
            let request = self.wording.request(conversation, previous, self.budget.max_tokens);
            request.repaired(answer, missing_headings)
        };
        let words = request("", previous.as_ref().map(|_| ""), "");
        let words = weight(&words.system_prompt) + weight(&words.prompt);
        let mut room = self.budget.input().checked_sub(words)?;
        let mut cut = |text: &str, others: u64| {
            let room_of_text = room.saturating_sub(others).max(room / 2);
            let text = cut_redacted(&escape_tags(text), room_of_text, redact).into_owned();
            room -= weight(&text);
            text
        };
        let conversation_weight = weight(&conversation);
        let previous = previous.map(|text| cut(&text, conversation_weight + weight_escaped(answer)));
        let answer = cut(answer, conversation_weight);
        Some(request(&cut_redacted(&conversation, room, redact), previous.as_deref(), &answer))
    }

    /// Maximum output tokens that `request` can ask for in the window, for another try after an answer
    /// that was cut off: the model's own limit, if it is known and fits.
    pub fn largest_answer(&self, request: &SummaryRequest) -> u64 {
        let input = careful_tokens(&request.system_prompt) + careful_tokens(&request.prompt);
        let in_window = self.budget.window.map(|window| answer_room(window, input));
        let bounds = [in_window, self.model_max_tokens];
        bounds.into_iter().flatten().min().map_or(request.max_tokens, |most| most.max(request.max_tokens))
    }

    /// Tokens of the largest prompt with its system prompt, by the careful measure.
    pub fn largest_input_tokens(&self) -> u64 {
        let following = self.following_room();
        let weights = self.parts.iter().enumerate().map(|(index, part)| {
            let previous = if index == 0 { self.previous.as_deref().map(weight_escaped) } else { Some(following) };
            frame(&self.wording, previous.is_some()) + previous.unwrap_or(0) + weight(&self.text(part))
        });
        weights.max().unwrap_or(0).div_ceil(WEIGHT_PER_TOKEN)
    }

    fn previous(&self, index: usize, summary_so_far: Option<&str>) -> Option<String> {
        match index {
            0 => self.previous.clone(),
            _ => summary_so_far.map(|text| cut_middle(&escape_tags(text), self.following_room()).into_owned()),
        }
    }

    fn following_room(&self) -> u64 {
        summary_room(&self.wording, &self.budget)
    }

    fn text(&self, part: &Part) -> String {
        let mut text = String::new();
        self.write_text(part, &mut text);
        text
    }

    /// Writes the messages of one request, joined.
    ///
    /// Text is escaped before it is cut, so the measured text is the one that is sent. Cutting creates
    /// no new tag, because the mark begins with a line break.
    fn write_text(&self, part: &Part, out: &mut String) {
        let (start, redact) = (out.len(), self.redact.as_deref());
        for message in &self.messages[part.messages.clone()] {
            let serialized = serialize_body(&message.read_body(), &self.detail, redact);
            if !serialized.is_empty() && out.len() > start {
                out.push_str("\n\n");
            }
            out.push_str(&cut_redacted(&escape_tags(&serialized), part.room, redact));
        }
    }
}

/// `text` cut in its middle to `room`. Secrets are removed before it is cut.
fn cut_redacted<'t>(text: &'t str, room: u64, redact: Option<&dyn Redact>) -> Cow<'t, str> {
    if weight(text) <= room {
        return Cow::Borrowed(text);
    }
    match redact {
        Some(redact) => Cow::Owned(cut_middle(&redact.redact(text), room).into_owned()),
        None => cut_middle(text, room),
    }
}

/// Weight of the fixed wording of a request: everything but conversation and previous summary.
fn frame(wording: &Wording, has_previous: bool) -> u64 {
    weight(&wording.system) + weight(&wording.prompt(|_| (), has_previous.then_some("")))
}

/// The text of the current turn, cut in its middle to an eighth of the room; `None` if even the instructions hardly
/// fit. It begins with the request and ends with the newest state.
fn current_turn(input: &PlanInput<'_>, wording: &Wording, budget: &Budget) -> Option<String> {
    let redact = input.redact.as_deref();
    let least = least_input(frame(wording, true) + weight(&wording.before_turn));
    let room = budget.of_several().input().saturating_sub(least) / CURRENT_TURN_SHARE;
    let room = room.min(CURRENT_TURN_TOKENS * WEIGHT_PER_TOKEN);
    if input.kind != RequestKind::History || room < LEAST_CURRENT_TURN {
        return None;
    }
    let detail = Detail::full(Thinking::Excluded);
    let texts = input.turn.iter().map(|message| serialize_body(&message.read_body(), &detail, redact));
    let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
    let text = cut_redacted(&escape_tags(&texts.join("\n\n")), room, redact).into_owned();
    (!text.is_empty()).then_some(text)
}

/// A current turn may take the room divided by this.
const CURRENT_TURN_SHARE: u64 = 8;
/// Maximum tokens of a current turn.
const CURRENT_TURN_TOKENS: u64 = 4000;
/// Minimum weight of a current turn.
const LEAST_CURRENT_TURN: u64 = 128 * WEIGHT_PER_TOKEN;

/// Weight that later requests reserve for the answer to the previous one.
fn summary_room(wording: &Wording, budget: &Budget) -> u64 {
    budget.answer().min(budget.input().saturating_sub(frame(wording, true)) / 2)
}

fn weight_escaped(text: &str) -> u64 {
    weight(&escape_tags(text))
}

/// Tenths of the room beside the answer that a prompt may take. The free tenth covers text that the
/// careful measure underestimates, and what providers add to a request.
const USED_TENTHS: u64 = 9;
/// The window never lowers the answer below this many tokens.
const MIN_ANSWER_TOKENS: u64 = 256;
/// A request must have room for so many tokens of conversation, and for as many of a summary.
const MIN_ROOM_TOKENS: u64 = 256;

/// The size limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Budget {
    /// The window, if it is known.
    window: Option<u64>,
    limit: Option<u64>,
    /// Maximum tokens of the answer.
    max_tokens: u64,
    /// Maximum tokens of system prompt and prompt together, by the careful measure.
    input_tokens: u64,
}

impl Budget {
    /// The budget for answers of `wanted` tokens in a window. `limit` is a further limit of the prompt.
    ///
    /// The answer takes at most a quarter of the window. More is never needed and would leave too
    /// little for the conversation.
    fn new(window: Option<u64>, limit: Option<u64>, wanted: u64) -> Self {
        Self::with_share(window, limit, wanted, 4)
    }

    /// The budget for several requests. The answer takes at most an eighth of the window, because the next request has
    /// to contain it too.
    fn of_several(&self) -> Self {
        Self::with_share(self.window, self.limit, self.max_tokens, 8)
    }

    fn with_share(window: Option<u64>, limit: Option<u64>, wanted: u64, share: u64) -> Self {
        let largest = |window: u64| wanted.min((window / share).max(MIN_ANSWER_TOKENS));
        let max_tokens = window.map_or(wanted, largest);
        let beside = window.map_or(u64::MAX, |window| input_room(window, max_tokens));
        Self { window, limit, max_tokens, input_tokens: beside.min(limit.unwrap_or(u64::MAX)) }
    }

    /// Maximum weight of system prompt and prompt together.
    fn input(&self) -> u64 {
        self.input_tokens.saturating_mul(WEIGHT_PER_TOKEN)
    }

    /// Weight reserved for an answer that a later request quotes: a quarter more than its tokens,
    /// because the careful measure may count more than the model did.
    fn answer(&self) -> u64 {
        self.max_tokens.saturating_mul(WEIGHT_PER_TOKEN + 1)
    }
}

/// Tokens of input beside an answer of `max_tokens`.
fn input_room(window: u64, max_tokens: u64) -> u64 {
    let room = window.saturating_sub(max_tokens);
    room / 10 * USED_TENTHS + room % 10 * USED_TENTHS / 10
}

/// Maximum tokens of an answer beside `input` tokens.
fn answer_room(window: u64, input: u64) -> u64 {
    window.saturating_sub(input.saturating_mul(10).div_ceil(USED_TENTHS))
}

/// Minimum weight of input for requests whose wording weighs `frame`.
fn least_input(frame: u64) -> u64 {
    frame + 2 * MIN_ROOM_TOKENS * WEIGHT_PER_TOKEN
}

/// The smallest window for requests whose wording weighs `frame`, with answers of `wanted` tokens or
/// what that window leaves of them.
fn least_window(frame: u64, wanted: u64) -> u64 {
    let input = least_input(frame).div_ceil(WEIGHT_PER_TOKEN);
    let beside = (input * 10).div_ceil(USED_TENTHS);
    beside + wanted.min(MIN_ANSWER_TOKENS.max(beside / 3 + 1))
}

/// Steps that shorten a conversation before it is split over several requests.
const STEPS: [Detail; 5] = [
    Detail { has_thinking: false, units: None },
    Detail { has_thinking: false, units: Some(2000) },
    Detail { has_thinking: false, units: Some(1000) },
    Detail { has_thinking: false, units: Some(500) },
    Detail { has_thinking: false, units: Some(250) },
];

/// State of the planning.
struct Planner<'a> {
    messages: &'a [Arc<Message>],
    previous: Option<&'a str>,
    wording: Wording,
    budget: Budget,
    wanted_max_tokens: u64,
    model_max_tokens: Option<u64>,
    thinking: Thinking,
    redact: Option<Arc<dyn Redact>>,
    /// Weights of the messages after each of [`STEPS`], once they were needed.
    weights: OnceCell<[Vec<u64>; STEPS.len()]>,
}

impl<'a> Planner<'a> {
    fn of(input: &PlanInput<'a>) -> Self {
        let wanted = input.limits.max_tokens(input.kind);
        let budget = Budget::new(input.context_window, input.input_limit, wanted);
        let mut wording = input.texts.wording(input.kind, input.custom_instructions, input.replace_instructions);
        wording.current_turn = current_turn(input, &wording, &budget);
        Self {
            messages: input.messages,
            previous: input.previous_summary.filter(|_| input.kind == RequestKind::History),
            wording,
            budget,
            wanted_max_tokens: wanted,
            model_max_tokens: input.limits.model_max_tokens,
            thinking: input.thinking,
            redact: input.redact.clone(),
            weights: OnceCell::new(),
        }
    }

    /// The most detail that fits into one request, if any does. For full detail, the text is also returned, because
    /// weighing has already written it.
    fn single_detail(&self) -> Option<(Detail, Option<String>)> {
        let words = frame(&self.wording, self.previous.is_some()) + self.previous.map_or(0, weight_escaped);
        let room = self.budget.input().checked_sub(words)?;
        // Nearly every conversation fits at once.
        let full = Detail::full(self.thinking);
        if let Some(text) = self.text_within(&full, room) {
            return Some((full, Some(text)));
        }
        let step = STEPS.into_iter().zip(self.weights()).find(|(_, weights)| joined(weights) <= room);
        step.map(|(detail, _)| (detail, None))
    }

    /// The text of the conversation at `detail`, as [`RequestPlan::write_text`] writes it, if it weighs at most `room`.
    fn text_within(&self, detail: &Detail, room: u64) -> Option<String> {
        let (mut text, mut used) = (String::new(), 0);
        for message in self.messages {
            let serialized = serialize_body(&message.read_body(), detail, self.redact.as_deref());
            if serialized.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str("\n\n");
                used += JOINT;
            }
            let escaped = escape_tags(&serialized);
            used += weight(&escaped);
            if used > room {
                return None;
            }
            text.push_str(&escaped);
        }
        Some(text)
    }

    fn single(self, detail: Detail, text: Option<String>) -> RequestPlan {
        let previous = self.previous.map(str::to_owned);
        let part = Part { messages: 0..self.messages.len(), room: u64::MAX };
        let plan = self.plan(detail, previous, vec![part]);
        let first = text.map(|text| plan.request_of(0, None, |prompt| prompt.push_str(&text)));
        *plan.held_first() = first;
        plan
    }

    /// Plans several requests: as few as the shortest form needs, with as much detail as fits into that
    /// number.
    fn folded(mut self) -> Result<RequestPlan, TooSmallWindow> {
        self.budget = self.budget.of_several();
        self.check_room()?;
        let previous = self.cut_previous();
        let is_cut = previous.as_deref().map(weight) < self.previous.map(weight_escaped);
        let rooms = self.rooms(previous.as_deref());
        let packed = self.weights().each_ref().map(|weights| pack(weights, rooms));
        let fewest = packed[STEPS.len() - 1].len();
        let step = packed.iter().position(|parts| parts.len() == fewest).unwrap_or(STEPS.len() - 1);
        let room = |index| if index == 0 { rooms.first } else { rooms.later };
        let parts = packed[step].iter().cloned().enumerate();
        let parts: Vec<_> = parts.map(|(index, messages)| Part { messages, room: room(index) }).collect();
        let cut_messages = too_large(&self.weights()[step], &parts);
        let mut plan = self.plan(STEPS[step], previous, parts);
        plan.fitting.cut_messages = cut_messages;
        plan.fitting.cut_previous_summary = is_cut;
        Ok(plan)
    }

    fn check_room(&self) -> Result<(), TooSmallWindow> {
        let frame = frame(&self.wording, false).max(frame(&self.wording, true));
        if self.budget.input() >= least_input(frame) {
            return Ok(());
        }
        Err(TooSmallWindow {
            context_window: self.budget.window,
            input_tokens: self.budget.input_tokens,
            instruction_tokens: frame.div_ceil(WEIGHT_PER_TOKEN),
            needed_window: least_window(frame, self.wanted_max_tokens),
        })
    }

    /// The previous summary, cut to half of the room beside the instructions.
    fn cut_previous(&self) -> Option<String> {
        let room = (self.budget.input() - frame(&self.wording, true)) / 2;
        self.previous.map(|previous| cut_redacted(&escape_tags(previous), room, self.redact.as_deref()).into_owned())
    }

    fn rooms(&self, previous: Option<&str>) -> Rooms {
        let words = frame(&self.wording, previous.is_some()) + previous.map_or(0, weight);
        let input = self.budget.input();
        let later = input - frame(&self.wording, true) - summary_room(&self.wording, &self.budget);
        Rooms { first: input - words, later }
    }

    /// Weights of the messages after each of [`STEPS`].
    fn weights(&self) -> &[Vec<u64>; STEPS.len()] {
        self.weights.get_or_init(|| self.weights_at(&STEPS))
    }

    /// Weights of the messages at each of `details`. Each message is read once, because reading a long one takes as
    /// long as weighing it.
    fn weights_at<const N: usize>(&self, details: &[Detail; N]) -> [Vec<u64>; N] {
        let mut weights = [const { Vec::new() }; N];
        for message in self.messages {
            let body = message.read_body();
            for (weights, detail) in weights.iter_mut().zip(details) {
                weights.push(weight_escaped(&serialize_body(&body, detail, self.redact.as_deref())));
            }
        }
        weights
    }

    fn plan(self, detail: Detail, previous: Option<String>, parts: Vec<Part>) -> RequestPlan {
        let lowered = self.budget.max_tokens < self.wanted_max_tokens;
        let fitting = Fitting {
            dropped_thinking: self.thinking == Thinking::Included
                && !detail.has_thinking
                && self.messages.iter().any(|message| has_thinking(message)),
            shrunk_to_units: detail.units,
            lowered_max_tokens: lowered.then_some(self.budget.max_tokens),
            ..Fitting::default()
        };
        let Self { messages, wording, budget, model_max_tokens, redact, .. } = self;
        let messages = messages.to_vec();
        RequestPlan {
            wording,
            budget,
            model_max_tokens,
            previous,
            messages,
            detail,
            redact,
            parts,
            fitting,
            first: Arc::default(),
        }
    }
}

/// Number of messages that are heavier than the room of their request.
fn too_large(weights: &[u64], parts: &[Part]) -> usize {
    let in_part = |part: &Part| weights[part.messages.clone()].iter().filter(|weight| **weight > part.room).count();
    parts.iter().map(in_part).sum()
}

fn has_thinking(message: &Message) -> bool {
    let is_thinking = |block: &Block| matches!(block, Block::Thinking(_));
    // Most long messages are results, which need not be read for this.
    message.role() == "assistant"
        && matches!(&*message.read_body(), Body::Assistant(assistant) if assistant.content.iter().any(is_thinking))
}

/// The weight of the blank line between two messages.
const JOINT: u64 = 2;

/// Room of requests for messages, as weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Rooms {
    /// In the first request.
    first: u64,
    /// In each later one.
    later: u64,
}

/// Weight of these messages in one request. A message that weighs nothing is not included.
fn joined(weights: &[u64]) -> u64 {
    let included = weights.iter().filter(|weight| **weight > 0);
    included.fold(0, |sum, weight| sum + if sum > 0 { JOINT } else { 0 } + weight)
}

/// Packs messages into as few requests as their order allows, at least one. A message that is too large
/// for any request gets its own, where it will be cut.
///
/// Two consecutive requests contain more than the room of one, so there are at most 2 x ⌈total / room⌉ + 1 requests,
/// where `room` is the smaller room.
fn pack(weights: &[u64], rooms: Rooms) -> Vec<Range<usize>> {
    let mut parts: Vec<Range<usize>> = Vec::new();
    let (mut start, mut used) = (0, 0);
    for (position, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
        let room = if parts.is_empty() { rooms.first } else { rooms.later };
        let with = used + JOINT + weight;
        if used == 0 {
            used = weight;
        } else if with <= room {
            used = with;
        } else {
            parts.push(start..position);
            (start, used) = (position, weight);
        }
    }
    parts.push(start..weights.len());
    parts
}

/// Weights are counted in quarters of a token.
const WEIGHT_PER_TOKEN: u64 = 4;

/// Weights of ASCII characters.
const LETTER: u8 = 1;
/// Digits, capitals and punctuation: tokenizers split numbers, hashes, base64 and operators finely, so
/// two of these count as one token.
const SPLIT_FINELY: u8 = 2;
/// Two bytes in UTF-8: other alphabets.
const TWO_BYTES: u8 = 3;
/// Three bytes: most other scripts, including Chinese, Japanese and Korean.
const THREE_BYTES: u8 = 5;
/// Four bytes: emoji and rare scripts.
const FOUR_BYTES: u8 = 12;

/// The weight of each byte. The first byte carries the weight of a character.
const WEIGHTS: [u8; 256] = weights();

const fn weights() -> [u8; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b' ' | b'\n' | b'\r' | b'\t' => LETTER,
            0..=0x7F => SPLIT_FINELY,
            0x80..=0xBF => 0,
            0xC0..=0xDF => TWO_BYTES,
            0xE0..=0xEF => THREE_BYTES,
            0xF0..=0xFF => FOUR_BYTES,
        };
        byte += 1;
    }
    table
}

/// Tokens of `text` by the careful measure, rounded up; never below the estimate of
/// [`crate::tokens::estimate_text`].
pub fn careful_tokens(text: &str) -> u64 {
    weight(text).div_ceil(WEIGHT_PER_TOKEN)
}

/// The weight of `text`. The weight of a concatenation is the sum of the weights.
fn weight(text: &str) -> u64 {
    text.bytes().map(|byte| u64::from(WEIGHTS[usize::from(byte)])).sum()
}

/// Upper bound for the weight of an omission mark.
const MARK_WEIGHT: u64 = 96;

/// `text` with its middle left out so that it weighs at most `room`. The cut follows lines unless they
/// are too long. A mark says how much is missing.
fn cut_middle(text: &str, room: u64) -> Cow<'_, str> {
    if weight(text) <= room {
        return Cow::Borrowed(text);
    }
    let Some(kept) = room.checked_sub(MARK_WEIGHT) else {
        return Cow::Borrowed(prefix(text, room));
    };
    let head = whole_lines_before(prefix(text, kept - kept / 2));
    let tail = whole_lines_after(suffix(text, kept / 2));
    let left_out = utf16_len(&text[head.len()..text.len() - tail.len()]);
    Cow::Owned(format!("{head}\n\n[{left_out} characters left out here]\n\n{tail}"))
}

/// The longest prefix of `text` that weighs at most `room`.
fn prefix(text: &str, room: u64) -> &str {
    let mut sum = 0;
    for (at, byte) in text.bytes().enumerate() {
        sum += u64::from(WEIGHTS[usize::from(byte)]);
        if sum > room {
            return &text[..at];
        }
    }
    text
}

/// The longest suffix of `text` that weighs at most `room`.
fn suffix(text: &str, room: u64) -> &str {
    let mut sum = 0;
    for (at, character) in text.char_indices().rev() {
        sum += u64::from(WEIGHTS[usize::from(text.as_bytes()[at])]);
        if sum > room {
            return &text[at + character.len_utf8()..];
        }
    }
    text
}

/// `head` up to the end of its last whole line, unless that removes more than half of it.
fn whole_lines_before(head: &str) -> &str {
    head.rfind('\n').filter(|end| *end >= head.len() / 2).map_or(head, |end| &head[..end])
}

/// `tail` from the start of its first whole line, unless that removes more than half of it.
fn whole_lines_after(tail: &str) -> &str {
    tail.find('\n').filter(|end| *end <= tail.len() / 2).map_or(tail, |end| &tail[end + 1..])
}

#[cfg(test)]
mod tests;
