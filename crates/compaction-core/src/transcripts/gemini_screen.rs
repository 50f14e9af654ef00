//! Copies of the screen of Gemini CLI. The words of a person and the calls are in frames, and a sign begins the words of
//! the model. Versions without frames for the person put `> ` before the words.

use super::screen::flattened;
use super::shared::{Heading, Piece, Shared, What, add_said, line_at};
use crate::formats::node::{object, string};
use crate::json::Json;

const TOP: char = '\u{256d}';
const SIDE: char = '\u{2502}';
const BOTTOM: char = '\u{2570}';
const PERSON: &str = "> ";
const MODEL: &str = "\u{2726} ";
const FAILURE: &str = "\u{2715} ";
/// The sign of what the program tells, such as the output of a command of the person.
const NOTICE: &str = "\u{2139} ";
/// Rules above and below the person's words in later versions.
const BARS: [char; 2] = ['\u{2584}', '\u{2580}'];
const PLACEHOLDER: &str = "Type your message";
/// Beginnings of the lines below the name of the program.
const TIPS: [&str; 5] =
    ["Tips for getting started", "1. Ask questions", "2. Be specific", "3. Create GEMINI.md", "4. /help for more"];
/// Parts of the last line of the screen.
const STATES: [&str; 3] = ["% context left", "no sandbox", "context left)"];
/// The signs of calls that succeeded, failed or were cancelled, and of other calls.
const DONE: [char; 2] = ['\u{2714}', '\u{2713}'];
const FAILED: [char; 5] = ['x', '\u{2716}', '\u{2717}', '\u{2715}', '-'];
const OPEN: [char; 4] = ['?', 'o', '\u{22b7}', '\u{22b6}'];
/// The names of tools on the screen, their names, the argument that is shown, and the words before it.
const TOOLS: [(&str, &str, &str, &str); 13] = [
    (SHELL, "run_shell_command", "command", ""),
    ("ReadFile", "read_file", "file_path", ""),
    ("WriteFile", "write_file", "file_path", "Writing to "),
    ("Edit", "replace", "file_path", ""),
    ("ReadFolder", "list_directory", "path", ""),
    ("FindFiles", "glob", "pattern", ""),
    ("SearchText", "search_file_content", "pattern", ""),
    ("GoogleSearch", "google_web_search", "query", "Searching the web for: "),
    ("WebFetch", "web_fetch", "prompt", ""),
    ("ReadManyFiles", "read_many_files", "description", ""),
    ("SaveMemory", "save_memory", "fact", ""),
    ("Save Memory", "save_memory", "fact", ""),
    ("WriteTodos", "write_todos", "description", ""),
];
const SHELL: &str = "Shell";
/// Comes after the name of a tool of a server.
const SERVER: &str = " MCP Server) ";
/// Comes before the directory of a command.
const DIRECTORIES: [&str; 2] = [" [current working directory ", " [in "];
/// Comes before the text that an edit replaces.
const REPLACED: &str = ": ";
/// Comes before the result of a call in one line.
const ARROW: &str = " \u{2192} ";
/// The indentation of a call in one line, and of the words of the model.
const FLAT: usize = 2;
/// The indentation of an output in a frame.
const DEEP: usize = 4;
/// Maximum bytes of the name of a tool.
const MAX_NAME: usize = 64;

/// The place of the last line.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Before the first line with a sign.
    #[default]
    Start,
    /// At the top of a frame.
    Top,
    /// In a frame with words of the person.
    Asked,
    /// In a frame with calls.
    Calls,
    /// In another frame.
    Framed,
    /// In words without a frame.
    Said,
    /// Behind a frame or a notice.
    Behind,
}

/// Whether a text begins like such a screen, and has words of a person and of the model.
pub(super) fn begins(head: &str) -> bool {
    let lines = || head.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines().next() else { return false };
    // A ruler or a fence begins many other texts.
    let is_picture = !first.is_ascii() && !first.contains(char::is_alphanumeric);
    let is_framed = first.trim_start().starts_with([TOP, SIDE]) || is_picture;
    let shown = outside(first).unwrap_or_default();
    let is_first = is_framed || [PERSON, MODEL, NOTICE, TIPS[0]].iter().any(|sign| shown.starts_with(sign));
    let is_person = |line: &str| outside(line).is_some_and(|line| line.starts_with(PERSON));
    let is_asked = |line: &str| inside(line).is_some_and(|inside| asked(inside).is_some());
    let has_frame = lines().any(|line| is_asked(line) || inside(line).is_some_and(|inside| tool(inside).is_some()));
    let has_person = lines().any(|line| is_person(line) || is_asked(line));
    let has_model = lines().any(|line| outside(line).is_some_and(|line| line.starts_with(MODEL)));
    is_first && has_frame && has_person && has_model
}

/// Whether a line is one that the program shows above the first message: its name as a picture, and tips.
pub(super) fn is_above(line: &str) -> bool {
    !line.contains(char::is_alphanumeric) || TIPS.iter().any(|tip| line.trim_start().starts_with(tip))
}

/// Reads a line. Returns the heading that it begins, if any.
pub(super) fn line(place: &mut Place, line: &str) -> Option<Heading> {
    if line.trim().is_empty() {
        return None;
    }
    let shown = outside(line);
    let is_boxed = matches!(place, Place::Top | Place::Asked | Place::Calls | Place::Framed);
    let of = |what| Heading { what, ..Heading::default() };
    let person = || Heading { is_user: true, ..Heading::default() };
    if shown.is_some_and(|line| line.starts_with(BOTTOM)) {
        *place = if *place == Place::Start { Place::Start } else { Place::Behind };
        return None;
    }
    let (heading, next) = match shown {
        Some(line) if line.starts_with(TOP) => (of(What::Other), Place::Top),
        Some(line) if line.starts_with(MODEL) => (of(What::Said), Place::Said),
        Some(text) if is_boxed && text.starts_with(SIDE) => in_frame(*place, line)?,
        _ if matches!(place, Place::Asked | Place::Calls) => return None,
        Some(line) if line.starts_with(FAILURE) => (of(What::Failure), Place::Said),
        Some(line) if line.starts_with(NOTICE) => (of(What::Said), Place::Said),
        Some(line) if line.trim_end() == PERSON.trim_end() || line.starts_with(PERSON) => {
            let words = line[1..].trim();
            let is_empty = words.is_empty() || words.starts_with(PLACEHOLDER);
            if is_empty { (of(What::Other), Place::Behind) } else { (person(), Place::Said) }
        }
        Some(line) if line.trim().chars().all(|one| BARS.contains(&one)) => (of(What::Other), Place::Behind),
        Some(line) if *place != Place::Start && TIPS.iter().any(|tip| line.starts_with(tip)) => {
            (of(What::Other), Place::Behind)
        }
        _ if alone(line).is_some() => (of(What::Said), Place::Said),
        _ if matches!(place, Place::Start | Place::Said) => return None,
        _ if STATES.iter().any(|state| line.trim().starts_with(state) || line.trim_end().ends_with(state)) => {
            (of(What::Other), Place::Behind)
        }
        _ => (Heading { is_guess: true, ..Heading::default() }, Place::Said),
    };
    *place = next;
    Some(heading)
}

/// The heading that a line in a frame begins.
fn in_frame(place: Place, line: &str) -> Option<(Heading, Place)> {
    let inside = inside(line)?;
    let has_call = tool(inside).is_some();
    match place {
        Place::Top if asked(inside).is_some_and(|words| words.starts_with(PLACEHOLDER)) => {
            Some((Heading { what: What::Other, ..Heading::default() }, Place::Framed))
        }
        Place::Top if asked(inside).is_some() => Some((Heading { is_user: true, ..Heading::default() }, Place::Asked)),
        Place::Top | Place::Calls if has_call => Some((Heading::default(), Place::Calls)),
        Place::Top => Some((Heading { what: What::Other, ..Heading::default() }, Place::Framed)),
        _ => None,
    }
}

/// The parts of a text that begins with a sign.
pub(super) fn pieces(shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let first = line_at(text, 0);
    let shown = outside(first).unwrap_or(first);
    if shared.what == What::Failure {
        pieces.push(Piece::Failure(flattened(shown_without(text, FAILURE), FLAT)));
    } else if is_user {
        add_said(&mut pieces, &words_of(text), false);
    } else if shown.starts_with(NOTICE) {
        pieces.push(Piece::Harness(flattened(shown_without(text, NOTICE), FLAT)));
    } else if let Some(call) = alone(first) {
        let rest = flattened(&text[first.len()..], FLAT);
        let (shown, result) = call.shown.split_once(ARROW).unwrap_or((call.shown, ""));
        let result = [result.trim(), &rest].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        add_call(shared, &mut pieces, &Shown { shown, ..call }, &result);
    } else if let Some(call) = inside(first).and_then(tool) {
        let lines = unframed(text);
        let lines: Vec<&str> = lines.lines().skip(1).collect();
        // A blank line comes before the output. Without one, the first line is all of the call.
        let blank = lines.iter().position(|line| line.trim().is_empty()).unwrap_or_default();
        let shown: Vec<&str> = [call.shown].into_iter().chain(lines[..blank].iter().map(|line| line.trim())).collect();
        let output = lines[blank..].join("\n");
        let is_deep = output.lines().find(|line| !line.trim().is_empty()).is_some_and(|line| line.starts_with("    "));
        let output = flattened(&output, if is_deep { DEEP } else { 1 });
        add_call(shared, &mut pieces, &Shown { shown: &shown.join("\n"), ..call }, &output);
    } else {
        add_said(&mut pieces, &flattened(shown_without(text, MODEL), FLAT), false);
    }
    pieces
}

/// A call as the screen shows it.
#[derive(Debug, Clone, Copy)]
struct Shown<'a> {
    sign: char,
    name: &'a str,
    /// The text after the name.
    shown: &'a str,
}

/// The call that a line inside a frame begins, without the sides of the frame.
fn tool(inside: &str) -> Option<Shown<'_>> {
    let text = inside.strip_prefix(' ')?;
    let sign = text.chars().next()?;
    let rest = text[sign.len_utf8()..].strip_prefix("  ")?;
    let known = TOOLS.iter().map(|(name, ..)| *name).find(|name| {
        let rest = rest.strip_prefix(name);
        rest.is_some_and(|rest| rest.trim().is_empty() || rest.starts_with(' '))
    });
    let server = || Some(&rest[..rest.find(SERVER)?.checked_add(SERVER.len())?]);
    let name = known.or_else(server).filter(|name| name.len() <= MAX_NAME)?;
    let is_sign = DONE.contains(&sign) || FAILED.contains(&sign) || OPEN.contains(&sign);
    is_sign.then(|| Shown { sign, name: name.trim_end(), shown: rest[name.len()..].trim() })
}

/// The call in a line without a frame.
fn alone(line: &str) -> Option<Shown<'_>> {
    let text = line.strip_prefix("  ")?;
    text.starts_with(DONE).then(|| tool(&line[1..])).flatten()
}

fn add_call(shared: &mut Shared, pieces: &mut Vec<Piece>, call: &Shown<'_>, result: &str) {
    let known = TOOLS.iter().find(|(shown, ..)| *shown == call.name);
    let (name, key, before) = known.map_or((call.name, "input", ""), |(_, name, key, before)| (*name, *key, *before));
    let text = call.shown.strip_prefix(before).unwrap_or(call.shown);
    let arguments: Json<'static> = match call.name {
        _ if text.is_empty() => object([]),
        SHELL => command(text),
        "Edit" if let Some((path, change)) = text.split_once(REPLACED) => {
            object([(key, string(path)), ("description", string(change.trim()))])
        }
        _ => object([(key, string(unquoted(text)))]),
    };
    let id = shared.call(pieces, None, name, arguments);
    let is_error = FAILED.contains(&call.sign) || result.starts_with("Error");
    let texts = if result.is_empty() { Vec::new() } else { vec![result.to_owned()] };
    pieces.push(Piece::Result { id, name: name.to_owned(), texts, is_error });
}

/// A text without the pair of quotes around it, if it has one.
fn unquoted(text: &str) -> &str {
    let pair = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    pair('"').or_else(|| pair('\'')).unwrap_or(text)
}

/// The arguments in `ls -l [in src] (Lists the files)`.
fn command(text: &str) -> Json<'static> {
    let found = DIRECTORIES.iter().find_map(|start| text.split_once(start));
    let (command, directory) = found.unwrap_or((text, ""));
    let (directory, rest) = directory.split_once(']').unwrap_or((directory, ""));
    // Without a directory, the brackets may belong to the command.
    let is_told =
        |told: &str| told.ends_with([')', '\u{2026}']) && told.contains(' ') && !told.starts_with(char::is_lowercase);
    let (command, told) = match found {
        Some(_) => (command, rest.trim()),
        None => command.rsplit_once(" (").filter(|(_, told)| is_told(told)).unwrap_or((command, "")),
    };
    let told = told.strip_prefix('(').unwrap_or(told);
    let told = told.strip_suffix(')').unwrap_or(told);
    let members = [("command", command), ("directory", directory), ("description", told)];
    let members = members.into_iter().filter(|(_, text)| !text.is_empty());
    Json::Object(members.map(|(key, text)| (key.into(), string(text.trim()))).collect())
}

/// A line that is indented by one space at most, without it.
fn outside(line: &str) -> Option<&str> {
    let text = line.strip_prefix(' ').unwrap_or(line);
    (!text.starts_with([' ', '\t'])).then_some(text)
}

/// What a line has between the sides of a frame.
fn inside(line: &str) -> Option<&str> {
    let text = outside(line)?.strip_prefix(SIDE)?.trim_end();
    Some(text.strip_suffix(SIDE).unwrap_or(text).trim_end())
}

/// The person's words in a line inside a frame.
fn asked(inside: &str) -> Option<&str> {
    inside.trim_start().strip_prefix(PERSON)
}

/// A text without the frame around it.
fn unframed(text: &str) -> String {
    let is_framed = |line: &str| inside(line).is_some();
    let lines = text.lines().filter(|line| !outside(line).is_some_and(|line| line.starts_with(BOTTOM)));
    let lines = lines.map(|line| if is_framed(line) { inside(line).unwrap_or_default() } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

/// The words of a person, with or without a frame.
fn words_of(text: &str) -> String {
    let has_bottom = text.lines().any(|line| outside(line).is_some_and(|line| line.starts_with(BOTTOM)));
    let indentation = if has_bottom { DEEP } else { FLAT + usize::from(text.starts_with(' ')) };
    let text = unframed(text);
    let lines = text.lines().enumerate().map(|(at, line)| {
        // The side may be all that is left of the frame in the first line.
        let line = if has_bottom { line.trim_end().trim_end_matches(SIDE) } else { line };
        let sign = if at == 0 { asked(line) } else { None };
        sign.unwrap_or(line)
    });
    flattened(&lines.collect::<Vec<_>>().join("\n"), indentation)
}

/// A text without the sign at its start.
fn shown_without<'a>(text: &'a str, sign: &str) -> &'a str {
    let shown = text.trim_start_matches(' ');
    shown.strip_prefix(sign).unwrap_or(text)
}
