//! Distributes messages over requests.

use std::ops::Range;

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
    let told = weights.iter().filter(|weight| **weight > 0);
    told.fold(0, |sum, weight| sum + if sum > 0 { JOINT } else { 0 } + weight)
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
    use proptest::prelude::*;

    use super::*;

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
                let told = weights[part.clone()].iter().filter(|weight| **weight > 0).count();
                prop_assert!(told <= 1 || joined(&weights[part.clone()]) <= room);
            }
            let total = joined(&weights);
            prop_assert!(parts.len() as u64 <= 2 * total.div_ceil(first.min(later)) + 1);
        }
    }
}
