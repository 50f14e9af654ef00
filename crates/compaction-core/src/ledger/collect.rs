//! Collection: reads the messages in one pass, starting from the ledger of the previous compaction.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::actions::{ActionKind, Actions, Subject};
use super::answers::agrees;
use super::call_marks::{line_of_run, without_marks};
use super::choices::offered_by_call;
use super::closed_requests::{
    Asked, accepts, answered_item, answered_start, code_item, comes_back, continues, continues_behind_praise,
    has_question, is_about, is_claim, is_settled_by_answer, leads, objected_item, objection, only_proposes,
    proposed_item, rejects, reopens, shows, tells_failure, with_code, with_files, worked_on_item, worked_on_start,
};
use super::commands::core_command;
use super::completed::{is_call, is_qualified, reports_all_done};
use super::cues::{is_substantive, is_trivial};
use super::delegations;
use super::documents::{self, Document};
use super::errors::{Errors, is_failed_request};
use super::frames::frames;
use super::last_step::{LastStep, NewestCalls};
use super::names::{NameKind, Names};
use super::noise::praises_first;
use super::notes::{
    ALL_CHANGES, ANSWERED, ASKED_THEN, COMMITTED, Note, NoteKind, NoteList, OF_PERSON, ORDERED, PUSHED, SHOWN_CODE,
    STOPPED_BY_PERSON, SourcePosition, TOOK_BACK, UNDID, UNDID_WORK, tells_work, undone,
};
use super::outcomes::reported_commits;
use super::pasted::passages;
use super::problems::{own_words, pastes_error, reports};
use super::proposals::{files_of_code, files_with_code};
use super::refutations::{Report, refuted};
use super::requests::{Dialogue, WORK, read_constraints};
use super::results::TALKATIVE;
use super::resuming::{answers_back, asks_back, asks_for_nothing, confirms, without_closing_lines};
use super::retractions::{Denial, Retraction, retractions};
use super::selection::SharedVocabulary;
use super::slash::{self, Expected, RESETS};
use super::stated::choices_of_commit;
use super::statements::{Part, Statement, Statements, parts, sentences, with_joined_lines};
use super::steps::LatestPlan;
use super::superseded::{Ended, is_over, listed_commits, tells_commit, told_commit};
use super::tasks::NewTasks;
use super::templates::{after_heading, is_procedure};
use super::text::{clip_middle, normalised, one_line, quote, without_thinking};
use super::under_way::waits_for_work;
use super::undoing::{orders_undo, tells_undoing};
use super::{Ledger, LeftOut, Places, Request, RequestWeight, Voice, earlier_summary, person};
use crate::entry::EntryId;
use crate::json::Json;
use crate::message::{Assistant, Block, Body, Content, HARNESS_TYPE, Message, ToolCall, blocks_text};
use crate::projection::PreparedMessage;
use crate::tools::{FileTools, finish_text, is_refusal, names_path, plan_text};

/// The command with which a person tells aider to undo its newest commit.
const UNDO: &str = "/undo";
/// Begins the call with which a transcript reports the result of that command.
const RESET: &str = "git reset ";
/// Number of first characters of a hash that are compared.
const SHOWN_OF_HASH: usize = 7;
/// Number of newest milestones that are searched for the commit.
const MOST_MILESTONES: usize = 256;
/// Deepest level of nested arguments that is searched for names.
const DEEPEST: usize = 64;
/// Longest answer of a person to a question of a tool that counts as a decision, in UTF-16 units.
const LONGEST_ANSWER: usize = 240;
/// Most requests that a person may undo before the next one.
const MOST_UNDONE: usize = 3;

/// The text after the undo command; the whole text if it does not begin with the command.
fn without_undo(words: &str) -> &str {
    let behind = words.trim_start().strip_prefix(UNDO);
    behind.filter(|behind| behind.is_empty() || behind.starts_with(char::is_whitespace)).unwrap_or(words)
}

/// Whether a call undoes commits.
fn resets(call: &ToolCall) -> bool {
    let command = call.arguments.as_ref().and_then(|arguments| arguments.get("command")?.as_str());
    command.is_some_and(|command| command.starts_with(RESET))
}

/// Collects a ledger, message by message.
///
/// Messages are read once, in order. Tool results are searched only for what docs/ledger.md lists, because files can be
/// read and commands run again.
#[derive(Debug, Clone)]
pub struct Collector<'a> {
    tools: &'a FileTools,
    first: u64,
    position: u64,
    has_results: bool,
    pub(super) dialogue: Dialogue<'a>,
    actions: Actions<'a>,
    pub(super) errors: Errors,
    pub(super) names: Names<'a>,
    pub(super) notes: NoteList,
    pub(super) statements: Statements,
    plan: LatestPlan,
    /// The tasks that the model reported as done since the person spoke.
    reported_done: Vec<String>,
    new_tasks: NewTasks,
    newest_calls: NewestCalls<'a>,
    /// The statements of the calls in the newest message by their ids, with its position.
    said_by_calls: HashMap<String, (u64, Vec<String>)>,
    /// The documents that each call of the newest answer writes.
    documents: HashMap<String, Vec<Document>>,
    /// The decisions in each document, by its name.
    documented: HashMap<String, Vec<String>>,
    pinned: Vec<EntryId>,
    left_out: LeftOut,
    asked: Asked,
    /// The command or skill whose prompt the next message may be.
    expected: Option<Expected<'a>>,
    /// The requests whose work the person had undone, newest first, and where they did so; kept until the next request.
    undone: Option<(Vec<String>, SourcePosition<'a>)>,
    /// Whether a complete answer is right before the next message, but for failures of requests to the model.
    is_behind_answer: bool,
    /// Why the newest answer broke off; kept until the model or the person goes on.
    broken_off: Option<String>,
    /// Where the person told aider to undo a commit; kept until the next message says whether it did.
    undoing: Option<SourcePosition<'a>>,
}

/// Messages of a person within which a report of trouble is about what was done for the one before them.
const COMING_BACK: usize = 3;
/// Fewest bytes of a command that the first line of a message repeats.
const SHORTEST_COMMAND: usize = 8;

/// Most commands of a pasted terminal that are compared.
const MOST_COMMANDS: usize = 16;

/// The command on a line behind the prompt of PowerShell, or of a shell that names the user and the host.
fn behind_prompt(line: &str) -> Option<&str> {
    let is_host = |prompt: &str| prompt.contains('@') && prompt.contains(':') && !prompt.contains(' ');
    let command = match line.strip_prefix("PS ") {
        Some(rest) => rest.split_once("> ")?.1,
        None => line.split_once("$ ").filter(|(prompt, _)| is_host(prompt))?.1,
    };
    Some(command.trim()).filter(|command| !command.is_empty())
}

/// Whether an answer contains a command on a line of its own or between marks of code.
fn names_command(answer: &str, command: &str) -> bool {
    let found = memchr::memmem::find(answer.as_bytes(), command.as_bytes());
    found.is_some_and(|at| at == 0 || matches!(answer.as_bytes()[at - 1], b'`' | b'\n' | b' '))
}

impl Ledger {
    /// The ledger of `messages`, oldest first, merged with `previous`.
    pub fn collect(messages: &[PreparedMessage], previous: Option<&Ledger>, tools: &FileTools) -> Self {
        let mut collector = Collector::new(previous, None, tools);
        messages.iter().for_each(|prepared| collector.read(prepared));
        collector.finish()
    }
}

impl<'a> Collector<'a> {
    /// Starts from the ledger of the previous compaction. If it has none, its summary is parsed
    /// instead.
    pub fn new(previous: Option<&'a Ledger>, previous_summary: Option<&str>, tools: &'a FileTools) -> Self {
        let first = previous.map_or(0, |previous| previous.messages) + 1;
        let mut collector = Self {
            tools,
            first,
            position: first - 1,
            has_results: false,
            dialogue: Dialogue::default(),
            actions: Actions::default(),
            errors: Errors::default(),
            names: Names::default(),
            notes: NoteList::default(),
            statements: Statements::default(),
            plan: LatestPlan::default(),
            reported_done: Vec::new(),
            new_tasks: NewTasks::default(),
            newest_calls: NewestCalls::default(),
            said_by_calls: HashMap::default(),
            documents: HashMap::default(),
            documented: HashMap::default(),
            pinned: Vec::new(),
            left_out: LeftOut::default(),
            asked: Asked::default(),
            expected: None,
            undone: None,
            undoing: None,
            is_behind_answer: false,
            broken_off: None,
        };
        match (previous, previous_summary) {
            (Some(previous), _) => collector.restore(previous),
            (None, Some(summary)) => earlier_summary::add_earlier(summary, &mut collector),
            (None, None) => {}
        }
        collector
    }

    fn restore(&mut self, previous: &'a Ledger) {
        self.dialogue.requests = previous.requests.clone();
        self.dialogue.answered = previous.answered;
        self.dialogue.earlier = previous.messages;
        self.dialogue.is_waiting = previous.is_waiting;
        self.is_behind_answer = previous.messages > 0 && previous.answered == previous.messages;
        self.actions.restore(previous);
        self.errors.restore(&previous.errors);
        self.notes.restore(&previous.notes);
        self.statements.restore(&previous.statements);
        self.plan = previous.plan.clone();
        self.names.restore(NameKind::Path, &previous.paths);
        self.names.restore(NameKind::Identifier, &previous.identifiers);
        self.pinned = previous.pinned.clone();
        self.left_out = previous.left_out.clone();
        let ends_with_command =
            |last: &Request| last.weight == RequestWeight::Command && last.position == self.first - 1;
        self.expected = previous.last_request().filter(|last| ends_with_command(last)).map(|_| Expected::OfSkill);
        if let Some(open) = previous.requests.iter().rev().find(|request| request.asks_for_work()) {
            let answers = Some(previous.answered).filter(|answered| *answered > open.position);
            self.asked = Asked::at(open.position, &open.text);
            let reply = || previous.reply.clone();
            if let Some(answered) = answers {
                self.asked.answer(answered, 0, (reply(), None), usize::MAX);
                // Nobody knows here which words of the person came between that answer and the next one.
                if previous.changed_at() <= open.position {
                    self.asked.go_on(answered);
                }
            }
        }
    }

    /// Reads the next message.
    pub fn read(&mut self, prepared: &'a PreparedMessage) {
        self.position += 1;
        let place = SourcePosition { position: self.position, entry: Some(&prepared.entry_id) };
        let expected = self.expected.take();
        let body = prepared.message.read_body();
        match &*body {
            _ if self.undoing.is_none() => {}
            Body::Assistant(assistant) if assistant.tool_calls().any(resets) => {}
            Body::ToolResult { is_error: true, .. } => self.undoing = None,
            _ => self.take_back(),
        }
        if !matches!(&*body, Body::Assistant(_)) {
            self.is_behind_answer = false;
        }
        let is_harness = matches!(&*body, Body::Custom { custom_type, .. } if custom_type == HARNESS_TYPE);
        if !is_harness && !matches!(&*body, Body::User { .. }) {
            self.read_expected(expected.as_ref(), None);
        }
        match &*body {
            Body::User { content } => self.read_user(place, content, expected, false),
            Body::Custom { content, .. } if is_harness => self.read_user(place, content, expected, true),
            Body::Custom { content, .. } => {
                self.dialogue.read_extension(place, &content.text("\n"), &mut self.notes);
                self.read_names(content, place, Places::ANSWER);
            }
            Body::Assistant(assistant) => self.read_answer(assistant, place, &prepared.message),
            Body::ToolResult { tool_call_id, content, is_error, nested_calls, .. } => {
                self.has_results = true;
                if !is_error {
                    self.errors.resolve(None);
                }
                self.newest_calls.note_result(&prepared.message, self.position);
                let text = content.text("\n");
                let asks = self.actions.asks(tool_call_id);
                let said = self.said_by_calls.remove(tool_call_id);
                if let Some((position, lines)) = said.filter(|_| *is_error && is_refusal(&text)) {
                    self.statements.take_back(position, &lines);
                }
                if let Some(words) = person::words_in_result(&text, asks) {
                    if asks && !is_refusal(&text) {
                        self.read_answers(place, &words);
                    } else {
                        self.statements.add_person(place, &words, passages(&words));
                        read_constraints(place, &words, asks, &mut self.notes);
                    }
                }
                if let Some(words) = person::sent_while_working(&text) {
                    self.read_person(place, &words, false);
                }
                if slash::starts_skill(&text) || matches!(expected, Some(Expected::OfSkill)) {
                    self.expected = Some(Expected::OfSkill);
                }
                self.new_tasks.end(tool_call_id, &text, *is_error, &mut self.plan);
                if self.actions.shows_plan(tool_call_id) {
                    self.plan.read_result(&text, self.position);
                } else if self.actions.writes_plan(tool_call_id) {
                    self.plan.complete(&text, self.position);
                }
                let lines =
                    self.actions.end(place, tool_call_id, Some(&prepared.message), &text, *is_error, &mut self.errors);
                if let Some(written) = self.documents.remove(tool_call_id).filter(|_| !is_error) {
                    self.read_documents(&written, place);
                }
                let has_committed = lines.iter().any(|(_, line)| line.starts_with(COMMITTED));
                for (voice, line) in lines {
                    self.statements.add_line(voice, place, &line);
                }
                if has_committed {
                    self.end_state(place, Ended::Commit);
                } else if self.actions.merge_ended_at() == place.position {
                    self.end_state(place, Ended::Merge);
                }
                for nested in nested_calls {
                    self.actions.begin(place, &prepared.message, &nested.call, self.tools);
                    self.actions.end(place, &nested.call.id, None, "", nested.is_error, &mut self.errors);
                }
            }
            Body::BashExecution(bash) if !bash.exclude_from_context => {
                self.actions.note_command(place, bash, &mut self.errors);
                self.names.read(&bash.command, place, Places::PERSON);
            }
            Body::CompactionSummary { summary, .. } => earlier_summary::add_earlier(summary, self),
            Body::BranchSummary { summary, .. } => earlier_summary::add_branch(summary, place, self),
            Body::BashExecution(_) | Body::System(_) | Body::Other { .. } => {}
        }
    }

    /// Reads a message in the role of a person. It may be a prompt that is `expected`. `is_harness` says that the
    /// harness wrote it; then only the person's words inside it are the person's.
    fn read_user(
        &mut self,
        place: SourcePosition<'a>,
        content: &Content,
        expected: Option<Expected<'a>>,
        is_harness: bool,
    ) {
        let text = content.text("\n");
        let words = match is_harness {
            true => Cow::Owned(person::sent_while_working(&text).unwrap_or_default()),
            false => person::words(&text),
        };
        if words.len() < text.len() {
            self.actions.note_notice(&text);
        }
        if expected.is_some() && (is_harness || slash::is_prompt(&text)) && slash::sent_command(&text, &words).is_none()
        {
            if !self.read_expected(expected.as_ref(), Some(&text)) {
                self.read_person(place, "", false);
            }
            return;
        }
        self.read_expected(expected.as_ref(), None);
        if let Some(command) = slash::sent_command(&text, &words) {
            if slash::is_of_interface(&command) {
                // It may begin a new conversation.
                return self.dialogue.read_interface(place, &command);
            }
            self.read_prose(&command, place, Places::PERSON);
            self.expected = Some(Expected::OfCommand(command, place));
            return;
        }
        // Commands to the tool come before a person's request, or alone.
        let own = slash::without_commands(&words);
        let words = match words.len() - own.len() {
            0 => words,
            end => {
                let mut commands = words[..end].lines().map(str::trim);
                if let Some(reset) = commands.find(|line| RESETS.contains(line)) {
                    self.dialogue.read_interface(place, reset);
                }
                if own.trim().is_empty() {
                    return;
                }
                Cow::Owned(own.to_owned())
            }
        };
        let is_undo = words.trim_start().lines().next().is_some_and(|first| first.trim_end() == UNDO);
        if is_undo {
            // If the command has a result, the result says whether it undid anything.
            self.undoing = Some(place);
            if words.trim() != UNDO {
                self.take_back();
            }
        }
        if let Some(answers) = person::answers_of_screen(&words) {
            return self.read_answers(place, answers);
        }
        let (words, screen) = match person::before_screen(&words) {
            Some((own, screen)) => (Cow::Owned(own), Some(screen.to_owned())),
            None => (words, None),
        };
        if self.dialogue.is_repeated(&words) {
            // The newer answer counts.
            self.asked.reply = None;
            return;
        }
        if person::only_describes_environment(&text) {
            return self.read_person(place, "", false);
        }
        if let Some(report) = person::report(&text) {
            self.read_report(place, report);
        }
        let own = slash::without_mode(&words);
        match slash::without_prompt(&words) {
            Some((command, is_bare)) => self.read_person(place, &command, is_bare),
            None => self.read_person(place, own, false),
        }
        if let Some(screen) = &screen {
            self.statements.add_quoted(place, screen);
        }
        // The name of a command is not a path.
        match own.len() < words.len() || is_undo || screen.is_some() {
            true => self.read_prose(without_undo(own), place, Places::PERSON),
            false => self.read_names(content, place, if is_harness { Places::ANSWER } else { Places::PERSON }),
        }
    }

    /// Reads a command whose prompt was expected, with the title of the prompt if it came. Returns whether there was
    /// one.
    fn read_expected(&mut self, expected: Option<&Expected<'a>>, prompt: Option<&str>) -> bool {
        let Some(Expected::OfCommand(command, place)) = expected else { return false };
        let is_bare = !slash::has_own_words(command);
        let command = prompt.map_or_else(|| command.clone(), |prompt| slash::with_title(command, prompt));
        if !self.dialogue.is_repeated(&command) {
            self.read_person(*place, &command, is_bare);
        }
        true
    }

    /// Reads what a harness reports: the outcomes as results, and the rest as quotes.
    fn read_report(&mut self, place: SourcePosition<'a>, report: &str) {
        let (news, rest) = person::news(report);
        for line in news {
            self.statements.add_line(Voice::Action, place, line);
        }
        self.statements.add_quoted(place, &rest);
    }

    /// Reads what a person answered to questions that a tool asked.
    fn read_answers(&mut self, place: SourcePosition<'a>, answers: &str) {
        self.statements.add_person(place, answers, passages(answers));
        if person::is_permission(answers) {
            return;
        }
        let told = delegations::answers(answers).unwrap_or_else(|| delegations::Answers {
            decided: Some(clip_middle(answers.trim_start_matches(['\u{b7}', ' ', '\n']), LONGEST_ANSWER)),
            left: None,
        });
        if let Some(answer) = &told.decided {
            self.notes.add(NoteKind::Decision, &format!("{ANSWERED}{answer}"), place, false);
        }
        if let Some(question) = told.left {
            self.dialogue.leave_to_model(place, question, &mut self.notes);
        }
        read_constraints(place, answers, true, &mut self.notes);
    }

    /// Removes the newest order to remove something if a command without any change of a file carried it out.
    fn end_removal(&mut self) {
        let asked_at = self.asked_at();
        let is_order = |note: &Note| note.position == asked_at && note.text.starts_with(ORDERED);
        if self.actions.only_removed(asked_at) && self.notes.has(NoteKind::Decision, is_order) {
            self.notes.take(NoteKind::Decision, is_order);
        }
    }

    /// Reads words of a person. `is_command` says that they are only a command to the agent.
    fn read_person(&mut self, place: SourcePosition<'a>, words: &str, is_command: bool) {
        let joined = with_joined_lines(words.into());
        let words = &*joined;
        if is_substantive(words) {
            // A message that arrives while the model works does not end a turn.
            let since = if self.dialogue.is_waiting { u64::MAX } else { self.asked_at() };
            self.errors.note_request(since, &self.dialogue.newest_answers());
        }
        if words.trim().is_empty() {
            self.asked.remind(place.position);
        } else {
            self.broken_off = None;
            self.end_removal();
            self.errors.go_on();
            self.newest_calls.end_turn();
            self.actions.begin_turn();
        }
        if let Some(denial) = Denial::of(words.trim_start()) {
            let newest = self.dialogue.newest_answers().last().map_or(0, |(position, _)| *position);
            let is_told = |one: &Statement| one.position == newest && one.states();
            self.statements.drop_newest(|one| is_told(one) && denial.denies(&one.text));
        }
        let reports_problem = reports(words);
        self.refute_newest(words, place.position);
        match self.is_result(words) {
            true => self.dialogue.read_result(place, words),
            false => self.dialogue.read_person(place, words, is_command, &mut self.notes),
        }
        if reports_problem {
            let since = self.dialogue.requests.iter().rev().nth(COMING_BACK).map_or(0, |one| one.position);
            let is_refuted = |note: &Note| note.position > since && is_about(words, &note.text);
            self.notes.take(NoteKind::Done, |note| tells_work(&note.text) && is_refuted(note));
        }
        self.read_order_to_undo(place, words);
        self.read_report_of_undoing(place, words);
        let is_request = |request: &Request| request.position == place.position && request.asks_for_work();
        if praises_first(words) && !reports_problem && !continues_behind_praise(words) {
            self.asked.praise();
        }
        if self.dialogue.requests.last().is_some_and(is_request) {
            self.note_undone(without_undo(words));
            let reopened = self.end_request(words);
            self.asked = Asked::at(place.position, words).reopening(reopened);
        } else if self.only_refused_changes() {
            // What is made from here on is not what the refused changes were for.
            self.asked.undo();
        } else if asks_for_nothing(words) {
            // The work goes on.
        } else if confirms(words) {
            self.asked.praise();
        } else if answers_back(words, self.dialogue.newest_text()) {
            // What only asks back is no answer.
            self.asked.refuse();
        } else if is_substantive(words) && self.is_refused_by(words) {
            self.refute(words);
            self.asked.refuse();
        } else if shows(words)
            || is_substantive(words) && self.has_changed()
            || self.dialogue.leads_elsewhere(words)
            || self.asked.is_answered_question() && WORK.starts(&normalised(words))
        {
            self.asked.leave();
            if self.comes_back(words) {
                self.asked.forget_reply();
            }
        } else if Self::is_new(words) && !self.has_changed() {
            self.asked.go_on(place.position);
        }
        if !words.trim().is_empty() {
            self.reported_done.clear();
        }
        let words = without_undo(words);
        let pasted = if is_procedure(words) { [after_heading(words)].into() } else { passages(words) };
        self.statements.add_person(place, words, pasted);
    }

    /// Whether a message that is no request of its own says more than to go on. What the model says then answers it.
    fn is_new(words: &str) -> bool {
        !words.trim().is_empty() && !is_trivial(words) && !agrees(words) && !continues(words)
    }

    /// Whether a message of a person only shows the output of a command that the model ran or asked for: it begins with
    /// that command and does not end with words of the person.
    fn is_result(&self, words: &str) -> bool {
        if !shows(words) {
            return false;
        }
        let mut lines = words.lines().map(str::trim).filter(|line| !line.is_empty());
        let (Some(first), Some(last)) = (lines.next(), lines.next_back()) else { return false };
        let asks = last.ends_with(['?', '\u{ff1f}']) || WORK.starts(&normalised(last)) && !last.contains(':');
        let is_of_model = |command: &str| {
            command.len() >= SHORTEST_COMMAND
                && command.contains(' ')
                && (self.actions.has_run(command) || names_command(self.dialogue.newest_text(), command))
        };
        // Other commands of the person may come first. Only a prompt tells the later ones from their output.
        let typed = || lines.filter_map(behind_prompt).take(MOST_COMMANDS).any(|line| is_of_model(core_command(line)));
        let own = behind_prompt(first);
        let command = core_command(own.unwrap_or(first).trim_start_matches(['$', '%', '>', '`', ' ']));
        !asks && (is_of_model(command) || own.is_some() && typed())
    }

    /// Records the effect of a pending undo command.
    fn take_back(&mut self) {
        if let Some(place) = self.undoing.take() {
            self.take_back_commit(place);
            self.take_back_answer();
        }
    }

    /// Records that the newest commit was undone, as aider does when a person tells it to. A pushed commit is never
    /// undone.
    fn take_back_commit(&mut self, place: SourcePosition<'a>) {
        let milestones = self.statements.list().iter().rev().filter(|one| one.voice == Voice::Milestone);
        let mut taken_back: HashSet<&str> = HashSet::new();
        let mut newest = None;
        // Changes after the newest commit are undone first.
        let changed_at = self.actions.changed_at();
        let mut is_newest = true;
        let mut is_uncommitted = false;
        for one in milestones.take(MOST_MILESTONES) {
            let text = one.text.as_str();
            let is_all = text.strip_prefix(TOOK_BACK) == Some(ALL_CHANGES);
            if text.starts_with(PUSHED) {
                break;
            }
            if is_newest && (is_all || text.starts_with(UNDID) || text.starts_with(COMMITTED)) {
                is_newest = false;
                is_uncommitted = changed_at > one.position;
                if is_uncommitted {
                    break;
                }
            }
            if let Some((hash, _)) = text.strip_prefix(UNDID).and_then(|rest| rest.split_once(": ")) {
                taken_back.insert(hash);
            } else if let Some((place, subject)) = text.strip_prefix(COMMITTED).and_then(|rest| rest.split_once(": ")) {
                let hash = place.split(' ').next().unwrap_or(place);
                if !taken_back.contains(hash) {
                    newest = Some((format!("{UNDID}{hash}: {subject}"), one.position));
                    break;
                }
            }
        }
        // Without a known commit, what was done for the last request was undone.
        let committed_at = newest.as_ref().map_or(place.position, |(_, position)| *position);
        if is_uncommitted {
            self.statements.add_line(Voice::Milestone, place, &format!("{TOOK_BACK}{ALL_CHANGES}"));
        } else if let Some((line, _)) = &newest {
            self.statements.add_line(Voice::Milestone, place, line);
        } else if self.undone.is_some() {
            return;
        }
        let is_of_it = |request: &&Request| request.position <= committed_at && request.asks_for_work();
        let request = self.dialogue.requests.iter().rev().find(is_of_it);
        let request = request.filter(|request| self.dialogue.has_answered(request.position));
        let Some(request) = request.map(|request| undone(&request.text)) else {
            return;
        };
        let (requests, _) = self.undone.get_or_insert_with(|| (Vec::new(), place));
        if !requests.contains(&request) && requests.len() < MOST_UNDONE {
            requests.push(request);
        }
    }

    /// Adds the decision that the work for some requests was undone, with the `next` request.
    fn note_undone(&mut self, next: &str) {
        let Some((requests, place)) = self.undone.take() else { return };
        let item = format!("{UNDID_WORK}{}{ASKED_THEN}{}", requests.join("; "), undone(next));
        self.notes.add(NoteKind::Decision, &item, place, false);
    }

    /// Records that a person ordered to undo what was changed for the answered request.
    fn read_order_to_undo(&mut self, place: SourcePosition<'a>, words: &str) {
        let is_command = words.trim_start().starts_with('/');
        if self.asked.answers().is_empty() || is_command || !self.has_changed() || !orders_undo(words) {
            return;
        }
        let request = self.dialogue.requests.iter().rev().find(|request| request.position == self.asked.position);
        if let Some(request) = request {
            self.notes.add(NoteKind::Decision, &format!("{UNDID_WORK}{}", undone(&request.text)), place, false);
        }
        self.refute(words);
        self.asked.undo();
    }

    /// Records that a person undid what was changed since the newest commit.
    fn read_report_of_undoing(&mut self, place: SourcePosition<'a>, words: &str) {
        let changed_at = self.actions.changed_at();
        let milestones = self.statements.list().iter().rev().filter(|one| one.voice == Voice::Milestone);
        let is_saved = |one: &Statement| one.text.starts_with(COMMITTED) || one.text.ends_with(ALL_CHANGES);
        let saved_at = milestones.take(MOST_MILESTONES).find(|one| is_saved(one)).map_or(0, |one| one.position);
        if changed_at > saved_at && tells_undoing(words) {
            self.statements.add_line(Voice::Milestone, place, &format!("{TOOK_BACK}{ALL_CHANGES}"));
        }
    }

    /// Records that the newest edits were undone: the request for them is open again. The second time, it is the
    /// request before that one.
    fn take_back_answer(&mut self) {
        let bound = if self.asked.taken_back > 0 { self.asked.taken_back } else { u64::MAX };
        let is_reset = |one: &Request| RESETS.contains(&one.text.trim());
        let is_own =
            |one: &&mut Request| one.position < bound && (!one.text.trim_start().starts_with('/') || is_reset(one));
        let request = self.dialogue.requests.iter_mut().rev().take(MOST_MILESTONES).find(is_own);
        let Some(request) = request.filter(|one| !is_reset(one)) else { return };
        self.asked.taken_back = request.position;
        if request.position == self.asked.position {
            self.asked.refuse();
        } else if request.position < self.asked.position && request.is_answered {
            request.is_answered = false;
            for has_changed in [true, false] {
                self.notes.remove(NoteKind::Done, &answered_start(&request.text, has_changed));
            }
            self.notes.remove(NoteKind::Done, &worked_on_start(&request.text));
        }
    }

    /// Whether a message refuses the answers to the open request.
    fn is_refused_by(&self, message: &str) -> bool {
        rejects(message, self.dialogue.newest_text()) || {
            let mut requests = self.dialogue.requests.iter().rev();
            let request = requests.find(|request| request.position == self.asked.position);
            let reply = self.asked.reply.as_deref().unwrap_or_default();
            request.is_some_and(|request| !self.asked.answers().is_empty() && reopens(message, &request.text, reply))
        }
    }

    /// Records that the answers to the open request make false claims, as `message` says.
    fn refute(&mut self, message: &str) {
        let report = Report::of(message);
        let voice = |sentence: &str| refuted(sentence, report.as_ref(), true);
        self.asked.answers().iter().for_each(|answer| self.statements.refute(*answer, voice));
        self.plan.reopen(&self.reported_done);
    }

    /// Records which claims since the person's last words the report in a `message` at `position` contradicts.
    fn refute_newest(&mut self, message: &str, position: u64) {
        let Some(report) = Report::of(message) else { return };
        let since = self.dialogue.requests.last().map_or(0, |last| last.position) + 1;
        self.statements.refute((since, position), |sentence| refuted(sentence, Some(&report), false));
    }

    /// Whether the newest answer only shows what could be done for the open request: a plan before any change, or code
    /// without any call.
    fn only_proposes(&self) -> bool {
        let is_text_only = self.actions.changed_at() > 0 && self.actions.last_call() < self.asked.position;
        self.asked.answers().len() == 1
            && !self.has_changed()
            && only_proposes(self.dialogue.newest_text(), is_text_only)
    }

    /// Records that the open request was answered, if it was. `next` is the request that follows it. Returns the request
    /// that `next` reopens.
    fn end_request(&mut self, next: &str) -> Option<String> {
        self.accept_praised(next);
        let is_refused = !self.asked.answers().is_empty() && self.is_refused_by(next);
        // An error that is pasted right after a claim refutes the claim.
        if is_refused || pastes_error(next) {
            self.refute(next);
        }
        let objection = objection(next, self.dialogue.newest_text());
        let only_proposes = self.only_proposes();
        let (has_changed, comes_back) = (self.has_changed(), self.comes_back(next));
        let only_refused = self.only_refused_changes();
        // An answer that only asks for details is no outcome.
        let is_asked_back = !has_changed && asks_back(self.dialogue.newest_text());
        // Without any change in the conversation, the code in the answer is the work.
        let is_chat = self.actions.any_changed_at() == 0 && self.actions.last_call() < self.asked.position;
        let shown: Vec<String> = if is_chat {
            files_with_code(self.dialogue.newest_text()).into_iter().map(str::to_owned).collect()
        } else {
            Vec::new()
        };
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let mut asked = std::mem::take(&mut self.asked);
        let reopened = asked.reopened();
        let mut requests = self.dialogue.requests.iter_mut().rev();
        let request = requests.find(|request| request.position == asked.position)?;
        let Some((_, position)) = asked.answers().last().copied().filter(|_| !is_refused && accepts(next)) else {
            return reopened.or_else(|| (is_refused && !shows(next)).then(|| request.text.clone()));
        };
        // An edit that failed without any other change did nothing of what was asked.
        let only_failed = self.actions.failed_change_at() > asked.position
            && self.actions.any_changed_at() <= asked.position
            && !has_question(&request.text);
        let only_refused = only_refused && !has_question(&request.text);
        if asked.is_broken_off(self.actions.last_call()) || only_refused || only_failed {
            return None;
        }
        request.is_answered = true;
        // An answer that is accepted settles what the request reported, too.
        let settles = |text: &str| is_settled_by_answer(text);
        let is_settled = asked.is_praised() || settles(&request.text) || reopened.is_some_and(|text| settles(&text));
        let text = Some(&request.text).filter(|text| is_settled && is_substantive(&own_words(text)));
        // What is said before further words and calls does not say what came of them.
        let said_at =
            || self.statements.list().iter().rev().find(|one| one.is_of_model()).map_or(0, |one| one.position);
        let is_last = || asked.is_praised() || self.actions.last_call() < position || said_at() <= position;
        if let Some(text) = text.filter(|_| !comes_back && !is_asked_back && is_last()) {
            let is_told = |one: &&Statement| one.position == position;
            let told = self.statements.list().iter().rev().find(is_told);
            let place = SourcePosition { position, entry: told.and_then(|told| told.sources.ids().first()) };
            let objection = objection.filter(|_| has_changed);
            let changed = self.actions.changed_since(asked.position);
            // A commit tells the work better than the names of its files.
            let mut own = self.statements.list().iter().rev().take_while(|one| one.position > asked.position);
            let is_committed = own.any(|one| one.voice == Voice::Milestone && one.text.starts_with(COMMITTED));
            // Nor does it need the words of who asked for it.
            let tells_only_commit =
                |reply: &&str| is_committed && sentences(reply).next().and_then(told_commit).is_some();
            let outcome = asked.outcome(has_changed).filter(|reply| !tells_only_commit(reply));
            let item = match (outcome, objection) {
                (Some(reply), Some(objection)) => Some(objected_item(text, reply, has_changed, &objection)),
                (Some(reply), None) if only_proposes && request.asks_for_work() && !has_question(text) => {
                    Some(proposed_item(text, reply))
                }
                (Some(reply), None) if !shown.is_empty() => Some(answered_item(text, &with_code(reply, &shown), false)),
                (Some(reply), None) => Some(answered_item(text, &with_files(reply, &changed), has_changed)),
                (None, Some(_)) => None,
                (None, None) if !shown.is_empty() && !only_proposes && !has_question(text) => {
                    Some(code_item(text, &shown))
                }
                // Without an outcome in the answer, the files say what was done.
                (None, None) => {
                    let is_work = has_changed && !only_proposes && !has_question(text) && !is_committed;
                    worked_on_item(text, &changed).filter(|_| is_work)
                }
            };
            item.into_iter().for_each(|item| self.notes.add(NoteKind::Done, &item, place, true));
        }
        None
    }

    /// Takes the newest claim of the model as the answer to the open request, if the person praises the work and goes on
    /// although no answer ended it.
    fn accept_praised(&mut self, next: &str) {
        if !self.asked.answers().is_empty() || !praises_first(next) || reports(next) || continues_behind_praise(next) {
            return;
        }
        let own = self.statements.list().iter().rev().take_while(|one| one.position > self.asked.position);
        let mut said = own.filter(|one| matches!(one.voice, Voice::Report | Voice::Remark));
        if let Some(claim) = said.find(|one| is_claim(&one.text) && !is_qualified(&one.text)) {
            self.asked.accept(claim.position, claim.text.clone());
        }
    }

    /// Whether the answer to the open request tells no success, or a message comes back to it.
    fn comes_back(&self, message: &str) -> bool {
        let reply = self.asked.outcome(self.has_changed()).unwrap_or_default();
        let mut requests = self.dialogue.requests.iter().rev();
        let request = requests.find(|request| request.position == self.asked.position);
        let is_same = |request: &Request| one_line(&request.text) == one_line(message);
        let returns = |request: &Request| self.has_changed() && comes_back(message, &request.text, reply);
        let has_failed = |request: &Request| tells_failure(reply) && !has_question(&request.text);
        request.is_some_and(|request| is_same(request) || has_failed(request) || returns(request))
    }

    /// Whether something was changed or finished for the open request.
    fn has_changed(&self) -> bool {
        let mut own = self.statements.list().iter().rev().take_while(|one| one.position > self.asked.position);
        self.actions.any_changed_at() > self.asked.position || own.any(|one| one.voice == Voice::Milestone)
    }

    /// Whether the person refused what the model wanted to change for the open request, and nothing else was changed.
    fn only_refused_changes(&self) -> bool {
        // The newest request is the message that follows.
        let is_own_turn =
            self.dialogue.requests.iter().rev().nth(1).is_some_and(|one| one.position == self.asked.position);
        is_own_turn
            && self.actions.refused_change_at() > self.asked.position
            && !self.asked.answers().is_empty()
            && !self.asked.is_answered_question()
            && !self.has_changed()
    }

    /// Position of the last request.
    fn asked_at(&self) -> u64 {
        self.dialogue.requests.last().map_or(0, |request| request.position)
    }

    fn read_names(&mut self, content: &Content, place: SourcePosition<'a>, places: Places) {
        if let Content::Text(text) = content {
            self.read_prose(text, place, places);
        }
        for block in content.blocks() {
            if let Block::Text(text) = block {
                self.read_prose(text, place, places);
            }
        }
    }

    fn read_prose(&mut self, text: &str, place: SourcePosition<'a>, places: Places) {
        self.names.read(text, place, places);
        self.names.read_quoted(text, place, places);
    }

    /// Records the commits that the model tells with their hashes, if no call showed them.
    fn read_told_commits(&mut self, place: SourcePosition<'a>, sentences: &[&str], listed: &[(&str, &str)]) {
        let listed = listed.iter().map(|(hash, subject)| (*hash, "", *subject));
        for (hash, branch, subject) in sentences.iter().copied().filter_map(told_commit).chain(listed) {
            let milestones = self.statements.list().iter().rev().filter(|one| one.voice == Voice::Milestone);
            if !milestones.take(MOST_MILESTONES).any(|one| one.text.contains(&hash[..SHOWN_OF_HASH])) {
                let on = if branch.is_empty() { String::new() } else { format!(" on {branch}") };
                self.statements.add_line(Voice::Milestone, place, &format!("{COMMITTED}{hash}{on}: {subject}"));
            }
        }
    }

    fn read_answer(&mut self, assistant: &Assistant, place: SourcePosition<'a>, message: &'a Message) {
        let whole = without_thinking(blocks_text(&assistant.content, "\n"));
        let (own, is_cut_off) = without_closing_lines(&whole);
        let (own, changed) = without_marks(own.into());
        // A call that ends the task has the rest of the answer.
        let finish = assistant.tool_calls().find_map(finish_text);
        let text = match &finish {
            Some(report) => Cow::Owned(format!("{}\n\n{report}", with_joined_lines(own))),
            None => with_joined_lines(own),
        };
        if let Some(line) = line_of_run(&text).filter(|_| assistant.tool_calls().next().is_none()) {
            return self.statements.add_line(Voice::Action, place, &line);
        }
        for line in changed {
            self.statements.add_line(Voice::Action, place, &line);
        }
        if assistant.tool_calls().next().is_none() && is_failed_request(&text) {
            return self.note_failure(Some(&text), place);
        }
        // A copied screen shows a call that was only started as words.
        let stop = assistant.stop_reason.as_deref().filter(|_| !is_cut_off && !is_call(&text));
        // What runs in the background ends the turn later.
        let waits = stop == Some("stop") && waits_for_work(&text);
        let stop = if finish.is_some() { Some("stop") } else { stop.filter(|_| !waits) };
        let is_final = stop == Some("stop");
        let parts: Vec<Part<'_>> = parts(&text).collect();
        self.retract(&retractions(&text, &parts), place);
        let told: Vec<&str> = parts.iter().flat_map(Part::sentences).collect();
        let listed = listed_commits(&told);
        if told.iter().any(|sentence| tells_commit(sentence)) || !listed.is_empty() {
            self.end_state(place, Ended::Commit);
        }
        self.statements.add_model(place, &parts, &frames(&text, &parts), is_final);
        self.read_told_commits(place, &told, &listed);
        let acts = assistant.tool_calls().next().is_some();
        self.dialogue.add_decisions(place, &parts, (is_final, acts), &mut self.notes);
        self.dialogue.add_tables(place, &text, &mut self.notes);
        self.dialogue.read_first_words(place, &text, &mut self.notes);
        for block in &assistant.content {
            if let Block::Text(text) = block {
                self.read_prose(text, place, Places::ANSWER);
                self.actions.note_edits(text, place, message, &mut self.errors);
                for file in files_of_code(text) {
                    self.notes.add(NoteKind::Done, &format!("{SHOWN_CODE}{}", quote(file)), place, true);
                }
                for commit in reported_commits(text) {
                    self.statements.add_line(Voice::Milestone, place, &commit);
                }
            }
        }
        let has_words = !text.trim().is_empty();
        let is_closing = is_final && !leads(text.trim_end().trim_end_matches('*'));
        let answer = if is_closing { text.clone().into_owned() } else { String::new() };
        if has_words {
            self.newest_calls.note_words(&text, place.position);
            self.actions.note_words(&text, is_final && reports_all_done(&text));
        }
        let since = self.actions.last_call().max(self.first - 1).max(self.asked_at());
        self.errors.read_remark(&text, since);
        self.errors.read_success(&text);
        self.plan.read_answer(&text, place.position);
        self.reported_done.extend(self.plan.read_reports(&text, is_final));
        self.dialogue.read_model(place, text, stop);
        let mut is_step = false;
        self.said_by_calls.clear();
        self.documents.clear();
        for (number, call) in assistant.tool_calls().enumerate() {
            if number == 0 {
                self.errors.go_on();
            }
            let content = self.actions.begin(place, message, call, self.tools);
            is_step |= content.is_step;
            if self.actions.asks(&call.id)
                && let Some(offer) = call.arguments.as_ref().and_then(offered_by_call)
            {
                self.dialogue.note_offer(place.position, offer);
            }
            let is_told = finish.is_some() && !self.actions.asks(&call.id);
            for (voice, sentence) in content.sentences.iter().filter(|(voice, _)| *voice != Voice::Report || !is_told) {
                self.statements.add_line(*voice, place, sentence);
            }
            if !content.sentences.is_empty() {
                let lines = content.sentences.into_iter().map(|(_, sentence)| sentence).collect();
                self.said_by_calls.insert(call.id.clone(), (place.position, lines));
            }
            if let Some(plan) = content.plan {
                self.new_tasks.change(&call.id, &plan, &self.plan);
                self.plan.take(&plan, place.position);
                self.new_tasks.begin(&call.id, &plan, &self.plan);
                self.read_plan_text(call, place);
            }
            if content.changes_files {
                let documents = documents::documents(call, self.tools);
                if !documents.is_empty() {
                    self.documents.insert(call.id.clone(), documents);
                }
            }
            self.read_arguments(call, content.changes_files, place);
        }
        if is_step {
            self.newest_calls.note_calls(message, place.position, has_words);
        }
        if is_final {
            self.actions.end_turn(&mut self.errors);
            if is_closing {
                let acted = (self.actions.last_call(), self.actions.changed_at());
                self.asked.answer_with(place.position, acted, &answer);
            }
        }
        self.note_end(assistant, place);
        // What the model said before is not the end of the turn, either.
        if waits && self.dialogue.break_off() {
            self.asked.break_off();
            self.is_behind_answer = false;
        }
    }

    /// Drops what the model said about a state that ended.
    fn end_state(&mut self, place: SourcePosition<'a>, ended: Ended) {
        self.statements.drop_newest(|one| one.position < place.position && is_over(&one.text, ended));
        let is_gone = |note: &Note| note.position < place.position && is_over(&note.text, ended);
        if self.notes.has(NoteKind::Done, is_gone) {
            self.notes.take(NoteKind::Done, is_gone);
        }
    }

    /// Drops what the model takes back: its statements, and its decisions in the messages that it quotes.
    fn retract(&mut self, retractions: &[Retraction], place: SourcePosition<'a>) {
        if retractions.is_empty() {
            return;
        }
        let quoted = self.statements.retract(retractions);
        let is_gone = |note: &Note| {
            let is_quoted = quoted.contains(&note.position);
            note.position < place.position
                && !note.text.starts_with(OF_PERSON)
                && retractions.iter().any(|one| one.takes_back(&note.text) || is_quoted && one.names_in(&note.text))
        };
        if self.notes.has(NoteKind::Decision, is_gone) {
            let gone = self.notes.take(NoteKind::Decision, is_gone);
            self.statements.drop_newest(|one| gone.iter().any(|note| note.text == one.text));
        }
    }

    /// Reads documents of the work that the model wrote.
    fn read_documents(&mut self, written: &[Document], place: SourcePosition<'a>) {
        for Document { name, text } in written {
            let text = with_joined_lines(text.as_str().into());
            let mut parts: Vec<Part<'_>> = parts(&text).collect();
            let decisions = documents::decisions(&parts);
            parts.retain(|part| !matches!(part, Part::Sentence(text) if decisions.contains(text)));
            self.statements.add_document(place, name, &parts);
            self.dialogue.add_decisions(place, &parts, (true, false), &mut self.notes);
            let decisions: Vec<String> = decisions.into_iter().map(one_line).collect();
            for decision in &decisions {
                self.notes.add(NoteKind::Decision, decision, place, false);
            }
            let earlier = self.documented.insert(name.clone(), decisions.clone()).unwrap_or_default();
            let is_gone = |note: &Note| earlier.contains(&note.text) && !decisions.contains(&note.text);
            self.notes.take(NoteKind::Decision, is_gone);
        }
    }

    /// Reads what the model says in the text of a plan, like an answer.
    fn read_plan_text(&mut self, call: &ToolCall, place: SourcePosition<'a>) {
        let Some(text) = plan_text(call) else { return };
        let parts: Vec<Part<'_>> = parts(&text).collect();
        self.dialogue.note_plan(place.position, &text);
        self.statements.add_model(place, &parts, &frames(&text, &parts), true);
        self.dialogue.add_decisions(place, &parts, (true, false), &mut self.notes);
    }

    /// Records how an answer ended.
    fn note_end(&mut self, assistant: &Assistant, place: SourcePosition<'a>) {
        let is_silent = assistant.content.iter().all(|block| matches!(block, Block::Thinking(_)));
        match (assistant.stop_reason.as_deref(), &assistant.error_message) {
            (Some("error"), error) => self.note_failure(error.as_deref(), place),
            // A person who stops the model at a prompt that waits for them stops no work.
            (Some("aborted"), _) if self.is_behind_answer && is_silent => {}
            (Some("aborted"), _) => {
                self.broken_off.get_or_insert_with(|| STOPPED_BY_PERSON.to_owned());
                self.is_behind_answer = false;
            }
            (stop, _) => {
                self.errors.resolve(None);
                self.broken_off = None;
                self.is_behind_answer = stop == Some("stop") && !is_silent;
            }
        }
    }

    /// Records a failed request to the model. A later answer resolves it. The words right before it are all that came of
    /// an answer.
    fn note_failure(&mut self, error: Option<&str>, place: SourcePosition<'a>) {
        let line = super::error_line(error.unwrap_or_default());
        if error.is_some() {
            self.errors.add(None, &line, place, false);
        }
        if std::mem::take(&mut self.is_behind_answer) && self.dialogue.break_off() {
            self.asked.break_off();
        }
        self.broken_off = Some(line);
    }

    /// Reads the names in a call. Text of an edit other than paths counts as written to a file.
    fn read_arguments(&mut self, call: &ToolCall, is_edit: bool, place: SourcePosition<'a>) {
        let mut values: Vec<(&Json<'static>, bool, usize)> =
            call.arguments.iter().map(|arguments| (arguments, false, 0)).collect();
        while let Some((value, is_text, depth)) = values.pop() {
            match value {
                Json::String(text) => {
                    self.names.read(text, place, if is_text { Places::EDIT } else { Places::CALL });
                    for choice in Some(()).filter(|()| !is_text).into_iter().flat_map(|()| choices_of_commit(text)) {
                        self.notes.add(NoteKind::Decision, &choice, place, true);
                    }
                }
                Json::Array(items) if depth < DEEPEST => {
                    values.extend(items.iter().rev().map(|item| (item, is_text, depth + 1)));
                }
                Json::Object(members) if depth < DEEPEST => {
                    let is_path = |key: &str| names_path(key, self.tools);
                    let members = members.iter().rev();
                    values.extend(members.map(|(key, value)| (value, is_edit && !is_path(key), depth + 1)));
                }
                _ => {}
            }
        }
    }

    pub(super) fn note_success(&mut self, subject: Subject, times: u64, place: SourcePosition<'_>) {
        self.actions.succeed(place, subject, times, &mut self.errors);
    }

    /// Records a file from a list, which does not say how often it was used.
    pub(super) fn note_file(&mut self, kind: ActionKind, path: &str, place: SourcePosition<'_>) {
        self.actions.note_listed(kind, path, place);
    }

    /// Records what an earlier summary says about the changes of a file.
    pub(super) fn note_changes(&mut self, path: &str, text: &str) {
        self.actions.note_changes(path, text);
    }

    /// Adds entries that must be kept.
    pub fn pin(&mut self, ids: impl IntoIterator<Item = EntryId>) {
        let mut known: HashSet<EntryId> = self.pinned.iter().cloned().collect();
        self.pinned.extend(ids.into_iter().filter(|id| known.insert(id.clone())));
    }

    /// The ledger of everything that was read.
    pub fn finish(mut self) -> Ledger {
        self.take_back();
        let expected = self.expected.take();
        self.read_expected(expected.as_ref(), None);
        if !self.has_results && self.actions.has_waited() {
            // Branch messages have no tool results, so their calls count as done.
            self.actions.end_all(&mut self.errors);
        }
        self.actions.take_proposals();
        let reply = self.asked.outcome(self.has_changed()).map(str::to_owned);
        self.actions.settle(self.first, self.dialogue.answered >= self.first, &mut self.notes);
        self.actions.report(&mut self.notes);
        self.dialogue.report(&mut self.notes, |position| self.actions.changed_since(position));
        let errors = self.errors.finish();
        self.names.mark_errors(errors.iter().map(|error| error.line.as_str()));
        let (paths, identifiers) = self.names.finish(self.position, |path| self.actions.is_file(path));
        let statements = self.statements.finish();
        let is_quiet = statements.iter().map(|one| one.text.len()).sum::<usize>() < TALKATIVE;
        let results = if is_quiet { self.actions.take_results() } else { Vec::new() };
        let changes = self.actions.take_changes();
        let jobs = self.actions.take_jobs();
        let directory = self.actions.take_directory();
        let (files, commands) = self.actions.finish();
        Ledger {
            messages: self.position,
            answered: self.dialogue.answered,
            is_waiting: self.dialogue.is_waiting,
            newest_answer: self.dialogue.take_newest(),
            reply,
            last_step: LastStep { jobs, broken_off: self.broken_off, ..self.newest_calls.finish(self.tools) },
            requests: self.dialogue.finish(),
            statements,
            results,
            changes,
            vocabulary: SharedVocabulary::since(self.first),
            notes: self.notes.finish(),
            plan: self.plan,
            files,
            commands,
            directory,
            errors,
            paths,
            identifiers,
            pinned: self.pinned,
            left_out: self.left_out,
        }
    }
}
