//! What commands of `git` and its servers do to existing work: they discard, stash, merge or rename it. Each becomes a
//! milestone that later summaries parse again.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::finder::automaton;
use super::notes::{
    ALL_CHANGES, BROUGHT_BACK, DECIDED, DELETED, KEPT_CHANGES, KEPT_VERSION, MERGED, MOVED_BACK, OF_VERSION, ON_SERVER,
    PUSHED_TAG, RENAMED, RENAMED_TO, SET_ASIDE, THREW_AWAY, TOOK_BACK,
};
use super::outcomes::is_hash;
use super::text::{normalised, one_line, quote, quoted};
use crate::phrases::{PROGRAMS, listed};
use crate::tools::words_of_steps;

/// Every command that is read here contains one of these.
pub(super) static COMMANDS: LazyLock<AhoCorasick> =
    LazyLock::new(|| automaton(listed!(PROGRAMS, "repository: commands"), false));
/// Beginnings of lines with which these commands fail.
const FAILURES: [&str; 5] = ["fatal:", "error:", "CONFLICT", "Aborting", "mv: "];
/// Most files that one milestone names.
const MOST_FILES: usize = 12;
/// Most steps of one command that are read.
const MOST_STEPS: usize = 64;

/// The milestones of a command that did not fail, in order: those before the commit of the command, if it has one, and
/// those after it.
pub(super) fn effects(command: &str, output: &str) -> (Vec<String>, Vec<String>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    if !COMMANDS.is_match(command) || output.lines().any(|line| FAILURES.iter().any(|start| line.starts_with(start))) {
        return (before, after);
    }
    let mut has_committed = false;
    for step in words_of_steps(command).into_iter().take(MOST_STEPS) {
        let words: Vec<&str> = step.iter().map(String::as_str).collect();
        let effect = match words.as_slice() {
            // Another directory has different files.
            ["git", "-C", ..] => None,
            ["git", rest @ ..] => of_git(rest, output),
            ["gh", "pr", "merge", rest @ ..] | ["glab", "mr", "merge", rest @ ..] => merged_request(rest),
            ["mv", rest @ ..] => renamed(rest),
            _ => None,
        };
        has_committed |= words.contains(&"commit");
        let list = if has_committed { &mut after } else { &mut before };
        list.extend(effect);
    }
    after.extend(deleted_on_server(output));
    after.extend(pushed_tag(output));
    (before, after)
}

fn of_git(words: &[&str], output: &str) -> Option<String> {
    let (verb, rest) = words.split_first()?;
    let has = |option: &str| rest.contains(&option);
    match *verb {
        "checkout" => {
            if output.contains("Updated 0 paths") {
                return None;
            }
            if let Some(version) = rest.iter().find(|word| ["--ours", "--theirs"].contains(word)) {
                return kept_version(version, rest);
            }
            let files = match rest.iter().position(|word| *word == "--") {
                Some(at) => &rest[at + 1..],
                // Without `--`, the output shows whether these are files or branches.
                None if has(".") || output.contains(" from the index") => rest,
                None => return None,
            };
            took_back(files)
        }
        "restore" if (has("--staged") || has("-S")) && !has("--worktree") && !has("-W") => None,
        "restore" => took_back(rest),
        "stash" => match rest.first() {
            Some(&"pop" | &"apply" | &"branch") => Some(BROUGHT_BACK.to_owned()),
            Some(&"drop" | &"clear") => Some(THREW_AWAY.to_owned()),
            Some(&"list" | &"show" | &"create" | &"store") => None,
            _ if output.contains("No local changes to save") => None,
            // Only some files are stashed, and a later pop does not say which.
            Some(&"push") if rest[1..].iter().any(|word| !word.starts_with('-')) => None,
            _ => Some(SET_ASIDE.to_owned()),
        },
        "reset" if !has("--hard") && !has("--") => {
            let to = rest.iter().find(|word| !word.starts_with('-'))?;
            let is_alone = rest.iter().filter(|word| !word.starts_with('-')).count() == 1;
            let is_older = to.starts_with("HEAD~") || to.starts_with("HEAD^") || to.starts_with("@~") || is_hash(to);
            (is_alone && is_older).then(|| format!("{MOVED_BACK}{to}{KEPT_CHANGES}"))
        }
        // Without force, the commits of the branch are already merged.
        "branch" if has("-D") || (has("-d") || has("--delete")) && (has("-f") || has("--force")) => {
            let name = output.lines().find_map(|line| line.strip_prefix("Deleted branch ")?.split(' ').next());
            name.map(|name| format!("{DELETED}{name}"))
        }
        "worktree" if has("remove") && (has("--force") || has("-f")) => {
            let path = rest.iter().skip(1).find(|word| !word.starts_with('-'))?;
            Some(format!("{TOOK_BACK}{}", quote(path.trim_end_matches('/'))))
        }
        "merge" if !rest.iter().any(|word| ["--abort", "--quit"].contains(word)) => {
            let has_merged =
                ["Fast-forward", "Merge made by", "Squash commit"].iter().any(|words| output.contains(words));
            let branch = rest.iter().find(|word| !word.starts_with('-')).filter(|_| has_merged)?;
            Some(format!("{MERGED}{branch}"))
        }
        "mv" => renamed(rest),
        _ => None,
    }
}

/// The milestone of files whose changes were discarded.
fn took_back(files: &[&str]) -> Option<String> {
    let files = files.iter().filter(|word| !word.starts_with('-') && !word.is_empty());
    let files: Vec<&str> = files.copied().collect();
    if files.is_empty() {
        return None;
    }
    let is_all = files.iter().any(|file| matches!(*file, "." | ":/" | "*" | "./"));
    if is_all || files.len() > MOST_FILES {
        return Some(format!("{TOOK_BACK}{ALL_CHANGES}"));
    }
    let files: Vec<String> = files.iter().map(|file| quote(&one_line(file))).collect();
    Some(format!("{TOOK_BACK}{}", files.join(", ")))
}

/// The milestone of files of which one version was kept in a conflict.
fn kept_version(version: &str, words: &[&str]) -> Option<String> {
    let files = words.iter().filter(|word| !word.starts_with('-') && !word.is_empty());
    let files: Vec<String> = files.take(MOST_FILES).map(|file| quote(&one_line(file))).collect();
    (!files.is_empty()).then(|| format!("{KEPT_VERSION}{}{OF_VERSION}{}", files.join(", "), quote(version)))
}

/// What a command continues or gives up with these options.
const OPERATIONS: [&str; 5] = ["rebase", "merge", "cherry-pick", "revert", "am"];

/// The merge, rebase or the like that a command ends, and whether it gives it up.
pub(super) fn ended_operation(command: &str) -> Option<(&'static str, bool)> {
    if !["--continue", "--abort"].iter().any(|option| command.contains(option)) {
        return None;
    }
    let ends = |words: &[&str]| {
        let ["git", verb, rest @ ..] = words else { return None };
        let verb = OPERATIONS.iter().find(|known| *known == verb)?;
        let gives_up = rest.contains(&"--abort");
        (gives_up || rest.contains(&"--continue")).then_some((*verb, gives_up))
    };
    let steps = words_of_steps(command).into_iter().take(MOST_STEPS);
    steps.rev().find_map(|step| ends(&step.iter().map(String::as_str).collect::<Vec<_>>()))
}

/// Whether a decision of the model is about a step of git, such as a rebase.
pub(super) fn is_about_step(decision: &str, verb: &str) -> bool {
    let is_of_person = decision.starts_with("The user ") || decision.starts_with(DECIDED);
    !is_of_person && normalised(decision).split(' ').any(|word| word == verb)
}

/// The milestone of a pull request that was merged at once.
fn merged_request(words: &[&str]) -> Option<String> {
    let waits = ["--auto", "--disable-auto", "--help", "--auto-merge", "--when-pipeline-succeeds"];
    if words.iter().any(|word| waits.contains(word)) {
        return None;
    }
    let named = words.iter().find(|word| word.bytes().all(|byte| byte.is_ascii_digit()) || word.contains("://"));
    Some(match named {
        Some(name) if name.contains("://") => format!("{MERGED}the pull request {name}"),
        Some(number) => format!("{MERGED}the pull request #{number}"),
        None => format!("{MERGED}the pull request of the branch"),
    })
}

/// The milestone of one file with a new name.
fn renamed(words: &[&str]) -> Option<String> {
    let mut names = words.iter().filter(|word| !word.starts_with('-'));
    let (from, to, None) = (names.next()?, names.next()?, names.next()) else { return None };
    let is_one = |name: &str| !name.contains(['*', '?', '{', '$', '`']) && !name.is_empty();
    if !is_one(from) || !is_one(to) || to.starts_with("/tmp/") {
        return None;
    }
    let from = from.trim_end_matches('/');
    let to = match to.strip_suffix('/') {
        Some(directory) => format!("{directory}/{}", from.rsplit('/').next().unwrap_or(from)),
        None => (*to).to_owned(),
    };
    Some(format!("{RENAMED}{}{RENAMED_TO}{}", quote(&one_line(from)), quote(&one_line(&to))))
}

/// ` - [deleted]         dev` as git reports what it deleted on a server.
fn deleted_on_server(output: &str) -> Option<String> {
    let mut lines = output.lines().filter_map(|line| line.trim().strip_prefix("- [deleted]"));
    let name = lines.next()?.trim();
    (!name.is_empty() && !name.contains(' ')).then(|| format!("{DELETED}{name}{ON_SERVER}"))
}

/// ` * [new tag]         v1 -> v1`
fn pushed_tag(output: &str) -> Option<String> {
    output.lines().any(|line| line.starts_with("To ")).then_some(())?;
    let (_, tag) = output.lines().find_map(|line| line.trim().strip_prefix("* [new tag]")?.split_once(" -> "))?;
    Some(format!("{PUSHED_TAG}{}", tag.trim()))
}

/// Whether `path` is the file `name` or is in the directory `name`. Either may be relative.
pub(crate) fn is_named(path: &str, name: &str) -> bool {
    let name = name.trim_start_matches("./").trim_end_matches('/');
    let ends = |path: &str| path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'));
    let lies_in = || {
        let mut places = path.match_indices(name).map(|(at, found)| (&path[..at], &path[at + found.len()..]));
        places.any(|(rest, below)| (rest.is_empty() || rest.ends_with('/')) && below.starts_with('/'))
    };
    !name.is_empty() && (ends(path) || lies_in())
}

/// The old and the new name in the milestone of a file that was renamed.
pub(crate) fn renaming(milestone: &str) -> Option<(&str, &str)> {
    let mut names = quoted(milestone.strip_prefix(RENAMED)?);
    Some((names.next()?, names.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(command: &str, output: &str) -> Vec<String> {
        let (before, after) = effects(command, output);
        [before, after].concat()
    }

    #[test]
    fn commands_take_back_set_aside_merge_and_rename() {
        for (command, output, expected) in [
            ("git checkout -- src/a.rs 'my file.rs'", "", "Took back the changes of `src/a.rs`, `my file.rs`"),
            ("cd x && git checkout src/a.rs", "Updated 1 path from the index", "Took back the changes of `src/a.rs`"),
            (
                "git checkout --ours src/a.rs && git add src/a.rs",
                "Updated 1 path from the index",
                "Resolved the conflict in `src/a.rs` with the version of `--ours`",
            ),
            ("git stash branch dev", "Dropped refs/stash@{0}", "Brought back the changes that were set aside"),
            ("git restore .", "", "Took back the changes of all files that were not committed"),
            ("git stash", "Saved working directory", "Set aside the changes that were not committed"),
            ("git stash pop", "Dropped refs/stash@{0}", "Brought back the changes that were set aside"),
            ("git stash drop", "Dropped stash@{0}", "Threw away the changes that were set aside"),
            ("git branch -D dev", "Deleted branch dev (was 1a2b3c4).", "Deleted dev"),
            ("git worktree remove --force ../wt/a", "", "Took back the changes of `../wt/a`"),
            ("git merge dev", "Updating 1a2b3c4..2b3c4d5\nFast-forward", "Merged dev"),
            ("gh pr merge 12 --squash", "", "Merged the pull request #12"),
            ("git mv src/a.rs src/b.rs", "", "Renamed `src/a.rs` to `src/b.rs`"),
            ("mv a.rs src/", "", "Renamed `a.rs` to `src/a.rs`"),
            ("git reset --soft HEAD~3", "", "Moved the branch back to HEAD~3 and kept the changes"),
            ("git push origin v1", "To host:a/b\n * [new tag]         v1 -> v1", "Pushed the new tag v1"),
            ("git push origin :v1", "To host:a/b\n - [deleted]         v1", "Deleted v1 on the server"),
        ] {
            assert_eq!(all(command, output), [expected], "{command}");
        }
        for (command, output) in [
            ("git checkout main", "Switched to branch 'main'"),
            ("git checkout -b dev", ""),
            ("git restore --staged a.rs", ""),
            ("git checkout -- a.rs", "error: pathspec 'a.rs' did not match any file(s) known to git"),
            ("git stash", "No local changes to save"),
            ("git stash list", ""),
            ("git reset HEAD a.rs", ""),
            ("git merge dev", "Already up to date."),
            ("gh pr merge 12 --auto", ""),
            ("git worktree remove ../wt/a", ""),
            ("echo 'git stash'", "git stash"),
            ("cat > undo.sh <<'EOF'\ngit checkout -- a.rs\nEOF", ""),
            ("mv *.rs src", ""),
        ] {
            assert!(all(command, output).is_empty(), "{command}");
        }
        let (before, after) =
            effects("git reset --soft HEAD~2 && git commit -m x && git branch -D y", "Deleted branch y (was 1)");
        assert_eq!((before.len(), after.len()), (1, 1), "a commit lies between them");
    }

    #[test]
    fn a_merge_or_rebase_ends_when_it_is_continued_or_given_up() {
        for (command, expected) in [
            ("git rebase --abort", Some(("rebase", true))),
            ("git add . && git rebase --continue", Some(("rebase", false))),
            ("git rebase --abort && git merge origin/main", Some(("rebase", true))),
            ("git merge --abort", Some(("merge", true))),
            ("echo 'git merge --abort'", None),
            ("git merge main", None),
        ] {
            assert_eq!(ended_operation(command), expected, "{command}");
        }
        assert!(is_about_step("**Rebase on top of main**: we need a strategy", "rebase"));
        assert!(!is_about_step("The user agreed to: rebase", "rebase"));
    }

    #[test]
    fn a_path_is_named_whole_or_by_its_end() {
        assert!(is_named("/home/a/src/b.rs", "src/b.rs") && is_named("src/b.rs", "./src") && is_named("b.rs", "b.rs"));
        assert!(!is_named("src/ab.rs", "b.rs") && !is_named("src/b.rs", "sr") && !is_named("src/b.rs", ""));
    }
}
