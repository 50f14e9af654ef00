//! Retractions: sentences with which the model takes back what it said before, such as `my earlier check was wrong`.
//!
//! Only a sure link finds what they take back: quoted words of it, or most of its long words. A stale sentence does less
//! harm than a true one that is dropped.

use std::collections::HashSet;

use super::choices::stems;
use super::statements::{Part, sentences};
use super::text::{WordList, word_list};
use crate::text::utf16_len;

/// Phrases with which the model takes back what it said.
static ADMITTING: WordList = word_list!("retractions: admitting");
/// Words for what it said before, and phrases that this was wrong.
static EARLIER: WordList = word_list!("retractions: earlier");
static WRONG: WordList = word_list!("retractions: wrong");

/// Beginnings of messages with which a person denies what the model said.
static DENYING: WordList = word_list!("retractions: denying");

/// Most retractions of one message.
const MOST: usize = 4;
/// Sentences behind a retraction that say what is right.
const BEHIND: usize = 2;
/// Fewest long words that a sentence shares with its retraction, and fewest long words of a quote.
const FEWEST_SHARED: usize = 3;
const FEWEST_QUOTED: usize = 2;
/// Fewest and most bytes of a quote.
const QUOTE_BYTES: std::ops::RangeInclusive<usize> = 8..=120;
/// Fewest letters of a long word.
const LONG_WORD: usize = 4;
/// The marks around quotes.
const MARKS: [(char, char); 6] = [
    ('"', '"'),
    ('\u{201c}', '\u{201d}'),
    ('\u{201e}', '\u{201c}'),
    ('\u{ab}', '\u{bb}'),
    ('\u{300c}', '\u{300d}'),
    ('\u{300e}', '\u{300f}'),
];

/// Whether the model takes back in `sentence` what it said before.
pub(super) fn admits(sentence: &str) -> bool {
    !sentence.ends_with(['?', '\u{ff1f}']) && may_admit(sentence)
}

fn may_admit(text: &str) -> bool {
    ADMITTING.is_said(text) || EARLIER.is_said(text) && WRONG.is_said(text)
}

/// What a sentence takes back.
pub(super) struct Retraction {
    /// Words that it quotes, in lower case.
    quotes: Vec<String>,
    /// The long words of the sentence and of those behind it.
    stems: HashSet<String>,
}

/// The retractions in a message of the model.
pub(super) fn retractions(text: &str, parts: &[Part<'_>]) -> Vec<Retraction> {
    if !may_admit(text) {
        return Vec::new();
    }
    let told: Vec<&str> = parts.iter().flat_map(Part::sentences).collect();
    let own = (0..told.len()).filter(|at| admits(told[*at])).take(MOST);
    own.map(|at| Retraction::of(&told[at..told.len().min(at + 1 + BEHIND)])).collect()
}

impl Retraction {
    fn of(sentences: &[&str]) -> Self {
        let quotes = sentences.first().map(|first| quotes(first)).unwrap_or_default();
        Self { quotes, stems: sentences.iter().flat_map(|one| stems(one)).collect() }
    }

    /// Whether it surely takes back an earlier sentence of the model.
    pub(super) fn takes_back(&self, sentence: &str) -> bool {
        (self.quotes_words_of(sentence) || self.shares_most(sentence)) && !admits_first(sentence)
    }

    /// Whether it quotes a passage of an earlier text.
    pub(super) fn quotes_from(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        self.quotes.iter().any(|quote| is_telling(quote) && lower.contains(quote.as_str()))
    }

    /// Whether an earlier sentence has a long word that it quotes.
    pub(super) fn names_in(&self, sentence: &str) -> bool {
        let lower = sentence.to_lowercase();
        let mut names = self.quotes.iter().flat_map(|quote| long_words(quote));
        names.any(|name| name.is_ascii() && lower.contains(name))
    }

    fn quotes_words_of(&self, sentence: &str) -> bool {
        let lower = sentence.to_lowercase();
        let own: HashSet<&str> = words(&lower).collect();
        let has_all = |quote: &String| {
            let is_long = long_words(quote).nth(FEWEST_QUOTED - 1).is_some();
            is_long && words(quote).all(|word| own.contains(word))
                || is_telling(quote) && lower.contains(quote.as_str())
        };
        self.quotes.iter().any(has_all)
    }

    fn shares_most(&self, sentence: &str) -> bool {
        let own = stems(sentence);
        let shared = own.iter().filter(|stem| self.stems.contains(*stem)).count();
        shared >= FEWEST_SHARED && shared * 2 >= own.len()
    }
}

/// A message with which a person denies what the model said right before.
pub(super) struct Denial {
    names: Vec<String>,
    stems: HashSet<String>,
}

impl Denial {
    pub(super) fn of(message: &str) -> Option<Self> {
        if !DENYING.begins(message) || utf16_len(message) > LONGEST_DENIAL {
            return None;
        }
        let lower = message.to_lowercase();
        Some(Self { names: numbered(&lower).map(str::to_owned).collect(), stems: stems(message).into_iter().collect() })
    }

    /// Whether it denies a sentence: both have the same name with a digit, or several long words.
    pub(super) fn denies(&self, sentence: &str) -> bool {
        let lower = sentence.to_lowercase();
        let shared = stems(sentence).iter().filter(|stem| self.stems.contains(*stem)).count();
        numbered(&lower).any(|name| self.names.iter().any(|own| own == name)) || shared >= FEWEST_SHARED
    }
}

/// Longest such message, in UTF-16 units.
const LONGEST_DENIAL: usize = 300;

/// The words with a digit that are longer than one character.
fn numbered(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| word.len() > 1 && word.contains(|one: char| one.is_ascii_digit()))
}

/// Whether a sentence takes something back itself.
fn admits_first(sentence: &str) -> bool {
    sentences(sentence).next().is_some_and(admits)
}

/// Whether a quote of its length is found nowhere by chance.
fn is_telling(quote: &str) -> bool {
    quote.split_whitespace().nth(FEWEST_QUOTED).is_some()
        || quote.chars().filter(|one| !one.is_ascii()).count() > LONG_WORD
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|one: char| !one.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn long_words(text: &str) -> impl Iterator<Item = &str> {
    words(text).filter(|word| word.chars().count() >= LONG_WORD)
}

/// The words between quotation marks in a sentence, in lower case.
fn quotes(sentence: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = sentence;
    while let Some((at, mark)) = rest.char_indices().find(|(_, one)| MARKS.iter().any(|(open, _)| open == one)) {
        let inner = &rest[at + mark.len_utf8()..];
        let ends = |one: char| MARKS.iter().any(|(open, close)| *open == mark && *close == one);
        let Some(end) = inner.find(ends) else { break };
        if QUOTE_BYTES.contains(&end) {
            found.push(inner[..end].trim().to_lowercase());
        }
        rest = inner[end..].split_at(inner[end..].chars().next().map_or(0, char::len_utf8)).1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::statements::parts;

    fn found(text: &str) -> Vec<Retraction> {
        retractions(text, &parts(text).collect::<Vec<_>>())
    }

    #[test]
    fn what_the_model_takes_back_is_found_by_its_words() {
        for (earlier, retraction) in [
            ("The export has no rows without a price.", "I was wrong: there are rows without a price in the export."),
            (
                "Parser errors in the import: 0, all of them are gone.",
                "My earlier \"0 parser errors\" was based on a failed run.",
            ),
            ("Der Export schreibt keine leeren Zeilen.", "Ich lag falsch: der Export schreibt auch leere Zeilen."),
            ("Le serveur garde toutes les commandes.", "J'avais tort : le serveur ne garde pas toutes les commandes."),
            ("La tabla guarda todos los pedidos.", "Me equivoqué: la tabla no guarda todos los pedidos."),
            ("A tabela guarda todos os pedidos.", "Eu estava errado: a tabela não guarda todos os pedidos."),
            ("La tabella contiene tutti gli ordini.", "Mi sbagliavo: la tabella non contiene tutti gli ordini."),
            ("Таблица хранит все заказы клиента.", "Я ошибся: таблица хранит не все заказы клиента."),
            ("De tabel bewaart alle bestellingen.", "Ik had het mis: de tabel bewaart niet alle bestellingen."),
            ("网关：订单只写入主库", "我错了。之前说的“订单只写入主库”是错的。"),
            ("注文はすべて主DBに書かれます。", "先ほどの「注文はすべて主DBに書かれます」は誤りです。"),
            (
                "주문은 모두 기본 저장소에 기록됩니다",
                "제가 틀렸습니다. 이전 설명 \"주문은 모두 기본 저장소에 기록\"은 잘못되었습니다.",
            ),
        ] {
            assert!(found(retraction).iter().any(|one| one.takes_back(earlier)), "{earlier} | {retraction}");
        }
    }

    #[test]
    fn a_person_denies_what_has_the_same_name_or_words() {
        let told = "There is no order with the number 4711 in the store.";
        for message in [
            "that's not true, look at 4711 again",
            "das stimmt nicht, 4711 ist da",
            "no es cierto, 4711 está",
            "不对，4711 是有的",
            "that's wrong, the order has a number in the store",
        ] {
            assert!(Denial::of(message).is_some_and(|denial| denial.denies(told)), "{message}");
        }
        assert!(Denial::of("please look at 4711 again").is_none());
        assert!(!Denial::of("that's not true, look again").is_some_and(|denial| denial.denies(told)));
    }

    #[test]
    fn what_has_no_sure_link_stays() {
        let earlier = "The export has no rows without a price.";
        for text in [
            "I was wrong about the colour of the menu.",
            "The export now has rows without a price.",
            "Was my earlier count of rows without a price in the export wrong? I was not sure.",
            "My first change adds a test. It has a price.",
            "Sorry, my mistake. I fix the export now.",
        ] {
            assert!(!found(text).iter().any(|one| one.takes_back(earlier)), "{text}");
        }
        // A sentence that takes something back is not taken back by the next one.
        let admission = "I was wrong: the export has rows without a price.";
        assert!(!found("Correcting myself: the export has rows without a price.")[0].takes_back(admission));
    }
}
