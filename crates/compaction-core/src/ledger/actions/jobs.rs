//! Commands that run in the background.

use std::collections::HashMap;

use crate::json::Json;
use crate::ledger::terms::TextHashing;
use crate::message::ToolCall;
use crate::tools::running;

/// Number of messages of the person after which a command in the background is no longer listed.
const TURNS_OF_JOB: usize = 2;
/// Most commands in the background.
const MOST_JOBS: usize = 6;

/// Number of such messages after which an agent in the background is no longer listed, besides these.
const MORE_OF_AGENT: usize = 2;
/// How results begin that only say that an agent works in the background.
const AGENT_BEGUN: [&str; 4] =
    ["Backgrounded agent", "Running in the background", "Async agent launched", "Agent launched in the background"];

/// What comes before and after the title of a job in the notice of its end.
const TITLED: [&str; 2] = ["Agent \"", "Background command \""];
const ENDED: [&str; 7] =
    [" completed", " finished", " failed", " stopped", " was stopped", " was killed", " timed out"];
/// Shortest title that names one job, in bytes.
const SHORTEST_TITLE: usize = 4;
/// Most ends that a text tells.
const MOST_ENDS: usize = 16;

/// The titles of the jobs whose ends a text tells.
fn ended_jobs(text: &str) -> impl Iterator<Item = &str> {
    let starts =
        TITLED.iter().flat_map(move |start| text.match_indices(start).map(|(at, found)| &text[at + found.len()..]));
    starts.filter_map(|rest| {
        let line = rest.lines().next()?;
        let ends = line.match_indices('"').find(|(at, _)| ENDED.iter().any(|end| line[at + 1..].starts_with(end)));
        let title = line[..ends?.0].trim_end_matches('\u{2026}').trim();
        (title.len() >= SHORTEST_TITLE).then_some(title)
    })
}

/// Whether a result only says that an agent works in the background.
pub(super) fn begins_agent(output: &str) -> bool {
    AGENT_BEGUN.iter().any(|start| output.trim_start().starts_with(start))
}

/// A command that runs in the background.
#[derive(Debug, Clone)]
struct Job {
    id: String,
    command: String,
    /// Number of messages of the person before it.
    turn: usize,
}

/// The commands that still run in the background.
#[derive(Debug, Default, Clone)]
pub(super) struct Jobs {
    /// The oldest first.
    list: Vec<Job>,
    /// Calls that read the output of such a command, with its id.
    reading: HashMap<String, String, TextHashing>,
    /// Number of messages of the person.
    turns: usize,
}

impl Jobs {
    /// Records that a command keeps running after its result.
    pub(super) fn begin(&mut self, id: &str, command: &str) {
        self.list.retain(|job| job.command != command);
        if self.list.len() == MOST_JOBS {
            self.list.remove(0);
        }
        self.list.push(Job { id: id.to_owned(), command: command.to_owned(), turn: self.turns });
    }

    /// Records an agent that works in the background. Its end is often told in words only.
    pub(super) fn begin_agent(&mut self, task: &str) {
        self.begin("", task);
        if let Some(job) = self.list.last_mut() {
            job.turn += MORE_OF_AGENT;
        }
    }

    /// Records a call, which may read the output of a job.
    pub(super) fn note_call(&mut self, call: &ToolCall) {
        if self.list.is_empty() {
            return;
        }
        let names = |value: &Json<'_>, id: &str| {
            value.as_str().map_or_else(|| value.as_f64().is_some_and(|own| own.to_string() == id), |own| own == id)
        };
        let arguments = call.arguments.as_ref().and_then(Json::as_object).unwrap_or_default();
        let is_read = |job: &&Job| !job.id.is_empty() && arguments.iter().any(|(_, value)| names(value, &job.id));
        if let Some(job) = self.list.iter().find(is_read) {
            self.reading.insert(call.id.clone(), job.id.clone());
        }
    }

    /// Ends the job whose output a call read, unless the result says that it still runs.
    pub(super) fn end_reading(&mut self, call_id: &str, output: &str) {
        if let Some(id) = self.reading.remove(call_id).filter(|_| running(output).is_none()) {
            self.list.retain(|job| job.id != id);
        }
    }

    /// Removes the jobs whose ends a text tells with their titles: `Agent "Check the menu" completed`. A copied screen has
    /// such lines among the model's words.
    pub(super) fn note_ends(&mut self, text: &str) {
        if self.list.is_empty() {
            return;
        }
        for title in ended_jobs(text).take(MOST_ENDS) {
            let escaped = title.replace('\\', "\\\\").replace('"', "\\\"");
            self.list.retain(|job| !job.command.contains(title) && !job.command.contains(&escaped));
        }
    }

    /// Removes all agents.
    pub(super) fn end_agents(&mut self) {
        self.list.retain(|job| !job.id.is_empty());
    }

    /// Removes the jobs that have ended according to `text`, which a harness wrote.
    pub(super) fn note_notice(&mut self, text: &str) {
        self.note_ends(text);
        self.list.retain(|job| job.id.is_empty() || !text.contains(&job.id) || running(text).is_some());
    }

    /// Records words of a person, which begin a new turn.
    pub(super) fn begin_turn(&mut self) {
        self.turns += 1;
        let turns = self.turns;
        self.list.retain(|job| job.turn + TURNS_OF_JOB > turns);
    }

    /// The commands, the oldest first.
    pub(super) fn finish(self) -> Vec<String> {
        self.list.into_iter().map(|job| job.command).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_works_longer_than_a_command() {
        assert!(begins_agent("Backgrounded agent (see the list)") && !begins_agent("The agent is done."));
        let mut jobs = Jobs::default();
        jobs.begin("", "make menu");
        jobs.begin_agent("clean the menu");
        (0..TURNS_OF_JOB).for_each(|_| jobs.begin_turn());
        assert_eq!(jobs.clone().finish(), ["clean the menu"]);
        (0..MORE_OF_AGENT).for_each(|_| jobs.begin_turn());
        assert!(jobs.finish().is_empty());
    }

    #[test]
    fn the_title_of_an_agent_ends_it() {
        for (text, left) in [
            ("Agent \"Check the \"menu\" page\" completed", &["Agent({\"input\":\"Print the menu\"})"][..]),
            (
                "<summary>Agent \"Print the menu\" was stopped</summary>",
                &["Agent({\"input\":\"Check the \\\"menu\\\" page\"})"],
            ),
            (
                "I started the agent \"Print the menu\" and completed the page.",
                &["Agent({\"input\":\"Check the \\\"menu\\\" page\"})", "Agent({\"input\":\"Print the menu\"})"],
            ),
        ] {
            let mut jobs = Jobs::default();
            jobs.begin_agent("Agent({\"input\":\"Check the \\\"menu\\\" page\"})");
            jobs.begin_agent("Agent({\"input\":\"Print the menu\"})");
            jobs.note_ends(text);
            assert_eq!(jobs.finish(), left, "{text}");
        }
        let mut jobs = Jobs::default();
        jobs.begin_agent("Agent({\"input\":\"Print the menu\"})");
        jobs.begin("b1", "make serve");
        jobs.end_agents();
        assert_eq!(jobs.finish(), ["make serve"]);
    }
}
