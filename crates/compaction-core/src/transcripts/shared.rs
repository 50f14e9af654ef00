//! Transcripts that agents themselves export as Markdown: `/export` of opencode, `/chat share` of Gemini CLI, `/share` of
//! Copilot CLI, the tasks of Cline and Roo, the conversations of Windsurf and Antigravity, the threads of Amp, and copies of
//! the screens of Codex, Claude Code and Gemini CLI.

use std::collections::{HashMap, HashSet, VecDeque};

use memchr::memmem::Finder;

use super::screen::{self, Marks, Place};
use super::specstory::Fence;
use super::tree::{text_at, value_at};
use super::wrapped::Width;
use super::{Agent, amp, cline, codex_app, copilot, copilot_chat, gemini_screen, thoughts, windsurf};
use crate::formats::node::arguments_object;
use crate::json::Json;

/// Number of lines at the start of an export of opencode that may name the session.
const FIRST_LINES: usize = 8;
const RULE: &str = "---";
pub(super) const FENCE: &str = "```";
const SESSION: &str = "**Session ID:** ";
/// Beginning of the ids of opencode's sessions.
const SESSION_START: &str = "ses_";
const THINKING: &str = "_Thinking:_";
const TOOL: &str = "**Tool: ";
/// The first line of a call in a fence, in early versions of opencode.
const EARLY_TOOL: &str = "Tool: ";
const INPUT: &str = "**Input:**";
const OUTPUT: &str = "**Output:**";
const ERROR: &str = "**Error:**";
/// Begins the summary that opencode puts in the place of a conversation. A message of the person without words comes
/// before it.
const GOAL: &str = "## Goal";
/// Comes before the JSON text of a call of Gemini CLI.
const COMMAND: &str = "Command**:\n```json\n";
/// Comes before the JSON text of a result.
const RESPONSE: &str = "Response**:\n```json\n";
const MARK: &str = "**Tool ";
/// Beginnings of the first message of Gemini CLI, which the program writes itself.
const SET_UPS: [&str; 2] = ["This is the Gemini CLI. We are setting up the context for our chat.", "<session_context>"];
/// The summary that Gemini CLI puts in the place of a conversation, and the answer to it that the program writes.
const SNAPSHOT: &str = "<state_snapshot>";
const SNAPSHOT_END: &str = "</state_snapshot>";
const ACKNOWLEDGED: &str = "Got it. Thanks for the additional context!";
/// The lines around the contents of files to which the person refers.
const ATTACHED: &str = "--- Content from referenced files ---";
const ATTACHED_END: &str = "--- End of content ---";
/// Headings of Cline and Roo.
const PERSON: &str = "**User:**";
const ANSWER: &str = "**Assistant:**";
const RESULTS: &str = "**Tool:**";
const REASONING: &str = "**Reasoning:**";

/// Which agent's own export a text is. A `Shape` says how a transcript is stored, a `Dialect` by which rules the lines of
/// a text have their authors, and a `Kind` who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExportForm {
    OpenCode,
    Gemini,
    Cline,
    Copilot,
    CopilotChat,
    Windsurf,
    Amp,
    CodexScreen,
    CodexApp,
    ClaudeScreen,
    GeminiScreen,
}

/// What a message is.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// The words of the author.
    #[default]
    Said,
    Thought,
    /// A call with its result. Without `is_sure`, it may be the model's words.
    Tool {
        name: String,
        is_error: bool,
        is_sure: bool,
    },
    /// An error of the program.
    Failure,
    /// A notice of the program.
    Other,
}

/// What a heading says about the message below it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) is_user: bool,
    pub(super) what: What,
    pub(super) model: Option<String>,
    /// Whether no sign shows who said it.
    pub(super) is_guess: bool,
    /// Whether all words before it that have no sign are the person's.
    pub(super) ends_request: bool,
    /// Whether it is the line with the names of keys below a menu.
    pub(super) ends_menu: bool,
}

/// A part of a message.
#[derive(Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Thought(String),
    /// An error of the program.
    Failure(String),
    /// Text that the program wrote in the name of the person.
    Harness(String),
    /// Words of the person in a message of the program.
    Asked(String),
    /// A summary of everything before it.
    Summary(String),
    Call {
        id: String,
        name: String,
        arguments: Json<'static>,
    },
    Result {
        id: String,
        name: String,
        texts: Vec<String>,
        is_error: bool,
    },
}

impl ExportForm {
    /// The form of the exports of `agent`.
    pub(super) fn of(agent: Agent) -> Option<Self> {
        match agent {
            Agent::OpenCode => Some(Self::OpenCode),
            Agent::Gemini => Some(Self::Gemini),
            Agent::Cline => Some(Self::Cline),
            Agent::Copilot => Some(Self::Copilot),
            Agent::Windsurf => Some(Self::Windsurf),
            Agent::Amp => Some(Self::Amp),
            Agent::CodexScreen => Some(Self::CodexScreen),
            Agent::ClaudeScreen => Some(Self::ClaudeScreen),
            Agent::GeminiScreen => Some(Self::GeminiScreen),
            Agent::ClaudeCode | Agent::Codex | Agent::OpenHands | Agent::Aider | Agent::Cursor | Agent::Pi => None,
        }
    }

    /// The agent that exported a text with this start.
    pub(super) fn detect(head: &str) -> Option<Agent> {
        if session(head).is_some_and(|id| id.starts_with(SESSION_START)) {
            return Some(Agent::OpenCode);
        }
        let mut lines = head.lines().filter(|line| !line.trim().is_empty());
        let first = lines.next()?;
        if first.starts_with("# ") && first.trim_end().ends_with(copilot_chat::SESSION) {
            return Some(Agent::Copilot);
        }
        if first.trim_end() == PERSON {
            let is_task = lines.next().is_some_and(|line| line.starts_with('<'));
            return (is_task || lines.any(|line| line.trim_end() == ANSWER)).then_some(Agent::Cline);
        }
        if copilot_chat::begins(head) {
            return Some(Agent::Copilot);
        }
        if codex_app::begins(head) {
            return Some(Agent::CodexScreen);
        }
        if windsurf::is_title(first) {
            return Some(Agent::Windsurf);
        }
        if amp::thread(head).is_some() {
            return Some(Agent::Amp);
        }
        let screens = [(&screen::CODEX, Agent::CodexScreen), (&screen::CLAUDE, Agent::ClaudeScreen)];
        if let Some((_, agent)) = screens.into_iter().find(|(marks, _)| marks.begins(head)) {
            return Some(agent);
        }
        if gemini_screen::begins(head) {
            return Some(Agent::GeminiScreen);
        }
        Self::Gemini.heading(first).map(|_| Agent::Gemini)
    }

    /// The signs of a screen.
    pub(super) fn marks(self) -> Option<&'static Marks> {
        match self {
            Self::CodexScreen => Some(&screen::CODEX),
            Self::ClaudeScreen => Some(&screen::CLAUDE),
            Self::OpenCode
            | Self::Gemini
            | Self::Cline
            | Self::Copilot
            | Self::CopilotChat
            | Self::Windsurf
            | Self::Amp
            | Self::CodexApp
            | Self::GeminiScreen => None,
        }
    }

    /// Whether the line of a heading belongs to the message.
    pub(super) fn is_screen(self) -> bool {
        self.marks().is_some() || matches!(self, Self::GeminiScreen | Self::CopilotChat | Self::CodexApp)
    }

    /// The heading of a message in a line, if the line is one.
    pub(super) fn heading(self, line: &str) -> Option<Heading> {
        let line = line.trim_end();
        match self {
            Self::OpenCode if line == "## User" => Some(Heading { is_user: true, ..Heading::default() }),
            Self::OpenCode => {
                let details = line.strip_prefix("## Assistant")?;
                let in_brackets = details.strip_prefix(" (").and_then(|details| details.strip_suffix(')'));
                let details = in_brackets.or_else(|| details.is_empty().then_some(""))?;
                // The agent, the model and the duration.
                let model = details.split(" \u{b7} ").nth(1).map(str::to_owned);
                Some(Heading { model, ..Heading::default() })
            }
            Self::Copilot => copilot::heading(line, false),
            Self::CopilotChat => {
                let is_user = copilot_chat::heading(&mut None, line, true)?;
                Some(Heading { is_user, ..Heading::default() })
            }
            Self::Windsurf => windsurf::heading(line),
            Self::Amp => amp::heading(line),
            Self::CodexScreen | Self::ClaudeScreen => self.marks()?.line(&mut Place::default(), line),
            Self::CodexApp => codex_app::line(&mut codex_app::Place::default(), &mut Fence::default(), line),
            Self::GeminiScreen => gemini_screen::line(&mut gemini_screen::Place::default(), line),
            Self::Cline => {
                let is_user = matches!(line, PERSON | RESULTS);
                let what = if line == REASONING { What::Thought } else { What::Said };
                let is_heading = is_user || matches!(line, REASONING | ANSWER);
                is_heading.then_some(Heading { is_user, what, ..Heading::default() })
            }
            Self::Gemini => {
                // In early versions, the sign of the author comes before the marks of the heading.
                let (before, after) = line.split_once("## ")?;
                let is_sign = |text: &str| !text.chars().any(|one| one.is_alphanumeric() || one == '#');
                let (name, sign) = after.split_once(' ').unwrap_or((after, ""));
                let has_sign = before.is_empty() != sign.is_empty();
                let is_user = match name {
                    "USER" => true,
                    "MODEL" => false,
                    _ => return None,
                };
                (has_sign && is_sign(before) && is_sign(sign)).then_some(Heading { is_user, ..Heading::default() })
            }
        }
    }
}

/// The id of the session that the start of an export names.
pub(super) fn session(head: &str) -> Option<&str> {
    let lines = head.trim_start_matches('\u{feff}').lines();
    let mut lines = lines.filter(|line| !line.trim().is_empty()).take(FIRST_LINES);
    lines.next().filter(|title| title.starts_with("# "))?;
    let mut lines = lines.take_while(|line| line.trim_end() != RULE);
    let id = lines.find_map(|line| line.trim_start_matches(['>', '-', ' ']).strip_prefix(SESSION));
    id.map(|id| id.trim().trim_matches('`'))
}

/// A fence around a text that may contain fences. The exporters do not make it longer than those.
///
/// A fence inside has an info string or comes directly before a line of text. A blank line follows the end.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Open,
    Nested,
    /// The last line ends the text if a blank one follows.
    Ending,
}

impl Quote {
    fn next(self, line: &str) -> Self {
        let is_blank = line.trim().is_empty();
        let begins = line.starts_with(FENCE);
        match self {
            Self::Ending if is_blank => Self::None,
            Self::Ending if begins && line.trim_end() == FENCE => Self::Ending,
            Self::Ending => Self::Nested,
            Self::Nested if line.trim_end() == FENCE => Self::Open,
            Self::Open if line.trim_end() == FENCE => Self::Ending,
            Self::Open if begins && !line[FENCE.len()..].contains('`') => Self::Nested,
            same => same,
        }
    }
}

/// What earlier messages say about the next one.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// The fence around the output of a tool at the last line.
    quote: Quote,
    /// The last line that is not blank, and the one before it.
    last: [String; 2],
    /// Both before the last line. The start of a line may look different from the whole line.
    before: (Quote, Fence, [String; 2], Place),
    /// The place of the last line of a screen.
    pub(super) place: Place,
    /// The widths of the words of the model and of the person.
    pub(super) widths: [Width; 2],
    /// The place of the last line of Gemini CLI, and the one before.
    frame: gemini_screen::Place,
    frame_before: gemini_screen::Place,
    /// The place of the last line in a chat of the Codex app, and the one before.
    app: codex_app::Place,
    app_before: codex_app::Place,
    /// The name of the person in a chat of Copilot, its tasks, and whether the last line is blank.
    pub(super) name: Option<String>,
    pub(super) todos: copilot_chat::Todos,
    is_blank: bool,
    /// Whether the last message is one of the person without words.
    pub(super) is_behind_nothing: bool,
    /// Whether the last message of Gemini CLI was its summary.
    has_snapshot: bool,
    /// Whether the line below the message names the keys of a menu.
    pub(super) has_keys: bool,
    /// Number of calls so far that have no ids.
    calls: u64,
    /// The calls without a result, by their tools.
    open: HashMap<String, VecDeque<String>>,
    /// Calls that a result with their id answered.
    answered: HashSet<String>,
    /// Calls whose results do not name the tool: ids and tools.
    pub(super) native: VecDeque<(String, String)>,
    /// Whether a message with the results of the last answer has begun.
    pub(super) is_replied: bool,
    /// What the message is.
    pub(super) what: What,
    /// The fence that is open at the last line of a session of Copilot CLI.
    fence: Fence,
}

impl Shared {
    /// Reads a line. Returns its heading if it is one.
    pub(super) fn line(&mut self, form: ExportForm, line: &str) -> Option<Heading> {
        (self.before.0, self.before.1) = (self.quote, self.fence.clone());
        self.before.2.clone_from(&self.last);
        self.before.3 = self.place;
        self.frame_before = self.frame;
        self.app_before = self.app;
        let is_behind_rule = self.last[1] == RULE || self.last[1].is_empty();
        // The output of a tool may be an export. It ends before the rule.
        let before = &self.last[usize::from(form == ExportForm::Amp)];
        let is_inside = matches!(self.quote, Quote::Open | Quote::Nested) && before != FENCE;
        let heading = match form {
            ExportForm::Copilot => self.section(line),
            _ if let Some(marks) = form.marks() => marks.line(&mut self.place, line),
            ExportForm::GeminiScreen => gemini_screen::line(&mut self.frame, line),
            ExportForm::CodexApp => codex_app::line(&mut self.app, &mut self.fence, line),
            ExportForm::CopilotChat => {
                let is_behind_blank = self.is_blank;
                let is_user = copilot_chat::heading(&mut self.name, line, is_behind_blank);
                is_user.map(|is_user| Heading { is_user, ..Heading::default() })
            }
            // These have no rules between messages.
            ExportForm::Windsurf | ExportForm::Amp => form.heading(line).filter(|_| !is_inside),
            form => form.heading(line).filter(|_| is_behind_rule && !is_inside),
        };
        let label = self.last[1].as_str();
        let has_output = match form {
            ExportForm::Amp => amp::is_result(label),
            _ => matches!(label, OUTPUT | ERROR),
        };
        let begins = has_output && line.trim_end() == FENCE;
        self.quote = match self.quote {
            _ if heading.is_some() || !matches!(form, ExportForm::OpenCode | ExportForm::Amp) => Quote::None,
            Quote::None if begins => Quote::Open,
            quote => quote.next(line),
        };
        self.is_blank = line.trim().is_empty();
        if !line.trim().is_empty() {
            self.last.swap(0, 1);
            line.trim().clone_into(&mut self.last[1]);
        }
        heading
    }

    /// The same for Copilot CLI, which uses longer fences than those inside in later versions.
    fn section(&mut self, line: &str) -> Option<Heading> {
        let follows_timestamp = copilot::is_time(&self.last[1]);
        let is_inside = self.fence.is_open() && (self.fence.is_long() || !follows_timestamp);
        let heading = copilot::heading(line.trim_end(), follows_timestamp).filter(|_| !is_inside);
        match heading {
            Some(_) => self.fence = Fence::default(),
            None => self.fence.read(line),
        }
        heading
    }

    /// Returns to the state before the last line.
    pub(super) fn go_back(&mut self) {
        (self.quote, self.fence) = (self.before.0, self.before.1.clone());
        self.last.clone_from(&self.before.2);
        self.place = self.before.3;
        self.frame = self.frame_before;
        self.app = self.app_before;
    }

    /// The parts of a message.
    pub(super) fn pieces(&mut self, form: ExportForm, text: &str, is_user: bool) -> Vec<Piece> {
        match form {
            ExportForm::OpenCode if is_user => vec![Piece::Text(text.to_owned())],
            ExportForm::OpenCode if self.is_behind_nothing => self.parts(text).into_iter().map(summarised).collect(),
            ExportForm::OpenCode => self.parts(text),
            ExportForm::Gemini => self.marked(text, is_user),
            ExportForm::Copilot => copilot::section(self, text),
            ExportForm::CopilotChat => copilot_chat::pieces(self, text, is_user),
            ExportForm::Windsurf => windsurf::pieces(self, text),
            ExportForm::Amp if is_user => amp::words(self, text),
            ExportForm::Amp => amp::answer(self, text),
            ExportForm::CodexScreen => screen::CODEX.pieces(self, text, is_user),
            ExportForm::CodexApp => codex_app::pieces(self, text, is_user),
            ExportForm::ClaudeScreen => screen::CLAUDE.pieces(self, text, is_user),
            ExportForm::GeminiScreen => gemini_screen::pieces(self, text, is_user),
            ExportForm::Cline if self.what == What::Thought => vec![Piece::Thought(text.to_owned())],
            ExportForm::Cline if is_user => cline::words(self, text),
            ExportForm::Cline => cline::answer(self, text),
        }
    }

    /// Adds a call. A call without an id gets a number.
    pub(super) fn call(
        &mut self,
        pieces: &mut Vec<Piece>,
        id: Option<&str>,
        name: &str,
        arguments: Json<'static>,
    ) -> String {
        let id = id.map(str::to_owned).unwrap_or_else(|| {
            self.calls += 1;
            format!("call-{}", self.calls)
        });
        pieces.push(Piece::Call { id: id.clone(), name: name.to_owned(), arguments: arguments_object(arguments) });
        id
    }

    /// Records a call that waits for its result.
    pub(super) fn open(&mut self, name: &str, id: String) {
        self.open.entry(name.to_owned()).or_default().push_back(id);
    }

    /// The oldest call of a tool that waits for its result.
    pub(super) fn close(&mut self, name: &str) -> Option<String> {
        let open = self.open.get_mut(name)?;
        std::iter::from_fn(|| open.pop_front()).find(|id| !self.answered.remove(id))
    }

    /// Begins an answer. The results of an agent without ids come directly after their calls, so earlier calls get none
    /// any more.
    pub(super) fn forget_unanswered(&mut self) {
        if std::mem::take(&mut self.is_replied) {
            self.open.clear();
            self.native.clear();
        }
    }

    /// Records a result that names its call.
    pub(super) fn answer(&mut self, id: &str) {
        self.answered.insert(id.to_owned());
    }

    /// The parts of an answer of opencode. A blank line comes before each.
    fn parts(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let (mut start, mut at) = (0, 0);
        let (mut is_thought, mut is_blank) = (false, true);
        while at < text.len() {
            let line = line_at(text, at);
            let bare = line.trim_end();
            let next = at + line.len();
            let is_behind_blank = std::mem::replace(&mut is_blank, bare.is_empty());
            if !is_behind_blank {
                at = next;
                continue;
            }
            let early = || line_at(text, next).strip_prefix(EARLY_TOOL).filter(|_| bare == FENCE).map(str::trim);
            let now = bare.strip_prefix(TOOL).and_then(|name| name.strip_suffix("**"));
            if let Some(name) = now.or_else(early) {
                thoughts::add_below(&mut pieces, &text[start..at], is_thought, true);
                let is_early = now.is_none();
                let from = if is_early { next + line_at(text, next).len() } else { next };
                at = self.tool(text, from, name, is_early, &mut pieces);
                (start, is_thought, is_blank) = (at, false, true);
                continue;
            }
            if bare == THINKING {
                thoughts::add_below(&mut pieces, &text[start..at], is_thought, false);
                // An empty thought is two blank lines.
                let is_empty = text[next..].starts_with("\n\n");
                (start, is_thought) = (next, !is_empty);
            }
            at = next;
        }
        thoughts::add_below(&mut pieces, &text[start..], is_thought, false);
        pieces
    }

    /// Reads a call of opencode from its name on. Returns where it ends.
    fn tool(&mut self, text: &str, from: usize, name: &str, is_early: bool, pieces: &mut Vec<Piece>) -> usize {
        let mut at = from;
        let (mut arguments, mut texts, mut is_error) = (Json::Null, Vec::new(), false);
        // In early versions, calls are in fences.
        let begins_next = |line: &str, next: usize| match is_early {
            true => line.trim_end() == FENCE && line_at(text, next).starts_with(EARLY_TOOL),
            false => line.starts_with(TOOL),
        };
        loop {
            let next = behind_blank(text, at);
            let label = line_at(text, next);
            let fence = next + label.len();
            let opening = line_at(text, fence);
            let label = label.trim_end();
            if !matches!(label, INPUT | OUTPUT | ERROR) || !opening.starts_with(FENCE) {
                if is_early && label == FENCE && !opening.starts_with(EARLY_TOOL) {
                    at = fence;
                }
                break;
            }
            let inside = fence + opening.len();
            let (end, behind) =
                if label == INPUT { end_of_json(text, inside) } else { end_of_quote(text, inside, begins_next) };
            let body = &text[inside..end];
            let body = body.strip_suffix('\n').unwrap_or(body);
            // The fence around the call ends directly after it.
            let body = body.strip_suffix("\n```").filter(|_| is_early).unwrap_or(body);
            if label == INPUT {
                let Ok(json) = Json::parse(body) else { break };
                arguments = json.into_owned();
            } else {
                texts.push(body.to_owned());
                is_error |= label == ERROR;
            }
            at = behind;
        }
        let id = self.call(pieces, None, name, arguments);
        pieces.push(Piece::Result { id, name: name.to_owned(), texts, is_error });
        at
    }

    /// The parts of a message of Gemini CLI.
    fn marked(&mut self, text: &str, is_user: bool) -> Vec<Piece> {
        let bare = text.trim();
        let is_acknowledged = std::mem::take(&mut self.has_snapshot) && !is_user && bare == ACKNOWLEDGED;
        if is_acknowledged {
            return Vec::new();
        }
        if is_user && SET_UPS.iter().any(|start| bare.starts_with(start)) {
            return vec![Piece::Harness(text.to_owned())];
        }
        if is_user && bare.starts_with(SNAPSHOT) {
            self.has_snapshot = true;
            let end = text.find(SNAPSHOT_END).map_or(text.len(), |end| end + SNAPSHOT_END.len());
            let mut pieces = vec![Piece::Summary(text[..end].to_owned())];
            add_attached(&mut pieces, &text[end..]);
            return pieces;
        }
        let mut pieces = Vec::new();
        let (mut start, mut from) = (0, 0);
        let mark = Finder::new(MARK);
        while let Some(found) = mark.find(&text.as_bytes()[from..]) {
            let at = from + found;
            let rest = &text[at + MARK.len()..];
            from = at + MARK.len();
            let is_call = rest.starts_with(COMMAND);
            let Some(body) = rest.strip_prefix(if is_call { COMMAND } else { RESPONSE }) else { continue };
            let inside = text.len() - body.len();
            // No line of a JSON text begins like this.
            let Some(length) = memchr::memmem::find(body.as_bytes(), b"\n```") else { break };
            let Ok(json @ Json::Object(_)) = Json::parse(&body[..length]).map(Json::into_owned) else { continue };
            let Some(name) = text_at(&json, &["name"]).map(str::to_owned) else { continue };
            add_marked(&mut pieces, &text[start..at], is_user);
            from = inside + length + "\n```".len();
            start = from;
            let id = text_at(&json, &["id"]).filter(|id| !id.is_empty());
            if is_call {
                let arguments = json.get("args").cloned().unwrap_or(Json::Null);
                let id = self.call(&mut pieces, id, &name, arguments);
                self.open(&name, id);
                continue;
            }
            let id = self.answered(&name, id);
            let response = json.get("response").cloned().unwrap_or(Json::Null);
            let is_error = value_at(&json, &["response", "error"]).is_some();
            let text = match &response {
                Json::Null => None,
                Json::String(text) => Some(text.clone().into_owned()),
                Json::Object(members) if members.len() == 1 && members[0].1.as_str().is_some() => {
                    members[0].1.as_str().map(str::to_owned)
                }
                other => Some(other.to_compact()),
            };
            pieces.push(Piece::Result { id, name, texts: text.into_iter().collect(), is_error });
        }
        match is_user && pieces.is_empty() {
            true => add_attached(&mut pieces, text),
            false => add_marked(&mut pieces, &text[start..], is_user),
        }
        pieces
    }

    /// The id of the call that a result answers. In early versions, only results have ids.
    fn answered(&mut self, name: &str, id: Option<&str>) -> String {
        let open = self.open.entry(name.to_owned()).or_default();
        let first = open.front().filter(|first| id == Some(first.as_str()) || first.starts_with("call-"));
        let known = first.is_some().then(|| open.pop_front()).flatten();
        known.or_else(|| id.map(str::to_owned)).unwrap_or_else(|| {
            self.calls += 1;
            format!("call-{}", self.calls)
        })
    }
}

/// The summary of opencode, if a part is one.
fn summarised(piece: Piece) -> Piece {
    match piece {
        Piece::Text(text) if line_at(&text, 0).trim_end() == GOAL => Piece::Summary(text),
        other => other,
    }
}

/// Adds what the model said or thought, without the blank lines around it.
pub(super) fn add_said(pieces: &mut Vec<Piece>, text: &str, is_thought: bool) {
    let text = text.trim_matches('\n');
    if !text.trim().is_empty() {
        pieces.push(if is_thought { Piece::Thought(text.to_owned()) } else { Piece::Text(text.to_owned()) });
    }
}

/// Adds a text of Gemini CLI. Text after a result in a message of the person belongs to the result, such as the
/// contents of a file.
fn add_marked(pieces: &mut Vec<Piece>, text: &str, is_user: bool) {
    match pieces.last_mut() {
        Some(Piece::Result { texts, .. }) if is_user && !text.trim().is_empty() => {
            texts.push(text.trim_matches('\n').to_owned());
        }
        _ => add_said(pieces, text, false),
    }
}

/// Adds words of the person to Gemini CLI, and the contents of files that the program put below them.
fn add_attached(pieces: &mut Vec<Piece>, text: &str) {
    let (mut at, mut files) = (0, None);
    while at < text.len() {
        let line = line_at(text, at);
        if files.is_none() && line.trim_end() == ATTACHED {
            files = Some(at);
        }
        at += line.len();
    }
    let Some(start) = files else { return add_said(pieces, text, false) };
    let end = text[start..].rfind(ATTACHED_END).map_or(text.len(), |end| start + end + ATTACHED_END.len());
    add_said(pieces, &text[..start], false);
    pieces.push(Piece::Harness(text[start..end].to_owned()));
    add_said(pieces, &text[end..], false);
}

/// The line at `at`, with its end.
pub(super) fn line_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |end| end + 1)]
}

/// Where the next line that is not blank begins.
pub(super) fn behind_blank(text: &str, mut at: usize) -> usize {
    while at < text.len() && line_at(text, at).trim().is_empty() {
        at += line_at(text, at).len();
    }
    at
}

/// Where the JSON text in a fence ends, and where the text after the fence begins. None of its lines begins with a
/// fence.
pub(super) fn end_of_json(text: &str, from: usize) -> (usize, usize) {
    let mut at = from;
    while at < text.len() {
        let line = line_at(text, at);
        if line.starts_with(FENCE) {
            return (at, at + line.len());
        }
        at += line.len();
    }
    (at, at)
}

/// The same for an output. If the rules of [`Quote`] find no end before the next call, the output ends at the first
/// fence before a blank line, or else at the end of the text. `begins_next` says whether the next call begins at a
/// line; its second argument is where the line after that begins.
pub(super) fn end_of_quote(text: &str, from: usize, begins_next: impl Fn(&str, usize) -> bool) -> (usize, usize) {
    let (mut at, mut quote, mut last, mut first) = (from, Quote::Open, (from, from), None);
    while at < text.len() {
        let line = line_at(text, at);
        let next = at + line.len();
        if let Some(first) = first.filter(|_| begins_next(line, next)) {
            return first;
        }
        let is_blank = line.trim().is_empty();
        if is_blank && line_at(text, last.0).trim_end() == FENCE {
            first = first.or(Some(last));
        }
        quote = quote.next(line);
        if quote == Quote::None {
            return last;
        }
        last = (at, next);
        at = next;
    }
    match quote {
        Quote::Ending => last,
        _ => first.unwrap_or((at, at)),
    }
}
