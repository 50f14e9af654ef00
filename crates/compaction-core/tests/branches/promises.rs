//! Guarantees over random branches: no message vanishes, no pair is separated, and every compaction ends.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::{branch, entry, leaf, project};
use compaction_core::entry::Entry;
use compaction_core::message::Body;
use compaction_core::preparation::Preparation;
use compaction_core::projection::{ProjectedEntry, Projection, ProjectionDiagnostic};
use compaction_core::settings::CompactionSettings;
use proptest::prelude::*;

pub(crate) fn lines() -> impl Strategy<Value = Vec<String>> {
    let calls = "[a-d]( [a-d]){0,2}";
    let line = prop_oneof![
        4 => (0..30usize).prop_map(|tokens| format!("user {tokens}")),
        4 => (0..30usize, calls).prop_map(|(tokens, calls)| format!("assistant {tokens} calls {calls}")),
        2 => (0..30usize).prop_map(|tokens| format!("assistant {tokens}")),
        6 => ("[a-d]", 0..60usize).prop_map(|(call, tokens)| format!("result {call} {tokens}")),
        1 => (0..30usize).prop_map(|tokens| format!("bash {tokens}")),
        1 => (0..30usize).prop_map(|tokens| format!("custom {tokens}")),
        1 => (0..30usize).prop_map(|tokens| format!("branch {tokens}")),
        1 => (0..30usize).prop_map(|tokens| format!("system {tokens}")),
        1 => (0..40usize).prop_map(|target| format!("hide {target}")),
        1 => (0..40usize, 0..30usize).prop_map(|(target, tokens)| format!("rewrite {target} {tokens}")),
        1 => (0..40usize).prop_map(|kept| format!("compaction keeps {kept}")),
        1 => Just("label".to_owned()),
        1 => Just("error".to_owned()),
        1 => (1..900usize).prop_map(|tokens| format!("usage {tokens}")),
    ];
    proptest::collection::vec(line, 0..40).prop_map(|lines| {
        let lines = lines.into_iter().enumerate();
        lines.map(|(position, line)| edits_something_earlier(position, line)).collect()
    })
}

/// An edit names an entry before it (docs/session-format.md, "Lines"); the first entry has none.
fn edits_something_earlier(position: usize, line: String) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    match words[..] {
        ["hide" | "rewrite", ..] if position == 0 => "label".to_owned(),
        ["hide", target] => format!("hide {}", number(target) % position),
        ["rewrite", target, tokens] => format!("rewrite {} {tokens}", number(target) % position),
        _ => line,
    }
}

pub(crate) fn settings(keep_recent_tokens: u64) -> CompactionSettings {
    CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() }
}

/// Texts of the conversation in a context: everything but prompts and the compaction's summary.
pub(crate) fn conversation(projection: &Projection) -> Vec<String> {
    let messages = projection.messages();
    let shown = messages.filter(|message| !matches!(message.body(), Body::System(_) | Body::CompactionSummary { .. }));
    shown.map(|message| message.raw().get().to_owned()).collect()
}

/// The calls that the last answer of a branch waits for, if the context shows it.
fn pending_calls(context: &Projection) -> Vec<String> {
    let entries = context.entries();
    let answer = |projected: &ProjectedEntry| projected.entry.message()?.as_assistant().cloned();
    let Some(last) = entries.iter().rposition(|projected| answer(projected).is_some()) else {
        return Vec::new();
    };
    let is_over = answer(&entries[last]).is_some_and(|answer| answer.stop_reason.as_deref() == Some("error"));
    let later = entries[last + 1..].iter().filter_map(|projected| projected.entry.message());
    let answered: Vec<&str> = later.filter_map(|message| message.answered_call_id()).collect();
    let calls = entries[last].messages.iter().filter(|_| !is_over).flat_map(|message| message.tool_call_ids());
    calls.filter(|call| !answered.contains(call)).map(str::to_owned).collect()
}

/// A random branch, its context, and a compaction of it at its end; `None` if nothing can be summarised.
fn compacted(lines: &[String], keep: u64) -> Option<(Projection, Preparation, Vec<Arc<Entry>>)> {
    let mut entries = branch(&lines.join("\n"));
    let before = project(&entries);
    let preparation = Preparation::of(&before, leaf(&entries), settings(keep), &Default::default()).ok()?;
    entries.push(Arc::new(entry(entries.len(), &format!("compaction keeps {}", preparation.first_kept_entry_id))));
    Some((before, preparation, entries))
}

proptest! {
    #[test]
    fn every_message_is_kept_or_summarised(lines in lines(), keep in 0u64..200) {
        let Some((before, preparation, after)) = compacted(&lines, keep) else { return Ok(()) };
        let summarised = preparation.messages_to_summarize.iter().chain(&preparation.turn_prefix_messages);
        let mut accounted: Vec<String> =
            summarised.map(|prepared| prepared.message.raw().get().to_owned()).collect();
        accounted.extend(conversation(&project(&after)));
        // A summarised edit would show its target again. Edits follow their targets, so a cut keeps the edits of
        // kept entries, and the texts agree.
        prop_assert_eq!(accounted, conversation(&before));
    }

    #[test]
    fn no_pair_is_parted(lines in lines(), keep in 0u64..200) {
        let Some((before, _, after)) = compacted(&lines, keep) else { return Ok(()) };
        let orphans = |context: &Projection| -> HashSet<String> {
            context.diagnostics().iter().map(|diagnostic| format!("{diagnostic:?}")).collect()
        };
        let (was, is) = (orphans(&before), orphans(&project(&after)));
        prop_assert!(is.is_subset(&was), "{is:?} but before {was:?}");
    }

    #[test]
    fn a_result_that_comes_later_finds_its_call(lines in lines(), keep in 0u64..200) {
        let Some((before, _, mut after)) = compacted(&lines, keep) else { return Ok(()) };
        for call in pending_calls(&before) {
            after.push(Arc::new(entry(after.len(), &format!("result {call} 1"))));
            let context = project(&after);
            let orphan = context.diagnostics().iter().find(|diagnostic| match diagnostic {
                ProjectionDiagnostic::OrphanToolResult { entry_id, .. } => Some(entry_id) == leaf(&after),
                ProjectionDiagnostic::UnknownFirstKept { .. }
                | ProjectionDiagnostic::EmptySummary { .. }
                | ProjectionDiagnostic::UnreadableMessage { .. } => false,
            });
            prop_assert!(orphan.is_none(), "the result of {} has lost its call", call);
        }
    }

    #[test]
    fn a_context_that_grows_is_the_context_of_the_grown_branch(lines in lines()) {
        let entries = branch(&lines.join("\n"));
        let mut grown = project(&[]);
        for end in 1..=entries.len() {
            let whole = project(&entries[..end]);
            grown = grown.followed_by(Arc::clone(&entries[end - 1])).unwrap_or_else(|| whole.clone());
            let shown = |projection: &Projection| {
                let entries = projection.entries().iter().map(|projected| {
                    let messages = projected.messages.iter().map(|message| message.raw().get().to_owned());
                    (projected.entry.id().to_string(), projected.depth, messages.collect::<Vec<_>>())
                });
                let settings = (projection.model().cloned(), projection.thinking_level().to_owned());
                (entries.collect::<Vec<_>>(), settings, projection.diagnostics().to_vec())
            };
            prop_assert_eq!(shown(&grown), shown(&whole));
        }
    }

    #[test]
    fn chained_compactions_end(lines in lines(), keep in 0u64..100) {
        let mut entries = branch(&lines.join("\n"));
        for _ in 0..entries.len() + 2 {
            match Preparation::of(&project(&entries), leaf(&entries), settings(keep), &Default::default()) {
                Ok(preparation) => {
                    let line = format!("compaction keeps {}", preparation.first_kept_entry_id);
                    entries.push(Arc::new(entry(entries.len(), &line)));
                }
                Err(_) => return Ok(()),
            }
        }
        prop_assert!(false, "compactions follow each other for ever");
    }
}

fn number(word: &str) -> usize {
    word.parse().expect("the strategy writes numbers here")
}
