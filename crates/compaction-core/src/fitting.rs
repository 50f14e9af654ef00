//! Requests that fit the summarizer's window (docs/summaries.md, "Requests that fit").
//!
//! If everything fits, nothing is changed. Otherwise, in this order: thinking is dropped; tool results,
//! arguments and command outputs shrink; the conversation is split over several requests, each of which
//! updates the answer to the one before. A message that is too large for any request is cut in its
//! middle, and so is a summary that would leave no room for messages.

mod measure;
mod planner;

use std::borrow::Cow;
use std::sync::Arc;

use measure::{WEIGHT_PER_TOKEN, cut_middle, weight};
use planner::Planner;

use crate::conversation::{Redact, Thinking};
use crate::message::Message;
use crate::prompts::{OutputLimits, PromptTexts, RequestKind, SummaryRequest, Wording, escape_tags};

pub use measure::careful_tokens;

/// Input of the planning.
#[derive(Debug, Clone, Copy)]
pub struct PlanInput<'a> {
    /// What the requests ask for.
    pub kind: RequestKind,
    /// The messages, oldest first.
    pub messages: &'a [Arc<Message>],
    /// The summary to update, for histories only.
    pub previous_summary: Option<&'a str>,
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
    pub redact: Option<&'a dyn Redact>,
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

/// Requests that fit, in order of execution.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    wording: Wording,
    budget: Budget,
    model_max_tokens: Option<u64>,
    /// The summary that the first request updates.
    previous: Option<String>,
    /// The conversation, one part for each request.
    parts: Vec<String>,
    fitting: Fitting,
}

impl RequestPlan {
    /// Plans requests. Takes time proportional to the text and terminates for any input.
    ///
    /// There are at most 2 x ⌈tokens of the conversation / room⌉ + 1 requests. The room is what the
    /// window leaves beside instructions, answer and summary so far: about a third of it.
    pub fn of(input: &PlanInput<'_>) -> Result<Self, TooSmallWindow> {
        let planner = Planner::of(input);
        match planner.single_detail() {
            Some(detail) => Ok(planner.single(&detail)),
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

    /// Estimated tokens of all requests together, without the answers that the later ones update.
    pub fn estimated_tokens(&self) -> u64 {
        let requests = (0..self.parts.len()).filter_map(|index| self.request(index, None));
        requests.map(|request| request.estimated_tokens).fold(0, u64::saturating_add)
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
        let conversation = self.parts.get(index)?;
        let previous = self.previous(index, summary_so_far);
        let request = self.wording.request(conversation, previous.as_deref(), self.budget.max_tokens);
        let is_bounded_by_model = self.model_max_tokens.is_some() && index + 1 == self.parts.len();
        let max_tokens = if is_bounded_by_model { self.largest_answer(&request) } else { request.max_tokens };
        Some(SummaryRequest { max_tokens, ..request })
    }

    /// The repair request at `index`, after an answer that lacks headings. If not everything fits,
    /// previous summary, answer and conversation are cut in their middles, in this order and to no less
    /// than half of the remaining room. `redact` sees them before. `None` after the last request, and
    /// if the wording alone does not fit the window.
    pub fn repair(
        &self,
        index: usize,
        summary_so_far: Option<&str>,
        answer: &str,
        missing_headings: &[&str],
        redact: Option<&dyn Redact>,
    ) -> Option<SummaryRequest> {
        let conversation = self.parts.get(index)?;
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
        let conversation_weight = weight(conversation);
        let previous = previous.map(|text| cut(&text, conversation_weight + weight_escaped(answer)));
        let answer = cut(answer, conversation_weight);
        Some(request(&cut_redacted(conversation, room, redact), previous.as_deref(), &answer))
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
            frame(&self.wording, previous.is_some()) + previous.unwrap_or(0) + weight(part)
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
}

/// `text` cut in its middle to `room`. Secrets are removed before it is cut.
fn cut_redacted<'t>(text: &'t str, room: u64, redact: Option<&dyn Redact>) -> Cow<'t, str> {
    match redact.filter(|_| weight(text) > room) {
        Some(redact) => Cow::Owned(cut_middle(&redact.redact(text), room).into_owned()),
        None => cut_middle(text, room),
    }
}

/// Weight of the fixed wording of a request: everything but conversation and previous summary.
fn frame(wording: &Wording, has_previous: bool) -> u64 {
    weight(&wording.system) + weight(&wording.prompt("", has_previous.then_some("")))
}

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
/// A request must have room for this many tokens of conversation, and for as many of a summary.
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

    /// The budget for several requests. The answer takes at most an eighth of the window, because the
    /// next request has to hold it too.
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

#[cfg(test)]
mod tests;
