//! What was only proposed or argued. A plan that waits for approval is not work in progress, and an argument in a
//! closed discussion is not a step.

use super::Builder;
use super::next_steps::LONGEST_EARLIER;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::choices::stems;
use crate::ledger::cues::is_substantive;
use crate::ledger::notes::{OFFERED, PROPOSED};
use crate::ledger::proposals::is_proposal;
use crate::ledger::steps::names_work;
use crate::ledger::terms::is_unspaced;
use crate::ledger::text::clip;
use crate::ledger::{Note, NoteKind, Voice};
use crate::summary::{Section, SummaryKind};
use crate::tools::PlanStatus;

/// Fewest words that a request shares with a step that it continues.
const FEWEST_SHARED: usize = 2;
/// Shortest word that is compared, in letters. Shorter ones are in every sentence.
const FEWEST_LETTERS: usize = 5;
/// Fewest steps of an answer that presents a plan.
const FEWEST_OF_PLAN: usize = 3;

impl Builder<'_> {
    /// Whether the newest answer proposes a plan, and nothing was changed for its request.
    pub(super) fn is_proposing(&self) -> bool {
        let ledger = self.ledger;
        let asked_at = ledger.asked_at();
        let is_complete = ledger.answered == ledger.newest_answer.position && !ledger.is_waiting;
        let is_last = self.kind != SummaryKind::TurnPrefix && self.turn.is_none() && !self.goes_on;
        let answer = self.own_answer().filter(|_| is_last && is_complete && ledger.changed_at() <= asked_at);
        answer.is_some_and(is_proposal)
    }

    /// Whether a step belongs to the plan that the newest answer proposes.
    pub(super) fn is_proposed(&self, step: &Note) -> bool {
        step.position == self.ledger.newest_answer.position && !step.text.starts_with(OFFERED)
    }

    /// Adds the plan that waits for approval, with the tasks that were written for it, as one step.
    pub(super) fn proposed_plan(&mut self) {
        // The question about it is a step of its own.
        if self.waiting_question().is_some() {
            return;
        }
        let plan = &self.ledger.plan;
        let tasks: Vec<&str> = match plan.position > self.ledger.asked_at() {
            true => plan.in_state(PlanStatus::Pending).map(|task| task.text.as_str()).collect(),
            // An answer that reports and waits names its next work. A plan has more steps.
            false => {
                let position = self.ledger.newest_answer.position;
                let steps = self.ledger.notes_of(NoteKind::Step).filter(|step| step.position == position);
                let steps: Vec<&str> = steps.map(|step| step.text.as_str()).collect();
                if steps.len() < FEWEST_OF_PLAN { steps } else { Vec::new() }
            }
        };
        let item = match tasks.is_empty() {
            true => PROPOSED.to_owned(),
            false => format!("{PROPOSED}: {}", clip(&tasks.join("; "), LONGEST_EARLIER)),
        };
        self.pool.add(Section::NextSteps, &item, Origin::at(self.ledger.newest_answer.position), Rank::Focus);
    }

    /// Whether a step is an argument in a closed discussion: a sentence of an answer that did nothing, after which the
    /// person asked for other work.
    pub(super) fn is_argument(&self, step: &Note) -> bool {
        let ledger = self.ledger;
        let next = ledger.requests.partition_point(|request| request.position <= step.position);
        let asked_at = next.checked_sub(1).map_or(0, |at| ledger.requests[at].position);
        // An answer to an order may name work that the person comes back to.
        let is_discussed = next.checked_sub(1).is_some_and(|at| ledger.requests[at].text.contains(['?', '\u{ff1f}']));
        let of_turn = self.turn_request.filter(|turn| is_substantive(turn));
        let later = ledger.requests[next..].iter().filter(|request| request.asks_for_work());
        let mut later = later.map(|request| request.text.as_str()).chain(of_turn).peekable();
        if step.position == 0
            || !is_discussed
            || later.peek().is_none()
            || !names_work(&step.text)
            || step.text.contains(is_unspaced)
        {
            return false;
        }
        let within = |position: u64| asked_at < position && position <= step.position;
        let is_deed = |voice: Voice| matches!(voice, Voice::Action | Voice::Milestone);
        let has_acted = ledger.files.iter().any(|file| within(file.changed_at))
            || ledger.statements.iter().any(|one| within(one.position) && is_deed(one.voice));
        let mut own = stems(&step.text);
        own.retain(|stem| stem.chars().count() >= FEWEST_LETTERS);
        let is_taken_up = |request: &str| {
            let request = stems(request);
            own.iter().filter(|stem| request.contains(stem)).count() >= FEWEST_SHARED
        };
        !has_acted && !later.any(is_taken_up)
    }
}
