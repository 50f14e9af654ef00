//! Splits a command line into words, separators, redirections and here-documents.

use std::iter::Peekable;
use std::str::Chars;

/// Maximum depth of nested substitutions.
const DEEPEST: usize = 32;

/// One command of a line.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    pub(super) words: Vec<Word>,
    /// Files that its output goes to, and whether it is appended.
    pub(super) writes: Vec<(Word, bool)>,
    /// The text of its here-document.
    pub(super) heredoc: Option<String>,
    /// Whether its input is the output of the previous command.
    pub(super) is_piped: bool,
}

/// A word without its quotes.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// Whether it is literal: without variables, patterns and substitutions.
    pub(super) is_plain: bool,
}

/// The commands of a line, in order, including those in parentheses.
pub(super) fn commands(line: &str) -> Vec<Simple> {
    let mut lexer =
        Lexer { rest: line.chars().peekable(), commands: Vec::new(), simple: Simple::default(), open: Vec::new() };
    while lexer.step() {}
    lexer.end(false);
    lexer.commands
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    let is_safe = |character: char| character.is_ascii_alphanumeric() || "-_./:=,@%+".contains(character);
    if !word.is_empty() && word.chars().all(is_safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

struct Lexer<'a> {
    rest: Peekable<Chars<'a>>,
    commands: Vec<Simple>,
    simple: Simple,
    /// Here-documents that begin with the next line: their command, their last line, and whether tabs
    /// are dropped.
    open: Vec<(usize, String, bool)>,
}

impl Lexer<'_> {
    /// Reads one word, separator or redirection; `false` at the end.
    fn step(&mut self) -> bool {
        let Some(&next) = self.rest.peek() else { return false };
        match next {
            '\n' => {
                self.rest.next();
                self.end(false);
                self.read_heredocs();
            }
            ' ' | '\t' | '\r' => {
                self.rest.next();
            }
            '#' => while self.rest.next_if(|character| *character != '\n').is_some() {},
            ';' | '(' | ')' => {
                self.rest.next();
                self.end(false);
            }
            '|' => {
                self.rest.next();
                let is_alternative = self.rest.next_if_eq(&'|').is_some();
                self.rest.next_if_eq(&'&');
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
        if self.rest.peek() == Some(&'>') {
            return self.redirection();
        }
        self.rest.next_if_eq(&'&');
        self.end(false);
    }

    fn redirection(&mut self) {
        let Some(mark) = self.rest.next() else { return };
        if mark == '<' {
            return self.input();
        }
        let appends = self.rest.next_if_eq(&'>').is_some();
        self.rest.next_if_eq(&'|');
        if self.rest.next_if_eq(&'&').is_some() {
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
        if self.rest.next_if_eq(&'<').is_none() {
            self.rest.next_if_eq(&'&');
            if self.rest.next_if_eq(&'(').is_some() {
                skip_substitution(&mut self.rest, 0);
                return;
            }
            self.skip_blanks();
            self.word();
            return;
        }
        if self.rest.next_if_eq(&'<').is_some() {
            self.skip_blanks();
            self.simple.heredoc = self.word().map(|word| word.text);
            return;
        }
        let drops_tabs = self.rest.next_if_eq(&'-').is_some();
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
        while self.rest.next_if(|character| matches!(character, ' ' | '\t')).is_some() {}
    }

    /// Reads a word. Digits directly in front of a redirection name a descriptor.
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
        while let Some(&next) = self.rest.peek() {
            match next {
                ' ' | '\t' | '\r' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                _ => {}
            }
            is_begun = true;
            self.rest.next();
            match next {
                '\'' => word.text.extend(self.rest.by_ref().take_while(|character| *character != '\'')),
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
                _ => word.text.push(next),
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
                _ => word.text.push(next),
            }
        }
    }

    fn substitution(&mut self, mark: char, word: &mut Word) {
        word.is_plain = false;
        match (mark, self.rest.peek()) {
            ('`', _) => while self.rest.next().is_some_and(|character| character != '`') {},
            (_, Some('(')) => {
                self.rest.next();
                skip_substitution(&mut self.rest, 0);
            }
            _ => word.text.push(mark),
        }
    }
}

/// Skips behind the closing parenthesis, over quotes and here-documents.
fn skip_substitution(rest: &mut Peekable<Chars<'_>>, depth: usize) {
    let mut level = 1;
    let mut open: Vec<(String, bool)> = Vec::new();
    while let Some(next) = rest.next() {
        match next {
            '(' => level += 1,
            ')' => level -= 1,
            '\\' => {
                rest.next();
            }
            '\'' => while rest.next().is_some_and(|character| character != '\'') {},
            '"' => skip_double_quoted(rest, depth),
            '<' if rest.next_if_eq(&'<').is_some() && rest.peek() != Some(&'<') => {
                let drops_tabs = rest.next_if_eq(&'-').is_some();
                while rest.next_if_eq(&' ').is_some() {}
                let mut last = String::new();
                while let Some(part) = rest.next_if(|part| part.is_alphanumeric() || "_'\"\\".contains(*part)) {
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

fn skip_double_quoted(rest: &mut Peekable<Chars<'_>>, depth: usize) {
    while let Some(next) = rest.next() {
        match next {
            '"' => return,
            '\\' => {
                rest.next();
            }
            '$' if depth < DEEPEST && rest.next_if_eq(&'(').is_some() => skip_substitution(rest, depth + 1),
            _ => {}
        }
    }
}

/// Reads the lines up to `last`, which is consumed too.
fn heredoc(rest: &mut Peekable<Chars<'_>>, last: &str, drops_tabs: bool) -> String {
    let mut text = String::new();
    while rest.peek().is_some() {
        let line: String = rest.by_ref().take_while(|character| *character != '\n').collect();
        let bare = if drops_tabs { line.trim_start_matches('\t') } else { &line };
        if bare.trim_end_matches('\r') == last {
            break;
        }
        text.push_str(bare);
        text.push('\n');
    }
    text
}
