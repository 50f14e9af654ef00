//! Runs the files in `cases`. Each contains the requests to one provider, its answers, and the expected results.
//! `cases/README.md` describes their form and their sources.

use compaction_engine::models::{Answer, ModelError, StopReason, summary_of};
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
    anthropic_recorded: "anthropic_recorded.json",
    azure: "azure.json",
    bedrock: "bedrock.json",
    bedrock_messages: "bedrock_messages.json",
    chat: "chat.json",
    chat_recorded: "chat_recorded.json",
    gemini: "gemini.json",
    gemini_recorded: "gemini_recorded.json",
    refusals: "refusals.json",
    responses: "responses.json",
    responses_recorded: "responses_recorded.json",
    vertex: "vertex.json",
}

/// Each text with the summary in it.
#[test]
fn summaries_within_texts() {
    let file: Value = serde_json::from_str(include_str!("cases/texts.json")).unwrap();
    for case in file["cases"].as_array().unwrap() {
        let (text, expected) = (case["text"].as_str().unwrap(), case["summary"].as_str().unwrap());
        assert_eq!(summary_of(text), expected, "{}", case["name"]);
        assert_eq!(summary_of(expected), expected, "{}, once more", case["name"]);
    }
}

fn play(file: &Value) {
    for (number, case) in file["cases"].as_array().unwrap().iter().enumerate() {
        let is_cut = case["cut"].as_bool().unwrap_or(number == 0 && !case["answer"].is_null());
        if is_cut {
            cut(file, case);
        }
        for (piece, line_end) in [(0, "\n"), (1, "\n"), (0, "\r\n"), (1, "\r\n"), (7, "\r\n"), (3, "\r")] {
            let server = Server::start_several(scripts(case, piece, line_end));
            let outcome = play_case(file, case, &server);
            let label = format!("{}, {piece} bytes at once, lines end in {line_end:?}", case["name"]);
            assert_eq!(outcome, without_summary(&case["expect"]), "{label}");
            for sent in sent(case) {
                check_sent(&server.asked(), &file["sent"], sent, &label);
            }
            assert!(server.is_silent(), "{label}: there was another request");
        }
    }
}

/// The expected requests of a case: one for all, or one for each.
fn sent(case: &Value) -> Vec<&Value> {
    match case["sent"].as_array() {
        Some(several) => several.iter().collect(),
        None => vec![&case["sent"]],
    }
}

pub(super) fn scripts(case: &Value, piece: usize, line_end: &str) -> Vec<Script> {
    match case["answers"].as_array() {
        Some(several) => several.iter().map(|answer| script(answer, piece, line_end)).collect(),
        None => vec![script(&case["answer"], piece, line_end)],
    }
}

/// Cuts off a complete answer in many places. It must never be read as another complete answer.
fn cut(file: &Value, case: &Value) {
    let whole = script(&case["answer"], 0, "\n");
    let lengths: Vec<usize> = (0..whole.body.len()).step_by((whole.body.len() / 100).max(1)).collect();
    let mut failed = 0;
    for length in &lengths {
        let body = whole.body[..*length].to_vec();
        let outcome = play_case(file, case, &Server::start(Script { body, end: End::Close, ..whole.clone() }));
        match outcome["error"].as_str() {
            Some(kind) => assert_eq!(kind, "Connection", "cut after {length} bytes: {outcome}"),
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
    let (outcome, streamed) = ask(model.as_ref(), &request());
    match outcome {
        Ok(answer) => {
            assert_eq!(streamed, answer.text, "{}", case["name"]);
            if let Some(summary) = case["expect"]["summary"].as_str() {
                assert_eq!(summary_of(&answer.text), summary, "{}", case["name"]);
            }
            answer_json(&answer)
        }
        Err(error) => error_json(&error),
    }
}

fn without_summary(expected: &Value) -> Value {
    let mut expected = expected.clone();
    expected.as_object_mut().unwrap().remove("summary");
    expected
}

fn script(answer: &Value, piece: usize, line_end: &str) -> Script {
    let body = match (&answer["events"], &answer["json"], &answer["frames"]) {
        (Value::Array(events), ..) => {
            let events: String = events.iter().map(|event| event_text(event, line_end)).collect();
            format!("{}{events}", answer["before"].as_str().unwrap_or_default()).into_bytes()
        }
        (_, Value::Null, Value::Array(frames)) => frames.iter().flat_map(frame).collect(),
        (_, Value::Null, _) => answer["body"].as_str().unwrap_or_default().as_bytes().to_vec(),
        (_, json, _) => format!("{}{json}", answer["before"].as_str().unwrap_or_default()).into_bytes(),
    };
    let headers = answer["headers"].as_object().into_iter().flatten();
    let mut headers: Vec<_> =
        headers.map(|(name, text)| (name.clone(), text.as_str().unwrap().replace("{key}", KEY))).collect();
    let content_type = match answer {
        answer if answer["headers"].is_object() => None,
        answer if answer["events"].is_array() => Some("text/event-stream; charset=utf-8"),
        answer if answer["frames"].is_array() => Some("application/vnd.amazon.eventstream"),
        answer if !answer["json"].is_null() => Some("application/json"),
        _ => None,
    };
    headers.extend(content_type.map(|content_type| ("content-type".to_owned(), content_type.to_owned())));
    let end = match answer["end"].as_str() {
        Some("close") => End::Close,
        Some("drop") => End::Drop,
        Some("stall") => End::Stall,
        Some("mute") => End::Mute,
        _ => End::Chunk,
    };
    let status = answer["status"].as_u64().map_or(200, |status| status.try_into().unwrap());
    let body = match String::from_utf8(body) {
        Ok(text) => text.replace("{key}", KEY).into_bytes(),
        Err(binary) => binary.into_bytes(),
    };
    Script { status, headers, body, piece, end, ..Script::default() }
}

fn event_text(event: &Value, line_end: &str) -> String {
    let lines = match event.as_str() {
        // Sent unchanged, without a blank line after it.
        Some(lines) if lines.starts_with("raw:") => return lines["raw:".len()..].replace('\n', line_end),
        Some(lines) => lines.to_owned(),
        None => match event["type"].as_str() {
            Some(name) => format!("event: {name}\ndata: {event}"),
            None => format!("data: {event}"),
        },
    };
    format!("{lines}\n\n").replace('\n', line_end)
}

/// A frame of Amazon with an event `{<type>: payload}` or an exception.
fn frame(event: &Value) -> Vec<u8> {
    let (name, payload) = event.as_object().unwrap().iter().next().unwrap();
    let (kind, header) = match name.ends_with("Exception") {
        true => ("exception", ":exception-type"),
        false => ("event", ":event-type"),
    };
    let mut headers = Vec::new();
    for (name, value) in [(":message-type", kind), (header, name), (":content-type", "application/json")] {
        headers.push(u8::try_from(name.len()).unwrap());
        headers.extend_from_slice(name.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&u16::try_from(value.len()).unwrap().to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let payload = payload.to_string().into_bytes();
    let length = u32::try_from(16 + headers.len() + payload.len()).unwrap().to_be_bytes();
    let of_headers = u32::try_from(headers.len()).unwrap().to_be_bytes();
    let mut frame = [length, of_headers].concat();
    frame.extend_from_slice(&checksum(&frame).to_be_bytes());
    frame.extend_from_slice(&headers);
    frame.extend_from_slice(&payload);
    frame.extend_from_slice(&checksum(&frame).to_be_bytes());
    frame
}

/// The checksum of a frame (CRC-32).
fn checksum(bytes: &[u8]) -> u32 {
    let step = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ 0xedb8_8320 } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| step(sum)))
}

fn check_sent(asked: &Asked, sent: &Value, of_case: &Value, label: &str) {
    let expected = |member: &str| if of_case[member].is_null() { &sent[member] } else { &of_case[member] };
    assert_eq!(asked.line, format!("POST {} HTTP/1.1", expected("target").as_str().unwrap()), "{label}");
    for (name, text) in expected("headers").as_object().unwrap() {
        let text = text.as_str().map(|text| text.replace("{key}", KEY).replace("{secret}", HEADER_SECRET));
        assert_eq!(asked.header(name), text.as_deref(), "{label}: {name}");
    }
    assert_eq!(&asked.body, expected("body"), "{label}");
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert!(asked.header("host").is_some_and(|host| host.starts_with("127.0.0.1:")));
    let keys = asked.headers.iter().filter(|(_, text)| text.contains(KEY)).count();
    assert!(keys <= 1 && !asked.line.contains(KEY) && !asked.body.to_string().contains(KEY));
    for forbidden in ["\"tools\"", "tool_choice", "toolConfig", "cache_control", "\"thinking\"", "reasoning"] {
        assert!(!asked.body.to_string().contains(forbidden), "{forbidden}");
    }
}

pub(super) fn answer_json(answer: &Answer) -> Value {
    let stop = match &answer.stop {
        StopReason::Stop => "stop",
        StopReason::Length => "length",
        StopReason::ToolUse => "toolUse",
        StopReason::Other(word) => word,
    };
    json!({ "text": answer.text, "stop": stop, "usage": answer.usage })
}

pub(super) fn error_json(error: &ModelError) -> Value {
    let mut json = json!({ "error": format!("{:?}", error.kind), "cause": error.cause });
    if let Some(wait) = error.retry_after {
        json["retryAfterMs"] = json!(u64::try_from(wait.as_millis()).unwrap());
    }
    json
}
