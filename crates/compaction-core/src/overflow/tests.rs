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

/// The texts of this project: what providers document and what users reported, all with invented numbers.
const FIXTURES: [&str; 3] = [
    include_str!("../../fixtures/error-texts.jsonl"),
    include_str!("../../fixtures/error-texts-field.jsonl"),
    include_str!("../../fixtures/error-texts-other.jsonl"),
];

/// docs/field-reports.md, "Overflow texts".
#[test]
fn every_text_of_the_fixtures_has_its_class() {
    let mut wrong = Vec::new();
    for line in FIXTURES.into_iter().flat_map(lines) {
        let message = string(&line, "errorMessage").expect("a line has a text");
        let provider = string(&line, "provider");
        let class = classify(provider, message).name();
        if Some(class) != string(&line, "class") {
            wrong.push(format!("{class}, not {:?}: {provider:?} {message}", string(&line, "class")));
        }
        for shouted in [message.to_uppercase(), message.to_lowercase()] {
            assert_eq!(classify(provider, &shouted).name(), class, "{shouted}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_shared_texts_are_told_apart() {
    let mut wrong = Vec::new();
    for name in ["overflow-messages.jsonl", "overflow-messages-2.jsonl"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data").join(name);
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("skipped: no texts at {}", path.display());
            continue;
        };
        for line in lines(&text) {
            let message = string(&line, "errorMessage").expect("a line has a text");
            let expected = line.get("overflow").and_then(Json::as_bool);
            if Some(is_overflow(string(&line, "provider"), message)) != expected {
                wrong.push(format!("not {expected:?}: {message}"));
            }
            let limit = line.get("window").and_then(Json::as_f64).map(|number| number as u64);
            let named = refused_size(string(&line, "provider"), message).and_then(|numbers| numbers.limit);
            if limit.is_some() && expected == Some(true) && named != limit {
                wrong.push(format!("limit {named:?}, not {limit:?}: {message}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What gateways, libraries and other models make of a text changes nothing of what it means.
#[test]
fn variants_of_a_text_have_its_class() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/overflow-messages.jsonl");
    let shared = std::fs::read_to_string(&path).unwrap_or_default();
    let mut checked = 0;
    for line in lines(&[FIXTURES.concat(), shared].concat()) {
        let message = string(&line, "errorMessage").expect("a line has a text");
        let provider = string(&line, "provider");
        let class = classify(provider, message);
        for variant in variants(message) {
            assert_eq!(classify(provider, &variant), class, "{provider:?} {message}\n{variant}");
            checked += 1;
        }
    }
    assert!(checked > 1000, "{checked}");
}

fn variants(message: &str) -> Vec<String> {
    let numbers = |separator: &str| with_numbers(message, |digits| grouped(digits, separator));
    let mut texts: Vec<String> = [",", ".", "_", " ", "\u{202f}", "\u{a0}", "'"].map(numbers).into();
    texts.push(with_numbers(message, |digits| format!("{}7", &digits[..digits.len() - 1])));
    texts.push(message.replace("gpt-5", "acme/Model-4.1:free").replace("model's", "model\u{2019}s"));
    texts.push(message.replace(' ', "  ").replace(". ", ".\r\n"));
    // An answer without a body comes from the client itself and is wrapped by nobody.
    if !message.contains("(no body)") && !message.is_empty() {
        let json = crate::json::encode_string(message);
        let twice = crate::json::encode_string(&format!("{{\"error\":{{\"message\":{json}}}}}"));
        texts.push(format!("Error: {message}"));
        texts.push(format!("Provider returned error: {message} (request id req_0123456789abcdef)"));
        texts.push(format!("litellm.APIError: APIError: OpenAIException - {message}"));
        texts.push(format!("{{\"error\":{{\"message\":{json},\"type\":\"invalid_request_error\"}}}}"));
        texts.push(format!("{{\n  \"error\" : {{\n    \"message\" : {json}\n  }}\n}}"));
        texts.push(format!("{{\"message\":{twice}}}"));
    }
    let shouted: Vec<String> = texts.iter().map(|text| text.to_uppercase()).collect();
    texts.into_iter().chain(shouted).collect()
}

/// `message` with its numbers of four and more digits changed; codes in quotation marks stay.
fn with_numbers(message: &str, change: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = message;
    while let Some(start) = rest.find(|character: char| character.is_ascii_digit()) {
        let length = rest[start..].bytes().take_while(u8::is_ascii_digit).count();
        let (before, digits) = (&rest[..start], &rest[start..start + length]);
        let after = &rest[start + length..];
        let is_number = length >= 4 && !before.ends_with([',', '-', '"', '_']) && !after.starts_with([',', '-']);
        out.push_str(before);
        out.push_str(&if is_number { change(digits) } else { digits.to_owned() });
        rest = after;
    }
    out + rest
}

fn grouped(digits: &str, separator: &str) -> String {
    let (head, tail) = digits.split_at(digits.len() % 3);
    let groups = (0..tail.len() / 3).map(|group| &tail[group * 3..group * 3 + 3]);
    let parts: Vec<&str> = std::iter::once(head).filter(|head| !head.is_empty()).chain(groups).collect();
    parts.join(separator)
}

#[test]
fn retries_only_what_may_pass() {
    let classes = [ErrorClass::RateLimit, ErrorClass::Overloaded];
    assert!(classes.iter().all(|class| class.is_retryable()));
    let classes = [ErrorClass::Overflow, ErrorClass::Quota, ErrorClass::Authentication, ErrorClass::Other];
    assert!(!classes.iter().any(|class| class.is_retryable()));
}

/// docs/field-reports.md, "Overflow texts".
#[test]
fn reads_the_numbers_that_a_provider_names() {
    let check = |text: &str, limit: Option<u64>, input: Option<u64>, output: Option<u64>| {
        let numbers = Reported::of(text);
        assert_eq!((numbers.limit, numbers.input, numbers.output), (limit, input, output), "{text}");
    };
    check(
        "you requested about 284283 tokens (8963 of text input, 13176 of tool input, 262144 in the output)",
        None,
        Some(22_139),
        Some(262_144),
    );
    check(
        "requested 1,051,540 tokens (1,051,539 in the messages, 1 in the completion).",
        None,
        Some(1_051_539),
        Some(1),
    );
    check("exceed context limit: 175272 + 32000 > 200000, decrease", Some(200_000), Some(175_272), Some(32_000));
    check("exceed context limit: 175272   32000 > 200000, decrease", Some(200_000), Some(175_272), Some(32_000));
    check("exceed context limit: 175\u{202f}272 + 32 000 > 200 000", Some(200_000), Some(175_272), Some(32_000));
    check(
        "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum context length is 8192 tokens \
         and your request has 1024 input tokens (8192 > 8192 - 1024).",
        Some(8192),
        Some(1024),
        Some(8192),
    );
    check("you requested about 140012 tokens.", None, None, None);
    check("prompt is too long: 213462 tokens > 200000 maximum", Some(200_000), Some(213_462), None);
    check("99999999999999999999999 in the messages, 1 in the completion", None, Some(u64::MAX), Some(1));
    check("Maximum request body size 2097152 exceeded, actual body size 2100017 bytes", None, None, None);
    check("", None, None, None);
}

#[test]
fn the_fixtures_name_their_numbers() {
    let mut wrong = Vec::new();
    for line in FIXTURES.into_iter().flat_map(lines) {
        let message = string(&line, "errorMessage").expect("a line has a text");
        let numbers = Reported::of(message);
        for (member, found) in [("limit", numbers.limit), ("input", numbers.input), ("output", numbers.output)] {
            let expected = line.get(member).and_then(Json::as_f64).map(|number| number as u64);
            if expected.is_some() && found != expected {
                wrong.push(format!("{member} {found:?}, not {expected:?}: {message}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_request_whose_output_fills_the_window_is_not_cured_by_a_smaller_context() {
    let check = |limit, output, expected| {
        let numbers = Reported { limit: Some(limit), output: Some(output), ..Reported::default() };
        assert_eq!(numbers.is_curable(), expected, "{limit} {output}");
    };
    check(200_000, 64_000, true);
    check(200_000, 128_000, true);
    check(131_072, 131_072, false);
    check(131_072, 128_000, false);
    assert!(Reported::default().is_curable());
}
