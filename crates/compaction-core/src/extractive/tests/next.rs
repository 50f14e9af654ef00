//! What comes next: proposals, arguments, missing answers, and the errors of failed checks.

use super::*;

/// The items of a section after `messages`.
fn after(section: Section, messages: &[Arc<Message>]) -> String {
    let text = text_of(&history(&prepared(messages)));
    SummaryDocument::parse(&text).body[section].join("\n")
}

#[test]
fn a_plan_that_is_proposed_waits_for_its_approval() {
    let plan = "## Plan for the printer\n\n1. Read the blocks of the parser\n2. Print each of them\n\n### Assumptions\n\
                - The format of the shop still needs to be read by the old printer.\n- [ ] Read\n- [ ] Print";
    let asked = user("Come up with a plan for a printer of the parsed blocks");
    let messages = [asked.clone(), says(plan, "stop")];
    let next = after(Section::NextSteps, &messages);
    assert!(next.contains("plan that the assistant proposed waits for the approval"), "{next}");
    assert!(!next.lines().any(|item| item.starts_with("The format of the shop") || item == "Read"), "{next}");
    let progress = after(Section::InProgress, &messages);
    assert!(progress.contains("a proposed plan waits for the approval"), "{progress}");
    // Finished work is not a proposal.
    let edit = calls("1", "edit", r#"{"path":"src/printer.rs","oldText":"a","newText":"b"}"#);
    let done = [asked, edit, returns("1", "ok", false), says(plan, "stop")];
    assert!(!after(Section::NextSteps, &done).contains("waits for the approval"));
}

#[test]
fn a_plan_that_the_person_refused_has_no_steps() {
    let plan = calls("1", "ExitPlanMode", r##"{"plan":"# Plan\n1. Read the blocks\n2. Print the blocks"}"##);
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let begun = [user("Write a printer of the parsed blocks"), plan];
    let refused = [&begun[..], &[returns("1", refusal, true)]].concat();
    assert!(!after(Section::NextSteps, &refused).contains("Print the blocks"));
    let approved =
        [&begun[..], &[returns("1", "User has approved your plan. You can now start coding.", false)]].concat();
    assert!(after(Section::NextSteps, &approved).contains("Print the blocks"));
}

#[test]
fn what_stays_as_it_is_and_what_was_argued_are_no_steps() {
    let argued = "Mostly yes. You still need a resolver for commands whose settings depend on another option.";
    let before = prepared(&[
        user("Would it help to read the defaults of the printer from the settings file?"),
        says(argued, "stop"),
    ]);
    let next = |request: &str| {
        let turn = prepared(&[user(request)]);
        let with_turn = Ledger::collect(&[&before[..], &turn].concat(), None, tools());
        let turn = Turn::of(&turn, tools()).unwrap();
        let style = Style { turn: Some(&turn), with_turn: Some(&with_turn), ..style(ENOUGH) };
        let text = text_of(&ExtractiveInput { style, ..history(&before) });
        SummaryDocument::parse(&text).body[Section::NextSteps].join("\n")
    };
    let over = next("Fine, leave that as is. Now let the parser run from any directory of the shop");
    assert!(!over.contains("resolver"), "the discussion is over: {over}");
    let taken_up = next("Then write that resolver for the commands with an option");
    assert!(taken_up.contains("You still need a resolver"), "{taken_up}");
    let stays = "The parser reads blocks now. The printer of the shop remains unchanged and prints as before.";
    let messages = [user("Let the parser read blocks"), says(stays, "stop")];
    assert!(!after(Section::NextSteps, &messages).contains("remains unchanged"));
}

#[test]
fn an_answer_to_what_a_person_showed_is_none_to_the_request_before() {
    let made = [
        user("Make the printer of the shop print three columns in each row"),
        says("The printer prints three columns in each row, with a line between them.", "stop"),
    ];
    let fixed = says("The name of the option is labels, so the legend comes to the left corner of the page.", "stop");
    let next = user("Now port the parser of the shop to Rust, please");
    for shown in [
        "| 12 | | a |\n| 13 | | b |\n| 14 | | c |",
        "The columns crash:\n\nTypeError: columns() got an unexpected argument 'label'\n  at print (print.py:12)",
    ] {
        let done = after(Section::Done, &[&made[..], &[user(shown), fixed.clone(), next.clone()]].concat());
        assert!(!done.contains("each row -> The name of the option"), "{done}");
        let is_refuted = shown.contains("Error");
        assert_eq!(done.contains("each row -> The printer prints three columns"), !is_refuted, "{done}");
    }
    // A word that tells the model to continue is not a new subject.
    let more = [user("ok, go on"), runs("1", "make"), returns("1", "ok", false), fixed, next];
    let done = after(Section::Done, &[&made[..], &more].concat());
    assert!(done.contains("each row -> The name of the option"), "{done}");
}

#[test]
fn a_plan_that_a_request_holds_is_told_by_its_beginning() {
    let items: String = (1..12).map(|at| format!("{at}. Change part {at} of the printer of the shop\n")).collect();
    let plan = format!("Please do this plan for the printer.\n\n{items}12. The pages stay as they are on each shelf.");
    let goal = after(Section::Goal, &[user(&plan), says("The first part has two columns.", "toolUse")]);
    assert!(goal.contains("Please do this plan"), "{goal}");
}

#[test]
fn a_request_that_is_made_and_checked_has_only_its_answer_left() {
    let edit = calls("1", "edit", r#"{"path":"src/parser.rs","oldText":"a","newText":"b"}"#);
    let messages = vec![
        user("Let the parser of the shop read nested blocks"),
        edit,
        returns("1", "ok", false),
        runs("2", "cargo test -p parser"),
        returns("2", "test result: ok. 12 passed; 0 failed; 0 ignored", false),
    ];
    let next = after(Section::NextSteps, &messages);
    assert!(next.contains("Only the answer to the user seems to be left"), "{next}");
    assert!(next.contains("`cargo test -p parser` passes since the last change"), "{next}");
    let goes_on = [
        // Before the change.
        [&messages[..1], &messages[3..], &messages[1..3]].concat(),
        [&messages[..], &[says("Now the manual of the parser:", "toolUse"), runs("3", "ls docs")]].concat(),
        [&messages[..4], &[returns("2", "test result: FAILED. 11 passed; 1 failed; 0 ignored", true)]].concat(),
        [
            &[user("Let the parser read nested blocks and then write the manual of the shop")],
            &messages[1..3],
            &[says("The parser reads the nested blocks.", "toolUse")],
            &messages[3..],
        ]
        .concat(),
        // Another file is read.
        [&messages[..], &[calls("3", "read", r#"{"path":"src/footer.css"}"#), returns("3", "a", false)]].concat(),
    ];
    for messages in goes_on {
        let next = after(Section::NextSteps, &messages);
        assert!(!next.contains("Only the answer"), "{next}");
    }
}

#[test]
fn a_change_that_is_made_is_committed_if_the_work_is() {
    let edit = |id: &str| calls(id, "edit", r#"{"path":"src/parser.rs","oldText":"a","newText":"b"}"#);
    let passes = "test result: ok. 12 passed; 0 failed; 0 ignored";
    let commits = |id: &str| runs(id, "git add -A && git commit -m \"parser: nested blocks\"");
    let committed = "[main 3c1a2b4] parser: nested blocks\n 1 file changed, 4 insertions(+)";
    let made = |request: &str| {
        let checked =
            [edit("1"), returns("1", "ok", false), runs("2", "cargo test -p parser"), returns("2", passes, false)];
        [&[user(request)], &checked[..]].concat()
    };
    let request = "Let the parser of the shop read nested blocks";
    let looked = [runs("4", "git show --stat HEAD && git status"), returns("4", "nothing to commit", false)];
    let kept = [&made(request)[..], &[commits("3"), returns("3", committed, false)], &looked].concat();
    let next = after(Section::NextSteps, &kept);
    assert!(next.contains("passes since the last change, and the change is committed"), "{next}");
    let again = [says("The parser reads them.", "stop"), user("Let the printer of the shop print nested blocks, too")];
    let more = [edit("5"), returns("5", "ok", false), runs("6", "cargo test -p printer"), returns("6", passes, false)];
    let next = after(Section::NextSteps, &[&kept[..], &again, &more].concat());
    assert!(next.contains("Commit the last change"), "{next}");
    for request in
        ["Go through the list of the shop until all are done", "Erledige alle Aufgaben der Liste", "把所有任务做完"]
    {
        let next = after(Section::NextSteps, &made(request));
        assert!(!next.contains("Only the answer") && !next.contains("Commit the last"), "{request}: {next}");
    }
}

#[test]
fn a_call_that_a_short_request_asks_for_leaves_only_the_answer() {
    let asked = [user("Here are five ideas for the shop"), says("They are good.", "stop")];
    let adds = calls("1", "board__add_task", r#"{"title":"Print the menu","project":"shop"}"#);
    let messages = [&asked[..], &[user("add that as a task to the board"), adds.clone()]].concat();
    let next = after(Section::NextSteps, &[&messages[..], &[returns("1", "added task 7", false)]].concat());
    assert!(next.contains("Only the answer"), "{next}");
    for other in [
        [&messages[..], &[returns("1", "the board is read-only", true)]].concat(),
        [&asked[..], &[user("now write the menu of the shop"), adds.clone(), returns("1", "added task 7", false)]]
            .concat(),
        [
            &asked[..],
            &[user("add a task to the board for each idea"), adds.clone(), returns("1", "added task 7", false)],
        ]
        .concat(),
        [
            &asked[..],
            &[
                user("find and fix the task on the board"),
                calls("1", "board__find_task", "{\"task\":\"fix\"}"),
                returns("1", "task 7", false),
            ],
        ]
        .concat(),
    ] {
        let next = after(Section::NextSteps, &other);
        assert!(!next.contains("Only the answer"), "{next}");
    }
}

#[test]
fn what_was_announced_and_carried_out_does_not_come_next() {
    let announced = says("Let me publish the menu of the shop:", "toolUse");
    let next = |calls: &[Arc<Message>]| {
        let messages = [&[user("Bring the menu to the customers of the shop"), announced.clone()], calls].concat();
        after(Section::NextSteps, &messages)
    };
    assert!(next(&[]).contains("announced last: Let me publish"));
    let looked = next(&[runs("1", "ls menu"), returns("1", "menu.txt", false)]);
    assert!(looked.contains("announced last: Let me publish"), "a look at something publishes nothing: {looked}");
    let ran = next(&[runs("1", "./publish.sh menu"), returns("1", "published", false)]);
    assert!(!ran.contains("announced last"), "{ran}");
}

#[test]
fn requests_without_any_answer_are_steps_and_their_problems_block() {
    let asked = [
        user("Write the menu of the shop"),
        says("The menu is in menu.txt.", "stop"),
        user("The payment page of the shop is broken: every order ends with an error of the server"),
        user("Write a test for the header of the printed pages, with three columns"),
        user("Write a test for the header of all printed pages, with three or four columns"),
        user("Now translate the manual of the library into Danish"),
    ];
    let next = after(Section::NextSteps, &asked);
    let left = next.lines().find(|line| line.starts_with("Not answered yet: ")).unwrap_or_default();
    assert!(left.contains("payment page") && left.contains("four columns"), "{next}");
    assert!(!left.contains("three columns") && !left.contains("Danish") && !left.contains("menu"), "{left}");
    assert!(next.starts_with("Go on with: Now translate"), "{next}");
    assert!(after(Section::Blocked, &asked).contains("The payment page of the shop is broken"));
    assert!(after(Section::Goal, &asked).contains("(not answered)"));
    let short = [&asked[..3], &[user("fix the css bug")]].concat();
    assert!(
        after(Section::NextSteps, &short).contains("Not answered yet: The payment page"),
        "a short request is another one"
    );
    let answered = [&asked[..], &[says("I begin with the payment page.", "toolUse")]].concat();
    assert!(!after(Section::NextSteps, &answered).contains("Not answered yet"));
}

#[test]
fn a_failed_check_is_told_with_its_first_error() {
    // The agent does not say that the run failed, so its counts do.
    let output = "        Exception: If no block is left\n\
                  E       TypeError: a block of the shop was not closed\n\
                  FAILED tests/test_blocks.py::test_nested\n======= 1 failed, 4 passed in 0.12s =======";
    let messages = [user("Let the parser read nested blocks"), runs("1", "pytest"), returns("1", output, false)];
    let text = text_of(&history(&prepared(&messages)));
    let blocked = &SummaryDocument::parse(&text).body[Section::Blocked].join("\n");
    assert!(blocked.contains("; the first error: TypeError: a block of the shop was not closed"), "{text}");
    let state = text.split("## Critical Context").next().unwrap();
    assert_eq!(state.matches("a block of the shop was not closed").count(), 1, "once: {text}");
    // It is restored from the stored form, and disappears with the failure.
    let messages = prepared(&messages);
    let ledger = Ledger::collect(&messages, None, tools());
    let stored = Ledger::from_json(&crate::json::Json::parse(&ledger.to_json(8_000)).unwrap()).unwrap();
    assert!(render(&stored, SummaryKind::History, &style(ENOUGH)).contains("block of the shop was not closed"));
}

#[test]
fn what_is_reported_again_is_open_and_its_fixes_are_not_done() {
    let shown = |at: u32| {
        user(&format!("GET\nhttp://localhost/app.js?t={at}\nNS_ERROR_CORRUPTED_CONTENT\n\n[hmr] connected: {at}"))
    };
    let fixed = "The bracket of the handler is closed now, so the page of the shop loads again.";
    let edit = |id: &str| calls(id, "edit", r#"{"path":"src/app.ts","oldText":"a","newText":"b"}"#);
    let once = [shown(1), edit("1"), returns("1", "ok", false), says(fixed, "stop")];
    assert!(!after(Section::Blocked, &once).contains("The user reported"));
    let again =
        [&once[..], &[shown(22), edit("2"), returns("2", "ok", false), says(fixed, "stop"), shown(333)]].concat();
    let blocked = after(Section::Blocked, &again);
    assert!(blocked.contains("The user reported 3 times: NS_ERROR_CORRUPTED_CONTENT"), "{blocked}");
    assert!(!blocked.contains("The user reports:"), "{blocked}");
    let done = after(Section::Done, &again);
    assert!(!done.contains("so the page of the shop loads"), "{done}");
    // Another request leaves it behind.
    let left = [&again[..], &[says(fixed, "stop"), user("Now write the manual of the shop for its users")]].concat();
    assert!(!after(Section::Blocked, &left).contains("The user reported"));
}

#[test]
fn the_task_in_progress_is_what_goes_on() {
    let todos = r#"{"todos":[{"content":"Read the blocks","status":"completed"},
        {"content":"Print the tables of the blocks","status":"in_progress"},{"content":"Test it","status":"pending"}]}"#;
    let asked = user("Implement the plan as specified. Mark the tasks as in progress, starting with the first one.");
    let messages =
        [asked, calls("1", "TodoWrite", todos), returns("1", "ok", false), runs("2", "ls"), returns("2", "a", false)];
    let next = after(Section::NextSteps, &messages);
    assert!(next.contains("Go on with: Print the tables of the blocks"), "{next}");
    assert!(!next.contains("Mark the tasks") && next.contains("Test it"), "{next}");
}

#[test]
fn the_text_of_a_plan_is_read_as_an_answer() {
    let plan = r##"{"plan":"# Storage\n\nWe keep the settings in SQLite instead of files, because two programs write them.\n\n1. Open it\n2. Test it"}"##;
    let asked = user("Plan how the settings are stored");
    let messages = [asked, calls("1", "ExitPlanMode", plan), returns("1", "User has approved your plan", false)];
    let text = text_of(&history(&prepared(&messages)));
    assert!(text.contains("the settings in SQLite instead of files, because two programs write them"), "{text}");
    let tasks = r#"{"todos":"- [ ] Read the old settings\n- [ ] Open the database"}"#;
    let messages = [user("Plan it for all of us"), calls("1", "todo_write", tasks), returns("1", "ok", false)];
    let text = text_of(&history(&prepared(&messages)));
    assert!(!text.contains("Assistant: Read the old"), "{text}");
}

#[test]
fn a_check_before_edits_that_name_no_file_is_run_again() {
    let failed = [
        user("Make the linter pass"),
        runs("1", "ruff check"),
        returns("1", "a.py:1 F401 unused\nFound 2 errors.", true),
    ];
    assert!(after(Section::NextSteps, &failed).contains("Fix the failure of `ruff check`"));
    let edited =
        [&failed[..], &[calls("2", "edit_file", r#"{"instructions":"remove it"}"#), returns("2", "ok", false)]]
            .concat();
    let next = after(Section::NextSteps, &edited);
    assert!(next.contains("Run again: `ruff check`, which failed before the latest edits"), "{next}");
}

#[test]
fn a_newer_order_comes_before_what_failed() {
    let failed = [user("Add a menu to the shop"), runs("1", "npm test"), returns("1", "error: no menu", true)];
    let fix = "Fix the failure of `npm test`, then run it again";
    assert_eq!(after(Section::NextSteps, &failed), format!("Go on with: Add a menu to the shop\n{fix}"));
    let ordered = |words: &str| {
        let stopped = [says("One test of the menu still fails, as it was before.", "stop"), user(words)];
        [&failed[..], &stopped].concat()
    };
    let messages = ordered("Leave the tests for a while and start the program instead");
    let order = "Go on with: Leave the tests for a while and start the program instead";
    assert_eq!(after(Section::NextSteps, &messages), order);
    assert!(after(Section::Blocked, &messages).contains("`npm test` failed"));
    // A person who only says to continue means what failed.
    assert!(after(Section::NextSteps, &ordered("continue")).ends_with(fix));
    // A run after the order counts for it.
    let again = [runs("2", "npm test"), returns("2", "error: no menu", true)];
    assert!(after(Section::NextSteps, &[&messages[..], &again].concat()).ends_with(fix));
}

#[test]
fn speech_to_the_person_is_no_step() {
    let answered = |words: &str| after(Section::NextSteps, &[user("Write scripts for the rooms"), says(words, "stop")]);
    let told =
        "The scripts are written. Since you run the server yourself, you'll need to start them in your terminal.";
    let next = answered(told);
    assert!(next.starts_with("Waiting for the user: Since you run the server yourself"), "{next}");
    for closing in ["What would you like to do next?", "Was möchtest du als nächstes machen?", "接下来想做什么？"]
    {
        let next = answered(&format!("The scripts work as they should.\n\n{closing}"));
        assert_eq!(next, "Nothing is left of the latest request. The next message of the user decides", "{closing}");
    }
    let cause = |words: &str| {
        let edit = calls("1", "read", r#"{"path":"src/app.ts"}"#);
        let messages = [user("The page of the shop is empty again"), says(words, "toolUse"), edit];
        after(Section::NextSteps, &messages)
    };
    let found = "I see the problem. The route of the shop is declared behind the one for all other pages.";
    assert!(cause(found).contains("The cause, as last found: The route of the shop"), "{}", cause(found));
    let agreed = "I see the problem. You're right - the page of the shop should not be empty for anyone.";
    assert!(!cause(agreed).contains("The cause"), "{}", cause(agreed));
}

#[test]
fn a_script_that_runs_tests_fails_with_them() {
    let noise = "a line of the manual\n".repeat(100);
    let status = |count: u32| format!("== {count} failed, 60 passed in 17s ==\n{noise}");
    let run = |id: &str, count| [runs(id, "python ./status.py status | cat"), returns(id, &status(count), false)];
    let messages = [&[user("Make the tests of the shop pass")][..], &run("1", 15), &run("2", 13)].concat();
    let blocked = after(Section::Blocked, &messages);
    assert_eq!(blocked, "`python ./status.py status` failed: 13 failed, 60 passed in 17s");
    assert!(after(Section::NextSteps, &messages).contains("Fix the failure of `python ./status.py status`"));
    let facts = after(Section::CriticalContext, &messages);
    assert!(facts.contains("13 failed, 60 passed in 17s (failed: 15 \u{2192} 13)"), "{facts}");
}

#[test]
fn steps_that_the_model_listed_are_left_from_the_first_one_of_which_nothing_is_seen() {
    let write = |id: &str, path: &str| {
        [calls(id, "write", &format!(r#"{{"path":"{path}","content":"x"}}"#)), returns(id, "ok", false)]
    };
    let listed =
        "Let me begin. I need:\n\n1. `TokenReader` with its interface\n2. A page in `docs/reader.md`\n3. Tests of it";
    let begun =
        [&[user("Write a reader for the tokens"), says(listed, "toolUse")][..], &write("1", "src/token_reader.rs")];
    let left = "Left of the steps that the assistant listed, as far as is seen: ";
    let next = after(Section::NextSteps, &begun.concat());
    assert!(next.contains(&format!("{left}A page in `docs/reader.md`; Tests of it")), "{next}");
    let next = after(Section::NextSteps, &[&begun.concat()[..], &write("2", "docs/reader.md")].concat());
    assert!(next.contains(&format!("{left}Tests of it")), "{next}");
    // A commit completes what was listed before it, and the model's findings are not a list of steps.
    let commit = [runs("3", "git commit -m reader"), returns("3", "[main 1a2b3c4] reader\n 1 file changed", false)];
    assert!(!after(Section::NextSteps, &[&begun.concat()[..], &commit].concat()).contains(left));
    let found =
        "The reader is slow because of:\n\n1. The copy of each token\n2. The search in all tokens\n3. The sorted list";
    let messages = [&[user("Why is the reader slow?"), says(found, "toolUse")][..], &write("1", "a.rs")].concat();
    assert!(!after(Section::NextSteps, &messages).contains(left));
}

#[test]
fn a_word_such_as_continue_does_not_order_the_answered_request_again() {
    let tasks = r#"{"todos":[{"content":"Measure the printer","status":"in_progress"},{"content":"Write its page","status":"in_progress"}]}"#;
    let before = prepared(&[
        user("Look up how the page of a rule is laid out"),
        calls("1", "todo_write", tasks),
        returns("1", "ok", false),
        says("Rules have a title and a body.", "stop"),
    ]);
    let turn = prepared(&[user("continue")]);
    let with_turn = Ledger::collect(&[&before[..], &turn].concat(), None, tools());
    let turn = Turn::of(&turn, tools()).unwrap();
    let style = Style { turn: Some(&turn), with_turn: Some(&with_turn), ..style(ENOUGH) };
    let text = text_of(&ExtractiveInput { style, ..history(&before) });
    let document = SummaryDocument::parse(&text);
    assert!(document.body[Section::NextSteps].is_empty(), "{text}");
    let tasks = "Measure the printer\nWorking on: the latest words of the user, \"continue\" (nothing was done for it yet)\n\
                 Write its page";
    let mut found: Vec<&str> = document.body[Section::InProgress].iter().map(AsRef::as_ref).collect();
    found.sort_unstable();
    assert_eq!(found.join("\n"), tasks);
}

#[test]
fn short_words_behind_an_answer_refer_to_what_it_lists() {
    let steps = |answer: &str, words: &str| {
        let before = prepared(&[user("Let the reviewer read the rules of the shop"), says(answer, "stop")]);
        let turn = prepared(&[user(words)]);
        let with_turn = Ledger::collect(&[&before[..], &turn].concat(), None, tools());
        let turn = Turn::of(&turn, tools()).unwrap();
        let style = Style { turn: Some(&turn), with_turn: Some(&with_turn), ..style(ENOUGH) };
        let text = text_of(&ExtractiveInput { style, ..history(&before) });
        SummaryDocument::parse(&text).body[Section::NextSteps].join("\n")
    };
    let found = "The reviewer found this:\n\n1. The rule on imports is wrong. It forbids what is allowed.\n\
                 2. No rule is about the details of an order.\n3. The hook needs `jq`.";
    let listed = "The rule on imports is wrong.; No rule is about the details of an order.; The hook needs `jq`.";
    for words in ["fix them", "\u{418}\u{441}\u{43f}\u{440}\u{430}\u{432}\u{44c}"] {
        let expected = format!("Go on with: {words} (the answer before it lists: {listed})");
        assert_eq!(steps(found, words), expected);
    }
    assert_eq!(steps("The reviewer found nothing. The rules are sound.", "still a 404"), "Go on with: still a 404");
    let many: Vec<String> =
        (1..=40).map(|number| format!("{number}. Rule {number} of the shop is too strict")).collect();
    let told = steps(&many.join("\n"), "fix them");
    assert!(told.contains("; Rule 12 of the") && !told.contains("Rule 13"), "{told}");
    for (answer, words) in [
        (found, "thanks, great"),
        (found, "perfect"),
        ("The reviewer found nothing. The rules are sound.", "continue"),
        ("The reviewer found nothing. The rules are sound.", "ok"),
    ] {
        assert_eq!(steps(answer, words), "", "{words}");
    }
}

#[test]
fn commands_with_gaps_are_no_steps() {
    let answer = |command: &str| {
        let text = format!("That is how it is seen.\n\n```bash\n{command}\n```");
        after(Section::NextSteps, &[user("How do I see the parser of a release?"), says(&text, "stop")])
    };
    assert!(answer("git show v1:src/parser.rs").contains("git show"));
    assert!(!answer("git show <tag>:src/parser.rs").contains("git show"));
    assert!(answer("./parser < in.txt > out.txt").contains("./parser"));
}

#[test]
fn a_plan_that_was_not_updated_has_no_steps_that_were_passed() {
    let plan = r#"{"plan":[{"step":"Scaffold the shop package","status":"in_progress"},{"step":"Write the parser module","status":"pending"},{"step":"Write the manual","status":"pending"}]}"#;
    let write = |id: usize, path: &str| {
        let id = format!("w{id}");
        [calls(&id, "write", &format!(r#"{{"path":"{path}","content":"x"}}"#)), returns(&id, "ok", false)]
    };
    let begun = [user("Build the shop"), calls("1", "update_plan", plan), returns("1", "Plan updated", false)];
    let parser = says("Now I write the parser module.", "toolUse");
    let work = [&begun[..], std::slice::from_ref(&parser), &write(0, "src/parser.rs")].concat();
    assert!(after(Section::NextSteps, &work).contains("Write the parser module"), "the plan is new");
    let more: Vec<_> = (1..9).flat_map(|number| write(number, &format!("src/parser/part_{number}.rs"))).collect();
    let work = [&work[..], &more].concat();
    let next = after(Section::NextSteps, &work);
    assert!(!next.contains("Write the parser module") && next.contains("Write the manual"), "{next}");
    assert!(!after(Section::InProgress, &work).contains("Scaffold"), "{work:?}");
}

#[test]
fn a_reply_to_a_finished_request_does_not_order_it_again() {
    let messages = [
        user("Commit the parser and push it to the server"),
        runs("1", "git commit -am parser"),
        returns("1", "[main 1a2b3c4] parser\n 1 file changed", false),
        says("The parser is committed and pushed. Shall I write the plan of the printer now?", "stop"),
        user("go ahead"),
        calls("2", "read", r#"{"path":"src/printer.rs"}"#),
        returns("2", "fn main() {}", false),
    ];
    let next = after(Section::NextSteps, &messages);
    assert!(!next.contains("push it to the server"), "{next}");
    let goal = after(Section::Goal, &messages);
    assert!(goal.contains("go ahead (in answer to: Shall I write the plan of the printer now?)"), "{goal}");
}

#[test]
fn a_short_question_is_told_with_the_sentence_before_it() {
    let messages = [
        user("Push the parser to the server"),
        says("The parser is pushed. The server offers to open a pull request for it. Shall I do that?", "stop"),
        user("yes"),
    ];
    let goal = after(Section::Goal, &messages);
    let asked = "yes (in answer to: The server offers to open a pull request for it. Shall I do that?)";
    assert!(goal.contains(asked), "{goal}");
}

#[test]
fn commands_that_were_run_in_the_answer_are_no_steps() {
    let given = "Run it:\n\n```bash\nshop sync --all\n```";
    let asked = user("How is the shop brought up to date?");
    assert!(after(Section::NextSteps, &[asked.clone(), says(given, "stop")]).contains("shop sync --all"));
    let run = format!("{given}\n\n```\nError: no map\n```");
    assert!(!after(Section::NextSteps, &[asked, says(&run, "stop")]).contains("shop sync --all"));
}
