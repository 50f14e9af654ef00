//! Problems that people and models report in words: what does not work, and what was not achieved.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::closed_requests::PERSISTING;
use super::constraints::{FORBIDDING, clauses, is_constraint};
use super::cues::is_typed;
use super::errors::{error_line, is_cause, lines_with_causes, message_of_shell};
use super::names::ending;
use super::server_logs;
use super::statements::{is_prose, sentences};
use super::text::{WordList, clip, first_words, has_piece, normalised, one_line, starts_with_piece, word_list};
use crate::phrases::{EVERY, SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Longest reported sentence or pasted error, in UTF-16 units.
const LONGEST_SENTENCE: usize = 140;
const LONGEST_ERROR: usize = 120;
/// A sentence of fewer UTF-16 units says little by itself.
const SHORT_SENTENCE: usize = 32;
/// Most sentences of a message that are searched.
const MOST_SENTENCES: usize = 60;

/// Phrases that say that something does not work.
static PROBLEMS: WordList = word_list!("problems: problems");
/// How languages without spaces between words say that there is no problem.
const NONE_UNSPACED: &[&str] = listed!(UNSPACED, "problems: none");
/// Phrases in which a model says that something is still open.
static UNSOLVED: WordList = word_list!("problems: unsolved");
/// How servers and systems deny access. A person has to provide what is missing.
static DENIALS: WordList = word_list!(SPACED, "problems: denials");
/// First words of orders to write code that handles errors.
static ORDERS: WordList = word_list!(SPACED, "problems: orders");
/// Words that make what follows a condition, anywhere in a sentence.
static CONDITIONS: WordList = word_list!("problems: conditions");
/// Words that do so only at the beginning of a sentence.
static FIRST_CONDITIONS: WordList = word_list!(SPACED, "problems: first conditions");

/// Words after which a past failure only says which thing is meant: `the test that failed`.
static RELATIVES: WordList = word_list!(SPACED, "problems: relatives");
/// Words that refer to what was done.
static POINTING: WordList = word_list!(SPACED, "problems: pointing");
/// Words between such a word and the failure.
static AUXILIARIES: WordList = word_list!(SPACED, "problems: auxiliaries");
/// Words for a past failure. Those of languages without spaces include the character that joins them to the thing.
static FAILED_ONCE: WordList = word_list!("problems: failed once");

/// Words that occur in at least [`FEWEST_PHRASES`] of [`PROBLEMS`]. Other words may name the thing that does not work.
static WORDS_OF_PROBLEMS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    PROBLEMS.words.iter().flat_map(|phrase| phrase.split(' ')).for_each(|word| *counts.entry(word).or_default() += 1);
    let forms = PROBLEMS.words.iter().filter(|phrase| !phrase.contains(' ')).copied();
    counts.iter().filter(|(_, count)| **count >= FEWEST_PHRASES).map(|(word, _)| *word).chain(forms).collect()
});
const FEWEST_PHRASES: usize = 2;

/// Whether a lower-case word is one of those that report problems.
pub(super) fn is_word_of_problem(word: &str) -> bool {
    WORDS_OF_PROBLEMS.contains(word)
}

/// The problem that a person's message reports: the sentence, and the error that the message pastes.
pub(crate) fn reported(message: &str) -> Option<String> {
    let mut all = sentences(message).take(MOST_SENTENCES);
    let is_report = |sentence: &str| is_problem(&without_brackets(sentence)) && !asks_to_agree(sentence);
    let sentence = all.find(|sentence| is_report(sentence)).map(|sentence| {
        // A short sentence says little without the next one.
        let next = all.next().filter(|next| utf16_len(sentence) < SHORT_SENTENCE && is_prose(next));
        let whole = next.map_or(one_line(sentence), |next| format!("{} {}", one_line(sentence), one_line(next)));
        clip(problem_part(&whole), LONGEST_SENTENCE)
    });
    let mut error = pasted_error(message);
    if let Some(sentence) = sentence.as_deref() {
        // The line that explains best may be the sentence itself, up to the fence behind it.
        error = error.filter(|error| {
            let before = error.split(FENCE).next().unwrap_or_default().trim_end_matches(FENCE_OR_COLON);
            before.is_empty() || !sentence.contains(before)
        });
        if sentence.ends_with([':', '\u{ff1a}']) {
            error = error.or_else(|| fenced(message));
        }
    }
    match (sentence, error) {
        (Some(sentence), Some(error)) => Some(format!("{} ({error})", sentence.trim_end_matches(FENCE_OR_COLON))),
        (sentence, error) => sentence.or(error),
    }
}

/// Ends of questions that only ask whether the person is right.
const TAGS: &[&str] = listed!(EVERY, "problems: tag questions");

/// Whether a sentence doubts something and asks whether that is right: `the page is not needed, right?`.
fn asks_to_agree(sentence: &str) -> bool {
    let end = sentence.trim_end();
    let is_question = end.ends_with(['?', '\u{ff1f}']);
    is_question && {
        let lower = end.to_lowercase();
        TAGS.iter().any(|tag| lower.ends_with(tag))
    }
}

/// A sentence without what stands in brackets, which is said beside the rest.
fn without_brackets(sentence: &str) -> Cow<'_, str> {
    if memchr::memchr(b'(', sentence.as_bytes()).is_none() {
        return Cow::Borrowed(sentence);
    }
    let mut depth = 0_usize;
    let outside = sentence.chars().filter(|one| {
        depth += usize::from(*one == '(');
        let is_outside = depth == 0;
        depth -= usize::from(*one == ')' && depth > 0);
        is_outside
    });
    Cow::Owned(outside.collect())
}

/// What stands between a sentence and the block of code behind it.
const FENCE_OR_COLON: [char; 4] = ['`', ' ', ':', '\u{ff1a}'];
const FENCE: &str = "```";

/// The first line with letters in the first block of code.
fn fenced(message: &str) -> Option<String> {
    let (_, behind) = message.split_once(FENCE)?;
    let block = behind.split(FENCE).next().unwrap_or(behind);
    // The language stands right behind the fence, up to the end of the line.
    let has_language = block.starts_with(|one: char| one.is_ascii_alphanumeric());
    let content = block.split_once('\n').filter(|_| has_language).map_or(block, |(_, content)| content);
    let line = content.lines().find(|line| line.contains(char::is_alphabetic))?;
    Some(clip(&one_line(line), LONGEST_ERROR))
}

/// Whether [`reported`] would find a problem.
pub(crate) fn reports(message: &str) -> bool {
    sentences(message).take(MOST_SENTENCES).any(is_problem) || pastes_error(message)
}

/// A long sentence up to the end of the clause with the problem. An order often follows.
fn problem_part(sentence: &str) -> &str {
    if utf16_len(sentence) <= LONGEST_SENTENCE {
        return sentence;
    }
    let mut end = 0;
    for clause in sentence.split_inclusive([',', ';', '\u{ff0c}', '\u{3001}']) {
        end += clause.len();
        if is_problem_of(clause) {
            return sentence[..end].trim_end_matches([',', ';', '\u{ff0c}', '\u{3001}', ' ']);
        }
    }
    sentence
}

/// Whether a sentence of a person says that something does not work.
pub(super) fn is_problem(sentence: &str) -> bool {
    // Most clauses report no problem, and looking for a constraint is slower.
    let is_said = |clause: &str| is_problem_of(clause) && !is_constraint(clause.trim());
    persists(sentence)
        || may_tell_problem(sentence)
            && is_prose(sentence)
            && (sentence.split([',', ';', '\u{ff0c}', '\u{3001}']).any(is_said) || points_at_failure(sentence))
}

/// Whether a sentence has a phrase that it needs to tell a problem. Most have none, and a search in the whole sentence is
/// faster than in each clause.
fn may_tell_problem(sentence: &str) -> bool {
    !sentence.is_ascii()
        || PROBLEMS.is_said(sentence)
        || NEGATIONS.is_said(sentence)
        || POINTING.may_start(sentence) && FAILED_ONCE.is_said(sentence)
}

/// Whether the first words of a sentence refer to something that failed: `That broke everything`. Elsewhere, such words
/// only say which thing is meant.
fn points_at_failure(sentence: &str) -> bool {
    if !POINTING.may_start(sentence) {
        return false;
    }
    let words = normalised(sentence);
    let first = words.split_whitespace().next().unwrap_or_default();
    POINTING.has(first) && FAILED_ONCE.found_in(&words).any(|(at, _)| words[..at].trim() == first)
}

/// Whether a part of a sentence says that something does not work.
fn is_problem_of(sentence: &str) -> bool {
    if has_piece(sentence, PROBLEMS.pieces) {
        let is_named = has_piece(sentence, FAILED_ONCE.pieces);
        return !is_named && !has_piece(sentence, CONDITIONS.pieces) && !has_piece(sentence, NONE_UNSPACED);
    }
    let words = normalised(sentence);
    // In Russian, this last word says that something is missing.
    if words.ends_with(" нет ") && words.split_whitespace().count() > 1 {
        return true;
    }
    let first = words.split_whitespace().next().unwrap_or_default();
    !ORDERS.has(first) && says(&words, &PROBLEMS) || is_not_so(&words)
}

/// Longest sentence that only says which status of a server is still there, in UTF-16 units.
const LONGEST_STATUS: usize = 60;
/// What may follow such a status in languages without spaces.
const BEHIND_STATUS: [&str; 12] = [
    "\u{5462}",
    "\u{554a}",
    "\u{4e86}",
    "\u{7684}",
    "\u{9519}\u{8bef}",
    "\u{932f}\u{8aa4}",
    "\u{30a8}\u{30e9}\u{30fc}",
    "\u{3067}\u{3059}",
    "\u{306e}\u{307e}\u{307e}",
    "\u{c774}",
    "\u{c5d0}\u{b7ec}",
    "error",
];

/// Whether a short sentence ends a clause with the status of a server that still answers with an error: `still a 404`. A
/// number before another word counts something.
fn persists(sentence: &str) -> bool {
    if utf16_len(sentence) > LONGEST_STATUS || !PERSISTING.is_said(sentence) {
        return false;
    }
    let first = normalised(sentence);
    let is_order = first.split_whitespace().next().is_some_and(|first| ORDERS.has(first));
    let ends = |rest: &str| {
        let rest = rest.trim_start();
        !rest.starts_with(char::is_alphanumeric) && !rest.starts_with('%')
            || BEHIND_STATUS.iter().any(|word| rest.starts_with(word))
    };
    let is_status = |(at, _): (usize, char)| {
        let (before, rest) = (&sentence[..at], &sentence[at..]);
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        digits == 3
            && rest.starts_with(['4', '5'])
            && !before.ends_with(|last: char| last.is_ascii_digit() || matches!(last, '.' | ',' | '$'))
            && ends(&rest[digits..])
    };
    !is_order && !is_conditional(sentence) && sentence.char_indices().any(is_status)
}

/// Whether `normalised` text says at its beginning that something is not as it should be: `they are not grouped`.
fn is_not_so(words: &str) -> bool {
    let own = words.trim_start();
    let subject = own.split(' ').next().unwrap_or_default();
    let rest = if SUBJECTS.has(subject) { &own[subject.len()..] } else { words };
    let negation = NEGATIONS.found_in(rest).filter(|(at, _)| *at == 1).map(|(_, phrase)| phrase.len()).max();
    let Some(length) = negation else { return false };
    let said = rest.trim_start().get(length..).unwrap_or_default();
    let participle = said.split_whitespace().next().unwrap_or_default();
    participle.len() > PARTICIPLE.len() + 2 && participle.ends_with(PARTICIPLE) && !HARMLESS.has(participle)
}

/// Ending of participles that say what should have been done.
const PARTICIPLE: &str = "ed";
/// Words for the thing that is not as it should be.
static SUBJECTS: WordList = word_list!(SPACED, "problems: subjects");
/// Words that say so.
static NEGATIONS: WordList = word_list!(SPACED, "problems: negations");
/// Participles that report no problem.
static HARMLESS: WordList = word_list!(SPACED, "problems: harmless participles");

/// Whether a sentence begins with a condition: `If the page is empty, reload it.`
pub(crate) fn is_conditional(sentence: &str) -> bool {
    FIRST_CONDITIONS.has(first_words(sentence, 1).trim()) || starts_with_piece(sentence, CONDITIONS.pieces)
}

/// Whether `normalised` text has one of `phrases` and no condition before it.
fn says(words: &str, phrases: &WordList<'_>) -> bool {
    let first = words.split_whitespace().next().unwrap_or_default();
    if FIRST_CONDITIONS.has(first) {
        return false;
    }
    phrases.found_in(words).any(|(at, phrase)| {
        let before = &words[..at];
        let has_condition = before.split_whitespace().any(|word| CONDITIONS.has(word));
        !(has_condition || FAILED_ONCE.has(phrase) && is_relative(before))
    })
}

/// Whether the words before a failure only say which thing is meant.
fn is_relative(before: &str) -> bool {
    let mut words = before.split_whitespace().rev().skip_while(|word| AUXILIARIES.has(word));
    words.next().is_some_and(|word| RELATIVES.has(word))
}

/// Lines that begin a part of code documentation.
const OF_DOCUMENTATION: [&str; 6] = ["Raises:", "Args:", "Returns:", "Yields:", "Parameters:", "Throws:"];
const HELP: &str = "Help on ";
/// Number of last lines of such a message that are read without a traceback.
const END_LINES: usize = 3;
const TRACEBACK: &str = "Traceback (most recent call last)";

/// A message without the documentation that it pastes, which describes failures that did not happen: only the last
/// traceback, or the last lines.
fn without_documentation(message: &str) -> &str {
    let is_of_it = |line: &str| OF_DOCUMENTATION.contains(&line) || line.starts_with(HELP);
    if !message.lines().any(|line| is_of_it(line.trim())) {
        return message;
    }
    let trimmed = message.trim_end();
    let end = memchr::memrchr_iter(b'\n', trimmed.as_bytes()).nth(END_LINES - 1).map_or(0, |at| at + 1);
    &message[message.rfind(TRACEBACK).unwrap_or(end)..]
}

/// The lines of a message that are pasted, not written.
fn pasted(message: &str) -> impl Iterator<Item = &str> {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|line| is_pasted(line))
}

fn is_pasted(line: &str) -> bool {
    !is_prose(line) || is_cause(line)
}

/// Whether a message pastes an error, so that [`pasted_error`] finds one.
pub(crate) fn pastes_error(message: &str) -> bool {
    pastes_cause(message) || server_logs::failure(message).is_some()
}

/// Whether a message pastes the error of a program.
fn pastes_cause(message: &str) -> bool {
    // Most messages have no line that may be a cause.
    let may_paste = || lines_with_causes(message).next().is_some();
    message_of_shell(message).is_some()
        || may_paste()
            && lines_with_causes(without_documentation(message))
                .any(|line| is_cause(line.trim_matches(['"', '\'', '`'])) && is_pasted(line))
}

/// The lines that a person wrote before and behind what they pasted. A message that they typed is whole.
pub(crate) fn own_words(message: &str) -> Cow<'_, str> {
    if is_typed(message) && !pastes_error(message) {
        return Cow::Borrowed(message);
    }
    let lines: Vec<&str> = message.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let first = lines.iter().take_while(|line| !is_pasted(line)).count();
    let last = lines[first..].iter().rev().take_while(|line| !is_pasted(line)).count();
    Cow::Owned([&lines[..first], &lines[lines.len() - last..]].concat().join("\n"))
}

/// The line that explains best what a message pastes, if that is an error.
pub(crate) fn pasted_error(message: &str) -> Option<String> {
    if !pastes_cause(message) {
        return server_logs::failure(message).map(|line| clip(&one_line(line), LONGEST_ERROR));
    }
    // The message is a sentence, and its lines may be in any language.
    let error = message_of_shell(message).unwrap_or_else(|| {
        let pasted: Vec<&str> = pasted(without_documentation(message)).collect();
        error_line(&pasted.join("\n"))
    });
    let error = clip(&one_line(without_usage(&error)), LONGEST_ERROR);
    let others: Vec<String> = other_errors(message, &error).collect();
    Some(others.into_iter().fold(error, |all, other| format!("{all}; {other}")))
}

/// A line without the usage of a program that a copy of a screen has behind its error.
fn without_usage(line: &str) -> &str {
    let usage = line.find(USAGE).filter(|at| line[at + USAGE.len()..].contains(" [-"));
    usage.map_or(line, |at| line[..at].trim_end())
}

/// Begins the usage of a program.
const USAGE: &str = " usage: ";
/// What a program writes between its name and its last error.
const LAST_ERROR: &str = ": error: ";
/// Most errors that are told beside the first one.
const MOST_OTHERS: usize = 2;

/// The last errors of other programs in a message: `make.py: error: unrecognized arguments`.
fn other_errors<'a>(message: &'a str, first: &'a str) -> impl Iterator<Item = String> + use<'a> {
    let of_program = |line: &&str| {
        let name = line.trim_start().split(LAST_ERROR).next().unwrap_or_default();
        line.contains(LAST_ERROR) && !name.is_empty() && !name.contains([' ', ':', '(']) && ending(name).is_some()
    };
    let ends = message.lines().filter(of_program).filter_map(|line| line.trim().split_once(LAST_ERROR));
    let others =
        ends.map(|(_, error)| clip(&one_line(error), LONGEST_ERROR)).filter(|error| !first.contains(error.as_str()));
    others.take(MOST_OTHERS)
}

/// Whether a sentence of a model says that a server or system denies something.
pub(crate) fn is_denied(sentence: &str) -> bool {
    says(&normalised(sentence), &DENIALS)
}

/// Phrases in which a model says that a part of the work waits for something that it cannot provide.
static WAITING: WordList = word_list!(SPACED, "problems: waiting");

/// Whether a sentence of a model says that a part of the work waits for something.
pub(crate) fn is_waiting(sentence: &str) -> bool {
    says(&normalised(sentence), &WAITING)
}

/// Whether a later sentence is about what an earlier one waits for: they share [`FEWEST_SHARED`] words. Only words of
/// at least [`SHORTEST_WORD`] bytes or with a capital after the first letter count.
pub(crate) fn is_about(later: &str, waiting: &str) -> bool {
    let is_mixed = |word: &str| word.chars().skip(1).any(char::is_uppercase);
    let words = |text: &str| -> HashSet<String> {
        let words = text.split(|one: char| !one.is_alphanumeric());
        words.filter(|word| word.len() >= SHORTEST_WORD || is_mixed(word)).map(str::to_lowercase).collect()
    };
    words(later).intersection(&words(waiting)).count() >= FEWEST_SHARED
}

const FEWEST_SHARED: usize = 2;
const SHORTEST_WORD: usize = 5;

/// First words with which a person gives up an earlier request.
static GIVING_UP: WordList = word_list!("problems: giving up");

/// Whether a message gives up the request before it: `never mind, keep the old list`.
pub(crate) fn gives_up(message: &str) -> bool {
    GIVING_UP.starts(&first_words(message, FIRST_WORDS)) || starts_with_piece(message.trim_start(), GIVING_UP.pieces)
}

/// Phrases with which a person postpones something, in any sentence.
static SETTING_ASIDE: WordList = word_list!("problems: setting aside");

/// Whether a message postpones the current work: `let's forget the tests for a while`.
pub(crate) fn sets_aside(message: &str) -> bool {
    let sets = |clause: &str| {
        let words = normalised(clause);
        SETTING_ASIDE.found_in(&words).any(|(at, _)| !FORBIDDING.is_in(&words[..at]))
    };
    gives_up(message) || sentences(message).flat_map(clauses).any(sets) || has_piece(message, SETTING_ASIDE.pieces)
}

/// Number of first words of a message that may give up a request.
const FIRST_WORDS: usize = 4;

/// Whether a sentence of a model says that something was not achieved.
pub(crate) fn is_unsolved(sentence: &str) -> bool {
    has_piece(sentence, UNSOLVED.pieces) || says(&normalised(sentence), &UNSOLVED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_of_a_paste_has_its_last_error() {
        let paste = "Traceback (most recent call last):\n  File \"/shop/menu.py\", line 9, in <module>\n    main()\n\
                     NameError: name 'PRICES' is not defined   usage: show.py [-h] --menu MENU\n                [--port PORT]\n\
                     show.py: error: unrecognized arguments: --ports 1,2";
        let expected = "NameError: name 'PRICES' is not defined; unrecognized arguments: --ports 1,2";
        assert_eq!(pasted_error(paste).as_deref(), Some(expected));
    }

    #[test]
    fn a_doubt_and_a_remark_in_brackets_report_nothing() {
        for message in [
            "The import fails for all of the rows, right?",
            "这个结论不对吧？",
            "Put the rows below the head (that does not work today) and sort them",
        ] {
            assert_eq!(reported(message), None, "{message}");
        }
        assert!(reported("Why is it that the import doesn't work?").is_some());
        assert!(reported("The import doesn't work (for all of the rows)").is_some());
    }

    #[test]
    fn numbers_that_count_are_no_status() {
        for message in [
            "Run it again with 500 rows",
            "I still need a style for the 404 page",
            "if it is still a 404, tell me",
            "ещё 500 строк",
            "la même largeur, 450 px",
        ] {
            assert!(!persists(message), "{message}");
        }
    }

    #[test]
    fn what_is_set_aside_is_not_denied() {
        assert!(sets_aside("Ok, let's forget the tests for a while"));
        assert!(!sets_aside("Do not set aside the tests"));
        assert!(!sets_aside("The tests do not pass, why not now"));
    }

    #[test]
    fn what_does_not_work_is_known_in_many_languages() {
        for message in [
            "The export button doesn't work on Safari",
            "der Import schlägt fehl seit gestern",
            "le formulaire est cassé",
            "la tabla no aparece en la página",
            "o relatório não carrega",
            "la ricerca non funziona",
            "таблиц нет",
            "после запуска сервер падает",
            "改了以后还是不行",
            "保存ボタンが動かない",
            "they are not sorted",
            "it's still not aligned, look at the left one",
            "die Summe wird nicht angezeigt",
            "el botón no abre nada",
            "o menu sumiu",
            "il pulsante non fa nulla",
            "de lijst verschijnt niet",
            "колонка исчезла",
            "标题不见了",
            "スクロールするとメニューが残らない",
            "메뉴가 안 보여요",
            "That broke the whole page of the orders",
            "trang vẫn không hiện danh sách",
            "liste hâlâ çalışmıyor",
            "订单和用户页面现在全404了",
            "还是404呢",
            "immer noch 500",
            "it is still a 404, please look",
            "всё ещё 502",
            "로그인이 작동하지 않아요",
        ] {
            assert_eq!(reported(message).as_deref(), Some(message));
            assert!(reports(message), "{message}");
        }
        for message in [
            "Add a test for the parser",
            "If the upload fails, try again later",
            "Never leave the build broken",
            "si falla, avísame",
            "add error handling to the loader",
            "Show an error when the list doesn't work",
            "run only the test that failed",
            "find the commit that broke the build",
            "führe nur den Test aus, der fehlgeschlagen ist",
            "corrige el error y ejecuta solo la prueba que falló",
            "corrija e rode somente o teste que falhou",
            "只运行失败的测试",
            "失敗したテストだけ実行して",
            "they are not needed any more",
            "it is not supposed to be public",
            "that's not required",
            "メニューが残らないようにして",
            "als het niet werkt, stop dan",
            "ok, weiter",
        ] {
            assert_eq!(reported(message), None, "{message}");
            assert!(!reports(message), "{message}");
        }
    }

    #[test]
    fn an_order_behind_a_problem_is_no_part_of_it() {
        let order = "fix that first, then write down what was done so far and go on with the list of files and the printer \
                     until both of them work on all systems";
        assert_eq!(reported(&format!("the tree is broken, {order}")).as_deref(), Some("the tree is broken"));
    }

    #[test]
    fn an_error_that_is_pasted_is_a_problem() {
        let message = "npm run dev\n> vite\nTypeError: store.open is not a function\n    at main (src/app.ts:3:7)";
        assert_eq!(reported(message).as_deref(), Some("TypeError: store.open is not a function"));
        let message = "GET\nhttp://localhost:80/app.js\nNS_ERROR_CORRUPTED_CONTENT\n\n[hmr] connected.";
        assert_eq!(reported(message).as_deref(), Some("NS_ERROR_CORRUPTED_CONTENT"));
        assert_eq!(
            reported("[plugin:babel] /w/app.tsx: Unexpected token, expected \",\" (7:4)\n5 | }\n6 |").as_deref(),
            Some("[plugin:babel] /w/app.tsx: Unexpected token, expected \",\" (7:4)")
        );
        assert!(!reports("MAX_ERROR_COUNT is 5 now") && !reports("rename it to\nMY_ERRORS"));
        assert_eq!(
            reported("now it hangs:\n\nError: timeout of 5000ms exceeded").as_deref(),
            Some("now it hangs: Error: timeout of 5000ms exceeded")
        );
        for (message, expected) in [
            (
                "For the code present, we get this error: \n```\n找不到模块“next-intl/link”。\n```\nHow can I resolve this?",
                "For the code present, we get this error (找不到模块“next-intl/link”。)",
            ),
            (
                "La compilación falla con este error:\n```text\nfalta el archivo main.c\n```",
                "La compilación falla con este error (falta el archivo main.c)",
            ),
        ] {
            assert_eq!(reported(message).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_a_model_could_not_do_is_known() {
        let waiting = "The upload to NuGet is blocked on a missing token.";
        assert!(is_waiting(waiting) && !is_waiting("The page is blocked by the policy."));
        assert!(is_waiting("La publicación está bloqueada hasta tener la clave."));
        assert!(is_about("The token is there, so the upload went through.", waiting));
        assert!(!is_about("The upload button is blue now.", waiting));
        assert!(is_unsolved("The second test still fails on Windows."));
        assert!(is_denied("The server answers 401 Unauthorized."));
        assert!(!is_unsolved("The test failed because of a typo, which I fixed."));
        assert!(!is_unsolved("Nothing is left to do."));
    }
}
