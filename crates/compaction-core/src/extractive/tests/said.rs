//! What a summary tells of what was said: rules of a person, conclusions of answers, templates of a harness.

use super::*;

/// The items of a section of the history's summary.
fn section(messages: &[Arc<Message>], section: Section) -> Vec<String> {
    let document = SummaryDocument::parse(&text_of(&history(&prepared(messages))));
    document.body[section].iter().map(|item| item.to_string()).collect()
}

#[test]
fn a_rule_is_a_constraint_and_not_the_goal() {
    for rule in [
        "always use pnpm here, never npm",
        "no, use tabs",
        "ab jetzt bitte alle Texte auf Deutsch",
        "不要修改这个文件。",
    ] {
        let mut messages = vec![user("Port the export of the orders to the new server")];
        messages.extend([runs("1", "pnpm build"), returns("1", "ok", false), says("I look at the server.", "stop")]);
        messages.push(user(rule));
        messages.extend([
            runs("2", "pnpm test"),
            returns("2", "ok", false),
            says("I go on with the server", "toolUse"),
        ]);
        let goal = section(&messages, Section::Goal);
        assert_eq!(goal, ["Latest request: Port the export of the orders to the new server"], "{rule}");
        let constraints = section(&messages, Section::Constraints);
        assert_eq!(constraints, [rule], "{rule}");
    }
}

#[test]
fn a_demand_behind_a_finished_request_is_the_goal() {
    let edit = calls("1", "edit", r#"{"path":"src/orders.rs","oldText":"a","newText":"b"}"#);
    let done = says("The export writes the orders to the new server now, with all of their rows.", "stop");
    let messages = [user("Port the export of the orders to the new server"), edit, returns("1", "ok", false), done];
    let demand = "Never show the footer of the page on phones.";
    let goal =
        section(&[&messages[..], &[user(demand), runs("2", "ls"), returns("2", "a", false)]].concat(), Section::Goal);
    assert!(goal.contains(&format!("Latest request: {demand}")), "{goal:?}");
}

#[test]
fn an_answer_is_told_by_its_conclusion() {
    for (answer, expected) in [
        (
            "Here is a summary of what I found in the logs of the export:\n- The first log has no dates.\n- The second one \
             has no names.\n\n**In short:** the export stops since the queue has only 40 places.",
            "In short: the export stops since the queue has only 40 places.",
        ),
        (
            "Here is a summary of what I found in the logs of the export:\n- The clock of the server is late by 9 minutes, \
             so each token is refused.",
            "The clock of the server is late by 9 minutes, so each token is refused.",
        ),
        (
            "The logs were long and had many lines of the proxy.\n\n## Fazit\nDie Uhr des Servers geht 9 Minuten nach, daher \
             scheitert jede Anmeldung.",
            "Die Uhr des Servers geht 9 Minuten nach, daher scheitert jede Anmeldung.",
        ),
    ] {
        let messages = [user("Why does the export of the orders stop at night?"), says(answer, "stop")];
        let open = section(&messages, Section::InProgress);
        let told = open.iter().any(|item| item.contains(&format!("The last answer reports: {expected}")));
        assert!(told, "{open:?}");
    }
}

#[test]
fn edits_without_a_file_are_left_out_where_the_files_are_told() {
    let mut messages = vec![user("Add a menu to the page of the shop")];
    messages.extend([calls("1", "edit_file", r#"{"diff":"+ a"}"#), returns("1", "done", false)]);
    let done = section(&messages, Section::Done);
    assert!(done.iter().any(|item| item.contains("edit_file")), "nothing else tells it: {done:?}");
    messages.extend([calls("2", "edit_file", r#"{"target_file":"menu.html"}"#), returns("2", "done", false)]);
    let done = section(&messages, Section::Done);
    assert_eq!(done, ["Edited `menu.html`"]);
}

#[test]
fn the_template_of_a_command_is_told_by_its_task() {
    let steps = "- Read the next file of the shop and write down what it is for.\n".repeat(20);
    let text = format!("You are an agent for shops. Your task is to write the file `SHOP.md`.\n\n**Steps:**\n{steps}");
    let mut messages = vec![user(&text), says("I read the files of the shop", "toolUse")];
    let goal = section(&messages, Section::Goal);
    assert!(goal[0].contains("Read the next file"), "its steps are worked on: {goal:?}");
    messages.push(says("The file `SHOP.md` tells of all files of the shop.", "stop"));
    let goal = section(&messages, Section::Goal);
    assert_eq!(goal, ["Latest request: Your task is to write the file `SHOP.md`. (answered)"]);
    messages.push(user("Add a menu to the page of the shop"));
    let goal = section(&messages, Section::Goal);
    assert_eq!(goal[0], "At first: Your task is to write the file `SHOP.md`.");
}

#[test]
fn a_message_by_which_a_harness_goes_on_is_not_the_goal() {
    let go_on = "Please continue working on the task on whatever approach you think is suitable.\n\
                 IMPORTANT: YOU SHOULD NEVER ASK FOR HUMAN HELP.";
    let messages = [
        user("Port the parser of the shop to Rust"),
        says("I ported the blocks.", "stop"),
        user(go_on),
        calls("1", "write", r#"{"path":"src/b.rs","content":"x"}"#),
        returns("1", "ok", false),
    ];
    let document = SummaryDocument::parse(&text_of(&history(&prepared(&messages)))).body;
    let goal = document[Section::Goal].join("\n");
    assert!(goal.starts_with("Latest request: Port the parser of the shop to Rust"), "{goal}");
    assert!(document[Section::Constraints].join("\n").contains("NEVER ASK FOR HUMAN HELP"), "{document:?}");
}
