//! Finds the files that command lines clearly print or write.
//!
//! It parses quotes, separators, redirections and here-documents. Words that only a shell can expand
//! (variables, patterns, loops over files) do not count as files.

mod lexer;

use super::{FileDeed, FileUse, patch};
use lexer::{Simple, Word};

/// Maximum bytes of a command line that is parsed. Longer ones carry data.
const LONGEST: usize = 256 * 1024;
/// Programs that print files.
const PRINTERS: &[&str] = &["cat", "head", "tail", "nl", "less", "more", "bat", "batcat", "sed", "Get-Content"];
/// Programs that pass on part of their input.
const CUTTERS: &[&str] = &["cat", "head", "tail", "nl", "less", "more", "bat", "sed", "fold", "Select-Object"];
/// Programs whose output is their input or arguments.
const SPEAKERS: &[&str] = &["cat", "echo", "printf"];
const PATCHERS: &[&str] = &["apply_patch", "applypatch"];
/// Words in front of a command that only say how it runs.
const PREFIXES: &[&str] =
    &["if", "then", "else", "elif", "do", "while", "until", "!", "{", "(", "time", "sudo", "command", "nohup", "env"];

/// The command line of a list of words, without a shell that runs it.
pub(super) fn joined(words: &[&str]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let name = base_name(program);
    let name = name.strip_suffix(".exe").unwrap_or(name);
    let is_shell = matches!(name, "bash" | "sh" | "zsh" | "dash" | "powershell" | "pwsh" | "cmd");
    let is_option = |word: &&&str| word.starts_with('-') || word.starts_with('/') && word.len() == 2;
    let options = rest.iter().take_while(is_option).count();
    if is_shell && options > 0 && rest.len() == options + 1 {
        return Some(rest[options].to_owned());
    }
    Some(words.iter().map(|word| lexer::quoted(word)).collect::<Vec<_>>().join(" "))
}

/// Whether the command line does nothing but apply a patch.
pub(super) fn is_patch(command: &str) -> bool {
    let commands = commands(command);
    let mut programs = commands.iter().filter_map(|simple| program(simple).map(|(name, _)| name)).peekable();
    programs.peek().is_some()
        && programs.clone().any(|name| PATCHERS.contains(&name))
        && programs.all(|name| PATCHERS.contains(&name) || name == "cd")
}

/// The files of a command line, each operation once.
pub(super) fn files(command: &str) -> Vec<FileUse> {
    let commands = commands(command);
    let mut finder = Finder::default();
    for (at, simple) in commands.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| commands.get(before)).filter(|_| simple.is_piped);
        let behind = commands[at + 1..].iter().take_while(|next| next.is_piped);
        finder.look_at(simple, before, behind);
    }
    finder.files
}

fn commands(command: &str) -> Vec<Simple> {
    if command.len() > LONGEST { Vec::new() } else { lexer::commands(command) }
}

#[derive(Default)]
struct Finder {
    /// The directory that earlier commands have changed to; empty if none has.
    directory: String,
    files: Vec<FileUse>,
}

impl Finder {
    fn look_at<'a>(&mut self, simple: &Simple, before: Option<&Simple>, behind: impl Iterator<Item = &'a Simple>) {
        let Some((name, arguments)) = program(simple) else { return };
        let is_given_text = simple.heredoc.is_some() || before.and_then(program).is_some_and(|(name, _)| speaks(name));
        match name {
            "cd" | "pushd" => self.change_directory(arguments),
            "tee" if is_given_text => self.tee(arguments),
            "sed" | "perl" if in_place(name, arguments) => {
                edited(name, arguments).for_each(|path| self.add(FileDeed::Edit, path));
            }
            name if PATCHERS.contains(&name) => self.patch(simple.heredoc.as_deref().or(first_text(arguments))),
            "patch" | "git" => self.patch(simple.heredoc.as_deref()),
            name if speaks(name) && !simple.writes.is_empty() => {}
            name if is_among(PRINTERS, name) && is_shown(simple, behind) => {
                printed(name, arguments).for_each(|path| self.add(FileDeed::Read, path));
            }
            _ => {}
        }
        if speaks(name) {
            for (target, appends) in &simple.writes {
                self.add(if *appends { FileDeed::Edit } else { FileDeed::Write }, target);
            }
        }
    }

    fn change_directory(&mut self, arguments: &[Word]) {
        match arguments.first().filter(|word| word.is_plain) {
            Some(word) => self.directory = within(&self.directory, &word.text),
            None => self.directory.clear(),
        }
    }

    fn tee(&mut self, arguments: &[Word]) {
        let appends = arguments.iter().any(|word| word.text == "-a" || word.text == "--append");
        let deed = if appends { FileDeed::Edit } else { FileDeed::Write };
        operands(arguments).for_each(|word| self.add(deed, word));
    }

    fn patch(&mut self, text: Option<&str>) {
        for file in text.map(patch::files).unwrap_or_default() {
            self.add_path(file.deed, &file.path);
        }
    }

    fn add(&mut self, deed: FileDeed, word: &Word) {
        if word.is_plain {
            self.add_path(deed, &word.text);
        }
    }

    fn add_path(&mut self, deed: FileDeed, path: &str) {
        let is_file = !path.is_empty() && path != "-" && !path.starts_with("/dev/") && !path.ends_with('/');
        let file = FileUse { deed, path: within(&self.directory, path) };
        if is_file && !self.files.contains(&file) {
            self.files.push(file);
        }
    }
}

/// `path` relative to `directory`, unless it is absolute.
fn within(directory: &str, path: &str) -> String {
    let path = path.strip_prefix("./").filter(|path| !path.is_empty()).unwrap_or(path);
    let is_rooted = path.starts_with(['/', '~', '\\']) || path.as_bytes().get(1) == Some(&b':');
    match directory.trim_end_matches('/') {
        _ if is_rooted => path.to_owned(),
        "" | "." => path.to_owned(),
        directory => format!("{directory}/{path}"),
    }
}

/// Name and arguments of a command, without words that only say how it runs.
fn program(simple: &Simple) -> Option<(&str, &[Word])> {
    let is_setting = |word: &Word| word.text.split_once('=').is_some_and(|(name, _)| is_name(name));
    let skipped = simple.words.iter().take_while(|word| PREFIXES.contains(&word.text.as_str()) || is_setting(word));
    let (name, arguments) = simple.words.get(skipped.count()..)?.split_first()?;
    match name.text.as_str() {
        "timeout" => arguments.get(1..)?.split_first().map(|(name, arguments)| (base_name(&name.text), arguments)),
        name => Some((base_name(name), arguments)),
    }
}

fn is_name(text: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    text.chars().all(is_part) && text.starts_with(|first: char| !first.is_ascii_digit())
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn speaks(name: &str) -> bool {
    SPEAKERS.contains(&name)
}

/// Whether the output goes to the reader: not into a file, and only through programs that shorten it.
fn is_shown<'a>(simple: &Simple, mut behind: impl Iterator<Item = &'a Simple>) -> bool {
    let cuts = |next: &Simple| program(next).is_some_and(|(name, _)| is_among(CUTTERS, name));
    simple.writes.is_empty() && behind.all(|next| cuts(next) && next.writes.is_empty())
}

/// PowerShell's names are not case-sensitive.
fn is_among(names: &[&str], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    arguments.iter().filter(|word| !word.text.starts_with('-'))
}

fn first_text(arguments: &[Word]) -> Option<&str> {
    arguments.first().map(|word| word.text.as_str())
}

/// The files that a program prints.
fn printed<'a>(name: &str, arguments: &'a [Word]) -> impl Iterator<Item = &'a Word> {
    let only_parts = arguments.iter().any(|word| word.text == "-n" || word.text == "--quiet" || word.text == "-nE");
    let has_script = !arguments.iter().any(|word| word.text == "-e");
    let options_with_value: &[&str] = match name {
        "head" | "tail" => &["-n", "-c", "--lines", "--bytes"],
        "nl" => &["-b", "-n", "-s", "-v", "-w", "-f", "-h", "-i"],
        "bat" | "batcat" => &["-r", "--line-range", "-l", "--language", "--style"],
        "sed" => &["-e"],
        _ if name.contains('-') => &["-TotalCount", "-Tail", "-First", "-Last", "-Encoding"],
        _ => &[],
    };
    let is_value = move |at: usize| at > 0 && options_with_value.contains(&arguments[at - 1].text.as_str());
    let is_taken = move |(at, word): &(usize, &Word)| !word.text.starts_with('-') && !is_value(*at);
    let skipped = if name == "sed" && has_script { 1 } else { 0 };
    let is_printer = name != "sed" || only_parts;
    arguments.iter().enumerate().filter(is_taken).map(|(_, word)| word).skip(skipped).filter(move |_| is_printer)
}

/// Whether `sed` or `perl` edits its files in place.
fn in_place(name: &str, arguments: &[Word]) -> bool {
    let short = |text: &str| text.starts_with('-') && !text.starts_with("--");
    arguments.iter().map(|word| word.text.as_str()).any(|text| match name {
        "sed" => text.starts_with("-i") || text.starts_with("--in-place") || short(text) && text.ends_with('i'),
        _ => short(text) && text.len() < 6 && text.contains('i'),
    })
}

/// The files that `sed -i` and `perl -pi` edit: all operands behind the script.
fn edited<'a>(name: &str, arguments: &'a [Word]) -> impl Iterator<Item = &'a Word> {
    let takes_script = |text: &str| match name {
        "sed" => text == "-e" || text == "-f",
        _ => text.starts_with('-') && text.ends_with('e'),
    };
    let is_script: Vec<bool> = arguments.iter().map(|word| takes_script(&word.text)).collect();
    let has_script = is_script.contains(&true);
    let is_operand = move |(at, word): &(usize, &Word)| {
        let is_value = *at > 0 && is_script[*at - 1];
        // The empty argument of BSD's `-i ''` is not a file.
        !word.text.starts_with('-') && !word.text.is_empty() && !is_value
    };
    arguments.iter().enumerate().filter(is_operand).map(|(_, word)| word).skip(usize::from(!has_script))
}
