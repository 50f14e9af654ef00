//! A compaction's preparation derived from the peer's facts, with our differences as switches.
//!
//! With every switch off it must be what the peer itself prepares, so that the derivation is
//! checked against the peer in every case; with all of them on it is what we must prepare.

use std::collections::BTreeSet;

use compaction_core::json::Json;
use compaction_core::text::cmp_utf16;

use super::answer::{Files, Preparation, canonical};
use super::facts::{Facts, Projected};
use super::rules::{Rule, Seen};

/// Prepares a compaction by the peer's rules, changed by those of `rules` that apply.
pub(crate) fn prepare(facts: &Facts, keep_recent_tokens: u64, rules: &Seen) -> Option<Preparation> {
    let compaction = facts.projected.first().filter(|projected| projected.kind() == "compaction");
    if compaction.is_some_and(|compaction| is_last_word(facts, compaction, rules)) {
        return None;
    }
    let previous = compaction.filter(|compaction| !compaction.messages.is_empty());
    let span = &facts.projected[usize::from(previous.is_some())..];
    let first_kept = cut(span, keep_recent_tokens, rules)?;
    let turn_start = match starts_turn(&span[first_kept]) {
        true => None,
        false => span[..first_kept].iter().rposition(starts_turn),
    };
    let (history, turn_prefix) = span[..first_kept].split_at(turn_start.unwrap_or(first_kept));
    let (history, turn_prefix) = (conversation(history), conversation(turn_prefix));
    if history.is_empty() && turn_prefix.is_empty() {
        return None;
    }
    Some(Preparation {
        first_kept: span[first_kept].position,
        is_split_turn: turn_start.is_some(),
        history,
        turn_prefix,
        tokens_before: facts.tokens[0],
        previous_summary: previous.and_then(|compaction| compaction.string("summary")).map(str::to_owned),
        files: files(previous, &span[..first_kept], rules),
    })
}

fn is_last_word(facts: &Facts, compaction: &Projected, rules: &Seen) -> bool {
    if !rules.contains(&Rule::CompactedIsDecidedByContext) {
        return compaction.depth == 0;
    }
    let follows = |projected: &Projected| projected.depth < compaction.depth && !projected.messages.is_empty();
    !facts.projected.iter().any(follows)
}

fn cut(span: &[Projected], keep_recent_tokens: u64, rules: &Seen) -> Option<usize> {
    let can_come_first = |role: &str| {
        matches!(role, "user" | "assistant" | "bashExecution" | "custom" | "branchSummary" | "compactionSummary")
    };
    let keeps_pairs = rules.contains(&Rule::CutsPartNoPair);
    let waiting = waiting(span).filter(|_| rules.contains(&Rule::CutsKeepWaitingCalls));
    let candidates: Vec<usize> = (0..span.len())
        .filter(|at| span[*at].kind() != "compaction")
        .filter(|at| span[*at].messages.iter().any(|message| can_come_first(message.role())))
        .filter(|at| !keeps_pairs || !parts_a_pair(span, *at))
        .filter(|at| waiting.is_none_or(|waiting| *at <= waiting))
        .collect();
    let mut cut = *candidates.first()?;
    if let Some(reached) = reached(span, keep_recent_tokens) {
        cut = *candidates.iter().find(|at| **at >= reached).or(candidates.last())?;
        cut += usize::from(is_abandoned(&span[cut + 1..]));
    }
    while cut > 0 && span[cut - 1].kind() != "compaction" && span[cut - 1].messages.is_empty() {
        cut -= 1;
    }
    Some(cut)
}

fn reached(span: &[Projected], keep_recent_tokens: u64) -> Option<usize> {
    let mut sum = 0;
    span.iter().rposition(|projected| {
        let tokens: u64 = projected.messages.iter().map(|message| message.tokens).sum();
        sum += tokens;
        tokens > 0 && sum >= keep_recent_tokens
    })
}

/// Whether some result at or after `at` answers a call before it; a call is the last one of its id
/// before the result.
fn parts_a_pair(span: &[Projected], at: usize) -> bool {
    (at..span.len()).any(|result_at| {
        span[result_at].messages.iter().filter(|message| message.role() == "toolResult").any(|result| {
            let id = result.string("toolCallId");
            (0..=result_at)
                .rev()
                .find(|call_at| calls(&span[*call_at]).any(|call| call == id))
                .is_some_and(|call| call < at)
        })
    })
}

/// The last answer, if it shows a call without a result and neither failed nor was aborted.
fn waiting(span: &[Projected]) -> Option<usize> {
    let stored = |at: usize, key: &str| span[at].entry.get("message").and_then(|message| message.get(key)?.as_str());
    let last = (0..span.len()).rfind(|at| stored(*at, "role") == Some("assistant"))?;
    let is_over = matches!(stored(last, "stopReason"), Some("error" | "aborted"));
    let is_answered = |call: &str| {
        let answers = |at: &usize| stored(*at, "role") == Some("toolResult") && stored(*at, "toolCallId") == Some(call);
        (last..span.len()).any(|at| answers(&at))
    };
    (!is_over && calls(&span[last]).any(|call| !is_answered(call))).then_some(last)
}

fn calls(projected: &Projected) -> impl Iterator<Item = &str> {
    let answers = projected.messages.iter().filter(|message| message.role() == "assistant");
    let blocks = answers.flat_map(|message| match message.value.get("content") {
        Some(Json::Array(blocks)) => &blocks[..],
        _ => &[],
    });
    let calls = blocks.filter(|block| block.get("type").and_then(Json::as_str) == Some("toolCall"));
    calls.filter_map(|call| call.get("id").and_then(Json::as_str))
}

/// The peer's test for attempts that recovery has hidden, which is also ours.
fn is_abandoned(suffix: &[Projected]) -> bool {
    let shows = |projected: &Projected| match projected.kind() {
        "message" | "custom_message" | "compaction" => true,
        "branch_summary" => projected.string("summary").is_some_and(|summary| !summary.is_empty()),
        _ => false,
    };
    let is_omitted = |projected: &Projected| shows(projected) && projected.messages.is_empty();
    let omitted: Vec<Option<&str>> = suffix.iter().filter(|at| is_omitted(at)).map(|at| at.string("id")).collect();
    let rewrites_another = |projected: &Projected| {
        projected.kind() == "context_edit"
            && projected.entry.get("replacement") != Some(&Json::Null)
            && !omitted.contains(&projected.string("targetId"))
    };
    let is_attempt = |projected: &Projected| {
        let role = projected.entry.get("message").and_then(|message| message.get("role"));
        role.and_then(Json::as_str) == Some("assistant") && is_omitted(projected)
    };
    !suffix.iter().any(rewrites_another)
        && suffix.iter().any(is_attempt)
        && suffix.iter().all(|at| at.kind() != "compaction" && (!shows(at) || is_omitted(at)))
}

fn starts_turn(projected: &Projected) -> bool {
    let starts =
        |role: &str| matches!(role, "user" | "bashExecution" | "custom" | "branchSummary" | "compactionSummary");
    projected.kind() != "compaction" && projected.messages.iter().any(|message| starts(message.role()))
}

fn conversation(entries: &[Projected]) -> Vec<String> {
    let messages = entries.iter().flat_map(|projected| &projected.messages);
    messages.filter(|message| message.role() != "system").map(|message| message.canonical.clone()).collect()
}

fn files(previous: Option<&Projected>, summarised: &[Projected], rules: &Seen) -> Files {
    let is_branch = |projected: &&Projected| projected.kind() == "branch_summary";
    let branches = summarised.iter().filter(is_branch).filter(|_| rules.contains(&Rule::BranchSummariesNameFiles));
    let mut lists = Files::default();
    for summary in previous.into_iter().chain(branches) {
        lists.read.extend(listed(&summary.entry, "readFiles", rules));
        lists.edited.extend(listed(&summary.entry, "modifiedFiles", rules));
    }
    for Projected { files, .. } in summarised {
        lists.extend(files);
    }
    Files { read: sorted(lists.read), written: sorted(lists.written), edited: sorted(lists.edited) }
}

pub(crate) fn listed(entry: &Json<'_>, key: &str, rules: &Seen) -> Vec<String> {
    let takes_all = !rules.contains(&Rule::FileListsHoldStrings);
    if entry.get("fromHook") == Some(&Json::Bool(true)) {
        return Vec::new();
    }
    match entry.get("details").and_then(|details| details.get(key)) {
        Some(Json::Array(items)) => {
            items.iter().filter(|item| takes_all || item.as_str().is_some()).map(canonical).collect()
        }
        _ => Vec::new(),
    }
}

/// Each path once, in the order of UTF-16 units of what JavaScript prints for it.
pub(crate) fn sorted(paths: Vec<String>) -> Vec<String> {
    let unique: BTreeSet<String> = paths.into_iter().collect();
    let mut paths: Vec<String> = unique.into_iter().collect();
    let printed = |path: &String| compaction_core::json::decode_string(path).unwrap_or_else(|| path.clone());
    paths.sort_by(|left, right| cmp_utf16(&printed(left), &printed(right)));
    paths
}
