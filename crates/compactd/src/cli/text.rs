//! Numbers and words in sentences.

use std::time::Duration;

/// A number with separators: `43,552`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number and its noun: `1 file`, `2 files`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let ending = match (number, noun) {
        (1, _) => noun.to_owned(),
        (_, "entry") => "entries".to_owned(),
        (_, "summary") => "summaries".to_owned(),
        (_, "branch") => "branches".to_owned(),
        _ => format!("{noun}s"),
    };
    format!("{} {ending}", thousands(number))
}

/// How much less `after` is than `before`: `50 % less`.
pub(super) fn change(before: u64, after: u64) -> String {
    if before == 0 || after == before {
        return "as before".to_owned();
    }
    let percent = u128::from(before.abs_diff(after)) * 100 / u128::from(before);
    format!("{percent} % {}", if after < before { "less" } else { "more" })
}

/// A duration for people: `0.4 ms`, `35 ms`, `1.2 s`.
pub(super) fn time(duration: Duration) -> String {
    let milliseconds = duration.as_secs_f64() * 1e3;
    match milliseconds {
        ..10.0 => format!("{milliseconds:.1} ms"),
        10.0..1000.0 => format!("{milliseconds:.0} ms"),
        _ => format!("{:.1} s", milliseconds / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let numbers = [0, 7, 999, 1000, 43552, 1_000_000, u64::MAX].map(thousands);
        assert_eq!(numbers, ["0", "7", "999", "1,000", "43,552", "1,000,000", "18,446,744,073,709,551,615"]);
    }

    #[test]
    fn nouns_follow_their_number() {
        assert_eq!(count(1, "entry"), "1 entry");
        assert_eq!(count(0, "entry"), "0 entries");
        assert_eq!(count(1200, "file"), "1,200 files");
    }

    #[test]
    fn changes_are_relative_to_before() {
        assert_eq!(change(200, 50), "75 % less");
        assert_eq!(change(50, 75), "50 % more");
        assert_eq!(change(50, 50), "as before");
        assert_eq!(change(0, 50), "as before");
        assert_eq!(change(u64::MAX, 0), "100 % less");
    }

    #[test]
    fn times_have_few_digits() {
        let times = [0.0004, 0.0042, 0.0351, 1.24].map(|seconds| time(Duration::from_secs_f64(seconds)));
        assert_eq!(times, ["0.4 ms", "4.2 ms", "35 ms", "1.2 s"]);
    }
}
