//! Keys for models: where they come from, and how they stay out of logs and errors (README.md, "Models").
//!
//! A key comes from an environment variable, or from a program that prints it, such as a token that is valid for
//! an hour.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hyper::header::HeaderValue;
use tokio::time::{Instant, timeout};

use super::FailureKind;
use super::configuration::{CommandConfiguration, KeyCommand};
use super::providers::command;
use super::providers::command::{Ended, Finished};
use super::providers::failure::Failure;
use crate::redaction::Redactor;

/// A text that no log, error or `Debug` output shows.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Arc<str>);

impl Secret {
    /// Keeps `text` without surrounding white space, which files and shells leave there.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.trim().into())
    }

    /// Whether the text is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A header value with the text after `prefix`; `None` if a header cannot contain it.
    pub(crate) fn header(&self, prefix: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{prefix}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret(…)")
    }
}

/// Removes secrets from foreign texts, because providers echo keys in their errors.
#[derive(Debug, Clone, Default)]
pub(super) struct Scrubber {
    /// Longest first, so that no rest of a longer secret survives.
    secrets: Vec<Secret>,
}

/// Shorter secrets are placeholders (`x`, `-`) for servers that want any key. Removing them would make every text
/// unreadable.
const MIN_SECRET: usize = 4;

impl Scrubber {
    /// A scrubber of these secrets.
    pub(super) fn new(secrets: impl IntoIterator<Item = Secret>) -> Self {
        let is_long = |secret: &Secret| secret.0.len() >= MIN_SECRET;
        let mut secrets: Vec<Secret> = secrets.into_iter().filter(is_long).collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.0.len()));
        Self { secrets }
    }

    /// `text` with `[secret]` in place of every secret, including a secret whose end was cut off.
    pub(super) fn scrub(&self, text: &str) -> String {
        let without = |text: String, secret: &Secret| text.replace(&*secret.0, "[secret]");
        let whole = self.secrets.iter().fold(text.to_owned(), without);
        whole.split(CUT).map(|part| self.without_beginning(part)).collect::<Vec<_>>().join(CUT)
    }

    /// Handles a part of a text that may end within a secret, because long texts are cut before they come here.
    fn without_beginning(&self, part: &str) -> String {
        let beginning = |secret: &Secret| {
            let lengths = (MIN_SECRET..secret.0.len()).rev().filter(|length| secret.0.is_char_boundary(*length));
            lengths.map(|length| &secret.0[..length]).find(|start| part.ends_with(*start)).map(str::len)
        };
        match self.secrets.iter().filter_map(beginning).max() {
            Some(length) => format!("{}[secret]", &part[..part.len() - length]),
            None => part.to_owned(),
        }
    }
}

/// Marks where a text was cut.
const CUT: &str = "…";

/// Environment variables, and keys that programs printed. Values that are not UTF-8 are left out, because no key is
/// such a value.
#[derive(Clone, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    /// Keys that programs have printed.
    pub(super) printed_keys: PrintedKeys,
}

/// Words in the names of variables that contain secrets.
const SECRET_WORDS: [&str; 5] = ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL"];
/// Shorter values of such variables are switches and numbers.
const MIN_SECRET_VALUE: usize = 8;

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect()
    }

    /// The same, sharing the keys that were and will be printed.
    pub fn with_printed_keys(self, printed_keys: &PrintedKeys) -> Self {
        Self { printed_keys: printed_keys.clone(), ..self }
    }

    /// The value of a variable, unless it is empty.
    pub(super) fn secret(&self, name: &str) -> Option<Secret> {
        self.variables.get(name).map(|value| Secret::new(value)).filter(|secret| !secret.is_empty())
    }

    /// All values that are secrets by the names of their variables. A program inherits them and may print them.
    pub(super) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let sounds_secret = |name: &str| SECRET_WORDS.iter().any(|word| name.to_uppercase().contains(word));
        let secrets = self.variables.iter().filter(move |(name, _)| sounds_secret(name));
        secrets.filter(|(_, value)| value.trim().len() >= MIN_SECRET_VALUE).map(|(_, value)| Secret::new(value))
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        Self { variables: variables.into_iter().collect(), printed_keys: PrintedKeys::default() }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.variables.keys()).finish()
    }
}

/// Maximum bytes of a key. Tokens with claims have some thousands.
const MAX_KEY_BYTES: usize = 32 * 1024;

/// The printed keys that are still valid, by the program that printed them.
#[derive(Debug, Clone, Default)]
pub struct PrintedKeys(Arc<Mutex<HashMap<Command, (Secret, Instant)>>>);

/// A program with its arguments.
type Command = (String, Vec<String>);

/// A key that a program printed.
#[derive(Debug)]
pub(super) struct PrintedKey {
    /// The key.
    pub(super) secret: Secret,
    /// Whether it was printed for an earlier request. It may have expired since.
    pub(super) is_remembered: bool,
}

impl PrintedKeys {
    /// The key of `command`: the last printed key if it is still valid, or else a new one.
    pub(super) async fn get(&self, command: &KeyCommand) -> Result<PrintedKey, Failure> {
        let is_good = |printed: Instant| command.lifetime.is_none_or(|lifetime| printed.elapsed() < lifetime);
        let remembered = self.lock().get(&name(command)).filter(|(_, printed)| is_good(*printed)).cloned();
        if let Some((secret, _)) = remembered {
            return Ok(PrintedKey { secret, is_remembered: true });
        }
        let secret = print(command).await?;
        self.lock().insert(name(command), (secret.clone(), Instant::now()));
        Ok(PrintedKey { secret, is_remembered: false })
    }

    /// Drops a key that a server has rejected. A newer key stays.
    pub(super) fn forget(&self, command: &KeyCommand, refused: &PrintedKey) {
        let (mut keys, name) = (self.lock(), name(command));
        if keys.get(&name).is_some_and(|(secret, _)| *secret == refused.secret) {
            keys.remove(&name);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Command, (Secret, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(command: &KeyCommand) -> Command {
    let CommandConfiguration { program, arguments, .. } = &command.command;
    (program.clone(), arguments.clone())
}

/// The failure of every run of the program, if it is known in advance.
pub(super) fn known_failure(command: &KeyCommand) -> Option<Failure> {
    command::start_failure(&command.command).map(|error| no_key(&command.command.program, &error))
}

fn no_key(program: &str, text: &str) -> Failure {
    Failure::new(FailureKind::Authentication, format!("the program {program} of apiKeyCommand gave no key: {text}"))
}

/// Runs the program. The first non-empty line of its output is the key. Failures are reported without anything that
/// looks like a secret.
async fn print(command: &KeyCommand) -> Result<Secret, Failure> {
    let program = &command.command.program;
    let failed = |text: String| no_key(program, &text);
    let running = command::run(&command.command, &[], &[], &|_| {});
    let Ok(finished) = timeout(command.timeout, running).await else {
        let text = format!("the program {program} of apiKeyCommand took more than {} ms", command.timeout.as_millis());
        return Err(Failure::new(FailureKind::TimedOut, text));
    };
    let Finished { ended, output, errors } = finished.map_err(&failed)?;
    // It may have printed a part of a key before it failed.
    let words = String::from_utf8_lossy(&output).split_whitespace().map(Secret::new).collect::<Vec<_>>();
    let detail = || {
        let errors = Scrubber::new(words.iter().cloned()).scrub(&errors);
        let errors = Redactor::shared().redact(&errors).text.into_owned();
        if errors.is_empty() { String::new() } else { format!(": {errors}") }
    };
    match ended {
        Ended::Status(0) => {}
        Ended::Status(status) => return Err(failed(format!("it ended with status {status}{}", detail()))),
        Ended::Killed(what) => return Err(failed(format!("it was ended by {what}{}", detail()))),
    }
    let text = std::str::from_utf8(&output).map_err(|_| failed("what it printed is not UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{feff}');
    let key = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match key.len() {
        0 => Err(failed(format!("it printed nothing{}", detail()))),
        MAX_KEY_BYTES.. => Err(failed(format!("its first line has more than {MAX_KEY_BYTES} bytes"))),
        _ => Ok(Secret::new(key)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_shown_by_nothing() {
        let secret = Secret::new(" sk-12345\n");
        assert_eq!(format!("{secret:?}"), "Secret(…)");
        let header = secret.header("Bearer ").unwrap();
        assert_eq!(header.to_str().unwrap(), "Bearer sk-12345");
        assert!(!format!("{header:?}").contains("12345"));
        assert_eq!(Secret::new("two\nlines").header(""), None);
    }

    #[test]
    fn secrets_leave_texts_longest_first() {
        let scrubber = Scrubber::new(["sk-12345", "sk-12345-67890", "x"].map(Secret::new));
        assert_eq!(scrubber.scrub("sk-12345-67890 and sk-12345, x"), "[secret] and [secret], x");
    }

    #[test]
    fn what_a_cut_leaves_of_a_secret_is_none_of_the_text() {
        let scrubber = Scrubber::new(["sk-12345-67890", "schlüssel"].map(Secret::new));
        assert_eq!(scrubber.scrub("key sk-12345-6789… (invalid)"), "key [secret]… (invalid)");
        assert_eq!(scrubber.scrub("a sk-1… b schlü…"), "a [secret]… b [secret]…");
        assert_eq!(scrubber.scrub("sk-… text…"), "sk-… text…");
    }
}
