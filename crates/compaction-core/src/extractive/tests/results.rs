//! Goal, Done and Next Steps of invented conversations: which results remain after what the person says next, and what
//! is left to do.

use super::goals::{check_cases, items};
use super::*;

/// The file with the cases. Each line has messages and the items of Goal, Done and Next Steps; `absent` are texts that
/// the summary must not have.
const CASES: &str = "fixtures/results.jsonl";

#[test]
fn a_result_holds_until_the_person_says_otherwise() {
    check_cases(CASES, |document| {
        let goal = items(document, Section::Goal, |_| true);
        let done = items(document, Section::Done, |item| item.contains(" -> "));
        let next = items(document, Section::NextSteps, |_| true);
        format!("\"goal\": [{goal}], \"done\": [{done}], \"next\": [{next}]")
    });
}
