//! Noise: statements that are of no use for continuing the work. The conversation contains them, but a digest does not
//! need them.

use std::collections::{HashMap, HashSet};

use super::answers::{affirms_or_denies, asks_for_word};
use super::cues::has_name;
use super::problems::is_conditional;
use super::slash::is_typed_for_interface;
use super::statements::{Statement, Voice};
use super::terms::TextHashing;
use super::text::{WordList, may_be_unspaced, normalised, unspaced, word_list};
use super::working::is_at_work;
use super::{Ledger, Outcome};
use crate::phrases::{HARNESSES, SPACED, listed};
use crate::text::base_name;

/// Words of a message that only praises.
static PRAISE: WordList = word_list!("noise: praise");
/// Other words that such a message may have.
static AROUND_PRAISE: WordList = word_list!(SPACED, "noise: around praise");
/// Most words of such a message.
const MOST_WORDS: usize = 7;
/// Most bytes of such a message.
const MOST_BYTES: usize = 60;
/// Phrases with which a model offers more.
static OFFERS: WordList = word_list!("noise: offers");
/// Beginnings of sentences that introduce code.
static LEADING: WordList = word_list!("noise: leading");
/// What a model says of a question and nothing else.
static PRAISED_QUESTIONS: WordList = word_list!("noise: praised questions");
/// Beginnings of sentences that only say that something goes on.
static GOING_ON: WordList = word_list!("noise: going on");
/// Good wishes.
static WISHES: WordList = word_list!("noise: wishes");
/// What a model says when it has pushed something.
static PUSHED_SO: WordList = word_list!("noise: pushed");
/// Words that turn it into its opposite, or into a plan.
static NEGATIONS: WordList = word_list!(SPACED, "outcomes: not failed");
static HEDGES: WordList = word_list!(SPACED, "claims: hedges");
/// What a command or its outcome has if it pushes.
const PUSH: &str = "push";
/// Longest sentence that only wishes or says that something goes on, in bytes.
const LONGEST_WISH: usize = 120;
/// Beginnings of errors of calls that an export shows as words of the model.
const ERRORS_OF_CALLS: &[&str] = listed!(HARNESSES, "noise: errors of calls");
/// Shortest message of a person that may repeat an answer, in bytes.
const SHORTEST_ECHO: usize = 80;
/// Percentage of such a message that the answer has.
const ECHO_PERCENT: usize = 80;
/// Most sentences of an answer that are compared with the message after it.
const MOST_ECHOED: usize = 32;
/// Longest remark during the work that says nothing, in words, or in characters of a language without spaces.
const LONGEST_REMARK: (usize, usize) = (2, 7);
/// Longest sentence with one thought, in the same units.
const LONGEST_BRIEF: (usize, usize) = (8, 16);
/// Beginnings of blocks with what an edit replaces and with what. The edit was made or refused.
const EDIT_MARKS: [&str; 2] = ["<<<<<<< SEARCH", ">>>>>>> REPLACE"];
/// Longest mark for a picture, in bytes.
const LONGEST_PICTURE: usize = 24;
/// Longest line of a stack trace, in bytes.
const LONGEST_FRAME: usize = 200;
/// Longest bare name between such lines, in bytes.
const LONGEST_NAME: usize = 40;

/// For each statement of a ledger, whether it is noise.
pub(crate) fn noise(ledger: &Ledger) -> Vec<bool> {
    let files = ledger.files.iter().map(|file| base_name(&file.path));
    let mut noise = of_statements(&ledger.statements, &files.collect());
    if has_never_pushed(ledger) {
        let all = ledger.statements.iter().zip(&mut noise);
        all.for_each(|(one, is_noise)| *is_noise |= one.is_of_model() && claims_push(&one.text));
    }
    noise
}

/// The newest words of the model that claim a push in a conversation whose commands are known, and pushed nothing.
pub(crate) fn unproved_push(ledger: &Ledger) -> Option<&Statement> {
    let is_claim = |one: &&Statement| one.is_of_model() && claims_push(&one.text);
    ledger.statements.iter().rev().find(is_claim).filter(|_| has_never_pushed(ledger))
}

/// Whether commands were run, none of them pushed, and nobody else says that something was pushed.
fn has_never_pushed(ledger: &Ledger) -> bool {
    let has_run = ledger.commands.iter().any(|command| !command.is_call);
    let pushes = |text: &str| text.to_lowercase().contains(PUSH);
    // A tool of a server may push, too, and a command of unknown outcome may have.
    let by_command = || {
        let mut done = ledger.commands.iter().filter(|one| one.succeeded > 0 || one.outcome == Outcome::Open);
        done.any(|command| pushes(&command.command))
    };
    let is_told = |one: &Statement| match one.voice {
        Voice::Action | Voice::Milestone | Voice::Summary => pushes(&one.text),
        Voice::Person => claims_push(&one.text),
        _ => false,
    };
    has_run
        && ledger.left_out.of("commands") == 0
        && !by_command()
        && !ledger.statements.iter().any(is_told)
        && !ledger.results.iter().any(|result| pushes(&result.target))
}

/// Whether a sentence says that something was pushed.
fn claims_push(text: &str) -> bool {
    if !PUSHED_SO.is_said(text) || text.ends_with(['?', '\u{ff1f}']) {
        return false;
    }
    let words = normalised(text);
    !NEGATIONS.is_in(&words) && !words.split(' ').any(|word| HEDGES.has(word))
}

/// Whether a sentence is a numbered line of code, as a screen shows it: `2 "success": true`.
fn is_numbered_code(text: &str) -> bool {
    let Some((number, code)) = text.split_once(' ') else { return false };
    let is_bare = || !code.contains(char::is_alphanumeric);
    number.bytes().all(|byte| byte.is_ascii_digit()) && (is_bare() || code.starts_with('"') && code.contains("\":"))
}

/// The same for a list of statements, in a conversation that touches `files`.
fn of_statements(statements: &[Statement], files: &HashSet<&str, TextHashing>) -> Vec<bool> {
    let of_persons = || statements.iter().filter(|one| one.voice == Voice::Person);
    let said: HashSet<&str, TextHashing> = of_persons().map(|one| one.text.as_str()).collect();
    // Of a stack trace, only the first line in a file of the work is kept, or else the first line.
    let mut told: HashMap<u64, (usize, bool), TextHashing> = HashMap::default();
    let mut is_stack = vec![false; statements.len()];
    for (index, one) in statements.iter().enumerate() {
        let file = matches!(one.voice, Voice::Person | Voice::Quote).then(|| file_of_frame(&one.text)).flatten();
        // Names without a place are between other frames.
        let is_between = || index > 0 && is_stack[index - 1] && statements[index - 1].position == one.position;
        is_stack[index] = file.is_some() || is_between() && is_bare_name(&one.text);
        if let Some(file) = file {
            let is_own = files.contains(file);
            let first = told.entry(one.position).or_insert((index, is_own));
            if is_own && !first.1 {
                *first = (index, true);
            }
        }
    }
    let mut is_noise = Vec::with_capacity(statements.len());
    // A complete answer introduces its own lists; any other answer introduces calls.
    let reports = statements.iter().filter(|one| one.voice == Voice::Report);
    let is_complete: HashSet<u64, TextHashing> = reports.map(|one| one.position).collect();
    let newest = statements.iter().rev().find(|one| one.is_of_model()).map(|one| one.position);
    let mut before: Option<&Statement> = None;
    for (index, one) in statements.iter().enumerate() {
        is_noise.push(match one.voice {
            _ if is_stack[index] => told.get(&one.position).is_none_or(|(told, _)| *told != index),
            Voice::Person => {
                let is_answer = before.is_some_and(|before| before.is_of_model() && asks(&before.text));
                let is_repeated = one.text.strip_prefix('/').and_then(|rest| rest.split_once(' '));
                let is_repeated = is_repeated.is_some_and(|(_, words)| said.contains(words.trim()));
                is_repeated
                    || is_picture(&one.text)
                    || is_typed_for_interface(&one.text)
                    || !is_answer && praises(&one.text)
                    || repeats_answer(&statements[..index], one)
            }
            // The calls after it show what was done.
            Voice::Announcement
                if newest.is_some_and(|newest| one.position < newest)
                    && !is_complete.contains(&one.position)
                    && (one.text.ends_with([':', '\u{ff1a}']) || !has_name(&one.text)) =>
            {
                true
            }
            Voice::Report | Voice::Remark | Voice::Announcement | Voice::Refuted => {
                let is_past = newest.is_some_and(|newest| one.position < newest);
                says_nothing(&one.text)
                    || is_settled(statements, index)
                    || is_numbered_code(&one.text)
                    || is_past && goes_on(&one.text)
                    || is_past && one.voice == Voice::Remark && is_mere_remark(&one.text)
                    || is_past && !has_name(&one.text) && is_brief_work(&one.text)
            }
            Voice::Quote => EDIT_MARKS.iter().any(|mark| one.text.contains(mark)),
            Voice::Action | Voice::Milestone | Voice::Document | Voice::Summary => false,
        });
        before = Some(one);
    }
    is_noise
}

/// Whether the question or the offer at the end of an answer is settled: the person's next words say what they want, and
/// neither agree nor refuse.
fn is_settled(statements: &[Statement], index: usize) -> bool {
    let one = &statements[index];
    let mut behind = statements[index + 1..].iter();
    let next = behind.by_ref().take(2).find(|next| next.position != one.position);
    // A message that repeats the answer has its question, too.
    let is_reply = |next: &Statement| {
        next.text.len() <= LONGEST_REPLY || affirms_or_denies(&next.text) || next.text.contains(one.text.as_str())
    };
    next.is_some_and(|next| next.voice == Voice::Person && !is_reply(next))
        && (asks(&one.text) || asks_for_word(&one.text))
}

/// Whether a sentence only says what the model is about to do, in few words: `I'll look at the list first`. What came of it
/// follows.
fn is_brief_work(text: &str) -> bool {
    text.len() <= LONGEST_WORK && !is_conditional(text) && is_at_work(text)
}

/// Most bytes of such a sentence.
const LONGEST_WORK: usize = 120;

/// Longest message that may make no sense without the question before it, in bytes.
const LONGEST_REPLY: usize = 80;

/// Whether a sentence of a model offers more, introduces code, is one word or a mere wish, and names nothing, or whether it
/// is the error of a call.
pub(super) fn says_nothing(text: &str) -> bool {
    ERRORS_OF_CALLS.iter().any(|start| text.starts_with(start))
        || (OFFERS.is_said(text) || leads(text) || is_filler(text) || praises_question(text) || wishes(text))
            && !has_name(text)
}

/// Whether a sentence of a model offers more.
pub(crate) fn offers_help(text: &str) -> bool {
    OFFERS.is_said(text)
}

/// Whether a sentence of a model only praises what the person asked.
fn praises_question(text: &str) -> bool {
    text.len() <= MOST_BYTES
        && (PRAISED_QUESTIONS.has(normalised(text).trim())
            || PRAISED_QUESTIONS.pieces.contains(&text.trim_end_matches(|one: char| !one.is_alphanumeric())))
}

/// Whether a sentence only wishes the person well.
fn wishes(text: &str) -> bool {
    is_brief(text) && WISHES.is_said(text)
}

/// Whether a sentence only says that something is still going on.
fn goes_on(text: &str) -> bool {
    is_brief(text) && !text.ends_with(['?', '\u{ff1f}']) && GOING_ON.begins(text) && !has_name(text)
}

/// Whether a sentence has room for one thought only.
fn is_brief(text: &str) -> bool {
    let (words, characters) = LONGEST_BRIEF;
    let has_wide_comma = || !text.is_ascii() && text.contains(['\u{3001}', '\u{ff0c}']);
    text.len() <= LONGEST_WISH
        && memchr::memchr2(b',', b';', text.as_bytes()).is_none()
        && !has_wide_comma()
        && text.split_whitespace().count() <= words
        && unspaced(text) <= characters
}

/// Whether a remark during the work is too short to say what it is about.
fn is_mere_remark(text: &str) -> bool {
    let (words, characters) = LONGEST_REMARK;
    let unspaced = unspaced(text);
    let is_short = if unspaced > 0 { unspaced <= characters } else { text.split_whitespace().count() <= words };
    is_short && !text.contains(|one: char| one.is_ascii_digit() || one == '?' || one == '\u{ff1f}') && !has_name(text)
}

/// Whether a message of a person has the sentences of the answer before it and little else: the answer of another chat.
fn repeats_answer(before: &[Statement], one: &Statement) -> bool {
    let Some(answer) = before.last().filter(|last| last.is_of_model() && one.text.len() >= SHORTEST_ECHO) else {
        return false;
    };
    let answer = before.iter().rev().take_while(|other| other.position == answer.position).take(MOST_ECHOED);
    let told: Vec<usize> =
        answer.filter(|other| one.text.contains(&other.text)).map(|other| other.text.len()).collect();
    // One sentence may be the option that the person chooses, unless it is a question.
    (told.len() > 1 || asks(one.text.trim_end())) && told.iter().sum::<usize>() * 100 >= one.text.len() * ECHO_PERCENT
}

fn asks(text: &str) -> bool {
    text.ends_with(['?', '\u{ff1f}'])
}

/// Whether a message has only marks of pictures: `[image]`, `[Image #3] [Image #4]`.
fn is_picture(text: &str) -> bool {
    let is_mark = |mark: &str| {
        let bare = mark.trim_end_matches(|one: char| one.is_ascii_digit() || matches!(one, '#' | ' '));
        mark.len() <= LONGEST_PICTURE
            && ["image", "img", "picture", "screenshot"].iter().any(|word| bare.eq_ignore_ascii_case(word))
    };
    let marks = text.trim().strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    marks.is_some_and(|marks| marks.split("] [").all(is_mark))
}

/// Whether the first clause of a longer message only says that something is good: `Great, now add a menu`.
pub(crate) fn praises_first(message: &str) -> bool {
    let marks = [',', '.', '!', ';', '\n', '\u{ff0c}', '\u{3002}', '\u{3001}', '\u{ff01}'];
    message
        .trim_start()
        .split_once(marks)
        .is_some_and(|(first, rest)| praises(first) && rest.contains(char::is_alphanumeric))
}

/// Whether a message only says that something is good.
pub(crate) fn praises(text: &str) -> bool {
    if text.len() > MOST_BYTES {
        return false;
    }
    let bare = || text.trim_matches(|one: char| !one.is_alphanumeric());
    if PRAISE.pieces.contains(&bare()) {
        return true;
    }
    let words = normalised(text);
    let mut has_praise = false;
    let mut words = words.split_whitespace().take(MOST_WORDS + 1);
    words.by_ref().take(MOST_WORDS).all(|word| {
        let is_praise = PRAISE.has(word);
        has_praise |= is_praise;
        is_praise || AROUND_PRAISE.has(word)
    }) && has_praise
        && words.next().is_none()
}

/// Whether a sentence is one word of a language with spaces: `Certainly!`
fn is_filler(text: &str) -> bool {
    text.ends_with(['!', '.'])
        && !may_be_unspaced(text)
        && !text.contains(|one: char| one == ' ' || one.is_ascii_digit())
}

/// Whether a sentence of a model only introduces the code or list after it.
fn leads(text: &str) -> bool {
    text.ends_with([':', '\u{ff1a}']) && LEADING.begins(text)
}

/// The file name in a line of a stack trace: `at read (src/a.ts:3:7)`, `read @ a.js:51`, `File "a.py", line 3, in
/// read`.
fn file_of_frame(text: &str) -> Option<&str> {
    let line = text.trim();
    if line.len() > LONGEST_FRAME {
        return None;
    }
    let name = |path: &'_ str| path.rsplit(['/', '\\', '(', ' ']).next().map(str::len);
    if let Some((path, _)) = line.strip_prefix("File \"").and_then(|rest| rest.split_once("\", line ")) {
        return Some(&path[path.len() - name(path)?..]);
    }
    let place = match line.strip_prefix("at ") {
        Some(place) => place,
        None => {
            let (name, place) = line.split_once(" @ ")?;
            (!name.contains(' ')).then_some(place)?
        }
    };
    // The line number ends the place. A browser may append a menu directly after it.
    let colon = place.match_indices(':').map(|(at, _)| at);
    let mut numbers = colon.filter(|at| place[at + 1..].starts_with(|one: char| one.is_ascii_digit()));
    let path = &place[..numbers.next()?];
    let file = &path[path.len() - name(path)?..];
    file.contains('.').then_some(file)
}

/// Whether a text has a line of a stack of calls.
pub(super) fn has_frames(text: &str) -> bool {
    text.lines().any(|line| file_of_frame(line).is_some())
}

/// Whether a line is the name of a call alone, such as `Promise.then`.
fn is_bare_name(text: &str) -> bool {
    !text.contains(char::is_whitespace) && text.is_ascii() && text.len() <= LONGEST_NAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sources;

    /// Whether each of some statements is noise. Each is of a message of its own.
    fn of(statements: &[(Voice, &str)]) -> Vec<bool> {
        let statement = |(position, (voice, text)): (u64, &(Voice, &str))| Statement {
            voice: *voice,
            text: (*text).to_owned(),
            number: 0,
            position,
            sources: Sources::default(),
        };
        of_statements(&(1..).zip(statements).map(statement).collect::<Vec<_>>(), &HashSet::default())
    }

    #[test]
    fn a_sentence_may_claim_a_push_in_many_languages() {
        for text in [
            "Committed and pushed to main.",
            "Die \u{c4}nderungen wurden erfolgreich gepusht.",
            "Commit et push effectu\u{e9}.",
            "Commit y push hechos con \u{e9}xito:",
            "Ho fatto il push sul ramo.",
            "Commit e push feito.",
            "\u{5df2}\u{63a8}\u{9001}\u{5230}\u{8fdc}\u{7a0b}\u{4ed3}\u{5e93}\u{3002}",
            "\u{30d7}\u{30c3}\u{30b7}\u{30e5}\u{3057}\u{307e}\u{3057}\u{305f}\u{3002}",
        ] {
            assert!(claims_push(text), "{text}");
        }
        for text in [
            "Nothing was committed and pushed to main.",
            "It will be committed and pushed to main.",
            "Shall it be committed and pushed to main?",
            "The stack pushed a frame.",
            "No hice el push.",
        ] {
            assert!(!claims_push(text), "{text}");
        }
    }

    #[test]
    fn numbered_lines_of_code_are_noise() {
        for text in ["1 {", "11 }", "2 \"success\": true"] {
            assert_eq!(of(&[(Voice::Remark, text)]), [true], "{text}");
        }
        for text in ["3 tests fail in the hall", "2 of 5 \u{2192} done"] {
            assert_eq!(of(&[(Voice::Report, text)]), [false], "{text}");
        }
    }

    #[test]
    fn sentences_with_more_than_a_wish_are_no_noise() {
        for text in [
            "Waiting for the lock is what made the export of the orders hang.",
            "お疲れ様でした、注文の書き出しは完了して倉庫に届きました。",
            "数据库已经损坏。",
            "서버 재시작 필요.",
        ] {
            assert_eq!(of(&[(Voice::Report, text)]), [false], "{text}");
            assert_eq!(of(&[(Voice::Remark, text)]), [false], "{text}");
        }
    }

    #[test]
    fn what_a_person_says_without_a_fact_is_noise() {
        for text in [
            "/tokens",
            "/add src/app.rs src/lib.rs",
            "/drop a.py",
            "[image]",
            "[Image #2]",
            "[Image 1] [Image 2] [Image 3]",
            "looks really nice!",
            "I love it",
            "sieht gut aus, danke",
            "merci, c'est parfait",
            "muy bien, gracias",
            "perfeito, obrigado",
            "ottimo, grazie",
            "отлично, спасибо",
            "太好了！",
            "ありがとうございます",
            "감사합니다",
        ] {
            assert_eq!(of(&[(Voice::Person, text)]), [true], "{text}");
        }
        for text in [
            "/undo",
            "/ask how long does it take?",
            "/review the parser",
            "[image] the menu is too low",
            "nice, now add a border",
            "it works now",
            "looks good on the phone but not on a tablet",
            "gut, jetzt die Tests",
            "bien, ahora borra el botón",
            "好的，继续做导出",
            "no",
            "the good one is on the left",
        ] {
            assert_eq!(of(&[(Voice::Person, text)]), [false], "{text}");
        }
        // A short answer stays with its question.
        assert_eq!(of(&[(Voice::Report, "Is that good?"), (Voice::Person, "perfect")]), [false, false]);
    }

    #[test]
    fn a_request_that_was_sent_twice_is_told_once() {
        let twice = [(Voice::Person, "/ask make the chart square"), (Voice::Person, "make the chart square")];
        assert_eq!(of(&twice), [true, false]);
        assert_eq!(of(&[(Voice::Person, "/ask why is it slow?")]), [false]);
    }

    #[test]
    fn offers_and_what_leads_to_code_are_noise() {
        for text in [
            "If you have any other questions, feel free to ask!",
            "Let me know if you need anything else.",
            "Here are the changes:",
            "Aquí están los cambios:",
            "Voici les modifications :",
            "Hier sind die Änderungen:",
            "以下是修改：",
            "Certainly!",
            "¡Perfecto!",
            "How can I help you today?",
            "Great question!",
            "Gute Frage!",
            "Ótima pergunta!",
            "良い質問ですね。",
            "Enjoy your weekend after such a long day!",
            "何でも聞いてください。",
            "Missing required parameter 'depth' for tool think",
        ] {
            assert_eq!(of(&[(Voice::Report, text)]), [true], "{text}");
        }
        for text in [
            "Let me know if `parse_rows` still returns 3 rows.",
            "Want me to add a test for that?",
            "Here is why the import fails: the file has no header.",
            "Here are the changes to `src/app.rs`:",
            "The two ways are:",
            "`parse`!",
            "完了しました。",
            "All done.",
            "Great question: the index was never built.",
            "The parser is missing a required parameter.",
        ] {
            assert_eq!(of(&[(Voice::Report, text)]), [false], "{text}");
        }
    }

    #[test]
    fn remarks_about_work_that_went_on_are_noise() {
        let last = (Voice::Report, "The parser is done.");
        for text in ["Still compiling the parts.", "Waiting for the tests.", "Aguardando os testes.", "確認しました。"]
        {
            assert_eq!(of(&[(Voice::Remark, text), last]), [true, false], "{text}");
        }
        for text in [
            "Waiting for `parse` fails.",
            "Are we waiting for it?",
            "No findings there.",
            "3 passed",
            "表を確認しました。",
        ] {
            assert_eq!(of(&[(Voice::Remark, text), last]), [false, false], "{text}");
        }
        assert_eq!(of(&[(Voice::Report, "Waiting for the tests.")]), [false], "nothing is newer");
    }

    #[test]
    fn a_message_that_repeats_the_answer_before_it_is_noise() {
        let answer =
            "Could you confirm that the shelf was moved as it was asked for, and that nothing else is in the hall?";
        let echo = format!("{answer} ");
        assert_eq!(of(&[(Voice::Report, answer), (Voice::Person, &echo)]), [false, true]);
        let own = format!("{answer} I can confirm that it was moved, and the hall has a lamp beside the window now.");
        assert_eq!(of(&[(Voice::Report, answer), (Voice::Person, &own)]), [false, false]);
    }

    #[test]
    fn of_a_stack_one_line_is_told() {
        let lines = [
            "TypeError: rows is undefined",
            "at readRows (node_modules/x/rows.js:31:7)",
            "Promise.then",
            "at run (src/run.ts:4:1)",
            "load @ load.ts:475Understand this error",
            "File \"a.py\", line 3, in read",
            "see the table",
        ];
        let statement = |(number, text): (u64, &&str)| Statement {
            voice: Voice::Quote,
            text: (*text).to_owned(),
            number,
            position: 1,
            sources: Sources::default(),
        };
        let statements: Vec<Statement> = (0..).zip(&lines).map(statement).collect();
        let told = |files: &[&'static str]| {
            let noise = of_statements(&statements, &files.iter().copied().collect());
            noise.into_iter().zip(&lines).filter(|(is_noise, _)| !is_noise).map(|(_, line)| *line).collect::<Vec<_>>()
        };
        assert_eq!(told(&[]), [lines[0], lines[1], lines[6]]);
        assert_eq!(told(&["run.ts", "load.ts"]), [lines[0], lines[3], lines[6]]);
        assert_eq!(file_of_frame("dispatch @ dispatch.js:51"), Some("dispatch.js"));
        for line in
            ["meet at the corner at 10:30", "mail me @ home. It is open until 18:00", "see src/rows.ts:31", "at 10:30"]
        {
            assert_eq!(file_of_frame(line), None, "{line}");
        }
        assert_eq!(of(&[(Voice::Quote, "<<<<<<< SEARCH a = 1 ======= a = 2 >>>>>>> REPLACE")]), [true]);
        assert_eq!(of(&[(Voice::Quote, "a = 1")]), [false]);
    }

    #[test]
    fn a_question_that_the_next_words_leave_behind_is_noise() {
        let question = "Shall the list have a border?";
        let long =
            "The list looks fine, make the title of the page blue and put the menu below it, please, on all pages";
        let told = |reply: &str| of(&[(Voice::Report, question), (Voice::Person, reply)])[0];
        assert!(told(long));
        assert!(!told("a thin one"), "a short reply needs its question");
        assert!(!told(&format!("yes. {long}")));
        assert!(!of(&[(Voice::Report, question)])[0], "it waits for an answer");
    }

    #[test]
    fn what_the_model_was_about_to_do_is_noise_once_it_went_on() {
        let told =
            |work: &str| of(&[(Voice::Remark, work), (Voice::Report, "The list has a border of two pixels now.")])[0];
        for work in ["I'll look at the list first.", "Ich prüfe kurz die Liste.", "我先看一下列表。"] {
            assert!(told(work), "{work}");
        }
        assert!(!told("I'll look at `list.rs` first."), "the name says something");
        assert!(!told("If the list is empty, I'll hide it."));
        assert!(!of(&[(Voice::Remark, "I'll look at the list first.")])[0], "nothing follows it");
    }
}
