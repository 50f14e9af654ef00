//! What a command line does, apart from how its output is shown.

use std::borrow::Cow;
use std::path::Path;

use super::text::{WordList, clip, clip_middle, word_list};
use crate::phrases::{PROGRAMS, listed};
use crate::text::{base_name, utf16_len};

/// Programs that look things up and change nothing.
static LOOKUPS: WordList = word_list!(PROGRAMS, "commands: lookups");
/// Programs that only show a part of their input.
static FILTERS: WordList = word_list!(PROGRAMS, "commands: filters");

/// Whether a command only looks something up: every program in it does.
pub(crate) fn is_lookup(command: &str) -> bool {
    let command = without_quoted(command);
    let parts = command.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
    let mut programs = parts.filter_map(program).filter(|program| *program != "cd").peekable();
    programs.peek().is_some() && programs.all(|program| LOOKUPS.has(program) || program.parse::<u8>().is_ok())
}

/// Whether an option of `sed` makes it change files.
fn edits_in_place(option: &str) -> bool {
    let letters = option.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    option.starts_with("--in-place") || letters.is_some_and(|letters| letters.contains('i'))
}

/// Whether every program in a command looks something up or shows a part of its input. Nothing depends on such a
/// command.
pub(crate) fn only_looks(command: &str) -> bool {
    let command = without_quoted(command).replace("2>&1", "").replace("&>", ">");
    let mut steps = command.split(['|', ';', '&', '\n']).map(str::trim).filter(|step| !step.is_empty()).peekable();
    let looks = |step: &str| {
        let program = program(step).unwrap_or_default();
        let edits = program == "sed" && step.split_whitespace().any(edits_in_place);
        let is_look = LOOKUPS.has(program) || FILTERS.has(program) || matches!(program, "cd" | "true");
        // A script may do anything with such a word.
        let runs_file = || step.split_whitespace().nth(1).is_some_and(|word| word.contains(['/', '.']));
        let looks_up = || step.split_whitespace().take(3).any(|word| LOOKING.has(word)) && !runs_file();
        let is_purpose = || purpose(step).is_some_and(|purpose| self::looks_up(&purpose));
        is_look && !edits && program != "tee"
            || WITH_SUBCOMMAND.has(program) && (looks_up() || is_purpose())
            || is_activation(step)
            || step.split_whitespace().nth(1).is_some_and(|word| ABOUT_ITSELF.contains(&word))
    };
    steps.peek().is_some() && steps.all(looks)
}

/// Most files of one command that are looked for.
const MOST_REMOVED: usize = 64;

/// The files that a command removes.
pub(crate) fn removed_files(command: &str) -> Vec<&str> {
    let removes = |step: &&str| {
        let mut words = step.split_whitespace();
        matches!(words.next(), Some("rm" | "del" | "Remove-Item")) || step.starts_with("git rm ")
    };
    // `git rm --cached` leaves the file where it is.
    let steps = command.split(['|', ';', '&', '\n']).map(str::trim).filter(removes);
    let steps = steps.filter(|step| !step.contains(" --cached"));
    let words = steps.flat_map(|step| step.split_whitespace().skip(1));
    let is_path = |word: &&str| !word.starts_with('-') && !word.contains(['<', '>']) && *word != "rm";
    words.filter(is_path).take(MOST_REMOVED).map(|word| word.trim_matches(['"', '\''])).collect()
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

/// Longest command whose preparation is searched for, in bytes. Each step splits the command again.
const MOST_PREPARED: usize = 4096;

/// The command without the steps of a chain that only set up the shell, such as a change of the directory. A command of
/// at most `units` UTF-16 units stays whole.
pub(crate) fn without_preparation(command: &str, units: usize) -> &str {
    let mut rest = command;
    if command.len() > MOST_PREPARED || utf16_len(command) <= units {
        return command;
    }
    while let Some(step) = split_outside_quotes(rest, "&&").next().filter(|step| step.len() < rest.len()) {
        if !is_activation(step) && !program(step).is_some_and(|program| SETTING_UP.has(program)) {
            break;
        }
        rest = rest[step.len() + "&&".len()..].trim_start();
    }
    rest
}

/// Commands that pass inline code to a program.
const INLINE_CODE: &[&str] = listed!(PROGRAMS, "commands: inline code");

/// Modules that belong to Python itself.
static STANDARD_MODULES: WordList = word_list!(PROGRAMS, "commands: standard modules");

/// Whether a command contains a few lines of inline code.
pub(crate) fn has_inline_code(command: &str) -> bool {
    INLINE_CODE.iter().any(|start| command.contains(start))
}

/// A command on one line, in at most `units` UTF-16 units. Inline code is shown from its last import of a module
/// outside the standard library.
pub(crate) fn clip_command(command: &str, units: usize) -> String {
    const IMPORT: &str = "from ";
    let whole = || match without_last_options(command) {
        Some(rest) if utf16_len(rest) + LEFT_OUT.len() <= units => format!("{rest}{LEFT_OUT}"),
        Some(rest) => clip_middle(rest, units),
        None => clip_middle(command, units),
    };
    if utf16_len(command) <= units {
        return command.to_owned();
    }
    let starts = INLINE_CODE.iter().filter_map(|start| Some(command.find(start)? + start.len()));
    let Some(start) = starts.min() else { return whole() };
    let (head, code) = command.split_at(start);
    let code_start = code.find(|one: char| !one.is_whitespace() && !matches!(one, '"' | '\'' | '$'));
    let Some(code_start) = code_start.filter(|_| utf16_len(head) <= units / 2) else { return whole() };
    let own = &code[code_start..];
    let is_import = |(at, _): &(usize, &str)| {
        let starts_word = own[..*at].chars().next_back().is_none_or(|before| before.is_whitespace() || before == ';');
        let mut words = own[*at + IMPORT.len()..].split_whitespace();
        let is_own = |module: &str| !STANDARD_MODULES.has(module.split('.').next().unwrap_or_default());
        starts_word && words.next().is_some_and(is_own) && words.next() == Some("import")
    };
    let last = own.match_indices(IMPORT).filter(is_import).map(|(at, _)| at).last();
    let left_out = if last.is_some_and(|at| at > 0) { "\u{2026} " } else { "" };
    clip(&format!("{head}{}{left_out}{}", &code[..code_start].trim(), &own[last.unwrap_or_default()..]), units)
}

/// Stands for the options at the end of a command.
const LEFT_OUT: &str = " \u{2026}";
/// Longest option that is left out at the end of a command, in bytes.
const LONGEST_OPTION: usize = 24;

/// Options that only say how a command reports.
const REPORTING: [&str; 18] = [
    "-v",
    "-vv",
    "-vvv",
    "-q",
    "-qq",
    "--verbose",
    "--quiet",
    "--silent",
    "--tb",
    "--color",
    "--colour",
    "--no-color",
    "--nocapture",
    "--no-header",
    "--reporter",
    "--progress",
    "--no-progress",
    "--loglevel",
];

/// A command without the options at its end that only say how it reports. What it is about comes before them. `None` if it has
/// none.
fn without_last_options(command: &str) -> Option<&str> {
    let mut rest = command.trim_end();
    while let Some((before, last)) = rest.rsplit_once(' ') {
        let name = last.split('=').next().unwrap_or(last);
        let is_option = REPORTING.contains(&name) && last.len() <= LONGEST_OPTION && !last.contains(['"', '\'']);
        // The name of a program, or of what it does, stays.
        if !is_option || !before.trim().contains(' ') {
            break;
        }
        rest = before.trim_end();
    }
    (rest.len() < command.trim_end().len()).then_some(rest)
}

/// Directories for temporary files. Nobody works in them for long.
const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/private/var", "/var/folders", "/dev/shm"];

/// Whether a path lies in a directory for temporary files.
pub(super) fn is_temporary(path: &str) -> bool {
    TEMPORARY.iter().any(|directory| Path::new(path).starts_with(directory))
}

/// A command without the steps that only set up the shell, and without a change into `root`, the directory of the work.
/// A change into another directory stays because it shows what the command is about; the path is relative to `root` if
/// it is inside it. The first directory that is not temporary becomes `root`.
pub(crate) fn without_shell_setup<'a>(command: &'a str, root: &mut Option<String>) -> Cow<'a, str> {
    let (mut rest, mut directory) = (command, None);
    if command.len() > MOST_PREPARED {
        return Cow::Borrowed(command);
    }
    while let Some((step, after)) = first_step(rest) {
        match program(step) {
            Some("cd" | "pushd") => {
                let target = step.trim().split_once(' ').map_or("", |(_, target)| target.trim());
                let target = target.strip_prefix("/d ").unwrap_or(target).trim_matches(['"', '\'']);
                // A second change may start from the first one.
                if directory.is_some() {
                    return Cow::Borrowed(command);
                }
                directory = Some(target.trim_end_matches(['/', '\\']));
            }
            Some(program) if SETTING_UP.has(program) => {}
            _ if is_activation(step) => {}
            _ => break,
        }
        rest = after;
    }
    let Some(directory) = directory else { return Cow::Borrowed(rest) };
    if directory.contains(['|', '<', '>', '&', '\n']) {
        return Cow::Borrowed(command);
    }
    let is_absolute = directory.starts_with(['/', '~', '$', '%']) || directory.get(1..2) == Some(":");
    if !is_absolute {
        return if matches!(directory, "" | ".") { rest.into() } else { format!("cd {directory} && {rest}").into() };
    }
    // A variable or a command substitution is nearly always the root.
    if directory.starts_with(['$', '%']) {
        return Cow::Borrowed(rest);
    }
    let is_temporary = || is_temporary(directory);
    if root.is_none() && !is_temporary() {
        *root = Some(directory.to_owned());
    }
    let root = root.as_deref().unwrap_or_default();
    let inner = Some(directory).filter(|_| !root.is_empty()).and_then(|path| path.strip_prefix(root));
    match inner.map(|inner| inner.trim_start_matches(['/', '\\'])) {
        Some("") => Cow::Borrowed(rest),
        Some(inner) if directory.len() > root.len() + inner.len() => format!("cd {inner} && {rest}").into(),
        _ => format!("cd {directory} && {rest}").into(),
    }
}

/// The first step of a command line and the rest; `None` if it has only one step.
fn first_step(command: &str) -> Option<(&str, &str)> {
    let (at, _) =
        outside_quotes(command).find(|(at, _)| command[*at..].starts_with("&&") || command[*at..].starts_with(';'))?;
    let mark = if command[at..].starts_with(';') { 1 } else { 2 };
    let after = command[at + mark..].trim_start();
    (!after.is_empty()).then(|| (&command[..at], after))
}

/// Whether a step activates an environment of a language.
fn is_activation(step: &str) -> bool {
    let name = step.trim().rsplit(['/', '\\', ' ']).next().unwrap_or_default();
    name.get(..8).is_some_and(|start| start.eq_ignore_ascii_case("activate"))
        || step.split_whitespace().nth(1) == Some("activate")
}

/// The steps of a chain, each in the directory that the chain changes to. They have all succeeded if the chain has. A
/// command that is not a chain has none.
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
static PREPARING: WordList = word_list!(PROGRAMS, "commands: preparing");
/// Programs that only set up the shell for the next step.
static SETTING_UP: WordList = word_list!(PROGRAMS, "commands: setting up");
/// Programs whose next word is a subcommand.
static WITH_SUBCOMMAND: WordList = word_list!(PROGRAMS, "commands: with subcommands");
/// Options of these programs that take a value and may come before the subcommand.
const WITH_VALUES: &[&str] = listed!(PROGRAMS, "commands: options with values");
/// Programs that launch another one, each with the words that follow it.
const LAUNCHERS: &[&str] = listed!(PROGRAMS, "commands: launchers");
/// Scripts of a project that run the program of the same name.
const WRAPPERS: &[(&str, &str)] =
    &[("mvnw", "mvn"), ("mvnw.cmd", "mvn"), ("gradlew", "gradle"), ("gradlew.bat", "gradle"), ("pip3", "pip")];
/// Programs that clean and build in one command.
static CLEANING: WordList = word_list!(PROGRAMS, "commands: cleaning");
/// Words that the name of a task follows.
static RUNNING: WordList = word_list!(PROGRAMS, "commands: running");
/// Last words of purposes that only look something up.
static LOOKING: WordList = word_list!(PROGRAMS, "commands: looking");

/// Words of purposes that check the work and change nothing else. A conversation works towards them: someone has to
/// deal with what they find.
static CHECKS: WordList = word_list!(PROGRAMS, "commands: checks");
/// More names of checks.
static OTHER_CHECKS: WordList = word_list!(PROGRAMS, "commands: other checks");
/// Other words of purposes that a conversation works towards.
static OTHER_GOALS: WordList = word_list!(PROGRAMS, "commands: other goals");
/// Programs whose other subcommands contain such words.
static NO_CHECKS: WordList = word_list!(PROGRAMS, "commands: no checks");

fn is_among(word: &str, some: &WordList<'_>, others: &WordList<'_>) -> bool {
    some.has(word) || others.has(word)
}

/// Whether a word is the name of a program that people run.
pub(super) fn is_program(word: &str) -> bool {
    [&LOOKUPS, &PREPARING, &WITH_SUBCOMMAND, &OTHER_CHECKS].iter().any(|list| list.has(word))
        || is_check(word) && !["test", "tests", "build", "check", "verify", "types"].contains(&word)
}

/// Whether a command runs tests, a build, a linter or a type checker.
pub(crate) fn is_check(command: &str) -> bool {
    purposes(command).iter().any(|purpose| checks(purpose))
}

/// Whether a purpose from [`purposes`] is a check.
fn checks(purpose: &str) -> bool {
    let mut words = purpose.split(|character: char| !character.is_alphanumeric()).peekable();
    !words.peek().is_some_and(|first| NO_CHECKS.has(first)) && words.any(|word| is_among(word, &CHECKS, &OTHER_CHECKS))
}

/// Words in the purposes of commands that run tests.
static TESTS: WordList = word_list!(PROGRAMS, "commands: tests");

/// Whether a command runs tests.
pub(crate) fn is_test(command: &str) -> bool {
    let is_test = |purpose: &String| {
        let mut words = purpose.split(|character: char| !character.is_alphanumeric());
        words.any(|word| TESTS.has(word))
    };
    let purposes = purposes(command);
    purposes.iter().any(|purpose| checks(purpose)) && purposes.iter().any(is_test)
}

/// Words of a command that only say that tests run.
pub(crate) const OF_ALL_TESTS: &[&str] = listed!(PROGRAMS, "commands: words of all tests");
/// Options of test runners whose value selects tests.
const SELECTING: &[&str] = listed!(PROGRAMS, "commands: selecting options");

/// What a run of tests selects: files, directories, names and packages. It selects nothing if it runs all tests.
pub(crate) fn selected_tests(command: &str) -> Vec<String> {
    let bare = command.replace("2>&1", " ");
    let steps = bare.split(['|', ';', '&', '\n']).map(str::trim);
    let mut selected = Vec::new();
    for step in steps.filter(|step| is_test(step)) {
        let of_purpose = purpose(step).unwrap_or_default();
        let is_name = |word: &&str| of_purpose.split(' ').any(|own| own == *word) || OF_ALL_TESTS.contains(word);
        let mut words = without_launchers(without_variables(step)).split_whitespace().skip(1);
        let mut before = "";
        for word in words.by_ref().filter(|word| !is_name(word) && *word != "--") {
            let last = std::mem::replace(&mut before, word);
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let is_option = word.starts_with('-');
            let value = match SELECTING.contains(&name) {
                true if !value.is_empty() => value,
                // A word behind another option may be its value.
                _ if is_option || word.contains('>') => continue,
                _ if last.starts_with('-') && !SELECTING.contains(&last) && !word.contains(['/', '.', ':']) => continue,
                _ => word,
            };
            let value = value.trim_matches(['"', '\'']).trim_start_matches("./").trim_end_matches("...");
            let value = value.trim_end_matches(['/', '.']);
            if value.bytes().any(|one| one.is_ascii_alphabetic()) || value.bytes().any(|one| !one.is_ascii()) {
                selected.push(value.to_owned());
            }
        }
    }
    selected
}

/// Whether a run of tests that selects `own` leaves out something of what another one with the selection `other` runs.
pub(crate) fn is_narrower(own: &[String], other: &[String]) -> bool {
    let is_in = |one: &str, wider: &str| {
        one.strip_prefix(wider).is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', ':', '\\', '.']))
    };
    let is_covered = |one: &String| own.iter().any(|wider| is_in(one, wider));
    !own.is_empty() && (other.is_empty() || !other.iter().all(is_covered))
}

/// Programs and subcommands that only format code.
static FORMATTERS: WordList = word_list!(PROGRAMS, "commands: formatters");

/// Whether a command only formats code, apart from the steps that prepare for it.
pub(crate) fn only_formats(command: &str) -> bool {
    let steps = without_quoted(command);
    let steps = steps.split(['|', ';', '&', '\n']).map(str::trim).filter(|step| purpose(step).is_some());
    let formats = |step: &str| step.split_whitespace().any(|word| FORMATTERS.has(word));
    let mut steps = steps.peekable();
    steps.peek().is_some() && steps.all(formats)
}

/// Whether a purpose from [`purposes`] is a goal of the work and not a step towards one.
pub(crate) fn is_goal(purpose: &str) -> bool {
    purpose.split(|character: char| !character.is_alphanumeric()).any(|word| is_among(word, &CHECKS, &OTHER_GOALS))
}

/// Whether a purpose from [`purposes`] only looks something up.
pub(crate) fn looks_up(purpose: &str) -> bool {
    purpose.rsplit(' ').next().is_some_and(|last| LOOKING.has(last))
}

/// What a command line is for, step by step: each program with its subcommand, such as `cargo test`.
/// Steps that prepare or look something up are left out.
pub(crate) fn purposes(command: &str) -> Vec<String> {
    let mut command = without_quoted(command);
    // Each of the replaced marks has both characters.
    if memchr::memchr(b'>', command.as_bytes()).is_some() && memchr::memchr(b'&', command.as_bytes()).is_some() {
        command = command.replace("2>&1", " ").replace(">&2", " ").replace("&>", " > ").into();
    }
    let steps = command.split(['|', ';', '&', '\n']).map(str::trim).filter(|step| !step.is_empty());
    let mut purposes: Vec<String> = steps.filter_map(purpose).collect();
    purposes.dedup();
    purposes
}

fn purpose(step: &str) -> Option<String> {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.starts_with('-'));
    let mut words = without_launchers(step).split_whitespace().skip_while(is_assignment);
    let first = words.next()?;
    let program = first.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or(first);
    let program = WRAPPERS.iter().find(|(wrapper, _)| *wrapper == program).map_or(program, |(_, own)| own);
    if PREPARING.has(program) || LOOKUPS.has(program) || FILTERS.has(program) {
        return None;
    }
    // A call that asks a program about itself says nothing about the work.
    let first_argument = words.clone().next();
    if first_argument.is_some_and(|argument| ABOUT_ITSELF.contains(&argument))
        || words.clone().any(|word| word.starts_with("--") && ABOUT_ITSELF.contains(&word))
    {
        return None;
    }
    if !WITH_SUBCOMMAND.has(program) && !WITH_SUBCOMMAND.has(first) {
        return Some(program.to_owned());
    }
    // The value of an option comes before the subcommand: `docker compose -f compose.yml logs`.
    let mut is_value = false;
    let words = words.filter(move |word| !std::mem::replace(&mut is_value, WITH_VALUES.contains(word)));
    let words = words.filter(|word| !word.starts_with('-') || RUNNING.has(word));
    // What is cleaned is then built again.
    let mut words = words.peekable();
    if CLEANING.has(program) && words.peek() == Some(&"clean") {
        let mut behind = words.clone().skip(1);
        if behind.any(|word| word.bytes().all(|one| one.is_ascii_alphabetic() || one == b'-')) {
            words.next();
        }
    }
    let mut purpose = program.to_owned();
    for word in words {
        purpose.push(' ');
        purpose.push_str(word);
        if !RUNNING.has(word) {
            break;
        }
    }
    Some(purpose)
}

/// Options that only shape what a check prints.
static OUTPUT_OPTIONS: WordList = word_list!(PROGRAMS, "commands: output options");
/// Arguments that ask a program about itself.
const ABOUT_ITSELF: &[&str] = listed!(PROGRAMS, "commands: about itself");

/// What distinguishes a run of a check from runs of other checks: its programs, targets and options, without options
/// that only shape the output.
pub(crate) fn check_key(command: &str) -> String {
    let command = core_command(command).replace("2>&1", " ");
    let mut key = String::with_capacity(command.len());
    for step in command.split(['|', ';', '&', '\n']).map(str::trim).filter(|step| purpose(step).is_some()) {
        let step = without_variables(step);
        for (at, word) in without_launchers(step).split_whitespace().enumerate() {
            if OUTPUT_OPTIONS.has(word) || word.contains('>') {
                continue;
            }
            let word = if at == 0 { word.trim_start_matches("./") } else { word };
            key.push_str(word.trim_matches(['"', '\'']));
            key.push(' ');
        }
    }
    // The directory of a command is part of what it checks.
    if let Some(directory) = command.strip_prefix("cd ").and_then(|rest| rest.split(' ').next()) {
        key.push_str(directory);
    }
    key
}

/// A step without the variables before its program: `PYTHONPATH=src pytest`.
fn without_variables(step: &str) -> &str {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    let mut rest = step.trim_start();
    while let Some((first, after)) = rest.split_once(' ')
        && first.split_once('=').is_some_and(|(name, value)| is_name(name) && !value.contains(['"', '\'', '`', '$']))
    {
        rest = after.trim_start();
    }
    rest
}

/// A step without the programs that only launch another one, such as `uv run` and `python -m`.
fn without_launchers(step: &str) -> &str {
    let mut rest = step.trim_start();
    // Each of them is shorter than the rest.
    while let Some((first, after)) = rest.split_once(' ') {
        let name = base_name(first);
        let after = after.trim_start();
        // Most of them differ in the first byte.
        let first = name.bytes().next();
        let launched = |launcher: &&str| {
            let launcher = Some(launcher).filter(|launcher| launcher.bytes().next() == first)?;
            after.strip_prefix(launcher.strip_prefix(name)?.strip_prefix(' ')?)
        };
        let Some(own) = LAUNCHERS.iter().find_map(launched) else { break };
        let own = own.trim_start();
        // An option of the launcher itself comes first.
        if own.is_empty() || own.starts_with('-') {
            break;
        }
        rest = own;
    }
    rest
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
        program(filter).is_some_and(|name| FILTERS.has(name)) && !filter.contains("&&") && !filter.contains(';');
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

/// The characters outside quotes, with their offsets. Separators inside quotes do not count. A backtick is returned as
/// a single quote, so read it from the command itself.
fn outside_quotes(command: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    let mark_of = |character: char| if character == '`' { '\'' } else { character };
    command.char_indices().filter(move |(_, character)| match (quote, mark_of(*character)) {
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
    memchr::memchr3(b'"', b'\'', b'`', command.as_bytes()).is_some()
}

pub(super) fn without_quoted(command: &str) -> Cow<'_, str> {
    if !has_quotes(command) {
        return Cow::Borrowed(command);
    }
    outside_quotes(command).map(|(_, character)| character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_some_tests_is_narrower_than_one_of_all() {
        for (own, other, expected) in [
            ("bun test src/a.test.ts src/b.test.ts", "bun test", true),
            ("bun test", "bun test src/a.test.ts", false),
            ("bun test src/a.test.ts", "bun test src/a.test.ts", false),
            ("bun test src/b.test.ts", "bun test src/a.test.ts", true),
            ("bun test src", "bun test src/a.test.ts", false),
            ("bun test --timeout 9000", "bun test", false),
            ("python -m pytest tests/test_a.py::test_one -q", "pytest tests/test_a.py", true),
            ("pytest tests/test_a.py -v --tb short", "python -m pytest ./tests/test_a.py::test_one", false),
            ("pytest -k lamp", "pytest -q", true),
            ("pytest -n auto -q", "pytest", false),
            ("cargo test -p hall", "cargo test", true),
            ("cargo test --workspace", "cargo test -p hall", false),
            ("go test ./...", "go test ./hall", false),
            ("go test ./hall -run TestLamp -count=1", "go test ./...", true),
            ("npm test -- --grep lamp", "npm test", true),
            ("npm test 2>&1 | tail -5", "npm test", false),
            ("CI=1 npx vitest run", "npx vitest run src/lamp", false),
        ] {
            assert_eq!(is_narrower(&selected_tests(own), &selected_tests(other)), expected, "{own} / {other}");
        }
    }

    #[test]
    fn the_options_at_the_end_of_a_long_command_give_way_to_its_target() {
        let run = "python -m pytest tests/hall/test_lamp.py::TestLamp::test_burns_at_night";
        assert_eq!(clip_command(&format!("{run} -v --tb=short"), 76), format!("{run} \u{2026}"));
        assert_eq!(clip_command(&format!("{run} -v"), 200), format!("{run} -v"));
        assert!(clip_command(&format!("{run} -v --tb=short"), 60).ends_with("burns_at_night"));
        assert_eq!(without_last_options("make -j"), None);
        assert_eq!(without_last_options("git push --force"), None, "it does something else");
        assert_eq!(without_last_options("cargo test --quiet"), Some("cargo test"));
    }

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
    fn a_command_is_told_without_the_way_to_its_directory() {
        let mut root = None;
        for (command, expected) in [
            ("python run.py", "python run.py"),
            ("cd /tmp/probe && make", "cd /tmp/probe && make"),
            ("cd /home/dev/shop && source .venv/bin/activate && python -m pytest -v", "python -m pytest -v"),
            ("cd /home/dev/shop; export A=1; make test", "make test"),
            ("cd /home/dev/shop/ui && npm test", "cd ui && npm test"),
            ("cd /home/dev/shopping && npm test", "cd /home/dev/shopping && npm test"),
            ("cd \"/home/dev/shop\" && npm test", "npm test"),
            ("cd ui && npm test", "cd ui && npm test"),
            ("cd $(git rev-parse --show-toplevel) && make", "make"),
            ("cd /home/dev/shop", "cd /home/dev/shop"),
            ("cd /home/dev/shop &&", "cd /home/dev/shop &&"),
            ("cd /home/dev && cd shop && make", "cd /home/dev && cd shop && make"),
            ("echo 'cd /a && b'", "echo 'cd /a && b'"),
        ] {
            assert_eq!(without_shell_setup(command, &mut root), expected, "{command}");
        }
        assert_eq!(root.as_deref(), Some("/home/dev/shop"));
        let endless = "cd a && ".repeat(100_000);
        assert_eq!(without_shell_setup(&endless, &mut root), endless);
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
            ("python -m pytest tests -q", &["pytest"]),
            ("uv run python -m pytest -v | tail", &["pytest"]),
            ("npx vitest run", &["vitest"]),
            ("./mvnw clean test -q", &["mvn test"]),
            ("mvn clean -q", &["mvn clean"]),
            ("python run.py", &["python run.py"]),
            ("./scripts/check.sh --all; ls", &["check.sh"]),
            ("ls | grep x", &[]),
            ("golangci-lint version --json; pytest --help", &[]),
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
    fn a_check_is_known_by_its_program_and_target() {
        for (one, other) in [
            ("python -m pytest -v tests/a.py 2>&1 | tail -3", "pytest tests/a.py"),
            ("uv run pytest", "pytest -q"),
            ("./mvnw test", "mvnw test -X"),
            ("PYTHONPATH=src CI=1 pytest tests", "pytest tests"),
        ] {
            assert_eq!(check_key(one), check_key(other), "{one}");
        }
        for (one, other) in [
            ("pytest tests/a.py", "pytest tests/b.py"),
            ("pytest", "pytest -k name"),
            ("npm test", "npm test --filter=web"),
            ("cd ui && npm test", "npm test"),
        ] {
            assert_ne!(check_key(one), check_key(other), "{one}");
        }
    }

    #[test]
    fn code_in_a_command_is_told_by_what_it_uses() {
        let shop = "python3 -c \"import sys from pathlib import Path from shop.orders import load_orders, total from json \
                    import dumps rows = load_orders(Path('orders.csv')) print(dumps(total(rows)))\"";
        assert_eq!(
            clip_command(shop, 70),
            "python3 -c \"\u{2026} from shop.orders import load_orders, total from json\u{2026}"
        );
        let script =
            "node -e \"const {read} = require('./store'); for (const row of read()) console.log(row.id, row.name)\"";
        assert_eq!(clip_command(script, 50), "node -e \"const {read} = require('./store'); for\u{2026}");
        // A short command and one without code stay as they were.
        assert_eq!(clip_command("python3 -c 'print(1)'", 40), "python3 -c 'print(1)'");
        let long = format!("make {}", "target ".repeat(20));
        assert_eq!(clip_command(&long, 40), clip_middle(&long, 40));
    }

    #[test]
    fn formatters_change_nothing_but_the_layout() {
        for command in ["cargo fmt", "cd ui && npx prettier --write src", "make format", "black . ; isort ."] {
            assert!(only_formats(command), "{command}");
        }
        for command in ["cargo fmt && cargo test", "make", "echo format", "git commit -m 'run the format'", ""] {
            assert!(!only_formats(command), "{command}");
        }
    }

    #[test]
    fn looking_changes_nothing() {
        for command in ["sed -n 1,5p 'a b' | head", "cd a && git remote -v 2>&1; gh repo view x", "git log | grep a"] {
            assert!(only_looks(command), "{command}");
        }
        for command in ["python --version", "conda info --envs", "conda activate a", "docker compose -f a.yml logs b"] {
            assert!(only_looks(command), "{command}");
        }
        for command in ["sed -Ei s/a/b/ c", "sed --in-place s/a/b/ c", "python ./tools/a.py status | cat"] {
            assert!(!only_looks(command), "{command}");
        }
        for command in ["sed -i s/a/b/ c", "git push", "cat a | python run.py", "sudo make install", "rm a", ""] {
            assert!(!only_looks(command), "{command}");
        }
        assert_eq!(
            purposes("docker compose -f a.yml logs b && make --directory c build"),
            ["docker compose logs", "make build"]
        );
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
