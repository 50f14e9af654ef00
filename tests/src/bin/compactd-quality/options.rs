//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context as _, ensure};

use crate::questions;

/// What is measured, and how.
#[derive(Debug, Default)]
pub(crate) struct Options {
    /// Sessions for the table of strings, in place of the usual ones.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) budget_tokens: Option<u64>,
    pub(crate) seed: u64,
    /// Whether a missed goal of the strings fails the run.
    pub(crate) is_checked: bool,
    /// Whether strings that are lost are listed.
    pub(crate) is_listing: bool,
    pub(crate) questions: questions::Options,
    /// Whether a missed goal of the questions fails the run.
    pub(crate) are_questions_checked: bool,
    only: Option<Table>,
}

/// One of the two ways to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Table {
    Questions,
    Strings,
}

impl Options {
    /// Reads the arguments behind the name of the program.
    pub(crate) fn read(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut options = Self::default();
        while let Some(argument) = arguments.next() {
            let mut next = || arguments.next().with_context(|| format!("{argument} needs a value"));
            let asked = &mut options.questions;
            match argument.as_str() {
                "--check" => options.is_checked = true,
                "--missing" => options.is_listing = true,
                "--budget-tokens" => options.budget_tokens = Some(number(&next()?)?),
                "--seed" => options.seed = number(&next()?)?,
                "--only" => options.only = Some(next()?.parse()?),
                "--check-questions" => options.are_questions_checked = true,
                "--missed" => asked.is_listing = true,
                "--sizes" => asked.sizes = numbers(&next()?)?,
                "--passes" => asked.passes = numbers(&next()?)?,
                "--set" => asked.set = Some(set(next()?)?),
                "--corpus" => asked.corpus = Some(next()?.into()),
                "--compactd" => asked.program = Some(next()?.into()),
                "--show" => asked.shown = Some((next()?, number(&next()?)?)),
                unknown if unknown.starts_with("--") => anyhow::bail!("there is no option {unknown}"),
                file => options.files.push(PathBuf::from(file)),
            }
        }
        Ok(options)
    }

    /// Whether questions are asked: not where files are given, they have no questions.
    pub(crate) fn asks_questions(&self) -> bool {
        self.only.map_or(self.files.is_empty(), |only| only == Table::Questions)
    }

    /// Whether it is measured which strings survive.
    pub(crate) fn looks_for_strings(&self) -> bool {
        self.questions.shown.is_none() && self.only.is_none_or(|only| only == Table::Strings)
    }
}

impl FromStr for Table {
    type Err = anyhow::Error;

    fn from_str(name: &str) -> anyhow::Result<Self> {
        match name {
            "questions" => Ok(Self::Questions),
            "strings" => Ok(Self::Strings),
            _ => anyhow::bail!("--only takes questions or strings, not {name}"),
        }
    }
}

fn set(name: String) -> anyhow::Result<String> {
    let sets = questions::SETS;
    ensure!(sets.contains(&name.as_str()), "there are no {name} questions, there are {}", sets.join(", "));
    Ok(name)
}

fn number<T: FromStr<Err = std::num::ParseIntError>>(text: &str) -> anyhow::Result<T> {
    text.parse().with_context(|| format!("{text} is no number"))
}

/// Numbers above 0 with commas between them.
fn numbers(text: &str) -> anyhow::Result<Vec<usize>> {
    let numbers = text.split(',').map(number).collect::<anyhow::Result<Vec<usize>>>()?;
    ensure!(!numbers.contains(&0), "{text} holds a 0");
    Ok(numbers)
}
