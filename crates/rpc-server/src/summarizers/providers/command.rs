//! A model behind a program.
//!
//! The program reads the system prompt, a blank line and the prompt from its standard input, and
//! writes the summary to its standard output; white space around it is dropped. It finds
//! `COMPACTD_KIND` (`history`, `turnPrefix`, `branch`) and `COMPACTD_MAX_TOKENS` in its environment,
//! beside what compactd itself inherited. Status 0 means that the summary is whole; 75 (`EX_TEMPFAIL`)
//! that it may work a little later; every other status that it will not. The last lines of its
//! standard error go into the error, without what the environment holds of keys. It runs in a process group of its own, and whatever of that
//! group is left is killed when the program ends, or when the summary is no longer wanted.

mod process;

use async_trait::async_trait;
use compaction_core::prompts::SummaryRequest;

use super::super::Occasion;
use super::super::configuration::CommandConfiguration;
use super::super::model::{Answer, FailureKind, Model, ModelError, ModelLimits, OnDelta, StopReason};
use super::super::secret::Scrubber;
use super::Environment;
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
        let said = if errors.is_empty() { String::new() } else { format!(": {errors}") };
        match ended {
            Ended::Status(0) => {}
            Ended::Status(EX_TEMPFAIL) => {
                return Err((
                    FailureKind::Server,
                    format!("it ended with status {EX_TEMPFAIL}, failing for now{said}"),
                ));
            }
            Ended::Status(status) => {
                return Err((FailureKind::Refused, format!("it ended with status {status}{said}")));
            }
            Ended::Killed(what) => return Err((FailureKind::Refused, format!("it was ended by {what}{said}"))),
        }
        let text = String::from_utf8(output)
            .map_err(|error| (FailureKind::Refused, format!("its output is not UTF-8: {}", error.utf8_error())))?;
        Ok(Answer { text: text.trim().to_owned(), stop: StopReason::Stop, usage: None })
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
        _: &Occasion,
        on_delta: OnDelta<'_>,
    ) -> Result<Answer, ModelError> {
        let input = format!("{}\n\n{}", request.system_prompt, request.prompt);
        let variables = [
            ("COMPACTD_KIND", request.kind.name().to_owned()),
            ("COMPACTD_MAX_TOKENS", request.max_tokens.to_string()),
        ];
        let running = process::run(&self.configuration, &variables, input.as_bytes(), on_delta);
        let outcome = running.await.map_err(|error| (FailureKind::Refused, error)).and_then(Self::answer);
        outcome.map_err(|(kind, text)| {
            let cause = format!("{}: {}: {text}", self.name, self.configuration.program);
            ModelError { cause: self.scrubber.scrub(&cause), kind, retry_after: None }
        })
    }
}
