//! Goal, Done and Next Steps of invented conversations: which results hold, after what the person says next, and what is
//! left.

use super::goals::{messages_of, strings};
use super::*;
use crate::json::Json;

/// Where the cases are. Each line has messages, and the items of Goal, Done and Next Steps; `absent` are texts that the summary does
/// not have.
const CASES: &str = "fixtures/results.jsonl";

#[test]
fn a_result_holds_until_the_person_says_otherwise() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CASES);
    let mut found = String::new();
    let text = std::fs::read_to_string(&path).unwrap();
    for line in text.lines() {
        let case = Json::parse(line).expect("a line of the fixture is JSON");
        let summary = text_of(&history(&prepared(&messages_of(&case))));
        for absent in strings(&case, "absent") {
            assert!(!summary.contains(&absent), "{absent:?} is in {summary}");
        }
        let document = SummaryDocument::parse(&summary);
        let items = |section: Section, is_told: fn(&str) -> bool| {
            let items = document.body[section].iter().map(|item| item.to_string());
            items.filter(|item| is_told(item)).map(|item| encode_string(&item)).collect::<Vec<_>>().join(", ")
        };
        let before = line.split(", \"goal\": ").next().expect("a line has a beginning");
        let goal = items(Section::Goal, |_| true);
        let done = items(Section::Done, |item| item.contains(" -> "));
        let next = items(Section::NextSteps, |_| true);
        found.push_str(&format!("{before}, \"goal\": [{goal}], \"done\": [{done}], \"next\": [{next}]}}\n"));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    for (found, expected) in found.lines().zip(text.lines()) {
        assert_eq!(found, expected);
    }
}
