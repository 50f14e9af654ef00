//! Plans requests that fit, and distributes messages over them.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use super::measure::{WEIGHT_PER_TOKEN, weight};
use super::{Budget, least_input, least_window};
use super::{Fitting, PlanInput, RequestPlan, TooSmallWindow, cut_redacted, frame, summary_room, weight_escaped};
use crate::conversation::{Detail, Redact, Thinking, serialize_body};
use crate::message::{Block, Body, Message};
use crate::prompts::{RequestKind, Wording, escape_tags};

/// Steps that shorten a conversation before it is split over several requests.
const STEPS: [Detail; 5] = [
    Detail { has_thinking: false, units: None },
    Detail { has_thinking: false, units: Some(2000) },
    Detail { has_thinking: false, units: Some(1000) },
    Detail { has_thinking: false, units: Some(500) },
    Detail { has_thinking: false, units: Some(250) },
];

/// State of the planning.
pub(super) struct Planner<'a> {
    messages: &'a [Arc<Message>],
    previous: Option<&'a str>,
    wording: Wording,
    budget: Budget,
    wanted_max_tokens: u64,
    model_max_tokens: Option<u64>,
    thinking: Thinking,
    redact: Option<&'a dyn Redact>,
    /// Weights of the messages after each of [`STEPS`], once they were needed.
    weights: OnceCell<[Vec<u64>; STEPS.len()]>,
}

impl<'a> Planner<'a> {
    pub(super) fn of(input: &PlanInput<'a>) -> Self {
        let wanted = input.limits.max_tokens(input.kind);
        Self {
            messages: input.messages,
            previous: input.previous_summary.filter(|_| input.kind == RequestKind::History),
            wording: input.texts.wording(input.kind, input.custom_instructions, input.replace_instructions),
            budget: Budget::new(input.context_window, input.input_limit, wanted),
            wanted_max_tokens: wanted,
            model_max_tokens: input.limits.model_max_tokens,
            thinking: input.thinking,
            redact: input.redact,
            weights: OnceCell::new(),
        }
    }

    /// The most detail that fits into one request, if any does.
    pub(super) fn single_detail(&self) -> Option<Detail> {
        let words = frame(&self.wording, self.previous.is_some()) + self.previous.map_or(0, weight_escaped);
        let room = self.budget.input().checked_sub(words)?;
        // Nearly every conversation fits at once.
        let full = Detail::full(self.thinking);
        let [weights] = self.weights_at(&[full]);
        if joined(&weights) <= room {
            return Some(full);
        }
        STEPS.into_iter().zip(self.weights()).find(|(_, weights)| joined(weights) <= room).map(|(detail, _)| detail)
    }

    pub(super) fn single(self, detail: &Detail) -> RequestPlan {
        let conversation = self.text(&(0..self.messages.len()), detail, u64::MAX);
        let previous = self.previous.map(str::to_owned);
        self.plan(detail, previous, vec![conversation])
    }

    /// Plans several requests: as few as the shortest form needs, with as much detail as fits into that
    /// number.
    pub(super) fn folded(mut self) -> Result<RequestPlan, TooSmallWindow> {
        self.budget = self.budget.of_several();
        self.check_room()?;
        let previous = self.cut_previous();
        let is_cut = previous.as_deref().map(weight) < self.previous.map(weight_escaped);
        let rooms = self.rooms(previous.as_deref());
        let packed = self.weights().each_ref().map(|weights| pack(weights, rooms));
        let fewest = packed[STEPS.len() - 1].len();
        let step = packed.iter().position(|parts| parts.len() == fewest).unwrap_or(STEPS.len() - 1);
        let (detail, parts) = (STEPS[step], &packed[step]);
        let room = |index| if index == 0 { rooms.first } else { rooms.later };
        let texts = parts.iter().enumerate().map(|(index, part)| self.text(part, &detail, room(index))).collect();
        let cut_messages = too_large(&self.weights()[step], parts, room);
        let mut plan = self.plan(&detail, previous, texts);
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
        self.previous.map(|previous| cut_redacted(&escape_tags(previous), room, self.redact).into_owned())
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
                weights.push(weight_escaped(&serialize_body(&body, detail, self.redact)));
            }
        }
        weights
    }

    /// The messages of one request, joined. A message heavier than `room` is cut.
    ///
    /// Text is escaped before it is cut, so the measured text is the one that is sent. Cutting creates
    /// no new tag, because the mark begins with a line break.
    fn text(&self, part: &Range<usize>, detail: &Detail, room: u64) -> String {
        let mut text = String::new();
        for message in &self.messages[part.clone()] {
            let serialized = serialize_body(&message.read_body(), detail, self.redact);
            if !serialized.is_empty() && !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&cut_redacted(&escape_tags(&serialized), room, self.redact));
        }
        text.shrink_to_fit();
        text
    }

    fn plan(self, detail: &Detail, previous: Option<String>, parts: Vec<String>) -> RequestPlan {
        let lowered = self.budget.max_tokens < self.wanted_max_tokens;
        let fitting = Fitting {
            dropped_thinking: self.thinking == Thinking::Included
                && !detail.has_thinking
                && self.messages.iter().any(|message| has_thinking(message)),
            shrunk_to_units: detail.units,
            lowered_max_tokens: lowered.then_some(self.budget.max_tokens),
            ..Fitting::default()
        };
        let Self { wording, budget, model_max_tokens, .. } = self;
        RequestPlan { wording, budget, model_max_tokens, previous, parts, fitting }
    }
}

/// Number of messages that are heavier than the room of their request.
fn too_large(weights: &[u64], parts: &[Range<usize>], room: impl Fn(usize) -> u64) -> usize {
    let in_part = |(index, part): (usize, &Range<usize>)| {
        weights[part.clone()].iter().filter(|weight| **weight > room(index)).count()
    };
    parts.iter().enumerate().map(in_part).sum()
}

fn has_thinking(message: &Message) -> bool {
    let is_thinking = |block: &Block| matches!(block, Block::Thinking(_));
    // Most long messages are results, which need not be read for this.
    message.role() == "assistant"
        && matches!(&*message.read_body(), Body::Assistant(assistant) if assistant.content.iter().any(is_thinking))
}

/// The weight of the blank line between two messages.
pub(super) const JOINT: u64 = 2;

/// Room of requests for messages, as weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rooms {
    /// In the first request.
    pub(super) first: u64,
    /// In each later one.
    pub(super) later: u64,
}

/// Weight of these messages in one request. A message that weighs nothing is not included.
pub(super) fn joined(weights: &[u64]) -> u64 {
    let included = weights.iter().filter(|weight| **weight > 0);
    included.fold(0, |sum, weight| sum + if sum > 0 { JOINT } else { 0 } + weight)
}

/// Packs messages into as few requests as their order allows, at least one. A message that is too large
/// for any request gets its own, where it will be cut.
///
/// Two consecutive requests hold more than the room of one, so there are at most 2 x ⌈total / room⌉ + 1
/// requests, where `room` is the smaller room.
pub(super) fn pack(weights: &[u64], rooms: Rooms) -> Vec<Range<usize>> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fills_requests_in_order() {
        let check = |weights: &[u64], first, later, ends: &[usize]| {
            let parts = pack(weights, Rooms { first, later });
            assert_eq!(parts.iter().map(|part| part.end).collect::<Vec<_>>(), ends, "{weights:?}");
        };
        check(&[], 10, 10, &[0]);
        check(&[4, 4], 10, 10, &[2]);
        check(&[4, 5], 10, 10, &[1, 2]);
        check(&[99, 1], 10, 10, &[1, 2]);
        check(&[0, 4, 0, 0, 4, 0], 10, 10, &[6]);
        check(&[1, 99, 1], 10, 10, &[1, 2, 3]);
        check(&[8, 4, 4], 3, 10, &[1, 3]);
    }

    proptest! {
        #[test]
        fn every_message_is_in_one_request(
            weights in proptest::collection::vec(0u64..50, 0..60),
            first in 1u64..80,
            later in 1u64..80,
        ) {
            let parts = pack(&weights, Rooms { first, later });
            prop_assert_eq!(parts.iter().cloned().flatten().collect::<Vec<_>>(), (0..weights.len()).collect::<Vec<_>>());
            for (position, part) in parts.iter().enumerate() {
                let room = if position == 0 { first } else { later };
                let included = weights[part.clone()].iter().filter(|weight| **weight > 0).count();
                prop_assert!(included <= 1 || joined(&weights[part.clone()]) <= room);
            }
            let total = joined(&weights);
            prop_assert!(parts.len() as u64 <= 2 * total.div_ceil(first.min(later)) + 1);
        }
    }
}
