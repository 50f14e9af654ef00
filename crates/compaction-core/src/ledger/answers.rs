//! Answers: what a person says in a few words to a question or to advice of the model. Neither half makes sense alone,
//! so they become one decision. Words of several languages show an assent or a refusal.

use super::bold::without_bold;
use super::choices::{chosen, copies_option, offered, stems};
use super::closed_requests::continues;
use super::constraints::{TASKS, is_constraint};
use super::cues::{has_name, is_guess, is_sized, is_trivial};
use super::decision_tables::is_of_table;
use super::names::ending;
use super::noise::offers_help;
use super::notes::{AGREED, DECIDED, REFUSED, answered_to};
use super::problems::{is_problem, reports};
use super::proposals::is_proposal;
use super::requests::WORK;
use super::statements::{sentences, without_marker};
use super::text::{
    WordList, clip_middle, clip_sentences, first_words, has_any, has_piece, normalised, one_line, starts_with_piece,
    unspaced, word_list,
};
use crate::phrases::{EVERY, SPACED, UNSPACED, listed};
use crate::text::{base_name, utf16_len};

/// Most UTF-16 units of the words of a person, and of what they answer.
const LONGEST_REPLY: usize = 200;
/// Most UTF-16 units of words that only name one of two things. Longer ones ask for something of their own.
const LONGEST_CHOICE: usize = 60;
const LONGEST_QUESTION: usize = 320;
/// Most UTF-16 units of a question with the list that it is about.
const LONGEST_WITH_LIST: usize = 300;
/// Last sentences of an answer among which it asks its question.
const ASKED_WITHIN: usize = 3;
/// Most words, or characters of a script without spaces, of a bare yes or no.
const BARE_WORDS: usize = 2;
const BARE_CHARACTERS: usize = 3;
/// Fewest words of a sentence to which a person may object.
const FEWEST_OBJECTED: usize = 5;
/// Most words of a question whose subject is in the sentence before it.
const POINTING_WORDS: usize = 9;
/// Most words of a question that only asks whether to continue.
const ROUTINE_WORDS: usize = 9;
/// Fewest letters of a word that names one of two things in a question.
const SHORTEST_NAME: usize = 4;

/// First words of an assent.
static ASSENTS: WordList = word_list!("answers: assents");
/// First words of a question that needs no mark. Who asks back answers nothing.
static COUNTERING: WordList = word_list!("answers: countering");
/// First words of a refusal. Who does it alone refuses the offer, too.
static REFUSALS: WordList = word_list!("answers: refusals");
/// Words of questions that only ask whether to continue as planned.
static ROUTINE: WordList = word_list!("answers: routine");
/// Words between two things in a question that lets a person choose one.
pub(crate) static EITHER: WordList = word_list!("answers: either");
/// Words of the model's own advice.
static ADVISING: WordList = word_list!("answers: advising");
/// Those of [`ADVISING`] that recommend something.
static RECOMMENDING: WordList = word_list!(SPACED, "answers: recommending");
/// Words that refer to something said before.
static POINTING: WordList = word_list!("answers: pointing");
/// Words of questions that ask which of several ways to take.
static CHOOSING: WordList = word_list!("answers: choosing");
/// Words of questions that offer to find out whether something is true.
static CHECKING: WordList = word_list!("answers: checking");
/// Words for what is wrong with what a person sees.
static WRONG: WordList = word_list!("answers: wrong");
/// Words of questions about what the person did or sees. The answer to one decides nothing.
static FACTS: WordList = word_list!("answers: facts");
/// Words of questions that ask whether the model understood what the person meant.
static MEANT: WordList = word_list!("answers: meant");
const MEANT_WITHIN: usize = 6;
/// Words that only praise what the person said.
static PRAISE: WordList = word_list!("answers: praise");
/// Most words, and characters of a script without spaces, of a message that only agrees: `ok, try that`.
const ASSENT_WORDS: usize = 4;
const ASSENT_CHARACTERS: usize = 8;

/// Words of an offer to go on if the person likes what was said: `if that works for you, I will …`.
static OFFERS: WordList = word_list!("answers: conditional offers");
/// Most words, and characters of a script without spaces, of a message that takes it with such words: `that plan, please`.
const TAKING_WORDS: usize = 6;
const TAKING_CHARACTERS: usize = 14;
static TAKING: WordList = word_list!("answers: taking an offer");
/// Number of last sentences of an answer in which such an offer stands.
const OFFERED_WITHIN: usize = 3;
/// Longest message that only takes it, in UTF-16 units.
const LONGEST_TAKING: usize = 60;

/// The reply of a person to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Assent,
    Refusal,
}

/// An answer of a person, with the question or advice.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) item: String,
    /// Whether it agrees and says nothing else.
    pub(super) is_bare: bool,
    /// Whether it agrees or refuses.
    pub(super) is_verdict: bool,
}

/// The decision in a short message to `answer`, which asks or advises at its end. `None` if the message is a question,
/// is about something else, or only agrees to continue.
pub(super) fn answered(message: &str, answer: &str) -> Option<Answered> {
    let first = sentences(message).next()?;
    if is_question(first) || COUNTERING.begins(first) || utf16_len(first) > LONGEST_REPLY {
        return None;
    }
    let whole = sentences(message).take_while(|one| !is_question(one)).collect::<Vec<_>>().join(" ");
    let words = clip_sentences(&whole, LONGEST_REPLY);
    let words = words.as_str();
    let plain = normalised(words);
    let says_more = plain.split_whitespace().count() > BARE_WORDS || unspaced(&plain) > BARE_CHARACTERS;
    let verdict = verdict(first);
    let all = own_sentences(answer);
    // An assent before a question of the person only says that they have read the answer.
    let is_filler = || sentences(message).any(is_question);
    let asked = (all.len().saturating_sub(ASKED_WITHIN)..all.len()).rev().find(|at| is_question(all[*at]));
    let at = match (asked, verdict) {
        (Some(at), None) if takes_side(words, all[at]) => at,
        (Some(at), _) if FACTS.is_said(all[at]) || asks_what_is_wrong(&all[..=at]) => return None,
        // An assent to continue also accepts what was recommended, and decides nothing else.
        (Some(at), Some(Verdict::Assent))
            if is_routine(all[at]) || only_agrees(words, &plain) && !lets_choose(all[at]) =>
        {
            return recommended(&all[..at]).filter(|_| !is_filler());
        }
        (Some(at), Some(_)) => at,
        (Some(at), None)
            if utf16_len(words) <= LONGEST_CHOICE && names_one(words, all[at]) && !only_names_file(words, all[at]) =>
        {
            at
        }
        (None, Some(Verdict::Assent)) if is_filler() => return None,
        (None, Some(verdict)) => {
            let advice = all.iter().rposition(|sentence| advises(sentence) && is_sized(sentence));
            // An objection says what is wrong with what was said or done.
            let objected = || all.iter().rposition(|sentence| is_sized(sentence) && says_something(sentence));
            // The denial of a guess about a fact decides nothing.
            let is_fact = |at: &usize| is_guess(&normalised(all[*at]));
            let objected = || objected().filter(|at| verdict == Verdict::Refusal && says_more && !is_fact(at));
            if advice.is_none() && verdict == Verdict::Refusal && !says_no(words) {
                return None;
            }
            if advice.is_none() {
                // It is complete by itself because nothing was asked. An order is a constraint, and a report is a
                // problem.
                let is_order = || is_constraint(words) && !points_back(words);
                let what = objected().filter(|_| !reports(words) && !is_order())?;
                // Words such as `that one` refer to what was said.
                let item = match points_back(words) {
                    true => answered_to(&one_line(words), &clip_sentences(&one_line(all[what]), LONGEST_QUESTION)),
                    false => format!("{DECIDED}{}", one_line(words)),
                };
                return Some(Answered { item, is_bare: false, is_verdict: true });
            }
            advice?
        }
        _ => return None,
    };
    // An assent to advice also accepts what the answer says first.
    let before = match (asked, verdict) {
        (None, Some(Verdict::Assent)) => Some(0),
        _ => at.checked_sub(1).filter(|_| points_back(all[at])),
    };
    // The question stands with its paragraph, which may ask for one of two things in two sentences.
    let paragraph = asked.and_then(|_| paragraph_of(answer, all[at]));
    let is_told = |before: &str| paragraph.as_ref().is_some_and(|own| own.contains(before.trim()));
    let before = before.filter(|before| *before < at).map(|before| all[before]).filter(|before| !is_told(before));
    let question = without_bold(&one_line(paragraph.as_deref().unwrap_or(all[at]))).into_owned();
    let question = match before.filter(|before| is_sized(before) && !is_question(before)) {
        Some(before) => format!("{} {question}", without_bold(&one_line(without_praise(before)))),
        None => question,
    };
    let question = match asked {
        Some(_) => clip_middle(&question, LONGEST_QUESTION),
        None => clip_sentences(&question, LONGEST_QUESTION),
    };
    // Words after an assent to advice may be about something else.
    let is_of_it = || {
        let known = stems(&question);
        stems(words).iter().any(|stem| known.contains(stem))
    };
    let only_agrees =
        || asked.is_none() && (is_plain_assent(words) || unspaced(&plain) > ASSENT_CHARACTERS && !is_of_it());
    let item = match verdict.filter(|verdict| !says_more || *verdict == Verdict::Assent && only_agrees()) {
        Some(Verdict::Assent) => format!("{AGREED}{question}"),
        Some(Verdict::Refusal) => format!("{REFUSED}{question}"),
        None => answered_to(&one_line(words), &question),
    };
    let is_bare = verdict == Some(Verdict::Assent) && !says_more;
    Some(Answered { item, is_bare, is_verdict: verdict.is_some() })
}

/// Whether the last sentences are questions, and one of them asks whether something is wrong: `Is it still too small? Is
/// it something else?` An answer to them reports what is seen.
fn asks_what_is_wrong(asked: &[&str]) -> bool {
    let mut last = asked.iter().rev().take_while(|one| is_question(one)).peekable();
    let mut count = 0;
    let is_wrong = last.any(|one| {
        count += 1;
        let told = one.trim_end_matches(['?', '\u{ff1f}', ' ']);
        is_problem(told) || WRONG.is_said(told)
    });
    is_wrong && count + last.count() >= FEWEST_ASKED
}

/// Fewest questions that ask what is wrong.
const FEWEST_ASKED: usize = 2;

/// The paragraph of `answer` with a question, without the marks of lists, behind the list before it if the question is
/// about what stands there.
fn paragraph_of(answer: &str, question: &str) -> Option<String> {
    let at = (question.as_ptr() as usize).checked_sub(answer.as_ptr() as usize)?;
    let (mut blocks, mut end, mut is_open) = (Vec::<(usize, usize)>::new(), 0, false);
    for line in answer.split_inclusive('\n') {
        let start = end;
        end += line.len();
        match (line.trim().is_empty(), blocks.last_mut().filter(|_| is_open)) {
            (true, _) => is_open = false,
            (false, Some(block)) => block.1 = end,
            (false, None) => {
                blocks.push((start, end));
                is_open = true;
            }
        }
    }
    let own = blocks.iter().position(|(start, end)| (*start..*end).contains(&at))?;
    // A table cannot be read within a sentence.
    let is_read = |sentence: &&str| !is_of_table(sentence);
    let told = |(start, end): &(usize, usize)| {
        sentences(&answer[*start..*end]).filter(is_read).map(str::trim).collect::<Vec<_>>().join(" ")
    };
    let paragraph = told(&blocks[own]);
    let is_item = |line: &str| without_marker(line).len() < line.trim().len();
    let room = LONGEST_WITH_LIST.saturating_sub(utf16_len(&paragraph) + 1);
    let before = own.checked_sub(1).map(|before| &answer[blocks[before].0..blocks[before].1]);
    let list =
        before.filter(|list| list.lines().filter(|line| is_item(line)).count() > 1 && POINTING.is_said(question));
    let list = list.map(|list| list.lines().map(without_marker).map(str::trim).collect::<Vec<_>>().join("; "));
    match list.filter(|list| utf16_len(list) <= room) {
        Some(list) => Some(format!("{list}. {paragraph}")),
        None => Some(paragraph),
    }
}

/// Whether a refusal stands by itself before other words: `no, by date`. A negation goes on: `no me abre el menú`.
fn says_no(words: &str) -> bool {
    let end = words.find([',', '.', ';', ':', '!', '\u{2014}', '\u{ff0c}', '\u{3002}', '\u{3001}', '\u{ff01}']);
    let first = normalised(&words[..end.unwrap_or(words.len())]);
    points_back(words) || end.is_some() && first.split_whitespace().count() + unspaced(&first) / 3 <= BARE_WORDS
}

/// The agreement to the newest recommendation before a question that asks whether to continue.
fn recommended(before: &[&str]) -> Option<Answered> {
    let at = before.iter().rposition(|sentence| recommends(sentence) && !is_question(sentence))?;
    let is_heading = before[at].trim_end_matches(['*', ' ']).ends_with([':', '\u{ff1a}']);
    let advice = if is_heading { before.get(at + 1)? } else { before[at] };
    let text = clip_sentences(&without_bold(&one_line(advice)), LONGEST_QUESTION);
    let item = format!("{AGREED}{text}");
    is_sized(advice).then_some(Answered { item, is_bare: false, is_verdict: true })
}

/// What a person agrees to whose short message only agrees or points back (`that plan, please`), if `answer` ends with an
/// offer to go on if they like what was said. It is the sentence before the offer.
pub(super) fn taken_offer(message: &str, answer: &str) -> Option<String> {
    let message = message.trim();
    if utf16_len(message) > LONGEST_TAKING || message.contains(['\n', '?', '\u{ff1f}']) || has_name(message) {
        return None;
    }
    let plain = normalised(message);
    let is_brief = plain.split_whitespace().count() <= TAKING_WORDS && unspaced(&plain) <= TAKING_CHARACTERS;
    // More words than an assent may change what was offered.
    let takes = match verdict(message) {
        Some(Verdict::Refusal) => false,
        Some(Verdict::Assent) if only_agrees(message, &plain) => true,
        _ => is_brief && TAKING.is_said_in(message, &plain) && !reports(message),
    };
    let all = own_sentences(answer);
    let first = all.len().saturating_sub(OFFERED_WITHIN);
    let offer = (first..all.len()).rev().find(|at| OFFERS.is_said(all[*at])).filter(|_| takes)?;
    let what = all[..offer].iter().rfind(|one| is_sized(one) && says_something(one) && !is_question(one))?;
    Some(format!("{AGREED}{}", clip_sentences(&without_bold(&one_line(what)), LONGEST_QUESTION)))
}

/// Whether a sentence says that it recommends something.
fn recommends(sentence: &str) -> bool {
    RECOMMENDING.is_in(&normalised(sentence)) || has_piece(sentence, ADVISING.pieces)
}

/// Whether a sentence gives the model's own advice.
pub(super) fn advises(sentence: &str) -> bool {
    ADVISING.is_said(sentence)
}

fn is_question(text: &str) -> bool {
    text.trim_end_matches(['*', ' ', ')', '`']).ends_with(['?', '\u{ff1f}', '\u{61f}'])
        || text.starts_with('\u{bf}')
        || text.ends_with("ですか\u{3002}")
        || text.ends_with("ますか\u{3002}")
}

/// Words of questions at the end of an answer that only invite a person to say more.
static COURTESIES: WordList = word_list!("answers: courtesies");
/// Most words of such a question.
const COURTESY_WORDS: usize = 20;

/// Whether a sentence only asks whether the person wants anything else. It proposes nothing.
pub(crate) fn is_courtesy(sentence: &str) -> bool {
    if !is_question(sentence) {
        return false;
    }
    let words = normalised(sentence);
    let is_short = words.split_whitespace().take(COURTESY_WORDS + 1).count() <= COURTESY_WORDS;
    is_short && !has_name(sentence) && COURTESIES.is_said_in(sentence, &words)
}

/// The sentences of an answer without courtesies.
fn own_sentences(answer: &str) -> Vec<&str> {
    sentences(answer).filter(|one| !is_courtesy(one)).collect()
}

/// Whether the first sentence of a message only agrees: `ok fine. Now …`.
pub(super) fn agrees_first(message: &str) -> bool {
    let first = sentences(message).next().filter(|first| verdict(first) == Some(Verdict::Assent));
    first.is_some_and(|first| only_agrees(first, &normalised(first)))
}

/// Whether the first sentence of a message begins with an assent.
pub(super) fn agrees(message: &str) -> bool {
    sentences(message).next().and_then(verdict) == Some(Verdict::Assent)
}

pub(super) fn verdict(sentence: &str) -> Option<Verdict> {
    match sentence {
        _ if is_no_refusal(sentence) => None,
        _ if REFUSALS.begins(sentence) => Some(Verdict::Refusal),
        _ => ASSENTS.begins(sentence).then_some(Verdict::Assent),
    }
}

/// Whether a sentence begins with a word such as yes or no.
pub(crate) fn affirms_or_denies(sentence: &str) -> bool {
    verdict(sentence.trim_start_matches(['*', '_', ' '])).is_some()
}

/// Whether a clause is a word of yes or no and nothing else.
pub(super) fn is_only_verdict(clause: &str) -> bool {
    let words = normalised(clause);
    let is_one = |list: &WordList<'_>| list.has(words.trim()) || list.pieces.contains(&clause.trim());
    !clause.trim().is_empty() && (is_one(&ASSENTS) || is_one(&REFUSALS))
}

/// Whether a sentence is more than a greeting or a word of agreement.
fn says_something(sentence: &str) -> bool {
    let words = normalised(sentence);
    words.split_whitespace().count() + unspaced(&words) / 3 >= FEWEST_OBJECTED
}

/// Whether a question only asks whether to continue.
fn is_routine(question: &str) -> bool {
    let words = normalised(question);
    let count = words.split_whitespace().count() + unspaced(&words) / 3;
    count <= ROUTINE_WORDS
        && !has_name(question)
        && (ROUTINE.is_in(&words) || ROUTINE.pieces.iter().any(|piece| words.contains(piece)))
}

/// Whether a message that begins with an assent says little else.
fn only_agrees(message: &str, normalised: &str) -> bool {
    let unspaced = unspaced(normalised);
    let is_short = if unspaced == 0 {
        normalised.split_whitespace().count() <= ASSENT_WORDS
    } else {
        unspaced <= ASSENT_CHARACTERS
    };
    is_short && !has_name(message)
}

/// Whether a sentence says that work begins or goes on.
pub(super) fn begins_work(sentence: &str) -> bool {
    ROUTINE.is_in(&normalised(sentence)) || ROUTINE.pieces.iter().any(|piece| sentence.contains(piece))
}

/// Whether a message agrees and says nothing else: `ok, do that`.
pub(crate) fn is_assent(message: &str) -> bool {
    verdict(message.trim()) == Some(Verdict::Assent) && is_plain_assent(message)
}

/// Whether all clauses of a message agree and say nothing else.
fn is_plain_assent(message: &str) -> bool {
    let clauses = message.split([',', '.', ';', '!', '\u{ff0c}', '\u{3001}', '\u{3002}', '\u{ff01}']);
    let agrees = |clause: &str| ASSENTS.has(normalised(clause).trim()) || ASSENTS.pieces.contains(&clause);
    clauses.map(str::trim).filter(|clause| !clause.is_empty()).all(|clause| agrees(clause) || is_trivial(clause))
}

/// Whether a sentence of the model only praises what the person said.
pub(crate) fn is_praise(sentence: &str) -> bool {
    let words = normalised(sentence);
    words.split_whitespace().count() <= ASSENT_WORDS && PRAISE.words.iter().any(|praise| words.contains(praise))
}

/// Whether a sentence of the model begins with praise for what the person said, and so agrees with it.
pub(crate) fn agrees_with_person(sentence: &str) -> bool {
    PRAISE.begins_in(sentence, ASSENT_WORDS)
}

/// A sentence of the model without the few words of praise before a dash.
fn without_praise(sentence: &str) -> &str {
    let split = [" - ", " \u{2013} ", " \u{2014} ", "\u{2014}"].iter().find_map(|dash| sentence.split_once(dash));
    let is_praise = |head: &str| PRAISE.has(normalised(head).trim());
    split.filter(|(head, _)| is_praise(head)).map_or(sentence, |(_, rest)| rest)
}

/// Whether `answer` asks at its end whether it understood the person, and `message` does not begin with an assent.
pub(super) fn misses(message: &str, answer: &str) -> bool {
    let all: Vec<&str> = sentences(answer).collect();
    let newest = &all[all.len().saturating_sub(MEANT_WITHIN)..];
    let asks = |one: &&str| is_question(one) && MEANT.is_said(one);
    newest.iter().any(asks) && sentences(message).next().and_then(verdict) != Some(Verdict::Assent)
}

/// Whether an answer offers at its end to find out whether something is true, and the message says so itself: it does
/// not agree, and it says more than no.
pub(super) fn tells_state(message: &str, answer: &str) -> bool {
    let all: Vec<&str> = sentences(answer).collect();
    let newest = &all[all.len().saturating_sub(ASKED_WITHIN)..];
    let offers = newest.iter().any(|one| is_question(one) && CHECKING.is_said(one));
    let plain = normalised(message);
    let says_more = plain.split_whitespace().count() > BARE_WORDS || unspaced(&plain) > BARE_CHARACTERS;
    offers && says_more && sentences(message).next().and_then(verdict) != Some(Verdict::Assent)
}

/// Most UTF-16 units of a message in scripts without spaces that only answers.
const LONGEST_UNSPACED: usize = 24;

/// Whether a short message only answers what `answer` asks at its end, or takes one of its options: it agrees, refuses,
/// lets the model continue or names what was asked about, and gives no other task.
pub(super) fn only_answers(message: &str, answer: &str) -> bool {
    let message = message.trim();
    let options = offered(answer);
    if options.as_deref().is_some_and(|options| copies_option(message, options)) {
        return true;
    }
    let is_long = utf16_len(message) > LONGEST_CHOICE || unspaced(message) > LONGEST_UNSPACED;
    if is_long || sentences(message).any(is_question) || reports(message) {
        return false;
    }
    let all = own_sentences(answer);
    let newest = &all[all.len().saturating_sub(ASKED_WITHIN)..];
    let questions = newest.iter().copied().filter(|one| is_question(one));
    let asked: Vec<&str> = questions.chain(options.as_deref()).collect();
    if asked.is_empty() {
        // An assent continues what the answer shows, even if it asks nothing.
        return is_assent(message) || permits(message, newest);
    }
    let is_choice = options.is_some() || asked.iter().any(|one| lets_choose(one));
    let asked = asked.into_iter().map(normalised).collect::<String>();
    let known = stems(&asked);
    let is_known = |clause: &str| stems(clause).iter().any(|stem| known.contains(stem));
    // A new task begins with a verb that the answer did not use.
    let gives_task = |clause: &str| {
        let words = normalised(clause);
        let verb = WORK.found_in(&words).next().map(|(_, verb)| verb);
        verb.is_some_and(|verb| !has_any(&asked, &[verb])) || TASKS.starts(&words) && !is_known(clause)
    };
    let marks = [',', '.', ';', ':', '!', '\u{2014}', '\u{ff0c}', '\u{3001}', '\u{3002}', '\u{ff01}'];
    let mut clauses = message.split(marks).map(str::trim).filter(|clause| clause.contains(char::is_alphanumeric));
    let Some(first) = clauses.next() else { return false };
    let is_verdict = verdict(message).is_some() || continues(message);
    let names = || {
        let options = options.as_deref();
        options.is_some_and(|options| chosen(message, options).is_some())
            || is_choice && is_known(first) && !gives_task(first)
    };
    let behind = |clause: &str| !gives_task(clause) || is_known(clause);
    (is_verdict && behind(first) || names()) && clauses.all(behind)
}

/// Beginnings of sentences in which an answer asks the person to try or to report something, and the most words of such
/// a beginning. In languages with the verb at the end, they may be anywhere.
static TRYING: WordList = word_list!("waiting: trying");
const TRYING_FIRST: &[&str] = listed!(UNSPACED, "waiting: trying first");
const TRYING_WORDS: usize = 5;

/// Whether a sentence of an answer asks the person to try or to report something: `Reload the page`.
pub(crate) fn asks_to_try(sentence: &str) -> bool {
    // A name such as `RUN_MODE` begins no order.
    let is_name = || sentence.split_whitespace().next().is_some_and(|first| first.contains(['_', '`', '/', '(', '=']));
    TRYING.may_start(sentence) && TRYING.starts(&first_words(sentence, TRYING_WORDS)) && !is_name()
        || starts_with_piece(sentence.trim_start(), TRYING_FIRST)
        || has_piece(sentence, TRYING.pieces)
}

/// Beginnings of sentences that ask the person for a word: `Say OK and I'll commit it`, `Tell me which file`.
static ON_A_WORD: WordList = word_list!("waiting: on a word");
/// Most words of such a beginning.
const WORDS_ASKING: usize = 5;

/// Whether a sentence asks the person for a word before the model goes on. An offer of more help does not.
pub(crate) fn asks_for_word(sentence: &str) -> bool {
    let asks = ON_A_WORD.starts(&first_words(sentence, WORDS_ASKING)) || has_piece(sentence, ON_A_WORD.pieces);
    asks && !offers_help(sentence)
}

/// Beginnings of messages that only permit what the model asked for.
static PERMITTING: WordList = word_list!("answers: permitting");

/// Whether a message permits something and gives no task, after `newest` sentences that ask the person for something.
fn permits(message: &str, newest: &[&str]) -> bool {
    let words = normalised(message);
    let is_within = |at| PERMITTING.found_in(&words).any(|(start, found)| (start..start + found.len()).contains(&at));
    let is_permission = PERMITTING.starts(&words) && WORK.found_in(&words).all(|(at, _)| is_within(at));
    let asks = |one: &&str| is_question(one) || asks_to_try(one) || is_proposal(one);
    (is_permission || starts_with_piece(message, PERMITTING.pieces)) && newest.iter().any(asks)
}

/// Whether a message answers the points of a numbered list in `answer` one by one, if the answer asks for something
/// there: `1. yes 2. it is sharp`. A message with tasks or questions of its own does not count.
pub(super) fn answers_points(message: &str, answer: &str) -> bool {
    let message = message.trim();
    let points = numbered(message);
    if points < FEWEST_POINTS || message.contains(['?', '\u{ff1f}']) || WORK.is_in(&normalised(message)) {
        return false;
    }
    let number = |line: &str| {
        let line = line.trim_start();
        let digits = line.len() - line.trim_start_matches(|one: char| one.is_ascii_digit()).len();
        line[digits..].starts_with(['.', ')']).then(|| line[..digits].parse::<usize>().ok())?
    };
    let mut last: Vec<&str> = Vec::new();
    for line in answer.lines() {
        match number(line) {
            Some(1) => last = vec![line],
            Some(next) if next == last.len() + 1 => last.push(line),
            _ => {}
        }
    }
    let asks = |line: &&str| {
        let text = without_bold(without_marker(line));
        sentences(&text).any(|one| asks_to_try(one) || is_question(one))
    };
    last.len() == points && last.iter().any(asks)
}

/// Fewest points of such an answer.
const FEWEST_POINTS: usize = 2;

/// How many consecutive numbers label the points of a message that begins with the first of them.
fn numbered(message: &str) -> usize {
    let mut rest = message;
    let mut points = 0;
    loop {
        let label = (points + 1).to_string();
        let mut places = rest.match_indices(label.as_str());
        let found = places.find(|(at, _)| {
            let is_start = rest[..*at].chars().next_back().is_none_or(char::is_whitespace);
            is_start && rest[at + label.len()..].starts_with(['.', ')'])
        });
        match found {
            Some((at, _)) if points > 0 || at == 0 => rest = &rest[at + label.len() + 1..],
            _ => return points,
        }
        points += 1;
    }
}

/// Whether a question is about a choice: it names two things, or one of several ways.
fn lets_choose(question: &str) -> bool {
    let words = normalised(question);
    EITHER.is_said_in(question, &words) || CHOOSING.is_said_in(question, &words)
}

/// Whether a message names one of the things that a question lets a person choose between.
fn names_one(message: &str, question: &str) -> bool {
    let asked = normalised(question);
    if !EITHER.is_in(&asked) {
        return has_piece(question, EITHER.pieces);
    }
    let words = normalised(message);
    let is_telling = |word: &&str| word.chars().count() >= SHORTEST_NAME || word.chars().any(char::is_numeric);
    words.split_whitespace().filter(is_telling).any(|word| has_any(&asked, &[word]))
}

/// Whether a message of one sentence takes one of the two sides of a question in its words.
fn takes_side(message: &str, question: &str) -> bool {
    let asked = normalised(question);
    let is_one = || sentences(message).nth(1).is_none() && !reports(message);
    let shared = || {
        let known = stems(question);
        stems(message).iter().filter(|stem| known.contains(stem)).count()
    };
    EITHER.is_said_in(question, &asked) && is_one() && shared() >= FEWEST_OF_SIDE
}

/// Fewest words of the question in such a message.
const FEWEST_OF_SIDE: usize = 3;

/// Whether a message is only the name of a file that the question does not name. The person shows the file.
fn only_names_file(message: &str, question: &str) -> bool {
    let mut words = message.split_whitespace();
    let only = words.next().filter(|_| words.next().is_none());
    only.is_some_and(|file| ending(file).is_some() && !question.contains(base_name(file)))
}

/// Beginnings of messages that look like a refusal or an assent but are neither, in lower case.
const NO_REFUSALS: &[&str] = listed!(EVERY, "answers: no refusals");

/// Whether a message begins with the word of a refusal or an assent and means something else.
pub(super) fn is_no_refusal(message: &str) -> bool {
    let start: String = message.trim_start().chars().take(LONGEST_START).collect::<String>().to_lowercase();
    // Most of them differ in the first byte.
    let first = start.bytes().next();
    NO_REFUSALS.iter().any(|words| words.bytes().next() == first && start.starts_with(words))
}

/// Longest beginning of a message that is compared with these, in characters.
const LONGEST_START: usize = 16;

/// Whether a question makes no sense without the sentence before it.
fn points_back(question: &str) -> bool {
    let words = normalised(question);
    let points = POINTING.is_said_in(question, &words);
    points && !has_name(question) && words.split_whitespace().count() <= POINTING_WORDS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_the_person_is_waited_for() {
        for sentence in [
            "Say OK and I'll commit it as \"add the menu\".",
            "Tell me which of the two lists you mean.",
            "Sag mir, welche Liste gemeint ist.",
            "Dites-moi quelle liste vous voulez.",
            "Se mi dici quale lista vuoi, scrivo il comando.",
            "Скажите, какой список нужен.",
            "请确认是哪个列表。",
            "どちらの一覧か教えてください。",
        ] {
            assert!(asks_for_word(sentence), "{sentence}");
        }
        for sentence in ["Let me know if you have any questions.", "I told you which list it is.", "The menu says OK."]
        {
            assert!(!asks_for_word(sentence), "{sentence}");
        }
    }

    #[test]
    fn an_assent_before_a_question_agrees_to_nothing() {
        let advice = "The server refuses the page. I recommend setting the address in its file.";
        let asks = "ok. Are you able to open the page of the server?";
        assert!(answered("ok, do it", advice).is_some());
        assert_eq!(answered(asks, advice).map(|one| one.item), None);
        let offer = format!("{advice} Shall I go on?");
        assert!(answered("yes", &offer).is_some());
        assert_eq!(answered("yes. Are you able to open the page of the server?", &offer).map(|one| one.item), None);
    }

    #[test]
    fn a_short_agreement_takes_what_stands_before_an_offer() {
        for (message, answer, expected) in [
            (
                "Yes, that plan please",
                "There are two ways. I would load the map only on the page for guests. If that works for you, I will start.",
                "I would load the map only on the page for guests.",
            ),
            (
                "ja, so machen wir das",
                "Die Karte wird nur auf der Seite der Gäste geladen. Wenn das passt, setze ich es um.",
                "Die Karte wird nur auf der Seite der Gäste geladen.",
            ),
            (
                "その方針でお願いします！",
                "**結論：地図はゲストのページだけで読み込むのが安全です。** この方針でよければ実装します。",
                "結論：地図はゲストのページだけで読み込むのが安全です。",
            ),
            (
                "好的，就这样",
                "只在访客页面上加载地图比较安全。如果没问题，我就开始修改。",
                "只在访客页面上加载地图比较安全。",
            ),
        ] {
            assert_eq!(taken_offer(message, answer), Some(format!("{AGREED}{expected}")), "{message}");
        }
        let answer = "The map is loaded on the page for guests. If that works for you, I will start.";
        for message in [
            "No, load it everywhere",
            "Does that work offline?",
            "It crashes on the page for guests",
            "Rename src/map.rs to src/chart.rs",
            "Make it bigger",
            "Yes, but load it for the owners of the shop and for their guests, too",
        ] {
            assert_eq!(taken_offer(message, answer), None, "{message}");
        }
        assert_eq!(taken_offer("yes", "The map is loaded. All tests pass."), None);
        let answer = "地図はゲストのページだけで読み込むのが安全です。よければ実装します。";
        assert_eq!(taken_offer("その色を赤にお願いします", answer), None);
    }

    #[test]
    fn only_an_instruction_asks_to_try() {
        for asks in [
            "Please reload the page.",
            "Copy the jar to the server.",
            "Schau mal auf die Seite.",
            "请将日志发给我。",
            "実行してください。",
        ] {
            assert!(asks_to_try(asks), "{asks}");
        }
        for tells in [
            "Run `cargo test` passed with 12 tests.",
            "Copy and paste of rows works now.",
            "Run time fell to 3 ms.",
            "Test the limits: 4 rows.",
            "Schau- und Druckansicht sind gleich.",
            "La prueba pasa.",
            "启动时请将日志写入的代码已删除",
            "再起動して確認しました。",
        ] {
            assert!(!asks_to_try(tells), "{tells}");
        }
    }

    #[test]
    fn a_permission_answers_only_what_asks() {
        let ask = ["I am waiting for your approval."];
        assert!(permits("Use whatever you want", &ask));
        assert!(!permits("Use whatever you want", &["The page is done."]));
        assert!(!permits("You can go ahead and rename the header", &ask));
        assert!(!permits("Feel free to redesign the login page in blue", &["The page is done."]));
    }

    #[test]
    fn words_that_only_look_like_a_verdict_are_none() {
        let asked = "Should the reads be blocking or non-blocking?";
        for message in ["no problem", "No worries", "不错", "예외"] {
            assert!(answered(message, "Want me to add a cache to the store?").is_none(), "{message}");
        }
        assert!(!answered("non-blocking", asked).is_some_and(|one| one.item.starts_with(REFUSED)));
        assert!(
            answered("no", "Want me to add a cache to the store?").is_some_and(|one| one.item.starts_with(REFUSED))
        );
    }

    #[test]
    fn who_answers_an_offer_to_look_tells_a_state() {
        for (message, answer) in [
            ("ainda não acabou, falta pouco", "Quer que eu verifique se a importação acabou?"),
            ("not yet, it needs an hour", "The import runs. Shall I check whether it is done?"),
            ("还没有完成，再等一下", "要我检查是否完成了吗？"),
        ] {
            assert!(tells_state(message, answer), "{message}");
        }
        for (message, answer) in [
            ("yes, look at it now", "Shall I check whether it is done?"),
            ("no", "Shall I check whether it is done?"),
            ("no, use the old one", "Shall I use the new parser?"),
        ] {
            assert!(!tells_state(message, answer), "{message}");
        }
    }

    #[test]
    fn an_answer_that_asks_what_was_meant_is_missed_without_an_assent() {
        let answer = "The index is rebuilt once a day.\n\n## Is that what you meant?\n\nIf not, tell me more.";
        assert!(misses("there is one about adding something to the files", answer));
        assert!(!misses("yes, and now add it to the manual", answer));
        assert!(!misses("there is one about adding something", "The index is rebuilt. Shall I go on?"));
    }

    #[test]
    fn an_answer_stands_with_its_question() {
        for (message, answer, expected) in [
            (
                "yes please",
                "The import takes a minute.\n\nWant me to use a progress bar for the import?",
                Some("The user agreed to: Want me to use a progress bar for the import?"),
            ),
            (
                "no, keep the old one",
                "Shall I replace the parser?",
                Some("The user answered \"no, keep the old one\" to: Shall I replace the parser?"),
            ),
            (
                "minor, users will see it",
                "Should it be a patch, minor or major release?",
                Some(
                    "The user answered \"minor, users will see it\" to: Should it be a patch, minor or major release?",
                ),
            ),
            (
                "ja gerne",
                "Der Index kann beim Start geladen werden. Soll ich das stattdessen?",
                Some("The user agreed to: Der Index kann beim Start geladen werden. Soll ich das stattdessen?"),
            ),
            (
                "ok, let's go",
                "There are three names. I'd take `--write` since it is short.",
                Some("The user agreed to: There are three names. I'd take `--write` since it is short."),
            ),
            (
                "ok, let's go",
                "Good idea - a preview by default is safer. I'd take `--write` since it is short.",
                Some("The user agreed to: a preview by default is safer. I'd take `--write` since it is short."),
            ),
            (
                "ok, but only for files",
                "There are three names. I'd take `--write` since it is short.",
                Some(
                    "The user answered \"ok, but only for files\" to: There are three names. I'd take `--write` since it is short.",
                ),
            ),
            (
                "no, that is wrong, i have the new one",
                "I bet the old printer is connected here, not the new one.",
                None,
            ),
            ("nein, das ist der neue", "Wahrscheinlich ist hier noch der alte Drucker angeschlossen.", None),
            ("うん", "一覧に日付の列を使いますか？", Some("The user agreed to: 一覧に日付の列を使いますか？")),
            ("不用了", "要不要加一个缓存？", Some("The user refused: 要不要加一个缓存？")),
            (
                "oui",
                "Voulez-vous garder le cache pour les images ?",
                Some("The user agreed to: Voulez-vous garder le cache pour les images ?"),
            ),
            (
                "sí",
                "¿Quieres que use una tabla para los permisos?",
                Some("The user agreed to: ¿Quieres que use una tabla para los permisos?"),
            ),
            (
                "no, the border stays",
                "Done! Both the title and the border are blue now.",
                Some("The user: no, the border stays"),
            ),
            (
                "no, catch `KeyError` where you read the row",
                "This change catches all errors of the store.",
                Some("The user: no, catch `KeyError` where you read the row"),
            ),
            (
                "nein, der Rand bleibt",
                "Der Titel und der Rand sind jetzt blau.",
                Some("The user: nein, der Rand bleibt"),
            ),
            (
                "no, leave that one where it was before",
                "I moved the list of pages to the left side.",
                Some(
                    "The user answered \"no, leave that one where it was before\" to: I moved the list of pages to the left side.",
                ),
            ),
            // An order is a constraint, and a report is about a problem.
            ("don't use popups, just a line of text", "This should resolve the error of the linter.", None),
            ("no, it still crashes when I press the key", "The key opens the menu of the page now.", None),
            // What the person did or sees is a fact.
            ("yes, the live one", "Did you test it on the live page or on the local one?", None),
            ("ja, auf dem Server", "Hast du das auf dem Server getestet oder lokal?", None),
            ("oui, en ligne", "Avez-vous testé la page en ligne ou en local ?", None),
            // An assent to continue accepts what was recommended.
            (
                "yes",
                "**My recommendation:**\n\n**rabbit** as the queue \u{2014} it needs no other server.\n\nWant me to write a plan?",
                Some("The user agreed to: rabbit as the queue \u{2014} it needs no other server."),
            ),
            (
                "ja",
                "Ich empfehle `rabbit` als Warteschlange. Soll ich einen Plan schreiben?",
                Some("The user agreed to: Ich empfehle `rabbit` als Warteschlange."),
            ),
            (
                "sí",
                "Recomiendo `rabbit` como cola de tareas. ¿Quieres que escriba el plan?",
                Some("The user agreed to: Recomiendo `rabbit` como cola de tareas."),
            ),
            ("logs/orders.txt", "Want me to add a page for the logs, by date or by size of the logs?", None),
            ("no, they stay", "You're right!", None),
            ("no", "Both the title and the border are blue now.", None),
            ("no", "Shall I drop the cache?", Some("The user refused: Shall I drop the cache?")),
            ("yes", "Want me to commit and push this?", None),
            ("ok, try that", "Would you like me to update the file with this correction?", None),
            ("yes please", "The import takes a minute. Want me to add a progress bar?", None),
            ("ja, gerne", "Soll ich die Datei so anpassen?", None),
            ("はい、お願いします", "ファイルを更新しますか？", None),
            ("好的", "要我更新这个文件吗？", None),
            (
                "yes",
                "Shall I sort the menu by date or by name?",
                Some("The user agreed to: Shall I sort the menu by date or by name?"),
            ),
            ("yes", "コミットしますか？", None),
            ("what does it cost?", "Want me to add a progress bar?", None),
            ("now rename the widget", "Want me to add a progress bar?", None),
            ("yes", "The import is done.", None),
        ] {
            let item = answered(message, answer).map(|answered| answered.item);
            assert_eq!(item.as_deref(), expected, "{message} | {answer}");
        }
        let refused = answered("I'll do it.", "Would you like me to push the commit?").expect("it is refused");
        assert!(!refused.is_bare);
    }
}
