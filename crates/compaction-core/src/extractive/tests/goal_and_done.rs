//! What Goal and Done say about answered requests and about undone work.

use super::*;

/// The items of a section of the history's summary.
fn section(messages: &[Arc<Message>], section: Section) -> Vec<String> {
    let document = SummaryDocument::parse(&text_of(&history(&prepared(messages))));
    document.body[section].iter().map(|item| item.to_string()).collect()
}

fn does(id: &str, command: &str, output: &str) -> [Arc<Message>; 2] {
    [runs(id, command), returns(id, output, false)]
}

fn edits(id: &str, path: &str) -> [Arc<Message>; 2] {
    let arguments = format!("{{\"path\":\"{path}\",\"oldText\":\"old line\",\"newText\":\"a new line of it {id}\"}}");
    [calls(id, "edit", &arguments), returns(id, "ok", false)]
}

#[test]
fn an_answered_request_is_one_line_of_done() {
    let mut messages = vec![user("Add a menu to the start page of the shop")];
    messages.extend(edits("1", "menu.html"));
    messages.push(says("Great!\n\nI added the menu with four entries to the page. It closes by itself.", "stop"));
    messages.push(user("Which browsers does the menu support today?"));
    messages.push(says("It supports every browser with the grid layout, and so all newer than 2017.", "stop"));
    messages.push(user("No, I meant the printed page of the menu"));
    messages.push(says("Printed pages keep the menu at their top in all of the browsers.", "stop"));
    messages.push(user("Now write the manual page of the menu"));
    let done = section(&messages, Section::Done);
    let answered = "Answered: Which browsers does the menu support today? -> Printed pages keep the menu at their top in \
                    all of the browsers.";
    assert!(done.iter().any(|item| item == answered), "the person refused the first answer: {done:?}");
    let finished = "Done: Add a menu to the start page of the shop -> I added the menu with four entries to the page. ";
    assert!(done.iter().any(|item| item.starts_with(finished)), "files changed for it: {done:?}");
}

#[test]
fn a_request_that_is_answered_is_not_the_goal() {
    let mut messages = vec![
        user("Explain how the import of the old shop works"),
        says("The import reads each table of the old shop once and writes it as one file.", "stop"),
        user("Add a button that starts the export of all orders"),
        says("First I look at the page", "aborted"),
        user("The button of the orders belongs below the table, please"),
    ];
    let goal = section(&messages, Section::Goal);
    let expected = [
        "At first: Explain how the import of the old shop works",
        "Add a button that starts the export of all orders",
        "Latest request: The button of the orders belongs below the table, please",
    ];
    assert_eq!(goal, expected, "the second one has no answer, so it is the aim of the third");
    messages.push(says("The button stands below the table and starts the export.", "stop"));
    assert!(section(&messages, Section::Goal)[2].ends_with(" (answered)"));
    messages.push(says("The button stands there. Shall I test it too?", "stop"));
    assert!(!section(&messages, Section::Goal)[2].ends_with(" (answered)"), "a question waits");
}

#[test]
fn work_that_was_taken_back_is_not_done() {
    let task = [user("Make the parser of the shop faster")];
    let work = [edits("1", "src/parser.rs"), edits("2", "src/printer.rs")].concat();
    let report = [says("The parser reads each file only once now and is faster.", "stop")];
    let next = [user("Now look at the printer of the shop")];
    let told = |back: &[Arc<Message>]| {
        let messages = [&task[..], &work, &report, &next, back].concat();
        [section(&messages, Section::Done), section(&messages, Section::CriticalContext)].concat().join("\n")
    };
    assert!(told(&[]).contains("Changed `parser.rs`") && told(&[]).contains("Done: Make the parser"));
    let one = told(&does("3", "git checkout -- src/parser.rs", ""));
    assert!(!one.contains("Changed `parser.rs`") && one.contains("Changed `printer.rs`"), "{one}");
    for command in ["git restore .", "git stash"] {
        let all = told(&does("3", command, ""));
        assert!(!all.contains("Changed") && !all.contains("Done: Make the parser"), "{command}: {all}");
    }
    let back = told(&[does("3", "git stash", ""), does("4", "git stash pop", "Dropped")].concat());
    assert!(back.contains("Changed `parser.rs`") && !back.starts_with("Set aside"), "{back}");
    let kept = [does("3", "git commit -am x", "[dev 1a2b3c4] faster"), does("4", "git restore .", "")].concat();
    let kept = told(&kept);
    assert!(kept.contains("Done: Make the parser") && !kept.contains("Changed"), "a commit kept it: {kept}");
    let moved = told(&does("3", "git mv src/parser.rs src/reader.rs", ""));
    assert!(moved.contains("Changed `reader.rs`") && !moved.contains("Changed `parser.rs`"), "{moved}");
}

#[test]
fn squashed_commits_and_those_of_deleted_branches_are_not_done() {
    let commit = |id: &str, hash: &str, branch: &str, subject: &str| {
        does(id, "git commit -am x", &format!("[{branch} {hash}] {subject}\n 1 file changed"))
    };
    let first = [
        vec![user("Build the importer in three steps")],
        commit("1", "1a2b3c4", "dev", "feat: a").to_vec(),
        commit("2", "2b3c4d5", "dev", "feat: b").to_vec(),
        commit("3", "3c4d5e6", "dev", "feat: c").to_vec(),
    ]
    .concat();
    let done = |later: &[Arc<Message>]| -> Vec<String> {
        let items = section(&[&first[..], later].concat(), Section::Done);
        items.into_iter().filter(|item| !item.starts_with("Ran ")).collect()
    };
    let squash = does("4", "git reset --soft HEAD~2 && git commit -m all", "[dev 4d5e6f7] feat: b and c");
    assert_eq!(done(&squash), ["Committed 1a2b3c4 on dev: feat: a", "Committed 4d5e6f7 on dev: feat: b and c"]);
    let reset = done(&does("4", "git reset HEAD~1", ""));
    assert!(reset.len() == 3 && reset[2] == "Moved the branch back to HEAD~1 and kept the changes", "{reset:?}");
    let delete = does("5", "git branch -D dev", "Deleted branch dev (was 3c4d5e6).");
    assert!(done(&delete).is_empty());
    let merge = does("4", "git merge dev", "Updating 1a2b3c4..3c4d5e6\nFast-forward");
    assert_eq!(done(&[merge.to_vec(), delete.to_vec()].concat()), ["Merged dev"]);
    let push = does("4", "git push -u origin dev", " * [new branch]      dev -> dev");
    assert_eq!(done(&[push.to_vec(), delete.to_vec()].concat()).len(), 4, "they are on the server");
    let gone = does("6", "git push origin --delete dev", "To host:a/b\n - [deleted]         dev");
    assert_eq!(done(&[push, gone].concat()).len(), 3, "the push is gone");
}

#[test]
fn a_long_request_of_a_turn_keeps_what_it_asks() {
    let filler = "The page was made long before the others and nobody has looked at it since then. ".repeat(12);
    let request = format!("The list of the orders is too long. {filler}Can you split it into pages of fifty orders?");
    let goal = state_before(&[], Some(&request));
    let line = goal.lines().find(|line| line.contains("Latest request")).unwrap_or_default();
    assert!(line.contains("The list of the orders is too long.") && line.ends_with("pages of fifty orders?"), "{line}");
    assert!(line.contains("\u{2026} Can you split it"), "only whole sentences are kept: {line}");
}

#[test]
fn a_turn_that_repeats_the_answer_stands_for_the_request() {
    let answer = "Here is how the blog can be found again by the build of the page.\n\n1. The settings name the folder \
                  of the blog.\n2. The page of the blog reads all of its texts.\n3. Each text has a title, an author and a date.\n";
    let messages = [user("The build does not find the blog, please look at its settings"), says(answer, "stop")];
    let goal = state_before(&messages, Some(answer));
    assert!(goal.contains("Latest request: The build does not find the blog"), "{goal}");
}

#[test]
fn a_request_that_the_model_shall_go_on_with_stays_the_aim() {
    let mut messages = vec![
        user("Work through the tasks of the import, one after the other"),
        says("The first task of the import is done, and its tests pass. Two are left.", "stop"),
        user("continue until all tasks of it are done"),
    ];
    let goal = section(&messages, Section::Goal);
    assert_eq!(goal[0], "Work through the tasks of the import, one after the other");
    assert!(!section(&messages, Section::Done).iter().any(|item| item.contains("Work through")));
    messages[2] = user("now write down what is left of the tasks");
    assert!(section(&messages, Section::Goal)[0].starts_with("At first: "));
}

#[test]
fn a_reported_problem_is_not_done_because_it_was_answered() {
    let mut messages = vec![user("The export works, but the button does not work on the start page")];
    messages.extend(edits("1", "button.html"));
    messages.push(says("I added lines to the log, which show whether the button is pressed. Try it again.", "stop"));
    messages.push(user("/add docs/export.md"));
    messages.push(says("I see the page of the export and its three sections now.", "stop"));
    messages.push(user("Describe the formats there"));
    let done = section(&messages, Section::Done);
    assert!(!done.iter().any(|item| item.contains("The export works, but")), "{done:?}");
    assert!(!done.iter().any(|item| item.contains("/add")), "a command of the harness asks nothing: {done:?}");
}

#[test]
fn a_person_takes_back_commits_one_by_one() {
    let commit = |id: &str, hash: &str| does(id, "git commit -am x", &format!("[dev {hash}] change {id}"));
    let done = |undone: usize| {
        let mut messages = vec![user("Draw the chart of the releases with lines")];
        messages.extend(commit("1", "1a2b3c4"));
        messages.extend(commit("2", "2b3c4d5"));
        messages.push(says("The chart has lines now, one for each release.", "stop"));
        messages.extend((0..undone).map(|_| user("/undo")));
        messages.push(user("Show the percentage of each release in the chart"));
        section(&messages, Section::Done).into_iter().filter(|item| item.starts_with("Committed")).collect::<Vec<_>>()
    };
    assert_eq!(done(0), ["Committed 1a2b3c4 on dev: change 1", "Committed 2b3c4d5 on dev: change 2"]);
    assert_eq!(done(1), ["Committed 1a2b3c4 on dev: change 1"]);
    assert_eq!(done(2), [""; 0]);
}

/// A turn of aider: a request, an answer, and the commit that it made.
fn aider_turn(request: &str, answer: &str, commit: &str) -> [Arc<Message>; 4] {
    let report = format!("Applied edit to a.js\nCommit {commit}");
    let call = calls(commit, "edit", r#"{"path":"a.js"}"#);
    [user(request), says(answer, "stop"), call, returns(commit, &report, false)]
}

#[test]
fn a_decision_goes_with_the_commit_that_was_taken_back() {
    let decided = "I picked `canvas` because it is small.";
    let turn = aider_turn("Draw a chart of the lines by release", decided, "1a2b3c4 feat: a chart");
    let decisions = |messages: &[Arc<Message>]| {
        SummaryDocument::parse(&text_of(&history(&prepared(messages)))).body[Section::Decisions].clone()
    };
    assert_eq!(decisions(&turn), ["**I picked `canvas`**: it is small."]);
    assert_eq!(decisions(&[&turn[..], &[user("/undo")]].concat()), [""; 0]);
    let reset = [runs("9", "git reset --hard HEAD~1"), returns("9", "HEAD is now at 9f8e7d6 docs: the manual", false)];
    assert_eq!(decisions(&[&turn[..], &[user("throw the chart away")], &reset].concat()), [""; 0]);
    let later = aider_turn("Draw the axes of the chart", "They have labels.", "5d6e7f8 feat: axes");
    let found = decisions(&[&turn[..], &later, &[user("/undo")]].concat());
    assert_eq!(found, ["**I picked `canvas`**: it is small."], "another commit was taken back");
}

#[test]
fn a_decision_is_told_once() {
    let asks = says("The table is slow. Shall I use an index for the table?", "stop");
    let messages = [
        user("Make the page of the list faster"),
        asks.clone(),
        user("yes"),
        says("The index did not help, so I took it out again.", "stop"),
        user("Look at the page again"),
        asks,
        user("ok then, let us try"),
    ];
    let found = SummaryDocument::parse(&text_of(&history(&prepared(&messages)))).body[Section::Decisions].clone();
    assert_eq!(
        found,
        ["The user answered \"ok then, let us try\" to: The table is slow. Shall I use an index for the table?"]
    );
}

#[test]
fn many_commits_are_few_lines() {
    let name = |number: usize| format!("{number:07x} feat: part {number} of the printer");
    let turns = (1..=20).flat_map(|number| aider_turn("Add the next part of it", "It is there.", &name(number)));
    let messages: Vec<_> = turns.collect();
    let done = |messages: &[Arc<Message>]| {
        let text = text_of(&ExtractiveInput { style: style(8000), ..history(&prepared(messages)) });
        SummaryDocument::parse(&text).body[Section::Done].clone()
    };
    let found = done(&messages);
    assert_eq!(found.iter().filter(|item| item.starts_with("Committed ")).count(), 12, "{found:?}");
    let earlier = "8 earlier commits, the last of them: Committed 0000008: feat: part 8 of the printer";
    assert!(found.iter().any(|item| item == earlier), "{found:?}");
    let undo = [&messages[..], &[user("/undo"), user("/undo"), user("/undo"), user("/undo")]].concat();
    let found = done(&undo);
    let expected = "Took back 4 commits: feat: part 17 of the printer; feat: part 18 of the printer; feat: part 19 of the printer; \u{2026}";
    let taken_back = |found: &[String]| -> Vec<String> {
        found.iter().filter(|item| item.starts_with("Took back")).cloned().collect()
    };
    assert_eq!(taken_back(&found), [expected], "{found:?}");
    // The result of the command says the same.
    let told = (17..=20).rev().flat_map(|number| {
        let id = format!("u{number}");
        let report = format!("Removed: {}\nNow at:  9f8e7d6 docs: the manual", name(number));
        [user("/undo"), runs(&id, "git reset --hard HEAD~1"), returns(&id, &report, false)]
    });
    let found = done(&[&messages[..], &told.collect::<Vec<_>>()].concat());
    assert_eq!(taken_back(&found), [expected], "{found:?}");
    // A reset that failed undid nothing.
    let refused = "The last commit was not made by aider in this chat session.";
    let failed = [user("/undo"), runs("u", "git reset --hard HEAD~1"), returns("u", refused, true)];
    let found = done(&[&messages[..], &failed].concat());
    assert_eq!(taken_back(&found), [""; 0], "{found:?}");
    // Uncommitted changes are undone first.
    let edit = calls("e", "edit", r#"{"path":"src/menu.rs","oldText":"a","newText":"b"}"#);
    let open = [user("Add a menu"), edit, returns("e", "ok", false), says("It is there.", "stop"), user("/undo")];
    let found = done(&[&messages[..], &open].concat());
    assert_eq!(taken_back(&found), ["Took back the changes of all files that were not committed"], "{found:?}");
}

#[test]
fn work_that_a_person_took_back_is_not_done() {
    let edit = || calls("e", "edit", r#"{"path":"src/menu.rs","oldText":"a","newText":"b"}"#);
    let done = |words: &str| -> Vec<String> {
        let work =
            [user("Add a menu for guests"), edit(), returns("e", "ok", false), says("The menu is in place.", "stop")];
        let next = [user(words), says("I will look at it.", "stop")];
        let text = text_of(&history(&prepared(&[&work[..], &next].concat())));
        SummaryDocument::parse(&text).body[Section::Done].iter().map(ToString::to_string).collect()
    };
    let taken_back = "Took back the changes of all files that were not committed";
    for words in [
        "Uploads failed after that, so I reverted everything. Please explain how the menu finds its guests.",
        "Das hat zu viel verändert, ich habe alles zurückgesetzt. Erkläre bitte, wie das Menü die Gäste findet.",
        "J'ai tout annulé. Explique comment le menu trouve les invités.",
        "Revertí los cambios. Explica cómo encuentra el menú a los invitados.",
        "Я откатил изменения. Объясни, как меню находит гостей.",
        "我已经回滚了。请解释菜单如何找到客人。",
        "影響が大きいので、一旦元に戻しました。メニューの仕組みを説明してください。",
        "전부 롤백했습니다. 메뉴가 손님을 찾는 방법을 설명해 주세요.",
    ] {
        let found = done(words);
        assert!(found.iter().any(|item| item == taken_back), "{words}: {found:?}");
        assert!(!found.iter().any(|item| item.contains("Add a menu")), "{words}: {found:?}");
    }
    for words in [
        "I reverted the colours of the page last week. Now explain how the menu finds its guests.",
        "I reverted it. Now explain how the menu finds its guests.",
        "元に戻したいです。メニューの仕組みを説明してください。",
        "Du hast die Änderungen rückgängig gemacht. Erkläre bitte, wie das Menü die Gäste findet.",
        "If I reverted everything, would the menu still work?",
        "Should I have reverted it? Explain how the menu finds its guests.",
    ] {
        let found = done(words);
        assert!(!found.iter().any(|item| item == taken_back), "{words}: {found:?}");
    }
}

#[test]
fn commits_that_a_reset_discarded_are_not_told_as_work() {
    let message = "git commit -m \"feat: b\n\nThe second step reads the rows of a table before it prints them. Pages \
                   with more than forty rows are split, because the old printer refuses larger ones.\"";
    let commit = |id: &str, hash: &str, subject: &str, command: &str| {
        [runs(id, command), returns(id, &format!("[dev {hash}] {subject}\n 1 file changed"), false)]
    };
    let first = commit("1", "1a2b3c4", "feat: a", "git commit -m \"feat: a\"");
    let second = commit("2", "2b3c4d5", "feat: b", message);
    let reset = [runs("r", "git reset --hard 1a2b3c4"), returns("r", "HEAD is now at 1a2b3c4 feat: a", false)];
    let work = |parts: &[&[Arc<Message>]]| -> Vec<String> {
        let begin = [user("Build the importer in three steps")];
        let text = text_of(&history(&prepared(&[&begin[..], &first, &second, &parts.concat()].concat())));
        text.lines().filter(|line| line.starts_with("- Work: ")).map(ToOwned::to_owned).collect()
    };
    let kept = work(&[]);
    assert!(kept.iter().any(|line| line.contains("more than forty rows")), "{kept:?}");
    let discarded = work(&[&reset]);
    assert!(
        !discarded.iter().any(|line| line.contains("more than forty rows") || line.contains("2b3c4d5")),
        "{discarded:?}"
    );
}

#[test]
fn the_outcome_of_a_request_is_told_by_the_last_words() {
    let next = user("Now draw the legend below the bars");
    let done = |messages: &[Arc<Message>]| {
        let all = [messages, std::slice::from_ref(&next)].concat();
        SummaryDocument::parse(&text_of(&history(&prepared(&all)))).body[Section::Done].clone()
    };
    // A transcript may end a message before a call that belongs to it.
    let working = [
        user("Check that all pages of the shop load"),
        says("The first half of the pages loads without an error.", "stop"),
        says("The page of the orders is slow and needs another look.", "toolUse"),
        runs("1", "curl shop/orders"),
        returns("1", "200", false),
    ];
    assert_eq!(done(&working), [""; 0]);
    // One without calls has all the work as messages of one answer.
    let told = [
        user("Check that all pages of the shop load"),
        says("The first half of the pages loads without an error.", "stop"),
        says("The page of the orders is slow and needs another look.", "stop"),
        says("The index of the orders was missing.", "stop"),
        says("Every page of the shop loads within a second now.", "stop"),
    ];
    let said = "Answered: Check that all pages of the shop load -> Every page of the shop loads within a second now.";
    assert_eq!(done(&told), [said]);
}

#[test]
fn what_a_person_reports_as_broken_is_no_longer_done() {
    let first = aider_turn(
        "Add a tooltip to the chart",
        "The tooltip is fixed in size. It names the release.",
        "1a2b3c4 feat: a tooltip",
    );
    let done = |messages: &[Arc<Message>]| {
        let found = SummaryDocument::parse(&text_of(&history(&prepared(messages)))).body[Section::Done].clone();
        found.into_iter().filter(|item| item.starts_with("Done: ")).collect::<Vec<_>>()
    };
    let next = user("Now draw the legend below the bars");
    assert_eq!(done(&[&first[..], std::slice::from_ref(&next)].concat()).len(), 1);
    for complaint in
        ["the tooltip is broken, it shows nothing", "your tooltip doesn't work on the last bar, please look"]
    {
        let said = format!("Done: {complaint} -> The tooltip reads the right column now. (changed `a.js`)");
        let complaint = [&first[..], &[user(complaint)]].concat();
        assert_eq!(done(&complaint), [""; 0]);
        let worked_on = aider_turn("go", "The tooltip reads the right column now.", "5d6e7f8 fix: the tooltip");
        let accepted = [&complaint[..], &worked_on[1..], std::slice::from_ref(&next)].concat();
        assert_eq!(done(&accepted), [said], "it answers the complaint");
    }
    let other = [&first[..], &[user("the export of the list is broken since yesterday")]].concat();
    assert_eq!(done(&other).len(), 1, "it is about something else");
}

#[test]
fn what_is_read_for_a_request_does_not_replace_it() {
    let messages = [
        user("I believe we are ready to release a new version of the shop, aren't we? know how to do it?"),
        says("I look for the steps of a release.", "toolUse"),
        user("read README.md that details everything"),
        says("It takes three steps.", "stop"),
        user("minor"),
        calls("1", "edit", r#"{"path":"package.json","oldText":"0.7.0","newText":"0.8.0"}"#),
        returns("1", "ok", false),
    ];
    let text = text_of(&history(&prepared(&messages)));
    let goal = SummaryDocument::parse(&text).body[Section::Goal].join("\n");
    assert!(goal.contains("Latest request: I believe we are ready to release"), "{goal}");
    let mut carried_out = messages.clone();
    carried_out[2] = user("read PLAN.md and carry it out");
    let text = text_of(&history(&prepared(&carried_out)));
    let goal = SummaryDocument::parse(&text).body[Section::Goal].join("\n");
    assert!(goal.contains("Latest request: read PLAN.md and carry it out"), "{goal}");
}

#[test]
fn a_request_that_only_refers_to_something_has_the_words_of_the_model_about_it() {
    let error = "The build fails because the port `8080` is in use. I look for the program that uses it.";
    let goal = |first: &[Arc<Message>]| {
        let shown = [user("@logs/build.log:12-40"), says(error, "stop")];
        section(&[first, &shown[..]].concat(), Section::Goal).join("\n")
    };
    let answered = [user("How do I start the server of the shop?"), says("Run `make serve` in its directory.", "stop")];
    let told = goal(&answered);
    assert!(told.contains("@logs/build.log:12-40 (the assistant: The build fails because the port"), "{told}");
    let open = [user("Start the server of the shop, please"), calls("1", "bash", r#"{"command":"make serve"}"#)];
    assert!(goal(&open).contains("Latest request: Start the server of the shop"), "{}", goal(&open));
}
