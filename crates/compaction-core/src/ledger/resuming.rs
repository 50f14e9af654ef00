//! Messages of a person that ask for nothing themselves, so that the request before them goes on: a notice that the turn
//! of the model broke off, the approval of a plan, a pasted declaration, a mere reference, the word that something works, and
//! the answer to a question that the model asked before it did anything. And the ends of answers that stopped at the limit of a turn.

use super::answers::verdict;
use super::call_marks::begins_with_mark;
use super::constraints::gives_task;
use super::noise::has_frames;
use super::problems::{is_conditional, pastes_error, reports};
use super::requests::WORK;
use super::statements::{is_prose, sentences};
use super::text::{WordList, first_words, normalised, word_list};
use crate::phrases::{HARNESSES, listed};
use crate::text::utf16_len;

/// Phrases that say that the turn of the model broke off.
static BROKEN_OFF: WordList = word_list!("resuming: broken off");
/// Phrases with which a model asks for what it needs to know before it begins.
static ASKING_BACK: WordList = word_list!("resuming: asking back");
/// Phrases with which a person says that something works.
static CONFIRMING: WordList = word_list!("resuming: confirming");
/// Words behind which it is said what does not.
static BUT: WordList = word_list!("properties: but");
/// Longest such message, in UTF-16 units.
const LONGEST_CONFIRMING: usize = 120;
/// Beginnings of the messages with which a tool says that a person approved a plan.
const APPROVALS: &[&str] = listed!(HARNESSES, "resuming: approvals");
/// Beginnings of the messages with which a person lets a tool go on that stopped at the limit of a turn.
const LIMITS: &[&str] = listed!(HARNESSES, "resuming: continued turns");
/// Longest notice, in UTF-16 units, and its most words.
const LONGEST_NOTICE: usize = 120;
const NOTICE_WORDS: usize = 16;
/// Longest answer to a question of the model, in UTF-16 units.
const LONGEST_ANSWER: usize = 160;
/// Number of last sentences in which a model asks back.
const ASKED_WITHIN: usize = 3;
/// Longest answer of a model that only asks back, in UTF-16 units.
const LONGEST_ASKING: usize = 900;
/// Number of first words of an order.
const ORDER_WORDS: usize = 2;
/// Fewest UTF-16 units of a declaration, and most of its lines that are compared.
const SHORTEST_DECLARATION: usize = 60;
const MOST_LINES: usize = 200;
/// First words of a declaration.
const DECLARING: [&str; 14] = [
    "class",
    "def",
    "async",
    "function",
    "fn",
    "pub",
    "public",
    "private",
    "static",
    "export",
    "interface",
    "struct",
    "func",
    "abstract",
];

/// Whether a message only says that the service of the model, or the tool around it, failed: `I got an api error 529`.
pub(crate) fn tells_broken_turn(message: &str) -> bool {
    let message = message.trim();
    let words = normalised(message);
    let is_long = utf16_len(message) > LONGEST_NOTICE || words.split_whitespace().count() > NOTICE_WORDS;
    // A name, a path or pasted code shows a problem of the person's own program.
    if is_long || message.contains(['\n', '/', '\\', '`', '{', '<', '(', '_']) {
        return false;
    }
    BROKEN_OFF.is_said_in(message, &words)
}

/// Whether a message is the approval of a plan, as a tool writes it for the person.
pub(crate) fn is_approval(message: &str) -> bool {
    APPROVALS.iter().any(|start| message.trim_start().starts_with(start))
}

/// The title of the plan that such an approval names.
pub(crate) fn approved_title(message: &str) -> Option<&str> {
    let message = message.trim();
    let title = APPROVALS.iter().find_map(|start| message.strip_prefix(start))?.strip_prefix(": ")?;
    (!title.contains('\n')).then_some(title.trim())
}

/// Whether a message only lets a tool go on that stopped at the limit of a turn.
pub(crate) fn continues_turn(message: &str) -> bool {
    LIMITS.iter().any(|start| message.trim_start().starts_with(start))
}

/// Whether a message is only the declaration of something that a library or a program has, without a word about it.
pub(crate) fn is_declaration(message: &str) -> bool {
    let message = message.trim();
    if utf16_len(message) < SHORTEST_DECLARATION || has_frames(message) || pastes_error(message) {
        return false;
    }
    let first = message.lines().next().unwrap_or_default();
    let Some((name, arguments)) = first.split_once('(') else { return false };
    let is_name = |word: &str| {
        word.contains(['.', '_']) && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:".contains(&byte))
    };
    let mut words = name.split_whitespace();
    let declares = match (words.next(), words.next()) {
        (Some(word), Some(_)) => DECLARING.contains(&word) && !name.ends_with(char::is_whitespace),
        // Names alone may also be called, so the arguments must have types.
        (Some(word), None) => is_name(word) && arguments.matches(": ").nth(1).is_some(),
        _ => false,
    };
    let mut lines = message.lines().map(str::trim).filter(|line| !line.is_empty()).take(MOST_LINES);
    declares && lines.all(|line| !sentences(line).any(is_prose) || DECLARING.iter().any(|word| line.starts_with(word)))
}

/// Whether a message only says that something works: `works now, so far so good`. It gives no task, asks nothing and reports
/// no problem.
pub(crate) fn confirms(message: &str) -> bool {
    let message = message.trim();
    let words = normalised(message);
    // In scripts without spaces, an order may follow without a word that shows it.
    let own = message.trim_end_matches(|one: char| !one.is_alphanumeric());
    utf16_len(message) <= LONGEST_CONFIRMING
        && (CONFIRMING.is_in(&words) || CONFIRMING.pieces.iter().any(|piece| own.ends_with(piece)))
        && !message.contains(['?', '\u{ff1f}'])
        && !BUT.is_said_in(message, &words)
        && !WORK.is_in(&words)
        && !gives_task(message)
        && !is_conditional(message)
        && !reports(message)
}

/// Whether a message only refers to files, lines of a terminal or pictures, without a word: `@build.log:12-40`,
/// `[Image #2]`. It shows something for the request before it.
pub(crate) fn is_reference(message: &str) -> bool {
    let message = message.trim();
    let is_file = |word: &str| word.strip_prefix('@').is_some_and(|rest| rest.contains(['.', '/', '\\']));
    let without_pictures = PICTURES.iter().fold(message.to_owned(), |text, start| without_marks_of(&text, start));
    let mut words = without_pictures.split_whitespace().peekable();
    (words.peek().is_some() || without_pictures.len() < message.len()) && words.all(is_file)
}

/// Beginnings of the marks that an agent writes for pictures, up to the number.
const PICTURES: [&str; 2] = ["[Image #", "[image #"];

/// A text without the marks that begin with `start` and end with `]`.
fn without_marks_of(text: &str, start: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(start) {
        let Some((number, after)) = behind.split_once(']') else { break };
        if !number.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// Beginnings of the last lines of an answer that stopped at the limit of a turn, and of those that a tool adds.
const LIMITS_OF_TURNS: &[&str] = listed!(HARNESSES, "resuming: limits of turns");
const CLOSING_LINES: &[&str] = listed!(HARNESSES, "resuming: closing lines");
/// Number of last lines in which they stand.
const CLOSING_WITHIN: usize = 6;

/// An answer without the last lines that a tool added, and whether one of them says that the turn stopped at its limit.
pub(super) fn without_closing_lines(answer: &str) -> (&str, bool) {
    let (mut rest, mut is_cut_off) = (answer.trim_end(), false);
    let begins = |line: &str, list: &[&str]| list.iter().any(|start| line.starts_with(start));
    for _ in 0..CLOSING_WITHIN {
        let start = rest.rfind('\n').map_or(0, |end| end + 1);
        let line = rest[start..].trim();
        let is_limit = begins(line, LIMITS_OF_TURNS);
        if !is_limit && !begins(line, CLOSING_LINES) {
            break;
        }
        is_cut_off |= is_limit;
        rest = rest[..start].trim_end();
    }
    // The marks of the last calls stand between the words and these lines.
    while rest.len() < answer.trim_end().len() {
        let start = rest.rfind('\n').map_or(0, |end| end + 1);
        let without_fence = rest[..start].trim_end().strip_suffix("\n```").filter(|_| rest[start..].trim() == "```");
        rest = match without_fence {
            Some(before) => before.trim_end(),
            None if start > 0 && begins_with_mark(rest[start..].trim()) => rest[..start].trim_end(),
            None => break,
        };
    }
    (rest, is_cut_off)
}

/// Whether a message asks for nothing itself, whatever was said before it.
pub(crate) fn asks_for_nothing(message: &str) -> bool {
    tells_broken_turn(message)
        || is_approval(message)
        || is_declaration(message)
        || is_reference(message)
        || continues_turn(message)
}

/// Whether `answer` only asks for what the model needs to know, and the message tells it.
pub(crate) fn answers_back(message: &str, answer: &str) -> bool {
    let message = message.trim();
    let is_told = utf16_len(message) <= LONGEST_ANSWER
        && !message.contains(['?', '\u{ff1f}', '\n'])
        && !WORK.starts(&first_words(message, ORDER_WORDS))
        && !reports(message)
        && verdict(message).is_none();
    is_told && asks_back(answer)
}

/// Whether an answer ends with a request for what the model needs to know before it can begin.
pub(crate) fn asks_back(answer: &str) -> bool {
    if utf16_len(answer) > LONGEST_ASKING || answer.contains("```") {
        return false;
    }
    let all: Vec<&str> = sentences(answer).collect();
    all[all.len().saturating_sub(ASKED_WITHIN)..].iter().any(|one| ASKING_BACK.is_said(one))
}

/// Whether an answer ends within a name between backticks.
pub(super) fn breaks_off(answer: &str) -> bool {
    let last = answer.trim_end().lines().next_back().unwrap_or_default();
    !last.trim_start().starts_with("```") && last.matches('`').count() % 2 == 1 && last.ends_with(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_approval_may_name_the_plan() {
        assert_eq!(approved_title("User has approved the plan: Kilns on a map"), Some("Kilns on a map"));
        for approval in ["User has approved the plan.", "User approved Claude's plan:\n1. Read it", "a: b"] {
            assert_eq!(approved_title(approval), None, "{approval}");
        }
    }

    #[test]
    fn a_notice_of_a_broken_turn_is_no_request() {
        for notice in [
            "i just got an api error 529 with that last step",
            "you got cut off",
            "Du wurdest unterbrochen",
            "La connexion a été perdue",
            "se cortó la respuesta",
            "we hit the rate limit",
            "応答が途切れました",
            "回答中断了",
        ] {
            assert!(tells_broken_turn(notice), "{notice}");
        }
        for request in [
            "The page shows an API error if the list is empty, please handle it",
            "add a rate limit to the login",
            "the timeout of `fetch_all` is too short",
            "Why does the server close the connection after a minute? It should stay open",
            "the build stopped working",
        ] {
            assert!(!tells_broken_turn(request), "{request}");
        }
    }

    #[test]
    fn a_declaration_is_pasted_and_nothing_else() {
        let long =
            "lib.shop.order(message: Text = '', *, count: int = 1, price: float = 0.0, on: bool = True) \u{2192} str";
        assert!(is_declaration(long));
        assert!(is_declaration(&format!("class {long}")));
        for other in [
            "class Order (the one in shop.py) should have a price: int and a count: int, please add both",
            "lib.shop.order(1, 2, 3) gives 7 and it should give 6, so look at how it adds the three numbers",
            "npm run build -- --watch --mode development --config ./vite.config.ts",
        ] {
            assert!(!is_declaration(other), "{other}");
        }
    }

    #[test]
    fn what_the_model_had_to_know_is_no_new_request() {
        let answer = "I see that you want the old list. Please provide more details about the pages.";
        assert!(answers_back("the ones that show the prices", answer));
        assert!(!answers_back("add the prices to all pages", answer));
        assert!(!answers_back("the ones that show the prices", "I changed all pages. The tests pass."));
    }

    #[test]
    fn a_message_that_only_says_that_something_works_confirms() {
        for message in [
            "works now, so far so good",
            "Jetzt funktioniert die Seite wieder",
            "ça marche, merci",
            "ya funciona",
            "agora funciona",
            "ho riavviato il server, ora funziona",
            "теперь работает",
            "回滚之后页面正常了",
            "表示されるようになりました",
        ] {
            assert!(confirms(message), "{message}");
        }
        for message in [
            "it works, now add a footer",
            "does it work? all good?",
            "it works only on phones but not on the desktop",
            "if everything works, commit it",
            "页面正常了，现在加一个按钮",
            "write a test so that it works",
        ] {
            assert!(!confirms(message), "{message}");
        }
    }

    #[test]
    fn a_message_that_only_refers_to_something_is_known() {
        for message in ["@build.log:12-40", "@src/menu.rs @src/shop.rs:3-9", "[Image #2]", "[Image #1] [Image #2]"] {
            assert!(is_reference(message), "{message}");
        }
        for message in ["", "@anna", "@src/menu.rs is wrong", "[Image #2] make it blue", "[Image]", "menu.rs"] {
            assert!(!is_reference(message), "{message}");
        }
    }
}
