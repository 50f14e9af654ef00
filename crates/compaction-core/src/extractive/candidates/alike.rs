//! Notes that say nearly the same.

use std::cmp::Reverse;
use std::collections::HashSet;

use crate::ledger::constraints::begins_with_use;
use crate::ledger::notes::{AGREED, OF_PERSON, REFUSED, answered_with, key};
use crate::ledger::selection::{Terms, terms};
use crate::ledger::{Note, NoteKind};

/// Fewest words of sentences that may differ in spelling.
const FEWEST_SPELLED: usize = 5;
/// Shortest word that may be misspelled, in letters.
const SHORTEST_SPELLED: usize = 5;
/// Most letters that differ.
const MOST_MISSPELLED: usize = 2;
/// Most notes of one kind that are nearly alike.
const MOST_ALIKE: usize = 2;
/// Percentage of the terms of the shorter of two such notes that the other one has.
const ALIKE_PERCENT: usize = 60;
/// Fewest common terms of such notes.
const FEWEST_ALIKE: usize = 3;

/// Of constraints and decisions with similar words: the older ones, which are listed only if there is room, and the
/// newest [`MOST_ALIKE`] of them, which were stated more than once.
pub(super) fn repeated(notes: &[Note]) -> (HashSet<*const Note>, HashSet<*const Note>) {
    let mut seen: Vec<(Terms, Spelled, usize, &Note)> = Vec::new();
    let (mut repeated, mut stressed) = (HashSet::new(), HashSet::new());
    let mut newest_first: Vec<&Note> = notes.iter().filter(|note| !note.is_withdrawn).collect();
    newest_first.retain(|note| matches!(note.kind, NoteKind::Constraint | NoteKind::Decision));
    newest_first.sort_by_key(|note| Reverse(note.position));
    for note in newest_first {
        let (terms, spelled) = (terms(&note.text), spelled(&note.text));
        let own = std::ptr::from_ref(note);
        if note.times > 1 {
            stressed.insert(own);
        }
        let is_known = |known: &Terms, other: &Spelled| are_alike(known, &terms) || are_spellings(other, &spelled);
        let alike = seen.iter_mut().find(|(known, other, _, one)| one.kind == note.kind && is_known(known, other));
        match alike {
            Some((_, other, count, newest)) if *count >= MOST_ALIKE || are_spellings(other, &spelled) => {
                stressed.insert(std::ptr::from_ref(*newest));
                repeated.insert(own);
            }
            Some((_, _, count, newest)) => {
                *count += 1;
                stressed.extend([own, std::ptr::from_ref(*newest)]);
            }
            None => seen.push((terms, spelled, 1, note)),
        }
    }
    (repeated, stressed)
}

/// The older of two decisions with the same words, of two short answers to the same question, or of two decisions of
/// the model with the same names and similar words.
pub(super) fn same_decisions(notes: &[Note]) -> HashSet<*const Note> {
    let mut seen: HashSet<String> = HashSet::new();
    let mut newest_first: Vec<&Note> = notes.iter().filter(|note| !note.is_withdrawn).collect();
    newest_first.retain(|note| note.kind == NoteKind::Decision);
    newest_first.sort_by_key(|note| Reverse(note.position));
    let subject = |note: &Note| {
        let agreed = note.text.strip_prefix(AGREED).or_else(|| note.text.strip_prefix(REFUSED));
        key(agreed.or_else(|| answered_with(&note.text).map(|(_, question)| question)).unwrap_or(&note.text))
    };
    // The model states the same choice twice: before its work and in its answer.
    let mut own: Vec<Terms> = Vec::new();
    let mut is_reworded = |note: &Note| {
        let terms = terms(&note.text);
        let is_known = own.iter().any(|known| !terms.names.is_empty() && are_alike(known, &terms));
        own.push(terms);
        is_known
    };
    let is_same = |note: &&&Note| !seen.insert(subject(note)) || !note.text.starts_with(OF_PERSON) && is_reworded(note);
    newest_first.iter().filter(is_same).map(|note| std::ptr::from_ref(*note)).collect()
}

/// Of demands to use the same thing, if there are [`MANY_USES`] of them or more: those whose words are all in the longest
/// one, and the longest one.
pub(super) fn same_uses(notes: &[Note]) -> (HashSet<*const Note>, HashSet<*const Note>) {
    let mut groups: Vec<(String, Vec<&Note>)> = Vec::new();
    let demands = notes.iter().filter(|note| note.kind == NoteKind::Constraint && !note.is_withdrawn);
    for note in demands.filter(|note| begins_with_use(&note.text)) {
        let Some(object) = used(&note.text) else { continue };
        let is_same = |known: &String| known.starts_with(&object) || object.starts_with(known.as_str());
        match groups.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, group)) => group.push(note),
            None => groups.push((object, vec![note])),
        }
    }
    let is_many = |group: &&(String, Vec<&Note>)| group.1.iter().map(|note| note.times).sum::<u64>() >= MANY_USES;
    let (mut others, mut longest) = (HashSet::new(), HashSet::new());
    for (_, group) in groups.iter().filter(is_many) {
        let told = group.iter().copied().max_by_key(|note| (note.text.len(), note.position));
        // Another word or number may want something else: `version 3.12`.
        let known = told.map(|note| words_of(&note.text)).unwrap_or_default();
        let is_in_it = |note: &&&Note| words_of(&note.text).is_subset(&known);
        let told = told.map(std::ptr::from_ref);
        longest.extend(told);
        let dropped = group.iter().filter(is_in_it).map(|note| std::ptr::from_ref(*note));
        others.extend(dropped.filter(|note| Some(*note) != told));
    }
    (others, longest)
}

/// Times from which the same wish is told once.
const MANY_USES: u64 = 3;
/// Fewest letters of what is used.
const SHORTEST_USED: usize = 8;

/// The words and numbers of a demand.
fn words_of(demand: &str) -> HashSet<String> {
    let words = demand.split_whitespace().map(|word| word.trim_matches(|one: char| !one.is_alphanumeric()));
    words.filter(|word| !word.is_empty()).map(str::to_lowercase).collect()
}

/// The letters of the two words behind the first one.
fn used(demand: &str) -> Option<String> {
    let words = demand.split_whitespace().skip(1).take(2);
    let letters: String =
        words.flat_map(str::chars).filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    (letters.chars().count() >= SHORTEST_USED).then_some(letters)
}

/// Whether two sentences have the same names and numbers, and one has [`ALIKE_PERCENT`] of the terms of the
/// other, but at least [`FEWEST_ALIKE`].
fn are_alike(one: &Terms, other: &Terms) -> bool {
    let shared = one.all.intersection(&other.all).count();
    let is_most = shared * 100 >= one.all.len().min(other.all.len()) * ALIKE_PERCENT;
    shared >= FEWEST_ALIKE && is_most && one.names == other.names
}

/// The words of a sentence as lower-case letters.
type Spelled = Vec<Vec<char>>;

fn spelled(text: &str) -> Spelled {
    let letters = |word: &str| word.chars().filter(|one| one.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    text.split_whitespace().map(letters).filter(|word: &Vec<char>| !word.is_empty()).collect()
}

/// Whether two sentences differ only in the spelling of one long word.
fn are_spellings(one: &Spelled, other: &Spelled) -> bool {
    if one.len() != other.len() || one.len() < FEWEST_SPELLED {
        return false;
    }
    let mut differing = one.iter().zip(other).filter(|(one, other)| one != other);
    let Some((one, other)) = differing.next().filter(|_| differing.next().is_none()) else { return false };
    let start = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let end = one.iter().rev().zip(other.iter().rev()).take_while(|(one, other)| one == other).count();
    let is_word = |word: &[char]| word.len() >= SHORTEST_SPELLED && word.iter().all(|one| one.is_alphabetic());
    let left = one.len().max(other.len()).saturating_sub(start + end);
    is_word(one) && is_word(other) && start >= 2 && left <= MOST_MISSPELLED
}

#[cfg(test)]
mod tests {
    use super::{are_spellings, spelled};

    #[test]
    fn sentences_differ_in_spelling_alone() {
        let are_spellings = |one, other| are_spellings(&spelled(one), &spelled(other));
        let one = "Sempre confira as opções antes de mudar a tela.";
        assert!(are_spellings(one, "sempre confira as opç~eos antes de mudar a tela"));
        assert!(are_spellings("never chnage the layout of the menu", "never change the layout of the menu"));
        for (one, other) in [
            ("do not touch file a of the menu", "do not touch file b of the menu"),
            ("never change the layout of menu 10012", "never change the layout of menu 10013"),
            ("always sort the menu by name", "never sort the menu by name"),
            ("always use spaces", "always use splaces"),
        ] {
            assert!(!are_spellings(one, other), "{one}");
        }
    }
}
