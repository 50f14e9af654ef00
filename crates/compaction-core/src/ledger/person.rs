//! The words of a person: without the text that an agent's harness adds, and including answers to
//! questions of tools and reasons for a refusal.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::cues::is_substantive;
use super::text::{WordList, word_list};
use crate::phrases::{HARNESSES, listed};
use crate::tools::is_refusal;

/// Elements that a harness adds to a person's messages. Their content is not the person's.
const HARNESS_ELEMENTS: &[&str] = listed!(HARNESSES, "person: harness elements");
/// Elements around words of the person. The tags are removed, the words stay.
const PERSON_ELEMENTS: &[&str] = listed!(HARNESSES, "person: person elements");
/// Most bytes of the name of an element.
const LONGEST_ELEMENT: usize = 40;
/// Words in the names of elements in which a person shows something.
const SHOWN_ELEMENTS: &[&str] = listed!(HARNESSES, "person: shown elements");
/// Elements inside the report of a harness.
const PARTS_OF_REPORTS: &[&str] = listed!(HARNESSES, "person: parts of reports");
/// Those of them that state an outcome.
const NEWS_IN_REPORTS: &[&str] = listed!(HARNESSES, "person: news in reports");
/// Beginnings of whole lines that a harness writes.
const HARNESS_LINES: &[&str] = listed!(HARNESSES, "person: harness lines");
static HARNESS_LINE: LazyLock<Vec<Finder<'static>>> =
    LazyLock::new(|| HARNESS_LINES.iter().map(|start| Finder::new(*start)).collect());
/// Beginnings of messages that a harness writes in the name of the person.
const HARNESS_MESSAGES: &[&str] = listed!(HARNESSES, "person: harness messages");
/// Lines with which such messages end. The harness may add elements after them.
const HARNESS_ENDINGS: &[&str] = listed!(HARNESSES, "person: harness endings");
/// Begins what an editor says about itself before a request, and the heading of that request.
const EDITOR_CONTEXT: (&str, &str) = ("# Context from my IDE setup:", "## My request for Codex:");
/// Texts before the words of a person in the result of a call that they refused or answered.
const BEFORE_WORDS: &[&str] = listed!(HARNESSES, "person: before words");
/// Texts that a harness adds after the words of a person, in lower case.
const AFTER_WORDS: &[&str] = listed!(HARNESSES, "person: after words");
/// Texts before and after a message that a person sent while the model was working. The harness puts it into a
/// [`REMINDER`] of the next message or result.
const SENT_WHILE_WORKING: &[(&str, &[&str])] = &[
    (
        "The user sent a new message while you were working:",
        &["IMPORTANT: After completing your current task", "This is how Claude Code surfaces"],
    ),
    ("The user sent the following message:", &["Please address this message and continue with your tasks"]),
];
/// The element that contains such a message.
const REMINDER: &str = "system-reminder";
/// A piece of each text before such a message.
static SENT_MARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("The user sent "));
/// The words of a person in a user message; empty if a harness wrote all of it.
pub(super) fn words(text: &str) -> Cow<'_, str> {
    if starts_as_harness(text) || report(text).is_some() {
        return Cow::Borrowed("");
    }
    let text = after_automated(after_set_up(after_editor_context(text)));
    let mut rest = with_sent(text).or_else(|| without_attached(text)).map_or(Cow::Borrowed(text), Cow::Owned);
    // One search for all end tags is faster than one for each, and most texts have none of these.
    let mut ends = EndTags::of(&rest);
    for element in HARNESS_ELEMENTS {
        if ends.has(&rest, element)
            && let Some(without) = without_element(&rest, element)
        {
            rest = Cow::Owned(without);
            ends = EndTags::of(&rest);
        }
    }
    for element in ends.environment_elements(&rest) {
        // If there is nothing else, the request is inside it.
        if let Some(without) = without_element(&rest, &element).filter(|without| is_substantive(without)) {
            rest = Cow::Owned(without);
            ends = EndTags::of(&rest);
        }
    }
    for element in PERSON_ELEMENTS {
        if ends.has(&rest, element)
            && let Some(bare) = unwrapped(&rest, element)
        {
            rest = Cow::Owned(bare);
            ends = EndTags::of(&rest);
        }
    }
    if HARNESS_LINE.iter().any(|start| start.find(rest.as_bytes()).is_some()) {
        let kept: Vec<&str> = rest.lines().filter(|line| !is_harness_line(line)).collect();
        if kept.len() < rest.lines().count() {
            rest = Cow::Owned(kept.join("\n"));
        }
    }
    rest
}

/// A message without the content of files that a harness attaches; `None` if it has none.
fn without_attached(text: &str) -> Option<String> {
    let [start, end] = ATTACHED;
    let (before, rest) = text.split_once(start)?;
    // Without its end, nobody knows where the person's words continue.
    let (_, behind) = rest.rsplit_once(end)?;
    (before.is_empty() || before.ends_with('\n'))
        .then(|| format!("{before}{}", behind.trim_start()).trim_end().to_owned())
}

/// The lines around the content of files that a harness attaches.
const ATTACHED: [&str; 2] = ["--- Content from referenced files ---", "--- End of content ---"];

/// The request after what an editor says about itself, or the whole text.
fn after_editor_context(text: &str) -> &str {
    let (start, heading) = EDITOR_CONTEXT;
    let request = text.trim_start().strip_prefix(start).and_then(|rest| rest.split_once(heading));
    request.map_or(text, |(_, request)| request.trim_start())
}

/// The offsets right after the `</` of each end tag that a harness may have written.
struct EndTags(Vec<usize>);

impl EndTags {
    fn of(text: &str) -> Self {
        let is_known = |at: &usize| {
            let rest = &text.as_bytes()[*at..];
            let end = memchr::memchr(b'>', &rest[..rest.len().min(LONGEST_ELEMENT + 1)]);
            let name = end.map_or(&[][..], |end| &rest[..end]);
            HARNESS_ELEMENTS.iter().chain(PERSON_ELEMENTS).any(|element| element.as_bytes() == name)
                || names_environment(name)
        };
        Self(memchr::memmem::find_iter(text.as_bytes(), b"</").map(|at| at + 2).filter(is_known).collect())
    }

    /// The names of elements about the environment of a request, except [`HARNESS_ELEMENTS`].
    fn environment_elements(&self, text: &str) -> Vec<String> {
        let names = self.0.iter().filter_map(|at| text[*at..].split_once('>').map(|(name, _)| name));
        let names = names.filter(|name| names_environment(name.as_bytes()) && !HARNESS_ELEMENTS.contains(name));
        let mut names: Vec<String> = names.map(str::to_owned).take(MOST_ENVIRONMENT_ELEMENTS).collect();
        names.dedup();
        names
    }

    /// Whether `text`, from which they were read, has the end tag of `name`.
    fn has(&self, text: &str, name: &str) -> bool {
        let ends = |at: &usize| text[*at..].strip_prefix(name).is_some_and(|rest| rest.starts_with('>'));
        self.0.iter().any(ends)
    }
}

/// Whether the name of an element says that it describes the environment of a request: its first word is in
/// [`ENVIRONMENT_FIRST_WORDS`] and its last word in [`ENVIRONMENT_LAST_WORDS`].
fn names_environment(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let mut words = name.split(['_', '-']);
    let first = words.next().is_some_and(|first| ENVIRONMENT_FIRST_WORDS.has(first));
    first && words.next_back().is_some_and(|last| ENVIRONMENT_LAST_WORDS.has(last))
}

/// The request after the set-up text of an agent, which gives the day, the system and a directory listing; empty if
/// there is nothing else.
fn after_set_up(text: &str) -> &str {
    let bare = text.trim_start();
    let first = bare.lines().next().unwrap_or_default();
    if !(first.starts_with("This is the ") && first.to_ascii_lowercase().contains("setting up the context")) {
        return text;
    }
    let is_of_tree = |line: &str| line.trim_start().starts_with(['\u{251c}', '\u{2514}', '\u{2502}']);
    let is_of_set_up = |line: &str| is_of_tree(line) || SET_UP.iter().any(|start| line.trim_start().starts_with(start));
    let mut end = 0;
    let mut at = 0;
    for line in bare.split_inclusive('\n') {
        at += line.len();
        if is_of_set_up(line) || line.trim_end().ends_with('/') && !line.trim().contains(' ') {
            end = at;
        }
    }
    bare[end..].trim_start()
}

/// Beginnings of lines of such a text.
const SET_UP: &[&str] = listed!(HARNESSES, "person: set-up");
/// First words of the names of elements that describe the environment. Elements with other names are what a person
/// shows.
static ENVIRONMENT_FIRST_WORDS: WordList = word_list!(HARNESSES, "person: surrounding");
/// Last words of these names.
static ENVIRONMENT_LAST_WORDS: WordList = word_list!(HARNESSES, "person: surroundings");
/// Most such elements in a message.
const MOST_ENVIRONMENT_ELEMENTS: usize = 8;

/// `text` with the messages that a person sent while the model was working in place of the reminders around them;
/// `None` if there is none.
fn with_sent(text: &str) -> Option<String> {
    SENT_MARK.find(text.as_bytes())?;
    let close = format!("</{REMINDER}>");
    let (mut out, mut from, mut is_sent) = (String::new(), 0, false);
    while let Some((start, inside)) = opening(&text[from..], REMINDER) {
        let (start, inside) = (from + start, from + inside);
        let Some(length) = text[inside..].find(&close) else { break };
        out.push_str(&text[from..start]);
        let end = inside + length + close.len();
        match sent(&text[inside..inside + length]) {
            Some(words) => {
                is_sent = true;
                out.push_str(words);
            }
            None => out.push_str(&text[start..end]),
        }
        from = end;
    }
    out.push_str(&text[from..]);
    is_sent.then_some(out)
}

/// The message of a person inside a reminder.
fn sent(reminder: &str) -> Option<&str> {
    let reminder = reminder.trim();
    SENT_WHILE_WORKING.iter().find_map(|(before, behind)| {
        let words = reminder.strip_prefix(before)?;
        let end = behind.iter().filter_map(|mark| words.rfind(mark)).min().unwrap_or(words.len());
        Some(words[..end].trim())
    })
}

/// The messages that a person sent while the model was working, from the reminders at the end of a tool result.
pub(super) fn sent_while_working(result: &str) -> Option<String> {
    SENT_MARK.find(result.as_bytes())?;
    let close = format!("</{REMINDER}>");
    let (mut rest, mut found) = (result.trim_end(), Vec::new());
    while let Some(before) = rest.strip_suffix(&close) {
        let Some(start) = before.rfind(&format!("<{REMINDER}>")) else { break };
        found.extend(sent(&before[start + REMINDER.len() + 2..]).filter(|words| !words.is_empty()));
        rest = before[..start].trim_end();
    }
    found.reverse();
    (!found.is_empty()).then(|| found.join("\n"))
}

/// Whether a message begins as one of a harness does.
pub(super) fn starts_as_harness(text: &str) -> bool {
    let text = text.trim_start();
    HARNESS_MESSAGES.iter().any(|start| text.starts_with(start))
}

/// The text after the line with which a harness says that it wrote everything before; the whole text if there is no
/// such line.
fn after_automated(text: &str) -> &str {
    let end = HARNESS_ENDINGS.iter().filter_map(|end| Some(text.rfind(end)? + end.len())).max();
    end.map_or(text, |end| &text[end..])
}

/// The content of a harness report: a message that is one element and nothing else. An element whose name is one word
/// counts only if it contains elements of a report.
pub(super) fn report(text: &str) -> Option<&str> {
    let mut text = text.trim();
    if !text.starts_with('<') {
        return None;
    }
    // A line that says where the whole report is may follow.
    while let Some((before, _)) = text.rsplit_once('\n').filter(|(_, last)| is_harness_line(last)) {
        text = before.trim_end();
    }
    let (tag, behind) = text[1..].split_once('>')?;
    let name = tag.split_whitespace().next().filter(|name| name.len() <= LONGEST_ELEMENT)?;
    let inside = behind.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
    // An earlier element with this name may have ended before.
    let mut depth = 1;
    for (at, _) in inside.match_indices(name) {
        let before = &inside[..at];
        if before.ends_with("</") {
            depth -= 1;
        } else if before.ends_with('<') {
            depth += 1;
        }
        if depth == 0 {
            return None;
        }
    }
    // Reminders may contain words of the person, and a request may be inside an element about its environment.
    let is_known = || HARNESS_ELEMENTS.contains(&name) && name != REMINDER;
    let is_of_person = HARNESS_ELEMENTS.contains(&name)
        || PERSON_ELEMENTS.contains(&name)
        || names_environment(name.as_bytes())
        || name.split(['_', '-']).any(|word| SHOWN_ELEMENTS.contains(&word));
    let is_name =
        name.bytes().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || matches!(one, b'-' | b'_'));
    // Files have no element names with other marks, so the name was masked.
    let is_masked = || name.contains(['[', '*', '\u{2026}', '#', '\u{2588}']);
    let is_of_harness = || is_name && (name.contains(['-', '_']) || has_parts(inside)) || is_masked();
    (is_known() || !is_of_person && is_of_harness()).then_some(inside)
}

/// Whether a message is one element that only describes the environment.
pub(crate) fn only_describes_environment(text: &str) -> bool {
    let name = text.trim_start().strip_prefix('<').and_then(|tag| tag.split(['>', ' ']).next());
    name.is_some_and(|name| names_environment(name.as_bytes())) && report(text).is_some()
}

fn is_harness_line(line: &str) -> bool {
    HARNESS_LINES.iter().any(|start| line.trim_start().starts_with(start))
}

/// Whether a text has two of the elements of a report.
fn has_parts(text: &str) -> bool {
    PARTS_OF_REPORTS.iter().filter(|name| element(text, name).is_some()).nth(1).is_some()
}

/// The content of the first element with a name.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, inside) = opening(text, name)?;
    let end = memchr::memmem::find(&text.as_bytes()[inside..], format!("</{name}>").as_bytes())?;
    Some(text[inside..inside + end].trim())
}

/// The outcome of the work that a harness reports, and the other lines of the report without one-line elements.
pub(super) fn news(report: &str) -> (Vec<&str>, String) {
    let news = NEWS_IN_REPORTS.iter().filter_map(|name| element(report, name)).filter(|news| !news.is_empty());
    let is_element = |line: &&str| line.starts_with('<') && line.ends_with('>');
    // An element of several lines begins or ends on this line.
    let bare = |line: &'_ str| {
        let line = line.strip_prefix('<').and_then(|line| line.split_once('>')).map_or(line, |(_, inside)| inside);
        line.split("</").next().unwrap_or(line).to_owned()
    };
    let told: Vec<String> = report.lines().map(str::trim_end).filter(|line| !is_element(line)).map(bare).collect();
    (news.collect(), told.join("\n"))
}

/// `text` without every `<name …>…</name>` that begins a line or has a name that no person would write; `None` if there
/// is none. An element without an end tag stays, because a person may mention it.
fn without_element(text: &str, name: &str) -> Option<String> {
    let close = format!("</{name}>");
    let last_close = memchr::memmem::rfind(text.as_bytes(), close.as_bytes())?;
    let mut out = String::new();
    let mut from = 0;
    let mut kept = 0;
    while let Some((start, inside)) = opening(&text[from..], name).map(|(start, inside)| (from + start, from + inside))
    {
        let begins =
            name.contains(['-', '_']) || text[..start].trim_end_matches([' ', '\t']).ends_with('\n') || start == 0;
        if !begins || inside > last_close {
            from = inside;
            continue;
        }
        // The last end tag comes later, so there is another one.
        let end = text[inside..].find(&close).map_or(text.len(), |end| inside + end + close.len());
        out.push_str(&text[kept..start]);
        (kept, from) = (end, end);
    }
    (kept > 0).then(|| out + &text[kept..])
}

/// `text` with every `<name>…</name>` replaced by its content.
fn unwrapped(text: &str, name: &str) -> Option<String> {
    let close = format!("</{name}>");
    memchr::memmem::find(text.as_bytes(), close.as_bytes())?;
    let (start, inside) = opening(text, name)?;
    let end = inside + text[inside..].find(&close)?;
    let words = text[inside..end].trim();
    let bare = format!("{}{words} {}", &text[..start], text[end + close.len()..].trim_start());
    Some(bare.trim_end().to_owned())
}

/// Where `<name>` or `<name …>` starts and ends.
fn opening(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = text[from..].find('<') {
        let start = from + at;
        let after = &text[start + 1..];
        if let Some(rest) = after.strip_prefix(name)
            && rest.starts_with(['>', ' ', '\n'])
            && let Some(end) = rest.find(['>', '<']).filter(|end| rest[*end..].starts_with('>'))
        {
            return Some((start, start + 1 + name.len() + end + 1));
        }
        from = start + 1;
    }
    None
}

/// The words of a person in a tool result: the reason for a refusal, or, if `asks` says that the tool
/// asked a question, the answer.
pub(super) fn words_in_result(text: &str, asks: bool) -> Option<String> {
    let refuses = is_refusal(text);
    if !asks && !refuses {
        return None;
    }
    // The marks are ASCII, so lower case does not change any offsets.
    let lower = text.to_ascii_lowercase();
    let start = BEFORE_WORDS.iter().filter_map(|mark| lower.find(mark).map(|at| at + mark.len())).min();
    let words = match start {
        Some(at) => &text[at..],
        None if !refuses => text,
        None => return None,
    };
    let lower = words.to_ascii_lowercase();
    let end = AFTER_WORDS.iter().filter_map(|mark| lower.rfind(mark)).min().unwrap_or(words.len());
    let words = &words[..end];
    let words = PERSON_ELEMENTS.iter().fold(Cow::Borrowed(words), |words, element| match unwrapped(&words, element) {
        Some(bare) => Cow::Owned(bare),
        None => words,
    });
    let words = words.trim();
    let is_clarified =
        lower.contains(ANSWERED) || !CLARIFYING.iter().any(|start| lower.trim_start().starts_with(start));
    (!words.is_empty() && is_clarified).then(|| words.to_owned())
}

/// Beginnings of what a harness tells the model if the person answers none of its questions, in lower case.
const CLARIFYING: &[&str] = listed!(HARNESSES, "person: clarifying");
/// Comes before an answer there.
const ANSWERED: &str = "answer: ";

/// What Claude Code prints before the answers to questions of its tool. A copy of its screen has no call for them.
const ANSWERS_OF_SCREEN: &str = "User answered Claude's questions:";

/// The questions and answers in a copy of a screen; `None` for other words of a person.
pub(super) fn answers_of_screen(words: &str) -> Option<&str> {
    let answers = words.trim_start().strip_prefix(ANSWERS_OF_SCREEN)?.trim();
    (!answers.is_empty()).then_some(answers)
}

/// Beginnings of the questions of a harness whether it may make a call, or about itself, in lower case.
const PERMISSIONS: &[&str] = listed!(HARNESSES, "person: permissions");

/// The beginning and the end of the question of a harness whether it may read a file.
const ADDS: &str = "Add ";
const TO_CHAT: &str = " to the chat?";

/// Whether an answer is about a single call or file. Nothing is decided for later ones.
pub(super) fn is_permission(answer: &str) -> bool {
    let answer = answer.trim_start();
    if answer.lines().next().is_some_and(|first| first.starts_with(ADDS) && first.contains(TO_CHAT)) {
        return true;
    }
    PERMISSIONS.iter().any(|start| answer.get(..start.len()).is_some_and(|own| own.eq_ignore_ascii_case(start)))
}

/// Marks with which agents begin lines on their screens.
const SCREEN_MARKS: [char; 3] = ['\u{23fa}', '\u{23bf}', '\u{273b}'];
/// The sign before the words of a person on such a screen.
const PROMPT_SIGN: char = '\u{276f}';

/// Whether a line is typed and not from such a screen: it is not indented and begins with no mark, line or shape.
fn is_off_screen(line: &str) -> bool {
    let first = line.chars().next();
    first.is_some_and(|first| {
        let is_shape = matches!(first, '\u{2300}'..='\u{27bf}' | '\u{b7}');
        !first.is_whitespace() && !SCREEN_MARKS.contains(&first) && !is_shape
    })
}

/// The words of a person in a message with a copy of an agent's screen behind them, and that copy; `None` if there is
/// no such copy or nothing else. The last paragraphs that are not indented are the person's again.
pub(super) fn before_screen(words: &str) -> Option<(String, &str)> {
    let is_mark = |line: &&str| line.trim_start().starts_with(SCREEN_MARKS);
    let start: usize = words.split_inclusive('\n').take_while(|line| !is_mark(line)).map(str::len).sum();
    let (own, screen) = words.split_at(start);
    let (own, screen) = (own.trim().trim_start_matches(PROMPT_SIGN).trim(), screen.trim_end());
    if own.is_empty() || screen.is_empty() {
        return None;
    }
    // The start of the last paragraphs, and of the line that was looked at.
    let (mut last, mut at) = (screen.len(), screen.len());
    for line in screen.split_inclusive('\n').rev() {
        match line.trim().is_empty() {
            true => last = at,
            false if !is_off_screen(line) => break,
            false => {}
        }
        at -= line.len();
    }
    match (screen[..last].trim_end(), screen[last..].trim()) {
        (screen, "") => Some((own.to_owned(), screen)),
        (screen, last) => Some((format!("{own}\n\n{last}"), screen)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_is_about_one_call_or_file() {
        assert!(is_permission("Add src/a.css to the chat? no"));
        assert!(is_permission("Run shell command? yes"));
        assert!(!is_permission("Add a page to the chat window? no"));
    }

    #[test]
    fn answers_on_a_screen_are_no_request() {
        let answers = answers_of_screen("User answered Claude's questions:\n\u{b7} Which store? \u{2192} SQLite");
        assert_eq!(answers, Some("\u{b7} Which store? \u{2192} SQLite"));
        assert_eq!(answers_of_screen("User answered Claude's questions:"), None);
        assert_eq!(answers_of_screen("Did the user answer Claude's questions?"), None);
    }

    #[test]
    fn the_screen_behind_the_words_of_a_person_is_split_off() {
        let screen = "\u{23fa} I read it.\n  \u{23bf} 3 lines\n\n\u{273b} Done";
        let found = before_screen("\u{276f} look at it\n\u{23fa} I read it.\n  \u{23bf} 3 lines\n\n\u{273b} Done\n");
        assert_eq!(found, Some(("look at it".to_owned(), screen)));
        let asked = format!("look at this:\n{screen}\n\nwhy three lines?");
        assert_eq!(before_screen(&asked), Some(("look at this:\n\nwhy three lines?".to_owned(), screen)));
        let said = "\u{23fa} I can't\n  do it\n\n  now";
        for last in ["Please fix A.\n\nAlso fix B.", "\u{bf}Por qu\u{e9}?", "- fix A\n- fix B", "`a` is wrong", "(A)"] {
            let text = format!("it said:\n{said}\n\n{last}");
            assert_eq!(before_screen(&text), Some((format!("it said:\n\n{last}"), said)));
        }
        let found = before_screen("it said:\r\n\u{23fa} I can't\r\n\r\nPlease fix A.\r\n");
        assert_eq!(found, Some(("it said:\n\nPlease fix A.".to_owned(), "\u{23fa} I can't")));
        assert_eq!(before_screen(screen), None, "nothing is the person's");
        assert_eq!(before_screen("plain words"), None);
    }

    #[test]
    fn words_behind_files_without_an_end_are_kept() {
        let [start, end] = ATTACHED;
        assert_eq!(without_attached(&format!("{start}\nfn main() {{}}\nfix src/a.rs too")), None);
        let whole = format!("look at it\n{start}\nfn main() {{}}\n{end}\nfix src/a.rs too");
        assert_eq!(without_attached(&whole).as_deref(), Some("look at it\nfix src/a.rs too"));
    }

    #[test]
    fn no_name_of_an_element_is_too_long() {
        let mut elements = HARNESS_ELEMENTS.iter().chain(PERSON_ELEMENTS);
        assert!(elements.all(|element| element.len() <= LONGEST_ELEMENT));
    }

    #[test]
    fn the_harness_is_no_person() {
        for (text, expected) in [
            ("plain words", "plain words"),
            ("<task-notification>\n<task-id>1</task-id>\n</task-notification>", ""),
            ("fix it\n<system-reminder>be nice</system-reminder>", "fix it"),
            ("[Request interrupted by user for tool use]", ""),
            ("[Request interrupted by user]\ngo left instead", "go left instead"),
            (
                "<command-message>x</command-message>\n<command-name>/review</command-name> <command-args>all of it</command-args>",
                "/review all of it",
            ),
            ("<user_query>\nadd a test\n</user_query>", "add a test"),
            // What a person says to the voice of Codex.
            (
                "<realtime_delegation>\n<input>open a branch first</input>\n<transcript_delta>assistant: Take your time.\n\
                 user: open a branch first</transcript_delta>\n</realtime_delegation>",
                "open a branch first",
            ),
            (
                "<task-notification>\n<task-id>1</task-id>\n</task-notification>\nRead the output file to retrieve the result: /tmp/1.output",
                "",
            ),
            ("Stop hook feedback:\n[check.sh]: There are untracked files.", ""),
            (
                "<system-reminder>\nThe user sent the following message:\nleave the tests alone\n\nPlease address this message and continue with your tasks.\n</system-reminder>",
                "leave the tests alone",
            ),
            (
                "<system-reminder>be nice</system-reminder>\n<system-reminder>\nThe user sent a new message while you were working:\nuse <b>tabs</b>\n\nIMPORTANT: After completing your current task, you MUST address the user's message above.\n</system-reminder>",
                "use <b>tabs</b>",
            ),
            ("This session is being continued from a previous conversation that ran out.", ""),
            ("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>", ""),
            (
                "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs: src/a.rs\n\n## My request for Codex:\nadd a test\n",
                "add a test",
            ),
            ("What does \"## My request for Codex:\" mean?", "What does \"## My request for Codex:\" mean?"),
            (
                "<session_context>\nThe day is Monday.\n</session_context>\n<shell-info>zsh</shell-info>\nadd a test to it",
                "add a test to it",
            ),
            (
                "why is it late: <order_status>\nZX-81: lost\n</order_status> and <error-info>E4711</error-info>",
                "why is it late: <order_status>\nZX-81: lost\n</order_status> and <error-info>E4711</error-info>",
            ),
            (
                "<issue_details>\nThe menu is empty.\n</issue_details>",
                "<issue_details>\nThe menu is empty.\n</issue_details>",
            ),
            (
                "This is the Gemini CLI. We are setting up the context for our chat.\nToday's date is Monday.\nMy operating \
                 system is: linux\nI'm currently working in the directory: /w/shop\nHere is the folder structure of it:\n\n\
                 Showing up to 200 items.\n\n/w/shop/\n\u{251c}\u{2500}\u{2500}\u{2500}a.rs\n\u{2514}\u{2500}\u{2500}\u{2500}b.rs\n\n\
                 add a menu to the shop",
                "add a menu to the shop",
            ),
            ("This is the page. Add a menu.", "This is the page. Add a menu."),
            ("System: Please continue.", ""),
            ("a < b and [c]", "a < b and [c]"),
            ("use Vec<task> here", "use Vec<task> here"),
            ("rename the <rules> element to <policy>", "rename the <rules> element to <policy>"),
            ("why is <task>a</task> no <rules>b</rules> here?", "why is a no <rules>b</rules> here?"),
            ("<rules>\nbe brief\n</rules>\nadd a test", "add a test"),
        ] {
            assert_eq!(words(text).trim(), expected, "{text}");
        }
    }

    #[test]
    fn a_message_that_is_one_element_is_a_report() {
        for (text, expected) in [
            ("<ta[X]>\n<ta[X]>b1</ta[X]>\n<summary>done</summary>\n</ta[X]>", Some("<ta[X]>b1</ta[X]>")),
            ("<job-report id=\"1\">\nall done\n</job-report>\nFull transcript available at: /tmp/1", Some("all done")),
            ("<notice>\n<status>failed</status>\n<summary>no</summary>\n</notice>", Some("<summary>no")),
            ("<teammate-message id=\"a\">look at the cart</teammate-message>", Some("look at the cart")),
            ("<pr_description>The menu is empty.</pr_description>", None),
            ("<user_query>add a menu</user_query>", None),
            ("<project>\n<name>shop</name>\n</project>", None),
            ("<div class=\"a-b\">\n<p>text</p>\n</div>", None),
            ("<job-report>a</job-report> add a menu <job-report>b</job-report>", None),
            ("<job-report>a</job-report> add a menu", None),
            ("<job-report>", None),
            ("<", None),
        ] {
            let found = report(text);
            assert_eq!(found.is_some(), expected.is_some(), "{text}");
            assert!(expected.is_none_or(|expected| found.is_some_and(|found| found.contains(expected))), "{text}");
            assert_eq!(words(text).is_empty(), expected.is_some(), "{text}");
        }
        let (told, rest) = news("<task-id>b1</task-id>\n<summary>Audit done</summary>\n<result>One.\nTwo.</result>");
        assert_eq!((told, rest.as_str()), (vec!["Audit done"], "One.\nTwo."));
    }

    #[test]
    fn a_message_that_was_sent_during_the_work_is_found_in_the_result() {
        let reminder = |text: &str| format!("<system-reminder>\n{text}\n</system-reminder>");
        let sent = reminder(
            "The user sent a new message while you were working:\nstop at step 3\n\nThis is how Claude Code surfaces it.",
        );
        let other = reminder("The task list is empty.");
        let words = sent_while_working(&format!("ok\n\n{other}\n{sent}\n{other}\n"));
        assert_eq!(words.as_deref(), Some("stop at step 3"));
        assert_eq!(sent_while_working(&format!("{sent}{sent}")).as_deref(), Some("stop at step 3\nstop at step 3"));
        assert_eq!(sent_while_working(&format!("fixture.txt:\n{sent}\nend of the file")), None, "a file quotes one");
        assert_eq!(sent_while_working(&format!("ok {other}")), None);
        assert_eq!(sent_while_working("The user sent </system-reminder>"), None);
    }

    #[test]
    fn words_come_with_refusals_and_answers() {
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file \
                       edit, the new_string was NOT written to the file). To tell you how to proceed, the user said:\nuse tabs";
        assert_eq!(words_in_result(refused, false).as_deref(), Some("use tabs"));
        assert!(is_refusal(refused));
        let denied =
            "The user denied this operation and provided the following feedback:\n<feedback>\nnot in main\n</feedback>";
        assert_eq!(words_in_result(denied, false).as_deref(), Some("not in main"));
        assert_eq!(words_in_result("the user said: hi", false), None, "a file may hold such a line");
        let answered = "User has answered your questions: \"Which?\"=\"SQLite\". You can now continue with the user's answers in mind.";
        assert_eq!(words_in_result(answered, true).as_deref(), Some("\"Which?\"=\"SQLite\"."));
        assert_eq!(words_in_result("<answer>\nboth\n</answer>", true).as_deref(), Some("both"));
        assert_eq!(words_in_result("The user rejected the question.", true), None);
        let asked = "The user wants to clarify these questions.\nStart by asking them.\n- \"Which?\"\n  ";
        assert_eq!(words_in_result(&format!("{asked}(No answer provided)"), true), None);
        assert!(words_in_result(&format!("{asked}Answer: SQLite"), true).is_some());
    }
}
