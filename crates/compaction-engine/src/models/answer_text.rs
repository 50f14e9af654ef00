//! Finds the summary within a model's answer.
//!
//! Models and programs put other text around a summary: thinking between tags, a Markdown fence, a greeting, terminal
//! codes. This module removes it by its form alone. Where the form is ambiguous, the text stays. `summary_of` reads
//! the whole answer; `ThinkingFilter` hides thinking at the beginning of an answer while it arrives.

use std::borrow::Cow;

use serde_json::Value;

/// The opening and closing tags of thinking, in lower case.
const THINKING: [(&str, &str); 25] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<thoughts>", "</thoughts>"),
    ("<reasoning>", "</reasoning>"),
    ("<reflection>", "</reflection>"),
    ("<analysis>", "</analysis>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<thinking_process>", "</thinking_process>"),
    ("<inner_monologue>", "</inner_monologue>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<|think|>", "<|/think|>"),
    ("&lt;think&gt;", "&lt;/think&gt;"),
    ("[thinking]", "[/thinking]"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<|channel>thought", "<channel|>"),
    ("<unused94>thought", "<unused95>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("<|start|>assistant<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
    ("here is my thought process:", "here is my response:"),
];

/// Words in the names of tags that some models put around the whole answer, such as `<summary>`.
const WRAPPERS: [&str; 10] =
    ["summary", "answer", "response", "output", "solution", "context", "checkpoint", "snapshot", "markdown", "result"];

/// Marks of a template before and after an answer, if the server does not know the template.
const MARKS: [&str; 19] = [
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|assistant|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<s>",
    "<|end|>",
    "<|return|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eot|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
    "<eos>",
    "</s>",
    "[/inst]",
];

/// Words that begin a last paragraph that is about the answer.
const CLOSINGS: [&str; 10] = [
    "let me know",
    "please let me know",
    "i hope this",
    "hope this helps",
    "feel free to",
    "is there anything",
    "would you like me to",
    "if you need any",
    "if you'd like",
    "if you would like",
];

/// Maximum characters of a greeting before the first heading.
const MAX_PREAMBLE_CHARACTERS: usize = 400;
/// Maximum lines of a greeting.
const MAX_PREAMBLE_LINES: usize = 4;

/// Maximum number of blocks of thinking that are removed, and of tags that are tried for each block. A text is read a
/// bounded number of times, whatever it contains.
const MAX_BLOCKS: usize = 32;

/// The summary in `answer`, without thinking, fences, greetings and terminal codes. It is empty where the answer
/// contains nothing else or ends within its thinking.
pub fn summary_of(answer: &str) -> String {
    let plain = plain(answer);
    let text = without_thinking(&plain);
    let text = unquoted(unwrapped(without_shown_thinking(without_marks(text.trim()))));
    let text = text_of_json(&text).map_or(text, Cow::Owned);
    without_closing(without_preamble(unwrapped(unfenced(&text)))).trim().to_owned()
}

/// The only text in an answer that is JSON: a text, or an object with one.
fn text_of_json(text: &str) -> Option<String> {
    let text = text.trim();
    let within = text.strip_prefix("```json").and_then(|rest| rest.strip_suffix("```")).unwrap_or(text).trim();
    if !within.starts_with(['"', '{']) {
        return None;
    }
    match serde_json::from_str(within).ok()? {
        Value::String(text) => Some(text),
        Value::Object(members) if members.len() == 1 => Some(members.values().next()?.as_str()?.to_owned()),
        _ => None,
    }
}

/// The text after thinking that applications show: folded (`<details>`), quoted, or in channels of gpt-oss whose marks
/// were lost.
fn without_shown_thinking(text: &str) -> &str {
    let is_thinking = |title: &str| ["think", "thought", "reason"].iter().any(|word| title.contains(word));
    let lower = text.to_ascii_lowercase();
    if lower.starts_with("<details")
        && let Some(title) = lower.find("</summary>").filter(|end| is_thinking(&lower[..*end]))
        && let Some(end) = lower[title..].find("</details>")
    {
        return text[title + end + "</details>".len()..].trim_start();
    }
    if lower.starts_with("analysis")
        && let Some(end) = lower.rfind("assistantfinal")
    {
        return text[end + "assistantfinal".len()..].trim_start();
    }
    let quoted: usize = text.split_inclusive('\n').take_while(|line| line.starts_with('>')).map(str::len).sum();
    match quoted < text.len() && is_thinking(lower.lines().next().unwrap_or_default()) && quoted > 0 {
        true => text[quoted..].trim_start(),
        false => text,
    }
}

/// The text of an answer whose lines are all quoted or all indented, the first of which is a heading.
fn unquoted(text: &str) -> Cow<'_, str> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let without = |start: &str| {
        let plain = |line: &str| line.strip_prefix(start).or_else(|| line.strip_prefix('>')).unwrap_or(line).to_owned();
        Cow::Owned(text.lines().map(plain).collect::<Vec<_>>().join("\n"))
    };
    if text.starts_with("> #") && lines().all(|line| line.starts_with('>')) {
        return without("> ");
    }
    // The white space before the first line is gone already.
    let others = || lines().skip(1);
    let indent = others().map(|line| line.len() - line.trim_start_matches(' ').len()).min().unwrap_or(0);
    let is_indented = indent > 0 && lines().next().is_some_and(is_heading);
    match is_indented && others().any(|line| is_heading(&line[indent..])) {
        true => without(&" ".repeat(indent)),
        false => Cow::Borrowed(text),
    }
}

/// The tags of thinking at the beginning of `text`, in lower case: the length of the opening tag, and the closing
/// tag.
pub(super) fn opened_thinking(text: &str) -> Option<(usize, &'static str)> {
    let opened = THINKING.iter().filter(|(open, _)| text.starts_with(open));
    opened.max_by_key(|(open, _)| open.len()).map(|(open, close)| (open.len(), *close))
}

/// Whether `text`, in lower case, may be the beginning of an opening tag.
pub(super) fn may_open_thinking(text: &str) -> bool {
    THINKING.iter().any(|(open, _)| open.len() > text.len() && open.starts_with(text))
}

/// The text as a terminal would show it: without a byte order mark, colour and cursor codes, and spinner frames that
/// a carriage return has overwritten.
fn plain(text: &str) -> Cow<'_, str> {
    let text = text.trim_start_matches(['\u{feff}', '\u{200b}', '\u{2060}']);
    if !text.contains(|character: char| character.is_control() && !matches!(character, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    let text = console::strip_ansi_codes(text);
    let has_line_feeds = text.contains('\n');
    let shown = |line: &str| match has_line_feeds {
        true => {
            let line = line.trim_end_matches('\r');
            line.rsplit('\r').next().unwrap_or_default().to_owned()
        }
        false => line.replace('\r', "\n"),
    };
    let lines: Vec<String> = text.split('\n').map(shown).collect();
    Cow::Owned(
        lines.join("\n").replace(|character: char| character.is_control() && !matches!(character, '\n' | '\t'), ""),
    )
}

/// The text without thinking: blocks at its beginning or at the beginning of a line, and the text before a closing
/// tag whose opening tag was part of the prompt.
fn without_thinking(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    for _ in 0..MAX_BLOCKS {
        // Only ASCII is lowered, so that positions stay the same.
        let lower = text.to_ascii_lowercase();
        let start = lower.len() - lower.trim_start().len();
        text = if let Some((open, close)) = opened_thinking(&lower[start..]) {
            let Some(end) = lower[start + open..].find(close) else {
                return Cow::Borrowed("");
            };
            Cow::Owned(text[start + open + end + close.len()..].to_owned())
        } else if let Some((start, end)) = block_on_lines(&lower) {
            Cow::Owned(format!("{}{}", &text[..start], text[end..].trim_start_matches([' ', '\t', '\n'])))
        } else if let Some(end) = end_of_unopened_thinking(&lower) {
            Cow::Owned(text[end..].to_owned())
        } else {
            return text;
        };
    }
    text
}

/// The end of a closing tag without an opening tag. The tag is at the beginning or the end of its line and outside of
/// code, and the summary follows it. A summary before it rules it out, because a summary may mention tags.
fn end_of_unopened_thinking(lower: &str) -> Option<usize> {
    if !lower.contains(['/', '|', '>']) {
        return None;
    }
    let last_of = |close: &'static str| {
        // The last tag counts, because the summary after it contains none.
        let candidates = lower.rmatch_indices(close).take(MAX_BLOCKS);
        candidates.map(|(at, _)| (at, at + close.len())).find(|(at, end)| ends_thinking(&lower[..*at], &lower[*end..]))
    };
    THINKING.iter().filter_map(|(_, close)| last_of(close)).map(|(_, end)| end).max()
}

/// Whether a closing tag between these texts ends thinking.
fn ends_thinking(before: &str, after: &str) -> bool {
    let line_before = before.rsplit('\n').next().unwrap_or_default();
    let line_after = after.split('\n').next().unwrap_or_default();
    let is_at_edge = line_before.trim().is_empty() || line_after.trim().is_empty();
    let is_answered = || !after.trim().is_empty() && (has_heading(after) || !has_heading(before));
    is_at_edge && is_answered() && !is_within_code(before)
}

/// A block of thinking whose tags begin and end a line.
fn block_on_lines(lower: &str) -> Option<(usize, usize)> {
    let (mut start, mut is_code, mut looked_at) = (0, false, 0);
    for line in lower.split_inclusive('\n') {
        let indent = line.len() - line.trim_start().len();
        is_code ^= fence(line).is_some();
        if let Some((open, close)) = opened_thinking(line.trim_start()).filter(|_| !is_code && looked_at < MAX_BLOCKS) {
            looked_at += 1;
            let within = start + indent + open;
            let end = lower[within..].find(close).map(|end| within + end + close.len());
            let ends_line = |end: &usize| lower[*end..].split('\n').next().unwrap_or_default().trim().is_empty();
            if let Some(end) = end.filter(ends_line) {
                return Some((start, end));
            }
        }
        start += line.len();
    }
    None
}

/// Whether `before` ends within a fence.
fn is_within_code(before: &str) -> bool {
    before.lines().filter(|line| fence(line).is_some()).count() % 2 == 1
}

/// The text without the marks of a template around it, and without comments before it.
fn without_marks(text: &str) -> &str {
    let mut text = text;
    loop {
        let is_mark = |part: Option<&str>, mark: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(mark));
        let end_of = |mark: &str| text.len().checked_sub(mark.len()).and_then(|start| text.get(start..));
        text = if let Some(mark) = MARKS.iter().find(|mark| is_mark(text.get(..mark.len()), mark)) {
            text[mark.len()..].trim_start()
        } else if let Some(mark) = MARKS.iter().find(|mark| is_mark(end_of(mark), mark)) {
            text[..text.len() - mark.len()].trim_end()
        } else if let Some((_, rest)) = text.strip_prefix("<!--").and_then(|rest| rest.split_once("-->")) {
            rest.trim_start()
        } else {
            return text;
        };
    }
}

/// The text within a tag around it. Words without headings may precede the tag and follow it.
fn unwrapped(text: &str) -> &str {
    let Some((before, tag)) = text.split_once('<').filter(|(before, _)| is_aside(before)) else {
        return text;
    };
    let Some((tag, within)) = tag.split_once('>') else {
        return text;
    };
    let name = tag.trim_matches('|').to_ascii_lowercase();
    let is_name = name.len() <= 40 && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-:".contains(&byte));
    if !is_name || !WRAPPERS.iter().any(|word| name.contains(word)) {
        return text;
    }
    let close = match tag.starts_with('|') {
        true => format!("<|{}|>", name.replace("begin", "end").replace("start", "end")),
        false => format!("</{name}>"),
    };
    let lower = within.to_ascii_lowercase();
    // An opening tag without a closing tag is the rest of a text that was cut off. Two closing tags do not wrap a text.
    let mut ends = lower.match_indices(&close).map(|(at, _)| at);
    match (ends.next(), ends.next()) {
        (None, _) if before.is_empty() => within.trim(),
        (Some(end), None) => {
            let (inner, after) = (within[..end].trim(), &within[end + close.len()..]);
            let is_all = before.is_empty() && after.is_empty();
            if is_all || has_heading(inner) && is_aside(after) { inner } else { text }
        }
        (Some(_), Some(_)) if before.is_empty() && lower.ends_with(&close) => {
            within[..within.len() - close.len()].trim()
        }
        _ => text,
    }
}

/// Whether the text beside a summary is short and not part of the summary.
fn is_aside(text: &str) -> bool {
    !has_heading(text) && text.trim().chars().count() <= MAX_PREAMBLE_CHARACTERS
}

/// The text within a Markdown fence that contains the first heading, or the text itself. The text before the fence is
/// a greeting, and so is the text after it, if it has no heading.
fn unfenced(text: &str) -> &str {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        if is_heading(line) {
            return text;
        }
        if let Some((marker, info)) = fence(line) {
            let within = &text[start + line.len()..];
            let is_text =
                matches!(info.to_ascii_lowercase().as_str(), "" | "markdown" | "md" | "text" | "txt" | "plaintext");
            let first = within.lines().find(|line| !line.trim().is_empty());
            if !is_text || !first.is_some_and(is_heading) {
                return text;
            }
            return until_closing_fence(within, marker);
        }
        start += line.len();
    }
    text
}

/// The text up to its closing fence: the last bare fence, unless a heading follows it or all fences are paired.
fn until_closing_fence<'t>(within: &'t str, marker: &str) -> &'t str {
    let mut at = 0;
    let mut fences = Vec::new();
    for line in within.split_inclusive('\n') {
        if let Some((own, info)) = fence(line) {
            fences.push((at, own.starts_with(marker) && info.is_empty()));
        }
        at += line.len();
    }
    match fences.last() {
        Some((at, true)) if fences.len() % 2 == 1 && !has_heading(&within[*at..]) => &within[..*at],
        _ => within,
    }
}

/// The marker and the info string of a line that opens or closes a fence.
fn fence(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let first = line.chars().next().filter(|first| matches!(first, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(first).len();
    (length >= 3 && !line[length..].contains(first)).then(|| (&line[..length], line[length..].trim()))
}

/// The text from its first heading on, if only a short text without lists precedes it.
fn without_preamble(text: &str) -> &str {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_heading(line) {
            break;
        }
        at += line.len();
    }
    let preamble = text[..at].trim();
    let is_list = |line: &str| {
        let line = line.trim_start();
        line.starts_with(['-', '*', '+', '|', '<', '`']) && !line.starts_with("---") && !line.starts_with("**")
            || line.starts_with(|first: char| first.is_ascii_digit())
    };
    let lines = || preamble.lines().filter(|line| !line.trim().is_empty());
    let is_greeting = lines().count() <= MAX_PREAMBLE_LINES
        && preamble.chars().count() <= MAX_PREAMBLE_CHARACTERS
        && !lines().any(is_list);
    match at < text.len() && is_greeting {
        true => &text[at..],
        false => text,
    }
}

/// The text without a last paragraph that is about the answer, and without a rule before it.
fn without_closing(text: &str) -> &str {
    let text = text.trim_end();
    let Some((before, last)) = text.rsplit_once("\n\n").filter(|(before, _)| has_heading(before)) else {
        return text;
    };
    let lower = last.trim_start().to_lowercase().replace('\u{2019}', "'");
    match is_aside(last) && CLOSINGS.iter().any(|words| lower.starts_with(words)) {
        true => before.trim_end().trim_end_matches("\n---").trim_end_matches("\n***").trim_end(),
        false => text,
    }
}

fn has_heading(text: &str) -> bool {
    text.lines().any(is_heading)
}

fn is_heading(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - title.len())) && title.starts_with([' ', '\t'])
}

/// Maximum bytes that are held while a tag may still begin.
const MAX_HELD: usize = 1024;

/// Removes thinking from the beginning of a text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct ThinkingFilter {
    position: Position,
    /// At the start: text that may become the opening tag. Within thinking: the last bytes, which may begin the
    /// closing tag.
    held: String,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Position {
    #[default]
    Start,
    /// Until this closing tag.
    Thinking(&'static str),
    /// Right after the thinking, where blank lines follow.
    AfterThinking,
    Text,
}

impl ThinkingFilter {
    /// The part of the next piece that is text.
    pub(super) fn without(&mut self, piece: &str) -> String {
        if self.position == Position::Text {
            return piece.to_owned();
        }
        let mut rest = std::mem::take(&mut self.held) + piece;
        if self.position == Position::Start {
            let start = rest.len() - rest.trim_start().len();
            let lower = rest[start..].to_ascii_lowercase();
            if may_open_thinking(&lower) && rest.len() < MAX_HELD {
                self.held = rest;
                return String::new();
            }
            let Some((open, close)) = opened_thinking(&lower) else {
                self.position = Position::Text;
                return rest;
            };
            rest.drain(..start + open);
            self.position = Position::Thinking(close);
        }
        if let Position::Thinking(close) = self.position {
            let lower = rest.to_ascii_lowercase();
            let Some(end) = lower.find(close) else {
                self.held = rest[possible_tag(&lower, close)..].to_owned();
                return String::new();
            };
            rest.drain(..end + close.len());
            self.position = Position::AfterThinking;
        }
        let text = rest.trim_start().to_owned();
        if !text.is_empty() {
            self.position = Position::Text;
        }
        text
    }

    /// The held bytes at the end, if they are text after all.
    pub(super) fn rest(&mut self) -> String {
        match self.position {
            Position::Start => std::mem::take(&mut self.held),
            _ => String::new(),
        }
    }
}

/// The position at the end of `text` where the closing tag may have begun.
fn possible_tag(text: &str, close: &str) -> usize {
    let lengths = (1..close.len()).rev().filter(|length| close.is_char_boundary(*length));
    let start = lengths.map(|length| &close[..length]).find(|start| text.ends_with(start));
    text.len() - start.map_or(0, str::len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_many_tags_are_read_in_time() {
        let began = std::time::Instant::now();
        for unit in [
            "<think></think>",
            "<think>\n",
            "x\n<think>\n",
            "</think>\n",
            "a</think>\nb\n",
            "```\n",
            "<|im_end|>",
            "\u{1b}[1m\r",
            "<s>",
            "<!---->",
            "> ",
            "<summary>",
        ] {
            let text = format!("x\n{}## Goal\n- Peace", unit.repeat(400_000 / unit.len()));
            summary_of(&text);
            summary_of(&text[2..]);
        }
        assert!(began.elapsed() < std::time::Duration::from_secs(60), "{:?}", began.elapsed());
    }

    fn check(text: &str, expected: &str) {
        for size in 1..=text.len() {
            let mut thoughts = ThinkingFilter::default();
            let mut pieces: Vec<String> = Vec::new();
            for character in text.chars() {
                match pieces.last_mut().filter(|piece| piece.len() < size) {
                    Some(piece) => piece.push(character),
                    None => pieces.push(character.to_string()),
                }
            }
            let mut found: String = pieces.iter().map(|piece| thoughts.without(piece)).collect();
            found.push_str(&thoughts.rest());
            assert_eq!(found, expected, "{text:?} in pieces of {size}");
        }
    }

    #[test]
    fn only_thinking_at_the_beginning_is_none_of_the_text() {
        check("## Goal", "## Goal");
        check("<think>a < b </thin </think>\n\n## Goal\n<think>x</think>", "## Goal\n<think>x</think>");
        check("\n <think></think>ü", "ü");
        check("<think>never done", "");
        check("<thinking>a</think></thinking>b", "b");
        check("[THINK]a[/Think]b", "b");
        check("◁think▷ü◁/think▷b", "b");
        check("<thinks>", "<thinks>");
        check(" <thi", " <thi");
        check("  ", "  ");
        check(&" ".repeat(MAX_HELD * 2), &" ".repeat(MAX_HELD * 2));
    }
}
