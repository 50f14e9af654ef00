//! Distinguishes secrets from other texts of the same form, and finds blocks of private keys: PEM, PGP, SSH2 and PuTTY,
//! in files, in listings with line numbers, in diffs and in source code, even if one end is cut off.

use std::ops::Range;

/// The condition that a match must meet besides its pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Check {
    /// No condition.
    None,
    /// The match is the block of a private key.
    PrivateKey,
    /// The match is no part of a longer word, as occurs by chance in encoded data, and is no made-up token of a
    /// document.
    Issued,
    /// The value is no placeholder.
    NoPlaceholder,
    /// The value is no placeholder and no word: it has digits, symbols, or the mixed case of encoded data.
    Credential,
    /// The value has a digit or a symbol and is neither a path nor an identifier of a program.
    Password,
    /// As `Password`, after a name that is no part of another word.
    NamedPassword,
    /// The value of an environment variable, where words are passwords as well.
    VariablePassword,
    /// The random value of an environment variable, with any symbols.
    VariableSecret,
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
    /// As `Random`, for the value of a command-line option.
    OptionSecret,
    /// A short value that a person chose.
    ShortSecret,
    /// A user name and a password, encoded in base64.
    BasicAuth,
    /// The value of one of the pairs looks random.
    Cookie,
    /// The value looks random and is no UUID.
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

/// Placeholders for secrets, also within longer words.
const PLACEHOLDERS: &str = "\
    xxxx **** .... 0000000 1234567 your example placeholder changeme change-me change_me change-this replace insert_ \
    redacted dummy sample process.env environ getenv secrets. env. todo <";
/// Words that are no secret, even with digits and symbols around them.
const WORDS: &str = "\
    password passwd passwort passphrase pass pwd secret secrets mysecret token mytoken key mykey apikey credentials \
    changeit test testing testpassword testpass string str none null nil true false undefined hidden user username \
    admin root foo bar foobar text value required optional";
/// Words before `key` in the name of a secret key.
const KEY_OWNERS: &str = "\
    api access auth private secret signing encryption encrypt decryption master account storage shared sharedaccess \
    subscription service client app application license consumer bot deploy webhook session jwt hmac admin root db \
    database redis ssh function functions preshared pre_shared cookie aes host write ingest rest server security wp \
    logged_in";
/// Words before `token` in names of tokens that are not secret, such as positions in a list.
const OPEN_TOKENS: &str = "\
    next page nextpage next_page continuation continue cursor sync resume public pagination id_of";

impl Check {
    /// Bytes after the beginning of a match in which it must be visible.
    pub(super) fn reach(self) -> usize {
        if self == Self::Issued { TOKEN_REACH } else { VALUE_REACH }
    }

    /// Whether the match passes. A match that `is_cut` continues beyond the visible part.
    pub(super) fn passes(self, found: &Found<'_>, is_cut: bool) -> bool {
        let (secret, after) = (&found.text[found.secret.clone()], &found.text[found.secret.end..]);
        let is_value = || !is_placeholder(secret);
        let is_password = || is_value() && !is_code(secret, after) && is_unlike_words(secret);
        let is_random = || is_value() && !is_code(secret, after) && looks_random(secret);
        match self {
            Self::None | Self::PrivateKey => true,
            Self::Issued => (is_cut || is_whole(found)) && !is_made_up(secret),
            Self::NoPlaceholder => is_value(),
            Self::Credential => is_value() && (is_unlike_words(secret) || is_encoded(secret)),
            Self::Password => is_password(),
            Self::NamedPassword => secret.len() <= MAX_PASSWORD && names_password(found) && is_password(),
            Self::VariablePassword => {
                is_variable(found)
                    && is_value()
                    && !is_code(secret, "")
                    && (is_unlike_words(secret) || secret.len() >= 10)
                    && secret.contains(|character: char| character.is_ascii_alphabetic())
            }
            Self::VariableSecret => is_variable(found) && names_secret(found) && is_value() && looks_random(secret),
            Self::OptionPassword => is_option(found) && is_password(),
            Self::OpenSslPassword => {
                found.text[..found.keyword].trim_end_matches(['i', 'n', 'o', 'u', 't', ' ', '=']).ends_with("-pass")
                    && is_value()
            }
            Self::Random => is_random(),
            Self::NamedSecret => names_secret(found) && is_random(),
            Self::SaidSecret => {
                is_random() && (names_secret(found) || !secret.bytes().all(|byte| byte.is_ascii_hexdigit()))
            }
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
                    && (signs > 0 || count(secret, |byte| byte.is_ascii_uppercase()) > 0)
            }
            Self::BasicAuth => is_basic_auth(secret),
            Self::Cookie => {
                secret.split([';', '&']).filter_map(|pair| pair.split_once('=')).any(|(_, value)| looks_random(value))
            }
            Self::SessionCookie => is_random() && !is_hyphenated(secret),
        }
    }
}

/// Whether no letter, digit or underscore touches the match.
fn is_whole(found: &Found<'_>) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    !found.text[..found.secret.start].ends_with(is_word) && !found.text[found.secret.end..].starts_with(is_word)
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
    text.starts_with(['$', '%', '{', '<', '*', '[', '!'])
        || PLACEHOLDERS.split(' ').any(|word| text.contains(word))
        || WORDS.split(' ').any(|known| known == word)
        || text.contains("${")
        || text.contains("{{")
}

/// Whether a value is a path, a call, an option or an expression.
fn is_code(secret: &str, after: &str) -> bool {
    after.starts_with(['(', '[', '{', '<']) && !after.starts_with("</")
        || secret.starts_with(['/', '~', '.', '-', '(', '\\', '&'])
        || secret.contains("://")
        || secret.contains("::")
        || secret.contains('|') && secret.contains(':')
        || secret.ends_with(['(', '[', '{'])
        || ["self.", "this.", "args.", "config.", "request.", "options.", "params.", "opts."]
            .iter()
            .any(|start| secret.starts_with(start))
        || (secret.contains('(') && secret.ends_with([')', ';', ',']))
}

/// Whether there is a letter, and a digit or a symbol that words do not have.
fn is_unlike_words(secret: &str) -> bool {
    let is_sign = |byte: u8| matches!(byte, b'!' | b'@' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'~');
    secret.contains(char::is_alphabetic) && count(secret, |byte| byte.is_ascii_digit() || is_sign(byte)) > 0
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
    let is_directory = name_before(found).ends_with("old") || name_before(found).is_empty();
    let is_pwd = keyword.len() >= 3 && keyword[..3].eq_ignore_ascii_case(b"pwd") && is_directory;
    (is_long || is_word_of_name(found)) && !(is_pwd && found.text[found.secret.clone()].contains('/'))
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
        return KEY_OWNERS.split(' ').any(|word| owner.ends_with(word))
            || (name.is_empty() && (follows(b"api") || follows(b"secret")));
    }
    if starts("salt") {
        return owner.ends_with("auth")
            || owner.ends_with("secure")
            || owner.ends_with("nonce")
            || owner.ends_with("in");
    }
    !(starts("token") && OPEN_TOKENS.split(' ').any(|word| owner.ends_with(word)))
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

/// Whether the keyword ends the name of an option: `--password`, `-Password`.
fn is_option(found: &Found<'_>) -> bool {
    let name = name_before(found);
    let before = &found.text[..found.keyword - name.len()];
    name.starts_with('-') && !before.ends_with(|character: char| character.is_alphanumeric())
}

/// Whether the base64 text decodes to a text with a colon.
fn is_basic_auth(secret: &str) -> bool {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0u32, 0);
    for byte in secret.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        bits = (bits << 6 | u32::from(value)) & 0xffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
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

/// Minimum characters of a line of encoded data, except the last line of a block.
const MIN_LINE: usize = 16;
/// Minimum encoded characters of a block; a shorter text only mentions one.
const MIN_BLOCK: usize = 24;
/// Maximum bytes before and after the keyword in the first line of a block.
const MAX_MARKER: usize = 80;
/// Maximum bytes of a header line before the data.
const MAX_HEADER: usize = 200;
/// Maximum header lines before the data. PGP and SSH2 blocks have a few. A text in which nothing but such lines follows
/// each of many keywords is read again at every keyword, up to here.
const MAX_HEADERS: usize = 16;
/// Maximum bytes of a line of a block without its beginning.
const MAX_LINE: usize = 8 * 1024;
/// Maximum lines of a block without its beginning.
const MAX_LINES: usize = 400;

/// The block around the words `private key` or `private-lines` at `keyword`.
pub(super) fn block(text: &str, keyword: usize) -> Option<Range<usize>> {
    let before = &text[text.ceil_char_boundary(keyword.saturating_sub(MAX_MARKER))..keyword];
    let before = before.rsplit('\n').next().unwrap_or_default();
    let line = &text[keyword..text.floor_char_boundary(keyword + MAX_MARKER)];
    let line_end = keyword + line.find('\n').unwrap_or(line.len());
    if text[keyword..].get(..13).is_some_and(|word| word.eq_ignore_ascii_case("private-lines")) {
        let body = Body::read(text, line_end);
        return body.is_key().then_some(body.start..body.end);
    }
    let marker = |word: &str| before.rfind(word).map(|at| keyword - before.len() + at);
    let dashes = |at: usize| text[..at].trim_end_matches(['-', ' ']).len();
    let after = keyword + text[keyword..line_end].find("--").filter(|length| *length < 24)?;
    let after = after + text[after..].bytes().take_while(|byte| *byte == b'-').count();
    match (marker("BEGIN"), marker("END")) {
        (Some(begin), end) if end.is_none_or(|end| end < begin) => {
            let body = Body::read(text, after);
            let start = begin - (text[dashes(begin)..begin].trim_start().len());
            body.is_key().then_some(start..body.end)
        }
        (_, Some(end)) => lines_before(text, dashes(end)).map(|start| start..after),
        _ => None,
    }
}

/// The encoded data after the first line of a block.
#[derive(Debug, Default)]
struct Body {
    start: usize,
    end: usize,
    /// Number of encoded characters.
    length: usize,
}

impl Body {
    fn is_key(&self) -> bool {
        self.length >= MIN_BLOCK
    }

    /// Reads the data, and the last line of the block if it is there.
    fn read(text: &str, from: usize) -> Self {
        let mut body = Self::default();
        let (mut at, mut headers) = (from, 0);
        loop {
            at = skip_decoration(text, at);
            let rest = &text[at..];
            if let Some(length) = last_line(rest) {
                body.end = at + length;
                return body;
            }
            if body.length == 0
                && headers < MAX_HEADERS
                && let Some(length) = header_line(rest)
            {
                headers += 1;
                at += length;
                continue;
            }
            let run = run_length(rest);
            let is_line = run >= MIN_LINE && !rest[run..].starts_with(['-', '_', '.', ':']);
            let goes_on = is_line || body.length > 0 && run > 0 && ends_block(text, at, run);
            if !goes_on {
                return body;
            }
            if body.length == 0 {
                body.start = at;
            }
            body.length += run;
            at += run;
            body.end = at;
        }
    }
}

/// Whether a short run of encoded characters is the last line of a block: the block ends after it, or it looks like
/// no word.
fn ends_block(text: &str, at: usize, run: usize) -> bool {
    let after = skip_decoration(text, at + run);
    let word = &text[at..at + run];
    let stands_alone =
        text[at + run..].chars().next().is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | '-'));
    let is_no_word = word.contains(['=', '+']) || word.contains(|character: char| character.is_ascii_digit());
    last_line(&text[after..]).is_some() || stands_alone && is_no_word
}

/// The length of a block's last line at the start of `text`.
fn last_line(text: &str) -> Option<usize> {
    if text.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("private-mac:")) {
        let value = 12 + text[12..].bytes().take_while(|byte| *byte == b' ').count();
        return Some(value + text[value..].bytes().take_while(u8::is_ascii_hexdigit).count());
    }
    let dashes = text.bytes().take_while(|byte| *byte == b'-').count();
    let word = text[dashes..].trim_start_matches(' ');
    if dashes < 4 || !word.starts_with("END") {
        return None;
    }
    let start = text.len() - word.len();
    let text = &text[..text.floor_char_boundary(MAX_MARKER)];
    let line = text.find('\n').unwrap_or(text.len());
    let start = start.min(line);
    let closing = text[start..line].find("--").map_or(line, |at| start + at);
    Some(closing + text[closing..].bytes().take_while(|byte| *byte == b'-').count())
}

/// The length of a line like `Proc-Type: 4,ENCRYPTED` at the start of `text`.
fn header_line(text: &str) -> Option<usize> {
    let name = text.bytes().take_while(|byte| byte.is_ascii_alphabetic() || *byte == b'-').count();
    let line = || text[..text.floor_char_boundary(MAX_HEADER)].find('\n');
    if name > 2 && text[name..].starts_with(": ") { line() } else { None }
}

/// Characters of base64 at the start of `text`.
fn run_length(text: &str) -> usize {
    text.bytes().take_while(|byte| is_encoded_byte(*byte)).count()
}

fn is_encoded_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// Skips white space, quotes, line numbers, and the symbols of listings, diffs and programs.
fn skip_decoration(text: &str, mut at: usize) -> usize {
    let is_sign = |character: char| {
        character.is_whitespace()
            || matches!(character, '"' | '\'' | ',' | ';' | '>' | '|' | '*' | '#' | '→' | '│' | '\\' | '(' | ')')
    };
    loop {
        let rest = &text[at..];
        let signs = rest.find(|character| !is_sign(character)).unwrap_or(rest.len());
        if signs > 0 {
            at += signs;
            continue;
        }
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_number = (1..=7).contains(&digits) && rest[digits..].starts_with(['\t', ':', ' ', '|', '→', '│']);
        let pluses = rest.bytes().take_while(|byte| *byte == b'+').count();
        let is_sum = pluses == 1 && (rest[1..].starts_with(char::is_whitespace) || rest[1..].starts_with('-'));
        match (is_number, is_sum) {
            (true, _) => at += digits + usize::from(rest[digits..].starts_with(':')),
            (_, true) => at += 1,
            _ => return at,
        }
    }
}

/// The beginning of the lines that are the data of a key if its last line begins at `end`; `None` if there are none.
pub(super) fn lines_before(text: &str, end: usize) -> Option<usize> {
    let mut start = None;
    let (mut length, mut line_end) = (0, end);
    for _ in 0..MAX_LINES {
        let reach = text.ceil_char_boundary(line_end.saturating_sub(MAX_LINE));
        let line_start = text[reach..line_end].rfind('\n').map_or(reach, |at| reach + at + 1);
        let data = skip_decoration(&text[..line_end], line_start);
        let run = run_length(&text[data..line_end]);
        let is_last = length == 0 && (1..MIN_LINE).contains(&run);
        let is_whole = skip_decoration(&text[..line_end], data + run) == line_end;
        let is_blank = data == line_end;
        if !(is_blank || is_whole && (run >= MIN_LINE || is_last || text[data..].starts_with('='))) {
            break;
        }
        if !is_blank {
            length += run;
            start = Some(data);
        }
        if line_start == 0 {
            break;
        }
        if line_start == reach {
            // The line is longer. If its data begins here, it reaches back to where its characters begin.
            let before = text.as_bytes()[..reach].iter().rev();
            let rest = if data == reach { before.take_while(|byte| is_encoded_byte(**byte)).count() } else { 0 };
            line_end = reach - rest;
            start = start.map(|start| if start == reach { line_end } else { start });
        } else {
            line_end = line_start - 1;
        }
    }
    start.filter(|_| length >= MIN_BLOCK)
}
