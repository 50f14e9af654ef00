use std::path::Path;

use super::*;
use crate::json::Json;

fn lines(text: &str) -> Vec<Json<'_>> {
    let lines = text.lines().filter(|line| !line.is_empty());
    lines.map(|line| Json::parse(line).expect("a line of the fixture is JSON")).collect()
}

fn string<'a>(line: &'a Json<'_>, key: &str) -> Option<&'a str> {
    line.get(key).and_then(Json::as_str)
}

/// Field bugs 87, 88, 89 and 91.
#[test]
fn every_text_of_the_fixture_has_its_class() {
    for line in lines(include_str!("../../fixtures/error-texts.jsonl")) {
        let message = string(&line, "errorMessage").expect("a line has a text");
        let provider = string(&line, "provider");
        assert_eq!(Some(classify(provider, message).name()), string(&line, "class"), "{provider:?} {message}");
        for shouted in [message.to_uppercase(), message.to_lowercase()] {
            assert_eq!(classify(provider, &shouted).name(), classify(provider, message).name(), "{shouted}");
        }
    }
}

#[test]
fn the_shared_texts_are_told_apart() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/overflow-messages.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return eprintln!("skipped: no texts at {}", path.display());
    };
    for line in lines(&text) {
        let message = string(&line, "errorMessage").expect("a line has a text");
        let expected = line.get("overflow").and_then(Json::as_bool);
        assert_eq!(Some(is_overflow(string(&line, "provider"), message)), expected, "{message}");
    }
}

#[test]
fn retries_only_what_may_pass() {
    let classes = [ErrorClass::RateLimit, ErrorClass::Overloaded];
    assert!(classes.iter().all(|class| class.is_retryable()));
    let classes = [ErrorClass::Overflow, ErrorClass::Quota, ErrorClass::Authentication, ErrorClass::Other];
    assert!(!classes.iter().any(|class| class.is_retryable()));
}

/// Field bug 90.
#[test]
fn reads_the_input_that_a_provider_counted() {
    let check = |text: &str, expected| assert_eq!(reported_input_tokens(text), expected, "{text}");
    check(
        "you requested about 284283 tokens (8963 of text input, 13176 of tool input, 262144 in the output)",
        Some(22_139),
    );
    check("you requested 1,051,540 tokens (1,051,539 in the messages, 1 in the completion).", Some(1_051_539));
    check("you requested 10346 tokens (10346 in your prompt; 5 for the completion)", Some(10_346));
    check("exceed context limit: 175272 + 32000 > 200000, decrease", Some(175_272));
    check("you requested about 140012 tokens.", None);
    check("prompt is too long: 213462 tokens > 200000 maximum", None);
    check("99999999999999999999999 in the messages, 1 in the completion", Some(u64::MAX));
    check("", None);
}
