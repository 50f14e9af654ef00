//! Counts: the lines in which test runners, compilers and linters say how many tests, failures, errors and warnings
//! there were.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::failing::FAILED_TEST;
use super::finder::automaton;
use super::text::{clip_middle, one_line, without_colours};
use crate::phrases::{PROGRAMS, listed};
use crate::text::suffix_utf16;

/// Words that follow a number of errors, in lower case.
const ERRORS: &[&str] = listed!(PROGRAMS, "outcomes: errors");
/// Words that follow a number of findings.
const FINDINGS: &[&str] = listed!(PROGRAMS, "outcomes: findings");
/// Other words that follow a number in the result of a run.
const OTHER_COUNTS: &[&str] = listed!(PROGRAMS, "outcomes: other counts");
/// Phrases that say that a program has repaired the errors that it counts.
const DEALT_WITH: &[&str] = &["0 remaining", "all fixed"];
/// Words that count the same in the summary of a run, one class a row.
const CLASSES: [&[&str]; 5] = [
    &["failed", "fail", "failing", "failures", "failure"],
    &["errors", "error"],
    &["passed", "pass", "passing"],
    &["tests", "test"],
    &["skipped"],
];
/// The first rows, whose words count what went wrong.
const BAD_CLASSES: usize = 2;
/// The row of failed tests.
const FAILED_CLASS: usize = 0;
/// Beginnings of lines that count the suites of a run or say how it ended, in lower case. A later line may count only the
/// tests that could be loaded, or those of another part.
const VERDICTS: &[&str] = listed!(PROGRAMS, "counts: verdicts");
/// The same at the end of the part of a run, perhaps long before the end of the output.
const FAILED_PART: &str = "test result: FAILED";
/// Starts the line in which unittest counts what failed, in lower case.
const FAILED_SUM: &str = "failed (";
/// Starts the line in which bun counts its tests behind the results.
const RAN: &str = "Ran ";
/// Marks before the counts of a summary: `# fail 1`, `ℹ fail 1`.
const COUNT_MARKS: [&str; 2] = ["# ", "\u{2139} "];
/// Fewest counts of a summary that are shown although nothing failed.
const FEWEST_COUNTS: usize = 2;
/// Number of last lines of an output that may count.
const LAST_COUNTED: usize = 60;
/// Bytes at the end of an output that are searched for lines in the form of a test runner.
const MOST_SEARCHED: usize = 400_000;
/// UTF-16 units at the end of a result that are searched for a line about its outcome.
const END_UNITS: usize = 4000;
/// Longest line with counts, in bytes.
const LONGEST_COUNTED: usize = 400;
/// Longest line of a summary with one count, in bytes.
const LONGEST_COUNT: usize = 48;
/// Longest line that is shown, in UTF-16 units.
const LONGEST_SHOWN: usize = 240;

/// How a run of tests, a linter or a compiler ended.
pub(super) struct Counted {
    /// The line with the counts.
    pub(super) line: String,
    /// Whether something failed.
    pub(super) has_failures: bool,
    /// Whether it counts errors or failed tests that remain, and not only findings.
    pub(super) are_errors: bool,
}

pub(super) static COUNTED_WORDS: LazyLock<AhoCorasick> =
    LazyLock::new(|| automaton([ERRORS, FINDINGS, OTHER_COUNTS].concat(), true));

fn is_counted(word: &str) -> bool {
    [ERRORS, FINDINGS, OTHER_COUNTS].iter().any(|words| words.contains(&word))
}

/// The last line that counts tests, failures, warnings and the like: one of the last lines, or any line in the form of
/// a test runner, since a script may print more after it. If it counts no failure, but another line of the summary does,
/// that one is the verdict.
pub(super) fn counted(output: &str) -> Option<Counted> {
    let end = suffix_utf16(output, END_UNITS);
    let last_lines = || end.lines().rev().take(LAST_COUNTED);
    let last = counted_in(last_lines()).or_else(|| {
        let start = output.len().saturating_sub(MOST_SEARCHED);
        let start = (start..output.len()).find(|at| output.is_char_boundary(*at))?;
        counted_in(output[start..].lines().rev().filter(|line| is_of_runner(line)))
    });
    if last.as_ref().is_some_and(|last| last.has_failures && !is_one_count(&last.line)) {
        return last;
    }
    let summary = Summary::of(last_lines());
    if summary.has_failures() || summary.replaces(last.as_ref().map(|last| last.line.as_str())) {
        return Some(summary.counted());
    }
    let failed = counted_in(last_lines().filter(|line| is_verdict(line))).filter(|verdict| verdict.has_failures);
    failed.or_else(|| failed_part(output)).or(last)
}

/// Whether a line sums up a run of tests in the form of a runner: `== 1 failed, 2 passed`, `Tests: 1 failed, 2 total`.
fn is_of_runner(line: &str) -> bool {
    let line = line.trim_start();
    ["==", "Tests: ", "Test Suites: ", "test result: "].iter().any(|start| line.starts_with(start))
}

/// Whether a line counts suites or says how a run ended, with a failure.
fn is_verdict(line: &str) -> bool {
    let line = line.trim_start();
    let starts = |start: &&&str| line.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start));
    VERDICTS.iter().any(|start| starts(&start)) && failed_count(line).is_some_and(|count| count > 0)
}

/// The last part of a run that failed before other parts passed.
fn failed_part(output: &str) -> Option<Counted> {
    let at = memchr::memmem::rfind(output.as_bytes(), FAILED_PART.as_bytes())?;
    counted_in(output[at..].lines().take(1))
}

fn counted_in<'a>(mut lines: impl Iterator<Item = &'a str>) -> Option<Counted> {
    lines.by_ref().filter(|line| line.len() < LONGEST_COUNTED).find_map(|line| {
        if !line.bytes().any(|byte| byte.is_ascii_digit()) || !COUNTED_WORDS.is_match(line) {
            return None;
        }
        let lower = line.to_lowercase();
        let counts = counts(&lower);
        let has_failures =
            counts.iter().any(|(count, word)| *count > 0 && (ERRORS.contains(word) || FINDINGS.contains(word)));
        let is_left = || !DEALT_WITH.iter().any(|words| lower.contains(words));
        let are_errors = counts.iter().any(|(count, word)| *count > 0 && ERRORS.contains(word)) && is_left();
        let line =
            || one_line(&clip_middle(without_level(line).trim_matches(['=', '-', ' ', '#', '*']), LONGEST_SHOWN));
        (!counts.is_empty()).then(|| Counted { line: line(), has_failures, are_errors })
    })
}

/// The number of failures in a line with counts; `None` if it counts nothing.
pub(crate) fn failed_count(line: &str) -> Option<u64> {
    let lower = line.to_lowercase();
    let counts = counts(&lower);
    let failed = counts.iter().filter(|(_, word)| ERRORS.contains(word)).map(|(count, _)| *count);
    let named = u64::from(line.starts_with(FAILED_TEST));
    (!counts.is_empty()).then(|| failed.fold(0, u64::saturating_add).max(named))
}

/// A line without the log level at its beginning.
fn without_level(line: &str) -> &str {
    ["[INFO] ", "[ERROR] ", "[WARNING] "].iter().find_map(|level| line.strip_prefix(level)).unwrap_or(line)
}

/// The last line that counts tests, failures, warnings and the like.
pub(super) fn counted_line(output: &str) -> Option<String> {
    counted(output).map(|counted| counted.line)
}

/// The numbers in a lower-case line with the words that they count: `2 failed`, `failures: 0`, `1 tests failed`.
fn counts(line: &str) -> Vec<(u64, &str)> {
    if let Some(sum) = line.trim_start().strip_prefix(FAILED_SUM) {
        let sums = sum.trim_end().trim_end_matches(')').split(", ").filter_map(|one| one.split_once('='));
        return sums.filter_map(|(word, count)| Some((count.parse().ok()?, word))).collect();
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let pairs = words.windows(2).filter_map(|pair| count(pair[0], pair[1]));
    let tests = words.windows(3).filter(|words| matches!(words[1], "test" | "tests"));
    let tests = tests.filter_map(|words| count(words[0], words[2]).filter(|(_, word)| ERRORS.contains(word)));
    pairs.chain(tests).collect()
}

fn count<'a>(left: &'a str, right: &'a str) -> Option<(u64, &'a str)> {
    // Most words are no numbers.
    if ![left, right].iter().any(|word| word.bytes().any(|byte| byte.is_ascii_digit())) {
        return None;
    }
    let bare = |word: &'a str| word.trim_matches(|character: char| !character.is_alphanumeric());
    let (first, second) = (bare(left), bare(right));
    match (first.parse(), second.parse()) {
        (Ok(count), _) if is_counted(second) && !left.ends_with([',', ';']) => Some((count, second)),
        (_, Ok(count)) if is_counted(first) && left.ends_with(':') => Some((count, first)),
        _ => None,
    }
}

/// The counts of a run that prints each on a line of its own, in the order of the lines.
struct Summary {
    /// Each with the row of [`CLASSES`].
    counts: Vec<(usize, u64, String)>,
}

impl Summary {
    /// The summary at the end of the lines, which come last first. A count of a known kind belongs to an earlier run.
    fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut counts: Vec<(usize, u64, String)> = Vec::new();
        for (class, count, shown) in lines.filter_map(one_count) {
            if counts.iter().any(|(known, ..)| *known == class) {
                break;
            }
            counts.push((class, count, shown));
        }
        counts.reverse();
        Self { counts }
    }

    fn has_failures(&self) -> bool {
        self.counts.iter().any(|(class, count, _)| *class < BAD_CLASSES && *count > 0)
    }

    /// Whether it tells more than the last line with counts, if there is one.
    fn replaces(&self, last: Option<&str>) -> bool {
        let tells_failed = self.counts.iter().any(|(class, ..)| *class == FAILED_CLASS);
        let is_less = last.is_none_or(|last| last.starts_with(RAN) || is_one_count(last));
        self.counts.len() >= FEWEST_COUNTS && tells_failed && is_less
    }

    fn counted(self) -> Counted {
        let has_failures = self.has_failures();
        let line = self.counts.into_iter().map(|(_, _, shown)| shown).collect::<Vec<_>>().join(", ");
        Counted { line, has_failures, are_errors: has_failures }
    }
}

fn is_one_count(line: &str) -> bool {
    one_count(line).is_some()
}

/// The row of [`CLASSES`], the count and the words of a line that has one count and nothing else: ` 4 fail`, `5 passed
/// (10s)`, `3 tests failed:`, `# fail 2`.
fn one_count(line: &str) -> Option<(usize, u64, String)> {
    if line.len() > LONGEST_COUNT || !line.bytes().any(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let line = without_colours(line);
    let line = line.trim();
    let class = |word: &str| CLASSES.iter().position(|words| words.iter().any(|own| own.eq_ignore_ascii_case(word)));
    if let Some(rest) = COUNT_MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
        let mut words = rest.split_whitespace();
        let (word, number, None) = (words.next()?, words.next()?.parse().ok()?, words.next()) else { return None };
        return Some((class(word)?, number, format!("{number} {word}")));
    }
    let (counted, time) = line.split_once(" (").unwrap_or((line, ""));
    if !time.is_empty() && !time.ends_with("s)") {
        return None;
    }
    let mut words = counted.trim_end_matches([':', '.']).split_whitespace();
    let (number, word) = (words.next()?.parse().ok()?, words.next()?);
    let kind = match words.next() {
        Some(last) if matches!(word, "test" | "tests") => class(last).filter(|class| *class < BAD_CLASSES)?,
        Some(_) => return None,
        None => class(word)?,
    };
    words.next().is_none().then(|| (kind, number, one_line(counted.trim_end_matches(':'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_failures_anywhere_in_a_summary_is_its_verdict() {
        for (runner, output, line, is_failed) in [
            (
                "bun",
                " 7 pass\n 4 fail\n 1 error\n 18 expect() calls\nRan 11 tests across 2 files. [73.12s]",
                "7 pass, 4 fail, 1 error",
                true,
            ),
            (
                "bun lists first",
                "2 tests failed:\n\u{2717} a > b [1.00ms]\n\n 7 pass\n 2 fail\nRan 9 tests across 2 files.",
                "7 pass, 2 fail",
                true,
            ),
            (
                "bun passes",
                " 6 pass\n 0 fail\n 8 expect() calls\nRan 6 tests across 2 files. [5.77s]",
                "6 pass, 0 fail",
                false,
            ),
            (
                "node",
                "# tests 3\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0",
                "3 tests, 2 pass, 1 fail, 0 skipped",
                true,
            ),
            (
                "node, spec",
                "\u{2139} tests 3\n\u{2139} pass 3\n\u{2139} fail 0\n\u{2139} duration_ms 46.1",
                "3 tests, 3 pass, 0 fail",
                false,
            ),
            (
                "deno",
                "FAILED | 1 passed | 1 failed (5ms)\n\nerror: Test failed",
                "FAILED | 1 passed | 1 failed (5ms)",
                true,
            ),
            (
                "mocha",
                "  2 passing (5ms)\n  1 failing\n\n  1) Parser\n       reads:\n     Error",
                "2 passing, 1 failing",
                true,
            ),
            (
                "jest",
                "Test Suites: 1 failed, 1 passed, 2 total\nTests:       3 passed, 3 total\nTime: 1 s",
                "Test Suites: 1 failed, 1 passed, 2 total",
                true,
            ),
            (
                "vitest",
                " Test Files  1 failed | 1 passed (2)\n      Tests  3 passed (3)\n",
                "Test Files 1 failed | 1 passed (2)",
                true,
            ),
            ("vitest passes", " Test Files  2 passed (2)\n      Tests  3 passed (3)\n", "Tests 3 passed (3)", false),
            (
                "playwright",
                "  1 failed\n    [chromium] > a.spec.ts:3:1 > opens\n  5 passed (10.1s)",
                "1 failed, 5 passed",
                true,
            ),
            ("pytest", "FAILED a.py::b\n==== 1 failed, 3 passed in 0.1s ====", "1 failed, 3 passed in 0.1s", true),
            (
                "unittest",
                "Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)",
                "FAILED (failures=1, errors=1)",
                true,
            ),
            ("unittest passes", "Ran 3 tests in 0.001s\n\nOK", "Ran 3 tests in 0.001s", false),
            (
                "cargo",
                "test result: FAILED. 1 passed; 1 failed; 0 ignored\nRunning b\ntest result: ok. 4 passed; 0 failed; 0 ignored",
                "test result: FAILED. 1 passed; 1 failed; 0 ignored",
                true,
            ),
            ("rspec", "3 examples, 1 failure\n\nrspec ./a_spec.rb:3", "3 examples, 1 failure", true),
            (
                "phpunit",
                "FAILURES!\nTests: 3, Assertions: 3, Failures: 1.",
                "Tests: 3, Assertions: 3, Failures: 1.",
                true,
            ),
            (
                "dotnet",
                "Failed!  - Failed:     1, Passed:     5, Total:     6\nPassed!  - Failed:     0, Passed:     2, Total:     2",
                "Failed! - Failed: 1, Passed: 5, Total: 6",
                true,
            ),
            (
                "ctest",
                "83% tests passed, 1 tests failed out of 6\n\nThe following tests FAILED:\n\t  2 - a (Failed)",
                "83% tests passed, 1 tests failed out of 6",
                true,
            ),
            (
                "ctest passes",
                "100% tests passed, 0 tests failed out of 6",
                "100% tests passed, 0 tests failed out of 6",
                false,
            ),
            ("gradle", "6 tests completed, 1 failed\n\nBUILD FAILED in 3s", "6 tests completed, 1 failed", true),
            (
                "maven",
                "[ERROR] Tests run: 6, Failures: 1, Errors: 0, Skipped: 0",
                "Tests run: 6, Failures: 1, Errors: 0, Skipped: 0",
                true,
            ),
            (
                "swift",
                "Executed 6 tests, with 1 failure (0 unexpected) in 0.1 seconds",
                "Executed 6 tests, with 1 failure (0 unexpected) in 0.1 seconds",
                true,
            ),
            ("exunit", "6 tests, 1 failure\n\nRandomized with seed 3", "6 tests, 1 failure", true),
            (
                "an earlier run",
                " 1 pass\n 1 fail\nRan 2 tests across 1 files.\n 2 pass\n 0 fail\nRan 2 tests across 1 files.",
                "2 pass, 0 fail",
                false,
            ),
            ("a listing", "12 files\n3 errors were mended before\n9 tests", "9 tests", false),
        ] {
            let counted = counted(output).unwrap();
            assert_eq!((counted.line.as_str(), counted.are_errors), (line, is_failed), "{runner}");
        }
        assert_eq!(failed_count("7 pass, 4 fail, 1 error"), Some(5));
        assert_eq!(failed_count("FAILED tests/test_a.py (6 passed)"), Some(1));
        assert!(counted("a\nb").is_none());
    }
}
