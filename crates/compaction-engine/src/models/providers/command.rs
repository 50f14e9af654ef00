//! A model behind a program.
//!
//! The program reads the system prompt, a blank line and the prompt from its standard input, and
//! writes the summary to its standard output. It finds
//! `COMPACTD_KIND` (`history`, `turnPrefix`, `branch`) and `COMPACTD_MAX_TOKENS` in its environment,
//! beside what compactd itself inherited. Status 0 means that the summary is whole; 75 (`EX_TEMPFAIL`)
//! that it may work a little later. Every other status is what its standard error says, or, where that
//! is empty, the end of its output: a rate limit, a prompt that is too long, a refusal of the key; else
//! another try will not help. These last lines go into the error, without what the environment holds of
//! keys. It runs in a process group of its own, and whatever of that group is left is killed when the
//! program ends, or when the summary is no longer wanted.

pub(super) mod process;

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use compaction_core::overflow::{ErrorClass, classify};
use compaction_core::prompts::SummaryRequest;

use super::super::RequestContext;
use super::super::configuration::CommandConfiguration;
use super::super::model::{Answer, FailureKind, Model, ModelError, ModelLimits, OnDelta, StopReason};
use super::super::secret::Scrubber;
use super::Environment;
use super::thoughts::Thoughts;
use process::{Ended, Finished};

/// A model behind a program.
#[derive(Debug)]
pub(super) struct CommandModel {
    name: String,
    limits: ModelLimits,
    configuration: CommandConfiguration,
    scrubber: Scrubber,
}

/// Status of programs that failed for now (sysexits.h).
const EX_TEMPFAIL: i32 = 75;

impl CommandModel {
    /// The model that `configuration` describes; starts nothing.
    pub(super) fn new(
        name: &str,
        limits: ModelLimits,
        configuration: &CommandConfiguration,
        environment: &Environment,
    ) -> Self {
        let scrubber = Scrubber::new(environment.secrets());
        Self { name: name.to_owned(), limits, configuration: configuration.clone(), scrubber }
    }

    fn answer(finished: Finished) -> Result<Answer, (FailureKind, String)> {
        let Finished { ended, output, errors } = finished;
        // Some programs tell of errors where the summary should stand. What else stands there is none.
        let is_silent = errors.is_empty() && ended != Ended::Status(0);
        let told = is_silent.then(|| process::end_of(&output)).filter(|told| kind_of(told).is_some());
        let errors = told.unwrap_or(errors);
        let said = if errors.is_empty() { String::new() } else { format!(": {errors}") };
        match ended {
            Ended::Status(0) => {}
            Ended::Status(EX_TEMPFAIL) => {
                let kind = kind_of(&errors).filter(|kind| kind.is_retryable()).unwrap_or(FailureKind::Server);
                return Err((kind, format!("it ended with status {EX_TEMPFAIL}, failing for now{said}")));
            }
            Ended::Status(status) => {
                let kind = kind_of(&errors).unwrap_or(FailureKind::Refused);
                return Err((kind, format!("it ended with status {status}{said}")));
            }
            Ended::Killed(what) => return Err((FailureKind::Refused, format!("it was ended by {what}{said}"))),
        }
        let text = String::from_utf8(output)
            .map_err(|error| (FailureKind::Refused, format!("its output is not UTF-8: {}", error.utf8_error())))?;
        Ok(Answer { text: text.trim().to_owned(), stop: StopReason::Stop, usage: None })
    }
}

/// What the last words of a program mean, if they tell.
fn kind_of(errors: &str) -> Option<FailureKind> {
    match classify(None, errors) {
        ErrorClass::Overflow => Some(FailureKind::Overflow),
        ErrorClass::RateLimit => Some(FailureKind::RateLimited),
        ErrorClass::Quota => Some(FailureKind::Quota),
        ErrorClass::Authentication => Some(FailureKind::Authentication),
        ErrorClass::Overloaded => Some(FailureKind::Overloaded),
        ErrorClass::Other => None,
    }
}

/// What a program writes while it runs, as a person may see it: without codes for a terminal, and
/// without thinking at its beginning.
#[derive(Default)]
struct Shown {
    /// The beginning of a code that goes on in the next piece.
    held: String,
    thoughts: Thoughts,
}

/// Longer codes are none.
const MAX_CODE_BYTES: usize = 256;

impl Shown {
    fn next(&mut self, piece: &str) -> String {
        let mut text = std::mem::take(&mut self.held) + piece;
        let is_open =
            |code: &str| code.len() < MAX_CODE_BYTES && console::strip_ansi_codes(&format!("{code}\u{0}")) != "\u{0}";
        if let Some(start) = text.rfind('\u{1b}').filter(|start| is_open(&text[*start..])) {
            self.held = text.split_off(start);
        }
        self.thoughts.without(&console::strip_ansi_codes(&text))
    }
}

#[async_trait]
impl Model for CommandModel {
    fn limits(&self) -> ModelLimits {
        self.limits
    }

    async fn complete(
        &self,
        request: &SummaryRequest,
        _: &RequestContext,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let input = format!("{}\n\n{}", request.system_prompt, request.prompt);
        let variables = [
            ("COMPACTD_KIND", request.kind.name().to_owned()),
            ("COMPACTD_MAX_TOKENS", request.max_tokens.to_string()),
        ];
        let shown = Mutex::new(Shown::default());
        let on_output = |piece: &str| {
            let text = shown.lock().unwrap_or_else(PoisonError::into_inner).next(piece);
            if !text.is_empty() {
                on_delta(&text);
            }
        };
        let running = process::run(&self.configuration, &variables, input.as_bytes(), &on_output);
        let outcome = running.await.map_err(|error| (FailureKind::Refused, error)).and_then(Self::answer);
        outcome.map_err(|(kind, text)| {
            let cause = format!("{}: {}: {text}", self.name, self.configuration.program);
            ModelError { cause: self.scrubber.scrub(&cause), kind, retry_after: None }
        })
    }
}
