//! What the newest answer does or asks.

use super::Builder;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::answers::is_courtesy;
use crate::ledger::bold::without_bold;
use crate::ledger::statements::{prose, sentences, without_marker};
use crate::ledger::steps::{is_list_item, is_title};
use crate::ledger::text::one_line;
use crate::ledger::{Statement, Voice};
use crate::summary::Section;
use crate::text::utf16_len;

/// Longest sentence that may follow a question for the person, in UTF-16 units.
const LONGEST_BEHIND: usize = 80;

impl<'a> Builder<'a> {
    /// The statements of the model since the last request, newest first.
    pub(super) fn newest_of_model(&self) -> impl Iterator<Item = &'a Statement> + use<'a> {
        let asked = self.ledger.asked_at();
        let of_model = self.ledger.statements.iter().rev().filter(|statement| statement.is_of_model());
        of_model.take_while(move |statement| statement.position > asked)
    }

    /// The question at the end of the newest answer, if a person has to answer it. A short sentence may follow it, or a list
    /// of what is open.
    pub(super) fn waiting_question(&self) -> Option<&'a Statement> {
        let newest = self
            .newest_of_model()
            .next()
            .filter(|_| self.turn.is_none() && !self.goes_on && !self.ledger.is_waiting)?;
        let mut own = self.newest_of_model().take_while(|one| one.position == newest.position);
        let is_short = |one: &Statement| one.states() && utf16_len(&one.text) <= LONGEST_BEHIND;
        match own.next().filter(|last| question_in(&last.text).is_none()) {
            None => Some(newest),
            Some(last) => {
                let before =
                    own.next().filter(|one| question_in(&one.text).is_some() && is_short(last) && self.is_ending(one));
                before.or_else(|| self.question_before_list(newest.position))
            }
        }
    }

    /// The question right before a list of what is open, with which the answer at `position` ends.
    fn question_before_list(&self, position: u64) -> Option<&'a Statement> {
        let question = sentence_before_list(self.own_answer()?).filter(|one| is_question(one))?;
        let question = one_line(&without_bold(question));
        self.newest_of_model().take_while(|one| one.position == position).find(|one| one.text == question)
    }

    /// What the newest answer does or asks, while it waits for a tool or a person.
    pub(super) fn newest_answer(&mut self) {
        if let Some(turn) = self.of_turn() {
            return self.last_words_of(&turn);
        }
        if let Some(question) = self.waiting_question() {
            let asked = question_in(&question.text).unwrap_or(&question.text);
            let about = self.asked_about(asked).map(|list| format!(" (about: {list})")).unwrap_or_default();
            let item = format!("The assistant asked, and waits for an answer: {asked}{about}");
            self.pool.add(Section::NextSteps, &item, Origin::of(question.position, &question.sources), Rank::Focus);
            return;
        }
        if let Some(announced) = self.announced() {
            let origin = Origin::at(self.ledger.newest_answer.position);
            self.pool.add(Section::NextSteps, &announced, origin, Rank::Focus);
            return;
        }
        if let Some(next) = self.promised() {
            let origin = Origin::at(self.ledger.newest_answer.position);
            self.pool.add(Section::NextSteps, &next, origin, Rank::Focus);
            if self.is_finished() {
                return;
            }
        }
        let is_begun = |one: &Statement| self.is_open() || one.voice == Voice::Announcement;
        if self.tells_state && self.newest_of_model().next().is_some_and(is_begun) {
            let Some((words, origin)) = self.last_words() else { return };
            let item = format!("{}: {words}", self.said_last());
            self.pool.add(Section::InProgress, &item, origin, Rank::Focus);
        }
    }
}

/// The last sentence before the list with which an answer ends, if its title says that it lists what is open.
fn sentence_before_list(answer: &str) -> Option<&str> {
    let lines: Vec<&str> = prose(answer).filter(|line| line.contains(char::is_alphanumeric)).collect();
    let items = lines.iter().rev().take_while(|line| is_list_item(line)).count();
    let [before @ .., title] = &lines[..lines.len() - items] else { return None };
    let is_open = items > 0 && is_title(title, without_marker(title));
    sentences(before.last()?).last().filter(|_| is_open)
}

pub(super) fn is_question(text: &str) -> bool {
    (text.ends_with(['?', '\u{ff1f}']) || text.starts_with('\u{bf}')) && !is_courtesy(text)
}

/// The question of a statement. A mark of bold text may join a short sentence to it.
fn question_in(text: &str) -> Option<&str> {
    let joined = || {
        let (asked, behind) = text.rsplit_once("? ")?;
        (utf16_len(behind) <= LONGEST_BEHIND).then(|| &text[..asked.len() + 1])
    };
    if is_question(text) { Some(text) } else { joined() }
}

#[cfg(test)]
mod tests {
    use super::sentence_before_list;

    #[test]
    fn a_question_may_stand_before_the_list_of_what_is_open() {
        for (answer, expected) in [
            ("Done. Shall the log stay?\n\nStill open:\n- the key\n- the page", Some("Shall the log stay?")),
            ("Fertig. Soll das Log bleiben?\n\n## Offen\n- der Schlüssel", Some("Soll das Log bleiben?")),
            ("已完成。要保留日志吗？\n\n未完项：\n- 密钥", Some("要保留日志吗？")),
            ("Shall the log stay?\n\nThe files:\n- a.rs\n- b.rs", None),
            ("Shall the log stay?\n\nStill open: the key", None),
        ] {
            assert_eq!(sentence_before_list(answer), expected, "{answer}");
        }
    }
}
