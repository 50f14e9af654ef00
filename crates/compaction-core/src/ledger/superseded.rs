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
    COMMITTED.begins(sentence) && !UNCOMMITTED.is_said(sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

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
