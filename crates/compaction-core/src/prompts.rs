//! Requests to a summarizer: wording and structure of prompts (docs/summaries.md, "Prompts").

mod escape;
mod instruction;
mod texts;

use crate::summary::SummaryKind;
use crate::tokens::estimate_text;

pub use escape::escape_tags;
pub use texts::PromptTexts;

/// Maximum output tokens of a branch summary. It is added to a live context, so it has to stay small
/// whatever the reserve is.
pub const BRANCH_MAX_TOKENS: u64 = 4096;

/// What a request asks a summarizer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// The summary of the history.
    History,
    /// The summary of a turn prefix.
    TurnPrefix,
    /// The summary of a branch that is left.
    Branch,
}

impl RequestKind {
    /// The kind of summary that answers it.
    pub fn summary_kind(self) -> SummaryKind {
        match self {
            RequestKind::History => SummaryKind::History,
            RequestKind::TurnPrefix => SummaryKind::TurnPrefix,
            RequestKind::Branch => SummaryKind::Branch,
        }
    }

    /// The kind's name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            RequestKind::History => "history",
            RequestKind::TurnPrefix => "turnPrefix",
            RequestKind::Branch => "branch",
        }
    }
}

/// One request, ready to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryRequest {
    /// What it asks for.
    pub kind: RequestKind,
    /// The system prompt.
    pub system_prompt: String,
    /// The user's prompt: conversation, previous summary, instructions, focus.
    pub prompt: String,
    /// Maximum output tokens.
    pub max_tokens: u64,
    /// Estimated tokens of system prompt and prompt together.
    pub estimated_tokens: u64,
}

impl SummaryRequest {
    /// A repair request after an answer that lacked headings.
    pub fn repaired(&self, answer: &str, missing_headings: &[&str]) -> Self {
        let prompt = format!(
            "{}\n\n{}Your last answer, shown above, lacks these headings: {}. Write the whole summary again, with \
             every heading of the format in its order. Keep what the answer says; put \"(none)\" under a heading that \
             has nothing to hold.",
            self.prompt,
            block("previous-answer", answer),
            missing_headings.join(", "),
        );
        Self { estimated_tokens: estimate_text(&self.system_prompt) + estimate_text(&prompt), prompt, ..self.clone() }
    }
}

/// Limits for the output of a request, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLimits {
    /// `reserveTokens` of the settings.
    pub reserve_tokens: u64,
    /// Maximum output tokens of the summarizing model, if known.
    pub model_max_tokens: Option<u64>,
}

impl OutputLimits {
    /// Maximum output tokens of a request: 0.8 of the reserve for a history and 0.5 for a turn prefix,
    /// rounded down; [`BRANCH_MAX_TOKENS`] for a branch. At most the model's own limit and at least 1.
    pub fn max_tokens(&self, kind: RequestKind) -> u64 {
        let reserve = self.reserve_tokens;
        let wanted = match kind {
            // In this order no product can overflow.
            RequestKind::History => reserve / 5 * 4 + reserve % 5 * 4 / 5,
            RequestKind::TurnPrefix => reserve / 2,
            RequestKind::Branch => BRANCH_MAX_TOKENS,
        };
        wanted.min(self.model_max_tokens.unwrap_or(u64::MAX)).max(1)
    }
}

/// The content of a history request.
#[derive(Debug, Clone, Copy)]
pub struct HistoryPrompt<'a> {
    /// The serialised messages.
    pub conversation: &'a str,
    /// The summary to update, if there is one.
    pub previous_summary: Option<&'a str>,
    /// The caller's instructions, added as a focus.
    pub custom_instructions: Option<&'a str>,
}

/// The content of a branch request.
#[derive(Debug, Clone, Copy)]
pub struct BranchPrompt<'a> {
    /// The serialised messages.
    pub conversation: &'a str,
    /// The caller's instructions.
    pub custom_instructions: Option<&'a str>,
    /// Whether they replace the default instructions instead of being added to them.
    pub replace_instructions: bool,
}

impl PromptTexts {
    /// The request for the summary of a history: an update if there is a previous summary, otherwise a
    /// first summary.
    pub fn history_request(&self, prompt: HistoryPrompt<'_>, limits: &OutputLimits) -> SummaryRequest {
        let wording = self.wording(RequestKind::History, prompt.custom_instructions, false);
        wording.request(prompt.conversation, prompt.previous_summary, limits.max_tokens(RequestKind::History))
    }

    /// The request for the summary of a turn prefix, `conversation`.
    pub fn turn_prefix_request(
        &self,
        conversation: &str,
        custom_instructions: Option<&str>,
        limits: &OutputLimits,
    ) -> SummaryRequest {
        let wording = self.wording(RequestKind::TurnPrefix, custom_instructions, false);
        wording.request(conversation, None, limits.max_tokens(RequestKind::TurnPrefix))
    }

    /// The request for the summary of a branch.
    pub fn branch_request(&self, prompt: BranchPrompt<'_>, limits: &OutputLimits) -> SummaryRequest {
        let wording = self.wording(RequestKind::Branch, prompt.custom_instructions, prompt.replace_instructions);
        wording.request(prompt.conversation, None, limits.max_tokens(RequestKind::Branch))
    }

    /// The wording of a request of `kind`. If `replaces` is set, `custom_instructions` replace the
    /// default instructions for a branch; otherwise they are added as a focus.
    pub(crate) fn wording(&self, kind: RequestKind, custom_instructions: Option<&str>, replaces: bool) -> Wording {
        let custom = custom_instructions.filter(|text| !text.trim().is_empty());
        let replacement = custom.filter(|_| replaces && kind == RequestKind::Branch);
        let first = replacement.unwrap_or(match kind {
            RequestKind::History => &self.first,
            RequestKind::TurnPrefix => &self.turn_prefix,
            RequestKind::Branch => &self.branch,
        });
        let update = match kind {
            RequestKind::History => self.update.clone(),
            RequestKind::TurnPrefix | RequestKind::Branch => format!("{first}\n\n{}", self.continued),
        };
        let focus = custom.filter(|_| replacement.is_none()).map(|focus| focus.trim().to_owned());
        Wording { kind, system: self.system.clone(), first: first.to_owned(), update, focus }
    }
}

/// The wording around the quoted text of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wording {
    pub(crate) kind: RequestKind,
    /// The system prompt.
    pub(crate) system: String,
    /// Instructions without a previous summary.
    first: String,
    /// Instructions with a previous summary.
    update: String,
    /// The focus of the summary.
    focus: Option<String>,
}

impl Wording {
    /// The request about `conversation`: an update if there is a previous summary.
    pub(crate) fn request(&self, conversation: &str, previous: Option<&str>, max_tokens: u64) -> SummaryRequest {
        let prompt = self.prompt(conversation, previous);
        SummaryRequest {
            kind: self.kind,
            estimated_tokens: estimate_text(&self.system) + estimate_text(&prompt),
            max_tokens,
            system_prompt: self.system.clone(),
            prompt,
        }
    }

    /// The prompt of that request.
    pub(crate) fn prompt(&self, conversation: &str, previous: Option<&str>) -> String {
        let mut prompt = block("conversation", conversation);
        if let Some(previous) = previous {
            prompt.push_str(&block("previous-summary", previous));
        }
        prompt.push_str(&self.instructions(previous.is_some()));
        prompt
    }

    /// What stands behind the conversation: the instructions with the focus.
    fn instructions(&self, is_update: bool) -> String {
        let mut instructions = if is_update { &self.update } else { &self.first }.clone();
        if let Some(focus) = &self.focus {
            instructions.push_str("\n\nAdditional focus: ");
            instructions.push_str(focus);
        }
        instructions
    }
}

/// `text` between the tags of `name`, followed by a blank line.
fn block(name: &str, text: &str) -> String {
    format!("<{name}>\n{}\n</{name}>\n\n", escape_tags(text))
}

#[cfg(test)]
mod tests;
