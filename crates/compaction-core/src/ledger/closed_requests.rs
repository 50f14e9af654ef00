//! Closed requests: which requests are answered, and what their answers say.

use std::collections::HashSet;

use super::answers::{advises, agrees_with_person, is_no_refusal, is_only_verdict, misses};
use super::bold::without_bold;
use super::completed::{begins_with_done, finished_list, gives_up, narrates};
use super::conclusions::{is_at_it, spoken, start_of_conclusion};
use super::constraints::OBJECTING;
use super::cues::{is_announcement, is_substantive, typed};
use super::frames::OPTION;
use super::notes::{ANSWER, ANSWERED_BY, CODE_FOR, FINISHED, OBJECTED_TO_ANSWER, ONLY_PROPOSED, WORKED_ON};
use super::problems::{is_conditional, is_denied, is_unsolved, is_word_of_problem, own_words, pastes_error, reports};
use super::proposals::is_proposal;
use super::requests::WORK;
use super::statements::{Voice, is_code, is_fence, is_prose, prose, sentences, without_marker};
use super::steps::is_list_item;
use super::terms::TextHashing;
use super::text::{
    WordList, clip_middle, clip_sentences, first_words, has_piece, lines, normalised, one_line, quote, starts_with_any,
    starts_with_piece, unspaced, word_list,
};
use super::working::{changes, is_at_work, is_footnote, report};
use crate::phrases::SPACED;
use crate::text::{base_name, prefix_utf16, utf16_len};

/// UTF-16 units that are enough for the beginning of an answer.
const ENOUGH: usize = 60;
/// The same for what it sums up or lists.
const ENOUGH_TOLD: usize = 120;
/// Fewest UTF-16 units of a sentence before a list that says something without it.
const LEADING: usize = 48;
/// Fewest words of a sentence that states a result, without names and numbers.
const FEWEST_WORDS: usize = 4;
/// Beginnings of sentences that only acknowledge the request or offer more.
static FILLERS: WordList = word_list!("closed requests: fillers");
/// A Korean "yes" with its comma. A table of phrases would split it there, and without the comma other words begin with
/// it.
const YES: [&str; 1] = ["네,"];
/// Most words of such a beginning.
const FILLER_WORDS: usize = 3;
/// Beginnings of conclusions.
static CONCLUDING: WordList = word_list!("closed requests: concluding");
/// Most words of such a beginning.
const CONCLUDING_WORDS: usize = 4;
/// Longest heading of a conclusion, in UTF-16 units.
const LONGEST_TITLE: usize = 40;
/// Number of statements after such a heading of which one must be a sentence that says something.
const VERDICT: usize = 4;
/// Beginnings of sentences that only introduce what follows.
static INTRODUCING: WordList = word_list!("closed requests: introducing");
/// Most words of such a beginning.
const INTRODUCING_WORDS: usize = 4;
/// Beginnings of sentences that do so whatever mark ends them: `Here's what I did.`
static LEADING_TO_ALL: WordList = word_list!("closed requests: leading to all");
/// Beginnings of sentences that say what has to be done. In languages with the verb at the end, they may be anywhere.
static PLANNING: WordList = word_list!("closed requests: planning");
/// Most words of such a beginning.
const PLANNING_WORDS: usize = 4;
/// Words that make a sentence a guess.
static HYPOTHESES: WordList = word_list!("closed requests: hypotheses");
/// Number of first words of a sentence among which they stand.
const GUESSED_WITHIN: usize = 8;
/// Number of first UTF-16 units for scripts without spaces.
const GUESSED_FIRST: usize = 16;
/// First words with which a model cheers what it saw, before it tells the next thing.
static CHEERING: WordList = word_list!("closed requests: cheering");
/// Longest request in an item, in UTF-16 units.
const LONGEST_REQUEST: usize = 72;
/// Longest answer in an item, in UTF-16 units.
const LONGEST_ANSWER: usize = 200;
/// Most UTF-16 units of the opening of an answer.
const LONGEST_REPLY: usize = 240;
/// Most lines of an answer in which its opening is looked for.
const MOST_LINES: usize = 64;
/// Leading UTF-16 units of a message that are searched for a refusal of the last answer.
const REFUSED_WITHIN: usize = 240;
/// Beginnings of messages that refuse the last answer or undo its work.
static REFUSING: WordList = word_list!("closed requests: refusing");

/// Phrases that refuse the last answer in any position.
static UNDOING: WordList = word_list!("closed requests: undoing");
/// Words that show that a reported problem is still that of the last answer.
pub(crate) static PERSISTING: WordList = word_list!("closed requests: persisting");

/// Words with which a person says that what was done is of poor quality.
static COMPLAINING: WordList = word_list!("closed requests: complaining");
/// Number of first sentences of a message that may do so.
const COMPLAINED_WITHIN: usize = 6;

/// Beginnings of messages in which a person says that they do not want what was done.
static UNWANTED: WordList = word_list!(SPACED, "closed requests: unwanted");

/// Phrases in which a person says that something is not so, or that they do not want it.
static DENYING: WordList = word_list!("closed requests: denying");
/// Phrases that only seem to do so.
static DENYING_NOTHING: WordList = word_list!("closed requests: denying nothing");
/// Number of first sentences of a message that may deny something.
const DENIED_WITHIN: usize = 2;
/// Beginnings of sentences that tell the person what to do. In languages without spaces, they may be anywhere.
static INSTRUCTING: WordList = word_list!("closed requests: instructing");
/// Most words of such a beginning.
const INSTRUCTING_WORDS: usize = 4;

/// The request that the conversation is about, with the complete answers that came since.
#[derive(Debug, Default, Clone)]
pub(super) struct Asked {
    /// Position of its message; 0 if there is none.
    pub(super) position: u64,
    /// The positions of the first and last message of each answer. Some agents write one answer as several messages.
    answers: Vec<(u64, u64)>,
    /// What the newest answer says of the request; see [`result_of`].
    pub(super) reply: Option<String>,
    /// What the newest answer tells, in any of its paragraphs; see [`told`].
    told: Option<String>,
    /// UTF-16 units of the message with the reply; the most there are if an earlier compaction read it.
    length: usize,
    /// Position of a message that a harness sent after the first answer; 0 for none. What answers it is not for the
    /// person, unless the model works for it.
    reminded_at: u64,
    /// Whether the person went on to something else after the first answer. What comes then is no answer to this one.
    is_left: bool,
    /// The words of the request whose answer a person refused with this one. An answer that is accepted settles it, too.
    reopened: Option<String>,
    /// Whether the person praised the work, although no answer ended it.
    is_praised: bool,
    /// Whether the request asks a question.
    is_question: bool,
    /// Whether the newest message of the answer ends with what the model does next.
    is_announcing: bool,
    /// Whether it asks something at its end.
    is_asking: bool,
    /// Position of further words of the person after an answer that said something; 0 for none. What the model says then
    /// answers these, until it changes a file.
    told_before: u64,
    /// Position of the earliest request whose answer the person took back without a word; 0 for none.
    pub(super) taken_back: u64,
}

impl Asked {
    /// A request without an answer.
    pub(super) fn at(position: u64, request: &str) -> Self {
        Self { position, is_question: has_question(request), ..Self::default() }
    }

    /// Adds the complete answer `text` after `last_call`, which is the position of the latest call of a tool.
    pub(super) fn answer_with(&mut self, position: u64, (last_call, changed_at): (u64, u64), text: &str) {
        let is_for_other = self.told_before > 0 && changed_at < self.told_before;
        if last_call < self.reminded_at || self.is_left || is_for_other {
            return;
        }
        let is_announcing = announces_at_end(text);
        self.is_asking = text.trim_end().ends_with(['?', '\u{ff1f}']);
        // What was said before a look at the thing itself is no answer.
        if std::mem::replace(&mut self.is_announcing, is_announcing) {
            (self.reply, self.told) = (None, None);
        }
        let reply = result_of(self.is_question, text);
        let told = if self.is_question { None } else { told(text) };
        self.answer(position, last_call, (reply, told), utf16_len(text));
    }

    /// The same for an answer of `length` UTF-16 units of which only what it says is known. Of several messages, the last
    /// one that says something tells what came of the work, unless it is only the end of a longer one.
    pub(super) fn answer(
        &mut self,
        position: u64,
        last_call: u64,
        (reply, told): (Option<String>, Option<String>),
        length: usize,
    ) {
        match self.answers.last_mut() {
            Some((_, last)) if last_call < *last => {
                *last = position;
                if reply.is_some() || told.is_some() || length > self.length {
                    let reply = with_claim(self.reply.take(), reply);
                    (self.reply, self.told, self.length) = (reply, told, length);
                }
            }
            _ => {
                self.answers.push((position, position));
                (self.reply, self.told, self.length) = (reply, told, length);
            }
        }
    }

    /// Forgets the newest answer, which broke off.
    pub(super) fn break_off(&mut self) {
        self.answers.pop();
        (self.reply, self.told, self.is_announcing, self.is_asking) = (None, None, false, false);
    }

    /// What came of the request, of which `has_changed` says whether files changed for it.
    pub(super) fn outcome(&self, has_changed: bool) -> Option<&str> {
        self.reply.as_deref().or_else(|| self.told.as_deref().filter(|_| has_changed))
    }

    /// Takes the words at `position` as the answer, which the person accepts.
    pub(super) fn accept(&mut self, position: u64, reply: String) {
        self.answers.push((position, position));
        (self.reply, self.told) = (Some(reply), None);
        self.is_praised = true;
    }

    /// Records that the person praised the answer.
    pub(super) fn praise(&mut self) {
        self.is_praised |= !self.answers.is_empty();
    }

    /// Whether the person praised the work.
    pub(super) fn is_praised(&self) -> bool {
        self.is_praised
    }

    /// Records a message that a harness wrote in the name of the person.
    pub(super) fn remind(&mut self, position: u64) {
        if !self.answers.is_empty() {
            self.reminded_at = position;
        }
    }

    /// Records that the person went on to something that is no request of its own, such as a pasted error.
    pub(super) fn leave(&mut self) {
        self.is_left = !self.answers.is_empty();
    }

    /// Records further words of the person at `position`, which give no task of their own.
    pub(super) fn go_on(&mut self, position: u64) {
        let is_told = self.reply.is_some() || self.told.is_some() || self.length == usize::MAX;
        if is_told && !self.answers.is_empty() && !self.is_asking && !self.is_announcing {
            self.told_before = position;
        }
    }

    /// Forgets what the answers say.
    pub(super) fn forget_reply(&mut self) {
        (self.reply, self.told) = (None, None);
    }

    /// The same for a request that refuses the answer to the request `reopened`.
    pub(super) fn reopening(self, reopened: Option<String>) -> Self {
        Self { reopened, ..self }
    }

    /// The request that this one reopened.
    pub(super) fn reopened(&mut self) -> Option<String> {
        self.reopened.take()
    }

    /// Whether the answer ends with what the model does next, and work came after it instead of an end.
    pub(super) fn is_broken_off(&self, last_call: u64) -> bool {
        self.is_announcing && self.answers.last().is_some_and(|(_, last)| *last < last_call)
    }

    /// Whether the request is a question with an answer.
    pub(super) fn is_answered_question(&self) -> bool {
        self.is_question && !self.answers.is_empty()
    }

    /// Forgets the answers because the person refused them.
    pub(super) fn refuse(&mut self) {
        self.answers.clear();
        (self.reply, self.told) = (None, None);
    }

    /// Forgets the answers because the person had their work undone. What comes then is no answer to this one.
    pub(super) fn undo(&mut self) {
        self.leave();
        self.refuse();
    }

    /// The answers so far, in order, each with the positions of its first and last message.
    pub(super) fn answers(&self) -> &[(u64, u64)] {
        &self.answers
    }
}

/// What a newer message says of a request. A result that an earlier message claims stands before what was done after it.
fn with_claim(earlier: Option<String>, newer: Option<String>) -> Option<String> {
    let is_made = |reply: &str| is_claim(reply) || begins_with_done(reply);
    match (earlier, newer) {
        (Some(claim), Some(newer)) if is_made(&claim) && !is_made(&newer) && !tells_failure(&newer) => {
            Some(clip_sentences(&format!("{claim} {newer}"), LONGEST_REPLY))
        }
        (_, newer) => newer,
    }
}

/// What a closing answer says of the work: the first informative sentence of its opening paragraph, with the sentences
/// after it while it is short. `None` if it begins with a list, a table or code, or if its first paragraph only announces,
/// asks, instructs or leads to something.
pub(crate) fn opening(answer: &str) -> Option<String> {
    let mut said = String::new();
    let mut has_begun = false;
    for line in lines(answer).map(str::trim).take(MOST_LINES) {
        let is_end = has_begun || !said.is_empty();
        match line {
            "" if is_end => break,
            "" => continue,
            // A fence without a language has no letters, as a ruler has none.
            _ if is_fence(line) => break,
            _ if is_label(line) && !is_end => continue,
            _ if is_label(line) || is_item(line) => break,
            _ => {}
        }
        // What leads to the next step is not what came of the work.
        if is_end_of_step(line) {
            return None;
        }
        for sentence in sentences(line) {
            let sentence = one_line(&without_bold(sentence));
            // The paragraph is a thought.
            if said.is_empty() && narrates(&sentence) {
                break;
            }
            let is_told = is_outcome(&sentence);
            // Words of thanks and the like leave the opening to the next paragraph.
            let is_passed = || !leads(&sentence) && (introduces(&sentence) || !tells(&sentence));
            has_begun |= !is_told && !agrees_with_person(&sentence) && !is_passed();
            if is_told {
                if !said.is_empty() {
                    said.push_str(if said.ends_with(ENDS) { " " } else { "; " });
                }
                said.push_str(&sentence);
            }
            if utf16_len(&said) >= ENOUGH || !is_told && !said.is_empty() {
                return Some(clip_sentences(&said, LONGEST_REPLY));
            }
        }
    }
    if said.is_empty() {
        said = one_line(&finished_list(answer).join("; ").replace("**", ""));
    }
    (!said.is_empty()).then(|| clip_sentences(&said, LONGEST_REPLY))
}

/// Whether a line says something and then announces a step that follows it: `It is resolved. Let's go on:`.
fn is_end_of_step(line: &str) -> bool {
    leads(line) && {
        let mut behind = sentences(line).skip(1);
        behind.next().is_some_and(|next| is_announcement(behind.last().unwrap_or(next)))
    }
}

/// Marks outside of ASCII with which a sentence begins.
const OPENERS: [char; 8] = ['\u{bf}', '\u{a1}', '\u{ab}', '\u{2018}', '\u{201c}', '\u{201e}', '\u{300c}', '\u{300e}'];

/// Marks after which bold words are a sentence and not a heading.
const ENDS_OF_SENTENCE: [char; 4] = ['.', '!', '\u{3002}', '\u{ff01}'];

/// Whether a line is a heading: marked as one, bold as a whole, or behind a symbol.
fn is_label(line: &str) -> bool {
    let bold = || line.strip_prefix("**")?.strip_suffix("**");
    let is_symbol = |one: char| !one.is_ascii() && !one.is_alphanumeric() && !OPENERS.contains(&one);
    line.starts_with('#')
        || bold().is_some_and(|inner| !inner.contains("**") && !inner.ends_with(ENDS_OF_SENTENCE))
        || line.starts_with(is_symbol)
        || !line.contains(char::is_alphanumeric)
}

/// Whether a line is an item of a list, a row of a table, a quote, or has a bold label.
fn is_item(line: &str) -> bool {
    match line.strip_prefix("**") {
        Some(bold) => bold.split_once("**").is_some_and(|(label, rest)| leads(label) || rest.starts_with(COLONS)),
        None => without_marker(line).len() < line.len() || line.starts_with('|'),
    }
}

/// Whether a sentence of an answer says what came of the work.
fn is_outcome(sentence: &str) -> bool {
    let is_numbering = |one: char| one.is_ascii_digit() || one == '.' || one == ' ';
    let behind = || sentence.split_once(", ").is_some_and(|(_, behind)| is_announcement(behind));
    // A list of what was done often follows.
    let is_done = || leads(sentence) && begins_with_done(sentence);
    (is_done() || is_statement(sentence) && !leads(sentence.trim_end_matches(is_numbering)))
        && tells(sentence)
        && !introduces(sentence)
        && !agrees_with_person(sentence)
        && !is_announcement(sentence)
        && !behind()
        && !is_at_it(sentence)
        && !is_at_work(sentence)
        && !is_footnote(sentence)
        && !instructs(sentence)
        && !is_conditional(sentence)
        && !is_supposed(sentence)
        && (!is_code(sentence) || is_named_prose(sentence))
        && !is_of_program(sentence)
}

/// Whether a sentence with many names is prose for all that: `Dropped the shop_id <> buyer_id check.`
fn is_named_prose(sentence: &str) -> bool {
    let is_word = |word: &&str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    sentence.starts_with(char::is_uppercase)
        && sentence.ends_with('.')
        && sentence.trim_end_matches('.').split(' ').skip(1).filter(is_word).count() >= 2
}

/// Whether a sentence of an answer is a plan or a guess, which later work confirms or refutes.
fn is_supposed(sentence: &str) -> bool {
    let plans = PLANNING.starts(&first_words(sentence, PLANNING_WORDS)) || has_piece(sentence, PLANNING.pieces);
    let guesses = || HYPOTHESES.is_in(&first_words(sentence, GUESSED_WITHIN)) || guesses_unspaced(sentence);
    (plans || guesses()) && !begins_with_done(sentence)
}

/// The same for scripts without spaces, in which such words stand near the beginning or end the sentence.
fn guesses_unspaced(sentence: &str) -> bool {
    if sentence.is_ascii() {
        return false;
    }
    let end = sentence.trim_end_matches(ENDS);
    has_piece(prefix_utf16(sentence, GUESSED_FIRST), HYPOTHESES.pieces)
        || HYPOTHESES.pieces.iter().any(|piece| end.ends_with(piece))
}

/// What an answer says of a request: a question is answered by the sentence with its yes or no, if there is one, and not
/// by a cheer over what the model saw meanwhile. Work is told by the list of its changes. What the model said while it
/// worked tells nothing of it. See [`opening`].
pub(crate) fn result_of(is_question: bool, answer: &str) -> Option<String> {
    let whole = answer;
    let answer = report(answer);
    if is_question {
        return decided(whole).or_else(|| opening(answer).filter(|said| !CHEERING.begins(said)));
    }
    changed(answer).or_else(|| summed_up(answer)).or_else(|| opening(answer))
}

/// What an answer with a list of changes says: its opening, if that is short, and the items of the list.
fn changed(answer: &str) -> Option<String> {
    let items = changes(answer);
    if items.is_empty() {
        return None;
    }
    // A short sentence that leads to the list is only its title.
    let is_said = |said: &String| !leads(said) || utf16_len(said) > LONGEST_TITLE;
    let opening = opening(answer).filter(is_said).unwrap_or_default();
    let mut said = opening.trim_end_matches(COLONS).to_owned();
    for item in &items {
        if utf16_len(&said) >= ENOUGH_TOLD {
            break;
        }
        if said.contains(item.as_str()) {
            continue;
        }
        if !said.is_empty() {
            said.push_str(if said.ends_with(ENDS) { " " } else { "; " });
        }
        said.push_str(item);
    }
    Some(clip_sentences(&said, LONGEST_REPLY))
}

/// What an answer says below the heading of its summary, or behind words that conclude it; `None` without these.
fn summed_up(answer: &str) -> Option<String> {
    let own = spoken(answer);
    let own: Vec<(Voice, &str)> = own.iter().map(|(voice, text)| (*voice, text.as_str())).collect();
    outcomes(&own[start_of_conclusion(&own)?..])
}

/// The first sentences of an answer that say what came of the work, in any of its paragraphs. A list without a title of
/// finished work may say what is to be done.
pub(crate) fn told(answer: &str) -> Option<String> {
    let is_text = |line: &&str| !is_list_item(line) && !is_label(line.trim()) && !is_item(line.trim());
    let lines = prose(report(answer)).filter(is_text).take(MOST_LINES);
    let own: Vec<String> = lines.flat_map(sentences).map(|one| one_line(&without_bold(one))).collect();
    outcomes(&own.iter().map(|one| (Voice::Report, one.as_str())).collect::<Vec<_>>())
}

/// The first of some sentences that say what came of the work, up to [`ENOUGH_TOLD`]. A sentence that reports a failure
/// ends the search, and so does a question that comes first.
fn outcomes(own: &[(Voice, &str)]) -> Option<String> {
    let mut said = String::new();
    for (voice, text) in own.iter().take(MOST_LINES) {
        if *voice != Voice::Report || !is_outcome(text) || is_supposed(text) || advises(text) || orders(text) {
            if said.is_empty() && text.ends_with(['?', '\u{ff1f}']) || utf16_len(&said) >= ENOUGH {
                break;
            }
            continue;
        }
        if !said.is_empty() {
            said.push_str(if said.ends_with(ENDS) { " " } else { "; " });
        }
        said.push_str(text);
        if utf16_len(&said) >= ENOUGH_TOLD {
            break;
        }
    }
    (!said.is_empty()).then(|| clip_sentences(&said, LONGEST_REPLY))
}

/// The first line of an answer that begins with a yes or no of its own, with the sentence behind it if it is short.
fn decided(answer: &str) -> Option<String> {
    let mut is_shown = false;
    let lines = lines(answer).map(str::trim).filter(|line| !line.is_empty()).take(MOST_LINES);
    let spoken = lines.filter(|line| {
        is_shown ^= is_fence(line);
        !is_shown && !is_fence(line)
    });
    spoken.map(without_marker).find_map(|line| {
        let line = one_line(&without_bold(line));
        let end = line.find(ENDS_OF_VERDICT)?;
        if !is_only_verdict(&line[..end]) {
            return None;
        }
        let mut said = String::new();
        for sentence in sentences(&line) {
            if !said.is_empty() && (utf16_len(&said) >= ENOUGH || !is_outcome(sentence)) {
                break;
            }
            said.push_str(if said.is_empty() { "" } else { " " });
            said.push_str(sentence.trim());
        }
        is_outcome(&said).then(|| clip_sentences(&said, LONGEST_REPLY))
    })
}

/// Marks behind a yes or no.
const ENDS_OF_VERDICT: [char; 9] = [',', '.', '!', ':', ';', '\u{2013}', '\u{2014}', '\u{ff0c}', '\u{3002}'];

/// Whether a sentence is a command line or a line of a log: it has an option of a program outside of code, or begins with a
/// path of Windows.
fn is_of_program(sentence: &str) -> bool {
    let mut words = sentence.split('`').step_by(2).flat_map(str::split_ascii_whitespace);
    sentence.split(' ').next().is_some_and(|first| first.contains('\\')) || words.any(|word| word.starts_with("--"))
}

/// The index of the last explicit conclusion of an answer: after its heading, or with words such as `In short`. The
/// verdict itself may be short: `FAILED`.
pub(super) fn conclusion(own: &[(Voice, &str)]) -> Option<usize> {
    let is_short = |text: &str| utf16_len(text) <= LONGEST_TITLE;
    let tells = |voice: Voice, text: &str| voice == Voice::Report && is_statement(text) && tells(text);
    let found = own.iter().rposition(|(voice, text)| match voice {
        Voice::Announcement => is_short(text) && has_conclusion(text),
        _ => has_conclusion(text) && tells(*voice, text),
    })?;
    let at = if own[found].0 == Voice::Announcement { found + 1 } else { found };
    let first = own[at..]
        .iter()
        .take(VERDICT)
        .find(|(voice, text)| tells(*voice, text) || *voice != Voice::Report && !leads(text))?;
    tells(first.0, first.1).then_some(at)
}

/// Whether a sentence or a heading begins as a conclusion does.
fn has_conclusion(text: &str) -> bool {
    CONCLUDING.begins_in(text, CONCLUDING_WORDS)
}

/// Whether a sentence only says that something follows.
pub(super) fn introduces(sentence: &str) -> bool {
    let words = first_words(sentence, INTRODUCING_WORDS);
    LEADING_TO_ALL.starts(&words)
        || has_piece(sentence, LEADING_TO_ALL.pieces)
        || leads(sentence) && (INTRODUCING.starts(&words) || has_piece(sentence, INTRODUCING.pieces))
}

/// Whether a sentence of an answer tells the person what to do: `Reload the page`, `You can test it now`.
pub(crate) fn instructs(sentence: &str) -> bool {
    INSTRUCTING.may_start(sentence) && INSTRUCTING.starts(&first_words(sentence, INSTRUCTING_WORDS))
        || has_piece(sentence, INSTRUCTING.pieces)
}

/// Whether a sentence introduces what follows.
pub(super) fn leads(sentence: &str) -> bool {
    sentence.ends_with(COLONS)
}

const COLONS: [char; 2] = [':', '\u{ff1a}'];
/// Marks that end a sentence or lead to the next one.
const ENDS: [char; 11] = ['.', '!', '?', ':', ';', ',', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{ff1a}', '\u{2026}'];

/// Whether a sentence of an answer is not a question and is more than an introduction. A sentence that introduces a
/// list counts if it is long enough.
pub(super) fn is_statement(sentence: &str) -> bool {
    let is_question =
        sentence.ends_with(['?', '\u{ff1f}']) || sentence.starts_with('\u{bf}') || sentence.contains("? ");
    !is_question && (!leads(sentence) || utf16_len(sentence) >= LEADING) && is_substantive(sentence)
}

/// Beginnings of the marks with which harnesses say that something was left out.
const CUT_OFF: [&str; 2] = ["...[", "\u{2026}["];

/// Whether the last sentence of an answer says what the model does next.
fn announces_at_end(answer: &str) -> bool {
    let last = answer.lines().rfind(|line| line.contains(char::is_alphanumeric)).unwrap_or_default();
    let last = sentences(last).last().unwrap_or_default();
    is_announcement(last) && !instructs(last) && !is_filler(last)
}

/// Words for what comes next, among the first words of a sentence that states no result.
static NEXT: WordList = word_list!("closed requests: what comes next");
const NEXT_WORDS: usize = 4;

/// Whether such a sentence states a result.
fn tells(sentence: &str) -> bool {
    if sentence.starts_with(OPTION)
        || sentence.contains('|')
        || sentence.contains("</")
        || sentence.starts_with(['[', '<', '"'])
        || NEXT.begins_in(sentence, NEXT_WORDS)
        || CUT_OFF.iter().any(|mark| sentence.starts_with(mark))
    {
        return false;
    }
    let is_name = |word: &str| word.contains(['/', '\\', '`', '=', '{', '#']) || !word.contains(char::is_alphabetic);
    let spaced = sentence.split_whitespace().filter(|word| !is_name(word)).count();
    spaced.max(unspaced(sentence) / 2) >= FEWEST_WORDS && !is_filler(sentence)
}

/// Whether a sentence only acknowledges the request or offers more.
pub(crate) fn is_filler(sentence: &str) -> bool {
    praises_question(sentence)
        || FILLERS.starts(&first_words(sentence, FILLER_WORDS))
        || FILLERS.pieces.iter().chain(&YES).any(|word| sentence.starts_with(word))
}

/// Words with which a model praises a question, in a sentence of at most so many UTF-16 units.
static PRAISING_QUESTION: WordList = word_list!("closed requests: praising a question");
const LONGEST_PRAISE: usize = 80;

/// Whether a sentence says no more than that the question is a good one: `That is an excellent question.`
fn praises_question(sentence: &str) -> bool {
    utf16_len(sentence) <= LONGEST_PRAISE && PRAISING_QUESTION.is_said(sentence)
}

/// The item of a request that was answered. `has_changed` says whether files changed for it.
pub(crate) fn answered_item(request: &str, answer: &str, has_changed: bool) -> String {
    let start = answered_start(request, has_changed);
    let answer = answer.trim_end_matches([':', '\u{ff1a}', ' ']);
    format!("{start}{}", clip_sentences(answer, LONGEST_ANSWER))
}

/// The item of a request whose answer tells no outcome: the files that changed for it, the newest first.
pub(crate) fn worked_on_item(request: &str, paths: &[&str]) -> Option<String> {
    (!paths.is_empty()).then(|| format!("{}changed {}", worked_on_start(request), changed_files(paths)))
}

/// What came of a request, with the files that changed for it if it names none of them.
pub(crate) fn with_files(outcome: &str, paths: &[&str]) -> String {
    let is_named = |path: &&str| outcome.contains(base_name(path));
    if paths.is_empty() || paths.iter().take(MOST_CHANGED).any(is_named) || utf16_len(outcome) >= ENOUGH_TOLD {
        return outcome.to_owned();
    }
    format!("{} (changed {})", outcome.trim_end_matches([':', '\u{ff1a}', ' ']), changed_files(paths))
}

/// The item of a request whose answer shows code for some files and tells no outcome.
pub(super) fn code_item(request: &str, files: &[&str]) -> String {
    format!("{}{CODE_FOR}{}", answered_start(request, false), changed_files(files))
}

/// What an answer says of a request, with the files for which it shows code if it names none of them.
pub(super) fn with_code(outcome: &str, files: &[&str]) -> String {
    if files.iter().any(|file| outcome.contains(base_name(file))) || utf16_len(outcome) >= ENOUGH_TOLD {
        return outcome.to_owned();
    }
    format!("{} ({CODE_FOR}{})", outcome.trim_end_matches([':', '\u{ff1a}', ' ']), changed_files(files))
}

/// The names of changed files. A file that is known by two paths is named once, and files of the same name with their
/// directories.
fn changed_files(paths: &[&str]) -> String {
    let own: Vec<String> = paths.iter().take(MOST_CHANGED).map(|path| path.replace('\\', "/")).collect();
    let is_end =
        |long: &str, end: &str| long.strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let mut files: Vec<&str> = Vec::new();
    for path in &own {
        if !files.iter().any(|known| is_end(known, path) || is_end(path, known)) {
            files.push(path);
        }
    }
    let has_twin = |path: &str| files.iter().filter(|other| base_name(other) == base_name(path)).nth(1).is_some();
    let name = |path: &&str| match path.rmatch_indices('/').nth(1).filter(|_| has_twin(path)) {
        Some((at, _)) => quote(&path[at + 1..]),
        None if has_twin(path) => quote(path),
        None => quote(base_name(path)),
    };
    let more = files.len().saturating_sub(MOST_FILES) + paths.len().saturating_sub(own.len());
    let names: Vec<String> = files.iter().take(MOST_FILES).map(name).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}

/// The same for an answer without calls that only shows what could be done.
pub(crate) fn proposed_item(request: &str, answer: &str) -> String {
    answered_item(request, answer, false).replacen(ANSWER, ONLY_PROPOSED, 1)
}

/// The beginning of that item.
pub(super) fn worked_on_start(request: &str) -> String {
    answered_start(request, true).replacen(FINISHED, WORKED_ON, 1)
}

/// Most changed files that are looked for in an outcome.
const MOST_CHANGED: usize = 32;
/// Most files that are named as the outcome of a request.
const MOST_FILES: usize = 3;
/// Begins a block in an answer that is an edit.
const EDIT_BLOCK: &str = "<<<<<<< SEARCH";
/// Fewest lines of code in an answer that shows what it would change.
const FEWEST_SHOWN: usize = 5;

/// Whether an answer to a request for work, for which nothing was changed, only shows what could be done: a plan, or
/// code. `is_text_only` says that the request led to no call, in a conversation in which edits are calls.
pub(crate) fn only_proposes(answer: &str, is_text_only: bool) -> bool {
    // A program may apply such blocks without a call.
    is_proposal(answer)
        || is_text_only && !answer.contains(EDIT_BLOCK) && {
            let mut is_code = false;
            let shown = answer.lines().filter(|line| {
                is_code ^= line.trim_start().starts_with("```");
                is_code
            });
            shown.count() > FEWEST_SHOWN
        }
}

/// The same with the person's objection to the answer.
pub(crate) fn objected_item(request: &str, answer: &str, has_changed: bool, objection: &str) -> String {
    format!(
        "{}{OBJECTED_TO_ANSWER}{}",
        answered_item(request, answer, has_changed),
        clip_middle(objection, LONGEST_OBJECTION)
    )
}

/// The beginning of that item.
pub(crate) fn answered_start(request: &str, has_changed: bool) -> String {
    let start = if has_changed && asks_for_change(request) { FINISHED } else { ANSWER };
    format!("{start}{}", answered_request(request))
}

/// How such an item tells its request.
pub(crate) fn answered_request(request: &str) -> String {
    format!("{}{ANSWERED_BY}", clip_middle(&typed(&own_words(request), 4 * LONGEST_REQUEST), LONGEST_REQUEST))
}

/// Whether a request asks no question, or begins one of its sentences with an order.
pub(crate) fn asks_for_change(request: &str) -> bool {
    let own = typed(request, 4 * LONGEST_REQUEST);
    !own.contains(['?', '\u{ff1f}']) || sentences(&own).any(orders)
}

/// Whether a sentence begins with an order: `Add the prices`.
fn orders(sentence: &str) -> bool {
    WORK.starts(&first_words(sentence, ORDER_WORDS))
}

/// Most words of an order that are compared.
const ORDER_WORDS: usize = 2;

/// Whether a request asks a question in its own words.
pub(crate) fn has_question(request: &str) -> bool {
    typed(request, 4 * LONGEST_REQUEST).contains(['?', '\u{ff1f}'])
}

/// Most words of a command to the harness, such as `/add src/main.rs`, which asks the model for nothing.
const COMMAND_WORDS: usize = 3;

/// Whether an answer settles a message. Only the person settles a report of a problem, and a command to the harness
/// asks for nothing.
pub(crate) fn is_settled_by_answer(message: &str) -> bool {
    !reports(message) && !is_command(message)
}

/// Whether a message is a command to the harness with little else.
fn is_command(message: &str) -> bool {
    let mut words = message.split_whitespace();
    let name = words.next().and_then(|first| first.strip_prefix('/'));
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    name.is_some_and(is_name) && words.count() < COMMAND_WORDS
}

/// Fewest lines of a message that shows something and makes no request in its own words.
const SHOWN_LINES: usize = 3;

/// Whether a message that is not a request shows something of its own, such as a pasted error, so that the next message
/// answers it. A few words only respond to what the model said.
pub(crate) fn shows(message: &str) -> bool {
    message.lines().filter(|line| !line.trim().is_empty()).nth(SHOWN_LINES - 1).is_some()
}

/// Most words of a sentence that is only a refusal.
const EARLY: usize = 4;
/// Words for the answer itself.
static MEANING_IT: WordList = word_list!(SPACED, "closed requests: meaning it");

/// Whether a message that begins with a refusal really refuses: its first words end a clause, are all of it, or name
/// what was done. `Wrong import path in a.rs, fix it` asks for work.
fn ends_early(message: &str) -> bool {
    let marks = [',', '.', '!', ';', ':', '\n', '\u{2014}', '\u{ff0c}', '\u{3002}', '\u{3001}', '\u{ff01}'];
    let clause = message.split(marks).next().unwrap_or_default();
    let words = normalised(clause);
    let first = words.split_whitespace().count();
    first <= 1
        || clause.len() == message.len() && first <= EARLY
        || MEANING_IT.is_in(&words)
        || starts_with_any(&words, &["that's", "that is", "this is", "not what"])
}

/// Whether a message of a person says that the answer before it did not do what was asked.
pub(super) fn refuses(message: &str) -> bool {
    let start = prefix_utf16(message.trim_start(), REFUSED_WITHIN);
    let words = normalised(start);
    let is_verdict = || !is_no_refusal(start) && REFUSING.starts(&words) && ends_early(start);
    is_verdict()
        || starts_with_piece(start, REFUSING.pieces)
        || UNWANTED.starts(&words)
        || UNDOING.is_said_in(start, &words)
        || PERSISTING.is_said_in(start, &words) && reports(message)
}

/// Whether a message refuses `answer`, objects to it, or says that the model misunderstood.
pub(crate) fn rejects(message: &str, answer: &str) -> bool {
    refuses(message) || OBJECTING.is_in(&normalised(message)) || misses(message, answer)
}

/// Fewest letters of a word that shows the subject of a text.
const SHORTEST_SUBJECT: usize = 5;
/// Number of its first letters that are compared.
const STEM: usize = 5;
/// Fewest common pairs of characters that show the same subject, in languages without spaces.
const FEWEST_PAIRS: usize = 2;
/// Fewest common words of an objection, which has to be about the answer itself.
const OBJECTED_WORDS: usize = 2;
/// Fewest common pairs of characters of an objection.
const OBJECTED_PAIRS: usize = 4;
/// Most UTF-16 units of an objection in an item.
const LONGEST_OBJECTION: usize = 100;
/// UTF-16 units of a text whose words are compared.
const COMPARED: usize = 600;
/// Long words that show no subject, besides those of [`super::problems`].
static NO_SUBJECTS: WordList = word_list!(SPACED, "closed requests: no subjects");

/// The subject of a text: the beginnings of its long words, and pairs of characters of scripts without spaces.
pub(super) fn subjects(text: &str) -> HashSet<String, TextHashing> {
    let words = normalised(prefix_utf16(text, COMPARED));
    let is_unspaced = |character: &char| ('\u{2E80}'..='\u{FFDC}').contains(character);
    let is_subject = |word: &str| !NO_SUBJECTS.has(word) && !WORK.has(word) && !is_word_of_problem(word);
    let mut found = HashSet::default();
    for word in words.split([' ', '-']) {
        let letters: Vec<char> = word.chars().collect();
        if letters.iter().any(is_unspaced) {
            found.extend(letters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if letters.len() >= SHORTEST_SUBJECT && is_subject(word) {
            found.insert(letters.into_iter().take(STEM).collect());
        }
    }
    found
}

/// Whether a message shows or reports the same as `earlier`: the same text except for numbers, such as times and line
/// numbers. A person who shows an error again says that it is not solved.
pub(crate) fn repeats(message: &str, earlier: &str) -> bool {
    let is_compared = |one: &char| !one.is_ascii_digit() && !one.is_whitespace();
    let [own, other] = [message, earlier].map(|text| prefix_utf16(text.trim(), COMPARED).chars().filter(is_compared));
    own.eq(other) && (shows(message) || reports(message))
}

/// Percentage of their subjects that two messages share if the second one replaces the first.
const SAME_PERCENT: usize = 85;
/// Fewest subjects of such a message.
const FEWEST_SAME: usize = 6;

/// Whether two messages of a person say nearly the same.
pub(crate) fn nearly_repeats(one: &str, other: &str) -> bool {
    let (first, second) = (one.len().min(other.len()), one.len().max(other.len()));
    if first * 100 < second * SAME_PERCENT {
        return false;
    }
    let (own, others) = (subjects(one), subjects(other));
    let most = own.len().max(others.len());
    most >= FEWEST_SAME && own.intersection(&others).count() * 100 >= most * SAME_PERCENT
}

/// The first sentences of a person's message that say that something is not so, or that they do not want it.
fn denied(message: &str) -> String {
    let denies = |sentence: &&str| {
        let words = normalised(sentence);
        let says_so = DENYING.is_in(&words) && !DENYING_NOTHING.is_in(&words);
        let is_said = || has_piece(sentence, DENYING.pieces) && !has_piece(sentence, DENYING_NOTHING.pieces);
        let is_question = || sentence.ends_with(['?', '\u{ff1f}']) || sentence.starts_with('\u{bf}');
        (says_so || is_said()) && !is_question() && is_prose(sentence)
    };
    sentences(message).take(DENIED_WITHIN).filter(denies).collect::<Vec<_>>().join(" ")
}

/// Whether a message says that something is of poor quality. It may be wanted for all that, so a question is none.
fn complains(message: &str) -> bool {
    let is_question = |sentence: &str| sentence.ends_with(['?', '\u{ff1f}']);
    let said = sentences(message).take(COMPLAINED_WITHIN);
    said.filter(|sentence| is_prose(sentence) && !is_question(sentence)).any(|sentence| COMPLAINING.is_said(sentence))
}

/// Whether two texts have `words` long words or `pairs` pairs of characters in common.
pub(super) fn shares(
    own: &HashSet<String, TextHashing>,
    other: &HashSet<String, TextHashing>,
    words: usize,
    pairs: usize,
) -> bool {
    let shared = || own.intersection(other);
    shared().filter(|one| !one.is_ascii() && one.chars().count() < STEM).count() >= pairs
        || shared().filter(|one| one.chars().count() == STEM).count() >= words
}

/// Whether a message of a person reports a problem with what was done for `request`, which `answer` reports as done, or
/// denies that the request was done.
pub(crate) fn reopens(message: &str, request: &str, answer: &str) -> bool {
    if repeats(message, request) {
        return true;
    }
    let mut done = subjects(request);
    // Most messages report and deny nothing.
    if !reports(message) {
        return shares(&subjects(&denied(message)), &done, 1, FEWEST_PAIRS)
            || complains(message) && is_about(message, &format!("{request}\n{answer}"));
    }
    let own = subjects(message);
    shares(&own, &done, 1, FEWEST_PAIRS)
        || !own.is_empty() && {
            done.extend(subjects(answer));
            shares(&own, &done, 1, FEWEST_PAIRS)
        }
}

/// Whether a message comes back to what was done for `request`, which `answer` tells: it pastes an error, or has two words
/// in common with them and reports or denies something. Without that, it only asks for more.
pub(crate) fn comes_back(message: &str, request: &str, answer: &str) -> bool {
    let complains = || reports(message) || !denied(message).is_empty();
    pastes_error(message) || complains() && is_about(message, &format!("{request}\n{answer}"))
}

/// Whether a message has two words in common with what was done.
pub(super) fn is_about(message: &str, done: &str) -> bool {
    shares(&subjects(message), &subjects(done), OBJECTED_WORDS, OBJECTED_PAIRS)
}

/// What a message denies of an `answer` to another request: words that say why a part of it does not stand.
pub(crate) fn objection(message: &str, answer: &str) -> Option<String> {
    let denied = denied(message);
    (!denied.is_empty() && shares(&subjects(&denied), &subjects(answer), OBJECTED_WORDS, OBJECTED_PAIRS))
        .then(|| one_line(&denied))
}

/// Whether the first words of an answer say that the request failed, or that the model gives up.
pub(crate) fn tells_failure(reply: &str) -> bool {
    let first = sentences(reply).next().unwrap_or(reply);
    reports(reply) || is_unsolved(first) || is_denied(first) || gives_up(first)
}

/// Words with which a model claims that something works now.
static CLAIMS: WordList = word_list!("closed requests: claims");

/// Beginnings of sentences in which a model says that it knows the cause of a failure.
static THEORIES: WordList = word_list!("closed requests: theories");
/// Number of first words in which such a beginning may be.
const THEORY_WORDS: usize = 5;

/// Whether a sentence of a model says that it knows the cause of a failure.
pub(crate) fn is_theory(sentence: &str) -> bool {
    THEORIES.begins_in(sentence, THEORY_WORDS)
}

/// Whether a sentence of a model claims that something is solved or works now.
pub(crate) fn is_claim(sentence: &str) -> bool {
    CLAIMS.is_said(sentence)
}

/// Beginnings of messages with which a person tells the model to continue their request.
static CONTINUING: WordList = word_list!("closed requests: continuing");

/// Whether a message tells the model to continue.
pub(crate) fn continues(message: &str) -> bool {
    let start = prefix_utf16(message.trim_start(), REFUSED_WITHIN);
    CONTINUING.begins(start)
}

/// Whether a message tells the model to continue behind a first clause: `Great, now continue with the other pages`.
pub(super) fn continues_behind_praise(message: &str) -> bool {
    let behind =
        prefix_utf16(message.trim_start(), REFUSED_WITHIN).split([',', '.', '!', ';', '\n', '\u{ff0c}']).skip(1);
    behind.map(str::trim).filter(|part| !part.is_empty()).take(2).any(|part| {
        let words = first_words(part, WORDS_TO_CONTINUE);
        CONTINUING.begins(part) || CONTINUING.is_in(&words)
    })
}

/// Number of first words of a clause of which one may say to continue.
const WORDS_TO_CONTINUE: usize = 3;

/// Whether the request before a message of a person is closed: the message neither refuses the answer nor tells the
/// model to continue.
pub(crate) fn accepts(message: &str) -> bool {
    !continues(message) && !refuses(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_with_two_paths_is_named_once() {
        let paths = ["/home/dev/shop/docs/menu.md", "docs\\menu.md", "src/cart.rs"];
        assert_eq!(changed_files(&paths), "`menu.md`, `cart.rs`");
        assert_eq!(changed_files(&["a/docs/menu.md", "a/old/menu.md"]), "`docs/menu.md`, `old/menu.md`");
    }

    #[test]
    fn a_question_is_answered_by_a_yes_or_no_and_never_by_a_guess_or_a_plan() {
        for (answer, expected) in [
            ("Yes \u{2014} the remote is set to the shop.", Some("Yes \u{2014} the remote is set to the shop.")),
            (
                "Good point!\n\nWhen are the accounts made?\n\nNo, we have no such step. The import makes them.",
                Some("No, we have no such step. The import makes them."),
            ),
            ("Ottima domanda!\n\nNo, non abbiamo questo passo.", Some("No, non abbiamo questo passo.")),
            ("1) 是的，这正是导入失败的原因", Some("是的，这正是导入失败的原因")),
            ("The menu has these gaps:\n- No page for it, and no link\n- Not in the index", None),
            ("Great, the status of the task was updated.", None),
            ("The address of the server might be wrong.", None),
            ("Il problema potrebbe essere l'indirizzo del server.", None),
            ("问题可能出在服务器的地址上。", None),
            ("サーバーの住所が原因かもしれません。", None),
            ("We need to make some new files first.", None),
            ("Wir müssen zuerst einige neue Dateien anlegen.", None),
            ("我们需要创建几个新文件。", None),
            ("You pointed out a confusion of mine here.", None),
            ("The conflict is resolved in the parser. Let's continue the merge:\n\n```\ngit merge\n```", None),
        ] {
            assert_eq!(result_of(true, answer).as_deref(), expected, "{answer}");
        }
        assert!(result_of(false, "Great, the status of the task was updated.").is_some());
    }

    #[test]
    fn a_summary_tells_the_outcome_and_any_paragraph_does_if_files_changed() {
        let answer = "Both faults are gone now, and the page loads.\n\nSummary:\n\n- The menu of the shop has its prices\n\
                      - The manual of the shop explains them";
        let expected = "The menu of the shop has its prices; The manual of the shop explains them";
        assert_eq!(result_of(false, answer).as_deref(), Some(expected));
        let answer = "All confirmed:\n\n- The menu of the shop has its prices\n\nShall I push it?";
        assert_eq!(result_of(false, answer), None);
        assert_eq!(told(answer), None, "a list may be left to do");
        let answer = "All confirmed:\n\n- The menu\n\nThe menu of the shop has its prices.";
        assert_eq!(told(answer).as_deref(), Some("The menu of the shop has its prices."));
        assert_eq!(told("Shall I add the prices to the menu?\n\nThe menu of the shop has none."), None);
        assert_eq!(with_files("The menu has prices.", &["shop/menu.ts"]), "The menu has prices. (changed `menu.ts`)");
        assert_eq!(with_files("`menu.ts` has prices.", &["shop/menu.ts"]), "`menu.ts` has prices.");
    }

    #[test]
    fn the_last_message_of_an_answer_tells_the_outcome() {
        let mut asked = Asked::at(1, "add the prices to the menu");
        asked.answer_with(2, (0, 0), "The menu of the shop is read from its file.");
        asked.answer_with(3, (0, 0), "The menu of the shop has its prices.");
        assert_eq!(asked.outcome(true), Some("The menu of the shop has its prices."));
        asked.answer_with(4, (0, 0), "Shall I go on with the manual?");
        assert_eq!(asked.outcome(true), Some("The menu of the shop has its prices."), "it says nothing");
        asked.answer_with(5, (0, 0), &"Shall I add the pictures of all dishes to the menu as well?".repeat(2));
        assert_eq!(asked.outcome(true), None, "the first message only led to the long one");
        let claim = with_claim(Some("The crash is fixed.".to_owned()), Some("The log line is gone.".to_owned()));
        assert_eq!(claim.as_deref(), Some("The crash is fixed. The log line is gone."));
    }

    #[test]
    fn further_words_end_the_answer_until_a_file_changes() {
        let mut asked = Asked::at(1, "look at the log of the import");
        asked.answer_with(2, (0, 0), "The import of the orders stops at the second row.");
        asked.go_on(3);
        asked.answer_with(4, (3, 0), "The server of the shop listens on another port.");
        assert_eq!(asked.outcome(true), Some("The import of the orders stops at the second row."));
        asked.answer_with(6, (5, 5), "The import of the orders reads all rows.");
        assert_eq!(asked.outcome(true), Some("The import of the orders reads all rows."));
    }

    #[test]
    fn a_question_with_an_order_asks_for_a_change() {
        assert!(asks_for_change("Add the prices. Wasn't there a list of them?") && asks_for_change("the menu, please"));
        assert!(!asks_for_change("Is there a list of prices?"));
    }

    #[test]
    fn what_is_said_before_a_look_at_the_thing_is_no_answer() {
        let mut asked = Asked::at(1, "where is the parser?");
        asked.answer_with(2, (0, 0), "I left the parser out of the list above. Let me look at its state.");
        asked.answer_with(3, (0, 0), "The parser is installed and not used by any build.");
        assert_eq!(asked.reply.as_deref(), Some("The parser is installed and not used by any build."));
        let mut asked = Asked::at(1, "read the log of the import");
        asked.answer_with(2, (0, 0), "I have read all of the log. I'll begin with the type of the field.");
        assert!(!asked.is_broken_off(2) && asked.is_broken_off(3));
    }

    #[test]
    fn a_report_about_what_was_done_reopens_it() {
        for (request, answer, message) in [
            ("Add a tooltip to the chart", "The chart has a tooltip now.", "the tooltip is broken on my side"),
            ("Desarrolla el botón para borrar", "He implementado el botón.", "no funciona, no se borra la palabra"),
            ("Baue den Export der Liste", "Der Export ist fertig.", "der Export schlägt fehl"),
            ("添加导出按钮", "导出按钮已经添加。", "导出按钮还是不行"),
        ] {
            assert!(reopens(message, request, answer), "{message}");
        }
        for (request, answer, message) in [
            ("Add a menu to the page", "The menu works now.", "The export fails on Windows"),
            ("Füge dem Menü einen Eintrag hinzu", "Der Eintrag ist nicht leer.", "Der Export geht nicht"),
            ("Add a tooltip to the chart", "The chart has a tooltip now.", "Add a legend to the chart"),
        ] {
            assert!(!reopens(message, request, answer), "{message}");
        }
        assert!(is_claim("I've solved the problem.") && is_claim("导出已修复。"));
        assert!(!is_claim("The problem is in the parser."));
    }

    #[test]
    fn an_answer_that_is_code_says_nothing() {
        for fence in ["```", "```bash"] {
            assert_eq!(
                opening(&format!("{fence}\nmkdir -p src/app/dashboard && mv src/old/* src/app/dashboard/\n{fence}")),
                None
            );
        }
        let told = "The pages are in src/app/dashboard now.\n```\nmv src/old/* src/app/dashboard/\n```";
        assert_eq!(opening(told).as_deref(), Some("The pages are in src/app/dashboard now."));
    }

    #[test]
    fn what_is_shown_again_was_not_solved() {
        let shown = |at: u32| format!("GET\nhttp://localhost/app.js?t={at}\nloading app.js:{at} was blocked");
        assert!(repeats(&shown(1), &shown(2)) && reopens(&shown(12), &shown(7), ""));
        assert!(!repeats(&shown(1), &shown(2).replace("blocked", "loaded")));
        assert!(!repeats("go on", "go on"));
    }

    #[test]
    fn a_refusal_is_known_by_its_beginning() {
        for message in [
            "No, the other file",
            "/undo\n\nuse another way",
            "Nein, so nicht",
            "Non, garde l'ancien",
            "Não, o outro",
            "いや、それは違う",
            "不对，应该是另一个文件",
            "the import still fails on my side",
            "that broke the page. i undid your changes, read the whole file",
            "もう一度やってください",
        ] {
            assert!(refuses(message) && !accepts(message), "{message}");
        }
        for message in ["continue until all tasks are done", "Mach weiter mit dem Rest", "続けてください、残りも"]
        {
            assert!(!refuses(message) && !accepts(message), "{message}");
        }
        for message in [
            "Nothing else, thanks. Now write the manual",
            "The export fails on Windows",
            "Now add a menu",
            "Notiz: weiter mit dem Menü",
            "No problem, thanks. Now write the manual",
            "No need for tests; add a menu to the page",
            "Non-ASCII names crash the export, fix it",
            "Wrong import path in a.rs, fix it",
            "不错，现在写文档",
        ] {
            assert!(accepts(message), "{message}");
        }
    }
}
