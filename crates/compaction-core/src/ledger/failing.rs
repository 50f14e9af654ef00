//! Failing names: the tests that failed, or the places that a compiler or linter complains about, in the forms that
//! test runners, compilers and linters print. A new runner is a new row in the tests.

use super::causes::{MARGIN, cause};
use super::text::{clip, one_line, without_colours};
use crate::text::{base_name, prefix_utf16, suffix_utf16, utf16_len};

/// Most names that are kept.
pub(super) const MOST_NAMES: usize = 5;
/// Most names that are compared. This bounds the work.
const MOST_COMPARED: usize = 200;
/// UTF-16 units that are read at the beginning of an output.
const START_UNITS: usize = 8_000;
/// UTF-16 units that are read at the end of an output.
const END_UNITS: usize = 24_000;
/// Number of last lines of an output in which its runner sums up.
const LAST_LINES: usize = 60;
/// Longest line that names a test, in bytes.
const LONGEST_LINE: usize = 600;
/// Longest name of a test, in UTF-16 units.
const LONGEST_NAME: usize = 100;
/// Longest place with its message, in UTF-16 units.
const LONGEST_PLACE: usize = 110;
/// Longest path that is shown whole, in UTF-16 units.
const LONGEST_PATH: usize = 48;
/// Number of last parts of a longer path that are shown.
const PARTS: usize = 2;

/// What failed in the last run of a check.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Failing {
    /// The first failing tests, or else the first places with their messages.
    pub names: Vec<String>,
    /// How many more there were.
    pub more: u64,
    /// The first error that the run printed; empty if none is known.
    pub cause: String,
}

impl Failing {
    /// Stored names. Any program may have stored them.
    pub(super) fn restored(names: &[String], more: u64, cause: &str) -> Self {
        let mut read = Names { list: Vec::new(), more };
        names.iter().take(MOST_NAMES).for_each(|name| read.add(name, LONGEST_PLACE));
        Self { cause: clip(&one_line(cause), LONGEST_PLACE), ..read.finish() }
    }

    /// The first error, unless `line` or a name already contains it.
    pub(crate) fn cause_not_in(&self, line: &str) -> Option<&str> {
        let message = self.cause.split_once(": ").map_or(self.cause.as_str(), |(_, message)| message);
        let message = message.trim_end_matches('\u{2026}');
        let is_new = !message.is_empty() && !line.contains(message);
        (is_new && !self.names.iter().any(|name| name.contains(message))).then_some(self.cause.as_str())
    }

    /// Whether it names anything.
    pub(crate) fn has_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// The names on one line, except those in `line`; empty if `line` has all of them. Tests of one file are listed
    /// without the file.
    pub(crate) fn told(&self, line: &str) -> String {
        let told: Vec<&str> = self.names.iter().map(|name| own_name(name)).collect();
        // Two files may have a test of the same name.
        let is_clear = |at: usize| told.iter().filter(|one| **one == told[at]).count() == 1;
        let shown = |at: usize| if is_clear(at) { told[at] } else { &self.names[at] };
        let message = |name: &'_ str| name.split_once(' ').map_or(name, |(_, message)| message).to_owned();
        let is_new = |at: &usize| {
            let name = shown(*at);
            !line.contains(name) && !line.contains(message(name).trim_end_matches('\u{2026}'))
        };
        let mut names: Vec<&str> = (0..told.len()).filter(is_new).map(shown).collect();
        if self.more > 0 && !names.is_empty() {
            names.push("\u{2026}");
        }
        names.join(", ")
    }
}

/// The name of a test without its file.
fn own_name(name: &str) -> &str {
    let file = name.split_once("::").filter(|(file, _)| file.contains('.') && !file.contains(' '));
    file.map_or(name, |(_, own)| own)
}

/// The names that the output of a failed run reports as failing. Tests take precedence over places.
pub(super) fn failing(output: &str) -> Failing {
    let (start, end) = (prefix_utf16(output, START_UNITS), suffix_utf16(output, END_UNITS));
    let is_whole = start.len() + end.len() >= output.len();
    // A cut line could name something that does not exist.
    let head = start.rfind('\n').map_or("", |at| &start[..at]);
    let tail = end.find('\n').map_or("", |at| &end[at + 1..]);
    let pieces = if is_whole { [output, ""] } else { [head, tail] };
    let (mut tests, mut suites, mut places) = (Names::default(), Names::default(), Names::default());
    // If pytest marks errors with a margin, other lines that name an error may be code.
    let (mut first, mut of_margin) = (None, None);
    for piece in pieces {
        let mut reader = Reader::default();
        let lines = piece.lines().filter(|line| line.len() <= LONGEST_LINE);
        for line in lines {
            let line = without_colours(line);
            if of_margin.is_none() && line.starts_with(MARGIN) {
                of_margin = cause(&line);
            }
            first = first.or_else(|| cause(&line));
            match reader.read(&line) {
                Some(Found::Test(name)) => tests.add(&name, LONGEST_NAME),
                Some(Found::Suite(name)) => suites.add(&name, LONGEST_NAME),
                Some(Found::Place(place)) => places.add(&place, LONGEST_PLACE),
                None => {}
            }
        }
    }
    let found = [tests, suites, places].into_iter().find(|names| !names.list.is_empty()).unwrap_or_default().finish();
    Failing { cause: of_margin.or(first).unwrap_or_default(), ..found }
}

/// Begins the lines in which pytest names what failed.
pub(super) const FAILED_TEST: &str = "FAILED ";

/// The last line of the end of `output` that names a test that failed.
pub(super) fn failed_test(output: &str) -> Option<&str> {
    let mut lines = suffix_utf16(output, END_UNITS).lines().rev().take(LAST_LINES);
    lines.find(|line| line.len() <= LONGEST_LINE && line.starts_with(FAILED_TEST) && failed_word(line).is_some())
}

/// Names in their order, each once.
#[derive(Debug, Default)]
struct Names {
    list: Vec<String>,
    more: u64,
}

impl Names {
    fn add(&mut self, name: &str, units: usize) {
        let name = clip(&one_line(name), units);
        if name.is_empty() {
            return;
        }
        // Tests replace their suite, and the full name with the suite replaces the name alone.
        for known in &mut self.list {
            if *known == name || ends_with_name(known, &name) || is_suite_of(&name, known) {
                return;
            }
            if ends_with_name(&name, known) || is_suite_of(known, &name) {
                *known = name;
                return;
            }
        }
        match self.list.len() {
            0..MOST_COMPARED => self.list.push(name),
            _ => self.more += 1,
        }
    }

    fn finish(mut self) -> Failing {
        let beyond = self.list.len().saturating_sub(MOST_NAMES);
        self.list.truncate(MOST_NAMES);
        Failing { names: self.list, more: self.more + beyond as u64, cause: String::new() }
    }
}

/// Whether `name` is the last part of `whole`.
fn ends_with_name(whole: &str, name: &str) -> bool {
    let before = whole.strip_suffix(name).unwrap_or_default();
    before.ends_with([' ', '.', ':', '/', '#', '>'])
}

/// Whether `test` is a part of the test `suite`, as Go names it.
fn is_suite_of(suite: &str, test: &str) -> bool {
    test.strip_prefix(suite).is_some_and(|rest| rest.starts_with('/'))
}

enum Found {
    Test(String),
    /// A file in which a test failed.
    Suite(String),
    Place(String),
}

/// What the lines before say about the next one.
#[derive(Debug, Default)]
struct Reader {
    /// Whether numbered lines name tests because the program has counted the failures.
    is_numbered: bool,
    /// The first part of a name that continues on the next line.
    begun: Option<String>,
    /// The file that a linter has named on a line of its own.
    file: Option<String>,
    /// The message of an error whose place follows.
    message: Option<String>,
}

impl Reader {
    /// What a line names.
    fn read(&mut self, whole: &str) -> Option<Found> {
        let line = whole.trim();
        if line.is_empty() {
            return None;
        }
        if let Some(begun) = self.begun.take() {
            // Mocha prints the suites of a test on lines of their own.
            if whole.starts_with("    ") && line.ends_with(':') {
                return Some(Found::Test(format!("{begun} {}", line.trim_end_matches(':'))));
            }
            self.begun = (whole.starts_with("    ") && line.len() < LONGEST_PATH).then(|| format!("{begun} {line}"));
            return None;
        }
        self.is_numbered |= counts_failing(line);
        if let Some(file) = suite(line) {
            return Some(Found::Suite(file.to_owned()));
        }
        if let Some(name) = test(line) {
            return Some(Found::Test(name));
        }
        if let Some(rest) = self.is_numbered.then(|| numbered(line)).flatten() {
            if rest.split(' ').next().is_some_and(|first| first.contains("::")) {
                let name = rest.split(' ').next().unwrap_or_default();
                return Some(Found::Test(name.rsplit('\\').next().unwrap_or(name).to_owned()));
            }
            if let Some(name) = rest.strip_prefix("test ").filter(|name| name.ends_with(')')) {
                return Some(Found::Test(name.to_owned()));
            }
            match rest.strip_suffix(':') {
                Some(name) => return Some(Found::Test(name.to_owned())),
                None => self.begun = Some(rest.to_owned()),
            }
            return None;
        }
        self.place(whole, line).map(Found::Place)
    }

    /// The place in a file that a line complains about, with its message.
    fn place(&mut self, whole: &str, line: &str) -> Option<String> {
        if let Some(place) = line.strip_prefix("--> ") {
            let message = self.message.take()?;
            let mut parts = place.split(':');
            return Some(located(parts.next()?, parts.next()?, &message));
        }
        if line.starts_with("error[") || line.starts_with("error: ") {
            self.message = line.split_once(": ").map(|(_, message)| message.to_owned());
        }
        let has_number = line
            .as_bytes()
            .array_windows::<2>()
            .any(|[mark, next]| matches!(mark, b':' | b'(' | b'[') && next.is_ascii_digit());
        // ESLint prints the name of the file once, and rows below it.
        if !whole.starts_with([' ', '\t']) {
            let is_file = line.contains(['/', '\\', '.']) && !line.contains([' ', '\t']) && !line.ends_with(':');
            self.file = is_file.then(|| line.to_owned());
        } else if let (true, Some(file), Some((number, rest))) = (has_number, &self.file, line.split_once(':')) {
            let rest = rest.trim_start_matches(|one: char| one.is_ascii_digit());
            if is_number(number)
                && let Some(message) = rest.trim_start().strip_prefix("error ")
            {
                return Some(located(file, number, message));
            }
        }
        if !has_number {
            return None;
        }
        let line = line.strip_prefix("[ERROR] ").unwrap_or(line);
        // `src/a.ts(3,7): error TS2345: message`, `Foo.java:[12,5] message`
        let marks = [("(", "): error "), (":[", "] "), ("(", "): fatal error ")];
        for (open, close) in marks {
            let named = line.split_once(close).and_then(|(place, message)| Some((place.rsplit_once(open)?, message)));
            if let Some(((file, at), message)) = named {
                let number = at.split(',').next().unwrap_or_default();
                if is_number(number) && is_path(file) {
                    return Some(located(file, number, message));
                }
            }
        }
        // `src/a.ts:3:7 - error TS2345: message`
        if let Some((place, message)) = line.split_once(" - error ") {
            let mut parts = place.rsplitn(3, ':');
            let (_, number, file) = (parts.next()?, parts.next()?, parts.next()?);
            return (is_number(number) && is_path(file)).then(|| located(file, number, message));
        }
        // `src/a.c:3:7: error: message`, `a.py:3: error: message`, `./a.go:5:2: undefined: x`
        let (place, message) = line.split_once(": ")?;
        let mut parts = place.rsplitn(3, ':');
        let (last, second) = (parts.next()?, parts.next()?);
        let (file, number) = match parts.next() {
            Some(file) if is_number(second) => (file, second),
            Some(_) => (place.strip_suffix(last)?.strip_suffix(':')?, last),
            None => (second, last),
        };
        let is_less = ["warning", "note", "info", "hint", "help"].iter().any(|kind| message.starts_with(kind));
        let message = message.strip_prefix("error: ").unwrap_or(message);
        (is_number(number) && is_number(last) && is_path(file) && !is_less).then(|| located(file, number, message))
    }
}

/// Whether a line counts failures in the form of a program that lists them by number below.
fn counts_failing(line: &str) -> bool {
    let counted = line.strip_suffix(" failing").is_some_and(is_number);
    let told = ["There was ", "There were "].iter().any(|start| line.starts_with(start));
    let told = told && [" failure:", " failures:", " error:", " errors:"].iter().any(|end| line.ends_with(end));
    counted || told || line.starts_with("Failures:") || line.starts_with("Running ExUnit")
}

/// The text after `12) `.
fn numbered(line: &str) -> Option<&str> {
    line.split_once(") ").filter(|(number, _)| is_number(number)).map(|(_, rest)| rest.trim())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a text is the path of a file.
fn is_path(text: &str) -> bool {
    let name = base_name(text);
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    let is_ending =
        |ending: &str| (1..=6).contains(&ending.len()) && ending.bytes().all(|one| one.is_ascii_alphanumeric());
    ending.is_some_and(is_ending) && !text.contains([' ', '(', '"', '\''])
}

/// A place with its message. Only the last parts of a long path are shown.
fn located(path: &str, line: &str, message: &str) -> String {
    let end = path.rmatch_indices(['/', '\\']).nth(PARTS - 1).map_or(path, |(at, mark)| &path[at + mark.len()..]);
    let path = if utf16_len(path) > LONGEST_PATH { end } else { path };
    format!("{path}:{line} {}", one_line(message))
}

/// The test that a line reports as failing. The line has no white space around it.
fn test(line: &str) -> Option<String> {
    let first = line.as_bytes().first()?;
    let name = match first {
        b'F' => failed_word(line),
        b'E' => line.strip_prefix("ERROR ").and_then(pytest).or_else(|| unittest(line.strip_prefix("ERROR: ")?)),
        b'-' => go(line).or_else(|| line.strip_prefix("---- ")?.strip_suffix(" stdout ----").map(str::to_owned)),
        b't' => line.strip_prefix("test ")?.strip_suffix(" ... FAILED").map(str::to_owned),
        b'[' => maven(line).or_else(|| google(line)),
        b'n' => line.strip_prefix("not ok ").and_then(|rest| Some(rest.split_once(" - ")?.1.to_owned())),
        b'r' => line.strip_prefix("rspec ").and_then(rspec),
        b'(' => line.strip_prefix("(fail) ").map(|name| without_time(name).to_owned()),
        b'T' => line.strip_prefix("Test Case '").and_then(|rest| Some(rest.split_once("' failed (")?.0.to_owned())),
        _ => marked(line),
    };
    name.or_else(|| behind(line)).map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// The test in a line that begins with a form of `failed`.
fn failed_word(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("FAILED ") {
        return pytest(rest);
    }
    if let Some(rest) = line.strip_prefix("FAIL: ") {
        return unittest(rest);
    }
    if let Some(rest) = line.strip_prefix("Failed ").filter(|rest| rest.ends_with(']')) {
        return rest.rsplit_once(" [").map(|(name, _)| name.to_owned());
    }
    let rest = line.strip_prefix("FAIL ")?.trim_start();
    // cargo-nextest: `FAIL [   0.005s] crate module::test`
    if let Some((time, name)) = rest.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        return time.trim().ends_with('s').then(|| name.trim().to_owned());
    }
    // vitest prints the file with the test.
    (rest.contains(" > ") && rest.split(' ').any(is_path)).then(|| rest.to_owned())
}

/// The file that jest or vitest names before its tests.
fn suite(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("FAIL ")?.trim_start();
    let file = rest.split(' ').next().filter(|file| is_path(file))?;
    (!rest.contains(" > ")).then_some(file)
}

/// `tests/test_a.py::test_b - Error`, or the file that could not be collected.
fn pytest(rest: &str) -> Option<String> {
    let name = rest.split(" - ").next().unwrap_or(rest).trim();
    let file = name.split("::").next().unwrap_or(name);
    (is_path(file)).then(|| name.to_owned())
}

/// `test_b (tests.test_a.Case)` or `test_b (tests.test_a.Case.test_b)`.
fn unittest(rest: &str) -> Option<String> {
    let (name, case) = rest.strip_suffix(')')?.split_once(" (")?;
    let is_one = !name.contains(' ') && case.contains('.') && !case.contains(' ');
    is_one.then(|| case.strip_suffix(name).map_or_else(|| format!("{case}.{name}"), |case| format!("{case}{name}")))
}

/// `--- FAIL: TestA/case (0.00s)`.
fn go(line: &str) -> Option<String> {
    line.strip_prefix("--- FAIL: ")?.split(' ').next().map(str::to_owned)
}

/// `[ERROR] FooTest.testBar:12 expected`, `[ERROR] testBar(com.x.FooTest)  Time elapsed: 0.1 s  <<< FAILURE!`.
fn maven(line: &str) -> Option<String> {
    let rest = line.strip_prefix("[ERROR] ")?.trim();
    let word = rest.split_whitespace().next()?;
    if rest.contains("<<< FAILURE!") || rest.contains("<<< ERROR!") {
        let (method, class) = match word.strip_suffix(')').and_then(|word| word.split_once('(')) {
            Some((method, class)) => (method, class),
            None => {
                let (class, method) = word.rsplit_once('.')?;
                (method, class)
            }
        };
        let class = class.rsplit('.').next().unwrap_or(class);
        return Some(format!("{class}.{method}"));
    }
    let (name, rest) = word.split_once(':')?;
    let is_name =
        name.split('.').count() == 2 && name.bytes().all(|one| one.is_ascii_alphanumeric() || b"._$".contains(&one));
    let is_test = is_name && rest.starts_with(|first: char| first.is_ascii_digit()) && !is_source(name);
    is_test.then(|| name.to_owned())
}

/// Whether a word of two parts is a file of a language that such programs compile.
fn is_source(name: &str) -> bool {
    [".java", ".kt", ".scala", ".groovy", ".xml"].iter().any(|ending| name.ends_with(ending))
}

/// `[  FAILED  ] Suite.Name (0 ms)`.
fn google(line: &str) -> Option<String> {
    let name = line.strip_prefix("[  FAILED  ] ")?;
    let name = name.split([' ', ',']).next().filter(|name| name.contains('.'))?;
    Some(name.to_owned())
}

/// `./spec/a_spec.rb:12 # A adds numbers`.
fn rspec(rest: &str) -> Option<String> {
    let (place, name) = rest.split_once(" # ")?;
    Some(format!("{} ({})", name.trim(), place.trim().trim_start_matches("./")))
}

/// The test in a line that begins with a mark, as jest, vitest and others print it.
fn marked(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("\u{25cf} ") {
        let is_notice =
            ["Console", "Test suite failed to run", "Cannot log after"].iter().any(|start| name.starts_with(start));
        return (!is_notice).then(|| name.to_owned());
    }
    let marks = ["\u{2715} ", "\u{d7} ", "\u{2717} ", "\u{2716} ", "\u{2718} "];
    let rest = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
    let name = without_time(rest);
    (name.len() < rest.len() || rest.contains(" > ")).then(|| name.to_owned())
}

/// The test in a line in which the verdict follows the name.
fn behind(line: &str) -> Option<String> {
    if let Some(name) = line.strip_suffix("[FAIL]") {
        // xUnit begins the line with its own name and the time.
        let name = name.trim();
        return name.rsplit_once("] ").map_or(Some(name), |(_, name)| Some(name.trim())).map(str::to_owned);
    }
    if let Some(name) = line.strip_suffix(" (Failed)") {
        return Some(name.split_once(" - ")?.1.to_owned());
    }
    let (name, rest) = line.rsplit_once(" FAILED")?;
    let name = name.trim();
    match rest.trim() {
        "" if name.contains(" > ") => Some(name.trim_end_matches("()").to_owned()),
        // pytest prints the progress after it, deno the time.
        rest if name.contains("::") && !name.contains(' ') && (rest.is_empty() || rest.starts_with('[')) => {
            Some(name.to_owned())
        }
        rest if rest.starts_with('(') && rest.ends_with("s)") => Some(name.strip_suffix(" ...")?.to_owned()),
        _ => None,
    }
}

/// A name without the time that its test took: ` (5 ms)`, ` 5ms`, ` [1.00ms]`.
fn without_time(name: &str) -> &str {
    let Some((own, time)) = name.trim_end_matches(" ms)").trim_end().rsplit_once([' ', '(', '[']) else { return name };
    let time = time.trim_matches(|one: char| matches!(one, '(' | ')' | '[' | ']'));
    let is_time = time.trim_end_matches(['m', 's']).parse::<f64>().is_ok();
    let has_unit = name.ends_with("s)") || name.ends_with("ms") || name.ends_with("s]");
    if is_time && has_unit { own.trim_end_matches([' ', '(', '[']) } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_failing_tests_are_known_for_many_runners() {
        for (runner, output, expected) in [
            (
                "pytest",
                "tests/test_a.py::test_one PASSED [ 33%]\ntests/test_a.py::test_two FAILED [ 66%]\n\
                 FAILED tests/test_a.py::test_two - AssertionError: assert 1 == 2\n\
                 FAILED tests/test_a.py::test_three[a b] - KeyError\n== 2 failed, 1 passed in 0.1s ==",
                &["tests/test_a.py::test_two", "tests/test_a.py::test_three[a b]"] as &[&str],
            ),
            (
                "pytest cannot collect",
                "ERROR tests/test_core.py - ImportError: no x\nERROR: not found: a b",
                &["tests/test_core.py"],
            ),
            (
                "unittest",
                "FAIL: test_div (tests.test_calc.Calc)\nERROR: test_sub (tests.test_calc.Calc.test_sub)",
                &["tests.test_calc.Calc.test_div", "tests.test_calc.Calc.test_sub"],
            ),
            (
                "cargo",
                "test parse::empty ... FAILED\ntest parse::full ... ok\n---- parse::empty stdout ----\nfailures:\n    parse::empty",
                &["parse::empty"],
            ),
            ("nextest", "        FAIL [   0.005s] store index::empty", &["store index::empty"]),
            (
                "jest",
                "FAIL src/a.test.js\n  math\n    \u{2715} adds numbers (5 ms)\n    \u{2713} subtracts (1 ms)\n\n  \u{25cf} math \u{203a} adds numbers\n",
                &["math \u{203a} adds numbers"],
            ),
            ("a suite", "FAIL src/a.test.js\n  \u{25cf} Test suite failed to run\n", &["src/a.test.js"]),
            (
                "vitest",
                " FAIL  src/a.test.ts > math > adds numbers\n   \u{d7} adds numbers 5ms\nAssertionError: expected 1",
                &["src/a.test.ts > math > adds numbers"],
            ),
            (
                "go",
                "--- FAIL: TestParse (0.00s)\n    --- FAIL: TestParse/empty (0.00s)\nFAIL\tx/y\t0.1s",
                &["TestParse/empty"],
            ),
            (
                "maven",
                "[ERROR] Tests run: 3, Failures: 1 <<< FAILURE! - in com.x.CalcTest\n[ERROR] adds(com.x.CalcTest)  Time elapsed: 0.01 s  <<< FAILURE!\n[ERROR]   CalcTest.adds:12 expected: <1> but was: <2>",
                &["CalcTest.adds"],
            ),
            (
                "gradle",
                "CalcTest > adds() FAILED\n    org.opentest4j.AssertionFailedError at CalcTest.java:12",
                &["CalcTest > adds"],
            ),
            (
                "mocha",
                "  2 passing (5ms)\n  1 failing\n\n  1) Parser\n       reads an empty file:\n     AssertionError: expected 1",
                &["Parser reads an empty file"],
            ),
            (
                "rspec",
                "rspec ./spec/a_spec.rb:12 # Parser reads an empty file",
                &["Parser reads an empty file (spec/a_spec.rb:12)"],
            ),
            (
                "phpunit",
                "There was 1 failure:\n\n1) Tests\\Unit\\CalcTest::testAdds\nFailed asserting that 1 is 2.",
                &["CalcTest::testAdds"],
            ),
            (
                "dotnet",
                "  Failed Shop.CalcTests.Adds [12 ms]\n[xUnit.net 00:00:00.53]     Shop.CalcTests.Adds [FAIL]",
                &["Shop.CalcTests.Adds"],
            ),
            ("googletest", "[  FAILED  ] Calc.Adds (0 ms)\n[  FAILED  ] 1 test, listed below:", &["Calc.Adds"]),
            (
                "exunit",
                "Failures:\n  1) test adds numbers (CalcTest)\n     test/calc_test.exs:5",
                &["adds numbers (CalcTest)"],
            ),
            ("tap", "ok 1 - opens\nnot ok 2 - closes the file", &["closes the file"]),
            ("bun", "(fail) math > adds numbers [1.20ms]", &["math > adds numbers"]),
            (
                "\u{1b}colours",
                "\u{1b}[31mFAILED\u{1b}[0m tests/test_a.py::\u{1b}[1mtest_one\u{1b}[0m - KeyError",
                &["tests/test_a.py::test_one"],
            ),
            (
                "none",
                "Preparing metadata failed\n\u{d7} Encountered error while generating package metadata.\n1) first do this\nFAIL",
                &[],
            ),
        ] {
            assert_eq!(failing(output).names, expected, "{runner}");
        }
    }

    #[test]
    fn the_places_that_compilers_and_linters_name_are_known() {
        for (tool, output, expected) in [
            (
                "tsc",
                "src/a.ts(3,7): error TS2345: No such type.\nsrc/b.ts:4:1 - error TS1005: ';' expected.",
                &["src/a.ts:3 TS2345: No such type.", "src/b.ts:4 TS1005: ';' expected."] as &[&str],
            ),
            (
                "eslint",
                "/home/dev/a/src/app.js\n  3:7   error  'x' is not defined  no-undef\n  4:1  warning  Too long  max-len\n\n\u{2716} 2 problems (1 error, 1 warning)",
                &["/home/dev/a/src/app.js:3 'x' is not defined no-undef"],
            ),
            (
                "rustc",
                "error[E0308]: mismatched types\n --> src/a.rs:3:4\n  |\n3 | let x",
                &["src/a.rs:3 mismatched types"],
            ),
            ("gcc", "src/a.c:3:7: error: 'x' undeclared\nsrc/a.c:4:1: warning: unused", &["src/a.c:3 'x' undeclared"]),
            (
                "mypy",
                "app/a.py:3: error: Incompatible types  [assignment]",
                &["app/a.py:3 Incompatible types [assignment]"],
            ),
            ("go", "./a.go:5:2: undefined: x", &["./a.go:5 undefined: x"]),
            (
                "javac",
                "[ERROR] /home/dev/shop/src/main/java/com/shop/store/Store.java:[12,5] cannot find symbol",
                &["store/Store.java:12 cannot find symbol"],
            ),
            ("a log", "12:30:05: error: it stopped\nhttp://localhost:80: refused", &[]),
        ] {
            assert_eq!(failing(output).names, expected, "{tool}");
        }
    }

    #[test]
    fn the_first_names_are_kept_and_the_others_counted() {
        let output: String = (1..=9).map(|number| format!("FAILED tests/test_a.py::test_{number} - Error\n")).collect();
        let found = failing(&output);
        assert_eq!((found.names.len(), found.more), (5, 4));
        assert_eq!(found.told("9 failed in 0.1s"), "test_1, test_2, test_3, test_4, test_5, \u{2026}");
        let listing = "        Exception: If no block is left\nE       ValueError: no block\n1 failed in 0.1s";
        assert_eq!(failing(listing).cause, "ValueError: no block");
        let one = failing("src/a.ts(3,7): error TS2345: No such type.");
        assert_eq!(one.told("src/a.ts(3,7): error TS2345: No such type."), "", "the line says it");
        let same = failing("FAILED a/test_x.py::test_one - E\nFAILED b/test_x.py::test_one - E");
        assert_eq!(same.told("2 failed"), "a/test_x.py::test_one, b/test_x.py::test_one");
        let many: String = (0..100_000).map(|number| format!("--- FAIL: Test{number} (0.00s)\n")).collect();
        assert_eq!(failing(&many).names.len(), 5);
    }
}
