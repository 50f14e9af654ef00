//! Constraints: rules that a person sets for the whole conversation. Tables of words for each language recognise them
//! (`languages`). A new language also needs lines in the tables of the tests.
//!
//! The tables aim at precision. A missed constraint is still among the requests, but a complaint that
//! is mistaken for a constraint uses the room of a real one.

mod languages;

pub(super) use languages::build_tables;
use languages::{Languages, SCRIPTS, orders, signals};

use super::cues::{is_sized, is_trivial};
use super::limits::is_limit;
use super::requests::WORK;
use super::rules::{asks_for_rule, holds_from_now_on, is_part};
use super::standing::standing_wish;
use super::statements::sentences;
use super::text::{WordList, first_words, has_piece, may_be_unspaced, normalised, quoted, word_list};
use crate::phrases::{self, SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// The sentences of `text` that are constraints. If a sentence is too long for an item, its parts
/// between semicolons are examined, and of one that is still too long, the clauses that begin with a ban.
pub(crate) fn constraints(text: &str) -> impl Iterator<Item = &str> {
    let parts = |sentence| if is_sized(sentence) { Parts::Whole(sentence) } else { Parts::Split(sentence) };
    let told = |part| {
        let is_whole = is_constraint(part);
        let is_long = utf16_len(part) > LONGEST_WHOLE;
        let bans = clauses(part).filter(move |clause| is_long && begins_with_ban(clause) && is_constraint(clause));
        Some(part).filter(|_| is_whole).into_iter().chain(bans)
    };
    sentences(text).flat_map(move |sentence| parts(sentence).each()).flat_map(told)
}

/// Longest sentence that may be an item, in UTF-16 units.
const LONGEST_WHOLE: usize = 400;

enum Parts<'a> {
    Whole(&'a str),
    Split(&'a str),
}

impl<'a> Parts<'a> {
    fn each(self) -> impl Iterator<Item = &'a str> {
        let (text, mark) = match self {
            Self::Whole(text) => (text, None),
            Self::Split(text) => (text, Some(';')),
        };
        text.split(move |character| Some(character) == mark).map(str::trim)
    }
}

/// Whether a person's sentence is a constraint. A question is not, unless it asks for something from then on.
pub(crate) fn is_constraint(sentence: &str) -> bool {
    is_sized(sentence) && (!is_question(sentence) || asks_for_rule(sentence)) && demands(sentence) && !is_part(sentence)
}

/// Whether a sentence ends with a question mark, whatever comes after it.
fn is_question(sentence: &str) -> bool {
    let end = sentence.trim_end_matches(['.', '!', ' ']);
    end.ends_with(['?', '\u{ff1f}', '\u{61f}'])
}

/// Whether a sentence demands something.
fn demands(sentence: &str) -> bool {
    let whole = sentence;
    let sentence = without_answer(sentence);
    // A sentence that introduces a list of steps or findings demands nothing by itself.
    if sentence.ends_with([':', '\u{ff1a}']) && !lasts(sentence) {
        return false;
    }
    if DIAGNOSES.begins(sentence) && !obliges(sentence) {
        return false;
    }
    if is_constraint_in_a_script(sentence) || contrasts_in_a_script(sentence) || has_piece(sentence, OWN_PART.pieces) {
        return true;
    }
    let words = normalised(sentence);
    // The text has a space at both ends, so fewer than three spaces mean at most one word.
    if INVITING.is_in(&words)
        || finds_nothing(&words)
        || memchr::memchr_iter(b' ', words.as_bytes()).count() < 3
        || goes_on(&words)
        || tells_breach(sentence)
        || tells_absence(&words)
        || corrects(whole, &words)
        || changes_code(sentence, &words)
    {
        return false;
    }
    if divides_work_in(sentence, &words) {
        return true;
    }
    if OBJECTING.is_in(&words) || asks_for_rule(sentence) || holds_from_now_on(sentence) {
        return true;
    }
    let signals = signals(&words);
    signals.reports == 0 && (uses_and_denies(sentence) || wishes(sentence, &words))
        || signals.demands & !signals.reports != 0
        || orders(sentence, !signals.reports)
}

/// Beginnings of sentences that say what is wrong, or why.
static DIAGNOSES: WordList = word_list!("constraints: diagnoses");
/// Beginnings of clauses about what must wait.
static BEFORE: WordList = word_list!(SPACED, "constraints: before");
/// Words for whatever it is.
static ANYTHING: WordList = word_list!(SPACED, "constraints: anything");
/// Phrases with which a person says what the model has to do.
static HAVING_TO: WordList = word_list!(SPACED, "constraints: having to");
/// Words of a rule that may follow what is wrong.
static OBLIGING: WordList = word_list!(SPACED, "constraints: obliging");
/// Words before a clause about what comes later.
static ORDERING: WordList = word_list!(SPACED, "constraints: ordering");
/// Phrases for `first of all`.
static FIRST_OF_ALL: WordList = word_list!(SPACED, "constraints: first of all");
/// Phrases with which a person says how something should be, and how it should not be.
static SHOULD: WordList = word_list!("constraints: should");
static CONTRASTS: WordList = word_list!("constraints: contrasts");
/// Words after which it is said how something is.
static BUT: WordList = word_list!(SPACED, "constraints: but");
/// Words of a clause that only says what is not known or not urgent.
static UNSURE: WordList = word_list!(SPACED, "constraints: unsure");
/// In languages without spaces between words, phrases that look like a contrast and are none.
const NO_CONTRASTS: &[&str] = listed!(UNSPACED, "constraints: no contrasts");
/// Most words that say how something should not be.
const MOST_CONTRASTED: usize = 6;

/// Words of one language for how something should be, and how not. A word that denies in one language may be any word
/// in another one.
struct Contrasts {
    should: WordList<'static>,
    /// Words that deny behind a comma.
    behind: WordList<'static>,
    /// Words that deny inside a clause.
    within: WordList<'static>,
}

macro_rules! contrasts_of {
    ($table:ident) => {
        Contrasts {
            should: word_list!(phrases::$table, "constraints: should"),
            behind: word_list!(phrases::$table, "constraints: contrasts"),
            within: word_list!(phrases::$table, "constraints: contrasts within"),
        }
    };
}

static CONTRASTING: [Contrasts; 8] = [
    contrasts_of!(ENGLISH),
    contrasts_of!(GERMAN),
    contrasts_of!(FRENCH),
    contrasts_of!(SPANISH),
    contrasts_of!(PORTUGUESE),
    contrasts_of!(ITALIAN),
    contrasts_of!(RUSSIAN),
    contrasts_of!(DUTCH),
];

/// Words of one language before a verb that says what comes later.
struct Later {
    before: WordList<'static>,
    endings: &'static [&'static str],
    no_verbs: WordList<'static>,
}

macro_rules! later_of {
    ($table:ident) => {
        Later {
            before: word_list!(phrases::$table, "constraints: before doing"),
            endings: listed!(phrases::$table, "constraints: verb endings"),
            no_verbs: word_list!(phrases::$table, "constraints: no verbs"),
        }
    };
}

static LATER: [Later; 5] =
    [later_of!(ENGLISH), later_of!(FRENCH), later_of!(SPANISH), later_of!(PORTUGUESE), later_of!(ITALIAN)];
/// Fewest letters of such a verb.
const SHORTEST_VERB: usize = 4;

/// Phrases with which a person says what they do themselves and what is left to the model.
static OWN_PART: WordList = word_list!("constraints: own part");
/// Beginnings of clauses about what they will do, and words for doing it without the model.
static DOING: WordList = word_list!(SPACED, "constraints: doing");
static IN_PERSON: WordList = word_list!(SPACED, "constraints: in person");
/// Fewest words of a sentence about this. A shorter one only answers a question.
const FEWEST_DIVIDING: usize = 5;
/// First words of a clause about what to do next, and words between such clauses.
static LET_US: WordList = word_list!(SPACED, "constraints: let us");
static JOINING: WordList = word_list!(SPACED, "constraints: joining");

/// Whether a sentence says what the person does themselves: `I'll run the tests by hand`.
fn divides_work(sentence: &str) -> bool {
    has_piece(sentence, OWN_PART.pieces) || divides_work_in(sentence, &normalised(sentence))
}

fn divides_work_in(sentence: &str, words: &str) -> bool {
    let in_clause = |clause: &str| {
        let words = normalised(clause);
        DOING.is_in(&words) && IN_PERSON.is_in(&words)
    };
    words.split_whitespace().nth(FEWEST_DIVIDING - 1).is_some()
        && (OWN_PART.is_in(words) || IN_PERSON.is_in(words) && clauses(sentence).any(in_clause))
}

/// Whether a sentence gives a task that is carried out once, beside a demand for all of something: `make sure all notes are
/// there, and merge the branch`. No word says for how long it holds, and it forbids nothing.
pub(crate) fn orders_once(sentence: &str) -> bool {
    let words = normalised(sentence);
    let lasts = |word: &str| HOLDING.has(word) || word.contains(' ');
    if LASTING.found_in(&words).any(|(_, word)| lasts(word)) || holds_from_now_on(sentence) || BEFORE.is_in(&words) {
        return false;
    }
    let clauses: Vec<String> = clauses(sentence).map(normalised).collect();
    let parts = || clauses.iter().flat_map(|clause| joined_parts(clause));
    !parts().any(|part| FORBIDDING.is_in(&first_words(part, DEMAND_WORDS))) && parts().any(is_task)
}

/// The parts of `normalised` words between words such as `and`.
fn joined_parts(words: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![0];
    let mut ends = Vec::new();
    for (at, joint) in JOINING.found_in(words) {
        ends.push(at);
        starts.push(at + joint.len());
    }
    ends.push(words.len());
    starts.into_iter().zip(ends).filter(|(start, end)| start < end).map(|(start, end)| words[start..end].trim())
}

/// Whether a part of a sentence gives a task that is not about all of something, nor about what to use.
fn is_task(part: &str) -> bool {
    let part = &format!(" {part} ");
    let is_order = TASKS.starts(part) || WORK.starts(part) || LET_US.starts(part);
    let is_about_all = || LASTING.found_in(part).any(|(_, word)| !FORBIDDING.has(word));
    is_order && !is_about_all() && !USING.is_in(part)
}

/// Whether a sentence says in which order things are done, or how something should be and how not. Such a sentence may
/// also be a request.
pub(super) fn is_wish(sentence: &str) -> bool {
    contrasts_in_a_script(sentence) || wishes(sentence, &normalised(sentence))
}

fn wishes(sentence: &str, words: &str) -> bool {
    has_order(words) || puts_first(sentence) || SHOULD.is_in(words) && contrasts(sentence)
}

/// Whether a sentence that begins like the report of a problem sets a rule behind that.
fn obliges(sentence: &str) -> bool {
    OBLIGING.found_in(&normalised(sentence)).any(|(_, phrase)| phrase.contains([' ', '\'']))
        || clauses(sentence).skip(1).any(|clause| OBLIGING.starts(&normalised(clause)))
}

/// Whether `normalised` text says that one thing has to be done before another one: `you have to log in before …`.
fn has_order(words: &str) -> bool {
    HAVING_TO.found_in(words).next().is_some_and(|(at, _)| {
        let rest = &words[at - 1..];
        ORDERING.is_in(rest) || LATER.iter().any(|later| later.is_in(rest))
    })
}

impl Later {
    /// Whether such a verb is in `normalised` text.
    fn is_in(&self, words: &str) -> bool {
        self.before.found_in(words).any(|(at, phrase)| {
            let verb = words[at + phrase.len()..].split_whitespace().next().unwrap_or_default();
            verb.chars().count() >= SHORTEST_VERB
                && self.endings.iter().any(|ending| verb.ends_with(ending))
                && !self.no_verbs.has(verb)
        })
    }
}

/// Whether an order of two things is given for one task: `you have to fix the header before you …`.
fn orders_task(words: &str) -> bool {
    HAVING_TO.found_in(words).any(|(at, phrase)| TASKS.starts(&words[at + phrase.len()..]))
}

/// Whether a sentence says what to do before anything of a kind: `before making any file, finish the test`.
fn puts_first(sentence: &str) -> bool {
    let mut clauses = clauses(sentence);
    let Some(first) = clauses.next().filter(|first| BEFORE.may_start(first)) else { return false };
    let first = normalised(first);
    let then = clauses.next().is_some_and(|then| then.split_whitespace().nth(1).is_some());
    then && BEFORE.starts(&first) && ANYTHING.is_in(&first) && !FIRST_OF_ALL.has(first.trim())
}

/// Whether a sentence says how something should be, and then how it should not be: `it should be green, not red`.
fn contrasts(sentence: &str) -> bool {
    let clauses: Vec<String> = clauses(sentence).map(normalised).collect();
    clauses.iter().any(|clause| SHOULD.is_in(clause)) && CONTRASTING.iter().any(|language| language.are_in(&clauses))
}

impl Contrasts {
    /// Whether one of `normalised` clauses says how something should be, and its end or the next one how not.
    fn are_in(&self, clauses: &[String]) -> bool {
        clauses.iter().enumerate().any(|(number, clause)| {
            let Some((at, phrase)) = self.should.found_in(clause).next() else { return false };
            let own = &clause[at + phrase.len()..];
            let denies = || {
                let found = self.within.found_in(own).next();
                found.is_some_and(|(at, other)| {
                    let thing = &own[..at];
                    !thing.trim().is_empty() && !BUT.is_in(thing) && is_contrasted(&own[at + other.len()..])
                })
            };
            let next = || clauses.get(number + 1).is_some_and(|next| self.behind.starts(next) && is_short(next));
            denies() || next()
        })
    }
}

/// Whether `normalised` words behind a denial may say how something should not be.
fn is_contrasted(words: &str) -> bool {
    !words.trim().is_empty() && !UNSURE.is_in(words)
}

/// The same for a whole clause, which has few words.
fn is_short(clause: &str) -> bool {
    let mut words = clause.splitn(3, ' ').skip(2);
    clause.split_whitespace().count() <= MOST_CONTRASTED + 1
        && words.next().is_some_and(|rest| is_contrasted(&format!(" {rest}")))
}

fn contrasts_in_a_script(sentence: &str) -> bool {
    has_piece(sentence, SHOULD.pieces) && has_piece(sentence, CONTRASTS.pieces) && !has_piece(sentence, NO_CONTRASTS)
}

/// Words with which a person says what is right.
static RIGHT: WordList = word_list!("constraints: right");

/// Whether a sentence says how something should be.
pub(super) fn says_right(sentence: &str) -> bool {
    RIGHT.is_said(sentence)
}

/// Whether `normalised` text tells the model to continue something: `keep refactoring`. `keep using` is a demand.
fn goes_on(words: &str) -> bool {
    let mut words = words.split_whitespace();
    words.next() == Some("keep") && words.next().is_some_and(|what| what.ends_with("ing") && what != "using")
}

/// Beginnings of sentences that only say what does not exist.
static EXISTING: WordList = word_list!(SPACED, "constraints: existing");
/// Words before something that was named before.
static DEFINITE: WordList = word_list!(SPACED, "constraints: definite");

/// Whether `normalised` words only say that something is missing, and do not say what is allowed.
fn tells_absence(words: &str) -> bool {
    let demands = || LASTING.found_in(words).any(|(_, word)| !FORBIDDING.has(word)) || PERMITTING.is_in(words);
    EXISTING.starts(words) && !demands()
}

/// Whether an order to use something says which name to write into another one: ``use `all` in `print` ``.
fn changes_code(sentence: &str, words: &str) -> bool {
    let is_order = words.split_whitespace().next().is_some_and(|first| USING.has(first));
    is_order
        && quoted(sentence).nth(1).is_some()
        && !sentence.contains([',', ';'])
        && signals(words).demands == 0
        && !LASTING.is_in(&normalised(&without_names(sentence)))
}

/// A sentence without the names in backticks, whose parts may look like words.
fn without_names(sentence: &str) -> String {
    sentence.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Whether a sentence begins with an order that forbids something, apart from the names in it.
pub(super) fn begins_with_ban(sentence: &str) -> bool {
    let start = first_words(&without_names(sentence), DEMAND_WORDS);
    begins_with_demand(sentence) && FORBIDDING.is_in(&start)
}

/// Whether a word that forbids stands among the first ones of a demand.
pub(crate) fn forbids(demand: &str) -> bool {
    FORBIDDING.is_in(&first_words(without_answer(demand), DEMAND_WORDS))
}

/// Whether a sentence begins with what to use.
pub(crate) fn begins_with_use(sentence: &str) -> bool {
    USING.starts(&first_words(sentence, 1))
}

/// Whether a sentence begins with an order about the name of what is made: `name it app[version]`.
pub(crate) fn names_it(sentence: &str) -> bool {
    NAMING.starts(&first_words(sentence, DEMAND_WORDS))
}

/// Beginnings of such orders.
static NAMING: WordList = word_list!(SPACED, "constraints: naming");

/// Whether a sentence refuses an answer and says what to use in this one step: `no, use the old files`. The
/// `normalised` words are those after the refusal.
fn corrects(sentence: &str, words: &str) -> bool {
    let is_answer = |(first, _): &(&str, &str)| ANSWERS.has(first.trim().to_lowercase().as_str());
    let follows = || sentence.split_once(',').is_some_and(|parts| is_answer(&parts));
    let mut words_of = words.split_whitespace();
    let [verb, what] = [words_of.next(), words_of.next()].map(Option::unwrap_or_default);
    USING.has(verb) && DEFINITE.has(what) && follows() && !LASTING.is_in(words)
}

/// Words of demands that apply beyond their own request: they say for how long or for what, or they forbid something.
pub(crate) static LASTING: WordList = word_list!("constraints: lasting");
/// Answers that a demand may follow. They forbid nothing.
static ANSWERS: WordList = word_list!(SPACED, "constraints: answers");

/// Those of [`LASTING`] that only forbid. Beside a task in the same sentence, they apply to that task.
pub(crate) static FORBIDDING: WordList = word_list!(SPACED, "constraints: forbidding");
/// First words of a clause that gives a task.
pub(crate) static TASKS: WordList = word_list!("constraints: tasks");
/// In languages without spaces between words, words of sentences that apply in general.
const GENERAL_UNSPACED: &[&str] = listed!(UNSPACED, "constraints: general");
/// Words that make it no task if they come before one, in these languages.
const BEFORE_NO_TASKS: &[&str] = listed!(UNSPACED, "constraints: before no tasks");
/// Phrases that invite a person to say more. Models end their answers with them, and people paste those.
static INVITING: WordList = word_list!(SPACED, "constraints: inviting");
/// First words of fragments without a verb that deny something.
static DENIALS: WordList = word_list!(SPACED, "constraints: denials");
/// Words with which such a fragment only reports.
static FINDINGS: WordList = word_list!(SPACED, "constraints: findings");
/// Words with which such a fragment says what happens or happened.
static HAPPENING: WordList = word_list!(SPACED, "constraints: happening");
/// Words with which it says what may happen.
static PERMITTING: WordList = word_list!(SPACED, "constraints: permitting");
/// Number of first words of a sentence in which its demand begins.
const DEMAND_WORDS: usize = 3;

/// Words with which a person objects to something done without being asked for.
pub(super) static OBJECTING: WordList = word_list!(SPACED, "constraints: objecting");
/// Beginnings of opinions.
static OPINIONS: WordList = word_list!(SPACED, "constraints: opinions");
/// Words with which an opinion says that something breaks a rule.
static BREACHES: WordList = word_list!(SPACED, "constraints: breaches");
/// Words of a clause that says what to use.
static USING: WordList = word_list!(SPACED, "constraints: using");

/// Whether one clause of a sentence says what to use and another one begins with what not to use.
fn uses_and_denies(sentence: &str) -> bool {
    if !sentence.contains([',', ';']) || !DENIALS.is_said(sentence) {
        return false;
    }
    let mut clauses = sentence.split([',', ';']).map(normalised).collect::<Vec<_>>();
    let denies = |clause: &String| DENIALS.starts(clause);
    let at = clauses.iter().skip(1).position(denies).map(|at| at + 1);
    at.is_some_and(|at| {
        clauses.truncate(at);
        clauses.iter().any(|clause| USING.is_in(clause))
    })
}

/// A sentence without the answer at its beginning.
fn without_answer(sentence: &str) -> &str {
    let is_answer = |(first, _): &(&str, &str)| {
        // A person may say it more than once: `No no, …`.
        let words = first.trim().to_lowercase();
        ANSWERS.has(&words) || words.split_whitespace().all(|word| ANSWERS.has(word))
    };
    sentence.split_once(',').filter(is_answer).map_or(sentence, |(_, own)| own.trim_start())
}

/// Whether a sentence of one clause says that something breaks a rule.
fn tells_breach(sentence: &str) -> bool {
    let own = sentence.split_once(',').filter(|(first, _)| is_trivial(first)).map_or(sentence, |(_, own)| own);
    let words = || normalised(own);
    !own.contains([',', ';'])
        && OPINIONS.may_start(own.trim_start())
        && OPINIONS.starts(&words())
        && BREACHES.is_in(&words())
}

/// Whether a fragment only says that something is not needed or was not found.
fn finds_nothing(words: &str) -> bool {
    let ends = || words.split_whitespace().next_back().is_some_and(|last| FINDINGS.has(last));
    DENIALS.starts(words) && (ends() || HAPPENING.is_in(words) && !PERMITTING.is_in(words))
}

/// Whether a constraint begins with its demand.
pub(super) fn begins_with_demand(sentence: &str) -> bool {
    let start = first_words(sentence, DEMAND_WORDS);
    let is_fragment = DENIALS.starts(&start);
    !is_fragment && (signals(&start).demands != 0 || orders(&start, Languages::MAX))
        || is_constraint_in_a_script(sentence)
}

/// Whether a demand applies beyond its own request.
pub(crate) fn lasts(demand: &str) -> bool {
    let own = without_answer(demand);
    divides_work(own)
        || standing_wish(own).is_some()
        || says_how_long(own, true)
        || FORBIDDING.is_in(&normalised(own)) && !gives_task(own)
        || holds_from_now_on(own)
        || {
            let words = normalised(own);
            has_order(&words) && !gives_task(own) && !orders_task(&words)
        }
}

/// Whether a demand says for how long it holds, or, with `for_what_all`, for what all. Words that only forbid do not.
pub(crate) fn says_how_long(demand: &str, for_what_all: bool) -> bool {
    let words = normalised(demand);
    let says = |word: &str| if for_what_all { !FORBIDDING.has(word) } else { HOLDING.has(word) };
    LASTING.found_in(&words).any(|(_, word)| says(word)) || has_piece(demand, LASTING.pieces)
}

/// Words for everything that a request does not name.
static OTHERS: WordList = word_list!("constraints: others");

/// Whether a demand only forbids what is outside its own request: `touch no other file`. It ends with the next request.
pub(crate) fn is_bound(demand: &str) -> bool {
    // The name of a file behind it (`@no-shortcuts.md`) may look like a ban.
    let demand = demand.rsplit_once(" @").filter(|(_, name)| !name.contains(' ')).map_or(demand, |(own, _)| own);
    let words = normalised(demand);
    // A word for how long it applies makes it a rule.
    let holds = || holds_for_good(demand);
    (OTHERS.is_in(&words) && FORBIDDING.is_in(&words) || has_piece(demand, OTHERS.pieces) || is_limit(demand))
        && !holds()
}

/// Whether a demand has a word for how long it applies: `always`.
pub(crate) fn holds_for_good(demand: &str) -> bool {
    LASTING.found_in(&normalised(demand)).any(|(_, word)| HOLDING.has(word)) || has_piece(demand, GENERAL_UNSPACED)
}

/// Words for how long a demand applies.
static HOLDING: WordList = word_list!(SPACED, "constraints: holding");

/// The clauses of a sentence.
pub(crate) fn clauses(sentence: &str) -> impl Iterator<Item = &str> {
    sentence.split([',', ';', '\u{ff0c}', '\u{ff1b}', '\u{3001}']).map(str::trim)
}

/// Whether a clause of a sentence gives a task, which is done once.
pub(crate) fn gives_task(sentence: &str) -> bool {
    clauses(sentence).any(|clause| TASKS.starts(&normalised(clause)))
        || !has_piece(sentence, GENERAL_UNSPACED) && clauses(sentence).any(is_task_in_a_script)
}

fn is_task_in_a_script(clause: &str) -> bool {
    if !may_be_unspaced(clause) {
        return false;
    }
    let ends = |task: &&str| clause.find(*task).map(|at| &clause[..at]);
    TASKS.pieces.iter().filter_map(ends).any(|before| !has_piece(before, BEFORE_NO_TASKS))
}

/// Whether a sentence asks for one change: a clause gives the task, and no other clause demands anything except what is
/// no longer wanted.
fn changes_once(sentence: &str) -> bool {
    let asks = |clause: &str| SCRIPTS.iter().any(|script| script.asks(clause));
    let is_left = |clause: &&str| !is_task_in_a_script(clause) && !clause.ends_with('\u{4e86}');
    !has_piece(sentence, GENERAL_UNSPACED)
        && clauses(sentence).any(is_task_in_a_script)
        && !clauses(sentence).filter(is_left).any(asks)
}

/// Whether a sentence in one of the languages of [`SCRIPT_TABLES`] is a constraint.
fn is_constraint_in_a_script(sentence: &str) -> bool {
    // The characters of all cues begin with such a byte. The loop is compiled to vector instructions.
    sentence.bytes().fold(false, |is_wide, byte| is_wide | (byte >= 0xE3))
        && SCRIPTS.iter().any(|script| script.asks(sentence))
        && !changes_once(sentence)
        && !tells_what_works(sentence)
}

/// In languages without spaces between words, ends of clauses that say that something works, and that it does not.
const WORKS: &[&str] = listed!(UNSPACED, "constraints: works");
const WORKS_NOT: &[&str] = listed!(UNSPACED, "constraints: works not");

/// Whether one clause ends with a word that something works and another one with a word that something else does not. No
/// verb follows, so nothing is permitted or forbidden.
fn tells_what_works(sentence: &str) -> bool {
    let ends = |clause: &str, pieces: &[&str]| {
        let own =
            clause.trim_end_matches(|one: char| !one.is_alphanumeric()).trim_end_matches(['\u{4e86}', '\u{7684}']);
        pieces.iter().any(|piece| own.ends_with(piece))
    };
    let (mut works, mut fails) = (false, false);
    for clause in clauses(sentence) {
        match ends(clause, WORKS_NOT) {
            true => fails = true,
            false if ends(clause, WORKS) => works = true,
            false => return false,
        }
    }
    works && fails
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_and_what_is_taken_for_one_step_is_no_demand() {
        for told in [
            "There is no menu on the page of the orders.",
            "there are no rows in the export",
            "No hay ningún menú en la página.",
            "no ahy ninguna ventana abriendose",
            "Es gibt keine Zeilen im Export.",
            "Es ist kein Menü da.",
            "Il n'y a pas de menu sur la page.",
            "Non c'è nessun menu nella pagina.",
            "Não há nenhum menu na página.",
            "Здесь нет меню.",
            "Er is geen menu op de pagina.",
            "没有任何菜单",
            "メニューはありません",
            "no, use the old orders of March.",
            "nein, nimm die alten Bestellungen",
            "non, utilise les anciennes commandes",
            "no, usa los pedidos viejos",
            "use `sorted_rows` in `print_table`",
            "use `all_rows` in `print_every_table`",
            "benutze `zeilen` in `drucke_tabelle`",
        ] {
            assert!(!is_constraint(told), "{told}");
        }
        for demand in [
            "no, use tabs",
            "no, use the store, not the cache",
            "no, always use the old store",
            "nein, keine Tabs verwenden",
            "No menus on phones, please.",
            "use the old parser instead of `nom`",
            "use `pnpm` instead of `npm`",
            "use `sorted_rows`, not `rows`",
            "always use `rows` in `print_table`",
            "There must be no menu on phones.",
            "Es darf kein Menü geben.",
            "No quiero que haya un menú, no debe verse.",
            "没有我的同意，不要提交代码。",
        ] {
            assert!(is_constraint(demand), "{demand}");
        }
    }

    #[test]
    fn a_contrast_stands_behind_what_is_wanted() {
        for wish in [
            "The label should be green, not red.",
            "The label should be green instead of red",
            "Der Titel soll blau sein, nicht rot",
            "Le titre doit être bleu, pas rouge",
            "El título debe ser azul, no rojo",
            "O título deve ser azul, não vermelho",
            "Il titolo deve essere blu, non rosso",
            "Ссылка должна быть сверху а не снизу",
            "Текст должен быть синим вместо красного",
            "De titel moet blauw zijn, niet rood",
            "标题应该是蓝色而不是红色",
            "タイトルは赤ではなく青にするべきです",
        ] {
            assert!(is_constraint(wish), "{wish}");
        }
        for told in [
            "tests should be green, no clue why they fail",
            "It should be easy, not sure why it fails",
            "The rows should be sorted, no rush",
            "The list should show guests who have not paid yet",
            "Der Export sollte eigentlich nicht so lange dauern",
            "Le menu doit être simple, pas sûr que ce soit clair",
            "Debe ser fácil, no sé por qué falla",
            "这应该是缓存的问题而不是数据库的问题",
            "이 표는 빠를 뿐만 아니라 정확해야 합니다",
            "この処理はべき等ではなく、二回動きます",
        ] {
            assert!(!is_wish(told), "{told}");
        }
    }

    #[test]
    fn an_order_of_steps_names_what_is_done_later() {
        for order in [
            "you have to log in before you read the orders",
            "you must start the store before reading from it",
            "Du musst die Tests laufen lassen, bevor du etwas hochlädst",
            "il faut lancer les tests avant de publier la page",
            "hay que abrir la sesión antes de leer los pedidos",
            "você deve abrir a sessão antes de ler os pedidos e antes de gravar",
            "devi fare il login prima di leggere gli ordini",
            "нужно войти, прежде чем читать заказы",
        ] {
            assert!(is_constraint(order), "{order}");
        }
        for task in [
            "devi correggere la prima riga",
            "il faut mettre le logo avant le titre",
            "нужно добавить запятую перед скобкой",
            "you need to look at what I wrote before",
            "hay que arreglar el primero de los menús",
            "tem que mudar o primeiro menu da página",
            "antes de nada, arregla el pie de la página",
            "prima di tutto, correggi il menu della pagina",
            "antes de mais nada, arrume o menu da página",
            "avant tout, corrige le menu de la page",
        ] {
            assert!(!is_constraint(task) || !lasts(task), "{task}");
            assert!(!is_wish(task), "{task}");
        }
        assert!(lasts("you have to log in before you read the orders"));
        assert!(!lasts("you need to fix the header before you look at the menu"));
    }

    #[test]
    fn a_rule_may_follow_what_is_wrong() {
        for rule in [
            "The problem is that you must never push to the main branch without asking me.",
            "The issue is closed, never reopen it again.",
            "Root cause analysis must never be skipped.",
        ] {
            assert!(is_constraint(rule), "{rule}");
        }
        for told in ["The problem is that the server never answers.", "The cause is that rows must be written twice."] {
            assert!(!is_constraint(told), "{told}");
        }
    }

    #[test]
    fn an_opinion_about_a_breach_is_no_demand() {
        for opinion in [
            "ok, i think the table doesn't keep to the rule that no row must ever be wider than the page",
            "ich glaube die Tabelle hält sich nicht an die Regel dass Zeilen niemals breiter sein dürfen",
        ] {
            assert!(!is_constraint(opinion), "{opinion}");
        }
        assert!(is_constraint("i think no row must ever be wider than the page"));
        assert!(is_constraint("i think the old one isn't needed, never use it again"));
    }

    #[test]
    fn what_is_told_of_things_is_no_demand() {
        for told in [
            "No rows are getting written, and the reads are kind of slow.",
            "No no, the scrolling stopped.",
            "No path currently reaches the old store.",
            "hm, we have the new board there, but don't have its nice clock",
            "They never call `load`, so the rest works on counts alone.",
            "You can always merge rows, you can never split them.",
            "For the common case the index files are never touched.",
            "The target is never checked against the list, the reader takes it silently.",
            "It is easy to leave out the lines in the readers that don't care about them.",
            "apply should stand at the front, and the rows no longer show",
            "Keine Zeilen wurden geschrieben und das Lesen ist langsam.",
            "Nein nein, das Rollen hat aufgehört.",
            "Aucune ligne n'a été écrite, et la lecture est lente.",
            "Nessuna riga è stata scritta.",
        ] {
            assert!(!is_constraint(told), "{told}");
        }
        for demand in [
            "No rows may be written before the lock is there.",
            "No new files, and the tables are to stay small.",
            "No no, never use the old store.",
            "Never touch rows that don't belong to you.",
            "The index is never to be touched.",
            "We no longer use the old board, don't link to it.",
            "No longer link to the old board.",
            "Make sure that it never waits.",
            "Keine neuen Tabellen.",
            "Keine Zeilen dürfen geschrieben werden, bevor die Sperre da ist.",
            "Aucune ligne ne doit être écrite.",
        ] {
            assert!(is_constraint(demand), "{demand}");
        }
    }

    #[test]
    fn what_else_not_to_do_is_bound_to_its_request() {
        for demand in [
            "Touch no other file.",
            "Don't change anything else.",
            "Fass sonst nichts an, keine anderen Dateien.",
            "Ne touche à aucun autre fichier, pas un seul.",
            "No toques ningún otro archivo.",
            "Não mexa em outros arquivos.",
            "Non toccare altri file.",
            "Не трогай другие файлы.",
            "Raak geen andere bestanden aan.",
            "Başka hiçbir dosyaya dokunma.",
            "不要改其他文件。",
            "他のファイルは変更しないでください。",
            "다른 파일은 수정하지 마세요.",
        ] {
            assert!(is_bound(demand), "{demand}");
        }
        for rule in
            ["Never touch any other file.", "Don't touch `vendor`.", "Fass vendor nicht an.", "不要改这个文件。"]
        {
            assert!(!is_bound(rule), "{rule}");
        }
    }

    #[test]
    fn a_demand_begins_a_sentence() {
        for sentence in ["Never touch the log.", "Please don't touch it.", "Make sure it is small.", "不要改这个文件。"]
        {
            assert!(begins_with_demand(sentence), "{sentence}");
        }
        for sentence in [
            "No data is lost here, never.",
            "It is simple and must stay so.",
            "That is important \u{2014} don't let it wait.",
        ] {
            assert!(!begins_with_demand(sentence), "{sentence}");
        }
    }

    #[test]
    fn what_works_and_what_does_not_is_a_report() {
        for told in [
            "开发环境可以，测试环境不可以。",
            "本地正常，服务器不行",
            "開発では動く、テストでは動かない。",
            "로컬은 됩니다, 서버는 안 됩니다.",
            "The local page works, the remote one does not.",
            "Lokal geht es, auf dem Server geht es nicht.",
            "Ça marche en local, pas sur le serveur.",
            "En local funciona, en el servidor no.",
        ] {
            assert!(!is_constraint(told), "{told}");
        }
        for demand in ["不可以修改配置文件。", "可以读取，不可以修改文件。", "배포하면 안 됩니다."]
        {
            assert!(is_constraint(demand), "{demand}");
        }
    }

    #[test]
    fn to_go_on_is_no_demand() {
        assert!(!is_constraint("keep refactoring the readers, update the manual with progress"));
        assert!(is_constraint("keep using the old parser for all of the files"));
    }

    #[test]
    fn what_lasts_says_so_or_forbids_something() {
        for demand in [
            "Always run the linter before a commit.",
            "make sure you dont use the old port",
            "Port 48213 is reserved for the metrics server.",
            "Ab jetzt nur noch UTC.",
            "Le dossier vendor est interdit.",
            "Никогда не меняй этот файл.",
            "今后请用英文写注释。",
        ] {
            assert!(lasts(demand), "{demand}");
        }
        for wish in [
            "Make sure the title is blue.",
            "no, the block should stay as is",
            "Le nom doit être court.",
            "it should be wider, don't change the menu, look into the page",
            "prüfe das Menü, ändere nicht die Seite",
        ] {
            assert!(!lasts(wish), "{wish}");
        }
        assert!(lasts("never change the menu, look into the page"));
    }

    /// What people ask for throughout a conversation.
    const WISHES: &[&str] = &[
        "Answer in English.",
        "Antworte auf Deutsch.",
        "Achte dabei darauf, dass die Seiten klein bleiben.",
        "Berücksichtige die Hinweise im Handbuch.",
        "Responde en español.",
        "Ten en cuenta las notas del manual.",
        "Réponds en français.",
        "Corrige le menu sans toucher aux styles.",
        "Responda em português.",
        "Ajuste o menu sem mexer nos estilos.",
        "Rispondi in italiano.",
        "Sistema il menu senza toccare gli stili.",
        "Отвечай на русском.",
        "Исправь меню, не трогая стили.",
        "Fix the menu without touching the styles.",
        "请用中文回答。",
        "菜单先不动。",
        "日本語で答えてください。",
        "修正の前に意見だけお願いします。",
        "既存のスタイルを変えずに進めてください。",
        "한국어로 답해 주세요.",
        // English.
        "Please never modify the file `legacy/payroll.cfg`.",
        "Port 48213 is reserved for the metrics server; do not use it.",
        "Don't touch e.g. foo.rs.",
        "Use port 9000, not 8080, because Bob owns 8080; never change that.",
        "The cache is slow; use the index instead.",
        "It is forbidden to rename public functions.",
        "Under no circumstances deploy on Fridays.",
        "The vendor directory is off-limits.",
        "Everything you write has to be in British English.",
        "Version 1.5 must stay; 2.0 is forbidden.",
        "Tabs, please, not spaces.",
        "The key rule: deploy only from main, i.e. never from a branch!",
        "Cannot deploy on Fridays.",
        "Refrain from adding dependencies.",
        "All changes are to be logged at all times.",
        "No new dependencies.",
        "please use real names in the tables, no numbers!",
        "I never said to delete that page, it was there to read.",
        // German.
        "Nimm echte Namen in den Tabellen, keine Nummern.",
        "Bitte niemals die Datei `lohn.cfg` ändern.",
        "Verwende immer UTC in `Zeitstempel.java` und niemals Lokalzeit.",
        "Füge keine neuen Abhängigkeiten hinzu.",
        "Diese Datei nicht anfassen!",
        "Fass das Verzeichnis vendor nicht an.",
        "Auf keinen Fall direkt auf main pushen.",
        "Der Port 48213 darf nicht benutzt werden.",
        "Achte darauf, dass die Tests schnell bleiben.",
        "Wenn du fertig bist, lösche nichts.",
        "Löschen Sie keine Benutzerdaten.",
        "Nur die öffentliche Schnittstelle dokumentieren.",
        "Wichtig: keine Umbrüche in den Tabellen.",
        // French.
        "N'utilise jamais la fonction calculerAncien().",
        "Ne touche jamais à `src/clé_privée.pem`, s’il te plaît.",
        "S'il te plaît, ne modifie pas ce fichier.",
        "Merci de ne pas toucher au dossier vendor.",
        "Il ne faut jamais déployer le vendredi.",
        "L'API doit rester compatible avec la version 2.",
        "N’ajoutez aucune dépendance.",
        "Évite les dépendances inutiles.",
        "En aucun cas le port 48213.",
        // Spanish.
        "No uses nunca la función calcularTotalViejo().",
        "No agregues dependencias nuevas.",
        "Por favor, no modifiques este archivo.",
        "Nunca borres los registros.",
        "No lo toques sin preguntar.",
        "Está prohibido renombrar funciones públicas.",
        "Bajo ninguna circunstancia despliegues un viernes.",
        "Siempre usa UTC en los registros.",
        "No escribas comentarios en inglés.",
        "Evita las dependencias nuevas.",
        // Portuguese.
        "Não modifique o arquivo de configuração.",
        "Por favor, não apague os registros.",
        "Nunca faça deploy na sexta.",
        "Não mexa na pasta vendor.",
        "É proibido renomear funções públicas.",
        "Use sempre UTC nos registros.",
        "Em hipótese alguma use a porta 48213.",
        // Italian.
        "Non modificare mai il file di configurazione.",
        "Per favore, non toccare la cartella vendor.",
        "Non aggiungere nuove dipendenze.",
        "È vietato rinominare le funzioni pubbliche.",
        "In nessun caso usare la porta 48213.",
        "Usa sempre UTC nei registri.",
        // Russian.
        "Никогда не запускай миграцию `db/миграция_07.sql` без резервной копии.",
        "Не трогай папку vendor.",
        "Не добавляй новые зависимости.",
        "Пожалуйста, не изменяйте этот файл.",
        "Ни в коем случае не удаляй журналы.",
        "Запрещено переименовывать публичные функции.",
        "Всегда используй UTC.",
        "Файлы не удалять!",
        "Не пиши комментарии на английском.",
        // Dutch.
        "Raak de map vendor niet aan.",
        "Geen nieuwe tabellen, kolommen of indexen toevoegen.",
        "Gebruik altijd UTC in de logboeken.",
        "Zorg ervoor dat de tests snel blijven.",
        "De poort 48213 mag niet gebruikt worden.",
        // Turkish.
        "Başka hiçbir dosyaya dokunma.",
        "orders.js dosyasına KESİNLİKLE DOKUNMA.",
        "Hiçbir tablo, görünüm veya dizin ekleme; sadece sorguyu yaz.",
        "Lütfen bu klasörü asla silme.",
        "Sakın ana dala gönderme!",
        "vendor klasörünü değiştirmeyin.",
        "Her zaman UTC kullan.",
        // Vietnamese.
        "Đừng sửa thư mục vendor.",
        "Tuyệt đối không xóa nhật ký.",
        "Không được thay đổi tệp `luong.cfg`.",
        "Luôn luôn dùng UTC.",
        // Polish.
        "Nie ruszaj katalogu vendor.",
        "Nigdy nie usuwaj dzienników.",
        "Pod żadnym pozorem nie wdrażaj w piątek.",
        "Zawsze używaj UTC.",
        // Arabic.
        "لا تحذف الملف `بيانات/سجل.txt` أبدا.",
        // Chinese.
        "不要修改 `config.yaml`。",
        "请务必不要删除 `数据/客户名单.csv` 这个文件。",
        "请不要添加新的依赖。",
        "禁止在周五部署。",
        "所有时间必须使用 UTC。",
        "請勿刪除記錄檔。",
        "千万别动 vendor 目录。",
        "始终使用简体中文回答。",
        // Japanese.
        "必ず `設定/本番.yaml` をバックアップしてください。",
        "絶対に本番のデータを消さないで。",
        "新しい依存関係を追加しないでください。",
        "このファイルは変更しないこと。",
        "公開関数の名前を変えてはいけません。",
        "金曜日のデプロイは禁止です。",
        "常にUTCを使ってください。",
        // Korean.
        "`설정/서버.toml` 파일은 절대 수정하지 마세요.",
        "새 의존성을 추가하지 마세요.",
        "금요일 배포는 금지입니다.",
        "항상 UTC를 사용해 주세요.",
        "반드시 백업을 먼저 하세요.",
    ];

    /// Sentences that only report, ask, or want work done.
    const OTHERS: &[&str] = &[
        "It works without touching the styles.",
        "I answered in English before.",
        "Ich antworte auf Deutsch, sagt die Seite.",
        "I don't know why it fails.",
        "Why don't we use the index?",
        "Must it be UTC?",
        "The page returns 403 Forbidden.",
        "port the parser to Rust",
        "Never",
        "Warum funktioniert das nicht?",
        "Bitte schau nach, warum der Server nicht startet.",
        "Der Server startet nicht.",
        "Keine Ahnung, woran das liegt.",
        "Ändere die Funktion, damit sie nicht abstürzt.",
        "Ich kann die Datei nicht öffnen.",
        "Das hat noch nie funktioniert.",
        "Wir müssen das morgen prüfen.",
        "Ne fonctionne pas sur mon poste.",
        "Je n'ai jamais vu cette erreur.",
        "Ça ne marche pas.",
        "Pas de problème, merci beaucoup.",
        "Le serveur ne répond pas.",
        "No funciona en mi equipo.",
        "No sé por qué falla.",
        "No puedo abrir el archivo.",
        "El servidor nunca responde.",
        "No hay espacio en disco.",
        "No entiendo el mensaje.",
        "Não funciona na minha máquina.",
        "Não sei por que falha.",
        "Não consigo abrir o arquivo.",
        "O servidor nunca responde.",
        "Non funziona sul mio computer.",
        "Non so perché fallisce.",
        "Il server non risponde.",
        "Non riesco ad aprire il file.",
        "Не работает на моей машине.",
        "Не знаю, почему падает.",
        "Сервер не отвечает.",
        "Не могу открыть файл.",
        "Я никогда не видел этой ошибки.",
        "Должно быть, это ошибка в кэше.",
        "Добавь тесты для парсера.",
        "Het werkt niet op mijn computer.",
        "Ik kan het bestand niet openen.",
        "Geen wijzigingen nodig.",
        "Hiçbir şey çalışmıyor.",
        "Sayfa hiç açılmıyor, bunu düzelt.",
        "Neden hep aynı hatayı veriyor?",
        "Kayıtları silme düğmesini ekle.",
        "Máy chủ không chạy.",
        "Tôi không biết tại sao nó lỗi.",
        "Nie działa na moim komputerze.",
        "Nie wiem, dlaczego pada.",
        "修复解析器中的错误并添加测试",
        "要不要加一个缓存？",
        "我不知道为什么会失败。",
        "服务器总是崩溃。",
        "请给按钮换一个特别的颜色。",
        "我无法登录系统。",
        "パーサーをRustに移植してください。",
        "必ず失敗します。",
        "サーバーが起動しません。",
        "なぜ動かないですか？",
        "絶対にバグだと思う。",
        "no, that is the wrong page.",
        "No changes needed.",
        "Aucune modification requise.",
        "Keine Anpassung nötig.",
        "Si vous avez des questions, n'hésitez pas à me le dire !",
        "Follow these steps to solve it:",
        "파서를 Rust로 옮겨 주세요.",
        "항상 실패합니다.",
        "서버가 시작되지 않습니다.",
        "왜 안 되나요?",
    ];

    #[test]
    fn constraints_are_known_in_many_languages() {
        let missed: Vec<_> = WISHES.iter().filter(|wish| constraints(wish).next() != Some(**wish)).collect();
        assert!(missed.is_empty(), "missed: {missed:#?}");
        let taken: Vec<_> = OTHERS.iter().filter(|other| constraints(other).next().is_some()).collect();
        assert!(taken.is_empty(), "taken: {taken:#?}");
    }

    #[test]
    fn a_sentence_that_is_too_long_is_looked_at_in_parts() {
        let long = format!("The history of this project is long{}; never rename it", " and told elsewhere".repeat(30));
        assert_eq!(constraints(&long).collect::<Vec<_>>(), ["never rename it"]);
    }

    #[test]
    fn what_a_person_does_themselves_is_a_demand() {
        for demand in [
            "I'll run the migration by hand, you only write it",
            "you just tell me which command to run",
            "Die Tests starte ich selbst, sag mir nur wann",
            "je vais lancer les tests moi-même",
            "los tests los hago yo desde la página",
            "os testes eu mesmo faço na página",
            "le prove le faccio io dalla pagina, tu aspetta",
            "тесты я сам сделаю на странице",
            "de tests doe ik zelf op de pagina",
            "我会手动运行迁移，告诉我命令",
            "不用提交那块了，我自己提交",
            "テストは私がやります、コマンドだけ教えて",
            "테스트는 제가 직접 할게요",
        ] {
            assert!(is_constraint(demand) && lasts(demand), "{demand}");
        }
        for told in ["I ran it by hand and it failed", "I'll do it myself", "I wrote the manual myself last year"] {
            assert!(!is_constraint(told), "{told}");
        }
    }

    #[test]
    fn a_task_beside_a_demand_for_all_is_done_once() {
        for task in [
            "make sure all notes are up to date, create an index of them",
            "let's go back to the branch and ensure all of its notes are there",
            "make sure every change is saved and then merge the branch",
            "make sure all notes are there, create an index if one doesn't exist",
            "stelle sicher, dass alle Notizen da sind, und erstelle ein Verzeichnis",
        ] {
            assert!(orders_once(task), "{task}");
        }
        for rule in [
            "make sure all commits are signed",
            "use pnpm for all installs and run the linter on every file",
            "always check all files and fix them",
            "check all notes and never delete one",
            "check all notes and don't delete one",
            "whenever all tests pass, update the notes every time",
        ] {
            assert!(!orders_once(rule), "{rule}");
        }
    }

    #[test]
    fn the_name_of_a_file_binds_no_demand() {
        assert!(is_bound("don't touch the other pages"));
        assert!(!is_bound("what about the other pages? @dont-hurry.md"));
    }

    #[test]
    fn a_ban_within_a_sentence_that_is_too_long_is_told_alone() {
        let long = format!(
            "I told you {}, do not guess the columns, so what now",
            "that the page has its own table ".repeat(16)
        );
        assert_eq!(constraints(&long).collect::<Vec<_>>(), ["do not guess the columns"]);
    }
}
