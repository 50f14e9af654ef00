//! Reads the numbers in an error text: limit, input and requested output.

use super::pattern::{self, Number};
use super::plain::plain;
use super::table;

/// The output must leave at least one part in this many of the limit for the input; otherwise no
/// context is small enough.
const LEAST_SHARE: u64 = 8;
/// A smaller number is not the limit of a model.
const LEAST_LIMIT: u64 = 256;

/// Sizes of a request, in tokens, as an error text names them. `None` for sizes that the text does not
/// name, or names in bytes or characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// The provider's limit: its window or its longest prompt.
    pub limit: Option<u64>,
    /// Tokens of input.
    pub input: Option<u64>,
    /// Tokens of requested output.
    pub output: Option<u64>,
    /// Input and output together, or a number of which the text says only that it is the request.
    pub total: Option<u64>,
}

impl Reported {
    /// Reads an error text.
    pub fn of(error_message: &str) -> Self {
        Self::of_plain(&plain(error_message))
    }

    /// Reads a text that is normalised already.
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

    /// Tokens that the requested output leaves for the input, if the limit is known.
    pub fn room(&self) -> Option<u64> {
        Some(self.limit?.saturating_sub(self.output.unwrap_or(0)))
    }

    /// Whether a smaller context would be accepted. It would not if the output takes nearly all of the
    /// limit.
    pub fn is_curable(&self) -> bool {
        match (self.limit, self.room()) {
            (Some(limit), Some(room)) => room >= limit / LEAST_SHARE,
            _ => true,
        }
    }

    /// Tokens that the provider counted for the request: its input, or the total if the text does not
    /// separate them.
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
