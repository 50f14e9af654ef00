//! Finds private keys: PEM, PGP, SSH2 and PuTTY, in files, in listings with line numbers, in diffs, in quotations and in
//! source code, even if one end is cut off.

use std::collections::HashSet;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr, memrchr_iter};

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
/// Maximum bytes that a listing, a diff or a comment puts before the data of a line.
const MAX_PREFIX: usize = 200;
/// Maximum lines of encoded data without a first and last line that count as a key. A key of 16,384 bits has more;
/// encoded files nearly always do.
const MAX_UNMARKED: usize = 80;
/// Bytes around encoded data that may show that it is not a key.
const CONTEXT: usize = 400;
/// Lengths of full lines: of PEM, of OpenSSH, and of MIME and PGP.
const WIDTHS: [usize; 3] = [64, 70, 76];
/// How encoded private keys begin: OpenSSH, elliptic curves, and Ed25519. No other data begins like that.
const KEY_BEGINNINGS: [&str; 5] =
    ["b3BlbnNzaC1rZXktdjE", "MHcCAQEE", "MIGHAgEAMBMGByqGSM49", "MC4CAQAwBQYDK2VwBCIE", "MIGkAgEBBDA"];
/// What follows the length at the beginning of an encoded RSA key, by itself and in PKCS #8.
const RSA_BEGINNINGS: [&str; 2] = ["IBAAKC", "IBADANBgkqhkiG9w0BAQ"];
/// Words near encoded data that is not a private key.
const OTHER_DATA: [&str; 8] =
    ["certificate", "public", "signature", "message-----", "transfer-encoding", "data:", "image", "attachment"];
/// How encoded files begin: images, archives, documents, certificates, public keys.
const OTHER_BEGINNINGS: [&str; 13] = [
    "iVBOR",
    "/9j/",
    "R0lGOD",
    "UEsDB",
    "JVBERi",
    "H4sI",
    "UklGR",
    "PD94",
    "PHN2",
    "AAAAB3NzaC1",
    "AGFzb",
    "MI",
    "d09GM",
];

/// The block around the words `private key` or `private-lines` at `keyword`, or around the encoded beginning of a key.
pub(super) fn block(text: &str, keyword: usize) -> Option<Range<usize>> {
    let starts = |word: &str| text[keyword..].get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    if !starts("private") {
        return encoded_key(text, keyword);
    }
    let before = &text[text.ceil_char_boundary(keyword.saturating_sub(MAX_MARKER))..keyword];
    let before = before.rsplit('\n').next().unwrap_or_default();
    let line = &text[keyword..text.floor_char_boundary(keyword + MAX_MARKER)];
    let line_end = keyword + line.find('\n').unwrap_or(line.len());
    if starts("private-mac") {
        let prefix = Prefix::before(text, keyword);
        let line_start = keyword - prefix.text.len();
        if !(line_start == 0 || text[..line_start].ends_with('\n')) {
            return None;
        }
        return lines_before(text, line_start, prefix).map(|start| start..line_end);
    }
    if starts("private-lines") {
        let body = Body::read(text, line_end, Prefix::before(text, keyword));
        return body.is_key(MIN_BLOCK).then_some(body.start..body.end);
    }
    let marker = |word: &str| before.rfind(word).map(|at| keyword - before.len() + at);
    let dashes = |at: usize| text[..at].trim_end_matches(['-', ' ']).len();
    let after = keyword + text[keyword..line_end].find("--").filter(|length| *length < 24)?;
    let after = after + text[after..].bytes().take_while(|byte| *byte == b'-').count();
    match (marker("BEGIN"), marker("END")) {
        (Some(begin), end) if end.is_none_or(|end| end < begin) => {
            let body = Body::read(text, after, Prefix::before(text, first_dash(text, begin)));
            let start = begin - (text[dashes(begin)..begin].trim_start().len());
            body.is_key(MIN_BLOCK).then_some(start..body.end)
        }
        (_, Some(end)) => {
            let first_dash = first_dash(text, end);
            let prefix = Prefix::before(text, first_dash);
            let run = prefix.text.trim_end().bytes().rev().take_while(|byte| is_encoded_byte(*byte)).count();
            // The data may end on this line.
            let (prefix, data_end) = match run < MIN_LINE {
                true => (prefix, first_dash - prefix.text.len()),
                false => (Prefix::default(), dashes(end)),
            };
            lines_before(text, data_end, prefix).map(|start| start..after)
        }
        _ => None,
    }
}

/// The first of the dashes before the word at `at` that are neither the sign of a diff nor after a line number.
fn first_dash(text: &str, at: usize) -> usize {
    let before = text[..at].trim_end_matches(' ');
    let usual = if before.len() == at { 5 } else { 4 };
    let dashes = before.len() - before.trim_end_matches('-').len();
    before.len() - if dashes <= usual + 2 { dashes.min(usual) } else { dashes }
}

/// The data of the key whose encoded beginning is at `keyword`.
fn encoded_key(text: &str, keyword: usize) -> Option<Range<usize>> {
    let rest = &text[keyword..];
    let start = if RSA_BEGINNINGS.iter().any(|beginning| rest.starts_with(beginning)) {
        let reach = text.ceil_char_boundary(keyword.saturating_sub(8));
        reach + text[reach..keyword].rfind("MI")?
    } else {
        KEY_BEGINNINGS.iter().any(|beginning| rest.starts_with(beginning)).then_some(keyword)?
    };
    if text[..start].ends_with(|before: char| before.is_ascii_alphanumeric()) {
        return None;
    }
    let body = Body::read(text, start, Prefix::before(text, start));
    (body.start == start && body.is_key(2 * MIN_BLOCK)).then_some(body.start..body.end)
}

/// The keys in `text` without their first and last lines and their beginning: lines of one length that look encrypted
/// or random, and a shorter one.
pub(super) fn unmarked(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut done, mut line_start) = (Vec::new(), 0, 0);
    for line_end in memchr_iter(b'\n', text.as_bytes()) {
        let line = line_start..line_end;
        line_start = line_end + 1;
        if line.start < done || line.len() < WIDTHS[0] {
            continue;
        }
        let Some(data) = full_line(text, line.clone()) else { continue };
        let lines = Lines::read(text, line.start, data);
        done = lines.end;
        if lines.is_key(text) {
            found.push(lines.start..lines.end);
        }
    }
    found
}

/// The data of a line that ends with a full line of encoded data.
fn full_line(text: &str, line: Range<usize>) -> Option<Range<usize>> {
    let bytes = &text.as_bytes()[line.clone()];
    let is_sign = |byte: &u8| matches!(byte, b'\r' | b' ' | b'\t' | b'"' | b'\'' | b',' | b';' | b'+' | b'\\');
    let signs = bytes.iter().rev().take(8).take_while(|byte| is_sign(byte)).count();
    // A sum sign may be part of the data as well.
    for end in [bytes.len() - signs, bytes.len()] {
        let Some(probe) = end.checked_sub(WIDTHS[0]) else { continue };
        if ![probe, probe + 31, end - 1].iter().all(|at| is_encoded_byte(bytes[*at])) {
            continue;
        }
        let most = WIDTHS[2] + 3;
        let run = bytes[..end].iter().rev().take(most).take_while(|byte| is_encoded_byte(**byte)).count();
        let of_width = |width: &usize| {
            // The sign of a diff or a comment may touch the data.
            let extra = &bytes[end - run..end - width.min(&run)];
            run >= *width && matches!(extra, b"" | b"+" | b"//")
        };
        if let Some(width) = WIDTHS.iter().rev().find(|width| of_width(width)) {
            return Some(line.start + end - width..line.start + end);
        }
    }
    None
}

/// Lines of encoded data without a first and last line.
#[derive(Debug)]
struct Lines {
    start: usize,
    end: usize,
    /// Number of full lines.
    full: usize,
    /// The data without the text before and after it on the lines.
    data: Vec<u8>,
    /// Whether a shorter line is the last one.
    is_ended: bool,
    /// The end of the text between the data and the next text.
    next: usize,
}

impl Lines {
    /// Reads the lines from `data` on, the data of the line that begins at `line_start`.
    fn read(text: &str, line_start: usize, data: Range<usize>) -> Self {
        let width = data.len();
        let prefix = Prefix::new(&text[line_start..data.start]);
        let mut lines =
            Self { start: data.start, end: data.end, full: 1, data: Vec::new(), is_ended: false, next: data.end };
        lines.data.extend_from_slice(text[data].as_bytes());
        loop {
            let at = prefix.data_after(text, lines.end);
            lines.next = at;
            // In source text, the line break of the data comes before that of the line.
            let is_next_line = matches!(memchr_iter(b'\n', &text.as_bytes()[lines.end..at]).count(), 1 | 2);
            let run = text.as_bytes()[at..].iter().take(width + 1).take_while(|byte| is_encoded_byte(**byte)).count();
            let ends_line =
                text[at + run..].chars().next().is_none_or(|next| next.is_whitespace() || "\"',\\".contains(next));
            if !is_next_line || run == 0 || run > width || !ends_line {
                return lines;
            }
            lines.end = at + run;
            lines.is_ended = run < width;
            if lines.full <= MAX_UNMARKED {
                lines.data.extend_from_slice(&text.as_bytes()[at..at + run]);
            }
            if lines.is_ended {
                lines.next = prefix.data_after(text, lines.end);
                return lines;
            }
            lines.full += 1;
        }
    }

    fn is_key(&self, text: &str) -> bool {
        let before = &text[text.ceil_char_boundary(self.start.saturating_sub(CONTEXT))..self.start];
        let after = &text[self.next..text.floor_char_boundary(self.next + MAX_MARKER)];
        let is_private = last_line(after).is_some_and(|length| after[..length.min(after.len())].contains("PRIVATE"));
        let is_whole =
            self.is_ended && self.data.len().is_multiple_of(4) && !after.trim_start_matches('=').contains("--END");
        let first = &text[self.start..self.end];
        (2..=MAX_UNMARKED).contains(&self.full)
            && (is_private || is_whole)
            && !OTHER_BEGINNINGS.iter().any(|beginning| first.starts_with(beginning))
            && !OTHER_DATA.iter().any(|word| contains_ignoring_case(before, word))
            && is_random(&self.data)
    }
}

fn contains_ignoring_case(text: &str, word: &str) -> bool {
    text.as_bytes().windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether the encoded bytes are distributed like those of a key: not text, not zeros.
fn is_random(data: &[u8]) -> bool {
    let bytes = decoded(data);
    let high = bytes.iter().filter(|byte| **byte >= 0x80).count();
    let kinds: [fn(&u8) -> bool; 3] = [u8::is_ascii_uppercase, u8::is_ascii_lowercase, u8::is_ascii_digit];
    let is_mixed = kinds.iter().all(|is_kind| data.iter().filter(|byte| is_kind(byte)).count() * 20 >= data.len());
    let different = bytes.iter().collect::<HashSet<_>>().len();
    is_mixed && high * 3 >= bytes.len() && high * 3 <= 2 * bytes.len() && different * 5 >= bytes.len().min(256) * 2
}

/// The bytes of base64, up to the first other sign.
pub(super) fn decoded(data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(data.len() / 4 * 3);
    let (mut bits, mut count) = (0u32, 0);
    for byte in data {
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
    bytes
}

/// The text before the data on each line of a block: the sign of a comment or of a diff, the name of a file, the number
/// of the line.
#[derive(Debug, Clone, Copy, Default)]
struct Prefix<'t> {
    text: &'t str,
    /// Whether it names the author of the line.
    is_blame: bool,
}

impl<'t> Prefix<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, is_blame: !text.is_empty() && blame_length(text) == text.len() }
    }

    /// The text before `at` on its line; empty if it is too long.
    fn before(text: &'t str, at: usize) -> Self {
        let reach = text.ceil_char_boundary(at.saturating_sub(MAX_PREFIX));
        match memrchr(b'\n', &text.as_bytes()[reach..at]) {
            Some(line) => Self::new(&text[reach + line + 1..at]),
            None if reach == 0 => Self::new(&text[..at]),
            None => Self::default(),
        }
    }

    /// Its length at the beginning of a line, where numbers, hashes and signs between them may differ; 0 if the line
    /// does not begin with it.
    fn length_in(&self, line: &str) -> usize {
        if self.is_blame {
            return blame_length(line);
        }
        let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
        let (mut expected, mut left) = (self.text.as_bytes(), line.as_bytes());
        while let Some(byte) = expected.first() {
            if is_blank(byte) {
                expected = expected.trim_ascii_start();
                left = &left[left.iter().take_while(|byte| is_blank(byte)).count()..];
                continue;
            }
            let (length, found) = if byte.is_ascii_digit() {
                let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
                (digits(expected), digits(left))
            } else {
                let is_separator = |byte: &u8| matches!(byte, b':' | b'-' | b'+' | b'=');
                let fits = left.first().is_some_and(|found| found == byte || is_separator(byte) && is_separator(found));
                (1, usize::from(fits))
            };
            if found == 0 {
                return 0;
            }
            (expected, left) = (&expected[length..], &left[found..]);
        }
        line.len() - left.len()
    }

    /// The beginning of the data of a line.
    fn data_in_line(&self, text: &str, line: Range<usize>) -> usize {
        let prefix = if self.text.is_empty() { 0 } else { self.length_in(&text[line.clone()]) };
        let data = line.start + prefix;
        // A removed line in a diff whose last line stayed.
        let is_removed = matches!(text.as_bytes()[data..line.end], [b'-', next, ..] if is_encoded_byte(next));
        skip_decoration(&text[..line.end], data + usize::from(is_removed))
    }

    /// The next data at `at` or after it: skips white space, quotes, line numbers, and the symbols of listings, diffs and
    /// programs.
    fn data_after(&self, text: &str, mut at: usize) -> usize {
        loop {
            at = skip_decoration(text, at);
            if !text[at..].starts_with('\n') {
                return at;
            }
            at += 1;
            let line = &text[at..];
            if !self.text.is_empty() {
                let line = &line[..line.floor_char_boundary(2 * MAX_PREFIX)];
                let length = memchr(b'\n', line.as_bytes()).unwrap_or(line.len());
                at += self.length_in(&line[..length]);
            }
            // A removed line in a diff whose first line stayed.
            if let [b'-', next, ..] = text.as_bytes()[at..]
                && is_encoded_byte(next)
            {
                at += 1;
            }
        }
    }
}

/// The length of what `git blame` writes before a line: `1a2b3c4d (Name 2024-01-01 10:00:00 +0000 12) `.
fn blame_length(line: &str) -> usize {
    let hash = line.trim_start_matches('^');
    let is_hash = hash.bytes().take_while(u8::is_ascii_hexdigit).count() >= 7;
    let head = &line.as_bytes()[..line.len().min(MAX_PREFIX)];
    // The name of an author may contain brackets; the data contains none.
    let end = memrchr_iter(b')', head).find(|end| is_hash && *end > 0 && head[*end - 1].is_ascii_digit());
    end.map_or(0, |end| end + 1 + usize::from(head.get(end + 1) == Some(&b' ')))
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
    fn is_key(&self, least: usize) -> bool {
        self.length >= least
    }

    /// Reads the data, and the last line of the block if it is there.
    fn read(text: &str, from: usize, prefix: Prefix<'_>) -> Self {
        let mut body = Self::default();
        let (mut at, mut headers) = (from, 0);
        loop {
            at = prefix.data_after(text, at);
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
            let goes_on = is_line || body.length > 0 && run > 0 && ends_block(text, at, run, prefix);
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
fn ends_block(text: &str, at: usize, run: usize, prefix: Prefix<'_>) -> bool {
    let after = prefix.data_after(text, at + run);
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
    let is_part = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b'-';
    let name = text.bytes().take(MAX_HEADER).take_while(is_part).count();
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

/// Skips white space, quotes, line numbers, and the symbols of listings, diffs and programs, up to the end of the line.
fn skip_decoration(text: &str, mut at: usize) -> usize {
    let is_sign = |character: char| {
        character.is_whitespace() && character != '\n'
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
        let after_plus = rest.get(1..).unwrap_or_default();
        let is_sum = pluses == 1
            && (after_plus.is_empty() || after_plus.starts_with(|next: char| next.is_whitespace() || next == '-'));
        match (is_number, is_sum) {
            (true, _) => at += digits + usize::from(rest[digits..].starts_with(':')),
            (_, true) => at += 1,
            _ => return at,
        }
    }
}

/// The beginning of the lines before `end` that are the data of a key if its last line follows; `None` if there are
/// none.
pub(super) fn pending_lines(text: &str, end: usize) -> Option<usize> {
    let line_end = text[..end].trim_end_matches(['\r', '\n']).len();
    let data = text[..line_end].trim_end_matches(|character: char| u8::try_from(character).is_ok_and(is_encoded_byte));
    lines_before(text, end, Prefix::before(text, data.len()))
}

/// The beginning of the lines that are the data of a key if its last line begins at `end`; `None` if there are none.
fn lines_before(text: &str, end: usize, prefix: Prefix<'_>) -> Option<usize> {
    let mut start = None;
    let (mut length, mut line_end) = (0, end);
    for _ in 0..MAX_LINES {
        let reach = text.ceil_char_boundary(line_end.saturating_sub(MAX_LINE));
        let line_start = text[reach..line_end].rfind('\n').map_or(reach, |at| reach + at + 1);
        let data = prefix.data_in_line(text, line_start..line_end);
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
