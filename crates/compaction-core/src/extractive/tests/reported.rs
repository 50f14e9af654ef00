//! What the model reports as done, what it gives up, and what it only begins.

use super::*;

/// The items of a section after `messages`.
fn after(section: Section, messages: &[Arc<Message>]) -> String {
    let text = text_of(&history(&prepared(messages)));
    SummaryDocument::parse(&text).body[section].join("\n")
}

fn edits(id: &str, path: &str) -> [Arc<Message>; 2] {
    let arguments = format!("{{\"path\":\"{path}\",\"oldText\":\"old line\",\"newText\":\"a new line of it {id}\"}}");
    [calls(id, "edit", &arguments), returns(id, "ok", false)]
}

/// A request with a plan of three tasks, of which the first is in progress.
fn planned() -> Vec<Arc<Message>> {
    let plan = r#"{"todos":[{"content":"R1 Read the menu","status":"in_progress"},
        {"content":"R2 Print the menu","status":"pending"},{"content":"R3 Write the manual","status":"pending"}]}"#;
    vec![user("Build the printer of the menu"), calls("p", "TodoWrite", plan), returns("p", "ok", false)]
}

#[test]
fn a_report_closes_the_tasks_of_a_plan_that_was_not_updated() {
    for (reports, open) in [
        (&["R1 done. Now R2: the printer"][..], &["R2 Print the menu", "R3 Write the manual"][..]),
        (&["R1 ist fertig.", "R2 ist fertig. Jetzt R3"], &["R3 Write the manual"]),
        (&["R1 已完成，接着做 R2", "R2 已完成"], &["R3 Write the manual"]),
        (&["R1 is not done yet"], &["R1 Read the menu", "R2 Print the menu", "R3 Write the manual"]),
    ] {
        let mut messages = planned();
        for (number, report) in reports.iter().enumerate() {
            messages.push(says(report, "toolUse"));
            messages.extend(edits(&number.to_string(), "menu.rs"));
        }
        let left = [after(Section::InProgress, &messages), after(Section::NextSteps, &messages)].join("\n");
        let done = after(Section::Done, &messages);
        for task in ["R1 Read the menu", "R2 Print the menu", "R3 Write the manual"] {
            assert_eq!(left.contains(task), open.contains(&task), "{reports:?}: {task}: {left}");
            assert_eq!(done.contains(task), !open.contains(&task), "{reports:?}: {task}: {done}");
        }
    }
}

#[test]
fn a_report_of_all_the_work_closes_the_plan_until_the_person_refuses_it() {
    for report in
        ["All tasks are done. 12 tests pass.", "Alle Aufgaben sind erledigt.", "全部任务完成。", "Todo listo."]
    {
        let mut messages = planned();
        messages.extend(edits("1", "menu.rs"));
        messages.push(says(report, "stop"));
        let next = after(Section::NextSteps, &messages);
        assert!(!next.contains("R2") && !next.contains("R3"), "{report}: {next}");
        assert!(after(Section::Done, &messages).contains("R3 Write the manual"), "{report}");
        messages.push(user("No, that is wrong. The manual is empty"));
        assert!(!after(Section::Done, &messages).contains("R3 Write the manual"), "{report}");
    }
    let mut messages = planned();
    messages.push(says(
        "The menu is read.\n\n**Done:**\n- R1 Read the menu\n\n**Next steps:**\n- R2 Print the menu",
        "stop",
    ));
    let next = after(Section::NextSteps, &messages);
    assert!(next.contains("R2 Print the menu") && !next.contains("R1"), "{next}");
    assert!(!next.contains("Nothing is left"), "{next}");
}

#[test]
fn a_call_that_was_only_started_leaves_the_request_open() {
    let messages = [user("Run the reviewer on the menu again"), says("reviewer(Review the menu)", "stop")];
    assert!(!after(Section::Goal, &messages).contains("(answered)"));
    assert!(!after(Section::InProgress, &messages).contains("Nothing is in progress"));
    assert!(after(Section::NextSteps, &messages).contains("Go on with: Run the reviewer"));
}

#[test]
fn a_deliverable_is_done_whatever_follows_its_first_words() {
    let asked = "Add the fourth kind of menu to the shop";
    for (answer, outcome) in [
        (
            "Listo, el menú está integrado en la tienda:\n\n- la página lo muestra",
            "Listo, el menú está integrado en la tienda",
        ),
        (
            "**The menu works on the page. The phone is not tested.**\n\n- one",
            "The menu works on the page. The phone is not tested.",
        ),
        ("**FEITO**\n- **Menu** na página\n- Preços na página\n\nFim.", "Menu na página; Preços na página"),
        ("I apologize.\n\nThe menu stands on every page of the shop.", "The menu stands on every page of the shop."),
        (
            "The user wants a menu. It should be on the page.\n\nThe menu is on the page now.",
            "The menu is on the page now.",
        ),
    ] {
        let mut messages = vec![user(asked)];
        messages.extend(edits("1", "menu.rs"));
        messages.push(says(answer, "stop"));
        let item = format!("Done: {asked} -> {outcome}");
        assert!(after(Section::Done, &messages).contains(&item), "{answer}: {}", after(Section::Done, &messages));
        messages.push(user("Now write the manual of the shop"));
        assert!(after(Section::Done, &messages).contains(&item), "{answer}: {}", after(Section::Done, &messages));
    }
}

#[test]
fn work_that_the_person_praises_is_done_without_an_answer() {
    let mut messages = vec![user("Repair the order of the customers in the shop")];
    messages.extend(edits("1", "orders.rs"));
    messages.push(says("The orders were created successfully. Let me look at the list", "toolUse"));
    messages.push(runs("2", "./shop --list"));
    messages.push(returns("2", "1 order", false));
    let done = |next: &str| after(Section::Done, &[&messages[..], &[user(next), says("Ok", "toolUse")]].concat());
    let item = "Repair the order of the customers in the shop -> The orders were created successfully.";
    assert!(done("Great, now let's begin with the front page").contains(item), "{}", done("Great, now begin"));
    assert!(!done("Now let's begin with the front page").contains(item));
    assert!(!done("Great, but the orders still fail").contains(item));
}

#[test]
fn what_failed_or_came_again_has_no_mark_of_success() {
    let marked = |request: &str, answer: &str, next: &str| {
        let later = user("Write the manual page of the shop now");
        let goal = [user("Set up the shop on the server"), says("The shop is set up.", "stop")];
        let messages = [&goal[..], &[user(request), says(answer, "stop"), user(next), says("Yes.", "stop"), later]];
        let goal = after(Section::Goal, &messages.concat());
        let line = goal.lines().find(|line| line.contains(request)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{request}: {goal}")).ends_with(')')
    };
    let next = "Which port does the shop use for its pages?";
    assert!(marked("Explain the log of the server to me", "The log has one line for each request.", next));
    for (request, answer) in [
        ("Can you connect to the server and check the log?", "I can't connect to the server, it needs a key."),
        ("Controla o servidor da loja por mim", "Desisti. Todas as portas estão fechadas."),
        ("Подключись к серверу и проверь журнал", "Не могу подключиться к серверу, нужен ключ."),
    ] {
        assert!(!marked(request, answer, next), "{request}");
    }
    let answer = "The route was missing, and it is in the list now.";
    assert!(!marked("The page of the shop shows 404, why is that?", answer, "still 404, look at it again"));
    assert!(!marked("商店的页面打开以后一直显示 404，请检查一下是什么原因", "路由缺失，现在已经添加。", "还是 404"));
}

#[test]
fn a_request_of_which_a_part_waits_is_not_done() {
    let done = |said: &str| {
        let mut messages = vec![
            user("Port the printer of the library to Rust and document each of its three parts"),
            says("The printer is in Rust, and its parts are documented.", "stop"),
            user("Do task 60 of the shop until it is complete"),
        ];
        messages.extend(edits("1", "menu.rs"));
        messages.push(says(said, "stop"));
        messages.push(user("Great. Now write the manual of the library in three chapters"));
        messages.push(says("The manual has three chapters.", "toolUse"));
        after(Section::Goal, &messages)
    };
    assert!(done("The menu has all of its prices. All of task 60 is made.").contains("(done)"));
    assert!(done("The menu has all of its prices. The footer has them. Nothing is left to do.").contains("(done)"));
    let waits = "The menu has all of its prices. The footer has them, too. The tests pass. Task 60 stays open only \
                 because 60.8 is blocked by the payment service.";
    let left = done(waits);
    assert!(left.contains("(answered)") && !left.contains("(done)"), "{left}");
}

#[test]
fn a_request_whose_answer_tells_no_outcome_is_done_with_its_files() {
    let done = |said: &str, next: &str| {
        let mut messages = vec![user("Put the prices on the pages of the menu and of the shop")];
        messages.extend(edits("1", "src/menu.rs"));
        messages.extend(edits("2", "src/shop.rs"));
        messages.push(says(said, "stop"));
        messages.extend([user(next), says("I read the manual first.", "toolUse")]);
        after(Section::Done, &messages)
    };
    let next = "Now write the manual of the library in three chapters";
    let silent = "```rust\nlet prices = read();\n```";
    let told = done(silent, next);
    assert!(
        told.contains(
            "Worked on: Put the prices on the pages of the menu and of the shop -> changed `shop.rs`, `menu.rs`"
        ),
        "{told}"
    );
    assert!(done("The prices are on both pages now.", next).contains("-> The prices are on both pages"));
    assert!(!done(silent, "No, that is wrong. The prices are not on the pages").contains("->"));
    assert!(!done("I could not put the prices there.", next).contains("->"));
    let broken = "The prices on the pages of the menu and of the shop are broken, every page is empty";
    assert!(!done(silent, broken).contains("Worked on"), "a report of the same takes it back");
}

#[test]
fn a_task_that_an_answer_names_as_in_progress_is_not_done() {
    let plan = r#"{"todos":[{"content":"Look through the tests","status":"in_progress"},
        {"content":"Print the menu","status":"pending"}]}"#;
    for state in [" (in progress)", " (in Arbeit)", " \u{1f504}", ""] {
        let said =
            format!("I added two tasks and began.\n\nNew tasks\n- Look through the tests{state}\n- Print the menu");
        let messages = [
            user("Add tasks for the tests"),
            calls("p", "TodoWrite", plan),
            returns("p", "ok", false),
            says(&said, "stop"),
            user("The footer of the shop is too wide, make it smaller"),
            says("I look at the footer first.", "toolUse"),
        ];
        let done = after(Section::Done, &messages);
        assert!(!done.lines().any(|line| line == "Look through the tests"), "{state}: {done}");
    }
}

#[test]
fn a_request_whose_changes_were_refused_gets_no_credit_for_later_work() {
    let edit = |id: &str, path: &str| calls(id, "edit", &format!(r#"{{"path":"{path}","oldText":"a","newText":"b"}}"#));
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let asked = [user("Move the prices to a module of their own"), says("The prices are in a module now.", "stop")];
    let later = [
        user("go on"),
        edit("2", "menu.txt"),
        returns("2", "ok", false),
        says("The menu is short now and easy to read.", "stop"),
        user("Draw a logo for the shop"),
        says("Here is a logo.", "stop"),
    ];
    for (is_refused, result) in [(true, refusal), (false, "ok")] {
        let made = [edit("1", "prices.py"), returns("1", result, is_refused)];
        let messages = [&asked[..], &made, &later].concat();
        let done = after(Section::Done, &messages);
        assert_eq!(done.contains("Move the prices"), !is_refused, "{done}");
    }
}

#[test]
fn a_result_of_poor_quality_is_not_done() {
    let asked = [
        user("The scrolling of the containers is not synchronised"),
        says("The scrolling of both containers uses one wrapper now, so they stay synchronised.", "stop"),
    ];
    for (next, is_done) in [
        ("This is a little janky. There's some lag between the scrolling of one container and the other.", false),
        ("Die Container ruckeln. Das scrolling ist ruckelig, und der wrapper der containers auch.", false),
        ("Now draw a logo for the containers that scroll", true),
    ] {
        let messages = [&asked[..], &[user(next), says("I see.", "stop")]].concat();
        let text = after(Section::Done, &messages);
        assert_eq!(text.contains("uses one wrapper"), is_done, "{next}: {text}");
    }
}

#[test]
fn a_report_whose_answer_is_praised_is_done() {
    let messages = |next: &str| {
        let asked = [user("The menu doesn't load, I see an empty page"), edits("1", "menu.py")[0].clone()];
        let end = [
            returns("1", "ok", false),
            says("The menu reads its prices from the shop now.", "stop"),
            user(next),
            says("Here is a logo.", "stop"),
            user("Name the colours of the logo"),
        ];
        after(Section::Done, &[&asked[..], &end].concat())
    };
    let done = messages("Perfect. Now draw a logo for it");
    assert!(done.contains("Done: The menu doesn't load") && done.contains("reads its prices"), "{done}");
}

#[test]
fn a_commit_that_only_the_model_tells_stands_for_its_request() {
    let mut messages = vec![user("Add the prices to the menu of the shop")];
    messages.extend(edits("1", "menu.rs"));
    messages.push(says("Committed 1a2b3c4: feat: add the prices", "stop"));
    messages.push(user("Now write the manual of the shop"));
    let done = after(Section::Done, &messages);
    assert!(done.contains("Committed 1a2b3c4: feat: add the prices") && !done.contains(" -> "), "{done}");
}
