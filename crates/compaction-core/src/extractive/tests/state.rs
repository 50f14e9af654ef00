//! What was in progress at the cut, what blocks it and what comes next.

use super::*;
use crate::json::Json;
use crate::ledger::STORED_BYTES;

/// The items of a section before a turn that begins with `turn`.
fn before_turn(section: Section, history: &[Arc<Message>], turn: &[Arc<Message>]) -> Vec<String> {
    let (history, turn) = (prepared(history), prepared(turn));
    let with_turn = Ledger::collect(&[&history[..], &turn].concat(), None, tools());
    let turn = Turn::of(&turn, tools()).unwrap();
    let style = Style { turn: Some(&turn), with_turn: Some(&with_turn), ..style(ENOUGH) };
    let text = text_of(&ExtractiveInput { style, ..super::history(&history) });
    SummaryDocument::parse(&text).body[section].clone()
}

/// The items of a section after `messages`.
fn after(section: Section, messages: &[Arc<Message>]) -> Vec<String> {
    SummaryDocument::parse(&text_of(&history(&prepared(messages)))).body[section].clone()
}

#[test]
fn the_last_step_of_an_open_turn_is_told_with_what_came_of_it() {
    let explained = r#"{"command":"cd /home/dev/a && git log -1","description":"Find the last commit"}"#;
    let edit = r#"{"path":"src/a.rs","oldText":"use b;\nlet x = 1;","newText":"use b;\nlet parser = Parser::new();"}"#;
    let long = "line of a build\n".repeat(60) + "12 passed, 0 failed in 3s\n\n";
    let question = r#"{"questions":[{"question":"Which port shall the server use?","options":[]}]}"#;
    for (call, result, expected) in [
        (
            calls("1", "bash", explained),
            returns("1", "1a2b3c4 fix: the parser", false),
            "Find the last commit: ran `cd /home/dev/a && git log -1`: 1a2b3c4 fix: the parser",
        ),
        (
            calls("1", "edit", edit),
            returns("1", "ok", false),
            "edited `src/a.rs`, which adds `let parser = Parser::new();`",
        ),
        (calls("1", "read", r#"{"path":"src/a.rs"}"#), returns("1", "fn main() {}", false), "read `src/a.rs`"),
        (
            calls("1", "read", r#"{"path":"/home/dev/projects/of-the-printer/src/components/layout/columns.rs"}"#),
            returns("1", "fn main() {}", false),
            "read `layout/columns.rs`",
        ),
        (runs("1", "make check"), returns("1", &long, false), "ran `make check`: \u{2026} 12 passed, 0 failed in 3s"),
        (runs("1", "make check"), returns("1", "error: no rule for `;`", true), "running `make check` failed"),
        (
            runs("1", "grep -n Parser src/a.rs"),
            returns("1", "Command exited with code 1", true),
            "ran `grep -n Parser src/a.rs`: nothing found",
        ),
        (
            calls("1", "fetch_page", r#"{"url":"https://example.com/a","max":3,"prompt":"what it costs"}"#),
            returns("1", "It costs nothing.", false),
            "called `fetch_page(https://example.com/a, what it costs)`: It costs nothing.",
        ),
        (
            calls("1", "AskUserQuestion", question),
            returns("1", "User has answered your questions: 8080", false),
            "asked the user: Which port shall the server use?: User has answered your questions: 8080",
        ),
    ] {
        let messages = [user("Port the parser to Rust"), call, result];
        let expected = format!("Last step: {expected}");
        let found = after(Section::InProgress, &messages);
        assert!(found.contains(&expected), "{expected}: {found:?}");
        let before = [user("Write the manual of the printer"), says("The manual is written.", "stop")];
        assert!(before_turn(Section::InProgress, &before, &messages).contains(&expected), "{expected}");
        // A complete answer ends it.
        let done = [&messages[..], &[says("The parser is ported.", "stop")]].concat();
        let found = after(Section::InProgress, &done);
        assert!(!found.iter().any(|item| item.starts_with("Last step")), "{found:?}");
    }
}

#[test]
fn plans_and_thoughts_are_no_steps() {
    let messages = [
        user("Port the parser to Rust"),
        calls("1", "read", r#"{"path":"src/a.rs"}"#),
        returns("1", "fn main() {}", false),
        calls("2", "sequential_thinking", r#"{"thought":"The printer may need the parser, so it comes first."}"#),
        returns("2", "{}", false),
        calls("3", "todo_write", r#"{"todos":[{"content":"port the parser","status":"in_progress"}]}"#),
        returns("3", "ok", false),
    ];
    let found = after(Section::InProgress, &messages);
    assert!(found.contains(&"Last step: read `src/a.rs`".to_owned()), "{found:?}");
    assert!(!found.iter().any(|item| item.contains("thinking")), "{found:?}");
}

#[test]
fn words_that_many_steps_follow_are_told_as_such() {
    let read = |id: &str| [calls(id, "read", r#"{"path":"src/a.rs"}"#), returns(id, "fn main() {}", false)];
    let messages =
        [&[user("Port the parser to Rust"), says("I look at the grammar first.", "toolUse")][..], &read("1")].concat();
    let found = after(Section::InProgress, &messages);
    assert!(found.contains(&"The assistant said last: I look at the grammar first.".to_owned()), "{found:?}");
    let found = after(Section::InProgress, &[&messages[..], &read("2"), &read("3")].concat());
    let expected = "The assistant said last, before 3 more steps: I look at the grammar first.".to_owned();
    assert!(found.contains(&expected), "{found:?}");
}

#[test]
fn a_turn_that_no_words_begin_goes_on_with_the_request_before_it() {
    let history =
        [user("Port the parser to Rust"), calls("1", "read", r#"{"path":"src/a.rs"}"#), returns("1", "x", false)];
    let turn = [
        user("[Request interrupted by user]"),
        calls("2", "write", r#"{"path":"src/b.rs","content":"x"}"#),
        returns("2", "ok", false),
    ];
    let found = before_turn(Section::InProgress, &history, &turn);
    assert_eq!(
        found,
        [
            "Working on: the latest request (done so far: changed `src/b.rs`; nothing was run since the last change)",
            "Last step: wrote `src/b.rs`"
        ]
    );
}

#[test]
fn many_changed_files_are_named_without_their_directories() {
    let write = |number: usize| {
        let path = format!("/home/dev/projects/printer/src/components/module_{number}.rs");
        let id = number.to_string();
        [calls(&id, "write", &format!(r#"{{"path":"{path}","content":"x"}}"#)), returns(&id, "ok", false)]
    };
    let messages: Vec<_> = (0..12).flat_map(write).collect();
    let messages = [&[user("Port the printer to Rust")][..], &messages].concat();
    let found = after(Section::InProgress, &messages);
    let expected = "changed `module_11.rs`, `module_10.rs`, `module_9.rs`, `module_8.rs`, `module_7.rs`, `module_6.rs`, \
                    `module_5.rs` and 5 more; nothing was run since the last change)";
    assert!(found[0].ends_with(expected), "{found:?}");
}

#[test]
fn a_failure_that_was_made_up_for_is_no_progress() {
    let messages = [
        user("Port the parser to Rust"),
        runs("1", "mytool run --old"),
        returns("1", "error: no such option", true),
        runs("2", "mytool run --new"),
        returns("2", "", false),
        calls("3", "read", r#"{"path":"src/a.rs"}"#),
        returns("3", "x", false),
    ];
    let found = after(Section::InProgress, &messages);
    assert_eq!(found[0], "Working on: the latest request (done so far: ran `mytool run --new`)");
}

#[test]
fn steps_that_a_request_asks_for_are_left_out_while_it_is_worked_on() {
    let history = [
        user("Port the parser to Rust"),
        says("The parser is ported.\n\nNext steps:\n- port the printer\n- write the manual of both", "stop"),
    ];
    let request = user("Go on with the printer until it prints the whole grammar");
    let steps = ["port the printer", "write the manual of both"];
    let found = before_turn(Section::NextSteps, &history, std::slice::from_ref(&request));
    assert!(steps.iter().all(|step| found.iter().any(|item| item == step)), "nothing was done for it: {found:?}");
    let turn = [request, calls("1", "write", r#"{"path":"src/p.rs","content":"x"}"#), returns("1", "ok", false)];
    let order = "Go on with: Go on with the printer until it prints the whole grammar";
    assert_eq!(before_turn(Section::NextSteps, &history, &turn), [order], "nobody knows how much of it is done");
}

#[test]
fn an_old_plan_is_one_item() {
    let plan =
        plan("1", &[("port the parser", "completed"), ("port the printer", "pending"), ("test both", "pending")]);
    let mut messages = [&[user("Port the parser and the printer")][..], &plan].concat();
    for request in
        ["Why is the grammar slow?", "Explain the cache to me", "Draw a logo for it", "Name the colours of it"]
    {
        messages.extend([user(request), says("That is done.", "stop")]);
    }
    let expected = "From a plan that was not updated since: port the printer; test both";
    assert_eq!(after(Section::NextSteps, &messages), [expected]);
}

#[test]
fn a_word_that_only_goes_on_leaves_an_announced_request_open() {
    let history = [user("Port the parser to Rust"), says("The parser is half done. Now I'll port its tests.", "stop")];
    for word in ["continue", "weiter", "继续"] {
        let found = before_turn(Section::InProgress, &history, &[user(word)]);
        assert!(found[0].starts_with("Working on: the latest request"), "{found:?}");
    }
    let asked = [user("Port the parser to Rust"), says("Shall I port its tests, too?", "stop")];
    for answer in ["yes", "go on"] {
        let found = before_turn(Section::InProgress, &asked, &[user(answer)]);
        assert!(found[0].starts_with("Working on: the latest request"), "{found:?}");
    }
}

#[test]
fn only_an_error_is_told_as_the_one_that_a_request_shows() {
    let filler = "It was written for the first version of the grammar and nobody reads it any more. ".repeat(12);
    let palette = format!(
        "Take these colours:\n\"error\": \"#ffb4ab\",\n\"warning\": \"#ffcc00\",\n\"info\": \"#00aaff\",\n\n{filler}"
    );
    let fence = format!(
        "Set this rule before the section on errors :\n```apache\nRewriteRule ^a$ b [L]\n# Custom 404 Error\n```\n\n{filler}"
    );
    let history = [user("Make the page"), says("The page is made.", "stop")];
    for request in [palette, fence] {
        let found = before_turn(Section::NextSteps, &history, &[user(&request)]);
        assert!(found.len() == 1 && !found[0].contains("error\""), "{found:?}");
    }
}

#[test]
fn a_command_of_several_lines_is_one() {
    let answer =
        "It is ready.\n\n```sh\ngit commit -m \"feat: the printer\n- with colours\n- with tests\"\nmake \\\n  all\n```";
    let found = after(Section::NextSteps, &[user("Prepare the release of the printer"), says(answer, "stop")]);
    let expected = "Commands that the last answer gives: `git commit -m \"feat: the printer - with colours - with tests\"`, `make all`";
    assert_eq!(found, [expected]);
}

#[test]
fn commands_that_the_person_refused_are_not_next() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let told = |is_refused: bool| {
        let mut messages = vec![
            user("Restart the server of the shop"),
            says("Then run:\n\n```bash\nmake deploy\nmake restart\n```", "stop"),
        ];
        if is_refused {
            messages.extend([calls("1", "bash", r#"{"command":"make restart"}"#), returns("1", refusal, true)]);
        }
        after(Section::NextSteps, &messages).join("\n")
    };
    assert!(told(false).contains("Commands that the last answer gives: `make deploy`"), "{}", told(false));
    assert!(!told(true).contains("Commands that the last answer gives"), "{}", told(true));
}

#[test]
fn commands_of_an_answer_come_next_though_its_edits_were_applied_behind_it() {
    let messages = [
        user("Add the page of the blog to the site"),
        says("Here is the page. Then run:\n\n```bash\nnpx site sync\n```", "stop"),
        calls("1", "edit", r#"{"path":"src/blog.astro"}"#),
        returns("1", "Applied edit", false),
    ];
    let expected = "Commands that the last answer gives: `npx site sync`".to_owned();
    assert!(after(Section::NextSteps, &messages).contains(&expected));
    let history = [user("Make the page"), says("The page is made.", "stop")];
    assert!(before_turn(Section::NextSteps, &history, &messages).contains(&expected));
}

#[test]
fn a_title_at_the_end_of_an_answer_announces_nothing() {
    let messages =
        [user("Where do we stand?"), says("I looked at all of the tasks.\n\n**State of the project:**", "stop")];
    let found = after(Section::NextSteps, &messages);
    assert!(!found.iter().any(|item| item.contains("announced")), "{found:?}");
}

#[test]
fn a_reported_problem_is_over_once_it_was_worked_on_and_the_person_went_on() {
    let fix = |id: &str| [calls(id, "write", r#"{"path":"src/a.rs","content":"x"}"#), returns(id, "ok", false)];
    let messages = [&[user("The export of the list is broken since yesterday")][..], &fix("1")].concat();
    let report =
        "The user reports: The export of the list is broken since yesterday (files changed since, not confirmed)";
    assert_eq!(after(Section::Blocked, &messages), [report]);
    let on = [&messages[..], &[says("Its cause was the cache.", "stop"), user("go on")], &fix("2")].concat();
    assert_eq!(after(Section::Blocked, &on), [""; 0]);
}

#[test]
fn a_call_of_another_tool_does_not_wait_for_files() {
    let messages = [
        user("Note the state of the work and port the parser"),
        calls("1", "notes__add", r#"{"text":"ported"}"#),
        returns("1", "tool call error: no such note", true),
        calls("2", "write", r#"{"path":"src/a.rs","content":"x"}"#),
        returns("2", "ok", false),
    ];
    let found = after(Section::Blocked, &messages);
    assert!(found.len() == 1 && !found[0].contains("files changed since"), "{found:?}");
}

#[test]
fn what_was_said_and_done_last_is_no_state_of_the_next_summary() {
    let messages = [
        user("Port the parser to Rust"),
        says("I look at the rules of the grammar now.", "toolUse"),
        calls("1", "read", r#"{"path":"src/a.rs"}"#),
        returns("1", "fn main() {}", false),
    ];
    let first = text_of(&history(&prepared(&messages)));
    let later = prepared(&[user("Now write the manual of the printer")]);
    let text = text_of(&ExtractiveInput { previous_summary: Some(&first), ..history(&later) });
    assert!(first.contains("Last step") && !text.contains("Last step") && !text.contains("said last"), "{text}");
    assert!(text.contains("I look at the rules of the grammar now."), "{text}");
}

#[test]
fn a_check_that_failed_is_the_next_step() {
    let edit = |id: &str, path: &str| {
        [calls(id, "write", &format!(r#"{{"path":"{path}","content":"x"}}"#)), returns(id, "ok", false)]
    };
    let failed = [
        user("Port the parser to Rust"),
        runs("1", "pytest -v"),
        returns("1", "== 4 failed, 13 passed in 2.5s ==", true),
    ];
    let order = "Go on with: Port the parser to Rust";
    let fix = "Fix the failure of `pytest -v`, then run it again";
    assert_eq!(after(Section::NextSteps, &failed), [order, fix]);
    let changed = [&failed[..], &edit("2", "src/rules/a.py")].concat();
    let again = "Run again: `pytest -v`, which failed before `rules/a.py` was changed";
    assert_eq!(after(Section::NextSteps, &changed), [order, again]);
    let history = [user("Write the manual of the printer"), says("The manual is written.", "stop")];
    assert_eq!(before_turn(Section::NextSteps, &history, &changed), [order, again]);
    let passed = [&changed[..], &[runs("3", "pytest"), returns("3", "17 passed in 2.5s", false)]].concat();
    let left =
        "Only the answer to the user seems to be left of the latest request: `pytest` passes since the last change";
    assert_eq!(after(Section::NextSteps, &passed), [left]);
}

#[test]
fn a_run_of_a_file_that_was_changed_is_repeated() {
    let change = |path: &str| {
        let arguments = format!(r#"{{"path":"{path}","content":"x"}}"#);
        let run = [user("Make the melody louder"), runs("1", "python tools/play.py"), returns("1", "it plays", false)];
        let edit = [calls("2", "write", &arguments), returns("2", "ok", false)];
        after(Section::NextSteps, &[&run[..], &edit].concat())
    };
    let order = "Go on with: Make the melody louder";
    assert_eq!(change("/home/dev/tools/play.py"), [order, "Run again: `python tools/play.py`"]);
    assert_eq!(change("/home/dev/tools/list.py"), [order]);
}

#[test]
fn only_a_check_is_named_for_another_run() {
    let after_run = |command: &str| {
        let run = [user("Make the melody louder"), runs("1", command), returns("1", "12 passed, 0 failed", false)];
        let edit = [calls("2", "write", r#"{"path":"src/a.py","content":"x"}"#), returns("2", "ok", false)];
        after(Section::NextSteps, &[&run[..], &edit].concat())
    };
    let order = "Go on with: Make the melody louder";
    assert_eq!(after_run("pytest"), [order, "Run again: `pytest`"]);
    assert_eq!(after_run("python tools/count.py"), [order]);
    assert_eq!(after_run("cat report.txt"), [order]);
}

#[test]
fn a_finished_turn_says_so_and_leaves_the_next_step_to_the_user() {
    let left = "Nothing is left of the latest request. The next message of the user decides";
    for (request, answer) in [
        ("Port the parser to Rust", "The parser is ported, and all of its tests pass."),
        ("Portiere den Parser nach Rust", "Der Parser ist portiert, und alle seine Tests laufen."),
        ("把解析器移植到 Rust", "解析器已经移植完成，所有的测试都通过了。"),
    ] {
        let messages = [user(request), says(answer, "stop")];
        // Work that continues after the answer is not over.
        let aborted = [&messages[..], &[runs("1", "make"), returns("1", "ok", false), says("", "aborted")]].concat();
        assert!(!after(Section::InProgress, &aborted).iter().any(|item| item.starts_with("Nothing")), "{answer}");
        let report = format!("Nothing is in progress. The last answer reports: {answer}");
        assert_eq!(after(Section::InProgress, &messages), [report]);
        assert_eq!(after(Section::NextSteps, &messages), [left]);
        // It is not part of the state in later summaries.
        let first = text_of(&history(&prepared(&messages)));
        let later = prepared(&[user("Now write the manual of the printer")]);
        let text = text_of(&ExtractiveInput { previous_summary: Some(&first), ..history(&later) });
        assert!(!text.contains("Nothing is") && text.contains(answer), "{text}");
    }
}

#[test]
fn an_answer_that_admits_a_failure_leaves_something() {
    let messages =
        [user("Migrate the database"), says("I was unable to migrate the database: two tables are missing.", "stop")];
    assert_eq!(after(Section::Blocked, &messages).len(), 1);
    assert_eq!(after(Section::NextSteps, &messages), ["The next message of the user decides"]);
}

#[test]
fn what_a_complete_answer_will_do_next_is_a_step() {
    let answer = "The grammar is read.\n\nNow I'll port the rules of it.";
    let messages = [user("Port the parser to Rust"), says(answer, "stop")];
    let found = after(Section::NextSteps, &messages);
    assert_eq!(found, ["The assistant announced: The grammar is read. Now I'll port the rules of it."]);
    let polite = "The parser is ported to Rust.\n\nLet me know if you need its manual.";
    let found = after(Section::NextSteps, &[user("Port the parser to Rust"), says(polite, "stop")]);
    assert_eq!(found, ["Nothing is left of the latest request. The next message of the user decides"]);
}

#[test]
fn a_question_waits_though_a_short_sentence_follows_it() {
    let answer = "The index is planned but not built.\n\n**Shall I build it now?** It would make the filters faster!";
    let found = after(Section::NextSteps, &[user("Where is the index of the books?"), says(answer, "stop")]);
    assert_eq!(found, ["The assistant asked, and waits for an answer: Shall I build it now?"]);
    let told =
        "Why was it slow? It read the whole grammar for each of the rules, and that took most of the time of a run.";
    let found = after(Section::NextSteps, &[user("Make the parser faster"), says(told, "stop")]);
    assert!(!found.iter().any(|item| item.contains("waits")), "{found:?}");
}

#[test]
fn a_list_that_an_answer_tells_about_is_no_offer() {
    let answer = "I wrote the guide. It covers:\n1. Files - where they are kept\n2. Caches - how they grow\n\nIt has a table \
                  for each of them. The guide takes the costs into account.\n\nShall I change anything in it?";
    let found = after(Section::NextSteps, &[user("Write a guide of our stores"), says(answer, "stop")]);
    assert_eq!(found, ["The assistant asked, and waits for an answer: Shall I change anything in it?"]);
}

#[test]
fn the_parts_of_a_request_that_nothing_touched_are_the_next_step() {
    let edit = |id: &str, path: &str| {
        [calls(id, "write", &format!(r#"{{"path":"{path}","content":"x"}}"#)), returns(id, "ok", false)]
    };
    let open = |request: &str, done: &[Arc<Message>]| {
        let messages = [&[user(request)][..], done].concat();
        let history = [user("Read the old manual"), says("It is read.", "stop")];
        let found = before_turn(Section::NextSteps, &history, &messages);
        assert_eq!(after(Section::NextSteps, &messages), found, "{request}");
        found.into_iter().next().unwrap_or_default()
    };
    let rest = "The rest of the latest request, for which nothing is seen yet: ";
    let english = "Port src/parser.rs to the new grammar, then note the work in NOTES.md and commit all of it";
    assert_eq!(
        open(english, &edit("1", "src/parser.rs")),
        format!("{rest}note the work in NOTES.md and commit all of it")
    );
    assert_eq!(open(english, &edit("1", "src/other.rs")), format!("Go on with: {english}"));
    let chinese = "把 go.mod 统一成新的版本，然后把 TODO.md 删除";
    assert_eq!(open(chinese, &edit("1", "go.mod")), format!("{rest}把 TODO.md 删除"));
    let said = [says("The logger writes the errors of the tree now.", "toolUse")];
    let spoken = "Fix the errors of the logger in the tree, then draw the colours of the menu";
    assert_eq!(open(spoken, &[&said[..], &edit("1", "a.rs")].concat()), format!("{rest}draw the colours of the menu"));
    // The last part was begun, so no open part can be named.
    let both = [edit("1", "src/parser.rs"), edit("2", "NOTES.md")].concat();
    let committed = [runs("3", "git commit -am x"), returns("3", "[main 1a2b3c4] feat: the parser", false)];
    assert_eq!(open(english, &[&both[..], &committed].concat()), format!("Go on with: {english}"));
}

#[test]
fn a_long_request_of_a_turn_is_told_by_whole_sentences_with_its_question() {
    let filler = "The printer was written for the first version of the grammar.";
    let request =
        format!("We see an odd thing. {} Can we wait for the lock and try again? {filler}", [filler; 20].join(" "));
    let history = [user("Make the page"), says("The page is made.", "stop")];
    let found = before_turn(Section::Goal, &history, &[user(&request)]);
    let told = found.iter().find_map(|item| item.strip_prefix("Latest request: ")).unwrap();
    assert!(told.starts_with("We see an odd thing. "), "{found:?}");
    assert!(told.contains("Can we wait for the lock and try again?"), "{found:?}");
}

#[test]
fn a_call_without_a_path_is_told_with_the_file_that_it_means() {
    let edit = |words: &str| {
        let messages = [
            user("Port the parser"),
            says(words, "toolUse"),
            calls("2", "edit_file", r#"{"diff":"+ let parser = Parser::new();"}"#),
            returns("2", "The edit was applied.", false),
        ];
        after(Section::InProgress, &messages).into_iter().find(|item| item.starts_with("Last step")).unwrap_or_default()
    };
    assert!(edit("Now I change rules.py to use it:").contains("edited the open file (`rules.py`)"));
    let unclear = edit("Now I change rules.py and list.py:");
    assert!(unclear.contains("edited the open file,"), "{unclear}");
}

#[test]
fn a_script_in_an_answer_is_no_list_of_commands() {
    let answer = "It can be told apart:\n\n```bash\nif test -f a; then\n  port a\nfi\n```";
    let found = after(Section::NextSteps, &[user("Can the files be told apart?"), says(answer, "stop")]);
    assert!(!found.iter().any(|item| item.starts_with("Commands")), "{found:?}");
}

#[test]
fn the_names_of_what_fails_stand_with_the_failure() {
    let output = "FAILED tests/test_a.py::test_one - KeyError\nFAILED tests/test_a.py::test_two - KeyError\n\
                  == 2 failed, 9 passed in 0.1s ==";
    let run = "cd /home/dev/shop && source .venv/bin/activate && python -m pytest -v 2>&1 | tail -20";
    let messages = [user("Port the parser to Python"), runs("1", run), returns("1", output, false)];
    let expected = "`python -m pytest -v` failed: 2 failed, 9 passed in 0.1s: test_one, test_two";
    assert_eq!(after(Section::Blocked, &messages), [expected]);
    let step = "Fix the failure of `python -m pytest -v`, then run it again";
    assert_eq!(after(Section::NextSteps, &messages)[1], step);
    let build = "src/a.ts(3,7): error TS2345: No such type.\nsrc/b.ts(4,1): error TS1005: No semicolon.";
    let messages = [user("Port the parser"), runs("1", "npm run build"), returns("1", build, true)];
    let expected = "`npm run build` failed: src/a.ts(3,7): error TS2345: No such type. (failing: src/b.ts:4 TS1005: No semicolon.)";
    assert_eq!(after(Section::Blocked, &messages), [expected]);
    let first = Ledger::collect(&prepared(&messages), None, tools());
    let stored = Ledger::from_json(&Json::parse(&first.to_json(STORED_BYTES)).unwrap()).unwrap();
    assert_eq!(stored.errors[0].failing, first.errors[0].failing);
}

#[test]
fn a_newer_run_of_a_check_stands_for_the_older_ones() {
    let run = |id: &str, command: &str, output: &str| [runs(id, command), returns(id, output, false)];
    let at_first = run("1", "cd /home/dev/shop && python -m pytest -v", "6 failed, 11 passed in 2.3s");
    let then =
        run("2", "cd /home/dev/shop && source a/bin/activate && pytest 2>&1 | tail -3", "5 failed, 12 passed in 2.4s");
    let last = run("3", "python -m pytest -v", "4 failed, 13 passed in 2.2s");
    let one = run("4", "python -m pytest tests/test_b.py", "1 passed in 0.2s");
    let edit = [calls("9", "write", r#"{"path":"a.py","content":"x = 1"}"#), returns("9", "ok", false)];
    let messages = [&[user("Port the parser to Python")][..], &at_first, &then, &one, &last, &edit].concat();
    let text = text_of(&history(&prepared(&messages)));
    assert!(
        text.contains("`python -m pytest -v`: 4 failed, 13 passed in 2.2s (failed: 6 \u{2192} 5 \u{2192} 4)"),
        "{text}"
    );
    assert!(!text.contains("6 failed") && !text.contains("5 failed"), "{text}");
    assert_eq!(after(Section::Done, &messages).iter().filter(|item| item.contains("1 passed")).count(), 0, "{text}");
    let passed = run("5", "pytest -q", "17 passed in 2.1s");
    let text = text_of(&history(&prepared(&[&messages[..], &passed].concat())));
    assert!(!text.contains("4 failed") && text.contains("17 passed in 2.1s"), "{text}");
    // A build that succeeds counts nothing.
    let build = [runs("1", "mvn clean package"), returns("1", "[INFO] 2 errors\n[INFO] BUILD FAILURE", true)];
    let built = [runs("2", "mvn clean package"), returns("2", "[INFO] BUILD SUCCESS", false)];
    let text = |messages: &[Arc<Message>]| text_of(&history(&prepared(messages)));
    let begun = [&[user("Port the parser to Java")][..], &build].concat();
    assert!(text(&begun).contains("2 errors"));
    let all = [&begun[..], &built].concat();
    assert!(!text(&all).contains("2 errors"));
    assert!(after(Section::CriticalContext, &all).contains(&"Ran `mvn clean package`".to_owned()));
}

#[test]
fn an_edit_that_names_no_file_is_told_with_the_one_that_is_meant() {
    let edit = |id: &str| {
        let arguments = format!(r#"{{"diff":"- one\\n+ two of many lines {}"}}"#, "and more ".repeat(40));
        [calls(id, "edit_file", &arguments), returns(id, "The edit was applied.", false)]
    };
    let read = [calls("1", "read_file", r#"{"path":"src/shop/pool.py"}"#), returns("1", "def pool(): pass", false)];
    let other = [calls("2", "read_file", r#"{"path":"src/shop/core.py"}"#), returns("2", "x = 1", false)];
    let told = |messages: &[&[Arc<Message>]]| {
        // The last step has an item of its own.
        let last = [calls("9", "list_dir", r#"{"path":"src"}"#), returns("9", "shop", false)];
        let request = [user("Make the pool of the shop faster")];
        after(Section::InProgress, &[&request[..], &messages.concat(), &last].concat())[0].clone()
    };
    let says = |words: &str| [says(words, "toolUse")];
    assert!(told(&[&read, &edit("3")]).contains("called `edit_file(src/shop/pool.py)`"), "it is the only one");
    let named = told(&[&read, &other, &says("Now let me update the `core.py` file:"), &edit("3")]);
    assert!(named.contains("called `edit_file(src/shop/core.py)`"), "{named}");
    let unknown = told(&[&read, &other, &says("Now let me update it:"), &edit("3")]);
    assert!(unknown.contains("called `edit_file`") && !unknown.contains('{'), "{unknown}");
    let long = format!(r#"{{"id":"/shop/docs","tokens":15000,"topic":"{}"}}"#, "field ".repeat(12));
    let call = [calls("4", "get-library-docs", &long), returns("4", "The docs of fields", false)];
    let found = told(&[&call, &says("Now I write it down."), &read]);
    assert!(found.contains("called `get-library-docs(/shop/docs, field field"), "{found}");
}

#[test]
fn of_what_a_person_pastes_two_lines_are_told() {
    let names = ["red", "green", "blue", "white", "black", "brown", "violet", "orange"];
    let page: String =
        names.map(|name| format!("        {name}: The pool waits for a worker of the colour {name}.\n")).concat();
    let request = format!(
        "Make the pool of the shop faster\n\nHelp on the pool:\n\n    Args:\n{page}\nThen write the manual of it."
    );
    let next = user("Now port the parser of the shop to Rust");
    let text = text_of(&history(&prepared(&[user(&request), says("The pool is faster by half.", "stop"), next])));
    let digest = text.split("## Critical Context").nth(1).unwrap();
    let told = names.iter().filter(|name| digest.contains(&format!("colour {name}"))).count();
    // The name of the list may be one of the two.
    assert!((1..=2).contains(&told), "{text}");
}

#[test]
fn of_theories_that_runs_refuted_the_last_one_is_told() {
    let theory = |words: &str, id: &str, failed: u64| {
        let output = format!("{failed} failed, 9 passed in 2.{failed}s");
        [says(words, "toolUse"), runs(id, "make test"), returns(id, &output, false)]
    };
    let messages = [
        &[user("Make the tests of the shop pass")][..],
        &theory("I see the issue. The cache of the shop is never emptied.", "1", 5),
        &theory("I see the problem now. The queue of the shop is read twice.", "2", 4),
        &theory("I found the issue: the clock of the shop runs backwards.", "3", 3),
    ]
    .concat();
    let text = text_of(&history(&prepared(&messages)));
    assert!(!text.contains("cache of the shop") && !text.contains("queue of the shop"), "{text}");
    assert!(text.contains("clock of the shop"), "{text}");
    let apart = [&messages[..4], &[user("Now look at the queue of the shop, too")], &messages[4..]].concat();
    assert!(text_of(&history(&prepared(&apart))).contains("cache of the shop"), "a person spoke between them");
    let with_fact = [
        &messages[..1],
        &theory(
            "I see the issue: the cache of the shop is never emptied. The port of the mock server is 4411.",
            "1",
            5,
        ),
        &messages[4..],
    ]
    .concat();
    let text = text_of(&history(&prepared(&with_fact)));
    assert!(!text.contains("cache of the shop") && text.contains("is 4411"), "a fact is no theory: {text}");
}

#[test]
fn tasks_that_are_kept_by_ids_are_done_when_a_call_says_so() {
    let create = |id: &str, text: &str| calls(id, "TaskCreate", &format!(r#"{{"subject":"{text}"}}"#));
    let update = |id: &str, arguments: &str| [calls(id, "TaskUpdate", arguments), returns(id, "Updated task", false)];
    let messages = [
        &[user("Port the parser and the printer to Rust")][..],
        &[create("1", "port the parser"), create("2", "port the printer"), create("3", "write the manual")],
        // The results come in another order, and one is missing.
        &[returns("3", "Task #3 created successfully: write the manual", false)],
        &[returns("1", r#"{"task":{"id":1,"subject":"port the parser"}}"#, false)],
        &update("4", r#"{"taskId":"3","status":"in_progress"}"#),
        &update("5", r##"{"task_id":"#2","status":"completed"}"##),
        &update("6", r#"{"taskId":1,"status":"completed"}"#),
        &update("7", r#"{"taskId":"3","addBlockedBy":["2"]}"#),
    ];
    let messages = messages.concat();
    let all = |section| after(section, &messages);
    let is_in = |section, task: &str| all(section).iter().any(|item| item == task);
    assert!(is_in(Section::Done, "port the parser") && is_in(Section::Done, "port the printer"));
    assert!(is_in(Section::InProgress, "write the manual"));
    assert!(!all(Section::NextSteps).iter().any(|item| item.starts_with("port the")));
    let list =
        [calls("8", "TaskList", "{}"), returns("8", "#1 [completed] port the parser\n#3 [pending] test it", false)];
    let messages = [&messages[..], &list, &update("9", r#"{"taskId":"3","status":"completed"}"#)].concat();
    assert!(after(Section::Done, &messages).iter().any(|item| item == "test it"), "the list has ids");
}

#[test]
fn a_turn_tells_its_milestones_and_what_was_not_pushed() {
    let git = |id: &str, command: &str, output: &str| [runs(id, command), returns(id, output, false)];
    let first = git("1", "git commit -m one", "[main 1111111] one\n 1 file changed");
    let pushed = git("2", "git push", "To example.org:shop.git\n   0000000..1111111  main -> main");
    let history = [&[user("Write the parser and commit it")][..], &first, &pushed, &[says("Done.", "stop")]].concat();
    let write = [calls("3", "write", r#"{"path":"src/b.rs","content":"x"}"#), returns("3", "ok", false)];
    let second = git("4", "git commit -am two", "[main 2222222] two\n 1 file changed");
    let turn = [&[user("Now the printer of it, please")][..], &write, &second].concat();
    let done = before_turn(Section::Done, &history, &turn);
    assert!(done.iter().any(|item| item.starts_with("Committed 2222222 on main: two")), "{done:?}");
    let progress = before_turn(Section::InProgress, &history, &turn);
    assert!(progress.contains(&"Committed after the last push: 2222222".to_owned()), "{progress:?}");
    assert!(!progress.iter().any(|item| item.contains("`src/b.rs`")), "the commit has it: {progress:?}");
    // Nobody pushes here.
    let alone = [&[user("Write the parser and commit it")][..], &first].concat();
    assert!(!after(Section::InProgress, &alone).iter().any(|item| item.contains("push")));
}

#[test]
fn pages_do_not_ask_for_another_run_of_the_tests() {
    let tested = [runs("1", "cargo test"), returns("1", "test result: ok. 5 passed; 0 failed", false)];
    let write =
        |path: &str| [calls("2", "write", &format!(r#"{{"path":"{path}","content":"x"}}"#)), returns("2", "ok", false)];
    let state = |path: &str| {
        let messages = [&[user("Write down how the parser works")][..], &tested, &write(path)].concat();
        [Section::Done, Section::InProgress, Section::NextSteps].map(|section| after(section, &messages).join("\n"))
    };
    let [done, progress, next] = state("src/parser.rs");
    assert!(
        done.contains("files changed since") && progress.contains("nothing was run") && next.contains("cargo test")
    );
    let [done, progress, next] = state("docs/parser.md");
    assert!(!done.contains("files changed since"), "{done}");
    assert!(!progress.contains("nothing was run") && !next.contains("cargo test"), "{progress} {next}");
}

#[test]
fn a_command_in_the_background_has_not_succeeded() {
    let started =
        |output: &str| vec![user("Check the types of the shop"), runs("1", "mypy src"), returns("1", output, false)];
    let codex = "Chunk ID: 3\nWall time: 1.0 seconds\nProcess running with session ID 99\nOutput:\nsrc/a.py:1: note: x";
    let claude = "Command running in background with ID: b7b23b2. Output is being written to: /tmp/b7b23b2.output";
    let item = "Runs in the background, its end was not seen: `mypy src`";
    for output in [codex, claude] {
        let messages = started(output);
        assert!(!after(Section::Done, &messages).iter().any(|done| done.contains("mypy")), "{output}");
        assert!(after(Section::InProgress, &messages).contains(&item.to_owned()), "{output}");
    }
    let read = [
        calls("2", "write_stdin", r#"{"session_id":99,"chars":""}"#),
        returns("2", "Wall time: 9.0 seconds\nProcess exited with code 0\nOutput:\nok", false),
    ];
    assert!(!after(Section::InProgress, &[&started(codex)[..], &read].concat()).contains(&item.to_owned()));
    let notice =
        user("<task-notification>\n<task-id>b7b23b2</task-id>\n<status>completed</status>\n</task-notification>");
    assert!(!after(Section::InProgress, &[&started(claude)[..], &[notice]].concat()).contains(&item.to_owned()));
}

/// An answer that ended with an error, or that the person stopped.
fn fails(reason: &str, error: &str) -> Arc<Message> {
    let error = crate::json::encode_string(error);
    let text =
        format!("{{\"role\":\"assistant\",\"content\":[],\"stopReason\":\"{reason}\",\"errorMessage\":{error}}}");
    message(&text)
}

#[test]
fn an_answer_that_broke_off_is_not_the_end_of_its_turn() {
    let asked =
        || vec![user("Print the menu of the shop on each page"), says("I print the menu of the shop on", "stop")];
    let error = || fails("error", "APIConnectionError: the server closed the connection");
    let stopped = || fails("aborted", "^C");
    let broken = "The newest answer of the assistant broke off: APIConnectionError: the server closed the connection";
    for (ends, is_open) in [
        (vec![error()], true),
        (vec![error(), stopped()], true),
        (vec![error(), stopped(), user("/exit")], true),
        // The prompt waited for the person.
        (vec![stopped()], false),
        (vec![error(), says("The menu of the shop is printed on each page.", "stop")], false),
    ] {
        let messages = [asked(), ends].concat();
        let progress = after(Section::InProgress, &messages);
        assert_eq!(progress.contains(&broken.to_owned()), is_open, "{progress:?}");
        assert_eq!(progress.iter().any(|item| item.starts_with("Nothing is in progress")), !is_open, "{progress:?}");
        let goal = after(Section::Goal, &messages);
        assert_eq!(goal.iter().any(|item| item.ends_with("(answered)")), !is_open, "{goal:?}");
    }
    let stopped_later = [
        vec![user("Print the menu"), calls("1", "read", r#"{"path":"a.md"}"#), returns("1", "x", false)],
        vec![stopped()],
    ];
    let progress = after(Section::InProgress, &stopped_later.concat());
    assert!(
        progress.contains(&"The newest answer of the assistant broke off: the user stopped it".to_owned()),
        "{progress:?}"
    );
    // The words before the error are no outcome of the request.
    let next = [asked(), vec![error(), user("Now translate the manual into French")]].concat();
    assert!(after(Section::Done, &next).is_empty());
}

#[test]
fn who_waits_for_what_runs_has_not_finished() {
    let started = |words: &str| {
        [
            user("Print the menu, the prices and the pictures of the shop"),
            says("The parts are independent.", "stop"),
            calls("1", "Agent", r#"{"description":"Task 1: menu"}"#),
            returns("1", "Running in the background", false),
            calls("2", "Agent", r#"{"description":"Task 2: prices"}"#),
            returns("2", "Running in the background", false),
            says(words, "stop"),
        ]
    };
    let states = "Task 2 runs in the background. Waiting for it.\n\n- \u{2705} Task 1: menu\n- \u{23f3} Task 2: prices (running)\n- \u{1f512} Task 3: pictures (waits for 2)";
    let waiting =
        [&started("Both run.")[..], &[says("Agent \"Task 1: menu\" completed", "stop"), says(states, "stop")]].concat();
    let progress = after(Section::InProgress, &waiting);
    let job = r#"Runs in the background, its end was not seen: `Agent({"description":"Task 2: prices"})`"#;
    assert!(progress.contains(&job.to_owned()) && progress.contains(&"Task 2: prices".to_owned()), "{progress:?}");
    let is_false = |item: &String| item.contains("Task 1") && item.starts_with("Runs") || item.starts_with("Nothing");
    assert!(!progress.iter().any(is_false), "{progress:?}");
    assert_eq!(after(Section::Done, &waiting), ["Task 1: menu"]);
    assert!(after(Section::NextSteps, &waiting).contains(&"Task 3: pictures".to_owned()));
    let done = [&waiting[..], &[says("All 3 tasks are done.", "stop")]].concat();
    let progress = after(Section::InProgress, &done);
    assert!(progress.iter().all(|item| item.starts_with("Nothing is in progress")), "{progress:?}");
}

#[test]
fn the_report_of_a_sub_agent_is_read_and_is_no_request() {
    let report = "The importer drops rows whose date has no zone, see src/rows.rs:31.";
    let messages = [
        user("Find out why the importer loses rows"),
        says("A sub-agent looks at it.", "stop"),
        user(&format!(
            "<task-notification>\n<task-id>1</task-id>\n<result>\n{report}\n</result>\n</task-notification>"
        )),
    ];
    let ledger = Ledger::collect(&prepared(&messages), None, tools());
    assert_eq!(ledger.requests.len(), 1, "{:?}", ledger.requests);
    assert!(ledger.statements.iter().any(|one| one.text.contains("src/rows.rs:31")), "{:?}", ledger.statements);
}

#[test]
fn a_conversation_begins_anew_with_a_command_before_a_request() {
    let messages = [
        user("Port the export of the orders to the new server"),
        says("It is ported.", "stop"),
        user("/clear\nAdd a menu to the page of the manual"),
    ];
    let ledger = Ledger::collect(&prepared(&messages), None, tools());
    let requests: Vec<&str> = ledger.requests.iter().map(|request| request.text.as_str()).collect();
    assert_eq!(requests[1..], ["/clear", "Add a menu to the page of the manual"]);
}

#[test]
fn a_turn_of_an_earlier_request_tells_what_was_done_in_it() {
    let summary = "## Goal\n- Latest request: Port the parser to Rust\n\n## Progress\n### In Progress\n- [ ] Working on: the latest request";
    let turn_messages = prepared(&[
        user("[Request interrupted by user]"),
        calls("2", "write", r#"{"path":"src/b.rs","content":"x"}"#),
        returns("2", "ok", false),
    ]);
    let earlier = ExtractiveInput { previous_summary: Some(summary), ..history(&[]) };
    let mut collector = Collector::new(None, Some(summary), tools());
    turn_messages.iter().for_each(|one| collector.read(one));
    let with_turn = collector.finish();
    let turn = Turn::of(&turn_messages, tools()).unwrap();
    let style = Style { turn: Some(&turn), with_turn: Some(&with_turn), ..style(ENOUGH) };
    let text = text_of(&ExtractiveInput { style, ..earlier });
    let progress = SummaryDocument::parse(&text).body[Section::InProgress].join("\n");
    assert!(progress.contains("changed `src/b.rs`"), "{progress}");
}

#[test]
fn what_a_finished_turn_waits_for_is_told() {
    let next = |request: &str, answer: &str| {
        after(
            Section::NextSteps,
            &[user(request), calls("1", "edit", EDIT), returns("1", "ok", false), says(answer, "stop")],
        )
    };
    for (request, answer, waits) in [
        (
            "Fix the close button",
            "The button closes the page now. Refresh the page to test.",
            "for the user: Refresh the page to test.",
        ),
        (
            "Почини кнопку",
            "Кнопка закрывает окно. Проверь ещё раз окно в игре.",
            "for the user: Проверь ещё раз окно в игре.",
        ),
        ("修复关闭按钮", "关闭按钮已经可以用了。请刷新页面查看。", "for the user: 请刷新页面查看。"),
        (
            "Fix the close button",
            "The button closes the page now. What would you like to do next? We could add a menu, or write the tests.",
            ": the user chooses between: We could add a menu, or write the tests.",
        ),
    ] {
        assert_eq!(next(request, answer), [format!("Waiting{}{waits}", if waits.starts_with(':') { "" } else { " " })]);
    }
    // A name does not begin an order.
    let named = next("Remove the old mode", "`RUN_MODE` and `RUN_URL` are removed from the settings of the server.");
    assert_eq!(named, ["Nothing is left of the latest request. The next message of the user decides"]);
    let state = |more: &[Arc<Message>]| {
        let edit = [user("Fix the close button"), calls("1", "edit", EDIT), returns("1", "ok", false)];
        after(Section::InProgress, &[&edit[..], more, &[says("The button closes the page now.", "stop")]].concat())
            .join("\n")
    };
    let unproved = "(nothing was run since the last change)";
    assert!(state(&[]).ends_with(unproved));
    assert!(state(&[runs("2", "ls src"), returns("2", "app.ts", false)]).ends_with(unproved));
    assert!(!state(&[runs("2", "npm test"), returns("2", "3 passed", false)]).contains(unproved));
}

const EDIT: &str = r#"{"path":"src/app.ts","oldText":"let a = 1;","newText":"let a = 2;"}"#;

#[test]
fn a_reply_to_what_was_asked_is_no_request_of_its_own() {
    let asked = "Built. Copy the file, then:\n\n1. Confirm the tag in the window.\n2. Look at it at rest.\n3. Look at it in motion.";
    let goal = |answer: &str, reply: &str| {
        after(Section::Goal, &[user("Make the picture of the map sharp"), says(answer, "stop"), user(reply)])
    };
    for (answer, reply) in [
        (asked, "1. confirmed 2. sharp 3. pink to the left"),
        (
            "I need to see more. Please provide the content of `a.ts`.",
            "You can go ahead and use whatever context you need.",
        ),
    ] {
        let goal = goal(answer, reply);
        assert!(goal.iter().any(|item| item.starts_with("Latest request: Make the picture")), "{goal:?}");
        assert!(goal.iter().any(|item| item.starts_with("The user then wrote: ") && item.contains(reply)), "{goal:?}");
    }
    for reply in ["1. fix the header 2. make the button blue 3. add a menu", "1. confirmed 2. pink to the left"] {
        assert!(goal(asked, reply).iter().any(|item| item.starts_with("Latest request: 1.")), "{reply}");
    }
}

#[test]
fn an_answer_that_only_asks_for_details_is_no_outcome() {
    let done = |answer: &str| {
        let messages = [
            user("Can the tests of the shop use the other list?"),
            says(answer, "stop"),
            user("Make the page of the map blue"),
        ];
        after(Section::Done, &messages)
    };
    let asked =
        "The tests can use another list. However, I need more information. Please provide the name of the list.";
    assert_eq!(done(asked), [""; 0]);
    let said = done("The tests of the shop can use the other list, because both have the same names.");
    assert!(said.iter().any(|item| item.contains("both have the same names")), "{said:?}");
}

#[test]
fn the_output_of_a_command_of_the_model_is_no_request() {
    let help = "python -c \"import mp; help(mp.mmap)\"|cat\n\nHelp on function mmap in module mp:\n\nmmap(how: str)\n    \
                Raises:\n        ValueError: If the method is not supported.\n\n    Example:\n        print(results)";
    let messages = [
        user("Update the tests of the pool"),
        runs("1", "cd /home/dev/a && python -c \"import mp; help(mp.mmap)\""),
        returns("1", "", false),
        user(help),
    ];
    let goal = after(Section::Goal, &messages);
    assert!(goal.iter().any(|item| item.starts_with("Latest request: Update the tests")), "{goal:?}");
    assert_eq!(after(Section::Blocked, &messages), [""; 0]);
    let asks = user(&format!("{help}\n\nwhy does it have no pool?"));
    let goal = after(Section::Goal, &[&messages[..3], &[asks]].concat());
    assert!(!goal.iter().any(|item| item.starts_with("Latest request: Update the tests")), "{goal:?}");
}

#[test]
fn tests_that_failed_stay_open_until_tests_pass() {
    let output = "FAIL src/a.test.ts > saves a room\nError: Test timed out in 5000ms.\n Tests  1 failed | 5 passed (6)";
    let messages = [
        user("Write tests for the rooms"),
        runs("1", "npm test -- --run"),
        returns("1", output, true),
        user("Let's forget the tests for a while and start the program"),
        runs("2", "npm run dev"),
        returns("2", "listening", false),
        says("The server runs.", "stop"),
        user("Write a script that lists the rooms"),
        says("The script is written.", "stop"),
        user("Write a page about the scripts"),
        says("The page is written.", "stop"),
        user("Now a picture of the rooms"),
    ];
    let blocked = after(Section::Blocked, &messages);
    assert!(blocked[0].contains("saves a room") && blocked[0].ends_with("(set aside by the user)"), "{blocked:?}");
    let green = [runs("3", "npx vitest run"), returns("3", " Tests  6 passed (6)", false)];
    assert_eq!(after(Section::Blocked, &[&messages[..], &green].concat()), [""; 0]);
}

#[test]
fn a_change_that_the_person_refused_is_not_on_disk() {
    let write = r#"{"path":"src/a.test.ts","content":"one"}"#;
    let messages = [
        user("Write tests for the rooms"),
        calls("1", "write", write),
        returns("1", "[Operation Cancelled] Reason: User cancelled the operation.", true),
        user("Start the program"),
        runs("2", "npm run dev"),
        returns("2", "listening", false),
    ];
    let open = "Not on disk: the change of `src/a.test.ts` (refused by the user)";
    assert!(after(Section::InProgress, &messages).iter().any(|item| item == open));
    let written = [calls("3", "write", write), returns("3", "ok", false)];
    assert!(!after(Section::InProgress, &[&messages[..], &written].concat()).iter().any(|item| item == open));
}

#[test]
fn a_task_for_which_files_changed_is_begun() {
    let plan = |second: &str| {
        let items = format!(
            r#"{{"todos":[{{"content":"Parser","status":"completed"}},{{"content":"Printer","status":"{second}"}},{{"content":"Docs","status":"pending"}}]}}"#
        );
        [calls("1", "TodoWrite", &items), returns("1", "ok", false)]
    };
    let edit = [calls("2", "edit", EDIT), returns("2", "ok", false)];
    let next =
        after(Section::NextSteps, &[&[user("Finish the list of the tasks")], &plan("pending")[..], &edit].concat());
    assert!(next.iter().any(|item| item == "Printer (begun: changed `src/app.ts`)"), "{next:?}");
    assert!(next.iter().any(|item| item == "Docs"), "{next:?}");
}

#[test]
fn what_ran_later_refutes_that_it_is_not_possible() {
    let list = |at: &str, output: &str| [runs(at, "./scripts/list.sh"), returns(at, output, false)];
    let failed = list(
        "1",
        "Output: rooms\ncurl: (7) Failed to connect to localhost port 3000\nError: (none)\nExit Code: 0\nSignal: 0",
    );
    let start = [user("Can you write a script that lists the rooms and try it?")];
    let answer = [
        says("I can't connect to the server because it runs in your own environment and not in mine.", "stop"),
        user("Write a page about the scripts"),
        says("The page about the scripts is written.", "stop"),
    ];
    let edit = [calls("0", "edit", EDIT), returns("0", "ok", false)];
    let before = [&start[..], &edit, &failed, &answer].concat();
    assert!(after(Section::Done, &before).join("\n").contains("can't connect"));
    let later = [user("Try the script again, please"), says("I run it.", "toolUse")];
    let all = [&before[..], &later, &list("2", "[{\"room\":\"1\"}]")].concat();
    assert!(!after(Section::Done, &all).join("\n").contains("can't connect"));
}

#[test]
fn the_first_words_answer_a_question() {
    let asked = user("The menu has prices now. Do I have to print it again?");
    for (said, answer) in [
        (
            "Great question! **Yes, print it again** so that the prices are on paper. I explain why:",
            "Yes, print it again",
        ),
        ("Nein, die Preise stehen schon auf dem alten Blatt. Hier ist der Grund:", "Nein, die Preise"),
    ] {
        let told = says(said, "toolUse");
        let more = says("## Time\n\nThe printer needs five minutes for the menu of the shop.", "toolUse");
        let text = text_of(&history(&prepared(&[asked.clone(), told, more])));
        let progress = SummaryDocument::parse(&text).body[Section::InProgress].join("\n");
        assert!(progress.contains(&format!("the assistant answered: {answer}")), "{progress}");
    }
}

#[test]
fn files_that_were_written_and_deleted_again_are_no_changes() {
    let committed = "[main 3c1a2b4] menu\n 1 file changed, 4 insertions(+)";
    let messages = [
        user("Print the menu of the shop"),
        runs("1", "git commit -am menu"),
        returns("1", committed, false),
        calls("2", "write", r#"{"path":"/shop/src/by_hand.rs","content":"fn menu() {}"}"#),
        returns("2", "ok", false),
        calls("3", "write", r#"{"path":"/shop/src/menu.rs","content":"fn menu() {}"}"#),
        returns("3", "ok", false),
        calls("4", "edit", r#"{"path":"/shop/src/old.rs","oldText":"a","newText":"b"}"#),
        returns("4", "ok", false),
        runs("5", "rm src/by_hand.rs && rm /shop/src/old.rs"),
        returns("5", "", false),
    ];
    let ledger = Ledger::collect(&prepared(&messages), None, tools());
    let shown = ledger.without_deleted(ledger.file_lists()).modified_files;
    assert_eq!(shown, ["/shop/src/menu.rs", "/shop/src/old.rs"]);
    let text = text_of(&history(&prepared(&messages)));
    let progress = SummaryDocument::parse(&text).body[Section::InProgress].join("\n");
    let left = progress.lines().find(|line| line.starts_with("Changed since")).unwrap_or_default();
    assert!(left.contains("`/shop/src/old.rs` (deleted)") && left.contains("menu.rs"), "{progress}");
    assert!(!left.contains("by_hand"), "{progress}");
    let again = [
        &messages[..],
        &[calls("6", "write", r#"{"path":"/shop/src/by_hand.rs","content":"fn a() {}"}"#), returns("6", "ok", false)],
    ]
    .concat();
    let ledger = Ledger::collect(&prepared(&again), None, tools());
    assert_eq!(ledger.without_deleted(ledger.file_lists()).modified_files.len(), 3, "it exists again");
    let write = |id: &str, path: &str| calls(id, "write", &format!("{{\"path\":\"{path}\",\"content\":\"a\"}}"));
    for (command, left) in
        [("cd src/menu && rm index.ts", 2), ("git rm --cached src/menu/index.ts", 2), ("rm -r src/menu", 1)]
    {
        let messages = [
            user("Print the menu of the shop"),
            write("1", "/shop/src/menu/index.ts"),
            returns("1", "ok", false),
            write("2", "/shop/src/cart/index.ts"),
            returns("2", "ok", false),
            runs("3", command),
            returns("3", "", false),
        ];
        let ledger = Ledger::collect(&prepared(&messages), None, tools());
        assert_eq!(ledger.without_deleted(ledger.file_lists()).modified_files.len(), left, "{command}");
    }
}

#[test]
fn a_short_list_of_tasks_that_later_work_overtook_is_not_open() {
    let plan = plan("1", &[("raise the sensitivity", "in_progress"), ("measure the walk", "pending")]);
    let edit = |id: &str| [calls(id, "edit", EDIT), returns(id, "ok", false)];
    let begun = [&[user("The picture moves with the player")][..], &plan, &edit("2"), &[says("It is built.", "stop")]];
    let later = [
        &[user("The colours of the test are odd, too")][..],
        &edit("3"),
        &[says("The colours are milder now.", "stop")],
    ];
    let newest = [&[user("Both tests are fine, and the picture is red")][..], &edit("4")];
    let messages = [begun.concat(), later.concat(), newest.concat()].concat();
    for section in [Section::InProgress, Section::NextSteps] {
        let text = after(section, &messages).join("\n");
        assert!(!text.contains("sensitivity") && !text.contains("measure the walk"), "{text}");
    }
    let text = after(Section::NextSteps, &begun.concat()).join("\n");
    assert!(text.contains("measure the walk"), "{text}");
}

#[test]
fn a_commit_for_later_that_was_made_is_begun() {
    let asked = user("Change the menu and its manual. Once done, git commit and push");
    let work = [calls("1", "edit", EDIT), returns("1", "ok", false)];
    let commit =
        [calls("2", "bash", r#"{"command":"git commit -m menu"}"#), returns("2", "[main 1a2b3c4] menu", false)];
    let push = [calls("3", "bash", r#"{"command":"git push"}"#), returns("3", "fatal: no access", true)];
    let end = [says("The push needs a key. Do you have one?", "stop")];
    let is_left = |messages: &[Arc<Message>]| {
        after(Section::NextSteps, messages).iter().any(|item| item.contains("not begun as far as is seen"))
    };
    assert!(!is_left(&[&[asked.clone()][..], &work, &commit, &push, &end].concat()));
    assert!(is_left(&[&[asked][..], &work, &[says("The menu is changed.", "stop")]].concat()));
    let more = user("Change the menu and its manual. Once done, commit it and port the other pages");
    assert!(is_left(&[&[more][..], &work, &commit, &[says("The menu is changed.", "stop")]].concat()));
}

#[test]
fn a_tested_task_that_fails_for_the_person_has_no_tick() {
    let plan = plan("1", &[("Add the flag of the depth", "completed"), ("Build and test", "completed")]);
    let begun = [&[user("Add a flag of the depth")][..], &plan, &[says("It is built.", "stop")]].concat();
    for (next, is_ticked) in [("The picture doesn't work at all, it is black", false), ("Now draw a logo", true)] {
        let done = after(Section::Done, &[&begun[..], &[user(next)]].concat()).join("\n");
        assert!(done.contains("flag of the depth"), "{done}");
        assert_eq!(done.contains("Build and test"), is_ticked, "{next}: {done}");
    }
}

#[test]
fn what_was_announced_behind_a_colon_is_a_step() {
    let says_and_reads = |text: &str| {
        let message = format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{text}"}},{{"type":"toolCall","id":"1","name":"read","arguments":{{"path":"src/a.ts"}}}}],"stopReason":"toolUse"}}"#
        );
        vec![Arc::new(Message::from_json(&message).unwrap()), returns("1", "a", false)]
    };
    for text in [
        "The old build may be at fault, so before anything else: I add a tag of the build to the log.",
        "Прежде чем искать дальше: добавляю метку сборки в журнал.",
    ] {
        let messages = [vec![user("The picture doesn't load, and the page is black")], says_and_reads(text)].concat();
        let next = after(Section::NextSteps, &messages);
        assert!(next[0].contains("; announced last: "), "{next:?}");
    }
}

#[test]
fn a_call_that_ends_the_task_is_not_open() {
    let messages = [
        user("Add the page of the blog to the site"),
        calls("1", "write_to_file", r#"{"path":"src/blog.astro","content":"a"}"#),
        returns("1", "The content was successfully saved", false),
        calls("2", "attempt_completion", r#"{"result":"The page of the blog is part of the site now."}"#),
    ];
    let progress = after(Section::InProgress, &messages).join("\n");
    assert!(!progress.contains("attempt_completion") && !progress.contains("no result yet"), "{progress}");
    // Its text is the answer.
    let told = "Nothing is in progress. The last answer reports: The page of the blog is part of the site now.";
    assert!(progress.contains(told), "{progress}");
    let next = user("Now add the page of the prices, please");
    let done = after(Section::Done, &[&messages[..], &[next]].concat()).join("\n");
    assert!(done.contains("-> The page of the blog is part of the site now."), "{done}");
    let last = calls("2", "execute_command", r#"{"command":"make site"}"#);
    let progress = after(Section::InProgress, &[&messages[..3], &[last]].concat()).join("\n");
    assert!(progress.contains("no result yet"), "{progress}");
}
