//! What a summary tells of what was said: rules of a person, conclusions of answers, templates of a harness.

use super::*;

/// The items of a section of the history's summary.
fn section(messages: &[Arc<Message>], section: Section) -> Vec<String> {
    let document = SummaryDocument::parse(&text_of(&history(&prepared(messages))));
    document.body[section].iter().map(|item| item.to_string()).collect()
}

#[test]
fn a_rule_is_a_constraint_and_not_the_goal() {
    for rule in [
        "always use pnpm here, never npm",
        "no, use tabs",
        "ab jetzt bitte alle Texte auf Deutsch",
        "不要修改这个文件。",
    ] {
        let mut messages = vec![user("Port the export of the orders to the new server")];
        messages.extend([runs("1", "pnpm build"), returns("1", "ok", false), says("I look at the server.", "stop")]);
        messages.push(user(rule));
        messages.extend([
            runs("2", "pnpm test"),
            returns("2", "ok", false),
            says("I go on with the server", "toolUse"),
        ]);
        let goal = section(&messages, Section::Goal);
        assert_eq!(goal, ["Latest request: Port the export of the orders to the new server"], "{rule}");
        let constraints = section(&messages, Section::Constraints);
        assert_eq!(constraints, [rule], "{rule}");
    }
}

#[test]
fn an_answer_is_told_by_its_conclusion() {
    for (answer, expected) in [
        (
            "Here is a summary of what I found in the logs of the export:\n- The first log has no dates.\n- The second one \
             has no names.\n\n**In short:** the export stops since the queue has only 40 places.",
            "In short: the export stops since the queue has only 40 places.",
        ),
        (
            "Here is a summary of what I found in the logs of the export:\n- The clock of the server is late by 9 minutes, \
             so each token is refused.",
            "The clock of the server is late by 9 minutes, so each token is refused.",
        ),
        (
            "The logs were long and had many lines of the proxy.\n\n## Fazit\nDie Uhr des Servers geht 9 Minuten nach, daher \
             scheitert jede Anmeldung.",
            "Die Uhr des Servers geht 9 Minuten nach, daher scheitert jede Anmeldung.",
        ),
    ] {
        let messages = [user("Why does the export of the orders stop at night?"), says(answer, "stop")];
        let open = section(&messages, Section::InProgress);
        let told = open.iter().any(|item| item.contains(&format!("The last answer reports: {expected}")));
        assert!(told, "{open:?}");
    }
}
