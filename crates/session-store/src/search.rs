//! Search over all branches of a session, evicted entries included: queries, and the entries that match.

use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

use compaction_core::entry::{Entry, EntryBody, EntryId};
use compaction_core::json;
use compaction_core::json::Json;
use compaction_core::message::{Block, Body, Content, Message};
use compaction_core::recall::{PassageIndex, RecallQuery};
use memchr::memmem;

use crate::error::StoreError;
use crate::line::lossy;
use crate::log::Locator;
use crate::session::Session;
use crate::session::inspect::one_line;

/// A match of a search.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchHit {
    /// The id of its session.
    pub session_id: String,
    /// The locator of its session; `None` if it cannot be found again.
    pub locator: Option<Locator>,
    /// The entry's id.
    pub entry_id: EntryId,
    /// The stored type.
    pub kind_name: String,
    /// The stored role, for messages.
    pub role: Option<String>,
    /// The stored timestamp.
    pub timestamp: String,
    /// About 120 characters around the first match, on one line.
    pub preview: String,
    /// Whether the model does not get the entry at the leaf of its session: it was compacted or edited away, or is on
    /// another branch.
    pub is_evicted: bool,
    /// Its relevance, if the query is ranked. Scores compare only within one session.
    pub score: Option<f64>,
    /// The entry's time in epoch milliseconds.
    time: i64,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SearchHits {
    /// The hits, newest first, or best first if the query ranks.
    pub hits: Vec<SearchHit>,
    /// Whether there are more.
    pub is_truncated: bool,
}

impl SearchHits {
    /// Whether the search was complete and found nothing.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty() && !self.is_truncated
    }

    /// The newest, or best, `limit` hits of several searches. Equal hits keep their order.
    pub fn merge(parts: impl IntoIterator<Item = Self>, limit: usize) -> Self {
        let mut all = Self::default();
        for part in parts {
            all.is_truncated |= part.is_truncated;
            all.hits.extend(part.hits);
        }
        let score = |hit: &SearchHit| hit.score.unwrap_or_default();
        all.hits.sort_by(|a, b| score(b).total_cmp(&score(a)).then(b.time.cmp(&a.time)));
        all.is_truncated |= all.hits.len() > limit;
        all.hits.truncate(limit);
        all
    }
}

impl Session {
    /// The newest `limit` entries whose text matches `query`, by their timestamps, and equal ones by their position
    /// in the file; or the best ones if the query ranks. Reads the session once and holds one line at a time.
    /// A cancelled search ends soon, even while the index is built. It returns no hits and is marked truncated.
    ///
    /// Fails with `Io`.
    pub fn search(
        &self,
        query: &SearchQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        let found = self.search_on(query, limit, is_cancelled);
        if is_cancelled() {
            return Ok(SearchHits { is_truncated: true, ..SearchHits::default() });
        }
        found
    }

    fn search_on(
        &self,
        query: &SearchQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        if let Some(question) = query.question() {
            return self.search_ranked(question, limit, is_cancelled);
        }
        let mut newest = Newest::new(limit);
        let mut is_complete = true;
        let mut visit = |entry: &Entry| {
            if query.matches(&text_of(entry)) {
                newest.add(entry);
            }
        };
        let mut go_on = || {
            is_complete &= !is_cancelled();
            if is_complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        };
        if self.migrated_from().is_some() {
            self.index_unless(is_cancelled)?;
            self.for_each_entry(|entry| {
                entry.into_iter().for_each(&mut visit);
                go_on()
            })?;
        } else {
            let scanned = self.log.scan(0, &Cell::new(self.max_line), &mut |line| {
                candidate(query, line.bytes).filter(|_| !line.is_cut).iter().for_each(&mut visit);
                go_on()
            });
            scanned.map_err(|source| StoreError::io("read", self.log.locator(), source))?;
        }
        let (matches, is_truncated) = newest.finish();
        if !is_complete {
            return Ok(SearchHits::default());
        }
        Ok(SearchHits { hits: self.hits(query, matches, is_cancelled)?, is_truncated })
    }

    /// The `limit` entries that answer a question best.
    fn search_ranked(
        &self,
        question: &RecallQuery,
        limit: usize,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<SearchHits, StoreError> {
        let mut index = PassageIndex::new(question);
        let mut ids: Vec<EntryId> = Vec::new();
        let mut is_complete = true;
        self.index_unless(is_cancelled)?;
        self.for_each_entry(|entry| {
            if let Ok(entry) = entry {
                index.add_text(&text_of(entry));
                ids.push(entry.id().clone());
            }
            is_complete &= !is_cancelled();
            if is_complete { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        if !is_complete {
            return Ok(SearchHits::default());
        }
        // Of lines with the same id the last one counts.
        let last: HashMap<&EntryId, usize> = ids.iter().enumerate().map(|(at, id)| (id, at)).collect();
        let mut given = HashSet::new();
        let mut passages = index.rank();
        passages.retain(|passage| last[&ids[passage.document]] == passage.document && given.insert(passage.document));
        let is_truncated = passages.len() > limit;
        passages.truncate(limit);
        let context = if passages.is_empty() { HashSet::new() } else { self.context_ids()? };
        let mut hits = Vec::with_capacity(passages.len());
        for passage in passages {
            let entry = match self.entry(&ids[passage.document]) {
                Err(StoreError::EntryNotFound { .. } | StoreError::BrokenEntry { .. }) => continue,
                outcome => outcome?,
            };
            let text = text_of(&entry);
            // Another program may have replaced the line just now.
            let Some(at) = Some(passage.focus.start).filter(|at| text.is_char_boundary(*at)) else { continue };
            let preview = SearchQuery::preview_at(&text, at);
            hits.push(self.hit(&entry, &context, preview, Some(passage.score)));
        }
        Ok(SearchHits { hits, is_truncated })
    }

    fn hit(&self, entry: &Entry, context: &HashSet<EntryId>, preview: String, score: Option<f64>) -> SearchHit {
        SearchHit {
            session_id: self.header().id.clone(),
            locator: self.locator().cloned(),
            kind_name: entry.kind_name().to_owned(),
            role: entry.message().map(|message| message.role().to_owned()),
            timestamp: entry.timestamp().to_owned(),
            preview,
            is_evicted: !context.contains(entry.id()),
            score,
            time: time(entry),
            entry_id: entry.id().clone(),
        }
    }

    fn hits(
        &self,
        query: &SearchQuery,
        matches: Vec<Match>,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Vec<SearchHit>, StoreError> {
        if !matches.iter().all(|found| self.is_at_hand(&found.id)) {
            self.index_unless(is_cancelled)?;
        }
        let context = if matches.is_empty() { HashSet::new() } else { self.context_ids()? };
        let mut hits = Vec::with_capacity(matches.len());
        for found in matches {
            // A superseded or broken line is not a hit.
            let entry = match self.entry(&found.id) {
                Err(StoreError::EntryNotFound { .. } | StoreError::BrokenEntry { .. }) => continue,
                outcome => outcome?,
            };
            let Some(preview) = query.preview(&text_of(&entry)) else { continue };
            hits.push(self.hit(&entry, &context, preview, None));
        }
        Ok(hits)
    }

    /// The entries from which the model gets messages at the leaf.
    fn context_ids(&self) -> Result<HashSet<EntryId>, StoreError> {
        let projection = self.context(self.leaf_id())?.projection;
        let seen = projection.entries().iter().filter(|projected| !projected.messages.is_empty());
        Ok(seen.map(|projected| projected.entry.id().clone()).collect())
    }
}

/// The entry of a line, if it may match. Lines that are not entries are skipped; opening has reported them.
fn candidate(query: &SearchQuery, line: &[u8]) -> Option<Entry> {
    if !query.may_match(line) {
        return None;
    }
    let text = lossy(line);
    json::check_value_count(&text).ok()?;
    Entry::parse(text.trim_ascii()).ok()
}

#[cfg(test)]
mod tests;

/// An entry that matched.
#[derive(Debug, Clone)]
pub(super) struct Match {
    pub(super) id: EntryId,
    /// Epoch milliseconds; the minimum if the entry has no time.
    pub(super) time: i64,
    /// Its position among the matches of the file.
    order: usize,
}

/// Collects matches in file order.
#[derive(Debug)]
pub(super) struct Newest {
    limit: usize,
    found: Vec<Match>,
    count: usize,
    is_truncated: bool,
}

impl Newest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, found: Vec::new(), count: 0, is_truncated: false }
    }

    pub(super) fn add(&mut self, entry: &Entry) {
        self.found.push(Match { id: entry.id().clone(), time: time(entry), order: self.count });
        self.count += 1;
        if self.found.len() > self.limit.saturating_mul(2).saturating_add(64) {
            self.prune();
        }
    }

    /// The newest matches, and whether there were more.
    pub(super) fn finish(mut self) -> (Vec<Match>, bool) {
        self.prune();
        self.found.sort_unstable_by_key(newness);
        (self.found, self.is_truncated)
    }

    /// Of matches with the same id the last one counts.
    fn prune(&mut self) {
        let last: HashMap<EntryId, usize> = self.found.iter().map(|found| (found.id.clone(), found.order)).collect();
        self.found.retain(|found| last[&found.id] == found.order);
        self.found.sort_unstable_by_key(newness);
        self.is_truncated |= self.found.len() > self.limit;
        self.found.truncate(self.limit);
        self.found.sort_unstable_by_key(|found| found.order);
    }
}

/// Epoch milliseconds; the minimum if an entry has no time.
pub(super) fn time(entry: &Entry) -> i64 {
    entry.epoch_milliseconds().or_else(|| entry.message()?.timestamp()).unwrap_or(i64::MIN)
}

fn newness(found: &Match) -> Reverse<(i64, usize)> {
    Reverse((found.time, found.order))
}

/// Maximum characters of a preview, and how many of them come before the match.
const PREVIEW_CHARACTERS: usize = 120;
const LEADING_CHARACTERS: usize = 40;

/// A query: words and phrases that must all occur in one entry, or a sentence that ranks entries.
///
/// Case is ignored, one character at a time, so `STRASSE` does not match `straße`.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    terms: Vec<Term>,
    /// The question that ranks entries, if not all terms must occur.
    question: Option<Arc<RecallQuery>>,
    /// The text of the query, if it has no phrase.
    words: Option<String>,
    /// Finds escapes, which can hide any character.
    escape: memmem::Finder<'static>,
}

/// The terms that occurred so far.
#[derive(Debug)]
pub(crate) struct SeenTerms(Vec<bool>);

#[derive(Debug, Clone)]
struct Term {
    /// The term in folded form, in which texts are compared.
    folded: String,
    /// A part of the term that occurs in every JSON text with the term, unless it is escaped.
    needle: Option<Needle>,
}

impl SearchQuery {
    /// Parses words, separated by white space, and phrases. A phrase begins with a double quote after white space and
    /// ends with the next one or at the end. `None` if there is neither.
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

    /// The query that ranks entries by how many of its words they contain. `None` for fewer than three words, and if
    /// a phrase must occur.
    pub fn loosened(&self) -> Option<Self> {
        let question = RecallQuery::parse(self.words.as_ref()?).filter(RecallQuery::is_sentence)?;
        let terms = question.significant_words().map(Term::new).collect();
        Some(Self { terms, question: Some(Arc::new(question)), words: None, escape: self.escape.clone() })
    }

    /// The ranking query, if not all terms must occur.
    pub(super) fn question(&self) -> Option<&RecallQuery> {
        self.question.as_deref()
    }

    /// The state before the first line.
    pub(crate) fn seen(&self) -> SeenTerms {
        SeenTerms(vec![false; self.terms.len()])
    }

    /// Whether a session with this line is worth a search, after the lines in `seen`: one entry may match, or, if the
    /// query ranks, half of the words occur.
    pub(crate) fn is_worth_it(&self, json: &[u8], seen: &mut SeenTerms) -> bool {
        if self.question.is_none() {
            return self.may_match(json);
        }
        for (term, is_seen) in self.terms.iter().zip(&mut seen.0) {
            *is_seen = *is_seen || term.needle.as_ref().is_none_or(|needle| needle.is_in(json));
        }
        let count = seen.0.iter().filter(|is_seen| **is_seen).count();
        2 * count >= seen.0.len() || self.may_hide(json)
    }

    /// Whether an entry with this JSON text may match. If not, it does not match.
    pub(super) fn may_match(&self, json: &[u8]) -> bool {
        let is_plain = self.terms.iter().all(|term| term.needle.as_ref().is_none_or(|needle| needle.is_in(json)));
        is_plain || self.may_hide(json)
    }

    /// Whether an escape may hide a character of a term. Terms are not searched for in escapes of control characters,
    /// such as those that colour the output of commands.
    fn may_hide(&self, json: &[u8]) -> bool {
        let is_control = |at: usize| matches!(json.get(at + 2..at + 5), Some([b'0', b'0', b'0' | b'1']));
        self.escape.find_iter(json).any(|at| !is_control(at))
    }

    /// Whether all terms occur in `text`.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.first_match(&fold_text(text)).is_some()
    }

    /// The text around the byte `at` of `text`, on one line.
    pub(super) fn preview_at(text: &str, at: usize) -> String {
        let start = text[..at].char_indices().rev().nth(LEADING_CHARACTERS - 1).map_or(0, |(offset, _)| offset);
        let shown = one_line(&text[start..], PREVIEW_CHARACTERS);
        if start > 0 { format!("…{shown}") } else { shown }
    }

    /// The text around the first match in `text`, on one line; `None` if it does not match.
    pub(super) fn preview(&self, text: &str) -> Option<String> {
        let folded = fold_text(text);
        // Folding keeps the number of characters, but not that of bytes.
        let at = folded[..self.first_match(&folded)?].chars().count();
        let start = at.saturating_sub(LEADING_CHARACTERS);
        let from = text.char_indices().nth(start).map_or(text.len(), |(offset, _)| offset);
        let shown = one_line(&text[from..], PREVIEW_CHARACTERS);
        Some(if start > 0 { format!("…{shown}") } else { shown })
    }

    /// The offset of the first match of any term in a folded text, if all terms occur.
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

/// Whether JSON stores a character as itself, apart from the case of ASCII letters, unless it uses `\u`. The case of
/// other letters changes their bytes. Of the scripts without case, only the large ones are recognised.
fn is_stored_plainly(character: char) -> bool {
    match character {
        '"' | '\\' | '/' | '\u{7f}' => false,
        ' '..='~' => true,
        '\u{3040}'..='\u{a4cf}' | '\u{ac00}'..='\u{d7a3}' => true,
        _ => false,
    }
}

/// Finds bytes, ignoring the case of ASCII letters.
#[derive(Debug, Clone)]
struct Needle {
    bytes: Vec<u8>,
    /// Index of the byte that is probably the rarest.
    rare: usize,
}

/// The most common bytes of text and JSON, the commonest first.
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

    /// Whether the text contains the bytes, with the rare one at `at`.
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        let start = at.checked_sub(self.rare);
        let found = start.and_then(|start| text.get(start..start + self.bytes.len()));
        found.is_some_and(|found| found.eq_ignore_ascii_case(&self.bytes))
    }
}

/// The text of an entry, each part on its own line: texts and thinking, names and arguments of tool calls, commands
/// and their output, summaries. Empty for metadata and data of extensions.
///
/// Every part is decoded text of the entry's JSON and otherwise unchanged, because the filter before it searches the
/// JSON.
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

/// The text in folded form, in which texts are compared.
pub(super) fn fold_text(text: &str) -> String {
    if text.is_ascii() { text.to_ascii_lowercase() } else { text.chars().map(fold).collect() }
}

/// A character in lower case, if that is one character. A character beyond ASCII stays beyond ASCII, so that ASCII in
/// a query is found by a search for ASCII.
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

/// Names and texts. Numbers are left out, because they have several forms.
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
