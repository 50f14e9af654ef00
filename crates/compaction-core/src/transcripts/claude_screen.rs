//! The messages on the screen of Claude Code: words, calls, what a person decided in a dialogue, and what the program
//! shows below.

use super::screen::{CLAUDE, flattened, without_sign};
use super::shared::{Piece, Shared, add_said, line_at};
use super::specstory::Fence;
use super::wrapped;
use crate::formats::node::{object, string};
use crate::json::Json;

/// The tools of Claude Code on its screen, their names, and the argument that is shown.
const TOOLS: [(&str, &str, &str); 16] = [
    ("Bash", "Bash", "command"),
    ("PowerShell", "PowerShell", "command"),
    ("Read", "Read", PATH),
    ("Write", "Write", PATH),
    ("Update", "Edit", PATH),
    ("Edit", "Edit", PATH),
    ("MultiEdit", "MultiEdit", PATH),
    ("Create", "Write", PATH),
    ("List", "LS", "path"),
    ("Search", "Grep", "pattern"),
    ("Fetch", "WebFetch", "url"),
    ("Web Search", "WebSearch", "query"),
    ("Task", "Task", "description"),
    ("Skill", "Skill", "skill"),
    ("Update Todos", "TodoWrite", ""),
    ("Updated plan", PLAN, ""),
];
const PATH: &str = "file_path";
const SHELL: &str = "Bash";
const MCP: &str = "MCP)(";
/// Maximum bytes of the name of a tool, or of a model.
const MAX_NAME: usize = 64;
/// Beginnings of outputs that mean that a call did not succeed.
const ERRORS: [&str; 5] =
    ["Error", "Interrupted", "Tool use rejected", "User rejected", "No (tell Claude what to do differently)"];
const INTERRUPTED: &str = "Interrupted";
const FAILED: &str = "API Error";
/// How a line begins that says so of a person who refused a call, and what comes before their words.
const REJECTIONS: [&str; 2] = ["Tool use rejected", "User rejected"];
const WITH_WORDS: &str = "with user message:";
/// What the program itself says at that place after a person wants to talk about its questions.
const NO_WORDS: &str = "The user wants to clarify these questions";
/// How the screen tells what a person decided in a dialogue. The questions are below.
const ANSWERS: [&str; 3] =
    ["User answered Claude's questions", "User declined to answer questions", "User declined to enter plan mode"];
/// The same about a plan. The plan is below.
const PLANS: [&str; 2] = ["User approved Claude's plan", "User rejected Claude's plan"];
/// The call with a plan, and its results in the files of Claude Code.
const PLAN: &str = "ExitPlanMode";
const APPROVED: &str = "User has approved your plan.";
const REFUSED: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
/// Tells where a plan was saved.
const SAVED: &str = "Plan saved to: ";
/// The last word of that.
const EDIT: &str = "edit";
/// Beginnings of what the program says between the messages: what is done and comes next, and what an agent reports.
const ASIDES: [&str; 2] = [RECAP, "\u{203a} Message from "];
/// What comes before and after the title of an agent or a command in the background, when it has ended.
const ENDED: [&str; 2] = ["Agent \"", "Background command \""];
const ENDS: [&str; 6] = ["\" finished", "\" completed", "\" failed", "\" was stopped", "\" was killed", "\" timed out"];
/// The sign before what is done and comes next. Other texts may have lines with its first letter.
pub(super) const RECAP: &str = "\u{203b} recap";
/// Begins a list of agents that work, and the signs before their titles.
const RUNNING_AGENTS: &str = "Running ";
const AGENTS: [&str; 2] = ["\u{251c}\u{2500} ", "\u{2514}\u{2500} "];
/// The tool that starts one.
const AGENT: &str = "Agent";
/// Most words after their number among which is the word for them.
const WORDS_OF_AGENTS: usize = 3;
/// What the rows of a menu say with which the person answers in other words.
const OWN_WORDS: [&str; 2] = ["Type something", "Chat about this"];
/// Beginnings of the line below a menu that names the keys.
const KEYS: [&str; 3] = ["Enter to select \u{b7} ", "Enter to confirm \u{b7} ", "Esc to cancel"];
/// What a line for calls that are not shown says about commands, around their number.
const FOLDED_RUN: &str = "ran ";
const FOLDED_COMMAND: &str = " shell command";
/// Begins the line that shows what the program does, in terminals without its other signs.
const SPINNER: &str = "* ";
const WORKING: char = '\u{2026}';
/// The ends of the time of an answer.
const CLOCK_ENDS: [&str; 2] = [" AM ", " PM "];
/// The indentation of the output of a command.
const DEEP: usize = 4;
/// The indentation of other lines.
const FLAT: usize = 2;

/// A message: words or a call, and what the program shows below.
pub(super) fn pieces(shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let has_keys = std::mem::take(&mut shared.has_keys);
    if is_user && begins_menu(text) && (has_keys || rows(text).any(is_for_own_words)) {
        return vec![Piece::Harness(flattened(CLAUDE.asked(text).unwrap_or(text), FLAT))];
    }
    let first = line_at(text, 0);
    if !is_user && is_folded_run(first) && CLAUDE.folded.is_some_and(|end| first.trim_end().ends_with(end)) {
        let id = shared.call(&mut pieces, None, SHELL, object([]));
        let told = CLAUDE.folded.and_then(|end| without_sign(first.trim()).strip_suffix(end)).unwrap_or_default();
        let told = told.rsplit_once(" (").map_or(told, |(told, _)| told);
        let below = format!("\n{}", CLAUDE.output);
        let outputs = text.split(&below).skip(1).map(|part| output_of(part, None));
        let stopped = outputs.filter(|output| output.starts_with(INTERRUPTED));
        let texts: Vec<String> = std::iter::once(told.to_owned()).chain(stopped).collect();
        let is_error = texts.len() > 1;
        pieces.push(Piece::Result { id, name: SHELL.to_owned(), texts, is_error });
        return pieces;
    }
    let is_folded = || CLAUDE.folded.is_some_and(|end| first.trim_end().ends_with(end));
    let has_tree = || AGENTS.iter().any(|sign| text.contains(sign));
    if !is_user && begins_agents(first) && (is_folded() || has_tree()) {
        add_agents(shared, &mut pieces, text);
        return pieces;
    }
    let below = format!("\n{}", CLAUDE.output);
    let mut parts = text.split(&below);
    let said = parts.next().unwrap_or_default();
    let words = CLAUDE.asked(said).filter(|_| is_user).unwrap_or(without_sign(said));
    let outputs: Vec<String> = parts.map(|part| output_of(part, None)).collect();
    let first = words.lines().next().unwrap_or_default();
    if is_user && is_answer(first) {
        let lines: Vec<&str> = std::iter::once(words.trim_end()).chain(outputs.iter().map(String::as_str)).collect();
        add_said(&mut pieces, &lines.join("\n"), false);
        return pieces;
    }
    let width = &mut shared.widths[usize::from(is_user)];
    width.note(said);
    let width = width.columns();
    if !is_user && is_about_plan(first) {
        let below: Vec<String> = text.split(&below).skip(1).map(|part| output_of(part, width)).collect();
        add_said(&mut pieces, &flattened(&words[first.len()..], FLAT), false);
        add_plan(shared, &mut pieces, &below.join("\n"), is_one_of(first, &PLANS[..1]));
        return pieces;
    }
    let said = wrapped::joined(said, width, 0, FLAT);
    let words = CLAUDE.asked(&said).filter(|_| is_user).unwrap_or(without_sign(&said));
    if is_user {
        // A command of the shell keeps its sign.
        add_said(&mut pieces, &flattened(if said.starts_with("! ") { &said } else { words }, FLAT), false);
    } else if is_aside(&said) {
        pieces.push(Piece::Harness(flattened(words, FLAT)));
    } else if let Some(output) = quoted_output(&said) {
        pieces.push(Piece::Harness(flattened(output, DEEP + 1)));
    } else if let Some((name, arguments)) = call(words, &outputs) {
        add_call(shared, &mut pieces, name, arguments, outputs);
        return pieces;
    } else {
        add_said(&mut pieces, &flattened(words, FLAT), false);
    }
    for output in outputs {
        match words_in(&output) {
            Some(words) => pieces.push(Piece::Asked(words.to_owned())),
            None if output.starts_with(FAILED) => pieces.push(Piece::Failure(output)),
            None if is_about_plan(line_at(&output, 0)) => add_plan_below(shared, &mut pieces, &output),
            None => pieces.push(Piece::Harness(output)),
        }
    }
    pieces
}

/// The line of an output whose indentation a copy has lost or replaced with tabs, with the usual one.
pub(super) fn indented_output(line: &str) -> Option<String> {
    let output = line.trim_start();
    let is_lost = output.len() == line.len() || line.starts_with('\t');
    let is_output = output.starts_with(CLAUDE.output.trim_start());
    (is_lost && is_output).then(|| format!("  {output}"))
}

/// Whether a line begins a list of agents: `4 agents launched (ctrl+o to expand)`, `Running 2 Explore agents…`.
pub(super) fn begins_agents(line: &str) -> bool {
    let words = without_sign(line);
    let rest = words.strip_prefix(RUNNING_AGENTS).unwrap_or(words);
    let count = rest.split(' ').next().unwrap_or_default();
    let mut rest = rest[count.len()..].split([' ', '\u{2026}']).filter(|word| !word.is_empty()).take(WORDS_OF_AGENTS);
    words.len() < line.len()
        && !count.is_empty()
        && count.bytes().all(|byte| byte.is_ascii_digit())
        && rest.any(|word| matches!(word, "agent" | "agents"))
}

/// Adds a call for each agent in the tree below such a line: `├─ Check the menu · 3 tool uses`, and its state below it.
fn add_agents(shared: &mut Shared, pieces: &mut Vec<Piece>, text: &str) {
    let mut agents: Vec<(&str, Vec<String>)> = Vec::new();
    for line in text.lines().skip(1) {
        let inside = line.trim_start_matches([' ', '\u{a0}', '\u{2502}']).trim_end();
        if let Some(title) = AGENTS.iter().find_map(|sign| inside.strip_prefix(sign)) {
            agents.push((title.trim(), Vec::new()));
        } else if let Some((_, states)) = agents.last_mut() {
            let state = inside.trim_start_matches(['\u{23bf}', ' ', '\u{a0}']);
            states.extend(Some(state).filter(|state| !state.is_empty()).map(str::to_owned));
        }
    }
    for (title, states) in agents {
        let (title, uses) = title.split_once(" \u{b7} ").map_or((title, None), |(title, uses)| (title, Some(uses)));
        let id = shared.call(pieces, None, AGENT, object([("description", string(title))]));
        let text = states.into_iter().chain(uses.map(str::to_owned)).collect::<Vec<_>>().join("\n");
        let texts = Some(text).filter(|text| !text.is_empty()).into_iter().collect();
        pieces.push(Piece::Result { id, name: AGENT.to_owned(), texts, is_error: false });
    }
}

/// The text of an output, which begins behind its sign.
fn output_of(part: &str, width: Option<usize>) -> String {
    let indentation = if part.starts_with("  ") { DEEP + 1 } else { DEEP };
    let text = wrapped::joined(part.trim_start_matches([' ', '\u{a0}']), width, indentation, indentation);
    flattened(&text, indentation)
}

/// Adds a call and what is below it: its result, words of a person who refused it, an error of the next request to the
/// model, and a plan that the person refused.
fn add_call(
    shared: &mut Shared,
    pieces: &mut Vec<Piece>,
    name: String,
    arguments: Json<'static>,
    outputs: Vec<String>,
) {
    let (mut texts, mut later) = (Vec::new(), Vec::new());
    for output in outputs {
        let is_failure = output.starts_with(FAILED) && !texts.is_empty();
        let is_own = !is_failure && !is_about_plan(line_at(&output, 0));
        if is_own { texts.push(output) } else { later.push(output) }
    }
    let is_error = texts.iter().any(|output| ERRORS.iter().any(|start| output.starts_with(start)));
    let id = shared.call(pieces, None, &name, arguments);
    let asked: Vec<Piece> =
        texts.iter().filter_map(|output| words_in(output)).map(|words| Piece::Asked(words.to_owned())).collect();
    pieces.push(Piece::Result { id, name, texts, is_error });
    pieces.extend(asked);
    for output in later {
        match output.starts_with(FAILED) {
            true => pieces.push(Piece::Failure(output)),
            false => add_plan_below(shared, pieces, &output),
        }
    }
}

/// Adds a plan below the line that tells what the person decided about it.
fn add_plan_below(shared: &mut Shared, pieces: &mut Vec<Piece>, output: &str) {
    let first = line_at(output, 0);
    add_plan(shared, pieces, &output[first.len()..], is_one_of(first, &PLANS[..1]));
}

/// Adds a plan that the person approved or refused. In the files of Claude Code, it is a call with the decision as its
/// result. The result has the words of these files.
fn add_plan(shared: &mut Shared, pieces: &mut Vec<Piece>, below: &str, is_approved: bool) {
    let (saved, plan) = below.split_at(saved_length(below));
    let plan = unframed(plan);
    let arguments = if plan.is_empty() { object([]) } else { object([("plan", string(plan))]) };
    let id = shared.call(pieces, None, PLAN, arguments);
    let decision = if is_approved { APPROVED } else { REFUSED };
    let text = format!("{decision}\n{saved}").trim_end().to_owned();
    pieces.push(Piece::Result { id, name: PLAN.to_owned(), texts: vec![text], is_error: !is_approved });
}

/// A text without the frame around it.
fn unframed(text: &str) -> String {
    let inside = |line: &str| {
        let bare = line.trim();
        if bare.starts_with(['\u{256d}', '\u{2570}']) {
            return None;
        }
        let framed = bare.strip_prefix('\u{2502}').and_then(|bare| bare.strip_suffix('\u{2502}'));
        Some(framed.map_or(line, |inside| inside.strip_prefix(' ').unwrap_or(inside)).trim_end().to_owned())
    };
    text.lines().filter_map(inside).collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

/// Whether a line tells what a person answered in a dialogue.
pub(super) fn is_answer(line: &str) -> bool {
    is_one_of(line, &ANSWERS)
}

fn is_about_plan(line: &str) -> bool {
    is_one_of(line, &PLANS)
}

fn is_one_of(line: &str, texts: &[&str]) -> bool {
    texts.contains(&line.trim().trim_end_matches(':'))
}

/// The bytes of the lines that tell where a plan was saved. The screen may break them at a space.
fn saved_length(text: &str) -> usize {
    let first = line_at(text, 0);
    let second = line_at(text, first.len());
    match first.starts_with(SAVED) {
        false => 0,
        true if !first.trim_end().ends_with(EDIT) && second.trim_end().ends_with(EDIT) => first.len() + second.len(),
        true => first.len(),
    }
}

/// Whether a text is one of the program's between the messages.
pub(super) fn is_aside(text: &str) -> bool {
    let words = without_sign(text);
    let title = ENDED.iter().find_map(|start| words.strip_prefix(start));
    let is_ended = title.is_some_and(|title| ENDS.iter().any(|end| title.contains(end)));
    is_ended || ASIDES.iter().any(|start| text.starts_with(start))
}

/// The output in a text that has the sign of the person before that of the output, as some copies have.
pub(super) fn quoted_output(text: &str) -> Option<&str> {
    let output = CLAUDE.asked(text)?.trim_start().strip_prefix(CLAUDE.output.trim_start())?;
    Some(output.trim_start_matches([' ', '\u{a0}']))
}

/// Whether a text that begins with the sign of the person is a menu, if the keys or a row for other words show that. The
/// sign marks its chosen row, and other rows follow.
fn begins_menu(text: &str) -> bool {
    let first = CLAUDE.asked(line_at(text, 0).trim_end());
    first.is_some_and(|first| row(first.trim_start()).is_some()) && rows(text).next().is_some()
}

/// Whether a row of a menu lets the person answer in other words.
fn is_for_own_words(row: &str) -> bool {
    OWN_WORDS.iter().any(|words| row.starts_with(words))
}

/// The rows of a menu below its first line.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).filter_map(|line| row(line.trim_start()))
}

/// The words of a row: `2. Glaze it`, `2. [ ] Glaze it`.
fn row(line: &str) -> Option<&str> {
    let (number, words) = line.split_once('.')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let words = words.strip_prefix(' ').filter(|_| is_number)?.trim_start();
    let behind_box = words.strip_prefix('[').and_then(|words| words.split_once("] "));
    Some(behind_box.filter(|(sign, _)| sign.chars().count() == 1).map_or(words, |(_, words)| words))
}

/// Whether a line names the keys of a menu.
pub(super) fn is_keys(line: &str) -> bool {
    let words = line.strip_prefix(' ').unwrap_or(line);
    KEYS.iter().any(|keys| words.starts_with(keys)) && (words.contains('\u{b7}') || KEYS.contains(&words.trim_end()))
}

/// Whether a line shows what the program does: `* Glazing…`, `* Glazing… (5s · 12 tokens)`.
pub(super) fn is_spinner(line: &str) -> bool {
    let Some(words) = line.strip_prefix(SPINNER) else { return false };
    let Some((_, behind)) = words.rsplit_once(WORKING) else { return false };
    let behind = behind.trim();
    behind.is_empty() || behind.starts_with('(') && behind.ends_with(')')
}

/// A text without the lines that only show, at the right, when an answer began and which model gave it.
pub(super) fn without_clocks(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !is_clock(line.trim())).collect()
}

/// Whether a line is only a time and the name of a model: `03:44 PM claude-sonnet-4-6`.
fn is_clock(line: &str) -> bool {
    let is_number = |part: &str| part.len() == 2 && part.bytes().all(|one| one.is_ascii_digit());
    let is_time = |time: &str| time.split_once(':').is_some_and(|(hour, minute)| is_number(hour) && is_number(minute));
    let is_model = |model: &str| model.contains('-') && !model.contains(' ') && model.starts_with(char::is_alphabetic);
    let found = CLOCK_ENDS.iter().find_map(|end| line.split_once(end));
    found.is_some_and(|(time, model)| is_time(time) && is_model(model))
}

/// Whether a line stands for calls that the screen does not show, and some of them ran commands.
pub(super) fn is_folded_run(line: &str) -> bool {
    let words = without_sign(line.trim()).to_lowercase();
    let Some((before, behind)) = words.split_once(FOLDED_RUN) else { return false };
    let count = behind.split(' ').next().unwrap_or_default();
    let is_count = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    is_count && behind[count.len()..].starts_with(FOLDED_COMMAND) && (before.is_empty() || before.ends_with(", "))
}

/// Whether words begin a call.
pub(super) fn begins_call(words: &str) -> bool {
    let name = words.split_once('(').map(|(name, _)| name);
    name.is_some_and(|name| is_name(name) || is_agent(name) && words.trim_end().ends_with(')'))
}

/// The words of a person in the output of a call that the person refused.
fn words_in(output: &str) -> Option<&str> {
    // A file or a search may show the same text elsewhere in a line.
    let mut lines = output.split_inclusive('\n').scan(0, |end, line| {
        let start = *end;
        *end += line.len();
        Some((start, line.trim_start()))
    });
    let (start, _) = lines.find(|(_, line)| REJECTIONS.iter().any(|rejection| line.starts_with(rejection)))?;
    let words = output[start..].split_once(WITH_WORDS)?.1.trim();
    (!words.is_empty() && !words.starts_with(NO_WORDS)).then_some(words)
}

/// The call in `Bash(ls)`, `Search(pattern: "x", path: "y")` or `name - tool (MCP)(…)`. Without an output, only known
/// tools count.
fn call(words: &str, outputs: &[String]) -> Option<(String, Json<'static>)> {
    let words = words.trim();
    let has_output = !outputs.is_empty();
    let (words, model) = without_model(words).filter(|_| has_output).map_or((words, None), |(a, b)| (a, Some(b)));
    let (name, inside) = words.split_once('(').unwrap_or((words, ")"));
    let has_result = outputs.iter().any(|output| !output.starts_with(INTERRUPTED));
    let inside = match inside.strip_prefix(MCP) {
        Some(inside) => inside,
        None if is_name(name) => inside,
        None if is_agent(name) && has_result && is_one_bracket(inside) => inside,
        None => return None,
    };
    let inside = inside.strip_suffix(')').filter(|_| name.len() <= MAX_NAME)?;
    let known = TOOLS.iter().find(|(shown, ..)| *shown == name);
    let (name, key) = known.map_or((name.trim_end(), "input"), |(_, name, key)| (*name, *key));
    if known.is_none() && (!has_output || !words.contains('(')) {
        return None;
    }
    let lines: Vec<&str> = inside.lines().map(str::trim).collect();
    let mut arguments = match key {
        // The text after a path says which lines.
        PATH => object([(key, string(lines.concat().split(" \u{b7} ").next().unwrap_or_default()))]),
        _ if inside.is_empty() => object([]),
        "command" => object([(key, string(lines.join("\n")))]),
        _ => named_arguments(&lines.join(" "))
            .unwrap_or_else(|| object([(key, string(lines.join(" ").trim_matches('"')))])),
    };
    if let (Json::Object(members), Some(model)) = (&mut arguments, model) {
        members.push(("model".into(), string(model)));
    }
    Some((name.to_owned(), arguments))
}

/// A call without the name of the agent's model after it, such as `Explore(…) Haiku 4.5`, and this name.
fn without_model(words: &str) -> Option<(&str, &str)> {
    let at = words.rfind(") ")? + 1;
    let (call, model) = (&words[..at], words[at..].trim());
    let is_letter = |one: char| one.is_alphanumeric() || " .-()".contains(one);
    let has_pairs = model.matches('(').count() == model.matches(')').count();
    let is_model = model.len() <= MAX_NAME && model.starts_with(char::is_uppercase) && model.chars().all(is_letter);
    let is_numbered = model.contains(|one: char| one.is_ascii_digit());
    (is_model && is_numbered && has_pairs && model.split(' ').count() <= 4).then_some((call, model))
}

/// Whether a text that follows a bracket ends with the other bracket of the pair.
fn is_one_bracket(text: &str) -> bool {
    let mut depth = 1_usize;
    let mut ends = text.char_indices().filter_map(|(at, one)| {
        match one {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        (depth == 0).then_some(at + 1)
    });
    ends.next() == Some(text.len())
}

/// The arguments in `pattern: "x", limit: 10`.
fn named_arguments(mut text: &str) -> Option<Json<'static>> {
    let mut members = Vec::new();
    while !text.is_empty() {
        let (key, rest) = text.split_once(": ")?;
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')) {
            return None;
        }
        let (value, rest) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted.split_once("\", ") {
                Some(found) => found,
                None => (quoted.strip_suffix('"')?, ""),
            },
            None => rest.split_once(", ").unwrap_or((rest, "")),
        };
        members.push((key.to_owned().into(), string(value)));
        text = rest;
    }
    Some(Json::Object(members))
}

/// Whether this can be the name of a tool: a few words, the first with a capital.
fn is_name(name: &str) -> bool {
    let is_word =
        |word: &str| !word.is_empty() && word.chars().all(|one| one.is_alphanumeric() || "_-:.".contains(one));
    name.len() <= MAX_NAME
        && name.starts_with(char::is_uppercase)
        && name.split(' ').all(is_word)
        && name.split(' ').count() <= 3
}

/// Whether this can be the name of an agent of the person's own: a word in small letters.
fn is_agent(name: &str) -> bool {
    let is_letter = |one: char| one.is_alphanumeric() || "_-:.".contains(one);
    name.len() <= MAX_NAME && name.starts_with(char::is_lowercase) && name.chars().all(is_letter)
}

/// Whether a text is a copy that begins inside an answer: its first lines are indented, and a call with an output
/// follows. Other texts quote a screen in a fence, or below words that are not indented.
pub(super) fn begins_inside(head: &str) -> bool {
    let mut lines = head.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty()).peekable();
    let is_indented = |line: &str| line.starts_with("  ");
    if !lines.peek().is_some_and(|line| is_indented(line)) {
        return false;
    }
    let mut lines = lines.skip_while(|line| is_indented(line)).peekable();
    if !lines.peek().is_some_and(|line| CLAUDE.has_sign(line)) {
        return false;
    }
    let mut fence = Fence::default();
    let mut is_in_call = false;
    lines.any(|line| {
        if is_indented(line) {
            return is_in_call && line.starts_with(CLAUDE.output);
        }
        fence.read(line);
        is_in_call = !fence.is_open() && without_sign(line) != line && begins_call(without_sign(line));
        false
    })
}
