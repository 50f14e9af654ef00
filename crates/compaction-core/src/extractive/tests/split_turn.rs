//! A split turn: its context has its request in full, and other sections name it.

use super::*;

/// The summaries of a history and of the beginning of the turn after it.
fn split(history_messages: &[Arc<Message>], turn: &[Arc<Message>]) -> (String, String) {
    let (before, turn) = (prepared(history_messages), prepared(turn));
    let all: Vec<PreparedMessage> = before.iter().chain(&turn).cloned().collect();
    let with_turn = Ledger::collect(&all, None, tools());
    let begun = Turn::of(&turn, tools());
    let style = Style { turn: begun.as_ref(), with_turn: Some(&with_turn), ..style(ENOUGH) };
    let of_history = text_of(&ExtractiveInput { style, ..history(&before) });
    let of_turn = text_of(&ExtractiveInput { kind: SummaryKind::TurnPrefix, style, ..history(&turn) });
    (of_history, of_turn)
}

fn asked_before() -> Vec<Arc<Message>> {
    vec![
        user("Build the page of the shop. It has a list of all books."),
        says("The page of the shop is built.", "stop"),
    ]
}

#[test]
fn the_request_of_a_split_turn_stands_in_full_once() {
    let sentences: Vec<String> =
        (1..=12).map(|number| format!("The shelf number {number} gets a label with its books.")).collect();
    let request = format!("Now write the shelves of the shop.\n{}\nKeep their order.", sentences.join("\n"));
    let (of_history, of_turn) = split(&asked_before(), &[user(&request), says("I begin with the labels.", "toolUse")]);
    assert!(sentences.iter().all(|one| of_turn.matches(one.as_str()).count() == 1), "{of_turn}");
    let repeated = sentences.iter().filter(|one| of_history.contains(one.as_str())).count();
    assert!(repeated <= 4, "{of_history}");
    let named = "Working on: the latest request, \"Now write the shelves of the shop.";
    assert!(of_history.contains(named), "{of_history}");
}

#[test]
fn a_turn_that_a_harness_begins_goes_on_with_the_request_before_it() {
    let surroundings = "<environment_details>\n# Visible Files\nsrc/shelf.rs\n| 1 | Write the shelf | Pending |\n</environment_details>";
    let mut messages = asked_before();
    messages.push(user("Write the shelf of the shop. It has three boards."));
    let turn = [user(surroundings), runs("1", "cargo build"), returns("1", "ok", false)];
    let (of_history, of_turn) = split(&messages, &turn);
    assert!(of_history.contains("Write the shelf of the shop. It has three boards."), "{of_history}");
    let document = SummaryDocument::parse(&of_turn);
    let original = &document.body[Section::OriginalRequest];
    assert!(original.len() == 1 && original[0].contains("Write the shelf of the shop"), "{of_turn}");
    assert!(!of_turn.contains("Visible Files") && !of_turn.contains("environment_details"), "{of_turn}");
    assert!(Ledger::collect(&prepared(&turn[..1]), None, tools()).is_empty());
}

#[test]
fn a_turn_that_copies_an_option_goes_on_with_the_request_before_it() {
    let mut messages = asked_before();
    messages.push(user("Write the shelf of the shop. It has three boards."));
    let options = "The plan is ready. There are two ways:\n\n1. Step by step, with a review after each board\n2. All boards \
                   at once\n\nWhich way do you want?";
    messages.push(says(options, "stop"));
    let next = |words: &str| {
        let turn = [user(words), runs("1", "cargo build"), returns("1", "ok", false)];
        let (of_history, _) = split(&messages, &turn);
        SummaryDocument::parse(&of_history).body[Section::NextSteps][0].clone()
    };
    let copied = next("1. Step by step, with a review after each board");
    assert!(copied.starts_with("Go on with: Write the shelf of the shop."), "{copied}");
    let named = next("1");
    assert!(named.starts_with("Go on with: 1 (1. Step by step"), "{named}");
}
