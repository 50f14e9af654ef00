//! Superseded states: what the model said about a repository until an event changed it. `Nothing is committed yet` ends
//! with a commit, and `we are in the middle of a rebase` with the command that continues it or gives it up.

use super::retractions::admits;
use super::text::{WordList, normalised, word_list};

/// Phrases for work without any commit.
static UNCOMMITTED: WordList = word_list!("superseded: uncommitted");
/// Phrases for a merge or a rebase that has not ended.
static UNMERGED: WordList = word_list!("superseded: unmerged");
/// Beginnings of sentences about a commit that was just made.
static COMMITTED: WordList = word_list!("superseded: committed");

/// First words of sentences that tell a commit by its hash.
static TOLD: WordList = word_list!("superseded: told commits");

/// What ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// A commit was made. It also ends a merge.
    Commit,
    /// A merge or a rebase was continued or given up.
    Merge,
}

/// Whether an earlier sentence of the model is no longer true after an event.
pub(super) fn is_over(sentence: &str, ended: Ended) -> bool {
    let words = normalised(sentence);
    let is_told =
        UNMERGED.is_said_in(sentence, &words) || ended == Ended::Commit && UNCOMMITTED.is_said_in(sentence, &words);
    is_told && !admits(sentence)
}

/// Whether a sentence of the model says that it just made a commit.
pub(super) fn tells_commit(sentence: &str) -> bool {
    (COMMITTED.begins(sentence) || told_commit(sentence).is_some()) && !UNCOMMITTED.is_said(sentence)
}

/// The hash, the branch or nothing, and the subject of a commit that a sentence of the model tells: `Committed 1a2b3c4 on main:
/// add the menu`.
pub(super) fn told_commit(sentence: &str) -> Option<(&str, &str, &str)> {
    let (place, subject) = sentence.split_once(": ").filter(|_| TOLD.begins(sentence))?;
    let mut words = place.split(' ').map(|word| word.trim_matches('`')).skip_while(|word| !is_hash(word));
    let hash = words.next()?;
    let branch = match (words.next(), words.next(), words.next()) {
        (None, ..) => "",
        (Some("on"), Some(branch), None) => branch,
        _ => return None,
    };
    let subject = subject.trim_matches(['`', '"', '.', ' ']);
    (!subject.is_empty()).then_some((hash, branch, subject))
}

/// The hashes and subjects in the lists of commits of an answer: `Two commits on main:` before `1a2b3c4: add the menu`.
pub(super) fn listed_commits<'a>(sentences: &[&'a str]) -> Vec<(&'a str, &'a str)> {
    let mut is_listing = false;
    let told = sentences.iter().filter_map(|sentence| {
        let commit = listed_commit(sentence);
        // The subject of a commit may end with a colon.
        is_listing = commit.is_some() && is_listing || introduces_commits(sentence);
        commit.filter(|_| is_listing)
    });
    told.collect()
}

fn introduces_commits(sentence: &str) -> bool {
    let words = normalised(sentence);
    sentence.ends_with([':', '\u{ff1a}'])
        && words.split_whitespace().count() <= MOST_WORDS
        && LISTING.is_said_in(sentence, &words)
}

fn listed_commit(item: &str) -> Option<(&str, &str)> {
    let item = item.trim_start_matches(['`', '*']);
    let (hash, rest) = item.split_at_checked(item.find([':', ' ', '`'])?)?;
    let subject = rest.trim_start_matches(['`', '*', ':', ' ', '-', '\u{2014}', '\u{2013}']);
    let subject = subject.trim_end_matches(['`', '"', '.', ' ']);
    (is_hash(hash) && !subject.is_empty()).then_some((hash, subject))
}

fn is_hash(word: &str) -> bool {
    LENGTHS_OF_HASH.contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
        && word.contains(|one: char| one.is_ascii_digit())
}

/// Words of the introduction to a list of commits that were just made, and its most words.
static LISTING: WordList = word_list!("superseded: listing commits");
const MOST_WORDS: usize = 8;
/// Lengths of a hash in bytes.
const LENGTHS_OF_HASH: std::ops::RangeInclusive<usize> = 7..=40;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_told_with_its_hash_and_subject() {
        for (sentence, expected) in [
            ("Committed 1a2b3c4 on main: feat: add the menu.", Some(("1a2b3c4", "main", "feat: add the menu"))),
            ("Committed `1a2b3c4`: add the menu", Some(("1a2b3c4", "", "add the menu"))),
            ("Committed as 1a2b3c4 with tests: add the menu", None),
            ("Committed the menu: it has prices", None),
            ("1a2b3c4: add the menu", None),
        ] {
            assert_eq!(told_commit(sentence), expected, "{sentence}");
        }
    }

    #[test]
    fn a_list_of_commits_is_told_by_its_introduction() {
        let expected = [("1a2b3c4", "add the menu"), ("2b3c4d5", "test: read it")];
        for start in ["Two commits on main:", "Committed:", "Zwei Commits:", "已提交："] {
            let told = [start, "1a2b3c4: add the menu", "`2b3c4d5` test: read it", "The end.", "3c4d5e6: older"];
            assert_eq!(listed_commits(&told), expected, "{start}");
        }
        assert!(listed_commits(&["The log has:", "1a2b3c4: add the menu"]).is_empty());
        assert!(listed_commits(&["1a2b3c4: add the menu"]).is_empty());
    }

    #[test]
    fn a_state_ends_with_the_event_that_changes_it() {
        for told in [
            "Zero \u{2014} main has no commits yet.",
            "Nothing committed \u{2014} it is all in the working tree.",
            "Es ist noch nichts committet.",
            "Rien n'est encore commité.",
            "Todavía no hay commits.",
            "Ainda não há commits.",
            "Non ci sono ancora commit.",
            "Коммитов пока нет.",
            "Er zijn nog geen commits.",
            "目前还没有提交。",
            "まだコミットはありません。",
            "아직 커밋이 없습니다.",
        ] {
            assert!(is_over(told, Ended::Commit), "{told}");
            assert!(!is_over(told, Ended::Merge), "{told}");
        }
        for told in [
            "We're in the middle of a rebase.",
            "We have merge conflicts in three files:",
            "Wir sind mitten in einem Rebase.",
            "Nous sommes au milieu d'un rebase.",
            "Estamos en medio de un rebase.",
            "正在进行变基。",
        ] {
            assert!(is_over(told, Ended::Merge), "{told}");
        }
        for told in [
            "We had merge conflicts and resolved them.",
            "The commit has two files.",
            "I committed the pages.",
            "Correcting myself: I said that there are no commits yet.",
        ] {
            assert!(!is_over(told, Ended::Commit), "{told}");
        }
        assert!(tells_commit("Committed as the first commit (1a2b3c4)."));
        assert!(!tells_commit("Committed work: nothing committed so far."));
    }
}
