//! Rules: messages of a person that only say how the work is to be done, and for how long a rule applies.

use std::borrow::Cow;

use super::answers::begins_work;
use super::choices::{stems, takes_option};
use super::closed_requests::{PERSISTING, subjects};
use super::constraints::{FORBIDDING, LASTING, clauses, forbids, gives_task, holds_for_good, is_constraint};
use super::names::ending;
use super::notes::LATER;
use super::problems::reported;
use super::requests::{COMMON, WORK};
use super::statements::{sentences, without_marker};
use super::terms::is_unspaced;
use super::text::{WordList, clip, first_words, has_piece, normalised, one_line, starts_with_piece, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};
use crate::text::utf16_len;

/// Words of demands that apply for long, in languages without spaces between words.
const LASTING_UNSPACED: &[&str] = listed!(UNSPACED, "constraints: lasting");
/// Words that refuse what was done.
static ANSWERS: WordList = word_list!(SPACED, "constraints: answers");
/// Beginnings of demands that apply from then on.
pub(crate) static FROM_NOW_ON: WordList = word_list!(SPACED, "constraints: from now on");
/// Longest message that only sets rules, in UTF-16 units.
const LONGEST_RULE: usize = 200;
/// Number of first words in which each of its sentences must say so.
const RULE_WORDS: usize = 4;

/// Whether a message of a person only sets rules or corrects how the work is done. It asks for nothing by itself: the
/// request before it continues.
pub(crate) fn only_sets_rules(message: &str) -> bool {
    let persists = || PERSISTING.is_in(&normalised(message));
    if utf16_len(message) > LONGEST_RULE || persists() || reported(message).is_some() {
        return false;
    }
    let is_rule = |sentence: &str| {
        let words = first_words(sentence, RULE_WORDS);
        let says_so = LASTING.is_in(&words) || ANSWERS.is_in(&words) || FROM_NOW_ON.starts(&words);
        let is_wide = has_piece(sentence, LASTING_UNSPACED);
        is_constraint(sentence) && (says_so || is_wide) && !gives_task(sentence)
    };
    if MEMORISING.begins(message) && sentences(message).any(is_constraint) && !gives_task(message) {
        return true;
    }
    let mut all = sentences(message).peekable();
    all.peek().is_some() && all.all(is_rule)
}

/// Beginnings of messages that have the model remember a rule.
static MEMORISING: WordList = word_list!("rules: memorising");

/// Beginnings of sentences that continue the one before them.
static LINKED: WordList = word_list!("rules: linked");
/// Beginnings of questions that ask for something.
static ASKING: WordList = word_list!("rules: asking");
/// Words that say for how long it applies.
static HOLDING: WordList = word_list!(SPACED, "constraints: holding");
/// The same in languages without spaces between words.
const HOLDING_UNSPACED: &[&str] = listed!(UNSPACED, "rules: holding");
/// Words of a ban that ends when the person says to start.
static WAITING: WordList = word_list!("rules: waiting");
/// Words in such a ban for the work that must not begin yet.
static BEGINNING: WordList = word_list!("rules: beginning");
/// Phrases with which a person lets such work begin.
static GOING_AHEAD: WordList = word_list!("rules: going ahead");
/// First words of a message that approves what was proposed.
static APPROVING: WordList = word_list!("rules: approving");
/// Number of first words of a message in which such a phrase must begin.
const GOING_WORDS: usize = 7;
/// Most words of a label before a value in quotation marks.
const LABEL_WORDS: usize = 3;
/// Quotation marks around a whole value.
const QUOTATION_MARKS: [(char, char); 5] =
    [('"', '"'), ('\u{201c}', '\u{201d}'), ('\u{201e}', '\u{201c}'), ('\u{ab}', '\u{bb}'), ('\u{300c}', '\u{300d}')];

/// Whether a sentence that looks like a rule is only a part of something: it continues the sentence before it, gives a
/// value to a label, or takes one of several options.
pub(super) fn is_part(sentence: &str) -> bool {
    LINKED.begins_in(sentence, RULE_WORDS)
        || labels_value(sentence)
        || takes_option(sentence) && !LASTING.is_in(&normalised(sentence))
}

/// Whether a sentence is a label with a value in quotation marks: `Title: "Never lose a file"`.
fn labels_value(sentence: &str) -> bool {
    let Some((label, value)) = sentence.split_once([':', '\u{ff1a}']) else { return false };
    let value = value.trim().trim_end_matches(['.', ',', ';']);
    let is_within = |(open, close): (char, char)| {
        value.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)).is_some_and(|inner| !inner.contains(close))
    };
    label.split_whitespace().count() <= LABEL_WORDS && QUOTATION_MARKS.into_iter().any(is_within)
}

/// Whether a question asks for something from then on: `can you always …?`.
pub(super) fn asks_for_rule(question: &str) -> bool {
    let asks = || {
        let words = normalised(question);
        ASKING.starts(&words) && HOLDING.is_in(&words)
    };
    ASKING.may_start(question) && asks() || has_piece(question, ASKING.pieces) && has_piece(question, HOLDING_UNSPACED)
}

/// Words before the content of a sentence.
static FILLERS: WordList = word_list!(SPACED, "rules: fillers");
/// Beginnings of clauses about something that the model will do several times.
static OCCASIONS: WordList = word_list!("rules: occasions");
/// Beginnings of clauses in which a person wants to be told or asked.
static TELLING: WordList = word_list!("rules: telling");
/// Number of first clauses of a sentence that may say that it applies from then on.
const FIRST_CLAUSES: usize = 3;

/// Whether the first clauses of a sentence say that it holds from then on, or whenever the model does something:
/// `ok, now on, …`, `when you want to change a file, tell me why`.
pub(crate) fn holds_from_now_on(sentence: &str) -> bool {
    let clauses = || clauses(sentence).take(FIRST_CLAUSES).map(without_fillers);
    let is_occasion = |words: &String| OCCASIONS.starts(words);
    // Most sentences have none of the phrases in any place.
    FROM_NOW_ON.is_said(sentence) && clauses().any(|words| FROM_NOW_ON.starts(&words))
        || OCCASIONS.is_said(sentence)
            && TELLING.is_said(sentence)
            && clauses().skip_while(|words| !is_occasion(words)).skip(1).any(|words| TELLING.starts(&words))
        || has_piece(sentence, OCCASIONS.pieces) && has_piece(sentence, TELLING.pieces)
}

/// The words of a clause after its fillers.
fn without_fillers(clause: &str) -> String {
    let words = normalised(clause);
    let is_filler = |word: &&str| FILLERS.has(word);
    let own = words.split_whitespace().find(|word| !is_filler(word));
    let start = own.map_or(words.len(), |word| word.as_ptr() as usize - words.as_ptr() as usize);
    format!(" {}", &words[start..])
}

/// Headings of lists of rules.
static HEADINGS: WordList = word_list!("rules: headings");
/// Headings of lists of conditions. Only the lines with demands are rules.
static CONDITIONS: WordList = word_list!("rules: headings of conditions");
/// Longest heading, in bytes.
const LONGEST_HEADING: usize = 60;
/// Most lines that are read below a heading.
const MOST_LISTED: usize = 12;
/// Longest line below a heading that is a rule, in UTF-16 units.
const LONGEST_LISTED: usize = 200;

/// The rules below the headings of rules in a message: `RULES`, `Constraints:`. A line is one rule, unless one of its
/// sentences is a rule by itself.
pub(crate) fn listed_rules(message: &str) -> impl Iterator<Item = &str> {
    let mut left = 0;
    let mut is_first = false;
    let mut has_conditions = false;
    let lines = message.lines().filter_map(move |line| {
        let text = without_marker(line).trim();
        match () {
            () if is_heading(line) && (names(line, &HEADINGS) || conditions(line)) => {
                (left, is_first, has_conditions) = (MOST_LISTED, true, conditions(line));
                return None;
            }
            // An empty line may follow the heading; anywhere else it ends the list.
            () if text.is_empty() && is_first => return None,
            () if text.is_empty() || is_heading(line) => left = 0,
            () => {}
        }
        is_first = false;
        let is_listed = left > 0 && utf16_len(text) <= LONGEST_LISTED && text.contains(char::is_alphabetic);
        left -= usize::from(is_listed);
        let is_rule = is_listed && (!has_conditions || is_order(text) || sentences(text).any(is_constraint));
        is_rule.then_some(text)
    });
    lines.flat_map(|line| {
        let is_whole = !sentences(line).any(is_constraint);
        let parts = sentences(line).filter(move |_| !is_whole);
        is_whole.then_some(line).into_iter().chain(parts)
    })
}

/// Whether a line looks like a heading.
fn is_heading(line: &str) -> bool {
    let line = line.trim();
    if line.len() > LONGEST_HEADING {
        return false;
    }
    let is_item = || !line.starts_with(['#', '*']) && without_marker(line) != line;
    let is_bold = line.starts_with("**") && line.ends_with("**");
    let is_capital = || line.contains(char::is_uppercase) && !line.contains(char::is_lowercase);
    line.starts_with('#') || is_bold || (line.ends_with([':', '\u{ff1a}']) || is_capital()) && !is_item()
}

fn conditions(line: &str) -> bool {
    names(line, &CONDITIONS)
}

/// Whether a heading consists of one of these phrases. `## Python requirements` does not.
fn names(heading: &str, list: &WordList<'_>) -> bool {
    let own = heading.trim_matches(|one: char| !one.is_alphanumeric());
    list.has(normalised(own).trim()) || list.pieces.contains(&own)
}

/// Whether a line begins with a verb that asks for work.
fn is_order(line: &str) -> bool {
    WORK.starts(&normalised(line)) || gives_task(line)
}

/// Phrases with which a person ends or relaxes an earlier demand.
static LIFTING: WordList = word_list!("rules: lifting");
/// Words with which a later demand narrows or replaces an earlier one.
static OVERRULING: WordList = word_list!("rules: overruling");
/// Words of politeness in languages without spaces between words, the longest first.
const POLITE: &[&str] = listed!(UNSPACED, "rules: polite");
/// Fewest long words or names that both have.
const FEWEST_OVERRULED: usize = 2;
/// The same in pairs of characters, in languages without spaces.
const FEWEST_PAIRS: usize = 3;
/// Longest sentence that does so, in UTF-16 units.
const LONGEST_LIFTING: usize = 200;
/// Longest part of it that is shown beside the rule, in UTF-16 units.
const LONGEST_LATER: usize = 140;
/// Words for a file that was named before.
static POINTING: WordList = word_list!("rules: pointing");
/// Bytes before a rule that are searched for the name of the file.
const NAMED_WITHIN: usize = 1000;
/// Shortest word that a rule and the sentence that lifts it share, in letters.
const SHORTEST_SHARED: usize = 5;

/// A sentence with which a person ends or relaxes a rule.
pub(super) struct Lifting<'a> {
    sentence: &'a str,
    /// The files that it names, or the names in capitals of an order to remove something.
    names: Vec<&'a str>,
    stems: Vec<String>,
}

impl<'a> Lifting<'a> {
    pub(super) fn of(sentence: &'a str) -> Option<Self> {
        let words = normalised(sentence);
        let is_denied = |at: usize| FORBIDDING.is_in(&words[..at]);
        let lifts = LIFTING.found_in(&words).any(|(at, _)| !is_denied(at)) || has_piece(sentence, LIFTING.pieces);
        if !lifts || utf16_len(sentence) > LONGEST_LIFTING || sentence.ends_with(['?', '\u{ff1f}']) {
            return None;
        }
        Some(Self { sentence, names: files(sentence).collect(), stems: shared_stems(sentence) })
    }

    /// Whether it may be about a rule: both name the same file, or share a long word if it names none.
    pub(super) fn may_lift(&self, rule: &str) -> bool {
        match self.names.as_slice() {
            [] => shared_stems(rule).iter().any(|stem| self.stems.contains(stem)),
            names => files(rule).any(|file| names.contains(&file)),
        }
    }

    /// The same for a later demand that narrows or replaces earlier ones: `from now on only run the unit tests`.
    pub(super) fn overruling(sentence: &'a str) -> Option<Self> {
        let is_short = utf16_len(sentence) <= LONGEST_LIFTING && !sentence.ends_with(['?', '\u{ff1f}']);
        let overrules = is_short && OVERRULING.is_said_in(sentence, &normalised(sentence));
        overrules.then(|| Self { sentence, names: Vec::new(), stems: named(sentence) })
    }

    /// Whether it narrows or replaces a rule: most of what the rule names is in it, too.
    pub(super) fn overrules(&self, rule: &str) -> bool {
        // Who repeats a rule does not narrow it.
        if normalised(rule).contains(normalised(self.sentence).trim()) {
            return false;
        }
        let own = named(rule);
        let shared = own.iter().filter(|stem| self.stems.contains(stem));
        let (words, pairs): (Vec<&String>, Vec<&String>) = shared.partition(|stem| !is_pair(stem));
        // Most pairs of characters belong to two words.
        words.len() >= FEWEST_OVERRULED && words.len() * 2 >= own.len()
            || pairs.len() >= FEWEST_PAIRS && pairs.len() * 4 >= own.len()
    }

    /// The same for an order to remove something that has a name in capitals: `remove the old CSS`.
    pub(super) fn ordering(sentence: &'a str) -> Option<Self> {
        let label = sentence.split_once(": ").filter(|(label, _)| label.split_whitespace().count() <= LABEL_WORDS);
        let own = label.map_or(sentence, |(_, own)| own.trim_start());
        let is_short = utf16_len(own) <= LONGEST_LIFTING && !own.ends_with(['?', '\u{ff1f}']);
        let is_order = is_short && (REMOVING.begins(own) || has_piece(own, REMOVING.pieces)) && !forbids(own);
        let names: Vec<&str> = capitals(own).filter(|_| is_order).collect();
        (!names.is_empty()).then(|| Self { sentence: own, names, stems: Vec::new() })
    }

    /// The same for a sentence that says what is no longer needed: `directly from the page, without the need of MENU`.
    pub(super) fn dispensing(sentence: &'a str) -> Option<Self> {
        if sentence.ends_with(['?', '\u{ff1f}']) {
            return None;
        }
        // A sentence in lower case may follow without a break.
        let says_so = |part: &&str| utf16_len(part) <= LONGEST_LIFTING && DISPENSING.is_said(part);
        let sentence = sentence.split(". ").find(says_so)?;
        let words = normalised(sentence);
        let behind = DISPENSING.found_in(&words).map(|(at, phrase)| &words[at + phrase.len()..]);
        let mut names: Vec<String> =
            behind.flat_map(|behind| behind.split_whitespace().take(DISPENSED_WORDS).map(str::to_owned)).collect();
        if has_piece(sentence, DISPENSING.pieces) {
            names.extend(words.split(|one: char| !one.is_ascii_alphanumeric()).map(str::to_owned));
        }
        names.retain(|name| name.chars().count() >= SHORTEST_DISPENSED);
        (!names.is_empty()).then(|| Self { sentence, names: Vec::new(), stems: names })
    }

    /// Whether a rule or decision wants something with a name in capitals that is no longer needed.
    pub(super) fn dispenses_with(&self, rule: &str) -> bool {
        let is_it = |name: &str| name.len() >= SHORTEST_DISPENSED && self.stems.contains(&name.to_lowercase());
        !forbids(rule) && capitals(rule).any(is_it)
    }

    /// Whether it orders what a rule forbids to touch.
    pub(super) fn orders(&self, rule: &str) -> bool {
        forbids(rule) && capitals(rule).any(|name| self.names.contains(&name))
    }

    /// A rule with this sentence after it.
    pub(super) fn beside(&self, rule: &str) -> String {
        beside(rule, self.sentence)
    }
}

/// A rule with what the person said about it later.
pub(super) fn beside(rule: &str, later: &str) -> String {
    format!("{rule}{LATER}{}\")", clip(&one_line(later), LONGEST_LATER))
}

/// Words before something that is no longer needed, and most words behind them that may name it.
static DISPENSING: WordList = word_list!("rules: dispensing");
const DISPENSED_WORDS: usize = 12;
/// Shortest name of such a thing, in letters.
const SHORTEST_DISPENSED: usize = 3;

/// First words of an order to remove something.
static REMOVING: WordList = word_list!("rejections: removing");

/// The words in capitals of a text.
fn capitals(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|one: char| !one.is_alphanumeric());
    words.filter(|word| word.len() > 1 && word.chars().all(char::is_uppercase))
}

/// Words of orders that begin a part of the work with a name or number of its own.
static MISSIONS: WordList = word_list!("rules: missions");
/// Phrases with which a rule says that it applies for the time being.
static FOR_NOW: WordList = word_list!("rules: for now");
/// Beginnings of rules that say what alone may change.
static LIMITS: WordList = word_list!("rules: limits");
/// Bytes at the beginning of an order in which it names its part of the work.
const NAMED_FIRST: usize = 600;
/// Numbers in words, of parts of the work.
static NUMBERS: WordList = word_list!("rules: numbers");
/// Phrases for all parts of the work.
static EACH_MISSION: WordList = word_list!(SPACED, "rules: each mission");

/// Whether the first line of an order begins a part of the work with a number of its own: `Phase 2: …`.
pub(crate) fn begins_mission(order: &str) -> bool {
    let first = order.trim_start().lines().next().unwrap_or_default();
    let first = &first[..first.floor_char_boundary(NAMED_FIRST)];
    let words = normalised(first);
    let is_number = |word: &str| word.starts_with(|one: char| one.is_ascii_digit()) || NUMBERS.has(word);
    let numbered =
        |(at, word): (usize, &str)| words[at + word.len()..].split_whitespace().next().is_some_and(is_number);
    MISSIONS.found_in(&words).any(numbered)
        || MISSIONS.pieces.iter().any(|piece| first.match_indices(piece).any(|(at, _)| is_numbered(first, at, piece)))
}

/// Whether a number stands on either side of the `piece` at `at`: `フェーズ2`.
fn is_numbered(text: &str, at: usize, piece: &str) -> bool {
    let is_number =
        |word: &str| word.starts_with(|one: char| one.is_numeric()) || starts_with_piece(word, NUMBERS.pieces);
    let before = text[..at].chars().next_back().map(|one| one.to_string()).unwrap_or_default();
    is_number(text[at + piece.len()..].trim_start()) || is_number(&before)
}

/// Whether a rule applies only to the part of the work for which it was given: it says so, or it says what alone may
/// change, and it does not say that it holds for good.
pub(crate) fn is_of_mission(rule: &str) -> bool {
    (FOR_NOW.is_said(rule) || LIMITS.begins(rule) || has_piece(rule, LIMITS.pieces))
        && !holds_for_good(rule)
        && !EACH_MISSION.is_in(&normalised(rule))
}

/// What a demand names, each once: the stems of its long words, names in capitals, and pairs of characters of scripts
/// without spaces. Words of politeness name nothing.
fn named(text: &str) -> Vec<String> {
    let mut all: Vec<String> = capitals(text).map(str::to_owned).collect();
    let plain = match has_piece(text, POLITE) {
        true => Cow::Owned(POLITE.iter().fold(text.to_owned(), |text, words| text.replace(words, " "))),
        false => Cow::Borrowed(text),
    };
    all.extend(subjects(&plain).into_iter().filter(|subject| is_pair(subject)));
    all.extend(shared_stems(text).into_iter().filter(|stem| !stem.contains(is_unspaced)));
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether it is a pair of characters of a script without spaces.
fn is_pair(text: &str) -> bool {
    text.chars().all(is_unspaced)
}

/// The stems of the long words of a text that name something.
fn shared_stems(text: &str) -> Vec<String> {
    let words = normalised(text);
    let is_long = |word: &&str| word.chars().count() >= SHORTEST_SHARED && !word.contains('\'');
    let words: Vec<&str> = words.split_whitespace().filter(is_long).filter(|word| !COMMON.has(word)).collect();
    stems(&words.join(" "))
}

/// The names of files in a text.
fn files(text: &str) -> impl Iterator<Item = &str> {
    let is_of_name = |one: char| one.is_alphanumeric() || matches!(one, '_' | '-' | '.' | '/' | '\\');
    let runs = text.split(move |one| !is_of_name(one)).map(|run| run.trim_matches(['.', '-']));
    runs.filter(|run| ending(run).is_some())
}

/// A rule about "this file", with the name of the file that the message names before it.
pub(super) fn with_file(message: &str, rule: &str) -> Option<String> {
    if !POINTING.is_said(rule) || files(rule).next().is_some() {
        return None;
    }
    let before = message.get(..(rule.as_ptr() as usize).checked_sub(message.as_ptr() as usize)?)?;
    let before = &before[before.ceil_char_boundary(before.len().saturating_sub(NAMED_WITHIN))..];
    Some(format!("{rule} ({})", files(before).last()?))
}

/// Whether a demand is a ban that ends when the person says to start: `don't start yet`.
pub(super) fn waits(demand: &str) -> bool {
    let words = normalised(demand);
    WAITING.is_in(&words) && FORBIDDING.is_in(&words) && BEGINNING.is_in(&words)
        || has_piece(demand, WAITING.pieces) && has_piece(demand, BEGINNING.pieces)
}

/// Whether the first words of a message let such work begin: `yes, let's start`.
pub(crate) fn goes_ahead(message: &str) -> bool {
    let Some(first) = sentences(message).next() else { return false };
    let is_question = || first.ends_with(['?', '\u{ff1f}', '\u{61f}']);
    let words = first_words(first, GOING_WORDS);
    let is_spaced = || GOING_AHEAD.found_in(&words).any(|(at, _)| !FORBIDDING.is_in(&words[..at]));
    let is_piece = || has_piece(first, GOING_AHEAD.pieces) && !has_piece(first, WAITING.pieces);
    !is_question() && (is_spaced() || is_piece())
}

/// Whether a message begins with an approval, also one with changes: `Approved, with two changes: …`.
pub(super) fn approves(message: &str) -> bool {
    let first = sentences(message).next().unwrap_or_default();
    APPROVING.begins(first) && !first.ends_with(['?', '\u{ff1f}']) && !WAITING.is_said(first)
}

/// Whether a person's answer to a question only says that work may begin.
pub(crate) fn only_goes_ahead(answer: &str, question: &str) -> bool {
    normalised(answer).split_whitespace().count() <= GOING_WORDS && goes_ahead(answer) && begins_work(question)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_for_later_are_known_in_many_languages() {
        for rule in [
            "Ok, now on, when you want to make changes, tell me why.",
            "Ab jetzt, bevor du etwas änderst, frag mich.",
            "Chaque fois que tu modifies un fichier, explique pourquoi.",
            "Cada vez que cambies algo, dime por qué.",
            "Sempre que mudar algo, me avise.",
            "Ogni volta che cambi qualcosa, dimmi perché.",
            "Когда ты хочешь что-то изменить, сначала спроси.",
            "Wanneer je iets wijzigt, vertel me waarom.",
            "Bundan sonra, yorumları Türkçe yaz.",
            "每次修改之前，先问我。",
            "変更するときは、教えてください。",
            "변경할 때마다 알려 주세요.",
        ] {
            assert!(holds_from_now_on(rule), "{rule}");
        }
        for told in [
            "When you run it, the page is empty.",
            "The server is now on port 3000.",
            "Whenever it rains, it rains.",
            "When you click the button, you should see a list.",
            "If you want to reproduce it, you must log in",
        ] {
            assert!(!holds_from_now_on(told), "{told}");
        }
    }

    #[test]
    fn a_ban_waits_for_the_word_to_go_ahead() {
        for (ban, go) in [
            ("Don't start coding yet.", "Yes, let's start the implementation."),
            ("Fang noch nicht an.", "Ja, leg los."),
            ("Ne code pas encore.", "Ok, commence."),
            ("No escribas código todavía.", "Implementa este plan"),
            ("Não escreva código ainda.", "Pode começar."),
            ("Non scrivere ancora codice.", "Puoi iniziare."),
            ("Пока не пиши код.", "Начинай."),
            ("Schrijf nog geen code.", "Begin maar."),
            ("先不要写代码。", "开始实现吧"),
            ("まだコードを書かないで。", "実装を始めてください。"),
            ("아직 코드를 쓰지 마세요.", "시작해 주세요."),
        ] {
            assert!(waits(ban) && !goes_ahead(ban), "{ban}");
            assert!(goes_ahead(go) && !waits(go), "{go}");
        }
        for other in [
            "Never touch the log.",
            "Don't push to the production branch for now.",
            "Don't touch the payment code yet",
            "Fass den Code der Zahlung noch nicht an.",
            "先不要碰支付模块。",
        ] {
            assert!(!waits(other), "{other}");
        }
        for task in ["Go ahead and rename the header", "Implement it for the header too", "ヘッダーにも実装して"]
        {
            assert!(!goes_ahead(task), "{task}");
        }
        assert!(!goes_ahead("Shall I start coding?"));
    }

    #[test]
    fn a_part_of_the_work_has_a_number_in_the_first_line() {
        for order in ["Phase 2: the menu", "Now mission two.", "Фаза 3: меню", "フェーズ2を始めます", "미션 3: 메뉴"]
        {
            assert!(begins_mission(order), "{order}");
        }
        for order in [
            "Add a test for the two-phase commit:\n1. Write it\n2. Run it",
            "Passe à l'étape 2 du menu",
            "The menu is done.\nPhase 2 comes later",
            "3단계로 가 주세요",
        ] {
            assert!(!begins_mission(order), "{order}");
        }
    }

    #[test]
    fn a_rule_for_good_is_of_no_part_of_the_work() {
        for rule in
            ["Only change the texts of the page.", "For now, don't touch the menu.", "とりあえずメニューは触らないで"]
        {
            assert!(is_of_mission(rule), "{rule}");
        }
        for rule in [
            "Only change the texts, always, in every phase.",
            "Only change the texts in every phase.",
            "N'efface jamais les lignes dont on aura besoin plus tard",
            "나중에 필요한 줄은 절대 삭제하지 마세요",
            "No borres las filas que se usan más tarde",
        ] {
            assert!(!is_of_mission(rule), "{rule}");
        }
    }

    #[test]
    fn lines_below_a_heading_of_rules_are_rules() {
        let rules = |message| listed_rules(message).collect::<Vec<_>>();
        assert_eq!(
            rules("RULES\n- keep the colours\n- no tabs\n\nPROBLEM\n- it is slow"),
            ["keep the colours", "no tabs"]
        );
        assert_eq!(
            rules("## Requirements\n\n1. never sort by date\n2. Python 3.12\n\nThen print."),
            ["never sort by date"]
        );
        assert_eq!(rules("规则：\n1. 保持颜色"), ["保持颜色"]);
        for other in [
            "## Important files\n- a.rs",
            "## Python requirements\n- numpy",
            "IMPORTANT\nIt is slow.",
            "条件：\n- 气温",
        ] {
            assert!(rules(other).is_empty(), "{other}");
        }
        assert!(rules("The rules are old.\n- keep the colours").is_empty());
        assert_eq!(rules(&format!("RULES\n{}", "- one more\n".repeat(40))).len(), MOST_LISTED);
    }

    #[test]
    fn only_words_that_free_something_lift_a_rule() {
        for kept in [
            "Whatever you do with the header, the database tables stay blue",
            "I don't have to change settings",
            "Don't forget the header",
        ] {
            assert!(Lifting::of(kept).is_none(), "{kept}");
        }
        for lifted in ["You don't need to keep the header", "Use whatever you like for the header"] {
            assert!(Lifting::of(lifted).is_some(), "{lifted}");
        }
    }

    #[test]
    fn what_is_no_longer_needed_stands_behind_what_wants_it() {
        let decision = "The user: let's keep the ORDERS feed for now.";
        for sentence in [
            "we read the page directly without the need of a file from orders.",
            "it is there (see the copy). we read the page without needing Orders",
            "wir lesen die Seite, wir brauchen keine Datei aus Orders",
            "on lit la page sans passer par orders",
            "leemos la página sin necesidad de orders",
            "lemos a página sem precisar de orders",
            "leggiamo la pagina senza bisogno di orders",
            "мы читаем страницу без использования orders",
            "直接读页面，不再需要ORDERS",
        ] {
            let later = Lifting::dispensing(sentence);
            assert!(later.is_some_and(|later| later.dispenses_with(decision)), "{sentence}");
        }
        for other in ["we need the orders", "do we no longer need orders?", "without the need of a menu"] {
            let later = Lifting::dispensing(other);
            assert!(!later.is_some_and(|later| later.dispenses_with(decision)), "{other}");
        }
    }

    #[test]
    fn a_message_of_rules_alone_asks_for_nothing() {
        for rules in [
            "always use pnpm here",
            "Plus always use \"pnpm ...\", not \"npm\"!",
            "no, use tabs",
            "don't touch `vendor`. Never push to main.",
            "from now on write the notes in French",
            "Ab jetzt bitte alle Texte auf Deutsch.",
            "nein, keine Tabs verwenden",
            "Désormais écris les messages en anglais.",
            "Nunca modifiques el archivo `pagos.cfg`.",
            "Nunca altere o arquivo `folha.cfg`, por favor.",
            "D'ora in poi scrivi i commenti in inglese.",
            "Никогда не меняй этот файл.",
            "今后请用英文写注释。",
            "今後は英語で書いてください。",
            "앞으로 주석은 영어로 써 줘.",
        ] {
            assert!(only_sets_rules(rules), "{rules}");
        }
        for request in [
            "Make sure the tests pass",
            "add a menu, and never use tabs",
            "don't change the menu, fix the page",
            "always use pnpm here. Now port the parser.",
            "no, the export still never ends",
            "the title should be blue",
            "should we never use tabs?",
            "",
        ] {
            assert!(!only_sets_rules(request), "{request}");
        }
    }

    #[test]
    fn an_approval_lets_work_begin_also_with_changes() {
        for message in [
            "Approved, with two changes:\n1. Keep the names.",
            "Freigegeben, mit einer Änderung.",
            "Approuvé, mais sans le cache.",
            "Aprobado, con un cambio.",
            "Одобрено, но без кэша.",
            "批准，但有两处修改。",
            "承認します。",
        ] {
            assert!(approves(message), "{message}");
        }
        for message in
            ["Approved?", "It was approved last week.", "Approved, but don't start yet.", "two points before approval"]
        {
            assert!(!approves(message), "{message}");
        }
    }
}
