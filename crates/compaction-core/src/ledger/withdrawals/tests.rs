use super::*;
use crate::json::Json;
use crate::ledger::sentences::sentences;

/// Whether a message ends what was said before.
fn ends(later: &str, earlier: &str) -> bool {
    sentences(later).filter_map(withdrawal).any(|withdrawal| withdrawal.ends(earlier))
}

#[test]
fn what_is_withdrawn_is_known_in_many_languages() {
    let mut wrong = Vec::new();
    let mut sum = [0; 4];
    for (number, line) in include_str!("../../../fixtures/withdrawals.jsonl").lines().enumerate() {
        let case = Json::parse(line).expect("a line of the fixture is JSON");
        let text = |key| case.get(key).and_then(Json::as_str).expect("a case has a text");
        let expected = case.get("withdrawn").and_then(Json::as_bool).expect("a case has a verdict");
        sum[2 * (number % 2)] += 1;
        if ends(text("later"), text("earlier")) != expected {
            sum[2 * (number % 2) + 1] += 1;
            wrong.push(format!("{} {line}", number % 2));
        }
    }
    println!("{sum:?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
