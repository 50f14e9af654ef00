//! The parts of a request that nothing was done for yet, if its parts can be recognised: the items of a list, and
//! clauses after words such as `and then`.

use std::collections::HashSet;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::goal::JOINTS;
use super::next_steps::{LONGEST_EARLIER, wishes};
use super::requests::origin;
use super::state::end_of;
use super::{Builder, LONGEST_REPEAT};
use crate::extractive::budget::MOST_UNITS;
use crate::extractive::pool::{Origin, Rank};
use crate::ledger::choices::stems;
use crate::ledger::commands::only_looks;
use crate::ledger::cues::{is_trivial, typed};
use crate::ledger::finder::automaton;
use crate::ledger::last_step::LastStep;
use crate::ledger::notes::{COMMITTED, FOR_LATER};
use crate::ledger::statements::{is_prose, sentences};
use crate::ledger::terms::is_unspaced;
use crate::ledger::text::{clip, one_line};
use crate::ledger::{LatestPlan, Ledger, Request, Statement, Voice};
use crate::phrases::{EVERY, listed};
use crate::summary::Section;
use crate::text::{prefix_utf16, utf16_len};
use crate::tools::{PlanItem, PlanStatus};

/// Longest request with parts, in UTF-16 units. A longer one is a document.
const LONGEST_REQUEST: usize = 1200;
/// Most parts of a request.
const MOST_PARTS: usize = 8;
/// Longest part in a step, in UTF-16 units.
const LONGEST_PART: usize = 160;
/// Fewest words of a part.
const FEWEST_WORDS: usize = 2;
/// Fewest characters of a part in a script without spaces.
const FEWEST_UNSPACED: usize = 4;
/// Number of newest statements that are searched for what was done.
const MOST_STATEMENTS: usize = 400;
/// Number of newest commands that are searched for names.
const MOST_COMMANDS: usize = 200;
/// UTF-16 units of a command that are searched.
const COMMAND_UNITS: usize = 1000;
/// Number of changed files and runs after which a plan without updates is out of date.
const MUCH_DONE: usize = 8;
/// Shortest name in code that may be the name of a file, in bytes.
const LONG_NAME: usize = 10;
/// Fewest words that a part shares with what was said and done for it.
const FEWEST_SHARED: usize = 2;
/// Words before the next part of a request, in lower case.
const NEXT: &[&str] = listed!(EVERY, "open parts: next");
static NEXT_WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(NEXT, false));
/// Such words at the beginning of a sentence.
const FIRST: &[&str] = listed!(EVERY, "open parts: first");
/// Beginnings of clauses that say after what the next part comes, in lower case.
const LATER: &[&str] = listed!(EVERY, "open parts: later");
static LATER_WORDS: LazyLock<AhoCorasick> = LazyLock::new(|| automaton(LATER, false));
/// Words that may stand before such a clause.
const BEFORE_LATER: [&str; 9] = [" and", " then", " und", " et", " y", " e", " и", " en", " poi"];
/// Number of requests after such a request that may come back to its last part.
const MOST_LATER: usize = 64;
/// Number of newest requests that are searched for such parts.
const MOST_SEARCHED: usize = 32;
/// Most parts for later that are listed.
const MOST_FOR_LATER: usize = 2;
/// Words of parts that ask for a commit.
const COMMITS: &[&str] = listed!(EVERY, "open parts: commits");
/// Words of parts that ask for a push.
const PUSHES: &[&str] = listed!(EVERY, "open parts: pushes");
/// Commands that do one of the two.
const SAVING: [&str; 2] = ["git commit", "git push"];

impl Builder<'_> {
    /// The parts of the request at `position` that nothing was done for yet, if earlier parts were worked on and later
    /// ones were not.
    pub(super) fn open_parts(&self, request: &str, position: u64) -> Option<String> {
        let parts = parts(request);
        if parts.len() < 2 {
            return None;
        }
        let done = self.done_for(position);
        let last = parts.iter().rposition(|part| done.touches(part))?;
        let open: Vec<String> = parts[last + 1..].iter().map(|part| clip(part, LONGEST_PART)).collect();
        (!open.is_empty()).then(|| open.join("; "))
    }

    /// Adds those items of the list in a request that nothing touched yet, if Goal has not all of them.
    pub(super) fn wishes_left(&mut self, request: &str, position: u64) {
        let shown = match self.turn_request == Some(request) {
            true => self.in_goal(request),
            false => typed(request, MOST_UNITS),
        };
        let wishes = wishes(request);
        if wishes.iter().all(|wish| shown.contains(&one_line(wish))) {
            return;
        }
        let done = self.done_for(position);
        for wish in wishes.into_iter().filter(|wish| !done.touches(wish)) {
            self.pool.add(Section::NextSteps, &clip(wish, LONGEST_REPEAT), Origin::at(u64::MAX), Rank::Normal);
        }
    }

    /// Whether a request lists wishes of which at least one was never touched, and one was.
    pub(super) fn has_untouched_parts(&self, request: &Request) -> bool {
        let parts = wishes(&request.text);
        if parts.len() < 2 || utf16_len(&request.text) > LONGEST_REQUEST {
            return false;
        }
        let done = Done::since(self.ledger, request.position, request.position);
        let touched = parts.iter().filter(|part| done.touches(part)).count();
        (1..parts.len()).contains(&touched)
    }

    /// The part of a request that is to follow the rest of it, such as `when that is done, port the others`, if nothing
    /// was done for it and no later request of the person comes back to it.
    pub(super) fn left_for_later(&self, request: &Request) -> Option<String> {
        if request.position == 0 || utf16_len(&request.text) > LONGEST_REQUEST {
            return None;
        }
        let part = for_later(&request.text)?;
        let own = stems(&part);
        let takes_up = |text: &str| {
            let said = stems(text);
            let shared = own.iter().filter(|stem| said.contains(stem)).count();
            shared >= FEWEST_SHARED && shared * 2 >= own.len()
        };
        let later = self.ledger.requests.iter().filter(|one| one.position > request.position);
        let words = later.map(|one| one.text.as_str()).chain(self.turn_request);
        let plan = Some(&self.with_turn.plan).filter(|plan| plan.position > request.position);
        let tasks = plan.into_iter().flat_map(|plan| plan.items.iter().map(|item| item.text.as_str()));
        let is_begun = words.take(MOST_LATER).chain(tasks).any(takes_up) || self.is_saved(&part, request.position);
        (!is_begun).then(|| clip(&part, LONGEST_REPEAT))
    }

    /// Whether a part only asks for a commit or a push, and one was tried after the message at `position`.
    fn is_saved(&self, part: &str, position: u64) -> bool {
        let tasks = part.split([',', '\u{ff0c}', '\u{3001}']).skip(1).flat_map(|clause| clause.split_inclusive(' '));
        // The words between two joints say one thing.
        let mut said = vec![String::new()];
        for word in tasks {
            match JOINTS.contains(&word.trim()) {
                true => said.push(String::new()),
                false => said.last_mut().into_iter().for_each(|last| last.push_str(&word.to_lowercase())),
            }
        }
        let saves = |words: &String| COMMITS.iter().chain(PUSHES).any(|word| words.contains(word));
        let newest = self.with_turn;
        let milestones = newest.statements.iter().rev().take_while(|one| one.position > position);
        let mut milestones = milestones.filter(|one| one.voice == Voice::Milestone).take(MOST_STATEMENTS);
        let runs = newest.commands.iter().rev().take_while(|run| run.position > position).take(MOST_COMMANDS);
        let is_tried = |run: &str| SAVING.iter().any(|verb| run.contains(verb));
        said.iter().filter(|words| !words.trim().is_empty()).all(saves)
            && (milestones.any(|one| one.text.starts_with(COMMITTED))
                || runs.map(|run| prefix_utf16(&run.command, COMMAND_UNITS)).any(is_tried))
    }

    /// Adds what the newest requests leave for later.
    pub(super) fn for_later(&mut self) {
        let open = self.latest().filter(|_| self.is_open()).map_or(u64::MAX, |latest| latest.position);
        let newest = self.requests_since_reset().iter().rev().filter(|one| one.is_own() && one.position < open);
        let newest = newest.take(MOST_SEARCHED);
        let parts: Vec<(String, Origin<'_>)> =
            newest.filter_map(|one| Some((self.left_for_later(one)?, origin(one)))).take(MOST_FOR_LATER).collect();
        for (part, origin) in parts {
            self.pool.add(Section::NextSteps, &format!("{FOR_LATER}{part}"), origin, Rank::Normal);
        }
    }

    /// The clauses of a latest request behind a comma and a word such as `and` of which nothing is seen.
    pub(super) fn untouched_clauses(&self, request: &Request) -> Option<String> {
        if utf16_len(&request.text) > LONGEST_REQUEST {
            return None;
        }
        let done = self.done_for(request.position);
        let line = one_line(&request.text);
        let clauses = line.split([',', ';', '\u{ff0c}', '\u{3001}']).map(str::trim).skip(1);
        let joined = clauses.filter_map(|clause| {
            let (first, rest) = clause.split_once(' ')?;
            JOINTS.contains(&first.to_lowercase().as_str()).then_some(rest.trim())
        });
        let open = joined.filter(|clause| is_part(clause) && !done.touches(clause));
        let open: Vec<String> = open.map(|clause| clip(clause, LONGEST_PART)).collect();
        (!open.is_empty()).then(|| open.join("; "))
    }

    /// What was done for the request at `position`.
    fn done_for(&self, position: u64) -> Done {
        let (ledger, since) = self.turn.map_or((self.ledger, position), |turn| (turn, 0));
        Done::since(ledger, since, since)
    }

    /// The steps that the model listed in the turn that goes on, from the first one of which nothing is seen.
    pub(super) fn listed_steps(&self) -> Option<String> {
        let ledger = self.turn.unwrap_or(self.ledger);
        let LastStep { listed, listed_at, .. } = &ledger.last_step;
        // A commit completes the work that was listed before it.
        let milestones = ledger.statements.iter().rev().take_while(|one| one.position > *listed_at);
        let mut milestones = milestones.filter(|one| one.voice == Voice::Milestone);
        if listed.is_empty() || milestones.any(|one| one.text.starts_with(COMMITTED)) {
            return None;
        }
        // Calls in the same message may already carry out some of them.
        let done = Done::since(ledger, *listed_at, listed_at.saturating_sub(1));
        let first = listed.iter().rposition(|step| done.touches(step)).map_or(0, |last| last + 1);
        let open: Vec<String> = listed[first..].iter().map(|step| clip(step, LONGEST_PART)).collect();
        (!open.is_empty()).then(|| clip(&open.join("; "), LONGEST_EARLIER))
    }

    /// How many of the first tasks of a plan were passed although it was not updated: those up to the last one that was
    /// worked on, if much was done since.
    pub(super) fn passed_tasks(&self, plan: &LatestPlan) -> usize {
        let ledger = self.with_turn;
        let changes = ledger.files.iter().filter(|file| file.changed_at > plan.position).count();
        let runs = ledger.commands.iter().rev().take_while(|run| run.position > plan.position);
        let runs = runs.filter(|run| !only_looks(&run.command)).take(MUCH_DONE).count();
        let is_left = |item: &PlanItem| matches!(item.status, PlanStatus::Pending | PlanStatus::InProgress);
        if plan.position == 0 || changes + runs == 0 || !plan.items.iter().any(is_left) {
            return 0;
        }
        let done = Done::since(ledger, plan.position, plan.position);
        if changes + runs < MUCH_DONE {
            // A task that names files also shows it. The last one of them may not be finished.
            let is_changed = |item: &&PlanItem| is_left(item) && done.changes_named(&item.text) == Some(true);
            let last = plan.items.iter().rposition(|item| is_changed(&item)).unwrap_or_default();
            return if plan.items[..last].iter().any(|item| is_changed(&item)) { last } else { 0 };
        }
        plan.items.iter().rposition(|item| done.touches(&item.text)).map_or(0, |last| last + 1)
    }

    /// The indexes of tasks among the first `passed` of a plan that name files which were changed since.
    pub(super) fn changed_tasks(&self, plan: &LatestPlan, passed: usize) -> HashSet<usize> {
        if passed == 0 {
            return HashSet::new();
        }
        let done = Done::since(self.with_turn, plan.position, plan.position);
        (0..passed).filter(|at| done.changes_named(&plan.items[*at].text) == Some(true)).collect()
    }

    /// The tasks of a plan without any sign of work, if a complete answer came after it and no check fails. A task is
    /// done if the work and the answer share its words, even if the plan was not updated.
    pub(super) fn not_seen_done<'t>(&self, plan: &LatestPlan, tasks: Vec<&'t str>) -> Vec<&'t str> {
        let ledger = self.with_turn;
        if tasks.is_empty() || ledger.answered <= plan.position || ledger.unresolved_errors().next().is_some() {
            return tasks;
        }
        let done = Done::since(ledger, plan.position, plan.position);
        let shared = |task: &str| stems(task).iter().filter(|stem| done.stems.contains(*stem)).count();
        tasks.into_iter().filter(|task| shared(task) < FEWEST_SHARED).collect()
    }
}

/// What was done after a message.
struct Done {
    /// The last parts of the paths of changed files.
    files: Vec<String>,
    /// The same with only letters and digits.
    squeezed: Vec<String>,
    /// The commands that did more than look something up.
    commands: Vec<String>,
    stems: HashSet<String>,
    has_committed: bool,
}

impl Done {
    /// What was said after the message at `said` and done after the one at `since`.
    fn since(ledger: &Ledger, said: u64, since: u64) -> Self {
        let changed = ledger.files.iter().filter(|file| file.changed_at > since);
        let commands = ledger.commands.iter().rev().take_while(|run| run.position > since).take(MOST_COMMANDS);
        let commands = commands.map(|run| prefix_utf16(&run.command, COMMAND_UNITS)).filter(|run| !only_looks(run));
        let newest = || ledger.statements.iter().rev().take_while(|one| one.position > said).take(MOST_STATEMENTS);
        let is_of_work = |one: &&Statement| one.is_of_model() || matches!(one.voice, Voice::Action | Voice::Milestone);
        let mut all: HashSet<String> = newest().filter(is_of_work).flat_map(|one| stems(&one.text)).collect();
        let completed = ledger.plan.in_state(PlanStatus::Completed).filter(|_| ledger.plan.position > since);
        all.extend(completed.flat_map(|task| stems(&task.text)));
        let files: Vec<String> = changed.map(|file| end_of(&file.path, 1).to_lowercase()).collect();
        all.extend(files.iter().flat_map(|file| stems(file)));
        let squeeze = |name: &String| name.chars().filter(|one| one.is_alphanumeric()).collect();
        Self {
            squeezed: files.iter().map(squeeze).collect(),
            files,
            commands: commands.map(str::to_lowercase).collect(),
            stems: all,
            has_committed: newest().any(|one| one.voice == Voice::Milestone && one.text.starts_with(COMMITTED)),
        }
    }

    /// Whether something was said or done for a part of a request.
    fn touches(&self, part: &str) -> bool {
        let lower = part.to_lowercase();
        if COMMITS.iter().any(|word| lower.contains(word)) {
            return self.has_committed;
        }
        if let Some(is_changed) = self.changes_named(part) {
            return is_changed;
        }
        let own = stems(part);
        let shared = own.iter().filter(|stem| self.stems.contains(*stem)).count();
        shared >= FEWEST_SHARED && shared * 2 >= own.len()
    }

    /// Whether files that a part of a request names were changed, or named by commands; `None` if it names none.
    fn changes_named(&self, part: &str) -> Option<bool> {
        let lower = part.to_lowercase();
        let is_name = |word: &&str| word.len() > 3 && (word.starts_with('.') || word.contains(['.', '/', '_']));
        let is_mark = |one: char| !one.is_ascii_alphanumeric() && !matches!(one, '.' | '/' | '_' | '-');
        let mut names = lower.split(is_mark).map(|word| word.trim_end_matches(['.', '/'])).filter(is_name).peekable();
        if names.peek().is_some() {
            // If a part names files, only they count.
            return Some(names.any(|name| {
                let last = end_of(name, 1);
                self.files.iter().any(|file| file == last) || self.commands.iter().any(|run| run.contains(last))
            }));
        }
        // A name in code, such as `TokenReader`, may be the name of its file.
        let mut words = lower.split(|one: char| !one.is_alphanumeric()).filter(|word| word.len() >= LONG_NAME);
        words.any(|word| self.squeezed.iter().any(|file| file.starts_with(word))).then_some(true)
    }
}

/// The clauses of a request from the one that says after what they come. It is not the first one.
fn for_later(request: &str) -> Option<String> {
    let line = one_line(request);
    let lower = line.to_lowercase();
    // Lower case may change the number of bytes.
    if lower.len() != line.len() {
        return None;
    }
    let begins = |at: &usize| {
        let before = lower[..*at].trim_end();
        let is_start = before.ends_with([',', '.', ';', ':', '!', '\u{ff0c}', '\u{3002}', '\u{ff1b}', '\u{3001}']);
        is_start || BEFORE_LATER.iter().any(|joint| before.ends_with(joint))
    };
    let found = LATER_WORDS.find_iter(&lower).map(|found| found.start());
    let at = found.filter(|at| *at > 0 && line.is_char_boundary(*at)).find(begins)?;
    // The rest of the sentence says what is to be done.
    let part = sentences(&line[at..]).next()?.trim();
    let tasks = part.split([',', '\u{ff0c}', '\u{3001}']).skip(1).map(str::trim).filter(|clause| is_part(clause));
    (tasks.count() > 0 && is_part(line[..at].trim())).then(|| part.to_owned())
}

/// The parts of a request in order; fewer than two if they cannot be recognised.
fn parts(request: &str) -> Vec<String> {
    if utf16_len(request) > LONGEST_REQUEST {
        return Vec::new();
    }
    let wishes = wishes(request);
    if wishes.len() > 1 {
        return wishes.into_iter().map(one_line).collect();
    }
    let mut parts: Vec<String> = Vec::new();
    for sentence in sentences(request).filter(|one| is_prose(one)) {
        let line = one_line(sentence);
        for (is_next, clause) in clauses(&line) {
            let is_next = is_next || FIRST.iter().any(|start| clause.to_lowercase().starts_with(start));
            match parts.last_mut().filter(|_| !is_next) {
                Some(last) => *last = format!("{last} {clause}"),
                None => parts.push(clause.to_owned()),
            }
        }
    }
    let are_whole = parts.len() <= MOST_PARTS && parts.iter().all(|part| is_part(part));
    if are_whole { parts } else { Vec::new() }
}

/// Whether a clause has enough words to ask for something. Scripts without spaces have long words.
fn is_part(clause: &str) -> bool {
    let unspaced = clause.chars().filter(|one| is_unspaced(*one)).count();
    !is_trivial(clause) && (clause.split_whitespace().count() >= FEWEST_WORDS || unspaced >= FEWEST_UNSPACED)
}

/// A sentence split at each of [`NEXT`]; each piece says whether one of them comes before it.
fn clauses(sentence: &str) -> Vec<(bool, &str)> {
    let lower = sentence.to_lowercase();
    // Lower case may change the number of bytes.
    if lower.len() != sentence.len() {
        return vec![(false, sentence)];
    }
    let found = NEXT_WORDS.find_iter(&lower).map(|found| (found.start(), found.end()));
    let is_char = |(start, end): &(usize, usize)| sentence.is_char_boundary(*start) && sentence.is_char_boundary(*end);
    let (mut clauses, mut start) = (Vec::new(), 0);
    for (at, end) in found.filter(is_char) {
        clauses.push((start > 0, sentence[start..at].trim()));
        start = end;
    }
    clauses.push((start > 0, sentence[start..].trim()));
    clauses.retain(|(_, clause)| !clause.is_empty());
    clauses
}

#[cfg(test)]
mod tests {
    use super::{for_later, parts};

    #[test]
    fn parts_are_items_of_lists_and_what_comes_next() {
        for (request, expected) in [
            ("Port the parser, then write the manual of it", &["Port the parser", "write the manual of it"] as &[&str]),
            (
                "Port the parser.\nIt is in C.\nThen write the manual",
                &["Port the parser. It is in C.", "Then write the manual"],
            ),
            ("Do this:\n- port the parser\n- write its manual", &["port the parser", "write its manual"]),
            ("Portiere den Parser und dann schreibe die Anleitung", &["Portiere den Parser", "schreibe die Anleitung"]),
            ("Porte l'analyseur, puis écris le manuel", &["Porte l'analyseur", "écris le manuel"]),
            ("修复解析器中的错误，然后写一份使用手册", &["修复解析器中的错误，", "写一份使用手册"]),
            ("パーサーを移植して、それからマニュアルを書いて", &["パーサーを移植して、", "マニュアルを書いて"]),
            ("Port the parser, then go", &[]),
            ("Port the parser to Rust", &["Port the parser to Rust"]),
        ] {
            assert_eq!(parts(request), expected, "{request}");
        }
    }
    #[test]
    fn a_clause_that_comes_after_the_rest_is_for_later() {
        for (request, expected) in [
            (
                "Fix the import and test it, when we're done, if it works, we have to check all other parsers",
                Some("when we're done, if it works, we have to check all other parsers"),
            ),
            (
                "Repara el importador. Cuando termines, revisa los demás analizadores.",
                Some("Cuando termines, revisa los demás analizadores."),
            ),
            (
                "Repariere den Import und wenn das fertig ist, prüfe die anderen Parser",
                Some("wenn das fertig ist, prüfe die anderen Parser"),
            ),
            ("修复导入功能，完成后，检查其他的解析器", Some("完成后，检查其他的解析器")),
            ("When we're done, check all other parsers", None),
            ("Show a message when it's done", None),
            ("Close the page when done, please", None),
            ("Fix the import", None),
        ] {
            assert_eq!(for_later(request).as_deref(), expected, "{request}");
        }
    }
}
