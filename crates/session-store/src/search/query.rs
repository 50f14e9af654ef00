//! What is searched for, and the text of an entry that is searched.
//!
//! A query is a list of terms, all of which must occur, whatever their case, or a sentence that ranks.

use std::sync::Arc;

use compaction_core::entry::{Entry, EntryBody};
use compaction_core::json::Json;
use compaction_core::message::{Block, Body, Content, Message};
use compaction_core::recall::RecallQuery;
use memchr::memmem;

use crate::session::branch::one_line;

/// Characters of a preview at most, and how many of them come before the match.
const PREVIEW_CHARACTERS: usize = 120;
const LEADING_CHARACTERS: usize = 40;

/// A query: words and phrases that must all occur in one entry.
///
/// Letters match whatever their case, one character at a time, so that `STRASSE` does not match
/// `straße`.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    terms: Vec<Term>,
    /// What ranks entries, if not all terms must occur.
    question: Option<Arc<RecallQuery>>,
    /// The query as it was asked, if it has no phrase.
    words: Option<String>,
    /// Finds the escapes behind which any character can hide.
    escape: memmem::Finder<'static>,
}

/// Which terms occurred so far.
#[derive(Debug)]
pub(crate) struct Seen(Vec<bool>);

#[derive(Debug, Clone)]
struct Term {
    /// The term in the form in which texts are compared.
    folded: String,
    /// A part of it that stands in every JSON text that holds the term, unless it is escaped.
    needle: Option<Needle>,
}

impl SearchQuery {
    /// Reads words, which white space parts, and phrases, which begin with a double quote after white
    /// space and end with the next one or at the end. `None` if there is neither.
    pub fn parse(text: &str) -> Option<Self> {
        let mut terms = Vec::new();
        let mut has_phrase = false;
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let (term, after) = match rest.strip_prefix('"') {
                Some(phrase) => {
                    has_phrase = true;
                    phrase.split_once('"').unwrap_or((phrase, ""))
                }
                None => rest.split_once(char::is_whitespace).unwrap_or((rest, "")),
            };
            terms.extend((!term.trim().is_empty()).then(|| Term::new(term)));
            rest = after.trim_start();
        }
        let words = (!has_phrase).then(|| text.to_owned());
        (!terms.is_empty()).then(|| Self { terms, question: None, words, escape: memmem::Finder::new("\\u") })
    }

    /// The query that ranks entries by how much of it they hold, where no entry holds all. `None` for
    /// fewer than three words, and where a phrase must occur.
    pub fn loosened(&self) -> Option<Self> {
        let question = RecallQuery::parse(self.words.as_ref()?).filter(RecallQuery::is_sentence)?;
        let terms = question.significant_words().map(Term::new).collect();
        Some(Self { terms, question: Some(Arc::new(question)), words: None, escape: self.escape.clone() })
    }

    /// What ranks entries, if not all terms must occur.
    pub(super) fn question(&self) -> Option<&RecallQuery> {
        self.question.as_deref()
    }

    /// What has been seen of the terms, to begin with.
    pub(crate) fn seen(&self) -> Seen {
        Seen(vec![false; self.terms.len()])
    }

    /// Whether a session with a line of this JSON text is worth to be searched, after the lines that were
    /// `seen` before it: one entry may match, or, of a query that ranks, half of the words occur.
    pub(crate) fn is_worth_it(&self, json: &[u8], seen: &mut Seen) -> bool {
        if self.question.is_none() {
            return self.may_match(json);
        }
        for (term, is_seen) in self.terms.iter().zip(&mut seen.0) {
            *is_seen = *is_seen || term.needle.as_ref().is_none_or(|needle| needle.is_in(json));
        }
        let count = seen.0.iter().filter(|is_seen| **is_seen).count();
        2 * count >= seen.0.len() || self.escape.find(json).is_some()
    }

    /// Whether an entry with this JSON text may match. There is no match where this says no.
    pub(super) fn may_match(&self, json: &[u8]) -> bool {
        let is_plain = self.terms.iter().all(|term| term.needle.as_ref().is_none_or(|needle| needle.is_in(json)));
        is_plain || self.escape.find(json).is_some()
    }

    /// Whether all terms occur in `text`.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.first_match(&fold_text(text)).is_some()
    }

    /// The surroundings of the byte `at` in `text`, on one line.
    pub(super) fn preview_at(text: &str, at: usize) -> String {
        let start = text[..at].char_indices().rev().nth(LEADING_CHARACTERS - 1).map_or(0, |(offset, _)| offset);
        let shown = one_line(&text[start..], PREVIEW_CHARACTERS);
        if start > 0 { format!("…{shown}") } else { shown }
    }

    /// The surroundings of the first match in `text` on one line; `None` if it does not match.
    pub(super) fn preview(&self, text: &str) -> Option<String> {
        let folded = fold_text(text);
        // Folding keeps the number of characters, but not that of bytes.
        let at = folded[..self.first_match(&folded)?].chars().count();
        let start = at.saturating_sub(LEADING_CHARACTERS);
        let from = text.char_indices().nth(start).map_or(text.len(), |(offset, _)| offset);
        let shown = one_line(&text[from..], PREVIEW_CHARACTERS);
        Some(if start > 0 { format!("…{shown}") } else { shown })
    }

    /// Where in a folded text the first match of any term begins, if all terms occur.
    fn first_match(&self, folded: &str) -> Option<usize> {
        let places: Option<Vec<usize>> = self.terms.iter().map(|term| folded.find(&term.folded)).collect();
        places?.into_iter().min()
    }
}

impl Term {
    fn new(text: &str) -> Self {
        let folded: String = fold_text(text);
        let runs = folded.split(|character| !is_stored_plainly(character));
        let longest = runs.max_by_key(|run| run.len()).filter(|run| !run.is_empty());
        Self { needle: longest.map(Needle::new), folded }
    }
}

/// Whether a character stands for itself in JSON, but for the case of ASCII letters, unless it is
/// written as `\u` and digits. Letters beyond ASCII have cases of other bytes; of the scripts without
/// case only the large ones are told apart.
fn is_stored_plainly(character: char) -> bool {
    match character {
        '"' | '\\' | '/' | '\u{7f}' => false,
        ' '..='~' => true,
        '\u{3040}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => false,
    }
}

/// Finds bytes whatever the case of ASCII letters.
#[derive(Debug, Clone)]
struct Needle {
    bytes: Vec<u8>,
    /// Place of the byte that is likely the rarest.
    rare: usize,
}

/// What text and JSON are mostly made of, the commonest first.
const COMMON: &[u8] = b" \"etaoinsrlcdumpfhgybvw,:{}k0123._-()=;xqjz456789";

impl Needle {
    fn new(run: &str) -> Self {
        let bytes = run.as_bytes().to_vec();
        let rank = |byte: &u8| COMMON.iter().position(|common| common == byte).unwrap_or(COMMON.len());
        let rare = bytes.iter().enumerate().max_by_key(|(_, byte)| rank(byte)).map_or(0, |(at, _)| at);
        Self { bytes, rare }
    }

    fn is_in(&self, text: &[u8]) -> bool {
        let rare = self.bytes[self.rare];
        memchr::memchr2_iter(rare, rare.to_ascii_uppercase(), text).any(|at| self.is_at(text, at))
    }

    /// Whether the text holds the bytes with the rare one at `at`.
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let start = at.checked_sub(self.rare);
        let found = start.and_then(|start| text.get(start..start + self.bytes.len()));
        found.is_some_and(|found| found.eq_ignore_ascii_case(&self.bytes))
    }
}

/// What an entry says, its parts on lines of their own: texts and thinking, names and arguments of
/// tool calls, commands and their output, summaries. Empty for metadata and data of extensions.
///
/// Every part is text of the entry's JSON, decoded and otherwise unchanged, as the filter before it
/// looks at the JSON.
pub(super) fn text_of(entry: &Entry) -> String {
    let mut text = String::new();
    match entry.body() {
        EntryBody::Message(message) | EntryBody::CustomMessage(message) => add_message(&mut text, message),
        EntryBody::Compaction(compaction) => add(&mut text, &compaction.summary),
        EntryBody::BranchSummary(branch) => add(&mut text, &branch.summary),
        _ => {}
    }
    text
}

/// The text in the form in which texts are compared.
pub(super) fn fold_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(fold).collect() }
}

/// A character in lower case, if that is one character; characters beyond ASCII stay beyond it, so that
/// ASCII in a query is found by looking for ASCII.
pub(super) fn fold(character: char) -> char {
    let mut lower = character.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(folded), None) if character.is_ascii() || !folded.is_ascii() => folded,
        _ => character,
    }
}

fn add(text: &mut String, part: &str) {
    if !part.is_empty() {
        text.push_str(part);
        text.push('\n');
    }
}

fn add_message(text: &mut String, message: &Message) {
    match message.body() {
        Body::User { content } | Body::ToolResult { content, .. } | Body::Custom { content, .. } => {
            add_content(text, content);
        }
        Body::Assistant(assistant) => {
            assistant.content.iter().for_each(|block| add_block(text, block));
            add(text, assistant.error_message.as_deref().unwrap_or_default());
        }
        Body::BashExecution(execution) => {
            add(text, &execution.command);
            add(text, &execution.output);
        }
        Body::System(system) => {
            add_content(text, &system.content);
            system.sections.iter().for_each(|(_, section)| add(text, section.as_deref().unwrap_or_default()));
        }
        Body::CompactionSummary { summary, .. } | Body::BranchSummary { summary, .. } => add(text, summary),
        Body::Other { .. } => {}
    }
}

fn add_content(text: &mut String, content: &Content) {
    match content {
        Content::Text(part) => add(text, part),
        Content::Blocks(blocks) => blocks.iter().for_each(|block| add_block(text, block)),
    }
}

fn add_block(text: &mut String, block: &Block) {
    match block {
        Block::Text(part) | Block::Thinking(part) => add(text, part),
        Block::ToolCall(call) => {
            add(text, &call.name);
            call.arguments.iter().for_each(|arguments| add_value(text, arguments));
        }
        Block::Image | Block::Other => {}
    }
}

/// Names and texts; numbers can be written in more than one way, so that they are left out.
fn add_value(text: &mut String, value: &Json<'_>) {
    match value {
        Json::String(part) => add(text, part),
        Json::Array(items) => items.iter().for_each(|item| add_value(text, item)),
        Json::Object(members) => members.iter().for_each(|(name, value)| {
            add(text, name);
            add_value(text, value);
        }),
        Json::Deep(part) => add(text, part),
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
    }
}
