//! Samples for tests: made-up secrets in the forms that occur in practice, and texts that look like secrets.
//!
//! A sample marks the parts that are drawn when the tests run, so that no file of this repository contains the form
//! of a secret: `«hex:40»` is a secret of 40 hexadecimal digits, `«=text»` a secret that is written out, `«!text»` a
//! text that is not a secret and would mislead a scanner.

use std::fmt::Write as _;

use serde::Deserialize;

/// A sample.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// The kind of text.
    pub(crate) form: String,
    /// The text.
    pub(crate) text: String,
    /// The parts of it that are secret.
    pub(crate) secrets: Vec<String>,
}

#[derive(Deserialize)]
struct Line {
    form: String,
    text: String,
}

/// Secrets that the rules were written for.
pub(crate) fn secrets() -> Vec<Sample> {
    read(include_str!("samples/secrets.jsonl"))
}

/// Secrets that were written when the rules were done.
pub(crate) fn later_secrets() -> Vec<Sample> {
    read(include_str!("samples/later_secrets.jsonl"))
}

/// Secrets that the public rules of gitleaks, detect-secrets and trufflehog name.
pub(crate) fn public_rules() -> Vec<Sample> {
    read(include_str!("samples/public_rules.jsonl"))
}

/// Secrets in the forms that rules and tests of public scanners have, written before the rules for them.
pub(crate) fn public_secrets() -> Vec<Sample> {
    read(include_str!("samples/public_secrets.jsonl"))
}

/// Texts that only look like secrets.
pub(crate) fn harmless() -> Vec<Sample> {
    read(include_str!("samples/harmless.jsonl"))
}

/// More of them, written when the rules were done.
pub(crate) fn later_harmless() -> Vec<Sample> {
    read(include_str!("samples/later_harmless.jsonl"))
}

/// Secrets of real and invented services and of people, in seven places: command lines, configurations, JSON, network
/// traffic, programs, sentences and output of programs. They were written before the rules for them.
pub(crate) fn unseen_secrets() -> Vec<Sample> {
    read(include_str!("samples/unseen_secrets.jsonl"))
}

fn read(lines: &str) -> Vec<Sample> {
    let lines = lines.lines().map(|line| serde_json::from_str::<Line>(line).expect("the samples are well made"));
    lines.enumerate().map(|(number, line)| sample(line, number as u64)).collect()
}

fn sample(line: Line, number: u64) -> Sample {
    let mut source = Source(number * 1_000_003 + 12_345);
    let (mut text, mut secrets) = (String::new(), Vec::new());
    let mut rest = line.text.as_str();
    while let Some((before, after)) = rest.split_once('«') {
        let (drawn, after) = after.split_once('»').expect("the samples are well made");
        text.push_str(before);
        rest = after;
        let (piece, is_secret) = match drawn.strip_prefix('!') {
            Some(plain) => (plain.to_owned(), false),
            None => (source.piece(drawn), true),
        };
        text.push_str(&piece);
        if is_secret {
            secrets.push(piece);
        }
    }
    text.push_str(rest);
    Sample { form: line.form, text, secrets }
}

impl Sample {
    /// Parts of the secrets that `text` still contains, `escapes` times escaped as JSON.
    pub(crate) fn left_in(&self, text: &str, escapes: usize) -> Vec<String> {
        self.left(escapes, |window| text.contains(window))
    }

    /// The same if `is_left` says whether a text contains a piece.
    pub(crate) fn left(&self, escapes: usize, is_left: impl Fn(&str) -> bool) -> Vec<String> {
        let secrets = self.secrets.iter().map(|secret| escaped(secret, escapes));
        secrets.filter_map(|secret| windows(&secret).find(|window| is_left(window)).map(str::to_owned)).collect()
    }
}

/// Pieces of a secret, each of which reveals too much of it: eight characters, or all of a short one.
fn windows(secret: &str) -> impl Iterator<Item = &str> {
    let starts: Vec<usize> = secret.char_indices().map(|(at, _)| at).chain([secret.len()]).collect();
    let (length, shortest) = (starts.len() - 1, 5);
    let size = length.min(8);
    let ranges = (0..=length - size).map(move |start| (starts[start], starts[start + size]));
    ranges.filter(move |_| length >= shortest).map(|(start, end)| &secret[start..end])
}

/// `text` as it appears in JSON, in JSON inside a JSON text, and so on.
pub(crate) fn escaped(text: &str, times: usize) -> String {
    (0..times).fold(text.to_owned(), |text, _| {
        let quoted = serde_json::to_string(&text).expect("the samples are well made");
        quoted[1..quoted.len() - 1].to_owned()
    })
}

/// Characters that look drawn by chance, the same in every run.
struct Source(u64);

impl Source {
    fn piece(&mut self, drawn: &str) -> String {
        if let Some(written) = drawn.strip_prefix('=') {
            return written.to_owned();
        }
        if let Some(plain) = drawn.strip_prefix("b64:") {
            return encoded(plain.as_bytes());
        }
        let (alphabet, length) = drawn.split_once(':').unwrap_or((drawn, "0"));
        let length = length.parse().expect("the samples are well made");
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        const DIGITS: &str = "0123456789";
        let alphabet = match alphabet {
            "uuid" => return self.uuid(),
            "digits" => DIGITS.to_owned(),
            "hex" => "0123456789abcdef".to_owned(),
            "HEX" => "0123456789ABCDEF".to_owned(),
            "low" => format!("{LOWER}{DIGITS}"),
            "UPPER" => format!("{UPPER}{DIGITS}"),
            "word" => format!("{UPPER}{LOWER}{DIGITS}"),
            "url" => format!("{UPPER}{LOWER}{DIGITS}_-"),
            "base64" => format!("{UPPER}{LOWER}{DIGITS}+/"),
            "base32" => format!("{UPPER}234567"),
            "bech" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
            "django" => format!("{LOWER}{DIGITS}!@#$%^&*(-_=+)"),
            other => panic!("there is no alphabet {other}"),
        };
        self.draw(&alphabet, length)
    }

    fn draw(&mut self, alphabet: &str, length: usize) -> String {
        let alphabet: Vec<char> = alphabet.chars().collect();
        (0..length).map(|_| alphabet[self.next() % alphabet.len()]).collect()
    }

    fn uuid(&mut self) -> String {
        let mut uuid = String::new();
        for (number, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
            let hyphen = if number == 0 { "" } else { "-" };
            write!(uuid, "{hyphen}{}", self.draw("0123456789abcdef", length)).expect("the samples are well made");
        }
        uuid
    }

    fn next(&mut self) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize
    }
}

/// `bytes` in base64.
pub(crate) fn encoded(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*chunk.get(at).unwrap_or(&0)));
        for place in 0..4 {
            let sextet = bits >> (18 - 6 * place) & 63;
            text.push(if place > chunk.len() { '=' } else { char::from(ALPHABET[sextet as usize]) });
        }
    }
    text
}
