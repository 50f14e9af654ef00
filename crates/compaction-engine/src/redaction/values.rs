//! Finds the secrets of an operation by value.
//!
//! A rule recognises a secret by its form or by the text before it. The same secret often appears elsewhere without
//! either: a password of a command line in a sentence, in the output of a tool, in a later message. So the values that
//! rules found in the texts of an operation are searched for in all of them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use tokio_util::sync::CancellationToken;

use super::MARK;

/// Maximum number of values that are searched for. Longer ones are left out first, because they mostly have a form by
/// which rules find them everywhere.
const MAX_VALUES: usize = 1024;
/// Maximum bytes of all values together.
const MAX_TOTAL: usize = 1 << 16;
/// Minimum characters of a value. Shorter ones are words or numbers too often.
const MIN_CHARACTERS: usize = 8;
/// Minimum different characters of a value.
const MIN_DIFFERENT: usize = 5;
/// Maximum bytes of a value.
pub(super) const MAX_BYTES: usize = 1024;
/// Minimum characters of a line of a key that is searched for by itself.
const MIN_KEY_LINE: usize = 40;
/// Maximum depth of JSON inside JSON.
const MAX_DEPTH: usize = 3;
/// Bytes after which a search looks again whether it is cancelled.
const LOOK_BYTES: usize = 1 << 20;

/// What a redactor does with values.
#[derive(Debug, Default)]
pub(super) enum Values {
    /// Nothing.
    #[default]
    Ignored,
    /// It remembers those that its rules find.
    Remembered(Mutex<Remembered>),
    /// It seeks them.
    Sought(Sought),
}

/// The values that rules found, the shortest first. Its content does not depend on the order in which they were found.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// The rule of each value. The key begins with the length.
    rules: BTreeMap<(usize, String), usize>,
    bytes: usize,
}

impl Values {
    /// Remembers the values at `found` in `text`, with their rules.
    pub(super) fn remember(&self, text: &str, found: &[(usize, Range<usize>)]) {
        let Self::Remembered(remembered) = self else { return };
        let mut remembered = remembered.lock().unwrap_or_else(PoisonError::into_inner);
        for (rule, range) in found {
            remembered.add_secret(*rule, &text[range.clone()]);
        }
    }

    /// The same values, to be searched for; `None` if there are none.
    pub(super) fn sought(&self) -> Option<Self> {
        let Self::Remembered(remembered) = self else { return None };
        let remembered = remembered.lock().unwrap_or_else(PoisonError::into_inner);
        Sought::new(&remembered).map(Self::Sought)
    }
}

impl Remembered {
    /// Adds the values of a secret: the secret itself, or the lines of a key.
    fn add_secret(&mut self, rule: usize, secret: &str) {
        if !secret.contains('\n') {
            return self.add(rule, trimmed(secret));
        }
        let is_data = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=');
        for line in secret.lines() {
            let runs = line.split(|character| !is_data(character));
            runs.filter(|run| run.len() >= MIN_KEY_LINE).for_each(|run| self.add(rule, run));
        }
    }

    fn add(&mut self, rule: usize, value: &str) {
        if !is_value(value) {
            return;
        }
        let first = self.rules.entry((value.len(), value.to_owned())).or_insert_with(|| {
            self.bytes += value.len();
            rule
        });
        *first = rule.min(*first);
        while self.rules.len() > MAX_VALUES || self.bytes > MAX_TOTAL {
            let longest = self.rules.pop_last();
            self.bytes -= longest.map_or(0, |((length, _), _)| length);
        }
    }
}

/// The values to search for, in all their forms.
#[derive(Debug)]
pub(super) struct Sought {
    automaton: AhoCorasick,
    /// The rule of each pattern of the automaton.
    rules: Vec<usize>,
}

impl Sought {
    /// `None` if there is nothing to search for.
    fn new(remembered: &Remembered) -> Option<Self> {
        let (mut patterns, mut rules) = (Vec::new(), Vec::new());
        for ((_, value), rule) in &remembered.rules {
            for form in forms(value) {
                patterns.push(form);
                rules.push(*rule);
            }
        }
        if patterns.is_empty() {
            return None;
        }
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::LeftmostLongest).kind(Some(AhoCorasickKind::ContiguousNFA));
        // The bounds of values keep it far below the limits of an automaton.
        let automaton = builder.build(patterns.iter().map(|pattern| pattern.as_bytes())).ok()?;
        Some(Self { automaton, rules })
    }

    /// Whether `text` contains a value, as far as it was read when `cancel` was cancelled.
    pub(super) fn is_in(&self, text: &str, cancel: Option<&CancellationToken>) -> bool {
        let mut is_in = false;
        self.each(text, cancel, |_| {
            is_in = true;
            false
        });
        is_in
    }

    /// Adds the values in `text` to `found`.
    pub(super) fn find(&self, text: &str, cancel: Option<&CancellationToken>, found: &mut Vec<(usize, Range<usize>)>) {
        self.each(text, cancel, |value| {
            found.push(value);
            true
        });
    }

    /// Calls `visit` with each value in `text` and its rule, until it returns false.
    fn each(
        &self,
        text: &str,
        cancel: Option<&CancellationToken>,
        mut visit: impl FnMut((usize, Range<usize>)) -> bool,
    ) {
        let mut at = 0;
        while at < text.len() && !cancel.is_some_and(CancellationToken::is_cancelled) {
            // A value may begin in this part and end in the next one.
            let part_end = (at + LOOK_BYTES).min(text.len());
            let end = (part_end + self.automaton.max_pattern_len()).min(text.len());
            let input = Input::new(text).span(at..end);
            let mut next = part_end;
            for found in self.automaton.find_iter(input).take_while(|found| found.start() < part_end) {
                next = next.max(found.end());
                if !visit((self.rules[found.pattern().as_usize()], found.start()..found.end())) {
                    return;
                }
            }
            at = next;
        }
    }
}

/// A secret without the signs of a sentence around it.
fn trimmed(secret: &str) -> &str {
    let is_outer = |character: char| character.is_whitespace() || ".,;:'`()[]{}<>".contains(character);
    secret.trim_matches(is_outer)
}

/// Whether a secret is searched for by its value. A value that could be a word, a name or a number in another text is
/// not.
fn is_value(value: &str) -> bool {
    if value.len() > MAX_BYTES {
        return false;
    }
    let mut different: Vec<char> = value.chars().collect();
    let characters = different.len();
    different.sort_unstable();
    different.dedup();
    characters >= MIN_CHARACTERS
        && different.len() >= MIN_DIFFERENT
        && value.contains(char::is_alphabetic)
        // Without one, it may be words and their signs.
        && value.contains(|character: char| character.is_ascii_digit())
        // A quote would be part of the JSON around the value.
        && !value.contains('"')
        && !value.contains(MARK)
        && !is_name(value)
}

/// Whether a value is made of words, numbers, and words with a number, joined as in names of hosts, files, variables and
/// versions, in paths, addresses and sentences.
fn is_name(value: &str) -> bool {
    const JOINTS: &str = ".-_/:\\ \t,;=&?'`()[]{}<>|";
    let is_address = value.split_once('@').is_some_and(|(_, host)| host.contains('.') && !host.contains('@'));
    let is_joint = |character: char| JOINTS.contains(character) || is_address && character == '@';
    value.split(is_joint).all(is_word)
}

/// Whether `piece` is a word or an identifier of letters, a number, or a word with a number of up to four digits before or after it.
fn is_word(piece: &str) -> bool {
    let is_digit = |character: char| character.is_ascii_digit();
    let stem = piece.trim_matches(is_digit);
    let is_short = piece.chars().all(char::is_alphanumeric) && (piece.len() <= 3 || stem.len() == 1);
    let digits = piece.len() - stem.len();
    let is_one_number = !(piece.starts_with(is_digit) && piece.ends_with(is_digit)) && digits <= 4;
    is_short || stem.is_empty() || stem.chars().all(char::is_alphabetic) && is_one_number
}

/// How a value is written: as it is, with the backslashes of other depths of JSON, and as in a URL.
fn forms(value: &str) -> Vec<Cow<'_, str>> {
    let mut forms = vec![Cow::Borrowed(value)];
    if value.contains('\\') {
        let mut written = value.to_owned();
        while written.contains(r"\\") {
            written = written.replace(r"\\", r"\");
        }
        for _ in 0..=MAX_DEPTH {
            forms.push(Cow::Owned(written.clone()));
            written = written.replace('\\', r"\\");
        }
    }
    // `encodeURIComponent` leaves five more signs as they are, and .NET writes digits in lower case.
    for plain in [&b"-._~"[..], b"-._~!*'()"] {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || plain.contains(&byte);
        for is_upper in [true, false] {
            let escape = |byte: u8| if is_upper { format!("%{byte:02X}") } else { format!("%{byte:02x}") };
            let encoded =
                value.bytes().map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { escape(byte) });
            forms.push(Cow::Owned(encoded.collect()));
        }
    }
    forms.extend(percent_decoded(value).map(Cow::Owned));
    forms.retain(|form| form == value || is_value(form));
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// The value without the escapes of a URL; `None` if it has none.
fn percent_decoded(value: &str) -> Option<String> {
    let (mut bytes, mut rest, mut has_escapes) = (Vec::new(), value.as_bytes(), false);
    while let [first, after @ ..] = rest {
        let digits = after.get(..2).filter(|digits| *first == b'%' && digits.iter().all(u8::is_ascii_hexdigit));
        let escaped = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        has_escapes |= escaped.is_some();
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok().filter(|_| has_escapes)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use compaction_core::entry::EntryId;
    use compaction_core::message::Message;
    use compaction_core::preparation::PreparedMessage;
    use serde_json::{Value, json};

    use super::*;
    use crate::redaction::{Redactions, Redactor};

    /// A password that no file of this repository contains as one word.
    fn password() -> String {
        format!("S3cr3t{}", "t9Qx")
    }

    fn prepared(messages: &[Value]) -> Vec<PreparedMessage> {
        let message = |message: &Value| Arc::new(Message::from_json(&message.to_string()).unwrap());
        messages.iter().map(|json| PreparedMessage { entry_id: EntryId::new("e"), message: message(json) }).collect()
    }

    /// The messages of an operation without secrets, as JSON, its redactor, and the number of secrets.
    fn operation(messages: &[Value]) -> (Vec<String>, Arc<Redactor>, Redactions) {
        let (mut messages, never) = (prepared(messages), CancellationToken::new());
        let removed = Redactor::shared().of_operation(|redactor| redactor.messages(&mut messages, &never));
        let (redactor, counts) = removed.unwrap();
        (messages.iter().map(|prepared| prepared.message.raw().get().to_owned()).collect(), redactor, counts)
    }

    fn user(text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    #[test]
    fn a_secret_is_sought_in_all_texts_of_an_operation() {
        let password = password();
        let said = format!("As I told you, it is {password}. Keep {password}!");
        let twice = json!({ "inner": json!({ "text": said }).to_string() }).to_string();
        let messages = [
            user(&said),
            json!({ "role": "bashExecution", "command": format!("mysql -u root -p{password} db"), "output": said, "exitCode": 0 }),
            json!({ "role": "assistant", "content": [{ "type": "text", "text": said }] }),
            json!({ "role": "assistant", "content": [{ "type": "toolCall", "id": "c", "name": "write", "arguments": { "content": said, "body": twice } }] }),
            json!({ "role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [{ "type": "text", "text": said }] }),
        ];
        let (redacted, redactor, counts) = operation(&messages);
        for message in &redacted {
            assert!(!message.contains(&password) && message.contains("[redacted:"), "{message}");
        }
        assert!(counts.values().sum::<u32>() >= 10, "{counts:?}");
        // Texts that the operation makes later are searched as well.
        assert_eq!(redactor.redact(&said).counts.values().sum::<u32>(), 2);
        let mut stream = crate::redaction::RedactedStream::new(Some(redactor));
        let mut sent = String::new();
        for piece in format!("{said}\nand\nmore\nlines\n").as_bytes().chunks(3) {
            stream.push(str::from_utf8(piece).unwrap());
            sent.push_str(&stream.take(false));
        }
        sent.push_str(&stream.take(true));
        assert!(sent.contains("[redacted:") && sent.ends_with("lines\n") && !sent.contains(&password), "{sent}");
        assert_eq!(Redactor::shared().redact(&said).text, said, "the next operation knows nothing of it");
    }

    #[test]
    fn a_value_is_found_as_json_and_urls_write_it() {
        let (start, end) = ("Tr0ub", "4dor+3");
        for sign in ["@", "#", "%", "/", "é", "\\", "!", "$", "&", "'"] {
            let value = format!("{start}{sign}{end}");
            let mut remembered = Remembered::default();
            remembered.add_secret(0, &value);
            let sought = Sought::new(&remembered).unwrap_or_else(|| panic!("{value} is a value"));
            let encoded = value.bytes().map(|byte| match byte {
                b if b.is_ascii_alphanumeric() => char::from(b).to_string(),
                b => format!("%{b:02X}"),
            });
            let encoded: String = encoded.collect();
            let redactor = Redactor::shared();
            let seeking = redactor.with(Values::Sought(sought));
            for escapes in 0..4 {
                let said = crate::redaction::samples::escaped(&format!("say {value}\n\"ok\""), escapes);
                let text = seeking.redact(&said).text;
                assert!(
                    !text.contains(end) && text.ends_with(&crate::redaction::samples::escaped("\n\"ok\"", escapes)),
                    "{text}"
                );
            }
            assert!(!seeking.redact(&format!("https://a.net/{encoded}/b")).text.contains("dor"), "{encoded}");
        }
        assert_eq!(percent_decoded("p%40ss%2").as_deref(), Some("p@ss%2"));
        assert_eq!((percent_decoded("p%4"), percent_decoded("p%ff"), percent_decoded("%é1")), (None, None, None));
    }

    #[test]
    fn names_words_and_numbers_are_no_values() {
        for name in [
            "root",
            "test",
            "1234",
            "password",
            "true",
            "12345678",
            "postgres",
            "postgres12",
            "correcthorsebattery",
            "correct-horse-battery-staple",
            "db01.prod.example.com",
            "web-01.eu-west-1.internal",
            "10.20.30.40:5432",
            "ip-10-0-0-12.compute",
            "admin@mail.example.com",
            "/etc/nginx/conf.d/site1.conf",
            "v1.22.333-rc1",
            "2024-01-02T10:00:00",
            "utf8_general_ci",
            "sha256",
            "Sommer2024",
            "HttpClient2",
            "getUserById",
            "k8s-node-3",
            "user=root;path=/srv1",
            "aaaaaaaa1a1a1",
            "C:\\Users\\ann2\\src",
            "s3cr3t",
            "127.0.0.1",
            "Straße12",
            "größer-als-2",
            "Perfect!",
            "@ts-ignore",
            "**Important**",
            "$HOME/$USER",
        ] {
            assert!(!is_value(name), "{name}");
            assert!(
                Sought::new(&{
                    let mut remembered = Remembered::default();
                    remembered.add_secret(0, name);
                    remembered
                })
                .is_none()
            );
        }
        for value in
            ["S3cr3tPw", "hunter2xyz", "Sommer2024!", "P@ssw0rd", "c0rrect-h0rse-b4ttery", "9fK2mXq7Lw3Z", "пароль!7а"]
        {
            assert!(is_value(value), "{value}");
        }
        assert!(!is_value(&format!("a\"{}", password())) && !is_value(&"x1y2Z".repeat(300)));
        // A user whose name is also the password is still named.
        let texts = [user("DB_PASSWORD=postgres12"), user("connect as postgres12 to host db01")];
        let (redacted, _, counts) = operation(&texts);
        assert!(counts.len() == 1 && redacted[1].contains("as postgres12 to"), "{counts:?} {redacted:?}");
    }

    #[test]
    fn values_are_bounded_whatever_their_order() {
        let values: Vec<String> =
            (0..MAX_VALUES * 3).map(|n| format!("{}q{}!", "x7Y".repeat(2 + n % 23), n * 7919)).collect();
        let remember = |values: &mut dyn Iterator<Item = &String>| {
            let mut remembered = Remembered::default();
            values.for_each(|value| remembered.add_secret(value.len() % 3, value));
            remembered
        };
        let (forth, back) = (remember(&mut values.iter()), remember(&mut values.iter().rev()));
        assert_eq!(forth.rules, back.rules);
        assert!(forth.rules.len() <= MAX_VALUES && forth.rules.len() > MAX_VALUES / 2, "{}", forth.rules.len());
        assert_eq!(forth.bytes, forth.rules.keys().map(|(length, _)| length).sum::<usize>());
        assert!(forth.bytes <= MAX_TOTAL);
        let long: Vec<String> = (0..200).map(|n| format!("{n}{}", "x7Y!zW0q".repeat(100))).collect();
        let bounded = remember(&mut long.iter());
        assert!(bounded.bytes <= MAX_TOTAL && bounded.bytes > MAX_TOTAL - 1024, "{}", bounded.bytes);
        let sought = Sought::new(&bounded).unwrap();
        assert!(sought.is_in(&format!("{} {}", "a ".repeat(LOOK_BYTES), bounded.rules.keys().next().unwrap().1), None));
    }

    #[test]
    fn values_at_the_bounds_of_the_parts_are_found_once() {
        let password = password();
        let mut remembered = Remembered::default();
        remembered.add_secret(3, &format!("`{password}`,"));
        let sought = Sought::new(&remembered).unwrap();
        for before in LOOK_BYTES - password.len() - 2..LOOK_BYTES + 2 {
            let text = format!("{}{password}{password}", "-".repeat(before));
            let mut found = Vec::new();
            sought.find(&text, None, &mut found);
            let second = before + password.len();
            assert_eq!(found, [(3, before..second), (3, second..text.len())]);
        }
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        assert!(!sought.is_in(&password, Some(&cancelled)));
    }

    #[test]
    fn a_line_of_a_key_is_sought_by_itself() {
        let mut state = 7u32;
        let mut line = || -> String {
            let next = |_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let index = (state >> 16) as usize % 62;
                char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[index])
            };
            (0..64).map(next).collect()
        };
        let lines: Vec<String> = (0..12).map(|_| line()).collect();
        let key = format!("-----{} PRIVATE KEY-----\n{}\n-----{} PRIVATE KEY-----", "BEGIN", lines.join("\n"), "END");
        let (redacted, ..) = operation(&[user(&format!("it has the line {} in it", lines[5])), user(&key)]);
        assert!(redacted[0].contains("the line [redacted:private-key] in it"), "{}", redacted[0]);
    }

    #[test]
    fn where_rules_find_nothing_nothing_is_sought() {
        let (_, redactor, counts) = operation(&[user("a harmless text"), user("and another one")]);
        assert!(counts.is_empty() && matches!(redactor.values, Values::Ignored));
    }
}
