//! The plan of the newest task list, and the next steps that an answer names.

use super::answers::is_courtesy;
use super::bold::without_bold;
use super::closed_requests::instructs;
use super::completed::{TICKS, says_done_of_task};
use super::coverage::{Coverage, Sums, Target};
use super::cues::{is_announcement, is_sized, is_substantive};
use super::names::ending;
use super::problems::is_conditional;
use super::repository::is_named;
use super::statements::{prose, sentences, without_marker};
use super::terms::is_unspaced;
use super::text::{WordList, clip_middle, has_any, has_piece, normalised, one_line, quoted, word_list};
use super::{Ledger, Statement, Voice};
use crate::phrases::{EVERY, SPACED};
use crate::text::utf16_len;
use crate::tools::{Plan, PlanItem, PlanStatus};

/// Words of sentences about remaining work.
static LEFT: WordList = word_list!("steps: left");
/// The same in other languages.
static LEFT_ELSEWHERE: WordList = word_list!(SPACED, "steps: left elsewhere");
/// Phrases of steps for the person.
static OF_PERSON: WordList = word_list!("steps: of the person");
/// Words after `next` if it introduces a step.
static NEXT_WHAT: WordList = word_list!(SPACED, "steps: next what");
/// Words after `next` at the beginning of a sentence if it does not.
static NEXT_OTHER: WordList = word_list!(SPACED, "steps: next other");
/// Beginnings of sentences that announce an action.
static ANNOUNCED: WordList = word_list!(SPACED, "steps: announced");
/// Words of sentences that announce an action, or that say what would have to be done in some case.
static NOT_LEFT: WordList = word_list!(SPACED, "steps: not left");
/// Words at the beginning of a report of work: `Updated the list of next steps`.
static REPORTING: WordList = word_list!(SPACED, "steps: reporting");
/// Shortest name in a step that is searched for in calls, in bytes.
const SHORTEST_NAME: usize = 3;
/// Most names of one step.
const MOST_NAMES: usize = 8;
/// Escapes in strings of data.
const ESCAPES: [&str; 3] = ["\\n", "\\r", "\\u"];
/// Beginnings of the line above a list of steps.
static TITLES: WordList = word_list!(EVERY, "steps: titles");
/// Beginnings of sentences that make no sense without the one before them.
static OTHERWISE: WordList = word_list!("steps: otherwise");

/// Phrases that make a line with a colon at its end a title, wherever they are in it.
static PHRASES: WordList = word_list!(SPACED, "steps: phrases");
/// Longest title, in UTF-16 units.
const LONGEST_TITLE: usize = 100;

/// Words of the line above a numbered list of what the model is about to do.
static LEADING: WordList = word_list!("steps: leading");
/// Fewest and most items of such a list.
const LISTED: std::ops::RangeInclusive<usize> = 3..=12;

/// Most words of an unmarked line that is the title of the list below it.
const MOST_TITLE_WORDS: usize = 5;

/// The remaining work in an answer: open check boxes, lists under a line such as `Next steps:`, and
/// sentences about it.
pub(crate) fn explicit_steps(answer: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let (mut in_list, mut is_headed) = (false, false);
    let mut lines = prose(answer).filter(|line| !line.trim().is_empty()).peekable();
    while let Some(line) = lines.next() {
        let text = without_marker(line);
        let is_item = is_item(line, text);
        let mut is_above_list = || lines.peek().is_some_and(|next| is_item_of_list(next));
        if is_ticked(text) {
            // It is done.
        } else if let Some(open) = text.strip_prefix("[ ]") {
            steps.push(open.trim_start());
        } else if is_title(line, text) || !is_item && is_plain_title(text) && is_above_list() {
            (in_list, is_headed) = (true, line.trim_start().starts_with('#') || is_bold(line, text));
        } else if in_list && is_item {
            // What follows from the outcome of a step is none.
            let infers = is_conditional(text) && text.contains([':', '\u{ff1a}']) && !text.contains([',', '\u{ff0c}']);
            steps.extend(Some(text).filter(|_| !infers));
            is_headed = false;
        } else if is_headed && is_above_list() && text.ends_with([':', '\u{ff1a}']) {
            // A sentence may come between the heading and the list.
        } else if !text.is_empty() {
            in_list = false;
            // A heading names what follows and is not a step.
            let is_heading = line.trim_start().starts_with('#') || is_bold(line, text);
            let sentences = sentences(if is_heading { "" } else { line });
            steps.extend(sentences.filter(|sentence| names_work(sentence) && !OTHERWISE.begins(sentence)));
        }
    }
    steps
}

/// Marks at the beginning of an item that is done.
const DONE_MARKS: [&str; 3] = ["[x]", "[X]", "~~"];

/// Whether an item of a list is marked as done.
fn is_ticked(item: &str) -> bool {
    item.starts_with(TICKS) || DONE_MARKS.iter().any(|mark| item.starts_with(mark))
}

/// Whether a step is an instruction to the person.
pub(crate) fn is_of_person(step: &str) -> bool {
    instructs(step) || addresses(step)
}

/// Whether a step tells the person what they have to do.
pub(crate) fn addresses(step: &str) -> bool {
    OF_PERSON.is_said(step)
}

/// Names in a sentence that a call may contain: text in backticks, paths and names of files.
pub(crate) fn names_in(sentence: &str) -> impl Iterator<Item = &str> {
    let words = sentence.split_whitespace().map(|word| word.trim_matches(is_mark));
    let paths = words.filter(|word| ending(word).is_some() || word.contains('/'));
    quoted(sentence).chain(paths).filter(|name| name.len() >= SHORTEST_NAME)
}

/// Whether later edits did a step of an answer: they change the file that the step names, or the code in the answer
/// contains the name.
pub(super) fn is_applied(step: &str, answer: &str, changed: &[&str]) -> bool {
    let is_file = |name: &str| changed.iter().any(|path| is_named(path, name));
    let is_shown = |name: &str| {
        let mut is_code = false;
        answer.lines().any(|line| {
            is_code ^= line.trim_start().starts_with("```");
            is_code && line.contains(name)
        })
    };
    !changed.is_empty() && names_in(step).take(MOST_NAMES).any(|name| is_file(name) || is_shown(name))
}

/// The last numbered list of an answer that says what the model is about to do, according to the line above it; empty
/// if there is none.
pub(super) fn listed_steps(answer: &str) -> Vec<String> {
    let is_third = |at: usize| matches!(answer.as_bytes().get(at + 1), Some(b'.' | b')'));
    if !memchr::memchr_iter(b'3', answer.as_bytes()).any(is_third) {
        return Vec::new();
    }
    let (mut newest, mut current, mut is_led, mut before) = (Vec::new(), Vec::new(), false, "");
    for line in prose(answer).filter(|line| !line.trim().is_empty()).chain(["-"]) {
        let is_numbered = line.starts_with(|first: char| first.is_ascii_digit());
        if is_numbered && is_item_of_list(line) {
            is_led = if current.is_empty() { leads_to_steps(before) } else { is_led };
            current.push(shortened(&without_bold(without_marker(line))));
        } else if !line.starts_with(char::is_whitespace) {
            // An item may have further lines below it.
            let list = std::mem::take(&mut current);
            let is_step = |item: &String| is_sized(item) && !item.ends_with([':', '\u{ff1a}', '?']);
            if is_led && LISTED.contains(&list.len()) && list.iter().filter(|item| !is_step(item)).count() <= 1 {
                newest = list;
            }
        }
        before = line;
    }
    newest
}

/// Whether a line introduces a list of work to do.
fn leads_to_steps(line: &str) -> bool {
    let is_title = line.trim_start().starts_with('#') || line.trim_end_matches('*').ends_with([':', '\u{ff1a}']);
    // The findings of an answer may come before the sentence that introduces the list.
    let last = sentences(line).last().unwrap_or(line);
    let is_led = || LEADING.is_said(last);
    is_title && utf16_len(last) <= LONGEST_TITLE && is_led()
}

fn is_item_of_list(line: &str) -> bool {
    is_item(line, without_marker(line))
}

fn is_item(line: &str, text: &str) -> bool {
    is_list_item(line) && text.len() < line.trim().len()
}

/// Whether a line without marks may be the title of the list below it.
fn is_plain_title(text: &str) -> bool {
    let words = normalised(text);
    !text.ends_with(['.', '!', '?', '\u{3002}', '\u{ff1f}'])
        && words.split_whitespace().count() <= MOST_TITLE_WORDS
        && (TITLES.starts(&words) || PHRASES.is_in(&words))
}

/// Whether a line begins with the mark of a list, and not with that of a heading or of bold text.
pub(crate) fn is_list_item(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches('>').trim_start();
    line.starts_with(|first: char| first.is_ascii_digit())
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

pub(crate) fn is_title(line: &str, text: &str) -> bool {
    let ends_with_colon = text.trim_end_matches('*').trim_end().ends_with([':', '\u{ff1a}']);
    let is_heading = line.trim_start().starts_with('#') || ends_with_colon;
    if !is_heading && !is_bold(line, text) || utf16_len(text) > LONGEST_TITLE {
        return false;
    }
    let words = normalised(line);
    // Scripts without spaces put particles directly after a title.
    let is_unspaced = |title: &&&str| title.starts_with(is_unspaced) && words.trim_start().starts_with(**title);
    TITLES.starts(&words) || TITLES.words.iter().any(|title| is_unspaced(&title)) || PHRASES.is_in(&words)
}

/// Whether all of a line is bold.
fn is_bold(line: &str, text: &str) -> bool {
    text.is_empty() || line.trim().starts_with("**") && line.trim().ends_with("**")
}

/// Whether a sentence says that something is left to do.
pub(crate) fn names_work(sentence: &str) -> bool {
    let is_name = |word: &str| word.contains(['`', '/', '\\', '_']) || ending(word.trim_matches(is_mark)).is_some();
    let plain: Vec<&str> = sentence.split_whitespace().filter(|word| !is_name(word)).collect();
    let words = normalised(&plain.join(" "));
    let is_said = LEFT.is_in(&words) || names_next(&words);
    let is_said = is_said && !ANNOUNCED.starts(&words) && !REPORTING.starts(&words) && !NOT_LEFT.is_in(&words);
    let elsewhere = || LEFT_ELSEWHERE.is_in(&words) || has_piece(sentence, LEFT.pieces);
    let is_data = ESCAPES.iter().any(|mark| sentence.contains(mark));
    is_sized(sentence)
        && !is_data
        && !is_courtesy(sentence)
        && !sentence.ends_with([':', '\u{ff1a}'])
        // A ticked item is done or correct.
        && !sentence.trim_end().trim_end_matches('\u{fe0f}').ends_with(TICKS)
        && (is_said || elsewhere() && !is_announcement(sentence))
}

/// Whether `next` introduces a step in `normalised` text: `The next task is`, `I do it next`, but not `next to it`.
fn names_next(words: &str) -> bool {
    if !has_any(words, &["next"]) {
        return false;
    }
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut places = words.iter().enumerate().filter(|(_, word)| **word == "next").map(|(at, _)| at);
    places.any(|at| match words.get(at + 1) {
        None => true,
        Some(what) => NEXT_WHAT.has(what) || at == 0 && !NEXT_OTHER.has(what),
    })
}

fn is_mark(character: char) -> bool {
    !character.is_alphanumeric()
}

/// Marks of tasks that are not done, in the answers of models.
const OPEN_STATES: [char; 7] = ['\u{23f3}', '\u{1f504}', '\u{1f6a7}', '\u{1f512}', '\u{2b1c}', '\u{23f8}', '\u{1f51c}'];
/// Those of them that are rarely signs of something else.
const SURE_STATES: [char; 5] = ['\u{23f3}', '\u{1f6a7}', '\u{2b1c}', '\u{23f8}', '\u{1f51c}'];
/// Most items of a plan that are kept.
const MOST_ITEMS: usize = 60;
/// Longest item of a plan, in UTF-16 units.
const LONGEST_ITEM: usize = 200;

/// Part of the terms of a task that a report about it must have.
const REPORTED: f32 = 0.6;

/// The newest plan of a tool or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatestPlan {
    /// Its tasks, in their order.
    pub items: Vec<PlanItem>,
    /// Position of the message that gave it; 0 if there is none.
    pub position: u64,
}

impl LatestPlan {
    /// Reads the plan from a call.
    pub(super) fn take(&mut self, plan: &Plan, position: u64) {
        let items = plan.items.iter().map(|item| PlanItem { text: shortened(&item.text), ..item.clone() });
        if plan.merges {
            items.for_each(|item| self.merge(item));
        } else {
            self.items = items.filter(|item| !item.text.is_empty()).collect();
        }
        // A list with ids grows with the conversation.
        if plan.merges && self.items.len() > MOST_ITEMS {
            let mut over = self.items.len() - MOST_ITEMS;
            self.items.retain(|item| {
                let is_past = matches!(item.status, PlanStatus::Completed | PlanStatus::Cancelled) && over > 0;
                over -= usize::from(is_past);
                !is_past
            });
        }
        self.items.truncate(MOST_ITEMS);
        self.position = position;
    }

    fn merge(&mut self, item: PlanItem) {
        if let Some(at) = item.id.as_deref().and_then(|id| self.place_of(id)) {
            let known = &mut self.items[at];
            known.id = item.id;
            if item.is_stated {
                known.status = item.status;
            }
            if !item.text.is_empty() {
                known.text = item.text;
            }
        } else if !item.text.is_empty() {
            self.items.push(item);
        }
    }

    /// The index of the task with this id. A task whose result is missing has the number that its neighbours leave for it.
    fn place_of(&self, id: &str) -> Option<usize> {
        self.named(id).or_else(|| {
            let number: u64 = id.parse().ok()?;
            // Tasks are numbered in order.
            let mut before = 0;
            self.items.iter().position(|item| {
                before = match &item.id {
                    Some(id) => id.parse().unwrap_or(before),
                    None => before + 1,
                };
                item.id.is_none() && before == number
            })
        })
    }

    fn named(&self, id: &str) -> Option<usize> {
        self.items.iter().position(|item| item.id.as_deref() == Some(id))
    }

    /// Reads the list in the result of a call, or the state of one known task.
    pub(super) fn read_result(&mut self, text: &str, position: u64) {
        let is_known = |plan: &Plan| {
            // Other things that are called tasks also have ids.
            !plan.merges || plan.items.iter().filter_map(|item| item.id.as_deref()).all(|id| self.named(id).is_some())
        };
        if let Some(plan) = Plan::of_result(text).filter(is_known) {
            self.take(&plan, position);
        }
    }

    /// Reads the list in the result of the newest plan's call, if it is the same list with more of it: some agents cut
    /// long arguments.
    pub(super) fn complete(&mut self, text: &str, position: u64) {
        let Some(plan) = Plan::of_result(text) else { return };
        let mut pairs = self.items.iter().zip(&plan.items);
        if plan.items.len() >= self.items.len() && pairs.all(|(known, shown)| shown.text.starts_with(&known.text)) {
            self.take(&plan, position);
        }
    }

    /// Reads the check boxes of an answer if there are several.
    pub(super) fn read_answer(&mut self, text: &str, position: u64) {
        let is_box = |line: &&str| {
            let line = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
            ["[ ]", "[x]", "[X]"].iter().any(|mark| line.starts_with(mark))
        };
        let is_open = |at: usize| matches!(text.as_bytes().get(at..at + 3), Some(b"[ ]" | b"[x]" | b"[X]"));
        if !memchr::memchr_iter(b'[', text.as_bytes()).any(is_open) {
            return self.read_states(text, position);
        }
        let boxes: Vec<&str> = prose(text).filter(is_box).collect();
        if boxes.len() > 1 {
            self.take(&Plan::of_text(&boxes.join("\n")), position);
        }
    }

    /// Reads a list of tasks with the marks of their states, if one is open. A list of tasks that is longer stays.
    fn read_states(&mut self, text: &str, position: u64) {
        if !text.contains(OPEN_STATES) {
            return;
        }
        let (mut newest, mut current, mut is_mixed) = (Vec::new(), Vec::new(), false);
        for line in prose(text).filter(|line| !line.trim().is_empty()).chain(["."]) {
            let item = without_marker(line);
            if let Some(task) = Plan::marked(item) {
                current.push((task, item.starts_with(SURE_STATES)));
                continue;
            }
            // Lists of other things have signs of many kinds.
            is_mixed |= is_list_item(line);
            let list = std::mem::take(&mut current);
            if !is_mixed && is_list_of_states(&list) {
                newest = list.into_iter().map(|(task, _)| task).collect();
            }
            is_mixed = is_list_item(line);
        }
        let open = self.items.iter().filter(|item| matches!(item.status, PlanStatus::Pending | PlanStatus::InProgress));
        if !newest.is_empty() && newest.len() >= open.count() {
            self.take(&Plan { items: newest, merges: false }, position);
        }
    }

    /// The tasks in a state.
    pub fn in_state(&self, status: PlanStatus) -> impl Iterator<Item = &PlanItem> {
        self.items.iter().filter(move |item| item.status == status)
    }
}

impl Ledger {
    /// The tasks in progress that were finished without an update of the plan: the model reported on them before the
    /// person moved on to something else.
    pub(crate) fn reported_tasks(&self) -> Vec<&PlanItem> {
        let tasks: Vec<&PlanItem> = self.plan.in_state(PlanStatus::InProgress).collect();
        let since = self.plan.position;
        let asked = self.requests.iter().rev().find(|request| is_substantive(&request.text));
        let Some(asked_at) = asked.map(|request| request.position).filter(|asked| *asked > since && since > 0) else {
            return Vec::new();
        };
        let targets: Vec<Target> = tasks.iter().map(|task| Target::of(&task.text)).collect();
        let mut coverage = Coverage::looking_for(targets.iter());
        if !tasks.is_empty() {
            let is_told = |one: &&Statement| since < one.position && one.position < asked_at;
            let told = self.statements.iter().filter(is_told).filter(|one| one.voice == Voice::Report);
            // A list of tasks may only repeat them, with their states.
            let texts: Vec<String> = tasks.iter().map(|task| normalised(&task.text)).collect();
            let only_names = |one: &&Statement| only_names_task(&one.text, &texts);
            let told = told.filter(|one| !only_names(one));
            let told: Vec<&str> = told.map(|one| one.text.as_str()).collect();
            coverage.read(&told.join("\n"));
        }
        let mut sums = Sums::default();
        let mut is_reported = |target: &Target| coverage.holds(target, REPORTED, &mut sums);
        let reported = tasks.iter().zip(&targets).filter(|(_, target)| is_reported(target));
        reported.map(|(task, _)| *task).collect()
    }
}

/// Whether items with their states are a list of tasks of which one is done and one is open. `true` beside an item says that
/// its mark is only that of an open task.
fn is_list_of_states(list: &[(PlanItem, bool)]) -> bool {
    let done = list.iter().filter(|(item, _)| item.status == PlanStatus::Completed).count();
    let is_sure = list.iter().any(|(_, is_sure)| *is_sure) || done > 1;
    done > 0 && done < list.len() && is_sure
}

/// Whether a sentence has the words of one of some `normalised` tasks and at most a few more, none of which says that it
/// is done.
fn only_names_task(sentence: &str, tasks: &[String]) -> bool {
    let words = normalised(sentence);
    let is_state = |more: &str| more.split_whitespace().count() <= MOST_OF_STATE && !says_done_of_task(more, sentence);
    let mut tasks = tasks.iter().filter(|task| !task.trim().is_empty());
    tasks.any(|task| words.strip_prefix(task.as_str()).is_some_and(is_state))
}

/// Most words behind a task that name its state.
const MOST_OF_STATE: usize = 4;

fn shortened(text: &str) -> String {
    clip_middle(&one_line(text), LONGEST_ITEM)
}

/// The states with their names as stored.
pub(super) const STATES: &[(PlanStatus, &str)] = &[
    (PlanStatus::Pending, "pending"),
    (PlanStatus::InProgress, "inProgress"),
    (PlanStatus::Completed, "completed"),
    (PlanStatus::Cancelled, "cancelled"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_left() {
        let answer = "The parser works. Errors still need line numbers.\nLet me look at it next.\n\n**Next steps:**\n\
                      1. Port the printer\n2. Delete the old code\n\nThat was all.\n- [x] tests\n- [ ] docs\n```\ntodo: x y\n```";
        let expected = ["Errors still need line numbers.", "Port the printer", "Delete the old code", "docs"];
        assert_eq!(explicit_steps(answer), expected);
        assert_eq!(explicit_steps("## Remaining\n- a\n- b\n## Done\n- c"), ["a", "b"]);
        let led = "- Updated `A.md` with the next steps\n### Next steps\n\nThe ground is laid for:\n1. a b\n2. c d\n\n\
                   Wait, but let me check what still needs work.\nThe manual says what was done and what remains to be done.";
        assert_eq!(explicit_steps(led), ["a b", "c d"]);
        assert_eq!(explicit_steps("Next steps:\n1. **Test** it\n**All set!**"), ["**Test** it"]);
        assert_eq!(explicit_steps("So the next steps would be:\n\n1. a b\n2. c d"), ["a b", "c d"]);
        assert_eq!(explicit_steps("次のステップは次の通り：\n\n1. 統合する\n2. 公開する"), ["統合する", "公開する"]);
        let done: [&str; 0] = [];
        assert_eq!(explicit_steps("I updated `TODO.md` as NEXT.md says."), done);
        assert_eq!(explicit_steps("The parser is done.\n\nWhat changed:\n- a\n- b"), done);
    }

    #[test]
    fn a_list_with_marks_of_states_is_a_plan() {
        let states = "Progress:\n- \u{2705} Task 1: menu\n- \u{23f3} Task 2: prices (running)\n- \u{1f512} Task 3: phone\n\nMore soon.";
        let mixed =
            "Features:\n- \u{2705} fast\n- \u{1f512} secure\n- \u{1f680} small\n- \u{2705} free\n- \u{2705} new";
        let signs = "Features:\n- \u{2705} fast\n- \u{1f504} fresh\n- \u{1f512} secure";
        for (text, expected) in [
            (states, "Task 1: menu Completed; Task 2: prices InProgress; Task 3: phone Pending"),
            (mixed, ""),
            (signs, ""),
            ("- \u{2705} menu\n- \u{2705} prices", ""),
            ("- \u{2705} 1, 2, 3\n- \u{23f3} prices\n- \u{2705} menu", ""),
        ] {
            let mut plan = LatestPlan::default();
            plan.read_answer(text, 1);
            let told: Vec<String> = plan.items.iter().map(|item| format!("{} {:?}", item.text, item.status)).collect();
            assert_eq!(told.join("; "), expected, "{text}");
        }
        let mut plan = LatestPlan::default();
        plan.read_answer(states, 1);
        plan.read_answer("- \u{2705} Task 9: ink\n- \u{23f3} Task 8: paper", 2);
        assert_eq!(plan.position, 2, "as many as are open");
        plan.read_answer(states, 3);
        plan.read_reports("Task 2 \u{2705} (4 tests). Task 3 comes next.", false);
        assert_eq!(plan.in_state(PlanStatus::Completed).count(), 2);
    }

    #[test]
    fn a_title_is_no_step() {
        for title in ["**Recommended Next Steps**", "Next options", "Next steps (optional)", "## What remains and why"]
        {
            assert_eq!(explicit_steps(&format!("{title}\n- port it\n- test it\nThat is all.")), ["port it", "test it"]);
        }
        let done: [&str; 0] = [];
        assert_eq!(explicit_steps("**What is pending in the store**\n\nNothing."), done);
    }

    #[test]
    fn only_work_that_is_left_is_a_step() {
        for text in [
            "The toggle is next to the list of files.",
            "Next time the program finds its settings again.",
            "The change is applied on the next tick.",
            "For the printer, I need to place the new header first.",
            "We'd need a new token if we want two colours, which would need to be documented.",
            "Rollout\\r\\n- tell them what the next steps are",
            "Als erstes schaue ich in die Datei.",
        ] {
            assert_eq!(explicit_steps(text), [""; 0], "{text}");
        }
        for text in [
            "The next task is the printer.",
            "I can port the printer next.",
            "You need to restart the server.",
            "Der Drucker muss noch portiert werden.",
            "Il reste à porter l'imprimante.",
            "Queda por portar la impresora, que está en otro módulo.",
            "Ainda falta portar a impressora, que está em outro módulo.",
            "还需要移植打印机模块。",
            "プリンタの移植が残っています。",
        ] {
            assert_eq!(explicit_steps(text), [text], "{text}");
        }
    }

    #[test]
    fn a_result_completes_a_plan_whose_arguments_were_cut() {
        let item =
            |text: &str| PlanItem { id: None, text: text.to_owned(), status: PlanStatus::Pending, is_stated: true };
        let mut plan = LatestPlan { items: vec![item("port the parser"), item("port the pri")], position: 1 };
        plan.complete("- [x] another list\n- [ ] of tasks", 2);
        assert_eq!(plan.items.len(), 2);
        plan.complete("## Todo List\n\n- [x] port the parser\n- [ ] port the printer\n- [ ] write the manual", 2);
        let texts: Vec<&str> = plan.items.iter().map(|item| item.text.as_str()).collect();
        assert_eq!(texts, ["port the parser", "port the printer", "write the manual"]);
    }
}
