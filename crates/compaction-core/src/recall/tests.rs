//! Rankings and excerpts, as tables.

use super::*;
use crate::json::Json;
use crate::tokens::estimate_text;
use proptest::prelude::*;

fn ranked(question: &str, texts: &[&str]) -> Vec<RankedPassage> {
    let query = RecallQuery::parse(question).expect("it has words");
    let mut index = PassageIndex::new(&query);
    texts.iter().for_each(|text| index.add_text(text));
    index.rank()
}

/// The texts that answer, best first.
#[track_caller]
fn check(question: &str, texts: &[&str], best_first: &[&str]) {
    let found: Vec<&str> = ranked(question, texts).iter().map(|passage| texts[passage.document]).collect();
    assert_eq!(found, best_first, "{question}");
}

#[test]
fn rare_words_count_more_and_equal_answers_go_by_age() {
    check(
        "parser deadline",
        &["parser parser", "a parser", "a deadline", "nothing"],
        &["a deadline", "parser parser", "a parser"],
    );
    check("parser", &["parser one", "parser two", "PARSER six"], &["PARSER six", "parser two", "parser one"]);
    check(
        "parser",
        &["a long text in which the parser has its place", "parser"],
        &["parser", "a long text in which the parser has its place"],
    );
    check("parser", &["the parser", "other", "the parser"], &["the parser"]);
}

#[test]
fn words_that_carry_nothing_do_not_count() {
    check("What is the deadline?", &["what is the what", "deadline"], &["deadline"]);
    check("Was ist die Frist?", &["was ist die", "eine Frist"], &["eine Frist"]);
    check("what is it", &["it is what", "other"], &["it is what"]);
}

#[test]
fn identifiers_match_whole_and_by_their_parts() {
    check(
        "src/foo/bar.rs?",
        &["foo foo foo", "see src/foo/bar.rs", "see src/foo/bar.rsx"],
        &["see src/foo/bar.rs", "see src/foo/bar.rsx", "foo foo foo"],
    );
    check(
        "bar.rs",
        &["in /home/x/bar.rs:12", r#"{"path":"C:\\x\\bar.rs"}"#, "rsbar"],
        &["in /home/x/bar.rs:12", r#"{"path":"C:\\x\\bar.rs"}"#],
    );
    check("C:\\x\\bar.rs", &["bar x", r#"{"path":"c:\\x\\bar.rs"}"#], &[r#"{"path":"c:\\x\\bar.rs"}"#, "bar x"]);
    check("FOO_BAR", &["foo_bar = 1", "foo bar", "XFOO_BARS"], &["foo_bar = 1", "foo bar", "XFOO_BARS"]);
    check("readFile", &["a readfile call", "read file", "file"], &["a readfile call", "read file", "file"]);
    check("read file", &["readFile", "nothing"], &["readFile"]);
    check("0.87.1", &["0.87.2", "at 0.87.1."], &["at 0.87.1.", "0.87.2"]);
    check("--force", &["git push --force", "by force", "fforce"], &["git push --force", "by force"]);
}

#[test]
fn forms_of_words_are_found() {
    check("entries", &["one entry", "entrance"], &["one entry"]);
    check("change", &["changed", "changes", "chance"], &["changes", "changed"]);
    check("IDs", &["the id", "idea"], &["the id"]);
    check("Прочитать файлы", &["прочитал файл", "писать"], &["прочитал файл"]);
}

#[test]
fn scripts_without_spaces_are_parted() {
    check(
        "設定ファイルの場所は？",
        &["設定ファイルは docs にあります。", "これは別の話です。", "ファイルを読む"],
        &["設定ファイルは docs にあります。", "ファイルを読む"],
    );
    check("提交信息", &["提交的信息", "没有"], &["提交的信息"]);
    check("木", &["一本の木", "林"], &["一本の木"]);
}

#[test]
fn what_is_no_question() {
    for text in ["", "  ", "\"\" ?", "...", "—"] {
        assert!(RecallQuery::parse(text).is_none(), "{text}");
    }
}

fn message(id: &str, content: &str) -> Entry {
    Entry::parse(&format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"","message":{{"role":"assistant","content":[{content}]}}}}"#
    ))
    .expect("the entry is made here")
}

#[test]
fn a_question_that_names_a_file_finds_its_changes_first() {
    let call = |name: &str, arguments: &str| {
        format!(r#"{{"type":"toolCall","id":"c","name":"{name}","arguments":{arguments}}}"#)
    };
    let entries = [
        message("a", &call("edit", r#"{"path":"src/net/retry.rs","oldText":"limit","newText":"most"}"#)),
        message("b", &call("edit", r#"{"path":"src/net/other.rs","oldText":"limit","newText":"most"}"#)),
        message("c", r#"{"type":"text","text":"What we change in retry.rs, retry.rs: retry.rs"}"#),
        message("d", &call("read", r#"{"path":"src/net/retry.rs"}"#)),
    ];
    let query = RecallQuery::parse("What did we change in retry.rs?").expect("it has words");
    let mut index = PassageIndex::new(&query);
    entries.iter().for_each(|entry| index.add_entry(entry, &FileTools::default()));
    let found: Vec<usize> = index.rank().iter().map(|passage| passage.document).collect();
    assert_eq!(found[..2], [0, 2]);
}

/// The excerpts of `texts` that fit.
fn excerpts(question: &str, texts: &[&str], max_tokens: u64) -> Vec<Excerpt> {
    let whole = |text: &str| {
        let part = crate::verbatim::Part { kind: PartKind::Text, block: None, range: 0..text.len() };
        Verbatim { text: text.to_owned(), parts: vec![part] }
    };
    let (choices, _) = choose(&ranked(question, texts), max_tokens);
    choices.iter().map(|choice| choice.excerpt(&whole(texts[choice.document]))).collect()
}

fn long_text() -> String {
    let lines = (0..400).map(|line| format!("Line {line} says little.\n"));
    lines.collect::<String>().replace("Line 200 says little.", "Line 200: the needle is E4711.")
}

#[test]
fn a_long_text_gives_what_is_around_the_match() {
    let text = long_text();
    let found = excerpts("needle", &[&text], 2000);
    let [excerpt] = &found[..] else { panic!("{found:?}") };
    assert!(excerpt.text.starts_with("[…]\nLine ") && excerpt.text.ends_with("\n[…]\n"), "{}", excerpt.text);
    assert!(excerpt.text.contains("Line 200: the needle is E4711.\n") && excerpt.is_partial);
    assert!(excerpt.text.len() < 1050);
    let [place] = &excerpt.places[..] else { panic!("{:?}", excerpt.places) };
    let shown: Vec<u16> = excerpt.text.encode_utf16().collect();
    let shown = String::from_utf16_lossy(&shown[place.offset..place.offset + place.range.len()]);
    assert_eq!(text[place.range.clone()], shown);
}

#[test]
fn neighbours_are_one_piece_and_others_are_parted() {
    let far = format!("alpha {}omega", "filler words. ".repeat(300));
    let found = excerpts("alpha omega", &[&far], 2000);
    assert_eq!(found[0].places.len(), 2);
    assert_eq!(found[0].text.matches("[…]").count(), 1);
    let near: String = (0..100).map(|number| format!("word {number} alpha omega. ")).collect();
    let found = excerpts("alpha omega", &[&near], 2000);
    assert_eq!((found[0].places.len(), found[0].text.as_str(), found[0].is_partial), (1, near.as_str(), false));
}

#[test]
fn little_room_is_filled_around_the_match() {
    let text = long_text();
    let found = excerpts("needle", &[&text], 20);
    assert!(found[0].text.contains("the needle is"), "{}", found[0].text);
    assert!(estimate_text(&found[0].text) <= 20);
    assert_eq!(excerpts("needle", &[&text], 3)[0].text.len(), 12);
    assert!(excerpts("needle", &[&text], 3)[0].text.contains("needle"));
}

#[test]
fn a_text_is_cut_in_its_middle() {
    let text = "abcdefghij".repeat(40);
    assert_eq!(cut_to(&text, 100), None);
    let cut = cut_to(&text, 20).expect("it does not fit");
    assert_eq!(cut, "abcdefghijabcdefghijabcde\n[… 351 characters left out …]\nghijabcdefghijabcdefghij");
    assert_eq!(cut_to(&text, 2).as_deref(), Some("abcdefgh"));
}

proptest! {
    #[test]
    fn a_cut_text_fits(text in "[a-c\u{e9}\u{1f600}]{0,200}", tokens in 1u64..40) {
        match cut_to(&text, tokens) {
            None => prop_assert!(estimate_text(&text) <= tokens),
            Some(cut) => {
                prop_assert!(estimate_text(&text) > tokens && estimate_text(&cut) <= tokens);
                prop_assert!(!cut.is_empty());
            }
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn excerpts_fit_and_stand_where_they_say(
        texts in proptest::collection::vec("((ab|cd|[x-z]{1,8}|日本|é😀)[ \n.]{1,2}){0,400}", 1..5),
        tokens in 1u64..900,
    ) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let found = ranked("ab cd 日本", &texts);
        prop_assert!(found.windows(2).all(|pair| pair[0].score >= pair[1].score));
        let (choices, omitted) = choose(&found, tokens);
        let documents: HashSet<usize> = found.iter().map(|passage| passage.document).collect();
        prop_assert_eq!(choices.len() + omitted, documents.len());
        prop_assert_eq!(choices.is_empty(), found.is_empty());
        let mut sum = 0;
        for (choice, excerpt) in choices.iter().zip(excerpts("ab cd 日本", &texts, tokens)) {
            sum += estimate_text(&excerpt.text);
            let units: Vec<u16> = texts[choice.document].encode_utf16().collect();
            let shown: Vec<u16> = excerpt.text.encode_utf16().collect();
            prop_assert!(!excerpt.places.is_empty());
            for place in &excerpt.places {
                let piece = &units[place.range.clone()];
                prop_assert_eq!(piece, &shown[place.offset..place.offset + piece.len()]);
            }
        }
        prop_assert!(sum <= tokens, "{sum} of {tokens}");
    }

    #[test]
    fn what_a_plain_reading_finds_is_found(texts in proptest::collection::vec("([abcd]{1,5}[ ./_]){0,60}", 1..6), word in "[abcd]{2,5}") {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let Some(query) = RecallQuery::parse(&word) else { return Ok(()) };
        let mut index = PassageIndex::new(&query);
        texts.iter().for_each(|text| index.add_text(text));
        let found: HashSet<&str> = index.rank().iter().map(|passage| texts[passage.document].trim()).collect();
        for text in &texts {
            let holds = text.split([' ', '.', '/', '_']).any(|other| other == word);
            prop_assert!(!holds || found.contains(text.trim()), "{word} in {text}");
        }
    }
}

#[track_caller]
fn check_changes(name: &str, arguments: &str, expected: &[&str]) {
    let arguments = Json::parse(arguments).expect("it is JSON").into_owned();
    let call = ToolCall { id: "c".to_owned(), name: name.to_owned(), arguments: Some(arguments) };
    assert_eq!(changed_files(&call, &FileTools::default()), expected, "{name}");
}

#[test]
fn calls_that_change_files() {
    check_changes("edit", r#"{"path":"src/a.rs"}"#, &["src/a.rs"]);
    check_changes("Write", r#"{"file_path":"/p/a.rs","content":"x"}"#, &["/p/a.rs"]);
    check_changes("search_replace", r#"{"file_path":"a.py","old_string":"x"}"#, &["a.py"]);
    check_changes("str_replace_editor", r#"{"command":"str_replace","path":"/p/a.py"}"#, &["/p/a.py"]);
    check_changes("str_replace_editor", r#"{"command":"view","path":"/p/a.py"}"#, &[]);
    check_changes("read", r#"{"path":"src/a.rs"}"#, &[]);
    check_changes("todo_write", r#"{"path":"a"}"#, &[]);
    check_changes(
        "shell",
        r#"{"command":["bash","-lc","apply_patch <<'P'\n*** Begin Patch\n*** Update File: src/a.ts\n@@\n*** Add File: b.md\n+x"]}"#,
        &["src/a.ts", "b.md"],
    );
}

#[test]
fn names_of_one_file() {
    assert!(are_of_one_file("recall.rs", "/p/src/recall.rs") && are_of_one_file("C:\\p\\A.cs", "p/a.cs"));
    assert!(!are_of_one_file("recall.rs", "src/xrecall.rs") && !are_of_one_file("a/b.rs", "c/b.rs"));
    assert!(!are_of_one_file("", "a"));
}
