//! What the model reports as done: single tasks of a plan by their labels, the items of a list of finished work, and all
//! of the work.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use super::bold::without_bold;
use super::choices::stems;
use super::problems::is_conditional;
use super::statements::{prose, sentences, without_marker};
use super::steps::{LatestPlan, explicit_steps, is_list_item, is_title};
use super::text::{WordList, first_words, has_piece, normalised, one_line, word_list};
use crate::text::utf16_len;
use crate::tools::{PlanItem, PlanStatus};

/// Words that say that work is done.
static DONE: WordList = word_list!("completed: done");
/// Words for all of the work.
static ALL: WordList = word_list!("completed: all");
/// Words that may stand beside them without another meaning.
static BESIDE: WordList = word_list!("completed: beside");
/// The words for finished work and for all of it in English, where `todo` is none of these.
static ENGLISH: [WordList; 2] =
    [word_list!(crate::phrases::ENGLISH, "completed: done"), word_list!(crate::phrases::ENGLISH, "completed: all")];
/// Words for finished work that also order it, or name something else, at the beginning of a text.
static AMBIGUOUS: WordList = word_list!("completed: ambiguous");
/// Words before the number of a task in a list of tasks.
static NUMBERED: WordList = word_list!(crate::phrases::SPACED, "completed: numbered");
/// Words before a number with which the text of a task begins: `Phase 2: build`.
static PARTS: WordList = word_list!(crate::phrases::SPACED, "completed: parts");
/// Words that say that something is not done, or only a part of it, or that it will be.
static NOT_YET: WordList = word_list!("completed: not yet");
/// Titles of a list of finished work.
static TITLES: WordList = word_list!("completed: titles");
/// Words with which a model gives up.
static GIVEN_UP: WordList = word_list!("completed: given up");
/// First words of a model that thinks about the person, or says what it will do, instead of telling an outcome.
static NARRATING: WordList = word_list!(crate::phrases::SPACED, "completed: narrating");
/// Marks of finished items.
pub(crate) const TICKS: [char; 4] = ['\u{2713}', '\u{2714}', '\u{2705}', '\u{2611}'];
/// Shows the character before it in colour.
const IN_COLOUR: char = '\u{fe0f}';
/// Most items of a list of finished work that are compared with tasks.
const MOST_TOLD: usize = 64;
/// Marks between a label and what is said of it.
const MARKS: [char; 8] = [':', '\u{ff1a}', '\u{2014}', '\u{2013}', '\u{2192}', '(', ')', '|'];
/// Marks between clauses.
const CLAUSES: [char; 7] = [',', ';', '.', '!', '\u{ff0c}', '\u{3002}', '\u{ff1b}'];
/// Most characters of a label such as `R1` or `P0-3`.
const LONGEST_LABEL: usize = 6;
/// Number of first and last sentences of an answer of which one may say that all is done.
const ENDS: usize = 2;
/// Most digits of the number of tasks.
const MOST_DIGITS: usize = 3;
/// Longest title of a list of finished work, in UTF-16 units.
const LONGEST_TITLE: usize = 60;
/// Fewest words that two names of the same work share.
const FEWEST_SHARED: usize = 2;
/// Most words after a call that name its model.
const WORDS_OF_MODEL: usize = 3;
/// Shortest name that two texts share, in bytes.
const SHORTEST_NAME: usize = 5;

/// A sentence that only says that something was done: `Done.`
pub(super) fn only_says_done(sentence: &str) -> bool {
    DONE.is_said(sentence) && is_made_of(sentence, &[&DONE, &BESIDE])
}

/// Whether a sentence begins with a word for finished work: `Done, the menu is on every page`.
pub(crate) fn begins_with_done(sentence: &str) -> bool {
    DONE.begins(sentence) && !AMBIGUOUS.begins(sentence) && !is_qualified(sentence)
}

/// Whether the `more` words behind a task in a sentence, or a mark at its end, say that it is done.
pub(super) fn says_done_of_task(more: &str, sentence: &str) -> bool {
    ends_with_tick(sentence)
        || DONE.is_in(more) && !NOT_YET.is_in(more)
        || DONE.pieces.iter().any(|piece| more.contains(piece))
}

/// Whether a sentence says that all of the work is done, and nothing else.
pub(crate) fn says_all_done(sentence: &str) -> bool {
    let [done, all] = &ENGLISH;
    // Most sentences say nothing of all.
    ALL.is_said(sentence)
        && DONE.is_said(sentence)
        && (!done.is_said(sentence) || all.is_said(sentence))
        && is_made_of(sentence, &[&DONE, &ALL, &BESIDE])
}

/// Whether an answer says at its beginning or end that all of the work is done, and names nothing that is left.
pub(super) fn reports_all_done(answer: &str) -> bool {
    // Few answers say it, and finding what is left takes longer.
    says_all_done_at_end(answer, 1) && all_done(answer, &left_in(answer), 1)
}

/// The same of an answer that names what is `left`. If it counts the tasks, it counts at least `fewest`: a part of the plan
/// may be done, too.
fn all_done(answer: &str, left: &[&str], fewest: usize) -> bool {
    left.iter().all(|one| says_all_done(without_marker(one))) && says_all_done_at_end(answer, fewest)
}

/// Whether the first or last sentences of an answer say that all of the work is done. If they count the tasks, they count
/// at least `fewest`.
fn says_all_done_at_end(answer: &str, fewest: usize) -> bool {
    let all: Vec<&str> = prose(answer).flat_map(|line| sentences(without_marker(line))).collect();
    let mut ends = all.iter().take(ENDS).chain(all.iter().rev().take(ENDS));
    ends.any(|one| says_all_done(&without_count(&without_bold(one), fewest)))
}

/// A sentence without the number of all tasks, if it is at least `fewest`: `All 13 tasks are done`.
fn without_count(sentence: &str, fewest: usize) -> Cow<'_, str> {
    let is_count = |word: &&str| word.len() <= MOST_DIGITS && word.parse().is_ok_and(|count: usize| count >= fewest);
    match sentence.split_whitespace().find(is_count) {
        Some(count) => Cow::Owned(sentence.replacen(&format!("{count} "), "", 1)),
        None => Cow::Borrowed(sentence),
    }
}

/// Whether a sentence begins with words with which a model gives up.
pub(crate) fn gives_up(sentence: &str) -> bool {
    GIVEN_UP.begins(sentence)
}

/// Whether a sentence begins a thought of the model and not an outcome: `The user wants a menu`.
pub(super) fn narrates(sentence: &str) -> bool {
    NARRATING.begins(sentence)
}

/// The items of the first list of finished work in an answer.
pub(crate) fn finished_list(answer: &str) -> Vec<&str> {
    let (mut items, mut is_titled) = (Vec::new(), false);
    let is_ticked = |item: &&str| ends_with_tick(item);
    for line in prose(answer).filter(|line| !line.trim().is_empty()).chain(["."]) {
        let text = without_marker(line).trim();
        if is_list_item(line) && text.len() < line.trim().len() {
            if items.len() < MOST_TOLD {
                items.push(text);
            }
            continue;
        }
        if is_titled && !items.is_empty() || items.len() > 1 && items.iter().all(is_ticked) {
            return items;
        }
        items.clear();
        is_titled = is_title_of_done(line, text);
    }
    Vec::new()
}

/// Whether a message of the model is only a call as a screen shows it: `reviewer(Check the menu)`.
pub(super) fn is_call(message: &str) -> bool {
    let Some((name, rest)) = message.trim().split_once('(') else { return false };
    let Some((inside, model)) = rest.rsplit_once(')') else { return false };
    let is_name = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    !name.is_empty()
        && name.chars().all(is_name)
        && inside.starts_with(char::is_uppercase)
        && inside.contains(' ')
        && !inside.contains(['\n', ',', '=', '"', '\'', '('])
        && model.split_whitespace().count() <= WORDS_OF_MODEL
        && !model.contains('\n')
}

/// Whether a line is the title of a list of finished work.
pub(super) fn is_title_of_done(line: &str, text: &str) -> bool {
    let bare = text.trim_matches(|one: char| !one.is_alphanumeric());
    let is_marked = line.trim_start().starts_with(['#', '*']) || line.trim_end().ends_with([':', '\u{ff1a}', '*']);
    is_marked
        && utf16_len(bare) <= LONGEST_TITLE
        && !is_qualified(bare)
        && (TITLES.begins(bare)
            || DONE.begins(bare) && !bare.ends_with(['.', '!']) && (!AMBIGUOUS.begins(bare) || only_says_done(bare)))
}

fn ends_with_tick(text: &str) -> bool {
    text.trim_end().trim_end_matches(IN_COLOUR).ends_with(TICKS)
}

/// Whether a text has only words of these lists, and marks.
fn is_made_of(text: &str, lists: &[&WordList<'_>]) -> bool {
    if text.ends_with(['?', '\u{ff1f}']) {
        return false;
    }
    let mut words = normalised(text);
    let mut pieces: Vec<&str> = lists.iter().flat_map(|list| list.pieces).copied().collect();
    pieces.sort_by_key(|piece| std::cmp::Reverse(piece.len()));
    if has_piece(text, &pieces) {
        pieces.iter().for_each(|piece| words = words.replace(piece, " "));
    }
    words.split_whitespace().all(|word| lists.iter().any(|list| list.has(word)))
}

/// Whether a text only says something under a condition, or of a part, or denies it.
pub(super) fn is_qualified(text: &str) -> bool {
    text.ends_with(['?', '\u{ff1f}']) || NOT_YET.is_said(text) || is_conditional(text)
}

impl LatestPlan {
    /// Marks the open tasks that an answer reports as done. `is_final` says that the answer ends its turn. Returns their
    /// texts.
    pub(super) fn read_reports(&mut self, answer: &str, is_final: bool) -> Vec<String> {
        let is_open = |item: &PlanItem| matches!(item.status, PlanStatus::Pending | PlanStatus::InProgress);
        if !self.items.iter().any(is_open) {
            return Vec::new();
        }
        let mut closed = self.named_done(answer);
        closed.iter_mut().zip(&self.items).for_each(|(is_closed, item)| *is_closed &= is_open(item));
        if is_final {
            let open: Vec<usize> = (0..closed.len()).filter(|at| is_open(&self.items[*at]) && !closed[*at]).collect();
            for at in self.told_done(&open, answer) {
                closed[at] = true;
            }
        }
        let done = self.items.iter_mut().zip(&closed).filter(|(_, is_closed)| **is_closed);
        let texts = done.map(|(item, _)| {
            item.status = PlanStatus::Completed;
            item.text.clone()
        });
        let texts: Vec<String> = texts.collect();
        if closed.contains(&true) && self.in_state(PlanStatus::InProgress).next().is_none() {
            let lower = answer.to_lowercase();
            let is_next = |item: &&mut PlanItem| {
                let labels = labels(item);
                item.status == PlanStatus::Pending
                    && labels.iter().any(|label| places_of(&lower, label).next().is_some())
            };
            // `R1 done. Now R2` begins the next task.
            if let Some(next) = self.items.iter_mut().find(is_next).filter(|_| !is_final) {
                next.status = PlanStatus::InProgress;
            }
        }
        texts
    }

    /// Opens the tasks with these texts again.
    pub(super) fn reopen(&mut self, texts: &[String]) {
        for item in self.items.iter_mut().filter(|item| texts.contains(&item.text)) {
            item.status = PlanStatus::Pending;
        }
    }

    /// Those of the `open` tasks that a final answer reports as done: all of them if it says so and names no remaining
    /// work, or those in its list of finished work, unless it names them as remaining, too.
    fn told_done(&self, open: &[usize], answer: &str) -> Vec<usize> {
        let left = left_in(answer);
        if all_done(answer, &left, self.items.len()) {
            return open.to_vec();
        }
        let remains: HashSet<String> = stems(&left.join("\n")).into_iter().collect();
        let tasks: Vec<(usize, Vec<String>)> = open.iter().map(|at| (*at, stems(&self.items[*at].text))).collect();
        let is_left = |stems: &[String]| stems.iter().filter(|stem| remains.contains(*stem)).count() >= FEWEST_SHARED;
        let items: Vec<&str> = left.iter().filter(|one| is_list_item(one)).map(|one| without_marker(one)).collect();
        let is_item = |at: usize| items.iter().any(|item| is_same_name(&self.items[at].text, item));
        let tasks: Vec<(usize, bool, Vec<String>)> =
            tasks.into_iter().filter(|(at, _)| !is_item(*at)).map(|(at, stems)| (at, is_left(&stems), stems)).collect();
        let told = finished_list(answer);
        told.iter().filter_map(|told| self.task_of(told, &tasks)).collect()
    }

    /// The one of some tasks that an item of finished work is about: it begins with the same name, or else shares most
    /// words with it. `None` if it may be about several. Of each task, it is known whether its words are among those of
    /// what is left, and the stems of its words.
    fn task_of(&self, told: &str, tasks: &[(usize, bool, Vec<String>)]) -> Option<usize> {
        let other = stems(told);
        let likeness = |(at, is_left, own): &(usize, bool, Vec<String>)| {
            let shared = own.iter().filter(|stem| other.contains(stem)).count();
            let is_same = is_same_name(&self.items[*at].text, told);
            let is_alike = is_same || !is_left && shared >= FEWEST_SHARED && shared * 2 >= own.len();
            is_alike.then_some(((is_same, shared), *at))
        };
        let mut alike: Vec<((bool, usize), usize)> = tasks.iter().filter_map(likeness).collect();
        alike.sort_unstable();
        let (best, at) = alike.pop()?;
        alike.last().is_none_or(|(next, _)| *next < best).then_some(at)
    }

    /// For each task, whether an answer says that it is done: `R1 done.`, `Task 3 is finished`, `| R1 | done |`. What the
    /// answer lists as left does not count, nor a label that several tasks have.
    fn named_done(&self, answer: &str) -> Vec<bool> {
        let mut all: Vec<Vec<String>> = self.items.iter().map(labels).collect();
        let mut counts: HashMap<String, usize> = HashMap::new();
        all.iter().flatten().for_each(|label| *counts.entry(label.clone()).or_default() += 1);
        let lower = answer.to_lowercase();
        // Most answers name none of them.
        let is_near = |label: &String| counts[label] == 1 && lower.contains(label.trim_start_matches('#'));
        all.iter_mut().for_each(|labels| labels.retain(is_near));
        let mut closed = vec![false; all.len()];
        if all.iter().all(Vec::is_empty) {
            return closed;
        }
        let mut is_left = false;
        for line in prose(&lower) {
            let text = without_marker(line);
            is_left = is_title(line, text) || is_left && !is_title_of_done(line, text);
            if is_left {
                continue;
            }
            let marks = if line.trim_start().starts_with('|') { &[][..] } else { &CLAUSES[..] };
            for clause in line.split(marks) {
                for (is_closed, labels) in closed.iter_mut().zip(&all) {
                    *is_closed |= labels.iter().any(|label| says_done(clause, label));
                }
            }
        }
        closed
    }
}

/// Whether an answer lists what was done and what is left. It then replaces an older list of tasks.
pub(crate) fn is_status_report(answer: &str) -> bool {
    !finished_list(answer).is_empty() && !left_in(answer).is_empty()
}

/// What an answer names as remaining: sentences and lists about it, and all that is below the title of such a list.
fn left_in(answer: &str) -> Vec<&str> {
    let mut is_left = false;
    let below = answer.lines().filter(|line| {
        let text = without_marker(line);
        is_left = is_title(line, text) || is_left && !is_title_of_done(line, text);
        is_left
    });
    explicit_steps(answer).into_iter().chain(below).collect()
}

/// Whether two texts begin with the same name of a file.
fn is_same_name(one: &str, other: &str) -> bool {
    let is_name = |word: &&str| word.len() >= SHORTEST_NAME && word.contains(['.', '_', '/', '\\']);
    let first = |text: &'_ str| {
        let word = text.split_whitespace().next()?.trim_matches(|one: char| !one.is_alphanumeric());
        Some(word).filter(is_name).map(str::to_lowercase)
    };
    first(one).is_some_and(|name| first(other).is_some_and(|other| other == name))
}

/// The names by which an answer may call a task, in lower case: the label or the number at its beginning, and its number
/// in the list of tasks.
fn labels(item: &PlanItem) -> Vec<String> {
    let mut words = item.text.split(|one: char| one.is_whitespace() || MARKS.contains(&one));
    let mut bare = || words.next().unwrap_or_default().trim_matches(|one: char| !one.is_alphanumeric()).to_lowercase();
    let (first, second) = (bare(), bare());
    let has = |is: fn(char) -> bool| first.contains(is);
    let is_label = first.len() <= LONGEST_LABEL && has(|one| one.is_ascii_digit()) && has(|one| one.is_alphabetic());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let part = ((PARTS.has(&first) || NUMBERED.has(&first)) && is_number(&second)).then(|| format!("{first} {second}"));
    let number = item.id.as_deref().filter(|id| is_number(id));
    is_label.then_some(first).into_iter().chain(part).chain(number.map(|id| format!("#{id}"))).collect()
}

/// Where `text`, in lower case, has a label as a word of its own.
fn places_of<'t>(text: &'t str, label: &'t str) -> impl Iterator<Item = usize> + 't {
    let is_of_word = |one: char| one.is_ascii_alphanumeric();
    text.match_indices(label).map(|(at, _)| at).filter(move |at| {
        !text[..*at].ends_with(is_of_word)
            && !text[at + label.len()..].starts_with(|one: char| is_of_word(one) || one == '-')
    })
}

/// Whether a clause in lower case says that the work with a label is done.
fn says_done(clause: &str, label: &str) -> bool {
    let place = match label.strip_prefix('#') {
        None => places_of(clause, label).next().map(|at| (at, label.len())),
        // A number in the list of tasks stands behind a word for a task. An issue also has a number.
        Some(number) => {
            let is_numbered = |at: &usize| {
                let before = clause[..*at].trim_end_matches(['#', ' ']);
                before.split_whitespace().next_back().is_some_and(|word| NUMBERED.has(word))
            };
            places_of(clause, number).find(is_numbered).map(|at| (at, number.len()))
        }
    };
    let Some((at, length)) = place.filter(|_| !is_qualified(clause)) else { return false };
    let before = clause[..at].trim_start_matches(['-', '*', '|', ' ', '>', '#']);
    let is_beside = |word: &str| NUMBERED.has(word) || BESIDE.has(word);
    let is_done = |text: &str| text.starts_with(TICKS) || DONE.begins(text) && !AMBIGUOUS.begins(text);
    let is_begun = before.trim().is_empty() || normalised(before).split_whitespace().all(is_beside);
    let says = |part: &str| {
        let bare = part.trim();
        !bare.is_empty() && (bare.chars().all(|one| TICKS.contains(&one) || one == IN_COLOUR) || only_says_done(bare))
    };
    let behind = without_bold(&one_line(&clause[at + length..])).replace(" - ", " \u{2014} ");
    let of_label = behind.split(MARKS).next().unwrap_or_default();
    is_begun && (behind.split(MARKS).any(says) || ends_with_tick(&behind))
        || is_done(before)
            && first_words(before, 3).split_whitespace().count() < 3
            && normalised(of_label).split_whitespace().all(is_beside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(tasks: &[&str]) -> LatestPlan {
        let item = |(at, text): (usize, &&str)| PlanItem {
            id: Some((at + 1).to_string()),
            text: (*text).to_owned(),
            status: PlanStatus::Pending,
            is_stated: true,
        };
        LatestPlan { items: tasks.iter().enumerate().map(item).collect(), position: 1 }
    }

    /// The numbers of the tasks that an answer closes.
    fn closed(tasks: &[&str], answer: &str, is_final: bool) -> Vec<usize> {
        let mut plan = plan(tasks);
        plan.read_reports(answer, is_final);
        let done = plan.items.iter().zip(1..).filter(|(item, _)| item.status == PlanStatus::Completed);
        done.map(|(_, number)| number).collect()
    }

    #[test]
    fn a_task_is_done_when_an_answer_says_so_by_its_label() {
        let tasks = ["R1 read the menu", "R2: print the menu", "R3 write the manual"];
        for (answer, expected) in [
            ("R1 done. Now R2: print the prices", &[1][..]),
            ("R1 is done, R2 comes next", &[1]),
            ("Task 2 is finished.", &[2]),
            ("Task #3 completed", &[3]),
            ("\u{2705} R1 \u{2014} the menu is read\n- R2 print the menu \u{2705}", &[1, 2]),
            ("| Task | State |\n|---|---|\n| R1 | done |\n| R2 | open |", &[1]),
            ("Done: R3", &[3]),
            ("R2 ist fertig. Jetzt R3", &[2]),
            ("R2 terminé, je passe à R3", &[2]),
            ("R1 готово, теперь R2", &[1]),
            ("R1 已完成，接着做 R2", &[1]),
            ("R1完了。次はR2", &[1]),
            ("R1 is not done yet", &[]),
            ("When R1 is done, I go on with R2", &[]),
            ("R1: complete the list of the menu", &[]),
            ("R1 almost done", &[]),
            ("Is R1 done?", &[]),
            ("R2 noch nicht fertig", &[]),
            ("R1 尚未完成", &[]),
            ("R10 done", &[]),
            ("I read R1 and the others, and 1 of the tests is done", &[]),
            ("**Next steps:**\n- Complete R2: print the menu\n- R1 done by hand", &[]),
            ("Complete R2 first", &[]),
            ("完成 R2", &[]),
            ("Fixed R2's typo", &[]),
            ("Issue #3 is fixed. Closed #1", &[]),
            ("Phase 2 is done", &[]),
            ("- R2 print the menu \u{26a0}\u{fe0f}", &[]),
            ("- R2 print the menu \u{2714}\u{fe0f}", &[2]),
        ] {
            assert_eq!(closed(&tasks, answer, false), expected, "{answer}");
        }
    }

    #[test]
    fn a_label_names_one_task() {
        let tasks = ["S3 upload of the photos", "S3 download of the photos", "Phase 1: read", "Phase 2: build"];
        assert_eq!(closed(&tasks, "S3 is done.", false), [0; 0], "two tasks begin with it");
        assert_eq!(closed(&tasks, "Phase 2 is done.", false), [4]);
        let alike = [
            "Write the tests of the login page",
            "Write the tests of the logout page",
            "menu.py: read",
            "menu.py: sort",
        ];
        assert_eq!(closed(&alike, "Done:\n- tests of the login page", true), [1]);
        assert_eq!(closed(&alike, "Done:\n- tests of both pages\n- menu.py reads the prices", true), [0; 0]);
    }

    #[test]
    fn an_answer_may_report_all_tasks_as_done() {
        let tasks = ["Read the menu", "Print the menu", "Write the manual"];
        for answer in [
            "All tasks are done. 12 tests pass.",
            "**Everything is implemented.**\n\nThe menu is printed on each page.",
            "Alle Aufgaben sind erledigt.",
            "Toutes les tâches sont terminées !",
            "Todo listo.\n\n- Se imprime el menú",
            "Tudo pronto!",
            "Все задачи выполнены.",
            "全部修复完成。测试 **12 passed**。",
            "すべてのタスクが完了しました。",
            "All 3 tasks are done.",
            "Alle 5 Aufgaben sind abgeschlossen. Hier die Übersicht:",
        ] {
            assert_eq!(closed(&tasks, answer, true), [1, 2, 3], "{answer}");
            assert_eq!(closed(&tasks, answer, false), [0; 0], "it does not end the turn: {answer}");
        }
        for answer in [
            "All tests pass.",
            "All tasks of the menu are done, the manual is next.",
            "All tasks are done.\n\n**Next steps:**\n- Write the manual",
            "Not all tasks are done.",
            "All 2 tasks are done.",
            "Are all tasks done?",
            "Almost everything is done.",
            "Die ersten Aufgaben sind erledigt.",
            "全部任务尚未完成。",
            "수정했습니다.",
            "Fixed the TODO.",
            "The todos are done.",
        ] {
            assert_eq!(closed(&tasks, answer, true), [0; 0], "{answer}");
        }
    }

    #[test]
    fn a_list_of_finished_work_closes_its_tasks() {
        let tasks = [
            "Read the menu in `menu_reader.py`",
            "`printer.bat` that prints the menu",
            "Sort prices and dishes",
            "Run `printer.bat` on the phone",
        ];
        let done =
            "Feito:\n- `menu_reader.py`: o menu\n- `printer.bat` imprime o menu\n- Prices and dishes are in order\n";
        assert_eq!(closed(&tasks, done, true), [1, 2, 3], "it says nothing of the others");
        let status = format!(
            "{done}\n**Próximo passo**\n\nAbra o menu:\n```\nprinter.bat\n```\n1. Look at the dishes and prices"
        );
        assert_eq!(closed(&tasks, &status, true), [1, 2], "the prices are also in what is left");
        assert!(is_status_report(&status) && !is_status_report(done));
        assert_eq!(closed(&tasks, &status.replace("Feito:", "Nada feito:"), true), [0; 0]);
    }

    #[test]
    fn a_call_that_a_screen_shows_is_no_answer() {
        for call in ["reviewer(Review the menu again)", "Explore(Read the manual of the shop) Haiku 4.5"] {
            assert!(is_call(call), "{call}");
        }
        for answer in ["max(a, b)", "print(Menu)", "The menu (See the manual page) is done.", "sum(Read it, then stop)"]
        {
            assert!(!is_call(answer), "{answer}");
        }
    }

    #[test]
    fn a_list_of_finished_work_has_a_title_or_ticks() {
        for (answer, expected) in [
            ("Done:\n- the menu\n- the manual\n\nNext:\n- the phone", &["the menu", "the manual"][..]),
            ("## Lo que se hizo\n\n1. el menú\n2. el manual", &["el menú", "el manual"]),
            ("They exist:\n- `a/` \u{2705}\n- `b/` \u{2705}", &["`a/` \u{2705}", "`b/` \u{2705}"]),
            ("Not done:\n- the menu\n- the manual", &[]),
            ("To be done:\n- the menu", &[]),
            ("The menu has:\n- prices\n- pictures", &[]),
            ("Lista de archivos:\n- menu.py: los precios", &[]),
            ("Complete list of open points:\n- the menu", &[]),
            ("完成以下步骤：\n- the menu", &[]),
            ("The page offers:\n- \u{2705} large buttons\n- \u{2705} clear signs", &[]),
        ] {
            assert_eq!(finished_list(answer), expected, "{answer}");
        }
    }

    #[test]
    fn who_refuses_a_report_opens_its_tasks_again() {
        let mut plan = plan(&["Read the menu", "Print the menu"]);
        let closed = plan.read_reports("All tasks are done.", true);
        plan.reopen(&closed);
        assert_eq!(plan.in_state(PlanStatus::Pending).count(), 2);
    }
}
