//! What a summarizer is asked for a compaction: the conversation, the summary to update, the focus.
//!
//! The instructions around them are each side's own. The peer's requests are caught by a model that
//! answers nothing; ours come from `prepareCompaction`.

use std::collections::HashMap;

use anyhow::Context as _;
use compaction_core::json::Json;
use compaction_core::prompts::{PromptTexts, escape_tags};

use super::answer::Preparation;
use super::facts::{Facts, array, member};

/// The instructions that both sides are given.
pub(crate) const FOCUS: &str = "Look at the tests.";

/// One request without the instructions of its side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    instructions: Instructions,
    /// Conversation and previous summary, between their tags.
    quoted: String,
    /// The beginning of the current turn, which the request for a history is told of.
    turn: Option<String>,
    has_focus: bool,
}

/// Leading characters of a current turn that are compared. The rest of a long one is cut.
const TURN_CHARACTERS: usize = 400;

fn beginning_of(turn: &str) -> String {
    turn.chars().take(TURN_CHARACTERS).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Instructions {
    First,
    Update,
    TurnPrefix,
    Unknown,
}

/// Our requests, as `prepareCompaction` tells them.
pub(crate) fn ours(answer: &Json<'_>) -> anyhow::Result<Vec<Request>> {
    let prompt = |request: &Json<'_>| anyhow::Ok(our_request(member(request, "prompt")?.as_str().context("a prompt")?));
    array(answer, "requests")?.iter().map(prompt).collect()
}

fn our_request(prompt: &str) -> Request {
    let texts = PromptTexts::default();
    let without_focus = prompt.strip_suffix(&focus());
    let rest = without_focus.unwrap_or(prompt);
    let with_turn = rest.strip_suffix(&format!("\n\n{}", texts.before_turn));
    let rest = with_turn.unwrap_or(rest);
    let known = [
        (Instructions::First, &texts.first),
        (Instructions::Update, &texts.update),
        (Instructions::TurnPrefix, &texts.turn_prefix),
    ];
    let found = known.into_iter().find_map(|(instructions, text)| Some((instructions, rest.strip_suffix(text)?)));
    let (instructions, quoted) = found.unwrap_or((Instructions::Unknown, rest));
    let (quoted, turn) = match quoted.split_once("<current-turn>\n") {
        Some((quoted, turn)) if with_turn.is_some() => (quoted, turn.strip_suffix("\n</current-turn>\n\n")),
        _ => (quoted, None),
    };
    let turn = turn.map(beginning_of);
    Request { instructions, quoted: quoted.to_owned(), turn, has_focus: without_focus.is_some() }
}

/// The requests that we must make for `preparation`, where `texts` are those of each message.
pub(crate) fn expect(preparation: Option<&Preparation>, texts: &HashMap<String, String>) -> Vec<Request> {
    let request = |instructions, quoted, turn| Request { instructions, quoted, turn, has_focus: true };
    let mut requests = Vec::new();
    let Some(preparation) = preparation else { return requests };
    if !preparation.history.is_empty() {
        let previous = preparation.previous_summary.as_deref();
        let instructions = if previous.is_some() { Instructions::Update } else { Instructions::First };
        let conversation = block("conversation", &escape_tags(&joined(&preparation.history, texts)));
        let previous = previous.map(|previous| block("previous-summary", &escape_tags(previous)));
        let turn = escape_tags(&joined(&preparation.turn_prefix, texts)).into_owned();
        let turn = Some(beginning_of(&turn)).filter(|turn| !turn.is_empty());
        requests.push(request(instructions, conversation + &previous.unwrap_or_default(), turn));
    }
    if !preparation.turn_prefix.is_empty() {
        let conversation = block("conversation", &escape_tags(&joined(&preparation.turn_prefix, texts)));
        requests.push(request(Instructions::TurnPrefix, conversation, None));
    }
    requests
}

/// Fails where the peer's own requests are not what follows from its own preparation.
pub(crate) fn check_peer(facts: &Facts) -> anyhow::Result<()> {
    let texts = facts.messages().map(|message| (message.canonical.clone(), message.text.clone())).collect();
    let mut beginnings = Vec::new();
    if let Some(preparation) = &facts.preparation {
        if !preparation.history.is_empty() {
            let previous = preparation.previous_summary.as_deref().filter(|previous| !previous.is_empty());
            let previous = previous.map(|previous| block("previous-summary", previous)).unwrap_or_default();
            beginnings.push(block("conversation", &joined(&preparation.history, &texts)) + &previous);
        }
        if !preparation.turn_prefix.is_empty() {
            let conversation = joined(&preparation.turn_prefix, &texts);
            beginnings.push(format!("# Conversation\n{conversation}\n\n# Instructions\n"));
        }
    }
    let follows = |(prompt, beginning): (&String, &String)| prompt.starts_with(beginning) && prompt.ends_with(&focus());
    let all_follow = facts.prompts.iter().zip(&beginnings).all(follows);
    anyhow::ensure!(
        all_follow && facts.prompts.len() == beginnings.len(),
        "the peer asks otherwise than the test derives:\n    peer    {:?}\n    derived {beginnings:?}",
        facts.prompts
    );
    Ok(())
}

fn focus() -> String {
    format!("\n\nAdditional focus: {FOCUS}")
}

fn block(name: &str, text: &str) -> String {
    format!("<{name}>\n{text}\n</{name}>\n\n")
}

/// The texts of messages as one; a message that gives none leaves no gap.
fn joined(messages: &[String], texts: &HashMap<String, String>) -> String {
    let texts = messages.iter().filter_map(|message| texts.get(message)).map(String::as_str);
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n\n")
}
