//! The HTTP status that an error text names.

/// The status of an error text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    /// The code, if the text names one.
    pub(super) code: Option<u16>,
    /// Whether the text says that the answer had no body.
    pub(super) is_bodyless: bool,
}

const INTRODUCTIONS: [&str; 14] = [
    "status code: ",
    "status code ",
    "status: ",
    "status ",
    "error code: ",
    "http/1.1 ",
    "http ",
    "\"status\":",
    "\"code\":",
    "\"message\":\"",
    "error: ",
    "exception - ",
    "http/2 ",
    "failed: ",
];

/// Forms of status 413 in parentheses. Other numbers in parentheses are counts.
const IN_PARENTHESES: [&str; 2] = ["(413)", "[413]"];

impl Status {
    /// Reads `text`, which is in lower case.
    pub(super) fn of(text: &str) -> Self {
        let at_start = text.trim_start().trim_start_matches("error:").trim_start();
        let introduced = || {
            INTRODUCTIONS.iter().find_map(|introduction| {
                text.match_indices(introduction).find_map(|(at, found)| code_at(text[at + found.len()..].trim_start()))
            })
        };
        let in_parentheses = || IN_PARENTHESES.iter().any(|status| text.contains(status)).then_some(413);
        Self {
            code: code_at(at_start).or_else(introduced).or_else(in_parentheses),
            is_bodyless: text.contains("(no body)"),
        }
    }
}

/// The status code at the start of `text`: three digits from 400 to 599 that are not part of another
/// number or word.
fn code_at(text: &str) -> Option<u16> {
    let digits = text.get(..3).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
    let is_whole = !text[3..].starts_with(|next: char| next.is_alphanumeric() || matches!(next, '_'))
        && !is_separated_number(&text[3..]);
    digits.parse().ok().filter(|code| is_whole && (400..600).contains(code))
}

fn is_separated_number(after: &str) -> bool {
    let mut characters = after.chars();
    matches!(characters.next(), Some(',' | '.')) && characters.next().is_some_and(|next| next.is_ascii_digit())
}
