//! Queries that are made from what was compacted away.

use std::collections::{HashMap, HashSet};

use compactd_tests::generate::random::Random;
use serde_json::Value;

use crate::session::{Evicted, Question, Subject};

/// Characters of a sentence from which a query is made.
const SENTENCE: std::ops::RangeInclusive<usize> = 40..=400;
/// Entries that hold a fact at most.
const RARE: usize = 2;
/// A word of a query stands in at most this share of the entries, in hundredths.
const COMMON_PERCENT: usize = 20;
const LETTERS: usize = 4;

/// What is asked, and what must come back.
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) goal: Goal,
}

pub(crate) enum Goal {
    /// A name or number that stands in what is given.
    Fact(String),
    /// Patterns of which one passage matches all, and others of which it matches none.
    Patterns(Question),
    /// Calls that change a file, of which one is enough: entries with the places of their content blocks.
    Changes(HashSet<(String, u64)>),
}

/// Questions about one file, in several languages.
const CHANGED: [&str; 6] = [
    "What did we change in {}?",
    "which edits were made to {}",
    "Was haben wir in {} geändert?",
    "qu'avons-nous changé dans {} ?",
    "o que mudamos em {}?",
    "{} で何を変更しましたか",
];

/// Up to `most` queries of which each has a fact and words of the sentence that it stands in.
pub(crate) fn facts(subject: &Subject, most: usize, random: &mut Random) -> Vec<Query> {
    let holders = holders(&subject.evicted);
    let common = subject.evicted.len() * COMMON_PERCENT / 100;
    let mut order: Vec<usize> = (0..subject.evicted.len()).collect();
    let mut asked = HashSet::new();
    let mut queries = Vec::new();
    // Several rounds over the entries, each in another order, so that all kinds of entries take part.
    for _ in 0..40 {
        random.shuffle(&mut order);
        for at in &order {
            if queries.len() == most {
                return queries;
            }
            let entry = &subject.evicted[*at];
            let sentences = sentences(entry);
            if sentences.is_empty() {
                continue;
            }
            let sentence = random.pick(&sentences);
            if let Some((fact, text)) = query_of(sentence, &holders, common, random)
                && asked.insert(fact.clone())
            {
                queries.push(Query { text, goal: Goal::Fact(fact) });
            }
        }
    }
    queries
}

/// The questions as they were written.
pub(crate) fn questions(subject: &Subject) -> Vec<Query> {
    let query = |question: &Question| Query { text: question.question.clone(), goal: Goal::Patterns(question.clone()) };
    subject.questions.iter().map(query).collect()
}

/// Up to `most` questions about the changes of files, by their names and by their paths.
pub(crate) fn changes(subject: &Subject, most: usize, random: &mut Random) -> Vec<Query> {
    let mut files: HashMap<String, HashSet<(String, u64)>> = HashMap::new();
    let mut order = Vec::new();
    for entry in &subject.evicted {
        let blocks = entry.json["message"]["content"].as_array().into_iter().flatten();
        for (at, call) in blocks.enumerate().filter(|(_, block)| block["type"] == "toolCall") {
            for file in changed(call) {
                if !files.contains_key(&file) {
                    order.push(file.clone());
                }
                files.entry(file).or_default().insert((entry.id.clone(), at as u64));
            }
        }
    }
    let mut queries = Vec::new();
    for file in order {
        let name = file.rsplit(['/', '\\']).next().unwrap_or(&file).to_owned();
        // Changes of all files of that name are answers, as the question does not tell them apart.
        let same = files.iter().filter(|(other, _)| other.rsplit(['/', '\\']).next() == Some(&name));
        let of_name: HashSet<(String, u64)> = same.flat_map(|(_, calls)| calls.iter().cloned()).collect();
        for (name, calls) in [(name, of_name), (file.clone(), files[&file].clone())] {
            let text = random.pick(&CHANGED).replace("{}", &name);
            queries.push(Query { text, goal: Goal::Changes(calls) });
        }
    }
    random.shuffle(&mut queries);
    queries.truncate(most);
    queries
}

/// Files that a call changes, by what the tools of the sessions at hand are called.
fn changed(call: &Value) -> Vec<String> {
    let arguments = &call["arguments"];
    let path = ["path", "file_path", "filename"].into_iter().find_map(|name| arguments[name].as_str());
    let is_change = match call["name"].as_str().unwrap_or_default() {
        "edit" | "Edit" | "Write" | "write" | "create" | "search_replace" | "insert" => true,
        "str_replace_editor" => arguments["command"] != "view",
        "shell" => {
            let script = arguments["command"].as_array().and_then(|command| command.last()).and_then(Value::as_str);
            let lines = script.filter(|script| script.contains("*** Begin Patch")).unwrap_or_default().lines();
            let heads = ["*** Update File: ", "*** Add File: "];
            return lines
                .filter_map(|line| heads.iter().find_map(|head| line.strip_prefix(head)))
                .map(str::to_owned)
                .collect();
        }
        _ => false,
    };
    path.filter(|_| is_change).map(str::to_owned).into_iter().collect()
}

/// Number of entries that hold each word.
fn holders(evicted: &[Evicted]) -> HashMap<String, usize> {
    let mut holders = HashMap::new();
    for entry in evicted {
        let words: HashSet<&str> = words(&entry.whole.text).collect();
        words.into_iter().for_each(|word| *holders.entry(word.to_lowercase()).or_default() += 1);
    }
    holders
}

/// What white space and the marks of sentences, quotes and brackets part; Chinese and Japanese are
/// parted where the kind of character changes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let ends = |character: char| {
        character.is_whitespace() || "\"'`()[]{}<>,;:!?…“”‘’«»|*=、。「」（）！？：・".contains(character)
    };
    text.split(ends)
        .flat_map(runs)
        .map(|word| word.trim_matches(|character: char| ".-/\\_#$&+~^%".contains(character)))
        .filter(|word| !word.is_empty())
}

fn runs(word: &str) -> Vec<&str> {
    let kind = |character: char| match character {
        '\u{3041}'..='\u{309f}' => 1,
        '\u{30a0}'..='\u{30ff}' => 2,
        '\u{4e00}'..='\u{9fff}' => 3,
        _ => 0,
    };
    let mut runs = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, character) in word.char_indices() {
        if last.is_some_and(|last| last != kind(character)) {
            runs.push(&word[start..at]);
            start = at;
        }
        last = Some(kind(character));
    }
    runs.push(&word[start..]);
    runs
}

/// Lines and sentences of an entry. Calls are read from their arguments, where lines are lines.
fn sentences(entry: &Evicted) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    match &entry.json["message"]["content"] {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(blocks) => blocks.iter().for_each(|block| match block["type"].as_str() {
            Some("text") => texts.extend(block["text"].as_str().map(str::to_owned)),
            Some("toolCall") => strings(&block["arguments"], &mut texts),
            _ => {}
        }),
        _ => {}
    }
    let lines = texts.iter().flat_map(|text| text.lines());
    let sentences =
        lines.flat_map(|line| line.split_inclusive(['。', '！', '？'])).flat_map(|line| line.split_inclusive(". "));
    sentences
        .map(str::trim)
        .filter(|sentence| SENTENCE.contains(&sentence.chars().count()))
        .map(str::to_owned)
        .collect()
}

fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| strings(item, texts)),
        Value::Object(members) => members.values().for_each(|value| strings(value, texts)),
        _ => {}
    }
}

/// A fact of a sentence, and three to six other words of it.
fn query_of(
    sentence: &str,
    holders: &HashMap<String, usize>,
    common: usize,
    random: &mut Random,
) -> Option<(String, String)> {
    let times = |word: &str| holders.get(&word.to_lowercase()).copied().unwrap_or_default();
    let words: Vec<&str> = words(sentence).collect();
    let is_fact = |word: &&str| is_name(word) && (1..=RARE).contains(&times(word));
    let facts: Vec<&str> = words.iter().copied().filter(is_fact).collect();
    if facts.is_empty() {
        return None;
    }
    let fact = *random.pick(&facts);
    let mut seen = HashSet::new();
    let is_other = |word: &&str| {
        let is_long = word.chars().count() >= if word.is_ascii() { LETTERS } else { 2 };
        let is_plain = word.chars().all(char::is_alphabetic)
            && !word.chars().all(|character| ('\u{3041}'..='\u{309f}').contains(&character));
        let lower = word.to_lowercase();
        is_long && is_plain && !fact.to_lowercase().contains(&lower) && times(word) <= common && seen.insert(lower)
    };
    let mut others: Vec<&str> = words.iter().copied().filter(is_other).collect();
    if others.len() < 3 {
        return None;
    }
    let wanted = random.between(3, 6).min(others.len());
    while others.len() > wanted {
        others.remove(random.below(others.len()));
    }
    Some((fact.to_owned(), others.join(" ")))
}

/// Whether a word is an identifier or a number by its form.
fn is_name(word: &str) -> bool {
    let is_long = word.len() >= 3 && word.chars().count() <= 60;
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let has_mark = word.contains(['_', '.', '/', '-']) && word.is_ascii();
    let has_hump = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(left, right)| left.is_ascii_lowercase() && right.is_ascii_uppercase());
    // A backslash is written twice in calls.
    is_long && (has_digit || has_mark || has_hump) && !word.contains('\\')
}
