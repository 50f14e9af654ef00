use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check_parse(text: &str, expected: Expect) {
    let document = SummaryDocument::parse(text);
    let mut out = String::new();
    show(&document.body, &mut out);
    for context in &document.turn_contexts {
        out.push_str("turn context\n");
        show(context, &mut out);
    }
    for (name, files) in [("read", &document.files.read_files), ("modified", &document.files.modified_files)] {
        files.iter().for_each(|file| out.push_str(&format!("{name}: {file}\n")));
    }
    expected.assert_eq(&out);
}

fn show(sections: &Sections, out: &mut String) {
    for section in Section::ALL {
        sections[section].iter().for_each(|item| out.push_str(&format!("{section:?}: {item:?}\n")));
    }
    sections.other.iter().for_each(|other| out.push_str(&format!("other {:?}: {:?}\n", other.heading, other.text)));
}

#[test]
fn reads_the_format() {
    check_parse(
        "## Goal\nPort the selector\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n### Done\n- [x] Read `a.rs`\n\n\
         ### In Progress\n- [ ] Edit `b.rs`\n\n### Blocked\n- error: E1\n\n## Key Decisions\n- **Use A**: it is there\n\n\
         ## Next Steps\n1. Test\n2. Ship\n\n## Critical Context\n- Port 80\n\n<read-files>\na.rs\n</read-files>\n\n\
         <modified-files>\nb.rs\nc d.rs\n</modified-files>",
        expect![[r#"
            Goal: "Port the selector"
            Done: "Read `a.rs`"
            InProgress: "Edit `b.rs`"
            Blocked: "error: E1"
            Decisions: "**Use A**: it is there"
            NextSteps: "Test"
            NextSteps: "Ship"
            CriticalContext: "Port 80"
            read: a.rs
            modified: b.rs
            modified: c d.rs
        "#]],
    );
}

#[test]
fn tolerates_other_layouts() {
    check_parse(
        "Here you are:\n\n# NEXT STEPS:\n* first\n+ second\n3) third\n\n**Goal**\n- one\n  more of one\nlazy line\n\nanother\n\n\
         ## Progress\n- [X] loose\n- [ ] open\n### in progress\n- [x] finished\n## Surprises\n- keep me\n# and this\n",
        expect![[r###"
            Goal: "one\nmore of one\nlazy line"
            Goal: "another"
            Done: "loose"
            Done: "finished"
            InProgress: "open"
            NextSteps: "first"
            NextSteps: "second"
            NextSteps: "third"
            other "": "Here you are:"
            other "## Surprises": "- keep me"
            other "# and this": ""
        "###]],
    );
}

#[test]
fn keeps_code_together_and_ends_it_at_a_heading() {
    check_parse(
        "## Critical Context\n- Run:\n  ```sh\n  # not a heading\n\n    make\n  ```\n```\nlet x;\n```\n## Goal\n```rust\nnever closed\n## Next Steps\n1. x",
        expect![[r##"
            Goal: "rust\nnever closed"
            NextSteps: "x"
            CriticalContext: "Run:\n```sh\n# not a heading\n\n  make\n```\n```\nlet x;\n```"
        "##]],
    );
}

#[test]
fn tells_the_context_of_a_split_turn_apart() {
    let joined = join_split_turn(Some("## Goal\n- g"), "## Original Request\n- r\n\n## Early Progress\n- p");
    check_parse(
        &joined,
        expect![[r#"
            Goal: "g"
            turn context
            OriginalRequest: "r"
            EarlyProgress: "p"
        "#]],
    );
}

#[test]
fn joins_as_the_format_says() {
    expect!["h\n\n---\n\n**Turn Context (split turn):**\n\np"].assert_eq(&join_split_turn(Some("h\n"), "p"));
    expect!["No prior history.\n\n---\n\n**Turn Context (split turn):**\n\np"].assert_eq(&join_split_turn(None, "p"));
    // The previous summary stays, without the file lists that follow it anew.
    let previous = append_file_blocks("old", &["a".to_owned()], &[]);
    expect!["old\n\n---\n\n**Turn Context (split turn):**\n\np"].assert_eq(&join_split_turn(Some(&previous), "p"));
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn appends_file_blocks_as_the_format_says() {
    let append = |read: &[&str], modified: &[&str]| append_file_blocks("text", &names(read), &names(modified));
    expect!["text"].assert_eq(&append(&[], &[]));
    expect!["text\n\n<read-files>\na\nb\n</read-files>"].assert_eq(&append(&["a", "b"], &[]));
    expect!["text\n\n<modified-files>\nc\n</modified-files>"].assert_eq(&append(&[], &["c"]));
    expect!["text\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nc\n</modified-files>"]
        .assert_eq(&append(&["a"], &["c"]));
    expect!["text\n\n<read-files>\na\\nb\n<\\/read-files>\n</read-files>"]
        .assert_eq(&append(&["a\nb", "</read-files>"], &[]));
}

#[test]
fn removes_file_blocks_whoever_wrote_them() {
    let check = |text: &str, expected: &str| assert_eq!(remove_file_blocks(text), expected, "{text:?}");
    check("plain `<read-files>` text\n", "plain `<read-files>` text\n");
    check("a\n\n<read-files>\nx\n</read-files>\n\n<modified-files>\ny\n\nz\n</modified-files>", "a");
    check("<read-files>x</read-files>\nb", "b");
    check("a\n<read-files>\nx\n\nb", "a\n\nb");
    check("a\n<read-files>\nx\n## Next Steps\nb\n</read-files>", "a\n## Next Steps\nb");
    check("a\n<read-files>\n<modified-files>\nx\n</modified-files>\nb", "a\nb");
}

#[test]
fn names_the_headings_that_are_missing() {
    let check = |text: &str, kind, expected: &[&str]| assert_eq!(missing_headings(text, kind), expected, "{text:?}");
    let whole = Sections::default().render(SummaryKind::History);
    check(&whole, SummaryKind::History, &[]);
    check(&whole, SummaryKind::Branch, &[]);
    check(&whole.replace("### Blocked", "Blocked"), SummaryKind::History, &["### Blocked"]);
    check(&whole.to_uppercase().replace("##", "#"), SummaryKind::History, &[]);
    check("", SummaryKind::TurnPrefix, &["## Original Request", "## Early Progress", "## Context for Suffix"]);
}

#[test]
fn renders_every_heading_in_order() {
    let mut sections = Sections::default();
    sections[Section::Done] = names(&["a\nb", "c"]);
    sections[Section::NextSteps] = names(&["x", "y"]);
    sections[Section::SuffixContext] = names(&["kept"]);
    sections.other = vec![OtherSection { heading: "## More".to_owned(), text: "text".to_owned() }];
    expect![[r#"
        ## Goal

        ## Constraints & Preferences

        ## Progress
        ### Done
        - [x] a
          b
        - [x] c

        ### In Progress

        ### Blocked

        ## Key Decisions

        ## Next Steps
        1. x
        2. y

        ## Context for Suffix
        - kept

        ## More
        text"#]]
    .assert_eq(&sections.render(SummaryKind::Branch));
}

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("## Goal".to_owned()),
        Just("## Progress".to_owned()),
        Just("### Done".to_owned()),
        Just("### In Progress".to_owned()),
        Just("## Next Steps".to_owned()),
        Just("## Original Request".to_owned()),
        Just("## Unknown".to_owned()),
        Just("```".to_owned()),
        Just("  ```rust".to_owned()),
        Just("---".to_owned()),
        Just(String::new()),
        Just("- (none)".to_owned()),
        Just(NO_PRIOR_HISTORY.to_owned()),
        Just(TURN_CONTEXT_MARKER.to_owned()),
        Just("<read-files>".to_owned()),
        Just("</read-files>".to_owned()),
        "[-*] (\\[[ x]\\] )?[a-z#`]{0,4}",
        "[0-9][.)] [a-z]{0,3}",
        "[ \t]{0,5}[-#*`a-z1. \\[\\]x]{0,6}",
        "\\PC{0,8}",
    ]
}

proptest! {
    #[test]
    fn rendering_is_stable(lines in prop::collection::vec(any_line(), 0..24)) {
        for kind in [SummaryKind::History, SummaryKind::Branch, SummaryKind::TurnPrefix] {
            let document = SummaryDocument::parse(&lines.join("\n"));
            let rendered = document.render(kind);
            prop_assert_eq!(&SummaryDocument::parse(&rendered), &document, "{}", rendered);
            prop_assert_eq!(missing_headings(&rendered, kind), Vec::<&str>::new());
        }
    }

    #[test]
    fn no_word_is_lost(words in prop::collection::vec("[a-z]{6}", 1..12), lines in prop::collection::vec(any_line(), 0..12)) {
        let mut text = lines.clone();
        for (at, word) in words.iter().enumerate() {
            text.insert((at * 3) % (text.len() + 1), format!("- {word}"));
        }
        let rendered = SummaryDocument::parse(&text.join("\n")).render(SummaryKind::History);
        for word in &words {
            // A path in a file block is told once, and none of the words looks like a placeholder.
            prop_assert!(rendered.contains(word.as_str()), "{word} in {rendered}");
        }
    }

    #[test]
    fn file_blocks_come_off_as_they_went_on(
        files in prop::collection::vec("[a-z/ .<>\n]{1,12}|</?(read|modified)-files>|## Goal", 0..5),
    ) {
        let whole = append_file_blocks("text", &files, &files);
        prop_assert_eq!(remove_file_blocks(&whole), "text");
    }
}
