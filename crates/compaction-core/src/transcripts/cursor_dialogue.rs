//! What a person decided in the dialogues of Cursor, as its exported chats show it: the button that lets a plan be
//! carried out, and the answers to questions of the model.

use std::borrow::Cow;

use super::shared::line_at;
use super::specstory::Fence;
use crate::formats::node::{object, string};
use crate::json::Json;

/// What the button of a plan writes in the name of the person. Exports of all languages have it in English.
const BUILD: &str =
    "Implement the plan as specified, it is attached for your reference. Do NOT edit the plan file itself.";
const TASKS: &str = "To-do's from the plan have already been created. Do not create them again. Mark them as in_progress \
                     as you work, starting with the first one. Don't stop until you have completed all the to-dos.";
/// The same in few words, as other tools say it.
const APPROVED: &str = "User has approved the plan";
/// Most words of the title of a plan.
const WORDS_OF_TITLE: usize = 14;
/// The tool that asks the person.
pub(super) const ASK: &str = "ask_question";
/// Begins each line of a question, and an option.
const QUOTE: &str = ">";
const OPTION: &str = "- ";
/// Follows an option that the person chose.
const CHOSEN: char = '\u{2714}';
/// Comes before an answer in own words.
const ANSWER: &str = "Answer:";
/// Begins the result of a question in the files of Claude Code.
const ANSWERED: &str = "User has answered your questions: ";

/// The messages in the text of one: the person's own words, and the approval of a plan in place of what its button
/// wrote. `is_reply` says that the model has spoken before: then a title above the button's text is that of the plan.
pub(super) fn messages(text: &str, is_reply: bool) -> Vec<Cow<'_, str>> {
    let mut at = 0;
    let found = text.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        (line.trim() == BUILD).then_some((start, at))
    });
    let Some((start, end)) = found else { return vec![Cow::Borrowed(text)] };
    let before = text[..start].trim();
    let is_title = is_reply && is_title(before);
    let approval = if is_title { format!("{APPROVED}: {before}") } else { format!("{APPROVED}.") };
    let behind: String = text[end..].split_inclusive('\n').filter(|line| line.trim() != TASKS).collect();
    let mut messages = Vec::new();
    messages.extend(Some(before).filter(|_| !is_title).map(Cow::Borrowed));
    messages.push(Cow::Owned(approval));
    messages.push(Cow::Owned(behind.trim().to_owned()));
    messages.retain(|message| !message.is_empty());
    messages
}

/// Whether a text can be the title of a plan: a line of few words that is no sentence.
fn is_title(text: &str) -> bool {
    let is_sentence = text.ends_with(['.', '?', '!', ':', '\u{3002}', '\u{ff1f}', '\u{ff01}', '\u{ff1a}']);
    !text.is_empty()
        && !text.contains('\n')
        && !text.starts_with(['@', '/'])
        && !is_sentence
        && text.split_whitespace().count() <= WORDS_OF_TITLE
}

/// A part of an answer.
#[derive(Debug, PartialEq)]
pub(super) enum Step<'a> {
    Text(&'a str),
    /// Questions that the person answered: the arguments of the call, and its result.
    Asked {
        arguments: Json<'static>,
        result: String,
    },
}

/// A question in a quote.
#[derive(Debug, Default)]
struct Question {
    asked: String,
    options: Vec<String>,
    chosen: Vec<String>,
    answer: Option<String>,
}

/// The parts of an answer. Questions that follow each other are one call.
pub(super) fn steps(text: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    let (mut start, mut at, mut fence, mut is_blank) = (0, 0, Fence::default(), true);
    while at < text.len() {
        let line = line_at(text, at);
        let (questions, end) = if is_blank && !fence.is_open() { questions_at(text, at) } else { (Vec::new(), at) };
        if questions.iter().any(|one| one.answer.is_some() || !one.chosen.is_empty()) {
            let (said, title) = without_title(&text[start..at]);
            add_text(&mut steps, said);
            steps.push(asked(title, &questions));
            (start, at) = (end, end);
            continue;
        }
        is_blank = line.trim().is_empty();
        fence.read(line);
        at += line.len();
    }
    add_text(&mut steps, &text[start..]);
    steps
}

fn add_text<'a>(steps: &mut Vec<Step<'a>>, text: &'a str) {
    let text = text.trim_matches('\n');
    steps.extend(Some(Step::Text(text)).filter(|_| !text.trim().is_empty()));
}

/// Most questions of one call. In a text of quotes, each of them is read as often.
const MOST_QUESTIONS: usize = 16;

/// The questions from `at` on with nothing but blank lines between them, and where the last one ends.
fn questions_at(text: &str, mut at: usize) -> (Vec<Question>, usize) {
    let (mut questions, mut end) = (Vec::new(), at);
    while questions.len() < MOST_QUESTIONS {
        let from = at;
        while line_at(text, at).starts_with(QUOTE) {
            at += line_at(text, at).len();
        }
        let Some(question) = question(&text[from..at]) else { break };
        questions.push(question);
        end = at;
        while at < text.len() && line_at(text, at).trim().is_empty() {
            at += line_at(text, at).len();
        }
    }
    (questions, end)
}

/// The question in a quote: it is in bold type, and its options are a list.
fn question(quote: &str) -> Option<Question> {
    let mut lines = quote.lines().map(|line| line[QUOTE.len()..].trim());
    let asked = lines.next()?.strip_prefix("**")?.strip_suffix("**").filter(|asked| !asked.contains("**"))?;
    let mut question = Question { asked: asked.to_owned(), ..Question::default() };
    for line in lines.filter(|line| !line.is_empty()) {
        if let Some(answer) = &mut question.answer {
            answer.push('\n');
            answer.push_str(line);
        } else if let Some(option) = line.strip_prefix(OPTION) {
            let bare = option.trim_end_matches(CHOSEN).trim_end();
            question.chosen.extend((bare.len() < option.len()).then(|| bare.to_owned()));
            question.options.push(bare.to_owned());
        } else {
            question.answer = Some(line.strip_prefix(ANSWER)?.trim().to_owned());
        }
    }
    (!question.options.is_empty()).then_some(question)
}

/// A text without the title of the questions below it, which is a paragraph in bold type.
fn without_title(text: &str) -> (&str, Option<&str>) {
    let said = text.trim_end();
    let start = said.rfind('\n').map_or(0, |at| at + 1);
    let title = said[start..].strip_prefix("**").and_then(|title| title.strip_suffix("**"));
    let is_alone = said[..start].trim_end_matches(' ').ends_with("\n\n") || start == 0;
    match title.filter(|title| is_alone && !title.contains("**")) {
        Some(title) => (&said[..start], Some(title)),
        None => (text, None),
    }
}

fn asked(title: Option<&str>, questions: &[Question]) -> Step<'static> {
    let of_question = |one: &Question| {
        let options = Json::Array(one.options.iter().map(|option| string(option.as_str())).collect());
        object([("question", string(one.asked.as_str())), ("options", options)])
    };
    let questions_of_call = Json::Array(questions.iter().map(of_question).collect());
    let arguments = match title {
        Some(title) => object([("title", string(title)), ("questions", questions_of_call)]),
        None => object([("questions", questions_of_call)]),
    };
    let answers = questions.iter().filter_map(|one| {
        let answer: Vec<&str> = one.chosen.iter().chain(&one.answer).map(String::as_str).collect();
        (!answer.is_empty()).then(|| format!("\"{}\"=\"{}\"", one.asked, answer.join(", ")))
    });
    let result = format!("{ANSWERED}{}", answers.collect::<Vec<_>>().join(", "));
    Step::Asked { arguments, result }
}
