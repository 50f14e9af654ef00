//! Which messages of a person ask for work, and which begin a topic.

use std::collections::HashSet;

use super::RequestWeight;
use super::constraints::is_constraint;
use super::cues::is_trivial;
use super::sentences::sentences;
use super::text::{has_any, normalised, starts_with_any};
use crate::text::prefix_utf16;

/// Fewest words of a message that asks for work.
const FEWEST_WORDS: usize = 4;
/// Fewest words of a message that begins a topic.
const TELLING_WORDS: usize = 6;
/// Words from which a message is substantial, no matter how it begins.
const MANY_WORDS: usize = 24;
/// Fewest bytes of a word that identifies a topic.
const SHORTEST_TOPIC_WORD: usize = 4;
/// Leading UTF-16 units of a message that are searched for its topic.
const TOPIC_UNITS: usize = 600;
/// Beginnings of messages that report, confirm or refuse.
const REPLIES: &[&str] = &[
    "i",
    "i've",
    "i'm",
    "we",
    "we've",
    "it",
    "it's",
    "that",
    "that's",
    "this",
    "they",
    "ok",
    "okay",
    "yes",
    "yeah",
    "yep",
    "no",
    "nope",
    "nah",
    "good",
    "great",
    "nice",
    "fine",
    "cool",
    "perfect",
    "thanks",
    "hm",
    "hmm",
    "ah",
    "oh",
    "well",
    "looks",
    "works",
    "sounds",
    "correct",
    "right",
    "exactly",
    "all",
    "still",
    "sorry",
    "never mind",
];
/// Words that ask, in any position.
const ASKING: &[&str] = &[
    "please",
    "can you",
    "could you",
    "can we",
    "could we",
    "should",
    "need",
    "needs",
    "want",
    "would like",
    "i'd like",
    "let's",
    "must",
    "how",
    "why",
    "what",
    "make sure",
    "instead",
    "try to",
];
/// Verbs in the form in which they ask for work.
const WORK: &[&str] = &[
    "add",
    "analyse",
    "analyze",
    "apply",
    "build",
    "change",
    "check",
    "clean",
    "commit",
    "configure",
    "convert",
    "copy",
    "create",
    "debug",
    "delete",
    "deploy",
    "document",
    "draft",
    "explain",
    "extend",
    "extract",
    "find",
    "fix",
    "generate",
    "implement",
    "improve",
    "install",
    "integrate",
    "investigate",
    "list",
    "make",
    "measure",
    "merge",
    "migrate",
    "move",
    "optimise",
    "optimize",
    "plan",
    "port",
    "publish",
    "read",
    "refactor",
    "release",
    "remove",
    "rename",
    "replace",
    "report",
    "research",
    "restore",
    "revert",
    "review",
    "rewrite",
    "run",
    "search",
    "set up",
    "show",
    "simplify",
    "split",
    "summarise",
    "summarize",
    "support",
    "test",
    "translate",
    "undo",
    "update",
    "upgrade",
    "use",
    "verify",
    "write",
];
/// Long words that identify no topic.
const COMMON: &[&str] = &[
    "about", "after", "again", "also", "because", "been", "before", "could", "does", "doesn", "don't", "from", "have",
    "here", "into", "just", "like", "look", "make", "more", "need", "only", "other", "please", "should", "some",
    "sure", "than", "that", "that's", "their", "them", "then", "there", "these", "they", "think", "this", "those",
    "well", "were", "what", "when", "where", "which", "will", "with", "would", "your",
];

/// The topics of the requests so far.
#[derive(Debug, Default, Clone)]
pub(super) struct Topics {
    /// Words of the topic of the newest request.
    topic: HashSet<String>,
}

impl Topics {
    /// The role of a person's message in the conversation.
    pub(super) fn weigh(&mut self, text: &str) -> RequestWeight {
        if !asks_for_work(text) {
            return RequestWeight::Reply;
        }
        let words = topic_words(text);
        let is_telling = weight(&normalised(prefix_utf16(text, TOPIC_UNITS))) >= TELLING_WORDS;
        let begins_topic = is_telling && !words.is_empty() && words.is_disjoint(&self.topic);
        if begins_topic {
            self.topic.clear();
        }
        self.topic.extend(words);
        if begins_topic { RequestWeight::Topic } else { RequestWeight::Work }
    }
}

/// Whether a message asks for something: it is neither a fragment nor an answer to the model.
fn asks_for_work(text: &str) -> bool {
    if is_trivial(text) {
        return false;
    }
    let words = normalised(prefix_utf16(text, TOPIC_UNITS));
    let count = weight(&words);
    let replies = starts_with_any(&words, REPLIES);
    let asks = || text.contains('?') || has_any(&words, ASKING) || has_any(&words, WORK);
    // Constraints have a section of their own.
    let restricts = || sentences(text).all(is_constraint);
    count >= FEWEST_WORDS && !restricts() && (!replies || count >= MANY_WORDS || asks())
}

/// The number of words in `normalised` text. In scripts without spaces, two characters count as a word.
fn weight(normalised: &str) -> usize {
    let spaced = normalised.split_whitespace().count();
    let unspaced = normalised.chars().filter(|character| ('\u{2E80}'..='\u{FFDC}').contains(character)).count();
    spaced.max(unspaced / 2)
}

fn topic_words(text: &str) -> HashSet<String> {
    let words = normalised(prefix_utf16(text, TOPIC_UNITS));
    let is_telling = |word: &&str| word.len() >= SHORTEST_TOPIC_WORD && !COMMON.contains(word) && !WORK.contains(word);
    words.split_whitespace().filter(is_telling).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_requests_from_chat() {
        for request in [
            "port the parser to Rust",
            "fix src/parser.rs",
            "ok, the button should be blue",
            "ok, update the docs as well",
            "why does the build fail?",
            "Bitte den Parser nach Rust portieren",
            "修复解析器中的错误并添加测试",
            "The login page crashes on Safari",
        ] {
            assert!(asks_for_work(request), "{request}");
        }
        for chat in [
            "a1b2c3",
            "looks good to me",
            "I restarted it and all is well",
            "yes",
            "/mode",
            "blue",
            "that worked, thanks a lot",
        ] {
            assert!(!asks_for_work(chat), "{chat}");
        }
    }

    #[test]
    fn a_topic_begins_where_no_word_is_shared() {
        let mut topics = Topics::default();
        let texts = [
            "port the old parser to Rust",
            "now test the parser too",
            "then write a changelog for our users",
            "make the changelog short",
        ];
        let weights = texts.map(|text| topics.weigh(text));
        use RequestWeight::{Topic, Work};
        assert_eq!(weights, [Topic, Work, Topic, Work]);
    }
}
