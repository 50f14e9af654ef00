//! What a summary says about the state of the work: the conclusion of the last answer, what it recommends, what the
//! last step shows, and what comes next within the request. A reader who sees only Goal, In Progress and Next Steps has
//! to know what to do.

use super::*;

/// The items of a section of the history's summary, in lines.
fn section(messages: &[Arc<Message>], section: Section) -> String {
    SummaryDocument::parse(&text_of(&history(&prepared(messages)))).body[section].join("\n")
}

#[test]
fn the_last_answer_is_told_by_its_outcome_and_its_end() {
    for (answer, told, next) in [
        (
            "Compiling the unified report now.\n\n---\n\n## Audit\n\n- The page of the orders was read.\n\n### Verdict\n\n\
             **NOT READY**\n\nTwo faults block this release, and both of them are old:\n1. The page hangs on phones.\n\
             2. The retries are dead.\n\nFix those two, then close the hole in the upload before the next audit.",
            "The last answer reports: Two faults block this release, and both of them are old: The page hangs on phones.",
            "The last answer recommends: Fix those two, then close the hole in the upload before the next audit.",
        ),
        (
            "Since there are no files to test with, let's sum up what we have done:\n\n1. The export reads the children of \
             each node.\n2. The order of the menu is kept.",
            "The export reads the children of each node. The order of the menu is kept.",
            "Nothing is left of the latest request. The next message of the user decides",
        ),
        (
            "Der Export schreibt alle Zeilen.\n\nIch empfehle einen Index auf der Spalte der Bestellungen.",
            "The last answer reports: Der Export schreibt alle Zeilen. Ich empfehle einen Index",
            "The last answer recommends: Ich empfehle einen Index auf der Spalte der Bestellungen.",
        ),
    ] {
        let messages = [user("Let the export write all rows of the orders"), says(answer, "stop")];
        let (open, steps) = (section(&messages, Section::InProgress), section(&messages, Section::NextSteps));
        assert!(open.contains(told) && !open.contains("Compiling") && !open.ends_with(':'), "{open}");
        assert_eq!(steps, next);
    }
}

#[test]
fn commits_of_a_conversation_that_pushed_nothing_are_named() {
    let messages = [
        user("Remove the old column of the cards"),
        runs("1", "git commit -m 'feat: drop the column'"),
        returns("1", "[cards 1a2b3c4] feat: drop the column\n 2 files changed", false),
        says("The column is gone, and all of the tests pass.", "stop"),
    ];
    assert_eq!(section(&messages, Section::NextSteps), "Not pushed, as far as is seen: 1a2b3c4");
    let push = [runs("2", "git push"), returns("2", "To x:y.git\n   0a1b2c3..1a2b3c4  cards -> cards", false)];
    let pushed = [&messages[..3], &push[..], &messages[3..]].concat();
    assert!(!section(&pushed, Section::NextSteps).contains("Not pushed"));
}

#[test]
fn a_request_for_which_only_words_are_seen_is_told_by_them() {
    let mut messages = vec![
        user(
            "The build of the menu finds 3 of 428 pages. The order of the pages is in the file of the menu, not in their names",
        ),
        says("The search looks for items, but each node has children. Let me change the search:", "toolUse"),
    ];
    let open = section(&messages, Section::InProgress);
    let said = "The assistant said last: The search looks for items, but each node has children.";
    assert!(open.contains(said) && !open.contains("concluded"), "{open}");
    let next = section(&messages, Section::NextSteps);
    assert!(next.starts_with("Go on with: The build of the menu finds 3 of 428 pages."), "{next}");
    assert!(next.ends_with("; announced last: Let me change the search"), "{next}");
    messages.insert(1, says("The pages are sorted by their names, since the menu has only 3 of them.", "stop"));
    messages.truncate(2);
    messages.push(user(
        "But the names have nothing to do with the order of the pages in the menu of the site, so do not sort",
    ));
    // A report closed what was asked before it.
    assert_eq!(section(&messages, Section::InProgress), "Working on: the latest request (nothing was done for it yet)");
    messages[1] =
        says("The pages are sorted by their names, since the menu has only 3 of them. Shall I sort them?", "stop");
    let open = section(&messages, Section::InProgress);
    let said = "nothing was done for it yet; before it, the assistant said: The pages are sorted";
    assert!(open.contains(said), "{open}");
}

#[test]
fn what_the_last_step_shows_stops_the_work() {
    let log = "Starting the worker\n[entrypoint] Migrations complete\nTraceback (most recent call last):\n  File \"/app/w.py\", \
               line 4, in <module>\nModuleNotFoundError: No module named 'shop'";
    let report = "Here is the complete review of the first task.\n\n---\n\n## Review\n\nBoth tests are there and have good \
                  names, as the plan says. They follow the other tests of the file.\n\n### Summary\n\n**Critical:** None.\n\n\
                  **Important:** The second test could not be executed, since the database of the tests is out of date.";
    let fetched = calls("1", "mcp__host__get_logs", r#"{"service":"worker"}"#);
    let reviewed = calls("1", "Agent", r#"{"description":"Review of the first task"}"#);
    for (call, result, error) in [
        (fetched, log, "ModuleNotFoundError: No module named 'shop'"),
        (
            reviewed,
            report,
            "Important: The second test could not be executed, since the database of the tests is out of date.",
        ),
    ] {
        let mut messages = vec![user("Start the worker of the shop on the host"), call, returns("1", result, false)];
        let blocked = section(&messages, Section::Blocked);
        assert!(blocked.starts_with(&format!("The last step shows: {error} (`")), "{blocked}");
        let open = section(&messages, Section::InProgress);
        assert!(open.contains(error) && !open.contains("Here is the complete"), "{open}");
        messages.push(says("The path was missing, and the worker runs now.", "stop"));
        assert_eq!(section(&messages, Section::Blocked), "", "an answer ends it");
    }
}

#[test]
fn a_complaint_is_quoted_and_no_note_behind_it() {
    let output = "src/shop/loader.py:10: error: Library stubs not installed for \"yaml\"  [import-untyped]\n    import yaml\n    ^\n\
                  src/shop/loader.py:10: note: Hint: \"python3 -m pip install types-PyYAML\"\n\
                  src/shop/loader.py:10: note: (or run \"mypy --install-types\" to install all missing stub packages)\n\
                  src/shop/loader.py:10: note: See https://mypy.readthedocs.io/en/stable/running_mypy.html#missing-imports";
    let messages = [
        user("Let the loader of the shop read YAML"),
        runs("1", "mypy src/shop --strict"),
        returns("1", output, false),
    ];
    let open = section(&messages, Section::InProgress);
    assert!(open.contains("error: Library stubs not installed") && !open.contains("note: See"), "{open}");
}

#[test]
fn a_skill_that_is_not_there_blocks_nothing_once_the_work_goes_on() {
    let mut messages = vec![
        user("Set up the status line of the terminal"),
        calls("1", "Skill", r#"{"skill":"statusline"}"#),
        returns("1", "<tool_use_error>Unknown skill: statusline</tool_use_error>", true),
    ];
    assert!(section(&messages, Section::Blocked).contains("Unknown skill"));
    messages.extend([calls("2", "Read", r#"{"file_path":"/home/a/settings.json"}"#), returns("2", "{}", false)]);
    assert_eq!(section(&messages, Section::Blocked), "");
}

#[test]
fn a_task_that_the_work_and_the_answer_tell_of_is_no_next_step() {
    let plan = r#"{"plan":[{"step":"Port the parser","status":"completed"},{"step":"Run the tests, check the formatting and fix failures","status":"in_progress"},{"step":"Translate the manual to Danish","status":"pending"}]}"#;
    let mut messages = vec![
        user("Port the parser of the shop to Rust and translate its manual"),
        calls("p", "update_plan", plan),
        returns("p", "Plan updated", false),
    ];
    for at in 0..9 {
        let id = at.to_string();
        messages.extend([
            runs(&id, &format!("cargo test -p part{at}")),
            returns(&id, "test result: ok. 18 passed; 0 failed", false),
        ]);
    }
    messages.push(says("The parser is in Rust. The tests run without failures, and the formatting is clean.", "stop"));
    let next = section(&messages, Section::NextSteps);
    assert!(!next.contains("Run the tests") && next.contains("Translate the manual"), "{next}");
}

#[test]
fn few_milestones_leave_room_for_what_was_answered() {
    let mut messages = Vec::new();
    for part in ["header", "footer", "menu", "basket", "order", "bill"] {
        messages.push(user(&format!("Explain how the {part} of the shop is drawn on phones")));
        let answer =
            format!("Sorry about the delay.\n\nThe {part} is drawn by its own template, which has two columns.");
        messages.push(says(&answer, "stop"));
    }
    messages.push(user("Now draw all of them in three columns on desks"));
    let done = section(&messages, Section::Done);
    for part in ["header", "footer", "menu", "basket", "order", "bill"] {
        assert!(done.contains(&format!("-> The {part} is drawn by its own template")), "{done}");
    }
    assert!(!done.contains("Sorry"), "{done}");
}

#[test]
fn what_a_person_gives_up_blocks_nothing() {
    for (request, is_given_up) in [
        ("never mind, let the list take the old rows again", true),
        ("Vergiss es, nimm wieder die alten Zeilen", true),
        ("laisse tomber, reprends les anciennes lignes", true),
        ("olvídalo, usa las filas de antes", true),
        ("算了，列表用之前的数据吧", true),
        ("then let the list take the old rows again", false),
    ] {
        let messages = [
            user("The list of the orders hangs and shows nothing"),
            runs("1", "make list"),
            returns("1", "error: the list is empty\nexit code 2", true),
            user(request),
        ];
        let blocked = section(&messages, Section::Blocked);
        assert_eq!(blocked.is_empty(), is_given_up, "{request}: {blocked}");
    }
}

#[test]
fn what_else_not_to_do_ends_with_its_request() {
    let demand = "Do only these two things. Touch no other file.";
    let first = [user(demand), says("Both of them are done.", "stop")];
    let constraints = |messages: &[Arc<Message>]| section(messages, Section::Constraints);
    assert_eq!(constraints(&first), "Touch no other file.");
    let later = [&first[..], &[user("Now write the manual of the list"), says("It is written.", "stop")]].concat();
    assert_eq!(constraints(&later), "");
}
