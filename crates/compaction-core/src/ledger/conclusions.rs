//! Conclusions: an answer in a few of its own sentences. Those at its beginning state the outcome; those at its end say
//! what is open, warn or advise.

use super::answers::{advises, is_praise};
use super::closed_requests::{conclusion, introduces, is_filler, is_statement, leads};
use super::cues::{is_announcement, is_substantive};
use super::frames::OPTION;
use super::statements::{Part, parts, prose, sentences};
use super::steps::{is_list_item, names_work};
use super::text::{WordList, clip_clauses, first_words, has_piece, one_line, word_list};
use super::{Statement, Voice};
use crate::phrases::{EVERY, SPACED, listed};
use crate::text::utf16_len;

/// Most statements of an answer that are read.
const MOST_STATEMENTS: usize = 512;
/// Number of newest messages that are searched for one that states something.
const MOST_MESSAGES: usize = 24;
/// Percentage of the room that the first sentences may take.
const BEGINNING: usize = 45;
/// Fewest words of a sentence that states something.
const FEWEST_WORDS: usize = 3;
/// Least room in which a sentence is cut instead of left out, in UTF-16 units.
const FEWEST_UNITS: usize = 60;
/// Separates sentences that do not end with a mark.
const SEPARATOR: &str = "; ";
/// Replaces the sentences that are left out.
const GAP: &str = " \u{2026} ";
/// Number of paragraphs at the end of an answer that may advise.
const LAST_PARAGRAPHS: usize = 2;
/// First words of orders.
static ORDERS: WordList = word_list!(SPACED, "requests: work");
/// Most words of such a beginning.
const ORDER_WORDS: usize = 2;
/// First words of short sentences that only say what the model is doing: `Compiling the report now.`
static AT_IT: WordList = word_list!("conclusions: at it");
/// Most words of such a beginning.
const AT_IT_WORDS: usize = 2;
/// Longest of these sentences, in UTF-16 units.
const LONGEST_AT_IT: usize = 80;
/// Headings of summaries, in lower case.
const SUMMARIES: &[&str] = listed!(EVERY, "conclusions: summaries");

/// The conclusion of the answer in the messages from `first` to `last`, in at most `units` UTF-16 units; `None` if it
/// states nothing.
pub(crate) fn concluded(statements: &[Statement], (first, last): (u64, u64), units: usize) -> Option<String> {
    let start = statements.partition_point(|one| one.position < first);
    let own = statements[start..].iter().take(MOST_STATEMENTS).take_while(|one| one.position <= last);
    conclude(&own.map(|one| (one.voice, one.text.as_str())).collect::<Vec<_>>(), units)
}

/// The conclusion of the newest message of the model that states something, in at most `units` UTF-16 units.
pub(crate) fn concluded_last(statements: &[Statement], units: usize) -> Option<String> {
    let mut positions: Vec<u64> = Vec::new();
    for one in statements.iter().rev().filter(|one| one.is_of_model()) {
        if positions.last() != Some(&one.position) {
            positions.push(one.position);
        }
        if positions.len() > MOST_MESSAGES {
            break;
        }
    }
    positions.into_iter().take(MOST_MESSAGES).find_map(|at| concluded(statements, (at, at), units))
}

/// The same for a report that is not an answer, such as that of a sub-agent.
pub(crate) fn concluded_report(report: &str, units: usize) -> Option<String> {
    let all = spoken(report);
    let first = all.len().saturating_sub(MOST_STATEMENTS);
    conclude(&all[first..].iter().map(|(voice, text)| (*voice, text.as_str())).collect::<Vec<_>>(), units)
}

/// The sentences of a report. Headings and announcements have the same voice.
pub(super) fn spoken(report: &str) -> Vec<(Voice, String)> {
    let spoken = parts(report).filter_map(|part| match part {
        Part::Sentence(text) if !is_announcement(text) => Some((Voice::Report, plain(text))),
        Part::Sentence(text) | Part::Heading(text) => Some((Voice::Announcement, plain(text))),
        Part::Code(_) => None,
    });
    spoken.collect()
}

/// The index of the first sentence of an explicit conclusion or summary.
pub(super) fn start_of_conclusion(own: &[(Voice, &str)]) -> Option<usize> {
    let is_summary = |(voice, text): &(Voice, &str)| {
        *voice == Voice::Announcement
            && SUMMARIES.contains(&text.trim_matches(|one: char| !one.is_alphabetic()).to_lowercase().as_str())
    };
    conclusion(own).or_else(|| own.iter().rposition(is_summary))
}

/// A sentence on one line, without the marks of bold text.
fn plain(text: &str) -> String {
    one_line(&text.replace("**", ""))
}

fn conclude(own: &[(Voice, &str)], units: usize) -> Option<String> {
    let from = start_of_conclusion(own).unwrap_or_default();
    // An introduction whose next sentence is left out says nothing.
    let mut is_next_told = false;
    let is_told = |at: &usize| {
        is_next_told = is_told(own[*at]) && (!leads(own[*at].1) || is_next_told);
        is_next_told
    };
    let mut told: Vec<usize> = (from..own.len()).rev().filter(is_told).collect();
    told.reverse();
    let told: Vec<&str> = told.into_iter().map(|at| own[at].1).collect();
    let cost = |text: &str| utf16_len(text) + SEPARATOR.len();
    if told.iter().map(|text| cost(text)).sum::<usize>() <= units {
        return joined(&told);
    }
    let (mut left, mut room) = (units.saturating_sub(GAP.len()), units * BEGINNING / 100);
    let mut head = 0;
    while told.get(head).is_some_and(|text| cost(text) <= room) {
        room -= cost(told[head]);
        head += 1;
    }
    // An introduction whose next sentence is left out says nothing.
    while head > 0 && leads(told[head - 1]) {
        head -= 1;
    }
    let mut start = joined(&told[..head]);
    let stating = told.iter().position(|text| !leads(text));
    if let Some(first) = stating.filter(|_| head == 0 && room >= FEWEST_UNITS) {
        start = Some(clip_clauses(told[first], room));
        head = first + 1;
    }
    left -= start.as_ref().map_or(0, |start| cost(start)).min(left);
    let mut tail = told.len();
    while tail > head && cost(told[tail - 1]) <= left {
        tail -= 1;
        left -= cost(told[tail]);
    }
    let mut end = joined(&told[tail..]);
    if end.is_none() && left >= FEWEST_UNITS {
        // The last sentence is long. One before it may say what is open.
        let fits = told[head..].iter().rev().find(|text| cost(text) <= left);
        end = fits.map(|text| (*text).to_owned()).or_else(|| Some(clip_clauses(told.last()?, left)));
    }
    match (start, end) {
        (Some(start), Some(end)) if tail == head => joined(&[&start, &end]),
        (Some(start), Some(end)) => Some(format!("{}{GAP}{end}", start.trim_end_matches(GAP.trim()).trim_end())),
        (None, None) => stating.map(|first| clip_clauses(told[first], units)),
        (start, end) => start.or(end),
    }
}

/// Whether a sentence states something: it is neither a question nor an announcement, and does not only acknowledge the
/// request.
fn is_told((voice, text): (Voice, &str)) -> bool {
    let is_said = is_statement(text) || leads(text) && is_substantive(text);
    let is_word = |word: &&str| word.contains(char::is_alphanumeric) && !word.contains(['/', '\\']);
    let words = || text.split_whitespace().filter(is_word).count();
    let is_data = || text.contains(" | ") || text.starts_with(['|', '<', '[']) || text.contains("</");
    matches!(voice, Voice::Report | Voice::Remark)
        && is_said
        && (!text.is_ascii() || words() >= FEWEST_WORDS)
        && !is_data()
        && !text.starts_with(OPTION)
        && !is_filler(text)
        && !is_praise(text)
        && !is_at_it(text)
        && !introduces(text)
        && !text.split(DASHES).skip(1).any(|clause| is_announcement(clause.trim()))
}

/// Marks before a clause that may say what the model does next: `It is small \u{2014} I'll do it myself`.
const DASHES: [char; 2] = ['\u{2014}', '\u{2013}'];

/// Whether a sentence only says what the model is doing now.
pub(crate) fn is_at_it(sentence: &str) -> bool {
    utf16_len(sentence) <= LONGEST_AT_IT
        && (AT_IT.starts(&first_words(sentence, AT_IT_WORDS)) || has_piece(sentence, AT_IT.pieces))
}

/// Sentences one after another; `None` if there are none.
fn joined(sentences: &[&str]) -> Option<String> {
    let (first, others) = sentences.split_first()?;
    let ends =
        |text: &str| text.ends_with(['.', '!', '?', ':', ';', ',', '\u{3002}', '\u{ff01}', '\u{ff1a}', '\u{2026}']);
    Some(others.iter().fold((*first).to_owned(), |mut text, sentence| {
        text.push_str(if ends(&text) { " " } else { SEPARATOR });
        text + sentence
    }))
}

/// The advice in the last paragraphs of an answer, besides the remaining work that it names: sentences with advice, and
/// orders.
pub(crate) fn recommended(answer: &str) -> Vec<&str> {
    let lines: Vec<&str> = prose(answer).collect();
    let paragraphs = lines.split(|line| line.trim().is_empty()).filter(|lines| !lines.is_empty());
    let is_plain = |line: &&&str| !is_list_item(line) && !line.trim_start().starts_with(['|', '#']);
    let recommends = |sentence: &&str| {
        let is_order = || ORDERS.starts(&first_words(sentence, ORDER_WORDS));
        !names_work(sentence)
            && !is_filler(sentence)
            && !sentence.ends_with(['?', ':', '\u{ff1f}', '\u{ff1a}'])
            && is_substantive(sentence)
            // A name or a path is not a verb.
            && (advises(sentence) || sentence.starts_with(char::is_alphabetic) && is_order())
    };
    let all: Vec<&[&str]> = paragraphs.collect();
    let last = all[all.len().saturating_sub(LAST_PARAGRAPHS)..].iter();
    last.flat_map(|lines| lines.iter().filter(is_plain)).flat_map(|line| sentences(line)).filter(recommends).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_told_by_its_beginning_and_its_end() {
        let filler = "- The page of the orders was read and its rows were counted by hand.\n".repeat(12);
        let review = format!(
            "Here is the complete review.\n\n---\n\n### What was read\n{filler}\n### Verdict\n**FIX AND RE-AUDIT**\n\n\
             Two faults block this release:\n1. **The page hangs**: the script is ignored. Each visitor who comes to \
             the page of the order waits for ever, on phones as on desks.\n2. **The retries are dead**: the tasks swallow \
             their errors.\n\nFix those two, then close the hole in the upload before the next audit."
        );
        let summary =
            format!("I apologize for the delay.\n\n{filler}\n## Summary\nThe column is gone. Its index is gone.");
        for (report, units, expected) in [
            (
                review.as_str(),
                240,
                "FIX AND RE-AUDIT; The page hangs: the script is ignored. \u{2026} The retries are dead: the tasks swallow \
                 their errors. Fix those two, then close the hole in the upload before the next audit.",
            ),
            (&summary, 240, "The column is gone. Its index is gone."),
            (
                "Compiling the report now.\n\nLet's sum up what we have:\n- The parser reads blocks.\n- It writes them.\n\n\
                 | a | b |\n|---|---|\n\nThe manual is not written.",
                240,
                "The parser reads blocks. It writes them. The manual is not written.",
            ),
            (
                "Es tut mir leid.\n\nDer Export schreibt alle Zeilen. Die Anleitung fehlt noch.\n\nSoll ich sie schreiben?",
                240,
                "Der Export schreibt alle Zeilen. Die Anleitung fehlt noch.",
            ),
            ("抱歉。\n\n导出现在会写入所有的行。\n说明书还没有写。", 240, "导出现在会写入所有的行。 说明书还没有写。"),
        ] {
            assert_eq!(concluded_report(report, units).as_deref(), Some(expected));
        }
        for nothing in
            ["", "Let me look at it:", "Shall I go on with the parser?", "```\nlet a = 1;\n```", "Sorry about that."]
        {
            assert_eq!(concluded_report(nothing, 240), None, "{nothing}");
        }
        // The conclusion stays within any limit, however small.
        for units in 0..300 {
            assert!(concluded_report(&review, units).is_none_or(|told| utf16_len(&told) <= units.max(1)), "{units}");
        }
    }

    #[test]
    fn advice_stands_in_the_last_paragraphs() {
        for (answer, expected) in [
            ("Two faults.\n\nFix those two, then resolve the hole before the next audit.", 1),
            ("It is slow. I recommend an index on the column of the orders.", 1),
            ("Es ist langsam.\n\nIch empfehle einen Index auf der Spalte der Bestellungen.", 1),
            ("Fix those two first.\n\nThe rest is done.\n\nThe tests pass.", 0),
            ("Done:\n- Add a menu to the page\n- Fix the footer of it", 0),
            ("`RUN_IT` and `URL` are removed from the server.", 0),
            ("The parser is done. If you want, I can port the printer.", 0),
        ] {
            assert_eq!(recommended(answer).len(), expected, "{answer}");
        }
    }
}
