//! Logs: the prefixes of their lines, and the lines in which compilers and linters report.

use std::borrow::Cow;

use super::text::{clip, lines_with, one_line, without_colours};

/// Bytes at the beginning of a line in which its time must be.
const LONGEST_PREFIX: usize = 160;
/// Bytes of a date with a time: `2024-05-06T07:08:09`.
const TIME_BYTES: usize = 19;
/// Bytes of the name of a step.
const LONGEST_STEP: usize = 80;
/// Marks that runners of jobs put before a line.
const RUNNER_MARKS: [&str; 5] = ["##[error]", "##[warning]", "##[notice]", "##[debug]", "##[command]"];
/// Lines with which they fold others.
const FOLDS: [&str; 4] = ["##[group]", "##[endgroup]", "::group::", "::endgroup::"];
/// Most findings that are listed.
const MOST_FINDINGS: usize = 2;
/// Longest finding, in UTF-16 units.
const LONGEST_FINDING: usize = 140;
/// Most bytes of a line with a finding.
const LONGEST_LINE: usize = 400;
/// Words with which a compiler begins a finding.
const LEVELS: [&str; 6] = ["error", "fatal", "warning", "Error", "Fatal", "Warning"];

/// A log without the prefixes of its lines (job, step and time), without colours, and without lines that only fold
/// others. A text whose first line has no time stays as it is.
pub(super) fn without_prefixes(log: &str) -> Cow<'_, str> {
    if behind_time(first_line(log)).is_none_or(|rest| rest.trim().is_empty()) {
        return without_colours(log);
    }
    let lines = log.lines().map(|line| without_bare_colours(behind_time(line).unwrap_or(line)));
    let is_fold = |line: &str| FOLDS.iter().any(|fold| line.starts_with(fold));
    let told = lines.filter(|line| !is_fold(line));
    let told = told.map(|line| match RUNNER_MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
        Some(rest) => rest.to_owned(),
        None => line.into_owned(),
    });
    let told: Vec<String> = told.collect();
    Cow::Owned(without_colours(&told.join("\n")).into_owned())
}

/// Names of levels with which lines of logs begin.
const LOG_LEVELS: [&str; 9] = ["TRACE", "DEBUG", "INFO", "LOG", "NOTICE", "WARN", "WARNING", "ERROR", "CRITICAL"];

/// Fewest lines of a log. A person may begin a line like one.
const FEWEST_OF_LOG: usize = 2;

/// Whether all lines of a text are those of a log: each begins with a level and a mark, or with a time.
pub(crate) fn is_log(text: &str) -> bool {
    let begins = |line: &str| {
        let bare = line.trim_start_matches(['[', ' ']);
        let level = bare.split(|one: char| !one.is_ascii_uppercase()).next().unwrap_or_default();
        let is_level = LOG_LEVELS.contains(&level) && bare[level.len()..].starts_with([':', ']']);
        is_level || behind_time(line).is_some()
    };
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines().nth(FEWEST_OF_LOG - 1).is_some() && lines().all(begins)
}

fn first_line(log: &str) -> &str {
    log.lines().find(|line| !line.trim().is_empty()).unwrap_or_default()
}

/// The job step that printed a log: the name before the time of its first line.
pub(super) fn step_of(log: &str) -> Option<&str> {
    let line = first_line(log);
    let (before, _) =
        line.rsplit_once('\t').filter(|_| behind_time(line).is_some_and(|rest| !rest.trim().is_empty()))?;
    let step = before.rsplit('\t').next().unwrap_or(before).trim();
    (!step.is_empty() && step.len() <= LONGEST_STEP).then_some(step)
}

/// The text after the time of a line. Before the time, there may only be the names of a job and a step, separated by
/// tabs.
fn behind_time(line: &str) -> Option<&str> {
    let head = &line[..line.floor_char_boundary(LONGEST_PREFIX)];
    let start = head.rfind('\t').map_or(0, |tab| tab + 1);
    let line = line[start..].trim_start_matches(['\u{feff}', '[', ' ']);
    let bytes = line.as_bytes().get(..TIME_BYTES)?;
    let is_time = bytes.iter().enumerate().all(|(at, byte)| match at {
        4 | 7 => *byte == b'-',
        10 => matches!(byte, b'T' | b' '),
        13 | 16 => *byte == b':',
        _ => byte.is_ascii_digit(),
    });
    let rest = line.get(TIME_BYTES..).filter(|_| is_time)?;
    let is_of_time = |one: char| one.is_ascii_digit() || matches!(one, '.' | ',' | 'Z' | '+' | ']');
    let rest = rest.trim_start_matches(is_of_time);
    // The space after the time is not part of the line's indent.
    Some(rest.strip_prefix([' ', '\t']).unwrap_or(rest))
}

/// A line without codes for colours whose escape character is lost: `[36;1mtext[0m`.
fn without_bare_colours(line: &str) -> Cow<'_, str> {
    let mut parts = line.split('[');
    let mut out = parts.next().unwrap_or_default().to_owned();
    let mut is_changed = false;
    for part in parts {
        let code = part.len() - part.trim_start_matches(|one: char| one.is_ascii_digit() || one == ';').len();
        match part[code..].strip_prefix('m').filter(|_| code > 0) {
            Some(rest) => {
                out.push_str(rest);
                is_changed = true;
            }
            None => {
                out.push('[');
                out.push_str(part);
            }
        }
    }
    if is_changed { Cow::Owned(out) } else { Cow::Borrowed(line) }
}

/// The findings of a compiler or linter: the first two and the number of others, after the name of the job step that
/// printed them. `None` if there are none.
pub(super) fn findings(output: &str) -> Option<String> {
    let printed = without_prefixes(output);
    let mut found = lines_with(&printed, b':').map(str::trim).filter(|line| is_finding(line));
    let mut told: Vec<String> =
        found.by_ref().take(MOST_FINDINGS).map(|line| clip(&one_line(line), LONGEST_FINDING)).collect();
    told.dedup();
    let more = found.count();
    if more > 0 {
        told.push(format!("{more} more"));
    }
    let step = step_of(output).map(|step| format!("in the step \"{step}\": ")).unwrap_or_default();
    (!told.is_empty()).then(|| step + &told.join("; "))
}

/// Whether a line names a place in a file and what is wrong there: `src/a.rs:3:5: error: …`, `a.ts(3,5): error TS2322:
/// …`, `a.py:3:1: E501 …`. A match of a search also names a place, but shows the text there.
pub(super) fn is_finding(line: &str) -> bool {
    let says = || {
        let (place, said) =
            [": ", " - "].iter().filter_map(|mark| line.split_once(mark)).min_by_key(|(place, _)| place.len())?;
        let file =
            place.trim_end_matches(')').trim_end_matches(|one: char| one.is_ascii_digit() || matches!(one, ':' | ','));
        let file = file.trim_end_matches('(');
        let is_place = file.len() < place.len() && file.contains('.') && !file.contains(char::is_whitespace);
        let word = said.split([' ', ':', '[']).next().filter(|_| is_place)?;
        Some(LEVELS.contains(&word) || is_code(word))
    };
    line.len() <= LONGEST_LINE && says() == Some(true)
}

/// Whether a word is the code of a rule: `F541`, `E0308`, `SA5011`, `TS2322`.
fn is_code(word: &str) -> bool {
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let digits = word.len() - letters;
    (1..=4).contains(&letters)
        && (2..=5).contains(&digits)
        && word.bytes().skip(letters).all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefixes_of_logs_are_no_part_of_their_lines() {
        for (log, expected) in [
            (
                "build\tRun tests\t\u{feff}2024-05-06T07:08:09.1234567Z ##[group]Run make\n\
                 build\tRun tests\t2024-05-06T07:08:09.2Z [36;1mmake test[0m\n\
                 build\tRun tests\t2024-05-06T07:08:10.2Z   indented [x] line\n\
                 build\tRun tests\t2024-05-06T07:08:11.2Z ##[error]Process completed with exit code 2.",
                "make test\n  indented [x] line\nProcess completed with exit code 2.",
            ),
            ("2024-05-06 07:08:09,123 started\nno time here", "started\nno time here"),
            ("[2024-05-06T07:08:09Z] ready", "ready"),
            ("released on 2024-05-06 07:08:09", "released on 2024-05-06 07:08:09"),
            ("a\tb\tc", "a\tb\tc"),
            // A table with times is not a log.
            (
                "ok\tbuild\t2024-05-06T07:08:09Z\nbad\ttest\t2024-05-06T07:08:09Z",
                "ok\tbuild\t2024-05-06T07:08:09Z\nbad\ttest\t2024-05-06T07:08:09Z",
            ),
            ("2024-05-06 is a Monday", "2024-05-06 is a Monday"),
            ("2024-05-06T07:08:0\u{e9} x", "2024-05-06T07:08:0\u{e9} x"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("", ""),
        ] {
            assert_eq!(without_prefixes(log), expected, "{log}");
        }
        assert_eq!(step_of("build\tRun tests\t2024-05-06T07:08:09Z ok"), Some("Run tests"));
        assert_eq!(step_of("2024-05-06T07:08:09Z ok"), None);
        assert_eq!(step_of("ok\tbuild\t2024-05-06T07:08:09Z"), None);
    }

    #[test]
    fn what_a_person_types_in_capitals_is_no_log() {
        for log in [
            "INFO:     Started\nERROR:    no table",
            "[INFO] Started\n\n[ERROR] no table",
            "2024-05-06 07:08:09 started\n2024-05-06 07:08:10 ERROR no table",
        ] {
            assert!(is_log(log), "{log}");
        }
        for words in [
            "ERROR 404 on the menu page, please fix the route",
            "DEBUG the login",
            "DEBUG the login\nLOG each step",
            "ERROR: the menu is empty",
            "INFO: Started\nwhy?",
            "",
        ] {
            assert!(!is_log(words), "{words}");
        }
    }

    #[test]
    fn findings_name_a_place_and_what_is_wrong_there() {
        for line in [
            "lib/store.py:31:9: F841 local variable `rows` is assigned to but never used",
            "src/index.ts(12,5): error TS2322: Type 'string' is not assignable",
            "src/index.ts:12:5 - error TS2322: Type 'string' is not assignable",
            "main.go:8:2: SA4006: this value is never used",
            "src/a.c:3:5: warning: unused variable",
            "app/models.py:10: error: Incompatible types [assignment]",
        ] {
            assert!(is_finding(line), "{line}");
        }
        for line in [
            "lib/store.py:31:    rows = read()",
            "lib/store.py:31:9: the rows",
            "error: something failed",
            "Encoded: -home-a-b",
            "12:30: error in the clock",
            "see lib/store.py: error handling",
        ] {
            assert!(!is_finding(line), "{line}");
        }
        let output = "a.py:1:1: F401 x\n  |\na.py:2:1: F401 y\na.py:3:1: E741 l\na.py:4:1: E741 l";
        assert_eq!(findings(output).as_deref(), Some("a.py:1:1: F401 x; a.py:2:1: F401 y; 2 more"));
        assert_eq!(findings("nothing: here"), None);
    }
}
