//! What a command line does, apart from how its output is shown.

use std::borrow::Cow;

use crate::text::utf16_len;

/// Programs that look things up and change nothing.
const LOOKUPS: &[&str] = &[
    "grep", "egrep", "rg", "ag", "fd", "ls", "find", "cat", "head", "tail", "wc", "pwd", "echo", "which", "tree",
    "stat", "file", "less", "sleep", "date", "whoami", "hostname", "uname", "printenv", "du", "df", "ps", "realpath",
    "readlink", "basename", "dirname", "type", "diff", "cmp",
];
/// Programs that only show a part of their input.
const FILTERS: &[&str] = &[
    "tail", "head", "grep", "egrep", "rg", "less", "more", "cat", "tee", "sort", "uniq", "wc", "cut", "tr", "sed",
    "awk", "jq", "column",
];

/// Whether a command only looks something up: every program in it does.
pub(crate) fn is_lookup(command: &str) -> bool {
    let command = without_quoted(command);
    let parts = command.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
    let mut programs = parts.filter_map(program).filter(|program| *program != "cd").peekable();
    programs.peek().is_some() && programs.all(|program| LOOKUPS.contains(&program) || program.parse::<u8>().is_ok())
}

/// Whether an option of `sed` makes it change files.
fn edits_in_place(option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    option.starts_with("--in-place") || letters.is_some_and(|letters| letters.contains('i'))
}

/// Whether every program in a command looks something up or shows a part of its input, so that nothing waits for it.
pub(crate) fn only_looks(command: &str) -> bool {
    let command = without_quoted(command).replace("2>&1", "").replace("&>", ">");
    let mut steps = command.split(['|', ';', '&', '\n']).map(str::trim).filter(|step| !step.is_empty()).peekable();
    let looks = |step: &str| {
        let program = program(step).unwrap_or_default();
        let edits = program == "sed" && step.split_whitespace().any(edits_in_place);
        let is_look = LOOKUPS.contains(&program) || FILTERS.contains(&program) || matches!(program, "cd" | "true");
        let looks_up = || step.split_whitespace().take(3).any(|word| LOOKING.contains(&word));
        is_look && !edits && program != "tee" || WITH_SUBCOMMAND.contains(&program) && looks_up()
    };
    steps.peek().is_some() && steps.all(looks)
}

/// The files that a command removes.
pub(crate) fn removed_files(command: &str) -> Vec<&str> {
    let removes = |step: &&str| {
        let mut words = step.split_whitespace();
        matches!(words.next(), Some("rm" | "del" | "Remove-Item")) || step.starts_with("git rm ")
    };
    let steps = command.split(['|', ';', '&', '\n']).map(str::trim).filter(removes);
    let words = steps.flat_map(|step| step.split_whitespace().skip(1)).filter(|word| !word.starts_with('-'));
    words.map(|word| word.trim_matches(['"', '\''])).collect()
}

/// `command` without pipes into filters and redirections at its end. Commands that differ only in these
/// are the same.
pub(crate) fn core_command(command: &str) -> &str {
    let mut core = command.trim();
    loop {
        let shorter = without_redirection(without_filter(core)).trim_end();
        if shorter.is_empty() || shorter.len() == core.len() {
            return core;
        }
        core = shorter;
    }
}

/// Most bytes of a command whose preparation is looked for. Each step is split off from all that follows.
const MOST_PREPARED: usize = 4096;

/// The command without the steps of a chain that only set up the shell, such as a change of the directory, if it has more
/// than `units` UTF-16 units. A shorter one stays whole.
pub(crate) fn without_preparation(command: &str, units: usize) -> &str {
    let mut rest = command;
    if command.len() > MOST_PREPARED || utf16_len(command) <= units {
        return command;
    }
    while let Some(step) = split_outside_quotes(rest, "&&").next().filter(|step| step.len() < rest.len()) {
        let name = step.trim().rsplit(['/', '\\', ' ']).next().unwrap_or_default().to_lowercase();
        if !name.starts_with("activate") && !program(step).is_some_and(|program| SETTING_UP.contains(&program)) {
            break;
        }
        rest = rest[step.len() + "&&".len()..].trim_start();
    }
    rest
}

/// The steps of a chain, which have succeeded if the chain has: each in the directory that the chain
/// changes to. A command that is no chain has none.
pub(crate) fn steps_of(core: &str) -> Vec<String> {
    if memchr::memmem::find(core.as_bytes(), b"&&").is_none() {
        return Vec::new();
    }
    let mut steps: Vec<&str> = split_outside_quotes(core, "&&").map(str::trim).collect();
    let directory = steps.first().copied().filter(|step| program(step) == Some("cd"));
    if directory.is_some() {
        steps.remove(0);
    }
    if steps.len() < 2 {
        return Vec::new();
    }
    let step = |step: &&str| match directory {
        Some(directory) => format!("{directory} && {}", core_command(step)),
        None => core_command(step).to_owned(),
    };
    steps.iter().map(step).collect()
}

/// Programs that only prepare for others.
const PREPARING: &[&str] = &[
    "cd", "export", "source", "set", "true", "false", "env", "sudo", "time", "timeout", "rm", "mkdir", "touch", "kill",
    "pkill",
];
/// Programs that only set up the shell for the next step.
const SETTING_UP: &[&str] = &["cd", "pushd", "export", "source", ".", "set", "nvm"];
/// Programs whose next word is a subcommand.
const WITH_SUBCOMMAND: &[&str] = &[
    "git",
    "gh",
    "glab",
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "npx",
    "bunx",
    "pnpx",
    "cargo",
    "go",
    "mix",
    "make",
    "just",
    "task",
    "docker",
    "kubectl",
    "helm",
    "poetry",
    "uv",
    "uvx",
    "pipenv",
    "pip",
    "pip3",
    "bundle",
    "rake",
    "rails",
    "mise",
    "nix",
    "dotnet",
    "gradle",
    "./gradlew",
    "mvn",
    "terraform",
    "python",
    "python3",
    "node",
    "deno",
    "php",
    "composer",
    "brew",
    "apt",
    "apt-get",
    "systemctl",
    "xcodebuild",
    "swift",
    "flutter",
    "bd",
];
/// Words that are followed by the name of the task.
const RUNNING: &[&str] =
    &["run", "exec", "x", "-m", "tool", "compose", "develop", "pr", "issue", "release", "workflow"];
/// Last words of purposes that only look something up.
const LOOKING: &[&str] = &[
    "diff",
    "log",
    "show",
    "status",
    "branch",
    "ls-tree",
    "ls-files",
    "rev-parse",
    "blame",
    "config",
    "view",
    "list",
    "checks",
    "reflog",
    "remote",
    "search",
    "info",
    "logs",
    "ps",
    "describe",
    "get",
    "help",
    "version",
    "explain",
];

/// Words of purposes that a conversation works towards: what they find has to be dealt with.
const GOALS: &[&str] = &[
    "test",
    "tests",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
    "build",
    "compile",
    "make",
    "tsc",
    "lint",
    "eslint",
    "ruff",
    "mypy",
    "clippy",
    "check",
    "typecheck",
    "types",
    "fmt",
    "format",
    "ci",
    "verify",
    "deploy",
    "install",
    "add",
    "push",
    "publish",
    "release",
    "commit",
    "merge",
    "rebase",
    "migrate",
    "start",
    "serve",
    "dev",
    "up",
    "xcodebuild",
    "gradlew",
    "mvn",
];

/// Those of them that say whether the work is right, and change nothing else.
const CHECKS: &[&str] = &[
    "test",
    "tests",
    "pytest",
    "jest",
    "vitest",
    "mocha",
    "rspec",
    "phpunit",
    "ctest",
    "unittest",
    "build",
    "compile",
    "make",
    "tsc",
    "lint",
    "eslint",
    "golangci",
    "ruff",
    "mypy",
    "pyright",
    "clippy",
    "credo",
    "vet",
    "check",
    "typecheck",
    "types",
    "verify",
    "xcodebuild",
    "gradlew",
    "mvn",
];
/// Programs that have such words among those of other subcommands.
const NO_CHECKS: &[&str] = &["git", "gh", "glab", "bd"];

/// Whether a command runs tests, a build, a linter or a type checker.
pub(crate) fn is_check(command: &str) -> bool {
    let is_check = |purpose: &String| {
        let mut words = purpose.split(|character: char| !character.is_alphanumeric()).peekable();
        !words.peek().is_some_and(|first| NO_CHECKS.contains(first)) && words.any(|word| CHECKS.contains(&word))
    };
    purposes(command).iter().any(is_check)
}

/// Whether a purpose from [`purposes`] is a goal of work and no step to one.
pub(crate) fn is_goal(purpose: &str) -> bool {
    purpose.split(|character: char| !character.is_alphanumeric()).any(|word| GOALS.contains(&word))
}

/// Whether a purpose from [`purposes`] only looks something up.
pub(crate) fn looks_up(purpose: &str) -> bool {
    purpose.rsplit(' ').next().is_some_and(|last| LOOKING.contains(&last))
}

/// What a command line is for, step by step: each program with its subcommand, such as `cargo test`.
/// Steps that prepare or look something up are left out.
pub(crate) fn purposes(command: &str) -> Vec<String> {
    let mut command = without_quoted(command);
    if memchr::memchr(b'>', command.as_bytes()).is_some() {
        command = command.replace("2>&1", " ").replace(">&2", " ").replace("&>", " > ").into();
    }
    let steps = command.split(['|', ';', '&', '\n']).map(str::trim).filter(|step| !step.is_empty());
    let mut purposes: Vec<String> = steps.filter_map(purpose).collect();
    purposes.dedup();
    purposes
}

fn purpose(step: &str) -> Option<String> {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
    let mut words = step.split_whitespace().skip_while(is_assignment);
    let first = words.next()?;
    let program = first.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(first);
    if PREPARING.contains(&program) || LOOKUPS.contains(&program) || FILTERS.contains(&program) {
        return None;
    }
    if !WITH_SUBCOMMAND.contains(&program) && !WITH_SUBCOMMAND.contains(&first) {
        return Some(program.to_owned());
    }
    let words = words.filter(|word| !word.starts_with('-') || RUNNING.contains(word));
    let mut purpose = program.to_owned();
    for word in words {
        purpose.push(' ');
        purpose.push_str(word);
        if !RUNNING.contains(&word) {
            break;
        }
    }
    Some(purpose)
}

fn program(part: &str) -> Option<&str> {
    part.trim().split(' ').next()
}

/// `command` without its last pipe, if that leads into a filter.
pub(super) fn without_filter(command: &str) -> &str {
    let Some(at) = last_outside_quotes(command, b'|') else { return command };
    let is_alternative = command[..at].ends_with('|');
    let filter = command[at + 1..].trim_start_matches('&');
    let is_filter =
        program(filter).is_some_and(|name| FILTERS.contains(&name)) && !filter.contains("&&") && !filter.contains(';');
    if is_filter && !is_alternative { command[..at].trim_end() } else { command }
}

/// `command` without output redirections at its end, such as `2>&1`, `>/dev/null` and `> log`.
fn without_redirection(command: &str) -> &str {
    let Some(at) = last_outside_quotes(command, b'>') else { return command };
    let target = command[at + 1..].trim_start_matches('&').trim();
    let before = command[..at].trim_end_matches('>').trim_end_matches(['1', '2', '&']);
    let is_throughout = target.split(' ').count() == 1 && !target.is_empty() && before.ends_with(' ');
    let is_shown = target == "1" || target == "2" || target == "/dev/null";
    if is_throughout && is_shown { before.trim_end() } else { command }
}

fn last_outside_quotes(command: &str, mark: u8) -> Option<usize> {
    let last = memchr::memrchr(mark, command.as_bytes())?;
    if !has_quotes(command) {
        return Some(last);
    }
    outside_quotes(command).filter(|(_, character)| *character == char::from(mark)).last().map(|(at, _)| at)
}

fn split_outside_quotes<'a>(command: &'a str, mark: &'a str) -> impl Iterator<Item = &'a str> {
    let mut cuts: Vec<usize> =
        outside_quotes(command).map(|(at, _)| at).filter(|at| command[*at..].starts_with(mark)).collect();
    cuts.push(command.len());
    let mut start = 0;
    cuts.into_iter().map(move |cut| {
        let part = &command[start.min(cut)..cut];
        start = cut + mark.len();
        part
    })
}

/// The characters outside of quotes, with their offsets. Separators of commands inside quotes do not
/// count.
fn outside_quotes(command: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    command.char_indices().filter(move |(_, character)| match (quote, *character) {
        (None, mark @ ('"' | '\'')) => {
            quote = Some(mark);
            false
        }
        (Some(open), character) => {
            if open == character {
                quote = None;
            }
            false
        }
        (None, _) => true,
    })
}

fn has_quotes(command: &str) -> bool {
    memchr::memchr2(b'"', b'\'', command.as_bytes()).is_some()
}

fn without_quoted(command: &str) -> Cow<'_, str> {
    if !has_quotes(command) {
        return Cow::Borrowed(command);
    }
    outside_quotes(command).map(|(_, character)| character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_is_told_without_its_preparation() {
        let long = "cd \"/home/a && b/project\" && source venv/bin/activate && python check.py --all";
        assert_eq!(without_preparation(long, 40), "python check.py --all");
        assert_eq!(without_preparation(long, 400), long);
        assert_eq!(without_preparation("make a && make b", 4), "make a && make b");
        assert_eq!(without_preparation("cd /home/a", 4), "cd /home/a");
        let endless = "cd a && ".repeat(100_000);
        assert_eq!(without_preparation(&endless, 4), endless);
    }

    #[test]
    fn commands_are_the_same_without_what_shapes_their_output() {
        for (command, core) in [
            ("make", "make"),
            ("make 2>&1", "make"),
            ("cd a && make test 2>&1 | grep -E \"a|b\" | tail -5", "cd a && make test"),
            ("make &>/dev/null", "make"),
            ("make > out.txt", "make > out.txt"),
            ("a || tail x", "a || tail x"),
            ("cat x | python run.py", "cat x | python run.py"),
            ("echo 'a | tail'", "echo 'a | tail'"),
            ("make | tail -3 && ./run", "make | tail -3 && ./run"),
            ("| tail", "| tail"),
            ("", ""),
        ] {
            assert_eq!(core_command(command), core);
        }
    }

    #[test]
    fn purposes_are_programs_with_what_they_do() {
        for (command, expected) in [
            ("cd a && npm run lint 2>&1 | tail", &["npm run lint"] as &[&str]),
            ("RUST_LOG=1 cargo test -p x && git commit -m 'a && b'", &["cargo test", "git commit"]),
            ("python -m pytest tests -q", &["python -m pytest"]),
            ("./scripts/check.sh --all; ls", &["check.sh"]),
            ("ls | grep x", &[]),
        ] {
            assert_eq!(purposes(command), expected, "{command}");
        }
    }

    #[test]
    fn a_check_says_whether_the_work_is_right() {
        for command in
            ["cd a && npm run test:unit 2>&1 | tail", "python -m pytest -v", "./gradlew assemble", "mix credo"]
        {
            assert!(is_check(command), "{command}");
        }
        for command in ["git check-ignore a", "npm install", "ls tests", "python train.py", "git commit -m 'test it'"] {
            assert!(!is_check(command), "{command}");
        }
    }

    #[test]
    fn looking_changes_nothing() {
        for command in ["sed -n 1,5p 'a b' | head", "cd a && git remote -v 2>&1; gh repo view x", "git log | grep a"] {
            assert!(only_looks(command), "{command}");
        }
        for command in ["sed -Ei s/a/b/ c", "sed --in-place s/a/b/ c"] {
            assert!(!only_looks(command), "{command}");
        }
        for command in ["sed -i s/a/b/ c", "git push", "cat a | python run.py", "sudo make install", "rm a", ""] {
            assert!(!only_looks(command), "{command}");
        }
        assert_eq!(removed_files("cd a && rm -f 'b.py' c/d.py; ls"), ["b.py", "c/d.py"]);
        assert!(removed_files("cargo run rm a.py").is_empty());
    }

    #[test]
    fn a_chain_has_succeeded_with_each_of_its_steps() {
        assert!(steps_of("make").is_empty() && steps_of("cd a && make").is_empty());
        assert_eq!(
            steps_of("cd a && make 2>&1 && git commit -m 'x && y'"),
            ["cd a && make", "cd a && git commit -m 'x && y'"]
        );
    }
}
