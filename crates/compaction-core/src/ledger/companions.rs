//! Companions: statements that say little without each other. A question of a person needs its answer, a line that
//! introduces a list needs the first item, an admission of the model needs what is right, and the two sides of a contrast, or the rows of a table of conditions, need each
//! other.

use super::answers::{is_praise, verdict};
use super::closed_requests::leads;
use super::noise::says_nothing;
use super::reasons::begins_with_pronoun;
use super::retractions::admits;
use super::statements::{Statement, Voice};
use crate::text::utf16_len;

/// Number of first statements of an answer that are searched for a yes or a no.
const FIRST: usize = 3;
/// Number of first statements of an answer that are searched for what it says.
const MOST_SEARCHED: usize = 8;
/// Longest item of a list of two, in UTF-16 units.
const LONGEST_SIDE: usize = 100;
/// Most rows of a table of conditions that are taken together.
const MOST_ROWS: usize = 4;
/// Most bytes of the label of such an item.
const LONGEST_LABEL: usize = 24;
/// Longest sentence that takes back what was said and does not say what is right, in UTF-16 units, and the statements
/// behind it that may say that.
const LONGEST_ADMISSION: usize = 40;
const MOST_BEHIND: usize = 4;
/// Marks of bounds.
const BOUNDS: [char; 4] = ['<', '>', '\u{2264}', '\u{2265}'];

/// For each statement, the one that it needs in its own message.
pub(super) fn needed_in_messages(statements: &[Statement]) -> Vec<Option<u32>> {
    let needed = |index| needed_in_message(statements, index).and_then(|index| u32::try_from(index).ok());
    (0..statements.len()).map(needed).collect()
}

/// For each statement, the one that it needs. Statements for which `left_out` is true are needed by none. `in_messages`
/// has what [`needed_in_messages`] found.
pub(super) fn companions(statements: &[Statement], in_messages: &[Option<u32>], left_out: &[bool]) -> Vec<Option<u32>> {
    let is_out = |index: usize| left_out.get(index).copied().unwrap_or_default();
    let mut companions = vec![None; statements.len()];
    let mut start = 0;
    while start < statements.len() {
        let one = &statements[start];
        if one.voice != Voice::Person {
            let needed = in_messages[start].map(|index| index as usize).filter(|index| !is_out(*index));
            companions[start] = companions[start].or(needed);
            start += 1;
            continue;
        }
        // The message, and what followed it up to the next words of a person.
        let end_of = |mut at: usize, is_in: &dyn Fn(&Statement) -> bool| {
            while statements.get(at).is_some_and(is_in) {
                at += 1;
            }
            at
        };
        let end = end_of(start, &|other| other.position == one.position);
        // The words before a pasted text point at it.
        let is_pasted = |at: usize| at < end && statements[at].voice == Voice::Quote && !is_out(at);
        for at in (start..end).filter(|at| statements[*at].voice == Voice::Person && leads(&statements[*at].text)) {
            companions[at] = Some(at + 1).filter(|next| is_pasted(*next));
        }
        let asked = (start..end).rev().find(|at| statements[*at].voice == Voice::Person && asks(&statements[*at].text));
        if let Some(asked) = asked {
            let next = end_of(end, &|other| other.voice != Voice::Person);
            companions[asked] = answer(statements, end..next, &is_out);
            // A sentence that points at the code before it says nothing without it.
            let code = companions[asked].filter(|at| points_at_code(statements, *at)).map(|at| (at - 1, at));
            if let Some((code, sentence)) = code.filter(|(code, _)| !is_out(*code)) {
                companions[asked] = Some(code);
                companions[code] = Some(sentence);
            }
        }
        start = end;
    }
    companions.into_iter().map(|index| index.and_then(|index| u32::try_from(index).ok())).collect()
}

/// Whether a text has a question.
fn asks(text: &str) -> bool {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || matches!(next, '/' | '=' | '&'));
    text.contains('\u{ff1f}') || text.match_indices('?').any(|(at, _)| is_end(&text[at + 1..]))
}

/// The sentence that answers the question before `turn`: in the model's last messages of the turn, between which nothing
/// else came, a yes or a no among the first sentences, or else the first sentence that says something.
fn answer(statements: &[Statement], turn: std::ops::Range<usize>, is_out: &impl Fn(usize) -> bool) -> Option<usize> {
    let is_spoken = |one: &Statement| one.is_of_model() || one.voice == Voice::Quote;
    let last = turn.clone().rev().find(|at| is_spoken(&statements[*at]))?;
    let mut first = last;
    while first > turn.start && is_spoken(&statements[first - 1]) && follows(&statements[first - 1], &statements[first])
    {
        first -= 1;
    }
    let told = (first..=last).filter(|at| statements[*at].is_of_model() && !is_out(*at));
    let told: Vec<usize> = told.filter(|at| !is_praise(&statements[*at].text)).take(MOST_SEARCHED).collect();
    let decides = |at: &&usize| verdict(without_mark(&statements[**at].text)).is_some();
    let found =
        told.iter().take(FIRST).find(decides).or_else(|| told.iter().find(|at| says_something(&statements[**at])));
    let is_code = |at: &usize| statements[*at].voice == Voice::Quote && !is_out(*at);
    found.copied().or_else(|| (first..=last).take(MOST_SEARCHED).find(is_code))
}

/// Whether a sentence begins with a pronoun right behind code of its message: `This fetches the branch.`
fn points_at_code(statements: &[Statement], at: usize) -> bool {
    let one = &statements[at];
    let before = at.checked_sub(1).map(|before| &statements[before]);
    let is_code = before.is_some_and(|before| before.voice == Voice::Quote && before.position == one.position);
    is_code && one.is_of_model() && begins_with_pronoun(&one.text)
}

/// A sentence without a mark in brackets at its beginning: `[OK] …`.
fn without_mark(text: &str) -> &str {
    let rest = text.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    rest.filter(|(mark, _)| mark.len() <= LONGEST_LABEL).map_or(text, |(_, rest)| rest)
}

/// Whether two statements are of one message, or of two with nothing between them.
fn follows(before: &Statement, after: &Statement) -> bool {
    after.position <= before.position + 1
}

fn says_something(one: &Statement) -> bool {
    one.states() && !asks(&one.text) && !leads(&one.text) && !says_nothing(&one.text)
}

/// What a statement of the model needs in its own message: an introduction its first item, a row of a table with a bound the
/// other ones, and an item of a list of two labelled ones the other.
fn needed_in_message(statements: &[Statement], index: usize) -> Option<usize> {
    let one = &statements[index];
    let of_message = |at: usize| {
        statements
            .get(at)
            .filter(|other| other.position == one.position && (other.is_of_model() || other.voice == Voice::Quote))
    };
    if !one.is_of_model() {
        return None;
    }
    if utf16_len(&one.text) <= LONGEST_ADMISSION && admits(&one.text) {
        let says = |at: &usize| of_message(*at).is_some_and(|next| next.is_of_model() && says_something(next));
        return (index + 1..=index + MOST_BEHIND).find(says);
    }
    if leads(&one.text) {
        // What takes something back is followed by what is right, even if that introduces a list.
        let says = |next: &&Statement| !leads(&next.text) || admits(&one.text);
        return of_message(index + 1).filter(says).map(|_| index + 1);
    }
    let is_row = |at: usize| of_message(at).is_some_and(|other| other.text.contains(" | ") && has_bound(&other.text));
    if is_row(index) {
        let first = || (index.saturating_sub(MOST_ROWS)..index).rev().take_while(|at| is_row(*at)).last();
        return Some(index + 1).filter(|at| is_row(*at)).or_else(first);
    }
    let is_side = |at: usize| of_message(at).is_some_and(|other| is_side(&other.text));
    if !is_side(index) {
        return None;
    }
    let before = index.checked_sub(1).filter(|at| is_side(*at));
    let after = Some(index + 1).filter(|at| is_side(*at));
    match (before, after) {
        (None, Some(after)) => (!is_side(after + 1)).then_some(after),
        (Some(before), None) => (before.checked_sub(1).is_none_or(|at| !is_side(at))).then_some(before),
        _ => None,
    }
}

/// Whether a text compares something with a number: `<0.85`, `> 90 %`.
pub(super) fn has_bound(text: &str) -> bool {
    let is_number = |rest: &str| {
        let rest = rest.trim_start_matches('=').trim_start();
        rest.starts_with(|first: char| first.is_ascii_digit())
    };
    // An arrow ends with the same mark.
    let is_bound =
        |(at, mark): (usize, &str)| !text[..at].ends_with(['-', '=', '<', '>']) && is_number(&text[at + mark.len()..]);
    text.match_indices(BOUNDS).any(is_bound)
}

/// Whether a line may be a side of a contrast: short, with a label at its beginning.
fn is_side(text: &str) -> bool {
    let label = [": ", "\u{ff1a}"].iter().filter_map(|mark| text.find(mark)).min();
    label.is_some_and(|at| at > 0 && at <= LONGEST_LABEL) && utf16_len(text) <= LONGEST_SIDE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Sources;

    /// The statement that each of some statements needs. A message is given by its position.
    fn needed(statements: &[(u64, Voice, &str)]) -> Vec<Option<u32>> {
        let statement = |(position, voice, text): &(u64, Voice, &str)| Statement {
            voice: *voice,
            text: (*text).to_owned(),
            number: 0,
            position: *position,
            sources: Sources::default(),
        };
        let statements: Vec<Statement> = statements.iter().map(statement).collect();
        companions(&statements, &needed_in_messages(&statements), &[])
    }

    #[test]
    fn a_question_needs_its_answer() {
        use Voice::{Action, Announcement, Person, Quote, Remark, Report};
        let asked = (1, Person, "Does it write to the old store?");
        for (turn, expected) in [
            // A yes or a no comes first, whatever praises the question.
            (
                vec![
                    (2, Report, "Great question!"),
                    (2, Report, "No, it writes to `hall.db`."),
                    (2, Report, "See there."),
                ],
                2,
            ),
            (vec![(2, Report, "It reads both."), (2, Report, "Yes, but only at night.")], 2),
            (vec![(2, Report, "Ja, in beide.")], 1),
            (vec![(2, Report, "はい、両方に書きます。")], 1),
            (vec![(2, Report, "[OK] The list of rooms"), (2, Report, "[OK] Não, só na sala.")], 2),
            // An export splits an answer.
            (vec![(2, Remark, "Sim, nos dois."), (3, Report, "O índice vem depois.")], 1),
            // What came before the calls only announces.
            (vec![(2, Remark, "I look at it."), (4, Action, "`make`: ok"), (6, Report, "The hall has it.")], 3),
            (vec![(2, Announcement, "The store"), (2, Report, "Which one?"), (2, Report, "It writes to both.")], 3),
        ] {
            let statements: Vec<_> = std::iter::once(asked).chain(turn).collect();
            assert_eq!(needed(&statements)[0], Some(expected), "{statements:?}");
        }
        let code = [asked, (2, Quote, "open hall.db"), (2, Report, "This opens it."), (2, Report, "It is slow.")];
        assert_eq!(needed(&code), [Some(1), Some(2), None, None]);
        assert_eq!(
            needed(&[asked, (2, Announcement, "Run this:"), (2, Quote, "open hall.db")]),
            [Some(2), Some(2), None]
        );
        assert_eq!(needed(&[asked, (2, Announcement, "Let me look at it.")]), [None, None]);
        assert_eq!(needed(&[asked, (3, Person, "And the new one?"), (4, Report, "Both.")])[0], None);
        assert_eq!(needed(&[(1, Person, "see https://a.b/c?d=e"), (2, Report, "It is there.")])[0], None);
        assert_eq!(needed(&[(1, Person, "quand ?"), (2, Report, "Elle est prête demain.")])[0], Some(1));
    }

    #[test]
    fn an_introduction_needs_its_first_item() {
        use Voice::{Quote, Report};
        let list = [(1, Report, "The parts are:"), (1, Report, "the hall"), (1, Report, "It is cold.")];
        assert_eq!(needed(&list), [Some(1), None, None]);
        assert_eq!(needed(&[(1, Report, "It is this:"), (1, Quote, "a = 1")]), [Some(1), None]);
        assert_eq!(needed(&[(1, Report, "It is this:"), (2, Report, "Later.")]), [None, None]);
        assert_eq!(
            needed(&[(1, Report, "Parts:"), (1, Report, "Of the hall:"), (1, Report, "a lamp")]),
            [None, Some(2), None]
        );
    }

    #[test]
    fn both_sides_of_a_contrast_need_each_other() {
        use Voice::Report;
        let sides = [(1, Report, "It differs:"), (1, Report, "Here: version 3"), (1, Report, "There: version 4")];
        assert_eq!(needed(&sides), [Some(1), Some(2), Some(1)]);
        let rows =
            [(1, Report, "light <0.85 | lamp"), (1, Report, "heat <0.7 | stove"), (1, Report, "both fine | nothing")];
        assert_eq!(needed(&rows), [Some(1), Some(0), None]);
        let many = [(1, Report, "A: 1"), (1, Report, "B: 2"), (1, Report, "C: 3")];
        assert_eq!(needed(&many), [None, None, None]);
    }
}
