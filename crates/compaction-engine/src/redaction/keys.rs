//! Blocks of private keys: PEM, PGP, SSH2 and PuTTY, in files, in listings with line numbers, in diffs and in source
//! code, even if one end is cut off.

use std::ops::Range;

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
    text.bytes().take_while(|byte| is_encoded(*byte)).count()
}

fn is_encoded(byte: u8) -> bool {
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
            let rest = if data == reach { before.take_while(|byte| is_encoded(**byte)).count() } else { 0 };
            line_end = reach - rest;
            start = start.map(|start| if start == reach { line_end } else { start });
        } else {
            line_end = line_start - 1;
        }
    }
    start.filter(|_| length >= MIN_BLOCK)
}
