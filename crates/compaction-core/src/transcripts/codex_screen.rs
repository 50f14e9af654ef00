//! Copies of the screen of Codex. A sign at the start of a line begins what a person, the model or the program said. All
//! other lines of it are indented.

use super::shared::{Heading, Piece, Shared, What, add_said, line_at};
use crate::formats::node::{object, string};
use crate::json::Json;

const PERSON: &str = "\u{203a} ";
const MODEL: &str = "\u{2022} ";
const ERROR: &str = "\u{25a0} ";
/// Other signs of the program: approvals, warnings, rules, and frames.
const NOTICES: [char; 4] = ['\u{2714}', '\u{26a0}', '\u{2500}', '\u{256d}'];
/// What stands where a person enters something, and the choices of a question.
const NO_WORDS: [&str; 3] = ["Ask Codex to do anything", "1. Yes, proceed", "1. Yes, just this once"];
const RAN: &str = "\u{2022} Ran ";
const EXPLORED: &str = "\u{2022} Explored";
/// What the person refused to run.
const REFUSED: [&str; 3] = [
    "\u{2717} You canceled the request to run ",
    "\u{2717} You did not approve codex to run ",
    "\u{2717} You rejected the request to run ",
];
/// Edits and their tools.
const EDITS: [(&str, &str); 3] =
    [("\u{2022} Edited ", "edit_file"), ("\u{2022} Added ", "write_file"), ("\u{2022} Deleted ", "delete_file")];
/// What was explored, the tools, and their arguments.
const EXPLORATIONS: [(&str, &str, &str); 3] =
    [("Read ", "read_file", "path"), ("Search ", "grep", "query"), ("List ", "list_dir", "path")];
/// Before the further lines of a command, and before what it printed.
const MORE: &str = "  \u{2502} ";
const OUTPUT: &str = "  \u{2514}";
/// The indentation of what a command printed, and of other lines.
const DEEP: usize = 4;
const FLAT: usize = 2;
const SHELL: &str = "shell";

/// Whether a text begins with words of a person and has something that only the screen of Codex has.
pub(super) fn begins(head: &str) -> bool {
    let mut lines = head.trim_start_matches('\u{feff}').lines();
    let is_first = lines.find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with(PERSON));
    let starts = [RAN, EXPLORED, "\u{2714} You approved codex to "].into_iter().chain(REFUSED);
    let starts: Vec<&str> = starts.chain(EDITS.map(|(start, _)| start)).collect();
    is_first && lines.any(|line| starts.iter().any(|start| line.starts_with(start)))
}

/// What a line says if it has a sign.
pub(super) fn heading(line: &str) -> Option<Heading> {
    let is_user = line.starts_with(PERSON);
    let what = match line.chars().next()? {
        _ if is_user && NO_WORDS.iter().any(|start| line[PERSON.len()..].starts_with(start)) => What::Other,
        _ if is_user || line.starts_with(MODEL) || REFUSED.iter().any(|start| line.starts_with(start)) => What::Said,
        _ if line.starts_with(ERROR) => What::Failure,
        sign if NOTICES.contains(&sign) => What::Other,
        _ => return None,
    };
    Some(Heading { is_user: is_user && what == What::Said, what, model: None })
}

/// The parts of what stands behind a sign, from the sign on.
pub(super) fn pieces(shared: &mut Shared, text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let first = line_at(text, 0);
    let rest = &text[first.len()..];
    let output = if rest.starts_with(OUTPUT) { Some(0) } else { rest.find(&format!("\n{OUTPUT}")).map(|at| at + 1) };
    if shared.what == What::Failure {
        pieces.push(Piece::Failure(flattened(text.trim_start_matches(ERROR), FLAT)));
    } else if let Some(start) = REFUSED.iter().find(|start| text.starts_with(**start)) {
        let command = flattened(&text[start.len()..], FLAT).replace('\n', " ");
        let said = text.split_once(' ').map_or("", |(_, said)| said);
        add_call(shared, &mut pieces, SHELL, ("command", &command), &flattened(said, FLAT), true);
    } else if let (Some(start), Some(at)) = (text.strip_prefix(RAN), output) {
        let lines = start[..start.len() - rest.len() + at].lines();
        let command: Vec<&str> = lines.map(|line| line.strip_prefix(MORE).unwrap_or(line)).collect();
        let result = flattened(rest[at + OUTPUT.len()..].trim_start_matches(' '), DEEP);
        add_call(shared, &mut pieces, SHELL, ("command", &command.join("\n")), &result, false);
    } else if let Some((start, tool)) = EDITS.iter().find(|(start, _)| is_edit(first, start)) {
        // Several files have a line each.
        let has_lines = output == Some(0);
        let several = has_lines.then(|| rest[OUTPUT.len()..].split("\n  \u{2514}").collect());
        let parts: Vec<&str> = several.unwrap_or_else(|| vec![&text[start.len()..]]);
        for part in parts {
            let (name, diff) = part.split_once('\n').unwrap_or((part, ""));
            let path = name.rsplit_once(" (+").map_or(name, |(path, _)| path);
            add_call(shared, &mut pieces, tool, ("path", path.trim()), &flattened(diff, DEEP), false);
        }
    } else if first.trim_end() == EXPLORED && output == Some(0) {
        for line in rest[OUTPUT.len()..].lines().map(str::trim).filter(|line| !line.is_empty()) {
            match EXPLORATIONS.iter().find_map(|(start, tool, key)| Some((line.strip_prefix(start)?, tool, key))) {
                Some((about, &tool, &"path")) => {
                    about.split(", ").for_each(|path| add_call(shared, &mut pieces, tool, ("path", path), "", false));
                }
                Some((about, &tool, &key)) => add_call(shared, &mut pieces, tool, (key, about), "", false),
                None => add_said(&mut pieces, line, false),
            }
        }
    } else {
        let words = text.strip_prefix(PERSON).or_else(|| text.strip_prefix(MODEL)).unwrap_or(text);
        add_said(&mut pieces, &flattened(words, FLAT), false);
    }
    pieces
}

/// Whether a line tells of an edit, and is not what the model said.
fn is_edit(line: &str, start: &str) -> bool {
    let line = line.trim_end();
    line.starts_with(start) && line.ends_with(')') && line.rsplit_once(" (+").is_some()
}

fn add_call(
    shared: &mut Shared,
    pieces: &mut Vec<Piece>,
    name: &str,
    (key, value): (&'static str, &str),
    result: &str,
    is_error: bool,
) {
    let arguments: Json<'static> = object([(key, string(value))]);
    let id = shared.call(pieces, None, name, arguments);
    let texts = if result.is_empty() { Vec::new() } else { vec![result.to_owned()] };
    pieces.push(Piece::Result { id, name: name.to_owned(), texts, is_error });
}

/// A text without the indentation of its lines, and without blank lines around it.
fn flattened(text: &str, indentation: usize) -> String {
    let flat = |line: &'_ str| -> usize { line.len() - line.trim_start_matches(' ').len() };
    let lines = text.split('\n').map(|line| &line[flat(line).min(indentation)..]);
    lines.collect::<Vec<_>>().join("\n").trim_end().trim_start_matches('\n').to_owned()
}
