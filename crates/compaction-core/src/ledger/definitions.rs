//! What a line of a changed file is: a definition with its name, an import, a comment, or something that is left to do.

use super::text::{WordList, word_list};
use crate::phrases::{PROGRAMS, listed};
use crate::text::utf16_len;

/// How much an added line says about a file, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LineRank {
    /// It defines something or is a heading.
    Definition,
    Other,
    /// It only imports something, or hardly has a word.
    Import,
}

/// Fewest letters of a line that says something.
const FEWEST_LETTERS: usize = 8;
/// First words of definitions.
static DEFINING: WordList = word_list!(PROGRAMS, "definitions: defining");
/// Words that may come before them, such as `pub`.
static BEFORE_DEFINING: WordList = word_list!(PROGRAMS, "definitions: before defining");
/// First words of imports.
static IMPORTING: WordList = word_list!(PROGRAMS, "definitions: importing");

impl LineRank {
    pub(super) fn of(line: &str) -> Self {
        let mut words = line.split_whitespace().filter_map(|word| word.split(['(', ':']).next());
        let first = words.clone().next().unwrap_or_default();
        let is_heading = first.starts_with('#') && first.trim_start_matches('#').is_empty();
        // A letter of a script without spaces is three bytes, and says as much as several others.
        let letters = match line.is_ascii() {
            true => line.bytes().filter(u8::is_ascii_alphabetic).count(),
            false => line.chars().filter(|one| one.is_alphabetic()).map(char::len_utf8).sum(),
        };
        if IMPORTING.has(first) || !is_heading && letters < FEWEST_LETTERS {
            return Self::Import;
        }
        match is_heading || words.find(|word| !BEFORE_DEFINING.has(word)).is_some_and(|word| DEFINING.has(word)) {
            true => Self::Definition,
            false => Self::Other,
        }
    }
}

/// The kind of a file's lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Code,
    Prose,
    Styles,
}

impl Language {
    pub(super) fn of(path: &str) -> Self {
        let ending = path.rsplit(['/', '\\', '.']).next().unwrap_or_default();
        let is_one = |endings: &[&str]| endings.iter().any(|own| ending.eq_ignore_ascii_case(own));
        match () {
            () if is_one(&["md", "mdx", "markdown", "rst", "adoc", "txt"]) => Self::Prose,
            () if is_one(&["css", "scss", "sass", "less"]) => Self::Styles,
            () => Self::Code,
        }
    }
}

/// Whether a line of code is a comment, or the mark of a transcript for lines that were left out.
pub(super) fn is_comment(line: &str) -> bool {
    let is_shell = line.starts_with("# ") || line == "#" || line.starts_with("#!");
    is_shell || COMMENTS.iter().any(|mark| line.starts_with(mark)) || is_clipped(line)
}

/// Whether a line is the mark by which a transcript says that lines are left out: `...[truncated]`,
/// `[14 lines, not in the export]`.
pub(super) fn is_clipped(line: &str) -> bool {
    let is_word = |one: char| one.is_alphanumeric() || matches!(one, ' ' | ',');
    let words = line.trim_start_matches(['.', '\u{2026}']).strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    line.contains("[truncated]")
        || words.is_some_and(|words| {
            words.split(' ').filter(|word| !word.ends_with(',')).count() > 2 && words.chars().all(is_word)
        })
}

/// Whether a line of code only opens a block, prints a message, or has the mark of a diff.
pub(super) fn is_bare(line: &str) -> bool {
    let is_marked = line.starts_with("- ") || line.starts_with("+ ");
    is_marked || line.ends_with(['(', '[', '{', '<']) || LOGGING.iter().any(|start| line.starts_with(start))
}

/// Beginnings of lines that print a message.
const LOGGING: &[&str] = listed!(PROGRAMS, "definitions: logging");

/// Beginnings of comments.
const COMMENTS: &[&str] = listed!(PROGRAMS, "definitions: comments");

/// Whether a line of code says that something is left to do.
pub(super) fn is_unfinished(line: &str) -> bool {
    let is_word = |one: Option<char>| one.is_none_or(|one| !one.is_alphanumeric() && one != '_');
    let in_comment = |mark: &&str| {
        let parts = line.contains(*mark).then(|| line.split_once(*mark)).flatten();
        parts.is_some_and(|(before, behind)| {
            let has_mark = IN_LINE.iter().any(|mark| before.contains(mark));
            (has_mark || before.is_empty() || before == "* ")
                && is_word(before.chars().next_back())
                && is_word(behind.chars().next())
        })
    };
    let lower = line.to_ascii_lowercase();
    UNFINISHED.iter().any(|mark| lower.contains(mark)) || UNFINISHED_COMMENTS.iter().any(in_comment)
}

/// Marks that begin a comment anywhere in a line.
const IN_LINE: [&str; 6] = ["//", "#", "/*", "<!--", "--", ";;"];
/// Marks of unfinished work.
const UNFINISHED: &[&str] = listed!(PROGRAMS, "definitions: unfinished");
/// Words that are such marks in a comment.
const UNFINISHED_COMMENTS: [&str; 2] = ["TODO", "FIXME"];

/// Most UTF-16 units of a name that is told.
const LONGEST_NAME: usize = 64;
/// First words of lines that run something.
const CONTROL: &[&str] = listed!(PROGRAMS, "definitions: control");

/// The name that an added line of code defines: a function, a type, a field, an option, a route.
pub(super) fn defined(line: &str) -> Option<String> {
    let name = route(line).or_else(|| by_keyword(line)).or_else(|| method(line))?;
    // `__init__` says nothing.
    let says = utf16_len(&name) <= LONGEST_NAME && name.contains(char::is_alphabetic) && !name.starts_with("__");
    says.then_some(name)
}

/// The path of a route: `@PostMapping("/orders")`, `app.get('/orders', …`.
fn route(line: &str) -> Option<String> {
    let start = ["(\"/", "('/"].into_iter().find(|start| line.contains(*start))?;
    let (before, rest) = line.split_once(start)?;
    let is_call = before.starts_with('@') || before.split('.').next_back().is_some_and(|verb| VERBS.contains(&verb));
    let path = &rest[..rest.find(['"', '\''])?];
    (is_call && !before.contains(' ') && !path.contains(' ')).then(|| format!("/{path}"))
}

/// Methods of HTTP, as routers name them.
const VERBS: &[&str] = listed!(PROGRAMS, "definitions: verbs of routers");

/// The name after a word such as `fn`, with the kind of thing if the word says more than that it is code.
fn by_keyword(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let keyword = words.by_ref().find(|word| !BEFORE_DEFINING.has(word))?;
    if !DEFINING.has(keyword.trim_end_matches('(')) {
        return None;
    }
    let name = identifier(words.next()?)?;
    let behind = line.split_once(name)?.1;
    let is_called =
        behind.starts_with(['(', '<']) || behind.split_once('=').is_some_and(|(_, value)| is_function(value));
    // A value inside a function is not used elsewhere.
    let is_value = VALUES.contains(&keyword);
    let is_used = line.starts_with("export") || line.starts_with("pub") || !name.contains(char::is_lowercase);
    match is_called {
        true => Some(format!("{name}()")),
        false => (!is_value || is_used).then(|| name.to_owned()),
    }
}

/// Whether a value begins as a function does: `(row) => …`, `async row => …`, `function (row) {`.
fn is_function(value: &str) -> bool {
    let value = value.trim_start();
    let value = value.strip_prefix("async").map_or(value, str::trim_start);
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|one| one.is_alphanumeric() || "_$".contains(one));
    value.starts_with("function")
        || value.split_once("=>").is_some_and(|(before, _)| before.starts_with('(') || is_name(before.trim_end()))
}

/// Words that define values.
const VALUES: &[&str] = listed!(PROGRAMS, "definitions: values");

/// The name of a method without such a word: `public List<Row> rows(int from) {`, `async remove(row) {`. For a field,
/// the name before its value: `private Long id;`.
fn method(line: &str) -> Option<String> {
    let first = line.split(|one: char| !one.is_alphanumeric()).next().unwrap_or_default();
    if CONTROL.contains(&first) || line.starts_with(['}', '/', '*', '<', '#']) {
        return None;
    }
    let has_modifier = line.split_whitespace().next().is_some_and(|word| BEFORE_DEFINING.has(word));
    if let Some((before, rest)) = line.split_once('(') {
        // A function among the arguments of a call is no method: `useEffect(() => {`.
        let is_head = rest.contains(')') && !rest.contains("=>") && !before.contains(['=', '.', '"', '\'']);
        let name = before.split_whitespace().next_back().and_then(identifier)?;
        // A method without a body has its type before it: `List<Row> findByName(String name);`.
        let is_method = match line.strip_suffix('{') {
            Some(_) => has_modifier || !before.contains(' '),
            None => line.ends_with(");") && before.contains(' ') && !before.contains(':'),
        };
        return (is_head && is_method && before.ends_with(name)).then(|| format!("{name}()"));
    }
    let declared = line.strip_suffix(';').filter(|_| has_modifier)?;
    let declared = declared.split('=').next().unwrap_or(declared);
    declared.split_whitespace().next_back().and_then(identifier).map(str::to_owned)
}

/// The identifier at the beginning of a word.
fn identifier(word: &str) -> Option<&str> {
    let word = word.trim_start_matches(['*', '&', '"', '\'']);
    let end =
        word.find(|one: char| !one.is_alphanumeric() && !matches!(one, '_' | '$' | '!' | '?')).unwrap_or(word.len());
    Some(&word[..end])
        .filter(|name| name.chars().next().is_some_and(|first| first.is_alphabetic() || "_$".contains(first)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_names_are_those_that_lines_define() {
        for (line, name) in [
            ("pub(crate) async fn write(rows: &[Row]) -> Result<()> {", Some("write()")),
            ("def read_blocks(path):", Some("read_blocks()")),
            ("export const getRows = (tableId) => request.get(`/rows/${tableId}`)", Some("getRows()")),
            ("class FallbackContext:", Some("FallbackContext")),
            ("public static final String BUILD_TAG = \"b32\";", Some("BUILD_TAG")),
            ("private Long repositoryMethodId;", Some("repositoryMethodId")),
            ("public ResponseEntity<List<Row>> rows(@PathVariable Long id) {", Some("rows()")),
            ("async removeServiceMethod(row) {", Some("removeServiceMethod()")),
            ("@PostMapping(\"/tables/{id}/service-methods\")", Some("/tables/{id}/service-methods")),
            ("app.get('/rows', (request, reply) => {", Some("/rows")),
            ("const response = await load();", None),
            ("#[derive(Debug)]", None),
            ("if (rows.length > 3) {", None),
            ("return rows(3);", None),
            ("log.info(\"/rows\")", None),
            ("List<Row> findByName(String name);", Some("findByName()")),
            ("padding: var(--space);", None),
            ("def __init__(self):", None),
            ("throw new Error(text);", None),
            ("rows.push(row);", None),
            ("useEffect(() => {", None),
            ("} else if (a(b)) {", None),
            ("## Installation", None),
        ] {
            assert_eq!(defined(line).as_deref(), name, "{line}");
        }
    }

    #[test]
    fn definitions_are_told_apart_from_imports() {
        let ranks = ["import os", "limit = 3 * size", "    )", "def read_blocks(path):", "# Blocks of a shop"]
            .map(LineRank::of);
        use LineRank::{Definition, Import, Other};
        assert_eq!(ranks, [Import, Other, Import, Definition, Definition]);
        assert_eq!(LineRank::of("pub(crate) async fn write() {"), Definition);
        assert_eq!(LineRank::of("export default function Page() {"), Definition);
        assert_eq!(LineRank::of("from a import b"), Import);
    }

    #[test]
    fn what_is_left_to_do_is_no_part_of_a_name() {
        for line in ["let a = 1; // TODO: count them", "# FIXME later", "TODO", "raise NotImplementedError", "todo!()"]
        {
            assert!(is_unfinished(line), "{line}");
        }
        for line in ["const TODO_KEY = 'todos';", "show(TODOS)", "the list of TODO items"] {
            assert!(!is_unfinished(line), "{line}");
        }
    }
}
