//! A session that is one long turn: its beginning is summarised without a history before it.

use super::*;
use crate::summary::{TURN_CONTEXT_MARKER, join_split_turn};

fn whole(messages: &[Arc<Message>], max_tokens: u64) -> String {
    let messages = prepared(messages);
    let ledger = Ledger::collect(&messages, None, tools());
    let text = render_turn(&ledger, &messages, &style(max_tokens));
    assert!(estimate_text(&text) <= max_tokens.max(MINIMUM_TOKENS), "{text}");
    text
}

fn one_turn() -> Vec<Arc<Message>> {
    let edit = r#"{"path":"src/parser.rs","oldText":"let a = 1;","newText":"let a = next(&mut tokens);"}"#;
    vec![
        user("Port the parser of the shop to Rust and then write the manual of the printer"),
        says("Shall I begin with the tokens? I do, since all else needs them.", "toolUse"),
        runs("1", "cargo test -p parser"),
        returns("1", "test nested ... FAILED\ntest result: FAILED. 11 passed; 1 failed; 0 ignored", true),
        says("I port the parser of the shop with a table of tokens, because a list is slow.", "toolUse"),
        calls("2", "edit", edit),
        returns("2", "ok", false),
        says("Now the nested blocks of the parser.", "toolUse"),
        calls("3", "read", r#"{"path":"src/blocks.rs"}"#),
        returns("3", "fn blocks() {}", false),
    ]
}

#[test]
fn a_turn_alone_tells_its_state_in_the_sections_of_a_history() {
    let text = whole(&one_turn(), ENOUGH);
    let document = SummaryDocument::parse(&text);
    let section = |section| document.body[section].join("\n");
    assert_eq!(missing_headings(text.split(TURN_CONTEXT_MARKER).next().unwrap(), SummaryKind::History), [""; 0]);
    let context = text.split(TURN_CONTEXT_MARKER).nth(1).unwrap();
    assert_eq!(missing_headings(context, SummaryKind::TurnPrefix), [""; 0]);
    assert!(section(Section::Goal).contains("Port the parser of the shop to Rust"), "{text}");
    assert!(section(Section::InProgress).contains("changed `src/parser.rs`"), "{text}");
    assert!(section(Section::InProgress).contains("Last step: read `src/blocks.rs`"), "{text}");
    assert!(section(Section::Blocked).contains("cargo test -p parser"), "{text}");
    assert!(section(Section::NextSteps).contains("cargo test -p parser"), "{text}");
    assert!(section(Section::NextSteps).contains("write the manual of the printer"), "{text}");
    // The turn continues after it, so nothing waits and nothing is over.
    assert!(!text.contains("waits for an answer") && !text.contains("Nothing is in progress"), "{text}");
    assert!(document.body[Section::CriticalContext].is_empty() && document.turn_contexts.len() == 1, "{text}");
    assert!(document.turn_contexts[0][Section::SuffixContext].iter().any(|item| item.contains("a list is slow")));
}

#[test]
fn a_turn_alone_says_its_request_once() {
    let request = "Port the parser of the shop to Rust. Its grammar is in the book of the shop.";
    let text = whole(&[user(request), runs("1", "ls"), returns("1", "src", false)], ENOUGH);
    assert_eq!(text.matches("Its grammar is in the book").count(), 1, "{text}");
    // The kept messages begin with what was done for it.
    let text = whole(&[user(request)], ENOUGH);
    assert!(!text.contains("nothing was done"), "{text}");
}

#[test]
fn a_turn_alone_in_little_room_has_only_its_context() {
    let text = whole(&one_turn(), 300);
    assert!(text.starts_with("## Original Request\n- Port the parser") && !text.contains("## Goal"), "{text}");
}

#[test]
fn a_turn_alone_is_joined_and_read_back_as_it_is() {
    let messages = one_turn();
    let text = whole(&messages, ENOUGH);
    assert_eq!(join_split_turn(None, &text), text);
    assert!(join_split_turn(Some("before"), &text).starts_with("before\n"), "a history comes first");
    let next = prepared(&[user("Now port the printer of the shop")]);
    let read = text_of(&ExtractiveInput { previous_summary: Some(&text), ..history(&next) });
    assert!(!read.contains("The goal above") && read.contains("Port the parser of the shop to Rust"), "{read}");
}
