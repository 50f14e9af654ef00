//! Copies of the screens of Codex and Claude Code. A sign at the start of a line begins a text of a person, the model
//! or the program. Its other lines are indented.
//!
//! Copies from the Codex app have no signs for persons and the model. In these, the words at the start and after the
//! end of a turn are the person's up to the first blank line, and so are words that a blank line separates from a call
//! without an output. All others are the model's. A copy of the screen of Codex may have lost the sign at its start: the
//! indented lines there are the person's, too. The report lists all such lines.

use super::claude_screen;
use super::shared::{Heading, Piece, Shared, What, add_said, line_at};
use super::specstory::Fence;
use crate::formats::node::{object, string};
use crate::json::Json;

/// The signs of a program, at the start of lines.
#[derive(Debug)]
pub(super) struct Marks {
    /// Its name in the frame at the start.
    name: &'static str,
    person: &'static [&'static str],
    /// Placeholders where a person enters something, and the choices of a question.
    no_words: &'static [&'static str],
    /// Signs of the model's words and of calls.
    model: &'static [&'static str],
    thoughts: &'static [&'static str],
    failures: &'static [&'static str],
    /// Other lines of the program: approvals, warnings, states, rules, and frames.
    notices: &'static [&'static str],
    /// What only this program shows, besides its name in a frame.
    calls: &'static [&'static str],
    /// The sign before the output of a call.
    pub(super) output: &'static str,
    /// The end of a line that replaces calls which the screen does not show.
    pub(super) folded: Option<&'static str>,
    /// Whether all lines of calls are indented or are lines of a diff.
    is_strict: bool,
}

pub(super) static CODEX: Marks = Marks {
    name: "OpenAI Codex",
    person: &["\u{203a} ", "\u{258c} ", BAR],
    no_words: &["Ask Codex to do anything", "1. Yes, proceed", "1. Yes, just this once"],
    model: &["\u{2022} ", "\u{2717} You canceled ", "\u{2717} You did not approve ", "\u{2717} You rejected "],
    thoughts: &[],
    failures: &["\u{25a0} ", "\u{1f590} "],
    notices: &["\u{2714}", "\u{26a0}", "\u{2500}", "\u{256d}", "\u{2502}", "\u{2570}", KEYS, EARLY_TITLE],
    calls: &[
        "\u{2022} Ran ",
        FAILED,
        EXPLORED,
        "\u{2022} Edited ",
        "\u{2022} Added ",
        "\u{2022} Deleted ",
        "\u{2714} You approved codex to ",
        "\u{2717} You ",
    ],
    output: "  \u{2514}",
    folded: Some(" ctrl + t to view transcript"),
    is_strict: true,
};

pub(super) static CLAUDE: Marks = Marks {
    name: "Claude Code",
    person: &["\u{276f} ", "\u{276f}\u{a0}", "> ", "! "],
    no_words: &["1. Submit answers"],
    model: &["\u{23fa} ", "\u{25cf} "],
    thoughts: &["\u{2234} Thinking", "\u{273b} Thinking"],
    failures: &["\u{23fa} API Error", "\u{25cf} API Error"],
    notices: &[
        "\u{273b}",
        "\u{273d}",
        "\u{2736}",
        "\u{2733}",
        "\u{2722}",
        "\u{203b} Tip",
        "\u{b7} ",
        "\u{23f5}",
        "\u{258e}",
        " \u{258e}",
        " \u{2590}\u{259b}",
        "\u{2590}\u{259b}",
        "\u{259d}\u{259c}",
        "\u{2500}",
        "\u{2501}",
        "\u{254c}",
        "\u{256d}",
        "\u{2502}",
        "\u{2570}",
        "\u{2597} ",
        "\u{2550}",
        "\u{25aa}",
        "\u{2190} ",
    ],
    calls: &["  \u{23bf}"],
    output: "  \u{23bf}",
    folded: Some(" to expand)"),
    is_strict: false,
};

/// Begins a message of the system to all terminals: `Broadcast message from root@host (...)`.
const BROADCAST: &str = "Broadcast message from ";
/// The sign before each line of the person in early versions.
const BAR: &str = "\u{258c}";
/// The sign of the model in these versions.
const EARLY_ANSWER: &str = ">";
/// The name of the program in the first versions, which have no frame.
const EARLY_TITLE: &str = ">_ You are using OpenAI Codex";
/// The line below an entry of the person that was not sent. It names the keys.
const KEYS: &str = "\u{23ce} send";
const FAILED: &str = "\u{2022} Failed (exit ";
const COMPACTED: &str = "\u{2022} Context compacted";
const EXPLORED: &str = "\u{2022} Explored";
/// What the screen shows after the person refused to run a command.
const REFUSED: [&str; 3] = [
    "\u{2717} You canceled the request to run ",
    "\u{2717} You did not approve codex to run ",
    "\u{2717} You rejected the request to run ",
];
/// Edits and their tools.
const EDITS: [(&str, &str); 4] = [
    ("Edited ", "edit_file"),
    ("Added ", "write_file"),
    ("Deleted ", "delete_file"),
    ("Change Approved ", "edit_file"),
];
/// Kinds of exploration, their tools, and their arguments.
const EXPLORATIONS: [(&str, &str, &str); 3] =
    [("Read ", "read_file", "path"), ("Search ", "grep", "query"), ("List ", "list_dir", "path")];
/// Other calls, their tools, and their arguments. A call without an output is one line, and not a sentence.
const CALLS: [(&str, &str, &str); 13] = [
    (RAN, SHELL, "command"),
    ("Updated Plan", "update_plan", ""),
    ("Viewed image ", "view_image", "path"),
    ("Viewed Image", "view_image", "path"),
    ("Searched the web for ", "web_search", "query"),
    ("Searched the web", "web_search", ""),
    ("Opened http", "open_page", "url"),
    ("Called ", MCP_CALL, "call"),
    ("Started `", "spawn_agent", "agent"),
    ("Interacted with `", "send_input", "agent"),
    ("Interrupted `", "interrupt_agent", "agent"),
    ("Completed `", "wait_agent", "agent"),
    ("Finished waiting", "wait_agent", ""),
];
const RAN: &str = "Ran ";
/// First words of sentences that say what the model ran, and words inside of them.
const FIRST_WORDS: [&str; 24] = [
    "a", "all", "an", "another", "both", "each", "every", "into", "it", "its", "my", "no", "one", "only", "our", "out",
    "some", "that", "the", "these", "this", "those", "through", "your",
];
const INNER_WORDS: [&str; 5] = [", ", " and ", " but ", " \u{2013} ", " \u{2014} "];
/// Signs of the tasks of a plan.
const TASKS: [char; 2] = ['\u{2714}', '\u{25a1}'];
/// The sign before the further lines of a command.
const MORE: &str = "  \u{2502} ";
/// The end of a turn in copies from the Codex app.
const WORKED: &str = "  Worked for ";
/// The indentation of the output of a command.
const DEEP: usize = 4;
/// The indentation of other lines.
const FLAT: usize = 2;
const SHELL: &str = "shell";
const MCP_CALL: &str = "mcp";
/// Signs of states below an empty prompt.
const STATES: [char; 3] = ['?', '\u{23f5}', '\u{23f8}'];
/// Number of lines at the start that may name the program in a frame.
const FRAME_LINES: usize = 8;

/// Beginnings of lines of other texts, above the first call.
const FOREIGN: [&str; 6] = ["#", "<!--", "---", "|", "\u{23fa} ", "\u{25cf} "];
/// Number of calls with their outputs that show that a text is a copy of a screen.
const CALLS_BELOW: usize = 2;
/// Beginnings of commands that list files. A path has none before a space.
const LISTING: [&str; 9] = ["rg", "ls", "fd", "find", "tree", "du", "git", "eza", "exa"];

/// The place of the last line.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Place {
    part: Part,
    is_behind_blank: bool,
    /// Whether a line had a sign.
    has_signs: bool,
    /// Whether a line had the sign of the person.
    has_prompts: bool,
    /// Whether the last line is in words of the person behind their sign.
    is_asked: bool,
    /// Whether a line had the sign of the person in early versions, and whether the last one had.
    has_bars: bool,
    is_bar: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Before the first line.
    #[default]
    Start,
    /// After the end of a turn.
    Turn,
    /// In words of a person without a sign.
    Asked,
    /// In other words.
    Said,
    /// After the first line of a call.
    Call,
    /// After other lines of a call.
    Output,
    Folded,
    Notice,
    /// After a message of the system to all terminals. What follows without a sign is not the agent's.
    Broadcast,
    /// After the sign of the person, without words in its line.
    Prompt,
    /// After words of the person with the sign of early versions.
    Bar,
    /// After the names of the keys below a menu.
    Keys,
}

impl Marks {
    /// Whether a text begins like such a screen and contains something that only this program shows.
    pub(super) fn begins(&self, head: &str) -> bool {
        let mut lines = head.trim_start_matches('\u{feff}').lines().filter(|line| !line.trim().is_empty());
        let starts = |line: &str, signs: &[&str]| signs.iter().any(|sign| line.starts_with(sign));
        let Some(first) = lines.clone().next() else { return false };
        // A ruler of double lines begins other texts, too.
        let mut first_lines = lines.clone().take(FRAME_LINES);
        let is_framed = match starts(first, self.notices) && !first.starts_with('\u{2550}') {
            true => first_lines.any(|line| line.contains(self.name)),
            false => self.is_strict && first_lines.any(|line| line.starts_with(EARLY_TITLE)),
        };
        let is_person = |line: &str| starts(line, self.person);
        let is_model = |line: &str| starts(line, self.model);
        match is_framed {
            true => lines.any(|line| is_person(line) || is_model(line)),
            false => {
                let has_call = lines.clone().any(|line| starts(line, self.calls));
                (is_person(first) || is_model(first)) && has_call && lines.any(is_model)
            }
        }
    }

    /// Whether a text begins with words without a sign, and calls of this program follow. Other texts may quote such a
    /// screen: they have a heading or a comment above it, or put it in a fence.
    pub(super) fn begins_without_sign(&self, head: &str) -> bool {
        let starts = |line: &str, signs: &[&str]| signs.iter().any(|sign| line.starts_with(sign));
        let mut lines = head.trim_start_matches('\u{feff}').lines();
        let signs = [self.model, self.person, self.notices, self.failures];
        let (mut fence, mut calls) = (Fence::default(), 0);
        let (mut has_words, mut has_sign) = (false, false);
        while let Some(line) = lines.next() {
            if !line.starts_with(' ') {
                fence.read(line);
            }
            if !has_sign && !fence.is_open() {
                has_sign = signs.iter().any(|signs| starts(line, signs));
                let is_odd = if has_sign { !has_words || !starts(line, self.model) } else { starts(line, &FOREIGN) };
                if is_odd {
                    return false;
                }
            }
            has_words |= !line.trim().is_empty();
            if fence.is_open() || !starts(line, self.calls) {
                continue;
            }
            let mut below = lines.clone().skip_while(|line| line.starts_with(MORE));
            calls += usize::from(below.next().is_some_and(|line| line.starts_with(self.output)));
            if calls == CALLS_BELOW {
                return true;
            }
        }
        false
    }

    /// Reads a line. Returns the heading that it begins, if any.
    pub(super) fn line(&self, place: &mut Place, line: &str) -> Option<Heading> {
        let is_blank = line.trim().is_empty();
        let is_behind_blank = std::mem::replace(&mut place.is_behind_blank, is_blank);
        let is_bar = self.is_strict && line.starts_with(BAR);
        let is_next_bar = std::mem::replace(&mut place.is_bar, is_bar) && is_bar;
        place.has_bars |= is_bar;
        let is_keys = self.is_strict && place.part == Part::Bar && line.trim_start().starts_with(KEYS);
        if is_blank || is_keys || is_next_bar && place.part != Part::Prompt {
            return None;
        }
        let is_flat = !line.starts_with([' ', '\t']);
        let is_diff = line.starts_with(['+', '-']);
        let said = |is_user, is_guess| Heading { is_user, is_guess, ..Heading::default() };
        let is_early_answer = self.is_strict && place.has_bars && without_early_sign(line).is_some();
        let early_answer = is_early_answer.then(|| (said(false, false), Part::Said));
        let may_be_folded = is_behind_blank || place.is_asked && begins_with_verb(line);
        let signed = early_answer.or_else(|| self.sign(line, is_behind_blank, may_be_folded)).map(|(heading, part)| {
            let is_answer = part == Part::Said && heading.what == What::Said && !heading.is_user;
            let is_first = !std::mem::replace(&mut place.has_signs, true);
            place.has_prompts |= heading.is_user;
            (Heading { ends_request: is_first && is_answer && self.is_strict, ..heading }, part)
        });
        let found = signed.or_else(|| match place.part {
            // What the person pressed.
            Part::Keys if !line.contains(char::is_alphabetic) => None,
            Part::Start | Part::Turn if is_flat => Some((said(true, true), Part::Asked)),
            Part::Start => Some((said(self.is_strict, true), if self.is_strict { Part::Asked } else { Part::Said })),
            Part::Asked if is_behind_blank && (is_flat || !self.is_strict) => Some((said(false, true), Part::Said)),
            Part::Bar if !is_flat || is_behind_blank => Some((said(false, true), Part::Said)),
            Part::Prompt if !is_behind_blank && !is_state(line) => Some((said(true, false), Part::Said)),
            Part::Folded if is_behind_blank => Some((said(false, false), Part::Said)),
            Part::Notice | Part::Folded | Part::Prompt | Part::Keys if is_flat => {
                Some((said(false, false), Part::Said))
            }
            Part::Call if is_flat && is_behind_blank && !is_diff && self.is_strict && !place.has_prompts => {
                Some((said(true, true), Part::Asked))
            }
            Part::Call | Part::Output if is_flat => {
                (is_behind_blank || self.is_strict && !is_diff).then(|| (said(false, false), Part::Said))
            }
            _ => None,
        });
        let Some((heading, part)) = found else {
            place.part = match place.part {
                Part::Call => Part::Output,
                Part::Prompt => Part::Notice,
                same => same,
            };
            return None;
        };
        place.part = part;
        place.is_asked = heading.is_user && part == Part::Said;
        Some(heading)
    }

    /// Whether a line begins with a sign of a person, the model or the program.
    pub(super) fn has_sign(&self, line: &str) -> bool {
        let signs = [self.model, self.person, self.notices, self.failures, self.thoughts];
        signs.iter().any(|signs| signs.iter().any(|sign| line.starts_with(sign)))
    }

    /// The heading that a line with a sign begins.
    fn sign(&self, line: &str, is_behind_blank: bool, may_be_folded: bool) -> Option<(Heading, Part)> {
        let starts = |signs: &[&str]| signs.iter().any(|sign| line.starts_with(sign));
        let indentation = line.len() - line.trim_start_matches(' ').len();
        let is_agents = !self.is_strict && claude_screen::begins_agents(line);
        let is_folded = !is_agents
            && self.folded.is_some_and(|end| line.trim_end().ends_with(end))
            && (starts(self.model) || indentation == FLAT && may_be_folded);
        let is_compaction = self.is_strict && line.trim_end() == COMPACTED;
        if !self.is_strict && claude_screen::is_keys(line) {
            return Some((Heading { what: What::Other, ends_menu: true, ..Heading::default() }, Part::Keys));
        }
        let is_folded_run = is_folded && !self.is_strict && claude_screen::is_folded_run(line);
        let (what, part) = if is_folded_run {
            (What::Said, Part::Folded)
        } else if is_folded || is_compaction {
            (What::Other, if is_folded { Part::Folded } else { Part::Notice })
        } else if !self.is_strict && is_behind_blank && claude_screen::is_spinner(line) {
            (What::Other, Part::Notice)
        } else if !self.is_strict && (claude_screen::is_aside(line) || claude_screen::quoted_output(line).is_some()) {
            (What::Said, Part::Notice)
        } else if let Some(words) = self.asked(line) {
            if words.trim().is_empty() {
                (What::Other, Part::Prompt)
            } else if self.no_words.iter().any(|start| words.starts_with(start)) {
                (What::Other, Part::Notice)
            } else {
                let part = if self.is_strict && line.starts_with(BAR) { Part::Bar } else { Part::Said };
                return Some((Heading { is_user: true, ..Heading::default() }, part));
            }
        } else if line.starts_with(BROADCAST) && line.contains('@') {
            // The report lists it: an agent may go on below it without a sign.
            return Some((Heading { what: What::Other, is_guess: true, ..Heading::default() }, Part::Broadcast));
        } else if starts(self.failures) {
            (What::Failure, Part::Said)
        } else if starts(self.thoughts) {
            (What::Thought, Part::Notice)
        } else if starts(self.model) && claude_screen::is_answer(without_sign(line)) {
            return Some((Heading { is_user: true, ..Heading::default() }, Part::Said));
        } else if is_agents {
            (What::Said, Part::Call)
        } else if starts(self.model) {
            (What::Said, if self.is_call(line) { Part::Call } else { Part::Said })
        } else if self.is_strict && line.starts_with(WORKED) {
            (What::Other, Part::Turn)
        } else if starts(self.notices) {
            (What::Other, Part::Notice)
        } else {
            return None;
        };
        Some((Heading { what, ..Heading::default() }, part))
    }

    /// The person's input in a line.
    pub(super) fn asked<'a>(&self, line: &'a str) -> Option<&'a str> {
        let words = |sign: &&str| line.strip_prefix(*sign).or((line.trim_end() == sign.trim_end()).then_some(""));
        self.person.iter().find_map(words)
    }

    /// Whether a line with the sign of the model begins a call.
    fn is_call(&self, line: &str) -> bool {
        let words = without_sign(line);
        match self.is_strict {
            true => {
                line.starts_with(EXPLORED)
                    || line.starts_with(FAILED)
                    || words.trim_end() == RAN.trim_end()
                    || CALLS.iter().any(|(start, ..)| words.starts_with(start))
                    || EDITS.iter().any(|(start, _)| is_edit(words, start))
            }
            false => claude_screen::begins_call(words),
        }
    }

    /// The parts of a text that begins with a sign.
    pub(super) fn pieces(&self, shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
        let clockless = if self.is_strict { None } else { Some(claude_screen::without_clocks(text)) };
        let text = clockless.as_deref().unwrap_or(text);
        match shared.what {
            What::Failure => vec![Piece::Failure(flattened(without_sign(text), FLAT))],
            What::Thought => {
                let thought = flattened(&text[line_at(text, 0).len()..], FLAT);
                Some(thought).filter(|thought| !thought.is_empty()).map(Piece::Thought).into_iter().collect()
            }
            _ if self.is_strict => codex(shared, text, is_user),
            _ => claude_screen::pieces(shared, text, is_user),
        }
    }
}

/// The parts of what Codex shows after a sign.
fn codex(shared: &mut Shared, text: &str, is_user: bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    if is_user {
        add_said(&mut pieces, &asked_text(text), false);
        return pieces;
    }
    let first = line_at(text, 0);
    let (text, prose) = text.split_at(first.len() + end_of_output(&text[first.len()..]));
    let early = without_early_sign(text).filter(|_| shared.place.has_bars);
    let (rest, words) = (&text[first.len()..], early.unwrap_or(without_sign(text)));
    let output = if rest.starts_with(CODEX.output) {
        Some(0)
    } else {
        rest.find(&format!("\n{}", CODEX.output)).map(|at| at + 1)
    };
    if let Some(start) = REFUSED.iter().find(|start| text.starts_with(**start)) {
        let command = flattened(&text[start.len()..], FLAT).replace('\n', " ");
        add_call(shared, &mut pieces, SHELL, ("command", &command), &flattened(words, FLAT), true);
    } else if let Some((start, tool)) = EDITS.iter().find(|(start, _)| is_edit(without_sign(first), start)) {
        // Several files have one line each.
        let has_lines = output == Some(0);
        let several = has_lines.then(|| rest[CODEX.output.len()..].split("\n  \u{2514}").collect());
        let parts: Vec<&str> = several.unwrap_or_else(|| vec![&words[start.len()..]]);
        for part in parts {
            let (name, diff) = part.split_once('\n').unwrap_or((part, ""));
            let path = name.rsplit_once(" (+").map_or(name, |(path, _)| path);
            add_call(shared, &mut pieces, tool, ("path", path.trim()), &flattened(diff, DEEP), false);
        }
    } else if is_exploration(first) && (output == Some(0) || is_deep(rest)) {
        explored(shared, &mut pieces, rest.strip_prefix(CODEX.output).unwrap_or(rest));
    } else if is_exploration(first) {
        // The screen has lost what was read. Words may follow that have lost their sign.
        add_said(&mut pieces, &flattened(rest, FLAT), false);
    } else if let Some((command, result)) = bare_command(words, rest, output) {
        add_call(shared, &mut pieces, SHELL, ("command", &command), &result, false);
    } else if let Some((tool, key, argument, state)) = codex_call(words, first, rest, output) {
        let result = match output {
            Some(at) => rest[at + CODEX.output.len()..].trim_start_matches(' '),
            None if rest.starts_with(MORE) => "",
            None => rest,
        };
        let result = flattened(result, DEEP);
        let result = [state, &result].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n");
        add_call(shared, &mut pieces, tool, (key, &argument), &result, !state.is_empty());
    } else {
        add_said(&mut pieces, &flattened(words, FLAT), false);
    }
    add_said(&mut pieces, &flattened(prose, FLAT), false);
    pieces
}

/// The words of the person, without their signs. A text that was not sent has the names of keys below it.
fn asked_text(text: &str) -> String {
    if !text.starts_with(BAR) {
        return flattened(CODEX.asked(text).unwrap_or(text), FLAT);
    }
    let is_keys = |line: &&str| line.trim_start().starts_with(KEYS);
    let is_sent = !text.lines().any(|line| is_keys(&line));
    let bare = |line: &'_ str| -> usize {
        let inside = line.strip_prefix(BAR).unwrap_or(line);
        line.len() - inside.strip_prefix(' ').unwrap_or(inside).len()
    };
    let lines = text.lines().filter(|line| is_sent || !line.starts_with(BAR) && !is_keys(line));
    let lines = lines.map(|line| line[bare(line)..].trim_end());
    lines.collect::<Vec<_>>().join("\n").trim_matches('\n').to_owned()
}

/// A text without the sign that early versions put before the model's words.
fn without_early_sign(text: &str) -> Option<&str> {
    let words = text.strip_prefix(EARLY_ANSWER)?;
    words.strip_prefix(' ').or_else(|| (words.is_empty() || words.starts_with('\n')).then_some(words))
}

/// Where the lines of a call end in the text below its first line: before words of the model that have lost their sign.
/// These have the indentation of words, and a blank line before them. Without a call, it is the end of the text.
fn end_of_output(rest: &str) -> usize {
    if !rest.starts_with(CODEX.output) && !rest.starts_with(MORE) && !is_deep(rest) {
        return rest.len();
    }
    let (mut at, mut is_blank) = (0, false);
    for line in rest.split_inclusive('\n') {
        let indentation = line.len() - line.trim_start_matches(' ').len();
        let is_marked = line.starts_with(CODEX.output) || line.starts_with(MORE.trim_end());
        if is_blank && indentation == FLAT && !is_marked && !line.trim().is_empty() {
            return at;
        }
        is_blank = line.trim().is_empty();
        at += line.len();
    }
    rest.len()
}

/// Whether a text begins with the indentation of outputs.
fn is_deep(text: &str) -> bool {
    text.starts_with("    ") && !line_at(text, 0).trim().is_empty()
}

/// Whether a line is the first one of an exploration: `Explored`, `Explored · 1 failed`.
fn is_exploration(line: &str) -> bool {
    let rest = line.strip_prefix(EXPLORED).map(str::trim);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('\u{b7}'))
}

/// The command that early versions show below `Ran`, and its output if a sign precedes it. Errors without a sign stay in
/// the command.
fn bare_command(words: &str, rest: &str, output: Option<usize>) -> Option<(String, String)> {
    if line_at(words, 0).trim_end() != RAN.trim_end() || output != Some(0) {
        return None;
    }
    let below = rest[CODEX.output.len()..].trim_start_matches(' ');
    let (command, result) = below.split_once("\n  \u{2514}").unwrap_or((below, ""));
    Some((flattened(command, DEEP), flattened(result.trim_start_matches(' '), DEEP)))
}

/// A call of Codex: its tool, the name and the text of its argument, and how it failed.
fn codex_call<'a>(
    words: &'a str,
    first: &str,
    rest: &str,
    output: Option<usize>,
) -> Option<(&'static str, &'static str, String, &'a str)> {
    let has_more = rest.starts_with(MORE);
    let end = output.unwrap_or(if has_more { rest.len() } else { 0 });
    let head = &words[..words.len() - rest.len() + if output.is_none() && !is_deep(rest) { rest.len() } else { end }];
    let joined = |text: &str| {
        let lines = text.lines().map(|line| line.strip_prefix(MORE).unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    };
    if let Some(end) = head.find(')').filter(|_| first.starts_with(FAILED)) {
        return Some((SHELL, "command", joined(head[end + 1..].trim_start_matches(' ')), &words[..=end]));
    }
    let (start, tool, key) = *CALLS.iter().find(|(start, ..)| head.starts_with(start))?;
    // A beginning may include the first letters of the argument.
    let from = if key.is_empty() { start.len() } else { start.rfind(' ').map_or(0, |at| at + 1) };
    let argument = joined(&head[from..]);
    let is_sentence = argument.ends_with(['.', ':', '!', '?', '\u{3002}', '\u{ff1a}']);
    let is_whole = output.is_some() || has_more || is_plan(rest);
    let is_alone = match tool {
        SHELL => (rest.trim().is_empty() || is_deep(rest)) && is_command_line(&argument),
        MCP_CALL => false,
        _ => rest.trim().is_empty() && !is_sentence,
    };
    let bare = if start.ends_with('`') { argument.trim_matches('`') } else { &argument };
    let is_fitting = if key.is_empty() { bare.is_empty() } else { !start.ends_with('`') || !bare.contains('`') };
    ((is_alone || is_whole) && is_fitting).then(|| (tool, key, bare.to_owned(), ""))
}

/// Whether the lines of a plan have lost the sign before them.
fn is_plan(rest: &str) -> bool {
    is_deep(rest) && rest.trim_start().starts_with(TASKS)
}

/// Whether the words after `Ran` are a command, and not a sentence of the model. A command may end with ` .`.
fn is_command_line(words: &str) -> bool {
    let is_sentence = words.ends_with([':', '!', '?', '\u{3002}', '\u{ff1a}'])
        || words.strip_suffix('.').is_some_and(|before| before.ends_with(char::is_alphanumeric));
    let first = words.split(' ').next().unwrap_or_default();
    let has_words = || INNER_WORDS.iter().any(|word| words.contains(word)) && !words.contains(['"', '\'', '|', '&']);
    !is_sentence && !FIRST_WORDS.contains(&first) && !has_words()
}

/// The calls of an exploration. A line with more indentation continues the line before.
fn explored(shared: &mut Shared, pieces: &mut Vec<Piece>, text: &str) {
    let mut items: Vec<String> = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let is_more = at > 0 && line.len() - line.trim_start_matches(' ').len() > DEEP;
        match items.last_mut().filter(|_| is_more) {
            Some(item) => {
                item.push(' ');
                item.push_str(line.trim());
            }
            None => items.push(line.trim().to_owned()),
        }
    }
    for item in items.iter().filter(|item| !item.starts_with("+ ")) {
        // `(exit 2)`, `(command exit 2)`
        let failed = item.rsplit_once(" (").filter(|(_, end)| end.contains("exit ") && end.ends_with(')'));
        let (item, state) = failed.unwrap_or((item, ""));
        let state = state.trim_end_matches(')');
        match EXPLORATIONS.iter().find_map(|(start, tool, key)| Some((item.strip_prefix(start)?, tool, key))) {
            Some((about, &"list_dir", _)) if is_command(about) => {
                add_call(shared, pieces, SHELL, ("command", about), state, !state.is_empty());
            }
            Some((about, tool, &"path")) => {
                about
                    .split(", ")
                    .for_each(|path| add_call(shared, pieces, tool, ("path", path), state, !state.is_empty()));
            }
            Some((about, tool, key)) => add_call(shared, pieces, tool, (key, about), state, !state.is_empty()),
            None => add_said(pieces, item, false),
        }
    }
}

/// Whether a listing shows its command. It does if the command names no directory.
fn is_command(listing: &str) -> bool {
    let (first, rest) = listing.split_once(' ').unwrap_or((listing, ""));
    LISTING.contains(&first) && (!rest.is_empty() || first == "ls")
}

/// Whether a line reports an edit and is not the model's words.
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
    let arguments: Json<'static> = if key.is_empty() { object([]) } else { object([(key, string(value))]) };
    let id = shared.call(pieces, None, name, arguments);
    let texts = if result.is_empty() { Vec::new() } else { vec![result.to_owned()] };
    pieces.push(Piece::Result { id, name: name.to_owned(), texts, is_error });
}

/// Whether the words of a line begin with a capital, as in a line that stands for calls: `Ran 2 shell commands`.
fn begins_with_verb(line: &str) -> bool {
    line.trim_start().starts_with(|first: char| first.is_ascii_uppercase())
}

/// Whether a line below an empty prompt shows a state of the program.
fn is_state(line: &str) -> bool {
    line.starts_with(' ') && line.trim_start().starts_with(STATES)
}

/// A text without the sign of the model or of the program at its start.
pub(super) fn without_sign(text: &str) -> &str {
    let signs = ["\u{2022} ", "\u{2717} ", "\u{25a0} ", "\u{1f590} ", "\u{23fa} ", "\u{25cf} "];
    signs.iter().find_map(|sign| text.strip_prefix(sign)).unwrap_or(text)
}

/// A text without the indentation and trailing spaces of its lines, and without blank lines around it.
pub(super) fn flattened(text: &str, indentation: usize) -> String {
    let flat = |line: &'_ str| -> usize { line.len() - line.trim_start_matches(' ').len() };
    let lines = text.split('\n').map(|line| line[flat(line).min(indentation)..].trim_end());
    lines.collect::<Vec<_>>().join("\n").trim_end().trim_start_matches('\n').to_owned()
}
