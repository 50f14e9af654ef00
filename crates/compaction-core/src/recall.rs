//! Recall: ranks passages of evicted entries by a question and selects those that fit.
//!
//! Entries are cut into passages of about 1,000 characters and ranked by BM25: rare words count more,
//! repeated occurrences less and less, and long passages need more of them. Statistics are collected
//! for one question at a time, so nothing is kept between questions and the work is proportional to the
//! text.

mod passages;
mod question;
mod words;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use question::Hit;

use crate::entry::Entry;
use crate::entry_text::{EntryText, PartKind};
use crate::message::{Block, ToolCall};
use crate::text::utf16_len;
use crate::tools::{FileAccess, FileTools, classify};

pub use passages::{Choice, Excerpt, PiecePosition, TextPart, choose, cut_to, read_from};
pub use question::RecallQuery;

/// How much further occurrences of a word add (BM25: k1).
const SATURATION: f64 = 1.2;
/// How much the length of a passage counts (BM25: b).
const LENGTH_WEIGHT: f64 = 0.75;
/// Bonus for a change of a file that the question names, in weights of that name.
const CHANGE: f64 = 3.0;
/// Part of its weight that the oldest passage loses against the newest.
const AGE: f64 = 0.15;
/// Maximum number of passages that are kept. The lightest ones are dropped.
const MOST_PASSAGES: usize = 8192;
/// Maximum bytes of the densest part of a passage.
const FOCUS: usize = 160;

/// Collects passages that answer a question, entry by entry.
#[derive(Debug)]
pub struct PassageIndex<'q> {
    query: &'q RecallQuery,
    documents: usize,
    /// Number of passages of all documents, and UTF-16 units of those that match.
    passages: usize,
    units: usize,
    answering: usize,
    /// Number of passages with each term.
    holders: Vec<u32>,
    found: Vec<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    document: usize,
    range: Range<usize>,
    units: usize,
    is_whole: bool,
    hits: Vec<Hit>,
    /// The term for a file that the passage changes.
    changes: Option<u16>,
    /// Hash of the text, to find duplicates.
    text: u64,
}

/// A passage that answers a question.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedPassage {
    /// Its document, counted from 0 in the order of addition.
    pub document: usize,
    /// Its byte range in the document's text.
    pub range: Range<usize>,
    /// Its UTF-16 units.
    pub units: usize,
    /// Whether it is the whole document.
    pub is_whole: bool,
    /// Byte range from its first to its last word of the question.
    pub matches: Range<usize>,
    /// Byte range of the densest part in the document's text.
    pub focus: Range<usize>,
    /// Its score, rounded to thousandths. Scores of different questions are not comparable.
    pub score: f64,
}

impl<'q> PassageIndex<'q> {
    /// An index for one question.
    pub fn new(query: &'q RecallQuery) -> Self {
        let holders = vec![0; query.weights.len()];
        Self { query, documents: 0, passages: 0, units: 0, answering: 0, holders, found: Vec::new() }
    }

    /// Adds an entry. Calls that change a file in the question, according to `tools` and the table of
    /// tools, rank higher.
    pub fn add_entry(&mut self, entry: &Entry, tools: &FileTools) {
        let whole = EntryText::of(entry);
        let mut parts: Vec<(usize, bool)> =
            whole.parts.iter().map(|part| (part.range.end + 1, part.kind == PartKind::ToolCall)).collect();
        if let Some(last) = parts.last_mut() {
            last.0 = whole.text.len();
        }
        let hits = self.hits(&whole.text, &parts);
        let changes = self.changes(entry, &whole, &hits, tools);
        self.add(&whole.text, &parts, &hits, &changes);
    }

    /// Adds a text with one part.
    pub fn add_text(&mut self, text: &str) {
        let parts = [(text.len(), false)];
        let hits = self.hits(text, &parts);
        self.add(text, &parts, &hits, &[]);
    }

    fn hits(&self, text: &str, parts: &[(usize, bool)]) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut start = 0;
        for (end, is_json) in parts {
            self.query.collect(text, start..*end, *is_json, &mut hits);
            start = *end;
        }
        hits.sort_by_key(|hit| hit.at);
        hits
    }

    /// The byte ranges of calls that change a file in the question, with the term for that file.
    fn changes(&self, entry: &Entry, whole: &EntryText, hits: &[Hit], tools: &FileTools) -> Vec<(Range<usize>, u16)> {
        let is_possible = !self.query.files.is_empty() && !hits.is_empty();
        let Some(assistant) = entry.message().filter(|_| is_possible).and_then(|message| message.as_assistant()) else {
            return Vec::new();
        };
        let calls = whole.parts.iter().filter(|part| part.kind == PartKind::ToolCall);
        let changes = calls.filter_map(|part| {
            // A call for the file contains words of its name.
            let first = hits.partition_point(|hit| hit.at < part.range.start);
            hits.get(first).filter(|hit| hit.at < part.range.end)?;
            let Block::ToolCall(call) = assistant.content.get(part.block?)? else { return None };
            let changed = changed_files(call, tools);
            let is_changed = |(name, _): &&(String, u16)| changed.iter().any(|file| are_of_one_file(name, file));
            let (_, term) = self.query.files.iter().find(is_changed)?;
            Some((part.range.clone(), *term))
        });
        changes.collect()
    }

    fn add(&mut self, text: &str, parts: &[(usize, bool)], hits: &[Hit], changes: &[(Range<usize>, u16)]) {
        let document = self.documents;
        self.documents += 1;
        if hits.is_empty() {
            self.passages += passages::estimate(text);
            return;
        }
        let mut from = 0;
        for range in passages::passages(text, parts) {
            self.passages += 1;
            from += hits[from..].partition_point(|hit| hit.at < range.start);
            let to = from + hits[from..].partition_point(|hit| hit.at < range.end);
            let inside = &hits[from..to];
            let is_in = |(call, _): &&(Range<usize>, u16)| call.start < range.end && range.start < call.end;
            let changes = changes.iter().find(is_in).map(|(_, term)| *term);
            if !inside.is_empty() || changes.is_some() {
                self.record(document, text, range, inside, changes);
            }
        }
    }

    fn record(&mut self, document: usize, text: &str, range: Range<usize>, hits: &[Hit], changes: Option<u16>) {
        let mut is_held = vec![false; self.holders.len()];
        hits.iter().for_each(|hit| is_held[usize::from(hit.term)] = true);
        self.holders.iter_mut().zip(is_held).for_each(|(holders, is_held)| *holders += u32::from(is_held));
        let units = utf16_len(&text[range.clone()]);
        self.units += units;
        self.answering += 1;
        let mut hasher = DefaultHasher::new();
        text[range.clone()].trim().hash(&mut hasher);
        let (is_whole, hits) = (range.len() == text.len(), hits.to_vec());
        self.found.push(Candidate { document, range, units, is_whole, hits, changes, text: hasher.finish() });
        if self.found.len() >= 2 * MOST_PASSAGES {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let rarity = self.rarity();
        let mut order: Vec<(f64, usize)> =
            self.found.iter().enumerate().map(|(at, found)| (self.score(found, &rarity), at)).collect();
        order.sort_unstable_by(|(a, at_a), (b, at_b)| b.total_cmp(a).then(at_b.cmp(at_a)));
        let kept: HashSet<usize> = order.into_iter().take(MOST_PASSAGES).map(|(_, at)| at).collect();
        let mut at = 0;
        self.found.retain(|_| {
            at += 1;
            kept.contains(&(at - 1))
        });
    }

    /// The weight of each term by its rarity.
    fn rarity(&self) -> Vec<f64> {
        let total = self.passages as f64;
        let weigh = |(holders, weight): (&u32, &f64)| {
            let holders = f64::from(*holders);
            weight * (1.0 + (total - holders + 0.5) / (holders + 0.5)).ln()
        };
        self.holders.iter().zip(&self.query.weights).map(weigh).collect()
    }

    fn score(&self, found: &Candidate, rarity: &[f64]) -> f64 {
        let average = self.units as f64 / self.answering.max(1) as f64;
        let length = 1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * found.units as f64 / average.max(1.0);
        let mut counts = vec![0.0; rarity.len()];
        found.hits.iter().for_each(|hit| counts[usize::from(hit.term)] += f64::from(hit.strength) / 100.0);
        let weighed = counts.iter().zip(rarity).map(|(count, rarity)| {
            let weight = count * (SATURATION + 1.0) / (count + SATURATION * length);
            rarity * weight
        });
        let change = found.changes.map_or(0.0, |term| CHANGE * rarity[usize::from(term)].max(1.0));
        let age = (self.documents - found.document) as f64 / self.documents.max(1) as f64;
        ((weighed.sum::<f64>() + change) * (1.0 - AGE * age) * 1000.0).round() / 1000.0
    }

    /// The passages, best first, newer ones before older ones with the same score. Of equal texts only
    /// the best is kept.
    pub fn rank(self) -> Vec<RankedPassage> {
        let rarity = self.rarity();
        let mut scored: Vec<(f64, &Candidate)> =
            self.found.iter().map(|found| (self.score(found, &rarity), found)).collect();
        scored.sort_by(|(a, found_a), (b, found_b)| {
            let newness = |found: &Candidate| (found.document, std::cmp::Reverse(found.range.start));
            b.total_cmp(a).then(newness(found_b).cmp(&newness(found_a)))
        });
        let mut seen = HashSet::new();
        let ranked =
            scored.into_iter().filter(|(_, found)| seen.insert(found.text)).map(|(score, found)| RankedPassage {
                document: found.document,
                range: found.range.clone(),
                units: found.units,
                is_whole: found.is_whole,
                matches: matches(found),
                focus: focus(found, &rarity),
                score,
            });
        ranked.collect()
    }
}

fn end(hit: &Hit) -> usize {
    hit.at + usize::from(hit.length)
}

fn matches(found: &Candidate) -> Range<usize> {
    let start = found.hits.first().map_or(found.range.start, |hit| hit.at);
    start..found.hits.iter().map(end).max().unwrap_or(start)
}

/// The byte range with the most terms of the question within a short distance.
fn focus(found: &Candidate, rarity: &[f64]) -> Range<usize> {
    let mut best = (0.0, found.range.start..found.range.start);
    let mut first = 0;
    for (last, hit) in found.hits.iter().enumerate() {
        while end(hit).saturating_sub(found.hits[first].at) > FOCUS && first < last {
            first += 1;
        }
        let window = &found.hits[first..=last];
        let mut terms: Vec<u16> = window.iter().map(|hit| hit.term).collect();
        terms.sort_unstable();
        terms.dedup();
        let weight: f64 = terms.iter().map(|term| rarity[usize::from(*term)]).sum();
        if weight > best.0 {
            let ends = window.iter().map(end).max().unwrap_or_default();
            best = (weight, window[0].at..ends.min(found.range.end));
        }
    }
    best.1
}

/// The paths that `call` writes, edits, deletes or moves, as it spells them.
fn changed_files(call: &ToolCall, tools: &FileTools) -> Vec<String> {
    let action = classify(call, tools);
    let changed = action.files().iter().filter(|file| file.access != FileAccess::Read);
    changed.map(|file| file.path.clone()).collect()
}

/// Whether two names may be the same file: the segments of the shorter are a suffix of the longer.
fn are_of_one_file(left: &str, right: &str) -> bool {
    let segments = |path: &str| -> Vec<String> {
        path.split(['/', '\\']).filter(|part| !part.is_empty() && *part != ".").map(str::to_lowercase).collect()
    };
    let (left, right) = (segments(left), segments(right));
    !left.is_empty() && !right.is_empty() && (left.ends_with(&right) || right.ends_with(&left))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::tokens::estimate_text;
    use proptest::prelude::*;

    fn ranked(question: &str, texts: &[&str]) -> Vec<RankedPassage> {
        let query = RecallQuery::parse(question).expect("it has words");
        let mut index = PassageIndex::new(&query);
        texts.iter().for_each(|text| index.add_text(text));
        index.rank()
    }

    /// The texts that answer, best first.
    #[track_caller]
    fn check(question: &str, texts: &[&str], best_first: &[&str]) {
        let found: Vec<&str> = ranked(question, texts).iter().map(|passage| texts[passage.document]).collect();
        assert_eq!(found, best_first, "{question}");
    }

    #[test]
    fn rare_words_count_more_and_equal_answers_go_by_age() {
        check(
            "parser deadline",
            &["parser parser", "a parser", "a deadline", "nothing"],
            &["a deadline", "parser parser", "a parser"],
        );
        check("parser", &["parser one", "parser two", "PARSER six"], &["PARSER six", "parser two", "parser one"]);
        check(
            "parser",
            &["a long text in which the parser has its place", "parser"],
            &["parser", "a long text in which the parser has its place"],
        );
        check("parser", &["the parser", "other", "the parser"], &["the parser"]);
    }

    #[test]
    fn words_that_carry_nothing_do_not_count() {
        check("What is the deadline?", &["what is the what", "deadline"], &["deadline"]);
        check("Was ist die Frist?", &["was ist die", "eine Frist"], &["eine Frist"]);
        check("what is it", &["it is what", "other"], &["it is what"]);
    }

    #[test]
    fn identifiers_match_whole_and_by_their_parts() {
        check(
            "src/foo/bar.rs?",
            &["foo foo foo", "see src/foo/bar.rs", "see src/foo/bar.rsx"],
            &["see src/foo/bar.rs", "see src/foo/bar.rsx", "foo foo foo"],
        );
        check(
            "bar.rs",
            &["in /home/x/bar.rs:12", r#"{"path":"C:\\x\\bar.rs"}"#, "rsbar"],
            &["in /home/x/bar.rs:12", r#"{"path":"C:\\x\\bar.rs"}"#],
        );
        check("C:\\x\\bar.rs", &["bar x", r#"{"path":"c:\\x\\bar.rs"}"#], &[r#"{"path":"c:\\x\\bar.rs"}"#, "bar x"]);
        check("FOO_BAR", &["foo_bar = 1", "foo bar", "XFOO_BARS"], &["foo_bar = 1", "foo bar", "XFOO_BARS"]);
        check("readFile", &["a readfile call", "read file", "file"], &["a readfile call", "read file", "file"]);
        check("read file", &["readFile", "nothing"], &["readFile"]);
        check("0.87.1", &["0.87.2", "at 0.87.1."], &["at 0.87.1.", "0.87.2"]);
        check("--force", &["git push --force", "by force", "fforce"], &["git push --force", "by force"]);
    }

    #[test]
    fn forms_of_words_are_found() {
        check("entries", &["one entry", "entrance"], &["one entry"]);
        check("change", &["changed", "changes", "chance"], &["changes", "changed"]);
        check("IDs", &["the id", "idea"], &["the id"]);
        check("Прочитать файлы", &["прочитал файл", "писать"], &["прочитал файл"]);
    }

    #[test]
    fn scripts_without_spaces_are_parted() {
        check(
            "設定ファイルの場所は？",
            &["設定ファイルは docs にあります。", "これは別の話です。", "ファイルを読む"],
            &["設定ファイルは docs にあります。", "ファイルを読む"],
        );
        check("提交信息", &["提交的信息", "没有"], &["提交的信息"]);
        check("木", &["一本の木", "林"], &["一本の木"]);
    }

    #[test]
    fn what_is_no_question() {
        for text in ["", "  ", "\"\" ?", "...", "—"] {
            assert!(RecallQuery::parse(text).is_none(), "{text}");
        }
    }

    fn message(id: &str, content: &str) -> Entry {
        Entry::parse(&format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"","message":{{"role":"assistant","content":[{content}]}}}}"#
        ))
        .expect("the entry is made here")
    }

    #[test]
    fn a_question_that_names_a_file_finds_its_changes_first() {
        let call = |name: &str, arguments: &str| {
            format!(r#"{{"type":"toolCall","id":"c","name":"{name}","arguments":{arguments}}}"#)
        };
        let entries = [
            message("a", &call("edit", r#"{"path":"src/net/retry.rs","oldText":"limit","newText":"most"}"#)),
            message("b", &call("edit", r#"{"path":"src/net/other.rs","oldText":"limit","newText":"most"}"#)),
            message("c", r#"{"type":"text","text":"What we change in retry.rs, retry.rs: retry.rs"}"#),
            message("d", &call("read", r#"{"path":"src/net/retry.rs"}"#)),
        ];
        let query = RecallQuery::parse("What did we change in retry.rs?").expect("it has words");
        let mut index = PassageIndex::new(&query);
        entries.iter().for_each(|entry| index.add_entry(entry, &FileTools::default()));
        let found: Vec<usize> = index.rank().iter().map(|passage| passage.document).collect();
        assert_eq!(found[..2], [0, 2]);
    }

    /// The excerpts of `texts` that fit.
    fn excerpts(question: &str, texts: &[&str], max_tokens: u64) -> Vec<Excerpt> {
        let whole = |text: &str| {
            let part = crate::entry_text::Part { kind: PartKind::Text, block: None, range: 0..text.len() };
            EntryText { text: text.to_owned(), parts: vec![part] }
        };
        let (choices, _) = choose(&ranked(question, texts), max_tokens);
        choices.iter().map(|choice| choice.excerpt(&whole(texts[choice.document]))).collect()
    }

    fn long_text() -> String {
        let lines = (0..400).map(|line| format!("Line {line} says little.\n"));
        lines.collect::<String>().replace("Line 200 says little.", "Line 200: the needle is E4711.")
    }

    #[test]
    fn a_long_text_gives_what_is_around_the_match() {
        let text = long_text();
        let found = excerpts("needle", &[&text], 2000);
        let [excerpt] = &found[..] else { panic!("{found:?}") };
        assert!(excerpt.text.starts_with("[…]\nLine ") && excerpt.text.ends_with("\n[…]\n"), "{}", excerpt.text);
        assert!(excerpt.text.contains("Line 200: the needle is E4711.\n") && excerpt.is_partial);
        assert!(excerpt.text.len() < 1050);
        let [place] = &excerpt.places[..] else { panic!("{:?}", excerpt.places) };
        let shown: Vec<u16> = excerpt.text.encode_utf16().collect();
        let shown = String::from_utf16_lossy(&shown[place.offset..place.offset + place.range.len()]);
        assert_eq!(text[place.range.clone()], shown);
    }

    #[test]
    fn neighbours_are_one_piece_and_others_are_parted() {
        let far = format!("alpha {}omega", "filler words. ".repeat(300));
        let found = excerpts("alpha omega", &[&far], 2000);
        assert_eq!(found[0].places.len(), 2);
        assert_eq!(found[0].text.matches("[…]").count(), 1);
        let near: String = (0..100).map(|number| format!("word {number} alpha omega. ")).collect();
        let found = excerpts("alpha omega", &[&near], 2000);
        assert_eq!((found[0].places.len(), found[0].text.as_str(), found[0].is_partial), (1, near.as_str(), false));
    }

    #[test]
    fn little_room_is_filled_around_the_match() {
        let text = long_text();
        let found = excerpts("needle", &[&text], 20);
        assert!(found[0].text.contains("the needle is"), "{}", found[0].text);
        assert!(estimate_text(&found[0].text) <= 20);
        assert_eq!(excerpts("needle", &[&text], 3)[0].text.len(), 12);
        assert!(excerpts("needle", &[&text], 3)[0].text.contains("needle"));
    }

    #[test]
    fn a_text_is_cut_in_its_middle() {
        let text = "abcdefghij".repeat(40);
        assert_eq!(cut_to(&text, 100), None);
        let cut = cut_to(&text, 20).expect("it does not fit");
        assert_eq!(cut, "abcdefghijabcdefghijabcde\n[… 351 characters left out …]\nghijabcdefghijabcdefghij");
        assert_eq!(cut_to(&text, 2).as_deref(), Some("abcdefgh"));
    }

    proptest! {
        #[test]
        fn a_cut_text_fits(text in "[a-c\u{e9}\u{1f600}]{0,200}", tokens in 1u64..40) {
            match cut_to(&text, tokens) {
                None => prop_assert!(estimate_text(&text) <= tokens),
                Some(cut) => {
                    prop_assert!(estimate_text(&text) > tokens && estimate_text(&cut) <= tokens);
                    prop_assert!(!cut.is_empty());
                }
            }
        }

    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn excerpts_fit_and_stand_where_they_say(
            texts in proptest::collection::vec("((ab|cd|[x-z]{1,8}|日本|é😀)[ \n.]{1,2}){0,400}", 1..5),
            tokens in 1u64..900,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let found = ranked("ab cd 日本", &texts);
            prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
            let (choices, omitted) = choose(&found, tokens);
            let documents: HashSet<usize> = found.iter().map(|passage| passage.document).collect();
            prop_assert_eq!(choices.len() + omitted, documents.len());
            prop_assert_eq!(choices.is_empty(), found.is_empty());
            let mut sum = 0;
            for (choice, excerpt) in choices.iter().zip(excerpts("ab cd 日本", &texts, tokens)) {
                sum += estimate_text(&excerpt.text);
                let units: Vec<u16> = texts[choice.document].encode_utf16().collect();
                let shown: Vec<u16> = excerpt.text.encode_utf16().collect();
                prop_assert!(!excerpt.places.is_empty());
                for place in &excerpt.places {
                    let piece = &units[place.range.clone()];
                    prop_assert_eq!(piece, &shown[place.offset..place.offset + piece.len()]);
                }
            }
            prop_assert!(sum <= tokens, "{sum} of {tokens}");
        }

        #[test]
        fn what_a_plain_reading_finds_is_found(texts in proptest::collection::vec("([abcd]{1,5}[ ./_]){0,60}", 1..6), word in "[abcd]{2,5}") {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let Some(query) = RecallQuery::parse(&word) else { return Ok(()) };
            let mut index = PassageIndex::new(&query);
            texts.iter().for_each(|text| index.add_text(text));
            let found: HashSet<&str> = index.rank().iter().map(|passage| texts[passage.document].trim()).collect();
            for text in &texts {
                let holds = text.split([' ', '.', '/', '_']).any(|other| other == word);
                prop_assert!(!holds || found.contains(text.trim()), "{word} in {text}");
            }
        }
    }

    #[track_caller]
    fn check_changes(name: &str, arguments: &str, expected: &[&str]) {
        let arguments = Json::parse(arguments).expect("it is JSON").into_owned();
        let call = ToolCall::new("c".to_owned(), name.to_owned(), Some(arguments));
        assert_eq!(changed_files(&call, &FileTools::default()), expected, "{name}");
    }

    #[test]
    fn calls_that_change_files() {
        check_changes("edit", r#"{"path":"src/a.rs"}"#, &["src/a.rs"]);
        check_changes("Write", r#"{"file_path":"/p/a.rs","content":"x"}"#, &["/p/a.rs"]);
        check_changes("search_replace", r#"{"file_path":"a.py","old_string":"x"}"#, &["a.py"]);
        check_changes("str_replace_editor", r#"{"command":"str_replace","path":"/p/a.py"}"#, &["/p/a.py"]);
        check_changes("str_replace_editor", r#"{"command":"view","path":"/p/a.py"}"#, &[]);
        check_changes("read", r#"{"path":"src/a.rs"}"#, &[]);
        check_changes("todo_write", r#"{"path":"a"}"#, &[]);
        check_changes(
            "shell",
            r#"{"command":["bash","-lc","apply_patch <<'P'\n*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: b.md\n+x"]}"#,
            &["src/a.ts", "b.md"],
        );
    }

    #[test]
    fn names_of_one_file() {
        assert!(are_of_one_file("recall.rs", "/p/src/recall.rs") && are_of_one_file("C:\\p\\A.cs", "p/a.cs"));
        assert!(!are_of_one_file("recall.rs", "src/xrecall.rs") && !are_of_one_file("a/b.rs", "c/b.rs"));
        assert!(!are_of_one_file("", "a"));
    }
}
