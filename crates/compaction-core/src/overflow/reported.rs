//! The numbers that an error text names: the limit, what went in, and what was asked to come out.

use super::pattern::{self, Number};
use super::plain::plain;
use super::table;

/// Parts of the limit that the output must leave for the input, or no context is small enough: one
/// of so many.
const LEAST_SHARE: u64 = 8;
/// A limit of fewer tokens is none of a model.
const LEAST_LIMIT: u64 = 256;

/// What an error text says of the sizes of a request, in tokens. What the text does not say, or says
/// in bytes or characters, is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// The most that the provider takes: window, or longest prompt.
    pub limit: Option<u64>,
    /// What went in.
    pub input: Option<u64>,
    /// The output that was asked for.
    pub output: Option<u64>,
    /// Input and output together, or one number for the request of which the text does not say more.
    pub total: Option<u64>,
}

impl Reported {
    /// Reads an error text.
    pub fn of(error_message: &str) -> Self {
        Self::of_plain(&plain(error_message))
    }

    /// Reads a text that is plain already.
    pub(super) fn of_plain(text: &str) -> Self {
        let mut found = pattern::sum(text).map_or_else(Self::default, |sum| Self {
            input: Some(sum.input),
            output: Some(sum.output),
            ..Self::default()
        });
        let has_sum = found.input.is_some();
        let mut inputs: Option<u64> = None;
        for number in pattern::numbers(text).filter(|number| !number.is_followed_by(table::OTHER_UNITS)) {
            if number.is_followed_by(table::INPUT_COUNTS) {
                inputs = Some(inputs.unwrap_or(0).saturating_add(number.value));
            } else if number.is_followed_by(table::OUTPUT_COUNTS) || number.follows(table::BEFORE_OUTPUT) {
                found.output.get_or_insert(number.value);
            } else if is_limit(&number) {
                found.limit.get_or_insert(number.value);
            } else if number.follows(table::BEFORE_INPUT) && !has_sum {
                found.input.get_or_insert(number.value);
            } else if number.follows(table::BEFORE_TOTAL) {
                found.total.get_or_insert(number.value);
            }
        }
        found.input = inputs.or(found.input);
        if let (None, Some(total), Some(output)) = (found.input, found.total, found.output) {
            found.input = total.checked_sub(output);
        }
        found.limit = found.limit.filter(|limit| *limit >= LEAST_LIMIT);
        found
    }

    /// Tokens that the output which was asked for leaves for the input, where the limit is named.
    pub fn room(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.output.unwrap_or(0)))
    }

    /// Whether a smaller context would be taken. None is where the output takes all but a small part
    /// of the limit: such a request is refused for what it asks, whatever it tells.
    pub fn is_curable(&self) -> bool {
        match (self.limit, self.room()) {
            (Some(limit), Some(room)) => room >= limit / LEAST_SHARE,
            _ => true,
        }
    }

    /// What the provider counted for the request's input: with the output, where the text does not
    /// tell them apart.
    pub fn counted(&self) -> Option<u64> {
        self.input.or(self.total)
    }
}

fn is_limit(number: &Number<'_>) -> bool {
    number.follows(table::BEFORE_LIMIT)
        || number.is_followed_by(table::AFTER_LIMIT)
        || number.follows(&[" is"]) && number.is_near(table::NAMED_LIMIT)
        || number.follows(&[">"]) && number.follows_number_before(">")
}
