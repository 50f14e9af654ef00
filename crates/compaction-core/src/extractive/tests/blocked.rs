//! What blocks the work and what no longer does; and what a person pasted beside their words.

use super::*;

/// The items of a section of the history's summary, in lines.
fn section(messages: &[Arc<Message>], section: Section) -> String {
    SummaryDocument::parse(&text_of(&history(&prepared(messages)))).body[section].join("\n")
}

fn blocked(messages: &[Arc<Message>]) -> String {
    section(messages, Section::Blocked)
}

#[test]
fn another_way_right_after_a_failure_replaces_it() {
    let failed = [
        user("Count the orders in the export, please"),
        runs("1", "xsv count data/orders.json"),
        returns("1", "bash: xsv: command not found", true),
    ];
    assert!(blocked(&failed).contains("xsv: command not found"));
    for other in [
        "xsv is not installed here, so I'm using a short script of Python.",
        "I'll count them with Python instead.",
        "xsv ist nicht installiert. Ich nehme Python.",
        "Je vais plutôt compter avec Python.",
        "改用 Python 来统计。",
    ] {
        assert_eq!(blocked(&[&failed[..], &[says(other, "toolUse")]].concat()), "", "{other}");
    }
    for looked in [
        "Let me see which orders there are.",
        "Let me use head to look at the file that broke it.",
        "The script can't read the file using UTF-8.",
        "El menú, en cambio, sale bien.",
        "Il menu invece va bene.",
    ] {
        assert!(!blocked(&[&failed[..], &[says(looked, "toolUse")]].concat()).is_empty(), "{looked}");
    }
    // A later step names the missing program and its replacement.
    let shown = [runs("2", "sqlite3 shop.db .tables"), returns("2", "bash: sqlite3: command not found", true)];
    let named = says("xsv and sqlite3 are not installed, so I'm using Python for both.", "toolUse");
    assert_eq!(blocked(&[&failed[..], &shown, &[named]].concat()), "");
    // The same file by another program.
    let read = [runs("2", "python3 count.py data/orders.json"), returns("2", "41 orders", false)];
    assert_eq!(blocked(&[&failed[..], &read].concat()), "");
    let other = [runs("2", "python3 count.py data/menu.json"), returns("2", "41 dishes", false)];
    assert!(!blocked(&[&failed[..], &other].concat()).is_empty());
    // A goal of the work is not reached in another way.
    let tests = [runs("1", "npm test"), returns("1", "Error: no table", true)];
    let repaired = says("I'll create the table in the fixture instead.", "toolUse");
    assert!(!blocked(&[&failed[..1], &tests, &[repaired]].concat()).is_empty());
}

#[test]
fn a_page_that_was_fetched_otherwise_is_there() {
    let opened = [
        user("Look whether the shop starts"),
        calls("1", "browser_navigate", r#"{"url":"http://localhost:8080"}"#),
        returns("1", "Error: browserType.launch: Executable doesn't exist at /x/firefox", true),
    ];
    assert!(blocked(&opened).contains("Executable doesn't exist"));
    let fetched = [runs("2", "curl -s http://localhost:8080/ | head -5"), returns("2", "<!DOCTYPE html>", false)];
    assert_eq!(blocked(&[&opened[..], &fetched].concat()), "");
}

#[test]
fn a_check_of_which_the_model_says_that_it_passes_fails_no_longer() {
    let failed = |command: &str| {
        [user("Add a menu to the shop"), runs("1", command), returns("1", "Failed (exit 101)\nbuild stopped", true)]
    };
    let goes_on = [calls("2", "send", r#"{"to":"helper"}"#), returns("2", "sent", false)];
    let after =
        |command: &str, words: &str| blocked(&[&failed(command)[..], &goes_on, &[says(words, "toolUse")]].concat());
    for words in [
        "The tests pass now, next comes the manual.",
        "Die Tests sind jetzt alle grün.",
        "Les tests passent.",
        "Las pruebas pasan ahora.",
        "Os testes passaram.",
        "I test sono passati.",
        "Тесты прошли, дальше меню.",
        "De tests zijn geslaagd.",
        "測試與 lint 已通過，接著檢查畫面。",
        "テストは通りました。",
        "테스트를 통과했습니다.",
    ] {
        assert_eq!(after("cargo test", words), "", "{words}");
    }
    for words in [
        "The tests should pass after the next change.",
        "The existing tests pass, now I look at the new one.",
        "The build passes.",
        "The tests pass, but the new one still fails.",
        "Die Tests laufen noch.",
        "其他测试通过。",
        "Now I'll verify that the tests pass.",
        "I change the route so the tests pass.",
        "Ich sehe nach, ob die Tests grün sind.",
        "Je vérifie que les tests passent.",
        "Cambio la ruta para que las pruebas pasan.",
        "Проверяю, что тесты проходят.",
        "确认测试通过。",
        "12 of 14 tests pass.",
        "The test passes a string as the price.",
        "The test makes the button green.",
        "通过测试脚本查看菜单",
    ] {
        assert!(!after("cargo test", words).is_empty(), "{words}");
    }
    for words in ["All 14 tests are green again.", "Tests and lint passed.", "测试全部通过了。"] {
        assert_eq!(after("cargo test", words), "", "{words}");
    }
    assert_eq!(after("npm run build", "The build succeeded."), "");
    for words in ["The code makes the button green.", "Vite builds the pages in two steps.", "The lint passes."] {
        assert!(!after("npm run build", words).is_empty(), "{words}");
    }
    assert_eq!(after("npm run lint", "Lint passes now."), "");
    assert!(!after("npm run lint", "The build succeeded.").is_empty());
    assert!(!after("npm run build", "The tests pass.").is_empty());
}

#[test]
fn a_program_without_access_blocks_the_work() {
    let asks = user("Push the shop to the server");
    let status = runs("1", "gh auth status");
    let denied = returns("1", "You are not logged into any hosts.\n    + CategoryInfo : NotSpecified", false);
    let told = blocked(&[asks.clone(), status.clone(), denied.clone()]);
    assert_eq!(told, "`gh auth status` failed: You are not logged into any hosts.");
    let granted = [runs("2", "gh auth status"), returns("2", "Logged in to the host as ada", false)];
    assert_eq!(blocked(&[&[asks.clone(), status.clone(), denied][..], &granted].concat()), "");
    let log = "one\ntwo\nthree\nfour: not logged in";
    let deployed = |log| blocked(&[asks.clone(), runs("1", "./deploy.sh web"), returns("1", log, false)]);
    assert!(deployed("three\nfour: not logged in").contains("not logged in"));
    assert_eq!(deployed(log), "");
    let denied = returns("1", "HTTP/1.1 401\nauthentication required", false);
    assert_eq!(blocked(&[asks, runs("1", "curl -s localhost/orders"), denied]), "");
}

#[test]
fn a_command_that_was_only_approved_has_no_known_result() {
    let messages = [
        user("Build the shop with the new menu"),
        runs("1", "npm run build"),
        returns("1", "Error: no such page", true),
        runs("2", "npm run build"),
        returns("2", "User accepted the command", false),
    ];
    let text = text_of(&history(&prepared(&messages)));
    assert!(!text.contains("accepted"), "{text}");
    assert!(text.contains("`npm run build`: result not known"), "{text}");
    assert!(!text.contains("[x]"), "{text}");
    assert!(blocked(&messages).contains("no such page"), "nobody knows whether the build passes now");
}

#[test]
fn the_words_of_a_refusal_are_the_persons() {
    let edit = calls("1", "edit", r#"{"path":"src/chat.ts","oldText":"a","newText":"b"}"#);
    let words =
        "ここでは制限しないでください。\nまたエラーは表示しないで、「ありがとうございました。」と終了してください";
    let refused = [
        user("チャットを直してください"),
        edit.clone(),
        returns("1", &format!("Tool use rejected with user message:\n{words}"), true),
    ];
    let told = blocked(&refused);
    assert!(told.contains("the user refused it and said: ここでは制限しないでください。"), "{told}");
    let later = [says("別の方法で直します。", "toolUse"), calls("2", "read", r#"{"path":"src/a.ts"}"#)];
    let all = [&refused[..], &later].concat();
    assert_eq!(blocked(&all), "");
    let text = text_of(&history(&prepared(&all)));
    assert!(
        text.contains("`change of src/chat.ts` and said: ここでは制限しないでください。") && !text.contains("failed"),
        "{text}"
    );
}

#[test]
fn a_permission_for_one_edit_decides_nothing() {
    let asks =
        calls("1", "ask_user", r#"{"question":"Allow edits to style.css which was not previously added to chat?"}"#);
    let messages = [
        user("Make the menu of the shop dark"),
        asks,
        returns("1", "Allow edits to style.css which was not previously added to chat? no", false),
        calls("2", "edit", r#"{"path":"style.css","oldText":"a","newText":"b"}"#),
        returns("2", "Skipping edits to style.css", false),
        user("Make the menu dark, and add its file first"),
    ];
    assert_eq!(section(&messages, Section::Decisions), "");
    let open = section(&messages, Section::InProgress);
    assert!(open.contains("Not on disk: the change of `style.css` (refused by the user)"), "{open}");
    let reported = |words: &str| {
        section(&[&messages[..5], &[says(words, "stop"), messages[5].clone()]].concat(), Section::InProgress)
    };
    let open = reported("I could not change `style.css`, since you refused it.");
    assert!(open.contains("the change of `style.css`"), "{open}");
    let settled = reported("The rules of `style.css` are in the page itself now.");
    assert!(!settled.contains("the change of `style.css`"), "{settled}");
}

#[test]
fn a_short_summary_tells_the_reason_of_a_failure() {
    let command = "for page in data/pages/menu.json data/pages/order.json data/pages/cart.json; do convert $page; done";
    let messages = [
        user("Convert all of the pages of the shop to the new form, and say what is missing in them"),
        runs("1", command),
        returns("1", "bash: convert: command not found", true),
    ];
    let prepared = prepared(&messages);
    let text = text_of(&ExtractiveInput { style: style(500), ..history(&prepared) });
    assert!(text.contains("failed: bash: convert: command not found"), "{text}");
}

#[test]
fn in_a_talk_without_calls_an_accepted_answer_deals_with_a_report() {
    let report = user("The page of the menu doesn't load: module not found");
    let answer = says("The file has another name. Import it as `menu` and the page loads.", "stop");
    let other = user("And how do I show the prices of the dishes in two columns?");
    assert!(!blocked(&[report.clone(), answer.clone()]).is_empty());
    assert_eq!(blocked(&[report, answer, other]), "");
}

const POWERSHELL: &str = "Windows PowerShell\nCopyright (C) Microsoft Corporation.\n\nPS C:\\shop> Start-Service web\n\
                          Start-Service : Não é possível localizar o serviço 'web'.\nNo linha:1 caractere:3\n\
                          + Start-Service web\n+ ~~~~~\n    + CategoryInfo          : ObjectNotFound: (web:String) \
                          [Start-Service], ServiceCommandException\n\nPS C:\\shop>\n";

#[test]
fn the_words_behind_a_terminal_are_the_request() {
    let message = "Start-Service : Não é possível localizar o serviço 'web'.";
    let before = [user("Instale o serviço da loja no servidor"), says("Cole este bloco no terminal.", "stop")];
    let next = |pasted: &str| section(&[&before[..], &[user(pasted)]].concat(), Section::NextSteps);
    let with_words = next(&format!("{POWERSHELL}\n\nresolve tudo em uma etapa"));
    assert_eq!(with_words, format!("Go on with: resolve tudo em uma etapa (pasted output) {message}"));
    assert_eq!(next(POWERSHELL), format!("Go on with: (pasted output) {message}"));
    let blocked = blocked(&[&before[..], &[user(POWERSHELL)]].concat());
    assert_eq!(blocked, format!("The user reports: {message}"));
}

#[test]
fn a_log_is_no_request() {
    let log = "INFO:     Will watch for changes in these directories: ['/shop']\nINFO:     Started";
    let messages = [
        user("The server of the shop doesn't start on my machine"),
        says("Which port does it use? Please show the log.", "stop"),
        user(log),
    ];
    let next = section(&messages, Section::NextSteps);
    assert!(next.contains("The server of the shop doesn't start on my machine (the user then pasted a log)"), "{next}");
    assert!(!next.contains("Will watch"), "{next}");
    let other = [user("Add a menu with all dishes to the page"), says("The menu is on the page.", "stop"), user(log)];
    let answered = [&[messages[0].clone(), says("The port was taken. It starts now.", "stop")][..], &other].concat();
    let next = section(&answered, Section::NextSteps);
    assert!(!next.contains("doesn't start on my machine"), "{next}");
    let alone = section(&[user("hi"), says("Hello!", "stop"), user(log)], Section::NextSteps);
    assert!(!alone.contains("Will watch"), "{alone}");
}

#[test]
fn a_command_that_begins_anew_answers_no_question() {
    let messages = [
        user("Add a footer to the page of the shop"),
        calls("1", "write", r#"{"path":"footer.html","content":"x"}"#),
        returns("1", "done", false),
        says("The footer is there. Shall I go on with the header?", "stop"),
        user("/clear"),
        user("/drop"),
    ];
    let text = text_of(&history(&prepared(&messages)));
    assert!(!text.contains("/clear") && !text.contains("/drop") && !text.contains("Go on with"), "{text}");
}

#[test]
fn a_copy_of_a_screen_is_no_words_of_the_person() {
    let copied = "❯ Move the orders into one folder for each town, and tell me what you plan\n\
                  ⏺ I look at the folder first.\n\n⏺ Bash(ls orders)\n  ⎿  berlin.pdf\n\n\
                  ⏺ Plan: never delete the old folder, and always keep a copy of each order that was moved there. The \
                  folder has the orders of all towns of the last two years, and none of them was read yet by anybody.\n\
                  ✻ Sautéed for 9s";
    let messages = [user(copied), says("Which towns are they?", "stop")];
    let text = text_of(&history(&prepared(&messages)));
    assert!(!text.contains('❯') && !text.contains("User: Plan"), "{text}");
    assert_eq!(section(&messages, Section::Constraints), "");
}

#[test]
fn a_commit_of_something_else_does_not_settle_a_report() {
    let passes = "test result: ok. 12 passed; 0 failed; 0 ignored";
    let committed = |subject: &str| format!("[main 3c1a2b4] {subject}\n 1 file changed, 4 insertions(+)");
    let blocked = |path: &str, subject: &str| {
        let edit = format!("{{\"path\":\"{path}\",\"oldText\":\"a\",\"newText\":\"b\"}}");
        let messages = [
            user("The login page crashes on every phone"),
            calls("1", "edit", &edit),
            returns("1", "ok", false),
            runs("2", "cargo test"),
            returns("2", passes, false),
            runs("3", "git commit -am change"),
            returns("3", &committed(subject), false),
        ];
        let text = text_of(&history(&prepared(&messages)));
        SummaryDocument::parse(&text).body[Section::Blocked].join("\n")
    };
    assert!(blocked("src/parser.rs", "parser: nested blocks").contains("login page crashes"));
    assert!(!blocked("src/login.rs", "login: phones have no mouse").contains("login page crashes"));
}

#[test]
fn a_problem_that_is_reported_again_is_one_item() {
    let edit = |id: &str| calls(id, "edit", "{\"path\":\"src/menu.rs\",\"oldText\":\"a\",\"newText\":\"b\"}");
    for (first, second, third) in [
        ("The drinks page does not work on my phone", "the drinks page is still blank", "still the same"),
        ("La página de bebidas no funciona", "la página de bebidas sigue sin funcionar", "sigue pasando lo mismo"),
        ("Die Getränkeseite geht nicht auf", "die Getränkeseite geht immer noch nicht", "immer noch das gleiche"),
    ] {
        let messages = [
            user(first),
            edit("1"),
            returns("1", "ok", false),
            says("The drinks page works now.", "stop"),
            user(second),
            edit("2"),
            returns("2", "ok", false),
            says("The drinks page is fixed.", "stop"),
            user(third),
        ];
        let told = blocked(&messages);
        assert!(told.contains("reported 3 times") && told.contains(first) && told.contains("src/menu.rs"), "{told}");
        assert!(!told.contains('\n'), "{told}");
    }
    // Another problem is another item.
    let messages = [
        user("The drinks page does not work on my phone"),
        edit("1"),
        returns("1", "ok", false),
        says("The drinks page works now.", "stop"),
        user("the export of orders is still broken"),
    ];
    assert!(!blocked(&messages).contains("times"));
}

#[test]
fn a_failure_in_the_log_of_a_server_blocks() {
    let log = "there is an error 2025-10-01 13:12:25 WARNING 13:12:25,374 shop.csrf log Forbidden (token missing): /orders/7\n\
               2025-10-01 13:12:25 \"POST /orders/7 HTTP/1.1\" 403 2519";
    let messages = [user("Let the button delete orders"), says("The button deletes orders now.", "stop"), user(log)];
    let text = blocked(&messages);
    assert!(text.contains("Forbidden (token missing): /orders/7"), "{text}");
    let document = SummaryDocument::parse(&text_of(&history(&prepared(&messages))));
    assert!(!document.body[Section::Done].join("\n").contains("deletes orders now"));
}

#[test]
fn a_claim_that_the_next_message_refutes_never_stands_alone() {
    let messages = [
        user("Does `make menu --drinks` print the drinks?"),
        says("Yes, `make menu --drinks` works and prints the drinks of the menu.", "stop"),
        user("make menu --drinks\nerror: unknown option --drinks\nmake: *** [menu] Error 2"),
        says("The option stands behind the target, so make reads it itself.", "stop"),
    ];
    let text = section(&messages, Section::CriticalContext);
    let claim = text.split("works and prints the drinks of the menu.").nth(1);
    assert!(claim.is_none_or(|behind| behind.starts_with(" (then the user reported a problem)")), "{text}");
}
