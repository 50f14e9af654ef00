//! Commands of a person to the agent, such as `/review`, and the prompts that the agent sends for them in the name of
//! the person. A prompt is shown as its command and its title; its sentences are not the person's.

use super::commands::is_program;
use super::notes::SourcePosition;
use super::requests::is_telling;
use super::text::{clip, one_line};
use super::{person, templates};
use crate::phrases::{HARNESSES, listed};
use crate::text::utf16_len;

/// Commands to the interface of an agent, which ask the model for nothing.
const INTERFACE: &[&str] = listed!(HARNESSES, "slash: interface commands");
/// More of them, as a person types them.
const TYPED: &[&str] = listed!(HARNESSES, "slash: typed interface commands");
/// Those that begin a new conversation.
pub(crate) const RESETS: &[&str] = listed!(HARNESSES, "slash: resets");
/// Most words of such a command in a message that a person typed.
const INTERFACE_WORDS: usize = 2;
/// Commands about the files of a conversation, which may be requests in other agents.
const OF_FILES: &[&str] = listed!(HARNESSES, "slash: commands of files");
/// Commands with a command line.
const THAT_RUN: &[&str] = listed!(HARNESSES, "slash: commands that run");
/// Most plain words after the program of such a command line. A sentence has more.
const MOST_PLAIN: usize = 2;
/// Commands before a request that say in which mode the model answers it.
const MODES: &[&str] = listed!(HARNESSES, "slash: modes");
/// Beginnings of results of calls that start a skill.
const SKILL_STARTS: &[&str] = listed!(HARNESSES, "slash: skill starts");
/// Texts before the prompt of a command within a message.
const BEFORE_PROMPTS: &[&str] = listed!(HARNESSES, "slash: before prompts");
/// Texts after such a prompt.
const BEHIND_PROMPTS: &[&str] = listed!(HARNESSES, "slash: behind prompts");
/// The element in which an agent sends the name of a command.
const COMMAND_ELEMENT: &str = "<command-name>";
/// Fewest UTF-16 units of a prompt without a heading.
const SHORTEST_PROMPT: usize = 200;
/// Fewest lines of such a prompt.
const FEWEST_LINES: usize = 3;
/// Longest command, in UTF-16 units.
const LONGEST_COMMAND: usize = 90;
/// Longest title of a prompt, in UTF-16 units.
const LONGEST_TITLE: usize = 56;

/// The source of the prompt that the next message may be.
#[derive(Debug, Clone)]
pub(super) enum Expected<'a> {
    /// A command, and where it was sent.
    OfCommand(String, SourcePosition<'a>),
    /// A skill that the model started, or a command that was already read.
    OfSkill,
}

/// A command that an agent sends in elements, with its arguments; `words` are the words of the message.
pub(super) fn sent_command(message: &str, words: &str) -> Option<String> {
    let is_command = message.trim_start().starts_with("<command-") && message.contains(COMMAND_ELEMENT);
    let words = words.trim();
    // Some versions send the name without its slash.
    (is_command && !words.is_empty()).then(|| format!("/{}", words.trim_start_matches('/')))
}

/// Whether a command is for the interface.
pub(super) fn is_of_interface(command: &str) -> bool {
    name_of(command).is_some_and(|name| INTERFACE.contains(&name))
}

/// The same for a message that a person typed, which may continue with a request.
pub(super) fn is_typed_for_interface(words: &str) -> bool {
    let words = words.trim();
    let Some(name) = name_of(words) else { return false };
    let mut arguments = words.split_whitespace().skip(1);
    let count = arguments.clone().take(INTERFACE_WORDS).count();
    if INTERFACE.contains(&name) || TYPED.contains(&name) {
        return count < INTERFACE_WORDS || arguments.all(is_argument);
    }
    // A name with a prompt may be a request, also in other agents.
    if words.contains('\n') || words.ends_with('?') {
        return false;
    }
    let is_of_files = OF_FILES.contains(&name);
    match arguments.next() {
        None => is_of_files,
        Some(only) if is_of_files && count == 1 => is_argument(only) || only.contains(char::is_uppercase),
        Some(first) if is_of_files => is_argument(first) && arguments.all(is_argument),
        Some(first) => {
            let is_plain = |word: &&str| word.chars().all(char::is_alphabetic);
            let starts = name == "git" || is_program(first) || is_argument(first);
            THAT_RUN.contains(&name) && starts && arguments.filter(is_plain).nth(MOST_PLAIN).is_none()
        }
    }
}

/// A message without the lines at its beginning that are commands to the interface, as a person types them.
pub(super) fn without_commands(words: &str) -> &str {
    let mut rest = words;
    while rest.trim_start().starts_with('/') {
        let (line, behind) = rest.trim_start().split_once('\n').unwrap_or((rest.trim_start(), ""));
        if !is_typed_for_interface(line) {
            break;
        }
        rest = behind;
    }
    rest
}

/// Whether a word is a file, an address or a flag.
fn is_argument(word: &str) -> bool {
    let word = word.trim_end_matches([',', '.', ';', ':', '?', '!']);
    word.contains(['.', '/', '\\', '*', '~', '_', '"', '\'']) || word.starts_with('-')
}

/// A message without the command that says in which mode the model answers it: `/ask why is it slow?`
pub(super) fn without_mode(words: &str) -> &str {
    let request = || {
        let (name, request) = words.trim_start().strip_prefix('/')?.split_once(char::is_whitespace)?;
        MODES.contains(&name).then_some(request).filter(|request| request.contains(char::is_alphanumeric))
    };
    request().unwrap_or(words)
}

fn name_of(command: &str) -> Option<&str> {
    command.strip_prefix('/')?.split_whitespace().next()
}

/// Whether the arguments of a command are a request in the words of the person.
pub(super) fn has_own_words(command: &str) -> bool {
    command.split_once(char::is_whitespace).is_some_and(|(_, arguments)| is_telling(arguments))
}

/// Whether the result of a call says that a skill starts.
pub(super) fn starts_skill(result: &str) -> bool {
    SKILL_STARTS.iter().any(|start| result.starts_with(start))
}

/// Whether a message that follows a command or the start of a skill is its prompt. A person may type a short one.
pub(crate) fn is_prompt(message: &str) -> bool {
    let message = message.trim();
    let has_lines = || message.lines().filter(|line| !line.trim().is_empty()).nth(FEWEST_LINES - 1).is_some();
    person::starts_as_harness(message)
        || templates::heading(message).is_some()
        || utf16_len(message) >= SHORTEST_PROMPT
        || has_lines()
}

/// A command with the title of its prompt, on one line.
pub(super) fn with_title(command: &str, prompt: &str) -> String {
    let own = has_own_words(command);
    let command = one_line(command);
    let command = if own { command } else { clip(&command, LONGEST_COMMAND) };
    match templates::title(prompt) {
        Some(title) => format!("{command} ({})", clip(&one_line(title), LONGEST_TITLE)),
        None => command,
    }
}

/// The words before and after the prompt of a command in a message, with the title of the prompt, and whether they are
/// only a command. `None` if the message has no such prompt.
pub(super) fn without_prompt(words: &str) -> Option<(String, bool)> {
    let (start, mark) = BEFORE_PROMPTS.iter().filter_map(|mark| Some((words.find(mark)?, mark))).min()?;
    let is_line = start == 0 || words[..start].trim_end_matches([' ', '\t']).ends_with('\n');
    let (name, prompt) = words[start + mark.len()..].split_once('\n').filter(|_| is_line)?;
    let (prompt, behind) = match BEHIND_PROMPTS.iter().find_map(|mark| prompt.split_once(mark)) {
        Some((prompt, behind)) => (prompt, behind.trim()),
        None => (prompt, ""),
    };
    let typed = words[..start].trim();
    let name = name.trim().trim_end_matches('-').trim_end().trim_end_matches(".md");
    let command = if typed.is_empty() { format!("/{name}") } else { typed.to_owned() };
    let is_bare = behind.is_empty() && command.starts_with('/') && !has_own_words(&command);
    Some((format!("{} {behind}", with_title(&command, prompt)).trim_end().to_owned(), is_bare))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_only_manages_the_tool_is_no_request() {
        for command in [
            "/add src/cart.py",
            "/add src/cart.py tests/test_cart.py",
            "/add Makefile",
            "/add \"my notes.md\"",
            "/drop",
            "/drop src/*.ts docs/",
            "/read-only CONVENTIONS.md",
            "/tok",
            "/tokens",
            "/ls",
            "/diff",
            "/map-refresh",
            "/web https://example.org/manual",
            "/run pytest -x tests/test_cart.py",
            "/git status",
            "/test cargo test",
            "/model gpt-4o-mini",
            "/compress",
            "/smol",
            "/approvals",
            "/thinking",
            "/exit",
        ] {
            assert!(is_typed_for_interface(command), "{command}");
        }
        for request in [
            "/add a cart to the page of the shop",
            "/add tests",
            "/edit the title of the page, please",
            "/run all tests and repair what fails",
            "/test the new cart in both languages",
            "/review",
            "/commit",
            "/ask why is the menu empty?",
            "/read the manual and tell me what is missing",
            "/web search for the newest manual",
            "/build a page with all orders",
            "/diff shows nothing, why?",
            "add src/cart.py",
            "/undo",
            "",
        ] {
            assert!(!is_typed_for_interface(request), "{request}");
        }
    }

    #[test]
    fn the_mode_of_an_answer_is_no_part_of_the_request() {
        for (typed, request) in [
            ("/ask why is the menu empty?", "why is the menu empty?"),
            ("/architect Baue einen Warenkorb", "Baue einen Warenkorb"),
            ("/code ajoute un panier", "ajoute un panier"),
            ("/ask", "/ask"),
            ("/asking for a menu", "/asking for a menu"),
            ("ask them /code reviews", "ask them /code reviews"),
            ("/plan add a cart", "/plan add a cart"),
        ] {
            assert_eq!(without_mode(typed), request, "{typed}");
        }
    }
}
