use super::*;
use crate::json::Json;
use crate::ledger::sentences::sentences;

/// Cases in a hundred that may be missed; a missed one is told beside what ended it.
const MOST_MISSED: usize = 5;

/// Whether a message ends what was said before.
fn ends(later: &str, earlier: &str) -> bool {
    sentences(later).filter_map(withdrawal).any(|withdrawal| withdrawal.ends(earlier))
}

#[test]
fn what_is_withdrawn_is_known_in_many_languages() {
    let (mut count, mut missed) = (0, Vec::new());
    for line in include_str!("../../../fixtures/withdrawals.jsonl").lines() {
        let case = Json::parse(line).expect("a line of the fixture is JSON");
        let text = |key| case.get(key).and_then(Json::as_str).expect("a case has a text");
        let is_withdrawn = case.get("withdrawn").and_then(Json::as_bool).expect("a case has a verdict");
        let is_ended = ends(text("later"), text("earlier"));
        assert!(is_withdrawn || !is_ended, "ended by mistake: {line}");
        count += usize::from(is_withdrawn);
        if is_withdrawn && !is_ended {
            missed.push(line);
        }
    }
    assert!(missed.len() * 100 <= count * MOST_MISSED, "{} of {count} missed:\n{}", missed.len(), missed.join("\n"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(later in "\\PC{0,60}|([a-z`/.,]{1,6} |use |not |instead of |不要|用|やめ){0,12}", earlier in "\\PC{0,60}") {
        ends(&later, &earlier);
        ends(&later, &later);
    }
}
