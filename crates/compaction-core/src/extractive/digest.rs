//! The digest: the most valuable statements, in order.

use super::Style;
use super::pool::short_id;
use crate::entry::EntryId;
use crate::ledger::selection::Selection;
use crate::ledger::{Ledger, Statement, Voice};
use crate::text::utf16_len;

/// UTF-16 units of an item after which a new one begins.
const LONGEST_ITEM: usize = 700;

/// The input of a digest.
pub(super) struct Digest<'a> {
    pub(super) ledger: &'a Ledger,
    /// UTF-16 units that it may take.
    pub(super) units: usize,
    pub(super) style: &'a Style<'a>,
}

/// An item under construction.
struct Item {
    label: &'static str,
    position: u64,
    text: String,
    entry: Option<EntryId>,
}

impl Digest<'_> {
    /// Its items. Statements that `told` already covers are repeated only if they add something.
    pub(super) fn items(&self, told: &[&str]) -> Vec<String> {
        let selection =
            Selection { units: self.units, half_life: (self.units / 2).max(1), focus: self.style.custom_instructions };
        let chosen = selection.choose(self.ledger, told);
        let mut items: Vec<Item> = Vec::new();
        for statement in chosen.into_iter().map(|index| &self.ledger.statements[index]) {
            match items.last_mut().filter(|last| last.takes(statement)) {
                Some(last) => last.push(statement),
                None => items.push(Item::of(statement)),
            }
        }
        items.into_iter().map(|item| item.finish(self.style.citations)).collect()
    }
}

impl Item {
    fn of(statement: &Statement) -> Self {
        let label = label(statement.voice);
        let text = format!("{label}{}", statement.text);
        Self { label, position: statement.position, text, entry: statement.sources.ids().first().cloned() }
    }

    /// Whether a statement continues the item. Each message of a person is an item of its own.
    fn takes(&self, statement: &Statement) -> bool {
        let is_own = statement.position == self.position || statement.voice != Voice::Person;
        is_own
            && label(statement.voice) == self.label
            && utf16_len(&self.text) + utf16_len(&statement.text) < LONGEST_ITEM
    }

    fn push(&mut self, statement: &Statement) {
        join(&mut self.text, &statement.text);
        self.position = statement.position;
    }

    fn finish(self, cites: bool) -> String {
        match self.entry.filter(|_| cites) {
            Some(id) => format!("{} [entry {}]", self.text, short_id(&id)),
            None => self.text,
        }
    }
}

/// The texts one behind the other.
pub(super) fn joined(texts: &[&str]) -> String {
    texts.iter().fold(String::new(), |mut all, text| {
        join(&mut all, text);
        all
    })
}

/// Adds a sentence, behind a semicolon if what is there does not end one.
fn join(text: &mut String, sentence: &str) {
    let ends = ['.', '!', '?', ':', ';', ',', '\u{3002}', '\u{ff01}', '\u{ff1f}', '\u{ff1a}', '\u{2026}'];
    if !text.is_empty() {
        text.push_str(if text.ends_with(ends) { " " } else { "; " });
    }
    text.push_str(sentence);
}

/// The label of an item of the speaker.
fn label(voice: Voice) -> &'static str {
    match voice {
        Voice::Person => "User: ",
        Voice::Report | Voice::Remark | Voice::Announcement => "Assistant: ",
        Voice::Action | Voice::Milestone => "Work: ",
        Voice::Quote => "Quoted: ",
        Voice::Summary => "Earlier: ",
    }
}
