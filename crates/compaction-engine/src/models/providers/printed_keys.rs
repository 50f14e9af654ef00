//! Keys that programs print, such as tokens that are good for an hour.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, timeout};

use super::super::configuration::{CommandConfiguration, KeyCommand};
use super::super::model::FailureKind;
use super::super::secret::{Scrubber, Secret};
use super::command::process::{self, Ended, Finished};
use super::failure::Failure;
use crate::redaction::Redactor;

/// Most bytes of a key. Tokens that hold claims have some thousands.
const MAX_KEY_BYTES: usize = 32 * 1024;

/// The keys that were printed and are still good, by the program that printed them.
#[derive(Debug, Clone, Default)]
pub struct PrintedKeys(Arc<Mutex<HashMap<Command, (Secret, Instant)>>>);

/// A program with its arguments.
type Command = (String, Vec<String>);

/// A key that a program printed.
#[derive(Debug)]
pub(super) struct PrintedKey {
    /// The key.
    pub(super) secret: Secret,
    /// Whether it was printed for an earlier request: then it may have expired.
    pub(super) is_remembered: bool,
}

impl PrintedKeys {
    /// The key of `command`: the one that it printed before, or else it is run.
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

    /// Forgets a key that a server has refused; another one that was printed meanwhile stays.
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

/// Runs the program. Its first line that is not empty is the key. What it says of a failure is told
/// without anything that looks like a secret.
async fn print(command: &KeyCommand) -> Result<Secret, Failure> {
    let program = &command.command.program;
    let failed = |text: String| {
        Failure::new(FailureKind::Authentication, format!("the program {program} of apiKeyCommand gave no key: {text}"))
    };
    let running = process::run(&command.command, &[], b"", &|_| {});
    let Ok(finished) = timeout(command.timeout, running).await else {
        let text = format!("the program {program} of apiKeyCommand took more than {} ms", command.timeout.as_millis());
        return Err(Failure::new(FailureKind::TimedOut, text));
    };
    let Finished { ended, output, errors } = finished.map_err(&failed)?;
    // It may have printed a key, or a part of one, before it failed.
    let words = String::from_utf8_lossy(&output).split_whitespace().map(Secret::new).collect::<Vec<_>>();
    let said = || {
        let errors = Scrubber::new(words.iter().cloned()).scrub(&errors);
        let errors = Redactor::shared().redact(&errors).text.into_owned();
        if errors.is_empty() { String::new() } else { format!(": {errors}") }
    };
    match ended {
        Ended::Status(0) => {}
        Ended::Status(status) => return Err(failed(format!("it ended with status {status}{}", said()))),
        Ended::Killed(what) => return Err(failed(format!("it was ended by {what}{}", said()))),
    }
    let text = std::str::from_utf8(&output).map_err(|_| failed("what it printed is not UTF-8".to_owned()))?;
    let text = text.trim_start_matches('\u{feff}');
    let key = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match key.len() {
        0 => Err(failed(format!("it printed nothing{}", said()))),
        MAX_KEY_BYTES.. => Err(failed(format!("its first line has more than {MAX_KEY_BYTES} bytes"))),
        _ => Ok(Secret::new(key)),
    }
}
