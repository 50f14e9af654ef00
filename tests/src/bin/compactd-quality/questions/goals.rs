//! What must be reached.

use compaction_core::text::utf16_len;

use super::report::groups;
use super::{Answers, AtSize, Outcome};

/// Percent of the answers of clipped talk that one pass has to give, by UTF-16 units.
const LEAST_TO_CLIPPED_TALK: [(usize, usize); 3] = [(24_000, 105), (12_000, 110), (6_000, 100)];
/// How many answers of one pass are lost at most, by passes.
const MOST_LOST: [(usize, usize); 2] = [(4, 2), (8, 4)];
/// How many answers of a model's summary are lost at its length, by session.
const MOST_LOST_TO_MODEL: usize = 1;
/// Percent of a summary that are names and deeds at most.
const MOST_NAMES_AND_DEEDS: f64 = 25.0;
/// Percent of a model's summary that are added to it as facts at most.
const MOST_ADDED: f64 = 10.0;
/// Bytes of a stored ledger at most.
const MOST_LEDGER_BYTES: usize = 24 << 10;

/// A goal, and what came of it.
pub(super) struct Goal {
    pub(super) name: String,
    pub(super) measured: String,
    pub(super) bound: String,
    pub(super) is_reached: bool,
}

/// Checks everything that was measured, each set of questions for itself.
pub(super) fn check(outcomes: &[Outcome<'_>]) -> Vec<Goal> {
    let mut goals = Vec::new();
    for (name, group) in groups(outcomes) {
        let sizes = group.first().map_or(0, |outcome| outcome.sizes.len());
        for size in 0..sizes {
            let at_size: Vec<&AtSize> = group.iter().map(|outcome| &outcome.sizes[size]).collect();
            goals.extend(against_clipped_talk(&name, &at_size));
            goals
                .extend(MOST_LOST.iter().filter_map(|&(passes, lost)| against_one_pass(&name, &at_size, passes, lost)));
        }
    }
    goals.extend(outcomes.iter().flat_map(against_model));
    goals.extend(summaries(outcomes));
    goals
}

fn at_least(name: String, measured: usize, bound: usize) -> Goal {
    Goal { name, measured: measured.to_string(), bound: format!("at least {bound}"), is_reached: measured >= bound }
}

/// What our summaries answer within their size; `None` where so many passes were not measured.
fn ours(at_size: &[&AtSize], passes: usize) -> Option<usize> {
    let count = |at_size: &&AtSize| Some(at_size.ours.iter().find(|ours| ours.passes == passes)?.within_size.count());
    at_size.iter().map(count).sum()
}

fn against_clipped_talk(group: &str, at_size: &[&AtSize]) -> Option<Goal> {
    let units = at_size.first()?.units;
    let (_, percent) = LEAST_TO_CLIPPED_TALK.iter().find(|(size, _)| *size == units)?;
    let talk: usize = at_size.iter().map(|at_size| at_size.clipped_talk.count()).sum();
    let bound = (talk * percent).div_ceil(100);
    Some(at_least(format!("{group}, {units} units: 1 pass, {percent} % of clipped talk"), ours(at_size, 1)?, bound))
}

fn against_one_pass(group: &str, at_size: &[&AtSize], passes: usize, lost: usize) -> Option<Goal> {
    let units = at_size.first()?.units;
    let bound = ours(at_size, 1)?.saturating_sub(lost);
    Some(at_least(format!("{group}, {units} units: {passes} passes, 1 pass - {lost}"), ours(at_size, passes)?, bound))
}

fn against_model(outcome: &Outcome<'_>) -> Vec<Goal> {
    let Some(model) = &outcome.model else { return Vec::new() };
    let (subject, units) = (outcome.subject, model.texts.units);
    let name = format!("{}, {}, {units} units", subject.name, subject.set);
    let count: Option<usize> = ours(&[&model.texts], 1);
    let bound = Answers::count(&model.answers).saturating_sub(MOST_LOST_TO_MODEL);
    let mut goals: Vec<Goal> = count
        .map(|count| at_least(format!("{name}: 1 pass, model - {MOST_LOST_TO_MODEL}"), count, bound))
        .into_iter()
        .collect();
    if let Ok(repaired) = &model.repaired {
        let added = 100.0 * repaired.tokens as f64 / compaction_core::tokens::estimate_text(&model.summary.text) as f64;
        goals.push(at_most(format!("{name}: facts added, % of the model's tokens"), added, MOST_ADDED));
    }
    goals
}

fn at_most(name: String, measured: f64, bound: f64) -> Goal {
    let is_reached = measured <= bound;
    Goal { name, measured: format!("{measured:.0}"), bound: format!("at most {bound:.0}"), is_reached }
}

/// The worst summary by size, by names and deeds, and by its ledger.
fn summaries(outcomes: &[Outcome<'_>]) -> Vec<Goal> {
    let summaries = || {
        let sizes = outcomes.iter().flat_map(|outcome| &outcome.sizes);
        sizes.flat_map(|at_size| at_size.ours.iter().map(|ours| (at_size.units, ours)))
    };
    let worst = |figure: &mut dyn Iterator<Item = f64>| figure.fold(0.0, f64::max);
    let size = worst(&mut summaries().map(|(units, ours)| 100.0 * utf16_len(ours.last()) as f64 / units as f64));
    let names = worst(&mut summaries().map(|(_, ours)| ours.percent_of_names_and_deeds()));
    let ledgers = summaries().flat_map(|(_, ours)| &ours.stored).map(|compacted| compacted.ledger_bytes as f64);
    let ledger = worst(&mut { ledgers });
    vec![
        at_most("largest summary, % of the units asked".into(), size, 100.0),
        at_most("most names and deeds, % of a summary".into(), names, MOST_NAMES_AND_DEEDS),
        at_most("largest ledger, bytes".into(), ledger, MOST_LEDGER_BYTES as f64),
    ]
}
