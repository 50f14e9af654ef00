//! Matching of error texts: fragments that must follow each other.

/// A row of the table: the text holds all fragments, in this order, in lower case. `#` in a
/// fragment stands for a number, with or without separators.
pub(super) type Pattern = &'static [&'static str];

/// Whether `text`, in lower case, matches one of `patterns`.
pub(super) fn matches_any(text: &str, patterns: &[Pattern]) -> bool {
    patterns.iter().any(|pattern| matches(text, pattern))
}

fn matches(text: &str, pattern: Pattern) -> bool {
    let mut rest = text;
    pattern.iter().all(|fragment| match end_of(rest, fragment) {
        Some(end) => {
            rest = &rest[end..];
            true
        }
        None => false,
    })
}

/// Where the first occurrence of `fragment` ends in `text`.
fn end_of(text: &str, fragment: &str) -> Option<usize> {
    let Some((before, after)) = fragment.split_once('#') else {
        return text.find(fragment).map(|at| at + fragment.len());
    };
    text.match_indices(before).find_map(|(at, _)| {
        let number = at + before.len();
        let length = number_length(&text[number..]);
        let end = number + length;
        (length > 0 && text[end..].starts_with(after)).then_some(end + after.len())
    })
}

/// Bytes of the number at the start of `text`; commas, dots, underscores, apostrophes and spaces
/// between groups of digits count.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    while end > 0 {
        let group = match text[end..].bytes().next() {
            Some(b',' | b'.' | b'_') => digits(end + 1),
            Some(b' ' | b'\'') if digits(end + 1) == 3 => 3,
            _ => 0,
        };
        if group == 0 {
            break;
        }
        end += 1 + group;
    }
    end
}

/// The numbers that stand right before one of `followers`.
pub(super) fn counts_before<'a>(text: &'a str, followers: &'a [&'a str]) -> impl Iterator<Item = u64> + 'a {
    numbers(text).filter_map(move |(number, after)| {
        let after = after.trim_start();
        followers.iter().any(|follower| after.starts_with(follower)).then_some(number)
    })
}

/// The input of `input + output > limit`.
pub(super) fn summed_input(text: &str) -> Option<u64> {
    let mut found = numbers(text).filter(|(_, after)| {
        let Some(output) = after.trim_start().strip_prefix('+') else { return false };
        let output = output.trim_start();
        let length = number_length(output);
        length > 0 && output[length..].trim_start().starts_with('>')
    });
    found.next().map(|(number, _)| number)
}

/// Every number in `text` with what follows it.
fn numbers(text: &str) -> impl Iterator<Item = (u64, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let start = rest.find(|character: char| character.is_ascii_digit())?;
        let length = number_length(&rest[start..]);
        let digits: String = rest[start..start + length].chars().filter(char::is_ascii_digit).collect();
        rest = &rest[start + length..];
        Some((digits.parse().unwrap_or(u64::MAX), rest))
    })
}
