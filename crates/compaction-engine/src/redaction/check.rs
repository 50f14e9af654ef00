//! Distinguishes secrets from other texts of the same form.

use std::ops::Range;

use compaction_core::phrases::{Table, listed, table};
use serde::Deserialize;

/// The condition that a match must meet besides its pattern. The table of rules has these names in lower case, with
/// hyphens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Check {
    /// No condition.
    None,
    /// The match is the block of a private key.
    PrivateKey,
    /// The match is not part of a longer word, as occurs by chance in encoded data, and is not an invented token of a
    /// document.
    Issued,
    /// The digits are the PIN of a person or a card, judging by the words before the label and by the spelling.
    Pin,
    /// The value is not a placeholder.
    NoPlaceholder,
    /// The value is neither a placeholder nor a word: it has digits, symbols, or the mixed case of encoded data.
    Credential,
    /// The value has a digit or a symbol and is neither a path nor an identifier of a program.
    Password,
    /// As `Password`, after a name that is not part of another word.
    NamedPassword,
    /// The value of an environment variable, where words are passwords as well.
    VariablePassword,
    /// The random value of an environment variable, with any symbols.
    VariableSecret,
    /// The value looks like a password and ends the line that begins with the name.
    LinePassword,
    /// A word, assigned to a name that says password as it is in configurations.
    WordPassword,
    /// The value of a configuration line that only contains a password.
    ConfiguredPassword,
    /// The password after the number of its kind in the configuration of a device.
    DevicePassword,
    /// The value of an option of a command line.
    OptionPassword,
    /// The password of OpenSSL's options.
    OpenSslPassword,
    /// The value looks random.
    Random,
    /// As `Random`, after the name of a secret.
    NamedSecret,
    /// As `Random`, for a secret in a sentence.
    SaidSecret,
    /// As `NamedSecret`, for a secret right after its name in a sentence.
    SpokenSecret,
    /// A password that a person chose, in a sentence.
    SaidPassword,
    /// As `SaidPassword`, after the name of a user.
    Chosen,
    /// A password of several words, in quotes.
    PhrasePassword,
    /// As `Random`, at the end of a command of few words.
    CommandSecret,
    /// One of the texts in quotes looks random or chosen.
    Arguments,
    /// The value looks random, is a whole word, and is not the number of a hash.
    Prefixed,
    /// As `Random`, for the value of a command-line option.
    OptionSecret,
    /// A short value that a person chose.
    ShortSecret,
    /// A user name and a password, encoded in base64.
    BasicAuth,
    /// The value of one of the pairs looks random.
    Cookie,
    /// The value looks random and is not a UUID.
    SessionCookie,
}

/// A match: the text, the position of the keyword, and the range of the secret.
#[derive(Debug, Clone)]
pub(super) struct Found<'t> {
    pub(super) text: &'t str,
    pub(super) keyword: usize,
    pub(super) secret: Range<usize>,
}

/// Bytes after the beginning of a match in which it must be visible; the match itself may be longer. This keeps texts
/// without line breaks from being read again at every keyword.
const TOKEN_REACH: usize = 1024;
const VALUE_REACH: usize = 256;

/// Maximum bytes of a name.
const MAX_NAME: usize = 48;

/// Maximum bytes of a password that a person would choose.
const MAX_PASSWORD: usize = 200;

pub(super) const WORD_TABLE: Table = table!("words.txt");

/// Placeholders for secrets, also within longer words.
const PLACEHOLDERS: &[&str] = listed!(WORD_TABLE, "placeholders");
/// Words that are not secret, even with digits and symbols around them.
const WORDS: &[&str] = listed!(WORD_TABLE, "words");
/// Words after a name for a password that are not passwords: what it is, what it must be, its name in other languages,
/// types, and words of programs.
const NO_PASSWORDS: &[&str] = listed!(WORD_TABLE, "no passwords");
/// Parts of such words.
const NO_PASSWORD_PARTS: &[&str] = listed!(WORD_TABLE, "no password parts");
/// Words before `password` in names of texts about passwords.
const LABELS: &[&str] = listed!(WORD_TABLE, "labels");
/// Maximum bytes before a name on its line that are looked at.
const MAX_LINE_PREFIX: usize = 120;
/// Words before `KEY` in names of variables that are not secret.
const OPEN_KEYS: &[&str] = listed!(WORD_TABLE, "open keys");
/// Words before `key` in the name of a secret key.
const KEY_OWNERS: &[&str] = listed!(WORD_TABLE, "key owners");
/// Words before `pass` and `pw` in names of passwords that are written as one word.
const PASSWORD_OWNERS: &[&str] = listed!(WORD_TABLE, "password owners");
/// Words of sentences, which are not part of a password of several words.
const SENTENCE_WORDS: &[&str] = listed!(WORD_TABLE, "sentence words");
/// Verbs between a name and its value.
pub(super) const VERBS: &[&str] = listed!(WORD_TABLE, "verbs");
/// Words before the name of a user.
const USERS: &[&str] = listed!(WORD_TABLE, "users");
/// Words before `pin` in labels of the PIN of a person or a card.
const PIN_OWNERS: &[&str] = listed!(WORD_TABLE, "pin owners");
/// Words before `pin` in labels of pins of hardware and of versions.
const HARDWARE: &[&str] = listed!(WORD_TABLE, "hardware and versions");
/// Words before `token` in names of tokens that are not secret, such as positions in a list.
const OPEN_TOKENS: &[&str] = listed!(WORD_TABLE, "open tokens");

impl Check {
    /// The longest [`Check::reach`].
    pub(super) const LONGEST_REACH: usize = TOKEN_REACH;

    /// Bytes after the beginning of a match in which it must be visible.
    pub(super) fn reach(self) -> usize {
        if self == Self::Issued { TOKEN_REACH } else { VALUE_REACH }
    }

    /// Whether a match at `keyword` may pass, judging by the text before its value.
    pub(super) fn may_pass(self, text: &str, keyword: usize) -> bool {
        let found = Found { text, keyword, secret: keyword..keyword };
        match self {
            Self::NamedPassword | Self::WordPassword => names_password(&found),
            Self::VariablePassword | Self::VariableSecret => is_upper_from(text, keyword),
            Self::LinePassword => is_word_of_name(&found) && begins_line(&found),
            Self::SaidPassword => is_said(&found),
            Self::OptionPassword | Self::OptionSecret => is_option(&found),
            Self::NamedSecret | Self::ShortSecret | Self::SpokenSecret => names_secret(&found),
            _ => true,
        }
    }

    /// Whether [`Check::may_pass`] passes everywhere.
    pub(super) fn may_always_pass(self) -> bool {
        !matches!(
            self,
            Self::NamedPassword
                | Self::WordPassword
                | Self::VariablePassword
                | Self::VariableSecret
                | Self::LinePassword
                | Self::OptionPassword
                | Self::OptionSecret
                | Self::NamedSecret
                | Self::ShortSecret
                | Self::SpokenSecret
                | Self::SaidPassword
        )
    }

    /// Whether the match passes. A match that `is_cut` continues beyond the visible part.
    pub(super) fn passes(self, found: &Found<'_>, is_cut: bool) -> bool {
        let (secret, after) = (&found.text[found.secret.clone()], &found.text[found.secret.end..]);
        let is_value = || !is_placeholder(secret);
        let is_password = || {
            is_value()
                && !is_code(secret, after)
                && (is_unlike_words(secret)
                    || secret.len() >= 16 && longest_run(secret) == secret.len() && !is_name(secret))
        };
        let is_random = || is_value() && !is_code(secret, after) && looks_random(secret);
        match self {
            Self::None | Self::PrivateKey => true,
            Self::Pin => is_pin(found),
            Self::Issued => (is_cut || is_whole(found)) && !is_made_up(secret),
            Self::NoPlaceholder => is_value(),
            Self::Credential => is_value() && (is_unlike_words(secret) || is_encoded(secret)),
            Self::Password => is_password(),
            Self::NamedPassword => {
                secret.len() <= MAX_PASSWORD && names_password(found) && is_password() && !is_described(secret)
            }
            Self::VariablePassword => {
                is_variable(found)
                    && is_value()
                    && !is_code(secret, "")
                    && (is_unlike_words(secret) || secret.len() >= 10)
                    && secret.contains(|character: char| character.is_ascii_alphabetic())
            }
            Self::VariableSecret => {
                is_variable(found)
                    && (names_secret(found) || names_variable_key(found))
                    && (is_generated(secret)
                        || is_value()
                            && (looks_random(secret) || is_dense(secret) || is_mixed(secret) || is_chosen(secret)))
            }
            Self::LinePassword => {
                is_password() && is_word_of_name(found) && begins_line(found) && ends_value(after, secret)
            }
            Self::WordPassword => names_password(found) && is_word_password(found, secret, after),
            Self::ConfiguredPassword => {
                // `{SSHA}` and the like say how the password is hashed.
                let is_hashed = secret.starts_with('{') && secret.find('}').is_some_and(|end| end + 8 < secret.len());
                (is_hashed || is_value() && !is_code(secret, after))
                    && !is_no_password(secret)
                    && ends_value(after, secret)
            }
            Self::DevicePassword => {
                (is_unlike_words(secret) || secret.starts_with('$'))
                    && !is_code(secret, after)
                    && !PLACEHOLDERS.iter().any(|word| secret.contains(word))
                    && ends_value(after, secret)
            }
            Self::OptionPassword => is_option(found) && is_password(),
            Self::OpenSslPassword => {
                found.text[..found.keyword].trim_end_matches(['i', 'n', 'o', 'u', 't', ' ', '=']).ends_with("-pass")
                    && is_value()
            }
            Self::Random => is_random(),
            Self::NamedSecret => {
                let is_quoted = found.text[..found.secret.start].ends_with(['"', '\'']);
                names_secret(found)
                    && (is_quoted && is_generated(secret)
                        || is_value() && !is_code(secret, after) && is_mixed(secret)
                        || (is_quoted || ends_value(after, secret)) && is_value() && replacing_digits(secret) >= 2
                        || is_random())
            }
            Self::SaidSecret => is_random() && (names_secret(found) || !is_hex(secret)),
            Self::SpokenSecret => names_secret(found) && is_random(),
            Self::SaidPassword => {
                is_said(found)
                    && is_password()
                    && (is_chosen(secret)
                        || secret.len() >= 6
                            && (follows_user(found) || is_quoted(found, after) || is_expected(found, secret))
                            && !has_no_password(secret))
            }
            Self::Chosen => is_password() && is_chosen(secret),
            Self::PhrasePassword => {
                (8..=64).contains(&secret.len())
                    && is_value()
                    && (is_phrase(secret) && names_phrase(found, secret)
                        || is_variable_phrase(found, secret)
                        || is_word_phrase(found, secret))
            }
            Self::CommandSecret => is_random() && ends_command(found, after),
            Self::Arguments => {
                // After the name of a server or of a user, a password is expected.
                let before = &found.text[found.keyword..found.secret.start];
                // Two texts may also be the names of the two connected things.
                let commas = before.matches(',').count() + secret.matches(',').count();
                let names_two = before.get(..7).is_some_and(|name| name.eq_ignore_ascii_case("connect"))
                    && commas < 2
                    && !before.contains("user");
                let may_be_chosen = (before.contains(['"', '\'', '$']) || secret.contains(',')) && !names_two;
                secret.split(['"', '\'']).any(|text| {
                    !is_placeholder(text)
                        && !is_code(text, "")
                        && (looks_random(text) && !is_hyphenated(text)
                            || may_be_chosen
                                && (is_chosen(text)
                                    || text.len() >= 10 && is_unlike_words(text) && !has_no_password(text)))
                })
            }
            Self::Prefixed => is_whole_behind(found) && !is_hex(secret) && is_random(),
            Self::OptionSecret => {
                is_option(found)
                    && is_value()
                    && !is_code(secret, after)
                    && is_unlike_words(secret)
                    && count(secret, |byte| byte.is_ascii_digit()) >= 2
            }
            Self::ShortSecret => {
                let signs = count(secret, |byte| {
                    byte.is_ascii_punctuation() && !matches!(byte, b'-' | b'_' | b'.' | b'/' | b':')
                });
                names_secret(found)
                    && is_password()
                    && !secret.to_ascii_lowercase().contains("secret")
                    && count(secret, |byte| byte.is_ascii_digit()) >= 2
                    && (signs > 0
                        || numbers(secret) >= 3
                        || replacing_digits(secret) >= 2
                        || count(secret, |byte| byte.is_ascii_uppercase()) > 0)
            }
            Self::BasicAuth => is_basic_auth(secret),
            Self::Cookie => secret
                .split([';', '&'])
                .filter_map(|pair| pair.split_once('='))
                .any(|(_, value)| looks_random(value) || is_dense(value)),
            Self::SessionCookie => (is_random() || is_dense(secret)) && !is_hyphenated(secret),
        }
    }
}

/// Whether a label means the PIN of a person or a card. Pins of hardware and of versions are also written with a colon,
/// but have less than four digits, no owner, and small letters.
fn is_pin(found: &Found<'_>) -> bool {
    let label = &found.text[found.keyword..found.secret.start];
    let before = line_before(found.text, found.keyword);
    let joint = before.trim_end_matches(|character: char| !character.is_alphanumeric());
    let gap = &before[joint.len()..];
    let (owner, is_owned) = match joint.strip_suffix("'s").or_else(|| joint.strip_suffix("\u{2019}s")) {
        Some(owner) if gap == " " => (owner, true),
        _ => (joint, false),
    };
    let owner = owner.rsplit(|character: char| !character.is_alphanumeric()).next().unwrap_or_default();
    // A word in front of the label is its owner if nothing ends a sentence or a value between them.
    let owner = if matches!(gap, "" | " " | "_" | "-") { owner.to_lowercase() } else { String::new() };
    if HARDWARE.contains(&owner.as_str()) {
        return false;
    }
    let is_name = gap.is_empty() && !owner.is_empty() || gap == "_";
    let in_capitals = label.starts_with("PIN");
    let is_text = label.ends_with(['"', '\'']);
    PIN_OWNERS.contains(&owner.as_str()) || is_owned || !is_name && (in_capitals || is_text)
}

/// The text before a place on its line, as far as it is examined.
fn line_before(text: &str, at: usize) -> &str {
    // A long line is searched again for each match, so only its end is.
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_LINE_PREFIX))..at];
    near.rsplit(['\r', '\n']).next().unwrap_or_default()
}

/// Whether no letter, digit or underscore touches the match.
fn is_whole(found: &Found<'_>) -> bool {
    !found.text[..found.secret.start].ends_with(is_word_part) && is_whole_behind(found)
}

/// Whether no letter, digit or underscore follows the match.
fn is_whole_behind(found: &Found<'_>) -> bool {
    !found.text[found.secret.end..].starts_with(is_word_part)
}

fn is_word_part(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

fn is_hex(secret: &str) -> bool {
    secret.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a token is made up for a document: filled with one letter, or named an example.
fn is_made_up(secret: &str) -> bool {
    let lower = secret.to_ascii_lowercase();
    ["xxxxxx", "......", "******", "0000000000", "example", "your"].iter().any(|word| lower.contains(word))
        || entropy(secret) < 2.5
}

fn is_placeholder(secret: &str) -> bool {
    let text = secret.to_ascii_lowercase();
    let word = text.trim_matches(|character: char| !character.is_alphabetic());
    let is_hash = text.len() == 41 && text.starts_with('*') && is_hex(&text[1..]);
    text.starts_with(['$', '%', '{', '<', '*', '[', '!']) && !is_hash
        || PLACEHOLDERS.iter().any(|word| text.contains(word))
        || WORDS.contains(&word)
        || text.contains("${")
        || text.contains("{{")
}

/// Whether a value is a path, a call, an option or an expression.
fn is_code(secret: &str, after: &str) -> bool {
    after.starts_with(['(', '[', '{', '<']) && !after.starts_with("</")
        || secret.starts_with(['~', '.', '-', '(', '\\', '&'])
        || secret.starts_with('/') && !(secret.ends_with('=') && secret.len().is_multiple_of(4))
        || secret.contains("://")
        || secret.contains("::")
        || secret.contains('|') && secret.contains(':')
        || secret.ends_with(['(', '[', '{'])
        || ["self.", "this.", "args.", "config.", "request.", "options.", "params.", "opts."]
            .iter()
            .any(|start| secret.starts_with(start))
        || (secret.contains('(') && secret.ends_with([')', ';', ',']))
}

/// The forms of keys that services draw, from common to rare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Drawn {
    /// A UUID or a short hexadecimal number, as records have too.
    Short,
    /// A long hexadecimal number, as hashes are too.
    Hex,
    /// Letters and digits.
    Letters,
    /// Letters of both cases and digits.
    Mixed,
}

/// The form of a value, if it may be a key that a service draws, and no name of a program.
pub(super) fn drawn_key(value: &str) -> Option<Drawn> {
    let digits = count(value, |byte| byte.is_ascii_digit());
    if digits == value.len() {
        return None;
    }
    // UUIDs, and ids of traces.
    if value.contains('-') && value.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-') {
        return Some(Drawn::Short);
    }
    if is_hex(value.strip_prefix("0x").unwrap_or(value)) {
        return Some(if value.len() >= 32 { Drawn::Hex } else { Drawn::Short });
    }
    // Words before a hash: `cache-linux-9fceb02d…`.
    let mut words = value.rsplit(['-', '_']);
    if words.next().is_some_and(|last| last.len() >= 32 && is_hex(last)) && words.count() >= 2 {
        return Some(Drawn::Hex);
    }
    if digits < 2 {
        return (!is_name(value) && is_mixed(value)).then_some(Drawn::Mixed);
    }
    // A name has its number at one place.
    let numbers = numbers(value);
    if numbers < 2 && is_name(value) && !is_one_case(value) || !looks_random(value) {
        return None;
    }
    if is_encoded(value) {
        return Some(Drawn::Mixed);
    }
    let has_words = || value.contains(|character: char| character.is_ascii_uppercase()) && longest_small(value) > 7;
    let is_dense = is_one_case(value)
        || numbers >= 2 && !has_words() && longest_run(value) >= 16 && digits * 8 >= longest_run(value);
    is_dense.then_some(Drawn::Letters)
}

/// Whether a word is an ordinary word of sentences.
pub(super) fn is_sentence_word(word: &str) -> bool {
    SENTENCE_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a value is written for a document, in place of a key.
pub(super) fn is_for_show(value: &str) -> bool {
    is_placeholder(value) || is_made_up(value)
}

/// Whether a value is a word of small letters and digits.
fn is_one_case(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

/// Whether there is a letter, and a digit or a symbol that words do not have.
fn is_unlike_words(secret: &str) -> bool {
    let is_sign = |byte: u8| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'~');
    secret.contains(char::is_alphabetic) && count(secret, |byte| byte.is_ascii_digit() || is_sign(byte)) > 0
}

/// Whether a value of letters, and of digits by chance few, looks encoded.
fn is_dense(secret: &str) -> bool {
    longest_run(secret) >= 20 && is_encoded(secret) && count(secret, |byte| byte.is_ascii_digit()) >= 1
}

/// Whether a value says how a password is written: `base64-encoded`.
fn is_described(secret: &str) -> bool {
    let is_known = |word: &str| word.ends_with(|end: char| end.is_ascii_digit()) && NO_PASSWORDS.contains(&word);
    secret.contains('-') && secret.split('-').any(is_known)
}

/// Whether a value mixes letters of both cases as no name does, even with few digits.
fn is_mixed(secret: &str) -> bool {
    let digits = count(secret, |byte| byte.is_ascii_digit());
    let has_case = |is_case: fn(u8) -> bool| count(secret, is_case) >= 4;
    longest_run(secret) >= 16
        && (is_encoded(secret) && (digits >= 1 || longest_small(secret) <= 3)
            || digits >= 1
                && has_case(|byte| byte.is_ascii_lowercase())
                && has_case(|byte| byte.is_ascii_uppercase())
                && !is_name(secret))
}

/// Whether the letters of a value may be those of a name: it has words of small letters, and its capitals are not
/// adjacent.
fn is_name(value: &str) -> bool {
    let capitals = value.as_bytes().windows(2).filter(|pair| pair.iter().all(u8::is_ascii_uppercase)).count();
    longest_small(value) > 5 || capitals < 2
}

/// Length of the longest run of small letters.
fn longest_small(value: &str) -> usize {
    value.split(|character: char| !character.is_ascii_lowercase()).map(str::len).max().unwrap_or(0)
}

/// The number of numbers in a value.
fn numbers(value: &str) -> usize {
    value.split(|character: char| !character.is_ascii_digit()).filter(|number| !number.is_empty()).count()
}

/// Whether a value in a sentence must be a password: it has small letters and digits, and capitals, signs or parts, and
/// is not a name, version, date, path or word for what a password is.
fn is_chosen(secret: &str) -> bool {
    let has = |is_one: fn(u8) -> bool| count(secret, is_one) > 0;
    let signs =
        count(secret, |byte| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'~'));
    let last_digits = secret.bytes().rev().take_while(u8::is_ascii_digit).count();
    let has_parts = last_digits >= 3 && has(|byte| matches!(byte, b'-' | b'_'));
    let digits = count(secret, |byte| byte.is_ascii_digit());
    let replacing = replacing_digits(secret);
    (8..=64).contains(&secret.len())
        && has(|byte| byte.is_ascii_lowercase())
        && (digits >= 2
            || digits == 1
                && (signs + replacing > 0 || has(|byte| byte.is_ascii_uppercase()) && has(|byte| byte == b'_')))
        && (signs > 0 || has_parts || has(|byte| byte.is_ascii_uppercase()))
        && !has(|byte| matches!(byte, b'/' | b'=' | b':'))
        && (signs + replacing > 0 || !secret.trim_end_matches('.').contains('.') || is_word_and_number(secret))
        && !has_no_password(secret)
}

/// Whether a value is a word, a dot and a number, and so no name of a file, no version and no member of an object.
fn is_word_and_number(secret: &str) -> bool {
    secret.trim_end_matches('.').split_once('.').is_some_and(|(word, number)| {
        word.len() >= 5
            && word.bytes().all(|byte| byte.is_ascii_alphabetic())
            && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

/// Whether one of the words of a value says what a password is or must be.
fn has_no_password(secret: &str) -> bool {
    let mut words = secret.split(|character: char| !character.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    words.any(|word| NO_PASSWORDS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Number of digits in place of letters within a word, as people write passwords: `p4ssw0rd`.
fn replacing_digits(secret: &str) -> usize {
    let replaces = |part: &&[u8]| {
        part[0].is_ascii_alphabetic()
            && matches!(part[1], b'0' | b'1' | b'3' | b'4' | b'5' | b'7')
            && part[2].is_ascii_lowercase()
    };
    secret.as_bytes().windows(3).filter(replaces).count()
}

/// Whether a text of several words is a password: it has a digit or a sign, and is neither a sentence nor a label.
fn is_phrase(secret: &str) -> bool {
    let is_mixed = |word: &str| {
        let has = |is_one: fn(u8) -> bool| count(word, is_one) > 0;
        has(|byte| byte.is_ascii_digit())
            && has(|byte| byte.is_ascii_lowercase())
            && has(|byte| byte.is_ascii_uppercase() || matches!(byte, b'!' | b'@' | b'#' | b'$' | b'&' | b'*' | b'+'))
    };
    let words = || secret.split(' ');
    // Mail services issue four groups of four letters.
    let is_group = |word: &str| word.len() == 4 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    if words().count() == 4 && words().all(is_group) {
        return true;
    }
    (2..=10).contains(&words().count())
        && is_unlike_words(secret)
        && (words().any(is_mixed) || !secret.starts_with(char::is_uppercase))
        && looks_like_phrase(secret)
        && other_words(secret, &[NO_PASSWORDS, WORDS, SENTENCE_WORDS]) == 0
}

/// Number of words of a text that are among the `others`.
fn other_words(secret: &str, others: &[&[&str]]) -> usize {
    let is_other = |word: &&str| {
        let word = word.trim_matches(|character: char| !character.is_alphanumeric()).to_lowercase();
        others.iter().any(|words| words.contains(&&*word))
    };
    secret.split(' ').filter(is_other).count()
}

/// Whether a text of several words has no sign of a sentence or a program.
fn looks_like_phrase(secret: &str) -> bool {
    !secret.contains(['(', '{', '[', '<', '=', '/', '%', '|', ';', '"', '\'', '`', ',', ':'])
        && !secret.ends_with(['.', '?', ' '])
        && !secret.starts_with(' ')
}

/// Whether a text of several words is the value of an environment variable that is named as a password.
fn is_variable_phrase(found: &Found<'_>, secret: &str) -> bool {
    let name = name_before(found);
    let owner = name.trim_end_matches(['_', '-', '.']);
    let before = &found.text[..found.secret.start];
    (before.ends_with("=\"") || before.ends_with("='"))
        && is_variable(found)
        && is_upper_from(found.text, found.keyword)
        && names_password(found)
        && looks_like_phrase(secret)
        && other_words(secret, &[NO_PASSWORDS, WORDS]) * 3 < secret.split(' ').count()
        && !LABELS.iter().any(|label| owner.ends_with(label))
}

/// Whether a text of several words is the value in quotes of a name that says that it is one: `passphrase`.
fn is_word_phrase(found: &Found<'_>, secret: &str) -> bool {
    let is_named = found
        .text
        .get(found.keyword..)
        .is_some_and(|text| text.get(.."passphrase".len()).is_some_and(|name| name.eq_ignore_ascii_case("passphrase")));
    let is_word = |word: &str| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_named
        && found.text[..found.secret.start].ends_with(['"', '\''])
        && secret.split(' ').count() >= 3
        && secret.split(' ').all(is_word)
        && other_words(secret, &[NO_PASSWORDS, WORDS, SENTENCE_WORDS]) == 0
}

/// Whether the name before a text of several words is that of a password or, if the text is written like one, of a
/// secret. Without quotes, the name is `passphrase`.
fn names_phrase(found: &Found<'_>, secret: &str) -> bool {
    let keyword = &found.text[found.keyword..];
    let is_quoted = found.text[..found.secret.start].ends_with(['"', '\'']);
    let starts = |word: &str| keyword.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    match ["secret", "token", "key", "salt", "credential"].iter().any(|word| starts(word)) {
        true => is_quoted && replacing_digits(secret) > 0 && names_secret(found),
        false => names_password(found) && (is_quoted || starts("passphrase")),
    }
}

/// Whether a value is in quotes, and not an argument after a password.
fn is_quoted(found: &Found<'_>, after: &str) -> bool {
    let quote = |text: Option<char>| text.filter(|quote| matches!(quote, '"' | '\'' | '`'));
    let opening = quote(found.text[..found.secret.start].chars().next_back());
    opening.is_some()
        && opening == quote(after.chars().next())
        && !found.text[found.keyword..found.secret.start].contains(',')
}

/// Whether a value directly follows a verb or a colon and is written like a password, with letters of both cases.
fn is_expected(found: &Found<'_>, secret: &str) -> bool {
    let before = found.text[found.keyword..found.secret.start].trim_end_matches([' ', '\t', '"', '\'', '`', '*']);
    let last = before.rsplit([' ', '\t']).next().unwrap_or_default();
    let has = |is_one: fn(u8) -> bool| count(secret, is_one) > 0;
    let mut words = secret.split(|character: char| !character.is_ascii_alphabetic());
    (before.ends_with(':') || VERBS.contains(&last) || !before.contains([' ', '\t']))
        && secret.len() >= 8
        && has(|byte| byte.is_ascii_lowercase())
        && has(|byte| byte.is_ascii_uppercase())
        && !has(|byte| matches!(byte, b'/' | b'=' | b':'))
        && !words.any(is_no_password)
}

/// Whether the name of a user, with the word for it, comes before the name of the password.
fn follows_user(found: &Found<'_>) -> bool {
    let start = found.text.floor_char_boundary(found.keyword.saturating_sub(MAX_NAME));
    let before = found.text[start..found.keyword].rsplit('\n').next().unwrap_or_default();
    let words: Vec<&str> =
        before.split([' ', '\t', ',', ':', '"', '\'', '`']).filter(|word| !word.is_empty()).collect();
    let last = &words[words.len().saturating_sub(3)..];
    last.iter().any(|word| USERS.iter().any(|known| known.eq_ignore_ascii_case(word)))
}

/// Whether a table cell below the word for a password contains one.
pub(super) fn is_password_cell(cell: &str) -> bool {
    (4..=MAX_PASSWORD).contains(&cell.len())
        && !cell.contains([' ', '"', '\''])
        && !is_placeholder(cell)
        && !is_code(cell, "")
        && (is_chosen(cell) || is_unlike_words(cell) && !has_no_password(cell))
}

/// Whether a value ends a command that begins with a program and has few words before the value.
fn ends_command(found: &Found<'_>, after: &str) -> bool {
    let start = found.text.ceil_char_boundary(found.keyword.saturating_sub(MAX_NAME));
    let before = &found.text[start..found.keyword];
    let command = before.rsplit(['\n', '"', '\'', '`', '$', '>', '|', ';', '&', '#']).next().unwrap_or_default().trim();
    let is_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.' | b'/');
    (1..=2).contains(&command.split(' ').count())
        && !command.is_empty()
        && command.split(' ').all(|word| word.bytes().all(is_name))
        && (before.ends_with(' ') || before.ends_with('\t'))
        && (ends_value(after, "") || after.trim_start().starts_with(['-', ';', '\\']))
}

/// Whether a value is drawn from letters, digits and signs, as the secret keys of web frameworks are. Such a value may
/// begin with any sign.
fn is_generated(secret: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_punctuation() && !matches!(byte, b'-' | b'_' | b'.' | b'/' | b':');
    let has_digits = count(secret, |byte| byte.is_ascii_digit()) >= 2;
    secret.len() >= 40
        && has_digits
        && count(secret, is_sign) >= 4
        && entropy(secret) >= 4.0
        && secret.bytes().all(|byte| byte.is_ascii_graphic())
        && !secret.contains(['{', '}', '<', '>', '[', ']', '"', '\'', '|', ';', ','])
        && !["::", "://", "()", "&&", "->", "xxxx", "****", "your"].iter().any(|code| secret.contains(code))
}

/// Whether a word is an assigned password: a text in quotes, an element, a parameter of a URL, or the value of a line
/// of a configuration. In sentences, types and programs, the words after such a name are not passwords.
fn is_word_password(found: &Found<'_>, secret: &str, after: &str) -> bool {
    let name = name_before(found);
    let owner = name.trim_end_matches(['_', '-', '.']);
    if is_placeholder(secret) || is_no_password(secret) || LABELS.iter().any(|label| owner.ends_with(label)) {
        return false;
    }
    let before = &found.text[..found.secret.start];
    let joints = count(secret, |byte| matches!(byte, b'-' | b'_'));
    if before.ends_with(['"', '\'']) && !before.ends_with("\"\"") {
        let rest = after.get(1..).unwrap_or_default().trim_start_matches([' ', '\t']);
        let is_camel =
            secret.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        return (joints == 0 && !is_camel || joints >= 3)
            && (rest.is_empty()
                || rest.starts_with([',', ';', ')', '}', ']', '\n', '\r', '#', '/', '>', '"', '\'', '|', '`']));
    }
    if before.trim_end().ends_with('>') {
        return after.trim_start().starts_with("</");
    }
    joints == 0 && is_config_line(found, secret, after)
}

/// Whether a word without quotes is the value of a line of a configuration, or of a parameter.
fn is_config_line(found: &Found<'_>, secret: &str, after: &str) -> bool {
    let name = found.keyword - name_before(found).len();
    let operator = &found.text[found.keyword..found.secret.start];
    let is_tight = operator.ends_with('=') && !operator.contains([' ', '\t']);
    // A text may be one long line of such names.
    let before = &found.text[..name];
    let before = &before[before.ceil_char_boundary(name.saturating_sub(Check::LONGEST_REACH))..];
    let reach = (found.keyword + Check::LONGEST_REACH).saturating_sub(found.secret.end);
    let after = &after[..after.floor_char_boundary(reach)];
    if is_tight && before.ends_with(['?', '&']) {
        return after.is_empty() || after.starts_with(|next: char| next.is_whitespace() || "&#\"'<)".contains(next));
    }
    let opening = before.chars().next_back().filter(|opening| matches!(opening, '"' | '\'' | '`'));
    if is_tight && opening.is_some_and(|opening| after.starts_with(opening)) {
        return true;
    }
    let is_lower = secret.bytes().all(|byte| byte.is_ascii_lowercase()) && secret.len() >= 8;
    let is_name = secret.bytes().skip(1).all(|byte| byte.is_ascii_lowercase()) && secret.len() >= 10;
    let rest = after.trim_start_matches([' ', '\t']);
    let in_table = before.trim_end_matches([' ', '\t']).ends_with('|') && rest.starts_with('|');
    let ends = rest.is_empty() || rest.starts_with(['\n', '\r']) || rest.len() < after.len() && rest.starts_with('#');
    if !(is_lower || is_name) || !(ends && begins_line(found) || in_table && is_tight) {
        return false;
    }
    // The argument of a call.
    let line_start = before.rfind('\n').unwrap_or(0);
    let previous = before[..line_start].trim_end();
    let is_open = |line: &str| line.ends_with(['(', ',', '{', ')', ';', '[']);
    let next = rest.trim_start();
    if !operator.ends_with('=') && !operator.ends_with("= ") {
        return !is_open(previous) && !next.starts_with(['}', ')']);
    }
    let previous = previous.rsplit('\n').next().unwrap_or_default();
    let next = next.lines().next().unwrap_or_default();
    let is_setting = |line: &str| {
        let line = line.trim();
        line.is_empty()
            || line.starts_with(['#', ';', '['])
            || line.contains('=') && !line.contains(['(', ')', '{', '}', ';', '.'])
    };
    match is_tight {
        true => !is_open(previous) && !next.trim_start().starts_with([')', '}']),
        false => is_setting(previous) && is_setting(next),
    }
}

/// Whether only decoration comes before the name on its line: the name of a file, the number of the line, the sign of a
/// diff, `export`.
fn begins_line(found: &Found<'_>) -> bool {
    let name = found.keyword - name_before(found).len();
    let start = found.text.ceil_char_boundary(name.saturating_sub(MAX_LINE_PREFIX));
    let line = found.text[start..name].rsplit('\n').next().unwrap_or_default();
    if line.len() == name - start && start > 0 {
        return false;
    }
    let line = line.trim_end_matches(['"', '\'', '`', '*']);
    let word = line.trim();
    let is_listed = word.ends_with([':', '-'])
        && word.bytes().rev().skip(1).any(|byte| byte.is_ascii_digit())
        && !word.contains(' ');
    let is_file = word.ends_with(':') && word.contains(['.', '/']) && !word.contains(' ');
    matches!(word, "export" | "set" | "ENV" | "ARG" | "local")
        || is_listed
        || is_file
        || !word.contains(|character: char| character.is_alphabetic() || matches!(character, '(' | '=' | '{' | '|'))
}

/// Whether nothing follows a value but the end of its line, text, attribute or cell.
fn ends_value(after: &str, secret: &str) -> bool {
    let rest = after.trim_start_matches([' ', '\t']);
    !secret.ends_with([',', '.', ':', ';', '('])
        && (rest.is_empty() || rest.starts_with(['\n', '\r', '"', '\'', '`', '|', '&', '<', '#', '}']))
}

/// Whether a word says what a password is or must be, or is the name of a type or a variable.
fn is_no_password(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    NO_PASSWORDS.contains(&&*word) || NO_PASSWORD_PARTS.iter().any(|part| word.contains(part))
}

/// Whether upper and lower case alternate as in encoded data, and not as in identifiers.
fn is_encoded(secret: &str) -> bool {
    let cases: Vec<bool> =
        secret.chars().filter(|character| character.is_alphabetic()).map(char::is_uppercase).collect();
    let changes = cases.windows(2).filter(|pair| pair[0] != pair[1]).count();
    secret.ends_with('=') || changes * 3 >= cases.len().max(9)
}

fn looks_random(secret: &str) -> bool {
    let is_long = longest_run(secret) >= 12;
    let digits = count(secret, |byte| byte.is_ascii_digit());
    let signs = count(secret, |byte| byte.is_ascii_punctuation() && !matches!(byte, b'-' | b'_' | b'.' | b'/' | b':'));
    let has_letters = secret.contains(|character: char| character.is_ascii_alphabetic());
    let by_length = is_long && digits >= 2 && entropy(secret) >= 3.0;
    let by_signs =
        secret.len() >= 16 && digits + signs >= 4 && signs >= 1 && entropy(secret) >= 3.5 && !secret.contains("->");
    has_letters && (by_length || by_signs)
}

fn is_hyphenated(secret: &str) -> bool {
    secret.len() == 36 && secret.bytes().filter(|byte| *byte == b'-').count() == 4
}

/// Whether the keyword names a password in a sentence. `pass` is a verb there.
fn is_said(found: &Found<'_>) -> bool {
    let keyword = &found.text.as_bytes()[found.keyword..];
    let is_pass = keyword.len() >= 4
        && keyword[..4].eq_ignore_ascii_case(b"pass")
        && !keyword.get(4).is_some_and(u8::is_ascii_alphabetic);
    is_word_of_name(found) && !is_pass
}

/// The part of the name before the keyword, in lower case.
fn name_before(found: &Found<'_>) -> String {
    last_word(found, |byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')).to_ascii_lowercase()
}

/// The bytes before the keyword that meet `is_part`, up to the length of a name.
fn last_word<'t>(found: &Found<'t>, is_part: impl Fn(u8) -> bool) -> &'t str {
    let before = &found.text.as_bytes()[..found.keyword];
    let length = before.iter().rev().take(MAX_NAME).take_while(|byte| is_part(**byte)).count();
    &found.text[found.keyword - length..found.keyword]
}

/// Whether the keyword is a whole word of the name. In `bypass` and `compass`, `pass` is not.
fn is_word_of_name(found: &Found<'_>) -> bool {
    let before = found.text[..found.keyword].chars().next_back();
    let is_upper = found.text[found.keyword..].starts_with(char::is_uppercase);
    match before {
        Some(previous) if previous.is_lowercase() => is_upper,
        Some(previous) => !previous.is_uppercase() || is_upper,
        None => true,
    }
}

fn names_password(found: &Found<'_>) -> bool {
    let keyword = &found.text.as_bytes()[found.keyword..];
    // Long keywords are significant within other words too: `dbpassword`.
    let is_long = keyword.len() >= 5
        && (keyword[..5].eq_ignore_ascii_case(b"passw") || keyword[..5].eq_ignore_ascii_case(b"passp"));
    let name = name_before(found);
    let is_directory = name.ends_with("old") || name.is_empty();
    let is_pwd = keyword.len() >= 3 && keyword[..3].eq_ignore_ascii_case(b"pwd") && is_directory;
    let is_owned = || PASSWORD_OWNERS.iter().any(|owner| name.ends_with(owner));
    (is_long || is_word_of_name(found) || is_owned()) && !(is_pwd && found.text[found.secret.clone()].contains('/'))
}

fn names_secret(found: &Found<'_>) -> bool {
    let keyword = &found.text[found.keyword..];
    let name = name_before(found);
    let owner = name.trim_end_matches(['_', '-', '.']);
    let starts = |word: &str| keyword.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if starts("key") {
        // `API Key: …` in prose.
        let before = found.text[..found.keyword].trim_end().as_bytes();
        let follows = |word: &[u8]| {
            before.len().checked_sub(word.len()).is_some_and(|at| before[at..].eq_ignore_ascii_case(word))
        };
        return KEY_OWNERS.iter().any(|word| owner.ends_with(word))
            || (name.is_empty() && (follows(b"api") || follows(b"secret")));
    }
    if starts("salt") {
        return owner.ends_with("auth")
            || owner.ends_with("secure")
            || owner.ends_with("nonce")
            || owner.ends_with("in");
    }
    !(starts("token") && OPEN_TOKENS.iter().any(|word| owner.ends_with(word)))
}

/// Whether the keyword is the end of a variable like `SERVICE_KEY`, whose value is a key of a service if it looks random.
fn names_variable_key(found: &Found<'_>) -> bool {
    let name = name_before(found);
    let owner = name.strip_suffix('_').unwrap_or_default();
    let is_key = found.text[found.keyword..].starts_with("KEY");
    is_key && !owner.is_empty() && !OPEN_KEYS.iter().any(|word| owner.ends_with(word))
}

/// Whether the keyword is part of an environment variable: written in capitals and assigned.
fn is_variable(found: &Found<'_>) -> bool {
    let name = &found.text[found.keyword..found.secret.start];
    let name = name.trim_end_matches(['=', '"', '\'', ' ', '\t']);
    let owner = last_word(found, |byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let before = found.text[..found.keyword - owner.len()].trim_end_matches([' ', '\t']);
    let is_upper = |text: &str| !text.contains(|character: char| character.is_lowercase());
    let is_assigned = found.text[..found.secret.start].trim_end_matches(['"', '\'']).ends_with('=');
    let is_set = ["ENV", "ARG", "setenv"].iter().any(|word| before.ends_with(word));
    is_upper(name) && is_upper(owner) && is_word_of_name(found) && (is_assigned || is_set)
}

/// Whether the first two characters of the keyword are capitals. A variable has no small letter in its name, and all
/// keywords are longer than that.
fn is_upper_from(text: &str, keyword: usize) -> bool {
    let mut characters = text[keyword..].chars();
    characters.next().is_some_and(char::is_uppercase) && !characters.next().is_some_and(char::is_lowercase)
}

/// Whether the keyword ends the name of an option: `--password`, `-Password`.
fn is_option(found: &Found<'_>) -> bool {
    let name = name_before(found);
    let before = &found.text[..found.keyword - name.len()];
    name.starts_with('-') && !before.ends_with(|character: char| character.is_alphanumeric())
}

/// Whether the base64 text decodes to a text with a colon.
fn is_basic_auth(secret: &str) -> bool {
    let bytes = super::keys::decoded(secret.as_bytes());
    bytes.contains(&b':') && bytes.iter().all(|byte| byte.is_ascii_graphic())
}

fn longest_run(text: &str) -> usize {
    text.split(|character: char| !character.is_alphanumeric()).map(str::len).max().unwrap_or(0)
}

fn count(text: &str, is_one: impl Fn(u8) -> bool) -> usize {
    text.bytes().filter(|byte| is_one(*byte)).count()
}

/// Entropy in bits per byte.
fn entropy(secret: &str) -> f64 {
    let mut counts = [0u32; 256];
    for byte in secret.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let share = |count: &u32| f64::from(*count) / secret.len() as f64;
    counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum()
}
