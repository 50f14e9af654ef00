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

#[test]
fn a_failure_that_only_the_output_tells_is_open() {
    let of = |command: &str, output: &str, is_flagging: bool| {
        let mut messages = vec![user("Make the parser strict")];
        if is_flagging {
            messages.extend([runs("1", "make lint"), returns("1", "unused name", true)]);
            messages.extend([runs("2", "make lint"), returns("2", "clean", false)]);
        }
        messages.extend([runs("3", command), returns("3", output, false)]);
        section(&messages, Section::Blocked)
    };
    for output in [
        "linking\nBuild failed in 3s",
        "BUILD FAILED",
        "Deployment failed: quota exceeded",
        "Bereitstellung fehlgeschlagen: keine Antwort",
        "Le déploiement a échoué",
        "Falló la compilación",
        "A compilação falhou",
        "Сборка не удалась",
        "构建失败",
        "ビルドに失敗しました",
        "The command failed with exit code 2",
        "compiling\nprocess finished with exit code 1",
    ] {
        assert!(of("make build", output, false).starts_with("`make build` failed"), "{output}");
    }
    for output in ["a.c:3: no type\nEXIT: 1", "a.c:3: no type\nexit=2", "a.c:3: no type\n1"] {
        let blocked = of("make build; echo EXIT $?", output, true);
        assert!(blocked.contains("a.c:3: no type"), "{output}: {blocked}");
    }
    for output in
        ["Build succeeded, nothing failed", "Failed: 0", "kein Test ist fehlgeschlagen", "EXIT: 0", "12 files"]
    {
        assert_eq!(of("make build; echo EXIT $?", output, true), "", "{output}");
        assert_eq!(of("make build", output, false), "", "{output}");
    }
    assert_eq!(of("make build", "Build failed, retried and done", true), "", "the agent tells failures itself");
    let compared = "make build; if [ $? -eq 0 ]; then echo built 12; fi";
    assert_eq!(of(compared, "a.c\nbuilt 12", false), "", "a number that is no exit code");
    assert_eq!(of("cat build.log", "Build failed", false), "", "a file may have any words");
}

#[test]
fn a_failure_lies_up_to_two_requests_back() {
    let failed = [runs("1", "npm run lint"), returns("1", "error: unused name", true)];
    let edit = |id: &str| {
        let arguments = format!("{{\"path\":\"src/{id}.ts\",\"content\":\"x\"}}");
        [calls(id, "write", &arguments), returns(id, "ok", false)]
    };
    for (request, answer, others) in [
        ("Fix the list", "The list is fixed, but a check still fails.", ["Now rename the header", "And the footer"]),
        (
            "Repariere die Liste",
            "Die Liste stimmt, aber eine Prüfung schlägt fehl.",
            ["Benenne den Kopf um", "Und den Fuß der Seite"],
        ),
        (
            "Corrige la liste",
            "La liste est bonne, mais un contrôle échoue.",
            ["Renomme l'en-tête", "Et le pied de page"],
        ),
        (
            "Arregla la lista",
            "La lista está bien, pero una prueba falla.",
            ["Renombra la cabecera", "Y el pie de página"],
        ),
        (
            "Corrija a lista",
            "A lista está certa, mas um teste falhou.",
            ["Renomeie o cabeçalho", "E o rodapé da página"],
        ),
        (
            "Исправь список",
            "Список верный, но проверка не работает.",
            ["Переименуй шапку сайта", "И подвал сайта тоже"],
        ),
        ("修复列表", "列表好了，但是检查失败。", ["重命名页眉部分", "还有页脚也一样"]),
        (
            "一覧を直して",
            "一覧は直りましたが、検査は失敗です。",
            ["ヘッダーの名前を変えて", "フッターも変えてください"],
        ),
    ] {
        let tell = |has_run: bool| {
            let mut messages = vec![user(request)];
            messages.extend(edit("2"));
            if has_run {
                messages.extend(failed.clone());
            }
            messages.push(says(answer, "stop"));
            messages.push(user(others[0]));
            messages.extend(edit("3"));
            messages.push(says("OK, renamed.", "stop"));
            messages.push(user(others[1]));
            messages.extend(edit("4"));
            messages
        };
        let blocked = section(&tell(true), Section::Blocked);
        assert!(blocked.contains("`npm run lint` failed"), "{request}: {blocked}");
        let mut mended = tell(true);
        mended.extend([runs("5", "npm run lint"), returns("5", "clean", false)]);
        assert_eq!(section(&mended, Section::Blocked), "", "{request}");
    }
    // Only the words of an answer tell it.
    for (unsolved, about) in [
        ("The build still fails with `linker cc not found`.", "The linker of the build is there now."),
        ("Der Build schlägt weiterhin fehl: Linker fehlt.", "Der Linker für den Build fehlt nicht mehr; Build läuft."),
        ("La compilation échoue toujours: éditeur absent.", "La compilation marche, éditeur installé."),
        ("La compilación sigue fallando: falta el enlazador.", "La compilación tiene el enlazador."),
        ("A compilação continua falhando: falta o ligador.", "A compilação tem o ligador."),
    ] {
        let mut messages = vec![user("Fix the build"), says(unsolved, "stop"), user("Rename the clock module first")];
        messages.extend(edit("3"));
        messages.push(says("OK, renamed.", "stop"));
        assert_eq!(section(&messages, Section::Blocked), format!("The assistant said: {unsolved}"));
        messages.push(user("And its users, too, please"));
        messages.push(says(about, "stop"));
        assert_eq!(section(&messages, Section::Blocked), "", "{about}");
    }
}

#[test]
fn what_a_person_sees_is_a_problem() {
    for report in [
        "The page is blank now",
        "nothing shows up in the list",
        "the header overlaps the menu",
        "the tests are red",
        "Ich bekomme einen Fehler beim Speichern",
        "wenn ich klicke, kommt eine Fehlermeldung",
        "il y a une erreur quand je clique sur enregistrer",
        "La page reste blanche",
        "sigue fallando al guardar",
        "continua a dar erro ao salvar",
        "при сохранении выдаёт ошибку",
        "页面是空白的",
        "画面が真っ白です",
    ] {
        let edit = [calls("1", "write", r#"{"path":"src/a.ts","content":"x"}"#), returns("1", "done", false)];
        let messages = [&[user("Add a form")][..], &edit, &[says("The form is there.", "stop"), user(report)]].concat();
        assert_eq!(section(&messages, Section::Blocked), format!("The user reports: {report}"));
    }
}

#[test]
fn work_that_a_person_had_undone_is_not_done() {
    let work = [calls("1", "write", r#"{"path":"src/parser.rs","content":"x"}"#), returns("1", "ok", false)];
    let back = [runs("2", "git checkout -- src/parser.rs"), returns("2", "", false)];
    for (request, answer, order, undone, next) in [
        ("Add a cache to the parser", "The parser has a cache now.", "undo that", "It is undone.", "Now add a linter"),
        (
            "Add a cache to the parser",
            "The parser has a cache now.",
            "Please revert your changes.",
            "It is undone.",
            "Now add a linter",
        ),
        (
            "Gib dem Parser einen Cache",
            "Der Parser hat einen Cache.",
            "Mach das rückgängig",
            "Es ist rückgängig.",
            "Füge einen Linter hinzu",
        ),
        (
            "Ajoute un cache au parseur",
            "Le parseur a un cache.",
            "annule ces changements",
            "C'est annulé.",
            "Ajoute un linter",
        ),
        (
            "Añade una caché al analizador",
            "El analizador tiene caché.",
            "deshaz los cambios",
            "Deshecho.",
            "Añade un linter",
        ),
        (
            "Adicione um cache ao parser",
            "O parser tem um cache.",
            "desfaça as alterações",
            "Desfeito.",
            "Adicione um linter",
        ),
        (
            "Добавь кэш в парсер",
            "В парсере есть кэш.",
            "откати изменения",
            "Изменения отменены.",
            "Добавь линтер в проект",
        ),
        ("给解析器加上缓存功能", "解析器现在有缓存了。", "撤销这些改动", "已经撤销。", "现在添加一个检查器"),
        (
            "パーサーにキャッシュを追加して",
            "パーサーにキャッシュがあります。",
            "元に戻してください",
            "元に戻しました。",
            "リンターを追加してください",
        ),
    ] {
        for back in [&back[..], &[]] {
            let first = [&[user(request)][..], &work, &[says(answer, "stop"), user(order)]].concat();
            let messages = [&first[..], back, &[says(undone, "stop"), user(next)]].concat();
            let done = section(&messages, Section::Done);
            assert!(!done.contains(&format!("Done: {request}")), "{order}: {done}");
            let decisions = section(&messages, Section::Decisions);
            assert!(
                decisions.contains(&format!("The user undid what was done for: {request}")),
                "{order}: {decisions}"
            );
        }
    }
    for order in
        ["Revert the colours of the page", "Undo buttons are missing in the editor", "can you undo that later?"]
    {
        let messages = [&[user("Add a cache to the parser")][..], &work, &[says("It has one.", "stop"), user(order)]];
        let decisions = section(&messages.concat(), Section::Decisions);
        assert!(!decisions.contains("The user undid"), "{order}: {decisions}");
    }
}

#[test]
fn a_later_demand_stands_beside_those_that_it_overrules() {
    for (earlier, later) in [
        (
            "Always run all integration tests after each change.",
            "From now on only run the integration tests of the parser.",
        ),
        ("Schreibe die Kommentare immer auf Englisch und Deutsch.", "Schreibe Kommentare ab jetzt nur auf Deutsch."),
        (
            "Écris toujours les commentaires en anglais et en français.",
            "Désormais, écris les commentaires uniquement en français.",
        ),
        (
            "Escribe siempre los comentarios en inglés y español.",
            "A partir de ahora escribe los comentarios solo en español.",
        ),
        (
            "Escreva sempre os comentários em inglês e português.",
            "A partir de agora escreva os comentários apenas em português.",
        ),
        ("Всегда пиши комментарии на английском и русском.", "Отныне пиши комментарии только на русском."),
        ("所有注释都必须用英文和中文来写。", "从现在起注释只用中文来写。"),
        ("コメントは必ず英語と日本語で書いてください。", "今後コメントは日本語だけで書いてください。"),
    ] {
        let messages = [user(earlier), says("OK.", "stop"), user(later), says("OK.", "stop")];
        let told = section(&messages, Section::Constraints);
        // One in nearly the same words gives way to it.
        assert!(told.contains(&format!("(later: \"{later}")) || !told.contains(earlier), "{earlier}: {told}");
        assert!(told.contains(later), "{later}: {told}");
    }
    for (earlier, later) in [
        ("Always write comments in English.", "Only use tabs for indentation."),
        // The same again, and the same politeness.
        ("変更の前に意見だけお願いします。", "意見だけお願いします。"),
        ("コメントは必ず英語でお願いします。", "質問への答えだけお願いします。"),
    ] {
        let messages = [user(earlier), says("OK.", "stop"), user(later), says("OK.", "stop")];
        let told = section(&messages, Section::Constraints);
        assert!(told.contains(earlier.trim_end_matches('.')) && !told.contains("(later: "), "{told}");
    }
}

#[test]
fn pages_and_versions_repair_no_check() {
    let failed = [runs("1", "pytest"), returns("1", "FAILED tests/t.py::test_a - assert 1\n1 failed, 3 passed", true)];
    let code = [calls("0", "edit", r#"{"path":"src/p.py","oldText":"a","newText":"b"}"#), returns("0", "ok", false)];
    let next = |edit: &str| {
        let edit = [calls("2", "edit", edit), returns("2", "ok", false)];
        section(&[&[user("Make the parser strict")][..], &code, &failed, &edit].concat(), Section::NextSteps)
    };
    for edit in [
        r###"{"path":"CHANGELOG.md","oldText":"a","newText":"b"}"###,
        r###"{"path":"docs/parser.rst","oldText":"a","newText":"b"}"###,
        r###"{"path":"pyproject.toml","oldText":"version = \"1.0.0\"","newText":"version = \"1.1.0\""}"###,
        r###"{"path":"package.json","oldText":"\"version\": \"1.0.0\"","newText":"\"version\": \"1.1.0\""}"###,
    ] {
        let next = next(edit);
        assert!(next.contains("Fix the failure of `pytest`, then run it again"), "{edit}: {next}");
    }
    for edit in [
        r###"{"path":"src/q.py","oldText":"a","newText":"b"}"###,
        r###"{"path":"requirements.txt","oldText":"a","newText":"b"}"###,
        r###"{"path":"pyproject.toml","oldText":"python = \"3.8\"","newText":"python = \"3.9\""}"###,
    ] {
        let next = next(edit);
        assert!(next.contains("Run again: `pytest`"), "{edit}: {next}");
    }
}

#[test]
fn a_request_is_cut_between_the_sentences_that_ask() {
    let story =
        "The page was made long before the others and nobody has looked at it since that day in May. ".repeat(9);
    for (first, orders, last) in [
        (
            "The import of the orders is too slow.",
            ["First read the files in one pass.", "Also add a progress bar to the command."],
            "Do not change the schema.",
        ),
        (
            "Der Import der Bestellungen ist zu langsam.",
            ["Prüfe zuerst die Dateien.", "Füge danach eine Anzeige hinzu."],
            "Ändere das Schema nicht.",
        ),
    ] {
        let request = format!("{first} {story}{} {story}{} {story}{last}", orders[0], orders[1]);
        let prepared = prepared(&[user(&request)]);
        let text = text_of(&ExtractiveInput { style: style(500), ..history(&prepared) });
        let goal = SummaryDocument::parse(&text).body[Section::Goal].join("\n");
        for told in [first, orders[0], orders[1], last] {
            assert!(goal.contains(told), "{told}: {goal}");
        }
    }
}
