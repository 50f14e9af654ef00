//! What a chore takes, read from the text that a person reads, so that a wrong option is told before anything is built.

use anyhow::{Context as _, bail, ensure};

/// The lines about a chore in a usage text. A chore is indented by two spaces, and its options by four.
pub fn of_chore<'a>(usage: &'a str, chore: &str) -> Vec<&'a str> {
    let is_chore = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let is_this = |line: &&str| is_chore(line) && line.split_whitespace().next() == Some(chore);
    let lines = usage.lines().skip_while(|line| !is_this(line));
    lines.clone().take(1).chain(lines.skip(1).take_while(|line| !is_chore(line))).collect()
}

/// Whether a person asks for help.
pub fn is_help(argument: &str) -> bool {
    matches!(argument, "--help" | "-h" | "help")
}

/// Checks the arguments of a chore: its options with as many values as the usage text names in capital
/// letters, and others where the text names some in brackets.
///
/// # Errors
/// With what is wrong and what the chore takes, in one line.
pub fn check(usage: &str, chore: &str, arguments: &[&str]) -> anyhow::Result<()> {
    let lines = of_chore(usage, chore);
    let first = lines.first().with_context(|| format!("unknown chore {chore}; cargo xtask --help lists all"))?;
    let options: Vec<Vec<&str>> = options(&lines);
    let takes_others = first
        .split_whitespace()
        .skip(1)
        .any(|word| word.starts_with('[') && !word.contains("OPTION") && !word.contains("--"));
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match options.iter().find(|words| words[0] == *argument) {
            Some(words) => {
                for value in &words[1..] {
                    rest.next().with_context(|| format!("{argument} needs {value}"))?;
                }
            }
            None if argument.starts_with('-') => {
                let names: Vec<&str> = options.iter().map(|words| words[0]).collect();
                let known = if names.is_empty() { "no options".to_owned() } else { names.join(", ") };
                bail!("unknown option {argument}; {chore} has {known}")
            }
            None => ensure!(takes_others, "{chore} does not take {argument}"),
        }
    }
    Ok(())
}

/// The options with the names of their values.
fn options<'a>(lines: &[&'a str]) -> Vec<Vec<&'a str>> {
    let is_value = |word: &&str| word.chars().all(|letter| letter.is_ascii_uppercase() || letter == ',');
    let option = |line: &&'a str| {
        let mut words = line.split_whitespace().map(|word| word.trim_matches(['[', ']']));
        let name = words.find(|word| word.starts_with("--"))?;
        let is_own = line.starts_with("    --") || line.contains(&format!("[{name}]"));
        is_own.then(|| std::iter::once(name).chain(words.take_while(is_value)).collect())
    };
    lines.iter().filter_map(option).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const USAGE: &str = "Usage: cargo xtask <chore>

  links                looks for links
  protocol [--check]   writes; --check only compares
  bench [OPTION]...    measures
    --keep DIRECTORY   leaves them
    --show NAME N      prints
                       them all
  soak [runs]          kills";

    fn told(chore: &str, arguments: &[&str]) -> String {
        check(USAGE, chore, arguments).err().map_or_else(|| "fine".to_owned(), |error| format!("{error:#}"))
    }

    #[test]
    fn arguments_are_those_of_the_usage() {
        assert_eq!(of_chore(USAGE, "bench").len(), 4);
        for (chore, arguments, expected) in [
            ("links", &[][..], "fine"),
            ("links", &["--all"], "unknown option --all; links has no options"),
            ("protocol", &["--check"], "fine"),
            ("bench", &["--keep", "here", "--show", "one", "3"], "fine"),
            ("bench", &["--keep"], "--keep needs DIRECTORY"),
            ("bench", &["--show", "one"], "--show needs N"),
            ("bench", &["--fast"], "unknown option --fast; bench has --keep, --show"),
            ("bench", &["fast"], "bench does not take fast"),
            ("soak", &["100"], "fine"),
            ("dance", &[], "unknown chore dance; cargo xtask --help lists all"),
        ] {
            assert_eq!(told(chore, arguments), expected, "{chore} {arguments:?}");
        }
    }
}
