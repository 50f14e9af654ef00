//! A page that is followed to the letter, as somebody does who has just found it.
//!
//! Blocks of `sh` are run in an empty directory. A block of code is written to the file that the line
//! before it names in backticks at its end: "… into `first.ts`:". A block of `text` right behind
//! commands is what they print; numbers and ids may differ. Every other block is only shown.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};

/// One thing that a page asks its reader to do.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Run these commands; they print this, if the page says what.
    Run { commands: String, prints: Option<String> },
    /// Write this file.
    Write { name: String, text: String },
}

/// What following a page took.
#[derive(Debug)]
pub(crate) struct Followed {
    /// Commands that were typed, without blank lines and comments.
    pub(crate) commands: usize,
    /// Files that were written.
    pub(crate) files: usize,
    /// How long the commands ran.
    pub(crate) time: Duration,
}

/// Follows the page in `directory`; `prepare` sets the environment of each command.
///
/// # Errors
/// When a command fails, or prints something else than the page says.
pub(crate) fn follow(page: &Path, directory: &Path, prepare: impl Fn(&mut Command)) -> anyhow::Result<Followed> {
    let text = std::fs::read_to_string(page).with_context(|| format!("failed to read {}", page.display()))?;
    let steps = steps(&text);
    ensure!(steps.iter().any(|step| matches!(step, Step::Run { .. })), "{} asks for no command", page.display());
    let mut followed = Followed { commands: 0, files: 0, time: Duration::ZERO };
    for step in &steps {
        match step {
            Step::Write { name, text } => {
                followed.files += 1;
                let path = directory.join(name);
                std::fs::create_dir_all(path.parent().context("a file lies in a directory")?)?;
                std::fs::write(path, text)?;
            }
            Step::Run { commands, prints } => {
                followed.commands += commands.lines().filter(|line| is_command(line)).count();
                let started = Instant::now();
                run(commands, prints.as_deref(), directory, &prepare)
                    .with_context(|| format!("{} does not work as it says", page.display()))?;
                followed.time += started.elapsed();
            }
        }
    }
    Ok(followed)
}

fn is_command(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

fn run(commands: &str, prints: Option<&str>, directory: &Path, prepare: &impl Fn(&mut Command)) -> anyhow::Result<()> {
    let mut shell = Command::new("bash");
    shell.args(["-euo", "pipefail", "-c", commands]).current_dir(directory).stdin(Stdio::null());
    prepare(&mut shell);
    let output = shell.output().context("bash is needed")?;
    let (printed, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        bail!("{} for\n{commands}\nIt printed:\n{printed}{errors}", output.status);
    }
    match prints {
        Some(expected) if shape(&printed) != shape(expected) => {
            bail!("{commands}\nprints:\n{printed}{errors}\nThe page says:\n{expected}")
        }
        _ => Ok(()),
    }
}

/// The lines of an output with a `#` for every number and id.
pub(crate) fn shape(text: &str) -> Vec<String> {
    text.trim_end().lines().map(|line| shape_of_line(line.trim_end())).collect()
}

fn shape_of_line(line: &str) -> String {
    let (mut shape, mut word) = (String::new(), String::new());
    for letter in line.chars().chain(std::iter::once('\n')) {
        if letter.is_alphanumeric() {
            word.push(letter);
            continue;
        }
        shape.push_str(if is_number_or_id(&word) { "#" } else { &word });
        word.clear();
        shape.push(letter);
    }
    shape.trim_end().to_owned()
}

fn is_number_or_id(word: &str) -> bool {
    let hexadecimal = !word.is_empty() && word.chars().all(|letter| letter.is_ascii_hexdigit());
    hexadecimal && (word.len() == 8 || word.chars().any(|letter| letter.is_ascii_digit()))
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    // The last line that was not blank, and whether the last block held commands.
    let (mut before, mut after_commands) = ("", false);
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else {
            before = if line.trim().is_empty() { before } else { line };
            after_commands &= line.trim().is_empty() || line.trim_end().ends_with(':');
            continue;
        };
        let block: String =
            lines.by_ref().take_while(|line| !line.starts_with("```")).map(|line| format!("{line}\n")).collect();
        match (language, steps.last_mut()) {
            ("sh", _) => steps.push(Step::Run { commands: block, prints: None }),
            ("text", Some(Step::Run { prints, .. })) if after_commands => *prints = Some(block),
            _ => steps.extend(named_file(before).map(|name| Step::Write { name: name.to_owned(), text: block })),
        }
        after_commands = language == "sh";
        before = "";
    }
    steps
}

/// The file that a line names at its end: "Write this into `first.ts`:".
fn named_file(line: &str) -> Option<&str> {
    line.trim_end().strip_suffix("`:")?.rsplit('`').next().filter(|name| name.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_asks_for_files_and_commands() {
        let page = "Install:\n\n```sh\nnpm install x\n```\n\nInto `a.ts`:\n\n```ts\nlet a;\n```\n\n```sh\nrun a\n```\n\n\
                    It prints:\n\n```text\n3 tokens\n```\n\nFor example:\n\n```ts\nlet b;\n```\n";
        let run = |commands: &str, prints: Option<&str>| Step::Run {
            commands: commands.to_owned(),
            prints: prints.map(str::to_owned),
        };
        let write = Step::Write { name: "a.ts".to_owned(), text: "let a;\n".to_owned() };
        assert_eq!(steps(page), [run("npm install x\n", None), write, run("run a\n", Some("3 tokens\n"))]);
    }

    #[test]
    fn numbers_and_ids_may_differ() {
        assert_eq!(shape("entry 1a2b3c4d, 12 tokens\n"), shape("entry deadbeef, 9 tokens"));
        assert_ne!(shape("12 tokens"), shape("12 messages"));
        assert_ne!(shape("a\nb"), shape("a"));
    }
}
