//! Reasons: the sentence before a decision of the model that the decision needs to be understood. It names the subject,
//! or the reason for a change of plan.

use std::sync::LazyLock;

use super::bold::without_bold;
use super::cues::{has_name, is_announcement, is_sized};
use super::deciding::has_agent;
use super::finder::Phrases;
use super::stated::chooses;
use super::text::{WordList, clip, first_words, has_piece, normalised, one_line, unspaced, word_list};
use crate::phrases::{SPACED, UNSPACED, listed};

/// Longest sentence that names a subject or a reason, in UTF-16 units.
const LONGEST_BEFORE: usize = 200;
/// First words of sentences whose subject is in the sentence before.
static PRONOUNS: WordList = word_list!("reasons: pronouns");

/// Words of sentences in which the model changes its plan.
static SWITCHING: WordList = word_list!("reasons: switching");
/// Words that only share characters with these.
const NO_SWITCHING: &[&str] = listed!(UNSPACED, "reasons: no switching");
/// Finds a part of each of these words. Most sentences have none.
pub(super) static SWITCHING_PIECES: LazyLock<Phrases> = LazyLock::new(|| {
    let pieces = [
        "instead",
        "rather",
        " use",
        "switch",
        "keep",
        "stattdessen",
        "plut",
        "la place",
        "en su lugar",
        "en cambio",
        "em vez disso",
        "no lugar",
        "invece",
        "вместо этого",
        "Вместо этого",
    ];
    Phrases::of(pieces.iter().chain(SWITCHING.pieces).copied())
});
/// Phrases that say that something does not work, as the reason for another way.
static NOT_POSSIBLE: WordList = word_list!(SPACED, "reasons: not possible");
/// First words of that way.
static OTHER_WAY: WordList = word_list!(SPACED, "reasons: other way");
/// Number of words in which such a beginning must be.
const WAY_WORDS: usize = 4;
/// Fewest words of such a way. A shorter text does not say which way.
const FEWEST_OF_WAY: usize = 3;
/// Words of such sentences that do not say what the new plan is.
static VAGUE: WordList = word_list!(SPACED, "reasons: vague");

/// Whether a sentence says that something does not work.
pub(crate) fn says_impossible(sentence: &str) -> bool {
    NOT_POSSIBLE.is_in(&normalised(sentence))
}

/// Whether a sentence begins with a word for something that was named before.
pub(crate) fn begins_with_pronoun(sentence: &str) -> bool {
    PRONOUNS.begins_in(sentence, 1)
}

/// A sentence with the one that names its subject, if it needs one; `None` if it needs one and there is none.
pub(super) fn with_subject(item: &str, sentence: &str, before: Option<&str>) -> Option<String> {
    if !begins_with_pronoun(sentence) {
        return Some(item.to_owned());
    }
    let before = before.filter(|before| !begins_with_pronoun(before) && before.contains(char::is_alphanumeric))?;
    let named = one_line(before);
    let named = without_bold(&named);
    Some(format!(
        "{} \u{2013} {item}",
        clip(named.trim_end_matches([':', ' ', '.', '\u{ff1a}', '\u{3002}']), LONGEST_BEFORE)
    ))
}

/// Fewest words of a sentence that gives a reason. A shorter one only agrees: `Certainly!`
const FEWEST_WORDS: usize = 4;

/// Whether a sentence has enough words for a reason. Two characters of a script without spaces count as a word.
fn says_something(sentence: &str) -> bool {
    says_enough(sentence, FEWEST_WORDS)
}

fn says_enough(sentence: &str, fewest: usize) -> bool {
    let unspaced = unspaced(sentence);
    sentence.split_whitespace().count().max(unspaced / 2) >= fewest
}

/// The decision in a sentence of the model that changes its plan, with the sentence before it as the reason.
///
/// `acts` says that a call comes with the words. Then neither sentence needs a name.
pub(super) fn change_of_plan(sentence: &str, before: &str, acts: bool) -> Option<String> {
    if !SWITCHING_PIECES.is_in(sentence) {
        return None;
    }
    // The part before a dash may be an announcement, which is not a reason; the part after it is.
    let dash = [" - ", " \u{2013} ", " \u{2014} ", "\u{2014}"].iter().find_map(|dash| before.split_once(dash));
    let own = |head: &str| is_announcement(head.split_once(", ").map_or(head, |(_, behind)| behind));
    let is_aside = |head: &str| own(head) || is_announcement(head) || begins_with_pronoun(head);
    let before = dash.filter(|(head, _)| is_aside(head)).map_or(before, |(_, reason)| reason);
    let words = normalised(sentence);
    let is_wide = has_piece(sentence, SWITCHING.pieces) && !has_piece(sentence, NO_SWITCHING);
    let switches = is_wide || SWITCHING.is_in(&words) && (has_agent(&words) || chooses(&words)) && !VAGUE.is_in(&words);
    let is_reason = is_sized(before)
        && says_something(before)
        && !before.ends_with([':', '?', '\u{ff1a}', '\u{ff1f}'])
        && !is_announcement(before)
        && !begins_with_pronoun(before);
    if !switches || !is_reason || !is_sized(sentence) || sentence.ends_with(['?', '\u{ff1f}']) {
        return None;
    }
    if !acts && !has_name(sentence) && !has_name(before) {
        return None;
    }
    let plan = one_line(sentence);
    let plan = without_bold(&plan);
    let plan = plan.trim_end_matches(['.', ':', '\u{3002}', '\u{ff1a}']);
    Some(format!("**{plan}**: {}", clip(&without_bold(&one_line(before)), LONGEST_BEFORE)))
}

/// The decision for another way. The sentence says before a dash or a semicolon what does not work, or the sentence
/// before it does: `Port 80 is in use \u{2014} switching to 8081`.
pub(super) fn other_way(sentence: &str, before: Option<&str>) -> Option<String> {
    let has_dash = memchr::memchr3(b'-', b';', 0xE2, sentence.as_bytes()).is_some();
    let dashes: &[&str] = if has_dash { &[" - ", " \u{2013} ", " \u{2014} ", "\u{2014}", "; "] } else { &[] };
    let dash = dashes.iter().find(|dash| sentence.contains(**dash)).and_then(|dash| sentence.split_once(dash));
    let (reason, way) = dash.or_else(|| Some((before?, sentence)))?;
    let way = way.trim();
    let is_way = OTHER_WAY.may_start(way)
        && OTHER_WAY.starts(&first_words(way, WAY_WORDS))
        && says_enough(way, FEWEST_OF_WAY)
        && !way.ends_with(['?', '\u{ff1f}']);
    let is_reason = || {
        let words = normalised(reason);
        is_sized(reason) && !is_announcement(reason) && !begins_with_pronoun(reason) && NOT_POSSIBLE.is_in(&words)
    };
    if !is_way || VAGUE.is_in(&normalised(way)) || !is_sized(way) || !is_reason() {
        return None;
    }
    let plain = |text: &str| without_bold(&one_line(text)).trim_end_matches(['.', ':', ' ']).to_owned();
    Some(format!("**{}**: {}", plain(way), clip(&plain(reason), LONGEST_BEFORE)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_without_a_subject_takes_the_one_before() {
        let item = "**It is better than a lock**: readers never wait.";
        let sentence = "It is better than a lock because readers never wait.";
        assert_eq!(
            with_subject(item, sentence, Some("The store uses a snapshot.")).as_deref(),
            Some("The store uses a snapshot \u{2013} **It is better than a lock**: readers never wait.")
        );
        assert_eq!(with_subject(item, sentence, None), None);
        assert_eq!(with_subject(item, sentence, Some("This is fast.")), None, "it has no subject either");
        assert_eq!(with_subject("a", "We chose a.", None).as_deref(), Some("a"));
        for sentence in ["Das ist besser.", "C'est plus simple.", "Isso é melhor.", "这更快。", "それは速い。"]
        {
            assert!(begins_with_pronoun(sentence), "{sentence}");
        }
    }

    #[test]
    fn another_way_has_what_does_not_go_as_its_reason() {
        for (sentence, before, expected) in [
            (
                "Port 8080 is already in use \u{2014} switching to 8081:",
                None,
                "**switching to 8081**: Port 8080 is already in use",
            ),
            (
                "Falling back to a lock file.",
                Some("The runner doesn't support shared memory."),
                "**Falling back to a lock file**: The runner doesn't support shared memory",
            ),
            ("Đổi sang cổng 8081:", Some("Cổng 8080 bị chiếm."), "**Đổi sang cổng 8081**: Cổng 8080 bị chiếm"),
            ("Der Port ist belegt; ich nehme die 8081.", None, "**ich nehme die 8081**: Der Port ist belegt"),
            (
                "Le port est déjà pris \u{2014} je passe au port 8081.",
                None,
                "**je passe au port 8081**: Le port est déjà pris",
            ),
        ] {
            assert_eq!(other_way(sentence, before).unwrap_or_default(), expected, "{sentence}");
        }
        for (sentence, before) in [
            ("Switching to the next task.", Some("The tests pass.")),
            ("Switching to another approach.", Some("The runner doesn't support shared memory.")),
            ("Switching now.", Some("The runner doesn't support shared memory.")),
            ("Port 8080 is in use \u{2014} should I use 8081?", None),
            ("Switching to 8081.", Some("It doesn't work.")),
            ("Let me look at the port.", Some("The runner doesn't support shared memory.")),
        ] {
            assert_eq!(other_way(sentence, before), None, "{sentence}");
        }
    }

    #[test]
    fn a_change_of_plan_has_the_sentence_before_as_its_reason() {
        assert_eq!(
            change_of_plan("I'll use a lock file instead.", "`flock` is not there on this system.", false).as_deref(),
            Some("**I'll use a lock file instead**: `flock` is not there on this system.")
        );
        assert!(
            change_of_plan(
                "I should drop my own table and use the made one instead.",
                "The tool made its own table.",
                true
            )
            .is_some()
        );
        assert!(change_of_plan("Ich nehme stattdessen eine Datei.", "`flock` gibt es hier nicht.", false).is_some());
        assert!(change_of_plan("改用文件锁。", "系统没有`flock`命令可用。", false).is_some());
        for (sentence, before) in [
            ("I'll try another approach instead.", "`flock` is not there on this system."),
            ("I'll use a lock file instead.", "Let me look at `flock`:"),
            ("It shows three rows instead of one.", "`limit` is read too late."),
            ("It shows three rows on the page instead of one.", "`limit` is read too late."),
            ("I'll use a lock file instead.", "This is not there."),
            ("I'll use the file `a.lock` instead.", "Certainly!"),
            ("I'll use the file `a.lock` instead.", "You are right!"),
        ] {
            assert_eq!(change_of_plan(sentence, before, false), None, "{sentence}");
        }
        for phrase in SWITCHING.words.iter().chain(SWITCHING.pieces) {
            assert!(SWITCHING_PIECES.is_in(phrase), "{phrase}");
        }
    }
}
