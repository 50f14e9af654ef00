//! The tables.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::time::Duration;

use compaction_core::text::utf16_len;

use super::goals::Goal;
use super::summary::{names_and_deeds, repair_tokens};
use super::{Answers, AtModelLength, AtSize, Ours, Outcome};

/// A column of answers: how many at most, and how many of them within the size.
#[derive(Debug, Default, Clone, Copy)]
struct Cell {
    answered: usize,
    within_size: usize,
}

/// Writes all tables; with `is_listing` the questions that were not answered as well.
pub(super) fn write(outcomes: &[Outcome<'_>], is_listing: bool, out: &mut impl Write) -> io::Result<()> {
    let sizes = outcomes.first().map_or(0, |outcome| outcome.sizes.len());
    writeln!(out, "Questions answered. In brackets: by the first units alone, where a summary is larger than asked.")?;
    for size in 0..sizes {
        write_size(outcomes, size, out)?;
    }
    write_models(outcomes, out)?;
    write_summaries(outcomes, out)?;
    if is_listing {
        for size in 0..sizes {
            write_missed(outcomes, size, out)?;
        }
    }
    Ok(())
}

/// Writes the goals, and whether they are reached.
pub(super) fn write_goals(goals: &[Goal], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n| goal | measured | bound | reached |\n|---|---|---|---|")?;
    for Goal { name, measured, bound, is_reached } in goals {
        writeln!(out, "| {name} | {measured} | {bound} | {} |", if *is_reached { "yes" } else { "NO" })?;
    }
    let all = goals.iter().all(|goal| goal.is_reached);
    writeln!(out, "\nall goals of the questions are reached: {}", if all { "yes" } else { "NO" })
}

fn passes_names(at_size: &AtSize) -> Vec<String> {
    at_size
        .ours
        .iter()
        .map(|ours| if ours.passes == 1 { "1 pass".into() } else { format!("{} passes", ours.passes) })
        .collect()
}

fn write_size(outcomes: &[Outcome<'_>], size: usize, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = outcomes.first().map(|outcome| &outcome.sizes[size]) else { return Ok(()) };
    let columns =
        [passes_names(first), vec!["clipped talk".into(), "tail".into(), "model (its units)".into()]].concat();
    let columns = columns.join(" | ");
    let rule = "---|".repeat(first.ours.len() + 6);
    writeln!(out, "\n{} units:\n\n| session | cut | questions | {columns} |\n|{rule}", first.units)?;
    for outcome in outcomes {
        let cells = cells(&outcome.sizes[size]).map(|cell| cell.to_string()).collect::<Vec<_>>().join(" | ");
        let model = outcome
            .model
            .as_ref()
            .map_or("–".to_owned(), |model| format!("{} ({})", model.answers.count(), model.texts.units));
        let subject = outcome.subject;
        let (name, set, cut, questions) = (&subject.name, subject.set, subject.cut, subject.questions.len());
        writeln!(out, "| {name}, {set} | {cut} | {questions} | {cells} | {model} |")?;
    }
    for (name, group) in groups(outcomes) {
        let questions: usize = group.iter().map(|outcome| outcome.subject.questions.len()).sum();
        let mut sums = vec![Cell::default(); first.ours.len() + 2];
        for outcome in group {
            for (sum, cell) in sums.iter_mut().zip(cells(&outcome.sizes[size])) {
                sum.answered += cell.answered;
                sum.within_size += cell.within_size;
            }
        }
        let sums = sums.iter().map(Cell::to_string).collect::<Vec<_>>().join(" | ");
        writeln!(out, "| **{name}** | | {questions} | {sums} | |")?;
    }
    Ok(())
}

/// The outcomes of each set of questions, and all of them where there are several sets.
pub(super) fn groups<'a, 'b>(outcomes: &'b [Outcome<'a>]) -> Vec<(String, Vec<&'b Outcome<'a>>)> {
    let sets: BTreeSet<&str> = outcomes.iter().map(|outcome| outcome.subject.set).collect();
    let of_set = |set: &&str| {
        let outcomes = outcomes.iter().filter(|outcome| outcome.subject.set == *set).collect();
        (format!("all {set}"), outcomes)
    };
    let mut groups: Vec<_> = sets.iter().map(of_set).collect();
    if sets.len() > 1 {
        groups.push(("all".into(), outcomes.iter().collect()));
    }
    groups
}

fn cells(at_size: &AtSize) -> impl Iterator<Item = Cell> {
    let fixed = |answers: &Answers| Cell { answered: answers.count(), within_size: answers.count() };
    let ours = |ours: &Ours| Cell { answered: ours.answers.count(), within_size: ours.within_size.count() };
    at_size.ours.iter().map(ours).chain([fixed(&at_size.clipped_talk), fixed(&at_size.tail)])
}

impl std::fmt::Display for Cell {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { answered, within_size } = self;
        if answered == within_size {
            write!(formatter, "{answered}")
        } else {
            write!(formatter, "{answered} ({within_size})")
        }
    }
}

fn write_models(outcomes: &[Outcome<'_>], out: &mut impl Write) -> io::Result<()> {
    let mut models = outcomes.iter().filter_map(|outcome| Some((outcome, outcome.model.as_ref()?))).peekable();
    if models.peek().is_none() {
        return Ok(());
    }
    writeln!(out, "\nAt the length of what a model wrote:\n")?;
    writeln!(
        out,
        "| session | written at | cut | units | questions | model | 1 pass | clipped talk | tail | model, stored | facts added, tokens |\n|---|---|---|---|---|---|---|---|---|---|---|"
    )?;
    for (outcome, model) in models {
        let AtModelLength { summary, answers, texts, repaired } = model;
        let subject = outcome.subject;
        let cells = cells(texts).map(|cell| cell.to_string()).collect::<Vec<_>>().join(" | ");
        let repaired = match repaired {
            Ok(repaired) => format!("{} | {}", repaired.answers.count(), repaired.tokens),
            Err(error) => format!("refused: {error:#} | –"),
        };
        writeln!(
            out,
            "| {}, {} | {} | {} | {} | {} | {} | {cells} | {repaired} |",
            subject.name,
            subject.set,
            summary.at,
            subject.cut,
            texts.units,
            subject.questions.len(),
            answers.count(),
        )?;
    }
    Ok(())
}

/// What a summary, or several together, came to.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    asked: usize,
    units: usize,
    bytes: usize,
    /// UTF-16 units without the blocks of files, and those of them that are names and deeds.
    text: usize,
    names_and_deeds: usize,
    added_tokens: u64,
    ledger_bytes: usize,
    entry_bytes: usize,
    longest: Duration,
}

impl Figures {
    fn of(asked: usize, ours: &Ours) -> Self {
        let summary = ours.last();
        let (text, names_and_deeds) = names_and_deeds(summary);
        let last = ours.stored.last();
        Self {
            asked,
            units: utf16_len(summary),
            bytes: summary.len(),
            text,
            names_and_deeds,
            added_tokens: repair_tokens(summary),
            ledger_bytes: last.map_or(0, |compacted| compacted.ledger_bytes),
            entry_bytes: last.map_or(0, |compacted| compacted.entry_bytes),
            longest: ours.stored.iter().map(|compacted| compacted.elapsed).max().unwrap_or_default(),
        }
    }

    /// Adds up, but for the time, of which the longest stays.
    fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.units += other.units;
        self.bytes += other.bytes;
        self.text += other.text;
        self.names_and_deeds += other.names_and_deeds;
        self.added_tokens += other.added_tokens;
        self.ledger_bytes += other.ledger_bytes;
        self.entry_bytes += other.entry_bytes;
        self.longest = self.longest.max(other.longest);
    }
}

/// The sizes of the summaries, and what they are made of.
fn write_summaries(outcomes: &[Outcome<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\nWhat was stored after the last pass; the time is that of the slowest pass:\n")?;
    let columns = "session | asked units | passes | units | of asked | bytes | names and deeds | facts added, tokens | ledger bytes | entry bytes | ms";
    writeln!(out, "| {columns} |\n|{}", "---|".repeat(columns.split('|').count()))?;
    let mut sums: Vec<(usize, usize, Figures)> = Vec::new();
    for outcome in outcomes {
        let name = format!("{}, {}", outcome.subject.name, outcome.subject.set);
        for at_size in &outcome.sizes {
            for ours in &at_size.ours {
                let figures = Figures::of(at_size.units, ours);
                write_figures(&name, at_size.units, ours.passes, &figures, out)?;
                let key = |sum: &&mut (usize, usize, Figures)| (sum.0, sum.1) == (at_size.units, ours.passes);
                match sums.iter_mut().find(key) {
                    Some((_, _, sum)) => sum.add(&figures),
                    None => sums.push((at_size.units, ours.passes, figures)),
                }
            }
        }
    }
    sums.iter().try_for_each(|(asked, passes, figures)| write_figures("**all**", *asked, *passes, figures, out))
}

fn write_figures(name: &str, asked: usize, passes: usize, figures: &Figures, out: &mut impl Write) -> io::Result<()> {
    let of_asked = percent(figures.units, figures.asked);
    let share = percent(figures.names_and_deeds, figures.text);
    let Figures { units, bytes, added_tokens, ledger_bytes, entry_bytes, longest, .. } = figures;
    let longest = longest.as_millis();
    writeln!(
        out,
        "| {name} | {asked} | {passes} | {units} | {of_asked:.0} % | {bytes} | {share:.0} % | {added_tokens} | {ledger_bytes} | {entry_bytes} | {longest} |"
    )
}

fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

impl Ours {
    /// How much of the text, without the blocks of files, lists names and logs deeds.
    pub(super) fn percent_of_names_and_deeds(&self) -> f64 {
        let (all, counted) = names_and_deeds(self.last());
        percent(counted, all)
    }
}

/// The questions that one of our summaries does not answer within its size.
fn write_missed(outcomes: &[Outcome<'_>], size: usize, out: &mut impl Write) -> io::Result<()> {
    let Some(first) = outcomes.first().map(|outcome| &outcome.sizes[size]) else { return Ok(()) };
    let passes = passes_names(first).join(" | ");
    let rule = "---|".repeat(first.ours.len() + 4);
    writeln!(
        out,
        "\nNot answered in {} units:\n\n| question | kind | | {passes} | clipped talk |\n|{rule}",
        first.units
    )?;
    for outcome in outcomes {
        let at_size = &outcome.sizes[size];
        for (index, question) in outcome.subject.questions.iter().enumerate() {
            if at_size.ours.iter().all(|ours| ours.within_size.0[index]) {
                continue;
            }
            let says = |is_answered: &bool| if *is_answered { "yes" } else { "no" };
            let ours = at_size.ours.iter().map(|ours| match (ours.answers.0[index], &ours.within_size.0[index]) {
                (true, false) => "behind its size",
                (_, within) => says(within),
            });
            let ours = ours.collect::<Vec<_>>().join(" | ");
            let talk = says(&at_size.clipped_talk.0[index]);
            writeln!(out, "| {} | {} | {} | {ours} | {talk} |", question.id, question.kind, question.question)?;
        }
    }
    Ok(())
}
