//! The plan of the newest task list, and the next steps that an answer names.

use super::coverage::{Coverage, Sums, Target};
use super::cues::{is_sized, is_substantive};
use super::names::ending;
use super::statements::{prose, sentences, without_marker};
use super::terms::is_unspaced;
use super::text::{clip_middle, has_any, normalised, one_line, starts_with_any};
use super::{Ledger, Statement, Voice};
use crate::text::utf16_len;
use crate::tools::{Plan, PlanItem, PlanStatus};

/// Words of sentences about remaining work.
const LEFT: &[&str] = &[
    "next",
    "todo",
    "remaining",
    "remains",
    "still need",
    "still needs",
    "still to",
    "still missing",
    "still have to",
    "still fails",
    "not yet",
    "need to",
    "needs to",
    "have to",
    "left to do",
    "left to",
    "follow up",
    "should i",
    "would you like",
    "do you want",
    "shall i",
    "pending",
];
/// Beginnings of sentences that announce an action.
const ANNOUNCED: &[&str] = &["i'll", "i will", "let me", "now i'll", "now let me", "let's", "then i'll"];
/// Beginnings of the line above a list of steps.
const TITLES: &[&str] = &[
    "next",
    "todo",
    "to do",
    "remaining",
    "left to do",
    "follow up",
    "open items",
    "open points",
    "what's left",
    "still to do",
    "nächste schritte",
    "als nächstes",
    "offen",
    "offene punkte",
    "prochaines étapes",
    "prochaine étape",
    "reste à faire",
    "próximos pasos",
    "siguientes pasos",
    "pendiente",
    "pendientes",
    "próximos passos",
    "próximo passo",
    "pendente",
    "pendências",
    "falta",
    "prossimi passi",
    "da fare",
    "следующие шаги",
    "осталось",
    "дальше",
    "下一步",
    "接下来",
    "待办",
    "次のステップ",
    "次に",
    "残り",
    "残作業",
    "다음 단계",
    "남은",
];

/// Phrases that make a line with a colon at its end a title, wherever they are in it.
const PHRASES: &[&str] = &[
    "next step",
    "next steps",
    "what's next",
    "what's left",
    "what is left",
    "what remains",
    "left to do",
    "still to do",
    "remaining work",
    "remaining steps",
    "remaining tasks",
    "nächsten schritte",
    "nächster schritt",
    "prochaines étapes",
    "prochaine étape",
    "próximos pasos",
    "siguientes pasos",
    "próximos passos",
    "prossimi passi",
    "следующие шаги",
];
/// UTF-16 units of the longest title.
const LONGEST_TITLE: usize = 100;

/// The remaining work in an answer: open check boxes, lists under a line such as `Next steps:`, and
/// sentences about it.
pub(crate) fn explicit_steps(answer: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    let mut in_list = false;
    for line in prose(answer) {
        let text = without_marker(line);
        let is_item = is_list_item(line) && text.len() < line.trim().len();
        if let Some(open) = text.strip_prefix("[ ]") {
            steps.push(open.trim_start());
        } else if is_title(line, text) {
            in_list = true;
        } else if in_list && is_item {
            steps.push(text);
        } else if !text.is_empty() {
            in_list = false;
            steps.extend(sentences(line).filter(|sentence| names_work(sentence)));
        }
    }
    steps
}

/// Whether a line begins with the mark of a list, and not with that of a heading or of bold text.
fn is_list_item(line: &str) -> bool {
    let line = line.trim_start().trim_start_matches('>').trim_start();
    line.starts_with(|first: char| first.is_ascii_digit())
        || ["- ", "* ", "+ "].iter().any(|mark| line.starts_with(mark))
}

fn is_title(line: &str, text: &str) -> bool {
    let ends_with_colon = text.trim_end_matches('*').trim_end().ends_with([':', '\u{ff1a}']);
    let is_heading = line.trim_start().starts_with('#') || ends_with_colon;
    let is_bold = text.is_empty() || line.trim().starts_with("**") && line.trim().ends_with("**");
    if !is_heading && !is_bold || utf16_len(text) > LONGEST_TITLE {
        return false;
    }
    let words = normalised(line);
    // Scripts without spaces put particles right behind a title.
    let is_unspaced = |title: &&&str| title.starts_with(is_unspaced) && words.trim_start().starts_with(**title);
    starts_with_any(&words, TITLES)
        || TITLES.iter().any(|title| is_unspaced(&title))
        || ends_with_colon && has_any(&words, PHRASES)
}

fn names_work(sentence: &str) -> bool {
    let is_name = |word: &str| word.contains(['`', '/', '\\', '_']) || ending(word.trim_matches(is_mark)).is_some();
    let plain: Vec<&str> = sentence.split_whitespace().filter(|word| !is_name(word)).collect();
    let words = normalised(&plain.join(" "));
    is_sized(sentence) && has_any(&words, LEFT) && !starts_with_any(&words, ANNOUNCED) && !sentence.ends_with(':')
}

fn is_mark(character: char) -> bool {
    !character.is_alphanumeric()
}

/// Most items of a plan that are kept.
const MOST_ITEMS: usize = 60;
/// Most UTF-16 units of an item.
const LONGEST_ITEM: usize = 200;

/// Part of the terms of a task that a report about it has.
const REPORTED: f32 = 0.6;

/// The newest plan of a tool or an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LatestPlan {
    /// Its tasks, in their order.
    pub items: Vec<PlanItem>,
    /// Position of the message that gave it; 0 for none.
    pub position: u64,
}

impl LatestPlan {
    /// Takes the plan from a call.
    pub(super) fn take(&mut self, plan: &Plan, position: u64) {
        let items = plan.items.iter().map(|item| PlanItem { text: shortened(&item.text), ..item.clone() });
        if plan.merges {
            items.for_each(|item| self.merge(item));
        } else {
            self.items = items.filter(|item| !item.text.is_empty()).collect();
        }
        self.items.truncate(MOST_ITEMS);
        self.position = position;
    }

    fn merge(&mut self, item: PlanItem) {
        let known = self.items.iter_mut().find(|known| known.id.is_some() && known.id == item.id);
        match known {
            Some(known) if item.text.is_empty() => known.status = item.status,
            Some(known) => *known = item,
            None if item.text.is_empty() => {}
            None => self.items.push(item),
        }
    }

    /// Takes the list that the result of a call shows.
    pub(super) fn read_result(&mut self, text: &str, position: u64) {
        if let Some(plan) = Plan::of_result(text) {
            self.take(&plan, position);
        }
    }

    /// Takes the check boxes of an answer if it has more than one.
    pub(super) fn read_answer(&mut self, text: &str, position: u64) {
        let is_box = |line: &&str| {
            let line = line.trim_start().trim_start_matches(['-', '*', '+']).trim_start();
            ["[ ]", "[x]", "[X]"].iter().any(|mark| line.starts_with(mark))
        };
        let is_open = |at: usize| matches!(text.as_bytes().get(at..at + 3), Some(b"[ ]" | b"[x]" | b"[X]"));
        if !memchr::memchr_iter(b'[', text.as_bytes()).any(is_open) {
            return;
        }
        let boxes: Vec<&str> = prose(text).filter(is_box).collect();
        if boxes.len() > 1 {
            self.take(&Plan::of_text(&boxes.join("\n")), position);
        }
    }

    /// The tasks in a state.
    pub fn in_state(&self, status: PlanStatus) -> impl Iterator<Item = &PlanItem> {
        self.items.iter().filter(move |item| item.status == status)
    }
}

impl Ledger {
    /// The tasks in progress that were finished without an update of the plan: the model reported about them before
    /// the person went on to something else.
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
            let told: Vec<&str> = told.map(|one| one.text.as_str()).collect();
            coverage.read(&told.join("\n"));
        }
        let mut sums = Sums::default();
        let mut is_reported = |target: &Target| coverage.holds(target, REPORTED, &mut sums);
        let reported = tasks.iter().zip(&targets).filter(|(_, target)| is_reported(target));
        reported.map(|(task, _)| *task).collect()
    }
}

fn shortened(text: &str) -> String {
    clip_middle(&one_line(text), LONGEST_ITEM)
}

/// The states with their names as stored.
pub(super) const STATES: [(PlanStatus, &str); 4] = [
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
        assert_eq!(explicit_steps("Next steps:\n1. **Test** it\n**All set!**"), ["**Test** it"]);
        assert_eq!(explicit_steps("So the next steps would be:\n\n1. a b\n2. c d"), ["a b", "c d"]);
        assert_eq!(explicit_steps("次のステップは次の通り：\n\n1. 統合する\n2. 公開する"), ["統合する", "公開する"]);
        let done: [&str; 0] = [];
        assert_eq!(explicit_steps("I updated `TODO.md` as NEXT.md says."), done);
        assert_eq!(explicit_steps("The parser is done.\n\nWhat changed:\n- a\n- b"), done);
    }
}
