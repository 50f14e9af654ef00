//! Plays the files in `cases`: each holds what is sent to one provider, and its answers with what
//! becomes of them.
//!
//! An event is an object, sent as `data` under the name in its `type`, or the lines of an event as
//! they are. `{key}` in an answer is the key of the tests, as providers echo it.

use rpc_server::summarizers::{Answer, ModelError, StopReason};
use serde_json::{Value, json};

use super::harness::{HEADER_SECRET, KEY, ask, model, request};
use super::server::{Asked, End, Script, Server};

macro_rules! cases {
    ($($name:ident: $file:literal),+ $(,)?) => {
        $(#[test]
        fn $name() {
            play(&serde_json::from_str(include_str!(concat!("cases/", $file))).unwrap());
        })+
    };
}

cases! {
    anthropic: "anthropic.json",
    chat: "chat.json",
    responses: "responses.json",
    gemini: "gemini.json",
}

fn play(file: &Value) {
    cut(file, &file["cases"][0]);
    for case in file["cases"].as_array().unwrap() {
        for (piece, line_end) in [(0, "\n"), (1, "\n"), (0, "\r\n"), (1, "\r\n"), (7, "\r\n"), (3, "\r")] {
            let script = script(&case["answer"], piece, line_end);
            let server = Server::start(script);
            let outcome = play_case(file, case, &server);
            let label = format!("{}, {piece} bytes at once, lines end in {line_end:?}", case["name"]);
            assert_eq!(outcome, case["expect"], "{label}");
            check_sent(&server.asked(), &file["sent"], case);
        }
    }
}

/// Cuts a good answer off in many places: whatever is missing, it is never taken for another one.
fn cut(file: &Value, case: &Value) {
    let whole = script(&case["answer"], 0, "\n");
    let lengths: Vec<usize> = (0..whole.body.len()).step_by(whole.body.len() / 100).collect();
    let mut failed = 0;
    for length in &lengths {
        let body = whole.body[..*length].to_vec();
        let outcome = play_case(file, case, &Server::start(Script { body, end: End::Close, ..whole.clone() }));
        match outcome["error"].as_str() {
            Some(kind) => assert_eq!(kind, "Connection", "cut after {length} bytes"),
            None => {
                assert_eq!((&outcome["text"], &outcome["stop"]), (&case["expect"]["text"], &case["expect"]["stop"]))
            }
        }
        failed += usize::from(outcome["error"].is_string());
    }
    assert!(failed > lengths.len() / 2);
}

fn play_case(file: &Value, case: &Value, server: &Server) -> Value {
    let mut settings = file["settings"].clone();
    for (key, value) in case["settings"].as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    settings["baseUrl"] = json!(format!("{}{}", server.address(), settings["baseUrl"].as_str().unwrap_or("")));
    let model = model("tested", &settings);
    let (outcome, told) = ask(model.as_ref(), &request());
    match outcome {
        Ok(answer) => {
            assert_eq!(told, answer.text, "{}", case["name"]);
            answer_json(&answer)
        }
        Err(error) => error_json(&error),
    }
}

fn script(answer: &Value, piece: usize, line_end: &str) -> Script {
    let body = match answer["events"].as_array() {
        Some(events) => events.iter().map(|event| event_text(event, line_end)).collect(),
        None => answer["body"].as_str().unwrap_or_default().to_owned(),
    };
    let headers = answer["headers"].as_object().into_iter().flatten();
    let mut headers: Vec<_> =
        headers.map(|(name, text)| (name.clone(), text.as_str().unwrap().replace("{key}", KEY))).collect();
    if answer["events"].is_array() && answer["headers"].is_null() {
        headers.push(("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned()));
    }
    let end = match answer["end"].as_str() {
        Some("close") => End::Close,
        Some("drop") => End::Drop,
        Some("stall") => End::Stall,
        Some("mute") => End::Mute,
        _ => End::Chunk,
    };
    let status = answer["status"].as_u64().map_or(200, |status| status.try_into().unwrap());
    Script { status, headers, body: body.replace("{key}", KEY).into_bytes(), piece, end, ..Script::default() }
}

fn event_text(event: &Value, line_end: &str) -> String {
    let lines = match event.as_str() {
        Some(lines) => lines.to_owned(),
        None => match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}"),
            None => format!("data: {event}"),
        },
    };
    format!("{lines}\n\n").replace('\n', line_end)
}

fn check_sent(asked: &Asked, sent: &Value, case: &Value) {
    let expected = |member: &str| if case["sent"][member].is_null() { &sent[member] } else { &case["sent"][member] };
    assert_eq!(asked.line, format!("POST {} HTTP/1.1", expected("target").as_str().unwrap()));
    for (name, text) in expected("headers").as_object().unwrap() {
        let text = text.as_str().map(|text| text.replace("{key}", KEY).replace("{secret}", HEADER_SECRET));
        assert_eq!(asked.header(name), text.as_deref(), "{name}");
    }
    assert_eq!(&asked.body, expected("body"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert!(asked.header("host").is_some_and(|host| host.starts_with("127.0.0.1:")));
    let keys = asked.headers.iter().filter(|(_, text)| text.contains(KEY)).count();
    assert!(keys <= 1 && !asked.line.contains(KEY) && !asked.body.to_string().contains(KEY));
    for forbidden in ["\"tools\"", "tool_choice", "toolConfig", "cache_control", "\"thinking\"", "reasoning"] {
        assert!(!asked.body.to_string().contains(forbidden), "{forbidden}");
    }
}

fn answer_json(answer: &Answer) -> Value {
    let stop = match &answer.stop {
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "toolUse",
        StopReason::Other(word) => word,
    };
    json!({ "text": answer.text, "stop": stop, "usage": answer.usage })
}

fn error_json(error: &ModelError) -> Value {
    let mut json = json!({ "error": format!("{:?}", error.kind), "cause": error.cause });
    if let Some(wait) = error.retry_after {
        json["retryAfterMs"] = json!(u64::try_from(wait.as_millis()).unwrap());
    }
    json
}
