//! Threads that Amp exports as Markdown.

use super::shared::{FENCE, Heading, Piece, Shared, add_said, behind_blank, end_of_json, end_of_quote, line_at};
use crate::json::Json;

const THREAD: &str = "threadId: T-";
const MATTER: &str = "---";
const CALL: &str = "**Tool Use:** `";
const JSON: &str = "```json";
const RESULT: &str = "**Tool Result:** `";
/// The mark where the person stopped the model.
const INTERRUPTED: &str = "*(interrupted)*";

/// The thread id in the lines before an export.
pub(super) fn thread(head: &str) -> Option<&str> {
    let mut lines = head.trim_start_matches('\u{feff}').lines();
    lines.next().filter(|line| line.trim_end() == MATTER)?;
    let mut lines = lines.take_while(|line| line.trim_end() != MATTER);
    lines.find_map(|line| line.strip_prefix("threadId: ").filter(|_| line.starts_with(THREAD))).map(str::trim)
}

/// The heading of a message in a line, if the line is one.
pub(super) fn heading(line: &str) -> Option<Heading> {
    let is_user = line == "## User";
    (is_user || line == "## Assistant").then(|| Heading { is_user, ..Heading::default() })
}

/// Whether a fence after a line contains a result.
pub(super) fn is_result(line: &str) -> bool {
    line.starts_with(RESULT)
}

/// The parts of an answer. The export has no ids for calls. Their results follow in the same order.
pub(super) fn answer(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        let name = line.trim_end().strip_prefix(CALL).and_then(|name| name.strip_suffix('`'));
        let Some((name, (arguments, end))) = name.and_then(|name| Some((name, arguments(text, next)?))) else {
            at = next;
            continue;
        };
        add_said(&mut pieces, &text[start..at], false);
        if pieces.iter().all(|piece| !matches!(piece, Piece::Call { .. })) {
            // Earlier calls get no result any more.
            shared.native.clear();
        }
        let id = shared.call(&mut pieces, None, name, arguments);
        shared.native.push_back((id, name.to_owned()));
        (start, at) = (end, end);
    }
    add_said(&mut pieces, &text[start..], false);
    pieces
}

/// The JSON text in the next fence, and where the fence ends.
fn arguments(text: &str, from: usize) -> Option<(Json<'static>, usize)> {
    let at = behind_blank(text, from);
    let opening = line_at(text, at);
    if opening.trim_end() != JSON {
        return None;
    }
    let inside = at + opening.len();
    let (end, behind) = end_of_json(text, inside);
    Some((Json::parse(&text[inside..end]).ok()?.into_owned(), behind))
}

/// The parts of a message with the role of the person: words, and results of calls.
pub(super) fn words(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut start, mut at) = (0, 0);
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        let fence = if is_result(line) { behind_blank(text, next) } else { next };
        let opening = line_at(text, fence);
        let is_marked = is_result(line) && opening.trim_end() == FENCE;
        let Some((id, name)) = (if is_marked { shared.native.pop_front() } else { None }) else {
            if line.trim_end() == INTERRUPTED {
                add_said(&mut pieces, &text[start..at], false);
                pieces.push(Piece::Harness(INTERRUPTED.to_owned()));
                start = next;
            }
            at = next;
            continue;
        };
        add_said(&mut pieces, &text[start..at], false);
        let inside = fence + opening.len();
        let (end, behind) = end_of_quote(text, inside, |line, _| is_result(line));
        let result = text[inside..end].trim_end_matches('\n');
        let texts = if result.is_empty() { Vec::new() } else { vec![result.to_owned()] };
        pieces.push(Piece::Result { id, name, texts, is_error: false });
        (start, at) = (behind, behind);
    }
    add_said(&mut pieces, &text[start..], false);
    pieces
}
