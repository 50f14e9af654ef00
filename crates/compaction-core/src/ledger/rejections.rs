//! Rejections: what a person does not want among the things that the model made or proposed. A refused design must not
//! be built again, so a rejection outlives its request.

use super::choices::stems;
use super::closed_requests::subjects;
use super::constraints::is_constraint;
use super::notes::{OBJECTED, ORDERED, REJECTED, SAID_OF, undone};
use super::problems::reports;
use super::stated::leaves_open;
use super::statements::sentences;
use super::text::{WordList, normalised, one_line, word_list};
use crate::phrases::SPACED;
use crate::text::utf16_len;

/// Phrases with which a person says that something was better before or otherwise.
static PREFERRING: WordList = word_list!("rejections: preferring");
/// Phrases with which a person refuses a thing.
static NOT_WANTED: WordList = word_list!("rejections: not wanted");
/// Phrases of an order to make something what it was before.
static RESTORING: WordList = word_list!("rejections: restoring");
/// First words of an order to remove something.
static REMOVING: WordList = word_list!("rejections: removing");
/// Words that say that something breaks a principle.
static BREACHES: WordList = word_list!("rejections: breaches");
/// First words of conditions.
static CONDITIONS: WordList = word_list!(SPACED, "stated: conditions");
/// Longest message that is read, in UTF-16 units.
const LONGEST_MESSAGE: usize = 420;
/// Longest sentence in which a person rejects something, in UTF-16 units.
const LONGEST_SENTENCE: usize = 160;
/// Number of first sentences that are read.
const MOST_SENTENCES: usize = 6;
/// Most words of an order that only removes something. A longer one is a task.
const MOST_WORDS: usize = 12;
/// Words before something that was named before.
static DEFINITE: WordList = word_list!(SPACED, "constraints: definite");

/// What a person rejects in a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Rejection {
    pub(super) item: String,
    /// Whether it is an order to remove something, like many requests.
    pub(super) is_removal: bool,
}

/// The rejections in a message to the model, whose last answer to `request` was `answer`.
pub(super) fn rejections(message: &str, request: &str, answer: impl FnOnce() -> String) -> Vec<Rejection> {
    if utf16_len(message) > LONGEST_MESSAGE {
        return Vec::new();
    }
    let mut answer = Some(answer);
    let mut known = None;
    let mut found = Vec::new();
    for sentence in sentences(message).take(MOST_SENTENCES) {
        let words = normalised(sentence);
        if utf16_len(sentence) > LONGEST_SENTENCE
            || sentence.ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}'])
            || sentence.starts_with(['>', '\u{bf}'])
            || CONDITIONS.starts(&words)
        {
            continue;
        }
        let has = |list: &WordList<'_>| list.is_said_in(sentence, &words);
        let said = one_line(sentence);
        let mut add = |item: String, is_removal: bool| found.push(Rejection { item, is_removal });
        if has(&BREACHES) {
            add(format!("{OBJECTED}\"{said}\""), false);
        } else if has(&PREFERRING) {
            add(format!("{REJECTED}\"{said}\"{SAID_OF}{}", undone(request)), false);
        } else if has(&RESTORING) && !reports(sentence) && !leaves_open(sentence) {
            add(format!("{ORDERED}\"{said}\""), false);
        } else if has(&NOT_WANTED) {
            // A constraint is still there.
            if !is_constraint(sentence) {
                add(format!("{REJECTED}\"{said}\""), false);
            }
        } else if let Some(object) =
            removed(sentence, &words).filter(|_| !is_constraint(sentence) && !reports(sentence))
        {
            let known =
                known.get_or_insert_with(|| answer.take().map(|answer| subjects(&answer())).unwrap_or_default());
            if !subjects(&object).is_disjoint(known) {
                add(format!("{ORDERED}\"{said}\""), true);
            }
        }
    }
    found
}

/// What an order of a person removes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct RemovedObject {
    /// Beginnings of the words that name it.
    stems: Vec<String>,
    /// Its name in a language without spaces between words.
    name: String,
}

impl RemovedObject {
    /// Whether a decision is about it and does not only remove it itself.
    pub(super) fn is_in(&self, decision: &str) -> bool {
        let is_removal = || REMOVING.is_said(decision);
        let names = match self.stems.as_slice() {
            [] => decision.contains(&self.name),
            all => {
                let known = stems(decision);
                all.iter().all(|stem| known.contains(stem))
            }
        };
        names && !is_removal()
    }
}

/// Most words that name such an object. A longer order says which of several parts it means.
const MOST_NAMING: usize = 3;
/// Fewest characters of a name in a language without spaces between words.
const SHORTEST_NAME: usize = 2;

/// The object that a sentence orders to remove, if few words name it: `no, remove the border`.
pub(super) fn removed_object(sentence: &str) -> Option<RemovedObject> {
    if utf16_len(sentence) > LONGEST_SENTENCE || sentence.ends_with(['?', '\u{ff1f}', ':', '\u{ff1a}']) {
        return None;
    }
    let words = normalised(sentence);
    if CONDITIONS.starts(&words) {
        return None;
    }
    // In these languages, the object stands on one side of the verb.
    if let Some(verb) = REMOVING.pieces.iter().find(|verb| sentence.contains(**verb)) {
        let own = sentence.split(['\u{3001}', '\u{ff0c}', ',']).find(|clause| clause.contains(*verb))?;
        let (before, behind) = own.split_once(verb)?;
        let name = if verb.starts_with('\u{3092}') { before } else { behind };
        let name = name.trim_matches(|one: char| !one.is_alphanumeric());
        let is_name = name.chars().count() >= SHORTEST_NAME;
        return is_name.then(|| RemovedObject { stems: Vec::new(), name: name.to_owned() });
    }
    let stems = stems(&removed(sentence, &words)?);
    (1..=MOST_NAMING).contains(&stems.len()).then(|| RemovedObject { stems, name: String::new() })
}

/// The object that a short sentence orders to remove.
fn removed(sentence: &str, words: &str) -> Option<String> {
    let own = sentence.rsplit(", ").next().unwrap_or(sentence);
    let words = if own.len() < sentence.len() { normalised(own) } else { words.to_owned() };
    if REMOVING.starts(&words) {
        let (_, verb) = REMOVING.found_in(&words).next()?;
        let object = words.trim_start().strip_prefix(verb)?;
        // The first word of the object: `remove the border`, but not `delete button`.
        let first = object.split_whitespace().next()?;
        let is_told = DEFINITE.has(first) || !first.is_ascii() || !words.is_ascii() || !is_plain(own, verb);
        return (words.split_whitespace().count() <= MOST_WORDS && is_told).then(|| object.to_owned());
    }
    let verb = REMOVING.pieces.iter().find(|verb| own.contains(**verb))?;
    Some(own.replace(verb, " "))
}

/// Whether a word that consists of letters follows the verb.
fn is_plain(sentence: &str, verb: &str) -> bool {
    let behind = sentence.get(verb.len()..).unwrap_or_default().trim_start();
    let next = behind.split_whitespace().next().unwrap_or_default();
    next.trim_end_matches(['.', ',', '!', ';']).chars().all(char::is_alphabetic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(message: &str, answer: &str) -> Vec<String> {
        rejections(message, "build the cart", || answer.to_owned()).into_iter().map(|one| one.item).collect()
    }

    #[test]
    fn what_a_person_rejects_is_told() {
        let answer = "The cart has a border, a shadow and a counter now. Der Warenkorb hat einen Schatten. \
                      El carrito tiene una sombra. Le panier a une ombre. 购物车现在有阴影。カートにカウンターを付けました。";
        for (message, rejected) in [
            ("almost, but I liked the plain cart", "almost, but I liked the plain cart"),
            ("Hübsch. Das schlichte war besser", "Das schlichte war besser"),
            ("c'était mieux avant", "c'était mieux avant"),
            ("estaba mejor antes", "estaba mejor antes"),
            ("я не знаю, раньше было лучше", "я не знаю, раньше было лучше"),
            ("原来的好看", "原来的好看"),
            ("元の方がいいです", "元の方がいいです"),
        ] {
            let item = format!("{REJECTED}\"{rejected}\"{SAID_OF}build the cart");
            assert_eq!(found(message, answer), [item], "{message}");
        }
        for (message, rejected) in [
            ("let's not use shadows, but a thin line", "let's not use shadows, but a thin line"),
            ("ok. I don't like the big counter", "I don't like the big counter"),
            ("Der Schatten gefällt mir nicht", "Der Schatten gefällt mir nicht"),
            ("je n'aime pas cette ombre", "je n'aime pas cette ombre"),
            ("no me gusta la sombra del carrito", "no me gusta la sombra del carrito"),
            ("我不喜欢这个阴影", "我不喜欢这个阴影"),
        ] {
            assert_eq!(found(message, answer), [format!("{REJECTED}\"{rejected}\"")], "{message}");
        }
        for (message, ordered) in [
            ("remove the shadow and the counter", "remove the shadow and the counter"),
            ("looks good. remove the shadow", "remove the shadow"),
            ("ok, remove the counter", "ok, remove the counter"),
            ("remove \u{2713} from the counter", "remove \u{2713} from the counter"),
            ("entferne den Schatten", "entferne den Schatten"),
            ("quita la sombra", "quita la sombra"),
            ("去掉阴影", "去掉阴影"),
            ("カウンターを削除してください", "カウンターを削除してください"),
            ("get rid of the shadow", "get rid of the shadow"),
            ("supprime cette ombre", "supprime cette ombre"),
            ("deshazte de la sombra", "deshazte de la sombra"),
            ("put the title back to how it was before", "put the title back to how it was before"),
            ("bitte die Überschrift wieder zurücksetzen", "bitte die Überschrift wieder zurücksetzen"),
            ("remets le titre comme avant", "remets le titre comme avant"),
            ("vuelve a poner el título como estaba", "vuelve a poner el título como estaba"),
            ("верни заголовок как было", "верни заголовок как было"),
            ("标题改回原来的样子", "标题改回原来的样子"),
            ("タイトルを元に戻してください", "タイトルを元に戻してください"),
        ] {
            assert_eq!(found(message, answer), [format!("{ORDERED}\"{ordered}\"")], "{message}");
        }
        for (message, objected) in [
            ("this default violates Least Surprise", "this default violates Least Surprise"),
            ("das verstößt gegen unsere Regel", "das verstößt gegen unsere Regel"),
            ("eso va en contra de KISS", "eso va en contra de KISS"),
            ("这样违反单一职责", "这样违反单一职责"),
        ] {
            assert_eq!(found(message, answer), [format!("{OBJECTED}\"{objected}\"")], "{message}");
        }
    }

    #[test]
    fn other_words_reject_nothing() {
        let answer = "The cart has a border, a shadow and a counter now.";
        let none: [&str; 0] = [];
        for message in [
            "I liked it, go on",
            "should we remove the shadow?",
            "remove the old login from the server and port its tests to the new one, then deploy",
            "remove the footer",
            "yes, drop shadows",
            "yes, drop shadows.",
            "delete button does not work on the cart, the border is gone",
            "make the counter remove the border when it is empty",
            "delete it",
            "I don't want to lose rows",
            "if you don't like the shadow, say so",
            "does this violate the rule?",
            "do you like the old one better before we ship?",
            "never use shadows",
            "make it better",
            "is the title as it was before?",
            "the title is not as it was before, it crashes",
            "继续",
        ] {
            assert_eq!(found(message, answer), none, "{message}");
        }
    }

    #[test]
    fn an_order_to_remove_something_ends_the_decisions_for_it() {
        for (order, decision) in [
            ("remove the border", "The user: let's keep the border and invert its colour"),
            ("no, drop the sidebar", "**Kept the sidebar**: it shows the totals."),
            ("entferne den Rahmen", "The user: behalten wir den Rahmen in Grau"),
            ("supprime la bordure", "The user: on garde la bordure en gris"),
            ("quita el borde", "The user: dejemos el borde en gris"),
            ("убери рамку", "The user: давай оставим рамку серой"),
            ("枠線を削除してください", "The user: 枠線はグレーのままで"),
            ("请删除边框", "The user: 还是用灰色的边框"),
        ] {
            let object = removed_object(order);
            assert!(object.is_some_and(|object| object.is_in(decision)), "{order}");
        }
        for (order, decision) in [
            ("remove the border of the old table", "The user: let's keep the border"),
            ("remove the border", "The user ordered: \"remove the border of it\""),
            ("remove the border", "The user: let's keep the sidebar"),
        ] {
            let object = removed_object(order);
            assert!(!object.is_some_and(|object| object.is_in(decision)), "{order}");
        }
        assert_eq!(removed_object("shall I remove the border?"), None);
        assert_eq!(removed_object("if it is too wide, remove the border"), None);
    }
}
