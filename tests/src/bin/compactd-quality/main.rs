//! Measures what compactions keep: the first four fifths of a session are compacted away, in one pass
//! and in four, and the last fifth says what was needed. Prints one table.

mod evidence;
mod needs;
mod passes;
mod session;

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;

use crate::needs::{CLASSES, Needs};
use crate::passes::Plan;
use crate::session::Subject;

/// Tokens of a summary with its file blocks: 24 kB.
const BUDGET_TOKENS: u64 = 6000;

#[derive(Debug, Default)]
struct Options {
    files: Vec<PathBuf>,
    budget_tokens: Option<u64>,
    seed: u64,
    is_checked: bool,
    is_listing: bool,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::read(std::env::args().skip(1))?;
    let mut out = std::io::stdout().lock();
    let mut all_reached = true;
    writeln!(out, "| session | passes | bytes | {} |", CLASSES.map(|class| class.name).join(" | "))?;
    writeln!(out, "|---|---|---|{}", "---|".repeat(CLASSES.len()))?;
    for subject in session::subjects(&options.files, options.seed)? {
        all_reached &= measure(&subject, &options, &mut out)?;
    }
    writeln!(out, "\n{}", if all_reached { "all goals are reached: yes" } else { "all goals are reached: NO" })?;
    let fails = options.is_checked && !all_reached;
    Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Options {
    fn read(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.is_checked = true,
                "--missing" => options.is_listing = true,
                "--budget-tokens" => {
                    let tokens = arguments.next().context("--budget-tokens needs a number")?;
                    options.budget_tokens = Some(tokens.parse()?);
                }
                "--seed" => options.seed = arguments.next().context("--seed needs a number")?.parse()?,
                file => options.files.push(PathBuf::from(file)),
            }
        }
        Ok(options)
    }
}

/// Prints the rows of one session; says whether it reaches all goals.
fn measure(subject: &Subject, options: &Options, out: &mut impl std::io::Write) -> anyhow::Result<bool> {
    let budget = options.budget_tokens.unwrap_or(BUDGET_TOKENS);
    let needs = Needs::of(&subject.messages);
    let once = passes::run(&subject.messages, Plan { passes: 1, budget_tokens: budget })?;
    let four = passes::run(&subject.messages, Plan { passes: 4, budget_tokens: budget })?;
    let half = passes::run(&subject.messages, Plan { passes: 1, budget_tokens: budget / 2 })?;
    let first = needs.kept(&once);
    let rows = [("1", &once, None), ("4", &four, Some(3.0)), ("1, half", &half, Some(20.0))];
    let mut all_reached = true;
    for (name, context, most_lower) in rows {
        let kept = needs.kept(context);
        let mut cells = Vec::new();
        for (index, class) in CLASSES.iter().enumerate() {
            let is_reached = match most_lower {
                None => kept[index].percent() >= class.goal,
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
