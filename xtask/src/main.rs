//! `cargo xtask`: the chores of compactd.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::{Context as _, bail};

const USAGE: &str = "\
Usage: cargo xtask <chore>

  test                 formatting, lints, documentation, links, dependencies, all tests, generated files
  links                looks for links, citations and named tests that lead nowhere
  protocol [--check]   writes what is generated from the server's own description; --check only compares
  hosts [OPTION]...    follows the pages of all clients, editors, agents and libraries, and drives them
    --only NAME        this one alone; may be given again
    --without NAME     all but this one; may be given again
    --quick            without those that install much or take minutes
    --newest           with the newest packages of npm, pip and cargo, and not those of a known date
    --prepare          only installs the tools that hosts share, and builds nothing
  package [PROFILE]    packages as they are published, into target/packages; the release profile without a name
  bench [OPTION]...    measures, beside the published package where npm can install it
    --quick            small sessions and few runs
    --full             sessions of up to 1 GB, and lists of 1,000 sessions
    --no-peer          without the published package
    --keep DIRECTORY   generates the sessions there and leaves them
  quality [FILE]...    measures what compactions keep: questions about real sessions that their summaries
                       answer, and strings that survive, of real and generated sessions or of these files
    --only TABLE       questions or strings
    --sizes N,N        units of a summary, 24000,12000,6000 without
    --passes N,N       compactions one after the other, 1,4 without
    --corpus DIRECTORY asks further questions.jsonl about sessions/*.jsonl
    --set NAME         asks the shared, own or given questions alone; the given ones are those of --corpus
    --missed           lists questions that are not answered
    --show NAME N      prints the summaries of one session in N units
    --check-questions  fails where a goal of the questions is missed
    --compactd PATH    measures another server
    --budget-tokens N  strings: tokens of a summary with its file lists, 6000 without
    --seed N           strings: generates other sessions
    --missing          strings: lists what is lost
    --check            strings: fails where a goal is missed
  recall [OPTION]...   measures what recall gives back of real sessions
    --most N           queries of each kind that are made of a session, 75 without
    --seed N           makes other queries
    --missing          lists what did not come back
    --check            fails where a goal is missed
  soak [runs]          kills servers at random moments, 1000 without a number, and looks for losses; then runs two
                       tests at full length
  models               asks LiteLLM's proxy and llama.cpp's server, which pip installs; ten minutes the first time
  fuzz [seconds]       feeds the readers random bytes, 60 seconds each; needs cargo-fuzz";

#[expect(clippy::print_stdout, reason = "a program tells its user how it is used")]
fn main() -> ExitCode {
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    if xtask::is_compiler_call(&given) {
        return exit_code(xtask::compile(&given));
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if arguments.iter().any(|argument| xtask::is_help(argument)) {
        let lines = xtask::usage_of(USAGE, arguments[0]);
        println!("{}", if lines.is_empty() { USAGE.to_owned() } else { lines.join("\n") });
        return ExitCode::SUCCESS;
    }
    exit_code(run(&arguments))
}

#[expect(clippy::print_stderr, reason = "a program tells its user why it failed")]
fn exit_code(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let Some((chore, options)) = arguments.split_first() else { bail!("{USAGE}") };
    xtask::check_options(USAGE, chore, options)?;
    match arguments {
        ["test"] => xtask::test(),
        ["links"] => xtask::links(),
        ["protocol"] => xtask::protocol(false),
        ["protocol", "--check"] => xtask::protocol(true),
        ["hosts", options @ ..] => xtask::hosts(options),
        ["package"] => xtask::package("release"),
        ["package", profile] => xtask::package(profile),
        ["bench", options @ ..] => xtask::bench(options),
        ["quality", options @ ..] => xtask::quality(options),
        ["recall", options @ ..] => xtask::recall(options),
        ["soak"] => xtask::soak(1000),
        ["soak", runs] => xtask::soak(number(runs)?),
        ["models"] => xtask::models(),
        ["fuzz"] => xtask::fuzz(60),
        ["fuzz", seconds] => xtask::fuzz(number(seconds)?),
        _ => bail!("{chore} takes less: cargo xtask {chore} --help"),
    }
}

fn number(text: &str) -> anyhow::Result<u64> {
    text.parse().ok().with_context(|| format!("{text} is not a number"))
}
