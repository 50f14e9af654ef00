//! Words that classify sentences, and the items that sentences become.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::bold::without_bold;
use super::deciding::{has_agent, is_undecided};
use super::finder::automaton;
use super::names::scan;
use super::noise::praises;
use super::requests::WORK;
use super::stated::{chooses, reports_problem};
use super::statements::{is_prose, sentences};
use super::templates::task;
use super::text::{
    WordList, clip_middle, first_words, has_ascii_words, has_piece, normalised, one_line, quoted, unspaced, word_list,
};
use crate::phrases::{EVERY, HARNESSES, SPACED, UNSPACED, listed};
use crate::text::{prefix_utf16, utf16_len};

/// Words of sentences that make a choice.
static CHOOSING: WordList = word_list!("cues: choosing");
/// Words of sentences that compare. Many only describe a change or a fault, so a choice also has a reason and a name.
static COMPARING: WordList = word_list!("cues: comparing");
/// Nouns that introduce a choice before a colon.
const CHOICES: &[&str] = listed!(EVERY, "cues: choices");
/// Marks at the beginning of a line about something that was done.
const CHECKED: &[&str] = &["[OK]", "[x]", "[X]", "\u{2705}", "\u{2713}", "\u{2714}", "\u{2611}"];
/// English words between a decision and its reason, each with the words that replace them in an item.
const REASONS: &[(&str, &str)] = &[(" because of ", "because of "), (" because ", ""), (" so that ", "so that ")];
/// Words that give a reason in other languages. A sentence with them is not divided.
static OTHER_REASONS: WordList = word_list!("cues: reasons");
/// First words of decisions that only wait for something.
static WAITING: WordList = word_list!("cues: waiting");
/// Fewest words of a sentence that decides something.
const FEWEST_WORDS: usize = 5;
/// Fewest characters of such a sentence in a language without spaces between words. A shorter one only
/// says that something was decided.
const FEWEST_CHARACTERS: usize = 12;
/// Beginnings of sentences that think aloud and decide nothing.
static MUSINGS: WordList = word_list!(SPACED, "cues: musings");
/// Words that make a sentence a guess, in any position.
static GUESSES: WordList = word_list!("cues: guesses");
/// Beginnings of sentences that announce the next step, in languages with spaces between words.
static ANNOUNCEMENTS: WordList = word_list!(SPACED, "cues: announcements");
/// Beginnings and ends of such sentences in languages without spaces.
const UNSPACED_ANNOUNCEMENTS: (&[&str], &[&str]) =
    (listed!(UNSPACED, "cues: announcement starts"), listed!(UNSPACED, "cues: announcement ends"));
/// UTF-16 units within which such a beginning and its ending word must both be.
const ANNOUNCED_WITHIN: usize = 80;
/// Most words of such a beginning.
const ANNOUNCEMENT_WORDS: usize = 4;
/// Messages that ask for nothing by themselves.
static TRIVIAL: WordList = word_list!(EVERY, "cues: trivial");
/// Beginnings of messages with which a harness tells the model to continue. A rule may follow.
const GOING_ON: &[&str] = listed!(HARNESSES, "person: going on");
/// Bytes of the longest message that may ask for nothing.
const LONGEST_TRIVIAL: usize = 40;
/// Fewest words of a message that can be understood alone.
const FEWEST_SUBSTANTIVE: usize = 3;
/// UTF-16 units of the longest sentence that becomes an item.
const LONGEST_SENTENCE: usize = 400;

/// A request as an item of Goal. A long one keeps its beginning and end, since pasted text in between
/// is not part of the request.
pub(crate) fn goal_line(text: &str) -> String {
    one_line(&clip_middle(task(text).unwrap_or(text).trim(), LONGEST_SENTENCE))
}

/// Percent of a request that must be prose if a person wrote it.
const TYPED_PERCENT: usize = 75;

/// The words of a request without most of the pasted text: its beginning, its prose and its end, in at
/// most `units` UTF-16 units. A short request stays whole.
pub(crate) fn typed(text: &str, units: usize) -> String {
    let line = one_line(text);
    if utf16_len(&line) <= LONGEST_SENTENCE.min(units) {
        return line;
    }
    let mut out = String::new();
    let mut is_cut = false;
    let mut pasted: Option<&str> = None;
    for sentence in sentences(text) {
        // The first words say what was pasted.
        if out.is_empty() || is_prose(sentence) {
            out.push_str(if is_cut { " \u{2026} " } else { " " });
            out.push_str(&clip_middle(sentence, LONGEST_SENTENCE));
            (is_cut, pasted) = (false, None);
        } else {
            (is_cut, pasted) = (true, Some(sentence));
        }
    }
    if let Some(last) = pasted {
        out.push_str(" \u{2026} ");
        out.push_str(&clip_middle(last, LONGEST_SENTENCE / 2));
    }
    one_line(&clip_middle(&out, units))
}

/// Whether a person wrote most of a request, and did not paste it.
pub(crate) fn is_typed(request: &str) -> bool {
    let (mut prose, mut all) = (0, 0);
    for sentence in sentences(request) {
        all += sentence.len();
        prose += if is_prose(sentence) { sentence.len() } else { 0 };
    }
    prose * 100 >= all * TYPED_PERCENT
}

/// Whether a sentence is long enough to be useful and short enough for an item.
pub(crate) fn is_sized(sentence: &str) -> bool {
    sentence.len() > 8 && utf16_len(sentence) <= LONGEST_SENTENCE
}

/// Whether a sentence of the model only announces what it will do.
pub(crate) fn is_announcement(sentence: &str) -> bool {
    let start = prefix_utf16(sentence, ANNOUNCED_WITHIN);
    ANNOUNCEMENTS.may_start(start)
        && ANNOUNCEMENTS.starts(&first_words(start, ANNOUNCEMENT_WORDS))
        && !tells_state(&first_words(start, WORDS_OF_STATE))
        || !sentence.is_ascii() && is_unspaced_announcement(sentence)
}

/// Words for the present time at the beginning of a sentence.
static NOW: WordList = word_list!(SPACED, "cues: now");
/// Verbs behind such a word and a subject that tell how something is.
static BEING: WordList = word_list!(SPACED, "cues: being");
/// Words between the two that begin the subject.
static DEFINITE: WordList = word_list!(SPACED, "constraints: definite");
/// Number of first words of a sentence that tell so, with and without such a word.
const WORDS_OF_STATE: usize = 9;
const WORDS_WITHOUT_ARTICLE: usize = 5;

/// Whether the first `words` of a sentence say how something is now: `now the menu is shorter`. An order or a pronoun of the
/// speaker behind the first word begins something else.
fn tells_state(words: &str) -> bool {
    let mut own = words.split_whitespace();
    let (Some(first), Some(second)) = (own.next(), own.next()) else { return false };
    let most = if DEFINITE.has(second) { WORDS_OF_STATE } else { WORDS_WITHOUT_ARTICLE };
    NOW.has(first)
        && !WORK.has(second)
        && !ANNOUNCEMENTS.has(second)
        && !SPEAKERS.has(second)
        && std::iter::once(second).chain(own).take(most - 1).any(|word| BEING.has(word))
}

/// Pronouns of the one who speaks, and words with which a proposal begins.
static SPEAKERS: WordList = word_list!(SPACED, "cues: speakers");

fn is_unspaced_announcement(sentence: &str) -> bool {
    let (starts, ends) = UNSPACED_ANNOUNCEMENTS;
    let bare = sentence.trim_end_matches(['\u{3002}', '.', ':', '\u{ff1a}', '!', '\u{ff01}']);
    // The question `What comes next?` begins with the same words.
    !bare.ends_with(['?', '\u{ff1f}'])
        && (starts.iter().any(|start| bare.starts_with(start)) || ends.iter().any(|end| bare.ends_with(end)))
}

/// Whether a person's message can be understood without the messages before it.
pub(crate) fn is_substantive(text: &str) -> bool {
    if is_trivial(text) || praises(text) {
        return false;
    }
    // Most messages begin with ASCII words, which need not be copied.
    if has_ascii_words(&text.as_bytes()[..text.len().min(LONGEST_SENTENCE)], FEWEST_SUBSTANTIVE) {
        return true;
    }
    let words = first_words(prefix_utf16(text, LONGEST_SENTENCE), FEWEST_SUBSTANTIVE);
    let spaced = words.split_whitespace().count();
    spaced + unspaced(&words) / 3 >= FEWEST_SUBSTANTIVE
}

pub(crate) fn is_trivial(text: &str) -> bool {
    let text = text.trim();
    if GOING_ON.iter().any(|start| text.starts_with(start)) {
        return true;
    }
    if text.len() > LONGEST_TRIVIAL {
        return false;
    }
    let words = normalised(text);
    text.starts_with('/') && !text.contains(char::is_whitespace) || TRIVIAL.has(words.trim())
}

/// Whether a sentence is only a guess. `words` are its normalised words.
pub(super) fn is_guess(words: &str) -> bool {
    GUESSES.is_said_in(words, words)
}

/// A sentence that chooses or compares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The item. With a reason it is `**decision**: reason`.
    pub(crate) item: String,
    pub(crate) has_reason: bool,
    /// Whether it makes a choice. Otherwise it only compares, as findings do.
    pub(crate) is_made: bool,
}

/// The choice in a sentence, or its comparison of what is with what should be.
pub(crate) fn choice(sentence: &str) -> Option<Choice> {
    if !is_sized(sentence) || sentence.ends_with([':', '?', '\u{ff1f}', '\u{ff1a}']) || sentence.starts_with('|') {
        return None;
    }
    // Most sentences have none of the words.
    if !CHOOSING_PIECES.is_match(sentence) || CHECKED.iter().any(|mark| sentence.starts_with(mark)) {
        return None;
    }
    let words = normalised(sentence);
    let is_long = || words.chars().filter(|character| *character != ' ').count() >= FEWEST_CHARACTERS;
    let has = |list: &WordList<'_>| {
        list.is_in(&words) && words.split_whitespace().count() >= FEWEST_WORDS
            || has_piece(sentence, list.pieces) && is_long()
    };
    let is_chosen = has(&CHOOSING) || names_choice(sentence);
    if !is_chosen && !has(&COMPARING)
        || MUSINGS.starts(&words)
        || is_guess(&words)
        || is_undecided(sentence, &words)
        || only_waits(sentence)
    {
        return None;
    }
    let plain = without_bold(sentence.trim()).into_owned();
    let reasoned = with_reason(&plain);
    let has_reason = reasoned.is_some() || OTHER_REASONS.is_said_in(sentence, &words);
    let describes = || !has_piece(sentence, COMPARING.pieces) && !has_agent(&words) && !chooses(&words);
    // Why something failed is no choice.
    let is_made = is_chosen || has_reason && has_name(sentence) && !describes() && !reports_problem(&words);
    let item = if is_made { reasoned.unwrap_or(plain) } else { plain };
    Some(Choice { item, has_reason, is_made })
}

/// Whether a sentence contains a name: one in backticks, or one with the shape of a name.
pub(crate) fn has_name(sentence: &str) -> bool {
    let mut has_name = quoted(sentence).next().is_some();
    scan(sentence, |_, _| has_name = true);
    has_name
}

/// Finds the pieces of all phrases that make a choice, in any case.
pub(super) static CHOOSING_PIECES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let pieces = CHOOSING.words.iter().chain(COMPARING.words).chain(CHOICES).flat_map(|phrase| pieces(phrase));
    automaton(pieces.chain(CHOOSING.pieces.iter().chain(COMPARING.pieces).map(|word| (*word).to_owned())), true)
});

/// Strings of which at least one is in every text with `phrase`, whatever its case and the marks between its words: the
/// longest run of ASCII letters, or all forms of the first letters of another alphabet.
fn pieces(phrase: &str) -> Vec<String> {
    let runs = phrase.split(|character: char| !character.is_ascii_alphabetic());
    if let Some(run) = runs.max_by_key(|run| run.len()).filter(|run| run.len() > 1) {
        return vec![run.to_owned()];
    }
    let forms = |character: char| [character.to_lowercase().collect::<String>(), character.to_uppercase().collect()];
    phrase.chars().take(3).fold(vec![String::new()], |pieces, character| {
        pieces.iter().flat_map(|piece| forms(character).map(|form| format!("{piece}{form}"))).collect()
    })
}

/// Whether a sentence of the form `Decision: …` only waits for something. It is over when that arrives.
fn only_waits(sentence: &str) -> bool {
    let Some((_, decided)) = sentence.split_once([':', '\u{ff1a}']).filter(|_| names_choice(sentence)) else {
        return false;
    };
    let words = normalised(decided);
    let waits = WAITING.starts(&words) || has_piece(decided, WAITING.pieces);
    let says_why = OTHER_REASONS.is_said_in(decided, &words) || with_reason(decided).is_some();
    waits && !says_why && !COMPARING.is_said_in(decided, &words)
}

/// Whether a sentence has the form `Decision: …`.
pub(super) fn names_choice(sentence: &str) -> bool {
    let before = sentence.split_once([':', '\u{ff1a}']).map(|(before, _)| before);
    let noun = before.and_then(|before| before.split_whitespace().last()).map(|noun| noun.trim_matches('*').to_owned());
    noun.is_some_and(|noun| CHOICES.contains(&noun.to_lowercase().as_str()))
}

/// A sentence in the form `**decision**: reason`, if one of the words is between the two.
pub(super) fn with_reason(sentence: &str) -> Option<String> {
    let split = |(mark, start): &(&str, &str)| {
        let (decision, reason) = sentence.split_once(mark)?;
        let decision = decision.trim().trim_end_matches([',', ':', '-', '\u{2014}', '\u{2013}']).trim_end();
        let is_told = decision.contains(' ') && reason.contains(char::is_alphanumeric);
        is_told.then(|| format!("**{decision}**: {start}{}", reason.trim()))
    };
    REASONS.iter().find_map(split)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_choices_and_not_changes() {
        for sentence in [
            "We settled on a single table for all of them.",
            "I'll use `nom` because it is small.",
            "Die Wahl: wir nehmen `serde` statt eines eigenen Parsers, weil es gepflegt wird.",
            "Entscheidung: alles bleibt in einer Datei.",
            "Decision: wait for the lock instead of failing",
            "考虑之后，我们决定采用单表存储所有记录。",
            "由于体积更小，这里用 `nom` 而不是 `pest` 来解析。",
        ] {
            assert!(choice(sentence).is_some_and(|choice| choice.is_made), "{sentence}");
        }
        for other in [
            "The footer now uses `dim` instead of `muted`.",
            "It still shows three rows instead of one because the limit is late.",
            "The loader should catch the error rather than crash.",
            "We use the index to read the right row.",
            "エラーで止めるのではなく、常に動作する設計です。",
            "Decision: wait for the nightly import",
            "ENTSCHEIDUNG: ABWARTEN BIS MORGEN FRÜH",
            "DECISÃO: AGUARDAR A IMPORTAÇÃO DA NOITE",
            "决定：等待今晚的数据导入任务完成再说",
        ] {
            assert!(choice(other).is_none_or(|choice| !choice.is_made), "{other}");
        }
    }

    #[test]
    fn a_piece_of_each_phrase_is_in_all_of_its_forms() {
        let unspaced = CHOOSING.pieces.iter().chain(COMPARING.pieces);
        for phrase in CHOOSING.words.iter().chain(COMPARING.words).chain(CHOICES).chain(unspaced) {
            for form in [phrase.to_uppercase(), phrase.replace(' ', " **").replace('\'', "\u{2019}")] {
                assert!(CHOOSING_PIECES.is_match(&form), "{form}");
            }
        }
        assert!(ANNOUNCEMENTS.words.iter().all(|start| start.split(' ').count() <= ANNOUNCEMENT_WORDS));
    }
}
