//! The size limits of a request.

use super::measure::WEIGHT_PER_TOKEN;

/// Tenths of the room beside the answer that a prompt may take. The free tenth covers text that the
/// careful measure underestimates, and what providers add to a request.
const USED_TENTHS: u64 = 9;
/// The window never lowers the answer below this many tokens.
const MIN_ANSWER_TOKENS: u64 = 256;
/// A request must have room for this many tokens of conversation, and for as many of a summary.
const MIN_ROOM_TOKENS: u64 = 256;

/// The size limits of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    /// The window, if it is known.
    pub(super) window: Option<u64>,
    limit: Option<u64>,
    /// Maximum tokens of the answer.
    pub(super) max_tokens: u64,
    /// Maximum tokens of system prompt and prompt together, by the careful measure.
    pub(super) input_tokens: u64,
}

impl Budget {
    /// The budget for answers of `wanted` tokens in a window. `limit` is a further limit of the prompt.
    ///
    /// The answer takes at most a quarter of the window. More is never needed and would leave too
    /// little for the conversation.
    pub(super) fn new(window: Option<u64>, limit: Option<u64>, wanted: u64) -> Self {
        Self::with_share(window, limit, wanted, 4)
    }

    /// The budget for several requests. The answer takes at most an eighth of the window, because the
    /// next request has to hold it too.
    pub(super) fn of_several(&self) -> Self {
        Self::with_share(self.window, self.limit, self.max_tokens, 8)
    }

    fn with_share(window: Option<u64>, limit: Option<u64>, wanted: u64, share: u64) -> Self {
        let largest = |window: u64| wanted.min((window / share).max(MIN_ANSWER_TOKENS));
        let max_tokens = window.map_or(wanted, largest);
        let beside = window.map_or(u64::MAX, |window| input_room(window, max_tokens));
        Self { window, limit, max_tokens, input_tokens: beside.min(limit.unwrap_or(u64::MAX)) }
    }

    /// Maximum weight of system prompt and prompt together.
    pub(super) fn input(&self) -> u64 {
        self.input_tokens.saturating_mul(WEIGHT_PER_TOKEN)
    }

    /// Weight reserved for an answer that a later request quotes: a quarter more than its tokens,
    /// because the careful measure may count more than the model did.
    pub(super) fn answer(&self) -> u64 {
        self.max_tokens.saturating_mul(WEIGHT_PER_TOKEN + 1)
    }
}

/// Tokens of input beside an answer of `max_tokens`.
pub(super) fn input_room(window: u64, max_tokens: u64) -> u64 {
    let room = window.saturating_sub(max_tokens);
    room / 10 * USED_TENTHS + room % 10 * USED_TENTHS / 10
}

/// Maximum tokens of an answer beside `input` tokens.
pub(super) fn answer_room(window: u64, input: u64) -> u64 {
    window.saturating_sub(input.saturating_mul(10).div_ceil(USED_TENTHS))
}

/// Minimum weight of input for requests whose wording weighs `frame`.
pub(super) fn least_input(frame: u64) -> u64 {
    frame + 2 * MIN_ROOM_TOKENS * WEIGHT_PER_TOKEN
}

/// The smallest window for requests whose wording weighs `frame`, with answers of `wanted` tokens or
/// what that window leaves of them.
pub(super) fn least_window(frame: u64, wanted: u64) -> u64 {
    let input = least_input(frame).div_ceil(WEIGHT_PER_TOKEN);
    let beside = (input * 10).div_ceil(USED_TENTHS);
    beside + wanted.min(MIN_ANSWER_TOKENS.max(beside / 3 + 1))
}
