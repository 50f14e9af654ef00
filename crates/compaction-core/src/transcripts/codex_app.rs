//! Chats of the Codex app, as its command to copy one as Markdown writes them: the words of the person in a quote, the
//! steps of the model in details, and its answer without a mark.

use super::shared::{Heading, Piece, Shared, What, add_said, line_at};
use super::specstory::Fence;
use crate::formats::node::{object, string};
use crate::json::Json;

const QUOTE: char = '>';
const DETAILS: &str = "<details><summary>";
const SUMMARY_END: &str = "</summary>";
const DETAILS_END: &str = "</details>";
/// The summary of the steps of a turn, after their number.
const STEPS: [&str; 2] = [" previous messages", " previous message"];
/// A line above what the program added to the words of the person, and the beginnings of its lines.
const CONTEXT: &str = "User context";
const CONTEXT_LINES: [&str; 2] = ["Attachments:", "Images:"];
/// Lines of the program among the steps: that the conversation was summed up, with two lines below, and that a request to
/// the model failed.
const COMPACTION: &str = "Context compaction";
const OF_COMPACTION: [&str; 2] = ["Source: ", "Status: "];
const FAILURE: &str = "Stream error";
/// Beginnings of items in the details of a step, their tools, and their arguments.
const ITEMS: [(&str, &str, &str); 9] = [
    ("Ran `", "shell", "command"),
    ("Read `", "read_file", "path"),
    ("Wrote `", "edit_file", "path"),
    ("Created `", "write_file", "path"),
    ("Deleted `", "delete_file", "path"),
    ("Listed `", "list_dir", "path"),
    ("Listed files in `", "list_dir", "path"),
    ("Searched for `", "grep", "query"),
    ("Searched the web for `", "web_search", "query"),
];
const LISTED: &str = "Listed files";
/// Comes between the query and the path of a search.
const IN: &str = "` in `";

/// The place of the last line.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Place {
    part: Part,
    is_behind_blank: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Before the first words of the person.
    #[default]
    Start,
    Asked,
    Steps,
    /// After the steps.
    Behind,
    Answer,
}

/// Whether a text begins like such a copy.
pub(super) fn begins(head: &str) -> bool {
    let mut lines = head.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
    let has_title = lines.next().is_some_and(|line| line.starts_with("# "));
    has_title && lines.next().is_some_and(|line| line.starts_with(QUOTE)) && lines.any(begins_steps)
}

/// Whether a line begins the steps of a turn: `<details><summary>9 previous messages</summary>`.
fn begins_steps(line: &str) -> bool {
    let summary = line.strip_prefix(DETAILS).and_then(|rest| rest.trim_end().strip_suffix(SUMMARY_END));
    let count = summary.and_then(|summary| STEPS.iter().find_map(|end| summary.strip_suffix(end)));
    count.is_some_and(|count| !count.is_empty() && count.bytes().all(|one| one.is_ascii_digit() || one == b','))
}

/// Reads a line. Returns the heading of the message that it begins, if any. `fence` is the one that is open in an answer.
pub(super) fn line(place: &mut Place, fence: &mut Fence, line: &str) -> Option<Heading> {
    let is_blank = line.trim().is_empty();
    let is_behind_blank = std::mem::replace(&mut place.is_behind_blank, is_blank);
    let is_quote = line.starts_with(QUOTE);
    let begins = !fence.is_open() && place.part != Part::Steps;
    let next = match place.part {
        _ if begins && begins_steps(line) => Some(Part::Steps),
        Part::Steps => {
            if line.trim_end() == DETAILS_END {
                place.part = Part::Behind;
            }
            None
        }
        _ if is_quote && begins && (is_behind_blank || place.part == Part::Start) => Some(Part::Asked),
        Part::Asked | Part::Behind if !is_blank && !is_quote => Some(Part::Answer),
        _ => None,
    };
    if let Some(part) = next {
        (place.part, *fence) = (part, Fence::default());
    }
    if place.part == Part::Answer {
        fence.read(line);
    }
    next.map(|part| Heading { is_user: part == Part::Asked, what: What::Said, ..Heading::default() })
}

/// The parts of a message.
pub(super) fn pieces(shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if is_user {
        add_words(&mut pieces, &unquoted(text));
    } else if text.starts_with(QUOTE) || begins_steps(line_at(text, 0)) {
        // An import may end inside the steps.
        let first = if begins_steps(line_at(text, 0)) { line_at(text, 0).len() } else { 0 };
        let steps = text[first..].trim_end();
        add_steps(shared, &mut pieces, &unquoted(steps.strip_suffix(DETAILS_END).unwrap_or(steps)));
    } else {
        add_said(&mut pieces, text, false);
    }
    pieces
}

/// A text without the marks of a quote.
fn unquoted(text: &str) -> String {
    let bare = |line: &'_ str| -> usize {
        let inside = line.strip_prefix(QUOTE).unwrap_or(line);
        line.len() - inside.strip_prefix(' ').filter(|_| inside.len() < line.len()).unwrap_or(inside).len()
    };
    text.lines().map(|line| &line[bare(line)..]).collect::<Vec<_>>().join("\n")
}

/// Adds the words of the person, and what the program added to them. Newer versions end lines with the sign of a line
/// break.
fn add_words(pieces: &mut Vec<Piece>, text: &str) {
    let mut at = 0;
    let context = text.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        let below = || text[at..].lines().find(|line| !line.is_empty()).unwrap_or_default();
        (line.trim_end() == CONTEXT && CONTEXT_LINES.contains(&below().trim_end())).then_some(start)
    });
    let (words, context) = text.split_at(context.unwrap_or(text.len()));
    let words: Vec<&str> = words.lines().map(|line| line.strip_suffix('\\').unwrap_or(line)).collect();
    add_said(pieces, &words.join("\n"), false);
    if !context.trim().is_empty() {
        pieces.push(Piece::Harness(context.trim().to_owned()));
    }
}

/// Adds the steps of a turn: words of the model, and calls in details.
fn add_steps(shared: &mut Shared, pieces: &mut Vec<Piece>, text: &str) {
    let (mut words, mut at, mut depth, mut fence) = (String::new(), 0, 0_usize, Fence::default());
    while at < text.len() {
        let line = line_at(text, at);
        at += line.len();
        let bare = line.trim_end();
        if fence.is_open() {
            words.push_str(line);
            fence.read(line);
        } else if bare.starts_with(DETAILS) && bare.ends_with(SUMMARY_END) {
            depth += 1;
        } else if bare == DETAILS_END && depth > 0 {
            depth -= 1;
        } else if depth > 0 && begins_item(bare) {
            let end = end_of_item(text, at);
            let item = format!("{bare}\n{}", &text[at..end]);
            let item = item.trim_end();
            match call(item.strip_prefix("- ").unwrap_or(item)) {
                Some((tool, arguments, result)) => {
                    add_said(pieces, &std::mem::take(&mut words), false);
                    let id = shared.call(pieces, None, tool, arguments);
                    let texts = result.into_iter().map(str::to_owned).collect();
                    pieces.push(Piece::Result { id, name: tool.to_owned(), texts, is_error: false });
                    at = end;
                }
                // Each of its lines is read once.
                None => {
                    words.push_str(&text[at - line.len()..end]);
                    at = end;
                }
            }
        } else if bare == COMPACTION {
            add_said(pieces, &std::mem::take(&mut words), false);
            let end = end_of_notice(text, at);
            pieces.push(Piece::Harness(text[at - line.len()..end].trim().to_owned()));
            at = end;
        } else if bare == FAILURE {
            add_said(pieces, &std::mem::take(&mut words), false);
            let from = at + text[at..].len() - text[at..].trim_start_matches('\n').len();
            let end = text[from..].find("\n\n").map_or(text.len(), |blank| from + blank);
            pieces.push(Piece::Failure(text[at - line.len()..end].trim().to_owned()));
            at = end;
        } else {
            words.push_str(line);
            fence.read(line);
        }
    }
    add_said(pieces, &words, false);
}

/// Where the lines below the notice of a compaction end.
fn end_of_notice(text: &str, mut at: usize) -> usize {
    let mut end = at;
    while at < text.len() {
        let line = line_at(text, at);
        at += line.len();
        if OF_COMPACTION.iter().any(|start| line.starts_with(start)) {
            end = at;
        } else if !line.trim().is_empty() {
            break;
        }
    }
    end
}

/// Whether a line begins an item with a call.
fn begins_item(line: &str) -> bool {
    let line = line.strip_prefix("- ").unwrap_or(line);
    line == LISTED || ITEMS.iter().any(|(start, ..)| line.starts_with(start))
}

/// Where an item ends whose first line was read. A command may have several lines.
fn end_of_item(text: &str, mut at: usize) -> usize {
    while at < text.len() {
        let line = line_at(text, at);
        let is_next = line.starts_with("- ") || line.starts_with(DETAILS) || line.starts_with(DETAILS_END);
        if line.trim().is_empty() || is_next {
            break;
        }
        at += line.len();
    }
    at
}

/// The tool, the arguments and the result in an item: ``Ran `ls` ``, ``Wrote `a.md` (+9 -3)``.
fn call(item: &str) -> Option<(&'static str, Json<'static>, Option<&str>)> {
    if item == LISTED {
        return Some(("list_dir", object([]), None));
    }
    let (rest, tool, key) =
        ITEMS.iter().find_map(|(start, tool, key)| Some((item.strip_prefix(start)?, *tool, *key)))?;
    let (inside, behind) = rest.rsplit_once('`')?;
    let behind = Some(behind.trim()).filter(|behind| !behind.is_empty());
    let path = |path: &str| string(path.strip_prefix("./").filter(|path| !path.is_empty()).unwrap_or(path));
    let arguments = match inside.split_once(IN).filter(|_| key == "query") {
        Some((query, place)) => object([(key, string(query)), ("path", path(place))]),
        None if key == "path" => object([(key, path(inside))]),
        None => object([(key, string(inside))]),
    };
    Some((tool, arguments, behind))
}
