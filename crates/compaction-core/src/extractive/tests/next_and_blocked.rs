//! Goal, Done, Blocked and Next Steps of invented conversations: what is not solved yet, and what an answer leaves to do.

use super::goals::{check_cases, items};
use super::*;

/// The file with the cases. Each line has messages and the items of these sections; `absent` are texts that the summary
/// must not have.
const CASES: &str = "fixtures/next.jsonl";

#[test]
fn what_is_not_solved_blocks_and_what_was_asked_is_next() {
    check_cases(CASES, |document| {
        let goal = items(document, Section::Goal, |_| true);
        let done = items(document, Section::Done, |_| true);
        let blocked = items(document, Section::Blocked, |_| true);
        let next = items(document, Section::NextSteps, |_| true);
        format!("\"goal\": [{goal}], \"done\": [{done}], \"blocked\": [{blocked}], \"next\": [{next}]")
    });
}
