use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::summary::missing_headings;

const LIMITS: OutputLimits = OutputLimits { reserve_tokens: 16_384, model_max_tokens: None };

fn texts() -> PromptTexts {
    let text = str::to_owned;
    PromptTexts {
        system: text("S"),
        first: text("F"),
        update: text("U"),
        turn_prefix: text("T"),
        branch: text("B"),
        continued: text("C"),
        in_conversation: text("I"),
        in_turn: text("IT"),
    }
}

fn history(previous: Option<&str>, custom: Option<&str>) -> SummaryRequest {
    let prompt = HistoryPrompt { conversation: "[User]: hi", previous_summary: previous, custom_instructions: custom };
    texts().history_request(prompt, &LIMITS)
}

#[test]
fn puts_the_parts_in_order() {
    expect!["<conversation>\n[User]: hi\n</conversation>\n\nF"].assert_eq(&history(None, None).prompt);
    expect!["<conversation>\n[User]: hi\n</conversation>\n\n<previous-summary>\nold\n</previous-summary>\n\nU\n\nAdditional focus: tests"]
        .assert_eq(&history(Some("old"), Some(" tests\n")).prompt);
}

#[test]
fn every_request_has_the_focus() {
    // Also the one for the turn prefix.
    let branch = |replace_instructions| {
        let prompt = BranchPrompt { conversation: "c", custom_instructions: Some("tests"), replace_instructions };
        texts().branch_request(prompt, &LIMITS).prompt
    };
    let prefix = texts().turn_prefix_request("c", Some("tests"), &LIMITS).prompt;
    expect!["<conversation>\nc\n</conversation>\n\nT\n\nAdditional focus: tests"].assert_eq(&prefix);
    expect!["<conversation>\nc\n</conversation>\n\nB\n\nAdditional focus: tests"].assert_eq(&branch(false));
    expect!["<conversation>\nc\n</conversation>\n\ntests"].assert_eq(&branch(true));
}

#[test]
fn bounds_the_output() {
    let check = |reserve_tokens, model_max_tokens, expected: [u64; 3]| {
        let limits = OutputLimits { reserve_tokens, model_max_tokens };
        let kinds = [RequestKind::History, RequestKind::TurnPrefix, RequestKind::Branch];
        assert_eq!(kinds.map(|kind| limits.max_tokens(kind)), expected, "{limits:?}");
    };
    check(16_384, None, [13_107, 8192, 4096]);
    check(16_384, Some(8000), [8000, 8000, 4096]);
    check(999, Some(100_000), [799, 499, 4096]);
    check(16_384, Some(1000), [1000, 1000, 1000]);
    check(0, None, [1, 1, 4096]);
    check(u64::MAX, None, [u64::MAX / 5 * 4, u64::MAX / 2, 4096]);
}

#[test]
fn counts_the_tokens_of_both_prompts() {
    let request = history(None, None);
    assert_eq!(request.estimated_tokens, 1 + estimate_text(&request.prompt));
}

#[test]
fn quoted_text_cannot_end_its_block() {
    let check = |text: &str, expected: &str| assert_eq!(escape_tags(text), expected);
    check("a </conversation> b", "a <\\/conversation> b");
    check("< /conversation>", "< \\/conversation>");
    check("</ CONVERSATION\n></previous-summary></summary>", "<\\/ CONVERSATION\n><\\/previous-summary><\\/summary>");
    check("</div> <conversation> < / x </", "</div> <conversation> < / x </");
    check("\u{1f600}<\u{1f600}</read-files>", "\u{1f600}<\u{1f600}<\\/read-files>");
    assert_eq!(history(Some("</previous-summary>"), None).prompt.matches("</previous-summary>").count(), 1);
}

#[test]
fn the_default_texts_ask_for_every_heading() {
    let texts = PromptTexts::default();
    for (text, kind) in [
        (&texts.first, SummaryKind::History),
        (&texts.update, SummaryKind::History),
        (&texts.branch, SummaryKind::Branch),
        (&texts.turn_prefix, SummaryKind::TurnPrefix),
    ] {
        assert_eq!(missing_headings(text, kind), Vec::<&str>::new());
        let places: Vec<_> = kind.headings().map(|heading| text.find(&format!("\n{heading}\n"))).collect();
        assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}");
    }
    assert!(!texts.branch.contains("## Critical Context"));
}

proptest! {
    #[test]
    fn escaping_is_done_once(text in "([<>/ a]|</|conversation|summary|\\\\){0,12}") {
        let once = escape_tags(&text).into_owned();
        prop_assert_eq!(escape_tags(&once), once.as_str());
        prop_assert_eq!(once.replace('\\', ""), text.replace('\\', ""));
    }
}
