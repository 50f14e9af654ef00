//! What we must answer: the peer's answer, changed by the rules alone.

use std::collections::HashSet;

use compaction_core::json::{self, Json};
use compaction_core::text::utf16_len;

use super::answer::{Answer, canonical};
use super::facts::{Facts, Message};
use super::model;
use super::requests;
use super::rules::{Rule, Seen};

const PREPARATION_RULES: [Rule; 5] = [
    Rule::CompactedIsDecidedByContext,
    Rule::CutsPartNoPair,
    Rule::CutsKeepWaitingCalls,
    Rule::BranchSummariesNameFiles,
    Rule::FileListsHoldStrings,
];

/// What we must answer where the peer says `facts`. `ours` is our answer, of which the wording of
/// introductions is taken. Rules that made a difference are added to `seen`.
///
/// Fails if the derivation of preparations does not even give the peer's own.
pub(crate) fn expect(facts: &Facts, keep_recent_tokens: u64, ours: &Answer, seen: &mut Seen) -> anyhow::Result<Answer> {
    let all: Seen = PREPARATION_RULES.into_iter().collect();
    let prepare = |rules: &Seen| model::prepare(facts, keep_recent_tokens, rules);
    let derived = prepare(&Seen::new());
    anyhow::ensure!(
        derived == facts.preparation,
        "the test derives another preparation than the peer's own:\n    peer    {:?}\n    derived {derived:?}",
        facts.preparation
    );
    requests::check_peer(facts)?;
    let preparation = prepare(&all);
    for rule in PREPARATION_RULES {
        let others: Seen = all.iter().copied().filter(|other| *other != rule).collect();
        if prepare(&others) != preparation {
            seen.insert(rule);
        }
    }
    let texts = texts(facts, ours, seen);
    let messages = facts.messages().map(|message| message.canonical.clone());
    let text_of = messages.zip(texts.iter().cloned()).collect();
    Ok(Answer {
        requests: requests::expect(preparation.as_ref(), &text_of),
        context: facts.messages().map(|message| message.canonical.clone()).collect(),
        thinking_level: facts.thinking_level.clone(),
        model: facts.model.clone(),
        tokens: facts.tokens,
        estimates: facts.messages().map(|message| message.tokens).collect(),
        llm: llm(facts, ours, seen),
        texts,
        preparation,
    })
}

fn llm(facts: &Facts, ours: &Answer, seen: &mut Seen) -> Vec<String> {
    let mut shown: Vec<&Message> = Vec::new();
    for message in facts.messages().filter(|message| message.llm.is_some()) {
        if message.role() == "system" {
            seen.insert(Rule::ModelsGetNoSystemMessages);
        } else if has_failed(message) {
            seen.insert(Rule::ModelsGetNoFailedAnswers);
        } else {
            shown.push(message);
        }
    }
    let mut out = Vec::new();
    let mut tell = |message: &Message, out: &mut Vec<String>| {
        let Some(llm) = &message.llm else { return };
        let our_text = ours.llm.get(out.len()).and_then(|message| first_text(&Json::parse(message).ok()?));
        out.push(reworded_message(message, llm, &our_text.unwrap_or_default(), seen));
    };
    let mut used = HashSet::new();
    let mut is_paired = true;
    for (at, message) in shown.iter().enumerate().filter(|(_, message)| message.role() != "toolResult") {
        tell(message, &mut out);
        let calls: Vec<&str> = call_ids(message).collect();
        let results: Vec<Option<usize>> = calls.iter().map(|id| result_of(id, at, &shown, &mut used)).collect();
        let mut found: Vec<usize> = results.iter().flatten().copied().collect();
        found.sort_unstable();
        is_paired &= found.iter().zip(at + 1..).all(|(result, next)| *result == next);
        found.into_iter().for_each(|result| tell(shown[result], &mut out));
        let goes_on = shown[at + 1..].iter().any(|later| later.role() != "toolResult");
        for (number, _) in results.iter().enumerate().filter(|(_, result)| result.is_none() && goes_on) {
            is_paired = false;
            out.push(missing_result(message, number));
        }
    }
    if !is_paired {
        seen.insert(Rule::ModelsGetResultsBehindTheirCalls);
    }
    if shown.iter().filter(|message| message.role() == "toolResult").count() > used.len() {
        seen.insert(Rule::ModelsGetNoOrphanResults);
    }
    out
}

fn has_failed(message: &Message) -> bool {
    message.role() == "assistant" && ["error", "aborted"].contains(&message.string("stopReason"))
}

/// The first result for a call of the answer at `at`, before another answer calls with the same id.
fn result_of(id: &str, at: usize, shown: &[&Message], used: &mut HashSet<usize>) -> Option<usize> {
    let is_again = |later: &&&Message| call_ids(later).any(|other| other == id);
    let until = shown[at + 1..].iter().position(|later| is_again(&later)).map_or(shown.len(), |next| at + 1 + next);
    let is_result = |later: &usize| {
        let message = shown[*later];
        message.role() == "toolResult" && message.string("toolCallId") == id && !used.contains(later)
    };
    let result = (at + 1..until).find(is_result)?;
    used.insert(result);
    Some(result)
}

fn missing_result(answer: &Message, number: usize) -> String {
    let Some(Json::Array(blocks)) = answer.value.get("content") else { return String::new() };
    let mut calls = blocks.iter().filter(|block| block.get("type").and_then(Json::as_str) == Some("toolCall"));
    let call = calls.nth(number);
    let text = |name: &str| call.and_then(|call| call.get(name)).and_then(Json::as_str).unwrap_or_default();
    let (id, name) = (text("id"), text("name"));
    let time = answer.value.get("timestamp").map_or("null".to_owned(), canonical);
    let text = format!(
        "{{\"role\":\"toolResult\",\"toolCallId\":{},\"toolName\":{},\"content\":[{{\"type\":\"text\",\"text\":\
         \"No result was recorded for this call.\"}}],\"isError\":true,\"timestamp\":{time}}}",
        json::encode_string(id),
        json::encode_string(name),
    );
    canonical(&Json::parse(&text).expect("it is made here"))
}

fn call_ids(message: &Message) -> impl Iterator<Item = &str> {
    let blocks = match message.value.get("content") {
        Some(Json::Array(blocks)) if message.role() == "assistant" => &blocks[..],
        _ => &[],
    };
    let calls = blocks.iter().filter(|block| block.get("type").and_then(Json::as_str) == Some("toolCall"));
    calls.filter_map(|call| call.get("id").and_then(Json::as_str))
}

fn first_text(llm: &Json<'_>) -> Option<String> {
    match llm.get("content") {
        Some(Json::Array(blocks)) => blocks.first()?.get("text")?.as_str().map(str::to_owned),
        _ => None,
    }
}

fn reworded_message(message: &Message, llm: &Json<'static>, our_text: &str, seen: &mut Seen) -> String {
    let Some(text) = first_text(llm) else {
        return canonical(llm);
    };
    let reworded = reworded(message, &text, our_text, seen);
    // Both texts are written the same way, so that the old one is found in the message as it stands.
    canonical(llm).replacen(&json::encode_string(&text), &json::encode_string(&reworded), 1)
}

fn texts(facts: &Facts, ours: &Answer, seen: &mut Seen) -> Vec<String> {
    let reword = |(at, message): (usize, &Message)| {
        let our_text = ours.texts.get(at).map_or("", String::as_str);
        let text = reworded(message, &message.text, our_text, seen);
        if message.role() == "toolResult" { cut_as_ours(&text, seen) } else { text }
    };
    facts.messages().enumerate().map(reword).collect()
}

/// The peer's text of a message in our words.
fn reworded(message: &Message, text: &str, our_text: &str, seen: &mut Seen) -> String {
    let rule = match message.role() {
        "bashExecution" => return reworded_command(message, text, seen),
        "compactionSummary" => Rule::CompactionSummariesAreIntroducedOtherwise,
        "branchSummary" => Rule::BranchSummariesAreIntroducedOtherwise,
        _ => return text.to_owned(),
    };
    seen.insert(rule);
    let introduction = our_text.split_once("\n\n<summary>\n").map_or("", |(introduction, _)| introduction);
    let summary = message.string("summary").replace("</summary", "<\\/summary");
    if summary != message.string("summary") {
        seen.insert(Rule::SummariesCannotEndTheirTags);
    }
    format!("{introduction}\n\n<summary>\n{summary}\n</summary>")
}

fn reworded_command(message: &Message, text: &str, seen: &mut Seen) -> String {
    let code = message.value.get("exitCode").and_then(Json::as_f64);
    let mut endings = Vec::new();
    if message.value.get("cancelled") == Some(&Json::Bool(true)) {
        endings.push(("\n\n(command cancelled)".to_owned(), "\n\n(cancelled)".to_owned()));
    } else if let Some(code) = code.filter(|code| *code != 0.0) {
        endings.push((format!("\n\nCommand exited with code {code}"), format!("\n\nExit code {code}")));
    }
    let path = message.string("fullOutputPath");
    if message.value.get("truncated") == Some(&Json::Bool(true)) && !path.is_empty() {
        let ours = format!("\n\n[Full output: {path}]");
        endings.push((format!("\n\n[Output truncated. Full output: {path}]"), ours));
    }
    let theirs: String = endings.iter().map(|(theirs, _)| theirs.as_str()).collect();
    let ours: String = endings.iter().map(|(_, ours)| ours.as_str()).collect();
    match text.strip_suffix(&theirs) {
        Some(start) if !endings.is_empty() => {
            seen.insert(Rule::CommandsAreWordedOtherwise);
            format!("{start}{ours}")
        }
        _ => text.to_owned(),
    }
}

/// UTF-16 units of a tool result that both sides tell.
const RESULT_UNITS: usize = 2000;

/// A cut result with our marker, which counts the whole pair that the peer cuts before.
fn cut_as_ours(text: &str, seen: &mut Seen) -> String {
    let parts = || {
        let (kept, marker) = text.rsplit_once("\n\n[... ")?;
        let left_out: usize = marker.strip_suffix(" more characters truncated]")?.parse().ok()?;
        Some((kept, utf16_len(kept.strip_prefix("[Tool result]: ")?), left_out))
    };
    let Some((kept, units, left_out)) = parts() else {
        return text.to_owned();
    };
    seen.insert(Rule::CutResultsSaySo);
    let half = RESULT_UNITS.saturating_sub(units);
    if half > 0 {
        seen.insert(Rule::CutResultsCountWholeCharacters);
    }
    format!("{kept}\n\n[{} more characters]", left_out + half)
}
