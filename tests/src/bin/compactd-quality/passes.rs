//! Compacting a session away, once or again and again.

use anyhow::Context as _;
use compaction_core::extractive::{ExtractiveInput, Style, summarize};
use compaction_core::file_operations::{FileOperations, FileTools};
use compaction_core::ledger::{Ledger, STORED_BYTES};
use compaction_core::message::Body;
use compaction_core::preparation::PreparedMessage;
use compaction_core::summary::{SummaryKind, append_file_blocks};
use compaction_core::tokens::estimate_text;

/// How a session is compacted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) passes: usize,
    /// Tokens of the summary with its file blocks.
    pub(crate) budget_tokens: u64,
}

/// How many of the messages are compacted away.
pub(crate) fn cut(messages: &[PreparedMessage]) -> usize {
    messages.len() * 4 / 5
}

/// As many parts of about the same length; like every cut, none parts a call from its result.
fn parts(messages: &[PreparedMessage], passes: usize) -> Vec<&[PreparedMessage]> {
    let length = messages.len().div_ceil(passes).max(1);
    let is_result = |prepared: &PreparedMessage| matches!(prepared.message.body(), Body::ToolResult { .. });
    let mut parts = Vec::new();
    let mut rest = messages;
    while !rest.is_empty() {
        let results = rest.iter().skip(length).take_while(|prepared| is_result(prepared)).count();
        let (part, after) = rest.split_at(rest.len().min(length + results));
        parts.push(part);
        rest = after;
    }
    parts
}

/// What a model gets in place of the first four fifths.
pub(crate) fn run(messages: &[PreparedMessage], plan: Plan) -> anyhow::Result<String> {
    let evicted = &messages[..cut(messages)];
    let tools = FileTools::default();
    let mut files = FileOperations::default();
    let mut previous: Option<(Ledger, String)> = None;
    for part in parts(evicted, plan.passes) {
        part.iter().for_each(|prepared| files.add_message(&prepared.message, &tools));
        let lists = files.lists();
        let blocks = append_file_blocks("", &lists.read_files, &lists.modified_files);
        let ledger = previous.as_ref().map(|(ledger, _)| ledger);
        let input = ExtractiveInput {
            kind: SummaryKind::History,
            messages: part,
            previous_ledger: ledger,
            previous_summary: previous.as_ref().map(|(_, summary)| summary.as_str()),
            tools: &tools,
            style: Style {
                custom_instructions: None,
                max_tokens: plan.budget_tokens.saturating_sub(estimate_text(&blocks)),
                citations: false,
                turn: None,
                with_turn: None,
            },
        };
        let text = summarize(&input, &|| false)?;
        let stored = Ledger::collect(part, ledger, &tools).to_json_beside(&text, STORED_BYTES);
        let details = format!("{{\"compactd\":{{\"ledger\":{stored}}}}}");
        let next = Ledger::read_beside(&details, Some(&text)).context("the ledger that was stored can be read")?;
        previous = Some((next, append_file_blocks(&text, &lists.read_files, &lists.modified_files)));
    }
    Ok(previous.map(|(_, summary)| summary).unwrap_or_default())
}
