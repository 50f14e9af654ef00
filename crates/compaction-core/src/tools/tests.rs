//! Every agent's tools as data: `fixtures/tool-calls.jsonl` (calls), `fixtures/tool-results.jsonl` (results) and
//! `fixtures/tool-plans.jsonl` (lists of things to do and questions).

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Compares what `of` makes of each case with what the case says; all that differ are told at once.
fn check(name: &str, text: &str, of: impl Fn(&Value) -> Vec<(Value, Value)>) {
    let mut wrong = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{name}: {error}: {line}"));
        let differing = of(&case).into_iter().filter(|(is, should_be)| is != should_be);
        wrong.extend(differing.map(|(is, should_be)| format!("{line}\n  is        {is}\n  should be {should_be}")));
    }
    assert!(!text.is_empty() && wrong.is_empty(), "{name}: {} wrong\n{}", wrong.len(), wrong.join("\n"));
}

fn call(case: &Value) -> ToolCall {
    let arguments = case.get("arguments").map(|arguments| Json::parse(&arguments.to_string()).unwrap().into_owned());
    ToolCall { id: "1".to_owned(), name: case["name"].as_str().unwrap().to_owned(), arguments }
}

fn deed(deed: FileDeed) -> String {
    format!("{deed:?}").to_lowercase()
}

fn of_files(files: &[FileUse]) -> BTreeMap<String, Vec<String>> {
    let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
    files.iter().for_each(|file| shown.entry(deed(file.deed)).or_default().push(file.path.clone()));
    shown
}

fn shown(action: &ToolAction) -> Value {
    match action {
        ToolAction::Files(files) => json!(of_files(files)),
        ToolAction::OpenFile(open) => json!({ "open": deed(*open) }),
        ToolAction::Run { command, files } => {
            let mut value = json!(of_files(files));
            value["run"] = json!(command);
            value
        }
        ToolAction::Plan(plan) => json!({ "plan": plan.items.len() }),
        ToolAction::Ask(questions) => json!({ "ask": questions }),
        ToolAction::Finish(text) => json!({ "finish": text }),
        ToolAction::Search => json!("search"),
        ToolAction::Other => json!("other"),
    }
}

#[test]
fn calls_do_what_the_table_says() {
    check("tool-calls.jsonl", include_str!("../../fixtures/tool-calls.jsonl"), |case| {
        vec![(shown(&classify(&call(case), &FileTools::default())), case["is"].clone())]
    });
}

#[test]
fn results_tell_whether_the_call_failed_and_which_files_count() {
    check("tool-results.jsonl", include_str!("../../fixtures/tool-results.jsonl"), |case| {
        let (result, is_error) = (case["result"].as_str().unwrap(), case["isError"] == true);
        let told = case.get("failed").map(|should_be| (json!(failed(result, is_error)), should_be.clone()));
        let files = case.get("files").map(|should_be| {
            let action = classify(&call(case), &FileTools::default());
            (
                json!(of_files(&files_done(
                    &action,
                    result,
                    || has_failed(&action, result, is_error),
                    || Box::new(["r.py", "/w/src/k.ts"].into_iter())
                ))),
                should_be.clone(),
            )
        });
        told.into_iter().chain(files).collect()
    });
}

#[test]
fn lists_of_things_to_do_are_read() {
    check("tool-plans.jsonl", include_str!("../../fixtures/tool-plans.jsonl"), |case| {
        let plan = plan_items(&call(case));
        let items = plan.as_ref().map(|plan| {
            let item = |item: &PlanItem| json!([item.id, item.text, format!("{:?}", item.status)]);
            plan.items.iter().map(item).collect::<Vec<_>>()
        });
        let merges = plan.is_some_and(|plan| plan.merges);
        vec![(json!(items), case["items"].clone()), (json!(merges), json!(case["merges"] == true))]
    });
}

proptest! {
    #[test]
    fn no_command_line_is_too_odd(
        command in r#"([a-z '"\\$`()<>|&;\#\n*{}=-]|<<E|cat |sed -i ){0,40}"#,
        patch in r"(\*\*\* (Add|Update) File:|--- |\+\+\+ |[a\n\t/ ]){0,20}",
    ) {
        let arguments = json!({ "command": ["bash", "-lc", command], "patch": patch });
        for name in ["shell", "apply_patch", "unknown"] {
            let files = classify(&call(&json!({ "name": name, "arguments": arguments })), &FileTools::default());
            prop_assert!(files.files().iter().all(|file| !file.path.is_empty()));
        }
        let _ = (failed(&command, false), plan_items(&call(&json!({ "name": "todo", "arguments": { "todos": command } }))));
    }
}

#[test]
fn settings_come_before_the_table() {
    let own = |name: &str| vec![name.to_owned()];
    let tools = FileTools {
        read: own("fetch"),
        write: own("edit"),
        edit: Vec::new(),
        path_arguments: vec!["where".to_owned(), "path".to_owned()],
    };
    for (case, is) in [
        (json!({"name": "fetch", "arguments": {"where": "a"}}), json!({"read": ["a"]})),
        (json!({"name": "fetch", "arguments": {"file_path": "a"}}), json!({"read": ["a"]})),
        (json!({"name": "Fetch", "arguments": {"where": "a"}}), json!("other")),
        (json!({"name": "edit", "arguments": {"path": "a"}}), json!({"write": ["a"]})),
        (json!({"name": "Read", "arguments": {"where": "a", "path": "b"}}), json!({"read": ["b"]})),
    ] {
        assert_eq!(shown(&classify(&call(&case), &tools)), is, "{case}");
    }
}
