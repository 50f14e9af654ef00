//! Finds the files that command lines clearly print or write.
//!
//! It parses quotes, separators, redirections and here-documents. Words that only a shell can expand
//! (variables, patterns, loops over files) do not count as files.

use super::{FileAccess, FileUse, patch};
use crate::text::base_name;

/// Maximum bytes of a command line that is parsed. Longer ones carry data.
const LONGEST: usize = 256 * 1024;
/// Programs that print files.
const PRINTERS: &[&str] = &["cat", "head", "tail", "nl", "less", "more", "bat", "batcat", "sed", "Get-Content"];
/// Programs that pass on part of their input.
const CUTTERS: &[&str] = &["cat", "head", "tail", "nl", "less", "more", "bat", "sed", "fold", "Select-Object"];
/// Programs whose output is their input or arguments.
const TEXT_WRITERS: &[&str] = &["cat", "echo", "printf"];
const PATCHERS: &[&str] = &["apply_patch", "applypatch"];
/// Words before a command that only say how it runs.
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
    Some(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

/// The commands of a line, each as its words without quotes.
pub(crate) fn words_of_steps(line: &str) -> Vec<Vec<String>> {
    let words = |simple: Simple| simple.words.into_iter().map(|word| word.text).collect();
    commands(line).into_iter().map(words).collect()
}

/// Whether the command line only applies a patch.
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
        let after = commands[at + 1..].iter().take_while(|next| next.is_piped);
        finder.inspect(simple, before, after);
    }
    finder.files
}

#[derive(Default)]
struct Finder {
    /// The directory that earlier commands changed to; empty if no command did.
    directory: String,
    files: Vec<FileUse>,
}

impl Finder {
    fn inspect<'a>(&mut self, simple: &Simple, before: Option<&Simple>, after: impl Iterator<Item = &'a Simple>) {
        let Some((name, arguments)) = program(simple) else { return };
        let is_given_text =
            simple.heredoc.is_some() || before.and_then(program).is_some_and(|(name, _)| writes_text(name));
        match name {
            "cd" | "pushd" => self.change_directory(arguments),
            "tee" if is_given_text => self.tee(arguments),
            "sed" | "perl" if in_place(name, arguments) => {
                edited(name, arguments).for_each(|path| self.add(FileAccess::Edit, path));
            }
            name if PATCHERS.contains(&name) => self.patch(simple.heredoc.as_deref().or(first_text(arguments))),
            "patch" | "git" => self.patch(simple.heredoc.as_deref()),
            name if writes_text(name) && !simple.writes.is_empty() => {}
            name if is_among(PRINTERS, name) && is_shown(simple, after) => {
                printed(name, arguments).for_each(|path| self.add(FileAccess::Read, path));
            }
            _ => {}
        }
        if writes_text(name) {
            for (target, appends) in &simple.writes {
                self.add(if *appends { FileAccess::Edit } else { FileAccess::Write }, target);
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
        let access = if appends { FileAccess::Edit } else { FileAccess::Write };
        operands(arguments).for_each(|word| self.add(access, word));
    }

    fn patch(&mut self, text: Option<&str>) {
        for file in text.map(patch::files).unwrap_or_default() {
            self.add_path(file.access, &file.path);
        }
    }

    fn add(&mut self, access: FileAccess, word: &Word) {
        if word.is_plain {
            self.add_path(access, &word.text);
        }
    }

    fn add_path(&mut self, access: FileAccess, path: &str) {
        let is_file = !path.is_empty() && path != "-" && !path.starts_with("/dev/") && !path.ends_with('/');
        let file = FileUse { access, path: within(&self.directory, path) };
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

fn writes_text(name: &str) -> bool {
    TEXT_WRITERS.contains(&name)
}

/// Whether the output goes to the reader: not into a file, and only through programs that shorten it.
fn is_shown<'a>(simple: &Simple, mut after: impl Iterator<Item = &'a Simple>) -> bool {
    let cuts = |next: &Simple| program(next).is_some_and(|(name, _)| is_among(CUTTERS, name));
    simple.writes.is_empty() && after.all(|next| cuts(next) && next.writes.is_empty())
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

/// The files that `sed -i` and `perl -pi` edit: all operands after the script.
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

/// Maximum depth of nested substitutions.
const DEEPEST: usize = 32;

/// One command of a line.
#[derive(Debug, Default, PartialEq, Eq)]
struct Simple {
    words: Vec<Word>,
    /// Files that its output goes to, and whether it is appended.
    writes: Vec<(Word, bool)>,
    /// The text of its here-document.
    heredoc: Option<String>,
    /// Whether its input is the output of the previous command.
    is_piped: bool,
}

/// A word without its quotes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    /// Whether it is literal: without variables, patterns and substitutions.
    is_plain: bool,
}

/// The commands of a line, in order, including those in parentheses.
fn commands(line: &str) -> Vec<Simple> {
    if line.len() > LONGEST {
        return Vec::new();
    }
    let mut lexer = Lexer { rest: Rest(line), commands: Vec::new(), simple: Simple::default(), open: Vec::new() };
    while lexer.step() {}
    lexer.end(false);
    lexer.commands
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(is_safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The part of a line that was not read yet.
struct Rest<'a>(&'a str);

impl Iterator for Rest<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.0 = &self.0[next.len_utf8()..];
        Some(next)
    }
}

impl<'a> Rest<'a> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn next_if(&mut self, is_wanted: impl FnOnce(char) -> bool) -> Option<char> {
        self.peek().filter(|next| is_wanted(*next)).and_then(|_| self.next())
    }

    fn next_if_eq(&mut self, wanted: char) -> Option<char> {
        self.next_if(|next| next == wanted)
    }

    /// The characters before the first one that `ends` the text, or all of them. Only ASCII can end it.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        let end = self.0.bytes().position(|byte| byte.is_ascii() && ends(byte)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    /// As [`Rest::take_until`] the first `mark`, which is skipped.
    fn take_past(&mut self, mark: u8) -> &'a str {
        let taken = self.take_until(|byte| byte == mark);
        self.next();
        taken
    }
}

struct Lexer<'a> {
    rest: Rest<'a>,
    commands: Vec<Simple>,
    simple: Simple,
    /// Here-documents that begin with the next line: their command, their last line, and whether tabs
    /// are dropped.
    open: Vec<(usize, String, bool)>,
}

impl Lexer<'_> {
    /// Reads one word, separator or redirection; `false` at the end.
    fn step(&mut self) -> bool {
        let Some(next) = self.rest.peek() else { return false };
        match next {
            '\n' => {
                self.rest.next();
                self.end(false);
                self.read_heredocs();
            }
            ' ' | '\t' | '\r' => {
                self.rest.next();
            }
            '#' => drop(self.rest.take_until(|byte| byte == b'\n')),
            ';' | '(' | ')' => {
                self.rest.next();
                self.end(false);
            }
            '|' => {
                self.rest.next();
                let is_alternative = self.rest.next_if_eq('|').is_some();
                self.rest.next_if_eq('&');
                self.end(!is_alternative);
            }
            '&' => self.ampersand(),
            '>' | '<' => self.redirection(),
            _ => self.word_or_descriptor(),
        }
        true
    }

    fn end(&mut self, pipes: bool) {
        let simple = std::mem::replace(&mut self.simple, Simple { is_piped: pipes, ..Simple::default() });
        let index = self.commands.len();
        let is_empty = simple.words.is_empty() && simple.writes.is_empty();
        if is_empty && !self.open.iter().any(|(command, ..)| *command == index) {
            self.simple.is_piped |= simple.is_piped && pipes;
            return;
        }
        self.commands.push(simple);
    }

    fn ampersand(&mut self) {
        self.rest.next();
        if self.rest.peek() == Some('>') {
            return self.redirection();
        }
        self.rest.next_if_eq('&');
        self.end(false);
    }

    fn redirection(&mut self) {
        let Some(mark) = self.rest.next() else { return };
        if mark == '<' {
            return self.input();
        }
        let appends = self.rest.next_if_eq('>').is_some();
        self.rest.next_if_eq('|');
        if self.rest.next_if_eq('&').is_some() {
            // `2>&1` duplicates a descriptor.
            self.word();
            return;
        }
        self.skip_blanks();
        if let Some(word) = self.word() {
            self.simple.writes.push((word, appends));
        }
    }

    fn input(&mut self) {
        if self.rest.next_if_eq('<').is_none() {
            self.rest.next_if_eq('&');
            if self.rest.next_if_eq('(').is_some() {
                skip_substitution(&mut self.rest, 0);
                return;
            }
            self.skip_blanks();
            self.word();
            return;
        }
        if self.rest.next_if_eq('<').is_some() {
            self.skip_blanks();
            self.simple.heredoc = self.word().map(|word| word.text);
            return;
        }
        let drops_tabs = self.rest.next_if_eq('-').is_some();
        self.skip_blanks();
        if let Some(word) = self.word() {
            self.open.push((self.commands.len(), word.text, drops_tabs));
        }
    }

    /// Reads the texts that begin with this line.
    fn read_heredocs(&mut self) {
        for (command, last, drops_tabs) in std::mem::take(&mut self.open) {
            let text = heredoc(&mut self.rest, &last, drops_tabs);
            if let Some(simple) = self.commands.get_mut(command) {
                simple.heredoc = Some(text);
            }
        }
    }

    fn skip_blanks(&mut self) {
        self.rest.0 = self.rest.0.trim_start_matches([' ', '\t']);
    }

    /// Reads a word. Digits directly before a redirection name a descriptor.
    fn word_or_descriptor(&mut self) {
        let Some(word) = self.word() else {
            self.rest.next();
            return;
        };
        let is_descriptor = word.text.len() == 1 && word.text.starts_with(|first: char| first.is_ascii_digit());
        match self.rest.peek() {
            Some('>') if is_descriptor && word.text != "1" => {
                let known = self.simple.writes.len();
                self.redirection();
                self.simple.writes.truncate(known);
            }
            Some('>' | '<') if is_descriptor => self.redirection(),
            _ => self.simple.words.push(word),
        }
    }

    fn word(&mut self) -> Option<Word> {
        let mut word = Word { text: String::new(), is_plain: true };
        let mut is_begun = false;
        while let Some(next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                _ => {}
            }
            is_begun = true;
            self.rest.next();
            match next {
                '\'' => word.text.push_str(self.rest.take_past(b'\'')),
                '"' => self.double_quoted(&mut word),
                '\\' => match self.rest.next() {
                    Some('\n') | None => {}
                    // Paths of Windows keep their separators.
                    Some(letter) if letter.is_alphanumeric() => word.text.extend(['\\', letter]),
                    Some(character) => word.text.push(character),
                },
                '$' | '`' => self.substitution(next, &mut word),
                '*' | '?' | '[' | '{' => {
                    word.is_plain = false;
                    word.text.push(next);
                }
                _ => {
                    word.text.push(next);
                    word.text.push_str(self.rest.take_until(is_special));
                }
            }
        }
        is_begun.then_some(word)
    }

    fn double_quoted(&mut self, word: &mut Word) {
        while let Some(next) = self.rest.next() {
            match next {
                '"' => return,
                '\\' => match self.rest.next() {
                    Some(mark @ ('"' | '\\' | '$' | '`')) => word.text.push(mark),
                    Some('\n') | None => {}
                    Some(character) => word.text.extend(['\\', character]),
                },
                '$' | '`' => self.substitution(next, word),
                _ => {
                    word.text.push(next);
                    word.text.push_str(self.rest.take_until(is_special_in_quotes));
                }
            }
        }
    }

    fn substitution(&mut self, mark: char, word: &mut Word) {
        word.is_plain = false;
        match (mark, self.rest.peek()) {
            ('`', _) => drop(self.rest.take_past(b'`')),
            (_, Some('(')) => {
                self.rest.next();
                skip_substitution(&mut self.rest, 0);
            }
            _ => word.text.push(mark),
        }
    }
}

/// Whether the byte ends a word or is more than a part of its text.
fn is_special(byte: u8) -> bool {
    let ends_word = matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')');
    ends_word || matches!(byte, b'\'' | b'*' | b'?' | b'[' | b'{') || is_special_in_quotes(byte)
}

/// The same between double quotes.
fn is_special_in_quotes(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'$' | b'`')
}

/// Skips to the end of the closing parenthesis, over quotes and here-documents.
fn skip_substitution(rest: &mut Rest<'_>, depth: usize) {
    let mut level = 1;
    let mut open: Vec<(String, bool)> = Vec::new();
    while let Some(next) = rest.next() {
        match next {
            '(' => level += 1,
            ')' => level -= 1,
            '\\' => {
                rest.next();
            }
            '\'' => drop(rest.take_past(b'\'')),
            '"' => skip_double_quoted(rest, depth),
            '<' if rest.next_if_eq('<').is_some() && rest.peek() != Some('<') => {
                let drops_tabs = rest.next_if_eq('-').is_some();
                while rest.next_if_eq(' ').is_some() {}
                let mut last = String::new();
                while let Some(part) = rest.next_if(|part| part.is_alphanumeric() || "_'\"\\".contains(part)) {
                    if part.is_alphanumeric() || part == '_' {
                        last.push(part);
                    }
                }
                open.push((last, drops_tabs));
            }
            '\n' => open.drain(..).for_each(|(last, drops_tabs)| {
                heredoc(rest, &last, drops_tabs);
            }),
            _ => {}
        }
        if level == 0 {
            return;
        }
    }
}

fn skip_double_quoted(rest: &mut Rest<'_>, depth: usize) {
    while let Some(next) = rest.next() {
        match next {
            '"' => return,
            '\\' => {
                rest.next();
            }
            '$' if depth < DEEPEST && rest.next_if_eq('(').is_some() => skip_substitution(rest, depth + 1),
            _ => {}
        }
    }
}

/// Reads the lines up to `last`, which is consumed too.
fn heredoc(rest: &mut Rest<'_>, last: &str, drops_tabs: bool) -> String {
    let mut text = String::new();
    while rest.peek().is_some() {
        let line = rest.take_past(b'\n');
        let bare = if drops_tabs { line.trim_start_matches('\t') } else { line };
        if bare.trim_end_matches('\r') == last {
            break;
        }
        text.push_str(bare);
        text.push('\n');
    }
    text
}
