//! Sections of the sessions that Copilot CLI shares as Markdown.

use super::shared::{Heading, Piece, Shared, What, add_said, behind_blank, line_at};
use crate::json::Json;

const HEADING: &str = "### ";
/// The sign of a failed call.
const CROSS: char = '\u{274c}';
/// Tags around the time of a section and the name of the program.
const SUB: (&str, &str) = ("<sub>", "</sub>");
const RULE: &str = "---";
/// Marks around the title of a call.
const TITLE: &str = "**";
const DETAILS: &str = "<details>";
const DETAILS_END: &str = "</details>";
const ARGUMENTS: &str = "<summary>Arguments</summary>";
const PROMPT: &str = "$ ";

/// Whether a line is the time of a section.
pub(super) fn is_time(line: &str) -> bool {
    line.starts_with(SUB.0) && line.ends_with(SUB.1)
}

/// The heading of a section in a line, if the line is one. `follows_timestamp` says that the time of a section comes
/// before it. Sections of sub-agents have no times, and later versions have no signs.
pub(super) fn heading(line: &str, follows_timestamp: bool) -> Option<Heading> {
    let title = line.strip_prefix(HEADING)?;
    let signed = title.split_once(' ').filter(|(sign, _)| !sign.is_ascii());
    let (sign, name) = signed.unwrap_or(("", title));
    if sign.is_empty() && !follows_timestamp {
        return None;
    }
    let what = match name {
        "User" => return Some(Heading { is_user: true, ..Heading::default() }),
        "Copilot" | "Task Complete" => What::Said,
        "Reasoning" => What::Thought,
        "Error" if follows_timestamp => What::Failure,
        _ => match name.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            Some((tool, rest)) if !tool.is_empty() && !tool.contains(' ') => {
                let is_error = sign.starts_with(CROSS) || rest.to_lowercase().contains("failed");
                What::Tool { name: tool.to_owned(), is_error, is_sure: follows_timestamp }
            }
            _ if follows_timestamp || name == "Info" => What::Other,
            _ => return None,
        },
    };
    Some(Heading { what, ..Heading::default() })
}

/// The parts of a section. The section of a call begins with its heading.
pub(super) fn section(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let text = without_end(text);
    let mut pieces = Vec::new();
    match shared.what.clone() {
        What::Said => add_said(&mut pieces, text, false),
        What::Thought => {
            let bare = text.trim();
            let inner = bare.strip_prefix('*').and_then(|bare| bare.strip_suffix('*'));
            add_said(&mut pieces, inner.unwrap_or(bare), true);
        }
        What::Failure => pieces.push(Piece::Failure(text.trim().to_owned())),
        What::Tool { name, is_error, is_sure } => {
            // The model writes such headings too, and an import may begin after the heading.
            let (first, body) = text.split_once('\n').unwrap_or((text, ""));
            let is_call = first.starts_with(HEADING) && (is_sure || body.trim_start().starts_with(TITLE));
            if !is_call {
                add_said(&mut pieces, text, false);
                return pieces;
            }
            let (arguments, result) = call(body);
            let id = shared.call(&mut pieces, None, &name, arguments);
            pieces.push(Piece::Result { id, name, texts: result.into_iter().collect(), is_error });
        }
        What::Other => {}
    }
    pieces
}

/// A section without the time of the next one, the rule before it, and the name of the program at the end.
fn without_end(text: &str) -> &str {
    let mut rest = text.trim_end();
    while let Some(before) = rest.strip_suffix(SUB.1).and_then(|rest| rest.rsplit_once('\n')) {
        let Some(bare) = Some(before.0.trim_end()).filter(|_| before.1.starts_with(SUB.0)) else { break };
        rest = bare.strip_suffix(RULE).map_or(bare, str::trim_end);
    }
    rest
}

/// The arguments and the result in the section of a call. The section has a title, a description of the call, the
/// arguments, and a last fence with the result.
fn call(text: &str) -> (Json<'static>, Option<String>) {
    let mut arguments = Vec::new();
    let (mut about, mut at) = (String::new(), 0);
    let mut result = None;
    let add = |arguments: &mut Vec<_>, key: &'static str, value: &str| {
        arguments.push((key.into(), crate::formats::node::string(value)));
    };
    while at < text.len() {
        let line = line_at(text, at);
        let bare = line.trim();
        let next = at + line.len();
        let marks = bare.len() - bare.trim_start_matches('`').len();
        if bare == DETAILS && line_at(text, next).trim() == ARGUMENTS {
            let from = next + line_at(text, next).len();
            if let Some((json, behind)) = fenced_json(text, from) {
                arguments = json;
                at = behind;
                continue;
            }
        }
        if marks >= 3 && !bare[marks..].contains('`') {
            // In later versions, a fence inside is shorter. In earlier ones, the last fence ends the result.
            let inside = &text[next..];
            let fence = format!("\n{}", &bare[..marks]);
            let whole = if inside.starts_with(&fence[1..]) { 0 } else { inside.len() };
            let end = inside.rfind(&fence).unwrap_or(whole);
            // Text after the fence also belongs to the result.
            let behind = inside[end..].trim_start_matches(['\n', '`']).lines();
            let behind: Vec<&str> = behind.filter(|line| line.trim() != DETAILS_END).collect();
            result = Some(format!("{}\n{}", &inside[..end], behind.join("\n")).trim_end().to_owned());
            break;
        }
        if matches!(bare, DETAILS | DETAILS_END) || bare.starts_with("<summary>") {
            at = next;
            continue;
        }
        let title = bare.strip_prefix(TITLE).and_then(|bare| bare.strip_suffix(TITLE));
        match title.filter(|_| about.trim().is_empty() && arguments.is_empty()) {
            Some(title) => add(&mut arguments, "description", title),
            None => about.push_str(line),
        }
        at = next;
    }
    let about = about.trim();
    let is_path = !about.contains([' ', '\n', '"']) && about.contains(['/', '\\', '.']);
    match about.strip_prefix(PROMPT) {
        _ if about.is_empty() => {}
        Some(command) => add(&mut arguments, "command", command),
        None => add(&mut arguments, if is_path { "path" } else { "input" }, about),
    }
    (Json::Object(arguments), result.filter(|result| !result.is_empty()))
}

type Members = Vec<(std::borrow::Cow<'static, str>, Json<'static>)>;

/// The members of the object in the next fence, and where the details around it end.
fn fenced_json(text: &str, from: usize) -> Option<(Members, usize)> {
    let at = behind_blank(text, from);
    let opening = line_at(text, at);
    let marks = opening.trim_end().strip_suffix("json").filter(|marks| marks.len() >= 3)?;
    if marks.bytes().any(|byte| byte != b'`') {
        return None;
    }
    let start = at + opening.len();
    let end = start + text[start..].find(&format!("\n{marks}"))?;
    let Json::Object(members) = Json::parse(&text[start..end]).ok()?.into_owned() else { return None };
    let behind = end + 1 + line_at(text, end + 1).len();
    Some((members, behind))
}
