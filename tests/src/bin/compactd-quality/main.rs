//! Measures what compactions keep, in two ways.
//!
//! Questions: sessions are compacted away through the built server, and questions are asked to the
//! summaries. Strings: the first four fifths of a session are compacted away, in one pass and in
//! four, and the last fifth says what was needed.

mod evidence;
mod needs;
mod options;
mod passes;
mod questions;
mod session;

use std::process::ExitCode;

use crate::needs::{CLASSES, Needs};
use crate::options::Options;
use crate::passes::Plan;
use crate::session::Subject;

/// Tokens of a summary with its file blocks: 24 kB.
const BUDGET_TOKENS: u64 = 6000;

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::read(std::env::args().skip(1))?;
    let mut out = std::io::stdout().lock();
    let answered = !options.asks_questions() || questions::run(&options.questions, &mut out)?;
    let kept = !options.looks_for_strings() || strings(&options, &mut out)?;
    let fails = (options.is_checked && !kept) || (options.are_questions_checked && !answered);
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Prints what survives literally; says whether all goals are reached.
fn strings(options: &Options, out: &mut impl std::io::Write) -> anyhow::Result<bool> {
    let mut all_reached = true;
    writeln!(out, "| session | passes | bytes | {} |", CLASSES.map(|class| class.name).join(" | "))?;
    writeln!(out, "|---|---|---|{}", "---|".repeat(CLASSES.len()))?;
    for subject in session::subjects(&options.files, options.seed)? {
        all_reached &= measure(&subject, options, out)?;
    }
    writeln!(out, "\n{}", if all_reached { "all goals are reached: yes" } else { "all goals are reached: NO" })?;
    Ok(all_reached)
}

/// Prints the rows of one session; says whether it reaches all goals.
fn measure(subject: &Subject, options: &Options, out: &mut impl std::io::Write) -> anyhow::Result<bool> {
    let budget = options.budget_tokens.unwrap_or(BUDGET_TOKENS);
    let needs = Needs::of(&subject.messages);
    let once = passes::run(&subject.messages, Plan { passes: 1, budget_tokens: budget })?;
    let four = passes::run(&subject.messages, Plan { passes: 4, budget_tokens: budget })?;
    let half = passes::run(&subject.messages, Plan { passes: 1, budget_tokens: budget / 2 })?;
    let first = needs.kept(&once);
    let rows = [("1", &once, None), ("4", &four, Some(30.0)), ("1, half", &half, Some(40.0))];
    let mut all_reached = true;
    for (name, context, most_lower) in rows {
        let kept = needs.kept(context);
        let mut cells = Vec::new();
        for (index, class) in CLASSES.iter().enumerate() {
            let is_reached = match most_lower {
                None => class.goal.is_none_or(|goal| kept[index].percent() >= goal),
                // What was dealt with is left out first.
                Some(_) if class.goal.is_none() => true,
                Some(points) => first[index].percent() - kept[index].percent() <= points,
            };
            all_reached &= is_reached;
            cells.push(format!("{} {}", kept[index], if is_reached { "yes" } else { "NO" }));
        }
        writeln!(out, "| {} | {name} | {} | {} |", subject.name, context.len(), cells.join(" | "))?;
        if options.is_listing {
            for (class, missing) in needs.missing(context) {
                writeln!(out, "  {class}: {missing:?}")?;
            }
        }
    }
    Ok(all_reached)
}
