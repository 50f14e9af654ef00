//! Recorded conversations of every shape: what they become, and that they come back.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::*;

mod rules;

const FORMATS: [Format; 5] =
    [Format::OpenAi, Format::OpenAiResponses, Format::Anthropic, Format::Gemini, Format::AiSdk];

fn file_of(format: Format) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/formats").join(format!("{}.json", format.name()))
}

struct Conversation {
    name: String,
    messages: Vec<String>,
    /// What was expected of it, as it stands in the file.
    expected: Json<'static>,
}

fn conversations(format: Format) -> Vec<Conversation> {
    let text = std::fs::read_to_string(file_of(format)).unwrap();
    let file = Json::parse(&text).unwrap().into_owned();
    assert_eq!(file.get("format").and_then(Json::as_str), Some(format.name()));
    let Some(Json::Array(conversations)) = file.get("conversations") else { panic!("a list of conversations") };
    let conversation = |json: &Json<'static>| Conversation {
        name: json.get("name").and_then(Json::as_str).unwrap().to_owned(),
        messages: list(json.get("messages")).iter().map(Json::to_compact).collect(),
        expected: json.clone(),
    };
    conversations.iter().map(conversation).collect()
}

fn list(json: Option<&Json<'static>>) -> Vec<Json<'static>> {
    match json {
        Some(Json::Array(items)) => items.clone(),
        _ => Vec::new(),
    }
}

fn read_all(format: Format, messages: &[String]) -> Vec<Arc<Message>> {
    let messages: Vec<&str> = messages.iter().map(String::as_str).collect();
    let converted = read(format, &messages, &mut Calls::default(), Some(7)).unwrap();
    converted.into_iter().map(|converted| Arc::new(converted.message)).collect()
}

fn texts(written: &Written) -> Vec<String> {
    written.messages.iter().map(|message| message.get().to_owned()).collect()
}

/// The conversation with all that is expected of it, as the file holds it.
fn described(format: Format, conversation: &Conversation) -> String {
    let ours = read_all(format, &conversation.messages);
    let mut out = format!("    {{\n      \"name\": {}", json::encode_string(&conversation.name));
    let mut add = |name: &str, lines: &[String]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("        {line}")).collect();
        write!(out, ",\n      \"{name}\": [\n{}\n      ]", lines.join(",\n")).unwrap();
    };
    add("messages", &conversation.messages);
    add("ours", &ours.iter().map(|message| message.raw().get().to_owned()).collect::<Vec<_>>());
    for other in FORMATS.into_iter().filter(|other| *other != format) {
        add(other.name(), &texts(&write(other, &ours)));
    }
    out.push_str("\n    }");
    out
}

#[test]
fn recorded_conversations_become_what_the_files_say() {
    for format in FORMATS {
        let conversations = conversations(format);
        assert!(conversations.len() >= 6, "{}", format.name());
        let all: Vec<String> = conversations.iter().map(|conversation| described(format, conversation)).collect();
        let file =
            format!("{{\n  \"format\": \"{}\",\n  \"conversations\": [\n{}\n  ]\n}}\n", format.name(), all.join(",\n"));
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::write(file_of(format), file).unwrap();
            continue;
        }
        for (conversation, described) in conversations.iter().zip(&all) {
            let described = Json::parse(described).unwrap().into_owned();
            let names = ["ours"].into_iter().chain(FORMATS.into_iter().map(Format::name));
            for name in names.filter(|name| *name != format.name()) {
                let (found, expected) = (list(described.get(name)), list(conversation.expected.get(name)));
                for (found, expected) in found.iter().zip(&expected) {
                    assert_eq!(found.to_compact(), expected.to_compact(), "{}: {name}", conversation.name);
                }
                assert_eq!(found.len(), expected.len(), "{}: {name}", conversation.name);
            }
        }
    }
}

#[test]
fn recorded_conversations_come_back_as_they_were() {
    for format in FORMATS {
        for conversation in conversations(format) {
            let ours = read_all(format, &conversation.messages);
            let written = write(format, &ours);
            let expected: Vec<String> = conversation
                .messages
                .iter()
                .filter(|message| !(format.has_system_apart() && message.contains("\"role\":\"system\"")))
                .cloned()
                .collect();
            assert_eq!(texts(&written), expected, "{}: {}", format.name(), conversation.name);
            assert_eq!(written.system.is_some(), expected.len() != conversation.messages.len());
        }
    }
}

#[test]
fn what_is_written_for_another_interface_follows_its_rules_and_is_read_again() {
    for format in FORMATS {
        for conversation in conversations(format) {
            let ours = read_all(format, &conversation.messages);
            for other in FORMATS {
                let written = texts(&write(other, &ours));
                rules::check(other, &written, &format!("{} as {}: {}", format.name(), other.name(), conversation.name));
                let again = read_all(other, &written);
                let calls =
                    |messages: &[Arc<Message>]| messages.iter().flat_map(|message| message.tool_calls()).count();
                assert_eq!(calls(&again), calls(&ours), "{}: {}", other.name(), conversation.name);
            }
        }
    }
}

/// Strings that a person or a model reads in a foreign message: `text`, `thinking` and the like.
fn words(json: &Json<'_>, out: &mut Vec<String>) {
    const SPOKEN: [&str; 9] =
        ["text", "thinking", "refusal", "reasoning_content", "errorText", "error", "code", "reason", "output"];
    match json {
        Json::Array(items) => items.iter().for_each(|item| words(item, out)),
        Json::Object(members) => {
            for (key, value) in members {
                match value {
                    Json::String(text) if SPOKEN.contains(&key.as_ref()) || key == "content" => {
                        out.push(text.clone().into_owned());
                    }
                    other => words(other, out),
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_word_is_in_our_messages_and_in_what_a_summarizer_reads() {
    use crate::conversation::{Thinking, serialize_conversation};
    for format in FORMATS {
        for conversation in conversations(format) {
            let ours = read_all(format, &conversation.messages);
            let systems: Vec<String> = ours.iter().map(|message| message.display_text().into_owned()).collect();
            let told = serialize_conversation(ours.iter().map(Arc::as_ref), Thinking::Told) + &systems.join("\n");
            let told = told.replace("\\n", "\n").replace("\\\"", "\"");
            let mut spoken = Vec::new();
            conversation.messages.iter().for_each(|message| words(&Json::parse(message).unwrap(), &mut spoken));
            for word in spoken {
                assert!(told.contains(word.trim()), "{}: {word} is not in {told}", conversation.name);
            }
        }
    }
}

#[test]
fn what_was_changed_since_is_written_anew() {
    let messages = conversations(Format::Anthropic).remove(0).messages;
    let mut ours = read_all(Format::Anthropic, &messages);
    let content = json::raw_value("[{\"type\":\"text\",\"text\":\"cut\"}]".to_owned()).unwrap();
    let position = ours.iter().position(|message| message.role() == "toolResult").unwrap();
    ours[position] = Arc::new(ours[position].with_content(&content));
    let written = texts(&write(Format::Anthropic, &ours));
    assert_eq!(written.len(), messages.len());
    assert_eq!((&written[0], &written[1], &written[3]), (&messages[0], &messages[1], &messages[3]));
    let expected =
        messages[2].replace("\"one\\ntwo\"", "\"cut\"").replace("[{\"type\":\"text\",\"text\":\"one\"}]", "\"one\"");
    assert_eq!(written[2], expected);
    // A part of what was one message is still a message.
    let last = texts(&write(Format::Anthropic, &ours[position + 2..]));
    assert_eq!(last[0], r#"{"role":"user","content":[{"type":"text","text":"Be quick."}]}"#);
}

#[test]
fn long_strings_are_stored_once() {
    let data = "iVBORw0KGgo".repeat(4000);
    let message = format!(
        r#"{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{data}","detail":"low"}}}}]}}"#
    );
    let ours = read_all(Format::OpenAi, std::slice::from_ref(&message));
    assert!(ours[0].raw().get().len() < data.len() + 500);
    assert_eq!(texts(&write(Format::OpenAi, &ours)), [message]);
}

#[test]
fn results_that_came_one_by_one_are_one_message_for_anthropic() {
    let messages: Vec<String> = [
        r#"{"role":"user","content":"go"}"#,
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}},{"type":"tool_use","id":"b","name":"t","input":{}}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"2"}]}"#,
    ]
    .map(str::to_owned)
    .to_vec();
    let written = texts(&write(Format::Anthropic, &read_all(Format::Anthropic, &messages)));
    assert_eq!(written.len(), 3);
    rules::check(Format::Anthropic, &written, "results");
}

#[test]
fn an_answer_for_a_request_has_role_and_content_alone() {
    let conversations = conversations(Format::Anthropic);
    let whole =
        conversations.iter().find(|conversation| conversation.name.contains("as the interface gives it")).unwrap();
    let ours = read_all(Format::Anthropic, &whole.messages);
    let usage = ours[1].as_assistant().and_then(|answer| answer.usage).unwrap();
    assert_eq!((usage.input, usage.cache_read, usage.output, usage.context_tokens()), (2232, 100, 61, 2393));
    let request = texts(&write(Format::Anthropic, &ours).for_request(Format::Anthropic));
    let members: Vec<String> = RawObjectNames::of(&request[1]);
    assert_eq!(members, ["role", "content"]);
}

struct RawObjectNames;

impl RawObjectNames {
    fn of(text: &str) -> Vec<String> {
        crate::json::RawObject::parse(text).unwrap().iter().map(|(name, _)| name.to_owned()).collect()
    }
}

#[track_caller]
fn check_error(format: Format, messages: &[&str], expected: &str) {
    let error = read(format, messages, &mut Calls::default(), None).unwrap_err().to_string();
    assert!(error.starts_with(expected), "{error}");
}

#[test]
fn what_is_not_known_is_refused_with_its_place() {
    const GOOD: &str = r#"{"role":"user","content":"x"}"#;
    check_error(Format::OpenAi, &[GOOD, r#"{"role":"robot","content":"x"}"#], "message 1, role: expected `system`,");
    check_error(
        Format::OpenAi,
        &[r#"{"role":"user","content":[{"type":"text","text":"x"},{"type":"smell","smell":"rose"}]}"#],
        "message 0, content[1].type: expected `text`, `image_url`",
    );
    check_error(
        Format::OpenAi,
        &[r#"{"role":"tool","content":"x"}"#],
        "message 0, tool_call_id: expected a string; found nothing",
    );
    check_error(
        Format::Anthropic,
        &[r#"{"role":"user","content":[{"type":"hologram"}]}"#],
        "message 0, content[0].type: ",
    );
    check_error(Format::OpenAiResponses, &[r#"{"type":"dream"}"#], "message 0, type: expected an item");
    check_error(
        Format::Gemini,
        &[r#"{"role":"user","parts":[{"aura":"blue"}]}"#],
        "message 0, parts[0]: expected a part",
    );
    check_error(Format::AiSdk, &[r#"{"role":"assistant","content":[{"type":"hum"}]}"#], "message 0, content[0].type: ");
    check_error(Format::Pi, &[GOOD, r#"{"role":"tool","content":"x"}"#], "message 1, role: expected `user`,");
    check_error(Format::Pi, &[r#"{"role":"user","content":[{"type":"toolCall"}]}"#], "message 0, content[0].type: ");
    check_error(Format::Pi, &["[]"], "message 0, the message itself: expected a message: a JSON object; found a list");
}
