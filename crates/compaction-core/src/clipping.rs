//! Shortens tool results that are larger than the window. The stored entry stays whole.
//!
//! Every compaction keeps at least the end of the context: the last answer with tool calls and all its
//! results. If one of these results is larger than the window, no summary can make room. A context edit
//! then shows its beginning and end, and says where the whole result is.

use serde_json::value::RawValue;

use crate::entry::{Entry, EntryId};
use crate::entry_text::EntryText;
use crate::json::{self, RawObject};
use crate::message::{Block, Body, Content, Message, text_block};
use crate::projection::{ProjectedEntry, Projection};
use crate::text::{UNITS_PER_TOKEN, prefix_utf16, suffix_utf16, utf16_len};

/// Minimum tokens that remain of a result. If even so little is too much, nothing is cut.
const LEAST_TOKENS: u64 = 64;
/// Maximum UTF-16 units of the note about the omission.
const NOTE_UNITS: u64 = 220;
/// Text that identifies the note.
const NOTE: &str = "characters of this result are left out";

/// A shortened result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clip {
    /// The entry of the result.
    pub entry_id: EntryId,
    /// Its replacement for the model, as JSON.
    pub content: String,
    /// Estimated tokens in the present context.
    pub tokens_before: u64,
    /// Estimated tokens afterwards.
    pub tokens_after: u64,
}

impl Clip {
    /// The members of the context edit that shortens the result.
    pub fn members(&self) -> String {
        let target = json::encode_string(self.entry_id.as_str());
        format!("{{\"targetId\":{target},\"replacement\":{{\"content\":{}}}}}", self.content)
    }
}

/// The results to shorten so that the entries from `tail` on have at most half of `room` estimated
/// tokens, or at most `room` if half is too little. `None` means all entries after the last
/// compaction's summary. Only the largest results are cut, all to the same size. Empty if the entries
/// fit into `room`, or if cutting results is not enough.
pub fn clip_tail(projection: &Projection, tail: Option<&EntryId>, room: u64) -> Vec<Clip> {
    let entries = &projection.entries()[usize::from(projection.compaction().is_some())..];
    let first = tail.and_then(|tail| entries.iter().position(|projected| projected.entry.id() == tail));
    let entries = &entries[first.unwrap_or(0)..];
    let weight = |projected: &ProjectedEntry| {
        let messages = projected.messages.iter().filter(|message| message.as_system().is_none());
        messages.map(|message| message.tokens()).sum::<u64>()
    };
    let whole: u64 = entries.iter().map(weight).sum();
    let results: Vec<(&ProjectedEntry, &Message)> = entries.iter().filter_map(result_of).collect();
    let of_results: u64 = results.iter().map(|(_, message)| message.tokens()).sum();
    let others = whole - of_results;
    let tokens: Vec<u64> = results.iter().map(|(_, message)| message.tokens()).collect();
    let size = [room / 2, room].iter().find_map(|most| largest_size(&tokens, most.saturating_sub(others)));
    let Some(size) = size.filter(|_| whole > room) else {
        return Vec::new();
    };
    let clip = |(projected, message): (&ProjectedEntry, &Message)| clipped(projected, message, size);
    results.into_iter().filter(|(_, message)| message.tokens() > size).filter_map(clip).collect()
}

fn result_of(projected: &ProjectedEntry) -> Option<(&ProjectedEntry, &Message)> {
    let message = projected.messages.first()?;
    matches!(message.body(), Body::ToolResult { .. }).then_some((projected, message.as_ref()))
}

/// The size to which results with these `tokens` have to be cut so that they fit into `room` together.
/// `None` if no cut is needed or the size is too small.
fn largest_size(tokens: &[u64], room: u64) -> Option<u64> {
    let mut sorted = tokens.to_vec();
    sorted.sort_unstable();
    let mut left = room;
    for (position, tokens) in sorted.iter().enumerate() {
        let share = left / (sorted.len() - position) as u64;
        if *tokens > share {
            return (share >= LEAST_TOKENS).then_some(share);
        }
        left -= tokens;
    }
    None
}

fn clipped(projected: &ProjectedEntry, shown: &Message, size: u64) -> Option<Clip> {
    // A result that was cut before is cut again from the whole, so that notes do not accumulate.
    let is_ours = shown.display_text().contains(NOTE);
    let whole = projected.entry.message().filter(|_| is_ours);
    let content = cut_content(whole.map_or(shown, |whole| whole.as_ref()), &projected.entry, size)?;
    let raw = RawValue::from_string(content.clone()).ok()?;
    let tokens_after = shown.with_content(&raw).tokens();
    let (entry_id, tokens_before) = (projected.entry.id().clone(), shown.tokens());
    (tokens_after < tokens_before).then_some(Clip { entry_id, content, tokens_before, tokens_after })
}

/// The blocks of a result with each text cut in its middle to its share. Images and other blocks are
/// unchanged.
fn cut_content(message: &Message, entry: &Entry, size: u64) -> Option<String> {
    let Body::ToolResult { content, .. } = message.body() else {
        return None;
    };
    let texts: Vec<&str> = match content {
        Content::Text(text) => vec![text.as_str()],
        Content::Blocks(blocks) => blocks.iter().filter_map(Block::as_text).collect(),
    };
    let of_texts: u64 = texts.iter().map(|text| utf16_len(text) as u64).sum();
    let others = message.tokens().saturating_sub(of_texts.div_ceil(UNITS_PER_TOKEN));
    let units = size.saturating_sub(others).saturating_mul(UNITS_PER_TOKEN);
    let stored_text = EntryText::of(entry);
    let cut = |text: &str, block: Option<usize>| {
        let share = u128::from(units) * utf16_len(text) as u128 / u128::from(of_texts.max(1));
        // An edit of the client may show a different text from that of the entry.
        let part = stored_text.parts.iter().find(|part| part.block == block);
        let part = part.filter(|part| stored_text.text[part.range.clone()] == *text);
        let start = part.map(|part| utf16_len(&stored_text.text[..part.range.start]));
        text_block(&cut_text(text, &Place { id: entry.id(), start }, u64::try_from(share).unwrap_or(u64::MAX)))
    };
    let raw = RawObject::parse(message.raw().get()).ok()?;
    let stored: Vec<&RawValue> = serde_json::from_str(raw.get("content")?).unwrap_or_default();
    let blocks: Vec<String> = match content {
        Content::Text(text) => vec![cut(text, None)],
        Content::Blocks(blocks) => {
            let both = blocks.iter().zip(stored).enumerate();
            both.map(|(at, (block, stored))| match block.as_text() {
                Some(text) => cut(text, Some(at)),
                None => stored.get().to_owned(),
            })
            .collect()
        }
    };
    Some(format!("[{}]", blocks.join(",")))
}

/// Where a text is stored.
struct Place<'a> {
    /// The entry.
    id: &'a EntryId,
    /// UTF-16 units before it in the entry's whole text; `None` if the entry has another text.
    start: Option<usize>,
}

/// `text` with its middle left out, with at most `units` UTF-16 units including the note. Two thirds
/// come from its beginning, the rest from its end.
fn cut_text(text: &str, place: &Place<'_>, units: u64) -> String {
    if utf16_len(text) as u64 <= units {
        return text.to_owned();
    }
    let kept = usize::try_from(units.saturating_sub(NOTE_UNITS)).unwrap_or(usize::MAX);
    let (head, tail) = (prefix_utf16(text, kept - kept / 3), suffix_utf16(text, kept / 3));
    let left_out = utf16_len(text) - utf16_len(head) - utf16_len(tail);
    let from = place.start.map(|start| format!(" and offset {}", start + utf16_len(head))).unwrap_or_default();
    let note = format!(
        "[{left_out} {NOTE} here: it does not fit into the window. recall with entryIds [\"{id}\"]{from} reads them, \
         recall with a query finds words in them.]",
        id = place.id
    );
    let cut = format!("{head}\n\n{note}\n\n{tail}");
    // The note would be longer than a short block.
    if cut.len() < text.len() { cut } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn entry(at: usize, message: &str) -> Arc<Entry> {
        let parent = at.checked_sub(1).map_or("null".to_owned(), |parent| format!("\"{parent}\""));
        let time = "2025-01-01T00:00:00.000Z";
        let line =
            format!(r#"{{"type":"message","id":"{at}","parentId":{parent},"timestamp":"{time}","message":{message}}}"#);
        Arc::new(Entry::parse(&line).expect("the line is made here"))
    }

    fn result(call: &str, tokens: usize) -> String {
        let text = format!("begin {} end", "x".repeat(tokens * 4 - 10));
        format!(
            r#"{{"role":"toolResult","toolCallId":"{call}","toolName":"read","content":[{{"type":"text","text":"{text}"}},{{"type":"never_seen","x":1}}]}}"#
        )
    }

    fn session(results: &[usize]) -> Projection {
        let mut entries = vec![entry(0, r#"{"role":"user","content":"read them"}"#)];
        for (at, tokens) in results.iter().enumerate() {
            entries.push(entry(at + 1, &result(&format!("c{at}"), *tokens)));
        }
        match Projection::of(entries.as_slice()) {
            Ok(projection) => projection,
        }
    }

    #[test]
    fn the_largest_results_are_cut_to_one_size() {
        let check = |results: &[usize], room, expected: &[(&str, u64)]| {
            let clips = clip_tail(&session(results), None, room);
            let shown: Vec<(&str, bool)> =
                clips.iter().map(|clip| (clip.entry_id.as_str(), clip.tokens_after > 0)).collect();
            let ids: Vec<(&str, bool)> = expected.iter().map(|(id, _)| (*id, true)).collect();
            assert_eq!(shown, ids, "{results:?} {room}");
            for (clip, (_, most)) in clips.iter().zip(expected) {
                assert!(clip.tokens_after <= *most && clip.tokens_after + 60 > *most, "{clip:?} {most}");
            }
        };
        check(&[1000], 2000, &[]);
        check(&[5000], 2000, &[("1", 997)]);
        check(&[100, 5000, 9000], 2000, &[("2", 448), ("3", 448)]);
        // Many small results are not cut.
        check(&[50; 200], 1000, &[]);
    }

    #[test]
    fn a_cut_result_keeps_both_ends_and_says_where_the_whole_is() {
        let clips = clip_tail(&session(&[5000]), None, 2000);
        let content = &clips[0].content;
        assert!(content.contains("begin x") && content.contains("x end"), "{content}");
        assert!(
            content.contains(r#"recall with entryIds [\"1\"] and offset "#)
                && content.contains(r#"{"type":"never_seen","x":1}"#)
        );
        let members = RawObject::parse(&clips[0].members()).map(|members| members.string("targetId"));
        assert_eq!(members.ok().flatten().as_deref(), Some("1"));
    }
}
