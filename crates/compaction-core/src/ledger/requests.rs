//! What people and models said: requests, constraints, decisions, steps and answers. The weight of a request says
//! whether it asks for work and begins a topic.

use std::borrow::Cow;
use std::collections::{HashSet, VecDeque};

use super::answers::{
    agrees, agrees_first, answered, answers_points, begins_work, only_answers, taken_offer, tells_state,
};
use super::bold::without_bold;
use super::choices::{
    advised, chosen, chosen_by_name, chosen_for_questions, labelled_option, named, names_option, offered, stems, taken,
    whole,
};
use super::closed_requests::{accepts, leads};
use super::constraints::{
    begins_with_ban, begins_with_demand, constraints, forbids, gives_task, is_constraint, is_wish, names_it, says_right,
};
use super::corrections::{agreed, corrected};
use super::cues::{choice, goal_line, is_announcement, is_substantive, is_trivial, names_choice};
use super::deciding::is_advice;
use super::decision_tables::{decided, decided_items, decided_rows};
use super::delegations::{ON_LINES, choice_in};
use super::faults::tells_fault;
use super::limits::limits;
use super::names::ending;
use super::noise::has_frames;
use super::notes::{
    AGREED, AND_SAID, ANSWERED_WITH, CHOSE, DECIDED, IT_CHOSE, LEFT_TO, Note, NoteKind, NoteList, OFFERED, REFUSED,
    SourcePosition, TOOK,
};
use super::problems::reports;
use super::properties::properties;
use super::reasons::{change_of_plan, other_way, with_subject};
use super::rejections::rejections;
use super::replies::{has_points, leading_label, replies, says_more};
use super::resuming::{
    answers_back, approved_title, breaks_off, confirms, continues_turn, is_approval, is_declaration, is_reference,
    tells_broken_turn,
};
use super::rules::{approves, goes_ahead, listed_rules, with_file};
use super::rulings::{about_items, changes, ruled, rules};
use super::slash::RESETS;
use super::standing::standing_wish;
use super::stated::{SentencePlace, is_choice_of_person, is_way, leaves_open, settles, stated};
use super::statements::{Part, is_prose, parts, sentences, without_marker};
use super::steps::{explicit_steps, is_applied};
use super::templates::is_procedure;
use super::terms::TextHashing;
use super::text::{WordList, clip, clip_clauses, clip_middle, normalised, one_line, unspaced, word_list};
use super::{Request, RequestWeight};
use crate::phrases::SPACED;
use crate::text::{prefix_utf16, utf16_len};

/// Fewest words of a message that asks for work.
const FEWEST_WORDS: usize = 4;
/// Fewest words of a message that begins a topic.
const TELLING_WORDS: usize = 6;
/// Number of words from which a message is substantial, however it begins.
const MANY_WORDS: usize = 24;
/// Fewest bytes of a word that identifies a topic.
const SHORTEST_TOPIC_WORD: usize = 4;
/// Leading UTF-16 units of a message that are searched for its topic.
const TOPIC_UNITS: usize = 600;
/// Beginnings of messages that report, confirm or refuse.
static REPLIES: WordList = word_list!(SPACED, "requests: replies");
/// Words that ask, in any position.
static ASKING: WordList = word_list!(SPACED, "requests: asking");
/// Verbs in the form in which they ask for work.
pub(crate) static WORK: WordList = word_list!(SPACED, "requests: work");
/// Long words that identify no topic.
pub(super) static COMMON: WordList = word_list!(SPACED, "requests: common");

/// The topics of the requests so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Topics {
    /// Words of the topic of the newest request.
    topic: HashSet<String, TextHashing>,
}

impl Topics {
    /// The role of a person's message in the conversation.
    pub(super) fn weigh(&mut self, text: &str) -> RequestWeight {
        let normal = normalised(prefix_utf16(text, TOPIC_UNITS));
        let count = weight(&normal);
        if is_trivial(text) || confirms(text) || !asks_for_work(text, &normal, count) {
            return RequestWeight::Reply;
        }
        let words = topic_words(&normal);
        let begins_topic = count >= TELLING_WORDS && !words.is_empty() && words.is_disjoint(&self.topic);
        if begins_topic {
            self.topic.clear();
        }
        self.topic.extend(words);
        if begins_topic { RequestWeight::Topic } else { RequestWeight::Work }
    }
}

/// Whether a message has enough words to name a topic.
pub(crate) fn is_telling(text: &str) -> bool {
    weight(&normalised(prefix_utf16(text, TOPIC_UNITS))) >= TELLING_WORDS
}

/// Whether a message asks for something: it is neither a fragment nor an answer to the model. It begins with `count`
/// normalised `words` and is not trivial.
fn asks_for_work(text: &str, words: &str, count: usize) -> bool {
    let replies = REPLIES.starts(words);
    let asks = || text.contains('?') || ASKING.is_in(words) || WORK.is_in(words);
    // Constraints have a section of their own.
    let restricts = || sentences(text).all(|one| is_constraint(one) && !gives_task(one) && !is_wish(one));
    count >= FEWEST_WORDS && !restricts() && (!replies || count >= MANY_WORDS || asks())
}

/// The number of words in `normalised` text. In scripts without spaces, two characters count as a word.
fn weight(normalised: &str) -> usize {
    let spaced = normalised.split_whitespace().count();
    spaced.max(unspaced(normalised) / 2)
}

/// The words of a topic among normalised `words`.
fn topic_words(words: &str) -> HashSet<String, TextHashing> {
    let is_telling = |word: &&str| word.len() >= SHORTEST_TOPIC_WORD && !COMMON.has(word) && !WORK.has(word);
    words.split_whitespace().filter(is_telling).map(str::to_owned).collect()
}

/// Shortest message that is a quoted answer, in bytes.
const SHORTEST_QUOTED: usize = 200;
/// Fewest lines of such a message.
const FEWEST_QUOTED: usize = 3;
/// Shortest message that is the end of an answer, in bytes.
const SHORTEST_END: usize = 600;
/// Comes before what the model says of something that a message only refers to, and its most UTF-16 units.
const SAID_OF_REFERENCE: &str = " (the assistant: ";
const LONGEST_OF_REFERENCE: usize = 160;
/// Longest message that counts as typed, in UTF-16 units. Longer ones may have pasted text.
const LONGEST_TYPED: usize = 420;
/// Number of sentences at either end of a message with pasted text that a person may have written.
const TYPED_AROUND: usize = 2;
/// Most sentences at the beginning of such a message that a person may have written, if all of them are prose.
const MOST_TYPED_FIRST: usize = 32;
/// Longest demand with its list, in UTF-16 units.
const LONGEST_LIST: usize = 300;
/// Most sentences of one message that are checked for withdrawals.
const MOST_WITHDRAWING: usize = 200;
/// Number of latest answers whose plans still count.
const RECENT_ANSWERS: usize = 3;
/// Longest request other than the last one, in UTF-16 units.
pub(super) const LONGEST_REQUEST: usize = 4000;
/// Longest last request, in UTF-16 units. A longer one is a pasted file.
pub(super) const LONGEST_LAST_REQUEST: usize = 32_000;
/// Most requests that are kept: the first and the newest ones.
const MOST_REQUESTS: usize = 1000;

/// An answer of the model.
#[derive(Debug, Clone)]
struct Answer<'a> {
    place: SourcePosition<'a>,
    text: String,
}

/// The newest answer with text, whose lists and code a summary may need whole. It is not stored: a stored ledger is
/// followed by newer messages with their own answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct NewestAnswer {
    pub(crate) text: String,
    /// Position of its message; 0 if there is none.
    pub(crate) position: u64,
}

impl PartialEq for NewestAnswer {
    /// The answer is not a fact of its own, so it does not affect equality of ledgers.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A question of a call with its options.
#[derive(Debug, Clone)]
struct Offer {
    position: u64,
    question: String,
    options: String,
}

/// What people and models have said so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Dialogue<'a> {
    pub(super) requests: Vec<Request>,
    topics: Topics,
    /// The latest answers with text.
    answers: VecDeque<Answer<'a>>,
    /// The newest question of a call with options.
    offer: Option<Offer>,
    /// The newest plan of a call, in short, with its position.
    planned: Option<(u64, String)>,
    /// The questions that the person left to the model, until it says something.
    left: Option<(SourcePosition<'a>, String)>,
    pub(super) answered: u64,
    /// The complete answer before that one that ended an earlier turn; 0 if none is known.
    answered_before: u64,
    /// Number of messages of earlier compactions, whose answers are no longer there.
    pub(super) earlier: u64,
    /// Whether the newest answer waits for a tool.
    pub(super) is_waiting: bool,
}

/// Reads constraints and withdrawals of a person, sentence by sentence. `is_reply` says that a tool asked for the text.
pub(super) fn read_constraints(place: SourcePosition<'_>, text: &str, is_reply: bool, notes: &mut NoteList) {
    let own = without_quotes(text);
    let text = own.as_ref();
    let all: Vec<(&str, bool)> = sentences(text).map(|sentence| (sentence, is_prose(sentence))).collect();
    let typed = all.iter().filter(|(_, is_prose)| *is_prose).count();
    // If most of a message was pasted, the person wrote only at its beginning and end.
    let is_pasted = utf16_len(text) > LONGEST_TYPED && typed * 10 < all.len() * 6;
    // What stands beside the frames of a stack is the text of a program, unless it is a paragraph before them.
    let is_trace = has_frames(text);
    let typed = text.split("\n\n").next().filter(|first| first.len() < text.len() && !has_frames(first));
    let is_typed = |sentence: &str| {
        let at = (sentence.as_ptr() as usize).checked_sub(text.as_ptr() as usize);
        !is_trace || typed.zip(at).is_some_and(|(typed, at)| at < typed.len())
    };
    // A sentence with names may look like no prose, but not a whole line.
    let first = &all[..if is_pasted { all.len().min(MOST_TYPED_FIRST) } else { 0 }];
    let typed_first = in_lines_of_prose(text, first).max(TYPED_AROUND);
    let is_between = |at: usize| is_pasted && at >= typed_first && at + TYPED_AROUND < all.len();
    // Pasted data ends with such marks.
    let is_data = |sentence: &str| sentence.ends_with(['}', ']']);
    // A person who takes an option or decides on the points of an answer mostly argues. An order then begins a
    // sentence.
    let is_long = || utf16_len(text) > LONGEST_TYPED;
    let is_review = rules(text) || is_long() && (is_reply || names_option(text) || agrees(text));
    // A few words between names count, too: `don't use A_B, use c.d_e`.
    let is_short = utf16_len(text) <= LONGEST_TYPED && !text.trim().contains('\n');
    // The orders in a long message are the parts of its task. They are told with it.
    let is_brief = utf16_len(text) <= LONGEST_TYPED;
    let may_constrain = |at: usize, sentence: &str, is_prose: bool| {
        let is_prose = is_prose || is_short && (begins_with_ban(sentence) || names_it(sentence));
        let demands = || !is_review || begins_with_demand(sentence);
        !is_between(at) && is_prose && !is_report(sentence) && !is_data(sentence) && demands()
    };
    let candidates =
        all.iter().enumerate().filter(|(at, (sentence, is_prose))| may_constrain(*at, sentence, *is_prose));
    // For each candidate, whether it has a constraint.
    let mut constrains = vec![None; all.len()];
    for (number, (at, (sentence, _))) in candidates.enumerate() {
        // A withdrawal is compared with every constraint and decision, so their number is limited.
        if number < MOST_WITHDRAWING {
            notes.withdraw(sentence, place);
            notes.lift(sentence, place);
        }
        let own: Vec<&str> = constraints(sentence).collect();
        constrains[at] = Some(!own.is_empty());
        for constraint in own.into_iter().filter(|_| is_typed(sentence) && !tells_fault(sentence)) {
            let constraint = constraint.trim_start_matches(['\u{2192}', ' ']);
            let asked = || answered_line(text, constraint).filter(|_| is_reply);
            let told = with_list(text, constraint).or_else(asked).or_else(|| with_file(text, constraint));
            let told = told.or_else(|| with_right(text, constraint)).or_else(|| with_sentence_before(text, constraint));
            notes.add(NoteKind::Constraint, told.as_deref().unwrap_or(constraint), place, false);
        }
        let chosen = choice(sentence).filter(|choice| choice.is_made).map(|choice| choice.item);
        let chosen = chosen.or_else(|| is_choice_of_person(sentence).then(|| (*sentence).to_owned()));
        if let Some(chosen) =
            chosen.filter(|_| !is_constraint(sentence) && !tells_fault(sentence) && !leaves_open(sentence))
        {
            notes.add(NoteKind::Decision, &format!("{DECIDED}{chosen}"), place, false);
        } else if is_brief
            && settles(sentence)
            && !is_constraint(sentence)
            && !tells_fault(sentence)
            && is_typed(sentence)
        {
            // Such an order may still belong to a task.
            notes.add(NoteKind::Decision, &format!("{DECIDED}{}", one_line(sentence)), place, true);
        }
    }
    // What is no longer needed may stand in any sentence.
    let typed_ones = all.iter().enumerate().filter(|(at, (sentence, _))| !is_between(*at) && is_typed(sentence));
    typed_ones.take(MOST_WITHDRAWING).for_each(|(_, (sentence, _))| notes.dispense(sentence, place));
    let may_tell = |at: usize, sentence: &str, is_prose: bool| {
        !is_between(at) && is_prose && !is_report(sentence) && !is_data(sentence) && is_typed(sentence)
    };
    let told = all.iter().enumerate().filter(|(at, (sentence, is_prose))| may_tell(*at, sentence, *is_prose));
    let told = told.filter_map(|(at, (sentence, _))| {
        let own = sentence.trim_start_matches(['\u{2192}', ' ']);
        let known = constrains[at].filter(|_| own.len() == sentence.len());
        let constrains = known.unwrap_or_else(|| constraints(own).next().is_some());
        (!constrains).then_some(own)
    });
    let wishes = told.flat_map(wishes).filter(|told| !tells_fault(told));
    for told in wishes.take(MOST_PROPERTIES) {
        let asked = answered_line(text, told).filter(|_| is_reply);
        notes.add(NoteKind::Constraint, asked.as_deref().unwrap_or(told), place, false);
    }
    if !is_pasted && !is_trace {
        for limit in limits(text) {
            notes.add(NoteKind::Constraint, &limit, place, false);
        }
    }
    // What stands below a heading of rules is one without any word for it.
    if !is_pasted && !is_trace {
        for rule in listed_rules(text).filter(|rule| is_prose(rule)) {
            notes.add(NoteKind::Constraint, rule, place, false);
        }
    }
}

/// What a sentence says that something must be like, or else the standing wish inside it.
fn wishes(sentence: &str) -> impl Iterator<Item = &str> {
    let properties = properties(sentence);
    let wish = properties.is_empty().then(|| standing_wish(sentence)).flatten();
    properties.into_iter().chain(wish)
}

/// Most properties of what is made that are read from one message.
const MOST_PROPERTIES: usize = 6;
/// Longest question before such an answer, in UTF-16 units.
const LONGEST_ASKED: usize = 100;

/// The answer of a person on a line with the question of a tool, with that question.
fn answered_line(text: &str, told: &str) -> Option<String> {
    let line = text.lines().find(|line| line.contains(told))?;
    let (question, answer) = line.trim_start_matches([' ', '\u{b7}']).split_once(ON_LINES)?;
    answer.contains(told).then(|| format!("{}{ON_LINES}{told}", clip_middle(question.trim(), LONGEST_ASKED)))
}

/// The number of sentences before the first line without prose. Each of the `sentences` comes with whether it is prose.
fn in_lines_of_prose(text: &str, sentences: &[(&str, bool)]) -> usize {
    let line_of = |sentence: &str| {
        let at = (sentence.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        text.get(..at).map_or(0, |before| memchr::memchr_iter(b'\n', before.as_bytes()).count())
    };
    let lines: Vec<usize> = sentences.iter().map(|(sentence, _)| line_of(sentence)).collect();
    let prose: HashSet<usize> =
        sentences.iter().zip(&lines).filter(|((_, is), _)| *is).map(|(_, line)| *line).collect();
    lines.iter().take_while(|line| prose.contains(line)).count()
}

/// A sentence of `text` that ends with a colon, with its list.
fn with_list(text: &str, sentence: &str) -> Option<String> {
    if !sentence.ends_with([':', '\u{ff1a}']) {
        return None;
    }
    let behind = text.get(sentence.as_ptr() as usize - text.as_ptr() as usize + sentence.len()..)?;
    let lines = behind.lines().map(str::trim).filter(|line| !line.is_empty());
    let items: Vec<&str> = lines.map_while(|line| Some(without_marker(line)).filter(|item| *item != line)).collect();
    Some(clip(&one_line(&format!("{sentence} {}", items.join("; "))), LONGEST_LIST)).filter(|_| !items.is_empty())
}

/// A ban of a few words with the next sentence, if that says what should be instead: `No logs! It should return an error.`
fn with_right(text: &str, ban: &str) -> Option<String> {
    if ban.split_whitespace().count() > FEW_WORDS || !begins_with_ban(ban) && !forbids(ban) {
        return None;
    }
    let at = (ban.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let behind = text.get(at + ban.len()..)?;
    let next = sentences(behind.lines().next()?).find(|next| next.contains(char::is_alphanumeric))?;
    (says_right(next) && !next.ends_with(['?', '\u{ff1f}'])).then(|| one_line(&format!("{ban} {next}")))
}

/// A line that only names a file (`@rules.md`) with the sentence before it, which says what for.
fn with_sentence_before(text: &str, name: &str) -> Option<String> {
    if !name.starts_with('@') || name.contains(char::is_whitespace) {
        return None;
    }
    let at = (name.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    let before = sentences(text.get(..at)?).last().filter(|before| utf16_len(before) <= LONGEST_LIST)?;
    Some(one_line(&format!("{before} {name}")))
}

/// Most words of such a ban.
const FEW_WORDS: usize = 4;

/// Whether a message is only the name of a command.
fn is_bare_command(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('/') && !text.contains(char::is_whitespace)
}

/// Whether a message is one element, as harnesses write them. A person does not type such lines.
fn is_element(text: &str) -> bool {
    let text = text.trim();
    let first = text.lines().next().unwrap_or_default();
    let last = text.lines().next_back().unwrap_or_default().trim_start();
    first.starts_with('<') && first.ends_with('>') && last.starts_with("</") && last.ends_with('>') && first != last
}

/// A message without the lines that quote somebody else, as in an e-mail.
fn without_quotes(text: &str) -> Cow<'_, str> {
    let is_quote = |line: &&str| line.trim_start().starts_with('>');
    if memchr::memchr(b'>', text.as_bytes()).is_none() || !text.lines().any(|line| is_quote(&line)) {
        return Cow::Borrowed(text);
    }
    let mut lines = text.lines().peekable();
    // The prompt of a terminal comes after the files of the conversation.
    let names_files =
        |first: &&str| !first.trim().is_empty() && first.split_whitespace().all(|word| ending(word).is_some());
    let files = lines.next_if(names_files);
    let own = files.and_then(|_| lines.next_if(is_quote)).map(|line| line.trim_start().trim_start_matches(['>', ' ']));
    let first = own.or(files).into_iter();
    Cow::Owned(first.chain(lines.filter(|line| !is_quote(line))).collect::<Vec<_>>().join("\n"))
}

/// Whether a text before a message is empty or a command such as `/ask`.
fn is_command(text: &str) -> bool {
    let command = text.trim_end();
    text.is_empty() || command.starts_with('/') && !command.contains(char::is_whitespace) && command != text
}

/// Whether a text is most of a long `answer`, or a long end of it: the answer has all of its lines, in this order. A
/// smaller part may be a choice between the options of the answer.
pub(crate) fn is_quoted(text: &str, answer: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_most = text.len() * 4 >= answer.trim().len() * 3;
    // The last message of an answer may be passed on alone.
    let is_end = text.len() >= SHORTEST_END && last_line(text) == last_line(answer);
    if !is_most && !is_end || text.len() < SHORTEST_QUOTED || lines().nth(FEWEST_QUOTED - 1).is_none() {
        return false;
    }
    let mut rest = answer;
    lines().all(|line| {
        // It is usually the next line, but may come later.
        let next = rest.trim_start();
        let after = next.strip_prefix(line).or_else(|| {
            let at = memchr::memmem::find(next.as_bytes(), line.as_bytes())?;
            Some(&next[at + line.len()..])
        });
        rest = after.unwrap_or_default();
        after.is_some()
    })
}

fn last_line(text: &str) -> &str {
    text.trim_end().lines().next_back().unwrap_or_default().trim()
}

/// Whether a sentence is a quoted error or warning.
fn is_report(sentence: &str) -> bool {
    let ends = |word: &str| ["error", "warning", "exception", "failed"].iter().any(|end| word.ends_with(end));
    let mut first = sentence.split_whitespace().take(3);
    first.any(|word| word.strip_suffix(':').is_some_and(|word| ends(&word.to_lowercase())))
}

impl<'a> Dialogue<'a> {
    /// Whether a person's message only repeats earlier text: a long text whose lines are all in the newest answer, or
    /// the unanswered message before it without its command. Agents write such messages when they pass the answer of
    /// one model to the next one or repeat the text after a command.
    pub(super) fn is_repeated(&self, text: &str) -> bool {
        let text = text.trim();
        let spoken_at = self.answers.back().map_or(0, |answer| answer.place.position);
        let answered_at = spoken_at.max(self.answered).max(self.earlier);
        match self.requests.last().filter(|request| request.position > answered_at) {
            Some(request) => request.text.trim().strip_suffix(text).is_some_and(is_command),
            None => self.answers.back().is_some_and(|answer| is_quoted(text, &answer.text)),
        }
    }

    /// Reads what a person said. `is_command` says that it is only a command to the agent.
    pub(super) fn read_person(
        &mut self,
        place: SourcePosition<'a>,
        text: &str,
        is_command: bool,
        notes: &mut NoteList,
    ) {
        if text.trim().is_empty() {
            return;
        }
        if is_command {
            return self.push(place, text, RequestWeight::Command);
        }
        if !is_element(text) {
            self.drop_refuted(text, notes);
            if self.lets_begin(text) {
                notes.end_waiting(place);
            }
            if !is_procedure(text) {
                read_constraints(place, text, false, notes);
            }
            match is_approval(text) {
                true => self.read_approval(place, text, notes),
                false => self.read_choice(place, text, notes),
            }
            self.read_rejections(place, text, notes);
            self.read_correction(place, text, notes);
        }
        let is_answer = self.only_answers(text) || self.resumes(text);
        let weight = if is_answer { RequestWeight::Answer } else { self.topics.weigh(text) };
        self.push(place, text, weight);
    }

    /// Reads a message that only shows the output of a command of the model. The request before it continues.
    pub(super) fn read_result(&mut self, place: SourcePosition<'a>, text: &str) {
        self.push(place, text, RequestWeight::Answer);
    }

    /// Reads a command to the interface. Only a command that begins a new conversation counts.
    pub(super) fn read_interface(&mut self, place: SourcePosition<'a>, command: &str) {
        if RESETS.contains(&command) {
            self.push(place, command, RequestWeight::Reply);
        }
    }

    fn push(&mut self, place: SourcePosition<'a>, text: &str, weight: RequestWeight) {
        let (position, sources) = (place.position, place.sources());
        self.push_request(Request { text: text.to_owned(), position, weight, is_answered: false, sources });
    }

    /// Whether a message only answers a question of the newest answer, so that the request before it continues.
    fn only_answers(&self, text: &str) -> bool {
        let asked_at = self.requests.last().map_or(0, |request| request.position);
        let newest = self.answers.back().filter(|answer| answer.place.position > asked_at);
        let answers = |newest: &Answer<'_>| only_answers(text, &newest.text) || answers_points(text, &newest.text);
        is_substantive(text) && asked_at > 0 && newest.is_some_and(answers)
    }

    /// Whether a message asks for nothing itself, so that the request before it continues.
    fn resumes(&self, text: &str) -> bool {
        let Some(last) = self.requests.last() else { return false };
        let is_under_way = self.is_waiting || self.answered < last.position;
        let newest = self.answers.back().filter(|answer| answer.place.position > last.position);
        is_under_way && tells_broken_turn(text)
            || is_approval(text)
            || is_declaration(text)
            || is_under_way && is_reference(text)
            || continues_turn(text)
            || !self.is_waiting && newest.is_some_and(|newest| answers_back(text, &newest.text))
    }

    /// Whether a message lets work begin: it says so, or agrees when the newest answer asks for it.
    fn lets_begin(&self, text: &str) -> bool {
        let asks = |answer: &Answer<'_>| {
            let last = sentences(&answer.text).filter(|one| one.ends_with(['?', '\u{ff1f}'])).last();
            last.is_some_and(begins_work)
        };
        goes_ahead(text) || approves(text) || agrees(text) && self.answers.back().is_some_and(asks)
    }

    /// Records questions of a call that the person left to the model.
    pub(super) fn leave_to_model(&mut self, place: SourcePosition<'a>, questions: String, notes: &mut NoteList) {
        notes.add(NoteKind::Decision, &format!("{LEFT_TO}{questions}"), place, false);
        self.left = Some((place, questions));
    }

    /// Reads what the model says first after the person wrote or left a question to it: what it chose, or that the
    /// person is right.
    pub(super) fn read_first_words(&mut self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        if text.trim().is_empty() {
            return;
        }
        if let Some((asked, questions)) = self.left.take()
            && let Some(chosen) = choice_in(text).filter(|chosen| shares_word(chosen, &questions))
        {
            let item = format!("{LEFT_TO}{questions}");
            notes.take(NoteKind::Decision, |note| note.position == asked.position && note.text == item);
            notes.add(NoteKind::Decision, &format!("{item}{IT_CHOSE}{chosen}"), place, false);
        }
        let newest = self.requests.last().filter(|one| !self.has_answered(one.position));
        let is_new = |at: u64| !notes.has(NoteKind::Decision, |note| note.position == at);
        if let Some(item) = newest.filter(|one| is_new(one.position)).and_then(|one| agreed(&one.text, text)) {
            notes.add(NoteKind::Decision, &item, place, false);
        }
        self.name_reference(text);
    }

    /// Adds to a request that only refers to something what the model says of it first.
    fn name_reference(&mut self, text: &str) {
        let answered = self.answered;
        let newest = self.requests.last_mut().filter(|one| one.is_own() && answered < one.position);
        let Some(request) = newest.filter(|one| is_reference(&one.text)) else { return };
        if let Some(first) = sentences(text).find(|one| is_substantive(one) && !is_announcement(one)) {
            request.text.push_str(&format!("{SAID_OF_REFERENCE}{})", clip(&one_line(first), LONGEST_OF_REFERENCE)));
        }
    }

    /// Records the text of a plan in a call.
    pub(super) fn note_plan(&mut self, position: u64, text: &str) {
        self.planned = planned(text).map(|plan| (position, plan));
    }

    /// Adds the plan that the person approved: the newest one of a call, or else the one that the approval names, or else
    /// the newest answer.
    fn read_approval(&self, place: SourcePosition<'a>, approval: &str, notes: &mut NoteList) {
        let asked = self.requests.iter().rev().find(|request| request.asks_for_work());
        let asked_at = asked.map_or(0, |request| request.position);
        let of_call = self.planned.as_ref().filter(|(position, _)| *position > asked_at).map(|(_, plan)| plan.clone());
        let newest = || self.answers.back().filter(|answer| answer.place.position > asked_at);
        let named = || approved_title(approval).map(str::to_owned);
        if let Some(plan) = of_call.or_else(named).or_else(|| planned(&newest()?.text)) {
            notes.add(NoteKind::Decision, &format!("{AGREED}{plan}"), place, false);
        }
    }

    /// Adds what a person set right in a few words, if their message decides nothing else.
    fn read_correction(&self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        let Some(before) = self.requests.iter().rev().find(|request| request.asks_for_work()) else { return };
        let decides = |note: &Note| note.position == place.position;
        if !notes.has(NoteKind::Decision, decides)
            && let Some(item) = corrected(text, &before.text, self.newest_text())
        {
            notes.add(NoteKind::Decision, &item, place, false);
        }
    }

    /// Records a question of a call with its options.
    pub(super) fn note_offer(&mut self, position: u64, (question, options): (String, String)) {
        self.offer = Some(Offer { position, question, options });
    }

    /// Drops the solutions that seemed simplest since the last request for work, if a person reports a problem.
    fn drop_refuted(&self, text: &str, notes: &mut NoteList) {
        let since = self.requests.iter().rev().find(|request| request.weight != RequestWeight::Reply);
        let since = since.map_or(0, |request| request.position);
        let is_idea = |note: &Note| note.position > since && note.is_minor && is_way(&note.text);
        if notes.has(NoteKind::Decision, is_idea) && reports(text) {
            notes.take(NoteKind::Decision, is_idea);
        }
    }

    /// Adds what a person rejects among the things that the newest answers did or proposed.
    fn read_rejections(&self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        let Some(asked) = self.requests.iter().rev().find(|request| request.asks_for_work()) else { return };
        // Messages in between, such as an interruption, do not change the newest answer.
        if !self.has_answered(asked.position) {
            return;
        }
        let answers = || self.answers.iter().map(|answer| answer.text.as_str()).collect::<Vec<_>>().join("\n");
        for rejection in rejections(&without_quotes(text), &asked.text, answers) {
            notes.add(NoteKind::Decision, &rejection.item, place, rejection.is_removal);
        }
    }

    /// Adds what a person chose among the options of the newest answer, what they decided on its points, or what they
    /// answered to its question.
    fn read_choice(&self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        // A command such as `/copy` asks the model for nothing.
        let asked = self.requests.iter().rev().find(|request| !is_bare_command(&request.text));
        let asked_at = asked.map_or(0, |request| request.position);
        let choose = |option: &str, notes: &mut NoteList| {
            notes.add(NoteKind::Decision, &format!("{CHOSE}{option}"), place, false);
        };
        if let Some(offer) = self.offer.as_ref().filter(|offer| offer.position > asked_at)
            && let Some(option) = chosen_by_name(text, &offer.options)
        {
            return choose(format!("{} {option}", offer.question).trim_start(), notes);
        }
        let newest = self.answers.back().filter(|answer| answer.place.position > asked_at);
        let Some(newest) = newest else { return };
        let (agreed, refused) = ruled(text, &newest.text);
        if agreed.is_some() || refused.is_some() {
            for (start, points) in [(AGREED, agreed), (REFUSED, refused)] {
                points.into_iter().for_each(|points| {
                    notes.add(NoteKind::Decision, &format!("{start}{points}"), place, false);
                });
            }
            return;
        }
        let of_turn = self.answers.iter().rev().take_while(|answer| answer.place.position > asked_at);
        let replies = of_turn.clone().map(|answer| replies(text, &answer.text)).find(|replies| !replies.is_empty());
        if let Some(replies) = replies {
            return replies.iter().for_each(|reply| notes.add(NoteKind::Decision, reply, place, false));
        }
        if let Some(item) = about_items(text, &newest.text) {
            return notes.add(NoteKind::Decision, &format!("{DECIDED}{item}"), place, false);
        }
        let changes = changes(text, &newest.text);
        if !changes.is_empty() {
            let is_known = |change: &String| {
                notes.has(NoteKind::Constraint, |note| note.position == place.position && note.text == *change)
            };
            let changes: Vec<String> = changes.into_iter().filter(|change| !is_known(change)).collect();
            for change in changes {
                notes.add(NoteKind::Decision, &format!("{DECIDED}{change}"), place, false);
            }
            return;
        }
        // A long message may choose in its first sentence and then argue.
        let is_long = utf16_len(text) > LONGEST_TYPED;
        let text = if is_long { sentences(text).next().unwrap_or_default() } else { text };
        if let Some(taken) = chosen_for_questions(text, &newest.text) {
            return choose(&taken, notes);
        }
        // A label of such a message belongs to a question and not to an option.
        if has_points(text) {
            return;
        }
        // What the person says besides may change the option.
        let with_words = |option: String| match !is_long && says_more(text, &option) {
            true => format!("{option}{AND_SAID}{}", one_line(text)),
            false => option,
        };
        if let Some((sign, _)) = leading_label(text)
            && let Some(option) = labelled_option(sign, &newest.text)
        {
            return choose(&with_words(option), notes);
        }
        // What was said after the options leaves them open.
        let by_name = of_turn.clone().find_map(|answer| Some((answer, chosen_by_name(text, &answer.text)?)));
        if let Some((answer, option)) = by_name {
            return choose(&with_words(whole(&answer.text, &option).unwrap_or(option)), notes);
        }
        let options = offered(&newest.text);
        let named = |options: &str| named(text, options).filter(|_| !is_long);
        let option = options.and_then(|options| chosen(text, &options).or_else(|| named(&options)));
        if let Some(option) = option {
            // The number of a question says what is talked about next.
            if option.contains(['?', '\u{ff1f}']) {
                return;
            }
            return choose(&whole(&newest.text, &option).unwrap_or(option), notes);
        }
        // Who begins with an assent to an answer that recommends one of its options takes that one.
        if let Some(option) = Some(()).filter(|()| agrees_first(text)).and_then(|()| advised(&newest.text)) {
            return notes.add(NoteKind::Decision, &format!("{AGREED}{option}"), place, false);
        }
        // What the person says in so few words is told by what they agree to.
        if let Some(agreed) = taken_offer(text, &newest.text) {
            let own = format!("{DECIDED}{}", one_line(text));
            notes.take(NoteKind::Decision, |note| note.position == place.position && note.text == own);
            return notes.add(NoteKind::Decision, &agreed, place, false);
        }
        if is_long || of_turn.clone().any(|answer| tells_state(text, &answer.text)) {
            return;
        }
        // A question of the person in between leaves the model's question open.
        let mut asked_at = asked_at;
        for answer in self.answers.iter().rev() {
            let is_newest = std::ptr::eq(answer, newest);
            if let Some(answered) = answered(text, &answer.text).filter(|one| is_newest || one.is_verdict) {
                return notes.add(NoteKind::Decision, &answered.item, place, answered.is_bare);
            }
            if answer.place.position > asked_at {
                let between = self.requests.iter().rev().find(|request| request.position < answer.place.position);
                let Some(between) = between.filter(|one| one.text.trim().ends_with(['?', '\u{ff1f}'])) else { return };
                asked_at = between.position;
            }
        }
    }

    /// Whether the newest message of a person asks for something else than the open request, in a few words: it neither
    /// answers nor agrees, nor lets the model go on.
    pub(super) fn leads_elsewhere(&self, words: &str) -> bool {
        let is_reply = self.requests.last().is_some_and(|last| last.weight != RequestWeight::Answer);
        is_reply && is_substantive(words) && accepts(words) && !agrees(words) && !goes_ahead(words)
    }

    /// Whether the model said something after a request.
    pub(super) fn has_answered(&self, request: u64) -> bool {
        self.answers.back().is_some_and(|answer| answer.place.position > request)
    }

    /// The text of the newest answer.
    pub(super) fn newest_text(&self) -> &str {
        self.answers.back().map_or("", |answer| &answer.text)
    }

    /// The newest answers with their positions.
    pub(super) fn newest_answers(&self) -> Vec<(u64, &str)> {
        self.answers.iter().map(|answer| (answer.place.position, answer.text.as_str())).collect()
    }

    /// Adds a request. The one before it is no longer the last and is cut if it is long.
    pub(super) fn push_request(&mut self, request: Request) {
        if let Some(last) = self.requests.last_mut().filter(|last| utf16_len(&last.text) > LONGEST_REQUEST) {
            last.text = clip_middle(&last.text, LONGEST_REQUEST);
        }
        let text = clip_middle(&request.text, LONGEST_LAST_REQUEST);
        self.requests.push(Request { text, ..request });
        if self.requests.len() > 2 * MOST_REQUESTS {
            self.requests.drain(1..=MOST_REQUESTS);
        }
    }

    /// Reads an extension's message. It has the role of a person's message but is not a request.
    pub(super) fn read_extension(&mut self, place: SourcePosition<'a>, text: &str, notes: &mut NoteList) {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        notes.add(NoteKind::Fact, &goal_line(first), place, true);
    }

    /// Adds the decisions in the tables of an answer. What the person answered before is told by them.
    pub(super) fn add_tables(&self, place: SourcePosition<'_>, answer: &str, notes: &mut NoteList) {
        let rows = decided_rows(answer);
        let mut items = decided(&rows);
        for item in decided(&decided_items(answer)) {
            if !items.contains(&item) {
                items.push(item);
            }
        }
        if items.is_empty() {
            return;
        }
        let known: HashSet<String> = rows.iter().flat_map(|row| stems(row)).collect();
        let since = place.position.saturating_sub(INTERVIEW);
        let is_told = |note: &Note| {
            note.position > since
                && [CHOSE, AGREED, REFUSED, ANSWERED_WITH].iter().any(|start| note.text.starts_with(start))
                && stems(&note.text).iter().any(|stem| known.contains(stem))
        };
        notes.make_minor(NoteKind::Decision, is_told);
        items.iter().for_each(|item| notes.add(NoteKind::Decision, item, place, false));
    }

    /// Adds the decisions in an answer, and the findings that compare what is with what should be. The advice and
    /// offers of a final answer are not decisions. `acts` says that calls come with the words.
    pub(super) fn add_decisions(
        &self,
        place: SourcePosition<'_>,
        parts: &[Part<'_>],
        (is_final, acts): (bool, bool),
        notes: &mut NoteList,
    ) {
        let told = if is_final { SentencePlace::Final } else { SentencePlace::Working };
        let mut before: Option<&str> = None;
        for part in parts {
            for sentence in part.sentences() {
                let plan = || {
                    let planned =
                        before.filter(|_| !is_final).and_then(|before| change_of_plan(sentence, before, acts));
                    planned.or_else(|| other_way(sentence, before).filter(|_| !is_final))
                };
                let chosen = choice(sentence);
                let is_open = chosen.as_ref().is_none_or(|choice| !choice.is_made);
                let choice = Some(()).filter(|()| is_open).and_then(|()| stated(sentence, told)).or(chosen);
                let made = choice.as_ref().is_some_and(|choice| choice.is_made);
                // What the model announces with a call is told by what came of it, unless it says why.
                let is_told = |item: &str| is_final || item.starts_with("**") || !is_announcement(sentence);
                if let Some(plan) = Some(()).filter(|()| !made).and_then(|()| plan()).filter(|plan| is_told(plan)) {
                    notes.add(NoteKind::Decision, &plan, place, true);
                } else if let Some(choice) = choice.filter(|choice| choice.is_made || choice.has_reason) {
                    let kind = if choice.is_made { NoteKind::Decision } else { NoteKind::Fact };
                    let is_offer = choice.is_made && is_final && is_advice(sentence, &normalised(sentence));
                    let item = with_subject(&choice.item, sentence, before).filter(|item| !is_offer && is_told(item));
                    if let Some(item) = item.filter(|item| !is_bare_label(item)) {
                        notes.add(kind, &item, place, !choice.has_reason && !names_choice(sentence));
                    }
                }
                before = Some(sentence);
            }
        }
    }

    pub(super) fn read_model(&mut self, place: SourcePosition<'a>, text: Cow<'_, str>, stop: Option<&str>) {
        if stop == Some("stop") {
            if self.answered <= self.requests.last().map_or(0, |request| request.position) {
                self.answered_before = self.answered;
            }
            self.answered = place.position;
        }
        self.is_waiting = stop == Some("toolUse");
        if text.trim().is_empty() {
            return;
        }
        if self.answers.len() == RECENT_ANSWERS {
            self.answers.pop_front();
        }
        self.answers.push_back(Answer { place, text: text.into_owned() });
    }

    /// Records that the newest answer broke off. Returns whether it was one to the latest request.
    pub(super) fn break_off(&mut self) -> bool {
        let asked_at = self.requests.last().map_or(0, |request| request.position);
        let is_of_turn = self.answered > asked_at && asked_at > 0;
        if is_of_turn {
            self.answered = self.answered_before.min(asked_at - 1);
        }
        is_of_turn
    }

    /// Adds the remaining steps that the newest answers name. `changed` returns the files that were changed after a
    /// position.
    pub(super) fn report<'f>(&self, notes: &mut NoteList, changed: impl Fn(u64) -> Vec<&'f str>) {
        let asked_at = self.requests.last().map_or(0, |request| request.position);
        // Steps that an answer named before the final answer of a turn are done or named again.
        let since = asked_at.max(self.answered);
        let newest = || self.answers.iter().filter(|answer| answer.place.position >= since);
        // Nobody knows how an answer that broke off would have gone on.
        for answer in newest().filter(|answer| !breaks_off(&answer.text)) {
            let steps = explicit_steps(&answer.text);
            let changed = if steps.is_empty() { Vec::new() } else { changed(answer.place.position) };
            for step in steps.into_iter().filter(|step| !is_applied(step, &answer.text, &changed)) {
                notes.add(NoteKind::Step, &without_bold(step), answer.place, false);
            }
        }
        if let Some((answer, option)) = newest().next_back().and_then(|answer| Some((answer, taken(&answer.text)?))) {
            notes.add(NoteKind::Decision, &format!("{TOOK}{option}"), answer.place, false);
        }
        let newest = self.answers.back().filter(|answer| answer.place.position > asked_at && !self.is_waiting);
        if let Some((answer, options)) = newest.and_then(|answer| Some((answer, offered(&answer.text)?))) {
            notes.add(NoteKind::Step, &format!("{OFFERED}{options}"), answer.place, false);
        }
    }

    /// Removes and returns the newest answer with text.
    pub(super) fn take_newest(&mut self) -> NewestAnswer {
        let newest = self.answers.pop_back();
        newest.map_or_else(NewestAnswer::default, |one| NewestAnswer { position: one.place.position, text: one.text })
    }

    pub(super) fn finish(mut self) -> Vec<Request> {
        if self.requests.len() > MOST_REQUESTS {
            let excess = self.requests.len() - MOST_REQUESTS;
            self.requests.drain(1..=excess);
        }
        self.requests
    }
}

/// Most messages of the questions that such a table sums up.
const INTERVIEW: u64 = 40;
/// Longest plan in a decision, in UTF-16 units.
const LONGEST_PLAN: usize = 320;
/// Fewest sentences and headings of a plan.
const FEWEST_OF_PLAN: usize = 3;

/// The title of a plan with its first sentences.
fn planned(text: &str) -> Option<String> {
    let told = parts(text).filter_map(|part| match part {
        Part::Sentence(text) | Part::Heading(text) => Some(without_bold(&one_line(text)).into_owned()),
        Part::Code(_) => None,
    });
    let told: Vec<String> = told.take(MOST_SENTENCES_OF_PLAN).collect();
    (told.len() >= FEWEST_OF_PLAN).then(|| clip_clauses(&told.join("; "), LONGEST_PLAN))
}

/// Most sentences of a plan that are read.
const MOST_SENTENCES_OF_PLAN: usize = 24;

/// Most words of a label.
const LABEL_WORDS: usize = 3;

/// Whether an item is the label of a paragraph, without what it introduces: `**Decision:**`.
fn is_bare_label(item: &str) -> bool {
    leads(item.trim_end_matches('*')) && item.split_whitespace().count() <= LABEL_WORDS
}

/// Whether two texts share a word, or a part of one in a language without spaces between words.
fn shares_word(one: &str, other: &str) -> bool {
    let (own, others) = (stems(one), stems(other));
    let is_latin = |word: &&str| word.len() >= SHORTEST_NAME && word.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let latin = |text: &'_ str| -> HashSet<String> {
        let words = text.split(|one: char| !one.is_ascii_alphanumeric()).filter(is_latin);
        words.map(str::to_lowercase).collect()
    };
    own.iter().any(|stem| others.contains(stem)) || !latin(one).is_disjoint(&latin(other))
}

/// Shortest name in Latin letters that two texts share, in bytes.
const SHORTEST_NAME: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_requests_from_chat() {
        for request in [
            "port the parser to Rust",
            "fix src/parser.rs",
            "ok, the button should be blue",
            "ok, update the docs as well",
            "why does the build fail?",
            "Bitte den Parser nach Rust portieren",
            "修复解析器中的错误并添加测试",
            "The login page crashes on Safari",
        ] {
            assert_ne!(Topics::default().weigh(request), RequestWeight::Reply, "{request}");
        }
        for chat in [
            "a1b2c3",
            "looks good to me",
            "I restarted it and all is well",
            "yes",
            "/mode",
            "blue",
            "that worked, thanks a lot",
        ] {
            assert_eq!(Topics::default().weigh(chat), RequestWeight::Reply, "{chat}");
        }
    }

    #[test]
    fn what_a_message_quotes_is_no_demand() {
        let mut notes = NoteList::default();
        let text = "> Never delete the log.\n> Always use tabs.\n\nNever touch the store.";
        read_constraints(SourcePosition { position: 1, entry: None }, text, false, &mut notes);
        let texts: Vec<String> = notes.finish().into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["Never touch the store."]);
    }

    #[test]
    fn an_order_of_a_long_message_is_a_part_of_its_task() {
        let found = |text: &str| {
            let mut notes = NoteList::default();
            read_constraints(SourcePosition { position: 1, entry: None }, text, false, &mut notes);
            notes.finish().iter().any(|note| note.text == "The user: Switch to Postgres for the orders.")
        };
        let order = "Switch to Postgres for the orders.";
        assert!(found(&format!("Good. {order}")));
        let rest = "The page of the orders lists all of the rows that were sold in the shop. ".repeat(40);
        assert!(!found(&format!("{order} {rest}")));
    }

    #[test]
    fn the_prompt_behind_the_files_of_a_terminal_is_no_quote() {
        for (text, own) in [
            ("src/a.rs src/b.rs\n> Never touch the store.\n> It is new.", "Never touch the store."),
            ("src/a.rs\n> Never touch the store.\nPort it.", "Never touch the store.\nPort it."),
            ("See src/a.rs\n> Never touch the store.", "See src/a.rs"),
            ("No.\n> Never touch the store.", "No."),
            ("   \n> Never touch the store.\nPort it.", "   \nPort it."),
            ("> src/a.rs\n> Never touch the store.\nPort it.", "Port it."),
        ] {
            assert_eq!(without_quotes(text), own, "{text}");
        }
    }

    #[test]
    fn an_order_about_a_name_is_a_demand_whatever_marks_it_has() {
        let found = |text: &str| {
            let mut notes = NoteList::default();
            read_constraints(SourcePosition { position: 1, entry: None }, text, false, &mut notes);
            notes.finish().into_iter().map(|note| note.text).collect::<Vec<_>>()
        };
        assert_eq!(
            found("make a folder. name it job[xxx]_[yyy], [xxx] is the day"),
            ["name it job[xxx]_[yyy], [xxx] is the day"]
        );
        assert_eq!(found("call it `[job]`, then see [a] = b[0], c[1] = d").len(), 1);
        assert_eq!(found("rows[0] = use[1]; keep[2] = [3]"), Vec::<String>::new());
    }

    /// The decisions of a person after an answer and other messages.
    fn decided(answer: &str, messages: &[(&str, &str)], last: &str) -> Vec<String> {
        let place = |position| SourcePosition { position, entry: None };
        let (mut dialogue, mut notes) = (Dialogue::default(), NoteList::default());
        dialogue.read_model(place(1), Cow::Borrowed(answer), Some("stop"));
        for (at, (asked, told)) in messages.iter().enumerate() {
            let position = 2 + 2 * at as u64;
            dialogue.read_person(place(position), asked, false, &mut notes);
            dialogue.read_model(place(position + 1), Cow::Borrowed(told), Some("stop"));
        }
        dialogue.read_person(place(90), last, false, &mut notes);
        notes.finish().into_iter().filter(|note| note.kind == NoteKind::Decision).map(|note| note.text).collect()
    }

    #[test]
    fn a_question_stays_open_while_the_person_asks_back() {
        let asks = "The menu may be sorted by name. Shall I sort the menu by date or by name?";
        let back = ("what is the menu made of?", "It is made of a table with all of the pages.");
        let expected = [format!("The user answered \"yes, by date\" to: {asks}")];
        assert_eq!(decided(asks, &[], "yes, by date"), expected);
        assert_eq!(decided(asks, &[back], "yes, by date"), expected);
        assert_eq!(decided(asks, &[back], "sort the date column of the table"), Vec::<String>::new());
        let told = ("port the parser", "The parser is in Rust now, with all of its tests.");
        assert_eq!(decided(asks, &[told], "yes, by date"), Vec::<String>::new());
    }

    #[test]
    fn a_long_reply_chooses_in_its_first_sentence_and_argues_behind_it() {
        let asks =
            "**Way A \u{2014} one pass (recommended)**\n- small\n\n**Way B \u{2014} two passes**\n- slow\n\nWhich one?";
        let why =
            "It reads each row once. The readers that don't care never see it. No data is lost, no warnings here. ";
        let reply = format!("Agree with A. {}", why.repeat(6));
        assert_eq!(decided(asks, &[], &reply), ["The user chose: A. one pass (recommended): small"]);
        let copied = [("/copy", "")];
        assert_eq!(decided(asks, &copied, &reply), ["The user chose: A. one pass (recommended): small"]);
        let mut notes = NoteList::default();
        let reply = format!("Option 1 is right. {}Never drop the warnings.", why.repeat(6));
        read_constraints(SourcePosition { position: 1, entry: None }, &reply, false, &mut notes);
        let demands: Vec<String> = notes.finish().into_iter().map(|note| note.text).collect();
        assert_eq!(demands, ["Never drop the warnings."]);
    }

    #[test]
    fn an_option_of_a_call_and_points_of_an_answer_are_decided() {
        let place = |position| SourcePosition { position, entry: None };
        let (mut dialogue, mut notes) = (Dialogue::default(), NoteList::default());
        let options = "Option 1: One row per line\nOption 2: One row per word";
        dialogue.note_offer(1, ("How are rows cut?".to_owned(), options.to_owned()));
        dialogue.read_model(place(2), Cow::Borrowed("What would you like to know?"), Some("stop"));
        dialogue.read_person(place(3), "Option 1 is right. Here's why.", false, &mut notes);
        dialogue.read_model(place(4), Cow::Borrowed("Right? (a) rows in files, (b) a cache."), Some("stop"));
        dialogue.read_person(place(5), "(a) yes\n(b) A cache \u{2014} no, later.", false, &mut notes);
        let element = "<note>\n(a) Never trust the cache.\nNo quotes.\n</note>";
        dialogue.read_person(place(6), element, false, &mut notes);
        let told: Vec<String> = notes.finish().into_iter().map(|note| note.text).collect();
        let expected = [
            "The user chose: How are rows cut? 1. One row per line",
            "The user agreed to: rows in files",
            "The user refused: A cache",
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn an_idea_is_dropped_when_the_person_reports_a_problem() {
        let place = |position| SourcePosition { position, entry: None };
        for (message, is_kept) in [
            ("the button still doesn't work and the page is gone", false),
            ("der Knopf ist kaputt", false),
            ("now add a page for the rows", true),
        ] {
            let (mut dialogue, mut notes) = (Dialogue::default(), NoteList::default());
            dialogue.read_person(place(1), "repair the button that deletes a row", false, &mut notes);
            let idea = "The cleanest approach: stop the event in `row.js` before the link sees it.";
            let parts: Vec<Part<'_>> = super::super::statements::parts(idea).collect();
            dialogue.add_decisions(place(2), &parts, (false, false), &mut notes);
            dialogue.read_person(place(3), "yes", false, &mut notes);
            dialogue.read_person(place(5), message, false, &mut notes);
            assert_eq!(notes.has(NoteKind::Decision, |note| note.text == idea), is_kept, "{message}");
        }
    }

    #[test]
    fn what_an_answer_advises_is_no_decision() {
        let decisions = |text: &str, is_final: bool| {
            let (dialogue, mut notes) = (Dialogue::default(), NoteList::default());
            let parts: Vec<Part<'_>> = super::super::statements::parts(text).collect();
            dialogue.add_decisions(SourcePosition { position: 1, entry: None }, &parts, (is_final, false), &mut notes);
            let made = notes.finish().into_iter().filter(|note| note.kind == NoteKind::Decision);
            made.map(|note| note.text).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        assert_eq!(decisions("I'd go with `nom` because it is small.", true), none);
        assert_eq!(decisions("Decision: either take `nom` or write a parser by hand.", true), none);
        assert_eq!(decisions("`read` returns nil instead of an error because the lock is late.", true), none);
        assert_eq!(decisions("It was chosen over `pest` because it is small.", true), none, "it has no subject");
        let parser = "The parser is built with `nom`. It was chosen over `pest` because it is small.";
        assert_eq!(
            decisions(parser, true),
            ["The parser is built with `nom` \u{2013} **It was chosen over `pest`**: it is small."]
        );
        assert_eq!(decisions("I picked `nom` because it is small.", true), ["**I picked `nom`**: it is small."]);
        assert_eq!(
            decisions("`flock` is not there. I'll use a lock file instead.", false),
            ["**I'll use a lock file instead**: `flock` is not there."]
        );
    }

    #[test]
    fn a_demand_comes_with_the_list_that_it_introduces() {
        let mut notes = NoteList::default();
        let text = "Never touch these files:\n- the lock\n- the log\nThen port the parser.";
        read_constraints(SourcePosition { position: 1, entry: None }, text, false, &mut notes);
        let texts: Vec<String> = notes.finish().into_iter().map(|note| note.text).collect();
        assert_eq!(texts, ["Never touch these files: the lock; the log"]);
    }

    #[test]
    fn a_pasted_log_makes_no_demands() {
        let log: Vec<String> = (1..20)
            .map(|at| format!("Never edit the table {at} by hand.\n[{at}:00] db::open{{id={at}}} -> 0x0{at};"))
            .collect();
        let text = format!("The import stops, look at this.\nNever drop a table.\n{}\nWhy?", log.join("\n"));
        let mut notes = NoteList::default();
        read_constraints(SourcePosition { position: 1, entry: None }, &text, false, &mut notes);
        let texts: Vec<String> = notes.finish().into_iter().map(|note| note.text).collect();
        assert!(texts.contains(&"Never drop a table.".to_owned()), "{texts:?}");
        assert!(texts.len() <= 3, "{texts:?}");
    }

    #[test]
    fn repeated_messages_are_no_requests() {
        let place = |position| SourcePosition { position, entry: None };
        let mut dialogue = Dialogue::default();
        let mut notes = NoteList::default();
        dialogue.read_person(place(1), "/ask do not delete the log", false, &mut notes);
        assert!(dialogue.is_repeated("do not delete the log"));
        assert!(dialogue.is_repeated("/ask do not delete the log"));
        assert!(!dialogue.is_repeated("delete the log"), "it is the opposite");
        let answer =
            format!("There are two ways:\n1. Use SQLite{}.\n2. Use files.\nWhich one?", " for all of it".repeat(20));
        dialogue.read_model(place(2), Cow::Borrowed(&answer), Some("stop"));
        assert!(dialogue.is_repeated(&answer.replace('\n', "\n\n")));
        assert!(!dialogue.is_repeated(&answer.replace("files", "tabs")));
        assert!(!dialogue.is_repeated("Use files."), "it is a choice");
        let option = |name: &str| format!("{name}\n{}\nand nothing else", "as it was done before ".repeat(12));
        let options = ["Use SQLite:", "Use files:", "Use a server:"].map(option);
        let answer = format!("{}\nWhich one?", options.join("\n"));
        let mut chosen = Dialogue::default();
        chosen.read_model(place(1), Cow::Borrowed(&answer), Some("stop"));
        assert!(!chosen.is_repeated(&options[1]), "it is a long choice");
        assert!(!dialogue.is_repeated("do not delete the log"), "it is said again");
    }

    #[test]
    fn a_topic_begins_where_no_word_is_shared() {
        let mut topics = Topics::default();
        let texts = [
            "port the old parser to Rust",
            "now test the parser too",
            "then write a changelog for our users",
            "make the changelog short",
        ];
        let weights = texts.map(|text| topics.weigh(text));
        use RequestWeight::{Topic, Work};
        assert_eq!(weights, [Topic, Work, Topic, Work]);
    }
}
