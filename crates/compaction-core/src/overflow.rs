//! Classifies the error texts of providers: is the context too large, or is it something else?
//!
//! Providers have no common code for a context that is too large, so a table of their texts decides.
//! Rate limits also speak of too many tokens, so they are recognised first (docs/triggers.md,
//! "Overflow").

use std::borrow::Cow;

use crate::phrases::{EVERY, Table, built, listed};

/// The class of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The context is larger than the model's window: compact and try again.
    Overflow,
    /// Too many requests or tokens per time: wait and try again.
    RateLimit,
    /// A budget is used up: no retry helps.
    Quota,
    /// The key or the account is refused: no retry helps.
    Authentication,
    /// The provider is overloaded or failing: wait and try again.
    Overloaded,
    /// Something else.
    Other,
}

impl ErrorClass {
    /// Whether the same request may succeed later.
    pub fn is_retryable(self) -> bool {
        matches!(self, ErrorClass::RateLimit | ErrorClass::Overloaded)
    }

    /// The class's name for a client.
    pub fn name(self) -> &'static str {
        match self {
            ErrorClass::Overflow => "overflow",
            ErrorClass::RateLimit => "rateLimit",
            ErrorClass::Quota => "quota",
            ErrorClass::Authentication => "authentication",
            ErrorClass::Overloaded => "overloaded",
            ErrorClass::Other => "other",
        }
    }
}

/// Whether the error says that the context is too large for the model and a smaller one would be
/// accepted. `provider` is the provider's id in messages; a few texts count only for some providers.
pub fn is_overflow(provider: Option<&str>, error_message: &str) -> bool {
    classify(provider, error_message) == ErrorClass::Overflow
}

/// The class of an error. `provider` is the provider's id in messages.
///
/// Input and output that are too large together are an overflow if a smaller context would be accepted.
/// If the output alone fills the window, they are something else.
pub fn classify(provider: Option<&str>, error_message: &str) -> ErrorClass {
    let text = plain(error_message);
    let status = Status::of(&text);
    match class_of_size(provider, &text, status) {
        Ok(numbers) if numbers.is_curable() => ErrorClass::Overflow,
        Ok(_) => ErrorClass::Other,
        Err(class) => class.unwrap_or_else(|| classify_rest(&text, status)),
    }
}

/// The numbers of an error about a request that is too large for the model, because of its context or
/// its output. `None` for any other error.
pub fn refused_size(provider: Option<&str>, error_message: &str) -> Option<Reported> {
    let text = plain(error_message);
    class_of_size(provider, &text, Status::of(&text)).ok()
}

/// The numbers of a text about a request that is too large. Otherwise the class of a rate limit or
/// quota, if the text is about one.
fn class_of_size(provider: Option<&str>, text: &str, status: Status) -> Result<Reported, Option<ErrorClass>> {
    // The refusal of a key is final, whatever the text says about the model.
    if status.code == Some(401) {
        return Err(None);
    }
    // A code says it for certain. The rest of the text may quote the request.
    let is_certain = || !matches!(status.code, Some(402 | 429)) && has_code(text, &[CODE_CONTEXTS]);
    let of_rates = || matches_any(text, RATE_LIMIT) && !is_hard_quota(text) && !is_certain();
    if status.code == Some(429) && !matches_any(text, QUOTA) || of_rates() {
        return Err(Some(ErrorClass::RateLimit));
    }
    if status.code == Some(402) || matches_any(text, QUOTA) && !is_certain() {
        return Err(Some(ErrorClass::Quota));
    }
    let numbers = Reported::of_plain(text);
    let is_known = || {
        let is_sentence = || matches_any(text, SENTENCES) && !names_other_thing(text);
        (matches_any(text, OVERFLOW) || is_sentence() || is_dialogue_too_long(text)) && !limits_characters(text)
    };
    let names_size =
        || is_known() || names_size(text) || is_over(text, numbers) || is_body_too_large(text) || advises_less(text);
    let has_any_code = || has_code(text, &[CODE_CONTEXTS, CODE_WINDOWS]);
    let is_upload = || UPLOADS.iter().any(|words| text.contains(words));
    let is_overflow = || !is_about_output_alone(text) && names_size() || has_any_code() || matches_any(text, NO_ROOM);
    match is_overflow() || is_too_large_by_status(text, status) || is_provider_overflow(provider, text, status) {
        true if !is_upload() => Ok(numbers),
        _ => Err(None),
    }
}

/// Whether the text names a window of tokens and a request that does not fit into it, in any words.
fn is_over(text: &str, numbers: Reported) -> bool {
    let counted = numbers.counted().unwrap_or(0).saturating_add(numbers.output.unwrap_or(0));
    let is_of_tokens = || [TOKENS, WINDOW].into_iter().flatten().any(|word| text.contains(word));
    // An output counted beside the input is not another thing.
    let counts_both = numbers.input.is_some() && numbers.output.is_some();
    numbers.limit.is_some_and(|limit| counted > limit)
        && is_of_tokens()
        && (counts_both || !names_other_thing(text))
        && !MINIMA.iter().any(|word| text.contains(word))
}

/// Whether the text asks to shorten a conversation with a model and mentions a size, and names nothing else that
/// failed.
fn advises_less(text: &str) -> bool {
    let advises = |sentence: &&str| {
        let (_, object) = REDUCTIONS.iter().find_map(|word| sentence.split_once(word)).unwrap_or_default();
        let object = &object[..object.floor_char_boundary(NEAR_OBJECT)];
        REDUCED.iter().any(|thing| object.contains(thing))
    };
    let names_size = || SIZES.iter().any(|word| text.contains(word));
    sentences(text).iter().any(advises) && names_size() && !names_other_thing(text) && !matches_any(text, OVERLOADED)
}

/// Whether a sentence of the text says that a conversation or a prompt is too long, for any model.
fn is_dialogue_too_long(text: &str) -> bool {
    let is_too_long = |sentence: &&str| is_dialogue_beside_length(sentence) && !is_of_output(sentence);
    sentences(text).iter().any(is_too_long) && !names_other_thing(text)
}

/// Whether a word for a conversation or a prompt is near a word that says that it is too long, with no name of another
/// thing between them.
fn is_dialogue_beside_length(sentence: &str) -> bool {
    let is_beside = |between: &str| {
        let between = between.trim_start_matches(['"', '\'', '`']);
        let has_name = || between.contains('`') || OTHER_NAMES.iter().any(|sign| between.contains(sign));
        between.trim_matches([':', ' ']).is_empty() || between.len() <= NEAR_LENGTH && !has_name()
    };
    let is_near = |length: &&str| {
        sentence.split_once(length).is_some_and(|(before, after)| {
            let distance = |word: &&str| before.rfind(word).map(|at| &before[at + word.len()..]);
            let nearest = DIALOGUES.iter().filter_map(distance).min_by_key(|between| between.len());
            let next = DIALOGUES.iter().filter_map(|word| after.find(word)).min().map(|at| &after[..at]);
            nearest.is_some_and(is_beside) || next.is_some_and(is_beside)
        })
    };
    LENGTHS.iter().any(is_near)
}

/// Whether a sentence of the text says that the body of the request has too many bytes or messages.
fn is_body_too_large(text: &str) -> bool {
    let is_too_large = |sentence: &&str| {
        let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
        has(BODY_EXCESS) && has(BODIES) && !names_other_thing(sentence)
    };
    sentences(text).iter().any(is_too_large)
}

/// Whether a word of the text is a code that means an overflow of one of `windows`, such as
/// `context_length_exceeded`, or of a content, such as `PromptTooLong`.
fn has_code(text: &str, windows: &[&[&str]]) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '-');
    text.split(|character| !is_part(character)).any(|word| {
        let word = word.replace(['_', '-'], "");
        let has = |pieces: &[&str]| pieces.iter().any(|piece| word.contains(piece));
        let is_too_much = || windows.iter().any(|pieces| has(pieces)) || has(CODE_CONTENTS) && !word.contains("exceed");
        // The rest must not be the `tool` of `toolong`.
        let rest = || CODE_EXCESS.iter().fold(word.clone(), |rest, excess| rest.replace(excess, " "));
        has(CODE_EXCESS) && is_too_much() && !CODE_OTHERS.iter().any(|other| rest().contains(other))
    })
}

/// Whether the text has the status of a request that is too large, and also says something else. A bare status may come
/// from a proxy.
fn is_too_large_by_status(text: &str, status: Status) -> bool {
    status.code == Some(413) && !status.is_bodyless && !names_other_thing(text)
}

/// Whether the text names a number of characters, and nothing that a model counts: it is the limit of a form or of a
/// service.
fn limits_characters(text: &str) -> bool {
    let of_model = || TOKENS.iter().any(|word| text.contains(word)) || text.contains("context");
    numbers(text).any(|number| number.is_followed_by(CHARACTERS)) && !of_model()
}

/// Whether the text names a thing that may be too large and is not a context. A remark on how a count was estimated, in
/// characters per token, does not count, and neither does an output beside an input.
fn names_other_thing(text: &str) -> bool {
    let text = ASIDES.iter().fold(Cow::Borrowed(text), |text, words| match text.contains(words) {
        true => Cow::Owned(text.replace(words, "")),
        false => text,
    });
    OTHER_THINGS.iter().any(|thing| text.contains(thing))
}

/// Rejections that mention no size, from providers that reject large contexts in this way.
fn is_provider_overflow(provider: Option<&str>, text: &str, status: Status) -> bool {
    let provider = provider.unwrap_or_default().to_lowercase();
    let rules = PROVIDER_OVERFLOW.iter().filter(|rule| rule.provider == provider);
    let applies = |rule: &ProviderRule| {
        let needs_no_body = !rule.with_body && !status.is_bodyless;
        status.code.is_some_and(|code| rule.codes.contains(&code)) && !needs_no_body || matches_any(text, rule.texts)
    };
    rules.into_iter().any(applies)
}

/// Whether the text complains about the requested output and does not mention the input. A smaller
/// context would be refused too (docs/field-reports.md, "Overflow texts").
fn is_about_output_alone(text: &str) -> bool {
    let without_introductions = || INTRODUCTIONS.iter().fold(text.to_owned(), |text, words| text.replace(words, ""));
    names_output(text) && is_of_output(&without_introductions())
}

/// Whether `text` names a parameter of the output and not the input.
fn is_of_output(text: &str) -> bool {
    names_output(text) && !INPUT_WORDS.iter().any(|word| text.contains(word))
}

fn names_output(text: &str) -> bool {
    OUTPUT_PARAMETERS.iter().any(|name| text.contains(name))
}

fn classify_rest(text: &str, status: Status) -> ErrorClass {
    if matches!(status.code, Some(401 | 403)) || matches_any(text, AUTHENTICATION) {
        return ErrorClass::Authentication;
    }
    let is_failing = status.code.is_some_and(|code| (500..600).contains(&code));
    if is_failing || matches_any(text, OVERLOADED) {
        return ErrorClass::Overloaded;
    }
    ErrorClass::Other
}

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
    /// Input and output together, or a number that the text only calls the request.
    pub total: Option<u64>,
}

impl Reported {
    /// Reads an error text.
    pub fn of(error_message: &str) -> Self {
        Self::of_plain(&plain(error_message))
    }

    /// Reads a text that is already normalised.
    fn of_plain(text: &str) -> Self {
        let mut found = sum(text).map_or_else(Self::default, |sum| Self {
            input: Some(sum.input),
            output: Some(sum.output),
            ..Self::default()
        });
        let has_sum = found.input.is_some();
        let parts = [found.input, found.output];
        let mut inputs: Option<u64> = None;
        let status = Status::of(text).code.map(u64::from);
        let is_count = |number: &Number<'_>| {
            let is_of_other = number.is_followed_by(OTHER_UNITS) || number.is_in_word();
            !is_of_other && ![status, parts[0], parts[1]].contains(&Some(number.value))
        };
        for number in numbers(text).filter(is_count) {
            let is_input = number.is_followed_by(INPUT_COUNTS) && !number.follows(BEFORE_LIMIT);
            if is_input {
                inputs = Some(inputs.unwrap_or(0).saturating_add(number.value));
            } else if number.is_followed_by(OUTPUT_COUNTS) || number.follows(BEFORE_OUTPUT) {
                found.output.get_or_insert(number.value);
            } else if number.exceeds() && number.value >= LEAST_LIMIT {
                found.input = found.input.or((!has_sum).then_some(number.value));
            } else if is_limit(&number) {
                found.limit = found.limit.or(Some(number.value).filter(|limit| *limit >= LEAST_LIMIT));
            } else if number.follows(BEFORE_INPUT) && !has_sum {
                found.input.get_or_insert(number.value);
            } else if number.follows(BEFORE_TOTAL) {
                found.total.get_or_insert(number.value);
            }
        }
        found.input = inputs.or(found.input);
        // A count beside the name of the window may have been mistaken for the limit.
        let is_of_limit = |counted, limit| found.limit.is_none_or(|found| found == limit || found == counted);
        if let Some((counted, limit)) = compared(text, found)
            .filter(|(counted, limit)| is_of_limit(*counted, *limit) && found.output != Some(*limit))
        {
            found.limit = Some(limit);
            found.input = found.input.or(found.total.is_none().then_some(counted));
        }
        if let (None, Some(total), Some(output)) = (found.input, found.total, found.output) {
            found.input = total.checked_sub(output);
        }
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
    number.follows(BEFORE_LIMIT) && !number.is_followed_by(&[">", "tokens >"])
        || number.follows(&["input length should be [1,"])
        || number.is_followed_by(AFTER_LIMIT)
        || number.follows(&[" is"]) && number.is_near(NAMED_LIMIT)
        || number.follows(&[">"]) && number.follows_number_before(">")
}

/// The first count of tokens in a sentence that is larger than the limit before or after it, and this limit. If the
/// text gives the size of its request, in `known`, only that number can be the count.
fn compared(text: &str, known: Reported) -> Option<(u64, u64)> {
    let both = known.input.zip(known.output).map(|(input, output)| input.saturating_add(output));
    let is_size = |count: u64| known.input.is_none() || [known.input, known.total, both].contains(&Some(count));
    let counts_tokens = |sentence: &&str| [TOKENS, WINDOW].into_iter().flatten().any(|word| sentence.contains(word));
    sentences(text).into_iter().filter(counts_tokens).find_map(|sentence| {
        let is_count = |number: &Number<'_>| {
            number.value >= LEAST_LIMIT && !number.is_followed_by(OTHER_UNITS) && !number.is_in_word()
        };
        let counts: Vec<Number<'_>> = numbers(sentence).filter(is_count).collect();
        counts.windows(2).find_map(|pair| {
            let between = sentence.get(sentence.len() - pair[0].after.len()..pair[1].before.len())?;
            let is_sum = between.contains('+') || OUTPUT_PARAMETERS.iter().any(|name| between.contains(name));
            let has = |words: &[&str]| !is_sum && words.iter().any(|words| between.contains(words));
            let (first, second) = (pair[0].value, pair[1].value);
            let found = match first > second {
                true => has(COMPARISONS).then_some((first, second)),
                false => (has(FINDINGS) && first < second && !names_output(sentence)).then_some((second, first)),
            };
            found.filter(|(count, _)| is_size(*count))
        })
    })
}

/// The status of an error text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Status {
    /// The code, if the text names one.
    code: Option<u16>,
    /// Whether the text says that the answer had no body.
    is_bodyless: bool,
}

/// Words before a status code.
const BEFORE_STATUS: &[&str] = listed!(TEXTS, "before status");

/// Forms of status 413 in parentheses. Other numbers in parentheses are counts.
const IN_PARENTHESES: [&str; 2] = ["(413)", "[413]"];

impl Status {
    /// Reads `text`, which is in lower case.
    fn of(text: &str) -> Self {
        let at_start = text.trim_start().trim_start_matches("error:").trim_start();
        let introduced = || {
            BEFORE_STATUS.iter().find_map(|introduction| {
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

/// Whether `text`, in lower case, matches one of `patterns`.
fn matches_any(text: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| matches(text, pattern))
}

/// Whether `text` has the pieces of a pattern, which are between ` & `, in their order. `#` stands for a number, with or
/// without separators.
fn matches(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern.split(" & ").all(|fragment| match end_of(rest, fragment) {
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

/// Length in bytes of the number at the start of `text`, including commas, dots, underscores,
/// apostrophes and spaces between groups of digits.
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

/// A number in a text and its surroundings.
#[derive(Debug, Clone, Copy)]
struct Number<'a> {
    /// Its value; `u64::MAX` if it has too many digits.
    value: u64,
    before: &'a str,
    after: &'a str,
}

/// Characters that may separate a number from its words.
const BETWEEN: &[char] = &[' ', '(', ')', '[', ']', '`', '\'', '"', ':', '=', '*', '~'];
/// Words that may link a number with its name.
const LINKS: [&str; 3] = [" is", " of", " only"];
/// Maximum distance in bytes of words that describe a number.
const NEAR: usize = 100;

impl Number<'_> {
    /// Whether one of `words` precedes it, at most with a word such as `is` in between.
    fn follows(&self, words: &[&str]) -> bool {
        let mut before = self.before.trim_end_matches(BETWEEN);
        let follows = |before: &str| words.iter().any(|word| before.ends_with(word.trim_end_matches(BETWEEN)));
        while !follows(before) {
            let Some(rest) = LINKS.iter().find_map(|link| before.strip_suffix(link)) else {
                return false;
            };
            before = rest.trim_end_matches(BETWEEN);
        }
        true
    }

    /// Whether one of `words` directly follows it.
    fn is_followed_by(&self, words: &[&str]) -> bool {
        let after = self.after.trim_start_matches(BETWEEN);
        words.iter().any(|word| after.starts_with(word))
    }

    /// Whether it is a piece of an identifier. A unit may follow a count without a space.
    fn is_in_word(&self) -> bool {
        let continues = self.after.starts_with(|next: char| next.is_ascii_alphabetic() || next == '_');
        continues && !self.after.starts_with("token") || self.before.ends_with(['_', '-'])
    }

    /// Whether the words after it and its unit say that it exceeds something.
    fn exceeds(&self) -> bool {
        let units = ["estimated", "input", "tokens"];
        let after = units.iter().fold(self.after.trim_start_matches(BETWEEN), |after, unit| {
            after.strip_prefix(unit).map_or(after, |rest| rest.trim_start_matches(BETWEEN))
        });
        EXCEEDING.iter().any(|words| after.starts_with(words))
    }

    /// Whether `words` precede it within a short distance.
    fn is_near(&self, words: &str) -> bool {
        let start = self.before.floor_char_boundary(self.before.len().saturating_sub(NEAR));
        self.before[start..].contains(words)
    }

    /// Whether `sign` precedes it, and a number or its unit precedes the sign.
    fn follows_number_before(&self, sign: &str) -> bool {
        let rest = self.before.trim_end_matches(BETWEEN).strip_suffix(sign).unwrap_or_default();
        let is_arrow = rest.ends_with('=');
        let rest = rest.trim_end_matches(BETWEEN);
        let rest = rest.strip_suffix("tokens").unwrap_or(rest).trim_end_matches(BETWEEN);
        !is_arrow && rest.ends_with(|last: char| last.is_ascii_digit())
    }
}

/// The two sides of a sum that is over a limit.
struct Sum {
    input: u64,
    output: u64,
}

/// The sum in `input + output > limit`, even if the plus sign was lost.
fn sum(text: &str) -> Option<Sum> {
    let numbers: Vec<Number<'_>> = numbers(text).collect();
    numbers.windows(2).find_map(|pair| {
        let between = &text[text.len() - pair[0].after.len()..pair[1].before.len()];
        let is_sum = matches!(between.trim(), "" | "+");
        let rest = pair[1].after.trim_start();
        let is_over = rest.starts_with('>') || rest.starts_with("is greater than") || rest.starts_with("exceeds");
        (is_sum && is_over).then_some(Sum { input: pair[0].value, output: pair[1].value })
    })
}

/// Every number in `text`, in order.
fn numbers(text: &str) -> impl Iterator<Item = Number<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(|character: char| character.is_ascii_digit())?;
        let end = start + number_length(&text[start..]);
        at = end;
        let digits: String = text[start..end].chars().filter(char::is_ascii_digit).collect();
        let value: u64 = digits.parse().unwrap_or(u64::MAX);
        let is_thousands = text[end..].starts_with('k') && !text[end + 1..].starts_with(char::is_alphanumeric);
        let (value, end) = if is_thousands { (value.saturating_mul(1000), end + 1) } else { (value, end) };
        Some(Number { value, before: &text[..start], after: &text[end..] })
    })
}

/// Bytes that are read at the beginning of a text.
const MAX_BEGINNING: usize = 48 * 1024;
/// Bytes that are read at the end of a longer text.
const MAX_END: usize = 16 * 1024;

/// `text` in lower case, with plain quotation marks and single spaces, without the escapes of nested
/// JSON and the white space of indented JSON.
fn plain(text: &str) -> String {
    // A longer text quotes a request or a page. The error is described at one of its ends.
    let end = text.floor_char_boundary(text.len().min(MAX_BEGINNING));
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_END).max(end));
    let mut out = String::with_capacity(end + text.len() - start);
    let mut characters = text[..end].chars().chain(text[start..].chars()).flat_map(char::to_lowercase).peekable();
    while let Some(character) = characters.next() {
        let escaped = if character == '\\' { characters.peek().copied() } else { None };
        match (character, escaped) {
            ('\\', Some('n' | 'r' | 't')) => {
                characters.next();
                push_space(&mut out);
            }
            ('\\', Some('u')) => out.push(unescaped(&mut characters).unwrap_or('\\')),
            ('\\', _) => {}
            ('\u{2018}' | '\u{2019}', _) => out.push('\''),
            ('\u{201c}' | '\u{201d}', _) => out.push('"'),
            // Includes the frames that terminals draw around texts.
            _ if character.is_whitespace() || ('\u{2500}'..='\u{257f}').contains(&character) => push_space(&mut out),
            _ => push(&mut out, character),
        }
    }
    out
}

/// The ASCII character of an escape whose `u` comes next. Takes the escape, or nothing of any other.
fn unescaped(characters: &mut (impl Iterator<Item = char> + Clone)) -> Option<char> {
    let code: String = characters.clone().skip(1).take(4).collect();
    let code = u8::from_str_radix(code.strip_prefix("00").filter(|code| code.len() == 2)?, 16).ok();
    let character = code.filter(|code| code.is_ascii_graphic()).map(char::from)?;
    characters.nth(4);
    Some(character)
}

fn push_space(out: &mut String) {
    if !out.ends_with(' ') && !out.ends_with("\":") {
        out.push(' ');
    }
}

fn push(out: &mut String, character: char) {
    if character == ':' && out.ends_with("\" ") {
        out.pop();
    }
    out.push(character);
}

/// Ends of sentences and of members of a JSON object.
const ENDS: [&str; 10] = [". ", "; ", "! ", "? ", "\",", "',", "\":\"", " | ", "\u{3002}", "\u{ff1b}"];

/// Whether a sentence of `text`, in lower case, says that a context is larger than a model's window.
fn names_size(text: &str) -> bool {
    sentences(text).into_iter().any(says_too_large)
}

fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = vec![text];
    for end in ENDS {
        sentences = sentences.into_iter().flat_map(|sentence| sentence.split(end)).collect();
    }
    sentences
}

fn says_too_large(sentence: &str) -> bool {
    let introduction = INTRODUCTIONS.iter().find_map(|words| sentence.split_once(words));
    let sentence = introduction.map_or(sentence, |(_, rest)| rest);
    let has = |words: &[&str]| words.iter().any(|word| sentence.contains(word));
    let is_limited = || has(LIMITS) || numbers(sentence).any(|number| number.follows(EXCESS));
    let is_of_window = has_too_many_tokens(sentence)
        || has(WINDOW)
        || has(CONVERSATION) && has(OF_MODELS)
        || has(TOKENS) && is_limited();
    // In Chinese, a comma separates clauses as long as sentences.
    let is_of_other = |clause: &str| EXCESS.iter().any(|word| clause.contains(word)) && names_other_thing(clause);
    has(EXCESS) && is_of_window && !is_of_output(sentence) && !sentence.split('\u{ff0c}').any(is_of_other)
}

/// Whether there are too many tokens for a model. Words for where the tokens are, or for what has them, rule out the
/// tokens of a parser or of a blockchain.
fn has_too_many_tokens(sentence: &str) -> bool {
    sentence.split_once("too many tokens").is_some_and(|(before, rest)| {
        let is_of_other = [" in ", " for "].iter().any(|word| rest.starts_with(word));
        let has_owner = [" has ", " have ", " contains "].iter().any(|word| before.ends_with(word));
        let is_of_model =
            |text: &str| [INPUT_WORDS, CONVERSATION, OF_MODELS].into_iter().flatten().any(|word| text.contains(word));
        (!is_of_other || is_of_model(rest)) && (!has_owner || is_of_model(before))
    })
}

const TEXTS: Table = built!("overflow/table.txt");

/// Limits on requests or tokens per time. They are checked first, because they mention tokens too.
const RATE_LIMIT: &[&str] = listed!(EVERY, "overflow: rate limits");

/// Budgets and balances that are used up.
const QUOTA: &[&str] = listed!(TEXTS, "quotas");

/// Whether the text names an exhausted budget beside words of a rate limit. Waiting does not help then.
fn is_hard_quota(text: &str) -> bool {
    ["insufficient_quota", "credit balance", "insufficient balance", "spending limit"]
        .iter()
        .any(|word| text.contains(word))
}

/// Texts of any provider that mean that a context is too large.
const OVERFLOW: &[&str] = listed!(TEXTS, "overflow");

/// The same in the words of each language, as applications tell their users.
const SENTENCES: &[&str] = listed!(EVERY, "overflow: sentences");

/// Words of programs that send files.
const UPLOADS: &[&str] = listed!(TEXTS, "uploads");

/// Texts about an output for which the input leaves no room.
const NO_ROOM: &[&str] = listed!(TEXTS, "no room");

/// The provider or its servers cannot answer now.
const OVERLOADED: &[&str] = listed!(TEXTS, "overloaded");

/// The key or the account is refused.
const AUTHENTICATION: &[&str] = listed!(TEXTS, "authentication");

/// A rejection that means overflow for one provider only.
struct ProviderRule {
    /// The provider's id.
    provider: &'static str,
    /// The status codes.
    codes: &'static [u16],
    /// Whether they count even if the response had a body.
    with_body: bool,
    /// Texts that mean it whatever the code.
    texts: &'static [&'static str],
}

const PROVIDER_OVERFLOW: &[ProviderRule] = &[
    ProviderRule { provider: "cerebras", codes: &[400, 413], with_body: false, texts: &[] },
    // Copilot's gateway rejects large bodies with a text that names no size.
    ProviderRule { provider: "github-copilot", codes: &[413], with_body: true, texts: &[] },
    ProviderRule { provider: "zai", codes: &[], with_body: false, texts: &["\"code\":\"1261\""] },
];

/// Words after a count of input tokens.
const INPUT_COUNTS: &[&str] = listed!(TEXTS, "input counts");

/// Words after a count of output tokens.
const OUTPUT_COUNTS: &[&str] = listed!(TEXTS, "output counts");

/// Words before a count of output tokens.
const BEFORE_OUTPUT: &[&str] = listed!(TEXTS, "before output");

/// Words before a count of input tokens.
const BEFORE_INPUT: &[&str] = listed!(TEXTS, "before input");

/// Words before a count of all tokens of a request.
const BEFORE_TOTAL: &[&str] = listed!(TEXTS, "before total");

/// Words before a limit.
const BEFORE_LIMIT: &[&str] = listed!(TEXTS, "before limit");

/// Words after a limit.
const AFTER_LIMIT: &[&str] = listed!(TEXTS, "after limit");

/// Words after a count that is larger than the limit after them.
const EXCEEDING: &[&str] = listed!(TEXTS, "exceeding");

/// Text between a count and the limit that it exceeds.
const COMPARISONS: &[&str] = listed!(TEXTS, "comparisons");

/// Text between a limit and the count that exceeds it.
const FINDINGS: &[&str] = listed!(TEXTS, "findings");

/// Words before a limit, with the name of a model in between.
const NAMED_LIMIT: &str = "maximum context length of";

/// Units of numbers that do not count tokens.
const OTHER_UNITS: &[&str] = listed!(TEXTS, "other units");

/// Names of the parameter that limits the output.
const OUTPUT_PARAMETERS: &[&str] = listed!(TEXTS, "output parameters");

/// Words for the input. `message` alone is not one of them: every JSON error has one.
const INPUT_WORDS: &[&str] = listed!(TEXTS, "input words");

/// Words that say that there is too much of something.
const EXCESS: &[&str] = listed!(EVERY, "overflow: excess");

/// Words for the window of a model or its whole content.
const WINDOW: &[&str] = listed!(EVERY, "overflow: window");

/// Words for the content of a conversation. They mean the window together with [`OF_MODELS`].
const CONVERSATION: &[&str] = listed!(EVERY, "overflow: conversation");
/// Words for what a model counts. They mean the window together with a number or one of [`LIMITS`].
const TOKENS: &[&str] = listed!(EVERY, "overflow: tokens");
const LIMITS: &[&str] = listed!(EVERY, "overflow: limits");

/// Words for what a model reads.
const DIALOGUES: &[&str] = listed!(EVERY, "overflow: dialogues");
/// Words that say, without a limit, that it is too long.
const LENGTHS: &[&str] = listed!(EVERY, "overflow: lengths");

/// Words for a whole request, in whatever unit its size is counted.
const BODIES: &[&str] = listed!(TEXTS, "bodies");
/// Words that say that a request is too large.
const BODY_EXCESS: &[&str] = listed!(TEXTS, "body excess");

/// Words that ask for less of something.
const REDUCTIONS: &[&str] = listed!(TEXTS, "reductions");
/// What a model reads, as such a sentence names it.
const REDUCED: &[&str] = listed!(TEXTS, "reduced");
/// Maximum distance in bytes of a thing from the word that asks for less of it.
const NEAR_OBJECT: usize = 40;
const SIZES: &[&str] = listed!(TEXTS, "sizes");

/// Maximum distance in bytes between a dialogue and the word that says that it is too long.
const NEAR_LENGTH: usize = 60;
/// Signs of another name between them.
const OTHER_NAMES: &[&str] = listed!(TEXTS, "other names");

/// Words for a lower limit.
const MINIMA: &[&str] = listed!(TEXTS, "minima");

/// Words that distinguish the limit of a model from other limits.
const OF_MODELS: &[&str] = listed!(EVERY, "overflow: of models");

/// Words that name another thing besides the one that is too large.
const ASIDES: &[&str] = listed!(TEXTS, "asides");

/// Units of numbers that count characters.
const CHARACTERS: &[&str] = listed!(TEXTS, "characters");

/// Words for other things that are too large, which no smaller context cures. Such errors name the
/// thing in the same sentence.
const OTHER_THINGS: &[&str] = listed!(EVERY, "overflow: other things");

/// Pieces of codes that say that there is too much of something.
const CODE_EXCESS: &[&str] = listed!(TEXTS, "code excess");

/// Pieces of codes that mean the window of a model, and nothing else.
const CODE_CONTEXTS: &[&str] = listed!(TEXTS, "code contexts");

/// Pieces of codes that mean the window of a model.
const CODE_WINDOWS: &[&str] = listed!(TEXTS, "code windows");

/// Pieces of codes that mean the content of a request. The exceeded limit may also be one on requests.
const CODE_CONTENTS: &[&str] = listed!(TEXTS, "code contents");

/// Pieces of codes for other things that are too large.
const CODE_OTHERS: &[&str] = listed!(TEXTS, "code others");

/// Introductions that frameworks put before any error of a request. They do not refer to the input.
const INTRODUCTIONS: &[&str] = listed!(TEXTS, "introductions");

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::json::Json;

    fn lines(text: &str) -> Vec<Json<'_>> {
        let lines = text.lines().filter(|line| !line.is_empty());
        lines.map(|line| Json::parse(line).expect("a line of the fixture is JSON")).collect()
    }

    fn string<'a>(line: &'a Json<'_>, key: &str) -> Option<&'a str> {
        line.get(key).and_then(Json::as_str)
    }

    /// The texts of this project: what providers document and what users reported, all with invented numbers.
    const FIXTURES: [&str; 3] = [
        include_str!("../fixtures/error-texts.jsonl"),
        include_str!("../fixtures/error-texts-field.jsonl"),
        include_str!("../fixtures/error-texts-other.jsonl"),
    ];

    /// docs/field-reports.md, "Overflow texts".
    #[test]
    fn every_text_of_the_fixtures_has_its_class() {
        let mut wrong = Vec::new();
        for line in FIXTURES.into_iter().flat_map(lines) {
            let message = string(&line, "errorMessage").expect("a line has a text");
            let provider = string(&line, "provider");
            let class = classify(provider, message).name();
            if Some(class) != string(&line, "class") {
                wrong.push(format!("{class}, not {:?}: {provider:?} {message}", string(&line, "class")));
            }
            for shouted in [message.to_uppercase(), message.to_lowercase()] {
                assert_eq!(classify(provider, &shouted).name(), class, "{shouted}");
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn shared_texts_are_classified() {
        let mut wrong = Vec::new();
        for name in ["overflow-messages.jsonl", "overflow-messages-2.jsonl"] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
            let Ok(text) = std::fs::read_to_string(&path) else {
                eprintln!("skipped: no texts at {}", path.display());
                continue;
            };
            for line in lines(&text) {
                let message = string(&line, "errorMessage").expect("a line has a text");
                let expected = line.get("overflow").and_then(Json::as_bool);
                if Some(is_overflow(string(&line, "provider"), message)) != expected {
                    wrong.push(format!("not {expected:?}: {message}"));
                }
                let limit = line.get("window").and_then(Json::as_f64).map(|number| number as u64);
                let named = refused_size(string(&line, "provider"), message).and_then(|numbers| numbers.limit);
                if limit.is_some() && expected == Some(true) && named != limit {
                    wrong.push(format!("limit {named:?}, not {limit:?}: {message}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Changes by gateways, libraries and other models do not change the class of a text.
    #[test]
    fn variants_of_a_text_have_its_class() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/overflow-messages.jsonl");
        let shared = std::fs::read_to_string(&path).unwrap_or_default();
        let mut checked = 0;
        for (line_number, line) in lines(&[FIXTURES.concat(), shared].concat()).into_iter().enumerate() {
            let message = string(&line, "errorMessage").expect("a line has a text");
            let provider = string(&line, "provider");
            let class = classify(provider, message);
            // Of nine variants one; over all texts, each variant is met.
            let start = line_number % 9;
            for variant in variants(message).into_iter().skip(start).step_by(9) {
                assert_eq!(classify(provider, &variant), class, "{provider:?} {message}\n{variant}");
                checked += 1;
            }
        }
        assert!(checked > 1000, "{checked}");
    }

    fn variants(message: &str) -> Vec<String> {
        let numbers = |separator: &str| with_numbers(message, |digits| grouped(digits, separator));
        let mut texts: Vec<String> = [",", ".", "_", " ", "\u{202f}", "\u{a0}", "'"].map(numbers).into();
        texts.push(with_numbers(message, |digits| format!("{}7", &digits[..digits.len() - 1])));
        texts.push(message.replace("gpt-5", "acme/Model-4.1:free").replace("model's", "model\u{2019}s"));
        texts.push(message.replace(' ', "  ").replace(". ", ".\r\n"));
        // The client itself reports an answer without a body, so nothing wraps it.
        if !message.contains("(no body)") && !message.is_empty() {
            let json = crate::json::encode_string(message);
            let twice = crate::json::encode_string(&format!("{{\"error\":{{\"message\":{json}}}}}"));
            texts.push(format!("Error: {message}"));
            texts.push(format!("Provider returned error: {message} (request id req_0123456789abcdef)"));
            texts.push(format!("litellm.APIError: APIError: OpenAIException - {message}"));
            texts.push(format!("{{\"error\":{{\"message\":{json},\"type\":\"invalid_request_error\"}}}}"));
            texts.push(format!("{{\n  \"error\" : {{\n    \"message\" : {json}\n  }}\n}}"));
            texts.push(format!("{{\"message\":{twice}}}"));
        }
        texts.extend(texts.iter().map(|text| text.to_uppercase()).collect::<Vec<_>>());
        // Most texts have no number, so that many variants are the same.
        texts.sort_unstable();
        texts.dedup();
        texts
    }

    /// `message` with other numbers of four and more digits. Codes in quotation marks do not change.
    fn with_numbers(message: &str, change: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        let mut rest = message;
        while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
            let length = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
            let (before, digits) = (&rest[..start], &rest[start..start + length]);
            let after = &rest[start + length..];
            let is_number = length >= 4 && !before.ends_with([',', '-', '"', '_']) && !after.starts_with([',', '-']);
            out.push_str(before);
            out.push_str(&if is_number { change(digits) } else { digits.to_owned() });
            rest = after;
        }
        out + rest
    }

    fn grouped(digits: &str, separator: &str) -> String {
        let (head, tail) = digits.split_at(digits.len() % 3);
        let groups = (0..tail.len() / 3).map(|group| &tail[group * 3..group * 3 + 3]);
        let parts: Vec<&str> = std::iter::once(head).filter(|head| !head.is_empty()).chain(groups).collect();
        parts.join(separator)
    }

    #[test]
    fn retries_only_what_may_pass() {
        let classes = [ErrorClass::RateLimit, ErrorClass::Overloaded];
        assert!(classes.iter().all(|class| class.is_retryable()));
        let classes = [ErrorClass::Overflow, ErrorClass::Quota, ErrorClass::Authentication, ErrorClass::Other];
        assert!(!classes.iter().any(|class| class.is_retryable()));
    }

    /// docs/field-reports.md, "Overflow texts".
    #[test]
    fn reads_the_numbers_that_a_provider_names() {
        let check = |text: &str, limit: Option<u64>, input: Option<u64>, output: Option<u64>| {
            let numbers = Reported::of(text);
            assert_eq!((numbers.limit, numbers.input, numbers.output), (limit, input, output), "{text}");
        };
        check(
            "you requested about 284283 tokens (8963 of text input, 13176 of tool input, 262144 in the output)",
            None,
            Some(22_139),
            Some(262_144),
        );
        check(
            "requested 1,051,540 tokens (1,051,539 in the messages, 1 in the completion).",
            None,
            Some(1_051_539),
            Some(1),
        );
        check("exceed context limit: 175272 + 32000 > 200000, decrease", Some(200_000), Some(175_272), Some(32_000));
        check("exceed context limit: 175272   32000 > 200000, decrease", Some(200_000), Some(175_272), Some(32_000));
        check("exceed context limit: 175\u{202f}272 + 32 000 > 200 000", Some(200_000), Some(175_272), Some(32_000));
        check(
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens \
             and your request has 1024 input tokens (8192 > 8192 - 1024).",
            Some(8192),
            Some(1024),
            Some(8192),
        );
        check("you requested about 140012 tokens.", None, None, None);
        check("prompt is too long: 213462 tokens > 200000 maximum", Some(200_000), Some(213_462), None);
        check("99999999999999999999999 in the messages, 1 in the completion", None, Some(u64::MAX), Some(1));
        check("Maximum request body size 2097152 exceeded, actual body size 2100017 bytes", None, None, None);
        check("", None, None, None);
    }

    #[test]
    fn the_fixtures_name_their_numbers() {
        let mut wrong = Vec::new();
        for line in FIXTURES.into_iter().flat_map(lines) {
            let message = string(&line, "errorMessage").expect("a line has a text");
            let numbers = Reported::of(message);
            let found = [numbers.limit, numbers.input, numbers.output, numbers.total];
            for (member, found) in ["limit", "input", "output", "total"].into_iter().zip(found) {
                let expected = line.get(member).and_then(Json::as_f64).map(|number| number as u64);
                if expected.is_some() && found != expected {
                    wrong.push(format!("{member} {found:?}, not {expected:?}: {message}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn of_a_long_text_both_ends_are_read() {
        let page = "\u{fc} 1 ".repeat(2_000_000);
        assert!(!is_overflow(None, &page));
        assert!(is_overflow(None, &format!("prompt is too long {page}")));
        assert!(is_overflow(None, &format!("{page} prompt is too long")));
    }

    #[test]
    fn a_request_whose_output_fills_the_window_is_not_cured_by_a_smaller_context() {
        let check = |limit, output, expected| {
            let numbers = Reported { limit: Some(limit), output: Some(output), ..Reported::default() };
            assert_eq!(numbers.is_curable(), expected, "{limit} {output}");
        };
        check(200_000, 64_000, true);
        check(200_000, 128_000, true);
        check(131_072, 131_072, false);
        check(131_072, 128_000, false);
        assert!(Reported::default().is_curable());
    }
}
