//! Goal and Constraints of invented conversations: what counts as the words of a person, and what is left of them.

use super::*;
use crate::json::Json;
use crate::ledger::NoteKind;

/// The file with the cases. Each line has messages and the items of Goal and Constraints, and of Key Decisions if there
/// are any; `absent` are texts that the summary must not have.
const CASES: &str = "fixtures/goals.jsonl";

fn strings(case: &Json<'_>, key: &str) -> Vec<String> {
    let Some(Json::Array(items)) = case.get(key) else { panic!("a case has {key}") };
    items.iter().map(|item| item.as_str().expect("an item is a text").to_owned()).collect()
}

/// The messages of a case: what a person or the model says, a file that the model edits, writes or fails to edit, a
/// command that it runs, words before a call that reads a file, a plan, or a skill that it starts.
fn messages_of(case: &Json<'_>) -> Vec<Arc<Message>> {
    let Some(Json::Array(all)) = case.get("messages") else { panic!("a case has messages") };
    let mut messages = Vec::new();
    for (number, one) in all.iter().enumerate() {
        let Json::Array(pair) = one else { panic!("a message is a pair") };
        let [role, text] = [0, 1].map(|at| pair[at].as_str().expect("a message has texts"));
        let id = format!("c{number}");
        match role {
            "user" => messages.push(user(text)),
            "model" => messages.push(says(text, "stop")),
            "works" => {
                let arguments = format!("{{\"path\":\"{text}\",\"oldText\":\"a\",\"newText\":\"b{number}\"}}");
                messages.extend([calls(&id, "edit", &arguments), returns(&id, "ok", false)]);
            }
            "writes" => {
                let arguments = format!("{{\"path\":\"{text}\",\"content\":\"a = {number}\"}}");
                messages.extend([calls(&id, "write", &arguments), returns(&id, "ok", false)]);
            }
            "fails" => {
                let arguments = format!("{{\"path\":\"{text}\"}}");
                messages.extend([calls(&id, "edit", &arguments), returns(&id, "The text was not found.", true)]);
            }
            "runs" => messages.extend([runs(&id, text), returns(&id, "ok", false)]),
            "says" => messages.push(says(text, "toolUse")),
            "looks" => {
                let call = format!(
                    "{{\"type\":\"toolCall\",\"id\":\"{id}\",\"name\":\"read\",\"arguments\":{{\"path\":\"a.txt\"}}}}"
                );
                let words = format!("{{\"type\":\"text\",\"text\":{}}}", encode_string(text));
                let said =
                    format!("{{\"role\":\"assistant\",\"content\":[{words},{call}],\"stopReason\":\"toolUse\"}}");
                messages.extend([message(&said), returns(&id, "a", false)]);
            }
            "plans" => messages.extend([calls(&id, "TodoWrite", text), returns(&id, "ok", false)]),
            "skill" => {
                let arguments = format!("{{\"skill\":\"{text}\"}}");
                let started = format!("Launching skill: {text}");
                messages.extend([calls(&id, "Skill", &arguments), returns(&id, &started, false)]);
            }
            _ => panic!("an unknown role: {role}"),
        }
    }
    messages
}

/// Compares the sections of each case of the file `name` with the expected ones. `told` returns them as members of
/// JSON.
pub(super) fn check_cases(name: &str, told: fn(&SummaryDocument) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let mut found = String::new();
    let text = std::fs::read_to_string(&path).unwrap();
    for line in text.lines() {
        let case = Json::parse(line).expect("a line of the fixture is JSON");
        let summary = text_of(&history(&prepared(&messages_of(&case))));
        for absent in strings(&case, "absent") {
            assert!(!summary.contains(&absent), "{absent:?} is in {summary}");
        }
        let before = line.split(", \"goal\": ").next().expect("a line has a beginning");
        found.push_str(&format!("{before}, {}}}\n", told(&SummaryDocument::parse(&summary))));
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, &found).unwrap();
        return;
    }
    for (found, expected) in found.lines().zip(text.lines()) {
        assert_eq!(found, expected);
    }
}

/// The items of a section that `is_told` accepts, as members of a JSON array.
pub(super) fn items(document: &SummaryDocument, section: Section, is_told: fn(&str) -> bool) -> String {
    let items = document.body[section].iter().map(|item| item.to_string());
    items.filter(|item| is_told(item)).map(|item| encode_string(&item)).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_goal_is_in_the_words_of_the_person() {
    check_cases(CASES, |document| {
        let [goal, constraints, decisions] =
            [Section::Goal, Section::Constraints, Section::Decisions].map(|section| items(document, section, |_| true));
        let decisions = if decisions.is_empty() { decisions } else { format!(", \"decisions\": [{decisions}]") };
        format!("\"goal\": [{goal}], \"constraints\": [{constraints}]{decisions}")
    });
}

#[test]
fn a_prompt_at_a_cut_is_still_no_request() {
    let command = "<command-message>gate</command-message>\n<command-name>/gate</command-name>";
    let prompt = "# Gate of the cart\n\nRead the plan first.\n\n- Never skip a step.\n- Be brief.\n";
    let before = [user("Add a cart to the page of the shop"), says("The cart is there.", "stop"), user(command)];
    let behind = [user(prompt), says("The cart passes the gate.", "stop")];
    let first = Ledger::collect(&prepared(&before), None, tools());
    let both = Ledger::collect(&prepared(&behind), Some(&first), tools());
    assert_eq!(both.requests.len(), 2, "{:?}", both.requests);
    assert_eq!(both.notes_of(NoteKind::Constraint).count(), 0);
    // The same if the prompt begins a turn whose end alone is kept.
    let whole = Ledger::collect(&prepared(&[&before[..], &behind[..1]].concat()), None, tools());
    let turn = Turn::of(&prepared(&behind), tools());
    let style = Style { turn: turn.as_ref(), with_turn: Some(&whole), ..style(ENOUGH) };
    let text = render(&first, SummaryKind::History, &style);
    let goal = SummaryDocument::parse(&text).body[Section::Goal].iter().map(|one| one.to_string()).collect::<Vec<_>>();
    assert_eq!(goal, ["Add a cart to the page of the shop", "Latest request: /gate (Gate of the cart)"]);
}
