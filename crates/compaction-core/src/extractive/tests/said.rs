//! What a summary says about statements: rules of a person, conclusions of answers, templates of a harness.

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
fn how_the_work_goes_on_is_told_until_other_work_is_asked_for() {
    let asks = "The plan is there. Which way?\n\n1. Subagent-Driven (recommended) \u{2014} a fresh one per task\n2. Inline execution \u{2014} in this session\n\nWhich one?";
    let chosen = [user("Plan the export of the orders to the new server"), says(asks, "stop"), user("1")];
    let works = [runs("1", "cargo test"), returns("1", "ok", false), says("The first task is done now.", "stop")];
    let later =
        [user("Now translate the manual of the printer into French"), runs("2", "ls"), returns("2", "a", false)];
    let open = section(&[&chosen[..], &works[..]].concat(), Section::Decisions);
    assert_eq!(open, ["The user chose: 1. Subagent-Driven (recommended)"]);
    let over = section(&[&chosen[..], &works[..], &later[..]].concat(), Section::Decisions);
    assert!(over.is_empty(), "{over:?}");
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
    let called = section(&messages, Section::CriticalContext);
    assert!(called.iter().any(|item| item.contains("edit_file")), "nothing else tells it: {called:?}");
    messages.extend([calls("2", "edit_file", r#"{"target_file":"menu.html"}"#), returns("2", "done", false)]);
    let called = section(&messages, Section::CriticalContext);
    assert!(called.iter().all(|item| !item.contains("edit_file")), "{called:?}");
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

#[test]
fn a_call_that_was_refused_and_the_prompt_of_another_agent_are_no_work() {
    let commit = r#"{"command":"git add -A && git commit -m \"Describe the trays of the printer in the manual\""}"#;
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let told = |result: &str, is_error: bool| {
        let messages = [
            user("Look after the manual of the printer"),
            calls("1", "bash", commit),
            returns("1", result, is_error),
            says("I look at the next page of it.", "stop"),
            user("Now look after the index of the pages"),
            runs("2", "ls"),
            returns("2", "a", false),
        ];
        text_of(&history(&prepared(&messages))).contains("Describe the trays of the printer")
    };
    assert!(told("[main 1a2b3c4] Describe the trays of the printer in the manual", false));
    assert!(!told(refusal, true));
    let prompt = r#"{"description":"Look at the trays","prompt":"Read all pages about the trays and list what each of them can hold"}"#;
    let messages = [
        user("Look after the manual of the printer"),
        calls("1", "Task", prompt),
        returns("1", "There are three trays, and each of them holds paper.", false),
        says("There are three trays.", "stop"),
        user("Now look after the index of the pages"),
    ];
    let text = text_of(&history(&prepared(&messages)));
    assert!(!text.lines().any(|line| line.starts_with("- Work:") && line.contains("list what each of them")), "{text}");
}

#[test]
fn a_line_that_a_patch_only_moves_is_not_new() {
    let patch = "*** Begin Patch\\n*** Update File: src/menu.ts\\n@@\\n-// Sort the menu by its names\\n-sortMenu(names)\\n\
                 +// Sort the menu by its names\\n+sortMenu(names, collator)\\n*** End Patch";
    let messages = [
        user("Sort the menu as people expect it"),
        calls("1", "apply_patch", &format!(r#"{{"input":"{patch}"}}"#)),
        returns("1", "Success. Updated the following files:\nM src/menu.ts", false),
    ];
    let text = text_of(&history(&prepared(&messages)));
    assert!(text.contains("sortMenu(names, collator)") && !text.contains("Sort the menu by its names"), "{text}");
}

/// The outcome of a finished request before another request.
fn outcome(request: &str, answer: &str, next: &str) -> Vec<String> {
    let edit = calls("1", "edit", r#"{"path":"src/orders.rs","oldText":"a","newText":"b"}"#);
    let messages = [user(request), edit, returns("1", "ok", false), says(answer, "stop"), user(next), runs("2", "ls")];
    let done = section(&messages, Section::Done);
    let done = done.into_iter().filter(|item| item.contains(" -> "));
    done.map(|item| item.replace(" (changed `orders.rs`)", "")).collect()
}

#[test]
fn an_outcome_is_about_its_request_and_no_question() {
    let next = "Now write the index of the manual";
    assert_eq!(
        outcome(
            "Show the preview of each invoice in the list",
            "Here's what I did for you today.\n\nEach invoice has a small preview beside its date.\n\nThe warning about the late clock \
             of the second server is gone for good now.",
            next
        ),
        ["Done: Show the preview of each invoice in the list -> Each invoice has a small preview beside its date."]
    );
    let asked = outcome(
        "Show the preview of each invoice in the list",
        "The invoices have previews now, all of them.\n\n**Shall I add some more?** That would be useful for everybody!",
        next,
    );
    assert_eq!(
        asked,
        ["Done: Show the preview of each invoice in the list -> The invoices have previews now, all of them."]
    );
    for objection in
        ["i never said to show a preview, it was only there for you to read", "no, that's not what i asked for"]
    {
        let answer = "Each invoice has a small preview beside its date.";
        assert_eq!(outcome("Show the preview of each invoice in the list", answer, objection), [""; 0], "{objection}");
    }
}

#[test]
fn a_prohibition_of_a_name_is_told_beside_the_decision_for_it() {
    let ask = "The page reads the folder that you choose. Shall I add a hint beside the button for ORDERS_DIR?";
    let wish = "no, i want it to read the ORDERS_DIR/new folder on its own like I said";
    let work = |id: &str| [runs(id, "npm run build"), returns(id, "ok", false), says("It is built now.", "stop")];
    let mut messages = vec![user("Let the page list the orders of today"), says(ask, "stop"), user(wish)];
    messages.extend(work("1"));
    let decisions =
        section(&[&messages[..], &[user("Go on with the footer of the page")]].concat(), Section::Decisions);
    assert!(decisions.iter().any(|one| one.contains(wish)), "{decisions:?}");
    messages.push(user("list the orders from data/new, make sure you dont use ORDERS_DIR."));
    messages.extend(work("2"));
    messages.push(user("Go on with the footer of the page"));
    let decisions = section(&messages, Section::Decisions);
    let is_told = |one: &String| one.contains(wish) && one.contains("(later: \"list the orders from data/new");
    assert!(decisions.iter().any(is_told), "{decisions:?}");
}

#[test]
fn a_decision_is_cut_where_a_clause_ends() {
    let text =
        "**We keep the table**: readers of `Store.open(path, \"orders, all\")` wait, and writers never do so at night";
    assert_eq!(
        crate::ledger::text::clip_clauses(text, 96),
        "**We keep the table**: readers of `Store.open(path, \"orders, all\")` wait\u{2026}"
    );
    assert_eq!(crate::ledger::text::clip_clauses("no mark stands in these words", 12), "no mark\u{2026}");
}

#[test]
fn a_refused_call_is_told_until_it_is_made() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to \
                   proceed, the user said:\nfirst the tests";
    let mut messages = vec![
        user("Mend the export of the orders and send it"),
        runs("1", "git push"),
        returns("1", refusal, true),
        runs("2", "cargo test"),
        returns("2", "ok", false),
        says("All tests pass.", "stop"),
        user("Then look at the footer of the page"),
    ];
    let is_told = |messages: &[Arc<Message>]| {
        let decisions = section(messages, Section::Decisions);
        decisions.iter().any(|one| one.contains("The user refused `git push` and said: first the tests"))
    };
    assert!(is_told(&messages));
    messages.extend([
        runs("3", "git push -u origin main"),
        returns("3", "To server.example:shop\n   1a2b3c4..5d6e7f8  main -> main", false),
        says("The export is pushed.", "stop"),
        user("Now look at the header of the page"),
    ]);
    assert!(!is_told(&messages));
}

#[test]
fn a_limit_of_one_part_of_the_work_ends_with_the_next_part() {
    let first = "Phase 1: the texts of the shop\n1. Write the title\n2. Write the menu\n\nRules:\n- Only change the texts \
                 of the page.\n- Never touch the payment.";
    let second = "Phase 2: the looks of the shop\n1. Make the title blue\n2. Make the menu wide";
    let told = |next: &str| {
        let messages = [user(first), says("The texts are written.", "stop"), user(next), runs("1", "ls")];
        section(&messages, Section::Constraints).join("\n")
    };
    let (same, other) = (told("Write the footer, too, please"), told(second));
    assert!(same.contains("Only change the texts") && same.contains("Never touch the payment"), "{same}");
    assert!(!other.contains("Only change the texts") && other.contains("Never touch the payment"), "{other}");
}

#[test]
fn a_task_beside_a_demand_for_all_ends_when_it_was_carried_out() {
    let edit = |id: &str| calls(id, "edit", r#"{"path":"src/orders.rs","oldText":"a","newText":"b"}"#);
    let request =
        |text: &str, id: &str, answer: &str| [user(text), edit(id), returns(id, "ok", false), says(answer, "stop")];
    let told = |demand: &str| {
        let first = request(demand, "1", "All of the notes are up to date now, and the index has their names.");
        let next =
            request("Port the export of the orders to the new server", "2", "The export runs on the new server.");
        section(&[&first[..], &next[..]].concat(), Section::Constraints)
    };
    assert!(told("Make sure all notes are up to date, create an index of them.").is_empty());
    let rule = "Make sure all commits of this work are signed.";
    assert_eq!(told(rule), [rule]);
}

/// The decisions after several messages of a person, each with an edit and an answer.
fn decisions_after(asked: &[&str]) -> Vec<String> {
    let mut messages = vec![user("Build the page of the orders"), says("The page has a border now.", "stop")];
    for text in asked {
        let edit = calls("1", "edit", r#"{"path":"src/page.css","oldText":"a","newText":"b"}"#);
        messages.extend([user(text), edit, returns("1", "ok", false), says("The page is changed.", "stop")]);
    }
    section(&messages, Section::Decisions)
}

#[test]
fn a_later_order_stands_beside_the_decision_that_it_reverses() {
    let keeps = "let's keep the border and invert its colour";
    let told = decisions_after(&[keeps, "remove the border"]);
    assert!(told.contains(&format!("The user: {keeps} (later: \"remove the border\")")), "{told:?}");
    let told = decisions_after(&[keeps, "remove the sidebar"]);
    assert!(told.contains(&format!("The user: {keeps}")), "{told:?}");
}

#[test]
fn of_two_choices_between_the_same_things_only_the_later_one_is_told() {
    let first = "we'll keep the `rows` rather than a list of cards";
    let second = "we'll keep small cards with a picture rather than the `rows`";
    let is_told = |told: &[String], choice: &str| told.iter().any(|one| one.contains(choice));
    let told = decisions_after(&[first, "translate the title of the page"]);
    assert!(is_told(&told, first), "{told:?}");
    let told = decisions_after(&[first, second, "translate the title of the page"]);
    assert!(is_told(&told, second) && !is_told(&told, first), "{told:?}");
}

#[test]
fn what_the_model_writes_into_a_plan_is_told_with_the_name_of_the_file() {
    let write = |id: &str, text: &str, is_error: bool| {
        let arguments = serde_json::json!({"path": "docs/adr/0002-orders.md", "content": text}).to_string();
        [calls(id, "write", &arguments), returns(id, if is_error { "no room left" } else { "ok" }, is_error)]
    };
    let summary = |changes: &[Arc<Message>]| {
        let asked = [user("Write down how the orders of the shop are stored")];
        text_of(&history(&prepared(&[&asked, changes, &[says("The record is written.", "stop")]].concat())))
    };
    let first = "# Orders\n\n## Decision\n\nEach order is one row of `orders.db`.\n\n## Numbers\n\n- At most 4,000 orders a day";
    let second = "# Orders\n\n## Decision\n\nEach order is one file.";
    let told = summary(&write("1", first, false));
    let decisions = &SummaryDocument::parse(&told).body[Section::Decisions];
    assert_eq!(decisions[..], ["Each order is one row of `orders.db`."]);
    assert!(told.contains("- Written in 0002-orders.md: At most 4,000 orders a day"), "{told}");
    assert!(!summary(&write("1", first, true)).contains("4,000"), "nothing was written");
    let rewritten = summary(&[write("1", first, false), write("2", second, false)].concat());
    assert!(rewritten.contains("Each order is one file.") && !rewritten.contains("4,000"), "{rewritten}");
    assert!(!rewritten.contains("one row of"), "the later text has replaced it: {rewritten}");
}
